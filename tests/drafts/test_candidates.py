"""What a build starts from: frame, pins, candidates and room (R1, R5, R6)."""

import pytest

from jingwei.drafts.candidates import all_candidates, candidates_of, frame_of, pinned_positions, room_of
from jingwei.ids import TurnId
from jingwei.items.envelope import items_envelope
from jingwei.messages.records import SystemMessage, TextConstraint, UserMessage
from jingwei.messages.wire import message_bytes
from jingwei.projection.project import project
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget
from jingwei.selection.records import ExchangeCandidate, Room, TurnCandidate
from tests.logtable import SESSION, log_of
from tests.selection.test_exchanges import asked, result, user
from tests.selection.weighing import Priced, item, summary
from tests.selection.weighing import history as weighed_history

HISTORY = project(
    SESSION,
    log_of("turn t0; user; reply; done; turn t1; error; turn t2; user; error; turn t3; user; reply; done"),
).unwrap()
CURRENT = (user("go"), asked("a"), result("a"), asked("b"), result("b"))


def ids(*turns: str) -> list[TurnId]:
    return list(map(TurnId, turns))


@pytest.mark.parametrize(
    ("pins", "expected"),
    [([], ()), (["t3", "t0"], (0, 3)), (["t1"], (1,)), (["t9"], ()), (["t2", "t2", "t9"], (2,))],
)
def test_pins_are_found_in_the_order_of_the_turns(pins: list[str], expected: tuple[int, ...]) -> None:
    assert expected == pinned_positions(HISTORY, ids(*pins))


def test_pinned_and_silent_turns_are_no_candidates() -> None:
    def positions(*pins: str) -> list[int]:
        return [c.position for c in candidates_of(HISTORY, ids(*pins)) if isinstance(c, TurnCandidate)]

    assert [0, 2, 3] == positions()
    assert [2, 3] == positions("t0", "t1")
    assert [] == positions("t0", "t2", "t3")


def test_the_frame_is_measured_once() -> None:
    frame = frame_of(["s"], CURRENT, TextConstraint(), reduce_current=False)
    alone = frame_of([], (UserMessage(content=""),), TextConstraint(), reduce_current=False)

    assert len('{"role":"user","content":""}') + len('{"mode":"text"}') == alone.canonical_bytes
    assert (SystemMessage(content="s"),) == frame.system
    assert 6 == frame.message_count
    assert None is frame.exchanges


def test_exchanges_are_candidates_where_the_host_let_them_but_for_the_last() -> None:
    frame = frame_of(["s"], CURRENT, TextConstraint(), reduce_current=True)
    candidates = candidates_of(HISTORY, ids("t0"), frame.exchanges)
    room = room_of(
        HISTORY, frame, candidates, ContextBudget(window_tokens=99, output_reserve=5, safety_margin=2), None
    )
    assert frame.exchanges is not None
    first, last = frame.exchanges
    kept = HISTORY.turns[0].canonical_bytes

    assert (
        ExchangeCandidate(index=0, message_count=2, canonical_bytes=first.canonical_bytes) == candidates[-1]
    )
    assert 3 == len(candidates)
    assert (
        Room(
            window_tokens=99,
            reserved_tokens=7,
            required_bytes=frame.canonical_bytes + kept - first.canonical_bytes,
            session_id=SESSION,
            turns=HISTORY.turns,
            exchanges=(first, last),
            required=(
                SystemMessage(content="s"),
                *HISTORY.turns[0].messages,
                *CURRENT[: first.place],
                *CURRENT[last.place :],
            ),
        )
        == room
    )


def test_the_room_tells_what_the_build_measures_with() -> None:
    frame = frame_of([], CURRENT, TextConstraint(), reduce_current=False)
    budget = ContextBudget(window_tokens=99, output_reserve=5)
    room = room_of(HISTORY, frame, candidates_of(HISTORY, []), budget, ByteHeuristicCounter())

    assert ByteHeuristicCounter() == room.costs
    assert () == room.exchanges


def test_what_may_go_of_items_and_summaries_is_a_candidate() -> None:
    """Not what is required or pinned, and no summary of a pinned turn."""
    items = (item("b", 5), item("must", 5, required=True), item("a", 5), item("held", 5, pinned=True))
    summaries = (summary("s", 0), summary("pinned", 1))
    past = weighed_history(3)
    frame = frame_of([], CURRENT, TextConstraint(), reduce_current=False, items=items, summaries=summaries)
    pins = pinned_positions(past, ids("1"))
    found = all_candidates(past, pins, frame)

    assert [0, 2] == [one.position for one in found if isinstance(one, TurnCandidate)]
    assert ["a", "b"] == [one.item_id for one in found.items]
    assert ["a", "b"] == [frame.items[one.index].item_id for one in found.items]
    assert [frame.lines[one.index].canonical_bytes for one in found.items] == [
        one.canonical_bytes for one in found.items
    ]
    assert [("s", 0)] == [(one.summary_id, one.index) for one in found.summaries]


def test_items_weigh_one_message() -> None:
    items = (item("a", 5), item("b", 5))
    plain, full = (
        frame_of(["s"], CURRENT, TextConstraint(), reduce_current=False, items=given) for given in ((), items)
    )
    envelope = items_envelope(items)

    assert envelope is not None
    assert full.message_count == plain.message_count + 1
    assert full.canonical_bytes == plain.canonical_bytes + message_bytes(envelope)


def test_the_room_holds_the_envelope_of_what_must_stay() -> None:
    items = (item("a", 5), item("must", 5, required=True))
    past = weighed_history(1)
    frame = frame_of(["s"], CURRENT[:1], TextConstraint(), reduce_current=False, items=items)
    over = all_candidates(past, (), frame)
    room = room_of(past, frame, over, ContextBudget(window_tokens=1, output_reserve=1), Priced())

    assert (SystemMessage(content="s"), items_envelope(items[1:]), CURRENT[0]) == room.required
    assert ["a", "must"] == sorted(one.item_id for one in room.items)
