"""Counters as an operation names them (rules C2, C3)."""

from typing import Final, TypeAlias, final

import attrs

from jingwei.codec import Declarations
from jingwei.ops.requests import BadRequest
from jingwei.request.counting import (
    AdditiveCounter,
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    FramingAllowance,
    JsonFactor,
    Normalization,
)


@final
@attrs.frozen(kw_only=True)
class ByteHeuristicSpec:
    """`{"kind": "byte_heuristic"}`."""

    template_tokens: int = 32


@final
@attrs.frozen(kw_only=True)
class ByteBoundSpec:
    """`{"kind": "byte_bound"}`; the factor is written as `[numerator, denominator]`."""

    model: str
    template_revision: str
    normalization: Normalization
    json_factor: tuple[int, ...]
    allowance: FramingAllowance


CounterSpec: TypeAlias = ByteHeuristicSpec | ByteBoundSpec
"""A counter as JSON, told apart by `kind`."""

DEFAULT_COUNTER: Final = ByteHeuristicSpec()
"""Where a request names none."""


def declare(wire: Declarations) -> None:
    """The wire form of a counter."""
    wire.enums(Normalization)
    wire.record(Allowance, strict=True, required=("bytes", "specials"))
    wire.record(FramingAllowance, strict=True)
    wire.record(ByteHeuristicSpec, strict=True, constants={"kind": "byte_heuristic"})
    wire.record(ByteBoundSpec, strict=True, constants={"kind": "byte_bound"})
    wire.union(CounterSpec, "kind", {"byte_heuristic": ByteHeuristicSpec, "byte_bound": ByteBoundSpec})


def counter_of(spec: CounterSpec) -> AdditiveCounter | BadRequest:
    """The counter that a request describes."""
    if isinstance(spec, ByteHeuristicSpec):
        return ByteHeuristicCounter(template_tokens=spec.template_tokens)
    path = "/counter/json_factor"
    if len(spec.json_factor) != 2:
        return BadRequest(reason="expected [numerator, denominator]", path=path)
    numerator, denominator = spec.json_factor
    if denominator == 0 or numerator < denominator:
        return BadRequest(reason="expected a factor of at least 1", path=path)
    return ByteBoundCounter(
        model=spec.model,
        template_revision=spec.template_revision,
        normalization=spec.normalization,
        json_factor=JsonFactor(numerator=numerator, denominator=denominator),
        allowance=spec.allowance,
    )
