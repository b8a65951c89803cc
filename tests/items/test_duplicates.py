"""What several items say is said once (S5)."""

from fractions import Fraction
from itertools import permutations

import attrs
import pytest

from jingwei.ids import EventId, ItemId
from jingwei.items.duplicates import Deduplicated, canonical_content, without_duplicates
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.records import (
    Authority,
    ConflictMark,
    ContextItem,
    DuplicateRow,
    ItemKind,
    ItemSource,
    MergedSource,
    Resolution,
    Tier,
)
from jingwei.outcome import Failure

HALF = Fraction(1, 2)
TOOL = ContextItem(
    item_id=ItemId("tool"),
    kind=ItemKind.TOOL_OBSERVATION,
    content="JDK 17",
    source=ItemSource.TOOL,
    source_ref="startup.log:3",
    source_events=(EventId("e3"),),
    trust=HALF,
    seq=3,
)
MEMORY = ContextItem(
    item_id=ItemId("memory"),
    kind=ItemKind.MEMORY,
    content="  JDK 17\r\n",
    source=ItemSource.MEMORY,
    trust=Fraction(1, 4),
)


def deduplicated(*items: ContextItem) -> Deduplicated:
    """The items without duplicates, the same in every order."""
    results = {without_duplicates(order).unwrap() for order in permutations(items)}
    assert 1 == len(results)
    return results.pop()


def survivor(*items: ContextItem) -> ContextItem:
    """The only one that stays."""
    (one,) = deduplicated(*items).items
    return one


def source_of(item: ContextItem) -> MergedSource:
    """Where an item came from."""
    return MergedSource(
        item_id=item.item_id,
        source=item.source,
        source_ref=item.source_ref,
        source_events=item.source_events,
        trust=item.trust,
    )


class TestWhoStays:
    """The most trusted one, and then a fixed order."""

    def test_the_more_trusted_one_stays_with_the_sources_of_both(self) -> None:
        """Its text is its own, to the byte."""
        found = deduplicated(MEMORY, TOOL)

        row = DuplicateRow(
            kept=ItemId("tool"),
            dropped=ItemId("memory"),
            source=ItemSource.MEMORY,
            kept_trust=HALF,
            dropped_trust=Fraction(1, 4),
        )
        assert (attrs.evolve(TOOL, merged=(source_of(MEMORY),)),) == found.items
        assert (row,) == found.dropped

    def test_a_system_text_stays_before_all_others(self) -> None:
        """The text of a tool with the same words does not take its place, whatever trust it is given."""
        rule = attrs.evolve(
            TOOL, item_id=ItemId("rule"), kind=ItemKind.SYSTEM, source=ItemSource.HOST, trust=Fraction(0)
        )

        one = survivor(attrs.evolve(TOOL, trust=Fraction(1)), rule)

        assert ("rule", ItemSource.HOST, Fraction(0)) == (one.item_id, one.source, one.trust)
        assert [ItemId("tool")] == [source.item_id for source in one.merged]

    @pytest.mark.parametrize(
        ("stays", "goes"),
        [
            ({"authority": Authority.CONFIRMED_FACT}, {"authority": Authority.PREFERENCE}),
            ({"source": ItemSource.USER}, {"source": ItemSource.TOOL}),
            ({"tier": Tier.P1}, {"tier": Tier.P2}),
            ({"tier": Tier.P3, "required": True}, {"tier": Tier.P1}),
            ({"seq": 4}, {"seq": 3}),
            ({"seq": 0}, {"seq": None}),
            ({}, {}),
        ],
    )
    def test_between_equals_a_fixed_order_decides(
        self, stays: dict[str, object], goes: dict[str, object]
    ) -> None:
        """Authority, who wrote it, tier, the later one, the smaller id."""
        large = ItemId("z") if stays else ItemId("b")
        first = attrs.evolve(TOOL, item_id=large, **stays)  # type: ignore[arg-type]
        second = attrs.evolve(TOOL, item_id=ItemId("y"), **goes)  # type: ignore[arg-type]

        assert first.item_id == survivor(first, second).item_id

    def test_a_chain_of_three_has_one_survivor(self) -> None:
        """Both others are listed, by id."""
        model = attrs.evolve(MEMORY, item_id=ItemId("model"), source=ItemSource.MODEL, trust=Fraction(0))

        found = deduplicated(model, TOOL, MEMORY)

        assert [("tool", "memory"), ("tool", "model")] == [(row.kept, row.dropped) for row in found.dropped]
        assert (source_of(MEMORY), source_of(model)) == found.items[0].merged


