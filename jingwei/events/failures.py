"""Why a log is not a log of its session: physical order and identity (rule L1)."""

from typing import TypeAlias, final

import attrs

from jingwei.ids import EventId, SessionId


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
