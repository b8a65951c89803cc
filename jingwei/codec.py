"""Strict record codecs: what each room's `wire.py` is made of (rules W1, W5, W6, W8).

cattrs builds the per-class code. On its own it coerces (`"5"` reads as 5), reads strings as
sequences, and its failures are exceptions with text. `RecordCodec` closes these gaps once:

- every primitive, enum, sequence and tag is read by a hook that coerces nothing;
- reading tries three dialects of the same declarations: EXACT is the fast door of logs, takes pairs
  as `parse_pairs` gives them, and wants every key that is always written and no unknown one;
  LENIENT accepts what the rules allow (unknown keys where W1 says so, explicit nulls); DETAILED
  repeats a failed reading and collects every problem with its place;
- nothing leaves this module but a record or a `RecordProblem`.
"""

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import GenericAlias
from typing import Final, TypeAlias, TypeVar, cast, final, get_args

import attrs
import cattrs
from cattrs.errors import AttributeValidationNote, ClassValidationError
from cattrs.gen import make_dict_structure_fn, override

from jingwei.jsontext import (
    Json,
    JsonProblem,
    JsonValue,
    NotCanonical,
    canonical,
    parse,
    pointer,
    scan,
    shortened,
    value_of_pairs,
    within_depth,
)
from jingwei.limits import FREE_JSON_LEVELS, INTEGER_DIGITS_MAX, JSON_DEPTH_MAX, TOKENS_BOUND
from jingwei.outcome import Failure, Outcome, Success

_Record = TypeVar("_Record")
_Row = TypeVar("_Row")
_Hook: TypeAlias = Callable[[object, object], object]


@final
class DecodeReason(enum.Enum):
    """Why bytes are refused (W5, W6); the value is its name on the wire."""

    INVALID_UTF8 = "invalid_utf8"
    BOM = "bom"
    INVALID_JSON = "invalid_json"
    LONE_SURROGATE = "lone_surrogate"
    NON_FINITE = "non_finite"
    DUPLICATE_KEY = "duplicate_key"
    TOO_DEEP = "too_deep"
    BLANK_LINE = "blank_line"
    TORN_LAST_LINE = "torn_last_line"
    NOT_AN_OBJECT = "not_an_object"
    INTEGER_TOO_LONG = "integer_too_long"
    MISSING_KEY = "missing_key"
    UNKNOWN_KEY = "unknown_key"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    UNKNOWN_TAG = "unknown_tag"
    UNKNOWN_ENUM = "unknown_enum"
    UNSUPPORTED_VERSION = "unsupported_version"


@final
@attrs.frozen(kw_only=True)
class DecodeFailed:
    """Bytes that are not what they should be: the first problem by byte offset (W5, W6).

    Attributes:
        reason: the closed list of causes.
        line: the line, counted from 1; None where the input has no lines.
        byte_offset: where that line starts, from the start of the input; None where there are no lines.
        path: JSON Pointer of the value at fault inside the line; None where there is no text to point
            into: invalid UTF-8, a byte order mark, a blank or torn line.
        expected: what would have been right.
        actual: what was met, shortened.
        whole_bytes: for a torn last line, the length of the log through its last newline: what is
            left when the torn line is cut away. None otherwise.
    """

    reason: DecodeReason
    line: int | None = None
    byte_offset: int | None = None
    path: str | None = None
    expected: str | None = None
    actual: str | None = None
    whole_bytes: int | None = None


@final
class EncodeReason(enum.Enum):
    """Why a record has no bytes that could be read again."""

    LONE_SURROGATE = "lone_surrogate"
    TOO_DEEP = "too_deep"


@final
@attrs.frozen(kw_only=True)
class EncodeFailed:
    """A record built in code holds what no strict JSON can (W6, W8): half a surrogate pair, too many levels.

    Ranges and blanks are not checked on writing: a negative `seq` is written, and refused on reading.

    Attributes:
        reason: which of the two.
        index: which record of a sequence, from 0; None for a single one.
        actual: the code point, as `U+D800`; for levels what is allowed.
    """

    reason: EncodeReason
    index: int | None
    actual: str


@final
@attrs.frozen(kw_only=True)
class RecordProblem:
    """What is wrong with a parsed value, relative to it."""

    reason: DecodeReason
    steps: tuple[str | int, ...]
    expected: str
    actual: str


