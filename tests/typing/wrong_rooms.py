# mypy: ignore-errors
"""Wrong uses of items, condensers, summaries, tools, stores and steps; read like `wrong_uses.py`."""

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

import jingwei
from jingwei import (
    Advice,
    ComposedContext,
    ComposeFailure,
    CondensedText,
    CondenseFailure,
    CondenseLimits,
    Condenser,
    ContentRef,
    ContentScope,
    ContentStore,
    ContextItem,
    EventId,
    Failure,
    GenerationResponse,
    ItemId,
    ItemKind,
    ItemSource,
    Outcome,
    Page,
    Projection,
    RecordedViewFailure,
    ResultChooser,
    SelectFailure,
    SessionId,
    StoreFailure,
    Summary,
    SummaryFailure,
    TaskState,
    ToolDefinition,
    ToolOutcome,
    ToolSelector,
    ToolViewFailure,
    UserMessage,
)
from jingwei.action.complete import CompletedStep, complete, complete_final, stored
from jingwei.action.drive import RunStepFailure, run_step
from jingwei.action.failures import CompleteFailure, CutOff, InterpretFailure, InvalidStep, NotRecorded
from jingwei.action.records import CallTool, ToolExecution
from jingwei.action.step import (
    Interpreted,
    PlannedCall,
    PlannedFinal,
    PlannedStep,
    PlanStepFailure,
    StepInputs,
    interpret,
    plan_step,
)

TARGET = jingwei.ContextTarget(model="m", template_revision="1")
COUNTER = jingwei.ByteHeuristicCounter()
CURRENT = (UserMessage(content="x"),)

# --- items ---


def items_hold_what_they_say(item: ContextItem) -> None:
    item.content = "other"  # wrong
    item.merged.append(item)  # wrong
    ContextItem("a", ItemKind.FACT, "x", ItemSource.HOST)  # wrong
    ContextItem(item_id="a", kind=ItemKind.FACT, content="x", source=ItemSource.HOST)  # wrong
    ContextItem(item_id=EventId("a"), kind=ItemKind.FACT, content="x", source=ItemSource.HOST)  # wrong
    ContextItem(item_id=ItemId("a"), kind="fact", content="x", source=ItemSource.HOST)  # wrong
    ContextItem(  # it has no default for who wrote it  # wrong
        item_id=ItemId("a"), kind=ItemKind.FACT, content="x"
    )
    jingwei.context_item(
        item_id="a",  # wrong
        kind=ItemKind.FACT,
        content="x",
        source=ItemSource.HOST,
    )
    jingwei.Weights(trust=0.5)  # wrong
    jingwei.weights(trust="1/2")  # wrong
    jingwei.Quotas(rows=[jingwei.Quota(kind=None)])  # wrong
    jingwei.Quota(kind="memory")  # wrong


class MyItem(ContextItem):  # wrong
    """Items are final."""


class MyReason(jingwei.ChoiceReason):  # wrong
    """The reasons are a closed list."""


def stages_are_not_skipped(
    state: TaskState, history: Projection, items: list[ContextItem], budget: jingwei.TokenBudget
) -> None:
    jingwei.compose(state, history, (), items, TARGET, budget, COUNTER)  # wrong
    jingwei.compose(  # the counting budget is another one
        state,
        history,
        (),
        items,
        TARGET,
        jingwei.ContextBudget(window_tokens=1, output_reserve=1),  # wrong
        COUNTER,
        current=CURRENT,
    )
    jingwei.resolve_conflicts(jingwei.without_duplicates(items))  # wrong
    jingwei.select_items(items)  # wrong
    jingwei.TokenBudget(window="8192", reserved_output=1)  # wrong
    TaskState(tenant_id="a", user_id="b", session_id="s")  # wrong
    TaskState(tenant_id="a", user_id="b", session_id=SessionId("s"), goal="win")  # wrong
    jingwei.RecalledMemory(  # a memory says whose it is  # wrong
        memory_id="m", tenant_id="a", text="x"
    )


def a_composed_request_is_unpacked(composed: Outcome[ComposedContext, ComposeFailure]) -> ComposedContext:
    print(composed.built)  # wrong
    return composed  # wrong


def every_compose_failure_must_be_told(failure: ComposeFailure) -> str:
    match failure:
        case jingwei.DoesNotFit() | jingwei.UnknownSource() | jingwei.InvalidTaskState():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_select_failure_must_be_told(failure: SelectFailure) -> str:
    match failure:
        case jingwei.NoCandidates() | jingwei.RequiredExceed():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_advice_must_be_told(advice: Advice) -> str:
    match advice:
        case jingwei.CondenseFinished() | jingwei.LookForNoise():
            return "x"
        case _:
            assert_never(advice)  # wrong


def an_item_has_one_id(composed: ComposedContext, session_id: SessionId) -> None:
    jingwei.why(composed.selection, "note")  # wrong
    jingwei.why(composed.selection, session_id)  # wrong
    jingwei.why(composed.built.report, ItemId("note"))  # wrong
    jingwei.diff(composed, composed)  # wrong


# --- condensers ---


class Cutter:
    """Answers with a text."""

    name = "cutter-v1"

    def condense(self, text: str, limits: CondenseLimits) -> str:
        return text[:9]


class Nameless:
    """Has no name, under which what it makes could be told apart."""

    def condense(self, text: str, limits: CondenseLimits) -> Outcome[CondensedText, CondenseFailure]:
        return Failure(jingwei.NotThisKind(kind="x", line=1))


