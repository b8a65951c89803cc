"""Why a log has no projection (rules P1 to P10), and why a foreign projection is none (B2)."""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.events.failures import LogFailure
from jingwei.events.turns import MalformedReason
from jingwei.ids import EventId, ModelCallId, ToolCallId, TurnId
from jingwei.limits import LimitExceeded


@final
class InvalidConfigReason(enum.Enum):
    """What the caller set wrong (P2)."""

    BLANK_SESSION_ID = "blank_session_id"
    ZERO_MAX_EVENTS = "zero_max_events"
    ZERO_MAX_INPUT_BYTES = "zero_max_input_bytes"
    ZERO_MAX_MESSAGES = "zero_max_messages"


@final
@attrs.frozen(kw_only=True)
class InvalidConfig:
    """A blank session id, or a limit of zero (or below)."""

    reason: InvalidConfigReason


@final
@attrs.frozen(kw_only=True)
class Malformed:
    """An event cannot stand where it stands (P3, P4).

    Attributes:
        event_id: the offending event.
        seq: its place in the log.
        turn_id: its turn.
        reason: the rule it breaks.
    """

    event_id: EventId
    seq: int
    turn_id: TurnId
    reason: MalformedReason


@final
@attrs.frozen(kw_only=True)
class Unconfirmed:
    """A turn holds work whose end is not recorded (P5); neither failure nor cancellation hides it.

    Attributes:
        turn_id: the turn.
        open_tool_calls: calls without a result, in call order: their side effects are unknown.
        open_model_calls: model requests without a result, in order.
        unterminated: True when the turn has no terminal event where it needs one.
    """

    turn_id: TurnId
    open_tool_calls: tuple[ToolCallId, ...]
    open_model_calls: tuple[ModelCallId, ...]
    unterminated: bool


@final
@attrs.frozen(kw_only=True)
class MissingReply:
    """A successful turn has no complete reply (P6); deltas are never promoted to one."""

    turn_id: TurnId


ProjectionFailure: TypeAlias = (
    InvalidConfig | LimitExceeded | LogFailure | Malformed | Unconfirmed | MissingReply
)
"""Every way in which a log has no projection, in the order of P2 and then turn by turn."""


@final
class AdmissionReason(enum.Enum):
    """Which history check of B2 a foreign projection fails."""

    UNSUPPORTED_PROJECTION_VERSION = "unsupported_projection_version"
    BLANK_TURN_ID = "blank_turn_id"
    DUPLICATE_TURN = "duplicate_turn"
    UNKNOWN_GROUP_TURN = "unknown_group_turn"
    GROUP_OUT_OF_ORDER = "group_out_of_order"
    GROUP_WITHOUT_SOURCES = "group_without_sources"
    GROUP_SHAPE = "group_shape"


@final
@attrs.frozen(kw_only=True)
class NotAdmitted:
    """A foreign projection is not one that any log projects to.

    Attributes:
        reason: the check.
        path: JSON Pointer of the place in the projection.
    """

    reason: AdmissionReason
    path: str
