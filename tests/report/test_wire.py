"""Reports as JSON (B6): a row a turn when written, the shared form when read."""

import json
from fractions import Fraction

import attrs
import pytest

from jingwei.build import build
from jingwei.codec import DecodeFailed, DecodeReason, EncodeFailed, EncodeReason
from jingwei.ids import ItemId, SummaryId, TurnId
from jingwei.items.records import ItemKind, ItemSource, Tier
from jingwei.jsontext import JsonValue
from jingwei.outcome import Failure, Success
from jingwei.report.failures import CountLimit
from jingwei.report.records import BuildReport, ItemRow, ReductionKind
from jingwei.report.wire import decode_report, encode_report, read_report, report_value
from jingwei.request.records import BuildLimits
from jingwei.selection.records import (
    ChoiceReason,
    CondenseExchange,
    CondenseTurn,
    Plan,
    PrefixMarks,
    PreviewPolicy,
    SummarizedTurn,
)
from jingwei.selection.search import Search
from tests.selection.test_exchanges import SMALL, asked, result, user
from tests.test_build import AdditiveByteCounter, ByteCounter, Planned, built, drop, history, inputs

LONE = EncodeReason.LONE_SURROGATE

REPORT = built(build(history(3), inputs("中", window=1900, pins=["t0"]), AdditiveByteCounter())).report


def as_json(report: BuildReport) -> dict[str, JsonValue]:
    value = json.loads(encode_report(report).unwrap())
    assert isinstance(value, dict)
    return value


def test_a_report_survives_json() -> None:
    data = encode_report(REPORT).unwrap()

    assert Success(REPORT) == decode_report(data)
    assert REPORT == read_report(report_value(REPORT))
    assert data == encode_report(decode_report(data).unwrap()).unwrap()


def test_so_does_the_report_of_a_failure_and_of_an_empty_history() -> None:
    tight = inputs(window=1, limits=BuildLimits(max_count_calls=1))
    failure = build(history(3), tight, ByteCounter(), search=Search.LINEAR).failure()

    assert isinstance(failure, CountLimit)
    assert Success(failure.report) == decode_report(encode_report(failure.report).unwrap())

    empty = built(build(history(0), inputs(), ByteCounter())).report

    assert Success(empty) == decode_report(encode_report(empty).unwrap())


def test_every_key_is_always_there_in_the_order_of_the_contract() -> None:
    written = as_json(REPORT)

    assert [
        "algorithm_version",
        "projection_version",
        "strategy",
        "search",
        "session_id",
        "source_tail",
        "source_event_count",
        "state_version",
        "target",
        "budget",
        "limits",
        "system_messages",
        "current_messages",
        "turns",
        "attempts",
        "sent",
        "constraint_digest",
        "summary_digest",
        "items_digest",
        "marks",
        "exchanges",
        "cache",
        "items",
        "summaries",
        "selection",
    ] == list(written)
    assert {"model": "test-model", "template_revision": "test-v1"} == written["target"]
    assert {
        "window_tokens": 1900,
        "output_reserve": 64,
        "output_evidence": "verified_upper_bound",
        "safety_margin": 16,
        "mode": "hard",
    } == written["budget"]
    assert {
        "max_input_bytes": 16_777_216,
        "max_groups": 4096,
        "max_turns": 4096,
        "max_messages": 8192,
        "max_count_calls": 128,
    } == written["limits"]
    assert (None, None, None, None, None, "bisect") == (
        written["summary_digest"],
        written["items_digest"],
        written["marks"],
        written["exchanges"],
        written["cache"],
        written["search"],
    )


def test_rows_and_attempts_are_written_out() -> None:
    written = as_json(REPORT)
    turns, attempts, sent = written["turns"], written["attempts"], written["sent"]
    assert isinstance(turns, list)
    assert isinstance(attempts, list)
    assert isinstance(sent, list)

    assert {
        "turn_id": "t1",
        "source_events": ["event-5", "event-6", "event-7", "event-8"],
        "retained": False,
        "protected": False,
        "reduction": "dropped",
    } == turns[1]
    assert ["t0", "t1", "t2"] == [row["turn_id"] for row in turns if isinstance(row, dict)]
    assert {
        "removed_turns": 1,
        "plan_steps": 1,
        "count": {
            "target": {"model": "test-model", "template_revision": "test-v1"},
            "method": "test-byte-v1",
            "evidence": "verified_upper_bound",
            "tokens": {"system": 0, "messages": 874 + 876 + 31, "constraint": 15, "template": 17},
        },
        "total_reserved": 874 + 876 + 31 + 15 + 17 + 80,
    } == attempts[-1]
    assert {"role": "user", "cost": 31} == {
        key: value for key, value in dict(sent[-1]).items() if key != "digest"
    }


def test_a_base_is_read_back_as_what_was_dropped() -> None:
    report = built(build(history(2), inputs(), ByteCounter(), strategy=Planned(Plan(base=drop("t1"))))).report

    assert Success(report) == decode_report(encode_report(report).unwrap())
    assert drop("t1") == report.turns.reductions


CONDENSED = Plan(
    base=(CondenseTurn(turn_id=TurnId("t1"), policy=SMALL), CondenseExchange(index=0, policy=SMALL)),
    marks=PrefixMarks(high=9, low=4, cut=TurnId("t1"), moves=2, kept_cost=3),
)


