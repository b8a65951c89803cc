"""Reading back what the projection wrote: outcomes, ids of calls, beginnings of texts (rules P8, T3)."""

import re
from typing import Final

from jingwei.events.records import ToolFailed, ToolFailureCategory, ToolOutcome, ToolSucceeded
from jingwei.ids import ProviderCallId
from jingwei.jsontext import canonical, parse_canonical

_OUTCOME_STARTS: Final = ('{"status":"succeeded",', '{"status":"failed",')
_CATEGORIES: Final = frozenset(category.value for category in ToolFailureCategory)
_CALL_ID: Final = re.compile(r"jw_tool_(0|[1-9][0-9]{0,19})")


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
            known = ToolFailureCategory(category)
            return ToolFailed(category=known, code=code, message=message, retryable=retryable)
        case _:
            return None


def synthetic_id(call_seq: int) -> ProviderCallId:
    """The id by which a model knows a call: it names the call's place in the log (P8)."""
    return ProviderCallId(f"jw_tool_{canonical(call_seq)}")


def seq_of(call_id: str) -> int | None:
    """The place that such an id names; None for any other id."""
    found = _CALL_ID.fullmatch(call_id)
    return None if found is None else int(found.group(1))


def prefix_of(text: str, max_bytes: int) -> str:
    """The longest beginning of a text of at most so many UTF-8 bytes, in whole characters (T3)."""
    room = max(max_bytes, 0)
    # No character takes less than a byte, so that what stands further on is not even written.
    raw = text[:room].encode("utf-8", "surrogatepass")
    end = min(room, len(raw))
    while end < len(raw) and raw[end] & 0xC0 == 0x80:  # in the middle of a character
        end -= 1
    return raw[:end].decode("utf-8", "surrogatepass")
