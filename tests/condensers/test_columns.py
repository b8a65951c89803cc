"""What stands out in a column (T2)."""

import pytest

from jingwei.condensers.columns import Odd, odd_values


def odd(*cells: str) -> list[tuple[int, str, int]]:
    return [(one.index, one.why, one.alike) for one in odd_values(cells)]


def test_a_number_far_from_the_median() -> None:
    assert [(3, "far from the median 11", 1)] == odd(
        "10", "11", "12", "999", "10", "11", "12", "13", "9", "10", "11"
    )


def test_the_farthest_stands_first() -> None:
    cells = [*("10", "11", "12") * 20, "500", "-9000"]

    assert [(61, "far from the median 11", 1), (60, "far from the median 11", 1)] == odd(*cells)


def test_numbers_are_compared_as_integers_of_one_unit() -> None:
    assert [(8, "far from the median 0.3", 1)] == odd(
        *("0.1", "2e-1", "0.3", "0.4") * 2, "1.0E2", *("0.3",) * 8
    )


def test_numbers_too_far_apart_are_text() -> None:
    assert [] == odd(*("1e100", "1e-100") * 4)


@pytest.mark.parametrize("cells", [range(20), range(20, 0, -1)])
def test_what_only_grows_or_only_falls_names_rows(cells: range) -> None:
    assert [] == odd(*map(str, [*cells, cells[-1] + cells.step * 10**9]))


def test_where_many_are_far_nothing_stands_out() -> None:
    assert [] == odd(*("1", "2", "3", "2") * 4, *("900",) * 4)


def test_where_most_are_equal_it_counts_how_far_the_others_are() -> None:
    assert [(24, "far from the median 1", 1)] == odd(*("1", "1", "1", "2") * 6, "900")
    assert [(12, "far from the median 1", 1)] == odd(*("1",) * 12, "2")


def test_what_is_no_number_among_numbers() -> None:
    cells = [*("1", "2", "3") * 10, "n/a", "", "n/a"]

    assert [(30, "no number", 2), (31, "no number", 1)] == odd(*cells)


def test_a_rare_value_where_one_is_usual() -> None:
    assert [(2, "not ok", 1), (0, "not ok", 2)] == odd("bad", "bad", "worse", *("ok",) * 20)
    assert [(20, f"not {'y' * 24}…", 1)] == odd(*("y" * 30,) * 20, "z")


def test_a_rare_value_among_few() -> None:
    assert [(60, "rare", 1)] == odd(*("a", "b", "c") * 20, "d")
    assert [] == odd(*("a", "b") * 10)


def test_no_value_is_rare_among_many_or_in_a_short_column() -> None:
    assert [] == odd(*(f"v{index}" for index in range(40)))
    assert [] == odd("a", "a", "a", "a", "a", "a", "b")


def test_what_is_answered_is_a_record() -> None:
    assert [Odd(index=8, why="not a", alike=1)] == odd_values([*"aaaaaaaa", "b"])
