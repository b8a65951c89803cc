"""The build (B1 to B8). B numbers with a letter are those of the acceptance cases, run as written:
with a counter that is not additive the search is linear, which is the seeds' algorithm.
"""

import hashlib
import importlib
from collections.abc import Callable, Sequence
from typing import Final, cast, final

import attrs
import pytest

from jingwei.build import BuildInputs, BuiltContext, build, build_foreign, missing_content
from jingwei.ids import EventId, ProviderCallId, TurnId
from jingwei.jsontext import Json
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import (
    ArgumentsNotObject,
    DuplicateToolName,
    EmptyName,
    EmptyToolSet,
    MissingToolResults,
    ShapeFailure,
)
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    NamedChoice,
    NativeToolsConstraint,
    SystemMessage,
    TextConstraint,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import check_shape
from jingwei.messages.wire import constraint_bytes, message_bytes, message_text
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import vector
from jingwei.projection.project import project
from jingwei.projection.records import (
    ForeignGroup,
    ForeignProjection,
    ProjectedState,
    ProjectedTurn,
    Projection,
    TurnSources,
    turn_of,
)
from jingwei.projection.wire import flattened
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
from jingwei.report.records import BuildReport, MessageRole, ReductionKind
from jingwei.request.counting import ByteHeuristicCounter, CountRefused, TokenCounter
from jingwei.request.records import (
    BudgetMode,
    BuildLimits,
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)
from jingwei.selection.records import (
    Candidate,
    CondenseExchange,
    DropExchange,
    DropTurn,
    InvalidPlan,
    InvalidPlanReason,
    Plan,
    PlanStep,
    Reduction,
    Room,
    TurnCandidate,
)
from jingwei.selection.search import Search
from tests.logtable import SESSION, log_of
from tests.selection.test_exchanges import asked, result, user

TARGET: Final = ContextTarget(model="test-model", template_revision="test-v1")
VERIFIED: Final = TokenBoundEvidence.VERIFIED_UPPER_BOUND
MOST: Final = 2**64 - 1


def counted(tokens: TokenBreakdown) -> TokenCount:
    return TokenCount(target=TARGET, method="test-byte-v1", evidence=VERIFIED, tokens=tokens)


@final
@attrs.frozen
class ByteCounter:
    """JSON bytes of every message and of the constraint, plus 17: a verified bound for the private model."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        system = sum(message_bytes(m) for m in request.messages if isinstance(m, SystemMessage))
        tokens = TokenBreakdown(
            system=system,
            messages=sum(map(message_bytes, request.messages)) - system,
            constraint=constraint_bytes(request.constraint),
            template=17,
        )
        return Success(attrs.evolve(counted(tokens), target=target))


@final
@attrs.frozen
class AdditiveByteCounter:
    """The same, with its costs told."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return ByteCounter().count(target, request)

    def message_cost(self, message: ModelMessage) -> int:
        return message_bytes(message)

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return constraint_bytes(constraint) + 17


@final
class Scripted:
    """Answers by the number of messages, or one after the other; remembers what it was asked."""

    def __init__(self, answer: Callable[[GenerationRequest], Outcome[TokenCount, CountRefused]]) -> None:
        self.answer = answer
        self.requests = list[GenerationRequest]()

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        self.requests.append(request)
        return self.answer(request)


def template(tokens: int) -> TokenBreakdown:
    return TokenBreakdown(system=0, messages=0, constraint=0, template=tokens)


def history(turns: int) -> Projection:
    """Turns t0, t1, … of four messages each."""
    output = "工具返回值" * 40
    table = "\n".join(
        f'turn t{i}; user "question {i}"; call reused lookup {{"q":{i}}}; result reused "{output}"; '
        'reply "answer"; done'
        for i in range(turns)
    )
    return project(SESSION, log_of(table)).unwrap()


def inputs(
    current: str | Sequence[ModelMessage] = "new",
    *,
    window: int = 1_000_000,
    reserve: int = 64,
    margin: int = 16,
    output: TokenBoundEvidence = VERIFIED,
    mode: BudgetMode = BudgetMode.HARD,
    system: Sequence[str] = (),
    constraint: GenerationConstraint = TextConstraint(),  # noqa: B008  # immutable
    pins: Sequence[str] = (),
    limits: BuildLimits = BuildLimits(),  # noqa: B008  # immutable
    target: ContextTarget = TARGET,
) -> BuildInputs:
    return BuildInputs(
        current=(UserMessage(content=current),) if isinstance(current, str) else tuple(current),
        target=target,
        budget=ContextBudget(
            window_tokens=window,
            output_reserve=reserve,
            output_evidence=output,
            safety_margin=margin,
            mode=mode,
        ),
        system=tuple(system),
        constraint=constraint,
        pinned_turns=tuple(map(TurnId, pins)),
        state_version="state-9",
        limits=limits,
    )


def built(found: Outcome[BuiltContext, BuildFailure]) -> BuiltContext:
    assert isinstance(found, Success), found
    return found.unwrap()


def does_not_fit(found: Outcome[BuiltContext, BuildFailure]) -> DoesNotFit:
    assert isinstance(found, Failure)
    failure = found.failure()
    assert isinstance(failure, DoesNotFit), failure
    return failure


def totals(report: BuildReport) -> list[int]:
    return [attempt.total_reserved for attempt in report.attempts]


def retained(report: BuildReport) -> list[bool]:
    return [row.retained for row in report.turns.rows]


BYTES = ByteCounter()


def test_the_fixture_has_the_sizes_of_the_acceptance_cases() -> None:
    sizes = [turn.canonical_bytes for turn in history(21).turns]

    assert [874] * 2 + [876] * 8 + [878] * 10 + [880] == sizes


# --- B01 to B12 ---------------------------------------------------------------------------------


