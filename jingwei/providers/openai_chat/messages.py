"""One message of a Chat Completions transcript at a time: what it says, by the strict reading.

Every decision that the format leaves to the host goes through `Ledger.settle`, which refuses or
notes, and in both cases lets the reading go on: so that one import tells all that stands in its way.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias, final

import attrs

from jingwei.codec import DecodeFailed
from jingwei.ids import is_blank
from jingwei.jsontext import (
    Json,
    JsonProblem,
    JsonValue,
    canonical,
    parse_json,
    shortened,
    within_depth,
)
from jingwei.limits import FREE_JSON_LEVELS
from jingwei.providers.openai_chat.failures import (
    BadArguments,
    BadField,
    ContentNotText,
    ConversationFailure,
    EmptyArguments,
    LegacyFunction,
    NoId,
    NotAConversation,
    NoUserMessage,
    PartNotText,
    ReasoningPresent,
    RepeatedCallId,
    UnknownRole,
)
from jingwei.providers.openai_chat.records import (
    ImportNote,
    ImportOptions,
    Instruction,
    InstructionRole,
    NoteKind,
    Unplaced,
)

REASONING_FIELDS: Final = (
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "reasoning_items",
    "thinking",
    "thinking_blocks",
)
"""Under which names providers hand out what a model thought."""

ASSISTANT_ROLES: Final = ("assistant", "agent")
"""`agent` is what one benchmark calls the assistant."""

RESULT_ROLES: Final = ("tool", "function")

_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "system": frozenset({"role", "content"}),
    "developer": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
    "function": frozenset({"role", "content", "name"}),
    **dict.fromkeys(
        ASSISTANT_ROLES,
        frozenset({"role", "content", "tool_calls", "function_call", "refusal", *REASONING_FIELDS}),
    ),
}


@final
@attrs.frozen(kw_only=True)
class Audit:
    """Something that is kept in the log beside the conversation.

    Attributes:
        index: the message.
        kind: what it is; the `custom` event says `openai_chat.<kind>`.
        payload: whole.
    """

    index: int
    kind: str
    payload: Json


@final
@attrs.frozen(kw_only=True)
class UserSaid:
    """A user message: a turn begins."""

    index: int
    text: str


@final
@attrs.frozen(kw_only=True)
class ReadCall:
    """One call of an assistant message.

    Attributes:
        position: its place among the calls of the message.
        call_id: None where the transcript has none.
        name: not blank.
        arguments: what will be recorded.
        legacy: a `function_call`.
    """

    position: int
    call_id: str | None
    name: str
    arguments: Json
    legacy: bool


@final
@attrs.frozen(kw_only=True)
class AssistantSaid:
    """An assistant message; `text` is None where it says nothing."""

    index: int
    text: str | None
    calls: tuple[ReadCall, ...]
    audits: tuple[Audit, ...]


@final
@attrs.frozen(kw_only=True)
class ResultCame:
    """A tool message, or the legacy form of one."""

    index: int
    call_id: str | None
    name: str | None
    text: str
    legacy: bool


ReadMessage: TypeAlias = Instruction | UserSaid | AssistantSaid | ResultCame

HardRead: TypeAlias = BadField | UnknownRole | RepeatedCallId
"""What reading a message fails with for good."""


@final
class Ledger:
    """What one import has refused and noted so far; never leaves this room."""

    def __init__(self, options: ImportOptions) -> None:
        self.options = options
        self.failures = list[ConversationFailure]()
        self.notes = list[ImportNote]()
        self._ignored = dict[str, ImportNote]()

    def settle(self, choice: Enum, failure: ConversationFailure, kind: NoteKind, detail: str) -> None:
        """Refuse under the strict choice, note under every other."""
        if choice.value == "refuse":
            self.failures.append(failure)
        else:
            self.note(kind, failure_index(failure), detail)

    def note(self, kind: NoteKind, index: int, detail: str) -> None:
        """A line of the report."""
        self.notes.append(ImportNote(kind=kind, index=index, detail=shortened(detail)))

    def ignore(self, index: int, field: str) -> None:
        """A field that no log has a place for; one line a field, however often it comes."""
        known = self._ignored.get(field)
        if known is None:
            note = ImportNote(kind=NoteKind.FIELD_IGNORED, index=index, detail=shortened(field))
        else:
            note = attrs.evolve(known, count=known.count + 1)
        self._ignored[field] = note

    def all_notes(self) -> tuple[ImportNote, ...]:
        """Every line, by message; what was decided first stands first."""
        return tuple(sorted([*self.notes, *self._ignored.values()], key=lambda note: note.index))


def failure_index(failure: ConversationFailure) -> int:
    """The message of a failure; 0 for the few that are about none."""
    return 0 if isinstance(failure, DecodeFailed | NoUserMessage | NotAConversation) else failure.index


def read_message(ledger: Ledger, index: int, message: Mapping[str, JsonValue]) -> ReadMessage | HardRead:
    """What one message says, or why it is none; what an option decides is in the ledger."""
    role = message.get("role")
    if not isinstance(role, str):
        return _bad(index, "/role", "a role", role)
    if role not in _FIELDS:
        return UnknownRole(index=index, actual=shortened(canonical(role)))
    for field, value in message.items():
        if field not in _FIELDS[role] and not _says_nothing(value):
            if field in ("tool_calls", "function_call"):
                return _bad(index, f"/{field}", f"no calls in a message of role {role}", value)
            ledger.ignore(index, field)
    if role in ASSISTANT_ROLES:
        return _read_assistant(ledger, index, message)
    if "content" not in message:
        return BadField(index=index, path="/content", expected="content", actual="nothing")
    text = _read_text(ledger, index, message["content"])
    if not isinstance(text, str):
        return text
    if role == "user":
        return UserSaid(index=index, text=text)
    if role in RESULT_ROLES:
        return _read_result(ledger, index, message, text)
    return Instruction(index=index, role=InstructionRole(role), text=text)


# --- content ------------------------------------------------------------------------------------


def _read_text(ledger: Ledger, index: int, content: JsonValue) -> str | BadField:
    """Text as it is; parts one after the other without anything between them."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(_is_part(part) for part in content):
        return _read_parts(ledger, index, content)
    shown = _shown(content)
    ledger.settle(
        ledger.options.structured_content,
        ContentNotText(index=index, actual=shown),
        NoteKind.CONTENT_AS_JSON,
        shown,
    )
    return canonical(content)


