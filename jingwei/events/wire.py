"""Session events as JSON Lines (rules W1 to W8).

Unknown keys are ignored on the envelope and on event payloads, so that a newer writer's extra facts
do not make a log unreadable; they are refused inside requests, responses, contexts and operations,
where an unread key could change what a model was told or a tool did (W1).
"""

from collections.abc import Iterable, Iterator
from typing import Final, cast, final

import attrs

from jingwei.codec import (
    Declarations,
    DecodeFailed,
    DecodeReason,
    EncodeFailed,
    Line,
    RecordCodec,
    RecordProblem,
    lines_of,
    parse_line,
    problem_at,
    utf8,
)
from jingwei.events.records import (
    ActionContext,
    AssistantDelta,
    AssistantReply,
    CustomEvent,
    DecisionContext,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    EventKind,
    GenerationLimits,
    GenerationMode,
    GenerationPartial,
    ModeDecided,
    ModelFailed,
    ModelFailureCategory,
    ModelOutcome,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    ModelSucceeded,
    OperationContract,
    OperationEffect,
    OperationRetry,
    PartialToolCall,
    PlanReady,
    RetryReview,
    ReviewOutcome,
    SessionEvent,
    SessionLog,
    StageProgress,
    StageStatus,
    TaskRunReported,
    Timeout,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolFailureCategory,
    ToolOperation,
    ToolOutcome,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.jsontext import (
    Json,
    JsonProblem,
    JsonValue,
    NotCanonical,
    canonical,
    escaped,
    parse,
    parse_canonical,
    parse_pairs,
    pointer,
    shortened,
    utf8_bytes,
)
from jingwei.limits import TOKENS_BOUND, Bound, LimitExceeded
from jingwei.messages import wire as messages_wire
from jingwei.messages.wire import request_text
from jingwei.outcome import Failure, Outcome, Success

EVENT_TYPES: Final[dict[str, type[EventKind]]] = {
    "user_message": UserMessageEvent,
    "assistant_delta": AssistantDelta,
    "assistant_message": AssistantReply,
    "model_request": ModelRequestEvent,
    "model_result": ModelResultEvent,
    "tool_call": ToolCallEvent,
    "tool_result": ToolResultEvent,
    "task_run_report": TaskRunReported,
    "stage_progress": StageProgress,
    "mode": ModeDecided,
    "plan_ready": PlanReady,
    "done": DoneEvent,
    "error": ErrorEvent,
    "custom": CustomEvent,
}
"""The tag of each event kind (W2); `docs/states.md` and the states table are written in these words."""


def declare(wire: Declarations) -> None:
    """The wire form of everything in `records`."""
    messages_wire.declare(wire)
    wire.enums(ToolFailureCategory, ModelFailureCategory, GenerationMode, StageStatus, DoneStatus)
    wire.enums(OperationEffect, ReviewOutcome)
    _declare_tools(wire)
    _declare_models(wire)
    _declare_kinds(wire)
    wire.union(EventKind, "type", dict(EVENT_TYPES))
    wire.record(SessionEvent)


def _declare_tools(wire: Declarations) -> None:
    wire.record(DecisionContext, strict=True)
    wire.record(ActionContext, strict=True, always=("provider_call_id",), below={"action_index": 2**32})
    wire.record(OperationContract, strict=True)
    wire.record(RetryReview, strict=True)
    wire.record(OperationRetry, strict=True, always=("review",))
    wire.record(ToolOperation, strict=True, always=("retry",))
    wire.record(ToolCall)
    wire.record(ToolSucceeded, constants={"status": "succeeded"})
    wire.record(ToolFailed, constants={"status": "failed"})
    wire.union(ToolOutcome, "status", {"succeeded": ToolSucceeded, "failed": ToolFailed})
    wire.record(ToolResult)


def _declare_models(wire: Declarations) -> None:
    wire.record(Timeout, below={"nanos": 10**9})
    wire.record(GenerationLimits)
    wire.record(ModelRequestOptions, always=("max_tokens", "timeout"), below={"max_tokens": 2**32})
    wire.record(ModelRequest, constants={"version": 1})
    wire.record(PartialToolCall, below={"index": 2**32})
    wire.record(GenerationPartial, always=("content", "tool_calls"))
    wire.record(ModelSucceeded, constants={"status": "succeeded"})
    wire.record(
        ModelFailed,
        constants={"status": "failed"},
        always=("upstream_status",),
        below={"upstream_status": 2**16},
    )
    wire.union(ModelOutcome, "status", {"succeeded": ModelSucceeded, "failed": ModelFailed})
    wire.record(ModelResult, constants={"version": 1})


def _declare_kinds(wire: Declarations) -> None:
    for tag, cls in EVENT_TYPES.items():
        versions: dict[str, JsonValue] = {"version": 1} if cls is AssistantReply else {}
        versioned = ("report",) if cls is TaskRunReported else ()
        wire.record(cls, constants={"type": tag, **versions}, versioned=versioned)


_CODEC: Final = RecordCodec(declare)


def decode_log(data: bytes) -> Outcome[SessionLog, DecodeFailed]:
    """A whole log from its bytes, or the first failure by byte offset (W1 to W7). Total."""
    read = _read_log((data,), None)
    return Failure(read) if isinstance(read, DecodeFailed) else Success(read)


def decode_within(
    chunks: Iterable[bytes], max_events: int, max_input_bytes: int
) -> Outcome[SessionLog, DecodeFailed | LimitExceeded]:
    """A log from pieces of any size, given up as soon as it is larger than allowed (P2).

    For callers that read from outside and cannot hold what they would refuse anyway: `actual` is what
    had been read when the bound was passed, and what follows is not looked at.
    """
    read = _read_log(chunks, (max_events, max_input_bytes))
    if isinstance(read, DecodeFailed):
        return Failure(read)
    if len(read.events) > max_events:
        actual = len(read.events)
        return Failure(LimitExceeded(what=Bound.EVENTS, limit=max_events, actual=actual))
    if read.bytes_at_most > max_input_bytes:
        actual = read.bytes_at_most
        return Failure(LimitExceeded(what=Bound.INPUT_BYTES, limit=max_input_bytes, actual=actual))
    return Success(read)


def decode_events(chunks: Iterable[bytes]) -> Iterator[Outcome[SessionEvent, DecodeFailed]]:
    """A log event by event, from pieces of any size (an open binary file is such pieces).

    One answer a line, in order, and no line is skipped: after a failure the next line is read, so
    that a caller can list every broken line or stop at the first. Memory is bounded by the longest
    line. The answers up to the first failure are those of `decode_log`.
    """
    for line in lines_of(chunks):
        read = line if isinstance(line, DecodeFailed) else _read_line(line)
        yield Failure(read) if isinstance(read, DecodeFailed) else Success(read.event)


def read_event(value: JsonValue) -> SessionEvent | RecordProblem:
    """One event from a value that `parse` gave, as a host that embeds events in other JSON has it.

    A value from elsewhere goes through `json_of` first, which refuses what JSON cannot hold.
    """
    return _CODEC.read(value, SessionEvent)


def unreadable(event: SessionEvent) -> DecodeFailed | None:
    """What `decode_log` would say of this event's line; None where it reads the event back, and equal.

    (But that an artifact of `null` reads as none, as W1 has it.)

    A record made in code may hold what no log does: half a surrogate pair, a negative number, a blank id of
    a provider's call, JSON that is too deep where it stands, a `Json` whose text is not canonical. It has no
    line and no offset: there is no log yet. The event is written and read once, but for the kinds that hold
    texts alone, of which only UTF-8 is asked.
    """
    if isinstance(event.kind, _WORDS_ONLY) and 0 <= event.seq < TOKENS_BOUND:
        ids = f"{event.event_id}{event.session_id}{event.turn_id}{event.generation_id}{event.message_id}"
        if not isinstance(utf8(ids + _kind_text(event.kind)), EncodeFailed):
            return None
    for free, steps in _free_json(event.kind):
        problem = _free_problem(free)
        if problem is not None:
            path = pointer(("kind", *steps)) + problem.path
            return DecodeFailed(
                reason=DecodeReason(problem.reason),
                path=path,
                expected=problem.expected,
                actual=problem.actual,
            )
    # The fast door takes bytes only, which no half of a surrogate pair gets into; the others take any text.
    text = event_text(event)
    line = Line(text=text, number=1, byte_offset=0)
    read = _read_slowly(line) if isinstance(utf8(text), EncodeFailed) else _read_line(line)
    return attrs.evolve(read, line=None, byte_offset=None) if isinstance(read, DecodeFailed) else None


def encode_event(event: SessionEvent) -> Outcome[bytes, EncodeFailed]:
    """One line of a log, with its newline (W1, W8)."""
    data = _CODEC.written(event)
    return Failure(data) if isinstance(data, EncodeFailed) else Success(data + b"\n")


def encode_log(events: Iterable[SessionEvent]) -> Outcome[bytes, EncodeFailed]:
    """A whole log (W1, W8); the failure names the event by its place."""
    lines = list[bytes]()
    for index, event in enumerate(events):
        data = _CODEC.written(event, index)
        if isinstance(data, EncodeFailed):
            return Failure(data)
        lines += (data, b"\n")
    return Success(b"".join(lines))


def session_log(events: Iterable[SessionEvent]) -> SessionLog:
    """A log from events that a host holds in memory; each is measured once."""
    held = tuple(events)
    return SessionLog(events=held, bytes_at_most=sum(map(event_bytes, held)), measured=True)


def log_bytes(log: SessionLog) -> int:
    """Canonical bytes of all events, without newlines: the measure of `max_input_bytes` (P2). Linear."""
    return sum(map(event_bytes, log.events))


def event_text(event: SessionEvent) -> str:
    """Canonical text of one event (W8), without a newline."""
    return _CODEC.text(event)


def event_value(event: SessionEvent) -> JsonValue:
    """One event as plain JSON values, keys in the order of W1."""
    return _CODEC.write(event)


def event_bytes(event: SessionEvent) -> int:
    """Canonical bytes of one event, without a newline; the unit of `max_input_bytes` (P2).

    Frequent kinds are written by hand, since each event that is appended to a log passes here once
    (P13); the property `test_sizes_are_those_of_the_bytes` (W8) holds all of them equal to the declared form.
    """
    generation, message = event.generation_id, event.message_id
    optional = "" if generation is None else f',"generation_id":{escaped(generation)}'
    if message is not None:
        optional += f',"message_id":{escaped(message)}'
    # A record made in code may hold a number that no log does, and that an f-string would not write.
    seq = event.seq if 0 <= event.seq < TOKENS_BOUND else canonical(event.seq)
    return utf8_bytes(
        f'{{"event_id":{escaped(event.event_id)},"session_id":{escaped(event.session_id)},'
        f'"turn_id":{escaped(event.turn_id)}{optional},"seq":{seq},"kind":{_kind_text(event.kind)}}}'
    )


def outcome_text(outcome: ToolOutcome) -> str:
    """Canonical text of a tool's recorded outcome: what a tool message says (P8).

    The common case is written by hand, since each tool result of a log passes here once; the
    property `RenditionRecorded` holds it equal to the declared form.
    """
    if isinstance(outcome, ToolSucceeded):
        return f'{{"status":"succeeded","output":{escaped(outcome.output)}}}'
    return _CODEC.text(outcome)


def _kind_text(kind: EventKind) -> str:
    match kind:
        case UserMessageEvent(text=text):
            return f'{{"type":"user_message","text":{escaped(text)}}}'
        case AssistantDelta(text=text):
            return f'{{"type":"assistant_delta","text":{escaped(text)}}}'
        case AssistantReply(text=text):
            return f'{{"type":"assistant_message","version":1,"text":{escaped(text)}}}'
        case ToolCallEvent(call=ToolCall(operation=None, action=None) as call):
            called = f'"id":{escaped(call.id)},"name":{escaped(call.name)},"arguments":{call.arguments.text}'
            return f'{{"type":"tool_call","call":{{{called}}}}}'
        case ToolResultEvent(result=result):
            told = f'"call_id":{escaped(result.call_id)},"outcome":{outcome_text(result.outcome)}'
            return f'{{"type":"tool_result","result":{{{told}}}}}'
        case ModelRequestEvent(request=request):
            asked = f'"version":1,"call_id":{escaped(request.call_id)},"mode":"{request.mode.value}"'
            given = f'"input":{request_text(request.input)},"options":{_CODEC.text(request.options)}'
            return f'{{"type":"model_request","request":{{{asked},{given}}}}}'
        case DoneEvent(status=status, artifact=None):
            return f'{{"type":"done","status":"{status.value}"}}'
        case _:
            return _CODEC.text(kind)


@final
@attrs.frozen(kw_only=True)
class _Read:
    """An event and a bound on the length of its canonical line."""

    event: SessionEvent
    bytes_at_most: int


def _read_log(chunks: Iterable[bytes], bounds: tuple[int, int] | None) -> SessionLog | DecodeFailed:
    """Events until the end, the first failure, or the first event past the bounds.

    Sizes are bounds until they would decide; then everything is measured, once, and from there on each
    event exactly.
    """
    events, size, measured = list[SessionEvent](), 0, False
    for line in lines_of(chunks):
        if isinstance(line, DecodeFailed):
            return line
        read = _read_line(line)
        if isinstance(read, DecodeFailed):
            return read
        events.append(read.event)
        size += event_bytes(read.event) if measured else read.bytes_at_most
        if bounds is None:
            continue
        if size > bounds[1] and not measured:
            size, measured = sum(map(event_bytes, events)), True
        if len(events) > bounds[0] or size > bounds[1]:
            break
    return SessionLog(events=tuple(events), bytes_at_most=size, measured=measured)


def _read_line(line: Line) -> _Read | DecodeFailed:
    pairs = parse_pairs(line.text)
    if not isinstance(pairs, NotCanonical):
        exact = _CODEC.read_exact(pairs, SessionEvent)
        if exact is not None:
            return _Read(event=exact, bytes_at_most=utf8_bytes(line.text))
    return _read_slowly(line)


def _read_slowly(line: Line) -> _Read | DecodeFailed:
    found = parse_line(line)
    if isinstance(found, DecodeFailed):
        return found
    event = _CODEC.read(found, SessionEvent)
    if isinstance(event, RecordProblem):
        return problem_at(line, event)
    return _Read(event=event, bytes_at_most=event_bytes(event))


# --- what a record made in code may hold ------------------------------------------------------------

_WORDS_ONLY: Final = (
    UserMessageEvent,
    AssistantDelta,
    AssistantReply,
    ToolResultEvent,
    StageProgress,
    ModeDecided,
    ErrorEvent,
)
"""The kinds whose every value is a text, a word of a closed list, or true or false."""


def _free_json(
    value: object, steps: tuple[str | int, ...] = ()
) -> Iterator[tuple[Json, tuple[str | int, ...]]]:
    """The free JSON inside a record, with its place, in document order."""
    if isinstance(value, Json):
        yield value, steps
    elif isinstance(value, tuple):
        for index, one in enumerate(cast("tuple[object, ...]", value)):
            yield from _free_json(one, (*steps, index))
    elif attrs.has(cls := type(value)):
        for field in attrs.fields(cls):
            yield from _free_json(getattr(value, field.name), (*steps, field.name))


def _free_problem(free: Json) -> JsonProblem | None:
    plain = not isinstance(utf8(free.text), EncodeFailed)
    if plain and not isinstance(parse_canonical(free.text), NotCanonical):
        return None
    value = parse(free.text)
    if isinstance(value, JsonProblem):
        return value
    if canonical(value) == free.text:
        return None
    return JsonProblem(
        reason=DecodeReason.INVALID_JSON.value,
        offset=0,
        path="",
        expected="canonical JSON",
        actual=shortened(free.text),
    )
