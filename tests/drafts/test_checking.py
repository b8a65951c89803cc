"""What no plan may do (R1, R4, R6), and how a plan over a build's own candidates is known."""

from typing import Final

import attrs
import pytest

from jingwei.drafts.candidates import Frame, candidates_of, frame_of, room_of
from jingwei.drafts.checking import UNTOUCHED, CheckedPlan, Fate, Fates, Run, checked_plan
from jingwei.ids import TurnId
from jingwei.messages.records import TextConstraint
from jingwei.request.counting import AdditiveCounter
from jingwei.request.records import ContextBudget
from jingwei.selection.records import (
    CondenseExchange,
    CondenseTurn,
    DropExchange,
    DropTurn,
    InvalidPlan,
    InvalidPlanReason,
    Plan,
    PlanStep,
    PreviewPolicy,
    Reduction,
)
from jingwei.selection.views import Candidates, oldest_first
from tests.selection.test_exchanges import SMALL, Flat, asked, result, user
from tests.test_build import AdditiveByteCounter, history

HISTORY: Final = history(4)
HUGE: Final = PreviewPolicy(inline_bytes=100_000, preview_bytes=10)
PINNED: Final = frozenset([TurnId("t0")])
CURRENT: Final = (user(), asked("a"), result("a", 900), asked("b"), result("b"), asked("c"), result("c", 900))


def frame() -> Frame:
    return frame_of([], CURRENT, TextConstraint(), reduce_current=True)


def candidates() -> Candidates:
    return candidates_of(HISTORY, PINNED, frame().exchanges)


def checked(
    plan: Plan, over: Candidates | None = None, costs: AdditiveCounter | None = None
) -> CheckedPlan | InvalidPlan:
    over = candidates() if over is None else over
    budget = ContextBudget(window_tokens=1, output_reserve=1)
    return checked_plan(plan, over, PINNED, room_of(HISTORY, frame(), over, budget, costs))


def steps(*each: Reduction) -> Plan:
    return Plan(steps=tuple([PlanStep(reductions=(one,)) for one in each]))


def drop(turn: str) -> DropTurn:
    return DropTurn(turn_id=TurnId(turn))


def condense(turn: str, policy: PreviewPolicy = SMALL) -> CondenseTurn:
    return CondenseTurn(turn_id=TurnId(turn), policy=policy)


def shorten(index: int, policy: PreviewPolicy = SMALL) -> CondenseExchange:
    return CondenseExchange(index=index, policy=policy)


@pytest.mark.parametrize(
    ("plan", "step", "reason", "named"),
    [
        (steps(drop("t1"), drop("t9")), 1, InvalidPlanReason.UNKNOWN_CANDIDATE, "t9"),
        (steps(condense("t9")), 0, InvalidPlanReason.UNKNOWN_CANDIDATE, "t9"),
        (steps(drop("t0")), 0, InvalidPlanReason.PINNED, "t0"),
        (steps(condense("t0")), 0, InvalidPlanReason.PINNED, "t0"),
        (Plan(base=(condense("t0"),)), None, InvalidPlanReason.PINNED, "t0"),
        (steps(drop("t1"), drop("t1")), 1, InvalidPlanReason.REPEATED, "t1"),
        (steps(drop("t1"), condense("t1")), 1, InvalidPlanReason.REPEATED, "t1"),
        (steps(condense("t1"), condense("t1")), 1, InvalidPlanReason.ALREADY_CONDENSED, "t1"),
        (steps(condense("t1"), condense("t1", HUGE)), 1, InvalidPlanReason.ALREADY_CONDENSED, "t1"),
        (steps(condense("t1", HUGE)), 0, InvalidPlanReason.NOTHING_TO_CONDENSE, "t1"),
        (steps(shorten(1)), 0, InvalidPlanReason.NOTHING_TO_CONDENSE, 1),
        (steps(shorten(0), shorten(0)), 1, InvalidPlanReason.ALREADY_CONDENSED, 0),
        (steps(DropExchange(index=1), DropExchange(index=1)), 1, InvalidPlanReason.REPEATED, 1),
        (steps(DropExchange(index=2)), 0, InvalidPlanReason.UNKNOWN_CANDIDATE, 2),
        (steps(shorten(2)), 0, InvalidPlanReason.UNKNOWN_CANDIDATE, 2),
        (steps(DropExchange(index=-1)), 0, InvalidPlanReason.UNKNOWN_CANDIDATE, -1),
    ],
)
def test_what_a_plan_may_not_do(
    plan: Plan, step: int | None, reason: InvalidPlanReason, named: str | int
) -> None:
    expected = InvalidPlan(step=step, reason=reason, turn_id=None)
    if isinstance(named, str):
        expected = attrs.evolve(expected, turn_id=TurnId(named))
    else:
        expected = attrs.evolve(expected, exchange=named)

    assert expected == checked(plan)


