"""R2: a cut with two marks, held against the rule told as a story: turns come, and sometimes many go."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.ids import TurnId
from jingwei.messages.records import ModelMessage, SystemMessage, UserMessage
from jingwei.outcome import Failure, Success
from jingwei.persistent import Vector
from jingwei.projection.records import ProjectedTurn, Projection
from jingwei.report.failures import DoesNotFit
from jingwei.report.records import ReportedMarks
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.selection.records import Plan, Room
from jingwei.selection.search import Search
from jingwei.selection.stable_prefix import (
    InvalidMarks,
    RememberingStablePrefix,
    StablePrefix,
    stable_prefix,
)
from properties.build_models import (
    SHAPES,
    TWO_TO_64,
    Built,
    PerMessage,
    history_of,
    inputs_of,
    json_bytes,
    message_object,
    naive_build,
    naive_candidates,
    naive_messages,
    naive_request,
    plain,
)

TEXTS = ("", "字", "x" * 40)
ROOMY = 10**9


@final
@attrs.frozen(kw_only=True)
class Session:
    """A session as it grows: its history after each turn, marks, and turns that stay pinned."""

    histories: tuple[Projection, ...]
    high: int
    low: int
    pinned: tuple[str, ...]
    costs: PerMessage

    @property
    def strategy(self) -> StablePrefix:
        return StablePrefix(high=self.high, low=self.low, costs=self.costs)

    @property
    def last(self) -> Projection:
        return self.histories[-1]

    def inputs(self, window: int = ROOMY) -> BuildInputs:
        return inputs_of(window, pinned=self.pinned)


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Marks near what some turns cost, so that the cut moves often, seldom or never."""
    shapes, text = draw(st.text(SHAPES, min_size=1, max_size=9)), draw(st.sampled_from(TEXTS))
    histories = tuple([history_of(shapes[:n], text) for n in range(1, len(shapes) + 1)])
    costs = PerMessage(0, draw(st.integers(0, 2)))
    sizes = [cost(costs, turn) for turn in histories[-1].turns]
    sums = sorted({1, *accumulate(sizes), *accumulate(reversed(sizes))} - {0})
    high = max(1, draw(st.sampled_from(sums)) + draw(st.integers(-1, 1)))
    low = draw(st.integers(1, high) | st.just(high))
    ids = [turn.turn_id for turn in histories[0].turns]
    return Session(
        histories=histories,
        high=high,
        low=low,
        pinned=tuple(draw(st.lists(st.sampled_from(ids), unique=True, max_size=1))),
        costs=costs,
    )


def cost(costs: PerMessage, turn: ProjectedTurn) -> int:
    return sum(costs.each * json_bytes(message_object(message)) for message in naive_messages(turn))


def told(session: Session, turns: Sequence[ProjectedTurn]) -> tuple[list[ProjectedTurn], int]:
    """R2 as it is told: every turn is put behind the others; when they are too many, the oldest go."""
    kept, moves = list[ProjectedTurn](), 0
    for turn in turns:
        kept.append(turn)
        if sum(cost(session.costs, one) for one in kept) > session.high:
            moves += 1
            while sum(cost(session.costs, one) for one in kept) > session.low:
                del kept[0]
    return kept, moves


def built_in(session: Session, history: Projection) -> BuiltContext:
    outcome = build(history, session.inputs(), ByteHeuristicCounter(), strategy=session.strategy)
    assert isinstance(outcome, Success), outcome
    return outcome.unwrap()


def marks_of(built: BuiltContext) -> ReportedMarks:
    assert built.report.marks is not None
    return built.report.marks


def before_current(built: BuiltContext) -> tuple[ModelMessage, ...]:
    return built.request.messages[: -built.report.current_messages]


