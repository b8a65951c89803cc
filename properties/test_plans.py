"""R4 and R6 for any plan at all, and plans that are computed when read against the same as tuples.

Held against a second, naive bookkeeping: a table of what stands, changed reduction by reduction.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, final

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jingwei.build import BuildInputs, BuiltContext, build, missing_content
from jingwei.drafts.candidates import candidates_of
from jingwei.events.records import ToolSucceeded
from jingwei.events.wire import outcome_text
from jingwei.ids import ProviderCallId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    ModelMessage,
    ModelToolCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import messages_failure
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import vector
from jingwei.projection.records import Projection
from jingwei.report.failures import BuildFailure, DoesNotFit
from jingwei.report.records import BuildReport, ReductionKind
from jingwei.report.wire import decode_report, encode_report
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter, TokenCounter
from jingwei.selection.computed import View
from jingwei.selection.condense import condensed_exchange, condensed_turn
from jingwei.selection.exchanges import exchanges_of
from jingwei.selection.records import (
    Candidate,
    CondenseExchange,
    CondenseTurn,
    DropExchange,
    DropTurn,
    ExchangeCandidate,
    InvalidPlan,
    InvalidPlanReason,
    Plan,
    PlanStep,
    PreviewPolicy,
    Reduction,
    Room,
    TurnCandidate,
)
from jingwei.selection.search import Search
from jingwei.selection.stable_prefix import StablePrefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.selection.views import Spared, exchange_candidates, oldest_first
from properties.build_models import (
    ByMessages,
    PerMessage,
    Watching,
    World,
    history_of,
    inputs_of,
    json_bytes,
    message_object,
    naive_candidates,
    naive_messages,
    report_of,
    turn_ids,
    worlds,
)

Key: TypeAlias = TurnId | int
"""A turn of the history, or the index of an exchange of the running turn."""

POLICIES = (
    PreviewPolicy(inline_bytes=200, preview_bytes=10),
    PreviewPolicy(inline_bytes=0, preview_bytes=300),
)


COUNTERS: tuple[TokenCounter, ...] = (
    ByteHeuristicCounter(),
    PerMessage(3, 1),
    ByMessages((50, 9, 30)),
    PerMessage(3, 0),
)


@final
@attrs.frozen
class Scripted:
    """A strategy that proposes what it was told to."""

    proposed: Plan
    name: str = "scripted"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        return self.proposed


@final
@attrs.frozen
class WrittenOut:
    """The plan of another strategy over tuples, and as tuples."""

    inner: Strategy

    @property
    def name(self) -> str:
        return self.inner.name

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        plan = self.inner.plan(tuple(candidates), attrs.evolve(room, turns=tuple(room.turns)))
        return Plan(base=tuple(plan.base), steps=tuple(plan.steps), marks=plan.marks)


# --- a running turn of known parts ----------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class Running:
    """A running turn in parts; those in `exchanges` are its finished tool groups."""

    parts: tuple[tuple[ModelMessage, ...], ...]
    exchanges: tuple[int, ...]

    @property
    def current(self) -> tuple[ModelMessage, ...]:
        return tuple([message for part in self.parts for message in part])

    def part(self, exchange: int) -> tuple[ModelMessage, ...]:
        return self.parts[self.exchanges[exchange]]


def group(i: int, calls: int, size: int) -> tuple[ModelMessage, ...]:
    """One assistant message with so many calls, and their results in the opposite order."""
    ids = [ProviderCallId(f"c{i}.{n}") for n in range(calls)]
    asked = tuple([ModelToolCall(id=one, name="look", arguments=Json(f'{{"n":{i}}}')) for one in ids])
    content = outcome_text(ToolSucceeded(output=f"{i} " + "字" * size))
    return AssistantMessage(tool_calls=asked), *(
        ToolMessage(call_id=one, content=content) for one in reversed(ids)
    )


@st.composite
def running_turns(draw: st.DrawFn) -> Running:
    """A user message, then groups of one or two calls, some large, with words between them."""
    parts: list[tuple[ModelMessage, ...]] = [(UserMessage(content="go on"),)]
    exchanges = list[int]()
    for i in range(draw(st.sampled_from((3, 2, 4, 1, 0)))):
        if draw(st.integers(0, 3)) == 0:
            parts.append((AssistantMessage(content=f"so far {i}"),))
        exchanges.append(len(parts))
        parts.append(group(i, draw(st.integers(1, 2)), draw(st.sampled_from((400, 100, 0)))))
    if draw(st.integers(0, 3)) == 0:
        parts.append((UserMessage(content="and?"),))
    return Running(parts=tuple(parts), exchanges=tuple(exchanges))


# --- what a plan may do, once more ----------------------------------------------------------------


@final
class Table:
    """What stands of every turn and exchange, changed reduction by reduction (R1, R4, R6)."""

    def __init__(self, world: "PlanWorld") -> None:
        self.world = world
        self.stands = dict[Key, list[ModelMessage]]()
        for turn in world.history.turns:
            self.stands[turn.turn_id] = naive_messages(turn)
        for index in range(len(world.running.exchanges)):
            self.stands[index] = list(world.running.part(index))
        self.done = dict[Key, list[Reduction]]()

    def take(self, reduction: Reduction) -> InvalidPlanReason | None:
        """Carry one reduction out, or say why not."""
        key = key_of(reduction)
        before = self.done.get(key, [])
        if any(isinstance(one, DropTurn | DropExchange) for one in before):
            return InvalidPlanReason.REPEATED
        if not before and key not in self.world.named:
            pinned = key in self.world.inputs.pinned_turns
            return InvalidPlanReason.PINNED if pinned else InvalidPlanReason.UNKNOWN_CANDIDATE
        stands = list[ModelMessage]()
        if isinstance(reduction, CondenseTurn | CondenseExchange):
            if before:
                return InvalidPlanReason.ALREADY_CONDENSED
            shorter = self.world.condensed(reduction)
            if shorter is None:
                return InvalidPlanReason.NOTHING_TO_CONDENSE
            if self.world.cost(shorter) >= self.world.cost(self.stands[key]):
                return InvalidPlanReason.NOT_SMALLER
            stands = list(shorter)
        self.stands[key] = stands
        self.done.setdefault(key, []).append(reduction)
        return None

    def request(self) -> GenerationRequest:
        """What stands, in order."""
        inputs, running = self.world.inputs, self.world.running
        messages: list[ModelMessage] = [SystemMessage(content=text) for text in inputs.system]
        for turn in self.world.history.turns:
            messages += self.stands[turn.turn_id]
        for place, part in enumerate(running.parts):
            messages += self.stands[running.exchanges.index(place)] if place in running.exchanges else part
        return GenerationRequest(messages=tuple(messages), constraint=inputs.constraint)

    def kind(self, key: Key) -> ReductionKind | None:
        done = self.done.get(key, [])
        if not done:
            return None
        dropped = isinstance(done[-1], DropTurn | DropExchange)
        return ReductionKind.DROPPED if dropped else ReductionKind.CONDENSED


def key_of(reduction: Reduction) -> Key:
    """Turns and exchanges; items and summaries have their own model (test_envelopes.py)."""
    if isinstance(reduction, DropTurn | CondenseTurn):
        return reduction.turn_id
    assert isinstance(reduction, DropExchange | CondenseExchange), reduction
    return reduction.index


@final
@attrs.frozen(kw_only=True)
class PlanWorld:
    """A history, a running turn, inputs, a counter, and a plan of any reductions."""

    history: Projection
    running: Running
    inputs: BuildInputs
    counter: TokenCounter
    plan: Plan

    @property
    def named(self) -> list[Key]:
        """What a plan may name."""
        turns: list[Key] = [TurnId(turn) for turn in naive_candidates(self.history, self.inputs)]
        if not self.inputs.reduce_current:
            return turns
        return [*turns, *range(len(self.running.exchanges) - 1)]

    def condensed(self, reduction: CondenseTurn | CondenseExchange) -> tuple[ModelMessage, ...] | None:
        """What condensing would put in its place, NOT judged here (properties/test_condense.py does)."""
        if isinstance(reduction, CondenseTurn):
            turn = self.history.turns[turn_ids(self.history).index(reduction.turn_id)]
            found = condensed_turn(turn, reduction.policy, self.history.session_id)
        else:
            exchange = exchanges_of(self.running.current)[reduction.index]
            found = condensed_exchange(exchange, reduction.policy)
        return None if found is None else found.messages

    def cost(self, messages: Sequence[ModelMessage]) -> int:
        counter = self.counter
        if isinstance(counter, AdditiveCounter):
            return sum(counter.message_cost(message) for message in messages)
        return sum(json_bytes(message_object(message)) for message in messages)

    def build(self, search: Search) -> Outcome[BuiltContext, BuildFailure]:
        return build(self.history, self.inputs, self.counter, strategy=Scripted(self.plan), search=search)

    def walked(self) -> Iterator[tuple[int | None, Reduction]]:
        for reduction in self.plan.base:
            yield None, reduction
        for index, step in enumerate(self.plan.steps):
            for reduction in step.reductions:
                yield index, reduction

    def verdict(self) -> InvalidPlan | None:
        """The first reduction that may not be."""
        table = Table(self)
        for step, reduction in self.walked():
            reason = table.take(reduction)
            if reason is not None:
                key = key_of(reduction)
                turn, exchange = (None, key) if isinstance(key, int) else (key, None)
                return InvalidPlan(step=step, reason=reason, turn_id=turn, exchange=exchange)
        return None

    def after(self, steps: int) -> Table:
        """The table after base and so many steps of a legal plan."""
        table = Table(self)
        for step, reduction in self.walked():
            if step is None or step < steps:
                assert table.take(reduction) is None
        return table


@st.composite
def plan_worlds(draw: st.DrawFn, legal: bool = True, opted: bool | None = None) -> PlanWorld:
    """A plan that draws its reductions from all there are; where `legal`, the illegal ones are left out."""
    history = history_of(
        draw(st.text("xtxpfap", max_size=5)), draw(st.sampled_from(("字" * 200, "", "x" * 300)))
    )
    running = draw(running_turns())
    ids = turn_ids(history)
    pinned = draw(st.lists(st.sampled_from(ids), unique=True, max_size=1)) if ids else []
    inputs = attrs.evolve(
        inputs_of(1, pinned=pinned),
        current=running.current,
        reduce_current=draw(st.sampled_from((True, True, False))) if opted is None else opted,
    )
    counter = draw(st.sampled_from(COUNTERS))
    world = PlanWorld(history=history, running=running, inputs=inputs, counter=counter, plan=Plan())
    named = draw(st.lists(reductions(world, legal), max_size=10))
    if legal:
        table = Table(world)
        named = [reduction for reduction in named if table.take(reduction) is None]
    cuts = sorted(draw(st.lists(st.integers(0, len(named)), min_size=1, max_size=5)))
    edges = zip(cuts, [*cuts[1:], len(named)], strict=True)
    plan = Plan(
        base=tuple(named[: cuts[0]]),
        steps=tuple([PlanStep(reductions=tuple(named[a:b])) for a, b in edges]),
    )
    world = attrs.evolve(world, plan=plan)
    steps = len(plan.steps) - draw(st.integers(0, len(plan.steps)))
    return (
        attrs.evolve(world, inputs=within(world, steps, draw(st.sampled_from((0, 0, 1))))) if legal else world
    )


def within(world: PlanWorld, steps: int, less: int) -> BuildInputs:
    """Inputs whose window is what the request after so many steps needs, or less."""
    answer = world.counter.count(world.inputs.target, world.after(steps).request()).unwrap()
    budget = attrs.evolve(world.inputs.budget, window_tokens=max(1, answer.tokens.total + 1 - less))
    return attrs.evolve(world.inputs, budget=budget)


@st.composite
def reductions(draw: st.DrawFn, world: PlanWorld, legal: bool) -> Reduction:
    """A reduction of what may be named; where it need not be legal, now and then of anything."""
    named: list[Key] = world.named
    if not named or (not legal and draw(st.integers(0, 7)) == 0):
        named = [*turn_ids(world.history), TurnId("t99"), *range(-1, len(world.running.exchanges) + 1)]
    key, condense, policy = draw(st.sampled_from(named)), draw(st.booleans()), draw(st.sampled_from(POLICIES))
    if isinstance(key, int):
        return CondenseExchange(index=key, policy=policy) if condense else DropExchange(index=key)
    return CondenseTurn(turn_id=key, policy=policy) if condense else DropTurn(turn_id=key)


def report_in(outcome: Outcome[BuiltContext, BuildFailure]) -> BuildReport:
    report = outcome.unwrap().report if isinstance(outcome, Success) else report_of(outcome.failure())
    assert report is not None
    return report


class TestReplacementsR4:
    """R4. A turn or an exchange may be condensed once, and then dropped once; condensing is refused where
    nothing is large, or what would stand instead does not cost less by the build's own costs."""

    @given(plan_worlds(legal=False))
    def test_the_first_reduction_that_may_not_be_is_told(self, world: PlanWorld) -> None:
        expected, outcome = world.verdict(), world.build(Search.LINEAR)

        if expected is None:
            assert not isinstance(outcome, Failure) or not isinstance(outcome.failure(), InvalidPlan)
        else:
            assert Failure(expected) == outcome

    @given(plan_worlds())
    def test_a_legal_plan_is_carried_out_step_by_step(self, world: PlanWorld) -> None:
        """The first step that fits; its request, counts and rows are those of the naive table."""
        outcome = world.build(Search.LINEAR)
        report = report_in(outcome)
        for steps, attempt in enumerate(report.attempts):
            table = world.after(steps)
            count = world.counter.count(world.inputs.target, table.request())
            dropped = [turn for turn in turn_ids(world.history) if table.kind(turn) is ReductionKind.DROPPED]
            assert (steps, len(dropped)) == (attempt.plan_steps, attempt.removed_turns)
            assert Success(attempt.count) == count
        table = world.after(len(report.attempts) - 1)

        assert isinstance(outcome, Success) or isinstance(outcome.failure(), DoesNotFit)
        if isinstance(outcome, Success):
            assert table.request() == outcome.unwrap().request
        assert [table.kind(turn) for turn in turn_ids(world.history)] == [
            row.reduction for row in report.turns.rows
        ]
        assert [row.retained for row in report.turns.rows] == [
            row.reduction is not ReductionKind.DROPPED for row in report.turns.rows
        ]

    @given(plan_worlds())
    def test_the_searches_agree_where_costs_add_up(self, world: PlanWorld) -> None:
        """Every step of a legal plan makes the request cheaper, so that halving finds what walking finds."""
        assume(isinstance(world.counter, AdditiveCounter))
        linear, bisected = world.build(Search.LINEAR), world.build(Search.BISECT)

        assert isinstance(linear, Success) == isinstance(bisected, Success)
        if isinstance(linear, Success) and isinstance(bisected, Success):
            assert linear.unwrap().request == bisected.unwrap().request
            assert linear.unwrap().report.turns == bisected.unwrap().report.turns

    @given(plan_worlds(), st.sampled_from(Search))
    def test_the_report_says_with_what_policy_and_survives_json(
        self, world: PlanWorld, search: Search
    ) -> None:
        report = report_in(world.build(search))
        table = world.after(report.attempts[-1].plan_steps)
        rows = [(TurnId(row.turn_id), row.policy) for row in report.turns.rows]

        assert report == decode_report(encode_report(report).unwrap()).unwrap()
        assert [(turn, policy_of(table, turn)) for turn, _ in rows] == rows