@final
@attrs.frozen(kw_only=True)
class Line:
    """One line of a JSON Lines input, without its newline."""

    text: str
    number: int
    byte_offset: int


class _Refused(Exception):
    """Carries problems out of cattrs' generated code; never leaves this module."""

    def __init__(self, *problems: RecordProblem) -> None:
        super().__init__()
        self.problems = problems


class _Dialect(enum.Enum):
    EXACT = enum.auto()
    LENIENT = enum.auto()
    DETAILED = enum.auto()


@final
class Declarations:
    """What a `wire.py` declares records with. One per dialect; made by `RecordCodec`."""

    def __init__(self, dialect: _Dialect) -> None:
        self._dialect = dialect
        self._exact = dialect is _Dialect.EXACT
        self._from_members = dict[type[object], _Hook]()
        self._converter = cattrs.Converter(detailed_validation=dialect is _Dialect.DETAILED)
        for primitive, read in _PRIMITIVES.items():
            self._converter.register_structure_hook(primitive, read)
        self._converter.register_structure_hook(Json, _read_paired_json if self._exact else _read_json)
        self._converter.register_unstructure_hook(Json, Json.value)
        self._converter.register_structure_hook(Fraction, _read_fraction)
        self._converter.register_unstructure_hook(Fraction, _written_fraction)
        self._converter.register_structure_hook_factory(_is_tuple, self._tuple_hook)

    def enums(self, *classes: type[enum.Enum]) -> None:
        """Enums by value; another spelling is `unknown_enum`."""
        for cls in classes:
            self._converter.register_structure_hook(cls, _enum_hook(cls))

    def record(
        self,
        cls: type[object],
        *,
        strict: bool = False,
        constants: Mapping[str, JsonValue] | None = None,
        always: Iterable[str] = (),
        unless_default: Iterable[str] = (),
        required: Iterable[str] = (),
        below: Mapping[str, int] | None = None,
        not_blank: Iterable[str] = (),
        versioned: Iterable[str] = (),
    ) -> None:
        """Declare one attrs class; its wire keys are its field names, in order.

        Args:
            cls: the class.
            strict: an unknown key is a failure (W1).
            constants: keys written first with a fixed value: the tag of a union, the version. A
                version is demanded and compared; a tag has been read before.
            always: optional fields that are written as null instead of left out.
            unless_default: fields that are left out while they have their default.
            required: fields that have a default in code and none on the wire.
            below: integer fields with a smaller exclusive bound than 2^64.
            not_blank: text fields that must hold more than white space (M1).
            versioned: free JSON fields that must be objects with a `version` of 1 (W4).
        """
        fixed = dict(constants or {})
        special: dict[str, _Hook] = {name: _unsigned_hook(bound) for name, bound in (below or {}).items()}
        special.update(dict.fromkeys(not_blank, _read_not_blank))
        read_versioned = _read_paired_versioned_json if self._exact else _read_versioned_json
        special.update(dict.fromkeys(versioned, read_versioned))
        fields = attrs.fields(cls)  # type: ignore[arg-type]  # every declared class is an attrs class
        omitted = frozenset(f.name for f in fields if f.default in (None, ())) - frozenset(always)
        quiet = {f.name: cast(object, f.default) for f in fields if f.name in frozenset(unless_default)}
        overrides = {
            f.name: override(
                omit_if_default=f.name in omitted,
                struct_hook=_or_null(special.get(f.name)) if f.default is None else special.get(f.name),
            )
            for f in fields
        }
        read = make_dict_structure_fn(cls, self._converter, **overrides)  # type: ignore[arg-type]
        keys = frozenset(f.name for f in fields)
        self._converter.register_structure_hook(
            cls,
            self._checked(
                cls,
                cast(_Hook, read),
                _Keys(
                    allowed=keys | fixed.keys(),
                    written=(keys | fixed.keys()) - omitted - quiet.keys(),
                    omitted=tuple(sorted(omitted)),
                    required=tuple(required),
                    strict=strict,
                    versioned="version" in fixed,
                ),
            ),
        )
        names = tuple(f.name for f in fields)
        self._converter.register_unstructure_hook(cls, self._writer(names, omitted, quiet, fixed))

    def union(self, union: object, tag: str, members: Mapping[str, type[object]]) -> None:
        """Declare a union of declared records, told apart by the text under the key `tag`."""
        if self._exact:
            self._exact_union(union, tag, members)
            return
        hooks = {name: self._converter.get_structure_hook(cls) for name, cls in members.items()}
        known = ", ".join(members)

        def read(value: object, _: object) -> object:
            found = _an_object(value)
            if tag not in found:
                raise _refused(DecodeReason.MISSING_KEY, known, "nothing", (tag,))
            name = found[tag]
            if type(name) is not str:
                raise _refused(DecodeReason.WRONG_TYPE, "a string", _shown(name), (tag,))
            if name not in hooks:
                raise _refused(DecodeReason.UNKNOWN_TAG, known, _shown(name), (tag,))
            return cast(object, hooks[name](found, members[name]))

        self._converter.register_structure_hook_func(lambda cls: cls == union, read)

    def _exact_union(self, union: object, tag: str, members: Mapping[str, type[object]]) -> None:
        hooks = {name: (self._from_members[cls], cls) for name, cls in members.items()}

        def read(value: object, _: object) -> object:
            found = _members(value)
            name = found.get(tag)
            if type(name) is not str or name not in hooks:
                raise _Refused
            from_members, cls = hooks[name]
            return from_members(found, cls)

        self._converter.register_structure_hook_func(lambda cls: cls == union, read)

    def rows(
        self,
        cls: type[_Record],
        row: type[_Row],
        write: Callable[[_Record], Iterable[_Row]],
        read: Callable[[tuple[_Row, ...]], _Record],
    ) -> None:
        """Declare a class that stands on the wire as an array of declared rows."""
        read_rows = self._tuple_hook(GenericAlias(tuple, (row, ...)))
        self._converter.register_structure_hook(
            cls, lambda value, _: read(cast("tuple[_Row, ...]", read_rows(value, row)))
        )
        self._converter.register_unstructure_hook(
            cls, lambda record: [self._converter.unstructure(one) for one in write(record)]
        )

    def read(self, value: object, cls: type[_Record]) -> _Record:
        """Read one declared record; raises what `RecordCodec` catches."""
        return self._converter.structure(value, cls)

    def write(self, record: object) -> JsonValue:
        """Write one declared record."""
        return cast(JsonValue, self._converter.unstructure(record))

    def _writer(
        self,
        names: tuple[str, ...],
        omitted: frozenset[str],
        quiet: Mapping[str, object],
        fixed: Mapping[str, JsonValue],
    ) -> Callable[[object], Mapping[str, object]]:
        """Keys in declared order (W8); cattrs' own code would put the omittable ones last."""
        unstructure = self._converter.unstructure

        def write(record: object) -> Mapping[str, object]:
            out: dict[str, object] = dict(fixed)
            for name in names:
                value = getattr(record, name)
                if name in omitted and value in _NOTHING:
                    continue
                if name in quiet and value == quiet[name]:
                    continue
                out[name] = value if type(value) in _PRIMITIVES else unstructure(value)
            return out

        return write

    def _tuple_hook(self, cls: object) -> _Hook:
        (item, *_) = get_args(cls)
        read = self._converter.get_structure_hook(item)
        if self._dialect is not _Dialect.DETAILED:
            return lambda value, _: tuple([read(x, item) for x in _an_array(value)])

        def read_all(value: object, _: object) -> object:
            out, problems = list[object](), list[RecordProblem]()
            for index, child in enumerate(_an_array(value)):
                try:
                    out.append(read(child, item))
                except _Refused as refused:
                    problems += _under(index, refused.problems)
            if problems:
                raise _Refused(*problems)
            return tuple(out)

        return read_all

    def _checked(self, cls: type[object], read: _Hook, keys: "_Keys") -> _Hook:
        """Wrap cattrs' code for one class in the checks that this dialect makes first."""
        if self._exact:
            from_members = self._from_members[cls] = _exact(read, keys)
            return lambda value, cls: from_members(_members(value), cls)
        return _lenient(read, keys) if self._dialect is _Dialect.LENIENT else _detailed(read, keys)


