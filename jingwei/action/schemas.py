"""Tools' parameter schemas (JSON Schema 2020-12), and arguments held against them (rule T6).

The one module that knows `jsonschema` and `referencing`. Nothing is ever fetched: a reference leads to a
place in the same schema, or the schema is refused. A schema is read as 2020-12 whatever its `$schema` says,
and formats are remarks, not demands, as that version has it.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Final, NamedTuple, Protocol, TypeAlias, cast, final

import attrs
from jsonschema import Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, Schema

from jingwei.action.failures import InvalidSchema, SchemaReason, SchemaViolation
from jingwei.jsontext import Json, JsonProblem, JsonValue, canonical, parse, pointer, within_depth
from jingwei.limits import FREE_JSON_LEVELS, SCHEMA_VIOLATIONS_MAX, SCHEMA_WORDS_MAX

_Steps: TypeAlias = tuple[str | int, ...]


@final
@attrs.frozen(kw_only=True)
class CompiledSchema:
    """A schema that arguments can be held against. Made by `compile_schema` only.

    Attributes:
        tool: whose it is.
        schema: the schema as it was given.
        checker: what holds values against it.
    """

    tool: str
    schema: Json
    checker: "Checker" = attrs.field(eq=False, repr=False)


class Checker(Protocol):
    """The part of a `jsonschema` validator that is used."""

    def iter_errors(self, instance: object) -> Iterator[ValidationError]:
        """Every way in which a value breaks the schema, in the order of the schema."""
        ...


def compile_schema(tool: str, schema: Json) -> CompiledSchema | InvalidSchema:
    """A tool's schema made ready, or what is wrong with it first. No I/O: nothing is ever fetched (T6)."""
    found = _compiled(schema.text)
    if isinstance(found, _Wrong):
        return InvalidSchema(tool=tool, reason=found.reason, where=pointer(found.steps), ref=found.ref)
    return CompiledSchema(tool=tool, schema=schema, checker=found)


def violations_of(
    compiled: CompiledSchema, arguments: JsonValue
) -> tuple[SchemaViolation, ...] | InvalidSchema:
    """Where a value breaks the schema, in the schema's order and at most 16 times; empty where it does not.

    `InvalidSchema` where the check came to no end: a recursion deeper than the stack, a number out of reach.
    """
    try:
        errors = list(islice(compiled.checker.iter_errors(arguments), SCHEMA_VIOLATIONS_MAX))
        return tuple(dict.fromkeys(map(_violation, errors)))
    except _ENDLESS:
        return InvalidSchema(tool=compiled.tool, reason=SchemaReason.UNCHECKABLE, where="")


_ENDLESS: Final = (RecursionError, OverflowError, ValueError, re.error, Unresolvable, Warning)
"""How a check ends that comes to no answer; numbers and patterns among them that Python will not read."""


# --- violations -------------------------------------------------------------------------------------


def _violation(error: ValidationError) -> SchemaViolation:
    steps = error.absolute_path
    keyword = "false" if error.schema is False or error.schema == _NEVER else str(error.validator)
    return SchemaViolation(path=pointer(tuple(steps)), keyword=keyword, words=_words(keyword, error))


def _words(keyword: str, error: ValidationError) -> str:
    """What was asked for. Says nothing of what was met, which is a model's text."""
    if keyword == "false":
        return "nothing is allowed here"
    asked = cast(JsonValue, error.validator_value)
    if keyword in {"properties", "additionalProperties", "unevaluatedProperties"}:
        return "no other keys than those of the schema"
    text = canonical(asked)
    return text if len(text) <= SCHEMA_WORDS_MAX else text[: SCHEMA_WORDS_MAX - 1] + "…"


# --- schemas ----------------------------------------------------------------------------------------


class _Made(Protocol):
    """A validator class of `jsonschema`."""

    def __call__(self, schema: object, *, registry: Registry[Schema]) -> Checker:
        """A validator of a schema that knows the documents of this registry and no others."""
        ...


