"""Runs the properties against mutants: one process each, forked from one that is warm.

Two ways in:

- `Warm`: jingwei and the properties are imported once. A fork compiles the changed file and gives every live
  function of the changed unit its new code. Fast, but blind to what runs at import.
- `Fresh`: the fork comes from a process that has not imported jingwei; an import hook loads the changed file.
  For what runs at import, and for a second look at whatever the fast way did not kill.

Both stop at the first property that fails. A property that takes too much processor time is ended by the
kernel, which counts as a catch (an endless loop); the address space is bounded, too.
"""

import gc
import json
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, cast

import cattrs  # noqa: F401  # warm what a fresh import of jingwei needs, for all forks at once
import pytest
from _pytest.runner import runtestprotocol
from typing_extensions import override

from properties.mutation.mutants import Mutant, mutated

PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", "-p", "no:terminalreporter")
LEFT_OUT = ("planted_bugs", "determinism", "map")
"""Properties that start other processes, which the mutant does not reach, or look at pages only."""

_MEMORY = 3 * 2**30
_SECONDS_MIN, _SECONDS_TIMES = 4.0, 8.0
"""How much processor time a property may take: at least so much, and so many times what it took unchanged."""


def asked_files() -> list[str]:
    """The files with properties that are asked."""
    found = sorted(Path("properties").glob("test_*.py"))
    return [str(path) for path in found if path.stem.removeprefix("test_") not in LEFT_OUT]


class Baseline(NamedTuple):
    """What one run of the unchanged code told.

    Attributes:
        seconds: processor time per property.
        lines: per file and line, the properties that execute it.
        imports: per file, the lines that run while jingwei and the properties are imported.
    """

    seconds: dict[str, float]
    lines: Mapping[str, Mapping[int, list[str]]]
    imports: Mapping[str, set[int]]

    def covering(self, mutant: Mutant, *, at_import: bool) -> list[str]:
        """The properties that can see the mutant: all where it changes what runs `at_import`, if wanted."""
        lines = range(mutant.line, mutant.last_line + 1)
        if not mutant.unit or (at_import and any(line in self.imports[mutant.file] for line in lines)):
            return list(self.seconds)
        found = {name for line in lines for name in self.lines[mutant.file].get(line, ())}
        return [name for name in self.seconds if name in found]


class Verdict(NamedTuple):
    """What became of a mutant: killed, timeout, survived, unseen (no property executes it), or unsure.

    `unsure` is a survivor of the fast way, or of a run that was cut short: the slow way has the last word.
    """

    status: str
    by: str
    seconds: float


class Order:
    """Which property to ask first: those that killed neighbours and are quick. Learns from every kill."""

    def __init__(self, baseline: Baseline) -> None:
        self.baseline = baseline
        self.kills: defaultdict[tuple[str, str], int] = defaultdict(int)

    def learn(self, mutant: Mutant, name: str) -> None:
        for place in (mutant.file, mutant.file + mutant.unit):
            self.kills[place, name] += 1

    def sorted(self, mutant: Mutant, *, at_import: bool) -> list[str]:
        def weight(name: str) -> float:
            near, far = self.kills[mutant.file + mutant.unit, name], self.kills[mutant.file, name]
            return (0.2 + 5 * near + far) / (0.02 + self.baseline.seconds[name])

        return sorted(self.baseline.covering(mutant, at_import=at_import), key=weight, reverse=True)


# --- in the fork ------------------------------------------------------------------------------------


def ask(items: Mapping[str, pytest.Item], names: Sequence[str], baseline: Baseline, patience: float) -> str:
    """The first of the properties that fails; empty if none does, `-` if patience ran out before."""
    started = time.process_time()
    for name in names:
        if name not in items:
            continue
        if time.process_time() - started > patience:
            return "-"
        seconds = max(_SECONDS_MIN, _SECONDS_TIMES * baseline.seconds[name])
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, 20 * seconds)
        reports = runtestprotocol(items[name], log=False, nextitem=None)
        if any(report.failed for report in reports):
            return name
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return ""


