"""Closing a turn that its session left open, by appending to the log and by nothing else (rule L4).

A process that dies in the middle of a turn leaves calls without results and a turn without an end, so that
the log has no projection (P5). What became of the calls nobody can say from the log alone; so the events
made here say just that, and the turn ends as cancelled. They are made only when a host asks for them, and
one of them names the reason, so that a reader can tell them from what happened.
"""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Final, final

import attrs

from jingwei.events.failures import WriteFailure, WriteRefused
from jingwei.events.records import (
    CustomEvent,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    EventKind,
    ModelFailed,
    ModelFailureCategory,
    ModelRequestEvent,
    ModelResult,
    ModelResultEvent,
    SessionEvent,
    SessionLog,
    ToolCallEvent,
    ToolFailed,
    ToolFailureCategory,
    ToolResult,
    ToolResultEvent,
    UserMessageEvent,
)
from jingwei.events.turns import TurnState
from jingwei.events.writer import EarlierTurns, IdSource, Resumed, SessionWriter, TurnSoFar, resumed_log
from jingwei.ids import ModelCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import Json, canonical
from jingwei.outcome import Failure, Outcome, Success

RECOVERY_PLUGIN: Final = "jingwei"
RECOVERY_KIND: Final = "recovery"
RECOVERY_VERSION: Final = 1
ABANDONED: Final = "abandoned_turn"
"""Plugin and kind of the event that marks a recovery, the version of its payload, and its reason."""

ABANDONED_CALL: Final = ToolFailed(
    category=ToolFailureCategory.CANCELLED,
    code="abandoned",
    message="The log ends without a result of this call. Whether it ran, and what it changed, is unknown.",
    retryable=False,
)
"""What is recorded for an open tool call. Not retryable: it may have run."""

ABANDONED_REQUEST: Final = ModelFailed(
    category=ModelFailureCategory.CANCELLED,
    code="abandoned",
    message="The log ends without a result of this request. Whether the model answered is unknown.",
    retryable=True,
)
"""What is recorded for an open model request. Retryable: asking a model again changes nothing."""


@final
@attrs.frozen(kw_only=True)
class Closing:
    """What must be appended so that the log projects again.

    Attributes:
        turn_id: the turn that is closed; None where there is nothing to close.
        events: to be appended in this order, all of them; empty where there is nothing to close.
        tool_calls: the calls that were open, in call order: look into what they did before you repeat one.
        model_calls: the model requests that were open, in order.
        writer: the writer behind the last event.
    """

    turn_id: TurnId | None = None
    events: tuple[SessionEvent, ...] = ()
    tool_calls: tuple[ToolCallId, ...] = ()
    model_calls: tuple[ModelCallId, ...] = ()
    writer: SessionWriter


def close_abandoned(
    session_id: SessionId,
    log: SessionLog,
    ids: IdSource,
    earlier: EarlierTurns = EarlierTurns.REJECT,
) -> Outcome[Closing, WriteFailure]:
    """The events that close the last turn of a log whose writer will not come back (L4).

    A failed result for each open call, one for each open model request, a `custom` event that says what
    was closed and why, and `done` with the status `cancelled`. A complete reply that was recorded is then
    that of a cancelled turn, and is left out of the projection (P7). Nothing that exists is changed.

    No events for a log that projects as it is: whole, empty, or ending in a user message alone, which the
    next model call answers. Fails where the log is damaged in another way than by being cut off, as
    `resume_writer` does. Under `EarlierTurns.KEEP` only L1, P2 and P3 must hold: a damaged last turn
    that has no terminal gets the `custom` event and its `done` alone, so that `DamagedTurns.QUARANTINE`
    leaves it out, and one that has its terminal gets nothing. Fails too where `ids` gives an id that is
    used or blank. Linear, and pure: call it only when nobody writes the log any more.
    """
    resumed = resumed_log(session_id, log, earlier)
    if not isinstance(resumed, Resumed):
        return Failure(resumed)
    if resumed.damage is not None:
        return _ended(resumed.writer, log, ids)
    turn = resumed.writer.turn
    if turn is None or turn.state is TurnState.CLOSED or _waits_for_an_answer(turn, log):
        return Success(Closing(writer=resumed.writer))
    return _closed_turn(resumed.writer, turn, ids)


