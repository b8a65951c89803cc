"""The commands, as a shell sees them: output, messages, exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text
from typer.main import get_command

from jingwei.__main__ import main
from jingwei.cli.app import app
from jingwei.cli.exits import Exit
from jingwei.events.wire import encode_log
from tests.commands import Ended, Run
from tests.logtable import events_of

DEMO = Path(__file__).parents[2] / "jingwei" / "demo" / "session.jsonl"


def piped(*arguments: str | Path, stdin: bytes = b"") -> Ended:
    """Runs one command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "jingwei", *map(str, arguments)], input=stdin, capture_output=True, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr.decode())


def cancelled_turns(count: int) -> str:
    """A log of turns that hold nothing but their end."""
    return "".join(
        f'{{"event_id":"e{i}","session_id":"s","turn_id":"t{i}","seq":{i},'
        '"kind":{"type":"done","status":"cancelled"}}\n'
        for i in range(count)
    )


def test_check_counts_the_events(jingwei: Run) -> None:
    ended = jingwei("check", DEMO)

    assert Exit.OK == ended.code
    assert {"session_id": "bookshop-oncall-0612", "events": 143, "last_event": "ev_0142"} == ended.json


def test_standard_input_is_a_dash() -> None:
    assert piped("check", DEMO).out == piped("check", "-", stdin=DEMO.read_bytes()).out


