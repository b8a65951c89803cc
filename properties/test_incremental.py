"""The projection of a log that grows (P13), and of one with damaged turns (P14)."""

import itertools
from collections.abc import Container, Sequence

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jingwei.events import records as r
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.wire import log_bytes, session_log
from jingwei.ids import EventId, MessageId, SessionId
from jingwei.limits import Bound, LimitExceeded
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.advance import advance, initial_state
from jingwei.projection.failures import Malformed, ProjectionFailure, Unconfirmed
from jingwei.projection.project import project
from jingwei.projection.records import (
    DEFAULT_CONFIG,
    DamagedTurns,
    Group,
    LegacyReplies,
    Omission,
    OmissionReason,
    ProjectedState,
    ProjectedTurn,
    Projection,
    ProjectionConfig,
)
from jingwei.projection.split import SplitProjection, split_open_turn
from jingwei.projection.view import ProjectionView, start_view
from jingwei.projection.wire import encode_projection
from jingwei.testing import strategies as some
from jingwei.testing.strategies import SESSION
from properties.models import (
    model_outcome_of,
    plain_event,
    plain_message,
    plain_outcome_of,
    plain_text,
    turn_groups,
    written,
)

OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)
QUARANTINE = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)
PLAIN_CONFIGS = (DEFAULT_CONFIG, OMIT, QUARANTINE, attrs.evolve(OMIT, damaged_turns=DamagedTurns.QUARANTINE))


def configs() -> st.SearchStrategy[ProjectionConfig]:
    """Mostly the host's choices alone; now and then bounds near what drawn logs hold."""
    bounded = st.builds(
        ProjectionConfig,
        legacy_replies=st.sampled_from(LegacyReplies),
        damaged_turns=st.sampled_from(DamagedTurns),
        max_events=st.integers(0, 12) | st.just(100_000),
        max_input_bytes=st.integers(0, 4000) | st.just(10**9),
        max_messages=st.integers(0, 8) | st.just(50_000),
    )
    return st.sampled_from(PLAIN_CONFIGS) | bounded


def as_read(events: Sequence[SessionEvent]) -> SessionLog:
    """A piece as a reader has it, who knows a bound on its size and not the size."""
    return SessionLog(events=tuple(events), bytes_at_most=10**9)


def in_pieces(log: SessionLog, cuts: Sequence[int]) -> list[SessionLog]:
    """The log cut at these places, every other piece not measured; places may recur."""
    bounds = [0, *sorted(cut % (len(log.events) + 1) for cut in cuts), len(log.events)]
    made = [log.events[start:end] for start, end in itertools.pairwise(bounds)]
    return [session_log(piece) if n % 2 else as_read(piece) for n, piece in enumerate(made)]


def same(expected: Outcome[Projection, ProjectionFailure], view: ProjectionView) -> None:
    """The view gives that outcome, record for record and byte for byte."""
    found = view.projection()

    assert expected == found
    if isinstance(expected, Success):
        assert encode_projection(expected.unwrap()) == encode_projection(found.unwrap())


def check_running(log: SessionLog, config: ProjectionConfig, view: ProjectionView) -> None:
    """What `running` should say, from the batch and the naive model alone."""
    whole = project(SESSION, log, config)
    found = view.running()
    last = [event for event in log.events if event.turn_id == log.events[-1].turn_id] if log.events else []
    before = log.events[: len(log.events) - len(last)]
    if not last or not _may_go_on(last, whole):
        expected = [SplitProjection(history=whole.unwrap(), current=())] if isinstance(whole, Success) else []

        assert expected == ([found.unwrap()] if isinstance(found, Success) else [])
        assert isinstance(whole, Success) or whole == found
        return
    split = found.unwrap()
    begun = attrs.evolve(last[0], event_id=EventId("begun"), kind=r.UserMessageEvent(text=""))
    generous = attrs.evolve(config, max_messages=10**6, max_input_bytes=10**9, max_events=10**6)
    closed = split_open_turn(project(SESSION, session_log([*before, begun]), generous).unwrap()).history
    tail = before[-1].event_id if before else None

    assert (
        attrs.evolve(closed, config=config, source_event_count=len(before), source_tail=tail) == split.history
    )

    answered = {e.kind.result.call_id for e in last if isinstance(e.kind, r.ToolResultEvent)}
    calls = [e.kind.call.id for e in last if isinstance(e.kind, r.ToolCallEvent)]
    settled = set(itertools.takewhile(answered.__contains__, calls))
    groups = turn_groups([plain_event(event) for event in last if _belongs(event, settled)])

    assert [m for group in groups for m in group["messages"]] == [plain_message(m) for m in split.current]


