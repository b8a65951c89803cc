"""What a report says to people: marks, exchanges, and what a prompt cache feels."""

import io

import attrs
import pytest
from rich.console import Console

from jingwei.cli.show import report_table
from jingwei.ids import ProviderCallId, TurnId
from jingwei.report.cache import CachePlan, PrefixChange
from jingwei.report.records import BuildReport, ExchangeRow, ReductionKind, ReportedMarks
from tests.report.test_compare import PLAIN

MARKS = ReportedMarks(high=2000, low=1400, cut=TurnId("[t]\x1b1"), moves=1, kept_cost=1234, broke=False)
PLAN = CachePlan(
    common_messages=1,
    common_tokens=1500,
    changed_at=1,
    reason=PrefixChange.CUT_MOVED,
    written_tokens=2500,
    rewritten_tokens=2000,
    freed_tokens=300,
    pays_after=1,
)


def told(report: BuildReport) -> str:
    """The tables as text, in lines of any length."""
    console = Console(file=io.StringIO(), width=400)
    with console.capture() as captured:
        console.print(report_table(report))
    return captured.get()


def test_without_marks_and_a_previous_report_nothing_is_said_of_them() -> None:
    shown = told(PLAIN)

    assert "marks" not in shown
    assert "cache" not in shown
    assert "running turn" not in shown


@pytest.mark.parametrize(
    ("expected", "marks"),
    [
        (
            "marks 2,000 and 1,400: kept from turn '[t]\N{REPLACEMENT CHARACTER}1' on, "
            "1,234 tokens of history; the cut has moved 1 time\n",
            MARKS,
        ),
        ("nothing of the history is kept, 0 tokens", attrs.evolve(MARKS, cut=None, kept_cost=0)),
        ("; the window asked for more, so the prefix breaks", attrs.evolve(MARKS, broke=True)),
        ("the cut has moved 2 times", attrs.evolve(MARKS, moves=2)),
    ],
)
def test_marks_are_told_in_one_line(expected: str, marks: ReportedMarks) -> None:
    assert expected in told(attrs.evolve(PLAIN, marks=marks))


UNCHANGED = attrs.evolve(
    PLAN, changed_at=None, reason=None, rewritten_tokens=0, freed_tokens=0, pays_after=None
)


@pytest.mark.parametrize(
    ("expected", "plan"),
    [
        (
            "cache: 1 message in common with the previous request (1,500 tokens), 2,500 tokens written anew; "
            "message 1 differs: cut_moved; 2,000 tokens are written once more and 300 are not sent any more, "
            "which pays after 1 further request\n",
            PLAN,
        ),
        ("written anew; all of the previous request is in it\n", UNCHANGED),
        ("message 1 differs: cut_moved\n", attrs.evolve(PLAN, pays_after=None)),
        (
            "cache: 2 messages in common with the previous request; all of",
            attrs.evolve(UNCHANGED, common_messages=2, common_tokens=None, written_tokens=None),
        ),
    ],
)
def test_what_a_cache_feels_is_told_in_one_line(expected: str, plan: CachePlan) -> None:
    assert expected in told(attrs.evolve(PLAIN, cache=plan))


def test_exchanges_of_the_running_turn_have_a_table() -> None:
    rows = tuple(
        ExchangeRow(
            call_ids=(ProviderCallId(call), ProviderCallId("[b]")),
            retained=reduction is not ReductionKind.DROPPED,
            reduction=reduction,
        )
        for call, reduction in zip("xyz", (ReductionKind.DROPPED, ReductionKind.CONDENSED, None), strict=True)
    )
    shown = told(attrs.evolve(PLAIN, exchanges=rows))

    assert "3 exchanges of the running turn" in " ".join(shown.split())
    fates = [line.split("│")[2].strip() for line in shown.splitlines() if ", [b]" in line]
    assert ["dropped", "condensed", "kept"] == fates


def test_a_report_without_a_count_says_so() -> None:
    assert "nothing was counted" in told(attrs.evolve(PLAIN, attempts=()))
