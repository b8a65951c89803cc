"""The reader of log tables reads what its rows say."""

import pytest

from jingwei.events.records import (
    DoneEvent,
    DoneStatus,
    SessionEvent,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolResultEvent,
    UserMessageEvent,
)
from jingwei.events.turns import ALL_KINDS
from jingwei.events.wire import event_bytes, log_bytes
from jingwei.ids import EventId, SessionId, ToolCallId, TurnId
from tests.logtable import SESSION, VERBS, events_of, free, log_of, renumbered


def test_a_row_is_one_event_with_the_defaults_of_the_acceptance_cases() -> None:
    expected = SessionEvent(
        event_id=EventId("event-0"),
        session_id=SessionId("session"),
        turn_id=TurnId("one"),
        seq=0,
        kind=UserMessageEvent(text="question"),
    )

    assert (expected,) == events_of("user")


def test_rows_stand_on_lines_or_between_semicolons() -> None:
    text = 'user "a; b # c"\n\n   # a comment\n call c1 ; result c1 "x"'

    assert events_of('user "a; b # c"; call c1; result c1 "x"') == events_of(text)
    assert [0, 1, 2] == [event.seq for event in events_of(text)]


def test_json_stands_where_a_word_may_stand() -> None:
    (event,) = events_of('call "c 1" grep {"q": ["x;y", 1]}')

    assert event.kind == ToolCallEvent(
        call=ToolCall(id=ToolCallId("c 1"), name="grep", arguments=free({"q": ["x;y", 1]}))
    )


def test_options_override_the_envelope_of_their_row_only() -> None:
    first, second = events_of('user id="" session=other turn=x seq=9 message=m; done')

    assert ("", "other", "x", 9, "m") == (
        first.event_id,
        first.session_id,
        first.turn_id,
        first.seq,
        first.message_id,
    )
    assert ("event-1", "session", "one", 1, None) == (
        second.event_id,
        second.session_id,
        second.turn_id,
        second.seq,
        second.message_id,
    )


def test_a_turn_row_names_the_turn_of_the_rows_below() -> None:
    assert ["one", "t2", "t2", ""] == [
        event.turn_id for event in events_of('user; turn t2; user; done; turn ""; user')
    ]


@pytest.mark.parametrize(
    ("row", "message"), [("reply", "message-0"), ('reply "" m', "m"), ("reply x -", None)]
)
def test_a_reply_has_a_message_id_unless_told_otherwise(row: str, message: str | None) -> None:
    (event,) = events_of(row)

    assert message == event.message_id


def test_words_name_categories_and_statuses() -> None:
    failed, done = events_of("failed c1 denied; done checkpointed")

    assert isinstance(failed.kind, ToolResultEvent)
    assert isinstance(failed.kind.result.outcome, ToolFailed)
    assert "denied" == failed.kind.result.outcome.category.value
    assert DoneEvent(status=DoneStatus.CHECKPOINTED) == done.kind


def test_there_is_a_verb_for_every_kind_of_event() -> None:
    assert set(ALL_KINDS) == {type(events_of(verb)[0].kind) for verb in VERBS}


def test_a_table_is_measured_as_a_log() -> None:
    """The sizes that the acceptance cases of the projection rest on."""
    log = log_of('user; call a; result a; reply "a"; done')

    assert [118, 155, 188, 153, 113] == [event_bytes(event) for event in log.events]
    assert 727 == log_bytes(log)


def test_renumbered_events_have_the_numbers_of_their_places() -> None:
    swapped = events_of("user; done")[::-1]

    assert [0, 1] == [event.seq for event in renumbered(swapped)]
    assert SESSION == renumbered(swapped)[0].session_id


@pytest.mark.parametrize("row", ["user nosuch=1", "user ="])
def test_a_row_that_cannot_be_read_is_an_error_of_the_test(row: str) -> None:
    with pytest.raises(AssertionError):
        events_of(row)
