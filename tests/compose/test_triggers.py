"""When to make a context smaller (S6): what is said, and that nothing is said in vain."""

from fractions import Fraction

import attrs
import pytest

from jingwei.build import BuildInputs, build
from jingwei.compose.triggers import (
    DEFAULT_TRIGGERS,
    NOTHING_OBSERVED,
    Advice,
    CondenseFinished,
    CondenseResult,
    InvalidTriggerReason,
    InvalidTriggers,
    LookForNoise,
    LowerWeight,
    Observed,
    Reach,
    SummarizeStage,
    Triggers,
    advise,
)
from jingwei.ids import EventId, ItemId, TurnId
from jingwei.items.records import ContextItem, ItemKind
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.report.records import BuildReport
from jingwei.request.records import ContextBudget
from jingwei.selection.records import CondenseTurn, Plan, PreviewPolicy
from tests.compose.composing import COUNTER, CURRENT, TARGET, observation
from tests.logtable import SESSION, log_of
from tests.selection.test_exchanges import Flat
from tests.test_build import Planned

BIG = "y" * 8000
SMALL = PreviewPolicy(inline_bytes=200, preview_bytes=20)


def session(*texts: str) -> Projection:
    table = "\n".join(
        f'turn t{i}; user; call c look; result c "{text}"; reply; done' for i, text in enumerate(texts)
    )
    return project(SESSION, log_of(table)).unwrap()


def report(
    history: Projection,
    *,
    window: int = 6000,
    items: tuple[ContextItem, ...] = (),
    pins: tuple[str, ...] = (),
) -> BuildReport:
    inputs = BuildInputs(
        current=CURRENT,
        target=TARGET,
        budget=ContextBudget(window_tokens=window, output_reserve=1),
        items=items,
        pinned_turns=tuple(map(TurnId, pins)),
    )
    return build(history, inputs, COUNTER).unwrap().report


def said(
    history: Projection,
    built: BuildReport,
    observed: Observed = NOTHING_OBSERVED,
    triggers: Triggers = DEFAULT_TRIGGERS,
) -> tuple[Advice, ...]:
    return advise(history, built, COUNTER, observed, triggers).unwrap()


def test_below_the_threshold_nothing_is_said_of_finished_steps() -> None:
    history = session("short", "short")

    assert () == said(history, report(history))


def test_at_the_threshold_nothing_is_said_and_one_token_beyond_it_is() -> None:
    history = session("short")
    built = report(history, window=1000)
    at, beyond = (said(history, built, Observed(expected_tokens=tokens)) for tokens in (700, 701))

    assert () == at
    (advice,) = beyond
    assert isinstance(advice, CondenseFinished)
    assert (701, 700, Reach.BY_LEAVING_OUT) == (advice.expected, advice.threshold, advice.reach)


def test_what_condensing_would_free_is_what_a_build_with_it_frees() -> None:
    """The oracle is the build: condense these turns, and count again."""
    history = session(BIG, "short", BIG)
    built = report(history, window=6000)
    (advice, *_) = said(history, built)
    assert isinstance(advice, CondenseFinished)
    plan = Plan(base=tuple([CondenseTurn(turn_id=turn) for turn in advice.turns]))
    inputs = BuildInputs(
        current=CURRENT, target=TARGET, budget=ContextBudget(window_tokens=6000, output_reserve=1)
    )
    condensed = build(history, inputs, COUNTER, strategy=Planned(plan)).unwrap().report

    assert (TurnId("t0"), TurnId("t2")) == advice.turns
    assert built.attempts[-1].count.tokens.total == advice.expected
    assert advice.expected - advice.by_condensing == condensed.attempts[-1].count.tokens.total
    assert Reach.BY_CONDENSING is advice.reach


def test_where_only_protected_text_is_left_it_says_so() -> None:
    history = session(BIG)
    built = report(history, window=3000, pins=("t0",))
    (advice,) = said(history, built)

    assert isinstance(advice, CondenseFinished)
    assert (Reach.NOT_REACHABLE, 0, 0, ()) == (
        advice.reach,
        advice.by_condensing,
        advice.by_leaving_out,
        advice.turns,
    )


def test_a_report_without_a_count_expects_nothing() -> None:
    history = session("short")

    assert () == said(history, attrs.evolve(report(history), attempts=()))


def test_a_result_above_its_cap_is_named_once_it_stands_in_full() -> None:
    history = session(BIG, "short")
    built = report(history, window=60_000)
    (advice,) = said(history, built)

    assert isinstance(advice, CondenseResult)
    assert (EventId("event-2"), TurnId("t0"), 4096) == (advice.event_id, advice.turn_id, advice.cap_bytes)
    assert 8000 < advice.actual_bytes < 8100
    assert 1800 < advice.reclaimable < 2000
    size = advice.actual_bytes
    assert () == said(history, built, triggers=Triggers(result_cap_bytes=size))
    assert 1 == len(said(history, built, triggers=Triggers(result_cap_bytes=size - 1)))
    assert 0 == next(
        one.reclaimable
        for one in said(history, built, triggers=Triggers(policy=PreviewPolicy(inline_bytes=90_000)))
        if isinstance(one, CondenseResult)
    )


def test_what_is_left_out_or_not_in_the_history_is_passed_over() -> None:
    history = session(BIG, "short")
    tight = report(history, window=700)

    assert [False, True] == [row.retained for row in tight.turns.rows]
    assert not any(isinstance(one, CondenseResult) for one in said(history, tight))
    assert () == said(session(), report(history, window=60_000))


