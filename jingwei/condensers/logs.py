"""Logs (rule T2): templates with counts, the first stable exception with its place, what is rare.

Templates are mined by Drain, as drain3 has it, with fixed parameters: no files, no clock, no memory between
two texts. Lines that differ in numbers only are counted before, so that Drain sees each once.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, Protocol, cast, final

import attrs
from drain3.drain import Drain  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

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
from jingwei.condensers.signals import exception_at, masked, weight_of
from jingwei.condensers.traces import trace_quotes

KIND: Final = "log"

_TIME: Final = re.compile(
    r"[\[(<]?(?:\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d"
    r"|\d{1,2}/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?)"
)
_LEVEL: Final = re.compile(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|FATAL|CRITICAL|SEVERE|PANIC)\b"
)
_LEVELED: Final = re.compile(r"[\[<]?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE)\b")

HEAD: Final = 160
"""Characters of a line in which its level stands."""

SHAPES: Final = 1_000
"""Different lines, numbers apart, of which templates are made; later ones are counted as other lines."""

TOKENS: Final = 60
"""Words of a line that its template has: further ones tell no kind of message from another."""


@final
@attrs.frozen(kw_only=True)
class _Group:
    """Lines that are alike.

    Attributes:
        shape: what they have in common.
        start: first character of the first of them.
        end: character behind it.
        last: first character of the last of them.
        last_end: character behind it.
        count: how many they are.
        weight: how telling they are (`weight_of`).
    """

    shape: str
    start: int
    end: int
    last: int
    last_end: int
    count: int
    weight: int


def find_log(text: str) -> Findings | NotThisKind:
    """A text of which at least a third of the lines begin with a time or a level, and at least three do."""
    ranges = [(s, after - 1) for s, after in pairwise([*line_starts(text), len(text) + 1])]
    ranges = [(start, end) for start, end in ranges if text[start:end].strip()]
    stamped = [one for one in ranges if _is_stamped(text, *one)]
    if len(stamped) < 3 or len(stamped) * 3 < len(ranges):
        odd = next((start for start, end in ranges if not _is_stamped(text, start, end)), 0)
        return NotThisKind(kind=KIND, line=text.count("\n", 0, odd) + 1)
    groups, other = _groups(text, ranges)
    templates = _templates(groups)
    return Findings(
        kind=KIND,
        notes=tuple(_notes(text, ranges, stamped, groups, templates, other)),
        quotes=tuple(_quotes(text, groups, templates)),
    )


def _is_stamped(text: str, start: int, end: int) -> bool:
    head = text[start : min(end, start + HEAD)].lstrip()
    return _TIME.match(head) is not None or _LEVELED.match(head) is not None


def _level(line: str) -> str:
    found = _LEVEL.search(line[:HEAD])
    return "" if found is None else found[1]


def _groups(text: str, ranges: Sequence[tuple[int, int]]) -> tuple[list[_Group], int]:
    """Lines that differ in numbers only, by their first one; and how many lines have no group."""
    found = dict[str, list[int]]()
    other = 0
    for index, (start, end) in enumerate(ranges):
        shape = masked(text[start:end])
        known = found.get(shape)
        if known is not None:
            known[1] = index
            known[2] += 1
        elif len(found) < SHAPES:
            found[shape] = [index, index, 1]
        else:
            other += 1
    return [
        _Group(
            shape=shape,
            start=ranges[first][0],
            end=ranges[first][1],
            last=ranges[last][0],
            last_end=ranges[last][1],
            count=count,
            weight=weight_of(text[slice(*ranges[first])]),
        )
        for shape, (first, last, count) in found.items()
    ], other


class _Cluster(Protocol):
    """What is used of a cluster of drain3, which ships no types."""

    cluster_id: int

    def get_template(self) -> str:
        """The words that its lines share, and `param_str` for the others."""
        ...


class _Miner(Protocol):
    """What is used of its miner."""

    def add_log_message(self, content: str) -> tuple[_Cluster, str]:
        """The cluster of a line, and what became of it."""
        ...


class _Mining(Protocol):
    """How a miner is made."""

    def __call__(self, *, depth: int, sim_th: float, max_children: int, param_str: str) -> _Miner:
        """A miner that has seen nothing."""
        ...


_MINING: Final = cast(_Mining, Drain)


def _templates(groups: Sequence[_Group]) -> list[_Group]:
    """Groups put together by Drain: the most frequent template first, then the earlier one."""
    miner = _MINING(depth=4, sim_th=0.5, max_children=100, param_str="<*>")
    members, clusters = dict[int, list[_Group]](), dict[int, _Cluster]()
    for group in groups:
        # The weight stands in front as a word of its own: an error never joins what is none.
        words = [str(group.weight), *group.shape.split()[:TOKENS]]
        cluster, _ = miner.add_log_message(" ".join(words))
        clusters[cluster.cluster_id] = cluster
        members.setdefault(cluster.cluster_id, []).append(group)
    made = [
        _Group(
            shape=clusters[key].get_template().partition(" ")[2],
            start=held[0].start,
            end=held[0].end,
            last=max(held, key=lambda one: one.last).last,
            last_end=max(held, key=lambda one: one.last).last_end,
            count=sum(one.count for one in held),
            weight=max(one.weight for one in held),
        )
        for key, held in members.items()
    ]
    return sorted(made, key=lambda one: (-one.count, one.start))


def _exceptions(text: str, groups: Sequence[_Group]) -> list[tuple[str, _Group]]:
    """Error lines by what they name, each name with its first line and all its repeats, in order."""
    found = dict[str, _Group]()
    for group in groups:
        if group.weight < 3:
            continue
        line = text[group.start : group.end]
        place = exception_at(line)
        name = group.shape if place is None else line[slice(*place)]
        known = found.get(name)
        found[name] = group if known is None else attrs.evolve(known, count=known.count + group.count)
    return list(found.items())


def _stable(exceptions: Sequence[tuple[str, _Group]]) -> tuple[str, _Group] | None:
    """The first exception that comes again; where none does, the first."""
    again = (one for one in exceptions if one[1].count > 1)
    return next(again, exceptions[0] if exceptions else None)


def _quotes(text: str, groups: Sequence[_Group], templates: Sequence[_Group]) -> Iterator[Quote]:
    exceptions = _exceptions(text, groups)
    stable = _stable(exceptions)
    if stable is not None:
        yield from _exception_quotes(text, "first stable exception", stable[1])
    if exceptions and exceptions[0] != stable:
        yield from _exception_quotes(text, "first error", exceptions[0][1])
    yield from trace_quotes(text)
    for name, group in exceptions[:12]:
        named = exception_at(text[group.start : group.end]) is not None
        yield line_quote(clipped(name, 40) if named else "error", text, group.start, group.end, group.count)
    if exceptions:
        last = max((group for _, group in exceptions), key=lambda one: one.last)
        yield line_quote("last error", text, last.last, last.last_end)
    weighty = sorted(
        (one for one in templates if one.weight in (1, 2)), key=lambda one: (-one.weight, one.start)
    )
    for one in weighty[:8]:
        yield line_quote("failure" if one.weight == 2 else "notice", text, one.start, one.end, one.count)
    for one in [one for one in templates if one.count == 1 and not one.weight][:6]:
        yield line_quote("only once", text, one.start, one.end)
    yield line_quote("first line", text, groups[0].start, groups[0].end)
    last = max(groups, key=lambda one: one.last)
    yield line_quote("last line", text, last.last, last.last_end)
    for one in templates[:6]:
        yield line_quote("typical line", text, one.start, one.end, one.count)


def _exception_quotes(text: str, name: str, group: _Group) -> Iterator[Quote]:
    """The line, and when it was first seen."""
    yield line_quote(name, text, group.start, group.end, group.count)
    stamp = _TIME.match(text, group.start, group.end)
    if stamp is not None:
        quote = line_quote("first seen", text, group.start, group.end)
        lead = stamp.group()[:1] in "[(<"
        yield attrs.evolve(quote, value_start=stamp.start() + lead, value_end=stamp.end())


def _notes(
    text: str,
    ranges: Sequence[tuple[int, int]],
    stamped: Sequence[tuple[int, int]],
    groups: Sequence[_Group],
    templates: Sequence[_Group],
    other: int,
) -> Iterator[str]:
    times = [
        found.group().lstrip("[(<") for one in (stamped[0], stamped[-1]) if (found := _TIME.match(text, *one))
    ]
    span = f", {times[0]} to {times[1]}" if len(times) == 2 else ""
    yield f"log of {counted(len(ranges), 'line')}{span}, {counted(len(templates), 'template')}"
    stable = _stable(_exceptions(text, groups))
    if stable is not None:
        line = text.count("\n", 0, stable[1].start) + 1
        again = f"{stable[1].count} times" if stable[1].count > 1 else "once"
        yield f"first stable exception: {clipped(stable[0], 100)}, {again}, first in line {line}"
    levels = dict[str, int]()
    for group in groups:
        level = _level(text[group.start : group.end])
        if level:
            levels[level] = levels.get(level, 0) + group.count
    if levels:
        yield "levels: " + listed((f"{level} {count}" for level, count in sorted(levels.items())), 8)
    for one in templates[:6]:
        yield f"{one.count}× {clipped(one.shape, 110)}"
    if other:
        yield f"{counted(other, 'line')} beyond the first {SHAPES} different ones"


LOG: Final = FindingCondenser(kind=KIND, version=1, find=find_log)
"""Condenses logs."""
