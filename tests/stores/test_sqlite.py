"""The store in a file: restarts, other processes, and everything that can be wrong with a file."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from typing_extensions import override

from jingwei.ids import EventId, SessionId, StoreId, TaskId
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import (
    ClockWentBack,
    ContentRef,
    ContentScope,
    Purged,
    StorageFailed,
    StorageReason,
    StoreFailure,
    StoreLimits,
)
from jingwei.stores import sqlite
from jingwei.stores.sqlite import SqliteStore, open_sqlite_store

LIMITS = StoreLimits(store_id=StoreId("file"), max_skew_ms=100)
SCOPE = ContentScope(session_id=SessionId("s"), task_id=TaskId("t"), expires_at_ms=100_000)
E = EventId("e")


def opened(path: Path, limits: StoreLimits = LIMITS, wait_ms: int = 5000) -> SqliteStore:
    return open_sqlite_store(path, limits, wait_ms=wait_ms).unwrap()


def reason(outcome: Outcome[object, StoreFailure]) -> StorageReason:
    failure = outcome.failure()
    assert isinstance(failure, StorageFailed)
    assert failure.detail
    return failure.reason


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def ref(path: Path) -> ContentRef:
    """A text in a closed file."""
    with opened(path) as store:
        return store.put(SCOPE, E, "中文 text", 5000).unwrap()


def test_it_survives_a_restart_with_its_texts_and_its_clock(path: Path, ref: ContentRef) -> None:
    with opened(path) as store:
        read = store.read(ref, SCOPE, 5000, 0, 100).unwrap().text
        again = store.put(SCOPE, E, "中文 text", 5000)
        back = store.read(ref, SCOPE, 1, 0, 100)

    assert "中文 text" == read
    assert Success(ref) == again
    assert Failure(ClockWentBack(last_ms=5000, now_ms=1)) == back


def test_it_writes_ahead_and_says_whose_file_it_is(path: Path, ref: ContentRef) -> None:
    connection = sqlite3.connect(path)
    asked = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("journal_mode", "user_version")]
    sound = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()

    assert [("wal",), (1,)] == asked
    assert ("ok",) == sound


def test_a_closed_store_says_so(path: Path) -> None:
    store = opened(path)
    store.close()
    store.close()

    assert StorageReason.CLOSED is reason(store.put(SCOPE, E, "x", 1))
    assert StorageReason.CLOSED is reason(store.purge_expired(1))


# --- files that are not ours ----------------------------------------------------------------------


def written(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_file_that_is_no_database_is_named_and_left_alone(path: Path) -> None:
    path.write_bytes(b"these are notes, and no database\n" * 100)
    before = path.read_bytes()

    assert StorageReason.NOT_A_DATABASE is reason(open_sqlite_store(path, LIMITS))
    assert before == path.read_bytes()


@pytest.mark.parametrize(
    "statements",
    [("CREATE TABLE notes (text)",), ("PRAGMA user_version = 1",), ("PRAGMA application_id = 7",)],
)
def test_the_database_of_another_program_is_named_and_left_alone(
    path: Path, statements: tuple[str, ...]
) -> None:
    written(path, *statements)
    before = path.read_bytes()

    assert StorageReason.FOREIGN_DATABASE is reason(open_sqlite_store(path, LIMITS))
    assert before == path.read_bytes()


def test_another_version_of_the_tables_is_named(path: Path, ref: ContentRef) -> None:
    written(path, "PRAGMA user_version = 2")
    outcome = open_sqlite_store(path, LIMITS)

    assert StorageReason.OTHER_VERSION is reason(outcome)
    assert "version 2, not 1" == outcome.failure().detail  # type: ignore[union-attr]


def test_a_file_of_another_store_is_named(path: Path, ref: ContentRef) -> None:
    other = attrs.evolve(LIMITS, store_id=StoreId("other"))

    assert StorageReason.OTHER_STORE is reason(open_sqlite_store(path, other))


@pytest.mark.parametrize("name", ["", "no/such/folder/x.db", ".", "a\0b", "\ud800"])
def test_a_path_that_cannot_be_opened_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert StorageReason.CANNOT_OPEN is reason(open_sqlite_store(name, LIMITS))


def test_a_wait_without_end_is_named(path: Path) -> None:
    assert StorageReason.CANNOT_OPEN is reason(open_sqlite_store(path, LIMITS, wait_ms=10**400))
    assert isinstance(open_sqlite_store(path, LIMITS, wait_ms=-1), Success)


# --- files that fail ------------------------------------------------------------------------------

Connect = Callable[..., sqlite3.Connection]


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets a statement run on every connection that a store opens."""
    connect: Connect = sqlite3.connect

    def prepare(statement: str) -> None:
        def connected(*arguments: object, **options: object) -> sqlite3.Connection:
            connection = connect(*arguments, **options)
            connection.execute(statement)
            return connection

        monkeypatch.setattr(sqlite3, "connect", connected)

    return prepare


