"""`jingwei simulate`, `build --strategy` and its marks, `--previous`: output, messages, exit codes."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from jingwei.cli.exits import Exit
from jingwei.cli.strategies import decimal_of
from jingwei.events.wire import encode_log
from tests.commands import Ended, Run
from tests.logtable import events_of

TURN = 'user "{0}"; ask k; answer k; call a; result a "{1}"; ask l; answer l; reply "{0}"; done;'


def saved(path: Path, table: str) -> Path:
    path.write_bytes(encode_log(events_of(table)).unwrap())
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Twelve turns with two model calls each, and a large result in each."""
    turns = [f"turn t{n};" + TURN.format(f"question {n}", f"{n}" + "x" * 400) for n in range(12)]
    return saved(tmp_path / "log.jsonl", "".join(turns))


SMALL = ("--window", "1200", "--reserve", "100")


def test_the_table_has_a_row_a_strategy(jingwei: Run, log: Path) -> None:
    ended = jingwei("simulate", log, *SMALL)
    told = ended.out.decode()

    assert (Exit.OK, "") == (ended.code, ended.err)
    assert "24 calls of the model; a token costs 0.1 when read, 1.25 when written" in told
    assert "oldest_turn_first" in told
    assert "stable_prefix" in told
    assert "condense_then_drop" not in told


def test_strategies_prices_and_marks_are_those_of_the_options(jingwei: Run, log: Path) -> None:
    chosen = ("--strategy", "stable_prefix", "--strategy", "condense_then_drop", "--high-mark", "700")
    prices = ("--read-price", "0.5", "--write-price", "1")
    ended = jingwei("simulate", log, *SMALL, *chosen, "--low-mark", "0.5", *prices, "--json")
    found = json.loads(ended.out)
    stable = found["strategies"][0]

    assert {"read": [1, 2], "write": [1, 1]} == found["prices"]
    assert ["stable_prefix", "condense_then_drop"] == [row["strategy"] for row in found["strategies"]]
    assert stable["tokens"] - stable["served"] / 2 == stable["cost"]
    assert stable["served"] / stable["tokens"] == stable["hit_share"]
    assert 48 == len(found["calls"])
    assert stable["breaks"] == sum(
        call["reason"] == "cut_moved" for call in found["calls"] if call["strategy"] == "stable_prefix"
    )


def test_a_strategy_given_twice_is_simulated_once(jingwei: Run, log: Path) -> None:
    twice = ("--strategy", "oldest_turn_first") * 2

    assert 1 == len(json.loads(jingwei("simulate", log, *twice, "--json").out)["strategies"])


def test_calls_that_could_not_be_built_are_told(jingwei: Run, log: Path) -> None:
    ended = jingwei("simulate", log, "--window", "250", "--reserve", "100", "--high-mark", "100", "--json")
    found = json.loads(ended.out)

    assert Exit.OK == ended.code
    assert {12} == {row["refused"] for row in found["strategies"]}
    assert ["DoesNotFit", None] == sorted({c["refused"] for c in found["calls"]}, key=str)
    assert "24 requests of 48 could not be built; the first, at seq 5: what must stay takes" in ended.err


def test_where_no_call_can_be_built_the_command_ends_with_the_failure(jingwei: Run, log: Path) -> None:
    ended = jingwei("simulate", log, "--window", "50", "--reserve", "40", "--high-mark", "9")

    assert Exit.BUDGET == ended.code
    assert "DoesNotFit" == json.loads(ended.out)["failure"]["kind"]


def test_running_turns_are_shortened_where_that_is_asked_for(jingwei: Run, tmp_path: Path) -> None:
    steps = "".join(f'call {c}; result {c} "{c * 200}";' for c in "abcdefgh")
    long = saved(tmp_path / "long.jsonl", f"user; {steps} ask k")
    options = ("--window", "500", "--reserve", "1", "--high-mark", "100")

    assert Exit.BUDGET == jingwei("simulate", long, *options).code
    assert Exit.OK == jingwei("simulate", long, *options, "--reduce-current").code


