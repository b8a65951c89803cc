"""One call from what a host knows to the exact request: gather, settle, condense, choose, count (rule S4a).

    gather -> without_duplicates -> resolve_conflicts -> condense_items -> by_value -> build -> report

Each stage is a function of its own, and this module adds nothing to them but the order.
"""

from collections.abc import Collection, Sequence
from typing import TypeAlias, final

import attrs

from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.compose.condensing import LARGE_ITEM_BYTES, CondensedItems, condense_items
from jingwei.compose.gather import Gathered, gather
from jingwei.compose.observe import SelectionReport, selection_report
from jingwei.compose.task_state import InvalidTaskState, RecalledMemory, TaskState
from jingwei.condensers.records import DEFAULT_LIMITS, CondenseLimits, Condenser
from jingwei.events.records import SessionEvent
from jingwei.ids import EventId, ItemId, SessionId, TurnId
from jingwei.items.budget import InvalidTokenBudget, TokenBudget, context_budget, token_budget_failure
from jingwei.items.conflicts import Resolved, resolve_conflicts
from jingwei.items.duplicates import Deduplicated, without_duplicates
from jingwei.items.failures import InvalidItem
from jingwei.items.records import ContextItem, ItemKind, order_of
from jingwei.items.worth import DEFAULT_WEIGHTS, TurnWorth, Weights
from jingwei.limits import RECALLED_MEMORIES, RECENT_EVENTS
from jingwei.messages.records import GenerationConstraint, ModelMessage, TextConstraint
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.records import Projection
from jingwei.report.failures import BuildFailure
from jingwei.report.records import BuildReport
from jingwei.request.counting import TokenCounter
from jingwei.request.records import BudgetMode, BuildLimits, ContextTarget, TokenBoundEvidence
from jingwei.results.rendering import Rendering
from jingwei.selection.by_value import InvalidByValue, by_value
from jingwei.selection.choose import NO_QUOTAS, Quotas
from jingwei.selection.records import SelectionState
from jingwei.selection.search import Search
from jingwei.selection.strategies import Strategy
from jingwei.selection.with_summaries import WithSummaries
from jingwei.summaries.records import Summary


@final
@attrs.frozen(kw_only=True)
class ComposeOptions:
    """How a request is composed, besides what it is composed of; all have defaults.

    Attributes:
        system: texts of the host in front of the rules in the state.
        constraint: the form of the answer.
        pinned_turns: turns of the history that must stay whole.
        summaries: active summaries of the session; those that are smaller stand for their turns (S8).
        weights: what the four numbers of an item count (S2).
        quotas: floors and ceilings of kinds (S4a).
        turn_worths: what the host says of turns of the history (S3).
        previous_selection: the state of the last choice; what it left out stays out (R3).
        moves: how often the marks of the history have moved (R2).
        previous: the report of the last request, for the cache plan (B9).
        now: the host's time, for memories that expire; None where it names none.
        large_bytes: an item of more UTF-8 bytes is condensed (S4a).
        condense_limits: how far.
        condensers: with what, in order; None for all that are there.
        event_limit: events that gathering looks back over.
        memory_limit: memories that it takes.
        output_evidence: whether the answer can be held to its reserve (B1).
        mode: what evidence a count must carry.
        limits: bounds on the work of the build.
        search: how the fewest steps are looked for.
        state_version: the host's label, carried into the report.
        reduce_current: let finished exchanges of the running turn be candidates (R6).
        rendering: how exchanges of the history are sent as views (T7); None for what the log recorded.
    """

    system: tuple[str, ...] = ()
    constraint: GenerationConstraint = TextConstraint()  # noqa: RUF009  # immutable
    pinned_turns: tuple[TurnId, ...] = ()
    summaries: tuple[Summary, ...] = ()
    weights: Weights = DEFAULT_WEIGHTS
    quotas: Quotas = NO_QUOTAS
    turn_worths: tuple[tuple[TurnId, TurnWorth], ...] = ()
    previous_selection: SelectionState | None = None
    moves: int = 0
    previous: BuildReport | None = None
    now: int | None = None
    large_bytes: int = LARGE_ITEM_BYTES
    condense_limits: CondenseLimits = DEFAULT_LIMITS
    condensers: tuple[Condenser, ...] | None = None
    event_limit: int = RECENT_EVENTS
    memory_limit: int = RECALLED_MEMORIES
    output_evidence: TokenBoundEvidence = TokenBoundEvidence.ESTIMATE
    mode: BudgetMode = BudgetMode.SOFT
    limits: BuildLimits = BuildLimits()  # noqa: RUF009  # immutable
    search: Search = Search.AUTO
    state_version: str | None = None
    reduce_current: bool = False
    rendering: Rendering | None = None


