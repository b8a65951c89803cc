"""Record codecs and lines: every refusal with its reason, line, byte offset and path."""

import enum
import tracemalloc
from collections.abc import Iterator, Sequence
from typing import TypeAlias, final

import attrs
import pytest

from jingwei.codec import (
    Declarations,
    DecodeFailed,
    DecodeReason,
    EncodeFailed,
    EncodeReason,
    Line,
    RecordCodec,
    RecordProblem,
    lines_of,
    parse_document,
    parse_line,
    problem_at,
    utf8,
)
from jingwei.events.wire import decode_events
from jingwei.jsontext import Json, JsonValue, parse, parse_pairs
from jingwei.outcome import Failure, Success
from tests.test_jsontext import integer_digits

LONE = EncodeReason.LONE_SURROGATE


@final
class Colour(enum.Enum):
    """An enum of the sample declarations."""

    RED = "red"
    BLUE = "blue"


@final
@attrs.frozen(kw_only=True)
class Circle:
    """A member of a union."""

    radius: int


@final
@attrs.frozen(kw_only=True)
class Square:
    """A member of a union with a version."""

    side: int
    colour: Colour | None = None


Shape: TypeAlias = Circle | Square


@final
@attrs.frozen(kw_only=True)
class Sample:
    """One field of every sort that a declaration knows."""

    name: str
    flag: bool
    size: int
    small: int = 7
    free: Json | None = None
    note: str | None = None
    shapes: tuple[Shape, ...] = ()
    extra: tuple[str, ...] = ()
    report: Json | None = None


@final
@attrs.frozen(kw_only=True)
class Tolerant:
    """A record that ignores unknown keys."""

    label: str
    chosen: int = 3


@final
@attrs.frozen(kw_only=True)
class Holder:
    """A record in a record."""

    inner: Tolerant


def declare(wire: Declarations) -> None:
    wire.enums(Colour)
    wire.record(Circle, constants={"kind": "circle"})
    wire.record(Square, strict=True, constants={"kind": "square", "version": 1})
    wire.union(Shape, "kind", {"circle": Circle, "square": Square})
    wire.record(
        Sample,
        strict=True,
        always=("note", "extra"),
        below={"small": 10},
        not_blank=("name",),
        versioned=("report",),
    )
    wire.record(Tolerant, required=("chosen",))
    wire.record(Holder)


CODEC = RecordCodec(declare)
LEAST = Sample(name="n", flag=True, size=0)


def value_of(text: str) -> JsonValue:
    return parse(text)  # type: ignore[return-value]  # a value: every text here is good JSON


def test_a_record_is_written_in_declared_order_without_what_it_lacks() -> None:
    assert '{"name":"n","flag":true,"size":0,"small":7,"note":null,"extra":[]}' == CODEC.text(LEAST)


def test_a_full_record_survives_the_wire() -> None:
    sample = Sample(
        name="n",
        flag=False,
        size=2**64 - 1,
        small=9,
        free=Json('{"b":1,"a":null}'),
        note="",
        shapes=(Circle(radius=1), Square(side=2, colour=Colour.BLUE)),
        extra=("x",),
        report=Json('{"version":1}'),
    )
    expected = (
        '{"name":"n","flag":false,"size":18446744073709551615,"small":9,"free":{"b":1,"a":null},"note":"",'
        '"shapes":[{"kind":"circle","radius":1},{"kind":"square","version":1,"side":2,"colour":"blue"}],'
        '"extra":["x"],"report":{"version":1}}'
    )

    assert expected == CODEC.text(sample)
    assert Success(expected.encode()) == CODEC.encode(sample)
    assert Success(sample) == CODEC.decode(expected.encode(), Sample)
    assert sample == CODEC.read_exact(parse_pairs(expected), Sample)


@pytest.mark.parametrize(
    "text",
    [
        '{"name":"n","flag":true,"size":0}',
        '{"name":"n","flag":true,"size":0,"note":null,"shapes":null,"free":null}',
        '{"size":0,"flag":true,"name":"n"}',
    ],
)
def test_other_spellings_of_a_record_read_as_it_but_are_not_exact(text: str) -> None:
    value = value_of(text)

    assert LEAST == CODEC.read(value, Sample)
    assert not_written_so(text, Sample)


