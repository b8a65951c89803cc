"""Where the seed's sketch, taken at its word, would repeat what others had to mend; each case by its number.

Case 11, removing just enough on every call, is held by `tests/selection/test_stable_prefix.py`.
"""

from fractions import Fraction
from itertools import permutations

import attrs
import pytest

from jingwei.build import BuildInputs, build
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.records import ItemKind, Tier
from jingwei.items.worth import WeightReason, weights
from jingwei.messages.records import GenerationRequest, UserMessage
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.counting import ByteHeuristicCounter, CountRefused
from jingwei.request.records import ContextBudget, ContextTarget, TokenCount
from jingwei.selection.by_value import ByValue
from jingwei.selection.choose import Quota, Quotas, RequiredCost, RequiredExceed
from jingwei.selection.records import ChoiceReason, DropTurn
from jingwei.selection.search import Search
from jingwei.selection.select import select_items
from tests.selection.test_select import ids
from tests.selection.weighing import history, item, offered


def test_case_1_what_is_required_beyond_the_room_is_refused_with_each_cost() -> None:
    items = [item("goal", 60, required=True), item("rule", 50, required=True), item("chat", 1)]
    rows = (RequiredCost(key="goal", cost=60), RequiredCost(key="rule", cost=50))

    assert Failure(RequiredExceed(room=100, total=110, rows=rows)) == select_items(items, 100)


def test_case_2_a_tiny_item_does_not_keep_out_a_large_valuable_one() -> None:
    """Budget 100: one token of value 2, and a hundred of value 100."""
    by_relevance = weights(priority=0, relevance=100, freshness=0, trust=0).unwrap()
    items = [item("small", 1, Fraction(2, 100)), item("large", 100, 1)]
    selected = select_items(items, 100, by_relevance).unwrap()

    assert "large" == ids(selected)
    assert [ChoiceReason.SINGLE_BEST, ChoiceReason.NO_ROOM] == [row.reason for row in selected.selection.rows]


def test_case_3_values_are_exact_ties_fall_by_id_and_the_order_given_means_nothing() -> None:
    """Three tenths as floats are not three times a tenth; as fractions they are, and so these are equal."""
    items = [item("c", 3, Fraction(3, 10)), item("a", 1, Fraction(1, 10)), item("b", 2, Fraction(2, 10))]

    assert {"ab"} == {ids(select_items(order, 3).unwrap()) for order in permutations(items)}


def test_case_3_what_costs_nothing_always_fits() -> None:
    free = attrs.evolve(item("free", 1), token_cost=0)

    assert "free" == ids(select_items([item("dear", 1, 1), free], 0).unwrap())


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -0.5])
def test_case_3_what_is_no_number_or_below_zero_is_refused(number: float) -> None:
    reasons = {WeightReason.NOT_A_NUMBER, WeightReason.INFINITE, WeightReason.NEGATIVE}
    by_hand = attrs.evolve(item("a", 1), relevance=Fraction(-1, 2))
    refused = select_items([by_hand], 1).failure()

    assert weights(relevance=number).failure().reason in reasons
    assert isinstance(refused, InvalidItem)
    assert InvalidItemReason.OUT_OF_RANGE is refused.reason


def test_case_4_no_number_of_points_outranks_a_tier() -> None:
    low = [item(f"low{n}", 1, 1) for n in range(50)]
    selected = select_items([*low, item("high", 50, 0, tier=Tier.P1)], 50).unwrap()

    assert "high" == ids(selected)


def test_case_5_what_is_chosen_stands_in_its_own_order_not_in_that_of_the_scores() -> None:
    items = [attrs.evolve(item(f"i{n}", 5, Fraction(n, 9)), seq=9 - n) for n in range(9)]
    selected = select_items(items, 20).unwrap()
    kept = [one for one in ByValue().plan(*offered(4, items, 60)).base if isinstance(one, DropTurn)]

    assert ["i8", "i7", "i6", "i5"] == [one.item_id for one in selected.items]
    assert sorted([one.turn_id for one in kept]) == [one.turn_id for one in kept]


def test_case_6_a_floor_that_cannot_be_used_is_no_cliff() -> None:
    """A memory of 50 cannot use 49 that are set aside, and the fact of 100 gets the whole budget."""
    items = [item("fact", 100, 1), item("memory", 50, 0, kind=ItemKind.MEMORY)]
    chosen = [
        ids(
            select_items(items, 100, quotas=Quotas(rows=(Quota(kind=ItemKind.MEMORY, floor=floor),))).unwrap()
        )
        for floor in (0, 49, 50)
    ]

    assert ["fact", "fact", "memory"] == chosen


def test_case_6_a_ceiling_never_evicts_what_must_stay() -> None:
    quotas = Quotas(rows=(Quota(kind=ItemKind.FACT, ceiling=10),))
    items = [item("must", 30, required=True), item("held", 30, pinned=True), item("fact", 1, 1)]

    assert "mustheld" == ids(select_items(items, 100, quotas=quotas).unwrap())


@attrs.frozen
class Joined:
    """What is sent together costs more than its parts: by a half, and no sum says so beforehand."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        counted = ByteHeuristicCounter().count(target, request).unwrap()
        tokens = attrs.evolve(counted.tokens, messages=counted.tokens.messages * 3 // 2)
        return Success(attrs.evolve(counted, tokens=tokens))


@pytest.mark.parametrize("search", [Search.LINEAR, Search.BISECT])
def test_case_7_the_full_count_decides_and_every_attempt_is_reported(search: Search) -> None:
    items = tuple([item(f"i{n}", 100, Fraction(n, 9)) for n in range(6)])
    inputs = BuildInputs(
        current=(UserMessage(content="go on"),),
        target=ContextTarget(model="m", template_revision="r"),
        budget=ContextBudget(window_tokens=330, output_reserve=1),
        items=items,
    )
    built = build(history(3), inputs, Joined(), strategy=ByValue(), search=search).unwrap()
    totals = [attempt.total_reserved for attempt in built.report.attempts]

    assert totals[0] > 330
    assert totals[-1] <= 330
    if search is Search.LINEAR:
        assert sorted(totals, reverse=True) == totals
        assert all(total > 330 for total in totals[:-1])
