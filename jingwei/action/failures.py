"""Why a step was not planned, its answer not taken, or its result not shown (rules T6, T7)."""

import enum
from typing import Literal, TypeAlias, final

import attrs

from jingwei.action.records import ToolExecution
from jingwei.codec import DecodeReason
from jingwei.events.records import ToolCall, ToolOutcome
from jingwei.messages.failures import ToolNotVisible
from jingwei.ports import ContentRef, ContentScope, StoreFailure
from jingwei.results.failures import InvalidResult, ReferenceMismatch


@final
class SchemaReason(enum.Enum):
    """Why no arguments can be held against a tool's parameter schema.

    `NO_SCHEMA` breaks the 2020-12 meta-schema, or holds a pattern that cannot be read. `REFERENCE` refers to
    what does not stand in the same schema, on the net and in files too: nothing is ever fetched. `LOOP`
    refers to itself without an end. `TOO_DEEP` nests too deep to be sent or read. `SHARED_ID` has the `$id`
    of another tool's schema. `UNCHECKABLE` met its end while arguments were held against it.
    """

    NO_SCHEMA = "no_schema"
    REFERENCE = "reference"
    LOOP = "loop"
    TOO_DEEP = "too_deep"
    SHARED_ID = "shared_id"
    UNCHECKABLE = "uncheckable"


@final
@attrs.frozen(kw_only=True)
class InvalidSchema:
    """A tool's parameter schema cannot be used (T6); found before the model is asked where it can be.

    Attributes:
        tool: whose schema it is.
        reason: what is wrong.
        where: JSON Pointer into the schema; a reference that was followed stands in it as one step.
        ref: the reference; None for another reason.
    """

    tool: str
    reason: SchemaReason
    where: str
    ref: str | None = None


@final
@attrs.frozen(kw_only=True)
class SchemaViolation:
    """One place where arguments do not satisfy a schema.

    Attributes:
        path: JSON Pointer into the arguments.
        keyword: the keyword of the schema that they break; `false` for a schema that allows nothing.
        words: what the keyword asks for, in the schema's words, shortened; never a value of the arguments.
    """

    path: str
    keyword: str
    words: str


@final
@attrs.frozen(kw_only=True)
class ReservedToolName:
    """A visible tool has the name of the control (T6). Only the native protocol reserves one."""

    name: str


@final
class InvalidStepReason(enum.Enum):
    """What is wrong with the inputs of a step by themselves (T6)."""

    BLANK_TASK_ID = "blank_task_id"
    BLANK_STEP_ID = "blank_step_id"
    OTHER_TASK = "other_task"
    OTHER_SESSION = "other_session"
    SCOPE_EXPIRED = "scope_expired"
    OUTPUT_RESERVE_OUT_OF_RANGE = "output_reserve_out_of_range"
    MAX_TOKENS_OUT_OF_RANGE = "max_tokens_out_of_range"
    CONSTRAINT_GIVEN = "constraint_given"
    NATIVE_FIELDS = "native_fields"


@final
@attrs.frozen(kw_only=True)
class InvalidStep:
    """A step was asked for with inputs that contradict each other, or this protocol (T6).

    Attributes:
        reason: what is wrong.
        path: JSON Pointer into the inputs.
    """

    reason: InvalidStepReason
    path: str


# --- what comes out of an answer ----------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class MultipleActions:
    """An answer holds more than one call; none of them is run.

    Attributes:
        count: how many.
    """

    count: int


@final
@attrs.frozen(kw_only=True)
class HoldsFragments:
    """An answer holds calls that were cut off while they were streamed; fragments are never run.

    Attributes:
        count: how many.
    """

    count: int


@final
@attrs.frozen
class CutOff:
    """The answer ended at its token limit, so that no part of it is an action."""


@final
@attrs.frozen
class Filtered:
    """The provider withheld the answer, or a part of it."""


@final
@attrs.frozen(kw_only=True)
class UnknownFinish:
    """Nobody knows why the answer ended, so that nobody knows whether it is whole.

    Attributes:
        code: the provider's own word; None where it said nothing.
    """

    code: str | None


@final
@attrs.frozen
class NoAction:
    """The answer says nothing and calls nothing."""


@final
@attrs.frozen(kw_only=True)
class NotAnAction:
    """The answer has not the form of an action.

    Attributes:
        path: JSON Pointer: into the JSON action under that protocol, else into the response.
        expected: what would have been right there.
        actual: what stands there: a kind of value, or a word of JSON, shortened.
    """

    path: str
    expected: str
    actual: str


