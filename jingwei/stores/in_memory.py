"""A content store that lives as long as its process (rules T4, T5)."""

from threading import Lock
from typing import final

import attrs
from typing_extensions import override

from jingwei.ids import EventId, SessionId
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import (
    ContentRef,
    ContentScope,
    ContentStore,
    InvalidStoreConfig,
    Page,
    Purged,
    StoreFailure,
    StoreLimits,
)
from jingwei.stores import rules
from jingwei.stores.rules import Held, Shelf, checked_limits


def in_memory_store(limits: StoreLimits) -> "Outcome[InMemoryStore, InvalidStoreConfig]":
    """An empty store under these limits, or what is wrong with them (T5)."""
    match checked_limits(limits):
        case Success(checked):
            return Success(InMemoryStore(checked))
        case Failure() as refused:
            return refused


@final
class InMemoryStore(ContentStore):
    """A content store in memory; `in_memory_store` makes one. Threads may share it.

    It keeps `ContentStore` to the letter, and loses everything with its process: for tests, and for tasks
    that are over when their process is.
    """

    def __init__(self, limits: StoreLimits) -> None:
        self._limits = limits
        self._lock = Lock()
        self._shelf = _Entries()

    @override
    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        with self._lock:
            return rules.put(self._limits, self._shelf, scope, source, text, now_ms)

    @override
    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        with self._lock:
            return rules.read(self._limits, self._shelf, ref, scope, now_ms, offset, max_bytes)

    @override
    def renew(self, ref: ContentRef, expires_at_ms: int, now_ms: int) -> Outcome[ContentRef, StoreFailure]:
        with self._lock:
            return rules.renew(self._limits, self._shelf, ref, expires_at_ms, now_ms)

    @override
    def purge_expired(self, now_ms: int) -> Outcome[Purged, StoreFailure]:
        with self._lock:
            return rules.purge_expired(self._limits, self._shelf, now_ms)


@final
class _Entries(Shelf):
    """The texts, by session and source event."""

    def __init__(self) -> None:
        self._texts = dict[tuple[SessionId, EventId], tuple[Held, bytes]]()
        self._bytes = 0
        self._last_ms = 0

    @override
    def last_ms(self) -> int:
        return self._last_ms

    @override
    def tell(self, now: int) -> None:
        self._last_ms = now

    @override
    def used(self) -> tuple[int, int]:
        return len(self._texts), self._bytes

    @override
    def held(self, session_id: SessionId, source: EventId) -> Held | None:
        found = self._texts.get((session_id, source))
        return None if found is None else found[0]

    @override
    def piece(self, session_id: SessionId, source: EventId, offset: int, size: int) -> bytes:
        return self._texts[(session_id, source)][1][offset : offset + size]

    @override
    def add(self, session_id: SessionId, source: EventId, held: Held, raw: bytes) -> None:
        self._texts[(session_id, source)] = (held, raw)
        self._bytes += held.total_bytes

    @override
    def prolong(self, session_id: SessionId, source: EventId, expires_at_ms: int) -> None:
        held, raw = self._texts[(session_id, source)]
        self._texts[(session_id, source)] = (attrs.evolve(held, expires_at_ms=expires_at_ms), raw)

    @override
    def drop_expired(self, now: int) -> Purged:
        gone = [key for key, (held, _) in self._texts.items() if held.expires_at_ms <= now]
        freed = sum([self._texts.pop(key)[0].total_bytes for key in gone])
        self._bytes -= freed
        return Purged(entries=len(gone), total_bytes=freed)
