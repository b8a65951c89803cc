"""Session events as JSON Lines (W1 to W8). E numbers are those of the acceptance cases."""

import inspect
import sys
from typing import Final

import attrs
import pytest

from jingwei.codec import DecodeFailed, DecodeReason, EncodeFailed, EncodeReason, RecordProblem
from jingwei.events.records import (
    ActionContext,
    AssistantReply,
    DecisionContext,
    DoneEvent,
    DoneStatus,
    EventKind,
    GenerationLimits,
    GenerationMode,
    GenerationPartial,
    ModelFailed,
    ModelFailureCategory,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    ModelSucceeded,
    OperationContract,
    OperationEffect,
    OperationRetry,
    PartialToolCall,
    RetryReview,
    ReviewOutcome,
    SessionEvent,
    StageProgress,
    StageStatus,
    Timeout,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolFailureCategory,
    ToolOperation,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.wire import (
    decode_events,
    decode_log,
    decode_within,
    encode_event,
    encode_log,
    event_bytes,
    event_text,
    event_value,
    log_bytes,
    outcome_text,
    read_event,
    session_log,
)
from jingwei.ids import EventId, GenerationId, MessageId, ModelCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import Json
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.records import (
    GenerationRequest,
    GenerationResponse,
    UserMessage,
)
from jingwei.outcome import Failure, Success
from tests.logtable import events_of, log_of
from tests.test_jsontext import integer_digits

LONE = EncodeReason.LONE_SURROGATE

HEAD: Final = '"event_id":"evt_1","session_id":"sess_1","turn_id":"turn_1"'


def event(kind: EventKind) -> SessionEvent:
    return SessionEvent(
        event_id=EventId("evt_1"),
        session_id=SessionId("sess_1"),
        turn_id=TurnId("turn_1"),
        seq=0,
        kind=kind,
    )


def line(kind: str) -> str:
    return f'{{{HEAD},"seq":0,"kind":{kind}}}'


def model_request(options: ModelRequestOptions) -> EventKind:
    return ModelRequestEvent(
        request=ModelRequest(
            call_id=ModelCallId("model-fixed"),
            mode=GenerationMode.COMPLETE,
            input=GenerationRequest(messages=(UserMessage(content="你好"),)),
            options=options,
        )
    )


LIMITS: Final = GenerationLimits(max_output_bytes=1024, max_tool_calls=2)
INPUT: Final = '{"messages":[{"role":"user","content":"你好"}],"constraint":{"mode":"text"}}'
LIMITS_TEXT: Final = '"limits":{"max_output_bytes":1024,"max_tool_calls":2}'

KINDS: Final[dict[str, tuple[EventKind, str]]] = {
    "E01 done": (DoneEvent(status=DoneStatus.COMPLETED), '{"type":"done","status":"completed"}'),
    "done with an artifact": (
        DoneEvent(status=DoneStatus.WAITING_FOR_INPUT, artifact=Json('{"question":"?"}')),
        '{"type":"done","status":"waiting_for_input","artifact":{"question":"?"}}',
    ),
    "E03a a result": (
        ToolResultEvent(
            result=ToolResult(
                call_id=ToolCallId("call_success"), outcome=ToolSucceeded(output="indexed 3 files")
            )
        ),
        '{"type":"tool_result","result":{"call_id":"call_success",'
        '"outcome":{"status":"succeeded","output":"indexed 3 files"}}}',
    ),
    "E03b a failed call": (
        ToolResultEvent(
            result=ToolResult(
                call_id=ToolCallId("call_failure"),
                outcome=ToolFailed(
                    category=ToolFailureCategory.APPROVAL_DENIED,
                    code="approval_denied",
                    message="no",
                    retryable=False,
                ),
            )
        ),
        '{"type":"tool_result","result":{"call_id":"call_failure","outcome":{"status":"failed",'
        '"category":"approval_denied","code":"approval_denied","message":"no","retryable":false}}}',
    ),
    "E04a a model request": (
        model_request(ModelRequestOptions(max_tokens=7, timeout=Timeout(secs=3, nanos=17), limits=LIMITS)),
        f'{{"type":"model_request","request":{{"version":1,"call_id":"model-fixed","mode":"complete",'
        f'"input":{INPUT},"options":{{"max_tokens":7,"timeout":{{"secs":3,"nanos":17}},{LIMITS_TEXT}}}}}}}',
    ),
    "a model request with a context and without bounds": (
        model_request(ModelRequestOptions(context=DecisionContext(task_id="t", step_id="s"), limits=LIMITS)),
        f'{{"type":"model_request","request":{{"version":1,"call_id":"model-fixed","mode":"complete",'
        f'"input":{INPUT},"options":{{"context":{{"task_id":"t","step_id":"s"}},"max_tokens":null,'
        f'"timeout":null,{LIMITS_TEXT}}}}}}}',
    ),
    "E05a a model result": (
        ModelResultEvent(
            result=ModelResult(
                call_id=ModelCallId("k"), outcome=ModelSucceeded(response=GenerationResponse(content="x"))
            )
        ),
        '{"type":"model_result","result":{"version":1,"call_id":"k","outcome":{"status":"succeeded",'
        '"response":{"content":"x","tool_calls":[],"incomplete_tool_calls":[],'
        '"finish_reason":{"kind":"unknown"},"usage":{}}}}}',
    ),
    "E05b a failed model call": (
        ModelResultEvent(
            result=ModelResult(
                call_id=ModelCallId("k"),
                outcome=ModelFailed(
                    category=ModelFailureCategory.CANCELLED,
                    code="cancelled",
                    message="m",
                    retryable=True,
                    upstream_status=65535,
                    partial=GenerationPartial(
                        content="par",
                        tool_calls=(PartialToolCall(index=1, id="", name="n", arguments='{"a'),),
                    ),
                ),
            )
        ),
        '{"type":"model_result","result":{"version":1,"call_id":"k","outcome":{"status":"failed",'
        '"category":"cancelled","code":"cancelled","message":"m","retryable":true,"upstream_status":65535,'
        '"partial":{"content":"par","tool_calls":[{"index":1,"id":"","name":"n","arguments":"{\\"a"}]}}}}',
    ),
    "a failed model call without anything": (
        ModelResultEvent(
            result=ModelResult(
                call_id=ModelCallId("k"),
                outcome=ModelFailed(
                    category=ModelFailureCategory.BUDGET, code="", message="", retryable=False
                ),
            )
        ),
        '{"type":"model_result","result":{"version":1,"call_id":"k","outcome":{"status":"failed",'
        '"category":"budget","code":"","message":"","retryable":false,"upstream_status":null,'
        '"partial":{"content":null,"tool_calls":[]}}}}',
    ),
    "E07 a tool call": (
        ToolCallEvent(call=ToolCall(id=ToolCallId("c"), name="n", arguments=Json('{"z":1,"a":null}'))),
        '{"type":"tool_call","call":{"id":"c","name":"n","arguments":{"z":1,"a":null}}}',
    ),
    "a tool call with its whole origin": (
        ToolCallEvent(
            call=ToolCall(
                operation=ToolOperation(
                    task_id="t",
                    key="k",
                    contract=OperationContract(effect=OperationEffect.NON_IDEMPOTENT, revision="r"),
                    retry=OperationRetry(
                        call_id=ToolCallId("b"),
                        event_id=EventId("e"),
                        review=RetryReview(actor="a", evidence="v", outcome=ReviewOutcome.UNCERTAIN),
                    ),
                ),
                action=ActionContext(
                    decision=DecisionContext(task_id="t", step_id="s"),
                    action_index=2**32 - 1,
                    provider_call_id="p",
                ),
                id=ToolCallId("c"),
                name="n",
                arguments=Json("[]"),
            )
        ),
        '{"type":"tool_call","call":{"operation":{"task_id":"t","key":"k",'
        '"contract":{"effect":"non_idempotent","revision":"r"},"retry":{"call_id":"b","event_id":"e",'
        '"review":{"actor":"a","evidence":"v","outcome":"uncertain"}}},'
        '"action":{"decision":{"task_id":"t","step_id":"s"},"action_index":4294967295,'
        '"provider_call_id":"p"},"id":"c","name":"n","arguments":[]}}',
    ),
    "a tool call with the least of an origin": (
        ToolCallEvent(
            call=ToolCall(
                operation=ToolOperation(
                    task_id="t",
                    key="k",
                    contract=OperationContract(effect=OperationEffect.UNKNOWN, revision="unspecified"),
                ),
                action=ActionContext(decision=DecisionContext(task_id="t", step_id="s"), action_index=0),
                id=ToolCallId("c"),
                name="n",
                arguments=Json("null"),
            )
        ),
        '{"type":"tool_call","call":{"operation":{"task_id":"t","key":"k",'
        '"contract":{"effect":"unknown","revision":"unspecified"},"retry":null},'
        '"action":{"decision":{"task_id":"t","step_id":"s"},"action_index":0,"provider_call_id":null},'
        '"id":"c","name":"n","arguments":null}}',
    ),
    "a stage with a message": (
        StageProgress(stage="s", status=StageStatus.FAILED, message=""),
        '{"type":"stage_progress","stage":"s","status":"failed","message":""}',
    ),
    "a reply": (AssistantReply(text=""), '{"type":"assistant_message","version":1,"text":""}'),
}


@pytest.mark.parametrize(("kind", "text"), KINDS.values(), ids=KINDS)
def test_an_event_has_one_form(kind: EventKind, text: str) -> None:
    whole = line(text)

    assert whole == event_text(event(kind))
    assert len(whole.encode()) == event_bytes(event(kind))
    assert Success((whole + "\n").encode()) == encode_event(event(kind))
    assert event(kind) == read_event(event_value(event(kind)))
    assert Success(session_log((event(kind),))) == decode_log((whole + "\n").encode())


@pytest.mark.parametrize(("kind", "text"), KINDS.values(), ids=KINDS)
def test_an_event_written_by_another_hand_reads_as_the_same(kind: EventKind, text: str) -> None:
    """Spaces, a carriage return, an unknown key on the envelope: other bytes, the same log (W1)."""
    loose = line(text).replace("你好", "\\u4f60\\u597d").replace('"seq":0', '"trace": [1], "seq": 0') + "\r\n"

    assert Success(session_log((event(kind),))) == decode_log(loose.encode())


def test_every_verb_of_the_tables_round_trips_and_its_type_is_unique() -> None:
    log = log_of(
        "user; delta; ask; answer model-call x t; call; result; call d; failed d; unanswered; reply; report;"
        "stage; mode; plan; custom; done; error"
    )
    data = encode_log(log.events).unwrap()

    assert Success(log) == decode_log(data)
    assert len(data) == log_bytes(log) + len(log.events)


def test_e01_the_envelope_stands_in_order_and_without_what_it_lacks() -> None:
    full = attrs.evolve(
        event(UserMessageEvent(text="x")),
        generation_id=GenerationId("g"),
        message_id=MessageId(""),
        seq=2**64 - 1,
    )
    expected = (
        f'{{{HEAD},"generation_id":"g","message_id":"","seq":18446744073709551615,'
        '"kind":{"type":"user_message","text":"x"}}'
    )

    assert expected == event_text(full)
    assert full == read_event(event_value(full))


@pytest.mark.parametrize(
    "text",
    [
        f'{{{HEAD},"generation_id":null,"message_id":null,"seq":0,"kind":{{"type":"done","status":"completed"}}}}',
        f'{{{HEAD},"seq":0,"kind":{{"type":"done","status":"completed","artifact":null}}}}',
        f'{{{HEAD},"seq":0,"kind":{{"type":"done","status":"completed","more":{{}}}}}}',
        f'{{{HEAD},"seq":0,"version":2,"kind":{{"type":"done","status":"completed"}}}}',
        f'{{"kind":{{"status":"completed","type":"done"}},"seq":0,{HEAD}}}',
    ],
)
def test_nulls_unknown_keys_and_another_order_read_as_the_plain_event(text: str) -> None:
    """The size is that of the canonical form, not of the line (P2)."""
    expected = session_log((event(DoneEvent(status=DoneStatus.COMPLETED)),))

    assert Success(expected) == decode_log((text + "\n").encode())


def test_a_null_artifact_in_code_is_not_an_absent_one_but_reads_as_absent() -> None:
    """W1 and W7 meet here: `artifact: null` on the wire is none."""
    written = event_text(event(DoneEvent(status=DoneStatus.COMPLETED, artifact=Json("[null]"))))

    assert written.endswith('"artifact":[null]}}')


# --- refusals -----------------------------------------------------------------------------------

ASK = (
    '{"type":"model_request","request":{"version":1,"call_id":"k","mode":"complete",'
    '"input":{"messages":[]},"options":{"limits":{"max_output_bytes":1,"max_tool_calls":1}}}}'
)
ANSWER = (
    '{"type":"model_result","result":{"version":1,"call_id":"k","outcome":{"status":"failed","category":"timeout",'
    '"code":"","message":"","retryable":false,"upstream_status":null,"partial":{"tool_calls":[]}}}}'
)
CALL = (
    '{"type":"tool_call","call":{"operation":{"task_id":"t","key":"k","contract":{"effect":"unknown",'
    '"revision":"r"},"retry":null},"action":{"decision":{"task_id":"t","step_id":"s"},"action_index":0},'
    '"id":"c","name":"n","arguments":{}}}'
)
RESULT = (
    '{"type":"tool_result","result":{"call_id":"c","outcome":{"status":"failed","category":"denied",'
    '"code":"","message":"","retryable":false}}}'
)
RESPONSE = (
    '{"type":"model_result","result":{"version":1,"call_id":"k",'
    '"outcome":{"status":"succeeded","response":{"content":"x"}}}}'
)
REPORT = '{"type":"task_run_report","report":{"version":1,"odd":[1]}}'
REPLY = '{"type":"assistant_message","version":1,"text":"x"}'
STAGE = '{"type":"stage_progress","stage":"s","status":"started"}'
ERROR = '{"type":"error","code":"c","message":"m","retryable":true}'
DONE = '{"type":"done","status":"completed"}'


@pytest.mark.parametrize("kind", [ASK, ANSWER, CALL, RESULT, RESPONSE, REPORT, REPLY, STAGE, ERROR, DONE])
def test_the_kinds_that_the_refusals_start_from_are_good(kind: str) -> None:
    assert isinstance(decode_log((line(kind) + "\n").encode()), Success)


# Kind, what is replaced in it, by what; reason and path.
KIND_REFUSALS = [
    (DONE, '"done"', '"finished"', "unknown_tag", "/kind/type"),
    (DONE, '"type":"done",', "", "missing_key", "/kind/type"),
    (DONE, '"completed"', '"Completed"', "unknown_enum", "/kind/status"),
    (DONE, '"completed"', "null", "wrong_type", "/kind/status"),
    (STAGE, '"started"', '"done"', "unknown_enum", "/kind/status"),
    (ERROR, "true", '"true"', "wrong_type", "/kind/retryable"),
    (ERROR, "true", "1", "wrong_type", "/kind/retryable"),
    # Versions: E04b-d, E05c, E06b-e and the reply (M08).
    (ASK, '"version":1,', "", "missing_key", "/kind/request/version"),
    (ASK, '"version":1', '"version":0', "unsupported_version", "/kind/request/version"),
    (ASK, '"version":1', '"version":2', "unsupported_version", "/kind/request/version"),
    (ANSWER, '"version":1,', "", "missing_key", "/kind/result/version"),
    (ANSWER, '"version":1', '"version":true', "wrong_type", "/kind/result/version"),
    (REPORT, '"version":1,', "", "missing_key", "/kind/report/version"),
    (REPORT, '"version":1', '"version":0', "unsupported_version", "/kind/report/version"),
    (REPORT, '"version":1', '"version":2', "unsupported_version", "/kind/report/version"),
    (REPORT, '"version":1', '"version":"1"', "wrong_type", "/kind/report/version"),
    (REPORT, '"version":1', '"version":1.0', "wrong_type", "/kind/report/version"),
    (REPORT, '{"version":1,"odd":[1]}', "[1]", "wrong_type", "/kind/report"),
    (REPLY, '"version":1,', "", "missing_key", "/kind/version"),
    (REPLY, '"version":1', '"version":2', "unsupported_version", "/kind/version"),
    (REPLY, '"version":1', '"version":null', "wrong_type", "/kind/version"),
    (REPLY, '"text":"x"', '"text":7', "wrong_type", "/kind/text"),
    # E02 and the other bounded numbers.
    (
        ASK,
        '"limits"',
        '"timeout":{"secs":1,"nanos":1000000000},"limits"',
        "out_of_range",
        "/kind/request/options/timeout/nanos",
    ),
    (ASK, '"limits"', '"max_tokens":4294967296,"limits"', "out_of_range", "/kind/request/options/max_tokens"),
    (ASK, '"limits"', '"max_tokens":-1,"limits"', "out_of_range", "/kind/request/options/max_tokens"),
    (ANSWER, ":null", ":65536", "out_of_range", "/kind/result/outcome/upstream_status"),
    (CALL, '"action_index":0', '"action_index":4294967296', "out_of_range", "/kind/call/action/action_index"),
    # Missing and mistyped parts of models.
    (ASK, '"complete"', '"whole"', "unknown_enum", "/kind/request/mode"),
    (ASK, '"max_output_bytes":1,', "", "missing_key", "/kind/request/options/limits/max_output_bytes"),
    (
        ASK,
        '"messages":[]',
        '"messages":[{"role":"tool"}]',
        "missing_key",
        "/kind/request/input/messages/0/call_id",
    ),
    (ANSWER, '"timeout"', '"denied"', "unknown_enum", "/kind/result/outcome/category"),
    (ANSWER, '"failed"', '"partial"', "unknown_tag", "/kind/result/outcome/status"),
    (
        ANSWER,
        '"tool_calls":[]',
        '"tool_calls":[{}]',
        "missing_key",
        "/kind/result/outcome/partial/tool_calls/0/index",
    ),
    (RESULT, '"denied"', '"DENIED"', "unknown_enum", "/kind/result/outcome/category"),
    (RESULT, '"failed"', '"succeeded"', "missing_key", "/kind/result/outcome/output"),
    (CALL, '"arguments":{}', '"args":{}', "missing_key", "/kind/call/arguments"),
    (CALL, '"effect":"unknown"', '"effect":"none"', "unknown_enum", "/kind/call/operation/contract/effect"),
    # Strict rooms: an unknown key is refused (W1).
    (ASK, '"messages":[]', '"messages":[],"stream":true', "unknown_key", "/kind/request/input/stream"),
    (
        ASK,
        '"options":{',
        '"options":{"context":{"task_id":"t","step_id":"s","x":1},',
        "unknown_key",
        "/kind/request/options/context/x",
    ),
    (RESPONSE, '"content":"x"', '"content":"x","id":1', "unknown_key", "/kind/result/outcome/response/id"),
    (CALL, '"action_index":0', '"action_index":0,"x":1', "unknown_key", "/kind/call/action/x"),
    (CALL, '"step_id":"s"', '"step_id":"s","x":1', "unknown_key", "/kind/call/action/decision/x"),
    (CALL, '"retry":null', '"x":null', "unknown_key", "/kind/call/operation/x"),
    (CALL, '"revision":"r"', '"revision":"r","x":1', "unknown_key", "/kind/call/operation/contract/x"),
    (
        CALL,
        '"retry":null',
        '"retry":{"call_id":"b","event_id":"e","x":1}',
        "unknown_key",
        "/kind/call/operation/retry/x",
    ),
    (
        CALL,
        '"retry":null',
        '"retry":{"call_id":"b","event_id":"e","review":{"actor":"a","evidence":"v","outcome":"completed","x":1}}',
        "unknown_key",
        "/kind/call/operation/retry/review/x",
    ),
    # Duplicate keys anywhere.
    (REPORT, '"odd":[1]', '"odd":1,"odd":1', "duplicate_key", "/kind/report/odd"),
    (CALL, '"arguments":{}', '"arguments":{"a":{"b":1,"b":1}}', "duplicate_key", "/kind/call/arguments/a/b"),
]


@pytest.mark.parametrize(
    ("kind", "old", "new", "reason", "path"),
    KIND_REFUSALS,
    ids=[f"{row[4]} {row[3]} {row[2][:40]}" for row in KIND_REFUSALS],
)
def test_a_wrong_kind_is_refused_with_its_path(kind: str, old: str, new: str, reason: str, path: str) -> None:
    assert 1 == kind.count(old)

    found = decode_log((line(DONE) + "\n" + line(kind.replace(old, new)) + "\n").encode())

    assert isinstance(found, Failure)
    assert (DecodeReason(reason), 2, len(line(DONE)) + 1, path) == (
        found.failure().reason,
        found.failure().line,
        found.failure().byte_offset,
        found.failure().path,
    )


# Lenient rooms: an unknown key is ignored (W1).
TOLERATED = [
    (DONE, '"completed"', '"completed","x":1'),
    (ASK, '"mode"', '"x":1,"mode"'),
    (ASK, '"options":{', '"options":{"x":1,'),
    (ASK, '"limits":{', '"limits":{"x":1,'),
    (ANSWER, '"code"', '"x":1,"code"'),
    (ANSWER, '"partial":{', '"partial":{"x":1,'),
    (CALL, '"id":"c"', '"id":"c","x":1'),
    (RESULT, '"call_id"', '"x":1,"call_id"'),
    (RESULT, '"code"', '"x":1,"code"'),
]


@pytest.mark.parametrize(("kind", "old", "new"), TOLERATED)
def test_an_unknown_key_is_ignored_where_the_rule_says_so(kind: str, old: str, new: str) -> None:
    assert 1 == kind.count(old)

    plain, more = (decode_log((line(text) + "\n").encode()) for text in (kind, kind.replace(old, new)))

    assert isinstance(plain, Success)
    assert plain == more


def test_an_unknown_key_in_the_place_of_an_absent_one_is_still_unknown() -> None:
    """A message with as many keys as its record has, one of them unknown: otherwise canonical (W1)."""
    asked = KINDS["E04a a model request"][1].replace(
        '{"role":"user","content":"你好"}', '{"role":"assistant","content":"x","name":"y"}'
    )
    called = KINDS["a tool call with the least of an origin"][1].replace('"retry":null', '"retries":null')
    found = [decode_log((line(kind) + "\n").encode()) for kind in (asked, called)]

    assert [
        (DecodeReason.UNKNOWN_KEY, "/kind/request/input/messages/0/name"),
        (DecodeReason.UNKNOWN_KEY, "/kind/call/operation/retries"),
    ] == [(answer.failure().reason, answer.failure().path) for answer in found]


ENVELOPES = [
    ("[]", "not_an_object", ""),
    ('"x"', "not_an_object", ""),
    ("{}", "missing_key", "/event_id"),
    (f'{{{HEAD},"kind":{DONE}}}', "missing_key", "/seq"),
    (f'{{{HEAD},"seq":0}}', "missing_key", "/kind"),
    (f'{{{HEAD},"seq":-1,"kind":{DONE}}}', "out_of_range", "/seq"),
    (f'{{{HEAD},"seq":18446744073709551616,"kind":{DONE}}}', "out_of_range", "/seq"),
    (f'{{{HEAD},"seq":0.0,"kind":{DONE}}}', "wrong_type", "/seq"),
    (f'{{{HEAD},"seq":"0","kind":{DONE}}}', "wrong_type", "/seq"),
    (f'{{{HEAD},"seq":0,"kind":"done"}}', "wrong_type", "/kind"),
    (f'{{{HEAD},"seq":0,"kind":[]}}', "wrong_type", "/kind"),
    (f'{{{HEAD},"message_id":1,"seq":0,"kind":{DONE}}}', "wrong_type", "/message_id"),
    (f'{{{HEAD},"seq":true,"kind":{DONE.replace("done", "x")}}}', "wrong_type", "/seq"),
    (f'{{"kind":{DONE.replace("done", "x")},{HEAD},"seq":true}}', "unknown_tag", "/kind/type"),
    (
        f'{{{HEAD.replace("sess_1", "a" + chr(92) + "ud800")},"seq":0,"kind":{DONE}}}',
        "lone_surrogate",
        "/session_id",
    ),
    (f'{{{HEAD},"seq":0,"x":NaN,"kind":{DONE}}}', "non_finite", "/x"),
    (f'{{{HEAD},"seq":0,"x":1e400,"kind":{DONE}}}', "non_finite", "/x"),
    (f'{{{HEAD},"seq":0,"seq":0,"kind":{DONE}}}', "duplicate_key", "/seq"),
    (f'{{{HEAD},"seq":0,"x":{"9" * 4301},"kind":{DONE}}}', "integer_too_long", "/x"),
    (f'{{{HEAD},"seq":0,"x":{"[" * 128}{"]" * 128},"kind":{DONE}}}', "too_deep", "/x" + "/0" * 127),
    (f'{{{HEAD},"seq":0,"kind":{DONE}', "invalid_json", ""),
    (f'{{{HEAD},"seq":0,"kind":{DONE}}} x', "invalid_json", ""),
]


@pytest.mark.parametrize(
    ("text", "reason", "path"), ENVELOPES, ids=[f"{r} {p[:20]}" for _, r, p in ENVELOPES]
)
def test_a_wrong_envelope_is_refused_with_its_path(text: str, reason: str, path: str) -> None:
    found = decode_log((text + "\n").encode())

    assert isinstance(found, Failure)
    assert (DecodeReason(reason), 1, 0, path) == (
        found.failure().reason,
        found.failure().line,
        found.failure().byte_offset,
        found.failure().path,
    )


@pytest.mark.parametrize("depth", [126, 127])
def test_the_event_object_is_depth_one(depth: int) -> None:
    """A payload inside `kind` stands at depth 3 (W6): 126 levels of it are the last that pass."""
    payload = "[" * depth + "]" * depth
    text = line(f'{{"type":"plan_ready","plan":{payload}}}') + "\n"
    found = decode_log(text.encode())

    if depth == 126:
        assert isinstance(found, Success)
        assert text.encode() == encode_log(found.unwrap().events).unwrap()
    else:
        assert isinstance(found, Failure)
        assert (DecodeReason.TOO_DEEP, "/kind/plan" + "/0" * 126) == (
            found.failure().reason,
            found.failure().path,
        )


def test_the_whole_record_of_a_refusal() -> None:
    good = line(DONE) + "\n"
    data = (good + line('{"type":"finished"}') + "\n").encode()
    expected = DecodeFailed(
        reason=DecodeReason.UNKNOWN_TAG,
        line=2,
        byte_offset=len(good),
        path="/kind/type",
        expected="user_message, assistant_delta, assistant_message, model_request, model_result, tool_call, "
        "tool_result, task_run_report, stage_progress, mode, plan_ready, done, error, custom",
        actual='"finished"',
    )

    assert Failure(expected) == decode_log(data)


@pytest.mark.parametrize(
    ("tail", "reason", "number", "whole"),
    [
        ('{"event', "torn_last_line", 2, True),
        (line(DONE), "torn_last_line", 2, True),
        ("\n", "blank_line", 2, False),
        (" \t\r\n", "blank_line", 2, False),
        ("\ufeff" + line(DONE) + "\n", "invalid_json", 2, False),
        ("\n{torn", "blank_line", 2, False),
    ],
)
def test_the_end_of_a_log(tail: str, reason: str, number: int, whole: bool) -> None:
    """A torn write is told with the length that is left when it is cut away."""
    good = line(DONE) + "\n"
    found = decode_log((good + tail).encode())

    assert isinstance(found, Failure)
    assert (DecodeReason(reason), number, len(good), len(good) if whole else None) == (
        found.failure().reason,
        found.failure().line,
        found.failure().byte_offset,
        found.failure().whole_bytes,
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xef\xbb\xbf" + line(DONE).encode() + b"\n", "bom"),
        (line(DONE).encode("utf-16") + b"\n", "invalid_utf8"),
        (b"\x00\n", "invalid_json"),
        (b"\n", "blank_line"),
        (b"\x80", "torn_last_line"),
    ],
)
def test_bytes_that_are_no_log(data: bytes, reason: str) -> None:
    found = decode_log(data)

    assert isinstance(found, Failure)
    assert DecodeReason(reason) is found.failure().reason


