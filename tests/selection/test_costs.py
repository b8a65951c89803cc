"""What messages cost, and when a replacement may stand (C6, R4)."""

import pytest

from jingwei.messages.records import UserMessage
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.selection.costs import is_smaller, summed_cost

FORTY = UserMessage(content="x" * 12)
FORTY_ONE = UserMessage(content="x" * 13)


def test_costs_are_those_of_the_counter_else_bytes() -> None:
    assert 40 + 41 == summed_cost([FORTY, FORTY_ONE], None)
    assert 10 + 11 == summed_cost([FORTY, FORTY_ONE], ByteHeuristicCounter())
    assert 0 == summed_cost([], None)


@pytest.mark.parametrize(
    ("replacement", "original", "by_bytes", "by_tokens"),
    [
        ([FORTY], [FORTY_ONE], True, True),
        ([FORTY_ONE], [UserMessage(content="x" * 14)], True, False),
        ([FORTY], [FORTY], False, False),
        ([FORTY_ONE], [FORTY], False, False),
        ([], [FORTY], True, True),
    ],
)
def test_a_replacement_must_cost_less_by_what_the_build_measures_with(
    replacement: list[UserMessage], original: list[UserMessage], by_bytes: bool, by_tokens: bool
) -> None:
    assert by_bytes == is_smaller(replacement, original, None)
    assert by_tokens == is_smaller(replacement, original, ByteHeuristicCounter())