DEFAULT_OPTIONS: ComposeOptions = ComposeOptions()
"""Free text, no pins, no summaries, the defaults of every stage."""


@final
@attrs.frozen(kw_only=True)
class UnknownSource:
    """An item refers to an event that is not in the log (S1).

    Attributes:
        item_id: the item.
        event_id: the event.
    """

    item_id: ItemId
    event_id: EventId


@final
@attrs.frozen(kw_only=True)
class StateOfAnotherSession:
    """The state of the task names another session than the log."""

    expected: SessionId
    actual: SessionId


@final
@attrs.frozen(kw_only=True)
class ComposedContext:
    """The exact request, why it is that, and what the next one should be told.

    Attributes:
        built: the request and the report of its build.
        selection: what was gathered and what became of each item (S7).
        state: for `ComposeOptions.previous_selection` of the next call (R3).
    """

    built: BuiltContext
    selection: SelectionReport
    state: SelectionState | None


SettleFailure: TypeAlias = InvalidTaskState | InvalidItem
"""What is wrong with what was gathered, before anything is chosen."""

ComposeFailure: TypeAlias = (
    StateOfAnotherSession | SettleFailure | InvalidTokenBudget | UnknownSource | InvalidByValue | BuildFailure
)
"""Every way in which nothing is composed. What must stay and does not fit is `DoesNotFit` (B5)."""


@final
@attrs.frozen(kw_only=True)
class Settled:
    """Items that are ready to be chosen from, and what was done to them on the way (S4a).

    Attributes:
        gathered: what each stage of gathering added.
        deduplicated: what says the same as another.
        resolved: what contradicted another.
        condensed: what was too large.
    """

    gathered: Gathered
    deduplicated: Deduplicated
    resolved: Resolved
    condensed: CondensedItems

    @property
    def items(self) -> tuple[ContextItem, ...]:
        """The items, in the order of S4."""
        return self.condensed.items


def compose(
    state: TaskState,
    history: Projection,
    recalled: Sequence[RecalledMemory],
    items: Sequence[ContextItem],
    target: ContextTarget,
    budget: TokenBudget,
    counter: TokenCounter,
    *,
    current: tuple[ModelMessage, ...],
    events: Sequence[SessionEvent] = (),
    options: ComposeOptions = DEFAULT_OPTIONS,
) -> Outcome[ComposedContext, ComposeFailure]:
    """The request that says what matters most within the budget, or why there is none. Pure and total.

    Args:
        state: the running task; its texts are required (S3).
        history: closed turns, from `project` or `admit_projection`.
        recalled: what the host's memories answered to `retrieval_query`.
        items: whatever else the host wants to be weighed.
        target: for whom tokens are counted.
        budget: what may be spent on items, and the window (S0).
        counter: counts whole requests.
        current: the running turn.
        events: the events of the log, where recent ones may be items too that neither the history shows nor,
            as those of the last turn, current.
        options: everything else.

    Returns:
        The request, its report, the selection report and the state for the next call; or the first failure,
        in the order of the stages.
    """
    if state.session_id != history.session_id:
        return Failure(StateOfAnotherSession(expected=history.session_id, actual=state.session_id))
    wrong = token_budget_failure(budget)
    if wrong is not None:
        return Failure(wrong)
    shown = _shown_turns(history, events)
    match settle(state, recalled, items, events=events, shown_turns=shown, options=options):
        case Failure(failure):
            return Failure(failure)
        case Success(settled):
            unknown = _unknown_source(settled.items, history, events)
            if unknown is not None:
                return Failure(unknown)
            inputs = _inputs(settled.items, target, budget, current, options)
            return _chosen(settled, history, inputs, budget, counter, options)


def settle(
    state: TaskState,
    recalled: Sequence[RecalledMemory],
    items: Sequence[ContextItem],
    *,
    events: Sequence[SessionEvent] = (),
    shown_turns: Collection[TurnId] = (),
    options: ComposeOptions = DEFAULT_OPTIONS,
) -> Outcome[Settled, SettleFailure]:
    """The first half: gather, drop duplicates, resolve conflicts, condense what is too large."""
    match gather(
        state,
        events=events,
        memories=recalled,
        items=items,
        shown_turns=shown_turns,
        now=options.now,
        event_limit=options.event_limit,
        memory_limit=options.memory_limit,
    ):
        case Failure(failure):
            return Failure(failure)
        case Success(gathered):
            return _settled(gathered, options)


