"""What a model is told and what it answers: messages, tools, constraints (rules M1, M2)."""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json


@final
@attrs.frozen(kw_only=True)
class SystemMessage:
    """An instruction of the host. Never made from a log, a tool or a model (rules P11, S9)."""

    content: str


@final
@attrs.frozen(kw_only=True)
class UserMessage:
    """Words of the user, or data that the host hands in under the user's role."""

    content: str


@final
@attrs.frozen(kw_only=True)
class ModelToolCall:
    """One call inside an assistant message.

    Attributes:
        id: pairs the call with its result; not blank; may recur in a later group (M3).
        name: the tool's name.
        arguments: a JSON object; anything else is refused by the shape rules (M3), not here, since a
            log may have recorded it.
    """

    id: ProviderCallId
    name: str
    arguments: Json


@final
@attrs.frozen(kw_only=True)
class AssistantMessage:
    """What the model said (`content`, which may be the empty string), called, or both (M1)."""

    content: str | None = None
    tool_calls: tuple[ModelToolCall, ...] = ()


@final
@attrs.frozen(kw_only=True)
class ToolMessage:
    """The result of one call."""

    call_id: ProviderCallId
    content: str


ModelMessage: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage
"""One message, told apart by its role (M1)."""


@final
@attrs.frozen(kw_only=True)
class ToolDefinition:
    """A tool that the model may call (M2).

    Attributes:
        name: unique in its constraint.
        description: for the model.
        parameters: a JSON Schema; its root is an object or a boolean (M3).
    """

    name: str
    description: str
    parameters: Json


@final
@attrs.frozen
class AutoChoice:
    """The model decides whether to call."""


@final
@attrs.frozen
class RequiredChoice:
    """The model must call some tool."""


@final
@attrs.frozen(kw_only=True)
class NamedChoice:
    """The model must call this tool."""

    name: str


ToolChoice: TypeAlias = AutoChoice | RequiredChoice | NamedChoice


@final
@attrs.frozen
class TextConstraint:
    """Free text."""


@final
@attrs.frozen(kw_only=True)
class NativeToolsConstraint:
    """Tools that the provider's own protocol offers to the model."""

    tools: tuple[ToolDefinition, ...]
    choice: ToolChoice = AutoChoice()


@final
@attrs.frozen(kw_only=True)
class JsonSchemaConstraint:
    """Output that must satisfy a JSON Schema."""

    name: str
    schema: Json


GenerationConstraint: TypeAlias = TextConstraint | NativeToolsConstraint | JsonSchemaConstraint
"""What form the answer must have (M2)."""


@final
@attrs.frozen(kw_only=True)
class GenerationRequest:
    """The exact request a model should see (M2)."""

    messages: tuple[ModelMessage, ...]
    constraint: GenerationConstraint = TextConstraint()


@final
@attrs.frozen(kw_only=True)
class ToolCallFragment:
    """A call that was cut off while it was streamed; never executed (W4)."""

    index: int
    id: str
    name: str
    arguments: str


@final
@attrs.frozen(kw_only=True)
class TokenUsage:
    """What a provider said it used; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None


@final
class FinishKind(enum.Enum):
    """Why a model stopped, where the reason needs no further word (M2)."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTERED = "content_filtered"
    UNKNOWN = "unknown"


@final
@attrs.frozen(kw_only=True)
class Finished:
    """A finish reason of the closed list."""

    kind: FinishKind


@final
@attrs.frozen(kw_only=True)
class FinishedOtherwise:
    """A finish reason that only the provider knows."""

    code: str


FinishReason: TypeAlias = Finished | FinishedOtherwise


@final
@attrs.frozen(kw_only=True)
class GenerationResponse:
    """What a model answered (M2)."""

    content: str | None = None
    tool_calls: tuple[ModelToolCall, ...] = ()
    incomplete_tool_calls: tuple[ToolCallFragment, ...] = ()
    finish_reason: FinishReason = Finished(kind=FinishKind.UNKNOWN)
    usage: TokenUsage = TokenUsage()
