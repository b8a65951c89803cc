"""What stands out in a column of values (rule T2): in integers, so that no rounding decides."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, final

import attrs

_NUMBER: Final = re.compile(r"(-?)(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?")

DIGITS_MAX: Final = 80
"""Digits of the numbers of one column when they are brought to one unit; wider columns count as text."""

FAR: Final = 8
"""Median distances from the median at which a number stands out."""

SHOWN: Final = 4
"""Values of one column that are shown as standing out."""


@final
@attrs.frozen(kw_only=True)
class Odd:
    """A value that stands out.

    Attributes:
        index: its place in the column.
        why: in words, with what is usual.
        alike: how many values of the column stand out for this reason, and say the same.
    """

    index: int
    why: str
    alike: int


def odd_values(cells: Sequence[str]) -> list[Odd]:
    """At most `SHOWN` values that stand out, the most telling first; cells are compared as they are written.

    Where at least nine tenths are numbers: what is none, then what is far from the median. Elsewhere: what
    is rare where one value stands in four of five cells, or where there are few values. Columns of fewer
    than eight cells have nothing rare. Numbers that only grow or only fall are names of rows.
    """
    if len(cells) < 8:
        return []
    numbers = [_NUMBER.fullmatch(cell) for cell in cells]
    found = [index for index, number in enumerate(numbers) if number is not None]
    if len(found) * 10 >= len(cells) * 9:
        values = _in_one_unit([number for number in numbers if number is not None])
        if values is not None:
            return [*_no_numbers(cells, numbers), *_far(cells, found, values)][:SHOWN]
    return _rare(cells)


def _no_numbers(cells: Sequence[str], numbers: Sequence[re.Match[str] | None]) -> list[Odd]:
    odd = [index for index, number in enumerate(numbers) if number is None]
    first = dict[str, int]()
    for index in odd:
        first.setdefault(cells[index], index)
    counts = Counter(cells[index] for index in odd)
    return [Odd(index=index, why="no number", alike=counts[cell]) for cell, index in first.items()][:SHOWN]


def _in_one_unit(numbers: Sequence[re.Match[str]]) -> list[int] | None:
    """The numbers as multiples of one power of ten; None where that would take too many digits."""
    parts = list[tuple[int, int]]()
    for number in numbers:
        sign, whole, fraction, exponent = number.groups()
        fraction = fraction or ""
        parts.append((int(sign + whole + fraction), int(exponent or "0") - len(fraction)))
    unit = min(exponent for _, exponent in parts)
    if max(exponent for _, exponent in parts) - unit > DIGITS_MAX:
        return None
    return [value * 10 ** (exponent - unit) for value, exponent in parts]


def _far(cells: Sequence[str], places: Sequence[int], values: Sequence[int]) -> list[Odd]:
    """Numbers far from the median, measured in median distances; farthest first."""
    steps = [after - before for before, after in pairwise(values)]
    if all(step > 0 for step in steps) or all(step < 0 for step in steps):
        return []
    order = sorted(range(len(values)), key=lambda place: (values[place], place))
    median_place = order[len(order) // 2]
    median = values[median_place]
    distances = [abs(value - median) for value in values]
    usual = sorted(distances)[len(distances) // 2]
    others = sorted(distance for distance in distances if distance)
    if not usual and len(others) * 10 > len(values):
        # Most are equal, and yet many differ: then it counts how far those do.
        usual = others[len(others) // 2]
    far = [place for place, distance in enumerate(distances) if distance > FAR * usual]
    if len(far) * 10 > len(values):
        return []
    far.sort(key=lambda place: (-distances[place], place))
    why = f"far from the median {cells[places[median_place]]}"
    return [Odd(index=places[place], why=why, alike=1) for place in far[:SHOWN]]


def _rare(cells: Sequence[str]) -> list[Odd]:
    counts = Counter(cells)
    usual, most = counts.most_common(1)[0]
    if most * 10 >= len(cells) * 8:
        why = f"not {_short(usual)}"
        rare = [cell for cell in counts if cell != usual]
    elif len(counts) <= 20:
        why = "rare"
        rare = [cell for cell, count in counts.items() if count * len(counts) * 10 <= len(cells)]
    else:
        return []
    first = dict[str, int]()
    for index, cell in enumerate(cells):
        first.setdefault(cell, index)
    # The rarest first: where many differ from the usual, those are the odd ones among them.
    rare.sort(key=lambda cell: (counts[cell], first[cell]))
    return [Odd(index=first[cell], why=why, alike=counts[cell]) for cell in rare[:SHOWN]]


def _short(cell: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in cell[:25])
    return plain if len(cell) <= 24 else plain[:24] + "…"
