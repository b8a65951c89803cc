"""Every failure of choosing, condensing and composing as JSON: the kind, and every fact it has."""

from typing import Any, Final, get_args

import attrs
import pytest

from jingwei.compose.failure_values import (
    compose_failure_value,
    condense_failure_value,
    select_failure_value,
    triggers_failure_value,
    unknown_item_value,
)
from jingwei.compose.observe import UnknownItem
from jingwei.compose.pipeline import ComposeFailure, StateOfAnotherSession, UnknownSource
from jingwei.compose.task_state import InvalidTaskState
from jingwei.compose.triggers import InvalidTriggerReason, InvalidTriggers
from jingwei.condensers.failures import (
    AlreadyCondensed,
    CondenseFailure,
    InvalidCondensation,
    InvalidCondensationReason,
    InvalidCondenseLimit,
    NotSmaller,
    NotThisKind,
    TextTooLarge,
)
from jingwei.ids import EventId, ItemId, SessionId, TurnId
from jingwei.items.budget import InvalidTokenBudget, TokenBudgetReason
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.records import ItemKind
from jingwei.items.worth import InvalidWeights, WeightReason
from jingwei.report.failures import BuildFailure, CountLimit
from jingwei.selection.by_value import InvalidTurnWorth, TurnWorthReason
from jingwei.selection.choose import (
    InvalidOption,
    InvalidQuota,
    OptionReason,
    QuotaReason,
    RequiredCost,
    RequiredExceed,
)
from jingwei.selection.condense_then_drop import InvalidPolicy, PolicyProblem
from jingwei.selection.select import NoCandidates, SelectFailure
from tests.compose.composing import composed, observation

CONDENSE: Final[list[tuple[CondenseFailure, dict[str, Any]]]] = [
    (NotThisKind(kind="json", line=3), {"text_kind": "json", "line": 3}),
    (NotSmaller(before=9, after=10), {"before": 9, "after": 10}),
    (AlreadyCondensed(total_bytes=9), {"total_bytes": 9}),
    (TextTooLarge(limit=5, actual=9), {"limit": 5, "actual": 9}),
    (InvalidCondenseLimit(what="max_facts", actual=0), {"what": "max_facts", "actual": 0}),
    (
        InvalidCondensation(
            method="own", reason=InvalidCondensationReason.VALUE_NOT_THERE, fact=2, reference=None
        ),
        {"method": "own", "reason": "value_not_there", "fact": 2, "reference": None},
    ),
]
WEIGHTS: Final = InvalidWeights(field=None, reason=WeightReason.ALL_ZERO)
QUOTA: Final = InvalidQuota(kind=None, reason=QuotaReason.REPEATED_KIND)
ITEM: Final = InvalidItem(
    item_id=ItemId("a"), field="trust", reason=InvalidItemReason.NOT_A_NUMBER, actual="nan"
)
SHARED: Final[list[tuple[Any, dict[str, Any]]]] = [
    (ITEM, {"item_id": "a", "field": "trust", "reason": "not_a_number", "actual": "nan"}),
    (WEIGHTS, {"field": None, "reason": "all_zero"}),
    (
        InvalidWeights(field="trust", reason=WeightReason.NOT_A_NUMBER),
        {"field": "trust", "reason": "not_a_number"},
    ),
    (QUOTA, {"item_kind": None, "reason": "repeated_kind"}),
    (
        InvalidQuota(kind=ItemKind.FACT, reason=QuotaReason.NEGATIVE_FLOOR),
        {"item_kind": "fact", "reason": "negative_floor"},
    ),
]
SELECT: Final[list[tuple[SelectFailure, dict[str, Any]]]] = [
    (NoCandidates(), {}),
    *SHARED,
    (
        InvalidOption(key="a", reason=OptionReason.NEGATIVE_COST),
        {"item_id": "a", "reason": "negative_cost"},
    ),
    (
        RequiredExceed(room=-1, total=9, rows=(RequiredCost(key="a", cost=9),)),
        {"room": -1, "total": 9, "items": [{"item_id": "a", "cost": 9}]},
    ),
]
COMPOSE: Final[list[tuple[ComposeFailure, dict[str, Any]]]] = [
    (
        StateOfAnotherSession(expected=SessionId("s"), actual=SessionId("x")),
        {"expected": "s", "actual": "x"},
    ),
    (InvalidTaskState(field="tenant_id"), {"field": "tenant_id"}),
    (
        InvalidTokenBudget(field="window", reason=TokenBudgetReason.ZERO_WINDOW, actual=0),
        {"field": "window", "reason": "zero_window", "actual": 0},
    ),
    (UnknownSource(item_id=ItemId("a"), event_id=EventId("e")), {"item_id": "a", "event_id": "e"}),
    *SHARED,
    (
        InvalidTurnWorth(turn_id=TurnId("t"), reason=TurnWorthReason.OUT_OF_RANGE),
        {"turn_id": "t", "reason": "out_of_range"},
    ),
    (
        InvalidPolicy(reason=PolicyProblem.PREVIEW_OVER_INLINE, actual=9, limit=5),
        {"reason": "preview_over_inline", "actual": 9, "limit": 5},
    ),
]


@pytest.mark.parametrize(("failure", "facts"), CONDENSE)
def test_condensing(failure: CondenseFailure, facts: dict[str, Any]) -> None:
    assert {"kind": type(failure).__name__, **facts} == condense_failure_value(failure)


@pytest.mark.parametrize(("failure", "facts"), SELECT)
def test_choosing(failure: SelectFailure, facts: dict[str, Any]) -> None:
    assert {"kind": type(failure).__name__, **facts} == select_failure_value(failure)


@pytest.mark.parametrize(("failure", "facts"), COMPOSE)
def test_composing(failure: ComposeFailure, facts: dict[str, Any]) -> None:
    assert {"kind": type(failure).__name__, **facts} == compose_failure_value(failure)


def test_the_failures_of_the_build_are_told_as_the_build_tells_them() -> None:
    told = compose_failure_value(composed(observation("a", "x" * 900, required=True), window=700).failure())
    report = told["report"]
    assert isinstance(report, dict)

    assert {"kind": "DoesNotFit", "exhaustive": True} == {key: told[key] for key in ("kind", "exhaustive")}
    assert {"a"} < {row["item_id"] for row in report["items"]}


def test_no_failure_is_forgotten() -> None:
    """What the tables above hold is what the unions hold."""
    assert set(get_args(CondenseFailure)) == {type(failure) for failure, _ in CONDENSE}
    assert set(get_args(SelectFailure)) == {type(failure) for failure, _ in SELECT}
    own = set(get_args(ComposeFailure)) - set(get_args(BuildFailure))
    assert own <= {type(failure) for failure, _ in COMPOSE}
    assert CountLimit not in own


@pytest.mark.parametrize(
    ("failure", "facts"),
    [row for row in (*CONDENSE, *SELECT, *COMPOSE) if not isinstance(row[0], InvalidItem)],
)
def test_every_attribute_is_told_under_a_name(failure: Any, facts: dict[str, Any]) -> None:
    assert len(attrs.fields(type(failure))) == len(facts)


def test_advice_and_stories() -> None:
    triggers = InvalidTriggers(reason=InvalidTriggerReason.CAP_OUT_OF_RANGE, actual="0")

    assert {
        "kind": "InvalidTriggers",
        "reason": "cap_out_of_range",
        "actual": "0",
    } == triggers_failure_value(triggers)
    assert {"kind": "UnknownItem", "item_id": "x", "known": 3} == unknown_item_value(
        UnknownItem(item_id=ItemId("x"), known=3)
    )
