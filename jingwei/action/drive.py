"""Thin loops around one step, for hosts with blocking functions and for hosts with awaitable ones (T6).

They hold the order and nothing else: what is asked, called or shown is recorded before it happens, a long
result is stored before a request refers to it, and the clock is read again when the tool has run. The
functions of the host answer with outcomes; what they raise is not swallowed.
"""

import enum
from typing import Final, Protocol, TypeAlias, final

import attrs

from jingwei.action.complete import (
    AnsweredStep,
    CompletedStep,
    complete,
    complete_final,
    complete_question,
    stored,
    unstored,
)
from jingwei.action.events_out import execution_of, model_request, model_result, tool_call, tool_result
from jingwei.action.failures import (
    CompleteFailure,
    InterpretFailure,
    NotRecorded,
    RecordStage,
    UnrecordedResult,
)
from jingwei.action.records import ToolExecution
from jingwei.action.step import (
    Interpreted,
    PlannedCall,
    PlannedFinal,
    PlannedQuestion,
    PlannedStep,
    interpret,
)
from jingwei.events.records import (
    EventKind,
    ModelFailed,
    ModelOutcome,
    ModelRequest,
    SessionEvent,
    ToolCall,
    ToolOutcome,
)
from jingwei.ids import EventId
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import ContentRef, ContentScope, StoreFailure
from jingwei.results.records import DEFAULT_POLICY, ResultChooser, ResultPolicy
from jingwei.results.wire import view_event


@final
class Unstored(enum.Enum):
    """What to do when a store does not take a long result: fail, or show the preview alone."""

    FAIL = "fail"
    SHOW_PREVIEW = "show_preview"


@final
@attrs.frozen(kw_only=True)
class Showing:
    """How results are shown.

    Attributes:
        policy: the sizes (T3).
        chooser: chooses for each result; None for the policy.
        unstored: what to do when the store refuses.
    """

    policy: ResultPolicy = DEFAULT_POLICY
    chooser: ResultChooser | None = None
    unstored: Unstored = Unstored.FAIL


DEFAULT_SHOWING: Final = Showing()
"""The sizes of T3; a store that refuses is told."""


@final
@attrs.frozen(kw_only=True)
class AppendRefused:
    """The host's log did not take an event, in the host's own words."""

    reason: str


class StepHost(Protocol):
    """What a step needs of a host with blocking functions."""

    def now_ms(self) -> int:
        """The time."""
        ...

    def append(self, kind: EventKind) -> Outcome[SessionEvent, AppendRefused]:
        """Write an event to the log of the running turn, durably; answers the event as it was written."""
        ...

    def generate(self, request: ModelRequest) -> ModelOutcome:
        """Ask the model exactly this."""
        ...

    def run_tool(self, call: ToolCall) -> ToolOutcome:
        """Run a tool, once. Whether it may run is the host's to say: `denied` is an answer too."""
        ...


class ResultStore(Protocol):
    """The part of a content store that a step uses."""

    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        """Keep a text; see `ContentStore`."""
        ...


class AsyncStepHost(Protocol):
    """`StepHost` for a host with awaitable functions."""

    def now_ms(self) -> int:
        """The time."""
        ...

    async def append(self, kind: EventKind) -> Outcome[SessionEvent, AppendRefused]:
        """See `StepHost`."""
        ...

    async def generate(self, request: ModelRequest) -> ModelOutcome:
        """See `StepHost`."""
        ...

    async def run_tool(self, call: ToolCall) -> ToolOutcome:
        """See `StepHost`."""
        ...


class AsyncResultStore(Protocol):
    """`ResultStore` for a host with awaitable functions."""

    async def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        """Keep a text; see `ContentStore`."""
        ...


RunStepFailure: TypeAlias = NotRecorded | ModelFailed | InterpretFailure | UnrecordedResult | CompleteFailure
"""Every way in which a planned step does not end. A tool has run with the last two only; both say which."""

DoneStep: TypeAlias = CompletedStep | AnsweredStep
"""How a step ends: a tool has run, or the turn can be closed."""


def run_step(
    planned: PlannedStep, host: StepHost, store: ResultStore | None, showing: Showing = DEFAULT_SHOWING
) -> Outcome[DoneStep, RunStepFailure]:
    """Ask the model, run at most one tool at most once, show its result (T6).

    Without a store, long results are shown as previews with nothing behind them. The events of the terminal
    are the host's to append (`AnsweredStep.events`).
    """
    asking = model_request(planned)
    asked = _written(planned, RecordStage.MODEL_REQUEST, host.append(asking))
    if isinstance(asked, NotRecorded):
        return Failure(asked)
    answered = host.generate(asking.request)
    noted = _written(planned, RecordStage.MODEL_RESULT, host.append(model_result(planned, answered)))
    if isinstance(noted, NotRecorded):
        return Failure(noted)
    action = _action(planned, answered)
    if not isinstance(action, PlannedCall):
        return _ended(action)
    calling = tool_call(action)
    called = _written(planned, RecordStage.TOOL_CALL, host.append(calling))
    if isinstance(called, NotRecorded):
        return Failure(called)
    outcome = host.run_tool(calling.call)
    execution = _ran(calling.call, outcome, called, host.append(tool_result(action, outcome)))
    if isinstance(execution, UnrecordedResult):
        return Failure(execution)
    completed = _completed(action, execution, showing)
    if isinstance(completed, CompleteFailure):
        return Failure(completed)
    if completed.to_store is not None and store is not None:
        content, scope = completed.to_store, planned.inputs.scope
        put = store.put(scope, content.source_event, content.text, host.now_ms())
        completed = _settled(completed, put, showing)
        if isinstance(completed, CompleteFailure):
            return Failure(completed)
    completed = completed if completed.to_store is None else unstored(completed)
    shown = host.append(view_event(completed.view))
    return _shown(completed, _written(planned, RecordStage.RESULT_VIEW, shown))


