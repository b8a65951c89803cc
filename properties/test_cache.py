"""B9: what a prompt cache feels between two requests, counted once more from the requests themselves."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar, final

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.ids import EventId, ProviderCallId, SessionId, SummaryId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    TextConstraint,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Success
from jingwei.projection.records import Projection
from jingwei.report.cache import CachePlan, CachePrices, PrefixChange
from jingwei.report.compare import compare
from jingwei.report.failures import CounterFailed, DoesNotFit
from jingwei.report.records import BuildReport
from jingwei.report.wire import decode_report, encode_report
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter
from jingwei.request.records import ContextTarget
from jingwei.selection.condense_then_drop import CondenseThenDrop
from jingwei.selection.records import PreviewPolicy
from jingwei.selection.stable_prefix import StablePrefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.selection.with_summaries import WithSummaries
from jingwei.summaries.records import Statement, Summary
from properties.build_models import (
    SHAPES,
    TARGET,
    Faulty,
    PerMessage,
    history_of,
    inputs_of,
    naive_candidates,
    naive_request,
    naive_total,
    turn_ids,
)

LONG = "long " * 120
ROOMY = 10**6
COSTS = ByteHeuristicCounter()
CONDENSING = CondenseThenDrop(
    keep_newest=1, batch_turns=2, policy=PreviewPolicy(inline_bytes=100, preview_bytes=20)
)
ASK: tuple[ModelMessage, ...] = (UserMessage(content="ask"),)
REPHRASED: tuple[ModelMessage, ...] = (UserMessage(content="ask again"),)
TEXT = TextConstraint()
SCHEMA = JsonSchemaConstraint(name="answer", schema=Json("true"))
OTHER = ContextTarget(model="other", template_revision="r1")

_Drawn = TypeVar("_Drawn")


def exchange(call: str, output: str) -> tuple[ModelMessage, ...]:
    """A finished exchange of the running turn, its result recorded as the projection records it (P8)."""
    asked = ModelToolCall(id=ProviderCallId(call), name="look", arguments=Json("{}"))
    content = f'{{"status":"succeeded","output":"{output}"}}'
    return (
        AssistantMessage(content=None, tool_calls=(asked,)),
        ToolMessage(call_id=ProviderCallId(call), content=content),
    )


@final
@attrs.frozen(kw_only=True)
class Call:
    """One request of a session: what it was built from, and what came out."""

    history: Projection
    inputs: BuildInputs
    strategy: Strategy
    built: BuiltContext

    @property
    def report(self) -> BuildReport:
        return self.built.report

    @property
    def messages(self) -> tuple[ModelMessage, ...]:
        return self.built.request.messages


@final
@attrs.frozen(kw_only=True)
class Pair:
    """Two calls of one session, one after the other, and what counts them."""

    before: Call
    now: Call
    costs: AdditiveCounter

    @property
    def plan(self) -> CachePlan:
        return compare(self.before.report, self.now.report)

    @property
    def served(self) -> bool:
        """Whether what stands before all messages is the same."""
        was, becomes = self.before.inputs, self.now.inputs
        return (was.target, was.constraint) == (becomes.target, becomes.constraint)

    @property
    def common(self) -> int:
        """Messages that both requests begin with."""
        before, now, place = self.before.messages, self.now.messages, 0
        while self.served and place < min(len(before), len(now)) and before[place] == now[place]:
            place += 1
        return place


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """A session and the same one further on: the running turn has run on, or closed, and others with it.

    Nearly everything else is mostly the same, and the window often too small for the whole history.
    """
    shapes = draw(st.text(SHAPES, min_size=1, max_size=7))
    closed = draw(st.integers(0, len(shapes)))
    short, long = history_of(shapes[:closed], LONG), history_of(shapes, LONG)
    counters: tuple[AdditiveCounter, ...] = (COSTS, PerMessage(3, 1))
    costs = draw(st.sampled_from(counters))
    high = draw(st.integers(1, 3000))
    strategies: tuple[Strategy, ...] = (
        OLDEST_TURN_FIRST,
        StablePrefix(high=high, low=draw(st.integers(1, high)), costs=costs),
        CONDENSING,
    )
    strategy = draw(st.sampled_from(strategies))
    ran = ASK if closed == len(shapes) else running(long, closed)
    on = (ran, (*ran, *exchange("now", "seen")), REPHRASED) if closed == len(shapes) else (ASK,)
    window = draw(windows(long, costs))
    before = attrs.evolve(
        inputs_of(window, pinned=draw(pins(short))), system=("the rules", "of the house"), current=ran
    )
    now = attrs.evolve(
        before,
        current=draw(st.sampled_from(on)),
        pinned_turns=draw(st.just(before.pinned_turns) | pins(long).map(turned)),
        budget=attrs.evolve(before.budget, window_tokens=seldom(draw, draw(windows(long, costs)), window)),
        system=seldom(draw, ("the rules",), before.system),
        target=seldom(draw, OTHER, before.target),
        constraint=seldom(draw, SCHEMA, before.constraint),
    )
    return Pair(
        before=called(short, before, strategy, costs),
        now=called(long, now, seldom(draw, draw(st.sampled_from(strategies)), strategy), costs),
        costs=costs,
    )


def called(history: Projection, inputs: BuildInputs, strategy: Strategy, costs: AdditiveCounter) -> Call:
    outcome = build(history, inputs, costs, strategy=strategy)
    assume(isinstance(outcome, Success))
    return Call(history=history, inputs=inputs, strategy=strategy, built=outcome.unwrap())


def running(history: Projection, place: int) -> tuple[ModelMessage, ...]:
    """What a turn said while it ran: all but its reply."""
    messages = history.turns[place].messages
    if not messages:
        return ASK
    replied = isinstance(messages[-1], AssistantMessage)
    return messages[:-1] if replied else messages


@st.composite
def windows(draw: st.DrawFn, history: Projection, costs: AdditiveCounter) -> int:
    """From what is needed with nothing of the history to what is needed with all of it."""
    inputs, needs = inputs_of(1), list[int]()
    for gone in (naive_candidates(history, inputs), ()):
        count = costs.count(inputs.target, naive_request(history, inputs, gone)).unwrap()
        needs.append(naive_total(count) + 1)
    return draw(st.integers(needs[0], needs[1]) | st.just(needs[1] + 1000))


def turned(ids: list[str]) -> tuple[TurnId, ...]:
    return tuple(map(TurnId, ids))


def pins(history: Projection) -> st.SearchStrategy[list[str]]:
    ids = turn_ids(history)
    return st.lists(st.sampled_from(ids), unique=True, max_size=1) if ids else st.just([])


def seldom(draw: st.DrawFn, other: _Drawn, usual: _Drawn) -> _Drawn:
    return other if draw(st.integers(0, 9)) == 9 else usual


# --- the same once more ---------------------------------------------------------------------------


def again(messages: Sequence[ModelMessage], others: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Messages that stand among the others as well, each crossed out there when it is found."""
    left, found = list(others), list[ModelMessage]()
    for message in messages:
        if message in left:
            left.remove(message)
            found.append(message)
    return found


