"""The `batch` contract: one JSON line in, one JSON line out, for hosts in other languages (docs/batch.md).

`serve` maps a line to a line, and is pure but for the operations that are told to use a content store.
Nothing that a line can hold raises; what is wrong with the line itself is a `BadRequest`, and everything
else is the outcome of the operation, told in the records of the rules.
"""

import base64
import binascii
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal, TypeAlias, TypeVar, assert_never, cast, final

import attrs

from jingwei.build import BuildInputs, BuiltContext, build, build_foreign
from jingwei.codec import (
    Declarations,
    DecodeFailed,
    RecordCodec,
    parse_document,
)
from jingwei.events.records import SessionLog
from jingwei.events.recovery import close_abandoned
from jingwei.events.wire import decode_log, event_value
from jingwei.events.writer import EarlierTurns, NumberedIds
from jingwei.ids import SessionId, TurnId
from jingwei.jsontext import JsonValue, canonical
from jingwei.limits import PREVIEW_BYTES, PREVIEW_INLINE_BYTES, LimitExceeded
from jingwei.messages.records import (
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    TextConstraint,
)
from jingwei.messages.shape import check_shape
from jingwei.messages.wire import request_value
from jingwei.ops import counters
from jingwei.ops.counters import DEFAULT_COUNTER, CounterSpec, counter_of
from jingwei.ops.events import not_served, with_events
from jingwei.ops.requests import BadRequest, bad, failed, ok, read
from jingwei.ops.selecting import serve_compose, serve_condense, serve_select
from jingwei.ops.tools import serve_read_reference, serve_result_view, serve_tool_view
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection import wire as projection_wire
from jingwei.projection.diagnose import Diagnosis, Violation, Warned, diagnose
from jingwei.projection.failures import InvalidConfig, Malformed
from jingwei.projection.project import project
from jingwei.projection.records import DEFAULT_CONFIG, ForeignProjection, ProjectionConfig
from jingwei.projection.wire import projection_value
from jingwei.report import wire as report_wire
from jingwei.report.cache import DEFAULT_PRICES, CachePlan, CachePrices
from jingwei.report.compare import compare
from jingwei.report.failure_values import (
    JsonObject,
    build_failure_value,
    decode_failure_value,
    projection_failure_value,
    shape_failure_value,
    write_failure_value,
)
from jingwei.report.failures import BuildFailure
from jingwei.report.records import BuildReport
from jingwei.report.wire import report_value
from jingwei.request.counting import (
    AdditiveCounter,
)
from jingwei.request.records import BuildLimits, ContextBudget, ContextTarget
from jingwei.selection.condense_then_drop import BATCH_TURNS, KEEP_NEWEST, PolicyProblem, condense_then_drop
from jingwei.selection.records import PreviewPolicy
from jingwei.selection.search import Search
from jingwei.selection.stable_prefix import stable_prefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy

_Read = TypeVar("_Read")


def serve(line: bytes) -> str:
    """The answer to one line (without its newline), as canonical JSON without a newline. Total."""
    parsed = parse_document(line)
    if isinstance(parsed, DecodeFailed):
        return _answer(None, bad(BadRequest(reason=_said(parsed), path=parsed.path)))
    if not isinstance(parsed, dict):
        return _answer(None, bad(BadRequest(reason="expected an object", path="")))
    return _answer(parsed.get("id"), _served(parsed))


def build_spec(value: JsonValue) -> "BuildSpec | BadRequest":
    """What the `build` op takes besides its history, as the command line's `--spec` file holds it."""
    if not isinstance(value, dict):
        return BadRequest(reason="expected an object", path="")
    return _read_spec(value)


# --- what each operation takes --------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class OldestTurnFirstSpec:
    """`{"kind": "oldest_turn_first"}`."""


@final
@attrs.frozen(kw_only=True)
class StablePrefixSpec:
    """`{"kind": "stable_prefix"}`: its marks in tokens of history (R2); its costs are the counter's."""

    high: int
    low: int | None = None


