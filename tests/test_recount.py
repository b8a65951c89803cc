"""A built request counted again (B11): for another target, counter or budget."""

import attrs
import pytest

from jingwei.build import BuiltContext, build
from jingwei.jsontext import Json
from jingwei.messages.records import JsonSchemaConstraint, UserMessage
from jingwei.outcome import Failure, Success
from jingwei.recount import ReportChange, ReverifyFailure, Verdict, report_changes, reverify
from jingwei.report.failures import (
    CounterFailed,
    InvalidInput,
    InvalidInputReason,
    Overflow,
    OverflowWhat,
    UnverifiedCount,
    UnverifiedReason,
)
from jingwei.request.counting import ByteHeuristicCounter, CountRefused, TokenCounter
from jingwei.request.records import BudgetMode, ContextBudget, ContextTarget, TokenBoundEvidence
from tests.test_build import (
    GOOD,
    MOST,
    TARGET,
    ByteCounter,
    Scripted,
    built,
    counted,
    history,
    inputs,
    template,
)

GIVEN = inputs(window=1100, system=["s"])
BUILT: BuiltContext = built(build(history(3), GIVEN, ByteCounter()))
TOTAL = BUILT.report.attempts[-1].total_reserved
BUDGET = GIVEN.budget


@pytest.mark.parametrize(
    ("window", "verdict"), [(TOTAL, Verdict.FITS), (TOTAL - 1, Verdict.EXCEEDS), (1100, Verdict.FITS)]
)
def test_a_request_fits_up_to_the_last_token(window: int, verdict: Verdict) -> None:
    budget = attrs.evolve(BUDGET, window_tokens=window)
    found = reverify(BUILT, TARGET, ByteCounter(), budget).unwrap()

    assert (verdict, TOTAL, ()) == (found.verdict, found.total_reserved, found.changed)
    assert BUILT.report.attempts[-1].count == found.count


def test_another_counter_says_its_own_number() -> None:
    budget = attrs.evolve(BUDGET, mode=BudgetMode.SOFT)
    found = reverify(BUILT, TARGET, ByteHeuristicCounter(), budget).unwrap()

    assert "serialized-utf8-ceil-div4-v1" == found.count.method
    assert found.count.tokens.total + 80 == found.total_reserved < TOTAL
    assert () == found.changed


CHANGES: list[tuple[ContextTarget, ContextBudget, tuple[ReportChange, ...]]] = [
    (attrs.evolve(TARGET, model="other"), BUDGET, (ReportChange.MODEL,)),
    (attrs.evolve(TARGET, template_revision="other"), BUDGET, (ReportChange.TEMPLATE_REVISION,)),
    (TARGET, attrs.evolve(BUDGET, output_reserve=65), (ReportChange.OUTPUT_RESERVE,)),
    (
        TARGET,
        attrs.evolve(BUDGET, mode=BudgetMode.SOFT, output_evidence=TokenBoundEvidence.ESTIMATE),
        (ReportChange.OUTPUT_EVIDENCE,),
    ),
    (TARGET, attrs.evolve(BUDGET, safety_margin=0, window_tokens=9), ()),
    (
        ContextTarget(model="x", template_revision="y"),
        attrs.evolve(BUDGET, output_reserve=1),
        (ReportChange.MODEL, ReportChange.TEMPLATE_REVISION, ReportChange.OUTPUT_RESERVE),
    ),
]


@pytest.mark.parametrize(("target", "budget", "expected"), CHANGES)
def test_what_makes_the_old_report_invalid_is_named(
    target: ContextTarget, budget: ContextBudget, expected: tuple[ReportChange, ...]
) -> None:
    assert expected == reverify(BUILT, target, ByteCounter(), budget).unwrap().changed


def test_another_message_or_schema_makes_the_old_report_invalid() -> None:
    more = attrs.evolve(BUILT.request, messages=(*BUILT.request.messages, UserMessage(content="x")))
    other = attrs.evolve(BUILT.request, constraint=JsonSchemaConstraint(name="n", schema=Json("{}")))

    assert (ReportChange.MESSAGES,) == report_changes(BUILT.report, more, TARGET, BUDGET)
    assert (ReportChange.CONSTRAINT,) == report_changes(BUILT.report, other, TARGET, BUDGET)


REFUSED: dict[str, tuple[TokenCounter, ContextBudget, ReverifyFailure]] = {
    "reserve beyond the numbers": (
        ByteCounter(),
        attrs.evolve(BUDGET, output_reserve=MOST),
        Overflow(what=OverflowWhat.RESERVED),
    ),
    "margin below zero": (
        ByteCounter(),
        attrs.evolve(BUDGET, safety_margin=-1),
        Overflow(what=OverflowWhat.RESERVED),
    ),
    "no output evidence": (
        ByteCounter(),
        attrs.evolve(BUDGET, output_evidence=TokenBoundEvidence.ESTIMATE),
        UnverifiedCount(reason=UnverifiedReason.OUTPUT_EVIDENCE),
    ),
    "an estimate": (ByteHeuristicCounter(), BUDGET, UnverifiedCount(reason=UnverifiedReason.EVIDENCE)),
    "a refusal": (
        Scripted(lambda _: Failure(CountRefused(reason="gone"))),
        BUDGET,
        CounterFailed(reason="gone", report=None),
    ),
    "nothing counted": (
        Scripted(lambda _: Success(counted(template(0)))),
        BUDGET,
        InvalidInput(reason=InvalidInputReason.ZERO_COUNT, path=None),
    ),
    "no method": (
        Scripted(lambda _: Success(attrs.evolve(GOOD, method=""))),
        BUDGET,
        UnverifiedCount(reason=UnverifiedReason.BLANK_METHOD),
    ),
    "a total beyond the numbers": (
        Scripted(lambda _: Success(counted(template(MOST)))),
        BUDGET,
        Overflow(what=OverflowWhat.TOTAL),
    ),
}


@pytest.mark.parametrize(("counter", "budget", "expected"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_cannot_be_counted_again_is_refused(
    counter: TokenCounter, budget: ContextBudget, expected: ReverifyFailure
) -> None:
    assert Failure(expected) == reverify(BUILT, TARGET, counter, budget)


def test_an_answer_for_another_target_is_refused() -> None:
    other = ContextTarget(model="x", template_revision="y")
    counter = Scripted(lambda _: Success(GOOD))

    assert Failure(UnverifiedCount(reason=UnverifiedReason.TARGET)) == reverify(BUILT, other, counter, BUDGET)
