"""State machines that grow session logs, for jingwei's own properties and for a host's projector.

A host subclasses `LogMachine`, overrides `project`, and takes its `TestCase`:

    class MyMachine(LogMachine):
        def project(self, log, config):
            return my_projector(SESSION, log, config)

    TestMyProjector = MyMachine.TestCase
"""
# Hypothesis' `rule` is typed to return a callable of any arguments.
# mypy: disallow-any-decorated=False

from typing import Final

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, precondition, rule

from jingwei.events.records import (
    AssistantDelta,
    AssistantReply,
    EventKind,
    SessionEvent,
    SessionLog,
    ToolCallEvent,
    UserMessageEvent,
)
from jingwei.events.wire import session_log
from jingwei.ids import EventId, MessageId, SessionId, TurnId
from jingwei.outcome import Failure, Outcome
from jingwei.projection.failures import ProjectionFailure, Unconfirmed
from jingwei.projection.project import project
from jingwei.projection.records import DEFAULT_CONFIG, LegacyReplies, Projection, ProjectionConfig
from jingwei.testing import strategies as some

TIGHT: Final = ProjectionConfig(max_events=12, max_messages=5, max_input_bytes=2500)
LEGACY: Final = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)


class LogMachine(RuleBasedStateMachine):
    """Appends legal and illegal events to one log and compares two projectors after each.

    Ids of turns, calls and messages come through bundles, so that they recur within and across turns.
    An event that can never be right where it stands is tried, compared and taken back, so that the
    log stays one that can still become whole; `ruin` leaves the last such event in.
    """

    turn_ids: Bundle[str] = Bundle("turn_ids")
    call_ids: Bundle[str] = Bundle("call_ids")
    message_ids: Bundle[str] = Bundle("message_ids")

    def __init__(self) -> None:
        super().__init__()
        self.events = list[SessionEvent]()
        self.turn_id = TurnId("t0")
        self.turns = 0
        self.replies = 0
        self.refused: SessionEvent | None = None

    # --- what a host overrides -----------------------------------------------------------------

    def project(self, log: SessionLog, config: ProjectionConfig) -> Outcome[Projection, ProjectionFailure]:
        """The projector under test."""
        return project(some.SESSION, log, config)

    def judge(self, log: SessionLog, config: ProjectionConfig) -> None:
        """Compare `self.project` with the reference; raises AssertionError where they differ."""
        expected = project(some.SESSION, log, config)
        actual = self.project(log, config)
        assert expected == actual, (expected, actual)

    # --- rules -----------------------------------------------------------------------------------

    @initialize(target=call_ids)
    def begin(self) -> str:
        """A first call id, so that no rule waits for one."""
        return "c0"

    @rule(target=turn_ids)
    def next_turn(self) -> str:
        """Begin a turn that has not been."""
        self.turns += 1
        self.turn_id = TurnId(f"t{self.turns}")
        return self.turn_id

    @rule(turn_id=turn_ids)
    def same_turn_again(self, turn_id: str) -> None:
        """Go on with a turn that has been: mostly illegal (P3)."""
        self.turn_id = TurnId(turn_id)

    @rule(target=call_ids, number=st.integers(0, 3))
    def another_call_id(self, number: int) -> str:
        """One more call id; a few recur."""
        return f"c{number}"

    @rule(target=message_ids)
    def another_message_id(self) -> str:
        """One more message id."""
        self.replies += 1
        return f"r{self.replies}"

    @rule(text=some.texts())
    def user(self, text: str) -> None:
        """The user speaks."""
        self.append(UserMessageEvent(text=text))

    @rule(text=some.texts())
    def delta(self, text: str) -> None:
        """A streamed piece."""
        self.append(AssistantDelta(text=text))

    @rule(text=some.texts(), message_id=consumes(message_ids))
    def reply(self, text: str, message_id: str) -> None:
        """A complete reply under a fresh id."""
        self.append(AssistantReply(text=text), message_id)

    @rule(text=some.texts(), message_id=message_ids | st.sampled_from((None, "", " ", "r1")))
    def doubtful_reply(self, text: str, message_id: str | None) -> None:
        """A complete reply under an id that may be used, blank or none."""
        self.append(AssistantReply(text=text), message_id)

    @rule(kind=some.tool_call_kinds(), call_id=call_ids)
    def call(self, kind: ToolCallEvent, call_id: str) -> None:
        """A tool call."""
        self.append(some.with_call_id(kind, call_id))

    @rule(
        kind=some.tool_result_kinds() | some.model_request_kinds() | some.model_result_kinds(),
        call_id=call_ids,
    )
    def linked(self, kind: some.LinkedKind, call_id: str) -> None:
        """A tool result, a model request or its result."""
        self.append(some.with_call_id(kind, call_id))

    @precondition(lambda self: self.events != [])
    @rule(kind=some.tool_result_kinds(), back=st.integers(1, 6))
    def answer(self, kind: some.LinkedKind, back: int) -> None:
        """A result for a call that was made a little before."""
        last = self.events[-min(back, len(self.events))].kind
        if isinstance(last, ToolCallEvent):
            self.append(some.with_call_id(kind, last.call.id))

    @rule(kind=some.audit_kinds())
    def audit(self, kind: EventKind) -> None:
        """Something that is no conversation."""
        self.append(kind)

    @rule(kind=some.done_kinds() | some.error_kinds())
    def end(self, kind: EventKind) -> None:
        """The end of the turn."""
        self.append(kind)

    @rule(kind=some.event_kinds(), message_id=some.message_ids())
    def anything(self, kind: EventKind, message_id: MessageId | None) -> None:
        """Any event, blank ids included."""
        self.append(kind, message_id)

    @rule(kind=some.event_kinds(), session=st.booleans(), seq=st.booleans(), event_id=st.booleans())
    def misplaced(self, kind: EventKind, session: bool, seq: bool, event_id: bool) -> None:
        """An event that breaks the physical order in one way or several (L1)."""
        event = self.event(kind, None)
        if session:
            event = attrs.evolve(event, session_id=SessionId("other"))
        if seq:
            event = attrs.evolve(event, seq=event.seq + 1)
        if event_id:
            event = attrs.evolve(event, event_id=EventId("e0"))
        self.offer(event)

    @rule(count=st.integers(1, 4))
    def take_back(self, count: int) -> None:
        """Cut the log: every prefix is a log as well."""
        del self.events[-count:]
        self.compare(self.events)

    @precondition(lambda self: self.refused is not None)
    @rule()
    def ruin(self) -> None:
        """Leave the last refused event in, and one more after it: the first failure must stand."""
        assert self.refused is not None
        after = attrs.evolve(self.refused, event_id=EventId("after"), seq=self.refused.seq + 1)
        self.compare([*self.events[: self.refused.seq], self.refused, after])

    # --- the log ---------------------------------------------------------------------------------

    def append(self, kind: EventKind, message_id: str | None = None) -> None:
        """Offer an event of this kind to the current turn."""
        self.offer(self.event(kind, message_id))

    def event(self, kind: EventKind, message_id: str | None) -> SessionEvent:
        """The event that would stand next."""
        return SessionEvent(
            event_id=EventId(f"e{len(self.events)}"),
            session_id=some.SESSION,
            turn_id=self.turn_id,
            message_id=None if message_id is None else MessageId(message_id),
            seq=len(self.events),
            kind=kind,
        )

    def offer(self, event: SessionEvent) -> None:
        """Compare the log with this event at its end; keep the event unless it can never be right."""
        log = [*self.events, event]
        if self.compare(log):
            self.events = log
        else:
            self.refused = event

    def compare(self, events: list[SessionEvent]) -> bool:
        """Judge a log under three configurations; True if more events could still make it whole."""
        log = session_log(events)
        for config in (TIGHT, LEGACY, DEFAULT_CONFIG):
            self.judge(log, config)
        match self.project(log, LEGACY):
            case Failure(Unconfirmed(turn_id=turn_id)):
                return turn_id == events[-1].turn_id
            case Failure(_):
                return False
            case _:
                return True
