"""The operations `select`, `condense` and `compose`: what to say, within how much (rules S0 to S9)."""

from typing import Final, assert_never, final

import attrs

from jingwei.codec import Declarations, RecordCodec
from jingwei.compose import task_state
from jingwei.compose.condensing import LARGE_ITEM_BYTES
from jingwei.compose.failure_values import compose_failure_value, condense_failure_value, select_failure_value
from jingwei.compose.pipeline import ComposedContext, ComposeFailure, ComposeOptions, compose
from jingwei.compose.task_state import RecalledMemory, TaskState
from jingwei.compose.wire import selection_value
from jingwei.condensers.choose import condense_text
from jingwei.condensers.records import DEFAULT_LIMITS, CondensedText, CondenseLimits, Evidence, Fact
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.ids import SessionId, TurnId
from jingwei.items.budget import TokenBudget
from jingwei.items.records import ContextItem
from jingwei.items.worth import DEFAULT_WEIGHTS, TurnWorth, Weights
from jingwei.jsontext import JsonValue
from jingwei.limits import RECALLED_MEMORIES, RECENT_EVENTS
from jingwei.messages.records import GenerationConstraint, ModelMessage, TextConstraint
from jingwei.messages.wire import request_value
from jingwei.ops import counters
from jingwei.ops.counters import DEFAULT_COUNTER, CounterSpec, counter_of
from jingwei.ops.events import not_served, with_events
from jingwei.ops.requests import BadRequest, bad, failed, ok, read
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection import wire as projection_wire
from jingwei.projection.admit import admit_projection
from jingwei.projection.project import project
from jingwei.projection.records import DEFAULT_CONFIG, ForeignProjection, Projection, ProjectionConfig
from jingwei.report import wire as report_wire
from jingwei.report.failure_values import JsonObject, projection_failure_value
from jingwei.report.records import BuildReport
from jingwei.report.wire import report_value
from jingwei.request.counting import AdditiveCounter
from jingwei.request.records import BudgetMode, BuildLimits, ContextTarget, TokenBoundEvidence
from jingwei.selection.choose import Quota, Quotas
from jingwei.selection.records import SelectionState
from jingwei.selection.search import Search
from jingwei.selection.select import select_items
from jingwei.summaries import wire as summaries_wire
from jingwei.summaries.records import Summary


@final
@attrs.frozen(kw_only=True)
class NamedTurnWorth:
    """What a host says of one turn, on the wire."""

    turn_id: TurnId
    worth: TurnWorth


@final
@attrs.frozen(kw_only=True)
class ComposeSpec:
    """What the `compose` op takes besides its history, as the command's file holds it.

    Attributes:
        state: the running task.
        target: for whom tokens are counted.
        budget: the window and what is set aside (S0).
        current: the running turn.
    """

    state: TaskState
    target: ContextTarget
    budget: TokenBudget
    current: tuple[ModelMessage, ...]
    recalled: tuple[RecalledMemory, ...] = ()
    items: tuple[ContextItem, ...] = ()
    counter: CounterSpec = DEFAULT_COUNTER
    system: tuple[str, ...] = ()
    constraint: GenerationConstraint = TextConstraint()  # noqa: RUF009  # immutable
    pinned_turns: tuple[TurnId, ...] = ()
    summaries: tuple[Summary, ...] = ()
    weights: Weights = DEFAULT_WEIGHTS
    quotas: tuple[Quota, ...] = ()
    turn_worths: tuple[NamedTurnWorth, ...] = ()
    previous_selection: SelectionState | None = None
    moves: int = 0
    previous: BuildReport | None = None
    now: int | None = None
    large_bytes: int = LARGE_ITEM_BYTES
    condense_limits: CondenseLimits = DEFAULT_LIMITS
    event_limit: int = RECENT_EVENTS
    memory_limit: int = RECALLED_MEMORIES
    output_evidence: TokenBoundEvidence = TokenBoundEvidence.ESTIMATE
    mode: BudgetMode = BudgetMode.SOFT
    limits: BuildLimits = BuildLimits()  # noqa: RUF009  # immutable
    search: Search = Search.AUTO
    state_version: str | None = None
    reduce_current: bool = False

    @property
    def options(self) -> ComposeOptions:
        """The options of `compose`."""
        return ComposeOptions(
            system=self.system,
            constraint=self.constraint,
            pinned_turns=self.pinned_turns,
            summaries=self.summaries,
            weights=self.weights,
            quotas=Quotas(rows=self.quotas),
            turn_worths=tuple([(one.turn_id, one.worth) for one in self.turn_worths]),
            previous_selection=self.previous_selection,
            moves=self.moves,
            previous=self.previous,
            now=self.now,
            large_bytes=self.large_bytes,
            condense_limits=self.condense_limits,
            event_limit=self.event_limit,
            memory_limit=self.memory_limit,
            output_evidence=self.output_evidence,
            mode=self.mode,
            limits=self.limits,
            search=self.search,
            state_version=self.state_version,
            reduce_current=self.reduce_current,
        )


def compose_spec(value: JsonValue) -> ComposeSpec | BadRequest:
    """The same from an already parsed file."""
    if not isinstance(value, dict):
        return BadRequest(reason="expected an object", path="")
    return read(_CODEC, value, ComposeSpec)