@final
@attrs.frozen(kw_only=True)
class RepeatedKey:
    """An object of an action has the same key twice, so that two readers could read two actions.

    Attributes:
        path: JSON Pointer of the key, into the action or into the arguments of a native call.
    """

    path: str


@final
@attrs.frozen(kw_only=True)
class ArgumentsNoObject:
    """The arguments of a call are another kind of value than an object.

    Attributes:
        name: the called tool.
        actual: the kind of value.
    """

    name: str
    actual: str


@final
@attrs.frozen(kw_only=True)
class InvalidArguments:
    """The arguments of a call do not satisfy the tool's schema.

    Attributes:
        name: the called tool.
        violations: at least one and at most 16, in the schema's order.
    """

    name: str
    violations: tuple[SchemaViolation, ...]


@final
@attrs.frozen
class BlankText:
    """A final answer without a word."""


@final
@attrs.frozen
class BlankQuestion:
    """A question to the user without a word."""


@final
@attrs.frozen(kw_only=True)
class UnreadableAnswer:
    """The answer holds what no log could be read with, so that it cannot be recorded as it came.

    Attributes:
        reason: why no reader takes it (W5, W6).
        path: JSON Pointer into the response.
    """

    reason: DecodeReason
    path: str


InterpretFailure: TypeAlias = (
    MultipleActions
    | HoldsFragments
    | CutOff
    | Filtered
    | UnknownFinish
    | NoAction
    | NotAnAction
    | RepeatedKey
    | ToolNotVisible
    | ArgumentsNoObject
    | InvalidArguments
    | InvalidSchema
    | BlankText
    | BlankQuestion
    | UnreadableAnswer
)
"""Every way in which an answer is not exactly one action; nothing has run (T6)."""


# --- after the tool ran -------------------------------------------------------------------------------


@final
class EvidencePart(enum.Enum):
    """In what a recorded execution differs from the call that was planned (T6)."""

    NAME = "name"
    ARGUMENTS = "arguments"
    ACTION = "action"
    SESSION = "session"
    ORDER = "order"
    EVENT_ID = "event_id"
    CALL_ID = "call_id"


@final
@attrs.frozen(kw_only=True)
class ToolEvidenceMismatch:
    """What the log says was run is not what was planned (T6); both are kept, and nothing is run again.

    Attributes:
        part: the first difference. `ORDER`: the result does not stand behind the call, or a place is no
            place. `EVENT_ID`, `CALL_ID`: one is blank, or both events have the same.
    """

    part: EvidencePart


@final
@attrs.frozen(kw_only=True)
class OtherReference:
    """A store took a text and gave a reference to another scope than it was told (T3).

    Attributes:
        expected: the scope under which the text was to be stored.
        actual: the reference.
    """

    expected: ContentScope
    actual: ContentRef


@final
class RecordStage(enum.Enum):
    """What was to be recorded."""

    MODEL_REQUEST = "model_request"
    MODEL_RESULT = "model_result"
    TOOL_CALL = "tool_call"
    RESULT_VIEW = "result_view"


@final
@attrs.frozen(kw_only=True)
class NotRecorded:
    """The host could not append an event, so that what comes behind it has not happened (T6).

    Attributes:
        stage: which event.
        task_id: the task of the step.
        reason: the host's own words.
    """

    stage: RecordStage
    task_id: str
    reason: str


@final
@attrs.frozen(kw_only=True)
class UnrecordedResult:
    """The tool has run, and its result does not stand in the log as it was (T6); nothing may run it again.

    The host appends the result when it can, or closes the turn as one that was cut off.

    Attributes:
        call: what ran.
        outcome: how it ended.
        reason: the host's own words; or that the events it answered with are not those of the call.
        replay_forbidden: always true; it is said in JSON too.
    """

    call: ToolCall
    outcome: ToolOutcome
    reason: str
    replay_forbidden: Literal[True] = attrs.field(default=True, init=False)


CompleteReason: TypeAlias = (
    ToolEvidenceMismatch | InvalidResult | ReferenceMismatch | OtherReference | StoreFailure | NotRecorded
)
"""Why a result cannot be shown."""


@final
@attrs.frozen(kw_only=True)
class CompleteFailure:
    """The tool has run, and its result cannot be shown (T6).

    What ran is not undone by this, and must not be run again: everything but the tool may be repeated, with
    this execution.

    Attributes:
        execution: what ran, as the log has it.
        why: what stands against showing it.
        replay_forbidden: always true; it is said in JSON too.
    """

    execution: ToolExecution
    why: CompleteReason
    replay_forbidden: Literal[True] = attrs.field(default=True, init=False)
