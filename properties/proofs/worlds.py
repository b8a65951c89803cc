"""Every state that a search over a short plan can reach, walked from every start through every answer.

A state remembers all that the next move depends on, so this covers every sequence of guesses, hints and
answers, also of counters that contradict themselves, without walking each sequence by itself.
"""

from collections.abc import Iterator
from typing import NamedTuple

from jingwei.selection.search import (
    Accepted,
    CountNext,
    Exhausted,
    Phase,
    Search,
    SearchState,
    counts_at_most,
    next_move,
    told,
)
from properties.proofs.searching import affordable, sound


class Step(NamedTuple):
    """One count: the state before it, the move, the answer, the state after it."""

    before: SearchState
    move: CountNext
    fits: bool
    after: SearchState


def starts(last: int) -> Iterator[SearchState]:
    """Every way to begin a search over a plan of `last` steps."""
    yield SearchState(search=Search.LINEAR, last=last)
    for guess in range(last + 1):
        for trusted in (False, True):
            yield SearchState(search=Search.BISECT, last=last, guess=guess, trusted=trusted)


def steps_from(state: SearchState, *, contradicting: bool) -> Iterator[Step]:
    """Every count that may come next, with every hint, also senseless ones, and either answer.

    A counter that does not contradict itself gives a candidate that is counted again its old answer.
    """
    moves = {next_move(state, hint) for hint in range(-1, state.last + 2)}
    for move in moves:
        if isinstance(move, CountNext):
            for fits in (False, True) if contradicting or move.phase is not Phase.RECOUNT else (True,):
                yield Step(state, move, fits, told(state, move, fits=fits))


class World(NamedTuple):
    """All states of the searches over one plan.

    Attributes:
        states: each once, starts included.
        steps: each way from one to the next.
        counts: the most counts on any way.
    """

    states: frozenset[SearchState]
    steps: tuple[Step, ...]
    counts: int


def world(last: int, *, contradicting: bool) -> World:
    """Walk until nothing is new. A search that runs for ever makes an `AssertionError`."""
    seen, todo, steps = set[SearchState](), list(starts(last)), list[Step]()
    while todo:
        state = todo.pop()
        if state not in seen:
            seen.add(state)
            assert state.counts <= (last + 2) ** 2, f"the search does not close: {state}"
            for step in steps_from(state, contradicting=contradicting):
                steps.append(step)
                todo.append(step.after)
    return World(frozenset(seen), tuple(steps), max(state.counts for state in seen))


class Checked(NamedTuple):
    """How much was looked at.

    Attributes:
        states: states of searches over the plan, whatever the counter answers.
        steps: counts that lead from one to another.
        counts: the most counts of one search, with a counter that contradicts itself.
        honest: the most counts of a bisecting search, with one that does not.
    """

    states: int
    steps: int
    counts: int
    honest: int


def checked(last: int) -> Checked:
    """Look at every state and every count of the searches over one plan.

    What is held against each is what the contracts claim of it, so that no claim is about nothing: states are
    sound, what closes was counted last; and a bisecting search stays within its bound if its counter does not
    contradict itself.
    """
    wild, tame = world(last, contradicting=True), world(last, contradicting=False)
    for state in wild.states:
        assert sound(state), state
    for step in wild.steps:
        close = next_move(step.after, 0)
        assert 0 <= step.move.steps <= last, step
        assert not isinstance(close, Accepted) or (step.fits and close.steps == step.move.steps), step
        assert not isinstance(close, Exhausted) or (not step.fits and step.move.steps == last), step
    bisecting = [state for state in tame.states if state.search is Search.BISECT]
    for state in bisecting:
        closed = not isinstance(next_move(state, 0), CountNext)
        assert state.counts <= counts_at_most(last), state
        assert closed or affordable(state), state
    return Checked(len(wild.states), len(wild.steps), wild.counts, max(state.counts for state in bisecting))
