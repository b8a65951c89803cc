"""Run the Python blocks of the documentation and of the README."""

from pathlib import Path

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    path=str(Path(__file__).resolve().parent.parent),
    pattern="*.md",
).pytest()