@final
@attrs.frozen(kw_only=True)
class CondenseThenDropSpec:
    """`{"kind": "condense_then_drop"}` (R4)."""

    keep_newest: int = KEEP_NEWEST
    batch_turns: int = BATCH_TURNS
    inline_bytes: int = PREVIEW_INLINE_BYTES
    preview_bytes: int = PREVIEW_BYTES


StrategySpec: TypeAlias = OldestTurnFirstSpec | StablePrefixSpec | CondenseThenDropSpec


@final
@attrs.frozen(kw_only=True)
class BuildSpec:
    """Keys of the `build` op besides its history."""

    system: tuple[str, ...] = ()
    current: tuple[ModelMessage, ...]
    constraint: GenerationConstraint = TextConstraint()  # noqa: RUF009  # immutable
    pinned_turns: tuple[TurnId, ...] = ()
    state_version: str | None = None
    target: ContextTarget
    budget: ContextBudget
    limits: BuildLimits = BuildLimits()  # noqa: RUF009  # immutable
    strategy: StrategySpec = OldestTurnFirstSpec()  # immutable
    search: Search = Search.AUTO
    counter: CounterSpec = DEFAULT_COUNTER
    reduce_current: bool = False
    previous: BuildReport | None = None

    @property
    def inputs(self) -> BuildInputs:
        """The inputs of `build`."""
        return BuildInputs(
            system=self.system,
            current=self.current,
            constraint=self.constraint,
            pinned_turns=self.pinned_turns,
            state_version=self.state_version,
            target=self.target,
            budget=self.budget,
            limits=self.limits,
            reduce_current=self.reduce_current,
            previous=self.previous,
        )


@final
@attrs.frozen(kw_only=True)
class _Decode:
    text: str | None = None
    bytes_base64: str | None = None


@final
@attrs.frozen(kw_only=True)
class _Project:
    session_id: SessionId
    config: ProjectionConfig = DEFAULT_CONFIG


@final
@attrs.frozen(kw_only=True)
class _Diagnose:
    session_id: SessionId


@final
@attrs.frozen(kw_only=True)
class _Shape:
    messages: tuple[ModelMessage, ...]
    constraint: GenerationConstraint = TextConstraint()  # noqa: RUF009  # immutable


@final
@attrs.frozen(kw_only=True)
class _FromProjection:
    projection: ForeignProjection


@final
@attrs.frozen(kw_only=True)
class _Recover:
    session_id: SessionId
    id_prefix: str = "recovered_"
    earlier_turns: EarlierTurns = EarlierTurns.REJECT


@final
@attrs.frozen(kw_only=True)
class _Prices:
    read: tuple[int, ...]
    write: tuple[int, ...]


@final
@attrs.frozen(kw_only=True)
class _Compare:
    previous: BuildReport
    report: BuildReport
    prices: _Prices | None = None


def _declare(wire: Declarations) -> None:
    projection_wire.declare(wire)
    report_wire.declare(wire)
    counters.declare(wire)
    wire.enums(EarlierTurns)
    for kind, strategy in _STRATEGIES.items():
        wire.record(strategy, strict=True, constants={"kind": kind})
    wire.union(StrategySpec, "kind", _STRATEGIES)
    wire.record(_Prices, strict=True)
    for operation in (_Decode, _Project, _Diagnose, _Shape, _FromProjection, _Recover, _Compare, BuildSpec):
        wire.record(operation, strict=True)


_STRATEGIES: Final[Mapping[str, type[object]]] = {
    "oldest_turn_first": OldestTurnFirstSpec,
    "stable_prefix": StablePrefixSpec,
    "condense_then_drop": CondenseThenDropSpec,
}


_CODEC: Final = RecordCodec(_declare)


def _read(body: JsonObject, cls: type[_Read]) -> _Read | BadRequest:
    return read(_CODEC, body, cls)


def _read_spec(body: JsonObject) -> BuildSpec | BadRequest:
    """A strategy may be written as its name alone."""
    name = body.get("strategy")
    if not isinstance(name, str):
        return _read(body, BuildSpec)
    if name not in _STRATEGIES:
        return BadRequest(reason=f"expected one of: {', '.join(_STRATEGIES)}; met {name}", path="/strategy")
    return _read({**body, "strategy": {"kind": name}}, BuildSpec)


