"""The log writer (L3): whole events out, or the rule that the log would break."""

import attrs
import pytest

from jingwei.codec import DecodeReason
from jingwei.events.failures import WriteReason, WriteRefused, WrongSequence
from jingwei.events.records import (
    AssistantReply,
    CustomEvent,
    DoneEvent,
    DoneStatus,
    SessionEvent,
    UserMessageEvent,
)
from jingwei.events.turns import MalformedReason, TurnState
from jingwei.events.wire import session_log
from jingwei.events.writer import (
    EarlierTurns,
    NumberedIds,
    SessionWriter,
    TurnSoFar,
    resume_writer,
    start_writer,
)
from jingwei.ids import EventId, GenerationId, MessageId, ModelCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import Json
from jingwei.persistent import Table
from jingwei.projection.failures import Malformed, MissingReply, Unconfirmed
from jingwei.projection.project import project
from tests.logtable import SESSION, events_of, log_of

IDS = NumberedIds(prefix="")
WHOLE = """
    turn one; user; ask k; answer k; call c; result c; custom; reply r m; done
    turn two; mode; error
    turn three; user; done cancelled
"""


@attrs.frozen
class TheirIds:
    """The ids that events have anyway, so that a log can be written again."""

    events: tuple[SessionEvent, ...]

    def event_id(self, seq: int) -> EventId:
        return self.events[seq].event_id

    def message_id(self, seq: int) -> MessageId:
        return self.events[seq].message_id or MessageId("")


def wrote(table: str) -> SessionWriter | WriteRefused:
    """The writer that was offered every event of a table, or the first refusal."""
    events = events_of(table)
    writer = start_writer(SESSION)
    for event in events:
        outcome = writer.offer(TheirIds(events), event.turn_id, event.kind, message_id=event.message_id)
        if outcome.value_or(None) is None:
            return outcome.failure()
        written = outcome.unwrap()

        assert event == written.event
        writer = written.writer
    return writer


def refused(table: str) -> WriteRefused:
    found = wrote(table)
    assert isinstance(found, WriteRefused), found
    return found


def test_a_host_says_what_happened_and_gets_whole_events() -> None:
    first = start_writer(SESSION).offer(
        IDS, TurnId("t"), UserMessageEvent(text="hi"), generation_id=GenerationId("g")
    )
    second = first.unwrap().writer.offer(IDS, TurnId("t"), AssistantReply(text="hello"))

    assert first.unwrap().event == SessionEvent(
        event_id=EventId("event_0"),
        session_id=SESSION,
        turn_id=TurnId("t"),
        generation_id=GenerationId("g"),
        seq=0,
        kind=UserMessageEvent(text="hi"),
    )
    assert second.unwrap().event == SessionEvent(
        event_id=EventId("event_1"),
        session_id=SESSION,
        turn_id=TurnId("t"),
        message_id=MessageId("message_1"),
        seq=1,
        kind=AssistantReply(text="hello"),
    )


def test_a_host_may_name_the_message_itself() -> None:
    after = start_writer(SESSION).offer(IDS, TurnId("t"), UserMessageEvent(text="hi")).unwrap().writer
    said = after.offer(IDS, TurnId("t"), AssistantReply(text="hello"), message_id=MessageId("mine"))

    assert MessageId("mine") == said.unwrap().event.message_id


def test_what_was_written_can_be_taken_up_again() -> None:
    assert wrote(WHOLE) == resume_writer(SESSION, log_of(WHOLE)).unwrap()
    assert start_writer(SESSION) == resume_writer(SESSION, log_of("")).unwrap()


def test_a_writer_knows_what_stands_open_in_the_last_turn() -> None:
    writer = resume_writer(SESSION, log_of("user; call c grep; ask k; ask l; answer k; call d ls")).unwrap()

    assert 6 == writer.next_seq
    assert writer.turn == TurnSoFar(
        turn_id=TurnId("one"),
        state=TurnState.WORKING,
        event_count=6,
        tool_calls=Table[ToolCallId, str]().extended({ToolCallId("c"): "grep", ToolCallId("d"): "ls"}),
        model_calls=Table[ModelCallId, None]().extended({ModelCallId("k"): None, ModelCallId("l"): None}),
        model_results=Table[ModelCallId, None]().extended({ModelCallId("k"): None}),
    )
    assert ((ToolCallId("c"), ToolCallId("d")), (ModelCallId("l"),)) == (
        writer.turn.open_tool_calls,
        writer.turn.open_model_calls,
    )


