"""Parameter schemas: compiled without any document but themselves, and arguments held against them (T6)."""

import socket
from typing import Any

import pytest

from jingwei.action.failures import InvalidSchema, SchemaReason, SchemaViolation
from jingwei.action.schemas import CompiledSchema, compile_schema, violations_of
from jingwei.jsontext import Json, JsonValue, canonical
from jingwei.limits import FREE_JSON_LEVELS, SCHEMA_VIOLATIONS_MAX, SCHEMA_WORDS_MAX


def compiled(schema: JsonValue) -> CompiledSchema:
    found = compile_schema("tool", Json(canonical(schema)))
    assert isinstance(found, CompiledSchema)
    return found


def broken(schema: JsonValue, value: JsonValue) -> tuple[SchemaViolation, ...]:
    found = violations_of(compiled(schema), value)
    assert isinstance(found, tuple)
    return found


def wrong(reason: SchemaReason, where: str, ref: str | None = None) -> InvalidSchema:
    return InvalidSchema(tool="tool", reason=reason, where=where, ref=ref)


def nested(levels: int, key: str) -> JsonValue:
    schema: JsonValue = {}
    for _ in range(levels):
        schema = {key: schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "where", "ref"),
    [
        ({"$ref": "https://host.test/a"}, "/$ref", "https://host.test/a"),
        ({"$ref": "file:///a"}, "/$ref", "file:///a"),
        ({"properties": {"a/b": {"$ref": "https://h.test"}}}, "/properties/a~1b/$ref", "https://h.test"),
        ({"items": {"$dynamicRef": "https://h.test/#x"}}, "/items/$dynamicRef", "https://h.test/#x"),
        ({"allOf": [{}, {"$ref": "#/$defs/a"}]}, "/allOf/1/$ref", "#/$defs/a"),
        ({"$ref": "#nowhere"}, "/$ref", "#nowhere"),
        ({"$ref": "http://["}, "/$ref", "http://["),
        ({"$ref": "#/allOf/x", "allOf": [{}]}, "/$ref", "#/allOf/x"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "/$ref",
         "https://json-schema.org/draft/2020-12/schema"),
        ({"$ref": "#/x", "x": {"$ref": "https://h.test"}}, "/$ref/$ref", "https://h.test"),
    ],
)  # fmt: skip
def test_a_reference_that_leads_out_of_the_schema_is_refused_without_io(
    schema: JsonValue, where: str, ref: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A20: nested, dynamic and dangling ones too."""

    def never(*_args: Any, **_kwargs: Any) -> None:
        raise AssertionError("I/O")

    monkeypatch.setattr(socket, "socket", never)
    monkeypatch.setattr(socket, "getaddrinfo", never)

    assert wrong(SchemaReason.REFERENCE, where, ref) == compile_schema("tool", Json(canonical(schema)))


def test_references_inside_the_schema_are_followed() -> None:
    """A16: by pointer, by anchor, by the schema's own id, and to places that are no schema's."""
    schema: JsonValue = {
        "$id": "https://host.test/tool",
        "properties": {
            "a": {"$ref": "#/$defs/two"},
            "b": {"$ref": "https://host.test/tool#two"},
            "c": {"$dynamicRef": "#two"},
            "d": {"$ref": "#/x/two"},
            "e": {"$ref": "#/x/never"},
        },
        "$defs": {"two": {"$anchor": "two", "minLength": 2}},
        "x": {"two": {"minLength": 2}, "never": False},
    }

    short = SchemaViolation(path="", keyword="minLength", words="2")

    assert () == broken(schema, {"a": "你好", "b": "xx", "c": "xx", "d": "xx"})
    for key in "abcd":
        assert (SchemaViolation(path=f"/{key}", keyword="minLength", words=short.words),) == broken(
            schema, {key: "x"}
        )
    assert ("false",) == tuple(one.keyword for one in broken(schema, {"e": 1}))


@pytest.mark.parametrize(
    ("schema", "reason", "where"),
    [
        ({"type": "strin"}, SchemaReason.NO_SCHEMA, "/type"),
        ({"properties": []}, SchemaReason.NO_SCHEMA, "/properties"),
        ({"properties": {"a": {"pattern": "("}}}, SchemaReason.NO_SCHEMA, "/properties/a/pattern"),
        ({"pattern": "a{99999999999}"}, SchemaReason.NO_SCHEMA, ""),
        ({"multipleOf": 0}, SchemaReason.NO_SCHEMA, "/multipleOf"),
        ({"$ref": "#/x", "x": {"minLength": "a"}}, SchemaReason.NO_SCHEMA, "/$ref/minLength"),
        ([], SchemaReason.NO_SCHEMA, ""),
        ("object", SchemaReason.NO_SCHEMA, ""),
        ({"$ref": "#"}, SchemaReason.LOOP, ""),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, SchemaReason.LOOP, ""),
        ({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}, SchemaReason.LOOP, ""),
        (nested(FREE_JSON_LEVELS, "not"), SchemaReason.TOO_DEEP, ""),
    ],
)
def test_what_is_wrong_with_a_schema_is_told_with_its_place(
    schema: JsonValue, reason: SchemaReason, where: str
) -> None:
    assert wrong(reason, where) == compile_schema("tool", Json(canonical(schema)))


def test_a_text_that_is_no_json_is_no_schema() -> None:
    assert wrong(SchemaReason.NO_SCHEMA, "") == compile_schema("tool", Json('{"a":1,"a":2}'))


def test_a_schema_that_the_stack_cannot_hold_is_too_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    """However deep the stack may be: the meta-schema is asked, and gives up."""

    class _Deep:
        def iter_errors(self, _schema: object) -> list[object]:
            raise RecursionError

    monkeypatch.setattr("jingwei.action.schemas._META", _Deep())

    assert wrong(SchemaReason.TOO_DEEP, "") == compile_schema("tool", Json('{"title":"only here"}'))


def test_a_recursive_schema_is_no_loop() -> None:
    tree: JsonValue = {"type": "object", "properties": {"next": {"$ref": "#"}}}

    assert () == broken(tree, {"next": {"next": {}}})
    assert (SchemaViolation(path="/next/next", keyword="type", words='"object"'),) == broken(
        tree, {"next": {"next": 1}}
    )


def test_a_schema_is_read_as_2020_12_whatever_it_says() -> None:
    """A validator would otherwise change its version at that place, and read `prefixItems` no more."""
    schema: JsonValue = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {
            "a": {"$schema": "http://json-schema.org/draft-04/schema#", "prefixItems": [{"type": "null"}]},
            "$schema": {"type": "string"},
        },
    }

    assert ("/a/0", "/$schema") == tuple(one.path for one in broken(schema, {"a": [1], "$schema": 1}))


def test_violations_say_what_was_asked_for_and_nothing_of_what_was_met() -> None:
    schema: JsonValue = {
        "type": "object",
        "properties": {"q": {"enum": ["x" * 300]}, "n": False},
        "required": ["q", "r"],
        "additionalProperties": False,
    }
    arguments: JsonValue = {"q": "secret", "n": "secret", "secret": 1}

    found = broken(schema, arguments)

    assert ("/q", "/n", "", "") == tuple(one.path for one in found)
    assert ("enum", "false", "required", "additionalProperties") == tuple(one.keyword for one in found)
    assert '["q","r"]' == found[2].words
    assert SCHEMA_WORDS_MAX == len(found[0].words)
    assert "secret" not in repr(found)


def test_violations_are_bounded_and_told_once() -> None:
    many: JsonValue = {"items": {"type": "null"}}

    assert SCHEMA_VIOLATIONS_MAX == len(broken(many, [0] * 1000))
    assert 1 == len(broken({"required": ["a", "b", "c"]}, {}))


@pytest.mark.parametrize("value", [0, 3, -7, 0.3, 1e300, 10**400, "text", True])
def test_multiples_are_exact_decimals(value: JsonValue) -> None:
    """Neither floats nor the size of an integer decide."""
    assert () == broken({"multipleOf": 0.1}, value)


def test_what_is_no_multiple_is_told() -> None:
    assert (SchemaViolation(path="", keyword="multipleOf", words="0.1"),) == broken({"multipleOf": 0.1}, 0.35)
    assert ("multipleOf",) == tuple(one.keyword for one in broken({"multipleOf": 10**400}, 1.5))


def test_formats_are_not_asserted() -> None:
    assert () == broken({"format": "date-time"}, "no date")


def test_a_check_without_an_end_is_told() -> None:
    class _Endless:
        def iter_errors(self, _instance: object) -> Any:
            raise RecursionError

    endless = CompiledSchema(tool="tool", schema=Json("{}"), checker=_Endless())

    assert wrong(SchemaReason.UNCHECKABLE, "") == violations_of(endless, {})


def test_a_compiled_schema_is_equal_by_what_it_was_made_of() -> None:
    assert compiled({"type": "object"}) == compiled({"type": "object"})
    assert compiled({"type": "object"}) != compiled({})
