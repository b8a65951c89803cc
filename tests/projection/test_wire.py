"""Projections as JSON (P11): every key written, and read back as somebody's word only."""

import pytest

from jingwei.codec import DecodeReason, RecordProblem
from jingwei.outcome import Failure, Success
from jingwei.projection.project import project
from jingwei.projection.records import DamagedTurns, LegacyReplies, ProjectionConfig
from jingwei.projection.wire import (
    decode_projection,
    encode_projection,
    flattened,
    projection_value,
    read_config,
    read_projection,
)
from tests.logtable import SESSION, log_of

WRITTEN = (
    '{"algorithm_version":1,"session_id":"session","source_event_count":5,"source_tail":"event-4",'
    '"config":{"legacy_replies":"omit","max_events":100000,"max_input_bytes":16777216,"max_messages":50000},'
    '"groups":[{"turn_id":"one","kind":"user","source_events":["event-0"],'
    '"messages":[{"role":"user","content":"question"}]},'
    '{"turn_id":"one","kind":"tool_exchange","source_events":["event-1","event-2"],'
    '"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"jw_tool_1","name":"lookup",'
    '"arguments":{"key":"a"}}]},'
    '{"role":"tool","call_id":"jw_tool_1",'
    '"content":"{\\"status\\":\\"succeeded\\",\\"output\\":\\"untrusted tool data\\"}"}]},'
    '{"turn_id":"two","kind":"user","source_events":["event-4"],'
    '"messages":[{"role":"user","content":"next"}]}],'
    '"turns":[{"turn_id":"one","state":"waiting_for_input","terminal_event":"event-3",'
    '"missing_complete_reply":true},'
    '{"turn_id":"two","state":"open","terminal_event":null,"missing_complete_reply":false}],'
    '"omitted":[{"event_id":"event-3","seq":3,"reason":"audit"}]}'
)
OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)
WHOLE = project(
    SESSION, log_of('user; call a; result a; done waiting_for_input; turn two; user "next"'), OMIT
).unwrap()


def test_a_projection_has_one_form() -> None:
    assert Success(WRITTEN.encode()) == encode_projection(WHOLE)


def test_a_projection_reads_back_as_its_flat_form() -> None:
    assert Success(flattened(WHOLE)) == decode_projection(WRITTEN.encode())
    assert flattened(WHOLE) == read_projection(projection_value(WHOLE))


def test_a_turn_in_quarantine_has_one_form() -> None:
    config = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)
    found = project(SESSION, log_of("user; done; turn two; user"), config).unwrap()
    data = encode_projection(found).unwrap()

    assert b'"config":{"legacy_replies":"reject","damaged_turns":"quarantine","max_events":100000,' in data
    assert (
        b'"turns":[{"turn_id":"one","state":"quarantined","terminal_event":null,'
        b'"missing_complete_reply":false},' in data
    )
    assert data.endswith(
        b'"omitted":[{"event_id":"event-0","seq":0,"reason":"quarantined"},'
        b'{"event_id":"event-1","seq":1,"reason":"quarantined"}]}'
    )
    assert Success(flattened(found)) == decode_projection(data)


def test_an_empty_projection_writes_its_nulls() -> None:
    empty = project(SESSION, log_of("")).unwrap()
    data = encode_projection(empty).unwrap()

    assert b'"source_tail":null' in data
    assert data.endswith(b'"groups":[],"turns":[],"omitted":[]}')
    assert Success(flattened(empty)) == decode_projection(data)


@pytest.mark.parametrize(
    ("old", "new", "reason", "path"),
    [
        ('"omit"', '"Omit"', "unknown_enum", "/config/legacy_replies"),
        ('"kind":"tool_exchange"', '"kind":"ToolExchange"', "unknown_enum", "/groups/1/kind"),
        ('"open"', '"pending"', "unknown_enum", "/turns/1/state"),
        ('"reason":"audit"', '"reason":"note"', "unknown_enum", "/omitted/0/reason"),
        ('"source_event_count":5,', "", "missing_key", "/source_event_count"),
        ('"source_tail":"event-4",', "", "missing_key", "/source_tail"),
        ('"source_tail":"event-4"', '"source_tail":4', "wrong_type", "/source_tail"),
        ('"algorithm_version":1', '"algorithm_version":"1"', "wrong_type", "/algorithm_version"),
        ('"omitted":[', '"sizes":[],"omitted":[', "unknown_key", "/sizes"),
        ('"seq":3', '"seq":-3', "out_of_range", "/omitted/0/seq"),
        ('"content":"next"', '"content":null', "wrong_type", "/groups/2/messages/0/content"),
    ],
)
def test_a_projection_that_is_none_is_refused_with_its_path(
    old: str, new: str, reason: str, path: str
) -> None:
    assert 1 == WRITTEN.count(old)

    found = decode_projection(WRITTEN.replace(old, new).encode())

    assert isinstance(found, Failure)
    assert (DecodeReason(reason), path) == (found.failure().reason, found.failure().path)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, ProjectionConfig()),
        ({"legacy_replies": "omit"}, OMIT),
        ({"damaged_turns": "reject"}, ProjectionConfig()),
        ({"damaged_turns": "quarantine"}, ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)),
        (
            {"max_events": 0, "max_messages": 2**64 - 1},
            ProjectionConfig(max_events=0, max_messages=2**64 - 1),
        ),
    ],
)
def test_a_configuration_has_its_defaults(value: dict[str, str | int], expected: ProjectionConfig) -> None:
    assert expected == read_config(value)


@pytest.mark.parametrize(
    ("value", "reason", "step"),
    [
        ({"max_event": 1}, DecodeReason.UNKNOWN_KEY, "max_event"),
        ({"max_events": True}, DecodeReason.WRONG_TYPE, "max_events"),
        ({"max_events": 2**64}, DecodeReason.OUT_OF_RANGE, "max_events"),
        ({"legacy_replies": None}, DecodeReason.WRONG_TYPE, "legacy_replies"),
        ({"damaged_turns": None}, DecodeReason.WRONG_TYPE, "damaged_turns"),
    ],
)
def test_a_configuration_is_strict(value: dict[str, int | None], reason: DecodeReason, step: str) -> None:
    found = read_config(value)

    assert isinstance(found, RecordProblem)
    assert (reason, (step,)) == (found.reason, found.steps)
