"""Planted bugs for the projection that grows (P13) and for quarantine (P14)."""

_ADVANCE, _VIEW = "jingwei/projection/advance.py", "jingwei/projection/view.py"
_TURN, _PERSISTENT = "jingwei/projection/turn.py", "jingwei/persistent.py"

_P13 = "properties/test_incremental.py::TestIncrementalP13"
_P14 = "properties/test_incremental.py::TestQuarantineP14"

ROWS = (
    (
        "P13",
        "a bound on the size of a piece is taken for its size",
        _ADVANCE,
        "(piece.bytes_at_most if piece.measured else log_bytes(piece))",
        "piece.bytes_at_most",
        f"{_P13}::test_the_pieces_leave_no_trace",
    ),
    (
        "P13",
        "a state that has failed no longer looks at physical order",
        _ADVANCE,
        "    if failed.failure is not None:",
        "    if failed.failure is not None or state.refused is not None:",
        f"{_P13}::test_a_failed_state_counts_on",
    ),
    (
        "P13",
        "event ids of earlier pieces are forgotten",
        _ADVANCE,
        "    known = state.event_ids if state.event_ids.meets(new_ids) else ()",
        "    known = ()",
        f"{_P13}::test_ids_of_all_earlier_pieces_count",
    ),
    (
        "P13",
        "what breaks at the end of a turn is said for good too early",
        _ADVANCE,
        "        if turn.state is not TurnState.CLOSED or self._end(turn, is_last=True) is None:",
        "        failure = self._end(turn, is_last=True) if turn.state is TurnState.CLOSED else None\n"
        "        if failure is not None:\n"
        "            return failure\n"
        "        if failure is None:",
        f"{_P13}::test_a_failure_at_the_end_gives_way_to_a_bad_event",
    ),
    (
        "P13",
        "an exchange is final although an earlier call is open",
        _TURN,
        "            if asked is None or answer is None:\n                break\n",
        "            if asked is None or answer is None:\n"
        "                self._settled += 1\n"
        "                continue\n",
        f"{_P13}::test_every_cut",
    ),
    (
        "P13",
        "a running turn is counted among the events of its history",
        _VIEW,
        "projection(self.emitted, turn.start, turn.before)",
        "projection(self.emitted, self.state.event_count, self.state.source_tail)",
        f"{_P13}::test_what_a_running_turn_says",
    ),
    (
        "P13",
        "a table loses the run that a larger one swallows",
        _PERSISTENT,
        "            run = kept.pop() | run  #",
        "            kept.pop()  #",
        f"{_P13}::test_ids_of_all_earlier_pieces_count",
    ),
    (
        "P14",
        "a last turn that may go on is left out",
        _ADVANCE,
        "(unconfirmed is not None and not may_go_on)",
        "unconfirmed is not None",
        f"{_P14}::test_which_turns_it_takes",
    ),
    (
        "P14",
        "a last turn that has its end over an open call is waited for",
        _ADVANCE,
        "may_go_on = is_last and unconfirmed is not None and unconfirmed.unterminated",
        "may_go_on = is_last and unconfirmed is not None",
        f"{_P14}::test_which_turns_it_takes",
    ),
    (
        "P14",
        "the verdict on a closed last turn waits for the next turn",
        _ADVANCE,
        "        if self._quarantines and damaged:\n",
        "        if self._quarantines and damaged and (unconfirmed is None or not is_last):\n",
        f"{_P14}::test_what_it_says_of_a_closed_last_turn_stands",
    ),
    (
        "P14",
        "the reply of a turn that is left out uses up its message id",
        _ADVANCE,
        "            return _Closed(turn=turn.quarantined(), omitted=turn.all_omitted())",
        "            return _Closed(\n"
        "                turn=turn.quarantined(), omitted=turn.all_omitted(), message_id=turn.message_id\n"
        "            )",
        f"{_P14}::test_its_message_id_is_free",
    ),
    (
        "P14",
        "only the events from the first bad one on are left out",
        _TURN,
        "        self.damaged = True\n",
        "        if not self.damaged:\n            self._events.clear()\n        self.damaged = True\n",
        f"{_P14}::test_the_other_turns_are_as_they_were",
    ),
    (
        "P14",
        "a turn is final at its end, although a further event may damage it",
        _ADVANCE,
        "        if self._quarantines:\n            return None\n",
        "        if self._quarantines and turn.state is TurnState.CLOSED:\n"
        "            self._end(turn, is_last=True)\n"
        "        if self._quarantines:\n            return None\n",
        f"{_P14}::test_a_turn_is_final_only_when_the_next_one_begins",
    ),
)
