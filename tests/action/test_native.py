"""One action by native tool calls: what is asked, and what comes out of an answer (T6)."""

from collections.abc import Iterator

import pytest
from jsonschema.exceptions import ValidationError

from jingwei.action.failures import (
    ArgumentsNoObject,
    BlankQuestion,
    BlankText,
    CutOff,
    Filtered,
    HoldsFragments,
    InterpretFailure,
    InvalidArguments,
    InvalidSchema,
    MultipleActions,
    NoAction,
    NotAnAction,
    RepeatedKey,
    ReservedToolName,
    SchemaReason,
    SchemaViolation,
    UnknownFinish,
)
from jingwei.action.native import ASK_USER_TOOL, INSTRUCTION, native_action, native_request
from jingwei.action.records import ASK_USER, AskUser, CallTool, FinalAnswer, ProtocolRequest
from jingwei.action.schemas import CompiledSchema, compile_schema
from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
from jingwei.messages.failures import ToolNotVisible
from jingwei.messages.records import (
    AutoChoice,
    Finished,
    FinishedOtherwise,
    FinishKind,
    FinishReason,
    GenerationResponse,
    ModelToolCall,
    NativeToolsConstraint,
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
STOP = Finished(kind=FinishKind.STOP)
CALLS = Finished(kind=FinishKind.TOOL_CALLS)
FRAGMENT = ToolCallFragment(index=0, id="a", name="lookup", arguments='{"qu')


def visible(*tools: ToolDefinition) -> dict[str, CompiledSchema]:
    found = {tool.name: compile_schema(tool.name, tool.parameters) for tool in tools}
    assert all(isinstance(one, CompiledSchema) for one in found.values())
    return {name: one for name, one in found.items() if isinstance(one, CompiledSchema)}


def call(arguments: str, name: str = "lookup", id_: str = "provider-a") -> ModelToolCall:
    return ModelToolCall(id=ProviderCallId(id_), name=name, arguments=Json(arguments))


def calling(*calls: ModelToolCall, finish: FinishReason = CALLS) -> GenerationResponse:
    return GenerationResponse(tool_calls=calls, finish_reason=finish)


def test_the_request_offers_the_visible_tools_and_then_the_control() -> None:
    expected = ProtocolRequest(
        instruction=INSTRUCTION,
        constraint=NativeToolsConstraint(tools=(LOOKUP, ASK_USER_TOOL), choice=AutoChoice()),
    )

    assert expected == native_request((LOOKUP,))
    assert ASK_USER == ASK_USER_TOOL.name


def test_a_tool_named_like_the_control_is_refused() -> None:
    """A19c."""
    taken = ToolDefinition(name=ASK_USER, description="", parameters=Json("{}"))

    assert ReservedToolName(name=ASK_USER) == native_request((LOOKUP, taken))


def test_the_control_asks_for_one_question_that_is_not_empty() -> None:
    compiled = visible(ASK_USER_TOOL)

    found = [
        native_action(calling(call(arguments, "other")), {"other": compiled[ASK_USER]})
        for arguments in ('{"question":"?"}', '{"question":""}', "{}", '{"question":"?","more":1}')
    ]

    assert [True, False, False, False] == [isinstance(one, CallTool) for one in found]


def test_one_call_of_a_visible_tool_is_an_action() -> None:
    """A16a; words beside the call are no second action."""
    arguments = '{"query":"你好"}'
    response = GenerationResponse(content="thinking", tool_calls=(call(arguments),), finish_reason=CALLS)

    expected = CallTool(provider_id=ProviderCallId("provider-a"), name="lookup", arguments=Json(arguments))

    assert expected == native_action(response, visible(LOOKUP))


def test_text_is_a_final_answer_and_the_control_a_question() -> None:
    """A05."""
    said = GenerationResponse(content=" done ", finish_reason=STOP)

    assert FinalAnswer(text=" done ") == native_action(said, {})
    assert AskUser(question="which?") == native_action(
        calling(call('{"question":"which?"}', ASK_USER)), visible(LOOKUP)
    )


GOOD = call('{"query":"ab"}')
LONG = SchemaViolation(path="/query", keyword="minLength", words="2")


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        # A07, before everything else
        (calling(GOOD, GOOD, finish=Finished(kind=FinishKind.LENGTH)), MultipleActions(count=2)),
        (GenerationResponse(incomplete_tool_calls=(FRAGMENT,), finish_reason=STOP), HoldsFragments(count=1)),
        # A08
        (GenerationResponse(content="x", finish_reason=Finished(kind=FinishKind.LENGTH)), CutOff()),
        (calling(GOOD, finish=Finished(kind=FinishKind.LENGTH)), CutOff()),
        (
            GenerationResponse(content="x", finish_reason=Finished(kind=FinishKind.CONTENT_FILTERED)),
            Filtered(),
        ),
        (GenerationResponse(content="x"), UnknownFinish(code=None)),
        (
            GenerationResponse(content="x", finish_reason=FinishedOtherwise(code="odd")),
            UnknownFinish(code="odd"),
        ),
        (
            GenerationResponse(content="x", finish_reason=CALLS),
            NotAnAction(path="/finish_reason/kind", expected="stop", actual="tool_calls"),
        ),
        (
            calling(GOOD, finish=STOP),
            NotAnAction(path="/finish_reason/kind", expected="tool_calls", actual="stop"),
        ),
        (GenerationResponse(finish_reason=STOP), NoAction()),
        # A19b
        (GenerationResponse(content=" \n", finish_reason=STOP), BlankText()),
        (calling(call('{"question":"\\n"}', ASK_USER)), BlankQuestion()),
        (
            calling(call("[]", ASK_USER)),
            NotAnAction(path="/tool_calls/0/arguments", expected="an object", actual="an array"),
        ),
        (
            calling(call("{}", ASK_USER)),
            NotAnAction(
                path="/tool_calls/0/arguments", expected="the key `question` alone", actual="no question"
            ),
        ),
        (
            calling(call('{"question":"?","b":1}', ASK_USER)),
            NotAnAction(path="/tool_calls/0/arguments", expected="the key `question` alone", actual="2 keys"),
        ),
        (
            calling(call('{"question":null}', ASK_USER)),
            NotAnAction(path="/tool_calls/0/arguments/question", expected="a string", actual="null"),
        ),
        (calling(call('{"question":"a","question":"b"}', ASK_USER)), RepeatedKey(path="/question")),
        # A06b; hidden before its arguments are looked at
        (calling(call("not json", "hidden")), ToolNotVisible(name="hidden")),
        (
            calling(call("{}")),
            InvalidArguments(
                name="lookup", violations=(SchemaViolation(path="", keyword="required", words='["query"]'),)
            ),
        ),
        (calling(call('{"query":"x"}')), InvalidArguments(name="lookup", violations=(LONG,))),
        (
            calling(call('{"query":1}')),
            InvalidArguments(
                name="lookup", violations=(SchemaViolation(path="/query", keyword="type", words='"string"'),)
            ),
        ),
        (calling(call('"{}"')), ArgumentsNoObject(name="lookup", actual="a string")),
        (calling(call("[]")), ArgumentsNoObject(name="lookup", actual="an array")),
        (calling(call("null")), ArgumentsNoObject(name="lookup", actual="null")),
        (calling(call("true")), ArgumentsNoObject(name="lookup", actual="a boolean")),
        (calling(call("1.5")), ArgumentsNoObject(name="lookup", actual="a number")),
        (calling(call('{"query":"ab","query":"cd"}')), RepeatedKey(path="/query")),
        (calling(call('{"query"')), NotAnAction(path="/query", expected="':'", actual="the end")),
    ],
)
def test_what_is_not_one_action_is_told_by_its_name(
    response: GenerationResponse, expected: InterpretFailure
) -> None:
    assert expected == native_action(response, visible(LOOKUP))


def test_a_check_without_an_end_is_told_as_the_schemas_fault() -> None:
    class _Endless:
        def iter_errors(self, _instance: object) -> Iterator[ValidationError]:
            raise RecursionError

    endless = CompiledSchema(tool="lookup", schema=LOOKUP.parameters, checker=_Endless())

    assert InvalidSchema(tool="lookup", reason=SchemaReason.UNCHECKABLE, where="") == native_action(
        calling(GOOD), {"lookup": endless}
    )
