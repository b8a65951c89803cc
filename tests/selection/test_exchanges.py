"""Finished tool groups of the running turn, and the steps over them (R6)."""

import attrs
import pytest

from jingwei.events.records import ToolSucceeded
from jingwei.events.wire import outcome_text
from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    ModelToolCall,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import message_bytes
from jingwei.outcome import Failure, Outcome
from jingwei.request.counting import CountRefused
from jingwei.request.records import ContextTarget, TokenCount
from jingwei.selection.exchanges import exchange_steps, exchanges_of
from jingwei.selection.records import (
    Candidate,
    CondenseExchange,
    DropExchange,
    Exchange,
    ExchangeCandidate,
    PlanStep,
    PreviewPolicy,
    Reduction,
    Room,
)

SMALL = PreviewPolicy(inline_bytes=200, preview_bytes=20)


@attrs.frozen
class Flat:
    """Each message costs the same, so that nothing is ever smaller."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return Failure(CountRefused(reason="never asked"))

    def message_cost(self, message: ModelMessage) -> int:
        return 10

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return 0


def user(text: str = "go on") -> UserMessage:
    return UserMessage(content=text)


def asked(*ids: str, said: str | None = None) -> AssistantMessage:
    calls = [ModelToolCall(id=ProviderCallId(id_), name="look", arguments=Json("{}")) for id_ in ids]
    return AssistantMessage(content=said, tool_calls=tuple(calls))


def result(call_id: str, size: int = 1) -> ToolMessage:
    content = outcome_text(ToolSucceeded(output="x" * size))
    return ToolMessage(call_id=ProviderCallId(call_id), content=content)


def group(index: int, place: int, *messages: ModelMessage) -> Exchange:
    size = sum(map(message_bytes, messages))
    return Exchange(index=index, place=place, messages=messages, canonical_bytes=size)


def opted(exchanges: tuple[Exchange, ...]) -> list[Candidate]:
    """What a build hands to a strategy: all exchanges but the last."""
    return [
        ExchangeCandidate(
            index=one.index, message_count=len(one.messages), canonical_bytes=one.canonical_bytes
        )
        for one in exchanges[:-1]
    ]


def room(*sizes: int) -> Room:
    """A running turn whose exchanges have results of so many bytes."""
    current = [user()]
    messages = [message for size in sizes for message in (asked("a"), result("a", size))]
    exchanges = exchanges_of([*current, *messages])
    return Room(window_tokens=1, reserved_tokens=0, required_bytes=0, exchanges=exchanges)


def steps(*reductions: Reduction) -> tuple[PlanStep, ...]:
    return tuple(PlanStep(reductions=(one,)) for one in reductions)


def condense(index: int) -> CondenseExchange:
    return CondenseExchange(index=index, policy=SMALL)


@pytest.mark.parametrize("current", [[], [user()], [user(), AssistantMessage(content="text")]])
def test_without_calls_there_is_no_exchange(current: list[ModelMessage]) -> None:
    assert () == exchanges_of(current)


def test_each_call_with_its_result_is_one() -> None:
    first, second = (asked("a"), result("a")), (asked("a", said="again"), result("a"))

    assert (group(0, 1, *first), group(1, 4, *second)) == exchanges_of(
        [user(), *first, user("and?"), *second, AssistantMessage(content="so far")]
    )


def test_a_parallel_group_is_one_whatever_the_order_of_its_results() -> None:
    messages = (asked("a", "b", "c"), result("c"), result("a"), result("b"))

    assert (group(0, 1, *messages),) == exchanges_of([user(), *messages])


@pytest.mark.parametrize(
    "current",
    [
        [user(), asked("a")],
        [user(), asked("a", "b"), result("a")],
        [user(), asked("a", "b"), result("a"), user()],
        [user(), asked("a"), result("b")],
        [user(), result("a"), asked("a", "b"), result("a"), result("a")],
    ],
)
def test_a_group_that_lacks_a_result_is_none(current: list[ModelMessage]) -> None:
    """A build refuses such messages; nothing here relies on it."""
    assert () == exchanges_of(current)


def test_what_follows_an_unfinished_group_is_found() -> None:
    assert (group(0, 2, asked("b"), result("b")),) == exchanges_of(
        [user(), asked("a"), asked("b"), result("b")]
    )


def test_large_ones_are_condensed_oldest_first_then_all_dropped_oldest_first() -> None:
    running = room(900, 1, 900, 900)
    expected = steps(
        condense(0),
        condense(2),
        DropExchange(index=0),
        DropExchange(index=1),
        DropExchange(index=2),
    )

    assert expected == exchange_steps(opted(running.exchanges), running, SMALL)


def test_the_last_one_is_never_named_even_where_it_is_offered() -> None:
    running = room(900, 900)
    offered = [ExchangeCandidate(index=index, message_count=2, canonical_bytes=9) for index in (1, 0, 7, -1)]

    assert steps(condense(0), DropExchange(index=0)) == exchange_steps(offered, running, SMALL)


@pytest.mark.parametrize("sizes", [(), (900,), (900, 900)])
def test_without_the_host_s_leave_there_is_no_step(sizes: tuple[int, ...]) -> None:
    assert () == exchange_steps([], room(*sizes), SMALL)


def test_what_is_not_smaller_by_the_build_s_costs_is_not_condensed() -> None:
    running = attrs.evolve(room(900, 1), costs=Flat())

    assert steps(DropExchange(index=0)) == exchange_steps(opted(running.exchanges), running, SMALL)


def test_the_default_sizes_are_those_of_previews() -> None:
    running = room(4097, 4096, 1)
    expected = steps(
        CondenseExchange(index=0, policy=PreviewPolicy(inline_bytes=4096, preview_bytes=512)),
        DropExchange(index=0),
        DropExchange(index=1),
    )

    assert expected == exchange_steps(opted(running.exchanges), running)
