"""One action as one JSON object: what is asked, and what comes out of an answer (T6)."""

import json
from typing import Any

import pytest

from jingwei.action.failures import (
    ArgumentsNoObject,
    BlankQuestion,
    BlankText,
    CutOff,
    HoldsFragments,
    InterpretFailure,
    InvalidArguments,
    InvalidSchema,
    MultipleActions,
    NoAction,
    NotAnAction,
    RepeatedKey,
    SchemaReason,
    SchemaViolation,
    UnknownFinish,
)
from jingwei.action.json_actions import INSTRUCTION, json_action, json_request
from jingwei.action.records import ASK_USER, JSON_ACTION, AskUser, CallTool, FinalAnswer, ProtocolRequest
from jingwei.action.schemas import CompiledSchema, compile_schema, violations_of
from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
from jingwei.messages.failures import ToolNotVisible
from jingwei.messages.records import (
    Finished,
    FinishKind,
    GenerationResponse,
    JsonSchemaConstraint,
    ModelToolCall,
    ToolCallFragment,
    ToolDefinition,
)

LOOKUP = ToolDefinition(
    name="lookup",
    description="Looks something up.",
    parameters=Json(
        '{"type":"object","properties":{"query":{"$ref":"#/$defs/q"}},"required":["query"],'
        '"additionalProperties":false,"$defs":{"q":{"type":"string","minLength":2}}}'
    ),
)
ANY = ToolDefinition(name="any", description="", parameters=Json("true"))
NONE = ToolDefinition(name="none", description="", parameters=Json("false"))
OWN = ToolDefinition(
    name="own",
    description="",
    parameters=Json(
        '{"$id":"https://host.test/own","properties":{"a":{"$ref":"#/$defs/q"}},"$defs":{"q":{"type":"null"}}}'
    ),
)
STOP = Finished(kind=FinishKind.STOP)
CALL = ModelToolCall(id=ProviderCallId("a"), name="lookup", arguments=Json("{}"))
FRAGMENT = ToolCallFragment(index=0, id="a", name="lookup", arguments='{"qu')


def visible(*tools: ToolDefinition) -> dict[str, CompiledSchema]:
    found = {tool.name: compile_schema(tool.name, tool.parameters) for tool in tools}
    return {name: one for name, one in found.items() if isinstance(one, CompiledSchema)}


def schema_of(*tools: ToolDefinition) -> Json:
    found = json_request(tools)
    assert isinstance(found, ProtocolRequest)
    assert INSTRUCTION == found.instruction
    assert isinstance(found.constraint, JsonSchemaConstraint)
    assert JSON_ACTION == found.constraint.name
    return found.constraint.schema


def answer(text: str | None, **more: Any) -> GenerationResponse:
    return GenerationResponse(**{"content": text, "finish_reason": STOP, **more})


def test_the_schema_has_a_branch_for_each_thing_that_may_be_done() -> None:
    schema = json.loads(schema_of(LOOKUP, ANY, NONE, OWN).text)

    branches = schema["oneOf"]
    properties = [branch["properties"] for branch in branches]

    assert "https://json-schema.org/draft/2020-12/schema" == schema["$schema"]
    assert ["final", "ask_user"] + ["call_tool"] * 4 == [one["action"]["const"] for one in properties]
    assert {"type": "string", "minLength": 1} == properties[0]["text"] == properties[1]["question"]
    assert ["lookup", "any", "none", "own"] == [one["name"]["const"] for one in properties[2:]]
    assert ["Looks something up.", "", "", ""] == [one["description"] for one in branches[2:]]
    assert all(one["additionalProperties"] is False for one in branches)
    assert all(list(one["properties"]) == one["required"] for one in branches)


def test_a_schema_without_an_id_is_given_one() -> None:
    properties = [
        branch["properties"]["arguments"]
        for branch in json.loads(schema_of(LOOKUP, ANY, NONE, OWN).text)["oneOf"][2:]
    ]

    lookup = json.loads(LOOKUP.parameters.text)

    assert {"$id": "urn:jingwei:action:parameters:0", **lookup} == properties[0]
    assert {"$id": "urn:jingwei:action:parameters:1", "type": "object"} == properties[1]
    assert properties[2] is False
    assert "https://host.test/own" == properties[3]["$id"]


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('{"action":"call_tool","name":"lookup","arguments":{"query":"ab"}}', True),
        ('{"action":"call_tool","name":"lookup","arguments":{"query":"a"}}', False),
        ('{"action":"call_tool","name":"own","arguments":{"a":null}}', True),
        ('{"action":"call_tool","name":"own","arguments":{"a":1}}', False),
        ('{"action":"call_tool","name":"none","arguments":{}}', False),
        ('{"action":"call_tool","name":"any","arguments":{}}', True),
        ('{"action":"call_tool","name":"any","arguments":[]}', False),
        ('{"action":"final","text":"x"}', True),
        ('{"action":"final","text":""}', False),
        ('{"action":"ask_user","question":"x","more":1}', False),
    ],
)
def test_the_whole_schema_allows_what_is_taken(text: str, allowed: bool) -> None:
    """Local references lead home inside it too."""
    tools = (LOOKUP, ANY, NONE, OWN)
    whole = compile_schema("whole", schema_of(*tools))
    assert isinstance(whole, CompiledSchema)

    assert allowed == (violations_of(whole, json.loads(text)) == ())
    assert allowed == isinstance(json_action(answer(text), visible(*tools)), CallTool | FinalAnswer | AskUser)