@final
class RecordCodec:
    """Reads and writes the records that one `declare` function declares.

    A dialect is made when it is first used: a process that only writes pays for no reader of details, and
    an import for none of them. Two threads that come first at once make it twice, and both are alike.
    """

    def __init__(self, declare: Callable[[Declarations], None]) -> None:
        self._declare = declare
        self._made = dict[_Dialect, Declarations]()

    def read(self, value: JsonValue, cls: type[_Record]) -> _Record | RecordProblem:
        """The record that a parsed value stands for, or the first problem in document order."""
        try:
            return self._in(_Dialect.LENIENT).read(value, cls)
        except (_Refused, KeyError):
            pass  # read again below, this time for the place
        try:
            return self._in(_Dialect.DETAILED).read(value, cls)
        except _Refused as refused:
            return _first(value, refused.problems)

    def read_exact(self, pairs: object, cls: type[_Record]) -> _Record | None:
        """The record of a value of `parse_pairs` with all usual keys and no others; else `read` decides.

        Such a value's canonical text is never longer than the text that it was parsed from: no more keys,
        no spaces, no longer escapes, and numbers that have one spelling.
        """
        try:
            return self._in(_Dialect.EXACT).read(pairs, cls)
        except (_Refused, KeyError, RecursionError):
            return None  # also where a caller has left little stack: the slow passes use none

    def write(self, record: object) -> JsonValue:
        """The plain JSON value of a declared record, keys in the order of W8."""
        return self._in(_Dialect.LENIENT).write(record)

    def text(self, record: object) -> str:
        """The canonical text of a declared record (W8)."""
        return canonical(self.write(record))

    def decode(self, data: bytes, cls: type[_Record]) -> Outcome[_Record, DecodeFailed]:
        """One record from its JSON document (W6)."""
        value = parse_document(data)
        if isinstance(value, DecodeFailed):
            return Failure(value)
        record = self.read(value, cls)
        return Failure(problem_at(None, record)) if isinstance(record, RecordProblem) else Success(record)

    def encode(self, record: object) -> Outcome[bytes, EncodeFailed]:
        """Canonical bytes of one record (W8), without a newline."""
        data = self.written(record)
        return Failure(data) if isinstance(data, EncodeFailed) else Success(data)

    def written(self, record: object, index: int | None = None) -> bytes | EncodeFailed:
        """The same without a container, for records of a sequence."""
        value = self.write(record)
        text = canonical(value)
        if not within_depth(text, value):
            limit = f"more than {JSON_DEPTH_MAX} levels"
            return EncodeFailed(reason=EncodeReason.TOO_DEEP, index=index, actual=limit)
        return utf8(text, index)

    def _in(self, dialect: _Dialect) -> Declarations:
        made = self._made.get(dialect)
        if made is None:
            made = Declarations(dialect)
            self._declare(made)
            self._made[dialect] = made
        return made


