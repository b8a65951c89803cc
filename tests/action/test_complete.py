"""What a step leaves behind (T6, T7): views, the running turn, failures that forbid to run a tool again."""

import json

import attrs
import pytest

from jingwei.action.complete import (
    CompletedStep,
    ToolEnd,
    complete,
    complete_final,
    complete_question,
    stored,
    unstored,
)
from jingwei.action.events_out import execution_of, tool_call, tool_result
from jingwei.action.failures import (
    CompleteFailure,
    EvidencePart,
    OtherReference,
    ToolEvidenceMismatch,
)
from jingwei.action.records import ActionProtocol, ToolExecution
from jingwei.action.step import PlannedCall, PlannedFinal, PlannedQuestion, interpret, plan_step
from jingwei.events.records import (
    AssistantReply,
    DoneEvent,
    DoneStatus,
    SessionEvent,
    ToolFailed,
    ToolFailureCategory,
    ToolOutcome,
    ToolSucceeded,
)
from jingwei.ids import EventId, ProviderCallId, SessionId, StoreId, ToolCallId
from jingwei.jsontext import Json
from jingwei.messages.records import AssistantMessage, ModelToolCall, ToolMessage, UserMessage
from jingwei.ports import ContentRef
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.results.failures import InvalidResult, InvalidResultReason, ReferenceMismatch
from jingwei.results.records import ShowCondensed, ViewForm
from jingwei.results.view import result_policy
from tests.action.stepping import (
    ASKED,
    INJECTED,
    OUTPUT,
    PROTOCOLS,
    SCOPE,
    SESSION,
    TURN,
    asks,
    calls,
    finishes,
    inputs,
    nothing_before,
)

SMALL = result_policy(inline_bytes=24, preview_bytes=12).unwrap()
WIDE = result_policy(inline_bytes=64, preview_bytes=64).unwrap()


def planned_call(protocol: ActionProtocol) -> PlannedCall:
    step = plan_step(inputs(protocol), nothing_before(protocol), ByteHeuristicCounter()).unwrap()
    call = interpret(step, calls(protocol)).unwrap()
    assert isinstance(call, PlannedCall)
    return call


def execution(call: PlannedCall, outcome: ToolOutcome | None = None) -> ToolExecution:
    result = tool_result(call, outcome or ToolSucceeded(output=OUTPUT))
    events = [
        SessionEvent(event_id=EventId(f"e{seq}"), session_id=SESSION, turn_id=TURN, seq=seq, kind=kind)
        for seq, kind in ((3, tool_call(call)), (4, result))
    ]
    found = execution_of(*events)
    assert found is not None
    return found


def completed(protocol: ActionProtocol, outcome: ToolOutcome | None = None) -> CompletedStep:
    call = planned_call(protocol)
    return complete(call, execution(call, outcome), policy=SMALL).unwrap()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_long_result_is_shown_as_untrusted_data_that_says_where_the_rest_is(
    protocol: ActionProtocol,
) -> None:
    """C01b, C01c."""
    step = completed(protocol)

    (*before, said, shown) = step.next_current

    assert list(ASKED) == before
    assert step.view.truncated
    assert step.to_store is not None
    assert (EventId("e4"), OUTPUT) == (step.to_store.source_event, step.to_store.text)
    envelope = json.loads(shown.content or "")
    assert ("jingwei_tool_result", "untrusted_tool_data") == (envelope["type"], envelope["trust"])
    assert INJECTED not in (shown.content or "")
    assert ToolEnd.TOOL_COMPLETED is step.end
    assert step.call.step.report == step.report
    if protocol is ActionProtocol.NATIVE:
        arguments = Json('{"query":"资料"}')
        call = ModelToolCall(id=ProviderCallId("jw_tool_3"), name="lookup", arguments=arguments)
        assert AssistantMessage(tool_calls=(call,)) == said
        assert isinstance(shown, ToolMessage)
    else:
        action = '{"action":"call_tool","name":"lookup","arguments":{"query":"资料"}}'
        assert AssistantMessage(content=action) == said
        assert isinstance(shown, UserMessage)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_short_result_is_shown_whole_and_nothing_is_stored(protocol: ActionProtocol) -> None:
    """C07a."""
    call = planned_call(protocol)

    step = complete(call, execution(call), policy=WIDE).unwrap()

    assert step.to_store is None
    assert INJECTED in (step.next_current[-1].content or "")


def test_a_host_chooses_what_is_shown() -> None:
    class Short:
        def choose(self, name: str, outcome: ToolOutcome) -> ShowCondensed:
            return ShowCondensed(text=f"{name}: found")

    call = planned_call(ActionProtocol.NATIVE)

    step = complete(call, execution(call), policy=WIDE, chooser=Short()).unwrap()

    assert (ViewForm.CONDENSED, "lookup: found") == (step.view.form, step.view.text)


@pytest.mark.parametrize("category", ToolFailureCategory)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_recorded_failure_halts_the_step_and_stays_a_failure(
    protocol: ActionProtocol, category: ToolFailureCategory
) -> None:
    """C06, A01, A11, A13: whatever the reason, and also where a retry might help."""
    failed = ToolFailed(category=category, code="c", message="不可以" * 20, retryable=True)

    step = completed(protocol, failed)

    view = json.loads(step.next_current[-1].content or "")["view"]
    assert ToolEnd.HALTED is step.end
    assert ("failed", category.value, "c", True) == (
        view["status"],
        view["category"],
        view["code"],
        view["truncated"],
    )


