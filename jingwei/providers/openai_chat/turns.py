"""Messages woven into turns, and turns written as events: pairing, last words, terminals.

A turn goes from one user message to the next. A result belongs to the nearest earlier step that
waits for its id, since files reuse ids from step to step, even with other arguments. Turns are
written when all messages are read: only then is known which call never got its result.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, assert_never, final

import attrs

from jingwei.events.records import (
    AssistantDelta,
    AssistantReply,
    CustomEvent,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    EventKind,
    SessionEvent,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolFailureCategory,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.ids import EventId, MessageId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import JsonValue, shortened
from jingwei.providers.openai_chat.documents import ErrorResponse
from jingwei.providers.openai_chat.failures import (
    AmbiguousResult,
    CallWithoutResult,
    EarlierText,
    MessageBeforeUser,
    ResultAfterTurn,
    ResultWithoutCall,
    SecondResult,
    TextBesideCalls,
    TurnWithoutReply,
)
from jingwei.providers.openai_chat.messages import (
    AssistantSaid,
    Audit,
    Ledger,
    ReadCall,
    ResultCame,
    UserSaid,
    kept_whole,
)
from jingwei.providers.openai_chat.records import (
    NoteKind,
    UnansweredTurn,
    Unplaced,
)

UNKNOWN_OUTCOME: Final = ToolFailed(
    category=ToolFailureCategory.CANCELLED,
    code="outcome_not_recorded",
    message="No result of this call is recorded. Whether it ran, and with what effect, is unknown.",
    retryable=False,
)
"""What stands for the outcome of a call without a result, where the host admits such calls."""

_Key: TypeAlias = tuple[int, int]
"""A call by message and position."""


@final
@attrs.frozen(kw_only=True)
class _Text:
    """Assistant text: the reply if it is the last of its turn and stands by itself."""

    index: int
    text: str
    beside_calls: bool


@final
@attrs.frozen(kw_only=True)
class _Call:
    """A call, and the turn (by place) that it stands in."""

    index: int
    turn: int
    call: ReadCall

    @property
    def key(self) -> _Key:
        return self.index, self.call.position


@final
@attrs.frozen(kw_only=True)
class _Result:
    """A result that has found its call."""

    index: int
    key: _Key
    text: str


_Item: TypeAlias = _Text | _Call | _Result | Audit


@final
class _Turn:
    """One turn while its messages are read."""

    def __init__(self, said: UserSaid, front: Sequence[Audit]) -> None:
        self.said = said
        self.front = tuple(front)
        self.items = list[_Item]()
        self.late = list[_Result]()

    @property
    def calls(self) -> list[_Call]:
        return [item for item in self.items if isinstance(item, _Call)]

    @property
    def reply_place(self) -> int | None:
        """Where the reply stands among the items: the last of them that is conversation."""
        for place in range(len(self.items) - 1, -1, -1):
            item = self.items[place]
            if isinstance(item, Audit):
                continue
            return place if isinstance(item, _Text) and not item.beside_calls else None
        return None

    @property
    def is_only_user(self) -> bool:
        return not (self.items or self.late or self.front)


@final
class Weaver:
    """Takes read messages one by one; `events` writes what they amount to."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._turns = list[_Turn]()
        self._before = list[Audit]()
        self._waiting: Mapping[bool, dict[_Key, _Call]] = {False: {}, True: {}}
        self._by_id = dict[str, list[_Call]]()

    @property
    def turn_count(self) -> int:
        """Turns so far."""
        return len(self._turns)

    def user(self, said: UserSaid) -> None:
        """A turn begins."""
        self._turns.append(_Turn(said, self._before))
        self._before.clear()

    def before_user(self, index: int, role: str, message: Mapping[str, JsonValue]) -> None:
        """A message that no turn can hold."""
        choice = self._ledger.options.before_user
        failure = MessageBeforeUser(index=index, role=role)
        self._ledger.settle(choice, failure, NoteKind.MESSAGE_BEFORE_USER_UNPLACED, role)
        if choice is Unplaced.AS_AUDIT:
            self._before.append(kept_whole(index, "before_user", message))

    def assistant(self, said: AssistantSaid) -> None:
        """Text, calls, or both; text stands before the calls of its message."""
        items = self._turns[-1].items
        items.extend(said.audits)
        if said.text is not None:
            items.append(_Text(index=said.index, text=said.text, beside_calls=bool(said.calls)))
        for read in said.calls:
            call = _Call(index=said.index, turn=len(self._turns) - 1, call=read)
            items.append(call)
            self._waiting[read.legacy][call.key] = call
            if read.call_id is not None:
                self._by_id.setdefault(read.call_id, []).append(call)

    def result(self, came: ResultCame, message: Mapping[str, JsonValue]) -> AmbiguousResult | None:
        """A result goes to the nearest earlier step that waits for it."""
        call = self._call_of(came)
        if isinstance(call, AmbiguousResult):
            return call
        if call is None:
            self._stray(came, message)
            return None
        del self._waiting[call.call.legacy][call.key]
        if call.call.call_id is not None:
            self._by_id[call.call.call_id].pop()
        result = _Result(index=came.index, key=call.key, text=came.text)
        if call.turn == len(self._turns) - 1:
            self._turns[-1].items.append(result)
            return None
        failure = ResultAfterTurn(index=came.index, call_id=call.call.call_id, call_index=call.index)
        detail = call.call.call_id or call.call.name
        self._ledger.settle(self._ledger.options.late_result, failure, NoteKind.LATE_RESULT_MOVED, detail)
        self._turns[call.turn].late.append(result)
        return None

    def _call_of(self, came: ResultCame) -> _Call | AmbiguousResult | None:
        if came.call_id is not None:
            stack = self._by_id.get(came.call_id)
            return stack[-1] if stack else None
        waiting = self._waiting[came.legacy]
        if not waiting:
            return None
        step = list[_Call]()
        for call in reversed(waiting.values()):
            if step and call.index != step[0].index:
                break
            step.append(call)
        fitting = [call for call in step if came.name in (None, call.call.name)]
        if len(fitting) > 1:
            return AmbiguousResult(index=came.index, waiting=len(fitting))
        return fitting[0] if fitting else None

    def _stray(self, came: ResultCame, message: Mapping[str, JsonValue]) -> None:
        choice = self._ledger.options.stray_result
        if came.call_id is not None and came.call_id in self._by_id:
            self._ledger.settle(
                choice,
                SecondResult(index=came.index, call_id=came.call_id),
                NoteKind.STRAY_RESULT_UNPLACED,
                came.call_id,
            )
        else:
            self._ledger.settle(
                choice,
                ResultWithoutCall(index=came.index, call_id=came.call_id),
                NoteKind.STRAY_RESULT_UNPLACED,
                came.call_id or came.name or "",
            )
        if choice is Unplaced.AS_AUDIT:
            self._turns[-1].items.append(kept_whole(came.index, "stray_result", message))

    def events(self, error: ErrorResponse | None) -> "Woven":
        """Every turn as events; what no turn can be settled in the ledger."""
        unanswered = {key for waiting in self._waiting.values() for key in waiting}
        writer = _Writer(self._ledger)
        for place, turn in enumerate(self._turns):
            is_last = place == len(self._turns) - 1
            writer.turn(turn, unanswered, is_last=is_last, error=error if is_last else None)
        return Woven(
            events=tuple(writer.events), open_turn=writer.open_turn, unanswered_calls=len(unanswered)
        )


