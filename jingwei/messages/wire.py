"""Messages, requests and responses as JSON (rules M1, M2, W1): strict on unknown keys throughout."""

from typing import Final, assert_never

from jingwei.codec import Declarations, DecodeFailed, EncodeFailed, RecordCodec
from jingwei.jsontext import JsonValue, escaped, utf8_bytes
from jingwei.messages.records import (
    AssistantMessage,
    AutoChoice,
    Finished,
    FinishedOtherwise,
    FinishKind,
    FinishReason,
    GenerationConstraint,
    GenerationRequest,
    GenerationResponse,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    NamedChoice,
    NativeToolsConstraint,
    RequiredChoice,
    SystemMessage,
    TextConstraint,
    TokenUsage,
    ToolCallFragment,
    ToolChoice,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Outcome


def declare(wire: Declarations) -> None:
    """The wire form of everything in `records`; other rooms declare it into their own codecs."""
    wire.enums(FinishKind)
    wire.record(SystemMessage, strict=True, constants={"role": "system"})
    wire.record(UserMessage, strict=True, constants={"role": "user"})
    wire.record(ModelToolCall, strict=True, not_blank=("id",))
    wire.record(AssistantMessage, strict=True, constants={"role": "assistant"}, always=("content",))
    wire.record(ToolMessage, strict=True, constants={"role": "tool"}, not_blank=("call_id",))
    roles = {"system": SystemMessage, "user": UserMessage, "assistant": AssistantMessage, "tool": ToolMessage}
    wire.union(ModelMessage, "role", roles)
    wire.record(ToolDefinition, strict=True)
    wire.record(AutoChoice, strict=True, constants={"kind": "auto"})
    wire.record(RequiredChoice, strict=True, constants={"kind": "required"})
    wire.record(NamedChoice, strict=True, constants={"kind": "named"})
    wire.union(ToolChoice, "kind", {"auto": AutoChoice, "required": RequiredChoice, "named": NamedChoice})
    wire.record(TextConstraint, strict=True, constants={"mode": "text"})
    wire.record(NativeToolsConstraint, strict=True, constants={"mode": "native_tools"}, always=("tools",))
    wire.record(JsonSchemaConstraint, strict=True, constants={"mode": "json_schema"})
    modes = {
        "text": TextConstraint,
        "native_tools": NativeToolsConstraint,
        "json_schema": JsonSchemaConstraint,
    }
    wire.union(GenerationConstraint, "mode", modes)
    wire.record(GenerationRequest, strict=True)
    wire.record(ToolCallFragment, strict=True, below={"index": 2**32})
    wire.record(TokenUsage, strict=True)
    wire.record(Finished, strict=True)
    wire.record(FinishedOtherwise, strict=True, constants={"kind": "other"})
    kinds: dict[str, type[object]] = {kind.value: Finished for kind in FinishKind}
    wire.union(FinishReason, "kind", {**kinds, "other": FinishedOtherwise})
    wire.record(GenerationResponse, strict=True, always=("tool_calls", "incomplete_tool_calls"))


_CODEC: Final = RecordCodec(declare)


def decode_request(data: bytes) -> Outcome[GenerationRequest, DecodeFailed]:
    """One request from its JSON document (W1, W6, M2). Total: any bytes give a Result."""
    return _CODEC.decode(data, GenerationRequest)


def encode_request(request: GenerationRequest) -> Outcome[bytes, EncodeFailed]:
    """Canonical bytes of a request (W8), without a newline."""
    return _CODEC.encode(request)


def request_value(request: GenerationRequest) -> JsonValue:
    """A request as plain JSON values."""
    return _CODEC.write(request)


def request_text(request: GenerationRequest) -> str:
    """Canonical text of a request (W8, M2), from that of its messages."""
    messages = ",".join(map(message_text, request.messages))
    return f'{{"messages":[{messages}],"constraint":{constraint_text(request.constraint)}}}'


def decode_response(data: bytes) -> Outcome[GenerationResponse, DecodeFailed]:
    """One response from its JSON document (W1, W6, M2). Total: any bytes give a Result."""
    return _CODEC.decode(data, GenerationResponse)


def encode_response(response: GenerationResponse) -> Outcome[bytes, EncodeFailed]:
    """Canonical bytes of a response (W8), without a newline."""
    return _CODEC.encode(response)


def message_text(message: ModelMessage) -> str:
    """Canonical text of one message (W8, M1).

    Written by hand since every message of a log passes here once (projection) and every kept one
    again (counting, digests); the property `WireOfMessages` holds it equal to the declared form.
    """
    match message:
        case SystemMessage(content=content):
            return f'{{"role":"system","content":{escaped(content)}}}'
        case UserMessage(content=content):
            return f'{{"role":"user","content":{escaped(content)}}}'
        case ToolMessage(call_id=call_id, content=content):
            return f'{{"role":"tool","call_id":{escaped(call_id)},"content":{escaped(content)}}}'
        case AssistantMessage(content=content, tool_calls=calls):
            said = "null" if content is None else escaped(content)
            if not calls:
                return f'{{"role":"assistant","content":{said}}}'
            called = ",".join(map(_call_text, calls))
            return f'{{"role":"assistant","content":{said},"tool_calls":[{called}]}}'
        case _:
            assert_never(message)


def tool_message_bytes(call_id: str, content: str) -> int:
    """Canonical bytes of a tool message whose content is canonical JSON itself.

    Canonical JSON holds no control characters, so only its quotes and backslashes grow when it is
    written as a string; counting them costs a fraction of writing it (property `RenditionRecorded`).
    """
    grown = content.count('"') + content.count("\\")
    return _TOOL_FRAME + utf8_bytes(escaped(call_id)) + utf8_bytes(content) + grown


def message_bytes(message: ModelMessage) -> int:
    """Canonical bytes of one message; the unit of B2 and C2."""
    return utf8_bytes(message_text(message))


_TOOL_FRAME: Final = len('{"role":"tool","call_id":,"content":""}')


def constraint_text(constraint: GenerationConstraint) -> str:
    """Canonical text of a constraint (W8, M2)."""
    if isinstance(constraint, TextConstraint):
        return '{"mode":"text"}'
    return _CODEC.text(constraint)


def constraint_bytes(constraint: GenerationConstraint) -> int:
    """Canonical bytes of a constraint; the unit of B2 and C2."""
    return utf8_bytes(constraint_text(constraint))


def _call_text(call: ModelToolCall) -> str:
    return f'{{"id":{escaped(call.id)},"name":{escaped(call.name)},"arguments":{call.arguments.text}}}'
