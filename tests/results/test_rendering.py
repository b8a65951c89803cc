"""Exchanges as views: in a turn, in a history, in the running turn."""

from typing import Final

import attrs
import pytest

from jingwei.events.records import (
    AssistantReply,
    DoneEvent,
    DoneStatus,
    SessionEvent,
    ToolCall,
    ToolCallEvent,
    ToolFailureCategory,
    ToolOutcome,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.wire import session_log
from jingwei.ids import EventId, MessageId, ProviderCallId, ToolCallId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.failures import ArgumentsNotObject
from jingwei.messages.records import AssistantMessage, ModelMessage, ModelToolCall, ToolMessage, UserMessage
from jingwei.messages.wire import message_bytes
from jingwei.projection.admit import admit_projection
from jingwei.projection.project import project
from jingwei.projection.records import GroupKind, Projection
from jingwei.projection.view import start_view
from jingwei.projection.wire import decode_projection, encode_projection
from jingwei.results.failures import ContradictionReason, ViewContradiction
from jingwei.results.records import (
    ResultPolicy,
    ResultView,
    ShownExchange,
    ShownFailure,
    ViewForm,
    ViewRendition,
    ViewRow,
)
from jingwei.results.rendering import (
    Rendering,
    current_messages,
    first_views,
    viewed_current,
    viewed_history,
    viewed_turn,
)
from jingwei.results.view import view_result
from jingwei.results.wire import NO_VIEWS, RecordedViews, view_event
from jingwei.testing.strategies import SESSION, Step, placed

POLICY: Final = ResultPolicy(inline_bytes=8, preview_bytes=4, max_shown_bytes=16)
TEXTS: Final = ("0123456789", "small")


def events(arguments: str = "{}", texts: tuple[str, ...] = TEXTS) -> tuple[SessionEvent, ...]:
    """One turn with parallel calls; their results come in reverse."""
    ids = [ToolCallId(f"c{n}") for n in range(len(texts))]
    called = [ToolCall(id=id_, name="look", arguments=Json(arguments)) for id_ in ids]
    results = [
        ToolResult(call_id=id_, outcome=ToolSucceeded(output=text))
        for id_, text in zip(ids, texts, strict=True)
    ]
    steps = [
        Step(UserMessageEvent(text="go")),
        *[Step(ToolCallEvent(call=call)) for call in called],
        *[Step(ToolResultEvent(result=result)) for result in reversed(results)],
        Step(AssistantReply(text="done"), MessageId("r")),
        Step(DoneEvent(status=DoneStatus.COMPLETED)),
    ]
    return placed([("t", step) for step in steps])


def history(arguments: str = "{}") -> Projection:
    return project(SESSION, session_log(events(arguments))).unwrap()


def view_of(text: str, seq: int, source: str) -> ResultView:
    outcome: ToolOutcome = ToolSucceeded(output=text)
    made = view_result(outcome, call_seq=seq, name="look", source_event=EventId(source), policy=POLICY)
    return made.unwrap().view


FIRST, SECOND = view_of(TEXTS[0], 1, "e4"), view_of(TEXTS[1], 2, "e3")


def views(*shown: ResultView) -> RecordedViews:
    found = NO_VIEWS
    for number, view in enumerate(shown):
        found = found.with_view(view, EventId(f"v{number}")).unwrap()
    return found


def rendering(rendition: ViewRendition = ViewRendition.NATIVE, *shown: ResultView) -> Rendering:
    return Rendering(rendition=rendition, views=views(*shown), policy=POLICY)


@pytest.mark.parametrize("rendition", ViewRendition)
def test_a_history_shows_what_was_recorded_and_what_the_policy_makes(rendition: ViewRendition) -> None:
    """With a handle where the text is stored, in call order, and with its rows."""
    found = viewed_history(history(), rendering(rendition, FIRST)).unwrap()

    exchanges = [
        ShownExchange(arguments=Json("{}"), view=SECOND),
        ShownExchange(arguments=Json("{}"), view=FIRST),
    ]
    sent = current_messages(exchanges, rendition)
    assert (UserMessage(content="go"), *sent, AssistantMessage(content="done")) == found.projection.messages
    rows = (
        ViewRow(
            turn_id=TurnId("t"),
            source_event=EventId("e4"),
            form=ViewForm.PREFIX,
            recorded=True,
            total_bytes=10,
            shown_bytes=4,
        ),
        ViewRow(
            turn_id=TurnId("t"),
            source_event=EventId("e3"),
            form=ViewForm.WHOLE,
            recorded=False,
            total_bytes=5,
            shown_bytes=5,
        ),
    )
    assert rows == found.rows
    assert found.viewed[0].messages == found.projection.messages
    assert sum(map(message_bytes, found.projection.messages)) == found.projection.canonical_bytes


def test_without_a_record_there_is_no_handle() -> None:
    found = viewed_history(history(), rendering()).unwrap().projection

    assert not any("handle" in str(message) for message in found.messages)
    shown = viewed_history(history(), rendering(ViewRendition.NATIVE, FIRST)).unwrap().projection
    assert any("handle" in str(message) for message in shown.messages)


def test_arguments_that_are_no_object_can_be_sent_as_json_only() -> None:
    """M3 finds natively what it found before."""
    native = viewed_history(history("[]"), rendering()).unwrap().projection
    as_json = viewed_history(history("[]"), rendering(ViewRendition.JSON)).unwrap().projection

    assert ArgumentsNotObject(index=1) == native.shape_failure
    assert as_json.shape_failure is None


def test_a_turn_is_rendered_once_for_the_same_views() -> None:
    (turn,) = history().turns
    again = viewed_turn(turn, rendering(ViewRendition.NATIVE, FIRST)).unwrap()

    assert again is viewed_turn(turn, rendering(ViewRendition.NATIVE, FIRST)).unwrap()
    assert again != viewed_turn(turn, rendering()).unwrap()
    assert again == viewed_turn(turn, rendering(ViewRendition.NATIVE, FIRST)).unwrap()


def test_what_is_a_view_already_stays_as_it_is() -> None:
    for first in ViewRendition:
        once = viewed_history(history(), rendering(first)).unwrap().projection

        twice = viewed_history(once, rendering(first)).unwrap()

        assert once == twice.projection
        assert () == twice.rows
    native = viewed_history(history(), rendering()).unwrap().projection
    as_json = viewed_history(history(), rendering(ViewRendition.JSON)).unwrap().projection
    assert as_json == viewed_history(native, rendering(ViewRendition.JSON)).unwrap().projection


@pytest.mark.parametrize(
    ("reason", "lie"),
    [
        (ContradictionReason.SOURCE_EVENT, attrs.evolve(FIRST, source_event=EventId("x"))),
        (ContradictionReason.CALL, attrs.evolve(FIRST, call_seq=9)),
        (ContradictionReason.NAME, attrs.evolve(FIRST, name="other")),
        (ContradictionReason.TOTAL_BYTES, attrs.evolve(FIRST, total_bytes=11)),
        (ContradictionReason.TEXT, attrs.evolve(FIRST, text="1234")),
        (ContradictionReason.TEXT, attrs.evolve(FIRST, text="012", form=ViewForm.WHOLE)),
    ],
)
def test_a_view_that_contradicts_the_log_is_refused(reason: ContradictionReason, lie: ResultView) -> None:
    refused = viewed_history(history(), rendering(ViewRendition.JSON, lie)).failure()

    expected = ViewContradiction(
        turn_id=TurnId("t"), source_event=lie.source_event, recorded_by=EventId("v0"), reason=reason
    )
    assert expected == refused


def test_an_outcome_that_was_never_recorded_is_refused() -> None:
    """T2: a success is not told as a failure."""
    failed = ShownFailure(category=ToolFailureCategory.DENIED, code="c", retryable=False)

    refused = viewed_history(
        history(), rendering(ViewRendition.NATIVE, attrs.evolve(FIRST, outcome=failed))
    ).failure()

    assert ContradictionReason.OUTCOME is refused.reason


def test_a_condensed_text_is_taken_as_it_is() -> None:
    condensed = attrs.evolve(FIRST, form=ViewForm.CONDENSED, text="ten")

    found = viewed_history(history(), rendering(ViewRendition.NATIVE, condensed)).unwrap()

    assert '"text":"ten","truncated":true,"shown":"condensed"' in str(found.projection.messages[2])


@pytest.mark.parametrize("rendition", ViewRendition)
def test_a_running_turn_is_taken_up_from_the_log(rendition: ViewRendition) -> None:
    running = start_view(SESSION).advanced(session_log(events()[:5])).running().unwrap().current

    found = viewed_current(running, rendering(rendition, FIRST, SECOND)).unwrap()

    exchanges = [ShownExchange(arguments=Json("{}"), view=view) for view in (FIRST, SECOND)]
    assert (UserMessage(content="go"), *current_messages(exchanges, rendition)) == found


def test_a_running_turn_whose_views_contradict_the_log_is_refused() -> None:
    running = start_view(SESSION).advanced(session_log(events()[:5])).running().unwrap().current
    lie = attrs.evolve(FIRST, text="9")

    refused = viewed_current(running, rendering(ViewRendition.NATIVE, lie)).failure()

    assert (None, ContradictionReason.TEXT) == (refused.turn_id, refused.reason)


def test_other_messages_of_a_running_turn_stay_as_they_are() -> None:
    calls = tuple(
        ModelToolCall(id=ProviderCallId(f"p{n}"), name="look", arguments=Json("{}")) for n in range(2)
    )
    parallel: tuple[ModelMessage, ...] = (
        UserMessage(content="go"),
        AssistantMessage(content="so far", tool_calls=calls),
        *[ToolMessage(call_id=call.id, content="x") for call in calls],
        AssistantMessage(content=None, tool_calls=calls[:1]),
    )

    assert parallel == viewed_current(parallel, rendering()).unwrap()


def test_a_result_of_another_maker_is_labelled_and_its_end_is_not_told() -> None:
    """In a running turn of the host's own making, and in a projection that came from outside."""
    call = ModelToolCall(id=ProviderCallId("p"), name="look", arguments=Json("{}"))
    asked = AssistantMessage(content=None, tool_calls=(call,))
    current = (asked, ToolMessage(call_id=call.id, content="raw <b>"), UserMessage(content="x"))

    found = viewed_current(current, rendering(ViewRendition.JSON)).unwrap()

    head = '{"type":"jingwei_tool_result","trust":"untrusted_tool_data","name":"look","view":'
    expected = head + '{"text":"raw \\u003cb\\u003e","truncated":false}}'
    assert UserMessage(content=expected) == found[1]
    long = (asked, ToolMessage(call_id=call.id, content="raw and long"))
    expected = head + '{"text":"raw ","truncated":true,"shown":"prefix","total_bytes":12}}'
    assert expected == str(getattr(viewed_current(long, rendering()).unwrap()[1], "content", ""))


def foreign_history(name: str, content: str) -> Projection:
    """The history with its first exchange changed, as somebody may state it."""
    foreign = decode_projection(encode_projection(history()).unwrap()).unwrap()
    call = ModelToolCall(id=ProviderCallId("p"), name=name, arguments=Json("{}"))
    messages = (
        AssistantMessage(content=None, tool_calls=(call,)),
        ToolMessage(call_id=call.id, content=content),
    )
    groups = list(foreign.groups)
    groups[1] = attrs.evolve(groups[1], messages=messages)
    return admit_projection(attrs.evolve(foreign, groups=tuple(groups))).unwrap()


@pytest.mark.parametrize(("name", "content"), [("look", "raw"), (" ", '{"status":"succeeded","output":"x"}')])
def test_what_no_log_records_is_shown_with_the_label_alone(name: str, content: str) -> None:
    found = viewed_history(foreign_history(name, content), rendering()).unwrap()

    shown = found.projection.groups[1].messages[1]
    assert isinstance(shown, ToolMessage)
    assert '"view":{"text":' in shown.content
    assert not found.rows[0].recorded
    assert ViewForm.WHOLE is found.rows[1].form


def test_turns_without_exchanges_are_the_same_objects() -> None:
    quiet = [
        Step(UserMessageEvent(text="hi")),
        Step(AssistantReply(text="hello"), MessageId("r0")),
        Step(DoneEvent(status=DoneStatus.COMPLETED)),
    ]
    steps = [("q", step) for step in quiet]
    talk = project(SESSION, session_log(placed(steps))).unwrap()
    log = placed([*steps, *[("t", Step(event.kind, event.message_id)) for event in events()]])
    mixed = project(SESSION, session_log(log)).unwrap()

    assert talk is viewed_history(talk, rendering()).unwrap().projection
    found = viewed_history(mixed, rendering()).unwrap()
    assert found.projection.turns[0] is mixed.turns[0]
    assert [TurnId("t")] == [one.turn.turn_id for one in found.viewed]


def test_first_views_are_made_of_what_has_none() -> None:
    """To be stored and recorded by a host that begins to show views."""
    made = first_views(history(), rendering(ViewRendition.NATIVE, SECOND))

    assert [FIRST] == [one.view for one in made]
    assert [TEXTS[0]] == [one.to_store.text for one in made if one.to_store is not None]


@pytest.mark.parametrize(("name", "content"), [("look", "raw"), (" ", '{"status":"succeeded","output":"x"}')])
def test_first_views_pass_over_what_no_log_records(name: str, content: str) -> None:
    assert [SECOND] == [one.view for one in first_views(foreign_history(name, content), rendering())]


def test_first_views_pass_over_a_blank_name_under_an_id_of_ours() -> None:
    foreign = foreign_history(" ", '{"status":"succeeded","output":"x"}')
    (turn,) = foreign.turns
    group = turn.groups[1]
    call = ModelToolCall(id=ProviderCallId("jw_tool_1"), name=" ", arguments=Json("{}"))
    messages = (
        AssistantMessage(content=None, tool_calls=(call,)),
        ToolMessage(call_id=call.id, content='{"status":"succeeded","output":"x"}'),
    )
    groups = (turn.groups[0], attrs.evolve(group, messages=messages), *turn.groups[2:])
    changed = attrs.evolve(
        foreign, turns=foreign.turns.first(0).extended([attrs.evolve(turn, groups=groups)])
    )

    assert [SECOND] == [one.view for one in first_views(changed, rendering())]


def test_recording_a_view_in_the_log_changes_no_message_of_the_projection() -> None:
    log = events()
    recorded = [*log[:5], attrs.evolve(log[0], event_id=EventId("v"), kind=view_event(FIRST)), *log[5:]]
    renumbered = [attrs.evolve(event, seq=seq) for seq, event in enumerate(recorded)]

    after = project(SESSION, session_log(renumbered)).unwrap()

    assert history().messages == after.messages
    assert GroupKind.TOOL_EXCHANGE is after.groups[1].kind
