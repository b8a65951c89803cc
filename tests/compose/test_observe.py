"""What the selection report says, one item's story, two reports side by side (S7)."""

from fractions import Fraction

import attrs
import pytest

from jingwei.compose.observe import (
    ChangedItem,
    ItemChange,
    Origin,
    UnknownItem,
    WhyStep,
    diff,
    why,
)
from jingwei.compose.pipeline import ComposedContext, ComposeOptions
from jingwei.ids import ItemId, TurnId
from jingwei.items.records import ItemKind, ItemSource, Tier
from jingwei.selection.records import ChoiceReason
from tests.compose.composing import LOG, composed, history, memory, observation


def whole() -> ComposedContext:
    """A rule, a conflict, a duplicate, a filtered memory, a large log, one that cannot be shortened."""
    return composed(
        observation("log", LOG),
        observation("twin", "use Go this time"),
        observation("plain", "字"),
        memories=(memory("m1", "prefers Java", subject="language"), memory("m2", "theirs", tenant="other")),
        options=ComposeOptions(large_bytes=2),
    ).unwrap()


def story(context: ComposedContext, item_id: str) -> list[tuple[WhyStep, str, str | None]]:
    return [
        (row.step, row.reason, row.other) for row in why(context.selection, ItemId(item_id)).unwrap().story
    ]


def test_numbers_add_up() -> None:
    report = whole().selection
    shares = [share.share for share in report.shares]
    kinds = [ItemKind.SYSTEM, ItemKind.GOAL, ItemKind.CONSTRAINT, ItemKind.PLAN, ItemKind.TOOL_OBSERVATION]

    assert 8 == report.candidates
    assert 6 == report.chosen
    assert kinds == [share.kind for share in report.shares]
    assert report.tokens_after == sum(share.tokens or 0 for share in report.shares)
    built = whole().built.report
    total = built.attempts[-1].count.tokens.total
    rule, *_, envelope, _current = [message.cost or 0 for message in built.sent]
    assert Fraction(rule + envelope, total) == sum(share or 0 for share in shares)
    assert (report.tokens_before or 0) > 3000 > (report.tokens_after or 0)
    assert "serialized-utf8-ceil-div4-v1" == report.method


@pytest.mark.parametrize(
    ("item_id", "expected"),
    [
        ("rule:0000", [(WhyStep.GATHERED, "system", None), (WhyStep.SYSTEM_TEXT, "required", None)]),
        ("goal", [(WhyStep.GATHERED, "goal", None), (WhyStep.CHOSEN, "required", None)]),
        (
            "constraint:0000",
            [
                (WhyStep.GATHERED, "constraints", None),
                (WhyStep.STANDS_FOR, "same_content", "twin"),
                (WhyStep.WON_OVER, "current_task_override", "memory:m1"),
                (WhyStep.CHOSEN, "required", None),
            ],
        ),
        (
            "twin",
            [(WhyStep.GATHERED, "host", None), (WhyStep.DUPLICATE_OF, "same_content", "constraint:0000")],
        ),
        (
            "memory:m1",
            [
                (WhyStep.GATHERED, "memories", None),
                (WhyStep.LOST_TO, "current_task_override", "constraint:0000"),
            ],
        ),
        ("memory:m2", [(WhyStep.FILTERED, "tenant", None)]),
        (
            "log",
            [
                (WhyStep.GATHERED, "host", None),
                (WhyStep.CONDENSED, "log-v1", None),
                (WhyStep.CHOSEN, "room_for_all", None),
            ],
        ),
        (
            "plain",
            [
                (WhyStep.GATHERED, "host", None),
                (WhyStep.NOT_CONDENSED, "NotSmaller", None),
                (WhyStep.CHOSEN, "room_for_all", None),
            ],
        ),
    ],
)
def test_the_story_of_each_item(item_id: str, expected: list[tuple[WhyStep, str, str | None]]) -> None:
    assert expected == story(whole(), item_id)


def test_only_what_stands_there_is_said_to_stand_there() -> None:
    report = whole().selection
    present = [
        one
        for one in ("rule:0000", "goal", "log", "twin", "memory:m1", "memory:m2")
        if why(report, ItemId(one)).unwrap().in_request
    ]

    assert ["rule:0000", "goal", "log"] == present


def test_what_was_left_out_says_why() -> None:
    made = composed(*[observation(f"o{i}", f"{i}" * 2000, compressible=False) for i in range(9)], window=3000)
    last = story(made.unwrap(), "o8")[-1]

    assert (WhyStep.LEFT_OUT, "no_room", None) == last


def test_an_item_that_nobody_spoke_of_is_unknown() -> None:
    report = whole().selection

    assert UnknownItem(item_id=ItemId("x"), known=8) == why(report, ItemId("x")).failure()


def test_where_an_item_came_from_is_kept() -> None:
    expected = Origin(
        item_id=ItemId("memory:m1"),
        kind=ItemKind.MEMORY,
        tier=Tier.P2,
        source=ItemSource.MEMORY,
        source_ref=None,
        recall_score=Fraction(1, 2),
    )

    assert expected == why(whole().selection, ItemId("memory:m1")).unwrap().origin
    assert why(whole().selection, ItemId("memory:m2")).unwrap().origin is None


class TestDiff:
    """Two builds of one session, side by side."""

    def test_items_and_turns_that_come_and_go(self) -> None:
        before = composed(
            observation("a", "one"), observation("b", "two"), whole=history("turn t0; user; reply; done")
        )
        after = composed(observation("b", "two"), observation("c", "three"), whole=history())
        found = diff(before.unwrap().built.report, after.unwrap().built.report)
        everything = ChoiceReason.ROOM_FOR_ALL

        assert (
            ChangedItem(item_id=ItemId("a"), change=ItemChange.WENT, before=everything, after=None),
            ChangedItem(item_id=ItemId("c"), change=ItemChange.CAME, before=None, after=everything),
        ) == found.items
        assert ((TurnId("t1"),), ()) == (found.turns_came, found.turns_went)
        back = diff(after.unwrap().built.report, before.unwrap().built.report)
        assert ((), (TurnId("t1"),)) == (back.turns_came, back.turns_went)
        assert (found.tokens_before, found.tokens_after) == (back.tokens_after, back.tokens_before)
        assert (found.messages_before, found.messages_after) == (back.messages_after, back.messages_before)
        assert (found.messages_after - found.messages_before) == 2

    def test_an_item_that_is_condensed_or_expanded(self) -> None:
        short, full = (
            composed(attrs.evolve(observation("log", LOG), compressible=kept)).unwrap().built.report
            for kept in (True, False)
        )

        assert [ItemChange.CONDENSED] == [one.change for one in diff(full, short).items]
        assert [ItemChange.EXPANDED] == [one.change for one in diff(short, full).items]
        assert () == diff(full, full).items

    def test_reports_without_a_count_or_items(self) -> None:
        report = attrs.evolve(whole().built.report, attempts=(), items=None)
        found = diff(report, report)

        assert ((), None, None) == (found.items, found.tokens_before, found.tokens_after)