def cost(costs: AdditiveCounter, messages: Sequence[ModelMessage]) -> int:
    return sum(costs.message_cost(message) for message in messages)


def naive_reason(pair: Pair) -> PrefixChange | None:
    """Who owns the first message that differs, and what became of that turn."""
    before, now, place = pair.before, pair.now, pair.common
    if before.inputs.target != now.inputs.target:
        return PrefixChange.TARGET
    if before.inputs.constraint != now.inputs.constraint:
        return PrefixChange.TOOLS
    if before.messages == now.messages[: len(before.messages)]:
        return None
    if before.inputs.system != now.inputs.system:
        return PrefixChange.SYSTEM
    owners = [owner(call, place) for call in (before, now)]
    first = min(one for one in owners if one is not None)
    ran = len(before.history.turns)
    if first >= ran:  # it was current when the first request was made
        became = None if ran >= len(now.history.turns) else now.history.turns[ran].messages
        if not became or standing(now, ran) == list(became):
            return PrefixChange.CURRENT
        return cause(pair) or (PrefixChange.CONDENSED if standing(now, ran) else PrefixChange.CUT_MOVED)
    turn = now.history.turns[first].turn_id
    if (turn in before.inputs.pinned_turns) != (turn in now.inputs.pinned_turns):
        return PrefixChange.PINS
    gone = not standing(before, first) or not standing(now, first)
    return cause(pair) or (PrefixChange.CUT_MOVED if gone else PrefixChange.CONDENSED)


