"""The next event of a log, or the rule that it would break (rule L3).

A log that can never project again is cheaper to refuse when it is written than to mend when it is read.
The writer asks the same turn table as the projection (`step`), and what the projection asks at the end of
a turn it asks at the first event that makes the end impossible: a terminal while a call is open, and a
reply while a call is open, since no result may follow the reply (P4).

A new event must have a line that reads back as this event (W5, W6): one that has none would make the whole
log unreadable. Bounds are no rule of writing: they are the reader's choice (P1).
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol, final

import attrs

from jingwei.events.failures import WriteFailure, WriteReason, WriteRefused
from jingwei.events.log import log_violations
from jingwei.events.records import (
    AssistantReply,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    EventKind,
    ModelRequestEvent,
    ModelResultEvent,
    SessionEvent,
    SessionLog,
    ToolCallEvent,
    ToolResultEvent,
)
from jingwei.events.turns import MalformedReason, TurnState, step
from jingwei.events.wire import unreadable
from jingwei.ids import (
    EventId,
    GenerationId,
    MessageId,
    ModelCallId,
    SessionId,
    ToolCallId,
    TurnId,
    is_blank,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import Table


class IdSource(Protocol):
    """Where the ids of written events come from: pure, so that the same log is written twice alike.

    An id that the session has used is refused like any other, and nothing is written.
    """

    def event_id(self, seq: int) -> EventId:
        """The id of the event at this place: unique in the session, not blank."""
        ...

    def message_id(self, seq: int) -> MessageId:
        """The id of the reply at this place: unique in the session, not blank."""
        ...


@final
@attrs.frozen(kw_only=True)
class NumberedIds:
    """Ids made of a prefix and the place: enough where one writer at a time makes all ids of a session."""

    prefix: str

    def event_id(self, seq: int) -> EventId:
        """`<prefix>event_<seq>`."""
        return EventId(f"{self.prefix}event_{seq}")

    def message_id(self, seq: int) -> MessageId:
        """`<prefix>message_<seq>`."""
        return MessageId(f"{self.prefix}message_{seq}")


@final
class EarlierTurns(enum.Enum):
    """What is asked of the turns before the last when a log is taken up again (L3).

    `REJECT` asks that they project by default. `KEEP` takes them as they are, P3 apart, for hosts that read
    with `LegacyReplies.OMIT` or `DamagedTurns.QUARANTINE`: all their ids stay used.
    """

    REJECT = "reject"
    KEEP = "keep"


@final
@attrs.frozen(kw_only=True)
class TurnSoFar:
    """What has been written of the last turn.

    Attributes:
        turn_id: the turn.
        state: where it stands in the turn table.
        event_count: its events.
        tool_calls: its tool calls in order, each with the tool's name.
        tool_results: those of them that have their result.
        model_calls: its model requests in order.
        model_results: those of them that have their result.
    """

    turn_id: TurnId
    state: TurnState = TurnState.EMPTY
    event_count: int = 0
    tool_calls: Table[ToolCallId, str] = attrs.field(factory=Table[ToolCallId, str])
    tool_results: Table[ToolCallId, None] = attrs.field(factory=Table[ToolCallId, None])
    model_calls: Table[ModelCallId, None] = attrs.field(factory=Table[ModelCallId, None])
    model_results: Table[ModelCallId, None] = attrs.field(factory=Table[ModelCallId, None])

    @property
    def has_open_calls(self) -> bool:
        """Whether a call or request waits for its result; does not walk them."""
        tools, models = len(self.tool_results), len(self.model_results)
        return len(self.tool_calls) > tools or len(self.model_calls) > models

    @property
    def open_tool_calls(self) -> tuple[ToolCallId, ...]:
        """Tool calls without a result, in call order."""
        return tuple([call for call in self.tool_calls if call not in self.tool_results])

    @property
    def open_model_calls(self) -> tuple[ModelCallId, ...]:
        """Model requests without a result, in order."""
        return tuple([call for call in self.model_calls if call not in self.model_results])


@final
@attrs.frozen(kw_only=True)
class SessionWriter:
    """How far a log has been written: what the next event is held against, and none of the log's text.

    Immutable: each written event gives another writer that shares nearly all of this one, so that a host
    may try an event and drop the answer. Memory an event is that of one look-up of its ids; time is that, and
    one writing and reading of the event where it holds more than texts.
    Made by `start_writer` and `resume_writer`.

    Attributes:
        session_id: the session of every event.
        event_ids: the ids of all events, in order.
        turn_ids: the ids of all turns, in order.
        message_ids: the ids of all complete replies, in order.
        turn: the last turn; None for an empty log.
    """

    session_id: SessionId
    event_ids: Table[EventId, None] = attrs.field(factory=Table[EventId, None])
    turn_ids: Table[TurnId, None] = attrs.field(factory=Table[TurnId, None])
    message_ids: Table[MessageId, None] = attrs.field(factory=Table[MessageId, None])
    turn: TurnSoFar | None = None

    @property
    def next_seq(self) -> int:
        """Where the next event will stand."""
        return len(self.event_ids)

    def offer(
        self,
        ids: IdSource,
        turn_id: TurnId,
        kind: EventKind,
        *,
        message_id: MessageId | None = None,
        generation_id: GenerationId | None = None,
    ) -> "Outcome[Written, WriteRefused]":
        """The event that records this, and the writer behind it; or the rule that forbids it (L3).

        An event of another turn than the last begins that turn. A complete reply without a message id is
        given one by `ids`. What the writer takes, `decode_log` reads back, and equal; an event that no
        reader takes is `UNREADABLE`, after all other rules. Pure: nothing is stored, and this writer stays
        as it was.
        """
        seq = self.next_seq
        if message_id is None and isinstance(kind, AssistantReply):
            message_id = ids.message_id(seq)
        event = SessionEvent(
            event_id=ids.event_id(seq),
            session_id=self.session_id,
            turn_id=turn_id,
            generation_id=generation_id,
            message_id=message_id,
            seq=seq,
            kind=kind,
        )
        after = _taken(self, event)
        if isinstance(after, WriteRefused):
            return Failure(after)
        unread = unreadable(event)
        if unread is not None:
            refused = _refused(event, WriteReason.UNREADABLE)
            return Failure(attrs.evolve(refused, unreadable=unread.reason, path=unread.path))
        return Success(Written(event=event, writer=after))


@final
@attrs.frozen(kw_only=True)
class Written:
    """One event more.

    Attributes:
        event: the whole event, for the host to store.
        writer: the writer behind it; to be used once the event is stored.
    """

    event: SessionEvent
    writer: SessionWriter


def start_writer(session_id: SessionId) -> SessionWriter:
    """The writer of an empty log. A blank session id is refused with the first event (P2)."""
    return SessionWriter(session_id=session_id)


def resume_writer(
    session_id: SessionId, log: SessionLog, earlier: EarlierTurns = EarlierTurns.REJECT
) -> Outcome[SessionWriter, WriteFailure]:
    """The writer behind a log that exists: the one that would have written it (L3).

    Fails with the first violation of L1, else with the first event that could not have been written.
    Under `EarlierTurns.KEEP` damaged turns are passed over; where the last turn is one, it counts as
    closed. What the log holds is not asked to be readable: it has been read. Linear.
    """
    resumed = resumed_log(session_id, log, earlier)
    return Success(resumed.writer) if isinstance(resumed, Resumed) else Failure(resumed)


@final
@attrs.frozen(kw_only=True)
class Resumed:
    """A writer, and what is wrong with the last turn of its log: under `EarlierTurns.KEEP` only."""

    writer: SessionWriter
    damage: WriteRefused | None


def resumed_log(session_id: SessionId, log: SessionLog, earlier: EarlierTurns) -> Resumed | WriteFailure:
    """See `resume_writer`; for those who must know whether the last turn is sound."""
    for violation in log_violations(session_id, log.events):
        return violation
    writer, damage = start_writer(session_id), None
    for event in log.events:
        if not _is_of(writer.turn, event):
            damage = None
        after = _taken(writer, event)
        if earlier is EarlierTurns.KEEP and _is_unterminated(after):
            writer = _closed(writer)
            after = _taken(writer, event)
        if isinstance(after, WriteRefused):
            if earlier is EarlierTurns.REJECT or after.rule in _NEVER_KEPT:
                return after
            damage = damage or after
            after = _passed_over(writer, event)
        writer = after
    return Resumed(writer=writer, damage=damage)


_RULES: Final[Mapping[MalformedReason | WriteReason, str]] = MappingProxyType(
    {
        **dict.fromkeys(MalformedReason, "P4"),
        MalformedReason.BLANK_TURN_ID: "P3",
        MalformedReason.TURN_NOT_CONTIGUOUS: "P3",
        WriteReason.BLANK_SESSION_ID: "P2",
        WriteReason.REPEATED_EVENT_ID: "L1",
        WriteReason.TURN_NOT_TERMINATED: "P5",
        WriteReason.OPEN_CALLS: "P5",
        WriteReason.MISSING_REPLY: "P6",
        WriteReason.UNREADABLE: "W5",
    }
)
"""The rule that the log would break."""

_NEVER_KEPT: Final = frozenset({"P2", "P3"})
"""What no way of reading admits."""


@final
@attrs.frozen(kw_only=True)
class _Known:
    """The ids that a turn's guards ask for. Satisfies `KnownIds`."""

    tool_calls: Table[ToolCallId, str]
    tool_results: Table[ToolCallId, None]
    model_calls: Table[ModelCallId, None]
    model_results: Table[ModelCallId, None]
    message_ids: Table[MessageId, None]