def _quiet() -> None:
    """No output, bounded memory; a hung fork is ended by the kernel's own alarm."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


class Pool:
    """Forks up to `jobs` at a time. A fork answers with a line of text in a pipe, or dies of its alarm."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.running: dict[int, tuple[Mutant, int, float]] = {}

    def start(self, mutant: Mutant, work: Callable[[], str]) -> None:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                _quiet()
                os.write(writer, work().encode() or b"=")
                os._exit(0)
            except BaseException as error:
                os.write(writer, f"?{error!r}".encode())
            finally:
                os._exit(1)
        os.close(writer)
        self.running[pid] = (mutant, reader, time.monotonic())

    def finished(self, *, below: int) -> Iterator[tuple[Mutant, str, float]]:
        """Wait until fewer than `below` run: the mutant, its answer (`!` if it died) and the seconds."""
        while len(self.running) >= max(below, 1):
            pid, status = os.waitpid(-1, 0)
            if pid in self.running:
                mutant, reader, started = self.running.pop(pid)
                answer = os.read(reader, 4096).decode()
                os.close(reader)
                if answer.startswith("?") or not (answer or os.WIFSIGNALED(status)):
                    sys.exit(f"the runner failed at {mutant}: {answer}")
                yield mutant, answer or "!", time.monotonic() - started


def hunt(
    mutants: Sequence[Mutant],
    jobs: int,
    order: Order,
    work: Callable[[Mutant, list[str]], str],
    told: Callable[[Mutant, Verdict], None],
    *,
    at_import: bool,
    final: bool,
) -> None:
    """Run `work` for each mutant in a fork and tell the verdicts, as they come."""
    pool = Pool(jobs)

    def settle(below: int) -> None:
        for mutant, answer, seconds in pool.finished(below=below):
            open_status = "survived" if final and answer == "=" else "unsure"
            status = {"=": open_status, "-": "unsure", "!": "timeout"}.get(answer, "killed")
            if status == "killed" and answer in order.baseline.seconds:
                order.learn(mutant, answer)
            told(mutant, Verdict(status, answer if status == "killed" else "", round(seconds, 2)))

    for mutant in mutants:
        names = order.sorted(mutant, at_import=at_import)
        if not names:
            told(mutant, Verdict("unseen", "", 0.0))
            continue
        settle(jobs)
        pool.start(mutant, lambda m=mutant, n=names: work(m, n))  # type: ignore[misc]
    settle(1)


# --- the fast way ------------------------------------------------------------------------------------


class Warm:
    """A plugin of pytest that hunts mutants where pytest would run its tests."""

    def __init__(self, sources: Mapping[str, bytes], run: Callable[["Warm"], None]) -> None:
        self.sources, self.run = sources, run
        self.items: dict[str, pytest.Item] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        runtestprotocol(session.items[0], log=False, nextitem=None)  # fills Hypothesis' own caches
        self.functions: defaultdict[tuple[str, str], list[FunctionType]] = defaultdict(list)
        for found in gc.get_objects():
            if isinstance(found, FunctionType):
                self.functions[found.__code__.co_filename, found.__code__.co_qualname].append(found)
        gc.freeze()
        self.run(self)
        return True

    def go(self) -> None:
        """Collect the properties, and hunt."""
        pytest.main([*PYTEST, *asked_files()], plugins=[self])

    def plant(self, mutant: Mutant) -> None:
        """Give the live functions of the mutant's unit their new code."""
        path = str(Path(mutant.file).resolve())
        new = compile(mutated(self.sources[mutant.file], mutant), path, "exec", dont_inherit=True)
        changed: defaultdict[str, list[CodeType]] = defaultdict(list)
        for code in _codes(new):
            changed[code.co_qualname].append(code)
        for qualname, codes in changed.items():
            if qualname == mutant.unit or qualname.startswith(f"{mutant.unit}.<locals>."):
                for function in self.functions[path, qualname]:
                    if len(codes) == 1 and codes[0].co_freevars == function.__code__.co_freevars:
                        function.__code__ = codes[0]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


