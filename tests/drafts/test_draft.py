"""The request after k steps, and what the report says of it (B3, B6, R4, R6)."""

from typing import Final

import pytest

from jingwei.drafts.candidates import candidates_of, frame_of, pinned_positions, room_of
from jingwei.drafts.checking import checked_plan
from jingwei.drafts.draft import Draft
from jingwei.ids import TurnId
from jingwei.messages.records import (
    GenerationRequest,
    ModelMessage,
    SystemMessage,
    TextConstraint,
    ToolMessage,
)
from jingwei.messages.wire import constraint_bytes, message_bytes
from jingwei.report.records import ExchangeRow, ReductionKind
from jingwei.request.records import ContextBudget
from jingwei.selection.computed import View
from jingwei.selection.condense import condensed_exchange, condensed_turn
from jingwei.selection.exchanges import exchanges_of
from jingwei.selection.records import (
    CondenseExchange,
    CondenseTurn,
    DropExchange,
    DropTurn,
    InvalidPlan,
    Plan,
    PlanStep,
    Reduction,
)
from jingwei.selection.views import oldest_first
from tests.logtable import SESSION
from tests.selection.test_exchanges import SMALL, asked, result, user
from tests.test_build import history

HISTORY: Final = history(4)
TURNS: Final = [list(turn.messages) for turn in HISTORY.turns]
SYSTEM: Final = SystemMessage(content="s")
CURRENT: Final[tuple[ModelMessage, ...]] = (
    user(),
    asked("a"),
    result("a", 900),
    user("?"),
    asked("b"),
    result("b"),
    asked("c"),
    result("c"),
)
B: Final[list[ModelMessage]] = list(CURRENT[4:6])


def condensed(turn: int) -> list[ModelMessage]:
    found = condensed_turn(HISTORY.turns[turn], SMALL, SESSION)
    assert found is not None
    return list(found.messages)


def shortened() -> list[ModelMessage]:
    found = condensed_exchange(exchanges_of(CURRENT)[0], SMALL)
    assert found is not None
    return list(found.messages)


def draft_of(
    plan: Plan | None, *, tail: tuple[PlanStep, ...] = (), cut: int = 0, opted: bool = True
) -> Draft:
    """The draft of a plan; without one, of the turns oldest first."""
    frame = frame_of(["s"], CURRENT, TextConstraint(), reduce_current=opted)
    pins = pinned_positions(HISTORY, [TurnId("t1")])
    candidates = candidates_of(HISTORY, [TurnId("t1")], frame.exchanges)
    budget = ContextBudget(window_tokens=1, output_reserve=1)
    plan = oldest_first(candidates, tail, cut=cut) if plan is None else plan
    checked = checked_plan(plan, candidates, frozenset(), room_of(HISTORY, frame, candidates, budget, None))
    assert not isinstance(checked, InvalidPlan), checked
    return Draft(HISTORY, frame, pins, candidates, checked)


def steps(*each: Reduction) -> tuple[PlanStep, ...]:
    return tuple([PlanStep(reductions=(one,)) for one in each])


def request(history: list[list[ModelMessage]], current: list[ModelMessage]) -> GenerationRequest:
    kept = [message for turn in history for message in turn]
    return GenerationRequest(messages=(SYSTEM, *kept, *current))


T0, T2, T3 = (DropTurn(turn_id=TurnId(turn)) for turn in ("t0", "t2", "t3"))
SHORTER = CondenseTurn(turn_id=TurnId("t2"), policy=SMALL)
SHORTEN = CondenseExchange(index=0, policy=SMALL)


def test_a_run_is_a_cut_that_pins_outlive() -> None:
    draft = draft_of(None)
    expected = [TURNS, TURNS[1:], [TURNS[1], TURNS[3]], [TURNS[1]]]

    assert 3 == draft.steps
    assert [request(kept, list(CURRENT)) for kept in expected] == [draft.request(k) for k in range(4)]
    assert [0, 1, 2, 3] == [draft.removed(k) for k in range(4)]
    assert [(), (T0,), (T0, T2), (T0, T2, T3)] == [draft.ledger(k).reductions for k in range(4)]
    assert isinstance(draft.ledger(2).reductions, View)
    assert (TurnId("t1"),) == draft.ledger(0).pinned


