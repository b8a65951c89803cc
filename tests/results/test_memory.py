"""What is remembered of turns: bounded, and gone with them."""

import gc

from jingwei.ids import TurnId
from jingwei.projection.records import ProjectedState, ProjectedTurn, turn_of
from jingwei.results.memory import TurnMemory


def turn(name: str) -> ProjectedTurn:
    return turn_of(TurnId(name), ProjectedState.COMPLETED, None, (), missing_complete_reply=False)


def test_a_turn_is_known_by_its_identity_and_key() -> None:
    memory, one, same = TurnMemory[str, int](4), turn("t"), turn("t")

    memory.remember(one, "k", 1)

    assert (1, None, None) == (memory.get(one, "k"), memory.get(one, "other"), memory.get(same, "k"))


def test_a_turn_that_is_gone_is_forgotten() -> None:
    memory, one = TurnMemory[str, int](1), turn("t")
    memory.remember(one, "k", 1)
    memory.remember(one, "l", 2)
    assert 2 == len(memory)

    del one
    gc.collect()

    assert 0 == len(memory)


def test_the_oldest_generation_is_dropped_and_what_is_used_is_kept() -> None:
    memory = TurnMemory[str, int](2)
    turns = [turn(f"t{n}") for n in range(5)]
    for number, one in enumerate(turns[:3]):
        memory.remember(one, "k", number)

    assert 0 == memory.get(turns[0], "k")
    for number, one in enumerate(turns[3:], start=3):
        memory.remember(one, "k", number)

    assert 0 == memory.get(turns[0], "k")
    assert memory.get(turns[1], "k") is None
    assert len(memory) <= 4


def test_a_value_that_replaced_another_is_not_forgotten_with_the_older_turn() -> None:
    """A turn's death clears its own entry alone, though identities are used again."""
    memory, one, two = TurnMemory[str, int](4), turn("t"), turn("u")
    memory.remember(one, "k", 1)
    place = next(iter(memory._young))
    memory._young[place] = (__import__("weakref").ref(two), 2)

    assert memory.get(one, "k") is None
    del one
    gc.collect()

    assert 1 == len(memory)
