"""The wire (W1 to W8): a log as bytes, strictly and totally decoded, and written in one form."""

import json
import math
import subprocess
import sys
from typing import Any

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jingwei.codec import DecodeFailed, DecodeReason
from jingwei.events.records import DoneEvent, DoneStatus, SessionEvent, SessionLog
from jingwei.events.wire import (
    EVENT_TYPES,
    decode_events,
    decode_log,
    encode_event,
    encode_log,
    event_bytes,
    event_text,
    log_bytes,
    outcome_text,
)
from jingwei.ids import TurnId
from jingwei.jsontext import Json, JsonProblem, canonical, parse, parse_canonical, pointer, scan
from jingwei.messages.wire import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from jingwei.outcome import Failure, Success
from jingwei.testing import strategies as some
from properties.models import (
    Plain,
    Slip,
    has_surrogate,
    is_problem,
    plain_event,
    plain_outcome,
    plain_request,
    plain_response,
    plain_text,
    read_by_hand,
    same_json,
    strict_by_hooks,
)

# --- helpers --------------------------------------------------------------------------------------

Place = tuple[str | int, ...]

EVENT = Plain(
    event_id="e0", session_id="s", turn_id="t0", seq=0, kind={"type": "user_message", "text": "你好"}
)
GOOD_LINE = plain_text(EVENT).encode() + b"\n"

OPTIONAL = frozenset(
    {
        *("generation_id", "message_id", "operation", "action", "artifact", "message", "context"),
        *("max_tokens", "timeout", "provider_call_id", "retry", "review", "upstream_status", "partial"),
        *("content", "input_tokens", "output_tokens", "total_tokens", "finish_reason", "usage"),
        *("constraint", "choice", "tool_calls", "incomplete_tool_calls"),
    }
)
"""Keys that some record may lack; `error.message` and others share their names and are skipped with them."""

FREE = frozenset({"plan", "payload", "artifact", "parameters", "schema", "report"})
TAGS = frozenset({"type", "role"})


def line_of(event: Plain) -> bytes:
    return plain_text(event).encode() + b"\n"


def failure_of(data: bytes) -> DecodeFailed:
    return decode_log(data).failure()


def places(value: Any, at: Place = ()) -> list[tuple[Place, Any]]:
    """Every value outside free JSON, with its path."""
    found = [(at, value)]
    if isinstance(value, dict):
        for key, child in value.items():
            free = key in FREE or (key == "arguments" and "index" not in value)
            found += [] if free else places(child, (*at, key))
    if isinstance(value, list):
        for index, child in enumerate(value):
            found += places(child, (*at, index))
    return found


def replaced(value: Any, at: Place, new: Any) -> Any:
    """A copy of a JSON value with another value at one place."""
    if not at:
        return new
    head, *tail = at
    if isinstance(value, dict):
        return {k: replaced(v, tuple(tail), new) if k == head else v for k, v in value.items()}
    return [replaced(v, tuple(tail), new) if i == head else v for i, v in enumerate(value)]


def removed(value: Any, at: Place) -> Any:
    *above, key = at
    holder = dict(get(value, tuple(above)))
    del holder[key]
    return replaced(value, tuple(above), holder)


def get(value: Any, at: Place) -> Any:
    for step in at:
        value = value[step]
    return value


WRONG_TYPES: dict[type, tuple[Any, ...]] = {
    str: (5, True, ["x"], {"x": "y"}),
    int: ("5", True, 1.0, [1]),
    bool: (1, "true", 0, [True]),
    dict: ([], "x", 7),
    list: ({}, "x", 7),
}
"""What a value of each type must not be read from (W5)."""


def plain_events() -> st.SearchStrategy[Plain]:
    return some.events().map(plain_event)


FULL_CALL: Plain = {
    "operation": {
        "task_id": "t",
        "key": "k",
        "contract": {"effect": "read_only", "revision": "1"},
        "retry": {
            "call_id": "c0",
            "event_id": "e0",
            "review": {"actor": "a", "evidence": "b", "outcome": "completed"},
        },
    },
    "action": {"decision": {"task_id": "t", "step_id": "s"}, "action_index": 0, "provider_call_id": None},
    "id": "c",
    "name": "grep",
    "arguments": {},
}
BARE_CALL: Plain = {
    **FULL_CALL,
    "operation": {**FULL_CALL["operation"], "retry": None},
}
MODEL_CALL: Plain = {"id": "c", "name": "grep", "arguments": {}}
FULL_INPUT: Plain = {
    "messages": [
        {"role": "system", "content": "a"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [MODEL_CALL]},
        {"role": "tool", "call_id": "c", "content": "a"},
        {"role": "assistant", "content": "a"},
    ],
    "constraint": {
        "mode": "native_tools",
        "tools": [{"name": "grep", "description": "", "parameters": True}],
        "choice": {"kind": "named", "name": "grep"},
    },
}
FULL_RESPONSE: Plain = {
    "content": "a",
    "tool_calls": [MODEL_CALL],
    "incomplete_tool_calls": [{"index": 0, "id": "", "name": "", "arguments": "{"}],
    "finish_reason": {"kind": "other", "code": "x"},
    "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
}
BARE_RESPONSE: Plain = {
    "tool_calls": [],
    "incomplete_tool_calls": [],
    "finish_reason": {"kind": "stop"},
    "usage": {},
}
SCHEMA: Plain = {"mode": "json_schema", "name": "a", "schema": {}}
FULL_OPTIONS: Plain = {
    "context": {"task_id": "t", "step_id": "s"},
    "max_tokens": 7,
    "timeout": {"secs": 3, "nanos": 17},
    "limits": {"max_output_bytes": 1, "max_tool_calls": 1},
}


