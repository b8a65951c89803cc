"""Why a text is not condensed (rules T2, R4)."""

import enum
from typing import TypeAlias, final

import attrs


@final
@attrs.frozen(kw_only=True)
class NotThisKind:
    """The text is not of the kind that the condenser reads.

    Attributes:
        kind: that kind.
        line: the line, from 1, at which this was seen.
    """

    kind: str
    line: int


@final
@attrs.frozen(kw_only=True)
class NotSmaller:
    """The condensed text as the model sees it would not be smaller than the original (R4).

    Attributes:
        before: UTF-8 bytes of the original.
        after: UTF-8 bytes of the condensed text.
    """

    before: int
    after: int


@final
@attrs.frozen(kw_only=True)
class AlreadyCondensed:
    """The text has the three levels of T2 already, or is a preview (R4).

    Attributes:
        total_bytes: its UTF-8 bytes.
    """

    total_bytes: int


@final
@attrs.frozen(kw_only=True)
class TextTooLarge:
    """The text has more bytes than the limits admit; nothing of it was read.

    Attributes:
        limit: `max_input_bytes`.
        actual: UTF-8 bytes of the text.
    """

    limit: int
    actual: int


@final
@attrs.frozen(kw_only=True)
class InvalidCondenseLimit:
    """A limit below 1.

    Attributes:
        what: the attribute of `CondenseLimits`.
        actual: what it is.
    """

    what: str
    actual: int


@final
class InvalidCondensationReason(enum.Enum):
    """What is wrong with what a condenser made (T2), in the order in which it is looked for."""

    BLANK_METHOD = "blank_method"
    WRONG_TOTAL = "wrong_total"
    NOT_TRUNCATED = "not_truncated"
    BLANK_SUMMARY = "blank_summary"
    SUMMARY_TOO_LONG = "summary_too_long"
    TOO_MANY_FACTS = "too_many_facts"
    BLANK_NAME = "blank_name"
    EMPTY_VALUE = "empty_value"
    VALUE_TOO_LONG = "value_too_long"
    INVALID_REPEATS = "invalid_repeats"
    RANGE_OUTSIDE = "range_outside"
    NOT_ON_BOUNDARY = "not_on_boundary"
    LINES_DISAGREE = "lines_disagree"
    OTHER_SOURCE = "other_source"
    VALUE_NOT_THERE = "value_not_there"
    REFERENCE_MISSING = "reference_missing"
    REFERENCE_REPEATED = "reference_repeated"
    RENDERED_TOO_LONG = "rendered_too_long"


@final
@attrs.frozen(kw_only=True)
class InvalidCondensation:
    """A condenser made something that is not true of the text, or not within the limits (T2).

    Attributes:
        method: what it called itself.
        reason: the first check that it did not pass.
        fact: index of the fact; None where the fault is in no fact.
        reference: index in `evidence_refs`; None where the fault is in none of them.
    """

    method: str
    reason: InvalidCondensationReason
    fact: int | None = None
    reference: int | None = None


CondenseFailure: TypeAlias = (
    NotThisKind | NotSmaller | AlreadyCondensed | TextTooLarge | InvalidCondenseLimit | InvalidCondensation
)
"""Every way in which a text stays as it is."""
