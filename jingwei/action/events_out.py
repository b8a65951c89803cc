"""What a host appends to its log around a step, as kinds for the session writer (rules T6, W3, W4).

    model_request, model_result, then for a call: tool_call, tool_result, and the view that was shown

Each is appended when it has happened, and the next thing happens after that: so that a log never lacks
what was done.
"""

from typing import Final

from jingwei.action.recording import recordable
from jingwei.action.records import ToolExecution
from jingwei.action.step import PlannedCall, PlannedStep
from jingwei.events.records import (
    GenerationLimits,
    GenerationMode,
    ModelOutcome,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    SessionEvent,
    Timeout,
    ToolCall,
    ToolCallEvent,
    ToolOutcome,
    ToolResult,
    ToolResultEvent,
)
from jingwei.ids import ModelCallId, ToolCallId
from jingwei.limits import ANSWER_BYTES_MAX

ONE_ACTION: Final = GenerationLimits(max_output_bytes=ANSWER_BYTES_MAX, max_tool_calls=1)
"""What one answer of a step may hold by default."""


def model_request(
    planned: PlannedStep,
    *,
    mode: GenerationMode = GenerationMode.COMPLETE,
    limits: GenerationLimits = ONE_ACTION,
    timeout: Timeout | None = None,
) -> ModelRequestEvent:
    """What is asked, exactly as it was counted, with the step that asks; to be appended before asking.

    The step's id is the call's id too: a step asks once.
    """
    decision = planned.inputs.decision
    options = ModelRequestOptions(
        context=decision, max_tokens=planned.max_tokens, timeout=timeout, limits=limits
    )
    return ModelRequestEvent(
        request=ModelRequest(
            call_id=ModelCallId(decision.step_id), mode=mode, input=planned.request, options=options
        )
    )


def model_result(planned: PlannedStep, outcome: ModelOutcome) -> ModelResultEvent:
    """What came back, whole, whatever `interpret` makes of it; to be appended before it is interpreted.

    An answer that no log can hold is recorded as failed, with what can be kept of it (`recordable`).
    """
    call_id = ModelCallId(planned.inputs.decision.step_id)
    return ModelResultEvent(result=ModelResult(call_id=call_id, outcome=recordable(outcome)))


def tool_call(planned: PlannedCall) -> ToolCallEvent:
    """The planned call with the decision behind it; to be appended before the tool runs.

    The step's id is the call's id too: a step calls once. The provider's id stands in the context only.
    """
    action = planned.action
    call_id = ToolCallId(planned.context.decision.step_id)
    return ToolCallEvent(
        call=ToolCall(action=planned.context, id=call_id, name=action.name, arguments=action.arguments)
    )


def tool_result(planned: PlannedCall, outcome: ToolOutcome) -> ToolResultEvent:
    """How the tool ended; to be appended as soon as it has."""
    call_id = ToolCallId(planned.context.decision.step_id)
    return ToolResultEvent(result=ToolResult(call_id=call_id, outcome=outcome))


def execution_of(call: SessionEvent, result: SessionEvent) -> ToolExecution | None:
    """An execution from its two events as they were written; None where they are no call and its result."""
    if not isinstance(call.kind, ToolCallEvent) or not isinstance(result.kind, ToolResultEvent):
        return None
    paired = call.kind.call.id == result.kind.result.call_id
    if not paired or (call.session_id, call.turn_id) != (result.session_id, result.turn_id):
        return None
    return ToolExecution(
        session_id=call.session_id,
        turn_id=call.turn_id,
        call=call.kind.call,
        call_event_id=call.event_id,
        call_seq=call.seq,
        outcome=result.kind.result.outcome,
        result_event_id=result.event_id,
        result_seq=result.seq,
    )