def test_an_empty_log_is_a_log() -> None:
    assert Success(session_log(())) == decode_log(b"")
    assert Success(b"") == encode_log(())


def test_line_separators_of_unicode_stand_inside_a_line() -> None:
    """U+2028 and U+0085 are text, not ends of lines."""
    log = log_of('user "a\u2028b\x85c\u2029d"; done')
    data = encode_log(log.events).unwrap()

    assert 2 == data.count(b"\n")
    assert Success(log) == decode_log(data)


def test_reading_event_by_event_goes_on_after_a_broken_line() -> None:
    first, last = events_of("user; done")
    broken = b'{"event_id":1}\n'
    good = encode_event(first).unwrap()
    data = good + broken + encode_event(last).unwrap() + b"torn"
    answers = list(decode_events([data[:7], data[7:90], data[90:]]))

    assert [Success, Failure, Success, Failure] == [type(answer) for answer in answers]
    assert [Success(first), Success(last)] == answers[::2]
    assert (2, len(good)) == (answers[1].failure().line, answers[1].failure().byte_offset)
    assert (4, len(data) - 4) == (answers[3].failure().line, answers[3].failure().whole_bytes)
    assert answers[1] == decode_log(data)


def test_nothing_is_read_after_a_byte_order_mark() -> None:
    data = b"\xef\xbb\xbf" + encode_log(events_of("user; done")).unwrap()

    assert [DecodeReason.BOM] == [answer.failure().reason for answer in decode_events([data])]


