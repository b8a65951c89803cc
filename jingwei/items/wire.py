"""Items as JSON (rules S1, W5, W6): strict on unknown keys, and no digit is lost on the way.

Reading says what is no item at all; `items_failure` says which item no request may hold.
"""

from collections.abc import Iterable
from typing import Final

from jingwei.codec import (
    Declarations,
    DecodeFailed,
    DecodeReason,
    EncodeFailed,
    RecordCodec,
    RecordProblem,
    parse_document,
    problem_at,
)
from jingwei.items.records import (
    Authority,
    ConflictMark,
    ConflictRow,
    ContextItem,
    DuplicateRow,
    ItemKind,
    ItemSource,
    MergedSource,
    Resolution,
    ShortContent,
    Tier,
)
from jingwei.jsontext import JsonValue, canonical, shortened
from jingwei.outcome import Failure, Outcome, Success


def declare(wire: Declarations) -> None:
    """The wire form of items and of what is said of them; other rooms declare it into their own codecs.

    A share is written as a whole number or as the text `n/d`, and read from those and from a float.
    """
    wire.enums(ItemKind, Tier, ItemSource, Authority, Resolution)
    wire.record(ConflictMark, strict=True)
    wire.record(MergedSource, strict=True)
    wire.record(ShortContent, strict=True)
    wire.record(ContextItem, strict=True)
    wire.record(DuplicateRow, strict=True)
    wire.record(ConflictRow, strict=True)


_CODEC: Final = RecordCodec(declare)


def decode_items(data: bytes) -> Outcome[tuple[ContextItem, ...], DecodeFailed]:
    """Items from a JSON document, an array (W6). Total: any bytes give an Outcome."""
    value = parse_document(data)
    if isinstance(value, DecodeFailed):
        return Failure(value)
    items = read_items(value)
    return Failure(items) if isinstance(items, DecodeFailed) else Success(items)


def read_items(value: JsonValue) -> tuple[ContextItem, ...] | DecodeFailed:
    """The same from an already parsed value; paths count from it."""
    if not isinstance(value, list):
        met = shortened(canonical(value))
        reason = DecodeReason.WRONG_TYPE
        return DecodeFailed(reason=reason, path="", expected="an array of items", actual=met)
    items = _CODEC.read(value, tuple[ContextItem, ...])
    return problem_at(None, items) if isinstance(items, RecordProblem) else items


def read_item(value: JsonValue) -> ContextItem | DecodeFailed:
    """One item from an already parsed value."""
    item = _CODEC.read(value, ContextItem)
    return problem_at(None, item) if isinstance(item, RecordProblem) else item


def encode_items(items: Iterable[ContextItem]) -> Outcome[bytes, EncodeFailed]:
    """Canonical bytes of items, as an array in the order given (W8), without a newline."""
    written = list[bytes]()
    for index, item in enumerate(items):
        data = _CODEC.written(item, index)
        if isinstance(data, EncodeFailed):
            return Failure(data)
        written.append(data)
    return Success(b"[" + b",".join(written) + b"]")


def item_value(item: ContextItem) -> JsonValue:
    """One item as plain JSON values."""
    return _CODEC.write(item)
