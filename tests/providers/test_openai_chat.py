"""Import of Chat Completions transcripts: what becomes of each shape, strictly and under each option."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.codec import DecodeFailed, DecodeReason
from jingwei.events.records import (
    AssistantDelta,
    AssistantReply,
    CustomEvent,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    ToolCallEvent,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.wire import decode_log, encode_log
from jingwei.ids import SessionId, TurnId
from jingwei.jsontext import JsonValue, NotJson
from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    ModelMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.providers.openai_chat import (
    OPTION_OF,
    UNKNOWN_OUTCOME,
    AmbiguousResult,
    BadArguments,
    BadArgumentText,
    BadField,
    BlankSessionId,
    CallWithoutResult,
    ContentNotText,
    Conversation,
    ConversationFailure,
    EarlierText,
    EmptyArguments,
    EmptyArgumentText,
    HardFailure,
    ImportedConversation,
    ImportFailure,
    ImportNote,
    ImportOptions,
    InterimText,
    LateResult,
    LegacyCall,
    LegacyFunction,
    MessageBeforeUser,
    MissingId,
    NoConversation,
    NoId,
    NonTextPart,
    NotAConversation,
    NoteKind,
    NoUserMessage,
    PartNotText,
    ReasoningPresent,
    RefusedConversation,
    RepeatedCallId,
    ResultAfterTurn,
    ResultWithoutCall,
    SecondResult,
    SilentAssistant,
    SilentStep,
    StructuredContent,
    TextBesideCalls,
    TurnWithoutReply,
    UnansweredCall,
    UnansweredTurn,
    UnknownRole,
    Unplaced,
    UnusableResponse,
    describe,
    failure_value,
    import_transcript,
    lenient_options,
    remedies,
    report_value,
)
from jingwei.request.counting import CountRefused
from jingwei.request.records import (
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)

Message: TypeAlias = dict[str, Any]

SESSION = SessionId("imported")
STRICT = ImportOptions(session_id=SESSION)
LENIENT = lenient_options(SESSION)
TARGET = ContextTarget(model="m", template_revision="1")


def user(text: str = "x") -> Message:
    return {"role": "user", "content": text}


def said(text: str | None = "ok", **more: Any) -> Message:
    return {"role": "assistant", "content": text, **more}


def call(call_id: str | None, name: str = "f", arguments: Any = "{}") -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: Message, text: str | None = None) -> Message:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def result(call_id: str | None, text: Any = "r", **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text, **more}


def only(document: JsonValue | bytes, options: ImportOptions) -> Conversation:
    outcome = import_transcript(document, options)
    assert isinstance(outcome, Success), outcome
    (conversation,) = outcome.unwrap().conversations
    return conversation


def imported(document: JsonValue | bytes, options: ImportOptions = STRICT) -> ImportedConversation:
    conversation = only(document, options)
    assert isinstance(conversation, ImportedConversation), conversation
    return conversation


def refused(document: JsonValue | bytes, options: ImportOptions = STRICT) -> tuple[ConversationFailure, ...]:
    conversation = only(document, options)
    assert isinstance(conversation, RefusedConversation), conversation
    return conversation.failures


def projected(conversation: ImportedConversation) -> Projection:
    outcome = project(SESSION, conversation.log)
    assert isinstance(outcome, Success), outcome
    return outcome.unwrap()


def sent(conversation: ImportedConversation) -> list[ModelMessage]:
    return [m for turn in projected(conversation).turns for group in turn.groups for m in group.messages]


def kinds(conversation: ImportedConversation, cls: type[Any]) -> list[Any]:
    return [event.kind for event in conversation.log.events if isinstance(event.kind, cls)]


def options(**chosen: Any) -> ImportOptions:
    return attrs.evolve(STRICT, **chosen)


# --- what imports by default --------------------------------------------------------------------


def test_the_log_of_a_plain_exchange_is_written_out_here_event_by_event() -> None:
    document: list[Any] = [
        {"role": "system", "content": "be brief"},
        user("weather?"),
        calling(call("c1", "weather", '{"b": 1, "a": 2.50}')),
        result("c1", "sunny"),
        said("It is sunny."),
    ]
    head = '"session_id":"imported","turn_id":"turn-1"'
    lines = [
        f'{{"event_id":"m1.user",{head},"seq":0,"kind":{{"type":"user_message","text":"weather?"}}}}',
        f'{{"event_id":"m2.call0",{head},"seq":1,"kind":{{"type":"tool_call","call":'
        '{"id":"c1","name":"weather","arguments":{"b":1,"a":2.5}}}}',
        f'{{"event_id":"m3.result",{head},"seq":2,"kind":{{"type":"tool_result","result":'
        '{"call_id":"c1","outcome":{"status":"succeeded","output":"sunny"}}}}',
        f'{{"event_id":"m4.reply",{head},"message_id":"m4","seq":3,'
        '"kind":{"type":"assistant_message","version":1,"text":"It is sunny."}}',
        f'{{"event_id":"m1.end",{head},"seq":4,"kind":{{"type":"done","status":"completed"}}}}',
    ]

    conversation = imported(document)

    assert Success("".join(line + "\n" for line in lines).encode()) == encode_log(conversation.log.events)
    assert ("be brief",) == conversation.system
    assert () == conversation.report.notes


def test_the_same_document_gives_the_same_bytes_as_value_and_as_text() -> None:
    document: list[Any] = [user(), calling(call("c"), text="look"), result("c"), said()]
    as_text = json.dumps(document, indent=2).encode()

    logs = {encode_log(imported(form, LENIENT).log.events).unwrap() for form in (document, as_text)}

    assert 1 == len(logs)


def test_closed_turns_import_without_options_b01() -> None:
    document: list[Any] = [
        user("hi"),
        calling(call("c1", "get")),
        result("c1", "42"),
        said("It is 42."),
        user("and now?"),
        said("Still 42."),
        user("thanks"),
        said("You are welcome."),
    ]

    turns = projected(imported(document)).turns

    assert [("turn-0", 4), ("turn-4", 2), ("turn-6", 2)] == [
        (turn.turn_id, turn.message_count) for turn in turns
    ]


def test_ids_that_start_again_in_every_turn_are_kept_b21() -> None:
    document: list[Any] = [
        user("a"),
        calling(call("call_0", arguments='{"x":1}')),
        result("call_0", "1"),
        said("one"),
        user("b"),
        calling(call("call_0", arguments='{"x":2}')),
        result("call_0", "2"),
        said("two"),
    ]

    conversation = imported(document)

    assert ["call_0", "call_0"] == [kind.call.id for kind in kinds(conversation, ToolCallEvent)]
    assert ["1", "2"] == [kind.result.outcome.output for kind in kinds(conversation, ToolResultEvent)]
    assert 2 == len({m.call_id for m in sent(conversation) if isinstance(m, ToolMessage)})


def test_an_id_used_again_in_its_turn_is_renamed_and_reported_b20() -> None:
    document: list[Any] = [
        user(),
        calling(call("c", arguments='{"n":1}')),
        result("c", "first"),
        calling(call("c", arguments='{"n":2}')),
        result("c", "second"),
        said(),
    ]

    conversation = imported(document)

    assert [("c", '{"n":1}'), ("c#3", '{"n":2}')] == [
        (kind.call.id, kind.call.arguments.text) for kind in kinds(conversation, ToolCallEvent)
    ]
    assert [("c", "first"), ("c#3", "second")] == [
        (kind.result.call_id, kind.result.outcome.output) for kind in kinds(conversation, ToolResultEvent)
    ]
    assert (ImportNote(kind=NoteKind.CALL_ID_RENAMED, index=3, detail="c -> c#3"),) == (
        conversation.report.notes
    )


def test_a_made_id_never_takes_one_that_the_turn_has() -> None:
    document: list[Any] = [user()]
    for call_id in ("c", "c", "c#3", "c#3##"):
        document += [calling(call(call_id)), result(call_id)]

    conversation = imported([*document, said()])

    assert ["c", "c#3#", "c#3", "c#3##"] == [kind.call.id for kind in kinds(conversation, ToolCallEvent)]


def test_results_go_by_id_and_the_log_keeps_their_order_b26() -> None:
    both = calling(call("W", "get_weather"), call("T", "get_time"))
    one_way = imported([user(), both, result("T", "14:05"), result("W", "sunny"), said()])
    other_way = imported([user(), both, result("W", "sunny"), result("T", "14:05"), said()])

    assert ["T", "W"] == [kind.result.call_id for kind in kinds(one_way, ToolResultEvent)]
    assert sent(one_way) == sent(other_way)
    assert ["sunny", "14:05"] == [
        json.loads(m.content)["output"] for m in sent(one_way) if isinstance(m, ToolMessage)
    ]


def test_nul_survives_the_whole_way_b38() -> None:
    raw = rb'[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1",'
    raw += rb'"type":"function","function":{"name":"xxd","arguments":"{}"}}]},'
    raw += rb'{"role":"tool","tool_call_id":"c1","content":"x\u0000y"},{"role":"assistant","content":"ok"}]'

    log = imported(raw).log
    (kind,) = [e.kind for e in log.events if isinstance(e.kind, ToolResultEvent)]

    assert ToolSucceeded(output="x\0y") == kind.result.outcome
    assert Success(log) == decode_log(encode_log(log.events).unwrap())


def test_null_beside_calls_is_no_text_b41() -> None:
    conversation = imported([user(), calling(call("c1")), result("c1", "1"), said()])

    assert [] == kinds(conversation, AssistantDelta)
    assert [None, "ok"] == [m.content for m in sent(conversation) if isinstance(m, AssistantMessage)]


@pytest.mark.parametrize("nothing", ["", [], [{"type": "text", "text": ""}]])
def test_empty_text_beside_calls_says_nothing_and_needs_no_option(nothing: Any) -> None:
    step = {**calling(call("c")), "content": nothing}

    assert [] == kinds(imported([user(), step, result("c", ""), said()]), AssistantDelta)


def test_an_empty_reply_is_a_reply() -> None:
    assert [AssistantReply(text="")] == kinds(imported([user(), said("")]), AssistantReply)


def test_parts_are_joined_without_anything_between_them_and_none_are_empty_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"type": "text", "text": "b"}]
    conversation = imported([{"role": "user", "content": []}, {"role": "assistant", "content": parts}])

    assert [UserMessageEvent(text="")] == kinds(conversation, UserMessageEvent)
    assert [AssistantReply(text="ab")] == kinds(conversation, AssistantReply)
    assert (ImportNote(kind=NoteKind.PARTS_JOINED, index=1, detail="3 parts"),) == conversation.report.notes


def test_a_refusal_is_a_reply_as_field_and_as_part_b46() -> None:
    parts = [{"type": "text", "text": "Partly. "}, {"type": "refusal", "refusal": "Not this."}]
    as_field = imported([user(), said(None, refusal="I cannot help with that.")])
    beside = imported([user(), said("Partly. ", refusal="Not this.")])
    as_part = imported([user(), {"role": "assistant", "content": parts}])

    assert [AssistantReply(text="I cannot help with that.")] == kinds(as_field, AssistantReply)
    assert [AssistantReply(text="Partly. Not this.")] == kinds(beside, AssistantReply)
    assert [AssistantReply(text="Partly. Not this.")] == kinds(as_part, AssistantReply)
    for conversation in (as_field, beside, as_part):
        assert 1 == conversation.report.counts[NoteKind.REFUSAL_AS_TEXT]


def test_a_text_that_looks_like_an_error_is_what_the_tool_returned() -> None:
    conversation = imported([user(), calling(call("c")), result("c", "Error: no such file"), said()])

    (kind,) = kinds(conversation, ToolResultEvent)

    assert ToolSucceeded(output="Error: no such file") == kind.result.outcome


def test_the_role_agent_is_the_assistant_and_said_to_be() -> None:
    conversation = imported([user(), {"role": "agent", "content": "ok", "tool_calls": None, "name": None}])

    assert [AssistantReply(text="ok")] == kinds(conversation, AssistantReply)
    assert (ImportNote(kind=NoteKind.AGENT_AS_ASSISTANT, index=1, detail="agent"),) == (
        conversation.report.notes
    )


def test_instructions_stand_beside_the_log_and_lose_only_their_place() -> None:
    developer = {"role": "developer", "content": "be kind"}
    conversation = imported([{"role": "system", "content": "s"}, user(), developer, said()])

    assert [(0, "system", "s"), (2, "developer", "be kind")] == [
        (i.index, i.role.value, i.text) for i in conversation.instructions
    ]
    assert (ImportNote(kind=NoteKind.INSTRUCTION_POSITION_LOST, index=2, detail="developer"),) == (
        conversation.report.notes
    )


def test_fields_without_a_place_are_ignored_and_counted_empty_ones_are_not_worth_a_line() -> None:
    document: list[Any] = [
        user(),
        {**calling({**call("c"), "index": 0}), "annotations": []},
        result("c", cache_control={"type": "ephemeral"}),
        said(audio={"id": "a"}, name=None),
        {**user(), "name": "Ann"},
        said(audio={"id": "b"}),
    ]

    assert [("tool_calls.index", 1, 1), ("cache_control", 2, 1), ("audio", 3, 2), ("name", 4, 1)] == [
        (note.detail, note.index, note.count) for note in imported(document).report.notes
    ]


def test_arguments_given_as_an_object_are_the_object() -> None:
    conversation = imported([user(), calling(call("c", arguments={"n": 2**70})), result("c"), said()])

    (kind,) = kinds(conversation, ToolCallEvent)

    assert '{"n":1180591620717411303424}' == kind.call.arguments.text
    assert {NoteKind.ARGUMENTS_GIVEN_AS_OBJECT: 1} == dict(conversation.report.counts)


def test_an_error_response_is_how_the_last_turn_ended() -> None:
    error = {"error": {"code": "tool_use_failed", "message": "did not match schema"}}
    conversation = imported({"messages": [user()], "response": error})

    assert [ErrorEvent(code="tool_use_failed", message="did not match schema", retryable=False)] == (
        kinds(conversation, ErrorEvent)
    )
    assert {NoteKind.ERROR_RESPONSE_ENDS_TURN: 1} == dict(conversation.report.counts)


def test_an_error_after_the_reply_does_not_take_the_reply_back() -> None:
    conversation = imported({"messages": [user(), said()], "response": {"error": "overloaded"}})

    assert [DoneEvent(status=DoneStatus.COMPLETED)] == kinds(conversation, DoneEvent)
    assert {NoteKind.ERROR_RESPONSE_AFTER_REPLY: 1} == dict(conversation.report.counts)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"type": "invalid", "message": "no"}, ("invalid", "no")),
        ({"code": 429}, ("error", '{"code":429}')),
        ("down", ("error", "down")),
    ],
)
def test_what_an_error_response_says_is_carried(error: Any, expected: tuple[str, str]) -> None:
    conversation = imported({"messages": [user()], "response": {"error": error}})

    (kind,) = kinds(conversation, ErrorEvent)

    assert expected == (kind.code, kind.message)


def test_a_long_session_with_one_id_for_every_call_b55() -> None:
    document: list[Any] = []
    for i in range(4000):
        document += [user(f"q{i}"), calling(call("c")), result("c", "r" * 200), said(f"a{i}")]

    messages = sent(imported(document))

    assert 4000 == len({m.call_id for m in messages if isinstance(m, ToolMessage)})
    assert 16_000 == len(messages)


# --- each refusal and what admits it ------------------------------------------------------------

IMAGE: Message = {"type": "image_url", "image_url": {"url": "data:,"}}

LADDER: list[tuple[str, list[Any], list[ConversationFailure], dict[str, Any], NoteKind]] = [
    (
        "text beside calls",
        [user(), calling(call("c"), text="look"), result("c"), said()],
        [TextBesideCalls(index=1, actual="look")],
        {"text_beside_calls": InterimText.AS_DELTA},
        NoteKind.TEXT_AS_DELTA,
    ),
    (
        "text after which the turn goes on",
        [user(), said("hm"), said("ok")],
        [EarlierText(index=1, actual="hm")],
        {"earlier_text": InterimText.AS_DELTA},
        NoteKind.EARLIER_TEXT_AS_DELTA,
    ),
    (
        "a turn without a reply in the middle",
        [user(), user(), said()],
        [TurnWithoutReply(index=0, can_stay_open=False)],
        {"unanswered_turn": UnansweredTurn.CANCELLED},
        NoteKind.TURN_CANCELLED,
    ),
    (
        "a last turn without a reply, cancelled",
        [user(), said(), user()],
        [TurnWithoutReply(index=2, can_stay_open=True)],
        {"unanswered_turn": UnansweredTurn.CANCELLED},
        NoteKind.TURN_CANCELLED,
    ),
    (
        "a last turn without a reply, open",
        [user(), said(), user()],
        [TurnWithoutReply(index=2, can_stay_open=True)],
        {"unanswered_turn": UnansweredTurn.OPEN_LAST},
        NoteKind.LAST_TURN_OPEN,
    ),
    (
        "work without a reply at the end",
        [user(), calling(call("c")), result("c")],
        [TurnWithoutReply(index=0, can_stay_open=False)],
        {"unanswered_turn": UnansweredTurn.CANCELLED_OPEN_LAST},
        NoteKind.TURN_CANCELLED,
    ),
    (
        "one of two results (B15)",
        [user("both"), calling(call("a"), call("b", "g")), result("a", "1"), said("done")],
        [CallWithoutResult(index=1, call_id="b", name="g")],
        {"unanswered_call": UnansweredCall.FAILED_UNKNOWN},
        NoteKind.OUTCOME_UNKNOWN,
    ),
    (
        "a result without its call",
        [user(), result("gone"), said()],
        [ResultWithoutCall(index=1, call_id="gone")],
        {"stray_result": Unplaced.DROP},
        NoteKind.STRAY_RESULT_UNPLACED,
    ),
    (
        "a second result, kept",
        [user(), calling(call("c")), result("c"), result("c"), said()],
        [SecondResult(index=3, call_id="c")],
        {"stray_result": Unplaced.AS_AUDIT},
        NoteKind.STRAY_RESULT_UNPLACED,
    ),
    (
        "a result after its turn",
        [user(), calling(call("c"), call("d")), result("d"), said(), user(), result("c"), said()],
        [ResultAfterTurn(index=5, call_id="c", call_index=1)],
        {"late_result": LateResult.INTO_ITS_TURN},
        NoteKind.LATE_RESULT_MOVED,
    ),
    (
        "a message before any user, kept",
        [said("hello"), user(), said()],
        [MessageBeforeUser(index=0, role="assistant")],
        {"before_user": Unplaced.AS_AUDIT},
        NoteKind.MESSAGE_BEFORE_USER_UNPLACED,
    ),
    (
        "a message before any user, dropped",
        [result("c"), user(), said()],
        [MessageBeforeUser(index=0, role="tool")],
        {"before_user": Unplaced.DROP},
        NoteKind.MESSAGE_BEFORE_USER_UNPLACED,
    ),
    (
        "no argument text (B50)",
        [user(), calling(call("c1", "now", "")), result("c1", "12:00"), said("noon")],
        [EmptyArguments(index=1, path="/tool_calls/0/function/arguments")],
        {"empty_arguments": EmptyArgumentText.AS_EMPTY_OBJECT},
        NoteKind.ARGUMENTS_EMPTY,
    ),
    (
        "content that is neither text nor parts",
        [user(), calling(call("c")), result("c", {"ok": True}), said()],
        [ContentNotText(index=2, actual='{"ok":true}')],
        {"structured_content": StructuredContent.CANONICAL_JSON},
        NoteKind.CONTENT_AS_JSON,
    ),
    (
        "an image",
        [{"role": "user", "content": [IMAGE]}, said()],
        [PartNotText(index=0, part=0, actual="image_url")],
        {"non_text_parts": NonTextPart.PLACEHOLDER},
        NoteKind.PART_REPLACED,
    ),
    (
        "legacy calling",
        [
            user(),
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "1"},
            said(),
        ],
        [LegacyFunction(index=1, actual="f"), LegacyFunction(index=2, actual="f")],
        {"legacy_calls": LegacyCall.AS_TOOL_CALL},
        NoteKind.LEGACY_AS_TOOL_CALL,
    ),
    (
        "reasoning, dropped",
        [user(), said(reasoning_content="hm")],
        [ReasoningPresent(index=1, field="reasoning_content")],
        {"reasoning": Unplaced.DROP},
        NoteKind.REASONING_UNPLACED,
    ),
    (
        "reasoning, kept",
        [user(), said(reasoning="hm")],
        [ReasoningPresent(index=1, field="reasoning")],
        {"reasoning": Unplaced.AS_AUDIT},
        NoteKind.REASONING_UNPLACED,
    ),
    (
        "a call and its result without an id",
        [user(), calling(call("")), {"role": "tool", "content": "1"}, said()],
        [NoId(index=1, path="/tool_calls/0/id"), NoId(index=2, path="/tool_call_id")],
        {"missing_ids": MissingId.DERIVE},
        NoteKind.ID_DERIVED,
    ),
    (
        "an assistant message that holds nothing",
        [user(), {"role": "assistant", "content": None}, said()],
        [SilentAssistant(index=1)],
        {"silent_step": SilentStep.DROP},
        NoteKind.SILENT_STEP_DROPPED,
    ),
]


@pytest.mark.parametrize(
    ("document", "failures", "chosen", "kind"), [row[1:] for row in LADDER], ids=[row[0] for row in LADDER]
)
def test_what_needs_a_decision_is_refused_by_default_and_admitted_by_its_option(
    document: JsonValue, failures: list[ConversationFailure], chosen: dict[str, Any], kind: NoteKind
) -> None:
    ((option, choice),) = chosen.items()

    conversation = imported(document, options(**chosen))

    assert tuple(failures) == refused(document)
    for failure in failures:
        assert (option, choice.value) in [(r.option, r.choice) for r in remedies(failure)]
    assert {kind: len(failures)} == dict(conversation.report.counts)
    assert option == OPTION_OF[kind]
    projected(conversation)


def test_the_remedy_of_bad_argument_text_is_to_wrap_it() -> None:
    document: list[Any] = [user(), calling(call("a", arguments="[1]")), result("a"), said()]
    (failure,) = refused(document)
    (remedy,) = remedies(failure)

    assert ("bad_arguments", "wrap_text") == (remedy.option, remedy.choice)
    assert imported(document, options(bad_arguments=BadArgumentText(remedy.choice))).log.events


def test_every_option_stands_in_the_ladder() -> None:
    fields = {field.name for field in attrs.fields(ImportOptions)} - {"session_id", "bad_arguments"}

    assert fields == {option for _, _, _, chosen, _ in LADDER for option in chosen}


@pytest.mark.parametrize(
    "text", ['{"m":true}{"m":true}', '{"n": NaN}', '{"k":1,"k":2}', "[1]", '{"a":"\\ud800"}', "1e999", " "]
)
def test_text_that_only_looks_like_a_json_object_is_refused_or_wrapped_whole_b51(text: str) -> None:
    document: list[Any] = [user(), calling(call("a", arguments=text)), result("a"), said()]

    conversation = imported(document, options(bad_arguments=BadArgumentText.WRAP_TEXT))
    (kind,) = kinds(conversation, ToolCallEvent)

    assert (BadArguments(index=1, path="/tool_calls/0/function/arguments", actual=text),) == refused(document)
    assert {"text": text} == kind.call.arguments.value()


def test_structured_results_become_canonical_json_null_and_zero_too_b45() -> None:
    contents: list[Any] = [{"ok": True, "n": 1}, [{"type": "text", "text": "t"}], 0, None, ["a"]]
    ids = [str(i) for i in range(len(contents))]
    document: list[Any] = [
        user(),
        calling(*[call(i) for i in ids]),
        *[result(i, content) for i, content in zip(ids, contents, strict=True)],
        said(),
    ]

    conversation = imported(document, options(structured_content=StructuredContent.CANONICAL_JSON))

    assert ['{"ok":true,"n":1}', "t", "0", "null", '["a"]'] == [
        kind.result.outcome.output for kind in kinds(conversation, ToolResultEvent)
    ]
    assert [2, 4, 5, 6] == [f.index for f in refused(document) if isinstance(f, ContentNotText)]


def test_an_unknown_outcome_says_so_and_stands_before_the_reply() -> None:
    document: list[Any] = [user(), calling(call("a")), said("done")]

    conversation = imported(document, options(unanswered_call=UnansweredCall.FAILED_UNKNOWN))

    assert ["UserMessageEvent", "ToolCallEvent", "ToolResultEvent", "AssistantReply", "DoneEvent"] == [
        type(event.kind).__name__ for event in conversation.log.events
    ]
    assert UNKNOWN_OUTCOME == kinds(conversation, ToolResultEvent)[0].result.outcome
    assert (1, 0) == (conversation.report.tool_calls, conversation.report.tool_results)


def test_a_late_result_stands_in_the_turn_of_its_call() -> None:
    document: list[Any] = [
        user(),
        calling(call("c")),
        user("and?"),
        result("c", "late"),
        said(),
    ]
    chosen = options(late_result=LateResult.INTO_ITS_TURN, unanswered_turn=UnansweredTurn.CANCELLED)

    conversation = imported(document, chosen)

    assert [("turn-0", "m0.user"), ("turn-0", "m1.call0"), ("turn-0", "m3.result"), ("turn-0", "m0.end")] == [
        (event.turn_id, event.event_id) for event in conversation.log.events[:4]
    ]


def test_the_result_goes_to_the_nearest_step_that_waits() -> None:
    document: list[Any] = [
        user(),
        calling(call("c", "early")),
        calling(call("c", "near")),
        result("c", "for near"),
        result("c", "for early"),
        said(),
    ]

    conversation = imported(document)

    assert [("c", "early"), ("c#2", "near")] == [
        (kind.call.id, kind.call.name) for kind in kinds(conversation, ToolCallEvent)
    ]
    assert [("c#2", "for near"), ("c", "for early")] == [
        (kind.result.call_id, kind.result.outcome.output) for kind in kinds(conversation, ToolResultEvent)
    ]


def test_without_ids_the_name_may_tell_which_call_is_answered() -> None:
    document: list[Any] = [
        user(),
        calling(call(None, "read"), call(None, "delete")),
        result(None, "deleted", name="delete"),
        result(None, "read", name="read"),
        said(),
    ]

    conversation = imported(document, options(missing_ids=MissingId.DERIVE))

    assert ["call#1.0", "call#1.1"] == [kind.call.id for kind in kinds(conversation, ToolCallEvent)]
    assert [("call#1.1", "deleted"), ("call#1.0", "read")] == [
        (kind.result.call_id, kind.result.outcome.output) for kind in kinds(conversation, ToolResultEvent)
    ]


def test_a_result_without_an_id_may_answer_the_one_call_that_waits_though_that_has_one() -> None:
    document: list[Any] = [
        user(),
        calling(call("a")),
        calling(call("b")),
        result(None, "for b"),
        result("a", "for a"),
        said(),
    ]

    conversation = imported(document, options(missing_ids=MissingId.DERIVE))

    assert [("b", "for b"), ("a", "for a")] == [
        (kind.result.call_id, kind.result.outcome.output) for kind in kinds(conversation, ToolResultEvent)
    ]


def test_a_result_without_an_id_that_names_no_waiting_call_is_stray() -> None:
    document: list[Any] = [user(), calling(call("a")), result(None, name="g"), result("a"), said()]

    assert (NoId(index=2, path="/tool_call_id"), ResultWithoutCall(index=2, call_id=None)) == (
        refused(document)
    )


def test_a_legacy_result_answers_a_legacy_call_only() -> None:
    legacy = {"role": "function", "name": "f", "content": "1"}
    document: list[Any] = [user(), calling(call("a", "f")), legacy, result("a"), said()]

    assert (ResultWithoutCall(index=2, call_id=None),) == (
        refused(document, options(legacy_calls=LegacyCall.AS_TOOL_CALL))
    )


def test_open_last_refuses_a_turn_that_holds_work_since_it_could_not_project() -> None:
    document: list[Any] = [user(), calling(call("c")), result("c")]

    assert (TurnWithoutReply(index=0, can_stay_open=False),) == (
        refused(document, options(unanswered_turn=UnansweredTurn.OPEN_LAST))
    )


def test_an_open_turn_is_named_in_the_report() -> None:
    conversation = imported([user(), user()], options(unanswered_turn=UnansweredTurn.CANCELLED_OPEN_LAST))

    assert TurnId("turn-1") == conversation.report.open_turn
    assert [NoteKind.TURN_CANCELLED, NoteKind.LAST_TURN_OPEN] == [n.kind for n in conversation.report.notes]


def test_what_is_kept_as_audit_is_kept_whole_and_reaches_no_request() -> None:
    document: list[Any] = [
        said("hello"),
        user(),
        said("ok", reasoning="hm"),
        result("gone", "late news"),
    ]

    conversation = imported(document, LENIENT)

    assert [
        ("openai_chat.before_user", document[0]),
        ("openai_chat.reasoning", {"reasoning": "hm"}),
        ("openai_chat.stray_result", document[3]),
    ] == [(kind.kind, kind.payload.value()) for kind in kinds(conversation, CustomEvent)]
    assert [UserMessage(content="x"), AssistantMessage(content="ok")] == sent(conversation)


def test_one_import_tells_everything_that_stands_in_its_way() -> None:
    document: list[Any] = [
        said("hi"),
        user(),
        calling(call("a"), text="look"),
        user(),
        {"role": "narrator", "content": "meanwhile"},
        said(reasoning="not reached"),
    ]

    assert (MessageBeforeUser(index=0, role="assistant"), UnknownRole(index=4, actual='"narrator"')) == (
        refused(document)
    )
    assert (
        MessageBeforeUser(index=0, role="assistant"),
        TurnWithoutReply(index=1, can_stay_open=False),
        TextBesideCalls(index=2, actual="look"),
        CallWithoutResult(index=2, call_id="a", name="f"),
        TurnWithoutReply(index=3, can_stay_open=True),
    ) == refused(document[:4])


HARD: list[tuple[str, JsonValue, HardFailure]] = [
    ("one id twice in a step (B18)", calling(call("t"), call("t")), RepeatedCallId(index=1, call_id="t")),
    (
        "no object",
        "hello",
        BadField(index=1, path="", expected="an object", actual='"hello"'),
    ),
    ("no role", {"content": "x"}, BadField(index=1, path="/role", expected="a role", actual="null")),
    ("another role", {"role": "user2"}, UnknownRole(index=1, actual='"user2"')),
    (
        "no content",
        {"role": "user"},
        BadField(index=1, path="/content", expected="content", actual="nothing"),
    ),
    (
        "a text part without text",
        {"role": "user", "content": [{"type": "text", "text": None}]},
        BadField(index=1, path="/content/0/text", expected="text", actual="null"),
    ),
    (
        "the same in an assistant message",
        {"role": "assistant", "content": [{"type": "refusal"}]},
        BadField(index=1, path="/content/0/refusal", expected="text", actual="null"),
    ),
    (
        "a refusal that is no text",
        said(None, refusal=[1]),
        BadField(index=1, path="/refusal", expected="text or null", actual="[1]"),
    ),
    (
        "calls of a user",
        {"role": "user", "content": "x", "tool_calls": [1]},
        BadField(index=1, path="/tool_calls", expected="no calls in a message of role user", actual="[1]"),
    ),
    (
        "calls that are no array",
        said(tool_calls=1),
        BadField(index=1, path="/tool_calls", expected="an array or null", actual="1"),
    ),
    (
        "a call that is no object",
        said(tool_calls=[1]),
        BadField(index=1, path="/tool_calls/0", expected="an object", actual="1"),
    ),
    (
        "a custom tool",
        said(tool_calls=[{"id": "c", "type": "custom", "custom": {}}]),
        BadField(index=1, path="/tool_calls/0/type", expected='"function"', actual='"custom"'),
    ),
    (
        "an id that is no text",
        said(tool_calls=[{"id": 1}]),
        BadField(index=1, path="/tool_calls/0/id", expected="an id", actual="1"),
    ),
    (
        "no function",
        said(tool_calls=[{"id": "c"}]),
        BadField(index=1, path="/tool_calls/0/function", expected="an object", actual="null"),
    ),
    (
        "a blank name",
        calling(call("c", " ")),
        BadField(index=1, path="/tool_calls/0/function/name", expected="a name", actual='" "'),
    ),
    (
        "arguments that are neither text nor object",
        calling(call("c", "f", [1])),
        BadField(
            index=1,
            path="/tool_calls/0/function/arguments",
            expected="the text of a JSON object",
            actual="[1]",
        ),
    ),
    (
        "a legacy call that is no object",
        said(function_call=1),
        BadField(index=1, path="/function_call", expected="an object", actual="1"),
    ),
    (
        "a result whose name is no text",
        result("c", name=1),
        BadField(index=1, path="/name", expected="a name or null", actual="1"),
    ),
    (
        "a result whose id is no text",
        {**result(None), "tool_call_id": 1},
        BadField(index=1, path="/tool_call_id", expected="an id", actual="1"),
    ),
]


@pytest.mark.parametrize(("message", "failure"), [row[1:] for row in HARD], ids=[row[0] for row in HARD])
def test_what_no_option_admits(message: JsonValue, failure: HardFailure) -> None:
    assert (failure,) == refused([user(), message, said()], LENIENT)
    assert () == remedies(failure)


def test_a_result_that_could_answer_two_calls_is_refused_whatever_the_options() -> None:
    document: list[Any] = [user(), calling(call(None), call(None)), result(None), result(None), said()]

    assert (AmbiguousResult(index=2, waiting=2),) == refused(document, LENIENT)


def test_a_conversation_in_which_no_user_speaks_is_none() -> None:
    assert (NoUserMessage(messages=1),) == refused([{"role": "system", "content": "s"}])
    assert (NoUserMessage(messages=0),) == refused({"messages": []}, LENIENT)


# --- documents ----------------------------------------------------------------------------------

PAIR: list[Any] = [user(), said()]
ANSWER: dict[str, Any] = {"choices": [{"index": 0, "message": said("answered")}]}

WRAPPERS: list[tuple[str, JsonValue, dict[str, int], tuple[str, ...]]] = [
    ("a bare array", PAIR, {"": 2}, ()),
    ("an object that holds one", {"messages": PAIR, "tools": []}, {"": 2}, ()),
    ("a request log", {"messages": [user()], "response": ANSWER}, {"": 2}, ()),
    ("a log without a response", {"messages": PAIR, "response": None}, {"": 2}, ()),
    ("a run", {"traj": PAIR, "info": {"task": {}}}, {"": 2}, ()),
    ("an array of runs", [{"traj": PAIR}, {"traj": [*PAIR, *PAIR]}], {"0": 2, "1": 4}, ()),
    ("an array of arrays", [PAIR, PAIR], {"0": 2, "1": 2}, ()),
    ("dialogues by name", {"clean": PAIR, "a/b": PAIR, "n": 1}, {"clean": 2, "a~1b": 2}, ("/n",)),
    ("dialogues in wrappers", {"a": {"messages": PAIR}}, {"a": 2}, ()),
    (
        "a bundle",
        {"request.json": {"messages": [user()]}, "response.json": ANSWER},
        {"": 2},
        (),
    ),
    (
        "several bundles",
        {
            "1-request.json": {"messages": [user()]},
            "1-response.json": ANSWER,
            "2-request.json": {"messages": PAIR},
        },
        {"1-request.json": 2, "2-request.json": 2},
        (),
    ),
    ("one exchange", {"request": {"messages": [user()]}, "response": ANSWER}, {"": 2}, ()),
    (
        "exchanges that go on",
        {
            "exchanges": [
                {"request": {"messages": [user()]}, "response": {"error": "busy"}},
                {"request": {"messages": [user()]}, "response": ANSWER},
                {"request": {"contents": []}, "response": {}},
                {"request": {"messages": [user(), said(), user()]}, "response": ANSWER},
                7,
            ]
        },
        {"exchanges/3": 4},
        ("/exchanges/2", "/exchanges/4"),
    ),
    (
        "exchanges of two conversations that begin alike",
        {
            "exchanges": [
                {"request": {"messages": [user()]}, "response": ANSWER},
                {"request": {"messages": [user()]}, "response": ANSWER},
                {"request": {"messages": [user("y")]}, "response": ANSWER},
            ]
        },
        {"exchanges/0": 2, "exchanges/1": 2, "exchanges/2": 2},
        (),
    ),
]


@pytest.mark.parametrize(
    ("document", "conversations", "skipped"), [row[1:] for row in WRAPPERS], ids=[row[0] for row in WRAPPERS]
)
def test_each_wrapper_gives_its_conversations(
    document: JsonValue, conversations: dict[str, int], skipped: tuple[str, ...]
) -> None:
    outcome = import_transcript(document, STRICT).unwrap()

    assert conversations == {
        c.name: c.report.messages for c in outcome.conversations if isinstance(c, ImportedConversation)
    }
    assert len(conversations) == len(outcome.conversations)
    assert skipped == outcome.skipped


@pytest.mark.parametrize("response", ["data: {}", {"choices": []}, {"choices": [1, 2]}, {"error": None}])
def test_a_response_that_is_neither_answer_nor_error_is_refused(response: JsonValue) -> None:
    (failure,) = refused({"messages": [user()], "response": response}, LENIENT)

    assert UnusableResponse(index=1, actual=json.dumps(response, separators=(",", ":"))) == failure


def test_lines_hide_no_line_and_need_no_last_newline() -> None:
    good = json.dumps({"messages": PAIR, "instance_id": "i"})
    raw = f'{good}\n{{"messages":[],"messages":[]}}\n\n[1]\n{{}}\n{good}'.encode()

    first, *bad, last = import_transcript(raw, STRICT).unwrap().conversations
    failures = [f for c in bad if isinstance(c, RefusedConversation) for f in c.failures]
    reasons = [f.reason.value for f in failures if isinstance(f, DecodeFailed)]

    assert ("0", "5") == (first.name, last.name)
    assert isinstance(first, ImportedConversation)
    assert isinstance(last, ImportedConversation)
    assert ["duplicate_key", "blank_line", "not_an_object"] == reasons
    assert RefusedConversation(name="4", failures=(NotAConversation(actual="{}"),)) == bad[3]


def test_lines_are_recognised_though_the_first_one_is_bad() -> None:
    good = json.dumps({"messages": PAIR}).encode()

    first, second = import_transcript(b'{"a":1,"a":2}\n' + good, STRICT).unwrap().conversations

    assert isinstance(first, RefusedConversation)
    assert isinstance(second, ImportedConversation)


def test_one_bad_item_of_an_array_hides_no_other() -> None:
    first, second, third = import_transcript([PAIR, {"a": 1}, [user()]], STRICT).unwrap().conversations

    assert isinstance(first, ImportedConversation)
    assert RefusedConversation(name="1", failures=(NotAConversation(actual='{"a":1}'),)) == second
    assert isinstance(third, RefusedConversation)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\xef\xbb\xbf[]", DecodeReason.BOM),
        (b"[\xff]", DecodeReason.INVALID_UTF8),
        (b'{"messages":[],"messages":[]}', DecodeReason.DUPLICATE_KEY),
        (b'[{"role":"user","content":"\\ud800"}]', DecodeReason.LONE_SURROGATE),
        (b'[{"role":"user","content":NaN}]', DecodeReason.NON_FINITE),
        (b"{\n", DecodeReason.INVALID_JSON),
        (b"", DecodeReason.INVALID_JSON),
    ],
)
def test_bytes_that_are_no_strict_json_are_refused(raw: bytes, reason: DecodeReason) -> None:
    failure = import_transcript(raw, STRICT).failure()

    assert isinstance(failure, DecodeFailed)
    assert reason is failure.reason


@pytest.mark.parametrize(
    "document", [None, 1, "[]", [], {}, [[], {}], {"messages": "hi"}, {"exchanges": [1]}]
)
def test_a_document_without_a_conversation_is_refused(document: JsonValue) -> None:
    shown = json.dumps(document, separators=(",", ":"))

    assert Failure(NoConversation(actual=shown)) == import_transcript(document, LENIENT)


def test_a_value_from_code_that_no_document_could_hold_is_refused() -> None:
    assert Failure(NotJson(path="/0/content", actual="float nan")) == import_transcript(
        [{"role": "user", "content": math.nan}], LENIENT
    )


def test_a_blank_session_id_is_refused_before_anything_else() -> None:
    assert Failure(BlankSessionId()) == import_transcript(b"", ImportOptions(session_id=SessionId(" ")))


# --- what people and machines read --------------------------------------------------------------


def all_failures() -> list[ImportFailure]:
    found: list[ImportFailure] = [
        BlankSessionId(),
        NoConversation(actual="{}"),
        NotAConversation(actual="1"),
        NoUserMessage(messages=3),
        NotJson(path="", actual="nan"),
        DecodeFailed(reason=DecodeReason.BOM, line=1, path="/a", expected="e", actual="a"),
        AmbiguousResult(index=2, waiting=2),
        UnusableResponse(index=1, actual='"x"'),
        ResultWithoutCall(index=1, call_id=None),
        BadArguments(index=1, path="/tool_calls/0/function/arguments", actual="["),
    ]
    found += [failure for _, _, failures, _, _ in LADDER for failure in failures]
    found += [failure for _, _, failure in HARD]
    return found


def test_every_failure_has_a_sentence_and_a_record_of_its_own() -> None:
    failures = all_failures()
    values = [failure_value(failure) for failure in failures]

    assert [type(failure).__name__ for failure in failures] == [
        value["kind"] for value in values if isinstance(value, Mapping)
    ]
    assert len(set(failures)) == len({describe(failure) for failure in failures})
    assert "message 1: text beside tool calls: look" == describe(TextBesideCalls(index=1, actual="look"))
    assert {"kind": "TextBesideCalls", "index": 1, "actual": "look"} == failure_value(
        TextBesideCalls(index=1, actual="look")
    )


def test_a_report_is_written_with_its_counts() -> None:
    report = imported([user(), said("hm"), said()], LENIENT).report

    assert {
        "messages": 3,
        "instructions": 0,
        "turns": 1,
        "events": 4,
        "tool_calls": 0,
        "tool_results": 0,
        "open_turn": None,
        "notes": [{"kind": "earlier_text_as_delta", "index": 1, "detail": "hm", "count": 1}],
        "counts": {"earlier_text_as_delta": 1},
    } == report_value(report)


# --- on to the build ----------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class CountsMessages:
    """Tokens are what a function of the number of messages says."""

    cost: Callable[[int], int] = attrs.field(default=lambda count: count)

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        tokens = TokenBreakdown(system=0, messages=self.cost(len(request.messages)), constraint=0, template=0)
        evidence = TokenBoundEvidence.ESTIMATE
        return Success(TokenCount(target=target, method="messages", evidence=evidence, tokens=tokens))


def built_texts(
    document: JsonValue, current: str, budget: int, counter: CountsMessages, *pinned: str
) -> list[str | None] | None:
    """The contents of the built request, or None where nothing fits; the reserve is one on top."""
    inputs = BuildInputs(
        current=(UserMessage(content=current),),
        target=TARGET,
        budget=ContextBudget(window_tokens=budget + 1, output_reserve=1),
        pinned_turns=tuple(TurnId(turn) for turn in pinned),
    )
    outcome = build(projected(imported(document)), inputs, counter)
    if isinstance(outcome, Failure):
        return None
    made = outcome.unwrap()
    assert isinstance(made, BuiltContext)
    return [message.content for message in made.request.messages]


def test_a_turn_is_kept_or_dropped_whole_b05() -> None:
    document: list[Any] = [user("a"), calling(call("c1")), result("c1"), said("done")]
    lengths = [built_texts(document, "b", budget, CountsMessages()) for budget in (5, 4, 3, 2, 1, 0)]

    assert [5, 1, 1, 1, 1, None] == [None if texts is None else len(texts) for texts in lengths]


def test_the_whole_request_is_counted_again_after_every_drop_b53() -> None:
    document: list[Any] = [user("a"), said("b"), user("c"), said("d")]
    counter = CountsMessages(cost=lambda count: count + 10 if count == 3 else count)

    assert ["e"] == built_texts(document, "e", 4, counter)
    assert ["a", "b", "c", "d", "e"] == built_texts(document, "e", 5, counter)


def test_a_pinned_turn_survives_between_dropped_ones_b56() -> None:
    document: list[Any] = [
        user("never touch prod"),
        calling(call("c", "note")),
        result("c", "noted"),
        said("understood"),
        user("b"),
        said("c"),
        user("d"),
        said("e"),
    ]
    noted = '{"status":"succeeded","output":"noted"}'
    pinned = ["never touch prod", None, noted, "understood"]

    assert [*pinned, "d", "e", "f"] == built_texts(document, "f", 7, CountsMessages(), "turn-0")
    assert [*pinned, "f"] == built_texts(document, "f", 5, CountsMessages(), "turn-0")
    assert None is built_texts(document, "f", 4, CountsMessages(), "turn-0")


# --- for all inputs -----------------------------------------------------------------------------

VOCABULARY = (
    *("role", "content", "tool_calls", "id", "function", "name", "arguments", "tool_call_id", "type", "text"),
    *("messages", "traj", "exchanges", "request", "response", "choices", "message", "error", "request.json"),
    *("user", "assistant", "tool", "system", "function_call", "reasoning", "refusal", "{}", "c"),
)
WORDS = st.sampled_from(VOCABULARY)
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, allow_infinity=False)
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=2), inner, max_size=5)
    ),
    max_leaves=30,
)

TEXTS = st.sampled_from(["", "a", "b", "现在"])
CALL_IDS = st.sampled_from(["a", "b", "a#1", "", None])
NAMES = st.sampled_from(["f", "g"])
CALLS = st.builds(call, CALL_IDS, NAMES, st.sampled_from(["{}", "", "[1]", '{"n":1}']))
CONTENTS = (
    TEXTS | st.lists(st.builds(lambda t: {"type": "text", "text": t}, TEXTS), max_size=2) | st.just(None)
)
ANY_MESSAGE: st.SearchStrategy[Message] = st.one_of(
    st.builds(user, TEXTS),
    st.builds(said, TEXTS | st.none(), reasoning=st.sampled_from([None, "hm"])),
    st.builds(lambda c, t: calling(*c, text=t), st.lists(CALLS, max_size=3), TEXTS | st.none()),
    st.builds(result, CALL_IDS, CONTENTS, name=st.sampled_from([None, "f", "g"])),
    st.builds(lambda t: {"role": "system", "content": t}, TEXTS),
    st.builds(
        lambda n: said(None, function_call={"name": n, "arguments": "{}"}), st.sampled_from(["f", "g"])
    ),
    st.builds(lambda n: {"role": "function", "name": n, "content": "1"}, NAMES),
)
TRANSCRIPTS = st.lists(ANY_MESSAGE, min_size=1, max_size=12)


@given(ANY_JSON, st.sampled_from([STRICT, LENIENT]))
def test_any_json_value_is_answered(document: Any, chosen: ImportOptions) -> None:
    outcome = import_transcript(document, chosen)
    as_bytes = import_transcript(json.dumps(document).encode(), chosen)

    assert isinstance(outcome, Success | Failure)
    assert outcome == as_bytes


@given(st.lists(ANY_MESSAGE | ANY_JSON, min_size=1, max_size=6), st.sampled_from([STRICT, LENIENT]))
def test_any_list_of_messages_is_answered_and_what_is_imported_projects(
    document: Any, chosen: ImportOptions
) -> None:
    outcome = import_transcript({"messages": document}, chosen)

    for conversation in outcome.unwrap().conversations:
        if isinstance(conversation, ImportedConversation):
            projected(conversation)
        else:
            assert [describe(failure) for failure in conversation.failures]


@given(st.binary(max_size=40) | ANY_JSON.map(lambda value: json.dumps(value).encode()), st.binary(max_size=2))
def test_any_bytes_are_answered(head: bytes, tail: bytes) -> None:
    assert isinstance(import_transcript(head + tail, LENIENT), Success | Failure)


@given(TRANSCRIPTS)
def test_under_the_lenient_option_only_what_no_option_admits_is_refused(messages: list[Message]) -> None:
    conversation = only({"messages": messages}, LENIENT)

    if isinstance(conversation, RefusedConversation):
        assert [()] == [remedies(failure) for failure in conversation.failures]
    else:
        projected(conversation)


@given(TRANSCRIPTS)
def test_taking_the_remedies_leads_to_an_import_or_to_what_has_none(messages: list[Message]) -> None:
    chosen, asked = STRICT, set[str]()
    while isinstance(conversation := only({"messages": messages}, chosen), RefusedConversation):
        firsts = [remedies(failure)[0] for failure in conversation.failures if remedies(failure)]
        if not firsts:
            break

        assert asked.isdisjoint(first.option for first in firsts)
        for first in firsts:
            choices = type(getattr(STRICT, first.option))
            chosen = attrs.evolve(chosen, **{first.option: choices(first.choice)})
            asked.add(first.option)


@given(TRANSCRIPTS)
def test_an_import_needs_no_option_that_it_does_not_report(messages: list[Message]) -> None:
    conversation = only({"messages": messages}, LENIENT)
    if isinstance(conversation, RefusedConversation):
        return
    used = {OPTION_OF[kind] for kind in conversation.report.counts if kind in OPTION_OF}
    just_those = attrs.evolve(STRICT, **{option: getattr(LENIENT, option) for option in used})

    assert conversation == only({"messages": messages}, just_those)


@given(TRANSCRIPTS)
def test_no_word_is_lost_or_moved_between_turns(messages: list[Message]) -> None:
    """A second reading: texts by turn, pairs by walking back; from the messages alone."""
    conversation = only({"messages": messages}, LENIENT)
    if isinstance(conversation, RefusedConversation):
        return
    events = conversation.log.events
    starts = [index for index, message in enumerate(messages) if message["role"] == "user"]

    assert [f"turn-{start}" for start in starts] == list(dict.fromkeys(event.turn_id for event in events))
    assert [messages[start]["content"] for start in starts] == [
        kind.text for kind in kinds(conversation, UserMessageEvent)
    ]
    assert naive_texts(messages, starts) == {
        event.event_id: event.kind.text
        for event in events
        if isinstance(event.kind, AssistantDelta | AssistantReply)
    }
    assert naive_pairs(messages, starts) == recorded_pairs(conversation)


def naive_texts(messages: list[Message], starts: list[int]) -> dict[str, str]:
    """Which assistant texts are recorded, and whether each is the reply of its turn."""
    texts = {}
    for start, end in zip(starts, [*starts[1:], len(messages)], strict=True):
        work = [i for i in range(start + 1, end) if messages[i]["role"] == "assistant"]
        # A late result is work of the turn of its call, not of the one it interrupts.
        work += [i for i, back in naive_pairs(messages, starts).items() if start < back < i < end]
        work = [i for i in work if messages[i]["role"] != "assistant" or not is_silent(messages[i])]
        for i in work:
            text = messages[i]["content"]
            if messages[i]["role"] != "assistant" or text is None or (text == "" and has_calls(messages[i])):
                continue
            last = i == max(work) and not has_calls(messages[i])
            texts[f"m{i}.{'reply' if last else 'text'}"] = text
    return texts


def naive_pairs(messages: list[Message], starts: list[int]) -> dict[int, int]:
    """Result message to calling message, where a result has an id: the nearest that still waits."""
    pairs: dict[int, int] = {}
    answered: set[tuple[int, int]] = set()
    for index, message in enumerate(messages):
        if message["role"] not in ("tool", "function") or not starts or index < starts[0]:
            continue
        legacy = message["role"] == "function"
        call_id = None if legacy else message["tool_call_id"] or None
        for back in range(index - 1, starts[0], -1):
            calls = [
                (place, item["function"]["name"], item["id"] or None)
                for place, item in enumerate(messages[back].get("tool_calls") or [])
            ]
            if legacy:
                made = messages[back].get("function_call")
                calls = [(0, made["name"], None)] if made else []
            waiting = [c for c in calls if (back, c[0]) not in answered]
            by_id = [c for c in waiting if call_id is not None and c[2] == call_id]
            by_name = [c for c in waiting if call_id is None and message.get("name") in (None, c[1])]
            for place, _, _ in (by_id or by_name)[:1]:
                answered.add((back, place))
                pairs[index] = back
            if index in pairs or (call_id is None and waiting):
                break
    return pairs


def has_calls(message: Message) -> bool:
    return bool(message.get("tool_calls") or message.get("function_call"))


def is_silent(message: Message) -> bool:
    return message["content"] is None and not has_calls(message)


def recorded_pairs(conversation: ImportedConversation) -> dict[int, int]:
    calls = {
        (event.turn_id, event.kind.call.id): int(event.event_id[1:].split(".")[0])
        for event in conversation.log.events
        if isinstance(event.kind, ToolCallEvent)
    }
    return {
        int(event.event_id[1:].split(".")[0]): calls[event.turn_id, event.kind.result.call_id]
        for event in conversation.log.events
        if isinstance(event.kind, ToolResultEvent) and not event.event_id.endswith(".lost")
    }
