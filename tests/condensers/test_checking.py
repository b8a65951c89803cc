"""Any condenser is held against the text: what is not true of it is refused by its reason (T2)."""

import attrs
import pytest

from jingwei.condensers.checking import checked, with_source
from jingwei.condensers.failures import (
    AlreadyCondensed,
    CondenseFailure,
    InvalidCondensation,
    InvalidCondenseLimit,
    NotSmaller,
    NotThisKind,
    TextTooLarge,
)
from jingwei.condensers.failures import InvalidCondensationReason as Reason
from jingwei.condensers.records import DEFAULT_LIMITS, CondensedText, CondenseLimits, Evidence, Fact
from jingwei.condensers.rendering import rendered
from jingwei.outcome import Failure, Outcome, Success

TEXT = "the build\nfäiled twice\n" + "and again\n" * 600
FAILED = Evidence(first_line=2, last_line=2, start=10, end=17)
GOOD = CondensedText(
    method="host-v1",
    facts=(Fact(name="what", value="fäil", evidence=FAILED),),
    summary="a build that failed",
    evidence_refs=(FAILED,),
    total_bytes=6024,
    truncated=True,
)


@attrs.frozen
class Says:
    """Says what it was told to say."""

    outcome: Outcome[CondensedText, CondenseFailure]
    name: str = "host-v1"

    def condense(self, text: str, limits: CondenseLimits) -> Outcome[CondensedText, CondenseFailure]:
        return self.outcome


def held(condensed: CondensedText, text: str = TEXT) -> Outcome[CondensedText, CondenseFailure]:
    return checked(Says(Success(condensed)), text, DEFAULT_LIMITS)


def moved(**changes: int | str | None) -> CondensedText:
    evidence = attrs.evolve(FAILED, **changes)  # type: ignore[arg-type]  # the names are those of the record
    return attrs.evolve(
        GOOD, facts=(attrs.evolve(GOOD.facts[0], evidence=evidence),), evidence_refs=(evidence,)
    )


def saying(**changes: int | str) -> CondensedText:
    fact = attrs.evolve(GOOD.facts[0], **changes)  # type: ignore[arg-type]  # the names are those of the record
    return attrs.evolve(GOOD, facts=(fact,))


def test_what_is_true_passes_as_it_is() -> None:
    assert Success(GOOD) == held(GOOD)


def test_a_range_may_end_behind_the_end_of_its_line_and_of_the_text() -> None:
    last = Evidence(first_line=602, last_line=602, start=6014, end=6024)
    two = Evidence(first_line=1, last_line=2, start=0, end=17)
    whole = attrs.evolve(GOOD, facts=(), evidence_refs=(last, two))

    assert Success(whole) == held(whole)