def policy_of(table: Table, key: Key) -> PreviewPolicy | None:
    """How a thing was condensed, where that is what became of it."""
    last = table.done.get(key, [None])[-1]
    return last.policy if isinstance(last, CondenseTurn | CondenseExchange) else None


class TestRunningTurnR6:
    """R6. Where the host lets them, finished tool groups of the running turn but the last are candidates,
    each whole; the rest of current is required as ever. Otherwise current is kept whole."""

    @given(plan_worlds(opted=True), st.sampled_from(Search))
    def test_the_report_says_what_became_of_each_group(self, world: PlanWorld, search: Search) -> None:
        report = report_in(world.build(search))
        table = world.after(report.attempts[-1].plan_steps)
        indexes = range(len(world.running.exchanges))
        sent = sum(map(len, world.running.parts)) - sum(
            len(world.running.part(i)) for i in indexes if table.kind(i) is ReductionKind.DROPPED
        )
        calls = [
            [call.id for message in world.running.part(i)[:1] for call in getattr(message, "tool_calls", ())]
            for i in indexes
        ]

        assert report.exchanges is not None
        assert [table.kind(i) for i in indexes] == [row.reduction for row in report.exchanges]
        assert [policy_of(table, i) for i in indexes] == [row.policy for row in report.exchanges]
        assert calls == [list(row.call_ids) for row in report.exchanges]
        assert sent == report.current_messages

    @given(plan_worlds(opted=True), st.sampled_from(Search))
    def test_what_is_sent_is_well_formed_and_keeps_the_last_group(
        self, world: PlanWorld, search: Search
    ) -> None:
        outcome = world.build(search)
        assume(isinstance(outcome, Success))
        request = outcome.unwrap().request

        assert None is messages_failure(request.messages)
        if world.running.exchanges:
            last = world.running.part(len(world.running.exchanges) - 1)
            behind = world.running.parts[world.running.exchanges[-1] + 1 :]
            tail = (*last, *(message for part in behind for message in part))
            assert tail == request.messages[-len(tail) :]

    @given(plan_worlds(opted=False), st.sampled_from(Search))
    def test_without_the_hosts_word_current_is_kept_whole(self, world: PlanWorld, search: Search) -> None:
        outcome = world.build(search)
        report = report_in(outcome)

        assert None is report.exchanges
        assert len(world.running.current) == report.current_messages
        if isinstance(outcome, Success):
            assert world.running.current == outcome.unwrap().request.messages[-len(world.running.current) :]

    @given(plan_worlds(opted=True), st.data())
    def test_the_rest_of_current_is_looked_for_before_the_request_leaves(
        self, world: PlanWorld, data: st.DataObject
    ) -> None:
        """B8: every message is missed that stands in the request and was neither dropped nor shortened."""
        table = world.after(data.draw(st.integers(0, len(world.plan.steps))))
        request = table.request()
        last = [done[-1] for done in table.done.values()]
        reduced = {one.index: one for one in last if isinstance(one, DropExchange | CondenseExchange)}
        assert () == missing_content(request, world.history, world.inputs, reduced)

        start = len(request.messages) - sum(map(len, current_parts(table)))
        lost = data.draw(st.integers(start, len(request.messages) - 1))
        left = (*request.messages[:lost], *request.messages[lost + 1 :])
        spoiled = attrs.evolve(request, messages=left)

        assert missing_content(spoiled, world.history, world.inputs, reduced)

    @given(plan_worlds(opted=True))
    def test_candidates_are_all_groups_but_the_last_behind_the_turns(self, world: PlanWorld) -> None:
        seen = Watching()
        build(world.history, world.inputs, world.counter, strategy=seen)
        groups = [world.running.part(i) for i in range(len(world.running.exchanges))]
        expected = [
            ExchangeCandidate(
                index=i,
                message_count=len(one),
                canonical_bytes=sum(json_bytes(message_object(message)) for message in one),
            )
            for i, one in enumerate(groups[:-1])
        ]
        turns = len(naive_candidates(world.history, world.inputs))

        assert expected == list(seen.candidates[turns:])
        assert all(isinstance(candidate, TurnCandidate) for candidate in seen.candidates[:turns])
        assert seen.room is not None
        assert groups == [exchange.messages for exchange in seen.room.exchanges]


