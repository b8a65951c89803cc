"""The turn table (P4): the whole product of states and kinds, and the guards between them."""

import itertools

import attrs
import pytest

from jingwei.events.records import SessionEvent
from jingwei.events.turns import (
    ALL_KINDS,
    AUDIT_KINDS,
    REFUSED,
    TERMINALS,
    TURN_TABLE,
    MalformedReason,
    TurnState,
    step,
)
from tests.logtable import events_of


@attrs.frozen(kw_only=True)
class Ids:
    """Known ids, as literal sets."""

    tool_calls: frozenset[str] = frozenset()
    tool_results: frozenset[str] = frozenset()
    model_calls: frozenset[str] = frozenset()
    model_results: frozenset[str] = frozenset()
    message_ids: frozenset[str] = frozenset()


NONE = Ids()
OPEN = Ids(tool_calls=frozenset({"call"}), model_calls=frozenset({"model-call"}))
ANSWERED = attrs.evolve(
    OPEN, tool_results=OPEN.tool_calls, model_results=OPEN.model_calls, message_ids=frozenset({"m"})
)


def event(row: str) -> SessionEvent:
    (made,) = events_of(row)
    return made


def test_every_pair_is_either_in_the_table_or_refused() -> None:
    pairs = set(itertools.product(TurnState, ALL_KINDS))

    assert 4 * 14 == len(pairs)
    assert pairs == TURN_TABLE.keys() | REFUSED.keys()
    assert set() == TURN_TABLE.keys() & REFUSED.keys()


# State by state: what an event leads to where no guard objects.
W, R, C = TurnState.WORKING, TurnState.REPLIED, TurnState.CLOSED
E = TurnState.EMPTY
PRODUCT = """
    row         empty                working              replied           closed
    user        working              second_user_message  work_after_reply  after_terminal
    delta       work_before_user     working              work_after_reply  after_terminal
    ask         work_before_user     working              work_after_reply  after_terminal
    answer      orphan_model_result  working              work_after_reply  after_terminal
    call        work_before_user     working              work_after_reply  after_terminal
    result      orphan_tool_result   working              work_after_reply  after_terminal
    reply       work_before_user     replied              second_reply      after_terminal
    report      empty                working              replied           after_terminal
    stage       empty                working              replied           after_terminal
    mode        empty                working              replied           after_terminal
    plan        empty                working              replied           after_terminal
    custom      empty                working              replied           after_terminal
    done        closed               closed               closed            after_terminal
    error       closed               closed               closed            after_terminal
"""
HEADER, *ROWS = [line.split() for line in PRODUCT.strip().splitlines()]
CELLS = [
    (row[0], TurnState(state), cell) for row in ROWS for state, cell in zip(HEADER[1:], row[1:], strict=True)
]
STATES = {state.value for state in TurnState}


@pytest.mark.parametrize(("row", "state", "cell"), CELLS)
def test_the_whole_product(row: str, state: TurnState, cell: str) -> None:
    """A result meets its open call in the working state, and no call in any other."""
    ids = OPEN if row in {"answer", "result"} and state is W else NONE
    expected: TurnState | MalformedReason = TurnState(cell) if cell in STATES else MalformedReason(cell)

    assert expected is step(state, ids, event(row))


GUARDS: list[tuple[str, TurnState, Ids, MalformedReason]] = [
    ('call ""', W, NONE, MalformedReason.BLANK_CALL_ID),
    ('call " \\t" ""', W, NONE, MalformedReason.BLANK_CALL_ID),
    ('call call ""', W, OPEN, MalformedReason.BLANK_CALL_NAME),
    ("call call", W, OPEN, MalformedReason.REPEATED_CALL_ID),
    ("call call", W, ANSWERED, MalformedReason.REPEATED_CALL_ID),
    ("result other", W, OPEN, MalformedReason.ORPHAN_TOOL_RESULT),
    ("failed call", W, ANSWERED, MalformedReason.SECOND_TOOL_RESULT),
    ('ask " "', W, NONE, MalformedReason.BLANK_MODEL_CALL_ID),
    ("ask model-call", W, OPEN, MalformedReason.REPEATED_MODEL_CALL_ID),
    ("ask model-call", W, ANSWERED, MalformedReason.REPEATED_MODEL_CALL_ID),
    ("answer other", W, OPEN, MalformedReason.ORPHAN_MODEL_RESULT),
    ("unanswered model-call", W, ANSWERED, MalformedReason.SECOND_MODEL_RESULT),
    ("reply x -", W, NONE, MalformedReason.REPLY_WITHOUT_MESSAGE_ID),
    ('reply x ""', W, NONE, MalformedReason.BLANK_MESSAGE_ID),
    ("reply x m", W, ANSWERED, MalformedReason.REPEATED_MESSAGE_ID),
    # A blank event id comes before everything.
    ('user id=" "', C, NONE, MalformedReason.BLANK_EVENT_ID),
    ('done id=""', E, NONE, MalformedReason.BLANK_EVENT_ID),
    # A closed or replied turn refuses before the guards.
    ('call ""', C, NONE, MalformedReason.AFTER_TERMINAL),
    ("reply x -", C, NONE, MalformedReason.AFTER_TERMINAL),
    ("result other", R, NONE, MalformedReason.WORK_AFTER_REPLY),
    ('ask ""', R, NONE, MalformedReason.WORK_AFTER_REPLY),
    # A second reply is refused after its message id, a missing user message after every guard.
    ("reply x -", R, NONE, MalformedReason.REPLY_WITHOUT_MESSAGE_ID),
    ("reply x m", R, ANSWERED, MalformedReason.REPEATED_MESSAGE_ID),
    ("reply x n", R, ANSWERED, MalformedReason.SECOND_REPLY),
    ("reply x -", E, NONE, MalformedReason.REPLY_WITHOUT_MESSAGE_ID),
    ('call ""', E, NONE, MalformedReason.BLANK_CALL_ID),
    ('ask ""', E, NONE, MalformedReason.BLANK_MODEL_CALL_ID),
]


@pytest.mark.parametrize(("row", "state", "ids", "expected"), GUARDS)
def test_the_guards_speak_in_the_order_of_the_rule(
    row: str, state: TurnState, ids: Ids, expected: MalformedReason
) -> None:
    assert expected is step(state, ids, event(row))


@pytest.mark.parametrize("row", ["reply x m", "call c", "result call", "ask k", "unanswered model-call"])
def test_what_no_guard_objects_to_goes_on(row: str) -> None:
    ids = attrs.evolve(OPEN, message_ids=frozenset({"other"}))

    assert isinstance(step(W, ids, event(row)), TurnState)


def test_terminals_and_audit_kinds_are_told_apart() -> None:
    assert 5 + 2 == len({*AUDIT_KINDS, *TERMINALS})
