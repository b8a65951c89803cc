"""A pretend host application, never run: mypy strict with and without the returns plugin and pyright
strict must accept it whole, and see in it the types that `assert_type` names.

It reads a log, projects it, builds a request under its own counter and strategy, swaps projector and
builder for its own, and tells every failure apart: each `match` below is closed by `assert_never`, so
that a new failure record is an error here.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never, assert_type, final

import attrs

import jingwei
from jingwei import (
    BuildFailure,
    BuildInputs,
    BuiltContext,
    ContextBudget,
    ContextBuilder,
    ContextTarget,
    ConversationProjector,
    CountRefused,
    DecodeFailed,
    Failure,
    GenerationConstraint,
    GenerationRequest,
    LogFailure,
    ModelMessage,
    Outcome,
    Projection,
    ProjectionConfig,
    ProjectionFailure,
    SessionEvent,
    SessionId,
    SessionLog,
    ShapeFailure,
    Strategy,
    Success,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
    TokenCounter,
    UserMessage,
)
from jingwei.codec import EncodeFailed
from jingwei.events.records import (
    AssistantDelta,
    AssistantReply,
    CustomEvent,
    DoneEvent,
    ErrorEvent,
    EventKind,
    ModeDecided,
    ModelRequestEvent,
    ModelResultEvent,
    PlanReady,
    StageProgress,
    TaskRunReported,
    ToolCallEvent,
    ToolResultEvent,
    UserMessageEvent,
)
from jingwei.jsontext import Json, JsonProblem, NotJson
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import (
    ArgumentsNotObject,
    DuplicateToolCallId,
    DuplicateToolName,
    EmptyMessages,
    EmptyName,
    EmptyToolSet,
    InterruptedToolGroup,
    InvalidSchemaShape,
    MissingAssistantContent,
    MissingToolResults,
    ToolNotVisible,
    UnmatchedToolResult,
)
from jingwei.projection.failures import (
    AdmissionReason,
    InvalidConfig,
    Malformed,
    MissingReply,
    NotAdmitted,
    Unconfirmed,
)
from jingwei.recount import Reverified, ReverifyFailure, Verdict
from jingwei.report.failures import (
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    Overflow,
    ShapeInvalid,
    SurvivalBroken,
    UnverifiedCount,
)
from jingwei.report.records import BuildReport
from jingwei.request.counting import AdditiveCounter
from jingwei.selection.records import Candidate, DropTurn, InvalidPlan, Plan, PlanStep, Room
from jingwei.selection.search import Search

# --- a counter, an additive counter, a strategy ---------------------------------------------------


@final
@attrs.frozen
class WordCounter:
    """Counts words: an estimate that is not additive for the checker, having no costs."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        if target.model != "host-model":
            return Failure(CountRefused(reason=f"no vocabulary for {target.model}"))
        words = sum(len(words_of(message)) for message in request.messages)
        return Success(
            TokenCount(
                target=target,
                method="host-words",
                evidence=TokenBoundEvidence.ESTIMATE,
                tokens=TokenBreakdown(system=0, messages=words, constraint=0, template=1),
            )
        )


@final
@attrs.frozen(kw_only=True)
class FlatCounter:
    """So many tokens a message: additive."""

    each: int

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        cost = sum(self.message_cost(message) for message in request.messages)
        tokens = TokenBreakdown(
            system=0, messages=cost, constraint=self.fixed_cost(request.constraint), template=0
        )
        evidence = TokenBoundEvidence.ESTIMATE
        return Success(TokenCount(target=target, method="host-flat", evidence=evidence, tokens=tokens))

    def message_cost(self, message: ModelMessage) -> int:
        return self.each if words_of(message) else 1

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        match constraint:
            case jingwei.TextConstraint():
                return 0
            case jingwei.NativeToolsConstraint(tools=tools):
                return 10 * len(tools)
            case jingwei.JsonSchemaConstraint(schema=schema):
                return len(schema.text)
            case _:
                assert_never(constraint)


