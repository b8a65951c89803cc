"""What the library asks of the host's side of things: content stores (rules T3, T4, T5).

Records and protocols alone; `jingwei.stores` has two stores, and `jingwei.testing.store_laws` what every
store is held to. Times are milliseconds of the host's clock and are always told, never read.
"""

import enum
from typing import Protocol, TypeAlias, final

import attrs

from jingwei.ids import EventId, SessionId, StoreId, TaskId
from jingwei.limits import (
    STORE_BYTES_MAX,
    STORE_CONTENT_BYTES_MAX,
    STORE_ENTRIES_MAX,
    STORE_PAGE_BYTES_MAX,
    STORE_SKEW_MS,
    STORE_TTL_MS_MAX,
)
from jingwei.outcome import Outcome

# --- records --------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class ContentScope:
    """For whom, and until when, a stored text may be read (T3). The host says it, never a model.

    Attributes:
        session_id: the session; a store keeps a text by session and source event.
        task_id: the task inside it.
        expires_at_ms: the first millisecond at which the text is not given out any more.
    """

    session_id: SessionId
    task_id: TaskId
    expires_at_ms: int


@final
@attrs.frozen(kw_only=True)
class ContentRef:
    """Where the whole of a text stands (T3): no path, and nothing that a model could widen.

    Attributes:
        store_id: the store.
        source_event: the event that the text came with; unique in its session.
        scope: session, task and expiry.
        total_bytes: UTF-8 bytes of the text.
    """

    store_id: StoreId
    source_event: EventId
    scope: ContentScope
    total_bytes: int


@final
@attrs.frozen(kw_only=True)
class Page:
    """A piece of a stored text in whole characters (T4).

    Attributes:
        text: the piece; empty at the end.
        next_offset: where the next page begins, in UTF-8 bytes; None when this one reaches the end.
        total_bytes: UTF-8 bytes of the whole text.
    """

    text: str
    next_offset: int | None
    total_bytes: int


@final
@attrs.frozen(kw_only=True)
class Purged:
    """What was removed because it had expired (T5).

    Attributes:
        entries: texts.
        total_bytes: their UTF-8 bytes.
    """

    entries: int
    total_bytes: int


@final
@attrs.frozen(kw_only=True)
class StoreLimits:
    """What bounds a store (T5); the reasons of the defaults stand in `jingwei.limits`.

    `store_limits` in `jingwei.stores.rules` makes one and says what is wrong with it; so does every store.

    Attributes:
        store_id: the name that references carry: 1 to 64 ASCII letters, digits, `-` and `_`.
        max_entries: texts at one time; above 0.
        max_bytes: UTF-8 bytes of all texts together; above 0.
        max_content_bytes: UTF-8 bytes of one text; above 0, and at most `max_bytes`.
        max_page_bytes: UTF-8 bytes of one page; at least 4, so that every character fits into one.
        max_ttl_ms: the longest time from now to an expiry; above 0.
        max_skew_ms: how far a told time may lie behind the latest one; at least 0.
    """

    store_id: StoreId
    max_entries: int = STORE_ENTRIES_MAX
    max_bytes: int = STORE_BYTES_MAX
    max_content_bytes: int = STORE_CONTENT_BYTES_MAX
    max_page_bytes: int = STORE_PAGE_BYTES_MAX
    max_ttl_ms: int = STORE_TTL_MS_MAX
    max_skew_ms: int = STORE_SKEW_MS


# --- failures -------------------------------------------------------------------------------------


@final
class InvalidStoreConfigReason(enum.Enum):
    """What is wrong with the limits of a store (T5)."""

    BAD_STORE_ID = "bad_store_id"
    OUT_OF_RANGE = "out_of_range"
    PAGE_BELOW_CHARACTER = "page_below_character"
    CONTENT_OVER_TOTAL = "content_over_total"


@final
@attrs.frozen(kw_only=True)
class InvalidStoreConfig:
    """Limits under which a store could not work, found when it is made (T5).

    Attributes:
        field: the attribute of `StoreLimits`.
        reason: what is wrong with it.
        actual: its value; for the id of the store how many characters it has.
    """

    field: str
    reason: InvalidStoreConfigReason
    actual: int


