r"""Strict JSON text: parsed without loss, written in one canonical form (rules W6, W7, W8).

The standard library's C parser is fast but forgiving: it takes `NaN`, keeps the last of two equal
keys, lets half a surrogate pair through and reads as deep as the stack allows. Four passes make it
strict without giving the speed away; each gives up on what it cannot vouch for, and the last decides:

1. `parse_pairs`, for the lines of logs: objects stay pairs, so that the reader of each object sees
   equal keys; floats, long integers and escaped surrogates are left to the others.
2. `parse_canonical`: parse and write again. A text that equals its own canonical form cannot hold a
   duplicate key (it would have vanished), an escape that hides a surrogate (it would be written
   plainly) or a non-finite number (writing refuses it).
3. parse once more with hooks that object to duplicates, long integers and overflowing floats.
   Documents of other writers (spaces, `\u` escapes) take this pass.
4. `scan`, which walks the text and says what is wrong first, and where. It is the definition; the
   others may only accept what it accepts (property `StrictJson`).
"""

import enum
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Final, TypeAlias, Union, cast, final

import attrs

from jingwei.limits import INTEGER_DIGITS_MAX, JSON_DEPTH_MAX

JsonValue: TypeAlias = Union[None, bool, int, float, str, Sequence["JsonValue"], Mapping[str, "JsonValue"]]  # noqa: UP007
"""A parsed JSON value. Objects are dicts in key order and arrays are lists: fresh, and the caller's."""


@final
@attrs.frozen
class Json:
    """Free JSON inside a record: deeply immutable, hashable, exact (rule W7).

    It is kept as its canonical text, so equality tells `1`, `1.0` and `true` apart, integers of any
    size survive, and writing it again costs nothing. Key order belongs to the value and is kept.
    Make one with `json_of` (from Python values) or `parse_json` (from text).
    """

    text: str

    def value(self) -> JsonValue:
        """The parsed value, made anew at each call."""
        parsed = parse(self.text)
        assert not isinstance(parsed, JsonProblem), "Json holds canonical text by construction"
        return parsed

    @property
    def is_object(self) -> bool:
        """True for a JSON object."""
        return self.text.startswith("{")

    @property
    def is_schema_root(self) -> bool:
        """True for what JSON Schema allows at the root: an object or a boolean."""
        return self.is_object or self.text in {"true", "false"}


@final
@attrs.frozen(kw_only=True)
class JsonProblem:
    """Why a text is not strict JSON: the first problem by position.

    Attributes:
        reason: one of `invalid_json`, `lone_surrogate`, `non_finite`, `duplicate_key`, `too_deep`,
            `integer_too_long`.
        offset: index of the character where it stands.
        path: JSON Pointer of the value that it stands in.
        expected: what would have been right there.
        actual: what was met, shortened.
    """

    reason: str
    offset: int
    path: str
    expected: str
    actual: str


@final
@attrs.frozen(kw_only=True)
class NotJson:
    """A Python value has no JSON form (`json_of`): where, and what it is."""

    path: str
    actual: str


@final
class NotCanonical(enum.Enum):
    """What a pass answers that cannot vouch for a text: ask the next one."""

    TEXT = enum.auto()


def parse(text: str) -> JsonValue | JsonProblem:
    """Parse one JSON value, or say what is wrong first. Total: never raises for any text (W6)."""
    if has_surrogate(text):
        return scan(text)  # can only come from a str made in code: bytes never decode to one
    value = parse_canonical(text)
    if not isinstance(value, NotCanonical):
        return value
    if _SURROGATE_ESCAPE.search(text) is None:
        try:
            value = cast(JsonValue, _CAREFUL.decode(text))
            if within_depth(text, value):
                return value
        except (ValueError, RecursionError):
            pass  # the scanner says why
    return scan(text)


def parse_canonical(text: str) -> JsonValue | NotCanonical:
    """The value of a text that is strict JSON in canonical form; no word about any other text.

    The text comes from bytes, so that it holds no lone surrogate; `parse` takes any text.
    """
    try:
        value = cast(JsonValue, _PLAIN.decode(text))
        if _WRITER.encode(value) == text and _integers_bounded(text) and within_depth(text, value):
            return value
    except (ValueError, RecursionError):
        pass  # no JSON, or not strict: either way not canonical
    return NotCanonical.TEXT


def parse_pairs(text: str) -> object:
    """The value of a text with objects as tuples of (key, value), or `NotCanonical.TEXT` for "ask `parse`".

    The fast door of logs: no key is lost, so that equal keys can be told where an object is read, and
    nothing is written again. It gives up on all that needs a closer look: floats, long integers, escaped
    surrogates, bytes behind the value. The text comes from bytes. Depth is the reader's to bound.
    """
    try:
        value, end = cast("tuple[object, int]", _PAIRS.raw_decode(text))
    except (ValueError, RecursionError):
        return NotCanonical.TEXT
    if end != len(text) or not _integers_bounded(text):
        return NotCanonical.TEXT
    if "\\u" in text and _SURROGATE_ESCAPE.search(text) is not None:
        return NotCanonical.TEXT
    return value


