"""What every store decides by, apart from where it keeps its texts (rules T4, T5)."""

import re
from typing import Final, Protocol, final

import attrs

from jingwei.ids import EventId, SessionId, StoreId, TaskId, is_blank
from jingwei.jsontext import utf8_bytes
from jingwei.limits import (
    CHARACTER_BYTES_MAX,
    STORE_BYTES_MAX,
    STORE_CONTENT_BYTES_MAX,
    STORE_ENTRIES_MAX,
    STORE_ID_BYTES_MAX,
    STORE_PAGE_BYTES_MAX,
    STORE_SKEW_MS,
    STORE_TTL_MS_MAX,
    STORED_ID_BYTES_MAX,
    TIME_MS_BOUND,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import (
    BadCursor,
    BadCursorReason,
    ClockWentBack,
    Conflict,
    ConflictReason,
    ContentRef,
    ContentScope,
    InvalidScope,
    InvalidScopeReason,
    InvalidSource,
    InvalidSourceReason,
    InvalidStoreConfig,
    InvalidStoreConfigReason,
    InvalidText,
    InvalidTime,
    Page,
    PageLimit,
    Purged,
    StoreFailure,
    StoreFull,
    StoreFullOf,
    StoreLimits,
    TooLarge,
    Unavailable,
    UnavailableReason,
)

# --- limits ---------------------------------------------------------------------------------------


def store_limits(
    *,
    store_id: StoreId,
    max_entries: int = STORE_ENTRIES_MAX,
    max_bytes: int = STORE_BYTES_MAX,
    max_content_bytes: int = STORE_CONTENT_BYTES_MAX,
    max_page_bytes: int = STORE_PAGE_BYTES_MAX,
    max_ttl_ms: int = STORE_TTL_MS_MAX,
    max_skew_ms: int = STORE_SKEW_MS,
) -> Outcome[StoreLimits, InvalidStoreConfig]:
    """Limits under which a store can work, or what is wrong with them (T5); see `StoreLimits`."""
    return checked_limits(
        StoreLimits(
            store_id=store_id,
            max_entries=max_entries,
            max_bytes=max_bytes,
            max_content_bytes=max_content_bytes,
            max_page_bytes=max_page_bytes,
            max_ttl_ms=max_ttl_ms,
            max_skew_ms=max_skew_ms,
        )
    )


def checked_limits(limits: StoreLimits) -> Outcome[StoreLimits, InvalidStoreConfig]:
    """The same limits, or the first that is wrong in the order of their attributes (T5)."""
    if _STORE_ID.fullmatch(limits.store_id) is None:
        return Failure(
            InvalidStoreConfig(
                field="store_id", reason=InvalidStoreConfigReason.BAD_STORE_ID, actual=len(limits.store_id)
            )
        )
    for field, value, least in (
        ("max_entries", limits.max_entries, 1),
        ("max_bytes", limits.max_bytes, 1),
        ("max_content_bytes", limits.max_content_bytes, 1),
        ("max_page_bytes", limits.max_page_bytes, 1),
        ("max_ttl_ms", limits.max_ttl_ms, 1),
        ("max_skew_ms", limits.max_skew_ms, 0),
    ):
        # The same bound for all: what a database and other languages hold exactly.
        if not least <= value < TIME_MS_BOUND:
            reason = InvalidStoreConfigReason.OUT_OF_RANGE
            return Failure(InvalidStoreConfig(field=field, reason=reason, actual=value))
    if limits.max_content_bytes > limits.max_bytes:
        return Failure(
            InvalidStoreConfig(
                field="max_content_bytes",
                reason=InvalidStoreConfigReason.CONTENT_OVER_TOTAL,
                actual=limits.max_content_bytes,
            )
        )
    if limits.max_page_bytes < CHARACTER_BYTES_MAX:
        return Failure(
            InvalidStoreConfig(
                field="max_page_bytes",
                reason=InvalidStoreConfigReason.PAGE_BELOW_CHARACTER,
                actual=limits.max_page_bytes,
            )
        )
    return Success(limits)


_STORE_ID: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{STORE_ID_BYTES_MAX}}}")