def current_parts(table: Table) -> list[Sequence[ModelMessage]]:
    running = table.world.running
    return [
        table.stands[running.exchanges.index(place)] if place in running.exchanges else part
        for place, part in enumerate(running.parts)
    ]


class TestComputedPlans:
    """A plan that is computed when it is read builds what the same plan of tuples builds, byte for byte,
    report included; and each such sequence is the tuple of its items in every respect."""

    @given(worlds(), st.sampled_from(Search), st.data())
    def test_a_build_is_the_same_whether_the_plan_is_computed_or_written_out(
        self, world: World, search: Search, data: st.DataObject
    ) -> None:
        marks = st.builds(
            StablePrefix,
            high=st.integers(0, 300),
            low=st.integers(0, 200),
            costs=st.just(ByteHeuristicCounter()),
        )
        strategy: Strategy = data.draw(st.just(OLDEST_TURN_FIRST) | marks)
        inputs = world.inputs
        if data.draw(st.booleans()):
            inputs = attrs.evolve(inputs, current=data.draw(running_turns()).current, reduce_current=True)
        computed = build(world.history, inputs, world.counter(), strategy=strategy, search=search)
        written = build(world.history, inputs, world.counter(), strategy=WrittenOut(strategy), search=search)

        assert written == computed
        report = computed.unwrap().report if isinstance(computed, Success) else report_of(computed.failure())
        if report is not None:
            again = written.unwrap().report if isinstance(written, Success) else report_of(written.failure())
            assert again is not None
            assert encode_report(again) == encode_report(report)
            assert report == decode_report(encode_report(report).unwrap()).unwrap()

    @given(st.text("txfap", max_size=6), st.text("txfap", max_size=6), st.integers(0, 6))
    def test_a_computed_plan_of_another_build_is_walked_and_refused(
        self, shapes: str, others: str, cut: int
    ) -> None:
        """A strategy hands out what it made for another history: every turn in it is looked at."""
        history, other = history_of(shapes), history_of(others)
        stale = oldest_first(candidates_of(other, ()), (), cut=cut)
        stale = stale if len(stale.base) else attrs.evolve(stale, base=())
        written = Plan(base=tuple(stale.base), steps=tuple(stale.steps))
        inputs, counter = inputs_of(100_000), ByteHeuristicCounter()

        expected = build(history, inputs, counter, strategy=Scripted(written))
        assert expected == build(history, inputs, counter, strategy=Scripted(stale))

    @given(st.text("txfap", max_size=9), st.data())
    def test_a_computed_sequence_is_the_tuple_of_its_items(self, shapes: str, data: st.DataObject) -> None:
        history = history_of(shapes)
        ids = turn_ids(history)
        pinned = data.draw(st.lists(st.sampled_from(ids), unique=True)) if ids else []
        inputs = inputs_of(1, pinned=pinned)
        exchanges = exchanges_of(data.draw(running_turns()).current)
        candidates = candidates_of(history, inputs.pinned_turns, exchanges)
        turns = [TurnId(turn) for turn in naive_candidates(history, inputs)]
        assert [*turns, *range(len(exchanges) - 1)] == [
            candidate.turn_id if isinstance(candidate, TurnCandidate) else candidate.index
            for candidate in candidates
        ]
        assert len(exchanges[:-1]) == len(exchange_candidates(candidates))

        cut = data.draw(st.integers(-1, len(ids) + 1))
        tail = tuple([PlanStep(reductions=(DropExchange(index=i),)) for i in range(len(exchanges) - 1)])
        computed = oldest_first(candidates, tail, cut=cut)
        written = oldest_first(tuple(candidates), tail, cut=cut)
        assert written == computed
        assert isinstance(written.base, tuple)
        assert isinstance(written.steps, tuple)
        early = [DropTurn(turn_id=turn) for turn in turns if ids.index(turn) < cut]
        late = [PlanStep(reductions=(DropTurn(turn_id=turn),)) for turn in turns if ids.index(turn) >= cut]
        assert (early, [*late, *tail]) == (list(written.base), list(written.steps))
        views: tuple[Sequence[object], ...] = (candidates, computed.base, computed.steps)
        for view in views:
            assert isinstance(view, View)
            is_like(view, tuple(view), data)

    @given(st.sets(st.integers(0, 40)), st.integers(0, 41), st.data())
    def test_positions_of_what_is_not_spared(
        self, spared: set[int], length: int, data: st.DataObject
    ) -> None:
        pinned = data.draw(st.sets(st.sampled_from(sorted(spared)))) if spared else set[int]()
        known = Spared(silent=vector(sorted(spared - pinned)), pinned=tuple(sorted(pinned)))
        left = [position for position in range(41) if position not in spared]
        start, stop = sorted([length, data.draw(st.integers(0, 41))])
        within = [position for position in left if start <= position < stop]

        assert left == [known.position(index) for index in range(len(left))]
        assert within == list(known.positions(start, stop))
        assert within[::-1] == list(known.positions_down(start, stop))
        assert len([position for position in spared if position < stop]) == known.before(stop)


def is_like(view: Sequence[object], items: tuple[object, ...], data: st.DataObject) -> None:
    """Length, items, slices, order from both ends, equality and hash."""
    start, stop = data.draw(st.integers(-12, 12)), data.draw(st.integers(-12, 12))
    step = data.draw(st.sampled_from((1, -1, 2)))

    assert (len(items), repr(items), hash(items)) == (len(view), repr(view), hash(view))
    assert items == view
    assert view == items
    assert view == vector(items)
    assert items[start:stop:step] == view[start:stop:step]
    assert items[::-1] == tuple(reversed(view))
    for index in range(-len(items), len(items)):
        assert items[index] == view[index]
    for outside in (len(items), -len(items) - 1):
        with pytest.raises(IndexError):
            view[outside]
    assert view != (*items, None)