async def run_step_async(
    planned: PlannedStep,
    host: AsyncStepHost,
    store: AsyncResultStore | None,
    showing: Showing = DEFAULT_SHOWING,
) -> Outcome[DoneStep, RunStepFailure]:
    """`run_step` for a host with awaitable functions.

    A task that is cancelled while the tool runs leaves an open call in the log, which says so (P5).
    """
    asking = model_request(planned)
    asked = _written(planned, RecordStage.MODEL_REQUEST, await host.append(asking))
    if isinstance(asked, NotRecorded):
        return Failure(asked)
    answered = await host.generate(asking.request)
    noted = _written(planned, RecordStage.MODEL_RESULT, await host.append(model_result(planned, answered)))
    if isinstance(noted, NotRecorded):
        return Failure(noted)
    action = _action(planned, answered)
    if not isinstance(action, PlannedCall):
        return _ended(action)
    calling = tool_call(action)
    called = _written(planned, RecordStage.TOOL_CALL, await host.append(calling))
    if isinstance(called, NotRecorded):
        return Failure(called)
    outcome = await host.run_tool(calling.call)
    execution = _ran(calling.call, outcome, called, await host.append(tool_result(action, outcome)))
    if isinstance(execution, UnrecordedResult):
        return Failure(execution)
    completed = _completed(action, execution, showing)
    if isinstance(completed, CompleteFailure):
        return Failure(completed)
    if completed.to_store is not None and store is not None:
        content, scope = completed.to_store, planned.inputs.scope
        put = await store.put(scope, content.source_event, content.text, host.now_ms())
        completed = _settled(completed, put, showing)
        if isinstance(completed, CompleteFailure):
            return Failure(completed)
    completed = completed if completed.to_store is None else unstored(completed)
    shown = await host.append(view_event(completed.view))
    return _shown(completed, _written(planned, RecordStage.RESULT_VIEW, shown))


# --- between two calls of the host ------------------------------------------------------------------


def _written(
    planned: PlannedStep, stage: RecordStage, answer: Outcome[SessionEvent, AppendRefused]
) -> SessionEvent | NotRecorded:
    match answer:
        case Success(event):
            return event
        case Failure(why):
            task_id = planned.inputs.decision.task_id
            return NotRecorded(stage=stage, task_id=task_id, reason=why.reason)


def _action(planned: PlannedStep, answered: ModelOutcome) -> Interpreted | ModelFailed | InterpretFailure:
    if isinstance(answered, ModelFailed):
        return answered
    match interpret(planned, answered.response):
        case Success(action):
            return action
        case Failure(why):
            return why


def _ended(
    action: PlannedFinal | PlannedQuestion | ModelFailed | InterpretFailure,
) -> Outcome[DoneStep, RunStepFailure]:
    if isinstance(action, PlannedFinal):
        return Success(complete_final(action))
    if isinstance(action, PlannedQuestion):
        return Success(complete_question(action))
    return Failure(action)


def _ran(
    call: ToolCall, outcome: ToolOutcome, called: SessionEvent, answer: Outcome[SessionEvent, AppendRefused]
) -> ToolExecution | UnrecordedResult:
    match answer:
        case Failure(why):
            return UnrecordedResult(call=call, outcome=outcome, reason=why.reason)
        case Success(event):
            execution = execution_of(called, event)
            if execution is None or execution.outcome != outcome:
                reason = "the events are not those of this call"
                return UnrecordedResult(call=call, outcome=outcome, reason=reason)
            return execution


def _completed(
    action: PlannedCall, execution: ToolExecution, showing: Showing
) -> CompletedStep | CompleteFailure:
    match complete(action, execution, policy=showing.policy, chooser=showing.chooser):
        case Success(completed):
            return completed
        case Failure(why):
            return why


def _settled(
    completed: CompletedStep, answer: Outcome[ContentRef, StoreFailure], showing: Showing
) -> CompletedStep | CompleteFailure:
    settled = _referring(completed, answer)
    refused = isinstance(settled, CompleteFailure)
    return unstored(completed) if refused and showing.unstored is Unstored.SHOW_PREVIEW else settled


def _referring(
    completed: CompletedStep, answer: Outcome[ContentRef, StoreFailure]
) -> CompletedStep | CompleteFailure:
    match answer:
        case Failure(why):
            return CompleteFailure(execution=completed.execution, why=why)
        case Success(reference):
            match stored(completed, reference):
                case Success(settled):
                    return settled
                case Failure(refused):
                    return refused


def _shown(
    completed: CompletedStep, written: SessionEvent | NotRecorded
) -> Outcome[DoneStep, RunStepFailure]:
    if isinstance(written, NotRecorded):
        return Failure(CompleteFailure(execution=completed.execution, why=written))
    return Success(completed)
