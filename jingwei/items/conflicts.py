"""Who is right when two items contradict each other, and how a model is told (rule S5)."""

from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from jingwei.items.check import items_failure
from jingwei.items.duplicates import canonical_content, subject_of
from jingwei.items.failures import InvalidItem
from jingwei.items.records import (
    AUTHORITY_RANKS,
    Authority,
    ConflictMark,
    ConflictRow,
    ContextItem,
    ItemKind,
    Resolution,
    order_of,
)
from jingwei.outcome import Failure, Outcome, Success


@final
@attrs.frozen(kw_only=True)
class Resolved:
    """Items of which, on each subject, one holds.

    Attributes:
        items: what stays, in the order of S4: what holds, marked with what it contradicts, and what must
            stay although it lost, marked in the same way.
        conflicts: every contradiction, by subject and then by the order in which the losers go.
    """

    items: tuple[ContextItem, ...]
    conflicts: tuple[ConflictRow, ...]


def resolve_conflicts(items: Iterable[ContextItem]) -> Outcome[Resolved, InvalidItem]:
    """On each subject, what holds (S5), or the first item that is none; the order given never matters. Total.

    Items contradict each other when they speak of one subject (white space around it aside) and do not say
    the same (`canonical_content`). What goes furthest holds: a current instruction over a constraint of the
    task over a confirmed fact over a preference over an inference; between equals the later `seq`, what has
    none before all; then the smaller id. Each loser is marked against the one that holds, never against
    another loser. It is left out of the items and stays in `conflicts`; what is required or pinned, and
    what stands in system texts, is never left out, only marked.
    """
    given = tuple(items)
    failure = items_failure(given)
    if failure is not None:
        return Failure(failure)
    subjects, stay = dict[str, list[ContextItem]](), list[ContextItem]()
    for item in given:
        subject = subject_of(item)
        if subject is None:
            stay.append(item)
        else:
            subjects.setdefault(subject, []).append(item)
    rows = list[ConflictRow]()
    for subject in sorted(subjects):
        kept, found = _settled(subject, sorted(subjects[subject], key=_precedence))
        stay += kept
        rows += found
    return Success(Resolved(items=tuple(sorted(stay, key=order_of)), conflicts=tuple(rows)))


def _precedence(item: ContextItem) -> tuple[int, bool, int, str]:
    said = item.seq is None, 0 if item.seq is None else -item.seq
    return AUTHORITY_RANKS[item.authority], *said, item.item_id


def _settled(subject: str, claims: Sequence[ContextItem]) -> tuple[list[ContextItem], list[ConflictRow]]:
    """What stays of one subject, and every contradiction in it; the first claim holds."""
    winner, *others = claims
    holds = canonical_content(winner.content)
    stay, rows = list[ContextItem](), list[ConflictRow]()
    for item in others:
        if canonical_content(item.content) == holds:
            stay.append(item)
            continue
        row = _row(subject, winner, item)
        rows.append(row)
        if row.loser_kept:
            stay.append(_marked(item, [row]))
    return [_marked(winner, rows), *stay], rows


def _marked(item: ContextItem, rows: Iterable[ConflictRow]) -> ContextItem:
    """An item with its marks; a mark that it had already is not made twice."""
    marks = tuple(dict.fromkeys((*item.conflicts, *[row.mark for row in rows])))
    return attrs.evolve(item, conflicts=marks) if marks != item.conflicts else item


def _row(subject: str, winner: ContextItem, loser: ContextItem) -> ConflictRow:
    return ConflictRow(
        subject=subject,
        mark=ConflictMark(
            old=loser.content,
            new=winner.content,
            old_id=loser.item_id,
            new_id=winner.item_id,
            resolution=_resolution(winner, loser),
        ),
        loser_authority=loser.authority,
        winner_authority=winner.authority,
        loser_kept=loser.required or loser.pinned or loser.kind is ItemKind.SYSTEM,
    )


def _resolution(winner: ContextItem, loser: ContextItem) -> Resolution:
    if winner.authority is loser.authority:
        return Resolution.ID_ORDER if winner.seq == loser.seq else Resolution.LATER_OVERRIDE
    return _OVERRIDES[winner.authority]


_OVERRIDES: Final = {
    Authority.CURRENT_INSTRUCTION: Resolution.CURRENT_INSTRUCTION_OVERRIDE,
    Authority.TASK_CONSTRAINT: Resolution.CURRENT_TASK_OVERRIDE,
    Authority.CONFIRMED_FACT: Resolution.CONFIRMED_FACT_OVERRIDE,
    Authority.PREFERENCE: Resolution.PREFERENCE_OVERRIDE,
}
"""By the authority of the winner. An inference goes further than nothing."""
