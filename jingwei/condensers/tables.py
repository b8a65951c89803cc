"""Tables with a separator (rule T2): header, types, first and last rows, what stands out, what fails."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, final

import attrs

from jingwei.condensers.columns import Odd, odd_values
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
from jingwei.condensers.signals import weight_of

KIND: Final = "table"

SEPARATORS: Final = (",", "\t", ";", "|")
"""What may stand between two cells; tried in this order."""

COLUMNS_MAX: Final = 200
"""Columns that are looked at; further ones are counted."""

CELL_MAX: Final = 4096
"""Characters of a cell that are looked at."""


@final
@attrs.frozen(kw_only=True)
class _Row:
    """A row: its cells, and where its lines stand."""

    cells: tuple[str, ...]
    start: int
    end: int


def find_table(text: str) -> Findings | NotThisKind:
    """A text of at least four rows, nine tenths of which have as many cells as the first, two or more.

    Quotes work as in RFC 4180: a quoted cell may hold separators and ends of lines.
    """
    for separator in SEPARATORS:
        if separator not in text:
            continue
        rows = _rows(text, separator)
        if not rows or len(rows) < 4:
            continue
        width = len(rows[0].cells)
        whole = sum(len(row.cells) == width for row in rows)
        if width > 1 and whole * 10 >= len(rows) * 9 and not _is_prose(rows) and not _is_numbered(rows):
            return _found(text, rows, separator)
    return NotThisKind(kind=KIND, line=1)


def _rows(text: str, separator: str) -> list[_Row] | None:
    """All rows that are not blank; None where the text cannot be read so."""
    starts = [*line_starts(text), len(text)]
    lines = (text[start:end] for start, end in pairwise(starts))
    rows, before = list[_Row](), 0
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append(
                    _Row(
                        cells=tuple(cell[:CELL_MAX].strip() for cell in cells),
                        start=starts[before],
                        end=starts[reader.line_num],
                    )
                )
            before = reader.line_num
            if len(rows) == 20 and len({len(row.cells) for row in rows}) > 4:
                return None
    except csv.Error:
        return None
    return rows


def _is_prose(rows: Sequence[_Row]) -> bool:
    """Sentences have commas too: then most cells are several words long."""
    cells = [cell for row in rows[:50] for cell in row.cells]
    words = sum(cell.count(" ") + 1 for cell in cells)
    return words > 4 * len(cells)


def _is_numbered(rows: Sequence[_Row]) -> bool:
    """Lines of another text with their numbers in front: two columns, no header, the first counts up."""
    heads = [row.cells[0] for row in rows[:50] if len(row.cells) == 2]
    numbers = [int(head) for head in heads if head.isascii() and head.isdigit() and len(head) < 10]
    steps = sum(before < after <= before + 2 for before, after in pairwise(numbers))
    return len(numbers) == len(heads) > 1 and steps * 10 >= (len(numbers) - 1) * 9


def _found(text: str, rows: Sequence[_Row], separator: str) -> Findings:
    headed = _has_header(rows)
    header, body = (rows[0], rows[1:]) if headed else (None, rows)
    width = len(rows[0].cells)
    names = [
        (clipped(rows[0].cells[index], 40) if headed else "") or f"column {index + 1}"
        for index in range(min(width, COLUMNS_MAX))
    ]
    kept = [row for row in body if len(row.cells) == width]
    columns = [[row.cells[index] for row in kept] for index in range(len(names))]
    odd = [(index, one) for index, column in enumerate(columns) for one in odd_values(column)]
    failing = _failing(body, width)
    quotes = list[Quote]()
    if failing is not None:
        quotes.append(line_quote(f"first failing row ({failing[1]})", text, failing[0].start, failing[0].end))
    odd.sort(key=lambda one: _ODD_ORDER.get(one[1].why.partition(" ")[0], 2))
    quotes += [_odd_quote(text, names[index], one, kept[one.index], index) for index, one in odd]
    if header is not None:
        quotes.append(line_quote("header", text, header.start, header.end))
    quotes += [line_quote("first row", text, one.start, one.end) for one in body[:2]]
    quotes += [line_quote("last row", text, one.start, one.end) for one in body[-1:]]
    quotes += [line_quote("row", text, one.start, one.end) for one in body[2:6]]
    notes = [
        f"table of {counted(len(body), 'row')} and {counted(width, 'column')}, "
        f"separated by {_NAMES[separator]}",
        "columns: "
        + listed((f"{name} {_type(column)}" for name, column in zip(names, columns, strict=True)), 12),
    ]
    ragged = len(body) - len(kept)
    if ragged:
        notes.append(f"{counted(ragged, 'row')} with another number of cells")
    notes += [
        f"{name}: {listed((f'{clipped(cell, 30)} {count}' for cell, count in common), 6)}"
        for name, column in zip(names, columns, strict=True)
        if (common := _few(column))
    ]
    return Findings(kind=KIND, notes=tuple(notes), quotes=tuple(quotes))


_ODD_ORDER: Final = {"no": 0, "far": 1}
_NAMES: Final = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


def _has_header(rows: Sequence[_Row]) -> bool:
    """The first row names columns: all its cells differ, none is a number, none is empty but the last."""
    cells = rows[0].cells
    named = [cell for cell in cells[:-1] if not cell or _TYPED.fullmatch(cell)]
    return not named and len(set(cells)) == len(cells) and not _TYPED.fullmatch(cells[-1] or "x")


_TYPED: Final = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?%?")
_INTEGER: Final = re.compile(r"[-+]?\d+")


def _type(column: Sequence[str]) -> str:
    filled = [cell for cell in column if cell]
    empty = len(column) - len(filled)
    if not filled:
        return "empty"
    whole = sum(_INTEGER.fullmatch(cell) is not None for cell in filled)
    numbers = sum(_TYPED.fullmatch(cell) is not None for cell in filled)
    kind = (
        "integer"
        if whole * 10 >= len(filled) * 9
        else "number"
        if numbers * 10 >= len(filled) * 9
        else "text"
    )
    return kind + (f" ({empty} empty)" if empty else "")


def _few(column: Sequence[str]) -> list[tuple[str, int]]:
    """The values of a column that has few of them."""
    counts = Counter(column)
    return counts.most_common() if 1 < len(counts) <= 8 and len(column) > 2 * len(counts) else []


def _failing(body: Sequence[_Row], width: int) -> tuple[_Row, str] | None:
    """The first row that is broken or says that something failed."""
    for row in body:
        if len(row.cells) != width:
            return row, f"{counted(len(row.cells), 'cell')} instead of {width}"
        if any(weight_of(cell) >= 2 for cell in row.cells if not cell[:1].isdigit()):
            return row, "says so"
    return None


def _odd_quote(text: str, name: str, odd: Odd, row: _Row, column: int) -> Quote:
    """The row, or of a long row the cell, if it stands there as it reads."""
    quote = line_quote(f"{name}: {odd.why}", text, row.start, row.end, odd.alike)
    cell = row.cells[column]
    if quote.value_end - quote.value_start <= _ROW_MAX or not cell:
        return quote
    # Before this column there is at least as much as its cells say, and a separator behind each.
    least = row.start + sum(len(one) + 1 for one in row.cells[:column])
    found = text.find(cell, least, row.end)
    return quote if found < 0 else attrs.evolve(quote, value_start=found, value_end=found + len(cell))


_ROW_MAX: Final = 160


TABLE: Final = FindingCondenser(kind=KIND, version=1, find=find_table)
"""Condenses tables with separators."""
