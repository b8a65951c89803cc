"""Lines of envelopes as things that a plan can change: what each says and weighs (S4, S8, R4)."""

import pytest

from jingwei.drafts.lines import NO_LINE, by_id, item_lines, line_of, short_line, summary_line, text_of
from jingwei.ids import ItemId, SummaryId
from jingwei.items.envelope import item_line, items_message
from jingwei.items.records import ContextItem, ItemKind, ItemSource, ShortContent
from jingwei.messages.records import AssistantMessage, UserMessage
from jingwei.messages.wire import message_bytes
from jingwei.summaries.render import summary_envelope
from tests.selection.weighing import summary


def item(item_id: str, content: str, *, short: str | None = None) -> ContextItem:
    return ContextItem(
        item_id=ItemId(item_id),
        kind=ItemKind.FACT,
        content=content,
        source=ItemSource.TOOL,
        short=None if short is None else ShortContent(text=short, method="cut-v1"),
    )


@pytest.mark.parametrize("text", ["", "plain", 'quoted "x" \\ and 字', "\x00\u2028"])
def test_a_line_weighs_what_it_adds_to_its_envelope(text: str) -> None:
    items = [item("a", "first"), item("b", f"said {text}")]
    one, both = item_lines(items[:1]), item_lines(items)
    smaller, larger = (items_message([line.text for line in lines]) for lines in (one, both))

    assert smaller is not None
    assert larger is not None
    assert message_bytes(larger) - message_bytes(smaller) == both[1].canonical_bytes


def test_a_line_is_a_message_of_itself() -> None:
    line = line_of("text")

    assert (UserMessage(content="text"),) == line.messages
    assert "text" == text_of(line.messages)
    assert (NO_LINE.text, NO_LINE.messages, NO_LINE.canonical_bytes) == ("", (), 0)


def test_what_is_no_line_says_nothing() -> None:
    assert "ab" == text_of(
        [UserMessage(content="a"), AssistantMessage(content="x"), UserMessage(content="b")]
    )


def test_an_item_in_short_names_what_condensed_it() -> None:
    long = item("a", "x" * 90, short="short")
    found = short_line(long)

    assert found is not None
    assert item_line(long, short=True) == text_of(found.messages)
    assert line_of(item_line(long, short=True)).canonical_bytes == found.canonical_bytes
    assert 1 == found.results


def test_an_item_without_short_content_has_none() -> None:
    assert short_line(item("a", "x")) is None


def test_a_summary_weighs_an_envelope_of_its_own() -> None:
    one, two = summary("a", 0), summary("b", 1)
    alone, both = summary_envelope([one]), summary_envelope([one, two])

    assert alone is not None
    assert both is not None
    assert (alone,) == summary_line(one).messages
    assert message_bytes(alone) == summary_line(one).canonical_bytes
    assert message_bytes(both) - message_bytes(alone) <= summary_line(two).canonical_bytes


def test_summaries_are_found_by_their_name() -> None:
    one, two = summary("a", 0), summary("b", 1)

    assert {SummaryId("a"): one, SummaryId("b"): two} == by_id([one, two])
