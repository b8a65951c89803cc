"""A cut with two marks (R2): small cases by hand; properties/test_stable_prefix.py has the rest."""

import attrs
import pytest

from jingwei.build import build
from jingwei.ids import TurnId
from jingwei.outcome import Failure, Success
from jingwei.projection.records import Projection
from jingwei.report.records import ReportedMarks
from jingwei.selection.records import DropTurn, Plan, PrefixMarks, Room, TurnCandidate
from jingwei.selection.stable_prefix import (
    Fold,
    InvalidMarks,
    RememberingStablePrefix,
    StablePrefix,
    folded,
    stable_prefix,
)
from tests.test_build import AdditiveByteCounter, built, does_not_fit, drop, history, inputs, retained

COSTS = AdditiveByteCounter()
TURN = 874
"""Bytes, and so tokens, of each of the first two turns of `history`; the next ones have 876."""


def strategy(high: int, low: int) -> StablePrefix:
    return StablePrefix(high=high, low=low, costs=COSTS)


def room(whole: Projection) -> Room:
    return Room(window_tokens=1, reserved_tokens=0, required_bytes=0, turns=whole.turns)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (0, Fold()),
        (2, Fold(turns=2, cut=0, moves=0, kept_cost=2 * TURN)),
        (3, Fold(turns=3, cut=2, moves=1, kept_cost=876)),
        (4, Fold(turns=4, cut=2, moves=1, kept_cost=2 * 876)),
        (5, Fold(turns=5, cut=4, moves=2, kept_cost=876)),
    ],
)
def test_the_cut_is_held_up_to_the_high_mark_and_moved_to_the_low_one(turns: int, expected: Fold) -> None:
    assert expected == folded(strategy(high=2 * 876, low=876), history(turns).turns)


def test_a_turn_above_the_low_mark_goes_itself() -> None:
    fold = folded(strategy(high=100, low=10), history(2).turns)

    assert Fold(turns=2, cut=2, moves=2, kept_cost=0) == fold


def test_marks_below_zero_end_with_an_empty_history_all_the_same() -> None:
    """`plan` is total, also with marks that the door refuses."""
    assert Fold(turns=2, cut=2, moves=2, kept_cost=0) == folded(strategy(high=-1, low=-9), history(2).turns)


def test_the_report_says_where_the_cut_is() -> None:
    found = built(build(history(5), inputs(pins=["t0"]), COSTS, strategy=strategy(high=2 * 876, low=876)))
    marks = ReportedMarks(high=2 * 876, low=876, cut=TurnId("t4"), moves=2, kept_cost=876, broke=False)

    assert marks == found.report.marks
    assert [True, False, False, False, True] == retained(found.report)
    assert drop("t1", "t2", "t3") == found.report.turns.reductions
    assert "stable_prefix" == found.report.strategy


def test_a_window_that_is_too_small_breaks_the_prefix_and_says_so() -> None:
    report = does_not_fit(
        build(history(2), inputs(window=100), COSTS, strategy=strategy(high=9000, low=9000))
    ).report

    assert report.marks is not None
    assert report.marks.broke
    assert [False, False] == retained(report)


def test_without_a_history_nothing_is_cut() -> None:
    plan = strategy(high=10, low=7).plan((), room(history(0)))

    assert Plan(marks=PrefixMarks(high=10, low=7, cut=None, moves=0, kept_cost=0)) == plan


def test_candidates_may_be_any_sequence() -> None:
    whole = history(3)
    candidates = [
        TurnCandidate(turn_id=turn.turn_id, position=i, message_count=4, canonical_bytes=turn.canonical_bytes)
        for i, turn in enumerate(whole.turns)
    ]
    plan = strategy(high=2 * 876, low=876).plan(candidates, room(whole))

    assert (DropTurn(turn_id=TurnId("t0")), DropTurn(turn_id=TurnId("t1"))) == plan.base
    assert 1 == len(plan.steps)


def test_the_low_mark_is_seven_tenths_unless_given() -> None:
    assert Success(strategy(high=1000, low=700)) == stable_prefix(high=1000, costs=COSTS)
    assert Success(strategy(high=1, low=1)) == stable_prefix(high=1, costs=COSTS)
    assert Success(strategy(high=9, low=2)) == stable_prefix(high=9, low=2, costs=COSTS)


@pytest.mark.parametrize(
    ("high", "low", "expected"), [(0, None, 1), (-7, None, 1), (5, 0, 0), (5, 6, 6), (5, -1, -1)]
)
def test_marks_that_say_nothing_are_refused(high: int, low: int | None, expected: int) -> None:
    found = stable_prefix(high=high, low=low, costs=COSTS)

    assert Failure(InvalidMarks(high=high, low=expected)) == found


def test_a_memory_of_a_shorter_history_is_continued_and_any_other_left() -> None:
    plain = strategy(high=3 * 876, low=876)
    remembering = RememberingStablePrefix(plain)
    whole = history(9)
    other = attrs.evolve(whole, turns=history(12).turns.first(11))
    for one in (history(2), whole, history(4), other, whole, whole):
        assert plain.plan((), room(one)) == remembering.plan((), room(one))
    assert "stable_prefix" == remembering.name


def test_turns_that_are_no_vector_are_folded_without_a_memory() -> None:
    plain = strategy(high=2 * 876, low=876)
    tuples = attrs.evolve(room(history(4)), turns=tuple(history(4).turns))

    assert plain.plan((), tuples) == RememberingStablePrefix(plain).plan((), tuples)


def test_marks_are_token_numbers() -> None:
    """C1: what a report could not hold is refused at the door."""
    assert isinstance(stable_prefix(high=2**64 - 1, costs=COSTS), Success)
    assert Failure(InvalidMarks(high=2**64, low=5)) == stable_prefix(high=2**64, low=5, costs=COSTS)
