"""What a store may be made with; what it decides is tested through the stores."""

import attrs
import pytest

from jingwei.ids import StoreId
from jingwei.outcome import Failure, Success
from jingwei.ports import InvalidStoreConfig, InvalidStoreConfigReason, StoreLimits
from jingwei.stores.in_memory import in_memory_store
from jingwei.stores.rules import checked_limits, store_limits
from jingwei.stores.sqlite import open_sqlite_store

GOOD = StoreLimits(store_id=StoreId("aZ0-_"))
R = InvalidStoreConfigReason


def test_possible_limits_come_back() -> None:
    """Each may stand at its edge; the longest id has 64 characters."""
    least = StoreLimits(
        store_id=StoreId("x" * 64),
        max_entries=1,
        max_bytes=1,
        max_content_bytes=1,
        max_page_bytes=4,
        max_ttl_ms=1,
        max_skew_ms=0,
    )

    assert Success(GOOD) == store_limits(store_id=GOOD.store_id)
    assert Success(least) == checked_limits(least)
    assert Success(least) == store_limits(
        store_id=StoreId("x" * 64),
        max_entries=1,
        max_bytes=1,
        max_content_bytes=1,
        max_page_bytes=4,
        max_ttl_ms=1,
        max_skew_ms=0,
    )


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "é", "a\n", "a/b", "\ud800"])
def test_a_store_id_that_is_no_name_is_refused(name: str) -> None:
    refused = InvalidStoreConfig(field="store_id", reason=R.BAD_STORE_ID, actual=len(name))

    assert Failure(refused) == store_limits(store_id=StoreId(name))


@pytest.mark.parametrize(
    ("field", "reason", "value"),
    [
        *[
            (name, R.OUT_OF_RANGE, value)
            for name in ("max_entries", "max_bytes", "max_content_bytes", "max_page_bytes", "max_ttl_ms")
            for value in (0, -1, 2**53)
        ],
        ("max_skew_ms", R.OUT_OF_RANGE, -1),
        ("max_skew_ms", R.OUT_OF_RANGE, 2**53),
        ("max_page_bytes", R.PAGE_BELOW_CHARACTER, 3),
        ("max_content_bytes", R.CONTENT_OVER_TOTAL, GOOD.max_bytes + 1),
    ],
)
def test_an_impossible_limit_is_found_when_a_store_is_made(field: str, reason: R, value: int) -> None:
    limits = attrs.evolve(GOOD, **{field: value})  # type: ignore[arg-type]  # an integer each
    refused = Failure(InvalidStoreConfig(field=field, reason=reason, actual=value))

    assert refused == checked_limits(limits)
    assert refused == in_memory_store(limits)
    assert refused == open_sqlite_store(":memory:", limits)
