"""`compose`, `advise`, `why` and `diff`, as a shell sees them; and what `explain` shows of items."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from jingwei.batch import serve
from jingwei.cli.describe import say_compose
from jingwei.cli.exits import Exit
from jingwei.cli.show import decimal
from jingwei.cli.show_composed import advice_text
from jingwei.compose.triggers import (
    Advice,
    CondenseFinished,
    CondenseResult,
    LookForNoise,
    LowerWeight,
    Reach,
)
from jingwei.events.wire import encode_log
from jingwei.ids import EventId, ItemId, TurnId
from jingwei.selection.condense_then_drop import InvalidPolicy, PolicyProblem
from tests.commands import Ended, Run
from tests.logtable import events_of

Object: TypeAlias = dict[str, Any]

LARGE: Final = "\\n".join(f"2026-08-01 INFO worker {n} ok" for n in range(400)) + "\\nERROR disk full\\n"
TABLE: Final = (
    'user "first"; reply "one" m1; done; '
    f'turn two; user "second"; call a; result a "{LARGE}"; reply "two" m2; done; '
    'turn three; user "third"; reply "three" m3; done'
)
SPEC: Final[Object] = {
    "state": {
        "tenant_id": "acme",
        "user_id": "ann",
        "session_id": "session",
        "goal": {"text": "find the cause"},
        "system_rules": ["never delete files"],
        "hard_constraints": [{"text": "use Go this time", "subject": "language", "seq": 1}],
    },
    "recalled": [
        {
            "memory_id": "m1",
            "tenant_id": "acme",
            "user_id": "ann",
            "text": "prefers Java",
            "subject": "language",
        },
        {"memory_id": "m2", "tenant_id": "other", "user_id": None, "text": "theirs"},
    ],
    "items": [
        {
            "item_id": "[log]",
            "kind": "tool_observation",
            "content": LARGE.replace("\\n", "\n"),
            "source": "tool",
            "tier": "p1",
            "relevance": "1/3",
            "compressible": True,
            "source_ref": "grep#\u001b7",
        },
        {"item_id": "twin", "kind": "fact", "content": "use Go this time", "source": "model"},
    ],
    "target": {"model": "m", "template_revision": "1"},
    "budget": {"window": 9000, "reserved_output": 500},
    "current": [{"role": "user", "content": "go on"}],
}


def saved(path: Path, content: object) -> Path:
    """A file that holds this, as JSON unless it is text or bytes."""
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(text)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return saved(tmp_path / "log.jsonl", encode_log(events_of(TABLE)).unwrap())


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return saved(tmp_path / "spec.json", SPEC)


@pytest.fixture
def composed(jingwei: Run, tmp_path: Path, spec: Path, log: Path) -> Path:
    return saved(tmp_path / "composed.json", jingwei("compose", spec, log).out)


def answer(ended: Ended) -> Object:
    """What stands on standard output, one JSON value."""
    assert Exit.OK == ended.code, ended.err
    value: Object = json.loads(ended.out)
    return value


def failure(ended: Ended) -> Object:
    """The one record on standard output of a command that failed."""
    told: Object = json.loads(ended.out)
    assert ["failure"] == list(told)
    record: Object = told["failure"]
    return record


def words(ended: Ended) -> str:
    """What a command says to people, without the frames of tables and the breaks of lines."""
    assert Exit.OK == ended.code, ended.err
    return " ".join("".join(" " if 0x2500 <= ord(c) < 0x2580 else c for c in ended.out.decode()).split())


class TestCompose:
    """The spec is the op of the batch contract, the history a log beside it."""

    def test_it_answers_what_batch_answers(self, jingwei: Run, spec: Path, log: Path) -> None:
        events = [json.loads(line) for line in log.read_text().splitlines()]
        line = {"op": "compose", "session_id": "session", "events": events, **SPEC}

        told = answer(jingwei("compose", spec, log))
        assert json.loads(serve(json.dumps(line).encode()))["ok"] == told
        assert ["request", "report", "selection", "state"] == list(told)

    def test_without_a_log_there_is_no_history(self, jingwei: Run, spec: Path) -> None:
        told = answer(jingwei("compose", spec))

        assert ("session", 0, []) == (
            told["report"]["session_id"],
            told["report"]["source_event_count"],
            told["report"]["turns"],
        )
        assert {"role": "user", "content": "go on"} == told["request"]["messages"][-1]

    def test_an_empty_log_is_one_of_the_task_s_session(
        self, jingwei: Run, tmp_path: Path, spec: Path
    ) -> None:
        empty = saved(tmp_path / "empty.jsonl", b"")

        assert answer(jingwei("compose", spec)) == answer(jingwei("compose", spec, empty))
        other = jingwei("compose", spec, empty, "--session", "x")
        assert (Exit.INPUT, {"kind": "StateOfAnotherSession", "expected": "x", "actual": "session"}) == (
            other.code,
            failure(other),
        )
        assert "session 'session'" in other.err

    def test_the_running_turn_may_be_current(self, jingwei: Run, tmp_path: Path) -> None:
        """Its words stand in `current` once, and not as items as well."""
        table = f'{TABLE}; turn four; user "now this"; call b; result b "found"'
        log = saved(tmp_path / "open.jsonl", encode_log(events_of(table)).unwrap())
        own = {key: value for key, value in SPEC.items() if key != "current"}
        spec = saved(tmp_path / "own.json", own)

        told = answer(jingwei("compose", spec, log, "--current-from-open"))
        assert ["user", "assistant", "tool"] == [m["role"] for m in told["request"]["messages"][-3:]]
        assert "now this" not in json.dumps(told["request"]["messages"][:-3])
        assert 3 == len(told["report"]["turns"])

    def test_a_turn_that_has_said_one_thing_may_be_current(self, jingwei: Run, tmp_path: Path) -> None:
        log = saved(
            tmp_path / "open.jsonl", encode_log(events_of(f'{TABLE}; turn four; user "now"')).unwrap()
        )
        spec = saved(tmp_path / "own.json", {k: v for k, v in SPEC.items() if k != "current"})

        told = answer(jingwei("compose", spec, log, "--current-from-open"))
        assert {"role": "user", "content": "now"} == told["request"]["messages"][-1]
        assert "event:" not in json.dumps(told["selection"])

    def test_where_no_turn_is_open_there_is_nothing_current(
        self, jingwei: Run, tmp_path: Path, log: Path
    ) -> None:
        spec = saved(tmp_path / "own.json", {k: v for k, v in SPEC.items() if k != "current"})

        ended = jingwei("compose", spec, log, "--current-from-open")
        assert (Exit.INPUT, "current_empty") == (ended.code, failure(ended)["reason"])

    def test_the_last_choice_is_kept(self, jingwei: Run, tmp_path: Path) -> None:
        """Whether its state is given as such, in the output of `compose`, or in that of `batch` (R3)."""
        many = [
            {
                "item_id": f"i{n}",
                "kind": "fact",
                "content": f"{n}" * 800,
                "source": "host",
                "relevance": f"{n}/9",
            }
            for n in range(9)
        ]
        body = {**SPEC, "items": many, "budget": {"window": 1500, "reserved_output": 500}}
        first = answer(jingwei("compose", saved(tmp_path / "a.json", body)))
        gone = {row["item_id"] for row in first["report"]["items"] if not row["retained"]}
        turned = {**body, "items": [{**one, "relevance": 1 if one["item_id"] in gone else 0} for one in many]}
        again = saved(tmp_path / "b.json", turned)
        free = answer(jingwei("compose", again))

        assert gone
        for held in (first["state"], first, {"id": 1, "ok": first}):
            state = saved(tmp_path / "state.json", held)
            kept = answer(jingwei("compose", again, "--previous-state", state))
            assert gone <= {row["item_id"] for row in kept["report"]["items"] if not row["retained"]}
        nothing = saved(tmp_path / "state.json", {**first, "state": None})
        assert free == answer(jingwei("compose", again, "--previous-state", nothing))

    def test_it_shows_people_what_was_chosen_and_why(self, jingwei: Run, spec: Path, log: Path) -> None:
        shown = words(jingwei("compose", spec, log, "--pretty"))

        for expected in (
            "3 of 3 turns kept",
            "3 of 3 items in the request",
            "item tier kind source recall before after what became of it why",
            "goal p0 goal user 0 30 30 kept required",
            "p1 tool_observation tool 0.333",
            "condensed",
            "share of the request by kind",
            "items that were large",
            "log-v1",
            "items that say the same",
            "constraint:0000 twin model 1 0",
            "use Go this time memory:m1: prefers Java (left out) current_task_override",
            "memories that are not used memory why m2 tenant",
            "6 items gathered (system 1, goal 1, constraints 1, memories 1, host 2), 4 in the request",
            "choice by value, 8,500 tokens to give",
            "item goal p0 1 30 yes required",
            "turn one p3 0.333",
        ):
            assert expected in shown
        assert "[log]" in shown

    def test_where_nothing_was_gathered_nothing_more_is_shown(self, jingwei: Run, tmp_path: Path) -> None:
        bare = {key: SPEC[key] for key in ("target", "budget", "current")}
        names = {key: SPEC["state"][key] for key in ("tenant_id", "user_id", "session_id")}
        shown = words(jingwei("compose", saved(tmp_path / "bare.json", {**bare, "state": names}), "--pretty"))

        assert "0 items gathered (nothing), 0 in the request" in shown
        assert "contradictions" not in shown
        assert "say the same" not in shown

    @pytest.mark.parametrize(
        ("change", "code", "kind", "said"),
        [
            (
                {"state": {**SPEC["state"], "session_id": "x"}},
                Exit.INPUT,
                "StateOfAnotherSession",
                "session 'x'",
            ),
            (
                {"state": {**SPEC["state"], "tenant_id": " "}},
                Exit.INPUT,
                "InvalidTaskState",
                "tenant_id is blank",
            ),
            (
                {"budget": {"window": 5, "reserved_output": 9}},
                Exit.INPUT,
                "InvalidTokenBudget",
                "overdrawn (-4)",
            ),
            (
                {"items": [{**SPEC["items"][0], "source_events": ["e99"]}]},
                Exit.INPUT,
                "UnknownSource",
                "item '[log]' refers to the event 'e99'",
            ),
            ({"weights": {"trust": -1}}, Exit.INPUT, "InvalidWeights", "trust: negative"),
            (
                {"weights": dict.fromkeys(("priority", "relevance", "freshness", "trust"), 0)},
                Exit.INPUT,
                "InvalidWeights",
                "all of them: all_zero",
            ),
            (
                {"quotas": [{"kind": None}] * 2},
                Exit.INPUT,
                "InvalidQuota",
                "quota of turns is invalid: repeated_kind",
            ),
            (
                {"quotas": [{"kind": "fact", "floor": 2, "ceiling": 1}]},
                Exit.INPUT,
                "InvalidQuota",
                "quota of fact is invalid: floor_over_ceiling",
            ),
            (
                {"turn_worths": [{"turn_id": "one", "worth": {"trust": 2}}]},
                Exit.INPUT,
                "InvalidTurnWorth",
                "turn 'one' is invalid: out_of_range",
            ),
            (
                {"items": [{**SPEC["items"][1], "item_id": " "}]},
                Exit.INPUT,
                "InvalidItem",
                "item ' ' is invalid",
            ),
            ({"pinned_turns": ["gone"]}, Exit.INPUT, "InvalidInput", "unknown_pin at /pinned_turns/0"),
            (
                {"budget": {"window": 600, "reserved_output": 500}},
                Exit.BUDGET,
                "DoesNotFit",
                "reduce_current",
            ),
            (
                {"budget": {"window": 600, "reserved_output": 500}, "reduce_current": True},
                Exit.BUDGET,
                "DoesNotFit",
                "shorten what must stay",
            ),
            ({"limits": {"max_turns": 1}}, Exit.INPUT, "LimitExceeded", "limits.max_turns"),
        ],
    )
    def test_every_failure_says_what_and_has_its_record(
        self, jingwei: Run, tmp_path: Path, log: Path, change: Object, code: Exit, kind: str, said: str
    ) -> None:
        ended = jingwei("compose", saved(tmp_path / "bad.json", {**SPEC, **change}), log)

        assert (code, kind) == (ended.code, failure(ended)["kind"])
        assert said in ended.err
        assert 2 == len(ended.err.strip().splitlines())

    @pytest.mark.parametrize(
        ("spec", "code", "said"),
        [
            (b"{", Exit.DECODE, "is this a spec"),
            (b'{"items": [{"trust": NaN}]}', Exit.DECODE, "is this a spec"),
            (b'{"items": [{"trust": 1e999}]}', Exit.DECODE, "non_finite"),
            ([], Exit.INPUT, "the spec at its root: expected an object"),
            ({}, Exit.INPUT, "the spec at /state"),
            ({**SPEC, "events": []}, Exit.INPUT, "the spec at /events"),
            (
                {k: v for k, v in SPEC.items() if k != "current"},
                Exit.INPUT,
                "--current-from-open takes `current`",
            ),
            (
                {
                    **SPEC,
                    "counter": {
                        "kind": "byte_bound",
                        "model": "m",
                        "template_revision": "1",
                        "normalization": "none",
                        "json_factor": [1],
                        "allowance": {
                            part: {"bytes": 0, "specials": 0}
                            for part in ("message", "call", "tool", "request")
                        },
                    },
                },
                Exit.INPUT,
                "the spec at /counter/json_factor",
            ),
        ],
    )
    def test_what_is_no_spec_names_the_place(
        self, jingwei: Run, tmp_path: Path, spec: object, code: Exit, said: str
    ) -> None:
        ended = jingwei("compose", saved(tmp_path / "bad.json", spec))

        assert code == ended.code
        assert said in ended.err

    def test_a_state_without_a_session_is_told_as_it_is(self, jingwei: Run, tmp_path: Path) -> None:
        body = {**SPEC, "state": {**SPEC["state"], "session_id": " "}}
        ended = jingwei("compose", saved(tmp_path / "bad.json", body))

        assert (Exit.INPUT, {"kind": "InvalidTaskState", "field": "session_id"}) == (
            ended.code,
            failure(ended),
        )

    def test_a_log_that_is_refused_ends_it_with_the_code_of_logs(
        self, jingwei: Run, tmp_path: Path, spec: Path, log: Path
    ) -> None:
        torn = saved(tmp_path / "torn.jsonl", log.read_bytes()[:-5])
        cut = saved(tmp_path / "cut.jsonl", b"".join(log.read_bytes().splitlines(keepends=True)[1:]))
        opened = saved(
            tmp_path / "open.jsonl", encode_log(events_of(f"{TABLE}; turn four; user; call b")).unwrap()
        )

        assert Exit.DECODE == jingwei("compose", spec, torn).code
        assert (Exit.LOG, "WrongSequence") == (
            (ended := jingwei("compose", spec, cut)).code,
            failure(ended)["kind"],
        )
        assert (Exit.LOG, "Unconfirmed") == (
            (ended := jingwei("compose", spec, opened)).code,
            failure(ended)["kind"],
        )
        assert Exit.LOG == jingwei("compose", spec, log, "--max-events", "1").code
        assert Exit.LOG == jingwei("compose", spec, log, "--session", "other").code

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--current-from-open",), "--current-from-open"),
            (("--session", "s"), "--session"),
            (("--legacy-replies", "omit"), "--legacy-replies"),
            (("--damaged-turns", "quarantine"), "--damaged-turns"),
            (("--max-events", "5"), "--max-events"),
        ],
    )
    def test_an_option_of_a_log_that_is_not_given_is_wrong_use(
        self, jingwei: Run, spec: Path, options: tuple[str, ...], said: str
    ) -> None:
        ended = jingwei("compose", spec, *options)

        assert (Exit.USAGE, b"") == (ended.code, ended.out)
        assert said in ended.err

    def test_what_the_spec_says_itself_is_not_said_twice(
        self, jingwei: Run, tmp_path: Path, spec: Path, log: Path, composed: Path
    ) -> None:
        state = json.loads(composed.read_bytes())["state"]
        both = saved(tmp_path / "both.json", {**SPEC, "previous_selection": state})

        for ended in (
            jingwei("compose", spec, log, "--current-from-open"),
            jingwei("compose", both, "--previous-state", composed),
            jingwei("compose", "-", "-"),
            jingwei("compose", "-", "--previous-state", "-"),
        ):
            assert (Exit.USAGE, b"") == (ended.code, ended.out)

    @pytest.mark.parametrize("held", [b"{", {}, [], {"state": {"available": 1}}, {"ok": 5}])
    def test_what_is_no_state_is_refused(
        self, jingwei: Run, tmp_path: Path, spec: Path, held: object
    ) -> None:
        ended = jingwei("compose", spec, "--previous-state", saved(tmp_path / "state.json", held))

        assert (Exit.DECODE, "DecodeFailed") == (ended.code, failure(ended)["kind"])
        assert "is this the `state` of a choice" in ended.err

    def test_files_that_are_not_there(self, jingwei: Run, tmp_path: Path, spec: Path) -> None:
        gone = tmp_path / "gone"

        assert Exit.FILE == jingwei("compose", gone).code
        assert Exit.FILE == jingwei("compose", spec, gone).code
        assert Exit.FILE == jingwei("compose", spec, "--previous-state", gone).code


class TestWhy:
    """One item's story, from the output of `compose`."""

    def test_the_story_as_json(self, jingwei: Run, composed: Path) -> None:
        told = answer(jingwei("why", composed, "memory:m1"))

        assert (["item_id", "in_request", "origin", "story"], False) == (list(told), told["in_request"])
        assert ["gathered", "lost_to"] == [row["step"] for row in told["story"]]

    def test_the_answer_of_batch_is_one_as_well(self, jingwei: Run, tmp_path: Path, composed: Path) -> None:
        whole = json.loads(composed.read_bytes())
        batch = saved(tmp_path / "batch.json", {"id": 1, "ok": whole})
        alone = saved(tmp_path / "alone.json", whole["selection"])

        told = jingwei("why", composed, "goal").out
        assert told == jingwei("why", batch, "goal").out == jingwei("why", alone, "goal").out

    @pytest.mark.parametrize(
        ("item", "expected"),
        [
            (
                "goal",
                "item 'goal' is in the request goal of tier p0, written by: user; recall score 0 "
                "- gathered at the stage goal - chosen: it is required",
            ),
            (
                "[log]",
                "item '[log]' is in the request tool_observation of tier p1, written by: tool, "
                "from 'grep#\N{REPLACEMENT CHARACTER}7'; recall score 0.333 - gathered at the stage host "
                "- was large, and has a short form by log-v1 "
                "- chosen: nothing of its tier had to be left out",
            ),
            (
                "twin",
                "item 'twin' is not in the request fact of tier p3, written by: model; recall score 0 "
                "- gathered at the stage host - says the same as 'constraint:0000', which stands for it",
            ),
            (
                "constraint:0000",
                "item 'constraint:0000' is in the request constraint of tier p0, written by: user; "
                "recall score 0 - gathered at the stage constraints - stands for 'twin', which says the same "
                "- contradicts 'memory:m1' and holds: current_task_override - chosen: it is required",
            ),
            ("memory:m2", "item 'memory:m2' is not in the request - found and not used: tenant"),
            ("rule:0000", "- stands as a system text"),
        ],
    )
    def test_the_story_in_sentences(self, jingwei: Run, composed: Path, item: str, expected: str) -> None:
        assert expected in words(jingwei("why", composed, item, "--pretty"))

    @pytest.mark.parametrize(
        ("item", "near"),
        [
            ("memory:m3", "did you mean 'memory:m2', 'memory:m1'?"),
            ("goals", "did you mean 'goal'?"),
            ("zzzz", "`selection.origins`"),
        ],
    )
    def test_an_unknown_item_names_those_that_are_like_it(
        self, jingwei: Run, composed: Path, item: str, near: str
    ) -> None:
        ended = jingwei("why", composed, item)

        assert (Exit.INPUT, {"kind": "UnknownItem", "item_id": item, "known": 6}) == (
            ended.code,
            failure(ended),
        )
        assert f"no item {item!r}: the report speaks of 6 items" in ended.err
        assert near in ended.err

    @pytest.mark.parametrize(
        "held", [b"{", {}, [], {"request": {}, "report": {}}, {"failure": {"kind": "X"}}]
    )
    def test_what_was_not_composed_is_refused(self, jingwei: Run, tmp_path: Path, held: object) -> None:
        ended = jingwei("why", saved(tmp_path / "other.json", held), "goal")

        assert (Exit.DECODE, "DecodeFailed") == (ended.code, failure(ended)["kind"])
        assert "is this the output of `compose`" in ended.err


