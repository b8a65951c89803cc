"""What no plan may do (R1, R4, R6), and how a plan over a build's own candidates is known."""

from typing import Final

import attrs
import pytest

from jingwei.drafts.candidates import (
    Frame,
    all_candidates,
    candidates_of,
    frame_of,
    pinned_positions,
    room_of,
)
from jingwei.drafts.checking import UNTOUCHED, CheckedPlan, Fate, Fates, Run, checked_plan
from jingwei.ids import ItemId, SummaryId, TurnId
from jingwei.items.records import ShortContent
from jingwei.messages.records import TextConstraint
from jingwei.projection.project import project
from jingwei.request.counting import AdditiveCounter
from jingwei.request.records import ContextBudget
from jingwei.selection.records import (
    CondenseExchange,
    CondenseItem,
    CondenseTurn,
    DropExchange,
    DropItem,
    DropTurn,
    InvalidPlan,
    InvalidPlanReason,
    Plan,
    PlanStep,
    PreviewPolicy,
    Reduction,
    ReplaceTurnsBySummary,
)
from jingwei.selection.views import Candidates, oldest_first
from tests.logtable import SESSION, log_of
from tests.selection.test_exchanges import SMALL, Flat, asked, result, user
from tests.selection.weighing import TURN, Priced, item, summary
from tests.selection.weighing import history as weighed_history
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


# --- items and summaries ----------------------------------------------------------------------------

LONG: Final = ShortContent(text="short", method="cut-v1")
ITEMS: Final = (
    item("kept", 9, pinned=True),
    attrs.evolve(item("long", 400), short=LONG),
    attrs.evolve(item("small", 9), short=attrs.evolve(LONG, text="x" * 99)),
    item("plain", 9),
)
SUMMARIES: Final = (summary("s", 1, 2), summary("both", 2, 3), summary("pinned", 0))


def checked_envelopes(plan: Plan, costs: AdditiveCounter | None = None) -> CheckedPlan | InvalidPlan:
    """Turns 0 to 3 of which the first is pinned, items, and three summaries of which two share a turn."""
    past = weighed_history(4)
    framed = frame_of([], CURRENT, TextConstraint(), reduce_current=False, items=ITEMS, summaries=SUMMARIES)
    pins = pinned_positions(past, [TurnId("0")])
    over = all_candidates(past, pins, framed)
    budget = ContextBudget(window_tokens=1, output_reserve=1)
    room = room_of(past, framed, over, budget, Priced() if costs is None else costs)
    return checked_plan(plan, over, frozenset([TurnId("0")]), room)


def out(item_id: str) -> DropItem:
    return DropItem(item_id=ItemId(item_id))


def short(item_id: str) -> CondenseItem:
    return CondenseItem(item_id=ItemId(item_id))


def instead(summary_id: str) -> ReplaceTurnsBySummary:
    return ReplaceTurnsBySummary(summary_id=SummaryId(summary_id))


@pytest.mark.parametrize(
    ("plan", "step", "reason", "named"),
    [
        (steps(out("kept")), 0, InvalidPlanReason.PINNED, "kept"),
        (steps(short("kept")), 0, InvalidPlanReason.PINNED, "kept"),
        (steps(out("gone")), 0, InvalidPlanReason.UNKNOWN_CANDIDATE, "gone"),
        (steps(out("long"), out("long")), 1, InvalidPlanReason.REPEATED, "long"),
        (steps(out("long"), short("long")), 1, InvalidPlanReason.REPEATED, "long"),
        (steps(short("long"), short("long")), 1, InvalidPlanReason.ALREADY_CONDENSED, "long"),
        (steps(short("plain")), 0, InvalidPlanReason.NOTHING_TO_CONDENSE, "plain"),
        (Plan(base=(short("small"),)), None, InvalidPlanReason.NOT_SMALLER, "small"),
    ],
)
def test_what_a_plan_may_not_do_to_items(
    plan: Plan, step: int | None, reason: InvalidPlanReason, named: str
) -> None:
    expected = InvalidPlan(step=step, reason=reason, turn_id=None, item_id=ItemId(named))

    assert expected == checked_envelopes(plan)


