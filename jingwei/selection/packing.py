"""The most valuable of some pieces that fit into a capacity, nearly: greedy, never under half of the best.

The exact answer takes time that grows with the numbers, or doubles with each piece. This takes a fixed number
of walks over the pieces. All numbers are integers, so that the answer is the same everywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Final, final

import attrs

from jingwei.items.records import ItemKind

FORCED_MAX: Final = 16
"""Walks that begin with one of the most valuable pieces; each is a walk over all of them."""

IMPROVED_MAX: Final = 4
"""Walks that are improved by exchanges: the best ones."""

BORDER_MAX: Final = 12
"""Pieces on either side of the border that exchanges look at: their number grows with its cube."""

ROUNDS_MAX: Final = 5
"""Exchanges made one after another; each makes the choice more valuable."""


@final
@attrs.frozen(kw_only=True)
class Piece:
    """What can be taken or left.

    Attributes:
        cost: what it takes of the capacity, and of what is left to its kind; not negative.
        worth: what it brings; not negative, and all in one unit.
        kind: whose ceiling it counts against; None for that of turns.
    """

    cost: int
    worth: int
    kind: ItemKind | None


@final
@attrs.frozen(kw_only=True)
class Packed:
    """Which pieces were taken.

    Attributes:
        taken: their indices, increasing. Nothing that was left would still fit.
        single: the one with which the walk began that won; None where the plain one won.
    """

    taken: tuple[int, ...]
    single: int | None = None


def packed(pieces: Sequence[Piece], capacity: int, ceilings: Mapping[ItemKind | None, int]) -> Packed:
    """The pieces to take. They stand in the order of their value per token, the best first; ties as given.

    Walks over the pieces and takes each that still fits: once from the first on, and once more for each of
    the most valuable ones, which is taken before the walk. The best of these are improved by exchanges of
    up to two pieces for up to two on the border between what was taken and what was not, and the best of
    all is the answer. Without ceilings its worth is at least half of the best that there is (the plain walk
    or the most valuable piece alone already is). Linear in the pieces.

    Args:
        pieces: the best per token first.
        capacity: what their costs may come to; below zero nothing is taken.
        ceilings: what the costs of one kind may come to; a kind that is not named has no ceiling.
    """
    if capacity < 0:
        return Packed(taken=())
    load = _Load(pieces, capacity, ceilings)
    whole = load.walk(())
    if len(whole.taken) == len(pieces):
        return Packed(taken=tuple(range(len(pieces))))
    fitting = [index for index in range(len(pieces)) if load.admits((index,))]
    valuable = sorted(fitting, key=lambda index: (-pieces[index].worth, index))[:FORCED_MAX]
    walks = [whole, *(load.walk((index,)) for index in valuable)]
    best = sorted(range(len(walks)), key=lambda place: (-walks[place].worth, place))[:IMPROVED_MAX]
    improved = [(load.improved(walks[place]), place) for place in best]
    choice, place = max(improved, key=lambda found: found[0].worth)  # of equals the first
    begun_with = valuable[place - 1] if place else None
    kept = begun_with is not None and begun_with in choice.taken and begun_with not in whole.taken
    return Packed(taken=tuple(sorted(choice.taken)), single=begun_with if kept else None)


@final
@attrs.frozen(kw_only=True)
class _Walk:
    """One way to fill the capacity."""

    taken: frozenset[int]
    worth: int


@final
class _Load:
    """The pieces and what bounds them; never leaves this file."""

    def __init__(
        self, pieces: Sequence[Piece], capacity: int, ceilings: Mapping[ItemKind | None, int]
    ) -> None:
        self._pieces = pieces
        self._capacity = capacity
        self._ceilings = {kind: max(left, 0) for kind, left in ceilings.items()}

    def admits(self, taken: Iterable[int]) -> bool:
        """Whether so many pieces fit together."""
        return self._slack(taken) is not None

    def walk(self, first: Iterable[int]) -> _Walk:
        """These pieces, which fit, and then each that still fits, in the order of the pieces."""
        taken = set(first)
        found = self._slack(taken)
        assert found is not None
        left, by_kind = found
        worth = sum([self._pieces[index].worth for index in taken])
        for index, piece in enumerate(self._pieces):
            if piece.cost > left or index in taken:
                continue
            room = by_kind.get(piece.kind)
            if room is not None:
                if piece.cost > room:
                    continue
                by_kind[piece.kind] = room - piece.cost
            left -= piece.cost
            worth += piece.worth
            taken.add(index)
        return _Walk(taken=frozenset(taken), worth=worth)

    def improved(self, walk: _Walk) -> _Walk:
        """The walk after exchanges, each the one that gains most; filled up after each."""
        for _ in range(ROUNDS_MAX):
            exchanged = self._exchanged(walk)
            if exchanged is None:
                return walk
            walk = self.walk(exchanged)
        return walk

    def _exchanged(self, walk: _Walk) -> frozenset[int] | None:
        """The exchange that gains most, the first of equals; None where none gains."""
        inside = sorted(walk.taken, reverse=True)[:BORDER_MAX]
        outside = list(self._first_left(walk.taken))
        found = self._slack(walk.taken)
        assert found is not None
        left, by_kind = found
        best, most = None, 0
        for out in _few(inside):
            freed = left + sum([self._pieces[index].cost for index in out])
            lost = sum([self._pieces[index].worth for index in out])
            for put in _few(outside):
                gain = sum([self._pieces[index].worth for index in put]) - lost
                if gain <= most or sum([self._pieces[index].cost for index in put]) > freed:
                    continue
                if self._within(out, put, by_kind):
                    best, most = (out, put), gain
        return None if best is None else (walk.taken - set(best[0])) | set(best[1])

    def _first_left(self, taken: frozenset[int]) -> Iterator[int]:
        """The pieces left with the best value per token, of those that could stand alone."""
        found = 0
        for index, piece in enumerate(self._pieces):
            if found == BORDER_MAX:
                return
            if index not in taken and piece.worth and piece.cost <= self._capacity:
                found += 1
                yield index

    def _within(self, out: Iterable[int], put: Iterable[int], by_kind: Mapping[ItemKind | None, int]) -> bool:
        """Whether an exchange keeps to the ceilings, of which so much is left."""
        left = dict(by_kind)
        for index, sign in chain(((index, 1) for index in out), ((index, -1) for index in put)):
            piece = self._pieces[index]
            if piece.kind in left:
                left[piece.kind] += sign * piece.cost
        return min(left.values(), default=0) >= 0

    def _slack(self, taken: Iterable[int]) -> tuple[int, dict[ItemKind | None, int]] | None:
        """What these pieces leave of the capacity and of each ceiling; None where they do not fit."""
        left, by_kind = self._capacity, dict(self._ceilings)
        for index in taken:
            piece = self._pieces[index]
            left -= piece.cost
            if piece.kind in by_kind:
                by_kind[piece.kind] -= piece.cost
                if by_kind[piece.kind] < 0:
                    return None
        return None if left < 0 else (left, by_kind)


def _few(indices: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Each by itself, then each pair."""
    return chain(((index,) for index in indices), combinations(indices, 2))
