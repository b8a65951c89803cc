"""`RememberingCounter`: the same answers whatever is remembered, and a memory with a bound."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import final

import pytest

from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    SystemMessage,
    TextConstraint,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.counting import (
    AdditiveCounter,
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    CountRefused,
    FramingAllowance,
)
from jingwei.request.records import ContextTarget, TokenCount
from jingwei.request.remembering import ENTRY_CHARS, RememberingCounter

TARGET = ContextTarget(model="m", template_revision="t")
OTHER = ContextTarget(model="m", template_revision="another")
ONE = Allowance(bytes=3, specials=1)
BOUND = ByteBoundCounter(
    model="m",
    template_revision="t",
    allowance=FramingAllowance(message=ONE, call=ONE, tool=ONE, request=ONE),
)
COUNTERS: tuple[AdditiveCounter, ...] = (ByteHeuristicCounter(), BOUND)
CONSTRAINTS = (TextConstraint(), JsonSchemaConstraint(name="answer", schema=Json('{"type":"object"}')))


@final
class Tally:
    """A counter that notes what it was asked."""

    def __init__(self) -> None:
        self.asked = Counter[ModelMessage]()
        self._inner = ByteHeuristicCounter()

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return self._inner.count(target, request)

    def message_cost(self, message: ModelMessage) -> int:
        self.asked[message] += 1
        return self._inner.message_cost(message)

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return self._inner.fixed_cost(constraint)


def user(text: str) -> ModelMessage:
    return UserMessage(content=text)


def drawn_message(r: random.Random) -> ModelMessage:
    """One of few messages, so that they recur: equal texts in every role, also texts that look alike."""
    text = r.choice(("", "1", "1.0", "true", "é", "e\u0301", "构建" * 40, "x" * r.choice((1, 300))))
    arguments = Json(r.choice(("{}", '{"a":1}', '{"a":1.0}', '{"a":true}')))
    call = ModelToolCall(id=ProviderCallId("c"), name="run", arguments=arguments)
    return r.choice(
        (
            SystemMessage(content=text),
            UserMessage(content=text),
            AssistantMessage(content=text),
            AssistantMessage(tool_calls=(call,)),
            AssistantMessage(content=text, tool_calls=(call, call)),
            ToolMessage(call_id=ProviderCallId("c"), content=text),
        )
    )


def drawn_request(r: random.Random) -> GenerationRequest:
    messages = tuple(drawn_message(r) for _ in range(r.randint(0, 12)))
    return GenerationRequest(messages=messages, constraint=r.choice(CONSTRAINTS))


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("memory_chars", [0, 1, 2 * ENTRY_CHARS, 4 * ENTRY_CHARS + 7, 10_000, 10**9])
def test_what_is_remembered_never_changes_an_answer(counter: AdditiveCounter, memory_chars: int) -> None:
    """Cold, warm, half forgotten: every answer is that of the counter alone, refusals included."""
    r = random.Random(memory_chars)
    remembering = RememberingCounter(counter, memory_chars=memory_chars)
    for _ in range(300):
        request, target = drawn_request(r), r.choice((TARGET, TARGET, OTHER))

        assert counter.count(target, request) == remembering.count(target, request)
        for message in request.messages:
            assert counter.message_cost(message) == remembering.message_cost(message)
        assert counter.fixed_cost(request.constraint) == remembering.fixed_cost(request.constraint)


def test_it_is_additive_itself() -> None:
    assert isinstance(RememberingCounter(ByteHeuristicCounter()), AdditiveCounter)


def test_a_message_is_asked_for_once_and_equal_ones_are_the_same() -> None:
    tally = Tally()
    remembering = RememberingCounter(tally)
    for _ in range(5):
        request = GenerationRequest(messages=(user("one"), user("two"), user("".join(("o", "ne")))))
        assert isinstance(remembering.count(TARGET, request), Success)

    assert Counter({user("one"): 1, user("two"): 1}) == tally.asked


@pytest.mark.parametrize("memory_chars", [0, 1000, 5000])
def test_the_memory_stays_within_its_bound(memory_chars: int) -> None:
    r = random.Random(3)
    remembering = RememberingCounter(ByteHeuristicCounter(), memory_chars=memory_chars)
    for number in range(500):
        remembering.message_cost(user(str(number) * r.randint(1, 40)))

        assert memory_chars >= remembering.remembered * ENTRY_CHARS


def test_what_is_used_again_outlives_what_is_not() -> None:
    """A kept suffix stays known while a long history passes by once."""
    tally = Tally()
    remembering = RememberingCounter(tally, memory_chars=10 * (ENTRY_CHARS + 4))
    for number in range(100):
        remembering.message_cost(user("kept"))
        remembering.message_cost(user(f"{number:04}"))

    assert 1 == tally.asked[user("kept")]


def test_a_message_heavier_than_half_the_bound_is_not_remembered() -> None:
    tally = Tally()
    remembering = RememberingCounter(tally, memory_chars=2 * (ENTRY_CHARS + 10))
    asked_for: Sequence[ModelMessage] = (user("x" * 10), user("x" * 11))
    for message in (*asked_for, *asked_for):
        remembering.message_cost(message)

    assert [1, 2] == [tally.asked[message] for message in asked_for]


def test_a_refused_target_is_refused_as_by_the_counter_alone() -> None:
    refused = RememberingCounter(BOUND).count(OTHER, GenerationRequest(messages=(user("x"),)))

    assert isinstance(refused, Failure)
    assert BOUND.count(OTHER, GenerationRequest(messages=(user("x"),))) == refused
