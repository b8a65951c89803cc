"""JSON with places (T2): read like the standard library's reader, where that reads at all."""

import json

import pytest

from jingwei.condensers.jsonnodes import LEVELS_MAX, Node, Unescaped, read_nodes

GOOD = (
    "1",
    ' {"a": [1, -2.5e+7, true, null, "x\\"y\\u00e9"], "b": {}, "": [[]] } ',
    "[]",
    '"text"',
    "[NaN, -Infinity, false]",
    '[{"a":1},{"a":2}]',
    '["\\\\"]',
)
BAD = (
    "",
    " ",
    "{",
    "[1,",
    "[1,]",
    "[,1]",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    "{1:2}",
    "[1}",
    "]",
    "[1 2]",
    '{"a" 1}',
    '"open',
    ":",
    ",",
    "[:]",
    "1 2",
    "[1]]",
    "nul",
    '{"a":1 "b":2}',
    '{"a",1}',
    '["a":1]',
)


def value(text: str, node: Node) -> object:
    """The value again, by the places of its parts."""
    if node.kind == "object":
        return {json.loads(f'"{key}"'): value(text, child) for key, child in node.members()}
    if node.kind == "array":
        return [value(text, child) for child in node.children]
    return json.loads(text[node.start : node.end])


@pytest.mark.parametrize("text", GOOD)
def test_what_json_reads_is_read_alike(text: str) -> None:
    node = read_nodes(f"ab{text}c", 2, len(text) + 2)

    assert isinstance(node, Node)
    assert repr(json.loads(text)) == repr(value(f"ab{text}c", node))
    assert text.strip() == f"ab{text}c"[node.start : node.end]


@pytest.mark.parametrize("text", BAD)
def test_what_json_does_not_read_is_refused_at_a_place(text: str) -> None:
    place = read_nodes(text, 0, len(text))

    assert isinstance(place, int)
    assert 0 <= place <= len(text)


def test_equal_keys_and_control_characters_are_taken() -> None:
    text = '{"a": 1, "a": "x\n\x00y"}'
    node = read_nodes(text, 0, len(text))

    assert isinstance(node, Node)
    assert ["a", "a"] == node.keys


def test_levels_are_bounded() -> None:
    deep = "[" * LEVELS_MAX + "]" * LEVELS_MAX

    assert isinstance(read_nodes(deep, 0, len(deep)), Node)
    assert LEVELS_MAX == read_nodes(f"[{deep}]", 0, len(deep) + 2)


def test_an_unescaped_string_knows_where_its_characters_stand() -> None:
    raw = '..a\\n\\"\\u00e9\\ud83d\\ude00é\\q\\ud800\\t..'
    said = Unescaped(raw, 2, len(raw) - 2)

    assert 'a\n"é😀é\\q\ud800\t' == said.text
    assert [raw.index(part) for part in ("a", "\\n", '\\"', "\\u00e9", "\\ud83d", "é", "\\q", "q")] == [
        said.place(place) for place in range(8)
    ]
    assert len(raw) - 2 == said.place(len(said.text))


def test_a_string_without_escapes_stands_as_it_is() -> None:
    said = Unescaped('"abc"', 1, 4)

    assert ("abc", 1, 4) == (said.text, said.place(0), said.place(3))
