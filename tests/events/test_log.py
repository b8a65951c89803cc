"""The physical log (L1): session, then sequence, then identity, at the first event that breaks one."""

import pytest

from jingwei.events.failures import DuplicateEventId, LogFailure, WrongSequence, WrongSession
from jingwei.events.log import check_log, log_violations
from jingwei.events.records import CheckedLog
from jingwei.ids import EventId, SessionId
from jingwei.outcome import Failure, Success
from tests.logtable import SESSION, events_of, log_of

OTHER = SessionId("other")

# In the last column what `check_log` says; the turn ids, blank ids and kinds are not its matter.
LADDER: list[tuple[str, LogFailure | None]] = [
    ("", None),
    ("done; done; reply", None),
    ('turn ""; user id=""; user id=x', None),
    ("user turn=a; user turn=b; user turn=a", None),
    ("user session=other", WrongSession(physical_index=0, expected=SESSION, actual=OTHER)),
    ("user; done session=other", WrongSession(physical_index=1, expected=SESSION, actual=OTHER)),
    ("user seq=1", WrongSequence(physical_index=0, expected=0, actual=1)),
    ("user; done seq=0", WrongSequence(physical_index=1, expected=1, actual=0)),
    ("user; delta seq=2; done", WrongSequence(physical_index=1, expected=1, actual=2)),
    ("user; done id=event-0", DuplicateEventId(physical_index=1, event_id=EventId("event-0"))),
    ('user id=""; done id=""', DuplicateEventId(physical_index=1, event_id=EventId(""))),
    ("user id=a; delta id=b; done id=a", DuplicateEventId(physical_index=2, event_id=EventId("a"))),
    # Two rules at one event: session before sequence before identity.
    ("user; done session=other seq=9", WrongSession(physical_index=1, expected=SESSION, actual=OTHER)),
    ("user; done seq=9 id=event-0", WrongSequence(physical_index=1, expected=1, actual=9)),
    # Two events: the first one, whichever rule it breaks.
    (
        "user; delta id=event-0; done session=other",
        DuplicateEventId(physical_index=1, event_id=EventId("event-0")),
    ),
]


@pytest.mark.parametrize(("table", "expected"), LADDER, ids=[table for table, _ in LADDER])
def test_the_first_event_that_breaks_a_rule_is_told(table: str, expected: LogFailure | None) -> None:
    log = log_of(table)
    outcome = Success(CheckedLog(session_id=SESSION, events=log.events))

    assert (outcome if expected is None else Failure(expected)) == check_log(SESSION, log)


def test_the_session_asked_for_is_the_measure() -> None:
    expected = WrongSession(physical_index=0, expected=OTHER, actual=SESSION)

    assert Failure(expected) == check_log(OTHER, log_of("user"))


def test_every_violation_can_be_listed_one_an_event() -> None:
    table = "user; delta seq=7 id=event-0; delta session=other; done id=event-0"

    assert [
        WrongSequence(physical_index=1, expected=1, actual=7),
        WrongSession(physical_index=2, expected=SESSION, actual=OTHER),
        DuplicateEventId(physical_index=3, event_id=EventId("event-0")),
    ] == list(log_violations(SESSION, events_of(table)))
