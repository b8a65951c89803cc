"""Run `main()` of every `bench_*.py` in this folder, or only of those named on the command line."""

import importlib
import pkgutil
import sys

import benchmarks


def main(wanted: list[str]) -> int:
    found = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_"))
    unknown = sorted(set(wanted) - set(found))
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(found)}", file=sys.stderr)
        return 2
    for name in wanted or found:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
