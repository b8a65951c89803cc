"""Closing an abandoned turn (L4): by appending, and only what is not there."""

import pytest

from jingwei.codec import DecodeReason
from jingwei.events.failures import DuplicateEventId, WriteReason, WriteRefused
from jingwei.events.records import (
    CustomEvent,
    DoneEvent,
    DoneStatus,
    EventKind,
    ModelResult,
    ModelResultEvent,
    SessionEvent,
    ToolResult,
    ToolResultEvent,
)
from jingwei.events.recovery import ABANDONED_CALL, ABANDONED_REQUEST, Closing, close_abandoned
from jingwei.events.wire import encode_log, session_log
from jingwei.events.writer import EarlierTurns, NumberedIds, resume_writer
from jingwei.ids import EventId, ModelCallId, SessionId, ToolCallId, TurnId
from jingwei.outcome import Success
from jingwei.projection.project import project
from jingwei.projection.records import DamagedTurns, GroupKind, ProjectedState, ProjectionConfig
from tests.logtable import SESSION, events_of, free, log_of

IDS = NumberedIds(prefix="jw_")
QUARANTINE = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)


def closed(table: str, earlier: EarlierTurns = EarlierTurns.REJECT) -> Closing:
    return close_abandoned(SESSION, log_of(table), IDS, earlier).unwrap()


def refused(table: str, ids: NumberedIds = IDS) -> WriteRefused:
    failure = close_abandoned(SESSION, log_of(table), ids).failure()
    assert isinstance(failure, WriteRefused), failure
    return failure


def event(seq: int, kind: EventKind) -> SessionEvent:
    return SessionEvent(
        event_id=EventId(f"jw_event_{seq}"), session_id=SESSION, turn_id=TurnId("one"), seq=seq, kind=kind
    )


def test_every_open_call_is_closed_and_said_to_be_unknown() -> None:
    """Calls in call order, then requests, then what was done and why, then the end."""
    table = "user; call a grep; ask k; call b ls; call c rm; result b; ask l; answer k"
    found = closed(table)

    assert found.events == (
        event(8, ToolResultEvent(result=ToolResult(call_id=ToolCallId("a"), outcome=ABANDONED_CALL))),
        event(9, ToolResultEvent(result=ToolResult(call_id=ToolCallId("c"), outcome=ABANDONED_CALL))),
        event(10, ModelResultEvent(result=ModelResult(call_id=ModelCallId("l"), outcome=ABANDONED_REQUEST))),
        event(
            11,
            CustomEvent(
                plugin="jingwei",
                kind="recovery",
                payload=free(
                    {
                        "version": 1,
                        "reason": "abandoned_turn",
                        "tool_calls": [{"id": "a", "name": "grep"}, {"id": "c", "name": "rm"}],
                        "model_calls": ["l"],
                    }
                ),
            ),
        ),
        event(12, DoneEvent(status=DoneStatus.CANCELLED)),
    )
    assert (TurnId("one"), ("a", "c"), ("l",)) == (found.turn_id, found.tool_calls, found.model_calls)


def test_the_events_have_lines() -> None:
    lines = encode_log(closed("user; call a; ask k").events).unwrap().decode().splitlines()

    assert [
        '{"type":"tool_result","result":{"call_id":"a","outcome":{"status":"failed","category":"cancelled",'
        '"code":"abandoned","message":"The log ends without a result of this call. Whether it ran, and what '
        'it changed, is unknown.","retryable":false}}}}',
        '{"type":"model_result","result":{"version":1,"call_id":"k","outcome":{"status":"failed",'
        '"category":"cancelled","code":"abandoned","message":"The log ends without a result of this request. '
        'Whether the model answered is unknown.","retryable":true,"upstream_status":null,'
        '"partial":{"content":null,"tool_calls":[]}}}}}',
        '{"type":"custom","plugin":"jingwei","kind":"recovery","payload":{"version":1,'
        '"reason":"abandoned_turn","tool_calls":[{"id":"a","name":"lookup"}],"model_calls":["k"]}}}',
        '{"type":"done","status":"cancelled"}}',
    ] == [line.partition('"kind":')[2] for line in lines]


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        ("user; delta", "custom done"),
        ("mode", "custom done"),
        ("mode; user", "custom done"),
        ("user; mode", "custom done"),
        ("user; call a; result a", "custom done"),
        ("user; reply", "custom done"),
        ("user; call a", "toolresult custom done"),
        ("user; ask k", "modelresult custom done"),
        ("user; reply; done; turn two; user; call a", "toolresult custom done"),
    ],
)
def test_a_turn_that_was_cut_off_projects_again(table: str, kinds: str) -> None:
    log, found = log_of(table), closed(table)
    after = session_log((*log.events, *found.events))
    projection = project(SESSION, after).unwrap()

    assert project(SESSION, log).value_or(None) is None
    assert kinds == " ".join(type(e.kind).__name__.removesuffix("Event").lower() for e in found.events)
    assert projection.turns[-1].state is ProjectedState.CANCELLED
    assert found.writer == resume_writer(SESSION, after).unwrap()
    again = close_abandoned(SESSION, after, IDS).unwrap()
    assert (None, ()) == (again.turn_id, again.events)


@pytest.mark.parametrize("table", ["", "user", "user; reply; done", "mode; error", "error; turn two; user"])
def test_where_nothing_is_to_be_closed_nothing_is_made(table: str) -> None:
    found = closed(table)

    assert Closing(writer=resume_writer(SESSION, log_of(table)).unwrap()) == found
    assert project(SESSION, log_of(table)).value_or(None) is not None


