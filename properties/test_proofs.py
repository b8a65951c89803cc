"""The proofs, without CrossHair: each contract can fail, and the states that it speaks of are walked.

`make proofs` has every contract looked at for all its values (docs/proofs.md). Here each is called with
values that CrossHair found: it holds for them, and fails as soon as its bug is planted.
"""

from collections.abc import Mapping

import pytest

from jingwei.request.counting import Allowance, JsonFactor
from jingwei.request.records import (
    BudgetMode,
    BuildLimits,
    ContextBudget,
    TokenBoundEvidence,
    TokenBreakdown,
)
from jingwei.selection.search import Search, SearchState, counts_at_most
from properties.proofs.table import Contract, contracts, planted, times
from properties.proofs.worlds import checked

CONTRACTS = contracts()

TWO_TO_64 = 18_446_744_073_709_551_616
OPEN = SearchState(search=Search.BISECT, last=3, guess=0, too_few=0, counted=0, counts=1, trusted=True)
VERIFIED = TokenBoundEvidence.VERIFIED_UPPER_BOUND

WITNESSES: Mapping[str, tuple[object, ...]] = {
    "searching.a_search_starts_sound": (True, 2, 0, False),
    "searching.no_candidate_lies_outside_the_plan": (
        SearchState(search=Search.BISECT, last=3, trusted=True, too_few=0, counted=0, counts=2),
        4,
    ),
    "searching.an_answer_keeps_the_state_sound": (
        SearchState(search=Search.BISECT, last=1, guess=1, enough=0, counted=1, anchored=True, counts=2),
        0,
        False,
    ),
    "searching.what_closes_was_counted_last": (
        SearchState(search=Search.BISECT, last=2, guess=2, enough=1, counted=2, counts=2),
        0,
        0,
        False,
    ),
    "searching.every_answer_brings_the_close_nearer": (
        SearchState(search=Search.BISECT, last=0),
        0,
        0,
        False,
    ),
    "searching.the_whole_plan_is_never_counted_again": (
        SearchState(search=Search.BISECT, last=0, too_few=0, counted=0, counts=1),
        0,
    ),
    "searching.a_monotone_counter_is_understood": (
        SearchState(search=Search.BISECT, last=1, guess=1, enough=1, counted=1, counts=1),
        0,
        0,
    ),
    "searching.a_right_guess_closes_in_two_counts": (2, 1, 2),
    "searching.the_impossible_is_known_after_two_counts": (2, 0, 0),
    "searching.halvings_are_the_logarithm": (1,),
    "searching.no_count_is_made_that_is_not_paid_for": (
        SearchState(search=Search.BISECT, last=23, too_few=5, enough=23, counted=0, counts=7),
        0,
        False,
    ),
    "searching.a_linear_search_counts_upwards": (0, 0, 0, False),
    "searching.auto_walks_where_it_can": (Search.AUTO, False, 0, 0),
    "building.a_build_fits_or_says_why_not": (
        TokenBreakdown(system=1, messages=1, constraint=1, template=0),
        4,
        1,
        0,
    ),
    "building.a_recount_judges_as_a_build_does": (1, 2, 1, 1),
    "building.a_linear_build_takes_the_first_that_fits": ((1, 1, 1, 1), 1, 2),
    "building.a_bisecting_build_accepts_what_fits": ((2**63 - 1, 1, 1, 1), 2**62, 0),
    "building.an_additive_build_finds_the_smallest_in_two_counts": ((1, 39, 2), 58, 99, 0),
    "budgets.a_budget_out_of_range_is_refused_by_name": (
        ContextBudget(window_tokens=1, output_reserve=TWO_TO_64),
    ),
    "budgets.a_budget_of_nothing_is_refused_by_name": (ContextBudget(window_tokens=1, output_reserve=0),),
    "budgets.the_total_is_the_sum_of_the_parts": (
        TokenBreakdown(system=0, messages=0, constraint=0, template=1),
    ),
    "budgets.an_answer_is_judged_in_the_order_of_the_rule": (
        TokenBreakdown(system=1, messages=1, constraint=1, template=0),
        ContextBudget(
            window_tokens=1,
            output_reserve=1,
            safety_margin=TWO_TO_64 - 4,
            output_evidence=VERIFIED,
            mode=BudgetMode.HARD,
        ),
        True,
    ),
    "budgets.a_quarter_is_rounded_up": (0,),
    "budgets.a_bound_on_json_is_never_below_its_bytes": (2, 1, JsonFactor()),
    "budgets.a_factor_on_json_is_rounded_up": (1, JsonFactor(numerator=3, denominator=2)),
    "budgets.an_allowance_is_a_token_a_byte_and_one_a_special": (Allowance(bytes=1, specials=1),),
    "budgets.bytes_show_the_first_that_fits": ((1, 1, 1, 0), 2, 2, 1),
    "budgets.a_memory_stays_within_its_bound": (2, 1, 0, 1),
    "bounds.the_first_event_out_of_place_is_told": ((1, 1, 2), -1, False),
    "bounds.a_number_is_read_exactly_in_its_range": (TWO_TO_64,),
    "bounds.a_bound_of_a_projection_may_be_met": (6, 10_000, 5),
    "bounds.a_limit_of_a_build_may_be_met": (BuildLimits(max_turns=2),),
}
"""Values for which each contract fails with its bug in place, as CrossHair found them, or simpler ones."""

STATES = (
    *((0, 9, 1), (1, 29, 3), (2, 77, 4), (3, 177, 5), (4, 388, 6), (5, 751, 7), (6, 1_291, 7), (7, 2_224, 8)),
    *((8, 3_749, 8), (9, 5_874, 9), (10, 9_094, 9)),
)
"""By the steps of the plan: how many states there are, and the most counts of a bisecting search whose
counter gives a candidate one answer."""


class TestProofs:
    """Every contract can be refuted."""

    @pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
    def test_a_contract_fails_with_its_bug_and_not_without(self, contract: Contract) -> None:
        """For values that meet what it presupposes, since without the bug they pass."""
        contract.function(*WITNESSES[contract.name])

        assert 1 == times(contract.bug), "the text that the bug changes is not there"
        with planted(contract.bug), pytest.raises(AssertionError):
            contract.function(*WITNESSES[contract.name])

        contract.function(*WITNESSES[contract.name])


class TestSearchStates:
    """Every state that a search over a short plan can reach, through every guess, hint and answer, also of a
    counter that contradicts itself: it is sound, what closes was counted last, and the bound on counts holds
    for a counter that does not."""

    @pytest.mark.parametrize(("last", "states", "most"), STATES)
    def test_every_state(self, last: int, states: int, most: int) -> None:
        """As many as there should be; and the most counts are no more than the bound allows."""
        found = checked(last)

        assert (states, most) == (found.states, found.honest)
        assert most <= counts_at_most(last)
