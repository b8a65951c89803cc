"""Who is right when two items contradict each other (S5)."""

from itertools import permutations, product

import attrs
import pytest

from jingwei.ids import ItemId
from jingwei.items.conflicts import Resolved, resolve_conflicts
from jingwei.items.failures import InvalidItemReason
from jingwei.items.records import (
    Authority,
    ConflictMark,
    ConflictRow,
    ContextItem,
    ItemKind,
    ItemSource,
    Resolution,
)

JAVA = ContextItem(
    item_id=ItemId("java"),
    kind=ItemKind.MEMORY,
    content="Java by default",
    source=ItemSource.MEMORY,
    subject="language",
    authority=Authority.PREFERENCE,
)
GO = ContextItem(
    item_id=ItemId("go"),
    kind=ItemKind.CONSTRAINT,
    content="Go for this task",
    source=ItemSource.USER,
    subject=" language ",
    authority=Authority.TASK_CONSTRAINT,
)
MARK = ConflictMark(
    old="Java by default",
    new="Go for this task",
    old_id=ItemId("java"),
    new_id=ItemId("go"),
    resolution=Resolution.CURRENT_TASK_OVERRIDE,
)


def resolved(*items: ContextItem) -> Resolved:
    """The items without contradictions, the same in every order."""
    results = {resolve_conflicts(order).unwrap() for order in permutations(items)}
    assert 1 == len(results)
    return results.pop()


def named(found: Resolved) -> set[str]:
    """Who stays."""
    return {item.item_id for item in found.items}


class TestPrecedence:
    """What goes furthest holds."""

    def test_the_example_of_the_seed(self) -> None:
        """The loser leaves the items and stays in the rows; the winner is marked."""
        found = resolved(JAVA, GO)

        row = ConflictRow(
            subject="language",
            mark=MARK,
            loser_authority=Authority.PREFERENCE,
            winner_authority=Authority.TASK_CONSTRAINT,
            loser_kept=False,
        )
        assert (attrs.evolve(GO, conflicts=(MARK,)),) == found.items
        assert (row,) == found.conflicts

    @pytest.mark.parametrize(
        ("higher", "lower"),
        [(high, low) for high, low in product(Authority, repeat=2) if high.value != low.value],
    )
    def test_every_pair_of_authorities(self, higher: Authority, lower: Authority) -> None:
        """The order of the seed, whatever was said later and however it is called."""
        ranks = list(Authority)
        if ranks.index(higher) > ranks.index(lower):
            higher, lower = lower, higher

        found = resolved(
            attrs.evolve(GO, item_id=ItemId("z"), authority=higher, seq=1),
            attrs.evolve(JAVA, item_id=ItemId("a"), authority=lower, seq=9),
        )

        names = {
            Authority.CURRENT_INSTRUCTION: Resolution.CURRENT_INSTRUCTION_OVERRIDE,
            Authority.TASK_CONSTRAINT: Resolution.CURRENT_TASK_OVERRIDE,
            Authority.CONFIRMED_FACT: Resolution.CONFIRMED_FACT_OVERRIDE,
            Authority.PREFERENCE: Resolution.PREFERENCE_OVERRIDE,
        }
        assert {"z"} == named(found)
        assert [names[higher]] == [row.mark.resolution for row in found.conflicts]

    @pytest.mark.parametrize("authority", Authority)
    @pytest.mark.parametrize(
        ("winner", "loser", "resolution"),
        [
            (5, 4, Resolution.LATER_OVERRIDE),
            (0, None, Resolution.LATER_OVERRIDE),
            (4, 4, Resolution.ID_ORDER),
            (None, None, Resolution.ID_ORDER),
        ],
    )
    def test_between_equals_the_later_one_and_then_the_smaller_id(
        self, authority: Authority, winner: int | None, loser: int | None, resolution: Resolution
    ) -> None:
        """Two current instructions are such a pair."""
        name = "a" if resolution is Resolution.ID_ORDER else "z"

        found = resolved(
            attrs.evolve(GO, item_id=ItemId(name), authority=authority, seq=winner),
            attrs.evolve(JAVA, item_id=ItemId("m"), authority=authority, seq=loser),
        )

        assert {name} == named(found)
        assert [resolution] == [row.mark.resolution for row in found.conflicts]

    def test_a_chain_of_three_has_one_winner(self) -> None:
        """Each loser is marked against it, never against the other loser."""
        rust = attrs.evolve(
            JAVA, item_id=ItemId("rust"), content="perhaps Rust", authority=Authority.INFERENCE
        )

        found = resolved(rust, GO, JAVA)

        assert {"go"} == named(found)
        assert [("java", "go"), ("rust", "go")] == [
            (row.mark.old_id, row.mark.new_id) for row in found.conflicts
        ]
        assert tuple([row.mark for row in found.conflicts]) == found.items[0].conflicts


class TestWhoIsNeverRemoved:
    """What must stay stays, marked."""

    @pytest.mark.parametrize("held", [{"pinned": True}, {"required": True}])
    def test_a_loser_that_must_stay_is_marked_like_the_winner(self, held: dict[str, bool]) -> None:
        """The mark stands on both."""
        loser = attrs.evolve(JAVA, **held)  # type: ignore[arg-type]

        found = resolved(loser, GO)

        assert {"go", "java"} == named(found)
        assert [(MARK,), (MARK,)] == [item.conflicts for item in found.items]
        assert [True] == [row.loser_kept for row in found.conflicts]

    def test_a_system_text_is_never_removed(self) -> None:
        """Also where the host did not call it required."""
        rule = attrs.evolve(JAVA, kind=ItemKind.SYSTEM, source=ItemSource.HOST)

        assert {"go", "java"} == named(resolved(rule, GO))

    def test_asking_twice_marks_once(self) -> None:
        """What was resolved is resolved."""
        found = resolved(attrs.evolve(JAVA, pinned=True), GO)

        assert found == resolved(*found.items)


class TestWhatIsNoConflict:
    """Nothing is marked where nothing is contradicted."""

    def test_equal_contents_agree(self) -> None:
        """Several that say the same, line ends and outer space aside, all stay."""
        agreeing = attrs.evolve(JAVA, item_id=ItemId("too"), content=" Java by default\n")

        found = resolved(JAVA, agreeing)

        assert ({"java", "too"}, ()) == (named(found), found.conflicts)
        assert [(), ()] == [item.conflicts for item in found.items]

    def test_those_who_agree_with_the_winner_stay_unmarked(self) -> None:
        """Only what holds carries the marks."""
        agreeing = attrs.evolve(GO, item_id=ItemId("too"), authority=Authority.INFERENCE)

        found = resolved(JAVA, GO, agreeing)

        assert {"go": (MARK,), "too": ()} == {item.item_id: item.conflicts for item in found.items}

    @pytest.mark.parametrize("subject", [None, "Language", "editor"])
    def test_other_subjects_and_none_contradict_nothing(self, subject: str | None) -> None:
        """Subjects are compared as they are written, white space around them aside."""
        found = resolved(attrs.evolve(JAVA, subject=subject), GO)

        assert ({"go", "java"}, ()) == (named(found), found.conflicts)

    def test_no_items_contradict_nothing(self) -> None:
        """An empty set of candidates stays one."""
        assert Resolved(items=(), conflicts=()) == resolved()

    def test_what_is_no_set_of_items_is_refused(self) -> None:
        """An id that stands twice among them."""
        failure = resolve_conflicts((GO, GO)).failure()

        assert InvalidItemReason.DUPLICATE_ID is failure.reason