def parse_line(line: Line) -> Mapping[str, JsonValue] | DecodeFailed:
    """One line as a JSON object, or why it is none (W6)."""
    if not line.text.strip(" \t\r"):
        return _at(line, DecodeReason.BLANK_LINE, expected="a JSON object", actual="a blank line")
    value = parse(line.text)
    if isinstance(value, JsonProblem):
        return _json_failure(line, value)
    if not isinstance(value, dict):
        return _at(line, DecodeReason.NOT_AN_OBJECT, path="", expected="an object", actual=_shown(value))
    return cast(Mapping[str, JsonValue], value)


def problem_at(line: Line | None, problem: RecordProblem) -> DecodeFailed:
    """A record's problem as a decode failure, at its line where there is one."""
    whole = problem.reason is DecodeReason.WRONG_TYPE and not problem.steps
    return _at(
        line,
        DecodeReason.NOT_AN_OBJECT if whole else problem.reason,
        path=pointer(problem.steps),
        expected=problem.expected,
        actual=problem.actual,
    )


def lines_of(chunks: Iterable[bytes]) -> Iterator[Line | DecodeFailed]:
    """Split bytes, given in pieces of any size, into lines (W1, W6), one item a line, lazily.

    Memory is bounded by the longest line and the largest piece. Ends with a failure for a torn last
    line; a byte order mark is a failure of its own, after which nothing more is read.
    """
    number, offset = 0, 0
    pieces = list[bytes]()
    for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            raw = b"".join([*pieces, chunk[start:end]]) if pieces else chunk[start:end]
            pieces.clear()
            number += 1
            line = _line(raw, number, offset)
            yield line
            if isinstance(line, DecodeFailed) and line.reason is DecodeReason.BOM:
                return
            offset += len(raw) + 1
            start = end + 1
        if start < len(chunk):
            pieces.append(chunk[start:])
    if torn := b"".join(pieces):
        yield _torn(torn, number + 1, offset)


