"""`tool_view`, `result_view` and `read_reference` (T1 to T5): every key, every refusal."""

from pathlib import Path

import pytest

from tests.ops.asking import LOOKUP, OUTPUT, SCOPE, Object, ask, file_store, refused

REFERENCE: Object = {"store_id": "own", "source_event": "e4", "scope": SCOPE, "total_bytes": len(OUTPUT)}
RESULT: Object = {
    "outcome": {"status": "succeeded", "output": OUTPUT},
    "call_seq": 3,
    "name": "lookup",
    "source_event": "e4",
    "policy": {"inline_bytes": 24, "preview_bytes": 12},
}
READ: Object = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}


class TestToolView:
    """The authorised definitions that are named, and no others."""

    def test_all_of_them(self) -> None:
        told = ask("tool_view", tools=[READ, LOOKUP])

        assert {"algorithm_version": 1, "tools": [LOOKUP, READ], "excluded": []} == told

    @pytest.mark.parametrize(
        "selector",
        [
            {"names": ["read"]},
            {"groups": [{"name": "g", "tools": ["read"]}], "active_groups": ["g"]},
            {"names": None, "groups": [{"name": "g", "tools": ["read"]}], "active_groups": ["g"]},
        ],
    )
    def test_some_of_them(self, selector: Object) -> None:
        told = ask("tool_view", tools=[LOOKUP, READ], selector=selector)

        assert {"algorithm_version": 1, "tools": [READ], "excluded": ["lookup"]} == told

    def test_none_of_them(self) -> None:
        assert {"algorithm_version": 1, "tools": [], "excluded": []} == ask("tool_view", tools=[])
        assert ["lookup"] == ask("tool_view", tools=[LOOKUP], selector={"names": []})["excluded"]

    @pytest.mark.parametrize(
        ("keys", "failure"),
        [
            ({"limits": {"max_visible": 0}}, {"kind": "ZeroToolLimit", "limit": "max_visible"}),
            ({"limits": {"max_authorised": 1}}, {"kind": "TooManyTools", "limit": 1, "actual": 2}),
            ({"limits": {"max_visible": 1}}, {"kind": "TooManyVisible", "limit": 1, "actual": 2}),
            ({"limits": {"max_bytes": 9}}, {"kind": "ToolBytesExceeded", "limit": 9, "actual": 258}),
            ({"selector": {"active_groups": ["g"]}}, {"kind": "UnknownGroup", "group": "g"}),
            ({"selector": {"names": ["root"]}}, {"kind": "UnknownTool", "name": "root", "index": 0}),
            (
                {"tools": [{**READ, "name": " "}]},
                {"kind": "CatalogInvalid", "error": {"kind": "EmptyName"}},
            ),
        ],
    )
    def test_refusals(self, keys: Object, failure: Object) -> None:
        assert failure == refused("tool_view", **{"tools": [LOOKUP, READ], **keys})

    @pytest.mark.parametrize(
        ("keys", "path"),
        [
            ({}, "/tools"),
            ({"tools": [], "more": 1}, "/more"),
            ({"tools": [{}]}, "/tools/0/name"),
            ({"tools": [], "selector": {"names": 5}}, "/selector/names"),
            ({"tools": [], "selector": {"groups": [{"name": 5, "tools": []}]}}, "/selector/groups/0/name"),
            ({"tools": [], "limits": {"max_tools": 5}}, "/limits/max_tools"),
        ],
    )
    def test_a_line_that_is_no_request(self, keys: Object, path: str) -> None:
        told = refused("tool_view", **keys)

        assert ("BadRequest", path) == (told["kind"], told["path"])