def _read_parts(ledger: Ledger, index: int, parts: Sequence[JsonValue]) -> str | BadField:
    texts = list[str]()
    for place, part in enumerate(parts):
        assert isinstance(part, Mapping), "checked by `_is_part`"
        kind = part["type"]
        assert isinstance(kind, str), "checked by `_is_part`"
        if kind in ("text", "refusal"):
            text = part.get(kind)
            if not isinstance(text, str):
                return _bad(index, f"/content/{place}/{kind}", "text", text)
            if kind == "refusal":
                ledger.note(NoteKind.REFUSAL_AS_TEXT, index, text)
            texts.append(text)
            continue
        ledger.settle(
            ledger.options.non_text_parts,
            PartNotText(index=index, part=place, actual=shortened(kind)),
            NoteKind.PART_REPLACED,
            kind,
        )
        texts.append(f"[{kind}: not imported]")
    if len(texts) > 1:
        ledger.note(NoteKind.PARTS_JOINED, index, f"{len(texts)} parts")
    return "".join(texts)


def _is_part(value: JsonValue) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str)


# --- assistant ----------------------------------------------------------------------------------


def _read_assistant(ledger: Ledger, index: int, message: Mapping[str, JsonValue]) -> AssistantSaid | HardRead:
    if message["role"] != "assistant":
        ledger.note(NoteKind.AGENT_AS_ASSISTANT, index, "agent")
    audits = _read_reasoning(ledger, index, message)
    text = _read_assistant_text(ledger, index, message)
    if isinstance(text, BadField):
        return text
    calls = _read_calls(ledger, index, message.get("tool_calls"))
    if not isinstance(calls, tuple):
        return calls
    legacy = message.get("function_call")
    if legacy is not None:
        call = _read_legacy_call(ledger, index, len(calls), legacy)
        if isinstance(call, BadField):
            return call
        calls = (*calls, call)
    # Text that is empty says nothing beside calls; by itself it is an empty reply (P7).
    said = None if calls and text == "" else text
    return AssistantSaid(index=index, text=said, calls=calls, audits=audits)


