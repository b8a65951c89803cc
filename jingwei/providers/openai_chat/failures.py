"""Why a Chat Completions transcript is not imported.

`index` is the message, counted from 0 in its conversation; a response that follows a request counts
as the next message. `actual` is what came, shortened.
"""

from typing import TypeAlias, assert_never, final

import attrs

from jingwei.codec import DecodeFailed
from jingwei.jsontext import NotJson


@final
@attrs.frozen(kw_only=True)
class TextBesideCalls:
    """An assistant message says something and calls tools: a turn has one reply, after all work (P4)."""

    index: int
    actual: str


@final
@attrs.frozen(kw_only=True)
class EarlierText:
    """An assistant message without calls after which its turn goes on: not the turn's last word."""

    index: int
    actual: str


@final
@attrs.frozen(kw_only=True)
class TurnWithoutReply:
    """A turn ends without a final reply.

    Attributes:
        index: its user message.
        can_stay_open: it is the last turn and holds nothing but that message.
    """

    index: int
    can_stay_open: bool


@final
@attrs.frozen(kw_only=True)
class CallWithoutResult:
    """No result of a call is recorded: whether it ran is unknown."""

    index: int
    call_id: str | None
    name: str


@final
@attrs.frozen(kw_only=True)
class ResultWithoutCall:
    """No earlier step has called this."""

    index: int
    call_id: str | None


@final
@attrs.frozen(kw_only=True)
class SecondResult:
    """All calls with this id have their result already."""

    index: int
    call_id: str


@final
@attrs.frozen(kw_only=True)
class ResultAfterTurn:
    """A result whose call stands in an earlier turn.

    Attributes:
        index: the result.
        call_id: its id.
        call_index: the message that called.
    """

    index: int
    call_id: str | None
    call_index: int


@final
@attrs.frozen(kw_only=True)
class AmbiguousResult:
    """A result without an id, and more than one call that it could answer."""

    index: int
    waiting: int


@final
@attrs.frozen(kw_only=True)
class RepeatedCallId:
    """One id twice in one assistant message: no result can be told apart."""

    index: int
    call_id: str


@final
@attrs.frozen(kw_only=True)
class NoId:
    """A call or a result without an id.

    Attributes:
        index: the message.
        path: JSON Pointer of the id inside it.
    """

    index: int
    path: str


@final
@attrs.frozen(kw_only=True)
class BadArguments:
    """Argument text that is no JSON object by the strict reading (W6)."""

    index: int
    path: str
    actual: str


@final
@attrs.frozen(kw_only=True)
class EmptyArguments:
    """Arguments that are empty text, null or absent."""

    index: int
    path: str


@final
@attrs.frozen(kw_only=True)
class ContentNotText:
    """Content that is neither text nor a list of parts."""

    index: int
    actual: str


@final
@attrs.frozen(kw_only=True)
class PartNotText:
    """A content part that is neither `text` nor `refusal`.

    Attributes:
        index: the message.
        part: its place among the parts, from 0.
        actual: its type.
    """

    index: int
    part: int
    actual: str


@final
@attrs.frozen(kw_only=True)
class LegacyFunction:
    """A `function_call`, or a message of role `function`."""

    index: int
    actual: str


@final
@attrs.frozen(kw_only=True)
class ReasoningPresent:
    """The model's reasoning stands in the message.

    Attributes:
        index: the message.
        field: under which name.
    """

    index: int
    field: str


@final
@attrs.frozen(kw_only=True)
class MessageBeforeUser:
    """An assistant or tool message before any user message: no turn can hold it (P4)."""

    index: int
    role: str


@final
@attrs.frozen(kw_only=True)
class SilentAssistant:
    """An assistant message with neither text nor calls; null is no empty reply."""

    index: int


@final
@attrs.frozen(kw_only=True)
class UnknownRole:
    """A role that the format does not know."""

    index: int
    actual: str


