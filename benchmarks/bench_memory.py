"""Peak memory, each in a process of its own: a whole log at once, and a long log as a stream."""

import subprocess
import sys
import tracemalloc
from collections.abc import Iterable

from benchmarks.measure import Row, show
from benchmarks.workload import session_lines

MEGABYTE = 1024 * 1024


def main() -> list[Row]:
    size, peak = measured("whole", 1000)
    whole = show(
        "decode_log + project, 1,000 turns",
        [
            Row("peak beside the log / bytes of the log", peak / size, limit=5),
            Row("peak with the log / bytes of the log", (peak + size) / size, limit=5),
        ],
        f"{size / 1e6:.1f} MB, by tracemalloc",
    )
    short_size, short = measured("stream", 250)
    long_size, long = measured("stream", 2000)
    stream = show(
        "decode_events, the log made while it is read",
        [
            Row("peak of 2,000 turns / peak of 250 turns", long / short, limit=1.5),
            Row("peak of 2,000 turns", long / MEGABYTE, "MiB"),
        ],
        f"{short_size / 1e6:.1f} MB and {long_size / 1e6:.1f} MB",
    )
    return whole + stream


def measured(what: str, turns: int) -> tuple[int, int]:
    """Bytes of the log, and the peak of Python's allocations above where they stood before."""
    command = [sys.executable, "-m", "benchmarks.bench_memory", what, str(turns)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    size, peak = map(int, printed.split())
    return size, peak


def whole_log(turns: int) -> tuple[int, int]:
    from benchmarks.histories import log, projected

    data = log(turns)
    before = started()
    kept = projected(data)
    peak = tracemalloc.get_traced_memory()[1] - before
    del kept
    return len(data), peak


def streamed(turns: int) -> tuple[int, int]:
    """The session is generated line by line, so that nothing holds the log."""
    from benchmarks.histories import SEED
    from jingwei.events.wire import decode_events

    size = 0

    def chunks() -> Iterable[bytes]:
        nonlocal size
        for line in session_lines(SEED, turns):
            size += len(line)
            yield line

    before = started()
    for event in decode_events(chunks()):
        event.unwrap()
    return size, tracemalloc.get_traced_memory()[1] - before


def started() -> int:
    tracemalloc.start()
    return tracemalloc.get_traced_memory()[0]


if __name__ == "__main__":
    print(*{"whole": whole_log, "stream": streamed}[sys.argv[1]](int(sys.argv[2])))
