"""The records of the host's side: what a store is made with, and what its references hold."""

from typing import get_args

import attrs

from jingwei import ports
from jingwei.ids import StoreId
from jingwei.ports import ContentRef, ContentScope, StoreFailure, StoreLimits


def test_the_default_limits_are_those_of_the_documentation() -> None:
    limits = StoreLimits(store_id=StoreId("s"))

    assert ("s", 4096, 2**28, 2**24, 2**16, 604_800_000, 10_000) == attrs.astuple(limits)


def test_a_reference_holds_what_the_rule_says_and_no_path() -> None:
    """T3: store, source event, scope (session, task, expiry) and total bytes."""
    assert ["store_id", "source_event", "scope", "total_bytes"] == [f.name for f in attrs.fields(ContentRef)]
    assert ["session_id", "task_id", "expires_at_ms"] == [f.name for f in attrs.fields(ContentScope)]


def test_every_failure_of_the_room_is_a_member_of_the_union() -> None:
    records = {cls for cls in vars(ports).values() if isinstance(cls, type) and attrs.has(cls)}
    told = {"ContentScope", "ContentRef", "Page", "Purged", "StoreLimits"}

    assert set(get_args(StoreFailure)) == {cls for cls in records if cls.__name__ not in told}