def value_of_pairs(pairs: object, levels: int = JSON_DEPTH_MAX) -> JsonValue | NotCanonical:
    """A value of `parse_pairs` with objects as dicts; `NotCanonical.TEXT` for equal keys or more levels."""
    if not levels and (type(pairs) is tuple or type(pairs) is list):
        return NotCanonical.TEXT
    if type(pairs) is tuple:
        found = dict[str, JsonValue]()
        for key, child in cast("tuple[tuple[str, object], ...]", pairs):
            value = value_of_pairs(child, levels - 1)
            if isinstance(value, NotCanonical) or key in found:
                return NotCanonical.TEXT
            found[key] = value
        return found
    if type(pairs) is list:
        items = list[JsonValue]()
        for child in cast("list[object]", pairs):
            value = value_of_pairs(child, levels - 1)
            if isinstance(value, NotCanonical):
                return NotCanonical.TEXT
            items.append(value)
        return items
    return cast(JsonValue, pairs)


def canonical(value: JsonValue) -> str:
    """The canonical text of a value (W8). Total for parsed values and for values of `json_of`."""
    try:
        return _WRITER.encode(value)
    except (ValueError, RecursionError):
        # An interpreter with a lower integer limit or a nearly full stack: same text, own loop.
        return _write_slowly(value)


def as_data(text: str) -> str:
    """Canonical JSON in which no delimiter of an envelope can stand: `<` and `>` are escaped (S9)."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def data_text(value: JsonValue) -> str:
    """A value as such a text."""
    return as_data(canonical(value))


def escaped(text: str) -> str:
    """A string literal in canonical form, with its quotes."""
    return encode_basestring(text)


def has_surrogate(text: str) -> bool:
    """Whether half a surrogate pair stands in a text, which then has no UTF-8 form (W6)."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def utf8_bytes(text: str) -> int:
    """Length in UTF-8 bytes; half a surrogate pair, which has no UTF-8 form, counts as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def parse_json(text: str) -> Json | JsonProblem:
    """Free JSON from its text, made canonical."""
    value = parse(text)
    return value if isinstance(value, JsonProblem) else Json(canonical(value))


def json_of(value: object) -> Json | NotJson:
    """Free JSON from Python values: dicts with text keys, lists, tuples, and the JSON scalars.

    Refused: other types, NaN and infinities, lone surrogates, more than 128 levels, integers of more
    than 4,300 digits, and a container that holds itself (which is too deep).
    """
    problem = _not_json(value)
    return problem if problem is not None else Json(canonical(cast(JsonValue, value)))


def pointer(steps: Sequence[str | int]) -> str:
    """A JSON Pointer (RFC 6901) from keys and indexes."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


# --- passes one and two -------------------------------------------------------------------------


class _Suspicious(ValueError):
    """Raised by the hooks of the careful pass; the scanner then finds the place."""


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Suspicious
    return found


def _finite(token: str) -> float:
    number = float(token)
    if not math.isfinite(number):
        raise _Suspicious
    return number


def _integer(token: str) -> int:
    digits = token.lstrip("-")
    if len(digits) > INTEGER_DIGITS_MAX:
        raise _Suspicious
    if len(digits) <= _CHUNK:
        return int(token)
    number = 0
    for start in range(0, len(digits), _CHUNK):
        piece = digits[start : start + _CHUNK]
        number = number * 10 ** len(piece) + int(piece)
    return -number if token.startswith("-") else number


def _no_constant(_token: str) -> float:
    raise _Suspicious


_CHUNK: Final = 600  # below 640, the least limit on integer digits that CPython can be set to
_PLAIN: Final = json.JSONDecoder()
_CAREFUL: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_int=_integer, parse_constant=_no_constant
)
_PAIRS: Final = json.JSONDecoder(
    object_pairs_hook=tuple, parse_float=_no_constant, parse_constant=_no_constant
)
_WRITER: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
)
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def _integers_bounded(text: str) -> bool:
    """No integer of the text can be too long: either there is no room, or the interpreter has refused."""
    return len(text) <= INTEGER_DIGITS_MAX or sys.get_int_max_str_digits() == INTEGER_DIGITS_MAX


def within_depth(text: str, value: JsonValue, levels: int = JSON_DEPTH_MAX) -> bool:
    """No container of a value, whose canonical text is given, is more than so many levels down (W6)."""
    if text.count("{") + text.count("[") <= levels:
        return True
    level: list[JsonValue] = [value]
    for _ in range(levels):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return True
    return not any(isinstance(child, dict | list | tuple) for child in level)


