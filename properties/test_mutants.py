"""What mutants showed to be promised and not yet held: consequences of W5 to W8, B2 and C4.

Each method is one consequence; its docstring starts with the rule. `docs/mutation.md` says how they came up.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from typing_extensions import override

from jingwei.build import build, build_foreign
from jingwei.codec import DecodeFailed, DecodeReason, EncodeFailed, EncodeReason, parse_document
from jingwei.events.records import (
    AssistantDelta,
    CustomEvent,
    DoneEvent,
    ErrorEvent,
    EventKind,
    SessionEvent,
    SessionLog,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.wire import (
    decode_log,
    decode_within,
    encode_event,
    encode_log,
    event_bytes,
    event_text,
    event_value,
    log_bytes,
    read_event,
    session_log,
)
from jingwei.ids import EventId, MessageId, ProviderCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import (
    Json,
    JsonProblem,
    JsonValue,
    NotJson,
    canonical,
    json_of,
    parse,
    parse_json,
    parse_pairs,
    scan,
    value_of_pairs,
)
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import (
    ArgumentsNotObject,
    EmptyName,
    MissingAssistantContent,
    MissingToolResults,
)
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    ModelToolCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import index_of, messages_failure, moved
from jingwei.messages.wire import decode_request, encode_request, request_value
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.admit import admit_projection
from jingwei.projection.diagnose import diagnose
from jingwei.projection.failures import AdmissionReason, NotAdmitted
from jingwei.projection.project import project
from jingwei.projection.records import LegacyReplies, Projection, ProjectionConfig
from jingwei.projection.split import SplitProjection, split_open_turn
from jingwei.projection.wire import flattened, projection_value, read_config, read_projection
from jingwei.report.failures import InvalidInput, InvalidInputReason
from jingwei.report.wire import decode_report, encode_report
from jingwei.request.counting import (
    Allowance,
    ByteHeuristicCounter,
    CountRefused,
    FramingAllowance,
    JsonFactor,
    RenderedByteBoundCounter,
    RenderedPrompt,
)
from jingwei.request.records import BudgetMode, ContextTarget, TokenBoundEvidence, TokenCount
from jingwei.request.remembering import RememberingCounter
from jingwei.selection.records import Candidate, DropTurn, Plan, PlanStep, Room, TurnCandidate
from jingwei.selection.search import Search
from jingwei.testing import strategies
from properties.build_models import (
    TARGET,
    answer_of,
    byte_bound,
    constraint_object,
    history_of,
    inputs_of,
    json_bytes,
    message_object,
    naive_candidates,
    naive_request,
)
from properties.models import Plain, plain_text, same_json

GOOD = Plain(
    event_id="e0", session_id="s", turn_id="t0", seq=0, kind={"type": "user_message", "text": "你好"}
)
GOOD_LINE = plain_text(GOOD).encode() + b"\n"
KINDS = (
    "user_message, assistant_delta, assistant_message, model_request, model_result, tool_call, tool_result, "
    "task_run_report, stage_progress, mode, plan_ready, done, error, custom"
)
LONG = "1" * 4301

Told = tuple[DecodeReason, str | None, str, str]
"""Reason, path, what was expected, what was met."""

_R = DecodeReason
_I = InvalidInputReason
_NONE = Allowance()
_ALLOWED = FramingAllowance(message=_NONE, call=_NONE, tool=_NONE, request=_NONE)

LINES: tuple[tuple[bytes, Told], ...] = (
    (b"", (_R.BLANK_LINE, None, "a JSON object", "a blank line")),
    (b" \t\r", (_R.BLANK_LINE, None, "a JSON object", "a blank line")),
    (b"[1]", (_R.NOT_AN_OBJECT, "", "an object", "[1]")),
    (b'"a"', (_R.NOT_AN_OBJECT, "", "an object", '"a"')),
    (b'{"a":"\xff\xfe\xfd\xfc\xfb"}', (_R.INVALID_UTF8, None, "UTF-8", "FF FE FD FC at byte 6 of the line")),
    (b'{"a":x"\xff"}', (_R.INVALID_JSON, "/a", "a JSON value", "'x\"'")),
    (b'{"a":"b', (_R.INVALID_JSON, "/a", "a closed string without bare control characters", "the end")),
    (
        b'{"a":"\x01"}',
        (_R.INVALID_JSON, "/a", "a closed string without bare control characters", "'\\x01\"}'"),
    ),
    (b"{", (_R.INVALID_JSON, "", "a key in quotes", "the end")),
    (b"{a:1}", (_R.INVALID_JSON, "", "a key in quotes", "'a:1}'")),
    (b'{"a":1,}', (_R.INVALID_JSON, "", "a key in quotes", "'}'")),
    (b'{"a"1}', (_R.INVALID_JSON, "/a", "':'", "'1}'")),
    (b'{"a":[1 2]}', (_R.INVALID_JSON, "/a", "',' or ']'", "'2]}'")),
    (b'{"a":1 "b":2}', (_R.INVALID_JSON, "", "',' or '}'", "'\"b\":2}'")),
    (b"{} x", (_R.INVALID_JSON, "", "end of the text", "'x'")),
    (b"{} " + b"x" * 30, (_R.INVALID_JSON, "", "end of the text", repr("x" * 20))),
    (b'{"a":NaN}', (_R.NON_FINITE, "/a", "a finite number", "NaN")),
    (b'{"a":[1,1e400]}', (_R.NON_FINITE, "/a/1", "a finite number", "1e400")),
    (b'{"a":%s.0}' % (b"1" * 400), (_R.NON_FINITE, "/a", "a finite number", "1" * 79 + "…")),
    (b'{"a":-1.5 x}', (_R.INVALID_JSON, "", "',' or '}'", "'x}'")),
    (b'{"a":[1,{"b":{x}}]}', (_R.INVALID_JSON, "/a/1/b", "a key in quotes", "'x}}]}'")),
    (b'{"a":[1,{"b":{"c":2,x}}]}', (_R.INVALID_JSON, "/a/1/b", "a key in quotes", "'x}}]}'")),
    (b'{"a":{"k":1,"k":2}}', (_R.DUPLICATE_KEY, "/a/k", "each key once", "'k' again")),
    (b'{"a":"\\ud800"}', (_R.LONE_SURROGATE, "/a", "whole Unicode characters", "U+D800")),
    (b'{"a":{"\\udfff":1}}', (_R.LONE_SURROGATE, "/a", "whole Unicode characters", "U+DFFF")),
    (
        b'{"a":%s}' % LONG.encode(),
        (_R.INTEGER_TOO_LONG, "/a", "at most 4300 digits", LONG[:79] + "…"),
    ),
    (
        b'{"a":' + b"[" * 128 + b"]" * 128 + b"}",
        (_R.TOO_DEEP, "/a" + "/0" * 127, "at most 128 levels", repr("[" + "]" * 19)),
    ),
)
"""Lines that are no JSON objects, and what is said about each."""

_VALUES: tuple[tuple[dict[str, object], Told], ...] = (
    ({"seq": "5"}, (_R.WRONG_TYPE, "/seq", "an integer", '"5"')),
    ({"seq": 2**64}, (_R.OUT_OF_RANGE, "/seq", "an integer in [0, 2^64)", "18446744073709551616")),
    ({"seq": -1}, (_R.OUT_OF_RANGE, "/seq", "an integer in [0, 2^64)", "-1")),
    ({"event_id": None}, (_R.WRONG_TYPE, "/event_id", "a string", "null")),
    ({"event_id": ["y" * 100]}, (_R.WRONG_TYPE, "/event_id", "a string", '["' + "y" * 77 + "…")),
    ({"kind": "x"}, (_R.WRONG_TYPE, "/kind", "an object", '"x"')),
    ({"kind": {"text": "x"}}, (_R.MISSING_KEY, "/kind/type", KINDS, "nothing")),
    ({"kind": {"type": "nope"}}, (_R.UNKNOWN_TAG, "/kind/type", KINDS, '"nope"')),
    ({"kind": {"type": 5}}, (_R.WRONG_TYPE, "/kind/type", "a string", "5")),
    ({"kind": {"type": "user_message"}}, (_R.MISSING_KEY, "/kind/text", "a key 'text'", "nothing")),
    (
        {"kind": {"type": "assistant_message", "version": 2, "text": "x"}},
        (_R.UNSUPPORTED_VERSION, "/kind/version", "the number 1", "2"),
    ),
    (
        {"kind": {"type": "assistant_message", "version": True, "text": "x"}},
        (_R.WRONG_TYPE, "/kind/version", "the number 1", "true"),
    ),
    (
        {"kind": {"type": "assistant_message", "text": "x"}},
        (_R.MISSING_KEY, "/kind/version", "version 1", "nothing"),
    ),
    (
        {"kind": {"type": "done", "status": "ended"}},
        (
            _R.UNKNOWN_ENUM,
            "/kind/status",
            "one of: completed, waiting_for_input, checkpointed, cancelled",
            '"ended"',
        ),
    ),
    ({"kind": {"type": "done", "status": 5}}, (_R.WRONG_TYPE, "/kind/status", "a string", "5")),
    (
        {"kind": {"type": "error", "code": "c", "message": "m", "retryable": 1}},
        (_R.WRONG_TYPE, "/kind/retryable", "true or false", "1"),
    ),
    (
        {"kind": {"type": "task_run_report", "report": {"version": 3}}},
        (_R.UNSUPPORTED_VERSION, "/kind/report/version", "the number 1", "3"),
    ),
    (
        {"kind": {"type": "task_run_report", "report": {}}},
        (_R.MISSING_KEY, "/kind/report/version", "version 1", "nothing"),
    ),
    (
        {"kind": {"type": "task_run_report", "report": []}},
        (_R.WRONG_TYPE, "/kind/report", "an object", "[]"),
    ),
    (
        {"kind": {"type": "tool_call", "call": {"id": "c", "name": "n", "arguments": {}, "operation": 7}}},
        (_R.WRONG_TYPE, "/kind/call/operation", "an object", "7"),
    ),
)
"""Keys of the good event with other values, and what is said about each."""

_USER = {"role": "user", "content": "x"}
_TEXT = {"mode": "text"}

REQUESTS: tuple[tuple[object, Told], ...] = (
    ([], (_R.NOT_AN_OBJECT, "", "an object", "[]")),
    ({"messages": 1, "constraint": _TEXT}, (_R.WRONG_TYPE, "/messages", "an array", "1")),
    (
        {"messages": [_USER, 5], "constraint": _TEXT},
        (_R.WRONG_TYPE, "/messages/1", "an object", "5"),
    ),
    (
        {"messages": [{**_USER, "name": "n"}], "constraint": _TEXT},
        (_R.UNKNOWN_KEY, "/messages/0/name", "one of: content, role", "'name'"),
    ),
    (
        {"messages": [{**_USER, "k" * 100: "n"}], "constraint": _TEXT},
        (_R.UNKNOWN_KEY, "/messages/0/" + "k" * 100, "one of: content, role", "'" + "k" * 78 + "…"),
    ),
    (
        {"messages": [{"role": "robot"}], "constraint": _TEXT},
        (_R.UNKNOWN_TAG, "/messages/0/role", "system, user, assistant, tool", '"robot"'),
    ),
    (
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": " ", "name": "n", "arguments": 1}],
                }
            ],
            "constraint": _TEXT,
        },
        (_R.OUT_OF_RANGE, "/messages/0/tool_calls/0/id", "a string that is not blank", '" "'),
    ),
)

NOT_JSON: tuple[tuple[object, NotJson], ...] = (
    ([1, {"k": b"x"}], NotJson(path="/1/k", actual="bytes")),
    ({"a": (1, float("nan"))}, NotJson(path="/a/1", actual="float nan")),
    ([float("-inf")], NotJson(path="/0", actual="float -inf")),
    ({"a": {1: 2}}, NotJson(path="/a", actual="key of type int")),
    ({"a": [{"\ud800": 2}]}, NotJson(path="/a/0", actual="key '\\ud800'")),
    ({"a~/b": "\udfff"}, NotJson(path="/a~0~1b", actual="str '\\udfff'")),
    ("\udfff" + "x" * 100, NotJson(path="", actual="str '\\udfff" + "x" * 68 + "…")),
    ([10**4300], NotJson(path="/0", actual="int of more than 4300 digits")),
    ([-(10**4300)], NotJson(path="/0", actual="int of more than 4300 digits")),
    ({1, 2}, NotJson(path="", actual="set")),
)


class _Counter:
    """An additive counter like `ByteHeuristicCounter`."""

    def __init__(self) -> None:
        self._counter = ByteHeuristicCounter()

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return self._counter.count(target, request)

    def message_cost(self, message: ModelMessage) -> int:
        return self._counter.message_cost(message)

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return self._counter.fixed_cost(constraint)


@final
class _Tally(_Counter):
    """Counts how often it is asked for a cost."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    @override
    def message_cost(self, message: ModelMessage) -> int:
        self.asked += 1
        return super().message_cost(message)