def parse_document(raw: bytes) -> JsonValue | DecodeFailed:
    """The value of one JSON document (W6): UTF-8 without a byte order mark, strict JSON, no lines."""
    line = _line(raw, 1, 0)
    if isinstance(line, DecodeFailed):
        return attrs.evolve(line, line=None, byte_offset=None)
    value = parse(line.text)
    return _json_failure(None, value) if isinstance(value, JsonProblem) else value


def utf8(text: str, index: int | None = None) -> bytes | EncodeFailed:
    """Text as bytes; the one thing that can stop it is half a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        actual = f"U+{ord(text[error.start]):04X}"
        return EncodeFailed(reason=EncodeReason.LONE_SURROGATE, index=index, actual=actual)


# --- lines --------------------------------------------------------------------------------------

_BOM: Final = b"\xef\xbb\xbf"


def _line(raw: bytes, number: int, offset: int) -> Line | DecodeFailed:
    if offset == 0 and raw.startswith(_BOM):
        return DecodeFailed(
            reason=DecodeReason.BOM,
            line=number,
            byte_offset=offset,
            expected="UTF-8 without a byte order mark",
            actual="EF BB BF",
        )
    try:
        return Line(text=raw.decode(), number=number, byte_offset=offset)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        problem = scan(before)
        if isinstance(problem, JsonProblem) and problem.offset < len(before):
            # Something else is wrong further left, and the first failure by offset wins (W6).
            return _json_failure(Line(text=before, number=number, byte_offset=offset), problem)
        bad = raw[error.start : error.start + 4].hex(" ").upper()
        return DecodeFailed(
            reason=DecodeReason.INVALID_UTF8,
            line=number,
            byte_offset=offset,
            expected="UTF-8",
            actual=f"{bad} at byte {error.start} of the line",
        )


def _torn(raw: bytes, number: int, offset: int) -> DecodeFailed:
    if offset == 0 and raw.startswith(_BOM):
        return cast(DecodeFailed, _line(raw, number, offset))
    return DecodeFailed(
        reason=DecodeReason.TORN_LAST_LINE,
        line=number,
        byte_offset=offset,
        expected="a newline at the end of the last line",
        actual=f"{len(raw)} bytes without one",
        whole_bytes=offset,
    )


def _at(
    line: Line | None,
    reason: DecodeReason,
    *,
    path: str | None = None,
    expected: str,
    actual: str,
) -> DecodeFailed:
    return DecodeFailed(
        reason=reason,
        line=None if line is None else line.number,
        byte_offset=None if line is None else line.byte_offset,
        path=path,
        expected=expected,
        actual=actual,
    )


def _json_failure(line: Line | None, problem: JsonProblem) -> DecodeFailed:
    return _at(
        line,
        DecodeReason(problem.reason),
        path=problem.path,
        expected=problem.expected,
        actual=problem.actual,
    )


# --- reading one class --------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class _Keys:
    """Which keys an object of one class may, must and need not have."""

    allowed: frozenset[str]
    written: frozenset[str]
    omitted: tuple[str, ...]
    required: tuple[str, ...]
    strict: bool
    versioned: bool


def _exact(read: _Hook, keys: _Keys) -> _Hook:
    """From the members of an object that holds all keys that `write` always writes, and none unknown."""
    allowed, written, version = keys.allowed, keys.written, keys.versioned

    def read_exact(value: object, cls: object) -> object:
        found = cast("dict[str, object]", value)
        if not written <= found.keys() <= allowed or (version and not _is_one(found["version"])):
            raise _Refused
        return read(found, cls)

    return read_exact


def _members(value: object) -> "dict[str, object]":
    """The members of an object as `parse_pairs` gives it; equal keys are no exact object."""
    if type(value) is not tuple:
        raise _Refused
    pairs = cast("tuple[tuple[str, object], ...]", value)
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused
    return found


def _lenient(read: _Hook, keys: _Keys) -> _Hook:
    def read_lenient(value: object, cls: object) -> object:
        found = _an_object(value)
        problems = _key_problems(found, keys)
        if problems:
            raise _Refused(*problems)
        return read(_without_nulls(found, keys), cls)

    return read_lenient


def _detailed(read: _Hook, keys: _Keys) -> _Hook:
    def read_detailed(value: object, cls: object) -> object:
        found = _an_object(value)
        problems = _key_problems(found, keys)
        try:
            record = read(_without_nulls(found, keys), cls)
        except ClassValidationError as error:
            raise _Refused(*problems, *_problems_of(error)) from None
        if problems:
            raise _Refused(*problems)
        return record

    return read_detailed


def _without_nulls(found: Mapping[str, object], keys: _Keys) -> Mapping[str, object]:
    """An explicit null for a key that may be left out reads as left out (W1)."""
    nulls = [key for key in keys.omitted if found.get(key, 0) is None]
    return {key: value for key, value in found.items() if key not in nulls} if nulls else found


def _key_problems(found: Mapping[str, object], keys: _Keys) -> list[RecordProblem]:
    problems = list[RecordProblem]()
    if keys.strict and not found.keys() <= keys.allowed:
        known = ", ".join(sorted(keys.allowed))
        problems += [
            _problem(DecodeReason.UNKNOWN_KEY, f"one of: {known}", shortened(repr(key)), (key,))
            for key in found
            if key not in keys.allowed
        ]
    if keys.versioned:
        problems += _version_problems(found)
    problems += [
        _problem(DecodeReason.MISSING_KEY, f"a key {key!r}", "nothing", (key,))
        for key in keys.required
        if key not in found
    ]
    return problems


def _version_problems(found: Mapping[str, object]) -> list[RecordProblem]:
    """The version must be the number 1 (W5): `1.0`, `"1"` and `true` are other types, not versions."""
    if "version" not in found:
        return [_problem(DecodeReason.MISSING_KEY, "version 1", "nothing", ("version",))]
    version = found["version"]
    if _is_one(version):
        return []
    number = type(version) is int
    reason = DecodeReason.UNSUPPORTED_VERSION if number else DecodeReason.WRONG_TYPE
    return [_problem(reason, "the number 1", _shown(version), ("version",))]


def _problems_of(error: ClassValidationError) -> list[RecordProblem]:
    problems = list[RecordProblem]()
    for child in error.exceptions:
        note = next(n for n in child.__notes__ if isinstance(n, AttributeValidationNote))
        if isinstance(child, _Refused):
            problems += _under(note.name, child.problems)
        else:
            assert isinstance(child, KeyError), child
            problems.append(
                _problem(DecodeReason.MISSING_KEY, f"a key {note.name!r}", "nothing", (note.name,))
            )
    return problems


def _under(step: str | int, problems: Iterable[RecordProblem]) -> list[RecordProblem]:
    return [attrs.evolve(problem, steps=(step, *problem.steps)) for problem in problems]


def _first(value: JsonValue, problems: Sequence[RecordProblem]) -> RecordProblem:
    """The problem that stands first in the document; a missing key stands behind its object's last."""
    places = dict[int, dict[str, int]]()

    def position(problem: RecordProblem) -> tuple[int, ...]:
        place, at = list[int](), cast(object, value)
        for step in problem.steps:
            if isinstance(step, str):
                members = cast("dict[str, object]", at)
                if id(members) not in places:
                    places[id(members)] = {key: index for index, key in enumerate(members)}
                place.append(places[id(members)].get(step, len(members)))
                at = members.get(step)
            else:
                place.append(step)
                at = cast("list[object]", at)[step]
        return tuple(place)

    return min(problems, key=position)


