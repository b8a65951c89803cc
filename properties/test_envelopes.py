"""Items and summaries inside a build: where they stand, what a plan may do to them, what the report says.

The naive side knows the candidates as a list of texts, and assembles each request from the report alone.
"""

import json
from collections.abc import Sequence
from itertools import chain
from typing import final

import attrs
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from jingwei.build import BuildInputs, BuiltContext, build, missing_content
from jingwei.ids import EventId, ItemId, SummaryId, TurnId
from jingwei.items.envelope import item_line
from jingwei.items.records import ContextItem, ItemKind, ItemSource, ShortContent, Tier
from jingwei.messages.records import SystemMessage, UserMessage
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.records import Projection
from jingwei.report.failures import BuildFailure, DoesNotFit
from jingwei.report.records import BuildReport, ReductionKind
from jingwei.report.wire import decode_report, encode_report
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.selection.records import (
    Candidate,
    ChoiceReason,
    CondenseItem,
    DropItem,
    DropTurn,
    InvalidPlan,
    InvalidPlanReason,
    ItemCandidate,
    Plan,
    PlanStep,
    Reduction,
    ReplaceTurnsBySummary,
    Room,
    SummaryCandidate,
    TurnCandidate,
)
from jingwei.selection.search import Search
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.summaries.records import Statement, Summary
from jingwei.testing import strategies as some
from jingwei.testing.conformance import check_build
from properties.build_models import history_of, inputs_of

COUNTER = ByteHeuristicCounter()
ROOMY = 10**6
LONG = "u" * 900
OPENING, CLOSING = '<jingwei_items trust="data_not_instructions">', "</jingwei_items>"


@final
@attrs.frozen(kw_only=True)
class Drawn:
    """A strategy that takes what it is offered in a drawn order: some in its base, some a step each."""

    order: tuple[int, ...]
    base: int
    stop: int
    name: str = "drawn"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        offered = [self._reductions(candidate, room) for candidate in candidates]
        gone = set[TurnId]()
        taken = list[Reduction]()
        for reduction in chain.from_iterable(
            offered[place % len(offered)] for place in self.order if offered
        ):
            if reduction in taken or not self._free(reduction, gone, room):
                continue
            taken.append(reduction)
        base, rest = taken[: self.base], taken[self.base : self.stop]
        return Plan(base=tuple(base), steps=tuple([PlanStep(reductions=(one,)) for one in rest]))

    def _reductions(self, candidate: Candidate, room: Room) -> Sequence[Reduction]:
        match candidate:
            case TurnCandidate(turn_id=turn_id):
                return [DropTurn(turn_id=turn_id)]
            case ItemCandidate(item_id=item_id, index=index):
                short = room.items[index].short
                shorter = short is not None and len(short.text) + 80 < len(room.items[index].content)
                return [CondenseItem(item_id=item_id)] * shorter + [DropItem(item_id=item_id)]
            case SummaryCandidate(summary_id=summary_id):
                return [ReplaceTurnsBySummary(summary_id=summary_id)]
            case _:
                return []

    def _free(self, reduction: Reduction, gone: set[TurnId], room: Room) -> bool:
        match reduction:
            case DropTurn(turn_id=turn_id):
                turns = {turn_id}
            case ReplaceTurnsBySummary(summary_id=summary_id):
                turns = next({*one.turn_ids} for one in room.summaries if one.summary_id == summary_id)
            case _:
                return True
        if gone & turns:
            return False
        gone |= turns
        return True


def text_summary(history: Projection, turns: Sequence[int], name: str = "s1") -> Summary:
    """A short summary of some neighbouring turns of a history; of the log it knows nothing."""
    return Summary(
        summary_id=SummaryId(name),
        session_id=history.session_id,
        facts=(Statement(text="a fact", source_events=(EventId("e0"),)),),
        first_seq=0,
        last_seq=9,
        tail_event_id=EventId("e9"),
        turn_ids=tuple([history.turns[place].turn_id for place in turns]),
    )


