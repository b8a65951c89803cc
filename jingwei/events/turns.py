"""The turn table: which event may follow which inside one turn (rule P4).

A turn is in one of four states. `EMPTY`: no user message yet; `WORKING`: the user has spoken;
`REPLIED`: the complete reply stands; `CLOSED`: the terminal stands. Every (state, kind) pair is
either a row of `TURN_TABLE`, which names the next state, or a row of `REFUSED`, which names the
reason; a test walks the whole product.

Some refusals depend on more than the pair (an id used before, a call that does not exist): these
are the guards of a kind. P4 fixes the order: a closed or replied turn refuses before the guards of
the kind are asked (`Refusal.first`), a missing user message and a second reply only after them. So
a reply without a message id that also comes too early is refused for its missing id.

`docs/states.md` is printed from these tables.
"""

import enum
from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, final

import attrs

from jingwei.events.records import (
    AssistantDelta,
    AssistantReply,
    CustomEvent,
    DoneEvent,
    ErrorEvent,
    EventKind,
    ModeDecided,
    ModelRequestEvent,
    ModelResultEvent,
    PlanReady,
    SessionEvent,
    StageProgress,
    TaskRunReported,
    ToolCallEvent,
    ToolResultEvent,
    UserMessageEvent,
)
from jingwei.ids import is_blank


@final
class TurnState(enum.Enum):
    """Where a turn stands."""

    EMPTY = "empty"
    WORKING = "working"
    REPLIED = "replied"
    CLOSED = "closed"


@final
class MalformedReason(enum.Enum):
    """Why an event cannot stand where it stands (P3, P4); the value is its name on the wire."""

    BLANK_TURN_ID = "blank_turn_id"
    TURN_NOT_CONTIGUOUS = "turn_not_contiguous"
    BLANK_EVENT_ID = "blank_event_id"
    AFTER_TERMINAL = "after_terminal"
    WORK_AFTER_REPLY = "work_after_reply"
    SECOND_USER_MESSAGE = "second_user_message"
    REPLY_WITHOUT_MESSAGE_ID = "reply_without_message_id"
    BLANK_MESSAGE_ID = "blank_message_id"
    REPEATED_MESSAGE_ID = "repeated_message_id"
    SECOND_REPLY = "second_reply"
    BLANK_CALL_ID = "blank_call_id"
    BLANK_CALL_NAME = "blank_call_name"
    REPEATED_CALL_ID = "repeated_call_id"
    ORPHAN_TOOL_RESULT = "orphan_tool_result"
    SECOND_TOOL_RESULT = "second_tool_result"
    BLANK_MODEL_CALL_ID = "blank_model_call_id"
    REPEATED_MODEL_CALL_ID = "repeated_model_call_id"
    ORPHAN_MODEL_RESULT = "orphan_model_result"
    SECOND_MODEL_RESULT = "second_model_result"
    WORK_BEFORE_USER = "work_before_user"


@final
@attrs.frozen(kw_only=True)
class Refusal:
    """A pair that no turn allows.

    Attributes:
        reason: what is said of it.
        first: True where the pair is refused before the guards of the kind are asked.
    """

    reason: MalformedReason
    first: bool


KindClass: TypeAlias = type[EventKind]
_Pair: TypeAlias = tuple[TurnState, KindClass]

CONVERSATION_WORK: Final[tuple[KindClass, ...]] = (
    UserMessageEvent,
    AssistantDelta,
    ModelRequestEvent,
    ModelResultEvent,
    ToolCallEvent,
    ToolResultEvent,
)
"""What may not follow the complete reply (P4)."""

AUDIT_KINDS: Final[tuple[KindClass, ...]] = (
    TaskRunReported,
    StageProgress,
    ModeDecided,
    PlanReady,
    CustomEvent,
)
"""What may stand anywhere before the terminal, with or without a user message (P4)."""

TERMINALS: Final[tuple[KindClass, ...]] = (DoneEvent, ErrorEvent)
"""What closes a turn."""

ALL_KINDS: Final[tuple[KindClass, ...]] = (*CONVERSATION_WORK, AssistantReply, *AUDIT_KINDS, *TERMINALS)

_OPEN_STATES: Final = (TurnState.EMPTY, TurnState.WORKING, TurnState.REPLIED)

TURN_TABLE: Final[Mapping[_Pair, TurnState]] = MappingProxyType(
    {
        (TurnState.EMPTY, UserMessageEvent): TurnState.WORKING,
        (TurnState.WORKING, AssistantDelta): TurnState.WORKING,
        (TurnState.WORKING, ModelRequestEvent): TurnState.WORKING,
        (TurnState.WORKING, ModelResultEvent): TurnState.WORKING,
        (TurnState.WORKING, ToolCallEvent): TurnState.WORKING,
        (TurnState.WORKING, ToolResultEvent): TurnState.WORKING,
        (TurnState.WORKING, AssistantReply): TurnState.REPLIED,
        **{(state, kind): state for state in _OPEN_STATES for kind in AUDIT_KINDS},
        **{(state, kind): TurnState.CLOSED for state in _OPEN_STATES for kind in TERMINALS},
    }
)
"""What each pair leads to, guards permitting."""

