"""The request after k steps, and what the report says of it (B3, B6, R4, R6)."""

from typing import Final

import attrs
import pytest

from jingwei.drafts.candidates import all_candidates, candidates_of, frame_of, pinned_positions, room_of
from jingwei.drafts.checking import checked_plan
from jingwei.drafts.draft import Draft
from jingwei.ids import ItemId, SummaryId, TurnId
from jingwei.items.envelope import contents_in
from jingwei.items.records import ShortContent
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
    ChoiceReason,
    CondenseExchange,
    CondenseItem,
    CondenseTurn,
    DropExchange,
    DropItem,
    DropTurn,
    InvalidPlan,
    Plan,
    PlanStep,
    Reduction,
    ReplaceTurnsBySummary,
    SummarizedTurn,
)
from jingwei.selection.views import oldest_first
from tests.logtable import SESSION
from tests.selection.test_exchanges import SMALL, asked, result, user
from tests.selection.weighing import Priced, summary
from tests.selection.weighing import item as weighed
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


# --- envelopes --------------------------------------------------------------------------------------

ITEMS: Final = (
    attrs.evolve(weighed("b", 400), short=ShortContent(text="short", method="cut-v1")),
    weighed("a", 9, required=True),
    weighed("c", 9, pinned=True),
    weighed("d", 9),
)
SHORT_B, NO_B, NO_D = (
    CondenseItem(item_id=ItemId("b")),
    DropItem(item_id=ItemId("b")),
    DropItem(item_id=ItemId("d")),
)
SUMMARY = ReplaceTurnsBySummary(summary_id=SummaryId("s"))
SUMMED = tuple([SummarizedTurn(turn_id=TurnId(turn), summary_id=SummaryId("s")) for turn in ("t0", "t1")])


def enveloped(plan: Plan, *, items: bool = True, run: bool = False) -> Draft:
    """The draft of a plan over four turns, four items and a summary of the first two turns."""
    over = attrs.evolve(summary("s", 0), turn_ids=(TurnId("t0"), TurnId("t1")))
    frame = frame_of(
        ["s"],
        CURRENT,
        TextConstraint(),
        reduce_current=False,
        items=ITEMS if items else (),
        summaries=() if run else (over,),
    )
    candidates = all_candidates(HISTORY, (), frame)
    room = room_of(HISTORY, frame, candidates, ContextBudget(window_tokens=1, output_reserve=1), None)
    made = oldest_first(candidates, tuple(plan.steps)) if run else plan
    checked = checked_plan(made, candidates, frozenset(), room)
    assert not isinstance(checked, InvalidPlan), checked
    return Draft(HISTORY, frame, (), candidates, checked)


ANY = Plan(base=(NO_D,), steps=(PlanStep(reductions=(SHORT_B,)), *steps(SUMMARY, NO_B)))


def test_envelopes_stand_before_the_history_and_before_current() -> None:
    draft = enveloped(ANY)
    sent = [draft.request(k).messages for k in range(4)]

    assert [None, None] == [draft.summary_message(k) for k in (0, 1)]
    for k, messages in enumerate(sent):
        assert (SYSTEM, *CURRENT) == (messages[0], *messages[-len(CURRENT) :])
        assert draft.items_message(k) == messages[-len(CURRENT) - 1]
    assert [draft.summary_message(k) for k in (2, 3)] == [sent[2][1], sent[3][1]]
    assert [4, 4, 2, 2] == [sum([messages.count(turn[0]) for turn in TURNS]) for messages in sent]


def test_rows_of_items_are_written_in_the_order_of_the_envelope() -> None:
    draft = enveloped(ANY)
    reasons = {ItemId("b"): ChoiceReason.VALUE, ItemId("d"): ChoiceReason.CEILING}
    first, last, plain = (
        draft.item_rows(1, reasons, Priced()),
        draft.item_rows(3, reasons, Priced()),
        draft.item_rows(3, {}, None),
    )

    assert [
        ("a", True, None, ChoiceReason.REQUIRED, 9, 9),
        ("c", True, None, ChoiceReason.PINNED, 9, 9),
        ("b", True, ReductionKind.CONDENSED, ChoiceReason.VALUE, 400, 5),
        ("d", False, ReductionKind.DROPPED, ChoiceReason.CEILING, 9, 0),
    ] == sorted(
        [(r.item_id, r.retained, r.reduction, r.reason, r.full_cost, r.cost) for r in first or ()],
        key=lambda row: "acbd".index(row[0]),
    )
    assert [("b", ReductionKind.DROPPED, ChoiceReason.FULL_COUNT, 0)] == [
        (row.item_id, row.reduction, row.reason, row.cost) for row in last or () if row.item_id == "b"
    ]
    assert {"a": "required", "b": "full_count", "c": "pinned", "d": "no_room"} == {
        row.item_id: row.reason.value for row in plain or ()
    }
    assert {(None, None)} == {(row.full_cost, row.cost) for row in plain or ()}


def test_without_items_there_are_no_rows_and_no_envelope() -> None:
    draft = enveloped(Plan(), items=False)

    assert draft.item_rows(0, {}, None) is None
    assert draft.items_message(0) is None


def test_an_item_that_nobody_spoke_of_is_there_because_there_is_room() -> None:
    rows = enveloped(Plan()).item_rows(0, {}, None) or ()

    assert [ChoiceReason.ROOM_FOR_ALL] * 2 == [row.reason for row in rows if not row.protected]


def test_rows_of_summaries_say_whether_they_stand() -> None:
    draft = enveloped(ANY)

    assert [[False], [False], [True], [True]] == [
        [row.applied for row in draft.summary_rows(k) or ()] for k in range(4)
    ]
    assert enveloped(Plan(), run=True).summary_rows(0) is None
    assert [(), (), SUMMED, SUMMED] == [tuple(draft.ledger(k).reductions) for k in range(4)]


def test_what_was_done_to_items_and_what_is_gone() -> None:
    draft = enveloped(Plan(base=(NO_D,), steps=steps(SHORT_B, T3, NO_B)))

    assert [{ItemId("d"): NO_D}, {ItemId("d"): NO_D, ItemId("b"): SHORT_B}] == [
        dict(draft.item_reductions(k)) for k in (0, 1)
    ]
    assert [{NO_D}, {NO_D, T3}, {NO_D, T3, NO_B}] == [set(draft.dropped(k)) for k in (1, 2, 3)]


def test_a_run_goes_on_with_items() -> None:
    draft = enveloped(Plan(steps=steps(SHORT_B, NO_B)), run=True)
    last = [contents_in(text.content) for k in (4, 5, 6) if (text := draft.items_message(k)) is not None]

    assert 6 == draft.steps
    assert ["x" * 400, "short", None] == [found.get(ItemId("b")) for found in last]
    assert draft.is_by_line
    assert enveloped(Plan(base=(SUMMARY,))).is_by_line
    assert not draft_of(None).is_by_line


@pytest.mark.parametrize("plan", [ANY, Plan(base=(SUMMARY, SHORT_B)), Plan(steps=steps(SUMMARY, NO_D))])
def test_what_steps_free_of_envelopes_adds_up_too(plan: Plan) -> None:
    draft = enveloped(plan)
    sizes = [draft.least_bytes()]
    for freed in draft.freed():
        change = sum(
            one.before.canonical_bytes - (0 if one.after is None else one.after.canonical_bytes)
            for one in freed
        )
        sizes.append(sizes[-1] + change)

    assert [
        sum(map(message_bytes, draft.request(k).messages)) + constraint_bytes(TextConstraint())
        for k in range(draft.steps, -1, -1)
    ] == sizes
