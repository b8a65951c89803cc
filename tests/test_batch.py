"""The batch contract, to the letter (docs/batch.md)."""

import base64
import json
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jingwei.batch import build_spec, serve
from jingwei.jsontext import JsonValue
from jingwei.ops.requests import BadRequest

Object = dict[str, Any]

USER = {"type": "user_message", "text": "hi"}
REPLY = {"type": "assistant_message", "version": 1, "text": "yo"}
DONE = {"type": "done", "status": "completed"}


def event(seq: int, kind: Object, turn: str = "t", **more: str) -> Object:
    return {"event_id": f"e{seq}", "session_id": "s", "turn_id": turn, **more, "seq": seq, "kind": kind}


EVENTS = [event(0, USER), event(1, REPLY, message_id="m"), event(2, DONE)]
BUDGET = {
    "window_tokens": 100,
    "output_reserve": 5,
    "output_evidence": "estimate",
    "safety_margin": 0,
    "mode": "soft",
}
BUILD: Object = {
    "op": "build",
    "target": {"model": "m", "template_revision": "t"},
    "budget": BUDGET,
    "current": [{"role": "user", "content": "x"}],
}
FROM_EVENTS = {**BUILD, "session_id": "s", "events": EVENTS}
BOUND = {
    "kind": "byte_bound",
    "model": "m",
    "template_revision": "t",
    "normalization": "none",
    "json_factor": [3, 2],
    "allowance": {part: {"bytes": 8, "specials": 2} for part in ("message", "call", "tool", "request")},
}


def ask(request: object) -> Object:
    """One answer, of which every key is known."""
    line = request if isinstance(request, str) else json.dumps(request)
    answer: Object = json.loads(serve(line.encode()))
    assert list(answer) in (["id", "ok"], ["id", "failure"])
    return answer


def failure(request: object) -> Object:
    told: Object = ask(request)["failure"]
    return told


class TestRequests:
    """What is no request is a BadRequest, and says where."""

    @pytest.mark.parametrize(
        ("line", "path"),
        [
            ("", ""),
            ("   ", ""),
            ("[]", ""),
            ("5", ""),
            ('{"op":"shape"', ""),
            ('{"op":"shape","op":"shape"}', "/op"),
            ('{"op":"shape","messages":["\\ud800"]}', "/messages/0"),
            ('{"op":"shape","messages":[NaN]}', "/messages/0"),
            ("{}", "/op"),
            ('{"op":null}', "/op"),
            ('{"op":5}', "/op"),
            ('{"op":"Shape"}', "/op"),
            ('{"op":"shape","messages":[],"more":1}', "/more"),
            ('{"op":"shape"}', "/messages"),
            ('{"op":"shape","messages":{}}', "/messages"),
            ('{"op":"shape","messages":[{"role":"robot"}]}', "/messages/0/role"),
            ('{"op":"shape","messages":[{"role":"tool","call_id":" ","content":""}]}', "/messages/0/call_id"),
            ('{"op":"decode"}', ""),
            ('{"op":"decode","text":"","bytes_base64":""}', ""),
            ('{"op":"decode","text":5}', "/text"),
            ('{"op":"decode","bytes_base64":"?"}', "/bytes_base64"),
            ('{"op":"project","session_id":"s"}', "/events"),
            ('{"op":"project","session_id":"s","events":5}', "/events"),
            ('{"op":"project","events":[]}', "/session_id"),
            (
                '{"op":"project","session_id":"s","events":[],"config":{"max_events":-1}}',
                "/config/max_events",
            ),
            ('{"op":"project","session_id":"s","events":[],"config":{"max":1}}', "/config/max"),
            ('{"op":"diagnose","session_id":"s","events":[],"config":{}}', "/config"),
        ],
    )
    def test_a_line_that_is_no_request(self, line: str, path: str) -> None:
        answer = ask(line)

        assert answer["id"] is None
        assert {"kind", "reason", "path"} == set(answer["failure"])
        assert ("BadRequest", path) == (answer["failure"]["kind"], answer["failure"]["path"])

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"events": None}, "/events"),
            ({"budget": {**BUDGET, "window_tokens": 2**64}}, "/budget/window_tokens"),
            ({"budget": {**BUDGET, "safety_margin": "0"}}, "/budget/safety_margin"),
            ({"budget": {k: v for k, v in BUDGET.items() if k != "mode"}}, "/budget/mode"),
            ({"budget": {**BUDGET, "mode": "firm"}}, "/budget/mode"),
            ({"limits": {"max_count_calls": 1.5}}, "/limits/max_count_calls"),
            ({"target": {"model": "m"}}, "/target/template_revision"),
            ({"strategy": "newest"}, "/strategy"),
            ({"search": "fast"}, "/search"),
            ({"counter": {"kind": "exact"}}, "/counter/kind"),
            ({"counter": {**BOUND, "json_factor": [1, 2]}}, "/counter/json_factor"),
            ({"counter": {**BOUND, "json_factor": [1]}}, "/counter/json_factor"),
            ({"counter": {**BOUND, "normalization": "nfkc"}}, "/counter/normalization"),
            ({"projection": {}}, ""),
        ],
    )
    def test_a_build_that_is_no_request(self, change: Object, path: str) -> None:
        told = failure({**FROM_EVENTS, **change})

        assert ("BadRequest", path) == (told["kind"], told["path"])

    @pytest.mark.parametrize("given_id", [None, 0, "x", [1, {"a": None}], 10**30, 1.5, {"z": 1, "a": 2}])
    def test_the_id_comes_back_as_it_was(self, given_id: object) -> None:
        line = json.dumps({"id": given_id, "op": "shape", "messages": []}, separators=(",", ":"))

        assert serve(line.encode()).startswith('{"id":' + json.dumps(given_id, separators=(",", ":")) + ",")

    def test_the_id_comes_back_with_a_bad_request(self) -> None:
        assert 7 == ask({"id": 7, "op": "nope"})["id"]

    @given(st.binary(max_size=60))
    def test_no_line_ends_the_process(self, line: bytes) -> None:
        answer = json.loads(serve(line))

        assert {"id", "failure"} == set(answer)

    @given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
    def test_no_value_of_any_key_ends_the_process(self, value: object) -> None:
        for key in FROM_EVENTS:
            json.loads(serve(json.dumps({**FROM_EVENTS, key: value}).encode("utf-8", "surrogatepass")))