@final
@attrs.frozen(kw_only=True)
class LargestFirst:
    """Drops the largest turns first; the last few never before the others."""

    keep_last: int

    @property
    def name(self) -> str:
        return "host_largest_first"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        split = max(len(candidates) - self.keep_last, 0)
        order = [
            *sorted(candidates[:split], key=lambda candidate: -candidate.canonical_bytes),
            *candidates[split:],
        ]
        steps = tuple(PlanStep(reductions=(DropTurn(turn_id=found.turn_id),)) for found in order)
        return Plan(base=(), steps=steps if room.window_tokens else ())


def words_of(message: ModelMessage) -> list[str]:
    match message:
        case jingwei.SystemMessage(content=content) | jingwei.UserMessage(content=content):
            assert_type(content, str)
            return content.split()
        case jingwei.AssistantMessage(content=said, tool_calls=calls):
            assert_type(said, str | None)
            called = [call.name for call in calls]
            return [*called, *(said or "").split()]
        case jingwei.ToolMessage(content=content):
            return content.split()
        case _:
            assert_never(message)


COUNTERS: tuple[TokenCounter, ...] = (WordCounter(), FlatCounter(each=3), jingwei.ByteHeuristicCounter())
ADDITIVE: tuple[AdditiveCounter, ...] = (FlatCounter(each=3), jingwei.ByteHeuristicCounter())
STRATEGIES: tuple[Strategy, ...] = (LargestFirst(keep_last=2), jingwei.OldestTurnFirst())


# --- a projector and a builder in the place of the house's own --------------------------------------


def patient_project(
    session_id: SessionId, log: SessionLog, config: ProjectionConfig
) -> Outcome[Projection, ProjectionFailure]:
    """A projector that admits missing replies where the log has no other fault."""
    found = jingwei.project(session_id, log, config)
    match found:
        case Failure(MissingReply()):
            lenient = attrs.evolve(config, legacy_replies=jingwei.LegacyReplies.OMIT)
            return jingwei.project(session_id, log, lenient)
        case _:
            return found


def generous_build(
    history: Projection,
    inputs: BuildInputs,
    counter: TokenCounter,
    *,
    strategy: Strategy,
    search: Search,
) -> Outcome[BuiltContext, BuildFailure]:
    """A builder that tries once more with all the pins taken out."""
    found = jingwei.build(history, inputs, counter, strategy=strategy, search=search)
    match found:
        case Success():
            return found
        case Failure(DoesNotFit()):
            unpinned = attrs.evolve(inputs, pinned_turns=())
            return jingwei.build(history, unpinned, counter, strategy=strategy, search=search)
        case Failure():
            return found
        case _:
            assert_never(found)


PROJECTORS: tuple[ConversationProjector, ...] = (jingwei.project, patient_project)
BUILDERS: tuple[ContextBuilder, ...] = (jingwei.build, generous_build)


# --- the application --------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class Host:
    """One session of the host."""

    session_id: SessionId
    project: ConversationProjector = jingwei.project
    build: ContextBuilder = jingwei.build
    counter: TokenCounter = WordCounter()
    strategy: Strategy = LargestFirst(keep_last=2)

    def answer(self, data: bytes, text: str) -> str:
        """From the bytes of a log to what is sent, or to a word for people."""
        decoded = jingwei.decode_log(data)
        match decoded:
            case Failure(failed):
                assert_type(failed, DecodeFailed)
                return told_decoding(failed)
            case Success(log):
                assert_type(log, SessionLog)
                return self.answer_log(log, text)
            case _:
                assert_never(decoded)

    def answer_log(self, log: SessionLog, text: str) -> str:
        projected = self.project(self.session_id, log, ProjectionConfig())
        match projected:
            case Failure(refused):
                assert_type(refused, ProjectionFailure)
                return told_projection(refused)
            case Success(history):
                assert_type(history, Projection)
                return self.answer_history(history, text)
            case _:
                assert_never(projected)

    def answer_history(self, history: Projection, text: str) -> str:
        split = jingwei.split_open_turn(history)
        inputs = BuildInputs(
            current=(*split.current, UserMessage(content=text)) if not split.current else split.current,
            target=ContextTarget(model="host-model", template_revision="1"),
            budget=ContextBudget(window_tokens=4096, output_reserve=512),
            system=("be brief",),
            pinned_turns=tuple(turn.turn_id for turn in split.history.turns[:1]),
        )
        built = self.build(split.history, inputs, self.counter, strategy=self.strategy, search=Search.AUTO)
        match built:
            case Failure(why):
                assert_type(why, BuildFailure)
                return told_build(why)
            case Success(context):
                assert_type(context, BuiltContext)
                assert_type(context.request, GenerationRequest)
                assert_type(context.report, BuildReport)
                return sent(context)
            case _:
                assert_never(built)

    def check_again(self, built: BuiltContext, budget: ContextBudget) -> str:
        again = jingwei.reverify(built, built.report.target, self.counter, budget)
        match again:
            case Success(found):
                assert_type(found, Reverified)
                return told_verdict(found.verdict)
            case Failure(why):
                assert_type(why, ReverifyFailure)
                return told_recount(why)
            case _:
                assert_never(again)