def test_what_was_condensed_is_written_with_its_policy() -> None:
    running = attrs.evolve(
        inputs([user(), asked("a"), result("a", 900), asked("b"), result("b")]), reduce_current=True
    )
    report = built(build(history(2), running, ByteCounter(), strategy=Planned(CONDENSED))).report
    written = as_json(report)
    turns, policy = written["turns"], {"inline_bytes": 200, "preview_bytes": 20}
    assert isinstance(turns, list)

    assert {
        "turn_id": "t1",
        "source_events": ["event-5", "event-6", "event-7", "event-8"],
        "retained": True,
        "protected": False,
        "reduction": "condensed",
        "policy": policy,
    } == turns[1]
    assert [
        {"call_ids": ["a"], "retained": True, "reduction": "condensed", "policy": policy},
        {"call_ids": ["b"], "retained": True, "reduction": None},
    ] == written["exchanges"]
    assert {"high": 9, "low": 4, "cut": "t1", "moves": 2, "kept_cost": 3, "broke": False} == written["marks"]
    assert Success(report) == decode_report(encode_report(report).unwrap())


def test_a_condensed_row_without_a_policy_has_the_sizes_by_default() -> None:
    policies = ',"reduction":"dropped"', ',"reduction":"condensed"'
    text = encode_report(REPORT).unwrap().decode().replace('"retained":false', '"retained":true')
    found = decode_report(text.replace(*policies).encode()).unwrap()

    assert (CondenseTurn(turn_id=TurnId("t1"), policy=PreviewPolicy()),) == found.turns.reductions


TEXT = encode_report(REPORT).unwrap().decode()


@pytest.mark.parametrize(
    ("old", "new", "reason", "path"),
    [
        ('"search":"bisect"', '"search":"Bisect"', "unknown_enum", "/search"),
        ('"mode":"hard"', '"mode":"firm"', "unknown_enum", "/budget/mode"),
        (',"mode":"hard"', "", "missing_key", "/budget/mode"),
        ('"reduction":"dropped"', '"reduction":"gone"', "unknown_enum", "/turns/1/reduction"),
        ('"strategy":', '"note":1,"strategy":', "unknown_key", "/note"),
        ('"window_tokens":1900', '"window_tokens":-1', "out_of_range", "/budget/window_tokens"),
        (',"items_digest":null', "", "missing_key", "/items_digest"),
    ],
)
def test_a_report_that_is_none_is_refused_with_its_path(old: str, new: str, reason: str, path: str) -> None:
    changed = TEXT.replace(old, new)
    assert changed != TEXT

    found = decode_report(changed.encode())

    assert isinstance(found, Failure)
    assert (DecodeReason(reason), path) == (found.failure().reason, found.failure().path)


def test_a_value_that_is_no_report_is_refused() -> None:
    found = read_report({"algorithm_version": True})

    assert isinstance(found, DecodeFailed)
    assert (DecodeReason.WRONG_TYPE, "/algorithm_version") == (found.reason, found.path)


def test_a_label_with_half_a_surrogate_pair_cannot_be_written() -> None:
    report = built(build(history(0), inputs(), ByteCounter(), strategy=Planned(Plan(), name="\ud800"))).report

    assert Failure(EncodeFailed(reason=LONE, index=None, actual="U+D800")) == encode_report(report)


def test_what_became_of_turns_by_summaries_and_views_survives_json() -> None:
    """Which summary stands for a turn, and which turns were sent as views; both only where it is so."""
    ledger = attrs.evolve(
        REPORT.turns,
        reductions=(SummarizedTurn(turn_id=TurnId("t1"), summary_id=SummaryId("s")),),
        viewed=(TurnId("t2"),),
    )
    report = attrs.evolve(REPORT, turns=ledger)
    rows = as_json(report)["turns"]
    assert isinstance(rows, list)

    assert report == decode_report(encode_report(report).unwrap()).unwrap()
    assert [None, "s", None] == [row.get("summary_id") for row in rows if isinstance(row, dict)]
    assert ["summarized"] == [row["reduction"] for row in rows if isinstance(row, dict) and row["reduction"]]
    assert [False, False, True] == ["viewed" in row for row in rows if isinstance(row, dict)]


def test_rows_of_items_keep_their_fractions() -> None:
    """A third is written as one, not as a float near it."""
    row = ItemRow(
        item_id=ItemId("a"),
        kind=ItemKind.FACT,
        tier=Tier.P2,
        source=ItemSource.MEMORY,
        source_ref=None,
        source_events=(),
        recall_score=Fraction(1, 3),
        retained=True,
        protected=False,
        reduction=ReductionKind.CONDENSED,
        reason=ChoiceReason.VALUE,
        full_cost=9,
        cost=4,
    )
    report = attrs.evolve(
        REPORT, items=(row, attrs.evolve(row, item_id=ItemId("b"), recall_score=Fraction(1)))
    )
    rows = as_json(report)["items"]
    assert isinstance(rows, list)

    assert report == decode_report(encode_report(report).unwrap()).unwrap()
    assert ["1/3", 1] == [one["recall_score"] for one in rows if isinstance(one, dict)]