class TestDecode:
    def test_canonical_events(self) -> None:
        text = "".join(json.dumps({**e, "unknown": 1}) + "\n" for e in EVENTS)

        assert {"id": None, "ok": {"events": EVENTS}} == ask({"op": "decode", "text": text})

    def test_bytes_that_are_no_text(self) -> None:
        data = base64.b64encode(b"\xff\n").decode()

        assert {
            "kind": "DecodeFailed",
            "reason": "invalid_utf8",
            "line": 1,
            "byte_offset": 0,
            "path": None,
            "expected": "UTF-8",
            "actual": "FF at byte 0 of the line",
            "whole_bytes": None,
        } == failure({"op": "decode", "bytes_base64": data})

    def test_a_torn_last_line(self) -> None:
        whole = json.dumps(EVENTS[0]) + "\n"
        told = failure({"op": "decode", "text": whole + "{"})

        assert ("torn_last_line", 2, len(whole), len(whole)) == (
            told["reason"],
            told["line"],
            told["byte_offset"],
            told["whole_bytes"],
        )


class TestProject:
    def test_every_key(self) -> None:
        assert {
            "algorithm_version": 1,
            "session_id": "s",
            "source_event_count": 3,
            "source_tail": "e2",
            "config": {
                "legacy_replies": "reject",
                "max_events": 100_000,
                "max_input_bytes": 16_777_216,
                "max_messages": 50_000,
            },
            "groups": [
                {
                    "turn_id": "t",
                    "kind": "user",
                    "source_events": ["e0"],
                    "messages": [{"role": "user", "content": "hi"}],
                },
                {
                    "turn_id": "t",
                    "kind": "assistant",
                    "source_events": ["e1"],
                    "messages": [{"role": "assistant", "content": "yo"}],
                },
            ],
            "turns": [
                {
                    "turn_id": "t",
                    "state": "completed",
                    "terminal_event": "e2",
                    "missing_complete_reply": False,
                }
            ],
            "omitted": [{"event_id": "e2", "seq": 2, "reason": "audit"}],
        } == ask({"op": "project", "session_id": "s", "events": EVENTS})["ok"]

    def test_an_event_that_does_not_decode_has_its_index(self) -> None:
        bad = [EVENTS[0], {**EVENTS[1], "seq": "1"}]
        told = failure({"op": "project", "session_id": "s", "events": bad})

        assert ("DecodeFailed", "wrong_type", "/seq", 1) == (
            told["kind"],
            told["reason"],
            told["path"],
            told["index"],
        )
        assert told["line"] is None

    @pytest.mark.parametrize(
        ("request_", "expected"),
        [
            ({"session_id": " ", "events": []}, {"kind": "InvalidConfig", "reason": "blank_session_id"}),
            (
                {"session_id": "s", "events": EVENTS, "config": {"max_events": 2}},
                {"kind": "LimitExceeded", "what": "events", "limit": 2, "actual": 3},
            ),
            (
                {"session_id": "x", "events": EVENTS},
                {"kind": "WrongSession", "physical_index": 0, "expected": "x", "actual": "s"},
            ),
            (
                {"session_id": "s", "events": EVENTS[1:]},
                {"kind": "WrongSequence", "physical_index": 0, "expected": 0, "actual": 1},
            ),
            (
                {"session_id": "s", "events": [EVENTS[0], {**EVENTS[1], "event_id": "e0"}]},
                {"kind": "DuplicateEventId", "physical_index": 1, "event_id": "e0"},
            ),
            (
                {"session_id": "s", "events": [event(0, REPLY, message_id="m")]},
                {
                    "kind": "Malformed",
                    "event_id": "e0",
                    "seq": 0,
                    "turn_id": "t",
                    "reason": "work_before_user",
                },
            ),
            (
                {"session_id": "s", "events": EVENTS[:2]},
                {
                    "kind": "Unconfirmed",
                    "turn_id": "t",
                    "open_tool_calls": [],
                    "open_model_calls": [],
                    "unterminated": True,
                },
            ),
            (
                {"session_id": "s", "events": [event(0, USER), event(1, DONE)]},
                {"kind": "MissingReply", "turn_id": "t"},
            ),
        ],
    )
    def test_each_failure_with_its_facts(self, request_: Object, expected: Object) -> None:
        assert expected == failure({"op": "project", **request_})


