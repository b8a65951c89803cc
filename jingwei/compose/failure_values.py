"""Failures of choosing, condensing and composing as plain JSON values (docs/batch.md)."""

from typing import assert_never

from jingwei.compose.observe import UnknownItem
from jingwei.compose.pipeline import ComposeFailure, StateOfAnotherSession, UnknownSource
from jingwei.compose.task_state import InvalidTaskState
from jingwei.compose.triggers import InvalidTriggers
from jingwei.condensers.failures import (
    AlreadyCondensed,
    CondenseFailure,
    InvalidCondensation,
    InvalidCondenseLimit,
    NotSmaller,
    NotThisKind,
    TextTooLarge,
)
from jingwei.items.budget import InvalidTokenBudget
from jingwei.items.failures import InvalidItem
from jingwei.items.worth import InvalidWeights
from jingwei.report.failure_values import JsonObject, build_failure_value, item_failure_value
from jingwei.selection.by_value import InvalidTurnWorth
from jingwei.selection.choose import InvalidOption, InvalidQuota, RequiredExceed
from jingwei.selection.condense_then_drop import InvalidPolicy
from jingwei.selection.select import NoCandidates, SelectFailure


def condense_failure_value(failure: CondenseFailure) -> JsonObject:
    """Why a text stays as it is (T2)."""
    match failure:
        case NotThisKind(kind=kind, line=line):
            facts: JsonObject = {"text_kind": kind, "line": line}
        case NotSmaller(before=before, after=after):
            facts = {"before": before, "after": after}
        case AlreadyCondensed(total_bytes=total):
            facts = {"total_bytes": total}
        case TextTooLarge(limit=limit, actual=actual):
            facts = {"limit": limit, "actual": actual}
        case InvalidCondenseLimit(what=what, actual=actual):
            facts = {"what": what, "actual": actual}
        case InvalidCondensation(method=method, reason=reason, fact=fact, reference=reference):
            facts = {"method": method, "reason": reason.value, "fact": fact, "reference": reference}
        case _:
            assert_never(failure)
    return {"kind": type(failure).__name__, **facts}


def select_failure_value(failure: SelectFailure) -> JsonObject:
    """Why nothing was chosen (S4a)."""
    match failure:
        case NoCandidates():
            return {"kind": "NoCandidates"}
        case InvalidItem():
            return item_failure_value(failure)
        case InvalidWeights() | InvalidQuota():
            return _by_value_failure_value(failure)
        case InvalidOption(key=key, reason=reason):
            return {"kind": "InvalidOption", "item_id": key, "reason": reason.value}
        case RequiredExceed(room=room, total=total, rows=rows):
            return {
                "kind": "RequiredExceed",
                "room": room,
                "total": total,
                "items": [{"item_id": row.key, "cost": row.cost} for row in rows],
            }
        case _:
            assert_never(failure)


def compose_failure_value(failure: ComposeFailure) -> JsonObject:
    """Why nothing was composed (S4a)."""
    match failure:
        case StateOfAnotherSession(expected=expected, actual=actual):
            return {"kind": "StateOfAnotherSession", "expected": expected, "actual": actual}
        case InvalidTaskState(field=field):
            return {"kind": "InvalidTaskState", "field": field}
        case InvalidTokenBudget(field=field, reason=reason, actual=number):
            return {"kind": "InvalidTokenBudget", "field": field, "reason": reason.value, "actual": number}
        case UnknownSource(item_id=item_id, event_id=event_id):
            return {"kind": "UnknownSource", "item_id": item_id, "event_id": event_id}
        case InvalidWeights() | InvalidQuota() | InvalidTurnWorth() | InvalidPolicy():
            return _by_value_failure_value(failure)
        case _:
            return build_failure_value(failure)


def triggers_failure_value(failure: InvalidTriggers) -> JsonObject:
    """Why no advice is given (S6)."""
    return {"kind": "InvalidTriggers", "reason": failure.reason.value, "actual": failure.actual}


def unknown_item_value(failure: UnknownItem) -> JsonObject:
    """An item that a report does not speak of (S7)."""
    return {"kind": "UnknownItem", "item_id": failure.item_id, "known": failure.known}


def _by_value_failure_value(
    failure: InvalidWeights | InvalidQuota | InvalidTurnWorth | InvalidPolicy,
) -> JsonObject:
    match failure:
        case InvalidWeights(field=field, reason=reason):
            return {"kind": "InvalidWeights", "field": field, "reason": reason.value}
        case InvalidQuota(kind=kind, reason=why):
            named = None if kind is None else kind.value
            return {"kind": "InvalidQuota", "item_kind": named, "reason": why.value}
        case InvalidTurnWorth(turn_id=turn_id, reason=wrong):
            return {"kind": "InvalidTurnWorth", "turn_id": turn_id, "reason": wrong.value}
        case InvalidPolicy(reason=problem, actual=actual, limit=limit):
            return {"kind": "InvalidPolicy", "reason": problem.value, "actual": actual, "limit": limit}
        case _:
            assert_never(failure)