def _waits_for_an_answer(turn: TurnSoFar, log: SessionLog) -> bool:
    """Whether the turn is its user message and no more: then it is open, and not abandoned (P5)."""
    return turn.event_count == 1 and isinstance(log.events[-1].kind, UserMessageEvent)


def _closed_turn(
    writer: SessionWriter, turn: TurnSoFar, ids: IdSource
) -> Success[Closing] | Failure[WriteRefused]:
    tool_calls, model_calls = turn.open_tool_calls, turn.open_model_calls
    results: list[EventKind] = [
        *[ToolResultEvent(result=ToolResult(call_id=call, outcome=ABANDONED_CALL)) for call in tool_calls],
        *[ModelResultEvent(result=ModelResult(call_id=c, outcome=ABANDONED_REQUEST)) for c in model_calls],
    ]
    called = {call: turn.tool_calls.get(call) for call in tool_calls}
    return _written(writer, ids, turn.turn_id, results, _Open(tool_calls=called, model_calls=model_calls))


def _ended(writer: SessionWriter, log: SessionLog, ids: IdSource) -> Success[Closing] | Failure[WriteRefused]:
    """The end of a damaged turn where it has none: no result of its calls could stand (P4)."""
    turn_id = log.events[-1].turn_id
    backwards = takewhile(lambda event: event.turn_id == turn_id, reversed(log.events))
    kinds = [event.kind for event in backwards][::-1]
    if any(isinstance(kind, DoneEvent | ErrorEvent) for kind in kinds):
        return Success(Closing(writer=writer))
    called = dict[ToolCallId, str | None]()
    asked = dict[ModelCallId, None]()
    for kind in kinds:
        if isinstance(kind, ToolCallEvent):
            called.setdefault(kind.call.id, kind.call.name)
        elif isinstance(kind, ToolResultEvent):
            called.pop(kind.result.call_id, None)
        elif isinstance(kind, ModelRequestEvent):
            asked[kind.request.call_id] = None
        elif isinstance(kind, ModelResultEvent):
            asked.pop(kind.result.call_id, None)
    # For the writer the turn is over; it is begun anew, to take these two events alone.
    begun = attrs.evolve(writer, turn=TurnSoFar(turn_id=turn_id))
    match _written(begun, ids, turn_id, [], _Open(tool_calls=called, model_calls=tuple(asked))):
        case Success(closing):
            return Success(attrs.evolve(closing, writer=attrs.evolve(closing.writer, turn=writer.turn)))
        case Failure() as refused:
            return refused


@final
@attrs.frozen(kw_only=True)
class _Open:
    """What a turn left open: tool calls in order, each with the tool's name, and model requests in order."""

    tool_calls: Mapping[ToolCallId, str | None]
    model_calls: tuple[ModelCallId, ...]


def _written(
    writer: SessionWriter, ids: IdSource, turn_id: TurnId, results: Iterable[EventKind], left: _Open
) -> Success[Closing] | Failure[WriteRefused]:
    """These events, what was closed and why, and the end."""
    kinds: tuple[EventKind, ...] = (
        *results,
        CustomEvent(plugin=RECOVERY_PLUGIN, kind=RECOVERY_KIND, payload=_payload(left)),
        DoneEvent(status=DoneStatus.CANCELLED),
    )
    events = list[SessionEvent]()
    for kind in kinds:
        match writer.offer(ids, turn_id, kind):
            case Success(written):
                events.append(written.event)
                writer = written.writer
            case Failure(refused):
                return Failure(refused)
    return Success(
        Closing(
            turn_id=turn_id,
            events=tuple(events),
            tool_calls=tuple(left.tool_calls),
            model_calls=left.model_calls,
            writer=writer,
        )
    )


def _payload(left: _Open) -> Json:
    """What was closed, and why. Strings and a number only, so that it has a text whatever the ids hold."""
    return Json(
        canonical(
            {
                "version": RECOVERY_VERSION,
                "reason": ABANDONED,
                "tool_calls": [{"id": call, "name": name} for call, name in left.tool_calls.items()],
                "model_calls": list(left.model_calls),
            }
        )
    )
