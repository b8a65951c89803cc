"""The arithmetic of budgets and counts, for all numbers (rules B2, B4, B5, C1, C2, C3, C4)."""

from typing import Final
from unittest.mock import patch

from jingwei.build import _Sizes, count_failure, range_failure, target_failure
from jingwei.messages.records import UserMessage
from jingwei.report.failures import (
    InvalidInput,
    InvalidInputReason,
    Overflow,
    OverflowWhat,
    UnverifiedCount,
    UnverifiedReason,
)
from jingwei.request import counting, remembering
from jingwei.request.counting import (
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    FramingAllowance,
    JsonFactor,
)
from jingwei.request.records import (
    BudgetMode,
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)
from jingwei.request.remembering import RememberingCounter

TARGET: Final = ContextTarget(model="m", template_revision="r")

# --- budgets --------------------------------------------------------------------------------------


def a_budget_out_of_range_is_refused_by_name(budget: ContextBudget) -> None:
    """A window of 2^64 or more, then a margin below zero, then reserve plus margin of 2^64 or more."""
    assert budget.output_reserve > 0

    reserved = budget.output_reserve + budget.safety_margin
    expected = None
    if budget.window_tokens >= 2**64:
        expected = OverflowWhat.WINDOW
    elif budget.safety_margin < 0 or reserved >= 2**64:
        expected = OverflowWhat.RESERVED

    assert range_failure(budget) == (None if expected is None else Overflow(what=expected))


def a_budget_of_nothing_is_refused_by_name(budget: ContextBudget) -> None:
    """A window, then a reserve of zero or below; then, in hard mode, an output that is not verified."""
    assert isinstance(budget.safety_margin, int)

    refused = target_failure(TARGET, budget)

    if budget.window_tokens <= 0:
        assert refused == InvalidInput(reason=InvalidInputReason.ZERO_WINDOW, path="/budget/window_tokens")
    elif budget.output_reserve <= 0:
        path = "/budget/output_reserve"
        assert refused == InvalidInput(reason=InvalidInputReason.ZERO_OUTPUT_RESERVE, path=path)
    elif budget.mode is BudgetMode.HARD and budget.output_evidence is TokenBoundEvidence.ESTIMATE:
        assert refused == UnverifiedCount(reason=UnverifiedReason.OUTPUT_EVIDENCE)
    else:
        assert refused is None


# --- counts ---------------------------------------------------------------------------------------


def the_total_is_the_sum_of_the_parts(tokens: TokenBreakdown) -> None:
    """All four parts, each once."""
    assert isinstance(tokens.system, int)

    parts = [tokens.system, tokens.messages, tokens.constraint, tokens.template]

    assert tokens.total == sum(parts)


def an_answer_is_judged_in_the_order_of_the_rule(
    tokens: TokenBreakdown, budget: ContextBudget, verified: bool
) -> None:
    """Evidence, then a part below zero or a sum of 2^64, then zero, then what reserve and margin add."""
    assert range_failure(budget) is None

    evidence = TokenBoundEvidence.VERIFIED_UPPER_BOUND if verified else TokenBoundEvidence.ESTIMATE
    count = TokenCount(target=TARGET, method="m", evidence=evidence, tokens=tokens)
    refused = count_failure(count, TARGET, budget)

    low = tokens.system < 0 or tokens.messages < 0 or tokens.constraint < 0 or tokens.template < 0
    total = tokens.system + tokens.messages + tokens.constraint + tokens.template
    if budget.mode is BudgetMode.HARD and not verified:
        assert refused == UnverifiedCount(reason=UnverifiedReason.EVIDENCE)
    elif low or total >= 2**64:
        assert refused == Overflow(what=OverflowWhat.COUNT)
    elif total == 0:
        assert refused == InvalidInput(reason=InvalidInputReason.ZERO_COUNT, path=None)
    elif total + budget.output_reserve + budget.safety_margin >= 2**64:
        assert refused == Overflow(what=OverflowWhat.TOTAL)
    else:
        assert refused is None


# --- the built-in counters ------------------------------------------------------------------------


def a_quarter_is_rounded_up(size: int) -> None:
    """Four times the tokens are at least the bytes, and with a token less they are not."""
    assert size >= 0

    tokens = counting._quarter(size)

    assert 4 * (tokens - 1) < size <= 4 * tokens


def a_bound_on_json_is_never_below_its_bytes(size: int, composed: int, factor: JsonFactor) -> None:
    """With a factor of at least 1, JSON counts at least its bytes, before and after normalisation."""
    assert size >= 0
    assert composed >= 0
    assert factor.numerator >= factor.denominator > 0

    assert _json_bound(size, composed, factor) >= max(size, composed)


def a_factor_on_json_is_rounded_up(size: int, factor: JsonFactor) -> None:
    """The bytes times the factor, and less than one token more."""
    assert size >= 0
    assert factor.numerator >= factor.denominator > 0

    tokens = _json_bound(size, size, factor)

    assert (tokens - 1) * factor.denominator < size * factor.numerator <= tokens * factor.denominator


def _json_bound(size: int, composed: int, factor: JsonFactor) -> int:
    """What the byte bound says of a JSON text of so many bytes, and so many after normalisation."""
    nothing = Allowance()
    framing = FramingAllowance(message=nothing, call=nothing, tool=nothing, request=nothing)
    counter = ByteBoundCounter(model="m", template_revision="r", json_factor=factor, allowance=framing)
    with (
        patch.object(counting, "utf8_bytes", lambda text: size),
        patch.object(counting, "_normalised_bytes", lambda normalization, text: composed),
    ):
        return counter._json("[]")


def an_allowance_is_a_token_a_byte_and_one_a_special(allowance: Allowance) -> None:
    """And so never below either, if neither is below zero."""
    assert allowance.bytes >= 0
    assert allowance.specials >= 0

    assert counting._of(allowance) == allowance.bytes + allowance.specials


# --- where a search begins ------------------------------------------------------------------------


def bytes_show_the_first_that_fits(
    sizes: tuple[int, int, int, int], tokens: int, size: int, available: int
) -> None:
    """At `tokens` tokens for `size` bytes: the first of four candidates, each smaller than the one before,
    that is within what is available; the last where none is."""
    assert sizes[0] >= sizes[1] >= sizes[2] >= sizes[3] >= 0
    assert tokens >= 0
    assert size > 0

    kept = object.__new__(_Sizes)
    kept.kept = list(sizes)
    found = kept.needed(tokens, size, available)

    assert 0 <= found <= 3
    assert found == 3 or sizes[found] * max(tokens, 1) <= available * size
    assert found == 0 or sizes[found - 1] * max(tokens, 1) > available * size


# --- the memory of a counter ----------------------------------------------------------------------

MESSAGE: Final = UserMessage(content="a")


def a_memory_stays_within_its_bound(bound: int, young: int, old: int, weight: int) -> None:
    """From any memory whose generations weigh half the bound at most, remembering one message more, of any
    weight, leads to another such memory."""
    assert bound >= 0
    assert 0 <= young <= bound // 2
    assert 0 <= old <= bound // 2
    assert weight > 0

    counter = RememberingCounter(ByteHeuristicCounter(), memory_chars=bound)
    was_young = counter._young
    counter._young_chars = young
    with patch.object(remembering, "_weight", lambda message: weight):
        counter._remember(MESSAGE, 1)

    fits_at_all, turned = weight <= bound // 2, counter._old is was_young
    assert (MESSAGE in counter._young) == fits_at_all
    assert counter._young_chars == (0 if turned else young) + (weight if fits_at_all else 0) <= bound // 2
    assert counter._young_chars + (young if turned else old) <= bound
