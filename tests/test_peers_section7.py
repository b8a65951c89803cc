"""Eighteen places where the sketch of choosing, taken at its word, repeats bugs of others; each is held.

The table names a test for each case, and is held to name tests that exist. Cases that belong to no single
module are told here.
"""

import ast
import functools
import re
from pathlib import Path
from typing import Final

import attrs
import pytest

from benchmarks.vocabulary import encoding
from jingwei.build import BuildInputs, build
from jingwei.compose.pipeline import ComposeOptions
from jingwei.compose.triggers import CondenseFinished, Observed, Reach, advise
from jingwei.events.records import CustomEvent, EventKind, StageProgress, StageStatus, ToolResultEvent
from jingwei.events.turns import MalformedReason
from jingwei.events.wire import encode_log, session_log
from jingwei.ids import EventId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import UserMessage
from jingwei.projection.failures import Malformed
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.report.failures import CountLimit
from jingwei.report.wire import report_value
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget
from jingwei.selection.search import Search
from jingwei.summaries.wire import summary_value
from jingwei.tokenizers.tiktoken import BpeEstimateCounter
from tests.compose.composing import LOG, composed, observation
from tests.logtable import SESSION, log_of
from tests.selection.weighing import summary

ROOT: Final = Path(__file__).resolve().parent.parent
TARGET: Final = ContextTarget(model="m", template_revision="r")
COUNTER: Final = ByteHeuristicCounter()
HERE: Final = "tests/test_peers_section7.py::"
ITEMS: Final = "tests/items/test_peers_cases.py::"
SELECTION: Final = "tests/selection/test_peers_cases.py::"

CASES: Final[dict[int, tuple[str, tuple[str, ...]]]] = {
    1: (
        "required items beyond the budget overflow in silence",
        (
            SELECTION + "test_case_1_what_is_required_beyond_the_room_is_refused_with_each_cost",
            "tests/compose/test_pipeline.py::TestRefusals"
            "::test_what_is_required_and_does_not_fit_is_listed_with_its_cost",
        ),
    ),
    2: (
        "a tiny item keeps out a large valuable one",
        (SELECTION + "test_case_2_a_tiny_item_does_not_keep_out_a_large_valuable_one",),
    ),
    3: (
        "zero costs and floats make the order matter",
        (
            SELECTION + "test_case_3_values_are_exact_ties_fall_by_id_and_the_order_given_means_nothing",
            SELECTION + "test_case_3_what_costs_nothing_always_fits",
            ITEMS + "TestCase3ExactNumbers::test_nan_is_refused_and_not_sorted",
        ),
    ),
    4: (
        "many low points outrank a tier",
        (SELECTION + "test_case_4_no_number_of_points_outranks_a_tier",),
    ),
    5: (
        "a conversation is sent in the order of its scores",
        (
            SELECTION + "test_case_5_what_is_chosen_stands_in_its_own_order_not_in_that_of_the_scores",
            ITEMS + "TestCase5Order::test_a_conversation_is_not_reordered_by_its_scores",
        ),
    ),
    6: (
        "floors are cliffs, ceilings evict what is required",
        (
            SELECTION + "test_case_6_a_floor_that_cannot_be_used_is_no_cliff",
            SELECTION + "test_case_6_a_ceiling_never_evicts_what_must_stay",
        ),
    ),
    7: (
        "sums of costs are taken for the count",
        (SELECTION + "test_case_7_the_full_count_decides_and_every_attempt_is_reported",),
    ),
    8: (
        "a single long running turn cannot shrink",
        (
            HERE + "test_case_8_a_long_running_turn_shrinks_where_the_host_lets_it",
            "tests/selection/test_exchanges.py"
            "::test_large_ones_are_condensed_oldest_first_then_all_dropped_oldest_first",
        ),
    ),
    9: (
        "an estimate does not say how far it is off",
        (
            HERE + "test_case_9_the_measured_error_is_documented",
            HERE + "test_case_9_a_soft_window_divided_by_the_error_holds_by_a_real_vocabulary",
        ),
    ),
    10: (
        "one recount for each turn that is left out",
        (HERE + "test_case_10_a_thousand_turns_take_a_few_counts",),
    ),
    11: (
        "removing just enough breaks the prefix at every call",
        (
            "tests/selection/test_stable_prefix.py"
            "::test_the_cut_is_held_up_to_the_high_mark_and_moved_to_the_low_one",
        ),
    ),
    12: (
        "equal authority, and losers that vanish",
        (
            ITEMS + "TestCase12Conflicts::test_two_current_instructions",
            ITEMS + "TestCase12Conflicts::test_a_pinned_loser_is_not_removed_in_silence",
        ),
    ),
    13: (
        "the same words of a rule and of a tool are merged the wrong way",
        (ITEMS + "TestCase13Duplicates::test_the_hosts_text_stays_and_both_references_are_listed",),
    ),
    14: (
        "a replacement is larger than what it replaces, or condensed twice",
        (
            HERE + "test_case_14_what_is_not_smaller_stands_in_full",
            "tests/selection/test_condense.py::test_what_is_condensed_is_not_condensed_again",
            "tests/drafts/test_checking.py::test_a_summary_that_does_not_cost_less_is_refused",
        ),
    ),
    15: (
        "a trigger fires for ever",
        (
            HERE + "test_case_15_advice_that_cannot_help_says_so",
            "tests/compose/test_triggers.py::test_where_only_protected_text_is_left_it_says_so",
        ),
    ),
    16: (
        "half a surrogate pair crashes a counter",
        (
            ITEMS + "TestCase16LoneSurrogates::test_an_item_from_a_forgiving_parser",
            "tests/events/test_wire.py::test_half_a_surrogate_pair_is_told_with_its_event",
        ),
    ),
    17: (
        "interim results of long-running tools are duplicates",
        (HERE + "test_case_17_progress_is_recorded_beside_the_one_result",),
    ),
    18: (
        "numbers outlive the versions that they were made by",
        (HERE + "test_case_18_what_made_a_number_stands_beside_it",),
    ),
}
"""By number: what goes wrong, and the tests that hold that it does not."""