def _settled(gathered: Gathered, options: ComposeOptions) -> Outcome[Settled, InvalidItem]:
    match without_duplicates(gathered.items):
        case Failure(failure):
            return Failure(failure)
        case Success(deduplicated):
            return _condensed(gathered, deduplicated, options)


def _condensed(
    gathered: Gathered, deduplicated: Deduplicated, options: ComposeOptions
) -> Outcome[Settled, InvalidItem]:
    match resolve_conflicts(deduplicated.items):
        case Failure(failure):
            return Failure(failure)
        case Success(resolved):
            condensed = condense_items(
                resolved.items,
                large_bytes=options.large_bytes,
                limits=options.condense_limits,
                condensers=options.condensers,
            )
            return Success(
                Settled(gathered=gathered, deduplicated=deduplicated, resolved=resolved, condensed=condensed)
            )


def _shown_turns(history: Projection, events: Sequence[SessionEvent]) -> frozenset[TurnId]:
    """Turns that the request says already: those of the history, and the last one, which runs."""
    if not events:
        return frozenset()
    return frozenset([*[turn.turn_id for turn in history.sources], events[-1].turn_id])


def _unknown_source(
    items: Sequence[ContextItem], history: Projection, events: Sequence[SessionEvent]
) -> UnknownSource | None:
    """The first item that refers to an event that is not in the log; only where one refers is it walked."""
    named = [(item.item_id, event) for item in items for event in _events_of(item)]
    if not named:
        return None
    known = {event for turn in history.sources for event in turn.source_events}
    known.update(omitted.event_id for omitted in history.omitted)
    known.update(event.event_id for event in events)
    return next(
        (UnknownSource(item_id=item, event_id=event) for item, event in named if event not in known), None
    )


def _events_of(item: ContextItem) -> tuple[EventId, ...]:
    return (*item.source_events, *(event for source in item.merged for event in source.source_events))


def _chosen(
    settled: Settled,
    history: Projection,
    inputs: BuildInputs,
    budget: TokenBudget,
    counter: TokenCounter,
    options: ComposeOptions,
) -> Outcome[ComposedContext, InvalidByValue | BuildFailure]:
    """Choose by value, within what the budget leaves for the context (S0), and count whole."""
    match by_value(
        weights=options.weights,
        quotas=options.quotas,
        turn_worths=options.turn_worths,
        previous=options.previous_selection,
        moves=options.moves,
        max_tokens=budget.available_context,
    ):
        case Failure(invalid):
            return Failure(invalid)
        case Success(by_worth):
            strategy: Strategy = WithSummaries(by_worth) if options.summaries else by_worth
            return _built(settled, history, inputs, counter, strategy, options.search)


def _built(
    settled: Settled,
    history: Projection,
    inputs: BuildInputs,
    counter: TokenCounter,
    strategy: Strategy,
    search: Search,
) -> Outcome[ComposedContext, BuildFailure]:
    match build(history, inputs, counter, strategy=strategy, search=search):
        case Failure(failure):
            return Failure(failure)
        case Success(built):
            return Success(_composed(settled, built))


def _inputs(
    items: Sequence[ContextItem],
    target: ContextTarget,
    budget: TokenBudget,
    current: tuple[ModelMessage, ...],
    options: ComposeOptions,
) -> BuildInputs:
    """What the build gets: system items as system texts, all others as items (S4, S9)."""
    rules = [item.content for item in sorted(items, key=order_of) if item.kind is ItemKind.SYSTEM]
    return BuildInputs(
        current=current,
        target=target,
        budget=context_budget(budget, output_evidence=options.output_evidence, mode=options.mode),
        system=(*options.system, *rules),
        constraint=options.constraint,
        pinned_turns=options.pinned_turns,
        state_version=options.state_version,
        limits=options.limits,
        reduce_current=options.reduce_current,
        previous=options.previous,
        items=tuple([item for item in items if item.kind is not ItemKind.SYSTEM]),
        summaries=options.summaries,
        rendering=options.rendering,
    )


def _composed(settled: Settled, built: BuiltContext) -> ComposedContext:
    selection = built.report.selection
    report = selection_report(
        settled.gathered, settled.deduplicated, settled.resolved, settled.condensed, built.report
    )
    return ComposedContext(
        built=built, selection=report, state=None if selection is None else selection.state
    )
