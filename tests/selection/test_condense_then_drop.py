"""Old results are condensed before any turn is dropped, in batches, never the newest (R4)."""

import json

import attrs
import pytest

from jingwei.ids import TurnId
from jingwei.outcome import Failure, Success
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.selection.condense_then_drop import (
    CondenseThenDrop,
    InvalidPolicy,
    PolicyProblem,
    condense_then_drop,
)
from jingwei.selection.records import (
    Candidate,
    CondenseTurn,
    DropTurn,
    ExchangeCandidate,
    Plan,
    PlanStep,
    PreviewPolicy,
    Room,
    TurnCandidate,
)
from tests.logtable import SESSION, log_of
from tests.selection.test_exchanges import Flat, condense, opted
from tests.selection.test_exchanges import room as running

SMALL = PreviewPolicy(inline_bytes=200, preview_bytes=20)
BIG = json.dumps("x" * 900)


def history(shapes: str) -> Projection:
    """One turn a letter: `b` with a big result, `s` with a small one, `a` of audit events alone."""
    turns = {
        "b": f"user; call a; result a {BIG}; reply; done",
        "s": "user; call a; result a; reply; done",
        "a": "error",
    }
    tables = [f"turn {i}; {turns[letter]}" for i, letter in enumerate(shapes)]
    return project(SESSION, log_of("; ".join(tables))).unwrap()


def room_of(shapes: str) -> Room:
    return Room(
        window_tokens=1,
        reserved_tokens=0,
        required_bytes=0,
        session_id=SESSION,
        turns=history(shapes).turns,
    )


def candidates(room: Room, pinned: str = "") -> list[Candidate]:
    return [
        TurnCandidate(
            turn_id=turn.turn_id,
            position=position,
            message_count=turn.message_count,
            canonical_bytes=turn.canonical_bytes,
        )
        for position, turn in enumerate(room.turns)
        if turn.message_count and turn.turn_id not in pinned
    ]


def condensing(*turns: str) -> PlanStep:
    return PlanStep(reductions=tuple(CondenseTurn(turn_id=TurnId(turn), policy=SMALL) for turn in turns))


def dropping(turns: str) -> tuple[PlanStep, ...]:
    return tuple(PlanStep(reductions=(DropTurn(turn_id=TurnId(turn)),)) for turn in turns)


def strategy(keep_newest: int = 0, batch_turns: int = 2) -> CondenseThenDrop:
    return CondenseThenDrop(keep_newest=keep_newest, batch_turns=batch_turns, policy=SMALL)


def test_turns_are_condensed_in_batches_oldest_first_then_dropped_oldest_first() -> None:
    room = room_of("bsbbsb")
    expected = Plan(steps=(condensing("0", "2"), condensing("3", "5"), *dropping("012345")))

    assert expected == strategy().plan(candidates(room), room)


def test_a_history_that_grows_keeps_its_full_batches() -> None:
    """Only the last batch is still filling."""
    short, long = room_of("bbb"), room_of("bbbsb")
    before, after = (strategy().plan(candidates(room), room) for room in (short, long))

    assert [condensing("0", "1"), condensing("2")] == list(before.steps[:2])
    assert [condensing("0", "1"), condensing("2", "4")] == list(after.steps[:2])


@pytest.mark.parametrize(
    ("keep", "shapes", "expected"),
    [
        (0, "bbb", "012"),
        (1, "bbb", "01"),
        (2, "bbb", "0"),
        (3, "bbb", ""),
        (9, "bbb", ""),
        (1, "bbaa", "0"),
        (1, "bas", "0"),
    ],
)
def test_the_newest_turns_that_say_something_are_never_condensed(
    keep: int, shapes: str, expected: str
) -> None:
    room = room_of(shapes)
    plan = strategy(keep, batch_turns=9).plan(candidates(room), room)
    dropped = "".join(str(i) for i, letter in enumerate(shapes) if letter != "a")

    assert Plan(steps=(*([condensing(*expected)] if expected else []), *dropping(dropped))) == plan


