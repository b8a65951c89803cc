"""State machines that grow session logs, for jingwei's own properties and for a host's projector.

A host subclasses `LogMachine`, overrides `project`, and takes its `TestCase`:

    class MyMachine(LogMachine):
        def project(self, log, config):
            return my_projector(SESSION, log, config)

    TestMyProjector = MyMachine.TestCase

`ProjectionMachine` (`jingwei.testing.projection_machine`) takes the same two overrides.
"""
# Hypothesis' `rule` is typed to return a callable of any arguments.
# mypy: disallow-any-decorated=False
# `override` is in no `typing` before Python 3.12, and jingwei declares no other source of it.
# mypy: disable-error-code=explicit-override

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    multiple,
    precondition,
    rule,
)
from hypothesis.strategies import DrawFn, SearchStrategy

from jingwei.events.records import (
    AssistantDelta,
    AssistantReply,
    DoneEvent,
    ErrorEvent,
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

LONG: Final = 40
"""Events of a log that is grown by one at a time only: no rule adds whole turns to it."""

_Drawn = TypeVar("_Drawn")
_Ending = some.Ending
_ENDINGS: Final = (
    _Ending.SUCCESS,
    _Ending.SUCCESS,
    _Ending.UNSUCCESSFUL,
    _Ending.LEGACY,
    _Ending.ASIDE,
    _Ending.OPEN,
)


@st.composite
def drawn(draw: DrawFn, make: Callable[[], SearchStrategy[_Drawn]]) -> _Drawn:
    """What another strategy draws, under a short name.

    Hypothesis writes the strategies of all rules out for almost every session and keeps the text: a
    megabyte, where they stand in full.
    """
    return draw(make())


class EventMachine(RuleBasedStateMachine):
    """Makes legal and illegal events for the end of one log, and hands each to `offer`.

    Ids of turns, calls and messages come through bundles, so that they recur within and across turns.
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

    # --- what a host overrides -----------------------------------------------------------------

    def project(self, log: SessionLog, config: ProjectionConfig) -> Outcome[Projection, ProjectionFailure]:
        """The projector under test."""
        return project(some.SESSION, log, config)

    def judge(self, log: SessionLog, config: ProjectionConfig) -> None:
        """Compare `self.project` with the reference; raises AssertionError where they differ."""
        expected = project(some.SESSION, log, config)
        actual = self.project(log, config)
        assert expected == actual, (expected, actual)

    # --- what a machine of this kind overrides ---------------------------------------------------

    def offer(self, event: SessionEvent) -> None:
        """Look at the log with this event at its end; keep the event or not."""

    # --- rules -----------------------------------------------------------------------------------

    @initialize(target=turn_ids)
    def begin_turns(self) -> str:
        """A first turn id, so that no rule waits for one."""
        return self.turn_id

    @initialize(target=call_ids)
    def begin_calls(self) -> MultipleResults[str]:
        """A few call ids: they recur in a turn and in the next ones."""
        return multiple("c0", "c1")

    @initialize(target=message_ids)
    def begin_replies(self) -> str:
        """A first message id, so that no rule waits for one; every reply adds its own."""
        return "r1"

    @rule(target=turn_ids)
    def next_turn(self) -> str:
        """Begin a turn that has not been."""
        return self._begin_turn()

    @rule(turn_id=turn_ids | st.sampled_from(some.BLANKS), kind=drawn(some.event_kinds))
    def other_turn(self, turn_id: str, kind: EventKind) -> None:
        """An event of a turn that has been, or that has no name: mostly illegal (P3)."""
        self.turn_id = TurnId(turn_id)
        self.append(kind)

    @rule(target=turn_ids, text=drawn(some.texts))
    def user(self, text: str) -> str:
        """The user speaks, and so begins a turn where none is running."""
        if self.is_between_turns:
            self._begin_turn()
        turn_id = self.turn_id
        self.append(UserMessageEvent(text=text))
        return turn_id

    @precondition(lambda self: not self.is_between_turns)
    @rule(text=drawn(some.texts))
    def delta(self, text: str) -> None:
        """A streamed piece."""
        self.append(AssistantDelta(text=text))

    @precondition(lambda self: not self.is_between_turns)
    @rule(target=message_ids, text=drawn(some.texts))
    def reply(self, text: str) -> str:
        """A complete reply under a fresh id."""
        message_id = self._next_message_id()
        self.append(AssistantReply(text=text), message_id)
        return message_id

    @rule(text=drawn(some.texts), message_id=message_ids | st.sampled_from((None, "", " ")))
    def doubtful_reply(self, text: str, message_id: str | None) -> None:
        """A complete reply under an id that may be used, blank or none."""
        self.append(AssistantReply(text=text), message_id)

    @precondition(lambda self: not self.is_between_turns)
    @rule(kind=drawn(some.tool_call_kinds), call_id=call_ids)
    def call(self, kind: ToolCallEvent, call_id: str) -> None:
        """A tool call."""
        self.append(some.with_call_id(kind, call_id))

    @precondition(lambda self: not self.is_between_turns)
    @rule(
        kind=drawn(some.tool_result_kinds) | drawn(some.model_request_kinds) | drawn(some.model_result_kinds),
        call_id=call_ids,
    )
    def linked(self, kind: some.LinkedKind, call_id: str) -> None:
        """A tool result, a model request or its result."""
        self.append(some.with_call_id(kind, call_id))

    @precondition(lambda self: self.events != [])
    @rule(kind=drawn(some.tool_result_kinds), back=st.integers(1, 6))
    def answer(self, kind: some.LinkedKind, back: int) -> None:
        """A result for a call that was made a little before."""
        last = self.events[-min(back, len(self.events))].kind
        if isinstance(last, ToolCallEvent):
            self.append(some.with_call_id(kind, last.call.id))

    @rule(kind=drawn(some.audit_kinds))
    def audit(self, kind: EventKind) -> None:
        """Something that is no conversation."""
        self.append(kind)

    @precondition(lambda self: not self.is_between_turns)
    @rule(kind=drawn(some.done_kinds) | drawn(some.error_kinds))
    def end(self, kind: EventKind) -> None:
        """The end of the turn."""
        self.append(kind)

    @precondition(lambda self: self.is_between_turns and len(self.events) < LONG)
    @rule(
        target=turn_ids, data=st.data(), endings=st.lists(st.sampled_from(_ENDINGS), min_size=1, max_size=3)
    )
    def whole_turns(self, data: st.DataObject, endings: list[str]) -> MultipleResults[str]:
        """Legal turns that have not been, event by event; under `LEGACY` none of the events is refused."""
        begun = list[str]()
        for ending in endings:
            if self.is_between_turns:
                begun.append(self._begin_turn())
                self._append_all(data.draw(some.legal_turns(self._next_message_id(), ending, 3)))
        return multiple(*begun)

    @precondition(lambda self: self.is_between_turns and len(self.events) < LONG)
    @rule(target=turn_ids, data=st.data(), missing=st.integers(1, 3))
    def part_of_a_turn(self, data: st.DataObject, missing: int) -> str:
        """A legal turn without its last events: calls may be open, a reply may stand."""
        turn_id = self._begin_turn()
        steps = data.draw(some.legal_turns(self._next_message_id(), _Ending.SUCCESS, 4))
        self._append_all(steps[: max(1, len(steps) - missing)])
        return turn_id

    @rule(kind=drawn(some.event_kinds), message_id=some.message_ids())
    def anything(self, kind: EventKind, message_id: MessageId | None) -> None:
        """Any event, blank ids included."""
        self.append(kind, message_id)

    @rule(kind=drawn(some.event_kinds), session=st.booleans(), seq=st.booleans(), event_id=st.booleans())
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

    # --- the log ---------------------------------------------------------------------------------

    @property
    def is_between_turns(self) -> bool:
        """Whether no turn is running: a new one can begin."""
        return not self.events or isinstance(self.events[-1].kind, DoneEvent | ErrorEvent)

    @property
    def next_event_id(self) -> EventId:
        """An id that no event before has: the same one wherever the log has this length."""
        return EventId(f"e{len(self.events)}")

    def append(self, kind: EventKind, message_id: str | None = None) -> None:
        """Offer an event of this kind to the current turn."""
        self.offer(self.event(kind, message_id))

    def event(self, kind: EventKind, message_id: str | None) -> SessionEvent:
        """The event that would stand next."""
        return SessionEvent(
            event_id=self.next_event_id,
            session_id=some.SESSION,
            turn_id=self.turn_id,
            message_id=None if message_id is None else MessageId(message_id),
            seq=len(self.events),
            kind=kind,
        )

    def _append_all(self, steps: Sequence[some.Step]) -> None:
        for step in steps:
            self.append(step.kind, step.message_id)

    def _begin_turn(self) -> TurnId:
        self.turns += 1
        self.turn_id = TurnId(f"t{self.turns}")
        return self.turn_id

    def _next_message_id(self) -> str:
        self.replies += 1
        return f"r{self.replies}"


class LogMachine(EventMachine):
    """Appends legal and illegal events to one log and compares two projectors after each.

    An event that can never be right where it stands is tried, compared and taken back, so that the
    log stays one that can still become whole; `ruin` leaves the last such event in.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refused: SessionEvent | None = None

    # --- rules -----------------------------------------------------------------------------------

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

    def offer(self, event: SessionEvent) -> None:
        """Compare the log with this event at its end; keep the event unless it can never be right."""
        log = [*self.events, event]
        if self.compare(log):
            self.events = log
        else:
            self.refused = event
            if self.events:
                self.turn_id = self.events[-1].turn_id

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
