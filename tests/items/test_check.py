"""What an item may be (S1)."""

from fractions import Fraction
from typing import cast

import attrs
import pytest

from jingwei.ids import EventId, ItemId
from jingwei.items.check import Number, context_item, first_failure, item_failure, items_failure
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.records import (
    ConflictMark,
    ContextItem,
    ItemKind,
    ItemSource,
    MergedSource,
    Resolution,
    ShortContent,
)
from jingwei.limits import ITEM_DENOMINATOR_MAX, ITEM_PRIORITY_MAX, TOKENS_BOUND
from jingwei.outcome import Failure, Success

LONE = "half \ud83d pair"
SHOWN = "half \\ud83d pair"
FINE = ContextItem(item_id=ItemId("a"), kind=ItemKind.FACT, content="text", source=ItemSource.TOOL)


def made(relevance: Number = 0, freshness: Number = 0, trust: Number = 0) -> object:
    """An item with these shares, or why there is none."""
    outcome = context_item(
        item_id=ItemId("a"),
        kind=ItemKind.FACT,
        content="text",
        source=ItemSource.TOOL,
        relevance=relevance,
        freshness=freshness,
        trust=trust,
    )
    return outcome.unwrap() if isinstance(outcome, Success) else outcome.failure()


class TestContextItem:
    """The factory takes what a host has, and keeps it exactly."""

    def test_all_kinds_of_numbers_become_exact_fractions(self) -> None:
        """0.1 is the double that it is, not a tenth."""
        item = cast(ContextItem, made(relevance=1, freshness=0.1, trust=Fraction(1, 3)))

        assert Fraction(1) == item.relevance
        assert Fraction(3602879701896397, 36028797018963968) == item.freshness
        assert Fraction(1, 3) == item.trust

    def test_all_attributes_arrive(self) -> None:
        """What the factory is given stands in the record."""
        short = ShortContent(text="s", method="m-v1")
        outcome = context_item(
            item_id=ItemId("a"),
            kind=ItemKind.FACT,
            content="text",
            source=ItemSource.TOOL,
            token_cost=3,
            priority=4,
            source_ref="r",
            source_events=(EventId("e"),),
            compressible=True,
            required=True,
            pinned=True,
            subject="s",
            seq=5,
            short=short,
        )

        expected = attrs.evolve(
            FINE,
            token_cost=3,
            priority=4,
            source_ref="r",
            source_events=(EventId("e"),),
            compressible=True,
            required=True,
            pinned=True,
            subject="s",
            seq=5,
            short=short,
        )
        assert Success(expected) == outcome

    @pytest.mark.parametrize("field", ["relevance", "freshness", "trust"])
    @pytest.mark.parametrize("share", [float("nan"), float("inf"), float("-inf")])
    def test_what_is_no_number_is_refused(self, field: str, share: float) -> None:
        """Not a number, and neither infinity."""
        reason = InvalidItemReason.NOT_A_NUMBER
        failure = InvalidItem(item_id=ItemId("a"), field=field, reason=reason, actual=repr(share))

        assert failure == made(**{field: share})

    @pytest.mark.parametrize(
        ("share", "shown"),
        [
            (-1, "-1"),
            (2, "2"),
            (-1e-300, "-1e-300"),
            (1.5, "1.5"),
            (Fraction(4, 3), "4/3"),
            (True, "True"),
            (False, "False"),
            (10**400, "an integer of 1329 bits"),
            (-(10**400), "-an integer of 1329 bits"),
            (Fraction(1, ITEM_DENOMINATOR_MAX + 1), "1/an integer of 1075 bits"),
        ],
    )
    def test_what_is_no_share_is_refused(self, share: Number, shown: str) -> None:
        """Below zero, above one, flags, and fractions finer than any double."""
        reason = InvalidItemReason.OUT_OF_RANGE
        failure = InvalidItem(item_id=ItemId("a"), field="trust", reason=reason, actual=shown)

        assert failure == made(trust=share)

    def test_the_finest_double_is_a_share(self) -> None:
        """The bound itself is allowed."""
        item = cast(ContextItem, made(trust=5e-324))

        assert Fraction(1, ITEM_DENOMINATOR_MAX) == item.trust

    def test_the_other_checks_are_those_of_every_item(self) -> None:
        """A blank text is refused here too."""
        outcome = context_item(item_id=ItemId("a"), kind=ItemKind.FACT, content=" ", source=ItemSource.TOOL)

        assert Failure(item_failure(attrs.evolve(FINE, content=" "))) == outcome


