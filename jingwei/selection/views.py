"""Sequences that are computed when they are read: candidates, plans and reductions in turn order.

A history of thousands of turns has as many candidates, steps and reductions, nearly all of which nobody
looks at. These views stand for the tuples: equal to them, hashed like them, and never walked by a build,
which knows a plan over its own candidates by the class of these views.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import final

import attrs
from typing_extensions import override

from jingwei.persistent import Vector
from jingwei.projection.records import ProjectedTurn, TurnSources
from jingwei.selection.computed import View
from jingwei.selection.records import (
    Candidate,
    DropTurn,
    ExchangeCandidate,
    ItemCandidate,
    Plan,
    PlanStep,
    PrefixMarks,
    Reduction,
    SummaryCandidate,
    TurnCandidate,
    TurnReduction,
)


@final
@attrs.frozen(kw_only=True)
class Spared:
    """Positions of turns that are no candidates: those without messages (R5), and pinned ones.

    Attributes:
        silent: turns without messages, increasing; shared with the projection.
        pinned: pinned turns that have messages, increasing.
    """

    silent: Sequence[int] = ()
    pinned: tuple[int, ...] = ()

    def __len__(self) -> int:
        """How many."""
        return len(self.silent) + len(self.pinned)

    def before(self, position: int) -> int:
        """How many stand before this position."""
        return bisect_left(self.silent, position) + bisect_left(self.pinned, position)

    def position(self, index: int) -> int:
        """The position of the candidate with this index: so many others stand before it."""
        if not len(self):
            return index
        low, high = index, index + len(self)
        while low < high:
            middle = (low + high) // 2
            if middle + 1 - self.before(middle + 1) > index:
                high = middle
            else:
                low = middle + 1
        return low

    def positions(self, start: int, stop: int) -> Iterator[int]:
        """The positions in a range that are not spared, increasing."""
        if not self.before(stop) - self.before(start):
            return iter(range(start, stop))
        gone = {*self._within(self.silent, start, stop), *self._within(self.pinned, start, stop)}
        return (position for position in range(start, stop) if position not in gone)

    def positions_down(self, start: int, stop: int) -> Iterator[int]:
        """The same from the largest to the smallest, so that whoever stops early has walked few."""
        silent, pinned = bisect_left(self.silent, stop), bisect_left(self.pinned, stop)
        for position in range(stop - 1, start - 1, -1):
            if silent and self.silent[silent - 1] == position:
                silent -= 1
            elif pinned and self.pinned[pinned - 1] == position:
                pinned -= 1
            else:
                yield position

    def _within(self, positions: Sequence[int], start: int, stop: int) -> Iterator[int]:
        first, last = bisect_left(positions, start), bisect_left(positions, stop)
        return (positions[index] for index in range(first, last))


@final
@attrs.frozen(kw_only=True, eq=False, repr=False)
class Candidates(View[Candidate]):
    """Turns that may be left out, oldest first, then everything else that may.

    Attributes:
        turns: the whole history.
        spared: turns that are no candidates.
        exchanges: all finished exchanges of the running turn but the last, where the host let them (R6).
        items: context items that are neither required nor pinned (S3), in their order.
        summaries: summaries that may stand for turns (S8), oldest first.
    """

    turns: Vector[ProjectedTurn]
    spared: Spared
    exchanges: tuple[ExchangeCandidate, ...] = ()
    items: tuple[ItemCandidate, ...] = ()
    summaries: tuple[SummaryCandidate, ...] = ()

    @property
    def turn_count(self) -> int:
        """How many of them are turns; these stand first."""
        return len(self.turns) - len(self.spared)

    def position(self, index: int) -> int:
        """The position in the history of the turn with this index; past the last turn, its length."""
        return self.spared.position(index) if index < self.turn_count else len(self.turns)

    def positions_down(self, start: int) -> Iterator[int]:
        """Positions of the turns from the newest back to the one with the index `start`."""
        return self.spared.positions_down(self.position(start), len(self.turns))

    @override
    def __len__(self) -> int:
        return self.turn_count + len(self.exchanges) + len(self.items) + len(self.summaries)

    @override
    def __iter__(self) -> Iterator[Candidate]:
        positions = self.spared.positions(0, len(self.turns))
        turns = (_candidate(self.turns[position], position) for position in positions)
        return chain[Candidate](turns, self.exchanges, self.items, self.summaries)

    @override
    def _at(self, index: int) -> Candidate:
        if index >= self.turn_count:
            others: tuple[Candidate, ...] = (*self.exchanges, *self.items, *self.summaries)
            return others[index - self.turn_count]
        position = self.spared.position(index)
        return _candidate(self.turns[position], position)


def _candidate(turn: ProjectedTurn, position: int) -> TurnCandidate:
    return TurnCandidate(
        turn_id=turn.turn_id,
        position=position,
        message_count=turn.message_count,
        canonical_bytes=turn.canonical_bytes,
    )


@final
@attrs.frozen(kw_only=True, eq=False, repr=False)
class FirstDropped(View[Reduction]):
    """Dropping the first so many candidates, in their order; they are turns. A plan's base.

    Made by `oldest_first`, as `EachDropped` is: a build takes them for what they say.
    """

    candidates: Candidates
    length: int

    @override
    def __len__(self) -> int:
        return self.length

    @override
    def _at(self, index: int) -> Reduction:
        return _dropped(self.candidates[index])


@final
@attrs.frozen(kw_only=True, eq=False, repr=False)
class EachDropped(View[PlanStep]):
    """One step for each turn from `start` on, oldest first, then the steps of `tail`. A plan's steps."""

    candidates: Candidates
    start: int
    tail: tuple[PlanStep, ...] = ()

    @property
    def turn_steps(self) -> int:
        """How many steps drop a turn; these stand first."""
        return self.candidates.turn_count - self.start

    @override
    def __len__(self) -> int:
        return self.turn_steps + len(self.tail)

    @override
    def _at(self, index: int) -> PlanStep:
        if index >= self.turn_steps:
            return self.tail[index - self.turn_steps]
        return PlanStep(reductions=(_dropped(self.candidates[self.start + index]),))