def kept_whole(index: int, kind: str, value: Mapping[str, JsonValue]) -> Audit:
    """What is kept beside the conversation; as text where it is too deep to stand inside an event."""
    text = canonical(value)
    fits = within_depth(text, value, FREE_JSON_LEVELS)
    return Audit(index=index, kind=kind, payload=Json(text if fits else canonical(text)))


def _read_reasoning(ledger: Ledger, index: int, message: Mapping[str, JsonValue]) -> tuple[Audit, ...]:
    audits = list[Audit]()
    for field in REASONING_FIELDS:
        value = message.get(field)
        if _says_nothing(value):
            continue
        choice = ledger.options.reasoning
        ledger.settle(choice, ReasoningPresent(index=index, field=field), NoteKind.REASONING_UNPLACED, field)
        if choice is Unplaced.AS_AUDIT:
            audits.append(kept_whole(index, "reasoning", {field: value}))
    return tuple(audits)


def _read_assistant_text(
    ledger: Ledger, index: int, message: Mapping[str, JsonValue]
) -> str | None | BadField:
    """Content, then the refusal: to the user both are what was said, and a log has one kind of reply."""
    content, refusal = message.get("content"), message.get("refusal")
    text = None if content is None else _read_text(ledger, index, content)
    if isinstance(text, BadField) or _says_nothing(refusal):
        return text
    if not isinstance(refusal, str):
        return _bad(index, "/refusal", "text or null", refusal)
    ledger.note(NoteKind.REFUSAL_AS_TEXT, index, refusal)
    return (text or "") + refusal


# --- calls --------------------------------------------------------------------------------------


def _read_calls(ledger: Ledger, index: int, value: JsonValue) -> tuple[ReadCall, ...] | HardRead:
    if value is None:
        return ()
    if not isinstance(value, list):
        return _bad(index, "/tool_calls", "an array or null", value)
    calls, seen = list[ReadCall](), set[str]()
    for position, item in enumerate(value):
        call = _read_call(ledger, index, position, item)
        if isinstance(call, BadField):
            return call
        if call.call_id is not None and call.call_id in seen:
            return RepeatedCallId(index=index, call_id=shortened(call.call_id))
        if call.call_id is not None:
            seen.add(call.call_id)
        calls.append(call)
    return tuple(calls)


def _read_call(ledger: Ledger, index: int, position: int, value: JsonValue) -> ReadCall | BadField:
    path = f"/tool_calls/{position}"
    if not isinstance(value, Mapping):
        return _bad(index, path, "an object", value)
    if value.get("type") not in (None, "function"):
        return _bad(index, f"{path}/type", '"function"', value.get("type"))
    for field, member in value.items():
        if field not in ("id", "type", "function") and not _says_nothing(member):
            ledger.ignore(index, f"tool_calls.{field}")
    call_id = _read_id(ledger, index, f"{path}/id", value.get("id"))
    if isinstance(call_id, BadField):
        return call_id
    function = _read_function(ledger, index, f"{path}/function", value.get("function"))
    if isinstance(function, BadField):
        return function
    name, arguments = function
    return ReadCall(position=position, call_id=call_id, name=name, arguments=arguments, legacy=False)


