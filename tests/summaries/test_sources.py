"""A log and its projection, put together again (S8)."""

import attrs
import pytest

from jingwei.events.failures import WrongSequence
from jingwei.events.records import CustomEvent
from jingwei.events.wire import session_log
from jingwei.ids import EventId, TurnId
from jingwei.jsontext import Json
from jingwei.outcome import Failure, Success
from jingwei.projection.project import project
from jingwei.projection.split import split_open_turn
from jingwei.summaries.failures import SourcesReason, SourcesRefused
from jingwei.summaries.records import MarkedHypothesis
from jingwei.summaries.sources import sources_of
from tests.logtable import SESSION, events_of, log_of
from tests.summaries.world import LOG, SOURCES, TALK

PROJECTION = project(SESSION, LOG).unwrap()


def test_each_turn_has_its_events() -> None:
    turns = SOURCES.turns

    assert [("one", 0, 4), ("two", 5, 9), ("three", 10, 14), ("four", 15, 15)] == [
        (turn.turn_id, turn.first_seq, turn.last_seq) for turn in turns
    ]
    assert [True] * 4 == [turn.is_closed for turn in turns]
    assert [4, 4, 4, 0] == [len(turn.messages) for turn in turns]
    assert EventId("event-6") == turns[1].events[1]


def test_the_log_may_have_grown_and_the_open_turn_may_be_gone() -> None:
    log = log_of(f"{TALK}; turn two; user")
    history = split_open_turn(project(SESSION, log).unwrap()).history
    later = session_log([*log.events, *events_of("reply; done")])
    sources = sources_of(history, later).unwrap()

    assert [("one", True, 4), ("two", False, 0)] == [
        (turn.turn_id, turn.is_closed, len(turn.messages)) for turn in sources.turns
    ]


def test_marks_of_the_log_are_read_and_others_passed_over() -> None:
    log = log_of("user; custom; reply; done")
    (user, custom, reply, done) = log.events
    payloads = ('{"text":"guess"}', '{"text":1}', "null")
    marks = [attrs.evolve(custom, kind=_marked(payload)) for payload in payloads]
    placed = [
        attrs.evolve(event, seq=seq, event_id=EventId(f"event-{seq}"))
        for seq, event in enumerate([user, custom, *marks, reply, done])
    ]
    grown = session_log(placed)
    sources = sources_of(project(SESSION, grown).unwrap(), grown).unwrap()

    assert (MarkedHypothesis(text="guess", seq=2),) == sources.marked


def _marked(payload: str) -> CustomEvent:
    return CustomEvent(plugin="jingwei", kind="hypothesis", payload=Json(payload))


def test_an_empty_log_has_no_turns() -> None:
    log = log_of("")

    assert () == sources_of(project(SESSION, log).unwrap(), log).unwrap().turns


def test_a_log_out_of_order_is_refused() -> None:
    log = attrs.evolve(LOG, events=(*LOG.events[1:], LOG.events[0]))
    expected = WrongSequence(physical_index=0, expected=0, actual=1)

    assert Failure(expected) == sources_of(PROJECTION, log)


@pytest.mark.parametrize(
    ("fields", "reason", "expected", "actual"),
    [
        ({"source_event_count": 17}, SourcesReason.LOG_TOO_SHORT, "17", "16"),
        ({"source_event_count": -1}, SourcesReason.LOG_TOO_SHORT, "-1", "16"),
        ({"source_tail": None}, SourcesReason.OTHER_TAIL, "null", '"event-15"'),
    ],
)
def test_a_projection_of_another_log_is_refused(
    fields: dict[str, object], reason: SourcesReason, expected: str, actual: str
) -> None:
    projection = attrs.evolve(PROJECTION, **fields)  # type: ignore[arg-type]

    assert Failure(SourcesRefused(reason=reason, expected=expected, actual=actual)) == sources_of(
        projection, LOG
    )


def test_other_turns_or_other_events_are_refused() -> None:
    """Two turns are gone, a turn is another one, and a turn has events of another."""
    fewer = attrs.evolve(PROJECTION, turns=PROJECTION.turns.first(2))
    renamed = session_log([attrs.evolve(event, turn_id=TurnId("x")) for event in LOG.events])
    moved = session_log(
        [attrs.evolve(event, turn_id=TurnId("two")) if 2 <= event.seq < 5 else event for event in LOG.events]
    )

    for projection, log in ((fewer, LOG), (PROJECTION, renamed), (PROJECTION, moved)):
        answer = sources_of(projection, log)
        assert isinstance(answer, Failure)
        refused = answer.failure()
        assert isinstance(refused, SourcesRefused)
        assert SourcesReason.OTHER_TURNS == refused.reason
    assert isinstance(sources_of(PROJECTION, LOG), Success)
