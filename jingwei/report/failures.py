"""Every way a build fails (rules B2 to B8). From the first count on, each carries the report so far."""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.items.failures import InvalidItem
from jingwei.limits import LimitExceeded
from jingwei.messages.failures import ShapeFailure
from jingwei.report.records import BuildReport
from jingwei.results.failures import ViewContradiction
from jingwei.selection.records import InvalidPlan


@final
class InvalidInputReason(enum.Enum):
    """What is wrong with the inputs of a build, in the order of B2."""

    ZERO_LIMIT = "zero_limit"
    ZERO_WINDOW = "zero_window"
    ZERO_OUTPUT_RESERVE = "zero_output_reserve"
    BLANK_MODEL = "blank_model"
    BLANK_TEMPLATE_REVISION = "blank_template_revision"
    UNSUPPORTED_PROJECTION_VERSION = "unsupported_projection_version"
    CURRENT_EMPTY = "current_empty"
    CURRENT_NOT_USER_FIRST = "current_not_user_first"
    CURRENT_HAS_SYSTEM = "current_has_system"
    BLANK_TURN_ID = "blank_turn_id"
    DUPLICATE_TURN = "duplicate_turn"
    OPEN_TURN = "open_turn"
    DUPLICATE_PIN = "duplicate_pin"
    UNKNOWN_PIN = "unknown_pin"
    QUARANTINED_PIN = "quarantined_pin"
    UNKNOWN_GROUP_TURN = "unknown_group_turn"
    GROUP_OUT_OF_ORDER = "group_out_of_order"
    GROUP_WITHOUT_SOURCES = "group_without_sources"
    GROUP_SHAPE = "group_shape"
    SUMMARY_OF_ANOTHER_SESSION = "summary_of_another_session"
    SUMMARY_NOT_ACTIVE = "summary_not_active"
    SUMMARY_OF_UNKNOWN_TURN = "summary_of_unknown_turn"
    ZERO_COUNT = "zero_count"


@final
@attrs.frozen(kw_only=True)
class InvalidInput:
    """Inputs that no budget could make right (B2), or a count of nothing (B4).

    Attributes:
        reason: the check.
        path: JSON Pointer into the inputs, in the words of the `build` op of docs/batch.md.
        report: None before the first count.
    """

    reason: InvalidInputReason
    path: str | None
    report: BuildReport | None = None


@final
class UnverifiedReason(enum.Enum):
    """Which evidence is missing (B2, B4)."""

    OUTPUT_EVIDENCE = "output_evidence"
    EVIDENCE = "evidence"
    TARGET = "target"
    BLANK_METHOD = "blank_method"


@final
@attrs.frozen(kw_only=True)
class UnverifiedCount:
    """A count that says nothing about this target, or not enough for a hard budget (B2, B4)."""

    reason: UnverifiedReason
    report: BuildReport | None = None


@final
@attrs.frozen(kw_only=True)
class ShapeInvalid:
    """Messages or constraint are malformed (M3), before anything could be trimmed away (B2).

    Attributes:
        error: the rule; an index counts from the start of the untrimmed request, or of `current`
            where that alone is malformed.
    """

    error: ShapeFailure


@final
@attrs.frozen(kw_only=True)
class CounterFailed:
    """The counter refused (B4)."""

    reason: str
    report: BuildReport | None


@final
class OverflowWhat(enum.Enum):
    """Which sum leaves [0, 2^64) (C1)."""

    WINDOW = "window"
    RESERVED = "reserved"
    COUNT = "count"
    TOTAL = "total"


@final
@attrs.frozen(kw_only=True)
class Overflow:
    """A number of tokens, or a sum of them, leaves [0, 2^64) (C1)."""

    what: OverflowWhat
    report: BuildReport | None = None


@final
@attrs.frozen(kw_only=True)
class DoesNotFit:
    """What must stay exceeds the budget by itself (B5).

    Attributes:
        exhaustive: True when no candidate of the plan fits; False where a search over a counter that
            is not additive has skipped some.
        report: ends with the candidate that keeps the least.
    """

    exhaustive: bool
    report: BuildReport


@final
@attrs.frozen(kw_only=True)
class CountLimit:
    """The counts were used up before the search had closed (B5), even if a candidate had fitted."""

    limit: int
    report: BuildReport


@final
@attrs.frozen(kw_only=True)
class SurvivalBroken:
    """Required content does not stand in the request: a bug of this library, said as data (B8).

    Attributes:
        missing: what is missing, as pointers: `/system/0`, `/pinned_turns/t3`, `/current/1`.
    """

    missing: tuple[str, ...]
    report: BuildReport


BuildFailure: TypeAlias = (
    InvalidInput
    | InvalidItem
    | ViewContradiction
    | UnverifiedCount
    | LimitExceeded
    | ShapeInvalid
    | Overflow
    | InvalidPlan
    | CounterFailed
    | DoesNotFit
    | CountLimit
    | SurvivalBroken
)
"""Every way a build fails."""
