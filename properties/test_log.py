"""The physical log (L1, L2): one session, in order, each event once."""

import attrs
from hypothesis import assume, given
from hypothesis import strategies as st

from jingwei.codec import DecodeReason
from jingwei.events.failures import DuplicateEventId, WrongSequence, WrongSession
from jingwei.events.log import check_log
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.wire import decode_log, encode_log, session_log
from jingwei.ids import SessionId
from jingwei.outcome import Failure
from jingwei.testing import strategies as some
from jingwei.testing.strategies import SESSION
from properties.models import model_check, plain_event, plain_failure, plain_text


class TestPhysicalOrderL1:
    """L1. Each event must belong to the session asked for, stand at the index that its `seq` says, and have
    an id that no earlier event has. They are asked in this order, event by event, and the first violation
    is the answer. Nothing is sorted or repaired. A log without events is valid.
    """

    @given(some.logs())
    def test_the_naive_check_agrees(self, log: SessionLog) -> None:
        """The same violation, fact for fact, or none."""
        expected = model_check(SESSION, [plain_event(event) for event in log.events])
        outcome = check_log(SESSION, log)
        if isinstance(outcome, Failure):
            assert expected == plain_failure(outcome.failure())
        else:
            assert expected is None
            assert (SESSION, log.events) == (outcome.unwrap().session_id, outcome.unwrap().events)

    def test_no_event_is_no_violation(self) -> None:
        """An empty log belongs to any session, also to one with a blank name, which P2 refuses later."""
        for session_id in (SESSION, SessionId("")):
            assert () == check_log(session_id, session_log([])).unwrap().events

    @given(some.legal_events(), st.data())
    def test_session_before_sequence_before_identity(
        self, events: tuple[SessionEvent, ...], data: st.DataObject
    ) -> None:
        """An event that breaks all three is told as the first; mended one by one, as the next."""
        assume(len(events) > 1)
        index = data.draw(st.integers(1, len(events) - 1))
        twin = attrs.evolve(events[index], event_id=events[index - 1].event_id)
        late = attrs.evolve(twin, seq=index + 1)
        foreign = attrs.evolve(late, session_id=SessionId("other"))

        def failure(event: SessionEvent) -> object:
            return check_log(SESSION, session_log([*events[:index], event])).failure()

        assert WrongSession(physical_index=index, expected=SESSION, actual=SessionId("other")) == failure(
            foreign
        )
        assert WrongSequence(physical_index=index, expected=index, actual=index + 1) == failure(late)
        assert DuplicateEventId(physical_index=index, event_id=twin.event_id) == failure(twin)

    @given(some.legal_events(), st.data())
    def test_no_id_recurs_however_far(self, events: tuple[SessionEvent, ...], data: st.DataObject) -> None:
        """The second event with an id is refused, wherever the first stands."""
        assume(len(events) > 1)
        first, second = sorted(
            data.draw(st.lists(st.integers(0, len(events) - 1), min_size=2, max_size=2, unique=True))
        )
        twin = attrs.evolve(events[second], event_id=events[first].event_id)
        failure = check_log(SESSION, session_log([*events[:second], twin, *events[second + 1 :]])).failure()

        assert DuplicateEventId(physical_index=second, event_id=twin.event_id) == failure

    @given(some.legal_events(), st.data())
    def test_no_other_order_is_accepted(self, events: tuple[SessionEvent, ...], data: st.DataObject) -> None:
        """A log in any other order is refused: it is not sorted."""
        shuffled = data.draw(st.permutations(events))
        outcome = check_log(SESSION, session_log(shuffled))

        assert (tuple(shuffled) != events) == isinstance(outcome, Failure)

    @given(some.legal_events(), st.data())
    def test_a_gap_is_told_at_the_first_event_after_it(
        self, events: tuple[SessionEvent, ...], data: st.DataObject
    ) -> None:
        """A lost event shows in the next one, unless it was the last."""
        assume(len(events) > 1)
        index = data.draw(st.integers(0, len(events) - 2))
        failure = check_log(SESSION, session_log([*events[:index], *events[index + 1 :]])).failure()

        assert WrongSequence(physical_index=index, expected=index, actual=index + 1) == failure


class TestSequenceNumbersL2:
    """L2. `seq` is a whole number from 0 up to, not including, 2^64; anything else is no event."""

    @given(some.events(), some.sizes())
    def test_every_number_of_the_range_is_read(self, event: SessionEvent, seq: int) -> None:
        """Decoding takes it and keeps it, wherever the event stands."""
        placed = attrs.evolve(event, seq=seq)

        assert (placed,) == decode_log(encode_log([placed]).unwrap()).unwrap().events

    @given(some.events(), st.integers(max_value=-1) | st.integers(min_value=2**64))
    def test_no_number_outside_is_read(self, event: SessionEvent, seq: int) -> None:
        """Out of range, at `/seq`."""
        line = plain_text({**plain_event(event), "seq": seq}).encode() + b"\n"
        failure = decode_log(line).failure()

        assert (DecodeReason.OUT_OF_RANGE, "/seq", 1) == (failure.reason, failure.path, failure.line)

    @given(some.events(), st.sampled_from((0.0, 1.0, "0", True, False, None, [], -0.0)))
    def test_what_only_looks_like_a_number_is_refused(self, event: SessionEvent, seq: object) -> None:
        """`1.0`, `"0"` and `true` are not integers."""
        line = plain_text({**plain_event(event), "seq": seq}).encode() + b"\n"

        assert DecodeReason.WRONG_TYPE is decode_log(line).failure().reason
