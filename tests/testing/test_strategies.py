"""What is drawn keeps what its strategy promises, and reaches what it is for.

Always the same examples are drawn, so that a promise that holds today holds tomorrow.
"""

from typing import TypeVar, get_args

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from jingwei.build import target_failure
from jingwei.events.records import (
    EventKind,
    ModelRequestEvent,
    ModelResultEvent,
    SessionEvent,
    SessionLog,
    ToolCallEvent,
    ToolResultEvent,
)
from jingwei.events.wire import decode_log, encode_log, session_log
from jingwei.ids import EventId, is_blank
from jingwei.items.check import items_failure
from jingwei.items.records import ItemKind
from jingwei.messages.records import UserMessage
from jingwei.messages.shape import check_shape, constraint_failure, messages_failure
from jingwei.messages.wire import decode_request, decode_response, encode_request, encode_response
from jingwei.outcome import Failure, Success
from jingwei.projection.failures import Malformed, MissingReply, ProjectionFailure, Unconfirmed
from jingwei.projection.project import project
from jingwei.projection.records import DEFAULT_CONFIG, LegacyReplies, ProjectedState, ProjectionConfig
from jingwei.request.records import BudgetMode, ContextBudget
from jingwei.testing import strategies as some
from tests.logtable import events_of

LEGACY = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)

_Drawn = TypeVar("_Drawn")


def drawn(strategy: SearchStrategy[_Drawn], examples: int = 20) -> list[_Drawn]:
    """Many values of a strategy, the same ones at each run."""
    found = list[_Drawn]()

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(value: _Drawn) -> None:
        found.append(value)

    draw()
    return found


def failures(logs: list[SessionLog], config: ProjectionConfig = LEGACY) -> list[ProjectionFailure | None]:
    """Why each of these logs does not project, or None."""
    outcomes = [project(some.SESSION, log, config) for log in logs]
    return [outcome.failure() if isinstance(outcome, Failure) else None for outcome in outcomes]


# --- messages and requests ------------------------------------------------------------------------


def test_conversations_are_well_shaped() -> None:
    assert {None} == {messages_failure(messages) for messages in drawn(some.conversations())}


def test_current_messages_begin_with_the_user_and_are_well_shaped() -> None:
    found = drawn(some.current_messages())

    assert {None} == {messages_failure(messages) for messages in found}
    assert {UserMessage} == {type(messages[0]) for messages in found}


def test_constraints_and_requests_are_those_that_the_shape_rules_take() -> None:
    constraints, requests = drawn(some.constraints()), drawn(some.shaped_requests())

    assert {None} == {constraint_failure(constraint) for constraint in constraints}
    assert [Success(request) for request in requests] == [check_shape(request) for request in requests]


def test_any_request_and_response_survives_the_wire() -> None:
    requests, responses = drawn(some.requests()), drawn(some.responses())

    assert [Success(r) for r in requests] == [decode_request(encode_request(r).unwrap()) for r in requests]
    assert [Success(r) for r in responses] == [
        decode_response(encode_response(r).unwrap()) for r in responses
    ]


def test_targets_are_refused_by_no_check() -> None:
    budget = ContextBudget(window_tokens=1, output_reserve=1, mode=BudgetMode.SOFT)

    assert {None} == {target_failure(target, budget) for target in drawn(some.targets())}


# --- events ---------------------------------------------------------------------------------------


def call_id(kind: EventKind) -> str | None:
    match kind:
        case ToolCallEvent(call=call):
            return call.id
        case ToolResultEvent(result=result):
            return result.call_id
        case ModelRequestEvent(request=request):
            return request.call_id
        case ModelResultEvent(result=answer):
            return answer.call_id
        case _:
            return None


def test_every_kind_of_event_is_drawn_with_good_and_with_blank_ids() -> None:
    kinds = drawn(some.event_kinds(), 250)
    ids = {is_blank(found) for kind in kinds if (found := call_id(kind)) is not None}
    names = {is_blank(kind.call.name) for kind in kinds if isinstance(kind, ToolCallEvent)}

    assert set(get_args(EventKind)) == {type(kind) for kind in kinds}
    assert {True, False} == ids
    assert {True, False} == names


def test_any_event_survives_the_wire() -> None:
    events = tuple(drawn(some.events()))

    assert events == decode_log(encode_log(events).unwrap()).unwrap().events


def test_an_event_takes_its_ids_from_the_strategies_that_are_given() -> None:
    given_ids = drawn(some.events(event_id=some.names(), turn_id=some.names()))

    assert not [event for event in given_ids if is_blank(event.event_id) or is_blank(event.turn_id)]


# --- logs -----------------------------------------------------------------------------------------


