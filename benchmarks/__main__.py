"""Run `main()` of every `bench_*.py` in this folder, or only of those named on the command line.

With `--check` the exit code is 1 when a target was missed; without it the tables are only printed.
"""

import importlib
import pkgutil
import sys

import benchmarks
from benchmarks.measure import Row


def main(arguments: list[str]) -> int:
    wanted = [argument for argument in arguments if argument != "--check"]
    found = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_"))
    unknown = sorted(set(wanted) - set(found))
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(found)}", file=sys.stderr)
        return 2
    missed = list[Row]()
    for name in wanted or found:
        print(f"== {name}", flush=True)
        rows: list[Row] = importlib.import_module(f"benchmarks.{name}").main()
        missed += [row for row in rows if row.missed]
    for row in missed:
        print(f"missed: {row.name}: {row.value:.2f} {row.unit}, at most {row.limit:g}", file=sys.stderr)
    return 1 if missed and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
