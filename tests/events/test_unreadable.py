"""What a record made in code may hold and no reader takes (L3, W5, W6)."""

from typing import Final

import attrs
import pytest

from jingwei.codec import DecodeFailed, DecodeReason
from jingwei.events.records import (
    CustomEvent,
    DoneEvent,
    DoneStatus,
    EventKind,
    GenerationLimits,
    GenerationMode,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    ModelSucceeded,
    PlanReady,
    SessionEvent,
    StageProgress,
    StageStatus,
    TaskRunReported,
    Timeout,
    ToolCall,
    ToolCallEvent,
    UserMessageEvent,
)
from jingwei.events.wire import decode_log, encode_event, unreadable
from jingwei.ids import (
    EventId,
    GenerationId,
    MessageId,
    ModelCallId,
    ProviderCallId,
    SessionId,
    ToolCallId,
    TurnId,
)
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    GenerationResponse,
    JsonSchemaConstraint,
    ModelToolCall,
    TokenUsage,
    ToolMessage,
)
from tests.test_jsontext import integer_digits

R: Final = DecodeReason


def event(kind: EventKind) -> SessionEvent:
    return SessionEvent(
        event_id=EventId("e"), session_id=SessionId("s"), turn_id=TurnId("t"), seq=0, kind=kind
    )


def answered(response: GenerationResponse) -> EventKind:
    return ModelResultEvent(
        result=ModelResult(call_id=ModelCallId("m"), outcome=ModelSucceeded(response=response))
    )


def proposed(arguments: str, call_id: str = "p") -> EventKind:
    call = ModelToolCall(id=ProviderCallId(call_id), name="look", arguments=Json(arguments))
    return answered(GenerationResponse(tool_calls=(call,)))


def asked(request: GenerationRequest, timeout: Timeout | None = None, max_tokens: int = 1) -> EventKind:
    limits = GenerationLimits(max_output_bytes=1, max_tool_calls=1)
    options = ModelRequestOptions(limits=limits, timeout=timeout, max_tokens=max_tokens)
    return ModelRequestEvent(
        request=ModelRequest(
            call_id=ModelCallId("m"), mode=GenerationMode.COMPLETE, input=request, options=options
        )
    )


def called(arguments: str) -> EventKind:
    return ToolCallEvent(call=ToolCall(id=ToolCallId("c"), name="look", arguments=Json(arguments)))


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


CALL: Final = "/kind/result/outcome/response/tool_calls/0"
NO_MESSAGES: Final = GenerationRequest(messages=())

UNREADABLE: list[tuple[EventKind, DecodeReason, str]] = [
    (UserMessageEvent(text="a\ud800"), R.LONE_SURROGATE, "/kind/text"),
    (
        StageProgress(stage="s", status=StageStatus.FAILED, message="\udfff"),
        R.LONE_SURROGATE,
        "/kind/message",
    ),
    (proposed("{}", " "), R.OUT_OF_RANGE, f"{CALL}/id"),
    (proposed("{"), R.INVALID_JSON, f"{CALL}/arguments"),
    (proposed('{"a": 1}'), R.INVALID_JSON, f"{CALL}/arguments"),
    (proposed('{"a":1,"a":1}'), R.DUPLICATE_KEY, f"{CALL}/arguments/a"),
    (proposed('{"a":"\ud800"}'), R.LONE_SURROGATE, f"{CALL}/arguments/a"),
    (proposed('{"a":"\\ud800"}'), R.LONE_SURROGATE, f"{CALL}/arguments/a"),
    (proposed('{"a":NaN}'), R.NON_FINITE, f"{CALL}/arguments/a"),
    (proposed("9" * 4301), R.INTEGER_TOO_LONG, f"{CALL}/arguments"),
    (proposed(nested(122)), R.TOO_DEEP, f"{CALL}/arguments" + "/0" * 121),
    (called(nested(126)), R.TOO_DEEP, "/kind/call/arguments" + "/0" * 125),
    (called(nested(129)), R.TOO_DEEP, "/kind/call/arguments" + "/0" * 128),
    (
        answered(GenerationResponse(usage=TokenUsage(input_tokens=2**64))),
        R.OUT_OF_RANGE,
        "/kind/result/outcome/response/usage/input_tokens",
    ),
    (
        answered(GenerationResponse(usage=TokenUsage(output_tokens=-1))),
        R.OUT_OF_RANGE,
        "/kind/result/outcome/response/usage/output_tokens",
    ),
    (
        answered(GenerationResponse(usage=TokenUsage(total_tokens=True))),
        R.WRONG_TYPE,
        "/kind/result/outcome/response/usage/total_tokens",
    ),
    (asked(NO_MESSAGES, Timeout(secs=0, nanos=10**9)), R.OUT_OF_RANGE, "/kind/request/options/timeout/nanos"),
    (asked(NO_MESSAGES, max_tokens=2**32), R.OUT_OF_RANGE, "/kind/request/options/max_tokens"),
    (
        asked(NO_MESSAGES, max_tokens=10**5000),
        R.INTEGER_TOO_LONG,
        "/kind/request/options/max_tokens",
    ),
    (
        asked(GenerationRequest(messages=(ToolMessage(call_id=ProviderCallId(""), content=""),))),
        R.OUT_OF_RANGE,
        "/kind/request/input/messages/0/call_id",
    ),
    (
        asked(GenerationRequest(messages=(), constraint=JsonSchemaConstraint(name="n", schema=Json("{")))),
        R.INVALID_JSON,
        "/kind/request/input/constraint/schema",
    ),
    (TaskRunReported(report=Json("{}")), R.MISSING_KEY, "/kind/report/version"),
    (PlanReady(plan=Json("nul")), R.INVALID_JSON, "/kind/plan"),
    (DoneEvent(status=DoneStatus.COMPLETED, artifact=Json(" 1")), R.INVALID_JSON, "/kind/artifact"),
    (CustomEvent(plugin="\ud800", kind="", payload=Json("1")), R.LONE_SURROGATE, "/kind/plugin"),
]