class TestExactCountsAtTheBoundary:
    """B01: system, schema, template, reserve and margin are all counted, to the token."""

    SCHEMA = Json('{"type":"object","description":"' + "schema grows" * 100 + '"}')
    HISTORY = history(2)

    def inputs(self, window: int) -> BuildInputs:
        return inputs(
            "当前约束",
            window=window,
            system=["mandatory policy"],
            constraint=JsonSchemaConstraint(name="answer", schema=self.SCHEMA),
        )

    def exact(self) -> int:
        return built(build(self.HISTORY, self.inputs(1_000_000), BYTES)).report.attempts[-1].total_reserved

    def test_b01a_every_part_is_counted(self) -> None:
        report = built(build(self.HISTORY, self.inputs(1_000_000), BYTES)).report
        tokens = report.attempts[-1].count.tokens

        assert 46 == tokens.system == len('{"role":"system","content":"mandatory policy"}')
        assert 1000 < tokens.constraint
        assert 17 == tokens.template
        assert tokens.total + 80 == report.attempts[-1].total_reserved

    def test_b01b_the_window_that_is_met_exactly_gives_the_same_request(self) -> None:
        wide = built(build(self.HISTORY, self.inputs(1_000_000), BYTES))
        exact = built(build(self.HISTORY, self.inputs(self.exact()), BYTES))

        assert wide.request == exact.request
        assert [True, True] == retained(exact.report)

    @pytest.mark.parametrize("counter", [BYTES, AdditiveByteCounter()])
    def test_b01c_one_token_less_costs_the_oldest_turn(self, counter: TokenCounter) -> None:
        given = self.inputs(self.exact() - 1)
        found = built(build(self.HISTORY, given, counter))

        assert [False, True] == retained(found.report)
        assert given.constraint == found.request.constraint
        assert SystemMessage(content="mandatory policy") == found.request.messages[0]
        assert given.current == found.request.messages[-1:]
        assert self.exact() - 874 == found.report.attempts[-1].total_reserved


def test_b02_long_histories_lose_their_oldest_turns_whole() -> None:
    whole = history(80)
    before = flattened(whole)
    found = built(build(whole, inputs("keep current", window=3000), BYTES))
    report = found.report
    kept = [turn for turn, stays in zip(whole.turns, retained(report), strict=True) if stays]

    assert 50 < len(report.attempts)
    assert 3000 >= totals(report)[-1]
    assert 3 == len(kept)
    assert list(whole.turns[-3:]) == kept
    assert 3 * 4 + 1 == len(found.request.messages)
    assert isinstance(check_shape(found.request), Success)
    assert before == flattened(whole)
    assert (whole.source_tail, 400, "state-9") == (
        report.source_tail,
        report.source_event_count,
        report.state_version,
    )
    assert {4} == {len(row.source_events) for row in report.turns.rows}
    assert list(range(78)) == [attempt.removed_turns for attempt in report.attempts]


@pytest.mark.parametrize("counter", [BYTES, AdditiveByteCounter()])
def test_b03_a_pinned_older_turn_survives_a_newer_one(counter: TokenCounter) -> None:
    found = built(build(history(3), inputs(window=1500, pins=["t0"]), counter))
    rows = list(found.report.turns.rows)

    assert [
        (True, True, None),
        (False, False, ReductionKind.DROPPED),
        (False, False, ReductionKind.DROPPED),
    ] == [(row.retained, row.protected, row.reduction) for row in rows]
    assert UserMessage(content="question 0") == found.request.messages[0]
    assert isinstance(found.request.messages[1], AssistantMessage)


LARGE_SCHEMA = JsonSchemaConstraint(name="answer", schema=Json('{"description":"' + "large" * 1000 + '"}'))


def test_b04a_what_must_stay_is_never_weakened() -> None:
    given = inputs("mandatory" * 100, window=200, constraint=LARGE_SCHEMA)
    failure = does_not_fit(build(history(1), given, BYTES))

    assert failure.exhaustive
    assert [False] == retained(failure.report)
    assert 2 == len(failure.report.attempts)
    assert 200 < totals(failure.report)[1]


def test_b04b_a_pinned_turn_stays_even_if_nothing_fits() -> None:
    given = inputs("mandatory" * 100, window=200, constraint=LARGE_SCHEMA, pins=["t0"])
    failure = does_not_fit(build(history(1), given, BYTES))

    assert [(True, True)] == [(row.retained, row.protected) for row in failure.report.turns.rows]
    assert 1 == len(failure.report.attempts)


CURRENT_CALL: Final = AssistantMessage(
    tool_calls=(ModelToolCall(id=ProviderCallId("current-call"), name="read", arguments=Json("{}")),)
)
CURRENT: Final = (
    UserMessage(content="new"),
    CURRENT_CALL,
    ToolMessage(call_id=ProviderCallId("current-call"), content="untrusted current result"),
)


def test_b05a_the_current_exchange_is_mandatory() -> None:
    found = built(build(history(2), inputs(CURRENT, window=600), BYTES))

    assert CURRENT == found.request.messages
    assert 3 == found.report.current_messages


def test_b05b_a_pending_call_never_disappears() -> None:
    expected = ShapeInvalid(error=MissingToolResults(call_ids=("current-call",)))

    assert Failure(expected) == build(history(2), inputs(CURRENT[:2], window=1), BYTES)


class TestEvidence:
    """B06: an estimate is labelled, and no estimate is taken for a bound."""

    HEURISTIC = ByteHeuristicCounter()

    def test_b06a_an_estimate_does_not_satisfy_a_hard_budget(self) -> None:
        found = build(history(1), inputs("中文 emoji 🐦"), self.HEURISTIC)

        assert isinstance(found, Failure)
        failure = found.failure()
        assert isinstance(failure, UnverifiedCount)
        assert UnverifiedReason.EVIDENCE is failure.reason
        assert failure.report is not None
        assert () == failure.report.attempts

    def test_b06b_an_estimate_satisfies_a_soft_budget_and_is_labelled(self) -> None:
        report = built(
            build(history(1), inputs("中文 emoji 🐦", mode=BudgetMode.SOFT), self.HEURISTIC)
        ).report

        assert BudgetMode.SOFT is report.budget.mode
        assert TokenBoundEvidence.ESTIMATE is report.attempts[0].count.evidence

    def test_b06c_a_hard_budget_wants_its_output_bound(self) -> None:
        given = inputs("中文 emoji 🐦", output=TokenBoundEvidence.ESTIMATE)
        expected = UnverifiedCount(reason=UnverifiedReason.OUTPUT_EVIDENCE)

        assert Failure(expected) == build(history(1), given, BYTES)

    def test_b06d_a_soft_budget_is_a_budget(self) -> None:
        given = inputs("中文 emoji 🐦", window=1, mode=BudgetMode.SOFT, output=TokenBoundEvidence.ESTIMATE)

        assert does_not_fit(build(history(1), given, self.HEURISTIC)).exhaustive


GOOD: Final = counted(template(1))