class _Extend(Protocol):
    """What makes a validator class from another."""

    def __call__(self, validator: object, validators: Mapping[str, object]) -> _Made:
        """The same class with other functions for some keywords."""
        ...


def _exact_multiple(
    _validator: object, factor: int | float, instance: object, _schema: object
) -> Iterator[ValidationError]:
    """`multipleOf` over the decimals as they are written, where floats would round or overflow."""
    if isinstance(instance, int | float) and not isinstance(instance, bool):
        quotient = _exact(instance) / _exact(factor)
        if quotient.denominator != 1:
            yield ValidationError("not a multiple")


def _exact(number: int | float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


_PATTERNS: Final = FormatChecker(formats=("regex",))
"""All that the meta-schema asks of formats: the others depend on what else is installed."""

_META: Final = cast(
    "Checker", Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=_PATTERNS)
)
# The function has no types of its own.
_extended: Final = cast("_Extend", getattr(validators, "extend"))  # noqa: B009
_EXACT: Final = _extended(Draft202012Validator, {"multipleOf": _exact_multiple})


@final
@attrs.frozen(kw_only=True)
class _Wrong:
    reason: SchemaReason
    steps: _Steps = ()
    ref: str | None = None


@functools.lru_cache(maxsize=256)
def _compiled(text: str) -> "Checker | _Wrong":
    """By text, since a session holds the same tools against every answer. Pure, so nothing can go stale."""
    schema = parse(text)
    if isinstance(schema, JsonProblem) or not isinstance(schema, bool | dict):
        return _Wrong(reason=SchemaReason.NO_SCHEMA)
    if not within_depth(text, schema, FREE_JSON_LEVELS):
        return _Wrong(reason=SchemaReason.TOO_DEEP)
    wrong = _meta_failure(schema, ()) or _Walk(schema).run()
    if wrong is not None:
        return wrong
    return _EXACT(schema, registry=_NOTHING)


def _meta_failure(schema: JsonValue, steps: _Steps) -> _Wrong | None:
    try:
        for error in _META.iter_errors(schema):
            return _Wrong(reason=SchemaReason.NO_SCHEMA, steps=(*steps, *error.absolute_path))
    except RecursionError:
        return _Wrong(reason=SchemaReason.TOO_DEEP, steps=steps)
    except _ENDLESS:
        return _Wrong(reason=SchemaReason.NO_SCHEMA, steps=steps)
    return None


# --- references -------------------------------------------------------------------------------------


class _Resolved(Protocol):
    """What a reference leads to."""

    @property
    def contents(self) -> Schema:
        """The schema there."""
        ...

    @property
    def resolver(self) -> "_Resolver":
        """What its own references are relative to."""
        ...


class _Resolver(Protocol):
    """What `referencing` resolves references with; it has no public name there."""

    def lookup(self, ref: str) -> _Resolved:
        """Follow a reference; raises `Unresolvable` for one that leads out."""
        ...

    def in_subresource(self, subresource: Resource[Schema]) -> "_Resolver":
        """The same for a schema inside, which may have an id of its own."""
        ...


_NOTHING: Final[Registry[Schema]] = Registry()
"""Knows no document but the one at hand, and retrieves none."""