@pytest.mark.parametrize("reduction", [condense("t1"), shorten(0)])
def test_a_replacement_must_be_smaller_by_the_counter_where_it_adds_up(reduction: Reduction) -> None:
    assert isinstance(checked(steps(reduction), costs=AdditiveByteCounter()), Fates)
    refused = checked(steps(reduction), costs=Flat())

    assert isinstance(refused, InvalidPlan)
    assert InvalidPlanReason.NOT_SMALLER is refused.reason


def test_what_may_be_done_is_noted_with_its_rank() -> None:
    plan = Plan(
        base=(condense("t1"), DropExchange(index=0)),
        steps=(PlanStep(reductions=(drop("t2"), drop("t1"))), PlanStep(reductions=())),
    )
    found = checked(plan)
    assert isinstance(found, Fates)
    first = found.turns[TurnId("t1")]

    assert (2, {TurnId("t1"), TurnId("t2")}) == (found.steps, set(found.turns))
    assert (SMALL, -1, 0) == (first.policy, first.condensed_at, first.dropped_at)
    assert first.condensed is not None
    assert Fate(dropped_at=0) == found.turns[TurnId("t2")]
    assert {0: Fate(dropped_at=-1)} == dict(found.exchanges)


def test_a_fate_says_what_stands_after_some_steps() -> None:
    found = checked(steps(condense("t1"), drop("t1")))
    assert isinstance(found, Fates)
    fate = found.turns[TurnId("t1")]

    assert [False, False, True] == [fate.is_dropped(steps) for steps in range(3)]
    assert [None, fate.condensed, fate.condensed] == [fate.shown_condensed(steps) for steps in range(3)]
    assert (False, None) == (UNTOUCHED.is_dropped(99), UNTOUCHED.shown_condensed(99))


def test_a_plan_over_the_given_candidates_in_their_order_is_a_run() -> None:
    ours = candidates()
    tail = (PlanStep(reductions=(shorten(0),)), PlanStep(reductions=(DropExchange(index=0),)))
    found = checked(oldest_first(ours, tail, cut=2), ours)
    assert isinstance(found, Run)

    assert (1, 2, 2) == (found.base, found.turn_steps, found.tail_steps)
    assert [0] == list(found.exchanges)
    assert (2, 3) == (found.exchanges[0].condensed_at, found.exchanges[0].dropped_at)


def test_a_run_without_a_base_may_say_so_with_a_tuple() -> None:
    ours = candidates()
    plan = attrs.evolve(oldest_first(ours, ()), base=())

    assert isinstance(checked(plan, ours), Run)


@pytest.mark.parametrize("ours_in_base", [True, False])
def test_a_computed_plan_that_mixes_candidates_or_starts_elsewhere_is_walked(ours_in_base: bool) -> None:
    ours, others = candidates(), candidates()
    base, rest = (ours, others) if ours_in_base else (others, ours)
    mixed = attrs.evolve(oldest_first(rest, (), cut=2), base=oldest_first(base, (), cut=2).base)
    written = attrs.evolve(oldest_first(ours, (), cut=2), base=(drop("t3"),))
    shifted = attrs.evolve(oldest_first(ours, (), cut=2), base=())

    assert isinstance(checked(mixed, ours), Fates)
    assert InvalidPlan(step=1, reason=InvalidPlanReason.REPEATED, turn_id=TurnId("t3")) == checked(
        written, ours
    )
    assert isinstance(checked(shifted, ours), Fates)


def test_a_tail_that_names_turns_is_walked() -> None:
    ours = candidates()
    plan = oldest_first(ours, (PlanStep(reductions=(drop("t1"),)),))

    assert InvalidPlan(step=3, reason=InvalidPlanReason.REPEATED, turn_id=TurnId("t1")) == checked(plan, ours)


def test_a_tail_is_held_to_the_rules() -> None:
    ours = candidates()
    plan = oldest_first(ours, (PlanStep(reductions=(DropExchange(index=2),)),))
    expected = InvalidPlan(step=3, reason=InvalidPlanReason.UNKNOWN_CANDIDATE, turn_id=None, exchange=2)

    assert expected == checked(plan, ours)
