"""What strategies of turns do with items: after the turns, before the running turn."""

from fractions import Fraction

from jingwei.items.records import Tier
from jingwei.items.worth import Weights
from jingwei.selection.condense_then_drop import CondenseThenDrop
from jingwei.selection.item_costs import estimated_cost, frame_cost, says_less, tokens_of_bytes
from jingwei.selection.item_steps import item_steps
from jingwei.selection.records import Plan, PlanStep
from jingwei.selection.stable_prefix import StablePrefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST
from jingwei.selection.views import EachDropped
from tests.selection.test_by_value import names
from tests.selection.test_exchanges import Flat, asked, result, user
from tests.selection.weighing import FRAME, Priced, item, offered

ITEMS = (
    item("p2", 5, Fraction(1, 99), tier=Tier.P2),
    item("good", 5, 1),
    item("dear", 50, 1, short=20),
    item("b", 50, 0),
    item("a", 50, 0),
    item("must", 5, required=True),
    item("held", 5, pinned=True),
)
DOWN = ["~dear", "-b", "-a", "-dear", "-good", "-p2"]


def steps(plan: Plan) -> list[str]:
    return flat(tuple(plan.steps))


def flat(found: tuple[PlanStep, ...]) -> list[str]:
    assert all(len(step.reductions) == 1 for step in found)
    return names([step.reductions[0] for step in found])


def test_shorter_contents_come_first_then_the_least_valuable_of_the_lowest_tier() -> None:
    candidates, room = offered(0, ITEMS, 0)

    assert DOWN == flat(item_steps(candidates, room))
    assert DOWN == flat(item_steps(tuple(candidates), room))


def test_weights_decide_inside_a_tier() -> None:
    candidates, room = offered(0, [item("a", 1, 1), item("b", 2, 0)], 0)

    assert ["-b", "-a"] == flat(item_steps(candidates, room))
    assert ["-b", "-a"] == flat(item_steps(candidates, room, Weights(relevance=Fraction(-9))))


def test_without_items_there_are_no_steps() -> None:
    assert () == item_steps(*offered(2, [], 0))


def test_the_strategies_leave_items_out_after_turns_and_before_the_running_turn() -> None:
    current = (user(), asked("a"), result("a"), asked("b"), result("b"))
    candidates, room = offered(2, ITEMS, 0, current=current)
    strategies = (OLDEST_TURN_FIRST, StablePrefix(high=99, low=1, costs=Priced()), CondenseThenDrop())
    expected = ["-t0", "-t1", *DOWN, "-x0"]

    assert [expected] * 3 == [steps(strategy.plan(candidates, room)) for strategy in strategies]


def test_a_plan_over_turns_is_still_not_written_out() -> None:
    assert isinstance(OLDEST_TURN_FIRST.plan(*offered(2, ITEMS, 0)).steps, EachDropped)


def test_what_an_item_costs_is_what_its_line_costs() -> None:
    assert FRAME == frame_cost(Priced())
    assert [0, 1, 1, 2] == [tokens_of_bytes(size) for size in (0, 1, 4, 5)]
    assert 12 == estimated_cost(user("x" * 17), None)


def test_shorter_content_must_cost_less_by_the_measure_of_the_build() -> None:
    shorter, longer = item("a", 50, short=20), item("a", 50, short=51)

    assert [True, False, False] == [says_less(one, Priced()) for one in (shorter, longer, item("a", 9))]
    assert not says_less(shorter, Flat())
    assert not says_less(item("a", 50, short=50), None)
    assert says_less(item("a", 500, short=50), None)
