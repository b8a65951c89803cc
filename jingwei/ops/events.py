"""Events inside a request: read as W1 reads them, the first that is none told with its place."""

from typing import TypeVar, final

import attrs

from jingwei.codec import DecodeFailed, RecordCodec, RecordProblem, problem_at
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.wire import read_event, session_log
from jingwei.ops.requests import BadRequest, bad, failed, read
from jingwei.report.failure_values import JsonObject, decode_failure_value

_Read = TypeVar("_Read")


@final
@attrs.frozen(kw_only=True)
class EventFailed:
    """An embedded event that does not decode: its place, and why."""

    index: int
    failure: DecodeFailed


def with_events(
    codec: RecordCodec, body: JsonObject, cls: type[_Read]
) -> tuple[_Read | BadRequest, SessionLog | BadRequest | EventFailed]:
    """The keys of an operation, and the log that its events are."""
    rest: JsonObject = {key: value for key, value in body.items() if key != "events"}
    return read(codec, rest, cls), log_of(body)


def log_of(body: JsonObject) -> SessionLog | BadRequest | EventFailed:
    """The log that the key `events` holds."""
    if "events" not in body:
        return BadRequest(reason="expected a key 'events'", path="/events")
    held = body["events"]
    if not isinstance(held, list):
        return BadRequest(reason="expected an array", path="/events")
    events = list[SessionEvent]()
    for index, value in enumerate(held):
        event = read_event(value)
        if isinstance(event, RecordProblem):
            return EventFailed(index=index, failure=problem_at(None, event))
        events.append(event)
    return session_log(events)


def not_served(asked: object, log: SessionLog | BadRequest | EventFailed) -> JsonObject:
    """What stops an operation on events: the request's own fault first, then its events'."""
    if isinstance(asked, BadRequest):
        return bad(asked)
    if isinstance(log, BadRequest):
        return bad(log)
    assert isinstance(log, EventFailed), "only called when something failed"
    return failed({**decode_failure_value(log.failure), "index": log.index})
