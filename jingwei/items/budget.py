"""How many tokens there are for context items, before anything is counted (rule S0)."""

import enum
from typing import final

import attrs

from jingwei.limits import TOKENS_BOUND
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.records import BudgetMode, ContextBudget, TokenBoundEvidence


@final
@attrs.frozen(kw_only=True)
class TokenBudget:
    """What a host sets aside before it chooses items (S0); all in tokens.

    Made by `token_budget`, which refuses what leaves less than nothing. It bounds the choice of items and
    nothing else: whether a request fits is decided by the full count of the build, with the budget that
    `context_budget` gives. There system texts and tool schemas are counted and no longer set aside, so that
    nothing is taken off twice.

    Attributes:
        window: what the model can hold, input and output together; above zero.
        reserved_output: for the answer.
        reserved_tool_schema: for tools or a schema in the request.
        reserved_system: for system texts.
        reserved_retry: for another try, or the repair of an answer that was not well formed.
        safety_margin: for what counting gets wrong.
    """

    window: int
    reserved_output: int
    reserved_tool_schema: int = 0
    reserved_system: int = 0
    reserved_retry: int = 0
    safety_margin: int = 0

    @property
    def available_context(self) -> int:
        """Tokens that items may take."""
        return (
            self.window
            - self.reserved_output
            - self.reserved_tool_schema
            - self.reserved_system
            - self.reserved_retry
            - self.safety_margin
        )


@final
class TokenBudgetReason(enum.Enum):
    """Why numbers are no budget (S0)."""

    OUT_OF_RANGE = "out_of_range"
    ZERO_WINDOW = "zero_window"
    OVERDRAWN = "overdrawn"


@final
@attrs.frozen(kw_only=True)
class InvalidTokenBudget:
    """A budget that cannot be meant (S0).

    Attributes:
        field: the first attribute that is wrong; `available_context` where more is set aside than there is.
        reason: the check.
        actual: its value.
    """

    field: str
    reason: TokenBudgetReason
    actual: int


def token_budget(
    *,
    window: int,
    reserved_output: int,
    reserved_tool_schema: int = 0,
    reserved_system: int = 0,
    reserved_retry: int = 0,
    safety_margin: int = 0,
) -> Outcome[TokenBudget, InvalidTokenBudget]:
    """A budget of these numbers.

    Refused, in this order: a number outside [0, 2^64), a window of zero, more set aside than there is. A
    budget that leaves exactly nothing is one.
    """
    budget = TokenBudget(
        window=window,
        reserved_output=reserved_output,
        reserved_tool_schema=reserved_tool_schema,
        reserved_system=reserved_system,
        reserved_retry=reserved_retry,
        safety_margin=safety_margin,
    )
    refused = token_budget_failure(budget)
    return Success(budget) if refused is None else Failure(refused)


def token_budget_failure(budget: TokenBudget) -> InvalidTokenBudget | None:
    """What is wrong with a budget that was put together by hand; None when it could be made."""
    numbers = {
        "window": budget.window,
        "reserved_output": budget.reserved_output,
        "reserved_tool_schema": budget.reserved_tool_schema,
        "reserved_system": budget.reserved_system,
        "reserved_retry": budget.reserved_retry,
        "safety_margin": budget.safety_margin,
    }
    for field, number in numbers.items():
        if not 0 <= number < TOKENS_BOUND:
            return InvalidTokenBudget(field=field, reason=TokenBudgetReason.OUT_OF_RANGE, actual=number)
    if not budget.window:
        return InvalidTokenBudget(field="window", reason=TokenBudgetReason.ZERO_WINDOW, actual=0)
    left = budget.available_context
    if left < 0:
        return InvalidTokenBudget(field="available_context", reason=TokenBudgetReason.OVERDRAWN, actual=left)
    return None


def context_budget(
    budget: TokenBudget,
    *,
    output_evidence: TokenBoundEvidence = TokenBoundEvidence.ESTIMATE,
    mode: BudgetMode = BudgetMode.SOFT,
) -> ContextBudget:
    """The budget of a build with the same window (B1).

    The answer is reserved as it is; the reserve for another try joins the margin, since no request may take
    either. What was set aside for system texts and tool schemas is given back: the build counts them.
    """
    return ContextBudget(
        window_tokens=budget.window,
        output_reserve=budget.reserved_output,
        output_evidence=output_evidence,
        safety_margin=budget.safety_margin + budget.reserved_retry,
        mode=mode,
    )
