"""Messages, requests and responses as JSON (M1, M2): what is written, and what is refused where."""

import json
import time

import pytest

from jingwei.codec import DecodeFailed, DecodeReason, EncodeFailed, EncodeReason
from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    AutoChoice,
    Finished,
    FinishedOtherwise,
    FinishKind,
    GenerationConstraint,
    GenerationRequest,
    GenerationResponse,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    NamedChoice,
    NativeToolsConstraint,
    RequiredChoice,
    SystemMessage,
    TextConstraint,
    TokenUsage,
    ToolCallFragment,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import (
    constraint_bytes,
    constraint_text,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    message_bytes,
    message_text,
    request_value,
)
from jingwei.outcome import Failure, Success

LONE = EncodeReason.LONE_SURROGATE

CALL = ModelToolCall(id=ProviderCallId("provider:调用-1"), name="lookup", arguments=Json('{"b":1,"a":[]}'))
CALL_TEXT = '{"id":"provider:调用-1","name":"lookup","arguments":{"b":1,"a":[]}}'

MESSAGES: list[tuple[ModelMessage, str]] = [
    (SystemMessage(content='be "brief"'), '{"role":"system","content":"be \\"brief\\""}'),
    (UserMessage(content="你好\n"), '{"role":"user","content":"你好\\n"}'),
    (AssistantMessage(content=""), '{"role":"assistant","content":""}'),
    (AssistantMessage(), '{"role":"assistant","content":null}'),
    (
        AssistantMessage(tool_calls=(CALL, CALL)),
        f'{{"role":"assistant","content":null,"tool_calls":[{CALL_TEXT},{CALL_TEXT}]}}',
    ),
    (
        AssistantMessage(content="x", tool_calls=(CALL,)),
        f'{{"role":"assistant","content":"x","tool_calls":[{CALL_TEXT}]}}',
    ),
    # S04
    (
        ToolMessage(call_id=ProviderCallId("a"), content="{}"),
        '{"role":"tool","call_id":"a","content":"{}"}',
    ),
]


@pytest.mark.parametrize(("message", "text"), MESSAGES, ids=[text for _, text in MESSAGES])
def test_a_message_has_one_form(message: ModelMessage, text: str) -> None:
    request = GenerationRequest(messages=(message,))
    whole = f'{{"messages":[{text}],"constraint":{{"mode":"text"}}}}'.encode()

    assert text == message_text(message)
    assert len(text.encode()) == message_bytes(message)
    assert Success(whole) == encode_request(request)
    assert whole.decode() == json.dumps(request_value(request), ensure_ascii=False, separators=(",", ":"))
    assert Success(request) == decode_request(whole)


TOOL = ToolDefinition(name="t", description="d", parameters=Json('{"type":"object"}'))
TOOL_TEXT = '{"name":"t","description":"d","parameters":{"type":"object"}}'

CONSTRAINTS: list[tuple[GenerationConstraint, str]] = [
    (TextConstraint(), '{"mode":"text"}'),
    (
        NativeToolsConstraint(tools=(TOOL,), choice=AutoChoice()),
        f'{{"mode":"native_tools","tools":[{TOOL_TEXT}],"choice":{{"kind":"auto"}}}}',
    ),
    (
        NativeToolsConstraint(tools=(), choice=RequiredChoice()),
        '{"mode":"native_tools","tools":[],"choice":{"kind":"required"}}',
    ),
    (
        NativeToolsConstraint(tools=(TOOL,), choice=NamedChoice(name="t")),
        f'{{"mode":"native_tools","tools":[{TOOL_TEXT}],"choice":{{"kind":"named","name":"t"}}}}',
    ),
    (
        JsonSchemaConstraint(name="answer", schema=Json("false")),
        '{"mode":"json_schema","name":"answer","schema":false}',
    ),
]


@pytest.mark.parametrize(("constraint", "text"), CONSTRAINTS, ids=[text for _, text in CONSTRAINTS])
def test_a_constraint_has_one_form(constraint: GenerationConstraint, text: str) -> None:
    whole = f'{{"messages":[],"constraint":{text}}}'.encode()

    assert text == constraint_text(constraint)
    assert len(text) == constraint_bytes(constraint)
    assert Success(GenerationRequest(messages=(), constraint=constraint)) == decode_request(whole)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"messages":[]}', GenerationRequest(messages=())),
        (
            '{"messages":[{"role":"assistant"}]}',
            GenerationRequest(messages=(AssistantMessage(),)),
        ),
        (
            '{"messages":[{"role":"assistant","content":null,"tool_calls":[]}]}',
            GenerationRequest(messages=(AssistantMessage(),)),
        ),
        (
            f'{{"messages":[],"constraint":{{"mode":"native_tools","tools":[{TOOL_TEXT}]}}}}',
            GenerationRequest(messages=(), constraint=NativeToolsConstraint(tools=(TOOL,))),
        ),
    ],
)
def test_what_has_a_default_may_be_left_out(text: str, expected: GenerationRequest) -> None:
    assert Success(expected) == decode_request(text.encode())


