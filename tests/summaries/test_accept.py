"""Which summaries may stand for their turns, and why the others may not (S8)."""

from typing import Any

import attrs
import pytest

from jingwei.ids import EventId, SessionId, SummaryId, TurnId
from jingwei.outcome import Failure, Success
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.summaries.accept import accept_summary, compared, summary_of, summary_refusals
from jingwei.summaries.failures import SummaryReason, SummaryRefused, SummarySetBroken, SummarySetReason
from jingwei.summaries.records import (
    MarkedHypothesis,
    Protected,
    Statement,
    Summary,
    SummaryChunk,
    SummaryDraft,
)
from tests.logtable import log_of
from tests.summaries.world import GOOD, LONG, SOURCES, TALK, sources_in, statement

R = SummaryReason
OLD = attrs.evolve(
    GOOD,
    summary_id=SummaryId("old"),
    hypotheses=(statement("It  Rains", 1),),
    last_seq=4,
    turn_ids=(TurnId("one"),),
)
FAR = attrs.evolve(GOOD, summary_id=SummaryId("far"), first_seq=100, last_seq=101)


def refused(summary: Summary, *known: Summary, protected: tuple[Protected, ...] = ()) -> list[Any]:
    found = summary_refusals(summary, SOURCES, known, protected)
    assert not isinstance(found, SummarySetBroken)
    return [(one.reason, one.path, one.expected, one.actual) for one in found]


def test_a_good_summary_is_accepted_as_it_is() -> None:
    assert Success(GOOD) == accept_summary(GOOD, SOURCES)
    assert Success(GOOD) == accept_summary(GOOD, SOURCES, costs=ByteHeuristicCounter())


def test_a_silent_turn_at_the_end_may_be_covered() -> None:
    turns = tuple(map(TurnId, ("three", "four")))
    summary = attrs.evolve(
        GOOD,
        facts=(statement("so", 15),),
        first_seq=10,
        last_seq=15,
        tail_event_id=EventId("event-15"),
        turn_ids=turns,
    )

    assert Success(summary) == accept_summary(summary, SOURCES)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"session_id": SessionId("x")}, (R.OTHER_SESSION, "/session_id", "session", "x")),
        ({"format_version": 0}, (R.UNSUPPORTED_FORMAT, "/format_version", "1", "0")),
        ({"summary_id": SummaryId("\t")}, (R.BLANK_ID, "/summary_id", "an id", "\t")),
        (
            {"summary_id": SummaryId("é\udfff")},
            (R.LONE_SURROGATE, "/summary_id", "whole characters", "'\\xe9\\udfff'"),
        ),
        ({"facts": ()}, (R.EMPTY, "", "a statement", "none")),
        ({"turn_ids": ()}, (R.EMPTY_RANGE, "/turn_ids", "a turn", "none")),
        ({"last_seq": -1}, (R.REVERSED_RANGE, "/last_seq", "at least 0", "-1")),
        ({"first_seq": -1}, (R.RANGE_NOT_IN_LOG, "/first_seq", "0 to 15", "-1")),
        ({"last_seq": 16}, (R.RANGE_NOT_IN_LOG, "/last_seq", "0 to 15", "16")),
        ({"tail_event_id": EventId("x")}, (R.OTHER_TAIL, "/tail_event_id", "event-9", "x")),
        ({"first_seq": 1}, (R.SPLIT_TURN, "/first_seq", "0", "1")),
        (
            {"last_seq": 8, "tail_event_id": EventId("event-8")},
            (R.SPLIT_TURN, "/last_seq", "9", "8"),
        ),
        (
            {"turn_ids": (TurnId("one"),)},
            (R.OTHER_TURNS, "/turn_ids", '["one","two"]', '["one"]'),
        ),
        ({"version": 2}, (R.WRONG_VERSION, "/version", "1", "2")),
        (
            {"supersedes": (SummaryId("x"),)},
            (R.UNKNOWN_SUPERSEDED, "/supersedes/0", "a summary that is known", "x"),
        ),
        ({"supersedes": (SummaryId("s1"),)}, (R.CYCLE, "/supersedes", "no ring", "s1")),
        (
            {"decisions": (statement(" ", 1),)},
            (R.BLANK_STATEMENT, "/decisions/0/text", "words", " "),
        ),
        (
            {"open_questions": (statement("x"),)},
            (R.NO_SOURCE, "/open_questions/0/source_events", "an event of the range", "none"),
        ),
        (
            {"hypotheses": (statement("x", 1, 10),)},
            (R.SOURCE_OUTSIDE_RANGE, "/hypotheses/0/source_events/1", "an event of the range", "event-10"),
        ),
        (
            {"hypotheses": (statement("the TOOL says  out", 1),)},
            (R.HYPOTHESIS_AS_FACT, "/facts/0", "one of the two", "The tool says out"),
        ),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value[0].value),
)
def test_what_is_wrong_is_told_with_its_place(fields: dict[str, Any], expected: object) -> None:
    assert [expected] == refused(attrs.evolve(GOOD, **fields))


