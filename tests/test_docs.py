"""The documentation agrees with the code: generated pages, paragraph numbers, links, advice, examples."""

import enum
import re
import runpy
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

import attrs
import pytest

from docs import generate
from jingwei.action.failures import (
    EvidencePart,
    InterpretFailure,
    InvalidStepReason,
    RecordStage,
    SchemaReason,
)
from jingwei.cli.app import run
from jingwei.cli.exits import Exit
from jingwei.codec import DecodeReason
from jingwei.compose.pipeline import ComposeFailure
from jingwei.compose.triggers import InvalidTriggerReason
from jingwei.condensers.failures import CondenseFailure, InvalidCondensationReason
from jingwei.events.failures import WriteFailure, WriteReason
from jingwei.events.records import SessionLog
from jingwei.events.turns import REFUSED, MalformedReason
from jingwei.events.wire import decode_log, encode_log, session_log
from jingwei.ids import SessionId
from jingwei.items.budget import TokenBudgetReason
from jingwei.items.failures import InvalidItemReason
from jingwei.items.worth import WeightReason
from jingwei.limits import Bound
from jingwei.messages.failures import ShapeFailure
from jingwei.ports import (
    BadCursorReason,
    ConflictReason,
    InvalidScopeReason,
    InvalidSourceReason,
    InvalidStoreConfigReason,
    StorageReason,
    StoreFailure,
    StoreFullOf,
    UnavailableReason,
)
from jingwei.projection.failures import AdmissionReason, InvalidConfigReason, ProjectionFailure
from jingwei.providers.openai_chat.failures import ImportFailure, SoftFailure
from jingwei.report.cache import PrefixChange
from jingwei.report.failures import BuildFailure, InvalidInputReason, OverflowWhat, UnverifiedReason
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget
from jingwei.request.remembering import RememberingCounter
from jingwei.request.tool_views import ToolViewFailure
from jingwei.results.failures import (
    ContradictionReason,
    InvalidResultReason,
    RecordedViewFailure,
    ResultPolicyProblem,
)
from jingwei.selection.by_value import TurnWorthReason
from jingwei.selection.choose import OptionReason, QuotaReason
from jingwei.selection.condense_then_drop import PolicyProblem
from jingwei.selection.records import InvalidPlanReason
from jingwei.selection.select import SelectFailure
from jingwei.selection.stable_prefix import stable_prefix
from jingwei.simulate import SimulatedCall, SimulationInputs, simulate, summaries
from jingwei.stores.read_tool import ReadReason
from jingwei.summaries.failures import (
    NotCountedReason,
    SourcesReason,
    SummaryFailure,
    SummaryPlanReason,
    SummaryReason,
    SummarySetReason,
)

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = ROOT / "docs"
PAGES: Final = sorted([*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))])
PARAGRAPH: Final = re.compile(r"^\*\*([A-Z]\d+[a-z]?)\.\*\* ", re.MULTILINE)
LINK: Final = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")
MENTION: Final = re.compile(r"(?<![A-Za-z0-9+_`/.-])([WLPMCBR]\d{1,2})(?![A-Za-z0-9])")

BUILT: Final = (
    [f"W{n}" for n in range(1, 9)]
    + [f"L{n}" for n in range(1, 5)]
    + [f"P{n}" for n in range(1, 15)]
    + ["M1", "M2", "M3"]
    + ["C1", "C2", "C3", "C6"]
    + [f"B{n}" for n in range(1, 12)]
    + ["R1", "R2", "R3", "R4", "R5", "R6"]
    + ["S0", "S2", "S4a"]
    + ["S1", "S3", "S4", "S5", "S9"]
    + ["S6", "S7", "S8"]
    + ["T1", "T3", "T7"]
    + ["T2"]
    + ["T6"]
    + ["T4", "T5"]
)
"""The rules that are built, in the order of the pages."""

LATER: Final = {"C4", "C5"}
"""The rules that a page names as not built yet."""


def spec() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "spec").glob("*.md")))