def condensers_are_checked(place: jingwei.Evidence) -> None:
    first: Condenser = Cutter()  # wrong
    second: Condenser = Nameless()  # wrong
    jingwei.condense_text("x", condensers=[Cutter()])  # wrong
    jingwei.condense_text(b"x")  # wrong
    jingwei.rendered(jingwei.condense_text("x"))  # wrong
    jingwei.ComposeOptions(condensers=[Nameless()])  # wrong
    jingwei.Fact(name="n", value=5, evidence=place)  # wrong
    CondensedText(
        method="m",
        facts=[],  # wrong
        summary="s",
        evidence_refs=(),
        total_bytes=1,
        truncated=True,
    )
    print(first, second)


def every_condense_failure_must_be_told(failure: CondenseFailure) -> str:
    match failure:
        case jingwei.NotThisKind() | jingwei.NotSmaller():
            return "x"
        case _:
            assert_never(failure)  # wrong


# --- summaries ---


def drafts_are_not_believed(
    draft: jingwei.SummaryDraft, sources: jingwei.SummarySources, history: Projection, summary: Summary
) -> None:
    jingwei.accept_summary(draft, sources)  # wrong
    jingwei.accept_summary(summary, history)  # wrong
    jingwei.summary_of(draft, sources, jingwei.SummaryId("s"))  # wrong
    jingwei.ComposeOptions(summaries=(draft,))  # wrong
    jingwei.ComposeOptions(summaries=jingwei.active_summaries((summary,)))  # wrong
    jingwei.Statement(text="x", source_events=["e"])  # wrong
    jingwei.ReplaceTurnsBySummary(summary_id="s")  # wrong
    summary.facts += ()  # wrong


def every_summary_failure_must_be_told(failure: SummaryFailure) -> str:
    match failure:
        case jingwei.SummaryRefused() | jingwei.TurnTooLarge():
            return "x"
        case _:
            assert_never(failure)  # wrong


# --- tools, results, stores ---


class Naming:
    """Answers with the tools, not with their names."""

    def select(self, authorised: tuple[ToolDefinition, ...]) -> Sequence[ToolDefinition]:
        return authorised


class Deciding:
    """Would change how a tool ended; there is no word for that."""

    def choose(self, name: str, outcome: ToolOutcome) -> ToolOutcome:
        return jingwei.ToolSucceeded(output="fine")


class Half:
    """Reads, and keeps nothing."""

    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        return Failure(jingwei.PageLimit(limit=0, actual=max_bytes))


def tools_and_results_are_checked(tool: ToolDefinition, outcome: ToolOutcome) -> None:
    first: ToolSelector = Naming()  # wrong
    second: ResultChooser = Deciding()  # wrong
    third: ContentStore = Half()  # wrong
    jingwei.select_tool_view([tool], "read_")  # wrong
    jingwei.GroupedToolSelector(names=["read_file"])  # wrong
    jingwei.Rendering(rendition="json")  # wrong
    jingwei.view_result(
        outcome,
        call_seq=1,
        name="n",
        source_event="e",  # wrong
        policy=jingwei.ResultPolicy(),
    )
    ContentScope(session_id="s", task_id="t", expires_at_ms=1)  # wrong
    jingwei.StoreLimits(store_id="s")  # wrong
    print(first, second, third)


def every_tool_failure_must_be_told(failure: ToolViewFailure) -> str:
    match failure:
        case jingwei.TooManyTools() | jingwei.UnknownTool():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_view_failure_must_be_told(failure: RecordedViewFailure) -> str:
    match failure:
        case jingwei.MalformedView():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_store_failure_must_be_told(failure: StoreFailure) -> str:
    match failure:
        case jingwei.Unavailable() | jingwei.Conflict() | jingwei.StoreFull():
            return "x"
        case _:
            assert_never(failure)  # wrong


# --- one step ---


def a_step_goes_in_its_order(
    inputs: StepInputs,
    history: Projection,
    viewed: jingwei.ViewedHistory,
    response: GenerationResponse,
    execution: ToolExecution,
) -> None:
    plan_step(inputs, history, COUNTER)  # wrong
    interpret(inputs, response)  # wrong
    planned = plan_step(inputs, viewed, COUNTER)
    interpret(planned, response)  # wrong
    interpret(response)  # wrong
    complete(planned, execution)  # wrong


def nothing_runs_that_was_not_interpreted(
    planned: PlannedStep,
    action: CallTool,
    call: PlannedCall,
    final: PlannedFinal,
    interpreted: Interpreted,
    execution: ToolExecution,
    completed: CompletedStep,
) -> None:
    complete(action, execution)  # wrong
    complete(planned, execution)  # wrong
    complete(interpreted, execution)  # wrong
    complete(call, execution.outcome)  # wrong
    complete_final(call)  # wrong
    stored(completed, "event")  # wrong
    stored(completed.view, completed.to_store)  # wrong
    run_step(planned, None, None)  # wrong
    call.action = action  # wrong
    print(final.action.name)  # wrong


class MyStep(PlannedStep):  # wrong
    """A step is made by `plan_step` only."""


def every_plan_failure_must_be_told(failure: PlanStepFailure) -> str:
    match failure:
        case InvalidStep() | jingwei.DoesNotFit():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_answer_must_be_told(failure: InterpretFailure) -> str:
    match failure:
        case CutOff() | jingwei.ToolNotVisible():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_end_must_be_told(failure: CompleteFailure) -> str:
    match failure.why:
        case NotRecorded() | jingwei.InvalidResult():
            return "x"
        case _:
            assert_never(failure.why)  # wrong


def every_run_failure_must_be_told(failure: RunStepFailure) -> str:
    match failure:
        case CompleteFailure() | NotRecorded():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_action_must_be_taken(action: Interpreted) -> str:
    match action:
        case PlannedCall() | PlannedFinal():
            return "x"
        case _:
            assert_never(action)  # wrong


def shares_are_exact(share: Fraction) -> jingwei.Weights:
    return jingwei.Weights(relevance=share, freshness=1.5)  # wrong