class TestDiagnose:
    def test_every_violation_and_what_admits(self) -> None:
        events = [event(0, USER), event(1, DONE), event(2, USER, "u"), event(3, DONE, "u")]

        assert {
            "violations": [
                {
                    "seq": seq,
                    "event_id": f"e{seq}",
                    "turn_id": turn,
                    "rule": "P6",
                    "kind": "MissingReply",
                    "reason": None,
                }
                for seq, turn in ((1, "t"), (3, "u"))
            ],
            "admits": {"legacy_replies": "omit"},
            "way_out": {
                "kind": "configuration",
                "earlier_turns": None,
                "config": {"legacy_replies": "omit"},
            },
        } == ask({"op": "diagnose", "session_id": "s", "events": events})["ok"]

    def test_what_no_choice_admits(self) -> None:
        told = ask({"op": "diagnose", "session_id": "s", "events": [event(0, USER), event(0, DONE)]})["ok"]

        assert (None, None) == (told["admits"], told["way_out"])
        assert ("L1", "WrongSequence") == (told["violations"][0]["rule"], told["violations"][0]["kind"])

    def test_a_damaged_turn_can_be_left_out(self) -> None:
        events = [event(0, REPLY, message_id="m")]
        told = ask({"op": "diagnose", "session_id": "s", "events": events})["ok"]
        config = {"damaged_turns": "quarantine"}
        found = ask({"op": "project", "session_id": "s", "events": events, "config": config})["ok"]

        assert config == told["admits"]
        assert ("P4", "Malformed", "work_before_user") == (
            told["violations"][0]["rule"],
            told["violations"][0]["kind"],
            told["violations"][0]["reason"],
        )
        assert [("t", "quarantined")] == [(turn["turn_id"], turn["state"]) for turn in found["turns"]]
        assert ["quarantined"] == [omission["reason"] for omission in found["omitted"]]
        assert "quarantine" == found["config"]["damaged_turns"]

    def test_the_way_out_can_be_gone(self) -> None:
        """What it says is what `recover` and `project` take."""
        call = {"type": "tool_call", "call": {"id": "c", "name": "f", "arguments": {}}}
        whole = [event(0, USER), event(1, call), event(2, {**DONE, "status": "cancelled"})]
        cut = [*whole, event(3, USER, "u"), event(4, call, "u")]
        ways = [
            ask({"op": "diagnose", "session_id": "s", "events": events})["ok"]["way_out"]
            for events in (whole, cut, whole[:2])
        ]
        asked = {"op": "recover", "session_id": "s", "events": cut, "earlier_turns": ways[1]["earlier_turns"]}
        closed = [*cut, *ask(asked)["ok"]["events"]]
        found = ask({"op": "project", "session_id": "s", "events": closed, "config": ways[1]["config"]})["ok"]

        leaving_out = {"damaged_turns": "quarantine"}

        assert [
            {"kind": "configuration", "earlier_turns": None, "config": leaving_out},
            {"kind": "close_then_configuration", "earlier_turns": "keep", "config": leaving_out},
            {"kind": "close_abandoned", "earlier_turns": "reject", "config": {}},
        ] == ways
        assert ["quarantined", "cancelled"] == [turn["state"] for turn in found["turns"]]

    def test_arguments_that_no_build_can_send_are_a_warning(self) -> None:
        call = {"type": "tool_call", "call": {"id": "c", "name": "f", "arguments": [1]}}
        result = {
            "type": "tool_result",
            "result": {"call_id": "c", "outcome": {"status": "succeeded", "output": ""}},
        }
        events = [event(0, USER), event(1, call), event(2, result), event(3, {**DONE, "status": "cancelled"})]

        projected = ask({"op": "project", "session_id": "s", "events": events})
        told = ask({"op": "diagnose", "session_id": "s", "events": events})["ok"]
        built = failure({**FROM_EVENTS, "events": events})

        assert "ok" in projected
        assert [(1, "M3", "ArgumentsNotObject", "warning")] == [
            (v["seq"], v["rule"], v["kind"], v["reason"]) for v in told["violations"]
        ]
        assert {"kind": "ShapeInvalid", "error": {"kind": "ArgumentsNotObject"}} == built