def _taken(writer: SessionWriter, event: SessionEvent) -> SessionWriter | WriteRefused:
    """The writer behind an event that stands at its place; the rules in the order of P2 to P6."""
    if is_blank(event.session_id):
        return _refused(event, WriteReason.BLANK_SESSION_ID)
    if event.event_id in writer.event_ids:
        return _refused(event, WriteReason.REPEATED_EVENT_ID)
    turn = writer.turn
    if turn is None or turn.turn_id != event.turn_id:
        refused = _beginning_refused(writer, event)
        if refused is not None:
            return refused
        turn = TurnSoFar(turn_id=event.turn_id)
    known = _Known(
        tool_calls=turn.tool_calls,
        tool_results=turn.tool_results,
        model_calls=turn.model_calls,
        model_results=turn.model_results,
        message_ids=writer.message_ids,
    )
    state = step(turn.state, known, event)
    if isinstance(state, MalformedReason):
        return _refused(event, state)
    refused = _end_refused(turn, event)
    return _written(writer, event, _noted(turn, state, event.kind)) if refused is None else refused


def _beginning_refused(writer: SessionWriter, event: SessionEvent) -> WriteRefused | None:
    """Why no turn begins with this event (P5 of the turn before it, then P3)."""
    before = writer.turn
    if before is not None and before.state is not TurnState.CLOSED:
        return _refused(event, WriteReason.TURN_NOT_TERMINATED, before)
    if is_blank(event.turn_id):
        return _refused(event, MalformedReason.BLANK_TURN_ID)
    return _refused(event, MalformedReason.TURN_NOT_CONTIGUOUS) if event.turn_id in writer.turn_ids else None


