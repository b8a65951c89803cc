"""A counter that remembers what a message cost (rule C4, second sentence)."""

from typing import Final, assert_never, final

from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    ModelToolCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.counting import AdditiveCounter, CountRefused, summed_costs
from jingwei.request.records import ContextTarget, TokenBreakdown, TokenCount

ENTRY_CHARS: Final = 256
"""What a remembered message weighs besides its text: the records and the place in the memory."""

MEMORY_CHARS: Final = 32 * 1024 * 1024
"""Default bound of the memory: twice `BUILD_INPUT_BYTES_MAX`, so that a history at that limit fits whole."""


@final
class RememberingCounter:
    """The same answers as the counter it wraps, which is asked once for each different message.

    Not a record: it holds a memory that changes, and may be shared by all builds of one thread. What it
    answers never depends on what it remembers; only the time does.

    The key is the message itself, that is, its whole content, held by reference. The counter's version
    is part of the key in that a memory belongs to one counter: it is never shared with another or handed
    on, and a new version is wrapped anew.

    The memory has two generations. A message is put into the young one, and comes back into it when it
    is met in the old one; a young generation that has reached half the bound becomes the old one, and
    the old one is forgotten. A message that is heavier than half the bound is not remembered.

    The wrapped counter's refusals must follow from the target and the constraint, not from what a
    message says: C6 lets `message_cost` answer nothing but a number. Its count is asked for with the
    messages left out, for method, evidence, constraint and template; where it refuses that, it is
    handed the whole request.
    """

    __slots__ = ("_counter", "_half", "_old", "_young", "_young_chars")

    def __init__(self, counter: AdditiveCounter, *, memory_chars: int = MEMORY_CHARS) -> None:
        """Wrap one counter.

        Args:
            counter: additive (C6), and deterministic as every counter is.
            memory_chars: bound of the memory, in characters of remembered text plus 256 a message and
                256 a call; at 0 nothing is remembered.
        """
        self._counter = counter
        self._half = memory_chars // 2
        self._young = dict[ModelMessage, int]()
        self._old = dict[ModelMessage, int]()
        self._young_chars = 0

    @property
    def remembered(self) -> int:
        """How many messages are remembered; for tests and gauges."""
        return len(self._young.keys() | self._old.keys())

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        """What the wrapped counter says of the whole request, message costs summed from memory."""
        match self._counter.count(target, GenerationRequest(messages=(), constraint=request.constraint)):
            case Failure():
                return self._counter.count(target, request)
            case Success(frame):
                system, messages = summed_costs(request, self.message_cost)
                tokens = TokenBreakdown(
                    system=frame.tokens.system + system,
                    messages=frame.tokens.messages + messages,
                    constraint=frame.tokens.constraint,
                    template=frame.tokens.template,
                )
                return Success(
                    TokenCount(
                        target=frame.target,
                        method=frame.method,
                        evidence=frame.evidence,
                        tokens=tokens,
                    )
                )

    def message_cost(self, message: ModelMessage) -> int:
        """What the wrapped counter says of the message, now or when it was first met."""
        known = self._young.get(message)
        if known is not None:
            return known
        cost = self._old.get(message)
        if cost is None:
            cost = self._counter.message_cost(message)
        self._remember(message, cost)
        return cost

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        """What the wrapped counter says; constraints are not remembered."""
        return self._counter.fixed_cost(constraint)

    def _remember(self, message: ModelMessage, cost: int) -> None:
        weight = _weight(message)
        if weight > self._half:
            return
        if self._young_chars + weight > self._half:
            self._old, self._young, self._young_chars = self._young, {}, 0
        self._young[message] = cost
        self._young_chars += weight


def _weight(message: ModelMessage) -> int:
    """Characters that a remembered message keeps alive, and its place."""
    match message:
        case SystemMessage(content=content) | UserMessage(content=content):
            return ENTRY_CHARS + len(content)
        case ToolMessage(call_id=call_id, content=content):
            return ENTRY_CHARS + len(call_id) + len(content)
        case AssistantMessage(content=content, tool_calls=calls):
            said = 0 if content is None else len(content)
            return ENTRY_CHARS + said + sum(map(_call_weight, calls))
        case _:
            assert_never(message)


def _call_weight(call: ModelToolCall) -> int:
    return ENTRY_CHARS + len(call.id) + len(call.name) + len(call.arguments.text)