@final
class InvalidScopeReason(enum.Enum):
    """What is wrong with a scope that a text is to be stored under (T5)."""

    BLANK_SESSION_ID = "blank_session_id"
    BAD_SESSION_ID = "bad_session_id"
    BLANK_TASK_ID = "blank_task_id"
    BAD_TASK_ID = "bad_task_id"
    EXPIRED = "expired"
    LIVES_TOO_LONG = "lives_too_long"


@final
@attrs.frozen(kw_only=True)
class InvalidScope:
    """Nothing can be stored under this scope (T5).

    Attributes:
        reason: what is wrong with it; an id is bad when it has more bytes than allowed, or no UTF-8 form.
        limit: the most that is allowed; for a blank id its least bytes, and for an expiry that lies in the
            past the time that it must be later than.
        actual: what was met, in the same unit.
    """

    reason: InvalidScopeReason
    limit: int
    actual: int


@final
class InvalidSourceReason(enum.Enum):
    """What is wrong with the id of a source event (T5)."""

    BLANK = "blank"
    TOO_LONG = "too_long"
    LONE_SURROGATE = "lone_surrogate"


@final
@attrs.frozen(kw_only=True)
class InvalidSource:
    """A source event that nothing can be stored for (T5).

    Attributes:
        reason: what is wrong with its id.
        actual: its UTF-8 bytes; half a surrogate pair counts as three.
    """

    reason: InvalidSourceReason
    actual: int


@final
@attrs.frozen(kw_only=True)
class InvalidText:
    """A text with half a surrogate pair: it has no UTF-8 form that could be given back (T5).

    Attributes:
        offset: index of the character.
    """

    offset: int


@final
@attrs.frozen(kw_only=True)
class TooLarge:
    """One text has more bytes than the store takes (T5).

    Attributes:
        limit: the most bytes of one text.
        actual: the bytes of this one.
    """

    limit: int
    actual: int


@final
class StoreFullOf(enum.Enum):
    """Which quota is used up (T5)."""

    ENTRIES = "entries"
    BYTES = "bytes"


@final
@attrs.frozen(kw_only=True)
class StoreFull:
    """There is no room for one more text, and nothing is thrown out to make some (T5).

    Attributes:
        what: the quota.
        limit: the configured value.
        actual: what there would be with this text.
    """

    what: StoreFullOf
    limit: int
    actual: int


@final
class ConflictReason(enum.Enum):
    """In what a text differs from the one that is stored for its source event (T5)."""

    TEXT = "text"
    TASK = "task"
    EXPIRY = "expiry"


@final
@attrs.frozen(kw_only=True)
class Conflict:
    """Something else is stored for this session and source event (T5); it stays as it is.

    Attributes:
        reason: the first difference. Where it is the expiry alone, `renew` is what was meant.
        held: the reference to what is stored.
    """

    reason: ConflictReason
    held: ContentRef


@final
class UnavailableReason(enum.Enum):
    """Why a reference leads nowhere (T4). For hosts: a model is told all of these in the same words."""

    STORE = "store"
    SCOPE = "scope"
    EXPIRED = "expired"
    MISSING = "missing"
    METADATA = "metadata"


@final
@attrs.frozen(kw_only=True)
class Unavailable:
    """A reference that leads nowhere, in this scope and at this time (T4).

    Attributes:
        reason: why.
    """

    reason: UnavailableReason


@final
@attrs.frozen(kw_only=True)
class PageLimit:
    """A page of no bytes, or of more than the store gives at once (T4).

    Attributes:
        limit: the most bytes of a page.
        actual: what was asked for.
    """

    limit: int
    actual: int


@final
class BadCursorReason(enum.Enum):
    """Why no page can begin or end here (T4)."""

    OUT_OF_RANGE = "out_of_range"
    INSIDE_CHARACTER = "inside_character"
    NO_PROGRESS = "no_progress"


