"""Reports as JSON (rule B6): rows per turn are written out here, and read back into the shared form."""

from typing import Final, assert_never

from jingwei.codec import Declarations, DecodeFailed, EncodeFailed, RecordCodec, RecordProblem, problem_at
from jingwei.ids import SummaryId
from jingwei.items.records import ItemKind, ItemSource, Tier
from jingwei.jsontext import JsonValue
from jingwei.outcome import Outcome
from jingwei.projection.records import TurnSources
from jingwei.report.cache import CachePlan, PrefixChange
from jingwei.report.records import (
    Attempt,
    BuildReport,
    ExchangeRow,
    ItemRow,
    MessageRole,
    ReductionKind,
    ReportedMarks,
    SentMessage,
    SummaryRow,
    TurnLedger,
    TurnRow,
)
from jingwei.request.records import (
    BudgetMode,
    BuildLimits,
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)
from jingwei.selection.records import (
    DEFAULT_PREVIEW,
    ChoiceReason,
    ChoiceRow,
    CondenseTurn,
    DropTurn,
    PreviewPolicy,
    Selection,
    SelectionState,
    SummarizedTurn,
    TurnEnd,
)
from jingwei.selection.search import Search


def declare_inputs(wire: Declarations) -> None:
    """The wire form of what a host sets: target, budget, limits, search."""
    wire.enums(TokenBoundEvidence, BudgetMode, Search)
    wire.record(ContextTarget, strict=True)
    wire.record(ContextBudget, strict=True, required=("output_evidence", "safety_margin", "mode"))
    wire.record(BuildLimits, strict=True)


def declare(wire: Declarations) -> None:
    """The wire form of a report, and of what it is made of."""
    declare_inputs(wire)
    wire.enums(MessageRole, ReductionKind, PrefixChange, ItemKind, ItemSource, Tier, ChoiceReason)
    wire.record(TokenBreakdown, strict=True)
    wire.record(TokenCount, strict=True)
    wire.record(Attempt, strict=True)
    wire.record(SentMessage, strict=True)
    wire.record(PreviewPolicy, strict=True, required=("inline_bytes", "preview_bytes"))
    wire.record(TurnRow, strict=True, unless_default=("viewed",))
    wire.rows(TurnLedger, TurnRow, lambda ledger: ledger.rows, _ledger)
    wire.record(ExchangeRow, strict=True)
    wire.record(ReportedMarks, strict=True)
    wire.record(CachePlan, strict=True)
    wire.record(ItemRow, strict=True)
    wire.record(SummaryRow, strict=True)
    declare_selection(wire)
    wire.record(
        BuildReport,
        strict=True,
        always=("marks", "exchanges", "cache", "items", "summaries", "selection"),
    )


def declare_selection(wire: Declarations) -> None:
    """The wire form of a choice by value; its enums are declared."""
    wire.record(ChoiceRow, strict=True)
    wire.record(SelectionState, strict=True)
    wire.record(Selection, strict=True)


def _ledger(rows: tuple[TurnRow, ...]) -> TurnLedger:
    return TurnLedger(
        sources=tuple([TurnSources(turn_id=row.turn_id, source_events=row.source_events) for row in rows]),
        pinned=tuple([row.turn_id for row in rows if row.protected]),
        reductions=tuple([done for row in rows if (done := _reduction(row)) is not None]),
        viewed=tuple([row.turn_id for row in rows if row.viewed]),
    )


def _reduction(row: TurnRow) -> TurnEnd | None:
    match row.reduction:
        case None:
            return None
        case ReductionKind.DROPPED:
            return DropTurn(turn_id=row.turn_id)
        case ReductionKind.CONDENSED:
            return CondenseTurn(turn_id=row.turn_id, policy=row.policy or DEFAULT_PREVIEW)
        case ReductionKind.SUMMARIZED:
            return SummarizedTurn(turn_id=row.turn_id, summary_id=row.summary_id or SummaryId(""))
        case _:
            assert_never(row.reduction)


_CODEC: Final = RecordCodec(declare)


def encode_report(report: BuildReport) -> Outcome[bytes, EncodeFailed]:
    """Canonical bytes of a report (B6, W8), without a newline."""
    return _CODEC.encode(report)


def report_value(report: BuildReport) -> JsonValue:
    """The same as plain JSON values."""
    return _CODEC.write(report)


def decode_report(data: bytes) -> Outcome[BuildReport, DecodeFailed]:
    """A report from its JSON document; equal to the one that was encoded. Total."""
    return _CODEC.decode(data, BuildReport)


def read_report(value: JsonValue) -> BuildReport | DecodeFailed:
    """The same from an already parsed value."""
    report = _CODEC.read(value, BuildReport)
    return problem_at(None, report) if isinstance(report, RecordProblem) else report