# --- primitives ---------------------------------------------------------------------------------


def _problem(
    reason: DecodeReason, expected: str, actual: str, steps: tuple[str | int, ...] = ()
) -> RecordProblem:
    return RecordProblem(reason=reason, steps=steps, expected=expected, actual=actual)


def _refused(reason: DecodeReason, expected: str, actual: str, steps: tuple[str | int, ...] = ()) -> _Refused:
    return _Refused(_problem(reason, expected, actual, steps))


def _shown(value: object) -> str:
    """A value as it stands in JSON, shortened, for people."""
    return shortened(canonical(cast(JsonValue, value)))


def _an_object(value: object) -> "dict[str, object]":
    if type(value) is not dict:
        raise _refused(DecodeReason.WRONG_TYPE, "an object", _shown(value))
    return cast("dict[str, object]", value)


def _an_array(value: object) -> "list[object]":
    if type(value) is not list:
        raise _refused(DecodeReason.WRONG_TYPE, "an array", _shown(value))
    return cast("list[object]", value)


def _read_text(value: object, _: object) -> str:
    if type(value) is not str:
        raise _refused(DecodeReason.WRONG_TYPE, "a string", _shown(value))
    return value


def _read_not_blank(value: object, _: object) -> str:
    text = _read_text(value, str)
    if not text.strip():
        raise _refused(DecodeReason.OUT_OF_RANGE, "a string that is not blank", _shown(value))
    return text


