"""Whole builds, counted by tables of numbers that may be anything (rules B4, B5, B7, B11, R1).

The messages are few and fixed, the numbers are not: what a counter says of each candidate, the window, the
reserve, the margin, the number of counts. Each contract calls `build` or `reverify` itself; where a search
asks for a hint, it gets any number, since a division of two unknown numbers is too much for the solver.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final, final
from unittest.mock import patch

import attrs

from jingwei.build import BuildInputs, BuiltContext, _Fit, build
from jingwei.messages.records import (
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.recount import Reverified, Verdict, reverify
from jingwei.report.failures import (
    BuildFailure,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    InvalidInputReason,
    Overflow,
    OverflowWhat,
)
from jingwei.request.counting import CountRefused, TokenCounter
from jingwei.request.records import (
    BuildLimits,
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)
from jingwei.selection.search import Search
from properties.build_models import history_of

TARGET: Final = ContextTarget(model="m", template_revision="r")
CURRENT: Final = (UserMessage(content="u"),)
HISTORIES: Final = tuple(history_of("f" * turns) for turns in range(4))
"""Closed turns of one message each, so that the number of messages says how many were left out."""


@final
@attrs.frozen
class ByCandidate:
    """Tokens by how many turns are left out of a history of `len(parts) - 1` turns."""

    parts: Sequence[TokenBreakdown]

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return _answer(target, self.parts[len(self.parts) - len(request.messages)])


@final
@attrs.frozen
class ByTurn:
    """An additive counter: so many tokens for each turn, oldest first; `rest` besides."""

    costs: Sequence[int]
    rest: int

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        messages = sum([self.message_cost(message) for message in request.messages])
        return _answer(target, _parts(messages, template=self.rest))

    def message_cost(self, message: ModelMessage) -> int:
        turns = HISTORIES[len(self.costs)].turns
        return sum([cost for turn, cost in zip(turns, self.costs, strict=True) if message in turn.messages])

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return self.rest


def _answer(target: ContextTarget, tokens: TokenBreakdown) -> Outcome[TokenCount, CountRefused]:
    evidence = TokenBoundEvidence.ESTIMATE
    return Success(TokenCount(target=target, method="m", evidence=evidence, tokens=tokens))


def _parts(messages: int, template: int = 0) -> TokenBreakdown:
    return TokenBreakdown(system=0, messages=messages, constraint=0, template=template)


def _built(
    turns: int, budget: ContextBudget, counter: TokenCounter, search: Search, calls: int = 128
) -> Outcome[BuiltContext, BuildFailure]:
    limits = BuildLimits(max_count_calls=calls)
    inputs = BuildInputs(current=CURRENT, target=TARGET, budget=budget, limits=limits)
    return build(HISTORIES[turns], inputs, counter, search=search)


@contextlib.contextmanager
def _hinting(hint: int) -> Iterator[None]:
    """Every search is given this hint."""

    def given(fit: _Fit) -> int:
        return hint

    with patch.object(_Fit, "hint", given):
        yield


def _budget(window: int) -> ContextBudget:
    return ContextBudget(window_tokens=window, output_reserve=1)


def _steps(built: BuiltContext) -> list[int]:
    return [attempt.plan_steps for attempt in built.report.attempts]


# --- one candidate --------------------------------------------------------------------------------


def a_build_fits_or_says_why_not(tokens: TokenBreakdown, window: int, reserve: int, margin: int) -> None:
    """All six summands together are within the window, or the build does not fit, or 2^64 is reached."""
    assert 0 < window < 2**64
    assert 0 < reserve
    assert 0 <= margin
    assert reserve + margin < 2**64
    assert tokens.system >= 0
    assert tokens.messages >= 0
    assert tokens.constraint >= 0
    assert tokens.template >= 0

    budget = ContextBudget(window_tokens=window, output_reserve=reserve, safety_margin=margin)
    outcome = _built(0, budget, ByCandidate([tokens]), Search.LINEAR)

    total = tokens.system + tokens.messages + tokens.constraint + tokens.template
    match outcome:
        case Success(built):
            assert 0 < total
            assert total + reserve + margin <= window
            assert built.report.attempts[-1].total_reserved == total + reserve + margin
        case Failure(DoesNotFit(report=report)):
            assert total + reserve + margin > window
            assert report.attempts[-1].total_reserved == total + reserve + margin
        case Failure(Overflow(what=OverflowWhat.COUNT)):
            assert total >= 2**64
        case Failure(Overflow(what=OverflowWhat.TOTAL)):
            assert total < 2**64 <= total + reserve + margin
        case Failure(InvalidInput(reason=InvalidInputReason.ZERO_COUNT)):
            assert total == 0
        case _:
            raise AssertionError(outcome)


BUILT: Final = _built(0, _budget(9), ByCandidate([_parts(1)]), Search.LINEAR).unwrap()


def a_recount_judges_as_a_build_does(messages: int, window: int, reserve: int, margin: int) -> None:
    """`reverify` says that a request fits exactly where it, reserve and margin are within the window."""
    assert 0 < window < 2**64
    assert 0 < reserve
    assert 0 <= margin
    assert 0 < messages
    assert messages + reserve + margin < 2**64

    budget = ContextBudget(window_tokens=window, output_reserve=reserve, safety_margin=margin)
    outcome = reverify(BUILT, TARGET, ByCandidate([_parts(messages)]), budget)

    match outcome:
        case Success(Reverified(verdict=verdict, total_reserved=total)):
            assert total == messages + reserve + margin
            assert verdict is (Verdict.FITS if total <= window else Verdict.EXCEEDS)
        case _:
            raise AssertionError(outcome)


# --- several candidates ---------------------------------------------------------------------------


def a_linear_build_takes_the_first_that_fits(
    totals: tuple[int, int, int, int], window: int, calls: int
) -> None:
    """Of four candidates, whatever they cost, the first that fits; or as many counts as are allowed."""
    assert 0 < totals[0] < 2**63
    assert 0 < totals[1] < 2**63
    assert 0 < totals[2] < 2**63
    assert 0 < totals[3] < 2**63
    assert 0 < window < 2**64
    assert 0 < calls

    outcome = _built(3, _budget(window), ByCandidate([_parts(t) for t in totals]), Search.LINEAR, calls)

    within = [total + 1 <= window for total in totals]
    first = within.index(True) if any(within) else 4
    match outcome:
        case Success(built):
            assert _steps(built) == list(range(first + 1))
            assert first < calls
        case Failure(CountLimit(report=report)):
            assert len(report.attempts) == calls <= min(first, 3)
        case Failure(DoesNotFit(exhaustive=exhaustive)):
            assert exhaustive
            assert first == 4
        case _:
            raise AssertionError(outcome)


def a_bisecting_build_accepts_what_fits(totals: tuple[int, int, int, int], window: int, hint: int) -> None:
    """Of four candidates, whatever they cost, one that was counted last and fits; the first where later
    ones never cost more; none only where the last does not fit. The hint may be anything."""
    assert 0 < totals[0] < 2**63
    assert 0 < totals[1] < 2**63
    assert 0 < totals[2] < 2**63
    assert 0 < totals[3] < 2**63
    assert 0 < window < 2**64

    with _hinting(hint):
        outcome = _built(3, _budget(window), ByCandidate([_parts(t) for t in totals]), Search.BISECT)

    within = [total + 1 <= window for total in totals]
    match outcome:
        case Success(built):
            found = _steps(built)[-1]
            assert within[found]
            assert not totals[0] >= totals[1] >= totals[2] >= totals[3] or found == within.index(True)
        case Failure(DoesNotFit(exhaustive=exhaustive)):
            assert not exhaustive
            assert not within[3]
        case _:
            raise AssertionError(outcome)


def an_additive_build_finds_the_smallest_in_two_counts(
    costs: tuple[int, int, int], rest: int, window: int, hint: int
) -> None:
    """Over three turns with any costs, a bisecting build ends where counting each would, after two counts.
    The hint may be anything."""
    assert costs[0] >= 0
    assert costs[1] >= 0
    assert costs[2] >= 0
    assert rest > 0
    assert 0 < window < 2**64
    assert costs[0] + costs[1] + costs[2] + rest < 2**63

    with _hinting(hint):
        outcome = _built(3, _budget(window), ByTurn(costs, rest), Search.BISECT)

    totals = [rest + sum(costs[k:]) for k in range(4)]
    within = [total + 1 <= window for total in totals]
    match outcome:
        case Success(built):
            assert _steps(built)[-1] == within.index(True)
            assert len(_steps(built)) <= 2
        case Failure(DoesNotFit(exhaustive=exhaustive, report=report)):
            assert exhaustive
            assert not any(within)
            assert len(report.attempts) == 1
        case _:
            raise AssertionError(outcome)
