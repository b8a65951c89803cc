"""A store that is only read is never made."""

from pathlib import Path

import pytest

from jingwei.ids import EventId, SessionId, StoreId, TaskId
from jingwei.outcome import Success
from jingwei.ports import ContentScope, StorageFailed, StorageReason, StoreLimits
from jingwei.stores.existing import open_existing_store
from jingwei.stores.sqlite import open_sqlite_store

LIMITS = StoreLimits(store_id=StoreId("files"))
SCOPE = ContentScope(session_id=SessionId("s"), task_id=TaskId("t"), expires_at_ms=9)


@pytest.mark.parametrize("name", ["none.sqlite", "", "no\0name", "\ud800", "x" * 5000, "none/none.sqlite"])
def test_where_there_is_no_file_none_is_made(tmp_path: Path, name: str) -> None:
    found = open_existing_store(f"{tmp_path}/{name}", LIMITS)

    assert StorageFailed(reason=StorageReason.CANNOT_OPEN, detail="there is no such file") == found.failure()
    assert [] == list(tmp_path.iterdir())


def test_a_store_that_is_there_is_opened(tmp_path: Path) -> None:
    path = str(tmp_path / "texts.sqlite")
    with open_sqlite_store(path, LIMITS).unwrap() as store:
        ref = store.put(SCOPE, EventId("e"), "text", 1).unwrap()

    with open_existing_store(path, LIMITS).unwrap() as again:
        page = again.read(ref, SCOPE, 2, 0, 9)

    assert isinstance(page, Success)
    assert "text" == page.unwrap().text


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"not a database, and longer than its header is" * 9)

    found = open_existing_store(str(path), LIMITS).failure()

    assert isinstance(found, StorageFailed)
    assert StorageReason.NOT_A_DATABASE is found.reason