def test_a_pinned_turn_is_not_condensed_but_counts_among_the_newest() -> None:
    room = room_of("bbb")

    assert Plan(steps=(condensing("1", "2"), *dropping("12"))) == strategy().plan(
        candidates(room, pinned="0"), room
    )
    assert Plan(steps=(condensing("0", "1"), *dropping("01"))) == strategy(keep_newest=1).plan(
        candidates(room, pinned="2"), room
    )


def test_without_large_results_it_is_the_default_strategy() -> None:
    room = room_of("sas")

    assert Plan(steps=dropping("02")) == strategy().plan(candidates(room), room)
    assert Plan() == strategy().plan([], room_of(""))


@pytest.mark.parametrize("measure", ["the build's", "the host's"])
def test_what_is_not_smaller_by_either_measure_is_not_condensed(measure: str) -> None:
    room, chosen = room_of("bb"), strategy()
    if measure == "the build's":
        room = attrs.evolve(room, costs=Flat())
    else:
        chosen = attrs.evolve(chosen, costs=Flat())

    assert Plan(steps=dropping("01")) == chosen.plan(candidates(room), room)


def test_a_measure_by_which_previews_are_smaller_changes_nothing() -> None:
    room = room_of("bb")
    measured = attrs.evolve(strategy(), costs=ByteHeuristicCounter())

    assert strategy().plan(candidates(room), room) == measured.plan(candidates(room), room)


def test_the_running_turn_comes_last() -> None:
    turns, exchanges = room_of("b"), running(900, 1)
    room = attrs.evolve(turns, exchanges=exchanges.exchanges)
    offered = [*candidates(room), *opted(room.exchanges)]
    plan = strategy().plan(offered, room)

    assert isinstance(offered[-1], ExchangeCandidate)
    assert (condensing("0"), *dropping("0"), PlanStep(reductions=(condense(0),))) == tuple(plan.steps)[:3]
    assert 4 == len(plan.steps)


def test_sizes_that_make_no_sense_still_give_a_plan() -> None:
    room = room_of("bb")
    odd = CondenseThenDrop(
        keep_newest=-1, batch_turns=0, policy=PreviewPolicy(inline_bytes=-5, preview_bytes=-5)
    )

    assert 4 == len(odd.plan(candidates(room), room).steps)


def test_the_defaults_are_two_newest_turns_and_batches_of_eight() -> None:
    expected = CondenseThenDrop(
        costs=None,
        keep_newest=2,
        batch_turns=8,
        policy=PreviewPolicy(inline_bytes=4096, preview_bytes=512),
    )

    assert Success(expected) == condense_then_drop()
    assert "condense_then_drop" == expected.name


@pytest.mark.parametrize(
    ("reason", "actual", "limit", "sizes"),
    [
        (PolicyProblem.ZERO_PREVIEW, 0, 1, (5, 0, 0, 1)),
        (PolicyProblem.ZERO_PREVIEW, 0, 1, (0, 0, -1, 0)),
        (PolicyProblem.PREVIEW_OVER_INLINE, 6, 5, (5, 6, 0, 1)),
        (PolicyProblem.NEGATIVE_KEEP, -1, 0, (5, 5, -1, 0)),
        (PolicyProblem.ZERO_BATCH, 0, 1, (5, 5, 0, 0)),
    ],
)
def test_the_door_refuses_sizes_that_make_no_sense(
    reason: PolicyProblem, actual: int, limit: int, sizes: tuple[int, int, int, int]
) -> None:
    inline, preview, keep, batch = sizes
    policy = PreviewPolicy(inline_bytes=inline, preview_bytes=preview)

    assert Failure(InvalidPolicy(reason=reason, actual=actual, limit=limit)) == condense_then_drop(
        keep_newest=keep, batch_turns=batch, policy=policy
    )


def test_the_least_sizes_pass_the_door() -> None:
    policy, costs = PreviewPolicy(inline_bytes=1, preview_bytes=1), ByteHeuristicCounter()
    expected = CondenseThenDrop(costs=costs, keep_newest=0, batch_turns=1, policy=policy)

    assert Success(expected) == condense_then_drop(costs=costs, keep_newest=0, batch_turns=1, policy=policy)