@functools.cache
def named_in(file: str) -> frozenset[str]:
    """The names of a file's tests, as pytest writes them."""
    found = set[str]()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
    return frozenset([name for name in found if name.split("::")[-1].startswith("test_")])


def test_all_eighteen_cases_are_held() -> None:
    assert list(range(1, 19)) == sorted(CASES)


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_tests_of_a_case_exist(case: int) -> None:
    _, held_by = CASES[case]

    assert held_by
    for name in held_by:
        file, _, test = name.partition("::")
        assert test in named_in(file), name


def built(whole: Projection, window: int, **changes: object) -> BuildInputs:
    plain = BuildInputs(
        current=(UserMessage(content="go on"),),
        target=TARGET,
        budget=ContextBudget(window_tokens=window, output_reserve=1),
    )
    return attrs.evolve(plain, **changes)  # type: ignore[arg-type]


# --- 8 ----------------------------------------------------------------------------------------------


def test_case_8_a_long_running_turn_shrinks_where_the_host_lets_it() -> None:
    """Its finished exchanges are shortened, then left out, the last one never; without leave nothing is."""
    large = "y" * 6_000
    table = "\n".join(
        ["user", *[f'call c{i} look; result c{i} "{large}"' for i in range(9)], "reply", "done"]
    )
    (turn,) = project(SESSION, log_of(table)).unwrap().turns
    current, empty = turn.messages[:-1], project(SESSION, log_of("")).unwrap()
    refused = build(empty, built(empty, 4_000, current=current), COUNTER).failure()
    made = build(empty, built(empty, 4_000, current=current, reduce_current=True), COUNTER).unwrap()

    assert type(refused).__name__ == "DoesNotFit"
    assert current[-2:] == made.request.messages[-2:]
    assert len(made.report.exchanges or ()) == 9
    assert made.report.attempts[-1].total_reserved <= 4_000


# --- 9 ----------------------------------------------------------------------------------------------


def test_case_9_the_measured_error_is_documented() -> None:
    """With the default counter, and in the paragraph that it belongs to."""
    page = (ROOT / "docs/path.md").read_text(encoding="utf-8").partition("## What a number is worth")[2]
    paragraph = (ROOT / "docs/spec/counting.md").read_text(encoding="utf-8").partition("**C2.**")[2]
    measured = [float(number) for number in re.findall(r"\d\.\d\d", page.partition("\n## ")[0])]

    assert 0.5 < min(measured) < 1 < 3.5 < max(measured)
    assert "path.md#what-a-number-is-worth" in paragraph.partition("**C3.**")[0]


