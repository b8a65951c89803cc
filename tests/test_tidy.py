"""The house rules that a machine can hold, read from the syntax trees of jingwei/.

`EXCEPTIONS` lists what is allowed to break a rule. It may only shrink: an entry that no longer breaks
its rule fails the test, and a new one needs its reason here.
"""

import ast
import enum
import importlib
import inspect
import pkgutil
import re
import subprocess
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import pytest

import jingwei

ROOT: Final = Path(__file__).parent.parent
HOUSE: Final = ROOT / "jingwei"
FUNCTION_LINES_MAX: Final = 70

EDGE: Final = ("__main__", "cli", "batch", "testing", "tokenizers", "stores", "demo")
"""Rooms that may touch the world outside."""

TEST_KIT: Final = "jingwei.testing"
"""What a host runs in its own tests: written as tests are."""

BANNED_IMPORTS: Final = {
    "json": "jingwei.jsontext, the one maker of canonical text",
    "dataclasses": "attrs",
    "pickle": "a room's wire.py",
    "copy": "records are immutable",
    "logging": "a report",
    "warnings": "a report",
    "random": "an argument",
    "time": "an argument",
    "datetime": "an argument",
    "os": "the edge",
    "pathlib": "the edge",
    "typing.Any": "a type, or object",
    "typing.Optional": "X | None",
    "typing.Union": "X | Y",
    "typing.List": "tuple or Sequence",
    "typing.Dict": "Mapping",
    "returns.result.safe": "an early return",
    "returns.pipeline": "an early return",
    "returns.pointfree": "an early return",
    "returns.result.Result": "jingwei.outcome.Outcome",
}
"""What no room below the edge imports, and what it uses instead."""

EXCEPTIONS: Final = frozenset(
    {
        # A command's options are its signature, and most of its lines.
        ("long function", "jingwei.cli.importing", "openai_chat"),
        # The one maker of canonical text; a recursive alias is no expression at run time.
        ("banned import", "jingwei.jsontext", "json"),
        ("banned import", "jingwei.jsontext", "typing.Union"),
    }
)

Finding: TypeAlias = tuple[str, str, str]
"""Rule, module, what breaks it."""


def modules() -> dict[str, ast.Module]:
    """Every module of the house by its dotted name."""
    found = {}
    for path in sorted(HOUSE.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[name] = ast.parse(path.read_text())
    return found


MODULES: Final = modules()


def on_the_edge(module: str) -> bool:
    return module.split(".")[1:2] != [] and module.split(".")[1] in EDGE


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


# --- rules ----------------------------------------------------------------------------------------


def long_functions(module: str, tree: ast.Module) -> Iterator[str]:
    """A function has at most 70 lines."""
    for node in functions(tree):
        assert node.end_lineno is not None
        if node.end_lineno - node.lineno + 1 > FUNCTION_LINES_MAX:
            yield node.name


def partial_functions(module: str, tree: ast.Module) -> Iterator[str]:
    """No `.unwrap()`, `.failure()`: a Result is matched."""
    if module.startswith(TEST_KIT):
        return
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and not node.args)
    for function in called:
        if isinstance(function, ast.Attribute) and function.attr in {"unwrap", "failure"}:
            yield f"{function.attr} in line {function.lineno}"


