"""The searches, walked through every answer there is: no log, no request, no counter.

A part of R1 and B5, whose paragraphs stand in `test_build.py`. What is enumerated here is a proof for the
sizes it names, not a sample.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jingwei.selection.search import (
    Accepted,
    CountNext,
    Exhausted,
    Move,
    Search,
    SearchState,
    counts_at_most,
    next_move,
    resolved,
    told,
)

LENGTHS = range(13)

Fits: TypeAlias = Callable[[int, int], bool]


def walked(state: SearchState, hint: int, fits: Fits, most: int = 200) -> tuple[list[tuple[int, bool]], Move]:
    """Every count that a search asks for with its answer, and how it closed.

    `fits(k, i)` answers the i-th question, which is about k steps.
    """
    asked: list[tuple[int, bool]] = []
    while len(asked) < most:
        move = next_move(state, hint)
        if not isinstance(move, CountNext):
            return asked, move
        answer = fits(move.steps, len(asked))
        asked.append((move.steps, answer))
        state = told(state, move, fits=answer)
    raise AssertionError(f"the search does not close: {state}, {asked}")


def from_cut(cut: int) -> Fits:
    """Fits from `cut` steps on."""
    return lambda steps, _: steps >= cut


def by_steps(answers: Sequence[bool]) -> Fits:
    """Fits as a table over the steps says: any function."""
    return lambda steps, _: answers[steps]


def by_question(answers: Sequence[bool]) -> Fits:
    """Fits as a table over the questions says, whatever they are about."""
    return lambda _, question: answers[question % len(answers)]


def starts(last: int) -> Iterator[tuple[SearchState, int]]:
    """Every way to begin a bisecting search over `last` steps, with every hint, also senseless ones."""
    for guess, trusted, hint in product(range(last + 1), (False, True), range(-1, last + 2)):
        yield SearchState(search=Search.BISECT, last=last, guess=guess, trusted=trusted), hint


def naive_bound(steps: int) -> int:
    """3 + 2·ceil(log2(max(steps, 1))), by doubling."""
    doublings, reach = 0, 1
    while reach < steps:
        reach *= 2
        doublings += 1
    return 3 + 2 * doublings


class TestLinearSearch:
    """LINEAR counts k = 0, 1, 2 … and stops at the first that fits: at most steps + 1 counts."""

    @pytest.mark.parametrize("last", LENGTHS)
    def test_it_counts_upwards_and_stops_at_the_first_that_fits(self, last: int) -> None:
        for cut in range(last + 2):
            asked, end = walked(SearchState(search=Search.LINEAR, last=last), 0, from_cut(cut))
            expected = [(k, k == cut) for k in range(min(cut, last) + 1)]

            assert expected == asked
            assert (Accepted(steps=cut) if cut <= last else Exhausted()) == end

    @pytest.mark.parametrize("last", LENGTHS)
    def test_it_finds_the_smallest_k_under_any_function(self, last: int) -> None:
        for answers in product((False, True), repeat=last + 1):
            _, end = walked(SearchState(search=Search.LINEAR, last=last), 0, by_steps(answers))

            assert (Accepted(steps=answers.index(True)) if True in answers else Exhausted()) == end


class TestBisectingSearch:
    """BISECT closes within 3 + 2·ceil(log2(max(steps, 1))) counts, on the smallest fitting k where fitting
    is monotone, and in any case on a k that it counted last and that fitted."""

    @pytest.mark.parametrize("last", LENGTHS)
    def test_where_fitting_is_monotone_it_finds_the_smallest_k(self, last: int) -> None:
        for (state, hint), cut in product(starts(last), range(last + 2)):
            asked, end = walked(state, hint, from_cut(cut))

            assert (Accepted(steps=cut) if cut <= last else Exhausted()) == end
            assert asked[-1] == (min(cut, last), cut <= last)
            assert len(asked) <= naive_bound(last)

    @pytest.mark.parametrize("last", range(9))
    def test_under_any_function_it_accepts_only_what_it_counted_last_and_fitted(self, last: int) -> None:
        for (state, hint), answers in product(starts(last), product((False, True), repeat=last + 1)):
            asked, end = walked(state, hint, by_steps(answers))

            assert len(asked) <= naive_bound(last)
            _closes_on_its_last_count(asked, end, last)

    @pytest.mark.parametrize("last", range(7))
    def test_no_counter_that_contradicts_itself_leads_it_astray(self, last: int) -> None:
        """Answers by question, not by candidate: every sequence of answers up to the bound."""
        for (state, hint), answers in product(starts(last), product((False, True), repeat=naive_bound(last))):
            asked, end = walked(state, hint, by_question(answers))

            _closes_on_its_last_count(asked, end, last)

    @given(st.integers(0, 5000), st.data())
    def test_large_plans_keep_the_bound(self, last: int, data: st.DataObject) -> None:
        ks = st.integers(0, last)
        state = SearchState(
            search=Search.BISECT, last=last, guess=data.draw(ks), trusted=data.draw(st.booleans())
        )
        cut, hint = data.draw(st.integers(0, last + 1)), data.draw(st.integers(-3, last + 3))
        asked, end = walked(state, hint, from_cut(cut))

        assert (Accepted(steps=cut) if cut <= last else Exhausted()) == end
        assert len(asked) <= naive_bound(last)

    @pytest.mark.parametrize("last", LENGTHS)
    def test_a_right_guess_from_exact_costs_closes_in_two_counts(self, last: int) -> None:
        for cut in range(last + 2):
            guess = last if cut > last else max(cut - 1, 0)
            state = SearchState(search=Search.BISECT, last=last, guess=guess, trusted=True)
            asked, _ = walked(state, 0, from_cut(cut))

            assert len(asked) <= 2

    @pytest.mark.parametrize("last", LENGTHS)
    def test_an_impossible_budget_is_known_after_the_second_count(self, last: int) -> None:
        for state, hint in starts(last):
            if not state.trusted:
                asked, end = walked(state, hint, from_cut(last + 1))

                assert Exhausted() == end
                assert len(asked) <= 2

    def test_the_bound_is_the_one_of_the_rule(self) -> None:
        assert [naive_bound(n) for n in range(5000)] == [counts_at_most(n) for n in range(5000)]


def _closes_on_its_last_count(asked: list[tuple[int, bool]], end: Move, last: int) -> None:
    if isinstance(end, Accepted):
        assert (end.steps, True) == asked[-1]
    else:
        assert Exhausted() == end
        assert (last, False) == asked[-1]


class TestAutoSearch:
    """AUTO is BISECT with an additive counter, else LINEAR where the counts allow a walk, else BISECT."""

    @given(st.sampled_from(Search), st.booleans(), st.integers(0, 300), st.integers(1, 300))
    def test_it_stands_for_what_the_rule_says(
        self, search: Search, additive: bool, steps: int, calls: int
    ) -> None:
        expected = search
        if search is Search.AUTO:
            walkable = steps + 1 <= calls
            expected = Search.LINEAR if walkable and not additive else Search.BISECT

        assert expected == resolved(search, additive=additive, steps=steps, count_calls=calls)


class TestStateIsAValue:
    """A search state is never changed: each answer makes the next one."""

    @pytest.mark.parametrize("search", [Search.LINEAR, Search.BISECT])
    def test_an_answer_leaves_the_state_as_it_was(self, search: Search) -> None:
        state = SearchState(search=search, last=9, guess=4)
        before = attrs.asdict(state)
        move = next_move(state, 3)
        assert isinstance(move, CountNext)
        after = told(state, move, fits=False)

        assert before == attrs.asdict(state)
        assert (0, 1) == (state.counts, after.counts)
        assert move == next_move(state, 3)