class TestItemFailure:
    """One item."""

    @pytest.mark.parametrize(
        ("item", "field", "reason", "actual"),
        [
            (attrs.evolve(FINE, item_id=ItemId(" ")), "item_id", InvalidItemReason.BLANK_ID, " "),
            (attrs.evolve(FINE, content="\n"), "content", InvalidItemReason.BLANK_CONTENT, "\n"),
            (attrs.evolve(FINE, subject=""), "subject", InvalidItemReason.BLANK_SUBJECT, ""),
            (attrs.evolve(FINE, content=LONE), "content", InvalidItemReason.LONE_SURROGATE, SHOWN),
            (attrs.evolve(FINE, item_id=ItemId(LONE)), "item_id", InvalidItemReason.LONE_SURROGATE, SHOWN),
            (attrs.evolve(FINE, source_ref=LONE), "source_ref", InvalidItemReason.LONE_SURROGATE, SHOWN),
            (
                attrs.evolve(FINE, source_events=(EventId("e"), EventId(LONE))),
                "source_events",
                InvalidItemReason.LONE_SURROGATE,
                SHOWN,
            ),
            (
                attrs.evolve(FINE, short=ShortContent(text=LONE, method="m")),
                "short",
                InvalidItemReason.LONE_SURROGATE,
                SHOWN,
            ),
            (
                attrs.evolve(FINE, short=ShortContent(text=" ", method="m")),
                "short",
                InvalidItemReason.BLANK_CONTENT,
                " ",
            ),
            (
                attrs.evolve(FINE, short=ShortContent(text="s", method=LONE)),
                "method",
                InvalidItemReason.LONE_SURROGATE,
                SHOWN,
            ),
            (
                attrs.evolve(FINE, kind=ItemKind.SYSTEM),
                "source",
                InvalidItemReason.UNTRUSTED_SYSTEM,
                "tool",
            ),
            (attrs.evolve(FINE, token_cost=-1), "token_cost", InvalidItemReason.OUT_OF_RANGE, "-1"),
            (
                attrs.evolve(FINE, token_cost=TOKENS_BOUND),
                "token_cost",
                InvalidItemReason.OUT_OF_RANGE,
                "18446744073709551616",
            ),
            (attrs.evolve(FINE, token_cost=True), "token_cost", InvalidItemReason.OUT_OF_RANGE, "True"),
            (
                attrs.evolve(FINE, priority=ITEM_PRIORITY_MAX + 1),
                "priority",
                InvalidItemReason.OUT_OF_RANGE,
                "1001",
            ),
            (attrs.evolve(FINE, seq=-1), "seq", InvalidItemReason.OUT_OF_RANGE, "-1"),
            (attrs.evolve(FINE, trust=Fraction(-1, 2)), "trust", InvalidItemReason.OUT_OF_RANGE, "-1/2"),
        ],
    )
    def test_each_fault_has_its_reason(
        self, item: ContextItem, field: str, reason: InvalidItemReason, actual: str
    ) -> None:
        """The attribute, the reason and what came, in a form that can be printed."""
        failure = InvalidItem(item_id=item.item_id, field=field, reason=reason, actual=actual)

        assert failure == item_failure(item)

    def test_a_float_put_in_by_hand_is_refused(self) -> None:
        """It would be rounded where nothing may be."""
        by_hand = cast(Fraction, 0.5)

        failure = item_failure(attrs.evolve(FINE, trust=by_hand))

        reason = InvalidItemReason.OUT_OF_RANGE
        assert InvalidItem(item_id=ItemId("a"), field="trust", reason=reason, actual="0.5") == failure

    @pytest.mark.parametrize("text", [{"item_id": LONE}, {"source_ref": LONE}, {"source_events": (LONE,)}])
    def test_texts_of_merged_sources_are_looked_at(self, text: dict[str, object]) -> None:
        """They stand in the request as well."""
        source = MergedSource(
            item_id=ItemId("b"),
            source=ItemSource.TOOL,
            source_ref=None,
            source_events=(),
            trust=Fraction(0),
        )

        broken = attrs.evolve(source, **text)  # type: ignore[arg-type]

        failure = item_failure(attrs.evolve(FINE, merged=(broken,)))

        assert ("merged", InvalidItemReason.LONE_SURROGATE) == (
            (failure.field, failure.reason) if failure else None
        )

    def test_the_trust_of_merged_sources_is_looked_at(self) -> None:
        """It is a share as any other."""
        source = MergedSource(
            item_id=ItemId("b"),
            source=ItemSource.TOOL,
            source_ref="r",
            source_events=(EventId("e"),),
            trust=Fraction(2),
        )

        failure = item_failure(attrs.evolve(FINE, merged=(source,)))

        reason = InvalidItemReason.OUT_OF_RANGE
        assert InvalidItem(item_id=ItemId("a"), field="merged", reason=reason, actual="2/1") == failure

    @pytest.mark.parametrize("field", ["old", "new", "old_id", "new_id"])
    def test_texts_of_conflicts_are_looked_at(self, field: str) -> None:
        """They are shown to the model."""
        mark = ConflictMark(
            old="o",
            new="n",
            old_id=ItemId("b"),
            new_id=ItemId("a"),
            resolution=Resolution.ID_ORDER,
        )

        broken = attrs.evolve(mark, **{field: LONE})  # type: ignore[arg-type]

        failure = item_failure(attrs.evolve(FINE, conflicts=(broken,)))

        reason = InvalidItemReason.LONE_SURROGATE
        assert InvalidItem(item_id=ItemId("a"), field="conflicts", reason=reason, actual=SHOWN) == failure

    def test_the_host_may_write_system_texts_and_every_bound_is_allowed(self) -> None:
        """The largest numbers there are, and letters beyond ASCII."""
        item = attrs.evolve(
            FINE,
            kind=ItemKind.SYSTEM,
            source=ItemSource.HOST,
            content="größer 😀",
            token_cost=TOKENS_BOUND - 1,
            priority=ITEM_PRIORITY_MAX,
            trust=Fraction(1),
            seq=TOKENS_BOUND - 1,
        )

        assert item_failure(item) is None