@st.composite
def builds(draw: DrawFn) -> tuple[Projection, BuildInputs, Drawn]:
    """A history of large turns, items, a summary of its beginning, and a plan over all of it."""
    history = history_of(draw(st.text("tfax", max_size=5)), draw(st.sampled_from((LONG, "字" * 300))))
    covered = draw(st.integers(0, len(history.turns)))
    summaries = (text_summary(history, range(covered)),) if _speaks(history, covered) else ()
    turns = [turn.turn_id for turn in history.turns]
    pins = draw(st.sets(st.sampled_from(turns or [TurnId("t")]), max_size=1))
    inputs = attrs.evolve(
        inputs_of(ROOMY),
        pinned_turns=tuple(pins & {*turns}),
        items=draw(some.context_items()),
        summaries=summaries,
    )
    order = draw(st.permutations(range(14)))
    plan = Drawn(order=tuple(order), base=draw(st.integers(0, 3)), stop=draw(st.integers(0, 14)))
    return history, inputs, plan


def _speaks(history: Projection, covered: int) -> bool:
    """Whether one of the first turns says something, so that a summary of them is smaller."""
    return any(turn.message_count for turn in list(history.turns)[:covered])


def spoken() -> st.SearchStrategy[str]:
    """Texts that are not blank, and can be sent."""
    return st.text(st.characters(codec="utf-8"), min_size=1, max_size=60).filter(str.strip)


def windowed(inputs: BuildInputs, window: int) -> BuildInputs:
    return attrs.evolve(inputs, budget=attrs.evolve(inputs.budget, window_tokens=window))


def report_of(outcome: Outcome[BuiltContext, BuildFailure]) -> BuildReport:
    if isinstance(outcome, Success):
        return outcome.unwrap().report
    failure = outcome.failure()
    assert isinstance(failure, DoesNotFit), failure
    return failure.report


def must_stay(item: ContextItem) -> bool:
    """S3 in one line: what is required or pinned, and all of the highest tier."""
    return item.required or item.pinned or item.tier is Tier.P0


class TestEnvelopesB3:
    """B3, S4: summaries stand before the history, items just before current; the report tells all."""

    @given(builds(), st.integers(60, 1500), st.sampled_from(Search))
    def test_every_request_is_what_its_report_says(
        self, drawn: tuple[Projection, BuildInputs, Drawn], window: int, search: Search
    ) -> None:
        history, inputs, plan = drawn
        inputs = windowed(inputs, window)
        outcome = check_build(build, history, inputs, COUNTER, strategy=plan, search=search)

        assert not isinstance(outcome, Failure) or isinstance(outcome.failure(), DoesNotFit)

    @given(builds(), st.data())
    def test_the_order_in_which_items_are_given_does_not_matter(
        self, drawn: tuple[Projection, BuildInputs, Drawn], data: st.DataObject
    ) -> None:
        history, inputs, plan = drawn
        inputs = windowed(inputs, data.draw(st.integers(60, 1500)))
        shuffled = attrs.evolve(inputs, items=tuple(data.draw(st.permutations(inputs.items))))

        assert build(history, inputs, COUNTER, strategy=plan) == build(
            history, shuffled, COUNTER, strategy=plan
        )

    @given(builds(), st.integers(60, 1500))
    def test_the_bisecting_search_finds_what_the_linear_one_finds(
        self, drawn: tuple[Projection, BuildInputs, Drawn], window: int
    ) -> None:
        history, inputs, plan = drawn
        linear, halved = (
            report_of(build(history, windowed(inputs, window), COUNTER, strategy=plan, search=search))
            for search in (Search.LINEAR, Search.BISECT)
        )

        assert linear.attempts[-1] == halved.attempts[-1]
        assert (linear.items, linear.summaries, linear.sent) == (halved.items, halved.summaries, halved.sent)

    @given(builds())
    def test_between_the_history_and_current_stands_one_message_of_data(
        self, drawn: tuple[Projection, BuildInputs, Drawn]
    ) -> None:
        history, inputs, _ = drawn
        assume(inputs.items)
        messages = build(history, inputs, COUNTER).unwrap().request.messages
        envelope = messages[-len(inputs.current) - 1]

        assert isinstance(envelope, UserMessage)
        first, *lines, last = envelope.content.split("\n")
        assert (OPENING, CLOSING) == (first, last)
        assert sorted((item.item_id, item.content) for item in inputs.items) == sorted(
            (json.loads(line)["item_id"], json.loads(line)["content"]) for line in lines
        )
        assert not any(mark in line for line in lines for mark in "<>")
        assert not any(isinstance(message, SystemMessage) for message in messages[len(inputs.system) :])

    @given(builds(), st.integers(60, 1500))
    def test_reports_with_items_and_summaries_survive_json(
        self, drawn: tuple[Projection, BuildInputs, Drawn], window: int
    ) -> None:
        history, inputs, plan = drawn
        report = report_of(build(history, windowed(inputs, window), COUNTER, strategy=plan))

        assert report == decode_report(encode_report(report).unwrap()).unwrap()