# --- serving --------------------------------------------------------------------------------------


def _served(request: JsonObject) -> JsonObject:
    body: JsonObject = {key: value for key, value in request.items() if key not in {"id", "op"}}
    match request.get("op"):
        case "decode":
            return _decode(body)
        case "project":
            return _project(body)
        case "diagnose":
            return _diagnose(body)
        case "shape":
            return _shape(body)
        case "build":
            return _build(body)
        case "recover":
            return _recover(body)
        case "compare":
            return _compare(body)
        case "select":
            return serve_select(body)
        case "condense":
            return serve_condense(body)
        case "compose":
            return serve_compose(body)
        case "tool_view":
            return serve_tool_view(body)
        case "result_view":
            return serve_result_view(body)
        case "read_reference":
            return serve_read_reference(body)
        case "plan_step":
            return _step("plan_step", body)
        case "interpret":
            return _step("interpret", body)
        case "complete":
            return _step("complete", body)
        case None:
            return bad(BadRequest(reason=f"expected an op, one of: {_OPERATIONS}", path="/op"))
        case other:
            shown = canonical(other)
            return bad(BadRequest(reason=f"expected an op, one of: {_OPERATIONS}; met {shown}", path="/op"))


_OPERATIONS: Final = (
    "decode, project, diagnose, shape, build, recover, compare, select, condense, compose, tool_view, "
    "result_view, read_reference, plan_step, interpret, complete"
)


def _decode(body: JsonObject) -> JsonObject:
    asked = _read(body, _Decode)
    if isinstance(asked, BadRequest):
        return bad(asked)
    data = _bytes_of(asked)
    if isinstance(data, BadRequest):
        return bad(data)
    match decode_log(data):
        case Success(log):
            return ok({"events": [event_value(event) for event in log.events]})
        case Failure(why):
            return failed(decode_failure_value(why))


def _bytes_of(asked: _Decode) -> bytes | BadRequest:
    if (asked.text is None) == (asked.bytes_base64 is None):
        return BadRequest(reason="expected exactly one of: text, bytes_base64", path="")
    if asked.text is not None:
        return asked.text.encode()
    try:
        return base64.b64decode(asked.bytes_base64 or "", validate=True)
    except (binascii.Error, ValueError):
        return BadRequest(reason="expected base64", path="/bytes_base64")


def _project(body: JsonObject) -> JsonObject:
    asked, log = with_events(_CODEC, body, _Project)
    if not isinstance(log, SessionLog) or isinstance(asked, BadRequest):
        return not_served(asked, log)
    match project(asked.session_id, log, asked.config):
        case Success(projection):
            return ok(projection_value(projection))
        case Failure(why):
            return failed(projection_failure_value(why))


def _diagnose(body: JsonObject) -> JsonObject:
    asked, log = with_events(_CODEC, body, _Diagnose)
    if not isinstance(log, SessionLog) or isinstance(asked, BadRequest):
        return not_served(asked, log)
    return ok(diagnosis_value(diagnose(asked.session_id, log)))


def _shape(body: JsonObject) -> JsonObject:
    asked = _read(body, _Shape)
    if isinstance(asked, BadRequest):
        return bad(asked)
    match check_shape(GenerationRequest(messages=asked.messages, constraint=asked.constraint)):
        case Success():
            return ok({})
        case Failure(why):
            return failed(shape_failure_value(why))


_LOG_KEYS: Final = ("session_id", "events", "config")


