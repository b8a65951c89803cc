"""The operations of a step (T6, T7): stateless lines, exactly one action, no tool run twice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ops.asking import (
    CALL,
    INPUTS,
    LOOKUP,
    OUTPUT,
    SCOPE,
    Object,
    ask,
    calling,
    events_of,
    file_store,
    planned,
    ran,
    refused,
    saying,
    serves,
)

PROTOCOLS = ("native", "json")


def answers(protocol: str, arguments: Any = CALL["arguments"], name: str = "lookup") -> Object:
    """A call in either protocol."""
    if protocol == "native":
        return calling(name=name, arguments=arguments)
    return saying(json.dumps({"action": "call_tool", "name": name, "arguments": arguments}))


class TestPlanStep:
    """The whole request, counted whole, with what is appended before it is sent."""

    def test_every_key_is_there(self) -> None:
        told = ask("plan_step", **INPUTS)

        assert ["request", "request_digest", "max_tokens", "tool_view", "report", "events"] == list(told)
        assert 128 == told["max_tokens"]
        assert {"algorithm_version": 1, "tools": [LOOKUP], "excluded": []} == told["tool_view"]
        assert [LOOKUP["name"], "jingwei_ask_user"] == [
            tool["name"] for tool in told["request"]["constraint"]["tools"]
        ]

    def test_what_is_appended_is_the_request_with_the_step_that_asks(self) -> None:
        told = ask("plan_step", **INPUTS, max_tokens=7)

        assert [
            {
                "type": "model_request",
                "request": {
                    "version": 1,
                    "call_id": "step-1",
                    "mode": "complete",
                    "input": told["request"],
                    "options": {
                        "context": INPUTS["decision"],
                        "max_tokens": 7,
                        "timeout": None,
                        "limits": told["events"][0]["request"]["options"]["limits"],
                    },
                },
            }
        ] == told["events"]

    def test_the_digest_is_that_of_the_request(self) -> None:
        one, two = ask("plan_step", **INPUTS), ask("plan_step", **{**INPUTS, "now_ms": 2})
        other = ask("plan_step", **{**INPUTS, "system": ["Be long."]})

        assert one["request_digest"] == two["request_digest"] != other["request_digest"]

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_system_texts_are_joined_or_not(self, protocol: str) -> None:
        how = {**INPUTS, "protocol": protocol, "system_texts": "separate"}
        request = ask("plan_step", **how)["request"]

        assert ["system", "system", "user"] == [message["role"] for message in request["messages"]]

    @pytest.mark.parametrize(
        ("change", "failure"),
        [
            (
                {"scope": {**SCOPE, "expires_at_ms": 1}},
                {"kind": "InvalidStep", "reason": "scope_expired", "path": "/scope/expires_at_ms"},
            ),
            (
                {"scope": {**SCOPE, "session_id": "other"}},
                {"kind": "InvalidStep", "reason": "other_session", "path": "/scope/session_id"},
            ),
            (
                {"constraint": {"mode": "json_schema", "name": "n", "schema": {}}},
                {"kind": "InvalidStep", "reason": "constraint_given", "path": "/constraint"},
            ),
            (
                {"budget": {**INPUTS["budget"], "output_reserve": 0}},
                {
                    "kind": "InvalidStep",
                    "reason": "output_reserve_out_of_range",
                    "path": "/budget/output_reserve",
                },
            ),
            (
                {"selector": {"names": ["root"]}},
                {"kind": "UnknownTool", "name": "root", "index": 0},
            ),
            (
                {"tools": [LOOKUP, LOOKUP]},
                {"kind": "CatalogInvalid", "error": {"kind": "DuplicateToolName"}},
            ),
            (
                {"tools": [{**LOOKUP, "name": "jingwei_ask_user"}]},
                {"kind": "ReservedToolName", "name": "jingwei_ask_user"},
            ),
            (
                {"tools": [{**LOOKUP, "parameters": {"$ref": "https://example.com/s.json"}}]},
                {
                    "kind": "InvalidSchema",
                    "tool": "lookup",
                    "reason": "reference",
                    "where": "/$ref",
                    "ref": "https://example.com/s.json",
                },
            ),
            (
                {"tools": [{**LOOKUP, "parameters": {"properties": {"a": {"$ref": "file:///etc/hosts"}}}}]},
                {
                    "kind": "InvalidSchema",
                    "tool": "lookup",
                    "reason": "reference",
                    "where": "/properties/a/$ref",
                    "ref": "file:///etc/hosts",
                },
            ),
            (
                {"tools": [{**LOOKUP, "parameters": {"type": 5}}]},
                {
                    "kind": "InvalidSchema",
                    "tool": "lookup",
                    "reason": "no_schema",
                    "where": "/type",
                    "ref": None,
                },
            ),
            (
                {"policy": {"inline_bytes": 8, "preview_bytes": 9}},
                {"kind": "InvalidResultPolicy", "problem": "preview_over_inline", "actual": 9, "bound": 8},
            ),
            (
                {"current": []},
                {"kind": "InvalidInput", "reason": "current_empty", "path": "/current"},
            ),
            (
                {"session_id": " ", "scope": {**SCOPE, "session_id": " "}},
                {"kind": "InvalidConfig", "reason": "blank_session_id"},
            ),
        ],
    )
    def test_what_cannot_be_planned(self, change: Object, failure: Object) -> None:
        assert failure == refused("plan_step", **{**INPUTS, **change})

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_what_does_not_fit_carries_the_report(self, protocol: str) -> None:
        tight = {**INPUTS["budget"], "window_tokens": 130}
        told = refused("plan_step", **{**INPUTS, "protocol": protocol, "budget": tight})

        assert ["kind", "exhaustive", "report"] == list(told)
        assert "DoesNotFit" == told["kind"]

    def test_native_fields_under_the_json_protocol(self) -> None:
        current = [
            *INPUTS["current"],
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "call_id": CALL["id"], "content": "x"},
        ]
        told = refused("plan_step", **{**INPUTS, "protocol": "json", "current": current})

        assert {"kind": "InvalidStep", "reason": "native_fields", "path": "/current/1"} == told

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"surprise": 1}, "/surprise"),
            ({"response": saying("x")}, "/response"),
            ({"tools": 5}, "/tools"),
            ({"now_ms": -1}, "/now_ms"),
            ({"protocol": "xml"}, "/protocol"),
            ({"events": 5}, "/events"),
            ({"budget": {}}, "/budget/output_evidence"),
            ({"strategy": "newest"}, "/strategy"),
            ({"counter": {"kind": "byte_bound"}}, "/counter/model"),
            ({"strategy": {"kind": "stable_prefix", "high": 0}}, "/strategy"),
            ({"config": {"max_events": "1"}}, "/config/max_events"),
        ],
    )
    def test_a_line_that_is_no_request(self, change: Object, path: str) -> None:
        told = refused("plan_step", **{**INPUTS, **change})

        assert ["kind", "reason", "path"] == list(told)
        assert ("BadRequest", path) == (told["kind"], told["path"])

    @pytest.mark.parametrize("missing", ["session_id", "events", "decision", "scope", "now_ms", "tools"])
    def test_a_key_that_must_be_there(self, missing: str) -> None:
        told = refused("plan_step", **{key: value for key, value in INPUTS.items() if key != missing})

        assert ("BadRequest", f"/{missing}") == (told["kind"], told["path"])

    def test_an_event_that_does_not_decode_is_told_with_its_place(self) -> None:
        told = refused("plan_step", **{**INPUTS, "events": [{}]})

        assert ("DecodeFailed", 0) == (told["kind"], told["index"])


class TestInterpret:
    """One action, or a named failure; in both what came back is recorded."""

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_a_call_and_what_is_appended_before_it_runs(self, protocol: str) -> None:
        step, response = planned(protocol=protocol), answers(protocol)
        told = ask("interpret", **step, response=response)
        provider = "provider-a" if protocol == "native" else None

        assert ["action", "events", "reply", "status", "next_current"] == list(told)
        assert {
            "kind": "call_tool",
            "provider_id": provider,
            "name": "lookup",
            "arguments": {"query": "it"},
        } == told["action"]
        came, call = told["events"]
        assert ("model_result", "step-1") == (came["type"], came["result"]["call_id"])
        assert {
            "type": "tool_call",
            "call": {
                "action": {
                    "decision": INPUTS["decision"],
                    "action_index": 0,
                    "provider_call_id": provider,
                },
                "id": "step-1",
                "name": "lookup",
                "arguments": {"query": "it"},
            },
        } == call
        assert [None, None, None] == [told["reply"], told["status"], told["next_current"]]

    @pytest.mark.parametrize(
        ("protocol", "text"), [("native", "done"), ("json", '{"action":"final","text":"done"}')]
    )
    def test_a_final_answer_closes_the_turn(self, protocol: str, text: str) -> None:
        told = ask("interpret", **planned(protocol=protocol), response=saying(text))

        assert {"kind": "final", "text": "done"} == told["action"]
        assert ["model_result", "assistant_message", "done"] == [kind["type"] for kind in told["events"]]
        assert ("done", "completed") == (told["reply"], told["status"])
        assert [*INPUTS["current"], {"role": "assistant", "content": "done"}] == told["next_current"]

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_a_question_waits_for_input(self, protocol: str) -> None:
        native = answers(protocol, {"question": "which?"}, "jingwei_ask_user")
        as_json = saying('{"action":"ask_user","question":"which?"}')
        response = native if protocol == "native" else as_json
        told = ask("interpret", **planned(protocol=protocol), response=response)

        assert {"kind": "ask_user", "question": "which?"} == told["action"]
        assert ("which?", "waiting_for_input") == (told["reply"], told["status"])
        assert {"type": "done", "status": "waiting_for_input"} == told["events"][-1]

    @pytest.mark.parametrize(
        ("response", "failure"),
        [
            ({**calling(), "tool_calls": [CALL, CALL]}, {"kind": "MultipleActions", "count": 2}),
            (calling(name="root"), {"kind": "ToolNotVisible", "name": "root"}),
            (
                calling(arguments="it"),
                {"kind": "ArgumentsNoObject", "name": "lookup", "actual": "a string"},
            ),
            (
                calling(arguments=[1]),
                {"kind": "ArgumentsNoObject", "name": "lookup", "actual": "an array"},
            ),
            (
                calling(arguments={"query": "x"}),
                {
                    "kind": "InvalidArguments",
                    "name": "lookup",
                    "violations": [{"path": "/query", "keyword": "minLength", "words": "2"}],
                },
            ),
            (saying(" \n"), {"kind": "BlankText"}),
            (saying(None), {"kind": "NoAction"}),
            (saying("half an ans", "length"), {"kind": "CutOff"}),
            (saying("…", "content_filtered"), {"kind": "Filtered"}),
            (saying("x", "unknown"), {"kind": "UnknownFinish", "code": None}),
            (
                {**saying("x"), "finish_reason": {"kind": "other", "code": "eos"}},
                {"kind": "UnknownFinish", "code": "eos"},
            ),
            (
                {
                    **saying(None),
                    "incomplete_tool_calls": [{"index": 0, "id": "a", "name": "lookup", "arguments": "{"}],
                },
                {"kind": "HoldsFragments", "count": 1},
            ),
            (
                {**calling(), "finish_reason": {"kind": "stop"}},
                {
                    "kind": "NotAnAction",
                    "path": "/finish_reason/kind",
                    "expected": "tool_calls",
                    "actual": "stop",
                },
            ),
            (calling(name="jingwei_ask_user", arguments={"question": " "}), {"kind": "BlankQuestion"}),
        ],
    )
    def test_an_answer_that_is_no_action(self, response: Object, failure: Object) -> None:
        told = refused("interpret", **planned(), response=response)
        events = told.pop("events")

        assert failure == told
        assert ["model_result"] == [kind["type"] for kind in events]
        assert response["finish_reason"] == events[0]["result"]["outcome"]["response"]["finish_reason"]

    def test_a_key_twice_in_a_json_action(self) -> None:
        text = '{"action":"call_tool","name":"lookup","arguments":{"query":"it","query":"on"}}'
        told = refused("interpret", **planned(protocol="json"), response=saying(text))

        assert ("RepeatedKey", "/arguments/query") == (told["kind"], told["path"])

    def test_the_answer_to_another_request(self) -> None:
        step = planned()
        other = {**step, "system": ["Be long."]}
        told = refused("interpret", **other, response=calling())

        assert {
            "kind": "OtherRequest",
            "expected": ask("plan_step", **{**INPUTS, "system": ["Be long."]})["request_digest"],
            "actual": step["request_digest"],
        } == told

    def test_what_was_not_planned_is_not_interpreted(self) -> None:
        told = refused("interpret", **{**planned(), "now_ms": 1000}, response=calling())

        assert ("InvalidStep", "scope_expired") == (told["kind"], told["reason"])

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({}, "/response"),
            ({"response": 5}, "/response"),
            ({"response": {"tool_calls": 5}}, "/response/tool_calls"),
            ({"response": {**calling(), "tool_calls": [5]}}, "/response/tool_calls/0"),
            ({"response": calling(), "request_digest": 5}, "/request_digest"),
            ({"response": calling(), "execution": {}}, "/execution"),
            ({"response": calling(), "events": 5}, "/events"),
            ({"response": calling(), "now_ms": 1.5}, "/now_ms"),
            ({"response": calling(arguments_text="{}")}, "/response/tool_calls/0"),
        ],
    )
    def test_a_line_that_is_no_request(self, change: Object, path: str) -> None:
        told = refused("interpret", **{**planned(), **change})

        assert ("BadRequest", path) == (told["kind"], told["path"])


class TestArgumentsAsText:
    """What a provider wrote, before another reader has made it into something else."""

    @staticmethod
    def response(text: object) -> Object:
        call = {"id": "provider-a", "name": "lookup", "arguments_text": text}
        return {**calling(), "tool_calls": [call]}

    def test_a_text_is_read_as_the_value_that_it_is(self) -> None:
        as_text = ask("interpret", **planned(), response=self.response(' {"query": "it"}'))

        assert ask("interpret", **planned(), response=calling()) == as_text

    @pytest.mark.parametrize(
        ("text", "failure"),
        [
            ('{"query":"it","query":"on"}', {"kind": "RepeatedKey", "path": "/query"}),
            (
                '{"query":',
                {"kind": "NotAnAction", "path": "/query", "expected": "a value", "actual": "the end"},
            ),
            ('"it"', {"kind": "ArgumentsNoObject", "name": "lookup", "actual": "a string"}),
        ],
    )
    def test_what_is_wrong_with_a_text_is_told(self, text: str, failure: Object) -> None:
        told = refused("interpret", **planned(), response=self.response(text))
        recorded = told.pop("events")[0]["result"]["outcome"]["response"]["tool_calls"][0]["arguments"]

        assert failure["kind"] == told["kind"]
        assert failure.keys() == told.keys()
        assert recorded in (text, json.loads(text) if text == '"it"' else text)

    def test_a_text_that_is_too_deep_for_a_log_is_recorded_as_a_text(self) -> None:
        deep = '{"query":' + "[" * 115 + "]" * 115 + "}"
        told = refused("interpret", **planned(), response=self.response(deep))

        assert "InvalidArguments" == told["kind"]
        assert deep == told["events"][0]["result"]["outcome"]["response"]["tool_calls"][0]["arguments"]

    def test_a_text_that_is_none(self) -> None:
        told = refused("interpret", **planned(), response=self.response(5))

        assert ("BadRequest", "/response/tool_calls/0/arguments_text") == (told["kind"], told["path"])

    def test_beside_calls_with_values(self) -> None:
        both = [CALL, *self.response('{"query":"it"}')["tool_calls"]]
        told = refused("interpret", **planned(), response={**calling(), "tool_calls": both})

        assert ("MultipleActions", 2) == (told["kind"], told["count"])
        assert [CALL, CALL] == told["events"][0]["result"]["outcome"]["response"]["tool_calls"]


class TestComplete:
    """The view of the result and the running turn with it; each failure carries the execution."""

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_every_key_is_there(self, protocol: str) -> None:
        step, response = planned(protocol=protocol), answers(protocol)
        told = ask("complete", **step, response=response, execution=ran(step, response))

        assert [
            "end",
            "view",
            "envelope",
            "events",
            "to_store",
            "refused",
            "next_current",
            "report",
        ] == list(told)
        assert "tool_completed" == told["end"]
        assert {"source_event": "e4", "text": OUTPUT} == told["to_store"]
        assert OUTPUT[:12] == told["view"]["text"]
        assert told["refused"] is told["view"]["fallback"] is told["view"]["reference"] is None
        assert told["envelope"] == told["next_current"][-1]["content"]
        assert "call_seq" in told["events"][0]["payload"]
        assert ask("plan_step", **{**INPUTS, "protocol": protocol})["report"] == told["report"]

    def test_a_tool_that_failed_halts_the_step(self) -> None:
        step, response = planned(), calling()
        outcome = {
            "status": "failed",
            "category": "timeout",
            "code": "t",
            "message": "late",
            "retryable": True,
        }
        told = ask("complete", **step, response=response, execution=ran(step, response, outcome))

        assert ("halted", None) == (told["end"], told["to_store"])
        assert {
            "status": "failed",
            "category": "timeout",
            "code": "t",
            "code_bytes": None,
            "retryable": True,
        } == told["view"]["outcome"]

    def test_a_chosen_view(self) -> None:
        step, response = planned(), calling()
        told = ask(
            "complete",
            **step,
            response=response,
            execution=ran(step, response),
            choice={"kind": "condensed", "text": "found"},
        )

        assert ("condensed", "found") == (told["view"]["form"], told["view"]["text"])

    def test_with_a_store_the_text_is_stored_first(self, tmp_path: Path) -> None:
        step, response, store = planned(), calling(), file_store(tmp_path)
        execution = ran(step, response)
        told = ask("complete", **step, response=response, execution=execution, store=store)
        again = ask("complete", **step, response=response, execution=execution, store=store)
        reference = told["view"]["reference"]
        grants = {"session_id": "s", "task_id": "task", "references": [reference]}
        page = ask("read_reference", store=store, grants=grants, arguments={"reference": "e4", "offset": 0})[
            "page"
        ]

        assert told == again
        assert told["to_store"] is None
        assert {
            "store_id": "files",
            "source_event": "e4",
            "scope": SCOPE,
            "total_bytes": len(OUTPUT),
        } == reference
        assert {"text": OUTPUT, "next_offset": None, "total_bytes": len(OUTPUT)} == page

    def test_with_the_reference_of_the_hosts_own_store(self) -> None:
        step, response = planned(), calling()
        reference = {"store_id": "own", "source_event": "e4", "scope": SCOPE, "total_bytes": len(OUTPUT)}
        keys = {**step, "response": response, "execution": ran(step, response)}
        before, told = ask("complete", **keys), ask("complete", **keys, reference=reference)

        assert (None, reference) == (told["to_store"], told["view"]["reference"])
        assert before["next_current"] == told["next_current"]

    def test_a_preview_may_stand_alone(self, tmp_path: Path) -> None:
        step, response, store = planned(), calling(), file_store(tmp_path, max_entries=0)
        keys = {**step, "response": response, "execution": ran(step, response), "preview_alone": True}
        nothing, full = ask("complete", **keys), ask("complete", **keys, store=store)

        assert "handle" not in nothing["envelope"]
        assert (None, None) == (nothing["to_store"], nothing["refused"])
        assert {
            "kind": "InvalidStoreConfig",
            "field": "max_entries",
            "reason": "out_of_range",
            "actual": 0,
        } == full.pop("refused")
        assert full == {key: value for key, value in nothing.items() if key != "refused"}

    @pytest.mark.parametrize(
        ("store", "failure"),
        [
            ({"max_bytes": 8, "max_content_bytes": 8}, {"kind": "TooLarge", "limit": 8, "actual": 31}),
            (
                {"now_ms": 1000},
                {"kind": "InvalidScope", "reason": "expired", "limit": 1000, "actual": 1000},
            ),
            ({"now_ms": 2**53}, {"kind": "InvalidTime", "now_ms": 2**53}),
            (
                {"store_id": "no name"},
                {"kind": "InvalidStoreConfig", "field": "store_id", "reason": "bad_store_id", "actual": 7},
            ),
            (
                {"path": ""},
                {"kind": "StorageFailed", "reason": "cannot_open", "detail": "the path is empty"},
            ),
        ],
    )
    def test_a_store_that_refuses(self, tmp_path: Path, store: Object, failure: Object) -> None:
        step, response = planned(), calling()
        execution = ran(step, response)
        told = refused(
            "complete",
            **step,
            response=response,
            execution=execution,
            store={**file_store(tmp_path), **store},
        )

        assert {
            "kind": "CompleteFailure",
            "execution": execution,
            "why": failure,
            "replay_forbidden": True,
        } == told

    def test_a_store_that_is_full_or_whose_clock_went_back(self, tmp_path: Path) -> None:
        step, response = planned(), calling()
        execution = ran(step, response)
        keys = {**step, "response": response, "execution": execution}
        late = ask("complete", **keys, store=file_store(tmp_path, now_ms=900, max_entries=1))
        other = {**keys, "execution": {**execution, "result_event_id": "e5"}}
        full = refused("complete", **other, store=file_store(tmp_path, now_ms=900, max_entries=1))
        early = refused("complete", **other, store=file_store(tmp_path, now_ms=1, max_skew_ms=5))
        taken = refused(
            "complete",
            **{**keys, "execution": {**execution, "outcome": {"status": "succeeded", "output": "x" * 40}}},
            store=file_store(tmp_path, now_ms=900),
        )

        assert late["to_store"] is None
        assert {"kind": "StoreFull", "what": "entries", "limit": 1, "actual": 2} == full["why"]
        assert {"kind": "ClockWentBack", "last_ms": 900, "now_ms": 1} == early["why"]
        assert {
            "kind": "Conflict",
            "reason": "text",
            "held": late["view"]["reference"],
        } == taken["why"]
        assert [True] * 3 == [told["replay_forbidden"] for told in (full, early, taken)]

    @pytest.mark.parametrize(
        ("change", "failure"),
        [
            (
                {"source_event": "e9"},
                {
                    "kind": "ReferenceMismatch",
                    "expected_source": "e4",
                    "actual_source": "e9",
                    "expected_bytes": 31,
                    "actual_bytes": 31,
                },
            ),
            (
                {"scope": {**SCOPE, "task_id": "other"}},
                {
                    "kind": "OtherReference",
                    "expected": SCOPE,
                    "actual": {
                        "store_id": "own",
                        "source_event": "e4",
                        "scope": {**SCOPE, "task_id": "other"},
                        "total_bytes": 31,
                    },
                },
            ),
        ],
    )
    def test_a_store_that_returns_another_reference(self, change: Object, failure: Object) -> None:
        step, response = planned(), calling()
        execution = ran(step, response)
        reference = {"store_id": "own", "source_event": "e4", "scope": SCOPE, "total_bytes": len(OUTPUT)}
        keys = {**step, "response": response, "execution": execution, "reference": {**reference, **change}}
        told = refused("complete", **keys)

        assert (failure, execution, True) == (told["why"], told["execution"], told["replay_forbidden"])
        assert failure == ask("complete", **keys, preview_alone=True)["refused"]

    @pytest.mark.parametrize(
        ("change", "part"),
        [
            ({"session_id": "other"}, "session"),
            ({"result_seq": 3}, "order"),
            ({"result_event_id": "e3"}, "event_id"),
            ({"call": {"name": "root"}}, "name"),
            ({"call": {"arguments": {"query": "other"}}}, "arguments"),
            ({"call": {"action": None}}, "action"),
            ({"call": {"id": " "}}, "call_id"),
        ],
    )
    def test_an_execution_of_something_else(self, change: Object, part: str) -> None:
        step, response = planned(), calling()
        execution = ran(step, response)
        told = refused(
            "complete",
            **step,
            response=response,
            execution={**execution, **change, "call": {**execution["call"], **change.get("call", {})}},
        )

        assert {"kind": "ToolEvidenceMismatch", "part": part} == told["why"]

    def test_what_fails_before_the_result_is_looked_at_carries_the_execution_too(self) -> None:
        step, response = planned(), calling()
        execution = ran(step, response)
        keys = {**step, "response": response, "execution": execution}
        broken = {"path": "", "kind": {"type": "user_message"}}
        changes: list[Object] = [
            {"request_digest": "0"},
            {"now_ms": 1000},
            {"policy": {"inline_bytes": 0}},
            {"events": [broken]},
            {"tools": []},
            {"response": saying(" ")},
            {"response": saying("done")},
            {"response": calling(name="jingwei_ask_user", arguments={"question": "which?"})},
        ]
        whys = [refused("complete", **{**keys, **change}) for change in changes]

        assert [
            "OtherRequest",
            "InvalidStep",
            "InvalidResultPolicy",
            "DecodeFailed",
            "OtherRequest",
            "BlankText",
            "NotACall",
            "NotACall",
        ] == [told["why"]["kind"] for told in whys]
        assert ["final", "ask_user"] == [told["why"]["action"] for told in whys[-2:]]
        assert [["kind", "execution", "why", "replay_forbidden"]] * 8 == list(map(list, whys))
        assert [(execution, True)] * 8 == [(told["execution"], told["replay_forbidden"]) for told in whys]

    def test_a_refused_execution_can_be_sent_again(self) -> None:
        step, response = planned(), calling()
        execution = ran(step, response)
        keys = {**step, "response": response}
        told = refused("complete", **{**keys, "request_digest": "0"}, execution=execution)

        assert ask("complete", **keys, execution=execution) == ask(
            "complete", **keys, execution=told["execution"]
        )

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"execution": None}, "/execution"),
            ({"execution": {}}, "/execution/session_id"),
            ({"choice": {"kind": "all"}}, "/choice/kind"),
            ({"store": {"path": ":memory:", "store_id": "a", "now_ms": 1}}, "/store/path"),
            ({"store": {"path": "p"}}, "/store/store_id"),
            ({"reference": {}}, "/reference/store_id"),
            ({"surprise": 1}, "/surprise"),
            ({"response": None}, "/response"),
        ],
    )
    def test_a_line_that_is_no_request(self, change: Object, path: str) -> None:
        step, response = planned(), calling()
        told = refused(
            "complete", **{**step, "response": response, "execution": ran(step, response), **change}
        )

        assert ("BadRequest", path) == (told["kind"], told["path"])

    def test_a_reference_and_a_store(self, tmp_path: Path) -> None:
        step, response = planned(), calling()
        reference = {"store_id": "own", "source_event": "e4", "scope": SCOPE, "total_bytes": len(OUTPUT)}
        told = refused(
            "complete",
            **step,
            response=response,
            execution=ran(step, response),
            reference=reference,
            store=file_store(tmp_path),
        )

        assert ("BadRequest", "") == (told["kind"], told["path"])


class TestTurns:
    """A host that only appends what it is told, step after step and turn after turn."""

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_closing_the_turn_does_not_change_a_byte(self, protocol: str) -> None:
        how, response = {**INPUTS, "protocol": protocol}, answers(protocol)
        kinds: list[Object] = [{"type": "user_message", "text": "look it up"}]
        first = ask("plan_step", **how)
        kinds += first["events"]
        step = {**how, "request_digest": first["request_digest"]}
        kinds += ask("interpret", **step, response=response)["events"]
        outcome = {"status": "succeeded", "output": OUTPUT}
        kinds.append(
            {"type": "tool_result", "result": {"call_id": kinds[-1]["call"]["id"], "outcome": outcome}}
        )
        done = ask("complete", **step, response=response, execution=ran(step, response, outcome))
        kinds += done["events"]
        second = {
            **how,
            "current": done["next_current"],
            "decision": {"task_id": "task", "step_id": "step-2"},
        }
        asked = ask("plan_step", **second)
        kinds += asked["events"]
        text = "done" if protocol == "native" else '{"action":"final","text":"done"}'
        last = {**second, "request_digest": asked["request_digest"]}
        kinds += ask("interpret", **last, response=saying(text))["events"]
        later = ask("plan_step", **{**how, "events": events_of(kinds)})
        sent = [message for message in later["request"]["messages"] if message["role"] != "system"]

        assert done["next_current"] == sent[:3]
        assert [{"role": "assistant", "content": "done"}, *INPUTS["current"]] == sent[3:]

    def test_a_recorded_view_that_is_none(self) -> None:
        custom = {"type": "custom", "plugin": "jingwei", "kind": "result_view", "payload": {"version": 1}}
        kinds: list[Object] = [{"type": "user_message", "text": "x"}, custom]
        kinds.append({"type": "done", "status": "cancelled"})
        told = refused("plan_step", **{**INPUTS, "events": events_of(kinds)})

        assert ["kind", "event_id", "path", "expected", "actual"] == list(told)
        assert ("MalformedView", "e1") == (told["kind"], told["event_id"])

    def test_a_recorded_view_that_contradicts_the_log(self) -> None:
        step, response = planned(), calling()
        view = ask("complete", **step, response=response, execution=ran(step, response))["events"][0]
        call = ask("interpret", **step, response=response)["events"][1]
        result = {"call_id": "step-1", "outcome": {"status": "succeeded", "output": "something else"}}
        kinds: list[Object] = [
            {"type": "user_message", "text": "x"},
            call,
            {"type": "tool_result", "result": result},
            {**view, "payload": {**view["payload"], "call_seq": 1, "source_event": "e2"}},
            {"type": "done", "status": "cancelled"},
        ]
        told = refused("plan_step", **{**INPUTS, "events": events_of(kinds)})

        assert {
            "kind": "ViewContradiction",
            "turn_id": "turn-1",
            "source_event": "e2",
            "recorded_by": "e3",
            "reason": "total_bytes",
        } == told


@pytest.mark.parametrize("package", ["jsonschema", "referencing"])
def test_without_the_extra_the_operations_say_which(package: str) -> None:
    """And all others go on."""
    shape = {"messages": [{"role": "user", "content": "x"}]}
    lines = [json.dumps({"op": op, **shape}) for op in ("plan_step", "interpret", "complete", "shape")]
    script = (
        f"import sys\nsys.modules[{package!r}] = None\nfrom jingwei.batch import serve\n"
        f"for line in {lines!r}:\n    print(serve(line.encode()))\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    *steps, shaped = map(json.loads, said.stdout.splitlines())

    assert ["/op"] * 3 == [told["failure"]["path"] for told in steps]
    assert ["BadRequest"] * 3 == [told["failure"]["kind"] for told in steps]
    assert all(package in told["failure"]["reason"] for told in steps)
    assert all("jingwei[actions]" in told["failure"]["reason"] for told in steps)
    assert {"id": None, "ok": {}} == shaped


def test_the_id_comes_back() -> None:
    assert 7 == serves({"id": 7, "op": "plan_step", **INPUTS})["id"]