def _call(call: Plain) -> Plain:
    return {**EVENT, "kind": {"type": "tool_call", "call": call}}


def _request(constraint: Plain) -> Plain:
    asked = {"version": 1, "call_id": "m", "mode": "stream", "options": FULL_OPTIONS}
    return {
        **EVENT,
        "kind": {
            "type": "model_request",
            "request": {**asked, "input": {**FULL_INPUT, "constraint": constraint}},
        },
    }


def _response(response: Plain) -> Plain:
    outcome = {"status": "succeeded", "response": response}
    return {
        **EVENT,
        "kind": {"type": "model_result", "result": {"version": 1, "call_id": "m", "outcome": outcome}},
    }


STRICT_HOLDERS: tuple[tuple[Plain, Place], ...] = (
    (_call(FULL_CALL), ("kind", "call", "operation")),
    (_call(BARE_CALL), ("kind", "call", "operation")),
    (_call(FULL_CALL), ("kind", "call", "action")),
    (_request(FULL_INPUT["constraint"]), ("kind", "request", "input")),
    (_request({"mode": "text"}), ("kind", "request", "input", "constraint")),
    (
        _request({"mode": "json_schema", "name": "a", "schema": {}}),
        ("kind", "request", "input", "constraint"),
    ),
    (_request({"mode": "text"}), ("kind", "request", "options", "context")),
    (_response(FULL_RESPONSE), ("kind", "result", "outcome", "response")),
    (_response(BARE_RESPONSE), ("kind", "result", "outcome", "response")),
)
STRICT_PLACES = tuple(
    (event, (*above, *at))
    for event, above in STRICT_HOLDERS
    for at, value in places(get(event, above))
    if isinstance(value, dict)
)
"""Every object inside what W1 names as strict, with all of its optional keys and with none."""

LENIENT_PLACES: tuple[Place, ...] = (
    (),
    ("kind",),
    ("kind", "call"),
    ("kind", "result"),
    ("kind", "result", "outcome"),
    ("kind", "request"),
    ("kind", "request", "options"),
    ("kind", "request", "options", "limits"),
)


def has(event: Plain, at: Place) -> bool:
    try:
        return get(event, at) is not None
    except (KeyError, IndexError, TypeError):
        return False


def json_texts() -> st.SearchStrategy[str]:
    """Texts that are JSON, nearly JSON, or made of its marks."""
    written = some.json_values().map(plain_text)
    spaced = some.json_values().map(lambda value: json.dumps(value, indent=1))
    marks = st.sampled_from(_MARKS)
    soup = st.lists(marks, max_size=9).map("".join)
    spoiled = st.builds(_spoiled, written | spaced, st.integers(0, 60), marks, st.integers(0, 2))
    return st.one_of(written, spaced, spoiled, spoiled, soup)


_MARKS = (
    *'{}[]:," \n\t-+.eE0123456789u\\/x\x00\x1f\ufeff',
    *('"a"', '"a":', '"a":1', '"\\u0061":', "null", "true", "false", "NaN", "Infinity", "-Infinity"),
    *("\\ud800", "\\udc00", "\\ud83d\\ude00", "\\uD800\\u0041", '"\\ud800"', '"\\udfff":', "\ud800", "é"),
    *(
        "1e400",
        "-1e999",
        "1e-400",
        ":1e400",
        "[NaN",
        "[-Infinity]",
        "0.0",
        "-0",
        "01",
        "1.",
        ".5",
        "1e",
        "[[",
        "]]",
        "\\n",
        "\\q",
        "\\u12",
    ),
)


def _spoiled(text: str, at: int, mark: str, dropped: int) -> str:
    place = at % (len(text) + 1)
    return text[:place] + mark + text[place + dropped :]


# --- the rules ------------------------------------------------------------------------------------


