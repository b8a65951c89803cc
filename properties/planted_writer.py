"""Planted bugs of writing and recovery (rules L3 and L4); see `planted.py`."""

from typing import Final

from properties.planted import Planted

WRITER: Final = "jingwei/events/writer.py"
WIRE: Final = "jingwei/events/wire.py"
RECOVERY: Final = "jingwei/events/recovery.py"

L3: Final = "properties/test_writer.py::TestWritingL3::"
L4: Final = "properties/test_writer.py::TestRecoveryL4::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "L3",
        "a reply is written while a call is open",
        WRITER,
        "    if not isinstance(kind, AssistantReply | DoneEvent | ErrorEvent):\n",
        "    if not isinstance(kind, DoneEvent | ErrorEvent):\n",
        f"{L3}test_what_projects_was_written_and_what_is_written_can_project",
    ),
    Planted(
        "L3",
        "a turn is begun while the one before is only replied to",
        WRITER,
        "if before is not None and before.state is not TurnState.CLOSED:",
        "if before is not None and before.state not in {TurnState.CLOSED, TurnState.REPLIED}:",
        f"{L3}test_what_projects_was_written_and_what_is_written_can_project",
    ),
    Planted(
        "L3",
        "an open model request does not keep a turn from ending",
        WRITER,
        "return len(self.tool_calls) > tools or len(self.model_calls) > models",
        "return len(self.tool_calls) > tools and len(self.model_calls) >= models",
        f"{L3}test_what_projects_was_written_and_what_is_written_can_project",
    ),
    Planted(
        "L3",
        "a cancelled turn needs a reply as well",
        WRITER,
        "succeeds = isinstance(kind, DoneEvent) and kind.status is not DoneStatus.CANCELLED",
        "succeeds = isinstance(kind, DoneEvent)",
        f"{L3}test_what_projects_was_written_and_what_is_written_can_project",
    ),
    Planted(
        "L3",
        "a message id may be written twice",
        WRITER,
        "        message_ids = message_ids.extended({event.message_id: None})\n",
        "        message_ids = message_ids\n",
        f"{L3}test_no_id_is_written_twice_however_far",
    ),
    Planted(
        "L3",
        "a turn that is over may be begun again",
        WRITER,
        "        turn_ids = turn_ids.extended({turn.turn_id: None})\n",
        "        turn_ids = turn_ids if turn_ids else turn_ids.extended({turn.turn_id: None})\n",
        f"{L3}test_damaged_turns_are_kept_where_the_host_says_so",
    ),
    Planted(
        "L3",
        "a refusal names the turn of the event and not the one that is open",
        WRITER,
        "turn_id=event.turn_id if turn is None else turn.turn_id,",
        "turn_id=event.turn_id,",
        f"{L3}test_the_first_event_that_cannot_be_right_is_refused",
    ),
    Planted(
        "L3",
        "an event is written that makes the log unreadable",
        WRITER,
        "        if unread is not None:\n",
        '        if unread is not None and unread.reason.value != "out_of_range":\n',
        f"{L3}test_whatever_is_offered_the_log_can_be_read",
    ),
    Planted(
        "L3",
        "of texts alone half a surrogate pair is not seen",
        WIRE,
        "if not isinstance(utf8(ids + _kind_text(event.kind)), EncodeFailed):",
        "if ids:",
        f"{L3}test_what_is_written_is_read_back_and_what_is_not_could_not_be",
    ),
    Planted(
        "L3",
        "free JSON that would be read as another text is written",
        WIRE,
        "    if canonical(value) == free.text:\n",
        "    if canonical(value) == free.text.replace(' ', ''):\n",
        f"{L3}test_free_json_is_written_where_it_is_read_back",
    ),
    Planted(
        "L4",
        "model requests are left open",
        RECOVERY,
        "for c in model_calls],",
        "for c in model_calls[1:]],",
        f"{L4}test_a_log_that_was_cut_off_anywhere_projects_again",
    ),
    Planted(
        "L4",
        "the newest open call is closed first",
        RECOVERY,
        "for call in tool_calls],\n        *[ModelResultEvent",
        "for call in tool_calls[::-1]],\n        *[ModelResultEvent",
        f"{L4}test_what_is_unknown_is_said_and_nothing_else",
    ),
    Planted(
        "L4",
        "a question that waits for its answer is closed",
        RECOVERY,
        "return turn.event_count == 1 and isinstance(log.events[-1].kind, UserMessageEvent)",
        "return turn.event_count == 1 and not isinstance(log.events[-1].kind, UserMessageEvent)",
        f"{L4}test_a_log_that_was_cut_off_anywhere_projects_again",
    ),
    Planted(
        "L4",
        "damage in the last turn is overlooked where earlier turns are kept",
        RECOVERY,
        "if resumed.damage is not None:",
        "if resumed.damage is not None and resumed.damage.seq == 0:",
        f"{L4}test_a_damaged_last_turn_gets_its_end_and_no_result",
    ),
    Planted(
        "L4",
        "a damaged turn that has its end gets another one",
        RECOVERY,
        "if any(isinstance(kind, DoneEvent | ErrorEvent) for kind in kinds):",
        "if any(isinstance(kind, ErrorEvent) for kind in kinds):",
        f"{L4}test_what_is_damaged_is_closed_all_the_same",
    ),
    Planted(
        "L4",
        "of a damaged turn answered calls are told as open",
        RECOVERY,
        "            called.pop(kind.result.call_id, None)\n",
        "            called.get(kind.result.call_id)\n",
        f"{L4}test_a_damaged_last_turn_gets_its_end_and_no_result",
    ),
    Planted(
        "L4",
        "the mark does not say why",
        RECOVERY,
        '"reason": ABANDONED,',
        '"reason": RECOVERY_KIND,',
        f"{L4}test_what_is_unknown_is_said_and_nothing_else",
    ),
)
