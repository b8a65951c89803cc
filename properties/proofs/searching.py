"""The searches, by induction over their answers: what holds of a state holds of the next one (rules B5, R1).

`sound` describes every state that a search can reach, for plans of any length below 2^64; it is larger than
what is reachable, which does no harm. Each contract looks at one answer from any sound state, so that no
number of answers is left out. `worlds.py` walks the reachable states of short plans and meets the claims
there too, which shows that they are not about nothing.
"""

from jingwei.limits import TOKENS_BOUND
from jingwei.selection import search as searches
from jingwei.selection.search import (
    Accepted,
    CountNext,
    Exhausted,
    Phase,
    Search,
    SearchState,
    counts_at_most,
    next_move,
    resolved,
    told,
)

# --- what is known of a state ---------------------------------------------------------------------


def sound(state: SearchState) -> bool:
    """Holds of every start and is kept by every answer, also of a counter that contradicts itself."""
    return (
        state.search is not Search.AUTO
        and 0 <= state.guess <= state.last < TOKENS_BOUND
        and -1 <= state.too_few <= state.last
        and (state.enough is None or state.too_few < state.enough <= state.last)
        and (state.counted is None or 0 <= state.counted <= state.last)
        and (state.enough is not None or state.too_few < state.last or state.counted == state.last)
        and (state.counts > 0 or fresh(state))
        and (state.counts == 0 or state.counted is not None)
        and state.stride >= 1
    )


def fresh(state: SearchState) -> bool:
    """Nothing has been counted."""
    return (
        state.counts == 0
        and state.counted is None
        and state.too_few == -1
        and state.enough is None
        and state.anchored is None
        and not state.halving
    )


def end(state: SearchState) -> int:
    """The fewest steps that are known to fit; one more than there are when none is."""
    return state.last + 1 if state.enough is None else state.enough


def between(state: SearchState) -> int:
    """How many candidates are still in question."""
    return end(state) - state.too_few - 1


def affordable(state: SearchState) -> bool:
    """A bisecting search that has spent no more than it may, whatever is still in question.

    Each count has settled a candidate at least; and from where the search only halves, the halvings of
    what is in question, and one count more of what is accepted, are still paid for.
    """
    halves = state.halving or state.counts >= 2 + searches._halvings(state.last)
    paid = state.counts + between(state).bit_length() + 1 <= counts_at_most(state.last)
    return state.counts + between(state) <= state.last + 1 and (not halves or (state.counts >= 2 and paid))


# --- any answers ----------------------------------------------------------------------------------


def a_search_starts_sound(bisect: bool, last: int, guess: int, trusted: bool) -> None:
    """Where a search begins the invariants hold; a walk counts k = 0 first, a bisecting search its guess."""
    assert 0 <= guess <= last < TOKENS_BOUND

    search = Search.BISECT if bisect else Search.LINEAR
    state = SearchState(search=search, last=last, guess=guess, trusted=trusted)

    assert sound(state)
    assert affordable(state)
    assert between(state) == last + 1
    first = (guess, Phase.GUESS) if bisect else (0, Phase.WALK)
    assert next_move(state, 0) == CountNext(steps=first[0], phase=first[1])


def no_candidate_lies_outside_the_plan(state: SearchState, hint: int) -> None:
    """What is counted next lies in 0..last, whatever the hint; before a count nothing closes."""
    assert sound(state)

    move = next_move(state, hint)

    assert isinstance(move, CountNext) or state.counts > 0
    assert not isinstance(move, CountNext) or 0 <= move.steps <= state.last


def an_answer_keeps_the_state_sound(state: SearchState, hint: int, fits: bool) -> None:
    """Whatever is answered, the next state is sound."""
    assert sound(state)

    move = next_move(state, hint)

    assert not isinstance(move, CountNext) or sound(told(state, move, fits=fits))


def what_closes_was_counted_last(state: SearchState, hint: int, later: int, fits: bool) -> None:
    """Whatever is answered: what is accepted was counted last and fitted; exhausted is a plan whose last
    candidate was counted last and did not fit."""
    assert sound(state)

    move = next_move(state, hint)
    if isinstance(move, CountNext):
        close = next_move(told(state, move, fits=fits), later)

        assert not isinstance(close, Accepted) or (fits and close.steps == move.steps)
        assert not isinstance(close, Exhausted) or (not fits and move.steps == state.last)


def every_answer_brings_the_close_nearer(state: SearchState, hint: int, later: int, fits: bool) -> None:
    """Whatever is answered, the search closes, or more candidates are too few, or as many and fewer are
    enough: so no counter makes it run for ever."""
    assert sound(state)

    move = next_move(state, hint)
    if isinstance(move, CountNext):
        after = told(state, move, fits=fits)
        grown = after.too_few > state.too_few

        assert (
            grown
            or (after.too_few == state.too_few and end(after) < end(state))
            or not isinstance(next_move(after, later), CountNext)
        )


