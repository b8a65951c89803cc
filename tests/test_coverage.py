"""What `make unit` does not count: each exclusion has its reason, and matches nothing but what it is for."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PROJECT: Final = (ROOT / "pyproject.toml").read_text()
COVERAGE: Final = tomllib.loads(PROJECT)["tool"]["coverage"]
NEVER, PROTOCOL, OVERLOAD = COVERAGE["report"]["exclude_lines"]
(EITHER,) = COVERAGE["report"]["partial_branches"]

SOURCES: Final = {path: path.read_text() for path in sorted((ROOT / "jingwei").rglob("*.py"))}
TREES: Final = {path: ast.parse(text) for path, text in SOURCES.items()}


def matched(pattern: str) -> set[tuple[Path, int]]:
    """The lines of jingwei/ that a pattern takes out."""
    return {
        (path, number)
        for path, text in SOURCES.items()
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(pattern, line)
    }


def nodes(cls: type[ast.AST]) -> Iterator[tuple[Path, ast.AST]]:
    for path, tree in TREES.items():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, cls))


def test_all_of_it_is_measured_and_nothing_else_is_left_out() -> None:
    assert (True, ["jingwei"], 100) == (
        COVERAGE["run"]["branch"],
        COVERAGE["run"]["source"],
        COVERAGE["report"]["fail_under"],
    )
    assert set() == {"omit", "include", "exclude_also", "partial_also", "ignore_errors", "plugins"} & {
        *COVERAGE["run"],
        *COVERAGE["report"],
    }


@pytest.mark.parametrize("pattern", [NEVER, PROTOCOL, OVERLOAD, EITHER])
def test_every_exclusion_has_its_reason_above_it(pattern: str) -> None:
    lines = [line.strip() for line in PROJECT.splitlines()]
    at = lines.index(f"'{pattern}',")

    assert lines[at - 1].startswith("# ")


@pytest.mark.parametrize("pattern", [NEVER, PROTOCOL, OVERLOAD, EITHER])
def test_every_exclusion_is_used(pattern: str) -> None:
    assert set() != matched(pattern)


def test_no_comment_looks_like_an_exclusion() -> None:
    """It would exclude nothing: the lists in pyproject.toml have no pattern for it."""
    assert set() == matched(r"#\s*pragma")


def test_what_is_never_reached_closes_a_match() -> None:
    closing = {
        (path, case.body[0].lineno)
        for path, node in nodes(ast.match_case)
        if isinstance(case := node, ast.match_case)
        and isinstance(case.pattern, ast.MatchAs)
        and case.pattern.pattern is None
        and len(case.body) == 1
    }

    assert set() == matched(NEVER) - closing


def test_bodies_of_three_dots_are_those_of_protocols() -> None:
    bodies = {
        (path, method.body[-1].lineno)
        for path, cls in nodes(ast.ClassDef)
        if isinstance(cls, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "Protocol" for base in cls.bases)
        for method in cls.body
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef))
    }

    assert set() == matched(PROTOCOL) - bodies


def test_where_nothing_falls_through_both_outcomes_have_their_case() -> None:
    """Unguarded cases of Success and of Failure; that their inner patterns take all, mypy proves."""
    complete = {
        (path, case.pattern.lineno)
        for path, match in nodes(ast.Match)
        if isinstance(match, ast.Match)
        and {"Success", "Failure"} == {outer(case) for case in match.cases if case.guard is None}
        for case in match.cases
    }
    falling = {
        (path, match.cases[-1].pattern.lineno)
        for path, match in nodes(ast.Match)
        if isinstance(match, ast.Match)
    }

    assert set() == (matched(EITHER) & falling) - complete


def outer(case: ast.match_case) -> str:
    """The class that a case names; nothing for other patterns."""
    pattern = case.pattern.pattern if isinstance(case.pattern, ast.MatchAs) else case.pattern
    if isinstance(pattern, ast.MatchClass) and isinstance(pattern.cls, ast.Name):
        return pattern.cls.id
    return ""
