"""Tables and sentences for people: a composed request, an item's story, two reports, advice (S6, S7)."""

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from rich.console import Group as Shown
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from jingwei.cli.output import plural
from jingwei.cli.show import as_tokens, decimal, escape, last_messages, plain, report_table, table_of
from jingwei.compose.condensing import CondensedRow
from jingwei.compose.gather import FilteredMemory
from jingwei.compose.observe import (
    ChangedItem,
    ItemChange,
    KindShare,
    ReportDiff,
    SelectionReport,
    Why,
    WhyRow,
    WhyStep,
)
from jingwei.compose.pipeline import ComposedContext
from jingwei.compose.triggers import (
    Advice,
    CondenseFinished,
    CondenseResult,
    LookForNoise,
    LowerWeight,
    Reach,
    SummarizeStage,
)
from jingwei.ids import TurnId
from jingwei.items.records import ConflictRow, DuplicateRow, ItemKind
from jingwei.selection.records import ChoiceReason

_ROOM: Final = 80
"""Characters of a text that a cell shows."""


def composed_table(composed: ComposedContext) -> RenderableType:
    """The build's own tables, then what was gathered and what became of it before anything was chosen."""
    report = composed.selection
    return Shown(
        report_table(composed.built.report),
        *_selection_tables(report),
        Text(_gathered(report)),
        last_messages(composed.built.request, 4),
    )


def why_text(story: Why) -> Text:
    """An item's story, a sentence a line."""
    stands = "in the request" if story.in_request else "not in the request"
    lines = [f"item {plain(story.item_id)!r} is {stands}"]
    if story.origin is not None:
        one = story.origin
        where = "" if one.source_ref is None else f", from {plain(one.source_ref)!r}"
        what = f"{one.kind.value} of tier {one.tier.value}, written by: {one.source.value}{where}"
        lines.append(f"{what}; recall score {decimal(one.recall_score)}")
    return Text("\n".join([*lines, *[f"- {_step(row)}" for row in story.story]]))


def diff_table(found: ReportDiff) -> RenderableType:
    """What came, what went, what changed its form, and what that is in tokens and messages."""
    before, after = as_tokens(found.tokens_before), as_tokens(found.tokens_after)
    sizes = (
        f"tokens {before} → {after}; messages {found.messages_before:,} → {found.messages_after:,}",
        f"turns that came: {_turns(found.turns_came)}",
        f"turns that went: {_turns(found.turns_went)}",
    )
    tables = () if not found.items else (_changes(found.items),)
    return Shown(*tables, Text("\n".join([*sizes, *([] if found.items else ["no item stands differently"])])))


def advice_text(advice: Sequence[Advice]) -> Text:
    """Each advice in a sentence or two; nothing to advise is said as well."""
    return Text("\n".join([f"- {_said(one)}" for one in advice]) or "nothing to advise")


# --- a composed request ---------------------------------------------------------------------------


def _selection_tables(report: SelectionReport) -> Iterator[Table]:
    yield _shares(report.shares)
    if report.condensed:
        yield _condensed(report.condensed)
    if report.duplicates:
        yield _duplicates(report.duplicates)
    if report.conflicts:
        yield _conflicts(report.conflicts)
    if report.filtered:
        yield _filtered(report.filtered)


def _gathered(report: SelectionReport) -> str:
    stages = ", ".join([f"{row.stage.value} {len(row.item_ids):,}" for row in report.stages if row.item_ids])
    before, after = as_tokens(report.tokens_before), as_tokens(report.tokens_after)
    gathered = f"{plural(report.candidates, 'item')} gathered ({stages or 'nothing'})"
    return (
        f"{gathered}, {report.chosen:,} in the request; in full they would take {before} tokens, "
        f"as they stand {after}"
    )


def _shares(rows: Sequence[KindShare]) -> Table:
    table = table_of("share of the request by kind", "kind", "tokens", "share", right=("tokens", "share"))
    for row in rows:
        share = "?" if row.share is None else f"{decimal(row.share * 100)} %"
        table.add_row(row.kind.value, as_tokens(row.tokens), share)
    return table


def _condensed(rows: Sequence[CondensedRow]) -> Table:
    headings = ("item", "method", "bytes before", "bytes after")
    table = table_of("items that were large", *headings, right=headings[2:])
    for row in rows:
        method = f"in full: {row.refused or ''}" if row.method is None else row.method
        table.add_row(escape(row.item_id), escape(method), f"{row.before_bytes:,}", f"{row.after_bytes:,}")
    return table


def _duplicates(rows: Sequence[DuplicateRow]) -> Table:
    headings = ("kept", "dropped", "written by", "trust of the kept", "of the dropped")
    table = table_of("items that say the same", *headings, right=headings[3:])
    for row in rows:
        trusts = decimal(row.kept_trust), decimal(row.dropped_trust)
        table.add_row(escape(row.kept), escape(row.dropped), row.source.value, *trusts)
    return table


def _conflicts(rows: Sequence[ConflictRow]) -> Table:
    table = table_of("contradictions", "subject", "holds", "lost", "why")
    for row in rows:
        mark = row.mark
        lost = f"{mark.old_id}: {mark.old}" + ("" if row.loser_kept else " (left out)")
        table.add_row(
            _cell(row.subject), _cell(f"{mark.new_id}: {mark.new}"), _cell(lost), mark.resolution.value
        )
    return table


def _filtered(rows: Sequence[FilteredMemory]) -> Table:
    table = table_of("memories that are not used", "memory", "why")
    for row in rows:
        table.add_row(escape(row.memory_id), row.reason.value)
    return table


def _cell(text: str) -> str:
    return escape(text if len(text) <= _ROOM else f"{text[:_ROOM]}… ({len(text):,} characters)")


