"""Required first, then floors, then tier by tier by value (S2, S4a, R3)."""

from fractions import Fraction
from itertools import permutations

import pytest

from jingwei.items.records import ItemKind, Tier
from jingwei.outcome import Failure, Success
from jingwei.selection.choose import (
    NO_QUOTAS,
    Choice,
    InvalidOption,
    InvalidQuota,
    Option,
    OptionReason,
    Quota,
    QuotaReason,
    Quotas,
    RequiredCost,
    RequiredExceed,
    choose,
    leaving_order,
    quotas_failure,
)
from jingwei.selection.records import ChoiceReason

FACT, MEMORY, GOAL = ItemKind.FACT, ItemKind.MEMORY, ItemKind.GOAL


def option(
    key: str,
    cost: int,
    worth: int | Fraction,
    *,
    tier: Tier = Tier.P3,
    kind: ItemKind | None = FACT,
    rank: int = 0,
    kept: bool = False,
) -> Option:
    return Option(key=key, tier=tier, kind=kind, cost=cost, worth=Fraction(worth), rank=rank, kept=kept)


def chosen(outcome: Success[Choice] | Failure[object]) -> dict[str, str]:
    """The chosen keys with their reasons."""
    assert isinstance(outcome, Success), outcome
    return {v.key: v.reason.value for v in outcome.unwrap().verdicts if v.chosen}


def refused(outcome: Success[Choice] | Failure[object]) -> dict[str, str]:
    assert isinstance(outcome, Success), outcome
    return {v.key: v.reason.value for v in outcome.unwrap().verdicts if not v.chosen}


def test_where_all_fit_all_are_chosen() -> None:
    found = choose([option("b", 3, 1), option("a", 4, 0)], 7)

    assert {"a": "room_for_all", "b": "room_for_all"} == chosen(found)
    assert 7 == found.unwrap().used


def test_nothing_can_be_chosen_from_nothing() -> None:
    assert Success(Choice(verdicts=(), used=0)) == choose([], 0)


def test_what_is_kept_comes_first_and_the_others_share_the_rest() -> None:
    options = [option("must", 6, 0, kept=True), option("good", 5, 99), option("small", 4, 1)]

    assert {"must": "required", "small": "value"} == chosen(choose(options, 10))
    assert {"good": "no_room"} == refused(choose(options, 10))


def test_what_must_be_kept_and_does_not_fit_is_listed_with_its_costs() -> None:
    options = [option("a", 6, 0, kept=True), option("b", 7, 0, kept=True), option("c", 1, 9)]
    rows = (RequiredCost(key="b", cost=7), RequiredCost(key="a", cost=6))

    assert Failure(RequiredExceed(room=12, total=13, rows=rows)) == choose(options, 12)
    assert {"a": "required", "b": "required"} == chosen(choose(options, 13))


def test_less_than_no_room_is_too_little_for_nothing() -> None:
    assert Failure(RequiredExceed(room=-1, total=0, rows=())) == choose([option("a", 0, 1)], -1)


def test_tiers_are_filled_one_after_the_other_whatever_the_values_below() -> None:
    options = [
        option("high", 10, 1, tier=Tier.P1),
        option("gold", 10, 1000, tier=Tier.P2),
        option("rest", 3, 1, tier=Tier.P3),
    ]

    assert {"high": "value", "rest": "value"} == chosen(choose(options, 13))


def test_a_floor_is_set_aside_before_the_tiers() -> None:
    options = [option("fact", 10, 99, tier=Tier.P1), option("memory", 4, 1, kind=MEMORY)]
    quotas = Quotas(rows=(Quota(kind=MEMORY, floor=4),))

    assert {"fact": "value"} == chosen(choose(options, 10))
    assert {"memory": "floor"} == chosen(choose(options, 10, quotas))


@pytest.mark.parametrize("floor", [1, 3])
def test_a_floor_that_its_kind_cannot_use_is_handed_back(floor: int) -> None:
    options = [option("fact", 10, 99), option("memory", 4, 1, kind=MEMORY)]

    assert {"fact": "value"} == chosen(choose(options, 10, Quotas(rows=(Quota(kind=MEMORY, floor=floor),))))


def test_what_is_kept_counts_towards_the_floor_of_its_kind() -> None:
    options = [
        option("kept", 4, 0, kind=MEMORY, kept=True),
        option("memory", 4, 1, kind=MEMORY),
        option("fact", 4, 9),
    ]
    quotas = Quotas(rows=(Quota(kind=MEMORY, floor=7),))

    assert {"kept": "required", "fact": "value"} == chosen(choose(options, 8, quotas))


def test_a_floor_is_filled_from_the_highest_tier_down() -> None:
    options = [
        option("low", 4, 99, kind=MEMORY),
        option("high", 4, 1, kind=MEMORY, tier=Tier.P1),
        option("fact", 4, 100, tier=Tier.P1),
    ]
    quotas = Quotas(rows=(Quota(kind=MEMORY, floor=4),))

    assert {"high": "floor", "fact": "value"} == chosen(choose(options, 8, quotas))