@pytest.mark.parametrize("limit", [640, 4300, 0])
def test_a_log_with_long_integers_round_trips_whatever_the_interpreter_says(limit: int) -> None:
    data = (line(f'{{"type":"plan_ready","plan":{"7" * 4300}}}') + "\n").encode()
    with integer_digits(limit):
        found = decode_log(data).unwrap()
        again = encode_log(found.events)
        too_long = decode_log(data.replace(b"777", b"7777", 1))

    assert Success(data) == again
    assert len(data) - 1 == log_bytes(found)
    assert isinstance(too_long, Failure)
    assert DecodeReason.INTEGER_TOO_LONG is too_long.failure().reason


def test_half_a_surrogate_pair_is_told_with_its_event() -> None:
    events = events_of('user; user "\\ud83d"')

    assert Failure(EncodeFailed(reason=LONE, index=1, actual="U+D83D")) == encode_log(events)
    assert Failure(EncodeFailed(reason=LONE, index=None, actual="U+D83D")) == encode_event(events[1])


def test_a_parsed_value_is_read_by_the_same_rules() -> None:
    expected = RecordProblem(
        reason=DecodeReason.MISSING_KEY, steps=("event_id",), expected="a key 'event_id'", actual="nothing"
    )
    found = read_event({})

    assert expected == found