def not_written_so(text: str, cls: type[object]) -> bool:
    """The fast door gives up on it: `write` would not write this object."""
    return CODEC.read_exact(parse_pairs(text), cls) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"size":0,"flag":true,"name":"n","small":7,"note":null,"extra":[]}',
        '{"name":"n","flag":true,"size":0,"small":7,"note":null,"extra":[],"free":null,"shapes":[]}',
        ' {"name" : "n","flag":true,"size":0,"small":7,"note":null,"extra":[ ]}',
        r'{"name":"\u006e","flag":true,"size":0,"small":7,"note":null,"extra":[]}',
    ],
)
def test_the_fast_door_minds_neither_order_nor_spelling_nor_spaces_inside(text: str) -> None:
    assert LEAST == CODEC.read_exact(parse_pairs(text.lstrip()), Sample)


EXACT = '{"name":"n","flag":true,"size":0,"small":7,"note":null,"extra":[]'


@pytest.mark.parametrize(
    "more",
    [
        ',"shapes":[{"kind":"square","version":2,"side":1}]',
        ',"shapes":[{"kind":"square","version":true,"side":1}]',
        ',"shapes":[{"kind":"square","side":1,"colour":"red"}]',
        ',"shapes":[{"kind":"square","version":1,"side":1,"shade":"red"}]',
        ',"shapes":[{"kind":"circle","radius":1,"more":1}]',
        ',"shapes":[{"kind":"circle","radius":-1}]',
        ',"shapes":5',
        ',"more":1',
    ],
)
def test_an_otherwise_exact_record_with_one_fault_is_not_exact(more: str) -> None:
    assert LEAST == CODEC.read_exact(parse_pairs(EXACT + "}"), Sample)
    assert not_written_so(EXACT + more + "}", Sample)


@pytest.mark.parametrize("text", ["5", '{"inner":5}', '{"inner":{"label":"x"}}', '{"inner":null}', "{}"])
def test_a_record_in_a_record_is_an_object(text: str) -> None:
    assert not_written_so(text, Holder)
    assert isinstance(CODEC.read(value_of(text), Holder), RecordProblem)


GOOD = '"name":"n","flag":true,"size":0'


def problem(reason: str, steps: tuple[str | int, ...], expected: str, actual: str) -> RecordProblem:
    return RecordProblem(reason=DecodeReason(reason), steps=steps, expected=expected, actual=actual)


KEYS = "one of: extra, flag, free, name, note, report, shapes, size, small"

REFUSED = (
    ("[]", problem("wrong_type", (), "an object", "[]")),
    ("5", problem("wrong_type", (), "an object", "5")),
    ("null", problem("wrong_type", (), "an object", "null")),
    ('{"name":"n","size":0}', problem("missing_key", ("flag",), "a key 'flag'", "nothing")),
    (f'{{{GOOD},"colour":1}}', problem("unknown_key", ("colour",), KEYS, "'colour'")),
    ('{"name":5,"flag":true,"size":0}', problem("wrong_type", ("name",), "a string", "5")),
    ('{"name":null,"flag":true,"size":0}', problem("wrong_type", ("name",), "a string", "null")),
    (
        '{"name":" \\n","flag":true,"size":0}',
        problem("out_of_range", ("name",), "a string that is not blank", '" \\n"'),
    ),
    ('{"name":"n","flag":1,"size":0}', problem("wrong_type", ("flag",), "true or false", "1")),
    ('{"name":"n","flag":"true","size":0}', problem("wrong_type", ("flag",), "true or false", '"true"')),
    ('{"name":"n","flag":true,"size":true}', problem("wrong_type", ("size",), "an integer", "true")),
    ('{"name":"n","flag":true,"size":"5"}', problem("wrong_type", ("size",), "an integer", '"5"')),
    ('{"name":"n","flag":true,"size":1.0}', problem("wrong_type", ("size",), "an integer", "1.0")),
    (
        '{"name":"n","flag":true,"size":-1}',
        problem("out_of_range", ("size",), "an integer in [0, 2^64)", "-1"),
    ),
    (
        '{"name":"n","flag":true,"size":18446744073709551616}',
        problem("out_of_range", ("size",), "an integer in [0, 2^64)", "18446744073709551616"),
    ),
    (f'{{{GOOD},"small":10}}', problem("out_of_range", ("small",), "an integer in [0, 10)", "10")),
    (f'{{{GOOD},"small":null}}', problem("wrong_type", ("small",), "an integer", "null")),
    (f'{{{GOOD},"note":7}}', problem("wrong_type", ("note",), "a string", "7")),
    (f'{{{GOOD},"extra":"ab"}}', problem("wrong_type", ("extra",), "an array", '"ab"')),
    (f'{{{GOOD},"extra":{{}}}}', problem("wrong_type", ("extra",), "an array", "{}")),
    (f'{{{GOOD},"extra":["a",2,3]}}', problem("wrong_type", ("extra", 1), "a string", "2")),
    (f'{{{GOOD},"shapes":[5]}}', problem("wrong_type", ("shapes", 0), "an object", "5")),
    (
        f'{{{GOOD},"shapes":[{{}}]}}',
        problem("missing_key", ("shapes", 0, "kind"), "circle, square", "nothing"),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":1}}]}}',
        problem("wrong_type", ("shapes", 0, "kind"), "a string", "1"),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":"Circle","radius":1}}]}}',
        problem("unknown_tag", ("shapes", 0, "kind"), "circle, square", '"Circle"'),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":"circle","radius":1}},{{"kind":"circle","radius":"x"}}]}}',
        problem("wrong_type", ("shapes", 1, "radius"), "an integer", '"x"'),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":"square","side":1}}]}}',
        problem("missing_key", ("shapes", 0, "version"), "version 1", "nothing"),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":"square","version":2,"side":1}}]}}',
        problem("unsupported_version", ("shapes", 0, "version"), "the number 1", "2"),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":"square","version":"1","side":1}}]}}',
        problem("wrong_type", ("shapes", 0, "version"), "the number 1", '"1"'),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":"square","version":true,"side":1}}]}}',
        problem("wrong_type", ("shapes", 0, "version"), "the number 1", "true"),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":"square","version":1.0,"side":1}}]}}',
        problem("wrong_type", ("shapes", 0, "version"), "the number 1", "1.0"),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":"square","version":1,"side":1,"colour":"green"}}]}}',
        problem("unknown_enum", ("shapes", 0, "colour"), "one of: red, blue", '"green"'),
    ),
    (
        f'{{{GOOD},"shapes":[{{"kind":"square","version":1,"side":1,"colour":1}}]}}',
        problem("wrong_type", ("shapes", 0, "colour"), "a string", "1"),
    ),
    (f'{{{GOOD},"report":[]}}', problem("wrong_type", ("report",), "an object", "[]")),
    (
        f'{{{GOOD},"report":{{}}}}',
        problem("missing_key", ("report", "version"), "version 1", "nothing"),
    ),
    (
        f'{{{GOOD},"report":{{"version":0}}}}',
        problem("unsupported_version", ("report", "version"), "the number 1", "0"),
    ),
)


