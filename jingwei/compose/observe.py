"""What was chosen and why: the selection report, one item's story, two reports side by side (rule S7)."""

import enum
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, final

import attrs

from jingwei.compose.condensing import CondensedItems, CondensedRow
from jingwei.compose.gather import FilteredMemory, Gathered, StageRow
from jingwei.ids import ItemId, TurnId
from jingwei.items.conflicts import Resolved
from jingwei.items.duplicates import Deduplicated
from jingwei.items.records import ConflictRow, DuplicateRow, ItemKind, ItemSource, Tier
from jingwei.outcome import Failure, Outcome, Success
from jingwei.report.records import BuildReport, ItemRow, ReductionKind, SentMessage
from jingwei.selection.records import ChoiceReason

SELECTION_VERSION: Final = 1
"""The meaning of a selection report; a change of meaning is another number."""


@final
@attrs.frozen(kw_only=True)
class KindShare:
    """How much of the request items of one kind take.

    Attributes:
        kind: the kind.
        tokens: what they cost, each as a message of its line alone (C6), system texts as they are sent; None
            without an additive counter.
        share: of all that the last count found: of the envelope, as much as its lines cost of all its lines.
            None where tokens are None.
    """

    kind: ItemKind
    tokens: int | None
    share: Fraction | None


@final
@attrs.frozen(kw_only=True)
class Origin:
    """Where an item came from, for one that did not get as far as the request too.

    Attributes:
        item_id: the item.
        kind: what it is.
        tier: the tier that counted.
        source: who wrote it.
        source_ref: the host's reference.
        recall_score: its relevance.
    """

    item_id: ItemId
    kind: ItemKind
    tier: Tier
    source: ItemSource
    source_ref: str | None
    recall_score: Fraction


@final
@attrs.frozen(kw_only=True)
class SelectionReport:
    """What a composed request was chosen from, and what became of each item (S7).

    Attributes:
        algorithm_version: the meaning of this report.
        method: how tokens were counted.
        candidates: how many items were gathered, duplicates and losers too.
        chosen: how many of them stand in the request; system texts too.
        stages: what each stage of gathering added.
        origins: every item that was gathered, by id.
        filtered: memories that were found and not used.
        duplicates: what another item stands for.
        conflicts: what was contradicted, and who won.
        condensed: what was too large.
        items: every item that could stand in the envelope, as the report of the build has it.
        shares: tokens by kind, for kinds that stand in the request; in the order of kinds.
        tokens_before: what the items that stand in the request would cost in full, system texts too; None
            without costs.
        tokens_after: what they cost as they stand there; None without costs.
    """

    algorithm_version: int
    method: str
    candidates: int
    chosen: int
    stages: tuple[StageRow, ...]
    origins: tuple[Origin, ...]
    filtered: tuple[FilteredMemory, ...]
    duplicates: tuple[DuplicateRow, ...]
    conflicts: tuple[ConflictRow, ...]
    condensed: tuple[CondensedRow, ...]
    items: tuple[ItemRow, ...]
    shares: tuple[KindShare, ...]
    tokens_before: int | None
    tokens_after: int | None


def selection_report(
    gathered: Gathered,
    deduplicated: Deduplicated,
    resolved: Resolved,
    condensed: CondensedItems,
    built: BuildReport,
) -> SelectionReport:
    """The report of one composed request, from what each stage answered."""
    rows = built.items or ()
    kept = [row for row in rows if row.retained]
    count = built.attempts[-1].count if built.attempts else None
    rules = [item for item in condensed.items if item.kind is ItemKind.SYSTEM]
    texts = _system_texts(built, len(rules))
    spoken = [message.cost for message in texts]
    return SelectionReport(
        algorithm_version=SELECTION_VERSION,
        method="" if count is None else count.method,
        candidates=len(gathered.items),
        chosen=len(kept) + len(rules),
        stages=gathered.stages,
        origins=_origins(gathered),
        filtered=gathered.filtered,
        duplicates=deduplicated.dropped,
        conflicts=resolved.conflicts,
        condensed=condensed.rows,
        items=rows,
        shares=_shares(kept, texts, built),
        tokens_before=_summed([*spoken, *[row.full_cost for row in kept]]),
        tokens_after=_summed([*spoken, *[row.cost for row in kept]]),
    )


def _system_texts(built: BuildReport, rules: int) -> tuple[SentMessage, ...]:
    """The last so many system texts of the request: those that were items (S9)."""
    return built.sent[: built.system_messages][built.system_messages - rules :]


def _origins(gathered: Gathered) -> tuple[Origin, ...]:
    found = {
        item.item_id: Origin(
            item_id=item.item_id,
            kind=item.kind,
            tier=item.held_tier,
            source=item.source,
            source_ref=item.source_ref,
            recall_score=item.relevance,
        )
        for item in gathered.items
    }
    return tuple([found[item_id] for item_id in sorted(found)])


