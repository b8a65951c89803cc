"""A step driven from end to end (T6, T7): the order of things, and what never happens twice."""

import asyncio
import inspect
from collections.abc import Callable
from typing import TypeAlias, final

import attrs
import pytest

from jingwei.action.complete import AnsweredStep, CompletedStep, ToolEnd
from jingwei.action.drive import (
    AppendRefused,
    DoneStep,
    ResultStore,
    RunStepFailure,
    Showing,
    Unstored,
    run_step,
    run_step_async,
)
from jingwei.action.failures import (
    CompleteFailure,
    InvalidArguments,
    MultipleActions,
    NotRecorded,
    OtherReference,
    RecordStage,
    UnreadableAnswer,
    UnrecordedResult,
)
from jingwei.action.records import ActionProtocol
from jingwei.action.step import PlannedStep, plan_step
from jingwei.codec import DecodeReason
from jingwei.events.records import (
    CustomEvent,
    EventKind,
    ModelFailed,
    ModelFailureCategory,
    ModelOutcome,
    ModelRequest,
    ModelRequestEvent,
    ModelResultEvent,
    SessionEvent,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolFailureCategory,
    ToolOutcome,
    ToolResultEvent,
    ToolSucceeded,
)
from jingwei.events.wire import decode_log, encode_log
from jingwei.ids import EventId, TurnId
from jingwei.messages.failures import ToolNotVisible
from jingwei.messages.records import GenerationResponse, SystemMessage, TokenUsage
from jingwei.messages.wire import constraint_text
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import ContentRef, ContentScope, StoreFailure, StoreFull, StoreFullOf
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.results.view import result_policy
from tests.action.stepping import (
    ASKED,
    INJECTED,
    OUTPUT,
    PROTOCOLS,
    SCOPE,
    Host,
    asks,
    calls,
    finishes,
    inputs,
    nothing_before,
    says,
    store,
)


