"""The law set accepts the built-in parts and catches broken ones, each by the number of its rule."""

import random
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import final

import attrs
import pytest
from hypothesis import given, settings

from jingwei.build import BuildInputs, BuiltContext, ContextBuilder, build
from jingwei.ids import ItemId, SummaryId, TurnId
from jingwei.items.records import ContextItem, ItemKind, ItemSource, ShortContent
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import MissingAssistantContent
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    UserMessage,
)
from jingwei.messages.wire import message_text
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.report.failures import (
    BuildFailure,
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    InvalidInputReason,
    ShapeInvalid,
)
from jingwei.request.counting import (
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    CountRefused,
    FramingAllowance,
    RenderedByteBoundCounter,
    RenderedPrompt,
    TokenCounter,
)
from jingwei.request.records import (
    BuildLimits,
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)
from jingwei.selection.records import (
    Candidate,
    CondenseItem,
    DropExchange,
    DropItem,
    DropTurn,
    Plan,
    PlanStep,
    Reduction,
    ReplaceTurnsBySummary,
    Room,
    TurnCandidate,
)
from jingwei.selection.search import Search
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.testing.conformance import (
    check_build,
    check_builder,
    check_counter,
    check_plan,
    check_strategy,
    windows,
)
from tests.logtable import SESSION, log_of
from tests.selection.weighing import summary
from tests.test_build import RUNNING, AdditiveByteCounter, history, inputs

TARGET = ContextTarget(model="m", template_revision="r1")
COUNTER = AdditiveByteCounter()
NONE = Allowance()
BOUND = ByteBoundCounter(
    model="m",
    template_revision="r1",
    allowance=FramingAllowance(message=NONE, call=NONE, tool=NONE, request=Allowance(bytes=3)),
)


def rendered(request: GenerationRequest) -> Outcome[RenderedPrompt, CountRefused]:
    """A poor template: the messages as Python writes them."""
    return Success(RenderedPrompt(text=repr(request), special_tokens=0))


@pytest.mark.parametrize(
    "counter",
    [
        ByteHeuristicCounter(),
        BOUND,
        RenderedByteBoundCounter(model="m", template_revision="r1", render=rendered),
    ],
    ids=lambda counter: type(counter).__name__,
)
def test_the_built_in_counters_keep_the_laws(counter: TokenCounter) -> None:
    """The first users of the law set are its own counters."""
    check_counter(counter, TARGET)


def test_the_built_in_strategy_keeps_the_laws() -> None:
    """The first user of the law set is the default strategy."""
    check_strategy(OLDEST_TURN_FIRST)


# --- broken counters ------------------------------------------------------------------------------


def counted(request: GenerationRequest, **changes: object) -> TokenCount:
    """A count of three tokens a message, with something changed."""
    tokens = TokenBreakdown(system=0, messages=3 * len(request.messages), constraint=0, template=1)
    count = TokenCount(target=TARGET, method="broken", evidence=TokenBoundEvidence.ESTIMATE, tokens=tokens)
    return attrs.evolve(count, **changes)  # type: ignore[arg-type]


@final
class Broken:
    """A counter that always answers with one change, which may be made anew at each call."""

    def __init__(self, change: Callable[[], dict[str, object]]) -> None:
        self.change = change

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return Success(counted(request, **{"target": target, **self.change()}))


@final
class Refusing:
    """A counter that knows no request at all."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return Failure(CountRefused(reason="no"))


@final
class Remembering:
    """A counter whose answers grow with what it has seen."""

    def __init__(self) -> None:
        self.seen = set[GenerationRequest]()

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        self.seen.add(request)
        tokens = TokenBreakdown(system=0, messages=0, constraint=0, template=len(self.seen))
        return Success(counted(request, target=target, tokens=tokens))


@final
class Pretending:
    """A counter that says it is additive, and is off by `more` for each pair of messages."""

    def __init__(self, more: int, cost: int = 3, fixed: int = 1) -> None:
        self.more, self.cost, self.fixed = more, cost, fixed

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        messages = self.cost * len(request.messages) + self.more * (len(request.messages) // 2)
        parts = tokens(template=self.fixed + messages)
        return Success(counted(request, target=target, tokens=parts))

    def message_cost(self, message: ModelMessage) -> int:
        return self.cost

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return self.fixed


@final
class Rewarding:
    """An additive counter by which a shorter message costs more."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        parts = tokens(template=1 + sum([self.message_cost(message) for message in request.messages]))
        return Success(counted(request, target=target, tokens=parts))

    def message_cost(self, message: ModelMessage) -> int:
        return 10**6 - len(message_text(message))

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return 1


