"""Computed sequences stand for tuples (R1, R5); properties/test_plans.py walks more of them."""

import pytest

from jingwei.ids import EventId, TurnId
from jingwei.persistent import vector
from jingwei.projection.records import ProjectedState, ProjectedTurn, TurnSources
from jingwei.selection.computed import View
from jingwei.selection.records import (
    DropExchange,
    DropTurn,
    ExchangeCandidate,
    Plan,
    PlanStep,
    PrefixMarks,
    TurnCandidate,
)
from jingwei.selection.views import Candidates, Spared, TurnsDropped, exchange_candidates, oldest_first

MARKS = PrefixMarks(high=9, low=5, cut=None, moves=1, kept_cost=0)
EXCHANGE = ExchangeCandidate(index=0, message_count=2, canonical_bytes=70)


def turn(name: str, messages: int = 1) -> ProjectedTurn:
    return ProjectedTurn(
        sources=TurnSources(turn_id=TurnId(name), source_events=(EventId(f"e-{name}"),)),
        state=ProjectedState.COMPLETED,
        terminal_event=None,
        missing_complete_reply=False,
        groups=(),
        message_count=messages,
        canonical_bytes=10 * messages,
    )


def candidate(name: str, position: int, messages: int = 1) -> TurnCandidate:
    return TurnCandidate(
        turn_id=TurnId(name), position=position, message_count=messages, canonical_bytes=10 * messages
    )


# a and e are pinned, c says nothing.
TURNS = vector([turn("a"), turn("b"), turn("c", 0), turn("d", 3), turn("e"), turn("f")])
SPARED = Spared(silent=(2,), pinned=(0, 4))
FREE = (candidate("b", 1), candidate("d", 3, 3), candidate("f", 5))


def drop(name: str) -> DropTurn:
    return DropTurn(turn_id=TurnId(name))


def step(name: str) -> PlanStep:
    return PlanStep(reductions=(drop(name),))


@pytest.fixture(name="candidates")
def _candidates() -> Candidates:
    return Candidates(turns=TURNS, spared=SPARED, exchanges=(EXCHANGE,))


def test_candidates_are_what_is_not_spared_then_exchanges(candidates: Candidates) -> None:
    assert (*FREE, EXCHANGE) == candidates
    assert (3, 4) == (candidates.turn_count, len(candidates))
    assert [EXCHANGE, FREE[2], FREE[0]] == [candidates[-1], candidates[2], candidates[0]]
    assert (FREE[2], FREE[1]) == candidates[2:0:-1]
    assert [1, 3, 5, 6] == [candidates.position(index) for index in range(4)]
    assert [5, 3] == list(candidates.positions_down(1))
    assert [5, 3, 1] == list(candidates.positions_down(0))
    assert [5, 3, 1] == list(SPARED.positions_down(0, 6))


def test_without_exceptions_an_index_is_a_position() -> None:
    everybody = Candidates(turns=TURNS, spared=Spared())

    assert [0, 1, 2, 3, 4, 5] == [one.position for one in everybody if isinstance(one, TurnCandidate)]
    assert 4 == everybody.position(4)


def test_a_plan_over_a_builds_own_candidates_equals_the_written_one(candidates: Candidates) -> None:
    tail = (PlanStep(reductions=(DropExchange(index=0),)),)
    expected = Plan(base=(drop("b"),), steps=(step("d"), step("f"), *tail), marks=MARKS)
    computed = oldest_first(candidates, tail, cut=3, marks=MARKS)
    written = oldest_first(tuple(candidates), tail, cut=3, marks=MARKS)

    assert expected == computed
    assert expected == written
    assert isinstance(computed.steps, View)
    assert hash(expected) == hash(computed)
    assert repr(expected) == repr(computed)


@pytest.mark.parametrize(("cut", "dropped"), [(-3, 0), (0, 0), (1, 0), (2, 1), (5, 2), (6, 3), (99, 3)])
def test_a_cut_outside_of_the_history_is_one_at_its_end(
    candidates: Candidates, cut: int, dropped: int
) -> None:
    plan = oldest_first(candidates, (), cut=cut)

    assert tuple(drop(one) for one in "bdf"[:dropped]) == plan.base
    assert tuple(step(one) for one in "bdf"[dropped:]) == plan.steps


def test_exchanges_among_candidates(candidates: Candidates) -> None:
    assert (EXCHANGE,) == exchange_candidates(candidates)
    assert (EXCHANGE,) == exchange_candidates([*FREE, EXCHANGE])


@pytest.mark.parametrize(("end", "dropped"), [(0, ""), (1, ""), (2, "b"), (3, "b"), (4, "bd"), (6, "bdf")])
def test_turns_dropped_up_to_a_position(end: int, dropped: str) -> None:
    sources = vector([one.sources for one in TURNS])
    found = TurnsDropped(sources=sources, spared=SPARED, end=end)
    expected = tuple(drop(one) for one in dropped)

    assert expected == found
    assert list(expected) == [found[index] for index in range(len(found))]
