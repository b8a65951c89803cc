"""What of a model's answer can stand in a log (rules T6, W4).

A provider may answer what no log can hold: a call with a blank id, arguments too deep for where they are
recorded, numbers below zero, half a surrogate pair. Recorded as it came, one such answer would make the whole
log unreadable. So it is recorded as a failed one, with all that can be kept of it as a partial answer, and
nothing is taken out of it.
"""

import re
from collections.abc import Iterable
from typing import Final

import attrs

from jingwei.action.failures import UnreadableAnswer
from jingwei.events.records import (
    GenerationPartial,
    ModelFailed,
    ModelFailureCategory,
    ModelOutcome,
    ModelResult,
    ModelResultEvent,
    ModelSucceeded,
    PartialToolCall,
    SessionEvent,
)
from jingwei.events.wire import unreadable
from jingwei.ids import EventId, ModelCallId, SessionId, TurnId
from jingwei.jsontext import Json, JsonProblem, canonical, parse, shortened
from jingwei.messages.records import GenerationResponse, ModelToolCall

UNREADABLE_ANSWER: Final = "unreadable_answer"
"""The code under which an answer is recorded that no log can hold."""


def unreadable_answer(response: GenerationResponse) -> UnreadableAnswer | None:
    """Why an answer cannot be recorded as it came; None where it can. Spaces in arguments do not count."""
    return _unread(ModelSucceeded(response=_tidied(response)))


def recordable(outcome: ModelOutcome) -> ModelOutcome:
    """The outcome as a log can hold it: unchanged wherever it can (W4).

    Arguments of calls are recorded in canonical form (W8). An answer that cannot be recorded becomes a
    failure of the category `protocol` with the code `unreadable_answer` and the place in its message;
    retryable, since asking a model changes nothing. Its words, calls and fragments become the partial
    answer, in this order; usage and finish reason are lost. In a failure, and in the partial answer,
    half a surrogate pair stands as U+FFFD, a position that is no number below 2^32 is counted anew, and a
    status that is none is left out.
    """
    if isinstance(outcome, ModelSucceeded):
        tidied = ModelSucceeded(response=_tidied(outcome.response))
        unread = _unread(tidied)
        return tidied if unread is None else _failed(outcome.response, unread)
    return outcome if _unread(outcome) is None else _mended(outcome)


_OUTCOME: Final = "/kind/result/outcome"
_RESPONSE: Final = f"{_OUTCOME}/response"
_HALF: Final = re.compile("[\ud800-\udfff]")
_INDEX_BOUND: Final = 2**32
_STATUS_BOUND: Final = 2**16


def _unread(outcome: ModelOutcome) -> UnreadableAnswer | None:
    """What a reader would say of the outcome, whatever event it stands in."""
    event = SessionEvent(
        event_id=EventId("event"),
        session_id=SessionId("session"),
        turn_id=TurnId("turn"),
        seq=0,
        kind=ModelResultEvent(result=ModelResult(call_id=ModelCallId("call"), outcome=outcome)),
    )
    found = unreadable(event)
    if found is None:
        return None
    return UnreadableAnswer(reason=found.reason, path=(found.path or "").removeprefix(_RESPONSE))


def _tidied(response: GenerationResponse) -> GenerationResponse:
    """The response with canonical arguments; what is no strict JSON stays as it is."""
    calls = tuple(map(_tidied_call, response.tool_calls))
    return response if calls == response.tool_calls else attrs.evolve(response, tool_calls=calls)


def _tidied_call(call: ModelToolCall) -> ModelToolCall:
    value = parse(call.arguments.text)
    return call if isinstance(value, JsonProblem) else attrs.evolve(call, arguments=Json(canonical(value)))


def _failed(response: GenerationResponse, why: UnreadableAnswer) -> ModelFailed:
    calls = [
        PartialToolCall(index=0, id=call.id, name=call.name, arguments=call.arguments.text)
        for call in response.tool_calls
    ]
    fragments = [
        PartialToolCall(index=0, id=cut.id, name=cut.name, arguments=cut.arguments)
        for cut in response.incomplete_tool_calls
    ]
    numbered = [attrs.evolve(call, index=index) for index, call in enumerate((*calls, *fragments))]
    place = f" at {shortened(why.path)}" if why.path else ""
    return ModelFailed(
        category=ModelFailureCategory.PROTOCOL,
        code=UNREADABLE_ANSWER,
        message=_whole(f"The answer cannot be recorded as it came: {why.reason.value}{place}."),
        retryable=True,
        partial=_partial(response.content, numbered),
    )


def _mended(failed: ModelFailed) -> ModelFailed:
    return attrs.evolve(
        failed,
        code=_whole(failed.code),
        message=_whole(failed.message),
        upstream_status=failed.upstream_status if _is_below(failed.upstream_status, _STATUS_BOUND) else None,
        partial=_partial(failed.partial.content, failed.partial.tool_calls),
    )


def _partial(content: str | None, calls: Iterable[PartialToolCall]) -> GenerationPartial:
    return GenerationPartial(
        content=None if content is None else _whole(content),
        tool_calls=tuple(
            PartialToolCall(
                index=call.index if _is_below(call.index, _INDEX_BOUND) else position,
                id=_whole(call.id),
                name=_whole(call.name),
                arguments=_whole(call.arguments),
            )
            for position, call in enumerate(calls)
        ),
    )


def _is_below(number: int | None, bound: int) -> bool:
    """Whether the wire takes it: `True` is an integer for Python only."""
    return type(number) is int and 0 <= number < bound


def _whole(text: str) -> str:
    return _HALF.sub("\ufffd", text)