@pytest.mark.parametrize(("text", "expected"), REFUSED, ids=[text for text, _ in REFUSED])
def test_a_refused_value_is_named_with_its_path(text: str, expected: RecordProblem) -> None:
    value = value_of(text)

    assert expected == CODEC.read(value, Sample)
    assert not_written_so(text, Sample)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ('{"flag":1,"name":1,"size":true}', ("flag",)),
        ('{"size":true,"name":1}', ("size",)),
        ('{"size":0,"name":1,"zzz":1}', ("name",)),
        ('{"zzz":1,"size":0,"name":1}', ("zzz",)),
        ('{"extra":[1,2],"name":1,"flag":true,"size":0}', ("extra", 0)),
        (
            f'{{{GOOD},"shapes":[{{"kind":"square","side":"x","version":2}}]}}',
            ("shapes", 0, "side"),
        ),
        (
            f'{{{GOOD},"shapes":[{{"kind":"square","version":2,"side":"x"}}]}}',
            ("shapes", 0, "version"),
        ),
        (f'{{{GOOD},"shapes":[{{"kind":"circle"}},5]}}', ("shapes", 0, "radius")),
    ],
)
def test_of_several_problems_the_first_in_the_document_is_told(
    text: str, steps: tuple[str | int, ...]
) -> None:
    found = CODEC.read(value_of(text), Sample)

    assert isinstance(found, RecordProblem)
    assert steps == found.steps


def test_a_tolerant_record_ignores_what_it_does_not_know() -> None:
    assert Tolerant(label="x", chosen=1) == CODEC.read({"label": "x", "more": [1], "chosen": 1}, Tolerant)
    assert not_written_so('{"label":"x","more":[1],"chosen":1}', Tolerant)


def test_a_default_in_code_may_be_none_on_the_wire() -> None:
    expected = problem("missing_key", ("chosen",), "a key 'chosen'", "nothing")

    assert expected == CODEC.read({"label": "x"}, Tolerant)
    assert not_written_so('{"label":"x"}', Tolerant)


