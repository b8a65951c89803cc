"""What composing reports, as JSON and back (S6, S7): every key, nothing lost, strict on what is unknown."""

import json
from fractions import Fraction
from typing import Any, Final

import pytest

from jingwei.codec import DecodeFailed, DecodeReason, EncodeFailed, EncodeReason
from jingwei.compose.observe import SelectionReport, diff, why
from jingwei.compose.pipeline import ComposedContext, ComposeOptions
from jingwei.compose.triggers import (
    Advice,
    CondenseFinished,
    CondenseResult,
    LookForNoise,
    LowerWeight,
    NoiseShare,
    Reach,
    SummarizeStage,
)
from jingwei.compose.wire import (
    advice_value,
    diff_value,
    encode_selection,
    read_selection,
    read_state,
    selection_value,
    why_value,
)
from jingwei.ids import EventId, ItemId, TurnId
from jingwei.items.records import ItemKind
from tests.compose.composing import LOG, MEMORIES, composed, history, observation
from tests.test_build import ByteCounter


def whole() -> ComposedContext:
    """Something of everything: a conflict, a duplicate, a filtered memory, a large log, one left in full."""
    return composed(
        observation("log", LOG),
        observation("twin", "use Go this time"),
        observation("plain", "字"),
        memories=MEMORIES,
        options=ComposeOptions(large_bytes=2),
    ).unwrap()


def plain(report: SelectionReport) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(encode_selection(report).unwrap())
    return value


class TestSelectionReports:
    """A report comes back as the one that was written."""

    def test_every_key_in_order(self) -> None:
        value = plain(whole().selection)

        assert [
            *("algorithm_version", "method", "candidates", "chosen", "stages", "origins", "filtered"),
            *("duplicates", "conflicts", "condensed", "items", "shares", "tokens_before", "tokens_after"),
        ] == list(value)
        assert {
            "stages": ["stage", "item_ids"],
            "origins": ["item_id", "kind", "tier", "source", "source_ref", "recall_score"],
            "filtered": ["memory_id", "reason"],
            "duplicates": ["kept", "dropped", "source", "kept_trust", "dropped_trust"],
            "conflicts": ["subject", "mark", "loser_authority", "winner_authority", "loser_kept"],
            "condensed": ["item_id", "method", "before_bytes", "after_bytes", "refused"],
            "items": [
                *("item_id", "kind", "tier", "source", "source_ref", "source_events", "recall_score"),
                *("retained", "protected", "reduction", "reason", "full_cost", "cost"),
            ],
            "shares": ["kind", "tokens", "share"],
        } == {key: list(rows[0]) for key, rows in value.items() if isinstance(rows, list)}
        assert ["old", "new", "old_id", "new_id", "resolution"] == list(value["conflicts"][0]["mark"])
        methods = {row["item_id"]: (row["method"], row["refused"]) for row in value["condensed"]}
        assert {"log": ("log-v1", None), "plain": (None, "NotSmaller")} == methods

    @pytest.mark.parametrize("counter", [None, ByteCounter()])
    def test_what_is_written_reads_back(self, counter: ByteCounter | None) -> None:
        """Also where nothing is known of costs."""
        report = (
            whole() if counter is None else composed(observation("o", "x"), counter=counter).unwrap()
        ).selection

        assert report == read_selection(selection_value(report))
        assert selection_value(report) == json.loads(encode_selection(report).unwrap())

    @pytest.mark.parametrize(
        ("change", "reason", "path"),
        [
            ({"more": 1}, DecodeReason.UNKNOWN_KEY, "/more"),
            ({"candidates": -1}, DecodeReason.OUT_OF_RANGE, "/candidates"),
            ({"stages": [{"stage": "tools", "item_ids": []}]}, DecodeReason.UNKNOWN_ENUM, "/stages/0/stage"),
            ({"filtered": [{"memory_id": "m"}]}, DecodeReason.MISSING_KEY, "/filtered/0/reason"),
            ({"shares": {}}, DecodeReason.WRONG_TYPE, "/shares"),
        ],
    )
    def test_what_is_no_report_says_where(self, change: Any, reason: DecodeReason, path: str) -> None:
        read = read_selection({**plain(whole().selection), **change})

        assert isinstance(read, DecodeFailed)
        assert (reason, path) == (read.reason, read.path)

    @pytest.mark.parametrize("value", [None, [], 5, "x"])
    def test_what_is_no_object_is_none(self, value: Any) -> None:
        read = read_selection(value)

        assert isinstance(read, DecodeFailed)
        assert DecodeReason.NOT_AN_OBJECT is read.reason

    def test_half_a_surrogate_pair_has_no_bytes(self) -> None:
        report = composed(observation("o", "x"), memories=(MEMORIES[0],)).unwrap().selection
        torn = read_selection({**plain(report), "filtered": [{"memory_id": "\ud800", "reason": "limit"}]})
        assert isinstance(torn, SelectionReport)
        failed = encode_selection(torn).failure()

        assert EncodeFailed(reason=EncodeReason.LONE_SURROGATE, index=None, actual="U+D800") == failed


