"""Run the checkers over a pretend host and over wrong uses, and say what is not as it should be.

mypy strict with the plugin of returns, mypy strict without it (as in a host's project), pyright strict.
Each runs once, over all files, and beside the others; its answer is read line by line.

`test_checkers.py` asks about the checkout. As a script it asks about the jingwei that another interpreter
has installed, and that one alone: `.ci/run` does so with the wheel, from a copy of this folder.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeAlias

HERE: Final = Path(__file__).resolve().parent
HOSTS: Final = ("host.py", "host_rooms.py")
WRONG: Final = ("wrong_uses.py", "wrong_rooms.py")
KEPT_OUT: Final = "# mypy: ignore-errors"
CHECKERS: Final = ("mypy with the plugin", "mypy without the plugin", "pyright")

Errors: TypeAlias = dict[tuple[str, int], str]
"""Each line with an error, as (file, line): what is said of it first."""


def main() -> int:
    """0 where the host is accepted and exactly the wrong uses are rejected, by every checker."""
    (_, python) = sys.argv
    with tempfile.TemporaryDirectory() as place:
        asked = answers(Path(place), python, Path(place) / "cache", None)
    slips = [f"{checker}: {slip}" for checker in CHECKERS for slip in amiss(asked[checker])]
    print(
        "\n".join(slips) or f"{len(marked())} wrong uses rejected, the host accepted, by: {', '.join(asked)}"
    )
    return 1 if slips else 0


def amiss(errors: Errors) -> list[str]:
    """What one checker should not have said, and what it should have."""
    wrong = marked()
    said = [f"{file}:{line}: {text}" for (file, line), text in errors.items() if (file, line) not in wrong]
    return said + [f"{file}:{line}: accepted" for file, line in sorted(wrong - errors.keys())]


def marked() -> set[tuple[str, int]]:
    """The lines that are wrong."""
    return {
        (name, number)
        for name in WRONG
        for number, line in enumerate((HERE / name).read_text().splitlines(), 1)
        if line.endswith("# wrong")
    }


def answers(place: Path, python: str, cache: Path, source: Path | None) -> dict[str, Errors]:
    """What each checker says.

    Args:
        place: an empty folder, for a host's project of its own: these files and nothing else.
        python: the interpreter whose packages are read.
        cache: where mypy keeps what it knows.
        source: a folder that is read before the packages; None for the packages alone.
    """
    for name in HOSTS:
        shutil.copy(HERE / name, place)
    for name in WRONG:
        wrong = (HERE / name).read_text()
        assert wrong.startswith(KEPT_OUT + "\n")
        (place / name).write_text(wrong.replace(KEPT_OUT, "#", 1))
    with ThreadPoolExecutor() as pool:
        running = (
            pool.submit(mypy, place, python, "plugin", cache, source),
            pool.submit(mypy, place, python, "plain", cache, source),
            pool.submit(pyright, place, python, source),
        )
        return {name: future.result() for name, future in zip(CHECKERS, running, strict=True)}


def mypy(place: Path, python: str, settings: str, cache: Path, source: Path | None) -> Errors:
    """Strict, with a cache for each of the settings."""
    inherited = {key: value for key, value in os.environ.items() if key != "MYPYPATH"}
    answer = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            f"--config-file={HERE / settings}.ini",
            f"--python-executable={python}",
            f"--cache-dir={cache / settings}",
            "--no-pretty",
            "--hide-error-context",
            "--no-error-summary",
            *HOSTS,
            *WRONG,
        ],
        cwd=place,
        env=inherited if source is None else {**inherited, "MYPYPATH": str(source)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert answer.returncode in {0, 1}, answer.stdout + answer.stderr
    return dict(parsed(answer.stdout))


def parsed(answer: str) -> Iterator[tuple[tuple[str, int], str]]:
    for line in reversed(answer.splitlines()):
        found = re.match(r"(?:.*/)?(\w+\.py):(\d+): error: (.*)", line)
        if found is not None:
            yield (found.group(1), int(found.group(2))), found.group(3)


def pyright(place: Path, python: str, source: Path | None) -> Errors:
    settings = {
        "include": ["."],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [] if source is None else [str(source)],
    }
    (place / "pyrightconfig.json").write_text(json.dumps(settings))
    answer = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", f"--pythonpath={python}"],
        cwd=place,
        capture_output=True,
        check=False,
        text=True,
    )
    assert answer.returncode in {0, 1}, answer.stdout + answer.stderr
    return {
        (Path(found["file"]).name, found["range"]["start"]["line"] + 1): found["message"]
        for found in reversed(json.loads(answer.stdout)["generalDiagnostics"])
        if found["severity"] == "error"
    }


if __name__ == "__main__":
    sys.exit(main())
