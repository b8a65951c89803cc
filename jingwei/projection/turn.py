"""One turn: the ids its guards need, what it left open, and the groups it becomes (rules P4 to P9).

`OpenTurn` is the memory of a loop, not a record: each run of events in a piece of a log has its own,
which starts from the `RunningTurn` of the pieces before and ends as the one for the pieces after (P13).
The rules themselves are `step` (pure, over the turn table) and the functions that read a turn when its
events are over.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final, TypeVar, assert_never, final

import attrs

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
    ToolCallEvent,
    ToolResultEvent,
    UserMessageEvent,
)
from jingwei.events.turns import MalformedReason, TurnState, step
from jingwei.events.wire import outcome_text
from jingwei.ids import EventId, MessageId, ModelCallId, ProviderCallId, ToolCallId, TurnId
from jingwei.messages.records import (
    AssistantMessage,
    ModelMessage,
    ModelToolCall,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import message_bytes, tool_message_bytes
from jingwei.persistent import Table, Vector
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

V = TypeVar("V")

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
@attrs.frozen(kw_only=True)
class Pairs:
    """What a turn asked for, in its order, and what answered it.

    Attributes:
        order: the id of each call.
        asked: its event, by call id.
        answers: the event that answered it, by call id.
        settled: how many calls, from the first on, are answered without a gap.
    """

    order: Vector[str] = Vector()
    asked: Table[str, SessionEvent] = Table()
    answers: Table[str, SessionEvent] = Table()
    settled: int = 0


@final
@attrs.frozen(kw_only=True)
class RunningTurn:
    """The last turn of a log, between two pieces of it (P13). Shares all but its newest parts with the next.

    Attributes:
        turn_id: the turn.
        start: how many events went before it.
        before: the last of them; None where it is the first turn.
        state: where it stands in the turn table.
        events: its events.
        groups: those that no further event can change, in order (P7).
        tools: its calls and their results.
        models: its model requests and their results.
        reply: the event of its complete reply, and the text.
        terminal: the event that closed it.
        ended: how it closed; `OPEN` before.
        damaged: whether it is in quarantine already (P14).
        settled: whether it was emitted; then nothing but its id is kept.
    """

    turn_id: TurnId
    start: int = 0
    before: EventId | None = None
    state: TurnState = TurnState.EMPTY
    events: Vector[SessionEvent] = Vector()
    groups: Vector[Group] = Vector()
    tools: Pairs = Pairs()
    models: Pairs = Pairs()
    reply: tuple[SessionEvent, str] | None = None
    terminal: EventId | None = None
    ended: ProjectedState = ProjectedState.OPEN
    damaged: bool = False
    settled: bool = False


@final
class OpenTurn:
    """A running turn while a piece of its events is walked. Satisfies `KnownIds`.

    Attributes:
        turn_id: the turn.
        state: where it stands.
        new_groups: the groups that became final with this piece.
        damaged: whether it is in quarantine.
        settled: whether it was emitted.
        tool_calls: its calls.
        tool_results: those that have their result.
        model_calls: its model requests.
        model_results: those that have their result.
    """

    def __init__(self, base: RunningTurn, message_ids: Container[str] = ()) -> None:
        self.turn_id = base.turn_id
        self.state = base.state
        self.new_groups = list[Group]()
        self.damaged = base.damaged
        self.settled = base.settled
        self._base = base
        self._message_ids = message_ids
        self._events = list[SessionEvent]()
        self._reply = base.reply
        self._terminal = base.terminal
        self._ended = base.ended
        self._tools = _OpenPairs(base.tools)
        self._models = _OpenPairs(base.models)
        self.tool_calls, self.tool_results = self._tools.asked, self._tools.answered
        self.model_calls, self.model_results = self._models.asked, self._models.answered

    @property
    def message_ids(self) -> Container[str]:
        """Message ids of the session's complete replies, that of this turn with them."""
        own = self.message_id
        return self._message_ids if own is None else _Either({own}, self._message_ids)

    @property
    def message_id(self) -> MessageId | None:
        """The message id of its complete reply, if it has one."""
        return None if self._reply is None else self._reply[0].message_id

    @property
    def last_event(self) -> SessionEvent | None:
        """The last accepted event."""
        if self._events:
            return self._events[-1]
        return self._base.events[-1] if self._base.events else None

    def take(self, event: SessionEvent) -> MalformedReason | None:
        """Accept one event, or say why not and stay as before (P4, B10)."""
        after = step(self.state, self, event)
        if isinstance(after, MalformedReason):
            return after
        self.state = after
        self._events.append(event)
        self._note(event)
        return None

    def damage(self, events: Iterable[SessionEvent]) -> None:
        """Put it in quarantine, or leave it there, with these further events of its run (P14)."""
        self.damaged = True
        self._events += events

    def unconfirmed(self, *, is_last: bool) -> Unconfirmed | None:
        """Work whose end is not recorded (P5): failed and cancelled turns are no exception."""
        calls = tuple(map(ToolCallId, self._tools.open()))
        models = tuple(map(ModelCallId, self._models.open()))
        unterminated = self._terminal is None and not (is_last and self._holds_user_only())
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
        return (*self._base.groups, *self.new_groups)

    def projected(self, groups: tuple[Group, ...]) -> ProjectedTurn:
        """The finished turn around its groups."""
        return turn_of(
            self.turn_id,
            self._ended,
            self._terminal,
            groups,
            missing_complete_reply=self._misses_reply(),
        )

    def quarantined(self) -> ProjectedTurn:
        """The turn left out whole (P14)."""
        return turn_of(self.turn_id, ProjectedState.QUARANTINED, None, (), missing_complete_reply=False)

    def omissions(self) -> tuple[Omission, ...]:
        """Every event of the turn that is in no group, in order, with its reason (P9)."""
        return tuple(
            [
                Omission(event_id=event.event_id, seq=event.seq, reason=reason)
                for event in chain(self._base.events, self._events)
                if (reason := self._omitted_for(event)) is not None
            ]
        )

    def all_omitted(self) -> tuple[Omission, ...]:
        """Every event of the turn, left out with it (P14)."""
        return tuple(
            [
                Omission(event_id=event.event_id, seq=event.seq, reason=OmissionReason.QUARANTINED)
                for event in chain(self._base.events, self._events)
            ]
        )

    def frozen(self) -> RunningTurn:
        """What is to be known of it when the next piece comes."""
        if self.settled:
            return RunningTurn(turn_id=self.turn_id, state=self.state, settled=True)
        return RunningTurn(
            turn_id=self.turn_id,
            start=self._base.start,
            before=self._base.before,
            state=self.state,
            events=self._base.events.extended(self._events),
            groups=self._base.groups.extended(self.new_groups),
            tools=self._tools.frozen(),
            models=self._models.frozen(),
            reply=self._reply,
            terminal=self._terminal,
            ended=self._ended,
            damaged=self.damaged,
        )

    def _holds_user_only(self) -> bool:
        """One event, and a group was made of it: it is the user message."""
        return (
            len(self._base.events) + len(self._events) == len(self._base.groups) + len(self.new_groups) == 1
        )

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
        if isinstance(kind, ToolCallEvent):
            self._tools.ask(kind.call.id, event)
        elif isinstance(kind, ToolResultEvent):
            self._tools.answer(kind.result.call_id, event)
            for asked, answer in self._tools.settle():
                self.new_groups.append(self._exchange(asked, answer))
        elif isinstance(kind, ModelRequestEvent):
            self._models.ask(kind.request.call_id, event)
        elif isinstance(kind, ModelResultEvent):
            self._models.answer(kind.result.call_id, event)
        elif isinstance(kind, UserMessageEvent):
            self.new_groups.append(
                self._single(GroupKind.USER, event.event_id, UserMessage(content=kind.text))
            )
        elif isinstance(kind, AssistantReply):
            self._reply = (event, kind.text)
        elif isinstance(kind, DoneEvent | ErrorEvent):
            self._close(event.event_id, _ended(kind))

    def _close(self, terminal: EventId, ended: ProjectedState) -> None:
        """Only now is it known whether the reply is a message: that of a failed turn is none (P7)."""
        self._terminal, self._ended = terminal, ended
        if self._reply is not None and ended in _SUCCESSFUL:
            event, text = self._reply
            message = AssistantMessage(content=text)
            self.new_groups.append(self._single(GroupKind.ASSISTANT, event.event_id, message))

    def _exchange(self, asked: SessionEvent, answer: SessionEvent) -> Group:
        """One call and its result in the rendition `recorded` (P8)."""
        assert isinstance(asked.kind, ToolCallEvent), "what `_note` asks with"
        assert isinstance(answer.kind, ToolResultEvent), "what `_note` answers with"
        call, outcome = asked.kind.call, answer.kind.result.outcome
        synthetic = ProviderCallId(f"jw_tool_{asked.seq}")
        called = ModelToolCall(id=synthetic, name=call.name, arguments=call.arguments)
        message = AssistantMessage(content=None, tool_calls=(called,))
        content = outcome_text(outcome)
        return Group(
            turn_id=self.turn_id,
            kind=GroupKind.TOOL_EXCHANGE,
            source_events=(asked.event_id, answer.event_id),
            messages=(message, ToolMessage(call_id=synthetic, content=content)),
            message_bytes=(message_bytes(message), tool_message_bytes(synthetic, content)),
        )

    def _single(self, kind: GroupKind, source: EventId, message: ModelMessage) -> Group:
        return Group(
            turn_id=self.turn_id,
            kind=kind,
            source_events=(source,),
            messages=(message,),
            message_bytes=(message_bytes(message),),
        )


