"""Every way in which a summary is not planned, not asked for, or not believed (rule S8)."""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.codec import DecodeFailed
from jingwei.events.failures import LogFailure
from jingwei.ids import EventId, SummaryId, TurnId


@final
class SourcesReason(enum.Enum):
    """Why a projection does not speak of a log."""

    LOG_TOO_SHORT = "log_too_short"
    OTHER_TAIL = "other_tail"
    OTHER_TURNS = "other_turns"


@final
@attrs.frozen(kw_only=True)
class SourcesRefused:
    """A projection and a log do not belong together.

    Attributes:
        reason: the check.
        expected: what the projection says.
        actual: what the log says.
    """

    reason: SourcesReason
    expected: str
    actual: str


@final
class SummaryPlanReason(enum.Enum):
    """What is wrong with what was asked for, in the order of the checks."""

    BLANK_MODEL = "blank_model"
    BLANK_TEMPLATE_REVISION = "blank_template_revision"
    INVALID_BUDGET = "invalid_budget"
    UNVERIFIED_OUTPUT = "unverified_output"
    NEGATIVE_KEEP_NEWEST = "negative_keep_newest"
    UNKNOWN_PIN = "unknown_pin"
    OTHER_SESSION = "other_session"
    NOT_ACTIVE = "not_active"
    CONSTRAINT_NOT_SHARED = "constraint_not_shared"
    TURN_NOT_SHOWN = "turn_not_shown"


@final
@attrs.frozen(kw_only=True)
class SummaryPlanRefused:
    """Nothing can be planned, or asked, that way.

    Attributes:
        reason: the check.
        subject: the turn, the summary or the attribute that it is about.
    """

    reason: SummaryPlanReason
    subject: str


@final
class NotCountedReason(enum.Enum):
    """Why a count says nothing about a request (C1, B4)."""

    REFUSED = "refused"
    OTHER_TARGET = "other_target"
    BLANK_METHOD = "blank_method"
    UNVERIFIED = "unverified"
    ZERO = "zero"
    OVERFLOW = "overflow"


@final
@attrs.frozen(kw_only=True)
class ChunkNotCounted:
    """The summariser's counter says nothing about a request, so that nobody knows whether it fits.

    Attributes:
        reason: what is wrong with the count.
        first_turn: the first turn of the request.
        last_turn: the last one.
        detail: the counter's own words where it refused; else empty.
    """

    reason: NotCountedReason
    first_turn: TurnId
    last_turn: TurnId
    detail: str


@final
@attrs.frozen(kw_only=True)
class TurnTooLarge:
    """One turn alone is more than the summariser can read; a turn is never split (S8).

    Attributes:
        turn_id: which.
        tokens: the full count of the request for it alone.
        available: what the budget leaves for a request; perhaps below zero.
    """

    turn_id: TurnId
    tokens: int
    available: int


@final
class SummarySetReason(enum.Enum):
    """Why summaries cannot all be of one session's history, in the order of the checks."""

    REPEATED_ID = "repeated_id"
    SEVERAL_SESSIONS = "several_sessions"
    CYCLE = "cycle"
    WRONG_VERSION = "wrong_version"


@final
@attrs.frozen(kw_only=True)
class SummarySetBroken:
    """Summaries contradict each other, so that nobody knows which of them stand (S8).

    Attributes:
        reason: the check.
        summary_ids: the summaries at fault, sorted by id.
    """

    reason: SummarySetReason
    summary_ids: tuple[SummaryId, ...]


@final
class SummaryReason(enum.Enum):
    """Why a summary may not stand for its turns, in the order of the checks (S8)."""

    OTHER_SESSION = "other_session"
    UNSUPPORTED_FORMAT = "unsupported_format"
    BLANK_ID = "blank_id"
    LONE_SURROGATE = "lone_surrogate"
    EMPTY = "empty"
    EMPTY_RANGE = "empty_range"
    REVERSED_RANGE = "reversed_range"
    RANGE_NOT_IN_LOG = "range_not_in_log"
    OTHER_TAIL = "other_tail"
    SPLIT_TURN = "split_turn"
    TURN_NOT_CLOSED = "turn_not_closed"
    OTHER_TURNS = "other_turns"
    REPEATED_ID = "repeated_id"
    CYCLE = "cycle"
    ALREADY_SUPERSEDED = "already_superseded"
    REPEATED_SUPERSEDED = "repeated_superseded"
    UNKNOWN_SUPERSEDED = "unknown_superseded"
    INACTIVE_SUPERSEDED = "inactive_superseded"
    WRONG_VERSION = "wrong_version"
    OVERLAP = "overlap"
    BLANK_STATEMENT = "blank_statement"
    NO_SOURCE = "no_source"
    SOURCE_OUTSIDE_RANGE = "source_outside_range"
    HYPOTHESIS_AS_FACT = "hypothesis_as_fact"
    PROTECTED_MISSING = "protected_missing"
    NOT_SMALLER = "not_smaller"


@final
@attrs.frozen(kw_only=True)
class SummaryRefused:
    """A summary that may not stand for its turns; the turns stand as they did (S8).

    Attributes:
        reason: the check.
        path: JSON Pointer into the summary.
        expected: what would have been right, shortened.
        actual: what was met, shortened.
    """

    reason: SummaryReason
    path: str
    expected: str
    actual: str


@final
@attrs.frozen(kw_only=True)
class MalformedSummary:
    """An event that says it holds a summary, and does not.

    Attributes:
        event_id: the event.
        seq: its place.
        problem: what is wrong with its payload; `path` counts from the payload.
    """

    event_id: EventId
    seq: int
    problem: DecodeFailed


SummaryFailure: TypeAlias = (
    LogFailure
    | SourcesRefused
    | SummaryPlanRefused
    | ChunkNotCounted
    | TurnTooLarge
    | SummarySetBroken
    | SummaryRefused
)
"""Every way in which summaries fail."""
