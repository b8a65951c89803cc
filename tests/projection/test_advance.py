"""A log that grows (P13): what becomes final when, and what a piece costs. The rest is a property."""

import sys
from collections.abc import Callable
from types import FrameType

import attrs
import pytest

from jingwei.events.failures import DuplicateEventId
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.wire import log_bytes, session_log
from jingwei.ids import EventId, SessionId, TurnId
from jingwei.limits import Bound, LimitExceeded
from jingwei.outcome import Success
from jingwei.projection.advance import Advanced, ProjectionState, advance, initial_state
from jingwei.projection.failures import InvalidConfig, InvalidConfigReason, MissingReply
from jingwei.projection.project import project
from jingwei.projection.records import DEFAULT_CONFIG, DamagedTurns, GroupKind, ProjectionConfig
from jingwei.projection.view import start_view
from tests.logtable import SESSION, log_of

QUARANTINE = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)


def piece(*events: SessionEvent) -> SessionLog:
    return session_log(events)


def told(after: Advanced) -> str:
    """What became final: groups by their kind's first letter, turns by their state, omissions by number."""
    groups = "".join(group.kind.value[0] for group in after.groups)
    turns = "".join(f" {turn.turn_id}={turn.state.value}" for turn in after.turns)
    return f"{groups}{turns} {len(after.omitted)}".strip()


def event_by_event(table: str, config: ProjectionConfig) -> list[str]:
    state, found = initial_state(SESSION, config), list[str]()
    for event in log_of(table).events:
        after = advance(state, piece(event))
        state = after.state
        found.append(told(after))
    return found


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("user; reply; done", ["u 0", "0", "a one=completed 1"]),
        ("user; reply; error", ["u 0", "0", "one=failed 2"]),
        ("user; call a; call b; result b; result a; error", ["u 0", "0", "0", "0", "tt 0", "one=failed 1"]),
        ("user; call a; result a; call b; result b", ["u 0", "0", "t 0", "0", "t 0"]),
        ("report; delta", ["0", "0"]),
        ("report; error; turn two; user", ["0", "one=failed 2", "u 0"]),
        # Nothing that breaks at its end is final, and nothing is final behind it.
        ("user; call a; reply; done; turn two; user", ["u 0", "0", "0", "0", "0"]),
    ],
)
def test_what_becomes_final_with_each_event(table: str, expected: list[str]) -> None:
    assert expected == event_by_event(table, ProjectionConfig())


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("user; reply; done; turn two; user", ["0", "0", "0", "ua one=completed 1"]),
        ("user; user; done; turn two; user", ["0", "0", "0", "one=quarantined 3"]),
    ],
)
def test_under_quarantine_the_next_turn_makes_the_last_final(table: str, expected: list[str]) -> None:
    assert expected == event_by_event(table, QUARANTINE)


@pytest.mark.parametrize("cut", range(5))
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("user; call a; done cancelled", "quarantined"),
        ("user; call a; error", "quarantined"),
        ("user; ask k; done waiting_for_input", "quarantined"),
        ("user; call a; reply; done", "quarantined"),
        ("user; call a; done", "quarantined"),
        ("user; done; turn two; user; call a; reply; done", "quarantined quarantined"),
        # Without its end it may go on, or be given one.
        ("user; call a; reply", "Unconfirmed"),
        ("user; call a", "Unconfirmed"),
        ("user; delta", "Unconfirmed"),
        ("user", "open"),
    ],
)
def test_a_last_turn_that_nothing_can_mend_is_left_out(table: str, expected: str, cut: int) -> None:
    """At once, and not only when another turn follows (P14)."""
    log = log_of(table)
    view = start_view(SESSION, QUARANTINE).advanced(session_log(log.events[:cut]))
    outcome = view.advanced(session_log(log.events[cut:])).projection()
    if isinstance(outcome, Success):
        said = " ".join(turn.state.value for turn in outcome.unwrap().turns)
    else:
        said = type(outcome.failure()).__name__

    assert expected == said
    assert project(SESSION, log, QUARANTINE) == outcome


def test_what_is_left_out_at_the_end_may_still_be_followed() -> None:
    """By further events of its run, which are left out too, and by another turn."""
    log = log_of("user; call a; error; mode; turn two; user")
    view = start_view(SESSION, QUARANTINE)
    lengths = list[int]()
    for event in log.events[2:]:
        view = start_view(SESSION, QUARANTINE).advanced(session_log(log.events[: event.seq + 1]))
        lengths.append(len(view.projection().unwrap().omitted))

    assert [3, 4, 4] == lengths


def test_an_empty_piece_changes_nothing() -> None:
    state = advance(initial_state(SESSION), log_of("user; call a")).state

    assert Advanced(state=state) == advance(state, session_log([]))


