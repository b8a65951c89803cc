"""A state machine that grows and cuts a session log, and holds a projector against itself.

A host subclasses `ProjectionMachine`, overrides `project`, and takes its `TestCase`:

    class MyMachine(ProjectionMachine):
        def project(self, log, config):
            return my_projector(SESSION, log, config)

    TestMyProjector = MyMachine.TestCase

A projector that goes on from where it was (one that is fed event by event) is run the same way: the
machine asks for every prefix in its turn, goes back to any of them and on from there by other events.
"""
# Hypothesis' `rule` is typed to return a callable of any arguments.
# mypy: disallow-any-decorated=False
# `override` is in no `typing` before Python 3.12, and jingwei declares no other source of it.
# mypy: disable-error-code=explicit-override

from collections.abc import Sequence
from itertools import groupby, permutations
from typing import ClassVar, Final, TypeAlias, final

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from jingwei.events.records import SessionEvent, SessionLog, UserMessageEvent
from jingwei.events.wire import event_bytes, session_log
from jingwei.ids import TurnId
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.wire import message_bytes
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.failures import (
    InvalidConfig,
    Malformed,
    MissingReply,
    ProjectionFailure,
    Unconfirmed,
)
from jingwei.projection.records import (
    DEFAULT_CONFIG,
    LegacyReplies,
    ProjectedState,
    ProjectedTurn,
    Projection,
    ProjectionConfig,
)
from jingwei.projection.wire import encode_projection
from jingwei.testing.machines import LEGACY, LONG, TIGHT, EventMachine

Projected: TypeAlias = Outcome[Projection, ProjectionFailure]
"""What a projector answers."""

FEW_MESSAGES: Final = ProjectionConfig(legacy_replies=LegacyReplies.OMIT, max_messages=4)

_FOLLOWED: Final = 3
"""Events that are still appended to a log after the one that can never be right."""


@final
class Column:
    """What a projector has answered to each prefix of the machine's log, under one configuration."""

    def __init__(self, config: ProjectionConfig) -> None:
        self.config = config
        self.outcomes = list[Projected]()