@pytest.mark.parametrize(
    ("code", "table", "told"),
    [
        (Exit.INPUT, "user; reply; done", "no model_request event"),
        (Exit.LOG, "reply; ask k", "cannot stand there: work_before_user"),
        (Exit.LOG, "user; ask k; answer k; done", "no complete reply"),
        (Exit.USAGE, "", "the log is empty"),
    ],
)
def test_a_log_that_cannot_be_simulated(
    jingwei: Run, tmp_path: Path, code: Exit, table: str, told: str
) -> None:
    ended = jingwei("simulate", saved(tmp_path / "log.jsonl", table))

    assert code == ended.code
    assert told in ended.err


def test_old_and_damaged_logs_are_simulated_where_the_host_says_so(jingwei: Run, tmp_path: Path) -> None:
    old = saved(tmp_path / "old.jsonl", "user; ask k; answer k; done")
    damaged = saved(tmp_path / "damaged.jsonl", "user; reply; call a; done; turn two; user; ask k")

    assert Exit.OK == jingwei("simulate", old, "--legacy-replies", "omit").code
    assert Exit.OK == jingwei("simulate", damaged, "--damaged-turns", "quarantine").code


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--read-price", "a lot"), "--read-price: expected a number of at least 0, met 'a lot'"),
        (("--write-price", "-1"), "--write-price: expected a number of at least 0, met '-1'"),
        (("--write-price", "1e999999999"), "--write-price: expected a number"),
        (("--read-price", "0"), "prices: expected 0 < read <= write, met 0 and 1.25"),
        (("--read-price", "2"), "prices: expected 0 < read <= write, met 2 and 1.25"),
        (("--low-mark", "half"), "--low-mark: expected a share of the high mark, or tokens, met 'half'"),
        (("--low-mark", "1.5"), "--low-mark: expected a share of at most 1, or whole tokens, met 1.5"),
        (("--low-mark", "0"), "expected 0 < low <= high < 2^64, met high 825 and low 0"),
        (("--low-mark", "901", "--high-mark", "900"), "met high 900 and low 901"),
        (("--margin", "1099"), "three quarters of the 1 that window less reserve and margin leave"),
        (("--strategy", "oldest_turn_first", "--high-mark", "9"), "and no strategy takes them"),
        (("--plot", "plot.txt"), "--plot plot.txt: expected another ending"),
    ],
)
def test_options_that_say_nothing_are_refused_before_the_work(
    jingwei: Run, log: Path, arguments: tuple[str, ...], told: str
) -> None:
    ended = jingwei("simulate", log, *SMALL, *arguments)

    assert (Exit.USAGE, b"") == (ended.code, ended.out)
    assert told in ended.err


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (Fraction(7, 10), "0.7"),
        (Fraction(12), "12"),
        (Fraction(5, 4), "1.250"),
        (None, ""),
        (None, "1/2"),
        (None, ".5"),
        (None, "٣"),
        (None, "9" * 21),
        (None, "1\n"),
    ],
)
def test_numbers_are_decimals_and_exact(expected: Fraction | None, text: str) -> None:
    assert expected == decimal_of(text)


# --- the plot -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_plot_is_a_file_and_the_same_every_time(
    jingwei: Run, log: Path, tmp_path: Path, ending: str
) -> None:
    pytest.importorskip("matplotlib")
    paths = [tmp_path / f"{name}.{ending}" for name in ("first", "second")]
    ends = [jingwei("simulate", log, *SMALL, "--plot", path) for path in paths]
    first, second = (path.read_bytes() for path in paths)

    assert [Exit.OK, Exit.OK] == [ended.code for ended in ends]
    assert first == second
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending])


def test_a_session_of_any_name_has_a_plot(jingwei: Run, tmp_path: Path) -> None:
    """Neither a formula nor letters that no font has stand in its title."""
    pytest.importorskip("matplotlib")
    path = tmp_path / "log.jsonl"
    path.write_bytes(encode_log(events_of("user; ask k", session="$\\会\x1b$")).unwrap())
    ended = jingwei("simulate", path, "--plot", tmp_path / "plot.svg")

    assert (Exit.OK, "") == (ended.code, ended.err)
    assert (tmp_path / "plot.svg").read_bytes().startswith(b"<?xml")