# A counter's answer, and what is said of it.
ANSWERS: dict[str, tuple[Outcome[TokenCount, CountRefused], str]] = {
    "B07a another model": (
        Success(attrs.evolve(GOOD, target=ContextTarget(model="x", template_revision="test-v1"))),
        "UnverifiedCount target",
    ),
    "another template": (
        Success(attrs.evolve(GOOD, target=ContextTarget(model="test-model", template_revision="x"))),
        "UnverifiedCount target",
    ),
    "B07b no method": (Success(attrs.evolve(GOOD, method=" ")), "UnverifiedCount blank_method"),
    "an estimate": (
        Success(attrs.evolve(GOOD, evidence=TokenBoundEvidence.ESTIMATE)),
        "UnverifiedCount evidence",
    ),
    "B07c nothing": (Success(counted(template(0))), "InvalidInput zero_count"),
    "B07d beyond the window of numbers": (
        Success(counted(TokenBreakdown(system=0, messages=MOST, constraint=1, template=0))),
        "Overflow count",
    ),
    "a part below zero": (
        Success(counted(TokenBreakdown(system=-1, messages=9, constraint=0, template=0))),
        "Overflow count",
    ),
    "B07d with the reserve beyond": (
        Success(counted(TokenBreakdown(system=0, messages=MOST, constraint=0, template=0))),
        "Overflow total",
    ),
    "B07e a refusal": (Failure(CountRefused(reason="no such model")), "CounterFailed no such model"),
    # Of several faults the first in the order of B4.
    "target before method": (
        Success(attrs.evolve(GOOD, target=ContextTarget(model="x", template_revision="y"), method="")),
        "UnverifiedCount target",
    ),
    "method before evidence": (
        Success(attrs.evolve(GOOD, method="", evidence=TokenBoundEvidence.ESTIMATE)),
        "UnverifiedCount blank_method",
    ),
    "evidence before the numbers": (
        Success(attrs.evolve(counted(template(0)), evidence=TokenBoundEvidence.ESTIMATE)),
        "UnverifiedCount evidence",
    ),
}


def said_of(failure: BuildFailure) -> str:
    """The kind of a failure, and its reason."""
    match failure:
        case UnverifiedCount(reason=reason):
            return f"UnverifiedCount {reason.value}"
        case InvalidInput(reason=invalid):
            return f"InvalidInput {invalid.value}"
        case Overflow(what=what):
            return f"Overflow {what.value}"
        case CounterFailed(reason=text):
            return f"CounterFailed {text}"
        case _:
            return repr(failure)


