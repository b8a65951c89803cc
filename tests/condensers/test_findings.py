"""Packing: what has room, in which order, and where it stands (T2)."""

import attrs
import pytest

from jingwei.condensers.failures import (
    InvalidCondensation,
    InvalidCondensationReason,
    InvalidCondenseLimit,
    NotSmaller,
    NotThisKind,
)
from jingwei.condensers.findings import (
    FindingCondenser,
    Findings,
    Places,
    Quote,
    clipped,
    counted,
    line_quote,
    listed,
    packed,
    shortened,
    spread,
    trimmed,
)
from jingwei.condensers.records import DEFAULT_LIMITS, CondenseLimits, Evidence
from jingwei.condensers.rendering import rendered
from jingwei.outcome import Failure

TEXT = "first line\n  größer 😀 line \nlast\n" + "x" * 5000


def quote(name: str, start: int, end: int, repeats: int = 1) -> Quote:
    return Quote(name=name, start=start, end=end, value_start=start, value_end=end, repeats=repeats)


def findings(*quotes: Quote, notes: tuple[str, ...] = ("a text",)) -> Findings:
    return Findings(kind="some", notes=notes, quotes=quotes)


def test_quotes_become_facts_with_lines_and_bytes() -> None:
    found = findings(line_quote("second", TEXT, 11, 28), quote("repeated", 0, 5, 3))
    condensed = packed(TEXT, "m", found, DEFAULT_LIMITS).unwrap()

    assert [("second", "größer 😀 line", 1), ("repeated", "first", 3)] == [
        (fact.name, fact.value, fact.repeats) for fact in condensed.facts
    ]
    assert (
        Evidence(first_line=2, last_line=2, start=13, end=31),
        Evidence(first_line=1, last_line=1, start=0, end=5),
    ) == condensed.evidence_refs
    assert ("a text", len(TEXT.encode()), True) == (
        condensed.summary, condensed.total_bytes, condensed.truncated
    )  # fmt: skip


def test_what_says_nothing_new_is_passed_over() -> None:
    found = findings(quote("a", 0, 5), quote("empty", 10, 10), quote("again", 0, 5), quote("b", 6, 10))
    condensed = packed(TEXT, "m", found, DEFAULT_LIMITS).unwrap()

    assert ["a", "b"] == [fact.name for fact in condensed.facts]


def test_two_facts_of_one_place_share_its_reference() -> None:
    part = attrs.evolve(quote("part", 0, 10), value_end=5)
    condensed = packed(TEXT, "m", findings(quote("whole", 0, 10), part), DEFAULT_LIMITS).unwrap()

    assert ["first line", "first"] == [fact.value for fact in condensed.facts]
    assert 1 == len(condensed.evidence_refs)


def test_a_value_that_is_too_long_is_its_own_beginning() -> None:
    condensed = packed(TEXT, "m", findings(quote("x", 13, 29)), CondenseLimits(max_value_bytes=4)).unwrap()

    assert ["grö"] == [fact.value for fact in condensed.facts]
    assert (13, len(TEXT[:29].encode())) == (
        condensed.facts[0].evidence.start,
        condensed.facts[0].evidence.end,
    )


def test_there_are_no_more_facts_than_the_limit() -> None:
    quotes = [quote(str(place), place, place + 3) for place in range(8)]
    condensed = packed(TEXT, "m", findings(*quotes), CondenseLimits(max_facts=2)).unwrap()

    assert 2 == len(condensed.facts)


def test_what_has_no_room_is_passed_over_for_what_has() -> None:
    """A value, a name, a reference may each be the byte too much."""
    text = "".join(chr(65 + place % 26) * 2 for place in range(600))
    whole = findings(*[quote(f"n{place}", place, place + 200 - place % 190) for place in range(256)])
    for most in range(180, 640):
        limits = CondenseLimits(max_rendered_bytes=most)
        condensed = packed(text, "m", whole, limits).unwrap()

        assert len(rendered(condensed)) <= most


