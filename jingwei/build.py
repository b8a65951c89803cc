"""The spine: history and inputs to the exact request, or the reason why there is none (rules B).

    candidates -> plan -> assemble -> count -> fit -> survive -> report

Strategies propose, `build` disposes: each candidate request is assembled and counted *whole*, and
what is returned was the last one counted.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, Protocol, assert_never, final

import attrs

from jingwei.drafts.candidates import Frame, all_candidates, frame_of, pinned_positions, room_of
from jingwei.drafts.checking import checked_plan
from jingwei.drafts.draft import Draft
from jingwei.ids import ItemId, TurnId, is_blank
from jingwei.items.check import items_failure
from jingwei.items.envelope import contents_in
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.records import ContextItem, ItemKind
from jingwei.limits import TOKENS_BOUND, Bound, LimitExceeded
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    SystemMessage,
    TextConstraint,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import constraint_failure, messages_failure, moved
from jingwei.messages.wire import constraint_text, message_text
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.admit import admitted, groups_failure, turns_failure
from jingwei.projection.failures import NotAdmitted
from jingwei.projection.records import (
    ALGORITHM_VERSION,
    ForeignProjection,
    ProjectedState,
    Projection,
)
from jingwei.report.compare import compare
from jingwei.report.failures import (
    BuildFailure,
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    InvalidInputReason,
    Overflow,
    OverflowWhat,
    ShapeInvalid,
    SurvivalBroken,
    UnverifiedCount,
    UnverifiedReason,
)
from jingwei.report.records import Attempt, BuildReport, MessageRole, ReportedMarks, SentMessage
from jingwei.request.counting import AdditiveCounter, CountRefused, TokenCounter
from jingwei.request.records import (
    BudgetMode,
    BuildLimits,
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenCount,
)
from jingwei.results.rendering import Rendering, viewed_history
from jingwei.selection.by_value import after_dropping
from jingwei.selection.costs import summed_cost
from jingwei.selection.exchanges import exchanges_of
from jingwei.selection.records import (
    ChoiceReason,
    DropExchange,
    ExchangeReduction,
    InvalidPlan,
    Plan,
    PrefixMarks,
    Selection,
)
from jingwei.selection.search import (
    Accepted,
    CountNext,
    Exhausted,
    Search,
    SearchState,
    next_move,
    resolved,
    told,
)
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.summaries.active import active_summaries
from jingwei.summaries.records import Summary

BUILD_VERSION: Final = 1
"""The meaning of a build; a change of meaning is another number (B6)."""


@final
@attrs.frozen(kw_only=True)
class BuildInputs:
    """What a build gets besides the history (B1).

    Attributes:
        current: the running turn: starts with a user message, may hold its finished tool exchanges;
            all of it is kept, but see `reduce_current`.
        target: for whom tokens are counted.
        budget: how many there are.
        system: the host's instructions, all kept, in front.
        constraint: the form of the answer, sent unchanged.
        pinned_turns: turns of the history that must be kept whole.
        state_version: the host's own label, carried into the report.
        limits: bounds on the work.
        reduce_current: let the finished tool exchanges of `current`, but for the last, be candidates (R6):
            where the history is not enough, the strategy may condense them, then leave them out.
        previous: the report of the last request that was sent; then this one's report says how it
            continues it, as `compare` does at `DEFAULT_PRICES` (B9). It changes nothing else.
        items: what else the model should know, as data just before `current`, in whatever order (S4);
            what is required or pinned stays. None of the kind `SYSTEM`: such a text belongs into `system`.
        summaries: active summaries of this session (S8), oldest first; a strategy may let them stand for
            the turns they cover, as data before the history.
        rendering: how the exchanges of the history are sent as views (T7); None for what the log recorded.
            `current` is sent as it is given.
    """

    current: tuple[ModelMessage, ...]
    target: ContextTarget
    budget: ContextBudget
    system: tuple[str, ...] = ()
    constraint: GenerationConstraint = TextConstraint()  # noqa: RUF009  # immutable
    pinned_turns: tuple[TurnId, ...] = ()
    state_version: str | None = None
    limits: BuildLimits = BuildLimits()  # noqa: RUF009  # immutable
    reduce_current: bool = False
    previous: BuildReport | None = None
    items: tuple[ContextItem, ...] = ()
    summaries: tuple[Summary, ...] = ()
    rendering: Rendering | None = None


@final
@attrs.frozen(kw_only=True)
class BuiltContext:
    """The exact request, and why it is that (B3, B6). It fits by the counter that was given (B7)."""

    request: GenerationRequest
    report: BuildReport


class ContextBuilder(Protocol):
    """What a host may put in the place of `build`; the property suite is its contract too."""

    def __call__(
        self,
        history: Projection,
        inputs: BuildInputs,
        counter: TokenCounter,
        *,
        strategy: Strategy,
        search: Search,
    ) -> Outcome[BuiltContext, BuildFailure]:
        """Build one request."""
        ...


def build(
    history: Projection,
    inputs: BuildInputs,
    counter: TokenCounter,
    *,
    strategy: Strategy = OLDEST_TURN_FIRST,
    search: Search = Search.AUTO,
) -> Outcome[BuiltContext, BuildFailure]:
    """The request that keeps the most of the history within the budget, or why there is none.

    Args:
        history: closed turns, from `project` or `admit_projection`.
        inputs: everything else that is sent, and the budget.
        counter: counts whole requests; an exception that it raises is not swallowed.
        strategy: proposes what to leave out; the default drops oldest turns first.
        search: how the fewest steps are looked for.

    Returns:
        A request for which `system + messages + constraint + template + output_reserve +
        safety_margin <= window` holds by `counter` (B5, B7), or one of `BuildFailure`.
    """
    if inputs.rendering is None:
        return _built(history, (), inputs, counter, strategy, search)
    match viewed_history(history, inputs.rendering):
        case Failure(contradiction):
            return Failure(contradiction)
        case Success(viewed):
            shown = tuple([one.turn.turn_id for one in viewed.viewed])
            return _built(viewed.projection, shown, inputs, counter, strategy, search)


def _built(
    history: Projection,
    viewed: tuple[TurnId, ...],
    inputs: BuildInputs,
    counter: TokenCounter,
    strategy: Strategy,
    search: Search,
) -> Outcome[BuiltContext, BuildFailure]:
    """The build over the messages that would be sent; `viewed` names the turns that differ from the log."""
    frame = _frame(inputs)
    pins = pinned_positions(history, inputs.pinned_turns)
    refused = (
        _inputs_failure(history, inputs, frame)
        or _open_turn_failure(history)
        or _pins_failure(history, inputs, pins)
        or _items_failure(inputs.items)
        or _summaries_failure(history, inputs.summaries)
        or range_failure(inputs.budget)
        or _full_shape_failure(history, inputs)
    )
    if refused is not None:
        return Failure(refused)
    return _planned(history, viewed, inputs, counter, strategy, search, frame, pins)


def build_foreign(
    history: ForeignProjection,
    inputs: BuildInputs,
    counter: TokenCounter,
    *,
    strategy: Strategy = OLDEST_TURN_FIRST,
    search: Search = Search.AUTO,
) -> Outcome[BuiltContext, BuildFailure]:
    """`build` for a projection from outside, every check of B2 in its order.

    A host that builds more than once from one projection admits it once (`admit_projection`) and
    calls `build`; only the order in which several faults are told differs.
    """
    whole = admitted(history)
    refused = (
        _inputs_failure(whole, inputs, _frame(inputs))
        or _not_admitted(turns_failure(history))
        or _open_turn_failure(whole)
        or _pins_failure(whole, inputs, pinned_positions(whole, inputs.pinned_turns))
        or _not_admitted(groups_failure(history))
    )
    if refused is not None:
        return Failure(refused)
    return build(whole, inputs, counter, strategy=strategy, search=search)


# --- checks before any trimming (B2) --------------------------------------------------------------


def _frame(inputs: BuildInputs) -> Frame:
    return frame_of(
        inputs.system,
        inputs.current,
        inputs.constraint,
        reduce_current=inputs.reduce_current,
        items=inputs.items,
        summaries=inputs.summaries,
    )


def _inputs_failure(history: Projection, inputs: BuildInputs, frame: Frame) -> BuildFailure | None:
    """The checks of B2 that do not look into the history, in their order."""
    return (
        _zero_limit_failure(inputs.limits)
        or target_failure(inputs.target, inputs.budget)
        or _limit_failure(history, inputs.limits, frame)
        or _version_failure(history)
        or _current_failure(inputs.current)
    )


def _zero_limit_failure(limits: BuildLimits) -> InvalidInput | None:
    for name, value in attrs.asdict(limits).items():
        if value <= 0:
            return _invalid(InvalidInputReason.ZERO_LIMIT, f"/limits/{name}")
    return None


def target_failure(target: ContextTarget, budget: ContextBudget) -> InvalidInput | UnverifiedCount | None:
    """What is wrong with a budget and a target by themselves, in the order of B2."""
    if budget.window_tokens <= 0:
        return _invalid(InvalidInputReason.ZERO_WINDOW, "/budget/window_tokens")
    if budget.output_reserve <= 0:
        return _invalid(InvalidInputReason.ZERO_OUTPUT_RESERVE, "/budget/output_reserve")
    if is_blank(target.model):
        return _invalid(InvalidInputReason.BLANK_MODEL, "/target/model")
    if is_blank(target.template_revision):
        return _invalid(InvalidInputReason.BLANK_TEMPLATE_REVISION, "/target/template_revision")
    verified = budget.output_evidence is TokenBoundEvidence.VERIFIED_UPPER_BOUND
    if budget.mode is BudgetMode.SOFT or verified:
        return None
    return UnverifiedCount(reason=UnverifiedReason.OUTPUT_EVIDENCE)


def _limit_failure(history: Projection, limits: BuildLimits, frame: Frame) -> LimitExceeded | None:
    needs = (
        (Bound.GROUPS, limits.max_groups, history.group_count),
        (Bound.TURNS, limits.max_turns, len(history.turns)),
        (Bound.INPUT_BYTES, limits.max_input_bytes, history.canonical_bytes + frame.canonical_bytes),
        (Bound.MESSAGES, limits.max_messages, history.message_count + frame.message_count),
    )
    for what, limit, actual in needs:
        if actual > limit:
            return LimitExceeded(what=what, limit=limit, actual=actual)
    return None


def _version_failure(history: Projection) -> InvalidInput | None:
    if history.algorithm_version == ALGORITHM_VERSION:
        return None
    reason = InvalidInputReason.UNSUPPORTED_PROJECTION_VERSION
    return _invalid(reason, "/projection/algorithm_version")


def _current_failure(current: Sequence[ModelMessage]) -> InvalidInput | ShapeInvalid | None:
    if not current:
        return _invalid(InvalidInputReason.CURRENT_EMPTY, "/current")
    if not isinstance(current[0], UserMessage):
        return _invalid(InvalidInputReason.CURRENT_NOT_USER_FIRST, "/current/0")
    for index, message in enumerate(current):
        if isinstance(message, SystemMessage):
            return _invalid(InvalidInputReason.CURRENT_HAS_SYSTEM, f"/current/{index}")
    broken = messages_failure(current)
    return None if broken is None else ShapeInvalid(error=broken)


def _open_turn_failure(history: Projection) -> InvalidInput | None:
    if history.open_turn is None:
        return None
    return _invalid(InvalidInputReason.OPEN_TURN, f"/projection/turns/{history.open_turn}/state")


def _pins_failure(history: Projection, inputs: BuildInputs, pins: tuple[int, ...]) -> InvalidInput | None:
    if not inputs.pinned_turns:
        return None
    known, seen = {history.turns[place].turn_id: history.turns[place] for place in pins}, set[TurnId]()
    for index, pin in enumerate(inputs.pinned_turns):
        if pin in seen:
            return _invalid(InvalidInputReason.DUPLICATE_PIN, f"/pinned_turns/{index}")
        if pin not in known:
            return _invalid(InvalidInputReason.UNKNOWN_PIN, f"/pinned_turns/{index}")
        if known[pin].state is ProjectedState.QUARANTINED:
            return _invalid(InvalidInputReason.QUARANTINED_PIN, f"/pinned_turns/{index}")
        seen.add(pin)
    return None


def _items_failure(items: tuple[ContextItem, ...]) -> InvalidItem | None:
    """What is wrong with the items (S1), and a text of the host that would stand as data (S4)."""
    wrong = items_failure(items)
    if wrong is not None:
        return wrong
    for item in items:
        if item.kind is ItemKind.SYSTEM:
            reason = InvalidItemReason.SYSTEM_IN_ENVELOPE
            return InvalidItem(item_id=item.item_id, field="kind", reason=reason, actual=item.kind.value)
    return None


def _summaries_failure(history: Projection, summaries: tuple[Summary, ...]) -> InvalidInput | None:
    """Summaries of another session, not all active, or of turns that are not in the history (S8)."""
    if not summaries:
        return None
    for index, summary in enumerate(summaries):
        if summary.session_id != history.session_id:
            return _invalid(InvalidInputReason.SUMMARY_OF_ANOTHER_SESSION, f"/summaries/{index}")
    match active_summaries(summaries):
        case Success(active) if len(active) == len(summaries):
            pass
        case _:
            return _invalid(InvalidInputReason.SUMMARY_NOT_ACTIVE, "/summaries")
    known = {turn.turn_id for turn in history.sources}
    for index, summary in enumerate(summaries):
        if not known.issuperset(summary.turn_ids):
            return _invalid(InvalidInputReason.SUMMARY_OF_UNKNOWN_TURN, f"/summaries/{index}")
    return None


def range_failure(budget: ContextBudget) -> Overflow | None:
    """Which number of a budget leaves [0, 2^64) (B2, C1)."""
    if budget.window_tokens >= TOKENS_BOUND:
        return Overflow(what=OverflowWhat.WINDOW)
    if budget.safety_margin < 0 or budget.reserved >= TOKENS_BOUND:
        return Overflow(what=OverflowWhat.RESERVED)
    return None


def _full_shape_failure(history: Projection, inputs: BuildInputs) -> ShapeInvalid | None:
    """M3 over the full, untrimmed request.

    Its parts are closed groups, and M3 looks at nothing across closed groups; so the history's own
    first failure (carried by its type) is the request's, moved by the system messages in front.
    """
    if history.shape_failure is not None:
        return ShapeInvalid(error=moved(history.shape_failure, len(inputs.system)))
    broken = constraint_failure(inputs.constraint)
    return None if broken is None else ShapeInvalid(error=broken)


def _not_admitted(failure: NotAdmitted | None) -> InvalidInput | None:
    if failure is None:
        return None
    return _invalid(InvalidInputReason(failure.reason.value), f"/projection{failure.path}")


def _invalid(reason: InvalidInputReason, path: str | None) -> InvalidInput:
    return InvalidInput(reason=reason, path=path)


# --- plan and candidate requests (R1, B3) ---------------------------------------------------------


def _planned(
    history: Projection,
    viewed: tuple[TurnId, ...],
    inputs: BuildInputs,
    counter: TokenCounter,
    strategy: Strategy,
    search: Search,
    frame: Frame,
    pins: tuple[int, ...],
) -> Outcome[BuiltContext, BuildFailure]:
    candidates = all_candidates(history, pins, frame)
    additive = counter if isinstance(counter, AdditiveCounter) else None
    room = room_of(history, frame, candidates, inputs.budget, additive)
    plan = strategy.plan(candidates, room)
    checked = checked_plan(plan, candidates, frozenset(inputs.pinned_turns), room)
    if isinstance(checked, InvalidPlan):
        return Failure(checked)
    draft = Draft(history, frame, pins, candidates, checked)
    ran = resolved(
        search,
        additive=additive is not None,
        steps=draft.steps,
        count_calls=inputs.limits.max_count_calls,
    )
    return _Fit(history, viewed, inputs, frame, draft, counter, strategy.name, ran, plan).run()


# --- fit: count whole candidates until the search closes (B4, B5) ---------------------------------


@final
class _Fit:
    """The loop's own memory; never leaves `build`."""

    def __init__(
        self,
        history: Projection,
        viewed: tuple[TurnId, ...],
        inputs: BuildInputs,
        frame: Frame,
        draft: Draft,
        counter: TokenCounter,
        strategy: str,
        search: Search,
        plan: Plan,
    ) -> None:
        self.history = history
        self.viewed = viewed
        self.inputs = inputs
        self.frame = frame
        self.draft = draft
        self.counter = counter
        self.additive = counter if isinstance(counter, AdditiveCounter) else None
        self.strategy = strategy
        self.search = search
        self.marks = plan.marks
        self.selection = plan.selection
        self.available = self.inputs.budget.available
        # Only a bisecting search without costs is led by sizes, and these look at every step.
        led_by_sizes = search is not Search.LINEAR and self.additive is None
        self.sizes = _Sizes(draft) if led_by_sizes else None
        self.attempts = list[Attempt]()
        self.request = GenerationRequest(messages=())

    def run(self) -> Outcome[BuiltContext, BuildFailure]:
        """Ask the search what to count, count it whole, tell the search; until it closes."""
        state = self.start()
        while True:
            move = next_move(state, self.hint())
            match move:
                case CountNext():
                    if len(self.attempts) == self.inputs.limits.max_count_calls:
                        limit = self.inputs.limits.max_count_calls
                        return Failure(CountLimit(limit=limit, report=self.report()))
                    failure = self.count(move.steps)
                    if failure is not None:
                        return Failure(failure)
                    fits = self.attempts[-1].total_reserved <= self.inputs.budget.window_tokens
                    state = told(state, move, fits=fits)
                case Accepted():
                    return self.accepted()
                case Exhausted():
                    whole = self.search is Search.LINEAR or self.additive is not None
                    return Failure(DoesNotFit(exhaustive=whole, report=self.report()))
                case _:
                    assert_never(move)

    def start(self) -> SearchState:
        """Where the search begins; an additive counter's own costs say where it will end."""
        last = self.draft.steps
        if self.search is Search.LINEAR:
            return SearchState(search=self.search, last=last)
        if self.additive is not None:
            needed = _needed_by_costs(self.draft, self.additive, self.available)
            # One less than is needed should not fit, and closes the search from below; an impossible
            # budget is known after one count.
            guess = last if needed > last else max(needed - 1, 0)
            return SearchState(search=self.search, last=last, guess=guess, trusted=not self.draft.is_by_line)
        guess = 0 if self.sizes is None else self.sizes.needed(1, 4, self.available)
        return SearchState(search=self.search, last=last, guess=guess)

    def hint(self) -> int:
        """The smallest k that fits if tokens keep the ratio to bytes that the last count showed."""
        if self.sizes is None or not self.attempts:
            return 0
        last = self.attempts[-1]
        size = self.sizes.kept[last.plan_steps]
        return self.sizes.needed(last.count.tokens.total, max(size, 1), self.available)

    def count(self, steps: int) -> BuildFailure | None:
        """Count the request after `steps` steps whole, and note the attempt (B4)."""
        request = self.draft.request(steps)
        match self.counter.count(self.inputs.target, request):
            case Failure(CountRefused(reason=reason)):
                return CounterFailed(reason=reason, report=self.report())
            case Success(count):
                failure = count_failure(count, self.inputs.target, self.inputs.budget)
                if failure is not None:
                    return attrs.evolve(failure, report=self.report())
                self.request = request
                self.attempts.append(self.attempt(steps, count))
                return None

    def attempt(self, steps: int, count: TokenCount) -> Attempt:
        """What the report says of one full count."""
        return Attempt(
            removed_turns=self.draft.removed(steps),
            plan_steps=steps,
            count=count,
            total_reserved=count.tokens.total + self.inputs.budget.reserved,
        )

    def accepted(self) -> Outcome[BuiltContext, BuildFailure]:
        """Look at the accepted request once more before it leaves (B8)."""
        steps = self.attempts[-1].plan_steps
        reduced = self.draft.exchange_reductions(steps)
        missing = missing_content(self.request, self.history, self.inputs, reduced)
        if missing:
            return Failure(SurvivalBroken(missing=missing, report=self.report()))
        return Success(BuiltContext(request=self.request, report=self.report()))

    def report(self) -> BuildReport:
        """The report up to the last counted candidate (B6)."""
        history, inputs = self.history, self.inputs
        steps = self.attempts[-1].plan_steps if self.attempts else 0
        counted = self.request.messages if self.attempts else ()
        report = BuildReport(
            algorithm_version=BUILD_VERSION,
            projection_version=history.algorithm_version,
            strategy=self.strategy,
            search=self.search,
            session_id=history.session_id,
            source_tail=history.source_tail,
            source_event_count=history.source_event_count,
            state_version=inputs.state_version,
            target=inputs.target,
            budget=inputs.budget,
            limits=inputs.limits,
            system_messages=len(inputs.system),
            current_messages=len(self.draft.current(steps)),
            turns=attrs.evolve(self.draft.ledger(steps), viewed=self.viewed),
            attempts=tuple(self.attempts),
            sent=_sent(counted, self.additive),
            constraint_digest=digest(constraint_text(inputs.constraint)),
            summary_digest=_message_digest(self.draft.summary_message(steps)),
            items_digest=_message_digest(self.draft.items_message(steps)),
            marks=None if self.marks is None else _reported(self.marks, broke=steps > 0),
            exchanges=self.draft.exchange_rows(steps),
            items=self.draft.item_rows(steps, self.choices(), self.additive),
            summaries=self.draft.summary_rows(steps),
            selection=self.chosen(steps),
        )
        if inputs.previous is None or not self.attempts:
            return report
        return attrs.evolve(report, cache=compare(inputs.previous, report))

    def chosen(self, steps: int) -> Selection | None:
        """The choice, less what the steps have left out since: what the next choice starts from."""
        if self.selection is None or steps == 0:
            return self.selection
        return after_dropping(self.selection, self.draft.dropped(steps))

    def choices(self) -> Mapping[ItemId, ChoiceReason]:
        """Why the strategy chose each item or not, where it said so."""
        rows = () if self.selection is None else self.selection.rows
        return {row.item_id: row.reason for row in rows if row.item_id is not None}