class TestLinesW1:
    """W1. A log is UTF-8 JSON Lines: one event a line, each line ended by a newline, envelope keys in a
    fixed order, optional keys left out when there is nothing to say. Keys that the reader does not know
    are ignored on the envelope and in payloads, and refused inside requests, responses, contexts and
    operations. A null for an optional key reads as if the key were absent.
    """

    @given(some.legal_logs() | some.arbitrary_logs())
    def test_a_log_is_its_lines(self, log: SessionLog) -> None:
        """The bytes of a log are the bytes of its events, one line each."""
        data = encode_log(log.events).unwrap()

        assert b"".join(encode_event(event).unwrap() for event in log.events) == data
        assert len(log.events) == data.count(b"\n")
        assert data == b"" or data.endswith(b"\n")

    @given(some.events())
    def test_a_line_is_what_the_naive_writer_writes(self, event: SessionEvent) -> None:
        """Key order, absent keys and escapes agree with a writer made from the rules alone."""
        assert plain_text(plain_event(event)) == event_text(event)

    @given(some.legal_logs() | some.arbitrary_logs(), st.booleans(), st.booleans())
    def test_the_size_of_a_log_is_never_underrated(self, log: SessionLog, wide: bool, ascii_: bool) -> None:
        """However a line is spelled, what is known of its size without measuring is a bound."""
        separators = (", ", ": ") if wide else (",", ":")
        lines = (
            json.dumps(json.loads(event_text(event)), separators=separators, ensure_ascii=ascii_) + "\n"
            for event in log.events
        )
        read = decode_log("".join(lines).encode()).unwrap()

        assert log == read
        assert log_bytes(log) <= read.bytes_at_most

    @given(plain_events(), some.json_values(2))
    def test_unknown_keys_of_envelope_and_payload_are_ignored(self, event: Plain, value: Any) -> None:
        """An extra key changes nothing at any place that is lenient."""
        expected = decode_log(line_of(event)).unwrap()
        for at in LENIENT_PLACES:
            if has(event, at):
                fewer = replaced(event, at, {"x_new": value, **get(event, at)})
                more = replaced(event, at, {"x_new": value, **get(event, at), "y_new": value})

                assert expected == decode_log(line_of(fewer)).unwrap()
                assert expected == decode_log(line_of(more)).unwrap()

    @pytest.mark.parametrize(("event", "at"), STRICT_PLACES)
    @pytest.mark.parametrize("count", [1, 2, 3])
    @pytest.mark.parametrize("canonical_line", [True, False])
    def test_unknown_keys_are_refused_where_they_could_matter(
        self, event: Plain, at: Place, count: int, canonical_line: bool
    ) -> None:
        """Requests, responses, contexts and operations name the first key that they do not know."""
        line = line_of(replaced(event, at, {**get(event, at), **dict.fromkeys(["x/~", "y", "z"][:count], 1)}))
        failure = failure_of(line if canonical_line else line.replace(b"{", b"{ ", 1))

        assert isinstance(decode_log(line_of(event)), Success)
        assert DecodeReason.UNKNOWN_KEY is failure.reason
        assert pointer((*at, "x/~")) == failure.path

    @given(plain_events())
    def test_null_for_an_optional_key_reads_as_absent(self, event: Plain) -> None:
        """`null` and nothing are the same for ids, contexts, artifacts and texts that may be missing."""
        expected = decode_log(line_of(event)).unwrap()
        wider: Plain = {"generation_id": None, "message_id": None, **event}
        optional = {
            "done": {"artifact": None},
            "stage_progress": {"message": None},
            "tool_call": {},
        }
        wider["kind"] = {**optional.get(event["kind"]["type"], {}), **event["kind"]}
        if event["kind"]["type"] == "tool_call":
            wider["kind"]["call"] = {"operation": None, "action": None, **event["kind"]["call"]}

        assert expected == decode_log(line_of(wider)).unwrap()


class TestKindsW2:
    """W2. What happened is an object with a `type`; there are fourteen types, each with its own keys."""

    def test_the_fourteen_tags(self) -> None:
        """The tags are the ones of the rule, in its order."""
        tags = (
            "user_message assistant_delta assistant_message model_request model_result tool_call "
            "tool_result task_run_report stage_progress mode plan_ready done error custom"
        )

        assert tags.split() == list(EVENT_TYPES)

    @given(plain_events())
    def test_each_kind_comes_back_as_it_was(self, event: Plain) -> None:
        """Decoding what the naive writer wrote gives an event that writes the same."""
        (read,) = decode_log(line_of(event)).unwrap().events

        assert event == plain_event(read)
        assert plain_text(event) == plain_text(plain_event(read))

    @given(plain_events(), st.text(max_size=8))
    def test_another_tag_is_refused(self, event: Plain, tag: str) -> None:
        """A type outside the list is a failure at `/kind/type`, never an unknown kind."""
        assume(tag not in EVENT_TYPES)
        failure = failure_of(line_of(replaced(event, ("kind", "type"), tag)))

        assert (DecodeReason.UNKNOWN_TAG, "/kind/type") == (failure.reason, failure.path)


ENUMS: tuple[tuple[Plain, Place, str], ...] = (
    ({"type": "done", "status": ""}, ("status",), "completed waiting_for_input checkpointed cancelled"),
    ({"type": "stage_progress", "stage": "a", "status": ""}, ("status",), "started completed failed"),
    (
        {
            "type": "tool_result",
            "result": {
                "call_id": "c",
                "outcome": {"status": "failed", "category": "", "code": "", "message": "", "retryable": True},
            },
        },
        ("result", "outcome", "category"),
        "unavailable invalid_arguments denied guard_fault approval_unavailable approval_denied "
        "approval_fault timeout cancelled body_failure body_panic output_limit budget",
    ),
)

MODEL_FAILED: Plain = {
    "type": "model_result",
    "result": {
        "version": 1,
        "call_id": "m",
        "outcome": {
            "status": "failed",
            "category": "timeout",
            "code": "",
            "message": "",
            "retryable": False,
            "upstream_status": None,
            "partial": {"content": None, "tool_calls": []},
        },
    },
}

