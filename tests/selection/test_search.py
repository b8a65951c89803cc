"""The searches (B5, design section 3): walked through every answer there is, without a request."""

import itertools
from collections.abc import Callable

import pytest

from jingwei.selection.search import (
    Accepted,
    CountNext,
    Exhausted,
    Move,
    Phase,
    Search,
    SearchState,
    counts_at_most,
    next_move,
    resolved,
    told,
)


def walk(state: SearchState, fits: Callable[[int], bool], hint: int = 0) -> tuple[Move, list[int]]:
    """Run a search to its end: how it closed, and which k were counted."""
    counted = list[int]()
    while True:
        move = next_move(state, hint)
        if not isinstance(move, CountNext):
            return move, counted
        counted.append(move.steps)
        assert len(counted) <= 200
        state = told(state, move, fits=fits(move.steps))


def started(search: Search, last: int, guess: int = 0, *, trusted: bool = False) -> SearchState:
    return SearchState(search=search, last=last, guess=guess, trusted=trusted)


@pytest.mark.parametrize(
    ("needed", "expected", "counted"),
    [
        (0, Accepted(steps=0), [0]),
        (2, Accepted(steps=2), [0, 1, 2]),
        (3, Accepted(steps=3), [0, 1, 2, 3]),
        (4, Exhausted(), [0, 1, 2, 3]),
    ],
)
def test_a_linear_search_counts_one_step_after_the_other(
    needed: int, expected: Move, counted: list[int]
) -> None:
    assert (expected, counted) == walk(started(Search.LINEAR, 3), lambda steps: steps >= needed)


@pytest.mark.parametrize("search", [Search.LINEAR, Search.BISECT])
@pytest.mark.parametrize(("fits", "expected"), [(True, Accepted(steps=0)), (False, Exhausted())])
def test_a_plan_without_steps_takes_one_count(search: Search, fits: bool, expected: Move) -> None:
    assert (expected, [0]) == walk(started(search, 0), lambda _: fits)


def test_a_linear_search_takes_the_first_that_fits_even_if_a_later_one_does_not() -> None:
    """It asks no more than it needs, so a counter that is not monotone does not mislead it."""
    assert (Accepted(steps=1), [0, 1]) == walk(started(Search.LINEAR, 3), lambda steps: steps == 1)


LASTS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17]


@pytest.mark.parametrize("last", LASTS)
def test_a_bisecting_search_finds_the_least_from_any_guess_within_its_bound(last: int) -> None:
    """Every threshold, guess and hint, trusted or not: the linear answer, in at most 3 + 2·log2 counts."""
    for needed, guess, hint, trusted in itertools.product(
        range(last + 2), range(last + 1), range(last + 1), (False, True)
    ):
        state = started(Search.BISECT, last, guess, trusted=trusted)
        move, counted = walk(state, lambda steps, needed=needed: steps >= needed, hint)  # type: ignore[misc]

        assert (Accepted(steps=needed) if needed <= last else Exhausted()) == move
        assert (needed if needed <= last else last) == counted[-1]
        assert len(counted) <= counts_at_most(last)


@pytest.mark.parametrize("last", [1, 2, 9, 100])
def test_a_trusted_guess_that_is_right_takes_two_counts(last: int) -> None:
    """The guess is the last k that should not fit; the next one closes the search."""
    for needed in range(1, last + 1):
        _, counted = walk(
            started(Search.BISECT, last, needed - 1, trusted=True),
            lambda steps, needed=needed: steps >= needed,  # type: ignore[misc]
        )

        assert [needed - 1, needed] == counted


def test_a_trusted_guess_of_nothing_to_drop_takes_one_count() -> None:
    assert (Accepted(steps=0), [0]) == walk(started(Search.BISECT, 9, 0, trusted=True), lambda _: True)


def test_an_impossible_budget_is_known_after_one_or_two_counts() -> None:
    trusted = started(Search.BISECT, 100, 100, trusted=True)

    assert (Exhausted(), [100]) == walk(trusted, lambda _: False)
    assert (Exhausted(), [40, 100]) == walk(started(Search.BISECT, 100, 40), lambda _: False)


def test_the_accepted_candidate_is_the_last_one_counted() -> None:
    """A gallop downwards ends at a k that does not fit; the one above it is counted again."""
    move, counted = walk(started(Search.BISECT, 10, 5), lambda steps: steps >= 5, hint=4)

    assert Accepted(steps=5) == move
    assert 5 == counted[-1]
    assert 2 <= counted.count(5)


def test_a_counter_that_takes_its_word_back_is_not_believed() -> None:
    """It says first that k fits and, asked again, that it does not: nothing is accepted on its word."""
    answers = {5: [True, False]}

    def fits(steps: int) -> bool:
        given = answers.get(steps)
        return given.pop(0) if given else steps >= 8

    move, counted = walk(started(Search.BISECT, 10, 5), fits, hint=4)

    assert Accepted(steps=counted[-1]) == move
    assert counted[-1] >= 8


@pytest.mark.parametrize("last", [1, 2, 3, 4])
@pytest.mark.parametrize("search", [Search.LINEAR, Search.BISECT])
def test_any_fixed_answers_end_in_what_was_counted_last(search: Search, last: int) -> None:
    """All subsets of fitting k, monotone or not: what is accepted fits and was counted last; a search
    that finds nothing has counted the request after all steps last.
    """
    for answers in itertools.product((False, True), repeat=last + 1):
        for guess, hint in itertools.product(range(last + 1), repeat=2):
            move, counted = walk(started(search, last, guess), answers.__getitem__, hint)

            assert (move == Accepted(steps=counted[-1])) == answers[counted[-1]]
            assert isinstance(move, Accepted) or counted[-1] == last


@pytest.mark.parametrize(
    ("steps", "counts"), [(0, 3), (1, 3), (2, 5), (3, 7), (4, 7), (5, 9), (4096, 27), (4097, 29)]
)
def test_the_bound_is_that_of_the_design(steps: int, counts: int) -> None:
    assert counts == counts_at_most(steps)


@pytest.mark.parametrize(
    ("search", "additive", "steps", "expected"),
    [
        (Search.AUTO, True, 0, Search.BISECT),
        (Search.AUTO, True, 500, Search.BISECT),
        (Search.AUTO, False, 127, Search.LINEAR),
        (Search.AUTO, False, 128, Search.BISECT),
        (Search.LINEAR, True, 500, Search.LINEAR),
        (Search.BISECT, False, 0, Search.BISECT),
    ],
)
def test_auto_stands_for_what_the_counter_and_the_counts_allow(
    search: Search, additive: bool, steps: int, expected: Search
) -> None:
    assert expected is resolved(search, additive=additive, steps=steps, count_calls=128)


def test_a_search_told_of_in_any_order_ends_with_the_request_after_all_steps() -> None:
    """No search gets there by itself; a host that tells it out of order still does."""
    state = SearchState(search=Search.BISECT, last=3, too_few=3, counted=1)
    recount = CountNext(steps=3, phase=Phase.RECOUNT)

    assert recount == next_move(state, 0)
    assert Exhausted() == next_move(told(state, recount, fits=False), 0)


def test_what_is_counted_says_why() -> None:
    state = started(Search.BISECT, 10, 5)
    phases = list[Phase]()
    while isinstance(move := next_move(state, 7), CountNext):
        phases.append(move.phase)
        state = told(state, move, fits=move.steps >= 8)

    assert [Phase.GUESS, Phase.PROBE, Phase.HINT, Phase.GALLOP] == phases