@final
@attrs.frozen(kw_only=True)
class Woven:
    """The events of a conversation, good only if the ledger holds no failure.

    Attributes:
        events: in order.
        open_turn: the last turn, where it was left open.
        unanswered_calls: calls whose recorded outcome is `UNKNOWN_OUTCOME`.
    """

    events: tuple[SessionEvent, ...]
    open_turn: TurnId | None
    unanswered_calls: int


@final
class _Writer:
    """Numbers and names the events; ids come from message indexes, so that equal files give equal logs."""

    def __init__(self, ledger: Ledger) -> None:
        self.events = list[SessionEvent]()
        self.open_turn: TurnId | None = None
        self._ledger = ledger
        self._session_id: SessionId = ledger.options.session_id
        self._turn_id = TurnId("")

    def turn(self, turn: _Turn, unanswered: set[_Key], *, is_last: bool, error: ErrorResponse | None) -> None:
        """One turn: audits from before it, the user, the work, late and lost outcomes, reply, terminal."""
        self._turn_id = TurnId(f"turn-{turn.said.index}")
        ids = dict(_runtime_ids(self._ledger, turn.calls))
        place = turn.reply_place
        work = turn.items if place is None else turn.items[:place]
        for audit in turn.front:
            self._audit(audit)
        self._event(f"m{turn.said.index}.user", UserMessageEvent(text=turn.said.text))
        for item in (*work, *turn.late):
            self._item(item, ids)
        self._lost([call for call in turn.calls if call.key in unanswered], ids)
        if place is not None:
            reply = turn.items[place]
            assert isinstance(reply, _Text), "that is what a reply is"
            message_id = MessageId(f"m{reply.index}")
            self._event(f"m{reply.index}.reply", AssistantReply(text=reply.text), message_id)
            for after in turn.items[place + 1 :]:
                self._item(after, ids)
        self._end(turn, is_last=is_last, error=error)

    def _item(self, item: _Item, ids: Mapping[_Key, ToolCallId]) -> None:
        match item:
            case _Text():
                self._interim(item)
            case _Call(index=index, call=read):
                call = ToolCall(id=ids[item.key], name=read.name, arguments=read.arguments)
                self._event(f"m{index}.call{read.position}", ToolCallEvent(call=call))
            case _Result(index=index, key=key, text=text):
                result = ToolResult(call_id=ids[key], outcome=ToolSucceeded(output=text))
                self._event(f"m{index}.result", ToolResultEvent(result=result))
            case Audit():
                self._audit(item)
            case _:
                assert_never(item)

    def _interim(self, item: _Text) -> None:
        options, shown = self._ledger.options, shortened(item.text)
        if item.beside_calls:
            beside = TextBesideCalls(index=item.index, actual=shown)
            self._ledger.settle(options.text_beside_calls, beside, NoteKind.TEXT_AS_DELTA, shown)
        else:
            earlier = EarlierText(index=item.index, actual=shown)
            self._ledger.settle(options.earlier_text, earlier, NoteKind.EARLIER_TEXT_AS_DELTA, shown)
        self._event(f"m{item.index}.text", AssistantDelta(text=item.text))

    def _lost(self, calls: Iterable[_Call], ids: Mapping[_Key, ToolCallId]) -> None:
        for call in calls:
            name = call.call.name
            failure = CallWithoutResult(index=call.index, call_id=call.call.call_id, name=shortened(name))
            choice = self._ledger.options.unanswered_call
            self._ledger.settle(choice, failure, NoteKind.OUTCOME_UNKNOWN, call.call.call_id or name)
            result = ToolResult(call_id=ids[call.key], outcome=UNKNOWN_OUTCOME)
            event_id = f"m{call.index}.call{call.call.position}.lost"
            self._event(event_id, ToolResultEvent(result=result))

    def _end(self, turn: _Turn, *, is_last: bool, error: ErrorResponse | None) -> None:
        index, replied = turn.said.index, turn.reply_place is not None
        end = f"m{index}.end"
        if error is not None:
            kind = NoteKind.ERROR_RESPONSE_AFTER_REPLY if replied else NoteKind.ERROR_RESPONSE_ENDS_TURN
            self._ledger.note(kind, index, f"{error.code}: {error.message}")
        if replied:
            self._event(end, DoneEvent(status=DoneStatus.COMPLETED))
        elif error is not None:
            self._event(end, ErrorEvent(code=error.code, message=error.message, retryable=False))
        elif self._stays_open(turn, is_last=is_last):
            self.open_turn = self._turn_id
        else:
            self._event(end, DoneEvent(status=DoneStatus.CANCELLED))

    def _stays_open(self, turn: _Turn, *, is_last: bool) -> bool:
        """What becomes of a turn without a reply; one that is refused is written as if cancelled."""
        index = turn.said.index
        choice = self._ledger.options.unanswered_turn
        can_stay_open = is_last and turn.is_only_user
        may_stay_open = choice in (UnansweredTurn.OPEN_LAST, UnansweredTurn.CANCELLED_OPEN_LAST)
        if can_stay_open and may_stay_open:
            self._ledger.note(NoteKind.LAST_TURN_OPEN, index, self._turn_id)
            return True
        effective = UnansweredTurn.REFUSE if choice is UnansweredTurn.OPEN_LAST else choice
        failure = TurnWithoutReply(index=index, can_stay_open=can_stay_open)
        self._ledger.settle(effective, failure, NoteKind.TURN_CANCELLED, self._turn_id)
        return False

    def _audit(self, audit: Audit) -> None:
        kind = CustomEvent(plugin="jingwei", kind=f"openai_chat.{audit.kind}", payload=audit.payload)
        self._event(f"m{audit.index}.audit{len(self.events)}", kind)

    def _event(self, event_id: str, kind: EventKind, message_id: MessageId | None = None) -> None:
        self.events.append(
            SessionEvent(
                event_id=EventId(event_id),
                session_id=self._session_id,
                turn_id=self._turn_id,
                message_id=message_id,
                seq=len(self.events),
                kind=kind,
            )
        )


def _runtime_ids(ledger: Ledger, calls: Sequence[_Call]) -> Iterator[tuple[_Key, ToolCallId]]:
    """An id for each call of one turn, unique in it (P4): its own where no earlier call has it.

    A repeated or missing id gets one made from the message index, which no call of the turn has.
    """
    taken = {call.call.call_id for call in calls}
    used = set[str]()
    for call in calls:
        own = call.call.call_id
        if own is not None and own not in used:
            used.add(own)
            yield call.key, ToolCallId(own)
            continue
        made = f"{own or 'call'}#{call.index}"
        if own is None:
            made += f".{call.call.position}"
        while made in taken or made in used:
            made += "#"
        used.add(made)
        if own is not None:
            ledger.note(NoteKind.CALL_ID_RENAMED, call.index, f"{own} -> {made}")
        yield call.key, ToolCallId(made)