def _shares(
    kept: Sequence[ItemRow], texts: Sequence[SentMessage], built: BuildReport
) -> tuple[KindShare, ...]:
    by_kind = dict[ItemKind, list[int | None]]()
    for message in texts:
        by_kind.setdefault(ItemKind.SYSTEM, []).append(message.cost)
    for row in kept:
        by_kind.setdefault(row.kind, []).append(row.cost)
    total, of_line = _total(built) or 0, _of_line(kept, built)
    return tuple(
        [
            _share(kind, _summed(by_kind[kind]), Fraction(1) if kind is ItemKind.SYSTEM else of_line, total)
            for kind in ItemKind
            if kind in by_kind
        ]
    )


def _share(kind: ItemKind, tokens: int | None, each: Fraction | None, total: int) -> KindShare:
    known = None if tokens is None or each is None or total == 0 else tokens * each / total
    return KindShare(kind=kind, tokens=tokens, share=known)


def _of_line(kept: Iterable[ItemRow], built: BuildReport) -> Fraction | None:
    """What a token of a line alone is worth in the envelope, which has one frame for all its lines.

    The envelope stands just before what is current (S4).
    """
    lines, place = _summed(row.cost for row in kept), len(built.sent) - built.current_messages - 1
    stands = built.items_digest is not None and 0 <= place < len(built.sent)
    envelope = built.sent[place].cost if stands else None
    return None if envelope is None or lines is None else Fraction(envelope, max(lines, 1))


def _summed(costs: Iterable[int | None]) -> int | None:
    total = 0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


# --- the story of one item ------------------------------------------------------------------------


@final
class WhyStep(enum.Enum):
    """One thing that happened to an item, in the order of the work."""

    GATHERED = "gathered"
    FILTERED = "filtered"
    DUPLICATE_OF = "duplicate_of"
    STANDS_FOR = "stands_for"
    LOST_TO = "lost_to"
    WON_OVER = "won_over"
    CONDENSED = "condensed"
    NOT_CONDENSED = "not_condensed"
    SYSTEM_TEXT = "system_text"
    CHOSEN = "chosen"
    LEFT_OUT = "left_out"


@final
@attrs.frozen(kw_only=True)
class WhyRow:
    """One step of an item's story.

    Attributes:
        step: what happened.
        other: the other item, where there is one.
        reason: the stage, the check, the resolution, the method, the reason of the choice: in the words of
            the report.
    """

    step: WhyStep
    other: ItemId | None
    reason: str


@final
@attrs.frozen(kw_only=True)
class Why:
    """Why an item stands in a request, or does not (S7).

    Attributes:
        item_id: the item.
        in_request: whether its own text stands there, in full or condensed.
        origin: where it came from; None for a memory that was filtered.
        story: what happened to it, in order.
    """

    item_id: ItemId
    in_request: bool
    origin: Origin | None
    story: tuple[WhyRow, ...]


@final
@attrs.frozen(kw_only=True)
class UnknownItem:
    """The report does not speak of this item.

    Attributes:
        item_id: what was asked for.
        known: how many items the report speaks of.
    """

    item_id: ItemId
    known: int


def why(report: SelectionReport, item_id: ItemId) -> Outcome[Why, UnknownItem]:
    """Why an item is in the request or not, step by step; total.

    A memory that was filtered before it became an item is found as `memory:<its id>`.
    """
    origin = next((one for one in report.origins if one.item_id == item_id), None)
    filtered = [row for row in report.filtered if f"memory:{row.memory_id}" == item_id]
    if origin is None and not filtered:
        return Failure(UnknownItem(item_id=item_id, known=len(report.origins)))
    story = [
        *_gathered_rows(report, item_id, filtered),
        *_settled_rows(report, item_id),
        *_condensed_rows(report, item_id),
        *_choice_rows(report, item_id, origin),
    ]
    present = {WhyStep.CHOSEN, WhyStep.SYSTEM_TEXT}
    return Success(
        Why(
            item_id=item_id,
            in_request=any(row.step in present for row in story),
            origin=origin,
            story=tuple(story),
        )
    )


def _row(step: WhyStep, reason: str, other: ItemId | None = None) -> WhyRow:
    return WhyRow(step=step, other=other, reason=reason)


def _gathered_rows(
    report: SelectionReport, item_id: ItemId, filtered: Iterable[FilteredMemory]
) -> list[WhyRow]:
    stages = [stage.stage.value for stage in report.stages if item_id in stage.item_ids]
    return [
        *[_row(WhyStep.GATHERED, stage) for stage in stages],
        *[_row(WhyStep.FILTERED, row.reason.value) for row in filtered],
    ]


