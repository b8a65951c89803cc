"""Counters as a request names them (C2, C3)."""

from fractions import Fraction

import attrs
import pytest

from jingwei.codec import Declarations, RecordCodec
from jingwei.jsontext import JsonValue
from jingwei.ops import counters
from jingwei.ops.counters import DEFAULT_COUNTER, ByteBoundSpec, ByteHeuristicSpec, CounterSpec, counter_of
from jingwei.ops.requests import BadRequest, read
from jingwei.request.counting import (
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    FramingAllowance,
    Normalization,
)
from tests.ops.asking import Object


@attrs.frozen(kw_only=True)
class Asked:
    counter: CounterSpec = DEFAULT_COUNTER


def _declare(wire: Declarations) -> None:
    counters.declare(wire)
    wire.record(Asked, strict=True)


CODEC = RecordCodec(_declare)
ONE: Object = {"bytes": 1, "specials": 2}
BOUND: Object = {
    "kind": "byte_bound",
    "model": "m",
    "template_revision": "1",
    "normalization": "nfc",
    "json_factor": [3, 2],
    "allowance": {"message": ONE, "call": ONE, "tool": ONE, "request": ONE},
}


def spec_of(value: JsonValue) -> CounterSpec | BadRequest:
    asked = read(CODEC, {"counter": value}, Asked)
    return asked if isinstance(asked, BadRequest) else asked.counter


def test_without_a_name_bytes_are_divided_by_four() -> None:
    assert ByteHeuristicSpec(template_tokens=32) == DEFAULT_COUNTER
    assert ByteHeuristicCounter(template_tokens=32) == counter_of(DEFAULT_COUNTER)


def test_a_template_of_another_size() -> None:
    spec = spec_of({"kind": "byte_heuristic", "template_tokens": 7})

    assert ByteHeuristicSpec(template_tokens=7) == spec
    assert ByteHeuristicCounter(template_tokens=7) == counter_of(ByteHeuristicSpec(template_tokens=7))


def test_a_bound_is_made_of_all_its_parts() -> None:
    spec = spec_of(BOUND)
    assert isinstance(spec, ByteBoundSpec)
    counter = counter_of(spec)

    assert isinstance(counter, ByteBoundCounter)
    assert ("m", "1", Normalization.NFC) == (counter.model, counter.template_revision, counter.normalization)
    assert Fraction(3, 2) == Fraction(counter.json_factor.numerator, counter.json_factor.denominator)
    one = Allowance(bytes=1, specials=2)
    assert FramingAllowance(message=one, call=one, tool=one, request=one) == counter.allowance


@pytest.mark.parametrize(
    ("factor", "reason"),
    [
        ([], "expected [numerator, denominator]"),
        ([1], "expected [numerator, denominator]"),
        ([1, 1, 1], "expected [numerator, denominator]"),
        ([1, 0], "expected a factor of at least 1"),
        ([0, 0], "expected a factor of at least 1"),
        ([1, 2], "expected a factor of at least 1"),
    ],
)
def test_a_factor_that_bounds_nothing(factor: list[int], reason: str) -> None:
    spec = spec_of({**BOUND, "json_factor": factor})
    assert isinstance(spec, ByteBoundSpec)

    assert BadRequest(reason=reason, path="/counter/json_factor") == counter_of(spec)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({}, "/counter/kind"),
        ({"kind": "exact"}, "/counter/kind"),
        ({"kind": "byte_heuristic", "template_tokens": -1}, "/counter/template_tokens"),
        ({**BOUND, "normalization": "NFC"}, "/counter/normalization"),
        ({**BOUND, "allowance": {}}, "/counter/allowance/message"),
        (
            {**BOUND, "allowance": {**BOUND["allowance"], "tool": {"bytes": 1}}},
            "/counter/allowance/tool/specials",
        ),
        ({**BOUND, "more": 1}, "/counter/more"),
    ],
)
def test_what_is_no_counter(value: Object, path: str) -> None:
    refused = spec_of(value)

    assert isinstance(refused, BadRequest)
    assert path == refused.path
