"""A cut with two marks: held until the history is too long, then moved far (rule R2).

Removing just enough on every call moves the beginning of the request every time, and a provider's prompt
cache starts anew. Here the cut stands still over many calls. Where it stands follows from the log alone:
it is a fold over the turns, without memory of earlier builds.
"""

from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from jingwei.limits import TOKENS_BOUND
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import Vector
from jingwei.projection.records import ProjectedTurn
from jingwei.request.counting import AdditiveCounter
from jingwei.selection.costs import summed_cost
from jingwei.selection.item_steps import tail_steps
from jingwei.selection.records import Candidate, Plan, PrefixMarks, Room
from jingwei.selection.views import oldest_first

LOW_TENTHS: Final = 7
"""The low mark by default, in tenths of the high one (R2): a move that frees less comes back sooner."""


@final
@attrs.frozen(kw_only=True)
class InvalidMarks:
    """Marks that say nothing: they must satisfy 0 < low <= high."""

    high: int
    low: int


@final
@attrs.frozen(kw_only=True)
class StablePrefix:
    """Hold the cut while the turns behind it cost at most `high`; else move it until they cost at most `low`.

    The marks are for history alone; system, current, constraint and window have no part in them, so that
    the cut is the same whatever a single call sends besides. All turns are counted, pinned ones too, so
    that a pin does not move it. The turns before the cut are the plan's base. Steps go on from there,
    oldest first, and a build that needs one breaks the prefix for that build only.

    Made by `stable_prefix`, which refuses marks that make no sense; `plan` is total with any. The fold
    walks the whole history: a host that builds again and again wraps the strategy in
    `RememberingStablePrefix`.

    Attributes:
        high: tokens of history that may stand behind the cut.
        low: tokens of history to which a move cuts down; the first boundary of turns at or below it.
        costs: what messages cost (C6).
    """

    high: int
    low: int
    costs: AdditiveCounter

    @property
    def name(self) -> str:
        """`stable_prefix`."""
        return "stable_prefix"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        """The fold's cut as the base; linear in the history."""
        return _planned(self, candidates, room, folded(self, room.turns))


def stable_prefix(
    *, high: int, low: int | None = None, costs: AdditiveCounter
) -> Outcome[StablePrefix, InvalidMarks]:
    """The strategy with these marks; `low` is seven tenths of `high` where it is not given.

    Refused unless 0 < low <= high < 2^64: marks are token numbers (C1), and stand in the report.
    """
    chosen = max(high * LOW_TENTHS // 10, 1) if low is None else low
    if not 0 < chosen <= high < TOKENS_BOUND:
        return Failure(InvalidMarks(high=high, low=chosen))
    return Success(StablePrefix(high=high, low=chosen, costs=costs))


@final
class RememberingStablePrefix:
    """The same plans as the strategy it wraps; a history that continues the last one is not walked again.

    Not a record: it remembers the last history, by reference, and where its fold stood; it may be shared by
    all builds of one thread. Nothing that it answers depends on what it remembers; only the time does. One
    session a wrapper: a memory of another history is of no use, and is replaced.
    """

    __slots__ = ("_fold", "_strategy", "_turns")

    def __init__(self, strategy: StablePrefix) -> None:
        self._strategy = strategy
        self._turns = Vector[ProjectedTurn]()
        self._fold = Fold()

    @property
    def name(self) -> str:
        """`stable_prefix`: the plans are the same."""
        return self._strategy.name

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        """The plan of the wrapped strategy."""
        turns = room.turns
        if not isinstance(turns, Vector):
            return self._strategy.plan(candidates, room)
        if not turns.starts_with(self._turns):
            self._turns, self._fold = Vector(), Fold()
        self._fold = _continued(self._strategy, self._fold, turns, turns.since(len(self._turns)))
        self._turns = turns
        return _planned(self._strategy, candidates, room, self._fold)


@final
@attrs.frozen(kw_only=True)
class Fold:
    """Where the cut stands after some turns.

    Attributes:
        turns: how many.
        cut: the position of the first turn that is kept; as many as there are turns where none is.
        moves: how often it has moved.
        kept_cost: what the turns from the cut on cost.
    """

    turns: int = 0
    cut: int = 0
    moves: int = 0
    kept_cost: int = 0


def folded(strategy: StablePrefix, turns: Sequence[ProjectedTurn]) -> Fold:
    """Where the cut stands after a history, from its first turn on."""
    return _continued(strategy, Fold(), turns, turns)


def _continued(
    strategy: StablePrefix, fold: Fold, turns: Sequence[ProjectedTurn], new: Iterable[ProjectedTurn]
) -> Fold:
    """The fold after the new turns, which stand at the end of `turns`."""
    count, cut, moves, kept = fold.turns, fold.cut, fold.moves, fold.kept_cost
    for turn in new:
        kept += _cost(strategy, turn)
        count += 1
        if kept > strategy.high:
            moves += 1
            while kept > strategy.low and cut < count:
                kept -= _cost(strategy, turns[cut])
                cut += 1
    return Fold(turns=count, cut=cut, moves=moves, kept_cost=kept)


def _cost(strategy: StablePrefix, turn: ProjectedTurn) -> int:
    return sum([summed_cost(group.messages, strategy.costs) for group in turn.groups])


def _planned(strategy: StablePrefix, candidates: Sequence[Candidate], room: Room, fold: Fold) -> Plan:
    marks = PrefixMarks(
        high=strategy.high,
        low=strategy.low,
        cut=room.turns[fold.cut].turn_id if fold.cut < len(room.turns) else None,
        moves=fold.moves,
        kept_cost=fold.kept_cost,
    )
    return oldest_first(candidates, tail_steps(candidates, room), cut=fold.cut, marks=marks)
