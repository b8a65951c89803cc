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

HTML_MAX: Final = 1 << 18
"""Characters that are read (256 KiB of ASCII): a page of that size takes the parser about a second, and
what is quadratic in Python's parser or in Beautiful Soup and not known here stays within seconds."""

OPEN_MAX: Final = 64
"""Tags, comments or sections in a row that begin without an end: Python's parser reads on to the end of the
text for each of them."""

DEPTH_MAX: Final = 512
"""Tags around a tag: Beautiful Soup walks down all of them for each that is taken out."""

LATE_MAX: Final = 20_000_000
"""Void tags times end tags: Beautiful Soup may look through all of the former for each of the latter."""

_OPENS_OR_ENDS: Final = re.compile(r"<[A-Za-z/!]|>")
_SECTIONS: Final = (
    (re.compile(r"<!--"), "-->"),
    (re.compile(r"<!\[(?:temp|cdata|ignore|include|rcdata)", re.I), "]]>"),
    (re.compile(r"<!\["), "]>"),
)
_VOID: Final = re.compile(
    r"<(?:area|base|basefont|bgsound|br|col|command|embed|frame|hr|image|img|input|isindex|keygen|link|menuitem"
    r"|meta|nextid|param|source|spacer|track|wbr)\b",
    re.I,
)

HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
BLOCKS: Final = ("p", "li", "td", "th", "dd", "dt", "pre", "blockquote", "label", "button", "figcaption")
HIDDEN: Final = ("script", "style", "template", "noscript", "head")


def find_html(text: str) -> Findings | NotThisKind:
    """A text that begins with a tag of HTML, or has one for every 200 characters; up to `HTML_MAX`."""
    tags = len(_TAGS.findall(text))
    if len(text) > HTML_MAX or tags < 4 or (_BEGINS.match(text) is None and tags * 200 < len(text)):
        return NotThisKind(kind=KIND, line=1)
    slow = _slow_place(text)
    if slow is not None:
        return NotThisKind(kind=KIND, line=text.count("\n", 0, slow) + 1)
    # Declarations would be read as those of XML; blanks keep every place.
    try:
        soup = BeautifulSoup(text.replace("<?", "  "), "html.parser")
    except (ParserRejectedMarkup, ValueError, OverflowError, RecursionError):
        return NotThisKind(kind=KIND, line=1)
    blocks = _leaf_blocks(soup)
    if blocks is None:
        return NotThisKind(kind=KIND, line=1)
    starts = line_starts(text)
    headings = soup.find_all(HEADINGS)
    quotes = [
        *_quotes(text, starts, soup.find_all("title")[:1], "title"),
        *_telling(text, starts, [*headings, *blocks]),
        *_quotes(text, starts, headings[:1], "heading"),
        *_quotes(text, starts, [one for one in blocks if one.name == "p"][:2], "text"),
        *_quotes(text, starts, [headings[i] for i in spread(range(1, len(headings)), 16)], "heading"),
        *_quotes(text, starts, [blocks[i] for i in spread(range(len(blocks)), 24)], "text"),
    ]
    return Findings(kind=KIND, notes=tuple(_notes(soup, headings, blocks)), quotes=tuple(quotes))


def _slow_place(text: str) -> int | None:
    """Where a text begins that the parser would read in quadratic time; None where it would not."""
    opened = 0
    for found in _OPENS_OR_ENDS.finditer(text):
        opened = 0 if found.group() == ">" else opened + 1
        if opened > OPEN_MAX:
            return found.start()
    # A comment or a section ends at its own mark, and a mark behind the last of them ends none before it.
    for begin, end in _SECTIONS:
        places = [found.start() for found in begin.finditer(text, text.rfind(end) + 1)]
        if len(places) > OPEN_MAX:
            return places[0]
    void = len(_VOID.findall(text))
    return 0 if void * text.count("</") > LATE_MAX else None


def _leaf_blocks(soup: BeautifulSoup) -> list[Tag] | None:
    """Blocks without a block in them, in order, by one walk; None where tags nest deeper than `DEPTH_MAX`."""
    depths = {id(soup): 0}
    around: dict[int, Tag | None] = {id(soup): None}
    leaves = dict[int, Tag]()
    for tag in soup.descendants:
        if not isinstance(tag, Tag):
            continue
        depth, block = depths[id(tag.parent)] + 1, around[id(tag.parent)]
        if depth > DEPTH_MAX:
            return None
        if tag.name in BLOCKS:
            leaves.pop(id(block), None)
            leaves[id(tag)] = tag
            block = tag
        depths[id(tag)], around[id(tag)] = depth, block
    return list(leaves.values())


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