def test_what_a_tool_message_says_of_an_outcome() -> None:
    failed = ToolFailed(category=ToolFailureCategory.TIMEOUT, code="c", message='say "x"\n', retryable=True)

    assert '{"status":"succeeded","output":"a\\"b"}' == outcome_text(ToolSucceeded(output='a"b'))
    assert (
        '{"status":"failed","category":"timeout","code":"c","message":"say \\"x\\"\\n","retryable":true}'
        == outcome_text(failed)
    )


class TestReadingWithinBounds:
    """`decode_within` gives up at the first event past a bound, and looks no further (P2)."""

    LOG = log_of('user; call a; result a; reply "a"; done')
    DATA = encode_log(LOG.events).unwrap()

    def test_bounds_that_are_met_exactly_are_kept(self) -> None:
        assert Success(self.LOG) == decode_within([self.DATA[:100], self.DATA[100:]], 5, 727)

    def test_the_first_event_too_many_ends_the_reading(self) -> None:
        expected = LimitExceeded(what=Bound.EVENTS, limit=2, actual=3)

        assert Failure(expected) == decode_within([self.DATA, b"no log at all"], 2, 727)

    def test_the_first_byte_too_many_ends_the_reading(self) -> None:
        expected = LimitExceeded(what=Bound.INPUT_BYTES, limit=460, actual=461)

        assert Failure(expected) == decode_within([self.DATA, b"torn"], 5, 460)

    def test_a_broken_line_before_the_bound_is_told_as_such(self) -> None:
        found = decode_within([b"[]\n", self.DATA], 1, 1)

        assert isinstance(found, Failure)
        assert isinstance(found.failure(), DecodeFailed)


