"""Real transcripts: import, project, build, and count again with a counter that is none of jingwei's.

The files lie beside the project and not in it; without them these tests skip.
"""

import collections
import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidator

from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.events.records import UserMessageEvent
from jingwei.events.wire import encode_log, session_log
from jingwei.ids import SessionId
from jingwei.messages.records import (
    AssistantMessage,
    ModelMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import check_shape
from jingwei.outcome import Success
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.providers.openai_chat import (
    ImportedConversation,
    ImportOptions,
    RefusedConversation,
    UnansweredTurn,
    import_transcript,
    lenient_options,
    remedies,
)
from jingwei.report.failures import DoesNotFit
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
LABELS = ("openai-chat", "http-exchange:openai-chat")
SESSION = SessionId("corpus")
STRICT = ImportOptions(session_id=SESSION)
LENIENT = lenient_options(SESSION)
RESUMED = attrs.evolve(LENIENT, unanswered_turn=UnansweredTurn.CANCELLED_OPEN_LAST)
TARGET = ContextTarget(model="m", template_revision="1")


def listed() -> list[str]:
    """The files that the index names as transcripts of this format."""
    index = DATA / "INDEX.md"
    if not index.exists():
        return []
    rows = [[cell.strip() for cell in line.split("|")] for line in index.read_text("utf-8").splitlines()]
    return [row[2] for row in rows if len(row) > 5 and row[5] in LABELS]


FILES = listed()

needs_data = pytest.mark.skipif(not FILES, reason="the shared transcripts are not here")
each_file = pytest.mark.parametrize("name", FILES or [pytest.param("-", marks=needs_data)])


def conversations(name: str, options: ImportOptions) -> list[ImportedConversation | RefusedConversation]:
    return list(import_transcript((DATA / name).read_bytes(), options).unwrap().conversations)


def logs(name: str, options: ImportOptions) -> list[ImportedConversation]:
    return [c for c in conversations(name, options) if isinstance(c, ImportedConversation)]


# --- the second counter and the second look at pairing -------------------------------------------


def as_json(message: ModelMessage) -> dict[str, Any]:
    match message:
        case SystemMessage(content=content):
            return {"role": "system", "content": content}
        case UserMessage(content=content):
            return {"role": "user", "content": content}
        case ToolMessage(call_id=call_id, content=content):
            return {"role": "tool", "call_id": call_id, "content": content}
        case AssistantMessage(content=content, tool_calls=calls):
            made = [{"id": c.id, "name": c.name, "arguments": json.loads(c.arguments.text)} for c in calls]
            return {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}


def tokens(messages: list[ModelMessage]) -> int:
    """A token for every four bytes begun, of each message and of the constraint; 32 for the template."""
    values: list[dict[str, Any]] = [*map(as_json, messages), {"mode": "text"}]
    sizes = [len(json.dumps(v, ensure_ascii=False, separators=(",", ":")).encode()) for v in values]
    return sum((size + 3) // 4 for size in sizes) + 32


def unpaired(messages: list[dict[str, Any]]) -> list[str]:
    """Calls that are not answered at once, and answers to nothing."""
    wrong, open_ids = list[str](), set[str]()
    for message in messages:
        if message["role"] == "tool":
            wrong += [] if message["call_id"] in open_ids else [f"answer to nothing: {message['call_id']}"]
            open_ids.discard(message["call_id"])
            continue
        wrong += [f"unanswered: {call_id}" for call_id in sorted(open_ids)]
        open_ids = {call["id"] for call in message.get("tool_calls", [])}
    return wrong + [f"unanswered: {call_id}" for call_id in sorted(open_ids)]


def peer_accepts(messages: list[dict[str, Any]]) -> None:
    """The request validator of another library raises where it objects."""
    outside = []
    for message in messages:
        given = dict(message)
        if "call_id" in given:
            given["tool_call_id"] = given.pop("call_id")
        if "tool_calls" in given:
            given["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
                }
                for call in given["tool_calls"]
            ]
        outside.append(given)
    MistralRequestValidator().validate_messages(ChatCompletionRequest.from_openai(outside).messages)


# --- import ---------------------------------------------------------------------------------------


@needs_data
def test_how_many_conversations_import_and_how() -> None:
    """The numbers of the closing note; a change of any of them is a change of what the importer takes.

    Refusing is the default for text beside calls, and for turns and calls without an end, so most
    recorded agent runs need more than one option: `lenient_options` is the one documented option.
    """
    counted = collections.Counter[str]()
    for name in FILES:
        for strict, lenient in zip(conversations(name, STRICT), conversations(name, LENIENT), strict=True):
            assert isinstance(lenient, ImportedConversation), (name, lenient)
            if isinstance(strict, ImportedConversation):
                counted["default"] += 1
                continue
            needed = {remedies(failure)[0].option for failure in strict.failures}
            counted[next(iter(needed)) if len(needed) == 1 else "several"] += 1

    assert {"default": 4, "unanswered_turn": 24, "several": 33} == dict(counted)


@each_file
def test_a_file_gives_the_same_bytes_twice_and_each_log_projects(name: str) -> None:
    first, second = logs(name, LENIENT), logs(name, LENIENT)

    assert [encode_log(c.log.events) for c in first] == [encode_log(c.log.events) for c in second]
    for conversation in first:
        assert isinstance(project(SESSION, conversation.log), Success)


@each_file
def test_every_user_text_and_result_of_a_bare_file_stands_in_its_log(name: str) -> None:
    """Counted from the raw JSON, for the wrappers whose messages lie open."""
    value = json.loads((DATA / name).read_text("utf-8"))
    runs = value if isinstance(value, list) and "traj" in value[0] else [value]
    for conversation, run in zip(logs(name, LENIENT), runs, strict=False):
        messages = run.get("traj") if isinstance(run, dict) else run
        if not isinstance(messages, list):
            pytest.skip("another wrapper")
        roles = collections.Counter(message["role"] for message in messages)
        calls = sum(len(message.get("tool_calls") or ()) for message in messages)

        assert roles["user"] == conversation.report.turns
        assert roles["tool"] == conversation.report.tool_results
        assert calls == conversation.report.tool_calls
        assert roles["system"] == len(conversation.system)
        assert [m["content"] for m in messages if m["role"] == "user" and isinstance(m["content"], str)] == [
            event.kind.text for event in conversation.log.events if isinstance(event.kind, UserMessageEvent)
        ]


# --- build ----------------------------------------------------------------------------------------


def resumed(conversation: ImportedConversation) -> tuple[Projection, tuple[ModelMessage, ...]]:
    """History and current: the open turn's message if the transcript ends on one, else a new one."""
    open_turn = conversation.report.open_turn
    events = [event for event in conversation.log.events if event.turn_id != open_turn]
    asked = [event.kind for event in conversation.log.events if event.turn_id == open_turn]
    texts = [kind.text for kind in asked if isinstance(kind, UserMessageEvent)] or ["Go on."]
    history = project(SESSION, session_log(events)).unwrap()
    return history, tuple(UserMessage(content=text) for text in texts)


@each_file
@pytest.mark.parametrize("percent", [100, 50, 5])
def test_what_is_built_fits_when_counted_again_and_nothing_fits_otherwise(name: str, percent: int) -> None:
    for conversation in logs(name, RESUMED):
        history, current = resumed(conversation)
        system: list[ModelMessage] = [SystemMessage(content=text) for text in conversation.system]
        old = [message for turn in history.turns for group in turn.groups for message in group.messages]
        window = tokens([*system, *old, *current]) * percent // 100
        reserve = max(1, window // 20)
        inputs = BuildInputs(
            current=current,
            target=TARGET,
            budget=ContextBudget(window_tokens=window, output_reserve=reserve),
            system=conversation.system,
        )

        outcome = build(history, inputs, ByteHeuristicCounter())

        if not isinstance(outcome, Success):
            assert isinstance(outcome.failure(), DoesNotFit)
            assert tokens([*system, *current]) + reserve > window
            continue
        built = outcome.unwrap()
        assert isinstance(built, BuiltContext)
        messages = list(built.request.messages)
        plain = [as_json(message) for message in messages]
        assert tokens(messages) + reserve <= window
        assert tokens(messages) == built.report.attempts[-1].count.tokens.total
        assert isinstance(check_shape(built.request), Success)
        assert [] == unpaired(plain)
        assert [*system, *old, *current][-len(current) :] == messages[-len(current) :]
        peer_accepts(plain)
