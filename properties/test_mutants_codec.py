"""What mutants of `codec` and `jsontext` showed to be promised and not yet held (W5 to W8, B6)."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs
import pytest

from jingwei.build import build
from jingwei.codec import (
    DecodeFailed,
    DecodeReason,
    EncodeFailed,
    EncodeReason,
    parse_document,
)
from jingwei.events.records import SessionEvent, UserMessageEvent
from jingwei.events.wire import (
    decode_events,
    decode_log,
    encode_log,
    log_bytes,
    session_log,
)
from jingwei.ids import EventId, SessionId, TurnId
from jingwei.jsontext import (
    Json,
    JsonProblem,
    JsonValue,
    NotJson,
    canonical,
    json_of,
    parse,
    parse_canonical,
    scan,
    shortened,
    within_depth,
)
from jingwei.messages.records import GenerationRequest, UserMessage
from jingwei.messages.wire import encode_request
from jingwei.outcome import Failure, Success
from jingwei.report.wire import decode_report, encode_report
from jingwei.request.counting import ByteHeuristicCounter
from properties.build_models import history_of, inputs_of
from properties.models import same_json

_R: Final = DecodeReason
_OPEN: Final = "a closed string without bare control characters"

REASONS: Final = (
    "invalid_utf8 bom invalid_json lone_surrogate non_finite duplicate_key too_deep blank_line "
    "torn_last_line not_an_object integer_too_long missing_key unknown_key wrong_type out_of_range "
    "unknown_tag unknown_enum unsupported_version"
)
"""Every reason to refuse bytes, in the words of W5 and W6."""

KIND: Final = b'"type":"user_message","text":"u"'
PLAN: Final = b'"type":"plan_ready","plan":%s'
GOOD: Final = b'{"event_id":"e","session_id":"s","turn_id":"t","seq":0,"kind":{%s}}\n' % KIND
DONE: Final = b'"status":"succeeded","output":"x"'
EVENT: Final = SessionEvent(
    event_id=EventId("e"),
    session_id=SessionId("s"),
    turn_id=TurnId("t"),
    seq=0,
    kind=UserMessageEvent(text="u"),
)

PLACES: Final[tuple[tuple[bytes, DecodeReason, str, str, str], ...]] = (
    (b'{"a', _R.INVALID_JSON, "", _OPEN, "the end"),
    (b'{"k":{"a', _R.INVALID_JSON, "/k", _OPEN, "the end"),
    (
        b'{"k":[0,{"l":{"a\x01":1}}]}',
        _R.INVALID_JSON,
        "/k/1/l",
        _OPEN,
        "'\\x01\":1}}]}'",
    ),
    (
        b'{"k":[0,{"l":{"a":1,"\\ud800":1}}]}',
        _R.LONE_SURROGATE,
        "/k/1/l",
        "whole Unicode characters",
        "U+D800",
    ),
    (b'{"k":[0,{"l":{"a":1,"a":1}}]}', _R.DUPLICATE_KEY, "/k/1/l/a", "each key once", "'a' again"),
    (b'{"k":[0,{"l":["a\\udc00"]}]}', _R.LONE_SURROGATE, "/k/1/l/0", "whole Unicode characters", "U+DC00"),
    (
        b'{"k":[0,{"l":[1,"a]}]}',
        _R.INVALID_JSON,
        "/k/1/l/1",
        _OPEN,
        "the end",
    ),
    (b'{"k":"\\uD83D\\uDE00","l":x}', _R.INVALID_JSON, "/l", "a JSON value", "'x}'"),
    (b'{"k":"\\ud83d\\ude00 \\u00E9 \\uABCD \\ucdef","l":x}', _R.INVALID_JSON, "/l", "a JSON value", "'x}'"),
    (b'{"k":"\\uD83D\\u0041"}', _R.LONE_SURROGATE, "/k", "whole Unicode characters", "U+D83D"),
    (b'{"k":"\\uDE00\\uD83D"}', _R.LONE_SURROGATE, "/k", "whole Unicode characters", "U+DE00"),
    (
        b'{"k":"\\uD8"}',
        _R.INVALID_JSON,
        "/k",
        _OPEN,
        repr('\\uD8"}'),
    ),
    (b'{"k":"\\x"}', _R.INVALID_JSON, "/k", _OPEN, repr('\\x"}')),
    (b'{"k":Infinity}', _R.NON_FINITE, "/k", "a finite number", "Infinity"),
    (b'{"k":-Infinity}', _R.NON_FINITE, "/k", "a finite number", "-Infinity"),
    (b'{"k":-1e999}', _R.NON_FINITE, "/k", "a finite number", "-1e999"),
    (b'{"k":1e+999,"l":x}', _R.NON_FINITE, "/k", "a finite number", "1e+999"),
    (b'{"k":01}', _R.INVALID_JSON, "", "',' or '}'", "'1}'"),
    (b'{"k":-}', _R.INVALID_JSON, "/k", "a JSON value", "'-}'"),
    (b'{"k":1.}', _R.INVALID_JSON, "", "',' or '}'", "'.}'"),
    (b'{"k":1.5e}', _R.INVALID_JSON, "", "',' or '}'", "'e}'"),
    (b'{"k":+1}', _R.INVALID_JSON, "/k", "a JSON value", "'+1}'"),
    (b'{"k":tru}', _R.INVALID_JSON, "/k", "a JSON value", "'tru}'"),
    (b'{"k":[true,false,null,x]}', _R.INVALID_JSON, "/k/3", "a JSON value", "'x]}'"),
    (b'{"k":-' + b"1" * 4301 + b"}", _R.INTEGER_TOO_LONG, "/k", "at most 4300 digits", "-" + "1" * 78 + "…"),
    (b"\x0c", _R.INVALID_JSON, "", "a JSON value", "'\\x0c'"),
    ("\xa0".encode(), _R.INVALID_JSON, "", "a JSON value", "'\\xa0'"),
    (b"X", _R.INVALID_JSON, "", "a JSON value", "'X'"),
    (b"\xef\xbb\xbf{}", _R.INVALID_JSON, "", "a JSON value", "'\\ufeff{}'"),
    (b'{"event_id":"%s"}' % (b"e" * 76,), _R.MISSING_KEY, "/session_id", "a key 'session_id'", "nothing"),
    (b'{"event_id":["%s"]}' % (b"e" * 76,), _R.WRONG_TYPE, "/event_id", "a string", '["' + "e" * 76 + '"]'),
    (b'{"event_id":["%s"]}' % (b"e" * 77,), _R.WRONG_TYPE, "/event_id", "a string", '["' + "e" * 77 + "…"),
    (
        GOOD[:-1].replace(b'"e","s', b'"e","event_id":"e","s').replace(KIND, KIND + b"," + KIND),
        _R.DUPLICATE_KEY,
        "/event_id",
        "each key once",
        "'event_id' again",
    ),
    (
        GOOD[:-1].replace(KIND, KIND + b"," + KIND).replace(b"}}", b'},"seq":0}'),
        _R.DUPLICATE_KEY,
        "/kind/type",
        "each key once",
        "'type' again",
    ),
    (
        b'{"event_id":{%s},"session_id":{%s},"turn_id":{%s},"seq":0,"kind":{"status":"failed",'
        b'"category":"upstream","code":"c","message":"m","retryable":true,"upstream_status":null,'
        b'"partial":{"content":{%s},"tool_calls":{%s}}}}' % (KIND, KIND, KIND, DONE, DONE),
        _R.WRONG_TYPE,
        "/event_id",
        "a string",
        f"{{{KIND.decode()}}}",
    ),
    (GOOD[:-1].replace(KIND, b'"type":[]'), _R.WRONG_TYPE, "/kind/type", "a string", "[]"),
)
"""Lines, and what is said of each: reason, path, what was expected, what was met."""

READ: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\\uD83D\\uDE00", "\U0001f600"),
    (b"\\ud83d\\ude00", "\U0001f600"),
    (b"\\uDBFF\\uDFFF", "\U0010ffff"),
    (b"\\uD800\\uDC00", "\U00010000"),
    (b"\\u00e9\\u00E9\\uABCD\\ud7ff\\uE000", "\xe9\xe9\uabcd\ud7ff\ue000"),
    (b"\\n\\/\\\\\\u0000", "\n/\\\0"),
)
"""Texts with escapes, and what they stand for."""

NOT_JSON: Final[tuple[tuple[object, NotJson], ...]] = (
    ({"a": {1, 2}, "b": [1]}, NotJson(path="/a", actual="set")),
    ([{1, 2}, [1], {"x": 1}], NotJson(path="/0", actual="set")),
    ([[1, b"", 2], 3, [4]], NotJson(path="/0/1", actual="bytes")),
    ({"a": "x" * 68 + "\ud800"}, NotJson(path="/a", actual="str '" + "x" * 68 + "\\ud800'")),
    ({"a": "x" * 69 + "\ud800"}, NotJson(path="/a", actual="str '" + "x" * 69 + "\\ud80…")),
)
"""Python values with one fault among what is good, and what is said of it."""


class TestMutantsOfText:
    """Consequences for bytes, texts and their refusals that the other classes leave open."""

    def test_w5_every_reason_is_spelled_as_the_specification_spells_it(self) -> None:
        """W5, W6, W8: each says its own name in small letters."""
        assert [(word.upper(), word) for word in REASONS.split()] == [(r.name, r.value) for r in DecodeReason]
        assert {"LONE_SURROGATE": "lone_surrogate", "TOO_DEEP": "too_deep"} == {
            reason.name: reason.value for reason in EncodeReason
        }

    def test_w6_a_refusal_knows_nothing_but_what_it_was_told(self) -> None:
        """W6: neither line nor place nor words where nobody gave them."""
        fields = attrs.asdict(DecodeFailed(reason=_R.BOM))

        assert {"reason": _R.BOM} == {name: value for name, value in fields.items() if value is not None}

    @pytest.mark.parametrize(("line", "told"), [(p[0], p[1:]) for p in PLACES], ids=range(len(PLACES)))
    def test_w6_names_the_place_of_a_fault(
        self, line: bytes, told: tuple[DecodeReason, str, str, str]
    ) -> None:
        """W5, W6: the same behind a good line and before one, and by the reader that goes on."""
        reason, path, expected, actual = told
        failed = DecodeFailed(
            reason=reason, line=2, byte_offset=len(GOOD), path=path, expected=expected, actual=actual
        )
        data = GOOD + line + b"\n" + GOOD

        assert Failure(failed) == decode_log(data)
        assert [Success(EVENT), Failure(failed), Success(EVENT)] == list(decode_events([data]))

    @pytest.mark.parametrize(("raw", "text"), READ, ids=range(len(READ)))
    def test_w6_escapes_are_read_in_either_spelling(self, raw: bytes, text: str) -> None:
        """W6, W7: by every pass, and in keys as in values."""
        line = GOOD.replace(b'"u"', b'"%s"' % raw)
        document = json.dumps({"?": "?"}).replace("?", raw.decode())

        assert text == json.loads(b'"%s"' % raw)
        assert Success(session_log([attrs.evolve(EVENT, kind=UserMessageEvent(text=text))])) == decode_log(
            line
        )
        assert {text: text} == parse(document) == scan(document) == parse_document(document.encode())

    def test_w6_a_line_of_white_space_is_blank_and_nothing_else_is(self) -> None:
        """W6: spaces, tabs and carriage returns."""
        for line in (b"", b" ", b"\t", b"\r", b" \t\r\t "):
            assert _R.BLANK_LINE is decode_log(line + b"\n").failure().reason

    def test_w6_what_follows_a_byte_order_mark_is_not_read(self) -> None:
        """W6: one answer, and none for the lines behind it; a blank line ends nothing."""
        good = Success(EVENT)

        assert 1 == len(list(decode_events([b"\xef\xbb\xbf" + GOOD + GOOD])))
        assert [good, good] == [
            one for one in decode_events([GOOD + b"\n" + GOOD]) if isinstance(one, Success)
        ]

    @pytest.mark.parametrize("size", [1, 2, 7, len(GOOD) - 1, len(GOOD), len(GOOD) + 1])
    def test_w1_lines_are_found_in_pieces_of_any_size(self, size: int) -> None:
        """W1, W6: the same events, numbers and offsets."""
        data = GOOD + b"[1]\n" + GOOD + b"{}"
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        found = list(decode_events([b"", *pieces, b""]))

        assert list(decode_events([data])) == found
        assert [Success(EVENT), Success(EVENT)] == [found[0], found[2]]
        assert [(2, len(GOOD)), (4, 2 * len(GOOD) + 4)] == [
            (one.failure().line, one.failure().byte_offset) for one in (found[1], found[3])
        ]

    def test_w7_the_slowest_reader_reads_what_the_others_read(self) -> None:
        """W6, W7: literals, numbers and containers, and beside an escape that only it may judge."""
        tokens = 'true false null 0 -0 7 -12 0.5 -2.25 1E5 1e5 1E+2 2e-3 -1.5E-2 "" [] {} [1,[2]] {"a":{}}'
        for token in tokens.split():
            value = json.loads(token)

            assert same_json(value, scan(token))
            assert same_json(["\U0001f600", value], parse(f'["\\ud83d\\ude00",{token}]'))
            assert same_json({"a": [value, value]}, scan(f' {{ "a" :\t[ {token} , {token}\r] }}\n'))

    def test_w7_an_integer_of_4300_digits_is_json_and_no_longer_one(self) -> None:
        """W6, W7: from Python as from text, and below zero as above."""
        refused = NotJson(path="", actual="int of more than 4300 digits")
        for sign in (1, -1):
            assert Json(f"{sign * (10**4300 - 1)}") == json_of(sign * (10**4300 - 1))
            assert refused == json_of(sign * 10**4300)

    @pytest.mark.parametrize("limit", [0, 640, 4300, 4301, 10_000])
    @pytest.mark.parametrize("before", ['{"a":', '{"a" : '])
    @pytest.mark.parametrize("sign", ["", "-"])
    def test_w6_integers_are_bounded_whatever_the_interpreter_is_set_to(
        self, sign: str, before: str, limit: int
    ) -> None:
        """W6: 4300 digits are read, one more is not, canonical text or not."""
        long, longer = f"{before}{sign}{'7' * 4300}}}", f"{before}{sign}{'7' * 4301}}}"
        line = GOOD.replace(KIND, PLAN)
        with _limit(limit):
            read, refused = parse(long), parse(longer)
            events = [decode_log(line % text.encode()) for text in (long, longer)]
        assert isinstance(refused, JsonProblem)
        number = int(sign + "7" * 4000) * 10**300 + int(sign + "7" * 300)

        assert {"a": number} == read
        assert ("integer_too_long", "/a") == (refused.reason, refused.path)
        assert isinstance(events[0], Success)
        assert (_R.INTEGER_TOO_LONG, "/kind/plan/a") == (
            events[1].failure().reason,
            events[1].failure().path,
        )

    @pytest.mark.parametrize("digits", [599, 600, 601, 639, 640, 641, 1199, 1200, 1201, 1800, 4300])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_w8_digits_are_those_of_the_number_under_the_least_limit(self, digits: int, sign: int) -> None:
        """W7, W8: where a piece of it begins with zeros, too, and at the edges of the pieces."""
        for number in (
            10 ** (digits - 1),
            10**digits - 1,
            10 ** (digits - 1) + 7,
            3 * 10 ** (digits - 1) + 10**9,
        ):
            text = str(sign * number)
            with _limit(640):
                written, read = canonical([sign * number]), parse(f"[{text}]")

            assert f"[{text}]" == written
            assert [sign * number] == read

    @pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" * 400 + ".0"])
    def test_w6_free_json_holds_no_number_that_is_not_finite(self, token: str) -> None:
        """W6: in the payload of an event that is good otherwise."""
        line = GOOD.replace(KIND, PLAN % f"[{token}]".encode())
        failed = decode_log(line).failure()

        assert (_R.NON_FINITE, "/kind/plan/0") == (failed.reason, failed.path)

    @pytest.mark.parametrize(
        "token", ["1e5", "1e16", "1E2", "0.5e1", "-0.0", "1.50", "1e-7", "1" + "0" * 20 + ".0"]
    )
    def test_p2_a_number_that_grows_when_written_is_measured_as_written(self, token: str) -> None:
        """P2, W8: what is known of the size of a log is never too little."""
        line = GOOD.replace(KIND, PLAN % token.encode())
        log = decode_log(line).unwrap()
        written = encode_log(log.events).unwrap()

        assert json.dumps(float(token)).encode() in written
        assert len(written) - 1 == log_bytes(log) <= log.bytes_at_most

    @pytest.mark.parametrize(("value", "expected"), NOT_JSON, ids=range(len(NOT_JSON)))
    def test_w7_a_fault_among_good_values_is_found(self, value: object, expected: NotJson) -> None:
        """W7: wherever it stands."""
        assert expected == json_of(value)

    def test_w5_eighty_characters_are_shown_whole(self) -> None:
        """W5: what is longer is cut to eighty, and says so."""
        assert ["x" * 79, "x" * 80, "x" * 79 + "…"] == [shortened("x" * size) for size in (79, 80, 81)]
        assert ["xx", "x…"] == [shortened("x" * size, 2) for size in (2, 3)]

    def test_w6_a_request_with_half_a_pair_has_no_bytes(self) -> None:
        """W6, W8: a single document has no index."""
        request = GenerationRequest(messages=(UserMessage(content="\udfff"),))
        refused = EncodeFailed(reason=EncodeReason.LONE_SURROGATE, index=None, actual="U+DFFF")

        assert Failure(refused) == encode_request(request)

    @pytest.mark.parametrize("size", [0, 1, 3])
    def test_b6_the_rows_of_a_report_are_read_one_by_one(self, size: int) -> None:
        """B6, W5: back to an equal report; a wrong row is named by its index."""
        report = build(history_of("t" * size), inputs_of(10**6), ByteHeuristicCounter()).unwrap().report
        value = json.loads(encode_report(report).unwrap())
        rows = value["turns"]

        assert size == len(rows)
        assert Success(report) == decode_report(json.dumps(value).encode())
        for wrong, path in ({}, "/turns"), ([*rows, 5], f"/turns/{size}"):
            failed = decode_report(json.dumps({**value, "turns": wrong}).encode()).failure()
            assert (_R.WRONG_TYPE, path) == (failed.reason, failed.path)
        for index, row in enumerate(rows):
            for key, bad in [("retained", 1), ("reduction", 5), ("turn_id", None), ("source_events", [5])]:
                broken = [*rows[:index], {**row, key: bad}, *rows[index + 1 :]]
                failed = decode_report(json.dumps({**value, "turns": broken}).encode()).failure()
                deeper = "/0" if key == "source_events" else ""

                assert (_R.WRONG_TYPE, f"/turns/{index}/{key}{deeper}") == (failed.reason, failed.path)

    def test_w1_null_reads_as_none_where_a_key_may_be_null(self) -> None:
        """B6, W1: the label of a state and the tail of an empty log."""
        report = build(history_of(""), inputs_of(10**6), ByteHeuristicCounter()).unwrap().report
        value = json.loads(encode_report(report).unwrap())

        assert (None, None) == (value["state_version"], value["source_tail"])
        assert Success(report) == decode_report(json.dumps(value).encode())

    @pytest.mark.parametrize("levels", [1, 2, 127, 128, 129])
    def test_w6_levels_are_those_of_the_deepest_value(self, levels: int) -> None:
        """W6: beside many shallow ones, wherever it stands."""
        deep: list[JsonValue] = []
        for _ in range(levels - 1):
            deep = [deep]
        values: list[JsonValue] = [[*[[]] * 200, deep], [deep, *[[]] * 200], {"a": [{}] * 200, "b": deep}]
        for value in values:
            text = json.dumps(value, separators=(",", ":"))

            assert (levels < 128) == within_depth(text, value)
            assert (levels < 128) == isinstance(parse(text), list | dict)
            assert (levels < 128) == isinstance(parse_canonical(text), list | dict)

    def test_w7_free_json_knows_what_it_is(self) -> None:
        """M3: an object, or what may stand at the root of a schema."""
        objects = [Json(text).is_object for text in ("{}", "[]", "true", "null", '"{"')]
        roots = [Json(text).is_schema_root for text in ("{}", "true", "false", "null", "[]", '"true"', "1")]

        assert [True, False, False, False, False] == objects
        assert [True, True, True, False, False, False, False] == roots
        assert {"a": [1]} == Json('{"a":[1]}').value()


@contextmanager
def _limit(digits: int) -> Iterator[None]:
    """The interpreter's own limit on digits, for a while."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(digits)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)
