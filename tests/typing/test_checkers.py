"""Types as tests: a pretend host is accepted, and each wrong use rejected, by every checker.

Here they read the checkout; `.ci/run` asks the same about the installed wheel.
"""

import sys
from pathlib import Path
from typing import Final

import pytest

from tests.typing.checking import CHECKERS, Errors, amiss, answers, marked

ROOT: Final = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Errors]:
    """What each checker says; mypy's cache lies beside the project's own, so that a second run is quick."""
    return answers(tmp_path_factory.mktemp("host"), sys.executable, ROOT / ".mypy_cache", ROOT)


def test_there_are_wrong_uses() -> None:
    assert 150 < len(marked())


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_host_is_accepted_and_exactly_the_wrong_uses_are_rejected(
    checker: str, asked: dict[str, Errors]
) -> None:
    assert [] == amiss(asked[checker])


def test_what_is_amiss_is_told() -> None:
    """An error in the host, one in a good line, and a wrong use that nobody saw."""
    first, *rest = sorted(marked())
    errors = dict.fromkeys(rest, "x")
    missed = f"{first[0]}:{first[1]}: accepted"

    assert [missed] == amiss(errors)
    assert ["host.py:1: x", missed] == amiss({**errors, ("host.py", 1): "x"})
    assert ["wrong_uses.py:1: x"] == amiss({**errors, first: "x", ("wrong_uses.py", 1): "x"})
