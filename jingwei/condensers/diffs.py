"""Unified diffs, as unidiff reads them (rule T2): files, what was added and removed, first hunks."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchedFile, PatchSet

from jingwei.condensers.failures import NotThisKind
from jingwei.condensers.findings import (
    FindingCondenser,
    Findings,
    Quote,
    clipped,
    counted,
    line_quote,
    line_starts,
    listed,
)

KIND: Final = "diff"

_START: Final = re.compile(r"^(?:diff --git |--- .*\n\+\+\+ |Index: )", re.MULTILINE)


def find_diff(text: str) -> Findings | NotThisKind:
    """A text whose greater part are files and hunks of a unified diff, all of them whole."""
    start = _START.search(text)
    if start is None or "\n@@ -" not in text:
        return NotThisKind(kind=KIND, line=1)
    first = text.count("\n", 0, start.start()) + 1
    starts = [*line_starts(text), len(text) + 1]
    # Lines as this room has them: only `\n` ends one.
    lines = [text[at:after] for at, after in pairwise(starts) if text[at:after]]
    try:
        patch = PatchSet(lines)
    except (UnidiffParseError, ValueError, IndexError):
        return NotThisKind(kind=KIND, line=first)
    inside = sum(len(hunk) + 1 for file in patch for hunk in file)
    if inside * 2 < sum(1 for line in lines if line.strip()):
        return NotThisKind(kind=KIND, line=first)
    files = sorted(patch, key=lambda file: -(file.added + file.removed))
    quotes = [quote for file in files for quote in _file_quotes(text, file, starts)]
    quotes.sort(key=lambda quote: _ORDER[quote.name.partition(":")[0]])
    return Findings(kind=KIND, notes=tuple(_notes(patch)), quotes=tuple(quotes))


_ORDER: Final = {"first hunk": 0, "first removed": 1, "first added": 1, "hunk": 2}


def _file_quotes(text: str, file: PatchedFile, starts: list[int]) -> Iterator[Quote]:
    name = clipped(file.path, 60)
    for index, hunk in enumerate(file):
        # A hunk of no line says nothing.
        top = (hunk[0].diff_line_no or 1) - 1 if hunk else 0
        if not top:
            continue
        quote = line_quote(
            f"{'first hunk' if not index else 'hunk'}: {name}", text, starts[top - 1], starts[top] - 1
        )
        yield quote
        if index:
            continue
        for what, mark in (("first removed", "-"), ("first added", "+")):
            found = (line.diff_line_no for line in hunk if line.line_type == mark and line.value.strip())
            number = next(found, None)
            if number is not None:
                yield line_quote(f"{what}: {name}", text, starts[number - 1], starts[number] - 1)


def _notes(patch: PatchSet) -> Iterator[str]:
    yield (
        f"diff of {counted(len(patch), 'file')}, +{patch.added} -{patch.removed} "
        f"in {counted(sum(len(file) for file in patch), 'hunk')}"
    )
    for what, files in (
        ("new", [file for file in patch if file.is_added_file]),
        ("removed", [file for file in patch if file.is_removed_file]),
        ("renamed", [file for file in patch if file.is_rename]),
    ):
        if files:
            yield f"{what}: " + listed((clipped(file.path, 80) for file in files), 8)
    files = sorted(patch, key=lambda file: -(file.added + file.removed))
    for file in files[:20]:
        yield f"{clipped(file.path, 100)} +{file.added} -{file.removed}"


DIFF: Final = FindingCondenser(kind=KIND, version=1, find=find_diff)
"""Condenses unified diffs."""
