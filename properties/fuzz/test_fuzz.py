"""The fuzz targets hold of their corpus and of a short run, and notice what they are there for."""

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest

from jingwei import batch, codec, jsontext
from jingwei.codec import DecodeReason
from jingwei.events.records import SessionLog
from jingwei.events.wire import decode_log
from jingwei.ids import SessionId, ToolCallId
from jingwei.jsontext import NotCanonical, parse_pairs, value_of_pairs
from jingwei.projection.diagnose import Diagnosis, diagnose
from jingwei.providers.openai_chat import turns
from properties.fuzz.guided import run
from properties.fuzz.mutation import CORPUS, mutated, seeds
from properties.fuzz.targets import TARGETS
from properties.models import plain_text

SEEDS = [path for name in TARGETS for path in sorted((CORPUS / name).iterdir())]


def test_every_target_has_a_corpus_and_no_corpus_is_left_over() -> None:
    assert set(TARGETS) == {path.name for path in CORPUS.iterdir()}


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_target_holds_of_its_corpus(path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_of_a_short_run(name: str) -> None:
    """Five seconds through Hypothesis' entry; the inputs are always the same, the machine says how many."""
    ran = run(name, seconds=5, seed=1)
    if ran.finding is not None:
        raise ran.finding[1]

    assert len(seeds(name)) < ran.executions
    assert 0 < ran.kept


# --- planted bugs -----------------------------------------------------------------------------------


def without_violations(session_id: SessionId, log: SessionLog) -> Diagnosis:
    return attrs.evolve(diagnose(session_id, log), violations=())


def one_id(ledger: object, calls: Iterable[Any]) -> list[tuple[object, ToolCallId]]:
    return [(call.key, ToolCallId("c")) for call in calls]


PLANTED: dict[str, tuple[object, str, Callable[..., object]]] = {
    "log": (codec, "_members", dict),  # equal keys in the fast door
    "json_text": (jsontext, "within_depth", lambda text, value: True),
    "document": (codec, "_an_array", list),  # raises where no array stands
    "batch": (batch, "diagnose", without_violations),
    "transcript": (turns, "_runtime_ids", one_id),
}
"""By target: where a bug is put, and what stands there instead."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_notices_a_planted_bug(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found in the corpus or within 3,000 changed inputs."""
    rng, first = Random(1), seeds(name)
    inputs = [*first, *[mutated(rng.choice(first), rng) for _ in range(3000)]]
    place, function, instead = PLANTED[name]
    monkeypatch.setattr(place, function, instead)

    assert any(breaks(name, data) for data in inputs)


def breaks(name: str, data: bytes) -> bool:
    try:
        TARGETS[name](data)
    except (AssertionError, TypeError):
        return True
    return False


def test_changes_follow_from_the_generator() -> None:
    data = (CORPUS / "log" / "turns.jsonl").read_bytes()

    assert [mutated(data, Random(n)) for n in range(50)] == [mutated(data, Random(n)) for n in range(50)]
    assert 40 < len({mutated(data, Random(n)) for n in range(50)})


# --- findings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", [b"[]", b"[[]]", b'{"a":[]}', b"{}", b"5", b"null"])
def test_a_tag_of_another_type_is_refused_by_the_fast_door(tag: bytes) -> None:
    """W5, W6. An array as a tag cannot be looked up in a table of tags: that was a TypeError."""
    envelope = b'{"event_id":"e0","session_id":"s","turn_id":"t0","seq":0,"kind":{"type":%b}}\n'
    failure = decode_log(envelope % tag).failure()

    assert (DecodeReason.WRONG_TYPE, "/kind/type", 1) == (failure.reason, failure.path, failure.line)


@pytest.mark.parametrize("innermost", ["[]", "{}", "0"])
@pytest.mark.parametrize("levels", [1, 2, 112, 128])
def test_levels_of_pairs_are_counted_where_the_innermost_is_empty(levels: int, innermost: str) -> None:
    """A container counts as a level though it holds nothing (W6)."""
    inside = levels if innermost == "0" else levels - 1
    fits, exceeds = ("[" * depth + innermost + "]" * depth for depth in (inside, inside + 1))

    assert not isinstance(value_of_pairs(parse_pairs(fits), levels), NotCanonical)
    assert isinstance(value_of_pairs(parse_pairs(exceeds), levels), NotCanonical)


@pytest.mark.parametrize("levels", [124, 125, 126, 128])
@pytest.mark.parametrize("as_object", [False, True])
def test_an_imported_log_can_be_written(levels: int, as_object: bool) -> None:
    """W6. Arguments that an event would hold too deep are refused or wrapped: a log could not be written."""
    given = '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"
    called = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": "GIVEN"}}],
    }
    result, reply = (
        {"role": "tool", "tool_call_id": "c", "content": "x"},
        {"role": "assistant", "content": "y"},
    )
    text = plain_text([{"role": "user", "content": "hi"}, called, result, reply])

    TARGETS["transcript"](text.replace('"GIVEN"', given if as_object else plain_text(given), 1).encode())


def test_an_answer_may_be_deeper_than_a_request() -> None:
    """W6 bounds what is read, not what is answered (docs/batch.md): an event's JSON near the bound stands
    deeper in a projection than in its event, and such a projection cannot be sent back.
    """
    deep = "[" * 120 + "]" * 120
    call = {"type": "tool_call", "call": {"id": "c", "name": "n", "arguments": {"a": "DEEP"}}}
    result = {"call_id": "c", "outcome": {"status": "succeeded", "output": ""}}
    kinds = [
        {"type": "user_message", "text": "hi"},
        call,
        {"type": "tool_result", "result": result},
        {"type": "error", "code": "", "message": "", "retryable": False},
    ]
    events = [
        {"event_id": f"e{seq}", "session_id": "s", "turn_id": "t", "seq": seq, "kind": kind}
        for seq, kind in enumerate(kinds)
    ]
    asked = plain_text({"op": "project", "session_id": "s", "events": events}).replace('"DEEP"', deep)
    answer = batch.serve(asked.encode())

    assert '"ok"' in answer
    refused = codec.parse_document(answer.encode())
    assert isinstance(refused, codec.DecodeFailed)
    assert codec.DecodeReason.TOO_DEEP is refused.reason
