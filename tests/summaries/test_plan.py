"""Which turns are summarised, and in which requests (S8)."""

from typing import Any

import attrs
import pytest

from jingwei.ids import EventId, SessionId, SummaryId, TurnId
from jingwei.messages.records import GenerationRequest, RequiredChoice, UserMessage
from jingwei.messages.records import NativeToolsConstraint as Tools
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.counting import ByteHeuristicCounter, CountRefused
from jingwei.request.records import (
    BudgetMode,
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)
from jingwei.summaries.failures import (
    ChunkNotCounted,
    NotCountedReason,
    SummaryPlanReason,
    SummaryPlanRefused,
    SummarySetBroken,
    SummarySetReason,
    TurnTooLarge,
)
from jingwei.summaries.plan import LeftReason, SummaryPlan, SummaryScope, plan_summary
from jingwei.summaries.records import Protected, SharedPrefix
from jingwei.summaries.request import summary_request
from tests.logtable import log_of
from tests.summaries.world import GOOD, LIVE_TARGET, LONG, SOURCES, TALK, TARGET, sources_in, summariser

R = SummaryPlanReason
ALL = SummaryScope(keep_newest=0)
COUNTER = ByteHeuristicCounter()
LIVE = GenerationRequest(
    messages=(
        *[message for turn in SOURCES.turns[1:] for message in turn.messages],
        UserMessage(content="now"),
    )
)