@pytest.mark.parametrize(("answer", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_b07_an_answer_that_cannot_be_used_is_refused_with_the_report_so_far(
    answer: Outcome[TokenCount, CountRefused], expected: str
) -> None:
    found = build(history(0), inputs(), Scripted(lambda _: answer))

    assert isinstance(found, Failure)
    failure = found.failure()
    assert expected == said_of(failure)
    assert isinstance(failure, UnverifiedCount | InvalidInput | Overflow | CounterFailed)
    assert failure.report is not None
    assert () == failure.report.attempts
    assert () == failure.report.sent


@pytest.mark.parametrize("reserve", [MOST, MOST - 15])
def test_b07f_a_reserve_beyond_the_window_of_numbers_overflows(reserve: int) -> None:
    assert Failure(Overflow(what=OverflowWhat.RESERVED)) == build(history(0), inputs(reserve=reserve), BYTES)


def test_a_window_beyond_the_numbers_overflows_before_its_reserve() -> None:
    answers = Scripted(lambda _: Success(counted(template(1))))

    assert Failure(Overflow(what=OverflowWhat.WINDOW)) == build(
        history(0), inputs(window=MOST + 1, reserve=MOST + 1), answers
    )
    assert [] == answers.requests
    assert isinstance(build(history(0), inputs(window=MOST), answers), Success)


def test_the_largest_reserve_is_a_budget_that_does_not_fit() -> None:
    answers = Scripted(lambda _: Success(counted(template(1))))

    assert Failure(Overflow(what=OverflowWhat.RESERVED)) == build(
        history(0), inputs(reserve=MOST, margin=1), answers
    )
    assert [] == answers.requests
    assert "Overflow total" == said_of(
        build(history(0), inputs(reserve=MOST - 16, margin=16), answers).failure()
    )


def test_a_margin_below_zero_is_refused() -> None:
    assert Failure(Overflow(what=OverflowWhat.RESERVED)) == build(history(0), inputs(margin=-1), BYTES)


LIMITS: dict[str, tuple[BuildLimits, BuildFailure]] = {
    "B08a input bytes": (
        BuildLimits(max_input_bytes=1),
        LimitExceeded(what=Bound.INPUT_BYTES, limit=1, actual=3 * 874 + 2 + 31 + 15),
    ),
    "B08b messages": (BuildLimits(max_messages=12), LimitExceeded(what=Bound.MESSAGES, limit=12, actual=13)),
    "B08c groups": (BuildLimits(max_groups=8), LimitExceeded(what=Bound.GROUPS, limit=8, actual=9)),
    "turns": (BuildLimits(max_turns=2), LimitExceeded(what=Bound.TURNS, limit=2, actual=3)),
    "groups before turns": (
        BuildLimits(max_groups=1, max_turns=1, max_messages=1, max_input_bytes=1),
        LimitExceeded(what=Bound.GROUPS, limit=1, actual=9),
    ),
    "turns before input bytes": (
        BuildLimits(max_turns=1, max_messages=1, max_input_bytes=1),
        LimitExceeded(what=Bound.TURNS, limit=1, actual=3),
    ),
    "input bytes before messages": (
        BuildLimits(max_messages=1, max_input_bytes=1),
        LimitExceeded(what=Bound.INPUT_BYTES, limit=1, actual=3 * 874 + 2 + 31 + 15),
    ),
}


@pytest.mark.parametrize(("limits", "expected"), LIMITS.values(), ids=LIMITS)
def test_b08_a_limit_fails_closed(limits: BuildLimits, expected: BuildFailure) -> None:
    assert Failure(expected) == build(history(3), inputs(limits=limits), BYTES)


def test_limits_that_are_met_exactly_are_kept() -> None:
    limits = BuildLimits(
        max_input_bytes=3 * 874 + 2 + 31 + 15,
        max_groups=9,
        max_turns=3,
        max_messages=13,
        max_count_calls=1,
    )

    assert 1 == len(built(build(history(3), inputs(limits=limits), BYTES)).report.attempts)


def test_b08e_one_count_that_does_not_fit_is_a_count_limit() -> None:
    given = inputs(window=1, limits=BuildLimits(max_count_calls=1))
    found = build(history(3), given, BYTES, search=Search.LINEAR)

    assert isinstance(found, Failure)
    failure = found.failure()
    assert isinstance(failure, CountLimit)
    assert (1, 1, [True] * 3) == (failure.limit, len(failure.report.attempts), retained(failure.report))


def test_one_count_is_enough_for_a_bisection_to_know_an_impossible_budget() -> None:
    """Where the acceptance cases end in a count limit, `AUTO` looks at the smallest candidate first."""
    given = inputs(window=1, limits=BuildLimits(max_count_calls=1))
    failure = does_not_fit(build(history(3), given, BYTES))

    assert (1, [False] * 3) == (len(failure.report.attempts), retained(failure.report))
    assert not failure.exhaustive


def test_b10_the_same_inputs_give_the_same_context() -> None:
    whole = history(4)
    found = built(build(whole, inputs(window=2400), BYTES))

    assert found == built(build(whole, inputs(window=2400), BYTES))
    assert 1 == found.report.algorithm_version
    assert [False, False, True, True] == retained(found.report)


NAMED = NativeToolsConstraint(
    tools=(ToolDefinition(name="read", description="description" * 500, parameters=Json("{}")),),
    choice=NamedChoice(name="read"),
)


def test_b11_tools_are_counted_and_not_filtered() -> None:
    found = built(build(history(0), inputs(constraint=NAMED), BYTES))

    assert isinstance(
        does_not_fit(build(history(0), inputs(window=500, constraint=NAMED), BYTES)), DoesNotFit
    )
    assert NAMED == found.request.constraint
    assert 5000 < found.report.attempts[-1].count.tokens.constraint


def by_messages(request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
    return Success(counted(template({13: 500, 9: 700}.get(len(request.messages), 50))))


def test_b12_costs_are_neither_assumed_to_subtract_nor_to_fall() -> None:
    counter = Scripted(by_messages)
    report = built(build(history(3), inputs(window=200), counter)).report

    assert [580, 780, 130] == totals(report)
    assert [13, 9, 5] == [len(request.messages) for request in counter.requests]
    assert [False, False, True] == retained(report)
    assert Search.LINEAR is report.search


# --- inputs that no budget makes right (B2, B09) --------------------------------------------------


def invalid(reason: str, path: str) -> InvalidInput:
    return InvalidInput(reason=InvalidInputReason(reason), path=path)


USER: Final = UserMessage(content="x")
BAD_LIMITS = {
    name: BuildLimits(**{name: 0})
    for name in ("max_input_bytes", "max_groups", "max_turns", "max_messages", "max_count_calls")
}
INVALID: dict[str, tuple[BuildInputs, BuildFailure]] = {
    **{
        f"B08d {name}": (inputs(limits=limits), invalid("zero_limit", f"/limits/{name}"))
        for name, limits in BAD_LIMITS.items()
    },
    "no window": (inputs(window=0), invalid("zero_window", "/budget/window_tokens")),
    "no reserve": (inputs(reserve=0), invalid("zero_output_reserve", "/budget/output_reserve")),
    "a reserve below zero": (inputs(reserve=-1), invalid("zero_output_reserve", "/budget/output_reserve")),
    "no model": (
        inputs(target=ContextTarget(model=" ", template_revision="r")),
        invalid("blank_model", "/target/model"),
    ),
    "no template": (
        inputs(target=ContextTarget(model="m", template_revision="")),
        invalid("blank_template_revision", "/target/template_revision"),
    ),
    "no current": (inputs(()), invalid("current_empty", "/current")),
    "current opens with the model": (
        inputs([AssistantMessage(content="x")]),
        invalid("current_not_user_first", "/current/0"),
    ),
    "current opens with the host": (
        inputs([SystemMessage(content="x"), USER]),
        invalid("current_not_user_first", "/current/0"),
    ),
    "B09f a host's word in current": (
        inputs([USER, SystemMessage(content="x")]),
        invalid("current_has_system", "/current/1"),
    ),
    "B09a an unknown pin": (inputs(pins=["t0", "missing"]), invalid("unknown_pin", "/pinned_turns/1")),
    "a pin twice": (inputs(pins=["t0", "t0"]), invalid("duplicate_pin", "/pinned_turns/1")),
    "an unknown pin twice": (inputs(pins=["x", "x"]), invalid("unknown_pin", "/pinned_turns/0")),
    # Of several faults the first in the order of B2.
    "limits before the window": (
        inputs(window=0, limits=BuildLimits(max_groups=0)),
        invalid("zero_limit", "/limits/max_groups"),
    ),
    "the target before the evidence": (
        inputs(output=TokenBoundEvidence.ESTIMATE, target=ContextTarget(model="", template_revision="")),
        invalid("blank_model", "/target/model"),
    ),
    "the evidence before the limits": (
        inputs(output=TokenBoundEvidence.ESTIMATE, limits=BuildLimits(max_groups=1)),
        UnverifiedCount(reason=UnverifiedReason.OUTPUT_EVIDENCE),
    ),
    "the limits before current": (
        inputs((), limits=BuildLimits(max_turns=1)),
        LimitExceeded(what=Bound.TURNS, limit=1, actual=2),
    ),
    "current before its shape": (
        inputs([USER, CURRENT_CALL, SystemMessage(content="x")]),
        invalid("current_has_system", "/current/2"),
    ),
    "the shape of current before the pins": (
        inputs([USER, CURRENT_CALL], pins=["missing"]),
        ShapeInvalid(error=MissingToolResults(call_ids=("current-call",))),
    ),
    "the pins before the reserve": (
        inputs(reserve=MOST, pins=["missing"]),
        invalid("unknown_pin", "/pinned_turns/0"),
    ),
    "the reserve before the constraint": (
        inputs(reserve=MOST, constraint=NativeToolsConstraint(tools=())),
        Overflow(what=OverflowWhat.RESERVED),
    ),
}


@pytest.mark.parametrize(("given", "expected"), INVALID.values(), ids=INVALID)
def test_inputs_that_no_budget_makes_right_are_refused_before_any_count(
    given: BuildInputs, expected: BuildFailure
) -> None:
    counter = Scripted(lambda _: Success(GOOD))

    assert Failure(expected) == build(history(2), given, counter)
    assert Failure(expected) == build_foreign(flattened(history(2)), given, counter)
    assert [] == counter.requests


CONSTRAINTS: list[tuple[GenerationConstraint, ShapeFailure]] = [
    (NativeToolsConstraint(tools=()), EmptyToolSet()),
    (attrs.evolve(NAMED, tools=NAMED.tools * 2), DuplicateToolName(name="read")),
    (JsonSchemaConstraint(name="", schema=Json("{}")), EmptyName(index=None)),
]


@pytest.mark.parametrize(("constraint", "expected"), CONSTRAINTS)
def test_a_malformed_constraint_is_refused_before_any_count(
    constraint: GenerationConstraint, expected: ShapeFailure
) -> None:
    assert Failure(ShapeInvalid(error=expected)) == build(
        history(1), inputs(window=1, constraint=constraint), BYTES
    )


def test_recorded_arguments_that_are_no_object_are_told_at_their_place_in_the_request() -> None:
    """Two system texts in front, then user, call: message 3. A tight budget does not hide it."""
    whole = project(SESSION, log_of("user; call a x 5; result a; reply; done")).unwrap()
    given = inputs(window=1, system=["a", "b"], constraint=NativeToolsConstraint(tools=()))

    assert Failure(ShapeInvalid(error=ArgumentsNotObject(index=3))) == build(whole, given, BYTES)


def test_an_open_turn_is_no_history() -> None:
    whole = project(SESSION, log_of("user; reply; done; turn two; user")).unwrap()
    expected = invalid("open_turn", "/projection/turns/1/state")

    assert Failure(expected) == build(whole, inputs(window=1), BYTES)
    assert Failure(expected) == build_foreign(flattened(whole), inputs(window=1), BYTES)


def foreign(change: Callable[[ForeignProjection], ForeignProjection]) -> ForeignProjection:
    return change(flattened(history(1)))


def first_group(**changes: object) -> Callable[[ForeignProjection], ForeignProjection]:
    def change(found: ForeignProjection) -> ForeignProjection:
        group: ForeignGroup = attrs.evolve(found.groups[0], **changes)  # type: ignore[arg-type]
        return attrs.evolve(found, groups=(group, *found.groups[1:]))

    return change


def popped(found: ForeignProjection) -> ForeignProjection:
    user, exchange, reply = found.groups
    return attrs.evolve(found, groups=(user, attrs.evolve(exchange, messages=exchange.messages[:1]), reply))


def opened(found: ForeignProjection) -> ForeignProjection:
    return attrs.evolve(found, turns=(attrs.evolve(found.turns[0], state=ProjectedState.OPEN),))


HISTORIES: dict[str, tuple[Callable[[ForeignProjection], ForeignProjection], str, str]] = {
    "B09b a system message in the history": (
        first_group(messages=(SystemMessage(content="x"),)),
        "group_shape",
        "/projection/groups/0/messages",
    ),
    "B09c an open turn": (opened, "open_turn", "/projection/turns/0/state"),
    "B09d an exchange without its result": (popped, "group_shape", "/projection/groups/1/messages"),
    "B09e another version": (
        lambda found: attrs.evolve(found, algorithm_version=99),
        "unsupported_projection_version",
        "/projection/algorithm_version",
    ),
    "a turn twice": (
        lambda found: attrs.evolve(found, turns=found.turns * 2),
        "duplicate_turn",
        "/projection/turns/1/turn_id",
    ),
    "a turn of no name": (
        lambda found: attrs.evolve(found, turns=(attrs.evolve(found.turns[0], turn_id=TurnId("")),)),
        "blank_turn_id",
        "/projection/turns/0/turn_id",
    ),
    "a group of another turn": (
        first_group(turn_id=TurnId("x")),
        "unknown_group_turn",
        "/projection/groups/0/turn_id",
    ),
    "groups out of order": (
        lambda found: attrs.evolve(
            found,
            turns=(*found.turns, attrs.evolve(found.turns[0], turn_id=TurnId("t1"))),
            groups=(attrs.evolve(found.groups[0], turn_id=TurnId("t1")), found.groups[2]),
        ),
        "group_out_of_order",
        "/projection/groups/1/turn_id",
    ),
    "a group of nothing": (
        first_group(source_events=()),
        "group_without_sources",
        "/projection/groups/0/source_events",
    ),
}


@pytest.mark.parametrize(("change", "reason", "path"), HISTORIES.values(), ids=HISTORIES)
def test_b09_a_bad_history_does_not_disappear_because_the_budget_is_tight(
    change: Callable[[ForeignProjection], ForeignProjection], reason: str, path: str
) -> None:
    assert Failure(invalid(reason, path)) == build_foreign(foreign(change), inputs(window=1), BYTES)


def test_a_bad_history_is_told_before_a_bad_reserve_and_after_a_bad_current() -> None:
    bad = foreign(popped)

    assert "InvalidInput group_shape" == said_of(build_foreign(bad, inputs(reserve=MOST), BYTES).failure())
    assert "InvalidInput current_empty" == said_of(build_foreign(bad, inputs(()), BYTES).failure())
    assert "InvalidInput unknown_pin" == said_of(build_foreign(bad, inputs(pins=["x"]), BYTES).failure())


def test_a_history_from_outside_builds_like_the_one_it_came_from() -> None:
    whole = history(4)
    given = inputs(window=2400, pins=["t1"])

    assert build(whole, given, BYTES) == build_foreign(flattened(whole), given, BYTES)


def test_a_version_that_the_builder_does_not_know_is_refused() -> None:
    newer = attrs.evolve(history(1), algorithm_version=2)
    expected = invalid("unsupported_projection_version", "/projection/algorithm_version")

    assert Failure(expected) == build(newer, inputs(window=1), BYTES)


# --- the search, the counts (B5) ------------------------------------------------------------------


def constant(tokens: int) -> Scripted:
    return Scripted(lambda _: Success(counted(template(tokens))))


def fits_with(turns: int) -> Scripted:
    """A counter for which a request of at most this many turns fits."""
    return Scripted(lambda r: Success(counted(template(50 if len(r.messages) <= turns * 4 + 1 else 500))))


@pytest.mark.parametrize(("turns", "attempts"), [(126, 127), (127, 128)])
def test_127_removals_are_possible_with_the_default_counts(turns: int, attempts: int) -> None:
    report = built(build(history(turns), inputs(window=200), fits_with(0), search=Search.LINEAR)).report

    assert attempts == len(report.attempts)
    assert not any(retained(report))


def test_128_removals_one_by_one_use_up_the_counts_but_a_bisection_does_not() -> None:
    whole = history(128)
    linear = build(whole, inputs(window=200), fits_with(0), search=Search.LINEAR).failure()
    bisect = built(build(whole, inputs(window=200), fits_with(0), search=Search.AUTO)).report

    assert isinstance(linear, CountLimit)
    assert (128, 128, 127) == (
        linear.limit,
        len(linear.report.attempts),
        linear.report.attempts[-1].removed_turns,
    )
    assert Search.BISECT is bisect.search
    assert 128 == bisect.attempts[-1].removed_turns


@pytest.mark.parametrize(("turns", "expected"), [(1, DoesNotFit), (2, CountLimit)])
def test_the_last_permitted_count_decides_if_nothing_is_left(
    turns: int, expected: type[BuildFailure]
) -> None:
    given = inputs(window=1, limits=BuildLimits(max_count_calls=2))
    failure = build(history(turns), given, BYTES, search=Search.LINEAR).failure()

    assert expected is type(failure)
    assert isinstance(failure, DoesNotFit | CountLimit)
    assert 2 == len(failure.report.attempts)


def test_counts_used_up_before_the_search_has_closed_are_a_limit_even_if_something_had_fitted() -> None:
    counter = fits_with(2)
    given = inputs(window=200, limits=BuildLimits(max_count_calls=3))
    failure = build(history(20), given, counter, search=Search.BISECT).failure()

    assert isinstance(failure, CountLimit)
    assert 3 == len(failure.report.attempts) == len(counter.requests)
    assert any(total <= 200 for total in totals(failure.report))


def test_an_impossible_budget_is_known_after_two_counts() -> None:
    failure = does_not_fit(build(history(50), inputs(window=100), constant(500), search=Search.BISECT))

    assert not failure.exhaustive
    assert 2 >= len(failure.report.attempts)
    assert 50 == failure.report.attempts[-1].removed_turns
    assert not any(retained(failure.report))


def test_with_an_additive_counter_a_failure_is_exhaustive_and_takes_one_count() -> None:
    failure = does_not_fit(build(history(50), inputs(window=100), AdditiveByteCounter()))

    assert failure.exhaustive
    assert Search.BISECT is failure.report.search
    assert [50] == [attempt.plan_steps for attempt in failure.report.attempts]


@pytest.mark.parametrize("window", [100, 128, 1002, 1003, 1500, 3000, 9000, 17_000, 18_000])
def test_b7_with_an_additive_counter_bisection_finds_what_the_walk_finds(window: int) -> None:
    whole = history(20)
    walked = build(whole, inputs(window=window), AdditiveByteCounter(), search=Search.LINEAR)
    jumped = build(whole, inputs(window=window), AdditiveByteCounter(), search=Search.BISECT)

    match walked:
        case Success(found):
            assert found.request == built(jumped).request
            assert found.report.turns == built(jumped).report.turns
            assert 2 >= len(built(jumped).report.attempts)
        case Failure(failure):
            assert type(failure) is type(jumped.failure())


def test_b7_the_last_number_is_the_request_counted_again() -> None:
    found = built(build(history(20), inputs(window=4000), BYTES, search=Search.BISECT))
    again = BYTES.count(TARGET, found.request).unwrap()

    assert again == found.report.attempts[-1].count
    assert again.tokens.total + 80 == totals(found.report)[-1] <= 4000


def test_a_margin_of_zero_is_allowed() -> None:
    report = built(build(history(0), inputs(window=64 + 31 + 15 + 17, margin=0), BYTES)).report

    assert [127] == totals(report)


def test_a_counter_that_fails_after_some_removals_hands_the_report_so_far() -> None:
    def answer(request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        if len(request.messages) < 9:
            return Failure(CountRefused(reason="gone"))
        return Success(counted(template(500)))

    failure = build(history(3), inputs(window=200), Scripted(answer)).failure()

    assert isinstance(failure, CounterFailed)
    assert "gone" == failure.reason
    assert failure.report is not None
    assert [580, 580] == totals(failure.report)
    assert [False, True, True] == retained(failure.report)


def test_an_exception_of_the_host_is_not_swallowed() -> None:
    def answer(_: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        build(history(0), inputs(), Scripted(answer))


def test_every_candidate_is_assembled_whole_and_the_last_one_is_what_leaves() -> None:
    given = inputs(window=200, system=["a"], pins=["t1"])
    counter = Scripted(lambda r: Success(counted(template(50 if len(r.messages) <= 6 else 500))))
    whole = history(3)
    found = built(build(whole, given, counter))
    kept = (SystemMessage(content="a"), *whole.turns[1].messages, *given.current)

    assert kept == found.request.messages
    assert found.request is counter.requests[-1]
    assert [0, 1, 2] == [attempt.removed_turns for attempt in found.report.attempts]


# --- candidates and plans (R1, R5) ------------------------------------------------------------------


@final
@attrs.frozen
class Planned:
    """A strategy that proposes one plan, whatever it is given."""

    made: Plan
    name: str = "planned"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        return self.made


def drop(*turns: str) -> tuple[Reduction, ...]:
    return tuple(DropTurn(turn_id=TurnId(turn)) for turn in turns)


def steps(*each: Sequence[str]) -> tuple[PlanStep, ...]:
    return tuple(PlanStep(reductions=drop(*turns)) for turns in each)


@final
class Watching:
    """A strategy that remembers what it was given."""

    name = "watching"

    def __init__(self) -> None:
        self.candidates: Sequence[Candidate] = ()
        self.room: Room | None = None

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        self.candidates, self.room = candidates, room
        return Plan()


def test_r1_r5_a_strategy_sees_only_what_may_be_left_out_and_the_room() -> None:
    table = "turn t0; user; reply; done; turn t1; error; turn t2; user; error; turn t3; user; reply; done"
    whole = project(SESSION, log_of(table)).unwrap()
    watching = Watching()
    built(build(whole, inputs(pins=["t0", "t1"], system=["s"]), BYTES, strategy=watching))

    assert [("t2", 2, 1, 36), ("t3", 3, 2, 70)] == [
        (c.turn_id, c.position, c.message_count, c.canonical_bytes)
        for c in watching.candidates
        if isinstance(c, TurnCandidate)
    ]
    assert (
        Room(
            window_tokens=1_000_000,
            reserved_tokens=80,
            required_bytes=70 + 31 + 15 + len('{"role":"system","content":"s"}'),
            session_id=SESSION,
            turns=whole.turns,
            required=(SystemMessage(content="s"), *whole.turns[0].messages, *inputs().current),
        )
        == watching.room
    )


@final
class Untouchable:
    """Stands for a turn, and breaks whatever looks into it."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"a turn that is left out was asked for its {name}")


@pytest.mark.parametrize("pins", [[], ["t3"]])
def test_b06_a_build_does_not_look_at_what_it_leaves_out(pins: list[str]) -> None:
    """A thousand old turns that nobody may read, and the last five; one turn more than fits is counted."""
    whole = history(5)
    old = [cast("ProjectedTurn", Untouchable())] * 1000
    many = attrs.evolve(
        whole,
        turns=vector([*old, *whole.turns]),
        sources=vector(
            [TurnSources(turn_id=TurnId(f"o{i}"), source_events=()) for i in range(1000)]
        ).extended(whole.sources),
        group_count=whole.group_count + 1000,
        message_count=whole.message_count + 1000,
        canonical_bytes=whole.canonical_bytes + 40_000,
    )
    given = inputs(window=3000, pins=pins)
    expected = built(build(whole, given, AdditiveByteCounter()))
    found = built(build(many, given, AdditiveByteCounter()))

    assert expected.request == found.request
    assert [1001, 1002] == [attempt.removed_turns for attempt in found.report.attempts]
    assert [False] * 1000 + retained(expected.report) == retained(found.report)


def test_r5_a_turn_without_messages_stays_and_costs_no_count() -> None:
    table = "turn t0; error; turn t1; user; reply; done; turn t2; done cancelled"
    whole = project(SESSION, log_of(table)).unwrap()
    report = built(build(whole, inputs(window=200), fits_with(0))).report

    assert [True, False, True] == retained(report)
    assert [0, 1] == [attempt.removed_turns for attempt in report.attempts]


PLANS: dict[str, tuple[Plan, InvalidPlan]] = {
    "a stranger": (
        Plan(steps=steps(["t1"], ["x"])),
        InvalidPlan(step=1, reason=InvalidPlanReason.UNKNOWN_CANDIDATE, turn_id=TurnId("x")),
    ),
    "a pinned turn": (
        Plan(steps=steps(["t0"])),
        InvalidPlan(step=0, reason=InvalidPlanReason.PINNED, turn_id=TurnId("t0")),
    ),
    "a pinned turn in the base": (
        Plan(base=drop("t1", "t0")),
        InvalidPlan(step=None, reason=InvalidPlanReason.PINNED, turn_id=TurnId("t0")),
    ),
    "a turn twice": (
        Plan(steps=steps(["t1"], ["t2", "t1"])),
        InvalidPlan(step=1, reason=InvalidPlanReason.REPEATED, turn_id=TurnId("t1")),
    ),
    "a turn of the base again": (
        Plan(base=drop("t1"), steps=steps(["t1"])),
        InvalidPlan(step=0, reason=InvalidPlanReason.REPEATED, turn_id=TurnId("t1")),
    ),
    "a turn without messages": (
        Plan(steps=steps(["t3"])),
        InvalidPlan(step=0, reason=InvalidPlanReason.UNKNOWN_CANDIDATE, turn_id=TurnId("t3")),
    ),
}
FOUR: Final = (
    "turn t0; user; reply; done; turn t1; user; reply; done; turn t2; user; reply; done; turn t3; error"
)


@pytest.mark.parametrize(("plan", "expected"), PLANS.values(), ids=PLANS)
def test_a_plan_that_names_what_it_may_not_is_refused_before_any_count(
    plan: Plan, expected: InvalidPlan
) -> None:
    whole = project(SESSION, log_of(FOUR)).unwrap()
    counter = constant(1)

    assert Failure(expected) == build(whole, inputs(pins=["t0"]), counter, strategy=Planned(plan))
    assert [] == counter.requests


def test_a_base_is_left_out_before_the_first_count_and_a_step_is_applied_whole() -> None:
    whole = project(SESSION, log_of(FOUR)).unwrap()
    plan = Plan(base=drop("t1"), steps=steps(["t2", "t0"]))
    counter = Scripted(lambda r: Success(counted(template(50 if len(r.messages) == 1 else 500))))
    report = built(build(whole, inputs(window=200), counter, strategy=Planned(plan))).report

    assert [(1, 0), (3, 1)] == [(a.removed_turns, a.plan_steps) for a in report.attempts]
    assert [5, 1] == [len(request.messages) for request in counter.requests]
    assert [False, False, False, True] == retained(report)
    assert drop("t0", "t1", "t2") == report.turns.reductions
    assert "planned" == report.strategy


def test_a_plan_need_not_name_every_candidate() -> None:
    plan = Plan(steps=steps(["t2"], []))
    failure = does_not_fit(
        build(history(3), inputs(window=100), AdditiveByteCounter(), strategy=Planned(plan))
    )

    assert [True, True, False] == retained(failure.report)
    assert 2 == failure.report.attempts[-1].plan_steps


def test_with_an_empty_step_the_walk_and_the_bisection_agree() -> None:
    plan = Plan(steps=steps([], ["t0"], [], ["t1"]))
    found = [
        built(
            build(
                history(3), inputs(window=1100), AdditiveByteCounter(), strategy=Planned(plan), search=search
            )
        )
        for search in (Search.LINEAR, Search.BISECT)
    ]

    assert found[0].request == found[1].request
    assert [4, 4] == [each.report.attempts[-1].plan_steps for each in found]


# --- the report (B6) and survival (B8) --------------------------------------------------------------


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_b6_the_report_says_what_was_sent_and_what_it_cost() -> None:
    whole = history(2)
    found = built(build(whole, inputs(window=1200, system=["s"]), AdditiveByteCounter()))
    report = found.report

    assert [
        MessageRole.SYSTEM,
        MessageRole.USER,
        MessageRole.ASSISTANT,
        MessageRole.TOOL,
        MessageRole.ASSISTANT,
        MessageRole.USER,
    ] == [sent.role for sent in report.sent]
    assert [sha256(message_text(m)) for m in found.request.messages] == [s.digest for s in report.sent]
    assert [message_bytes(m) for m in found.request.messages] == [s.cost for s in report.sent]
    assert sha256('{"mode":"text"}') == report.constraint_digest
    assert (None, None) == (report.summary_digest, report.items_digest)
    assert (1, 1, "oldest_turn_first", Search.BISECT) == (
        report.algorithm_version,
        report.projection_version,
        report.strategy,
        report.search,
    )
    assert (1, 1, TARGET) == (report.system_messages, report.current_messages, report.target)


def test_b6_costs_are_told_by_additive_counters_only() -> None:
    report = built(build(history(1), inputs(), BYTES)).report

    assert {None} == {sent.cost for sent in report.sent}


def test_b6_in_memory_the_report_shares_the_sources_of_the_projection() -> None:
    whole = history(2)
    report = built(build(whole, inputs(), BYTES)).report

    assert whole.sources is report.turns.sources
    assert (
        TurnSources(
            turn_id=TurnId("t1"), source_events=tuple(EventId(f"event-{seq}") for seq in (5, 6, 7, 8))
        )
        == report.turns.sources[1]
    )


def test_pins_are_reported_in_the_order_of_the_turns() -> None:
    report = built(build(history(3), inputs(pins=["t2", "t0"]), BYTES)).report

    assert ("t0", "t2") == report.turns.pinned
    assert [True, False, True] == [row.protected for row in report.turns.rows]


class TestSurvival:
    """B8: what must stand in a request is looked for in the build's inputs, in order."""

    HISTORY = history(2)
    GIVEN = inputs(CURRENT, system=["a", "b"], pins=["t1"])
    WHOLE = built(build(HISTORY, GIVEN, BYTES)).request

    def missing(self, messages: Sequence[ModelMessage]) -> tuple[str, ...]:
        return missing_content(GenerationRequest(messages=tuple(messages)), self.HISTORY, self.GIVEN)

    def test_everything_stands_in_what_a_build_returns(self) -> None:
        assert () == self.missing(self.WHOLE.messages)

    def test_what_is_gone_is_named_once(self) -> None:
        assert (
            "/system/0",
            "/system/1",
            "/pinned_turns/t1",
            "/current/0",
            "/current/1",
            "/current/2",
        ) == self.missing(())

    @pytest.mark.parametrize(
        ("index", "expected"),
        [(0, "/system/0"), (1, "/system/1"), (7, "/pinned_turns/t1"), (-1, "/current/2"), (-3, "/current/0")],
    )
    def test_a_message_that_is_gone_is_named(self, index: int, expected: str) -> None:
        messages = list(self.WHOLE.messages)
        del messages[index]

        assert (expected,) == self.missing(messages)

    def test_a_message_in_the_wrong_place_is_gone(self) -> None:
        first, second, *rest = self.WHOLE.messages

        assert ("/system/1",) == self.missing([second, first, *rest])

    def test_a_bug_of_ours_is_said_as_a_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An assembler that loses the second system text: the request does not leave."""
        module = importlib.import_module("jingwei.drafts.draft")
        whole = module.Draft.request

        def losing(draft: object, steps: int) -> GenerationRequest:
            request: GenerationRequest = whole(draft, steps)
            return attrs.evolve(request, messages=(request.messages[0], *request.messages[2:]))

        monkeypatch.setattr(module.Draft, "request", losing)
        failure = build(self.HISTORY, self.GIVEN, BYTES).failure()

        assert isinstance(failure, SurvivalBroken)
        assert ("/system/1",) == failure.missing
        assert 1 == len(failure.report.attempts)

    def test_unpinned_turns_may_be_gone(self) -> None:
        assert () == self.missing([*self.WHOLE.messages[:2], *self.WHOLE.messages[6:]])


RUNNING: Final[tuple[ModelMessage, ...]] = (
    user("go"),
    asked("a"),
    result("a", 9000),
    asked("b"),
    result("b", 10),
    user("?"),
    asked("c"),
    result("c", 9000),
)


class TestTheRunningTurnR6:
    """Where the host lets its finished exchanges be candidates."""

    def found(self, window: int, *, reduce_current: bool = True) -> Outcome[BuiltContext, BuildFailure]:
        given = attrs.evolve(inputs(RUNNING, window=window), reduce_current=reduce_current)
        return build(history(1), given, AdditiveByteCounter())

    def kinds(self, window: int) -> tuple[list[bool], list[ReductionKind | None]]:
        report = built(self.found(window)).report
        assert report.exchanges is not None
        return retained(report), [row.reduction for row in report.exchanges]

    def test_turns_go_first_then_exchanges_are_condensed_then_dropped(self) -> None:
        condensed, dropped = ReductionKind.CONDENSED, ReductionKind.DROPPED

        assert ([True], [None] * 3) == self.kinds(100_000)
        assert ([False], [None] * 3) == self.kinds(19_200)
        assert ([False], [condensed, None, None]) == self.kinds(18_000)
        assert ([False], [dropped, None, None]) == self.kinds(9_700)
        assert ([False], [dropped, dropped, None]) == self.kinds(9_500)

    def test_the_last_exchange_is_never_touched(self) -> None:
        report = does_not_fit(self.found(9_000)).report

        assert report.exchanges is not None
        assert [False, False, True] == [row.retained for row in report.exchanges]
        assert 4 == report.current_messages == len(report.sent)

    def test_without_the_word_of_the_host_all_of_it_is_kept(self) -> None:
        report = does_not_fit(self.found(18_000, reduce_current=False)).report

        assert (None, 8) == (report.exchanges, report.current_messages)

    @pytest.mark.parametrize(
        ("messages", "expected"),
        [
            (RUNNING[:1] + RUNNING[3:], ["/current/1", "/current/2"]),
            (RUNNING, []),
            ((*RUNNING[:2], result("a", 1), *RUNNING[3:]), []),
            ((*RUNNING[:2], result("x", 1), *RUNNING[3:]), ["/current/0", "/current/1", "/current/2"]),
            (RUNNING[:-1], ["/current/7"]),
        ],
    )
    def test_b08_of_a_condensed_exchange_all_but_its_texts_is_looked_for(
        self, messages: tuple[ModelMessage, ...], expected: list[str]
    ) -> None:
        given = inputs(RUNNING)
        request = GenerationRequest(messages=messages)

        assert expected == list(missing_content(request, history(0), given, {0: CondenseExchange(index=0)}))

    def test_b08_a_dropped_exchange_is_not_looked_for(self) -> None:
        request = GenerationRequest(messages=RUNNING[:1] + RUNNING[3:])

        assert () == missing_content(request, history(0), inputs(RUNNING), {0: DropExchange(index=0)})
        assert ("/current/3", "/current/4") == missing_content(
            GenerationRequest(messages=RUNNING[:1] + RUNNING[5:]),
            history(0),
            inputs(RUNNING),
            {0: DropExchange(index=0)},
        )


def test_b02_a_turn_in_quarantine_is_not_pinned() -> None:
    whole = history(2)
    damaged = turn_of(TurnId("t0"), ProjectedState.QUARANTINED, None, (), missing_complete_reply=False)
    broken = attrs.evolve(whole, turns=vector([damaged, whole.turns[1]]), silent=vector([0]))

    assert Failure(invalid("quarantined_pin", "/pinned_turns/1")) == build(
        broken, inputs(pins=["t1", "t0"]), BYTES
    )
    assert isinstance(build(broken, inputs(pins=["t1"]), BYTES), Success)


def test_g02_the_soft_budget_of_the_guide() -> None:
    current = (UserMessage(content="请回答当前问题"),)
    given = BuildInputs(
        current=current,
        target=ContextTarget(model="model", template_revision="1"),
        budget=ContextBudget(window_tokens=4096, output_reserve=512, safety_margin=128),
        system=("遵守主机的规则",),
        state_version="host-state-7",
    )
    found = built(build(history(0), given, ByteHeuristicCounter()))

    assert current == found.request.messages[-1:]
    assert BudgetMode.SOFT is found.report.budget.mode
    assert 4096 >= totals(found.report)[-1]
    assert "host-state-7" == found.report.state_version