def count_failure(
    count: TokenCount, target: ContextTarget, budget: ContextBudget
) -> UnverifiedCount | InvalidInput | Overflow | None:
    """Why a counter's answer cannot be used (B4, C1), without a report yet."""
    if count.target != target:
        return UnverifiedCount(reason=UnverifiedReason.TARGET)
    if is_blank(count.method):
        return UnverifiedCount(reason=UnverifiedReason.BLANK_METHOD)
    verified = count.evidence is TokenBoundEvidence.VERIFIED_UPPER_BOUND
    if budget.mode is BudgetMode.HARD and not verified:
        return UnverifiedCount(reason=UnverifiedReason.EVIDENCE)
    tokens = count.tokens
    parts = (tokens.system, tokens.messages, tokens.constraint, tokens.template)
    if min(parts) < 0 or tokens.total >= TOKENS_BOUND:
        return Overflow(what=OverflowWhat.COUNT)
    if tokens.total == 0:
        return _invalid(InvalidInputReason.ZERO_COUNT, None)
    if tokens.total + budget.reserved >= TOKENS_BOUND:
        return Overflow(what=OverflowWhat.TOTAL)
    return None


def missing_content(
    request: GenerationRequest,
    history: Projection,
    inputs: BuildInputs,
    reduced: Mapping[int, ExchangeReduction] | None = None,
) -> tuple[str, ...]:
    """What must stand in the request, unchanged and in order, and does not (B8).

    Reads the build's inputs, not what the assembler made of them. `reduced` says what was done to
    exchanges of the running turn, where the host let that be (R6): all the rest of current is required,
    and of a condensed exchange everything but what its results say.
    """
    pinned = frozenset(inputs.pinned_turns)
    at, missing = 0, dict[str, None]()
    required = chain(
        ((f"/system/{i}", SystemMessage(content=text)) for i, text in enumerate(inputs.system)),
        (
            (f"/pinned_turns/{turn.turn_id}", message)
            for place, turn in enumerate(history.sources if pinned else ())
            if turn.turn_id in pinned
            for message in history.turns[place].messages
        ),
    )
    for name, message in required:
        try:
            at = request.messages.index(message, at) + 1
        except ValueError:
            missing[name] = None
    behind = request.messages[at:]
    lost, end = _missing_current(behind, inputs.current, reduced or {})
    return (*missing, *_missing_items(behind[:end], inputs.items), *lost)


