"""What an item may be: numbers made exact, texts that can be sent, ids that name one thing (rule S1)."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from jingwei.ids import EventId, ItemId, is_blank
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.records import (
    ZERO,
    Authority,
    ConflictMark,
    ContextItem,
    ItemKind,
    ItemSource,
    MergedSource,
    ShortContent,
    Tier,
)
from jingwei.jsontext import has_surrogate, shortened
from jingwei.limits import ITEM_DENOMINATOR_MAX, ITEM_PRIORITY_MAX, TOKENS_BOUND
from jingwei.outcome import Failure, Outcome, Success

Number: TypeAlias = int | float | Fraction
"""What a host may give for a share: each is one exact fraction."""


def context_item(  # one argument for each attribute of the record
    *,
    item_id: ItemId,
    kind: ItemKind,
    content: str,
    source: ItemSource,
    tier: Tier = Tier.P3,
    token_cost: int = 0,
    priority: int = 0,
    relevance: Number = ZERO,
    freshness: Number = ZERO,
    trust: Number = ZERO,
    source_ref: str | None = None,
    source_events: tuple[EventId, ...] = (),
    compressible: bool = False,
    required: bool = False,
    pinned: bool = False,
    subject: str | None = None,
    authority: Authority = Authority.INFERENCE,
    seq: int | None = None,
    short: ShortContent | None = None,
) -> Outcome[ContextItem, InvalidItem]:
    """One item, its numbers made exact, or the first thing that is wrong with it (S1). Total.

    `relevance`, `freshness` and `trust` may be integers, floats or fractions in [0, 1]; a float stands for
    exactly the number that it is, so that nothing is rounded. Not a number and both infinities are
    `NOT_A_NUMBER`; below zero, above one, `True` and `False` are `OUT_OF_RANGE`. The other attributes are
    those of `ContextItem`.
    """
    shares = (("relevance", relevance), ("freshness", freshness), ("trust", trust))
    for field, share in shares:
        if (why := _share_problem(share)) is not None:
            return Failure(_failure(item_id, field, why, share))
    item = ContextItem(
        item_id=item_id,
        kind=kind,
        content=content,
        source=source,
        tier=tier,
        token_cost=token_cost,
        priority=priority,
        relevance=Fraction(relevance),
        freshness=Fraction(freshness),
        trust=Fraction(trust),
        source_ref=source_ref,
        source_events=source_events,
        compressible=compressible,
        required=required,
        pinned=pinned,
        subject=subject,
        authority=authority,
        seq=seq,
        short=short,
    )
    failure = item_failure(item)
    return Success(item) if failure is None else Failure(failure)


def item_failure(item: ContextItem) -> InvalidItem | None:
    """The first thing that is wrong with one item, in the order of its attributes; None where nothing is."""
    return next(_failures(item), None)


def items_failure(items: Iterable[ContextItem]) -> InvalidItem | None:
    """The first thing that is wrong with a set of items (S1); None where nothing is. Total.

    What is told is the fault of the smallest id, whatever the order given; of one id the first by the order
    of the attributes, and last that the id stands twice (`DUPLICATE_ID`), also where both say the same: by
    the time that this is asked, duplicates were to be dropped (`without_duplicates`). No items are right.
    """
    given = tuple(items)
    counted = Counter(item.item_id for item in given)
    repeated = min((item_id for item_id, count in counted.items() if count > 1), default=None)
    failure = first_failure(given)
    if repeated is None or (failure is not None and failure.item_id <= repeated):
        return failure
    return repeated_id(repeated)


def first_failure(items: Iterable[ContextItem]) -> InvalidItem | None:
    """The same without a look at ids that stand twice."""
    found = [failure for item in items if (failure := item_failure(item)) is not None]
    return min(found, key=_place, default=None)


def repeated_id(item_id: ItemId) -> InvalidItem:
    """Two items of one id."""
    return _failure(item_id, "item_id", InvalidItemReason.DUPLICATE_ID, item_id)


def _failures(item: ContextItem) -> Iterator[InvalidItem]:
    """Every fault of an item, in the order of `_FIELDS`."""
    for field, text in _texts(item):
        if has_surrogate(text):
            yield _failure(item.item_id, field, InvalidItemReason.LONE_SURROGATE, text)
        elif field in _NOT_BLANK and is_blank(text):
            yield _failure(item.item_id, field, _NOT_BLANK[field], text)
    if item.kind is ItemKind.SYSTEM and item.source is not ItemSource.HOST:
        yield _failure(item.item_id, "source", InvalidItemReason.UNTRUSTED_SYSTEM, item.source.value)
    for field, number, most in (
        ("token_cost", item.token_cost, TOKENS_BOUND - 1),
        ("priority", item.priority, ITEM_PRIORITY_MAX),
        ("seq", 0 if item.seq is None else item.seq, TOKENS_BOUND - 1),
    ):
        if (why := _integer_problem(number, most)) is not None:
            yield _failure(item.item_id, field, why, number)
    for field, share in _shares(item):
        why = _share_problem(share)
        if why is None and not isinstance(share, Fraction):
            why = InvalidItemReason.OUT_OF_RANGE  # made by hand, against its type: it would round
        if why is not None:
            yield _failure(item.item_id, field, why, share)


def _texts(item: ContextItem) -> Iterator[tuple[str, str]]:
    """Every text of an item that a request or a report may show, with its attribute."""
    yield "item_id", item.item_id
    yield "content", item.content
    if item.source_ref is not None:
        yield "source_ref", item.source_ref
    for event_id in item.source_events:
        yield "source_events", event_id
    if item.subject is not None:
        yield "subject", item.subject
    if item.short is not None:
        yield "short", item.short.text
        yield "method", item.short.method
    for merged in item.merged:
        for text in _merged_texts(merged):
            yield "merged", text
    for mark in item.conflicts:
        for text in _conflict_texts(mark):
            yield "conflicts", text


def _merged_texts(merged: MergedSource) -> Sequence[str]:
    return (merged.item_id, merged.source_ref or "", *merged.source_events)


def _conflict_texts(mark: ConflictMark) -> Sequence[str]:
    return (mark.old, mark.new, mark.old_id, mark.new_id)


def _shares(item: ContextItem) -> Iterator[tuple[str, object]]:
    yield "relevance", item.relevance
    yield "freshness", item.freshness
    yield "trust", item.trust
    for merged in item.merged:
        yield "merged", merged.trust


def _integer_problem(number: object, most: int) -> InvalidItemReason | None:
    """`True` is an `int` to a type checker, and no number to a reader."""
    if type(number) is not int or not 0 <= number <= most:
        return InvalidItemReason.OUT_OF_RANGE
    return None


def _share_problem(share: object) -> InvalidItemReason | None:
    if isinstance(share, float) and not math.isfinite(share):
        return InvalidItemReason.NOT_A_NUMBER
    if type(share) is bool or not isinstance(share, int | float | Fraction) or not 0 <= share <= 1:
        return InvalidItemReason.OUT_OF_RANGE
    if isinstance(share, Fraction) and share.denominator > ITEM_DENOMINATOR_MAX:
        return InvalidItemReason.OUT_OF_RANGE
    return None


def _failure(item_id: ItemId, field: str, reason: InvalidItemReason, actual: object) -> InvalidItem:
    return InvalidItem(item_id=item_id, field=field, reason=reason, actual=_shown(actual))


def _shown(actual: object) -> str:
    """For people: half a surrogate pair as its escape; a number of a million digits by its size."""
    if isinstance(actual, str):
        return shortened(actual.encode(errors="backslashreplace").decode())
    if isinstance(actual, Fraction):
        return f"{_shown(actual.numerator)}/{_shown(actual.denominator)}"
    if type(actual) is int and actual.bit_length() > _SHOWN_BITS:
        return f"{'-' if actual < 0 else ''}an integer of {actual.bit_length()} bits"
    return shortened(repr(actual))


_SHOWN_BITS: Final = 256
"""Beyond it an integer says nothing to people, and far beyond it Python refuses to write it."""

_NOT_BLANK: Final = {
    "item_id": InvalidItemReason.BLANK_ID,
    "content": InvalidItemReason.BLANK_CONTENT,
    "subject": InvalidItemReason.BLANK_SUBJECT,
    "short": InvalidItemReason.BLANK_CONTENT,
}
"""Texts that must hold more than white space; a blank subject would be shared by all who left it out."""

_FIELDS: Final = (
    "item_id",
    "content",
    "source_ref",
    "source_events",
    "subject",
    "short",
    "method",
    "merged",
    "conflicts",
    "source",
    "token_cost",
    "priority",
    "seq",
    "relevance",
    "freshness",
    "trust",
)
"""In which order the faults of one id are told."""

_FIELD_RANKS: Final = {field: rank for rank, field in enumerate(_FIELDS)}


def _place(failure: InvalidItem) -> tuple[str, int, str, str]:
    return failure.item_id, _FIELD_RANKS[failure.field], failure.reason.value, failure.actual
