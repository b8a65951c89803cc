"""Strategies propose a total order and nothing else (R1)."""

from jingwei.ids import TurnId
from jingwei.selection.records import DropTurn, Plan, PlanStep, Room, TurnCandidate
from jingwei.selection.strategies import OLDEST_TURN_FIRST

ROOM = Room(window_tokens=1, reserved_tokens=1, required_bytes=0)


def candidate(turn_id: str, position: int, size: int) -> TurnCandidate:
    return TurnCandidate(turn_id=TurnId(turn_id), position=position, message_count=1, canonical_bytes=size)


def test_the_default_drops_turns_oldest_to_newest_one_a_step() -> None:
    candidates = [candidate("b", 0, 9), candidate("a", 3, 1), candidate("c", 4, 100)]
    steps = tuple(PlanStep(reductions=(DropTurn(turn_id=TurnId(turn)),)) for turn in "bac")

    assert Plan(base=(), steps=steps) == OLDEST_TURN_FIRST.plan(candidates, ROOM)


def test_without_candidates_there_is_no_step() -> None:
    assert Plan() == OLDEST_TURN_FIRST.plan([], ROOM)


def test_the_report_names_it() -> None:
    assert "oldest_turn_first" == OLDEST_TURN_FIRST.name