@pytest.mark.parametrize(
    ("plan", "step", "reason", "named"),
    [
        (steps(instead("gone")), 0, InvalidPlanReason.UNKNOWN_CANDIDATE, "gone"),
        (steps(instead("pinned")), 0, InvalidPlanReason.PINNED, "pinned"),
        (steps(instead("s"), instead("s")), 1, InvalidPlanReason.REPEATED, "s"),
        (steps(instead("s"), instead("both")), 1, InvalidPlanReason.REPEATED, "both"),
        (steps(drop("2"), instead("s")), 1, InvalidPlanReason.REPEATED, "s"),
    ],
)
def test_what_a_plan_may_not_do_with_summaries(
    plan: Plan, step: int, reason: InvalidPlanReason, named: str
) -> None:
    expected = InvalidPlan(step=step, reason=reason, turn_id=None, summary_id=SummaryId(named))

    assert expected == checked_envelopes(plan)


def test_a_summary_that_does_not_cost_less_is_refused() -> None:
    expected = InvalidPlan(
        step=0, reason=InvalidPlanReason.NOT_SMALLER, turn_id=None, summary_id=SummaryId("s")
    )

    assert expected == checked_envelopes(steps(instead("s")), Priced(summary=2 * TURN))


def test_a_turn_that_a_summary_stands_for_is_gone() -> None:
    expected = InvalidPlan(step=1, reason=InvalidPlanReason.REPEATED, turn_id=TurnId("2"))

    assert expected == checked_envelopes(steps(instead("s"), drop("2")))


def test_what_may_be_done_to_items_and_with_summaries_is_noted() -> None:
    plan = Plan(base=(short("long"), instead("s")), steps=steps(out("long"), out("plain")).steps)
    found = checked_envelopes(plan)
    assert isinstance(found, Fates)
    long = found.items[ItemId("long")]

    assert (-1, 0, None) == (long.condensed_at, long.dropped_at, long.policy)
    assert Fate(dropped_at=1) == found.items[ItemId("plain")]
    assert {SummaryId("s"): -1} == dict(found.summaries)
    gone = Fate(dropped_at=-1, summary_id=SummaryId("s"))
    assert {TurnId("1"): gone, TurnId("2"): gone} == dict(found.turns)


def test_a_summary_may_cover_a_turn_that_says_nothing() -> None:
    """Which is no candidate (R5), and nothing is replaced of it."""
    past = project(SESSION, log_of("turn 0; error; turn 1; user; reply; done")).unwrap()
    framed = frame_of([], CURRENT, TextConstraint(), reduce_current=False, summaries=(summary("s", 0, 1),))
    over = all_candidates(past, (), framed)
    room = room_of(past, framed, over, ContextBudget(window_tokens=1, output_reserve=1), Priced())
    found = checked_plan(steps(instead("s")), over, frozenset(), room)

    assert isinstance(found, Fates)
    assert [TurnId("1")] == list(found.turns)


def test_a_run_may_have_items_behind_it() -> None:
    past = weighed_history(2)
    framed = frame_of([], CURRENT, TextConstraint(), reduce_current=False, items=ITEMS)
    over = all_candidates(past, (), framed)
    room = room_of(past, framed, over, ContextBudget(window_tokens=1, output_reserve=1), Priced())
    tail = tuple([PlanStep(reductions=(one,)) for one in (short("long"), out("long"))])
    found = checked_plan(oldest_first(over, tail), over, frozenset(), room)

    assert isinstance(found, Run)
    assert (2, 3) == (found.items[ItemId("long")].condensed_at, found.items[ItemId("long")].dropped_at)
