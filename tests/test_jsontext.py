"""Strict JSON text: the edges of its three passes, and what is said of a text that is refused."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jingwei.jsontext import (
    Json,
    JsonProblem,
    JsonValue,
    NotCanonical,
    NotJson,
    as_data,
    canonical,
    data_text,
    escaped,
    has_surrogate,
    json_of,
    parse,
    parse_canonical,
    parse_json,
    parse_pairs,
    pointer,
    scan,
    shortened,
    utf8_bytes,
    value_of_pairs,
)


@contextmanager
def integer_digits(limit: int) -> Iterator[None]:
    """Run with another limit on the digits of an integer; 0 is none."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(limit)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def bad(offset: int, path: str, expected: str, actual: str) -> JsonProblem:
    return JsonProblem(reason="invalid_json", offset=offset, path=path, expected=expected, actual=actual)


def surrogate(offset: int, path: str, actual: str) -> JsonProblem:
    return JsonProblem(
        reason="lone_surrogate",
        offset=offset,
        path=path,
        expected="whole Unicode characters",
        actual=actual,
    )


def infinite(offset: int, path: str, actual: str) -> JsonProblem:
    return JsonProblem(
        reason="non_finite", offset=offset, path=path, expected="a finite number", actual=actual
    )


def doubled(offset: int, path: str, actual: str) -> JsonProblem:
    return JsonProblem(
        reason="duplicate_key", offset=offset, path=path, expected="each key once", actual=actual
    )


def deep(actual: str) -> JsonProblem:
    return JsonProblem(
        reason="too_deep", offset=128, path="/0" * 128, expected="at most 128 levels", actual=actual
    )


def too_long(offset: int, path: str, actual: str) -> JsonProblem:
    return JsonProblem(
        reason="integer_too_long",
        offset=offset,
        path=path,
        expected="at most 4300 digits",
        actual=actual,
    )


def nested(depth: int, core: str = "") -> str:
    return "[" * depth + core + "]" * depth


CANONICAL = (
    "null",
    "true",
    "-0",
    "-0.0",
    "0.1",
    "1e+300",
    "5e-324",
    "123456789012345678901234567890",
    '""',
    '"中文 🐦"',
    r'"\"\\\b\t\n\f\r\u0000\u001f"',
    '"\x7f/\u2028"',
    "[]",
    "{}",
    '{"b":1,"a":[2,{"":null}]}',
    nested(128),
    '{"a":' + nested(127, "1") + "}",
    "9" * 4300,
    "-" + "9" * 4300,
)


@pytest.mark.parametrize("text", [text for text in CANONICAL if text != "-0"])
def test_canonical_text_takes_the_first_pass(text: str) -> None:
    value = parse_canonical(text)

    assert NotCanonical.TEXT != value
    assert json.loads(text) == value
    assert text == canonical(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":{"b":1,"b":2}}',
        '[{"a":1},{"a":1,"a":2}]',
        nested(129),
        '{"a":' + nested(128, "1") + "}",
        '[{"a":' + nested(127, "1") + "}]",
    ],
)
def test_equal_keys_and_too_many_levels_are_found_where_pairs_become_objects(text: str) -> None:
    pairs = parse_pairs(text)

    assert NotCanonical.TEXT != pairs
    assert NotCanonical.TEXT == value_of_pairs(pairs)


@pytest.mark.parametrize(
    "text", ["5", "null", '""', "[]", "{}", '{"b":[{"a":1},{"a":2}],"a":{}}', nested(128)]
)
def test_pairs_become_the_objects_that_they_were_written_as(text: str) -> None:
    value = value_of_pairs(parse_pairs(text))

    assert NotCanonical.TEXT != value
    assert text == canonical(value)


