"""Summaries as JSON and in a log (S8, W5, W6)."""

import json

import attrs
import pytest

from jingwei.codec import DecodeReason
from jingwei.events.records import CustomEvent
from jingwei.events.wire import session_log
from jingwei.ids import EventId, SummaryId
from jingwei.jsontext import Json
from jingwei.outcome import Failure, Success
from jingwei.summaries.wire import (
    RecordedSummaries,
    decode_draft,
    decode_summary,
    encode_summary,
    read_summary_value,
    summaries_in,
    summary_event,
    summary_payload,
    summary_value,
)
from tests.logtable import log_of
from tests.summaries.world import GOOD, statement

WHOLE = attrs.evolve(
    GOOD,
    decisions=(statement("d"),),
    hypotheses=(statement("h", 1, 2),),
    open_questions=(statement("q", 2),),
    version=3,
    supersedes=(SummaryId("a"), SummaryId("b")),
)


def test_every_key_is_written_in_order() -> None:
    text = (
        '{"summary_id":"s1","session_id":"session",'
        '"facts":[{"text":"The tool says out","source_events":["event-1","event-2"]}],'
        '"decisions":[],"hypotheses":[],"open_questions":[],"first_seq":0,"last_seq":9,'
        '"tail_event_id":"event-9","turn_ids":["one","two"],"version":1,"supersedes":[],"format_version":1}'
    )

    assert Success(text.encode()) == encode_summary(GOOD)
    assert Json(text) == summary_payload(GOOD)
    assert CustomEvent(plugin="jingwei", kind="summary", payload=Json(text)) == summary_event(GOOD)


def test_summaries_survive_json() -> None:
    assert Success(WHOLE) == decode_summary(encode_summary(WHOLE).unwrap())
    assert WHOLE == read_summary_value(summary_value(WHOLE))


@pytest.mark.parametrize("key", json.loads(encode_summary(GOOD).unwrap()))
def test_no_key_may_be_missing(key: str) -> None:
    value = json.loads(encode_summary(GOOD).unwrap())
    del value[key]
    refused = decode_summary(json.dumps(value).encode())

    assert isinstance(refused, Failure)
    assert (DecodeReason.MISSING_KEY, f"/{key}") == (refused.failure().reason, refused.failure().path)


@pytest.mark.parametrize(
    ("change", "reason", "path"),
    [
        ({"more": 1}, DecodeReason.UNKNOWN_KEY, "/more"),
        ({"first_seq": -1}, DecodeReason.OUT_OF_RANGE, "/first_seq"),
        ({"version": "1"}, DecodeReason.WRONG_TYPE, "/version"),
        ({"format_version": 2}, DecodeReason.UNSUPPORTED_VERSION, "/format_version"),
        ({"facts": [{"text": "x"}]}, DecodeReason.MISSING_KEY, "/facts/0/source_events"),
        ({"supersedes": "ab"}, DecodeReason.WRONG_TYPE, "/supersedes"),
    ],
)
def test_what_is_no_summary_is_told_with_its_place(
    change: dict[str, object], reason: DecodeReason, path: str
) -> None:
    value = {**json.loads(encode_summary(GOOD).unwrap()), **change}
    refused = decode_summary(json.dumps(value).encode())

    assert isinstance(refused, Failure)
    assert (reason, path) == (refused.failure().reason, refused.failure().path)


def test_bytes_that_are_no_json_are_refused() -> None:
    for decode in (decode_summary, decode_draft):
        refused = decode(b"\xff")

        assert isinstance(refused, Failure)
        assert DecodeReason.INVALID_UTF8 == refused.failure().reason


def test_a_log_gives_back_its_summaries_and_names_what_is_none() -> None:
    (user, custom, reply, done) = log_of("user; custom; reply; done").events
    kinds = [
        summary_event(GOOD),
        attrs.evolve(summary_event(GOOD), payload=Json("[]")),
        attrs.evolve(summary_event(GOOD), plugin="other"),
        attrs.evolve(summary_event(GOOD), kind="other"),
        summary_event(WHOLE),
    ]
    events = [
        attrs.evolve(custom, kind=kind, seq=seq, event_id=EventId(f"e{seq}"))
        for seq, kind in enumerate(kinds)
    ]
    read = summaries_in(session_log([*events, user, reply, done]))

    assert (GOOD, WHOLE) == read.summaries
    assert [(EventId("e1"), 1, DecodeReason.NOT_AN_OBJECT)] == [
        (one.event_id, one.seq, one.problem.reason) for one in read.malformed
    ]
    assert RecordedSummaries(summaries=(), malformed=()) == summaries_in(log_of(""))