def _build(body: JsonObject) -> JsonObject:
    if ("events" in body) == ("projection" in body):
        return bad(BadRequest(reason="expected exactly one of: events, projection", path=""))
    rest: JsonObject = {k: v for k, v in body.items() if k not in {*_LOG_KEYS, "projection"}}
    spec = _read_spec(rest)
    if isinstance(spec, BadRequest):
        return bad(spec)
    chosen = chosen_by(spec)
    if isinstance(chosen, BadRequest):
        return bad(chosen)
    counter, strategy = chosen
    if "projection" in body:
        own: JsonObject = {k: v for k, v in body.items() if k in {*_LOG_KEYS, "projection"}}
        foreign = _read(own, _FromProjection)
        if isinstance(foreign, BadRequest):
            return bad(foreign)
        history = foreign.projection
        return _built(build_foreign(history, spec.inputs, counter, strategy=strategy, search=spec.search))
    asked, log = with_events(_CODEC, {k: v for k, v in body.items() if k in _LOG_KEYS}, _Project)
    if not isinstance(log, SessionLog) or isinstance(asked, BadRequest):
        return not_served(asked, log)
    match project(asked.session_id, log, asked.config):
        case Success(projection):
            return _built(build(projection, spec.inputs, counter, strategy=strategy, search=spec.search))
        case Failure(why):
            return failed(projection_failure_value(why))


def _built(outcome: Outcome[BuiltContext, BuildFailure]) -> JsonObject:
    match outcome:
        case Success(built):
            return ok({"request": request_value(built.request), "report": report_value(built.report)})
        case Failure(why):
            return failed(build_failure_value(why))


def _step(operation: Literal["plan_step", "interpret", "complete"], body: JsonObject) -> JsonObject:
    """The operations of a step; what they are made of needs an extra, which the others do without."""
    try:
        from jingwei.ops import stepping
    except ModuleNotFoundError as missing:
        reason = f"{operation} needs the package {missing.name}: install jingwei[actions]"
        return bad(BadRequest(reason=reason, path="/op"))
    spec = _read_spec({key: value for key, value in body.items() if key in _BUILD_KEYS})
    if isinstance(spec, BadRequest):
        return bad(spec)
    chosen = chosen_by(spec)
    if isinstance(chosen, BadRequest):
        return bad(chosen)
    counter, strategy = chosen
    how = stepping.HowBuilt(inputs=spec.inputs, counter=counter, strategy=strategy, search=spec.search)
    rest: JsonObject = {key: value for key, value in body.items() if key not in _BUILD_KEYS}
    match operation:
        case "plan_step":
            return stepping.serve_plan_step(rest, how)
        case "interpret":
            return stepping.serve_interpret(rest, how)
        case "complete":
            return stepping.serve_complete(rest, how)
        case _:
            assert_never(operation)


_BUILD_KEYS: Final = frozenset(field.name for field in attrs.fields(BuildSpec))


def _recover(body: JsonObject) -> JsonObject:
    asked, log = with_events(_CODEC, body, _Recover)
    if not isinstance(log, SessionLog) or isinstance(asked, BadRequest):
        return not_served(asked, log)
    ids = NumberedIds(prefix=asked.id_prefix)
    match close_abandoned(asked.session_id, log, ids, asked.earlier_turns):
        case Success(closing):
            return ok(
                {
                    "turn_id": closing.turn_id,
                    "events": [event_value(event) for event in closing.events],
                    "tool_calls": list(closing.tool_calls),
                    "model_calls": list(closing.model_calls),
                }
            )
        case Failure(why):
            return failed(write_failure_value(why))


def _compare(body: JsonObject) -> JsonObject:
    asked = _read(body, _Compare)
    if isinstance(asked, BadRequest):
        return bad(asked)
    prices = _prices_of(asked.prices)
    if isinstance(prices, BadRequest):
        return bad(prices)
    return ok(_plan_value(compare(asked.previous, asked.report, prices)))


def _plan_value(plan: CachePlan) -> JsonValue:
    return _CODEC.write(plan)


def _prices_of(asked: _Prices | None) -> CachePrices | BadRequest:
    if asked is None:
        return DEFAULT_PRICES
    read, write = _ratio(asked.read), _ratio(asked.write)
    if read is None or write is None:
        path = "/prices/read" if read is None else "/prices/write"
        return BadRequest(reason="expected [numerator, denominator]", path=path)
    if not 0 < read <= write:
        return BadRequest(reason="expected 0 < read <= write", path="/prices")
    return CachePrices(read=read, write=write)


def _ratio(pair: tuple[int, ...]) -> Fraction | None:
    return Fraction(*pair) if len(pair) == 2 and pair[1] else None


