"""Why messages or a constraint are not a well-formed request (rule M3)."""

from typing import TypeAlias, final

import attrs


@final
@attrs.frozen
class EmptyMessages:
    """There is no message at all."""


@final
@attrs.frozen(kw_only=True)
class UnmatchedToolResult:
    """A tool message answers no call that waits for it."""

    index: int


@final
@attrs.frozen(kw_only=True)
class InterruptedToolGroup:
    """Another message stands between a call and its result."""

    index: int


@final
@attrs.frozen(kw_only=True)
class MissingAssistantContent:
    """An assistant message says nothing and calls nothing."""

    index: int


@final
@attrs.frozen(kw_only=True)
class EmptyName:
    """A blank name: of a called tool (`index` is its message), a schema or a tool (`index` is None)."""

    index: int | None


@final
@attrs.frozen(kw_only=True)
class ArgumentsNotObject:
    """A call's arguments are no JSON object."""

    index: int


@final
@attrs.frozen(kw_only=True)
class DuplicateToolCallId:
    """Two calls of one message carry the same id."""

    index: int


@final
@attrs.frozen(kw_only=True)
class MissingToolResults:
    """The messages end while these calls wait for their results."""

    call_ids: tuple[str, ...]


@final
@attrs.frozen
class InvalidSchemaShape:
    """A schema's root is neither an object nor a boolean."""


@final
@attrs.frozen
class EmptyToolSet:
    """Native tools without a tool."""


@final
@attrs.frozen(kw_only=True)
class DuplicateToolName:
    """Two tools of one constraint share a name."""

    name: str


@final
@attrs.frozen(kw_only=True)
class ToolNotVisible:
    """The choice names a tool that is not in the list."""

    name: str


ShapeFailure: TypeAlias = (
    EmptyMessages
    | UnmatchedToolResult
    | InterruptedToolGroup
    | MissingAssistantContent
    | EmptyName
    | ArgumentsNotObject
    | DuplicateToolCallId
    | MissingToolResults
    | InvalidSchemaShape
    | EmptyToolSet
    | DuplicateToolName
    | ToolNotVisible
)
"""Every way a request can be malformed, in the order of M3."""
