"""Events inside a request: read as W1 reads them, the first that is none told with its place."""

from typing import Final

import attrs
import pytest

from jingwei.codec import Declarations, DecodeFailed, DecodeReason, RecordCodec
from jingwei.events.records import SessionLog
from jingwei.ops.events import EventFailed, log_of, not_served, with_events
from jingwei.ops.requests import BadRequest
from tests.ops.asking import Object


@attrs.frozen(kw_only=True)
class Asked:
    session_id: str


def _declare(wire: Declarations) -> None:
    wire.record(Asked, strict=True)


CODEC: Final = RecordCodec(_declare)
EVENT: Final[Object] = {
    "event_id": "e0",
    "session_id": "s",
    "turn_id": "t",
    "seq": 0,
    "kind": {"type": "user_message", "text": "hi"},
}


def test_the_events_are_taken_out_and_the_rest_is_read() -> None:
    asked, log = with_events(CODEC, {"session_id": "s", "events": [EVENT]}, Asked)

    assert Asked(session_id="s") == asked
    assert isinstance(log, SessionLog)
    assert ["e0"] == [event.event_id for event in log.events]


def test_no_events_are_a_log() -> None:
    log = log_of({"events": []})

    assert isinstance(log, SessionLog)
    assert 0 == len(log.events)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, BadRequest(reason="expected a key 'events'", path="/events")),
        ({"events": {}}, BadRequest(reason="expected an array", path="/events")),
        ({"events": None}, BadRequest(reason="expected an array", path="/events")),
    ],
)
def test_what_is_no_log_is_no_request(body: Object, expected: BadRequest) -> None:
    assert expected == log_of(body)
    assert {"failure": {"kind": "BadRequest", "reason": expected.reason, "path": "/events"}} == not_served(
        Asked(session_id="s"), log_of(body)
    )


def test_the_first_event_that_does_not_decode_is_told_with_its_place() -> None:
    broken = {**EVENT, "seq": -1}
    found = log_of({"events": [EVENT, broken, {}]})

    assert isinstance(found, EventFailed)
    assert (1, DecodeReason.OUT_OF_RANGE, "/seq") == (found.index, found.failure.reason, found.failure.path)
    assert isinstance(found.failure, DecodeFailed)
    assert {
        "failure": {
            "kind": "DecodeFailed",
            "reason": "out_of_range",
            "line": None,
            "byte_offset": None,
            "path": "/seq",
            "expected": found.failure.expected,
            "actual": "-1",
            "whole_bytes": None,
            "index": 1,
        }
    } == not_served(Asked(session_id="s"), found)


def test_the_fault_of_the_request_comes_before_those_of_its_events() -> None:
    asked, log = with_events(CODEC, {"events": [{}], "more": 1}, Asked)

    told = not_served(asked, log)["failure"]
    assert isinstance(told, dict)
    assert "BadRequest" == told["kind"]
