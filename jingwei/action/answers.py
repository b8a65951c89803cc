"""What both protocols ask of an answer before they look for the action in it (rule T6)."""

from collections.abc import Mapping
from typing import assert_never

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
    NotAnAction,
    RepeatedKey,
    UnknownFinish,
    UnreadableAnswer,
)
from jingwei.action.records import AskUser, CallTool, FinalAnswer
from jingwei.action.schemas import CompiledSchema, violations_of
from jingwei.codec import DecodeReason
from jingwei.ids import ProviderCallId, is_blank
from jingwei.jsontext import Json, JsonProblem, JsonValue, canonical, parse, within_depth
from jingwei.limits import FREE_JSON_LEVELS
from jingwei.messages.failures import ToolNotVisible
from jingwei.messages.records import Finished, FinishedOtherwise, FinishKind, GenerationResponse


def incomplete(response: GenerationResponse) -> InterpretFailure | None:
    """Why an answer is no single whole one: too many calls, fragments, or an end that is no end."""
    if len(response.tool_calls) > 1:
        return MultipleActions(count=len(response.tool_calls))
    if response.incomplete_tool_calls:
        return HoldsFragments(count=len(response.incomplete_tool_calls))
    reason = response.finish_reason
    if isinstance(reason, FinishedOtherwise):
        return UnknownFinish(code=reason.code)
    return _unfinished(reason, calls=bool(response.tool_calls))


def checked_call(
    provider_id: ProviderCallId | None, name: str, arguments: JsonValue, visible: Mapping[str, CompiledSchema]
) -> CallTool | InterpretFailure:
    """A call of a visible tool, with arguments that satisfy its schema and that all records have room for.

    In this order (T6).
    """
    compiled = visible.get(name)
    if compiled is None:
        return ToolNotVisible(name=name)
    if not isinstance(arguments, dict):
        return ArgumentsNoObject(name=name, actual=kind_of(arguments))
    violations = violations_of(compiled, arguments)
    if isinstance(violations, InvalidSchema):
        return violations
    if violations:
        return InvalidArguments(name=name, violations=violations)
    text = canonical(arguments)
    if not within_depth(text, arguments, FREE_JSON_LEVELS):
        # They stand in the tool's call, and deeper still in the requests of the steps that follow.
        path = "/content" if provider_id is None else "/tool_calls/0/arguments"
        return UnreadableAnswer(reason=DecodeReason.TOO_DEEP, path=path)
    return CallTool(provider_id=provider_id, name=name, arguments=Json(text))


def checked_text(text: str) -> FinalAnswer | BlankText:
    """A final answer that says something."""
    return BlankText() if is_blank(text) else FinalAnswer(text=text)


def checked_question(question: str) -> AskUser | BlankQuestion:
    """A question that asks something."""
    return BlankQuestion() if is_blank(question) else AskUser(question=question)


def strict_json(text: str) -> JsonValue | RepeatedKey | NotAnAction:
    """The value of a text that a model wrote; equal keys are told apart from other faults."""
    value = parse(text)
    if not isinstance(value, JsonProblem):
        return value
    if value.reason == "duplicate_key":
        return RepeatedKey(path=value.path)
    return NotAnAction(path=value.path, expected=value.expected, actual=value.actual)


def kind_of(value: JsonValue) -> str:
    """The kind of a JSON value, in words."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an object" if isinstance(value, Mapping) else "an array"


def _unfinished(reason: Finished, *, calls: bool) -> InterpretFailure | None:
    match reason.kind:
        case FinishKind.STOP | FinishKind.TOOL_CALLS:
            expected = FinishKind.TOOL_CALLS if calls else FinishKind.STOP
            if reason.kind is expected:
                return None
            return NotAnAction(path="/finish_reason/kind", expected=expected.value, actual=reason.kind.value)
        case FinishKind.LENGTH:
            return CutOff()
        case FinishKind.CONTENT_FILTERED:
            return Filtered()
        case FinishKind.UNKNOWN:
            return UnknownFinish(code=None)
        case _:
            assert_never(reason.kind)