# The second element is the canonical form.
LOOSE = (
    ("-0", "0"),
    (" null ", "null"),
    ("\t[ 1 ,\r\n2 ]\n", "[1,2]"),
    ('{ "a" : 1 }', '{"a":1}'),
    ("1E2", "100.0"),
    ("1.50", "1.5"),
    ("100000000000000000000000.0", "1e+23"),
    (r'"\u0041\/\u00e9"', '"A/é"'),
    (r'"\u001F"', r'"\u001f"'),
    (r'"\ud83d\udc26"', '"🐦"'),
    (r'"\uD83D\uDC26 \\ud800"', r'"🐦 \\ud800"'),
    (r'"\u2028\u007f"', '"\u2028\x7f"'),
    ("1e-400", "0.0"),
    ("[" + "9" * 4300 + " ]", "[" + "9" * 4300 + "]"),
    ("[" + "8" * 601 + " ]", "[" + "8" * 601 + "]"),
    (nested(128, " "), nested(128)),
    (" " + "[" + "[]," * 200 + "[]]", "[" + "[]," * 200 + "[]]"),
)


@pytest.mark.parametrize(("text", "form"), LOOSE)
def test_text_of_other_writers_reads_as_the_same_value(text: str, form: str) -> None:
    value = parse(text)

    assert NotCanonical.TEXT == parse_canonical(text)
    assert not isinstance(value, JsonProblem)
    assert form == canonical(value)
    assert Json(form) == parse_json(text)
    assert value == scan(text)


REFUSED = (
    ("", bad(0, "", "a JSON value", "the end")),
    ("  ", bad(2, "", "a JSON value", "the end")),
    ("nul", bad(0, "", "a JSON value", "'nul'")),
    ("True", bad(0, "", "a JSON value", "'True'")),
    ("'a'", bad(0, "", "a JSON value", "\"'a'\"")),
    ("+1", bad(0, "", "a JSON value", "'+1'")),
    (".5", bad(0, "", "a JSON value", "'.5'")),
    ("01", bad(1, "", "end of the text", "'1'")),
    ("1.", bad(1, "", "end of the text", "'.'")),
    ("1 2", bad(2, "", "end of the text", "'2'")),
    ("{}x", bad(2, "", "end of the text", "'x'")),
    ("\xa01", bad(0, "", "a JSON value", "'\\xa01'")),
    ("\u0661", bad(0, "", "a JSON value", "'١'")),
    ("[1", bad(2, "", "',' or ']'", "the end")),
    ("[1,]", bad(3, "/1", "a JSON value", "']'")),
    ("[,1]", bad(1, "/0", "a JSON value", "',1]'")),
    ("[1}", bad(2, "", "',' or ']'", "'}'")),
    ("{", bad(1, "", "a key in quotes", "the end")),
    ("{1:2}", bad(1, "", "a key in quotes", "'1:2}'")),
    ('{"a":1,}', bad(7, "", "a key in quotes", "'}'")),
    ('{"a"', bad(4, "/a", "':'", "the end")),
    ('{"a" 1}', bad(5, "/a", "':'", "'1}'")),
    ('{"a":1 "b":2}', bad(7, "", "',' or '}'", "'\"b\":2}'")),
    ('{"a":{"b":[1,x]}}', bad(13, "/a/b/1", "a JSON value", "'x]}}'")),
    (
        '"ab',
        bad(3, "", "a closed string without bare control characters", "the end"),
    ),
    (
        '["a\tb"]',
        bad(3, "/0", "a closed string without bare control characters", "'\\tb\"]'"),
    ),
    (
        r'"\x41"',
        bad(1, "", "a closed string without bare control characters", "'\\\\x41\"'"),
    ),
    (
        r'"\u00g0"',
        bad(1, "", "a closed string without bare control characters", "'\\\\u00g0\"'"),
    ),
    (r'"a\ud800"', surrogate(2, "", "U+D800")),
    (r'"\udc26"', surrogate(1, "", "U+DC26")),
    (r'"\ud83d\u0041"', surrogate(1, "", "U+D83D")),
    (r'"\ud83d\ud83d\udc26"', surrogate(1, "", "U+D83D")),
    (r'{"a":{"\udfff":1}}', surrogate(7, "/a", "U+DFFF")),
    ("NaN", infinite(0, "", "NaN")),
    ("[-Infinity]", infinite(1, "/0", "-Infinity")),
    ('{"x":Infinity}', infinite(5, "/x", "Infinity")),
    ("[1e400]", infinite(1, "/0", "1e400")),
    ("-1e309", infinite(0, "", "-1e309")),
    ('{"a":1,"a":1}', doubled(7, "/a", "'a' again")),
    ('{"a":{"b":0,"c":1,"b":2}}', doubled(18, "/a/b", "'b' again")),
    (r'{"a":1, "\u0061":1}', doubled(8, "/a", "'a' again")),
    ('{"":1,"":2}', doubled(6, "/", "'' again")),
    (nested(129), deep("'[" + "]" * 19 + "'")),
    ("[" * 100_000, deep("'" + "[" * 20 + "'")),
    ("9" * 4301, too_long(0, "", "9" * 79 + "…")),
    ("[-" + "9" * 4301 + "]", too_long(1, "/0", "-" + "9" * 78 + "…")),
    ('{"a~b":{"c/d":[nul]}}', bad(15, "/a~0b/c~1d/0", "a JSON value", "'nul]}}'")),
)


