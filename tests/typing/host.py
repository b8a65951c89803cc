"""A pretend host application, never run: mypy strict with and without the returns plugin and pyright
strict must accept it whole, and see in it the types that `assert_type` names.

It reads a log, diagnoses and projects it, builds a request under its own counter and strategy or under one
of the house, swaps projector and builder for its own, imports transcripts, and tells every failure apart:
each `match` below is closed by `assert_never`, so that a new failure record is an error here.
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
from jingwei.codec import DecodeReason, EncodeFailed
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
from jingwei.projection.diagnose import Warned
from jingwei.projection.failures import (
    AdmissionReason,
    InvalidConfig,
    Malformed,
    MissingReply,
    NotAdmitted,
    Unconfirmed,
)
from jingwei.providers.openai_chat import (
    AmbiguousResult,
    BadArguments,
    BadArgumentText,
    BadField,
    BlankSessionId,
    CallWithoutResult,
    ContentNotText,
    Conversation,
    ConversationFailure,
    EarlierText,
    EmptyArguments,
    ImportedConversation,
    ImportedConversations,
    ImportFailure,
    ImportOptions,
    InstructionRole,
    LegacyFunction,
    MessageBeforeUser,
    NoConversation,
    NoId,
    NotAConversation,
    NoUserMessage,
    PartNotText,
    ReasoningPresent,
    RefusedConversation,
    Remedy,
    RepeatedCallId,
    ResultAfterTurn,
    ResultWithoutCall,
    SecondResult,
    SilentAssistant,
    TextBesideCalls,
    TurnWithoutReply,
    UnansweredTurn,
    UnknownRole,
    UnusableResponse,
    import_transcript,
    lenient_options,
    remedies,
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
from jingwei.request.remembering import RememberingCounter
from jingwei.selection.records import (
    Candidate,
    DropTurn,
    InvalidPlan,
    Plan,
    PlanStep,
    Room,
    TurnCandidate,
)
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
        turns = [candidate for candidate in candidates if isinstance(candidate, TurnCandidate)]
        split = max(len(turns) - self.keep_last, 0)
        order = [
            *sorted(turns[:split], key=lambda candidate: -candidate.canonical_bytes),
            *turns[split:],
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


def rendered(request: GenerationRequest) -> Outcome[jingwei.RenderedPrompt, CountRefused]:
    """What the host's template writes."""
    if isinstance(request.constraint, jingwei.JsonSchemaConstraint):
        return Failure(CountRefused(reason="the template knows no schemas"))
    lines = [" ".join(words_of(message)) for message in request.messages]
    return Success(jingwei.RenderedPrompt(text="\n".join(lines), special_tokens=2 * len(lines)))


BOUND = jingwei.ByteBoundCounter(
    model="host-model",
    template_revision="1",
    normalization=jingwei.Normalization.NFC,
    json_factor=jingwei.JsonFactor(numerator=3, denominator=2),
    allowance=jingwei.FramingAllowance(
        message=jingwei.Allowance(bytes=8, specials=2),
        call=jingwei.Allowance(bytes=32),
        tool=jingwei.Allowance(bytes=32),
        request=jingwei.Allowance(specials=3),
    ),
)
RENDERED = jingwei.RenderedByteBoundCounter(model="host-model", template_revision="1", render=rendered)
REMEMBERED = RememberingCounter(BOUND, memory_chars=1_000_000)

COUNTERS: tuple[TokenCounter, ...] = (
    WordCounter(),
    FlatCounter(each=3),
    jingwei.ByteHeuristicCounter(template_tokens=5),
    BOUND,
    RENDERED,
    REMEMBERED,
)
ADDITIVE: tuple[AdditiveCounter, ...] = (
    FlatCounter(each=3),
    jingwei.ByteHeuristicCounter(),
    BOUND,
    REMEMBERED,
    RememberingCounter(FlatCounter(each=2)),
)
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


def foreign_build(data: bytes, inputs: BuildInputs) -> Outcome[BuiltContext, BuildFailure] | DecodeFailed:
    """From another process's projection straight to a request."""
    decoded = jingwei.decode_projection(data)
    match decoded:
        case Success(foreign):
            assert_type(foreign, jingwei.ForeignProjection)
            return jingwei.build_foreign(foreign, inputs, BOUND, strategy=LargestFirst(keep_last=1))
        case Failure(failed):
            return failed
        case _:
            assert_never(decoded)


def admitting(session_id: SessionId, log: SessionLog) -> ProjectionConfig | None:
    """The configuration under which a log projects, after telling what is wrong with it."""
    found = jingwei.diagnose(session_id, log)
    assert_type(found, jingwei.Diagnosis)
    for violation in found.violations:
        assert_type(violation, jingwei.Violation)
        assert_type(violation.seq, int | None)
        sys.stdout.write(f"{violation.rule}: {told_projection(violation.failure)}\n")
    for warned in found.warnings:
        assert_type(warned, Warned)
        sys.stdout.write(f"{warned.event_id}: {told_shape(warned.failure)}\n")
    return found.admits if found.violations else ProjectionConfig()


# --- transcripts of other systems ---------------------------------------------------------------------

