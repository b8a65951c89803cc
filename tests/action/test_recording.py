"""What is recorded of an answer that no log can hold (T6, W4)."""

from typing import Final

import attrs
import pytest

from jingwei.action.failures import UnreadableAnswer
from jingwei.action.recording import recordable, unreadable_answer
from jingwei.action.records import ActionProtocol
from jingwei.action.step import PlannedCall, PlannedStep, interpret
from jingwei.codec import DecodeReason
from jingwei.events.records import (
    GenerationPartial,
    ModelFailed,
    ModelFailureCategory,
    ModelSucceeded,
    PartialToolCall,
)
from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    FinishedOtherwise,
    GenerationResponse,
    TokenUsage,
    ToolCallFragment,
    ToolDefinition,
)
from tests.action.stepping import PROTOCOLS, calls, inputs, says
from tests.action.test_drive import first
from tests.action.test_step import planned

R: Final = DecodeReason
NATIVE: Final = ActionProtocol.NATIVE


def nested(levels: int) -> str:
    return '{"query":' * (levels - 1) + '{"query":"ab"}' + "}" * (levels - 1)


def with_id(call_id: str) -> GenerationResponse:
    (call,) = calls(NATIVE).tool_calls
    return attrs.evolve(
        calls(NATIVE), tool_calls=(attrs.evolve(call, id=ProviderCallId(call_id)),), content="so"
    )


def test_a_good_answer_is_recorded_as_it_came() -> None:
    outcome = ModelSucceeded(response=calls(NATIVE))

    assert outcome == recordable(outcome)
    assert unreadable_answer(calls(NATIVE)) is None


def test_spaces_in_arguments_are_not_recorded() -> None:
    """They are no part of the value, and the log would be read without them."""
    spaced = calls(NATIVE, '{ "query": "资料" }')

    assert ModelSucceeded(response=calls(NATIVE)) == recordable(ModelSucceeded(response=spaced))
    assert unreadable_answer(spaced) is None


def test_an_answer_that_no_log_can_hold_becomes_a_failed_one() -> None:
    cut = ToolCallFragment(index=7, id="", name="n\ud800", arguments="{")
    response = attrs.evolve(with_id(" "), content="so\udfff", incomplete_tool_calls=(cut,))

    expected = ModelFailed(
        category=ModelFailureCategory.PROTOCOL,
        code="unreadable_answer",
        message="The answer cannot be recorded as it came: lone_surrogate at /content.",
        retryable=True,
        partial=GenerationPartial(
            content="so\ufffd",
            tool_calls=(
                PartialToolCall(index=0, id=" ", name="lookup", arguments='{"query":"资料"}'),
                PartialToolCall(index=1, id="", name="n\ufffd", arguments="{"),
            ),
        ),
    )

    assert expected == recordable(ModelSucceeded(response=response))


def test_an_answer_without_words_has_none_in_its_partial_answer() -> None:
    response = GenerationResponse(usage=TokenUsage(input_tokens=-1))
    found = recordable(ModelSucceeded(response=response))

    assert isinstance(found, ModelFailed)
    assert GenerationPartial() == found.partial


FAILED: Final = ModelFailed(
    category=ModelFailureCategory.UPSTREAM, code="c", message="m", retryable=False, upstream_status=503
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (FAILED, FAILED),
        (attrs.evolve(FAILED, code="\ud800", message="\ud800x"), ("\ufffd", "\ufffdx", 503)),
        (attrs.evolve(FAILED, upstream_status=70_000), ("c", "m", None)),
        (attrs.evolve(FAILED, upstream_status=-1), ("c", "m", None)),
        (attrs.evolve(FAILED, code="\ud800", upstream_status=65_535), ("\ufffd", "m", 65_535)),
        (attrs.evolve(FAILED, code="\ud800", upstream_status=None), ("\ufffd", "m", None)),
    ],
)
def test_a_failure_is_recorded_with_what_can_be_kept(
    given: ModelFailed, expected: ModelFailed | tuple[str, str, int | None]
) -> None:
    if not isinstance(expected, ModelFailed):
        code, message, status = expected
        expected = attrs.evolve(FAILED, code=code, message=message, upstream_status=status)

    assert expected == recordable(given)


def test_positions_of_a_partial_answer_are_kept_where_they_are_some() -> None:
    parts = [
        PartialToolCall(index=index, id="", name="", arguments="") for index in (5, -1, 2**32, 2**32 - 1)
    ]
    found = recordable(attrs.evolve(FAILED, partial=GenerationPartial(tool_calls=tuple(parts))))

    assert isinstance(found, ModelFailed)
    assert [5, 1, 2, 2**32 - 1] == [part.index for part in found.partial.tool_calls]


def with_any(protocol: ActionProtocol) -> PlannedStep:
    """A step with a tool that takes any arguments."""
    tool = ToolDefinition(name="any", description="", parameters=Json("true"))
    return planned(attrs.evolve(inputs(protocol), tools=(tool,)))


ANSWERS: list[tuple[GenerationResponse, DecodeReason, str]] = [
    (with_id(""), R.OUT_OF_RANGE, "/tool_calls/0/id"),
    (attrs.evolve(with_id("a"), content="\ud800"), R.LONE_SURROGATE, "/content"),
    (says("a\ud800"), R.LONE_SURROGATE, "/content"),
    (attrs.evolve(says("x"), usage=TokenUsage(total_tokens=2**64)), R.OUT_OF_RANGE, "/usage/total_tokens"),
]


@pytest.mark.parametrize(("response", "reason", "path"), ANSWERS)
def test_an_action_in_an_answer_that_no_log_can_hold_is_not_taken(
    response: GenerationResponse, reason: DecodeReason, path: str
) -> None:
    found = interpret(first(NATIVE), response).failure()

    assert UnreadableAnswer(reason=reason, path=path) == found


def test_what_is_no_action_is_told_first() -> None:
    response = GenerationResponse(content="\ud800", finish_reason=FinishedOtherwise(code="odd"))

    assert not isinstance(interpret(first(NATIVE), response).failure(), UnreadableAnswer)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("levels", "taken"), [(112, True), (113, False), (121, False), (125, False)])
def test_arguments_leave_room_for_the_records_that_hold_them(
    protocol: ActionProtocol, levels: int, taken: bool
) -> None:
    path = "/tool_calls/0/arguments" if protocol is NATIVE else "/content"
    found = interpret(with_any(protocol), calls(protocol, nested(levels), "any"))

    if taken:
        assert isinstance(found.unwrap(), PlannedCall)
    else:
        assert UnreadableAnswer(reason=R.TOO_DEEP, path=path) == found.failure()
