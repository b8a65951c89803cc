"""JSON and JSON Lines (T2)."""

import json

from jingwei.condensers.json_text import json_finder
from jingwei.condensers.lines import find_lines
from jingwei.condensers.prose import find_prose
from tests.condensers.found import found, quoted, refused, repeats

find = json_finder((find_prose, find_lines))
LONG = "word " * 120


def test_shape_counts_and_the_odd_row() -> None:
    rows = [{"id": index, "status": "ok", "ms": index % 7} for index in range(40)]
    rows[17]["status"] = "failed_305"
    text = json.dumps({"rows": rows})
    findings = found(find, text)

    assert [
        ('/rows/17/status: not "ok"', '{"id": 17, "status": "failed_305", "ms": 3}'),
        ("/rows/0", '{"id": 0, "status": "ok", "ms": 0}'),
        ("/rows/39", '{"id": 39, "status": "ok", "ms": 4}'),
        ("/rows/1", '{"id": 1, "status": "ok", "ms": 1}'),
    ] == quoted(findings, text)[:4]
    assert (
        "JSON, object of 1",
        "{rows: [40 × {id: number, status: string, ms: number}]}",
        '/rows/*/status: "ok" 39, "failed_305" 1',
    ) == findings.notes


def test_members_that_name_an_error_come_first() -> None:
    text = json.dumps(
        {
            "ok": True,
            "count": 7,
            "error": None,
            "exit_code": 2,
            "message": "x.BadError: no",
            "stderr": "",
            "list": [1],
        }
    )

    assert [
        ("/exit_code", "2"),
        ("/message", "x.BadError: no"),
        ("/ok", "true"),
        ("/count", "7"),
    ] == quoted(found(find, text), text)


def test_there_is_a_bound_to_errors_and_to_scalars() -> None:
    text = json.dumps({f"k{index}_error": f"e{index}" for index in range(60)})

    assert 48 + 8 == len(found(find, text).quotes)


def test_a_row_without_a_key_and_a_key_of_one_row() -> None:
    rows: list[dict[str, object]] = [{"a": {"b": {"c": index % 3}}, "d": [1]} for index in range(40)]
    del rows[3]["a"]
    rows[5]["extra"] = LONG
    text = json.dumps(rows)
    shown = dict(quoted(found(find, text), text))

    assert '{"d": [1]}' == shown["/3: without /a/b/c"]
    assert f'"{LONG}"' == shown["/5: only here /extra"]


def test_a_row_that_is_a_value_may_be_without_any() -> None:
    text = json.dumps([*([1] * 30), {"a": 1}])
    shown = dict(quoted(found(find, text), text))

    assert '{"a": 1}' == shown["/30: without value"]
    assert '{"a": 1}' == shown["/30: only here /a"]


def test_long_rows_are_shown_by_their_label() -> None:
    rows = [{"n": "ab", "title": f"Title {index}", "body": "b" * 500} for index in range(6)]
    text = json.dumps(rows)
    shown = quoted(found(find, text), text)

    assert [("/0/title", "Title 0"), ("/5/title", "Title 5"), ("/1/title", "Title 1")] == shown[:3]


def test_of_rows_without_a_label_the_first_member_that_says_something_is_shown() -> None:
    rows = [{"n": "", "x": f"v{index}", "body": "b" * 500} for index in range(4)]
    text = json.dumps(rows)
    other = json.dumps([{"deep": {"body": "b" * 600}}] * 4)
    arrays = json.dumps([["b" * 600, 1], ["c" * 600, 2]])

    assert ("/0/x", "v0") == quoted(found(find, text), text)[0]
    assert "/0" == found(find, other).quotes[0].name
    assert "/0/0" == found(find, arrays).quotes[0].name


def test_an_array_of_arrays_is_read_as_one_table() -> None:
    rows = [[{"id": f"{one}{two}", "s": "ok"} for two in range(3)] for one in range(8)]
    rows[2][1]["s"] = "bad"
    text = json.dumps(rows)

    assert ('/2/1/s: not "ok"', '{"id": "21", "s": "bad"}') == quoted(found(find, text), text)[0]


