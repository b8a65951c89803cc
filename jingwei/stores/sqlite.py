"""A content store in one file of SQLite, which outlives its process and is shared by several (rules T4, T5).

Every call is one transaction that locks out other writers from its start, so that what it decides (quotas,
conflicts, the latest time) is still so when it is written. A commit is on the disk before the call answers.
Texts and ids are kept as their UTF-8 bytes; nothing of them ever becomes a part of a statement.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import Final, NoReturn, Self, TypeVar, cast, final

from typing_extensions import override

from jingwei.ids import EventId, SessionId, TaskId
from jingwei.limits import STORE_WAIT_MS
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import (
    ContentRef,
    ContentScope,
    ContentStore,
    Page,
    Purged,
    StorageFailed,
    StorageReason,
    StoreFailure,
    StoreLimits,
)
from jingwei.stores import rules
from jingwei.stores.rules import Held, Shelf, checked_limits

_Value = TypeVar("_Value")

APPLICATION_ID: Final = 0x4A57_5354
"""What the header of our files says they are (`JWST`): another program's file is never taken for one."""

SCHEMA_VERSION: Final = 1
"""The version of the tables; a file of another version is refused, and left as it is."""

IN_MEMORY: Final = ":memory:"
"""Instead of a path: a database that lives as long as the store."""


def open_sqlite_store(
    path: str | os.PathLike[str], limits: StoreLimits, *, wait_ms: int = STORE_WAIT_MS
) -> "Outcome[SqliteStore, StoreFailure]":
    """Open the store in a file, which is made where there is none (T5).

    A file that is not ours, of another version, or of a store with another id is refused by name and not
    changed. The limits are those of this process: the file keeps none, so that they can be raised.

    Args:
        path: the file, or `:memory:`. Its folder exists. Beside it SQLite keeps two files with the endings
            `-wal` and `-shm`, which belong to it. It lies on a local disk, since files on a network have no
            locks that can be relied upon.
        limits: what bounds the store.
        wait_ms: how long to wait for another process; then `StorageFailed` (locked). At least 0.
    """
    match checked_limits(limits):
        case Failure() as refused:
            return refused
        case Success(checked):
            return _opened(os.fspath(path), checked, max(wait_ms, 0))


