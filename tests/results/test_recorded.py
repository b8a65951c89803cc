"""Reading back what the projection wrote."""

import pytest

from jingwei.events.records import ToolFailed, ToolFailureCategory, ToolOutcome, ToolSucceeded
from jingwei.events.wire import outcome_text
from jingwei.results.recorded import has_surrogate, prefix_of, recorded_outcome, seq_of, synthetic_id

FAILED = ToolFailed(category=ToolFailureCategory.TIMEOUT, code="t", message="late", retryable=True)


@pytest.mark.parametrize("outcome", [ToolSucceeded(output='a "b"\n'), FAILED])
def test_an_outcome_is_read_back(outcome: ToolOutcome) -> None:
    assert outcome == recorded_outcome(outcome_text(outcome))


@pytest.mark.parametrize(
    "content",
    [
        "text",
        '{"status":"succeeded","output":"x"',
        '{"status":"succeeded","output":1}',
        '{"status":"succeeded", "output":"x"}',
        outcome_text(FAILED).replace("timeout", "tired"),
    ],
)
def test_anything_else_is_no_outcome(content: str) -> None:
    assert recorded_outcome(content) is None


@pytest.mark.parametrize(
    ("expected", "call_id"),
    [
        (0, "jw_tool_0"),
        (2**64 - 1, f"jw_tool_{2**64 - 1}"),
        (None, "jw_tool_01"),
        (None, "jw_tool_-1"),
        (None, "jw_tool_1\n"),
        (None, "call_1"),
        (None, "jw_tool_" + "1" * 21),
    ],
)
def test_the_place_of_a_call_is_read_from_its_id(expected: int | None, call_id: str) -> None:
    assert expected == seq_of(call_id)
    assert expected is None or call_id == synthetic_id(expected)


def test_a_number_of_any_size_makes_an_id() -> None:
    assert "jw_tool_1" + "0" * 5000 == synthetic_id(10**5000)


@pytest.mark.parametrize(
    ("expected", "size"), [("", -1), ("", 0), ("a", 1), ("a", 3), ("a中", 4), ("a中", 7), ("a中🐦", 99)]
)
def test_a_beginning_ends_with_a_whole_character(expected: str, size: int) -> None:
    assert expected == prefix_of("a中🐦", size)


def test_half_a_pair_is_found() -> None:
    assert [False, False, True] == list(map(has_surrogate, ("ascii", "中文", "中\udfff")))
