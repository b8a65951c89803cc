"""Numbers that a host or a log may set to anything, against one small log (rules L1, L2, P2, P10, B2)."""

from typing import Final
from unittest.mock import patch

import attrs

from jingwei import codec
from jingwei.build import BuildInputs, _frame, _inputs_failure
from jingwei.events.failures import DuplicateEventId, LogFailure, WrongSequence, WrongSession
from jingwei.events.log import check_log
from jingwei.events.records import SessionLog
from jingwei.events.wire import log_bytes, session_log
from jingwei.ids import SessionId
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.records import TextConstraint, UserMessage
from jingwei.messages.wire import constraint_bytes, message_bytes
from jingwei.outcome import Failure, Success
from jingwei.projection.failures import InvalidConfig, InvalidConfigReason, ProjectionFailure
from jingwei.projection.project import project
from jingwei.projection.records import ProjectionConfig
from jingwei.report.failures import BuildFailure, InvalidInput, InvalidInputReason
from jingwei.request.records import BuildLimits, ContextBudget, ContextTarget
from jingwei.testing.strategies import SESSION, placed
from properties.build_models import history_of
from properties.models import step_of

THREE: Final = placed([("t", step_of("user")), ("t", step_of("reply", "r")), ("t", step_of("completed"))])
LOG: Final = session_log(
    placed(
        [
            ("t", step_of("user")),
            ("t", step_of("call", "c")),
            ("t", step_of("result", "c")),
            ("t", step_of("reply", "r")),
            ("t", step_of("completed")),
            ("u", step_of("user")),
        ]
    )
)
"""Two turns: a user message, an exchange of two messages, a reply; and a user message."""

BYTES: Final = log_bytes(LOG)
HISTORY: Final = history_of("ff")
INPUTS: Final = BuildInputs(
    current=(UserMessage(content="u"),),
    system=("s",),
    target=ContextTarget(model="m", template_revision="r"),
    budget=ContextBudget(window_tokens=9, output_reserve=1),
)


# --- the log --------------------------------------------------------------------------------------


def the_first_event_out_of_place_is_told(seqs: tuple[int, int, int], stranger: int, twin: bool) -> None:
    """Of three events with any numbers, one perhaps of another session, and the last perhaps with the id of
    the first: event by event, the session before the number before the id."""
    assert -1 <= stranger <= 2

    events = [attrs.evolve(event, seq=seq) for event, seq in zip(THREE, seqs, strict=True)]
    if stranger >= 0:
        events[stranger] = attrs.evolve(events[stranger], session_id=SessionId("other"))
    if twin:
        events[2] = attrs.evolve(events[2], event_id=THREE[0].event_id)

    expected: LogFailure | None = None
    for index, seq in reversed(list(enumerate(seqs))):
        if stranger == index:
            expected = WrongSession(physical_index=index, expected=SESSION, actual=SessionId("other"))
        elif seq != index:
            expected = WrongSequence(physical_index=index, expected=index, actual=seq)
        elif index == 2 and twin:
            expected = DuplicateEventId(physical_index=2, event_id=THREE[0].event_id)
    outcome = check_log(SESSION, SessionLog(events=tuple(events), bytes_at_most=0))

    assert (outcome.failure() if isinstance(outcome, Failure) else None) == expected


def a_number_is_read_exactly_in_its_range(value: int) -> None:
    """From 0 up to 2^64, which is refused; what is read is the number itself. How a refused number is shown
    is left out: that has as many paths as it has digits."""
    assert isinstance(value, int)

    with patch.object(codec, "_shown", lambda shown: ""):
        try:
            read = codec._read_unsigned(value, int)
        except codec._Refused:
            assert value < 0 or value >= 2**64
        else:
            assert 0 <= value < 2**64
            assert read == value


# --- the bounds of a projection -------------------------------------------------------------------


def a_bound_of_a_projection_may_be_met(max_events: int, max_input_bytes: int, max_messages: int) -> None:
    """Whatever the three bounds: zero or below is refused, what equals its bound is allowed, and the first
    that is passed is told, with what was met."""
    assert isinstance(max_events, int)

    config = ProjectionConfig(
        max_events=max_events, max_input_bytes=max_input_bytes, max_messages=max_messages
    )
    expected: ProjectionFailure | None = None
    if max_events <= 0:
        expected = InvalidConfig(reason=InvalidConfigReason.ZERO_MAX_EVENTS)
    elif max_input_bytes <= 0:
        expected = InvalidConfig(reason=InvalidConfigReason.ZERO_MAX_INPUT_BYTES)
    elif max_messages <= 0:
        expected = InvalidConfig(reason=InvalidConfigReason.ZERO_MAX_MESSAGES)
    elif max_events < 6:
        expected = LimitExceeded(what=Bound.EVENTS, limit=max_events, actual=6)
    elif max_input_bytes < BYTES:
        expected = LimitExceeded(what=Bound.INPUT_BYTES, limit=max_input_bytes, actual=BYTES)
    elif max_messages < 5:
        # Groups are added whole: one message, then two, then one, then one.
        met = 1 if max_messages < 1 else 3 if max_messages < 3 else 4 if max_messages < 4 else 5
        expected = LimitExceeded(what=Bound.MESSAGES, limit=max_messages, actual=met)

    outcome = project(SESSION, LOG, config)

    match outcome:
        case Success(projection):
            assert expected is None
            assert projection.message_count == 5
        case Failure(failure):
            assert failure == expected


# --- the limits of a build ------------------------------------------------------------------------


def a_limit_of_a_build_may_be_met(limits: BuildLimits) -> None:
    """Whatever the five limits: zero or below is refused, what equals its limit is allowed, and the first
    that is passed is told, with what was met."""
    assert isinstance(limits.max_turns, int)

    size = HISTORY.canonical_bytes + constraint_bytes(TextConstraint())
    size += message_bytes(UserMessage(content="u")) + len('{"role":"system","content":"s"}')
    expected: BuildFailure | None = None
    low = [name for name in _LIMITS if getattr(limits, name) <= 0]
    if low:
        expected = InvalidInput(reason=InvalidInputReason.ZERO_LIMIT, path=f"/limits/{low[0]}")
    elif limits.max_groups < HISTORY.group_count:
        actual = HISTORY.group_count
        expected = LimitExceeded(what=Bound.GROUPS, limit=limits.max_groups, actual=actual)
    elif limits.max_turns < 2:
        expected = LimitExceeded(what=Bound.TURNS, limit=limits.max_turns, actual=2)
    elif limits.max_input_bytes < size:
        expected = LimitExceeded(what=Bound.INPUT_BYTES, limit=limits.max_input_bytes, actual=size)
    elif limits.max_messages < HISTORY.message_count + 2:
        actual = HISTORY.message_count + 2
        expected = LimitExceeded(what=Bound.MESSAGES, limit=limits.max_messages, actual=actual)

    inputs = attrs.evolve(INPUTS, limits=limits)
    assert _inputs_failure(HISTORY, inputs, _frame(inputs)) == expected


_LIMITS: Final = ("max_input_bytes", "max_groups", "max_turns", "max_messages", "max_count_calls")
