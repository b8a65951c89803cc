"""Reading a request, and the three kinds of answer."""

from typing import final

import attrs
import pytest

from jingwei.codec import Declarations, DecodeReason, RecordCodec, RecordProblem
from jingwei.jsontext import JsonValue
from jingwei.ops.requests import BadRequest, bad, failed, ok, problem_said, read


@final
@attrs.frozen(kw_only=True)
class Pair:
    name: str
    sizes: tuple[int, ...] = ()


def _declare(wire: Declarations) -> None:
    wire.record(Pair, strict=True)


CODEC = RecordCodec(_declare)


def test_what_can_be_read_is_the_record() -> None:
    assert Pair(name="a", sizes=(1, 2)) == read(CODEC, {"name": "a", "sizes": [1, 2]}, Pair)


@pytest.mark.parametrize(
    ("body", "reason", "path"),
    [
        ({}, "missing_key: expected a key 'name', met nothing", "/name"),
        ({"name": 5}, "wrong_type: expected a string, met 5", "/name"),
        (
            {"name": "a", "sizes": [1, -2]},
            "out_of_range: expected an integer in [0, 2^64), met -2",
            "/sizes/1",
        ),
        ({"name": "a", "a/b~": 1}, "unknown_key: expected one of: name, sizes, met 'a/b~'", "/a~1b~0"),
    ],
)
def test_what_cannot_says_why_and_where(body: dict[str, JsonValue], reason: str, path: str) -> None:
    refused = read(CODEC, body, Pair)

    assert BadRequest(reason=reason, path=path) == refused


def test_the_three_answers() -> None:
    assert {"ok": [1]} == ok([1])
    assert {"failure": {"kind": "X"}} == failed({"kind": "X"})
    assert {"failure": {"kind": "BadRequest", "reason": "r", "path": None}} == bad(
        BadRequest(reason="r", path=None)
    )


def test_a_problem_in_words() -> None:
    problem = RecordProblem(reason=DecodeReason.UNKNOWN_TAG, steps=("a",), expected="b, c", actual='"d"')

    assert 'unknown_tag: expected b, c, met "d"' == problem_said(problem)
