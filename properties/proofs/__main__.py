"""`python -m properties.proofs run | check | walk`: see docs/proofs.md.

`run` asks CrossHair for every contract, with and without its bug, each in a process of its own, walks the
worlds, and fails where an answer differs from what is on record. `--record` puts the answers on record.
CrossHair is expected in build/proofs/tools, where `make proofs` puts it.
"""

import argparse
import contextlib
import os
import platform
import re
import resource
import runpy
import subprocess
import sys
import time
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from properties.proofs import worlds
from properties.proofs.record import RECORD, Answer, Record, Walked, read, written
from properties.proofs.table import contract, contracts, planted

ROOT: Final = Path(__file__).parents[2]
TOOLS: Final = ROOT / "build" / "proofs" / "tools"
LONGEST: Final = 20
"""Steps of the longest plan whose states are walked."""


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m properties.proofs")
    parser.add_argument("what", choices=("run", "check", "walk"))
    parser.add_argument("only", nargs="*", help="names of contracts; all where none is given")
    parser.add_argument("--seconds", type=int, default=300, help="processor time for one contract")
    parser.add_argument("--bug", action="store_true", help="check: with the bug of the contract in place")
    parser.add_argument("--record", action="store_true", help="run: put the answers on record")
    options = parser.parse_intermixed_args()
    sys.path.append(str(TOOLS))
    match options.what:
        case "check":
            return _crosshair(options.only[0], options.seconds, bug=options.bug)
        case "walk":
            _walk()
            return 0
        case _:
            return _run(options.only, options.seconds, record=options.record)


def _crosshair(name: str, seconds: int, *, bug: bool) -> int:
    """Hand this process over to CrossHair."""
    target = f"{__package__}.{name}"
    flags = ("--analysis_kind=asserts", "--report_all", f"--per_condition_timeout={seconds}")
    sys.argv = ["crosshair", "check", *flags, target]
    with planted(contract(name).bug) if bug else contextlib.nullcontext():
        runpy.run_module("crosshair", run_name="__main__")
    return 0


def _asked(name: str, seconds: int, *, bug: bool) -> tuple[str, float, str]:
    """CrossHair's answer, the processor seconds that it took, and its own words."""
    command = [sys.executable, "-m", "properties.proofs", "check", name, f"--seconds={seconds}"]
    began = _spent()
    done = subprocess.run(
        [*command, "--bug"] if bug else command,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    words = (done.stdout + done.stderr).strip()
    return _read(done.stdout), round(_spent() - began, 1), words


def _spent() -> float:
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(words: str) -> str:
    for told, answer in _ANSWERS.items():
        if re.search(told, words):
            return answer
    return "broken"


_ANSWERS: Final = {
    ": error: ": "refuted",
    "Confirmed over all paths": "confirmed",
    "Not confirmed": "open",
    "Unable to meet precondition": "empty",
}


def _run(only: list[str], seconds: int, *, record: bool) -> int:
    before, answers, bad = read(), dict[str, Answer](), list[str]()
    for one in contracts():
        if only and one.name not in only:
            continue
        answer, took, words = _asked(one.name, seconds, bug=False)
        found, bug_took, bug_words = _asked(one.name, seconds, bug=True)
        print(f"{one.name}: {answer}, {took} s; its bug: {found}, {bug_took} s", flush=True)
        answers[one.name] = Answer(answer=answer, seconds=took, bug=found, bug_seconds=bug_took)
        known = before.answers.get(one.name)
        if answer != ("confirmed" if known is None else known.answer):
            bad.append(f"{one.name}: {words}")
        if found != "refuted":
            bad.append(f"{one.name}, with its bug: {bug_words}")
    walked = None if only else _walk()
    print("\n".join(bad))
    if record:
        both = {**before.answers, **answers}
        kept = {one.name: both[one.name] for one in contracts() if one.name in both}
        made = Record(_today(), _tools(), kept, walked or before.walked)
        RECORD.write_text(written(made), encoding="utf-8")
    return 1 if bad else 0


def _walk() -> Walked:
    """Every state that a search over a short plan reaches; see `worlds.py`."""
    began, states, steps, most = time.process_time(), 0, 0, 0
    for last in range(LONGEST + 1):
        walked = worlds.checked(last)
        states += walked.states
        steps += walked.steps
        most = max(most, walked.counts)
    took = round(time.process_time() - began, 1)
    print(f"{states} states of searches over up to {LONGEST} steps, {steps} counts, {took} s")
    return Walked(longest=LONGEST, states=states, steps=steps, most=most, seconds=took)


def _today() -> str:
    return time.strftime("%Y-%m-%d")


def _tools() -> dict[str, str]:
    found = {dist.metadata["Name"]: dist.version for dist in distributions(path=[str(TOOLS)])}
    return {
        "crosshair-tool": found["crosshair-tool"],
        "z3-solver": found["z3-solver"],
        "Python": platform.python_version(),
    }


if __name__ == "__main__":
    sys.exit(main())