MODEL_CATEGORIES = (
    *("upstream", "timeout", "stream_parse", "protocol"),
    *("cancelled", "adapter", "internal", "budget"),
)

MODEL_ASKED: Plain = {
    "type": "model_request",
    "request": {
        "version": 1,
        "call_id": "m",
        "mode": "complete",
        "input": {"messages": [], "constraint": {"mode": "text"}},
        "options": {
            "max_tokens": None,
            "timeout": None,
            "limits": {"max_output_bytes": 1, "max_tool_calls": 1},
        },
    },
}


def accepted(kind: Plain) -> bool:
    return isinstance(decode_log(line_of({**EVENT, "kind": kind})), Success)


class TestToolRecordsW3:
    """W3. The spellings of how a turn, a stage and a tool call can end are closed lists; a call holds its
    optional operation and action before id, name and arguments; a result holds a call id and an outcome
    told apart by `status`.
    """

    @pytest.mark.parametrize(("kind", "at", "spellings"), ENUMS)
    def test_the_spellings_are_those_of_the_rule(self, kind: Plain, at: Place, spellings: str) -> None:
        """Each listed spelling is read and written again; its upper case is refused at its place."""
        for spelling in spellings.split():
            data = line_of({**EVENT, "kind": replaced(kind, at, spelling)})

            assert data == encode_log(decode_log(data).unwrap().events).unwrap()

            failure = failure_of(line_of({**EVENT, "kind": replaced(kind, at, spelling.upper())}))

            assert (DecodeReason.UNKNOWN_ENUM, pointer(("kind", *at))) == (failure.reason, failure.path)

    @given(some.tool_outcomes())
    def test_an_outcome_is_written_whole(self, outcome: Any) -> None:
        """Status first, then everything that was recorded."""
        assert plain_text(plain_outcome(outcome)) == outcome_text(outcome)


class TestModelRecordsW4:
    """W4. A model request is held with its version, call id, mode, whole input and options; a model result
    with its version, call id and outcome. A task's report is carried unread, except for its version.
    """

    @pytest.mark.parametrize("spelling", MODEL_CATEGORIES)
    def test_the_categories_of_a_failed_model_call(self, spelling: str) -> None:
        """Each of the eight is read; with another letter it is not."""
        at = ("result", "outcome", "category")

        assert accepted(replaced(MODEL_FAILED, at, spelling))
        assert not accepted(replaced(MODEL_FAILED, at, spelling + "s"))

    def test_the_modes_and_the_bounds_of_the_options(self) -> None:
        """`complete` and `stream`; 32 bits for tokens, below 10^9 for nanoseconds, 64 bits for limits."""
        asked = ("request", "options")

        def with_option(key: str, value: Any) -> Plain:
            return dict(replaced(MODEL_ASKED, (*asked, key), value))

        assert accepted(replaced(MODEL_ASKED, ("request", "mode"), "stream"))
        assert not accepted(replaced(MODEL_ASKED, ("request", "mode"), "batch"))
        assert accepted(with_option("max_tokens", 2**32 - 1))
        assert not accepted(with_option("max_tokens", 2**32))
        assert accepted(with_option("timeout", {"secs": 2**64 - 1, "nanos": 999_999_999}))
        assert not accepted(with_option("timeout", {"secs": 3, "nanos": 1_000_000_000}))
        assert not accepted(with_option("timeout", {"secs": 2**64, "nanos": 0}))

    @given(st.dictionaries(some.texts(4), some.json_values(4), max_size=4))
    def test_a_report_is_carried_whole(self, members: dict[str, Any]) -> None:
        """Nothing but `version` is looked at, and the report comes back key for key."""
        report = {**members, "version": 1}
        data = line_of({**EVENT, "kind": {"type": "task_run_report", "report": report}})
        (event,) = decode_log(data).unwrap().events

        assert same_json(report, plain_event(event)["kind"]["report"])

    @given(some.requests())
    def test_a_request_is_written_as_the_naive_writer_writes_it(self, request_: Any) -> None:
        """The input of a model request, also on its own."""
        data = encode_request(request_).unwrap()

        assert plain_text(plain_request(request_)).encode() == data
        assert request_ == decode_request(data).unwrap()

    @given(some.responses())
    def test_a_response_is_written_as_the_naive_writer_writes_it(self, response: Any) -> None:
        """The answer in a model result, also on its own."""
        data = encode_response(response).unwrap()

        assert plain_text(plain_response(response)).encode() == data
        assert response == decode_response(data).unwrap()


VERSIONED: tuple[tuple[Plain, Place], ...] = (
    ({"type": "assistant_message", "version": 1, "text": ""}, ("version",)),
    (MODEL_ASKED, ("request", "version")),
    (MODEL_FAILED, ("result", "version")),
    ({"type": "task_run_report", "report": {"version": 1, "x": 2}}, ("report", "version")),
)