def _may_go_on(last: Sequence[SessionEvent], whole: Outcome[Projection, ProjectionFailure]) -> bool:
    """Whether the last turn runs and nothing is wrong but that it does."""
    if any(isinstance(event.kind, r.DoneEvent | r.ErrorEvent) for event in last):
        return False
    match whole:
        case Success(projection):
            return projection.turns[-1].state is ProjectedState.OPEN
        case Failure(Unconfirmed(turn_id=turn_id)):
            return turn_id == last[0].turn_id
        case Failure(LimitExceeded(what=Bound.MESSAGES, limit=limit, actual=actual)):
            return len(last) == 1 and actual == limit + 1 and isinstance(last[0].kind, r.UserMessageEvent)
        case _:
            return False


def _belongs(event: SessionEvent, settled: Container[str]) -> bool:
    match event.kind:
        case r.UserMessageEvent():
            return True
        case r.ToolCallEvent(call=call):
            return call.id in settled
        case r.ToolResultEvent(result=result):
            return result.call_id in settled
        case _:
            return False


class TestIncrementalP13:
    """P13. A log may be projected piece by piece. After every piece the answer is that of `project` on all
    pieces put together: which projection, or which failure. A state that has failed counts on, since what
    P2 asks first may still break. States and views are values: old ones stay what they were, and any number
    of logs may go on from each.
    """

    @given(some.logs(), configs(), st.sampled_from((SESSION, SESSION, SESSION, SESSION, " ")))
    def test_every_cut(self, log: SessionLog, config: ProjectionConfig, session_id: str) -> None:
        """Event by event: after each the view gives what the batch gives for the log so far."""
        view = start_view(SessionId(session_id), config)

        same(project(SessionId(session_id), session_log([]), config), view)

        for end in range(1, len(log.events) + 1):
            view = view.advanced(session_log(log.events[end - 1 : end]))

            same(project(SessionId(session_id), session_log(log.events[:end]), config), view)

    @given(some.logs(), configs(), st.lists(st.integers(0, 40), max_size=4))
    def test_the_pieces_leave_no_trace(
        self, log: SessionLog, config: ProjectionConfig, cuts: list[int]
    ) -> None:
        """However a log is cut, measured before or not: the state is that of the log in one piece."""
        state = initial_state(SESSION, config)
        for piece in in_pieces(log, cuts):
            state = advance(state, piece).state

        assert advance(initial_state(SESSION, config), log).state == state
        assert (len(log.events), log_bytes(log)) == (state.event_count, state.input_bytes)

    @given(some.logs(), some.logs(), configs(), st.integers(0, 40))
    def test_branches(self, log: SessionLog, other: SessionLog, config: ProjectionConfig, cut: int) -> None:
        """From one view two logs go on; neither sees the other, and the old view stays what it was."""
        common = log.events[: cut % (len(log.events) + 1)]
        renamed = [attrs.evolve(e, event_id=EventId(f"o{n}")) for n, e in enumerate(other.events)]
        joined = session_log(some.renumbered([*common, *renamed]))
        trunk = start_view(SESSION, config).advanced(session_log(common))
        one, two = trunk, trunk
        for event in log.events[len(common) :]:
            one = one.advanced(session_log([event]))
        for event in joined.events[len(common) :]:
            two = two.advanced(session_log([event]))

        same(project(SESSION, log, config), one)
        same(project(SESSION, joined, config), two)
        same(project(SESSION, session_log(common), config), trunk)

    @given(some.logs(), configs(), st.lists(st.integers(0, 40), max_size=6))
    def test_what_is_emitted_is_final(
        self, log: SessionLog, config: ProjectionConfig, cuts: list[int]
    ) -> None:
        """Groups, turns and omissions come in order, each once, and none is ever taken back."""
        state = initial_state(SESSION, config)
        groups, turns, omitted = list[Group](), list[ProjectedTurn](), list[Omission]()
        for piece in in_pieces(log, cuts):
            after = advance(state, piece)
            state = after.state
            groups += after.groups
            turns += after.turns
            omitted += after.omitted

        at_once = start_view(SESSION, config).advanced(log).emitted

        assert state.failure or turns == list(at_once.turns)
        match project(SESSION, log, config):
            case Success(projection):
                running = len(projection.turns) - len(turns)

                assert running in {0, 1}
                assert turns == list(projection.turns[: len(turns)])
                assert omitted == list(projection.omitted[: len(omitted)])
                assert groups == list(projection.groups[: len(groups)])
                assert len(groups) >= sum([len(turn.groups) for turn in turns])
                if config.damaged_turns is DamagedTurns.REJECT:
                    assert groups == list(projection.groups)
            case Failure(failure) if state.failure is not None:
                assert failure == state.failure
            case Failure(failure):
                assert not isinstance(failure, Malformed), "what is final is in the state"

    @given(some.logs(), st.sampled_from(PLAIN_CONFIGS))
    def test_what_a_running_turn_says(self, log: SessionLog, config: ProjectionConfig) -> None:
        """In mid-turn: the closed turns as the batch has them, and the running one up to its open call."""
        view = start_view(SESSION, config)
        for end in range(len(log.events) + 1):
            check_running(session_log(log.events[:end]), config, view)
            view = view.advanced(session_log(log.events[end : end + 1]))

    @given(some.legal_logs(legacy=True), st.integers(1, 40))
    def test_what_was_there_is_shared(self, log: SessionLog, cut: int) -> None:
        """A longer view holds the very turns of the shorter one."""
        first = start_view(SESSION, OMIT).advanced(session_log(log.events[:cut]))
        second = first.advanced(session_log(log.events[cut:]))

        assert all(old is new for old, new in zip(first.emitted.turns, second.emitted.turns, strict=False))
        assert all(
            old is new for old, new in zip(first.emitted.sources, second.emitted.sources, strict=False)
        )

    def test_a_failed_state_counts_on(self) -> None:
        """A bad event, then a wrong seq, then too many events: each later failure takes precedence."""
        log = written("t user", "t user", "t note", "t note", "t note")
        wrong = attrs.evolve(log.events[3], seq=7)
        view = start_view(SESSION, ProjectionConfig(max_events=4))
        kinds = list[str]()
        for event in (*log.events[:3], wrong, log.events[4]):
            view = view.advanced(session_log([event]))
            kinds.append(type(view.state.failure).__name__)

        assert ["NoneType", "Malformed", "Malformed", "WrongSequence", "LimitExceeded"] == kinds
        assert view.state.failure == view.projection().failure()

    def test_a_failure_at_the_end_gives_way_to_a_bad_event(self) -> None:
        """A turn closed over an open call is unconfirmed until something follows its end."""
        log = written("t user", "t call c", "t completed", "t note")
        view = start_view(SESSION).advanced(session_log(log.events[:3]))

        assert isinstance(view.projection().failure(), Unconfirmed)
        assert view.state.failure is None
        assert isinstance(view.advanced(session_log(log.events[3:])).projection().failure(), Malformed)

    @pytest.mark.parametrize("place", [0, 1, 2, 30, 59, 118])
    def test_ids_of_all_earlier_pieces_count(self, place: int) -> None:
        """An event id, turn id or message id that recurs is found, however many pieces lie between."""
        turns = range(40)
        rows = [row for n in turns for row in (f"t{n} user", f"t{n} reply r{n}", f"t{n} completed")]
        log = written(*rows, "x user", "x reply rx")
        *before, user, reply = log.events
        view = start_view(SESSION)
        for event in before:
            view = view.advanced(session_log([event]))
        twin = session_log([attrs.evolve(user, event_id=before[place].event_id)])
        back = session_log([attrs.evolve(user, turn_id=before[place % 117].turn_id)])
        begun = view.advanced(session_log([user]))
        for further in (twin, back):
            whole = project(SESSION, session_log([*before, *further.events]))

            assert isinstance(whole, Failure)
            same(whole, view.advanced(further))

        again = attrs.evolve(reply, message_id=MessageId(f"r{place // 3}"))
        found = begun.advanced(session_log([again])).projection().failure()

        assert isinstance(found, Malformed)
        assert "repeated_message_id" == found.reason.value

    def test_sixty_parallel_calls(self) -> None:
        """Results in the reverse order: the exchanges come at once, in call order, with the last result."""
        calls = [f"c{n}" for n in range(60)]
        rows = ["t user", *[f"t call {c}" for c in calls], *[f"t result {c}" for c in reversed(calls)]]
        log = written(*rows)
        view = start_view(SESSION)
        seen = list[int]()
        for event in log.events:
            view = view.advanced(session_log([event]))
            seen.append(len(view.running().unwrap().current))

        assert [1] * 120 + [121] == seen


