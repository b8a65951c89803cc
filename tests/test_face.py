"""The face: what `import jingwei` gives, and what it does not load."""

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import types
import typing

import pytest

import jingwei

EXTRAS = (
    "typer",
    "rich",
    "tqdm",
    "hypothesis",
    "pytest",
    "tiktoken",
    "matplotlib",
    "drain3",
    "unidiff",
    "bs4",
    "jsonschema",
    "referencing",
)
NAMES = sorted(jingwei.__all__)
OTHERS = {"Success": "returns.result", "Failure": "returns.result", "Outcome": "jingwei.outcome"}
"""Names that come from elsewhere, or are no class or function with a home of its own."""


def modules() -> list[types.ModuleType]:
    """The rooms below the edge."""
    edge = ("cli", "batch", "testing", "tokenizers", "demo", "__main__")
    return [
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages(jingwei.__path__, "jingwei.")
        if info.name.split(".")[1] not in edge
    ]


def test_the_list_of_names_is_without_doubles() -> None:
    """Its order is ruff's matter."""
    assert len(set(jingwei.__all__)) == len(jingwei.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name: str) -> None:
    assert hasattr(jingwei, name)


def test_nothing_else_that_is_public_is_there_by_accident() -> None:
    """Beside the names of the list there are the rooms themselves, which are modules."""
    loose = {
        name
        for name, value in vars(jingwei).items()
        if not name.startswith("_")
        and name not in jingwei.__all__
        and not isinstance(value, types.ModuleType)
    }

    assert set() == loose


def test_four_names_hide_a_room_and_no_other() -> None:
    """`jingwei.build` is the function; its module is reached by `from jingwei.build import …` alone."""
    rooms = {info.name for info in pkgutil.iter_modules(jingwei.__path__)}

    assert {"build", "compose", "simulate", "summaries"} == rooms & set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OTHERS])
def test_a_class_or_function_is_documented_and_has_one_home(name: str) -> None:
    value = getattr(jingwei, name)
    if not inspect.isclass(value) and not inspect.isfunction(value):
        return

    assert inspect.getdoc(value)
    assert value.__module__.startswith("jingwei.")
    assert getattr(importlib.import_module(value.__module__), name) is value


def test_a_name_means_one_thing_in_the_whole_house() -> None:
    """No two modules define a class or function of one of the face's names."""
    homes: dict[str, set[str]] = {}
    for module in modules():
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            if name in jingwei.__all__ and own and (inspect.isclass(value) or inspect.isfunction(value)):
                homes.setdefault(name, set()).add(module.__name__)

    assert {} == {name: found for name, found in homes.items() if len(found) > 1}


def test_every_public_function_of_the_face_says_what_it_takes_and_gives() -> None:
    for name in NAMES:
        value = getattr(jingwei, name)
        if inspect.isfunction(value):
            hints = typing.get_type_hints(value)

            assert "return" in hints, name
            assert set(inspect.signature(value).parameters) <= set(hints), name


def test_the_face_opens_with_what_the_house_is_for() -> None:
    assert jingwei.__doc__
    assert jingwei.__doc__.splitlines()[0].endswith(".")


def loaded(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after a line of code.

    It is not measured: coverage would load modules of its own.
    """
    script = f"{code}\nimport sys\nprint('\\n'.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True, env=unmeasured
    )
    return set(answer.stdout.split())


def test_importing_the_face_loads_no_extra() -> None:
    """Neither the packages of the extras nor what touches the network."""
    found = loaded("import jingwei")

    assert "jingwei" in found
    assert set() == found & {*EXTRAS, "socket", "sqlite3", "asyncio"}


def test_importing_the_readers_of_other_formats_loads_no_extra() -> None:
    rooms = "jingwei.action.failures, jingwei.batch, jingwei.providers, jingwei.stores.sqlite"
    found = loaded(f"import {rooms}, jingwei.__main__")

    assert set() == found & set(EXTRAS)


def test_without_the_extra_the_command_says_what_is_missing() -> None:
    script = "import sys\nsys.modules['typer'] = None\nfrom jingwei.__main__ import main\nsys.exit(main())\n"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, text=True)

    assert (2, "") == (answer.returncode, answer.stdout)
    assert "jingwei[cli]" in answer.stderr
    assert "Traceback" not in answer.stderr