# --- what is held ---------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class Held:
    """What a store knows of a text without reading it; session and source event are its key."""

    task_id: TaskId
    expires_at_ms: int
    total_bytes: int


class Shelf(Protocol):
    """Where a store keeps its texts, by session and source event. All of one call happens at once."""

    def last_ms(self) -> int:
        """The latest time that was told; 0 at first."""
        ...

    def tell(self, now: int) -> None:
        """Keep a later time."""
        ...

    def used(self) -> tuple[int, int]:
        """How many texts there are, and their bytes."""
        ...

    def held(self, session_id: SessionId, source: EventId) -> Held | None:
        """What there is; the ids have a UTF-8 form."""
        ...

    def piece(self, session_id: SessionId, source: EventId, offset: int, size: int) -> bytes:
        """So many bytes of a text that there is, as far as it goes."""
        ...

    def add(self, session_id: SessionId, source: EventId, held: Held, raw: bytes) -> None:
        """Keep a text that there is not yet."""
        ...

    def prolong(self, session_id: SessionId, source: EventId, expires_at_ms: int) -> None:
        """Let a text that there is live until then."""
        ...

    def drop_expired(self, now: int) -> Purged:
        """Remove what expires now or has expired."""
        ...


# --- the four calls -------------------------------------------------------------------------------


def put(
    limits: StoreLimits, shelf: Shelf, scope: ContentScope, source: EventId, text: str, now_ms: int
) -> Outcome[ContentRef, StoreFailure]:
    """`ContentStore.put` over a shelf (T5)."""
    now = _time(limits, shelf, now_ms)
    if isinstance(now, Failure):
        return now
    raw = _bytes_to_put(limits, scope, source, text, now)
    if not isinstance(raw, bytes):
        return Failure(raw)
    shelf.drop_expired(now)
    session_id, size = scope.session_id, len(raw)
    ref = ContentRef(store_id=limits.store_id, source_event=source, scope=scope, total_bytes=size)
    held = shelf.held(session_id, source)
    if held is not None:
        same = held.total_bytes == size and shelf.piece(session_id, source, 0, size) == raw
        conflict = _conflict(ref, held, same_text=same)
        return Success(ref) if conflict is None else Failure(conflict)
    full = _room_for(limits, *shelf.used(), size)
    if full is not None:
        return Failure(full)
    put_in = Held(task_id=scope.task_id, expires_at_ms=scope.expires_at_ms, total_bytes=size)
    shelf.add(session_id, source, put_in, raw)
    return Success(ref)


def read(
    limits: StoreLimits,
    shelf: Shelf,
    ref: ContentRef,
    scope: ContentScope,
    now_ms: int,
    offset: int,
    max_bytes: int,
) -> Outcome[Page, StoreFailure]:
    """`ContentStore.read` over a shelf (T4)."""
    now = _time(limits, shelf, now_ms)
    if isinstance(now, Failure):
        return now
    against = _refused_unread(limits, ref, scope, now, max_bytes)
    if against is not None:
        return Failure(against)
    held = _held(shelf, ref)
    if held is None:
        return Failure(Unavailable(reason=UnavailableReason.MISSING))
    if (held.task_id, held.expires_at_ms) != (scope.task_id, scope.expires_at_ms):
        return Failure(Unavailable(reason=UnavailableReason.SCOPE))
    if held.total_bytes != ref.total_bytes:
        return Failure(Unavailable(reason=UnavailableReason.METADATA))
    if not 0 <= offset <= held.total_bytes:
        return Failure(BadCursor(offset=offset, reason=BadCursorReason.OUT_OF_RANGE))
    # One byte more than the page shows whether its last character is whole.
    piece = shelf.piece(scope.session_id, ref.source_event, offset, max_bytes + 1)
    return _page(piece, offset, max_bytes, held.total_bytes)


