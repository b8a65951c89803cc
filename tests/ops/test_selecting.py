"""`select`, `condense` and `compose` as lines (S0 to S9): every key, every refusal, every bad input."""

import json
from typing import Any, Final

import attrs
import pytest

from jingwei.batch import serve
from jingwei.compose.pipeline import ComposeOptions
from jingwei.ids import ItemId
from jingwei.items.records import ItemKind
from jingwei.ops.requests import BadRequest
from jingwei.ops.selecting import ComposeSpec, compose_spec
from jingwei.selection.choose import Quota, Quotas
from tests.ops.asking import Object, ask, refused, serves

SAID: Final[tuple[Object, ...]] = (
    {"kind": {"type": "user_message", "text": "2+2?"}},
    {"message_id": "m1", "kind": {"type": "assistant_message", "version": 1, "text": "4"}},
    {"kind": {"type": "done", "status": "completed"}},
)
EVENTS: Final[list[Object]] = [
    {"event_id": f"e{seq}", "session_id": "s", "turn_id": "t1", "seq": seq, **more}
    for seq, more in enumerate(SAID)
]
STATE: Final[Object] = {
    "tenant_id": "acme",
    "user_id": "ann",
    "session_id": "s",
    "goal": {"text": "add"},
    "system_rules": ["never delete files"],
}
COMPOSE: Final[Object] = {
    "state": STATE,
    "target": {"model": "m", "template_revision": "1"},
    "budget": {"window": 4000, "reserved_output": 100},
    "current": [{"role": "user", "content": "and now?"}],
    "session_id": "s",
    "events": EVENTS,
}
LOG: Final = "\n".join(f"2026-08-01 INFO worker {n} ok" for n in range(60)) + "\nERROR disk full\n"


def item(item_id: str, **more: Any) -> Object:
    return {"item_id": item_id, "kind": "memory", "content": f"about {item_id}", "source": "user", **more}


def summary(summary_id: str, **more: Any) -> Object:
    return {
        "summary_id": summary_id,
        "session_id": "s",
        "facts": [{"text": "a sum", "source_events": ["e0"]}],
        "decisions": [],
        "hypotheses": [],
        "open_questions": [],
        "first_seq": 0,
        "last_seq": 2,
        "tail_event_id": "e2",
        "turn_ids": ["t1"],
        "version": 1,
        "supersedes": [],
        "format_version": 1,
        **more,
    }


def without(failure: Object, key: str = "report") -> Object:
    return {name: value for name, value in failure.items() if name != key}


