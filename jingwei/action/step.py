"""One contextual step, without I/O: its stages are types, each made by one function (rules T6, T7).

    StepInputs -> PlannedStep -> PlannedCall | PlannedFinal | PlannedQuestion -> CompletedStep

The host asks the model between the first two arrows, and runs the tool before the last. Nothing that was
not planned can be interpreted, and nothing that was not interpreted can be completed.
"""

from typing import TypeAlias, assert_never, final

import attrs

from jingwei.action.failures import (
    InterpretFailure,
    InvalidSchema,
    InvalidStep,
    InvalidStepReason,
    ReservedToolName,
)
from jingwei.action.json_actions import json_action, json_request
from jingwei.action.native import native_action, native_request
from jingwei.action.recording import unreadable_answer
from jingwei.action.records import (
    ActionProtocol,
    AskUser,
    CallTool,
    FinalAnswer,
    ProtocolRequest,
    SystemTexts,
)
from jingwei.action.schemas import CompiledSchema, compile_schema
from jingwei.build import BuildInputs, ContextBuilder, build
from jingwei.events.records import ActionContext, DecisionContext
from jingwei.ids import is_blank
from jingwei.limits import OUTPUT_TOKENS_BOUND
from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    GenerationResponse,
    ModelMessage,
    TextConstraint,
    ToolDefinition,
    ToolMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import ContentScope
from jingwei.report.failures import BuildFailure
from jingwei.report.records import BuildReport
from jingwei.request.counting import TokenCounter
from jingwei.request.tool_views import (
    ALL_TOOLS,
    DEFAULT_TOOL_LIMITS,
    ToolSelector,
    ToolView,
    ToolViewFailure,
    ToolViewLimits,
    select_tool_view,
)
from jingwei.results.records import ViewedHistory
from jingwei.selection.search import Search
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy

PlanStepFailure: TypeAlias = InvalidStep | ToolViewFailure | ReservedToolName | InvalidSchema | BuildFailure
"""Every way in which a step is not planned: the model has not been asked, and nothing has run."""


@final
@attrs.frozen(kw_only=True)
class StepInputs:
    """What one step gets besides the history (T6).

    Attributes:
        decision: which step of which task this is; the step's id is new in its turn.
        scope: for whom results are stored, and until when.
        now_ms: the host's clock; later than this the scope must expire.
        build: what a build gets (B1). Its `system` holds the host's texts without the instruction, its
            `current` the running turn as `next_current` gave it; its constraint is the protocol's to make
            and must be free text.
        tools: every tool that the host authorises.
        selector: which of them the model sees.
        protocol: how the model says what it does.
        tool_limits: bounds on the tools.
        max_tokens: how many tokens the host would let the answer have; the output reserve bounds it (T6).
        system_texts: one system message, or several.
    """

    decision: DecisionContext
    scope: ContentScope
    now_ms: int
    build: BuildInputs
    tools: tuple[ToolDefinition, ...]
    selector: ToolSelector = ALL_TOOLS
    protocol: ActionProtocol = ActionProtocol.NATIVE
    tool_limits: ToolViewLimits = DEFAULT_TOOL_LIMITS
    max_tokens: int | None = None
    system_texts: SystemTexts = SystemTexts.JOINED


@final
@attrs.frozen(kw_only=True)
class PlannedStep:
    """The exact request of a step, counted whole, with all that its answer is held against.

    Made by `plan_step` only.

    Attributes:
        inputs: what it was planned from.
        tool_view: what the model sees of the tools.
        schemas: their parameter schemas, in the same order.
        request: what the model is to be asked, unchanged.
        report: why it is that request.
        max_tokens: what the answer may take: in [1, 2^32), and never more than the output reserve.
    """

    inputs: StepInputs
    tool_view: ToolView
    schemas: tuple[CompiledSchema, ...]
    request: GenerationRequest
    report: BuildReport
    max_tokens: int


