"""`jingwei recover`: what it prints, what it writes, and what it leaves alone."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jingwei.cli import recover
from jingwei.cli.exits import Exit
from jingwei.events.wire import decode_log, encode_log
from jingwei.events.writer import NumberedIds
from jingwei.projection.project import project
from tests.commands import Run
from tests.logtable import SESSION, log_of

CUT = "user; reply; done; turn two; user; call a; ask k"
WHOLE = "user; reply; done"
DAMAGED = "user; call a; reply"


@pytest.fixture
def jingwei(jingwei: Run) -> Run:
    """Runs `jingwei recover` in this process."""
    return functools.partial(jingwei, "recover")


def lines_of(table: str) -> bytes:
    return encode_log(log_of(table).events).unwrap()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines_of(CUT))
    return path


def test_the_events_to_append_are_printed_and_nothing_is_written(jingwei: Run, log: Path) -> None:
    ended = jingwei(log)
    whole = decode_log(lines_of(CUT) + ended.out).unwrap()

    assert (Exit.OK, lines_of(CUT)) == (ended.code, log.read_bytes())
    assert 4 == ended.out.count(b"\n")
    assert project(SESSION, whole).value_or(None) is not None
    assert "jingwei: turn 'two' closed as cancelled with 4 events: " in ended.err
    assert ended.err.endswith(" 1 tool call and 1 model request had no result\n")


def test_out_writes_the_whole_log(jingwei: Run, log: Path, tmp_path: Path) -> None:
    printed, ended = jingwei(log).out, jingwei(log, "--out", tmp_path / "new.jsonl")

    assert lines_of(CUT) == log.read_bytes()
    assert lines_of(CUT) + printed == (tmp_path / "new.jsonl").read_bytes()
    assert {
        "session_id": "session",
        "turn_id": "two",
        "events": 4,
        "tool_calls": ["a"],
        "model_calls": ["k"],
        "dropped_bytes": 0,
    } == json.loads(ended.out)


def test_append_does_it_once(jingwei: Run, log: Path) -> None:
    printed, first = jingwei(log).out, jingwei(log, "--append")
    after = log.read_bytes()
    second = jingwei(log, "--append")

    assert lines_of(CUT) + printed == after == log.read_bytes()
    assert [(0, 4), (0, 0)] == [(e.code, json.loads(e.out)["events"]) for e in (first, second)]
    assert "jingwei: nothing to close\n" == second.err


@pytest.mark.parametrize("table", ["", WHOLE, "user"])
def test_nothing_to_close_prints_nothing(jingwei: Run, log: Path, tmp_path: Path, table: str) -> None:
    log.write_bytes(lines_of(table))
    printed, out = jingwei(log), jingwei(log, "--out", tmp_path / "new.jsonl")

    assert (Exit.OK, b"", "jingwei: nothing to close\n") == (printed.code, printed.out, printed.err)
    assert log.read_bytes() == (tmp_path / "new.jsonl").read_bytes()
    assert json.loads(out.out)["turn_id"] is None


def test_a_torn_line_is_dropped_only_when_asked(jingwei: Run, log: Path) -> None:
    torn = lines_of(CUT) + b'{"event_id":"ev'
    log.write_bytes(torn)
    refused = jingwei(log, "--append")

    assert (Exit.DECODE, torn) == (refused.code, log.read_bytes())
    assert "torn_last_line" == json.loads(refused.out)["failure"]["reason"]
    assert "--drop-torn-line does without it" in refused.err

    printed = jingwei(log, "--drop-torn-line")
    ended = jingwei(log, "--drop-torn-line", "--append")

    assert lines_of(CUT) + printed.out == log.read_bytes()
    assert 15 == json.loads(ended.out)["dropped_bytes"]
    assert ended.err.endswith("; 15 bytes of a torn line left out\n")


def test_a_torn_line_may_be_all_that_is_wrong(jingwei: Run, log: Path) -> None:
    log.write_bytes(lines_of(WHOLE) + b"{")
    ended = jingwei(log, "--drop-torn-line", "--append")

    assert (Exit.OK, lines_of(WHOLE)) == (ended.code, log.read_bytes())
    assert "jingwei: nothing to close; 1 byte of a torn line left out\n" == ended.err


def test_what_does_not_decode_is_not_dropped(jingwei: Run, log: Path) -> None:
    log.write_bytes(b"{}\n" + b"{")
    ended = jingwei(log, "--drop-torn-line")

    assert Exit.DECODE == ended.code
    assert "missing_key" == json.loads(ended.out)["failure"]["reason"]


def test_another_damage_is_refused_with_its_rule(jingwei: Run, log: Path) -> None:
    log.write_bytes(lines_of(DAMAGED))
    ended = jingwei(log, "--append")

    assert (Exit.LOG, lines_of(DAMAGED)) == (ended.code, log.read_bytes())
    assert {
        "kind": "WriteRefused",
        "rule": "P5",
        "reason": "open_calls",
        "event_id": "event-2",
        "seq": 2,
        "turn_id": "one",
        "open_tool_calls": ["a"],
        "open_model_calls": [],
        "unreadable": None,
        "path": None,
    } == json.loads(ended.out)["failure"]
    assert "breaks P5 in turn 'one': open_calls" in ended.err
    assert "jingwei diagnose" in ended.err


def test_physical_damage_is_refused(jingwei: Run, log: Path) -> None:
    log.write_bytes(lines_of("user; call a seq=7"))
    ended = jingwei(log)

    assert Exit.LOG == ended.code
    assert "WrongSequence" == json.loads(ended.out)["failure"]["kind"]


def test_earlier_damage_may_be_kept(jingwei: Run, log: Path) -> None:
    log.write_bytes(lines_of(f"{DAMAGED}; turn two; user; call b"))

    assert Exit.LOG == jingwei(log).code
    assert 3 == jingwei(log, "--earlier-turns", "keep").out.count(b"\n")


def test_a_damaged_turn_that_is_kept_gets_its_end_alone(jingwei: Run, log: Path) -> None:
    """Its call stays open, since no result may follow the reply."""
    log.write_bytes(lines_of("user; call a; reply"))
    ended = jingwei(log, "--earlier-turns", "keep", "--append")
    again = jingwei(log, "--earlier-turns", "keep", "--append")

    assert (Exit.OK, 5) == (ended.code, log.read_bytes().count(b"\n"))
    assert (2, ["a"]) == (json.loads(ended.out)["events"], json.loads(ended.out)["tool_calls"])
    assert (Exit.OK, "jingwei: nothing to close\n") == (again.code, again.err)


def test_an_id_that_is_used_asks_for_another_prefix(jingwei: Run, log: Path) -> None:
    log.write_bytes(lines_of("user; call a id=recovered_event_2"))
    ended, other = jingwei(log), jingwei(log, "--id-prefix", "x")

    assert Exit.LOG == ended.code
    assert "--id-prefix" in ended.err
    assert b'{"event_id":"xevent_2"' == other.out[:22]


def test_the_session_may_be_named(jingwei: Run, log: Path) -> None:
    ended = jingwei(log, "--session", "other")

    assert Exit.LOG == ended.code
    assert "WrongSession" == json.loads(ended.out)["failure"]["kind"]


def test_the_file_that_is_appended_to_is_one_and_its_own(jingwei: Run, log: Path) -> None:
    wrong = [jingwei("-", "--append"), jingwei(log, "--append", "--out", "x"), jingwei(log, "--out", log)]

    assert [Exit.USAGE] * 3 == [ended.code for ended in wrong]
    assert lines_of(CUT) == log.read_bytes()


def test_a_log_may_come_from_standard_input(log: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jingwei", "recover", "-"],
        input=lines_of(CUT),
        capture_output=True,
        check=False,
    )

    assert (0, 4) == (done.returncode, done.stdout.count(b"\n"))


def test_a_log_that_grew_meanwhile_is_left_alone(
    jingwei: Run, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = lines_of(CUT)
    monkeypatch.setattr(recover, "whole", lambda name: seen)
    log.write_bytes(seen + seen)
    ended = jingwei(log, "--append")

    assert (Exit.FILE, seen + seen) == (ended.code, log.read_bytes())
    assert "changed since it was read" in ended.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_log_that_may_not_be_written_says_so(jingwei: Run, log: Path) -> None:
    log.chmod(0o400)

    assert Exit.FILE == jingwei(log, "--append").code


def test_a_log_that_vanished_is_one_sentence(
    jingwei: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recover, "whole", lambda name: lines_of(CUT))
    ended = jingwei(tmp_path / "gone.jsonl", "--append")

    assert Exit.FILE == ended.code
    assert "No such file" in ended.err


def test_a_prefix_that_is_no_text_is_refused(jingwei: Run, log: Path) -> None:
    """As the shell hands over bytes that are no UTF-8."""
    ended = jingwei(log, "--id-prefix", "\udcff")

    assert Exit.INPUT == ended.code
    assert "--id-prefix" in ended.err
    assert NumberedIds(prefix="a").message_id(3) == "amessage_3"


def test_a_whole_last_event_without_its_newline_is_never_dropped(jingwei: Run, log: Path) -> None:
    """The call that it records may have run."""
    data = log.read_bytes()[:-1]
    log.write_bytes(data)

    ended = jingwei(log, "--drop-torn-line", "--append")

    assert (Exit.DECODE, data) == (ended.code, log.read_bytes())
    assert "a whole event, of which only the newline is missing" in ended.err
    assert "append a newline to the file" in ended.err