def sent(context: BuiltContext) -> str:
    encoded = jingwei.encode_request(context.request)
    match encoded:
        case Success(data):
            assert_type(data, bytes)
            return data.decode()
        case Failure(failed):
            assert_type(failed, EncodeFailed)
            return failed.actual
        case _:
            assert_never(encoded)


def kept_turns(report: BuildReport) -> dict[str, bool]:
    return {row.turn_id: row.retained for row in report.turns.rows}


def count_events(data: bytes) -> int:
    """The methods of a Result work, but only `match` keeps every type: `Success` leaves the failure open."""
    return jingwei.decode_log(data).map(lambda log: len(log.events)).value_or(0)


def stream(chunks: Iterable[bytes]) -> Iterator[str]:
    for read in jingwei.decode_events(chunks):
        match read:
            case Success(event):
                assert_type(event, SessionEvent)
                yield told_event(event.kind)
            case Failure(failed):
                yield told_decoding(failed)
            case _:
                assert_never(read)


def own_history(data: bytes) -> str:
    decoded = jingwei.decode_projection(data)
    if isinstance(decoded, Failure):
        return told_decoding(decoded.failure())
    admitted = jingwei.admit_projection(decoded.unwrap())
    match admitted:
        case Success(history):
            return history.session_id
        case Failure(refused):
            assert_type(refused, NotAdmitted)
            return told_admission(refused.reason)
        case _:
            assert_never(admitted)


def arguments(value: object) -> Json | None:
    made = jingwei.json_of(value)
    parsed = jingwei.parse_json("{}")
    match parsed:
        case Json():
            pass
        case JsonProblem(reason=reason, offset=offset):
            assert_type((reason, offset), tuple[str, int])
        case _:
            assert_never(parsed)
    match made:
        case Json():
            return made
        case NotJson(path=path):
            assert_type(path, str)
            return None
        case _:
            assert_never(made)


# --- every failure, told to people ------------------------------------------------------------------


def told_event(kind: EventKind) -> str:
    match kind:
        case UserMessageEvent(text=text) | AssistantDelta(text=text) | AssistantReply(text=text):
            return text
        case ModelRequestEvent() | ModelResultEvent():
            return "model"
        case ToolCallEvent(call=call):
            return call.name
        case ToolResultEvent(result=result):
            return result.call_id
        case TaskRunReported() | StageProgress() | ModeDecided() | PlanReady() | CustomEvent():
            return "audit"
        case DoneEvent(status=status):
            return status.value
        case ErrorEvent(code=code):
            return code
        case _:
            assert_never(kind)


def told_decoding(failure: DecodeFailed) -> str:
    assert_type(failure.line, int | None)
    assert_type(failure.path, str | None)
    return f"{failure.reason.value} in line {failure.line}: {failure.expected}, not {failure.actual}"


def told_log(failure: LogFailure) -> str:
    match failure:
        case jingwei.WrongSession(expected=expected, actual=actual):
            return f"{actual} is not {expected}"
        case jingwei.WrongSequence(physical_index=index, actual=seq):
            return f"{seq} at {index}"
        case jingwei.DuplicateEventId(event_id=event_id):
            return f"{event_id} again"
        case _:
            assert_never(failure)