# --- the slow way ------------------------------------------------------------------------------------


class _Planted(SourceLoader):
    """Finds and loads one module with the mutant in it, never from a cache of compiled files."""

    def __init__(self, file: str, text: str) -> None:
        self.path, self.text = str(Path(file).resolve()), text
        self.name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        spec.loader = self
        return spec

    @override
    def get_filename(self, fullname: str) -> str:
        return self.path

    @override
    def get_data(self, path: str | bytes) -> bytes:
        return self.text.encode()


class Fresh:
    """A plugin of pytest that asks the properties in a given order, in a process of its own."""

    def __init__(self, names: Sequence[str], baseline: Baseline, patience: float) -> None:
        self.names, self.baseline, self.patience = names, baseline, patience
        self.answer = "import"

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed == 0:
            items = {item.nodeid: item for item in session.items}
            self.answer = ask(items, self.names, self.baseline, self.patience)
        return True


def freshly(mutant: Mutant, source: bytes, fresh: Fresh) -> str:
    """Import everything with the mutant in it, and ask; `import` if that fails already."""
    assert not any(name == "jingwei" or name.startswith("jingwei.") for name in sys.modules)
    sys.meta_path.insert(0, cast(MetaPathFinder, _Planted(mutant.file, mutated(source, mutant))))
    signal.setitimer(signal.ITIMER_PROF, 60)
    files = sorted({name.split("::")[0] for name in fresh.names})
    pytest.main([*PYTEST, *files], plugins=[fresh])
    return fresh.answer


# --- the unchanged code ------------------------------------------------------------------------------


class _Measure:
    """A plugin of pytest that writes down what each property executes and how long it takes."""

    def __init__(self, coverage: Any) -> None:
        self.coverage, self.seconds, self.failed = coverage, dict[str, float](), list[str]()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:
            self.coverage.switch_context(item.nodeid)
            started = time.process_time()
            reports = runtestprotocol(item, log=False, nextitem=None)
            self.seconds[item.nodeid] = time.process_time() - started
            self.failed += [item.nodeid for report in reports if report.failed]
        return True


def measure(files: Sequence[str], properties: Mapping[str, Path]) -> None:
    """Run some files of properties once, unchanged, and write of each what it executes."""
    import coverage  # only here: it must not be loaded where mutants run

    watch = coverage.Coverage(
        data_file=None, include=[str(Path(f).resolve()) for f in files], config_file=False
    )
    watch.start()
    plugin = _Measure(watch)
    pytest.main([*PYTEST, *properties], plugins=[plugin])
    watch.stop()
    slow = [name for name, seconds in plugin.seconds.items() if seconds > _SLOW]
    for name in {*plugin.failed, *slow}:
        print("left out, since it", "is slow:" if name in slow else "fails without any mutant:", name)
        del plugin.seconds[name]
    data: Any = watch.get_data()
    contexts = {file: data.contexts_by_lineno(str(Path(file).resolve())) for file in files}
    for one, to in properties.items():
        seconds = {name: taken for name, taken in plugin.seconds.items() if name.startswith(f"{one}::")}
        lines = {
            file: {
                line: [name for name in names if not name or name in seconds] for line, names in of.items()
            }
            for file, of in contexts.items()
        }
        to.write_text(json.dumps({"seconds": seconds, "lines": lines}), encoding="utf-8")


_SLOW = 12.0
"""Seconds, watched by coverage: the small worlds take longer."""


def read_baseline(paths: Iterable[Path]) -> Baseline:
    """What `measure` wrote, put together."""
    seconds = dict[str, float]()
    lines: defaultdict[str, defaultdict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    imports: defaultdict[str, set[int]] = defaultdict(set)
    for path in paths:
        read = json.loads(path.read_text(encoding="utf-8"))
        seconds |= read["seconds"]
        for file, of in read["lines"].items():
            for line, names in of.items():
                lines[file][int(line)] += [name for name in names if name]
                if "" in names:
                    imports[file].add(int(line))
    return Baseline(seconds, lines, imports)