def test_generated_pages_are_not_stale() -> None:
    """After `make docs` this holds."""
    for name, text in generate.pages().items():
        assert text == (DOCS / name).read_text(encoding="utf-8"), f"docs/{name} is stale: run `make docs`"


def test_every_built_rule_has_one_paragraph() -> None:
    numbers = Counter(PARAGRAPH.findall(spec()))

    assert dict.fromkeys(BUILT, 1) == dict(numbers)


def test_paragraphs_stand_in_the_order_of_their_numbers() -> None:
    for page in (DOCS / "spec").glob("*.md"):
        numbers = PARAGRAPH.findall(page.read_text(encoding="utf-8"))

        assert sorted(numbers, key=lambda n: (int(n[1:].rstrip("abc")), n)) == numbers, page.name


def test_what_is_not_built_is_named_and_has_no_paragraph() -> None:
    unbuilt = "\n".join(
        page.partition("## Not built yet")[2] for page in re.split(r"^# ", spec(), flags=re.M)
    )

    assert LATER == set(re.findall(r"\b([WLPMCBR]\d+)\b", unbuilt)) - set(BUILT)


def test_every_rule_that_the_code_names_is_in_the_spec() -> None:
    known = set(BUILT) | LATER | {"P0"}  # which is no rule but a tier of context items
    for path in sorted((ROOT / "jingwei").rglob("*.py")):
        named = set(MENTION.findall(path.read_text(encoding="utf-8")))

        assert set() == named - known, path.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page

        assert found.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors_of(found), f"{page.name}: {target}"


def test_every_page_can_be_reached_from_the_index() -> None:
    seen, todo = set[Path](), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        seen.add(page)
        linked = [(page.parent / t.partition("#")[0]).resolve() for t in LINK.findall(prose_of(page))]
        todo += [path for path in linked if path.suffix == ".md" and path.exists() and path not in seen]

    assert set() == set(DOCS.rglob("*.md")) - seen


def test_every_failure_has_advice_and_every_field_a_word() -> None:
    listed = [cls for _, _, members in generate.SECTIONS for cls in members]

    assert set(listed) == set(generate.ADVICE) | set(get_args(SoftFailure))
    unions = (
        ProjectionFailure,
        WriteFailure,
        BuildFailure,
        ShapeFailure,
        ImportFailure,
        ToolViewFailure,
        StoreFailure,
        CondenseFailure,
        SelectFailure,
        ComposeFailure,
        RecordedViewFailure,
        InterpretFailure,
        SummaryFailure,
    )
    for union in unions:
        assert set() == set(get_args(union)) - set(listed)
    assert [] == [
        line for line in generate.failures_page().splitlines() if re.fullmatch(r"- `\w+`:?\s*", line)
    ]


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        (DecodeReason, generate.DECODE_REASONS),
        (MalformedReason, generate.MALFORMED_REASONS),
        (WriteReason, generate.WRITE_REASONS),
        (InvalidConfigReason, generate.CONFIG_REASONS),
        (AdmissionReason, generate.ADMISSION_REASONS),
        (InvalidInputReason, generate.INPUT_REASONS),
        (UnverifiedReason, generate.UNVERIFIED_REASONS),
        (OverflowWhat, generate.OVERFLOW_WHATS),
        (InvalidPlanReason, generate.PLAN_REASONS),
        (InvalidCondensationReason, generate.CONDENSATION_REASONS),
        (PolicyProblem, generate.POLICY_PROBLEMS),
        (InvalidTriggerReason, generate.TRIGGER_REASONS),
        (InvalidItemReason, generate.ITEM_REASONS),
        (TokenBudgetReason, generate.TOKEN_BUDGET_REASONS),
        (WeightReason, generate.WEIGHT_REASONS),
        (QuotaReason, generate.QUOTA_REASONS),
        (OptionReason, generate.OPTION_REASONS),
        (TurnWorthReason, generate.TURN_WORTH_REASONS),
        (Bound, generate.BOUNDS),
        (SourcesReason, generate.SOURCES_REASONS),
        (SummaryPlanReason, generate.SUMMARY_PLAN_REASONS),
        (NotCountedReason, generate.NOT_COUNTED_REASONS),
        (SummarySetReason, generate.SUMMARY_SET_REASONS),
        (SummaryReason, generate.SUMMARY_REASONS),
        (InvalidStoreConfigReason, generate.STORE_CONFIG_REASONS),
        (InvalidScopeReason, generate.SCOPE_REASONS),
        (InvalidSourceReason, generate.SOURCE_REASONS),
        (StoreFullOf, generate.STORE_FULL_WHATS),
        (ConflictReason, generate.CONFLICT_REASONS),
        (UnavailableReason, generate.UNAVAILABLE_REASONS),
        (BadCursorReason, generate.CURSOR_REASONS),
        (StorageReason, generate.STORAGE_REASONS),
        (ReadReason, generate.READ_REASONS),
        (ResultPolicyProblem, generate.RESULT_POLICY_PROBLEMS),
        (InvalidStepReason, generate.STEP_REASONS),
        (SchemaReason, generate.SCHEMA_REASONS),
        (EvidencePart, generate.EVIDENCE_PARTS),
        (RecordStage, generate.RECORD_STAGES),
        (InvalidResultReason, generate.RESULT_REASONS),
        (ContradictionReason, generate.CONTRADICTION_REASONS),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_every_reason_is_told(reasons: type[enum.Enum], told: dict[enum.Enum, tuple[str, str]]) -> None:
    assert list(reasons) == list(told)


