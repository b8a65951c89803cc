"""Failures as JSON values: one form a record, with the facts of the batch contract."""

import pytest

from jingwei.build import build
from jingwei.codec import DecodeFailed, DecodeReason
from jingwei.events.failures import DuplicateEventId, WrongSequence, WrongSession
from jingwei.events.turns import MalformedReason
from jingwei.ids import EventId, ItemId, ModelCallId, SessionId, SummaryId, ToolCallId, TurnId
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.jsontext import JsonValue
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import (
    ArgumentsNotObject,
    DuplicateToolCallId,
    DuplicateToolName,
    EmptyMessages,
    EmptyName,
    EmptyToolSet,
    InterruptedToolGroup,
    InvalidSchemaShape,
    MissingAssistantContent,
    MissingToolResults,
    ShapeFailure,
    ToolNotVisible,
    UnmatchedToolResult,
)
from jingwei.projection.failures import (
    InvalidConfig,
    InvalidConfigReason,
    Malformed,
    MissingReply,
    ProjectionFailure,
    Unconfirmed,
)
from jingwei.report.failure_values import (
    build_failure_value,
    decode_failure_value,
    projection_failure_value,
    shape_failure_value,
)
from jingwei.report.failures import (
    BuildFailure,
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    InvalidInputReason,
    Overflow,
    OverflowWhat,
    ShapeInvalid,
    SurvivalBroken,
    UnverifiedCount,
    UnverifiedReason,
)
from jingwei.report.wire import report_value
from jingwei.results.failures import ContradictionReason, ViewContradiction
from jingwei.selection.records import InvalidPlan, InvalidPlanReason
from tests.test_build import ByteCounter, built, history, inputs

REPORT = built(build(history(1), inputs(), ByteCounter())).report


def test_a_decode_failure_has_every_key() -> None:
    assert {
        "kind": "DecodeFailed",
        "reason": "bom",
        "line": None,
        "byte_offset": None,
        "path": None,
        "expected": None,
        "actual": None,
        "whole_bytes": None,
    } == decode_failure_value(DecodeFailed(reason=DecodeReason.BOM))
    assert [1, 2, "/a", "x", "y", 3] == list(
        decode_failure_value(
            DecodeFailed(
                reason=DecodeReason.WRONG_TYPE,
                line=1,
                byte_offset=2,
                path="/a",
                expected="x",
                actual="y",
                whole_bytes=3,
            )
        ).values()
    )[2:]


LIMIT = LimitExceeded(what=Bound.INPUT_BYTES, limit=1, actual=2)
LIMIT_VALUE: dict[str, JsonValue] = {"kind": "LimitExceeded", "what": "input_bytes", "limit": 1, "actual": 2}

PROJECTION: list[tuple[ProjectionFailure, dict[str, JsonValue]]] = [
    (
        InvalidConfig(reason=InvalidConfigReason.ZERO_MAX_EVENTS),
        {"kind": "InvalidConfig", "reason": "zero_max_events"},
    ),
    (LIMIT, LIMIT_VALUE),
    (
        WrongSession(physical_index=1, expected=SessionId("a"), actual=SessionId("b")),
        {"kind": "WrongSession", "physical_index": 1, "expected": "a", "actual": "b"},
    ),
    (
        WrongSequence(physical_index=1, expected=1, actual=9),
        {"kind": "WrongSequence", "physical_index": 1, "expected": 1, "actual": 9},
    ),
    (
        DuplicateEventId(physical_index=1, event_id=EventId("e")),
        {"kind": "DuplicateEventId", "physical_index": 1, "event_id": "e"},
    ),
    (
        Malformed(event_id=EventId("e"), seq=3, turn_id=TurnId("t"), reason=MalformedReason.WORK_BEFORE_USER),
        {"kind": "Malformed", "event_id": "e", "seq": 3, "turn_id": "t", "reason": "work_before_user"},
    ),
    (
        Unconfirmed(
            turn_id=TurnId("t"),
            open_tool_calls=(ToolCallId("a"),),
            open_model_calls=(ModelCallId("k"),),
            unterminated=True,
        ),
        {
            "kind": "Unconfirmed",
            "turn_id": "t",
            "open_tool_calls": ["a"],
            "open_model_calls": ["k"],
            "unterminated": True,
        },
    ),
    (MissingReply(turn_id=TurnId("t")), {"kind": "MissingReply", "turn_id": "t"}),
]


@pytest.mark.parametrize(("failure", "expected"), PROJECTION, ids=[type(f).__name__ for f, _ in PROJECTION])
def test_a_projection_failure_has_one_form(failure: ProjectionFailure, expected: JsonValue) -> None:
    assert expected == projection_failure_value(failure)


