"""Opening a store that there is, for those who only read (rule T5)."""

import os
from typing import Final

from jingwei.outcome import Failure, Outcome
from jingwei.ports import StorageFailed, StorageReason, StoreFailure, StoreLimits
from jingwei.stores.sqlite import SqliteStore, open_sqlite_store

_NO_FILE: Final = "there is no such file"


def open_existing_store(path: str, limits: StoreLimits) -> Outcome[SqliteStore, StoreFailure]:
    """The store in a file, as `open_sqlite_store` opens it; but no file is ever made (T5).

    Who only reads would else find an empty store where the path is wrong, and leave one behind. The file is
    still written to, since a store keeps the latest time that it was told.
    """
    if not os.path.isfile(path):
        return Failure(StorageFailed(reason=StorageReason.CANNOT_OPEN, detail=_NO_FILE))
    return open_sqlite_store(path, limits)