def serve_select(body: JsonObject) -> JsonObject:
    """`select`: items within so many tokens, by the costs that stand in them."""
    asked = read(_CODEC, body, _Select)
    if isinstance(asked, BadRequest):
        return bad(asked)
    outcome = select_items(
        asked.items,
        asked.max_tokens,
        asked.weights,
        Quotas(rows=asked.quotas),
        asked.previous_selection,
        asked.moves,
    )
    match outcome:
        case Success(selected):
            return ok(
                {
                    "items": [item.item_id for item in selected.items],
                    "used": selected.used,
                    "selection": _CODEC.write(selected.selection),
                }
            )
        case Failure(why):
            return failed(select_failure_value(why))
        case _:
            assert_never(outcome)


def serve_condense(body: JsonObject) -> JsonObject:
    """`condense`: a text in three levels, without a model."""
    asked = read(_CODEC, body, _Condense)
    if isinstance(asked, BadRequest):
        return bad(asked)
    outcome = condense_text(asked.text, asked.limits, source=asked.source)
    match outcome:
        case Success(condensed):
            return ok(_CODEC.write(condensed))
        case Failure(why):
            return failed(condense_failure_value(why))
        case _:
            assert_never(outcome)


def serve_compose(body: JsonObject) -> JsonObject:
    """`compose`: from a task's state to the exact request, in one call."""
    if ("events" in body) == ("projection" in body):
        return bad(BadRequest(reason="expected exactly one of: events, projection", path=""))
    rest: JsonObject = {key: value for key, value in body.items() if key not in _HISTORY_KEYS}
    spec = compose_spec(rest)
    if isinstance(spec, BadRequest):
        return bad(spec)
    counter = counter_of(spec.counter)
    if isinstance(counter, BadRequest):
        return bad(counter)
    if "projection" in body:
        return _over_projection({k: v for k, v in body.items() if k in _HISTORY_KEYS}, spec, counter)
    own: JsonObject = {key: value for key, value in body.items() if key in _HISTORY_KEYS}
    asked, log = with_events(_CODEC, own, _Log)
    if not isinstance(log, SessionLog) or isinstance(asked, BadRequest):
        return not_served(asked, log)
    outcome = project(asked.session_id, log, asked.config)
    match outcome:
        case Success(history):
            return _composed(spec, history, tuple(log.events), counter)
        case Failure(why):
            return failed(projection_failure_value(why))
        case _:
            assert_never(outcome)


def composed_by(
    spec: ComposeSpec, history: Projection, events: tuple[SessionEvent, ...], counter: AdditiveCounter
) -> Outcome[ComposedContext, ComposeFailure]:
    """What `compose` makes of a spec."""
    return compose(
        spec.state,
        history,
        spec.recalled,
        spec.items,
        spec.target,
        spec.budget,
        counter,
        current=spec.current,
        events=events,
        options=spec.options,
    )


def composed_value(composed: ComposedContext) -> JsonObject:
    """A composed request as plain JSON values: the request, both reports, the state for the next one."""
    return {
        "request": request_value(composed.built.request),
        "report": report_value(composed.built.report),
        "selection": selection_value(composed.selection),
        "state": None if composed.state is None else _CODEC.write(composed.state),
    }


@final
@attrs.frozen(kw_only=True)
class _Select:
    items: tuple[ContextItem, ...]
    max_tokens: int
    weights: Weights = DEFAULT_WEIGHTS
    quotas: tuple[Quota, ...] = ()
    previous_selection: SelectionState | None = None
    moves: int = 0


@final
@attrs.frozen(kw_only=True)
class _Condense:
    text: str
    source: str | None = None
    limits: CondenseLimits = DEFAULT_LIMITS


@final
@attrs.frozen(kw_only=True)
class _Log:
    session_id: SessionId
    config: ProjectionConfig = DEFAULT_CONFIG


@final
@attrs.frozen(kw_only=True)
class _Foreign:
    projection: ForeignProjection


_HISTORY_KEYS: Final = frozenset({"session_id", "events", "config", "projection"})


def _over_projection(body: JsonObject, spec: ComposeSpec, counter: AdditiveCounter) -> JsonObject:
    asked = read(_CODEC, body, _Foreign)
    if isinstance(asked, BadRequest):
        return bad(asked)
    outcome = admit_projection(asked.projection)
    match outcome:
        case Success(history):
            return _composed(spec, history, (), counter)
        case Failure(why):
            return failed(
                {"kind": "NotAdmitted", "reason": why.reason.value, "path": f"/projection{why.path}"}
            )
        case _:
            assert_never(outcome)


def _composed(
    spec: ComposeSpec, history: Projection, events: tuple[SessionEvent, ...], counter: AdditiveCounter
) -> JsonObject:
    outcome = composed_by(spec, history, events, counter)
    match outcome:
        case Success(composed):
            return ok(composed_value(composed))
        case Failure(why):
            return failed(compose_failure_value(why))
        case _:
            assert_never(outcome)


def _declare(wire: Declarations) -> None:
    projection_wire.declare(wire)
    report_wire.declare(wire)
    counters.declare(wire)
    task_state.declare(wire)
    summaries_wire.declare(wire)
    wire.record(CondenseLimits, strict=True)
    wire.record(Evidence, strict=True, always=("source",))
    for cls in (Fact, CondensedText, Weights, TurnWorth, Quota, NamedTurnWorth, TokenBudget):
        wire.record(cls, strict=True)
    for operation in (_Select, _Condense, _Log, _Foreign, ComposeSpec):
        wire.record(operation, strict=True)


_CODEC: Final = RecordCodec(_declare)
