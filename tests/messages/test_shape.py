"""The shape rules (M3), row by row: what is refused first, and at which message.

S numbers are those of the acceptance cases.
"""

from collections.abc import Sequence

import pytest

from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
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
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    NamedChoice,
    NativeToolsConstraint,
    RequiredChoice,
    SystemMessage,
    TextConstraint,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import check_shape, index_of, moved
from jingwei.outcome import Failure, Success


def call(call_id: str, name: str = "lookup", arguments: str = "{}") -> ModelToolCall:
    return ModelToolCall(id=ProviderCallId(call_id), name=name, arguments=Json(arguments))


def calls(*made: ModelToolCall, content: str | None = None) -> AssistantMessage:
    return AssistantMessage(content=content, tool_calls=made)


def result(call_id: str) -> ToolMessage:
    return ToolMessage(call_id=ProviderCallId(call_id), content="untrusted")


def tool(name: str, parameters: str = "{}") -> ToolDefinition:
    return ToolDefinition(name=name, description="d", parameters=Json(parameters))


SYSTEM, USER, SAID = SystemMessage(content=""), UserMessage(content=""), AssistantMessage(content="")
A, B = call("a"), call("b")

WELL_FORMED: dict[str, Sequence[ModelMessage]] = {
    "S03 system, user, assistant": (SYSTEM, USER, SAID),
    "S05 results in any order": (USER, calls(A, B), result("b"), result("a")),
    "S06a an id again in a later group": (calls(A), result("a"), calls(A), result("a")),
    "S20 a tool that is not visible now": (USER, calls(call("x", "gone")), result("x"), SAID),
    "any role first, any number, empty texts": (SAID, SAID, USER, USER, SYSTEM, SYSTEM),
    "text beside calls": (calls(A, content="I look"), result("a")),
}


@pytest.mark.parametrize("messages", WELL_FORMED.values(), ids=WELL_FORMED)
def test_well_formed_messages_pass_unchanged(messages: Sequence[ModelMessage]) -> None:
    request = GenerationRequest(messages=tuple(messages))

    assert Success(request) == check_shape(request)


REFUSED: dict[str, tuple[Sequence[ModelMessage], ShapeFailure]] = {
    "S06b an id twice in one message": ((calls(A, A), result("a")), DuplicateToolCallId(index=0)),
    "S07a only a result": ((result("a"),), UnmatchedToolResult(index=0)),
    "S07b no result": ((USER, calls(A, B)), MissingToolResults(call_ids=("a", "b"))),
    "S07b one result of two": ((USER, calls(A, B), result("a")), MissingToolResults(call_ids=("b",))),
    "S07c a result twice": ((calls(A), result("a"), result("a")), UnmatchedToolResult(index=2)),
    "another id": ((USER, calls(A), result("b")), UnmatchedToolResult(index=2)),
    "S08 a user between": ((calls(A), USER, result("a")), InterruptedToolGroup(index=1)),
    "S08 a system between": ((calls(A), SYSTEM, result("a")), InterruptedToolGroup(index=1)),
    "S08 an assistant between": ((calls(A), SAID, result("a")), InterruptedToolGroup(index=1)),
    "calls between": ((calls(A, B), result("a"), calls(B)), InterruptedToolGroup(index=2)),
    "S09a nothing said": ((USER, AssistantMessage()), MissingAssistantContent(index=1)),
    "S09b null": ((calls(call("a", arguments="null")),), ArgumentsNotObject(index=0)),
    "S09b JSON in a string": ((USER, calls(call("a", arguments='"{}"'))), ArgumentsNotObject(index=1)),
    "S09b an array": ((calls(call("a", arguments="[]")),), ArgumentsNotObject(index=0)),
    "S09b a number": ((calls(call("a", arguments="1")),), ArgumentsNotObject(index=0)),
    "S10a no messages": ((), EmptyMessages()),
    "a blank name": ((USER, calls(A, call("b", " \t"))), EmptyName(index=1)),
}


@pytest.mark.parametrize(("messages", "expected"), REFUSED.values(), ids=REFUSED)
def test_malformed_messages_are_refused_where_they_break(
    messages: Sequence[ModelMessage], expected: ShapeFailure
) -> None:
    assert Failure(expected) == check_shape(GenerationRequest(messages=tuple(messages)))


ORDER: dict[str, tuple[Sequence[ModelMessage], ShapeFailure]] = {
    "a pending call before what the next message lacks": (
        (calls(A), AssistantMessage()),
        InterruptedToolGroup(index=1),
    ),
    "the name before the arguments": ((calls(call("a", "", "[]")),), EmptyName(index=0)),
    "the arguments before the id": ((calls(A, call("a", arguments="[]")),), ArgumentsNotObject(index=0)),
    "call by call": ((calls(A, A, call("b", "")),), DuplicateToolCallId(index=0)),
    "message by message": ((calls(A), USER, result("b")), InterruptedToolGroup(index=1)),
}