def test_an_empty_log_is_a_log(jingwei: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")

    assert {"session_id": "", "events": 0, "last_event": None} == jingwei("check", empty).json
    refused = jingwei("project", empty)
    assert Exit.USAGE == refused.code
    assert "--session" in refused.err
    assert [] == json.loads(jingwei("project", empty, "--session", "s").out)["groups"]


@pytest.mark.parametrize("command", ["check", "diagnose", "project", "explain", "batch"])
def test_what_cannot_be_read_is_one_sentence(jingwei: Run, tmp_path: Path, command: str) -> None:
    missing, folder = jingwei(command, tmp_path / "nope"), jingwei(command, tmp_path)

    assert (Exit.FILE, Exit.FILE) == (missing.code, folder.code)
    assert "No such file" in missing.err
    assert "directory" in folder.err
    assert "Traceback" not in missing.err + folder.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_one_sentence(jingwei: Run, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(b"")
    secret.chmod(0)

    assert Exit.FILE == jingwei("check", secret).code


def test_a_torn_log_says_where_to_cut(jingwei: Run, tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    whole = DEMO.read_bytes()
    torn.write_bytes(whole + b'{"event_id":"ev')

    ended = jingwei("check", torn)

    assert Exit.DECODE == ended.code
    assert len(whole) == json.loads(ended.out)["failure"]["whole_bytes"]
    assert f"byte {len(whole)}" in ended.err


def test_another_session_is_refused(jingwei: Run) -> None:
    ended = jingwei("project", DEMO, "--session", "other")

    assert Exit.LOG == ended.code
    assert "WrongSession" == json.loads(ended.out)["failure"]["kind"]


def test_diagnose_lists_and_ends_with_the_log_code(jingwei: Run, tmp_path: Path) -> None:
    lines = DEMO.read_bytes().splitlines(keepends=True)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(b"".join(lines[:-1]))

    sound, broken = jingwei("diagnose", DEMO), jingwei("diagnose", damaged)

    assert (Exit.OK, {"violations": [], "admits": None, "way_out": None}) == (sound.code, sound.json)
    assert Exit.LOG == broken.code
    assert {"kind": "close_abandoned", "earlier_turns": "reject", "config": {}} == json.loads(broken.out)[
        "way_out"
    ]
    assert ["Unconfirmed"] == [v["kind"] for v in json.loads(broken.out)["violations"]]
    told = jingwei("diagnose", "--pretty", damaged).out.decode()

    assert "unconfirmed work" in told
    assert "jingwei recover" in told
    assert "jingwei recover" in broken.err


def test_diagnose_names_both_steps_where_it_takes_two(jingwei: Run, tmp_path: Path) -> None:
    """And whoever takes them has a projection."""
    log = tmp_path / "damaged.jsonl"
    table = "user; call a; done cancelled; turn two; user; reply r m; done; turn three; user; call b"
    log.write_bytes(encode_log(events_of(table)).unwrap())
    found = jingwei("diagnose", log)
    keep = "`jingwei recover --earlier-turns keep` appends the events that close its last turn; "
    then = "then the log is admitted, without its damaged turns, with --damaged-turns quarantine"

    assert {
        "kind": "close_then_configuration",
        "earlier_turns": "keep",
        "config": {"damaged_turns": "quarantine"},
    } == json.loads(found.out)["way_out"]
    assert found.err.endswith(f"  {keep}{then}\n")
    assert Exit.LOG == jingwei("recover", log, "--append").code
    assert Exit.OK == jingwei("recover", log, "--append", "--earlier-turns", "keep").code
    projected = json.loads(jingwei("project", log, "--damaged-turns", "quarantine").out)
    assert ["quarantined", "completed", "cancelled"] == [turn["state"] for turn in projected["turns"]]


def test_diagnose_knows_no_way_out_of_a_log_that_is_out_of_order(jingwei: Run, tmp_path: Path) -> None:
    lines = DEMO.read_bytes().splitlines(keepends=True)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(b"".join(lines[1:]))

    ended = jingwei("diagnose", damaged)

    assert Exit.LOG == ended.code
    assert ended.err.strip().endswith("violations")


def test_build_gives_a_request_that_explain_shows(jingwei: Run, tmp_path: Path) -> None:
    ended = jingwei("build", DEMO, "--current", "现在呢？", "--window", "4000", "--pin", "turn_01")
    saved = tmp_path / "built.json"
    saved.write_bytes(ended.out)

    shown = jingwei("explain", saved)

    built = json.loads(ended.out)
    assert {"role": "user", "content": "现在呢？"} == built["request"]["messages"][-1]
    assert built["report"]["attempts"][-1]["total_reserved"] <= 4000
    assert Exit.OK == shown.code
    assert "pinned" in shown.out.decode()


def test_a_spec_file_is_the_batch_operation(jingwei: Run, tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    body = {
        "current": [{"role": "user", "content": "x"}],
        "target": {"model": "m", "template_revision": "t"},
        "budget": {
            "window_tokens": 3000,
            "output_reserve": 64,
            "output_evidence": "estimate",
            "safety_margin": 0,
            "mode": "soft",
        },
        "search": "linear",
    }
    spec.write_text(json.dumps(body))

    by_command = jingwei("build", DEMO, "--spec", spec)
    events = [json.loads(line) for line in DEMO.read_text().splitlines()]
    request = {"op": "build", "session_id": "bookshop-oncall-0612", "events": events, **body}
    by_batch = piped("batch", stdin=json.dumps(request).encode() + b"\n")

    assert by_command.json == json.loads(by_batch.out)["ok"]


def test_what_does_not_fit_has_a_code_and_a_breakdown(jingwei: Run) -> None:
    ended = jingwei("build", DEMO, "--current", "x", "--window", "100")

    assert Exit.BUDGET == ended.code
    assert "output reserve 1024" in ended.err
    assert "DoesNotFit" == json.loads(ended.out)["failure"]["kind"]


def test_a_bad_spec_names_the_place(jingwei: Run, tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text('{"current": [{"role": "user", "content": 5}]}')

    ended = jingwei("build", DEMO, "--spec", spec)

    assert Exit.INPUT == ended.code
    assert "/current/0/content" in ended.err


def test_build_wants_one_source_of_current(jingwei: Run) -> None:
    assert Exit.USAGE == jingwei("build", DEMO).code
    assert Exit.USAGE == jingwei("build", DEMO, "--current", "x", "--current-from-open").code


def test_an_open_turn_can_be_current(jingwei: Run, tmp_path: Path) -> None:
    opened = tmp_path / "open.jsonl"
    event = {
        "event_id": "new",
        "session_id": "bookshop-oncall-0612",
        "turn_id": "turn_new",
        "seq": 143,
        "kind": {"type": "user_message", "text": "and now?"},
    }
    opened.write_bytes(DEMO.read_bytes() + json.dumps(event).encode() + b"\n")

    refused = jingwei("build", opened, "--current", "x")
    ended = jingwei("build", opened, "--current-from-open", "--window", "90000")

    assert (Exit.INPUT, "open_turn") == (refused.code, json.loads(refused.out)["failure"]["reason"])
    assert "--current-from-open" in refused.err
    assert {"role": "user", "content": "and now?"} == json.loads(ended.out)["request"]["messages"][-1]


def test_a_log_larger_than_allowed_is_not_read_to_its_end(jingwei: Run) -> None:
    ended = jingwei("project", DEMO, "--max-events", "3")

    assert Exit.LOG == ended.code
    assert {"kind": "LimitExceeded", "what": "events", "limit": 3, "actual": 4} == json.loads(ended.out)[
        "failure"
    ]


def test_the_demo_shows_the_choice(jingwei: Run) -> None:
    shown = jingwei("demo").out.decode()

    assert "dropped" in shown
    assert "kept" in shown
    assert "output reserve" in shown
    assert "请总结一下事故的原因" in shown


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    long = tmp_path / "long.jsonl"
    long.write_text(cancelled_turns(5000))
    with subprocess.Popen(
        [sys.executable, "-m", "jingwei", "project", str(long)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(3)
        process.stdout.close()
        err = process.stderr.read().decode()

    assert Exit.BROKEN_PIPE == process.returncode
    assert "went away" in err
    assert "Traceback" not in err


def test_an_answer_larger_than_a_pipe_arrives_whole_unbuffered(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(cancelled_turns(3000))

    done = subprocess.run(
        [sys.executable, "-u", "-m", "jingwei", "project", str(log)], capture_output=True, check=True
    )

    assert 3000 == len(json.loads(done.stdout)["turns"])


def test_output_is_utf_8_in_any_locale() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jingwei", "demo"],
        capture_output=True,
        check=True,
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    )

    assert "请总结" in done.stdout.decode()


def test_batch_answers_each_line_before_the_next_comes() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "jingwei", "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(b'{"id":%d,"op":"shape","messages":[]}\n' % number)
            process.stdin.flush()
            assert number == json.loads(process.stdout.readline())["id"]
        process.stdin.close()


def test_a_missing_extra_is_named() -> None:
    code = "import sys; sys.modules['typer'] = None; import jingwei.__main__ as m; sys.exit(m.main())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert 2 == done.returncode
    assert b"install jingwei[cli]" in done.stderr


CHAT = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "weather?"},
    {
        "role": "assistant",
        "content": "let me look",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    {"role": "assistant", "content": "Sunny."},
    {"role": "user", "content": "thanks"},
]


def test_a_transcript_becomes_a_log_and_a_request(jingwei: Run, tmp_path: Path) -> None:
    chat, report, log = tmp_path / "chat.json", tmp_path / "report.json", tmp_path / "log.jsonl"
    chat.write_text(json.dumps(CHAT))
    imported = jingwei(
        "import",
        "openai-chat",
        chat,
        "--text-beside-calls",
        "as_delta",
        "--unanswered-turn",
        "open_last",
        "--report",
        report,
    )
    log.write_bytes(imported.out)

    built = jingwei("build", log, "--current-from-open", "--system-from", report)

    assert Exit.OK == imported.code
    assert ["be brief"] == json.loads(report.read_bytes())["system"]
    assert ["system", "user", "assistant", "tool", "assistant", "user"] == [
        message["role"] for message in json.loads(built.out)["request"]["messages"]
    ]


def test_a_transcript_that_needs_a_decision_is_refused_with_its_options(jingwei: Run, tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps(CHAT))

    refused = jingwei("import", "openai-chat", chat)

    assert Exit.IMPORT == refused.code
    assert ["TextBesideCalls", "TurnWithoutReply"] == [
        failure["kind"] for failure in json.loads(refused.out)["failure"]["failures"]
    ]
    assert "message 2" in refused.err
    assert "--text-beside-calls as_delta" in refused.err
    assert Exit.OK == jingwei("import", "openai-chat", chat, "--lenient").code


def test_one_of_several_conversations_is_chosen_by_name(jingwei: Run, tmp_path: Path) -> None:
    chats = tmp_path / "chats.json"
    chats.write_text(json.dumps({"a": CHAT[1:2] + CHAT[4:5], "b": CHAT[5:] + CHAT[4:5]}))

    unchosen = jingwei("import", "openai-chat", chats)
    chosen = jingwei("import", "openai-chat", chats, "--conversation", "b")

    assert (Exit.USAGE, ["a", "b"]) == (unchosen.code, json.loads(unchosen.out)["failure"]["names"])
    assert b"thanks" in chosen.out
    assert b"weather" not in chosen.out


def test_what_is_no_transcript_is_refused(jingwei: Run) -> None:
    refused = jingwei("import", "openai-chat", DEMO, "--conversation", "0")

    assert Exit.IMPORT == refused.code
    assert "Traceback" not in refused.err


def test_a_report_is_asked_for_where_system_texts_are_taken_from_it(jingwei: Run) -> None:
    refused = jingwei("build", DEMO, "--current", "x", "--system-from", DEMO)

    assert Exit.DECODE == refused.code


def test_a_missing_event_is_one_row_with_its_cause(jingwei: Run, tmp_path: Path) -> None:
    lines = DEMO.read_bytes().splitlines(keepends=True)
    gap, doubled = tmp_path / "gap.jsonl", tmp_path / "doubled.jsonl"
    gap.write_bytes(b"".join(lines[:49] + lines[50:]))
    doubled.write_bytes(b"".join(lines[:20] + lines[19:]))

    missing = jingwei("diagnose", "--pretty", gap).out.decode()
    added = jingwei("diagnose", "--pretty", doubled).out.decode()

    assert "93 events in a row have a seq that is 1 too high" in missing
    assert "1 event is missing just before" in missing
    assert "124 events in a row have a seq that is 1 too low" in added
    assert "doubled or added" in added


def test_what_would_admit_a_log_is_an_option(jingwei: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    kinds = ({"type": "user_message", "text": "x"}, {"type": "done", "status": "completed"})
    log.write_text(
        "".join(
            json.dumps({"event_id": f"e{i}", "session_id": "s", "turn_id": "t", "seq": i, "kind": kind})
            + "\n"
            for i, kind in enumerate(kinds)
        )
    )

    assert "--legacy-replies omit" in jingwei("diagnose", "--pretty", log).out.decode()
    assert Exit.OK == jingwei("project", log, "--legacy-replies", "omit").code


def test_a_damaged_turn_is_left_out_where_the_host_says_so(jingwei: Run, tmp_path: Path) -> None:
    log = tmp_path / "damaged.jsonl"
    kinds = ({"type": "user_message", "text": "x"}, {"type": "user_message", "text": "y"})
    more = [
        {"event_id": f"x{i}", "session_id": "s", "turn_id": "t", "seq": i, "kind": kind}
        for i, kind in enumerate(kinds)
    ]
    log.write_text("".join(json.dumps(event) + "\n" for event in more))

    refused, admitted = jingwei("project", log), jingwei("project", log, "--damaged-turns", "quarantine")
    told = jingwei("diagnose", "--pretty", log).out.decode()

    assert Exit.LOG == refused.code
    assert (Exit.OK, "quarantined") == (admitted.code, json.loads(admitted.out)["turns"][0]["state"])
    assert "without its damaged turns, with --damaged-turns quarantine" in " ".join(told.split())


def test_an_option_that_a_spec_would_overrule_is_refused(jingwei: Run, tmp_path: Path) -> None:
    ended = jingwei("build", DEMO, "--spec", tmp_path / "spec.json", "--window", "100")

    assert Exit.USAGE == ended.code
    assert "--window" in ended.err


def test_the_version_is_told(jingwei: Run) -> None:
    assert b"jingwei 0.1.0\n" == jingwei("--version").out


def test_the_wrong_file_is_told_from_a_broken_one(jingwei: Run) -> None:
    assert "is this a report" in jingwei("explain", DEMO).err


def test_a_report_that_cannot_be_written_is_one_sentence(jingwei: Run, tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps(CHAT))
    ended = jingwei("import", "openai-chat", chat, "--lenient", "--report", tmp_path / "no" / "report.json")

    assert Exit.FILE == ended.code
    assert "folder" in ended.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "command", [("check",), ("project",), ("project", "--pretty"), ("build", "--current", "x")]
)
def test_a_full_disk_is_one_sentence(command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "jingwei", command[0], str(DEMO), *command[1:]],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert Exit.FILE == done.returncode
    assert b"standard output" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_traceback(closed: str) -> None:
    script = f'"{sys.executable}" -m jingwei check nope {closed}; echo "code $?" >&9'
    done = subprocess.run(
        ["sh", "-c", f"({script}) 9>&1"], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )

    assert f"code {int(Exit.FILE)}" in (done.stdout + done.stderr).decode()
    assert b"Traceback" not in done.stderr + done.stdout


def test_ids_are_no_markup_and_no_terminal_codes(jingwei: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(cancelled_turns(1).replace('"s"', '"[/x]\\u001b[31m"').replace('"t0"', '"[bold]"'))

    for command in (("check", "--pretty"), ("project", "--pretty"), ("build", "--current", "x", "--pretty")):
        shown = jingwei(command[0], log, *command[1:])
        assert Exit.OK == shown.code
        assert b"[/x]" in shown.out
        assert b"\x1b" not in shown.out.replace(b"\\x1b", b"")


def test_a_number_of_any_length_names_no_conversation(jingwei: Run, tmp_path: Path) -> None:
    chats = tmp_path / "chats.json"
    chats.write_text(json.dumps({"a": CHAT[1:2] + CHAT[4:5], "b": CHAT[5:] + CHAT[4:5]}))

    assert Exit.USAGE == jingwei("import", "openai-chat", chats, "--conversation", "9" * 5000).code
    assert Exit.OK == jingwei("import", "openai-chat", chats, "--conversation", "1").code


def test_too_little_memory_is_one_sentence(jingwei: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(_: bytes) -> object:
        raise MemoryError

    monkeypatch.setattr("jingwei.cli.reading.decode_log", exhausted)

    ended = jingwei("diagnose", DEMO)
    assert Exit.FILE == ended.code
    assert "memory" in ended.err


# --- refusals, one for each place that can refuse --------------------------------------------------


def saved(folder: Path, content: object) -> Path:
    """A file that holds this, as JSON unless it is text."""
    path = folder / "given"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_check_names_the_first_event_that_is_out_of_place(jingwei: Run) -> None:
    ended = jingwei("check", DEMO, "--session", "other")

    assert Exit.LOG == ended.code
    assert {
        "kind": "WrongSession",
        "physical_index": 0,
        "expected": "other",
        "actual": "bookshop-oncall-0612",
    } == json.loads(ended.out)["failure"]


@pytest.mark.parametrize("command", [("check",), ("diagnose",), ("project",), ("build", "--current", "x")])
def test_a_log_that_does_not_decode_ends_every_command_alike(
    jingwei: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    log = saved(tmp_path, cancelled_turns(1) + "{}\n")

    ended = jingwei(command[0], log, *command[1:])

    assert (Exit.DECODE, 2) == (ended.code, json.loads(ended.out)["failure"]["line"])
    assert "line 2" in ended.err


@pytest.mark.parametrize(
    ("spec", "code", "said"),
    [
        ("{", Exit.DECODE, "is this a spec"),
        ([], Exit.INPUT, "the spec at its root: expected an object"),
    ],
)
def test_what_is_no_spec_is_refused(
    jingwei: Run, tmp_path: Path, spec: object, code: Exit, said: str
) -> None:
    ended = jingwei("build", DEMO, "--spec", saved(tmp_path, spec))

    assert code == ended.code
    assert said in ended.err


SPEC: dict[str, object] = {
    "current": [{"role": "user", "content": "x"}],
    "target": {"model": "m", "template_revision": "t"},
    "budget": {
        "window_tokens": 90000,
        "output_reserve": 64,
        "output_evidence": "estimate",
        "safety_margin": 0,
        "mode": "soft",
    },
}
NO_ALLOWANCE = {"bytes": 0, "specials": 0}
BOUND: dict[str, object] = {
    "kind": "byte_bound",
    "model": "m",
    "template_revision": "t",
    "normalization": "none",
    "json_factor": [1, 1],
    "allowance": dict.fromkeys(("message", "call", "tool", "request"), NO_ALLOWANCE),
}


def test_a_counter_that_bounds_nothing_is_refused_with_its_place(jingwei: Run, tmp_path: Path) -> None:
    spec = saved(tmp_path, {**SPEC, "counter": {**BOUND, "json_factor": [1, 2]}})

    ended = jingwei("build", DEMO, "--spec", spec)

    assert Exit.INPUT == ended.code
    assert "the spec at /counter/json_factor" in ended.err


def test_a_report_of_a_build_that_counted_nothing_is_shown(jingwei: Run, tmp_path: Path) -> None:
    """A counter that knows another model only refuses the first count: the report holds no attempt."""
    refused = jingwei("build", DEMO, "--spec", saved(tmp_path, {**SPEC, "counter": {**BOUND, "model": "n"}}))

    shown = jingwei("explain", saved(tmp_path, refused.out.decode()))

    assert (Exit.INPUT, "CounterFailed") == (refused.code, json.loads(refused.out)["failure"]["kind"])
    assert "nothing was counted" in shown.out.decode()


@pytest.mark.parametrize("report", [{}, {"report": 5}, {"failure": {"report": {"attempts": []}}}])
def test_a_document_that_holds_no_report_is_refused(jingwei: Run, tmp_path: Path, report: object) -> None:
    ended = jingwei("explain", saved(tmp_path, report))

    assert Exit.DECODE == ended.code
    assert "is this a report" in ended.err


@pytest.mark.parametrize("report", [[], {}, {"system": "x"}, {"system": ["x", 5]}])
def test_system_texts_are_taken_from_import_reports_only(
    jingwei: Run, tmp_path: Path, report: object
) -> None:
    ended = jingwei("build", DEMO, "--current", "x", "--system-from", saved(tmp_path, report))

    assert Exit.INPUT == ended.code
    assert "expected an import report" in ended.err


def test_the_demo_in_too_small_a_window_does_not_fit(jingwei: Run) -> None:
    ended = jingwei("demo", "--window", "700")

    assert (Exit.BUDGET, "DoesNotFit") == (ended.code, json.loads(ended.out)["failure"]["kind"])


def test_batch_serves_a_last_line_without_a_newline(jingwei: Run, tmp_path: Path) -> None:
    requests = saved(tmp_path, '{"id":1,"op":"shape","messages":[]}\n{"id":2,"op":"shape","messages":[]}')

    ended = jingwei("batch", requests)

    assert [1, 2] == [json.loads(line)["id"] for line in ended.out.splitlines()]


# --- tables ----------------------------------------------------------------------------------------


def test_a_sound_log_is_told_in_words(jingwei: Run) -> None:
    assert b"nothing is wrong with this log\n" == jingwei("diagnose", "--pretty", DEMO).out


def session(folder: Path, table: str) -> Path:
    """A file that holds the log of a table."""
    return saved(folder, encode_log(events_of(table)).unwrap().decode())


def cells(shown: str) -> list[list[str]]:
    """The cells of every row of the tables in an output."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines() if "│" in line]


def test_a_call_that_no_build_can_send_is_a_row_with_its_line(jingwei: Run, tmp_path: Path) -> None:
    log = session(tmp_path, "user; call a lookup [1]; result a; reply; done")

    ended = jingwei("diagnose", "--pretty", log)

    shown = ended.out.decode()
    assert Exit.OK == ended.code
    assert "0 violations, 1 warning" in shown
    assert [["2", "event-1", "one", "M3"]] == [row[:4] for row in cells(shown)]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            'user "Q"; call a grep {"k":1}; result a "R"; done cancelled',
            [("user", "Q"), ("assistant", 'grep({"k":1})'), ("tool", '{"status":"succeeded","output":"R"}')],
        ),
        ('user "Q"; reply "A"; done', [("system", "be brief"), ("user", "Q"), ("assistant", "A")]),
    ],
)
def test_the_last_messages_of_a_request_are_shown_with_their_roles(
    jingwei: Run, tmp_path: Path, table: str, expected: list[tuple[str, str]]
) -> None:
    log = session(tmp_path, table)

    ended = jingwei("build", log, "--current", "and now?", "--system", "be brief", "--pretty")

    _, messages = ended.out.decode().split("the last 4 of ")
    assert [*expected, ("user", "and now?")] == [(row[0], row[1]) for row in cells(messages)]


# --- imports ---------------------------------------------------------------------------------------


def test_a_transcript_that_is_no_json_is_refused_with_the_forms_that_are_known(
    jingwei: Run, tmp_path: Path
) -> None:
    ended = jingwei("import", "openai-chat", saved(tmp_path, "[{]"))

    assert Exit.IMPORT == ended.code
    assert "docs/importing.md" in ended.err
    assert "Refused" != json.loads(ended.out)["failure"]["kind"]


def test_why_a_transcript_was_refused_stands_in_its_report(jingwei: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"

    refused = jingwei("import", "openai-chat", saved(tmp_path, CHAT), "--report", report)

    assert Exit.IMPORT == refused.code
    assert {"refused": json.loads(refused.out)["failure"]["failures"]} == json.loads(report.read_bytes())


def test_the_list_of_conversations_says_which_are_refused(jingwei: Run, tmp_path: Path) -> None:
    ended = jingwei("import", "openai-chat", saved(tmp_path, {"good": CHAT[1:2] + CHAT[4:5], "bad": CHAT}))

    assert Exit.USAGE == ended.code
    assert "0: good: 2 messages, 1 turns" in ended.err
    assert "1: bad: refused: message 2" in ended.err


# --- the world outside -----------------------------------------------------------------------------


def test_text_that_utf_8_cannot_hold_is_refused(jingwei: Run, tmp_path: Path) -> None:
    """An argument of broken bytes reaches Python as half a surrogate pair."""
    ended = jingwei("check", saved(tmp_path, ""), "--session", "\udcff")

    assert (Exit.INPUT, b"") == (ended.code, ended.out)
    assert "U+DCFF" in ended.err


@pytest.mark.parametrize("command", [("check", str(DEMO)), ("demo",)])
def test_an_answer_for_a_closed_stream_is_one_sentence(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "jingwei", *command],
        stderr=subprocess.PIPE,
        check=False,
    )

    assert Exit.FILE == done.returncode
    assert b"jingwei: standard output is closed\n" == done.stderr


def test_no_word_of_a_help_is_taken_for_markup(jingwei: Run) -> None:
    """What stands in brackets is a style for Rich, which leaves it out."""
    waiting: list[object] = [get_command(app)]
    texts = list[str]()
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        texts += [getattr(one, "help", None) or "" for one in (command, *getattr(command, "params", ()))]

    assert len(texts) > 50
    assert [] == [text for text in texts if text.replace("\\[", "[") != Text.from_markup(text).plain]
    assert "jingwei[plot]" in jingwei("simulate", "--help").out.decode()


@pytest.mark.parametrize("command", [("check", str(DEMO)), ("--help",)])
def test_a_stream_that_takes_nothing_is_one_sentence(command: tuple[str, ...]) -> None:
    """Also for what typer writes by itself, as its help."""
    with Path(os.devnull).open("rb") as for_reading:
        done = subprocess.run(
            [sys.executable, "-m", "jingwei", *command],
            stdout=for_reading,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert Exit.FILE == done.returncode
    assert done.stderr.startswith(b"jingwei: ")
    assert b"Bad file descriptor" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_module_of_our_own_that_is_missing_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jingwei.cli.app", None)

    with pytest.raises(ModuleNotFoundError, match=r"cli\.app"):
        main()