@final
@attrs.frozen(kw_only=True)
class BadField:
    """A message that is not what the format says.

    Attributes:
        index: the message.
        path: JSON Pointer inside it.
        expected: what would have been right.
        actual: what came.
    """

    index: int
    path: str
    expected: str
    actual: str


@final
@attrs.frozen(kw_only=True)
class UnusableResponse:
    """A response beside the messages that is neither one choice nor an error (SSE text, several choices).

    Attributes:
        index: the message that it would have been.
        actual: what came.
    """

    index: int
    actual: str


@final
@attrs.frozen(kw_only=True)
class NoUserMessage:
    """A conversation in which no user speaks.

    Attributes:
        messages: how many messages it has.
    """

    messages: int


@final
@attrs.frozen(kw_only=True)
class NotAConversation:
    """An item of an array (or a line) that holds no messages, beside others."""

    actual: str


@final
@attrs.frozen(kw_only=True)
class NoConversation:
    """A document without any conversation that the importer knows."""

    actual: str


@final
@attrs.frozen(kw_only=True)
class BlankSessionId:
    """The session id of the options is blank: no log under it projects (P2)."""


SoftFailure: TypeAlias = (
    TextBesideCalls
    | EarlierText
    | TurnWithoutReply
    | CallWithoutResult
    | ResultWithoutCall
    | SecondResult
    | ResultAfterTurn
    | NoId
    | BadArguments
    | EmptyArguments
    | ContentNotText
    | PartNotText
    | LegacyFunction
    | ReasoningPresent
    | MessageBeforeUser
    | SilentAssistant
)
"""What an option admits."""

HardFailure: TypeAlias = (
    AmbiguousResult
    | RepeatedCallId
    | UnknownRole
    | BadField
    | UnusableResponse
    | NoUserMessage
    | NotAConversation
    | DecodeFailed
)
"""What no option admits."""

ConversationFailure: TypeAlias = SoftFailure | HardFailure
"""Why one conversation is refused."""

DocumentFailure: TypeAlias = DecodeFailed | NotJson | NoConversation | BlankSessionId
"""Why a whole document is refused."""

ImportFailure: TypeAlias = ConversationFailure | DocumentFailure


@final
@attrs.frozen(kw_only=True)
class Remedy:
    """An option and a choice that admit a failure."""

    option: str
    choice: str


def remedies(failure: ConversationFailure) -> tuple[Remedy, ...]:
    """The choices that would admit this very failure, if any; another may stand behind it."""
    if isinstance(failure, HardFailure):
        return ()
    option, *choices = _admitted_by(failure)
    return tuple(Remedy(option=option, choice=choice) for choice in choices)


def _admitted_by(failure: SoftFailure) -> tuple[str, ...]:
    """An option, then its lenient choices."""
    match failure:
        case TextBesideCalls():
            return ("text_beside_calls", "as_delta")
        case EarlierText():
            return ("earlier_text", "as_delta")
        case TurnWithoutReply(can_stay_open=True):
            return ("unanswered_turn", "cancelled", "open_last", "cancelled_open_last")
        case TurnWithoutReply():
            return ("unanswered_turn", "cancelled", "cancelled_open_last")
        case CallWithoutResult():
            return ("unanswered_call", "failed_unknown")
        case ResultWithoutCall() | SecondResult():
            return ("stray_result", "drop", "as_audit")
        case ResultAfterTurn():
            return ("late_result", "into_its_turn")
        case NoId():
            return ("missing_ids", "derive")
        case BadArguments():
            return ("bad_arguments", "wrap_text")
        case EmptyArguments():
            return ("empty_arguments", "as_empty_object")
        case ContentNotText():
            return ("structured_content", "canonical_json")
        case PartNotText():
            return ("non_text_parts", "placeholder")
        case LegacyFunction():
            return ("legacy_calls", "as_tool_call")
        case ReasoningPresent():
            return ("reasoning", "drop", "as_audit")
        case MessageBeforeUser():
            return ("before_user", "drop", "as_audit")
        case SilentAssistant():
            return ("silent_step", "drop")
        case _:
            assert_never(failure)


