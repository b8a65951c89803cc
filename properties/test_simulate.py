"""A simulation, done once more by hand: every request built from scratch, and its message list compared."""

from collections.abc import Sequence
from fractions import Fraction
from typing import final

import attrs
from hypothesis import given
from hypothesis import strategies as st

from jingwei.build import BuildInputs, build
from jingwei.events.records import (
    AssistantReply,
    DoneEvent,
    DoneStatus,
    EventKind,
    GenerationLimits,
    GenerationMode,
    ModelFailed,
    ModelFailureCategory,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    SessionLog,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.wire import session_log
from jingwei.ids import EventId, MessageId, ModelCallId, ToolCallId
from jingwei.jsontext import Json
from jingwei.messages.records import GenerationRequest, ModelMessage
from jingwei.outcome import Success
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.report.cache import CachePrices
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget
from jingwei.request.remembering import RememberingCounter
from jingwei.selection.condense_then_drop import CondenseThenDrop
from jingwei.selection.records import PreviewPolicy
from jingwei.selection.stable_prefix import StablePrefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.simulate import SimulatedCall, SimulationInputs, StrategySummary, simulate, summaries
from jingwei.testing.strategies import SESSION, Step, placed
from properties.test_cache import prices

TARGET = ContextTarget(model="m", template_revision="r")
COSTS = ByteHeuristicCounter(template_tokens=5)


@final
@attrs.frozen(kw_only=True)
class Replay:
    """A log with model calls in it, and what is simulated over it."""

    log: SessionLog
    window: int
    strategies: tuple[Strategy, ...]

    @property
    def inputs(self) -> SimulationInputs:
        return SimulationInputs(
            target=TARGET,
            budget=ContextBudget(window_tokens=self.window, output_reserve=1),
            system=("be careful",),
        )

    def calls(self, counter: AdditiveCounter) -> tuple[SimulatedCall, ...]:
        made = tuple(simulate(SESSION, self.log, self.inputs, counter, self.strategies))
        calls = tuple(call for call in made if isinstance(call, SimulatedCall))
        assert len(made) == len(calls)
        return calls


@st.composite
def replays(draw: st.DrawFn) -> Replay:
    """Some turns with a model call before each tool and before the reply; the last turn may be cut off."""
    turns = draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    output = draw(st.sampled_from(("", "字", "x" * 400)))
    steps = [(f"t{n}", step) for n, tools in enumerate(turns) for step in turn_of(n, tools, output)]
    costs = ByteHeuristicCounter()
    high = draw(st.integers(1, 1200))
    return Replay(
        log=session_log(placed(steps[: len(steps) - draw(st.integers(0, 4))])),
        window=draw(st.integers(40, 900)),
        strategies=(
            OLDEST_TURN_FIRST,
            StablePrefix(high=high, low=draw(st.integers(1, high)), costs=costs),
            CondenseThenDrop(policy=PreviewPolicy(inline_bytes=100, preview_bytes=10), keep_newest=1),
        ),
    )


def turn_of(number: int, tools: int, output: str) -> list[Step]:
    kinds: list[EventKind] = [UserMessageEvent(text=f"question {number}")]
    for tool in range(tools):
        kinds += asked(f"{number}-{tool}")
        call = ToolCallId(f"c{tool}")
        kinds.append(ToolCallEvent(call=ToolCall(id=call, name="look", arguments=Json("{}"))))
        outcome = ToolSucceeded(output=f"{number} {tool} {output}")
        kinds.append(ToolResultEvent(result=ToolResult(call_id=call, outcome=outcome)))
    kinds += asked(f"{number}-last")
    reply = Step(AssistantReply(text=f"answer {number}"), MessageId(f"r{number}"))
    return [*map(Step, kinds), reply, Step(DoneEvent(status=DoneStatus.COMPLETED))]


def asked(name: str) -> list[EventKind]:
    """A model call; it fails, so that its result needs no proposal."""
    limits = GenerationLimits(max_output_bytes=1, max_tool_calls=1)
    request = ModelRequest(
        call_id=ModelCallId(name),
        mode=GenerationMode.COMPLETE,
        input=GenerationRequest(messages=()),
        options=ModelRequestOptions(limits=limits),
    )
    failed = ModelFailed(category=ModelFailureCategory.TIMEOUT, code="c", message="m", retryable=True)
    return [
        ModelRequestEvent(request=request),
        ModelResultEvent(result=ModelResult(call_id=request.call_id, outcome=failed)),
    ]


# --- by hand --------------------------------------------------------------------------------------


def naive_split(log: SessionLog, place: int) -> tuple[Projection, tuple[ModelMessage, ...]]:
    """The closed turns before an event, and what its turn has said: as if it had been cancelled here."""
    event = log.events[place]
    start = min(i for i, one in enumerate(log.events) if one.turn_id == event.turn_id)
    done = attrs.evolve(event, event_id=EventId("cut"), kind=DoneEvent(status=DoneStatus.CANCELLED))
    cancelled = project(SESSION, session_log((*log.events[:place], done))).unwrap()
    history = project(SESSION, session_log(log.events[:start])).unwrap()
    return history, cancelled.turns[-1].messages


def naive_requests(replay: Replay, strategy: Strategy) -> list[tuple[int, GenerationRequest | None]]:
    """Place and request of every model call; None where there is no request."""
    found = list[tuple[int, GenerationRequest | None]]()
    for place, event in enumerate(replay.log.events):
        if isinstance(event.kind, ModelRequestEvent):
            history, current = naive_split(replay.log, place)
            inputs = BuildInputs(
                current=current,
                target=TARGET,
                budget=replay.inputs.budget,
                system=replay.inputs.system,
            )
            outcome = build(history, inputs, COSTS, strategy=strategy)
            found.append((place, outcome.unwrap().request if isinstance(outcome, Success) else None))
    return found


def common(before: Sequence[ModelMessage], now: Sequence[ModelMessage]) -> int:
    place = 0
    while place < min(len(before), len(now)) and before[place] == now[place]:
        place += 1
    return place


def cost(messages: Sequence[ModelMessage]) -> int:
    return sum(map(COSTS.message_cost, messages))


class TestSimulation:
    """A session replayed: a request at each model call, from what the log held then, and of each what the
    request before it shares."""

    @given(replays())
    def test_every_call_is_what_the_requests_themselves_say(self, replay: Replay) -> None:
        calls = replay.calls(COSTS)
        fixed = COSTS.fixed_cost(replay.inputs.constraint)
        for place, strategy in enumerate(replay.strategies):
            before: GenerationRequest | None = None
            made = [call for call in calls if call.place == place]
            requests = naive_requests(replay, strategy)
            assert [seq for seq, _ in requests] == [call.seq for call in made]
            for call, (_, request) in zip(made, requests, strict=True):
                shared = 0 if before is None or request is None else common(before.messages, request.messages)
                whole = before is None or request is None or shared == len(before.messages)
                served = cost(request.messages[:shared]) + fixed if request and shared else 0

                assert strategy.name == call.strategy
                assert (request is None) == (call.refused is not None)
                assert (0 if request is None else cost(request.messages) + fixed) == call.tokens
                assert served == call.served
                assert whole == (call.reason is None)
                before = before if request is None else request

    @given(replays(), prices())
    def test_a_summary_adds_up_its_calls(self, replay: Replay, asked: CachePrices) -> None:
        """What is served and what is written make the whole, and each has its price."""
        calls = replay.calls(COSTS)
        for place, (strategy, row) in enumerate(
            zip(replay.strategies, summaries(calls, asked), strict=bool(calls))
        ):
            made = [call for call in calls if call.place == place]
            written = [call.tokens - call.served for call in made]
            paid = sum([call.served * asked.read for call in made], Fraction(0))
            paid += sum([tokens * asked.write for tokens in written], Fraction(0))

            assert min(written) >= 0
            assert (
                StrategySummary(
                    strategy=strategy.name,
                    calls=len(made),
                    refused=len([call for call in made if call.refused is not None]),
                    breaks=len([call for call in made if call.reason is not None]),
                    tokens=row.served + sum(written),
                    served=sum(call.served for call in made),
                    cost=paid,
                )
                == row
            )

    @given(replays())
    def test_the_same_session_gives_the_same_numbers(self, replay: Replay) -> None:
        """Twice, with a counter that remembers, and each strategy alone."""
        calls = replay.calls(COSTS)
        alone = [attrs.evolve(replay, strategies=(strategy,)).calls(COSTS) for strategy in replay.strategies]

        assert calls == replay.calls(COSTS)
        assert calls == replay.calls(RememberingCounter(COSTS))
        assert list(calls) == [
            attrs.evolve(made[index], place=place)
            for index in range(len(alone[0]))
            for place, made in enumerate(alone)
        ]
