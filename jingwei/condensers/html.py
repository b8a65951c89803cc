"""HTML, as Beautiful Soup reads it with Python's own parser (rule T2): title, headings, what is visible."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bs4 import BeautifulSoup, Tag
from bs4.exceptions import ParserRejectedMarkup

from jingwei.condensers.failures import NotThisKind
from jingwei.condensers.findings import (
    FindingCondenser,
    Findings,
    Quote,
    clipped,
    counted,
    line_starts,
    listed,
    spread,
    trimmed,
)
from jingwei.condensers.signals import weight_of

KIND: Final = "html"

_TAGS: Final = re.compile(
    r"</?(?:html|head|body|title|div|span|p|a|h[1-6]|ul|ol|li|table|tr|td|br|script|meta)\b", re.I
)
_BEGINS: Final = re.compile(
    r"\s*(?:<!doctype html|<html|<head|<body|<div|<p|<h[1-6]|<table|<ul|<section|<article|<\?xml|<!--)", re.I
)

HTML_MAX: Final = 1 << 20
"""Characters that are read: above, Python's parser takes too long for some texts."""

UNFINISHED_MAX: Final = 64
"""Marks that open a tag which never ends: for each, Python's parser looks at all that follows."""

NESTED_MAX: Final = 256
"""Blocks that may be open at once: for each, all that it holds is looked through."""

HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
BLOCKS: Final = ("p", "li", "td", "th", "dd", "dt", "pre", "blockquote", "label", "button", "figcaption")
HIDDEN: Final = ("script", "style", "template", "noscript", "head")


def find_html(text: str) -> Findings | NotThisKind:
    """A text that begins with a tag of HTML, or has one for every 200 characters; up to `HTML_MAX`."""
    tags = len(_TAGS.findall(text))
    if len(text) > HTML_MAX or tags < 4 or (_BEGINS.match(text) is None and tags * 200 < len(text)):
        return NotThisKind(kind=KIND, line=1)
    if _is_quadratic(text):
        return NotThisKind(kind=KIND, line=1)
    # Declarations would be read as those of XML; blanks keep every place.
    try:
        soup = BeautifulSoup(text.replace("<?", "  "), "html.parser")
    except (ParserRejectedMarkup, ValueError, OverflowError, RecursionError):
        return NotThisKind(kind=KIND, line=1)
    starts = line_starts(text)
    headings = soup.find_all(HEADINGS)
    blocks = [one for one in soup.find_all(BLOCKS) if one.find(BLOCKS) is None]
    quotes = [
        *_quotes(text, starts, soup.find_all("title")[:1], "title"),
        *_telling(text, starts, [*headings, *blocks]),
        *_quotes(text, starts, headings[:1], "heading"),
        *_quotes(text, starts, [one for one in blocks if one.name == "p"][:2], "text"),
        *_quotes(text, starts, [headings[i] for i in spread(range(1, len(headings)), 16)], "heading"),
        *_quotes(text, starts, [blocks[i] for i in spread(range(len(blocks)), 24)], "text"),
    ]
    return Findings(kind=KIND, notes=tuple(_notes(soup, headings, blocks)), quotes=tuple(quotes))


def _is_quadratic(text: str) -> bool:
    """Whether the parser, or the walk over what it found, would take far longer than the text is long."""
    if text.count("<") - len(_WHOLE.findall(text)) > UNFINISHED_MAX:
        return True
    opened = 0
    for mark in _BLOCK_MARKS.finditer(text):
        opened += -1 if mark[0].startswith("</") else 1
        if opened > NESTED_MAX:
            return True
    return False


_WHOLE: Final = re.compile(r"<[^<>]*>")
_BLOCK_MARKS: Final = re.compile(rf"</?(?:{'|'.join(BLOCKS)})\b", re.I)


def _place(starts: Sequence[int], tag: Tag) -> int:
    r"""Where a tag opens; Python's parser counts lines by `\n` too."""
    return starts[(tag.sourceline or 1) - 1] + (tag.sourcepos or 0)


def _quotes(text: str, starts: Sequence[int], tags: Sequence[Tag], name: str) -> Iterator[Quote]:
    """The first piece of text in each tag, as it stands there."""
    for tag in tags:
        piece = _piece(text, _place(starts, tag))
        if piece is not None:
            yield Quote(name=name, start=piece[0], end=piece[1], value_start=piece[0], value_end=piece[1])


_BETWEEN: Final = re.compile(r">\s*+([^<>]++)<")


def _piece(text: str, opens: int) -> tuple[int, int] | None:
    """The first text behind a place that is no tag and not blank, in the next `_SEEN` characters."""
    found = _BETWEEN.search(text, opens, opens + _SEEN)
    return None if found is None else trimmed(text, *found.span(1))


_SEEN: Final = 4000


def _telling(text: str, starts: Sequence[int], tags: Sequence[Tag]) -> Iterator[Quote]:
    """Headings and blocks that speak of errors."""
    found = [
        (quote, weight_of(text[quote.value_start : quote.value_end]))
        for quote in _quotes(text, starts, tags, "failure")
    ]
    heavy = [one for one in found if one[1] >= 2]
    heavy.sort(key=lambda one: (-one[1], one[0].start))
    yield from (quote for quote, _ in heavy[:6])


def _notes(soup: BeautifulSoup, headings: Sequence[Tag], blocks: Sequence[Tag]) -> Iterator[str]:
    counts = [
        (len(soup.find_all(name)), word)
        for name, word in (
            ("a", "link"),
            ("img", "image"),
            ("form", "form"),
            ("table", "table"),
            ("script", "script"),
        )
    ]
    parts = [counted(count, word) for count, word in counts if count]
    for hidden in soup.find_all(HIDDEN):
        hidden.extract()
    visible = " ".join(soup.get_text(" ").split())
    yield (
        f"HTML with {counted(len(headings), 'heading')}, {listed(parts, 6) or 'no links'}; "
        f"visible text of {counted(len(visible), 'character')}"
    )
    names = [clipped(" ".join(one.get_text(" ").split()), 60) for one in headings[:40]]
    if names:
        yield "headings: " + listed((name for name in names if name), 10)
    if visible and not blocks:
        yield "text begins: " + clipped(visible, 200)


HTML: Final = FindingCondenser(kind=KIND, version=1, find=find_html)
"""Condenses HTML."""