class TestSelect:
    """Items within so many tokens, by the costs that stand in them (S4a)."""

    def test_every_key_of_the_answer(self) -> None:
        items = [
            item("a", token_cost=4, relevance="1/2", tier="p2"),
            item("b", token_cost=9, relevance=0.25, tier="p2"),
            item("c", token_cost=1, required=True),
        ]
        told = ask("select", items=items, max_tokens=6)

        assert {
            "items": ["c", "a"],
            "used": 5,
            "selection": {
                "rows": [
                    row("c", "p0", 0, 1, "required"),
                    row("a", "p2", "1/2", 4, "value"),
                    row("b", "p2", "1/4", 9, "no_room"),
                ],
                "state": {"left_out_turns": [], "left_out_items": ["b"], "available": 6, "moves": 0},
            },
        } == told

    def test_the_state_of_one_choice_is_for_the_next(self) -> None:
        items = [item("a", token_cost=4, relevance=1), item("b", token_cost=4)]
        first = ask("select", items=items, max_tokens=4)
        state = first["selection"]["state"]
        items[1]["relevance"], items[0]["relevance"] = 1, 0

        assert (
            ["a"]
            == first["items"]
            == ask("select", items=items, max_tokens=4, previous_selection=state)["items"]
        )
        assert ["b"] == ask("select", items=items, max_tokens=4, previous_selection=state, moves=1)["items"]
        assert ["b"] == ask("select", items=items, max_tokens=4)["items"]

    def test_weights_and_quotas_count(self) -> None:
        items = [item("a", token_cost=4, trust=1), item("b", kind="fact", token_cost=4, relevance=1)]
        trusting = {"priority": 0, "relevance": 0, "freshness": 0, "trust": "3/2"}

        assert ["a"] == ask("select", items=items, max_tokens=4, weights=trusting)["items"]
        floor = ask("select", items=items, max_tokens=4, quotas=[{"kind": "fact", "floor": 4}])
        assert (["b"], "floor") == (floor["items"], floor["selection"]["rows"][0]["reason"])

    def test_nothing_to_choose_from(self) -> None:
        assert {"kind": "NoCandidates"} == refused("select", items=[], max_tokens=5)

    def test_what_must_be_kept_beyond_the_room_with_each_cost(self) -> None:
        items = [item("a", token_cost=4, required=True), item("b", token_cost=9, pinned=True), item("c")]

        assert {
            "kind": "RequiredExceed",
            "room": 12,
            "total": 13,
            "items": [{"item_id": "b", "cost": 9}, {"item_id": "a", "cost": 4}],
        } == refused("select", items=items, max_tokens=12)

    @pytest.mark.parametrize(
        ("keys", "failure"),
        [
            ({"items": [item(" ")]}, ["InvalidItem", "item_id", "blank_id"]),
            (
                {"items": [item("a"), item("a", content="another")]},
                ["InvalidItem", "item_id", "duplicate_id"],
            ),
            ({"items": [item("a", content="\n")]}, ["InvalidItem", "content", "blank_content"]),
            ({"items": [item("a", relevance=-0.5)]}, ["InvalidItem", "relevance", "out_of_range"]),
            ({"items": [item("a", relevance=-1)]}, ["InvalidItem", "relevance", "out_of_range"]),
            ({"items": [item("a", trust=2)]}, ["InvalidItem", "trust", "out_of_range"]),
            ({"items": [item("a", trust=1e300)]}, ["InvalidItem", "trust", "out_of_range"]),
            ({"items": [item("a", freshness=int("9" * 4000))]}, ["InvalidItem", "freshness", "out_of_range"]),
            ({"items": [item("a", priority=1001)]}, ["InvalidItem", "priority", "out_of_range"]),
            ({"items": [item("a", kind="system")]}, ["InvalidItem", "source", "untrusted_system"]),
            ({"items": [item("a", subject=" ")]}, ["InvalidItem", "subject", "blank_subject"]),
        ],
    )
    def test_items_that_are_none(self, keys: Object, failure: list[str]) -> None:
        told = refused("select", max_tokens=5, **keys)

        assert ["kind", "item_id", "field", "reason", "actual"] == list(told)
        assert failure == [told["kind"], told["field"], told["reason"]]
        assert keys["items"][0]["item_id"] == told["item_id"]

    @pytest.mark.parametrize(
        ("keys", "failure"),
        [
            (
                {"weights": dict.fromkeys(("priority", "relevance", "freshness", "trust"), 0)},
                {"kind": "InvalidWeights", "field": None, "reason": "all_zero"},
            ),
            (
                {"weights": {"trust": -1}},
                {"kind": "InvalidWeights", "field": "trust", "reason": "negative"},
            ),
            (
                {"weights": {"priority": 2**64}},
                {"kind": "InvalidWeights", "field": "priority", "reason": "too_large"},
            ),
            (
                {"weights": {"freshness": f"1/{2**1074 + 1}"}},
                {"kind": "InvalidWeights", "field": "freshness", "reason": "too_fine"},
            ),
            (
                {"quotas": [{"kind": None, "floor": 3, "ceiling": 2}]},
                {"kind": "InvalidQuota", "item_kind": None, "reason": "floor_over_ceiling"},
            ),
            (
                {"quotas": [{"kind": "fact"}, {"kind": "fact"}]},
                {"kind": "InvalidQuota", "item_kind": "fact", "reason": "repeated_kind"},
            ),
        ],
    )
    def test_weights_and_quotas_that_say_nothing(self, keys: Object, failure: Object) -> None:
        assert failure == refused("select", items=[item("a")], max_tokens=5, **keys)

    @pytest.mark.parametrize(
        ("keys", "path"),
        [
            ({}, "/items"),
            ({"items": []}, "/max_tokens"),
            ({"items": [], "max_tokens": -1}, "/max_tokens"),
            ({"items": [], "max_tokens": 2**64}, "/max_tokens"),
            ({"items": [], "max_tokens": True}, "/max_tokens"),
            ({"items": [], "max_tokens": 1, "moves": -1}, "/moves"),
            ({"items": [item("a", token_cost=-1)], "max_tokens": 1}, "/items/0/token_cost"),
            ({"items": [item("a", seq=2**64)], "max_tokens": 1}, "/items/0/seq"),
            ({"items": [item("a", trust="1/0")], "max_tokens": 1}, "/items/0/trust"),
            ({"items": [item("a", trust="0.5")], "max_tokens": 1}, "/items/0/trust"),
            ({"items": [item("a", trust=None)], "max_tokens": 1}, "/items/0/trust"),
            ({"items": [item("a", tier="P0")], "max_tokens": 1}, "/items/0/tier"),
            ({"items": [item("a", score=1)], "max_tokens": 1}, "/items/0/score"),
            ({"items": [], "max_tokens": 1, "weights": {"age": 1}}, "/weights/age"),
            ({"items": [], "max_tokens": 1, "quotas": [{"floor": 1}]}, "/quotas/0/kind"),
            ({"items": [], "max_tokens": 1, "more": 1}, "/more"),
        ],
    )
    def test_a_line_that_is_no_request(self, keys: Object, path: str) -> None:
        told = refused("select", **keys)

        assert ("BadRequest", path) == (told["kind"], told["path"])

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
    def test_what_is_no_number_is_refused_by_the_reader(self, number: str) -> None:
        line = '{"op":"select","max_tokens":1,"items":[{"item_id":"a","trust":' + number + "}]}"
        told = json.loads(serve(line.encode()))["failure"]

        assert "BadRequest" == told["kind"]
        assert ["kind", "reason", "path"] == list(told)