class TestSpec:
    """What the command line hands in is read as the op reads it."""

    @pytest.mark.parametrize("value", [None, 5, "x", [], [{}]])
    def test_a_spec_that_is_no_object(self, value: JsonValue) -> None:
        assert BadRequest(reason="expected an object", path="") == build_spec(value)

    def test_the_keys_of_the_history_are_no_part_of_a_spec(self) -> None:
        found = build_spec({"session_id": "s"})

        assert isinstance(found, BadRequest)
        assert "/session_id" == found.path


class TestShape:
    def test_well_formed(self) -> None:
        assert {} == ask({"op": "shape", "messages": [{"role": "user", "content": ""}]})["ok"]

    def test_the_index_stands_where_the_rule_gives_one(self) -> None:
        tool = {"role": "tool", "call_id": "c", "content": ""}

        assert {"kind": "EmptyMessages"} == failure({"op": "shape", "messages": []})
        assert {"kind": "UnmatchedToolResult", "index": 0} == failure({"op": "shape", "messages": [tool]})


class TestBuild:
    def test_every_key_of_the_report(self) -> None:
        built = ask(FROM_EVENTS)["ok"]

        assert {"messages", "constraint"} == set(built["request"])
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
        ] == list(built["report"])[:15]
        assert [
            {
                "turn_id": "t",
                "source_events": ["e0", "e1"],
                "retained": True,
                "protected": False,
                "reduction": None,
            }
        ] == built["report"]["turns"]
        attempt = built["report"]["attempts"][-1]
        assert ["removed_turns", "plan_steps", "count", "total_reserved"] == list(attempt)
        assert ["target", "method", "evidence", "tokens"] == list(attempt["count"])
        assert ["system", "messages", "constraint", "template"] == list(attempt["count"]["tokens"])

    @pytest.mark.parametrize(
        "change", [{"session_id": "x"}, {"config": {"max_events": 2}}, {"events": EVENTS[:2]}]
    )
    def test_a_log_that_does_not_project_is_not_built_from(self, change: Object) -> None:
        history = {"session_id": "s", "events": EVENTS, **change}

        assert failure({"op": "project", **history}) == failure({**BUILD, **history})

    def test_a_projection_verbatim_builds_the_same(self) -> None:
        projection = ask({"op": "project", "session_id": "s", "events": EVENTS})["ok"]

        assert ask(FROM_EVENTS) == ask({**BUILD, "projection": projection})

    def test_a_tampered_projection_is_not_admitted(self) -> None:
        projection = ask({"op": "project", "session_id": "s", "events": EVENTS})["ok"]
        projection["groups"][0]["source_events"] = []

        assert {
            "kind": "InvalidInput",
            "reason": "group_without_sources",
            "path": "/projection/groups/0/source_events",
        } == failure({**BUILD, "projection": projection})

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"session_id": "s"}, "/session_id"),
            ({"config": {}}, "/config"),
            ({"projection": 5}, "/projection"),
            ({"projection": {}}, "/projection/algorithm_version"),
        ],
    )
    def test_what_stands_beside_or_in_place_of_a_projection_is_refused(
        self, change: Object, path: str
    ) -> None:
        projection = ask({"op": "project", "session_id": "s", "events": EVENTS})["ok"]

        told = failure({**BUILD, "projection": projection, **change})

        assert ("BadRequest", path) == (told["kind"], told["path"])

    def test_faults_of_inputs_come_before_those_of_the_history(self) -> None:
        projection = ask({"op": "project", "session_id": "s", "events": EVENTS})["ok"]
        projection["groups"][0]["turn_id"] = "unknown"

        told = failure(
            {**BUILD, "projection": projection, "target": {"model": " ", "template_revision": "t"}}
        )

        assert ("InvalidInput", "blank_model") == (told["kind"], told["reason"])

    def test_a_report_comes_with_each_failure_from_the_first_count_on(self) -> None:
        told = failure({**FROM_EVENTS, "budget": {**BUDGET, "window_tokens": 10}})

        assert ("DoesNotFit", True) == (told["kind"], told["exhaustive"])
        assert [False] == [row["retained"] for row in told["report"]["turns"]]
        assert ["dropped"] == [row["reduction"] for row in told["report"]["turns"]]

    def test_a_verified_bound_satisfies_hard_mode(self) -> None:
        hard = {**BUDGET, "window_tokens": 500, "mode": "hard", "output_evidence": "verified_upper_bound"}

        built = ask({**FROM_EVENTS, "budget": hard, "counter": BOUND})["ok"]
        estimate = failure({**FROM_EVENTS, "budget": hard})

        assert "verified_upper_bound" == built["report"]["attempts"][-1]["count"]["evidence"]
        assert ("UnverifiedCount", "evidence") == (estimate["kind"], estimate["reason"])

    def test_a_bound_for_another_model_is_refused(self) -> None:
        told = failure({**FROM_EVENTS, "counter": {**BOUND, "model": "other"}})

        assert "CounterFailed" == told["kind"]
        assert "other" in told["reason"]


