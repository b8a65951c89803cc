"""What happened in a session, one record a kind (rules W1 to W4).

Record and field names follow the wire; versions and tags live in `wire.py` only.
"""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.ids import (
    EventId,
    GenerationId,
    MessageId,
    ModelCallId,
    SessionId,
    ToolCallId,
    TurnId,
)
from jingwei.jsontext import Json
from jingwei.messages.records import GenerationRequest, GenerationResponse


@final
@attrs.frozen(kw_only=True)
class UserMessageEvent:
    """The user spoke; at most once in a turn."""

    text: str


@final
@attrs.frozen(kw_only=True)
class AssistantDelta:
    """A streamed piece of an answer: a process record, never promoted to a reply (P6)."""

    text: str


@final
@attrs.frozen(kw_only=True)
class AssistantReply:
    """The complete reply of a turn, which may be empty (wire tag `assistant_message`, version 1)."""

    text: str


@final
@attrs.frozen(kw_only=True)
class DecisionContext:
    """Which step of which task decided."""

    task_id: str
    step_id: str


@final
@attrs.frozen(kw_only=True)
class ActionContext:
    """Which action of a decision a tool call carries out."""

    decision: DecisionContext
    action_index: int
    provider_call_id: str | None = None


@final
class OperationEffect(enum.Enum):
    """What a tool does to the world, as its host declares it."""

    UNKNOWN = "unknown"
    READ_ONLY = "read_only"
    IDEMPOTENT = "idempotent"
    NON_IDEMPOTENT = "non_idempotent"


@final
class ReviewOutcome(enum.Enum):
    """What a person found out about a call whose result was lost."""

    NOT_EXECUTED = "not_executed"
    COMPLETED = "completed"
    UNCERTAIN = "uncertain"


@final
@attrs.frozen(kw_only=True)
class OperationContract:
    """Effect and revision that a tool was registered with."""

    effect: OperationEffect
    revision: str


@final
@attrs.frozen(kw_only=True)
class RetryReview:
    """Who looked at the earlier attempt, and with what evidence."""

    actor: str
    evidence: str
    outcome: ReviewOutcome


@final
@attrs.frozen(kw_only=True)
class OperationRetry:
    """The earlier attempt that a call repeats."""

    call_id: ToolCallId
    event_id: EventId
    review: RetryReview | None = None


@final
@attrs.frozen(kw_only=True)
class ToolOperation:
    """The durable identity of what a tool call does."""

    task_id: str
    key: str
    contract: OperationContract
    retry: OperationRetry | None = None


@final
@attrs.frozen(kw_only=True)
class ToolCall:
    """A tool execution that the runtime started.

    Attributes:
        id: not blank and unique in its turn (P4); ids may recur in other turns.
        name: not blank (P4).
        arguments: any JSON, recorded as it was.
        operation: durable identity, where the host has one.
        action: the decision behind it, where the host records one.
    """

    operation: ToolOperation | None = None
    action: ActionContext | None = None
    id: ToolCallId
    name: str
    arguments: Json


@final
@attrs.frozen(kw_only=True)
class ToolCallEvent:
    """A tool was called."""

    call: ToolCall


@final
class ToolFailureCategory(enum.Enum):
    """Why a tool call did not succeed (W3)."""

    UNAVAILABLE = "unavailable"
    INVALID_ARGUMENTS = "invalid_arguments"
    DENIED = "denied"
    GUARD_FAULT = "guard_fault"
    APPROVAL_UNAVAILABLE = "approval_unavailable"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_FAULT = "approval_fault"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    BODY_FAILURE = "body_failure"
    BODY_PANIC = "body_panic"
    OUTPUT_LIMIT = "output_limit"
    BUDGET = "budget"


@final
@attrs.frozen(kw_only=True)
class ToolSucceeded:
    """A tool returned; `output` is whole and unchanged."""

    output: str


@final
@attrs.frozen(kw_only=True)
class ToolFailed:
    """A tool did not return a result."""

    category: ToolFailureCategory
    code: str
    message: str
    retryable: bool


ToolOutcome: TypeAlias = ToolSucceeded | ToolFailed


@final
@attrs.frozen(kw_only=True)
class ToolResult:
    """How one call of the same turn ended."""

    call_id: ToolCallId
    outcome: ToolOutcome


@final
@attrs.frozen(kw_only=True)
class ToolResultEvent:
    """A tool call ended."""

    result: ToolResult


@final
class GenerationMode(enum.Enum):
    """How a model was asked to answer."""

    COMPLETE = "complete"
    STREAM = "stream"


@final
@attrs.frozen(kw_only=True)
class Timeout:
    """A duration: whole seconds and nanoseconds in [0, 10^9)."""

    secs: int
    nanos: int


@final
@attrs.frozen(kw_only=True)
class GenerationLimits:
    """What one model answer may hold."""

    max_output_bytes: int
    max_tool_calls: int


@final
@attrs.frozen(kw_only=True)
class ModelRequestOptions:
    """How a model call was made."""

    context: DecisionContext | None = None
    max_tokens: int | None = None
    timeout: Timeout | None = None
    limits: GenerationLimits


@final
@attrs.frozen(kw_only=True)
class ModelRequest:
    """An audit record of what a model was asked; version 1."""

    call_id: ModelCallId
    mode: GenerationMode
    input: GenerationRequest
    options: ModelRequestOptions


