"""Items, summaries and views inside a build (B2, B3, B6, B8, S4, S8, T7), by examples."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction

import attrs
import pytest

from jingwei.build import BuildInputs, BuiltContext, build, missing_content
from jingwei.ids import EventId, ItemId, SessionId, SummaryId, TurnId
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.records import ContextItem, ItemKind, ItemSource, ShortContent, Tier
from jingwei.messages.records import GenerationRequest, ModelMessage, SystemMessage, UserMessage
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.report.failures import InvalidInput, InvalidInputReason, SurvivalBroken
from jingwei.report.records import ReductionKind
from jingwei.report.wire import decode_report, encode_report
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.results.failures import ContradictionReason, ViewContradiction
from jingwei.results.records import ViewRendition
from jingwei.selection.by_value import ByValue
from jingwei.selection.records import (
    ChoiceReason,
    CondenseItem,
    DropItem,
    InvalidPlan,
    InvalidPlanReason,
    Plan,
    PlanStep,
    Reduction,
    ReplaceTurnsBySummary,
)
from jingwei.selection.search import Search
from jingwei.selection.with_summaries import WithSummaries
from jingwei.summaries.records import Summary
from tests.logtable import SESSION, log_of
from tests.results.test_rendering import FIRST, rendering
from tests.results.test_rendering import history as with_results
from tests.selection.weighing import history, summary
from tests.test_build import ByteCounter, Planned, inputs

COUNTER = ByteHeuristicCounter()
LONG = ShortContent(text="short", method="cut-v1")


def item(item_id: str, content: str = "said", **changes: object) -> ContextItem:
    made = ContextItem(
        item_id=ItemId(item_id), kind=ItemKind.FACT, content=content, source=ItemSource.TOOL, tier=Tier.P1
    )
    return attrs.evolve(made, **changes)  # type: ignore[arg-type]


def with_items(*items: ContextItem, window: int = 10_000, system: Sequence[str] = ("s",)) -> BuildInputs:
    plain = inputs(window=window, system=system)
    soft = attrs.evolve(plain.budget, mode=type(plain.budget.mode)("soft"))
    return attrs.evolve(plain, items=items, budget=soft)


def summed(turns: int, *summaries: Summary) -> BuildInputs:
    return attrs.evolve(with_items(), summaries=summaries)


def long_history(turns: int) -> Projection:
    said = "said at length " * 40
    table = "; ".join(f'turn {i}; user "{said}"; reply; done' for i in range(turns))
    return project(SESSION, log_of(table)).unwrap()


def done(*reductions: Reduction, base: bool = False) -> Planned:
    if base:
        return Planned(Plan(base=reductions))
    return Planned(Plan(steps=tuple([PlanStep(reductions=(one,)) for one in reductions])))


def lines(request: GenerationRequest) -> list[dict[str, object]]:
    envelope = request.messages[-2]
    assert isinstance(envelope, UserMessage)
    return [json.loads(line) for line in envelope.content.split("\n")[1:-1]]


def test_items_stand_between_the_history_and_current() -> None:
    made = build(history(1), with_items(item("b"), item("a", tier=Tier.P0)), COUNTER).unwrap()
    first, *past, envelope, current = made.request.messages

    assert SystemMessage(content="s") == first
    assert list(history(1).turns[0].messages) == past
    assert UserMessage(content="new") == current
    assert isinstance(envelope, UserMessage)
    assert ["a", "b"] == [line["item_id"] for line in lines(made.request)]
    assert made.report.items_digest == made.report.sent[-2].digest


class TestItemsThatAreNone:
    """Before any count, and before the budget is looked at."""

    def test_a_system_text_belongs_into_system(self) -> None:
        rule = item("rule", kind=ItemKind.SYSTEM, source=ItemSource.HOST)
        expected = InvalidItem(
            item_id=ItemId("rule"),
            field="kind",
            reason=InvalidItemReason.SYSTEM_IN_ENVELOPE,
            actual="system",
        )

        assert expected == build(history(1), with_items(item("a"), rule), COUNTER).failure()

    def test_what_no_item_may_be(self) -> None:
        refused = build(history(1), with_items(item(" ")), COUNTER).failure()

        assert isinstance(refused, InvalidItem)
        assert InvalidItemReason.BLANK_ID is refused.reason


class TestSummariesThatAreNone:
    """Each is `InvalidInput` at its place."""

    @pytest.mark.parametrize(
        ("summaries", "reason", "path"),
        [
            (
                (summary("a", 0), attrs.evolve(summary("b", 1), session_id=SessionId("other"))),
                InvalidInputReason.SUMMARY_OF_ANOTHER_SESSION,
                "/summaries/1",
            ),
            (
                (
                    summary("a", 0),
                    attrs.evolve(summary("b", 0), supersedes=(SummaryId("a"),), version=2),
                ),
                InvalidInputReason.SUMMARY_NOT_ACTIVE,
                "/summaries",
            ),
            (
                (attrs.evolve(summary("a", 0), version=7),),
                InvalidInputReason.SUMMARY_NOT_ACTIVE,
                "/summaries",
            ),
            ((summary("a", 0), summary("b", 9)), InvalidInputReason.SUMMARY_OF_UNKNOWN_TURN, "/summaries/1"),
        ],
    )
    def test_refused(self, summaries: tuple[Summary, ...], reason: InvalidInputReason, path: str) -> None:
        refused = build(history(2), summed(2, *summaries), COUNTER).failure()

        assert InvalidInput(reason=reason, path=path) == refused


class TestReductions:
    """What a plan does to items and summaries, and what the report says of it."""

    def test_an_item_is_condensed_and_then_left_out(self) -> None:
        long = item("a", "x" * 400, short=LONG)
        strategy = done(CondenseItem(item_id=ItemId("a")), DropItem(item_id=ItemId("a")))
        window, rows, said = 10_000, [], []
        for _ in range(3):
            given = with_items(long, item("b"), window=window)
            made = build(history(0), given, COUNTER, strategy=strategy).unwrap()
            (row, _b) = made.report.items or ()
            window = made.report.attempts[-1].total_reserved - 1
            rows.append((row.reduction, row.reason, row.retained))
            said.append([line["content"] for line in lines(made.request) if line["item_id"] == "a"])

        assert [
            (None, ChoiceReason.ROOM_FOR_ALL, True),
            (ReductionKind.CONDENSED, ChoiceReason.ROOM_FOR_ALL, True),
            (ReductionKind.DROPPED, ChoiceReason.FULL_COUNT, False),
        ] == rows
        assert [["x" * 400], ["short"], []] == said

    def test_without_an_additive_counter_nothing_is_said_of_costs(self) -> None:
        for search in (Search.LINEAR, Search.BISECT):
            made = build(
                history(2),
                with_items(item("a", "x" * 400, short=LONG), window=700),
                ByteCounter(),
                strategy=done(CondenseItem(item_id=ItemId("a")), DropItem(item_id=ItemId("a"))),
                search=search,
            ).unwrap()

            assert [(None, None)] == [(row.full_cost, row.cost) for row in made.report.items or ()]

    def test_a_kept_item_says_why_it_is_there(self) -> None:
        kept = (item("a", required=True), item("b", pinned=True), item("c"))
        made = build(
            history(0), with_items(*kept), COUNTER, strategy=done(DropItem(item_id=ItemId("c")), base=True)
        )

        assert [
            ("a", ChoiceReason.REQUIRED, True),
            ("b", ChoiceReason.PINNED, True),
            ("c", ChoiceReason.NO_ROOM, False),
        ] == [(row.item_id, row.reason, row.retained) for row in made.unwrap().report.items or ()]

    def test_a_summary_stands_for_its_turns(self) -> None:
        found = build(
            long_history(3), summed(3, summary("s", 0, 1)), COUNTER, strategy=WithSummaries(ByValue())
        ).unwrap()
        envelope = found.request.messages[1]

        assert isinstance(envelope, UserMessage)
        assert '"summary_id":"s"' in envelope.content
        assert list(long_history(3).turns[2].messages) == list(found.request.messages[2:4])
        assert [(SummaryId("s"), True)] == [
            (row.summary_id, row.applied) for row in found.report.summaries or ()
        ]
        assert [ReductionKind.SUMMARIZED, ReductionKind.SUMMARIZED, None] == [
            row.reduction for row in found.report.turns.rows
        ]
        assert found.report.summary_digest == found.report.sent[1].digest

    def test_a_summary_that_is_not_used_is_reported_so(self) -> None:
        found = build(history(2), summed(2, summary("s", 0)), COUNTER).unwrap()

        assert [(SummaryId("s"), False)] == [
            (row.summary_id, row.applied) for row in found.report.summaries or ()
        ]
        assert found.report.summary_digest is None

    @pytest.mark.parametrize("search", [Search.LINEAR, Search.BISECT])
    @pytest.mark.parametrize("counter", [COUNTER, ByteCounter()])
    def test_a_summary_that_comes_with_a_step(self, search: Search, counter: ByteHeuristicCounter) -> None:
        strategy = done(ReplaceTurnsBySummary(summary_id=SummaryId("s")))
        given = summed(2, summary("s", 0, 1))
        whole = build(long_history(2), given, counter).unwrap().report.attempts[-1].total_reserved
        tight = attrs.evolve(given, budget=attrs.evolve(given.budget, window_tokens=whole - 1))
        found = build(long_history(2), tight, counter, strategy=strategy, search=search).unwrap()

        assert 1 == found.report.attempts[-1].plan_steps
        assert [True] == [row.applied for row in found.report.summaries or ()]

    def test_rows_of_items_and_summaries_survive_json(self) -> None:
        scored = item("a", "x" * 400, short=LONG, relevance=Fraction(1, 3))
        given = attrs.evolve(summed(3, summary("s", 0, 1)), items=(scored,))
        report = build(long_history(3), given, COUNTER, strategy=WithSummaries(ByValue())).unwrap().report

        assert report == decode_report(encode_report(report).unwrap()).unwrap()


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (
            done(DropItem(item_id=ItemId("kept"))),
            InvalidPlan(step=0, reason=InvalidPlanReason.PINNED, turn_id=None, item_id=ItemId("kept")),
        ),
        (
            done(CondenseItem(item_id=ItemId("x")), base=True),
            InvalidPlan(
                step=None, reason=InvalidPlanReason.UNKNOWN_CANDIDATE, turn_id=None, item_id=ItemId("x")
            ),
        ),
        (
            done(ReplaceTurnsBySummary(summary_id=SummaryId("x"))),
            InvalidPlan(
                step=0, reason=InvalidPlanReason.UNKNOWN_CANDIDATE, turn_id=None, summary_id=SummaryId("x")
            ),
        ),
    ],
)
def test_a_plan_that_may_not_be(strategy: Planned, expected: InvalidPlan) -> None:
    given = attrs.evolve(with_items(item("kept", pinned=True)), summaries=(summary("s", 0),))

    assert expected == build(history(1), given, COUNTER, strategy=strategy).failure()


class TestSurvival:
    """B8: the request is looked at once more, and what must stay is looked for unescaped."""

    def made(self) -> tuple[BuildInputs, BuiltContext]:
        given = with_items(item("a", "a <b>\n", required=True), item("b", pinned=True), item("c"))
        return given, build(history(1), given, COUNTER).unwrap()

    def test_nothing_is_missing(self) -> None:
        given, made = self.made()

        assert () == missing_content(made.request, history(1), given)

    @pytest.mark.parametrize(
        ("change", "missing"),
        [
            (lambda text: text.replace("a \\u003cb", "a b"), ["/items/a"]),
            (lambda text: text.replace('"said"', '"sad"'), ["/items/b"]),
            (lambda text: "nothing of ours", ["/items/a", "/items/b"]),
        ],
    )
    def test_what_was_changed_is_named(self, change: Callable[[str], str], missing: list[str]) -> None:
        given, made = self.made()
        messages: list[ModelMessage] = list(made.request.messages)
        envelope = messages[-2]
        assert isinstance(envelope, UserMessage)
        messages[-2] = UserMessage(content=change(envelope.content))
        request = attrs.evolve(made.request, messages=tuple(messages))

        assert missing == list(missing_content(request, history(1), given))

    def test_without_an_envelope_all_of_them_are_missing(self) -> None:
        given, made = self.made()
        request = attrs.evolve(made.request, messages=made.request.messages[-1:])
        everything = missing_content(request, history(1), given)

        assert ["/system/0", "/items/a", "/items/b"] == list(everything)

    def test_a_build_that_loses_an_item_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Our own bug, planted: the assembler forgets the envelope."""
        monkeypatch.setattr("jingwei.drafts.draft.items_message", lambda lines: None)
        failure = build(history(1), with_items(item("a", required=True)), COUNTER).failure()

        assert isinstance(failure, SurvivalBroken)
        assert ("/items/a",) == failure.missing


