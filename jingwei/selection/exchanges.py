"""Finished tool groups of the running turn, and the steps that shorten them (rule R6)."""

from collections.abc import Sequence

from jingwei.messages.records import AssistantMessage, ModelMessage, ToolMessage
from jingwei.messages.wire import message_bytes
from jingwei.selection.condense import condensed_exchange
from jingwei.selection.costs import is_smaller
from jingwei.selection.records import (
    DEFAULT_PREVIEW,
    Candidate,
    CondenseExchange,
    DropExchange,
    Exchange,
    ExchangeCandidate,
    PlanStep,
    PreviewPolicy,
    Room,
)


def exchanges_of(current: Sequence[ModelMessage]) -> tuple[Exchange, ...]:
    """Every assistant message with calls whose results all follow it at once, with these results.

    A parallel group is one exchange. A group that lacks a result is none, and what stands around the
    groups belongs to none.
    """
    found, place = list[Exchange](), 0
    while place < len(current):
        length = _group_length(current, place)
        if length:
            messages = tuple(current[place : place + length])
            found.append(
                Exchange(
                    index=len(found),
                    place=place,
                    messages=messages,
                    canonical_bytes=sum(map(message_bytes, messages)),
                )
            )
        place += max(length, 1)
    return tuple(found)


def exchange_steps(
    candidates: Sequence[Candidate], room: Room, policy: PreviewPolicy = DEFAULT_PREVIEW
) -> tuple[PlanStep, ...]:
    """The steps over the running turn that every built-in strategy ends with (R6).

    Exchanges with large results are condensed, oldest first, one a step; then all are dropped, oldest
    first, one a step. Empty where the host did not let them be candidates. The last exchange of the
    running turn is never named.
    """
    allowed = [c.index for c in candidates if isinstance(c, ExchangeCandidate)]
    indexes = sorted(index for index in allowed if 0 <= index < len(room.exchanges) - 1)
    shortened = [
        PlanStep(reductions=(CondenseExchange(index=index, policy=policy),))
        for index in indexes
        if _shortens(room.exchanges[index], room, policy)
    ]
    return (*shortened, *(PlanStep(reductions=(DropExchange(index=index),)) for index in indexes))


def _shortens(exchange: Exchange, room: Room, policy: PreviewPolicy) -> bool:
    """Whether the build would admit the step (R4)."""
    condensed = condensed_exchange(exchange, policy)
    return condensed is not None and is_smaller(condensed.messages, exchange.messages, room.costs)


def _group_length(current: Sequence[ModelMessage], place: int) -> int:
    """Messages of the finished group that starts at `place`; 0 where none does."""
    first = current[place]
    if not isinstance(first, AssistantMessage) or not first.tool_calls:
        return 0
    waiting = {call.id for call in first.tool_calls}
    for end in range(place + 1, len(current)):
        message = current[end]
        if not isinstance(message, ToolMessage) or message.call_id not in waiting:
            return 0
        waiting.remove(message.call_id)
        if not waiting:
            return end + 1 - place
    return 0
