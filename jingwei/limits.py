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

RESULT_SHOWN_BYTES_MAX: Final = 16_384
"""UTF-8 bytes of a result's text that a view shows at most, whatever was chosen (T3): room for a condensed
text that says more than a preview."""

assert PREVIEW_INLINE_BYTES <= RESULT_SHOWN_BYTES_MAX

RESULT_CODE_BYTES_MAX: Final = 256
"""UTF-8 bytes of a failure's code that a view shows (T2): a code is a word, and no other bound holds it."""

TOOLS_AUTHORISED_MAX: Final = 1024
"""Tools that a host may allow in one step (T1)."""

TOOLS_VISIBLE_MAX: Final = 64
"""Tools that a model may be shown in one step (T1): with more, models choose badly."""

TOOL_BYTES_MAX: Final = 4 * 1024 * 1024
"""Canonical bytes of all allowed definitions together (T1): four kilobytes for each that there may be."""

assert TOOLS_VISIBLE_MAX <= TOOLS_AUTHORISED_MAX

CONDENSE_INPUT_BYTES_MAX: Final = BUILD_INPUT_BYTES_MAX
"""UTF-8 bytes of a text that is condensed (T2): no larger one could stand in a request."""

CONDENSE_RENDERED_BYTES_MAX: Final = PREVIEW_INLINE_BYTES
"""UTF-8 bytes of a condensed text (T2): what always stands in full, so that it is never condensed again."""

CONDENSE_SUMMARY_BYTES_MAX: Final = 2048
"""UTF-8 bytes of a summary of one text (T2): half of it all, the facts need the rest."""

CONDENSE_FACTS_MAX: Final = 32
"""Facts of one condensed text (T2): more than anybody looks through."""

CONDENSE_VALUE_BYTES_MAX: Final = 256
"""UTF-8 bytes of one fact (T2): a long line."""

assert CONDENSE_SUMMARY_BYTES_MAX + CONDENSE_VALUE_BYTES_MAX < CONDENSE_RENDERED_BYTES_MAX

ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
"""UTF-8 bytes that the answer of one step may have (T6, W4): far beyond any output reserve."""

SCHEMA_VIOLATIONS_MAX: Final = 16
"""Violations of a schema that one failure lists (T6): enough to correct a call by, and no second prompt."""

SCHEMA_WORDS_MAX: Final = 200
"""Characters of what a schema asked for in one violation (T6)."""

OUTPUT_TOKENS_BOUND: Final = 2**32
"""Tokens of one answer live in [1, OUTPUT_TOKENS_BOUND): the wire holds them in 32 bits (W4, T6)."""

STORE_ENTRIES_MAX: Final = 4096
"""Texts that a content store holds (T5): as many as a history that a build takes has turns."""

STORE_BYTES_MAX: Final = 256 * 1024 * 1024
"""UTF-8 bytes that a content store holds (T5): sixteen of the largest texts, and small beside any disk."""

STORE_CONTENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""UTF-8 bytes of one stored text (T5): no log with a larger tool result projects by default (P1)."""

STORE_PAGE_BYTES_MAX: Final = 65_536
"""UTF-8 bytes of one page (T4, T5): more than a prompt has room for, and enough for a host that copies."""

STORE_TTL_MS_MAX: Final = 7 * 24 * 60 * 60 * 1000
"""Milliseconds that a stored text lives unless it is renewed (T5): a week, so that a weekend ends no task."""

STORE_SKEW_MS: Final = 10_000
"""Milliseconds that a told time may lie behind the latest one (T5): two who share a store read their clocks
before they wait for each other, and waiting ends after `STORE_WAIT_MS`."""

STORE_WAIT_MS: Final = 5_000
"""Milliseconds that a store on a disk waits for another process (T5): a write takes a thousandth of that."""

assert STORE_WAIT_MS < STORE_SKEW_MS

STORE_ID_BYTES_MAX: Final = 64
"""Bytes of the id of a store (T5)."""

STORED_ID_BYTES_MAX: Final = 1024
"""UTF-8 bytes of a session, task or event id in a content store (T5): ids are names, not documents."""

CHARACTER_BYTES_MAX: Final = 4
"""The most bytes that UTF-8 takes for one character: a page that holds these can always go on (T4)."""

TIME_MS_BOUND: Final = 2**53
"""Milliseconds of a host's clock lie in [0, TIME_MS_BOUND): numbers that are exact in every language (T5)."""

READ_PAGE_BYTES: Final = 2048
"""UTF-8 bytes of text that one answer of the read tool shows, unless less is asked for (T4): its JSON then
stays below `PREVIEW_INLINE_BYTES`, so that a page is not itself previewed, unless much of it is escaped."""

READ_ANSWER_BYTES_MIN: Final = 256
"""The least room for an answer of the read tool: its JSON and one escaped character always fit (T4)."""

ITEM_PRIORITY_MAX: Final = 1000
"""The highest priority of a context item (S1): people can fill the scale, and it drowns no other number."""

ITEM_DENOMINATOR_MAX: Final = 2**1074
"""The denominator of the finest double, and so of a share of an item (S1): exact sums stay small."""

SUMMARY_KEEP_NEWEST: Final = 4
"""Closed turns that are not summarised while nothing newer stands behind them (S8): it is worked on."""

RECENT_EVENTS: Final = 50
"""Events that gathering looks back over (S4a): the seed's own number."""

RECALLED_MEMORIES: Final = 8
"""Memories that gathering takes (S4a): the seed's own number."""


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