def test_a_base_is_gone_before_the_first_step() -> None:
    draft = draft_of(None, cut=3)

    assert [1, 2] == [draft.steps, draft.removed(0)]
    assert request([TURNS[1], TURNS[3]], list(CURRENT)) == draft.request(0)


def test_the_running_turn_comes_last() -> None:
    draft = draft_of(None, tail=steps(SHORTEN, DropExchange(index=0), DropExchange(index=1)))
    rest = list(CURRENT[6:])

    assert 6 == draft.steps
    assert [
        request([TURNS[1]], list(CURRENT)),
        request([TURNS[1]], [CURRENT[0], *shortened(), CURRENT[3], *B, *rest]),
        request([TURNS[1]], [CURRENT[0], CURRENT[3], *B, *rest]),
        request([TURNS[1]], [CURRENT[0], CURRENT[3], *rest]),
    ] == [draft.request(k) for k in range(3, 7)]
    assert [{}, {0: SHORTEN}, {0: DropExchange(index=0)}] == [draft.exchange_reductions(k) for k in (3, 4, 5)]
    assert [3] * 4 == [draft.removed(k) for k in range(3, 7)]


def test_rows_of_exchanges_are_written_where_they_were_candidates() -> None:
    plan = Plan(steps=steps(SHORTEN, DropExchange(index=1)))
    a, b, c = [message.tool_calls[0].id for message in (asked("a"), asked("b"), asked("c"))]

    assert (
        ExchangeRow(call_ids=(a,), retained=True, reduction=ReductionKind.CONDENSED, policy=SMALL),
        ExchangeRow(call_ids=(b,), retained=False, reduction=ReductionKind.DROPPED),
        ExchangeRow(call_ids=(c,), retained=True, reduction=None),
    ) == draft_of(plan).exchange_rows(2)
    assert None is draft_of(None, opted=False).exchange_rows(0)


def test_any_plan_may_condense_and_drop_in_any_order() -> None:
    draft = draft_of(Plan(base=(T3,), steps=(PlanStep(reductions=(SHORTER, SHORTEN)), *steps(T0, T2))))
    short = [CURRENT[0], *shortened(), *CURRENT[3:]]

    assert [
        request(TURNS[:3], list(CURRENT)),
        request([*TURNS[:2], condensed(2)], short),
        request([TURNS[1], condensed(2)], short),
        request([TURNS[1]], short),
    ] == [draft.request(k) for k in range(4)]
    assert [1, 1, 2, 3] == [draft.removed(k) for k in range(4)]
    assert [(T3,), (SHORTER, T3), (T0, SHORTER, T3), (T0, T2, T3)] == [
        draft.ledger(k).reductions for k in range(4)
    ]


@pytest.mark.parametrize(
    "plan",
    [
        None,
        Plan(base=(T3,), steps=(PlanStep(reductions=(SHORTER, SHORTEN)), *steps(T0, T2))),
        Plan(base=(SHORTER, DropExchange(index=1)), steps=(PlanStep(reductions=()), *steps(T2, SHORTEN))),
        Plan(),
    ],
)
def test_what_each_step_frees_adds_up_to_what_each_request_weighs(plan: Plan | None) -> None:
    """From the least request back to the largest, in bytes; what a bisecting search is led by."""
    draft = draft_of(plan, tail=steps(SHORTEN, DropExchange(index=0)))
    size, sizes = draft.least_bytes(), [draft.least_bytes()]
    for freed in draft.freed():
        for one in freed:
            size += one.before.canonical_bytes - (0 if one.after is None else one.after.canonical_bytes)
        sizes.append(size)

    assert [
        sum(map(message_bytes, draft.request(k).messages)) + constraint_bytes(TextConstraint())
        for k in range(draft.steps, -1, -1)
    ] == sizes


def test_what_is_condensed_keeps_its_calls() -> None:
    answered = [message.call_id for message in condensed(2) if isinstance(message, ToolMessage)]

    assert [message.call_id for message in TURNS[2] if isinstance(message, ToolMessage)] == answered
    assert condensed(2) != TURNS[2]
