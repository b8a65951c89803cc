"""Large results become previews that say how the tool ended and where the whole text stands (R4, T2, T3)."""

import json

import attrs
import pytest

from jingwei.events.records import ToolFailed, ToolFailureCategory, ToolOutcome, ToolSucceeded
from jingwei.events.wire import outcome_text
from jingwei.ids import ProviderCallId, SessionId
from jingwei.messages.records import AssistantMessage, ModelMessage, ToolMessage, UserMessage
from jingwei.messages.wire import message_bytes
from jingwei.projection.project import project
from jingwei.projection.records import ProjectedTurn
from jingwei.results.recorded import recorded_outcome
from jingwei.selection.condense import condensed_exchange, condensed_turn
from jingwei.selection.records import Condensed, Exchange, PreviewPolicy
from tests.logtable import SESSION, log_of

SMALL = PreviewPolicy(inline_bytes=200, preview_bytes=20)
DENIED = ToolFailureCategory.DENIED


def turn(table: str) -> ProjectedTurn:
    """The one turn of a log."""
    return project(SESSION, log_of(table)).unwrap().turns[0]


def turn_with(output: str) -> ProjectedTurn:
    return turn(f"user; call a; result a {json.dumps(output)}; reply; done")


def exchange(*messages: ModelMessage) -> Exchange:
    size = sum(map(message_bytes, messages))
    return Exchange(index=0, place=1, messages=messages, canonical_bytes=size)


def told(outcome: ToolOutcome, call_id: str = "c") -> ToolMessage:
    return ToolMessage(call_id=ProviderCallId(call_id), content=outcome_text(outcome))


def test_a_large_output_is_shown_as_its_beginning_with_a_reference_to_its_event() -> None:
    whole = turn_with("0123456789" * 30)
    found = condensed_turn(whole, SMALL, SESSION)
    content = (
        '{"status":"succeeded","preview":"01234567890123456789","truncated":true,"total_bytes":300,'
        '"reference":{"session_id":"session","event_id":"event-2"}}'
    )
    user, asked, result, reply = whole.messages
    assert isinstance(result, ToolMessage)
    messages = (user, asked, attrs.evolve(result, content=content), reply)

    assert Condensed(messages=messages, results=1, canonical_bytes=sum(map(message_bytes, messages))) == found


def test_a_failure_keeps_all_it_said_but_its_text() -> None:
    failed = ToolFailed(category=DENIED, code="no entry", message="x" * 400, retryable=True)
    found = condensed_exchange(exchange(told(failed, "call 7")), SMALL)

    assert found is not None
    assert found.messages == (
        ToolMessage(
            call_id=ProviderCallId("call 7"),
            content='{"status":"failed","category":"denied","code":"no entry","retryable":true,'
            '"preview":"xxxxxxxxxxxxxxxxxxxx","truncated":true,"total_bytes":400,'
            '"reference":{"call_id":"call 7"}}',
        ),
    )


@pytest.mark.parametrize(("size", "results"), [(199, 0), (200, 0), (201, 1)])
def test_large_is_more_than_the_inline_bytes(size: int, results: int) -> None:
    """Of UTF-8, whatever the message around it takes."""
    policy = PreviewPolicy(inline_bytes=200, preview_bytes=1)
    found = condensed_turn(turn_with("字" * (size // 3) + "x" * (size % 3)), policy, SESSION)

    assert results == (0 if found is None else found.results)


def test_only_large_results_of_a_turn_are_replaced() -> None:
    big, small = json.dumps("b" * 500), json.dumps("s" * 50)
    whole = turn(
        f"user; call a; call b; call c; result c {big}; result b {small}; result a {big}; reply; done"
    )
    found = condensed_turn(whole, SMALL, SESSION)

    assert found is not None
    assert 2 == found.results
    assert [1, 3] == [
        place // 2
        for place, (old, new) in enumerate(zip(whole.messages, found.messages, strict=True))
        if old != new
    ]
    assert '"event_id":"event-6"' in str(found.messages[2])
    assert '"event_id":"event-4"' in str(found.messages[6])


def test_a_preview_that_would_not_be_smaller_is_not_made() -> None:
    policy = PreviewPolicy(inline_bytes=40, preview_bytes=40)

    assert None is condensed_turn(turn_with("x" * 60), policy, SESSION)


def test_what_is_condensed_is_not_condensed_again() -> None:
    """Not even where the preview itself is larger than the policy wants."""
    once = condensed_exchange(exchange(told(ToolSucceeded(output="x" * 5000))), SMALL)
    assert once is not None
    policy = PreviewPolicy(inline_bytes=1, preview_bytes=1)

    assert None is condensed_exchange(exchange(*once.messages), policy)


@pytest.mark.parametrize(
    "content",
    [
        "plain text " * 100,
        json.dumps({"status": "succeeded", "output": "x" * 900}),
        json.dumps({"output": "x" * 900, "status": "succeeded"}, separators=(",", ":")),
        json.dumps({"status": "succeeded", "output": "x" * 900, "more": 1}, separators=(",", ":")),
        json.dumps({"status": "succeeded", "output": ["x" * 900]}, separators=(",", ":")),
        json.dumps({"status": "done", "output": "x" * 900}, separators=(",", ":")),
        '{"status":"succeeded","output":"' + "x" * 900,
        outcome_text(ToolFailed(category=DENIED, code="c", message="m" * 900, retryable=False)).replace(
            "denied", "odd"
        ),
    ],
)
def test_a_content_that_is_no_recorded_outcome_stays(content: str) -> None:
    """A host may say anything in a tool message; nobody knows what its parts mean."""
    message = ToolMessage(call_id=ProviderCallId("c"), content=content)

    assert None is recorded_outcome(content)
    assert None is condensed_exchange(exchange(message), SMALL)


def test_words_of_users_and_models_are_never_condensed() -> None:
    content = outcome_text(ToolSucceeded(output="x" * 900))

    assert None is condensed_exchange(
        exchange(UserMessage(content=content), AssistantMessage(content=content)), SMALL
    )


# --- what is remembered ---------------------------------------------------------------------------


def test_a_turn_is_read_once_while_it_lives() -> None:
    whole = turn_with("x" * 900)
    found = condensed_turn(whole, SMALL, SESSION)

    assert found is not None
    assert found is condensed_turn(whole, SMALL, SESSION)
    assert found != condensed_turn(whole, SMALL, SessionId("another"))
    assert found != condensed_turn(whole, attrs.evolve(SMALL, preview_bytes=21), SESSION)