def test_an_old_writer_stays_what_it_was() -> None:
    before = resume_writer(SESSION, log_of("user; call c")).unwrap()
    copy = resume_writer(SESSION, log_of("user; call c")).unwrap()
    one, two = [
        before.offer(IDS, TurnId("one"), kind).unwrap().writer
        for kind in (events_of("user; call c; result c")[2].kind, events_of("user; call c; call d")[2].kind)
    ]

    assert copy == before
    assert [False, True, True] == [
        writer.turn is not None and writer.turn.has_open_calls for writer in (one, two, before)
    ]


# What is refused, by which rule, and which turn the rule speaks of: the last event of each table.
R = WriteReason
REFUSED: list[tuple[str, str, MalformedReason | WriteReason, str]] = [
    ("user; user id=event-0", "L1", R.REPEATED_EVENT_ID, "one"),
    ("user; reply; done; turn two; user id=event-0", "L1", R.REPEATED_EVENT_ID, "two"),
    ('user turn=" "', "P3", MalformedReason.BLANK_TURN_ID, " "),
    ("user; reply; done; turn two; error; turn one; user", "P3", MalformedReason.TURN_NOT_CONTIGUOUS, "one"),
    ('user id=""', "P4", MalformedReason.BLANK_EVENT_ID, "one"),
    ("call c", "P4", MalformedReason.WORK_BEFORE_USER, "one"),
    ("user; user", "P4", MalformedReason.SECOND_USER_MESSAGE, "one"),
    ("user; call c; call c", "P4", MalformedReason.REPEATED_CALL_ID, "one"),
    ("user; call c; result c; result c", "P4", MalformedReason.SECOND_TOOL_RESULT, "one"),
    ("user; result c", "P4", MalformedReason.ORPHAN_TOOL_RESULT, "one"),
    ("user; ask k; ask k", "P4", MalformedReason.REPEATED_MODEL_CALL_ID, "one"),
    ("user; ask k; answer k; answer k", "P4", MalformedReason.SECOND_MODEL_RESULT, "one"),
    ("user; reply r m; done; turn two; user; reply r m", "P4", MalformedReason.REPEATED_MESSAGE_ID, "two"),
    ("user; reply; delta", "P4", MalformedReason.WORK_AFTER_REPLY, "one"),
    ("user; reply; done; mode", "P4", MalformedReason.AFTER_TERMINAL, "one"),
    ("user; turn two; user", "P5", R.TURN_NOT_TERMINATED, "one"),
    ('user; reply; turn ""; user', "P5", R.TURN_NOT_TERMINATED, "one"),
    ("user; call c; reply", "P5", R.OPEN_CALLS, "one"),
    ("user; ask k; reply", "P5", R.OPEN_CALLS, "one"),
    ("user; call c; done cancelled", "P5", R.OPEN_CALLS, "one"),
    ("user; ask k; error", "P5", R.OPEN_CALLS, "one"),
    ("user; call c; done", "P5", R.OPEN_CALLS, "one"),
    ("user; done", "P6", R.MISSING_REPLY, "one"),
    ("user; done waiting_for_input", "P6", R.MISSING_REPLY, "one"),
    ("mode; done checkpointed", "P6", R.MISSING_REPLY, "one"),
]


@pytest.mark.parametrize(("table", "rule", "reason", "turn_id"), REFUSED)
def test_a_refusal_says_which_rule_would_break(
    table: str, rule: str, reason: MalformedReason | WriteReason, turn_id: str
) -> None:
    events, found = events_of(table), refused(table)

    assert (rule, reason) == (found.rule, found.reason)
    assert (events[-1].event_id, len(events) - 1, turn_id) == (found.event_id, found.seq, found.turn_id)


def test_a_refusal_names_what_stays_open() -> None:
    found = refused("user; call c; call d; ask k; result c; error")

    assert ((ToolCallId("d"),), (ModelCallId("k"),)) == (found.open_tool_calls, found.open_model_calls)
    assert ((ToolCallId("c"),), ()) == (
        (kept := refused("user; call c; turn two; user")).open_tool_calls,
        kept.open_model_calls,
    )


def test_every_reason_has_its_row() -> None:
    """But for those of the turn table that are tested there, and the two below."""
    told = {reason for _, _, reason, _ in REFUSED}

    assert set(WriteReason) - {R.BLANK_SESSION_ID, R.UNREADABLE} == {
        r for r in told if isinstance(r, WriteReason)
    }


def test_a_blank_session_writes_nothing() -> None:
    found = start_writer(SessionId(" ")).offer(IDS, TurnId("t"), UserMessageEvent(text="hi")).failure()

    assert ("P2", R.BLANK_SESSION_ID, 0) == (found.rule, found.reason, found.seq)