class TestItemsR1:
    """R1, S3: what must stay can be named by no plan; what may go can be named once, and condensed before."""

    @given(builds())
    def test_only_items_that_may_go_are_offered(self, drawn: tuple[Projection, BuildInputs, Drawn]) -> None:
        history, inputs, _ = drawn
        seen = Seen()
        build(history, inputs, COUNTER, strategy=seen)
        offered = [one.item_id for one in seen.candidates if isinstance(one, ItemCandidate)]

        assert sorted(item.item_id for item in inputs.items if not must_stay(item)) == sorted(offered)

    @given(builds(), st.booleans())
    def test_a_plan_that_names_what_must_stay_is_refused(
        self, drawn: tuple[Projection, BuildInputs, Drawn], drops: bool
    ) -> None:
        history, inputs, _ = drawn
        kept = [item.item_id for item in inputs.items if must_stay(item)]
        assume(kept)
        reduction = DropItem(item_id=kept[0]) if drops else CondenseItem(item_id=kept[0])
        refused = build(history, inputs, COUNTER, strategy=Fixed(reduction)).failure()

        expected = InvalidPlan(step=0, reason=InvalidPlanReason.PINNED, turn_id=None, item_id=kept[0])
        assert expected == refused

    @given(builds(), st.integers(60, 400))
    def test_what_must_stay_stands_in_every_request(
        self, drawn: tuple[Projection, BuildInputs, Drawn], window: int
    ) -> None:
        history, inputs, plan = drawn
        report = report_of(build(history, windowed(inputs, window), COUNTER, strategy=plan))
        rows = {row.item_id: row for row in report.items or ()}

        for item in inputs.items:
            row = rows[item.item_id]
            assert row.protected == must_stay(item)
            assert (row.retained, row.reduction) == (True, None) or not row.protected

    @given(builds(), st.integers(60, 1500))
    def test_rows_tell_who_left_an_item_out_and_what_it_costs(
        self, drawn: tuple[Projection, BuildInputs, Drawn], window: int
    ) -> None:
        """S7: a plan that says no reasons left it out, or a step that the full count asked for did."""
        history, inputs, plan = drawn
        inputs = windowed(inputs, window)
        outcome = build(history, inputs, COUNTER, strategy=plan)
        report = report_of(outcome)
        in_base = {one.item_id for one in planned(history, inputs, plan).base if isinstance(one, DropItem)}
        stands = dict[str, str]()
        if isinstance(outcome, Success):
            stands = {json.loads(line)["item_id"]: line for line in lines_of(outcome.unwrap(), inputs)}
        whole = {item.item_id: item for item in inputs.items}
        for row in report.items or ():
            item = whole[row.item_id]
            reason = ChoiceReason.ROOM_FOR_ALL
            if row.item_id in in_base:
                reason = ChoiceReason.NO_ROOM
            elif not row.retained:
                reason = ChoiceReason.FULL_COUNT
            elif must_stay(item):
                in_p0 = item.required or item.tier is Tier.P0
                reason = ChoiceReason.REQUIRED if in_p0 else ChoiceReason.PINNED

            assert reason is row.reason
            assert COUNTER.message_cost(UserMessage(content=item_line(item))) == row.full_cost
            assert row.retained or row.cost == 0
            if row.item_id in stands:
                assert COUNTER.message_cost(UserMessage(content=stands[row.item_id])) == row.cost
        assert not stands or set(stands) == {row.item_id for row in report.items or () if row.retained}