@final
@attrs.frozen(kw_only=True)
class PlannedCall:
    """A call that may be run once. Made by `interpret` only."""

    step: PlannedStep
    action: CallTool

    @property
    def context(self) -> ActionContext:
        """The decision behind the call, as the log records it."""
        return ActionContext(
            decision=self.step.inputs.decision, action_index=0, provider_call_id=self.action.provider_id
        )


@final
@attrs.frozen(kw_only=True)
class PlannedFinal:
    """A final answer. Made by `interpret` only."""

    step: PlannedStep
    action: FinalAnswer


@final
@attrs.frozen(kw_only=True)
class PlannedQuestion:
    """A question to the user. Made by `interpret` only."""

    step: PlannedStep
    action: AskUser


Interpreted: TypeAlias = PlannedCall | PlannedFinal | PlannedQuestion
"""What comes out of an answer: exactly one of these."""


def plan_step(
    inputs: StepInputs,
    history: ViewedHistory,
    counter: TokenCounter,
    *,
    builder: ContextBuilder = build,
    strategy: Strategy = OLDEST_TURN_FIRST,
    search: Search = Search.AUTO,
) -> Outcome[PlannedStep, PlanStepFailure]:
    """The request of one step, whole and counted whole, or why there is none (T6).

    In this order: the inputs by themselves, the tool view, the schemas of the visible tools, what the
    protocol adds, the build. Everything that the model is told is in the count: the instruction, the
    visible tools or the schema made of them, and the control by which the model asks its user.

    Args:
        inputs: the step.
        history: closed turns, every exchange as the view that was shown, in the rendition of the protocol.
        counter: counts whole requests.
        builder: what puts requests together and makes them fit.
        strategy: proposes what to leave out.
        search: how the fewest steps are looked for.
    """
    refused = _inputs_failure(inputs, history)
    if refused is not None:
        return Failure(refused)
    parts = _parts(inputs)
    if not isinstance(parts, _Parts):
        return Failure(parts)
    system = system_texts(parts.asked.instruction, inputs.build.system, inputs.system_texts)
    asking = attrs.evolve(inputs.build, system=system, constraint=parts.asked.constraint)
    match builder(history.projection, asking, counter, strategy=strategy, search=search):
        case Failure() as unbuilt:
            return unbuilt
        case Success(built):
            return Success(
                PlannedStep(
                    inputs=inputs,
                    tool_view=parts.view,
                    schemas=parts.schemas,
                    request=built.request,
                    report=built.report,
                    max_tokens=_max_tokens(inputs),
                )
            )


def interpret(planned: PlannedStep, response: GenerationResponse) -> Outcome[Interpreted, InterpretFailure]:
    """The one action of an answer (T6), or why it is none. Nothing has run, and nothing of it may.

    The first that holds is told: several calls, fragments, an end that is no end, no action, not the form of
    an action, a tool that is not visible, a key twice, no object, the tool's schema, too deep, a blank text;
    and of an answer that is an action: that no log could hold it (`model_result` records it as failed then).
    """
    visible = {schema.tool: schema for schema in planned.schemas}
    match planned.inputs.protocol:
        case ActionProtocol.NATIVE:
            action = native_action(response, visible)
        case ActionProtocol.JSON:
            action = json_action(response, visible)
        case _:
            assert_never(planned.inputs.protocol)
    if isinstance(action, CallTool | FinalAnswer | AskUser):
        unreadable = unreadable_answer(response)
        action = action if unreadable is None else unreadable
    match action:
        case CallTool():
            return Success(PlannedCall(step=planned, action=action))
        case FinalAnswer():
            return Success(PlannedFinal(step=planned, action=action))
        case AskUser():
            return Success(PlannedQuestion(step=planned, action=action))
        case _:
            return Failure(action)


def system_texts(instruction: str, host: tuple[str, ...], how: SystemTexts) -> tuple[str, ...]:
    """The system messages of a step: the protocol's instruction, the host's texts, nothing else (S9)."""
    match how:
        case SystemTexts.JOINED:
            return ("\n\n".join((instruction, *host)),)
        case SystemTexts.SEPARATE:
            return (instruction, *host)
        case _:
            assert_never(how)


