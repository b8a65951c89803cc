"""JSON with the place of every value (rule T2): read leniently, without recursion, in one pass."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, final

_TOKEN: Final = re.compile(
    r"[ \t\r\n]*+(?:(?P<mark>[\[\]{},:])"
    r'|(?P<string>"(?:[^"\\]++|\\.)*+")'
    r"|(?P<number>-?\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+)"
    r"|(?P<word>true|false|null|NaN|-?Infinity))",
    re.DOTALL,
)
_REST: Final = re.compile(r"[ \t\r\n]*+")


LEVELS_MAX: Final = 1000
"""Containers inside each other: more than any program writes, and less than makes freeing them slow."""


@final
class Node:
    """One value: kind (`object`, `array`, `string`, `number`, `word`), range, and what is in it.

    `keys` are the raw texts between the quotes, one for each child of an object; equal keys stay.
    """

    __slots__ = ("children", "end", "keys", "kind", "start")

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        # Most values are scalars, and share what is never written to.
        holds = kind in {"object", "array"}
        self.children = list[Node]() if holds else _NO_CHILDREN
        self.keys = list[str]() if holds else _NO_KEYS

    def members(self) -> Iterator[tuple[str, "Node"]]:
        """Keys and values of an object, in order."""
        return zip(self.keys, self.children, strict=True)


_NO_CHILDREN: Final = list[Node]()
_NO_KEYS: Final = list[str]()


def read_nodes(text: str, start: int, end: int) -> Node | int:
    """The one value that a range of a text is, white space apart; or the place where it is none.

    Lenient where the meaning is plain: equal keys, `NaN`, control characters in strings, any number of
    digits, up to `LEVELS_MAX` containers inside each other. Linear.
    """
    open_nodes, root = list[Node](), None
    key: str | None = None
    wants_value, place = True, start
    while root is None or open_nodes:
        token = _TOKEN.match(text, place, end)
        if token is None:
            return place
        kind, first, place = str(token.lastgroup), token.start(str(token.lastgroup)), token.end()
        holder = open_nodes[-1] if open_nodes else None
        mark = text[first] if kind == "mark" else ""
        if mark in {"]", "}"}:
            if not _closes(holder, mark, text, wants_value, key):
                return first
            assert holder is not None
            holder.end = place
            open_nodes.pop()
            wants_value, key = False, None
            continue
        if mark == ",":
            if holder is None or wants_value:
                return first
            wants_value = True
            continue
        if mark == ":" or not wants_value:
            return first
        if holder is not None and holder.kind == "object" and key is None:
            colon = _TOKEN.match(text, place, end)
            if kind != "string" or colon is None or colon["mark"] != ":":
                return first
            key, place = text[first + 1 : place - 1], colon.end()
            continue
        node = Node(_KINDS.get(mark, kind), first, place)
        if holder is None:
            root = node
        else:
            holder.children.append(node)
            if holder.kind == "object":
                holder.keys.append(key or "")
        wants_value, key = bool(mark), None
        if mark:
            open_nodes.append(node)
            if len(open_nodes) > LEVELS_MAX:
                return first
    rest = _REST.match(text, place, end)
    behind = place if rest is None else rest.end()
    return root if behind == end else behind


_KINDS: Final = {"{": "object", "[": "array"}


def _closes(holder: Node | None, mark: str, text: str, wants_value: bool, key: str | None) -> bool:
    """Whether a closing mark may stand here: behind a value, or right behind the opening mark."""
    if holder is None or key is not None or text[holder.start] != ("[" if mark == "]" else "{"):
        return False
    return not wants_value or not holder.children


@final
class Unescaped:
    """What a string literal says, and where each character of it stands in the literal's text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        """The literal is `text[start:end]`, without its quotes."""
        pieces, self._inner, self._raw = list[str](), [0], [start]
        place, length = start, 0
        for escape in _ESCAPE.finditer(text, start, end):
            said = _said(escape)
            if said is None:
                continue
            pieces.append(text[place : escape.start()])
            length += escape.start() - place
            pieces.append(said)
            self._mark(length, escape.start())
            length, place = length + 1, escape.end()
            self._mark(length, place)
        pieces.append(text[place:end])
        self.text = "".join(pieces)

    def _mark(self, inner: int, raw: int) -> None:
        if self._inner[-1] == inner:
            self._inner.pop()
            self._raw.pop()
        self._inner.append(inner)
        self._raw.append(raw)

    def place(self, inner: int) -> int:
        """Where a character of the string, or its end, stands in the text that holds the literal."""
        index = bisect_right(self._inner, inner) - 1
        return self._raw[index] + inner - self._inner[index]


_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL
)
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}


def _said(escape: re.Match[str]) -> str | None:
    """The one character that an escape stands for; None where it stands for none."""
    body = escape.group()[1:]
    if len(body) == 1:
        return _PLAIN.get(body)
    first = int(body[1:5], 16)
    if len(body) == 5:
        return chr(first)
    return chr(0x10000 + ((first - 0xD800) << 10) + int(body[7:11], 16) - 0xDC00)
