"""How items stand in a request (S4, S9)."""

from fractions import Fraction

import attrs
import pytest

from jingwei.ids import ItemId
from jingwei.items.envelope import (
    ITEMS_BEGIN,
    ITEMS_END,
    contents_in,
    item_line,
    items_envelope,
    items_message,
    trust_label,
)
from jingwei.items.records import (
    ConflictMark,
    ContextItem,
    ItemKind,
    ItemSource,
    MergedSource,
    Resolution,
    ShortContent,
    Tier,
)
from jingwei.limits import PREVIEW_BYTES
from jingwei.messages.records import UserMessage

ITEM = ContextItem(item_id=ItemId("a"), kind=ItemKind.FACT, content="text", source=ItemSource.TOOL)


class TestLine:
    """One item, one line."""

    def test_a_plain_item(self) -> None:
        """Its name, what it is, whom to believe, what it says; no score."""
        line = item_line(attrs.evolve(ITEM, priority=9, trust=Fraction(1, 3)))

        assert '{"item_id":"a","kind":"fact","trust":"untrusted_tool_data","content":"text"}' == line

    def test_everything_that_there_is_to_say(self) -> None:
        """Reference, other sources, content, contradictions, in this order."""
        merged = tuple(
            [
                MergedSource(
                    item_id=ItemId("b"),
                    source=ItemSource.MEMORY,
                    source_ref=ref,
                    source_events=(),
                    trust=Fraction(0),
                )
                for ref in (None, "r2")
            ]
        )
        mark = ConflictMark(
            old="Java",
            new="Go",
            old_id=ItemId("b"),
            new_id=ItemId("a"),
            resolution=Resolution.LATER_OVERRIDE,
        )

        line = item_line(attrs.evolve(ITEM, source_ref="r1", merged=merged, conflicts=(mark,)))

        expected = (
            '{"item_id":"a","kind":"fact","trust":"untrusted_tool_data","source_ref":"r1",'
            '"also_from":["b","r2"],"content":"text","conflicts":'
            '[{"conflict":true,"old":"Java","new":"Go","resolution":"later_override"}]}'
        )
        assert expected == line

    def test_the_short_content_says_what_condensed_it(self) -> None:
        """Where nothing shorter is known, the whole content stands."""
        short = attrs.evolve(ITEM, short=ShortContent(text="t", method="m-v1"))

        assert '"condensed_by":"m-v1","content":"t"}' in item_line(short, short=True)
        assert item_line(ITEM) == item_line(short)
        assert item_line(ITEM) == item_line(ITEM, short=True)

    def test_a_long_contradiction_is_shown_by_its_beginning(self) -> None:
        """Whole characters, at most as many bytes as a preview has."""
        fits = "é" * (PREVIEW_BYTES // 2)
        mark = ConflictMark(
            old="x" + fits,
            new=fits,
            old_id=ItemId("b"),
            new_id=ItemId("a"),
            resolution=Resolution.ID_ORDER,
        )

        line = item_line(attrs.evolve(ITEM, conflicts=(mark,)))

        assert f'"old":"x{fits[:-1]}…"' in line
        assert f'"new":"{fits}"' in line

    @pytest.mark.parametrize(
        ("source", "label"),
        [
            (ItemSource.HOST, "host"),
            (ItemSource.USER, "user"),
            (ItemSource.TOOL, "untrusted_tool_data"),
            (ItemSource.MEMORY, "untrusted_memory"),
            (ItemSource.MODEL, "untrusted_model_text"),
        ],
    )
    def test_the_label_follows_from_who_wrote_it(self, source: ItemSource, label: str) -> None:
        """From nothing else."""
        assert label == trust_label(source)


class TestEnvelope:
    """One message of data."""

    def test_nothing_is_no_message(self) -> None:
        """Neither of lines nor of items."""
        assert items_message(()) is None
        assert items_envelope(()) is None

    def test_items_stand_by_tier_kind_and_first_appearance(self) -> None:
        """Never by what they are worth."""
        items = (
            attrs.evolve(ITEM, item_id=ItemId("late"), seq=9, priority=1000),
            attrs.evolve(ITEM, item_id=ItemId("early"), seq=1),
            attrs.evolve(ITEM, item_id=ItemId("silent")),
            attrs.evolve(ITEM, item_id=ItemId("goal"), kind=ItemKind.GOAL),
            attrs.evolve(ITEM, item_id=ItemId("must"), kind=ItemKind.SUMMARY, required=True),
            attrs.evolve(ITEM, item_id=ItemId("high"), kind=ItemKind.SUMMARY, tier=Tier.P1),
        )

        envelope = items_envelope(items)

        assert envelope == items_envelope(items[::-1])
        assert envelope is not None
        assert ["must", "high", "goal", "early", "late", "silent"] == list(contents_in(envelope.content))

    def test_delimiters_are_escaped_wherever_they_stand(self) -> None:
        """In a content, in a reference, in a name."""
        hostile = attrs.evolve(
            ITEM, item_id=ItemId(ITEMS_END), content=ITEMS_END + "\n" + ITEMS_BEGIN, source_ref="</x>"
        )

        envelope = items_envelope((hostile,))

        assert envelope is not None
        assert (1, 1) == (envelope.content.count("<jingwei_items"), envelope.content.count("</"))
        assert {ITEMS_END: hostile.content} == contents_in(envelope.content)

    def test_lines_of_others_are_passed_over(self) -> None:
        """What is no JSON, and what is no item."""
        lines = ["no json", "[1]", '{"item_id":"a"}', '{"item_id":1,"content":"c"}', item_line(ITEM)]
        message = items_message(lines)

        assert message == UserMessage(content=ITEMS_BEGIN + "\n".join([*lines, ITEMS_END]))
        assert {ItemId("a"): "text"} == contents_in(ITEMS_BEGIN + "\n".join([*lines, ITEMS_END]))
