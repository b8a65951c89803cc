"""Which summaries stand, and which sets of them contradict themselves (S8)."""

from typing import Any

import attrs
import pytest

from jingwei.ids import SessionId, SummaryId
from jingwei.outcome import Failure, Success
from jingwei.summaries.active import active_summaries, ancestors_of
from jingwei.summaries.failures import SummarySetBroken, SummarySetReason
from jingwei.summaries.records import Summary
from tests.summaries.world import GOOD

R = SummarySetReason


def one(name: str, version: int = 1, *old: str, **more: Any) -> Summary:
    supersedes = tuple(map(SummaryId, old))
    return attrs.evolve(GOOD, summary_id=SummaryId(name), version=version, supersedes=supersedes, **more)


@pytest.mark.parametrize(
    ("given", "active"),
    [
        ([], ""),
        ([one("b"), one("a", first_seq=-1)], "ab"),
        ([one("b"), one("a"), one("a")], "ab"),
        ([one("a"), one("b", 2, "a")], "b"),
        ([one("c", 3, "b"), one("a"), one("b", 2, "a")], "c"),
        ([one("c", 3, "a", "b"), one("a"), one("b", 2, "x")], "c"),
        ([one("b", 7, "gone")], "b"),
        ([one("b", 7, "gone", "a"), one("a", 6, "x")], "b"),
    ],
)
def test_active_are_those_that_none_supersedes(given: list[Summary], active: str) -> None:
    assert list(active) == [found.summary_id for found in active_summaries(given).unwrap()]


@pytest.mark.parametrize(
    ("given", "reason", "names"),
    [
        ([one("a"), one("a", 2)], R.REPEATED_ID, "a"),
        ([one("a"), one("b", session_id=SessionId("z"))], R.SEVERAL_SESSIONS, "b"),
        ([one("a", 2, "a")], R.CYCLE, "a"),
        ([one("a", 2, "b"), one("b", 3, "a", "c"), one("c"), one("d", 4, "a")], R.CYCLE, "ab"),
        ([one("a", 0)], R.WRONG_VERSION, "a"),
        ([one("a", 2)], R.WRONG_VERSION, "a"),
        ([one("a"), one("b", 3, "a")], R.WRONG_VERSION, "b"),
        ([one("a", 1, "gone")], R.WRONG_VERSION, "a"),
        ([one("a"), one("b", 1, "gone", "a")], R.WRONG_VERSION, "b"),
    ],
)
def test_contradictions_are_named(given: list[Summary], reason: SummarySetReason, names: str) -> None:
    broken = SummarySetBroken(reason=reason, summary_ids=tuple(map(SummaryId, names)))

    assert Failure(broken) == active_summaries(given)


def test_numbers_of_any_length_are_taken() -> None:
    assert Success((GOOD,)) == active_summaries([attrs.evolve(GOOD)])
    assert Failure(SummarySetBroken(reason=R.WRONG_VERSION, summary_ids=(SummaryId("a"),))) == (
        active_summaries([one("a", 10**5_000)])
    )


def test_ancestors_are_found_once_also_in_a_ring() -> None:
    known = {found.summary_id: found for found in (one("a", 2, "b"), one("b", 3, "a", "a", "gone"))}

    assert ["a", "b"] == sorted(found.summary_id for found in ancestors_of(one("c", 4, "a"), known))
