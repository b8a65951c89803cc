"""How the functions of the path answer: `Success[T] | Failure[E]`, never an exception for bad data.

`Outcome[T, E]` is the closed union of the two containers of `returns`. It is still a `Result`
(so `.map`, `.alt` and `.value_or` work), but unlike `Result[T, E]` a `match` over it is
exhaustive, and keeps its types in mypy with and without the returns plugin and in pyright
(see docs/decisions/0002-outcome-alias.md). Match it, or narrow it with
`isinstance(outcome, Failure)`; `.alt(...)` and `.value_or(...)` lose a part of the type.
"""

from typing import TypeAlias, TypeVar

from returns.result import Failure, Success

__all__ = ["Failure", "Outcome", "Success"]

_Value = TypeVar("_Value")
_Error = TypeVar("_Error")

Outcome: TypeAlias = Success[_Value] | Failure[_Error]
