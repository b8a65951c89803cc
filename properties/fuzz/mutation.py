"""Changes along the structure of an input: JSON Lines, one JSON document, or what is left of either.

A tree is changed where a reader must look (keys, tags, numbers, strings, nesting) and written in one of
several spellings; now and then lines or bytes are changed instead. Every choice comes from the generator
that is handed in, so that the same choices give the same bytes, whoever makes them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final, final

import attrs

CORPUS: Final = Path(__file__).parent / "corpus"


def seeds(target: str) -> list[bytes]:
    """The first inputs of a target, in the order of their names."""
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


def mutated(data: bytes, rng: Random) -> bytes:
    """The input after one to five changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        data = rng.choice(MOVES)(data, rng)
    return data


# --- trees ----------------------------------------------------------------------------------------


@final
@attrs.frozen
class Raw:
    """A piece of text that stands in the tree as it is: numbers, and what is no JSON."""

    text: str


@final
class Members(list[list[Any]]):
    """An object as pairs [key, value], so that keys may be equal."""


READER: Final = json.JSONDecoder(
    object_pairs_hook=lambda pairs: Members([list(pair) for pair in pairs]),
    parse_float=Raw,
    parse_int=Raw,
    parse_constant=Raw,
)

NUMBERS: Final = tuple(
    Raw(text)
    for text in (
        *(
            "0",
            "1",
            "2",
            "-1",
            "-0",
            "1.0",
            "-0.0",
            "1e0",
            "1E+2",
            "0.1",
            "1e16",
            "1e400",
            "-1e400",
            "5e-324",
        ),
        *("255", "65535", "65536", "4294967295", "4294967296", "999999999", "1000000000"),
        *("9007199254740993", "18446744073709551615", "18446744073709551616", "340282366920938463463"),
        *(
            "7" * 4300,
            "7" * 4301,
            "-" + "7" * 4301,
            "01",
            "+1",
            "1.",
            ".5",
            "1e",
            "NaN",
            "Infinity",
            "-Infinity",
        ),
    )
)
DEEP: Final = tuple(
    Raw(opening * depth + middle + closing * depth)
    for depth in (16, 110, 112, 113, 124, 125, 126, 127, 128, 129)
    for opening, middle, closing in (("[", "", "]"), ('{"a":', "0", "}"))
)
WORDS: Final = (
    *("", " ", "\t", "\u3000", "\x85", "\x00", "\x1f", "\x7f", "\u2028", "~", "/", "~1", '"', "\\", "a\nb"),
    *("é", "e\u0301", "\ufeff", "\uffff", "\U0001f600", "\ud800", "\udfff", "\ud83d\ude00", "x" * 300),
    *(
        "user",
        "assistant",
        "tool",
        "system",
        "text",
        "native_tools",
        "json_schema",
        "auto",
        "required",
        "named",
    ),
    *(
        "succeeded",
        "failed",
        "completed",
        "waiting_for_input",
        "checkpointed",
        "cancelled",
        "timeout",
        "budget",
    ),
    *(
        "decode",
        "project",
        "diagnose",
        "shape",
        "build",
        "linear",
        "bisect",
        "hard",
        "soft",
        "omit",
        "reject",
    ),
    *("byte_heuristic", "byte_bound", "estimate", "verified_upper_bound", "nfc", "none", "stop", "other"),
)
KEYS: Final = (
    *("id", "op", "text", "bytes_base64", "session_id", "events", "config", "messages", "constraint"),
    *("projection", "system", "current", "pinned_turns", "state_version", "target", "budget", "limits"),
    *("strategy", "search", "counter", "event_id", "turn_id", "generation_id", "message_id", "seq", "kind"),
    *(
        "type",
        "version",
        "call",
        "result",
        "report",
        "stage",
        "status",
        "message",
        "plan",
        "artifact",
        "payload",
    ),
    *("payload", "role", "content", "tool_calls", "call_id", "name", "arguments", "mode", "tools", "choice"),
    *(
        "schema",
        "parameters",
        "outcome",
        "output",
        "category",
        "code",
        "retryable",
        "upstream_status",
        "partial",
    ),
    *(
        "index",
        "operation",
        "action",
        "retry",
        "review",
        "template_tokens",
        "json_factor",
        "max_tokens",
        "",
        "~/",
    ),
)


