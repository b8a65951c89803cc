"""Writing (L3, L4): what is accepted can become a projection, and what was cut off can be closed.

The oracle is `project`. A log can still become whole where it projects once its last turn is ended in the
plainest way there is: a result for each open call and request, then an error. `TestWritingL3` holds that
shortcut too, against every log that projects, up to a length.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias, TypeVar, final

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from typing_extensions import override

from jingwei.codec import DecodeFailed, DecodeReason
from jingwei.events import records as r
from jingwei.events.failures import DuplicateEventId, WriteReason, WriteRefused
from jingwei.events.log import check_log
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.recovery import ABANDONED_CALL, ABANDONED_REQUEST, Closing, close_abandoned
from jingwei.events.turns import MalformedReason
from jingwei.events.wire import decode_log, encode_log, session_log, unreadable
from jingwei.events.writer import (
    EarlierTurns,
    NumberedIds,
    SessionWriter,
    Written,
    resume_writer,
    start_writer,
)
from jingwei.ids import EventId, MessageId, ProviderCallId, SessionId, TurnId
from jingwei.jsontext import Json
from jingwei.messages import records as m
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection import failures as f
from jingwei.projection.diagnose import rule_of
from jingwei.projection.project import project
from jingwei.projection.records import (
    DamagedTurns,
    GroupKind,
    ProjectedState,
    Projection,
    ProjectionConfig,
)
from jingwei.testing import strategies as some
from jingwei.testing.machines import LogMachine
from jingwei.testing.strategies import SESSION
from properties.models import plain_event, plain_text, step_of, written
from properties.test_small_worlds import DEEP, SECOND, WORDS, event_of

_Kind = TypeVar("_Kind")

IDS = NumberedIds(prefix="new_")
QUARANTINE = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)

SMALL = (8, 15, 68, 300, 570, 2_568, 4_800, 21_650, 40_606, 183_752)
"""Of each length: how many logs can be written, and how many but for their last event."""

WANTED = 50
"""How many logs of up to 3 of a few words some projectable log begins with."""


@final
@attrs.frozen
class Own:
    """The ids that an event has anyway; a reply without one is given one."""

    event: SessionEvent

    def event_id(self, seq: int) -> EventId:
        return self.event.event_id

    def message_id(self, seq: int) -> MessageId:
        return MessageId(f"made_{seq}")


def offered(writer: SessionWriter, event: SessionEvent) -> Outcome[Written, WriteRefused]:
    """Write an event again."""
    return writer.offer(
        Own(event),
        event.turn_id,
        event.kind,
        message_id=event.message_id,
        generation_id=event.generation_id,
    )


def with_id(event: SessionEvent) -> SessionEvent:
    """The event as it is written: a reply has its message id."""
    if isinstance(event.kind, r.AssistantReply) and event.message_id is None:
        return attrs.evolve(event, message_id=MessageId(f"made_{event.seq}"))
    return event


def writers(events: Iterable[SessionEvent]) -> Iterator[SessionWriter]:
    """The writer before the first event and behind each one, until one is refused."""
    writer = start_writer(SESSION)
    yield writer
    for event in events:
        outcome = offered(writer, event)
        if not isinstance(outcome, Success):
            return
        writer = outcome.unwrap().writer
        yield writer


def projects(events: Sequence[SessionEvent]) -> bool:
    return isinstance(project(SESSION, SessionLog(events=tuple(events), bytes_at_most=0)), Success)


def last_turn(events: Sequence[SessionEvent]) -> list[SessionEvent]:
    return [event for event in events if event.turn_id == events[-1].turn_id]


def kinds_of(events: Sequence[SessionEvent], wanted: type[_Kind]) -> list[_Kind]:
    return [event.kind for event in events if isinstance(event.kind, wanted)]


def open_calls(events: Sequence[SessionEvent]) -> tuple[list[str], list[str]]:
    """Calls and requests of the last turn without a result, by looking for it."""
    turn = last_turn(events) if events else []
    ended = [kind.result.call_id for kind in kinds_of(turn, r.ToolResultEvent)]
    answered = [kind.result.call_id for kind in kinds_of(turn, r.ModelResultEvent)]
    calls = [kind.call.id for kind in kinds_of(turn, r.ToolCallEvent)]
    asked = [kind.request.call_id for kind in kinds_of(turn, r.ModelRequestEvent)]
    return [call for call in calls if call not in ended], [call for call in asked if call not in answered]


def can_become_whole(events: Sequence[SessionEvent]) -> bool:
    """Whether any further events make this log project: the plainest ones do, or none."""
    if projects(events):
        return True
    calls, asked = open_calls(events)
    words = [*[f"result {call}" for call in calls], *[f"answer {call}" for call in asked], "error"]
    added = [
        attrs.evolve(
            events[-1], event_id=EventId(f"end_{index}"), seq=index, kind=step_of(*word.split()).kind
        )
        for index, word in enumerate(words, len(events))
    ]
    return projects([*events, *added])


def said_of(failure: object) -> object:
    """A failure of `project`, or a refusal, as rule and facts."""
    match failure:
        case WriteRefused(reason=WriteReason()):
            return failure.rule, failure.turn_id, failure.open_tool_calls, failure.open_model_calls
        case WriteRefused():
            return failure.rule, failure.turn_id, failure.reason, failure.event_id, failure.seq
        case f.Malformed():
            rule = "P3" if failure.reason.value in {"blank_turn_id", "turn_not_contiguous"} else "P4"
            return rule, failure.turn_id, failure.reason, failure.event_id, failure.seq
        case f.Unconfirmed():
            return "P5", failure.turn_id, failure.open_tool_calls, failure.open_model_calls
        case f.MissingReply():
            return "P6", failure.turn_id, (), ()
        case _:
            return failure


def is_of_last_turn(failure: object, events: Sequence[SessionEvent]) -> bool:
    """Whether more events of the last turn might mend it: they can add what is missing, and nothing else."""
    return isinstance(failure, f.Unconfirmed) and failure.turn_id == events[-1].turn_id


FEW = ("user", "reply r", "call c", "result c", "ask m", "answer m", "note", "completed", "cancelled")

Said: TypeAlias = tuple[tuple[str, str], ...]
"""A log as its turns and words."""


def one_longer(said: Said, words: Sequence[str]) -> Iterator[Said]:
    """Every log that is one word longer; the first turn is always the same, since turns are alike."""
    for turn in ("t", "u") if said else ("t",):
        for word in words:
            yield (*said, (turn, word))


def events_of(said: Said) -> tuple[SessionEvent, ...]:
    return tuple([with_id(event_of(index, turn, word)[0]) for index, (turn, word) in enumerate(said)])


def projectable(length: int) -> set[Said]:
    """Every log of up to so many of a few words that projects, told by `project` alone."""
    found, alive = set[Said](), list[Said]([()])
    for _ in range(length):
        longer, alive = [next_ for said in alive for next_ in one_longer(said, FEW)], []
        for said in longer:
            events = events_of(said)
            outcome = project(SESSION, SessionLog(events=events, bytes_at_most=0))
            if isinstance(outcome, Success):
                found.add(said)
                alive.append(said)
            elif is_of_last_turn(outcome.failure(), events):
                alive.append(said)
    return found


def writable(length: int, words: Sequence[str]) -> Iterator[tuple[Said, bool]]:
    """Every log that is written up to its last event, and whether that is written too."""
    alive: list[tuple[Said, SessionWriter]] = [((), start_writer(SESSION))]
    for _ in range(length):
        found = list[tuple[Said, SessionWriter]]()
        for said, writer in alive:
            for next_ in one_longer(said, [word for word in words if is_first(said, word)]):
                event = events_of(next_)[-1]
                outcome = offered(writer, event)
                if isinstance(outcome, Success):
                    assert event == outcome.unwrap().event
                    found.append((next_, outcome.unwrap().writer))
                yield next_, isinstance(outcome, Success)
        alive = found


def is_first(said: Said, word: str) -> bool:
    """Whether the word's id is its name space's first, or the first has been said."""
    ids = [word.split()[-1] for _, word in said]
    return all(word.split()[-1] != second or first in ids for first, second in SECOND.items())


def prefixes_of(events: Sequence[SessionEvent]) -> Iterator[Sequence[SessionEvent]]:
    return (events[:count] for count in range(len(events) + 1))


def closing_of(events: Sequence[SessionEvent]) -> Closing:
    return close_abandoned(SESSION, session_log(events), IDS).unwrap()


def projection_of(events: Iterable[SessionEvent]) -> Projection:
    return project(SESSION, session_log(events)).unwrap()


HALVES: Final = ("\ud800", "a\udfff", "\udc00\ud800")
NUMBERS: Final = (-1, 2**16, 2**32, 2**64 - 1, 2**64, 10**40, True)
FREE: Final = (
    *["[" * levels + "]" * levels for levels in (112, 113, 120, 121, 122, 125, 126, 127, 128, 129, 300)],
    *('{"a":1,"a":2}', '{"a": 1}', "{", "", "NaN", '"\\ud800"', '"\ud800"', "1e400", "-" + "9" * 4300),
    *("9" * 4301, '{"version":2}', '{"version":1}'),
)


def places(value: Any, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where texts, numbers and free JSON stand in a record."""
    if isinstance(value, str | int | Json):
        yield steps
    elif isinstance(value, tuple):
        for index, one in enumerate(value):
            yield from places(one, (*steps, index))
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from places(getattr(value, field.name), (*steps, field.name))