def row(item_id: str, tier: str, worth: int | str, cost: int, reason: str) -> Object:
    return {
        "turn_id": None,
        "item_id": item_id,
        "tier": tier,
        "kind": "memory",
        "worth": worth,
        "cost": cost,
        "chosen": reason != "no_room",
        "reason": reason,
    }


class TestCondense:
    """A text in three levels, without a model (T2)."""

    def test_every_key_of_the_answer(self) -> None:
        told = ask("condense", text=LOG, source="log#1")

        assert ["method", "facts", "summary", "evidence_refs", "total_bytes", "truncated"] == list(told)
        assert ("log-v1", len(LOG), True) == (told["method"], told["total_bytes"], told["truncated"])
        fact = told["facts"][0]
        assert ["name", "value", "evidence", "repeats"] == list(fact)
        assert "ERROR disk full" == fact["value"]
        place = {
            "first_line": 61,
            "last_line": 61,
            "start": len(LOG) - 16,
            "end": len(LOG) - 1,
            "source": "log#1",
        }
        assert place == fact["evidence"]
        assert place in told["evidence_refs"]

    def test_without_a_name_the_source_is_null(self) -> None:
        told = ask("condense", text=LOG)

        assert {None} == {place["source"] for place in told["evidence_refs"]}

    @pytest.mark.parametrize(
        ("keys", "failure"),
        [
            ({"text": ""}, {"kind": "NotSmaller", "before": 0}),
            (
                {"text": LOG, "limits": {"max_input_bytes": 9}},
                {"kind": "TextTooLarge", "limit": 9, "actual": len(LOG)},
            ),
            (
                {"text": LOG, "limits": {"max_facts": 0}},
                {"kind": "InvalidCondenseLimit", "what": "max_facts", "actual": 0},
            ),
        ],
    )
    def test_refusals(self, keys: Object, failure: Object) -> None:
        told = refused("condense", **keys)

        assert failure == {key: told[key] for key in failure}

    def test_what_is_condensed_already(self) -> None:
        context = ask("compose", **COMPOSE, items=[item("a", content=LOG, compressible=True)], large_bytes=1)
        envelope = context["request"]["messages"][-2]["content"]
        line = next(json.loads(one) for one in envelope.splitlines() if '"condensed_by"' in one)

        assert {"kind": "AlreadyCondensed", "total_bytes": len(line["content"].encode())} == refused(
            "condense", text=line["content"]
        )

    @pytest.mark.parametrize(
        ("keys", "path"),
        [
            ({}, "/text"),
            ({"text": 5}, "/text"),
            ({"text": "", "source": 5}, "/source"),
            ({"text": "", "limits": {"max_facts": -1}}, "/limits/max_facts"),
            ({"text": "", "limits": {"facts": 1}}, "/limits/facts"),
            ({"text": "", "level": 1}, "/level"),
        ],
    )
    def test_a_line_that_is_no_request(self, keys: Object, path: str) -> None:
        told = refused("condense", **keys)

        assert ("BadRequest", path) == (told["kind"], told["path"])