class TestDiff:
    """What came and what went between two requests."""

    @pytest.fixture
    def later(self, jingwei: Run, tmp_path: Path, log: Path) -> Path:
        """A smaller window, a large item in full, one more and one less."""
        body = {
            **SPEC,
            "items": [
                {**SPEC["items"][0], "compressible": False},
                {"item_id": "new", "kind": "fact", "content": "a new fact", "source": "host"},
            ],
            "large_bytes": 2**60,
            "budget": {"window": 5000, "reserved_output": 500},
        }
        return saved(tmp_path / "later.json", jingwei("compose", saved(tmp_path / "l.json", body), log).out)

    def test_as_json(self, jingwei: Run, composed: Path, later: Path) -> None:
        told = answer(jingwei("diff", composed, later))

        assert [("[log]", "expanded"), ("new", "came")] == [
            (row["item_id"], row["change"]) for row in told["items"]
        ]
        assert (["two"], []) == (told["turns_went"], told["turns_came"])
        assert told["messages_before"] == told["messages_after"] + 4

    def test_for_people(self, jingwei: Run, composed: Path, later: Path) -> None:
        there = words(jingwei("diff", composed, later, "--pretty"))
        back = words(jingwei("diff", later, composed, "--pretty"))

        assert "2 items that stand differently" in there
        assert "new came unknown to it value" in there
        assert "[log] in full again" in there
        assert "turns that came: none turns that went: 'two'" in there
        assert "[log] condensed now" in back
        assert "new went value unknown to it" in back
        assert "turns that came: 'two' turns that went: none" in back

    def test_the_same_twice(self, jingwei: Run, composed: Path) -> None:
        assert "no item stands differently" in words(jingwei("diff", composed, composed, "--pretty"))

    def test_a_build_is_a_report_too(self, jingwei: Run, tmp_path: Path, log: Path, composed: Path) -> None:
        built = saved(
            tmp_path / "built.json", jingwei("build", log, "--current", "x", "--window", "9000").out
        )

        told = answer(jingwei("diff", built, composed))
        assert ["[log]", "constraint:0000", "goal"] == [row["item_id"] for row in told["items"]]
        assert "3 items that stand differently" in words(jingwei("diff", built, composed, "--pretty"))

    def test_one_item_stands_differently(
        self, jingwei: Run, tmp_path: Path, spec: Path, composed: Path
    ) -> None:
        body = {**SPEC, "items": SPEC["items"][1:]}
        fewer = saved(tmp_path / "f.json", jingwei("compose", saved(tmp_path / "fs.json", body)).out)
        more = saved(tmp_path / "m.json", jingwei("compose", spec).out)

        assert "1 item that stands differently" in words(jingwei("diff", fewer, more, "--pretty"))

    def test_what_is_no_report(self, jingwei: Run, composed: Path, spec: Path) -> None:
        assert Exit.DECODE == jingwei("diff", composed, spec).code
        assert Exit.DECODE == jingwei("diff", spec, composed).code
        assert Exit.USAGE == jingwei("diff", "-", "-").code