@pytest.mark.parametrize(("kind", "reason", "path"), UNREADABLE)
def test_what_no_reader_takes_is_told_with_its_place(
    kind: EventKind, reason: DecodeReason, path: str
) -> None:
    found = unreadable(event(kind))

    assert isinstance(found, DecodeFailed)
    assert (reason, path, None, None) == (found.reason, found.path, found.line, found.byte_offset)


READABLE: list[EventKind] = [
    UserMessageEvent(text="🙂\x00\u2028"),
    proposed("{}"),
    proposed(nested(121)),
    called(nested(125)),
    called("9" * 4300),
    called('{"a":1e999999}'.replace("1e999999", "1.5")),
    answered(GenerationResponse(content="", usage=TokenUsage(input_tokens=2**64 - 1))),
    asked(GenerationRequest(messages=(AssistantMessage(content=None),)), max_tokens=2**32 - 1),
    TaskRunReported(report=Json('{"version":1}')),
    DoneEvent(status=DoneStatus.CANCELLED),
]


@pytest.mark.parametrize("kind", READABLE)
def test_what_is_read_back_is_equal(kind: EventKind) -> None:
    whole = event(kind)

    assert unreadable(whole) is None
    assert (whole,) == decode_log(encode_event(whole).unwrap()).unwrap().events


def test_an_artifact_of_null_is_read_back_as_none() -> None:
    """The one thing that is written and not read back equal (W1)."""
    done = event(DoneEvent(status=DoneStatus.COMPLETED, artifact=Json("null")))
    (back,) = decode_log(encode_event(done).unwrap()).unwrap().events

    assert unreadable(done) is None
    assert event(DoneEvent(status=DoneStatus.COMPLETED)) == back


GOOD: Final = event(UserMessageEvent(text="hi"))


@pytest.mark.parametrize(
    ("envelope", "reason", "path"),
    [
        (attrs.evolve(GOOD, event_id=EventId("\ud800")), R.LONE_SURROGATE, "/event_id"),
        (attrs.evolve(GOOD, session_id=SessionId("\ud800")), R.LONE_SURROGATE, "/session_id"),
        (attrs.evolve(GOOD, turn_id=TurnId("\ud800")), R.LONE_SURROGATE, "/turn_id"),
        (attrs.evolve(GOOD, generation_id=GenerationId("\ud800")), R.LONE_SURROGATE, "/generation_id"),
        (attrs.evolve(GOOD, message_id=MessageId("\ud800")), R.LONE_SURROGATE, "/message_id"),
        (attrs.evolve(GOOD, seq=-1), R.OUT_OF_RANGE, "/seq"),
        (attrs.evolve(GOOD, seq=2**64), R.OUT_OF_RANGE, "/seq"),
    ],
)
@pytest.mark.parametrize("kind", [GOOD.kind, called("{}")])
def test_the_envelope_is_looked_at_too(
    kind: EventKind, envelope: SessionEvent, reason: DecodeReason, path: str
) -> None:
    found = unreadable(attrs.evolve(envelope, kind=kind))

    assert isinstance(found, DecodeFailed)
    assert (reason, path) == (found.reason, found.path)


@pytest.mark.parametrize("limit", [640, 0])
def test_a_long_integer_is_read_back_whatever_the_interpreter_says(limit: int) -> None:
    with integer_digits(limit):
        assert unreadable(event(called("9" * 4300))) is None
        assert unreadable(event(called("9" * 4301))) is not None