class ProjectionMachine(EventMachine):
    """Appends legal and illegal events, cuts the log anywhere, and projects every prefix of it.

    Every answer is held to laws over one projector alone (messages begin with the number of the rule):
    the turns are the runs of one turn id (P3), each event has one place (P9) and the sums are sums (P11);
    asked again, it says the same (P12); a longer log keeps the closed turns and the omissions of a
    shorter one (P7, P9); a log that projects does so at each boundary of its turns, and inside of a turn
    only while that is open (P5); a failure that no later event can mend stays, unless an earlier check
    fails instead (P2); a configuration decides whether there is a projection, never which (P1). Then
    `judge` compares it with the reference.

    A log that can never become whole is followed for a few more events, then cut where it still could.

    Attributes:
        configurations: what is projected under; the first one says what can still become whole.
    """

    configurations: ClassVar[tuple[ProjectionConfig, ...]] = (LEGACY, TIGHT, DEFAULT_CONFIG)

    def __init__(self) -> None:
        super().__init__()
        self.logs = [session_log(())]
        self.cut_off = list[SessionEvent]()
        self.has_changed = False
        self.columns = [Column(config) for config in (*self.configurations, FEW_MESSAGES)]

    # --- rules -----------------------------------------------------------------------------------

    @initialize()
    def begin_empty(self) -> None:
        """The empty log is the first prefix."""
        self.look()

    @precondition(lambda self: self.events != [])
    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        """Take any prefix and go on from there, in the turn that it ends with."""
        kept = len(self.events) - data.draw(st.integers(1, len(self.events)), label="cut off")
        self.cut_off = self.events[kept:]
        self.keep(kept)
        for column in self.columns:
            self.look_again(column, len(self.events))

    @precondition(lambda self: self.cut_off != [] and len(self.events) < LONG)
    @rule()
    def regrow(self) -> None:
        """Append what was cut off last: a second time, or after other events."""
        for event in self.cut_off:
            self.offer(attrs.evolve(event, seq=len(self.events), event_id=self.next_event_id))

    @precondition(lambda self: self.has_changed and len(self.events) > 1)
    @rule()
    def every_prefix_again(self) -> None:
        """Project all of them anew, the longest first."""
        self.has_changed = False
        for column in self.columns:
            for length in range(len(self.events), -1, -1):
                self.look_again(column, length)

    @precondition(lambda self: len(self.events) > 1)
    @rule(
        max_events=st.integers(0, 15) | st.just(100),
        max_messages=st.integers(0, 9) | st.just(100),
        max_input_bytes=st.integers(0, 4000) | st.just(10**6),
        legacy_replies=st.sampled_from(LegacyReplies),
    )
    def configure(
        self, max_events: int, max_messages: int, max_input_bytes: int, legacy_replies: LegacyReplies
    ) -> None:
        """Another configuration in the place of the last; zero is a limit too, a wrong one (P2)."""
        config = ProjectionConfig(
            legacy_replies=legacy_replies,
            max_events=max_events,
            max_input_bytes=max_input_bytes,
            max_messages=max_messages,
        )
        self.columns[-1] = Column(config)
        self.has_changed = True
        self.look()

    # --- the log ---------------------------------------------------------------------------------

    def offer(self, event: SessionEvent) -> None:
        """Look at the log with this event at its end; a log beyond hope is cut a little later."""
        self.events.append(event)
        self.has_changed = True
        last = self.logs[-1]
        size = last.bytes_at_most + event_bytes(event)
        self.logs.append(SessionLog(events=(*last.events, event), bytes_at_most=size))
        self.look()
        hopeful = len(self.events)
        while hopeful and is_final(self.events[:hopeful], self.columns[0].outcomes):
            hopeful -= 1
        if len(self.events) - hopeful > _FOLLOWED:
            self.keep(hopeful)

    def keep(self, length: int) -> None:
        """Cut the log, and forget what was said to longer ones."""
        del self.events[length:], self.logs[length + 1 :]
        for column in self.columns:
            del column.outcomes[length + 1 :]
        if self.events:
            self.turn_id = self.events[-1].turn_id

    # --- looking ---------------------------------------------------------------------------------

    def look(self) -> None:
        """Project every prefix that has not been, the shortest first, and hold the answers to the laws."""
        for column in self.columns:
            for length in range(len(column.outcomes), len(self.logs)):
                log = self.logs[length]
                outcome = self.project(log, column.config)
                check_alone(log, outcome)
                column.outcomes.append(outcome)
                check_growth(log.events, column.outcomes)
                self.look_again(column, length)
                self.judge(log, column.config)
        check_choices([(column.config, column.outcomes[-1]) for column in self.columns])

    def look_again(self, column: Column, length: int) -> None:
        """Project a prefix that was projected before: an equal log, of which less is known."""
        log, before = self.logs[length], column.outcomes[length]
        again = self.project(attrs.evolve(log, bytes_at_most=10 * log.bytes_at_most), column.config)
        assert before == again, f"P12: the same log gives {before}, then {again}"
        if isinstance(before, Success) and isinstance(again, Success):
            first, second = (encode_projection(one.unwrap()) for one in (before, again))
            assert first == second, f"P12: the same log gives the bytes {first}, then {second}"


# --- the laws ------------------------------------------------------------------------------------