def value_at(value: Any, steps: Sequence[str | int]) -> object:
    for step in steps:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value


def with_value(value: Any, steps: Sequence[str | int], new: object) -> Any:
    """The record with another value at a place."""
    if not steps:
        return new
    step, *rest = steps
    if isinstance(step, int):
        return tuple([with_value(one, rest, new) if at == step else one for at, one in enumerate(value)])
    return attrs.evolve(value, **{step: with_value(getattr(value, step), rest, new)})


@st.composite
def spoiled_events(draw: DrawFn, event: SessionEvent) -> SessionEvent:
    """The event with another value at one place of its kind: often one that no log may hold."""
    steps = ("kind", *draw(st.sampled_from([*places(event.kind)] or [()])))
    old = value_at(event, steps)
    new: object = old
    if isinstance(old, Json):
        new = Json(draw(st.sampled_from(FREE)))
    elif isinstance(old, bool):
        new = old
    elif isinstance(old, int):
        new = draw(st.sampled_from(NUMBERS))
    elif isinstance(old, str):
        new = draw(st.sampled_from((*HALVES, "", " ", "\u3000", "x")))
    spoiled = with_value(event, steps, new)
    assert isinstance(spoiled, SessionEvent)
    return spoiled


def strange_events() -> "st.SearchStrategy[SessionEvent]":
    """Any event, any kind, good or with one thing wrong."""
    return some.events().flatmap(lambda event: st.just(event) | spoiled_events(event))