def describe(failure: ImportFailure) -> str:
    """A failure in one sentence, for people; the options that would admit it are `remedies`."""
    match failure:
        case DecodeFailed() | NotJson() | NoConversation() | BlankSessionId() | NotAConversation():
            return _describe_document(failure)
        case NoUserMessage(messages=messages):
            return f"none of the {messages} messages is the user's"
        case _:
            return f"message {failure.index}: {_describe_message(failure)}"


def _describe_document(
    failure: DecodeFailed | NotJson | NoConversation | BlankSessionId | NotAConversation,
) -> str:
    match failure:
        case DecodeFailed(reason=reason, line=line, path=path, expected=expected, actual=actual):
            place = "".join([f"line {line}: " if line else "", f"at {path}: " if path else ""])
            return f"{place}{reason.value}: expected {expected}, got {actual}"
        case NotJson(path=path, actual=actual):
            return f"{path or 'the document'} has no JSON form: {actual}"
        case NoConversation(actual=actual):
            return f"no Chat Completions conversation found in {actual}"
        case NotAConversation(actual=actual):
            return f"holds no messages: {actual}"
        case BlankSessionId():
            return "the session id is blank"
        case _:
            assert_never(failure)


_AboutMessage: TypeAlias = (
    SoftFailure | AmbiguousResult | RepeatedCallId | UnknownRole | BadField | UnusableResponse
)


def _describe_message(failure: _AboutMessage) -> str:
    match failure:
        case TextBesideCalls(actual=actual):
            return f"text beside tool calls: {actual}"
        case EarlierText(actual=actual):
            return f"assistant text after which the turn goes on: {actual}"
        case TurnWithoutReply():
            return "the turn that starts here has no final reply"
        case SilentAssistant():
            return "an assistant message with neither text nor calls"
        case MessageBeforeUser(role=role):
            return f"a message of role {role} before any user message"
        case ReasoningPresent(field=field):
            return f"reasoning in {field}"
        case ContentNotText(actual=actual):
            return f"content that is neither text nor parts: {actual}"
        case PartNotText(part=part, actual=actual):
            return f"content part {part} is no text: {actual}"
        case UnknownRole(actual=actual):
            return f"unknown role {actual}"
        case BadField(path=path, expected=expected, actual=actual):
            return f"{path or 'the message'}: expected {expected}, got {actual}"
        case UnusableResponse(actual=actual):
            return f"the response is neither one choice nor an error: {actual}"
        case _:
            return _describe_call(failure)


_AboutCall: TypeAlias = (
    CallWithoutResult
    | ResultWithoutCall
    | SecondResult
    | ResultAfterTurn
    | AmbiguousResult
    | RepeatedCallId
    | NoId
    | BadArguments
    | EmptyArguments
    | LegacyFunction
)


def _describe_call(failure: _AboutCall) -> str:
    match failure:
        case CallWithoutResult(call_id=call_id, name=name):
            return f"the call {call_id or '(no id)'} of {name} has no result"
        case ResultWithoutCall(call_id=call_id):
            return f"a result for {call_id or '(no id)'}, which nothing has called"
        case SecondResult(call_id=call_id):
            return f"a second result for {call_id}"
        case ResultAfterTurn(call_id=call_id, call_index=call_index):
            return f"a result for {call_id or '(no id)'}, called in an earlier turn by message {call_index}"
        case AmbiguousResult(waiting=waiting):
            return f"a result without an id while {waiting} calls wait"
        case RepeatedCallId(call_id=call_id):
            return f"the call id {call_id} stands twice in one message"
        case NoId(path=path):
            return f"{path}: no id"
        case BadArguments(path=path, actual=actual):
            return f"{path}: not the text of a JSON object: {actual}"
        case EmptyArguments(path=path):
            return f"{path}: empty"
        case LegacyFunction(actual=actual):
            return f"legacy function calling: {actual}"
        case _:
            assert_never(failure)