SHAPES: list[tuple[ShapeFailure, dict[str, JsonValue]]] = [
    (EmptyMessages(), {"kind": "EmptyMessages"}),
    (UnmatchedToolResult(index=2), {"kind": "UnmatchedToolResult", "index": 2}),
    (InterruptedToolGroup(index=0), {"kind": "InterruptedToolGroup", "index": 0}),
    (MissingAssistantContent(index=1), {"kind": "MissingAssistantContent"}),
    (EmptyName(index=None), {"kind": "EmptyName"}),
    (ArgumentsNotObject(index=1), {"kind": "ArgumentsNotObject"}),
    (DuplicateToolCallId(index=1), {"kind": "DuplicateToolCallId"}),
    (MissingToolResults(call_ids=("a",)), {"kind": "MissingToolResults"}),
    (InvalidSchemaShape(), {"kind": "InvalidSchemaShape"}),
    (EmptyToolSet(), {"kind": "EmptyToolSet"}),
    (DuplicateToolName(name="x"), {"kind": "DuplicateToolName"}),
    (ToolNotVisible(name="x"), {"kind": "ToolNotVisible"}),
]


@pytest.mark.parametrize(("failure", "expected"), SHAPES, ids=[type(f).__name__ for f, _ in SHAPES])
def test_a_shape_failure_has_an_index_where_the_rule_gives_one(
    failure: ShapeFailure, expected: JsonValue
) -> None:
    assert expected == shape_failure_value(failure)
    assert {"kind": "ShapeInvalid", "error": expected} == build_failure_value(ShapeInvalid(error=failure))


BUILDS: list[tuple[BuildFailure, dict[str, JsonValue]]] = [
    (LIMIT, LIMIT_VALUE),
    (
        InvalidPlan(step=None, reason=InvalidPlanReason.PINNED, turn_id=TurnId("t")),
        {"kind": "InvalidPlan", "step": None, "reason": "pinned"},
    ),
    (
        InvalidPlan(step=2, reason=InvalidPlanReason.REPEATED, turn_id=None, item_id=ItemId("a")),
        {"kind": "InvalidPlan", "step": 2, "reason": "repeated"},
    ),
    (
        InvalidPlan(step=2, reason=InvalidPlanReason.REPEATED, turn_id=None, summary_id=SummaryId("s")),
        {"kind": "InvalidPlan", "step": 2, "reason": "repeated"},
    ),
    (
        InvalidPlan(step=2, reason=InvalidPlanReason.REPEATED, turn_id=None, exchange=7),
        {"kind": "InvalidPlan", "step": 2, "reason": "repeated"},
    ),
    (
        InvalidItem(item_id=ItemId("a"), field="trust", reason=InvalidItemReason.OUT_OF_RANGE, actual="7/2"),
        {"kind": "InvalidItem", "item_id": "a", "field": "trust", "reason": "out_of_range", "actual": "7/2"},
    ),
    (
        ViewContradiction(
            turn_id=TurnId("t"),
            source_event=EventId("e9"),
            recorded_by=EventId("v1"),
            reason=ContradictionReason.TEXT,
        ),
        {
            "kind": "ViewContradiction",
            "turn_id": "t",
            "source_event": "e9",
            "recorded_by": "v1",
            "reason": "text",
        },
    ),
    (
        ViewContradiction(
            turn_id=TurnId("t"),
            source_event=EventId("e9"),
            recorded_by=None,
            reason=ContradictionReason.NAME,
        ),
        {
            "kind": "ViewContradiction",
            "turn_id": "t",
            "source_event": "e9",
            "recorded_by": None,
            "reason": "name",
        },
    ),
    (
        InvalidInput(reason=InvalidInputReason.ZERO_WINDOW, path="/budget/window_tokens"),
        {"kind": "InvalidInput", "reason": "zero_window", "path": "/budget/window_tokens"},
    ),
    (
        InvalidInput(reason=InvalidInputReason.ZERO_COUNT, path=None, report=REPORT),
        {"kind": "InvalidInput", "reason": "zero_count", "path": None, "report": report_value(REPORT)},
    ),
    (
        UnverifiedCount(reason=UnverifiedReason.OUTPUT_EVIDENCE),
        {"kind": "UnverifiedCount", "reason": "output_evidence"},
    ),
    (
        UnverifiedCount(reason=UnverifiedReason.TARGET, report=REPORT),
        {"kind": "UnverifiedCount", "reason": "target", "report": report_value(REPORT)},
    ),
    (
        CounterFailed(reason="gone", report=REPORT),
        {"kind": "CounterFailed", "reason": "gone", "report": report_value(REPORT)},
    ),
    (Overflow(what=OverflowWhat.RESERVED), {"kind": "Overflow", "what": "reserved"}),
    (
        Overflow(what=OverflowWhat.TOTAL, report=REPORT),
        {"kind": "Overflow", "what": "total", "report": report_value(REPORT)},
    ),
    (
        DoesNotFit(exhaustive=False, report=REPORT),
        {"kind": "DoesNotFit", "exhaustive": False, "report": report_value(REPORT)},
    ),
    (
        CountLimit(limit=128, report=REPORT),
        {"kind": "CountLimit", "limit": 128, "report": report_value(REPORT)},
    ),
    (
        SurvivalBroken(missing=("/system/0",), report=REPORT),
        {"kind": "SurvivalBroken", "missing": ["/system/0"], "report": report_value(REPORT)},
    ),
]


@pytest.mark.parametrize(
    ("failure", "expected"), BUILDS, ids=[f"{type(f).__name__} {i}" for i, (f, _) in enumerate(BUILDS)]
)
def test_a_build_failure_has_one_form(failure: BuildFailure, expected: JsonValue) -> None:
    assert expected == build_failure_value(failure)
