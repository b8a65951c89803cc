"""Both stores, case by case: those of the seeds' store (V04, V05), and what it left untested."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from jingwei.ids import EventId, SessionId, StoreId, TaskId
from jingwei.outcome import Failure, Success
from jingwei.ports import (
    BadCursor,
    BadCursorReason,
    ClockWentBack,
    Conflict,
    ConflictReason,
    ContentRef,
    ContentScope,
    ContentStore,
    InvalidScope,
    InvalidScopeReason,
    Page,
    PageLimit,
    Purged,
    StoreFull,
    StoreFullOf,
    StoreLimits,
    TooLarge,
    Unavailable,
    UnavailableReason,
)
from jingwei.stores.in_memory import in_memory_store
from jingwei.stores.rules import store_limits
from jingwei.stores.sqlite import open_sqlite_store
from jingwei.testing.store_laws import check_content_store

LIMITS = store_limits(
    store_id=StoreId("host-memory"),
    max_entries=2,
    max_bytes=100,
    max_content_bytes=80,
    max_page_bytes=12,
    max_ttl_ms=1000,
).unwrap()
SCOPE = ContentScope(session_id=SessionId("s"), task_id=TaskId("t"), expires_at_ms=1000)
E, TWO, THREE = EventId("e"), EventId("two"), EventId("three")

Maker = Callable[[StoreLimits], ContentStore]


def in_memory(limits: StoreLimits) -> ContentStore:
    return in_memory_store(limits).unwrap()


def sqlite(limits: StoreLimits) -> ContentStore:
    return open_sqlite_store(":memory:", limits).unwrap()


@pytest.fixture(params=[in_memory, sqlite], ids=lambda maker: maker.__name__)
def maker(request: pytest.FixtureRequest) -> Maker:
    found: Maker = request.param
    return found


@pytest.fixture
def store(maker: Maker) -> ContentStore:
    return maker(LIMITS)


def whole(store: ContentStore, ref: ContentRef, now_ms: int, max_bytes: int) -> str:
    """The text of a reference, page by page."""
    text, offset = "", 0
    while True:
        page = store.read(ref, ref.scope, now_ms, offset, max_bytes).unwrap()
        text += page.text
        if page.next_offset is None:
            return text
        offset = page.next_offset


def test_a_store_keeps_the_laws(maker: Maker) -> None:
    """The first users of the law set are the built-in stores."""
    check_content_store(maker)


def test_a_text_is_put_together_from_its_pages(store: ContentStore) -> None:
    """V03c: pages of 12 bytes of a text with characters of one to four bytes."""
    text = "中文🐦 ignore instructions /etc/passwd"
    ref = store.put(SCOPE, E, text, 1).unwrap()

    assert len(text.encode()) == ref.total_bytes
    assert text == whole(store, ref, 2, 12)


@pytest.mark.parametrize(
    ("reason", "ref", "scope", "now_ms"),
    [
        pytest.param(UnavailableReason.SCOPE, {}, {"task_id": "other"}, 2, id="V04a"),
        pytest.param(UnavailableReason.SCOPE, {}, {"session_id": "other"}, 2, id="V04b"),
        pytest.param(UnavailableReason.EXPIRED, {}, {}, 1000, id="V04c"),
        pytest.param(UnavailableReason.STORE, {"store_id": "elsewhere"}, {}, 2, id="V04d"),
        pytest.param(UnavailableReason.METADATA, {"total_bytes": 11}, {}, 2, id="V04e"),
        pytest.param(UnavailableReason.MISSING, {"source_event": "unknown"}, {}, 2, id="V04f"),
    ],
)
def test_scope_expiry_name_and_metadata_must_match(
    store: ContentStore,
    reason: UnavailableReason,
    ref: dict[str, object],
    scope: dict[str, object],
    now_ms: int,
) -> None:
    made = store.put(SCOPE, E, "中文data", 1).unwrap()
    held = attrs.evolve(made, **ref)  # type: ignore[arg-type]
    granted = attrs.evolve(SCOPE, **scope)  # type: ignore[arg-type]

    assert Failure(Unavailable(reason=reason)) == store.read(held, granted, now_ms, 0, 12)


def test_a_page_begins_between_characters_and_has_room_for_one(store: ContentStore) -> None:
    """V04g to V04j."""
    ref = store.put(SCOPE, E, "中文data", 1).unwrap()
    inside = BadCursor(offset=1, reason=BadCursorReason.INSIDE_CHARACTER)
    stuck = BadCursor(offset=0, reason=BadCursorReason.NO_PROGRESS)
    beyond = BadCursor(offset=11, reason=BadCursorReason.OUT_OF_RANGE)

    assert 10 == ref.total_bytes
    assert Failure(inside) == store.read(ref, SCOPE, 2, 1, 12)
    assert Failure(stuck) == store.read(ref, SCOPE, 2, 0, 1)
    assert Failure(PageLimit(limit=12, actual=13)) == store.read(ref, SCOPE, 2, 0, 13)
    assert Success(Page(text="", next_offset=None, total_bytes=10)) == store.read(ref, SCOPE, 2, 10, 12)
    assert Failure(beyond) == store.read(ref, SCOPE, 2, 11, 12)
    assert Success(Page(text="中文", next_offset=6, total_bytes=10)) == store.read(ref, SCOPE, 2, 0, 6)


def test_capacity_conflicts_and_cleanup(store: ContentStore) -> None:
    """V05."""
    first = store.put(SCOPE, E, "x" * 60, 1)
    again = store.put(SCOPE, E, "x" * 60, 1)
    conflict = store.put(SCOPE, E, "different", 1)
    total = store.put(SCOPE, TWO, "x" * 50, 1)
    single = store.put(SCOPE, TWO, "x" * 81, 1)
    second = store.put(SCOPE, TWO, "small", 1)
    entries = store.put(SCOPE, THREE, "small", 1)
    long = store.put(attrs.evolve(SCOPE, expires_at_ms=2000), THREE, "small", 1)
    purged = store.purge_expired(1000)
    new = store.put(attrs.evolve(SCOPE, expires_at_ms=1500), E, "new", 1001)
    old = store.read(first.unwrap(), SCOPE, 1001, 0, 12)

    assert first == again
    assert Failure(Conflict(reason=ConflictReason.TEXT, held=first.unwrap())) == conflict
    assert Failure(StoreFull(what=StoreFullOf.BYTES, limit=100, actual=110)) == total
    assert Failure(TooLarge(limit=80, actual=81)) == single
    assert isinstance(second, Success)
    assert Failure(StoreFull(what=StoreFullOf.ENTRIES, limit=2, actual=3)) == entries
    lives = InvalidScope(reason=InvalidScopeReason.LIVES_TOO_LONG, limit=1000, actual=1999)
    assert Failure(lives) == long
    assert Success(Purged(entries=2, total_bytes=65)) == purged
    assert isinstance(new, Success)
    assert Failure(Unavailable(reason=UnavailableReason.EXPIRED)) == old


def test_ids_that_have_no_utf8_form_are_those_of_nothing(store: ContentStore) -> None:
    made = store.put(SCOPE, E, "text", 1).unwrap()
    scope = attrs.evolve(SCOPE, session_id=SessionId("\ud800"))
    missing = Failure(Unavailable(reason=UnavailableReason.MISSING))
    for ref in (attrs.evolve(made, source_event=EventId("\udfff")), attrs.evolve(made, scope=scope)):
        assert missing == store.read(ref, ref.scope, 1, 0, 4)
        assert missing == store.renew(ref, 1001, 1)


def test_equal_event_ids_of_two_sessions_are_two_texts(store: ContentStore) -> None:
    other = attrs.evolve(SCOPE, session_id=SessionId("s2"))
    first, second = store.put(SCOPE, E, "one", 1).unwrap(), store.put(other, E, "two", 1).unwrap()

    assert ["one", "two"] == [whole(store, ref, 1, 12) for ref in (first, second)]


def test_a_clock_that_went_back_is_named_and_brings_nothing_back(store: ContentStore) -> None:
    ref = store.put(SCOPE, E, "text", 1).unwrap()
    expired = Failure(Unavailable(reason=UnavailableReason.EXPIRED))

    assert expired == store.read(ref, SCOPE, 20_000, 0, 12)
    assert Failure(ClockWentBack(last_ms=20_000, now_ms=999)) == store.read(ref, SCOPE, 999, 0, 12)
    assert expired == store.read(ref, SCOPE, 10_000, 0, 12)


def test_a_new_expiry_each_turn_is_said_by_renewing(store: ContentStore) -> None:
    """What made references die in the seeds' store: the same text under a new expiry is a conflict there."""
    first = store.put(SCOPE, E, "text", 1).unwrap()
    later = attrs.evolve(SCOPE, expires_at_ms=1400)
    refused = store.put(later, E, "text", 500)

    assert Failure(Conflict(reason=ConflictReason.EXPIRY, held=first)) == refused
    assert Success(attrs.evolve(first, scope=later)) == store.renew(first, 1400, 500)
    assert Success(attrs.evolve(first, scope=later)) == store.put(later, E, "text", 1200)
    assert "text" == whole(store, attrs.evolve(first, scope=later), 1399, 12)


def test_threads_share_a_store(maker: Maker) -> None:
    store = maker(attrs.evolve(LIMITS, max_entries=50, max_bytes=10**6))

    def put_and_read(number: int) -> str:
        ref = store.put(SCOPE, EventId(str(number % 25)), f"text {number % 25}", 1).unwrap()
        return store.read(ref, SCOPE, 1, 0, 12).unwrap().text

    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(put_and_read, range(100)))

    assert [f"text {number % 25}" for number in range(100)] == texts
    assert Success(Purged(entries=25, total_bytes=25 * 6 + 15)) == store.purge_expired(1000)
