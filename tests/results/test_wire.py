"""Recorded views: payloads, logs, and what is refused."""

import attrs
import pytest

from jingwei.events.records import CustomEvent, SessionEvent, ToolFailed, ToolFailureCategory, ToolSucceeded
from jingwei.events.wire import decode_log, encode_log
from jingwei.ids import EventId, SessionId, StoreId, TaskId, TurnId
from jingwei.jsontext import Json, JsonValue, json_of
from jingwei.outcome import Failure
from jingwei.ports import ContentRef, ContentScope
from jingwei.results.failures import ConflictingViews, MalformedView
from jingwei.results.records import ResultPolicy, ResultView
from jingwei.results.view import view_result, with_reference
from jingwei.results.wire import NO_VIEWS, recorded_views, view_event, view_payload

POLICY = ResultPolicy(inline_bytes=4, preview_bytes=2, max_shown_bytes=9)


def view_of(text: str = "0123456789", seq: int = 1, source: str = "e2") -> ResultView:
    outcome = ToolSucceeded(output=text)
    made = view_result(outcome, call_seq=seq, name="look", source_event=EventId(source), policy=POLICY)
    return made.unwrap().view


def failed_view() -> ResultView:
    failed = ToolFailed(category=ToolFailureCategory.BUDGET, code="c" * 300, message="m", retryable=False)
    made = view_result(failed, call_seq=8, name="look", source_event=EventId("e9"), policy=POLICY)
    return made.unwrap().view


def referred() -> ResultView:
    scope = ContentScope(session_id=SessionId("s"), task_id=TaskId("t"), expires_at_ms=7)
    reference = ContentRef(store_id=StoreId("m"), source_event=EventId("e2"), scope=scope, total_bytes=10)
    return with_reference(view_of(), reference).unwrap()


def event(event_id: str, kind: CustomEvent) -> SessionEvent:
    return SessionEvent(
        event_id=EventId(event_id), session_id=SessionId("s"), turn_id=TurnId("t"), seq=0, kind=kind
    )


def test_views_are_read_from_a_log_and_other_events_are_passed_over() -> None:
    other = CustomEvent(plugin="jingwei", kind="summary", payload=Json("null"))
    foreign = CustomEvent(plugin="other", kind="result_view", payload=Json("null"))
    events = [event("x", other), event("y", foreign), event("z", view_event(referred()))]

    views = recorded_views(decode_log(encode_log(events).unwrap()).unwrap().events).unwrap()

    assert 1 == len(views)
    found = views.by_source.get(EventId("e2"))
    assert found is not None
    assert (referred(), EventId("z")) == (found.view, found.event_id)
    assert found is views.by_call.get(1)


def test_the_same_view_twice_is_one_view() -> None:
    views = recorded_views([event("x", view_event(view_of())), event("y", view_event(view_of()))])

    assert 1 == len(views.unwrap())
    assert views == views.unwrap().with_view(view_of())


@pytest.mark.parametrize(
    "other", [view_of("9876543210"), view_of(seq=7), view_of(source="e5")], ids=["text", "call", "source"]
)
def test_two_different_views_of_one_result_or_one_call_are_refused(other: ResultView) -> None:
    conflict = ConflictingViews(
        source_event=other.source_event, first_event=EventId("x"), second_event=EventId("y")
    )
    first = recorded_views([event("x", view_event(view_of()))]).unwrap()

    assert Failure(conflict) == first.advanced([event("y", view_event(other))])
    assert Failure(attrs.evolve(conflict, second_event=None)) == first.with_view(other)


def changed(view: ResultView, path: str, value: JsonValue) -> Json:
    """A payload with one value changed; a missing key is added."""
    whole = view_payload(view).value()
    *steps, last = path.split("/")[1:]
    inner = whole
    for step in steps:
        assert isinstance(inner, dict)
        inner = inner[step]
    assert isinstance(inner, dict)
    inner[last] = value
    made = json_of(whole)
    assert isinstance(made, Json)
    return made


@pytest.mark.parametrize(
    ("path", "payload"),
    [
        ("", Json("null")),
        ("/version", changed(view_of(), "/version", 2)),
        ("/call_seq", changed(view_of(), "/call_seq", "1")),
        ("/name", changed(view_of(), "/name", " ")),
        ("/form", changed(view_of(), "/form", "tail")),
        ("/outcome/status", changed(view_of(), "/outcome/status", "unstated")),
        ("/more", changed(view_of(), "/more", 1)),
        ("/total_bytes", changed(view_of(), "/total_bytes", 2)),
        ("/total_bytes", changed(view_of("012"), "/total_bytes", 4)),
        ("/stored", changed(view_of("012"), "/stored", True)),
        ("/reference", changed(referred(), "/stored", False)),
        ("/reference", changed(referred(), "/reference/total_bytes", 11)),
        ("/reference", changed(referred(), "/reference/source_event", "e3")),
        ("/outcome/code_bytes", changed(failed_view(), "/outcome/code_bytes", 256)),
    ],
)
def test_a_payload_that_this_library_did_not_write_is_refused_with_its_place(
    path: str, payload: Json
) -> None:
    kind = CustomEvent(plugin="jingwei", kind="result_view", payload=payload)

    refused = recorded_views([event("x", kind)]).failure()

    assert isinstance(refused, MalformedView)
    assert (EventId("x"), path) == (refused.event_id, refused.path)


def test_a_failure_with_a_long_code_is_read_back() -> None:
    views = recorded_views([event("x", view_event(failed_view()))]).unwrap()

    assert failed_view() == next(one.view for _, one in views.by_source.items())
    assert 0 == len(NO_VIEWS)