class Whole:
    """A counter whose costs do not add up."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return COUNTER.count(target, request)


class Optimist:
    """Message costs of nothing."""

    def message_cost(self, message: object) -> int:
        return 0

    def fixed_cost(self, constraint: object) -> int:
        return 0

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return COUNTER.count(target, request)


class Says:
    """A counter that says what it is told to."""

    def __init__(self, answer: TokenCount | CountRefused) -> None:
        self.answer = answer

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return Failure(self.answer) if isinstance(self.answer, CountRefused) else Success(self.answer)


def chunks(plan: SummaryPlan) -> list[list[str]]:
    return [list(planned.chunk.turn_ids) for planned in plan.chunks]


def left(plan: SummaryPlan) -> list[tuple[str, LeftReason]]:
    return [(turn.turn_id, turn.reason) for turn in plan.left]


def test_everything_that_fits_is_one_chunk() -> None:
    plan = plan_summary(SOURCES, ALL, summariser()).unwrap()
    (planned,) = plan.chunks

    assert [["one", "two", "three", "four"]] == chunks(plan)
    assert [] == left(plan)
    assert (1, (), GOOD.session_id) == (planned.chunk.version, planned.chunk.supersedes, plan.session_id)
    assert Success(planned.count) == COUNTER.count(TARGET, planned.request)
    assert Success(planned.request) == summary_request(planned.chunk, summariser().shape)


@pytest.mark.parametrize("counter", [COUNTER, Whole(), Optimist()], ids=["adds", "whole", "lies"])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_chunks_are_as_long_as_the_window(turns: int, counter: Any) -> None:
    """The silent turn at the end goes with the last one that speaks."""
    sources = sources_in(log_of("; turn x; ".join([TALK, *[f"turn t{i}; {TALK}" for i in range(5)]])))
    sized = attrs.evolve(plan_summary(sources, ALL, summariser()).unwrap().chunks[0].chunk)
    fitting = attrs.evolve(sized, turns=sized.turns[:turns])
    count = COUNTER.count(TARGET, summary_request(fitting, summariser().shape).unwrap()).unwrap()
    plan = plan_summary(sources, ALL, summariser(count.tokens.total + 70, counter)).unwrap()
    lengths = [len(found) for found in chunks(plan)]

    assert 6 == sum(lengths)
    assert max(lengths) <= turns
    if not isinstance(counter, Optimist):
        assert [turns] * (6 // turns) == lengths


def test_silent_turns_go_along_and_never_alone() -> None:
    sources = sources_in(log_of(f"error; turn b; {TALK}; turn c; error; turn d; {TALK}; turn e; error"))
    (first, second) = plan_summary(sources, ALL, summariser(1_300)).unwrap().chunks

    assert (("one", "b"), ("c", "d", "e")) == (first.chunk.turn_ids, second.chunk.turn_ids)


def test_what_is_left_has_its_reason() -> None:
    table = "; turn ".join(
        [
            f"a; {TALK}",
            f"b; {TALK}",
            "c; error",
            f"d; {TALK}",
            f"e; {TALK}",
            f"f; {TALK}",
            "g; error",
            "h; user",
        ]
    )
    known = attrs.evolve(
        GOOD, first_seq=5, last_seq=9, tail_event_id=EventId("event-9"), turn_ids=(TurnId("b"),)
    )
    sources = sources_in(log_of("turn " + table))
    scope = SummaryScope(pinned=(TurnId("d"),), keep_newest=1)
    plan = plan_summary(sources, scope, summariser(), (known,)).unwrap()

    assert [["a"], ["e"]] == chunks(plan)
    assert [
        ("b", LeftReason.SUMMARISED),
        ("c", LeftReason.SILENT),
        ("d", LeftReason.PINNED),
        ("f", LeftReason.NEWEST),
        ("g", LeftReason.NEWEST),
        ("h", LeftReason.NOT_CLOSED),
    ] == left(plan)


@pytest.mark.parametrize("keep", [4, 10**30])
def test_with_more_to_keep_than_there_is_nothing_is_asked(keep: int) -> None:
    plan = plan_summary(SOURCES, SummaryScope(keep_newest=keep), summariser()).unwrap()

    assert [] == chunks(plan)
    assert [LeftReason.NEWEST] * 4 == [turn.reason for turn in plan.left]


def test_an_empty_log_has_an_empty_plan() -> None:
    assert SummaryPlan(session_id=GOOD.session_id, chunks=(), left=()) == (
        plan_summary(sources_in(log_of("")), ALL, summariser()).unwrap()
    )


def test_turns_are_asked_about_again_and_the_first_chunk_supersedes() -> None:
    known = attrs.evolve(GOOD, version=1)
    protected = (Protected(text="x", seq=1), Protected(text=" ", seq=1), Protected(text="y", seq=12))
    scope = SummaryScope(keep_newest=0, again=(SummaryId("s1"),))
    plan = plan_summary(SOURCES, scope, summariser(1_300), (known,), protected).unwrap()

    assert [["one"], ["two"], ["three", "four"]] == chunks(plan)
    assert [(("s1",), 2), ((), 1), ((), 1)] == [
        (planned.chunk.supersedes, planned.chunk.version) for planned in plan.chunks
    ]
    assert [["x"], [], ["y"]] == [[one.text for one in planned.chunk.protected] for planned in plan.chunks]


@pytest.mark.parametrize("counter", [COUNTER, Whole()], ids=["adds", "whole"])
def test_a_live_request_is_shared_where_it_shows_the_turns(counter: Any) -> None:
    plan = plan_summary(SOURCES, ALL, summariser(counter=counter, shape=SharedPrefix(live=LIVE))).unwrap()
    (planned,) = plan.chunks

    assert [["two", "three", "four"]] == chunks(plan)
    assert [("one", LeftReason.NOT_SHOWN)] == left(plan)
    assert LIVE.messages[:-1] == planned.request.messages[:-1]
    assert Success(planned.request) == summary_request(planned.chunk, SharedPrefix(live=LIVE))


def test_a_shared_prefix_grows_with_every_chunk() -> None:
    """Each turn adds its messages to the prefix, so that what does not fit is too large."""
    answer = plan_summary(SOURCES, ALL, summariser(1_300, shape=SharedPrefix(live=LIVE)))

    assert isinstance(answer, Failure)
    refused = answer.failure()
    assert isinstance(refused, TurnTooLarge)
    assert TurnId("three") == refused.turn_id


def test_a_turn_that_is_too_large_is_named_with_its_cost() -> None:
    whole = plan_summary(SOURCES, ALL, summariser()).unwrap().chunks[0].chunk
    alone = summary_request(attrs.evolve(whole, turns=whole.turns[:1]), summariser().shape).unwrap()
    tokens = COUNTER.count(TARGET, alone).unwrap().tokens.total
    expected = TurnTooLarge(turn_id=TurnId("one"), tokens=tokens, available=390)

    assert Failure(expected) == plan_summary(SOURCES, ALL, summariser(400))


@pytest.mark.parametrize(
    ("scope", "fields", "reason", "subject"),
    [
        (ALL, {"target": ContextTarget(model=" ", template_revision="r")}, R.BLANK_MODEL, "target"),
        (
            ALL,
            {"target": ContextTarget(model="m", template_revision="")},
            R.BLANK_TEMPLATE_REVISION,
            "target",
        ),
        (ALL, {"budget": (0, 1, 0)}, R.INVALID_BUDGET, "window_tokens"),
        (ALL, {"budget": (2**64, 1, 0)}, R.INVALID_BUDGET, "window_tokens"),
        (ALL, {"budget": (9, 0, 0)}, R.INVALID_BUDGET, "output_reserve"),
        (ALL, {"budget": (9, 1, -1)}, R.INVALID_BUDGET, "safety_margin"),
        (SummaryScope(keep_newest=-1), {}, R.NEGATIVE_KEEP_NEWEST, "keep_newest"),
        (SummaryScope(pinned=(TurnId("x"),)), {}, R.UNKNOWN_PIN, "x"),
        (SummaryScope(again=(SummaryId("x"),)), {}, R.NOT_ACTIVE, "x"),
        (
            ALL,
            {
                "shape": SharedPrefix(
                    live=attrs.evolve(LIVE, constraint=Tools(tools=(), choice=RequiredChoice()))
                )
            },
            R.CONSTRAINT_NOT_SHARED,
            "jingwei_summary",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(
    scope: SummaryScope, fields: dict[str, Any], reason: SummaryPlanReason, subject: str
) -> None:
    if "budget" in fields:
        window, reserve, margin = fields["budget"]
        budget = ContextBudget(window_tokens=window, output_reserve=reserve, safety_margin=margin)
        fields = {"budget": budget}
    answer = plan_summary(SOURCES, scope, attrs.evolve(summariser(), **fields))

    assert Failure(SummaryPlanRefused(reason=reason, subject=subject)) == answer


def test_hard_mode_wants_verified_bounds() -> None:
    budget = ContextBudget(window_tokens=9_000, output_reserve=1, mode=BudgetMode.HARD)
    verified = attrs.evolve(budget, output_evidence=TokenBoundEvidence.VERIFIED_UPPER_BOUND)
    hard = attrs.evolve(summariser(), budget=budget)
    expected = SummaryPlanRefused(reason=R.UNVERIFIED_OUTPUT, subject="output_evidence")
    uncounted = ChunkNotCounted(
        reason=NotCountedReason.UNVERIFIED, first_turn=TurnId("one"), last_turn=TurnId("four"), detail=""
    )

    assert Failure(expected) == plan_summary(SOURCES, ALL, hard)
    assert Failure(uncounted) == plan_summary(SOURCES, ALL, attrs.evolve(hard, budget=verified))


def test_summaries_of_another_session_or_that_contradict_each_other_are_refused() -> None:
    other = attrs.evolve(GOOD, session_id=SessionId("x"))
    broken = SummarySetBroken(reason=SummarySetReason.WRONG_VERSION, summary_ids=(SummaryId("s1"),))
    foreign = SummaryPlanRefused(reason=R.OTHER_SESSION, subject="s1")

    assert Failure(foreign) == plan_summary(SOURCES, ALL, summariser(), (other,))
    assert Failure(broken) == plan_summary(SOURCES, ALL, summariser(), (attrs.evolve(GOOD, version=2),))


COUNT = COUNTER.count(TARGET, LIVE).unwrap()
TOKENS = TokenBreakdown(system=0, messages=0, constraint=0, template=0)


@pytest.mark.parametrize(
    ("answer", "reason", "detail"),
    [
        (CountRefused(reason="no"), NotCountedReason.REFUSED, "no"),
        (attrs.evolve(COUNT, target=LIVE_TARGET), NotCountedReason.OTHER_TARGET, ""),
        (attrs.evolve(COUNT, method=" "), NotCountedReason.BLANK_METHOD, ""),
        (attrs.evolve(COUNT, tokens=TOKENS), NotCountedReason.ZERO, ""),
        (attrs.evolve(COUNT, tokens=attrs.evolve(TOKENS, system=-1)), NotCountedReason.OVERFLOW, ""),
        (attrs.evolve(COUNT, tokens=attrs.evolve(TOKENS, messages=2**64)), NotCountedReason.OVERFLOW, ""),
    ],
)
def test_a_count_that_says_nothing_is_told(
    answer: TokenCount | CountRefused, reason: NotCountedReason, detail: str
) -> None:
    expected = ChunkNotCounted(
        reason=reason, first_turn=TurnId("one"), last_turn=TurnId("one"), detail=detail
    )

    assert Failure(expected) == plan_summary(SOURCES, ALL, summariser(counter=Says(answer)))


def test_a_counter_that_breaks_off_later_is_told_too() -> None:
    class Twice:
        asked = 0

        def count(
            self, target: ContextTarget, request: GenerationRequest
        ) -> Outcome[TokenCount, CountRefused]:
            self.asked += 1
            return COUNTER.count(target, request) if self.asked < 2 else Failure(CountRefused(reason="tired"))

    answer = plan_summary(SOURCES, ALL, summariser(counter=Twice()))

    assert isinstance(answer, Failure)
    assert (
        ChunkNotCounted(
            reason=NotCountedReason.REFUSED,
            first_turn=TurnId("one"),
            last_turn=TurnId("two"),
            detail="tired",
        )
        == answer.failure()
    )
    assert LONG in TALK