_ONE: Final = (
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_SEVERAL: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED: Final = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_REFERENCES: Final = ("$ref", "$dynamicRef")
_SAME_PLACE: Final = frozenset({"allOf", "anyOf", "dependentSchemas", "else", "if", "not", "oneOf", "then"})
"""Keywords whose schemas speak of the same value: a circle of these and of references never ends."""


class _Place(NamedTuple):
    """A schema to be looked at, where it stands, and what its references are relative to."""

    schema: dict[str, JsonValue]
    steps: _Steps
    resolver: _Resolver


@final
class _Walk:
    """Looks at every schema that a check can reach. Iterative, each place once; never leaves the module."""

    def __init__(self, schema: bool | dict[str, JsonValue]) -> None:
        self.todo = list[_Place]()
        self.seen = set[int]()
        self.circles = dict[int, list[int]]()
        if isinstance(schema, dict):
            root = DRAFT202012.create_resource(schema)
            self.note(schema, (), _NOTHING.resolver_with_root(root))

    def run(self) -> _Wrong | None:
        """The first thing that is wrong, in the order of the walk."""
        while self.todo:
            place = self.todo.pop()
            _tame(place.schema)
            wrong = self.follow(place)
            if wrong is not None:
                return wrong
            for keyword, steps, child in _children(place):
                if isinstance(child, dict):
                    inner = place.resolver.in_subresource(DRAFT202012.create_resource(child))
                    self.link(place.schema, child, inside=keyword in _SAME_PLACE)
                    self.note(child, steps, inner)
        return _Wrong(reason=SchemaReason.LOOP) if _has_circle(self.circles) else None

    def note(self, schema: dict[str, JsonValue], steps: _Steps, resolver: _Resolver) -> None:
        if id(schema) not in self.seen:
            self.seen.add(id(schema))
            self.todo.append(_Place(schema=schema, steps=steps, resolver=resolver))

    def link(self, schema: dict[str, JsonValue], child: dict[str, JsonValue], *, inside: bool) -> None:
        if inside:
            self.circles.setdefault(id(schema), []).append(id(child))

    def follow(self, place: _Place) -> _Wrong | None:
        for keyword in _REFERENCES:
            ref = place.schema.get(keyword)
            if not isinstance(ref, str):
                continue
            steps = (*place.steps, keyword)
            try:
                target = place.resolver.lookup(ref)
            except (Unresolvable, ValueError):
                return _Wrong(reason=SchemaReason.REFERENCE, steps=steps, ref=ref)
            found = target.contents
            wrong = None if id(found) in self.seen else _meta_failure(cast(JsonValue, found), steps)
            if wrong is not None:
                return wrong
            if isinstance(found, dict):
                self.link(place.schema, found, inside=True)
                self.note(found, steps, target.resolver)
        return None


def _tame(schema: dict[str, JsonValue]) -> None:
    """The same schema, for a validator that obeys `$schema` and forgets where `false` stood."""
    if isinstance(schema.get("$schema"), str):
        del schema["$schema"]
    for keyword in ("properties", "patternProperties"):
        named = schema.get(keyword)
        if isinstance(named, dict):
            schema[keyword] = {name: _NEVER if child is False else child for name, child in named.items()}
    listed = schema.get("prefixItems")
    if isinstance(listed, list):
        schema["prefixItems"] = [_NEVER if child is False else child for child in listed]


_NEVER: Final[JsonValue] = {"not": {}}


def _children(place: _Place) -> Iterator[tuple[str, _Steps, JsonValue]]:
    schema, steps = place.schema, place.steps
    for keyword in _ONE:
        if keyword in schema:
            yield keyword, (*steps, keyword), schema[keyword]
    for keyword in _SEVERAL:
        for index, child in enumerate(cast(Sequence[JsonValue], schema.get(keyword, ()))):
            yield keyword, (*steps, keyword, index), child
    for keyword in _NAMED:
        for name, child in cast(Mapping[str, JsonValue], schema.get(keyword, {})).items():
            yield keyword, (*steps, keyword, name), child


def _has_circle(edges: Mapping[int, Sequence[int]]) -> bool:
    """Whether some place leads back to itself: takes away what nothing leads to, until circles are left."""
    entries = dict[int, int]()
    for ends in edges.values():
        for end in ends:
            entries[end] = entries.get(end, 0) + 1
    free = [start for start in edges if start not in entries]
    left = sum(entries.values())
    while free:
        for end in edges.get(free.pop(), ()):
            left -= 1
            entries[end] -= 1
            if not entries[end]:
                free.append(end)
    return left > 0