def owner(call: Call, place: int) -> int | None:
    """The turn that a message of a request is of; behind the last one for current, None past the end."""
    if place >= len(call.messages):
        return None
    if place >= len(call.messages) - len(call.inputs.current):
        return len(call.history.turns)
    message = call.messages[place]
    return next(i for i, turn in enumerate(call.history.turns) if is_of(message, turn.messages))


def standing(call: Call, turn: int) -> list[ModelMessage]:
    """What a request holds of a turn."""
    held = call.messages[: len(call.messages) - len(call.inputs.current)]
    return [message for message in held if is_of(message, call.history.turns[turn].messages)]


def is_of(message: ModelMessage, messages: Sequence[ModelMessage]) -> bool:
    """No two turns of these histories hold an equal message; a condensed result keeps its call's id."""
    if isinstance(message, ToolMessage):
        return message.call_id in [one.call_id for one in messages if isinstance(one, ToolMessage)]
    return message in messages


def cause(pair: Pair) -> PrefixChange | None:
    before, now = pair.before, pair.now
    if type(before.strategy) is not type(now.strategy):
        return PrefixChange.STRATEGY
    beyond = any(call.report.attempts[-1].plan_steps > 0 for call in (before, now))
    asked = not isinstance(before.strategy, StablePrefix) or beyond
    return PrefixChange.WINDOW if asked and before.inputs.budget != now.inputs.budget else None


def naive_pays(plan: CachePlan, prices: CachePrices, most: int) -> int | None:
    """Two hosts send the same session, one without what was freed: after how many requests is it ahead?"""
    assert plan.common_tokens is not None
    assert plan.written_tokens is not None
    assert plan.rewritten_tokens is not None
    assert plan.freed_tokens is not None
    new = plan.written_tokens - plan.rewritten_tokens
    kept = plan.common_tokens + plan.rewritten_tokens + plan.freed_tokens
    staying = kept * prices.read + new * prices.write
    leaving = plan.common_tokens * prices.read + plan.written_tokens * prices.write
    for further in range(most):
        if leaving <= staying:
            return further
        staying += (kept + new) * prices.read
        leaving += (kept + new - plan.freed_tokens) * prices.read
    return None


def prices() -> st.SearchStrategy[CachePrices]:
    read = st.fractions(Fraction(1, 50), 1, max_denominator=50)
    more = st.fractions(0, 2, max_denominator=50)
    return st.builds(lambda read, more: CachePrices(read=read, write=read + more), read, more)


