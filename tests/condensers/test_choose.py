"""Which condenser reads a text, and what is missing (T2)."""

import sys

import attrs
import pytest

from jingwei.condensers import choose
from jingwei.condensers.choose import available_condensers, condense_text
from jingwei.condensers.failures import (
    AlreadyCondensed,
    CondenseFailure,
    InvalidCondensation,
    InvalidCondensationReason,
    NotSmaller,
    NotThisKind,
    TextTooLarge,
)
from jingwei.condensers.lines import LINES
from jingwei.condensers.prose import PROSE
from jingwei.condensers.records import DEFAULT_LIMITS, CondensedText, CondenseLimits
from jingwei.condensers.rendering import rendered
from jingwei.outcome import Failure, Outcome, Success

LOG = "\n".join(f"2026-08-01T10:00:{index % 60:02d}Z INFO w-{index} ok" for index in range(200))
TEXTS = {
    "json-v1": "[" + ",".join(['{"a": 1}'] * 300) + "]",
    "diff-v1": "--- a/x\n+++ b/x\n@@ -1,200 +1 @@\n" + "-line\n" * 200 + "+y\n",
    "trace-v1": "OddError: x\n" + "    at f (/a/b.js:1:2)\n" * 100,
    "html-v1": "<html><body>" + "<p>words</p>" * 200,
    "code-v1": "def f():\n    return 1\n" * 100,
    "table-v1": "a,b\n" + "1,2\n" * 400,
    "log-v1": LOG,
    "prose-v1": "There are quite a few words in this line. " * 40,
    "lines-v1": "word\n" * 400,
}


@pytest.mark.parametrize("method", TEXTS)
def test_each_kind_has_its_condenser(method: str) -> None:
    assert method == condense_text(TEXTS[method]).unwrap().method


def test_all_are_there_with_the_extra() -> None:
    found = available_condensers()

    assert () == found.missing
    assert list(TEXTS) == [one.name for one in found.condensers]


def test_without_the_extra_the_kinds_are_named_and_others_read_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("diffs", "html", "logs"):
        monkeypatch.setitem(sys.modules, f"jingwei.condensers.{module}", None)
    monkeypatch.setattr(choose, "_available", choose._available.__wrapped__)
    found = available_condensers()

    assert ("diff", "html", "log") == found.missing
    assert ["json-v1", "trace-v1", "code-v1", "table-v1", "prose-v1", "lines-v1"] == [
        one.name for one in found.condensers
    ]
    assert "lines-v1" == condense_text(LOG).unwrap().method


def test_a_source_is_named_and_counted() -> None:
    condensed = condense_text(LOG, source="log://" + "7" * 100).unwrap()
    limits = CondenseLimits(max_rendered_bytes=700)

    assert "log://" + "7" * 100 == condensed.evidence_refs[0].source
    assert len(rendered(condense_text(LOG * 9, limits, source="log://" + "7" * 100).unwrap())) <= 700
    assert isinstance(condense_text(LOG, limits, source="s" * 900), Failure)


def test_what_no_condenser_should_read_is_refused_at_once() -> None:
    shown = rendered(condense_text(LOG).unwrap())

    assert Failure(AlreadyCondensed(total_bytes=len(shown.encode()))) == condense_text(shown)
    assert Failure(TextTooLarge(limit=9, actual=10)) == condense_text(
        "x" * 10, CondenseLimits(max_input_bytes=9)
    )


def test_the_first_that_makes_it_smaller_is_taken() -> None:
    assert "lines-v1" == condense_text(LOG, DEFAULT_LIMITS, (PROSE, LINES)).unwrap().method


def test_where_none_does_it_is_said_why() -> None:
    assert Failure(NotThisKind(kind="any", line=1)) == condense_text(LOG, DEFAULT_LIMITS, ())
    assert Failure(NotThisKind(kind="prose", line=1)) == condense_text(LOG, DEFAULT_LIMITS, (PROSE,))
    small = condense_text("small", DEFAULT_LIMITS, (LINES, PROSE)).failure()
    assert isinstance(small, NotSmaller)
    assert 5 == small.before
    assert isinstance(condense_text("").failure(), NotSmaller)


@attrs.frozen
class Liar:
    """Says the same of every text."""

    name: str = "liar-v1"

    def condense(self, text: str, limits: CondenseLimits) -> Outcome[CondensedText, CondenseFailure]:
        return Success(
            CondensedText(
                method="liar-v1", facts=(), summary="s", evidence_refs=(), total_bytes=1, truncated=True
            )
        )


def test_a_lie_is_told_at_once_and_no_other_condenser_asked() -> None:
    wrong = InvalidCondensation(method="liar-v1", reason=InvalidCondensationReason.WRONG_TOTAL)

    assert Failure(wrong) == condense_text(LOG, DEFAULT_LIMITS, (Liar(), LINES))


ODD = (
    "\x00",
    "\ud800",
    "\r\n",
    "\ufeffa b\n",
    "\x0c\x0b\x85\u2028",
    "[",
    "9",
    '{"a":',
    "<",
    "\\",
    '"',
    ",",
    "-",
)


@pytest.mark.parametrize("text", [*(odd * 4000 for odd in ODD), "[" + "9" * 5000 + "]"])
def test_odd_texts_are_condensed_like_others(text: str) -> None:
    assert isinstance(condense_text(text), Success)


def test_a_million_lines() -> None:
    condensed = condense_text("\n" * 100_000 + "ERROR x\n" + "\n" * 100_000).unwrap()

    assert ("ERROR x", 100_001) == (condensed.facts[0].value, condensed.facts[0].evidence.first_line)