class TestWhatIsTakenOver:
    """No duplicate makes a text worth less."""

    def test_that_it_must_stay(self) -> None:
        """A required duplicate makes the survivor required, a pinned one pinned."""
        one = survivor(TOOL, attrs.evolve(MEMORY, required=True))
        other = survivor(TOOL, attrs.evolve(MEMORY, pinned=True))

        assert (True, False, Tier.P0) == (one.required, one.pinned, one.held_tier)
        assert (False, True, Tier.P3) == (other.required, other.pinned, other.held_tier)

    def test_what_it_is_worth(self) -> None:
        """The best of each; trust is the survivor's own, which is the highest anyway."""
        worthy = attrs.evolve(
            MEMORY, tier=Tier.P1, priority=7, relevance=Fraction(9, 10), freshness=Fraction(2, 3)
        )

        one = survivor(worthy, attrs.evolve(TOOL, relevance=HALF))

        assert (Tier.P1, 7, Fraction(9, 10), Fraction(2, 3), HALF) == (
            one.tier,
            one.priority,
            one.relevance,
            one.freshness,
            one.trust,
        )

    def test_how_far_it_goes_and_since_when(self) -> None:
        """Of a subject, the highest authority of all with the latest seq of that authority."""
        trusted = attrs.evolve(TOOL, subject=" jdk", seq=9)
        told = attrs.evolve(
            MEMORY, item_id=ItemId("told"), subject="jdk", authority=Authority.CURRENT_INSTRUCTION, seq=2
        )
        again = attrs.evolve(told, item_id=ItemId("again"), seq=5)
        silent = attrs.evolve(told, item_id=ItemId("silent"), seq=None)

        one = survivor(trusted, told, again, silent)

        assert ("tool", " jdk", Authority.CURRENT_INSTRUCTION, 5) == (
            one.item_id,
            one.subject,
            one.authority,
            one.seq,
        )

    def test_the_subject_of_a_duplicate(self) -> None:
        """What names no subject says the same of the only one that is named."""
        named = attrs.evolve(MEMORY, subject="jdk", authority=Authority.PREFERENCE)

        one = survivor(TOOL, named)

        assert ("tool", "jdk", Authority.PREFERENCE, None) == (
            one.item_id,
            one.subject,
            one.authority,
            one.seq,
        )

    def test_sources_and_marks_that_were_there_already(self) -> None:
        """Asking twice changes nothing."""
        mark = ConflictMark(
            old="o",
            new="n",
            old_id=ItemId("x"),
            new_id=ItemId("y"),
            resolution=Resolution.ID_ORDER,
        )
        earlier = source_of(attrs.evolve(TOOL, item_id=ItemId("earlier")))
        marked = attrs.evolve(MEMORY, merged=(earlier,), conflicts=(mark,))

        found = deduplicated(attrs.evolve(TOOL, conflicts=(mark,)), marked)

        assert (earlier, source_of(MEMORY)) == found.items[0].merged
        assert (mark,) == found.items[0].conflicts
        assert Deduplicated(items=found.items, dropped=()) == deduplicated(*found.items)


class TestWhatIsTheSame:
    """Line ends and outer white space say nothing; everything else does."""

    @pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\rb", "\n a\nb\t"])
    def test_how_a_text_is_compared(self, text: str) -> None:
        """One canonical content."""
        assert "a\nb" == canonical_content(text)

    @pytest.mark.parametrize("other", ["jdk 17", "JDK  17", "JDK 17.", "\N{ANGSTROM SIGN}"])
    def test_what_says_something_keeps_items_apart(self, other: str) -> None:
        """Case, inner space, and the form of accents."""
        assert 2 == len(deduplicated(TOOL, attrs.evolve(MEMORY, content=other)).items)
        assert 2 == len(
            deduplicated(
                attrs.evolve(TOOL, content="\N{LATIN CAPITAL LETTER A WITH RING ABOVE}"),
                attrs.evolve(MEMORY, content=other),
            ).items
        )

    def test_the_same_of_two_subjects_is_not_the_same(self) -> None:
        """Also not for an item that names neither."""
        one = attrs.evolve(TOOL, item_id=ItemId("1"), subject="build")
        two = attrs.evolve(TOOL, item_id=ItemId("2"), subject="runtime")

        found = deduplicated(one, two, TOOL, attrs.evolve(two, item_id=ItemId("3")))

        assert {"1", "2", "tool"} == {item.item_id for item in found.items}

    def test_no_items_have_no_duplicates(self) -> None:
        """An empty set of candidates stays one."""
        assert Deduplicated(items=(), dropped=()) == deduplicated()


class TestIds:
    """One id is one thing."""

    def test_the_same_id_with_the_same_text_is_a_duplicate(self) -> None:
        """A copy comes from nowhere else; another source is listed."""
        copied = deduplicated(TOOL, TOOL)
        elsewhere = attrs.evolve(TOOL, source_ref="other.log:1", trust=Fraction(0))

        assert (TOOL,) == copied.items
        assert [("tool", "tool")] == [(row.kept, row.dropped) for row in copied.dropped]
        assert (source_of(elsewhere),) == survivor(TOOL, elsewhere).merged

    @pytest.mark.parametrize("change", [{"content": "JDK 21"}, {"subject": "other"}])
    def test_the_same_id_for_two_things_is_refused(self, change: dict[str, str]) -> None:
        """Also where one of them is somebody's duplicate; the smallest such id is told."""
        both = attrs.evolve(TOOL, subject="jdk")
        larger = attrs.evolve(both, item_id=ItemId("zz"))
        other = attrs.evolve(both, **change)  # type: ignore[arg-type]
        items = (both, other, larger, attrs.evolve(other, item_id=larger.item_id), MEMORY)

        reason = InvalidItemReason.DUPLICATE_ID
        failure = InvalidItem(item_id=ItemId("tool"), field="item_id", reason=reason, actual="tool")
        assert {Failure(failure)} == {without_duplicates(order) for order in permutations(items)}

    def test_what_is_no_item_is_refused_first(self) -> None:
        """Before anything is compared."""
        failure = without_duplicates((TOOL, attrs.evolve(TOOL, content=""))).failure()

        assert InvalidItemReason.BLANK_CONTENT is failure.reason
