"""The one door for projections from outside (B2): checked, measured anew, then believed."""

from collections.abc import Callable
from typing import TypeAlias

import attrs
import pytest

from jingwei.ids import EventId, ProviderCallId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.failures import ArgumentsNotObject, DuplicateToolCallId, EmptyName
from jingwei.messages.records import (
    AssistantMessage,
    ModelMessage,
    ModelToolCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Success
from jingwei.projection.admit import admit_projection
from jingwei.projection.failures import AdmissionReason, NotAdmitted
from jingwei.projection.project import project
from jingwei.projection.records import (
    DamagedTurns,
    ForeignGroup,
    ForeignProjection,
    ForeignTurn,
    GroupKind,
    ProjectedState,
    Projection,
    ProjectionConfig,
)
from jingwei.projection.wire import flattened
from tests.logtable import SESSION, log_of

TABLE = "user; call a; result a; reply; done; turn two; error; turn three; user"
WHOLE: Projection = project(SESSION, log_of(TABLE)).unwrap()
FOREIGN = flattened(WHOLE)


@pytest.mark.parametrize(
    "table",
    [
        "",
        "user",
        TABLE,
        "user; call a x 5; call b x {}; result b; result a; reply; done",
        "error; turn two; error",
        "user; call a; result a; done; turn two; report; error; turn three; user",
    ],
)
def test_what_a_projection_says_of_itself_is_admitted_as_that_projection(table: str) -> None:
    config = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)
    whole = project(SESSION, log_of(table), config).unwrap()

    assert Success(whole) == admit_projection(flattened(whole))


Bend: TypeAlias = Callable[[ForeignProjection], ForeignProjection]


def turns(index: int, turn_id: str) -> Bend:
    def bend(foreign: ForeignProjection) -> ForeignProjection:
        changed = list(foreign.turns)
        changed[index] = attrs.evolve(changed[index], turn_id=TurnId(turn_id))
        return attrs.evolve(foreign, turns=tuple(changed))

    return bend


def quarantined(index: int) -> Bend:
    def bend(foreign: ForeignProjection) -> ForeignProjection:
        changed = list(foreign.turns)
        changed[index] = attrs.evolve(changed[index], state=ProjectedState.QUARANTINED)
        return attrs.evolve(foreign, turns=tuple(changed))

    return bend


def group(index: int, change: Callable[[ForeignGroup], ForeignGroup]) -> Bend:
    def bend(foreign: ForeignProjection) -> ForeignProjection:
        groups = list(foreign.groups)
        groups[index] = change(groups[index])
        return attrs.evolve(foreign, groups=tuple(groups))

    return bend


def said(*messages: ModelMessage) -> Callable[[ForeignGroup], ForeignGroup]:
    return lambda found: attrs.evolve(found, messages=messages)


def kind(kind: GroupKind) -> Callable[[ForeignGroup], ForeignGroup]:
    return lambda found: attrs.evolve(found, kind=kind)


def of_turn(turn_id: str) -> Callable[[ForeignGroup], ForeignGroup]:
    return lambda found: attrs.evolve(found, turn_id=TurnId(turn_id))


USER, REPLY = UserMessage(content="x"), AssistantMessage(content="x")
CALL = ModelToolCall(id=ProviderCallId("c"), name="n", arguments=Json("{}"))
ASKED = AssistantMessage(tool_calls=(CALL,))
ANSWER = ToolMessage(call_id=ProviderCallId("c"), content="")
SHAPE = AdmissionReason.GROUP_SHAPE