class TestNothingIsCoercedW5:
    """W5. A version that is not the number 1, a tag or spelling outside its list, and a value of another
    type are failures that name the line and the place of the value. Nothing is turned into what it is not.
    """

    @given(plain_events(), st.data())
    def test_a_wrong_type_is_named_at_its_place(self, event: Plain, data: st.DataObject) -> None:
        """Any value of a record, replaced by one of another type, is what the failure points at."""
        here = [(at, value) for at, value in places(event) if at and type(value) in WRONG_TYPES]
        at, value = data.draw(st.sampled_from(here))
        wrong = data.draw(st.sampled_from(WRONG_TYPES[type(value)]))
        failure = failure_of(GOOD_LINE + line_of(replaced(event, at, wrong)))

        assert (DecodeReason.WRONG_TYPE, pointer(at)) == (failure.reason, failure.path)
        assert (2, len(GOOD_LINE)) == (failure.line, failure.byte_offset)

    @given(plain_events(), st.data())
    def test_null_is_no_value(self, event: Plain, data: st.DataObject) -> None:
        """Where a key must be there, null is a wrong type."""
        here = [
            at
            for at, value in places(event)
            if at and type(value) in WRONG_TYPES and not OPTIONAL & {at[-1]} and at[-1] != "artifact"
        ]
        at = data.draw(st.sampled_from(here))
        failure = failure_of(line_of(replaced(event, at, None)))

        assert (DecodeReason.WRONG_TYPE, pointer(at)) == (failure.reason, failure.path)

    @given(plain_events(), st.data())
    def test_a_missing_key_is_named(self, event: Plain, data: st.DataObject) -> None:
        """A required key that is not there is the failure's path."""
        here = [at for at, _ in places(event) if at and isinstance(at[-1], str) and at[-1] not in OPTIONAL]
        at = data.draw(st.sampled_from(here))
        failure = failure_of(line_of(removed(event, at)))

        assert (DecodeReason.MISSING_KEY, pointer(at)) == (failure.reason, failure.path)

    @pytest.mark.parametrize(("kind", "at"), VERSIONED)
    @given(version=st.sampled_from((0, 2, 3, -1, 10**30, "1", 1.0, True, None, [1], {})))
    def test_only_the_number_one_is_a_version(self, kind: Plain, at: Place, version: Any) -> None:
        """Other integers are unsupported versions; everything else is no version at all."""
        failure = failure_of(line_of({**EVENT, "kind": replaced(kind, at, version)}))
        reason = DecodeReason.UNSUPPORTED_VERSION if type(version) is int else DecodeReason.WRONG_TYPE

        assert (reason, pointer(("kind", *at))) == (failure.reason, failure.path)

    @given(plain_events(), st.data())
    def test_of_two_wrong_values_the_first_in_the_line_is_named(
        self, event: Plain, data: st.DataObject
    ) -> None:
        """The place that stands first in the text wins, however deep it stands."""
        leaves = [at for at, value in places(event) if type(value) in (str, int, bool)]
        one, two = data.draw(st.lists(st.sampled_from(leaves), min_size=2, max_size=2, unique=True))
        tags = [at for at in (one, two) if at[-1] in {"type", "role", "status", "mode", "kind"}]
        assume(not tags)  # a wrong tag hides what stands in its object
        first = min(one, two, key=leaves.index)
        failure = failure_of(line_of(replaced(replaced(event, one, [0]), two, [0])))

        assert (DecodeReason.WRONG_TYPE, pointer(first)) == (failure.reason, failure.path)


BROKEN_LINES: tuple[tuple[bytes, DecodeReason], ...] = (
    (b"\xff{}", DecodeReason.INVALID_UTF8),
    (GOOD_LINE[:-4] + b'\xed\xa0\x80"}}', DecodeReason.INVALID_UTF8),
    (b"", DecodeReason.BLANK_LINE),
    (b" \t\r ", DecodeReason.BLANK_LINE),
    (b"[]", DecodeReason.NOT_AN_OBJECT),
    (b"null", DecodeReason.NOT_AN_OBJECT),
    (b'"text"', DecodeReason.NOT_AN_OBJECT),
    (b"{", DecodeReason.INVALID_JSON),
    (b"{} {}", DecodeReason.INVALID_JSON),
    (b"{'a':1}", DecodeReason.INVALID_JSON),
    (b'{"a":1,}', DecodeReason.INVALID_JSON),
    (b'{"a":01}', DecodeReason.INVALID_JSON),
    (b"\xc2\xa0{}", DecodeReason.INVALID_JSON),
    (b'{"a":"\\ud800"}', DecodeReason.LONE_SURROGATE),
    (b'{"a":"\\udc00\\ud800"}', DecodeReason.LONE_SURROGATE),
    (b'{"\\ud800x":1}', DecodeReason.LONE_SURROGATE),
    (b'{"a":NaN}', DecodeReason.NON_FINITE),
    (b'{"a":-Infinity}', DecodeReason.NON_FINITE),
    (b'{"a":1e400}', DecodeReason.NON_FINITE),
    (b'{"a":1,"a":1}', DecodeReason.DUPLICATE_KEY),
    (b'{"a":1,"\\u0061":1}', DecodeReason.DUPLICATE_KEY),
    (b'{"a":' + b"[" * 128 + b"]" * 128 + b"}", DecodeReason.TOO_DEEP),
    (b'{"a":' + b"[" * 100_000, DecodeReason.TOO_DEEP),
    (b'{"a":' + b"7" * 4301 + b"}", DecodeReason.INTEGER_TOO_LONG),
    (b'{"a":-' + b"7" * 4301 + b"}", DecodeReason.INTEGER_TOO_LONG),
    (b"{}", DecodeReason.MISSING_KEY),
)


