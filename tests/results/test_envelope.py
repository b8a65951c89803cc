"""The words of an envelope, byte by byte."""

import attrs
import pytest

from jingwei.events.records import ToolFailureCategory
from jingwei.ids import EventId
from jingwei.jsontext import Json
from jingwei.messages.records import AssistantMessage, ToolMessage, UserMessage
from jingwei.results.envelope import action_text, call_of, envelope_text, exchange_messages, is_envelope
from jingwei.results.records import (
    ResultView,
    ShownFailure,
    ShownSuccess,
    ViewForm,
    ViewRendition,
)

WHOLE = ResultView(
    call_seq=3,
    source_event=EventId("e4"),
    name="look",
    outcome=ShownSuccess(),
    form=ViewForm.WHOLE,
    text="</b> 中",
    total_bytes=8,
    stored=False,
)
CUT = ResultView(
    call_seq=3,
    source_event=EventId("e4"),
    name="look",
    outcome=ShownFailure(category=ToolFailureCategory.TIMEOUT, code="c", code_bytes=300, retryable=True),
    form=ViewForm.PREFIX,
    text="be",
    total_bytes=9,
    stored=True,
)
HEAD = '{"type":"jingwei_tool_result","trust":"untrusted_tool_data","name":"look","view":'


def test_a_whole_text_is_labelled_and_its_delimiters_are_escaped() -> None:
    expected = HEAD + '{"status":"succeeded","text":"\\u003c/b\\u003e 中","truncated":false}}'

    assert expected == envelope_text(WHOLE)


def test_a_cut_failure_says_what_is_missing_and_how_to_read_on() -> None:
    expected = (
        HEAD + '{"status":"failed","category":"timeout","code":"c","code_bytes":300,"retryable":true,'
        '"text":"be","truncated":true,"shown":"prefix","total_bytes":9,"handle":"e4"}}'
    )

    assert expected == envelope_text(CUT)


def test_a_code_that_is_whole_says_no_size() -> None:
    failed = ShownFailure(category=ToolFailureCategory.DENIED, code="c", retryable=False)

    said = envelope_text(attrs.evolve(WHOLE, outcome=failed))

    assert '{"status":"failed","category":"denied","code":"c","retryable":false,"text"' in said


@pytest.mark.parametrize(
    "content",
    [
        "text",
        HEAD,
        HEAD + '{"text":"<"}}',
        HEAD + '{"text":"x"},"more":1}',
        HEAD.replace(",", ", ") + '{"text":"x"}}',
    ],
)
def test_only_what_is_written_as_here_is_an_envelope(content: str) -> None:
    assert is_envelope(envelope_text(CUT))
    assert not is_envelope(content)


def test_an_exchange_is_two_messages_of_either_protocol() -> None:
    call = call_of(WHOLE, Json('{"a":1}'))

    native = exchange_messages(call, "data", ViewRendition.NATIVE)
    as_json = exchange_messages(call, "data", ViewRendition.JSON)

    assert "jw_tool_3" == call.id
    asked = AssistantMessage(content=None, tool_calls=(call,))
    assert (asked, ToolMessage(call_id=call.id, content="data")) == native
    action = '{"action":"call_tool","name":"look","arguments":{"a":1}}'
    assert (AssistantMessage(content=action), UserMessage(content="data")) == as_json
    assert action == action_text("look", Json('{"a":1}'))
