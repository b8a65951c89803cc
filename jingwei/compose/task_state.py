"""What a host knows of a task, and what a search of its memories found (rules S3, S9), with their JSON."""

import enum
from fractions import Fraction
from typing import Final, final

import attrs

from jingwei.codec import Declarations, DecodeFailed, RecordCodec, RecordProblem, problem_at
from jingwei.ids import SessionId, is_blank
from jingwei.items import wire as items_wire
from jingwei.items.records import ZERO, Authority, ItemSource
from jingwei.jsontext import JsonValue
from jingwei.outcome import Outcome


@final
@attrs.frozen(kw_only=True)
class Goal:
    """What the user is after.

    Attributes:
        text: in words; not blank.
        source: who wrote it. Only what the host wrote itself is `HOST`.
    """

    text: str
    source: ItemSource = ItemSource.USER


@final
@attrs.frozen(kw_only=True)
class HardConstraint:
    """What the task may not break.

    Attributes:
        text: in words; not blank.
        source: who wrote it: a constraint that comes from the user or from memory is no text of the host.
        subject: what it speaks of; None where it contradicts nothing (S5).
        seq: when it was said, in the numbers of the log; None when it was said in none.
    """

    text: str
    source: ItemSource = ItemSource.USER
    subject: str | None = None
    seq: int | None = None


@final
@attrs.frozen(kw_only=True)
class Correction:
    """What the user has just put right; always the user's own words.

    Attributes:
        text: in words; not blank.
        subject: what it speaks of; None where it contradicts nothing (S5).
        seq: when it was said; None when it was said in no event.
    """

    text: str
    subject: str | None = None
    seq: int | None = None


@final
class PlanStepState(enum.Enum):
    """Where a step of a plan stands."""

    PENDING = "pending"
    ACTIVE = "active"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


@final
@attrs.frozen(kw_only=True)
class PlanStepText:
    """One step of the plan.

    Attributes:
        text: in words; not blank.
        state: where it stands.
        source: who wrote it; plans are mostly the model's.
    """

    text: str
    state: PlanStepState = PlanStepState.PENDING
    source: ItemSource = ItemSource.MODEL


@final
@attrs.frozen(kw_only=True)
class TaskState:
    """What a host knows of a running task: far more than a request ever says.

    Attributes:
        tenant_id: whose data it is; not blank, and compared exactly.
        user_id: for whom; not blank.
        session_id: in which session; not blank.
        run_id: which run of the task; None where there is one only.
        scopes: the scopes of memory that this task may see, in the host's words, such as a project.
        goal: what the user is after; None before anybody said so.
        current_step: what is being done; None between steps.
        step_source: who wrote the current step and its criteria; the model, unless the host says otherwise.
        completion_criteria: when the current step is done.
        hard_constraints: what the task may not break.
        plan: the steps, in order.
        corrections: what the user has just put right, oldest first.
        stage: the stage of the plan; None without one.
        system_rules: texts of the host, the only ones that become system texts (S9).
    """

    tenant_id: str
    user_id: str
    session_id: SessionId
    run_id: str | None = None
    scopes: tuple[str, ...] = ()
    goal: Goal | None = None
    current_step: str | None = None
    step_source: ItemSource = ItemSource.MODEL
    completion_criteria: tuple[str, ...] = ()
    hard_constraints: tuple[HardConstraint, ...] = ()
    plan: tuple[PlanStepText, ...] = ()
    corrections: tuple[Correction, ...] = ()
    stage: str | None = None
    system_rules: tuple[str, ...] = ()


@final
@attrs.frozen(kw_only=True)
class RecalledMemory:
    """What a search of the host's memories found. Times are numbers of the host's clock, in JSON [0, 2^64).

    Attributes:
        memory_id: not blank, unique among the memories of one request.
        tenant_id: whose data it is.
        user_id: whose memory; None where it belongs to the whole tenant.
        scope: where it holds, one of `TaskState.scopes`; None where it holds everywhere.
        text: what is remembered; not blank, and never a text of the host (S9).
        score: how well it was found, in [0, 1]; it becomes the relevance.
        trust: in [0, 1].
        created: when it was made; None where nobody knows.
        expires: from when on it holds no longer; None where it always does.
        subject: what it speaks of; None where it contradicts nothing (S5).
        authority: how far it goes against another of its subject.
        source_ref: the host's reference to the original.
    """

    memory_id: str
    tenant_id: str
    user_id: str | None
    scope: str | None = None
    text: str
    score: Fraction = ZERO
    trust: Fraction = ZERO
    created: int | None = None
    expires: int | None = None
    subject: str | None = None
    authority: Authority = Authority.PREFERENCE
    source_ref: str | None = None


@final
@attrs.frozen(kw_only=True)
class InvalidTaskState:
    """A state that does not say whose it is: its memories could be anybody's.

    Attributes:
        field: the attribute that is blank.
    """

    field: str


def task_state_failure(state: TaskState) -> InvalidTaskState | None:
    """Which name of a state is blank, in the order of the attributes; None where none is. Total.

    Its texts are checked as items, when they are gathered.
    """
    names = (("tenant_id", state.tenant_id), ("user_id", state.user_id), ("session_id", state.session_id))
    return next((InvalidTaskState(field=field) for field, name in names if is_blank(name)), None)


def declare(wire: Declarations) -> None:
    """The wire form of a state and of what was recalled; other rooms declare it into their own codecs."""
    items_wire.declare(wire)
    declare_alone(wire)


def declare_alone(wire: Declarations) -> None:
    """The same for a codec that holds items already."""
    wire.enums(PlanStepState)
    wire.record(Goal, strict=True)
    wire.record(HardConstraint, strict=True)
    wire.record(Correction, strict=True)
    wire.record(PlanStepText, strict=True)
    wire.record(TaskState, strict=True)
    wire.record(RecalledMemory, strict=True)


_CODEC: Final = RecordCodec(declare)


def decode_task_state(data: bytes) -> Outcome[TaskState, DecodeFailed]:
    """A state from its JSON document (W6). Total: any bytes give an Outcome."""
    return _CODEC.decode(data, TaskState)


def read_task_state(value: JsonValue) -> TaskState | DecodeFailed:
    """The same from an already parsed value."""
    state = _CODEC.read(value, TaskState)
    return problem_at(None, state) if isinstance(state, RecordProblem) else state


def task_state_value(state: TaskState) -> JsonValue:
    """A state as plain JSON values."""
    return _CODEC.write(state)


def read_memory(value: JsonValue) -> RecalledMemory | DecodeFailed:
    """A recalled memory from an already parsed value."""
    memory = _CODEC.read(value, RecalledMemory)
    return problem_at(None, memory) if isinstance(memory, RecordProblem) else memory


def memory_value(memory: RecalledMemory) -> JsonValue:
    """A recalled memory as plain JSON values."""
    return _CODEC.write(memory)