def test_decoding_a_document_has_no_line_but_a_path() -> None:
    expected = DecodeFailed(reason=DecodeReason.WRONG_TYPE, path="/extra/1", expected="a string", actual="2")

    assert Failure(expected) == CODEC.decode(f'{{{GOOD},"extra":["a",2]}}'.encode(), Sample)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            b"[]",
            DecodeFailed(reason=DecodeReason.NOT_AN_OBJECT, path="", expected="an object", actual="[]"),
        ),
        (
            b"\xef\xbb\xbf{}",
            DecodeFailed(
                reason=DecodeReason.BOM, expected="UTF-8 without a byte order mark", actual="EF BB BF"
            ),
        ),
        (
            b'{"name":"\xff"}',
            DecodeFailed(
                reason=DecodeReason.INVALID_UTF8,
                expected="UTF-8",
                actual="FF 22 7D at byte 9 of the line",
            ),
        ),
        (
            b"",
            DecodeFailed(
                reason=DecodeReason.INVALID_JSON,
                path="",
                expected="a JSON value",
                actual="the end",
            ),
        ),
        (
            b'{"name":{"a":1,"a":2}}',
            DecodeFailed(
                reason=DecodeReason.DUPLICATE_KEY,
                path="/name/a",
                expected="each key once",
                actual="'a' again",
            ),
        ),
    ],
)
def test_a_document_that_is_none_is_refused_before_its_fields(data: bytes, expected: DecodeFailed) -> None:
    assert Failure(expected) == CODEC.decode(data, Sample)


def test_a_document_may_stand_on_many_lines() -> None:
    assert {"a": [1]} == parse_document(b'{\r\n "a": [\n1]}\n')


def test_half_a_surrogate_pair_cannot_be_encoded() -> None:
    assert Failure(EncodeFailed(reason=LONE, index=None, actual="U+D83D")) == CODEC.encode(
        attrs.evolve(LEAST, name="a\ud83d")
    )
    assert EncodeFailed(reason=LONE, index=4, actual="U+DC00") == utf8("\udc00\ud800", 4)
    assert "中".encode() == utf8("中")


@pytest.mark.parametrize(("levels", "fits"), [(127, True), (128, False)])
def test_a_record_of_more_than_128_levels_cannot_be_encoded(levels: int, fits: bool) -> None:
    """The record is the first of them; what would be written could not be read (W6)."""
    free = "[" * levels + "]" * levels
    expected = Failure(EncodeFailed(reason=EncodeReason.TOO_DEEP, index=None, actual="more than 128 levels"))

    found = CODEC.encode(attrs.evolve(LEAST, free=Json(free)))

    assert fits == isinstance(found, Success)
    assert fits or expected == found


# --- lines --------------------------------------------------------------------------------------


def line(text: str, number: int, offset: int) -> Line:
    return Line(text=text, number=number, byte_offset=offset)


def failed(reason: str, number: int, offset: int, expected: str, actual: str) -> DecodeFailed:
    return DecodeFailed(
        reason=DecodeReason(reason), line=number, byte_offset=offset, expected=expected, actual=actual
    )


def torn(number: int, offset: int, size: int) -> DecodeFailed:
    return attrs.evolve(
        failed(
            "torn_last_line",
            number,
            offset,
            "a newline at the end of the last line",
            f"{size} bytes without one",
        ),
        whole_bytes=offset,
    )


BOM = failed("bom", 1, 0, "UTF-8 without a byte order mark", "EF BB BF")

SPLIT: tuple[tuple[bytes, list[Line | DecodeFailed]], ...] = (
    (b"", []),
    (b"\n", [line("", 1, 0)]),
    (b"a\nb\n", [line("a", 1, 0), line("b", 2, 2)]),
    (b"a\r\nb\r\n", [line("a\r", 1, 0), line("b\r", 2, 3)]),
    ("中\u2028x\x85y\x0bz\x0c\n1\n".encode(), [line("中\u2028x\x85y\x0bz\x0c", 1, 0), line("1", 2, 14)]),
    (b"a", [torn(1, 0, 1)]),
    (b"ab\ncd", [line("ab", 1, 0), torn(2, 3, 2)]),
    (b"ab\n\r", [line("ab", 1, 0), torn(2, 3, 1)]),
    (b"\xff\n1\n", [failed("invalid_utf8", 1, 0, "UTF-8", "FF at byte 0 of the line"), line("1", 2, 2)]),
    (
        b'1\n"a\xc3(bcd\n',
        [line("1", 1, 0), failed("invalid_utf8", 2, 2, "UTF-8", "C3 28 62 63 at byte 2 of the line")],
    ),
    # What is wrong further left in the same line is told instead (W6).
    (b'{"a" 1,\xc3(\n', [attrs.evolve(failed("invalid_json", 1, 0, "':'", "'1,'"), path="/a")]),
    # Half a surrogate pair in UTF-8 (CESU), an overlong form, a code point that is none.
    (b"\xed\xa0\x80\n", [failed("invalid_utf8", 1, 0, "UTF-8", "ED A0 80 at byte 0 of the line")]),
    (b"\xc0\xaf\n", [failed("invalid_utf8", 1, 0, "UTF-8", "C0 AF at byte 0 of the line")]),
    (b"\xf4\x90\x80\x80\n", [failed("invalid_utf8", 1, 0, "UTF-8", "F4 90 80 80 at byte 0 of the line")]),
    (b"\xef\xbb\xbf1\n2\n", [BOM]),
    (b"\xef\xbb\xbf", [BOM]),
    (b"1\n\xef\xbb\xbf2\n", [line("1", 1, 0), line("\ufeff2", 2, 2)]),
    (b"\xef\xbb\n", [failed("invalid_utf8", 1, 0, "UTF-8", "EF BB at byte 0 of the line")]),
)