# --- what a build is told to use ------------------------------------------------------------------


def chosen_by(spec: BuildSpec) -> tuple[AdditiveCounter, Strategy] | BadRequest:
    """The counter and the strategy that a spec describes; costs of a strategy are the counter's."""
    counter = counter_of(spec.counter)
    if isinstance(counter, BadRequest):
        return counter
    strategy = _strategy_of(spec.strategy, counter)
    return strategy if isinstance(strategy, BadRequest) else (counter, strategy)


def _strategy_of(spec: StrategySpec, costs: AdditiveCounter) -> Strategy | BadRequest:
    match spec:
        case OldestTurnFirstSpec():
            return OLDEST_TURN_FIRST
        case StablePrefixSpec():
            match stable_prefix(high=spec.high, low=spec.low, costs=costs):
                case Success(marked):
                    return marked
                case Failure(marks):
                    came = f"high {marks.high}, low {marks.low}"
                    return BadRequest(reason=f"expected 0 < low <= high; met {came}", path="/strategy")
        case CondenseThenDropSpec():
            return _condensing(spec)
        case _:
            assert_never(spec)


def _condensing(spec: CondenseThenDropSpec) -> Strategy | BadRequest:
    policy = PreviewPolicy(inline_bytes=spec.inline_bytes, preview_bytes=spec.preview_bytes)
    match condense_then_drop(keep_newest=spec.keep_newest, batch_turns=spec.batch_turns, policy=policy):
        case Success(strategy):
            return strategy
        case Failure(why):
            most = "at most" if why.reason is PolicyProblem.PREVIEW_OVER_INLINE else "at least"
            path = (
                "/strategy/batch_turns"
                if why.reason is PolicyProblem.ZERO_BATCH
                else "/strategy/preview_bytes"
            )
            return BadRequest(reason=f"expected {most} {why.limit}; met {why.actual}", path=path)


def diagnosis_value(found: Diagnosis) -> JsonObject:
    """A diagnosis: violations in order, then warnings; what would admit the log, where something would."""
    return {
        "violations": [*map(_violation_value, found.violations), *map(_warning_value, found.warnings)],
        "admits": None if found.admits is None else _changed(found.admits),
        "way_out": _way_out_value(found),
    }


def _way_out_value(found: Diagnosis) -> JsonObject | None:
    """What `recover` must be told, if anything is to be closed, and then the keys for `project`."""
    if found.way_out is None:
        return None
    config = found.admits or found.admits_closed
    return {
        "kind": found.way_out.value,
        "earlier_turns": None if found.earlier_turns is None else found.earlier_turns.value,
        "config": {} if config is None else _changed(config),
    }


def _violation_value(violation: Violation) -> JsonObject:
    failure = violation.failure
    reason = failure.reason.value if isinstance(failure, InvalidConfig | Malformed) else None
    return {
        "seq": violation.seq,
        "event_id": violation.event_id,
        "turn_id": violation.turn_id,
        "rule": violation.rule,
        "kind": type(failure).__name__,
        "reason": failure.what.value if isinstance(failure, LimitExceeded) else reason,
    }


def _warning_value(warned: Warned) -> JsonObject:
    return {
        "seq": warned.seq,
        "event_id": warned.event_id,
        "turn_id": warned.turn_id,
        "rule": "M3",
        "kind": type(warned.failure).__name__,
        "reason": "warning",
    }


def _changed(config: ProjectionConfig) -> JsonObject:
    """The keys of a configuration that differ from the defaults."""
    written = cast(Mapping[str, JsonValue], _CODEC.write(config))
    usual = cast(Mapping[str, JsonValue], _CODEC.write(DEFAULT_CONFIG))
    return {key: value for key, value in written.items() if value != usual.get(key)}


# --- answers --------------------------------------------------------------------------------------


def _answer(given: JsonValue, outcome: JsonObject) -> str:
    return canonical({"id": given, **outcome})


def _said(failure: DecodeFailed) -> str:
    return f"{failure.reason.value}: expected {failure.expected}, met {failure.actual}"
