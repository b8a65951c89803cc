"""A view of a log that grows (P13): the batch's answers, and what a running turn says."""

import pytest

from jingwei.events.wire import session_log
from jingwei.ids import EventId
from jingwei.messages.records import AssistantMessage, ToolMessage, UserMessage
from jingwei.outcome import Success
from jingwei.projection.failures import Malformed, MissingReply, Unconfirmed
from jingwei.projection.project import project
from jingwei.projection.records import DamagedTurns, ProjectionConfig
from jingwei.projection.split import SplitProjection
from jingwei.projection.view import ProjectionView, start_view
from tests.logtable import SESSION, log_of

TABLE = (
    "user; call a; result a; reply; done; turn two; report; error; turn three; user; ask k; answer k; "
    "call a; call b; result b; result a; delta; reply; done checkpointed; turn four; user"
)


A, B = '{"key":"a"}', '{"key":"b"}'


def seen(table: str, config: ProjectionConfig | None = None) -> ProjectionView:
    return start_view(SESSION, config or ProjectionConfig()).advanced(log_of(table))


def test_after_every_event_a_view_is_the_batch() -> None:
    log, view = log_of(TABLE), start_view(SESSION)
    for end in range(len(log.events)):
        assert project(SESSION, session_log(log.events[:end])) == view.projection()
        view = view.advanced(session_log(log.events[end : end + 1]))

    assert project(SESSION, log) == view.projection()


def test_old_views_stay_what_they_were() -> None:
    log, views = log_of(TABLE), [start_view(SESSION)]
    for event in log.events:
        views.append(views[-1].advanced(session_log([event])))

    assert [project(SESSION, session_log(log.events[:end])) for end in range(len(views))] == [
        view.projection() for view in views
    ]


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ("user", ["question"]),
        ("report; user", ["question"]),
        ("report", []),
        ("user; ask k", ["question"]),
        ("user; call a", ["question"]),
        ("user; call a; call b; result b", ["question"]),
        ("user; call a; call b; result b; result a", ["question", A, "result", B, "result"]),
        ("user; call a; result a; call b; delta", ["question", A, "result"]),
        ("user; call a; result a; reply", ["question", A, "result"]),
    ],
)
def test_what_a_running_turn_says_so_far(running: str, expected: list[str]) -> None:
    closed = "turn zero; user; call x; result x; error"
    split = seen(f"{closed}; turn one; {running}").running().unwrap()
    said = list[str]()
    for message in split.current:
        match message:
            case UserMessage(content=content):
                said.append(content)
            case AssistantMessage(tool_calls=(call,)):
                said.append(call.arguments.text)
            case ToolMessage():
                said.append("result")
            case _:
                said.append("?")

    assert expected == said
    assert project(SESSION, log_of(closed)).unwrap() == split.history
    assert EventId("event-3") == split.history.source_tail


@pytest.mark.parametrize("table", ["", "user; reply; done", "user; error; turn two; custom; error"])
def test_where_no_turn_runs_the_history_is_everything(table: str) -> None:
    whole = project(SESSION, log_of(table)).unwrap()

    assert Success(SplitProjection(history=whole, current=())) == seen(table).running()


@pytest.mark.parametrize(
    ("table", "failure"),
    [
        ("user; user", Malformed),
        ("user; call a; done cancelled", Unconfirmed),
        ("user; done", MissingReply),
        ("user; done; turn two; user", MissingReply),
        ("user; call a; turn two; user", Unconfirmed),
    ],
)
def test_a_log_that_cannot_go_on_fails_in_mid_turn_too(table: str, failure: type[object]) -> None:
    view = seen(table)

    assert isinstance(view.running().failure(), failure)
    assert view.running().failure() == view.projection().failure()


def test_a_running_turn_in_quarantine_says_nothing() -> None:
    config = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)
    view = seen("user; reply; done; turn two; user; user; call a", config)

    assert SplitProjection(history=view.projection().unwrap(), current=()) == view.running().unwrap()
