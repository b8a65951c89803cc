"""A computed sequence is the tuple of its items."""

import pytest
from typing_extensions import override

from jingwei.persistent import vector
from jingwei.selection.computed import View


class Squares(View[int]):
    """The first so many squares."""

    def __init__(self, length: int) -> None:
        self.length = length

    @override
    def __len__(self) -> int:
        return self.length

    @override
    def _at(self, index: int) -> int:
        assert 0 <= index < self.length
        return index**2


FOUR = Squares(4)
ITEMS = (0, 1, 4, 9)


def test_it_reads_like_the_tuple() -> None:
    assert list(ITEMS) == list(FOUR)
    assert (9, 4, 1, 0) == tuple(reversed(FOUR))
    assert [0, 9, 9, 0] == [FOUR[0], FOUR[3], FOUR[-1], FOUR[-4]]
    assert ((1, 4), (9, 1), (), ITEMS) == (FOUR[1:3], FOUR[::-2], FOUR[4:], FOUR[:])
    assert (True, False) == (4 in FOUR, 5 in FOUR)
    assert (2, 1) == (FOUR.index(4), FOUR.count(9))


def test_it_is_equal_to_sequences_of_the_same_items_that_do_not_change() -> None:
    assert FOUR.__eq__(FOUR)
    assert Squares(4) == FOUR
    assert ITEMS == FOUR
    assert FOUR == ITEMS
    assert vector(ITEMS) == FOUR
    assert FOUR.__eq__(list(ITEMS)) is NotImplemented


@pytest.mark.parametrize("other", [(), ITEMS[:3], (*ITEMS, 16), (0, 1, 4, 8)])
def test_it_is_not_equal_to_others(other: tuple[int, ...]) -> None:
    assert other != FOUR


def test_it_is_hashed_and_shown_like_the_tuple() -> None:
    assert hash(ITEMS) == hash(FOUR)
    assert "(0, 1, 4, 9)" == repr(FOUR)


@pytest.mark.parametrize("index", [4, -5])
def test_an_index_out_of_range_is_an_error(index: int) -> None:
    with pytest.raises(IndexError):
        FOUR[index]


def test_a_view_that_computes_nothing_says_so() -> None:
    class Nothing(View[int]):
        @override
        def __len__(self) -> int:
            return 1

    with pytest.raises(NotImplementedError):
        Nothing()[0]