def _end_refused(turn: TurnSoFar, event: SessionEvent) -> WriteRefused | None:
    """Why the turn could not end well behind this event, which the turn table allows (P5, P6).

    No result may follow the reply or the terminal: what is open then stays open.
    """
    kind = event.kind
    if not isinstance(kind, AssistantReply | DoneEvent | ErrorEvent):
        return None
    if turn.has_open_calls:
        return _refused(event, WriteReason.OPEN_CALLS, turn)
    succeeds = isinstance(kind, DoneEvent) and kind.status is not DoneStatus.CANCELLED
    if succeeds and turn.state is not TurnState.REPLIED:
        return _refused(event, WriteReason.MISSING_REPLY)
    return None


def _noted(turn: TurnSoFar, state: TurnState, kind: EventKind) -> TurnSoFar:
    """The turn with one event more."""
    tool_calls, tool_results = turn.tool_calls, turn.tool_results
    model_calls, model_results = turn.model_calls, turn.model_results
    if isinstance(kind, ToolCallEvent):
        tool_calls = tool_calls.extended({kind.call.id: kind.call.name})
    elif isinstance(kind, ToolResultEvent):
        tool_results = tool_results.extended({kind.result.call_id: None})
    elif isinstance(kind, ModelRequestEvent):
        model_calls = model_calls.extended({kind.request.call_id: None})
    elif isinstance(kind, ModelResultEvent):
        model_results = model_results.extended({kind.result.call_id: None})
    return TurnSoFar(
        turn_id=turn.turn_id,
        state=state,
        event_count=turn.event_count + 1,
        tool_calls=tool_calls,
        tool_results=tool_results,
        model_calls=model_calls,
        model_results=model_results,
    )


def _written(writer: SessionWriter, event: SessionEvent, turn: TurnSoFar) -> SessionWriter:
    """The writer with one event more, whose last turn is this."""
    turn_ids, message_ids = writer.turn_ids, writer.message_ids
    if not _is_of(writer.turn, event):
        turn_ids = turn_ids.extended({turn.turn_id: None})
    if turn.state is TurnState.REPLIED and isinstance(event.kind, AssistantReply):
        assert event.message_id is not None, "guarded by `step`"
        message_ids = message_ids.extended({event.message_id: None})
    return SessionWriter(
        session_id=writer.session_id,
        event_ids=writer.event_ids.extended({event.event_id: None}),
        turn_ids=turn_ids,
        message_ids=message_ids,
        turn=turn,
    )


def _refused(
    event: SessionEvent, reason: MalformedReason | WriteReason, turn: TurnSoFar | None = None
) -> WriteRefused:
    """The refusal of an event, with what is open in the turn that keeps it out."""
    return WriteRefused(
        rule=_RULES[reason],
        reason=reason,
        event_id=event.event_id,
        seq=event.seq,
        turn_id=event.turn_id if turn is None else turn.turn_id,
        open_tool_calls=() if turn is None else turn.open_tool_calls,
        open_model_calls=() if turn is None else turn.open_model_calls,
    )


# --- turns that are kept as they are ----------------------------------------------------------------


def _is_of(turn: TurnSoFar | None, event: SessionEvent) -> bool:
    return turn is not None and turn.turn_id == event.turn_id


def _is_unterminated(after: SessionWriter | WriteRefused) -> bool:
    return isinstance(after, WriteRefused) and after.reason is WriteReason.TURN_NOT_TERMINATED


def _closed(writer: SessionWriter) -> SessionWriter:
    """The writer for which nothing can be added to the last turn."""
    assert writer.turn is not None, "an unterminated turn is one"
    return attrs.evolve(writer, turn=attrs.evolve(writer.turn, state=TurnState.CLOSED))


def _passed_over(writer: SessionWriter, event: SessionEvent) -> SessionWriter:
    """The writer behind an event that breaks its turn: the turn is over with it."""
    return _written(writer, event, TurnSoFar(turn_id=event.turn_id, state=TurnState.CLOSED))