def test_a_plot_that_cannot_be_written_is_one_sentence(jingwei: Run, log: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    ended = jingwei("simulate", log, *SMALL, "--plot", tmp_path / "no" / "plot.png")

    assert Exit.FILE == ended.code
    assert "plot.png: No such file or directory" in ended.err


def test_a_missing_matplotlib_is_named(jingwei: Run, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jingwei.cli.plot.find_spec", lambda _: None)
    ended = jingwei("simulate", log, "--plot", "plot.png")

    assert (Exit.USAGE, b"") == (ended.code, ended.out)
    assert "jingwei[plot]" in ended.err


def test_the_command_line_does_not_load_matplotlib() -> None:
    code = "import jingwei.cli.app, sys; sys.exit('matplotlib' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


# --- progress -------------------------------------------------------------------------------------


def test_a_bar_is_shown_on_a_terminal_and_nowhere_else(log: Path) -> None:
    command = [sys.executable, "-m", "jingwei", "simulate", str(log), *SMALL]
    termios = pytest.importorskip("termios")
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    on_terminal = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=False)
    os.set_blocking(ours, False)
    shown = os.read(ours, 10_000)
    os.close(theirs)
    os.close(ours)
    piped = subprocess.run(command, capture_output=True, check=False)

    assert b"request" in shown
    assert b"" == piped.stderr
    assert piped.stdout == on_terminal.stdout


# --- build with marks, and against the previous report --------------------------------------------


def built(ended: Ended) -> dict[str, object]:
    assert Exit.OK == ended.code, ended.err
    found: dict[str, object] = json.loads(ended.out)["report"]
    return found


def test_a_build_takes_strategy_and_marks(jingwei: Run, log: Path) -> None:
    options = ("--current", "go on", "--window", "4000", "--strategy", "stable_prefix")
    by_share = built(jingwei("build", log, *options, "--high-mark", "1000", "--low-mark", "0.5"))
    by_tokens = built(jingwei("build", log, *options, "--high-mark", "1000", "--low-mark", "500"))
    by_window = built(jingwei("build", log, *options))

    assert by_share == by_tokens
    assert {"high": 1000, "low": 500} == {k: v for k, v in _object(by_share["marks"]).items() if k in LIMITS}
    assert {"high": 2232, "low": 1562} == {
        k: v for k, v in _object(by_window["marks"]).items() if k in LIMITS
    }


LIMITS = ("high", "low")


def _object(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return value


def test_a_build_says_how_it_continues_the_previous_one(jingwei: Run, log: Path, tmp_path: Path) -> None:
    """Given a report, or what `build` printed, also where it failed."""
    options = ("build", log, "--window", "4000", "--system", "rules", "--current")
    first, refused = jingwei(*options, "go on"), jingwei("build", log, "--current", "x" * 9000)
    output, report, failure = (tmp_path / name for name in ("built.json", "report.json", "failure.json"))
    output.write_bytes(first.out)
    report.write_text(json.dumps(built(first)))
    failure.write_bytes(refused.out)

    plans = [
        _object(built(jingwei(*options, "go on now", "--previous", path))["cache"])
        for path in (output, report, failure)
    ]

    assert built(first)["cache"] is None
    assert plans[0] == plans[1]
    assert ("current", 0) == (plans[0]["reason"], plans[0]["rewritten_tokens"])
    assert "system" == plans[2]["reason"]


def test_a_previous_report_that_is_none_is_refused(jingwei: Run, log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    ended = jingwei("build", log, "--current", "x", "--previous", other)

    assert Exit.DECODE == ended.code
    assert "is this a report" in ended.err
    assert Exit.FILE == jingwei("build", log, "--current", "x", "--previous", tmp_path / "no.json").code


def test_a_build_in_mid_turn_may_shorten_it(jingwei: Run, tmp_path: Path) -> None:
    """The turn at the log's end may have run on: its finished exchanges are current too."""
    steps = "".join(f'call {c}; result {c} "{c * 900}";' for c in "abcdefgh")
    long = saved(tmp_path / "long.jsonl", f"user; reply; done; turn two; user; {steps} ask k")
    options = ("build", long, "--current-from-open", "--window", "2600", "--reserve", "600")
    ended = jingwei(*options, "--reduce-current")
    report = built(ended)
    shown = tmp_path / "built.json"
    shown.write_bytes(ended.out)
    rows = report["exchanges"]

    assert Exit.BUDGET == jingwei(*options).code
    assert isinstance(rows, list)
    assert "dropped" == rows[0]["reduction"]
    assert 1 == len(json.loads(ended.out)["report"]["turns"])
    told = jingwei("explain", shown).out.decode()
    assert "8 exchanges of the running turn" in told


def test_a_log_that_is_broken_elsewhere_has_no_running_turn(jingwei: Run, tmp_path: Path) -> None:
    broken = saved(tmp_path / "broken.jsonl", "user; call a; turn two; user")
    ended = jingwei("build", broken, "--current-from-open")

    assert Exit.LOG == ended.code
    assert "turn 'one' holds unconfirmed work" in ended.err


def test_explain_shows_marks_and_what_a_cache_feels(jingwei: Run, log: Path, tmp_path: Path) -> None:
    marked = ("--strategy", "stable_prefix", "--high-mark", "1000")
    options = ("build", log, "--current", "go on", "--system", "rules", "--window", "4000")
    first, last = tmp_path / "first.json", tmp_path / "last.json"
    first.write_bytes(jingwei(*options, *marked).out)
    last.write_bytes(jingwei(*options, "--previous", first).out)
    told = {path: " ".join(jingwei("explain", path).out.decode().split()) for path in (first, last)}

    assert "marks 1,000 and 700: kept from turn 't" in told[first]
    assert "the cut has moved " in told[first]
    assert "cache" not in told[first]
    assert "cache: 1 message in common with the previous request" in told[last]
    assert "message 1 differs: strategy" in told[last]
    assert "is not sent any more" not in told[last]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"strategy": {"kind": "stable_prefix", "high": 0}}, "/strategy"),
        ({"strategy": "newest"}, "/strategy"),
        ({"counter": {"kind": "exact"}}, "/counter/kind"),
        (None, "its root"),
    ],
)
def test_a_spec_that_says_nothing_names_the_place(
    jingwei: Run, log: Path, tmp_path: Path, change: dict[str, object] | None, place: str
) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(None if change is None else {**SPEC, **change}))
    ended = jingwei("build", log, "--spec", spec)

    assert Exit.INPUT == ended.code
    assert f"the spec at {place}: " in ended.err