@final
@attrs.frozen(kw_only=True)
class ModelRequestEvent:
    """A model was asked."""

    request: ModelRequest


@final
class ModelFailureCategory(enum.Enum):
    """Why a model call did not succeed (W4)."""

    UPSTREAM = "upstream"
    TIMEOUT = "timeout"
    STREAM_PARSE = "stream_parse"
    PROTOCOL = "protocol"
    CANCELLED = "cancelled"
    ADAPTER = "adapter"
    INTERNAL = "internal"
    BUDGET = "budget"


@final
@attrs.frozen(kw_only=True)
class PartialToolCall:
    """A call of which only a part had arrived; its arguments are a piece of text, perhaps no JSON."""

    index: int
    id: str
    name: str
    arguments: str


@final
@attrs.frozen(kw_only=True)
class GenerationPartial:
    """What had arrived when a model call failed; never used as an answer."""

    content: str | None = None
    tool_calls: tuple[PartialToolCall, ...] = ()


@final
@attrs.frozen(kw_only=True)
class ModelSucceeded:
    """A model answered. What it proposed is a proposal, not an execution (P11)."""

    response: GenerationResponse


@final
@attrs.frozen(kw_only=True)
class ModelFailed:
    """A model call failed."""

    category: ModelFailureCategory
    code: str
    message: str
    retryable: bool
    upstream_status: int | None = None
    partial: GenerationPartial = GenerationPartial()


ModelOutcome: TypeAlias = ModelSucceeded | ModelFailed


@final
@attrs.frozen(kw_only=True)
class ModelResult:
    """How one model request of the same turn ended; version 1."""

    call_id: ModelCallId
    outcome: ModelOutcome


@final
@attrs.frozen(kw_only=True)
class ModelResultEvent:
    """A model call ended."""

    result: ModelResult


@final
@attrs.frozen(kw_only=True)
class TaskRunReported:
    """A task's own report: carried whole, never looked into beyond its version 1 (W4)."""

    report: Json


@final
class StageStatus(enum.Enum):
    """Where a stage stands."""

    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"


@final
@attrs.frozen(kw_only=True)
class StageProgress:
    """A stage of the host's own moved on."""

    stage: str
    status: StageStatus
    message: str | None = None


@final
@attrs.frozen(kw_only=True)
class ModeDecided:
    """The host chose a mode of working."""

    mode: str
    decided_by: str
    reason: str


@final
@attrs.frozen(kw_only=True)
class PlanReady:
    """A plan exists."""

    plan: Json


@final
class DoneStatus(enum.Enum):
    """How a turn ended in order (W3)."""

    COMPLETED = "completed"
    WAITING_FOR_INPUT = "waiting_for_input"
    CHECKPOINTED = "checkpointed"
    CANCELLED = "cancelled"


@final
@attrs.frozen(kw_only=True)
class DoneEvent:
    """The terminal event of a turn that ended in order."""

    status: DoneStatus
    artifact: Json | None = None


@final
@attrs.frozen(kw_only=True)
class ErrorEvent:
    """The terminal event of a turn that failed."""

    code: str
    message: str
    retryable: bool


@final
@attrs.frozen(kw_only=True)
class CustomEvent:
    """Anything a plugin wants recorded."""

    plugin: str
    kind: str
    payload: Json


EventKind: TypeAlias = (
    UserMessageEvent
    | AssistantDelta
    | AssistantReply
    | ModelRequestEvent
    | ModelResultEvent
    | ToolCallEvent
    | ToolResultEvent
    | TaskRunReported
    | StageProgress
    | ModeDecided
    | PlanReady
    | DoneEvent
    | ErrorEvent
    | CustomEvent
)
"""The fourteen kinds of W2, in its order."""


@final
@attrs.frozen(kw_only=True)
class SessionEvent:
    """One line of a session log (W1).

    Attributes:
        event_id: unique in the session, not blank.
        session_id: the same for the whole log.
        turn_id: a turn is a run of equal ids (P3).
        seq: the physical index, from 0, in [0, 2^64) (L2).
        kind: what happened.
        generation_id: carried, never interpreted.
        message_id: demanded of an `AssistantReply` (P4).
    """

    event_id: EventId
    session_id: SessionId
    turn_id: TurnId
    generation_id: GenerationId | None = None
    message_id: MessageId | None = None
    seq: int
    kind: EventKind


@final
@attrs.frozen(kw_only=True)
class SessionLog:
    """The events of one log as they were read: not yet checked (see `check_log`, `project`).

    Attributes:
        events: in physical order.
        bytes_at_most: no less than the canonical bytes of the events, without newlines. `decode_log`
            knows it from the length of the lines, and `session_log` measures. `max_input_bytes` (P2) is
            held against the exact sum, which is computed (`log_bytes`) only where this does not decide.
            No part of a log's identity: logs of the same events are equal.
        measured: whether `bytes_at_most` is that sum itself, as `session_log` makes it. A log that is not
            measured is measured when it is appended to a projection (P13), which has no way to do so later.
    """

    events: tuple[SessionEvent, ...]
    bytes_at_most: int = attrs.field(eq=False)
    measured: bool = attrs.field(default=False, eq=False)


@final
@attrs.frozen(kw_only=True)
class CheckedLog:
    """A log whose physical order and identity hold (L1). Made by `check_log` only."""

    session_id: SessionId
    events: tuple[SessionEvent, ...]
