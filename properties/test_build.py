"""The build: inputs to the exact request, or a reason (rules B1 to B8, B11, R1, R5).

Each class is one paragraph; the naive second builder stands in `build_models.py`.
"""

import copy
import hashlib
import json
import pickle
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import TypeAlias, final

import attrs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jingwei.build import BuildInputs, BuiltContext, build, build_foreign, missing_content
from jingwei.drafts.draft import Draft
from jingwei.ids import EventId, ProviderCallId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import vector
from jingwei.projection.admit import admit_projection
from jingwei.projection.records import ForeignProjection, ProjectedState, Projection, turn_of
from jingwei.projection.wire import flattened
from jingwei.recount import ReportChange, Verdict, report_changes, reverify
from jingwei.report.failures import (
    BuildFailure,
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    InvalidInputReason,
    Overflow,
    SurvivalBroken,
    UnverifiedCount,
)
from jingwei.report.records import BuildReport
from jingwei.report.wire import decode_report, encode_report
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter, CountRefused, TokenCounter
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
    DropTurn,
    InvalidPlan,
    InvalidPlanReason,
    Plan,
    PlanStep,
    Room,
    TurnCandidate,
)
from jingwei.selection.search import Search, counts_at_most
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from properties.build_models import (
    FAULTS,
    SHAPES,
    TARGET,
    TWO_TO_64,
    VERIFIED,
    Built,
    ByMessages,
    Faulty,
    Moody,
    PerMessage,
    Refused,
    Spy,
    Watching,
    World,
    additive_counters,
    constraint_object,
    counters,
    history_of,
    inputs_of,
    json_bytes,
    message_object,
    minimum_of,
    naive_build,
    naive_candidates,
    naive_count_check,
    naive_messages,
    naive_request,
    naive_shape,
    naive_total,
    plain,
    report_of,
    turn_ids,
    worlds,
)

LONG = history_of("txfaptxfap")
DEEP = settings.get_profile("deep").max_examples <= settings().max_examples


def built_from(
    world: World,
    search: Search = Search.LINEAR,
    strategy: Strategy = OLDEST_TURN_FIRST,
) -> Outcome[BuiltContext, BuildFailure]:
    """The world's build, with a new counter."""
    return build(world.history, world.inputs, world.counter(), strategy=strategy, search=search)


def report_in(outcome: Outcome[BuiltContext, BuildFailure]) -> BuildReport | None:
    """The report of either answer."""
    return outcome.unwrap().report if isinstance(outcome, Success) else report_of(outcome.failure())


