"""More of the pretend host of `host.py`: it composes requests from items, condenses texts, lets summaries
stand for turns, shows tools and results, keeps long results in a store of its own, and takes one step with a
tool. Each `match` below is closed by `assert_never`, so that a new failure record is an error here.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import assert_never, assert_type, final

import attrs

import jingwei
from jingwei import (
    Advice,
    BuildFailure,
    ComposedContext,
    ComposeFailure,
    ComposeOptions,
    CondensedText,
    CondenseFailure,
    CondenseLimits,
    Condenser,
    ContentRef,
    ContentScope,
    ContentStore,
    ContextItem,
    ContextTarget,
    CountRefused,
    EventId,
    Failure,
    GenerationRequest,
    GenerationResponse,
    ItemId,
    ItemKind,
    ItemSource,
    ModelMessage,
    Outcome,
    Page,
    Projection,
    Purged,
    RecalledMemory,
    RecordedViewFailure,
    ResultChoice,
    ResultChooser,
    SelectFailure,
    SelectorFailure,
    SessionId,
    SessionLog,
    ShapeFailure,
    StoreFailure,
    Success,
    Summary,
    SummaryFailure,
    TaskState,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenBudget,
    TokenCount,
    TokenCounter,
    ToolDefinition,
    ToolOutcome,
    ToolSelector,
    ToolViewFailure,
    UserMessage,
    ViewedHistory,
    ViewRendition,
)
from jingwei.action.complete import CompletedStep, complete, complete_final, complete_question, stored
from jingwei.action.drive import DoneStep, RunStepFailure, StepHost, run_step
from jingwei.action.failures import (
    ArgumentsNoObject,
    BlankQuestion,
    BlankText,
    CompleteFailure,
    CutOff,
    Filtered,
    HoldsFragments,
    InterpretFailure,
    InvalidArguments,
    InvalidSchema,
    InvalidStep,
    MultipleActions,
    NoAction,
    NotAnAction,
    NotRecorded,
    OtherReference,
    RepeatedKey,
    ReservedToolName,
    ToolEvidenceMismatch,
    UnknownFinish,
    UnreadableAnswer,
    UnrecordedResult,
)
from jingwei.action.records import ToolExecution
from jingwei.action.step import (
    Interpreted,
    PlannedCall,
    PlannedFinal,
    PlannedQuestion,
    PlannedStep,
    PlanStepFailure,
    StepInputs,
    interpret,
    plan_step,
)
from jingwei.stores.in_memory import in_memory_store
from jingwei.stores.read_tool import Grants, read_reference
from jingwei.stores.sqlite import open_sqlite_store

SESSION = SessionId("host")
TARGET = ContextTarget(model="host-model", template_revision="1")


# --- a counter, a condenser, a selector, a chooser, a store -----------------------------------------


@final
@attrs.frozen
class LetterCounter:
    """Counts letters."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        letters = sum(len(repr(message)) for message in request.messages)
        return Success(
            TokenCount(
                target=target,
                method="host-letters",
                evidence=TokenBoundEvidence.ESTIMATE,
                tokens=TokenBreakdown(system=0, messages=letters, constraint=0, template=0),
            )
        )