def test_notes_have_their_part_of_the_room_and_then_what_is_left() -> None:
    notes = tuple(f"note {number} {'y' * 60}" for number in range(40))
    alone = packed(TEXT, "m", findings(notes=notes), DEFAULT_LIMITS).unwrap()
    crowded = packed(
        TEXT,
        "m",
        findings(*[quote("x", place, place + 90) for place in range(99)], notes=notes),
        DEFAULT_LIMITS,
    ).unwrap()

    assert 0 < len(crowded.summary.split("\n")) < len(alone.summary.split("\n"))
    assert notes[0] in crowded.summary


def test_a_note_that_is_too_long_is_left_out_and_never_cut() -> None:
    condensed = packed(TEXT, "m", findings(notes=("short", "long" * 999, "end")), DEFAULT_LIMITS).unwrap()

    assert "short\nend" == condensed.summary


@pytest.mark.parametrize(
    ("text", "note", "limits", "why"),
    [
        ("x" * 120, "n" * 40, DEFAULT_LIMITS, NotSmaller(before=120, after=132)),
        (
            TEXT,
            "n" * 9,
            CondenseLimits(max_summary_bytes=8),
            InvalidCondensation(method="m", reason=InvalidCondensationReason.SUMMARY_TOO_LONG),
        ),
        (
            TEXT,
            "n",
            CondenseLimits(max_rendered_bytes=50),
            InvalidCondensation(method="m", reason=InvalidCondensationReason.RENDERED_TOO_LONG),
        ),
    ],
)
def test_without_room_for_a_summary_it_is_said_why(
    text: str, note: str, limits: CondenseLimits, why: NotSmaller | InvalidCondensation
) -> None:
    assert Failure(why) == packed(text, "m", findings(notes=(note,)), limits)


def test_a_condenser_is_named_by_kind_version_and_what_is_inside() -> None:
    def find(text: str) -> Findings | NotThisKind:
        return findings() if text.startswith("first") else NotThisKind(kind="k", line=1)

    condenser = FindingCondenser(kind="some", version=3, find=find)
    inner = FindingCondenser(kind="some", version=3, find=lambda _: attrs.evolve(findings(), kind="some+log"))

    assert "some-v3" == condenser.name
    assert "some-v3" == condenser.condense(TEXT, DEFAULT_LIMITS).unwrap().method
    assert "some-v3+log" == inner.condense(TEXT, DEFAULT_LIMITS).unwrap().method
    assert Failure(NotThisKind(kind="k", line=1)) == condenser.condense("other", DEFAULT_LIMITS)
    assert Failure(InvalidCondenseLimit(what="max_facts", actual=0)) == condenser.condense(
        TEXT, CondenseLimits(max_facts=0)
    )


def test_places_count_lines_and_bytes() -> None:
    places = Places("aß\n\n\ud800b")

    assert [1, 1, 1, 2, 3, 3] == [places.line(place) for place in range(6)]
    assert [0, 1, 3, 4, 5, 8, 9] == [places.byte(place) for place in range(7)]
    assert 2 == Places("abc").byte(2)


def test_small_helpers() -> None:
    assert (2, 4) == trimmed("  ab  ", 0, 6)
    assert (3, 3) == trimmed("   ", 0, 3)
    assert [0, 2, 4] == spread(range(5), 3)
    assert [0, 1] == spread(range(2), 3)
    assert [[0], []] == [spread(range(5), most) for most in (1, 0)]
    assert ("a b", "ab…") == (clipped("a\nb", 5), clipped("abc", 2))
    assert ("1 row", "2 rows") == (counted(1, "row"), counted(2, "row"))
    assert ("a, b", "a and 1 more") == (listed("ab", 2), listed("ab", 1))
    assert [0, 1, 1, 3] == [shortened("aöb", 0, 3, most) for most in (0, 1, 2, 4)]
