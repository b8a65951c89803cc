"""`python -m properties.mutation run | sample | report`: see docs/mutation.md.

The run works on a copy of jingwei and the properties, so that the checkout may change meanwhile. Verdicts go
to a journal as they come; a mutant with a final verdict is not run again while the text of its function and
the properties stay the same.
"""

import argparse
import functools
import hashlib
import json
import os
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from properties.mutation.mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build/mutation"
JOURNAL, KNOWN = "journal.jsonl", Path("properties/mutation/survivors.json")
SEED = 20261130
ROOMS = ("drafts", "events", "messages", "projection", "request", "selection")
FILES = ("build.py", "codec.py", "jsontext.py", "persistent.py")
"""What is mutated, inside jingwei/."""

LAST_PATIENCE = 300.0
"""Seconds that a mutant gets in the last pass: enough for every property that executes it."""

KILLED = frozenset({"killed", "timeout"})
FINAL = KILLED | {"survived", "unseen"}


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m properties.mutation")
    parser.add_argument("what", choices=("run", "sample", "report"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--patience", type=float, default=6.0, help="seconds a mutant gets the first time")
    parser.add_argument("--size", type=int, default=60, help="mutants of a sample")
    parser.add_argument("--only", default="", help="only files that start so")
    parser.add_argument(
        "--ways", default="warm,fresh,last", help="which passes, so that two can share a journal"
    )
    parser.add_argument("--tree", default="tree", help="the name of the copy")
    parser.add_argument("--again", action="store_true", help="go on with the copy of the last run")
    options = parser.parse_args()
    if options.what == "report":
        return _report(BUILD, BUILD / options.tree)
    if os.environ.get("JINGWEI_MUTATION") != "here":
        _copy_and_go(BUILD / (options.tree if options.what == "run" else "sample"), again=options.again)
    return _hunt(options)


def _copy_and_go(tree: Path, *, again: bool) -> None:
    """Start again inside a copy of the sources."""
    if not again:
        shutil.rmtree(tree, ignore_errors=True)
    for room in () if again else ("jingwei", "properties"):
        shutil.copytree(ROOT / room, tree / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    variables = {"JINGWEI_MUTATION": "here", "JINGWEI_MUTATION_BUILD": str(BUILD), "PYTHONPATH": str(tree)}
    settings = {"HYPOTHESIS_PROFILE": "mutation", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
    os.chdir(tree)
    os.execve(
        sys.executable,
        [sys.executable, "-m", "properties.mutation", *sys.argv[1:]],
        {**os.environ, **variables, **settings},
    )


def _files() -> list[str]:
    found = [Path("jingwei") / file for file in FILES]
    for room in ROOMS:
        found += sorted((Path("jingwei") / room).glob("*.py"))
    return [str(path) for path in found]


def _hunt(options: argparse.Namespace) -> int:
    from properties.mutation import runner  # pytest is needed in the copy only

    build = Path(os.environ["JINGWEI_MUTATION_BUILD"])
    files = _files()
    sources = {file: Path(file).read_bytes() for file in files}
    asked = runner.asked_files()
    beside = [
        p
        for p in sorted([*Path("jingwei").rglob("*.py"), *Path("properties").glob("*.py")])
        if str(p) not in asked
    ]
    states = {file: _digest([*beside, Path(file)]) for file in asked}
    state = _digest([*beside, *map(Path, asked)])
    measured = {file: build / f"baseline-{Path(file).stem}-{states[file]}.json" for file in asked}
    stale = {file: path for file, path in measured.items() if not path.exists()}
    _in_forks([functools.partial(runner.measure, files, part) for part in _parts(stale, options.jobs)])
    baseline = runner.read_baseline(measured.values())
    order = runner.Order(baseline)

    mutants = [m for file in files for m in mutants_of(build.parents[1], file, sources[file])]
    mutants.sort(key=_drawn)
    journal = build / JOURNAL if options.what == "run" else build / f"sample-{os.getpid()}.jsonl"
    if options.what == "sample":
        mutants = mutants[: options.size]
    else:
        (build / "mutants.json").write_text(json.dumps([m._asdict() for m in mutants]), encoding="utf-8")
    mutants = [m for m in mutants if m.file.startswith(options.only)]

    def told(mutant: Mutant, verdict: runner.Verdict) -> None:
        line = {
            **verdict._asdict(),
            "id": mutant.id,
            "file": mutant.file,
            "unit": mutant.unit,
            "state": state,
        }
        with journal.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    before = _settled(journal, state)
    for line in _lines(journal):
        if line["status"] == "killed" and line["by"] in baseline.seconds:
            order.learn(Mutant(line["id"], line["file"], line["unit"], 0, 0, 0, 0, ""), line["by"])
    seen = {m.id for m in mutants if m.unit and baseline.covering(m, at_import=False)}
    quick = [m for m in mutants if m.id not in before and m.id in seen]

    def warm_work(warm: runner.Warm, mutant: Mutant, names: list[str]) -> str:
        warm.plant(mutant)
        return runner.ask(warm.items, names, baseline, options.patience)

    def warmly(warm: runner.Warm) -> None:
        runner.hunt(
            quick, options.jobs, order, lambda m, n: warm_work(warm, m, n), told, at_import=False, final=False
        )

    warm = runner.Warm(sources, warmly)
    if quick and "warm" in options.ways:
        _in_forks([warm.go])

    def fresh_work(mutant: Mutant, names: list[str], patience: float) -> str:
        return runner.freshly(mutant, sources[mutant.file], runner.Fresh(names, baseline, patience))

    def first_work(mutant: Mutant, names: list[str]) -> str:
        near = {name.split("::")[0] for name in names[:8]}  # most die early: collect little
        return fresh_work(mutant, [n for n in names if n.split("::")[0] in near], options.patience)

    def last_work(mutant: Mutant, names: list[str]) -> str:
        return fresh_work(mutant, names, LAST_PATIENCE)

    if "fresh" in options.ways:
        before = _settled(journal, state)
        first = [m for m in mutants if m.id not in before and m.id not in seen]
        runner.hunt(first, options.jobs, order, first_work, told, at_import=True, final=False)
    if "last" in options.ways:
        before = _settled(journal, state)
        # Who looks at a sample wants to know of strangers; a whole run tries the known ones again, too.
        known = _known() if options.what == "sample" else {}
        rest = [m for m in mutants if before.get(m.id) == "unsure" and key(m, sources[m.file]) not in known]
        runner.hunt(rest, options.jobs, order, last_work, told, at_import=True, final=True)
    return (
        _report(build, Path())
        if options.what == "run"
        else _judged(journal, {m.id: m for m in mutants}, sources)
    )


def _drawn(mutant: Mutant) -> str:
    """A place in the order that follows from the mutant alone: an edit elsewhere draws no other sample."""
    return hashlib.sha256(f"{SEED}:{mutant.id}".encode()).hexdigest()


def _known() -> dict[str, str]:
    """The survivors that were looked at, with their reasons."""
    return json.loads(KNOWN.read_text(encoding="utf-8")) if KNOWN.exists() else {}


def _digest(paths: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def _parts(stale: dict[str, Path], count: int) -> list[dict[str, Path]]:
    """The files of properties in so many parts, about equally long."""
    longest = sorted(stale, key=lambda file: -Path(file).stat().st_size)
    return [{file: stale[file] for file in longest[start::count]} for start in range(min(count, len(stale)))]


def _in_forks(works: Sequence[Callable[[], None]]) -> None:
    """Do things that import jingwei, without importing it here; all at once."""
    pids = list[int]()
    for work in works:
        pids.append(os.fork())
        if pids[-1] == 0:
            try:
                work()
                os._exit(0)
            finally:
                traceback.print_exc()
                os._exit(1)
    ends = [os.waitpid(pid, 0)[1] for pid in pids]
    if any(ends):
        sys.exit("could not go on")


def _settled(journal: Path, state: str) -> dict[str, str]:
    """The last word on each mutant; what survived other properties, or beside other code, is forgotten."""
    lines = [line for line in _lines(journal) if line["status"] in KILLED or line.get("state") == state]
    return {line["id"]: line["status"] for line in lines}


def _lines(journal: Path) -> Iterator[dict[str, str]]:
    if journal.exists():
        for line in journal.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def key(mutant: Mutant, source: bytes) -> str:
    """Names a mutant for people and for the list of known survivors; stays the same when lines move."""
    before = source[mutant.start : mutant.end].decode()
    return " ".join(f"{mutant.file} {mutant.unit or '(import)'}: {before}  ->  {mutant.after}".split())


def _judged(journal: Path, mutants: dict[str, Mutant], sources: dict[str, bytes]) -> int:
    """The verdict on a sample: every survivor must be known."""
    status = {line["id"]: line["status"] for line in _lines(journal)}
    known = _known()
    alive = [m for m in mutants.values() if status.get(m.id) not in KILLED]
    strangers = [m for m in alive if key(m, sources[m.file]) not in known]
    print(f"{len(mutants)} mutants, {len(mutants) - len(alive)} killed, {len(strangers)} unknown survivors")
    for mutant in strangers:
        print(f"{mutant.file}:{mutant.line}: {key(mutant, sources[mutant.file])}")
    return 1 if strangers else 0


def _report(build: Path, tree: Path) -> int:
    """Print the score, room by room, and write the survivors with their places."""
    mutants = [Mutant(**m) for m in json.loads((build / "mutants.json").read_text(encoding="utf-8"))]
    # A kill stands: a later pass under less time may not have come to the property that kills.
    lines = sorted(_lines(build / JOURNAL), key=lambda line: line["status"] in KILLED)
    status = {line["id"]: line["status"] for line in lines}
    by_file = Counter((m.file, status.get(m.id, "not run")) for m in mutants)
    columns = ("killed", "timeout", "survived", "unseen", "unsure", "not run")
    print("| file |", " | ".join(columns), "|")
    for file in (*sorted({m.file for m in mutants}), ""):
        counts = [sum(n for (f, s), n in by_file.items() if s == c and file in ("", f)) for c in columns]
        print(f"| {file or 'all'} |", " | ".join(map(str, counts)), "|")
    with (build / "survivors.txt").open("w", encoding="utf-8") as out:
        for mutant in sorted(mutants, key=lambda m: (m.file, m.start)):
            if status.get(mutant.id) in ("survived", "unseen", "unsure"):
                source = (tree / mutant.file).read_bytes()
                print(f"{status[mutant.id]} {mutant.file}:{mutant.line} {key(mutant, source)}", file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