@final
@attrs.frozen(kw_only=True)
class BadCursor:
    """No page begins here, or the first character is larger than the page (T4).

    Attributes:
        offset: where the page was to begin, in UTF-8 bytes.
        reason: what is wrong with it.
    """

    offset: int
    reason: BadCursorReason


@final
@attrs.frozen(kw_only=True)
class InvalidTime:
    """A told time outside [0, 2^53) milliseconds (T5).

    Attributes:
        now_ms: the time.
    """

    now_ms: int


@final
@attrs.frozen(kw_only=True)
class ClockWentBack:
    """A told time lies further behind the latest one than clocks may differ (T5); nothing was done.

    Attributes:
        last_ms: the latest time that the store was told.
        now_ms: the time that it was told now.
    """

    last_ms: int
    now_ms: int


@final
class StorageReason(enum.Enum):
    """What is wrong with the medium of a store (T5)."""

    CLOSED = "closed"
    CANNOT_OPEN = "cannot_open"
    NOT_A_DATABASE = "not_a_database"
    FOREIGN_DATABASE = "foreign_database"
    OTHER_VERSION = "other_version"
    OTHER_STORE = "other_store"
    READ_ONLY = "read_only"
    LOCKED = "locked"
    DISK_FULL = "disk_full"
    CORRUPT = "corrupt"
    OTHER = "other"


@final
@attrs.frozen(kw_only=True)
class StorageFailed:
    """The medium failed: nothing was stored, or nothing can be read (T5).

    Attributes:
        reason: what is wrong with it.
        detail: for people: the words of the database.
    """

    reason: StorageReason
    detail: str


StoreFailure: TypeAlias = (
    InvalidStoreConfig
    | InvalidTime
    | ClockWentBack
    | InvalidScope
    | InvalidSource
    | InvalidText
    | TooLarge
    | StoreFull
    | Conflict
    | Unavailable
    | PageLimit
    | BadCursor
    | StorageFailed
)
"""Every way in which a content store refuses."""


# --- protocols ------------------------------------------------------------------------------------


class ContentStore(Protocol):
    """A place for texts that are too long for a prompt (T4, T5).

    A store is told the time at every call and keeps the latest it was told, so that what has expired stays
    expired. A time that lies behind it by at most `max_skew_ms` counts as the latest; one that lies further
    behind is `ClockWentBack`, one outside [0, 2^53) `InvalidTime`. Both are said before anything else.
    Nothing raises, whatever the strings and numbers.
    """

    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        """Keep a text for a session and a source event (T5).

        The same text under the same scope again gives the same reference and stores nothing. What has
        expired is removed first; nothing else ever is. The first that holds is told: `InvalidScope`,
        `InvalidSource`, `InvalidText`, `TooLarge`, `Conflict`, `StoreFull`.
        """
        ...

    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        """One page of a text (T4).

        The scope is what the host grants; the reference must be of this store, of exactly this scope, and
        say exactly what the store holds. The first that holds is told: `Unavailable` (store, scope,
        expired), `PageLimit`, `Unavailable` (missing, scope, metadata), `BadCursor`.

        Args:
            ref: the reference.
            scope: what the host grants.
            now_ms: the time.
            offset: where the page begins, in UTF-8 bytes, on a character boundary; the end is allowed.
            max_bytes: the most UTF-8 bytes of the page, from 1 to `max_page_bytes`.
        """
        ...

    def renew(self, ref: ContentRef, expires_at_ms: int, now_ms: int) -> Outcome[ContentRef, StoreFailure]:
        """Let a text live until this time, unless it lives longer already; gives its present reference.

        The reference may be an earlier one of the same text: all but its expiry must match, and that may
        not lie beyond the present one. Once renewed, a text is read by its present reference only (T4).
        The first that holds is told: `Unavailable` (store), `InvalidScope`, `Unavailable` (missing, expired,
        scope, metadata).
        """
        ...

    def purge_expired(self, now_ms: int) -> Outcome[Purged, StoreFailure]:
        """Remove every text that has expired (T5)."""
        ...