class TestCompose:
    """From a task's state to the exact request (S4a)."""

    def test_every_key_of_the_answer(self) -> None:
        told = ask("compose", **COMPOSE, items=[item("a", source_events=["e0"])])

        assert ["request", "report", "selection", "state"] == list(told)
        assert ["system", "user", "assistant", "user", "user"] == [
            m["role"] for m in told["request"]["messages"]
        ]
        assert [
            *("algorithm_version", "method", "candidates", "chosen", "stages", "origins", "filtered"),
            *("duplicates", "conflicts", "condensed", "items", "shares", "tokens_before", "tokens_after"),
        ] == list(told["selection"])
        assert ["goal", "a"] == [one["item_id"] for one in told["report"]["items"]]
        assert told["report"]["selection"]["state"] == told["state"]

    def test_a_projection_in_place_of_the_log(self) -> None:
        rest = without(without(COMPOSE, "events"), "session_id")
        projection = ask("project", session_id="s", events=EVENTS)

        assert ask("compose", **COMPOSE) == ask("compose", **rest, projection=projection)

    def test_the_state_goes_round(self) -> None:
        many = [item(f"i{n}", content=f"{n}" * 400, token_cost=100, relevance=f"{n}/9") for n in range(9)]
        narrow = {**COMPOSE, "budget": {"window": 900, "reserved_output": 100}, "items": many}
        first = ask("compose", **narrow)
        again = ask("compose", **narrow, previous_selection=first["state"])
        gone = {one["item_id"] for one in first["report"]["items"] if not one["retained"]}

        assert gone
        assert gone == {one["item_id"] for one in again["report"]["items"] if not one["retained"]}

    @pytest.mark.parametrize(
        ("keys", "failure"),
        [
            (
                {"state": {**STATE, "session_id": "x"}},
                {"kind": "StateOfAnotherSession", "expected": "s", "actual": "x"},
            ),
            ({"state": {**STATE, "user_id": " "}}, {"kind": "InvalidTaskState", "field": "user_id"}),
            (
                {"budget": {"window": 10, "reserved_output": 11}},
                {
                    "kind": "InvalidTokenBudget",
                    "field": "available_context",
                    "reason": "overdrawn",
                    "actual": -1,
                },
            ),
            (
                {"budget": {"window": 0, "reserved_output": 0}},
                {"kind": "InvalidTokenBudget", "field": "window", "reason": "zero_window", "actual": 0},
            ),
            (
                {"items": [item("a", source_events=["e9"])]},
                {"kind": "UnknownSource", "item_id": "a", "event_id": "e9"},
            ),
            (
                {"items": [item("a"), item("a", content="another")]},
                {
                    "kind": "InvalidItem",
                    "item_id": "a",
                    "field": "item_id",
                    "reason": "duplicate_id",
                    "actual": "a",
                },
            ),
            (
                {"weights": dict.fromkeys(("priority", "relevance", "freshness", "trust"), 0)},
                {"kind": "InvalidWeights", "field": None, "reason": "all_zero"},
            ),
            (
                {"quotas": [{"kind": None}, {"kind": None}]},
                {"kind": "InvalidQuota", "item_kind": None, "reason": "repeated_kind"},
            ),
            (
                {"turn_worths": [{"turn_id": "t1", "worth": {"priority": 1001}}]},
                {"kind": "InvalidTurnWorth", "turn_id": "t1", "reason": "out_of_range"},
            ),
            (
                {"turn_worths": [{"turn_id": "t1", "worth": {}}] * 2},
                {"kind": "InvalidTurnWorth", "turn_id": "t1", "reason": "repeated_turn"},
            ),
            (
                {"summaries": [summary("a", session_id="other")]},
                {"kind": "InvalidInput", "reason": "summary_of_another_session", "path": "/summaries/0"},
            ),
            (
                {"summaries": [summary("a", supersedes=["b"]), summary("b", supersedes=["a"])]},
                {"kind": "InvalidInput", "reason": "summary_not_active", "path": "/summaries"},
            ),
            (
                {"summaries": [summary("a", supersedes=["a"])]},
                {"kind": "InvalidInput", "reason": "summary_not_active", "path": "/summaries"},
            ),
            (
                {"summaries": [summary("a", turn_ids=["t9"])]},
                {"kind": "InvalidInput", "reason": "summary_of_unknown_turn", "path": "/summaries/0"},
            ),
            (
                {"pinned_turns": ["t9"]},
                {"kind": "InvalidInput", "reason": "unknown_pin", "path": "/pinned_turns/0"},
            ),
            ({"mode": "hard"}, {"kind": "UnverifiedCount", "reason": "output_evidence"}),
            (
                {"session_id": "x"},
                {"kind": "WrongSession", "physical_index": 0, "expected": "x", "actual": "s"},
            ),
        ],
    )
    def test_refusals(self, keys: Object, failure: Object) -> None:
        assert failure == without(refused("compose", **{**COMPOSE, **keys}))

    def test_what_must_stay_beyond_the_window_with_each_cost(self) -> None:
        """`DoesNotFit` with a report in which each item that must stay has its cost (B5)."""
        items = [
            item("a", content="x" * 400, required=True),
            item("b", content="y" * 40, pinned=True),
            item("c"),
        ]
        told = refused(
            "compose", **{**COMPOSE, "budget": {"window": 150, "reserved_output": 100}}, items=items
        )

        assert {"kind": "DoesNotFit", "exhaustive": True} == without(told)
        costs = {one["item_id"]: one["cost"] for one in told["report"]["items"] if one["protected"]}
        assert ["goal", "a", "b"] == list(costs)
        assert costs["a"] > 100 > costs["b"] > 0

    def test_no_items_at_all_are_no_fault(self) -> None:
        """A host that gathered nothing still has a history and something to ask."""
        told = ask("compose", **{**COMPOSE, "state": without(without(STATE, "goal"), "system_rules")})

        assert [] == told["selection"]["items"]
        assert None is told["report"]["items"]

    def test_a_projection_that_was_tampered_with(self) -> None:
        projection = ask("project", session_id="s", events=EVENTS)
        projection["turns"][0]["turn_id"] = " "
        rest = without(without(COMPOSE, "events"), "session_id")

        assert {
            "kind": "NotAdmitted",
            "reason": "blank_turn_id",
            "path": "/projection/turns/0/turn_id",
        } == refused("compose", **rest, projection=projection)

    @pytest.mark.parametrize(
        ("keys", "path"),
        [
            ({"projection": {}}, ""),
            ({"events": None}, "/events"),
            ({"session_id": 5}, "/session_id"),
            ({"config": {"max_events": -1}}, "/config/max_events"),
            ({"state": []}, "/state"),
            ({"state": {}}, "/state/tenant_id"),
            ({"budget": {"window": -1, "reserved_output": 1}}, "/budget/window"),
            ({"budget": {"window": 2**64, "reserved_output": 1}}, "/budget/window"),
            ({"budget": {"window": 1}}, "/budget/reserved_output"),
            ({"recalled": [{"memory_id": "m"}]}, "/recalled/0/tenant_id"),
            ({"counter": {"kind": "exact"}}, "/counter/kind"),
            ({"summaries": [{}]}, "/summaries/0/facts"),
            ({"turn_worths": [{"turn_id": "t1"}]}, "/turn_worths/0/worth"),
            ({"previous_selection": {}}, "/previous_selection/left_out_turns"),
            ({"previous": {}}, "/previous/algorithm_version"),
            ({"condensers": []}, "/condensers"),
        ],
    )
    def test_a_line_that_is_no_request(self, keys: Object, path: str) -> None:
        told = refused("compose", **{**COMPOSE, **keys})

        assert ("BadRequest", path) == (told["kind"], told["path"])

    def test_neither_a_log_nor_a_projection(self) -> None:
        told = refused("compose", **without(COMPOSE, "events"))

        assert ("BadRequest", "") == (told["kind"], told["path"])

    def test_a_counter_that_bounds_nothing(self) -> None:
        one = {"bytes": 1, "specials": 0}
        counter = {
            "kind": "byte_bound",
            "model": "m",
            "template_revision": "1",
            "normalization": "none",
            "json_factor": [1, 2],
            "allowance": dict.fromkeys(("message", "call", "tool", "request"), one),
        }

        assert "/counter/json_factor" == refused("compose", **COMPOSE, counter=counter)["path"]

    def test_a_key_beside_a_projection_that_belongs_to_a_log(self) -> None:
        projection = ask("project", session_id="s", events=EVENTS)
        told = refused("compose", **without(COMPOSE, "events"), projection=projection)

        assert ("BadRequest", "/session_id") == (told["kind"], told["path"])

    def test_an_event_that_does_not_decode_has_its_place(self) -> None:
        told = refused("compose", **{**COMPOSE, "events": [*EVENTS, {**EVENTS[0], "seq": "3"}]})

        assert ("DecodeFailed", 3, "/seq") == (told["kind"], told["index"], told["path"])

    def test_the_id_comes_back(self) -> None:
        told = serves({"op": "compose", "id": [1], **COMPOSE})

        assert [1] == told["id"]