def test_legal_logs_project_and_reach_every_state() -> None:
    projections = [project(some.SESSION, log).unwrap() for log in drawn(some.legal_logs(), 40)]
    states = [turn.state for projection in projections for turn in projection.turns]

    assert set(ProjectedState) - {ProjectedState.QUARANTINED} == set(states)


def test_legacy_turns_project_only_where_they_are_admitted() -> None:
    logs = drawn(some.legal_logs(legacy=True), 30)

    assert {None} == set(failures(logs, LEGACY))
    assert {type(None), MissingReply} == {type(failure) for failure in failures(logs, DEFAULT_CONFIG)}


@pytest.mark.parametrize("legacy", [False, True])
def test_projections_are_those_that_a_build_takes(legacy: bool) -> None:
    found = drawn(some.projections(legacy=legacy), 30)
    turns = [turn for projection in found for turn in projection.turns]

    assert ProjectedState.OPEN not in {turn.state for turn in turns}
    assert legacy == any(turn.missing_complete_reply for turn in turns)


def test_mutated_logs_are_legal_and_illegal_and_measured() -> None:
    logs = drawn(some.mutated_logs())

    assert {True, False} == {failure is None for failure in failures(logs)}
    assert logs == [session_log(log.events) for log in logs]


TWO_TURNS = events_of(
    "user; call a; result a; delta; reply; done; turn two; user; ask k; answer k; reply; done", some.SESSION
)
REACHED = {
    "blank id": {"blank_event_id", "blank_message_id", "blank_turn_id"},
    "cut": {"Unconfirmed", "projects"},
    "doubled": {"after_terminal", "repeated_message_id", "turn_not_contiguous", "work_after_reply"},
    "dropped": {"Unconfirmed", "orphan_model_result", "orphan_tool_result", "work_before_user"},
    "moved": {"after_terminal", "orphan_tool_result", "turn_not_contiguous", "work_after_reply"},
    "one message id": {"repeated_message_id"},
    "other event id": {"DuplicateEventId", "projects"},
    "other kind": {"after_terminal", "reply_without_message_id", "second_user_message"},
    "other message id": {"projects", "repeated_message_id", "reply_without_message_id"},
    "other seq": {"WrongSequence", "projects"},
    "other session": {"WrongSession"},
    "other turn": {"Unconfirmed", "after_terminal"},
    "repeated": {"repeated_call_id", "second_model_result", "second_tool_result", "second_user_message"},
    "said again": {"second_reply"},
}


def said(failure: ProjectionFailure | None) -> str:
    if failure is None:
        return "projects"
    return failure.reason.value if isinstance(failure, Malformed) else type(failure).__name__


@pytest.mark.parametrize("name", sorted(some._FAULTS))
def test_a_fault_breaks_the_rules_that_it_is_for_and_not_the_log_that_it_is_given(name: str) -> None:
    """Worked into a sound log at every place: the rules that are broken first."""
    log, places = list(TWO_TURNS), range(len(TWO_TURNS))
    faulty = [some._FAULTS[name](log, here, there) for here in places for there in places]

    assert REACHED[name] <= {said(failure) for failure in failures([session_log(one) for one in faulty])}
    assert list(TWO_TURNS) == log


def test_arbitrary_logs_are_in_physical_order_whatever_else_is_wrong() -> None:
    found = {type(failure) for failure in failures(drawn(some.arbitrary_logs(), 40))}

    assert {type(None), Malformed, Unconfirmed} == found


def test_logs_are_legal_and_illegal_alike() -> None:
    assert {True, False} == {failure is None for failure in failures(drawn(some.logs()))}


def numbered(*ids: str) -> list[SessionEvent]:
    event = drawn(some.events(), 1)[0]
    return [attrs.evolve(event, event_id=EventId(event_id), seq=7) for event_id in ids]


def test_renumbered_events_have_unbroken_numbers_and_ids_of_their_own() -> None:
    found = some.renumbered(numbered("a", "b", "a", "a"))

    assert [(0, "a"), (1, "b"), (2, "a#2"), (3, "a#3")] == [(event.seq, event.event_id) for event in found]


def test_items_are_such_that_a_build_takes_them() -> None:
    """No rule refuses them, none is a system text, and all that a build may meet is among them."""
    sets = drawn(some.context_items(), examples=60)
    items = [item for one in sets for item in one]

    assert all(items_failure(one) is None for one in sets)
    assert ItemKind.SYSTEM not in {item.kind for item in items}
    assert {True, False} == {item.required for item in items} == {item.pinned for item in items}
    assert {True, False} == {item.short is None for item in items}
    assert any("</jingwei_items>" in item.content for item in items)
