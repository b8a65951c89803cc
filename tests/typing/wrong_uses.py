# mypy: ignore-errors
"""Wrong uses of jingwei. Each line that ends in `# wrong` must be rejected by every checker, and no other.

The first line keeps this file out of the run over the whole project; `test_checkers.py` takes it away.
"""

from collections.abc import Sequence
from typing import assert_never

import jingwei
from jingwei import (
    BuildFailure,
    BuildInputs,
    BuiltContext,
    ContextBudget,
    ContextTarget,
    CountRefused,
    Failure,
    GenerationRequest,
    ModelMessage,
    Outcome,
    Projection,
    ProjectionFailure,
    SessionId,
    SessionLog,
    ShapeFailure,
    Strategy,
    Success,
    TokenCount,
    TokenCounter,
    TurnId,
    UserMessage,
)
from jingwei.codec import DecodeReason
from jingwei.events.records import DoneEvent, EventKind, UserMessageEvent
from jingwei.jsontext import Json
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import EmptyMessages
from jingwei.projection.failures import AdmissionReason, InvalidConfig, Malformed, MissingReply
from jingwei.providers.openai_chat import (
    BlankSessionId,
    Conversation,
    ImportedConversation,
    ImportFailure,
    ImportOptions,
    import_transcript,
)
from jingwei.recount import ReverifyFailure, Verdict
from jingwei.report.failures import CounterFailed, DoesNotFit, Overflow
from jingwei.request.counting import AdditiveCounter
from jingwei.request.remembering import RememberingCounter
from jingwei.selection.records import Candidate, DropTurn, Plan, PlanStep, Room

TARGET = ContextTarget(model="m", template_revision="1")
BUDGET = ContextBudget(window_tokens=1, output_reserve=1)


# --- records ---


def records_are_frozen(message: UserMessage, inputs: BuildInputs) -> None:
    message.content = "other"  # wrong
    inputs.system += ("more",)  # wrong
    inputs.current.append(message)  # wrong


def records_are_spoken_by_name() -> None:
    UserMessage("x")  # wrong
    ContextTarget("m", "1")  # wrong
    ContextBudget(window_tokens="4096", output_reserve=1)  # wrong
    ContextBudget(output_reserve=1)  # wrong
    BuildInputs(current=[UserMessage(content="x")], target=TARGET, budget=BUDGET)  # wrong
    BuildInputs(current=(), target=TARGET, budget=BUDGET, pinned_turns=("t1",))  # wrong


def records_hold_what_they_say(json: Json, call: jingwei.ModelToolCall) -> None:
    jingwei.AssistantMessage(content="x", tool_calls=[call])  # wrong
    jingwei.AssistantMessage(content=b"x")  # wrong
    jingwei.ToolDefinition(name="n", description="d", parameters="{}")  # wrong
    jingwei.ToolDefinition(name="n", description="d", parameters={})  # wrong
    jingwei.JsonSchemaConstraint(name="n", schema="{}")  # wrong
    jingwei.NativeToolsConstraint(tools=(), choice="auto")  # wrong
    jingwei.GenerationRequest(messages=[UserMessage(content="x")])  # wrong
    jingwei.ProjectionConfig(legacy_replies="omit")  # wrong
    json.text = "{}"  # wrong
    call.name = "other"  # wrong
    BUDGET.mode = jingwei.BudgetMode.HARD  # wrong


class MyMessage(UserMessage):  # wrong
    """Records are final."""


class MyLog(SessionLog):  # wrong
    """The stages too."""


class MyCounter(jingwei.ByteBoundCounter):  # wrong
    """And counters: a host writes its own."""


class MyMemory(RememberingCounter):  # wrong
    """Also those that are no records."""


class MyReason(DecodeReason):  # wrong
    """The reasons are a closed list."""


# --- stages and names ---


def stages_are_not_confused(log: SessionLog, history: Projection, inputs: BuildInputs) -> None:
    counter = jingwei.ByteHeuristicCounter()
    jingwei.project("session", log)  # wrong
    jingwei.project(TurnId("turn"), log)  # wrong
    jingwei.project(SessionId("session"), log.events)  # wrong
    jingwei.project(SessionId("session"), history)  # wrong
    jingwei.build(log, inputs, counter)  # wrong
    jingwei.build(jingwei.project(SessionId("session"), log), inputs, counter)  # wrong
    jingwei.build(history, inputs)  # wrong
    jingwei.build(history, inputs, counter, jingwei.OldestTurnFirst())  # wrong
    jingwei.build(history, inputs, counter, search="bisect")  # wrong
    jingwei.decode_log("text")  # wrong
    jingwei.decode_events(["text"])  # wrong
    GenerationRequest(messages=({"role": "user", "content": "x"},))  # wrong


