"""Types as tests: a pretend host is accepted, and each wrong use rejected, by every checker.

mypy strict with the plugin of returns, mypy strict without it (as in a host's project), pyright strict.
Each runs once, over both files, and beside the others; its answer is read line by line.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeAlias

import pytest

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent.parent
KEPT_OUT: Final = "# mypy: ignore-errors"

Errors: TypeAlias = dict[tuple[str, int], str]
"""Each line with an error, as (file, line): what is said of it first."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host's project of its own: the two files and nothing else."""
    place = tmp_path_factory.mktemp("host")
    shutil.copy(HERE / "host.py", place)
    wrong = (HERE / "wrong_uses.py").read_text()
    assert wrong.startswith(KEPT_OUT + "\n")
    (place / "wrong_uses.py").write_text(wrong.replace(KEPT_OUT, "#", 1))
    settings = {
        "include": ["."],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT)],
    }
    (place / "pyrightconfig.json").write_text(json.dumps(settings))
    return place


@pytest.fixture(scope="module")
def answers(project: Path) -> dict[str, Errors]:
    """What each checker says."""
    with ThreadPoolExecutor() as pool:
        running = {
            "mypy with the plugin": pool.submit(mypy, project, "plugin"),
            "mypy without the plugin": pool.submit(mypy, project, "plain"),
            "pyright": pool.submit(pyright, project),
        }
        return {name: future.result() for name, future in running.items()}


CHECKERS: Final = ("mypy with the plugin", "mypy without the plugin", "pyright")


def mypy(project: Path, settings: str) -> Errors:
    """Strict, with its own cache beside the project's, so that a second run is quick."""
    answer = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            f"--config-file={HERE / settings}.ini",
            f"--cache-dir={ROOT / '.mypy_cache' / settings}",
            "--no-pretty",
            "--hide-error-context",
            "--no-error-summary",
            "host.py",
            "wrong_uses.py",
        ],
        cwd=project,
        env={**os.environ, "MYPYPATH": str(ROOT)},
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


def pyright(project: Path) -> Errors:
    answer = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", f"--pythonpath={sys.executable}"],
        cwd=project,
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


def marked() -> set[int]:
    lines = (HERE / "wrong_uses.py").read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def test_there_are_wrong_uses() -> None:
    assert 30 < len(marked())


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_host_is_accepted(checker: str, answers: dict[str, Errors]) -> None:
    assert {} == {place: said for place, said in answers[checker].items() if place[0] != "wrong_uses.py"}


@pytest.mark.parametrize("checker", CHECKERS)
def test_each_wrong_use_is_rejected_and_nothing_else(checker: str, answers: dict[str, Errors]) -> None:
    said = {line: text for (file, line), text in answers[checker].items() if file == "wrong_uses.py"}

    assert {} == {line: text for line, text in said.items() if line not in marked()}
    assert set() == marked() - said.keys()