# Groups 0 to 3 of FOREIGN: user, exchange, reply of turn one; user of turn three.
REFUSED: dict[str, tuple[Bend, AdmissionReason, str]] = {
    "another version": (
        lambda foreign: attrs.evolve(foreign, algorithm_version=99),
        AdmissionReason.UNSUPPORTED_PROJECTION_VERSION,
        "/algorithm_version",
    ),
    "a blank turn": (turns(1, " "), AdmissionReason.BLANK_TURN_ID, "/turns/1/turn_id"),
    "a turn twice": (turns(1, "one"), AdmissionReason.DUPLICATE_TURN, "/turns/1/turn_id"),
    "a turn nobody knows": (turns(2, "four"), AdmissionReason.UNKNOWN_GROUP_TURN, "/groups/3/turn_id"),
    "a group of no turn": (group(0, of_turn("")), AdmissionReason.UNKNOWN_GROUP_TURN, "/groups/0/turn_id"),
    "a later turn first": (group(0, of_turn("two")), AdmissionReason.GROUP_OUT_OF_ORDER, "/groups/1/turn_id"),
    "no sources": (
        group(2, lambda found: attrs.evolve(found, source_events=())),
        AdmissionReason.GROUP_WITHOUT_SOURCES,
        "/groups/2/source_events",
    ),
    "a group of a turn in quarantine": (quarantined(2), SHAPE, "/groups/3/messages"),
    "no messages": (group(0, said()), SHAPE, "/groups/0/messages"),
    "two users": (group(0, said(USER, USER)), SHAPE, "/groups/0/messages"),
    "a system message": (group(0, said(SystemMessage(content="x"))), SHAPE, "/groups/0/messages"),
    "a user who is an assistant": (group(0, kind(GroupKind.ASSISTANT)), SHAPE, "/groups/0/messages"),
    "a reply that calls": (group(2, said(ASKED)), SHAPE, "/groups/2/messages"),
    "a reply that says nothing": (group(2, said(AssistantMessage())), SHAPE, "/groups/2/messages"),
    "a reply and another": (group(2, said(REPLY, REPLY)), SHAPE, "/groups/2/messages"),
    "an exchange without its result": (group(1, said(ASKED)), SHAPE, "/groups/1/messages"),
    "an exchange without its call": (group(1, said(ANSWER)), SHAPE, "/groups/1/messages"),
    "an exchange with another's result": (
        group(1, said(ASKED, ToolMessage(call_id=ProviderCallId("d"), content=""))),
        SHAPE,
        "/groups/1/messages",
    ),
    "an exchange of two calls": (
        group(1, said(AssistantMessage(tool_calls=(CALL, CALL)), ANSWER)),
        SHAPE,
        "/groups/1/messages",
    ),
    "an exchange that is a reply": (group(1, said(REPLY)), SHAPE, "/groups/1/messages"),
}


@pytest.mark.parametrize(("bend", "reason", "path"), REFUSED.values(), ids=REFUSED)
def test_a_history_that_no_log_projects_to_is_refused_with_its_place(
    bend: Bend, reason: AdmissionReason, path: str
) -> None:
    assert Failure(NotAdmitted(reason=reason, path=path)) == admit_projection(bend(FOREIGN))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("another version", "a blank turn"),
        ("a blank turn", "no sources"),
        ("a turn twice", "a group of no turn"),
        ("no messages", "no sources"),
    ],
)
def test_of_several_faults_the_first_in_order_is_told(first: str, second: str) -> None:
    (bend, reason, path), (also, *_) = REFUSED[first], REFUSED[second]

    assert Failure(NotAdmitted(reason=reason, path=path)) == admit_projection(bend(also(FOREIGN)))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (attrs.evolve(CALL, arguments=Json("[]")), ArgumentsNotObject(index=1)),
        (attrs.evolve(CALL, name=" "), EmptyName(index=1)),
        (CALL, None),
    ],
)
def test_what_no_request_can_hold_is_admitted_and_told(
    call: ModelToolCall, expected: ArgumentsNotObject | EmptyName | DuplicateToolCallId | None
) -> None:
    """The checks of the history are passed; the shape is the build's matter, which reads it from the type."""
    foreign = group(1, said(AssistantMessage(tool_calls=(call,)), ANSWER))(FOREIGN)

    assert expected == admit_projection(foreign).unwrap().shape_failure


def test_sizes_are_computed_anew() -> None:
    foreign = ForeignProjection(
        algorithm_version=1,
        session_id=SESSION,
        source_event_count=0,
        source_tail=None,
        config=ProjectionConfig(),
        groups=(
            ForeignGroup(
                turn_id=TurnId("t"),
                kind=GroupKind.USER,
                source_events=(EventId("e"),),
                messages=(UserMessage(content="中"),),
            ),
        ),
        turns=(
            ForeignTurn(
                turn_id=TurnId("t"),
                state=ProjectedState.FAILED,
                terminal_event=None,
                missing_complete_reply=False,
            ),
            ForeignTurn(
                turn_id=TurnId("u"),
                state=ProjectedState.OPEN,
                terminal_event=None,
                missing_complete_reply=True,
            ),
        ),
        omitted=(),
    )
    found = admit_projection(foreign).unwrap()

    assert (1, 1, len('{"role":"user","content":"中"}'.encode())) == (
        found.group_count,
        found.message_count,
        found.canonical_bytes,
    )
    assert [(1, 31), (0, 0)] == [(turn.message_count, turn.canonical_bytes) for turn in found.turns]
    assert [ProjectedState.FAILED, ProjectedState.OPEN] == [turn.state for turn in found.turns]
    assert [False, True] == [turn.missing_complete_reply for turn in found.turns]
