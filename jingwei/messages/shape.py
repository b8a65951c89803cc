"""Which message may follow which, and what a constraint must hold (rule M3)."""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

import attrs

from jingwei.ids import is_blank
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
    NamedChoice,
    NativeToolsConstraint,
    TextConstraint,
    ToolMessage,
)
from jingwei.outcome import Failure, Outcome, Success

_Indexed: TypeAlias = (
    UnmatchedToolResult
    | InterruptedToolGroup
    | MissingAssistantContent
    | ArgumentsNotObject
    | DuplicateToolCallId
)


def check_shape(request: GenerationRequest) -> Outcome[GenerationRequest, ShapeFailure]:
    """The same request, or the first rule of M3 that it breaks: messages first, then the constraint."""
    broken = messages_failure(request.messages)
    if broken is None:
        broken = constraint_failure(request.constraint)
    return Success(request) if broken is None else Failure(broken)


def index_of(failure: ShapeFailure) -> int | None:
    """The message that a failure speaks of; None where it speaks of no single one."""
    return failure.index if isinstance(failure, _Indexed | EmptyName) else None


def moved(failure: ShapeFailure, by: int) -> ShapeFailure:
    """The same failure when `by` messages are put in front."""
    if isinstance(failure, EmptyName):
        return failure if failure.index is None else EmptyName(index=failure.index + by)
    if isinstance(failure, _Indexed):
        return attrs.evolve(failure, index=failure.index + by)
    return failure


def messages_failure(messages: Sequence[ModelMessage]) -> ShapeFailure | None:
    """The first message rule that is broken. Linear; results of one group may come in any order."""
    if not messages:
        return EmptyMessages()
    pending = dict[str, None]()
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.call_id not in pending:
                return UnmatchedToolResult(index=index)
            del pending[message.call_id]
            continue
        if pending:
            return InterruptedToolGroup(index=index)
        if isinstance(message, AssistantMessage):
            broken = assistant_failure(message, index)
            if broken is not None:
                return broken
            pending.update((call.id, None) for call in message.tool_calls)
    return MissingToolResults(call_ids=tuple(pending)) if pending else None


def assistant_failure(message: AssistantMessage, index: int) -> ShapeFailure | None:
    """The first rule that one assistant message breaks by itself."""
    if message.content is None and not message.tool_calls:
        return MissingAssistantContent(index=index)
    seen = set[str]()
    for call in message.tool_calls:
        if is_blank(call.name):
            return EmptyName(index=index)
        if not call.arguments.is_object:
            return ArgumentsNotObject(index=index)
        if call.id in seen:
            return DuplicateToolCallId(index=index)
        seen.add(call.id)
    return None


def constraint_failure(constraint: GenerationConstraint) -> ShapeFailure | None:
    """The first rule that a constraint breaks."""
    match constraint:
        case TextConstraint():
            return None
        case JsonSchemaConstraint(name=name, schema=schema):
            if is_blank(name):
                return EmptyName(index=None)
            return None if schema.is_schema_root else InvalidSchemaShape()
        case NativeToolsConstraint():
            return _tools_failure(constraint)
        case _:
            assert_never(constraint)


def _tools_failure(constraint: NativeToolsConstraint) -> ShapeFailure | None:
    if not constraint.tools:
        return EmptyToolSet()
    names = set[str]()
    for tool in constraint.tools:
        if is_blank(tool.name):
            return EmptyName(index=None)
        if not tool.parameters.is_schema_root:
            return InvalidSchemaShape()
        if tool.name in names:
            return DuplicateToolName(name=tool.name)
        names.add(tool.name)
    choice = constraint.choice
    if isinstance(choice, NamedChoice) and choice.name not in names:
        return ToolNotVisible(name=choice.name)
    return None