class TestCachePlanB9:
    """B9. Against the report of the request before, a report says what both begin with in messages and
    tokens, the first place that differs and why, what is written anew, and after how many further requests a
    rewriting pays. Without a report of the request before it says nothing of this."""

    @given(pairs())
    def test_prefix_and_tokens_are_those_of_the_two_requests(self, pair: Pair) -> None:
        common, plan = pair.common, pair.plan
        gone, written = pair.before.messages[common:], pair.now.messages[common:]
        rewritten = cost(pair.costs, again(written, gone))
        freed = cost(pair.costs, gone) - cost(pair.costs, again(gone, written))
        alike = pair.before.inputs.target == pair.now.inputs.target

        assert common == plan.common_messages
        assert cost(pair.costs, pair.now.messages[:common]) == plan.common_tokens
        assert cost(pair.costs, written) == plan.written_tokens
        assert rewritten == plan.rewritten_tokens
        assert (freed if alike else None) == plan.freed_tokens
        assert (None if pair.served and not gone else common) == plan.changed_at

    @given(pairs())
    def test_the_reason_is_what_became_of_the_first_turn_that_differs(self, pair: Pair) -> None:
        assert naive_reason(pair) == pair.plan.reason

    @given(pairs(), prices())
    def test_a_rewrite_pays_when_a_host_that_makes_it_is_ahead(self, pair: Pair, asked: CachePrices) -> None:
        """Costs of both hosts are added up request by request; far ahead nobody looks."""
        assume(pair.before.inputs.target == pair.now.inputs.target)
        plan = compare(pair.before.report, pair.now.report, asked)
        expected = naive_pays(plan, asked, 300)

        if plan.rewritten_tokens == 0 or plan.freed_tokens == 0:
            assert plan.pays_after is None
        elif expected is not None:
            assert expected == plan.pays_after
        else:
            assert plan.pays_after is not None
            assert plan.pays_after >= 300

    @given(pairs())
    def test_a_build_reports_what_compare_says_and_changes_nothing_else(self, pair: Pair) -> None:
        now = attrs.evolve(pair.now.inputs, previous=pair.before.report)
        told = called(pair.now.history, now, pair.now.strategy, pair.costs).built

        assert pair.now.built.report.cache is None
        assert pair.plan == told.report.cache
        assert pair.now.built == attrs.evolve(told, report=attrs.evolve(told.report, cache=None))

    @given(pairs())
    def test_it_survives_json(self, pair: Pair) -> None:
        report = attrs.evolve(pair.now.report, cache=pair.plan)
        data = encode_report(report).unwrap()
        before = decode_report(encode_report(pair.before.report).unwrap()).unwrap()

        assert report == decode_report(data).unwrap()
        assert pair.plan == compare(before, decode_report(data).unwrap())

    @given(pairs())
    def test_a_report_held_against_itself_has_no_change(self, pair: Pair) -> None:
        report, total = pair.now.report, cost(pair.costs, pair.now.messages)

        assert CachePlan(
            common_messages=len(pair.now.messages),
            common_tokens=total,
            changed_at=None,
            reason=None,
            written_tokens=0,
            rewritten_tokens=0,
            freed_tokens=0,
            pays_after=None,
        ) == compare(report, report)

    @given(pairs())
    def test_a_counter_without_costs_gives_no_tokens(self, pair: Pair) -> None:
        """Messages and the reason are known all the same."""
        without = [
            attrs.evolve(report, sent=tuple(attrs.evolve(one, cost=None) for one in report.sent))
            for report in (pair.before.report, pair.now.report)
        ]
        plan = compare(without[0], without[1])

        assert (pair.plan.common_messages, pair.plan.reason) == (plan.common_messages, plan.reason)
        assert (None,) * 5 == (
            plan.common_tokens,
            plan.written_tokens,
            plan.rewritten_tokens,
            plan.freed_tokens,
            plan.pays_after,
        )

    @given(st.integers(0, 3), st.integers(0, 3))
    def test_a_repeated_message_counts_as_often_as_it_stands_in_both(self, often: int, now: int) -> None:
        """The same exchange several times over, behind words of the user that changed."""
        step = exchange("again", "the same")
        before, after = base(current=(*ASK, *step * often)), base(current=(*REPHRASED, *step * now))
        plan, once = compare(before.report, after.report), cost(COSTS, step)

        assert min(often, now) * once == plan.rewritten_tokens
        assert max(often - now, 0) * once + cost(COSTS, ASK) == plan.freed_tokens

    def test_nothing_is_served_for_another_target_or_constraint(self) -> None:
        """These stand in front of all messages, so that even a text that is the same is written anew."""
        for other in (base(target=OTHER), base(constraint=SCHEMA)):
            plan = compare(base().report, other.report)

            assert (0, 0, 0) == (plan.common_messages, plan.common_tokens, plan.changed_at)
            assert cost(COSTS, other.request.messages) == plan.written_tokens == plan.rewritten_tokens

    def test_a_failure_after_the_first_count_has_it_and_one_before_has_not(self) -> None:
        history = history_of("txt", LONG)
        inputs = attrs.evolve(inputs_of(20), previous=base().report)
        refused = build(history, inputs, COSTS).failure()
        uncounted = build(history, inputs, Faulty("refusal", 99)).failure()

        assert isinstance(refused, DoesNotFit)
        assert compare(base().report, refused.report) == refused.report.cache
        assert isinstance(uncounted, CounterFailed)
        assert uncounted.report is not None
        assert uncounted.report.cache is None


# --- each reason alone ----------------------------------------------------------------------------

SHAPE = "txtx"
STABLE = StablePrefix(high=1600, low=600, costs=COSTS)
"""Over histories of `LONG` turns: four turns are more than the high mark."""

SUMMARIZING = WithSummaries(OLDEST_TURN_FIRST)

LARGE = exchange("a", "x" * 6000), exchange("b", "y" * 6000), exchange("c", "z")
RUNNING = (*ASK, *LARGE[0], *LARGE[1], *LARGE[2])
STEPS = (*ASK, *(message for call in "abcdef" for message in exchange(call, "w" * 200)))