class TestResultView:
    """A view that says how the tool ended, and what must be stored before it is sent."""

    def test_what_the_host_stores_itself(self) -> None:
        told = ask("result_view", **RESULT)
        view = told["view"]

        assert ["view", "envelope", "events", "to_store", "refused"] == list(told)
        assert {
            "version": 1,
            "call_seq": 3,
            "source_event": "e4",
            "name": "lookup",
            "outcome": {"status": "succeeded"},
            "form": "prefix",
            "text": OUTPUT[:12],
            "total_bytes": len(OUTPUT),
            "fallback": None,
            "stored": True,
            "reference": None,
        } == view
        assert {"source_event": "e4", "text": OUTPUT} == told["to_store"]
        assert '"handle":"e4"' in told["envelope"]
        assert [
            {
                "type": "custom",
                "plugin": "jingwei",
                "kind": "result_view",
                "payload": {key: value for key, value in view.items() if value is not None},
            }
        ] == told["events"]

    def test_with_the_reference_of_its_store(self) -> None:
        told = ask("result_view", **RESULT, scope=SCOPE, reference=REFERENCE)

        assert (None, REFERENCE) == (told["to_store"], told["view"]["reference"])
        assert ask("result_view", **RESULT)["envelope"] == told["envelope"]

    def test_a_scope_alone_stores_nothing(self) -> None:
        assert ask("result_view", **RESULT) == ask("result_view", **RESULT, scope=SCOPE)

    def test_with_a_store_it_is_stored_before_the_answer(self, tmp_path: Path) -> None:
        told = ask("result_view", **RESULT, scope=SCOPE, store=file_store(tmp_path))

        assert {**REFERENCE, "store_id": "files"} == told["view"]["reference"]
        assert told["to_store"] is None
        assert (tmp_path / "texts.sqlite").is_file()

    def test_what_is_shown_whole_is_not_stored(self, tmp_path: Path) -> None:
        whole = {**RESULT, "policy": {}}
        told = ask("result_view", **whole, scope=SCOPE, store=file_store(tmp_path))

        assert (None, False, None) == (told["to_store"], told["view"]["stored"], told["view"]["reference"])
        assert [] == list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("choice", "form", "text", "fallback"),
        [
            ({"kind": "whole"}, "whole", OUTPUT, None),
            ({"kind": "prefix", "max_bytes": 3}, "prefix", "fou", None),
            ({"kind": "condensed", "text": "found"}, "condensed", "found", None),
            ({"kind": "condensed", "text": " "}, "prefix", OUTPUT[:12], "blank_condensed"),
            (None, "prefix", OUTPUT[:12], None),
        ],
    )
    def test_what_the_host_chose(
        self, choice: Object | None, form: str, text: str, fallback: str | None
    ) -> None:
        view = ask("result_view", **RESULT, choice=choice)["view"]

        assert (form, text, fallback) == (view["form"], view["text"], view["fallback"])

    def test_no_choice_changes_how_a_tool_ended(self) -> None:
        outcome = {
            "status": "failed",
            "category": "timeout",
            "code": "c" * 300,
            "message": "late",
            "retryable": True,
        }
        view = ask("result_view", **{**RESULT, "outcome": outcome}, choice={"kind": "prefix", "max_bytes": 0})

        assert {
            "status": "failed",
            "category": "timeout",
            "code": view["view"]["outcome"]["code"],
            "code_bytes": 300,
            "retryable": True,
        } == view["view"]["outcome"]

    def test_a_preview_may_stand_alone(self, tmp_path: Path) -> None:
        alone = ask("result_view", **RESULT, preview_alone=True)
        full = ask(
            "result_view",
            **RESULT,
            preview_alone=True,
            scope=SCOPE,
            store=file_store(tmp_path, max_entries=1, max_bytes=4, max_content_bytes=4),
        )

        assert (False, None, None) == (alone["view"]["stored"], alone["to_store"], alone["refused"])
        assert {"kind": "TooLarge", "limit": 4, "actual": len(OUTPUT)} == full.pop("refused")
        assert full == {key: value for key, value in alone.items() if key != "refused"}

    @pytest.mark.parametrize(
        ("keys", "why"),
        [
            (
                {"policy": {"inline_bytes": 0, "preview_bytes": 0}},
                {"kind": "InvalidResultPolicy", "problem": "zero_inline", "actual": 0, "bound": 1},
            ),
            ({"name": "lookup", "source_event": " "}, None),
            (
                {"scope": SCOPE, "reference": {**REFERENCE, "total_bytes": 1}},
                {
                    "kind": "ReferenceMismatch",
                    "expected_source": "e4",
                    "actual_source": "e4",
                    "expected_bytes": len(OUTPUT),
                    "actual_bytes": 1,
                },
            ),
            (
                {"scope": {**SCOPE, "expires_at_ms": 2}, "reference": REFERENCE},
                {
                    "kind": "OtherReference",
                    "expected": {**SCOPE, "expires_at_ms": 2},
                    "actual": REFERENCE,
                },
            ),
        ],
    )
    def test_a_failure_says_what_ran_and_that_it_must_not_run_again(
        self, keys: Object, why: Object | None
    ) -> None:
        told = refused("result_view", **{**RESULT, **keys})

        assert {
            "kind": "ResultNotShown",
            "call_seq": 3,
            "source_event": keys.get("source_event", "e4"),
            "name": "lookup",
            "outcome": RESULT["outcome"],
            "why": why or {"kind": "InvalidResult", "reason": "blank_source", "field": "source_event"},
            "replay_forbidden": True,
        } == told

    @pytest.mark.parametrize(
        ("scope", "store", "why"),
        [
            (
                {**SCOPE, "expires_at_ms": 2},
                {},
                {"kind": "InvalidScope", "reason": "expired", "limit": 2, "actual": 2},
            ),
            (
                {**SCOPE, "task_id": ""},
                {},
                {"kind": "InvalidScope", "reason": "blank_task_id", "limit": 1, "actual": 0},
            ),
            (
                SCOPE,
                {"path": "no/such/folder/texts.sqlite"},
                {
                    "kind": "StorageFailed",
                    "reason": "cannot_open",
                    "detail": "unable to open database file",
                },
            ),
        ],
    )
    def test_a_store_that_refuses(self, tmp_path: Path, scope: Object, store: Object, why: Object) -> None:
        told = refused("result_view", **RESULT, scope=scope, store={**file_store(tmp_path), **store})

        assert (why, True) == (told["why"], told["replay_forbidden"])

    @pytest.mark.parametrize(
        ("keys", "path"),
        [
            ({"outcome": {"status": "lost"}}, "/outcome/status"),
            ({"call_seq": -1}, "/call_seq"),
            ({"more": 1}, "/more"),
            ({"choice": {"kind": "all"}}, "/choice/kind"),
            ({"choice": {"kind": "prefix"}}, "/choice/max_bytes"),
            ({"choice": {"kind": "whole", "text": ""}}, "/choice/text"),
            ({"reference": REFERENCE}, "/scope"),
            ({"store": {"path": "x", "store_id": "a", "now_ms": 0}}, "/scope"),
            ({"store": {"path": ":memory:", "store_id": "a", "now_ms": 0}, "scope": SCOPE}, "/store/path"),
            (
                {
                    "store": {"path": "x", "store_id": "a", "now_ms": 0},
                    "scope": SCOPE,
                    "reference": REFERENCE,
                },
                "",
            ),
            ({"preview_alone": None}, "/preview_alone"),
        ],
    )
    def test_a_line_that_is_no_request(self, keys: Object, path: str) -> None:
        told = refused("result_view", **{**RESULT, **keys})

        assert ("BadRequest", path) == (told["kind"], told["path"])