@pytest.mark.parametrize(("messages", "expected"), ORDER.values(), ids=ORDER)
def test_of_several_breaches_the_first_in_order_is_told(
    messages: Sequence[ModelMessage], expected: ShapeFailure
) -> None:
    assert Failure(expected) == check_shape(GenerationRequest(messages=tuple(messages)))


def native(*tools: ToolDefinition) -> NativeToolsConstraint:
    return NativeToolsConstraint(tools=tools)


CONSTRAINTS: dict[str, tuple[GenerationConstraint, ShapeFailure | None]] = {
    "text": (TextConstraint(), None),
    "S10b no tools": (native(), EmptyToolSet()),
    "S10c a name twice": (native(tool("x"), tool("y"), tool("x")), DuplicateToolName(name="x")),
    "S10d a blank name": (native(tool("x"), tool(" ")), EmptyName(index=None)),
    "S11 a remote reference": (native(tool("x", '{"$ref":"other"}')), None),
    "S11 false": (native(tool("x", "false")), None),
    "S11 true": (native(tool("x", "true")), None),
    "S11 an array": (native(tool("x", "[]")), InvalidSchemaShape()),
    "S11 null": (native(tool("x", "null")), InvalidSchemaShape()),
    "S11 a string": (native(tool("x", '"{}"')), InvalidSchemaShape()),
    "the name before the schema": (native(tool("", "[]")), EmptyName(index=None)),
    "the schema before the second name": (native(tool("x"), tool("x", "[]")), InvalidSchemaShape()),
    "S14a a named tool that is hidden": (
        NativeToolsConstraint(tools=(tool("x"),), choice=NamedChoice(name="y")),
        ToolNotVisible(name="y"),
    ),
    "a named tool": (NativeToolsConstraint(tools=(tool("x"),), choice=NamedChoice(name="x")), None),
    "required": (NativeToolsConstraint(tools=(tool("x"),), choice=RequiredChoice()), None),
    "a schema": (JsonSchemaConstraint(name="n", schema=Json("{}")), None),
    "a schema that is true": (JsonSchemaConstraint(name="n", schema=Json("true")), None),
    "a schema without a name": (JsonSchemaConstraint(name="\n", schema=Json("[]")), EmptyName(index=None)),
    "a schema that is none": (JsonSchemaConstraint(name="n", schema=Json("1")), InvalidSchemaShape()),
}


@pytest.mark.parametrize(("constraint", "expected"), CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_a_constraint_is_checked(constraint: GenerationConstraint, expected: ShapeFailure | None) -> None:
    request = GenerationRequest(messages=(USER,), constraint=constraint)
    outcome = Success(request) if expected is None else Failure(expected)

    assert outcome == check_shape(request)


def test_messages_are_checked_before_the_constraint() -> None:
    request = GenerationRequest(messages=(USER, calls(A)), constraint=native())

    assert Failure(MissingToolResults(call_ids=("a",))) == check_shape(request)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (UnmatchedToolResult(index=1), 1),
        (InterruptedToolGroup(index=0), 0),
        (MissingAssistantContent(index=2), 2),
        (ArgumentsNotObject(index=3), 3),
        (DuplicateToolCallId(index=4), 4),
        (EmptyName(index=5), 5),
        (EmptyName(index=None), None),
        (EmptyMessages(), None),
        (MissingToolResults(call_ids=("a",)), None),
        (DuplicateToolName(name="x"), None),
    ],
)
def test_only_a_failure_of_one_message_has_an_index(failure: ShapeFailure, expected: int | None) -> None:
    assert expected == index_of(failure)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (UnmatchedToolResult(index=1), UnmatchedToolResult(index=4)),
        (InterruptedToolGroup(index=0), InterruptedToolGroup(index=3)),
        (MissingAssistantContent(index=2), MissingAssistantContent(index=5)),
        (ArgumentsNotObject(index=1), ArgumentsNotObject(index=4)),
        (DuplicateToolCallId(index=1), DuplicateToolCallId(index=4)),
        (EmptyName(index=1), EmptyName(index=4)),
        (EmptyName(index=None), EmptyName(index=None)),
        (EmptyMessages(), EmptyMessages()),
        (MissingToolResults(call_ids=("a",)), MissingToolResults(call_ids=("a",))),
        (DuplicateToolName(name="x"), DuplicateToolName(name="x")),
    ],
)
def test_messages_in_front_move_an_index_and_nothing_else(
    failure: ShapeFailure, expected: ShapeFailure
) -> None:
    assert expected == moved(failure, 3)