def _missing_items(before_current: Sequence[ModelMessage], items: Sequence[ContextItem]) -> list[str]:
    """Items that must stay and whose content, unescaped, does not stand in the envelope (S4)."""
    kept = [item for item in items if item.is_kept]
    last = before_current[-1] if kept and before_current else None
    found = contents_in(last.content) if isinstance(last, UserMessage) else {}
    return [f"/items/{item.item_id}" for item in kept if found.get(item.item_id) != item.content]


def _missing_current(
    messages: Sequence[ModelMessage],
    current: Sequence[ModelMessage],
    reduced: Mapping[int, ExchangeReduction],
) -> tuple[list[str], int]:
    """What of current does not stand at the end of these messages, and where the rest of it begins."""
    dropped, condensed = set[int](), set[int]()
    for exchange in exchanges_of(current) if reduced else ():
        reduction = reduced.get(exchange.index)
        if reduction is not None:
            places = range(exchange.place, exchange.place + len(exchange.messages))
            (dropped if isinstance(reduction, DropExchange) else condensed).update(places)
    # Current stands at the end, so that an equal message of the history cannot stand in for it.
    end, lost = len(messages), list[str]()
    for i, message in reversed(list(enumerate(current))):
        if i in dropped:
            continue
        if end and _stands_for(messages[end - 1], message, shortened=i in condensed):
            end -= 1
        else:
            lost.append(f"/current/{i}")
    return lost[::-1], end