@final
class _OpenPairs:
    """Pairs while a piece is walked: those of the earlier pieces, and what this one adds."""

    def __init__(self, base: Pairs) -> None:
        self._base = base
        self._old = len(base.order)
        self._order = list[str]()
        self._asked = dict[str, SessionEvent]()
        self._answers = dict[str, SessionEvent]()
        self._settled = base.settled
        self.asked = either(self._asked, base.asked)
        self.answered = either(self._answers, base.answers)

    def ask(self, call_id: str, event: SessionEvent) -> None:
        """A call, after all earlier ones."""
        self._order.append(call_id)
        self._asked[call_id] = event

    def answer(self, call_id: str, event: SessionEvent) -> None:
        """What answers a call."""
        self._answers[call_id] = event

    def settle(self) -> list[tuple[SessionEvent, SessionEvent]]:
        """The pairs that are complete by now and have no open call before them, each told once."""
        found = list[tuple[SessionEvent, SessionEvent]]()
        end = self._old + len(self._order)
        while self._settled < end:
            call_id = self._at(self._settled)
            asked = _found(call_id, self._asked, self._base.asked)
            answer = _found(call_id, self._answers, self._base.answers)
            if asked is None or answer is None:
                break
            found.append((asked, answer))
            self._settled += 1
        return found

    def open(self) -> Iterator[str]:
        """The calls without an answer, in their order."""
        calls = map(self._at, range(self._settled, self._old + len(self._order)))
        return (call_id for call_id in calls if call_id not in self.answered)

    def frozen(self) -> Pairs:
        """All pairs so far."""
        if not self._asked and not self._answers:
            return self._base
        self.settle()
        return Pairs(
            order=self._base.order.extended(self._order),
            asked=self._base.asked.extended(self._asked),
            answers=self._base.answers.extended(self._answers),
            settled=self._settled,
        )

    def _at(self, place: int) -> str:
        return self._base.order[place] if place < self._old else self._order[place - self._old]


def _found(key: str, new: Mapping[str, V], old: Table[str, V]) -> V | None:
    found = new.get(key)
    return old.get(key) if found is None else found


@final
class _Either:
    """What is in one of two containers."""

    def __init__(self, first: Container[str], second: Container[str]) -> None:
        self._first = first
        self._second = second

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (key in self._first or key in self._second)


def either(new: Container[str], old: Table[str, V]) -> Container[str]:
    """What is in one of the two: the ids of a piece and those of the pieces before."""
    return _Either(new, old) if len(old) else new


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