@final
class Awaited:
    """The same host, awaited."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def now_ms(self) -> int:
        return self.host.now_ms()

    async def append(self, kind: EventKind) -> Outcome[SessionEvent, AppendRefused]:
        return self.host.append(kind)

    async def generate(self, request: ModelRequest) -> ModelOutcome:
        return self.host.generate(request)

    async def run_tool(self, call: ToolCall) -> ToolOutcome:
        return self.host.run_tool(call)


@final
class AwaitedStore:
    def __init__(self, held: ResultStore) -> None:
        self.held = held

    async def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        return self.held.put(scope, source, text, now_ms)


Driver: TypeAlias = Callable[[PlannedStep, Host], Outcome[DoneStep, RunStepFailure]]


def blocking(planned: PlannedStep, host: Host) -> Outcome[DoneStep, RunStepFailure]:
    return run_step(planned, host, host.store, host.showing)


def awaited(planned: PlannedStep, host: Host) -> Outcome[DoneStep, RunStepFailure]:
    held = None if host.store is None else AwaitedStore(host.store)
    return asyncio.run(run_step_async(planned, Awaited(host), held, host.showing))


both = pytest.mark.parametrize("drive", [blocking, awaited])
each = pytest.mark.parametrize("protocol", PROTOCOLS)


def first(protocol: ActionProtocol) -> PlannedStep:
    return plan_step(inputs(protocol), nothing_before(protocol), ByteHeuristicCounter()).unwrap()


@both
@each
def test_what_happens_is_recorded_before_the_next_thing_happens(
    drive: Driver, protocol: ActionProtocol
) -> None:
    """A04: one call, one body; the clock is read when the tool has run."""
    host = Host(calls(protocol))

    done = drive(first(protocol), host).unwrap()

    assert [
        "UserMessageEvent",
        "ModelRequestEvent",
        "generate",
        "ModelResultEvent",
        "ToolCallEvent",
        "run_tool",
        "ToolResultEvent",
        "clock",
        "CustomEvent",
    ] == host.order
    assert isinstance(done, CompletedStep)
    assert ToolEnd.TOOL_COMPLETED is done.end
    assert [first(protocol).request] == [asked.input for asked in host.asked]


@both
@each
def test_a_result_can_be_read_where_its_view_says(drive: Driver, protocol: ActionProtocol) -> None:
    """C01b."""
    host, held = Host(calls(protocol)), store()
    host.store = held

    done = drive(first(protocol), host).unwrap()

    assert isinstance(done, CompletedStep)
    assert done.view.reference is not None
    assert OUTPUT == held.read(done.view.reference, SCOPE, 3, 0, 1024).unwrap().text
    assert str(done.view.handle) in (done.next_current[-1].content or "")


@both
@each
def test_a_second_step_sees_the_first_and_the_turn_closes_without_a_changed_byte(
    drive: Driver, protocol: ActionProtocol
) -> None:
    """C01d, C01e, A03a, T7."""
    host = Host(calls(protocol), finishes(protocol, "已找到资料"))
    one = drive(first(protocol), host).unwrap()
    assert isinstance(one, CompletedStep)
    before = tuple(host.events)

    again = inputs(protocol, one.next_current, "step-2")
    planned = plan_step(again, nothing_before(protocol), ByteHeuristicCounter()).unwrap()
    two = drive(planned, host).unwrap()
    assert isinstance(two, AnsweredStep)
    for kind in two.events:
        host.append(kind).unwrap()

    assert before == tuple(host.events)[: len(before)]
    assert 1 == len(host.ran)
    assert one.next_current == planned.request.messages[1:]
    assert 1 == sum(isinstance(message, SystemMessage) for message in planned.request.messages)
    assert not any(isinstance(message, SystemMessage) for message in two.next_current)
    assert two.next_current == host.history(protocol).projection.messages
    results = [event.kind.result for event in before if isinstance(event.kind, ToolResultEvent)]
    assert [ToolSucceeded(output=OUTPUT)] == [result.outcome for result in results]


@both
@each
def test_a_question_ends_the_turn_and_runs_nothing(drive: Driver, protocol: ActionProtocol) -> None:
    """A03b."""
    host = Host(asks(protocol))

    done = drive(first(protocol), host).unwrap()

    assert isinstance(done, AnsweredStep)
    assert "which?" == done.reply
    assert [] == host.ran


@both
@each
def test_injected_words_widen_nothing(drive: Driver, protocol: ActionProtocol) -> None:
    """C07."""
    host = Host(calls(protocol), calls(protocol, "{}", "root_shell"))
    host.showing = Showing(policy=result_policy(inline_bytes=64, preview_bytes=64).unwrap())
    one = drive(first(protocol), host).unwrap()
    assert INJECTED in (one.next_current[-1].content or "")

    again = inputs(protocol, one.next_current, "step-2")
    planned = plan_step(again, nothing_before(protocol), ByteHeuristicCounter()).unwrap()
    found = drive(planned, host).failure()

    assert ToolNotVisible(name="root_shell") == found
    assert 1 == len(host.ran)
    assert "root_shell" not in constraint_text(planned.request.constraint)


@both
@each
@pytest.mark.parametrize("category", [ToolFailureCategory.DENIED, ToolFailureCategory.TIMEOUT])
def test_a_failed_tool_halts_the_step(
    drive: Driver, protocol: ActionProtocol, category: ToolFailureCategory
) -> None:
    """C06, A11, A13: no retry, no second question."""
    failed = ToolFailed(category=category, code="c", message="m", retryable=True)
    host = Host(calls(protocol), outcome=failed)

    done = drive(first(protocol), host).unwrap()

    assert isinstance(done, CompletedStep)
    assert ToolEnd.HALTED is done.end
    assert (1, 1) == (len(host.asked), len(host.ran))


BAD: tuple[tuple[GenerationResponse, type[object]], ...] = (
    (calls(ActionProtocol.NATIVE, "{}"), InvalidArguments),
    (calls(ActionProtocol.NATIVE, '{"query":"x"}'), InvalidArguments),
    (
        attrs.evolve(calls(ActionProtocol.NATIVE), tool_calls=calls(ActionProtocol.NATIVE).tool_calls * 2),
        MultipleActions,
    ),
    (calls(ActionProtocol.NATIVE, "{}", "hidden"), ToolNotVisible),
)


@both
@pytest.mark.parametrize(("answer", "why"), BAD)
def test_an_answer_that_is_no_action_is_recorded_and_runs_nothing(
    drive: Driver, answer: GenerationResponse, why: type[object]
) -> None:
    """A06b, A07, A16b, A17: the request and the answer are in the log."""
    host = Host(answer)

    found = drive(first(ActionProtocol.NATIVE), host).failure()

    assert isinstance(found, why)
    assert [] == host.ran
    assert [ModelRequestEvent, ModelResultEvent] == [type(event.kind) for event in host.events[1:]]


@both
def test_a_model_that_fails_is_told(drive: Driver) -> None:
    failed = ModelFailed(category=ModelFailureCategory.UPSTREAM, code="503", message="busy", retryable=True)
    host = Host(failed)

    assert failed == drive(first(ActionProtocol.NATIVE), host).failure()
    assert ModelResultEvent is type(host.events[-1].kind)


@both
@pytest.mark.parametrize(
    ("kind", "stage", "asked"),
    [
        (ModelRequestEvent, RecordStage.MODEL_REQUEST, 0),
        (ModelResultEvent, RecordStage.MODEL_RESULT, 1),
        (ToolCallEvent, RecordStage.TOOL_CALL, 1),
    ],
)
def test_what_cannot_be_recorded_does_not_happen(
    drive: Driver, kind: type[EventKind], stage: RecordStage, asked: int
) -> None:
    """A14."""
    host = Host(calls(ActionProtocol.NATIVE))
    host.refuses = lambda one: isinstance(one, kind)

    expected = NotRecorded(stage=stage, task_id="task-test", reason="disk full")

    assert expected == drive(first(ActionProtocol.NATIVE), host).failure()
    assert (asked, 0) == (len(host.asked), len(host.ran))


@both
def test_a_result_that_cannot_be_recorded_is_handed_back(drive: Driver) -> None:
    """A14: the tool ran, once, and may not run again."""
    host = Host(calls(ActionProtocol.NATIVE))
    host.refuses = lambda one: isinstance(one, ToolResultEvent)

    found = drive(first(ActionProtocol.NATIVE), host).failure()

    assert isinstance(found, UnrecordedResult)
    assert (host.ran[0], ToolSucceeded(output=OUTPUT), "disk full") == (
        found.call,
        found.outcome,
        found.reason,
    )
    assert found.replay_forbidden is True
    assert found.call.action is not None
    assert 1 == len(host.ran)


@both
@pytest.mark.parametrize("other", ["turn", "outcome"])
def test_a_log_that_answers_with_another_event_is_told(drive: Driver, other: str) -> None:
    host = Host(calls(ActionProtocol.NATIVE))

    def change(event: SessionEvent) -> SessionEvent:
        if not isinstance(event.kind, ToolResultEvent):
            return event
        if other == "turn":
            return attrs.evolve(event, turn_id=TurnId("other"))
        result = attrs.evolve(event.kind.result, outcome=ToolSucceeded(output="other"))
        return attrs.evolve(event, kind=ToolResultEvent(result=result))

    host.changes = change

    found = drive(first(ActionProtocol.NATIVE), host).failure()

    assert isinstance(found, UnrecordedResult)
    assert "the events are not those of this call" == found.reason


@both
def test_a_call_that_was_recorded_differently_is_told_with_the_execution(drive: Driver) -> None:
    host = Host(calls(ActionProtocol.NATIVE))

    def change(event: SessionEvent) -> SessionEvent:
        if not isinstance(event.kind, ToolCallEvent):
            return event
        return attrs.evolve(event, kind=ToolCallEvent(call=attrs.evolve(event.kind.call, name="other")))

    host.changes = change

    found = drive(first(ActionProtocol.NATIVE), host).failure()

    assert isinstance(found, CompleteFailure)
    assert "other" == found.execution.call.name


@both
def test_a_view_that_cannot_be_recorded_is_told_with_the_execution(drive: Driver) -> None:
    """C04."""
    host = Host(calls(ActionProtocol.NATIVE))
    host.refuses = lambda one: isinstance(one, CustomEvent)

    found = drive(first(ActionProtocol.NATIVE), host).failure()

    assert isinstance(found, CompleteFailure)
    why = NotRecorded(stage=RecordStage.RESULT_VIEW, task_id="task-test", reason="disk full")
    assert why == found.why
    assert "jw_event_4" == found.execution.result_event_id
    assert 1 == len(host.ran)


@final
class OddStore:
    """Answers with a reference to another scope."""

    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        other = attrs.evolve(scope, expires_at_ms=2)
        reference = store().put(scope, source, text, now_ms).unwrap()
        return Success(attrs.evolve(reference, scope=other))


@final
class FullStore:
    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        return Failure(StoreFull(what=StoreFullOf.ENTRIES, limit=1, actual=2))


@both
@pytest.mark.parametrize(("held", "why"), [(FullStore(), StoreFull), (OddStore(), OtherReference)])
def test_a_store_that_refuses_is_told_with_the_execution(
    drive: Driver, held: ResultStore, why: type[object]
) -> None:
    host = Host(calls(ActionProtocol.NATIVE))
    host.store = held

    found = drive(first(ActionProtocol.NATIVE), host).failure()

    assert isinstance(found, CompleteFailure)
    assert isinstance(found.why, why)
    assert (1, ToolResultEvent) == (len(host.ran), type(host.events[-1].kind))


@both
@pytest.mark.parametrize("held", [FullStore(), OddStore(), None])
def test_a_preview_can_stand_alone(drive: Driver, held: ResultStore | None) -> None:
    """Where the host wants it, and where it has no store: nothing refers to what is not stored."""
    host = Host(calls(ActionProtocol.NATIVE))
    host.store, host.showing = held, attrs.evolve(host.showing, unstored=Unstored.SHOW_PREVIEW)

    done = drive(first(ActionProtocol.NATIVE), host).unwrap()

    assert isinstance(done, CompletedStep)
    assert done.view.handle is None
    assert "jw_event_4" not in (done.next_current[-1].content or "")
    assert CustomEvent is type(host.events[-1].kind)


@both
def test_a_result_that_cannot_be_shown_is_told(drive: Driver) -> None:
    """By a host that writes what no log can hold."""
    host = Host(calls(ActionProtocol.NATIVE), outcome=ToolSucceeded(output="\udfff"))
    host.careless = True

    found = drive(first(ActionProtocol.NATIVE), host).failure()

    assert isinstance(found, CompleteFailure)
    assert ToolSucceeded(output="\udfff") == found.execution.outcome


@both
def test_a_result_that_no_log_can_hold_is_told_with_what_ran(drive: Driver) -> None:
    """The tool has run, and nothing runs it again; the log stays readable."""
    host = Host(calls(ActionProtocol.NATIVE), outcome=ToolSucceeded(output="\udfff"))

    found = drive(first(ActionProtocol.NATIVE), host).failure()

    assert isinstance(found, UnrecordedResult)
    assert ("unreadable", ToolSucceeded(output="\udfff"), True) == (
        found.reason,
        found.outcome,
        found.replay_forbidden,
    )
    assert isinstance(encode_log(host.events), Success)


@both
@each
def test_an_answer_that_no_log_can_hold_is_recorded_as_failed(
    drive: Driver, protocol: ActionProtocol
) -> None:
    """Nothing runs, and what could be kept of it stands in the log."""
    usage = TokenUsage(input_tokens=-1)
    host = Host(attrs.evolve(calls(protocol), usage=usage))

    found = drive(first(protocol), host).failure()

    log = encode_log(host.events).unwrap()
    recorded = decode_log(log).unwrap().events[-1].kind
    assert UnreadableAnswer(reason=DecodeReason.OUT_OF_RANGE, path="/usage/input_tokens") == found
    assert [] == host.ran
    assert isinstance(recorded, ModelResultEvent)
    assert isinstance(recorded.result.outcome, ModelFailed)
    assert ModelFailureCategory.PROTOCOL is recorded.result.outcome.category


@pytest.mark.parametrize("driver", [run_step, run_step_async])
def test_a_driver_stays_thin(driver: Callable[..., object]) -> None:
    assert 60 > len(inspect.getsource(driver).splitlines())


@each
def test_a_whole_turn_in_json_or_natively_uses_nothing_of_the_other(protocol: ActionProtocol) -> None:
    host = Host(calls(protocol), calls(protocol), finishes(protocol))

    done = host.one_turn(protocol)

    assert 3 == len(done)
    assert 2 == len(host.ran)
    native = protocol is ActionProtocol.NATIVE
    texts = [constraint_text(asked.input.constraint) for asked in host.asked]
    assert all(("native_tools" in text) == native for text in texts)


def test_json_text_of_the_wrong_protocol_is_a_final_text_natively() -> None:
    host = Host(says('{"action":"final","text":"x"}'))

    done = blocking(first(ActionProtocol.NATIVE), host).unwrap()

    assert isinstance(done, AnsweredStep)
    assert '{"action":"final","text":"x"}' == done.reply
    assert ASKED == done.next_current[:1]