def test_every_failure_with_an_enum_lists_its_reasons() -> None:
    for _, _, members in generate.SECTIONS:
        for cls in members:
            enums = [
                part
                for f in attrs.fields(cls)  # type: ignore[arg-type]  # every failure is an attrs class
                for part in (f.type, *get_args(f.type))
                if isinstance(part, type) and issubclass(part, enum.Enum)
            ]

            assert bool(enums) is (cls in generate.REASONS), cls.__name__


def test_the_exit_codes_in_the_docs_are_those_of_the_command_line() -> None:
    listed = re.findall(r"^\| (\d+) \|", (DOCS / "cli.md").read_text(encoding="utf-8"), flags=re.M)

    assert [str(int(code)) for code in Exit] == listed


def test_every_reason_why_a_prefix_broke_is_told_in_its_paragraph() -> None:
    paragraph = (
        (DOCS / "spec" / "build.md").read_text(encoding="utf-8").split("**B9.**")[1].split("**B10.**")[0]
    )

    assert [] == [change.value for change in PrefixChange if f"`{change.value}`" not in paragraph]


def test_the_states_page_tells_every_reason_once() -> None:
    """In the matrix, as a guard, of a whole run, or as the blank id; `orphan_*` are guards as well."""
    in_matrix = {refusal.reason for refusal in REFUSED.values()}
    guards = [reason for rows in generate.GUARDS.values() for reason, _ in rows]
    elsewhere = {
        MalformedReason.BLANK_EVENT_ID,
        MalformedReason.BLANK_TURN_ID,
        MalformedReason.TURN_NOT_CONTIGUOUS,
    }

    assert len(set(guards)) == len(guards)
    assert set(MalformedReason) == in_matrix | set(guards) | elsewhere
    assert {MalformedReason.ORPHAN_TOOL_RESULT, MalformedReason.ORPHAN_MODEL_RESULT} == in_matrix & set(
        guards
    )


def test_the_example_session_is_what_its_script_writes() -> None:
    script = runpy.run_path(str(DOCS / "examples" / "make_session.py"))
    data = (ROOT / "jingwei" / "demo" / "session.jsonl").read_bytes()

    assert encode_log(script["events"]()).unwrap() == data
    assert encode_log(decode_log(data).unwrap().events).unwrap() == data


