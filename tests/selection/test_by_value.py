"""Items and turns in one choice, by value (R3)."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, assert_never

import attrs
import pytest

from jingwei.ids import ItemId, TurnId
from jingwei.items.records import ItemKind, Tier
from jingwei.items.worth import InvalidWeights, TurnWorth, WeightReason, Weights
from jingwei.outcome import Failure, Success
from jingwei.selection.by_value import (
    ByValue,
    InvalidTurnWorth,
    TurnWorthReason,
    after_dropping,
    by_value,
)
from jingwei.selection.choose import InvalidQuota, Quota, QuotaReason, Quotas
from jingwei.selection.condense_then_drop import InvalidPolicy, PolicyProblem
from jingwei.selection.records import (
    ChoiceReason,
    CondenseExchange,
    CondenseItem,
    CondenseTurn,
    DropExchange,
    DropItem,
    DropTurn,
    ExchangeCandidate,
    Plan,
    PreviewPolicy,
    Reduction,
    ReplaceTurnsBySummary,
    Selection,
    SelectionState,
)
from tests.selection.test_exchanges import asked, result, user
from tests.selection.weighing import FRAME, TURN, item, listed, offered


def names(reductions: Iterable[Reduction]) -> list[str]:
    """Reductions in short: `-t0` and `-a` leave out, `~a` condenses."""
    found = list[str]()
    for reduction in reductions:
        match reduction:
            case DropTurn(turn_id=turn_id):
                found.append(f"-t{turn_id}")
            case DropItem(item_id=item_id):
                found.append(f"-{item_id}")
            case CondenseItem(item_id=item_id):
                found.append(f"~{item_id}")
            case DropExchange(index=index):
                found.append(f"-x{index}")
            case CondenseExchange(index=index):
                found.append(f"~x{index}")
            case CondenseTurn() | ReplaceTurnsBySummary():
                pass
            case _:
                assert_never(reduction)
    return found


def base(plan: Plan) -> list[str]:
    return names(plan.base)


def steps(plan: Plan) -> list[str]:
    assert all(len(step.reductions) == 1 for step in plan.steps)
    return names([step.reductions[0] for step in plan.steps])


def selection(plan: Plan) -> Selection:
    assert plan.selection is not None
    return plan.selection


def reasons(plan: Plan) -> dict[str, str]:
    return {
        f"t{row.turn_id}" if row.item_id is None else row.item_id: row.reason.value
        for row in selection(plan).rows
    }


def plan_of(strategy: ByValue, *arguments: Any, **named: Any) -> Plan:
    return strategy.plan(*offered(*arguments, **named))


def test_where_all_fits_all_stays() -> None:
    """Exactly as much as turns, contents and one frame cost."""
    items = [item("a", 5), item("b", 6)]
    plan = plan_of(ByValue(), 2, items, 2 * TURN + FRAME + 11)

    assert [] == base(plan)
    assert {"t0": "room_for_all", "t1": "room_for_all", "a": "room_for_all", "b": "room_for_all"} == reasons(
        plan
    )
    assert base(plan_of(ByValue(), 2, items, 2 * TURN + FRAME + 10))


def test_items_and_turns_are_weighed_against_each_other() -> None:
    """By default turn 0 is worth 1/2, turn 1 is worth 1: per token less than an item of full relevance."""
    items = [item("dear", 40, 1), item("cheap", 10, 1)]
    plan = plan_of(ByValue(), 2, items, FRAME + 10 + TURN)

    assert ["-t0", "-dear"] == base(plan)
    assert ["-t1", "-cheap"] == steps(plan)
    assert {"t0": "no_room", "t1": "value", "cheap": "value", "dear": "no_room"} == reasons(plan)


def test_a_host_may_say_what_a_turn_is_worth() -> None:
    said = ((TurnId("0"), TurnWorth(tier=Tier.P1)), (TurnId("9"), TurnWorth()))
    plan = plan_of(ByValue(turn_worths=said), 2, [item("a", 10, 1)], TURN + FRAME)

    assert ["-t1", "-a"] == base(plan)
    assert Tier.P1 is selection(plan).rows[0].tier


def test_what_is_required_or_pinned_stays_and_has_its_row() -> None:
    items = [item("must", 10, required=True), item("held", 10, pinned=True), item("a", 10, 1)]
    plan = plan_of(ByValue(), 2, items, TURN + FRAME + 20, pinned=[0])

    assert ["-t1", "-a"] == base(plan)
    assert [] == steps(plan)
    assert {"t0": "pinned", "t1": "no_room", "must": "required", "held": "pinned", "a": "no_room"} == reasons(
        plan
    )
    assert {"must": Tier.P0, "held": Tier.P3, "a": Tier.P3, None: Tier.P3} == {
        row.item_id: row.tier for row in selection(plan).rows
    }


def test_where_the_required_does_not_fit_nothing_else_is_chosen() -> None:
    items = [item("must", 10, required=True), item("free", 0 + 1, 1)]
    plan = plan_of(ByValue(), 1, items, FRAME + 9)

    assert ["-t0", "-free"] == base(plan)
    assert {"t0": "no_room", "must": "required", "free": "no_room"} == reasons(plan)


def test_without_items_kept_the_frame_of_the_envelope_is_paid_for() -> None:
    """But what the frame leaves no room for may still be a turn."""
    assert ["-t0"] == base(plan_of(ByValue(), 1, [item("a", 10, 1)], FRAME + 10))
    assert ["-a"] == base(plan_of(ByValue(), 1, [item("a", 30, Fraction(1, 99))], TURN + FRAME))


def test_items_with_something_shorter_to_say_are_condensed_and_weighed_in_that_form() -> None:
    items = [
        item("long", 50, 1, short=10),
        item("no", 5, 1, short=5),
        item("must", 9, short=1, required=True),
    ]
    plan = plan_of(ByValue(), 0, items, FRAME + 9 + 15)

    assert ["~long"] == base(plan)
    assert ["-long", "-no"] == steps(plan)
    assert {"long": 10, "no": 5, "must": 9} == {row.item_id: row.cost for row in selection(plan).rows}


def test_the_plan_stands_in_the_order_of_the_request_not_in_that_of_the_scores() -> None:
    items = [item(name, 5, Fraction(n, 9)) for n, name in enumerate("dbca")]
    plan = plan_of(ByValue(), 3, items, 0)

    assert ["-t0", "-t1", "-t2", "-a", "-b", "-c", "-d"] == base(plan)


def test_steps_leave_a_kind_at_its_floor_for_last() -> None:
    items = [item("m", 5, Fraction(1, 99), kind=ItemKind.MEMORY), item("f", 5, 1)]
    quotas = Quotas(rows=(Quota(kind=ItemKind.MEMORY, floor=5), Quota(kind=None, ceiling=TURN)))
    plan = plan_of(ByValue(quotas=quotas), 2, items, 1000)

    assert ["-t0"] == base(plan)
    assert ["-t1", "-f", "-m"] == steps(plan)
    assert "ceiling" == reasons(plan)["t0"]


def test_quotas_that_say_nothing_are_passed_over() -> None:
    quotas = Quotas(rows=(Quota(kind=None, floor=-1),))

    assert plan_of(ByValue(), 2, [], TURN) == plan_of(ByValue(quotas=quotas), 2, [], TURN)


def test_negative_values_count_as_none() -> None:
    strategy = ByValue(weights=Weights(freshness=Fraction(-1), relevance=Fraction(-1)))

    assert {0} == {row.worth for row in selection(plan_of(strategy, 1, [item("a", 1, 1)], 0)).rows}


def test_exchanges_of_the_running_turn_come_last_and_are_paid_for() -> None:
    """Two exchanges of two messages, at ten tokens a message; the last is required, the first stays."""
    current = (user(), asked("a"), result("a", 900), asked("b"), result("b"))
    policy = PreviewPolicy(inline_bytes=200, preview_bytes=20)
    strategy = ByValue(policy=policy)

    assert ["-t0", "-x0"] == steps(plan_of(strategy, 1, [], TURN + 40, current=current))
    assert ["-t0"] == base(plan_of(strategy, 1, [], TURN + 39, current=current))
    assert ["~x0", "-x0"] == steps(plan_of(strategy, 1, [], 99, current=current, costs=None))[-2:]


def test_an_exchange_that_is_not_there_costs_nothing() -> None:
    candidates, room = offered(1, [], TURN)
    stranger = ExchangeCandidate(index=5, message_count=1, canonical_bytes=1)

    assert [] == base(ByValue().plan((*candidates, stranger), room))


def test_without_an_additive_counter_bytes_are_the_measure() -> None:
    """Wide rooms keep all, narrow ones nothing; the costs are bytes by four."""
    wide, narrow = (plan_of(ByValue(), 2, [item("a", 9)], size, costs=None) for size in (1000, 0))
    small = sum(row.cost for row in selection(wide).rows)

    assert [] == base(wide)
    assert ["-t0", "-t1", "-a"] == base(narrow)
    assert ["-t0"] == base(plan_of(ByValue(), 2, [item("a", 9, 1)], small + 30, costs=None))


def test_candidates_in_a_tuple_give_the_same_plan() -> None:
    candidates, room = offered(3, [item("a", 5, 1), item("b", 5)], 40, pinned=[1])

    assert ByValue().plan(candidates, room) == ByValue().plan(listed(candidates), room)


def test_an_item_that_is_no_candidate_and_need_not_stay_is_not_weighed() -> None:
    candidates, room = offered(1, [item("a", 5), item("b", 5)], 0)

    assert ["-t0", "-b"] == base(
        ByValue().plan([one for one in candidates if getattr(one, "item_id", "") != "a"], room)
    )


# --- stickiness -----------------------------------------------------------------------------------


def test_the_state_says_what_was_left_out_and_with_how_much_to_give() -> None:
    plan = plan_of(ByValue(moves=3), 2, [item("b", 40), item("a", 40)], TURN)
    expected = SelectionState(
        left_out_turns=(TurnId("0"),),
        left_out_items=(ItemId("a"), ItemId("b")),
        available=TURN + 4,
        moves=3,
    )

    assert expected == selection(plan).state


@pytest.mark.parametrize(
    ("window", "moves", "back"), [(0, 0, False), (1, 0, True), (0, 1, True), (-9, 0, False), (0, -1, False)]
)
def test_what_was_left_out_comes_back_with_more_tokens_or_a_move_of_the_marks(
    window: int, moves: int, back: bool
) -> None:
    previous = SelectionState(
        left_out_turns=(TurnId("0"),), left_out_items=(ItemId("a"),), available=500, moves=0
    )
    strategy = ByValue(previous=previous, moves=moves)
    plan = plan_of(strategy, 2, [item("a", 5), item("new", 5)], 500 - 4 + window)

    assert ([] if back else ["-t0", "-a"]) == base(plan)
    assert ("room_for_all" if back else "sticky") == reasons(plan)["t0"]


@pytest.mark.parametrize(
    ("most", "gone"),
    [(2 * TURN, []), (2 * TURN - 1, ["-t0"]), (TURN - 1, ["-t0", "-t1"]), (-5, ["-t0", "-t1"])],
)
def test_a_bound_of_its_own_holds_in_any_room(most: int, gone: list[str]) -> None:
    plan = plan_of(ByValue(max_tokens=most), 2, [], 1000)

    assert gone == base(plan)
    assert max(most, 0) == selection(plan).state.available
    assert ["-t0"] == base(plan_of(ByValue(max_tokens=2 * TURN), 2, [], TURN))


def test_what_must_stay_counts_against_a_bound_of_its_own_and_is_never_left_out_for_it() -> None:
    items = [item("must", 10, required=True), item("a", 10, 1)]

    assert [] == base(plan_of(ByValue(max_tokens=20), 0, items, 1000))
    assert ["-a"] == base(plan_of(ByValue(max_tokens=19), 0, items, 1000))
    assert ["-a"] == base(plan_of(ByValue(max_tokens=5), 0, items, 1000))


def test_a_higher_bound_of_its_own_is_a_higher_budget() -> None:
    first = selection(plan_of(ByValue(max_tokens=TURN), 2, [], 1000)).state

    for most, gone in ((TURN, ["-t0"]), (2 * TURN, [])):
        assert gone == base(plan_of(ByValue(max_tokens=most, previous=first), 2, [], 1000))


def test_what_must_stay_comes_back_whatever_was_left_out() -> None:
    previous = SelectionState(
        left_out_turns=(TurnId("0"),), left_out_items=(ItemId("a"),), available=500, moves=0
    )
    plan = plan_of(ByValue(previous=previous), 1, [item("a", 5, required=True)], 100, pinned=[0])

    assert [] == base(plan)


def test_less_than_no_budget_is_a_budget_of_nothing() -> None:
    candidates, room = offered(1, [], 0)
    plan = ByValue().plan(candidates, attrs.evolve(room, window_tokens=0))

    assert 0 == selection(plan).state.available


def test_what_the_steps_left_out_enters_the_rows_and_the_state() -> None:
    plan = plan_of(ByValue(), 2, [item("a", 5, 1), item("b", 5, 1)], 1000)
    gone: list[Reduction] = [
        DropItem(item_id=ItemId("b")),
        DropTurn(turn_id=TurnId("1")),
        CondenseItem(item_id=ItemId("a")),
    ]
    after = after_dropping(selection(plan), gone)

    assert (TurnId("1"),) == after.state.left_out_turns
    assert (ItemId("b"),) == after.state.left_out_items
    assert [ChoiceReason.FULL_COUNT] * 2 == [row.reason for row in after.rows if not row.chosen]
    assert selection(plan) == after_dropping(selection(plan), [])


# --- what a host may not say ----------------------------------------------------------------------


def test_the_strategy_is_made_of_what_makes_sense() -> None:
    said = ((TurnId("0"), TurnWorth(priority=1000, trust=Fraction(1))), (TurnId("1"), TurnWorth()))

    assert Success(ByValue(turn_worths=said, moves=2)) == by_value(turn_worths=said, moves=2)
    assert "by_value" == ByValue().name


@pytest.mark.parametrize(
    "worth",
    [
        TurnWorth(priority=-1),
        TurnWorth(priority=1001),
        TurnWorth(relevance=Fraction(-1, 9)),
        TurnWorth(freshness=Fraction(10, 9)),
        TurnWorth(trust=Fraction(1, 2**1074 + 1)),
    ],
)
def test_worths_have_the_ranges_of_items(worth: TurnWorth) -> None:
    refused = InvalidTurnWorth(turn_id=TurnId("7"), reason=TurnWorthReason.OUT_OF_RANGE)

    assert Failure(refused) == by_value(turn_worths=((TurnId("7"), worth),))


def test_what_makes_no_sense_is_refused_in_order() -> None:
    twice = ((TurnId("0"), TurnWorth()), (TurnId("0"), TurnWorth()))
    none, quotas = Weights(priority=Fraction(-1)), Quotas(rows=(Quota(kind=None, floor=-1),))
    policy = PreviewPolicy(inline_bytes=1, preview_bytes=0)
    weighed = InvalidWeights(field="priority", reason=WeightReason.NEGATIVE)
    quota = InvalidQuota(kind=None, reason=QuotaReason.NEGATIVE_FLOOR)
    spoken = InvalidTurnWorth(turn_id=TurnId("0"), reason=TurnWorthReason.REPEATED_TURN)
    sizes = InvalidPolicy(reason=PolicyProblem.ZERO_PREVIEW, actual=0, limit=1)

    assert Failure(weighed) == by_value(weights=none, quotas=quotas, turn_worths=twice, policy=policy)
    assert Failure(quota) == by_value(quotas=quotas, turn_worths=twice, policy=policy)
    assert Failure(spoken) == by_value(turn_worths=twice, policy=policy)
    assert Failure(sizes) == by_value(policy=policy)
