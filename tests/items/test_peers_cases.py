"""Places where the seed, taken to the letter, would repeat bugs that others had; by their numbers."""

import json
from fractions import Fraction
from itertools import permutations

import attrs

from jingwei.ids import EventId, ItemId
from jingwei.items.check import context_item, items_failure
from jingwei.items.conflicts import resolve_conflicts
from jingwei.items.duplicates import without_duplicates
from jingwei.items.envelope import contents_in, items_envelope
from jingwei.items.failures import InvalidItemReason
from jingwei.items.records import Authority, ContextItem, ItemKind, ItemSource, Resolution
from jingwei.items.wire import decode_items
from jingwei.outcome import Failure, Success

FACT = ContextItem(item_id=ItemId("a"), kind=ItemKind.FACT, content="text", source=ItemSource.TOOL)


class TestCase3ExactNumbers:
    """Zero costs and floats: exact numbers, no NaN, no negative ones, ties by id."""

    def test_a_sum_of_floats_is_exact(self) -> None:
        """As doubles, 0.1 + 0.2 is not 0.3, and it depends on the order what comes out."""
        shares = (0.1, 0.2, 0.3)
        items = [
            context_item(
                item_id=ItemId(str(share)),
                kind=ItemKind.FACT,
                content="text",
                source=ItemSource.TOOL,
                relevance=share,
            ).unwrap()
            for share in shares
        ]

        sums = {sum([item.relevance for item in order], Fraction(0)) for order in permutations(items)}

        assert {Fraction(0.1) + Fraction(0.2) + Fraction(0.3)} == sums

    def test_a_cost_of_zero_is_allowed_and_a_negative_one_is_not(self) -> None:
        """What divides by the cost has to mind the first."""
        negative = items_failure([attrs.evolve(FACT, token_cost=-1)])

        assert items_failure([FACT]) is None
        assert InvalidItemReason.OUT_OF_RANGE is (negative.reason if negative else None)

    def test_nan_is_refused_and_not_sorted(self) -> None:
        """It is neither larger nor smaller than anything."""
        outcome = context_item(
            item_id=ItemId("a"),
            kind=ItemKind.FACT,
            content="text",
            source=ItemSource.TOOL,
            freshness=float("nan"),
        )

        assert InvalidItemReason.NOT_A_NUMBER is outcome.failure().reason


class TestCase5Order:
    """Items stand in their own order, not in that of their scores."""

    def test_a_conversation_is_not_reordered_by_its_scores(self) -> None:
        """The best line stands where it was said."""
        said = [
            attrs.evolve(
                FACT,
                item_id=ItemId(f"m{seq}"),
                kind=ItemKind.CONVERSATION,
                seq=seq,
                relevance=Fraction(score, 10),
            )
            for seq, score in ((10, 2), (2, 9), (7, 5))
        ]

        envelopes = {items_envelope(order) for order in permutations(said)}

        (envelope,) = envelopes
        assert envelope is not None
        assert ["m2", "m7", "m10"] == list(contents_in(envelope.content))


class TestCase12Conflicts:
    """Equal authority, a loser that stays visible, a pinned loser that stays."""

    def test_two_current_instructions(self) -> None:
        """The later one holds; the other one is in the report with its words."""
        first = attrs.evolve(
            FACT, subject="language", authority=Authority.CURRENT_INSTRUCTION, content="Java", seq=4
        )
        second = attrs.evolve(first, item_id=ItemId("b"), content="Go", seq=8)

        found = resolve_conflicts((second, first)).unwrap()

        (row,) = found.conflicts
        assert ["b"] == [item.item_id for item in found.items]
        assert ("Java", "Go", Resolution.LATER_OVERRIDE) == (
            row.mark.old,
            row.mark.new,
            row.mark.resolution,
        )

    def test_a_pinned_loser_is_not_removed_in_silence(self) -> None:
        """It is not removed at all."""
        pinned = attrs.evolve(FACT, subject="language", content="Java", pinned=True)
        winner = attrs.evolve(
            FACT, item_id=ItemId("b"), subject="language", authority=Authority.TASK_CONSTRAINT
        )

        found = resolve_conflicts((pinned, winner)).unwrap()

        assert {"a", "b"} == {item.item_id for item in found.items}
        assert all(item.conflicts for item in found.items)


class TestCase13Duplicates:
    """The same words of a system text and of a tool are not trusted the same."""

    def test_the_hosts_text_stays_and_both_references_are_listed(self) -> None:
        """The label is that of the host, and the tool is named as another source."""
        rule = ContextItem(
            item_id=ItemId("rule"),
            kind=ItemKind.SYSTEM,
            content="never push to main",
            source=ItemSource.HOST,
            source_ref="rules.md:3",
            trust=Fraction(1),
        )
        observed = attrs.evolve(
            FACT,
            content="never push to main\n",
            source_ref="grep#9",
            source_events=(EventId("e9"),),
            trust=Fraction(1),
        )

        (kept,) = without_duplicates((observed, rule)).unwrap().items

        assert (ItemSource.HOST, "rules.md:3") == (kept.source, kept.source_ref)
        assert [(ItemSource.TOOL, "grep#9", (EventId("e9"),))] == [
            (one.source, one.source_ref, one.source_events) for one in kept.merged
        ]

    def test_a_tool_that_repeats_a_rule_does_not_become_one(self) -> None:
        """Where the rule is not among the items, the tool's text stays the tool's."""
        (kept,) = without_duplicates((attrs.evolve(FACT, trust=Fraction(1)),)).unwrap().items

        assert (ItemSource.TOOL, ItemKind.FACT) == (kept.source, kept.kind)


class TestCase16LoneSurrogates:
    """Half a surrogate pair is a failure with a name, no crash in what counts bytes."""

    def test_an_item_from_a_forgiving_parser(self) -> None:
        """The standard library lets it through; the item is refused, and the failure can be printed."""
        text = json.loads('"cut \\ud83d here"')

        failure = items_failure([attrs.evolve(FACT, content=text)])

        assert failure is not None
        assert (ItemId("a"), InvalidItemReason.LONE_SURROGATE) == (failure.item_id, failure.reason)
        assert b"cut \\ud83d here" == failure.actual.encode()

    def test_a_document_of_items(self) -> None:
        """Our own reader does not let it through."""
        outcome = decode_items(
            b'[{"item_id":"a","kind":"fact","content":"\\ud83d","source":"tool"}]',
        )

        assert isinstance(outcome, Failure)
        assert "/0/content" == outcome.failure().path

    def test_a_whole_pair_is_a_character(self) -> None:
        """Nothing is wrong with it."""
        outcome = decode_items(
            b'[{"item_id":"a","kind":"fact","content":"\\ud83d\\ude00","source":"tool"}]',
        )

        assert Success((attrs.evolve(FACT, content="😀"),)) == outcome