def _children(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list | tuple) else ()


# --- pass three: the definition -----------------------------------------------------------------

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CONSTANT: Final = re.compile(r"NaN|-?Infinity")
_GOOD_STRING: Final = (
    r'"(?:[^"\\\x00-\x1f\ud800-\udfff]++|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+"
)
_STRING_START: Final = re.compile(_GOOD_STRING)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|[\ud800-\udfff]")
_STRICT: Final[Mapping[str, str]] = {
    "lone_surrogate": "whole Unicode characters",
    "non_finite": "a finite number",
    "duplicate_key": "each key once",
    "too_deep": f"at most {JSON_DEPTH_MAX} levels",
    "integer_too_long": f"at most {INTEGER_DIGITS_MAX} digits",
}
_LITERALS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_LITERAL: Final = re.compile("|".join(_LITERALS))


class _Found(Exception):
    """Carries a problem out of the scanner's helpers."""

    def __init__(self, problem: JsonProblem) -> None:
        super().__init__(problem.reason)
        self.problem = problem


def scan(text: str) -> JsonValue | JsonProblem:
    """Parse by the definition of W6 and W7, character by character; slow, iterative, exact."""
    try:
        return _Scanner(text).document()
    except _Found as found:
        return found.problem


class _Scanner:
    """One pass over one text. Containers are kept on a list, so depth never touches the stack."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[dict[str, JsonValue] | list[JsonValue]] = []
        self.keys: list[str] = []  # the pending key of each open object, "" for arrays

    def document(self) -> JsonValue:
        value = self.value()
        while self.open:
            value = self.member(value)
        self.space()
        if self.at != len(self.text):
            raise self.problem("invalid_json", "end of the text", path="")
        return value

    def member(self, value: JsonValue) -> JsonValue:
        """Put a finished value into the innermost container, then read on."""
        holder = self.open[-1]
        if isinstance(holder, dict):
            holder[self.keys[-1]] = value
        else:
            holder.append(value)
        self.space()
        closing = "}" if isinstance(holder, dict) else "]"
        mark = self.text[self.at : self.at + 1]
        if mark == ",":
            self.at += 1
            if isinstance(holder, dict):
                self.key(holder)
            return self.value()
        if mark != closing:
            raise self.problem("invalid_json", f"',' or '{closing}'", steps=self.steps()[:-1])
        self.at += 1
        self.open.pop()
        self.keys.pop()
        return holder

    def value(self) -> JsonValue:
        """Read one value; opening a container goes on until its first scalar or its end."""
        while True:
            self.space()
            mark = self.text[self.at : self.at + 1]
            if mark not in {"{", "["}:
                return self.scalar(mark)
            if len(self.open) == JSON_DEPTH_MAX:
                raise self.problem("too_deep", "")
            self.at += 1
            self.space()
            holder: dict[str, JsonValue] | list[JsonValue] = {} if mark == "{" else []
            if self.text[self.at : self.at + 1] == ("}" if mark == "{" else "]"):
                self.at += 1
                return holder
            self.open.append(holder)
            self.keys.append("")
            if isinstance(holder, dict):
                self.key(holder)

    def key(self, holder: dict[str, JsonValue]) -> None:
        self.space()
        start = self.at
        if self.text[start : start + 1] != '"':
            raise self.problem("invalid_json", "a key in quotes", steps=self.steps()[:-1])
        self.keys[-1] = self.string(self.steps()[:-1])
        if self.keys[-1] in holder:
            self.at = start
            raise self.problem("duplicate_key", f"{self.keys[-1]!r} again")
        self.space()
        if self.text[self.at : self.at + 1] != ":":
            raise self.problem("invalid_json", "':'")
        self.at += 1

    def scalar(self, mark: str) -> JsonValue:
        if mark == '"':
            return self.string(self.steps())
        if (constant := _CONSTANT.match(self.text, self.at)) is not None:
            raise self.problem("non_finite", constant.group())
        if (number := _NUMBER.match(self.text, self.at)) is not None:
            value = self.number(number)
            self.at = number.end()
            return value
        if (literal := _LITERAL.match(self.text, self.at)) is not None:
            self.at = literal.end()
            return _LITERALS[literal.group()]
        raise self.problem("invalid_json", "a JSON value")

    def number(self, token: re.Match[str]) -> int | float:
        written = token.group()
        try:
            return _integer(written) if token.group(1) is token.group(2) is None else _finite(written)
        except _Suspicious:
            whole = token.group(1) is token.group(2) is None
            raise self.problem("integer_too_long" if whole else "non_finite", written) from None

    def string(self, steps: list[str | int]) -> str:
        good = _STRING_START.match(self.text, self.at)
        assert good is not None, "only called at an opening quote"
        if self.text[good.end() : good.end() + 1] == '"':
            written = self.text[self.at : good.end() + 1]
            self.at = good.end() + 1
            return written[1:-1] if "\\" not in written else cast(str, _PLAIN.decode(written))
        self.at = good.end()
        lone = _SURROGATE.match(self.text, self.at)
        if lone is not None:
            raise self.problem("lone_surrogate", f"U+{_code_point(lone.group()):04X}", steps=steps)
        raise self.problem("invalid_json", "a closed string without bare control characters", steps=steps)

    def space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None, "the pattern matches the empty text"
        self.at = found.end()

    def steps(self) -> list[str | int]:
        return [
            key if isinstance(holder, dict) else len(holder)
            for holder, key in zip(self.open, self.keys, strict=True)
        ]

    def problem(
        self, reason: str, detail: str, *, path: str | None = None, steps: list[str | int] | None = None
    ) -> _Found:
        where = pointer(self.steps() if steps is None else steps) if path is None else path
        met = repr(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
        return _Found(
            JsonProblem(
                reason=reason,
                offset=self.at,
                path=where,
                expected=_STRICT.get(reason, detail),
                actual=met if reason in {"invalid_json", "too_deep"} else shortened(detail),
            )
        )


def shortened(text: str, room: int = 80) -> str:
    """A text for a message to people: at most `room` characters."""
    return text if len(text) <= room else text[: room - 1] + "…"


def _code_point(token: str) -> int:
    return int(token[2:], 16) if token.startswith("\\") else ord(token)


# --- writing and checking without the C encoder --------------------------------------------------


def _write_slowly(value: JsonValue) -> str:
    out: list[str] = []
    todo: list[JsonValue | _Raw] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, _Raw):
            out.append(item.text)
        elif isinstance(item, Mapping):
            todo.append(_Raw("}"))
            members = list(item.items())
            for index in range(len(members) - 1, -1, -1):
                todo.append(members[index][1])
                todo.append(_Raw(("," if index else "") + escaped(members[index][0]) + ":"))
            out.append("{")
        elif isinstance(item, Sequence) and not isinstance(item, str):
            todo.append(_Raw("]"))
            for index in range(len(item) - 1, -1, -1):
                todo.append(item[index])
                if index:
                    todo.append(_Raw(","))
            out.append("[")
        else:
            out.append(_written_scalar(item))
    return "".join(out)


@final
@attrs.frozen
class _Raw:
    """Punctuation on the work list of `_write_slowly`."""

    text: str


def _written_scalar(value: None | bool | int | float | str) -> str:
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, float):
        return float.__repr__(value)
    return _digits(value)


def _digits(number: int) -> str:
    """Decimal digits of an integer of any size, whatever limit the interpreter is set to."""
    rest, base, pieces = abs(number), 10**_CHUNK, list[str]()
    while rest >= base:
        rest, piece = divmod(rest, base)
        pieces.append(int.__repr__(piece).rjust(_CHUNK, "0"))
    return ("-" if number < 0 else "") + int.__repr__(rest) + "".join(reversed(pieces))


def _not_json(value: object) -> NotJson | None:
    todo: list[tuple[object, tuple[str | int, ...]]] = [(value, ())]
    while todo:
        item, steps = todo.pop()
        if isinstance(item, dict | list | tuple) and len(steps) == JSON_DEPTH_MAX:
            return NotJson(path=pointer(steps), actual="more than 128 levels")
        if isinstance(item, dict):
            for key, child in cast(Mapping[object, object], item).items():
                if not isinstance(key, str) or has_surrogate(key):
                    return NotJson(path=pointer(steps), actual=_key_named(key))
                todo.append((child, (*steps, key)))
        elif isinstance(item, list | tuple):
            todo += [(child, (*steps, i)) for i, child in enumerate(cast(Sequence[object], item))]
        elif not _is_json_scalar(item):
            return NotJson(path=pointer(steps), actual=_named(item))
    return None


def _named(item: object) -> str:
    """A value for people. Only texts and floats are shown: the repr of anything else may raise."""
    if isinstance(item, int):
        return f"int of more than {INTEGER_DIGITS_MAX} digits"
    return (
        shortened(f"{type(item).__name__} {item!r}") if isinstance(item, str | float) else type(item).__name__
    )


def _key_named(key: object) -> str:
    return f"key {key!r}" if isinstance(key, str) else f"key of type {type(key).__name__}"


def _is_json_scalar(item: object) -> bool:
    if isinstance(item, str):
        return not has_surrogate(item)
    if isinstance(item, float):
        return math.isfinite(item)
    if isinstance(item, int):
        return abs(item) < _TOO_LONG
    return item is None


_TOO_LONG: Final[int] = 10**INTEGER_DIGITS_MAX