class TestQuarantineP14:
    """P14. With `damaged_turns` set to quarantine a turn that breaks P4, or P6, or P5 with its terminal or
    while another turn follows, is left out whole: its state says so, it has no groups, each of its events is
    omitted as quarantined, and no id that it used counts as used but its own. All other rules fail as
    before, also P5 in a last turn that has no terminal and may go on.
    """

    @given(some.mutated_logs(max_faults=4) | some.arbitrary_logs(max_size=9), st.booleans())
    def test_the_naive_model_agrees(self, log: SessionLog, legacy: bool) -> None:
        """The same projection or the same failure."""
        config = PLAIN_CONFIGS[2 + legacy]
        expected = model_outcome_of(SESSION, log, config)

        assert plain_text(expected) == plain_text(plain_outcome_of(SESSION, log, config))

    @given(some.legal_events(), st.data())
    def test_the_other_turns_are_as_they_were(
        self, events: tuple[SessionEvent, ...], data: st.DataObject
    ) -> None:
        """One bad event takes one turn, and nothing else changes."""
        assume(events)
        at = data.draw(st.integers(0, len(events) - 1))
        turn_id = events[at].turn_id
        orphan = written("t result nowhere").events[0]
        bad = attrs.evolve(orphan, turn_id=turn_id, event_id=EventId("orphan"), seq=at)
        moved = [attrs.evolve(event, seq=event.seq + 1) for event in events[at:]]
        log = session_log([*events[:at], bad, *moved])
        whole, found = project(SESSION, log, QUARANTINE).unwrap(), start_view(SESSION, QUARANTINE)
        sound = [event for event in log.events if event.turn_id != turn_id]
        rest = project(SESSION, session_log(some.renumbered(sound)), QUARANTINE).unwrap()

        assert [turn_id] == [t.turn_id for t in whole.turns if t.state is ProjectedState.QUARANTINED]
        assert [t.state for t in rest.turns] == [t.state for t in whole.turns if t.turn_id != turn_id]
        assert [(g.turn_id, g.source_events) for g in rest.groups] == [
            (g.turn_id, g.source_events) for g in whole.groups
        ]
        assert [e.event_id for e in log.events if e.turn_id == turn_id] == [
            o.event_id for o in whole.omitted if o.reason is OmissionReason.QUARANTINED
        ]
        same(Success(whole), found.advanced(log))

    @given(some.legal_logs())
    def test_a_sound_log_is_the_same(self, log: SessionLog) -> None:
        """Whether damaged turns would be left out or not."""
        expected = attrs.evolve(project(SESSION, log).unwrap(), config=QUARANTINE)

        assert expected == project(SESSION, log, QUARANTINE).unwrap()

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            (("t user", "t call c"), "Unconfirmed"),
            (("t user", "t call c", "t cancelled"), "quarantined"),
            (("t user", "t call c", "t reply r", "t completed"), "quarantined"),
            (("t user", "t call c", "t reply r"), "Unconfirmed"),
            (("t user", "t call c", "t error", "u user", "u call c", "u error"), "quarantined quarantined"),
            (("t user", "t call c", "t completed"), "quarantined"),
            (("t user", "t completed"), "quarantined"),
            (("t user", "t user"), "quarantined"),
            (("t user", "t error", "t error"), "quarantined"),
            (("t user", "t call c", "u user"), "quarantined open"),
            (("t user", "u user"), "quarantined open"),
            (("t user", "t user", "u user", "t note"), "Malformed"),
        ],
    )
    def test_which_turns_it_takes(self, rows: tuple[str, ...], expected: str) -> None:
        """A last turn without its end may go on, one with its end may not; any turn uses its turn id."""
        outcome = project(SESSION, written(*rows), QUARANTINE)
        if isinstance(outcome, Failure):
            said = type(outcome.failure()).__name__
        else:
            said = " ".join(turn.state.value for turn in outcome.unwrap().turns)

        assert expected == said
        same(outcome, start_view(SESSION, QUARANTINE).advanced(written(*rows)))

    @given(some.mutated_logs(max_faults=3) | some.arbitrary_logs(max_size=9), st.booleans())
    def test_what_it_says_of_a_closed_last_turn_stands(self, log: SessionLog, legacy: bool) -> None:
        """Another turn behind a turn that has its terminal changes nothing of what was said before."""
        config = PLAIN_CONFIGS[2 + legacy]
        (begun,) = written("then user").events
        ends = [e.seq + 1 for e in log.events if isinstance(e.kind, r.DoneEvent | r.ErrorEvent)]
        for before in [log.events[:end] for end in ends]:
            user = attrs.evolve(begun, event_id=EventId("then"), seq=len(before))
            now = project(SESSION, session_log(before), config)
            then = project(SESSION, session_log([*before, user]), config)

            assert isinstance(now, Success) == isinstance(then, Success)
            if isinstance(now, Success):
                assert list(now.unwrap().turns) == list(then.unwrap().turns)[:-1]
                assert list(now.unwrap().omitted) == list(then.unwrap().omitted)

    def test_its_message_id_is_free(self) -> None:
        """A reply that is left out has taken no id from the replies that stand."""
        rows = ("t user", "t reply r", "t user", "u user", "u reply r", "u completed", "v user", "v reply r")
        log = written(*rows, "v completed")
        states = [turn.state.value for turn in project(SESSION, log, QUARANTINE).unwrap().turns]

        assert ["quarantined", "completed", "quarantined"] == states

    def test_nothing_of_it_is_sent(self) -> None:
        """It has no groups, no terminal and no sources, and lacks no reply."""
        turn, _ = project(SESSION, written("t user", "t completed", "u user"), QUARANTINE).unwrap().turns

        assert ((), None, (), False) == (
            turn.groups,
            turn.terminal_event,
            turn.sources.source_events,
            turn.missing_complete_reply,
        )

    def test_a_turn_is_final_only_when_the_next_one_begins(self) -> None:
        """Until then an event behind its end may still damage it."""
        log = written("t user", "t reply r", "t completed", "t note", "u user")
        after = advance(initial_state(SESSION, QUARANTINE), session_log(log.events[:3]))
        damaged = advance(after.state, session_log(log.events[3:]))

        assert ((), ()) == (after.turns, after.groups)
        assert [ProjectedState.QUARANTINED] == [turn.state for turn in damaged.turns]
        assert 4 == len(damaged.omitted)
