"""How the benchmarks measure: runs interleaved in one process, the best of several, and ratios between them.

Seconds of a shared machine say little; a ratio of two runs that took turns in one process says more. So
every target is a ratio, a count or a number of bytes.
"""

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import final

import attrs


@final
@attrs.frozen
class Row:
    """One line of a table.

    Attributes:
        name: what was measured.
        value: the number.
        unit: of the number; `x` for a ratio.
        limit: the most that the number may be; None where it is only shown.
    """

    name: str
    value: float
    unit: str = "x"
    limit: float | None = None

    @property
    def missed(self) -> bool:
        return self.limit is not None and self.value > self.limit


def best_of(repeats: int, runs: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest time of each run, in seconds; the runs take turns, `repeats` times.

    What a run returns is dropped after its time was taken, and the garbage of earlier runs collected
    before: nobody pays for another's memory. The collector stays on, as it is for a host, but what the
    benchmark itself holds is frozen: walking it would lengthen every run and flatter every ratio.
    """
    best = dict.fromkeys(runs, float("inf"))
    gc.collect()
    gc.freeze()
    for _ in range(repeats):
        for name, run in runs.items():
            gc.collect()
            start = time.perf_counter()
            kept = run()
            best[name] = min(best[name], time.perf_counter() - start)
            del kept
    gc.unfreeze()
    return best


def show(title: str, rows: Iterable[Row], note: str = "") -> list[Row]:
    """Print a table and hand its rows back."""
    held: Sequence[Row] = list(rows)
    print(f"\n{title}" + (f" ({note})" if note else ""))
    width = max(len(row.name) for row in held)
    for row in held:
        number = (
            f"{row.value:,.0f}" if row.unit != "x" and row.value == int(row.value) else f"{row.value:.2f}"
        )
        target = "" if row.limit is None else f"at most {row.limit:g}  {'MISSED' if row.missed else 'ok'}"
        print(f"  {row.name:{width}}  {number:>12} {row.unit:8}  {target}".rstrip(), flush=True)
    return list(held)