class TestExplain:
    """Reports that hold items, summaries and a choice show them; all others stay as they were."""

    def test_items_and_the_choice(self, jingwei: Run, composed: Path) -> None:
        shown = words(jingwei("explain", composed))

        assert "3 of 3 items in the request" in shown
        assert "choice by value" in shown

    def test_summaries(self, jingwei: Run, tmp_path: Path, log: Path) -> None:
        seqs = {event.turn_id: (event.seq, event.event_id) for event in events_of(TABLE)}
        last, tail = seqs[TurnId("two")]
        body: Object = {
            "summary_id": "[sum]",
            "session_id": "session",
            "facts": [{"text": "the disk was full", "source_events": ["event-0"]}],
            "decisions": [],
            "hypotheses": [],
            "open_questions": [],
            "first_seq": 0,
            "last_seq": last,
            "tail_event_id": tail,
            "turn_ids": ["one", "two"],
            "version": 1,
            "supersedes": [],
            "format_version": 1,
        }
        kept = saved(tmp_path / "k.json", {**SPEC, "summaries": [body]})
        pinned = saved(tmp_path / "p.json", {**SPEC, "summaries": [body], "pinned_turns": ["one"]})
        shown, not_applied = (
            words(jingwei("explain", saved(tmp_path / "out.json", jingwei("compose", file, log).out)))
            for file in (kept, pinned)
        )

        assert f"1 summary summary version events what became of it [sum] 1 0–{last} kept" in shown
        assert f"[sum] 1 0–{last} its turns stand instead" in not_applied

    def test_a_report_without_them_says_nothing_of_them(
        self, jingwei: Run, tmp_path: Path, log: Path
    ) -> None:
        built = saved(tmp_path / "built.json", jingwei("build", log, "--current", "x").out)
        shown = words(jingwei("explain", built))

        assert "items" not in shown
        assert "choice" not in shown

    def test_costs_that_nobody_knows_are_question_marks(
        self, jingwei: Run, tmp_path: Path, composed: Path
    ) -> None:
        """A report of a counter that does not add up has none."""
        whole = json.loads(composed.read_bytes())
        for row in whole["report"]["items"]:
            row["full_cost"] = row["cost"] = None

        shown = words(jingwei("explain", saved(tmp_path / "c.json", whole)))
        assert "goal p0 goal user 0 ? ? kept required" in shown