class TestReadReference:
    """Pages within what the host grants; a refusal has the words for the model too."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Object:
        """A store with one text in it."""
        held = file_store(tmp_path)
        ask("result_view", **RESULT, scope=SCOPE, store=held)
        return held

    GRANTS: Object = {  # noqa: RUF012  # a constant
        "session_id": "s",
        "task_id": "task",
        "references": [{**REFERENCE, "store_id": "files"}],
    }

    def test_the_pages_are_the_text(self, store: Object) -> None:
        text = ""
        offset: int | None = 0
        while offset is not None:
            told = ask(
                "read_reference",
                store=store,
                grants=self.GRANTS,
                arguments={"reference": "e4", "offset": offset, "max_bytes": 10},
            )

            assert ["offset", "page", "answer"] == list(told)
            assert ["text", "next_offset", "total_bytes"] == list(told["page"])
            assert (offset, len(OUTPUT)) == (told["offset"], told["page"]["total_bytes"])
            assert told["answer"].startswith('{"trust":"untrusted_tool_data","status":"succeeded"')
            text, offset = text + told["page"]["text"], told["page"]["next_offset"]
        assert OUTPUT == text

    def test_arguments_as_the_model_wrote_them(self, store: Object) -> None:
        keys = {"store": store, "grants": self.GRANTS}
        value = ask("read_reference", **keys, arguments={"reference": "e4", "offset": 0})

        assert value == ask("read_reference", **keys, arguments_text='{"reference":"e4","offset":0}')

    @pytest.mark.parametrize(
        ("keys", "reason", "argument", "failure", "code"),
        [
            ({"arguments_text": "{"}, "not_json", "", None, "invalid_arguments"),
            ({"arguments_text": '{"offset":0,"offset":1}'}, "duplicate_key", "", None, "invalid_arguments"),
            ({"arguments": None}, "not_an_object", "", None, "invalid_arguments"),
            (
                {"arguments": {"reference": "e4", "offset": 0, "scope": {}}},
                "unknown_key",
                "",
                None,
                "invalid_arguments",
            ),
            ({"arguments": {"reference": "e4"}}, "missing_key", "offset", None, "invalid_arguments"),
            (
                {"arguments": {"reference": "e9", "offset": 0}},
                "not_granted",
                "reference",
                None,
                "unavailable",
            ),
            (
                {"arguments": {"reference": "e4", "offset": 99}},
                "store",
                "",
                {"kind": "BadCursor", "offset": 99, "reason": "out_of_range"},
                "invalid_offset",
            ),
        ],
    )
    def test_refusals(
        self, store: Object, keys: Object, reason: str, argument: str, failure: Object | None, code: str
    ) -> None:
        told = refused("read_reference", store=store, grants=self.GRANTS, **keys)

        assert ["kind", "reason", "argument", "failure", "answer"] == list(told)
        assert ("ReadRefused", reason) == (told["kind"], told["reason"])
        assert (argument, failure) == (told["argument"], told["failure"])
        assert f'"code":"{code}"' in told["answer"]

    def test_an_expired_reference_and_a_clock_that_went_back(self, store: Object) -> None:
        keys = {"grants": self.GRANTS, "arguments": {"reference": "e4", "offset": 0}}
        late = refused("read_reference", **keys, store={**store, "now_ms": 1000})
        early = refused("read_reference", **keys, store={**store, "now_ms": 1, "max_skew_ms": 5})

        assert {"kind": "Unavailable", "reason": "expired"} == late["failure"]
        assert {"kind": "ClockWentBack", "last_ms": 1000, "now_ms": 1} == early["failure"]

    def test_no_file_is_made(self, tmp_path: Path) -> None:
        told = refused(
            "read_reference",
            store=file_store(tmp_path),
            grants=self.GRANTS,
            arguments={"reference": "e4", "offset": 0},
        )

        assert "StorageFailed" == told["failure"]["kind"]
        assert [] == list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("keys", "path"),
        [
            ({}, ""),
            ({"arguments": {}, "arguments_text": "{}"}, ""),
            ({"arguments": {}, "store": {"path": ":memory:", "store_id": "a", "now_ms": 0}}, "/store/path"),
            ({"arguments": {}, "store": {"path": "x", "store_id": "a"}}, "/store/now_ms"),
            ({"arguments": {}, "grants": {"session_id": "s"}}, "/grants/task_id"),
            ({"arguments": {}, "now_ms": 1}, "/now_ms"),
            ({"arguments_text": 1}, "/arguments_text"),
        ],
    )
    def test_a_line_that_is_no_request(self, keys: Object, path: str) -> None:
        store = {"path": "x", "store_id": "a", "now_ms": 0}
        told = refused("read_reference", **{"store": store, "grants": self.GRANTS, **keys})

        assert ("BadRequest", path) == (told["kind"], told["path"])