ROOMY = {**BUDGET, "window_tokens": 10_000}
LARGE: Object = {
    "type": "tool_result",
    "result": {"call_id": "c", "outcome": {"status": "succeeded", "output": "x" * 9000}},
}


def with_results(turns: int) -> list[Object]:
    """Turns with one large result each."""
    call = {"type": "tool_call", "call": {"id": "c", "name": "f", "arguments": {}}}
    return [
        made
        for n in range(turns)
        for made in (
            event(5 * n, USER, f"t{n}"),
            event(5 * n + 1, call, f"t{n}"),
            event(5 * n + 2, LARGE, f"t{n}"),
            event(5 * n + 3, REPLY, f"t{n}", message_id=f"m{n}"),
            event(5 * n + 4, DONE, f"t{n}"),
        )
    ]


class TestStrategies:
    """A strategy is a name, or an object with its sizes; costs are the counter's."""

    def built(self, **keys: Any) -> Object:
        asked = {**BUILD, "session_id": "s", "events": with_results(4), "budget": ROOMY, **keys}
        report: Object = ask(asked)["ok"]["report"]
        return report

    def test_marks_stand_in_the_report(self) -> None:
        low = self.built(strategy={"kind": "stable_prefix", "high": 5000})
        chosen = self.built(strategy={"kind": "stable_prefix", "high": 5000, "low": 5000})

        assert {"high": 5000, "low": 3500, "cut": "t2", "moves": 1, "kept_cost": 4630, "broke": False} == (
            low["marks"]
        )
        assert {**low["marks"], "low": 5000, "moves": 2} == chosen["marks"]
        assert "stable_prefix" == low["strategy"]

    def test_costs_of_marks_are_those_of_the_counter(self) -> None:
        report = self.built(
            strategy={"kind": "stable_prefix", "high": 30_000},
            counter=BOUND,
            budget={**ROOMY, "window_tokens": 90_000},
        )

        assert 9000 < report["marks"]["kept_cost"]

    def test_what_is_condensed_and_how_much_of_it_is_shown(self) -> None:
        tight = {**BUDGET, "window_tokens": 5300}
        usual = self.built(strategy="condense_then_drop", budget=tight)
        chosen = self.built(
            strategy={
                "kind": "condense_then_drop",
                "keep_newest": 1,
                "batch_turns": 1,
                "inline_bytes": 600,
                "preview_bytes": 9,
            },
            budget=tight,
        )

        assert ["condensed", "condensed", None, None] == [row["reduction"] for row in usual["turns"]]
        assert {"inline_bytes": 4096, "preview_bytes": 512} == usual["turns"][0]["policy"]
        assert {"inline_bytes": 600, "preview_bytes": 9} == chosen["turns"][0]["policy"]
        assert 2 == chosen["attempts"][-1]["plan_steps"]

    def test_a_name_is_the_object_without_sizes(self) -> None:
        for name in ("oldest_turn_first", "condense_then_drop"):
            assert self.built(strategy=name) == self.built(strategy={"kind": name})
        assert self.built() == self.built(strategy="oldest_turn_first")

    def test_a_foreign_projection_takes_them_too(self) -> None:
        events = with_results(2)
        projection = ask({"op": "project", "session_id": "s", "events": events})["ok"]
        asked = {**BUILD, "strategy": {"kind": "stable_prefix", "high": 2500}, "budget": ROOMY}

        assert ask({**asked, "session_id": "s", "events": events}) == ask({**asked, "projection": projection})

    @pytest.mark.parametrize(
        ("strategy", "path"),
        [
            ("stable_prefix", "/strategy/high"),
            ("newest", "/strategy"),
            (5, "/strategy"),
            ({}, "/strategy/kind"),
            ({"kind": "newest"}, "/strategy/kind"),
            ({"kind": "stable_prefix", "high": 5, "low": 6}, "/strategy"),
            ({"kind": "stable_prefix", "high": 0}, "/strategy"),
            ({"kind": "stable_prefix", "high": -1}, "/strategy/high"),
            ({"kind": "oldest_turn_first", "high": 1}, "/strategy/high"),
            ({"kind": "condense_then_drop", "batch_turns": 0}, "/strategy/batch_turns"),
            ({"kind": "condense_then_drop", "preview_bytes": 0}, "/strategy/preview_bytes"),
            ({"kind": "condense_then_drop", "inline_bytes": 9}, "/strategy/preview_bytes"),
        ],
    )
    def test_what_is_no_strategy(self, strategy: object, path: str) -> None:
        told = failure({**FROM_EVENTS, "strategy": strategy})

        assert ("BadRequest", path) == (told["kind"], told["path"])

    def test_exchanges_of_the_running_turn_may_be_reduced(self) -> None:
        call = {"id": "c", "name": "f", "arguments": {}}
        group = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "call_id": "c", "content": "x" * 600},
        ]
        asked = {**FROM_EVENTS, "current": [{"role": "user", "content": "x"}, *group, *group]}
        asked["budget"] = {**BUDGET, "window_tokens": 290}

        assert "DoesNotFit" == failure(asked)["kind"]
        report = ask({**asked, "reduce_current": True})["ok"]["report"]
        assert [
            {"call_ids": ["c"], "retained": False, "reduction": "dropped"},
            {"call_ids": ["c"], "retained": True, "reduction": None},
        ] == report["exchanges"]