class TestAdvise:
    """Advice is data, one a line; nothing is done."""

    def test_nothing_to_advise_is_no_line(self, jingwei: Run, log: Path, composed: Path) -> None:
        quiet = ("--result-cap", "100000")

        assert (Exit.OK, b"") == ((ended := jingwei("advise", log, composed, *quiet)).code, ended.out)
        assert "nothing to advise" == words(jingwei("advise", log, composed, *quiet, "--pretty"))

    def test_every_advice(self, jingwei: Run, log: Path, composed: Path) -> None:
        options = (
            *("--expected-tokens", "8000", "--threshold", "0.6"),
            *("--unused", "[log]=10", "--unused", "goal=99"),
            *("--stage-before", "plan", "--stage-now", "code", "--quality-fell"),
        )
        ended = jingwei("advise", log, composed, *options)
        told = [json.loads(line) for line in ended.out.splitlines()]

        assert (Exit.OK, "") == (ended.code, ended.err)
        assert [
            *("condense_finished", "condense_result", "lower_weight", "summarize_stage", "look_for_noise")
        ] == [one["kind"] for one in told]
        assert (8000, 5400, "by_condensing") == tuple(
            told[0][key] for key in ("expected", "threshold", "reach")
        )
        assert (4096, "by_condensing") == (told[1]["cap_bytes"], told[1]["reach"])
        assert ("[log]", 10) == (told[2]["item_id"], told[2]["turns"])
        assert ("plan", "code") == (told[3]["before"], told[3]["now"])

        shown = words(jingwei("advise", log, composed, *options, "--pretty"))
        assert "- condense finished steps: 8,000 tokens are expected, and the threshold is 5,400" in shown
        assert "- condense the result 'event-" in shown
        assert (
            "- lower the weight of item '[log]': nothing has referred to it for 10 turns; it takes" in shown
        )
        assert "- summarise stage 'plan': stage 'code' has begun" in shown
        assert (
            "- look for noise, since the answers became worse; tokens by kind: turns of the history" in shown
        )

    def test_what_cannot_be_reached_is_said_clearly(self, jingwei: Run, log: Path, composed: Path) -> None:
        options = ("--expected-tokens", "100000", "--result-cap", "100000")
        (line,) = jingwei("advise", log, composed, *options).out.splitlines()

        assert "not_reachable" == json.loads(line)["reach"]
        assert "NOT reachable" in words(jingwei("advise", log, composed, *options, "--pretty"))

    def test_the_expected_input_is_that_of_the_report_unless_it_is_said(
        self, jingwei: Run, log: Path, composed: Path
    ) -> None:
        tokens = json.loads(composed.read_bytes())["report"]["attempts"][-1]["count"]["tokens"]
        (line, *_) = jingwei("advise", log, composed, "--threshold", "0.01").out.splitlines()

        assert sum(tokens.values()) == json.loads(line)["expected"]

    def test_a_turn_that_still_runs_is_passed_over(
        self, jingwei: Run, tmp_path: Path, log: Path, composed: Path
    ) -> None:
        opened = saved(
            tmp_path / "open.jsonl", encode_log(events_of(f"{TABLE}; turn four; user; call b")).unwrap()
        )
        quality = ("--quality-fell",)

        assert (
            jingwei("advise", log, composed, *quality).out
            == jingwei("advise", opened, composed, *quality).out
        )

    def test_the_cap_says_what_is_large(self, jingwei: Run, log: Path, composed: Path) -> None:
        """Also where it is smaller than a preview usually is."""
        (line,) = jingwei("advise", log, composed, "--result-cap", "900").out.splitlines()

        assert (900, "by_condensing") == (json.loads(line)["cap_bytes"], json.loads(line)["reach"])

    def test_a_plan_that_has_ended(self, jingwei: Run, log: Path, composed: Path) -> None:
        shown = words(jingwei("advise", log, composed, "--stage-before", "plan", "--pretty"))

        assert "summarise stage 'plan': the plan has ended" in shown

    @pytest.mark.parametrize(
        ("options", "reason", "said"),
        [
            (("--threshold", "0"), "threshold_out_of_range", "(0)"),
            (("--threshold", "1.01"), "threshold_out_of_range", "--threshold is a share"),
            (("--result-cap", "0"), "cap_out_of_range", "--result-cap"),
            (("--stale-turns", "0"), "stale_out_of_range", "--stale-turns"),
            (("--unused", "a=-1"), "negative_turns", "--unused ITEM=TURNS"),
        ],
    )
    def test_triggers_that_cannot_be_meant(
        self, jingwei: Run, log: Path, composed: Path, options: tuple[str, ...], reason: str, said: str
    ) -> None:
        ended = jingwei("advise", log, composed, *options)

        assert Exit.USAGE == ended.code
        assert ["InvalidTriggers", reason] == [failure(ended)[key] for key in ("kind", "reason")]
        assert said in ended.err

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--threshold", "nan"), "--threshold: expected a number of at least 0, met 'nan'"),
            (("--threshold", "-1"), "met '-1'"),
            (("--threshold", "1e999"), "met '1e999'"),
            (("--unused", "a"), "--unused: expected ITEM=TURNS, met 'a'"),
            (("--unused", "a="), "met 'a='"),
            (("--unused", "a=x"), "met 'a=x'"),
            (("--unused", f"a={'9' * 30}"), "expected ITEM=TURNS"),
            (("--unused", "a=1", "--unused", "a=2"), "item 'a' is named more than once"),
            (("--stage-now", "x"), "--stage-before"),
            (("--expected-tokens", "-1"), "--expected-tokens"),
        ],
    )
    def test_wrong_use(
        self, jingwei: Run, log: Path, composed: Path, options: tuple[str, ...], said: str
    ) -> None:
        ended = jingwei("advise", log, composed, *options)

        assert (Exit.USAGE, b"") == (ended.code, ended.out)
        assert said in " ".join(ended.err.replace("│", "").split())

    def test_all_of_it_is_said_or_nothing(self, jingwei: Run, log: Path, composed: Path) -> None:
        """A stage that no JSON can hold does not leave half an answer."""
        ended = jingwei("advise", log, composed, "--stage-before", "\udcff")

        assert (Exit.INPUT, b"") == (ended.code, ended.out)
        assert "surrogate" in ended.err

    def test_an_item_that_the_report_does_not_know_is_passed_over_aloud(
        self, jingwei: Run, log: Path, composed: Path
    ) -> None:
        ended = jingwei("advise", log, composed, "--unused", "a=b=12", "--result-cap", "100000")

        assert (Exit.OK, b"") == (ended.code, ended.out)
        assert "the report speaks of no item 'a=b': passed over" in ended.err

    def test_another_counter_is_named(self, jingwei: Run, tmp_path: Path, log: Path, composed: Path) -> None:
        whole = json.loads(composed.read_bytes())
        whole["report"]["attempts"][-1]["count"]["method"] = "exact-v7"
        ended = jingwei("advise", log, saved(tmp_path / "c.json", whole))

        assert Exit.OK == ended.code
        assert "the report was counted by exact-v7" in ended.err

    def test_a_report_that_counted_nothing_names_no_counter(
        self, jingwei: Run, tmp_path: Path, log: Path, composed: Path
    ) -> None:
        whole = json.loads(composed.read_bytes())
        whole["report"]["attempts"] = []
        ended = jingwei("advise", log, saved(tmp_path / "c.json", whole), "--result-cap", "100000")

        assert (Exit.OK, "") == (ended.code, ended.err)

    def test_the_log_is_that_of_the_report(
        self, jingwei: Run, tmp_path: Path, log: Path, composed: Path
    ) -> None:
        other = saved(tmp_path / "other.jsonl", log.read_bytes().replace(b'"session"', b'"another"'))
        ended = jingwei("advise", other, composed)

        assert (Exit.LOG, "WrongSession") == (ended.code, failure(ended)["kind"])
        assert Exit.USAGE == jingwei("advise", "-", "-").code
        assert Exit.DECODE == jingwei("advise", log, log).code