def _read_flag(value: object, _: object) -> bool:
    if type(value) is not bool:
        raise _refused(DecodeReason.WRONG_TYPE, "true or false", _shown(value))
    return value


def _read_unsigned(value: object, _: object) -> int:
    if type(value) is not int:
        raise _refused(DecodeReason.WRONG_TYPE, "an integer", _shown(value))
    if not 0 <= value < TOKENS_BOUND:
        raise _refused(DecodeReason.OUT_OF_RANGE, "an integer in [0, 2^64)", _shown(value))
    return value


def _read_fraction(value: object, _: object) -> Fraction:
    """An exact number: an integer, a float for the double that it is, or the text `n/d` of a fraction."""
    if type(value) in (int, float):
        return Fraction(cast("int | float", value))
    found = _FRACTION.fullmatch(value) if type(value) is str and len(value) <= _FRACTION_LENGTH else None
    # Read as integers of JSON are: by the bound of W6, whatever the interpreter's own limit is set to.
    over, under = (0, 0) if found is None else (parse(found[1]), parse(found[2]))
    if type(over) is not int or type(under) is not int or under == 0:
        raise _refused(DecodeReason.WRONG_TYPE, 'a number, or a fraction as "n/d"', _shown(value))
    return Fraction(over, under)


def _written_fraction(value: Fraction) -> JsonValue:
    """As a whole number where it is one, else as the text `n/d`: no digit is lost on the way."""
    if value.denominator == 1:
        return value.numerator
    return f"{canonical(value.numerator)}/{canonical(value.denominator)}"


def _unsigned_hook(bound: int) -> _Hook:
    def read(value: object, _: object) -> int:
        number = _read_unsigned(value, int)
        if number >= bound:
            raise _refused(DecodeReason.OUT_OF_RANGE, f"an integer in [0, {bound})", _shown(value))
        return number

    return read


def _read_json(value: object, _: object) -> Json:
    return Json(canonical(cast(JsonValue, value)))


def _read_paired_json(value: object, _: object) -> Json:
    plain = value_of_pairs(value, FREE_JSON_LEVELS)
    if isinstance(plain, NotCanonical):
        raise _Refused
    return Json(canonical(plain))


def _read_paired_versioned_json(value: object, _: object) -> Json:
    if not _is_one(_members(value).get("version")):
        raise _Refused
    return _read_paired_json(value, Json)


def _or_null(read: _Hook | None) -> _Hook | None:
    if read is None:
        return None
    return lambda value, cls: None if value is None else read(value, cls)


def _read_versioned_json(value: object, _: object) -> Json:
    problems = _version_problems(_an_object(value))
    if problems:
        raise _Refused(*problems)
    return _read_json(value, Json)


def _enum_hook(cls: type[enum.Enum]) -> _Hook:
    members = {member.value: member for member in cls}
    known = ", ".join(str(value) for value in members)

    def read(value: object, _: object) -> enum.Enum:
        if type(value) is not str:
            raise _refused(DecodeReason.WRONG_TYPE, "a string", _shown(value))
        if value not in members:
            raise _refused(DecodeReason.UNKNOWN_ENUM, f"one of: {known}", _shown(value))
        return members[value]

    return read


def _is_one(value: object) -> bool:
    return type(value) is int and value == 1


def _is_tuple(cls: object) -> bool:
    return getattr(cls, "__origin__", None) is tuple


_NOTHING: Final = (None, (), Json("null"))
"""What an optional key is left out for; an explicit null would read as none in any case (W1)."""

_FRACTION: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))/([1-9][0-9]*)", re.ASCII)
_FRACTION_LENGTH: Final = 2 * INTEGER_DIGITS_MAX + 2
"""Characters of a fraction: two integers within the bound (W6), a sign and the stroke."""

_PRIMITIVES: Final[Mapping[type, _Hook]] = {
    str: _read_text,
    bool: _read_flag,
    int: _read_unsigned,
}
