"""Which lines tell most (T2)."""

import pytest

from jingwei.condensers.signals import exception_at, masked, told, told_quotes, weight_of


@pytest.mark.parametrize(
    ("line", "weight"),
    [
        ("12:00 ERROR worker died", 4),
        ("[FATAL] x", 4),
        ("java.lang.IllegalStateException: bad", 3),
        ("Error657NotFound: com.demo", 3),
        ("ModuleNotFoundError: no module", 3),
        ("make: *** [all] failed", 2),
        ("cannot open file", 2),
        ("构建失败", 2),
        ("0 errors, all fine", 1),
        ("finished with no failures", 0),
        ("failed: 0", 0),
        ("warning: unused", 1),
        ("警告", 1),
        ("12 passed", 1),
        ("Process exited with code 3", 1),
        ("Successfully installed x", 1),
        ("terror and errorless days", 0),
        ("", 0),
        (" " * 2000 + "error", 0),
    ],
)
def test_how_telling_a_line_is(line: str, weight: int) -> None:
    assert weight == weight_of(line)


def test_lines_that_differ_in_numbers_are_told_once_and_counted() -> None:
    text = "error 1\nfine\nerror 22\nwarning\n12:00 ERROR x"
    ranges = [(0, 7), (8, 12), (13, 21), (22, 29), (30, 43)]

    assert [(4, 30, 1), (2, 0, 2), (1, 22, 1)] == [
        (one.weight, one.start, one.count) for one in told(text, ranges)
    ]
    assert ["error", "failure"] == [quote.name for quote in told_quotes(text, ranges, least=2)]


def test_of_one_weight_so_many_are_kept() -> None:
    lines = [f"error {'x' * length}" for length in range(60)]
    text = "\n".join(lines)
    starts = [sum(len(line) + 1 for line in lines[:index]) for index in range(60)]
    ranges = [(start, start + len(line)) for start, line in zip(starts, lines, strict=True)]

    assert 48 == len(told(text, ranges))


def test_numbers_times_and_hashes_are_masked() -> None:
    assert "at # in # of # x" == masked("  at 10:21:03.5 in 0xdeadBEEF of 0123abcdef99 x ")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("12 a.b.$C_dException: x", "a.b.$C_dException"),
        ("Exception", "Exception"),
        ("a.FooErrorHandler2!", "a.FooErrorHandler2"),
        ("Error657NotFound!", "Error657NotFound"),
        ("no name", None),
    ],
)
def test_where_a_line_names_an_exception(line: str, name: str | None) -> None:
    place = exception_at(line)

    assert name == (None if place is None else line[slice(*place)])
