"""Summaries stand for their turns, and another strategy does the rest (S8, R4)."""

import attrs

from jingwei.ids import SummaryId, TurnId
from jingwei.selection.by_value import ByValue
from jingwei.selection.choose import Quota, Quotas
from jingwei.selection.records import Plan, ReplaceTurnsBySummary, SummaryCandidate
from jingwei.selection.stable_prefix import StablePrefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST
from jingwei.selection.with_summaries import WithSummaries
from tests.selection.test_by_value import names, reasons, steps
from tests.selection.weighing import TURN, Priced, item, listed, offered, summary


def replaced(plan: Plan) -> list[str]:
    return [one.summary_id for one in plan.base if isinstance(one, ReplaceTurnsBySummary)]


def test_the_turns_of_a_summary_are_replaced_and_the_inner_strategy_does_not_see_them() -> None:
    plan = WithSummaries(OLDEST_TURN_FIRST).plan(*offered(4, [], 0, summaries=(summary("s", 0, 1),)))

    assert (ReplaceTurnsBySummary(summary_id=SummaryId("s")),) == tuple(plan.base)
    assert ["-t2", "-t3"] == steps(plan)


def test_what_the_inner_strategy_does_in_any_case_comes_after_the_replacements() -> None:
    inner = StablePrefix(high=TURN, low=TURN, costs=Priced())
    plan = WithSummaries(inner).plan(*offered(4, [], 0, summaries=(summary("s", 0, 1),)))

    assert ["s"] == replaced(plan)
    assert ["-t2"] == names(plan.base)
    assert inner.plan(*offered(4, [], 0)).marks == plan.marks


def test_a_summary_that_does_not_cost_less_is_not_taken() -> None:
    candidates, room = offered(2, [], 0, summaries=(summary("s", 0),), costs=Priced(summary=TURN))

    assert OLDEST_TURN_FIRST.plan(candidates, room) == WithSummaries(OLDEST_TURN_FIRST).plan(candidates, room)
    assert not replaced(WithSummaries(OLDEST_TURN_FIRST).plan(*offered(2, [], 0)))


def test_of_two_summaries_of_one_turn_the_earlier_is_taken() -> None:
    summaries = (summary("a", 0, 1), summary("b", 1, 2), summary("c", 2))
    plan = WithSummaries(OLDEST_TURN_FIRST).plan(*offered(3, [], 0, summaries=summaries))

    assert ["a", "c"] == replaced(plan)


def test_a_summary_of_a_pinned_turn_is_not_offered() -> None:
    found = offered(3, [], 0, summaries=(summary("s", 0, 1),), pinned=[0])

    assert [] == replaced(WithSummaries(OLDEST_TURN_FIRST).plan(*found))


def test_a_summary_that_is_not_there_is_passed_over() -> None:
    candidates, room = offered(2, [], 0)
    stranger = SummaryCandidate(summary_id=SummaryId("s"), index=0, turn_ids=(TurnId("0"),))

    assert () == WithSummaries(OLDEST_TURN_FIRST).plan((*candidates, stranger), room).base


def test_turns_that_are_replaced_leave_room_that_is_given_to_others() -> None:
    """Four turns at 20 and a summary at 5: 45 hold it and two turns, and one token less does not."""
    summaries = (summary("s", 0, 1),)

    for window, gone in ((45, []), (44, ["-t2"])):
        plan = WithSummaries(ByValue()).plan(*offered(4, [], window, summaries=summaries))
        assert gone == names(plan.base)


def test_turns_that_are_replaced_have_no_rows_and_do_not_count_for_quotas() -> None:
    quotas = Quotas(rows=(Quota(kind=None, ceiling=TURN),))
    strategy = WithSummaries(ByValue(quotas=quotas))
    plan = strategy.plan(*offered(3, [item("a", 1)], 1000, summaries=(summary("s", 0, 1),)))

    assert {"t2": "room_for_all", "a": "room_for_all"} == reasons(plan)


def test_pinned_turns_keep_their_rows_beside_summaries_that_are_not_taken() -> None:
    plan = ByValue().plan(*offered(2, [], 1000, summaries=(summary("s", 0),), pinned=[0]))

    assert {"t0": "pinned", "t1": "room_for_all"} == reasons(plan)


def test_candidates_in_a_tuple_give_the_same_plan() -> None:
    candidates, room = offered(4, [item("a", 9)], 30, summaries=(summary("s", 1, 2),))
    strategy = WithSummaries(ByValue())

    assert strategy.plan(candidates, room) == strategy.plan(listed(candidates), room)


def test_the_room_of_the_inner_strategy_holds_the_summaries() -> None:
    """Without a counter the bytes of the summaries are among those that are required."""
    summaries = (summary("s", *range(9)),)
    candidates, room = offered(10, [], 0, summaries=summaries, costs=None)
    tight = attrs.evolve(room, window_tokens=100 + (room.required_bytes + 3) // 4 + 35)

    assert [] == names(WithSummaries(ByValue()).plan(candidates, attrs.evolve(room, window_tokens=9**9)).base)
    assert ["-t9"] == names(WithSummaries(ByValue()).plan(candidates, tight).base)
    assert ["-t9"] != names(ByValue().plan(candidates, tight).base)[-1:]


def test_the_name_says_both() -> None:
    assert "by_value_with_summaries" == WithSummaries(ByValue()).name
