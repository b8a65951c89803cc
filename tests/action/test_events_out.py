"""What a host appends around a step (T6), in the form of its writer."""

import attrs
import pytest

from jingwei.action.events_out import (
    ONE_ACTION,
    execution_of,
    model_request,
    model_result,
    tool_call,
    tool_result,
)
from jingwei.action.records import ActionProtocol
from jingwei.events.records import (
    GenerationMode,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    ModelSucceeded,
    SessionEvent,
    Timeout,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.ids import EventId, ModelCallId, SessionId, ToolCallId, TurnId
from tests.action.stepping import PROTOCOLS, SESSION, TURN, calls
from tests.action.test_complete import planned_call


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_request_is_recorded_as_it_was_counted(protocol: ActionProtocol) -> None:
    """A04c: with the step that asks, and the tokens that the answer may take."""
    step = planned_call(protocol).step
    timeout = Timeout(secs=1, nanos=0)

    expected = ModelRequest(
        call_id=ModelCallId("step-1"),
        mode=GenerationMode.COMPLETE,
        input=step.request,
        options=ModelRequestOptions(
            context=step.inputs.decision, max_tokens=128, timeout=timeout, limits=ONE_ACTION
        ),
    )

    assert ModelRequestEvent(request=expected) == model_request(step, timeout=timeout)
    assert 1 == ONE_ACTION.max_tool_calls


def test_an_answer_is_recorded_whole() -> None:
    step = planned_call(ActionProtocol.NATIVE).step
    outcome = ModelSucceeded(response=calls(ActionProtocol.NATIVE))

    assert ModelResultEvent(
        result=ModelResult(call_id=ModelCallId("step-1"), outcome=outcome)
    ) == model_result(step, outcome)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_is_recorded_with_its_decision_under_an_id_of_ours(protocol: ActionProtocol) -> None:
    call = planned_call(protocol)
    done = ToolSucceeded(output="x")

    expected = ToolCall(
        action=call.context, id=ToolCallId("step-1"), name="lookup", arguments=call.action.arguments
    )

    assert ToolCallEvent(call=expected) == tool_call(call)
    assert ToolResultEvent(result=ToolResult(call_id=expected.id, outcome=done)) == tool_result(call, done)


def event(kind: ToolCallEvent | ToolResultEvent | UserMessageEvent, seq: int) -> SessionEvent:
    return SessionEvent(event_id=EventId(f"e{seq}"), session_id=SESSION, turn_id=TURN, seq=seq, kind=kind)


def test_an_execution_is_a_call_and_its_result() -> None:
    planned = planned_call(ActionProtocol.NATIVE)
    call, result = event(tool_call(planned), 3), event(tool_result(planned, ToolSucceeded(output="x")), 4)
    other = ToolResultEvent(result=ToolResult(call_id=ToolCallId("b"), outcome=ToolSucceeded(output="x")))

    found = execution_of(call, result)

    assert found is not None
    assert ("e3", 3, "e4", 4) == (
        found.call_event_id,
        found.call_seq,
        found.result_event_id,
        found.result_seq,
    )
    assert (SESSION, TURN, "lookup") == (found.session_id, found.turn_id, found.call.name)
    assert execution_of(call, call) is None
    assert execution_of(result, result) is None
    assert execution_of(call, event(other, 4)) is None
    assert execution_of(call, attrs.evolve(result, session_id=SessionId("s"))) is None
    assert execution_of(call, attrs.evolve(result, turn_id=TurnId("t"))) is None
