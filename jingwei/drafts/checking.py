"""A plan held against what no plan may do (rules R1, R4, R6), and what it does to each thing it names."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never, final

import attrs

from jingwei.ids import TurnId
from jingwei.messages.records import ModelMessage
from jingwei.selection.condense import condensed_exchange, condensed_turn
from jingwei.selection.costs import is_smaller
from jingwei.selection.records import (
    Condensed,
    CondenseExchange,
    CondenseTurn,
    DropExchange,
    DropTurn,
    InvalidPlan,
    InvalidPlanReason,
    Plan,
    PreviewPolicy,
    Reduction,
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
    """

    condensed: Condensed | None = None
    policy: PreviewPolicy | None = None
    condensed_at: int | None = None
    dropped_at: int | None = None

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
        exchanges: fates of exchanges of the running turn, by index; their steps come last.
        exchange_steps: how many steps these take.
    """

    base: int
    turn_steps: int
    exchanges: Mapping[int, Fate]
    exchange_steps: int


@final
@attrs.frozen(kw_only=True)
class Fates:
    """Any other plan, held to be valid.

    Attributes:
        steps: how many it has.
        turns: fates of the turns that it names.
        exchanges: fates of the exchanges that it names, by index.
    """

    steps: int
    turns: Mapping[TurnId, Fate]
    exchanges: Mapping[int, Fate]


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
        checker = _Checker(room, _turns(candidates), _exchanges(candidates), pinned)
        refused = checker.refused(_numbered(plan))
        return refused or Fates(steps=len(plan.steps), turns=checker.turns, exchanges=checker.exchanges)
    behind = [
        (run.turn_steps + place, reduction)
        for place, step in enumerate(run.tail)
        for reduction in step.reductions
    ]
    checker = _Checker(room, {}, _exchanges(candidates), pinned)
    return checker.refused(behind) or Run(
        base=len(plan.base),
        turn_steps=run.turn_steps,
        exchanges=checker.exchanges,
        exchange_steps=len(run.tail),
    )


def _run(plan: Plan, candidates: Candidates) -> EachDropped | None:
    """The plan's steps, if plan and steps are views over these candidates; else None."""
    base, steps = plan.base, plan.steps
    if not isinstance(steps, EachDropped) or steps.candidates is not candidates or steps.start != len(base):
        return None
    ours = base.candidates is candidates if isinstance(base, FirstDropped) else not base
    about_current = all(
        isinstance(reduction, DropExchange | CondenseExchange)
        for step in steps.tail
        for reduction in step.reductions
    )
    return steps if ours and about_current else None


def _numbered(plan: Plan) -> Iterator[tuple[int | None, Reduction]]:
    for reduction in plan.base:
        yield None, reduction
    for index, step in enumerate(plan.steps):
        for reduction in step.reductions:
            yield index, reduction


def _turns(candidates: Candidates) -> Mapping[TurnId, int]:
    return {c.turn_id: c.position for c in candidates if isinstance(c, TurnCandidate)}


def _exchanges(candidates: Candidates) -> frozenset[int]:
    return frozenset([candidate.index for candidate in candidates.exchanges])


@final
class _Checker:
    """Walks reductions in order and notes what each does; never leaves this file."""

    def __init__(
        self, room: Room, allowed: Mapping[TurnId, int], exchanges: frozenset[int], pinned: frozenset[TurnId]
    ) -> None:
        self._room = room
        self._allowed = allowed
        self._allowed_exchanges = exchanges
        self._pinned = pinned
        self._turns = dict[TurnId, Fate]()
        self._exchanges = dict[int, Fate]()

    @property
    def turns(self) -> Mapping[TurnId, Fate]:
        return MappingProxyType(self._turns)

    @property
    def exchanges(self) -> Mapping[int, Fate]:
        return MappingProxyType(self._exchanges)

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
                fate = self._turns.get(turn_id)
                if fate is None and turn_id not in self._allowed:
                    is_pinned = turn_id in self._pinned
                    return InvalidPlanReason.PINNED if is_pinned else InvalidPlanReason.UNKNOWN_CANDIDATE
                found = self._next_fate(fate or UNTOUCHED, rank, reduction)
                if isinstance(found, Fate):
                    self._turns[turn_id] = found
            case DropExchange(index=index) | CondenseExchange(index=index):
                fate = self._exchanges.get(index)
                if fate is None and index not in self._allowed_exchanges:
                    return InvalidPlanReason.UNKNOWN_CANDIDATE
                found = self._next_fate(fate or UNTOUCHED, rank, reduction)
                if isinstance(found, Fate):
                    self._exchanges[index] = found
            case _:
                assert_never(reduction)
        return None if isinstance(found, Fate) else found

    def _next_fate(self, fate: Fate, rank: int, reduction: Reduction) -> Fate | InvalidPlanReason:
        """One more reduction of the same thing: it may be condensed once, and then dropped once (R4)."""
        if fate.dropped_at is not None:
            return InvalidPlanReason.REPEATED
        match reduction:
            case DropTurn() | DropExchange():
                return attrs.evolve(fate, dropped_at=rank)
            case CondenseTurn(policy=policy) | CondenseExchange(policy=policy):
                if fate.condensed is not None:
                    return InvalidPlanReason.ALREADY_CONDENSED
                original, condensed = self._condensed(reduction)
                if condensed is None:
                    return InvalidPlanReason.NOTHING_TO_CONDENSE
                if not is_smaller(condensed.messages, original, self._room.costs):
                    return InvalidPlanReason.NOT_SMALLER
                return Fate(condensed=condensed, policy=policy, condensed_at=rank)
            case _:
                assert_never(reduction)

    def _condensed(
        self, reduction: CondenseTurn | CondenseExchange
    ) -> tuple[tuple[ModelMessage, ...], Condensed | None]:
        """The original messages, and what would stand instead."""
        if isinstance(reduction, CondenseTurn):
            turn = self._room.turns[self._allowed[reduction.turn_id]]
            return turn.messages, condensed_turn(turn, reduction.policy, self._room.session_id)
        exchange = self._room.exchanges[reduction.index]
        return exchange.messages, condensed_exchange(exchange, reduction.policy)


def _refusal(step: int | None, reason: InvalidPlanReason, reduction: Reduction) -> InvalidPlan:
    match reduction:
        case DropTurn(turn_id=turn_id) | CondenseTurn(turn_id=turn_id):
            return InvalidPlan(step=step, reason=reason, turn_id=turn_id)
        case DropExchange(index=index) | CondenseExchange(index=index):
            return InvalidPlan(step=step, reason=reason, turn_id=None, exchange=index)
        case _:
            assert_never(reduction)