def test_the_reply_of_an_abandoned_turn_is_left_out() -> None:
    """Nobody knows how the turn would have ended, so it is no success (P7)."""
    table = "user; reply"
    projection = project(SESSION, session_log((*log_of(table).events, *closed(table).events))).unwrap()

    assert [GroupKind.USER] == [group.kind for turn in projection.turns for group in turn.groups]


@pytest.mark.parametrize(
    ("table", "rule", "seq"),
    [
        ("user; call a; reply", "P5", 2),
        ("user; call a; done", "P5", 2),
        ("user; done", "P6", 1),
        ("user; user", "P4", 1),
        ("user; call a; turn two; user; call b", "P5", 2),
        ("user; reply; done; turn one; mode", "P4", 3),
    ],
)
def test_other_damage_is_not_papered_over(table: str, rule: str, seq: int) -> None:
    found = refused(table)

    assert (rule, seq) == (found.rule, found.seq)


def test_earlier_damage_may_be_kept() -> None:
    """What the last turn lacks is added, whatever went before."""
    found = closed("user; call a; turn two; user; done; turn three; user; call b", EarlierTurns.KEEP)

    assert (TurnId("three"), ("b",), 3) == (found.turn_id, found.tool_calls, len(found.events))


@pytest.mark.parametrize(
    ("table", "tools", "models"),
    [
        # No result may follow the reply.
        ("turn last; user; call a grep; ask k; call b ls; result b; reply", [("a", "grep")], ["k"]),
        ("turn last; user; call a grep; reply; mode", [("a", "grep")], []),
        # Bad events are in nobody's way, nor are ids that no call should have.
        (
            "user; user; done; turn last; user; user; call a grep; call a ls; ask k; ask k",
            [("a", "grep")],
            ["k"],
        ),
        ('turn last; user; call ""; result x; answer y', [("", "lookup")], []),
        # An id of a reply that is used for the writer, and free where the first turn is left out.
        ("user; reply a m; user; turn two; user; reply b m; user; turn last; user; reply c m", [], []),
    ],
)
def test_a_damaged_last_turn_that_is_kept_gets_its_end_alone(
    table: str, tools: list[tuple[str, str]], models: list[str]
) -> None:
    """What was open is said; no result is made up, since none may stand."""
    log = log_of(table)
    found = close_abandoned(SESSION, log, IDS, EarlierTurns.KEEP).unwrap()
    after = session_log((*log.events, *found.events))
    marked, end = found.events
    assert isinstance(marked.kind, CustomEvent)

    assert {
        "version": 1,
        "reason": "abandoned_turn",
        "tool_calls": [{"id": call, "name": name} for call, name in tools],
        "model_calls": models,
    } == marked.kind.payload.value()
    assert DoneEvent(status=DoneStatus.CANCELLED) == end.kind
    assert (len(log.events), TurnId("last")) == (marked.seq, end.turn_id)
    assert (TurnId("last"), tuple(call for call, _ in tools), tuple(models)) == (
        found.turn_id,
        found.tool_calls,
        found.model_calls,
    )
    assert found.writer == resume_writer(SESSION, after, EarlierTurns.KEEP).unwrap()
    assert isinstance(project(SESSION, after, QUARANTINE), Success)
    assert () == close_abandoned(SESSION, after, IDS, EarlierTurns.KEEP).unwrap().events


@pytest.mark.parametrize(
    "table",
    [
        "user; call a; done",
        "user; done",
        "user; error; mode",
        "user; user; error",
        "user; call a; reply; done",
    ],
)
def test_a_damaged_last_turn_that_is_kept_and_has_its_end_needs_nothing(table: str) -> None:
    found = closed(table, EarlierTurns.KEEP)

    assert Closing(writer=resume_writer(SESSION, log_of(table), EarlierTurns.KEEP).unwrap()) == found
    assert isinstance(project(SESSION, log_of(table), QUARANTINE), Success)


def test_a_damaged_last_turn_is_not_closed_with_an_id_that_is_used() -> None:
    log = log_of("user id=jw_event_4; call a; reply")
    found = close_abandoned(SESSION, log, IDS, EarlierTurns.KEEP).failure()

    assert isinstance(found, WriteRefused)
    assert (WriteReason.REPEATED_EVENT_ID, "jw_event_4", 4) == (found.reason, found.event_id, found.seq)


def test_turn_ids_are_never_kept_double() -> None:
    log = log_of("user; turn two; user; turn one; user")
    found = close_abandoned(SESSION, log, IDS, EarlierTurns.KEEP).failure()

    assert isinstance(found, WriteRefused)
    assert ("P3", 2) == (found.rule, found.seq)


def test_physical_damage_is_told_first() -> None:
    log = session_log(events_of("user; user; mode id=event-0"))
    failure = close_abandoned(SESSION, log, IDS).failure()

    assert DuplicateEventId(physical_index=2, event_id=EventId("event-0")) == failure


def test_an_id_that_is_used_is_refused() -> None:
    found = refused("user id=jw_event_2; call a")

    assert (WriteReason.REPEATED_EVENT_ID, "jw_event_2", 2) == (found.reason, found.event_id, found.seq)


def test_a_log_with_ids_that_no_line_can_hold_is_not_closed() -> None:
    """Such a log was made in code: what closes it would be as unreadable as what is there."""
    found = refused('user; call "\\ud800" grep {}')

    assert (WriteReason.UNREADABLE, DecodeReason.LONE_SURROGATE, "/kind/result/call_id") == (
        found.reason,
        found.unreadable,
        found.path,
    )


def test_an_empty_log_of_a_blank_session_has_nothing_to_close() -> None:
    assert () == close_abandoned(SessionId(""), log_of(""), IDS).unwrap().events
