"""Source code, also with line numbers in front (rule T2): what it defines, and what it imports."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from jingwei.condensers.failures import NotThisKind
from jingwei.condensers.findings import (
    FindingCondenser,
    Findings,
    Quote,
    clipped,
    counted,
    line_quote,
    listed,
    spread,
)
from jingwei.condensers.lines import line_ranges
from jingwei.condensers.signals import told_quotes

KIND: Final = "code"

_NUMBER: Final = r"[ \t]*+(?:\d++(?:[ \t]*+[→|:]|[ \t]))?+"
_DEFINES: Final = re.compile(
    _NUMBER
    + r"[ \t]*+(?:(?:export|default|public|private|protected|static|async|abstract|final|pub(?:\([a-z]+\))?"
    r"|unsafe|extern|inline|virtual|override|const) ++)*+"
    r"(?P<kind>def|class|function|interface|enum|struct|trait|impl|fn|func|type|module|namespace|record|object"
    r"|create table|CREATE TABLE)\*? +(?:\([^()\n]{0,80}\) *)?[\"`]?(?P<name>[\w$.]+)"
)
_IMPORTS: Final = re.compile(
    _NUMBER
    + r"(?:import\b|from +[\w.]+ +import\b|#include\b|using +[\w.:]+;|use +[\w:{]+|require\b|package +[\w.]+"
    r"|(?:const|let|var) .{0,200}\brequire\()"
)
_CODE: Final = re.compile(
    r".*(?:[;{}\[(,>]|\):|\)|=>|\\|->|\*/|\"\"\"|else:|try:)[ \t\r]*$|"
    + _NUMBER
    + r"[ \t]*+(?:#|//|/\*|\*|@|return\b|if\b|for\b|\w+ = )"
)
_TODO: Final = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")


def find_code(text: str) -> Findings | NotThisKind:
    """A text with two definitions or imports, of which a third of the lines look like code.

    Where there are five definitions or imports, a sixth is enough.
    """
    ranges = [(start, end) for start, end in line_ranges(text) if text[start:end].strip()]
    if len(ranges) < 5:
        return NotThisKind(kind=KIND, line=1)
    seen = [(start, min(end, start + _LINE_MAX)) for start, end in ranges]
    matched = [found for one in seen if (found := _DEFINES.match(text, *one)) is not None]
    defined = [(found.start(), found.endpos) for found in matched]
    imports = [one for one in seen if _IMPORTS.match(text, *one) is not None]
    like = sum(1 for one in seen if _CODE.match(text, *one) is not None)
    if len(defined) + len(imports) < 2 or like * (6 if len(defined) + len(imports) >= 5 else 3) < len(ranges):
        return NotThisKind(kind=KIND, line=1)
    todo = [one for one in seen if _TODO.search(text, *one) is not None]
    notes = [
        f"code of {counted(len(ranges), 'line')}: {counted(len(defined), 'definition')}, "
        f"{counted(len(imports), 'import')}",
        "defines: " + listed((clipped(f"{one['kind']} {one['name']}", 50) for one in matched), 30),
    ]
    if not defined:
        notes[1:] = [
            "imports: " + listed((clipped(text[start:end].strip(), 60) for start, end in imports), 8)
        ]
    around = [one for one in ranges[:2] + ranges[-2:] if one not in set(defined)]
    quotes = [
        line_quote("first line", text, *ranges[0]),
        *_definitions(text, defined, 12),
        *(line_quote("to do", text, *one) for one in todo[:4]),
        *(quote for quote in told_quotes(text, around, least=2)),
        line_quote("last line", text, *ranges[-1]),
        *_definitions(text, defined, 32),
        *(line_quote("import", text, *imports[index]) for index in spread(range(len(imports)), 6)),
        *(line_quote("line", text, *ranges[index]) for index in spread(range(len(ranges)), 12)),
    ]
    return Findings(kind=KIND, notes=tuple(notes), quotes=tuple(quotes))


_LINE_MAX: Final = 400


def _definitions(text: str, defined: Sequence[tuple[int, int]], most: int) -> Iterator[Quote]:
    for index in spread(range(len(defined)), most):
        yield line_quote("defines", text, *defined[index])


CODE: Final = FindingCondenser(kind=KIND, version=1, find=find_code)
"""Condenses source code."""