class TestCompare:
    """What a prompt cache feels: in the report of a build, and asked for by itself."""

    def reports(self) -> tuple[Object, Object]:
        """The same build, the second time with a window that holds current alone."""
        one, two = (
            ask({**FROM_EVENTS, "budget": {**BUDGET, "window_tokens": window}})["ok"]["report"]
            for window in (100, 60)
        )
        return one, two

    def test_every_key(self) -> None:
        before, now = self.reports()
        plan = ask({"op": "compare", "previous": before, "report": now})["ok"]

        assert [
            "common_messages",
            "common_tokens",
            "changed_at",
            "reason",
            "written_tokens",
            "rewritten_tokens",
            "freed_tokens",
            "pays_after",
        ] == list(plan)
        assert (0, 0, "window") == (plan["common_messages"], plan["changed_at"], plan["reason"])

    def test_a_build_against_a_previous_report_says_the_same(self) -> None:
        before, now = self.reports()
        again = ask({**FROM_EVENTS, "budget": now["budget"], "previous": before})["ok"]["report"]

        assert now == {**again, "cache": None}
        assert ask({"op": "compare", "previous": before, "report": now})["ok"] == again["cache"]

    def test_prices_are_ratios(self) -> None:
        before, now = self.reports()
        asked = {"op": "compare", "previous": before, "report": now}
        dear = ask({**asked, "prices": {"read": [1, 100], "write": [3, 2]}})["ok"]
        usual = ask({**asked, "prices": None})["ok"]

        assert dear["pays_after"] > usual["pays_after"]
        assert usual == ask({**asked, "prices": {"read": [1, 10], "write": [5, 4]}})["ok"]

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"previous": None}, "/previous"),
            ({"report": {}}, "/report/algorithm_version"),
            ({"more": 1}, "/more"),
            ({"prices": {"read": [1, 10]}}, "/prices/write"),
            ({"prices": {"read": [1], "write": [1, 1]}}, "/prices/read"),
            ({"prices": {"read": [1, 10], "write": [1, 0]}}, "/prices/write"),
            ({"prices": {"read": [0, 1], "write": [1, 1]}}, "/prices"),
            ({"prices": {"read": [2, 1], "write": [1, 1]}}, "/prices"),
            ({"prices": {"read": [0.1], "write": [1, 1]}}, "/prices/read/0"),
        ],
    )
    def test_what_is_no_comparison(self, change: Object, path: str) -> None:
        before, now = self.reports()
        told = failure({"op": "compare", "previous": before, "report": now, **change})

        assert ("BadRequest", path) == (told["kind"], told["path"])

    def test_a_previous_report_that_is_none_is_a_bad_request(self) -> None:
        before, _ = self.reports()
        told = failure({**FROM_EVENTS, "previous": {**before, "search": "auto!"}})

        assert ("BadRequest", "/previous/search") == (told["kind"], told["path"])