def check_alone(log: SessionLog, outcome: Projected) -> None:
    """What holds between a log and its projection, whatever came before: P3, P9 and the sums of P11."""
    if isinstance(outcome, Failure):
        return
    projection, events = outcome.unwrap(), log.events
    runs, turns = _runs(events), [turn.turn_id for turn in projection.turns]
    assert runs == turns, f"P3: the runs of one turn id are {runs}, the turns {turns}"
    assert len(events) == projection.source_event_count, f"P11: of {len(events)} events: {projection}"
    tail = events[-1].event_id if events else None
    assert tail == projection.source_tail, f"P11: the tail is {tail}: {projection}"
    turn_of = {event.event_id: event.turn_id for event in events}
    for group in projection.groups:
        strangers = [name for name in group.source_events if turn_of.get(name) != group.turn_id]
        assert not strangers, f"P9: sources of another turn or of none: {group}"
    for omission in projection.omitted:
        named = [event.event_id for event in events if event.seq == omission.seq]
        assert [omission.event_id] == named, f"P9: seq {omission.seq} is {named}: {omission}"
    order = [omission.seq for omission in projection.omitted]
    assert sorted(set(order)) == order, f"P9: omissions are not in their order: {order}"
    placed = [name for group in projection.groups for name in group.source_events]
    placed += [omission.event_id for omission in projection.omitted]
    recorded = sorted(event.event_id for event in events)
    assert recorded == sorted(placed), f"P9: each event once: recorded {recorded}, placed {sorted(placed)}"
    messages = projection.messages
    sums = (len(projection.groups), len(messages), sum(map(message_bytes, messages)))
    stated = (projection.group_count, projection.message_count, projection.canonical_bytes)
    assert sums == stated, f"P11: groups, messages and bytes are {sums}, it states {stated}"


def check_growth(events: Sequence[SessionEvent], outcomes: Sequence[Projected]) -> None:
    """What holds between the answer to a log and the answers to all of its prefixes.

    Args:
        events: the log.
        outcomes: one for each prefix, by length, from the empty one to the log itself.
    """
    if not events:
        return
    outcome, before = outcomes[-1], outcomes[-2]
    if isinstance(before, Failure) and is_final(events[:-1], outcomes):
        _check_stands(before.failure(), outcome, events)
    if isinstance(outcome, Success):
        _check_last_turn(events, outcomes)
        shorter = next(one for one in reversed(outcomes[:-1]) if isinstance(one, Success))
        _check_prefix(shorter.unwrap(), outcome.unwrap())


def is_final(events: Sequence[SessionEvent], outcomes: Sequence[Projected]) -> bool:
    """Whether the answer to a log is a failure that no further event can mend (P2 to P6).

    Args:
        events: the log.
        outcomes: one for each of its prefixes, by length, from the empty one; its own among them.
    """
    outcome = outcomes[len(events)]
    if isinstance(outcome, Success):
        return False
    failure, start = outcome.failure(), _start_of_last_turn(events)
    match failure:
        case Unconfirmed(turn_id=turn_id) | MissingReply(turn_id=turn_id):
            return turn_id in [event.turn_id for event in events[:start]]
        case LimitExceeded(what=Bound.MESSAGES):
            return outcomes[start] == outcome
        case _:
            return True


def check_choices(answers: Sequence[tuple[ProjectionConfig, Projected]]) -> None:
    """What holds between the answers to one log under several configurations (P1)."""
    for (config, outcome), (other, answer) in permutations(answers, 2):
        if isinstance(outcome, Failure):
            continue
        if isinstance(answer, Success):
            same = attrs.evolve(outcome.unwrap(), config=other)
            assert same == answer.unwrap(), f"P1: {config} and {other} project the same log differently"
        else:
            failure = answer.failure()
            assert not _is_wider(other, config), f"P1: {config} admits what {other} refuses: {failure}"


def _check_stands(failure: ProjectionFailure, outcome: Projected, events: Sequence[SessionEvent]) -> None:
    """A final failure of all events but the last is that of all, unless an earlier check fails (P2)."""
    assert isinstance(outcome, Failure), f"P2: {events[-1]} mended {failure}"
    after = outcome.failure()
    if after == failure:
        return
    rank = _rank(after)
    takes_over = rank in (_EVENTS, _BYTES, _PHYSICAL) and rank < _rank(failure)
    grows = rank == _rank(failure) and rank in (_EVENTS, _BYTES)
    assert takes_over or grows, f"P2: {failure} became {after} by {events[-1]}"


