"""Items as JSON (S1, W5, W6)."""

from fractions import Fraction

import attrs
import pytest

from jingwei.codec import DecodeFailed, DecodeReason, EncodeFailed, EncodeReason
from jingwei.ids import EventId, ItemId
from jingwei.items.records import (
    Authority,
    ConflictMark,
    ContextItem,
    ItemKind,
    ItemSource,
    MergedSource,
    Resolution,
    ShortContent,
    Tier,
)
from jingwei.items.wire import decode_items, encode_items, item_value, read_item, read_items
from jingwei.jsontext import JsonValue
from jingwei.outcome import Failure, Success

SMALL = ContextItem(item_id=ItemId("a"), kind=ItemKind.FACT, content="text", source=ItemSource.TOOL)
WHOLE = attrs.evolve(
    SMALL,
    item_id=ItemId("b"),
    tier=Tier.P1,
    token_cost=3,
    priority=4,
    relevance=Fraction(1, 3),
    freshness=Fraction(0.1),
    trust=Fraction(1),
    source_ref="r",
    source_events=(EventId("e"),),
    compressible=True,
    required=True,
    pinned=True,
    subject="s",
    authority=Authority.CONFIRMED_FACT,
    seq=5,
    short=ShortContent(text="s", method="m-v1"),
    merged=(
        MergedSource(
            item_id=ItemId("c"),
            source=ItemSource.MEMORY,
            source_ref=None,
            source_events=(),
            trust=Fraction(2, 7),
        ),
    ),
    conflicts=(
        ConflictMark(
            old="o",
            new="n",
            old_id=ItemId("c"),
            new_id=ItemId("b"),
            resolution=Resolution.LATER_OVERRIDE,
        ),
    ),
)
LEAST: dict[str, JsonValue] = {"item_id": "a", "kind": "fact", "content": "text", "source": "tool"}


class TestRoundTrip:
    """What was written is read back."""

    def test_items_survive_json(self) -> None:
        """Every attribute, to the last digit."""
        data = encode_items((SMALL, WHOLE)).unwrap()

        assert Success((SMALL, WHOLE)) == decode_items(data)
        assert WHOLE == read_item(item_value(WHOLE))

    def test_fractions_are_written_exactly(self) -> None:
        """As `n/d`, or as the whole number that they are."""
        data = encode_items((WHOLE,)).unwrap()

        assert b'"relevance":"1/3","freshness":"3602879701896397/36028797018963968","trust":1' in data

    def test_what_has_a_default_need_not_be_written(self) -> None:
        """Four keys make an item."""
        assert SMALL == read_item(LEAST)

    @pytest.mark.parametrize(("share", "read"), [(1, 1), (0.5, Fraction(1, 2)), ("2/6", Fraction(1, 3))])
    def test_a_share_is_read_from_every_number(self, share: JsonValue, read: Fraction) -> None:
        """Whole numbers, floats and fractions."""
        assert attrs.evolve(SMALL, trust=Fraction(read)) == read_item({**LEAST, "trust": share})


class TestRefusals:
    """What is no item, and where."""

    @pytest.mark.parametrize(
        ("data", "reason", "path"),
        [
            (b"{}", DecodeReason.WRONG_TYPE, ""),
            (b"", DecodeReason.INVALID_JSON, ""),
            (b"[1]", DecodeReason.WRONG_TYPE, "/0"),
            (b"[NaN]", DecodeReason.NON_FINITE, "/0"),
            (b"[1e400]", DecodeReason.NON_FINITE, "/0"),
            (b'[{"item_id":"a","item_id":"b"}]', DecodeReason.DUPLICATE_KEY, "/0/item_id"),
            (b'[{"kind":"fact","content":"t","source":"tool"}]', DecodeReason.MISSING_KEY, "/0/item_id"),
            (b'["\\ud83d"]', DecodeReason.LONE_SURROGATE, "/0"),
        ],
    )
    def test_a_document_is_refused_with_its_path(self, data: bytes, reason: DecodeReason, path: str) -> None:
        """As every document of this library is."""
        failed = decode_items(data).failure()

        assert (reason, path) == (failed.reason, failed.path)

    @pytest.mark.parametrize(
        ("key", "value", "reason"),
        [
            ("urgent", True, DecodeReason.UNKNOWN_KEY),
            ("kind", "rumour", DecodeReason.UNKNOWN_ENUM),
            ("trust", True, DecodeReason.WRONG_TYPE),
            ("trust", "0.5", DecodeReason.WRONG_TYPE),
            ("trust", "1/0", DecodeReason.WRONG_TYPE),
            ("token_cost", 1.0, DecodeReason.WRONG_TYPE),
            ("token_cost", -1, DecodeReason.OUT_OF_RANGE),
            ("required", 1, DecodeReason.WRONG_TYPE),
        ],
    )
    def test_nothing_is_coerced(self, key: str, value: JsonValue, reason: DecodeReason) -> None:
        """Not even what could be guessed."""
        failed = read_items([LEAST, {**LEAST, key: value}])

        assert isinstance(failed, DecodeFailed)
        assert (reason, f"/1/{key}") == (failed.reason, failed.path)
        assert isinstance(read_item({**LEAST, key: value}), DecodeFailed)

    def test_half_a_surrogate_pair_has_no_bytes(self) -> None:
        """The item that holds it is named by its place."""
        broken = attrs.evolve(SMALL, content="\ud83d")

        failure = EncodeFailed(reason=EncodeReason.LONE_SURROGATE, index=1, actual="U+D83D")
        assert Failure(failure) == encode_items((SMALL, broken))