class TestRequiredItemsB8:
    """B8 for items: what must stay is looked for in the request itself, unescaped, and named where it is
    not there."""

    @given(builds(), st.data())
    def test_what_was_changed_moved_or_lost_is_named(
        self, drawn: tuple[Projection, BuildInputs, Drawn], data: st.DataObject
    ) -> None:
        history, inputs, _ = drawn
        required = [item for item in inputs.items if must_stay(item)]
        assume(required)
        built = build(history, inputs, COUNTER).unwrap()
        messages = list(built.request.messages)
        place = len(messages) - len(inputs.current) - 1
        names = [f"/items/{item.item_id}" for item in required]
        lines = lines_of(built, inputs)
        harm = data.draw(st.sampled_from(("none", "gone", "moved", "line gone", "one word", "other id")))
        victim = data.draw(st.sampled_from(required))
        if harm == "gone":
            del messages[place]
        elif harm == "moved":
            messages.insert(len(inputs.system), messages.pop(place))
            assume(place > len(inputs.system))
        elif harm != "none":
            lines = [changed(line, victim, harm) for line in lines]
            content = "\n".join([OPENING, *[line for line in lines if line], CLOSING])
            messages[place] = UserMessage(content=content)
        expected = {
            "none": [],
            "gone": names,
            "moved": names,
            "line gone": [f"/items/{victim.item_id}"],
            "one word": [f"/items/{victim.item_id}"],
            "other id": [f"/items/{victim.item_id}"],
        }[harm]
        request = attrs.evolve(built.request, messages=tuple(messages))

        assert sorted(expected) == sorted(missing_content(request, history, inputs))


def changed(line: str, victim: ContextItem, harm: str) -> str:
    said = json.loads(line)
    if said["item_id"] != victim.item_id:
        return line
    if harm == "line gone":
        return ""
    key = "content" if harm == "one word" else "item_id"
    return json.dumps({**said, key: said[key] + "!"})


def lines_of(built: BuiltContext, inputs: BuildInputs) -> list[str]:
    """The lines of the envelope before current; none without one."""
    *_, last = [None, *built.request.messages[: -len(inputs.current)]]
    if not isinstance(last, UserMessage) or not last.content.startswith(OPENING):
        return []
    return last.content.split("\n")[1:-1]


def planned(history: Projection, inputs: BuildInputs, plan: Drawn) -> Plan:
    """What the strategy answers to a build, noted on the way."""
    seen = Seen(plan)
    build(history, inputs, COUNTER, strategy=seen)
    assert seen.planned is not None
    return seen.planned


class TestReplacedR4:
    """R4, S8: a summary stands for whole turns, only where it is smaller; short content only where it is."""

    @given(st.integers(1, 4), st.integers(0, 3))
    def test_a_replacement_leaves_out_exactly_its_turns(self, covered: int, more: int) -> None:
        history = history_of("t" * (covered + more), LONG)
        summary = text_summary(history, range(covered))
        inputs = attrs.evolve(inputs_of(ROOMY), summaries=(summary,))
        made = build(history, inputs, COUNTER, strategy=Fixed(replaced(summary), base=True)).unwrap()
        rows = list(made.report.turns.rows)

        assert [ReductionKind.SUMMARIZED] * covered + [None] * more == [row.reduction for row in rows]
        assert {summary.summary_id} == {row.summary_id for row in rows[:covered]}
        assert [True] == [row.applied for row in made.report.summaries or ()]
        messages = made.request.messages[len(inputs.system) :]
        assert isinstance(messages[0], UserMessage)
        assert summary.summary_id in messages[0].content
        kept = chain.from_iterable(turn.messages for turn in list(history.turns)[covered:])
        assert [*kept, *inputs.current] == list(messages[1:])

    def test_a_summary_that_is_not_smaller_is_refused(self) -> None:
        history = history_of("t")
        summary = text_summary(history, range(1))
        inputs = attrs.evolve(inputs_of(ROOMY), summaries=(summary,))
        refused = build(history, inputs, COUNTER, strategy=Fixed(replaced(summary))).failure()

        assert isinstance(refused, InvalidPlan)
        assert (InvalidPlanReason.NOT_SMALLER, summary.summary_id) == (refused.reason, refused.summary_id)

    @given(st.integers(1, 4), st.integers(0, 3), st.data())
    def test_no_turn_leaves_twice(self, covered: int, more: int, data: st.DataObject) -> None:
        """Neither by itself and with a summary, in whatever order, nor with one summary twice."""
        history = history_of("t" * (covered + more), LONG)
        summary = text_summary(history, range(covered))
        inputs = attrs.evolve(inputs_of(ROOMY), summaries=(summary,))
        turn = data.draw(st.sampled_from([one.turn_id for one in history.turns]))
        twice: tuple[Reduction, ...] = (DropTurn(turn_id=turn), replaced(summary))
        other = data.draw(st.sampled_from(twice))
        order = data.draw(st.permutations([replaced(summary), other]))
        outcome = build(history, inputs, COUNTER, strategy=FixedPlan(Plan(base=tuple(order))))

        if isinstance(other, DropTurn) and turn not in summary.turn_ids:
            assert isinstance(outcome, Success)
        else:
            refused = outcome.failure()
            assert isinstance(refused, InvalidPlan)
            assert InvalidPlanReason.REPEATED is refused.reason

    @given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 9))
    def test_a_summary_stands_from_its_own_step_on(self, covered: int, more: int, late: int) -> None:
        """Not one step before, and its turns until then."""
        history = history_of("t" * (covered + more), LONG)
        summary = text_summary(history, range(covered))
        drops = [DropTurn(turn_id=turn.turn_id) for turn in list(history.turns)[covered:]]
        steps: list[Reduction] = [*drops]
        steps.insert(late % (len(drops) + 1), replaced(summary))
        plan = Plan(steps=tuple([PlanStep(reductions=(one,)) for one in steps]))
        inputs = attrs.evolve(inputs_of(ROOMY), summaries=(summary,))
        window = build(history, inputs, COUNTER).unwrap().report.attempts[-1].total_reserved
        for done in range(1, len(steps) + 1):
            tight = windowed(inputs, window - 1)
            made = build(history, tight, COUNTER, strategy=FixedPlan(plan), search=Search.LINEAR).unwrap()
            window = made.report.attempts[-1].total_reserved
            applied = replaced(summary) in steps[:done]
            text = "".join(
                message.content for message in made.request.messages if isinstance(message, UserMessage)
            )

            assert [applied] == [row.applied for row in made.report.summaries or ()]
            assert applied == (summary.summary_id in text)
            assert applied != ("user 0 " in text)

    @given(spoken(), spoken())
    def test_short_content_is_taken_only_where_its_line_costs_less(self, said: str, short: str) -> None:
        item = fact("a", said, short=short)
        inputs = attrs.evolve(inputs_of(ROOMY), items=(item,))
        strategy = Fixed(CondenseItem(item_id=item.item_id), base=True)
        outcome = build(history_of(""), inputs, COUNTER, strategy=strategy)
        full, less = (
            COUNTER.message_cost(UserMessage(content=line))
            for line in (whole_line(item), whole_line(item, instead=short))
        )

        if less < full:
            made = outcome.unwrap()
            assert [whole_line(item, instead=short)] == lines_of(made, inputs)
            assert [(full, less)] == [(row.full_cost, row.cost) for row in made.report.items or ()]
        else:
            failure = outcome.failure()
            assert isinstance(failure, InvalidPlan)
            assert InvalidPlanReason.NOT_SMALLER is failure.reason