class TestMutantsFound:
    """Consequences that the other classes leave open, each found by a mutant that lived."""

    @pytest.mark.parametrize("code_point", [0xD800, 0xDFFF])
    def test_w6_names_half_a_pair_that_stands_bare_in_a_text(self, code_point: int) -> None:
        """W6: bytes never decode to such a text, code may make one; it is told by its code point."""
        found = parse(f'["{chr(code_point)}"]')

        assert isinstance(found, JsonProblem)
        assert ("lone_surrogate", 2, "/0", f"U+{code_point:04X}") == (
            found.reason,
            found.offset,
            found.path,
            found.actual,
        )

    def test_b1_the_words_of_a_budget_are_those_of_the_wire(self) -> None:
        """B1, C1: hosts in other languages spell evidence and mode so."""
        assert {"estimate", "verified_upper_bound"} == {one.value for one in TokenBoundEvidence}
        assert {"soft", "hard"} == {one.value for one in BudgetMode}

    @pytest.mark.parametrize(("line", "told"), LINES)
    def test_w6_says_what_was_expected_and_met_where_a_line_is_no_object(
        self, line: bytes, told: Told
    ) -> None:
        """W6: the refusal of a line tells all it knows, wherever the line stands."""
        reason, path, expected, actual = told
        failed = DecodeFailed(
            reason=reason,
            line=2,
            byte_offset=len(GOOD_LINE),
            path=path,
            expected=expected,
            actual=actual,
            whole_bytes=None,
        )

        assert failed == decode_log(GOOD_LINE + line + b"\n" + GOOD_LINE).failure()

    @pytest.mark.parametrize(("changes", "told"), _VALUES)
    def test_w5_says_what_was_expected_and_met_where_a_value_is_wrong(
        self, changes: dict[str, object], told: Told
    ) -> None:
        """W5: the refusal of a value names its place, what it should be and what it is, shortened."""
        reason, path, expected, actual = told
        raw = json.dumps({**GOOD, **changes}, ensure_ascii=False).encode() + b"\n"
        failed = DecodeFailed(
            reason=reason, line=2, byte_offset=len(GOOD_LINE), path=path, expected=expected, actual=actual
        )

        assert failed == decode_log(GOOD_LINE + raw).failure()

    @pytest.mark.parametrize("key", ["event_id", "session_id", "turn_id", "seq", "kind"])
    def test_w5_names_the_key_that_is_missing(self, key: str) -> None:
        """W5: a key that is not there is named, as if it stood behind the last one."""
        raw = plain_text(Plain({k: v for k, v in GOOD.items() if k != key})).encode() + b"\n"
        failed = decode_log(raw).failure()

        assert (f"/{key}", f"a key {key!r}", "nothing") == (failed.path, failed.expected, failed.actual)
        assert DecodeReason.MISSING_KEY is failed.reason

    @pytest.mark.parametrize(("value", "told"), REQUESTS)
    def test_w5_speaks_of_documents_as_of_lines_but_for_line_and_offset(
        self, value: object, told: Told
    ) -> None:
        """W5, W6: a request is no line: neither number nor offset, all else is said."""
        reason, path, expected, actual = told
        failed = DecodeFailed(reason=reason, path=path, expected=expected, actual=actual)

        assert failed == decode_request(json.dumps(value).encode()).failure()

    @pytest.mark.parametrize(
        ("raw", "told"),
        [
            (b"\xef\xbb\xbf{}", (_R.BOM, None, "UTF-8 without a byte order mark", "EF BB BF")),
            (b"\xff", (_R.INVALID_UTF8, None, "UTF-8", "FF at byte 0 of the line")),
            (b"[1,]", (_R.INVALID_JSON, "/1", "a JSON value", "']'")),
        ],
    )
    def test_w6_speaks_of_broken_documents_without_a_line(self, raw: bytes, told: Told) -> None:
        """W6: bytes that are no JSON document."""
        reason, path, expected, actual = told

        assert DecodeFailed(reason=reason, path=path, expected=expected, actual=actual) == parse_document(raw)

    @pytest.mark.parametrize("torn", [b"\xef\xbb\xbf", b"\xef\xbb\xbf{}", b"\xef\xbb\xbf{}\n"])
    def test_w6_tells_of_a_byte_order_mark(self, torn: bytes) -> None:
        """W6: torn or not, a mark at the start is told as a mark."""
        failed = DecodeFailed(
            reason=DecodeReason.BOM,
            line=1,
            byte_offset=0,
            expected="UTF-8 without a byte order mark",
            actual="EF BB BF",
        )

        assert failed == decode_log(torn).failure()

    def test_w6_tells_of_a_torn_line(self) -> None:
        """W6: what is torn is counted, and what is whole."""
        failed = DecodeFailed(
            reason=DecodeReason.TORN_LAST_LINE,
            line=2,
            byte_offset=len(GOOD_LINE),
            expected="a newline at the end of the last line",
            actual="4 bytes without one",
            whole_bytes=len(GOOD_LINE),
        )

        assert failed == decode_log(GOOD_LINE + b'{"a"').failure()

    @pytest.mark.parametrize(("value", "expected"), NOT_JSON, ids=range(len(NOT_JSON)))
    def test_w6_names_what_is_no_json_in_python(self, value: object, expected: NotJson) -> None:
        """W6, W7: a Python value that JSON does not have is named with its place."""
        assert expected == json_of(value)

    @pytest.mark.parametrize("kind", ["list", "tuple", "dict"])
    @pytest.mark.parametrize("levels", [1, 2, 127, 128, 129, 200])
    def test_w6_bounds_python_values_at_128_levels(self, levels: int, kind: str) -> None:
        """W6: 128 levels are JSON, the 129th is not, and its place is named."""
        step = "k" if kind == "dict" else "0"
        value: object = {} if kind == "dict" else ()
        for _ in range(levels - 1):
            value = {"k": value} if kind == "dict" else [value] if kind == "list" else (value,)
        answer = json_of(value)
        refused = NotJson(path=f"/{step}" * 128, actual="more than 128 levels")

        assert (levels <= 128) == isinstance(answer, Json)
        assert levels <= 128 or refused == answer

    @given(st.data())
    def test_w8_the_interpreters_limit_on_integers_changes_no_text(self, data: st.DataObject) -> None:
        """W7, W8: with the lowest limit that Python allows, long integers are read and written the same."""
        number = st.integers(600, 4299).flatmap(lambda n: st.integers(-(10**n), 10**n))
        leaf = st.one_of(number, st.sampled_from([None, True, False, 0, -1.5, 1e22, "", 'a"\\\n你', "true"]))
        tree = st.recursive(
            leaf,
            lambda v: st.one_of(st.lists(v, max_size=4), st.dictionaries(st.text(max_size=2), v, max_size=4)),
        )
        value = [data.draw(number), data.draw(tree), 10**4299, -(10**1278), 10**639 + 7]
        expected = _written(value)
        with _lowest_limit():
            text = canonical(value)
            read = parse(text)
            slow = scan(text)

        assert expected == text
        assert same_json(value, read)
        assert same_json(value, slow)

    @given(st.integers(1, 12), st.integers(0, 12), st.sampled_from(["[", "{"]))
    def test_w6_levels_of_pairs_are_those_of_the_value(self, depth: int, levels: int, kind: str) -> None:
        """W6: the fast door gives up exactly beyond the levels it is told, for arrays and for objects."""
        opening, closing = ('{"k":', "}") if kind == "{" else ("[", "]")
        text = opening * depth + "1" + closing * depth
        read = value_of_pairs(parse_pairs(text), levels)

        assert (depth <= levels) == isinstance(read, dict | list)
        assert depth > levels or json.loads(text) == read

    @pytest.mark.parametrize(
        "text", ['{"k":1,"k":1}', '[{"k":1,"k":2}]', '{"a":{"k":1,"j":2,"k":3}}', '{"a":[[{"k":[],"k":[]}]]}']
    )
    def test_w6_equal_keys_of_pairs_are_seen_wherever_they_stand(self, text: str) -> None:
        """W6: the fast door keeps no key twice."""
        assert not isinstance(value_of_pairs(parse_pairs(text)), dict | list)

    @given(
        st.recursive(
            st.sampled_from([0, None, "a", True]), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
        )
    )
    def test_w7_pairs_stand_for_the_value_they_came_from(self, value: JsonValue) -> None:
        """W7: the fast door reads what the strict parser reads."""
        text = canonical(value)

        assert same_json(parse(text), value_of_pairs(parse_pairs(text)))

    def test_l1_the_bytes_of_a_log_are_those_of_its_lines(self) -> None:
        """P2: newlines are no part of the size of a log."""
        log = decode_log(GOOD_LINE + GOOD_LINE.replace(b":0,", b":1,").replace(b'"e0"', b'"e1"')).unwrap()

        assert 2 * (len(GOOD_LINE) - 1) == log_bytes(log)

    @given(strategies.logs(), st.data())
    def test_p2_a_log_from_outside_is_given_up_as_soon_as_it_is_too_large(
        self, log: SessionLog, data: st.DataObject
    ) -> None:
        """P2: the two bounds hold while reading, equality is allowed, and what follows is not looked at."""
        written = [event_text(event).encode() for event in log.events]
        raw = [line + b"\n" for line in written]
        size, count = sum(map(len, written)), len(written)
        most_events = data.draw(st.integers(max(count - 2, 1), count + 1))
        here = sum(map(len, written[: data.draw(st.integers(0, count))]))
        most_bytes = max(data.draw(st.sampled_from([here - 1, here, here + 1, size, size - 1])), 1)
        answer = decode_within(raw, most_events, most_bytes)

        assert _within(written, most_events, most_bytes) == (
            (len(answer.unwrap().events), None)
            if isinstance(answer, Success)
            else (answer.failure(), most_events)
        )
        assert not isinstance(answer, Success) or log.events == answer.unwrap().events

    def test_p2_spaces_do_not_count_against_the_bound_on_bytes(self) -> None:
        """P2: sizes are those of the canonical text, however the line was written."""
        spaced = (
            json.dumps(GOOD, ensure_ascii=False, indent=None, separators=(" ,  ", "  :  ")).encode() + b"\n"
        )
        size = len(GOOD_LINE) - 1
        refused = LimitExceeded(what=Bound.INPUT_BYTES, limit=size - 1, actual=size)

        assert isinstance(decode_within([spaced], 1, size), Success)
        assert refused == decode_within([spaced], 1, size - 1).failure()

    @given(strategies.logs())
    def test_w8_the_plain_values_of_an_event_are_those_of_its_line(self, log: SessionLog) -> None:
        """W8: values, text and bytes of an event say the same, keys in the same order."""
        for event in log.events:
            text = event_text(event)

            assert text == json.dumps(event_value(event), ensure_ascii=False, separators=(",", ":"))
            assert len(text.encode()) == event_bytes(event)

    @given(
        st.lists(strategies.requests(), min_size=1, max_size=6),
        st.integers(0, 4000),
        strategies.targets(),
    )
    def test_c4_what_a_counter_remembers_changes_no_answer(
        self, requests: list[GenerationRequest], memory: int, target: ContextTarget
    ) -> None:
        """C4: the same counts and costs as without a memory, however often and in whatever order."""
        plain = ByteHeuristicCounter()
        remembering = RememberingCounter(plain, memory_chars=memory)
        for request in [*requests, *requests]:
            assert plain.count(target, request) == remembering.count(target, request)
            assert plain.fixed_cost(request.constraint) == remembering.fixed_cost(request.constraint)
            for message in request.messages:
                assert plain.message_cost(message) == remembering.message_cost(message)

    @given(st.lists(strategies.model_messages(), min_size=1, max_size=20), st.data())
    def test_c4_the_memory_is_bounded_and_used(
        self, messages: list[ModelMessage], data: st.DataObject
    ) -> None:
        """C4: two halves, each of at most half the bound; what stands in one of them is not asked again."""
        filled = sum(map(_weight_of, dict.fromkeys(messages[: data.draw(st.integers(1, len(messages)))])))
        memory = max(0, 2 * filled + data.draw(st.integers(-2, 1)))
        tally = _Tally()
        remembering = RememberingCounter(tally, memory_chars=memory)
        young, old, asked = dict[ModelMessage, None](), dict[ModelMessage, None](), 0
        for message in [*messages, *messages]:
            remembering.message_cost(message)
            if message not in young:
                asked += message not in old
                if _weight_of(message) <= memory // 2:
                    if sum(map(_weight_of, young)) + _weight_of(message) > memory // 2:
                        young, old = {}, young
                    young[message] = None

            assert (asked, len({*young, *old})) == (tally.asked, remembering.remembered)

    @given(strategies.legal_logs(max_turns=3), st.booleans())
    def test_b1_an_open_turn_becomes_current_and_leaves_the_history_as_it_was(
        self, log: SessionLog, spoilt: bool
    ) -> None:
        """B1: the history is the projection without the open turn, but for what is said of the whole log."""
        closed = _closed(log.events)
        events = [*closed, *(_spoilt(len(closed)) if spoilt else ())]
        opened = [*events, _event(len(events), "open", UserMessageEvent(text="now"))]
        before = project(SESSION, session_log(events), CONFIG).unwrap()
        whole = project(SESSION, session_log(opened), CONFIG).unwrap()
        split = split_open_turn(whole)
        expected = attrs.evolve(
            before, source_event_count=whole.source_event_count, source_tail=whole.source_tail
        )

        assert expected == split.history
        assert (UserMessage(content="now"),) == split.current
        assert SplitProjection(history=before, current=()) == split_open_turn(before)

    @given(st.integers(0, 8), st.integers(0, 8), st.sampled_from(["system", "user"]))
    def test_m3_a_failure_moves_with_its_message(self, by: int, good: int, role: str) -> None:
        """M3: put messages in front, and the index grows by as many; a constraint's failure has none."""
        call = ModelToolCall(id=ProviderCallId("c"), name=" ", arguments=Json("{}"))
        front = [UserMessage(content=role)] * good
        for broken in (
            AssistantMessage(content=None),
            AssistantMessage(content=None, tool_calls=(call,)),
            AssistantMessage(content=None, tool_calls=(attrs.evolve(call, name="n", arguments=Json("1")),)),
            ToolMessage(call_id=ProviderCallId("c"), content=""),
        ):
            at = messages_failure([*front, broken])
            further = messages_failure([*[UserMessage(content="")] * by, *front, broken])
            assert at is not None

            assert further == moved(at, by)
            assert good == index_of(at)
        assert EmptyName(index=None) == moved(EmptyName(index=None), by)

    @given(st.text("txp", min_size=20, max_size=40), st.integers(0, 60), st.data())
    def test_r1_tokens_in_proportion_to_bytes_are_found_in_five_counts(
        self, shapes: str, size: int, data: st.DataObject
    ) -> None:
        """R1, B5: what one count tells about the others is used: guess, whole plan, hint, two to be sure."""
        history, inputs, counter = history_of(shapes, "x" * size), inputs_of(1), _ByBytes()
        candidates = naive_candidates(history, inputs)
        dropped = candidates[: data.draw(st.integers(1, len(candidates) - 1))]
        needed = counter.total(naive_request(history, inputs, dropped)) + inputs.budget.output_reserve
        budget = attrs.evolve(inputs.budget, window_tokens=needed)
        built = build(history, attrs.evolve(inputs, budget=budget), counter, search=Search.BISECT).unwrap()

        assert naive_request(history, inputs, dropped) == built.request
        assert len(built.report.attempts) <= 5

    @pytest.mark.parametrize(
        ("part", "change", "reason", "path"),
        [
            ("limits", {"max_turns": 0}, _I.ZERO_LIMIT, "/limits/max_turns"),
            ("limits", {"max_count_calls": 0}, _I.ZERO_LIMIT, "/limits/max_count_calls"),
            ("budget", {"window_tokens": 0}, _I.ZERO_WINDOW, "/budget/window_tokens"),
            ("budget", {"output_reserve": 0}, _I.ZERO_OUTPUT_RESERVE, "/budget/output_reserve"),
            ("target", {"model": " "}, _I.BLANK_MODEL, "/target/model"),
            ("target", {"template_revision": ""}, _I.BLANK_TEMPLATE_REVISION, "/target/template_revision"),
            ("", {"current": ()}, _I.CURRENT_EMPTY, "/current"),
            ("", {"current": (SystemMessage(content="x"),)}, _I.CURRENT_NOT_USER_FIRST, "/current/0"),
            (
                "",
                {"current": (UserMessage(content="x"), SystemMessage(content="x"))},
                _I.CURRENT_HAS_SYSTEM,
                "/current/1",
            ),
            ("", {"pinned_turns": (TurnId("t0"), TurnId("t0"))}, _I.DUPLICATE_PIN, "/pinned_turns/1"),
            ("", {"pinned_turns": (TurnId("t0"), TurnId("t9"))}, _I.UNKNOWN_PIN, "/pinned_turns/1"),
        ],
    )
    def test_b2_an_input_that_cannot_be_is_named_with_its_place(
        self, part: str, change: dict[str, object], reason: InvalidInputReason, path: str
    ) -> None:
        """B2: not only what is wrong, but where, in the words of the `build` operation."""
        inputs = inputs_of(1000)
        if part:
            change = {part: attrs.evolve(getattr(inputs, part), **change)}
        changed = attrs.evolve(inputs, **change)  # type: ignore[arg-type]

        assert Failure(InvalidInput(reason=reason, path=path)) == build(history_of("tt"), changed, _ByBytes())

    def test_b2_another_version_of_projections_is_named_with_its_place(self) -> None:
        """B2: a projection of an algorithm that this build does not know."""
        history = attrs.evolve(history_of("tt"), algorithm_version=2)
        told = InvalidInput(reason=_I.UNSUPPORTED_PROJECTION_VERSION, path="/projection/algorithm_version")

        assert Failure(told) == build(history, inputs_of(1000), _ByBytes())

    def test_c2_c3_the_names_of_the_methods(self) -> None:
        """C2, C3: they stand in reports, so that their spelling is part of the contract."""
        bound = byte_bound()
        rendering = RenderedByteBoundCounter(
            model=TARGET.model,
            template_revision=TARGET.template_revision,
            render=lambda _: Success(RenderedPrompt(text="x", special_tokens=0)),
        )
        request = GenerationRequest(messages=(UserMessage(content="x"),))
        methods = [
            counter.count(TARGET, request).unwrap().method
            for counter in (ByteHeuristicCounter(), bound, rendering)
        ]

        assert [
            "serialized-utf8-ceil-div4-v1",
            "utf8-byte-bound-v1",
            "rendered-utf8-byte-bound-v1",
        ] == methods

    @pytest.mark.parametrize(
        ("session", "most", "failure"),
        [
            (" ", 9, None),
            ("s", 0, None),
            ("s", 1, LimitExceeded(what=Bound.EVENTS, limit=1, actual=2)),
        ],
    )
    def test_b10_what_concerns_the_whole_log_names_its_rule_and_no_event(
        self, session: str, most: int, failure: LimitExceeded | None
    ) -> None:
        """B10, P2: a bad configuration and a bound on the log are violations of P2, of no single event."""
        events = [_event(0, "t", UserMessageEvent(text="u")), _event(1, "t", AssistantDelta(text="d"))]
        config = attrs.evolve(CONFIG, max_events=most)
        found = diagnose(SessionId(session), session_log(events), config).violations[0]

        assert ("P2", None, None, None) == (found.rule, found.seq, found.event_id, found.turn_id)
        assert failure is None or failure == found.failure

    @given(strategies.json_values())
    def test_w7_free_json_from_its_text_is_held_in_canonical_form(self, value: JsonValue) -> None:
        """W7, W8: spaces and escapes go, the value stays; what is no JSON is said as `parse` says it."""
        assert Json(canonical(value)) == parse_json(json.dumps(value, indent=1))
        assert parse("[1,") == parse_json("[1,")

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"json_factor": JsonFactor(numerator=1, denominator=2)}, "the JSON factor is below 1"),
            ({"json_factor": JsonFactor(numerator=1, denominator=0)}, "the JSON factor is below 1"),
            ({"allowance": attrs.evolve(_ALLOWED, message=Allowance(bytes=-1))}, "an allowance is negative"),
            (
                {"allowance": attrs.evolve(_ALLOWED, request=Allowance(specials=-1))},
                "an allowance is negative",
            ),
        ],
    )
    def test_c3_a_declaration_from_which_nothing_follows_is_refused_in_words(
        self, change: dict[str, object], reason: str
    ) -> None:
        """C3, C5: no bound without a reason for one."""
        counter = attrs.evolve(byte_bound(), **change)  # type: ignore[arg-type]
        refused = CountRefused(reason=f"{reason}: no bound follows from it")

        assert Failure(refused) == counter.count(TARGET, GenerationRequest(messages=()))

    @given(strategies.legal_logs(max_turns=2))
    def test_w7_records_come_back_from_plain_values(self, log: SessionLog) -> None:
        """W7: for hosts that hold JSON already: events, requests and configurations."""
        for event in log.events:
            assert event == read_event(event_value(event))

    @given(strategies.requests())
    def test_w8_the_plain_value_of_a_request_is_that_of_its_bytes(self, request: GenerationRequest) -> None:
        """W8: with its keys in the same order."""
        text = json.dumps(request_value(request), ensure_ascii=False, separators=(",", ":"))

        assert encode_request(request).unwrap() == text.encode()

    @given(st.sampled_from(LegacyReplies), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
    def test_p1_a_configuration_is_read_key_by_key(
        self, legacy: LegacyReplies, events: int, size: int, messages: int
    ) -> None:
        """P1: what is left out has its default."""
        whole: dict[str, JsonValue] = {
            "legacy_replies": legacy.value,
            "max_events": events,
            "max_input_bytes": size,
            "max_messages": messages,
        }
        config = ProjectionConfig(
            legacy_replies=legacy, max_events=events, max_input_bytes=size, max_messages=messages
        )

        assert config == read_config(whole)
        for key, default in attrs.asdict(CONFIG).items():
            without = {name: value for name, value in whole.items() if name != key}
            assert attrs.evolve(config, **{key: default}) == read_config(without)

    @given(strategies.projections(max_turns=3))
    def test_b2_a_projection_of_another_version_is_not_admitted(self, projection: Projection) -> None:
        """B2: the same words may mean something else there."""
        foreign = flattened(projection)
        told = NotAdmitted(reason=AdmissionReason.UNSUPPORTED_PROJECTION_VERSION, path="/algorithm_version")

        assert Failure(told) == admit_projection(attrs.evolve(foreign, algorithm_version=2))
        assert Success(projection) == admit_projection(foreign)

    @given(st.integers(0, 8))
    def test_b1_a_broken_shape_goes_with_the_turn_that_broke_it(self, index: int) -> None:
        """B1, M3: a failure in the open turn leaves with it; one before it, or of no message, stays."""
        whole = history_of("txo")
        left = whole.message_count - 1
        for broken in (
            MissingAssistantContent(index=index),
            ArgumentsNotObject(index=index),
            EmptyName(index=index),
            MissingToolResults(call_ids=(ProviderCallId("c"),)),
        ):
            history = split_open_turn(attrs.evolve(whole, shape_failure=broken)).history
            stays = isinstance(broken, MissingToolResults) or index < left

            assert (broken if stays else None) == history.shape_failure

    @pytest.mark.parametrize("levels", [1, 125, 126, 127, 128])
    def test_w6_what_could_not_be_read_is_not_written(self, levels: int) -> None:
        """W6, W7: an event deeper than 128 levels has no bytes; the failure names it by its place."""
        made = json_of(json.loads("[" * levels + "]" * levels))
        assert isinstance(made, Json)
        event = _event(0, "t", CustomEvent(plugin="p", kind="k", payload=made))
        good = _event(0, "t", UserMessageEvent(text="u"))
        refused = EncodeFailed(reason=EncodeReason.TOO_DEEP, index=None, actual="more than 128 levels")

        assert (levels <= 126) == isinstance(encode_event(event), Success)
        assert levels <= 126 or Failure(refused) == encode_event(event)
        assert levels <= 126 or Failure(attrs.evolve(refused, index=1)) == encode_log([good, event])

    @pytest.mark.parametrize("key", ["output_evidence", "safety_margin", "mode"])
    def test_w5_a_key_with_a_default_in_code_alone_must_be_written(self, key: str) -> None:
        """W5, B6: a report states its whole budget."""
        report = build(history_of("tt"), inputs_of(10**6), ByteHeuristicCounter()).unwrap().report
        value = json.loads(encode_report(report).unwrap())
        del value["budget"][key]
        told = DecodeFailed(
            reason=DecodeReason.MISSING_KEY,
            path=f"/budget/{key}",
            expected=f"a key {key!r}",
            actual="nothing",
        )

        assert Failure(told) == decode_report(json.dumps(value).encode())

    @pytest.mark.parametrize(
        ("before", "after", "reason"),
        [
            (b"}}", b"}} x", _R.INVALID_JSON),
            (b"}}", b"}}{}", _R.INVALID_JSON),
            ("你好".encode(), b"\\ud800", _R.LONE_SURROGATE),
            ("你好".encode(), b"\\uDFFF.", _R.LONE_SURROGATE),
            (b'"text":', b'"text":"","text":', _R.DUPLICATE_KEY),
            (b'"seq":', b'"seq":1,"seq":', _R.DUPLICATE_KEY),
            (b'"seq":', b'"x":NaN,"seq":', _R.NON_FINITE),
            (b'"seq":', b'"x":1e400,"seq":', _R.NON_FINITE),
            (b'"seq":', b'"x":%s,"seq":' % LONG.encode(), _R.INTEGER_TOO_LONG),
        ],
    )
    def test_w6_an_event_that_is_good_otherwise_is_refused_for_one_fault(
        self, before: bytes, after: bytes, reason: DecodeReason
    ) -> None:
        """W6: nothing else in the line gives the refusal away, whichever reader meets it."""
        assert 1 == GOOD_LINE.count(before)
        assert reason is decode_log(GOOD_LINE.replace(before, after)).failure().reason

    def test_w6_width_is_no_depth(self) -> None:
        """W6: many containers beside each other are read and written."""
        made = json_of([[] for _ in range(300)])
        assert isinstance(made, Json)
        event = _event(0, "t", CustomEvent(plugin="p", kind="k", payload=made))

        assert event == decode_log(encode_event(event).unwrap()).unwrap().events[0]

    @pytest.mark.parametrize("half", [0xD800, 0xDFFF])
    def test_w6_half_a_pair_is_named_by_its_code_point(self, half: int) -> None:
        """W6: the failure names the event by its place, and the first half in it."""
        event = _event(0, "t", UserMessageEvent(text=f"a{chr(half)}\ud812"))
        good = _event(0, "t", UserMessageEvent(text="u"))
        refused = EncodeFailed(reason=EncodeReason.LONE_SURROGATE, index=None, actual=f"U+{half:04X}")

        assert Failure(refused) == encode_event(event)
        assert Failure(attrs.evolve(refused, index=2)) == encode_log([good, good, event])

    @given(strategies.logs())
    def test_p2_a_log_that_this_library_wrote_is_measured_exactly(self, log: SessionLog) -> None:
        """P2, W7: its bound is its size."""
        size = sum(map(event_bytes, log.events))
        written = b"".join(event_text(event).encode() + b"\n" for event in log.events)

        assert size == decode_log(written).unwrap().bytes_at_most == log_bytes(log)

    @given(st.data())
    def test_w5_of_many_wrong_values_the_first_in_the_document_is_named(self, data: st.DataObject) -> None:
        """W5: whatever the order of the keys, at whatever depth."""
        wrong = iter(range(1000, 2000))

        def maybe(good: object) -> object:
            return next(wrong) if data.draw(st.integers(0, 3)) == 0 else good

        def shuffled(members: dict[str, object]) -> dict[str, object]:
            return {key: members[key] for key in data.draw(st.permutations(list(members)))}

        def call() -> dict[str, object]:
            return shuffled({"id": maybe("c"), "name": maybe("n"), "arguments": {}})

        def message() -> dict[str, object]:
            calls = [call() for _ in range(data.draw(st.integers(1, 2)))]
            return shuffled({"role": "assistant", "content": maybe("x"), "tool_calls": maybe(calls)})

        messages = [message() for _ in range(data.draw(st.integers(1, 3)))]
        constraint = shuffled({"mode": "json_schema", "name": maybe("n"), "schema": {}})
        text = json.dumps(shuffled({"messages": messages, "constraint": constraint}))
        numbers = re.findall(r"1\d\d\d", text)
        answer = decode_request(text.encode())

        assert numbers[:1] == ([] if isinstance(answer, Success) else [answer.failure().actual])

    @pytest.mark.parametrize(
        ("first", "second", "place"),
        [
            ({"role": "user"}, {"role": "user", "content": 5}, "/messages/0/content"),
            ({"role": "user", "content": 5}, {"role": "user"}, "/messages/0/content"),
            ({"role": "user", "content": "x", "y": 1}, {"role": "user", "content": 5}, "/messages/0/y"),
            ({"y": 1, "role": "user", "content": 5}, {}, "/messages/0/y"),
            ({"role": "user", "content": 5, "y": 1}, {}, "/messages/0/content"),
            ({"role": "user", "y": 1}, {}, "/messages/0/y"),
            ({"role": "user", "content": "x"}, {"y": 1, "role": "user"}, "/messages/1/y"),
        ],
    )
    def test_w5_a_missing_key_stands_behind_the_last_of_its_object(
        self, first: dict[str, object], second: dict[str, object], place: str
    ) -> None:
        """W5: and before all that follows its object."""
        value = {"messages": [first, second], "constraint": {"mode": "text"}}

        assert place == decode_request(json.dumps(value).encode()).failure().path

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({}, _I.DUPLICATE_TURN),
            ({"current": ()}, _I.CURRENT_EMPTY),
            ({"pinned_turns": (TurnId("t9"),)}, _I.DUPLICATE_TURN),
        ],
    )
    def test_b2_faults_of_a_projection_from_outside_are_told_in_their_order(
        self, change: dict[str, object], reason: InvalidInputReason
    ) -> None:
        """B2: what is wrong with the inputs comes first, then the turns, then the pins."""
        foreign = flattened(history_of("tt"))
        doubled = attrs.evolve(foreign, turns=(*foreign.turns, foreign.turns[0]))
        inputs = attrs.evolve(inputs_of(1000), **change)  # type: ignore[arg-type]
        failure = build_foreign(doubled, inputs, _ByBytes()).failure()

        assert isinstance(failure, InvalidInput)
        assert reason is failure.reason

    @pytest.mark.parametrize("search", Search)
    def test_b6_a_build_from_outside_takes_strategy_and_search_as_they_are_given(
        self, search: Search
    ) -> None:
        """R1, B6: the same answer as from the admitted projection."""
        history, inputs = history_of("ttxtpt"), inputs_of(600)
        built = build(history, inputs, _ByBytes(), strategy=_NewestFirst(), search=search)

        assert isinstance(built, Success)
        assert built == build_foreign(
            flattened(history), inputs, _ByBytes(), strategy=_NewestFirst(), search=search
        )
        assert not built.unwrap().report.turns.rows[-1].retained

    @given(strategies.legal_logs(max_turns=3), st.sampled_from(LegacyReplies))
    def test_b10_the_choice_that_admits_raises_only_what_is_too_low(
        self, log: SessionLog, legacy: LegacyReplies
    ) -> None:
        """B10: bounds that are high enough, and the choice about replies, stay as they were."""
        events = _closed(log.events)
        assume(events)
        log = session_log(events)
        low = ProjectionConfig(legacy_replies=LegacyReplies.OMIT, max_events=10**6, max_input_bytes=1)
        admits = diagnose(SESSION, log, low).admits

        assert attrs.evolve(low, max_input_bytes=log_bytes(log)) == admits

    @given(strategies.requests(), strategies.targets())
    def test_c4_a_refusal_is_that_of_the_counter_without_memory(
        self, request: GenerationRequest, target: ContextTarget
    ) -> None:
        """C4, C5: also where the counter refuses a request without messages only."""
        for plain in (byte_bound(), _Tally(), _NeverEmpty()):
            assert plain.count(target, request) == RememberingCounter(plain).count(target, request)
            assert plain.count(TARGET, request) == RememberingCounter(plain).count(TARGET, request)

    def test_c5_a_bound_for_another_target_is_refused_by_name(self) -> None:
        """C5: what it was declared for, and what it was asked for."""
        other = ContextTarget(model="other", template_revision="r2")
        request = GenerationRequest(messages=(UserMessage(content="x"),))
        refused = CountRefused(reason="declared for 'm' with template 'r1', asked for 'other' with 'r2'")

        assert Failure(refused) == byte_bound().count(other, request)

    @given(strategies.projections(max_turns=3))
    def test_w7_a_projection_comes_back_from_plain_values(self, projection: Projection) -> None:
        """W7: as from its bytes."""
        assert flattened(projection) == read_projection(projection_value(projection))

    @given(st.text("txpa", max_size=8), st.integers(0, 20), st.data())
    def test_r1_a_strategy_is_told_of_every_candidate_and_of_the_room(
        self, shapes: str, size: int, data: st.DataObject
    ) -> None:
        """R1, R5: sizes and positions of what is optional; bytes of all the rest."""
        history = history_of(shapes, "x" * size)
        pinned = [t.turn_id for t in history.turns if data.draw(st.booleans())]
        inputs = inputs_of(10**6, reserve=7, margin=3, pinned=pinned)
        spy = _SpyStrategy()
        build(history, inputs, ByteHeuristicCounter(), strategy=spy).unwrap()
        optional = [(i, t) for i, t in enumerate(history.turns) if t.messages and t.turn_id not in pinned]
        kept = naive_request(history, inputs, [t.turn_id for _, t in optional])
        required = sum(json_bytes(message_object(message)) for message in kept.messages)

        assert spy.candidates == [
            TurnCandidate(
                turn_id=turn.turn_id,
                position=position,
                message_count=len(turn.messages),
                canonical_bytes=sum(json_bytes(message_object(m)) for m in turn.messages),
            )
            for position, turn in optional
        ]
        assert spy.room == Room(
            window_tokens=10**6,
            reserved_tokens=10,
            required_bytes=required + json_bytes(constraint_object(inputs.constraint)),
            session_id=history.session_id,
            turns=history.turns,
            required=kept.messages,
            constraint=inputs.constraint,
            costs=ByteHeuristicCounter(),
        )

    def test_b6_half_a_surrogate_pair_in_a_text_breaks_no_report(self) -> None:
        """B6: a build is total, also over texts that have no bytes."""
        inputs = attrs.evolve(inputs_of(10**6), current=(UserMessage(content="\ud800"),))

        assert isinstance(build(history_of("tt"), inputs, ByteHeuristicCounter()), Success)

    def test_b10_too_many_messages_break_p10_and_a_call_that_cannot_be_sent_is_warned_of(self) -> None:
        """B10: the rule by its number; the warning with all that names its event."""
        log = session_log(_spoilt(0))
        found = diagnose(SESSION, log, attrs.evolve(CONFIG, max_messages=1))
        call = log.events[1]

        assert ["P10"] == [violation.rule for violation in found.violations]
        assert [(call.seq, call.event_id, call.turn_id)] == [
            (warned.seq, warned.event_id, warned.turn_id) for warned in found.warnings
        ]
        assert attrs.evolve(CONFIG, max_messages=3) == found.admits

    def test_w6_reading_within_bounds_fails_as_reading_without(self) -> None:
        """W6, P2: what is broken before a bound is passed is told as broken."""
        data = GOOD_LINE + b"[]\n"

        assert decode_log(data) == decode_within([data], 10, 10**6)


