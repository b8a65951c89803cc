"""A session replayed call by call: what each strategy would have sent, and what a prefix cache serves.

At each `model_request` event of the log the request is built from what the log held before it: the closed
turns as history, the running turn's finished groups as current (P13). Two neighbouring requests are compared
by their reports (B9). Pure: a simulation of the same log and inputs gives the same numbers.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import final

import attrs

from jingwei.build import BuildInputs, build
from jingwei.events.records import ModelRequestEvent, SessionEvent, SessionLog
from jingwei.events.wire import session_log
from jingwei.ids import SessionId
from jingwei.messages.records import GenerationConstraint, TextConstraint
from jingwei.outcome import Failure, Success
from jingwei.projection.failures import ProjectionFailure
from jingwei.projection.records import DEFAULT_CONFIG, ProjectionConfig
from jingwei.projection.split import SplitProjection
from jingwei.projection.view import start_view
from jingwei.report.cache import DEFAULT_PRICES, CachePrices, PrefixChange
from jingwei.report.failures import BuildFailure
from jingwei.report.records import BuildReport
from jingwei.request.counting import AdditiveCounter
from jingwei.request.records import BuildLimits, ContextBudget, ContextTarget
from jingwei.selection.search import Search
from jingwei.selection.strategies import Strategy


@final
@attrs.frozen(kw_only=True)
class SimulationInputs:
    """What every call of a simulation is built with; the log gives history and current.

    Attributes:
        target: for whom tokens are counted.
        budget: how many there are.
        system: the host's instructions.
        constraint: the form of the answer.
        limits: bounds on the work of one build.
        config: how the log is projected.
        search: how the fewest steps are looked for.
        reduce_current: let exchanges of the running turn be candidates (R6).
    """

    target: ContextTarget
    budget: ContextBudget
    system: tuple[str, ...] = ()
    constraint: GenerationConstraint = TextConstraint()  # noqa: RUF009  # immutable
    limits: BuildLimits = BuildLimits()  # noqa: RUF009  # immutable
    config: ProjectionConfig = DEFAULT_CONFIG
    search: Search = Search.AUTO
    reduce_current: bool = False


@final
@attrs.frozen(kw_only=True)
class SimulatedCall:
    """One call of the model under one strategy.

    Attributes:
        seq: the `model_request` event.
        place: which of the strategies it was, from 0.
        strategy: its name.
        tokens: of the whole request; 0 where it was refused.
        served: of these, what stood at the start of the last request that was built, constraint and
            template included where a message is common; at most `tokens`.
        reason: why that request does not stand whole at the start of this one; None where it does, for
            the first request, and where this one was refused.
        refused: why there is no request; None where there is one.
    """

    seq: int
    place: int
    strategy: str
    tokens: int
    served: int
    reason: PrefixChange | None
    refused: BuildFailure | None

    def cost(self, prices: CachePrices) -> Fraction:
        """In plain tokens: `served` at the price of reading, the rest at that of writing."""
        return self.served * prices.read + (self.tokens - self.served) * prices.write


@final
@attrs.frozen(kw_only=True)
class StrategySummary:
    """A strategy over a whole session.

    Attributes:
        strategy: its name.
        calls: calls of the model in the log.
        refused: calls for which no request could be built.
        breaks: requests that do not begin with the whole of the one before.
        tokens: of all requests.
        served: of these, what a prefix cache would have served: one that forgets nothing, and keeps the
            last request only.
        cost: of all requests, in plain tokens.
    """

    strategy: str
    calls: int
    refused: int
    breaks: int
    tokens: int
    served: int
    cost: Fraction

    @property
    def hit_share(self) -> Fraction:
        """The share of all tokens that the cache serves; 0 where nothing was sent."""
        return Fraction(self.served, self.tokens) if self.tokens else Fraction(0)

    @property
    def mean_request(self) -> Fraction:
        """Tokens of a request in the mean; 0 where none was built."""
        built = self.calls - self.refused
        return Fraction(self.tokens, built) if built else Fraction(0)


def simulate(
    session_id: SessionId,
    log: SessionLog,
    inputs: SimulationInputs,
    counter: AdditiveCounter,
    strategies: Sequence[Strategy],
) -> Iterator[SimulatedCall | Failure[ProjectionFailure]]:
    """Every call of the log under every strategy, in order: call by call, and in it strategy by strategy.

    Where the log breaks a rule, what comes last is the Failure that a projection gives; a last turn that
    was cut off is none, since calls are made inside turns. Lazy, so that a host can show how far it is.

    Args:
        session_id: whose log.
        log: the session, from its first event on.
        inputs: everything else that each request is built with.
        counter: its costs say what a cache serves. It is asked for the same messages again and again, so
            one that remembers pays (`RememberingCounter`).
        strategies: what is compared; each is asked in turn, from the first call to the last.
    """
    lanes = [_Lane(place, strategy) for place, strategy in enumerate(strategies)]
    view = start_view(session_id, inputs.config)
    for piece in _pieces(log.events):
        view = view.advanced(session_log(piece))
        last = piece[-1]
        if not isinstance(last.kind, ModelRequestEvent):
            continue
        match view.running():
            case Failure() as broken:
                yield broken
                return
            case Success(split):
                for lane in lanes:
                    yield lane.call(last.seq, split, inputs, counter)
    match view.running():
        case Failure() as broken:
            yield broken
        case Success():
            pass


def summaries(
    calls: Iterable[SimulatedCall], prices: CachePrices = DEFAULT_PRICES
) -> tuple[StrategySummary, ...]:
    """The sums per strategy, in the order in which the strategies are met."""
    by_place = dict[int, list[SimulatedCall]]()
    for call in calls:
        by_place.setdefault(call.place, []).append(call)
    return tuple([_summary(made, prices) for made in by_place.values()])


def _summary(calls: Sequence[SimulatedCall], prices: CachePrices) -> StrategySummary:
    return StrategySummary(
        strategy=calls[0].strategy,
        calls=len(calls),
        refused=sum([call.refused is not None for call in calls]),
        breaks=sum([call.reason is not None for call in calls]),
        tokens=sum([call.tokens for call in calls]),
        served=sum([call.served for call in calls]),
        cost=sum([call.cost(prices) for call in calls], Fraction(0)),
    )


def _pieces(events: Sequence[SessionEvent]) -> Iterator[tuple[SessionEvent, ...]]:
    """The log cut behind each model request, so that each piece ends where a model is called."""
    start = 0
    for index, event in enumerate(events):
        if isinstance(event.kind, ModelRequestEvent):
            yield tuple(events[start : index + 1])
            start = index + 1
    if start < len(events):
        yield tuple(events[start:])


@final
class _Lane:
    """One strategy's last request; the loop's own memory."""

    def __init__(self, place: int, strategy: Strategy) -> None:
        self._place = place
        self._strategy = strategy
        self._previous: BuildReport | None = None

    def call(
        self, seq: int, split: SplitProjection, inputs: SimulationInputs, counter: AdditiveCounter
    ) -> SimulatedCall:
        """Build what would have been sent, and compare it with the last request."""
        asked = BuildInputs(
            current=split.current,
            target=inputs.target,
            budget=inputs.budget,
            system=inputs.system,
            constraint=inputs.constraint,
            limits=inputs.limits,
            reduce_current=inputs.reduce_current,
            previous=self._previous,
        )
        tokens, served, reason, refused = 0, 0, None, None
        match build(split.history, asked, counter, strategy=self._strategy, search=inputs.search):
            case Success(built):
                self._previous = built.report
                tokens, served = built.report.attempts[-1].count.tokens.total, _served(built.report)
                reason = None if built.report.cache is None else built.report.cache.reason
            case Failure(why):
                refused = why
        return SimulatedCall(
            seq=seq,
            place=self._place,
            strategy=self._strategy.name,
            tokens=tokens,
            served=served,
            reason=reason,
            refused=refused,
        )


def _served(report: BuildReport) -> int:
    """What a cache that holds the last request serves: the common messages and what stands before them."""
    plan = report.cache
    if plan is None or not plan.common_messages or plan.common_tokens is None:
        return 0
    tokens = report.attempts[-1].count.tokens
    return plan.common_tokens + tokens.constraint + tokens.template