REFUSED = [
    # S01: a blank id of a call, on either side of the pair.
    ('{"role":"tool","call_id":"","content":"x"}', "out_of_range", "/messages/0/call_id"),
    ('{"role":"tool","call_id":" ","content":"x"}', "out_of_range", "/messages/0/call_id"),
    (
        '{"role":"assistant","tool_calls":[{"id":"\\n\\t","name":"x","arguments":{}}]}',
        "out_of_range",
        "/messages/0/tool_calls/0/id",
    ),
    # S02
    ('{"role":"system","content":"x","tool_calls":[]}', "unknown_key", "/messages/0/tool_calls"),
    ('{"role":"user","content":"x","call_id":"a"}', "unknown_key", "/messages/0/call_id"),
    ('{"role":"tool","content":"x"}', "missing_key", "/messages/0/call_id"),
    ('{"role":"developer","content":"x"}', "unknown_tag", "/messages/0/role"),
    ('{"role":"User","content":"x"}', "unknown_tag", "/messages/0/role"),
    ('{"content":"x"}', "missing_key", "/messages/0/role"),
    ('{"role":null,"content":"x"}', "wrong_type", "/messages/0/role"),
    ('{"role":"user"}', "missing_key", "/messages/0/content"),
    ('{"role":"user","content":null}', "wrong_type", "/messages/0/content"),
    ('{"role":"user","content":["x"]}', "wrong_type", "/messages/0/content"),
    ('{"role":"assistant","content":"x","name":"y"}', "unknown_key", "/messages/0/name"),
    (
        '{"role":"assistant","tool_calls":[{"id":"a","name":"x"}]}',
        "missing_key",
        "/messages/0/tool_calls/0/arguments",
    ),
    (
        '{"role":"assistant","tool_calls":[{"id":"a","name":"x","arguments":{},"type":"f"}]}',
        "unknown_key",
        "/messages/0/tool_calls/0/type",
    ),
    ('"user"', "wrong_type", "/messages/0"),
]