def _stands_for(sent: ModelMessage, required: ModelMessage, *, shortened: bool) -> bool:
    if shortened and isinstance(required, ToolMessage):
        return isinstance(sent, ToolMessage) and sent.call_id == required.call_id
    return sent == required


def digest(text: str) -> str:
    """SHA-256 of a canonical text's bytes, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- where a bisecting search should start --------------------------------------------------------


def _needed_by_costs(draft: Draft, counter: AdditiveCounter, available: int) -> int:
    """The smallest k that fits by an additive counter's costs; steps + 1 when none does.

    Walks from the request that keeps the least towards the one that keeps the most, and stops where
    it no longer fits: so it looks at what is kept, not at what is dropped.
    """
    least = draft.request(draft.steps)
    cost = counter.fixed_cost(least.constraint) + summed_cost(least.messages, counter)
    for step, freed in zip(range(draft.steps, 0, -1), draft.freed(), strict=True):
        if cost > available:
            return step + 1
        for one in freed:
            cost += summed_cost(one.before.messages, counter)
            cost -= 0 if one.after is None else summed_cost(one.after.messages, counter)
    return 1 if cost > available else 0


@final
class _Sizes:
    """Canonical bytes of every candidate request, from the sizes that the projection carries."""

    def __init__(self, draft: Draft) -> None:
        size = draft.least_bytes()
        kept = [size]
        for freed in draft.freed():
            for one in freed:
                size += one.before.canonical_bytes
                size -= 0 if one.after is None else one.after.canonical_bytes
            kept.append(size)
        self.kept = kept[::-1]

    def needed(self, tokens: int, size: int, available: int) -> int:
        """The smallest k whose bytes, at `tokens` tokens per `size` bytes, fit; else the last k."""
        room = available * size // max(tokens, 1)
        # kept falls with k; searched from its small end.
        fitting = bisect_left([-kept for kept in self.kept], -room)
        return min(fitting, len(self.kept) - 1)


# --- small things ---------------------------------------------------------------------------------


def _reported(marks: PrefixMarks, *, broke: bool) -> ReportedMarks:
    return ReportedMarks(
        high=marks.high,
        low=marks.low,
        cut=marks.cut,
        moves=marks.moves,
        kept_cost=marks.kept_cost,
        broke=broke,
    )


def _message_digest(message: ModelMessage | None) -> str | None:
    return None if message is None else digest(message_text(message))


def _sent(messages: Iterable[ModelMessage], additive: AdditiveCounter | None) -> tuple[SentMessage, ...]:
    return tuple(
        [
            SentMessage(
                role=_role(message),
                digest=digest(message_text(message)),
                cost=None if additive is None else _in_range(additive.message_cost(message)),
            )
            for message in messages
        ]
    )


def _in_range(cost: int) -> int | None:
    return cost if 0 <= cost < TOKENS_BOUND else None


def _role(message: ModelMessage) -> MessageRole:
    match message:
        case SystemMessage():
            return MessageRole.SYSTEM
        case UserMessage():
            return MessageRole.USER
        case AssistantMessage():
            return MessageRole.ASSISTANT
        case ToolMessage():
            return MessageRole.TOOL
        case _:
            assert_never(message)