def digest_of(value: object) -> str:
    """SHA-256 of compact JSON, by the standard library."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def sized(window: int, **changes: int) -> BuildInputs:
    """Plain inputs whose limits are changed."""
    return inputs_of(window, limits=attrs.evolve(BuildLimits(), **changes))


@final
class Scripted:
    """A strategy that answers what it was told to."""

    name = "scripted"

    def __init__(self, base: Sequence[str], steps: Sequence[Sequence[str]]) -> None:
        self.base = base
        self.steps = steps

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        return Plan(
            base=tuple(DropTurn(turn_id=TurnId(turn)) for turn in self.base),
            steps=tuple(
                PlanStep(reductions=tuple(DropTurn(turn_id=TurnId(turn)) for turn in step))
                for step in self.steps
            ),
        )


@st.composite
def scripts(draw: st.DrawFn, world: World) -> Scripted:
    """A legal plan: any order of any candidates, in steps of any size, some of them in the base."""
    order = draw(st.permutations(naive_candidates(world.history, world.inputs)))
    order = order[: draw(st.integers(0, len(order)))]
    base, rest = order[: draw(st.integers(0, len(order)))], list[str]()
    rest = order[len(base) :]
    cuts = sorted(draw(st.lists(st.integers(0, len(rest)), max_size=len(rest))))
    edges = [0, *cuts, len(rest)]
    return Scripted(base, [rest[a:b] for a, b in pairwise(edges)])


class TestInputsB1:
    """B1. A build takes a history of closed turns, system texts, current messages, a constraint, pins, a
    label, a target, a budget and limits; the limits default to 16 MiB, 4096 groups, 4096 turns, 8192
    messages and 128 counts."""

    def test_the_defaults_are_the_numbers_of_the_rule(self) -> None:
        expected = BuildLimits(
            max_input_bytes=16_777_216,
            max_groups=4096,
            max_turns=4096,
            max_messages=8192,
            max_count_calls=128,
        )

        assert expected == BuildLimits()

    def test_by_default_a_build_is_soft_without_margin_and_pins_nothing(self) -> None:
        inputs = BuildInputs(
            current=(UserMessage(content="?"),),
            target=TARGET,
            budget=ContextBudget(window_tokens=1000, output_reserve=1),
        )
        built = build(LONG, inputs, ByteHeuristicCounter()).unwrap()

        assert (BudgetMode.SOFT, 0) == (built.report.budget.mode, built.report.budget.safety_margin)
        assert ("oldest_turn_first", Search.BISECT) == (built.report.strategy, built.report.search)
        assert not any(row.protected for row in built.report.turns.rows)


Spoil: TypeAlias = Callable[[ForeignProjection], ForeignProjection]

INPUT_FAULTS: dict[str, Callable[[BuildInputs], BuildInputs]] = {
    "zero input bytes": lambda i: attrs.evolve(i, limits=attrs.evolve(i.limits, max_input_bytes=0)),
    "zero groups": lambda i: attrs.evolve(i, limits=attrs.evolve(i.limits, max_groups=0)),
    "zero turns": lambda i: attrs.evolve(i, limits=attrs.evolve(i.limits, max_turns=0)),
    "zero messages": lambda i: attrs.evolve(i, limits=attrs.evolve(i.limits, max_messages=0)),
    "zero counts": lambda i: attrs.evolve(i, limits=attrs.evolve(i.limits, max_count_calls=0)),
    "zero window": lambda i: attrs.evolve(i, budget=attrs.evolve(i.budget, window_tokens=0)),
    "zero reserve": lambda i: attrs.evolve(i, budget=attrs.evolve(i.budget, output_reserve=0)),
    "blank model": lambda i: attrs.evolve(i, target=attrs.evolve(i.target, model="\u3000")),
    "blank template": lambda i: attrs.evolve(i, target=attrs.evolve(i.target, template_revision="\t")),
    "no evidence": lambda i: attrs.evolve(
        i,
        budget=attrs.evolve(i.budget, mode=BudgetMode.HARD, output_evidence=TokenBoundEvidence.ESTIMATE),
    ),
    "few groups": lambda i: attrs.evolve(i, limits=attrs.evolve(i.limits, max_groups=1)),
    "few turns": lambda i: attrs.evolve(i, limits=attrs.evolve(i.limits, max_turns=1)),
    "few bytes": lambda i: attrs.evolve(i, limits=attrs.evolve(i.limits, max_input_bytes=60)),
    "few messages": lambda i: attrs.evolve(i, limits=attrs.evolve(i.limits, max_messages=1)),
    "no current": lambda i: attrs.evolve(i, current=()),
    "assistant first": lambda i: attrs.evolve(i, current=(AssistantMessage(content="a"), *i.current)),
    "system in current": lambda i: attrs.evolve(i, current=(*i.current, SystemMessage(content="s"))),
    "lonely result": lambda i: attrs.evolve(i, current=(*i.current, _result("c"))),
    "silent assistant": lambda i: attrs.evolve(i, current=(*i.current, AssistantMessage())),
    "open call": lambda i: attrs.evolve(i, current=(*i.current, _asking("c"))),
    "pin twice": lambda i: attrs.evolve(i, pinned_turns=(*i.pinned_turns, TurnId("t0"), TurnId("t0"))),
    "pin nobody": lambda i: attrs.evolve(i, pinned_turns=(*i.pinned_turns, TurnId("t99"))),
    "reserve overflows": lambda i: attrs.evolve(
        i, budget=attrs.evolve(i.budget, output_reserve=TWO_TO_64 - 1, safety_margin=1)
    ),
    "window overflows": lambda i: attrs.evolve(i, budget=attrs.evolve(i.budget, window_tokens=TWO_TO_64)),
    "bad schema": lambda i: attrs.evolve(i, constraint=JsonSchemaConstraint(name="n", schema=Json("[]"))),
}


def _result(call_id: str) -> ToolMessage:
    return ToolMessage(call_id=ProviderCallId(call_id), content="r")


def _asking(call_id: str) -> AssistantMessage:
    call = ModelToolCall(id=ProviderCallId(call_id), name="n", arguments=Json("{}"))
    return AssistantMessage(tool_calls=(call,))


def faulty_histories() -> st.SearchStrategy[Projection]:
    """Histories among which some are open, some hold a call without an object, some are of version 2."""
    shapes = st.text(SHAPES + "n", max_size=4)
    projected = st.builds(lambda letters, end: history_of(letters + end), shapes, st.sampled_from(("", "o")))
    return st.builds(lambda h, v: attrs.evolve(h, algorithm_version=v), projected, st.sampled_from((1, 1, 2)))


def _version(foreign: ForeignProjection) -> ForeignProjection:
    return attrs.evolve(foreign, algorithm_version=2)


def _turn(index: int, **changes: object) -> Spoil:
    def spoil(foreign: ForeignProjection) -> ForeignProjection:
        turns = list(foreign.turns)
        turns[index] = attrs.evolve(turns[index], **changes)  # type: ignore[arg-type]
        return attrs.evolve(foreign, turns=tuple(turns))

    return spoil


def _group(index: int, **changes: object) -> Spoil:
    def spoil(foreign: ForeignProjection) -> ForeignProjection:
        groups = list(foreign.groups)
        groups[index] = attrs.evolve(groups[index], **changes)  # type: ignore[arg-type]
        return attrs.evolve(foreign, groups=tuple(groups))

    return spoil


def _exchange(*messages: int, last: tuple[ModelMessage, ...] = ()) -> Spoil:
    def spoil(foreign: ForeignProjection) -> ForeignProjection:
        kept = tuple(foreign.groups[3].messages[index] for index in messages)
        return _group(3, messages=(*kept, *last))(foreign)

    return spoil


# Groups of `history_of("tx")`: user 0 and reply 1 of t0; user 2, exchange 3 and reply 4 of t1.
FOREIGN_FAULTS: list[tuple[str, str, Spoil]] = [
    ("unsupported_projection_version", "/algorithm_version", _version),
    ("blank_turn_id", "/turns/1/turn_id", _turn(1, turn_id=" ")),
    ("duplicate_turn", "/turns/1/turn_id", _turn(1, turn_id="t0")),
    ("open_turn", "/turns/1/state", _turn(1, state=ProjectedState.OPEN)),
    ("unknown_group_turn", "/groups/0/turn_id", _group(0, turn_id="t99")),
    ("group_out_of_order", "/groups/1/turn_id", _group(0, turn_id="t1")),
    ("group_without_sources", "/groups/2/source_events", _group(2, source_events=())),
    ("group_shape", "/groups/0/messages", _group(0, messages=())),
    ("group_shape", "/groups/0/messages", _group(0, messages=(SystemMessage(content="s"),))),
    ("group_shape", "/groups/1/messages", _group(1, messages=(AssistantMessage(),))),
    ("group_shape", "/groups/1/messages", _group(1, messages=(_asking("c"),))),
    ("group_shape", "/groups/3/messages", _exchange(0)),
    ("group_shape", "/groups/3/messages", _exchange(1, 0)),
    ("group_shape", "/groups/3/messages", _exchange(0, 1, 1)),
    ("group_shape", "/groups/3/messages", _exchange(0, last=(_result("other"),))),
]


class TestChecksBeforeTrimmingB2:
    """B2. Everything that is wrong with limits, budget, target, evidence, sizes, version, current, turns,
    pins, groups, reserve or shape is refused before anything is trimmed, in that order, whatever the
    budget; a limit that is met exactly is met."""

    @given(faulty_histories(), st.lists(st.sampled_from(sorted(INPUT_FAULTS)), max_size=3), st.booleans())
    def test_of_several_faults_the_first_in_the_order_is_told(
        self, history: Projection, faults: list[str], tight: bool
    ) -> None:
        inputs = inputs_of(1 if tight else 100_000)
        for fault in faults:
            inputs = INPUT_FAULTS[fault](inputs)
        counter = ByMessages((5,))

        expected = naive_build(history, inputs, counter)
        assert expected == plain(build(history, inputs, counter, search=Search.LINEAR))

    @pytest.mark.parametrize("fault", sorted(INPUT_FAULTS))
    def test_each_fault_is_refused_with_its_own_reason(self, fault: str) -> None:
        inputs = INPUT_FAULTS[fault](inputs_of(100_000))
        answer = plain(build(LONG, inputs, ByMessages((5,))))

        assert naive_build(LONG, inputs, ByMessages((5,))) == answer
        assert isinstance(answer, Refused)
        assert answer.attempts is None

    @given(st.text("tx", max_size=3), st.text("tx", min_size=1, max_size=3), st.integers(0, 7))
    def test_a_turn_in_quarantine_cannot_be_pinned(self, before: str, after: str, pin: int) -> None:
        """The log holds a damaged turn, left out whole; a pin says that a turn must be sent whole."""
        good = history_of(before + "t" + after)
        turns = list(good.turns)
        turns[len(before)] = turn_of(
            turns[len(before)].turn_id, ProjectedState.QUARANTINED, None, (), missing_complete_reply=False
        )
        history = attrs.evolve(good, turns=vector(turns), silent=vector([len(before)]))
        pinned = turns[pin % len(turns)].turn_id
        outcome = build(history, inputs_of(100_000, pinned=(pinned,)), ByMessages((5,)))

        if pin % len(turns) != len(before):
            assert isinstance(outcome, Success)
        else:
            reason = InvalidInputReason.QUARANTINED_PIN
            assert Failure(InvalidInput(reason=reason, path="/pinned_turns/0")) == outcome

    @given(faulty_histories(), st.lists(st.sampled_from(sorted(INPUT_FAULTS)), max_size=2))
    def test_a_bad_history_never_disappears_because_the_budget_is_tight(
        self, history: Projection, faults: list[str]
    ) -> None:
        roomy = inputs_of(100_000)
        for fault in faults:
            roomy = INPUT_FAULTS[fault](roomy)
        tight = attrs.evolve(roomy, budget=attrs.evolve(roomy.budget, window_tokens=1))
        refused = plain(build(history, roomy, ByMessages((5,))))
        assume(isinstance(refused, Refused) and refused.attempts is None)
        assume(not {"zero window", "window overflows"} & {*faults})

        assert refused == plain(build(history, tight, ByMessages((5,))))

    @given(faulty_histories(), st.lists(st.sampled_from(sorted(INPUT_FAULTS)), min_size=1, max_size=2))
    def test_nothing_is_counted_before_the_checks_are_over(
        self, history: Projection, faults: list[str]
    ) -> None:
        inputs = inputs_of(100_000)
        for fault in faults:
            inputs = INPUT_FAULTS[fault](inputs)
        spy = Spy(ByMessages((5,)))
        outcome = build(history, inputs, spy)

        if isinstance(outcome, Failure):
            assert [] == spy.asked

    @given(worlds())
    def test_each_limit_allows_what_it_names_and_nothing_more(self, world: World) -> None:
        request = naive_request(world.history, world.inputs, [])
        needs = {
            "max_groups": sum(len(turn.groups) for turn in world.history.turns),
            "max_turns": len(world.history.turns),
            "max_input_bytes": json_bytes(constraint_object(request.constraint))
            + sum(json_bytes(message_object(message)) for message in request.messages),
            "max_messages": len(request.messages),
        }
        for name, need in needs.items():
            for limit in {max(need, 1), need - 1} - {0, -1}:
                inputs = attrs.evolve(world.inputs, limits=attrs.evolve(BuildLimits(), **{name: limit}))
                failed = plain(build(world.history, inputs, ByMessages((5,))))

                wording = (name.removeprefix("max_"), limit, need)
                refusal = Refused(kind="LimitExceeded", facts=wording)
                assert (failed == refusal) == (limit < need)

    @given(worlds(), st.sampled_from(Search))
    def test_a_projection_from_outside_is_built_as_the_original(self, world: World, search: Search) -> None:
        foreign = flattened(world.history)

        assert built_from(world, search) == build_foreign(
            foreign, world.inputs, world.counter(), search=search
        )
        assert Success(world.history) == admit_projection(foreign)

    @pytest.mark.parametrize("window", [1, 100_000])
    @pytest.mark.parametrize(("reason", "path", "spoil"), FOREIGN_FAULTS)
    def test_each_fault_of_a_history_from_outside_is_named(
        self, window: int, reason: str, path: str, spoil: Spoil
    ) -> None:
        spoiled = spoil(flattened(history_of("tx")))
        outcome = build_foreign(spoiled, inputs_of(window), ByMessages((5,)))

        assert isinstance(outcome, Failure)
        failure = outcome.failure()
        assert isinstance(failure, InvalidInput)
        assert (reason, f"/projection{path}", None) == (failure.reason.value, failure.path, failure.report)

    def test_the_checks_of_a_history_from_outside_stand_in_the_order_of_the_rule(self) -> None:
        """Turn, pin, group, reserve, shape: each fault hides those after it."""
        foreign = flattened(history_of("txn"))
        foreign = _group(2, source_events=())(foreign)
        foreign = _turn(1, turn_id=" ")(foreign)
        inputs = attrs.evolve(
            inputs_of(9, pinned=("t99",)),
            budget=ContextBudget(window_tokens=9, output_reserve=TWO_TO_64 - 1, safety_margin=1),
        )
        told = list[object]()
        for mend in range(5):
            if mend == 1:
                foreign = _turn(1, turn_id="t1")(foreign)
            if mend == 2:
                inputs = attrs.evolve(inputs, pinned_turns=())
            if mend == 3:
                foreign = _group(2, source_events=("e9",))(foreign)
            if mend == 4:
                inputs = attrs.evolve(inputs, budget=ContextBudget(window_tokens=9, output_reserve=1))
            answer = plain(build_foreign(foreign, inputs, ByMessages((5,))))
            assert isinstance(answer, Refused)
            told.append((answer.kind, *answer.facts))

        expected = [
            ("InvalidInput", "blank_turn_id"),
            ("InvalidInput", "unknown_pin"),
            ("InvalidInput", "group_without_sources"),
            ("Overflow", "reserved"),
            ("ArgumentsNotObject", 9),
        ]
        assert expected == told


class TestRequestB3:
    """B3. The request is the system texts, the kept turns in their order, then current, each message as
    it came; the constraint is unchanged."""

    @given(worlds(fitting=True), st.sampled_from(Search))
    def test_the_request_is_the_required_texts_and_the_kept_turns_verbatim(
        self, world: World, search: Search
    ) -> None:
        outcome = built_from(world, search)
        assume(isinstance(outcome, Success))
        built = outcome.unwrap()
        dropped = [row.turn_id for row in built.report.turns.rows if not row.retained]

        assert naive_request(world.history, world.inputs, dropped) == built.request

    @given(worlds(), st.sampled_from(Search))
    def test_every_candidate_that_is_counted_is_assembled_so(self, world: World, search: Search) -> None:
        spy = Spy(world.counter())
        build(world.history, world.inputs, spy, search=search)
        candidates = naive_candidates(world.history, world.inputs)
        possible = [
            naive_request(world.history, world.inputs, candidates[:k]) for k in range(len(candidates) + 1)
        ]

        assert all(request in possible for request in spy.asked)

    @given(worlds(fitting=True))
    def test_every_request_is_well_shaped_and_no_tool_group_is_split(self, world: World) -> None:
        outcome = built_from(world, Search.AUTO)
        assume(isinstance(outcome, Success))
        request = outcome.unwrap().request

        assert naive_shape(request) is None
        kept = [
            group.messages
            for row, turn in zip(outcome.unwrap().report.turns.rows, world.history.turns, strict=True)
            if row.retained
            for group in turn.groups
        ]
        assert len(request.messages) == len(world.inputs.system) + len(world.inputs.current) + sum(
            map(len, kept)
        )


class TestAnswersOfACounterB4:
    """B4. Each candidate is counted whole, and an answer is used only if it is for the target, names its
    method, carries the evidence that the mode demands, and is a sum above zero and below 2^64; a refusal
    ends the build. From the first count on a failure carries the report so far."""

    @given(worlds())
    def test_the_builder_agrees_with_the_naive_one_for_every_counter(self, world: World) -> None:
        expected = naive_build(world.history, world.inputs, world.counter())

        assert expected == plain(built_from(world))

    @pytest.mark.parametrize("below", [100, 14, 9])
    @pytest.mark.parametrize("fault", FAULTS)
    @pytest.mark.parametrize("mode", list(BudgetMode))
    def test_each_bad_answer_is_refused_at_the_first_count_and_later(
        self, mode: BudgetMode, fault: str, below: int
    ) -> None:
        inputs = inputs_of(40, mode=mode)
        expected = naive_build(LONG, inputs, Faulty(fault, below))

        assert expected == plain(build(LONG, inputs, Faulty(fault, below), search=Search.LINEAR))

    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            ("target", UnverifiedCount),
            ("method", UnverifiedCount),
            ("zero", InvalidInput),
            ("huge", Overflow),
            ("parts", Overflow),
            ("reach", Overflow),
            ("refusal", CounterFailed),
        ],
    )
    @pytest.mark.parametrize("search", list(Search))
    def test_no_bad_answer_ever_leads_to_a_request(
        self, fault: str, kind: type[BuildFailure], search: Search
    ) -> None:
        outcome = build(LONG, inputs_of(40), Faulty(fault, 1000), search=search)

        assert isinstance(outcome, Failure)
        assert isinstance(outcome.failure(), kind)

    @given(worlds(), st.sampled_from(Search))
    def test_the_counter_is_asked_once_an_attempt_and_for_the_target_of_the_inputs(
        self, world: World, search: Search
    ) -> None:
        spy = Spy(world.counter())
        report = report_in(build(world.history, world.inputs, spy, search=search))

        if report is None:
            assert [] == spy.asked
        else:
            assert len(spy.asked) - len(report.attempts) in (0, 1)
            assert all(world.inputs.target == attempt.count.target for attempt in report.attempts)

    @pytest.mark.parametrize("fault", FAULTS)
    def test_the_report_of_a_failure_speaks_of_the_last_candidate_that_was_counted(self, fault: str) -> None:
        """The candidate that the counter failed on was not counted: it is not in the report."""
        inputs = inputs_of(40, mode=BudgetMode.HARD)
        outcome = build(LONG, inputs, Faulty(fault, 10), search=Search.LINEAR)
        assert isinstance(outcome, Failure)
        report = report_of(outcome.failure())
        assert report is not None
        dropped = [row.turn_id for row in report.turns.rows if not row.retained]
        request = naive_request(LONG, inputs, dropped)

        assert report.attempts[-1].removed_turns == len(dropped)
        assert [digest_of(message_object(m)) for m in request.messages] == [s.digest for s in report.sent]

    def test_a_counter_that_fails_at_once_leaves_a_report_without_attempts(self) -> None:
        outcome = build(LONG, inputs_of(40), Faulty("refusal", 1000))
        failure = outcome.failure()

        assert isinstance(failure, CounterFailed)
        assert failure.report is not None
        assert ((), ()) == (failure.report.attempts, failure.report.sent)
        assert all(row.retained for row in failure.report.turns.rows)


class TestFittingB5:
    """B5. A candidate fits when all four parts, the output reserve and the margin are together at most the
    window. With nothing left to reduce it does not fit; with no count left before the search has closed
    it is a count limit, even if a candidate had fitted; what is accepted was counted last."""

    @given(worlds(additive_counters()), st.sampled_from(Search))
    def test_the_window_itself_is_allowed_and_one_less_is_not(self, world: World, search: Search) -> None:
        inputs = attrs.evolve(world.inputs, limits=BuildLimits())
        candidates = naive_candidates(world.history, inputs)
        request = naive_request(world.history, inputs, candidates)
        count = world.counter().count(inputs.target, request).unwrap()
        need = naive_total(count) + inputs.budget.output_reserve + inputs.budget.safety_margin
        assume(count.evidence is VERIFIED or inputs.budget.mode is BudgetMode.SOFT)
        exact = attrs.evolve(inputs, budget=attrs.evolve(inputs.budget, window_tokens=need))
        tight = attrs.evolve(inputs, budget=attrs.evolve(inputs.budget, window_tokens=need - 1))

        assert isinstance(build(world.history, exact, world.counter(), search=search), Success)
        failed = build(world.history, tight, world.counter(), search=search)
        assert isinstance(failed, Failure)
        assert isinstance(failed.failure(), DoesNotFit)

    @pytest.mark.parametrize("search", list(Search))
    @pytest.mark.parametrize("part", ["system", "messages", "constraint", "template", "reserve", "margin"])
    def test_each_of_the_six_summands_counts(self, part: str, search: Search) -> None:
        """One token more in any of them, and what fitted exactly fits no longer."""
        history, parts = history_of(""), {"system": 1, "messages": 2, "constraint": 3, "template": 4}
        more = dict(parts)
        if part in more:
            more[part] += 1
        reserve, margin = 5 + (part == "reserve"), 6 + (part == "margin")

        fits = build(history, inputs_of(21, reserve=5, margin=6), _Parts(parts), search=search)
        fails = build(history, inputs_of(21, reserve=reserve, margin=margin), _Parts(more), search=search)

        assert isinstance(fits, Success)
        assert isinstance(fails, Failure)
        assert isinstance(fails.failure(), DoesNotFit)

    @given(worlds(fitting=True), st.sampled_from(Search))
    def test_success_ends_with_the_accepted_candidate_and_it_fits(self, world: World, search: Search) -> None:
        spy = Spy(world.counter())
        outcome = build(world.history, world.inputs, spy, search=search)
        assume(isinstance(outcome, Success))
        report = outcome.unwrap().report

        assert outcome.unwrap().request == spy.asked[-1]
        assert report.attempts[-1].total_reserved <= world.inputs.budget.window_tokens
        assert report.attempts[-1].removed_turns == sum(not row.retained for row in report.turns.rows)

    @given(worlds(), st.sampled_from(Search))
    def test_does_not_fit_ends_with_what_keeps_least(self, world: World, search: Search) -> None:
        inputs = attrs.evolve(world.inputs, budget=attrs.evolve(world.inputs.budget, window_tokens=1))
        inputs = attrs.evolve(inputs, limits=BuildLimits())
        outcome = build(world.history, inputs, world.counter(), search=search)
        assert isinstance(outcome, Failure)
        failure = outcome.failure()
        assume(isinstance(failure, DoesNotFit))
        assert isinstance(failure, DoesNotFit)

        assert len(naive_candidates(world.history, inputs)) == failure.report.attempts[-1].plan_steps
        additive = isinstance(world.counter(), AdditiveCounter)
        assert (failure.report.search is Search.LINEAR or additive) == failure.exhaustive

    @given(worlds(), st.sampled_from(Search))
    def test_no_build_counts_more_often_than_it_may(self, world: World, search: Search) -> None:
        spy = Spy(world.counter())
        outcome = build(world.history, world.inputs, spy, search=search)
        steps = len(naive_candidates(world.history, world.inputs))
        report = report_in(outcome)

        assert len(spy.asked) <= world.inputs.limits.max_count_calls
        if report is not None:
            bound = steps + 1 if report.search is Search.LINEAR else counts_at_most(steps)
            assert len(report.attempts) <= bound

    @given(worlds(), st.sampled_from((Search.LINEAR, Search.BISECT)), st.data())
    def test_with_fewer_counts_than_the_search_needs_it_is_a_count_limit(
        self, world: World, search: Search, data: st.DataObject
    ) -> None:
        roomy = attrs.evolve(world.inputs, limits=BuildLimits())
        unbounded = build(world.history, roomy, world.counter(), search=search)
        whole = report_in(unbounded)
        needed = 1 if whole is None else len(whole.attempts)
        if isinstance(unbounded, Failure) and not isinstance(unbounded.failure(), DoesNotFit):
            needed += 1  # the count that ended it is no attempt
        limit = data.draw(st.integers(1, max(needed - 1, 1)))
        inputs = attrs.evolve(roomy, limits=BuildLimits(max_count_calls=limit))
        outcome = build(world.history, inputs, world.counter(), search=search)

        if whole is not None and limit < needed:
            assert isinstance(outcome, Failure)
            failure = outcome.failure()
            assert isinstance(failure, CountLimit)
            assert limit == failure.limit
            assert whole.attempts[:limit] == failure.report.attempts
        elif whole is not None:
            assert not isinstance(outcome, Failure) or not isinstance(outcome.failure(), CountLimit)

    def test_at_the_last_permitted_count_what_is_left_decides(self) -> None:
        """127 drops need 128 counts; with one turn more and the same limit it is a count limit."""
        counter = ByMessages((50,))
        many, more = history_of("f" * 127), history_of("f" * 128)
        exhausted = build(many, inputs_of(10), counter, search=Search.LINEAR).failure()
        limited = build(more, inputs_of(10), counter, search=Search.LINEAR).failure()

        assert isinstance(exhausted, DoesNotFit)
        assert isinstance(limited, CountLimit)
        assert (128, 128) == (len(exhausted.report.attempts), len(limited.report.attempts))

    def test_a_count_limit_is_told_even_if_a_candidate_had_fitted(self) -> None:
        """Four counts are too few to close a bisection, and the first fitting one is not returned."""
        history, counter = history_of("f" * 40), PerMessage(1, 1)
        needed = naive_total(
            counter.count(TARGET, naive_request(history, inputs_of(1), turn_ids(history)[:13])).unwrap()
        )
        inputs = inputs_of(needed + 1, limits=BuildLimits(max_count_calls=4))
        failure = build(history, inputs, Spy(counter), search=Search.BISECT).failure()

        assert isinstance(failure, CountLimit)
        assert any(a.total_reserved <= needed + 1 for a in failure.report.attempts)

    def test_the_recount_after_every_drop_is_not_a_subtraction(self) -> None:
        """Nine messages cost more than thirteen; the linear search goes on until five fit."""
        counter = ByMessages(tuple(500 if n == 9 else 700 if n == 7 else 50 for n in range(10)))
        inputs = inputs_of(200, reserve=64, margin=16)
        built = build(history_of("ttt"), inputs, counter, search=Search.LINEAR)

        assert [580, 780, 130] == [a.total_reserved for a in built.unwrap().report.attempts]


@final
class _Parts:
    """The same four parts for every request."""

    def __init__(self, parts: dict[str, int]) -> None:
        self.parts = parts

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        parts = TokenBreakdown(**self.parts)
        return Success(TokenCount(target=target, method="parts", evidence=VERIFIED, tokens=parts))


class TestReportB6:
    """B6. The report says by which algorithm, strategy and search a request was made, from which log, for
    which target, budget and limits; names every turn with its sources, whether it was kept or pinned and
    what was done to it; and holds every attempt with its count and every sent message with its digest."""

    @given(worlds(), st.sampled_from(Search))
    def test_it_carries_what_went_in(self, world: World, search: Search) -> None:
        report = report_in(built_from(world, search))
        assume(report is not None)
        assert report is not None
        history, inputs = world.history, world.inputs

        assert (1, history.algorithm_version) == (report.algorithm_version, report.projection_version)
        assert (inputs.target, inputs.budget, inputs.limits) == (report.target, report.budget, report.limits)
        assert (
            history.session_id,
            history.source_tail,
            history.source_event_count,
            inputs.state_version,
        ) == (
            report.session_id,
            report.source_tail,
            report.source_event_count,
            report.state_version,
        )
        assert (len(inputs.system), len(inputs.current)) == (report.system_messages, report.current_messages)
        assert "oldest_turn_first" == report.strategy
        assert report.search is not Search.AUTO
        assert search in (report.search, Search.AUTO)

    @given(worlds(), st.sampled_from(Search))
    def test_every_turn_stands_in_it_once_in_order_with_its_sources(
        self, world: World, search: Search
    ) -> None:
        report = report_in(built_from(world, search))
        assume(report is not None)
        assert report is not None
        rows = list(report.turns.rows)
        sources = [
            (turn.turn_id, tuple[EventId, ...](e for group in turn.groups for e in group.source_events))
            for turn in world.history.turns
        ]

        assert sources == [(row.turn_id, row.source_events) for row in rows]
        assert [t in world.inputs.pinned_turns for t in turn_ids(world.history)] == [
            r.protected for r in rows
        ]
        assert all(row.retained == (row.reduction is None) for row in rows)
        assert all(row.retained for row in rows if row.protected)

    @given(worlds(), st.sampled_from(Search))
    def test_sent_messages_have_their_roles_digests_and_costs(self, world: World, search: Search) -> None:
        report = report_in(built_from(world, search))
        assume(report is not None)
        assert report is not None
        assume(len(report.attempts) > 0)
        counter = world.counter()
        dropped = [row.turn_id for row in report.turns.rows if not row.retained]
        request = naive_request(world.history, world.inputs, dropped)
        additive = counter if isinstance(counter, AdditiveCounter) else None
        expected = [
            (
                message_object(message)["role"],
                digest_of(message_object(message)),
                None if additive is None else additive.message_cost(message),
            )
            for message in request.messages
        ]

        assert expected == [(sent.role.value, sent.digest, sent.cost) for sent in report.sent]
        assert digest_of(constraint_object(world.inputs.constraint)) == report.constraint_digest
        if additive is not None:
            costs = sum(cost for _, _, cost in expected if cost is not None)
            total = naive_total(report.attempts[-1].count)
            assert costs + additive.fixed_cost(world.inputs.constraint) == total

    @given(worlds(), st.sampled_from(Search))
    def test_every_attempt_adds_up(self, world: World, search: Search) -> None:
        report = report_in(built_from(world, search))
        assume(report is not None)
        assert report is not None
        budget = world.inputs.budget

        for attempt in report.attempts:
            total = naive_total(attempt.count)
            assert total + budget.output_reserve + budget.safety_margin == attempt.total_reserved
            assert attempt.removed_turns == attempt.plan_steps

    @given(worlds(fitting=True))
    def test_kept_and_left_out_are_all_that_came_in_each_once(self, world: World) -> None:
        outcome = built_from(world, Search.AUTO)
        assume(isinstance(outcome, Success))
        built = outcome.unwrap()
        kept = {row.turn_id for row in built.report.turns.rows if row.retained}
        dropped = {row.turn_id for row in built.report.turns.rows if not row.retained}
        kept_messages = [m for t in world.history.turns if t.turn_id in kept for m in naive_messages(t)]

        assert (set(turn_ids(world.history)), set()) == (kept | dropped, kept & dropped)
        start = len(world.inputs.system)
        assert kept_messages == list(built.request.messages[start : start + len(kept_messages)])

    @given(worlds(), st.sampled_from(Search))
    def test_it_is_a_record_and_survives_json(self, world: World, search: Search) -> None:
        report = report_in(built_from(world, search))
        assume(report is not None)
        assert report is not None
        data = encode_report(report).unwrap()

        assert Success(report) == decode_report(data)
        assert data.decode() == json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":"))

    @given(worlds())
    def test_the_report_shares_the_sources_with_the_projection(self, world: World) -> None:
        report = report_in(built_from(world))
        assume(report is not None)
        assert report is not None

        assert report.turns.sources is world.history.sources


class TestSuccessB7:
    """B7. Success means that counting the request again gives the report's last number, and that it fits.
    Under the linear search one step less did not fit; with an additive counter the bisecting search finds
    the same request."""

    @given(worlds(fitting=True), st.sampled_from(Search))
    def test_a_recount_gives_the_last_number_of_the_report(self, world: World, search: Search) -> None:
        counter = world.counter()
        outcome = build(world.history, world.inputs, counter, search=search)
        assume(isinstance(outcome, Success))
        built = outcome.unwrap()
        assume(not isinstance(counter, Moody))
        budget = built.report.budget
        again = counter.count(built.report.target, built.request).unwrap()

        assert again == built.report.attempts[-1].count
        reserved = naive_total(again) + budget.output_reserve + budget.safety_margin
        assert built.report.attempts[-1].total_reserved == reserved <= budget.window_tokens

    @given(worlds(fitting=True))
    def test_under_linear_one_step_less_did_not_fit(self, world: World) -> None:
        outcome = built_from(world)
        assume(isinstance(outcome, Success))
        *earlier, last = outcome.unwrap().report.attempts

        assert list(range(last.plan_steps)) == [attempt.plan_steps for attempt in earlier]
        assert all(attempt.total_reserved > world.inputs.budget.window_tokens for attempt in earlier)

    @given(worlds(additive_counters()), st.sampled_from((Search.BISECT, Search.AUTO)))
    def test_an_additive_counter_gives_the_same_request_under_either_search(
        self, world: World, search: Search
    ) -> None:
        world = attrs.evolve(world, inputs=attrs.evolve(world.inputs, limits=BuildLimits()))
        minimum, answer = minimum_of(world), plain(built_from(world, search))

        if isinstance(minimum, Built):
            assert isinstance(answer, Built)
            assert (minimum.request, minimum.dropped) == (answer.request, answer.dropped)
            assert minimum.attempts[-1] == answer.attempts[-1]
        else:
            assert isinstance(answer, Refused)
            assert (minimum.kind, minimum.facts) == (answer.kind, answer.facts)

    @given(worlds(additive_counters()))
    def test_a_bisecting_search_over_exact_costs_closes_in_two_counts(self, world: World) -> None:
        report = report_in(built_from(world, Search.BISECT))
        assume(report is not None)
        assert report is not None

        assert len(report.attempts) <= 2

    @given(worlds(fitting=True), st.sampled_from(Search))
    def test_building_again_from_what_was_kept_keeps_all_of_it(self, world: World, search: Search) -> None:
        assume(not isinstance(world.counter(), Moody))
        first = built_from(world, search)
        assume(isinstance(first, Success))
        kept = _only(world.history, [r.turn_id for r in first.unwrap().report.turns.rows if r.retained])
        again = build(kept, world.inputs, world.counter(), search=Search.LINEAR)

        assert isinstance(again, Success)
        assert first.unwrap().request == again.unwrap().request

    @given(worlds(), st.sampled_from(Search))
    def test_the_same_input_gives_the_same_answer_and_is_left_as_it_was(
        self, world: World, search: Search
    ) -> None:
        before = pickle.dumps((world.history, world.inputs))
        history, inputs = copy.deepcopy(world.history), copy.deepcopy(world.inputs)
        first = built_from(world, search)

        assert first == build(history, inputs, world.counter(), search=search)
        assert (history, inputs) == (world.history, world.inputs)
        assert before == pickle.dumps((world.history, world.inputs))

    @given(worlds(additive_counters()), st.data())
    def test_the_order_of_the_pins_does_not_matter(self, world: World, data: st.DataObject) -> None:
        shuffled = tuple(data.draw(st.permutations(world.inputs.pinned_turns)))
        inputs = attrs.evolve(world.inputs, pinned_turns=shuffled)

        assert built_from(world) == build(world.history, inputs, world.counter(), search=Search.LINEAR)

    @given(worlds(additive_counters(), fitting=True))
    def test_a_larger_window_never_keeps_less(self, world: World) -> None:
        world = attrs.evolve(world, inputs=attrs.evolve(world.inputs, limits=BuildLimits()))
        budget = world.inputs.budget
        wider = attrs.evolve(budget, window_tokens=budget.window_tokens + 7)
        first = built_from(world)
        assume(isinstance(first, Success))
        second = built_from(attrs.evolve(world, inputs=attrs.evolve(world.inputs, budget=wider)))

        assert isinstance(second, Success)
        kept = [row.turn_id for row in first.unwrap().report.turns.rows if row.retained]
        assert set(kept) <= {row.turn_id for row in second.unwrap().report.turns.rows if row.retained}


def _only(history: Projection, kept: Sequence[str]) -> Projection:
    """The same history with these turns alone."""
    foreign = flattened(history)
    smaller = attrs.evolve(
        foreign,
        turns=tuple(turn for turn in foreign.turns if turn.turn_id in kept),
        groups=tuple(group for group in foreign.groups if group.turn_id in kept),
    )
    return admit_projection(smaller).unwrap()


class TestSurvivalB8:
    """B8. After the last count the request is compared with the build's own inputs: every system text,
    pinned message and current message must stand in it, unchanged and in order, or the build says which
    does not."""

    @given(worlds(additive_counters(), fitting=True), st.data())
    def test_an_assembler_that_loses_a_required_message_is_found_out(
        self, world: World, data: st.DataObject
    ) -> None:
        outcome = built_from(world)
        assume(isinstance(outcome, Success))
        request = outcome.unwrap().request
        system, current = len(world.inputs.system), len(world.inputs.current)
        required = [*range(system), *range(len(request.messages) - current, len(request.messages))]
        lost = data.draw(st.sampled_from(required))
        left = (*request.messages[:lost], *request.messages[lost + 1 :])
        # Where an equal message stands in the very place of the lost one, nobody could tell.
        texts = tuple(message.content for message in left[:system])
        assume(texts != world.inputs.system or left[len(left) - current :] != world.inputs.current)
        spoiled = attrs.evolve(request, messages=left)

        assert () == missing_content(request, world.history, world.inputs)
        assert missing_content(spoiled, world.history, world.inputs)

    def test_an_equal_message_of_the_history_does_not_stand_in_for_a_lost_one(self) -> None:
        """The user says again what was said in an earlier turn; the assembler loses it."""
        history = history_of("t")
        inputs = attrs.evolve(inputs_of(100_000), current=(naive_messages(history.turns[0])[0],))
        request = build(history, inputs, ByteHeuristicCounter()).unwrap().request
        spoiled = attrs.evolve(request, messages=request.messages[:-1])

        assert ("/current/0",) == missing_content(spoiled, history, inputs)

    @pytest.mark.parametrize("pinned", ["t0", "t1", "t3"])
    def test_a_pinned_turn_is_required_whole(self, pinned: str) -> None:
        history, inputs = history_of("txtx"), inputs_of(100_000, pinned=(pinned,))
        request = build(history, inputs, ByteHeuristicCounter()).unwrap().request
        turn = next(turn for turn in history.turns if turn.turn_id == pinned)

        for lost in naive_messages(turn):
            left = tuple(message for message in request.messages if message != lost)
            spoiled = attrs.evolve(request, messages=left)
            assert (f"/pinned_turns/{pinned}",) == missing_content(spoiled, history, inputs)

    @pytest.mark.parametrize(
        ("missing", "spoil"),
        [
            ("/system/0", lambda messages: messages[1:]),
            ("/system/1", lambda messages: (messages[0], *messages[2:])),
            ("/pinned_turns/t1", lambda messages: (*messages[:4], *messages[5:])),
            ("/current/0", lambda messages: messages[:-1]),
            ("/current/0", lambda messages: (*messages[:-1], UserMessage(content="and now"))),
            ("/system/1", lambda messages: (messages[1], messages[0], *messages[2:])),
        ],
    )
    def test_a_broken_assembler_is_said_as_a_failure_with_its_report(
        self,
        monkeypatch: pytest.MonkeyPatch,
        missing: str,
        spoil: Callable[[tuple[ModelMessage, ...]], tuple[ModelMessage, ...]],
    ) -> None:
        whole = Draft.request

        def broken(draft: Draft, steps: int) -> GenerationRequest:
            request = whole(draft, steps)
            return attrs.evolve(request, messages=spoil(request.messages))

        monkeypatch.setattr(Draft, "request", broken)
        failure = build(
            history_of("tt"), inputs_of(100_000, pinned=("t1",)), ByteHeuristicCounter()
        ).failure()

        assert isinstance(failure, SurvivalBroken)
        assert (missing,) == failure.missing
        assert 1 == len(failure.report.attempts)


class TestReverifyB11:
    """B11. A built request can be counted again, whole, for another target, counter or budget: it fits or
    it does not, by the rules of a build's own counts; and every change of model, template, message,
    constraint or output option that makes the old report invalid for it is named."""

    @given(worlds(fitting=True), st.sampled_from(Search))
    def test_nothing_has_changed_right_after_the_build(self, world: World, search: Search) -> None:
        counter = world.counter()
        assume(not isinstance(counter, Moody))
        outcome = build(world.history, world.inputs, counter, search=search)
        assume(isinstance(outcome, Success))
        built = outcome.unwrap()
        again = reverify(built, world.inputs.target, counter, world.inputs.budget).unwrap()

        assert (Verdict.FITS, ()) == (again.verdict, again.changed)
        last = built.report.attempts[-1]
        assert (last.count, last.total_reserved) == (again.count, again.total_reserved)

    @given(
        worlds(fitting=True),
        st.integers(1, 400),
        st.integers(1, 40),
        st.integers(0, 40),
        st.sampled_from(BudgetMode),
        counters(),
    )
    def test_it_is_one_count_by_the_rules_of_a_build(
        self,
        world: World,
        window: int,
        reserve: int,
        margin: int,
        mode: BudgetMode,
        made: Callable[[], TokenCounter],
    ) -> None:
        outcome = built_from(world)
        assume(isinstance(outcome, Success))
        built = outcome.unwrap()
        budget = inputs_of(window, reserve=reserve, margin=margin, mode=mode).budget
        answer = made().count(TARGET, built.request)
        refused = naive_count_check(answer, TARGET, budget)
        again = reverify(built, TARGET, made(), budget)
        total = 0 if refused is not None else naive_total(answer.unwrap()) + reserve + margin

        if refused is not None or total >= TWO_TO_64:
            assert isinstance(again, Failure)
        else:
            verdict = Verdict.FITS if total <= window else Verdict.EXCEEDS
            found = again.unwrap()
            assert (verdict, total) == (found.verdict, found.total_reserved)
            assert answer.unwrap() == found.count

    @given(worlds(additive_counters(), fitting=True), st.data())
    def test_every_change_that_makes_the_report_invalid_is_named(
        self, world: World, data: st.DataObject
    ) -> None:
        outcome = built_from(world)
        assume(isinstance(outcome, Success))
        built = outcome.unwrap()
        target, budget, request = world.inputs.target, world.inputs.budget, built.request
        changes = data.draw(st.sets(st.sampled_from(ReportChange)))
        if ReportChange.MODEL in changes:
            target = attrs.evolve(target, model="another")
        if ReportChange.TEMPLATE_REVISION in changes:
            target = attrs.evolve(target, template_revision="another")
        if ReportChange.MESSAGES in changes:
            at = data.draw(st.integers(0, len(request.messages)))
            new, rest = UserMessage(content="new words"), request.messages[at:]
            rest = rest[1:] if data.draw(st.booleans()) else rest  # in the place of one, or besides
            request = attrs.evolve(request, messages=(*request.messages[:at], new, *rest))
        if ReportChange.CONSTRAINT in changes:
            request = attrs.evolve(request, constraint=JsonSchemaConstraint(name="new", schema=Json("{}")))
        if ReportChange.OUTPUT_RESERVE in changes:
            budget = attrs.evolve(budget, output_reserve=budget.output_reserve + 1)
        if ReportChange.OUTPUT_EVIDENCE in changes:
            other = next(e for e in TokenBoundEvidence if e is not budget.output_evidence)
            budget = attrs.evolve(budget, output_evidence=other)

        assert changes == set(report_changes(built.report, request, target, budget))

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda budget: attrs.evolve(budget, window_tokens=0),
            lambda budget: attrs.evolve(budget, output_reserve=0),
            lambda budget: attrs.evolve(budget, output_reserve=-9),
            lambda budget: attrs.evolve(budget, safety_margin=-9),
            lambda budget: attrs.evolve(budget, output_reserve=TWO_TO_64 - 1, safety_margin=1),
            lambda budget: attrs.evolve(budget, mode=BudgetMode.HARD),
        ],
    )
    def test_a_budget_that_a_build_refuses_is_refused_here_too(
        self, spoil: Callable[[ContextBudget], ContextBudget]
    ) -> None:
        inputs = inputs_of(100_000)
        built = build(LONG, inputs, ByMessages((5,))).unwrap()
        budget = spoil(inputs.budget)
        spoiled = attrs.evolve(inputs, budget=budget)

        assert isinstance(build(LONG, spoiled, ByMessages((5,))), Failure)
        assert isinstance(reverify(built, TARGET, ByMessages((5,)), budget), Failure)


class TestPlansR1:
    """R1. A strategy proposes a base and an order of steps over the candidates, and nothing else: a plan
    that names a pinned, an unknown or a repeated turn is refused with the step that did it. The build
    applies the base and the fewest steps that fit."""

    @given(worlds(), st.data())
    def test_any_legal_plan_is_carried_out_as_the_naive_builder_does(
        self, world: World, data: st.DataObject
    ) -> None:
        script = data.draw(scripts(world))
        expected = naive_build(
            world.history, world.inputs, world.counter(), base=script.base, steps=script.steps
        )
        answer = plain(built_from(world, Search.LINEAR, script))
        if isinstance(expected, Built):
            in_order = tuple(t for t in turn_ids(world.history) if t in expected.dropped)
            expected = attrs.evolve(expected, dropped=in_order)

        assert expected == answer

    @given(worlds(additive_counters()), st.data())
    def test_the_searches_agree_over_any_legal_plan(self, world: World, data: st.DataObject) -> None:
        world = attrs.evolve(world, inputs=attrs.evolve(world.inputs, limits=BuildLimits()))
        script = data.draw(scripts(world))
        linear = built_from(world, Search.LINEAR, script)
        bisected = built_from(world, Search.BISECT, script)

        if isinstance(linear, Success):
            assert isinstance(bisected, Success)
            assert linear.unwrap().request == bisected.unwrap().request
        else:
            assert isinstance(bisected, Failure)
            assert type(linear.failure()) is type(bisected.failure())

    @given(worlds(), st.data())
    def test_a_plan_that_names_what_it_may_not_is_refused(self, world: World, data: st.DataObject) -> None:
        script = data.draw(scripts(world))
        candidates = naive_candidates(world.history, world.inputs)
        named = [*script.base, *(turn for step in script.steps for turn in step)]
        pinned = world.inputs.pinned_turns
        empty = [
            t for t in turn_ids(world.history) if t not in pinned and not _has_messages(world.history, t)
        ]
        bad = data.draw(st.sampled_from([*named, *pinned, *empty, "t99"]))
        reason = InvalidPlanReason.UNKNOWN_CANDIDATE
        if bad in pinned:
            reason = InvalidPlanReason.PINNED
        if bad in candidates:
            reason = InvalidPlanReason.REPEATED
        in_base = data.draw(st.booleans())
        extended = Scripted([*script.base, bad], script.steps)
        if not in_base:
            extended = Scripted(script.base, [*script.steps, [bad]])
        elif bad in [turn for step in script.steps for turn in step]:
            extended = Scripted(script.base, [*script.steps, [bad]])
            in_base = False
        spy = Spy(world.counter())
        outcome = build(world.history, world.inputs, spy, strategy=extended)

        step = None if in_base else len(script.steps)
        assert Failure(InvalidPlan(step=step, reason=reason, turn_id=TurnId(bad))) == outcome
        assert [] == spy.asked

    def test_a_pinned_turn_is_pinned_even_without_a_message(self) -> None:
        outcome = build(
            history_of("ta"), inputs_of(9, pinned=("t1",)), ByMessages((5,)), strategy=Scripted(["t1"], [])
        )

        expected = InvalidPlan(step=None, reason=InvalidPlanReason.PINNED, turn_id=TurnId("t1"))
        assert Failure(expected) == outcome

    @given(worlds())
    def test_a_strategy_sees_the_candidates_in_physical_order_and_the_room(self, world: World) -> None:
        seen = Watching()
        built_from(world, Search.LINEAR, seen)
        budget = world.inputs.budget
        required = naive_request(world.history, world.inputs, naive_candidates(world.history, world.inputs))
        size = json_bytes(constraint_object(world.inputs.constraint))
        size += sum(json_bytes(message_object(message)) for message in required.messages)
        expected = [
            (
                turn.turn_id,
                position,
                len(naive_messages(turn)),
                sum(json_bytes(message_object(message)) for message in naive_messages(turn)),
            )
            for position, turn in enumerate(world.history.turns)
            if turn.turn_id in naive_candidates(world.history, world.inputs)
        ]

        assert expected == [
            (c.turn_id, c.position, c.message_count, c.canonical_bytes)
            for c in seen.candidates
            if isinstance(c, TurnCandidate)
        ]
        room = Room(
            window_tokens=budget.window_tokens,
            reserved_tokens=budget.output_reserve + budget.safety_margin,
            required_bytes=size,
            session_id=world.history.session_id,
            turns=tuple(world.history.turns),
            required=required.messages,
            constraint=world.inputs.constraint,
        )
        assert seen.room is not None
        assert room == attrs.evolve(seen.room, turns=tuple(seen.room.turns), costs=None)
        assert hasattr(world.counter(), "message_cost") == (seen.room.costs is not None)

    @given(worlds())
    def test_the_default_plan_drops_oldest_first_one_turn_a_step(self, world: World) -> None:
        seen = Watching()
        built_from(world, Search.LINEAR, seen)
        assert seen.room is not None
        plan = OLDEST_TURN_FIRST.plan(seen.candidates, seen.room)

        expected = naive_candidates(world.history, world.inputs)
        assert () == plan.base
        steps = [PlanStep(reductions=(DropTurn(turn_id=TurnId(turn)),)) for turn in expected]
        assert steps == list(plan.steps)

    @pytest.mark.parametrize("search", list(Search))
    @pytest.mark.parametrize("turns", range(6 if DEEP else 5))
    def test_small_worlds_with_every_function_as_a_counter(self, turns: int, search: Search) -> None:
        """Every table of totals 0 to 3 over up to 4 turns (5 in the deep run), and every window that matters.

        `totals[k]` is what the request costs once k turns are gone; zero is refused (B4).
        """
        history = history_of("f" * turns)
        for totals, window in product(product(range(4), repeat=turns + 1), (1, 2, 3)):
            counter = ByMessages((*[9] * 3, *reversed(totals)))
            outcome = build(history, inputs_of(window + 1), counter, search=search)
            report = report_in(outcome)
            assert report is not None
            asked = [attempt.plan_steps for attempt in report.attempts]

            if isinstance(outcome, Success):
                assert 0 < totals[asked[-1]] <= window
                assert 3 + turns - asked[-1] == len(outcome.unwrap().request.messages)
            elif isinstance(outcome.failure(), DoesNotFit):
                assert (turns, True) == (asked[-1], totals[turns] > window)
            else:
                assert isinstance(outcome.failure(), InvalidInput)
                assert 0 in totals
            if search is not Search.BISECT:
                walk = next((k for k in range(turns + 1) if totals[k] <= window), turns)
                counts = walk if totals[walk] == 0 else walk + 1
                assert list(range(counts)) == asked


def _has_messages(history: Projection, turn_id: str) -> bool:
    return any(naive_messages(turn) for turn in history.turns if turn.turn_id == turn_id)


class TestTurnsWithoutMessagesR5:
    """R5. A turn that projects to no message is no candidate: it stays retained and costs no step."""

    @pytest.mark.parametrize("search", list(Search))
    def test_it_is_retained_and_no_count_is_spent_on_it(self, search: Search) -> None:
        history = history_of("aafa")
        failure = build(history, inputs_of(1), ByMessages((50,)), search=search).failure()

        assert isinstance(failure, DoesNotFit)
        assert [True, True, False, True] == [row.retained for row in failure.report.turns.rows]
        assert 1 == failure.report.attempts[-1].removed_turns
        assert len(failure.report.attempts) <= 2

    @given(st.text(SHAPES, max_size=6), st.sampled_from(Search))
    def test_audit_turns_change_neither_request_nor_attempts(self, shapes: str, search: Search) -> None:
        with_audit = history_of("a" + "a".join(shapes) + "a")
        without = history_of("".join(shapes.replace("a", "")))
        inputs = inputs_of(90)
        first = plain(build(with_audit, inputs, ByMessages((50, 120)), search=search))
        second = plain(build(without, inputs, ByMessages((50, 120)), search=search))

        assert type(first) is type(second)
        assert [a.reserved for a in first.attempts or ()] == [a.reserved for a in second.attempts or ()]

    @given(worlds(), st.sampled_from(Search))
    def test_it_is_retained_in_every_report(self, world: World, search: Search) -> None:
        report = report_in(built_from(world, search))
        assume(report is not None)
        assert report is not None

        for row in report.turns.rows:
            assert row.retained or _has_messages(world.history, row.turn_id)