@pytest.mark.parametrize(("text", "expected"), REFUSED, ids=[repr(text[:20]) for text, _ in REFUSED])
def test_a_refusal_says_what_is_wrong_first_and_where(text: str, expected: JsonProblem) -> None:
    assert expected == parse(text)
    assert NotCanonical.TEXT == parse_canonical(text)


def test_half_a_pair_in_a_text_made_in_code_is_refused() -> None:
    """Bytes never decode to such a text, so the fast pass need not look for it."""
    assert surrogate(2, "/0", "U+D800") == parse('["\ud800"]')


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        ("[NaN,nul]", "non_finite", 1),
        ("[nul,NaN]", "invalid_json", 1),
        (r'{"a":1,"a":"\ud800"}', "duplicate_key", 7),
        (r'{"a":"\ud800","a":1}', "lone_surrogate", 6),
        ("[" + "9" * 4301 + ",NaN]", "integer_too_long", 1),
        ("[1e400,x", "non_finite", 1),
        (nested(129, "NaN"), "too_deep", 128),
        ('["a" "b"', "invalid_json", 5),
    ],
)
def test_the_first_problem_by_place_wins(text: str, reason: str, offset: int) -> None:
    found = parse(text)

    assert isinstance(found, JsonProblem)
    assert (reason, offset) == (found.reason, found.offset)


@pytest.mark.parametrize("limit", [640, 4300, 10_000, 0])
def test_the_interpreters_limit_on_integers_changes_nothing(limit: int) -> None:
    """W6 and W7: 4,300 digits pass and survive, one more is refused, whatever the interpreter is set to."""
    longest, negative, longer = "9" * 4300, "-" + "1" + "0" * 4299, "1" + "0" * 4300
    most, least = 10**4300 - 1, -(10**4299)
    with integer_digits(limit):
        read, below = parse(longest), parse(negative)
        written = canonical({"a": [most, least, 0, -7]})
        text = parse_json(f"[ {longest} ]")
        refused = parse(longer)
        refused_inside = parse(f'{{"a":{longer}}}')

    assert most == read
    assert least == below
    assert f'{{"a":[{longest},{negative},0,-7]}}' == written
    assert Json(f"[{longest}]") == text
    assert too_long(0, "", "1" + "0" * 78 + "…") == refused
    assert too_long(5, "/a", "1" + "0" * 78 + "…") == refused_inside


def test_what_the_fast_writer_cannot_write_is_written_in_the_same_form() -> None:
    """With a lower limit on integers the own loop writes; every kind of value passes it."""
    value: JsonValue = {
        "big": -(10**1000),
        "list": [None, True, False, 1, 0, -1, 2.5, -0.0, "é\n", [], {}],
        "object": {"": {"a": (1, 2)}},
    }
    expected = canonical(value)
    with integer_digits(640):
        written = canonical(value)

    assert expected == written
    assert '{"big":-1' + "0" * 1000 + ',"list":[null,true,false,1,0,-1,2.5,-0.0,"é\\n",[],{}],' in expected


def test_free_json_tells_apart_what_python_calls_equal() -> None:
    one, float_one, true = (parse_json(text) for text in ("1", "1.0", "true"))

    assert 3 == len({one, float_one, true})
    assert Json("1") == one


def test_free_json_keeps_its_key_order_and_is_parsed_anew_each_time() -> None:
    found = parse_json('{"b":1,"a":{}}')

    assert isinstance(found, Json)
    assert ["b", "a"] == list(found.value())  # type: ignore[arg-type]  # an object
    assert found.value() is not found.value()