def broad_handlers(module: str, tree: ast.Module) -> Iterator[str]:
    """No bare `except`, no `except Exception`: a handler says what it expects."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            named = [] if node.type is None else [n for n in ast.walk(node.type) if isinstance(n, ast.Name)]
            if node.type is None or {"Exception", "BaseException"} & {name.id for name in named}:
                yield f"line {node.lineno}"


def any_in_public_signatures(module: str, tree: ast.Module) -> Iterator[str]:
    """No `Any` in what a caller sees."""
    for node in functions(tree):
        if node.name.startswith("_") and not node.name.startswith("__"):
            continue
        spoken = [node.returns, *(a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg))]
        for annotation in filter(None, spoken):
            if any(
                isinstance(n, ast.Name | ast.Attribute) and "Any" in ast.unparse(n).split(".")
                for n in ast.walk(annotation)
            ):
                yield node.name


def prints(module: str, tree: ast.Module) -> Iterator[str]:
    """Nothing is printed below the edge."""
    if on_the_edge(module):
        return
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"print", "open", "input"}
        ):
            yield f"{node.func.id} in line {node.lineno}"


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def banned_imports(module: str, tree: ast.Module) -> Iterator[str]:
    """No import that has a replacement in this house."""
    if on_the_edge(module):
        return
    for name in imported(tree):
        for banned in BANNED_IMPORTS:
            if name == banned or name.startswith(banned + "."):
                yield banned


def missing_docstrings(module: str, tree: ast.Module) -> Iterator[str]:
    """Every module, and every public class and function of it, says what it is."""
    if ast.get_docstring(tree) is None:
        yield "module"
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None:
            yield node.name


def dropped_values(module: str, tree: ast.Module) -> Iterator[str]:
    """No call of a public function whose answer is thrown away: a Failure would go unseen."""
    if on_the_edge(module):
        return
    homes = {name.rsplit(".", 1)[-1] for name in imported(tree) if name.startswith("jingwei.")}
    statements = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    for value in statements:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in homes:
            yield f"{value.func.id} in line {value.lineno}"


def forgotten_cases(module: str, tree: ast.Module) -> Iterator[str]:
    """A `match` whose last case is `case _:` closes it with `assert_never`, or hands the rest on."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Match):
            continue
        last = node.cases[-1]
        if isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None:
            (*_, statement) = last.body
            if isinstance(statement, ast.Pass | ast.Raise):
                yield f"line {node.lineno}"