@final
class _NeverEmpty(_Counter):
    """Refuses a request without messages, as a provider's tokenizer may."""

    @override
    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        if not request.messages:
            return Failure(CountRefused(reason="no messages"))
        return self._counter.count(target, request)


@final
class _SpyStrategy:
    """Drops nothing, and remembers what it was told."""

    name = "spy"

    def __init__(self) -> None:
        self.candidates = list[Candidate]()
        self.room: Room | None = None

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        self.candidates, self.room = list(candidates), room
        return Plan()


@final
class _NewestFirst:
    """A strategy that drops the newest turn first."""

    name = "newest_first"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        turns = [one for one in reversed(candidates) if isinstance(one, TurnCandidate)]
        drops = [DropTurn(turn_id=one.turn_id) for one in turns]
        return Plan(steps=tuple(PlanStep(reductions=(drop,)) for drop in drops))


@final
class _ByBytes:
    """Tokens in proportion to canonical bytes; hides that it could be additive."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return answer_of(target, self.total(request))

    def total(self, request: GenerationRequest) -> int:
        messages = sum(json_bytes(message_object(message)) for message in request.messages)
        return messages + json_bytes(constraint_object(request.constraint))


CONFIG = ProjectionConfig()
SESSION = SessionId("s")


def _event(seq: int, turn: str, kind: EventKind, message_id: str | None = None) -> SessionEvent:
    return SessionEvent(
        event_id=EventId(f"new{seq}"),
        session_id=SESSION,
        turn_id=TurnId(turn),
        message_id=None if message_id is None else MessageId(message_id),
        seq=seq,
        kind=kind,
    )


def _closed(events: Sequence[SessionEvent]) -> list[SessionEvent]:
    """The log in this session, without a last turn that is open."""
    closed = [attrs.evolve(event, session_id=SESSION) for event in events]
    while closed and not isinstance(closed[-1].kind, DoneEvent | ErrorEvent):
        closed.pop()
    return closed


def _spoilt(seq: int) -> list[SessionEvent]:
    """A turn with arguments that are no object: it projects, but breaks M3."""
    call = ToolCall(id=ToolCallId("c"), name="n", arguments=Json("[1]"))
    result = ToolResult(call_id=ToolCallId("c"), outcome=ToolSucceeded(output=""))
    kinds: tuple[EventKind, ...] = (
        UserMessageEvent(text="u"),
        ToolCallEvent(call=call),
        ToolResultEvent(result=result),
        ErrorEvent(code="c", message="m", retryable=False),
    )
    return [_event(seq + index, "spoilt", kind) for index, kind in enumerate(kinds)]


def _weight_of(message: ModelMessage) -> int:
    """Characters of all texts, and 256 for the message and for each call."""
    if isinstance(message, AssistantMessage):
        calls = [256 + len(c.id) + len(c.name) + len(c.arguments.text) for c in message.tool_calls]
        return 256 + len(message.content or "") + sum(calls)
    named = len(message.call_id) if isinstance(message, ToolMessage) else 0
    return 256 + named + len(message.content)


def _within(written: Sequence[bytes], most_events: int, most_bytes: int) -> tuple[object, int | None]:
    """What a naive reader says: how many events, or which bound was passed first, and at what."""
    size = 0
    for index, line in enumerate(written):
        size += len(line)
        if index + 1 > most_events:
            return LimitExceeded(what=Bound.EVENTS, limit=most_events, actual=index + 1), most_events
        if size > most_bytes:
            return LimitExceeded(what=Bound.INPUT_BYTES, limit=most_bytes, actual=size), most_events
    return len(written), None


@contextmanager
def _lowest_limit() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def _written(value: JsonValue) -> str:
    """The text by the standard library, whose limit is lifted meanwhile."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
