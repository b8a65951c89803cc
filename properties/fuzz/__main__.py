"""`python -m properties.fuzz`: fuzz every target, or one, for so many seconds each."""

import argparse
import importlib
import subprocess
import sys
import traceback
from hashlib import sha256
from pathlib import Path
from typing import Final

from properties.fuzz import with_atheris
from properties.fuzz.mutation import CORPUS

KEPT: Final = Path(".hypothesis") / "fuzz"
"""Grown inputs and findings, by target; not tracked."""

NAMES: Final = sorted(path.name for path in CORPUS.iterdir())


def main() -> int:
    """0 where every promise held; 1 with the broken ones told."""
    parser = argparse.ArgumentParser(prog="python -m properties.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    parser.add_argument("--target", choices=NAMES, action="append", help="only this one; may be repeated")
    parser.add_argument("--engine", choices=("atheris", "hypothesis"), help="default: atheris if installed")
    parser.add_argument("--seed", type=int, default=0, help="of the choices; atheris takes 0 as any")
    parser.add_argument(
        "--alone", action="store_true", help=argparse.SUPPRESS
    )  # this process is the target's
    asked = parser.parse_args()
    engine = asked.engine or ("atheris" if with_atheris.installed() else "hypothesis")
    if asked.alone:  # this process is the target's, and ends in it
        (name,) = asked.target
        with_atheris.run(name, asked.seconds, asked.seed, KEPT / name)
    broken = [
        name
        for name in asked.target or NAMES
        if not (by_atheris if engine == "atheris" else by_hypothesis)(name, asked.seconds, asked.seed)
    ]
    print(f"broken: {', '.join(broken)}" if broken else f"{engine}: every promise held")
    return 1 if broken else 0


def by_atheris(name: str, seconds: int, seed: int) -> bool:
    print(f"== {name}, {seconds} s, atheris", flush=True)
    command = [sys.executable, "-m", "properties.fuzz", "--alone", "--target", name]
    command += ["--seconds", str(seconds), "--seed", str(seed)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    told = (done.stdout + done.stderr).splitlines()
    if done.returncode == 0:
        told = [line for line in told if "DONE" in line or line.startswith("stat::number")]
    print("\n".join(told[-40:]), flush=True)
    return done.returncode == 0


def by_hypothesis(name: str, seconds: int, seed: int) -> bool:
    print(f"== {name}, {seconds} s, hypothesis", flush=True)
    guided = importlib.import_module("properties.fuzz.guided")
    ran = guided.run(name, seconds, seed)
    print(f"{ran.executions} executions, {ran.lines} lines of jingwei, {ran.kept} inputs kept")
    if ran.finding is None:
        return True
    data, error = ran.finding
    place = KEPT / name / "findings"
    place.mkdir(parents=True, exist_ok=True)
    found = place / f"crash-{sha256(data).hexdigest()[:16]}"
    found.write_bytes(data)
    traceback.print_exception(error)
    print(f"the input is in {found}")
    return False


if __name__ == "__main__":
    sys.exit(main())
