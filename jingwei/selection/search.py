"""How many steps of a plan are needed: the searches, without a counter in sight (rules B5, R1).

A search is a small state machine over one question, "does the request after k steps fit?". `build`
asks it which k to count next and tells it the answer; so the machine can be walked through every
answer there is (properties, small worlds) without a log, a request or a counter.
"""

import enum
from typing import TypeAlias, final

import attrs


@final
class Search(enum.Enum):
    """How the smallest fitting k is looked for (design section 3).

    `LINEAR` counts k = 0, 1, 2 …, at most steps + 1 times: the seeds' algorithm exactly.
    `BISECT` starts at a guess, gallops away from it until one candidate fits and the one before it
    does not, or halves what lies between; at most 3 + 2·ceil(log2(max(steps, 1))) counts.
    `AUTO` is `BISECT` with an additive counter (C6), else `LINEAR` where the steps can be walked
    within `max_count_calls`, else `BISECT`.
    """

    LINEAR = "linear"
    BISECT = "bisect"
    AUTO = "auto"


def resolved(search: Search, *, additive: bool, steps: int, count_calls: int) -> Search:
    """What `AUTO` stands for; the other two stand for themselves."""
    if search is not Search.AUTO:
        return search
    if additive or steps + 1 > count_calls:
        return Search.BISECT
    return Search.LINEAR


@final
class Phase(enum.Enum):
    """Why a candidate is counted; `told` reads from it what the answer means."""

    WALK = enum.auto()
    GUESS = enum.auto()
    PROBE = enum.auto()
    HINT = enum.auto()
    GALLOP = enum.auto()
    HALVE = enum.auto()
    RECOUNT = enum.auto()


@final
@attrs.frozen(kw_only=True)
class CountNext:
    """Count the request after `steps` steps, then call `told`."""

    steps: int
    phase: Phase


@final
@attrs.frozen(kw_only=True)
class Accepted:
    """The search has closed: the request after `steps` steps fits, and was the last one counted."""

    steps: int


@final
@attrs.frozen(kw_only=True)
class Exhausted:
    """The search has closed: the request after all steps, the last one counted, does not fit."""


Move: TypeAlias = CountNext | Accepted | Exhausted


@final
@attrs.frozen(kw_only=True)
class SearchState:
    """What a search knows. Immutable; `told` gives the next one.

    Attributes:
        search: `LINEAR` or `BISECT`.
        last: steps of the plan; the most that can be applied.
        guess: where a bisecting search starts.
        trusted: True where the guess comes from exact costs and is the last k that should not fit
            (or 0, or `last` where nothing should): the next one up should close the search.
        too_few: the most steps counted that did not fit; -1 when none was.
        enough: the fewest steps counted that fit; None when none was.
        counted: the last k counted; None before the first.
        anchored: what the count said from which the gallop leads away; None before.
        halving: True once one gallop has met the other answer.
        stride: how far the gallop jumps next.
        counts: how many candidates have been counted.
    """

    search: Search
    last: int
    guess: int = 0
    trusted: bool = False
    too_few: int = -1
    enough: int | None = None
    counted: int | None = None
    anchored: bool | None = None
    halving: bool = False
    stride: int = 1
    counts: int = 0


def next_move(state: SearchState, hint: int) -> Move:
    """What to count next, or how the search closed.

    `hint` is the caller's best idea of the smallest fitting k, given all counts so far; a bisecting
    search asks for it once, after its first answer.
    """
    enough, too_few = state.enough, state.too_few
    if enough is not None and enough <= too_few + 1:
        if state.counted == enough:
            return Accepted(steps=enough)
        return CountNext(steps=enough, phase=Phase.RECOUNT)
    if enough is None and too_few >= state.last:
        if state.counted == state.last:
            return Exhausted()
        return CountNext(steps=state.last, phase=Phase.RECOUNT)
    if state.search is Search.LINEAR:
        return CountNext(steps=too_few + 1, phase=Phase.WALK)
    if state.counted is None:
        return CountNext(steps=state.guess, phase=Phase.GUESS)
    return _bisecting(state, hint)


def told(state: SearchState, move: CountNext, *, fits: bool) -> SearchState:
    """The state after the request of `move.steps` steps was counted.

    A counter that contradicts itself withdraws what it had said: nothing is accepted on its word.
    """
    steps, enough, anchored = move.steps, state.enough, state.anchored
    if fits:
        enough = steps if enough is None else min(enough, steps)
    elif steps == enough:
        enough = None
    if move.phase is Phase.HINT or (move.phase is Phase.GUESS and state.trusted):
        anchored = fits
    return attrs.evolve(
        state,
        enough=enough,
        too_few=state.too_few if fits else max(state.too_few, steps),
        counted=steps,
        anchored=anchored,
        halving=state.halving or (move.phase is Phase.GALLOP and fits is not state.anchored),
        stride=state.stride * 2 if move.phase is Phase.GALLOP else state.stride,
        counts=state.counts + 1,
    )


def counts_at_most(steps: int) -> int:
    """The most counts that a bisecting search over a plan of `steps` steps makes."""
    return 3 + 2 * _halvings(steps)


def _bisecting(state: SearchState, hint: int) -> CountNext:
    """Where a bisecting search looks between `too_few` and `enough`, which are not neighbours."""
    low = state.too_few + 1
    high = state.last if state.enough is None else state.enough - 1
    if state.counts == 1 and state.enough is None and not state.trusted:
        return CountNext(steps=state.last, phase=Phase.PROBE)  # is it possible at all?
    # From here on a halving of what is left must stay affordable within `counts_at_most`.
    if state.halving or state.counts >= 2 + _halvings(state.last):
        return CountNext(steps=(low + high) // 2, phase=Phase.HALVE)
    if state.anchored is None:
        return CountNext(steps=max(low, min(hint, high)), phase=Phase.HINT)
    if state.anchored:
        return CountNext(steps=max(low, high + 1 - state.stride), phase=Phase.GALLOP)
    return CountNext(steps=min(high, low - 1 + state.stride), phase=Phase.GALLOP)


def _halvings(steps: int) -> int:
    """ceil(log2(max(steps, 1)))."""
    return (max(steps, 1) - 1).bit_length()