def base(
    shapes: str = SHAPE,
    text: str = LONG,
    strategy: Strategy = OLDEST_TURN_FIRST,
    *,
    session: str = "",
    window: int = ROOMY,
    system: tuple[str, ...] = ("the rules", "of the house"),
    current: tuple[ModelMessage, ...] = ASK,
    pinned: tuple[str, ...] = (),
    target: ContextTarget = TARGET,
    constraint: GenerationConstraint = TEXT,
    reduce_current: bool = False,
    summarized: int = 0,
    fact: str = "a fact",
) -> BuiltContext:
    """A build in which nothing is remarkable but what is given; a summary may stand for the first turns."""
    history = history_of(shapes, text)
    if session:
        history = attrs.evolve(history, session_id=SessionId(session))
    inputs = attrs.evolve(
        inputs_of(window, pinned=pinned),
        system=system,
        current=current,
        target=target,
        constraint=constraint,
        reduce_current=reduce_current,
        summaries=(summary_of(history, summarized, fact),) if summarized else (),
    )
    return build(history, inputs, COSTS, strategy=strategy).unwrap()


def summary_of(history: Projection, turns: int, fact: str) -> Summary:
    return Summary(
        summary_id=SummaryId("s"),
        session_id=history.session_id,
        facts=(Statement(text=fact, source_events=(EventId("e0"),)),),
        first_seq=0,
        last_seq=9,
        tail_event_id=EventId("e9"),
        turn_ids=tuple([turn.turn_id for turn in history.turns[:turns]]),
    )


def with_items(built: BuiltContext, digest: str) -> BuildReport:
    """The report as it would be with an envelope of items before current (none is built yet)."""
    sent, place = built.report.sent, len(built.report.sent) - built.report.current_messages
    envelope = attrs.evolve(sent[0], digest=digest)
    return attrs.evolve(built.report, sent=(*sent[:place], envelope, *sent[place:]), items_digest=digest)


def reduced(window: int, current: tuple[ModelMessage, ...] = RUNNING) -> BuiltContext:
    """Built while exchanges of the running turn may be shortened (R6)."""
    return base("", current=current, window=window, reduce_current=True)