class TestTotalDecodingW6:
    """W6. Whatever the bytes, decoding answers: with a log or with the first failure by byte offset, which
    tells the line and where it starts. Refused are bytes that are not UTF-8, a byte order mark, half
    surrogate pairs, numbers that are no finite double, repeated keys, more than 128 levels, blank lines, a
    last line without its newline, a line that is no object, and integers of more than 4,300 digits.
    """

    @given(st.binary(max_size=60) | json_texts().map(lambda text: text.encode("utf-8", "replace")))
    def test_any_bytes_give_a_result(self, data: bytes) -> None:
        """Each door answers for any bytes, and event by event tells of the same first failure."""
        outcome = decode_log(data)

        assert isinstance(outcome, Success | Failure)
        assert isinstance(decode_request(data), Success | Failure)
        assert isinstance(decode_response(data), Success | Failure)

        failures = [one for one in decode_events([data]) if isinstance(one, Failure)]

        assert ([outcome.failure()] if isinstance(outcome, Failure) else []) == [
            one.failure() for one in failures[:1]
        ]

    @given(some.legal_logs(max_turns=2), st.data())
    def test_any_change_of_bytes_gives_a_result(self, log: SessionLog, data: st.DataObject) -> None:
        """A log with some bytes changed decodes or fails, and a failure stands where a line starts."""
        whole = bytearray(encode_log(log.events).unwrap())
        assume(whole)
        for _ in range(data.draw(st.integers(1, 3))):
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
        outcome = decode_log(bytes(whole))
        if isinstance(outcome, Failure):
            failure = outcome.failure()
            starts = [0, *[at + 1 for at, byte in enumerate(whole) if byte == 10]]

            assert failure.line is not None
            assert starts[failure.line - 1] == failure.byte_offset

    @pytest.mark.parametrize(("broken", "reason"), BROKEN_LINES)
    @pytest.mark.parametrize("before", [0, 1, 3])
    def test_each_refusal_with_its_line(self, broken: bytes, reason: DecodeReason, before: int) -> None:
        """Good lines before and after change nothing: the broken one is named, with its offset."""
        data = GOOD_LINE * before + broken + b"\n" + GOOD_LINE + b"[]\n"
        failure = failure_of(data)

        assert reason is failure.reason
        assert before + 1 == failure.line
        assert before * len(GOOD_LINE) == failure.byte_offset
        assert failure.whole_bytes is None

    def test_a_byte_order_mark_is_refused_only_where_one_can_stand(self) -> None:
        """At the start of the log it is `bom`; elsewhere U+FEFF is a character that JSON does not expect."""
        bom = b"\xef\xbb\xbf"

        assert DecodeReason.BOM is failure_of(bom + GOOD_LINE).reason
        assert DecodeReason.BOM is failure_of(bom).reason
        assert DecodeReason.INVALID_JSON is failure_of(GOOD_LINE + bom + GOOD_LINE).reason
        assert DecodeReason.BOM is decode_request(bom + b"{}").failure().reason

    @given(some.legal_logs(max_turns=2), st.data())
    def test_a_torn_last_line_says_what_is_whole(self, log: SessionLog, data: st.DataObject) -> None:
        """Cut anywhere inside a line: `whole_bytes` is what is left, and what is left decodes."""
        whole = encode_log(log.events).unwrap()
        assume(whole)
        cut = data.draw(st.integers(1, len(whole) - 1))
        assume(whole[cut - 1 : cut] != b"\n")
        failure = failure_of(whole[:cut])
        kept = whole[:cut].rfind(b"\n") + 1

        assert DecodeReason.TORN_LAST_LINE is failure.reason
        assert (kept, kept) == (failure.whole_bytes, failure.byte_offset)
        assert whole[:kept].count(b"\n") + 1 == failure.line
        assert whole[:kept].count(b"\n") == len(decode_log(whole[:kept]).unwrap().events)

    def test_a_broken_line_before_a_torn_one_wins(self) -> None:
        """The first failure by offset, whatever its kind."""
        failure = failure_of(b"\n" + GOOD_LINE[:-1])

        assert (DecodeReason.BLANK_LINE, 1, 0) == (failure.reason, failure.line, failure.byte_offset)

    @given(json_texts())
    def test_the_fast_parser_accepts_what_the_definition_accepts(self, text: str) -> None:
        """`parse` gives what `scan` gives, value or problem; `parse_canonical` accepts no more."""
        expected, actual = scan(text), parse(text)

        assert expected == actual
        assert is_problem(expected) or same_json(expected, actual)

        if any(map(has_surrogate, text)):
            return  # no bytes decode to such a text, and `parse_canonical` asks for one from bytes

        shortcut = parse_canonical(text)
        if isinstance(shortcut, dict | list | str | int | float | None):
            assert same_json(expected, shortcut)
            assert text == canonical(shortcut)

    @given(json_texts())
    def test_the_definition_agrees_with_the_standard_parser(self, text: str) -> None:
        """The standard library with hooks against its leniencies accepts the same texts, as the same."""
        expected, actual = strict_by_hooks(text), scan(text)

        assert is_problem(expected) == is_problem(actual), (expected, actual)
        assert is_problem(expected) or same_json(expected, actual)

    @given(json_texts())
    def test_the_definition_agrees_with_a_reader_by_hand(self, text: str) -> None:
        """Value for value, and reason for reason; for everything but broken grammar, place for place."""
        expected, actual = read_by_hand(text), scan(text)
        if isinstance(expected, Slip):
            assert isinstance(actual, JsonProblem)
            assert expected.reason == actual.reason
            assert expected.reason == "invalid_json" or expected.path == actual.path
        else:
            assert same_json(expected, actual)

    @given(st.integers(120, 136), st.booleans(), st.booleans())
    def test_depth_is_counted_from_the_event(self, depth: int, objects: bool, spaced: bool) -> None:
        """128 levels, the event object being the first, are read; one more is refused."""
        opening, closing = ('{"a":', "}") if objects else ("[", "]")
        inner = depth - 2  # the event and its kind are the first two
        plan = opening * inner + "0" + closing * inner
        text = plain_text({**EVENT, "kind": {"type": "plan_ready", "plan": 0}})
        line = text.replace('"plan":0', ('"plan": ' if spaced else '"plan":') + plan)
        outcome = decode_log(line.encode() + b"\n")
        if depth <= 128:
            assert isinstance(outcome, Success)
        else:
            assert DecodeReason.TOO_DEEP is outcome.failure().reason

    @given(some.legal_logs(max_turns=2), st.sampled_from((b"", b"\n", b"{", b"\xff\n")), st.data())
    def test_any_division_into_pieces_reads_the_same(
        self, log: SessionLog, tail: bytes, data: st.DataObject
    ) -> None:
        """Event by event, in pieces of any size, gives what all at once gives."""
        whole = encode_log(log.events).unwrap() + tail
        cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
        pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
        outcomes = list(decode_events(pieces))
        events = [one.unwrap() for one in outcomes if isinstance(one, Success)]
        failures = [one.failure() for one in outcomes if isinstance(one, Failure)]
        at_once = decode_log(whole)
        if isinstance(at_once, Failure):
            assert at_once.failure() == failures[0]
            assert log.events == tuple(events)
        else:
            assert at_once.unwrap().events == tuple(events)
            assert failures == []

    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_pieces_of_one_size(self, size: int) -> None:
        """Also byte by byte, through characters of several bytes and across a broken line."""
        whole = GOOD_LINE + "{“}\n".encode() + GOOD_LINE + b"\n" + GOOD_LINE[:-1]
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]

        assert list(decode_events([whole])) == list(decode_events(pieces))
        assert [True, False, True, False, False] == [
            isinstance(one, Success) for one in decode_events(pieces)
        ]


