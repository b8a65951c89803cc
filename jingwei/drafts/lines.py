"""The lines of envelopes as things that a plan can change (rules S4, S8, R4).

An envelope is one message, so that the cost of a line is known by what a message of that line alone costs:
close enough to say where a search should look, never what is sent. What is sent is counted whole.
"""

from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from jingwei.ids import SummaryId
from jingwei.items.envelope import item_line
from jingwei.items.records import ContextItem
from jingwei.jsontext import canonical, utf8_bytes
from jingwei.messages.records import ModelMessage, UserMessage
from jingwei.messages.wire import message_bytes
from jingwei.selection.records import Condensed
from jingwei.summaries.records import Summary
from jingwei.summaries.render import summary_envelope


@final
@attrs.frozen(kw_only=True)
class Line:
    """One line of an envelope.

    Attributes:
        text: the line, without its end; empty for none.
        messages: a message of this line alone; none for no line.
        canonical_bytes: the bytes that it adds to the envelope's message, its end included.
    """

    text: str
    messages: tuple[ModelMessage, ...]
    canonical_bytes: int


NO_LINE: Final = Line(text="", messages=(), canonical_bytes=0)
"""What stands where nothing does."""


def line_of(text: str) -> Line:
    """A line as a rendition."""
    return Line(
        text=text,
        messages=(UserMessage(content=text),),
        canonical_bytes=_bytes_in_string(text + "\n"),
    )


def item_lines(items: Iterable[ContextItem]) -> tuple[Line, ...]:
    """The line of each item, in full."""
    return tuple([line_of(item_line(item)) for item in items])


def short_line(item: ContextItem) -> Condensed | None:
    """What stands instead of an item's line once it is condensed; None where nothing shorter is known."""
    if item.short is None:
        return None
    line = line_of(item_line(item, short=True))
    return Condensed(messages=line.messages, results=1, canonical_bytes=line.canonical_bytes)


def summary_line(summary: Summary) -> Line:
    """A summary as a rendition: an envelope of it alone, whose bytes are at least what it adds."""
    envelope = summary_envelope((summary,))
    size = 0 if envelope is None else message_bytes(envelope)
    return Line(text="", messages=() if envelope is None else (envelope,), canonical_bytes=size)


def text_of(messages: Sequence[ModelMessage]) -> str:
    """The line that a rendition stands for."""
    return "".join([message.content for message in messages if isinstance(message, UserMessage)])


def by_id(summaries: Iterable[Summary]) -> dict[SummaryId, Summary]:
    """Summaries by their name."""
    return {summary.summary_id: summary for summary in summaries}


def _bytes_in_string(text: str) -> int:
    """UTF-8 bytes of a text inside a canonical JSON string."""
    return utf8_bytes(canonical(text)) - 2