ALONE: tuple[tuple[PrefixChange | None, str, Callable[[], tuple[BuildReport, BuildReport]]], ...] = (
    (PrefixChange.TARGET, "another model", lambda: (base().report, base(target=OTHER).report)),
    (PrefixChange.TOOLS, "another constraint", lambda: (base().report, base(constraint=SCHEMA).report)),
    (PrefixChange.SYSTEM, "other words", lambda: (base().report, base(system=("be brief",)).report)),
    (
        PrefixChange.SYSTEM,
        "a text more",
        lambda: (base(system=("a",)).report, base(system=("a", "b")).report),
    ),
    (
        PrefixChange.SYSTEM,
        "a text less",
        lambda: (base(system=("a", "b")).report, base(system=("a",)).report),
    ),
    (PrefixChange.SESSION, "another session", lambda: (base().report, base("tt", session="o").report)),
    (
        PrefixChange.PINS,
        "a turn before the cut is pinned",
        lambda: (
            base(strategy=STABLE).report,
            base(strategy=STABLE, pinned=("t1",)).report,
        ),
    ),
    (
        PrefixChange.PINS,
        "and is no longer",
        lambda: (
            base(strategy=STABLE, pinned=("t1",)).report,
            base(strategy=STABLE).report,
        ),
    ),
    (
        PrefixChange.STRATEGY,
        "another strategy",
        lambda: (base().report, base(strategy=STABLE).report),
    ),
    (PrefixChange.WINDOW, "a smaller window", lambda: (base().report, base(window=1200).report)),
    (
        PrefixChange.WINDOW,
        "other marks",
        lambda: (
            base(strategy=attrs.evolve(STABLE, high=ROOMY)).report,
            base(strategy=STABLE).report,
        ),
    ),
    (
        PrefixChange.WINDOW,
        "a window for which the marks are not enough",
        lambda: (base("t", strategy=STABLE).report, base("t", strategy=STABLE, window=300).report),
    ),
    (
        PrefixChange.CUT_MOVED,
        "the history has grown over the high mark",
        lambda: (base("txt", strategy=STABLE).report, base(strategy=STABLE).report),
    ),
    (
        PrefixChange.CUT_MOVED,
        "and the window, which the marks do not ask, is another",
        lambda: (base("txt", strategy=STABLE).report, base(strategy=STABLE, window=9000).report),
    ),
    (
        PrefixChange.CUT_MOVED,
        "the history has grown over the window",
        lambda: (base("txt", window=1800).report, base(window=1800).report),
    ),
    (
        PrefixChange.CONDENSED,
        "old results are condensed",
        lambda: (
            base("xt", strategy=CONDENSING, window=1300).report,
            base("xtt", strategy=CONDENSING, window=1300).report,
        ),
    ),
    (
        PrefixChange.SUMMARIZED,
        "a summary stands for the first turns",
        lambda: (base().report, base(strategy=SUMMARIZING, summarized=2).report),
    ),
    (
        PrefixChange.SUMMARIZED,
        "and no longer does",
        lambda: (base(strategy=SUMMARIZING, summarized=2).report, base().report),
    ),
    (
        PrefixChange.SUMMARIZED,
        "a summary of the same turns says something else",
        lambda: (
            base(strategy=SUMMARIZING, summarized=2).report,
            base(strategy=SUMMARIZING, summarized=2, fact="another").report,
        ),
    ),
    (PrefixChange.HISTORY, "a log with other words", lambda: (base().report, base(text="short").report)),
    (PrefixChange.HISTORY, "a log that was cut", lambda: (base().report, base("tx").report)),
    (PrefixChange.HISTORY, "a log with other turns", lambda: (base().report, base("ttxt").report)),
    (
        PrefixChange.CURRENT,
        "other words of the user",
        lambda: (base().report, base(current=REPHRASED).report),
    ),
    (
        PrefixChange.CURRENT,
        "current has lost an exchange",
        lambda: (base(current=RUNNING).report, base(current=RUNNING[:3]).report),
    ),
    (
        PrefixChange.CURRENT,
        "a turn that was never written down",
        lambda: (base("t").report, base("tt").report),
    ),
    (None, "current has gone on", lambda: (base().report, base(current=RUNNING).report)),
    (
        None,
        "the running turn was closed and is the history's last",
        lambda: (
            base("t", current=history_of(SHAPE, LONG).turns[1].messages[:3]).report,
            base("tx").report,
        ),
    ),
    (
        PrefixChange.CUT_MOVED,
        "the running turn was closed and left out",
        lambda: (
            base("", current=history_of("x", LONG).turns[0].messages[:3], window=650).report,
            base("x", window=650).report,
        ),
    ),
    (
        PrefixChange.CONDENSED,
        "the running turn has grown, and an exchange of it is condensed",
        lambda: (reduced(2500, RUNNING[:3]).report, reduced(2500).report),
    ),
    (
        PrefixChange.CUT_MOVED,
        "the running turn has grown, and an exchange of it is left out",
        lambda: (reduced(300, STEPS[:5]).report, reduced(300, STEPS).report),
    ),
    (PrefixChange.ITEMS, "other items", lambda: (with_items(base(), "i"), with_items(base(), "j"))),
    (PrefixChange.ITEMS, "the first items", lambda: (base().report, with_items(base(), "i"))),
    (PrefixChange.ITEMS, "no items any more", lambda: (with_items(base(), "i"), base().report)),
    (
        PrefixChange.CURRENT,
        "the same items, other words of the user",
        lambda: (with_items(base(), "i"), with_items(base(current=REPHRASED), "i")),
    ),
)


class TestReasonsAlone:
    """Each reason of B9, provoked by one change between two builds that are otherwise the same."""

    @pytest.mark.parametrize(
        ("reason", "reports"),
        [(reason, reports) for reason, _, reports in ALONE],
        ids=[row[1] for row in ALONE],
    )
    def test_a_change_is_told_by_its_name(
        self, reason: PrefixChange | None, reports: Callable[[], tuple[BuildReport, BuildReport]]
    ) -> None:
        before, now = reports()
        plan = compare(before, now)

        assert reason == plan.reason

    def test_every_reason_is_provoked(self) -> None:
        """So that none can be told for another unseen."""
        assert set(PrefixChange) == {reason for reason, _, _ in ALONE if reason is not None}