def test_a_long_string_is_read_by_another_finder() -> None:
    inner = 'start here\ncould not open "x"\n' + "line\n" * 200 + "end\n"
    text = json.dumps({"output": inner, "n": 1})
    findings = found(find, text)

    assert "json+lines" == findings.kind
    assert ("/output failure", 'could not open \\"x\\"') == quoted(findings, text)[1]
    assert "/output: 203 lines of text" in findings.notes


def test_json_in_a_string_is_read_as_json() -> None:
    inner = json.dumps([{"title": f"T{index}", "body": LONG} for index in range(4)])
    text = json.dumps({"results": json.dumps({"inner": inner})})
    findings = found(find, text)

    assert "json+json+json" == findings.kind[:14]
    assert ("/0/title", "T0") == quoted(findings, text)[0]


def test_a_string_that_nobody_reads_is_shown_as_it_begins() -> None:
    text = json.dumps({"output": "x" * 900})
    findings = found(json_finder((find_prose,)), text)

    assert ("json", [("/output", "x" * 900)]) == (findings.kind, quoted(findings, text))


def test_a_string_that_is_a_small_part_is_not_read() -> None:
    text = json.dumps([LONG + str(index) for index in range(9)])

    assert "json" == found(find, text).kind
    assert "json+prose" == found(json_finder((lambda said: find_prose(said + "."),)), json.dumps([LONG])).kind


def test_json_lines_and_what_is_none() -> None:
    rows = [json.dumps({"level": "info", "n": index}) for index in range(30)]
    rows[7] = json.dumps({"level": "error", "n": 7})
    text = "\n".join([*rows[:9], "not json", "", *rows[9:]]) + "\n"
    findings = found(find, text)

    assert [
        ("line that is no JSON", "not json"),
        ('/7/level: not "info"', '{"level": "error", "n": 7}'),
    ] == quoted(findings, text)[:2]
    assert (
        "JSON Lines, array of 30",
        "[30 × {level: string, n: number}]",
        "1 line without JSON",
    ) == findings.notes[:3]
    assert "JSON Lines, array of 2" == found(find, "[1]\n[2]").notes[0]


def test_rows_that_are_odd_alike_are_counted() -> None:
    text = json.dumps([*({"s": "ok"} for _ in range(40)), *({"s": "bad"} for _ in range(3))])

    assert 3 == repeats(found(find, text), text)['{"s": "bad"}']


def test_shapes() -> None:
    deep: dict[str, object] = {
        "a": {"b": {"c": {"d": {"e": 1}}}},
        "n": None,
        "t": True,
        "l": LONG,
        "e": [],
        "m": [1, "x"],
    }
    wide = {f"key{index}": index for index in range(40)}

    assert (
        "{a: {b: {c: {d: {1 key}}}}, n: null, t: boolean, l: string of 600, e: [], m: [2 × mixed]}"
    ) == found(find, json.dumps(deep)).notes[1]
    assert "…}" == found(find, json.dumps(wide)).notes[1][-2:]


def test_a_shape_that_is_too_long_is_a_count() -> None:
    text = json.dumps({f"{index:029d}": {"a": 1} for index in range(13)})

    assert ("JSON, object of 13", "13 values") == found(find, text).notes


def test_columns_beyond_a_bound_are_not_looked_at() -> None:
    text = json.dumps([{f"k{index}": 1 for index in range(150)}] * 9)

    assert "JSON, array of 9" == found(find, text).notes[0]


def test_values_beyond_a_bound_are_not_walked() -> None:
    text = json.dumps([[1, 2]] * 60_000)

    assert "JSON, array of 60000" == found(find, text).notes[0]


def test_what_is_no_json_text() -> None:
    assert 1 == refused(find, "17")
    assert 1 == refused(find, "{")
    assert 2 == refused(find, '{"a":1}\nx')
    assert 1 == refused(find, "words\n" * 50 + '{"a":1}\n' * 50)
