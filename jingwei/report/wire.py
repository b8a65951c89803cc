"""Reports as JSON (rule B6): rows per turn are written out here, and read back into the shared form."""

from typing import Final, final

import attrs

from jingwei.codec import Declarations, DecodeFailed, EncodeFailed, RecordCodec, RecordProblem, problem_at
from jingwei.ids import EventId, SessionId
from jingwei.jsontext import JsonValue
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.records import TurnSources
from jingwei.report.records import (
    Attempt,
    BuildReport,
    MessageRole,
    ReductionKind,
    SentMessage,
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
from jingwei.selection.records import DropTurn
from jingwei.selection.search import Search


@final
@attrs.frozen(kw_only=True)
class _Written:
    """A report as it stands in JSON: the same keys, with a row a turn."""

    algorithm_version: int
    projection_version: int
    strategy: str
    search: Search
    session_id: SessionId
    source_tail: EventId | None
    source_event_count: int
    state_version: str | None
    target: ContextTarget
    budget: ContextBudget
    limits: BuildLimits
    system_messages: int
    current_messages: int
    turns: tuple[TurnRow, ...]
    attempts: tuple[Attempt, ...]
    sent: tuple[SentMessage, ...]
    constraint_digest: str
    summary_digest: str | None
    items_digest: str | None


def declare_inputs(wire: Declarations) -> None:
    """The wire form of what a host sets: target, budget, limits, search."""
    wire.enums(TokenBoundEvidence, BudgetMode, Search)
    wire.record(ContextTarget, strict=True)
    wire.record(ContextBudget, strict=True, required=("output_evidence", "safety_margin", "mode"))
    wire.record(BuildLimits, strict=True)


def _declare(wire: Declarations) -> None:
    declare_inputs(wire)
    wire.enums(MessageRole, ReductionKind)
    wire.record(TokenBreakdown, strict=True)
    wire.record(TokenCount, strict=True)
    wire.record(Attempt, strict=True)
    wire.record(SentMessage, strict=True)
    wire.record(TurnRow, strict=True)
    wire.record(_Written, strict=True)


_CODEC: Final = RecordCodec(_declare)


def encode_report(report: BuildReport) -> Outcome[bytes, EncodeFailed]:
    """Canonical bytes of a report (B6, W8), without a newline."""
    return _CODEC.encode(_written(report))


def report_value(report: BuildReport) -> JsonValue:
    """The same as plain JSON values."""
    return _CODEC.write(_written(report))


def decode_report(data: bytes) -> Outcome[BuildReport, DecodeFailed]:
    """A report from its JSON document; equal to the one that was encoded. Total."""
    match _CODEC.decode(data, _Written):
        case Failure() as refused:
            return refused
        case Success(written):
            return Success(_read(written))


def read_report(value: JsonValue) -> BuildReport | DecodeFailed:
    """The same from an already parsed value."""
    written = _CODEC.read(value, _Written)
    return problem_at(None, written) if isinstance(written, RecordProblem) else _read(written)


def _written(report: BuildReport) -> _Written:
    return _Written(
        algorithm_version=report.algorithm_version,
        projection_version=report.projection_version,
        strategy=report.strategy,
        search=report.search,
        session_id=report.session_id,
        source_tail=report.source_tail,
        source_event_count=report.source_event_count,
        state_version=report.state_version,
        target=report.target,
        budget=report.budget,
        limits=report.limits,
        system_messages=report.system_messages,
        current_messages=report.current_messages,
        turns=tuple(report.turns.rows),
        attempts=report.attempts,
        sent=report.sent,
        constraint_digest=report.constraint_digest,
        summary_digest=report.summary_digest,
        items_digest=report.items_digest,
    )


def _read(written: _Written) -> BuildReport:
    rows = written.turns
    return BuildReport(
        algorithm_version=written.algorithm_version,
        projection_version=written.projection_version,
        strategy=written.strategy,
        search=written.search,
        session_id=written.session_id,
        source_tail=written.source_tail,
        source_event_count=written.source_event_count,
        state_version=written.state_version,
        target=written.target,
        budget=written.budget,
        limits=written.limits,
        system_messages=written.system_messages,
        current_messages=written.current_messages,
        turns=TurnLedger(
            sources=tuple([TurnSources(turn_id=r.turn_id, source_events=r.source_events) for r in rows]),
            pinned=tuple([row.turn_id for row in rows if row.protected]),
            reductions=tuple([DropTurn(turn_id=row.turn_id) for row in rows if not row.retained]),
        ),
        attempts=written.attempts,
        sent=written.sent,
        constraint_digest=written.constraint_digest,
        summary_digest=written.summary_digest,
        items_digest=written.items_digest,
    )