# --- checks of the inputs ---------------------------------------------------------------------------


def _inputs_failure(inputs: StepInputs, history: ViewedHistory) -> InvalidStep | None:
    reason, decision, scope = InvalidStepReason, inputs.decision, inputs.scope
    reserve, asked = inputs.build.budget.output_reserve, inputs.max_tokens
    checks = (
        (is_blank(decision.task_id), reason.BLANK_TASK_ID, "/decision/task_id"),
        (is_blank(decision.step_id), reason.BLANK_STEP_ID, "/decision/step_id"),
        (decision.task_id != scope.task_id, reason.OTHER_TASK, "/scope/task_id"),
        (history.projection.session_id != scope.session_id, reason.OTHER_SESSION, "/scope/session_id"),
        (scope.expires_at_ms <= inputs.now_ms, reason.SCOPE_EXPIRED, "/scope/expires_at_ms"),
        (
            not 0 < reserve < OUTPUT_TOKENS_BOUND,
            reason.OUTPUT_RESERVE_OUT_OF_RANGE,
            "/build/budget/output_reserve",
        ),
        (asked is not None and asked <= 0, reason.MAX_TOKENS_OUT_OF_RANGE, "/max_tokens"),
        (
            not isinstance(inputs.build.constraint, TextConstraint),
            reason.CONSTRAINT_GIVEN,
            "/build/constraint",
        ),
    )
    for wrong, why, path in checks:
        if wrong:
            return InvalidStep(reason=why, path=path)
    return _native_fields(inputs, history) if inputs.protocol is ActionProtocol.JSON else None


def _native_fields(inputs: StepInputs, history: ViewedHistory) -> InvalidStep | None:
    """Where a message uses a provider's tool fields, which the JSON protocol has none of (T7)."""
    for index, message in enumerate(inputs.build.current):
        if _is_native(message):
            return InvalidStep(reason=InvalidStepReason.NATIVE_FIELDS, path=f"/build/current/{index}")
    for turn in history.viewed:
        if any(map(_is_native, turn.messages)):
            path = f"/history/turns/{turn.turn.turn_id}"
            return InvalidStep(reason=InvalidStepReason.NATIVE_FIELDS, path=path)
    return None


def _is_native(message: ModelMessage) -> bool:
    if isinstance(message, ToolMessage):
        return True
    return isinstance(message, AssistantMessage) and bool(message.tool_calls)


# --- what the model is told beside the messages -------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class _Parts:
    view: ToolView
    schemas: tuple[CompiledSchema, ...]
    asked: ProtocolRequest


def _parts(inputs: StepInputs) -> _Parts | ToolViewFailure | ReservedToolName | InvalidSchema:
    match select_tool_view(inputs.tools, inputs.selector, inputs.tool_limits):
        case Failure(unseen):
            return unseen
        case Success(view):
            schemas = _compiled(view.tools)
            if isinstance(schemas, InvalidSchema):
                return schemas
            asked = _asked(inputs.protocol, view.tools)
            if not isinstance(asked, ProtocolRequest):
                return asked
            return _Parts(view=view, schemas=schemas, asked=asked)


def _compiled(tools: tuple[ToolDefinition, ...]) -> tuple[CompiledSchema, ...] | InvalidSchema:
    found = list[CompiledSchema]()
    for tool in tools:
        compiled = compile_schema(tool.name, tool.parameters)
        if isinstance(compiled, InvalidSchema):
            return compiled
        found.append(compiled)
    return tuple(found)


def _asked(
    protocol: ActionProtocol, tools: tuple[ToolDefinition, ...]
) -> ProtocolRequest | ReservedToolName | InvalidSchema:
    match protocol:
        case ActionProtocol.NATIVE:
            return native_request(tools)
        case ActionProtocol.JSON:
            return json_request(tools)
        case _:
            assert_never(protocol)


def _max_tokens(inputs: StepInputs) -> int:
    reserve = inputs.build.budget.output_reserve
    return reserve if inputs.max_tokens is None else min(inputs.max_tokens, reserve)