def test_case_9_a_soft_window_divided_by_the_error_holds_by_a_real_vocabulary() -> None:
    """Dense text, an estimate a third of the truth, and the worst factor of the documented table: 3.97."""
    numbers = " ".join(f"{i * 7919 % 9973 / 9973:.12f}" for i in range(120))
    table = "\n".join(f'turn t{i}; user; call c look; result c "{numbers}"; reply; done' for i in range(20))
    whole = project(SESSION, log_of(table)).unwrap()
    real = BpeEstimateCounter(encoding=encoding("cl100k_base"))
    window = 12_000
    naive, careful = (
        build(whole, built(whole, tokens), COUNTER).unwrap().request
        for tokens in (window, window * 100 // 397)
    )

    assert real.count(TARGET, naive).unwrap().tokens.total > window
    assert real.count(TARGET, careful).unwrap().tokens.total <= window
    assert len(careful.messages) > 1


# --- 10 ---------------------------------------------------------------------------------------------


def test_case_10_a_thousand_turns_take_a_few_counts() -> None:
    """One by one, the counts are used up; led by costs, the answer is there after two."""
    table = "\n".join(f'turn t{i}; user "{"w" * 300}"; reply; done' for i in range(1_000))
    whole = project(SESSION, log_of(table)).unwrap()
    given = built(whole, 6_000)
    walked = build(whole, given, COUNTER, search=Search.LINEAR).failure()
    made = build(whole, given, COUNTER).unwrap()

    assert isinstance(walked, CountLimit)
    assert 128 == walked.limit
    assert len(made.report.attempts) <= 3
    kept = [row.retained for row in made.report.turns.rows]
    assert 0 < sum(kept) < 100
    assert sorted(kept) == kept


# --- 14, 15 -----------------------------------------------------------------------------------------


def test_case_14_what_is_not_smaller_stands_in_full() -> None:
    """Facts, summary and references to a text may be longer than the text."""
    short = observation("o", "ERROR boom\n" * 3)
    made = composed(short, options=ComposeOptions(large_bytes=1)).unwrap()
    (row,) = [row for row in made.selection.items if row.item_id == "o"]
    (tried,) = [row for row in made.selection.condensed if row.item_id == "o"]

    assert (True, None) == (row.retained, row.reduction)
    assert (tried.method, tried.refused) == (None, "NotSmaller")
    rows = composed(observation("log", LOG)).unwrap().selection.items
    (large,) = [one for one in rows if one.item_id == "log"]
    assert (large.cost or 0) < (large.full_cost or 0)


def test_case_15_advice_that_cannot_help_says_so() -> None:
    """All of the history is pinned: there is nothing to free, and asking again changes nothing."""
    table = f'turn t; user; call c look; result c "{"y" * 9_000}"; reply; done'
    whole = project(SESSION, log_of(table)).unwrap()
    report = build(whole, built(whole, 9_000, pinned_turns=(TurnId("t"),)), COUNTER).unwrap().report
    observed = Observed(expected_tokens=8_000)
    once, again = (advise(whole, report, COUNTER, observed).unwrap() for _ in range(2))

    assert once == again
    assert [(Reach.NOT_REACHABLE, 0)] == [
        (one.reach, one.by_leaving_out) for one in once if isinstance(one, CondenseFinished)
    ]
    assert 1 == len(once)


# --- 17, 18 -----------------------------------------------------------------------------------------


def test_case_17_progress_is_recorded_beside_the_one_result() -> None:
    """A second result is refused; what a tool says on its way is a process record, which no history shows."""
    twice = log_of("user; call c run; result c; result c; reply; done")
    plain = log_of('user; call c run; result c "40 of 40"; reply; done')
    progress: tuple[EventKind, ...] = (
        StageProgress(stage="run", status=StageStatus.STARTED, message="12 of 40"),
        CustomEvent(plugin="host", kind="progress", payload=Json('{"done":31}')),
    )
    events = list(plain.events)
    (place,) = [i for i, event in enumerate(events) if isinstance(event.kind, ToolResultEvent)]
    between = [
        attrs.evolve(events[place], event_id=EventId(f"p{i}"), kind=kind) for i, kind in enumerate(progress)
    ]
    told = [
        attrs.evolve(event, seq=seq) for seq, event in enumerate([*events[:place], *between, *events[place:]])
    ]
    failure = project(SESSION, twice).failure()
    shown, alone = project(SESSION, session_log(told)).unwrap(), project(SESSION, plain).unwrap()

    assert isinstance(failure, Malformed)
    assert MalformedReason.SECOND_TOOL_RESULT is failure.reason
    assert b"31" in encode_log(told).unwrap()
    assert [turn.messages[-1] for turn in alone.turns] == [turn.messages[-1] for turn in shown.turns]
    assert sum(turn.message_count for turn in alone.turns) == sum(turn.message_count for turn in shown.turns)
    assert {"p0", "p1"} <= {omitted.event_id for omitted in shown.omitted}


def test_case_18_what_made_a_number_stands_beside_it() -> None:
    """Versions of build, projection and selection; the counter's and the condenser's in their names."""
    made = composed(observation("log", LOG)).unwrap()
    report = report_value(made.built.report)
    assert isinstance(report, dict)

    assert (1, 1) == (report["algorithm_version"], report["projection_version"])
    assert 1 == made.selection.algorithm_version
    versioned = re.compile(r".*-v\d+")
    assert versioned.fullmatch(made.selection.method)
    assert {made.selection.method} == {attempt.count.method for attempt in made.built.report.attempts}
    assert all(versioned.fullmatch(row.method or "") for row in made.selection.condensed)
    told = summary_value(summary("s", 0))
    assert isinstance(told, dict)
    assert (1, 1) == (told["format_version"], told["version"])
