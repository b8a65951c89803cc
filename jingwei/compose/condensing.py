"""Large items made short before anything is chosen: condensed, never cut off blindly (rule S4a)."""

from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from jingwei.condensers.choose import condense_text
from jingwei.condensers.records import DEFAULT_LIMITS, CondenseLimits, Condenser
from jingwei.condensers.rendering import rendered
from jingwei.ids import ItemId
from jingwei.items.records import ContextItem, ItemKind, ShortContent, order_of
from jingwei.jsontext import utf8_bytes
from jingwei.limits import PREVIEW_INLINE_BYTES
from jingwei.outcome import Failure, Success

LARGE_ITEM_BYTES: Final = PREVIEW_INLINE_BYTES
"""An item of more UTF-8 bytes than this is condensed where it may be: what is large in T3 is large here."""


@final
@attrs.frozen(kw_only=True)
class CondensedRow:
    """What came of one large item (S7).

    Attributes:
        item_id: the item.
        method: what condensed it, with its version; None where it stands in full.
        before_bytes: UTF-8 bytes of its content.
        after_bytes: of what it may say instead; the same as before where it stands in full.
        refused: the kind of the condenser's failure, for which it stands in full; None where it was
            condensed.
    """

    item_id: ItemId
    method: str | None
    before_bytes: int
    after_bytes: int
    refused: str | None


@final
@attrs.frozen(kw_only=True)
class CondensedItems:
    """The items, the large ones with something shorter to say, and a row for each that was large."""

    items: tuple[ContextItem, ...]
    rows: tuple[CondensedRow, ...]


def condense_items(
    items: Iterable[ContextItem],
    *,
    large_bytes: int = LARGE_ITEM_BYTES,
    limits: CondenseLimits = DEFAULT_LIMITS,
    condensers: Sequence[Condenser] | None = None,
) -> CondensedItems:
    """Give every compressible item of more than `large_bytes` its short content; in the order of S4. Total.

    The content itself stays: whether the short one is sent is decided by the plan, and only where it costs
    less (R4). An item that must stay is not condensed, nor a system text, nor what has short content
    already. Evidence names the item's `source_ref`, else its id.
    """
    found, rows = list[ContextItem](), list[CondensedRow]()
    for item in sorted(items, key=order_of):
        before = utf8_bytes(item.content)
        stays_whole = item.is_kept or item.kind is ItemKind.SYSTEM or item.short is not None
        if stays_whole or not item.compressible or before <= large_bytes:
            found.append(item)
            continue
        short, row = _condensed(item, before, limits, condensers)
        found.append(item if short is None else attrs.evolve(item, short=short))
        rows.append(row)
    return CondensedItems(items=tuple(found), rows=tuple(rows))


def _condensed(
    item: ContextItem, before: int, limits: CondenseLimits, condensers: Sequence[Condenser] | None
) -> tuple[ShortContent | None, CondensedRow]:
    match condense_text(item.content, limits, condensers, source=item.source_ref or item.item_id):
        case Success(condensed):
            short = ShortContent(text=rendered(condensed), method=condensed.method)
            return short, CondensedRow(
                item_id=item.item_id,
                method=short.method,
                before_bytes=before,
                after_bytes=utf8_bytes(short.text),
                refused=None,
            )
        case Failure(why):
            return None, CondensedRow(
                item_id=item.item_id,
                method=None,
                before_bytes=before,
                after_bytes=before,
                refused=type(why).__name__,
            )
