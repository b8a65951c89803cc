"""Why a log is not a log of its session (rule L1), and why an event is not written (rules L3, L4)."""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.codec import DecodeReason
from jingwei.events.turns import MalformedReason
from jingwei.ids import EventId, ModelCallId, SessionId, ToolCallId, TurnId


@final
@attrs.frozen(kw_only=True)
class WrongSession:
    """An event belongs to another session.

    Attributes:
        physical_index: where it stands, from 0.
        expected: the session asked for.
        actual: the event's own.
    """

    physical_index: int
    expected: SessionId
    actual: SessionId


@final
@attrs.frozen(kw_only=True)
class WrongSequence:
    """An event's `seq` is not its physical index: one is missing, doubled or moved."""

    physical_index: int
    expected: int
    actual: int


@final
@attrs.frozen(kw_only=True)
class DuplicateEventId:
    """An event id has been used by an earlier event."""

    physical_index: int
    event_id: EventId


LogFailure: TypeAlias = WrongSession | WrongSequence | DuplicateEventId
"""Every way in which L1 can fail. Nothing is sorted or repaired."""


@final
class WriteReason(enum.Enum):
    """Why an event is not written although the turn table has a row for it (L3)."""

    BLANK_SESSION_ID = "blank_session_id"
    REPEATED_EVENT_ID = "repeated_event_id"
    TURN_NOT_TERMINATED = "turn_not_terminated"
    OPEN_CALLS = "open_calls"
    MISSING_REPLY = "missing_reply"
    UNREADABLE = "unreadable"


@final
@attrs.frozen(kw_only=True)
class WriteRefused:
    """With this event the log could never project, or not even be read, whatever followed (L3).

    Attributes:
        rule: the number of the rule that the log would break, as `P4`.
        reason: what is wrong with the event; a `MalformedReason` for the rules P3 and P4.
        event_id: the event that was refused.
        seq: where it would have stood.
        turn_id: the turn that the rule speaks of: the event's own, or the one that is still open where
            the event would begin another.
        open_tool_calls: for P5, the tool calls of that turn without a result, in call order.
        open_model_calls: for P5, its model requests without a result, in order.
        unreadable: for W5, why no reader takes the event's line; else None.
        path: for W5, JSON Pointer of the value at fault inside the event; else None.
    """

    rule: str
    reason: MalformedReason | WriteReason
    event_id: EventId
    seq: int
    turn_id: TurnId
    open_tool_calls: tuple[ToolCallId, ...] = ()
    open_model_calls: tuple[ModelCallId, ...] = ()
    unreadable: DecodeReason | None = None
    path: str | None = None


WriteFailure: TypeAlias = LogFailure | WriteRefused
"""Every way in which a log cannot be taken up again, or closed: its order first, then event by event."""
