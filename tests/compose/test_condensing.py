"""Large items get something shorter to say (S4a)."""

import attrs

from jingwei.compose.condensing import LARGE_ITEM_BYTES, CondensedRow, condense_items
from jingwei.condensers.rendering import is_condensed
from jingwei.ids import ItemId
from jingwei.items.records import ShortContent
from jingwei.jsontext import utf8_bytes
from tests.compose.composing import LOG, observation

ITEM = observation("log", LOG)


def test_what_is_large_and_may_be_condensed_is_and_the_original_stays() -> None:
    found = condense_items([ITEM])
    short = found.items[0].short
    assert short is not None

    assert LOG == found.items[0].content
    assert is_condensed(short.text)
    assert '"source":"log"' in short.text
    assert "com.demo.OrderService" in short.text
    expected = CondensedRow(
        item_id=ITEM.item_id,
        method=short.method,
        before_bytes=utf8_bytes(LOG),
        after_bytes=utf8_bytes(short.text),
        refused=None,
    )
    assert (expected,) == found.rows


def test_evidence_names_the_reference_of_the_host_where_there_is_one() -> None:
    short = condense_items([attrs.evolve(ITEM, source_ref="log://run/1")]).items[0].short

    assert short is not None
    assert '"source":"log://run/1"' in short.text


def test_what_is_small_required_pinned_short_already_or_not_compressible_is_left_alone() -> None:
    exact = observation("a", "x" * LARGE_ITEM_BYTES)
    others = [
        exact,
        attrs.evolve(ITEM, item_id=ItemId("b"), compressible=False),
        attrs.evolve(ITEM, item_id=ItemId("c"), required=True),
        attrs.evolve(ITEM, item_id=ItemId("d"), pinned=True),
        attrs.evolve(ITEM, item_id=ItemId("e"), short=ShortContent(text="s", method="m-v1")),
    ]
    found = condense_items(others)

    assert () == found.rows
    assert sorted(others, key=lambda item: item.item_id) == sorted(found.items, key=lambda item: item.item_id)


def test_what_no_condenser_makes_smaller_stays_whole_and_says_why() -> None:
    small = observation("s", "ab")
    (row,) = condense_items([small], large_bytes=1).rows

    assert (None, 2, 2) == (row.method, row.before_bytes, row.after_bytes)
    assert "NotSmaller" == row.refused


def test_the_order_given_does_not_matter() -> None:
    items = [attrs.evolve(ITEM, item_id=ItemId(name)) for name in "cab"]

    assert condense_items(items) == condense_items(reversed(items))
    assert ["a", "b", "c"] == [row.item_id for row in condense_items(items).rows]