def reference(step: CompletedStep) -> ContentRef:
    assert step.to_store is not None
    size = len(step.to_store.text.encode())
    return ContentRef(
        store_id=StoreId("s"), source_event=step.to_store.source_event, scope=SCOPE, total_bytes=size
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_storing_changes_nothing_that_is_shown(protocol: ActionProtocol) -> None:
    step = completed(protocol)

    done = stored(step, reference(step)).unwrap()

    assert done.to_store is None
    assert reference(step) == done.view.reference
    assert step.next_current == done.next_current


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_a_store_there_is_nothing_to_read_on_by(protocol: ActionProtocol) -> None:
    step = completed(protocol)

    done = unstored(step)

    assert done.to_store is None
    assert "e4" in (step.next_current[-1].content or "")
    assert "e4" not in (done.next_current[-1].content or "")
    assert step.view.text == done.view.text


def test_a_store_that_answers_with_something_else_is_told_with_the_execution() -> None:
    step = completed(ActionProtocol.NATIVE)
    good = reference(step)
    other = attrs.evolve(good, scope=attrs.evolve(SCOPE, expires_at_ms=999))
    moved = attrs.evolve(good, source_event=EventId("e9"))

    first = stored(step, other).failure()
    second = stored(step, moved).failure()

    assert (
        CompleteFailure(execution=step.execution, why=OtherReference(expected=SCOPE, actual=other)) == first
    )
    assert isinstance(second.why, ReferenceMismatch)
    assert step.execution == second.execution
    assert first.replay_forbidden is True


def test_a_result_that_no_log_can_hold_is_told_with_the_execution() -> None:
    """C04, A18: the tool ran, and nothing says that it may run again."""
    call = planned_call(ActionProtocol.NATIVE)
    ran = execution(call, ToolSucceeded(output="\ud800"))

    found = complete(call, ran).failure()

    why = InvalidResult(reason=InvalidResultReason.LONE_SURROGATE, field="outcome")
    assert CompleteFailure(execution=ran, why=why) == found
    assert found.replay_forbidden is True


CALL = planned_call(ActionProtocol.NATIVE)
RAN = execution(CALL)
PART = EvidencePart


@pytest.mark.parametrize(
    ("ran", "part"),
    [
        (attrs.evolve(RAN, call=attrs.evolve(RAN.call, name="other", arguments=Json("{}"))), PART.NAME),
        (attrs.evolve(RAN, call=attrs.evolve(RAN.call, arguments=Json("{}"), action=None)), PART.ARGUMENTS),
        (attrs.evolve(RAN, call=attrs.evolve(RAN.call, action=None)), PART.ACTION),
        (attrs.evolve(RAN, session_id=SessionId("other"), result_seq=3), PART.SESSION),
        (attrs.evolve(RAN, result_seq=3), PART.ORDER),
        (attrs.evolve(RAN, call_seq=-1), PART.ORDER),
        (attrs.evolve(RAN, result_seq=2**64), PART.ORDER),
        (attrs.evolve(RAN, call_event_id=EventId("e4")), PART.EVENT_ID),
        (attrs.evolve(RAN, call_event_id=EventId(" ")), PART.EVENT_ID),
        (attrs.evolve(RAN, result_event_id=EventId("")), PART.EVENT_ID),
        (attrs.evolve(RAN, call=attrs.evolve(RAN.call, id=ToolCallId(""))), PART.CALL_ID),
    ],
)
def test_evidence_of_another_call_is_told_with_the_execution(ran: ToolExecution, part: EvidencePart) -> None:
    assert (
        CompleteFailure(execution=ran, why=ToolEvidenceMismatch(part=part)) == complete(CALL, ran).failure()
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_final_answer_is_the_reply_of_the_turn(protocol: ActionProtocol) -> None:
    step = plan_step(inputs(protocol), nothing_before(protocol), ByteHeuristicCounter()).unwrap()
    final = interpret(step, finishes(protocol)).unwrap()
    assert isinstance(final, PlannedFinal)

    done = complete_final(final)

    assert (*ASKED, AssistantMessage(content="done")) == done.next_current
    assert (AssistantReply(text="done"), DoneEvent(status=DoneStatus.COMPLETED)) == done.events


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_question_is_the_reply_of_a_turn_that_waits(protocol: ActionProtocol) -> None:
    """In the same turn it is the action that asked: natively with an acknowledgement, as a call needs one."""
    step = plan_step(inputs(protocol), nothing_before(protocol), ByteHeuristicCounter()).unwrap()
    question = interpret(step, asks(protocol)).unwrap()
    assert isinstance(question, PlannedQuestion)

    done = complete_question(question)

    reply = (AssistantReply(text="which?"), DoneEvent(status=DoneStatus.WAITING_FOR_INPUT))
    assert reply == done.events
    added = done.next_current[1:]
    if protocol is ActionProtocol.NATIVE:
        id_ = ProviderCallId("jw_control_1")
        call = ModelToolCall(id=id_, name="jingwei_ask_user", arguments=Json('{"question":"which?"}'))
        content = '{"type":"jingwei_control_result","status":"awaiting_user"}'
        assert (AssistantMessage(tool_calls=(call,)), ToolMessage(call_id=id_, content=content)) == added
    else:
        assert (AssistantMessage(content='{"action":"ask_user","question":"which?"}'),) == added