def test_a_file_that_may_not_be_written_is_named(
    path: Path, ref: ContentRef, prepared: Callable[[str], None]
) -> None:
    prepared("PRAGMA query_only = ON")

    assert StorageReason.READ_ONLY is reason(open_sqlite_store(path, LIMITS))


@pytest.mark.skipif(os.geteuid() == 0, reason="who runs this may write to everything")
def test_a_folder_that_may_not_be_written_is_named(path: Path, ref: ContentRef) -> None:
    path.chmod(0o400)
    path.parent.chmod(0o500)
    found = reason(open_sqlite_store(path, LIMITS))
    made = reason(open_sqlite_store(path.parent / "new.db", LIMITS))
    path.parent.chmod(0o700)

    assert StorageReason.READ_ONLY is found
    assert StorageReason.CANNOT_OPEN is made


def test_a_full_disk_is_named_and_loses_nothing(path: Path, prepared: Callable[[str], None]) -> None:
    prepared("PRAGMA max_page_count = 30")
    with opened(path) as store:
        kept = store.put(SCOPE, E, "kept", 1).unwrap()
        full = store.put(SCOPE, EventId("large"), "x" * 500_000, 2)
        after = store.read(kept, SCOPE, 2, 0, 100)
        small = store.put(SCOPE, EventId("small"), "x", 3)

    assert StorageReason.DISK_FULL is reason(full)
    assert "kept" == after.unwrap().text
    assert isinstance(small, Success)


def test_a_file_that_another_holds_is_named_after_waiting(path: Path, ref: ContentRef) -> None:
    store = opened(path, wait_ms=0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    held = store.put(SCOPE, EventId("f"), "x", 5000)
    opening = open_sqlite_store(path, LIMITS, wait_ms=0)
    other.execute("ROLLBACK")
    other.close()
    free = store.put(SCOPE, EventId("f"), "x", 5000)
    store.close()

    assert StorageReason.LOCKED is reason(held)
    assert StorageReason.LOCKED is reason(opening)
    assert isinstance(free, Success)


def test_a_damaged_file_is_named(path: Path) -> None:
    with opened(path) as store:
        ref = store.put(SCOPE, E, "x" * 100_000, 1).unwrap()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    outcome = open_sqlite_store(path, LIMITS)
    if isinstance(outcome, Success):  # the first page alone says whose it is
        outcome = outcome.unwrap().read(ref, SCOPE, 1, 0, 100)  # type: ignore[assignment]

    assert StorageReason.CORRUPT is reason(outcome)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE texts SET content = 'a text'",
        "UPDATE texts SET content = 'eleven char'",
        "UPDATE texts SET content = x'ffffffffffffffffffffff'",
        "UPDATE texts SET total_bytes = 3",
        "UPDATE texts SET task_id = x'ff'",
        "UPDATE texts SET expires_at_ms = 'soon'",
        "DELETE FROM store",
        "UPDATE store SET last_ms = 'noon'",
        "UPDATE texts SET expires_at_ms = -1, total_bytes = 0.5",
    ],
)
def test_a_sound_file_that_says_something_else_is_named(path: Path, ref: ContentRef, statement: str) -> None:
    store = opened(path)
    written(path, statement)
    read = store.read(ref, SCOPE, 5000, 0, 100)
    found = read if isinstance(read.failure(), StorageFailed) else store.purge_expired(5000)

    assert StorageReason.CORRUPT is reason(found)
    store.close()


def test_tables_that_are_gone_are_named(path: Path, ref: ContentRef) -> None:
    store = opened(path)
    written(path, "DROP TABLE texts")

    assert StorageReason.OTHER is reason(store.read(ref, SCOPE, 5000, 0, 100))
    store.close()