LIMITS_SCRIPT = """
import sys
from jingwei.events.wire import decode_log, encode_log
data = sys.stdin.buffer.read()
for limit in (0, 640, 4300, 100000):
    sys.set_int_max_str_digits(limit)
    outcome = decode_log(data)
    assert encode_log(outcome.unwrap().events).unwrap() == data, limit
    spaced = data.replace(b'"plan":', b'"plan": ')
    assert encode_log(decode_log(spaced).unwrap().events).unwrap() == data, limit
    assert decode_log(data.replace(b":7", b":77")).failure().reason.value == "integer_too_long", limit
print("ok")
"""


class TestExactNumbersW7:
    """W7. Numbers in free JSON survive exactly: integers of up to 4,300 digits, and floats as the same
    double. Keys keep their order. Writing what was read gives the same bytes for every log that this
    library wrote.
    """

    @given(some.legal_logs(legacy=True) | some.mutated_logs() | some.arbitrary_logs())
    def test_encode_after_decode_is_the_identity(self, log: SessionLog) -> None:
        """Bytes to events to bytes, and events to bytes to events, sizes included."""
        data = encode_log(log.events).unwrap()
        read = decode_log(data).unwrap()

        assert log == read
        assert data == encode_log(read.events).unwrap()
        assert len(data) - len(log.events) == log_bytes(read)

    @given(some.integers() | st.integers(-(10**4300) + 1, 10**4300 - 1))
    def test_integers_of_any_size(self, number: int) -> None:
        """As a payload, and inside arrays and objects."""
        for value in (number, [number, -number], {"n": number}):
            assert same_json(value, Json(canonical(value)).value())
            assert same_json(value, parse(canonical(value)))
            assert same_json(value, parse(" " + canonical(value)))
            assert same_json(value, scan(canonical(value)))

    @pytest.mark.parametrize("sign", ["", "-"])
    @pytest.mark.parametrize("space", ["", " "])
    def test_the_longest_integers(self, sign: str, space: str) -> None:
        """4,300 digits are read, as they are, and written; 4,301 are refused, and told as what they are."""
        digits = "7" + "0123456789" * 429 + "012345678"
        number = int(digits) if not sign else -int(digits)

        assert 4300 == len(digits)
        assert same_json([number], parse(f"[{space}{sign}{digits}]"))
        assert same_json([number], scan(f"[{space}{sign}{digits}]"))
        assert f"[{sign}{digits}]" == canonical([number])

        for problem in (parse(f"[{space}{sign}{digits}0]"), scan(f"[{space}{sign}{digits}0]")):
            assert isinstance(problem, JsonProblem)
            assert ("integer_too_long", "/0") == (problem.reason, problem.path)

    def test_integers_whatever_the_interpreter_is_set_to(self) -> None:
        """4,300 digits are read and written exactly, 4,301 refused, with its limit off, low, and high."""
        digits = "7" + "0123456789" * 429 + "012345678"
        text = plain_text({**EVENT, "kind": {"type": "plan_ready", "plan": 0}})
        data = text.replace('"plan":0', f'"plan":{digits}').encode() + b"\n"

        assert 4300 == len(digits)

        done = subprocess.run(
            [sys.executable, "-c", LIMITS_SCRIPT], input=data, capture_output=True, check=False
        )

        assert (b"ok", b"") == (done.stdout.strip(), done.stderr)

    @given(some.floats())
    def test_floats_are_the_same_double(self, number: float) -> None:
        """Also negative zero, subnormal and very large ones; and a float never becomes an integer."""
        read = parse(canonical([number]))

        assert isinstance(read, list)
        assert type(read[0]) is float
        assert (number, math.copysign(1, number)) == (read[0], math.copysign(1, read[0]))

    def test_an_artifact_that_is_null(self) -> None:
        """A record may hold the JSON null as its artifact, which is no other than none (W1)."""
        done = DoneEvent(status=DoneStatus.COMPLETED, artifact=Json("null"))
        event = attrs.evolve(decode_log(GOOD_LINE).unwrap().events[0], kind=done)
        line = encode_event(event).unwrap()

        assert line == encode_log(decode_log(line).unwrap().events).unwrap()

    @given(st.lists(some.texts(4), unique=True, max_size=6))
    def test_key_order_is_kept(self, keys: list[str]) -> None:
        """Free JSON is written in the order in which it was read, and equal keys in another order differ."""
        value = {key: index for index, key in enumerate(keys)}
        line = line_of({**EVENT, "kind": {"type": "plan_ready", "plan": value}})
        (event,) = decode_log(line).unwrap().events

        assert keys == list(plain_event(event)["kind"]["plan"])
        assert line == encode_event(event).unwrap()

    @given(some.json_values())
    def test_a_foreign_spelling_is_read_exactly(self, value: Any) -> None:
        r"""Spaces, `\u` escapes and exponents of another writer change no value."""
        event = {**EVENT, "kind": {"type": "custom", "plugin": "p", "kind": "k", "payload": value}}
        foreign = json.dumps(event, indent=None, separators=(" , ", " : "), ensure_ascii=True)
        (read,) = decode_log(foreign.encode() + b"\n").unwrap().events

        assert same_json(value, plain_event(read)["kind"]["payload"])
        assert line_of(event) == encode_event(read).unwrap()


