"""Two reports side by side (B9), message by message."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import final, overload

import attrs
import pytest
from typing_extensions import override

from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.ids import ProviderCallId, SessionId, SummaryId, TurnId
from jingwei.messages.records import UserMessage
from jingwei.projection.project import project
from jingwei.projection.records import Projection, TurnSources
from jingwei.report.cache import DEFAULT_PRICES, CachePlan, CachePrices, PrefixChange
from jingwei.report.compare import compare
from jingwei.report.records import (
    BuildReport,
    ExchangeRow,
    MessageRole,
    ReductionKind,
    ReportedMarks,
    SentMessage,
    TurnLedger,
)
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget
from jingwei.selection.records import CondenseTurn, DropTurn, PreviewPolicy, SummarizedTurn, TurnEnd
from tests.logtable import SESSION, log_of

TARGET = ContextTarget(model="m", template_revision="r")


def history() -> Projection:
    return project(SESSION, log_of("user; reply; done")).unwrap()


def built(window: int = 500, previous: BuildReport | None = None) -> BuiltContext:
    inputs = BuildInputs(
        current=(UserMessage(content="now"),),
        target=TARGET,
        budget=ContextBudget(window_tokens=window, output_reserve=1),
        previous=previous,
    )
    return build(history(), inputs, ByteHeuristicCounter()).unwrap()


PLAIN = built().report


def turns(*reductions: TurnEnd, ids: str = "abc", pinned: str = "") -> TurnLedger:
    """A ledger of turns that are named by letters."""
    return TurnLedger(
        sources=tuple(TurnSources(turn_id=TurnId(name), source_events=()) for name in ids),
        pinned=tuple(TurnId(name) for name in pinned),
        reductions=reductions,
    )


def report(
    sent: str,
    *,
    ledger: TurnLedger | None = None,
    system: int = 1,
    current: int = 1,
    costs: int | None = 10,
    **changes: object,
) -> BuildReport:
    """A report whose messages are letters: equal letters are equal messages, and each costs the same."""
    messages = tuple(SentMessage(role=MessageRole.USER, digest=one, cost=costs) for one in sent)
    found = attrs.evolve(
        PLAIN,
        sent=messages,
        system_messages=system,
        current_messages=current,
        turns=turns() if ledger is None else ledger,
    )
    for name, value in changes.items():
        found = attrs.evolve(found, **{name: value})  # type: ignore[arg-type]  # a field of the report
    return found


def drop(name: str) -> DropTurn:
    return DropTurn(turn_id=TurnId(name))


def condense(name: str, preview: int = 512) -> CondenseTurn:
    return CondenseTurn(turn_id=TurnId(name), policy=PreviewPolicy(preview_bytes=preview))


def summed(name: str, by: str = "s") -> SummarizedTurn:
    return SummarizedTurn(turn_id=TurnId(name), summary_id=SummaryId(by))


def row(call: str, reduction: ReductionKind | None = None) -> ExchangeRow:
    return ExchangeRow(
        call_ids=(ProviderCallId(call),), retained=reduction is not ReductionKind.DROPPED, reduction=reduction
    )


def marks(high: int = 100, *, broke: bool = False) -> ReportedMarks:
    return ReportedMarks(high=high, low=70, cut=None, moves=0, kept_cost=0, broke=broke)


def test_a_request_that_goes_on_is_served_but_for_what_is_new() -> None:
    assert CachePlan(
        common_messages=3,
        common_tokens=30,
        changed_at=None,
        reason=None,
        written_tokens=20,
        rewritten_tokens=0,
        freed_tokens=0,
        pays_after=None,
    ) == compare(report("sau"), report("sauxy"))


def test_a_cut_that_moved_is_written_anew_and_pays_when_it_has_freed_enough() -> None:
    """Thirty tokens are written, which costs 34.5 more than reading them; ten are not read any more."""
    before, now = report("sabcu"), report("sbcuv", ledger=turns(drop("a")))

    assert CachePlan(
        common_messages=1,
        common_tokens=10,
        changed_at=1,
        reason=PrefixChange.CUT_MOVED,
        written_tokens=40,
        rewritten_tokens=30,
        freed_tokens=10,
        pays_after=34,
    ) == compare(before, now)
    assert 0 == compare(before, now, CachePrices(read=Fraction(1), write=Fraction(1))).pays_after
    assert 2 == compare(before, now, CachePrices(read=Fraction(1), write=Fraction(2))).pays_after
    assert compare(before, now, CachePrices(read=Fraction(0))).pays_after is None


def test_a_request_that_only_ends_earlier_writes_nothing() -> None:
    plan = compare(report("sabu"), report("sab", current=0))

    assert (3, 3, PrefixChange.CURRENT) == (plan.common_messages, plan.changed_at, plan.reason)
    assert (0, 0, 10, None) == (
        plan.written_tokens,
        plan.rewritten_tokens,
        plan.freed_tokens,
        plan.pays_after,
    )


def test_after_a_request_that_was_never_counted_everything_is_new() -> None:
    plan = compare(report("", attempts=()), report("su"))

    assert (0, None, 20, 0) == (plan.common_messages, plan.reason, plan.written_tokens, plan.rewritten_tokens)
    assert plan.freed_tokens is None


@pytest.mark.parametrize(
    ("expected", "before", "now"),
    [
        (PrefixChange.TARGET, report("su"), report("su", target=attrs.evolve(TARGET, model="n"))),
        (PrefixChange.TOOLS, report("su"), report("su", constraint_digest="other")),
        (PrefixChange.SYSTEM, report("su"), report("Su")),
        (PrefixChange.SYSTEM, report("su"), report("sSu", system=2)),
        (PrefixChange.SESSION, report("sau"), report("sbu", session_id=SessionId("other"))),
        (PrefixChange.CURRENT, report("sau"), report("sav")),
        (PrefixChange.HISTORY, report("sabu"), report("sxbu")),
        (PrefixChange.HISTORY, report("sabu"), report("sau", ledger=turns(ids="a"))),
        (PrefixChange.HISTORY, report("sabu"), report("sau", ledger=turns(drop("b"), ids="xb"))),
        (PrefixChange.CUT_MOVED, report("sabu"), report("sbu", ledger=turns(drop("a")))),
        (PrefixChange.CUT_MOVED, report("sbu", ledger=turns(drop("a"))), report("sabu")),
        (
            PrefixChange.CUT_MOVED,
            report("sAbu", ledger=turns(condense("a"))),
            report("sbu", ledger=turns(drop("a"))),
        ),
        (PrefixChange.CONDENSED, report("sabu"), report("sAbu", ledger=turns(condense("a")))),
        (
            PrefixChange.CONDENSED,
            report("sAbu", ledger=turns(condense("a", preview=1))),
            report("sBbu", ledger=turns(condense("a", preview=2))),
        ),
        (
            PrefixChange.PINS,
            report("sbu", ledger=turns(drop("a"))),
            report("sabu", ledger=turns(pinned="a")),
        ),
        (
            PrefixChange.CUT_MOVED,
            report("sabu"),
            report("sbu", ledger=turns(drop("a"), pinned="b")),
        ),
        (
            PrefixChange.STRATEGY,
            report("sabu"),
            report("sbu", ledger=turns(drop("a")), strategy="of the host"),
        ),
        (PrefixChange.WINDOW, report("sabu"), report("sbu", ledger=turns(drop("a")), marks=marks())),
        (
            PrefixChange.WINDOW,
            report("sabu"),
            report("sbu", ledger=turns(drop("a")), budget=attrs.evolve(PLAIN.budget, safety_margin=9)),
        ),
        (
            PrefixChange.WINDOW,
            report("sabu", marks=marks()),
            report(
                "sbu",
                ledger=turns(drop("a")),
                marks=marks(broke=True),
                budget=attrs.evolve(PLAIN.budget, window_tokens=9),
            ),
        ),
        (
            PrefixChange.CUT_MOVED,
            report("sabu", marks=marks()),
            report(
                "sbu",
                ledger=turns(drop("a")),
                marks=marks(),
                budget=attrs.evolve(PLAIN.budget, window_tokens=9),
            ),
        ),
        (
            PrefixChange.CUT_MOVED,
            report("sabu"),
            report(
                "sbu",
                ledger=turns(drop("a")),
                budget=attrs.evolve(PLAIN.budget, output_reserve=2, window_tokens=501),
            ),
        ),
        (PrefixChange.ITEMS, report("sau"), report("saIu", items_digest="I")),
        (PrefixChange.ITEMS, report("saIu", items_digest="I"), report("sabIu", items_digest="I")),
        (PrefixChange.CURRENT, report("saIu", items_digest="I"), report("saIv", items_digest="I")),
        (
            PrefixChange.CUT_MOVED,
            report("sau", ledger=turns(ids="a")),
            report("sav", ledger=turns(drop("b"), ids="ab")),
        ),
        (
            PrefixChange.CONDENSED,
            report("sauo", ledger=turns(ids="a"), current=2),
            report("sauOv", ledger=turns(condense("b"), ids="ab")),
        ),
        (
            PrefixChange.CONDENSED,
            report("sauopq", current=4, exchanges=(row("1"), row("2"))),
            report("sauOpq", current=4, exchanges=(row("1", ReductionKind.CONDENSED), row("2"))),
        ),
        (
            PrefixChange.CUT_MOVED,
            report("sauopq", current=4),
            report("saupq", current=3, exchanges=(row("1", ReductionKind.DROPPED), row("2"))),
        ),
        (
            PrefixChange.CURRENT,
            report("sauopq", current=4, exchanges=(row("1"),)),
            report("sauxyz", current=4, exchanges=(row("1"), row("2", ReductionKind.DROPPED), row("3"))),
        ),
        (
            PrefixChange.CONDENSED,
            report("sauOp", ledger=turns(ids="a"), current=3, exchanges=(row("1", ReductionKind.CONDENSED),)),
            report("sauopv", ledger=turns(ids="ab"), exchanges=(row("9"),)),
        ),
    ],
)
def test_the_reason_is_what_happened_at_the_first_place_that_differs(
    expected: PrefixChange, before: BuildReport, now: BuildReport
) -> None:
    plan = compare(before, now)

    assert expected == plan.reason
    assert plan.common_messages == plan.changed_at


def test_numbers_beyond_64_bits_are_not_told() -> None:
    """Neither sums of costs nor requests until a rewrite pays: reports hold numbers below 2^64."""
    huge = compare(report("sau", costs=2**63), report("sav", costs=2**63))
    late = compare(
        report("sabu", ledger=turns(), costs=2**40),
        report("sbu", ledger=turns(drop("a")), costs=2**40),
        CachePrices(read=Fraction(1, 2**70)),
    )

    assert (None, None, None) == (huge.common_tokens, huge.written_tokens, huge.freed_tokens)
    assert late.freed_tokens == 2**40
    assert late.pays_after is None


def test_counts_by_two_methods_are_not_held_against_each_other() -> None:
    other = attrs.evolve(PLAIN.attempts[-1].count, method="another")
    now = report("sav", attempts=(attrs.evolve(PLAIN.attempts[-1], count=other),))
    plan = compare(report("sau"), now)

    assert (20, 10, 0) == (plan.common_tokens, plan.written_tokens, plan.rewritten_tokens)
    assert (None, None) == (plan.freed_tokens, plan.pays_after)


@pytest.mark.parametrize(("before", "now"), [(None, 10), (10, None)])
def test_without_costs_there_are_no_tokens(before: int | None, now: int | None) -> None:
    plan = compare(report("sau", costs=before), report("sav", costs=now))

    assert (None if now is None else 20) == plan.common_tokens
    assert plan.freed_tokens is None
    assert plan.pays_after is None


@final
class Forbidden(Sequence[TurnSources]):
    """Turns that nobody may look at."""

    @overload
    def __getitem__(self, index: int) -> TurnSources: ...
    @overload
    def __getitem__(self, index: "slice[int | None, int | None, int | None]") -> Sequence[TurnSources]: ...
    @override
    def __getitem__(self, index: object) -> TurnSources | Sequence[TurnSources]:
        raise AssertionError(index)

    @override
    def __iter__(self) -> Iterator[TurnSources]:
        raise AssertionError

    @override
    def __len__(self) -> int:
        raise AssertionError


def test_where_nothing_broke_the_history_is_not_looked_at() -> None:
    ledger = TurnLedger(sources=Forbidden(), pinned=(), reductions=())

    assert compare(report("sau", ledger=ledger), report("sauv", ledger=ledger)).reason is None


def test_a_build_reports_it_against_the_previous_report() -> None:
    now = built(previous=PLAIN).report

    assert compare(PLAIN, PLAIN) == now.cache
    assert PLAIN == attrs.evolve(now, cache=None)


def test_prices_are_those_that_providers_have_asked() -> None:
    assert CachePrices(read=Fraction(1, 10), write=Fraction(5, 4)) == DEFAULT_PRICES


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (turns(), turns(summed("a"), summed("b"))),
        (turns(summed("a"), summed("b")), turns()),
        (turns(drop("a")), turns(summed("a"))),
        (turns(condense("a")), turns(summed("a"))),
        (turns(summed("a", "s")), turns(summed("a", "other"))),
    ],
)
def test_a_summary_that_comes_or_goes_is_told(before: TurnLedger, now: TurnLedger) -> None:
    """Whatever stood for the turn otherwise, and also where another summary stands for it."""
    found = compare(report("sabcu", ledger=before), report("sxcu", ledger=now))

    assert PrefixChange.SUMMARIZED is found.reason


def test_a_summary_that_says_something_else_is_told() -> None:
    """The same turns are summarised, by an envelope of other bytes."""
    ledger = turns(summed("a"), summed("b"))
    found = compare(
        report("sxcu", ledger=ledger, summary_digest="x"), report("sycu", ledger=ledger, summary_digest="y")
    )

    assert PrefixChange.SUMMARIZED is found.reason


def test_the_turn_that_ran_may_be_summarised_at_once() -> None:
    """It is the first turn that the history gained, and a summary stands for it."""
    before = report("sabcu", ledger=turns())
    now = report("sabcxv", ledger=turns(summed("d"), ids="abcd"))

    assert PrefixChange.SUMMARIZED is compare(before, now).reason


def test_of_the_reductions_that_of_the_running_turn_decides() -> None:
    """What was done to older turns before as well has no part in it."""
    before = report("sacuv", current=2, ledger=turns(drop("b")))
    now = report("sacux", current=2, ledger=turns(drop("b"), condense("d"), ids="abcd"))

    assert PrefixChange.CONDENSED is compare(before, now).reason