class TestSpecs:
    """The file of the command line holds the keys of the op besides its history."""

    def test_left_out_keys_have_the_defaults_of_compose(self) -> None:
        spec = compose_spec({key: COMPOSE[key] for key in ("state", "target", "budget", "current")})
        assert isinstance(spec, ComposeSpec)

        assert ComposeOptions() == spec.options

    def test_every_option_of_compose_but_functions_and_views_can_be_written(self) -> None:
        named = {field.name for field in attrs.fields(ComposeOptions)} - {"condensers", "rendering"}

        assert named <= {field.name for field in attrs.fields(ComposeSpec)}

    def test_every_option_reaches_compose(self) -> None:
        """Each key with another value than its default changes the option of its name."""
        changed: Object = {
            "system": ["be brief"],
            "constraint": {"mode": "native_tools", "tools": []},
            "pinned_turns": ["t1"],
            "summaries": [summary("a")],
            "weights": {"trust": 2},
            "quotas": [{"kind": "fact", "floor": 1}],
            "turn_worths": [{"turn_id": "t1", "worth": {"priority": 5}}],
            "previous_selection": {"left_out_turns": [], "left_out_items": [], "available": 1, "moves": 0},
            "moves": 1,
            "previous": ask("compose", **COMPOSE)["report"],
            "now": 5,
            "large_bytes": 1,
            "condense_limits": {"max_facts": 1},
            "event_limit": 1,
            "memory_limit": 1,
            "output_evidence": "verified_upper_bound",
            "mode": "hard",
            "limits": {"max_turns": 1},
            "search": "linear",
            "state_version": "v",
            "reduce_current": True,
        }
        spec = compose_spec(
            {**{key: COMPOSE[key] for key in ("state", "target", "budget", "current")}, **changed}
        )
        assert isinstance(spec, ComposeSpec), spec
        fields = {field.name for field in attrs.fields(ComposeOptions)} - {"condensers", "rendering"}

        assert fields == set(changed)
        assert fields == {
            name for name in fields if getattr(spec.options, name) != getattr(ComposeOptions(), name)
        }
        assert Quotas(rows=(Quota(kind=ItemKind.FACT, floor=1),)) == spec.options.quotas

    def test_items_are_read_exactly(self) -> None:
        spec = compose_spec(
            {**{key: COMPOSE[key] for key in ("state", "target", "budget", "current")}, "items": [item("a")]}
        )
        assert isinstance(spec, ComposeSpec)

        assert [ItemId("a")] == [one.item_id for one in spec.items]

    @pytest.mark.parametrize("value", [None, [], "state", 5])
    def test_what_is_no_object_is_no_spec(self, value: Any) -> None:
        assert BadRequest(reason="expected an object", path="") == compose_spec(value)