@pytest.mark.parametrize(
    ("text", "is_object", "is_schema_root"),
    [
        ("{}", True, True),
        ('{"a":1}', True, True),
        ("true", False, True),
        ("false", False, True),
        ("null", False, False),
        ("[]", False, False),
        ('"{}"', False, False),
        ("0", False, False),
    ],
)
def test_roots_are_told_from_the_text(text: str, is_object: bool, is_schema_root: bool) -> None:
    assert (is_object, is_schema_root) == (Json(text).is_object, Json(text).is_schema_root)


def test_python_values_become_free_json() -> None:
    value = {"a": (1, [2.0, None]), "b": {"c": True, "d": "中"}, "e": 10**4300 - 1}

    assert Json('{"a":[1,[2.0,null]],"b":{"c":true,"d":"中"},"e":' + "9" * 4300 + "}") == json_of(value)


def looped() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [0, {1}]}, NotJson(path="/a/1", actual="set")),
        ({"a": b"x"}, NotJson(path="/a", actual="bytes")),
        ({1: 2}, NotJson(path="", actual="key of type int")),
        ({"a": {"\ud800": 1}}, NotJson(path="/a", actual="key '\\ud800'")),
        (["\udfff"], NotJson(path="/0", actual="str '\\udfff'")),
        ([float("nan")], NotJson(path="/0", actual="float nan")),
        (float("-inf"), NotJson(path="", actual="float -inf")),
        (object, NotJson(path="", actual="type")),
        (looped(), NotJson(path="/0" * 128, actual="more than 128 levels")),
    ],
)
def test_what_has_no_json_form_is_named_with_its_place(value: object, expected: NotJson) -> None:
    assert expected == json_of(value)


@pytest.mark.parametrize("limit", [640, 4300, 0])
def test_an_integer_too_long_to_read_back_is_no_free_json(limit: int) -> None:
    with integer_digits(limit):
        refused = [json_of([10**4300]), json_of(-(10**4300))]
        allowed = json_of(10**4300 - 1)

    assert ["/0", ""] == [found.path for found in refused if isinstance(found, NotJson)]
    assert isinstance(allowed, Json)


@pytest.mark.parametrize(("depth", "allowed"), [(128, True), (129, False)])
def test_depth_counts_containers(depth: int, allowed: bool) -> None:
    value: object = "leaf"
    for _ in range(depth):
        value = [value]

    assert allowed is isinstance(json_of(value), Json)
    assert allowed is not isinstance(parse(nested(depth, '"leaf"')), JsonProblem)


@pytest.mark.parametrize(
    ("steps", "expected"), [((), ""), (("a", 0, "b/c", "d~e", ""), "/a/0/b~1c/d~0e/"), (("~1",), "/~01")]
)
def test_a_pointer_escapes_as_rfc_6901_says(steps: tuple[str | int, ...], expected: str) -> None:
    assert expected == pointer(steps)


@pytest.mark.parametrize(
    ("text", "size"), [("", 0), ("abc", 3), ("é", 2), ("中", 3), ("🐦", 4), ("\ud800", 3)]
)
def test_bytes_are_those_of_utf_8(text: str, size: int) -> None:
    assert size == utf8_bytes(text)


def test_a_literal_escapes_only_what_it_must() -> None:
    assert '"\\"\\\\\\u0001/é\u2028"' == escaped('"\\\x01/é\u2028')


@pytest.mark.parametrize(("text", "expected"), [("a" * 80, "a" * 80), ("a" * 81, "a" * 79 + "…")])
def test_texts_for_people_have_at_most_eighty_characters(text: str, expected: str) -> None:
    assert expected == shortened(text)


def test_a_text_of_data_holds_no_delimiter() -> None:
    """Keys are escaped like values, and both are read back as they were."""
    value: JsonValue = {"<a>": "</b>&"}

    assert '{"\\u003ca\\u003e":"\\u003c/b\\u003e&"}' == data_text(value)
    assert value == parse(data_text(value))
    assert data_text(value) == as_data(canonical(value))


def test_half_a_pair_is_found() -> None:
    assert [False, False, True] == list(map(has_surrogate, ("ascii", "中文", "中\udfff")))
