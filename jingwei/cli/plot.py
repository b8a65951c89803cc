"""The plot of a simulation: the size of every request, and what has been paid so far, per strategy."""

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Final

from jingwei.cli.describe import Said
from jingwei.cli.exits import Exit
from jingwei.cli.output import fail
from jingwei.report.cache import CachePrices
from jingwei.simulate import SimulatedCall

_WITHOUT_DATE: Final[dict[str, dict[str, str | None]]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Kinds of files, and what keeps the day out of each."""


def check_plot(path: str) -> None:
    """End the command where no plot could be made, before the work is done."""
    if Path(path).suffix.lower() not in _WITHOUT_DATE:
        hint = f"the ending says what kind of file is written: {', '.join(_WITHOUT_DATE)}"
        fail(Said(what=f"--plot {path}: expected another ending", hint=hint), Exit.USAGE)
    if find_spec("matplotlib") is None:
        hint = "pip install 'jingwei[plot]'; the table needs nothing more"
        fail(Said(what="--plot needs matplotlib, which is not installed", hint=hint), Exit.USAGE)


def save_plot(calls: Sequence[SimulatedCall], prices: CachePrices, title: str, path: str) -> None:
    """Write the plot to a file that `check_plot` let pass.

    The same calls give the same bytes with one version of matplotlib: no date, fixed ids.
    """
    # Here and not above: the command line does without matplotlib, and importing it takes a second.
    from matplotlib import rc_context  # pyright: ignore[reportUnknownVariableType]
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    size, paid = figure.subplots(2, 1, sharex=True)
    for place in dict.fromkeys(call.place for call in calls):
        made = [call for call in calls if call.place == place]
        label = made[0].strategy
        numbers = range(1, len(made) + 1)
        built = [(n, call.tokens) for n, call in zip(numbers, made, strict=True) if call.refused is None]
        broke = [(n, call.tokens) for n, call in zip(numbers, made, strict=True) if call.reason is not None]
        (line,) = size.plot(*_columns(built), label=label, linewidth=1)
        size.plot(*_columns(broke), "v", color=line.get_color(), markersize=3)
        costs = [float(call.cost(prices)) for call in made]
        paid.plot(numbers, list(accumulate(costs)), color=line.get_color())
    shown = "".join([character if " " <= character <= "~" else "?" for character in title])
    size.set_title(shown, parse_math=False)
    size.set_ylabel("tokens of the request\n(a mark: the prefix broke)")
    size.set_ylim(bottom=0)
    size.legend(loc="lower right")
    paid.set_ylabel("paid so far, in plain tokens")
    paid.set_xlabel("call of the model")
    size.yaxis.set_major_formatter("{x:,.0f}")
    paid.yaxis.set_major_formatter("{x:,.0f}")
    with rc_context({"svg.hashsalt": "jingwei"}):
        try:
            metadata = _WITHOUT_DATE[Path(path).suffix.lower()]
            figure.savefig(path, dpi=110, metadata=metadata)  # pyright: ignore[reportUnknownMemberType]
        except OSError as error:
            hint = "check that the folder exists and may be written to"
            fail(Said(what=f"{path}: {error.strerror or error}", hint=hint), Exit.FILE)


def _columns(points: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [number for number, _ in points], [tokens for _, tokens in points]
