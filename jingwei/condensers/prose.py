"""Plain prose and Markdown (rule T2): headings, first and last sentences, numbers and failures."""

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

KIND: Final = "prose"

_HEADING: Final = re.compile(
    r"[ \t]*#{1,6} +\S|[ \t]*(?:\d+\.)+ +[A-Z][^.!?]{0,80}$|\*\*[^*\n]{2,80}\*\*:?[ \t\r]*$"
)
_SENTENCE: Final = re.compile(
    r"[^.!?。！？]*+(?:[.!?](?![\s\"')\]]|$)[^.!?。！？]*+)*+(?:[.!?]++[\"')\]]*+|[。！？]|$)"
)
_FIGURE: Final = re.compile(
    r"[$€£¥]\s?\d|\d[\d,.]*\s?(?:%|million|billion|thousand|bn|ms|seconds?|MB|GB|KB|years?|times)\b|\b\d{2,}\b"
)


def find_prose(text: str) -> Findings | NotThisKind:
    """A text of which most characters stand in lines of several words or of Chinese sentences."""
    ranges = [(start, end) for start, end in line_ranges(text) if text[start:end].strip()]
    written = sum(end - start for start, end in ranges if _is_prose(text[start:end]))
    whole = sum(end - start for start, end in ranges)
    if not whole or written * 10 < whole * 6:
        return NotThisKind(kind=KIND, line=1)
    headings = [one for one in ranges if _HEADING.match(text, *one) is not None]
    body = [one for one in ranges if _HEADING.match(text, *one) is None] or ranges
    sentences = [one for start, end in body[:_LINES_MAX] for one in _sentences(text, start, end)]
    figures = [one for one in sentences if _FIGURE.search(text, *one) is not None]
    notes = [
        f"prose of {counted(len(ranges), 'line')}, {counted(len(headings), 'heading')}, "
        f"about {counted(len(sentences), 'sentence')}"
    ]
    if headings:
        names = (clipped(text[start:end].strip(" \t\r#*:"), 60) for start, end in headings)
        notes.append("headings: " + listed(names, 14))
    last = list(_sentences(text, *body[-1]))[-1:]
    quotes = [
        *_named(text, sentences[:1], "first sentence"),
        *_named(text, last, "last sentence"),
        *told_quotes(text, sentences, least=3),
        *_named(text, [figures[index] for index in spread(range(len(figures)), 6)], "figure"),
        *(line_quote("heading", text, *headings[index]) for index in spread(range(len(headings)), 8)),
        *_named(
            text,
            [one for start, end in body[:24] for one in list(_sentences(text, start, end))[:1]],
            "begins",
        ),
        *told_quotes(text, sentences, least=2),
        *_named(text, [figures[index] for index in spread(range(len(figures)), 24)], "figure"),
        *_named(text, [sentences[index] for index in spread(range(len(sentences)), 24)], "sentence"),
    ]
    return Findings(kind=KIND, notes=tuple(notes), quotes=tuple(quotes))


_LINES_MAX: Final = 20_000


def _named(text: str, ranges: Sequence[tuple[int, int]], name: str) -> Iterator[Quote]:
    for start, end in ranges:
        yield line_quote(name, text, start, end)


def _is_prose(line: str) -> bool:
    head = line[:2000]
    if len(head.split()) >= 7:
        letters = sum(char.isalpha() or char.isspace() for char in head)
        ended = head.rstrip().endswith((".", "!", "?", ":", ";", ",", '"', "*")) or len(head) > 200
        return letters * 10 >= len(head) * 7 and (ended or ". " in head)
    return sum(char >= "\u3400" for char in head) >= 12


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of a line; together they are the line."""
    while start < end:
        found = _SENTENCE.match(text, start, end)
        after = end if found is None or found.end() == start else found.end()
        if text[start:after].strip():
            yield start, after
        start = after


PROSE: Final = FindingCondenser(kind=KIND, version=1, find=find_prose)
"""Condenses prose."""