def told_projection(failure: ProjectionFailure) -> str:
    match failure:
        case InvalidConfig(reason=reason):
            return reason.value
        case LimitExceeded():
            return told_limit(failure)
        case Malformed(seq=seq, reason=malformed):
            return f"{malformed.value} at {seq}"
        case Unconfirmed(open_tool_calls=calls):
            return ", ".join(calls)
        case MissingReply(turn_id=turn_id):
            return turn_id
        case jingwei.WrongSession() | jingwei.WrongSequence() | jingwei.DuplicateEventId():
            return told_log(failure)
        case _:
            assert_never(failure)


def told_limit(failure: LimitExceeded) -> str:
    match failure.what:
        case Bound.EVENTS | Bound.MESSAGES | Bound.GROUPS | Bound.TURNS:
            return f"{failure.actual} of {failure.limit}"
        case Bound.INPUT_BYTES:
            return f"{failure.actual} bytes"
        case _:
            assert_never(failure.what)


def told_shape(failure: ShapeFailure) -> str:
    match failure:
        case (
            UnmatchedToolResult(index=index)
            | InterruptedToolGroup(index=index)
            | MissingAssistantContent(index=index)
            | ArgumentsNotObject(index=index)
            | DuplicateToolCallId(index=index)
        ):
            return f"message {index}"
        case EmptyName(index=place):
            assert_type(place, int | None)
            return f"name {place}"
        case MissingToolResults(call_ids=call_ids):
            return ", ".join(call_ids)
        case DuplicateToolName(name=name) | ToolNotVisible(name=name):
            return name
        case EmptyMessages() | InvalidSchemaShape() | EmptyToolSet():
            return type(failure).__name__
        case _:
            assert_never(failure)


def told_build(failure: BuildFailure) -> str:
    match failure:
        case InvalidInput(reason=reason, path=path):
            return f"{reason.value} at {path}"
        case UnverifiedCount(reason=missing):
            return missing.value
        case LimitExceeded():
            return told_limit(failure)
        case ShapeInvalid(error=error):
            return told_shape(error)
        case Overflow(what=what):
            return what.value
        case InvalidPlan(step=step, turn_id=turn_id):
            return f"{turn_id} in step {step}"
        case CounterFailed(reason=text, report=so_far):
            assert_type(so_far, BuildReport | None)
            return text
        case DoesNotFit(exhaustive=exhaustive, report=report):
            return f"{len(report.attempts)} tried, {exhaustive}"
        case CountLimit(limit=limit):
            return f"{limit} counts"
        case SurvivalBroken(missing=gone):
            return ", ".join(gone)
        case _:
            assert_never(failure)


def told_recount(failure: ReverifyFailure) -> str:
    match failure:
        case UnverifiedCount() | CounterFailed() | Overflow() | InvalidInput():
            return told_build(failure)
        case _:
            assert_never(failure)


def told_verdict(verdict: Verdict) -> str:
    match verdict:
        case Verdict.FITS:
            return "fits"
        case Verdict.EXCEEDS:
            return "exceeds"
        case _:
            assert_never(verdict)


def told_admission(reason: AdmissionReason) -> str:
    match reason:
        case AdmissionReason.UNSUPPORTED_PROJECTION_VERSION:
            return "version"
        case AdmissionReason.BLANK_TURN_ID | AdmissionReason.DUPLICATE_TURN:
            return "turns"
        case (
            AdmissionReason.UNKNOWN_GROUP_TURN
            | AdmissionReason.GROUP_OUT_OF_ORDER
            | AdmissionReason.GROUP_WITHOUT_SOURCES
            | AdmissionReason.GROUP_SHAPE
        ):
            return "groups"
        case _:
            assert_never(reason)


def main() -> None:
    host = Host(session_id=SessionId("host"), project=patient_project, build=generous_build)
    sys.stdout.write(host.answer(sys.stdin.buffer.read(), "go on"))