@final
class SqliteStore(ContentStore):
    """A content store in a file; `open_sqlite_store` makes one.

    Threads may share it; a process that forks opens its own. It keeps `ContentStore` to the letter. Whatever
    the database says is a `StorageFailed`, also to a call after `close`; a call that failed has changed
    nothing. It closes itself at the end of a `with` block.
    """

    def __init__(self, connection: sqlite3.Connection, limits: StoreLimits) -> None:
        self._connection = connection
        self._limits = limits
        self._lock = Lock()
        self._open = True

    @override
    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        return self._at_once(lambda shelf: rules.put(self._limits, shelf, scope, source, text, now_ms))

    @override
    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        return self._at_once(
            lambda shelf: rules.read(self._limits, shelf, ref, scope, now_ms, offset, max_bytes)
        )

    @override
    def renew(self, ref: ContentRef, expires_at_ms: int, now_ms: int) -> Outcome[ContentRef, StoreFailure]:
        return self._at_once(lambda shelf: rules.renew(self._limits, shelf, ref, expires_at_ms, now_ms))

    @override
    def purge_expired(self, now_ms: int) -> Outcome[Purged, StoreFailure]:
        return self._at_once(lambda shelf: rules.purge_expired(self._limits, shelf, now_ms))

    def close(self) -> None:
        """Give the file back; may be said twice."""
        with self._lock:
            if self._open:
                self._open = False
                _close(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _at_once(
        self, call: "Callable[[_Tables], Outcome[_Value, StoreFailure]]"
    ) -> Outcome[_Value, StoreFailure]:
        """Run a call in one transaction. A refusal is committed too: the time that it was told counts."""
        with self._lock:
            if not self._open:
                return Failure(StorageFailed(reason=StorageReason.CLOSED, detail="the store is closed"))
            return _in_transaction(self._connection, lambda: call(_Tables(self._connection)))


# --- opening --------------------------------------------------------------------------------------

_SCHEMA: Final = (
    "CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), store_id TEXT NOT NULL,"
    " last_ms INTEGER NOT NULL)",
    "CREATE TABLE texts (session_id BLOB NOT NULL, source_event BLOB NOT NULL, task_id BLOB NOT NULL,"
    " expires_at_ms INTEGER NOT NULL, total_bytes INTEGER NOT NULL, content BLOB NOT NULL,"
    " UNIQUE (session_id, source_event))",
    # Sums and expiries are read from this index alone, past the texts.
    "CREATE INDEX texts_by_expiry ON texts (expires_at_ms, total_bytes)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


def _opened(path: str, limits: StoreLimits, wait_ms: int) -> Outcome[SqliteStore, StoreFailure]:
    connection = _connected(path, wait_ms)
    if isinstance(connection, StorageFailed):
        return Failure(connection)
    problem = _prepared(connection, limits)
    if problem is not None:
        _close(connection)
        return Failure(problem)
    return Success(SqliteStore(connection, limits))


def _connected(path: str, wait_ms: int) -> sqlite3.Connection | StorageFailed:
    if not path:  # SQLite would take it for a file of its own that is gone afterwards
        return StorageFailed(reason=StorageReason.CANNOT_OPEN, detail="the path is empty")
    try:
        return sqlite3.connect(path, timeout=wait_ms / 1000, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        return _named(error)
    except (ValueError, OverflowError) as error:  # a path with a NUL or half a pair, or an endless wait
        return StorageFailed(reason=StorageReason.CANNOT_OPEN, detail=str(error))


def _prepared(connection: sqlite3.Connection, limits: StoreLimits) -> StoreFailure | None:
    """Make a new file ours, or see that an old one is."""
    match _in_transaction(connection, lambda: _claimed(connection, limits)):
        case Failure(refused):
            return refused
        case Success():
            pass
    try:
        connection.execute("PRAGMA synchronous = FULL")
        # Once a file is written ahead, it stays so. Who holds it right now has said so himself, and a file
        # that cannot be written ahead is as safe, and only slower.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        return _named(error)
    return None


def _claimed(connection: sqlite3.Connection, limits: StoreLimits) -> Outcome[None, StoreFailure]:
    application = _number(connection, "PRAGMA application_id")
    version = _number(connection, "PRAGMA user_version")
    if (application, version, _number(connection, "SELECT count(*) FROM sqlite_master")) == (0, 0, 0):
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO store VALUES (1, ?, 0)", (limits.store_id,))
        return Success(None)
    if application != APPLICATION_ID:
        detail = "the database of another program"
        return Failure(StorageFailed(reason=StorageReason.FOREIGN_DATABASE, detail=detail))
    if version != SCHEMA_VERSION:
        detail = f"version {version}, not {SCHEMA_VERSION}"
        return Failure(StorageFailed(reason=StorageReason.OTHER_VERSION, detail=detail))
    row = connection.execute("SELECT store_id FROM store").fetchone()
    if row != (limits.store_id,):
        return Failure(StorageFailed(reason=StorageReason.OTHER_STORE, detail="another store's id"))
    return Success(None)


def _number(connection: sqlite3.Connection, query: str) -> int:
    return cast("int", connection.execute(query).fetchone()[0])


# --- transactions ---------------------------------------------------------------------------------


def _in_transaction(
    connection: sqlite3.Connection, work: Callable[[], Outcome[_Value, StoreFailure]]
) -> Outcome[_Value, StoreFailure]:
    try:
        connection.execute("BEGIN IMMEDIATE")
        answer = work()
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        _roll_back(connection)
        return Failure(_named(error))
    except (_Damaged, UnicodeDecodeError) as damaged:
        _roll_back(connection)
        return Failure(StorageFailed(reason=StorageReason.CORRUPT, detail=str(damaged)))
    return answer


def _roll_back(connection: sqlite3.Connection) -> None:
    """Give up what was begun; where even that fails, the next call says so."""
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _close(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        connection.close()


class _Damaged(Exception):
    """The file is a sound database that does not say what we wrote."""


def _damaged(what: str) -> NoReturn:
    raise _Damaged(what)


# --- what the database says -----------------------------------------------------------------------

_REASONS: Final = {
    sqlite3.SQLITE_BUSY: StorageReason.LOCKED,
    sqlite3.SQLITE_LOCKED: StorageReason.LOCKED,
    sqlite3.SQLITE_READONLY: StorageReason.READ_ONLY,
    sqlite3.SQLITE_FULL: StorageReason.DISK_FULL,
    sqlite3.SQLITE_CORRUPT: StorageReason.CORRUPT,
    sqlite3.SQLITE_NOTADB: StorageReason.NOT_A_DATABASE,
    sqlite3.SQLITE_CANTOPEN: StorageReason.CANNOT_OPEN,
}


def _named(error: sqlite3.Error) -> StorageFailed:
    # Errors of the module itself have no code; the low byte of an extended code is its kind.
    code = cast("int", getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
    return StorageFailed(reason=_REASONS.get(code, StorageReason.OTHER), detail=str(error))


# --- the tables -----------------------------------------------------------------------------------

_KEY: Final = "WHERE session_id = ? AND source_event = ?"


@final
class _Tables(Shelf):
    """The texts of an open transaction. What is read is looked at: somebody may have written to the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @override
    def last_ms(self) -> int:
        return self._whole("SELECT last_ms FROM store")

    @override
    def tell(self, now: int) -> None:
        self._connection.execute("UPDATE store SET last_ms = ?", (now,))

    @override
    def used(self) -> tuple[int, int]:
        query = "SELECT count(*) FROM texts", "SELECT ifnull(sum(total_bytes), 0) FROM texts"
        return self._whole(query[0]), self._whole(query[1])

    @override
    def held(self, session_id: SessionId, source: EventId) -> Held | None:
        row = self._connection.execute(
            f"SELECT task_id, expires_at_ms, total_bytes, length(content) FROM texts {_KEY}",
            _key(session_id, source),
        ).fetchone()
        match row:
            case None:
                return None
            case (bytes(task_id), int(expires_at_ms), int(total_bytes), int(length)) if total_bytes == length:
                return Held(
                    task_id=TaskId(task_id.decode()), expires_at_ms=expires_at_ms, total_bytes=total_bytes
                )
            case _:
                _damaged("a row of another form")

    @override
    def piece(self, session_id: SessionId, source: EventId, offset: int, size: int) -> bytes:
        # Of an empty text SQLite cuts nothing at all, rather than no bytes.
        row = self._connection.execute(
            f"SELECT ifnull(substr(content, ?, ?), x'') FROM texts {_KEY}",
            (offset + 1, size, *_key(session_id, source)),
        ).fetchone()
        match row:
            case (bytes(piece),):
                return piece
            case _:
                _damaged("a text that is no bytes")

    @override
    def add(self, session_id: SessionId, source: EventId, held: Held, raw: bytes) -> None:
        self._connection.execute(
            "INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?)",
            (*_key(session_id, source), held.task_id.encode(), held.expires_at_ms, held.total_bytes, raw),
        )

    @override
    def prolong(self, session_id: SessionId, source: EventId, expires_at_ms: int) -> None:
        self._connection.execute(
            f"UPDATE texts SET expires_at_ms = ? {_KEY}", (expires_at_ms, *_key(session_id, source))
        )

    @override
    def drop_expired(self, now: int) -> Purged:
        expired = "FROM texts WHERE expires_at_ms <= ?"
        entries = self._whole(f"SELECT count(*) {expired}", now)
        freed = self._whole(f"SELECT ifnull(sum(total_bytes), 0) {expired}", now)
        if entries:
            self._connection.execute(f"DELETE {expired}", (now,))
        return Purged(entries=entries, total_bytes=freed)

    def _whole(self, query: str, *arguments: int) -> int:
        match self._connection.execute(query, arguments).fetchone():
            case (int(number),):
                return number
            case _:
                _damaged("a number of another form")


def _key(session_id: SessionId, source: EventId) -> tuple[bytes, bytes]:
    return session_id.encode(), source.encode()
