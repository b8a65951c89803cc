"""Write a long session with `SessionWriter`: one week of an agent that keeps a bookshop's orders moving.

    python docs/examples/long_session.py > week.jsonl
    jingwei simulate week.jsonl --strategy oldest_turn_first --strategy stable_prefix --window 24000

Deterministic: the same bytes on every run. Each event is offered to the writer, which fills in its place
and its id, or says which rule it would break.
"""

import sys
from collections.abc import Iterator
from typing import Final, final

from jingwei.events.records import (
    AssistantReply,
    DoneEvent,
    DoneStatus,
    EventKind,
    GenerationLimits,
    GenerationMode,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    ModelSucceeded,
    SessionEvent,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolFailureCategory,
    ToolOutcome,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.wire import encode_log
from jingwei.events.writer import NumberedIds, SessionWriter, start_writer
from jingwei.ids import ModelCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import GenerationRequest, GenerationResponse

TURNS: Final = 48
IDS: Final = NumberedIds(prefix="week_")
SHOPS: Final = ("Leipzig", "Suzhou", "Porto", "Ghent", "Turku", "Nara")
QUESTIONS: Final = (
    "Which orders of {shop} are late today, and why?",
    "{shop} says that the stock report does not match the shelf. Please check.",
    "请核对{shop}昨天的退款，列出金额不符的订单。",
    "The carrier of {shop} changed its labels again. Does our parser still read them?",
)


@final
class Clerk:
    """Offers events to the writer one after the other, and keeps what was written."""

    def __init__(self) -> None:
        self.writer: SessionWriter = start_writer(SessionId("week"))
        self.events = list[SessionEvent]()

    def note(self, turn: TurnId, kind: EventKind) -> None:
        """Write one event; the script knows its rules, so a refusal ends it."""
        written = self.writer.offer(IDS, turn, kind).unwrap()
        self.events.append(written.event)
        self.writer = written.writer


def week() -> tuple[SessionEvent, ...]:
    """All events of the session."""
    clerk = Clerk()
    for number in range(TURNS):
        turn = TurnId(f"turn_{number:02d}")
        shop = SHOPS[number % len(SHOPS)]
        clerk.note(turn, UserMessageEvent(text=QUESTIONS[number % len(QUESTIONS)].format(shop=shop)))
        for step in range((0, 3, 5, 2, 7, 4)[number % 6]):
            for kind in asked(turn, step):
                clerk.note(turn, kind)
            for kind in looked_up(number, step, shop):
                clerk.note(turn, kind)
        for kind in asked(turn, 99):
            clerk.note(turn, kind)
        clerk.note(turn, AssistantReply(text=f"{shop}: " + "; ".join(findings(number, 3)) + "."))
        clerk.note(turn, DoneEvent(status=DoneStatus.COMPLETED))
    return tuple(clerk.events)


def asked(turn: TurnId, step: int) -> Iterator[EventKind]:
    """One call of the model, as an audit record beside the conversation."""
    call = ModelCallId(f"{turn}_model_{step}")
    limits = GenerationLimits(max_output_bytes=65_536, max_tool_calls=8)
    yield ModelRequestEvent(
        request=ModelRequest(
            call_id=call,
            mode=GenerationMode.COMPLETE,
            input=GenerationRequest(messages=()),
            options=ModelRequestOptions(limits=limits),
        )
    )
    outcome = ModelSucceeded(response=GenerationResponse())
    yield ModelResultEvent(result=ModelResult(call_id=call, outcome=outcome))


def looked_up(number: int, step: int, shop: str) -> Iterator[EventKind]:
    """One tool call and its result; some tables are long, and now and then a tool fails."""
    call = ToolCallId(f"call_{step}")
    arguments = Json(f'{{"shop":"{shop}","page":{step + 1}}}')
    yield ToolCallEvent(call=ToolCall(id=call, name="list_orders", arguments=arguments))
    rows = (12, 30, 9, 55, 18, 240, 25)[(number * 5 + step * 3) % 7]
    outcome: ToolOutcome = ToolSucceeded(output="\n".join(findings(number * 10 + step, rows)))
    if (number + step) % 11 == 10:
        outcome = ToolFailed(
            category=ToolFailureCategory.TIMEOUT,
            code="timeout",
            message="no answer within 20 s",
            retryable=True,
        )
    yield ToolResultEvent(result=ToolResult(call_id=call, outcome=outcome))


def findings(seed: int, rows: int) -> Iterator[str]:
    """Lines of a table that looks like data and is made by arithmetic alone."""
    for row in range(rows):
        order = (seed * 7919 + row * 104_729) % 900_000 + 100_000
        state = ("packed", "waiting for stock", "shipped", "refunded", "label rejected")[order % 5]
        yield f"order {order} {state}, {order % 40 + 1} items, {order % 9973 / 100:.2f} EUR"


if __name__ == "__main__":
    sys.stdout.buffer.write(encode_log(week()).unwrap())
