"""What every operation does with what it was given: read it, answer it, or say that it is none."""

from typing import TypeVar, final

import attrs

from jingwei.codec import RecordCodec, RecordProblem
from jingwei.jsontext import JsonValue, pointer
from jingwei.report.failure_values import JsonObject

_Read = TypeVar("_Read")


@final
@attrs.frozen(kw_only=True)
class BadRequest:
    """A line that is no request.

    Attributes:
        reason: for people: what was expected and what came.
        path: JSON Pointer of the place; None where the line is no JSON.
    """

    reason: str
    path: str | None


def read(codec: RecordCodec, body: JsonObject, cls: type[_Read]) -> _Read | BadRequest:
    """The keys of an operation as one record; unknown keys and wrong types are no request."""
    record = codec.read(body, cls)
    if isinstance(record, RecordProblem):
        return BadRequest(reason=problem_said(record), path=pointer(record.steps))
    return record


def ok(value: JsonValue) -> JsonObject:
    """An answer."""
    return {"ok": value}


def failed(failure: JsonObject) -> JsonObject:
    """A failure of the rules, as its record says it."""
    return {"failure": failure}


def bad(failure: BadRequest) -> JsonObject:
    """A request that is none."""
    return failed({"kind": "BadRequest", "reason": failure.reason, "path": failure.path})


def problem_said(problem: RecordProblem) -> str:
    """What is wrong with a value, for people."""
    return f"{problem.reason.value}: expected {problem.expected}, met {problem.actual}"
