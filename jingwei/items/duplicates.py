"""What several items say is said once, by the one that is trusted most (rules S4a, S5)."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias, final

import attrs

from jingwei.ids import ItemId
from jingwei.items.check import first_failure, repeated_id
from jingwei.items.failures import InvalidItem
from jingwei.items.records import (
    AUTHORITY_RANKS,
    SOURCE_RANKS,
    TIER_RANKS,
    ContextItem,
    DuplicateRow,
    ItemKind,
    MergedSource,
    order_of,
)
from jingwei.outcome import Failure, Outcome, Success


@final
@attrs.frozen(kw_only=True)
class Deduplicated:
    """Items of which no two say the same of the same thing.

    Attributes:
        items: what stays, in the order of S4.
        dropped: what another one stands for, by the ids of both.
    """

    items: tuple[ContextItem, ...]
    dropped: tuple[DuplicateRow, ...]


def without_duplicates(items: Iterable[ContextItem]) -> Outcome[Deduplicated, InvalidItem]:
    """The items, each text once (S5), or the first item that is none; the order given never matters. Total.

    Two items are duplicates when `canonical_content` is the same and they do not speak of two different
    subjects. A system text stays before all others, since only the host may write one; then the most
    trusted stays; then by authority, by who wrote it (host, user, tool, memory, model), by tier, the later,
    the smaller id. Its text, kind, source and trust stay its own, so that no text rises in trust because
    somebody else said it too.

    What it takes over: the sources of the others, in `merged`; that it must stay (`required`, `pinned`);
    the highest tier, priority, relevance and freshness of all; and, of a subject, the highest authority of
    all with the latest `seq` of that authority. So no duplicate makes a text worth less.

    The same id with another text or subject is `DUPLICATE_ID`; with the same, it is a duplicate too.
    """
    given = tuple(items)
    failure = first_failure(given)
    if failure is not None:
        return Failure(failure)
    groups = _groups(given)
    failure = _repeated(groups)
    if failure is not None:
        return Failure(failure)
    rows = [row for group in groups for row in _rows(group)]
    return Success(
        Deduplicated(
            items=tuple(sorted(map(_merged, groups), key=order_of)),
            dropped=tuple(sorted(rows, key=_row_order)),
        )
    )


def canonical_content(text: str) -> str:
    r"""A text as it is compared: line ends as `\n`, and no white space around it.

    Neither says anything. Case, inner space and the form of accents do, in code, in paths and in names, so
    that they are kept: two texts too many cost tokens, two texts made one cost what the second one said.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def subject_of(item: ContextItem) -> str | None:
    """What an item speaks of, as it is compared: without white space around it."""
    return None if item.subject is None else item.subject.strip()


_Group: TypeAlias = list[ContextItem]
"""Items that say the same of the same thing; the first one stays."""


def _groups(items: Iterable[ContextItem]) -> list[_Group]:
    texts = dict[str, dict[str | None, _Group]]()
    for item in items:
        subjects = texts.setdefault(canonical_content(item.content), {})
        subjects.setdefault(subject_of(item), []).append(item)
    groups = list[_Group]()
    for subjects in texts.values():
        if len(subjects) == 2 and None in subjects:
            # What names no subject says the same of the only one that is named; of two it cannot.
            groups.append([item for group in subjects.values() for item in group])
        else:
            groups.extend(subjects.values())
    return [sorted(group, key=_precedence) if len(group) > 1 else group for group in groups]


def _precedence(item: ContextItem) -> tuple[bool, Fraction, int, int, int, int, str, str]:
    """Who stays: the first. The whole record decides between two of one id, not the order given."""
    return (
        item.kind is not ItemKind.SYSTEM,
        -item.trust,
        AUTHORITY_RANKS[item.authority],
        SOURCE_RANKS[item.source],
        TIER_RANKS[item.held_tier],
        0 if item.seq is None else -item.seq - 1,
        item.item_id,
        repr(item),
    )


def _repeated(groups: Sequence[_Group]) -> InvalidItem | None:
    """An id that stands in two groups names two things."""
    seen, twice = set[ItemId](), set[ItemId]()
    for group in groups:
        ids = {item.item_id for item in group}
        twice |= ids & seen
        seen |= ids
    return repeated_id(min(twice)) if twice else None


def _merged(group: _Group) -> ContextItem:
    """The first of a group, with what it takes over from the others."""
    kept, *others = group
    if not others:
        return kept
    named = [item for item in group if item.subject is not None] or [kept]
    statement = min(named, key=lambda item: (AUTHORITY_RANKS[item.authority], *_latest_first(item)))
    return attrs.evolve(
        kept,
        tier=min([item.tier for item in group], key=TIER_RANKS.__getitem__),
        priority=max(item.priority for item in group),
        relevance=max(item.relevance for item in group),
        freshness=max(item.freshness for item in group),
        required=any(item.required for item in group),
        pinned=any(item.pinned for item in group),
        subject=kept.subject or statement.subject,
        authority=statement.authority,
        seq=statement.seq,
        merged=_sources(kept, others),
        conflicts=tuple(dict.fromkeys(mark for item in group for mark in item.conflicts)),
    )


def _latest_first(item: ContextItem) -> tuple[bool, int]:
    return item.seq is None, 0 if item.seq is None else -item.seq


def _sources(kept: ContextItem, others: Iterable[ContextItem]) -> tuple[MergedSource, ...]:
    """Where the others came from, and what they stood for themselves; by id, each once."""
    found = dict.fromkeys(kept.merged)
    for item in others:
        found.update(dict.fromkeys((_source(item), *item.merged)))
    found.pop(_source(kept), None)  # a second copy of the same item comes from nowhere else
    return tuple(sorted(found, key=lambda source: (source.item_id, repr(source))))


def _source(item: ContextItem) -> MergedSource:
    return MergedSource(
        item_id=item.item_id,
        source=item.source,
        source_ref=item.source_ref,
        source_events=item.source_events,
        trust=item.trust,
    )


def _rows(group: _Group) -> list[DuplicateRow]:
    kept, *others = group
    return [
        DuplicateRow(
            kept=kept.item_id,
            dropped=item.item_id,
            source=item.source,
            kept_trust=kept.trust,
            dropped_trust=item.trust,
        )
        for item in others
    ]


def _row_order(row: DuplicateRow) -> tuple[str, str, Fraction, int]:
    return row.kept, row.dropped, row.dropped_trust, SOURCE_RANKS[row.source]
