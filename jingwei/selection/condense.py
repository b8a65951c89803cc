"""Previews in the place of large tool results: a step down that keeps a turn whole (rules R4, T2, T3).

A condensed message says in the same words how the tool ended, shows how its text began, and names where
the whole text stands. Nothing is lost: the log keeps the original, and is never changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias, assert_never, final

import attrs

from jingwei.events.records import ToolFailed, ToolSucceeded
from jingwei.ids import SessionId
from jingwei.jsontext import JsonValue, canonical, utf8_bytes
from jingwei.limits import BUILD_TURNS_MAX
from jingwei.messages.records import ModelMessage, ToolMessage
from jingwei.messages.wire import message_bytes, tool_message_bytes
from jingwei.projection.records import ProjectedTurn
from jingwei.results.memory import TurnMemory
from jingwei.results.recorded import prefix_of, recorded_outcome
from jingwei.selection.records import Condensed, Exchange, PreviewPolicy


def condensed_turn(turn: ProjectedTurn, policy: PreviewPolicy, session_id: SessionId) -> Condensed | None:
    """A turn of the history with previews; None where no result is large.

    A result is replaced when it is a recorded outcome (P8) whose text has more than `inline_bytes` of
    UTF-8, and the preview makes its message shorter. Each preview refers to the event of the result.
    A preview is no recorded outcome, so that nothing is condensed twice.

    A turn is read once and remembered while it lives, since strategy and build ask for it again at every
    request of a session. What is answered never depends on what is remembered.
    """
    if max((max(group.message_bytes, default=0) for group in turn.groups), default=0) <= policy.inline_bytes:
        return None  # no text is longer than the message that holds it
    key = (policy, session_id)
    known = _MEMORY.get(turn, key)
    if known is None:
        known = _Known(condensed=_condensed_turn(turn, policy, session_id))
        _MEMORY.remember(turn, key, known)
    return known.condensed


def condensed_exchange(exchange: Exchange, policy: PreviewPolicy) -> Condensed | None:
    """A tool group of the running turn with previews; None where no result is large.

    As `condensed_turn`, but current messages name no events, so that each preview refers to its call.
    """
    large = [
        _Large(
            place=place,
            size=message_bytes(message),
            message=message,
            reference={"call_id": message.call_id},
        )
        for place, message in enumerate(exchange.messages)
        if isinstance(message, ToolMessage)
    ]
    return _condensed(exchange.messages, exchange.canonical_bytes, large, policy)


def _condensed_turn(turn: ProjectedTurn, policy: PreviewPolicy, session_id: SessionId) -> Condensed | None:
    messages, large = list[ModelMessage](), list[_Large]()
    for group in turn.groups:
        if max(group.message_bytes, default=0) > policy.inline_bytes:
            reference = {"session_id": session_id, "event_id": group.source_events[-1]}
            large += [
                _Large(place=len(messages) + place, size=size, message=message, reference=reference)
                for place, (message, size) in enumerate(zip(group.messages, group.message_bytes, strict=True))
                if isinstance(message, ToolMessage)
            ]
        messages += group.messages
    return _condensed(messages, turn.canonical_bytes, large, policy)


@final
@attrs.frozen(kw_only=True)
class _Large:
    """A tool message that may be large, and what its preview would refer to."""

    place: int
    size: int
    message: ToolMessage
    reference: Mapping[str, JsonValue]


def _condensed(
    messages: Sequence[ModelMessage], size: int, candidates: Iterable[_Large], policy: PreviewPolicy
) -> Condensed | None:
    """Messages of a known size, with previews where a candidate is large."""
    shown, results = list(messages), 0
    for one in candidates:
        # Most are passed over unread.
        content = None if one.size <= policy.inline_bytes else _preview_content(one, policy)
        if content is None:
            continue
        saved = one.size - tool_message_bytes(one.message.call_id, content)
        if saved > 0:
            shown[one.place] = ToolMessage(call_id=one.message.call_id, content=content)
            results += 1
            size -= saved
    if not results:
        return None
    return Condensed(messages=tuple(shown), results=results, canonical_bytes=size)


def _preview_content(large: _Large, policy: PreviewPolicy) -> str | None:
    """What a tool message says instead; None where it is no recorded outcome, or a small one."""
    outcome = recorded_outcome(large.message.content)
    if outcome is None:
        return None
    # T2: how the tool ended is said in the words of the original.
    ended: dict[str, JsonValue]
    match outcome:
        case ToolSucceeded(output=text):
            ended = {"status": "succeeded"}
        case ToolFailed(category=category, code=code, message=text, retryable=retryable):
            ended = {"status": "failed", "category": category.value, "code": code, "retryable": retryable}
        case _:
            assert_never(outcome)
    total = utf8_bytes(text)
    if total <= policy.inline_bytes:
        return None
    shown: dict[str, JsonValue] = {
        "preview": prefix_of(text, policy.preview_bytes),
        "truncated": True,
        "total_bytes": total,
        "reference": large.reference,
    }
    return canonical({**ended, **shown})


# --- what is remembered ---------------------------------------------------------------------------

REMEMBERED_TURNS: Final = BUILD_TURNS_MAX
"""Turns of one generation of the memory: the largest history that a build takes fits whole."""

_Key: TypeAlias = tuple[PreviewPolicy, SessionId]


@final
@attrs.frozen(kw_only=True)
class _Known:
    """What is known of one turn: its previews, or that it has none."""

    condensed: Condensed | None


_MEMORY: Final = TurnMemory[_Key, _Known](REMEMBERED_TURNS)
