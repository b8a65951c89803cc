"""What a step leaves: the view of a result, and the running turn for the next step (rules T6, T7)."""

import enum
from typing import Final, assert_never, final

import attrs

from jingwei.action.failures import (
    CompleteFailure,
    CompleteReason,
    EvidencePart,
    OtherReference,
    ToolEvidenceMismatch,
)
from jingwei.action.records import ASK_USER, ActionProtocol, ToolExecution
from jingwei.action.step import PlannedCall, PlannedFinal, PlannedQuestion, PlannedStep
from jingwei.events.records import AssistantReply, DoneEvent, DoneStatus, ToolFailed
from jingwei.ids import ProviderCallId, is_blank
from jingwei.jsontext import Json, canonical
from jingwei.limits import TOKENS_BOUND
from jingwei.messages.records import (
    AssistantMessage,
    ModelMessage,
    ModelToolCall,
    ToolMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import ContentRef
from jingwei.report.records import BuildReport
from jingwei.results.envelope import call_of, envelope_text, exchange_messages
from jingwei.results.records import (
    DEFAULT_POLICY,
    ResultChooser,
    ResultPolicy,
    ResultView,
    ToStore,
    ViewRendition,
)
from jingwei.results.view import view_result, with_reference, without_handle


@final
class ToolEnd(enum.Enum):
    """How a step with a tool ended: the tool returned, or it did not, for whatever reason."""

    TOOL_COMPLETED = "tool_completed"
    HALTED = "halted"


@final
@attrs.frozen(kw_only=True)
class CompletedStep:
    """A step whose tool has run (T6). Made by `complete`, and told of the store by `stored` or `unstored`.

    Attributes:
        call: the planned call, and with it the step and its report.
        execution: what ran.
        view: what the model is shown of the result.
        to_store: what must stand in a content store before `next_current` is sent; None where all is shown.
    """

    call: PlannedCall
    execution: ToolExecution
    view: ResultView
    to_store: ToStore | None

    @property
    def end(self) -> ToolEnd:
        """Whether the tool returned."""
        failed = isinstance(self.execution.outcome, ToolFailed)
        return ToolEnd.HALTED if failed else ToolEnd.TOOL_COMPLETED

    @property
    def report(self) -> BuildReport:
        """Why the request was what it was."""
        return self.call.step.report

    @property
    def next_current(self) -> tuple[ModelMessage, ...]:
        """The running turn for the next step: as it was, then this call and the view of its result (T7)."""
        asked = call_of(self.view, self.execution.call.arguments)
        rendition = rendition_of(self.call.step.inputs.protocol)
        return (
            *self.call.step.inputs.build.current,
            *exchange_messages(asked, envelope_text(self.view), rendition),
        )


@final
@attrs.frozen(kw_only=True)
class AnsweredStep:
    """A step that ends the turn: with a final answer, or with a question to the user (T6).

    Attributes:
        reply: the complete reply of the turn.
        status: how the turn ends.
        next_current: the running turn with what this step said; only for a host that goes on in this turn.
    """

    reply: str
    status: DoneStatus
    next_current: tuple[ModelMessage, ...]

    @property
    def events(self) -> tuple[AssistantReply, DoneEvent]:
        """What the host appends to close the turn."""
        return AssistantReply(text=self.reply), DoneEvent(status=self.status)


def complete(
    call: PlannedCall,
    execution: ToolExecution,
    *,
    policy: ResultPolicy = DEFAULT_POLICY,
    chooser: ResultChooser | None = None,
) -> Outcome[CompletedStep, CompleteFailure]:
    """What the model is shown of a result, and the running turn with it (T6, T7).

    The execution must be the planned one: the same name, arguments and decision, in the session of the
    scope. Pure, and may be repeated; the tool may not.

    Args:
        call: what was planned.
        execution: what ran, as the log has it.
        policy: the sizes (T3).
        chooser: chooses for this result.
    """
    mismatch = _mismatch(call, execution)
    if mismatch is not None:
        return Failure(_failed(execution, ToolEvidenceMismatch(part=mismatch)))
    viewed = view_result(
        execution.outcome,
        call_seq=execution.call_seq,
        name=execution.call.name,
        source_event=execution.result_event_id,
        policy=policy,
        chooser=chooser,
    )
    match viewed:
        case Failure(why):
            return Failure(_failed(execution, why))
        case Success(shown):
            return Success(
                CompletedStep(call=call, execution=execution, view=shown.view, to_store=shown.to_store)
            )


def stored(completed: CompletedStep, reference: ContentRef) -> Outcome[CompletedStep, CompleteFailure]:
    """The step once its text is stored: nothing is left to store, and the view knows where the text stands.

    What the model is shown does not change. Fails where the reference is of another scope, source or size.
    """
    scope = completed.call.step.inputs.scope
    if reference.scope != scope:
        return Failure(_failed(completed.execution, OtherReference(expected=scope, actual=reference)))
    match with_reference(completed.view, reference):
        case Failure(why):
            return Failure(_failed(completed.execution, why))
        case Success(view):
            return Success(attrs.evolve(completed, view=view, to_store=None))


def unstored(completed: CompletedStep) -> CompletedStep:
    """The step where nothing is stored: the same text is shown, and nothing to read on by."""
    return attrs.evolve(completed, view=without_handle(completed.view), to_store=None)


def complete_final(planned: PlannedFinal) -> AnsweredStep:
    """A final answer: in both protocols the text itself, as the closed turn will show it (T7)."""
    said = AssistantMessage(content=planned.action.text)
    return AnsweredStep(
        reply=planned.action.text,
        status=DoneStatus.COMPLETED,
        next_current=(*planned.step.inputs.build.current, said),
    )


def complete_question(planned: PlannedQuestion) -> AnsweredStep:
    """A question to the user.

    The closed turn shows it as the reply. A host that goes on in the same turn sends the action itself:
    natively the call of the control with its acknowledgement, else the action's JSON.
    """
    return AnsweredStep(
        reply=planned.action.question,
        status=DoneStatus.WAITING_FOR_INPUT,
        next_current=(*planned.step.inputs.build.current, *_question(planned.step, planned.action.question)),
    )


def rendition_of(protocol: ActionProtocol) -> ViewRendition:
    """How exchanges are written under a protocol (T7)."""
    match protocol:
        case ActionProtocol.NATIVE:
            return ViewRendition.NATIVE
        case ActionProtocol.JSON:
            return ViewRendition.JSON
        case _:
            assert_never(protocol)


AWAITING_USER: Final = '{"type":"jingwei_control_result","status":"awaiting_user"}'
"""The acknowledgement of the control: a provider wants a result for every call."""


def _question(step: PlannedStep, question: str) -> tuple[ModelMessage, ...]:
    match step.inputs.protocol:
        case ActionProtocol.NATIVE:
            # No event records the control, so its id comes from its place in the running turn.
            id_ = ProviderCallId(f"jw_control_{len(step.inputs.build.current)}")
            arguments = Json(canonical({"question": question}))
            asked = ModelToolCall(id=id_, name=ASK_USER, arguments=arguments)
            return AssistantMessage(tool_calls=(asked,)), ToolMessage(call_id=id_, content=AWAITING_USER)
        case ActionProtocol.JSON:
            return (AssistantMessage(content=canonical({"action": "ask_user", "question": question})),)
        case _:
            assert_never(step.inputs.protocol)


def _mismatch(call: PlannedCall, execution: ToolExecution) -> EvidencePart | None:
    ran, part = execution.call, EvidencePart
    first, second = execution.call_event_id, execution.result_event_id
    checks = (
        (ran.name != call.action.name, part.NAME),
        (ran.arguments != call.action.arguments, part.ARGUMENTS),
        (ran.action != call.context, part.ACTION),
        (execution.session_id != call.step.inputs.scope.session_id, part.SESSION),
        (not 0 <= execution.call_seq < execution.result_seq < TOKENS_BOUND, part.ORDER),
        (is_blank(first) or is_blank(second) or first == second, part.EVENT_ID),
        (is_blank(ran.id), part.CALL_ID),
    )
    return next((differs for wrong, differs in checks if wrong), None)


def _failed(execution: ToolExecution, why: CompleteReason) -> CompleteFailure:
    return CompleteFailure(execution=execution, why=why)
