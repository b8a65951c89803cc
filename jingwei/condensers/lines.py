"""Text of no known kind, by its lines (rule T2): listings of paths, outputs of commands, anything."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

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
    spread,
)
from jingwei.condensers.signals import masked, told_quotes
from jingwei.condensers.traces import trace_quotes

KIND: Final = "lines"

SHAPES: Final = 20_000
"""Different lines, numbers apart, that are counted; what comes later is counted as other."""


def find_lines(text: str) -> Findings | NotThisKind:
    """What any text says line by line; only the empty text says nothing."""
    ranges = [(start, end) for start, end in line_ranges(text) if text[start:end].strip()]
    if not ranges:
        return Findings(kind=KIND, notes=(f"white space only, {counted(len(text), 'character')}",), quotes=())
    notes = [f"{counted(len(ranges), 'line')} of text"]
    paths, names, folders = _path_lines(text, ranges)
    if (len(paths) + folders) * 10 >= len(ranges) * 6 and len(paths) >= 4:
        return _paths(text, ranges, paths, names)
    shapes, first = _shapes(text, ranges)
    repeated = [(shape, count) for shape, count in shapes.most_common(8) if count > 2]
    notes += [f"{count} lines like: {clipped(shape, 100)}" for shape, count in repeated[:3]]
    begun = Counter(" ".join(text[start : min(end, start + 200)].split()[:2]) for start, end in ranges)
    notes += [
        f"{count} lines begin: {clipped(words, 60)}"
        for words, count in begun.most_common(5)
        if count > 3 and not any(shape.startswith(masked(words)) for shape, _ in repeated[:3])
    ]
    notes += [f"{count} lines like: {clipped(shape, 100)}" for shape, count in repeated[3:5]]
    quotes = [
        *trace_quotes(text),
        *told_quotes(text, ranges, least=2),
        line_quote("first line", text, *ranges[0]),
        *(line_quote("last lines", text, *one) for one in reversed(ranges[-2:])),
        *told_quotes(text, ranges),
        *_sections(text, ranges),
        *(
            line_quote("line", text, *first[shape], count)
            for shape, count in repeated
            if any(map(str.isalpha, shape))
        ),
    ]
    quotes += [line_quote("line", text, *ranges[index]) for index in spread(range(len(ranges)), 16)]
    return Findings(kind=KIND, notes=tuple(notes), quotes=tuple(quotes))


def line_ranges(text: str) -> Iterator[tuple[int, int]]:
    r"""Every line as a range of characters, without its `\n`."""
    for start, after in pairwise([*line_starts(text), len(text) + 1]):
        yield start, after - 1


def _shapes(text: str, ranges: Sequence[tuple[int, int]]) -> tuple[Counter[str], dict[str, tuple[int, int]]]:
    """How often each line stands there, numbers apart, and where it stands first."""
    counts, first = Counter[str](), dict[str, tuple[int, int]]()
    for start, end in ranges:
        shape = masked(text[start:end])
        if shape in counts or len(counts) < SHAPES:
            counts[shape] += 1
            first.setdefault(shape, (start, end))
    return counts, first


_SECTION: Final = re.compile(r"[ \t]*(?:[-=*#_]{3,}|[A-Z][\w ,'()/-]{2,60}:|<[\w-]+>)[ \t\r]*$")


def _sections(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[Quote]:
    """Lines that begin something: behind a rule, or with a colon at the end."""
    found = [index for index, (start, end) in enumerate(ranges) if _SECTION.match(text, start, end)]
    for index in spread(found, 24):
        start, end = ranges[index]
        rule = not any(char.isalnum() for char in text[start:end])
        if rule and index + 1 < len(ranges):
            start, end = ranges[index + 1]
        yield line_quote("section", text, start, end)


# --- listings of paths ------------------------------------------------------------------------------

_PATH: Final = re.compile(r"[ \t]*+(?:[A-Za-z]:\\)?+(?P<name>[\w@.+/\\~-]++)(?=:|[ \t\r]*$)")
_MATCHED: Final = re.compile(r"([^:\s]+):\d+:")


def _path_lines(text: str, ranges: Sequence[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[str], int]:
    """Lines with a path in front, the paths, and how many lines name a folder whose listing they begin."""
    paths, names, folder, folders = list[tuple[int, int]](), list[str](), "", 0
    for start, end in ranges:
        line = text[start : min(end, start + _PATH_MAX)].strip()
        if line.endswith(":") and "/" in line and " " not in line:
            folder, folders = line[:-1].rstrip("/") + "/", folders + 1
            continue
        name = folder + line if folder and " " not in line and "/" not in line else _path(text, start, end)
        if name:
            paths.append((start, end))
            names.append(name)
    return paths, names, folders


def _paths(
    text: str, ranges: Sequence[tuple[int, int]], paths: Sequence[tuple[int, int]], names: Sequence[str]
) -> Findings:
    """A listing, by folder; or hits of a search, by file."""
    hits = sum(_MATCHED.match(text, start, end) is not None for start, end in paths)
    files = Counter(names)
    what = "hit" if hits * 2 >= len(paths) else "path"
    shared = _shared(names)
    groups = Counter(_group(name, shared) for name in names)
    kinds = Counter(_extension(name) for name in names)
    notes = [
        f"{counted(len(paths), what)} in {counted(len(files), 'file')}"
        + (f", all under {clipped(shared, 120)}" if shared else ""),
        "by folder: " + listed((f"{clipped(one, 60)} {n}" for one, n in groups.most_common()), 12),
        "by ending: " + listed((f"{one} {n}" for one, n in kinds.most_common()), 8),
    ]
    if what == "hit":
        notes.insert(
            1, "most in: " + listed((f"{clipped(one, 80)} {n}" for one, n in files.most_common()), 5)
        )
    known = set(paths)
    others = [one for one in ranges if one not in known]
    first = dict[str, tuple[int, int]]()
    for name, one in zip(names, paths, strict=True):
        first.setdefault(_group(name, shared), one)
    quotes = [
        *told_quotes(text, others, least=2),
        line_quote("first " + what, text, *_short(*paths[0])),
        line_quote("last " + what, text, *_short(*paths[-1])),
        *told_quotes(text, paths, least=3),
        *(line_quote("other line", text, *one) for one in others[:3] + others[-3:]),
        *(line_quote("first in folder", text, *_short(*first[one]), n) for one, n in groups.most_common(12)),
        *(line_quote(what, text, *_short(*paths[index])) for index in spread(range(len(paths)), 16)),
    ]
    return Findings(kind=KIND + "/paths", notes=tuple(notes), quotes=tuple(quotes))


def _path(text: str, start: int, end: int) -> str:
    """The path with which a line begins; empty where it begins with none."""
    found = _PATH.match(text, start, min(end, start + _PATH_MAX))
    name = "" if found is None else found["name"]
    return name if ("/" in name or "." in name or "\\" in name) and any(map(str.isalpha, name)) else ""


_PATH_MAX: Final = 1024


def _short(start: int, end: int) -> tuple[int, int]:
    """Of a hit the path and how the line begins."""
    return start, min(end, start + 140)


def _shared(names: Sequence[str]) -> str:
    """The folder that all are in, with its slash; empty where there is none."""
    low, high = min(names), max(names)
    same = 0
    while same < min(len(low), len(high)) and low[same] == high[same]:
        same += 1
    return low[: low.rfind("/", 0, same) + 1]


def _group(name: str, shared: str) -> str:
    """The folder below what all share."""
    folder, slash, _ = name[len(shared) :].partition("/")
    return folder + slash if slash else "(here)"


def _extension(name: str) -> str:
    base = name[name.rfind("/") + 1 :]
    _, dot, ending = base.rpartition(".")
    return "." + clipped(ending, 12) if dot and ending else "none"


LINES: Final = FindingCondenser(kind=KIND, version=1, find=find_lines)
"""Condenses any text, by its lines."""