def test_a_spec_names_strategy_and_previous_report(jingwei: Run, log: Path, tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    previous = built(jingwei("build", log, "--current", "go on", "--window", "4000"))
    marked = {"strategy": {"kind": "stable_prefix", "high": 1000}, "previous": previous}
    spec.write_text(json.dumps({**SPEC, **marked}))
    report = built(jingwei("build", log, "--spec", spec))

    assert 700 == _object(report["marks"])["low"]
    assert "target" == _object(report["cache"])["reason"]


def test_marks_beside_a_spec_are_refused(jingwei: Run, log: Path, tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC))

    for option in (("--high-mark", "9"), ("--strategy", "stable_prefix"), ("--reduce-current",)):
        ended = jingwei("build", log, "--spec", spec, *option)
        assert Exit.USAGE == ended.code
        assert "stands in the spec" in ended.err


def test_a_build_needs_marks_that_a_strategy_takes(jingwei: Run, log: Path) -> None:
    ended = jingwei("build", log, "--current", "x", "--low-mark", "0.5")

    assert (Exit.USAGE, b"") == (ended.code, ended.out)
    assert "no strategy takes them" in ended.err


SPEC: dict[str, object] = {
    "current": [{"role": "user", "content": "go on"}],
    "target": {"model": "m", "template_revision": "t"},
    "budget": {
        "window_tokens": 4000,
        "output_reserve": 64,
        "output_evidence": "estimate",
        "safety_margin": 0,
        "mode": "soft",
    },
}
