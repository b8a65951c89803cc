"""How a build grows with its history."""

import functools

from benchmarks.bench_build import bisected
from benchmarks.histories import history, inputs
from benchmarks.measure import Row, best_of, show
from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.projection.records import Projection
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter
from jingwei.request.remembering import RememberingCounter
from jingwei.selection.search import Search

SIZES = (100, 200, 400, 1000, 2000, 4000)
WALKED = (100, 200, 400)


def main() -> list[Row]:
    return whole_windows() + small_windows() + walks()


def whole_windows() -> list[Row]:
    """Everything fits: validation, one count and a report over all messages must be linear."""
    counter = ByteHeuristicCounter()
    took = best_of(
        3,
        {
            str(turns): functools.partial(
                bisected, history(turns), inputs(history(turns), counter, 1.1), counter
            )
            for turns in (1000, 2000, 4000)
        },
    )
    return show(
        "a window of 110 %: nothing is dropped",
        [
            Row("2,000 turns / 1,000 turns", took["2000"] / took["1000"], limit=2.3),
            Row("4,000 turns / 2,000 turns", took["4000"] / took["2000"], limit=2.3),
            *[Row(f"{turns} turns", seconds * 1000, "ms") for turns, seconds in took.items()],
        ],
        "best of 3",
    )


def small_windows() -> list[Row]:
    """A window of 5 %, searched by halving."""
    counter = ByteHeuristicCounter()
    asked = {turns: inputs(history(turns), counter, 0.05) for turns in SIZES}
    took = best_of(3, {str(n): functools.partial(bisected, history(n), asked[n], counter) for n in SIZES})
    counts = {n: len(bisected(history(n), asked[n], counter).report.attempts) for n in SIZES}
    rows = [Row(f"{n} turns: {counts[n]} counts", took[str(n)] * 1000, "ms") for n in SIZES]
    growth = Row("4,000 turns / 2,000 turns", took["4000"] / took["2000"], limit=2.3)
    return show("BISECT to 5 %", [growth, *rows], "best of 3")


def walks() -> list[Row]:
    """A window of 5 %, every step counted: quadratic by its definition, shown and not judged."""
    counter = ByteHeuristicCounter()
    asked = {turns: inputs(history(turns), counter, 0.05) for turns in WALKED}
    took = best_of(1, {str(n): functools.partial(walked, history(n), asked[n], counter) for n in WALKED})
    rows = [Row(f"{n} turns, costs remembered", took[str(n)] * 1000, "ms") for n in WALKED]
    return show("LINEAR to 5 %", rows, "once")


def walked(projection: Projection, asked: BuildInputs, counter: AdditiveCounter) -> BuiltContext:
    return build(projection, asked, RememberingCounter(counter), search=Search.LINEAR).unwrap()
