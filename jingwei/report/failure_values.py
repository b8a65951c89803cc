"""Failures as plain JSON values: the kind is the record's name, facts in snake_case (docs/batch.md)."""

from typing import TypeAlias, assert_never

from jingwei.codec import DecodeFailed
from jingwei.events.failures import (
    DuplicateEventId,
    LogFailure,
    WriteFailure,
    WriteRefused,
    WrongSequence,
    WrongSession,
)
from jingwei.items.failures import InvalidItem
from jingwei.jsontext import JsonValue
from jingwei.limits import LimitExceeded
from jingwei.messages.failures import InterruptedToolGroup, ShapeFailure, UnmatchedToolResult
from jingwei.projection.failures import (
    InvalidConfig,
    Malformed,
    MissingReply,
    ProjectionFailure,
    Unconfirmed,
)
from jingwei.report.failures import (
    BuildFailure,
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    Overflow,
    ShapeInvalid,
    SurvivalBroken,
    UnverifiedCount,
)
from jingwei.report.records import BuildReport
from jingwei.report.wire import report_value
from jingwei.results.failures import ViewContradiction
from jingwei.selection.records import InvalidPlan

JsonObject: TypeAlias = dict[str, JsonValue]


def decode_failure_value(failure: DecodeFailed) -> JsonObject:
    """`DecodeFailed`; the host that reads embedded events adds `index`."""
    return {
        "kind": "DecodeFailed",
        "reason": failure.reason.value,
        "line": failure.line,
        "byte_offset": failure.byte_offset,
        "path": failure.path,
        "expected": failure.expected,
        "actual": failure.actual,
        "whole_bytes": failure.whole_bytes,
    }


def log_failure_value(failure: LogFailure) -> JsonObject:
    """The failures of L1."""
    match failure:
        case WrongSession() | WrongSequence():
            return {
                "kind": type(failure).__name__,
                "physical_index": failure.physical_index,
                "expected": failure.expected,
                "actual": failure.actual,
            }
        case DuplicateEventId():
            return {
                "kind": "DuplicateEventId",
                "physical_index": failure.physical_index,
                "event_id": failure.event_id,
            }
        case _:
            assert_never(failure)


def write_failure_value(failure: WriteFailure) -> JsonObject:
    """The failures of L3 and L4."""
    if not isinstance(failure, WriteRefused):
        return log_failure_value(failure)
    return {
        "kind": "WriteRefused",
        "rule": failure.rule,
        "reason": failure.reason.value,
        "event_id": failure.event_id,
        "seq": failure.seq,
        "turn_id": failure.turn_id,
        "open_tool_calls": list(failure.open_tool_calls),
        "open_model_calls": list(failure.open_model_calls),
        "unreadable": None if failure.unreadable is None else failure.unreadable.value,
        "path": failure.path,
    }


def projection_failure_value(failure: ProjectionFailure) -> JsonObject:
    """The failures of P2 to P10."""
    match failure:
        case InvalidConfig():
            return {"kind": "InvalidConfig", "reason": failure.reason.value}
        case LimitExceeded():
            return limit_value(failure)
        case Malformed():
            return {
                "kind": "Malformed",
                "event_id": failure.event_id,
                "seq": failure.seq,
                "turn_id": failure.turn_id,
                "reason": failure.reason.value,
            }
        case Unconfirmed():
            return {
                "kind": "Unconfirmed",
                "turn_id": failure.turn_id,
                "open_tool_calls": list(failure.open_tool_calls),
                "open_model_calls": list(failure.open_model_calls),
                "unterminated": failure.unterminated,
            }
        case MissingReply():
            return {"kind": "MissingReply", "turn_id": failure.turn_id}
        case _:
            return log_failure_value(failure)


def limit_value(failure: LimitExceeded) -> JsonObject:
    """A bound that was passed."""
    return {
        "kind": "LimitExceeded",
        "what": failure.what.value,
        "limit": failure.limit,
        "actual": failure.actual,
    }


def shape_failure_value(failure: ShapeFailure) -> JsonObject:
    """The failures of M3, with the index where the rule gives one."""
    kind: JsonObject = {"kind": type(failure).__name__}
    if isinstance(failure, UnmatchedToolResult | InterruptedToolGroup):
        kind["index"] = failure.index
    return kind


def build_failure_value(failure: BuildFailure) -> JsonObject:
    """The failures of B2 to B8; `report` is there from the first count on."""
    match failure:
        case LimitExceeded():
            return limit_value(failure)
        case ShapeInvalid():
            return {"kind": "ShapeInvalid", "error": shape_failure_value(failure.error)}
        case InvalidPlan():
            return {"kind": "InvalidPlan", "step": failure.step, "reason": failure.reason.value}
        case InvalidItem():
            return item_failure_value(failure)
        case ViewContradiction():
            return {
                "kind": "ViewContradiction",
                "turn_id": failure.turn_id,
                "source_event": failure.source_event,
                "recorded_by": failure.recorded_by,
                "reason": failure.reason.value,
            }
        case InvalidInput():
            facts: JsonObject = {"reason": failure.reason.value, "path": failure.path}
        case UnverifiedCount():
            facts = {"reason": failure.reason.value}
        case CounterFailed():
            facts = {"reason": failure.reason}
        case Overflow():
            facts = {"what": failure.what.value}
        case DoesNotFit():
            facts = {"exhaustive": failure.exhaustive}
        case CountLimit():
            facts = {"limit": failure.limit}
        case SurvivalBroken():
            facts = {"missing": list(failure.missing)}
        case _:
            assert_never(failure)
    return {"kind": type(failure).__name__, **facts, **_reported(failure.report)}


def item_failure_value(failure: InvalidItem) -> JsonObject:
    """An item that no budget could make right (S1)."""
    return {
        "kind": "InvalidItem",
        "item_id": failure.item_id,
        "field": failure.field,
        "reason": failure.reason.value,
        "actual": failure.actual,
    }


def _reported(report: BuildReport | None) -> JsonObject:
    return {} if report is None else {"report": report_value(report)}
