"""Values are exact, and weights that say nothing are refused by name (S2, S3)."""

from fractions import Fraction

import pytest

from jingwei.ids import ItemId
from jingwei.items.records import ContextItem, ItemKind, ItemSource, Tier
from jingwei.items.worth import (
    DEFAULT_WEIGHTS,
    InvalidWeights,
    Number,
    TurnWorth,
    WeightReason,
    Weights,
    per_token,
    turn_worth,
    weights,
    weights_failure,
    worth_of,
)
from jingwei.outcome import Failure, Success

ITEM = ContextItem(
    item_id=ItemId("a"),
    kind=ItemKind.FACT,
    content="x",
    source=ItemSource.HOST,
    priority=500,
    relevance=Fraction(1, 3),
    freshness=Fraction(1, 2),
    trust=Fraction(1),
)


def test_by_default_each_of_the_four_numbers_is_worth_one_where_it_is_highest() -> None:
    assert Fraction(1, 2) + Fraction(1, 3) + Fraction(1, 2) + 1 == worth_of(ITEM)
    assert 4 == worth_of(
        TurnWorth(priority=1000, relevance=Fraction(1), freshness=Fraction(1), trust=Fraction(1))
    )


def test_weights_multiply_each_its_number() -> None:
    by = weights(priority=2, relevance=3, freshness=Fraction(1, 5), trust=0).unwrap()

    assert 1000 + 1 + Fraction(1, 10) == worth_of(ITEM, by)


def test_a_float_is_the_number_that_it_holds() -> None:
    by = weights(priority=0, relevance=0.1, freshness=0, trust=0).unwrap()

    assert Fraction(0.1) == by.relevance
    assert Fraction(1, 10) != by.relevance


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (float("nan"), WeightReason.NOT_A_NUMBER),
        (float("inf"), WeightReason.INFINITE),
        (float("-inf"), WeightReason.INFINITE),
        (-1, WeightReason.NEGATIVE),
        (Fraction(-1, 3), WeightReason.NEGATIVE),
        (2**64, WeightReason.TOO_LARGE),
        (1e300, WeightReason.TOO_LARGE),
        (Fraction(1, 2**1074 + 1), WeightReason.TOO_FINE),
    ],
)
def test_what_is_no_weight_is_refused_by_field_and_reason(number: Number, reason: WeightReason) -> None:
    assert Failure(InvalidWeights(field="priority", reason=reason)) == weights(priority=number)
    assert Failure(InvalidWeights(field="trust", reason=reason)) == weights(trust=number)


@pytest.mark.parametrize("number", [2**64 - 1, 5e-324, Fraction(1, 2**1074), 0])
def test_what_is_just_a_weight_is_taken(number: Number) -> None:
    assert isinstance(weights(freshness=number), Success)


def test_weights_of_zero_say_nothing() -> None:
    refused = InvalidWeights(field=None, reason=WeightReason.ALL_ZERO)

    assert Failure(refused) == weights(priority=0, relevance=0.0, freshness=Fraction(0), trust=0)


def test_weights_put_together_by_hand_are_held_to_the_same() -> None:
    refused = InvalidWeights(field="trust", reason=WeightReason.NEGATIVE)

    assert refused == weights_failure(Weights(trust=Fraction(-1)))
    assert weights_failure(DEFAULT_WEIGHTS) is None


@pytest.mark.parametrize(("cost", "value"), [(0, 7), (1, 7), (2, Fraction(7, 2))])
def test_what_costs_nothing_counts_as_one_token(cost: int, value: Fraction) -> None:
    assert value == per_token(Fraction(7), cost)


def test_a_turn_is_as_fresh_as_it_is_near_the_end() -> None:
    assert [Fraction(1, 3), Fraction(2, 3), 1] == [turn_worth(i, 3).freshness for i in range(3)]
    assert {Tier.P3} == {turn_worth(i, 3).tier for i in range(3)}