def test_an_id_of_an_earlier_piece_may_not_recur() -> None:
    """L1 looks at the whole log, of which a state holds the ids."""
    first, second = log_of("user; reply").events
    state = advance(initial_state(SESSION), piece(first)).state
    after = advance(state, piece(attrs.evolve(second, event_id=first.event_id)))

    assert DuplicateEventId(physical_index=1, event_id=first.event_id) == after.state.failure
    assert (2, ()) == (after.state.event_count, after.groups)


def test_a_configuration_that_is_refused_is_the_failure_of_every_state() -> None:
    state = initial_state(SessionId(" "))
    after = advance(state, log_of("user")).state
    expected = InvalidConfig(reason=InvalidConfigReason.BLANK_SESSION_ID)

    assert (expected, expected) == (state.failure, after.failure)
    assert (1, EventId("event-0")) == (after.event_count, after.source_tail)


def test_a_piece_that_is_not_measured_is_measured() -> None:
    """`actual` is the exact sum, as in the batch, and goes on growing."""
    log = log_of("user; reply; done; turn two; user")
    loose = SessionLog(events=log.events[:4], bytes_at_most=10**9)
    state = advance(initial_state(SESSION, ProjectionConfig(max_input_bytes=10)), loose).state
    last = advance(state, session_log(log.events[4:])).state

    assert log_bytes(loose) == state.input_bytes
    assert LimitExceeded(what=Bound.INPUT_BYTES, limit=10, actual=log_bytes(log)) == last.failure


def test_a_state_says_where_it_stands() -> None:
    state = advance(initial_state(SESSION), log_of("user; reply r m; done; turn two; user")).state

    assert (4, EventId("event-3"), None) == (state.event_count, state.source_tail, state.failure)
    assert (1, 2, 2) == (state.turn_count, state.group_count, state.message_count)
    assert ["one", "two"] == list(state.turn_ids)
    assert ["m"] == list(state.message_ids)
    assert state.turn is not None
    assert (TurnId("two"), 3, EventId("event-2")) == (state.turn.turn_id, state.turn.start, state.turn.before)


def test_a_failed_state_holds_no_more_than_it_needs() -> None:
    log = log_of("user; done; turn two; user")
    failed = advance(initial_state(SESSION), log).state

    assert MissingReply(turn_id=TurnId("one")) == failed.failure
    assert (0, None, 3) == (len(failed.turn_ids), failed.turn, len(failed.event_ids))


def test_a_closed_turn_leaves_nothing_but_its_id() -> None:
    state = advance(initial_state(SESSION), log_of("user; call a; result a; error")).state

    assert state.turn is not None
    assert (True, 0, 0) == (state.turn.settled, len(state.turn.events), len(state.turn.groups))


def calls_of(work: Callable[[], object]) -> int:
    """How many Python functions are called; unlike a clock the same on every machine."""
    count = 0

    def seen(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


class TestCost:
    """An event costs the same in a long turn and behind a long history."""

    @pytest.mark.parametrize("config", [ProjectionConfig(), QUARANTINE], ids=["reject", "quarantine"])
    def test_in_a_turn_of_five_thousand_events(self, config: ProjectionConfig) -> None:
        rows = "; ".join(f"call c{n}; result c{n}" for n in range(2500))

        assert 2 * self.first_hundred(f"user; {rows}", config) >= self.last_hundred(f"user; {rows}", config)

    def test_behind_a_thousand_turns(self) -> None:
        rows = "; ".join(f"turn t{n}; user; call c; result c; reply; done" for n in range(1000))

        assert 2 * self.first_hundred(rows) >= self.last_hundred(rows)

    def first_hundred(self, table: str, config: ProjectionConfig = DEFAULT_CONFIG) -> int:
        events = log_of(table).events
        state = advance(initial_state(SESSION, config), session_log(events[:100])).state
        return self.cost(state, events[100:200])

    def last_hundred(self, table: str, config: ProjectionConfig = DEFAULT_CONFIG) -> int:
        events = log_of(table).events
        state = advance(initial_state(SESSION, config), session_log(events[:-100])).state
        return self.cost(state, events[-100:])

    @staticmethod
    def cost(state: ProjectionState, events: tuple[SessionEvent, ...]) -> int:
        pieces = [piece(event) for event in events]

        def work() -> None:
            at = state
            for one in pieces:
                at = advance(at, one).state

        return calls_of(work)


def test_the_kinds_of_groups_have_letters_of_their_own() -> None:
    """What `told` relies on."""
    assert len(GroupKind) == len({kind.value[0] for kind in GroupKind})