def read_back(event: SessionEvent) -> SessionEvent | DecodeFailed | None:
    """What `decode_log` makes of the line as the standard library writes it; None where it has none.

    Free JSON stands in the line as its own text, whatever that is.
    """
    written, texts = event, list[str]()
    for steps in places(event.kind):
        free = value_at(event.kind, steps)
        if isinstance(free, Json):
            mark = Json(f'"@{len(texts)}@"')
            written = attrs.evolve(written, kind=with_value(written.kind, steps, mark))
            texts.append(free.text)
    line = plain_text(plain_event(written))
    for index, text in enumerate(texts):
        line = line.replace(f'"@{index}@"', text)
    try:
        data = line.encode()
    except UnicodeEncodeError:
        return None
    match decode_log(data + b"\n"):
        case Success(log):
            (found,) = log.events
            return found
        case Failure(why):
            return why


def step_event() -> SessionEvent:
    (event,) = written("t user").events
    return event


class TestWritingL3:
    """L3. A writer takes an event exactly where some further events would still make the log project under
    the default configuration, bounds apart, and `decode_log` reads the event back, and equal. A refusal
    names the rule and the facts of the failure that `project` gives for the log with that event at its end,
    or the place at which the event cannot be read. A log is taken up again as it was left; one that
    could not have been written is not, unless the host keeps damaged turns.
    """

    def test_every_small_log(self) -> None:
        """Each that was written, one event longer; ids up to renaming, and as many as there should be."""
        counts = Counter[tuple[int, bool]]()
        for said, accepted in writable(5 if DEEP else 4, WORDS):
            counts[len(said), accepted] += 1

            assert can_become_whole(events_of(said)) == accepted, said
        assert SMALL[: 2 * (5 if DEEP else 4)] == tuple(
            counts[size + 1, accepted] for size in range(5 if DEEP else 4) for accepted in (True, False)
        )

    def test_what_projects_was_written_and_what_is_written_can_project(self) -> None:
        """Up to 3 of a few words: the longest way to a projection from there has 6, so all are known."""
        wanted = {said[:count] for said in projectable(6) for count in range(1, 4)}

        assert wanted == {said for said, accepted in writable(3, FEW) if accepted}
        assert WANTED == len(wanted)

    @given(some.logs())
    def test_the_first_event_that_cannot_be_right_is_refused(self, log: SessionLog) -> None:
        """With the facts that `project` tells of it; a reply is given an id where it has none."""
        held = list[SessionEvent]()
        writer = start_writer(SESSION)
        for event in map(with_id, log.events):
            if (event.session_id, event.seq) != (SESSION, len(held)):
                return  # a writer cannot be asked for this
            outcome = offered(writer, event)
            held.append(event)

            assert can_become_whole(held) == isinstance(outcome, Success)
            if isinstance(outcome, Failure):
                refused = outcome.failure()
                failure = project(SESSION, session_log(held)).failure()

                assert refused.event_id == event.event_id
                if refused.reason is WriteReason.REPEATED_EVENT_ID:
                    assert DuplicateEventId(physical_index=len(held) - 1, event_id=event.event_id) == failure
                else:
                    assert said_of(failure) == said_of(refused)
                return
            writer = outcome.unwrap().writer

    @given(some.logs())
    def test_a_log_is_taken_up_where_it_could_have_been_written(self, log: SessionLog) -> None:
        """As far as the first violation of the physical order, or the first event that is refused."""
        outcome = resume_writer(SESSION, log)
        can = can_become_whole(log.events) if log.events else True

        assert can == isinstance(outcome, Success)
        if isinstance(outcome, Success):
            assert [*writers(log.events)][-1] == outcome.unwrap()
        elif isinstance(checked := check_log(SESSION, log), Failure):
            assert checked.failure() == outcome.failure()
        else:
            refused = outcome.failure()
            assert isinstance(refused, WriteRefused)
            assert not can_become_whole(log.events[: refused.seq + 1])
            assert refused.seq == 0 or can_become_whole(log.events[: refused.seq])

    @given(some.legal_events(), st.data())
    def test_every_writer_of_a_session_stays_good(
        self, events: tuple[SessionEvent, ...], data: st.DataObject
    ) -> None:
        """Writing on from an earlier one gives the same events and writers again, whatever came after it."""
        kept = list(writers(events))
        start = data.draw(st.integers(0, len(events)))
        writer = kept[start]
        for count, event in enumerate(events[start:], start + 1):
            again = offered(writer, event).unwrap()
            writer = again.writer

            assert (event, kept[count]) == (again.event, writer)
        assert len(events) + 1 == len(kept)
        assert kept == [resume_writer(SESSION, session_log(log)).unwrap() for log in prefixes_of(events)]

    @given(some.legal_events(open_last=False))
    def test_no_id_is_written_twice_however_far(self, events: tuple[SessionEvent, ...]) -> None:
        """Neither that of an event, nor of a turn, nor of a reply; those of calls are free in a new turn."""
        writer = resume_writer(SESSION, session_log(events)).unwrap()
        new, user, reply = TurnId("new"), step_of("user").kind, step_of("reply", "x").kind
        replying = writer.offer(IDS, new, user).unwrap().writer
        for event in events:
            reasons = [
                writer.offer(Own(event), new, user).failure().reason,
                writer.offer(IDS, event.turn_id, user).failure().reason,
            ]
            if isinstance(event.kind, r.AssistantReply):
                reasons.append(replying.offer(IDS, new, reply, message_id=event.message_id).failure().reason)
            if isinstance(event.kind, r.ToolCallEvent | r.ModelRequestEvent):
                assert isinstance(replying.offer(IDS, new, event.kind), Success)

            assert WriteReason.REPEATED_EVENT_ID is reasons[0]
            last = event.turn_id == events[-1].turn_id
            assert (
                MalformedReason.AFTER_TERMINAL if last else MalformedReason.TURN_NOT_CONTIGUOUS
            ) is reasons[1]
            assert {MalformedReason.REPEATED_MESSAGE_ID} >= set(reasons[2:])

    @given(strange_events())
    def test_what_is_written_is_read_back_and_what_is_not_could_not_be(self, event: SessionEvent) -> None:
        """An event by itself, with at most one thing in it that a log may not hold; the reader decides."""
        back = read_back(event)
        outcome = unreadable(event)

        assert (back == event) == (outcome is None)
        if outcome is not None and isinstance(back, DecodeFailed):
            # A text that is no JSON, or too deep by itself, is told by itself.
            whole = back.reason not in {DecodeReason.INVALID_JSON, DecodeReason.TOO_DEEP}

            assert (back.reason, back.path if whole else None) == (
                outcome.reason,
                outcome.path if whole else None,
            )

    def test_free_json_is_written_where_it_is_read_back(self) -> None:
        """Every sort of text, in events that hold it at the least depth and at the most."""
        call, answer = step_of("call", "c").kind, step_of("answer", "m").kind
        proposed = m.GenerationResponse(
            tool_calls=(m.ModelToolCall(id=ProviderCallId("p"), name="n", arguments=Json("{}")),)
        )
        assert isinstance(call, r.ToolCallEvent)
        assert isinstance(answer, r.ModelResultEvent)
        answer = with_value(answer, ("result", "outcome"), r.ModelSucceeded(response=proposed))
        holders: list[r.EventKind] = [r.PlanReady(plan=Json("{}")), call, answer]
        for kind in holders:
            event = attrs.evolve(step_event(), kind=kind)
            (place,) = [steps for steps in places(kind) if isinstance(value_at(kind, steps), Json)]
            for text in FREE:
                spoiled = with_value(event, ("kind", *place), Json(text))

                assert (read_back(spoiled) == spoiled) == (unreadable(spoiled) is None), text[:40]

    @given(some.legal_events(), st.data())
    def test_whatever_is_offered_the_log_can_be_read(
        self, events: tuple[SessionEvent, ...], data: st.DataObject
    ) -> None:
        """A refusal names the place; the event without its fault is written."""
        held, writer = list[SessionEvent](), start_writer(SESSION)
        for event in events:
            spoiled = data.draw(spoiled_events(event)) if data.draw(st.booleans()) else event
            outcome = offered(writer, spoiled)
            if isinstance(outcome, Failure):
                refused = outcome.failure()
                assert spoiled != event
                if refused.reason is WriteReason.UNREADABLE:
                    assert ("W5", True) == (refused.rule, refused.path is not None)
                    assert read_back(spoiled) != spoiled
                outcome = offered(writer, event)
            held.append(outcome.unwrap().event)
            writer = outcome.unwrap().writer

        assert tuple(held) == decode_log(encode_log(held).unwrap()).unwrap().events

    def test_a_blank_session_has_no_events(self) -> None:
        """P2: its log would not project."""
        refused = start_writer(SessionId("\t")).offer(IDS, TurnId("t"), step_of("user").kind).failure()

        assert ("P2", WriteReason.BLANK_SESSION_ID) == (refused.rule, refused.reason)

    @given(some.logs())
    def test_damaged_turns_are_kept_where_the_host_says_so(self, log: SessionLog) -> None:
        """What order and turn ids allow is taken up, and then goes on with a new turn or the last one."""
        outcome = resume_writer(SESSION, log, EarlierTurns.KEEP)
        turns = [turn for turn, _ in itertools.groupby(event.turn_id for event in log.events)]
        sound = len(set(turns)) == len(turns) and all(turn.strip() for turn in turns)
        sound = sound and isinstance(check_log(SESSION, log), Success)

        assert sound == isinstance(outcome, Success)
        if isinstance(outcome, Success):
            writer = outcome.unwrap()
            kinds = step_of("user").kind, step_of("error").kind
            new = [writer.offer(IDS, TurnId("new"), kinds[0])]
            new += [writer.offer(IDS, TurnId(turns[-1]), kinds[1])] if turns else []

            assert (len(log.events), turns) == (writer.next_seq, list(writer.turn_ids))
            assert any(isinstance(one, Success) for one in new) or any(open_calls(log.events))