LIES: list[tuple[Reason, CondensedText, int | None, int | None]] = [
    (Reason.BLANK_METHOD, attrs.evolve(GOOD, method=" "), None, None),
    (Reason.WRONG_TOTAL, attrs.evolve(GOOD, total_bytes=6023), None, None),
    (Reason.NOT_TRUNCATED, attrs.evolve(GOOD, truncated=False), None, None),
    (Reason.BLANK_SUMMARY, attrs.evolve(GOOD, summary="\n"), None, None),
    (Reason.SUMMARY_TOO_LONG, attrs.evolve(GOOD, summary="ä" * 1025), None, None),
    (Reason.TOO_MANY_FACTS, attrs.evolve(GOOD, facts=GOOD.facts * 33), None, None),
    (Reason.BLANK_NAME, saying(name=""), 0, None),
    (Reason.EMPTY_VALUE, saying(value=""), 0, None),
    (Reason.VALUE_TOO_LONG, saying(value="ä" * 129), 0, None),
    (Reason.INVALID_REPEATS, saying(repeats=0), 0, None),
    (Reason.INVALID_REPEATS, saying(repeats=2**64), 0, None),
    (Reason.RANGE_OUTSIDE, moved(start=-1), 0, None),
    (Reason.RANGE_OUTSIDE, moved(start=17), 0, None),
    (Reason.RANGE_OUTSIDE, moved(end=6025), 0, None),
    (Reason.NOT_ON_BOUNDARY, moved(start=12), 0, None),
    (Reason.NOT_ON_BOUNDARY, moved(end=12), 0, None),
    (Reason.LINES_DISAGREE, moved(first_line=1), 0, None),
    (Reason.LINES_DISAGREE, moved(last_line=3), 0, None),
    (Reason.VALUE_NOT_THERE, saying(value="build"), 0, None),
    (Reason.REFERENCE_MISSING, attrs.evolve(GOOD, evidence_refs=()), 0, None),
    (Reason.OTHER_SOURCE, attrs.evolve(moved(source="a"), evidence_refs=(FAILED,)), 0, None),
    (
        Reason.OTHER_SOURCE,
        attrs.evolve(GOOD, facts=(), evidence_refs=(FAILED, attrs.evolve(FAILED, source="b"))),
        None,
        0,
    ),
    (Reason.REFERENCE_REPEATED, attrs.evolve(GOOD, evidence_refs=(FAILED, FAILED)), None, 1),
    (
        Reason.RANGE_OUTSIDE,
        attrs.evolve(GOOD, evidence_refs=(FAILED, attrs.evolve(FAILED, end=9999))),
        None,
        1,
    ),
    (Reason.RENDERED_TOO_LONG, attrs.evolve(GOOD, method="m" * 4000), None, None),
]


@pytest.mark.parametrize(("reason", "lie", "fact", "reference"), LIES)
def test_a_lie_is_refused_with_its_place(
    reason: Reason, lie: CondensedText, fact: int | None, reference: int | None
) -> None:
    wrong = InvalidCondensation(method=lie.method, reason=reason, fact=fact, reference=reference)

    assert Failure(wrong) == held(lie)


def test_every_reason_has_its_lie() -> None:
    assert set(Reason) == {reason for reason, *_ in LIES}


def test_what_is_not_smaller_is_refused() -> None:
    small = "ab " * 50
    told = CondensedText(
        method="m", facts=(), summary="s" * 60, evidence_refs=(), total_bytes=150, truncated=True
    )

    assert Failure(NotSmaller(before=150, after=len(rendered(told)))) == held(told, small)
    assert len(rendered(told)) >= 150


def test_a_limit_below_one_is_named() -> None:
    for name in ("input_bytes", "rendered_bytes", "summary_bytes", "facts", "value_bytes"):
        limits = CondenseLimits(**{f"max_{name}": 0})

        assert Failure(InvalidCondenseLimit(what=f"max_{name}", actual=0)) == checked(
            Says(Success(GOOD)), TEXT, limits
        )


def test_a_text_that_is_too_large_is_not_read() -> None:
    limits = CondenseLimits(max_input_bytes=6023)

    assert Failure(TextTooLarge(limit=6023, actual=6024)) == checked(Says(Success(GOOD)), TEXT, limits)


def test_what_is_condensed_already_is_refused() -> None:
    text = rendered(GOOD)

    assert Failure(AlreadyCondensed(total_bytes=len(text.encode()))) == held(GOOD, text)


def test_the_failure_of_a_condenser_is_its_own() -> None:
    why = NotThisKind(kind="host", line=3)

    assert Failure(why) == checked(Says(Failure(why)), TEXT, DEFAULT_LIMITS)


def test_a_source_is_put_where_none_is_named() -> None:
    outcome = checked(Says(Success(GOOD)), TEXT, DEFAULT_LIMITS, "log://7")
    condensed = outcome.unwrap()

    assert {"log://7"} == {one.source for one in condensed.evidence_refs}
    assert '"source":"log://7"' in rendered(condensed)
    assert moved(source="own") == with_source(moved(source="own"), "log://7")
    assert GOOD == with_source(GOOD, None)
