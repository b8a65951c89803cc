"""Something known of turns, for as long as they live."""

from typing import Generic, TypeVar, final
from weakref import ref

from jingwei.projection.records import ProjectedTurn

K = TypeVar("K")
V = TypeVar("V")


@final
class TurnMemory(Generic[K, V]):
    """Values by the identity of a turn and a key; holds no turn alive, and forgets it when it is gone.

    Two generations, each bounded: a full young one becomes the old one, and the old one is forgotten.
    Nothing is iterated over, so that threads may share it; at worst something is worked out twice.
    """

    __slots__ = ("_bound", "_old", "_young")

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._young = dict[tuple[int, K], tuple[ref[ProjectedTurn], V]]()
        self._old = dict[tuple[int, K], tuple[ref[ProjectedTurn], V]]()

    def __len__(self) -> int:
        """How much is held at present."""
        return len(self._young) + len(self._old)

    def get(self, turn: ProjectedTurn, key: K) -> V | None:
        """What is known of this very turn under this key."""
        place = (id(turn), key)
        found = self._young.get(place)
        if found is None:
            found = self._old.get(place)
            if found is None or found[0]() is not turn:
                return None
            self._put(place, found)
        # An identity is used again after its owner is gone.
        return found[1] if found[0]() is turn else None

    def remember(self, turn: ProjectedTurn, key: K, value: V) -> None:
        """Know this of the turn from now on; replaces what was known."""
        place = (id(turn), key)

        def forget(gone: "ref[ProjectedTurn]") -> None:
            for generation in (self._young, self._old):
                held = generation.get(place)
                if held is not None and held[0] is gone:
                    generation.pop(place, None)

        self._put(place, (ref(turn, forget), value))

    def _put(self, place: tuple[int, K], entry: "tuple[ref[ProjectedTurn], V]") -> None:
        if len(self._young) >= self._bound:
            self._old, self._young = self._young, {}
        self._young[place] = entry
