"""Every pair of state and kind is in exactly one of the two tables, and `step` follows them (P4)."""

from collections.abc import Set
from itertools import product
from typing import Final, get_args

import attrs
import pytest

from jingwei.events.records import (
    AssistantDelta,
    AssistantReply,
    CustomEvent,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    EventKind,
    GenerationLimits,
    GenerationMode,
    ModeDecided,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    ModelSucceeded,
    PlanReady,
    SessionEvent,
    StageProgress,
    StageStatus,
    TaskRunReported,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.turns import (
    ALL_KINDS,
    REFUSED,
    TURN_TABLE,
    KindClass,
    MalformedReason,
    TurnState,
    step,
)
from jingwei.events.wire import EVENT_TYPES
from jingwei.ids import EventId, MessageId, ModelCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import GenerationRequest, GenerationResponse, UserMessage

PAIRS: Final = list(product(TurnState, ALL_KINDS))


@attrs.frozen(kw_only=True)
class Ids:
    """What a turn knows."""

    tool_calls: Set[str] = frozenset()
    tool_results: Set[str] = frozenset()
    model_calls: Set[str] = frozenset()
    model_results: Set[str] = frozenset()
    message_ids: Set[str] = frozenset()


CALLED: Final = Ids(tool_calls={"c"}, model_calls={"m"})
"""A turn in which the results below have their calls."""

ANSWERED: Final = Ids(tool_calls={"c"}, tool_results={"c"}, model_calls={"m"}, model_results={"m"})


def call(call_id: str = "new", name: str = "run") -> ToolCallEvent:
    return ToolCallEvent(call=ToolCall(id=ToolCallId(call_id), name=name, arguments=Json("{}")))


def result(call_id: str = "c") -> ToolResultEvent:
    return ToolResultEvent(result=ToolResult(call_id=ToolCallId(call_id), outcome=ToolSucceeded(output="ok")))


def model_request(call_id: str = "new") -> ModelRequestEvent:
    options = ModelRequestOptions(limits=GenerationLimits(max_output_bytes=1, max_tool_calls=1))
    asked = GenerationRequest(messages=(UserMessage(content="hi"),))
    request = ModelRequest(
        call_id=ModelCallId(call_id), mode=GenerationMode.COMPLETE, input=asked, options=options
    )
    return ModelRequestEvent(request=request)


def model_result(call_id: str = "m") -> ModelResultEvent:
    outcome = ModelSucceeded(response=GenerationResponse(content="hello"))
    return ModelResultEvent(result=ModelResult(call_id=ModelCallId(call_id), outcome=outcome))


KINDS: Final[tuple[EventKind, ...]] = (
    UserMessageEvent(text="hi"),
    AssistantDelta(text="he"),
    AssistantReply(text="hello"),
    model_request(),
    model_result(),
    call(),
    result(),
    TaskRunReported(report=Json('{"version":1}')),
    StageProgress(stage="build", status=StageStatus.STARTED),
    ModeDecided(mode="plan", decided_by="host", reason="asked"),
    PlanReady(plan=Json("{}")),
    DoneEvent(status=DoneStatus.COMPLETED),
    ErrorEvent(code="crash", message="stopped", retryable=False),
    CustomEvent(plugin="p", kind="k", payload=Json("null")),
)
"""One of each kind, which no guard refuses where its calls are known."""


def event(kind: EventKind, *, event_id: str = "e", message_id: str | None = "fresh") -> SessionEvent:
    return SessionEvent(
        event_id=EventId(event_id),
        session_id=SessionId("s"),
        turn_id=TurnId("t"),
        message_id=None if message_id is None else MessageId(message_id),
        seq=0,
        kind=kind,
    )


def of(kind: KindClass) -> EventKind:
    return next(k for k in KINDS if type(k) is kind)


def test_every_kind_of_the_union_is_listed_and_has_a_tag() -> None:
    kinds = set(get_args(EventKind))

    assert len(ALL_KINDS) == len(kinds) == 14
    assert set(ALL_KINDS) == kinds
    assert set(EVENT_TYPES.values()) == kinds
    assert {type(kind) for kind in KINDS} == kinds


def test_every_pair_is_in_exactly_one_table() -> None:
    everywhere = set(PAIRS)

    assert everywhere == TURN_TABLE.keys() | REFUSED.keys()
    assert set() == TURN_TABLE.keys() & REFUSED.keys()


@pytest.mark.parametrize(("state", "kind"), PAIRS)
def test_a_pair_that_no_guard_stops_goes_where_the_tables_say(state: TurnState, kind: KindClass) -> None:
    after = step(state, CALLED, event(of(kind)))

    if (state, kind) in TURN_TABLE:
        assert TURN_TABLE[state, kind] is after
    else:
        assert REFUSED[state, kind].reason is after


@pytest.mark.parametrize(("state", "kind"), PAIRS)
def test_a_blank_event_id_is_refused_before_everything_else(state: TurnState, kind: KindClass) -> None:
    after = step(state, CALLED, event(of(kind), event_id=" \t"))

    assert MalformedReason.BLANK_EVENT_ID is after


def test_nothing_leaves_the_closed_state_and_nothing_returns_to_the_empty_one() -> None:
    for (state, _), after in TURN_TABLE.items():
        assert state is not TurnState.CLOSED
        assert after is not TurnState.EMPTY or state is TurnState.EMPTY


@pytest.mark.parametrize(
    ("reason", "ids", "kind", "message_id"),
    [
        (MalformedReason.BLANK_CALL_ID, CALLED, call(" ", " "), None),
        (MalformedReason.BLANK_CALL_NAME, CALLED, call("c", "\n"), None),
        (MalformedReason.REPEATED_CALL_ID, CALLED, call("c"), None),
        (MalformedReason.ORPHAN_TOOL_RESULT, Ids(tool_results={"c"}), result(), None),
        (MalformedReason.SECOND_TOOL_RESULT, ANSWERED, result(), None),
        (MalformedReason.BLANK_MODEL_CALL_ID, Ids(model_calls={""}), model_request(""), None),
        (MalformedReason.REPEATED_MODEL_CALL_ID, CALLED, model_request("m"), None),
        (MalformedReason.ORPHAN_MODEL_RESULT, Ids(model_results={"m"}), model_result(), None),
        (MalformedReason.SECOND_MODEL_RESULT, ANSWERED, model_result(), None),
        (MalformedReason.REPLY_WITHOUT_MESSAGE_ID, Ids(), AssistantReply(text=""), None),
        (MalformedReason.BLANK_MESSAGE_ID, Ids(message_ids={""}), AssistantReply(text=""), ""),
        (MalformedReason.REPEATED_MESSAGE_ID, Ids(message_ids={"m1"}), AssistantReply(text=""), "m1"),
    ],
)
def test_a_guard_names_the_first_thing_that_is_wrong(
    reason: MalformedReason, ids: Ids, kind: EventKind, message_id: str | None
) -> None:
    """Each case but the last of its kind breaks a later guard as well."""
    stopped = event(kind, message_id=message_id)

    assert reason is step(TurnState.WORKING, ids, stopped)


@pytest.mark.parametrize(
    ("reason", "state", "kind"),
    [
        (MalformedReason.AFTER_TERMINAL, TurnState.CLOSED, call("")),
        (MalformedReason.AFTER_TERMINAL, TurnState.CLOSED, AssistantReply(text="")),
        (MalformedReason.WORK_AFTER_REPLY, TurnState.REPLIED, call("")),
        (MalformedReason.WORK_AFTER_REPLY, TurnState.REPLIED, result("unknown")),
        (MalformedReason.REPLY_WITHOUT_MESSAGE_ID, TurnState.REPLIED, AssistantReply(text="")),
        (MalformedReason.REPLY_WITHOUT_MESSAGE_ID, TurnState.EMPTY, AssistantReply(text="")),
        (MalformedReason.BLANK_CALL_ID, TurnState.EMPTY, call("")),
        (MalformedReason.BLANK_MODEL_CALL_ID, TurnState.EMPTY, model_request("")),
    ],
)
def test_a_turn_that_is_over_refuses_before_the_guards_and_one_that_has_not_begun_after_them(
    reason: MalformedReason, state: TurnState, kind: EventKind
) -> None:
    stopped = event(kind, message_id=None)

    assert reason is step(state, CALLED, stopped)


def test_ids_of_one_kind_do_not_stop_another() -> None:
    """A tool call may bear the id of a model request, and a reply that of a call."""
    taken = Ids(tool_calls={"x"}, model_calls={"y"}, message_ids={"z"})

    assert TurnState.WORKING is step(TurnState.WORKING, taken, event(call("y")))
    assert TurnState.WORKING is step(TurnState.WORKING, taken, event(model_request("x")))
    assert TurnState.REPLIED is step(TurnState.WORKING, taken, event(AssistantReply(text=""), message_id="x"))
