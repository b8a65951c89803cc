"""Previews in the place of large tool results: a step down that keeps a turn whole (rules R4, T2, T3).

A condensed message says in the same words how the tool ended, shows how its text began, and names where
the whole text stands. Nothing is lost: the log keeps the original, and is never changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias, assert_never, final
from weakref import ref

import attrs

from jingwei.events.records import ToolFailed, ToolFailureCategory, ToolOutcome, ToolSucceeded
from jingwei.ids import SessionId
from jingwei.jsontext import JsonValue, canonical, parse_canonical, utf8_bytes
from jingwei.limits import BUILD_TURNS_MAX
from jingwei.messages.records import ModelMessage, ToolMessage
from jingwei.messages.wire import message_bytes, tool_message_bytes
from jingwei.projection.records import ProjectedTurn
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
    key = (id(turn), policy, session_id)
    known = _MEMORY.get(key, turn)
    if known is None:
        known = _Known(condensed=_condensed_turn(turn, policy, session_id))
        _MEMORY.remember(key, turn, known)
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


def preview_of(text: str, preview_bytes: int) -> str:
    """The longest beginning of a text of at most so many UTF-8 bytes, in whole characters (T3)."""
    room = max(preview_bytes, 0)
    # No character takes less than a byte, so that what stands further on is not even written.
    raw = text[:room].encode("utf-8", "surrogatepass")
    end = min(room, len(raw))
    while end < len(raw) and _continues(raw[end]):
        end -= 1
    return raw[:end].decode("utf-8", "surrogatepass")


def recorded_outcome(content: str) -> ToolOutcome | None:
    """The outcome that a tool message was written from (P8); None for any other content."""
    if not content.startswith(_OUTCOME_STARTS):
        return None
    found = parse_canonical(content)
    if not isinstance(found, dict):
        return None
    # Canonical text and the same keys in the same order: the outcome would be written as it stands here.
    match tuple(found.items()):
        case (("status", "succeeded"), ("output", str(output))):
            return ToolSucceeded(output=output)
        case (
            ("status", "failed"),
            ("category", str(category)),
            ("code", str(code)),
            ("message", str(message)),
            ("retryable", bool(retryable)),
        ) if category in _CATEGORIES:
            return ToolFailed(
                category=ToolFailureCategory(category), code=code, message=message, retryable=retryable
            )
        case _:
            return None


_OUTCOME_STARTS: Final = ('{"status":"succeeded",', '{"status":"failed",')
_CATEGORIES: Final = frozenset(category.value for category in ToolFailureCategory)


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
        "preview": preview_of(text, policy.preview_bytes),
        "truncated": True,
        "total_bytes": total,
        "reference": large.reference,
    }
    return canonical({**ended, **shown})


def _continues(byte: int) -> bool:
    """True for the second and later bytes of a character."""
    return byte & 0xC0 == 0x80


# --- what is remembered ---------------------------------------------------------------------------

REMEMBERED_TURNS: Final = BUILD_TURNS_MAX
"""Turns of one generation of the memory: the largest history that a build takes fits whole."""

_Key: TypeAlias = tuple[int, PreviewPolicy, SessionId]


@final
@attrs.frozen(kw_only=True)
class _Known:
    """What is known of one turn: its previews, or that it has none."""

    condensed: Condensed | None


@final
class _Memory:
    """Condensed turns by the identity of the turn; holds no turn alive, and forgets it when it is gone.

    Two generations, each bounded: a full young one becomes the old one, and the old one is forgotten.
    Nothing is iterated over, so that threads may share it; at worst a turn is read twice.
    """

    __slots__ = ("_bound", "_old", "_young")

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._young = dict[_Key, tuple[ref[ProjectedTurn], _Known]]()
        self._old = dict[_Key, tuple[ref[ProjectedTurn], _Known]]()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: _Key, turn: ProjectedTurn) -> _Known | None:
        """What is known of this very turn."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None or found[0]() is not turn:
                return None
            self._put(key, found)
        # An identity is used again after its owner is gone.
        return found[1] if found[0]() is turn else None

    def remember(self, key: _Key, turn: ProjectedTurn, known: _Known) -> None:
        def forget(gone: "ref[ProjectedTurn]") -> None:
            for generation in (self._young, self._old):
                held = generation.get(key)
                if held is not None and held[0] is gone:
                    generation.pop(key, None)

        self._put(key, (ref(turn, forget), known))

    def _put(self, key: _Key, entry: "tuple[ref[ProjectedTurn], _Known]") -> None:
        if len(self._young) >= self._bound:
            self._old, self._young = self._young, {}
        self._young[key] = entry


_MEMORY: Final = _Memory(REMEMBERED_TURNS)
