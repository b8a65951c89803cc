"""Every bound of the library, in one place, each with its reason.

A limit is inclusive: a value that equals it is allowed (rule P2).
"""

import enum
from typing import Final, final

import attrs

TOKENS_BOUND: Final = 2**64
"""Token numbers and sizes live in [0, TOKENS_BOUND): hosts in other languages hold them in 64 bits (C1)."""

JSON_DEPTH_MAX: Final = 128
"""Containers inside each other, the event object being depth 1 (W6): the depth at which serde, the
writer of the logs that the seeds describe, stops reading too."""

FREE_JSON_LEVELS: Final = JSON_DEPTH_MAX - 16
"""Levels of free JSON that fit into every record and document: none puts it deeper than 16 levels down."""

INTEGER_DIGITS_MAX: Final = 4300
"""Digits of one integer (W6): CPython's own default, held whatever the running interpreter is set to."""

EVENTS_MAX: Final = 100_000
"""Events of one log (P1)."""

PROJECTION_INPUT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Canonical bytes of all events of one log, audit payloads included (P1)."""

PROJECTION_MESSAGES_MAX: Final = 50_000
"""Messages that one projection may emit (P1)."""

BUILD_INPUT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Canonical bytes of history, system, current and constraint together (B1)."""

BUILD_GROUPS_MAX: Final = 4096
"""Groups of one history (B1)."""

BUILD_TURNS_MAX: Final = 4096
"""Turns of one history (B1)."""

BUILD_MESSAGES_MAX: Final = 8192
"""Messages of history, system and current together (B1)."""

COUNT_CALLS_MAX: Final = 128
"""Full counts of one build (B1): a bisecting search over 4096 steps needs at most 27."""

assert COUNT_CALLS_MAX >= 3 + 2 * (BUILD_TURNS_MAX - 1).bit_length()


PREVIEW_INLINE_BYTES: Final = 4096
"""UTF-8 bytes up to which a tool result always stands in full (T3): about a thousand tokens."""

PREVIEW_BYTES: Final = 512
"""UTF-8 bytes of a preview (T3): enough to see what a result was about."""

assert PREVIEW_BYTES <= PREVIEW_INLINE_BYTES


@final
class Bound(enum.Enum):
    """What a limit limits; the value is its name on the wire."""

    EVENTS = "events"
    INPUT_BYTES = "input_bytes"
    MESSAGES = "messages"
    GROUPS = "groups"
    TURNS = "turns"


@final
@attrs.frozen(kw_only=True)
class LimitExceeded:
    """Something is larger than the host allows (P2, P10, B2); nothing was cut to make it fit.

    Attributes:
        what: which bound.
        limit: the configured value, itself still allowed.
        actual: the value met, in the unit of the bound; for messages the running total at which
            the bound was first passed.
    """

    what: Bound
    limit: int
    actual: int
