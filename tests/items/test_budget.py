"""What is set aside before items are chosen, and what the build still sets aside (S0)."""

import pytest

from jingwei.items.budget import (
    InvalidTokenBudget,
    TokenBudget,
    TokenBudgetReason,
    context_budget,
    token_budget,
    token_budget_failure,
)
from jingwei.outcome import Failure
from jingwei.request.records import BudgetMode, ContextBudget, TokenBoundEvidence

BUDGET = TokenBudget(
    window=1000,
    reserved_output=100,
    reserved_tool_schema=20,
    reserved_system=30,
    reserved_retry=40,
    safety_margin=5,
)


def test_available_is_the_window_without_all_that_is_set_aside() -> None:
    assert 805 == BUDGET.available_context


def test_the_build_sets_no_tools_and_no_system_texts_aside_for_it_counts_them() -> None:
    expected = ContextBudget(
        window_tokens=1000,
        output_reserve=100,
        output_evidence=TokenBoundEvidence.VERIFIED_UPPER_BOUND,
        safety_margin=45,
        mode=BudgetMode.HARD,
    )

    assert expected == context_budget(
        BUDGET, output_evidence=TokenBoundEvidence.VERIFIED_UPPER_BOUND, mode=BudgetMode.HARD
    )
    assert 805 + 20 + 30 == context_budget(BUDGET).available


@pytest.mark.parametrize(
    ("numbers", "field", "reason", "actual"),
    [
        ((-1, 0, 0, 0, 0, 0), "window", "out_of_range", -1),
        ((2**64, 0, 0, 0, 0, 0), "window", "out_of_range", 2**64),
        ((9, -1, 0, 0, 0, 0), "reserved_output", "out_of_range", -1),
        ((9, 0, -1, 0, 0, 0), "reserved_tool_schema", "out_of_range", -1),
        ((9, 0, 0, -1, 0, 0), "reserved_system", "out_of_range", -1),
        ((9, 0, 0, 0, -1, 0), "reserved_retry", "out_of_range", -1),
        ((9, 0, 0, 0, 0, -1), "safety_margin", "out_of_range", -1),
        ((0, 0, 0, 0, 0, 0), "window", "zero_window", 0),
        ((9, 2, 2, 2, 2, 2), "available_context", "overdrawn", -1),
    ],
)
def test_numbers_that_are_no_budget_are_refused(
    numbers: tuple[int, int, int, int, int, int], field: str, reason: str, actual: int
) -> None:
    window, output, tools, system, retry, margin = numbers
    refused = InvalidTokenBudget(field=field, reason=TokenBudgetReason(reason), actual=actual)

    assert Failure(refused) == token_budget(
        window=window,
        reserved_output=output,
        reserved_tool_schema=tools,
        reserved_system=system,
        reserved_retry=retry,
        safety_margin=margin,
    )


def test_a_budget_may_leave_exactly_nothing() -> None:
    budget = token_budget(window=9, reserved_output=9).unwrap()

    assert 0 == budget.available_context
    assert token_budget_failure(budget) is None