def test_the_example_host_builds_a_request(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(DOCS / "examples" / "embed.py"), run_name="__main__")

    said = capsys.readouterr().out
    assert "kept 14 of 17 turns: turn_03, turn_05" in said
    assert "5587 of 6000 tokens" in said


@pytest.mark.parametrize(
    ("expected", "log", "window_tokens"),
    [
        ("cut the log to 0 bytes", b"{", 6000),
        ("line 1 at None: blank_line", b"\n", 6000),
        ("what must stay needs", None, 1300),
    ],
)
def test_the_example_host_says_what_is_wrong(expected: str, log: bytes | None, window_tokens: int) -> None:
    host = runpy.run_path(str(DOCS / "examples" / "embed.py"))
    data = (ROOT / "jingwei" / "demo" / "session.jsonl").read_bytes() if log is None else log

    refused = host["prepare"](data, "还有什么没做完？", window_tokens=window_tokens)

    assert expected in refused.text


# --- the page on long sessions ----------------------------------------------------------------------

LONG_SESSIONS: Final = (DOCS / "long-sessions.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def week() -> SessionLog:
    script = runpy.run_path(str(DOCS / "examples" / "long_session.py"))
    return session_log(script["week"]())


def test_the_table_of_the_page_is_what_its_command_prints(
    week: SessionLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """All but the plot, whose bytes are a matter of the version of matplotlib."""
    written, command = LONG_SESSIONS.split("```sh\n")[1].splitlines()[:2]
    path = tmp_path / written.split()[-1]
    path.write_bytes(encode_log(week.events).unwrap())
    arguments = [str(path) if word == path.name else word for word in shlex.split(command)]
    plot = arguments.index("--plot")
    monkeypatch.setattr(sys, "argv", arguments[:plot] + arguments[plot + 2 :])
    monkeypatch.setenv("COLUMNS", "100")

    assert Exit.OK == run()
    printed = capfdbinary.readouterr().out.decode().splitlines()
    shown = LONG_SESSIONS.split("```text\n")[1].partition("```")[0].splitlines()
    assert [line.rstrip() for line in printed] == shown
    assert (DOCS / arguments[plot + 1]).exists()


def test_the_other_marks_of_the_page_give_its_numbers(week: SessionLog) -> None:
    shown = re.findall(r"^\| ([\d,]+) \| ([\d,]+) \| .*$", LONG_SESSIONS, flags=re.M)
    counter = RememberingCounter(ByteHeuristicCounter())
    inputs = SimulationInputs(
        target=ContextTarget(model="m", template_revision="r"),
        budget=ContextBudget(window_tokens=24_000, output_reserve=1024),
    )
    marks = [(int(high.replace(",", "")), int(low.replace(",", ""))) for high, low in shown]
    strategies = [stable_prefix(high=high, low=low, costs=counter).unwrap() for high, low in marks]
    calls = simulate(SessionId("week"), week, inputs, counter, strategies)
    rows = summaries(call for call in calls if isinstance(call, SimulatedCall))

    assert 5 == len(marks)
    for (high, low), row in zip(marks, rows, strict=True):
        told = (
            f"| {high:,} | {low:,} | {row.breaks} | {float(row.hit_share):.1%} "
            f"| {round(row.mean_request):,} | {round(row.cost):,} |"
        )
        assert told in LONG_SESSIONS


# --- the page on choosing ---------------------------------------------------------------------------


def test_the_table_of_verdicts_is_that_of_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Row by row; the other numbers of the page stand in code that runs."""
    page = (DOCS / "selection.md").read_text(encoding="utf-8")
    runpy.run_path(str(DOCS / "examples" / "choosing.py"), run_name="__main__")
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]

    assert printed == re.findall(r"^\| P\d \| `.*$", page, flags=re.M)
    assert 11 == len(printed)


def prose_of(page: Path) -> str:
    """A page without its code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "code", text)


def anchors_of(page: Path) -> Iterator[str]:
    """The anchors of a page's headings, as hosts of Markdown make them."""
    for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