class TestItemsFailure:
    """A set of items."""

    def test_no_items_are_right(self) -> None:
        """An empty set of candidates is nothing wrong."""
        assert items_failure(()) is None

    def test_the_smallest_id_is_told_whatever_the_order(self) -> None:
        """Both orders give the fault of `a`."""
        wrong = (attrs.evolve(FINE, item_id=ItemId("b"), content=""), attrs.evolve(FINE, priority=-1))

        told = {items_failure(wrong), items_failure(wrong[::-1])}

        assert ["priority"] == [failure.field for failure in told if failure]

    def test_an_id_that_stands_twice_is_told_after_the_faults_of_its_items(self) -> None:
        """Also where both say the same; a fault of a larger id comes later."""
        reason = InvalidItemReason.DUPLICATE_ID
        twice = InvalidItem(item_id=ItemId("a"), field="item_id", reason=reason, actual="a")
        larger = attrs.evolve(FINE, item_id=ItemId("b"), content="")

        assert twice == items_failure((FINE, FINE))
        assert twice == items_failure((larger, FINE, FINE))
        assert item_failure(attrs.evolve(FINE, seq=-1)) == items_failure((FINE, attrs.evolve(FINE, seq=-1)))
        assert item_failure(larger) == first_failure((larger, FINE, FINE))
