"""What the tests of the commands share."""

import sys
from pathlib import Path

import pytest

from jingwei.cli.app import run
from tests.commands import Ended, Run


@pytest.fixture
def jingwei(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs one command in this process."""

    def go(*arguments: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["jingwei", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "120")
        code = run()
        out, err = capfdbinary.readouterr()
        return Ended(int(code), out, err.decode())

    return go
