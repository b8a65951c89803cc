"""The open turn taken off the end of a projection, so that it can be built as `current`."""

import attrs
import pytest

from jingwei.messages.failures import ArgumentsNotObject, MissingToolResults, ShapeFailure
from jingwei.messages.records import UserMessage
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.projection.split import SplitProjection, split_open_turn
from tests.logtable import SESSION, log_of

CLOSED = "user; call a; result a; reply; done"


def projected(table: str) -> Projection:
    return project(SESSION, log_of(table)).unwrap()


@pytest.mark.parametrize("table", ["", CLOSED, f"{CLOSED}; turn two; error"])
def test_where_no_turn_is_open_the_history_is_whole(table: str) -> None:
    whole = projected(table)

    assert SplitProjection(history=whole, current=()) == split_open_turn(whole)


def test_an_open_turn_is_taken_off_with_its_sizes() -> None:
    whole, closed = projected(f'{CLOSED}; turn two; user "next"'), projected(CLOSED)
    expected = attrs.evolve(
        closed, source_event_count=whole.source_event_count, source_tail=whole.source_tail
    )

    assert SplitProjection(history=expected, current=(UserMessage(content="next"),)) == split_open_turn(whole)


def test_a_log_may_hold_its_open_turn_alone() -> None:
    found = split_open_turn(projected("user"))

    assert (UserMessage(content="question"),) == found.current
    assert ((), 0, 0, 0) == (
        tuple(found.history.turns),
        found.history.group_count,
        found.history.message_count,
        found.history.canonical_bytes,
    )


@pytest.mark.parametrize(
    ("broken", "left"),
    [
        (ArgumentsNotObject(index=1), ArgumentsNotObject(index=1)),
        (ArgumentsNotObject(index=3), ArgumentsNotObject(index=3)),
        (ArgumentsNotObject(index=4), None),
        (MissingToolResults(call_ids=("a",)), MissingToolResults(call_ids=("a",))),
    ],
)
def test_a_broken_message_of_the_open_turn_goes_with_it(
    broken: ShapeFailure, left: ShapeFailure | None
) -> None:
    """Four messages are closed. A failure that names no message may be anywhere, and stays."""
    whole = attrs.evolve(projected(f"{CLOSED}; turn two; user"), shape_failure=broken)

    assert left == split_open_turn(whole).history.shape_failure
