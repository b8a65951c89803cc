"""A plan held against what no plan may do (rules R1, R4, R6), and what it does to each thing it names."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never, final

import attrs

from jingwei.drafts.lines import line_of, short_line, summary_line
from jingwei.ids import ItemId, SummaryId, TurnId
from jingwei.items.envelope import item_line
from jingwei.messages.records import ModelMessage
from jingwei.selection.condense import condensed_exchange, condensed_turn
from jingwei.selection.costs import is_smaller
from jingwei.selection.records import (
    Condensed,
    CondenseExchange,
    CondenseItem,
    CondenseTurn,
    DropExchange,
    DropItem,
    DropTurn,
    InvalidPlan,
    InvalidPlanReason,
    Plan,
    PreviewPolicy,
    Reduction,
    ReplaceTurnsBySummary,
    Room,
    TurnCandidate,
)
from jingwei.selection.views import Candidates, EachDropped, FirstDropped

BASE: Final = -1
"""The rank of what a plan does in any case; what its step i does has the rank i."""


@final
@attrs.frozen(kw_only=True)
class Fate:
    """What a plan does to one turn or exchange.

    Attributes:
        condensed: what stands instead once it is condensed; None where it never is.
        policy: how it is condensed; None where it never is.
        condensed_at: the rank at which it is condensed; None for never.
        dropped_at: the rank at which it is left out; None for never.
        summary_id: the summary that stands for it once it is left out; None where none does.
    """

    condensed: Condensed | None = None
    policy: PreviewPolicy | None = None
    condensed_at: int | None = None
    dropped_at: int | None = None
    summary_id: SummaryId | None = None

    def is_dropped(self, steps: int) -> bool:
        """Whether it is left out after so many steps."""
        return self.dropped_at is not None and self.dropped_at < steps

    def shown_condensed(self, steps: int) -> Condensed | None:
        """What stands instead after so many steps, if it is not left out; None for the original."""
        is_so = self.condensed_at is not None and self.condensed_at < steps
        return self.condensed if is_so else None


UNTOUCHED: Final = Fate()
"""The fate of what a plan does not name."""


@final
@attrs.frozen(kw_only=True)
class Run:
    """A plan that drops turns in the order of the candidates, valid by the way it is made.

    Attributes:
        base: how many candidates are dropped in any case.
        turn_steps: how many more are dropped, one a step.
        tail_steps: how many steps follow, which name items and exchanges of the running turn.
        exchanges: fates of exchanges, by index.
        items: fates of items.
    """

    base: int
    turn_steps: int
    tail_steps: int
    exchanges: Mapping[int, Fate]
    items: Mapping[ItemId, Fate]


@final
@attrs.frozen(kw_only=True)
class Fates:
    """Any other plan, held to be valid.

    Attributes:
        steps: how many it has.
        turns: fates of the turns that it names.
        exchanges: fates of the exchanges that it names, by index.
        items: fates of the items that it names.
        summaries: the rank at which each summary that it names comes to stand for its turns.
    """

    steps: int
    turns: Mapping[TurnId, Fate]
    exchanges: Mapping[int, Fate]
    items: Mapping[ItemId, Fate]
    summaries: Mapping[SummaryId, int]


CheckedPlan: TypeAlias = Run | Fates
"""A plan that may be carried out."""

_Numbered: TypeAlias = Iterable[tuple[int | None, Reduction]]
"""Reductions with the index of their step, None for the base."""


def checked_plan(
    plan: Plan, candidates: Candidates, pinned: frozenset[TurnId], room: Room
) -> CheckedPlan | InvalidPlan:
    """What a plan does, or the first of its reductions that no plan may hold (R1, R4, R6).

    A plan that drops the very candidates it was given, in their order, is not walked.
    """
    run = _run(plan, candidates)
    if run is None:
        checker = _Checker(room, candidates, _turns(candidates), pinned)
        return checker.refused(_numbered(plan)) or Fates(
            steps=len(plan.steps),
            turns=checker.turns,
            exchanges=checker.exchanges,
            items=checker.items,
            summaries=checker.summaries,
        )
    behind = [
        (run.turn_steps + place, reduction)
        for place, step in enumerate(run.tail)
        for reduction in step.reductions
    ]
    checker = _Checker(room, candidates, {}, pinned)
    return checker.refused(behind) or Run(
        base=len(plan.base),
        turn_steps=run.turn_steps,
        tail_steps=len(run.tail),
        exchanges=checker.exchanges,
        items=checker.items,
    )


def _run(plan: Plan, candidates: Candidates) -> EachDropped | None:
    """The plan's steps, if plan and steps are views over these candidates; else None."""
    base, steps = plan.base, plan.steps
    if not isinstance(steps, EachDropped) or steps.candidates is not candidates or steps.start != len(base):
        return None
    ours = base.candidates is candidates if isinstance(base, FirstDropped) else not base
    no_turn = all(
        isinstance(reduction, DropExchange | CondenseExchange | DropItem | CondenseItem)
        for step in steps.tail
        for reduction in step.reductions
    )
    return steps if ours and no_turn else None


