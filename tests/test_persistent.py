"""Sequences and tables that grow by sharing: the same answers as tuples and dicts, and the old ones stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jingwei.persistent import WIDTH, Table, Vector, vector

SIZES = (0, 1, WIDTH - 1, WIDTH, WIDTH + 1, WIDTH**2 - 1, WIDTH**2, WIDTH**2 + WIDTH + 1, WIDTH**3 + 5)
lengths = st.integers(0, 3 * WIDTH) | st.integers(WIDTH**2 - 40, WIDTH**2 + 40)


def grown(length: int, piece: int) -> Vector[int]:
    """The numbers below `length`, so many at a time."""
    found = Vector[int]()
    for start in range(0, length, piece):
        found = found.extended(range(start, min(start + piece, length)))
    return found


class TestVector:
    """As the tuple of the same items."""

    @pytest.mark.parametrize("size", SIZES)
    def test_it_holds_what_was_put_in(self, size: int) -> None:
        expected, found = tuple(range(size)), vector(range(size))

        assert (size, expected) == (len(found), tuple(found))
        assert expected == found
        assert found == expected
        assert hash(expected) == hash(found)
        assert expected[::-1] == tuple(reversed(found))
        assert all(found[place] == place for place in {0, size // 2, size - 1} if place in range(size))

    @given(lengths, st.integers(1, 70))
    def test_it_does_not_matter_in_which_pieces_it_grew(self, length: int, piece: int) -> None:
        assert vector(range(length)) == grown(length, piece)

    @given(lengths, lengths)
    def test_its_beginning(self, length: int, count: int) -> None:
        whole = vector(range(length))
        found = whole.first(count)

        assert vector(range(min(length, count))) == found
        assert whole.starts_with(found)
        assert found.starts_with(whole) == (count >= length)
        assert [*range(count, length)] == [*whole.since(count)]

    @given(lengths, st.integers(0, 70))
    def test_a_beginning_goes_on_as_if_nothing_had_been_behind_it(self, length: int, count: int) -> None:
        expected = vector([*range(length // 2), *range(1000, 1000 + count)])

        assert expected == vector(range(length)).first(length // 2).extended(range(1000, 1000 + count))

    @given(st.lists(st.integers(), max_size=70), st.integers(-80, 80), st.integers(-80, 80))
    def test_places_and_slices(self, items: list[int], start: int, stop: int) -> None:
        found = vector(items)

        assert tuple(items[start:stop]) == found[start:stop]
        assert tuple(items[::-2]) == found[::-2]
        if start in range(-len(items), len(items)):
            assert items[start] == found[start]
        else:
            with pytest.raises(IndexError):
                found[start]

    @given(lengths, st.integers(1, 70), st.integers(0, 70))
    def test_a_longer_one_leaves_the_shorter_as_it_was(self, length: int, one: int, two: int) -> None:
        trunk = vector(range(length))
        left, right = trunk.extended(range(one)), trunk.extended(["x"] * two)  # type: ignore[list-item]

        assert tuple(range(length)) == tuple(trunk)
        assert (*range(length), *range(one)) == tuple(left)
        assert (*range(length), *["x"] * two) == tuple(right)

    @pytest.mark.parametrize("size", SIZES)
    def test_one_more_item_shares_the_rest(self, size: int) -> None:
        """At most the nodes on the way to the last leaf are new."""
        before = vector(range(size))
        nodes = set(_nodes(before))
        new = [node for node in _nodes(before.extended([size])) if node not in nodes]

        assert len(new) <= 6

    @pytest.mark.parametrize("other", [(1, 2), [1, 2, 3], "abc", None, vector([1, 2, 4]), vector([1, 2])])
    def test_what_it_is_not_equal_to(self, other: object) -> None:
        assert other != vector([1, 2, 3])
        assert not vector([1, 2]).starts_with(vector([1, 3]))

    def test_it_says_what_it_holds(self) -> None:
        assert "Vector((1, 2))" == repr(vector([1, 2]))


def _nodes(of: Vector[int]) -> list[int]:
    """Ids of its inner nodes and leaves."""
    found, left = list[int](), [getattr(of, "_root"), getattr(of, "_tail")]  # noqa: B009
    while left:
        node = left.pop()
        found.append(id(node))
        left += [child for child in node if isinstance(child, tuple)]
    return found


class TestTable:
    """As the dict of the same entries."""

    @given(st.lists(st.integers(0, 9), max_size=40))
    def test_it_holds_what_was_added(self, sizes: list[int]) -> None:
        expected, found = dict[str, int](), Table[str, int]()
        for number, size in enumerate(sizes):
            added = {f"{number}/{n}": n for n in range(size)}
            expected |= added
            found = found.extended(added)

        assert (len(expected), list(expected)) == (len(found), list(found))
        assert list(expected.items()) == list(found.items())
        assert all(key in found and found.get(key) == value for key, value in expected.items())
        assert (False, None) == ("x" in found, found.get("x"))

    @given(st.lists(st.integers(0, 9), max_size=20))
    def test_equal_is_what_holds_the_same(self, sizes: list[int]) -> None:
        at_once = Table[int, int]().extended({n: n for n in range(sum(sizes))})
        found, start = Table[int, int](), 0
        for size in sizes:
            found = found.extended({n: n for n in range(start, start + size)})
            start += size

        assert at_once == found
        assert hash(at_once) == hash(found)
        assert at_once.extended({-1: 0}) != found
        assert at_once != dict(at_once.items())

    def test_a_longer_one_leaves_the_shorter_as_it_was(self) -> None:
        trunk = Table[str, int]().extended({"a": 1})
        left, right = trunk.extended({"b": 2}), trunk.extended({"c": 3})

        assert [["a"], ["a", "b"], ["a", "c"]] == [list(trunk), list(left), list(right)]
        assert trunk is trunk.extended({})

    def test_what_was_given_may_change_afterwards(self) -> None:
        given_ = {"a": 1}
        found = Table[str, int]().extended(given_)
        given_["b"] = 2

        assert ["a"] == list(found)

    def test_few_runs_hold_many_entries(self) -> None:
        """One at a time: as many runs as a number has binary digits, so that a look-up asks few."""
        found = Table[int, None]()
        for number in range(1000):
            found = found.extended({number: None})

        assert len(getattr(found, "_runs")) <= 10  # noqa: B009
        assert "Table({1: None})" == repr(Table[int, None]().extended({1: None}))