@pytest.mark.parametrize(("data", "expected"), SPLIT, ids=[repr(data) for data, _ in SPLIT])
def test_bytes_are_split_at_newlines_only_however_they_come(
    data: bytes, expected: Sequence[Line | DecodeFailed]
) -> None:
    pieces = [data[i : i + 1] for i in range(len(data))]
    with_empty = [piece for i in range(0, len(data), 3) for piece in (b"", data[i : i + 3])]

    assert expected == list(lines_of((data,)))
    assert expected == list(lines_of(pieces))
    assert expected == list(lines_of(with_empty))


@pytest.mark.parametrize("text", ["", " ", "\t \r", "\r"])
def test_a_line_of_white_space_is_blank(text: str) -> None:
    expected = failed("blank_line", 3, 9, "a JSON object", "a blank line")

    assert expected == parse_line(line(text, 3, 9))


@pytest.mark.parametrize("text", ["\xa0", "\u2028", "\x0b", "\ufeff{}"])
def test_other_white_space_is_no_json(text: str) -> None:
    found = parse_line(line(text, 1, 0))

    assert isinstance(found, DecodeFailed)
    assert DecodeReason.INVALID_JSON is found.reason


def test_a_carriage_return_before_the_newline_is_white_space() -> None:
    assert {"a": 1} == parse_line(line('{"a":1}\r', 1, 0))


@pytest.mark.parametrize(("text", "shown"), [("[]", "[]"), ("1", "1"), ('"x"', '"x"'), ("null", "null")])
def test_a_line_that_is_no_object_is_refused_as_such(text: str, shown: str) -> None:
    expected = DecodeFailed(
        reason=DecodeReason.NOT_AN_OBJECT,
        line=2,
        byte_offset=5,
        path="",
        expected="an object",
        actual=shown,
    )

    assert expected == parse_line(line(text, 2, 5))


def test_a_problem_of_a_record_gets_the_place_of_its_line() -> None:
    expected = DecodeFailed(
        reason=DecodeReason.UNKNOWN_KEY, line=2, byte_offset=5, path="/a~1b/0", expected="e", actual="x"
    )

    assert expected == problem_at(line("", 2, 5), problem("unknown_key", ("a/b", 0), "e", "x"))


@pytest.mark.parametrize("limit", [640, 4300, 0])
def test_a_long_integer_for_a_size_is_out_of_range_whatever_the_interpreter_says(limit: int) -> None:
    data = ('{"name":"n","flag":true,"size":' + "9" * 4300 + "}").encode()
    expected = DecodeFailed(
        reason=DecodeReason.OUT_OF_RANGE,
        path="/size",
        expected="an integer in [0, 2^64)",
        actual="9" * 79 + "…",
    )
    with integer_digits(limit):
        found = CODEC.decode(data, Sample)

    assert Failure(expected) == found


def test_a_large_log_is_read_event_by_event_in_constant_memory() -> None:
    """30 MB pass through in pieces of 64 KiB; what is held is one line and one piece."""
    payload = "x" * 100_000
    head = '{"event_id":"e%d","session_id":"s","turn_id":"t","seq":%d,"kind":{"type":"user_message","text":"'

    def lines() -> Iterator[bytes]:
        for seq in range(300):
            yield ((head % (seq, seq)) + payload + '"}}\n').encode()

    def chunks() -> Iterator[bytes]:
        held = b""
        for text in lines():
            held += text
            while len(held) >= 65_536:
                yield held[:65_536]
                held = held[65_536:]
        yield held

    tracemalloc.start()
    try:
        count = sum(isinstance(read, Success) for read in decode_events(chunks()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert 300 == count
    assert 2_000_000 > peak