def _settled_rows(report: SelectionReport, item_id: ItemId) -> list[WhyRow]:
    rows = list[WhyRow]()
    for duplicate in report.duplicates:
        if item_id == duplicate.dropped and item_id != duplicate.kept:
            rows.append(_row(WhyStep.DUPLICATE_OF, "same_content", duplicate.kept))
        elif item_id == duplicate.kept:
            rows.append(_row(WhyStep.STANDS_FOR, "same_content", duplicate.dropped))
    for conflict in report.conflicts:
        mark = conflict.mark
        if item_id == mark.old_id:
            rows.append(_row(WhyStep.LOST_TO, mark.resolution.value, mark.new_id))
        elif item_id == mark.new_id:
            rows.append(_row(WhyStep.WON_OVER, mark.resolution.value, mark.old_id))
    return rows


def _condensed_rows(report: SelectionReport, item_id: ItemId) -> list[WhyRow]:
    rows = [row for row in report.condensed if row.item_id == item_id]
    return [
        _row(WhyStep.CONDENSED, row.method)
        if row.method is not None
        else _row(WhyStep.NOT_CONDENSED, row.refused or "")
        for row in rows
    ]


def _choice_rows(report: SelectionReport, item_id: ItemId, origin: Origin | None) -> list[WhyRow]:
    for row in report.items:
        if row.item_id == item_id:
            return [_row(WhyStep.CHOSEN if row.retained else WhyStep.LEFT_OUT, row.reason.value)]
    gone = {row.dropped for row in report.duplicates if row.kept != row.dropped}
    gone |= {row.mark.old_id for row in report.conflicts if not row.loser_kept}
    if origin is not None and origin.kind is ItemKind.SYSTEM and item_id not in gone:
        return [_row(WhyStep.SYSTEM_TEXT, ChoiceReason.REQUIRED.value)]
    return []


# --- two reports side by side ---------------------------------------------------------------------


@final
class ItemChange(enum.Enum):
    """What became of an item between two requests."""

    CAME = "came"
    WENT = "went"
    CONDENSED = "condensed"
    EXPANDED = "expanded"


@final
@attrs.frozen(kw_only=True)
class ChangedItem:
    """One item that stands differently in the second request.

    Attributes:
        item_id: the item.
        change: how.
        before: why it stood in the first, or did not; None where that did not know it.
        after: the same of the second.
    """

    item_id: ItemId
    change: ItemChange
    before: ChoiceReason | None
    after: ChoiceReason | None


@final
@attrs.frozen(kw_only=True)
class ReportDiff:
    """What differs between the requests of two builds (S7).

    Attributes:
        items: items that stand differently, by id.
        turns_came: turns that stand in the second request and not in the first, in its order.
        turns_went: the other way round, in the order of the first.
        tokens_before: the first request's last count, all parts; None where nothing was counted.
        tokens_after: the same of the second.
        messages_before: messages of the first request, system texts too.
        messages_after: the same of the second.
    """

    items: tuple[ChangedItem, ...]
    turns_came: tuple[TurnId, ...]
    turns_went: tuple[TurnId, ...]
    tokens_before: int | None
    tokens_after: int | None
    messages_before: int
    messages_after: int


def diff(before: BuildReport, after: BuildReport) -> ReportDiff:
    """What came, what went, what changed its form. Total; linear in both histories."""
    old, new = _by_id(before), _by_id(after)
    changed = [_changed(item_id, old.get(item_id), new.get(item_id)) for item_id in sorted({*old, *new})]
    had = dict.fromkeys(row.turn_id for row in before.turns.rows if row.retained)
    has = dict.fromkeys(row.turn_id for row in after.turns.rows if row.retained)
    return ReportDiff(
        items=tuple([one for one in changed if one is not None]),
        turns_came=tuple([turn for turn in has if turn not in had]),
        turns_went=tuple([turn for turn in had if turn not in has]),
        tokens_before=_total(before),
        tokens_after=_total(after),
        messages_before=len(before.sent),
        messages_after=len(after.sent),
    )


def _by_id(report: BuildReport) -> Mapping[ItemId, ItemRow]:
    return {row.item_id: row for row in report.items or ()}


def _changed(item_id: ItemId, old: ItemRow | None, new: ItemRow | None) -> ChangedItem | None:
    stood, stands = old is not None and old.retained, new is not None and new.retained
    if stood != stands:
        change = ItemChange.CAME if stands else ItemChange.WENT
    elif stood and old is not None and new is not None and old.reduction != new.reduction:
        change = ItemChange.CONDENSED if new.reduction is ReductionKind.CONDENSED else ItemChange.EXPANDED
    else:
        return None
    return ChangedItem(
        item_id=item_id,
        change=change,
        before=None if old is None else old.reason,
        after=None if new is None else new.reason,
    )


def _total(report: BuildReport) -> int | None:
    return report.attempts[-1].count.tokens.total if report.attempts else None