class TestStablePrefixR2:
    """R2. The cut is held while the turns behind it cost at most the high mark, and else moved to the first
    boundary at or below the low one. It follows from the log alone, never moves back, and between two moves
    each request up to current is a prefix of the next; a full count that needs more has the last word."""

    @given(sessions())
    def test_the_cut_is_where_the_rule_told_as_a_story_puts_it(self, session: Session) -> None:
        for history in session.histories:
            built = built_in(session, history)
            kept, moves = told(session, history.turns)
            expected = ReportedMarks(
                high=session.high,
                low=session.low,
                cut=kept[0].turn_id if kept else None,
                moves=moves,
                kept_cost=sum(cost(session.costs, turn) for turn in kept),
                broke=False,
            )
            may_go = naive_candidates(history, session.inputs())
            ids = {turn.turn_id for turn in kept}

            assert expected == marks_of(built)
            assert [turn for turn in may_go if turn not in ids] == [
                row.turn_id for row in built.report.turns.rows if not row.retained
            ]

    @given(sessions())
    def test_between_two_moves_each_request_is_a_prefix_of_the_next(self, session: Session) -> None:
        for before, after in pairwise([built_in(session, history) for history in session.histories]):
            if marks_of(before).moves == marks_of(after).moves:
                stood = before_current(before)
                assert stood == before_current(after)[: len(stood)]

    @given(sessions())
    def test_the_cut_never_moves_back(self, session: Session) -> None:
        cuts = [session.strategy.plan((), room_of(history)) for history in session.histories]
        places = [place(history, cut) for history, cut in zip(session.histories, cuts, strict=True)]

        assert sorted(places) == places

    @given(sessions(), st.data())
    def test_the_full_count_has_the_last_word(self, session: Session, data: st.DataObject) -> None:
        """In a window too small for what the marks keep, steps go on from the cut: a break, reported."""
        kept, _ = told(session, session.last.turns)
        may_go = naive_candidates(session.last, session.inputs())
        base = [turn for turn in may_go if turn not in {one.turn_id for one in kept}]
        steps = [turn for turn in may_go if turn not in base]
        gone = [*base, *steps[: data.draw(st.integers(0, len(steps)))]]
        counter = ByteHeuristicCounter()
        request = naive_request(session.last, session.inputs(), gone)
        needed = counter.count(inputs_of(1).target, request).unwrap().tokens.total + 1
        inputs = session.inputs(max(1, needed - data.draw(st.integers(0, 1))))
        search = data.draw(st.sampled_from(Search))
        outcome = build(session.last, inputs, counter, strategy=session.strategy, search=search)
        expected = naive_build(session.last, inputs, counter, base=base, steps=[[turn] for turn in steps])

        if isinstance(expected, Built):
            built = outcome.unwrap()
            assert expected.request == built.request
            assert (expected.attempts[-1].steps > 0) == marks_of(built).broke
            assert expected.attempts[-1].steps == built.report.attempts[-1].plan_steps
        else:
            failure = outcome.failure()
            assert isinstance(failure, DoesNotFit)
            assert failure.report.marks is not None
            assert failure.report.marks.broke == bool(steps)
        if search is Search.LINEAR and isinstance(expected, Built):
            assert expected.attempts == getattr(plain(outcome), "attempts", None)

    @given(sessions(), st.text(min_size=1, max_size=9), st.integers(200, 10_000))
    def test_nothing_but_the_history_moves_the_cut(self, session: Session, text: str, window: int) -> None:
        """Neither pins nor system texts, current or window; only what the cut leaves differs."""
        plainly = marks_of(built_in(session, session.last))
        other = attrs.evolve(
            session.inputs(window), system=(text,), current=(UserMessage(content=text),), pinned_turns=()
        )
        outcome = build(session.last, other, ByteHeuristicCounter(), strategy=session.strategy)
        report = outcome.unwrap().report if isinstance(outcome, Success) else None
        if report is None or report.marks is None:
            return

        assert plainly == attrs.evolve(report.marks, broke=False)

    @given(st.lists(sessions(), min_size=1, max_size=2), st.data())
    def test_what_is_remembered_changes_no_plan(self, drawn: list[Session], data: st.DataObject) -> None:
        """Histories in any order: longer, shorter, the same again, and those of another session."""
        first = drawn[0]
        remembering = RememberingStablePrefix(first.strategy)
        known = [history for session in drawn for history in session.histories]
        for history in data.draw(st.lists(st.sampled_from(known), max_size=8)):
            room = room_of(history)
            tuples = attrs.evolve(room, turns=tuple(room.turns))
            expected = first.strategy.plan((), room)

            assert expected == remembering.plan((), room)
            assert expected == remembering.plan((), tuples)
        assert first.strategy.name == remembering.name == "stable_prefix"

    def test_a_longer_history_is_folded_from_where_the_last_one_ended(self) -> None:
        """The memory is worth something: messages of earlier turns are not asked for again."""
        asked = Asked()
        remembering = RememberingStablePrefix(StablePrefix(high=10**6, low=10**5, costs=asked))
        whole = history_of("t" * 40)
        turns = Vector[ProjectedTurn]()
        counts = list[int]()
        for turn in whole.turns:
            turns = turns.extended([turn])
            remembering.plan((), attrs.evolve(room_of(whole), turns=turns))
            counts.append(asked.times)

        assert list(range(2, 82, 2)) == counts

    @pytest.mark.parametrize(
        ("high", "low", "expected"),
        [
            (100, None, 70),
            (10, 10, 10),
            (10, 1, 1),
            (1, None, 1),
            (2, None, 1),
            (10**7, None, 7 * 10**6),
            (0, None, None),
            (-5, None, None),
            (10, 11, None),
            (10, 0, None),
            (TWO_TO_64, -1, None),
        ],
    )
    def test_marks_that_say_nothing_are_refused(
        self, high: int, low: int | None, expected: int | None
    ) -> None:
        found = stable_prefix(high=high, low=low, costs=ByteHeuristicCounter())

        if expected is None:
            assert isinstance(found, Failure)
            assert isinstance(found.failure(), InvalidMarks)
        else:
            assert StablePrefix(high=high, low=expected, costs=ByteHeuristicCounter()) == found.unwrap()


def room_of(history: Projection) -> Room:
    return Room(window_tokens=1, reserved_tokens=0, required_bytes=0, turns=history.turns)


def place(history: Projection, plan: Plan) -> int:
    """Where a plan's cut stands; behind all turns where it keeps none."""
    assert plan.marks is not None
    ids: list[TurnId] = [turn.turn_id for turn in history.turns]
    return len(ids) if plan.marks.cut is None else ids.index(plan.marks.cut)


@final
class Asked:
    """Counts how often it is asked what a message costs; every message costs one."""

    count = ByteHeuristicCounter().count
    fixed_cost = ByteHeuristicCounter().fixed_cost

    def __init__(self) -> None:
        self.times = 0

    def message_cost(self, message: ModelMessage) -> int:
        assert not isinstance(message, SystemMessage)
        self.times += 1
        return 1
