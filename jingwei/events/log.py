"""The physical log: is it whole, in order, and one session's (rules L1, L2)."""

from collections.abc import Container, Iterable, Iterator

from jingwei.events.failures import DuplicateEventId, LogFailure, WrongSequence, WrongSession
from jingwei.events.records import CheckedLog, SessionEvent, SessionLog
from jingwei.ids import SessionId
from jingwei.outcome import Failure, Outcome, Success


def check_log(session_id: SessionId, log: SessionLog) -> Outcome[CheckedLog, LogFailure]:
    """The log, checked, or the first event that breaks L1: session, then sequence, then identity.

    Stops at the first violation, since after it later positions mean nothing; `diagnose` lists all.
    An empty log is valid. Turn ids, blank ids and kinds are the projection's matter (P3, P4).
    """
    for violation in log_violations(session_id, log.events):
        return Failure(violation)
    return Success(CheckedLog(session_id=session_id, events=log.events))


def log_violations(
    session_id: SessionId,
    events: Iterable[SessionEvent],
    *,
    start: int = 0,
    known: Container[str] = (),
) -> Iterator[LogFailure]:
    """Every violation of L1, at most one an event: the first in the rule's order.

    The id of an offending event is not taken: it is as if the event had not happened (B10). For the
    further events of a log (P13) `start` is how many went before, and `known` holds their ids.
    """
    seen = set[str]()
    for index, event in enumerate(events, start):
        if event.session_id != session_id:
            yield WrongSession(physical_index=index, expected=session_id, actual=event.session_id)
        elif event.seq != index:
            yield WrongSequence(physical_index=index, expected=index, actual=event.seq)
        elif event.event_id in seen or event.event_id in known:
            yield DuplicateEventId(physical_index=index, event_id=event.event_id)
        else:
            seen.add(event.event_id)
