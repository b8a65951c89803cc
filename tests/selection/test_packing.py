"""Filling a capacity with what is worth most, nearly."""

from collections.abc import Mapping, Sequence

import pytest

from jingwei.items.records import ItemKind
from jingwei.selection.packing import BORDER_MAX, ROUNDS_MAX, Packed, Piece, packed

FACT, MEMORY = ItemKind.FACT, ItemKind.MEMORY


def pieces(*rows: tuple[int, int]) -> list[Piece]:
    """Costs and worths, put in the order that is asked for."""
    made = [Piece(cost=cost, worth=worth, kind=FACT) for cost, worth in rows]
    return sorted(made, key=lambda piece: -piece.worth / max(piece.cost, 1))


def worth(
    given: Sequence[Piece], capacity: int, ceilings: Mapping[ItemKind | None, int] | None = None
) -> int:
    found = packed(given, capacity, ceilings or {})
    assert sum(given[index].cost for index in found.taken) <= max(capacity, 0)
    return sum(given[index].worth for index in found.taken)


def test_where_all_fit_all_are_taken() -> None:
    assert Packed(taken=(0, 1)) == packed(pieces((3, 1), (4, 9)), 7, {})


@pytest.mark.parametrize("capacity", [0, -1, -(10**30)])
def test_without_room_nothing_but_what_costs_nothing_is_taken(capacity: int) -> None:
    assert Packed(taken=(0,) if capacity == 0 else ()) == packed(pieces((0, 9), (1, 1)), capacity, {})


def test_a_tiny_piece_does_not_keep_out_a_large_valuable_one() -> None:
    assert Packed(taken=(1,), single=1) == packed(pieces((1, 2), (100, 100)), 100, {})


def test_one_is_exchanged_for_two() -> None:
    """Every greedy walk takes 6 first or is no better: only the exchange finds 5 and 5."""
    assert 18 == worth(pieces((6, 12), (5, 9), (5, 9)), 10)


def test_two_are_exchanged_for_one() -> None:
    assert 100 == worth(pieces((1, 20), (1, 19), (10, 100)), 10)


def test_many_equal_pieces_are_filled_to_the_last() -> None:
    assert 30 == worth(pieces(*[(1, 1)] * 90), 30)


def test_an_exchange_that_frees_too_much_is_filled_up_again() -> None:
    assert 101 + BORDER_MAX == worth(pieces((20, 60), (30, 101), *[(1, 1)] * 40), 30 + BORDER_MAX)


def test_a_ceiling_holds_for_its_kind_alone() -> None:
    mixed = [
        Piece(cost=5, worth=50, kind=FACT),
        Piece(cost=5, worth=40, kind=FACT),
        Piece(cost=5, worth=30, kind=None),
        Piece(cost=5, worth=20, kind=MEMORY),
    ]

    assert (0, 2) == packed(mixed, 10, {FACT: 5}).taken
    assert (0, 3) == packed(mixed, 10, {FACT: 5, None: 4}).taken
    assert (2, 3) == packed(mixed, 20, {FACT: -3}).taken


def test_an_exchange_keeps_to_the_ceilings_too() -> None:
    """Two dear facts are worth more than one, but the ceiling lets only one of them in."""
    mixed = [
        Piece(cost=6, worth=12, kind=None),
        Piece(cost=5, worth=9, kind=FACT),
        Piece(cost=5, worth=9, kind=FACT),
    ]

    assert 12 == worth(mixed, 10, {FACT: 9})
    assert 18 == worth(mixed, 10, {FACT: 10})


def test_what_is_beyond_any_machine_word_is_only_larger() -> None:
    huge = 10**400

    assert 3 * huge == worth(pieces((huge, huge), (2 * huge, 3 * huge)), 2 * huge)


def test_exchanges_end_after_some_rounds() -> None:
    """A walk begins with a piece of 101; each round puts two more for two of 100, and there is slack left."""
    given = [Piece(cost=100, worth=1025, kind=FACT)] * 30 + [Piece(cost=101, worth=1030, kind=FACT)] * 30

    assert 30 * 1025 + (1 + 2 * ROUNDS_MAX) * 5 == worth(given, 3099)