class TestRecoveryL4:
    """L4. Where the last turn of a log was cut off, the events that close it are: a failed result for each
    open call, then for each open model request, an event that says so, and `done` as cancelled. With them
    the log projects; what was there is as it was. A log that projects needs none, and one that is damaged in
    another way is refused.
    """

    @given(some.legal_events())
    def test_a_log_that_was_cut_off_anywhere_projects_again(self, events: tuple[SessionEvent, ...]) -> None:
        """After one closing, and then there is nothing more to close."""
        for cut in prefixes_of(events):
            closing = closing_of(cut)
            after = [*cut, *closing.events]
            again = closing_of(after)

            assert projects(after)
            assert projects(cut) == (closing.events == ()) == (closing.turn_id is None)
            assert (None, (), closing.writer) == (again.turn_id, again.events, again.writer)

    @given(some.legal_events())
    def test_nothing_that_was_there_is_changed(self, events: tuple[SessionEvent, ...]) -> None:
        """Earlier turns project as before; of the closed one, the user's words and finished exchanges do."""
        whole = projection_of(events)
        for cut in prefixes_of(events):
            after = projection_of([*cut, *closing_of(cut).events])
            closed = len(after.turns) - 1
            if closed < 0:
                continue
            known = {event.event_id for event in cut}
            then, now = [
                [
                    group
                    for group in projection.turns[closed].groups
                    if group.kind is not GroupKind.ASSISTANT and known.issuperset(group.source_events)
                ]
                for projection in (whole, after)
            ]

            assert whole.turns[:closed] == after.turns[:closed]
            assert then == now

    @given(some.legal_events(max_turns=2, max_steps=12))
    def test_what_is_unknown_is_said_and_nothing_else(self, events: tuple[SessionEvent, ...]) -> None:
        """One failed result for each open call, then request; the mark; the end; all in the last turn."""
        for cut in prefixes_of(events):
            closing = closing_of(cut)
            if not closing.events:
                continue
            (*results, marked, end) = closing.events
            calls, asked = open_calls(cut)

            assert (tuple(calls), tuple(asked)) == (closing.tool_calls, closing.model_calls)
            assert [
                *[(call, ABANDONED_CALL) for call in calls],
                *[(call, ABANDONED_REQUEST) for call in asked],
            ] == [
                (event.kind.result.call_id, event.kind.result.outcome)
                for event in results
                if isinstance(event.kind, r.ToolResultEvent | r.ModelResultEvent)
            ]
            assert len(calls) + len(asked) == len(results)
            assert isinstance(marked.kind, r.CustomEvent)
            payload = marked.kind.payload.value()
            assert isinstance(payload, dict)
            assert ("jingwei", "recovery") == (marked.kind.plugin, marked.kind.kind)
            names: dict[str, str] = {
                kind.call.id: kind.call.name for kind in kinds_of(last_turn(cut), r.ToolCallEvent)
            }
            assert {
                "version": 1,
                "reason": "abandoned_turn",
                "tool_calls": [{"id": call, "name": names[call]} for call in calls],
                "model_calls": asked,
            } == payload
            assert r.DoneEvent(status=r.DoneStatus.CANCELLED) == end.kind
            assert {cut[-1].turn_id} == {event.turn_id for event in closing.events} == {closing.turn_id}
            assert ProjectedState.CANCELLED is projection_of([*cut, *closing.events]).turns[-1].state

    @given(some.logs())
    def test_it_closes_what_could_become_whole_and_refuses_the_rest(self, log: SessionLog) -> None:
        """Where it refuses, it says what `resume_writer` says."""
        outcome = close_abandoned(SESSION, log, IDS)
        resumed = resume_writer(SESSION, log)

        if isinstance(outcome, Success):
            assert isinstance(resumed, Success)
            assert projects([*log.events, *outcome.unwrap().events])
        else:
            assert resumed == outcome

    @given(some.logs(), st.integers(0, 40))
    def test_what_is_damaged_is_closed_all_the_same(self, log: SessionLog, cut: int) -> None:
        """Where the host keeps it: then the log projects with the damaged turns in quarantine."""
        log = session_log(log.events[: cut % (len(log.events) + 1)])
        outcome = close_abandoned(SESSION, log, IDS, EarlierTurns.KEEP)
        left = project(SESSION, log, QUARANTINE)
        if isinstance(outcome, Failure):
            told = rule_of(left.failure())

            assert told in {"L1", "P2", "P3"}
            assert outcome == resume_writer(SESSION, log, EarlierTurns.KEEP)
            return
        closing = outcome.unwrap()
        after = session_log([*log.events, *closing.events])

        assert isinstance(left, Success) or closing.events
        assert isinstance(project(SESSION, after, QUARANTINE), Success)
        assert closing.writer == resume_writer(SESSION, after, EarlierTurns.KEEP).unwrap()
        assert () == close_abandoned(SESSION, after, IDS, EarlierTurns.KEEP).unwrap().events

    @given(some.legal_events(max_turns=2), st.data())
    def test_a_damaged_last_turn_gets_its_end_and_no_result(
        self, events: tuple[SessionEvent, ...], data: st.DataObject
    ) -> None:
        """What was open in it is said, in order; nothing that could not stand is made up."""
        cut = data.draw(st.integers(0, len(events)))
        (orphan,) = written("t result nowhere").events
        turn_id = events[cut - 1].turn_id if cut else orphan.turn_id
        bad = [*events[:cut], attrs.evolve(orphan, turn_id=turn_id, seq=cut, event_id=EventId("bad"))]
        closing = close_abandoned(SESSION, session_log(bad), IDS, EarlierTurns.KEEP).unwrap()
        run = last_turn(bad)
        if any(isinstance(event.kind, r.DoneEvent | r.ErrorEvent) for event in run):
            assert () == closing.events
            return
        calls, asked = open_calls(bad)

        assert (tuple(calls), tuple(asked)) == (closing.tool_calls, closing.model_calls)
        assert [r.CustomEvent, r.DoneEvent] == [type(event.kind) for event in closing.events]
        assert {run[0].turn_id} == {event.turn_id for event in closing.events}

    @given(some.legal_events())
    def test_the_lines_of_a_log_stay_and_new_ones_follow(self, events: tuple[SessionEvent, ...]) -> None:
        """On the wire too, the log's bytes are a prefix of those of the closed log."""
        for cut in prefixes_of(events):
            added = closing_of(cut).events
            whole = encode_log([*cut, *added]).unwrap()

            assert encode_log(cut).unwrap() + encode_log(added).unwrap() == whole
            assert (*cut, *added) == decode_log(whole).unwrap().events

    @given(some.legal_events())
    def test_an_id_that_was_used_closes_nothing(self, events: tuple[SessionEvent, ...]) -> None:
        """An id source that repeats an id of the log is refused, and nothing is half closed."""
        for cut in prefixes_of(events):
            if projects(cut):
                continue
            failure = close_abandoned(SESSION, session_log(cut), Own(cut[0])).failure()

            assert isinstance(failure, WriteRefused)
            assert (WriteReason.REPEATED_EVENT_ID, len(cut)) == (failure.reason, failure.seq)


class WriterMachine(LogMachine):
    """Writes what the log machine appends, and holds writer and `project` together after each event.

    A writer is kept for every length, so that a log that was cut goes on from an old one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.writers: list[SessionWriter | None] = [start_writer(SESSION)]

    @override
    def offer(self, event: SessionEvent) -> None:
        size = len(self.events)
        writer = self.writers[size]
        if writer is not None and (event.session_id, event.seq) == (SESSION, size):
            event = with_id(event)
            outcome = offered(writer, event)

            assert can_become_whole([*self.events, event]) == isinstance(outcome, Success)
            writer = outcome.unwrap().writer if isinstance(outcome, Success) else None
        super().offer(event)
        if len(self.events) > size:
            self.writers[size + 1 :] = [writer]


TestWriterMachine = WriterMachine.TestCase
TestWriterMachine.settings = settings(settings.default, stateful_step_count=30)
