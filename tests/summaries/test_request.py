"""What a model is asked about turns, and what it answers (S8)."""

import json

import attrs
import pytest

from jingwei.codec import DecodeReason
from jingwei.ids import TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AutoChoice,
    GenerationConstraint,
    GenerationRequest,
    JsonSchemaConstraint,
    NamedChoice,
    NativeToolsConstraint,
    RequiredChoice,
    SystemMessage,
    TextConstraint,
    ToolDefinition,
    UserMessage,
)
from jingwei.messages.shape import check_shape
from jingwei.outcome import Failure, Success
from jingwei.summaries.failures import SummaryPlanReason, SummaryPlanRefused
from jingwei.summaries.records import (
    STANDALONE,
    SUMMARY_SCHEMA,
    Protected,
    SharedPrefix,
    SummaryChunk,
    SummaryDraft,
)
from jingwei.summaries.request import SCHEMA_CONSTRAINT, ends_in, is_shareable, read_summary, summary_request
from tests.summaries.world import GOOD, SOURCES, statement

PROTECTED = (Protected(text="never <deploy>", seq=1),)
CHUNK = SummaryChunk(
    session_id=GOOD.session_id, turns=SOURCES.turns[1:], supersedes=(), version=1, protected=PROTECTED
)
TOOL = ToolDefinition(name="look", description="", parameters=Json("{}"))
LIVE = GenerationRequest(
    messages=(
        SystemMessage(content="rules"),
        *[message for turn in SOURCES.turns for message in turn.messages],
        UserMessage(content="now"),
    ),
    constraint=NativeToolsConstraint(tools=(TOOL,)),
)


def test_a_standalone_request_shows_the_turns_as_data() -> None:
    request = summary_request(CHUNK, STANDALONE).unwrap()
    system, data = request.messages
    assert isinstance(data, UserMessage)
    begin, *lines, end, protected, text, last, nothing = data.content.split("\n")

    assert isinstance(system, SystemMessage)
    assert ('<jingwei_source trust="untrusted_session_data">', "</jingwei_source>") == (begin, end)
    assert ["user", "tool_exchange", "assistant"] * 2 == [json.loads(line)["kind"] for line in lines]
    assert {
        "turn_id": "two",
        "kind": "tool_exchange",
        "source_events": ["event-6", "event-7"],
        "messages": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "jw_tool_6", "name": "look", "arguments": {"key": "a"}}],
            },
            {
                "role": "tool",
                "call_id": "jw_tool_6",
                "content": '{"status":"succeeded","output":"out <b>"}',
            },
        ],
    } == json.loads(lines[1])
    assert '{"kind":"constraint","text":"never \\u003cdeploy\\u003e"}' == text
    assert ('<jingwei_protected trust="untrusted_session_data">', "</jingwei_protected>", "") == (
        protected,
        last,
        nothing,
    )
    assert JsonSchemaConstraint(name="jingwei_summary", schema=SUMMARY_SCHEMA) == request.constraint
    assert isinstance(check_shape(request), Success)


def test_a_shared_request_ends_behind_the_last_turn_with_the_question() -> None:
    request = summary_request(attrs.evolve(CHUNK, turns=SOURCES.turns[:2]), SharedPrefix(live=LIVE)).unwrap()
    *shown, question = request.messages
    assert isinstance(question, UserMessage)
    index = question.content.partition('<jingwei_turns trust="untrusted_session_data">\n')[2]
    first = json.loads(index.split("\n")[0])

    assert list(LIVE.messages[:9]) == shown
    assert LIVE.constraint == request.constraint
    assert SUMMARY_SCHEMA.text in question.content
    assert ("one", 4, "long " * 16) == (first["turn_id"], first["messages"], first["begins"])
    assert [["event-0"], ["event-1", "event-2"], ["event-3"]] == [g["source_events"] for g in first["groups"]]
    assert isinstance(check_shape(request), Success)


def test_a_turn_that_is_not_shown_cannot_be_asked_about() -> None:
    live = attrs.evolve(LIVE, messages=LIVE.messages[:6])
    expected = SummaryPlanRefused(reason=SummaryPlanReason.TURN_NOT_SHOWN, subject="two")

    assert Failure(expected) == summary_request(CHUNK, SharedPrefix(live=live))


def test_a_turn_with_other_words_in_the_middle_is_not_shown() -> None:
    messages = list(LIVE.messages)
    messages[2] = UserMessage(content="other")

    assert {"two": 9, "three": 13, "four": 13} == ends_in(messages, SOURCES.turns)


def test_of_equal_turns_the_newest_are_shown() -> None:
    """The oldest are those that are left out."""
    twice = (*SOURCES.turns[:1], attrs.evolve(SOURCES.turns[0], turn_id=TurnId("again")))

    assert {"again": 5} == ends_in(LIVE.messages[:6], twice)


@pytest.mark.parametrize(
    ("constraint", "shareable"),
    [
        (TextConstraint(), True),
        (SCHEMA_CONSTRAINT, True),
        (JsonSchemaConstraint(name="other", schema=SUMMARY_SCHEMA), False),
        (NativeToolsConstraint(tools=(TOOL,), choice=AutoChoice()), True),
        (NativeToolsConstraint(tools=(TOOL,), choice=RequiredChoice()), False),
        (NativeToolsConstraint(tools=(TOOL,), choice=NamedChoice(name="look")), False),
    ],
)
def test_a_constraint_is_shared_where_it_lets_a_model_answer(
    constraint: GenerationConstraint, shareable: bool
) -> None:
    answer = summary_request(CHUNK, SharedPrefix(live=attrs.evolve(LIVE, constraint=constraint)))
    refused = SummaryPlanRefused(reason=SummaryPlanReason.CONSTRAINT_NOT_SHARED, subject="jingwei_summary")

    assert shareable == is_shareable(constraint)
    assert isinstance(answer, Success) if shareable else Failure(refused) == answer


def test_an_answer_is_read_strictly() -> None:
    facts = '[{"text":"f","source_events":["event-1"]}]'
    text = f'{{"facts":{facts},"decisions":[],"hypotheses":[],"open_questions":[]}}'
    draft = SummaryDraft(facts=(statement("f", 1),), decisions=(), hypotheses=(), open_questions=())

    assert Success(draft) == read_summary(f" {text}\n")
    for broken, reason in (
        ("", DecodeReason.INVALID_JSON),
        ("Sorry.", DecodeReason.INVALID_JSON),
        (text[:-1] + ',"facts":[]}', DecodeReason.DUPLICATE_KEY),
        (text[:-1] + ',"more":[]}', DecodeReason.UNKNOWN_KEY),
        (text.replace('"event-1"', "NaN"), DecodeReason.NON_FINITE),
        ("[" * 129 + "]" * 129, DecodeReason.TOO_DEEP),
        ("\ud800", DecodeReason.INVALID_UTF8),
    ):
        refused = read_summary(broken)
        assert isinstance(refused, Failure)
        assert reason == refused.failure().reason


def test_the_schema_is_what_is_read() -> None:
    schema = json.loads(SUMMARY_SCHEMA.text)

    assert [field.name for field in attrs.fields(SummaryDraft)] == list(schema["properties"])
    assert schema["required"] == list(schema["properties"])
    assert not schema["additionalProperties"]
