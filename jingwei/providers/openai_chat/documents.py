"""Where in a document its conversations stand: the wrappers that Chat Completions transcripts come in.

A bare array of messages; an object with `messages` (a request log adds `response`), with `traj` (a run
of a benchmark), with `request` and `response` or their `….json` bundle, or with `exchanges`; an object
of dialogues by name; an array of any of these, or JSON Lines with one on each line.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

import attrs

from jingwei.codec import DecodeFailed, DecodeReason, lines_of, parse_document, parse_line
from jingwei.jsontext import JsonValue, canonical, pointer, shortened
from jingwei.providers.openai_chat.failures import (
    HardFailure,
    NoConversation,
    NotAConversation,
    UnusableResponse,
)

_REQUEST: Final = "request.json"
_RESPONSE: Final = "response.json"


@final
@attrs.frozen(kw_only=True)
class ErrorResponse:
    """The provider answered with an error: that is how the last turn ended."""

    code: str
    message: str


@final
@attrs.frozen(kw_only=True)
class Transcript:
    """The messages of one conversation, not yet looked at.

    Attributes:
        name: see `ImportedConversation`.
        messages: with the response's message as the last, where there is one.
        error: the response, where it was an error.
    """

    name: str
    messages: tuple[JsonValue, ...]
    error: ErrorResponse | None = None


@final
@attrs.frozen(kw_only=True)
class Unreadable:
    """A place where a conversation should stand and does not."""

    name: str
    failure: HardFailure


@final
@attrs.frozen(kw_only=True)
class Found:
    """Every conversation of a document, and the pointers of siblings that are none."""

    transcripts: tuple[Transcript | Unreadable, ...]
    skipped: tuple[str, ...] = ()


def transcripts_in_bytes(raw: bytes) -> Found | DecodeFailed | NoConversation:
    """The conversations of one JSON document or of JSON Lines, by the strict reading of W6.

    The input is read as lines when it is no single document and its first line is whole by itself;
    then a bad line hides no other. A last line without a newline is taken as any other line.
    """
    value = parse_document(raw)
    if not isinstance(value, DecodeFailed):
        return transcripts_in(value)
    if value.reason is DecodeReason.BOM or not _has_whole_first_line(raw):
        return value
    return _in_lines(raw)


def transcripts_in(value: JsonValue) -> Found | NoConversation:
    """The conversations of a parsed document."""
    found = _collect(value, ())
    return NoConversation(actual=_shown(value)) if found is None else found


# --- lines --------------------------------------------------------------------------------------


def _has_whole_first_line(raw: bytes) -> bool:
    """What fails by more than its grammar (a double key, half a surrogate) is whole, if not good."""
    first, newline, _ = raw.partition(b"\n")
    value = parse_document(first)
    return newline != b"" and not (
        isinstance(value, DecodeFailed) and value.reason is DecodeReason.INVALID_JSON
    )


def _in_lines(raw: bytes) -> Found:
    whole = raw if raw.endswith(b"\n") else raw + b"\n"
    parts = list[Found]()
    for index, line in enumerate(lines_of((whole,))):
        value = line if isinstance(line, DecodeFailed) else parse_line(line)
        if isinstance(value, DecodeFailed):
            parts.append(_unreadable((index,), value))
        else:
            parts.append(_collect(value, (index,)) or _unreadable((index,), _no_conversation(value)))
    return _joined(parts)


# --- wrappers -----------------------------------------------------------------------------------


def _collect(value: JsonValue, steps: tuple[str | int, ...]) -> Found | None:
    """The conversations of one value, or None where it is none of the wrappers."""
    if _is_message_array(value):
        return _one(steps, _items(value))
    if isinstance(value, Mapping):
        return _in_wrapper(value, steps) or _in_dialogues(value, steps)
    return _in_array(_items(value), steps)


def _in_array(items: Sequence[JsonValue], steps: tuple[str | int, ...]) -> Found | None:
    found = [_collect(item, (*steps, index)) for index, item in enumerate(items)]
    if not any(found):
        return None
    return _joined(
        [
            part or _unreadable((*steps, index), _no_conversation(items[index]))
            for index, part in enumerate(found)
        ]
    )


def _in_wrapper(value: Mapping[str, JsonValue], steps: tuple[str | int, ...]) -> Found | None:
    """An object with a member that says what it is."""
    exchanges, messages = value.get("exchanges"), value.get("messages")
    if isinstance(exchanges, list):
        return _in_exchanges(exchanges, (*steps, "exchanges"))
    if isinstance(messages, list):
        return _one(steps, messages, value.get("response"))
    if isinstance(run := value.get("traj"), list):
        return _one(steps, run)
    if (asked := _messages_of(value.get("request"))) is not None:
        return _one(steps, asked, value.get("response"))
    return _in_bundle(value, steps)


def _in_bundle(value: Mapping[str, JsonValue], steps: tuple[str | int, ...]) -> Found | None:
    """Files of a recorded exchange by name; named only where there are several."""
    pairs = {
        key: (asked, value.get(key.removesuffix(_REQUEST) + _RESPONSE))
        for key, member in value.items()
        if key.endswith(_REQUEST) and (asked := _messages_of(member)) is not None
    }
    parts = [
        _one((*steps, key) if len(pairs) > 1 else steps, asked, response)
        for key, (asked, response) in pairs.items()
    ]
    return _joined(parts) if parts else None


def _in_dialogues(value: Mapping[str, JsonValue], steps: tuple[str | int, ...]) -> Found | None:
    """Conversations by name; members that are none are skipped, and said to be."""
    parts, skipped = list[Found](), list[str]()
    for key, member in value.items():
        part = None
        if _is_message_array(member):
            part = _one((*steps, key), _items(member))
        elif isinstance(member, Mapping):
            part = _in_wrapper(member, (*steps, key))
        if part is None:
            skipped.append(pointer((*steps, key)))
        else:
            parts.append(part)
    if not parts:
        return None
    found = _joined(parts)
    return attrs.evolve(found, skipped=(*found.skipped, *skipped))


# --- exchanges ----------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class _Asked:
    """One request of a recording, and what came back.

    `prefixes[n]` stands for its first n messages: a digest over them, so that whether one request starts
    with the messages of another is one look-up, however long the recording.
    """

    index: int
    messages: tuple[JsonValue, ...]
    prefixes: tuple[bytes, ...]
    response: JsonValue
    failed: bool


@final
class _Open:
    """The conversations of a recording that no later request has taken up yet."""

    def __init__(self) -> None:
        self._asked = dict[int, _Asked]()
        self._by_messages = dict[bytes, dict[int, None]]()
        self._failed = dict[bytes, dict[int, None]]()

    def take(self, asked: _Asked) -> None:
        """Put a request in the place of the latest one that it goes on from, or beside all others.

        A request goes on from an earlier one if it starts with its messages. The same messages again are
        a second try only after an error; otherwise another conversation began with the same words.
        """
        *shorter, whole = asked.prefixes
        found = [self._by_messages.get(prefix) for prefix in shorter] + [self._failed.get(whole)]
        latest = max((next(reversed(places)) for places in found if places), default=None)
        if latest is not None:
            self._drop(self._asked.pop(latest))
        self._asked[asked.index] = asked
        for places in self._places(asked):
            places[asked.index] = None

    def values(self) -> Iterable[_Asked]:
        """What is left, in the order of the recording."""
        return self._asked.values()

    def _drop(self, earlier: _Asked) -> None:
        for places in self._places(earlier):
            del places[earlier.index]

    def _places(self, asked: _Asked) -> list[dict[int, None]]:
        whole = asked.prefixes[-1]
        held = [self._by_messages.setdefault(whole, {})]
        return [*held, self._failed.setdefault(whole, {})] if asked.failed else held


def _in_exchanges(exchanges: Sequence[JsonValue], steps: tuple[str | int, ...]) -> Found | None:
    """Each conversation of a recording: its last request, with the response."""
    last, skipped = _Open(), list[str]()
    for index, exchange in enumerate(exchanges):
        request = exchange.get("request") if isinstance(exchange, Mapping) else None
        messages = _messages_of(request)
        if messages is None or not isinstance(exchange, Mapping):
            skipped.append(pointer((*steps, index)))
            continue
        response = exchange.get("response")
        last.take(
            _Asked(
                index=index,
                messages=tuple(messages),
                prefixes=_prefixes(messages),
                response=response,
                failed=_error_of(response) is not None,
            )
        )
    parts = [_one((*steps, asked.index), asked.messages, asked.response) for asked in last.values()]
    return attrs.evolve(_joined(parts), skipped=tuple(skipped)) if parts else None


def _prefixes(messages: Sequence[JsonValue]) -> tuple[bytes, ...]:
    """A digest of the first 0, 1, 2 … messages."""
    chain = [b""]
    for message in messages:
        text = canonical(message).encode()
        chain.append(hashlib.sha256(chain[-1] + len(text).to_bytes(8) + text).digest())
    return tuple(chain)


# --- one conversation ---------------------------------------------------------------------------


def _one(steps: tuple[str | int, ...], messages: Sequence[JsonValue], response: JsonValue = None) -> Found:
    """A conversation and, where the wrapper has one, the response to it."""
    name = _name(steps)
    if response is None:
        return Found(transcripts=(Transcript(name=name, messages=tuple(messages)),))
    answer = _answer_of(response)
    if answer is not None:
        return Found(transcripts=(Transcript(name=name, messages=(*messages, answer)),))
    error = _error_of(response)
    if error is not None:
        return Found(transcripts=(Transcript(name=name, messages=tuple(messages), error=error),))
    return _unreadable(steps, UnusableResponse(index=len(messages), actual=_shown(response)))


def _answer_of(response: JsonValue) -> JsonValue:
    """The message of the only choice; which of several was the answer, nobody recorded."""
    choices = response.get("choices") if isinstance(response, Mapping) else None
    if not isinstance(choices, list) or len(choices) != 1:
        return None
    (choice,) = choices
    return choice.get("message") if isinstance(choice, Mapping) else None


def _error_of(response: JsonValue) -> ErrorResponse | None:
    error = response.get("error") if isinstance(response, Mapping) else None
    if isinstance(error, str):
        return ErrorResponse(code="error", message=error)
    if not isinstance(error, Mapping):
        return None
    codes = [value for key in ("code", "type") if isinstance(value := error.get(key), str)]
    message = error.get("message")
    return ErrorResponse(
        code=codes[0] if codes else "error",
        message=message if isinstance(message, str) else canonical(error),
    )


def _messages_of(request: JsonValue) -> Sequence[JsonValue] | None:
    messages = request.get("messages") if isinstance(request, Mapping) else None
    return messages if isinstance(messages, list) else None


def _is_message_array(value: JsonValue) -> bool:
    items = _items(value)
    return bool(items) and isinstance(items[0], Mapping) and "role" in items[0]


def _items(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else ()


def _joined(parts: Sequence[Found]) -> Found:
    return Found(
        transcripts=tuple([transcript for part in parts for transcript in part.transcripts]),
        skipped=tuple([path for part in parts for path in part.skipped]),
    )


def _unreadable(steps: tuple[str | int, ...], failure: HardFailure) -> Found:
    return Found(transcripts=(Unreadable(name=_name(steps), failure=failure),))


def _no_conversation(value: JsonValue) -> NotAConversation:
    return NotAConversation(actual=_shown(value))


def _name(steps: tuple[str | int, ...]) -> str:
    return pointer(steps).removeprefix("/")


def _shown(value: JsonValue) -> str:
    return shortened(canonical(value))