def tokens(**parts: int) -> TokenBreakdown:
    """Four parts, zero where nothing is said."""
    return TokenBreakdown(**{"system": 0, "messages": 0, "constraint": 0, "template": 0, **parts})


CHANCE = random.Random(7)

BROKEN: dict[str, tuple[str, TokenCounter]] = {
    "another target": ("C1: asked", Broken(lambda: {"target": attrs.evolve(TARGET, model="n")})),
    "blank method": ("C1: its method", Broken(lambda: {"method": "\u3000"})),
    "chance": ("C1: it is not deterministic", Broken(lambda: {"method": str(CHANCE.random())})),
    "negative": ("C1: a part", Broken(lambda: {"tokens": tokens(system=-1, messages=9)})),
    "overflow": ("C1: the sum", Broken(lambda: {"tokens": tokens(system=2**63, messages=2**63)})),
    "fraction": ("C1: a number", Broken(lambda: {"tokens": attrs.evolve(tokens(), system=0.5)})),  # type: ignore[arg-type]
    "nothing": ("B4", Broken(lambda: {"tokens": tokens()})),
    "refusing": ("C1: it refused", Refusing()),
    "remembering": ("C4", Remembering()),
    "claiming": ("C5", Broken(lambda: {"evidence": TokenBoundEvidence.VERIFIED_UPPER_BOUND})),
    "pretending": ("C6: costs", Pretending(1)),
    "paying back": ("C6: a cost", Pretending(0, cost=-1, fixed=999)),
    "rewarding": ("C6: a message costs", Rewarding()),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_counter_is_caught_by_its_rule(name: str) -> None:
    """Each of these counters breaks one law, and the message names it."""
    law, counter = BROKEN[name]

    with pytest.raises(AssertionError, match=law):
        check_counter(counter, TARGET)


def test_a_bound_below_the_real_tokenizer_is_caught() -> None:
    """A verified bound that the tokenizer itself exceeds is no bound."""
    with pytest.raises(AssertionError, match="C3: the tokenizer"):
        check_counter(BOUND, TARGET, real_tokens=lambda request: 10_000)


def test_a_bound_above_the_real_tokenizer_is_taken() -> None:
    """Nothing is asked of a bound but that it holds."""
    check_counter(BOUND, TARGET, real_tokens=lambda request: 0)


# --- broken strategies ----------------------------------------------------------------------------


@final
class Scripted:
    """A strategy made of one function."""

    def __init__(self, made: Callable[[Sequence[Candidate]], Plan], name: str = "scripted") -> None:
        self.made, self.name = made, name

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        return self.made(candidates)


def _of(candidates: Sequence[Candidate]) -> tuple[PlanStep, ...]:
    return tuple(OLDEST_TURN_FIRST.plan(candidates, ROOM).steps)


def _emptying(candidates: Sequence[Candidate]) -> Plan:
    plan = Plan(steps=_of(candidates))
    if isinstance(candidates, list):
        candidates.clear()
    return plan


def _by_chance(candidates: Sequence[Candidate]) -> Plan:
    order = list(_of(candidates))
    CHANCE.shuffle(order)
    return Plan(steps=tuple(order))


ROOM = Room(window_tokens=1, reserved_tokens=1, required_bytes=1)
STRANGER = PlanStep(reductions=(DropTurn(turn_id=TurnId("nobody")),))

STRATEGIES: dict[str, tuple[str, Strategy]] = {
    "blank name": ("R1: its name", Scripted(lambda c: Plan(), name=" ")),
    "stranger": ("R1: it names what is no", Scripted(lambda c: Plan(steps=(*_of(c), STRANGER)))),
    "twice": ("R1: it names a candidate twice", Scripted(lambda c: Plan(steps=(*_of(c), *_of(c))))),
    "base again": (
        "R1: it names a candidate twice",
        Scripted(lambda c: Plan(base=_of(c)[0].reductions if c else (), steps=_of(c))),
    ),
    "chance": ("R1: it is not pure", Scripted(_by_chance)),
    "emptying": ("R1: it changed", Scripted(_emptying)),
    "idle step": ("R1: these steps", Scripted(lambda c: Plan(steps=(PlanStep(reductions=()),)))),
}


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_a_broken_strategy_is_caught_by_its_rule(name: str) -> None:
    """Each of these strategies breaks one law, and the message names it."""
    law, strategy = STRATEGIES[name]

    with pytest.raises(AssertionError, match=law):
        check_strategy(strategy)


def test_a_strategy_that_leaves_some_out_of_its_plan_keeps_the_laws() -> None:
    """A plan need not name every candidate, and its base may be anything."""
    check_strategy(Scripted(lambda c: Plan(base=_of(c)[0].reductions if c else (), steps=_of(c)[2:])))


def test_one_plan_can_be_checked_by_itself() -> None:
    """A host may bring its own candidates."""
    candidates = tuple(
        TurnCandidate(turn_id=TurnId(f"t{i}"), position=i, message_count=1, canonical_bytes=50)
        for i in range(3)
    )

    assert OLDEST_TURN_FIRST.plan(candidates, ROOM) == check_plan(OLDEST_TURN_FIRST, candidates, ROOM)


@pytest.mark.parametrize(
    ("reduction", "named"),
    [
        (DropExchange(index=7), "exchange 7"),
        (DropItem(item_id=ItemId("i")), "item i"),
        (ReplaceTurnsBySummary(summary_id=SummaryId("s")), "summary s"),
    ],
)
def test_a_plan_over_turns_may_name_nothing_else(reduction: Reduction, named: str) -> None:
    step = PlanStep(reductions=(reduction,))

    with pytest.raises(AssertionError, match=f"R1: .*{named}"):
        check_plan(Scripted(lambda _: Plan(steps=(step,))), (), ROOM)


ITEMS = (
    ContextItem(
        item_id=ItemId("long"),
        kind=ItemKind.FACT,
        content="x" * 900,
        source=ItemSource.TOOL,
        short=ShortContent(text="short", method="cut-v1"),
    ),
    ContextItem(
        item_id=ItemId("must"), kind=ItemKind.GOAL, content="g", source=ItemSource.USER, required=True
    ),
)


def test_a_build_with_items_and_summaries_keeps_the_laws() -> None:
    """In full, condensed and left out; and with a summary in front of the history."""
    given_ = attrs.evolve(inputs(), items=ITEMS, summaries=(summary("s", 0),))
    reductions: tuple[Reduction, ...] = (
        ReplaceTurnsBySummary(summary_id=SummaryId("s")),
        CondenseItem(item_id=ItemId("long")),
        DropItem(item_id=ItemId("long")),
    )
    past = summed_history()
    for end in range(4):
        strategy = Scripted(lambda _, end=end: Plan(base=reductions[:end]))  # type: ignore[misc]
        outcome = check_build(build, past, given_, COUNTER, strategy=strategy, search=Search.LINEAR)

        assert isinstance(outcome, Success)


def test_a_report_that_leaves_an_item_out_that_must_stay_is_caught() -> None:
    """S3: a builder that lies about its items is told by the number of the rule."""

    def lying(
        history: Projection,
        inputs: BuildInputs,
        counter: TokenCounter,
        *,
        strategy: Strategy,
        search: Search,
    ) -> Outcome[BuiltContext, BuildFailure]:
        made = build(history, inputs, counter, strategy=strategy, search=search).unwrap()
        rows = tuple([attrs.evolve(row, retained=False) for row in made.report.items or ()])
        return Success(attrs.evolve(made, report=attrs.evolve(made.report, items=rows)))

    given_ = attrs.evolve(inputs(), items=ITEMS)
    with pytest.raises(AssertionError, match="S3: the item must"):
        check_build(lying, history(1), given_, COUNTER, strategy=OLDEST_TURN_FIRST, search=Search.LINEAR)


def test_a_report_that_does_not_name_every_item_is_caught() -> None:
    def silent(
        history: Projection,
        inputs: BuildInputs,
        counter: TokenCounter,
        *,
        strategy: Strategy,
        search: Search,
    ) -> Outcome[BuiltContext, BuildFailure]:
        made = build(history, inputs, counter, strategy=strategy, search=search).unwrap()
        return Success(attrs.evolve(made, report=attrs.evolve(made.report, items=None)))

    with pytest.raises(AssertionError, match="S7: the report does not name every item"):
        check_build(
            silent,
            history(1),
            attrs.evolve(inputs(), items=ITEMS),
            COUNTER,
            strategy=OLDEST_TURN_FIRST,
            search=Search.LINEAR,
        )


def summed_history() -> Projection:
    """Turns 0 and 1, long enough for a summary to be smaller."""
    said = "said at length " * 40
    return project(SESSION, log_of(f'turn 0; user "{said}"; reply; done; turn 1; user; reply; done')).unwrap()


def test_a_running_turn_that_is_reduced_keeps_the_laws() -> None:
    """R6: condensed and dropped exchanges are looked for in the request, as the report tells of them."""
    found = set[str]()
    for window in (9_700, 18_000):
        given = attrs.evolve(inputs(RUNNING, window=window), reduce_current=True)
        outcome = check_build(
            build,
            history(1),
            given,
            AdditiveByteCounter(),
            strategy=OLDEST_TURN_FIRST,
            search=Search.LINEAR,
        )
        rows = outcome.unwrap().report.exchanges or ()
        found |= {row.reduction.value for row in rows if row.reduction is not None}

    assert {"condensed", "dropped"} == found


# --- broken builders ------------------------------------------------------------------------------


def losing(
    history: Projection, inputs: BuildInputs, counter: TokenCounter, *, strategy: Strategy, search: Search
) -> Outcome[BuiltContext, BuildFailure]:
    """A builder that loses the last message of what it built."""
    outcome = build(history, inputs, counter, strategy=strategy, search=search)
    if isinstance(outcome, Failure):
        return outcome
    built = outcome.unwrap()
    shorter = attrs.evolve(built.request, messages=built.request.messages[:-1])
    return Success(attrs.evolve(built, request=shorter))


def unreported(
    history: Projection, inputs: BuildInputs, counter: TokenCounter, *, strategy: Strategy, search: Search
) -> Outcome[BuiltContext, BuildFailure]:
    """A builder that takes the window twice as large as it is."""
    budget = attrs.evolve(inputs.budget, window_tokens=2 * inputs.budget.window_tokens)
    outcome = build(history, attrs.evolve(inputs, budget=budget), counter, strategy=strategy, search=search)
    if isinstance(outcome, Failure):
        return outcome
    built = outcome.unwrap()
    return Success(attrs.evolve(built, report=attrs.evolve(built.report, budget=inputs.budget)))


@pytest.mark.parametrize(
    ("law", "builder"),
    [("B3: the request", losing), ("B5: .* tokens in a window", unreported)],
)
def test_a_broken_builder_is_caught_by_its_rule(law: str, builder: ContextBuilder) -> None:
    """Each of these builders breaks one law, and the message names it."""
    with pytest.raises(AssertionError, match=law):
        check_builder(builder)


def test_the_built_in_builder_keeps_the_laws_with_any_built_in_counter() -> None:
    """The first user of these laws is `build` itself."""
    check_builder(build)
    check_builder(build, counter=BOUND)


# --- one build at a time ---------------------------------------------------------------------------

HISTORY = project(SESSION, log_of("user; reply; done; turn two; user; reply; done")).unwrap()
INPUTS = BuildInputs(
    current=(UserMessage(content="and now?"),),
    target=TARGET,
    budget=ContextBudget(window_tokens=10_000, output_reserve=1),
)
TINY = attrs.evolve(INPUTS, budget=ContextBudget(window_tokens=2, output_reserve=1))


def checked(builder: ContextBuilder, inputs: BuildInputs, counter: TokenCounter = BOUND) -> object:
    """The answer of one build that keeps the laws."""
    found = check_build(builder, HISTORY, inputs, counter, strategy=OLDEST_TURN_FIRST, search=Search.LINEAR)
    return found.unwrap() if isinstance(found, Success) else found.failure()


REFUSED: dict[str, tuple[BuildInputs, BuildFailure]] = {
    "a limit": (
        attrs.evolve(INPUTS, limits=BuildLimits(max_turns=1)),
        LimitExceeded(what=Bound.TURNS, limit=1, actual=2),
    ),
    "a shape": (
        attrs.evolve(INPUTS, current=(UserMessage(content="u"), AssistantMessage())),
        ShapeInvalid(error=MissingAssistantContent(index=1)),
    ),
    "an input": (
        attrs.evolve(INPUTS, current=()),
        InvalidInput(reason=InvalidInputReason.CURRENT_EMPTY, path="/current"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_before_the_first_count_keeps_the_laws(name: str) -> None:
    inputs, expected = REFUSED[name]

    assert expected == checked(build, inputs)


def test_a_refusal_after_a_count_keeps_the_laws_with_its_report() -> None:
    """Two turns and a window for none: three counts, of which one is allowed in the second build."""
    spent = checked(build, attrs.evolve(TINY, limits=BuildLimits(max_count_calls=1)))
    tried, refused = checked(build, TINY), checked(build, INPUTS, Refusing())

    assert isinstance(spent, CountLimit)
    assert isinstance(tried, DoesNotFit)
    assert isinstance(refused, CounterFailed)
    assert refused.report is not None
    assert [1, 3, 0] == [len(one.attempts) for one in (spent.report, tried.report, refused.report)]


def giving_up(
    history: Projection, inputs: BuildInputs, counter: TokenCounter, *, strategy: Strategy, search: Search
) -> Outcome[BuiltContext, BuildFailure]:
    """A builder that says it may count no more while it may."""
    outcome = build(history, inputs, counter, strategy=strategy, search=search)
    if isinstance(outcome, Failure):
        return outcome
    report = outcome.unwrap().report
    return Failure(CountLimit(limit=inputs.limits.max_count_calls, report=report))


def pessimistic(
    history: Projection, inputs: BuildInputs, counter: TokenCounter, *, strategy: Strategy, search: Search
) -> Outcome[BuiltContext, BuildFailure]:
    """A builder that says of what fits that it does not."""
    outcome = build(history, inputs, counter, strategy=strategy, search=search)
    if isinstance(outcome, Failure):
        return outcome
    return Failure(DoesNotFit(report=outcome.unwrap().report, exhaustive=True))


@pytest.mark.parametrize(
    ("law", "builder"), [("B5: a count limit after 1 counts", giving_up), ("B5: this fits", pessimistic)]
)
def test_a_refusal_that_is_not_true_is_caught(law: str, builder: ContextBuilder) -> None:
    with pytest.raises(AssertionError, match=law):
        checked(builder, INPUTS)


# --- counters that answer by chance or for nobody ---------------------------------------------------


def test_an_estimate_may_be_exceeded() -> None:
    """It claims no bound: nothing is held against it."""
    check_counter(ByteHeuristicCounter(), TARGET, real_tokens=lambda request: 10_000, examples=5)


def test_a_counter_that_errs_only_once_is_caught_by_its_rule() -> None:
    """The failure cannot be repeated, and is told by its law all the same."""
    methods = chain(["first"], repeat("ever after"))

    with pytest.raises(AssertionError, match="C1: it is not deterministic"):
        check_counter(Broken(lambda: {"method": next(methods)}), TARGET)


def test_for_a_counter_that_refuses_any_window_is_drawn() -> None:
    found = list[int]()

    @settings(max_examples=10, deadline=None, derandomize=True, database=None)
    @given(windows(HISTORY, INPUTS, Refusing()))
    def draw(window: int) -> None:
        found.append(window)

    draw()

    assert min(found) >= 1
    assert len(set(found)) > 1