def test_an_item_nobody_refers_to_counts_for_less() -> None:
    history = session("short")
    items = (observation("a", "x" * 40), observation("b", "y", required=True))
    built = report(history, items=items)
    unused = ((ItemId("b"), 99), (ItemId("gone"), 99), (ItemId("a"), 10))
    advice = said(history, built, Observed(unused_turns=unused))
    cost = {row.item_id: row.cost for row in built.items or ()}[ItemId("a")]

    assert (LowerWeight(item_id=ItemId("a"), turns=10, reclaimable=cost),) == advice
    assert () == said(history, built, Observed(unused_turns=((ItemId("a"), 9),)))


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ("plan", "code", [SummarizeStage(before="plan", now="code")]),
        ("plan", None, [SummarizeStage(before="plan", now=None)]),
        ("plan", "plan", []),
        (None, "plan", []),
        (None, None, []),
    ],
)
def test_another_stage_asks_for_a_summary_of_the_last(
    before: str | None, now: str | None, expected: list[Advice]
) -> None:
    history = session("short")

    assert expected == list(said(history, report(history), Observed(stage_before=before, stage_now=now)))


def test_worse_answers_ask_for_what_takes_the_room() -> None:
    history = session("short", "z" * 900)
    items = (observation("a", "x" * 40), observation("b", "y" * 30))
    inputs = BuildInputs(
        current=CURRENT,
        target=TARGET,
        budget=ContextBudget(window_tokens=6000, output_reserve=1),
        items=items,
    )
    plan = Plan(base=(CondenseTurn(turn_id=TurnId("t1"), policy=SMALL),))
    built = build(history, inputs, COUNTER, strategy=Planned(plan)).unwrap().report
    (advice,) = said(history, built, Observed(quality_fell=True))
    total = built.attempts[-1].count.tokens

    assert isinstance(advice, LookForNoise)
    assert [None, ItemKind.TOOL_OBSERVATION] == [share.kind for share in advice.shares]
    shares = {share.kind: share.tokens for share in advice.shares}
    sent = [message.cost or 0 for message in built.sent]
    assert sum(sent[:-2]) == shares[None]
    assert sum(row.cost or 0 for row in built.items or ()) == shares[ItemKind.TOOL_OBSERVATION]
    assert total.messages > shares[None]


def test_noise_is_told_without_costs_and_without_turns_that_are_unknown() -> None:
    history = session("short")
    built = report(history, items=(observation("a", "x"),))
    rows = tuple([attrs.evolve(row, cost=None) for row in built.items or ()])

    assert (LookForNoise(shares=()),) == said(
        session(), attrs.evolve(built, items=rows), Observed(quality_fell=True)
    )


@pytest.mark.parametrize(
    ("triggers", "observed", "reason", "actual"),
    [
        (Triggers(threshold=Fraction(0)), Observed(), InvalidTriggerReason.THRESHOLD_OUT_OF_RANGE, "0"),
        (Triggers(threshold=Fraction(8, 7)), Observed(), InvalidTriggerReason.THRESHOLD_OUT_OF_RANGE, "8/7"),
        (Triggers(result_cap_bytes=0), Observed(), InvalidTriggerReason.CAP_OUT_OF_RANGE, "0"),
        (Triggers(stale_turns=0), Observed(), InvalidTriggerReason.STALE_OUT_OF_RANGE, "0"),
        (
            Triggers(),
            Observed(unused_turns=((ItemId("a"), 1), (ItemId("b"), -1))),
            InvalidTriggerReason.NEGATIVE_TURNS,
            "-1",
        ),
    ],
)
def test_triggers_that_cannot_be_meant(
    triggers: Triggers, observed: Observed, reason: InvalidTriggerReason, actual: str
) -> None:
    history = session("short")
    failure = advise(history, report(history), COUNTER, observed, triggers).failure()

    assert InvalidTriggers(reason=reason, actual=actual) == failure


def test_the_whole_window_is_a_threshold_too() -> None:
    history = session("short")
    whole = Triggers(threshold=Fraction(1), result_cap_bytes=1_000_000, stale_turns=1)

    assert () == said(history, report(history), triggers=whole)


def test_a_preview_that_does_not_cost_less_is_not_advised() -> None:
    """By a counter that takes as much for any message: what a plan may not do, no advice names."""
    history = session(BIG)
    built = report(history, window=60_000)
    advice = advise(history, built, Flat(), Observed(expected_tokens=60_000)).unwrap()

    assert [(0, ())] == [(a.by_condensing, a.turns) for a in advice if isinstance(a, CondenseFinished)]
    assert [(0, Reach.BY_LEAVING_OUT)] == [
        (a.reclaimable, a.reach) for a in advice if isinstance(a, CondenseResult)
    ]


def test_a_result_whose_preview_is_within_the_cap_can_be_condensed() -> None:
    history = session(BIG)
    (advice,) = said(history, report(history, window=60_000))

    assert isinstance(advice, CondenseResult)
    assert Reach.BY_CONDENSING is advice.reach


def test_turns_that_are_condensed_may_still_be_left_out() -> None:
    """Nothing can be condensed any more, and leaving out is still a way."""
    history = session(BIG, BIG)
    plan = Plan(base=tuple([CondenseTurn(turn_id=TurnId(turn), policy=SMALL) for turn in ("t0", "t1")]))
    inputs = BuildInputs(
        current=CURRENT, target=TARGET, budget=ContextBudget(window_tokens=6000, output_reserve=1)
    )
    built = build(history, inputs, COUNTER, strategy=Planned(plan)).unwrap().report
    whole = sum(message.cost or 0 for message in built.sent[:-1])
    (advice,) = said(history, built, Observed(expected_tokens=4_200 + whole))

    assert isinstance(advice, CondenseFinished)
    assert (Reach.BY_LEAVING_OUT, 0, whole, ()) == (
        advice.reach,
        advice.by_condensing,
        advice.by_leaving_out,
        advice.turns,
    )