def _numbered(plan: Plan) -> Iterator[tuple[int | None, Reduction]]:
    for reduction in plan.base:
        yield None, reduction
    for index, step in enumerate(plan.steps):
        for reduction in step.reductions:
            yield index, reduction


def _turns(candidates: Candidates) -> Mapping[TurnId, int]:
    return {c.turn_id: c.position for c in candidates if isinstance(c, TurnCandidate)}


@final
class _Checker:
    """Walks reductions in order and notes what each does; never leaves this file."""

    def __init__(
        self, room: Room, candidates: Candidates, turns: Mapping[TurnId, int], pinned: frozenset[TurnId]
    ) -> None:
        self._room = room
        self._allowed = turns
        self._allowed_exchanges = frozenset([candidate.index for candidate in candidates.exchanges])
        self._allowed_items = {candidate.item_id: candidate.index for candidate in candidates.items}
        self._allowed_summaries = {one.summary_id: one.index for one in candidates.summaries}
        self._kept_items = frozenset([item.item_id for item in room.items if item.is_kept])
        self._pinned = pinned
        self._turns = dict[TurnId, Fate]()
        self._exchanges = dict[int, Fate]()
        self._items = dict[ItemId, Fate]()
        self._summaries = dict[SummaryId, int]()

    @property
    def turns(self) -> Mapping[TurnId, Fate]:
        return MappingProxyType(self._turns)

    @property
    def exchanges(self) -> Mapping[int, Fate]:
        return MappingProxyType(self._exchanges)

    @property
    def items(self) -> Mapping[ItemId, Fate]:
        return MappingProxyType(self._items)

    @property
    def summaries(self) -> Mapping[SummaryId, int]:
        return MappingProxyType(self._summaries)

    def refused(self, numbered: _Numbered) -> InvalidPlan | None:
        """The first reduction that may not be; None when all are noted."""
        for step, reduction in numbered:
            reason = self._noted(BASE if step is None else step, reduction)
            if reason is not None:
                return _refusal(step, reason, reduction)
        return None

    def _noted(self, rank: int, reduction: Reduction) -> InvalidPlanReason | None:
        match reduction:
            case DropTurn(turn_id=turn_id) | CondenseTurn(turn_id=turn_id):
                if turn_id not in self._turns and turn_id not in self._allowed:
                    return _not_allowed(pinned=turn_id in self._pinned)
                found = self._next_fate(self._turns.get(turn_id, UNTOUCHED), rank, reduction)
                if isinstance(found, Fate):
                    self._turns[turn_id] = found
            case DropExchange(index=index) | CondenseExchange(index=index):
                if index not in self._exchanges and index not in self._allowed_exchanges:
                    return InvalidPlanReason.UNKNOWN_CANDIDATE
                found = self._next_fate(self._exchanges.get(index, UNTOUCHED), rank, reduction)
                if isinstance(found, Fate):
                    self._exchanges[index] = found
            case DropItem(item_id=item_id) | CondenseItem(item_id=item_id):
                if item_id not in self._items and item_id not in self._allowed_items:
                    return _not_allowed(pinned=item_id in self._kept_items)
                found = self._next_fate(self._items.get(item_id, UNTOUCHED), rank, reduction)
                if isinstance(found, Fate):
                    self._items[item_id] = found
            case ReplaceTurnsBySummary(summary_id=summary_id):
                return self._replaced(rank, summary_id)
            case _:
                assert_never(reduction)
        return None if isinstance(found, Fate) else found

    def _next_fate(
        self,
        fate: Fate,
        rank: int,
        reduction: DropTurn | CondenseTurn | DropExchange | CondenseExchange | DropItem | CondenseItem,
    ) -> Fate | InvalidPlanReason:
        """One more reduction of the same thing: it may be condensed once, and then dropped once (R4)."""
        if fate.dropped_at is not None:
            return InvalidPlanReason.REPEATED
        match reduction:
            case DropTurn() | DropExchange() | DropItem():
                return attrs.evolve(fate, dropped_at=rank)
            case CondenseTurn() | CondenseExchange() | CondenseItem():
                if fate.condensed is not None:
                    return InvalidPlanReason.ALREADY_CONDENSED
                original, condensed = self._condensed(reduction)
                if condensed is None:
                    return InvalidPlanReason.NOTHING_TO_CONDENSE
                if not is_smaller(condensed.messages, original, self._room.costs):
                    return InvalidPlanReason.NOT_SMALLER
                policy = None if isinstance(reduction, CondenseItem) else reduction.policy
                return Fate(condensed=condensed, policy=policy, condensed_at=rank)
            case _:
                assert_never(reduction)

    def _condensed(
        self, reduction: CondenseTurn | CondenseExchange | CondenseItem
    ) -> tuple[tuple[ModelMessage, ...], Condensed | None]:
        """The original messages, and what would stand instead."""
        match reduction:
            case CondenseTurn(turn_id=turn_id, policy=policy):
                turn = self._room.turns[self._allowed[turn_id]]
                return turn.messages, condensed_turn(turn, policy, self._room.session_id)
            case CondenseExchange(index=index, policy=policy):
                exchange = self._room.exchanges[index]
                return exchange.messages, condensed_exchange(exchange, policy)
            case CondenseItem(item_id=item_id):
                item = self._room.items[self._allowed_items[item_id]]
                return line_of(item_line(item)).messages, short_line(item)
            case _:
                assert_never(reduction)

    def _replaced(self, rank: int, summary_id: SummaryId) -> InvalidPlanReason | None:
        """All turns of a summary leave together, and none of them may have left before (S8, R4)."""
        if summary_id in self._summaries:
            return InvalidPlanReason.REPEATED
        if summary_id not in self._allowed_summaries:
            known = any(summary.summary_id == summary_id for summary in self._room.summaries)
            return _not_allowed(pinned=known)
        summary = self._room.summaries[self._allowed_summaries[summary_id]]
        # A turn without messages is no candidate (R5): a summary may cover it, and nothing is replaced.
        covered = [turn_id for turn_id in summary.turn_ids if turn_id in self._allowed]
        fates = [self._turns.get(turn_id, UNTOUCHED) for turn_id in covered]
        if any(fate.dropped_at is not None for fate in fates):
            return InvalidPlanReason.REPEATED
        turns = [self._room.turns[self._allowed[turn_id]].messages for turn_id in covered]
        if not is_smaller(summary_line(summary).messages, chain.from_iterable(turns), self._room.costs):
            return InvalidPlanReason.NOT_SMALLER
        for turn_id, fate in zip(covered, fates, strict=True):
            self._turns[turn_id] = attrs.evolve(fate, dropped_at=rank, summary_id=summary_id)
        self._summaries[summary_id] = rank
        return None


def _not_allowed(*, pinned: bool) -> InvalidPlanReason:
    return InvalidPlanReason.PINNED if pinned else InvalidPlanReason.UNKNOWN_CANDIDATE


def _refusal(step: int | None, reason: InvalidPlanReason, reduction: Reduction) -> InvalidPlan:
    match reduction:
        case DropTurn(turn_id=turn_id) | CondenseTurn(turn_id=turn_id):
            return InvalidPlan(step=step, reason=reason, turn_id=turn_id)
        case DropExchange(index=index) | CondenseExchange(index=index):
            return InvalidPlan(step=step, reason=reason, turn_id=None, exchange=index)
        case DropItem(item_id=item_id) | CondenseItem(item_id=item_id):
            return InvalidPlan(step=step, reason=reason, turn_id=None, item_id=item_id)
        case ReplaceTurnsBySummary(summary_id=summary_id):
            return InvalidPlan(step=step, reason=reason, turn_id=None, summary_id=summary_id)
        case _:
            assert_never(reduction)