@pytest.mark.parametrize("tag", ["[]", "{}", "5", "null", "true", '["done"]', '"nope"'])
@pytest.mark.parametrize(
    "kind",
    [
        '{"type":TAG}',
        '{"type":"tool_result","result":{"call_id":"c","outcome":{"status":TAG,"output":""}}}',
        '{"type":"model_result","result":{"version":1,"call_id":"c","outcome":{"status":TAG}}}',
        '{"type":"model_request","request":{"version":1,"call_id":"c","mode":"complete",'
        '"input":{"messages":[{"role":TAG}],"constraint":{"mode":"text"}},'
        '"options":{"max_tokens":null,"timeout":null,"limits":{"max_output_bytes":1,"max_tool_calls":1}}}}',
    ],
    ids=["type", "tool status", "model status", "role"],
)
def test_a_tag_of_any_type_is_a_failure_with_its_path(kind: str, tag: str) -> None:
    failed = decode_log((line(kind.replace("TAG", tag)) + "\n").encode()).failure()

    assert failed.reason in {DecodeReason.WRONG_TYPE, DecodeReason.UNKNOWN_TAG}
    assert (failed.path or "").rsplit("/", 1)[-1] in {"type", "status", "role"}


def test_a_caller_deep_in_its_stack_gets_its_events_all_the_same() -> None:
    """The fast door may run out of stack where the slow passes, which use none, do not."""
    data = (line('{"type":"plan_ready","plan":' + '{"a":' * 100 + "1" + "}" * 100 + "}") + "\n").encode()

    def deep(levels: int) -> bool:
        return deep(levels - 1) if levels else decode_log(data) == decode_log(data)

    room = sys.getrecursionlimit() - len(inspect.stack())
    assert all(deep(room - left) for left in range(90, 200, 10))