def _read_legacy_call(ledger: Ledger, index: int, position: int, value: JsonValue) -> ReadCall | BadField:
    function = _read_function(ledger, index, "/function_call", value)
    if isinstance(function, BadField):
        return function
    name, arguments = function
    _settle_legacy(ledger, index, name)
    return ReadCall(position=position, call_id=None, name=name, arguments=arguments, legacy=True)


def _read_function(ledger: Ledger, index: int, path: str, value: JsonValue) -> tuple[str, Json] | BadField:
    if not isinstance(value, Mapping):
        return _bad(index, path, "an object", value)
    name = value.get("name")
    if not isinstance(name, str) or is_blank(name):
        return _bad(index, f"{path}/name", "a name", name)
    arguments = _read_arguments(ledger, index, f"{path}/arguments", value.get("arguments"))
    return arguments if isinstance(arguments, BadField) else (name, arguments)


def _read_arguments(ledger: Ledger, index: int, path: str, value: JsonValue) -> Json | BadField:
    """The object that the text stands for; "" is read as {} under an option, never by itself."""
    if isinstance(value, Mapping) and within_depth(canonical(value), value, FREE_JSON_LEVELS):
        ledger.note(NoteKind.ARGUMENTS_GIVEN_AS_OBJECT, index, path)
        return Json(canonical(value))
    if value is None or value == "":
        choice = ledger.options.empty_arguments
        ledger.settle(choice, EmptyArguments(index=index, path=path), NoteKind.ARGUMENTS_EMPTY, path)
        return Json("{}")
    if not isinstance(value, str):
        return _bad(index, path, "the text of a JSON object", value)
    parsed = parse_json(value)
    if not isinstance(parsed, JsonProblem) and parsed.is_object and _fits(parsed):
        return parsed
    failure = BadArguments(index=index, path=path, actual=shortened(value))
    ledger.settle(ledger.options.bad_arguments, failure, NoteKind.ARGUMENTS_WRAPPED, value)
    return Json(canonical({"text": value}))


def _fits(arguments: Json) -> bool:
    """Not so deep that no event, projection or request could be written with it."""
    return within_depth(arguments.text, arguments.value(), FREE_JSON_LEVELS)


def _read_id(ledger: Ledger, index: int, path: str, value: JsonValue) -> str | None | BadField:
    if value is not None and not isinstance(value, str):
        return _bad(index, path, "an id", value)
    if value is not None and not is_blank(value):
        return value
    ledger.settle(ledger.options.missing_ids, NoId(index=index, path=path), NoteKind.ID_DERIVED, path)
    return None


# --- results ------------------------------------------------------------------------------------


def _read_result(
    ledger: Ledger, index: int, message: Mapping[str, JsonValue], text: str
) -> ResultCame | BadField:
    name = message.get("name")
    if name is not None and not isinstance(name, str):
        return _bad(index, "/name", "a name or null", name)
    if message["role"] == "function":
        _settle_legacy(ledger, index, name or "function")
        return ResultCame(index=index, call_id=None, name=name, text=text, legacy=True)
    call_id = _read_id(ledger, index, "/tool_call_id", message.get("tool_call_id"))
    if isinstance(call_id, BadField):
        return call_id
    return ResultCame(index=index, call_id=call_id, name=name, text=text, legacy=False)


def _settle_legacy(ledger: Ledger, index: int, name: str) -> None:
    failure = LegacyFunction(index=index, actual=shortened(name))
    ledger.settle(ledger.options.legacy_calls, failure, NoteKind.LEGACY_AS_TOOL_CALL, name)


def _says_nothing(value: JsonValue) -> bool:
    return value is None or value in ("", [], {})


def _bad(index: int, path: str, expected: str, value: JsonValue) -> BadField:
    return BadField(index=index, path=path, expected=expected, actual=_shown(value))


def _shown(value: JsonValue) -> str:
    return shortened(canonical(value))
