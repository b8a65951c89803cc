"""Failures of tools, results, stores and steps as plain JSON values (docs/batch.md)."""

import enum
from typing import Final, TypeAlias, cast

import attrs

from jingwei.action.failures import (
    InterpretFailure,
    InvalidSchema,
    InvalidStep,
    NotRecorded,
    OtherReference,
    ReservedToolName,
    ToolEvidenceMismatch,
)
from jingwei.jsontext import JsonValue
from jingwei.ports import StoreFailure
from jingwei.report.failure_values import JsonObject, build_failure_value, shape_failure_value
from jingwei.report.failures import BuildFailure
from jingwei.request.tool_views import CatalogInvalid, ToolViewFailure
from jingwei.results.failures import (
    InvalidResult,
    InvalidResultPolicy,
    RecordedViewFailure,
    ReferenceMismatch,
)
from jingwei.stores.read_tool import ReadRefused

NotShown: TypeAlias = InvalidResult | ReferenceMismatch | OtherReference | StoreFailure
"""Why a result is not shown, or not as it should be; its tool has run."""

ToolFailure: TypeAlias = (
    ToolViewFailure
    | InvalidResultPolicy
    | NotShown
    | InvalidStep
    | ReservedToolName
    | InvalidSchema
    | RecordedViewFailure
    | InterpretFailure
    | ToolEvidenceMismatch
    | NotRecorded
)
"""Every failure whose facts are its attributes."""

PlanFailure: TypeAlias = InvalidStep | ToolViewFailure | ReservedToolName | InvalidSchema | BuildFailure
"""What `plan_step` fails with."""


def tool_failure_value(failure: ToolFailure) -> JsonObject:
    """A failure with all its attributes; what stands in it has the same form, without a kind (T1 to T7)."""
    if isinstance(failure, CatalogInvalid):
        return {"kind": "CatalogInvalid", "error": shape_failure_value(failure.error)}
    return {"kind": type(failure).__name__, **facts(failure)}


def plan_failure_value(failure: PlanFailure) -> JsonObject:
    """Why a step is not planned (T6). Paths lead into the request, whose keys are not nested."""
    match failure:
        case InvalidStep(reason=reason, path=path):
            return {"kind": "InvalidStep", "reason": reason.value, "path": path.removeprefix(_NESTED)}
        case ReservedToolName() | InvalidSchema():
            return tool_failure_value(failure)
        case _:
            if isinstance(failure, ToolViewFailure):
                return tool_failure_value(failure)
            return build_failure_value(failure)


def read_refused_value(refused: ReadRefused, answer: str) -> JsonObject:
    """Why nothing was read (T4), for the host; and what its model is told."""
    said = None if refused.failure is None else tool_failure_value(refused.failure)
    return {
        "kind": "ReadRefused",
        "reason": refused.reason.value,
        "argument": refused.argument,
        "failure": said,
        "answer": answer,
    }


def facts(record: attrs.AttrsInstance) -> JsonObject:
    """The attributes of a record, in order: each is there, null where it is None."""
    return {field.name: _plain(getattr(record, field.name)) for field in attrs.fields(type(record))}


_NESTED: Final = "/build"


def _plain(value: object) -> JsonValue:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return [_plain(one) for one in cast("tuple[object, ...]", value)]
    return facts(cast("attrs.AttrsInstance", value))