def _check_prefix(shorter: Projection, longer: Projection) -> None:
    """Closed turns and omissions stay as they are; a turn that was open keeps its user message (P7, P9)."""
    closed = _closed(shorter)
    begun = longer.turns[: len(closed)]
    assert closed == begun, f"P7: a closed turn was {closed}, a longer log makes it {begun}"
    sources = longer.sources[: len(closed)]
    assert shorter.sources[: len(closed)] == sources, f"P7: other sources in a longer log: {sources}"
    for turn in shorter.turns[len(closed) :]:
        later = longer.turns[len(closed)]
        assert turn.groups == later.groups[:1], f"P7: an open turn was {turn}, a longer log makes it {later}"
    omitted, after = shorter.omitted, longer.omitted
    assert omitted == after[: len(omitted)], f"P9: omitted were {omitted}, in a longer log {after}"


def _check_last_turn(events: Sequence[SessionEvent], outcomes: Sequence[Projected]) -> None:
    """A log that projects does so before its last turn too, and inside of it only while that is open (P5)."""
    start = _start_of_last_turn(events)
    turn_id = events[start].turn_id
    boundary = outcomes[start]
    assert isinstance(boundary, Success), f"P5: cut after a whole turn, before {turn_id}: {boundary}"
    for length in range(start + 1, len(events)):
        outcome = outcomes[length]
        if length == start + 1 and isinstance(events[start].kind, UserMessageEvent):
            is_open = isinstance(outcome, Success) and outcome.unwrap().turns[-1].state is _OPEN
            assert is_open, f"P5: a turn of its user message alone is open: {outcome}"
            continue
        failure = outcome.failure() if isinstance(outcome, Failure) else None
        unfinished = isinstance(failure, Unconfirmed) and failure.unterminated
        assert unfinished, f"P5: cut inside of {turn_id}, after event {length - 1}: {outcome}"


# --- small things --------------------------------------------------------------------------------

_OPEN: Final = ProjectedState.OPEN
_CONFIG, _EVENTS, _BYTES, _PHYSICAL, _IN_A_TURN = range(5)
"""The checks of P2 in their order."""


def _rank(failure: ProjectionFailure) -> int:
    match failure:
        case InvalidConfig():
            return _CONFIG
        case LimitExceeded(what=Bound.EVENTS):
            return _EVENTS
        case LimitExceeded(what=Bound.INPUT_BYTES):
            return _BYTES
        case LimitExceeded() | Malformed() | Unconfirmed() | MissingReply():
            return _IN_A_TURN
        case _:
            return _PHYSICAL


def _is_wider(one: ProjectionConfig, other: ProjectionConfig) -> bool:
    """Whether the first admits whatever the second does."""
    return (
        one.legacy_replies in (LegacyReplies.OMIT, other.legacy_replies)
        and one.max_events >= other.max_events
        and one.max_input_bytes >= other.max_input_bytes
        and one.max_messages >= other.max_messages
    )


def _runs(events: Sequence[SessionEvent]) -> list[TurnId]:
    """The turn id of each run, in order (P3)."""
    return [turn_id for turn_id, _ in groupby(events, key=lambda event: event.turn_id)]


def _start_of_last_turn(events: Sequence[SessionEvent]) -> int:
    """Where the last run of one turn id begins (P3)."""
    start = len(events)
    while start and events[start - 1].turn_id == events[-1].turn_id:
        start -= 1
    return start


def _closed(projection: Projection) -> tuple[ProjectedTurn, ...]:
    turns = tuple(projection.turns)
    return turns[:-1] if turns and turns[-1].state is _OPEN else turns