class TestSentences:
    """What no example above reaches."""

    @pytest.mark.parametrize(
        ("advice", "expected"),
        [
            (
                CondenseFinished(
                    expected=9,
                    threshold=5,
                    by_condensing=1,
                    by_leaving_out=4,
                    reach=Reach.BY_LEAVING_OUT,
                    turns=(TurnId("t"),),
                ),
                "- leave out old turns: 9 tokens are expected, and the threshold is 5; "
                "condensing 1 turn frees 1, too little; "
                "leaving out every turn that may go frees 4, which is enough",
            ),
            (
                CondenseResult(
                    event_id=EventId("e\n"),
                    turn_id=TurnId("t"),
                    actual_bytes=9,
                    cap_bytes=5,
                    reclaimable=0,
                    reach=Reach.BY_LEAVING_OUT,
                ),
                "- the result 'e\\n' of turn 't' has 9 bytes, where the cap is 5, "
                "and no preview is within the cap: only leaving its turn out helps",
            ),
            (
                LowerWeight(item_id=ItemId("i"), turns=1, reclaimable=None),
                "- lower the weight of item 'i': nothing has referred to it for 1 turn; it takes ? tokens",
            ),
            (
                LookForNoise(shares=()),
                "- look for noise, since the answers became worse; tokens by kind: none",
            ),
        ],
    )
    def test_advice(self, advice: Advice, expected: str) -> None:
        assert expected == str(advice_text([advice]))

    def test_sizes_of_previews(self) -> None:
        said = say_compose(InvalidPolicy(reason=PolicyProblem.PREVIEW_OVER_INLINE, actual=9, limit=5))

        assert "the sizes of previews are invalid: 9, where 5 is the bound: preview_over_inline" == said.what

    @pytest.mark.parametrize(
        ("number", "expected"),
        [
            (Fraction(0), "0"),
            (Fraction(1, 3), "0.333"),
            (Fraction(1, 2), "0.5"),
            (Fraction(-3, 2), "-1.5"),
            (Fraction(-1, 9999), "0"),
            (Fraction(12345), "12,345"),
            (Fraction(2**64), "beyond 2^64"),
            (Fraction(10**5000), "beyond 2^64"),
            (Fraction(1, 10**5000), "0"),
        ],
    )
    def test_exact_numbers_for_people(self, number: Fraction, expected: str) -> None:
        assert expected == decimal(number)