# --- one item -------------------------------------------------------------------------------------

_STEPS: Final = {
    WhyStep.GATHERED: "gathered at the stage {reason}",
    WhyStep.FILTERED: "found and not used: {reason}",
    WhyStep.DUPLICATE_OF: "says the same as {other}, which stands for it",
    WhyStep.STANDS_FOR: "stands for {other}, which says the same",
    WhyStep.LOST_TO: "contradicted by {other}, which holds: {reason}",
    WhyStep.WON_OVER: "contradicts {other} and holds: {reason}",
    WhyStep.CONDENSED: "was large, and has a short form by {reason}",
    WhyStep.NOT_CONDENSED: "was large, and stays in full: {reason}",
    WhyStep.SYSTEM_TEXT: "stands as a system text",
    WhyStep.CHOSEN: "chosen: {reason}",
    WhyStep.LEFT_OUT: "left out: {reason}",
}

_REASONS: Final = {
    ChoiceReason.REQUIRED: "it is required",
    ChoiceReason.PINNED: "it is pinned",
    ChoiceReason.FLOOR: "the floor of its kind asked for it",
    ChoiceReason.VALUE: "its value per token",
    ChoiceReason.SINGLE_BEST: "it was worth more than all that were cheaper",
    ChoiceReason.ROOM_FOR_ALL: "nothing of its tier had to be left out",
    ChoiceReason.CEILING: "its kind had reached its ceiling",
    ChoiceReason.NO_ROOM: "there was no room left for it",
    ChoiceReason.STICKY: "the last choice left it out, and there is no more room than then",
    ChoiceReason.FULL_COUNT: "the full count of the request left no room",
}


def _step(row: WhyRow) -> str:
    reason = row.reason
    if row.step in {WhyStep.CHOSEN, WhyStep.LEFT_OUT}:
        reason = _REASONS[ChoiceReason(row.reason)]
    other = "" if row.other is None else repr(plain(row.other))
    return _STEPS[row.step].format(reason=plain(reason), other=other)


# --- two reports ----------------------------------------------------------------------------------

_FATES: Final = {
    ItemChange.CAME: "[green]came[/green]",
    ItemChange.WENT: "[yellow]went[/yellow]",
    ItemChange.CONDENSED: "condensed now",
    ItemChange.EXPANDED: "in full again",
}


def _changes(rows: Sequence[ChangedItem]) -> Table:
    title = f"{plural(len(rows), 'item')} that {'stands' if len(rows) == 1 else 'stand'} differently"
    table = table_of(title, "item", "what became of it", "why before", "why now")
    for row in rows:
        table.add_row(escape(row.item_id), _FATES[row.change], _reason(row.before), _reason(row.after))
    return table


def _reason(reason: ChoiceReason | None) -> str:
    return "unknown to it" if reason is None else reason.value


def _turns(turns: Sequence[TurnId]) -> str:
    return ", ".join([repr(plain(turn)) for turn in turns]) or "none"


# --- advice ---------------------------------------------------------------------------------------


def _said(advice: Advice) -> str:
    match advice:
        case CondenseFinished():
            return _say_finished(advice)
        case CondenseResult():
            return _say_result(advice)
        case LowerWeight(item_id=item_id, turns=turns, reclaimable=reclaimable):
            since = f"nothing has referred to it for {plural(turns, 'turn')}"
            takes = f"it takes {as_tokens(reclaimable)} tokens"
            return f"lower the weight of item {plain(item_id)!r}: {since}; {takes}"
        case SummarizeStage(before=before, now=now):
            begun = "the plan has ended" if now is None else f"stage {plain(now)!r} has begun"
            return f"summarise stage {plain(before)!r}: {begun}"
        case LookForNoise(shares=shares):
            taken = ", ".join([f"{_kind(one.kind)} {one.tokens:,}" for one in shares])
            return f"look for noise, since the answers became worse; tokens by kind: {taken or 'none'}"
        case _:
            assert_never(advice)


def _say_finished(advice: CondenseFinished) -> str:
    expects = f"{advice.expected:,} tokens are expected, and the threshold is {advice.threshold:,}"
    condensing = f"condensing {plural(len(advice.turns), 'turn')} frees {advice.by_condensing:,}"
    leaving = f"leaving out every turn that may go frees {advice.by_leaving_out:,}"
    match advice.reach:
        case Reach.BY_CONDENSING:
            return f"condense finished steps: {expects}; {condensing}, which is enough"
        case Reach.BY_LEAVING_OUT:
            return f"leave out old turns: {expects}; {condensing}, too little; {leaving}, which is enough"
        case Reach.NOT_REACHABLE:
            return (
                f"NOT reachable: {expects}; {condensing} and {leaving}, and neither is enough; "
                "what is left is protected: unpin or shorten it, or take a larger window"
            )
        case _:
            assert_never(advice.reach)


def _say_result(advice: CondenseResult) -> str:
    result = f"the result {plain(advice.event_id)!r} of turn {plain(advice.turn_id)!r}"
    sizes = f"{advice.actual_bytes:,} bytes, where the cap is {advice.cap_bytes:,}"
    match advice.reach:
        case Reach.BY_CONDENSING:
            return (
                f"condense {result} and store the original: it has {sizes}; "
                f"a preview frees {plural(advice.reclaimable, 'token')}"
            )
        case Reach.BY_LEAVING_OUT | Reach.NOT_REACHABLE:
            return f"{result} has {sizes}, and no preview is within the cap: only leaving its turn out helps"
        case _:
            assert_never(advice.reach)


def _kind(kind: ItemKind | None) -> str:
    return "turns of the history" if kind is None else kind.value
