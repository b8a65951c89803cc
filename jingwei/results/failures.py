"""Why there is no policy, no view, or no recorded view (rules T2, T3, T7)."""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.ids import EventId, TurnId


@final
class ResultPolicyProblem(enum.Enum):
    """What the sizes of a policy may not be (T3)."""

    ZERO_INLINE = "zero_inline"
    NEGATIVE_PREVIEW = "negative_preview"
    PREVIEW_OVER_INLINE = "preview_over_inline"
    INLINE_OVER_SHOWN = "inline_over_shown"


@final
@attrs.frozen(kw_only=True)
class InvalidResultPolicy:
    """A policy that could not be followed; found before any tool runs.

    Attributes:
        problem: the check.
        actual: the size that is wrong.
        bound: what it must not be below, for the first two problems, or above, for the others.
    """

    problem: ResultPolicyProblem
    actual: int
    bound: int


@final
class InvalidResultReason(enum.Enum):
    """What no recorded result is (L2, P4, W6)."""

    BLANK_SOURCE = "blank_source"
    BLANK_NAME = "blank_name"
    SEQ_OUT_OF_RANGE = "seq_out_of_range"
    LONE_SURROGATE = "lone_surrogate"


@final
@attrs.frozen(kw_only=True)
class InvalidResult:
    """A result that no log can hold has no view.

    Attributes:
        reason: the check.
        field: what it was about.
    """

    reason: InvalidResultReason
    field: str


@final
@attrs.frozen(kw_only=True)
class ReferenceMismatch:
    """A store returned a reference to something else than what was to be stored.

    Attributes:
        expected_source: the event of the view.
        actual_source: that of the reference.
        expected_bytes: UTF-8 bytes of the whole text.
        actual_bytes: those of the reference.
    """

    expected_source: EventId
    actual_source: EventId
    expected_bytes: int
    actual_bytes: int


@final
@attrs.frozen(kw_only=True)
class MalformedView:
    """A recorded view that this library did not write.

    Attributes:
        event_id: the event that records it.
        path: JSON Pointer of the place in its payload.
        expected: what would have been right there.
        actual: what was met, shortened.
    """

    event_id: EventId
    path: str
    expected: str
    actual: str


@final
@attrs.frozen(kw_only=True)
class ConflictingViews:
    """Two different views are recorded for one result: what was shown can not be known.

    Attributes:
        source_event: the event of the result that the second one names.
        first_event: the event that records the first one; None where the host added it.
        second_event: the event that records the other; None likewise.
    """

    source_event: EventId
    first_event: EventId | None
    second_event: EventId | None


RecordedViewFailure: TypeAlias = MalformedView | ConflictingViews
"""Every way in which the recorded views of a log cannot be read; the first one in the log is told."""


@final
class ContradictionReason(enum.Enum):
    """In what a recorded view differs from the result that it names."""

    SOURCE_EVENT = "source_event"
    CALL = "call"
    NAME = "name"
    OUTCOME = "outcome"
    TOTAL_BYTES = "total_bytes"
    TEXT = "text"


@final
@attrs.frozen(kw_only=True)
class ViewContradiction:
    """A recorded view says something else than the log: it would change what happened (T2).

    Attributes:
        turn_id: the turn; None for the running one.
        source_event: the event of the result that the view names.
        recorded_by: the event that records the view; None where the host added it.
        reason: in what they differ.
    """

    turn_id: TurnId | None
    source_event: EventId
    recorded_by: EventId | None
    reason: ContradictionReason
