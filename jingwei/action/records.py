"""What a model may do in one step, and what a tool did (rule T6)."""

import enum
from typing import Final, TypeAlias, final

import attrs

from jingwei.events.records import ToolCall, ToolOutcome
from jingwei.ids import EventId, ProviderCallId, SessionId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import GenerationConstraint

ASK_USER: Final = "jingwei_ask_user"
"""The reserved name of the control by which a model asks its user (T6)."""

JSON_ACTION: Final = "jingwei_action"
"""The name of the schema that every answer satisfies under the JSON protocol (T6)."""


@final
class ActionProtocol(enum.Enum):
    """How a model says what it does: the provider's own tool calls, or one JSON object as text."""

    NATIVE = "native"
    JSON = "json"


@final
class SystemTexts(enum.Enum):
    """How the protocol's instruction and the host's system texts are sent.

    `JOINED` makes one system message of all of them, the instruction first, with blank lines between:
    many chat templates take only one. `SEPARATE` makes a message of each, in the same order.
    """

    JOINED = "joined"
    SEPARATE = "separate"


@final
@attrs.frozen(kw_only=True)
class CallTool:
    """The model calls one visible tool, with arguments that satisfy its schema.

    Attributes:
        provider_id: the provider's name for the call; None under the JSON protocol. Never an id of ours.
        name: a visible tool.
        arguments: a JSON object, canonical.
    """

    provider_id: ProviderCallId | None
    name: str
    arguments: Json


@final
@attrs.frozen(kw_only=True)
class FinalAnswer:
    """The model ends the turn with this text, which is not blank."""

    text: str


@final
@attrs.frozen(kw_only=True)
class AskUser:
    """The model asks its user this question, which is not blank."""

    question: str


Action: TypeAlias = CallTool | FinalAnswer | AskUser
"""Exactly one of these comes out of an answer."""


@final
@attrs.frozen(kw_only=True)
class ProtocolRequest:
    """What a protocol adds to a request.

    Attributes:
        instruction: the system text that says how to answer.
        constraint: the form of the answer: the visible tools and the control, or the schema of an action.
    """

    instruction: str
    constraint: GenerationConstraint


@final
@attrs.frozen(kw_only=True)
class ToolExecution:
    """A tool ran, and both of its events are in the log: nothing may run it again.

    Attributes:
        session_id: the session of both events.
        turn_id: the turn of both events.
        call: what was recorded as called.
        call_event_id: the event of the call.
        call_seq: its place in the log; names the exchange in requests (`jw_tool_<seq>`).
        outcome: how it ended.
        result_event_id: the event of the result.
        result_seq: its place in the log, behind the call.
    """

    session_id: SessionId
    turn_id: TurnId
    call: ToolCall
    call_event_id: EventId
    call_seq: int
    outcome: ToolOutcome
    result_event_id: EventId
    result_seq: int