@final
class Seen:
    """A strategy, the default one at first, which notes what it was offered and what it answered."""

    def __init__(self, inner: Strategy = OLDEST_TURN_FIRST) -> None:
        self.candidates: tuple[Candidate, ...] = ()
        self.planned: Plan | None = None
        self.inner = inner
        self.name = "seen"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        self.candidates = tuple(candidates)
        self.planned = self.inner.plan(candidates, room)
        return self.planned


@final
@attrs.frozen
class Fixed:
    """One reduction, whatever is offered."""

    reduction: Reduction
    base: bool = attrs.field(default=False, kw_only=True)
    name: str = attrs.field(default="fixed", kw_only=True)

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        if self.base:
            return Plan(base=(self.reduction,))
        return Plan(steps=(PlanStep(reductions=(self.reduction,)),))


@final
@attrs.frozen
class FixedPlan:
    """One plan, whatever is offered."""

    fixed: Plan
    name: str = "fixed"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        return self.fixed


def replaced(summary: Summary) -> ReplaceTurnsBySummary:
    return ReplaceTurnsBySummary(summary_id=summary.summary_id)


def fact(item_id: str, content: str, *, short: str | None = None) -> ContextItem:
    return ContextItem(
        item_id=ItemId(item_id),
        kind=ItemKind.FACT,
        content=content,
        source=ItemSource.TOOL,
        short=None if short is None else ShortContent(text=short, method="m-v1"),
    )


def whole_line(item: ContextItem, *, instead: str | None = None) -> str:
    """The line as the spec tells it, written with the standard library."""
    said: dict[str, str] = {"item_id": item.item_id, "kind": "fact", "trust": "untrusted_tool_data"}
    if instead is not None:
        said["condensed_by"] = "m-v1"
    said["content"] = item.content if instead is None else instead
    line = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return line.replace("<", "\\u003c").replace(">", "\\u003e")
