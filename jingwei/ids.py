"""Names for the strings that identify things, so that a type checker keeps them apart.

No id is validated here: a log may hold blank or strange ids, and the rule that refuses them
(L1, P3, P4, B2) says where and why.
"""

from typing import NewType

SessionId = NewType("SessionId", str)
"""One agent session, that is, one log (rule L1)."""

TurnId = NewType("TurnId", str)
"""One run from a user's message to the terminal event that closes it (rule P3)."""

EventId = NewType("EventId", str)
"""One event; unique within its session (rule L1)."""

GenerationId = NewType("GenerationId", str)
"""One model generation; carried, never interpreted."""

MessageId = NewType("MessageId", str)
"""One complete assistant reply; unique within its session (rule P4)."""

ToolCallId = NewType("ToolCallId", str)
"""A recorded tool call; unique within its turn only (rule P4)."""

ModelCallId = NewType("ModelCallId", str)
"""A recorded model request; unique within its turn only (rule P4)."""

ProviderCallId = NewType("ProviderCallId", str)
"""A tool call inside one assistant message, as a provider sees it; never blank (rule M1)."""

ItemId = NewType("ItemId", str)
"""One context item; unique among the items of one request (rule S1)."""

SummaryId = NewType("SummaryId", str)
"""One summary of a range of a session; unique within its session (rule S8)."""

StoreId = NewType("StoreId", str)
"""One content store, which its references name: 1 to 64 ASCII letters, digits, `-` and `_` (rule T5)."""

TaskId = NewType("TaskId", str)
"""One task of a session: what a reference to a stored text is good for (rule T3)."""


def is_blank(text: str) -> bool:
    """True when nothing but white space is left; the one meaning of "blank" in every rule."""
    return not text.strip()