def in_tree(data: bytes, rng: Random) -> bytes:
    """Change one line as a tree; a line that is none, or too deep a one, is changed byte by byte."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    try:
        holder = [READER.decode(lines[at].decode())]
        rng.choice(TREE_MOVES)(holder, rng)
        lines[at] = spelled(holder[0], rng.choice(SPELLINGS)).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return in_bytes(data, rng)
    return b"\n".join(lines)


def places(holder: list[Any]) -> list[tuple[list[Any], int]]:
    """Every place of a value, as the list that holds it and the index there."""
    found, todo = list[tuple[list[Any], int]](), [(holder, 0)]
    while todo:
        where, at = todo.pop()
        found.append((where, at))
        value = where[at]
        if isinstance(value, Members):
            todo += [(pair, 1) for pair in value]
        elif isinstance(value, list):
            todo += [(value, index) for index in range(len(value))]
    return found


def replace_value(holder: list[Any], rng: Random) -> None:
    """Another scalar, an empty container, or something deep."""
    where, at = rng.choice(places(holder))
    kinds: tuple[tuple[Any, ...], ...] = (
        (None, True, False, Members(), [], [None]),
        NUMBERS,
        WORDS,
        DEEP,
    )
    where[at] = rng.choice(rng.choice(kinds))


def replace_like(holder: list[Any], rng: Random) -> None:
    """Another value of the same type: what most often stays readable."""
    where, at = rng.choice(places(holder))
    value = where[at]
    if isinstance(value, str):
        where[at] = change_text(value, rng)
    elif isinstance(value, Raw):
        where[at] = rng.choice(NUMBERS[:24])
    elif isinstance(value, bool):
        where[at] = not value
    elif isinstance(value, list):
        rng.shuffle(value)


def change_text(text: str, rng: Random) -> str:
    """A word, the text with a word in it, or the log in the text changed as a log."""
    if text.startswith("{"):
        return mutated(text.encode("utf-8", "replace"), rng).decode("utf-8", "replace")
    at = rng.randrange(len(text) + 1)
    word = rng.choice(WORDS)
    return rng.choice((word, text[:at] + word + text[at:], text[:at], text + word))


def copy_value(holder: list[Any], rng: Random) -> None:
    """A value of the tree at another place too: ids recur, records stand where others should."""
    found = places(holder)
    (where, at), (from_where, from_at) = rng.choice(found), rng.choice(found)
    where[at] = READER.decode(spelled(from_where[from_at], SPELLINGS[0])) if loose(from_where[from_at]) else 0


def loose(value: object) -> bool:
    """True where the spelling reads back, so that a copy shares nothing with what it copies."""
    try:
        READER.decode(spelled(value, SPELLINGS[0]))
    except (ValueError, RecursionError):
        return False
    return True


def change_member(holder: list[Any], rng: Random) -> None:
    """One member of an object dropped, doubled, renamed, moved or added."""
    objects = [where[at] for where, at in places(holder) if isinstance(where[at], Members)]
    if not objects:
        return replace_value(holder, rng)
    members = rng.choice(objects)
    at = rng.randrange(len(members) + 1)
    match rng.randrange(6):
        case 0:
            del members[at : at + 1]
        case 1:
            members[at:at] = [list(pair) for pair in members[at - 1 : at]]
        case 2 if at < len(members):
            members[at][0] = rng.choice(KEYS)
        case 3:
            rng.shuffle(members)
        case 4 if at < len(members):
            members[at][1] = None
        case _:
            members.insert(at, [rng.choice(KEYS), rng.choice((None, "x", Raw("1"), [], Members()))])
    return None


def change_items(holder: list[Any], rng: Random) -> None:
    """One item of an array dropped, doubled or moved."""
    arrays = [v for where, at in places(holder) if isinstance(v := where[at], list) and v]
    arrays = [array for array in arrays if not isinstance(array, Members)]
    if not arrays:
        return change_member(holder, rng)
    items = rng.choice(arrays)
    at = rng.randrange(len(items))
    match rng.randrange(3):
        case 0:
            del items[at]
        case 1 if loose(items[at]):
            items.insert(rng.randrange(len(items) + 1), READER.decode(spelled(items[at], SPELLINGS[0])))
        case _:
            items.insert(rng.randrange(len(items)), items.pop(at))
    return None


def respell(holder: list[Any], rng: Random) -> None:
    """Nothing changes but the spelling."""


TREE_MOVES: Final[tuple[Callable[[list[Any], Random], None], ...]] = (
    *(replace_value, replace_like, replace_like, copy_value, copy_value),
    *(change_member, change_member, change_items, respell),
)

# --- spelling -------------------------------------------------------------------------------------


@final
@attrs.frozen
class Spelling:
    """How a tree is written."""

    comma: str
    colon: str
    text: Callable[[str], str]


def plainly(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def escaped_whole(text: str) -> str:
    return '"' + "".join(f"\\u{unit:04X}" for unit in utf16(text)) + '"'


def utf16(text: str) -> list[int]:
    units = text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]


SPELLINGS: Final = (
    Spelling(",", ":", plainly),
    Spelling(",", ":", plainly),
    Spelling(",", ":", json.dumps),
    Spelling(" ,\t", " : ", plainly),
    Spelling(", ", ": ", json.dumps),
    Spelling(",", ":", escaped_whole),
)


def spelled(value: object, how: Spelling) -> str:
    """A tree as text."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, str):
        return how.text(value)
    if isinstance(value, Members):
        return "{" + how.comma.join(how.text(k) + how.colon + spelled(v, how) for k, v in value) + "}"
    if isinstance(value, list):
        return "[" + how.comma.join(spelled(item, how) for item in value) + "]"
    return json.dumps(value)