class TestStates:
    """The state of one choice, for the next (R3)."""

    def test_the_state_of_an_answer_reads_back(self) -> None:
        made = whole()
        assert made.state is not None
        value: dict[str, Any] = {
            "left_out_turns": list(made.state.left_out_turns),
            "left_out_items": list(made.state.left_out_items),
            "available": made.state.available,
            "moves": made.state.moves,
        }

        assert made.state == read_state(value)

    @pytest.mark.parametrize(
        ("value", "path"), [({}, "/left_out_turns"), ({"left_out_turns": [5]}, "/left_out_turns/0"), ([], "")]
    )
    def test_what_is_no_state_says_where(self, value: Any, path: str) -> None:
        read = read_state(value)

        assert isinstance(read, DecodeFailed)
        assert path == read.path


def test_the_story_of_an_item() -> None:
    story = why(whole().selection, ItemId("memory:m1")).unwrap()

    assert {
        "item_id": "memory:m1",
        "in_request": False,
        "origin": {
            "item_id": "memory:m1",
            "kind": "memory",
            "tier": "p2",
            "source": "memory",
            "source_ref": None,
            "recall_score": "1/2",
        },
        "story": [
            {"step": "gathered", "other": None, "reason": "memories"},
            {"step": "lost_to", "other": "constraint:0000", "reason": "current_task_override"},
        ],
    } == why_value(story)
    unborn = why_value(why(whole().selection, ItemId("memory:m2")).unwrap())
    assert isinstance(unborn, dict)
    assert unborn["origin"] is None


def test_two_reports_side_by_side() -> None:
    before = composed(observation("a", "one"), whole=history("turn t0; user; reply; done")).unwrap()
    after = composed(observation("b", "two")).unwrap()
    value = diff_value(diff(before.built.report, after.built.report))

    assert isinstance(value, dict)
    assert [
        {"item_id": "a", "change": "went", "before": "room_for_all", "after": None},
        {"item_id": "b", "change": "came", "before": None, "after": "room_for_all"},
    ] == value["items"]
    assert (["t1"], []) == (value["turns_came"], value["turns_went"])
    assert [
        *("items", "turns_came", "turns_went", "tokens_before", "tokens_after"),
        *("messages_before", "messages_after"),
    ] == list(value)


ADVICE: Final[list[tuple[Advice, dict[str, Any]]]] = [
    (
        CondenseFinished(
            expected=9,
            threshold=7,
            by_condensing=1,
            by_leaving_out=1,
            reach=Reach.NOT_REACHABLE,
            turns=(TurnId("t"),),
        ),
        {
            "kind": "condense_finished",
            "expected": 9,
            "threshold": 7,
            "by_condensing": 1,
            "by_leaving_out": 1,
            "reach": "not_reachable",
            "turns": ["t"],
        },
    ),
    (
        CondenseResult(
            event_id=EventId("e"),
            turn_id=TurnId("t"),
            actual_bytes=9,
            cap_bytes=5,
            reclaimable=2,
            reach=Reach.BY_CONDENSING,
        ),
        {
            "kind": "condense_result",
            "event_id": "e",
            "turn_id": "t",
            "actual_bytes": 9,
            "cap_bytes": 5,
            "reclaimable": 2,
            "reach": "by_condensing",
        },
    ),
    (
        LowerWeight(item_id=ItemId("i"), turns=12, reclaimable=None),
        {"kind": "lower_weight", "item_id": "i", "turns": 12, "reclaimable": None},
    ),
    (
        SummarizeStage(before="plan", now=None),
        {"kind": "summarize_stage", "before": "plan", "now": None},
    ),
    (
        LookForNoise(
            shares=(NoiseShare(kind=None, tokens=5), NoiseShare(kind=ItemKind.MEMORY, tokens=1)),
        ),
        {
            "kind": "look_for_noise",
            "shares": [{"kind": None, "tokens": 5}, {"kind": "memory", "tokens": 1}],
        },
    ),
]


@pytest.mark.parametrize(("advice", "expected"), ADVICE)
def test_every_advice_with_every_key(advice: Advice, expected: dict[str, Any]) -> None:
    assert expected == advice_value(advice)
    assert list(expected) == list(dict(advice_value(advice)))  # type: ignore[arg-type]  # it is an object


def test_shares_are_exact_on_the_wire() -> None:
    report = whole().selection
    value = plain(report)
    written = [Fraction(str(row["share"])) for row in value["shares"]]

    assert [share.share for share in report.shares] == written