def names_are_not_mixed(session_id: SessionId, turn_id: TurnId, log: SessionLog) -> None:
    jingwei.diagnose(turn_id, log)  # wrong
    jingwei.diagnose("session", log)  # wrong
    DropTurn(turn_id=session_id)  # wrong
    DropTurn(turn_id="t1")  # wrong
    BuildInputs(current=(), target=TARGET, budget=BUDGET, pinned_turns=(session_id,))  # wrong
    jingwei.ProviderCallId(5)  # wrong
    ImportOptions(session_id="session")  # wrong
    ImportOptions(session_id=turn_id)  # wrong
    ImportOptions(session_id=session_id, unanswered_turn="cancelled")  # wrong


def doors_are_not_confused(
    history: Projection, foreign: jingwei.ForeignProjection, inputs: BuildInputs, built: BuiltContext
) -> None:
    counter = jingwei.ByteHeuristicCounter()
    jingwei.build(foreign, inputs, counter)  # wrong
    jingwei.build_foreign(history, inputs, counter)  # wrong
    jingwei.admit_projection(history)  # wrong
    jingwei.reverify(built.request, TARGET, counter, BUDGET)  # wrong
    jingwei.reverify(built, TARGET, counter)  # wrong
    jingwei.reverify(built, "m", counter, BUDGET)  # wrong
    import_transcript(b"[]")  # wrong
    import_transcript(b"[]", SessionId("session"))  # wrong


def an_outcome_is_not_its_value(data: bytes) -> int:
    found = jingwei.decode_log(data)
    print(found.events)  # wrong
    return len(found)  # wrong


def a_failure_has_no_value(data: bytes) -> int:
    found = jingwei.decode_log(data)
    match found:
        case Success(log):
            return log.line  # wrong
        case Failure(why):
            return len(why.events)  # wrong


def a_failure_is_not_built(history: Projection, inputs: BuildInputs) -> GenerationRequest:
    built = jingwei.build(history, inputs, jingwei.ByteHeuristicCounter())
    if isinstance(built, Failure):
        return built.failure().request  # wrong
    return built.unwrap()  # wrong


def nothing_is_thrown(built: Outcome[BuiltContext, BuildFailure]) -> BuiltContext:
    return built  # wrong


def an_admitted_projection_is_unpacked(foreign: jingwei.ForeignProjection, inputs: BuildInputs) -> None:
    jingwei.build(jingwei.admit_projection(foreign), inputs, jingwei.ByteHeuristicCounter())  # wrong


def both_ways_must_be_taken(data: bytes) -> SessionLog:
    found = jingwei.decode_log(data)
    match found:
        case Success(log):
            return log
        case _:
            assert_never(found)  # wrong


def every_failure_must_be_told(failure: ProjectionFailure) -> str:
    match failure:
        case InvalidConfig() | Malformed() | MissingReply():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_shape_failure_must_be_told(failure: ShapeFailure) -> str:
    if isinstance(failure, EmptyMessages):
        return "x"
    assert_never(failure)  # wrong


def every_log_failure_must_be_told(failure: jingwei.LogFailure) -> str:
    match failure:
        case jingwei.WrongSession() | jingwei.WrongSequence():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_build_failure_must_be_told(failure: BuildFailure) -> str:
    match failure:
        case DoesNotFit() | jingwei.CountLimit() | jingwei.Overflow():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_recount_failure_must_be_told(failure: ReverifyFailure) -> str:
    match failure:
        case CounterFailed() | Overflow():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_import_failure_must_be_told(failure: ImportFailure) -> str:
    match failure:
        case BlankSessionId() | jingwei.DecodeFailed():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_admission_reason_must_be_told(failure: jingwei.NotAdmitted) -> str:
    match failure.reason:
        case AdmissionReason.GROUP_SHAPE | AdmissionReason.BLANK_TURN_ID:
            return "x"
        case _:
            assert_never(failure.reason)  # wrong


def every_decode_reason_must_be_told(failure: jingwei.DecodeFailed) -> str:
    match failure.reason:
        case DecodeReason.BOM | DecodeReason.TOO_DEEP:
            return "x"
        case _:
            assert_never(failure.reason)  # wrong


def every_bound_must_be_told(failure: LimitExceeded) -> str:
    match failure.what:
        case Bound.EVENTS | Bound.MESSAGES | Bound.GROUPS | Bound.TURNS:
            return "x"
        case _:
            assert_never(failure.what)  # wrong


