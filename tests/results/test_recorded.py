"""Reading back what the projection wrote."""

import pytest

from jingwei.events.records import ToolFailed, ToolFailureCategory, ToolOutcome, ToolSucceeded
from jingwei.events.wire import outcome_text
from jingwei.results.recorded import prefix_of, recorded_outcome, seq_of, synthetic_id

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
    ("expected", "text", "size"),
    [
        ("", "", 5),
        ("ab", "ab", 5),
        ("ab", "ab", 2),
        ("a", "ab", 1),
        ("", "ab", 0),
        ("", "ab", -3),
        ("字", "字字", 5),
        ("字字", "字字", 6),
        ("", "字", 2),
        ("é", "éé", 3),
        ("a", "a🙂", 4),
        ("a🙂", "a🙂", 5),
        ("a", "a\ud800", 3),
        ("a\ud800", "a\ud800b", 4),
    ],
)
def test_a_beginning_ends_between_characters(expected: str, text: str, size: int) -> None:
    """Half a surrogate pair, which code can make, counts as three bytes, as it does everywhere."""
    assert expected == prefix_of(text, size)