# --- lines and bytes ------------------------------------------------------------------------------

PIECES: Final = (
    *(b"\n", b"\r\n", b"\r", b" ", b"\t", b"\x00", b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80"),
    *(b"\xf0\x9f\x98", b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\\u0061", b"\\ud83d\\ude00"),
    *(
        b"\\ud800",
        b"\\uDFFF",
        b"\\u",
        b"\\/",
        b"null",
        b"true",
        b"1e400",
        b"-",
        b"0",
        b".",
        b"{}",
        b'{"a":1,"a":1}',
    ),
)


def in_lines(data: bytes, rng: Random) -> bytes:
    """A line dropped, doubled, moved, cut, or blank."""
    lines = data.split(b"\n")
    at, there = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(there, lines[at])
        case 2:
            lines[at], lines[there] = lines[there], lines[at]
        case 3:
            lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
        case _:
            lines.insert(at, rng.choice((b"", b" ", b"\r", b"[]", b"null", b"\xef\xbb\xbf")))
    return b"\n".join(lines)


def in_bytes(data: bytes, rng: Random) -> bytes:
    """Some bytes cut out, another piece put in, or one bit turned."""
    at = rng.randrange(len(data) + 1)
    match rng.randrange(4):
        case 0:
            return data[:at] + data[at + rng.choice((1, 2, 8, 64)) :]
        case 1 if at < len(data):
            return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        case 2:
            return data[:at]
        case _:
            return data[:at] + rng.choice(PIECES) + data[at:]


MOVES: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    *(in_tree,) * 7,
    *(in_lines, in_bytes, in_bytes),
)