def both_verdicts_must_be_told(verdict: Verdict) -> str:
    match verdict:
        case Verdict.FITS:
            return "x"
        case _:
            assert_never(verdict)  # wrong


def every_event_must_be_told(kind: EventKind) -> str:
    match kind:
        case UserMessageEvent() | DoneEvent():
            return "x"
        case _:
            assert_never(kind)  # wrong


def every_message_must_be_told(message: ModelMessage) -> str:
    match message:
        case UserMessage() | jingwei.SystemMessage() | jingwei.ToolMessage():
            return "x"
        case _:
            assert_never(message)  # wrong


def every_conversation_must_be_told(conversation: Conversation) -> str:
    match conversation:
        case ImportedConversation():
            return "x"
        case _:
            assert_never(conversation)  # wrong


def failures_keep_their_type(failed: ProjectionFailure) -> Outcome[BuiltContext, BuildFailure]:
    return Failure(failed)  # wrong


def facts_belong_to_their_failure(failure: BuildFailure) -> int:
    match failure:
        case DoesNotFit(report=report):
            return report.window  # wrong
        case _:
            return failure.limit  # wrong


# --- counters ---


class NoCounter:
    """Has no `count`."""


class BareCounter:
    """Answers with a number."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> int:
        return len(request.messages)


class RaisingCounter:
    """Says its failures as text."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, str]:
        return Failure("no")


class TotalCounter:
    """A counter without costs is not additive."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return Failure(CountRefused(reason="no"))


class MessageCounter:
    """Takes messages, not the whole request."""

    def count(
        self, target: ContextTarget, messages: tuple[ModelMessage, ...]
    ) -> Outcome[TokenCount, CountRefused]:
        return Failure(CountRefused(reason="no"))


def rendering(request: GenerationRequest) -> str:
    return "the prompt"


def the_counters_of_the_house_are_checked() -> None:
    RememberingCounter(TotalCounter())  # wrong
    RememberingCounter(jingwei.ByteHeuristicCounter(), 5)  # wrong
    jingwei.ByteHeuristicCounter(5)  # wrong
    jingwei.ByteBoundCounter(model="m", template_revision="1")  # wrong
    jingwei.FramingAllowance(message=4, call=4, tool=4, request=4)  # wrong
    jingwei.RenderedByteBoundCounter(model="m", template_revision="1", render=rendering)  # wrong
    sixth: AdditiveCounter = jingwei.RenderedByteBoundCounter(  # wrong
        model="m", template_revision="1", render=lambda request: Failure(CountRefused(reason="no"))
    )
    print(sixth)


def counters_are_checked() -> None:
    first: TokenCounter = NoCounter()  # wrong
    second: TokenCounter = BareCounter()  # wrong
    third: TokenCounter = RaisingCounter()  # wrong
    fourth: AdditiveCounter = TotalCounter()  # wrong
    fifth: TokenCounter = MessageCounter()  # wrong
    print(first, second, third, fourth, fifth)


def a_refusal_is_a_record(target: ContextTarget) -> Outcome[TokenCount, CountRefused]:
    if target.model:
        return Failure("no")  # wrong
    return Failure(CountRefused("no"))  # wrong


# --- strategies ---


class NamelessStrategy:
    """Has no name."""

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        return Plan()


class ListingStrategy:
    """Answers with the steps alone."""

    name = "listing"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> list[PlanStep]:
        return []


def strategies_are_checked(candidate: Candidate) -> None:
    first: Strategy = NamelessStrategy()  # wrong
    second: Strategy = ListingStrategy()  # wrong
    third = Plan(steps=(DropTurn(turn_id=candidate.turn_id),))  # wrong
    fourth = Plan(steps=[PlanStep(reductions=())])  # wrong
    fifth = DropTurn(turn_id=candidate.position)  # wrong
    sixth = PlanStep(reductions=(candidate,))  # wrong
    print(first, second, third, fourth, fifth, sixth)


# --- builders and projectors ---


def impatient_project(session_id: SessionId, log: SessionLog) -> Outcome[Projection, ProjectionFailure]:
    return jingwei.project(session_id, log)


def raising_build(history: Projection, inputs: BuildInputs, counter: TokenCounter) -> BuiltContext:
    raise NotImplementedError


PROJECTOR: jingwei.ConversationProjector = impatient_project  # wrong
BUILDER: jingwei.ContextBuilder = raising_build  # wrong