@pytest.mark.parametrize(("message", "reason", "path"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_wrong_message_is_refused_with_its_path(message: str, reason: str, path: str) -> None:
    found = decode_request(f'{{"messages":[{message}]}}'.encode())

    assert isinstance(found, Failure)
    assert (DecodeReason(reason), path) == (found.failure().reason, found.failure().path)


REFUSED_CONSTRAINTS = [
    ('{"mode":"json"}', "unknown_tag", "/constraint/mode"),
    ('{"mode":"text","schema":{}}', "unknown_key", "/constraint/schema"),
    ('{"mode":"json_schema","name":"x"}', "missing_key", "/constraint/schema"),
    ('{"mode":"native_tools","tools":{}}', "wrong_type", "/constraint/tools"),
    ('{"mode":"native_tools","tools":[],"choice":"auto"}', "wrong_type", "/constraint/choice"),
    (
        '{"mode":"native_tools","tools":[],"choice":{"kind":"named"}}',
        "missing_key",
        "/constraint/choice/name",
    ),
    (
        '{"mode":"native_tools","tools":[],"choice":{"kind":"auto","name":"x"}}',
        "unknown_key",
        "/constraint/choice/name",
    ),
    (
        '{"mode":"native_tools","tools":[{"name":"x","description":"d","parameters":{},"strict":true}]}',
        "unknown_key",
        "/constraint/tools/0/strict",
    ),
    ("null", "wrong_type", "/constraint"),
]


@pytest.mark.parametrize(
    ("constraint", "reason", "path"), REFUSED_CONSTRAINTS, ids=[row[0] for row in REFUSED_CONSTRAINTS]
)
def test_a_wrong_constraint_is_refused_with_its_path(constraint: str, reason: str, path: str) -> None:
    found = decode_request(f'{{"messages":[],"constraint":{constraint}}}'.encode())

    assert isinstance(found, Failure)
    assert (DecodeReason(reason), path) == (found.failure().reason, found.failure().path)


@pytest.mark.parametrize("data", [b"[]", b"5", b"null", b'"x"'])
def test_a_document_that_is_no_object_is_refused(data: bytes) -> None:
    for decode in (decode_request, decode_response):
        found = decode(data)

        assert isinstance(found, Failure)
        assert (DecodeReason.NOT_AN_OBJECT, "") == (found.failure().reason, found.failure().path)


def test_a_response_survives_the_wire() -> None:
    response = GenerationResponse(
        content="x",
        tool_calls=(CALL,),
        incomplete_tool_calls=(ToolCallFragment(index=2**32 - 1, id="", name="", arguments='{"a'),),
        finish_reason=FinishedOtherwise(code="odd"),
        usage=TokenUsage(input_tokens=0, total_tokens=2**64 - 1),
    )
    text = (
        f'{{"content":"x","tool_calls":[{CALL_TEXT}],'
        '"incomplete_tool_calls":[{"index":4294967295,"id":"","name":"","arguments":"{\\"a"}],'
        '"finish_reason":{"kind":"other","code":"odd"},'
        '"usage":{"input_tokens":0,"total_tokens":18446744073709551615}}'
    )

    assert Success(text.encode()) == encode_response(response)
    assert Success(response) == decode_response(text.encode())


@pytest.mark.parametrize("kind", FinishKind, ids=[kind.value for kind in FinishKind])
def test_each_finish_reason_has_one_spelling(kind: FinishKind) -> None:
    text = (
        '{"tool_calls":[],"incomplete_tool_calls":[],'
        f'"finish_reason":{{"kind":"{kind.value}"}},"usage":{{}}}}'
    )
    response = GenerationResponse(finish_reason=Finished(kind=kind))

    assert Success(text.encode()) == encode_response(response)
    assert Success(response) == decode_response(text.encode())


def test_s19_usage_is_never_invented() -> None:
    response = decode_response(b'{"content":"x","usage":{"input_tokens":0}}').unwrap()

    assert TokenUsage(input_tokens=0, output_tokens=None, total_tokens=None) == response.usage
    assert Finished(kind=FinishKind.UNKNOWN) == response.finish_reason
    assert () == response.tool_calls


@pytest.mark.parametrize(
    ("data", "reason", "path"),
    [
        ('{"finish_reason":{"kind":"stop","code":"x"}}', "unknown_key", "/finish_reason/code"),
        ('{"finish_reason":{"kind":"other"}}', "missing_key", "/finish_reason/code"),
        ('{"finish_reason":{"kind":"Stop"}}', "unknown_tag", "/finish_reason/kind"),
        ('{"usage":{"input_tokens":1.0}}', "wrong_type", "/usage/input_tokens"),
        ('{"usage":{"cached_tokens":1}}', "unknown_key", "/usage/cached_tokens"),
        (
            '{"incomplete_tool_calls":[{"index":4294967296,"id":"","name":"","arguments":""}]}',
            "out_of_range",
            "/incomplete_tool_calls/0/index",
        ),
    ],
)
def test_a_wrong_response_is_refused_with_its_path(data: str, reason: str, path: str) -> None:
    found = decode_response(data.encode())

    assert isinstance(found, Failure)
    assert (DecodeReason(reason), path) == (found.failure().reason, found.failure().path)


def test_a_request_with_half_a_surrogate_pair_cannot_be_sent() -> None:
    request = GenerationRequest(messages=(UserMessage(content="\ud800"),))
    response = GenerationResponse(content="\udfff")

    assert Failure(EncodeFailed(reason=LONE, index=None, actual="U+D800")) == encode_request(request)
    assert Failure(EncodeFailed(reason=LONE, index=None, actual="U+DFFF")) == encode_response(response)


def test_arguments_keep_order_size_and_precision() -> None:
    """W7, through the whole door: no float for an integer, no sorting."""
    arguments = '{"z":123456789012345678901234567890,"a":0.1,"m":-0.0,"é":1e+22}'
    data = (
        f'{{"messages":[{{"role":"assistant","content":null,"tool_calls":[{{"id":"a","name":"x",'
        f'"arguments":{arguments}}}]}}],"constraint":{{"mode":"text"}}}}'
    ).encode()

    assert Success(data) == encode_request(decode_request(data).unwrap())


def test_a_refusal_of_many_unknown_keys_is_not_quadratic() -> None:
    """200 kB with 20,000 of them: milliseconds each way, where a list a problem would take seconds."""
    keys = ",".join(f'"k{number}":1' for number in range(20_000))
    before = time.process_time()
    found = decode_request(f'{{"messages":[],{keys}}}'.encode())
    seconds = time.process_time() - before

    assert "/k0" == found.failure().path
    assert 1.5 > seconds


def test_a_refused_request_has_no_line() -> None:
    expected = DecodeFailed(
        reason=DecodeReason.MISSING_KEY, path="/messages", expected="a key 'messages'", actual="nothing"
    )

    assert Failure(expected) == decode_request(b"{}")
