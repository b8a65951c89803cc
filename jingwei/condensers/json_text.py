"""JSON and JSON Lines (rule T2): shape, rows, what stands out, and what stands in long strings."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, final

import attrs

from jingwei.condensers.columns import odd_values
from jingwei.condensers.failures import NotThisKind
from jingwei.condensers.findings import (
    Finder,
    Findings,
    Quote,
    clipped,
    counted,
    line_starts,
    listed,
    spread,
)
from jingwei.condensers.jsonnodes import Node, Unescaped, read_nodes
from jingwei.condensers.signals import weight_of

KIND: Final = "json"

LONG: Final = 400
"""Characters of a string that is looked into."""

WALKED: Final = 50_000
"""Values that are looked at one by one; rows are looked at column by column, all of them."""

NESTED: Final = 3
"""How often JSON inside a string inside JSON is looked into."""

COLUMNS: Final = 100
"""Columns of one table that are looked at."""


def json_finder(inside: Sequence[Finder], levels: int = NESTED) -> Finder:
    """A finder of JSON that lets others look into its long strings, in their order, and itself first."""

    def find(text: str) -> Findings | NotThisKind:
        root = read_nodes(text, 0, len(text))
        if isinstance(root, Node):
            if root.kind not in {"object", "array"}:
                return NotThisKind(kind=KIND, line=1)
            return _found(text, "JSON", root, [], finders)
        rows, odd = _json_lines(text) if "\n" in text else ([], [])
        if len(rows) < 2 or len(rows) * 5 < (len(rows) + len(odd)) * 4:
            return NotThisKind(kind=KIND, line=text.count("\n", 0, root) + 1)
        whole = Node("array", 0, len(text))
        whole.children += rows
        return _found(text, "JSON Lines", whole, odd, finders)

    finders = (json_finder(inside, levels - 1), *inside) if levels > 1 else tuple(inside)
    return find


def _json_lines(text: str) -> tuple[list[Node], list[tuple[int, int]]]:
    """Lines that are an object or an array, and the others that are not blank."""
    rows, odd = list[Node](), list[tuple[int, int]]()
    for start, after in pairwise([*line_starts(text), len(text) + 1]):
        node = read_nodes(text, start, after - 1) if text[start : start + 1] in _OPENING else None
        if isinstance(node, Node):
            rows.append(node)
        elif text[start : after - 1].strip():
            odd.append((start, after - 1))
            if len(odd) > 20 + len(rows):
                break  # most of what was seen is no JSON, and so it is no text of this kind
    return rows, odd


_OPENING: Final = frozenset("{[")


def _found(
    text: str, what: str, root: Node, odd: Sequence[tuple[int, int]], inside: Sequence[Finder]
) -> Findings:
    seen = _Seen(text, root)
    large = [one for one in seen.long if (one[1].end - one[1].start) * 4 >= root.end - root.start]
    inner = [found for path, node in large for found in _looked_into(text, path, node, inside)]
    notes = [f"{what}, {root.kind} of {len(root.children)}", _best_shape(text, root)]
    quotes = [_quote("line that is no JSON", start, end) for start, end in odd[:3]]
    if odd:
        notes.append(f"{counted(len(odd), 'line')} without JSON")
    tables = [table for table in sorted(seen.tables, key=_size)[:4] if len(table.node.children) > 1]
    quotes += seen.errors
    quotes += [quote for table in tables for quote in table.odd()]
    for found in inner:
        notes += found.notes
    notes += [note for table in tables for note in table.notes()]
    rows = [list(table.rows()) for table in tables]
    quotes += seen.scalars[:12]
    quotes += _in_turn([*([rows[0]] if rows else []), *(list(found.quotes) for found in inner)])
    quotes += _in_turn(rows[1:])
    quotes += seen.scalars[12:]
    quotes += [_value_quote(path, node) for path, node in seen.long[:16]]
    kinds = sorted({found.kind for found in inner})
    return Findings(
        kind="+".join([KIND, *kinds[:3]]),
        notes=tuple(notes),
        quotes=tuple(quotes),
    )


def _size(table: "_Table") -> tuple[int, int]:
    return table.node.start - table.node.end, table.node.start


def _quote(name: str, start: int, end: int, repeats: int = 1) -> Quote:
    return Quote(name=name, start=start, end=end, value_start=start, value_end=end, repeats=repeats)


def _in_turn(lists: Sequence[Sequence[Quote]]) -> Iterator[Quote]:
    """The first of each, then the second of each: everything is heard."""
    for index in range(max(map(len, lists), default=0)):
        yield from (one[index] for one in lists if index < len(one))


# --- one walk -----------------------------------------------------------------------------------------

_TELLING: Final = re.compile(
    r"(?:^|_|[a-z])(?:error|err|exception|failure|failed|fault|stderr|traceback|reason|exit_?code|return_?code"
    r"|status_?code|errno|warning)s?$",
    re.IGNORECASE,
)
_NOTHING: Final = frozenset(
    {"null", "false", '""', "0", "[]", "{}", '"0"', '"ok"', '"OK"', '"success"', '"none"'}
)


@final
class _Seen:
    """What a walk over all values, the first `WALKED` of them, meets."""

    def __init__(self, text: str, root: Node) -> None:
        self.errors = list[Quote]()
        self.scalars = list[Quote]()
        self.long = list[tuple[str, Node]]()
        self.tables = list[_Table]()
        todo: list[tuple[str, Node, int]] = [("", root, 0)]  # the third is how deep, or `_ROWS` in an array
        walked = 0
        while todo and walked < WALKED:
            path, node, depth = todo.pop()
            walked += 1
            if node.kind == "array" and len(node.children) > 1:
                self.tables.append(_Table(text, path, node))
            if node.kind == "object":
                named = [(f"{path}/{clipped(key, 40)}", child) for key, child in node.members()]
                for (name, child), key in zip(named, node.keys, strict=True):
                    self._member(text, name, key, child, depth)
            elif node.kind == "array":
                shown = node.children[: WALKED - walked]
                named = [(f"{path}/{index}", child) for index, child in enumerate(shown)]
            else:
                if node.kind == "string" and node.end - node.start > LONG:
                    self.long.append((path, node))
                continue
            below = _ROWS if node.kind == "array" else depth + 1
            todo += [(name, child, below) for name, child in reversed(named)]
        self.long.sort(key=lambda one: (one[1].start - one[1].end, one[1].start))

    def _member(self, text: str, name: str, key: str, child: Node, depth: int) -> None:
        if child.kind in {"object", "array"} or child.end - child.start > LONG:
            return
        quote = _value_quote(name, child)
        raw = text[child.start : child.end]
        if raw in _NOTHING:
            return
        if len(self.errors) < 8 and (
            _TELLING.search(key) is not None or (child.kind == "string" and weight_of(raw) >= 3)
        ):
            self.errors.append(quote)
        elif depth < 3 and len(self.scalars) < 48:
            self.scalars.append(quote)


_ROWS: Final = 1000


def _value_quote(name: str, node: Node) -> Quote:
    """A scalar; of a string what stands between the quotes."""
    inner = 1 if node.kind == "string" and node.end - node.start > 2 else 0
    return Quote(
        name=name,
        start=node.start,
        end=node.end,
        value_start=node.start + inner,
        value_end=node.end - inner,
    )


def _looked_into(text: str, path: str, node: Node, inside: Sequence[Finder]) -> Iterator[Findings]:
    """What the first finder that reads the text of a string says, with places in the text around it."""
    said = Unescaped(text, node.start + 1, node.end - 1)
    for find in inside:
        found = find(said.text)
        if isinstance(found, NotThisKind):
            continue
        name = path or "string"
        yield Findings(
            kind=found.kind,
            notes=tuple(f"{name}: {note}" for note in found.notes),
            quotes=tuple(
                attrs.evolve(
                    quote,
                    name=quote.name if quote.name.startswith("/") else f"{clipped(name, 40)} {quote.name}",
                    start=said.place(quote.start),
                    end=said.place(quote.end),
                    value_start=said.place(quote.value_start),
                    value_end=said.place(quote.value_end),
                )
                for quote in found.quotes
            ),
        )
        return


# --- arrays -------------------------------------------------------------------------------------------

_LABEL: Final = ("title", "name", "id", "url", "path", "key", "file", "filename")


@final
class _Table:
    """An array as rows; columns are paths into its objects."""

    def __init__(self, text: str, path: str, node: Node) -> None:
        self.text = text
        self.path = path
        nested = all(child.kind == "array" and child.children for child in node.children)
        self.rows_at = (
            [
                (f"{path}/{index}/{place}", row)
                for index, child in enumerate(node.children)
                for place, row in enumerate(child.children)
            ]
            if nested
            else [(f"{path}/{index}", child) for index, child in enumerate(node.children)]
        )
        self.node = node

    def odd(self) -> Iterator[Quote]:
        """Rows in which a value stands out, or a key that is nearly always there is not."""
        rows = self.rows_at
        columns = self._columns()
        for name, cells in columns.items():
            scalars = [(row, cell) for row, cell in cells if cell.kind not in {"object", "array"}]
            for one in odd_values([self.text[cell.start : cell.end] for _, cell in scalars]):
                row, cell = scalars[one.index]
                yield self._row_quote(f"{rows[row][0]}{name}: {one.why}", rows[row][1], cell, one.alike)
            if len(cells) < len(rows) and len(cells) * 10 >= len(rows) * 9:
                present = {row for row, _ in cells}
                absent = [row for row in range(len(rows)) if row not in present]
                at, missing = rows[absent[0]]
                yield self._row_quote(
                    f"{at}: without {clipped(name, 40) or 'value'}", missing, missing, len(absent)
                )
            elif 0 < len(cells) * 20 <= len(rows):
                row, cell = cells[0]
                title = f"{rows[row][0]}: only here {clipped(name, 40)}"
                yield self._row_quote(title, rows[row][1], cell, len(cells))

    def rows(self) -> Iterator[Quote]:
        """The first and the last row, then others; a long row by its label."""
        rows = self.rows_at
        # Short rows look alike; of long ones the labels say what there is.
        others = 12 if any(row.end - row.start > _ROW_MAX for _, row in rows[:20]) else 3
        order = [0, len(rows) - 1, *spread(range(1, len(rows) - 1), others)]
        for index in order:
            yield self._labelled(*rows[index], whole=not index)

    def notes(self) -> Iterator[str]:
        """The common values of columns that have few."""
        for name, cells in self._columns().items():
            counts = Counter(self.text[cell.start : min(cell.end, cell.start + 60)] for _, cell in cells)
            if 1 < len(counts) <= 6 and len(cells) >= 3 * len(counts):
                values = listed((f"{clipped(value, 40)} {count}" for value, count in counts.most_common()), 6)
                yield f"{self.path}/*{clipped(name, 60)}: {values}"

    def _columns(self) -> dict[str, list[tuple[int, Node]]]:
        """Cells by path, up to three objects deep; of the first `COLUMNS` paths."""
        found = dict[str, list[tuple[int, Node]]]()
        for index, row in enumerate(row for _, row in self.rows_at):
            for name, cell in _cells(row, "", 3):
                column = found.get(name)
                if column is not None:
                    column.append((index, cell))
                elif len(found) < COLUMNS:
                    found[name] = [(index, cell)]
        return found

    def _row_quote(self, name: str, row: Node, cell: Node, repeats: int) -> Quote:
        """A short row whole, of a long one the cell."""
        shown = row if row.end - row.start <= _ROW_MAX else cell
        start, end = shown.start, shown.end
        return Quote(
            name=name, start=row.start, end=row.end, value_start=start, value_end=end, repeats=repeats
        )

    def _labelled(self, name: str, row: Node, *, whole: bool) -> Quote:
        most = 3 * _ROW_MAX if whole else _ROW_MAX
        if row.end - row.start <= most or row.kind != "object":
            return _quote(name, row.start, row.end)
        members = dict(reversed(list(row.members())))
        labels = [key for key in _LABEL if key in members]
        scalar = [key for key, child in row.members() if child.kind in {"string", "number"}]
        for key in [*labels, *scalar]:
            child = members[key]
            if child.kind in {"string", "number"} and child.end - child.start > 2:
                quote = _value_quote(f"{name}/{clipped(key, 40)}", child)
                return attrs.evolve(quote, start=row.start, end=row.end)
        return _quote(name, row.start, row.end)


_ROW_MAX: Final = 160


def _cells(row: Node, path: str, levels: int) -> Iterable[tuple[str, Node]]:
    if row.kind != "object" or not levels:
        return [(path, row)]
    return [
        cell
        for key, child in row.members()
        for cell in _cells(child, f"{path}/{clipped(key, 40)}", levels - 1)
    ]


# --- shape --------------------------------------------------------------------------------------------

_TYPES: Final = {"string": "string", "number": "number", "word": "constant"}


def _best_shape(text: str, node: Node) -> str:
    """The deepest shape that is short enough to be read."""
    shapes = (_shape(text, node, levels) for levels in (4, 3, 2, 1))
    return next(
        (shape for shape in shapes if len(shape) <= _SHAPE_MAX), f"{counted(len(node.children), 'value')}"
    )


_SHAPE_MAX: Final = 240


def _shape(text: str, node: Node, levels: int = 4) -> str:
    """What a value is made of, in the manner of a type."""
    if node.kind == "object":
        if not levels:
            return f"{{{counted(len(node.keys), 'key')}}}"
        parts = [f"{clipped(key, 30)}: {_shape(text, child, levels - 1)}" for key, child in node.members()]
        return "{" + listed(parts[:13], 12 if len(parts) == 13 else 13) + (", …}" if len(parts) > 13 else "}")
    if node.kind == "array":
        if not node.children:
            return "[]"
        kinds = Counter(child.kind for child in node.children)
        of = _shape(text, node.children[0], levels - 1) if len(kinds) == 1 and levels else "mixed"
        return f"[{len(node.children)} × {of}]"
    if node.kind == "word":
        return "boolean" if text[node.start] in "tf" else text[node.start : node.end]
    if node.kind == "string" and node.end - node.start > LONG:
        return f"string of {node.end - node.start - 2}"
    return _TYPES[node.kind]