def the_whole_plan_is_never_counted_again(state: SearchState, hint: int) -> None:
    """A candidate that is counted again is one that fitted: the other recount, of all steps, never comes."""
    assert sound(state)

    move = next_move(state, hint)

    assert not isinstance(move, CountNext) or move.phase is not Phase.RECOUNT or move.steps == state.enough


# --- monotone counters ----------------------------------------------------------------------------


def a_monotone_counter_is_understood(state: SearchState, hint: int, cut: int) -> None:
    """Where k steps fit exactly from `cut` on, every answer keeps `cut` between what is too few and what is
    enough, and the search closes on it; on exhaustion exactly where nothing fits."""
    assert sound(state)
    assert state.too_few < cut <= end(state)

    move = next_move(state, hint)
    if isinstance(move, CountNext):
        after = told(state, move, fits=move.steps >= cut)

        assert after.too_few < cut <= end(after)
    elif isinstance(move, Accepted):
        assert move.steps == cut
    else:
        assert cut == state.last + 1


def a_right_guess_closes_in_two_counts(last: int, cut: int, hint: int) -> None:
    """From exact costs (the guess is the last k that should not fit) a monotone counter is asked twice."""
    assert 0 <= last < TOKENS_BOUND
    assert 0 <= cut <= last + 1

    guess = last if cut > last else max(cut - 1, 0)
    state = SearchState(search=Search.BISECT, last=last, guess=guess, trusted=True)
    for _ in range(2):
        move = next_move(state, hint)
        if isinstance(move, CountNext):
            state = told(state, move, fits=move.steps >= cut)

    assert next_move(state, hint) == (Exhausted() if cut > last else Accepted(steps=cut))


def the_impossible_is_known_after_two_counts(last: int, guess: int, hint: int) -> None:
    """Where nothing fits, a bisecting search from any guess is exhausted after two counts at most."""
    assert 0 <= guess <= last < TOKENS_BOUND

    state = SearchState(search=Search.BISECT, last=last, guess=guess)
    for _ in range(2):
        move = next_move(state, hint)
        if isinstance(move, CountNext):
            state = told(state, move, fits=False)

    assert next_move(state, hint) == Exhausted()


# --- how many counts ------------------------------------------------------------------------------


def halvings_are_the_logarithm(steps: int) -> None:
    """The bound is three and twice the smallest h with 2^h at least max(steps, 1)."""
    assert 0 <= steps < TOKENS_BOUND

    h = searches._halvings(steps)

    assert 0 <= h <= 64
    assert max(steps, 1) <= 2**h
    assert h == 0 or 2 ** (h - 1) < max(steps, 1)
    assert counts_at_most(steps) == 3 + 2 * h


def no_count_is_made_that_is_not_paid_for(state: SearchState, hint: int, fits: bool) -> None:
    """A bisecting search stays within its bound if the counter gives one candidate one answer, whatever
    that is: each count keeps the state affordable, and one that is not in question closes the search."""
    assert sound(state)
    assert state.search is Search.BISECT
    assert affordable(state)
    assert state.last < 2**16

    move = next_move(state, hint)
    if isinstance(move, CountNext):
        again = move.phase is Phase.RECOUNT
        after = told(state, move, fits=fits or again)

        assert after.counts == state.counts + 1 <= counts_at_most(state.last)
        if again:
            assert isinstance(next_move(after, hint), Accepted)
        else:
            assert affordable(after)


# --- the linear search ----------------------------------------------------------------------------


def a_linear_search_counts_upwards(last: int, counts: int, hint: int, fits: bool) -> None:
    """After n counts that did not fit comes k = n, or the end of the plan; the first that fits closes it."""
    assert 0 <= last < TOKENS_BOUND
    assert 0 <= counts <= last + 1

    state = SearchState(
        search=Search.LINEAR,
        last=last,
        too_few=counts - 1,
        counted=counts - 1 if counts else None,
        counts=counts,
    )
    move = next_move(state, hint)

    if counts > last:
        assert move == Exhausted()
    else:
        assert isinstance(move, CountNext)
        assert move.steps == counts
        after = told(state, move, fits=fits)
        if fits:
            assert next_move(after, hint) == Accepted(steps=counts)
        else:
            assert (after.too_few, after.enough, after.counted, after.counts) == (
                counts,
                None,
                counts,
                counts + 1,
            )


# --- what AUTO stands for -------------------------------------------------------------------------


def auto_walks_where_it_can(search: Search, additive: bool, steps: int, calls: int) -> None:
    """AUTO is LINEAR exactly where the counter is not additive and every candidate may be counted; the other
    two are themselves."""
    assert steps >= 0

    walks = not additive and steps < calls
    expected = (Search.LINEAR if walks else Search.BISECT) if search is Search.AUTO else search

    assert resolved(search, additive=additive, steps=steps, count_calls=calls) is expected
