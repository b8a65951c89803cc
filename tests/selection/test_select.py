"""Items alone within so many tokens (S4a)."""

from fractions import Fraction
from itertools import permutations

import attrs
import pytest

from jingwei.ids import ItemId
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.records import ItemKind, Tier
from jingwei.items.worth import InvalidWeights, WeightReason, Weights
from jingwei.outcome import Failure
from jingwei.selection.choose import InvalidQuota, Quota, QuotaReason, Quotas, RequiredCost, RequiredExceed
from jingwei.selection.records import ChoiceReason, SelectionState
from jingwei.selection.select import NoCandidates, SelectedItems, select_items
from tests.selection.weighing import item


def ids(selected: SelectedItems) -> str:
    return "".join(one.item_id for one in selected.items)


def test_items_are_chosen_by_value_and_stand_in_the_order_of_the_request() -> None:
    items = [item("b", 5, 1), item("a", 5, Fraction(1, 2)), item("c", 5), item("d", 5, 0, tier=Tier.P1)]

    for order in permutations(items):
        selected = select_items(order, 15).unwrap()
        assert "dab" == ids(selected)
        assert 15 == selected.used


def test_every_item_has_a_row_with_its_reason() -> None:
    items = [item("a", 5, required=True), item("b", 5, pinned=True), item("c", 5, 1), item("d", 5)]
    rows = select_items(items, 15).unwrap().selection.rows

    assert [("a", "required"), ("b", "pinned"), ("c", "value"), ("d", "no_room")] == [
        (row.item_id, row.reason.value) for row in rows
    ]
    assert [0, 0, 1, 0] == [row.worth for row in rows]
    assert [Tier.P0, Tier.P3, Tier.P3, Tier.P3] == [row.tier for row in rows]


def test_no_items_are_told_by_name() -> None:
    assert Failure(NoCandidates()) == select_items([], 100)


def test_what_cannot_be_sent_or_weighed_is_refused_in_order() -> None:
    twice = [item("a", 5), item("a", 6)]
    weights, quotas = Weights(trust=Fraction(-1)), Quotas(rows=(Quota(kind=None, floor=-1),))
    refused = select_items(twice, 1, weights, quotas).failure()

    assert isinstance(refused, InvalidItem)
    assert InvalidItemReason.DUPLICATE_ID is refused.reason
    assert Failure(InvalidWeights(field="trust", reason=WeightReason.NEGATIVE)) == select_items(
        twice[:1], 1, weights, quotas
    )
    assert Failure(InvalidQuota(kind=None, reason=QuotaReason.NEGATIVE_FLOOR)) == select_items(
        twice[:1], 1, quotas=quotas
    )
    negative = attrs.evolve(twice[0], token_cost=-1)
    assert isinstance(select_items([negative], 1).failure(), InvalidItem)


@pytest.mark.parametrize("room", [10, -5])
def test_what_must_be_kept_and_does_not_fit_is_listed(room: int) -> None:
    items = [item("a", 5, required=True), item("b", 6, pinned=True), item("c", 1)]
    rows = (RequiredCost(key="b", cost=6), RequiredCost(key="a", cost=5))

    assert Failure(RequiredExceed(room=room, total=11, rows=rows)) == select_items(items, room)


@pytest.mark.parametrize(
    ("tokens", "moves", "back"), [(20, 1, False), (21, 1, True), (20, 2, True), (19, 1, False)]
)
def test_what_was_left_out_stays_out(tokens: int, moves: int, back: bool) -> None:
    previous = SelectionState(left_out_turns=(), left_out_items=(ItemId("a"),), available=20, moves=1)
    selected = select_items([item("a", 5, 1), item("b", 5)], tokens, previous=previous, moves=moves).unwrap()

    assert ("ab" if back else "b") == ids(selected)
    if not back:
        assert ChoiceReason.STICKY is selected.selection.rows[0].reason
    assert ((), () if back else (ItemId("a"),)) == (
        selected.selection.state.left_out_turns,
        selected.selection.state.left_out_items,
    )
    assert (tokens, moves) == (selected.selection.state.available, selected.selection.state.moves)


def test_quotas_hold_here_too() -> None:
    quotas = Quotas(rows=(Quota(kind=ItemKind.MEMORY, floor=5),))
    items = [item("a", 5, 1), item("m", 5, 0, kind=ItemKind.MEMORY)]

    assert "m" == ids(select_items(items, 5, quotas=quotas).unwrap())