def test_a_failing_rollback_and_a_failing_close_change_no_answer(path: Path) -> None:
    """What the database says while it gives up is not said in the place of why it did."""

    class Broken(sqlite3.Connection):
        @override
        def execute(self, *arguments: object) -> sqlite3.Cursor:
            if arguments[0] in {"COMMIT", "ROLLBACK"} and breaking:
                raise sqlite3.OperationalError("broken")
            return super().execute(*arguments)  # type: ignore[arg-type]

        @override
        def close(self) -> None:
            super().close()
            raise sqlite3.OperationalError("broken")

    breaking = False
    connection = sqlite3.connect(path, isolation_level=None, factory=Broken, check_same_thread=False)
    opened(path).close()
    store = SqliteStore(connection, LIMITS)
    breaking = True
    failed = store.put(SCOPE, E, "x", 1)
    store.close()

    assert Failure(StorageFailed(reason=StorageReason.OTHER, detail="broken")) == failed


def test_a_file_that_fails_while_it_is_opened_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(sqlite3.Connection):
        @override
        def execute(self, *arguments: object) -> sqlite3.Cursor:
            if arguments == ("PRAGMA synchronous = FULL",):
                raise sqlite3.OperationalError("broken")
            return super().execute(*arguments)  # type: ignore[arg-type]

    connect: Connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, factory=Broken, **named))
    failed = open_sqlite_store(path, LIMITS)

    assert Failure(StorageFailed(reason=StorageReason.OTHER, detail="broken")) == failed


# --- other processes ------------------------------------------------------------------------------

WRITER = """
import sys
from jingwei.ids import *
from jingwei.ports import *
from jingwei.stores.sqlite import open_sqlite_store

path, name, count, entries = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
limits = StoreLimits(store_id=StoreId("file"), max_entries=entries, max_skew_ms=100)
scope = ContentScope(session_id=SessionId("s"), task_id=TaskId("t"), expires_at_ms=100_000)
store = open_sqlite_store(path, limits, wait_ms=60_000).unwrap()
print("open", flush=True)
sys.stdin.readline()
for number in range(count):
    answer = store.put(scope, EventId(f"{name}{number}"), f"{name} {number} " * 50, 5000)
    print(number if hasattr(answer, "unwrap") and answer.value_or(None) else answer.failure(), flush=True)
"""


def writer(path: Path, name: str, count: int, entries: int = 4096) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count), str(entries)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(sqlite.__file__).parents[2])},
    )


def started(process: "subprocess.Popen[str]") -> None:
    """Let it begin to write, now that it has opened the file."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_processes_that_write_at_once_pass_no_quota_and_lose_nothing(path: Path) -> None:
    both = [writer(path, name, 40, entries=50) for name in "ab"]
    for process in both:
        assert process.stdout is not None
        assert "open\n" == process.stdout.readline()
    for process in both:
        started(process)
    said = [process.communicate(timeout=60)[0].split("\n")[:-1] for process in both]
    stored = [
        (name, line) for name, lines in zip("ab", said, strict=True) for line in lines if line.isdigit()
    ]
    limits = attrs.evolve(LIMITS, max_entries=50)
    with opened(path, limits) as store:
        total = 0
        for name, number in stored:
            text = f"{name} {number} " * 50
            ref = ContentRef(
                store_id=LIMITS.store_id,
                source_event=EventId(name + number),
                scope=SCOPE,
                total_bytes=len(text),
            )
            total += len(text)
            assert text == store.read(ref, SCOPE, 5000, 0, 60_000).unwrap().text
        gone = store.purge_expired(100_000)

    assert [40, 40] == [len(lines) for lines in said]
    assert 50 == len(stored)
    assert all("StoreFull" in line for lines in said for line in lines if not line.isdigit())
    assert Success(Purged(entries=50, total_bytes=total)) == gone


def test_what_was_confirmed_before_a_kill_is_there_afterwards(path: Path) -> None:
    process = writer(path, "k", 4000)
    started(process)
    assert process.stdout is not None
    confirmed = [process.stdout.readline().strip() for _ in range(31)][1:]
    process.send_signal(signal.SIGKILL)
    confirmed += process.stdout.read().split("\n")[:-1]
    process.wait(timeout=60)
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()
    with opened(path) as store:
        for number in confirmed:
            again = store.put(SCOPE, EventId(f"k{number}"), f"k {number} " * 50, 5000)
            assert isinstance(again, Success), number
        more = store.put(SCOPE, EventId("after"), "x", 5000)
    connection = sqlite3.connect(path)
    entries = connection.execute("SELECT count(*) FROM texts").fetchone()[0]
    sound = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()

    assert isinstance(more, Success)
    assert len(confirmed) >= 30
    # One more may have been written and not yet said.
    assert entries - 1 - len(confirmed) in {0, 1}
    assert ("ok",) == sound