class TestCanonicalBytesW8:
    r"""W8. One value has one form: no spaces, UTF-8, escapes for the quote, the backslash and control
    characters only (short where JSON has a short one, else lower-case `\u00xx`), floats as Python writes
    them, record fields in declared order after the tag.
    """

    @given(some.json_values())
    def test_canonical_text_is_that_of_the_standard_encoder(self, value: Any) -> None:
        """Compact, not escaped to ASCII: the standard library's own output."""
        assert plain_text(value) == canonical(value)

    def test_escapes_character_by_character(self) -> None:
        """Every control character, the quote and the backslash are escaped; nothing else is."""
        short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
        for code in [*range(0x300), 0x2028, 0x2029, 0xFEFF, 0xFFFF, 0x10FFFF]:
            plain = f"\\u{code:04x}" if code < 32 else chr(code)

            assert f'"{short.get(code, plain)}"' == canonical(chr(code))

    @given(some.floats())
    def test_floats_are_written_as_python_writes_them(self, number: float) -> None:
        """The shortest digits that give the same double."""
        assert repr(number) == canonical(number)

    @given(some.events())
    def test_sizes_are_those_of_the_bytes(self, event: SessionEvent) -> None:
        """The measure of P2 is the length of the line without its newline."""
        assert len(encode_event(event).unwrap()) - 1 == event_bytes(event)

    @given(some.events(), st.sampled_from(("\ud800", "a\udfff")))
    def test_half_a_surrogate_pair_is_refused_on_writing(self, event: SessionEvent, text: str) -> None:
        """A record built in code may hold one; no bytes come out of it."""
        wrong = attrs.evolve(event, turn_id=TurnId(text))
        failure = encode_log([event, wrong]).failure()

        assert (1, f"U+{ord(text[-1]):04X}") == (failure.index, failure.actual)
        assert isinstance(encode_event(wrong), Failure)
