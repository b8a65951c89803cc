"""The words in which a view is sent: data with a label, and the action that led to it (rules T2, T7, S9).

A tool's text stands in a JSON string, and the characters that delimiters of prompts are made of are escaped
in it: it can end neither its string nor anything around it.
"""

from typing import Final, assert_never

from jingwei.jsontext import Json, JsonValue, data_text, escaped, parse
from jingwei.messages.records import AssistantMessage, ModelMessage, ModelToolCall, ToolMessage, UserMessage
from jingwei.results.recorded import synthetic_id
from jingwei.results.records import ResultView, ShownFailure, ShownSuccess, ViewForm, ViewRendition

ENVELOPE_TYPE: Final = "jingwei_tool_result"
"""What an envelope says that it is."""

UNTRUSTED: Final = "untrusted_tool_data"
"""The label of a tool's text (T7)."""

CALL_TOOL: Final = "call_tool"
"""The tag of an action that calls a tool, under the JSON protocol (T6)."""


def envelope_text(view: ResultView) -> str:
    """A view as a model is shown it: canonical JSON in which `<` and `>` are escaped."""
    said: dict[str, JsonValue]
    match view.outcome:
        case ShownSuccess():
            said = {"status": "succeeded"}
        case ShownFailure(category=category, code=code, code_bytes=code_bytes, retryable=retryable):
            said = {"status": "failed", "category": category.value, "code": code}
            if code_bytes is not None:
                said["code_bytes"] = code_bytes
            said["retryable"] = retryable
        case _:
            assert_never(view.outcome)
    said |= shown_text(view.form, view.text, view.total_bytes)
    if view.handle is not None:
        said["handle"] = view.handle
    return labelled(view.name, said)


def shown_text(form: ViewForm, text: str, total_bytes: int) -> dict[str, JsonValue]:
    """The part of an envelope that says what of a text is shown."""
    if form is ViewForm.WHOLE:
        return {"text": text, "truncated": False}
    return {"text": text, "truncated": True, "shown": form.value, "total_bytes": total_bytes}


def labelled(name: str, view: JsonValue) -> str:
    """The envelope around what is shown of a result."""
    value: JsonValue = {"type": ENVELOPE_TYPE, "trust": UNTRUSTED, "name": name, "view": view}
    return data_text(value)


def is_envelope(content: str) -> bool:
    """Whether a text is an envelope, byte for byte as this library writes one.

    No recorded outcome is: it begins with its status (P8).
    """
    if not content.startswith(_ENVELOPE_START):
        return False
    value = parse(content)
    if not isinstance(value, dict) or tuple(value) != ("type", "trust", "name", "view"):
        return False
    return data_text(value) == content


def action_text(name: str, arguments: Json) -> str:
    """The canonical JSON of a call, which stands for it under the JSON protocol (T6, T7)."""
    return f'{{"action":"{CALL_TOOL}","name":{escaped(name)},"arguments":{arguments.text}}}'


def exchange_messages(
    call: ModelToolCall, envelope: str, rendition: ViewRendition
) -> tuple[ModelMessage, ModelMessage]:
    """A call and its result, as two messages of either protocol (T7)."""
    match rendition:
        case ViewRendition.NATIVE:
            asked = AssistantMessage(content=None, tool_calls=(call,))
            return asked, ToolMessage(call_id=call.id, content=envelope)
        case ViewRendition.JSON:
            said = AssistantMessage(content=action_text(call.name, call.arguments))
            return said, UserMessage(content=envelope)
        case _:
            assert_never(rendition)


def call_of(view: ResultView, arguments: Json) -> ModelToolCall:
    """The call that a view answers, under the id that P8 gives it."""
    return ModelToolCall(id=synthetic_id(view.call_seq), name=view.name, arguments=arguments)


_ENVELOPE_START: Final = f'{{"type":"{ENVELOPE_TYPE}","trust":"{UNTRUSTED}","name":'