def test_a_turn_that_is_open_or_quarantined_is_not_covered() -> None:
    damaged = sources_in(log_of(f"{TALK}; turn two; result x; turn three; user"))
    summary = attrs.evolve(
        GOOD, last_seq=5, tail_event_id=EventId("event-5"), turn_ids=tuple(map(TurnId, ("one", "two")))
    )
    opened = attrs.evolve(summary, first_seq=6, last_seq=6, tail_event_id=EventId("event-6"))

    for one, turn in ((summary, "two"), (opened, "three")):
        refusal = accept_summary(one, damaged).failure()
        assert isinstance(refusal, SummaryRefused)
        assert (R.TURN_NOT_CLOSED, turn) == (refusal.reason, refusal.actual)


def test_no_range_is_in_an_empty_log() -> None:
    empty = sources_in(log_of(""))
    refusal = accept_summary(GOOD, empty).failure()

    assert isinstance(refusal, SummaryRefused)
    assert (R.RANGE_NOT_IN_LOG, "0 to -1") == (refusal.reason, refusal.expected)


@pytest.mark.parametrize(
    ("known", "fields", "reasons"),
    [
        ((OLD,), {}, [R.OVERLAP]),
        ((OLD,), {"supersedes": (SummaryId("old"),), "version": 2}, []),
        ((OLD,), {"supersedes": (SummaryId("old"),) * 2, "version": 2}, [R.REPEATED_SUPERSEDED]),
        ((FAR,), {"summary_id": SummaryId("far")}, [R.REPEATED_ID]),
        ((FAR,), {}, []),
        (
            (FAR, attrs.evolve(FAR, summary_id=SummaryId("f2"), version=2, supersedes=(SummaryId("far"),))),
            {"supersedes": (SummaryId("far"),), "version": 2},
            [R.INACTIVE_SUPERSEDED],
        ),
        (
            (attrs.evolve(FAR, version=2, supersedes=(SummaryId("s1"),)),),
            {},
            [R.ALREADY_SUPERSEDED],
        ),
        (
            (attrs.evolve(FAR, version=2, supersedes=(SummaryId("s1"),)),),
            {"supersedes": (SummaryId("far"),), "version": 3},
            [R.CYCLE],
        ),
    ],
)
def test_summaries_before_it_are_looked_at(
    known: tuple[Summary, ...], fields: dict[str, Any], reasons: list[SummaryReason]
) -> None:
    assert reasons == [one[0] for one in refused(attrs.evolve(GOOD, **fields), *known)]


def test_where_the_range_is_wrong_relatives_are_told_and_nothing_else() -> None:
    summary = attrs.evolve(GOOD, tail_event_id=EventId("x"), version=5, decisions=(statement("x"),))

    assert [R.OTHER_TAIL, R.WRONG_VERSION] == [one[0] for one in refused(summary)]


def test_summaries_that_contradict_each_other_are_told_first() -> None:
    broken = SummarySetBroken(reason=SummarySetReason.REPEATED_ID, summary_ids=(SummaryId("s1"),))
    known = (GOOD, attrs.evolve(GOOD, version=2))

    assert Failure(broken) == accept_summary(GOOD, SOURCES, known)