def test_an_event_that_could_not_be_read_back_is_not_written() -> None:
    """It would make the whole log unreadable."""
    writer = resume_writer(SESSION, log_of("user")).unwrap()
    payload = Json('{"a":' * 127 + "1" + "}" * 127)
    found = writer.offer(IDS, TurnId("one"), CustomEvent(plugin="p", kind="k", payload=payload)).failure()

    assert (
        WriteRefused(
            rule="W5",
            reason=R.UNREADABLE,
            event_id=EventId("event_1"),
            seq=1,
            turn_id=TurnId("one"),
            unreadable=DecodeReason.TOO_DEEP,
            path="/kind/payload" + "/a" * 126,
        )
        == found
    )


def test_the_rules_of_the_turn_are_told_first() -> None:
    kind = UserMessageEvent(text="\ud800")
    writer = start_writer(SESSION)
    second = resume_writer(SESSION, log_of("user")).unwrap()

    assert R.UNREADABLE is writer.offer(IDS, TurnId("one"), kind).failure().reason
    assert MalformedReason.SECOND_USER_MESSAGE is second.offer(IDS, TurnId("one"), kind).failure().reason


def test_physical_order_comes_before_what_events_say() -> None:
    events = events_of("call c; user; user seq=5")
    failure = resume_writer(SESSION, session_log(events)).failure()

    assert WrongSequence(physical_index=2, expected=2, actual=5) == failure


def test_a_log_that_does_not_project_is_not_taken_up() -> None:
    """It fails with the first event that could not have been written."""
    damaged = "user; call c; done; turn two; user"
    failure = resume_writer(SESSION, log_of(damaged)).failure()

    assert isinstance(failure, WriteRefused)
    assert ("P5", 2) == (failure.rule, failure.seq)


# Damaged turns, each followed by a sound one; why `project` refuses the log.
DAMAGED: list[tuple[str, type[object]]] = [
    ("user; call c; done", Unconfirmed),
    ("user; call c; reply; done", Unconfirmed),
    ("user; call c", Unconfirmed),
    ("user", Unconfirmed),
    ("user; done", MissingReply),
    ("call c; result c; done", Malformed),
    ("user; user; reply; done", Malformed),
    ("user; reply; done; mode; mode", Malformed),
]


CAN_GO_ON = ("user; call c", "user")
"""Not damaged while they are the last."""


@pytest.mark.parametrize(
    ("turn", "why", "go_on"),
    [
        (turn, why, go_on)
        for turn, why in DAMAGED
        for go_on in ("", "turn two; user; reply x n; done", "turn two; user")
        if go_on or turn not in CAN_GO_ON
    ],
)
def test_a_damaged_turn_does_not_keep_a_host_from_writing_on(
    turn: str, why: type[object], go_on: str
) -> None:
    """Where the host reads such logs; the turn counts as over, and its ids as used."""
    log = log_of(f"{turn}\n{go_on}")
    writer = resume_writer(SESSION, log, EarlierTurns.KEEP).unwrap()

    assert isinstance(project(SESSION, log).failure(), why)
    assert isinstance(resume_writer(SESSION, log).failure(), WriteRefused)
    assert len(log.events) == writer.next_seq
    assert list(dict.fromkeys(event.turn_id for event in log.events)) == list(writer.turn_ids)
    if go_on.endswith("user"):
        writer = writer.offer(IDS, TurnId("two"), DoneEvent(status=DoneStatus.CANCELLED)).unwrap().writer
    again = writer.offer(IDS, TurnId("one"), UserMessageEvent(text="x")).failure()
    assert again.rule in {"P3", "P4"}
    assert writer.offer(IDS, TurnId("new"), UserMessageEvent(text="x")).unwrap().writer.turn is not None


def test_turns_that_no_reader_admits_are_not_kept() -> None:
    rules = [
        resume_writer(SESSION, log_of(table), EarlierTurns.KEEP).failure()
        for table in ("user; turn two; error; turn one; user", 'user; turn " "; user')
    ]

    assert ["P3", "P3"] == [failure.rule for failure in rules if isinstance(failure, WriteRefused)]


def test_long_turns_and_many_turns_are_written_alike() -> None:
    """Nothing is lost where the tables of ids have grown over many runs."""
    calls = "; ".join(f"call c{n}; result c{n}" for n in range(700))
    turns = "".join(f"\nturn t{n}; user; reply x m{n}; done" for n in range(300))
    writer = wrote(f"user; {calls}; reply x last; done{turns}")

    assert isinstance(writer, SessionWriter)
    assert 1 + 1400 + 2 + 900 == writer.next_seq == len(list(writer.event_ids))
    assert (301, 301) == (len(writer.turn_ids), len(writer.message_ids))
    late = [writer.offer(IDS, TurnId(f"t{n}"), UserMessageEvent(text="")).failure().rule for n in range(299)]
    assert ["P3"] * 299 == late