class TestViews:
    """T7: exchanges of the history are sent as views where the host asks for it."""

    def test_the_request_holds_views_and_the_report_names_their_turns(self) -> None:
        given = attrs.evolve(with_items(), rendering=rendering(ViewRendition.NATIVE, FIRST))
        plain = build(with_results(), with_items(), COUNTER).unwrap()
        found = build(with_results(), given, COUNTER).unwrap()

        assert (TurnId("t"),) == found.report.turns.viewed
        assert [True] == [row.viewed for row in found.report.turns.rows]
        assert [False] == [row.viewed for row in plain.report.turns.rows]
        assert "untrusted_tool_data" in repr(found.request)
        assert "untrusted_tool_data" not in repr(plain.request)

    def test_rows_that_were_viewed_survive_json(self) -> None:
        given = attrs.evolve(with_items(), rendering=rendering(ViewRendition.JSON))
        report = build(with_results(), given, COUNTER).unwrap().report
        encoded = encode_report(report).unwrap()

        assert report == decode_report(encoded).unwrap()
        assert b'"viewed":true' in encoded
        assert (
            b'"viewed"'
            not in encode_report(build(with_results(), with_items(), COUNTER).unwrap().report).unwrap()
        )

    def test_a_view_that_contradicts_the_log_is_refused(self) -> None:
        lie = attrs.evolve(FIRST, name="other")
        given = attrs.evolve(with_items(), rendering=rendering(ViewRendition.NATIVE, lie))
        expected = ViewContradiction(
            turn_id=TurnId("t"),
            source_event=lie.source_event,
            recorded_by=EventId("v0"),
            reason=ContradictionReason.NAME,
        )

        assert expected == build(with_results(), given, COUNTER).failure()
