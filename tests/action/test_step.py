"""Planning a step and taking its answer (T6); the cases C of the reference are named where they stand."""

from collections.abc import Sequence

import attrs
import pytest

from jingwei.action import json_actions, native
from jingwei.action.failures import (
    InvalidSchema,
    InvalidStep,
    InvalidStepReason,
    ReservedToolName,
    SchemaReason,
)
from jingwei.action.records import ASK_USER, ActionProtocol, SystemTexts
from jingwei.action.step import (
    PlannedCall,
    PlannedFinal,
    PlannedQuestion,
    PlannedStep,
    PlanStepFailure,
    StepInputs,
    interpret,
    plan_step,
)
from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.events.records import ActionContext, DecisionContext
from jingwei.ids import ProviderCallId, SessionId, TaskId
from jingwei.jsontext import Json
from jingwei.limits import OUTPUT_TOKENS_BOUND
from jingwei.messages.failures import ToolNotVisible
from jingwei.messages.records import (
    AssistantMessage,
    JsonSchemaConstraint,
    ModelToolCall,
    SystemMessage,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import constraint_text
from jingwei.outcome import Outcome, Success
from jingwei.projection.records import Projection
from jingwei.report.failures import BuildFailure, DoesNotFit, InvalidInput
from jingwei.request.counting import ByteHeuristicCounter, TokenCounter
from jingwei.request.tool_views import GroupedToolSelector, SelectorFailure, UnknownTool
from jingwei.selection.search import Search
from jingwei.selection.strategies import Strategy
from tests.action.stepping import (
    ASKED,
    BUDGET,
    LOOKUP,
    PROTOCOLS,
    SCOPE,
    Host,
    asks,
    calls,
    finishes,
    inputs,
    nothing_before,
)

COUNTER = ByteHeuristicCounter()


def planned(made: StepInputs) -> PlannedStep:
    return plan_step(made, nothing_before(made.protocol), COUNTER).unwrap()


def refused(made: StepInputs) -> PlanStepFailure:
    return plan_step(made, nothing_before(made.protocol), COUNTER).failure()


INSTRUCTIONS = {
    ActionProtocol.NATIVE: native.INSTRUCTION,
    ActionProtocol.JSON: json_actions.INSTRUCTION,
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_step_asks_with_one_system_message_and_counts_all_that_the_protocol_adds(
    protocol: ActionProtocol,
) -> None:
    """C01a."""
    step = planned(inputs(protocol))

    count = step.report.attempts[-1].count

    assert (
        SystemMessage(content=f"{INSTRUCTIONS[protocol]}\n\nBe brief."),
        *ASKED,
    ) == step.request.messages
    assert COUNTER.count(step.inputs.build.target, step.request).unwrap() == count
    assert count.tokens.system > 0
    assert count.tokens.constraint > 0
    assert (LOOKUP,) == step.tool_view.tools


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_system_texts_can_stand_apart(protocol: ActionProtocol) -> None:
    step = planned(attrs.evolve(inputs(protocol), system_texts=SystemTexts.SEPARATE))

    assert (
        SystemMessage(content=INSTRUCTIONS[protocol]),
        SystemMessage(content="Be brief."),
        *ASKED,
    ) == step.request.messages


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("asked", "granted"), [(None, 128), (1, 1), (128, 128), (129, 128), (2**70, 128)])
def test_an_answer_never_takes_more_than_the_output_reserve(
    protocol: ActionProtocol, asked: int | None, granted: int
) -> None:
    assert granted == planned(attrs.evolve(inputs(protocol), max_tokens=asked)).max_tokens


def test_the_largest_reserve_is_what_fits_into_32_bits() -> None:
    budget = attrs.evolve(BUDGET, window_tokens=2**40, output_reserve=OUTPUT_TOKENS_BOUND - 1)

    assert OUTPUT_TOKENS_BOUND - 1 == planned(inputs(ActionProtocol.NATIVE, budget=budget)).max_tokens


NATIVE = inputs(ActionProtocol.NATIVE)
CALLED = AssistantMessage(
    tool_calls=(ModelToolCall(id=ProviderCallId("a"), name="lookup", arguments=Json("{}")),)
)
REASON = InvalidStepReason


def with_reserve(tokens: int) -> StepInputs:
    budget = attrs.evolve(BUDGET, output_reserve=tokens)
    return attrs.evolve(NATIVE, build=attrs.evolve(NATIVE.build, budget=budget))


@pytest.mark.parametrize(
    ("made", "reason", "path"),
    [
        (
            attrs.evolve(NATIVE, decision=DecisionContext(task_id=" ", step_id="")),
            REASON.BLANK_TASK_ID,
            "/decision/task_id",
        ),
        (
            attrs.evolve(NATIVE, decision=DecisionContext(task_id="task-test", step_id="\t")),
            REASON.BLANK_STEP_ID,
            "/decision/step_id",
        ),
        (
            attrs.evolve(NATIVE, scope=attrs.evolve(SCOPE, task_id=TaskId("other"))),
            REASON.OTHER_TASK,
            "/scope/task_id",
        ),
        (
            attrs.evolve(NATIVE, scope=attrs.evolve(SCOPE, session_id=SessionId("other"))),
            REASON.OTHER_SESSION,
            "/scope/session_id",
        ),
        (attrs.evolve(NATIVE, now_ms=1000), REASON.SCOPE_EXPIRED, "/scope/expires_at_ms"),
        (with_reserve(0), REASON.OUTPUT_RESERVE_OUT_OF_RANGE, "/build/budget/output_reserve"),
        (with_reserve(2**32), REASON.OUTPUT_RESERVE_OUT_OF_RANGE, "/build/budget/output_reserve"),
        (attrs.evolve(NATIVE, max_tokens=0), REASON.MAX_TOKENS_OUT_OF_RANGE, "/max_tokens"),
        (
            attrs.evolve(
                NATIVE,
                build=attrs.evolve(
                    NATIVE.build, constraint=JsonSchemaConstraint(name="a", schema=Json("{}"))
                ),
            ),
            REASON.CONSTRAINT_GIVEN,
            "/build/constraint",
        ),
        (
            inputs(
                ActionProtocol.JSON,
                (*ASKED, CALLED, ToolMessage(call_id=ProviderCallId("a"), content="x")),
            ),
            REASON.NATIVE_FIELDS,
            "/build/current/1",
        ),
        (
            inputs(ActionProtocol.JSON, (*ASKED, ToolMessage(call_id=ProviderCallId("a"), content="x"))),
            REASON.NATIVE_FIELDS,
            "/build/current/1",
        ),
    ],
)
def test_inputs_that_contradict_each_other_are_told_first(
    made: StepInputs, reason: InvalidStepReason, path: str
) -> None:
    assert InvalidStep(reason=reason, path=path) == refused(made)


def test_the_last_millisecond_of_a_scope_still_counts() -> None:
    assert isinstance(planned(attrs.evolve(NATIVE, now_ms=999)), PlannedStep)


def test_a_history_of_native_exchanges_is_no_history_for_json_actions() -> None:
    """T7: the rendition of the history is that of the protocol."""
    host = Host(calls(ActionProtocol.NATIVE), finishes(ActionProtocol.NATIVE))
    host.one_turn(ActionProtocol.NATIVE)
    history = host.history(ActionProtocol.NATIVE)

    found = plan_step(inputs(ActionProtocol.JSON), history, COUNTER).failure()

    assert InvalidStep(reason=REASON.NATIVE_FIELDS, path="/history/turns/turn-1") == found
    assert plan_step(inputs(ActionProtocol.JSON), host.history(ActionProtocol.JSON), COUNTER).value_or(None)


class RootShell:
    def select(self, authorised: tuple[ToolDefinition, ...]) -> Outcome[Sequence[str], SelectorFailure]:
        return Success(["root_shell"])


def test_a_selector_cannot_add_a_tool() -> None:
    """C02, A10a."""
    found = refused(attrs.evolve(NATIVE, selector=RootShell()))

    assert UnknownTool(name="root_shell", index=0) == found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_tool_that_is_not_shown_cannot_be_called(protocol: ActionProtocol) -> None:
    """C03, A10b: whatever the user asks for; and a final answer still goes."""
    step = planned(attrs.evolve(inputs(protocol), selector=GroupedToolSelector(names=())))

    assert "lookup" not in constraint_text(step.request.constraint)
    assert ToolNotVisible(name="lookup") == interpret(step, calls(protocol)).failure()
    assert isinstance(interpret(step, finishes(protocol)).unwrap(), PlannedFinal)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("ref", ["https://host.test/a", "file:///a"])
def test_a_schema_that_refers_elsewhere_is_refused_before_the_model_is_asked(
    protocol: ActionProtocol, ref: str
) -> None:
    """A20."""
    tool = ToolDefinition(name="bad", description="", parameters=Json(f'{{"$ref":"{ref}"}}'))

    expected = InvalidSchema(tool="bad", reason=SchemaReason.REFERENCE, where="/$ref", ref=ref)

    assert expected == refused(attrs.evolve(inputs(protocol), tools=(LOOKUP, tool)))


def test_a_tool_named_like_the_control_is_refused_natively_only() -> None:
    """A19c."""
    tools = (ToolDefinition(name=ASK_USER, description="", parameters=Json("{}")),)

    assert ReservedToolName(name=ASK_USER) == refused(attrs.evolve(NATIVE, tools=tools))
    assert isinstance(planned(attrs.evolve(inputs(ActionProtocol.JSON), tools=tools)), PlannedStep)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_step_that_does_not_fit_is_refused_before_the_model_is_asked(protocol: ActionProtocol) -> None:
    """C05: it would fit without what the protocol adds."""
    budget = attrs.evolve(BUDGET, window_tokens=200)

    found = refused(inputs(protocol, budget=budget))

    assert isinstance(found, DoesNotFit)
    assert found.report.attempts[-1].count.tokens.constraint > 0


def test_what_the_build_refuses_is_told() -> None:
    found = refused(attrs.evolve(NATIVE, build=attrs.evolve(NATIVE.build, current=())))

    assert isinstance(found, InvalidInput)


def test_another_builder_can_take_the_place_of_build() -> None:
    """It gets the system texts and the constraint of the protocol."""
    seen = list[BuildInputs]()

    def builder(
        history: Projection,
        inputs: BuildInputs,
        counter: TokenCounter,
        *,
        strategy: Strategy,
        search: Search,
    ) -> Outcome[BuiltContext, BuildFailure]:
        seen.append(inputs)
        return build(history, attrs.evolve(inputs, current=()), counter, strategy=strategy, search=search)

    found = plan_step(NATIVE, nothing_before(ActionProtocol.NATIVE), COUNTER, builder=builder)

    assert isinstance(found.failure(), InvalidInput)
    assert [planned(NATIVE).request.constraint] == [one.constraint for one in seen]
    assert [(f"{native.INSTRUCTION}\n\nBe brief.",)] == [one.system for one in seen]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_is_a_call_an_end_or_a_question(protocol: ActionProtocol) -> None:
    """A05; a call carries the decision behind it, and the provider's id in its context only (A04c)."""
    step = planned(inputs(protocol))
    provider = "provider-a" if protocol is ActionProtocol.NATIVE else None

    call = interpret(step, calls(protocol)).unwrap()
    final = interpret(step, finishes(protocol)).unwrap()
    question = interpret(step, asks(protocol)).unwrap()

    assert isinstance(call, PlannedCall)
    assert (
        ActionContext(decision=step.inputs.decision, action_index=0, provider_call_id=provider)
        == call.context
    )
    assert isinstance(final, PlannedFinal)
    assert "done" == final.action.text
    assert isinstance(question, PlannedQuestion)
    assert "which?" == question.action.question
    assert step == call.step == final.step == question.step


def test_user_messages_in_current_are_no_native_fields() -> None:
    current = (*ASKED, AssistantMessage(content="{}"), UserMessage(content="data"))

    assert isinstance(planned(inputs(ActionProtocol.JSON, current)), PlannedStep)