def renew(
    limits: StoreLimits, shelf: Shelf, ref: ContentRef, expires_at_ms: int, now_ms: int
) -> Outcome[ContentRef, StoreFailure]:
    """`ContentStore.renew` over a shelf: a life is made longer, never shorter (T5)."""
    now = _time(limits, shelf, now_ms)
    if isinstance(now, Failure):
        return now
    if ref.store_id != limits.store_id:
        return Failure(Unavailable(reason=UnavailableReason.STORE))
    invalid = _expiry_problem(limits, expires_at_ms, now)
    if invalid is not None:
        return Failure(invalid)
    held = _held(shelf, ref)
    if held is None:
        return Failure(Unavailable(reason=UnavailableReason.MISSING))
    if held.expires_at_ms <= now:
        return Failure(Unavailable(reason=UnavailableReason.EXPIRED))
    if held.task_id != ref.scope.task_id or held.expires_at_ms < ref.scope.expires_at_ms:
        return Failure(Unavailable(reason=UnavailableReason.SCOPE))
    if held.total_bytes != ref.total_bytes:
        return Failure(Unavailable(reason=UnavailableReason.METADATA))
    until = max(held.expires_at_ms, expires_at_ms)
    shelf.prolong(ref.scope.session_id, ref.source_event, until)
    return Success(attrs.evolve(ref, scope=attrs.evolve(ref.scope, expires_at_ms=until)))


def purge_expired(limits: StoreLimits, shelf: Shelf, now_ms: int) -> Outcome[Purged, StoreFailure]:
    """`ContentStore.purge_expired` over a shelf (T5)."""
    now = _time(limits, shelf, now_ms)
    return now if isinstance(now, Failure) else Success(shelf.drop_expired(now))


# --- helpers --------------------------------------------------------------------------------------


def _time(limits: StoreLimits, shelf: Shelf, now_ms: int) -> int | Failure[InvalidTime | ClockWentBack]:
    """The time that counts: the latest that was told, so that what has expired stays expired."""
    if not 0 <= now_ms < TIME_MS_BOUND:
        return Failure(InvalidTime(now_ms=now_ms))
    last_ms = shelf.last_ms()
    if last_ms - now_ms > limits.max_skew_ms:
        return Failure(ClockWentBack(last_ms=last_ms, now_ms=now_ms))
    if now_ms > last_ms:
        shelf.tell(now_ms)
    return max(last_ms, now_ms)


def _bytes_to_put(
    limits: StoreLimits, scope: ContentScope, source: EventId, text: str, now: int
) -> bytes | InvalidScope | InvalidSource | InvalidText | TooLarge:
    """The bytes to keep, where nothing but what the store holds could be against it."""
    wrong = _scope_problem(limits, scope, now)
    if wrong is not None:
        return wrong
    reason = _source_problem(source)
    if reason is not None:
        return InvalidSource(reason=reason, actual=utf8_bytes(source))
    try:
        raw = text.encode()
    except UnicodeEncodeError as error:
        return InvalidText(offset=error.start)
    if len(raw) > limits.max_content_bytes:
        return TooLarge(limit=limits.max_content_bytes, actual=len(raw))
    return raw


def _conflict(ref: ContentRef, held: Held, *, same_text: bool) -> Conflict | None:
    """The first difference between what was to be put, whose reference is given, and what is held."""
    if not same_text:
        reason = ConflictReason.TEXT
    elif ref.scope.task_id != held.task_id:
        reason = ConflictReason.TASK
    elif ref.scope.expires_at_ms != held.expires_at_ms:
        reason = ConflictReason.EXPIRY
    else:
        return None
    present = attrs.evolve(ref.scope, task_id=held.task_id, expires_at_ms=held.expires_at_ms)
    return Conflict(reason=reason, held=attrs.evolve(ref, scope=present, total_bytes=held.total_bytes))