def test_floors_are_filled_in_the_order_of_kinds_and_turns_last() -> None:
    options = [option("turn", 4, 9, kind=None), option("goal", 4, 1, kind=GOAL), option("fact", 4, 5)]
    rows = [Quota(kind=None, floor=4), Quota(kind=FACT, floor=4), Quota(kind=GOAL, floor=4)]

    for order in permutations(rows):
        quotas = Quotas(rows=order)
        assert {"goal": "floor"} == chosen(choose(options, 4, quotas))
        assert {"goal": "floor", "fact": "floor"} == chosen(choose(options, 9, quotas))


def test_a_floor_leaves_what_costs_nothing_to_its_tier() -> None:
    options = [option("free", 0, 1), option("cheap", 2, 1), option("dear", 9, 5)]

    assert {"free": "value", "cheap": "floor"} == chosen(
        choose(options, 3, Quotas(rows=(Quota(kind=FACT, floor=3),)))
    )


def test_a_ceiling_bounds_a_kind_and_never_what_is_kept() -> None:
    options = [
        option("kept", 5, 0, kind=MEMORY, kept=True),
        option("memory", 1, 99, kind=MEMORY),
        option("fact", 2, 1),
    ]
    quotas = Quotas(rows=(Quota(kind=MEMORY, ceiling=4),))

    assert {"kept": "required", "fact": "value"} == chosen(choose(options, 100, quotas))
    assert {"memory": "ceiling"} == refused(choose(options, 100, quotas))


def test_what_was_left_out_does_not_come_back_unless_it_must() -> None:
    options = [option("a", 1, 9), option("b", 1, 1), option("c", 1, 1, kept=True)]
    found = choose(options, 9, left_out=frozenset(["a", "c", "gone"]))

    assert {"b": "value", "c": "required"} == chosen(found)
    assert {"a": "sticky"} == refused(found)


def test_of_equals_the_smaller_rank_wins_and_then_the_smaller_key() -> None:
    options = [option("b", 1, 1), option("a", 1, 1, rank=1), option("c", 1, 1)]

    for order in permutations(options):
        assert ["b"] == sorted(chosen(choose(order, 1)))
        assert ["b", "c"] == sorted(chosen(choose(order, 2)))


def test_values_are_compared_exactly() -> None:
    """The two differ by less than a float can tell, and by less than their common denominator has bits."""
    fine, strange = Fraction(1, 2**9000 + 1), Fraction(1, 2**9001 + 1)

    for less in (Fraction(1, 10**40), fine - strange):
        options = [option("a", 3, 1), option("b", 3, 1 + less)]
        assert {"b": "value"} == chosen(choose(options, 3))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ([option("a", -1, 1)], OptionReason.NEGATIVE_COST),
        ([option("a", 1, -1)], OptionReason.NEGATIVE_WORTH),
        ([option("a", 1, 1), option("a", 1, 1)], OptionReason.REPEATED_KEY),
    ],
)
def test_what_cannot_be_weighed_is_refused(bad: list[Option], reason: OptionReason) -> None:
    other = option("0", 1, 1)

    assert Failure(InvalidOption(key="a", reason=reason)) == choose([*bad, other, option("z", -5, 0)], 9)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ((Quota(kind=FACT, floor=-1),), QuotaReason.NEGATIVE_FLOOR),
        ((Quota(kind=FACT, ceiling=-1),), QuotaReason.NEGATIVE_CEILING),
        ((Quota(kind=FACT, floor=2, ceiling=1),), QuotaReason.FLOOR_OVER_CEILING),
        ((Quota(kind=FACT), Quota(kind=FACT)), QuotaReason.REPEATED_KIND),
    ],
)
def test_quotas_that_say_nothing_are_refused(rows: tuple[Quota, ...], reason: QuotaReason) -> None:
    invalid = InvalidQuota(kind=FACT, reason=reason)

    assert invalid == quotas_failure(Quotas(rows=(Quota(kind=None, floor=-7), *rows, Quota(kind=GOAL))))
    assert Failure(invalid) == choose([], 1, Quotas(rows=rows))
    assert quotas_failure(NO_QUOTAS) is None
    assert quotas_failure(Quotas(rows=(Quota(kind=None, floor=2, ceiling=2),))) is None


def test_the_least_valuable_goes_first_from_the_lowest_tier_up() -> None:
    options = [
        option("kept", 1, 0, kept=True),
        option("p1", 1, 1, tier=Tier.P1),
        option("worth", 1, 9),
        option("less", 2, 9),
        option("second", 1, 9, rank=1),
    ]

    for order in permutations(options):
        assert ["less", "second", "worth", "p1"] == [one.key for one in leaving_order(order)]


def test_what_would_break_a_floor_goes_after_all_others() -> None:
    options = [
        option("m1", 2, 1, kind=MEMORY),
        option("m2", 2, 2, kind=MEMORY),
        option("free", 0, 3, kind=MEMORY),
        option("f", 1, 9, tier=Tier.P0),
    ]
    quotas = Quotas(rows=(Quota(kind=MEMORY, floor=2),))

    assert ["m1", "free", "f", "m2"] == [one.key for one in leaving_order(options, quotas)]


def test_a_single_best_one_is_told_by_its_reason() -> None:
    options = [option("small", 1, 2), option("large", 100, 100)]

    assert {"large": ChoiceReason.SINGLE_BEST.value} == chosen(choose(options, 100))