@pytest.mark.parametrize(("source", "reasons"), [(4, [R.HYPOTHESIS_AS_FACT]), (5, [])])
def test_an_old_guess_becomes_a_fact_by_a_newer_event_only(source: int, reasons: list[SummaryReason]) -> None:
    promoted = (*GOOD.facts, statement("it rains", 0, source))
    summary = attrs.evolve(GOOD, facts=promoted, version=2, supersedes=(SummaryId("old"),))

    assert reasons == [one[0] for one in refused(summary, OLD)]


@pytest.mark.parametrize(("source", "reasons"), [(1, [R.HYPOTHESIS_AS_FACT]), (2, [])])
def test_a_guess_that_the_log_marks_is_one(source: int, reasons: list[SummaryReason]) -> None:
    payload = '{"text":"It rains"}'
    log = log_of(f'user "{LONG}"; custom jingwei hypothesis {payload}; reply "{LONG}"; done')
    marked = attrs.evolve(
        sources_in(log),
        marked=(MarkedHypothesis(text="IT rains", seq=1), MarkedHypothesis(text="IT rains", seq=99)),
    )
    summary = attrs.evolve(
        GOOD,
        facts=(statement("it rains", source),),
        last_seq=3,
        tail_event_id=EventId("event-3"),
        turn_ids=(TurnId("one"),),
    )
    found = summary_refusals(summary, marked)

    assert not isinstance(found, SummarySetBroken)
    assert reasons == [one.reason for one in found]


@pytest.mark.parametrize(
    ("text", "seq", "kept"),
    [
        (" The tool\nsays out", 3, True),
        ("tool says", 3, False),
        ("the tool says out", 3, False),
        ("Tool says", 10, True),
        (" ", 3, True),
    ],
)
def test_a_protected_text_of_the_range_stands_word_for_word(text: str, seq: int, kept: bool) -> None:
    found = refused(GOOD, protected=(Protected(text=text, seq=seq),))

    assert ([] if kept else [(R.PROTECTED_MISSING, "", text, f"nothing from {seq}")]) == found


def test_a_summary_that_costs_as_much_as_its_turns_is_refused() -> None:
    (found,) = refused(attrs.evolve(GOOD, decisions=(statement("w" * 5_000, 1),)))

    assert R.NOT_SMALLER == found[0]
    assert found[2].startswith("less than ")


def test_a_draft_about_a_chunk_makes_a_summary_of_its_turns() -> None:
    said = tuple([Statement(text=text, source_events=(EventId("event-1"),)) for text in "fdhq"])
    draft = SummaryDraft(facts=said[:1], decisions=said[1:2], hypotheses=said[2:3], open_questions=said[3:])
    chunk = SummaryChunk(
        session_id=GOOD.session_id,
        turns=SOURCES.turns[:2],
        supersedes=(SummaryId("old"),),
        version=2,
        protected=(),
    )
    expected = attrs.evolve(
        GOOD,
        facts=said[:1],
        decisions=said[1:2],
        hypotheses=said[2:3],
        open_questions=said[3:],
        version=2,
        supersedes=(SummaryId("old"),),
    )

    assert expected == summary_of(draft, chunk, SummaryId("s1"))
    assert Success(expected) == accept_summary(expected, SOURCES, (OLD,))


def test_a_chunk_without_turns_makes_a_summary_that_is_refused() -> None:
    """No plan has such a chunk; a host may have made one."""
    draft = SummaryDraft(facts=(), decisions=(), hypotheses=(), open_questions=())
    chunk = SummaryChunk(session_id=SessionId("s"), turns=(), supersedes=(), version=1, protected=())

    made = summary_of(draft, chunk, SummaryId("s1"))

    assert (0, -1, "", ()) == (made.first_seq, made.last_seq, made.tail_event_id, made.turn_ids)
    assert isinstance(accept_summary(made, SOURCES), Failure)


def test_texts_are_compared_without_case_and_white_space() -> None:
    assert "strasse x" == compared("\u3000Straße\n X ")