class TestRecover:
    """The events that close a turn which was cut off, for hosts in other languages."""

    CALL: ClassVar[Object] = {"type": "tool_call", "call": {"id": "c", "name": "f", "arguments": {}}}

    def test_every_key(self) -> None:
        events = [event(0, USER), event(1, self.CALL)]
        told = ask({"op": "recover", "session_id": "s", "events": events})["ok"]
        whole = [*events, *told["events"]]

        assert ["turn_id", "events", "tool_calls", "model_calls"] == list(told)
        assert ("t", ["c"], []) == (told["turn_id"], told["tool_calls"], told["model_calls"])
        assert ["recovered_event_2", "recovered_event_3", "recovered_event_4"] == [
            one["event_id"] for one in told["events"]
        ]
        projected = ask({"op": "project", "session_id": "s", "events": whole})["ok"]
        assert ["cancelled"] == [turn["state"] for turn in projected["turns"]]

    def test_a_log_that_needs_none(self) -> None:
        told = ask({"op": "recover", "session_id": "s", "events": EVENTS, "id_prefix": "x"})["ok"]

        assert {"turn_id": None, "events": [], "tool_calls": [], "model_calls": []} == told

    def test_ids_begin_as_they_are_told_to(self) -> None:
        asked = {"op": "recover", "session_id": "s", "events": [event(0, USER), event(1, self.CALL)]}

        assert "mine_event_2" == ask({**asked, "id_prefix": "mine_"})["ok"]["events"][0]["event_id"]

    def test_a_log_that_is_damaged_otherwise(self) -> None:
        events = [event(0, USER), event(1, DONE), event(2, USER, "u"), event(3, self.CALL, "u")]
        asked = {"op": "recover", "session_id": "s", "events": events}

        assert {
            "kind": "WriteRefused",
            "rule": "P6",
            "reason": "missing_reply",
            "event_id": "e1",
            "seq": 1,
            "turn_id": "t",
            "open_tool_calls": [],
            "open_model_calls": [],
            "unreadable": None,
            "path": None,
        } == failure(asked)
        assert "u" == ask({**asked, "earlier_turns": "keep"})["ok"]["turn_id"]
        assert "WrongSession" == failure({**asked, "session_id": "x"})["kind"]

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"id_prefix": 5}, "/id_prefix"),
            ({"earlier_turns": "drop"}, "/earlier_turns"),
            ({"config": {}}, "/config"),
        ],
    )
    def test_what_is_no_recovery(self, change: Object, path: str) -> None:
        told = failure({"op": "recover", "session_id": "s", "events": [], **change})

        assert ("BadRequest", path) == (told["kind"], told["path"])