def test_two_tools_cannot_share_an_id() -> None:
    """Each would stand for the other in the schema that a provider gets."""
    twin = ToolDefinition(name="twin", description="", parameters=OWN.parameters)

    expected = InvalidSchema(
        tool="twin", reason=SchemaReason.SHARED_ID, where="/$id", ref="https://host.test/own"
    )

    assert expected == json_request((OWN, twin))


def test_a_schema_that_is_too_deep_for_the_whole_is_refused() -> None:
    text = '{"const":' + "[" * 111 + "]" * 111 + "}"
    assert isinstance(compile_schema("deep", Json(text)), CompiledSchema)

    found = json_request((ToolDefinition(name="deep", description="", parameters=Json(text)),))

    assert InvalidSchema(tool=JSON_ACTION, reason=SchemaReason.TOO_DEEP, where="") == found


def test_no_name_is_reserved() -> None:
    taken = ToolDefinition(name=ASK_USER, description="", parameters=Json("{}"))
    text = '{"action":"call_tool","name":"jingwei_ask_user","arguments":{}}'

    assert '"const":"jingwei_ask_user"' in schema_of(taken).text
    assert CallTool(provider_id=None, name=ASK_USER, arguments=Json("{}")) == json_action(
        answer(text), visible(taken)
    )


def test_each_action_comes_out_of_its_object() -> None:
    """A05, A16a; spaces and the order of keys do not matter."""
    called = ' {"name": "lookup", "arguments": {"query": "你好"}, "action": "call_tool"} '

    assert CallTool(provider_id=None, name="lookup", arguments=Json('{"query":"你好"}')) == json_action(
        answer(called), visible(LOOKUP)
    )
    assert FinalAnswer(text="done") == json_action(answer('{"action":"final","text":"done"}'), {})
    assert AskUser(question="?") == json_action(answer('{"action":"ask_user","question":"?"}'), {})


ACTIONS = "call_tool or final or ask_user"


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (answer("x", tool_calls=(CALL, CALL)), MultipleActions(count=2)),
        (answer("x", incomplete_tool_calls=(FRAGMENT,)), HoldsFragments(count=1)),
        (answer("x", finish_reason=Finished(kind=FinishKind.LENGTH)), CutOff()),
        (answer("x", finish_reason=Finished(kind=FinishKind.UNKNOWN)), UnknownFinish(code=None)),
        (
            answer("x", tool_calls=(CALL,), finish_reason=Finished(kind=FinishKind.TOOL_CALLS)),
            NotAnAction(path="/tool_calls", expected="none", actual="1 call"),
        ),
        (answer(None), NoAction()),
        # A06a
        (
            answer('{"action":"call_tool","name":"lookup"'),
            NotAnAction(path="", expected="',' or '}'", actual="the end"),
        ),
        (
            answer('{"action":"call_tool","name":"hidden","arguments":[]}'),
            ToolNotVisible(name="hidden"),
        ),
        (
            answer('{"action":"call_tool","name":"lookup","arguments":{}}'),
            InvalidArguments(
                name="lookup", violations=(SchemaViolation(path="", keyword="required", words='["query"]'),)
            ),
        ),
        (
            answer('{"action":"call_tool","name":"lookup","arguments":{"query":1}}'),
            InvalidArguments(
                name="lookup", violations=(SchemaViolation(path="/query", keyword="type", words='"string"'),)
            ),
        ),
        (
            answer('{"action":"call_tool","name":"lookup","arguments":{"query":"ab"},"x":1}'),
            NotAnAction(path="", expected="exactly the keys action, name, arguments", actual="4 keys"),
        ),
        (
            answer('[{"action":"final","text":"x"}]'),
            NotAnAction(path="", expected="an object", actual="an array"),
        ),
        (answer('{"action":"final","text":"x","text":"y"}'), RepeatedKey(path="/text")),
        (
            answer('{"action":"call_tool","name":"lookup","arguments":{"query":"ab","query":"cd"}}'),
            RepeatedKey(path="/arguments/query"),
        ),
        (
            answer('{"action":"call_tool","name":"lookup","arguments":"{}"}'),
            ArgumentsNoObject(name="lookup", actual="a string"),
        ),
        (
            answer('{"action":"call_tool","name":1,"arguments":{}}'),
            NotAnAction(path="/name", expected="a string", actual="a number"),
        ),
        (answer("{}"), NotAnAction(path="/action", expected=ACTIONS, actual="no such key")),
        (answer('{"action":1}'), NotAnAction(path="/action", expected=ACTIONS, actual="a number")),
        (answer('{"action":"run"}'), NotAnAction(path="/action", expected=ACTIONS, actual="another word")),
        (
            answer('{"action":"final","text":1}'),
            NotAnAction(path="/text", expected="a string", actual="a number"),
        ),
        (
            answer('{"action":"ask_user","question":null}'),
            NotAnAction(path="/question", expected="a string", actual="null"),
        ),
        # A19a
        (answer('{"action":"final","text":" "}'), BlankText()),
        (answer('{"action":"ask_user","question":"\\n"}'), BlankQuestion()),
        (
            answer('{"action":"final","text":"x"} {}'),
            NotAnAction(path="", expected="end of the text", actual="'{}'"),
        ),
    ],
)
def test_what_is_not_one_action_is_told_by_its_name(
    response: GenerationResponse, expected: InterpretFailure
) -> None:
    assert expected == json_action(response, visible(LOOKUP))