@final
@attrs.frozen
class FirstLine:
    """Quotes the first line of a text."""

    @property
    def name(self) -> str:
        return "host-first-line-v1"

    def condense(self, text: str, limits: CondenseLimits) -> Outcome[CondensedText, CondenseFailure]:
        line = text.partition("\n")[0][: limits.max_value_bytes // 4]
        if not line.strip():
            return Failure(jingwei.NotThisKind(kind="first line", line=1))
        size = len(text.encode(errors="replace"))
        place = jingwei.Evidence(first_line=1, last_line=1, start=0, end=len(line.encode()))
        fact = jingwei.Fact(name="first line", value=line, evidence=place)
        return Success(
            CondensedText(
                method=self.name,
                facts=(fact,),
                summary=f"{size} bytes",
                evidence_refs=(place,),
                total_bytes=size,
                truncated=True,
            )
        )


@final
@attrs.frozen(kw_only=True)
class OnlyReading:
    """Shows the tools whose names say that they read."""

    prefix: str = "read_"

    def select(self, authorised: tuple[ToolDefinition, ...]) -> Outcome[Sequence[str], SelectorFailure]:
        names = [tool.name for tool in authorised if tool.name.startswith(self.prefix)]
        return Success(names) if names else Failure(jingwei.SelectorRefused(reason="nothing reads"))


@final
@attrs.frozen
class WholeErrors:
    """Failures whole, all else as the policy has it."""

    def choose(self, name: str, outcome: ToolOutcome) -> ResultChoice:
        match outcome:
            case jingwei.ToolFailed():
                return jingwei.ShowWhole()
            case jingwei.ToolSucceeded(output=output):
                assert_type(output, str)
                return jingwei.ShowPrefix(max_bytes=256) if name else jingwei.ShowCondensed(text=output[:9])
            case _:
                assert_never(outcome)


@final
class Nowhere:
    """A store that keeps nothing, and says so."""

    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        return Failure(jingwei.TooLarge(limit=0, actual=len(text)))

    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        return Failure(jingwei.Unavailable(reason=jingwei.UnavailableReason.MISSING))

    def renew(self, ref: ContentRef, expires_at_ms: int, now_ms: int) -> Outcome[ContentRef, StoreFailure]:
        return Failure(jingwei.Unavailable(reason=jingwei.UnavailableReason.MISSING))

    def purge_expired(self, now_ms: int) -> Outcome[Purged, StoreFailure]:
        return Success(Purged(entries=0, total_bytes=0))


CONDENSERS: tuple[Condenser, ...] = (FirstLine(), *jingwei.available_condensers().condensers)
SELECTORS: tuple[ToolSelector, ...] = (OnlyReading(), jingwei.ALL_TOOLS)
CHOOSERS: tuple[ResultChooser, ...] = (WholeErrors(), jingwei.ResultPolicy())
COUNTERS: tuple[TokenCounter, ...] = (LetterCounter(), jingwei.ByteHeuristicCounter())
RENDERING = jingwei.Rendering(rendition=ViewRendition.JSON, policy=jingwei.ResultPolicy(inline_bytes=512))


def stores(path: str) -> list[ContentStore]:
    """Those that could be opened, and one of the host's own."""
    limits = jingwei.StoreLimits(store_id=jingwei.StoreId("host"))
    found: list[ContentStore] = [Nowhere()]
    for opened in (in_memory_store(limits), open_sqlite_store(path, limits)):
        match opened:
            case Success(store):
                found.append(store)
            case Failure(why):
                assert_type(why, StoreFailure)
                told_store(why)
            case _:
                assert_never(opened)
    return found


# --- items ------------------------------------------------------------------------------------------

OPTIONS = ComposeOptions(
    system=("be brief",),
    condensers=CONDENSERS,
    quotas=jingwei.Quotas(rows=(jingwei.Quota(kind=ItemKind.MEMORY, ceiling=500),)),
    turn_worths=((jingwei.TurnId("t1"), jingwei.TurnWorth(trust=Fraction(1))),),
)


def item(text: str) -> ContextItem | None:
    """A fact that a tool found; None where it is no item."""
    made = jingwei.context_item(
        item_id=ItemId("note"),
        kind=ItemKind.FACT,
        content=text,
        source=ItemSource.TOOL,
        tier=jingwei.Tier.P2,
        relevance=0.5,
        trust=Fraction(1, 3),
        compressible=True,
    )
    match made:
        case Success(item):
            assert_type(item, ContextItem)
            return item
        case Failure(why):
            assert_type(why, jingwei.InvalidItem)
            return None
        case _:
            assert_never(made)


def composed(
    state: TaskState, history: Projection, memories: Sequence[RecalledMemory], text: str
) -> ComposedContext | str:
    """What is sent, or a word for people."""
    budget = jingwei.token_budget(window=8192, reserved_output=1024)
    match budget:
        case Failure(wrong):
            assert_type(wrong, jingwei.InvalidTokenBudget)
            return wrong.reason.value
        case Success(good):
            assert_type(good, TokenBudget)
        case _:
            assert_never(budget)
    found = item(text)
    outcome = jingwei.compose(
        state,
        history,
        memories,
        () if found is None else (found,),
        TARGET,
        good,
        LetterCounter(),
        current=(UserMessage(content=text),),
        options=OPTIONS,
    )
    match outcome:
        case Success(context):
            assert_type(context, ComposedContext)
            assert_type(context.selection, jingwei.SelectionReport)
            return context
        case Failure(why):
            assert_type(why, ComposeFailure)
            return told_compose(why)
        case _:
            assert_never(outcome)


def observed(history: Projection, before: ComposedContext, after: ComposedContext) -> list[str]:
    """What became of each item, and what could be done before the next request."""
    said = [
        f"{change.item_id}: {change.change.value}"
        for change in jingwei.diff(before.built.report, after.built.report).items
    ]
    story = jingwei.why(after.selection, ItemId("note"))
    match story:
        case Success(why):
            said += [row.reason for row in why.story]
        case Failure(jingwei.UnknownItem(known=known)):
            said.append(f"one of {known}")
        case _:
            assert_never(story)
    advised = jingwei.advise(history, after.built.report, jingwei.ByteHeuristicCounter())
    match advised:
        case Success(advice):
            assert_type(advice, tuple[Advice, ...])
            return said + [told_advice(one) for one in advice]
        case Failure(wrong):
            return [*said, wrong.actual]
        case _:
            assert_never(advised)


def told_advice(advice: Advice) -> str:
    match advice:
        case jingwei.CondenseFinished(reach=reach):
            return reach.value
        case jingwei.CondenseResult(event_id=event_id):
            return event_id
        case jingwei.LowerWeight(item_id=item_id):
            return item_id
        case jingwei.SummarizeStage(before=before, now=now):
            assert_type(now, str | None)
            return before
        case jingwei.LookForNoise(shares=shares):
            return f"{len(shares)} kinds"
        case _:
            assert_never(advice)


def told_compose(failure: ComposeFailure) -> str:
    match failure:
        case jingwei.StateOfAnotherSession(expected=expected):
            return expected
        case jingwei.InvalidTaskState(field=field):
            return field
        case jingwei.UnknownSource(item_id=item_id):
            return item_id
        case jingwei.InvalidTokenBudget(field=field):
            return field
        case jingwei.InvalidWeights(field=weight):
            assert_type(weight, str | None)
            return weight or "all"
        case jingwei.InvalidQuota(kind=kind):
            return "turns" if kind is None else kind.value
        case jingwei.InvalidTurnWorth(turn_id=turn_id):
            return turn_id
        case jingwei.InvalidPolicy(reason=reason):
            return reason.value
        case (
            jingwei.InvalidInput()
            | jingwei.InvalidItem()
            | jingwei.ViewContradiction()
            | jingwei.UnverifiedCount()
            | jingwei.LimitExceeded()
            | jingwei.ShapeInvalid()
            | jingwei.Overflow()
            | jingwei.InvalidPlan()
            | jingwei.CounterFailed()
            | jingwei.DoesNotFit()
            | jingwei.CountLimit()
            | jingwei.SurvivalBroken()
        ):
            return told_build(failure)
        case _:
            assert_never(failure)


def told_build(failure: BuildFailure) -> str:
    """Another one than that of `host.py`: not closed, for it is there."""
    return type(failure).__name__


def chosen(items: Iterable[ContextItem], tokens: int) -> tuple[ContextItem, ...]:
    outcome = jingwei.select_items(items, tokens)
    match outcome:
        case Success(selected):
            assert_type(selected.selection, jingwei.Selection)
            return selected.items
        case Failure(why):
            told_select(why)
            return ()
        case _:
            assert_never(outcome)


def told_select(failure: SelectFailure) -> str:
    match failure:
        case jingwei.NoCandidates():
            return "nothing"
        case jingwei.InvalidItem(item_id=item_id, reason=reason):
            return f"{item_id}: {reason.value}"
        case jingwei.InvalidWeights(reason=weight):
            return weight.value
        case jingwei.InvalidQuota(reason=quota):
            return quota.value
        case jingwei.InvalidOption(key=key):
            return key
        case jingwei.RequiredExceed(rows=rows):
            return ", ".join(row.key for row in rows)
        case _:
            assert_never(failure)


def shorter(text: str) -> str:
    outcome = jingwei.condense_text(text, condensers=CONDENSERS)
    match outcome:
        case Success(condensed):
            return jingwei.rendered(condensed)
        case Failure(why):
            assert_type(why, CondenseFailure)
            told_condense(why)
            return text
        case _:
            assert_never(outcome)


def told_condense(failure: CondenseFailure) -> str:
    match failure:
        case jingwei.NotThisKind(kind=kind):
            return kind
        case jingwei.NotSmaller(before=before, after=after):
            return f"{before} to {after}"
        case jingwei.AlreadyCondensed(total_bytes=total):
            return f"of {total}"
        case jingwei.TextTooLarge(limit=limit) | jingwei.InvalidCondenseLimit(actual=limit):
            return f"{limit}"
        case jingwei.InvalidCondensation(method=method, reason=reason):
            return f"{method}: {reason.value}"
        case _:
            assert_never(failure)


# --- summaries --------------------------------------------------------------------------------------


def summarised(history: Projection, log: SessionLog, answer: str) -> tuple[Summary, ...]:
    """The summaries of a log, and one more where a model's answer is right."""
    recorded = jingwei.summaries_in(log).summaries
    sources = jingwei.sources_of(history, log)
    if isinstance(sources, Failure):
        return ()
    summariser = jingwei.Summariser(
        target=TARGET,
        budget=jingwei.ContextBudget(window_tokens=8192, output_reserve=1024),
        counter=LetterCounter(),
    )
    plan = jingwei.plan_summary(sources.unwrap(), jingwei.SummaryScope(), summariser, recorded)
    match plan:
        case Failure(no_plan):
            told_summary(no_plan)
            return recorded
        case Success(found):
            assert_type(found.chunks, tuple[jingwei.PlannedChunk, ...])
        case _:
            assert_never(plan)
    draft = jingwei.read_summary(answer)
    if isinstance(draft, Failure):
        return recorded
    proposed = jingwei.summary_of(draft.unwrap(), found.chunks[0].chunk, jingwei.SummaryId("s1"))
    accepted = jingwei.accept_summary(proposed, sources.unwrap(), recorded)
    match accepted:
        case Success(summary):
            event = jingwei.summary_event(summary)
            assert_type(event, jingwei.CustomEvent)
            return (*recorded, summary)
        case Failure(why):
            told_summary(why)
            return recorded
        case _:
            assert_never(accepted)


def told_summary(failure: SummaryFailure) -> str:
    match failure:
        case jingwei.SourcesRefused(reason=reason):
            return reason.value
        case jingwei.SummaryPlanRefused(subject=subject):
            return subject
        case jingwei.ChunkNotCounted(first_turn=first):
            return first
        case jingwei.TurnTooLarge(turn_id=turn_id):
            return turn_id
        case jingwei.SummarySetBroken(summary_ids=ids):
            return ", ".join(ids)
        case jingwei.SummaryRefused(path=path):
            return path
        case jingwei.WrongSession() | jingwei.WrongSequence() | jingwei.DuplicateEventId():
            return type(failure).__name__
        case _:
            assert_never(failure)


# --- tools ------------------------------------------------------------------------------------------


def visible(tools: Sequence[ToolDefinition]) -> tuple[ToolDefinition, ...]:
    outcome = jingwei.select_tool_view(tools, OnlyReading())
    match outcome:
        case Success(view):
            assert_type(view, jingwei.ToolView)
            return view.tools
        case Failure(why):
            told_tools(why)
            return ()
        case _:
            assert_never(outcome)


def told_tools(failure: ToolViewFailure) -> str:
    match failure:
        case jingwei.ZeroToolLimit(limit=name):
            return name
        case (
            jingwei.TooManyTools(limit=limit)
            | jingwei.ToolBytesExceeded(limit=limit)
            | jingwei.TooManyVisible(limit=limit)
        ):
            return f"{limit}"
        case jingwei.CatalogInvalid(error=error):
            assert_type(error, ShapeFailure)
            return type(error).__name__
        case jingwei.UnknownGroup(group=group):
            return group
        case jingwei.SelectorRefused(reason=reason):
            return reason
        case jingwei.UnknownTool(name=name) | jingwei.DuplicateSelection(name=name):
            return name
        case _:
            assert_never(failure)


def viewed(history: Projection, log: SessionLog) -> ViewedHistory | str:
    """The history as it was shown."""
    recorded = jingwei.recorded_views(log.events)
    match recorded:
        case Failure(why):
            return told_views(why)
        case Success(views):
            rendering = attrs.evolve(RENDERING, views=views)
        case _:
            assert_never(recorded)
    shown = jingwei.viewed_history(history, rendering)
    match shown:
        case Success(found):
            assert_type(found, ViewedHistory)
            return found
        case Failure(contradiction):
            assert_type(contradiction, jingwei.ViewContradiction)
            return contradiction.reason.value
        case _:
            assert_never(shown)


def told_views(failure: RecordedViewFailure) -> str:
    match failure:
        case jingwei.MalformedView(path=path):
            return path
        case jingwei.ConflictingViews(source_event=event):
            return event
        case _:
            assert_never(failure)


def told_store(failure: StoreFailure) -> str:
    match failure:
        case jingwei.InvalidStoreConfig(field=field):
            return field
        case jingwei.InvalidTime(now_ms=now) | jingwei.ClockWentBack(now_ms=now):
            return f"{now}"
        case jingwei.InvalidScope(actual=actual) | jingwei.InvalidSource(actual=actual):
            return f"{actual}"
        case jingwei.InvalidText(offset=offset) | jingwei.BadCursor(offset=offset):
            return f"{offset}"
        case jingwei.TooLarge(limit=limit) | jingwei.StoreFull(limit=limit) | jingwei.PageLimit(limit=limit):
            return f"{limit}"
        case jingwei.Conflict(held=held):
            return held.source_event
        case jingwei.Unavailable(reason=reason):
            return reason.value
        case jingwei.StorageFailed(detail=detail):
            return detail
        case _:
            assert_never(failure)


def read_on(store: ContentStore, granted: Grants, arguments: jingwei.Json) -> str:
    outcome = read_reference(store, granted, arguments, 5)
    match outcome:
        case Success(answer):
            return answer.page.text
        case Failure(refused):
            return refused.reason.value
        case _:
            assert_never(outcome)


# --- one step ---------------------------------------------------------------------------------------


def stepped(inputs: StepInputs, history: ViewedHistory) -> PlannedStep | str:
    outcome = plan_step(inputs, history, LetterCounter(), builder=jingwei.build)
    match outcome:
        case Success(planned):
            assert_type(planned, PlannedStep)
            return planned
        case Failure(why):
            return told_step(why)
        case _:
            assert_never(outcome)


def told_step(failure: PlanStepFailure) -> str:
    match failure:
        case InvalidStep(path=path):
            return path
        case ReservedToolName(name=name):
            return name
        case InvalidSchema(where=where):
            return where
        case (
            jingwei.ZeroToolLimit()
            | jingwei.TooManyTools()
            | jingwei.ToolBytesExceeded()
            | jingwei.CatalogInvalid()
            | jingwei.UnknownGroup()
            | jingwei.SelectorRefused()
            | jingwei.TooManyVisible()
            | jingwei.UnknownTool()
            | jingwei.DuplicateSelection()
        ):
            return told_tools(failure)
        case _:
            assert_type(failure, BuildFailure)
            return told_build(failure)


def acted(planned: PlannedStep, response: GenerationResponse, ran: ToolExecution) -> Sequence[ModelMessage]:
    """The running turn after an answer, the tool being run elsewhere."""
    outcome = interpret(planned, response)
    match outcome:
        case Failure(why):
            told_answer(why)
            return ()
        case Success(action):
            assert_type(action, Interpreted)
        case _:
            assert_never(outcome)
    match action:
        case PlannedCall():
            return shown(complete(action, ran, chooser=WholeErrors()))
        case PlannedFinal():
            return complete_final(action).next_current
        case PlannedQuestion():
            return complete_question(action).next_current
        case _:
            assert_never(action)


def shown(outcome: Outcome[CompletedStep, CompleteFailure]) -> Sequence[ModelMessage]:
    match outcome:
        case Success(completed):
            return completed.next_current
        case Failure(why):
            assert_type(why.execution, ToolExecution)
            told_end(why)
            return ()
        case _:
            assert_never(outcome)


def referring(completed: CompletedStep, ref: ContentRef) -> Outcome[CompletedStep, CompleteFailure]:
    return stored(completed, ref)


def told_answer(failure: InterpretFailure) -> str:
    match failure:
        case MultipleActions(count=count) | HoldsFragments(count=count):
            return f"{count}"
        case CutOff() | Filtered() | NoAction() | BlankText() | BlankQuestion():
            return type(failure).__name__
        case UnknownFinish(code=code):
            assert_type(code, str | None)
            return code or ""
        case NotAnAction(path=path) | RepeatedKey(path=path) | UnreadableAnswer(path=path):
            return path
        case ArgumentsNoObject(name=name) | jingwei.ToolNotVisible(name=name):
            return name
        case InvalidArguments(violations=violations):
            return ", ".join(one.path for one in violations)
        case InvalidSchema(tool=tool):
            return tool
        case _:
            assert_never(failure)


def told_end(failure: CompleteFailure) -> str:
    match failure.why:
        case ToolEvidenceMismatch(part=part):
            return part.value
        case jingwei.InvalidResult(field=field):
            return field
        case jingwei.ReferenceMismatch(actual_source=source):
            return source
        case OtherReference(actual=actual):
            return actual.source_event
        case NotRecorded(reason=reason):
            return reason
        case _:
            return told_store(failure.why)


def run(planned: PlannedStep, host: StepHost, store: ContentStore) -> DoneStep | str:
    """The whole step, in the order that the house keeps."""
    outcome = run_step(planned, host, store)
    match outcome:
        case Success(done):
            assert_type(done, DoneStep)
            return done
        case Failure(why):
            return told_run(why)
        case _:
            assert_never(outcome)


def told_run(failure: RunStepFailure) -> str:
    match failure:
        case NotRecorded(reason=reason) | UnrecordedResult(reason=reason):
            return reason
        case jingwei.ModelFailed(category=category):
            return category.value
        case CompleteFailure():
            return told_end(failure)
        case _:
            return told_answer(failure)