REFUSED: Final[Mapping[_Pair, Refusal]] = MappingProxyType(
    {
        **{
            (TurnState.CLOSED, kind): Refusal(reason=MalformedReason.AFTER_TERMINAL, first=True)
            for kind in ALL_KINDS
        },
        **{
            (TurnState.REPLIED, kind): Refusal(reason=MalformedReason.WORK_AFTER_REPLY, first=True)
            for kind in CONVERSATION_WORK
        },
        (TurnState.REPLIED, AssistantReply): Refusal(reason=MalformedReason.SECOND_REPLY, first=False),
        (TurnState.WORKING, UserMessageEvent): Refusal(
            reason=MalformedReason.SECOND_USER_MESSAGE, first=False
        ),
        **{
            (TurnState.EMPTY, kind): Refusal(reason=MalformedReason.WORK_BEFORE_USER, first=False)
            for kind in (AssistantDelta, AssistantReply, ToolCallEvent, ModelRequestEvent)
        },
        # The guards refuse these first in any case: without a user message nothing can have been called.
        (TurnState.EMPTY, ToolResultEvent): Refusal(reason=MalformedReason.ORPHAN_TOOL_RESULT, first=False),
        (TurnState.EMPTY, ModelResultEvent): Refusal(reason=MalformedReason.ORPHAN_MODEL_RESULT, first=False),
    }
)
"""Why each remaining pair is refused."""

_ROWS: Final[Mapping[_Pair, TurnState | Refusal]] = MappingProxyType({**TURN_TABLE, **REFUSED})
# One look-up an event: hashing an enum member is not cheap.


class KnownIds(Protocol):
    """The ids that the guards compare with: read only, whoever keeps them."""

    @property
    def tool_calls(self) -> Container[str]:
        """Calls of this turn."""
        ...

    @property
    def tool_results(self) -> Container[str]:
        """Calls of this turn that have their result."""
        ...

    @property
    def model_calls(self) -> Container[str]:
        """Model requests of this turn."""
        ...

    @property
    def model_results(self) -> Container[str]:
        """Model requests of this turn that have their result."""
        ...

    @property
    def message_ids(self) -> Container[str]:
        """Message ids of complete replies, of the whole session."""
        ...


def step(state: TurnState, ids: KnownIds, event: SessionEvent) -> TurnState | MalformedReason:
    """The transition function: the state after an event, or the reason why it cannot stand here.

    Pure: the caller records the ids of what was accepted, and nothing of what was refused (B10).
    """
    pair = (state, type(event.kind))
    if is_blank(event.event_id):
        return MalformedReason.BLANK_EVENT_ID
    row = _ROWS[pair]
    if isinstance(row, Refusal) and row.first:
        return row.reason
    reason = _guard(ids, event)
    if reason is not None:
        return reason
    return row.reason if isinstance(row, Refusal) else row


def _guard(ids: KnownIds, event: SessionEvent) -> MalformedReason | None:
    """The reasons of a kind that need its ids, in the order of P4."""
    kind = event.kind
    if isinstance(kind, ToolCallEvent):
        return _call_guard(ids, kind)
    if isinstance(kind, ToolResultEvent):
        if kind.result.call_id not in ids.tool_calls:
            return MalformedReason.ORPHAN_TOOL_RESULT
        return MalformedReason.SECOND_TOOL_RESULT if kind.result.call_id in ids.tool_results else None
    if isinstance(kind, ModelRequestEvent):
        if is_blank(kind.request.call_id):
            return MalformedReason.BLANK_MODEL_CALL_ID
        repeated = kind.request.call_id in ids.model_calls
        return MalformedReason.REPEATED_MODEL_CALL_ID if repeated else None
    if isinstance(kind, ModelResultEvent):
        if kind.result.call_id not in ids.model_calls:
            return MalformedReason.ORPHAN_MODEL_RESULT
        return MalformedReason.SECOND_MODEL_RESULT if kind.result.call_id in ids.model_results else None
    if isinstance(kind, AssistantReply):
        if event.message_id is None:
            return MalformedReason.REPLY_WITHOUT_MESSAGE_ID
        if is_blank(event.message_id):
            return MalformedReason.BLANK_MESSAGE_ID
        return MalformedReason.REPEATED_MESSAGE_ID if event.message_id in ids.message_ids else None
    return None


def _call_guard(ids: KnownIds, kind: ToolCallEvent) -> MalformedReason | None:
    if is_blank(kind.call.id):
        return MalformedReason.BLANK_CALL_ID
    if is_blank(kind.call.name):
        return MalformedReason.BLANK_CALL_NAME
    return MalformedReason.REPEATED_CALL_ID if kind.call.id in ids.tool_calls else None