RULES: Final[dict[str, Callable[[str, ast.Module], Iterator[str]]]] = {
    "long function": long_functions,
    "partial function": partial_functions,
    "broad handler": broad_handlers,
    "Any in a public signature": any_in_public_signatures,
    "print below the edge": prints,
    "banned import": banned_imports,
    "no docstring": missing_docstrings,
    "dropped value": dropped_values,
    "forgotten case": forgotten_cases,
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_holds_in_every_module_but_for_the_listed_exceptions(rule: str) -> None:
    found: set[Finding] = {
        (rule, module, what) for module, tree in MODULES.items() for what in RULES[rule](module, tree)
    }
    listed = {exception for exception in EXCEPTIONS if exception[0] == rule}

    assert set() == found - listed, RULES[rule].__doc__
    assert set() == listed - found, "stale exceptions: take them off the list"


BREACHES: Final = {
    "long function": "def f():\n" + "    x = 1\n" * 70,
    "partial function": "x = y.unwrap()",
    "broad handler": "try:\n    pass\nexcept (ValueError, Exception):\n    pass",
    "Any in a public signature": "def f(x: dict[str, typing.Any]) -> None: ...",
    "print below the edge": "print(1)",
    "banned import": "from json import loads",
    "no docstring": "x = 1",
    "dropped value": "from jingwei.build import build\nbuild(1)",
    "forgotten case": "match x:\n    case 1:\n        y = 1\n    case _:\n        pass",
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_finds_its_breach(rule: str) -> None:
    """A rule that finds nothing holds everywhere: each is shown what it must find."""
    assert [] != list(RULES[rule]("jingwei.build", ast.parse(BREACHES[rule])))


def test_no_exception_names_a_rule_that_does_not_exist() -> None:
    assert {exception[0] for exception in EXCEPTIONS} <= set(RULES)


# --- records --------------------------------------------------------------------------------------

MUTABLE: Final = (list, dict, set, bytearray)


def classes() -> Iterator[type[object]]:
    """Every class that a module of the house defines, of those whose extras are installed."""
    for info in pkgutil.walk_packages(jingwei.__path__, "jingwei."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == info.name:
                yield member


CONTAINERS: Final = "jingwei.persistent"
"""Sequences and tables, which are made by their methods and spoken to as such: no records."""

RECORDS: Final = [
    cls
    for cls in classes()
    if attrs.has(cls) and not cls.__module__.startswith(TEST_KIT) and cls.__module__ != CONTAINERS
]


def fields_of(cls: type[object]) -> "tuple[attrs.Attribute[object], ...]":
    assert attrs.has(cls)
    return tuple(attrs.fields(cls))


def name_of(cls: type[object]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def parts(hint: object) -> Iterator[object]:
    """A hint and everything it is made of."""
    if isinstance(hint, list):  # the arguments of a Callable
        yield from (part for child in hint for part in parts(child))
        return
    yield hint
    for part in typing.get_args(hint):
        yield from parts(part)


def test_there_are_records_in_every_room_that_has_any() -> None:
    rooms = {cls.__module__.split(".")[1] for cls in RECORDS}

    assert {"messages", "events", "projection", "request", "selection", "report", "build"} <= rooms


@pytest.mark.parametrize("cls", RECORDS, ids=map(name_of, RECORDS))
def test_a_record_is_final_frozen_slotted_and_spoken_by_name(cls: type[object]) -> None:
    fields = fields_of(cls)
    positional = [field for field in fields if not field.kw_only]

    assert getattr(cls, "__final__", False), "@final"
    assert not hasattr(cls, "__dict__") or "__dict__" not in dir(cls), "slots"
    assert cls.__setattr__ is not object.__setattr__, "frozen"
    assert len(positional) <= 1, "kw_only"
    assert len(positional) < 1 or len(fields) == 1, "one positional field stands alone"
    assert not [field.name for field in fields if field.name.startswith("_")], "no private fields"


@pytest.mark.parametrize("cls", RECORDS, ids=map(name_of, RECORDS))
def test_the_hints_of_a_record_resolve_and_hold_no_mutable_container(cls: type[object]) -> None:
    """cattrs reads them at run time; a list inside a frozen record could be appended to."""
    hints = typing.get_type_hints(cls)
    origins = {
        typing.get_origin(part) or part for field in fields_of(cls) for part in parts(hints[field.name])
    }
    forbidden = {
        origin
        for origin in origins
        if isinstance(origin, type) and (origin in MUTABLE or "Mutable" in origin.__name__)
    }

    assert set() == forbidden
    assert typing.Any not in origins


def test_public_enums_are_final_and_their_values_unique_words() -> None:
    for cls in classes():
        if issubclass(cls, enum.Enum) and not cls.__name__.startswith("_"):
            values = [member.value for member in cls]

            assert getattr(cls, "__final__", False), name_of(cls)
            assert len(set(values)) == len(values) == len(cls.__members__), name_of(cls)


def test_public_unions_are_aliases_of_classes() -> None:
    """`isinstance(x, Alias)` and a `match` need classes, not quoted names."""
    for module in ("events.failures", "messages.failures", "projection.failures", "report.failures"):
        found = importlib.import_module(f"jingwei.{module}")
        unions = [value for value in vars(found).values() if isinstance(value, types.UnionType)]

        assert unions
        for union in unions:
            assert all(isinstance(member, type) for member in typing.get_args(union))


# --- the repository ---------------------------------------------------------------------------------

# Built from pieces, so that this file does not name what it forbids.
HOSTS: Final = re.compile(
    "|".join(
        re.escape(".".join(words))
        for words in (
            ("pypi", "org"),
            ("pythonhosted", "org"),
            ("npmjs", "org"),
            ("npmjs", "com"),
            ("crates", "io"),
            ("anaconda", "org"),
            ("proxy", "golang", "org"),
            ("rubygems", "org"),
        )
    )
)
PLACES: Final = re.compile(r"(?<![\w.~-])/(?:" + "|".join(("home", "work", "root", "Users")) + r")/\w")


def repository_files() -> list[Path]:
    """Files that are tracked or would be, where git is at hand; else what lies here."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no git repository")
    return [path for name in listed if (path := ROOT / name).is_file()]


def test_the_patterns_find_what_they_are_for() -> None:
    assert HOSTS.search("https://files." + "pythonhosted" + ".org/x")
    assert PLACES.search("in " + "/home" + "/someone")
    assert PLACES.search('"' + "/work" + '/main"')
    assert not PLACES.search("a/work" + "/x ~/work" + "/x ../work" + "/x")


def test_no_file_names_a_registry_host_or_a_place_on_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in repository_files()
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1)
        if HOSTS.search(line) or PLACES.search(line)
    ]

    assert [] == found
