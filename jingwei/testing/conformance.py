"""The first law set: what a host runs on its own counter, strategy or builder (rules C, R1, B3 to B8).

    def test_my_counter():
        check_counter(MyCounter(), ContextTarget(model="m", template_revision="r1"))

Each check draws inputs with Hypothesis (always the same ones) and raises an `AssertionError` that begins
with the number of the rule that is broken. The parts of jingwei are its first users.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, TypeAlias, TypeVar, assert_never

import attrs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.strategies import DrawFn, SearchStrategy

from jingwei.build import BuildInputs, BuiltContext, ContextBuilder, build
from jingwei.drafts.candidates import candidates_of
from jingwei.ids import TurnId, is_blank
from jingwei.items.envelope import item_line, items_message
from jingwei.items.failures import InvalidItem
from jingwei.items.records import ContextItem, order_of
from jingwei.limits import TOKENS_BOUND, LimitExceeded
from jingwei.messages.records import (
    GenerationRequest,
    ModelMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import check_shape
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.records import Projection
from jingwei.report.failures import (
    BuildFailure,
    CountLimit,
    DoesNotFit,
    ShapeInvalid,
    SurvivalBroken,
)
from jingwei.report.records import Attempt, BuildReport, ReductionKind
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter, CountRefused, TokenCounter
from jingwei.request.records import ContextBudget, ContextTarget, TokenBoundEvidence, TokenCount
from jingwei.results.failures import ViewContradiction
from jingwei.selection.exchanges import exchanges_of
from jingwei.selection.records import (
    Candidate,
    CondenseExchange,
    CondenseItem,
    CondenseTurn,
    DropExchange,
    DropItem,
    DropTurn,
    ExchangeCandidate,
    InvalidPlan,
    ItemCandidate,
    Plan,
    Reduction,
    ReplaceTurnsBySummary,
    Room,
    SummaryCandidate,
    TurnCandidate,
)
from jingwei.selection.search import Search, counts_at_most
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.summaries.render import summary_envelope
from jingwei.testing import strategies

_Drawn = TypeVar("_Drawn")

EXAMPLES: Final = 60
"""Inputs drawn per check, unless told otherwise."""

DEFAULT_COUNTER: Final = ByteHeuristicCounter()
"""What a builder counts with where nothing else is asked for."""

_STRANGE_MODEL: Final = "jingwei: a model that nobody has"


# --- a counter -----------------------------------------------------------------------------------


def check_counter(
    counter: TokenCounter,
    target: ContextTarget,
    *,
    real_tokens: Callable[[GenerationRequest], int] | None = None,
    examples: int = EXAMPLES,
) -> None:
    """Hold a counter to C1, C3, C5 and C6 over drawn requests.

    Args:
        counter: the counter; it may refuse requests, but not all of them.
        target: a target that it knows.
        real_tokens: what the target's own tokenizer counts in the rendered request; where it is given,
            a verified bound is held against it (C3).
        examples: requests to draw.

    Raises:
        AssertionError: a law is broken; the message begins with the rule's number.
    """
    memory = list[tuple[GenerationRequest, Outcome[TokenCount, CountRefused]]]()

    def law(request: GenerationRequest) -> None:
        answer = check_count(counter, target, request)
        for earlier, answered in memory[:3]:
            again = counter.count(target, earlier)
            assert answered == again, f"C4: what it remembers changed its answer: {answered}, then {again}"
        memory.append((request, answer))
        if real_tokens is not None and isinstance(answer, Success):
            _check_bound(answer.unwrap(), real_tokens(request))

    _over(strategies.shaped_requests(), law, examples)
    answered = any(isinstance(answer, Success) for _, answer in memory)
    assert answered, f"C1: it refused every request for {target}"
    if isinstance(counter, AdditiveCounter):
        _over(strategies.context_items(), partial(_check_lines, counter), examples)
    _check_strangers(counter, target)


def check_count(
    counter: TokenCounter, target: ContextTarget, request: GenerationRequest
) -> Outcome[TokenCount, CountRefused]:
    """Hold one answer of a counter to C1 and, if it is additive, C6; gives the answer back."""
    answer = counter.count(target, request)
    again = counter.count(target, request)
    assert answer == again, f"C1: it is not deterministic: {answer}, then {again}"
    if isinstance(answer, Failure):
        refused: object = answer.failure()
        assert isinstance(refused, CountRefused), f"C1: a refusal is a CountRefused, not {refused!r}"
        return answer
    count = answer.unwrap()
    assert count.target == target, f"C1: asked for {target}, it counted for {count.target}"
    assert not is_blank(count.method), "C1: its method has a blank name"
    parts = attrs.astuple(count.tokens)
    for part in parts:
        whole = isinstance(part, int) and not isinstance(part, bool)
        assert whole, f"C1: a number of tokens is an integer, not {part!r}"
        assert 0 <= part < TOKENS_BOUND, f"C1: a part leaves [0, 2^64): {count.tokens}"
    assert sum(parts) < TOKENS_BOUND, f"C1: the sum of the parts leaves [0, 2^64): {count.tokens}"
    assert sum(parts) > 0, f"B4: it counts nothing in a request of {len(request.messages)} messages"
    if isinstance(counter, AdditiveCounter):
        _check_sum(counter, request, sum(parts))
    return answer


def _check_sum(counter: AdditiveCounter, request: GenerationRequest, total: int) -> None:
    costs = [counter.message_cost(message) for message in request.messages]
    fixed = counter.fixed_cost(request.constraint)
    assert min([fixed, *costs]) >= 0, f"C6: a cost is below zero: {costs}, fixed {fixed}"
    assert fixed + sum(costs) == total, f"C6: costs {costs} and {fixed} fixed are not its count, {total}"
    again = [counter.message_cost(message) for message in reversed(request.messages)]
    assert costs == again[::-1], f"C6: a message's cost depends on what was asked before: {costs}, {again}"


def _check_lines(counter: AdditiveCounter, items: Sequence[ContextItem]) -> None:
    """An envelope is one message: what leaves a line of it out must not make it dearer."""
    lines = [item_line(item) for item in items]
    whole = _envelope_cost(counter, lines)
    for place, line in enumerate(lines):
        less = _envelope_cost(counter, [*lines[:place], *lines[place + 1 :]])
        assert less <= whole, f"C6: a message costs {whole}, and {less} without its line {line!r}"


def _envelope_cost(counter: AdditiveCounter, lines: Sequence[str]) -> int:
    envelope = items_message(lines)
    return 0 if envelope is None else counter.message_cost(envelope)


def _check_bound(count: TokenCount, real: int) -> None:
    if count.evidence is TokenBoundEvidence.VERIFIED_UPPER_BOUND:
        total = count.tokens.total
        assert real <= total, f"C3: the tokenizer counts {real}, above the verified bound of {total}"


def _check_strangers(counter: TokenCounter, target: ContextTarget) -> None:
    """C5: nobody can have verified a bound for a model, or a template, that does not exist."""
    request = GenerationRequest(messages=(UserMessage(content="u"),))
    for stranger in (
        attrs.evolve(target, model=_STRANGE_MODEL),
        attrs.evolve(target, template_revision=_STRANGE_MODEL),
    ):
        answer = counter.count(stranger, request)
        if isinstance(answer, Success):
            verified = answer.unwrap().evidence is TokenBoundEvidence.VERIFIED_UPPER_BOUND
            assert not verified, f"C5: it claims a verified bound for {stranger}"


# --- a strategy ----------------------------------------------------------------------------------


def check_strategy(strategy: Strategy, *, examples: int = EXAMPLES) -> None:
    """Hold a strategy to R1: its plans alone, and what `build` makes of them.

    Args:
        strategy: the strategy.
        examples: sets of candidates, and builds, to draw.

    Raises:
        AssertionError: a law is broken; the message begins with the rule's number.
    """
    assert not is_blank(strategy.name), "R1: its name is blank"

    def planned(drawn: tuple[tuple[TurnCandidate, ...], Room]) -> None:
        check_plan(strategy, *drawn)

    _over(st.tuples(candidate_sets(), rooms()), planned, examples)
    check_builder(build, strategy=strategy, examples=examples)


def check_plan(strategy: Strategy, candidates: Sequence[TurnCandidate], room: Room) -> Plan:
    """Hold one plan to R1: pure, over these candidates only, each at most once; gives the plan back."""
    offered = list(candidates)
    plan = strategy.plan(offered, room)
    assert offered == list(candidates), "R1: it changed the candidates that it was given"
    again = strategy.plan(tuple(candidates), attrs.evolve(room))
    assert plan == again, f"R1: it is not pure: {plan}, then {again}"
    reductions = [*plan.base, *(reduction for step in plan.steps for reduction in step.reductions)]
    named = [_name(reduction) for reduction in reductions]
    strangers = sorted(set(named) - set(map(_name, candidates)))
    assert not strangers, f"R1: it names what is no candidate: {strangers}"
    done = [
        (name, isinstance(one, DropTurn | DropExchange | DropItem))
        for name, one in zip(named, reductions, strict=True)
    ]
    assert len(done) == len(set(done)), f"R1: it names a candidate twice: {named}"
    dropped = set[str]()
    for name, drops in done:
        assert name not in dropped, f"R4: it condenses what it has left out: {name}"
        dropped |= {name} if drops else set()
    empty = [index for index, step in enumerate(plan.steps) if not step.reductions]
    assert not empty, f"R1: these steps reduce nothing and would be counted for nothing: {empty}"
    return plan


def _name(one: Candidate | Reduction) -> str:
    """What a candidate is, or a reduction names."""
    match one:
        case TurnCandidate(turn_id=turn_id) | DropTurn(turn_id=turn_id) | CondenseTurn(turn_id=turn_id):
            return f"turn {turn_id}"
        case ItemCandidate(item_id=item_id) | DropItem(item_id=item_id) | CondenseItem(item_id=item_id):
            return f"item {item_id}"
        case SummaryCandidate(summary_id=summary_id) | ReplaceTurnsBySummary(summary_id=summary_id):
            return f"summary {summary_id}"
        case ExchangeCandidate(index=index) | DropExchange(index=index) | CondenseExchange(index=index):
            return f"exchange {index}"
        case _:
            assert_never(one)


# --- a build -------------------------------------------------------------------------------------


def check_builder(
    builder: ContextBuilder,
    *,
    counter: TokenCounter = DEFAULT_COUNTER,
    strategy: Strategy = OLDEST_TURN_FIRST,
    examples: int = EXAMPLES,
) -> None:
    """Hold a builder to the laws of `check_build` over drawn histories, inputs and searches.

    Args:
        builder: the builder, such as `build`.
        counter: what it counts with; it must know the model `m` with template `r1`, and keep C1.
        strategy: what it plans with.
        examples: builds to draw.

    Raises:
        AssertionError: a law is broken; the message begins with the rule's number.
    """

    def law(drawn: tuple[Projection, BuildInputs, Search]) -> None:
        history, inputs, search = drawn
        check_build(builder, history, inputs, counter, strategy=strategy, search=search)

    _over(builds(), law, examples)


def check_build(
    builder: ContextBuilder,
    history: Projection,
    inputs: BuildInputs,
    counter: TokenCounter,
    *,
    strategy: Strategy,
    search: Search,
) -> Outcome[BuiltContext, BuildFailure]:
    """Build once and hold the answer to B3 to B8, R1 and R5; gives the answer back.

    The counter must answer the same request alike (C1): the request is counted again here.
    """
    outcome = builder(history, inputs, counter, strategy=strategy, search=search)
    if isinstance(outcome, Success):
        built = outcome.unwrap()
        _check_report(history, inputs, built.report)
        _check_request(history, inputs, built)
        _check_recount(inputs, counter, built)
        return outcome
    failure = outcome.failure()
    assert not isinstance(failure, InvalidPlan), f"R1: the builder refused the plan: {failure}"
    assert not isinstance(failure, SurvivalBroken), f"B8: required content was lost: {failure}"
    report = _report_of(failure)
    if report is not None:
        _check_report(history, inputs, report)
    if isinstance(failure, DoesNotFit):
        last = failure.report.attempts[-1]
        assert last.total_reserved > inputs.budget.window_tokens, f"B5: this fits: {last}"
    if isinstance(failure, CountLimit):
        spent = len(failure.report.attempts)
        assert spent == inputs.limits.max_count_calls, f"B5: a count limit after {spent} counts"
    return outcome


def _report_of(failure: BuildFailure) -> BuildReport | None:
    """The report so far; none of what is found before anything is planned."""
    match failure:
        case InvalidItem() | ViewContradiction() | LimitExceeded() | ShapeInvalid() | InvalidPlan():
            return None
        case _:
            return failure.report


def _check_report(history: Projection, inputs: BuildInputs, report: BuildReport) -> None:
    rows = list(report.turns.rows)
    turns = [turn.turn_id for turn in history.turns]
    assert turns == [row.turn_id for row in rows], "B6: the report does not name every turn once, in order"
    sources = [turn.sources.source_events for turn in history.turns]
    assert sources == [row.source_events for row in rows], "B6: the sources of a turn are not its own"
    for row, turn in zip(rows, history.turns, strict=True):
        pinned = row.turn_id in inputs.pinned_turns
        assert row.protected == pinned, f"B6: {row.turn_id}: pinned is {pinned}, the report says otherwise"
        assert row.retained or not pinned, f"R1: the pinned turn {row.turn_id} was left out"
        assert row.retained or turn.message_count, f"R5: {row.turn_id} has no message and was left out"
        dropped = row.reduction in {ReductionKind.DROPPED, ReductionKind.SUMMARIZED}
        assert row.retained != dropped, f"B6: {row} contradicts itself"
    target, budget = inputs.target, inputs.budget
    assert (target, budget) == (report.target, report.budget), "B6: target and budget are not as given"
    assert report.search is not Search.AUTO, "B6: the report does not say which search ran"
    _check_attempts(inputs, report.attempts)


def _check_attempts(inputs: BuildInputs, attempts: Sequence[Attempt]) -> None:
    reserved = inputs.budget.output_reserve + inputs.budget.safety_margin
    spent, allowed = len(attempts), inputs.limits.max_count_calls
    assert spent <= allowed, f"B5: {spent} counts where {allowed} are allowed"
    for attempt in attempts:
        parts = sum(attrs.astuple(attempt.count.tokens))
        assert parts + reserved == attempt.total_reserved, f"B5: this does not add up: {attempt}"


def _check_request(history: Projection, inputs: BuildInputs, built: BuiltContext) -> None:
    rows = zip(history.turns, built.report.turns.rows, strict=True)
    parts: list[_Part] = [((SystemMessage(content=text),), False) for text in inputs.system]
    parts.append((_summaries_part(inputs, built.report), False))
    parts += [(turn.messages, row.reduction is not None) for turn, row in rows if row.retained]
    parts.append((_items_part(inputs, built.report), False))
    parts += _current_parts(inputs, built.report)
    expected = [(message, condensed) for messages, condensed in parts for message in messages]
    stands = built.request.messages
    as_told = len(expected) == len(stands) and all(
        _stands_for(sent, message, condensed)
        for sent, (message, condensed) in zip(stands, expected, strict=True)
    )
    assert as_told, "B3: the request is not system, the kept turns and current, as they came"
    assert inputs.constraint == built.request.constraint, "B3: the constraint was changed"
    shape = check_shape(built.request)
    assert isinstance(shape, Success), f"M3: the request is malformed: {shape}"


_Part: TypeAlias = tuple[tuple[ModelMessage, ...], bool]
"""Messages that were kept, and whether their results were condensed."""


def _summaries_part(inputs: BuildInputs, report: BuildReport) -> tuple[ModelMessage, ...]:
    """The envelope of the summaries that the report says are applied (S8)."""
    applied = {row.summary_id for row in report.summaries or () if row.applied}
    envelope = summary_envelope([one for one in inputs.summaries if one.summary_id in applied])
    return () if envelope is None else (envelope,)


def _items_part(inputs: BuildInputs, report: BuildReport) -> tuple[ModelMessage, ...]:
    """The envelope of the items that the report says are kept (S4)."""
    rows, ordered = report.items or (), sorted(inputs.items, key=order_of)
    named = [item.item_id for item in ordered]
    assert named == [row.item_id for row in rows], "S7: the report does not name every item once, in order"
    lines = list[str]()
    for item, row in zip(ordered, rows, strict=True):
        assert row.retained or not item.is_kept, f"S3: the item {item.item_id}, which must stay, was left out"
        if row.retained:
            lines.append(item_line(item, short=row.reduction is ReductionKind.CONDENSED))
    envelope = items_message(lines)
    return () if envelope is None else (envelope,)


def _current_parts(inputs: BuildInputs, report: BuildReport) -> Iterator[_Part]:
    """What the report says that is kept of the running turn (R6)."""
    end = 0
    for exchange, row in zip(exchanges_of(inputs.current), report.exchanges or (), strict=False):
        yield inputs.current[end : exchange.place], False
        end = exchange.place + len(exchange.messages)
        if row.retained:
            yield exchange.messages, row.reduction is not None
    yield inputs.current[end:], False


def _stands_for(sent: ModelMessage, message: ModelMessage, condensed: bool) -> bool:
    """T2: a preview is a result of the same call; all else is as it came."""
    if condensed and isinstance(message, ToolMessage) and isinstance(sent, ToolMessage):
        return sent.call_id == message.call_id
    return sent == message


def _check_recount(inputs: BuildInputs, counter: TokenCounter, built: BuiltContext) -> None:
    attempts, window = built.report.attempts, inputs.budget.window_tokens
    last = attempts[-1]
    again = counter.count(inputs.target, built.request)
    assert Success(last.count) == again, f"B7: the last count was {last.count}, a recount gives {again}"
    assert last.total_reserved <= window, f"B5: {last.total_reserved} tokens in a window of {window}"
    assert all(inputs.target == attempt.count.target for attempt in attempts), "B4: another target"
    if built.report.search is Search.LINEAR:
        walked = [attempt.plan_steps for attempt in attempts]
        assert walked == list(range(len(attempts))), f"B7: a linear search that walked {walked}"
        early = [a for a in attempts[:-1] if a.total_reserved <= window]
        assert not early, f"B7: fewer steps would have fitted: {early}"
    else:
        most = counts_at_most(len(built.report.turns.sources))
        assert len(attempts) <= most, f"B5: {len(attempts)} counts, at most {most} are promised"


# --- what is drawn -------------------------------------------------------------------------------


@st.composite
def candidate_sets(draw: DrawFn, max_size: int = 12) -> tuple[TurnCandidate, ...]:
    """Candidates in physical order, with gaps where pinned turns stand."""
    positions = sorted(draw(st.sets(st.integers(0, 2 * max_size), max_size=max_size)))
    return tuple(
        [
            TurnCandidate(
                turn_id=TurnId(f"t{position}"),
                position=position,
                message_count=draw(st.integers(1, 9)),
                canonical_bytes=draw(st.sampled_from((40, 40, 100)) | st.integers(30, 5000)),
            )
            for position in positions
        ]
    )


def rooms() -> SearchStrategy[Room]:
    """What a strategy may know of the budget; often too little."""
    return st.builds(
        Room,
        window_tokens=st.sampled_from((1, 100, 8000)) | strategies.sizes(),
        reserved_tokens=st.integers(1, 5000),
        required_bytes=st.integers(0, 20_000),
    )


@st.composite
def builds(draw: DrawFn) -> tuple[Projection, BuildInputs, Search]:
    """A history, inputs that no check refuses, and a search."""
    history = draw(strategies.projections(max_turns=5, max_steps=3))
    turns = [turn.turn_id for turn in history.turns]
    pinned = draw(st.lists(st.sampled_from(turns), unique=True, max_size=2)) if turns else []
    inputs = BuildInputs(
        current=draw(strategies.current_messages(max_parts=1)),
        target=ContextTarget(model="m", template_revision="r1"),
        budget=ContextBudget(window_tokens=1, output_reserve=1),
        system=tuple(draw(st.lists(strategies.texts(), max_size=1))),
        pinned_turns=tuple(pinned),
    )
    window = draw(windows(history, inputs, ByteHeuristicCounter()))
    budget = attrs.evolve(inputs.budget, window_tokens=window)
    return history, attrs.evolve(inputs, budget=budget), draw(st.sampled_from(Search))


@st.composite
def windows(draw: DrawFn, history: Projection, inputs: BuildInputs, counter: TokenCounter) -> int:
    """A window at an edge: what the request needs after some turns are gone, or one token less or more."""
    candidates = candidates_of(history, inputs.pinned_turns)
    gone = {candidate.turn_id for candidate in candidates if isinstance(candidate, TurnCandidate)}
    left_out = sorted(gone)[: draw(st.integers(0, len(gone)))]
    kept = [turn.messages for turn in history.turns if turn.turn_id not in left_out]
    system = [SystemMessage(content=text) for text in inputs.system]
    messages = (*system, *chain.from_iterable(kept), *inputs.current)
    answer = counter.count(inputs.target, GenerationRequest(messages=messages, constraint=inputs.constraint))
    if isinstance(answer, Failure):
        return draw(st.integers(1, 500))
    needed = answer.unwrap().tokens.total + inputs.budget.output_reserve + inputs.budget.safety_margin
    return max(1, needed + draw(st.sampled_from((0, 0, -1, 1))))


def _over(drawn: SearchStrategy[_Drawn], law: Callable[[_Drawn], None], examples: int) -> None:
    """Run a law over drawn inputs: the same ones at each run, so that a host's failure can be told."""
    chosen = settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.nested_given),
    )
    broken = list[AssertionError]()

    def noting(item: _Drawn) -> None:
        try:
            law(item)
        except AssertionError as failure:
            broken.append(failure)
            raise

    try:
        given(drawn)(chosen(noting))()
    except Flaky:  # a part that answers by chance or memory is caught too, and says by which law
        raise broken[0] from None