def _dropped(candidate: Candidate) -> DropTurn:
    assert isinstance(candidate, TurnCandidate)
    return DropTurn(turn_id=candidate.turn_id)


def oldest_first(
    candidates: Sequence[Candidate],
    tail: tuple[PlanStep, ...],
    *,
    cut: int = 0,
    marks: PrefixMarks | None = None,
) -> Plan:
    """Drop turns before the position `cut` in any case, then the others one a step, then take `tail`.

    Over a build's own candidates plan and steps are views, else tuples; they are equal.
    """
    if isinstance(candidates, Candidates):
        position = max(0, min(cut, len(candidates.turns)))
        start = position - candidates.spared.before(position)
        base = FirstDropped(candidates=candidates, length=start)
        return Plan(base=base, steps=EachDropped(candidates=candidates, start=start, tail=tail), marks=marks)
    turns = [candidate for candidate in candidates if isinstance(candidate, TurnCandidate)]
    drops = [(turn.position < cut, DropTurn(turn_id=turn.turn_id)) for turn in turns]
    return Plan(
        base=tuple([drop for early, drop in drops if early]),
        steps=(*(PlanStep(reductions=(drop,)) for early, drop in drops if not early), *tail),
        marks=marks,
    )


def exchange_candidates(candidates: Sequence[Candidate]) -> tuple[ExchangeCandidate, ...]:
    """The exchanges among the candidates; a build's own are not walked."""
    if isinstance(candidates, Candidates):
        return candidates.exchanges
    return tuple([candidate for candidate in candidates if isinstance(candidate, ExchangeCandidate)])


def item_candidates(candidates: Sequence[Candidate]) -> tuple[ItemCandidate, ...]:
    """The items among the candidates, in the same way."""
    if isinstance(candidates, Candidates):
        return candidates.items
    return tuple([candidate for candidate in candidates if isinstance(candidate, ItemCandidate)])


def summary_candidates(candidates: Sequence[Candidate]) -> tuple[SummaryCandidate, ...]:
    """The summaries among the candidates, in the same way."""
    if isinstance(candidates, Candidates):
        return candidates.summaries
    return tuple([candidate for candidate in candidates if isinstance(candidate, SummaryCandidate)])


@final
@attrs.frozen(kw_only=True, eq=False, repr=False)
class TurnsDropped(View[TurnReduction]):
    """Dropping every turn before the position `end` that is not spared. A report's reductions.

    Holds the turns' sources, not their messages: a report does not keep a history's text alive.
    """

    sources: Sequence[TurnSources]
    spared: Spared
    end: int

    @override
    def __len__(self) -> int:
        return self.end - self.spared.before(self.end)

    @override
    def __iter__(self) -> Iterator[TurnReduction]:
        positions = self.spared.positions(0, self.end)
        return (DropTurn(turn_id=self.sources[position].turn_id) for position in positions)

    @override
    def _at(self, index: int) -> TurnReduction:
        return DropTurn(turn_id=self.sources[self.spared.position(index)].turn_id)