PATIENT = ImportOptions(
    session_id=SessionId("host"),
    unanswered_turn=UnansweredTurn.OPEN_LAST,
    bad_arguments=BadArgumentText.WRAP_TEXT,
)


def imported(data: bytes, options: ImportOptions = PATIENT) -> dict[str, SessionLog]:
    """The conversations of a file by name; those that are refused are told."""
    document = import_transcript(data, options)
    match document:
        case Success(found):
            assert_type(found, ImportedConversations)
            return dict(entry for one in found.conversations for entry in taken(one))
        case Failure(failed):
            sys.stdout.write(told_import(failed))
            return {}
        case _:
            assert_never(document)


def taken(conversation: Conversation) -> Iterator[tuple[str, SessionLog]]:
    match conversation:
        case ImportedConversation(name=name, log=log, report=report):
            sys.stdout.write(f"{report.turns} turns, open: {report.open_turn}")
            yield name, log
        case RefusedConversation(failures=failures):
            for failure in failures:
                sys.stdout.write(told_import(failure) + told_remedies(failure))
        case _:
            assert_never(conversation)


def system_texts(conversation: ImportedConversation) -> tuple[str, ...]:
    """The system's texts; a developer's are left to the host."""
    return tuple(
        instruction.text
        for instruction in conversation.instructions
        if instruction.role is InstructionRole.SYSTEM
    )


def told_remedies(failure: ConversationFailure) -> str:
    found = remedies(failure)
    assert_type(found, tuple[Remedy, ...])
    return "; ".join(f"{remedy.option}={remedy.choice}" for remedy in found)


def everything(data: bytes) -> int:
    return len(imported(data, lenient_options(SessionId("host"))))


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
    return f"{told_reason(failure.reason)} in line {failure.line}: {failure.expected}, not {failure.actual}"


def told_reason(reason: DecodeReason) -> str:
    match reason:
        case DecodeReason.INVALID_UTF8 | DecodeReason.BOM | DecodeReason.LONE_SURROGATE:
            return "not text"
        case DecodeReason.INVALID_JSON | DecodeReason.NON_FINITE | DecodeReason.DUPLICATE_KEY:
            return "not JSON"
        case DecodeReason.TOO_DEEP | DecodeReason.INTEGER_TOO_LONG:
            return "too much"
        case DecodeReason.BLANK_LINE | DecodeReason.TORN_LAST_LINE | DecodeReason.NOT_AN_OBJECT:
            return "not a line"
        case DecodeReason.MISSING_KEY | DecodeReason.UNKNOWN_KEY:
            return "keys"
        case DecodeReason.WRONG_TYPE | DecodeReason.OUT_OF_RANGE:
            return "values"
        case DecodeReason.UNKNOWN_TAG | DecodeReason.UNKNOWN_ENUM | DecodeReason.UNSUPPORTED_VERSION:
            return "a newer writer"
        case _:
            assert_never(reason)


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
        case jingwei.InvalidItem(item_id=item_id):
            return item_id
        case jingwei.ViewContradiction(source_event=source):
            return source
        case UnverifiedCount(reason=missing):
            return missing.value
        case LimitExceeded():
            return told_limit(failure)
        case ShapeInvalid(error=error):
            return told_shape(error)
        case Overflow(what=what):
            return what.value
        case InvalidPlan(step=step, turn_id=turn_id, exchange=exchange):
            assert_type(turn_id, jingwei.TurnId | None)
            return f"{turn_id or exchange} in step {step}"
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


def told_import(failure: ImportFailure) -> str:
    match failure:
        case DecodeFailed():
            return told_decoding(failure)
        case NotJson(path=path):
            return path
        case NoConversation(actual=actual) | NotAConversation(actual=actual):
            return actual
        case BlankSessionId():
            return "no session"
        case NoUserMessage(messages=count):
            return f"{count} messages"
        case TurnWithoutReply(index=index, can_stay_open=can):
            return f"turn ends at {index}, {can}"
        case CallWithoutResult(index=index, call_id=asked, name=name):
            assert_type(asked, str | None)
            return f"{name} {asked} at {index}"
        case ResultWithoutCall(index=index) | ResultAfterTurn(index=index) | AmbiguousResult(index=index):
            return f"result {index}"
        case SecondResult(call_id=call_id) | RepeatedCallId(call_id=call_id):
            return call_id
        case NoId(path=path) | BadArguments(path=path) | EmptyArguments(path=path) | BadField(path=path):
            return path
        case (
            TextBesideCalls(actual=actual)
            | EarlierText(actual=actual)
            | ContentNotText(actual=actual)
            | PartNotText(actual=actual)
            | LegacyFunction(actual=actual)
            | UnknownRole(actual=actual)
            | UnusableResponse(actual=actual)
        ):
            return actual
        case ReasoningPresent(field=field):
            return field
        case MessageBeforeUser(role=role):
            return role
        case SilentAssistant(index=index):
            return f"message {index}"
        case _:
            assert_never(failure)


def main() -> None:
    host = Host(session_id=SessionId("host"), project=patient_project, build=generous_build)
    sys.stdout.write(host.answer(sys.stdin.buffer.read(), "go on"))
