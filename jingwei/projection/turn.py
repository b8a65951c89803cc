"""One turn: the ids its guards need, what it left open, and the groups it becomes (rules P4 to P9).

`OpenTurn` is the memory of a loop, not a record: `project` and `diagnose` each make one per run of
events and drop it. The rules themselves are `step` (pure, over the turn table) and the functions
that read a turn when its events are over.
"""

from collections.abc import KeysView, Mapping, Set
from types import MappingProxyType
from typing import Final, assert_never, final

from jingwei.events.records import (
    AssistantDelta,
    AssistantReply,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    EventKind,
    ModelRequestEvent,
    ModelResultEvent,
    SessionEvent,
    ToolCall,
    ToolCallEvent,
    ToolOutcome,
    ToolResultEvent,
    UserMessageEvent,
)
from jingwei.events.turns import MalformedReason, TurnState, step
from jingwei.events.wire import outcome_text
from jingwei.ids import EventId, ModelCallId, ProviderCallId, ToolCallId, TurnId
from jingwei.messages.records import (
    AssistantMessage,
    ModelMessage,
    ModelToolCall,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import message_bytes, tool_message_bytes
from jingwei.projection.failures import MissingReply, Unconfirmed
from jingwei.projection.records import (
    Group,
    GroupKind,
    LegacyReplies,
    Omission,
    OmissionReason,
    ProjectedState,
    ProjectedTurn,
    ProjectionConfig,
    turn_of,
)

_SUCCESSFUL = frozenset(
    {ProjectedState.COMPLETED, ProjectedState.WAITING_FOR_INPUT, ProjectedState.CHECKPOINTED}
)

_OMITTED: Final[Mapping[type[EventKind], OmissionReason | None]] = MappingProxyType(
    {
        UserMessageEvent: None,
        ToolCallEvent: None,
        ToolResultEvent: None,
        ModelRequestEvent: OmissionReason.MODEL_AUDIT,
        ModelResultEvent: OmissionReason.MODEL_AUDIT,
        AssistantDelta: OmissionReason.STREAM_DELTA,
    }
)
"""Why events of a kind are omitted (P9): None where they are grouped, `AUDIT` for the kinds not listed."""


@final
class OpenTurn:
    """What has been accepted of one turn so far. Satisfies `KnownIds`."""

    def __init__(self, turn_id: TurnId, message_ids: set[str]) -> None:
        self.turn_id = turn_id
        self.state = TurnState.EMPTY
        self.message_ids: Set[str] = message_ids
        self._message_ids = message_ids
        self._events = list[SessionEvent]()
        self._user: tuple[EventId, str] | None = None
        self._reply: tuple[SessionEvent, str] | None = None
        self._terminal: SessionEvent | None = None
        self._ended = ProjectedState.OPEN
        self._calls = dict[str, tuple[SessionEvent, ToolCall]]()
        self._results = dict[str, tuple[EventId, ToolOutcome]]()
        self._model_calls = dict[str, None]()
        self._model_results = dict[str, None]()

    @property
    def tool_calls(self) -> KeysView[str]:
        """Calls of this turn."""
        return self._calls.keys()

    @property
    def tool_results(self) -> KeysView[str]:
        """Calls of this turn that have their result."""
        return self._results.keys()

    @property
    def model_calls(self) -> KeysView[str]:
        """Model requests of this turn."""
        return self._model_calls.keys()

    @property
    def model_results(self) -> KeysView[str]:
        """Model requests of this turn that have their result."""
        return self._model_results.keys()

    @property
    def last_event(self) -> SessionEvent | None:
        """The last accepted event."""
        return self._events[-1] if self._events else None

    @property
    def call_events(self) -> tuple[SessionEvent, ...]:
        """The events of its calls, in call order: that of its exchanges."""
        return tuple([event for event, _ in self._calls.values()])

    def take(self, event: SessionEvent) -> MalformedReason | None:
        """Accept one event, or say why not and stay as before (P4, B10)."""
        after = step(self.state, self, event)
        if isinstance(after, MalformedReason):
            return after
        self.state = after
        self._events.append(event)
        self._note(event)
        return None

    def unconfirmed(self, *, is_last: bool) -> Unconfirmed | None:
        """Work whose end is not recorded (P5): failed and cancelled turns are no exception."""
        calls = tuple(ToolCallId(call) for call in self._calls if call not in self._results)
        models = tuple(ModelCallId(c) for c in self._model_calls if c not in self._model_results)
        only_user = len(self._events) == 1 and self._user is not None
        unterminated = self._terminal is None and not (only_user and is_last)
        if not (calls or models or unterminated):
            return None
        return Unconfirmed(
            turn_id=self.turn_id,
            open_tool_calls=calls,
            open_model_calls=models,
            unterminated=unterminated,
        )

    def missing_reply(self, config: ProjectionConfig) -> MissingReply | None:
        """A successful turn without a complete reply, unless the host admits it (P6)."""
        if config.legacy_replies is LegacyReplies.OMIT or not self._misses_reply():
            return None
        return MissingReply(turn_id=self.turn_id)

    def groups(self) -> tuple[Group, ...]:
        """User, exchanges in call order whatever the order of results, reply if successful (P7)."""
        groups = list[Group]()
        if self._user is not None:
            event_id, text = self._user
            groups.append(self._single(GroupKind.USER, event_id, UserMessage(content=text)))
        groups += [self._exchange(call_id) for call_id in self._calls]
        if self._reply is not None and self._ended in _SUCCESSFUL:
            event, text = self._reply
            reply = AssistantMessage(content=text)
            groups.append(self._single(GroupKind.ASSISTANT, event.event_id, reply))
        return tuple(groups)

    def projected(self, groups: tuple[Group, ...]) -> ProjectedTurn:
        """The finished turn around its groups."""
        return turn_of(
            self.turn_id,
            self._ended,
            None if self._terminal is None else self._terminal.event_id,
            groups,
            missing_complete_reply=self._misses_reply(),
        )

    def omissions(self) -> list[Omission]:
        """Every event of the turn that is in no group, in order, with its reason (P9)."""
        return [
            Omission(event_id=event.event_id, seq=event.seq, reason=reason)
            for event in self._events
            if (reason := self._omitted_for(event)) is not None
        ]

    def _omitted_for(self, event: SessionEvent) -> OmissionReason | None:
        kind = type(event.kind)
        if kind is AssistantReply:
            return None if self._ended in _SUCCESSFUL else OmissionReason.UNSUCCESSFUL_REPLY
        return _OMITTED.get(kind, OmissionReason.AUDIT)

    def _misses_reply(self) -> bool:
        return self._reply is None and self._ended in _SUCCESSFUL

    def _note(self, event: SessionEvent) -> None:
        """Record what an accepted event adds to the ids and to the turn's parts."""
        kind = event.kind
        if isinstance(kind, ModelRequestEvent):
            self._model_calls[kind.request.call_id] = None
        elif isinstance(kind, ModelResultEvent):
            self._model_results[kind.result.call_id] = None
        elif isinstance(kind, ToolCallEvent):
            self._calls[kind.call.id] = (event, kind.call)
        elif isinstance(kind, ToolResultEvent):
            self._results[kind.result.call_id] = (event.event_id, kind.result.outcome)
        elif isinstance(kind, UserMessageEvent):
            self._user = (event.event_id, kind.text)
        elif isinstance(kind, AssistantReply):
            self._reply = (event, kind.text)
            assert event.message_id is not None, "guarded by `step`"
            self._message_ids.add(event.message_id)
        elif isinstance(kind, DoneEvent | ErrorEvent):
            self._terminal = event
            self._ended = _ended(kind)

    def _exchange(self, call_id: str) -> Group:
        """One call and its result in the rendition `recorded` (P8)."""
        event, call = self._calls[call_id]
        result_event, outcome = self._results[call_id]
        synthetic = ProviderCallId(f"jw_tool_{event.seq}")
        called = ModelToolCall(id=synthetic, name=call.name, arguments=call.arguments)
        asked = AssistantMessage(content=None, tool_calls=(called,))
        content = outcome_text(outcome)
        return Group(
            turn_id=self.turn_id,
            kind=GroupKind.TOOL_EXCHANGE,
            source_events=(event.event_id, result_event),
            messages=(asked, ToolMessage(call_id=synthetic, content=content)),
            message_bytes=(message_bytes(asked), tool_message_bytes(synthetic, content)),
        )

    def _single(self, kind: GroupKind, source: EventId, message: ModelMessage) -> Group:
        return Group(
            turn_id=self.turn_id,
            kind=kind,
            source_events=(source,),
            messages=(message,),
            message_bytes=(message_bytes(message),),
        )


def _ended(kind: DoneEvent | ErrorEvent) -> ProjectedState:
    if isinstance(kind, ErrorEvent):
        return ProjectedState.FAILED
    match kind.status:
        case DoneStatus.COMPLETED:
            return ProjectedState.COMPLETED
        case DoneStatus.WAITING_FOR_INPUT:
            return ProjectedState.WAITING_FOR_INPUT
        case DoneStatus.CHECKPOINTED:
            return ProjectedState.CHECKPOINTED
        case DoneStatus.CANCELLED:
            return ProjectedState.CANCELLED
        case _:
            assert_never(kind.status)