def _room_for(limits: StoreLimits, entries: int, total_bytes: int, size: int) -> StoreFull | None:
    if entries >= limits.max_entries:
        return StoreFull(what=StoreFullOf.ENTRIES, limit=limits.max_entries, actual=entries + 1)
    if total_bytes + size > limits.max_bytes:
        return StoreFull(what=StoreFullOf.BYTES, limit=limits.max_bytes, actual=total_bytes + size)
    return None


def _refused_unread(
    limits: StoreLimits, ref: ContentRef, scope: ContentScope, now: int, max_bytes: int
) -> Unavailable | PageLimit | None:
    """What is against reading before the store is looked into."""
    if ref.store_id != limits.store_id:
        return Unavailable(reason=UnavailableReason.STORE)
    if ref.scope != scope:
        return Unavailable(reason=UnavailableReason.SCOPE)
    if scope.expires_at_ms <= now:
        return Unavailable(reason=UnavailableReason.EXPIRED)
    if not 1 <= max_bytes <= limits.max_page_bytes:
        return PageLimit(limit=limits.max_page_bytes, actual=max_bytes)
    return None


def _held(shelf: Shelf, ref: ContentRef) -> Held | None:
    """What is held under the key of a reference; nothing is ever put under half a surrogate pair."""
    session_id, source = ref.scope.session_id, ref.source_event
    if not (_has_utf8_form(session_id) and _has_utf8_form(source)):
        return None
    return shelf.held(session_id, source)


def _page(piece: bytes, offset: int, max_bytes: int, total_bytes: int) -> Outcome[Page, BadCursor]:
    """The page at the start of a piece, which is a byte longer than a page may be, or ends the text."""
    if piece and _continues(piece[0]):
        return Failure(BadCursor(offset=offset, reason=BadCursorReason.INSIDE_CHARACTER))
    end = min(max_bytes, len(piece))
    while end < len(piece) and _continues(piece[end]):
        end -= 1
    if piece and not end:
        return Failure(BadCursor(offset=offset, reason=BadCursorReason.NO_PROGRESS))
    after = offset + end
    return Success(
        Page(
            text=piece[:end].decode(),
            next_offset=None if after == total_bytes else after,
            total_bytes=total_bytes,
        )
    )


def _has_utf8_form(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _scope_problem(limits: StoreLimits, scope: ContentScope, now: int) -> InvalidScope | None:
    for name, blank, bad in (
        (scope.session_id, InvalidScopeReason.BLANK_SESSION_ID, InvalidScopeReason.BAD_SESSION_ID),
        (scope.task_id, InvalidScopeReason.BLANK_TASK_ID, InvalidScopeReason.BAD_TASK_ID),
    ):
        size = utf8_bytes(name)
        if is_blank(name):
            return InvalidScope(reason=blank, limit=1, actual=size)
        if size > STORED_ID_BYTES_MAX or not _has_utf8_form(name):
            return InvalidScope(reason=bad, limit=STORED_ID_BYTES_MAX, actual=size)
    return _expiry_problem(limits, scope.expires_at_ms, now)


def _expiry_problem(limits: StoreLimits, expires_at_ms: int, now: int) -> InvalidScope | None:
    if expires_at_ms <= now:
        return InvalidScope(reason=InvalidScopeReason.EXPIRED, limit=now, actual=expires_at_ms)
    lives = expires_at_ms - now
    if lives > limits.max_ttl_ms:
        return InvalidScope(reason=InvalidScopeReason.LIVES_TOO_LONG, limit=limits.max_ttl_ms, actual=lives)
    return None


def _source_problem(source: EventId) -> InvalidSourceReason | None:
    if is_blank(source):
        return InvalidSourceReason.BLANK
    if utf8_bytes(source) > STORED_ID_BYTES_MAX:
        return InvalidSourceReason.TOO_LONG
    return None if _has_utf8_form(source) else InvalidSourceReason.LONE_SURROGATE


def _continues(byte: int) -> bool:
    """True for the second and later bytes of a character."""
    return byte & 0xC0 == 0x80
