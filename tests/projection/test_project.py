"""The projection (P1 to P12). P numbers with a letter are those of the acceptance cases."""

from collections.abc import Sequence

import pytest

from jingwei.events.failures import DuplicateEventId, WrongSequence, WrongSession
from jingwei.events.records import SessionLog
from jingwei.events.turns import MalformedReason
from jingwei.events.wire import decode_log, encode_log, log_bytes, session_log
from jingwei.ids import EventId, ModelCallId, ProviderCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import Json, parse
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import ArgumentsNotObject
from jingwei.messages.records import (
    AssistantMessage,
    ModelMessage,
    ModelToolCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import message_bytes
from jingwei.outcome import Failure
from jingwei.projection.failures import (
    InvalidConfig,
    InvalidConfigReason,
    Malformed,
    MissingReply,
    ProjectionFailure,
    Unconfirmed,
)
from jingwei.projection.project import project
from jingwei.projection.records import (
    GroupKind,
    LegacyReplies,
    Omission,
    OmissionReason,
    ProjectedState,
    Projection,
    ProjectionConfig,
)
from jingwei.projection.wire import encode_projection
from tests.logtable import SESSION, events_of, log_of, renumbered

ONE = TurnId("one")
TWO = TurnId("two")
OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)


def projected(table: str, config: ProjectionConfig | None = None) -> Projection:
    return project(SESSION, log_of(table), config or ProjectionConfig()).unwrap()


def exchange(seq: int, call_id: str, content: str) -> tuple[ModelMessage, ModelMessage]:
    synthetic = ProviderCallId(f"jw_tool_{seq}")
    asked = ModelToolCall(id=synthetic, name="lookup", arguments=Json(f'{{"key":"{call_id}"}}'))
    return AssistantMessage(tool_calls=(asked,)), ToolMessage(call_id=synthetic, content=content)


OK = '{"status":"succeeded","output":"untrusted tool data"}'
FAILED = (
    '{"status":"failed","category":"body_failure","code":"body_failed",'
    '"message":"unknown side effect","retryable":true}'
)


# --- identical snapshots (P01) ------------------------------------------------------------------

P01 = 'user; delta; reply "final revision"; done'


def test_p01a_the_same_log_gives_the_same_bytes_also_from_the_wire() -> None:
    log = log_of(P01)
    first = encode_projection(project(SESSION, log).unwrap())

    for _ in range(20):
        log = decode_log(encode_log(log.events).unwrap()).unwrap()

        assert first == encode_projection(project(SESSION, log).unwrap())


def test_p01b_deltas_are_no_messages() -> None:
    expected = (UserMessage(content="question"), AssistantMessage(content="final revision"))

    assert expected == tuple(projected(P01).messages)


def test_p01c_groups_name_their_sources_and_the_input_stays_as_it_was() -> None:
    log = log_of(P01)
    before = encode_log(log.events)
    found = project(SESSION, log).unwrap()
    user, reply = found.groups

    assert (EventId("event-0"),) == user.source_events
    assert (EventId("event-2"),) == reply.source_events
    assert (
        Omission(event_id=EventId("event-1"), seq=1, reason=OmissionReason.STREAM_DELTA),
        Omission(event_id=EventId("event-3"), seq=3, reason=OmissionReason.AUDIT),
    ) == found.omitted
    assert before == encode_log(log.events)


def test_p02_empty_and_waiting_replies_stay_and_turns_do_not_merge() -> None:
    found = projected('user; reply ""; done; turn two; user; reply "clarify?"; done waiting_for_input')
    groups = list(found.groups)

    assert 4 == found.message_count == len(tuple(found.messages))
    assert (AssistantMessage(content=""),) == groups[1].messages
    assert [ONE, TWO] == [turn.turn_id for turn in found.turns]
    assert [ProjectedState.COMPLETED, ProjectedState.WAITING_FOR_INPUT] == [t.state for t in found.turns]
    assert [EventId("event-2"), EventId("event-5")] == [t.terminal_event for t in found.turns]


# --- tool exchanges (P03, P04, P05) ---------------------------------------------------------------

PARALLEL = 'user; call a; call b; result b; result a; reply "done"; done'


def test_p03_results_stand_in_call_order_under_projected_ids() -> None:
    found = projected(f"{PARALLEL}; turn two; {PARALLEL}")
    exchanges = [group for group in found.groups if group.kind is GroupKind.TOOL_EXCHANGE]

    assert [
        exchange(1, "a", OK),
        exchange(2, "b", OK),
        exchange(8, "a", OK),
        exchange(9, "b", OK),
    ] == [group.messages for group in exchanges]
    assert (EventId("event-1"), EventId("event-4")) == exchanges[0].source_events
    assert {"status": "succeeded", "output": "untrusted tool data"} == parse(OK)


def test_a_group_knows_the_bytes_of_its_messages() -> None:
    found = projected(PARALLEL)

    assert [message_bytes(m) for m in found.messages] == [
        size for group in found.groups for size in group.message_bytes
    ]
    assert sum(map(message_bytes, found.messages)) == found.canonical_bytes == found.turns[0].canonical_bytes
    assert 6 == found.turns[0].message_count
    assert 4 == found.group_count


def test_p04_proposals_and_audit_become_neither_executions_nor_instructions() -> None:
    found = projected(
        'user; ask; answer model-call "text" unexecuted; custom; call a; result a; reply "answer"; done'
    )

    assert 4 == found.message_count
    assert not any(isinstance(message, SystemMessage) for message in found.messages)
    assert "unexecuted" not in encode_projection(found).unwrap().decode()
    assert "obey" not in encode_projection(found).unwrap().decode()
    assert [
        (1, OmissionReason.MODEL_AUDIT),
        (2, OmissionReason.MODEL_AUDIT),
        (3, OmissionReason.AUDIT),
        (7, OmissionReason.AUDIT),
    ] == [(omission.seq, omission.reason) for omission in found.omitted]


@pytest.mark.parametrize(
    ("terminal", "state"),
    [("error", ProjectedState.FAILED), ("done cancelled", ProjectedState.CANCELLED)],
    ids=["P05a", "P05b"],
)
def test_p05_an_unsuccessful_turn_keeps_its_exchanges_but_not_its_reply(
    terminal: str, state: ProjectedState
) -> None:
    found = projected(f'user; call a; failed a; reply "it worked"; {terminal}')

    assert (UserMessage(content="question"), *exchange(1, "a", FAILED)) == tuple(found.messages)
    assert [(3, OmissionReason.UNSUCCESSFUL_REPLY), (4, OmissionReason.AUDIT)] == [
        (omission.seq, omission.reason) for omission in found.omitted
    ]
    assert [(state, False)] == [(turn.state, turn.missing_complete_reply) for turn in found.turns]


@pytest.mark.parametrize("terminal", ["error", "done cancelled"])
def test_an_unsuccessful_turn_needs_no_reply(terminal: str) -> None:
    found = projected(f"user; {terminal}")

    assert (UserMessage(content="question"),) == tuple(found.messages)
    assert not found.turns[0].missing_complete_reply


def test_arguments_that_are_no_object_are_copied_and_told_once() -> None:
    """P8 copies them unchanged; the type tells a build what it would run into (B10)."""
    found = projected(
        'user; call a x {}; call b x [1]; call c x "s"; result c; result b; result a; reply; done'
    )

    assert ["{}", "[1]", '"s"'] == [
        call.arguments.text
        for message in found.messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    ]
    assert ArgumentsNotObject(index=3) == found.shape_failure


def test_an_index_counts_over_all_turns() -> None:
    found = projected("user; reply; done; turn two; user; call a x 5; result a; reply; done")

    assert ArgumentsNotObject(index=3) == found.shape_failure


# --- replies (P06) --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["completed", "waiting_for_input", "checkpointed"])
def test_p06_a_missing_reply_is_refused_unless_the_host_admits_it(status: str) -> None:
    log = log_of(f"user; delta; done {status}")
    admitted = project(SESSION, log, OMIT).unwrap()

    assert Failure(MissingReply(turn_id=ONE)) == project(SESSION, log)
    assert (UserMessage(content="question"),) == tuple(admitted.messages)
    assert [(ProjectedState(status), True)] == [
        (turn.state, turn.missing_complete_reply) for turn in admitted.turns
    ]
    assert [(1, OmissionReason.STREAM_DELTA), (2, OmissionReason.AUDIT)] == [
        (omission.seq, omission.reason) for omission in admitted.omitted
    ]
    assert OMIT == admitted.config


def test_a_reply_is_kept_also_where_missing_ones_are_admitted() -> None:
    assert not projected("user; reply; done", OMIT).turns[0].missing_complete_reply


def test_a_checkpointed_turn_is_successful() -> None:
    found = projected('user; reply "so far"; done checkpointed')

    assert AssistantMessage(content="so far") == tuple(found.messages)[1]
    assert ProjectedState.CHECKPOINTED is found.turns[0].state


# --- unconfirmed work (P07) -----------------------------------------------------------------------


def unconfirmed(
    turn: str, calls: Sequence[str] = (), models: Sequence[str] = (), *, unterminated: bool = True
) -> Unconfirmed:
    return Unconfirmed(
        turn_id=TurnId(turn),
        open_tool_calls=tuple(map(ToolCallId, calls)),
        open_model_calls=tuple(map(ModelCallId, models)),
        unterminated=unterminated,
    )


UNCONFIRMED: list[tuple[str, Unconfirmed]] = [
    ("user; call a", unconfirmed("one", ["a"])),  # P07a
    ("user; ask", unconfirmed("one", [], ["model-call"])),  # P07b
    ("user; reply", unconfirmed("one")),  # P07c
    ("user; delta", unconfirmed("one")),  # P07d
    ("user; custom", unconfirmed("one")),
    ("stage", unconfirmed("one")),
    ("user; turn two; user", unconfirmed("one")),
    ("user; reply; turn two; user; reply; done", unconfirmed("one")),
    ("user; call a; call b; call c; result b", unconfirmed("one", ["a", "c"])),
    ("user; call a; ask k; ask l; unanswered k; done", unconfirmed("one", ["a"], ["l"], unterminated=False)),
    ("user; call a; error", unconfirmed("one", ["a"], unterminated=False)),
    ("user; ask; done cancelled", unconfirmed("one", [], ["model-call"], unterminated=False)),
    ("user; call a; reply; done", unconfirmed("one", ["a"], unterminated=False)),
    ("user; reply; done; turn two; mode", unconfirmed("two")),
]


@pytest.mark.parametrize(("table", "expected"), UNCONFIRMED, ids=[table for table, _ in UNCONFIRMED])
def test_p07_work_without_an_end_is_never_dropped(table: str, expected: Unconfirmed) -> None:
    assert Failure(expected) == project(SESSION, log_of(table))


def test_p07e_a_last_turn_may_hold_its_user_message_alone() -> None:
    found = projected("user; reply; done; turn two; user")

    assert [(ProjectedState.COMPLETED, EventId("event-2")), (ProjectedState.OPEN, None)] == [
        (turn.state, turn.terminal_event) for turn in found.turns
    ]
    assert 3 == found.message_count


def test_p07f_g01_an_empty_log_projects_to_nothing() -> None:
    session = SessionId("example")
    found = project(session, session_log(())).unwrap()

    assert (1, session, 0, None) == (
        found.algorithm_version,
        found.session_id,
        found.source_event_count,
        found.source_tail,
    )
    assert ((), (), 0, 0, 0) == (
        tuple(found.messages),
        tuple(found.turns),
        found.group_count,
        found.message_count,
        found.canonical_bytes,
    )


@pytest.mark.parametrize(
    "table", ["error", "done cancelled", "stage; report; error", "custom; done cancelled"]
)
def test_a_turn_without_a_user_message_projects_to_no_group(table: str) -> None:
    found = projected(table)

    assert 0 == found.group_count
    assert [()] == [turn.groups for turn in found.turns]
    assert [OmissionReason.AUDIT] * found.source_event_count == [o.reason for o in found.omitted]


# --- refusals of one event (P08, P3, P4) ----------------------------------------------------------

CLOSED = "user; reply; done"

MALFORMED: list[tuple[str, int, MalformedReason]] = [
    ("user; result a; done", 1, MalformedReason.ORPHAN_TOOL_RESULT),  # P08a
    ("user; call a; call a", 2, MalformedReason.REPEATED_CALL_ID),  # P08b
    ("user; call a; result a; result a", 3, MalformedReason.SECOND_TOOL_RESULT),  # P08c
    ("user; answer", 1, MalformedReason.ORPHAN_MODEL_RESULT),  # P08d
    ("user; ask; ask", 2, MalformedReason.REPEATED_MODEL_CALL_ID),  # P08e
    ("user; ask; answer; ask", 3, MalformedReason.REPEATED_MODEL_CALL_ID),
    ("user; ask; answer; unanswered", 3, MalformedReason.SECOND_MODEL_RESULT),
    ('user; reply "a"; reply "b"', 2, MalformedReason.SECOND_REPLY),  # P08f
    ("user; reply; done; result a", 3, MalformedReason.AFTER_TERMINAL),  # P08g
    ("user; user", 1, MalformedReason.SECOND_USER_MESSAGE),  # P08h
    (f"{CLOSED}; turn two; user; result a", 4, MalformedReason.ORPHAN_TOOL_RESULT),  # P08i
    (f"{CLOSED}; turn two; {CLOSED}; turn one; user", 6, MalformedReason.TURN_NOT_CONTIGUOUS),  # P08j
    ("user; reply r -; done", 1, MalformedReason.REPLY_WITHOUT_MESSAGE_ID),  # P09d
    ('user; reply r " "; done', 1, MalformedReason.BLANK_MESSAGE_ID),
    ("user; reply a m; done; turn two; user; reply b m; done", 4, MalformedReason.REPEATED_MESSAGE_ID),
    ('turn " "; user', 0, MalformedReason.BLANK_TURN_ID),
    (f'{CLOSED}; turn ""; user; reply; done', 3, MalformedReason.BLANK_TURN_ID),
    ('user id="\\t"', 0, MalformedReason.BLANK_EVENT_ID),
    ('user; call ""', 1, MalformedReason.BLANK_CALL_ID),
    ('user; call a " "', 1, MalformedReason.BLANK_CALL_NAME),
    ('user; ask ""', 1, MalformedReason.BLANK_MODEL_CALL_ID),
    ("delta; user", 0, MalformedReason.WORK_BEFORE_USER),
    ("reply; user", 0, MalformedReason.WORK_BEFORE_USER),
    ("custom; call a", 1, MalformedReason.WORK_BEFORE_USER),
    ("stage; ask", 1, MalformedReason.WORK_BEFORE_USER),
    ("result a", 0, MalformedReason.ORPHAN_TOOL_RESULT),
    ("user; call a; reply; result a; done", 3, MalformedReason.WORK_AFTER_REPLY),
    ("user; reply; delta", 2, MalformedReason.WORK_AFTER_REPLY),
    ("user; reply; custom; report; user", 4, MalformedReason.WORK_AFTER_REPLY),
    ("user; error; done", 2, MalformedReason.AFTER_TERMINAL),
    ("user; done cancelled; custom", 2, MalformedReason.AFTER_TERMINAL),
]


@pytest.mark.parametrize(("table", "seq", "reason"), MALFORMED, ids=[table for table, _, _ in MALFORMED])
def test_p08_an_event_that_cannot_stand_there_is_told_with_its_reason(
    table: str, seq: int, reason: MalformedReason
) -> None:
    log = log_of(table)
    expected = Malformed(
        event_id=log.events[seq].event_id, seq=seq, turn_id=log.events[seq].turn_id, reason=reason
    )

    assert Failure(expected) == project(SESSION, log)


def test_audit_events_may_follow_the_reply() -> None:
    found = projected('user; reply "x"; report; stage; mode; plan; custom; done')

    assert 2 == found.message_count
    assert [2, 3, 4, 5, 6, 7] == [omission.seq for omission in found.omitted]


def test_call_ids_recur_in_another_turn() -> None:
    assert (
        8
        == projected(
            "user; call a; result a; reply; done; turn two; user; call a; result a; reply; done"
        ).message_count
    )


# --- the physical log (P09) -----------------------------------------------------------------------


def test_p09_physical_order_and_identity_are_not_repaired() -> None:
    base = events_of(CLOSED)
    swapped = (base[1], base[0], base[2])
    other = SessionId("other")

    assert Failure(WrongSequence(physical_index=1, expected=1, actual=9)) == project(
        SESSION, log_of("user; reply seq=9; done")
    )
    assert Failure(WrongSession(physical_index=1, expected=SESSION, actual=other)) == project(
        SESSION, log_of("user; reply session=other; done")
    )
    assert Failure(DuplicateEventId(physical_index=1, event_id=EventId("event-0"))) == project(
        SESSION, log_of("user; reply id=event-0; done")
    )
    assert Failure(WrongSequence(physical_index=0, expected=0, actual=1)) == project(
        SESSION, session_log(swapped)
    )
    assert isinstance(project(SESSION, session_log(renumbered(swapped))), Failure)


# --- configuration and bounds (P10, P2) -----------------------------------------------------------

P10 = 'user; call a; result a; reply "a"; done'


def limit(what: Bound, bound: int, actual: int) -> LimitExceeded:
    return LimitExceeded(what=what, limit=bound, actual=actual)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (ProjectionConfig(max_events=4), limit(Bound.EVENTS, 4, 5)),
        (ProjectionConfig(max_input_bytes=726), limit(Bound.INPUT_BYTES, 726, 727)),
        (ProjectionConfig(max_messages=2), limit(Bound.MESSAGES, 2, 3)),
        (ProjectionConfig(max_messages=3), limit(Bound.MESSAGES, 3, 4)),
        (ProjectionConfig(max_events=4, max_input_bytes=1), limit(Bound.EVENTS, 4, 5)),
        (ProjectionConfig(max_input_bytes=726, max_messages=1), limit(Bound.INPUT_BYTES, 726, 727)),
    ],
    ids=["P10a", "P10b", "P10c", "one below", "events first", "bytes before messages"],
)
def test_p10_bounds_cover_the_whole_input(config: ProjectionConfig, expected: LimitExceeded) -> None:
    assert Failure(expected) == project(SESSION, log_of(P10), config)


def test_p10d_a_bound_that_is_met_exactly_is_kept() -> None:
    config = ProjectionConfig(max_events=5, max_input_bytes=727, max_messages=4)
    found = project(SESSION, log_of(P10), config).unwrap()

    assert 4 == found.message_count
    assert config == found.config


def test_an_exchange_that_passes_the_bound_passes_it_whole() -> None:
    """Two messages are added at once: the running total told is the one after both."""
    log = log_of("user; call a; result a; reply; done")

    assert Failure(limit(Bound.MESSAGES, 1, 3)) == project(SESSION, log, ProjectionConfig(max_messages=1))


def test_input_bytes_are_those_of_the_canonical_form_and_count_audit_payloads() -> None:
    log = log_of("user; custom; report; ask; answer; reply; done")
    config = ProjectionConfig(max_input_bytes=log_bytes(log) - 1)

    assert len(encode_log(log.events).unwrap()) == log_bytes(log) + 7
    assert Failure(limit(Bound.INPUT_BYTES, log_bytes(log) - 1, log_bytes(log))) == project(
        SESSION, log, config
    )


CONFIGS: list[tuple[str, ProjectionConfig, InvalidConfigReason]] = [
    ("", ProjectionConfig(), InvalidConfigReason.BLANK_SESSION_ID),
    (" \n", ProjectionConfig(max_events=0), InvalidConfigReason.BLANK_SESSION_ID),
    ("session", ProjectionConfig(max_events=0, max_messages=0), InvalidConfigReason.ZERO_MAX_EVENTS),
    ("session", ProjectionConfig(max_events=-1), InvalidConfigReason.ZERO_MAX_EVENTS),
    ("session", ProjectionConfig(max_input_bytes=0), InvalidConfigReason.ZERO_MAX_INPUT_BYTES),
    ("session", ProjectionConfig(max_messages=0), InvalidConfigReason.ZERO_MAX_MESSAGES),
]


@pytest.mark.parametrize(("session", "config", "reason"), CONFIGS)
def test_a_blank_session_or_a_limit_of_zero_is_refused_before_the_log_is_looked_at(
    session: str, config: ProjectionConfig, reason: InvalidConfigReason
) -> None:
    assert Failure(InvalidConfig(reason=reason)) == project(SessionId(session), log_of("user seq=9"), config)


PRECEDENCE: list[tuple[str, ProjectionConfig, ProjectionFailure]] = [
    # A limit wins over a physical failure.
    ("user; user seq=9", ProjectionConfig(max_events=1), limit(Bound.EVENTS, 1, 2)),
    ("user seq=9", ProjectionConfig(max_input_bytes=1), limit(Bound.INPUT_BYTES, 1, 118)),
    # A physical failure wins over a turn's, wherever it stands.
    (
        "user; user; done seq=9",
        ProjectionConfig(),
        WrongSequence(physical_index=2, expected=2, actual=9),
    ),
    # An event's failure over the turn's, a turn's work over its reply, its reply over the next turn.
    (
        "user; call a; result b; done",
        ProjectionConfig(),
        Malformed(event_id=EventId("event-2"), seq=2, turn_id=ONE, reason=MalformedReason.ORPHAN_TOOL_RESULT),
    ),
    ("user; call a; done", ProjectionConfig(), unconfirmed("one", ["a"], unterminated=False)),
    ("user; done; turn two; user; user", ProjectionConfig(), MissingReply(turn_id=ONE)),
    ("user; done; turn two; user", ProjectionConfig(max_messages=1), MissingReply(turn_id=ONE)),
    # Messages are counted turn by turn.
    (
        "user; reply; done; turn two; user; user",
        ProjectionConfig(max_messages=1),
        limit(Bound.MESSAGES, 1, 2),
    ),
]


@pytest.mark.parametrize(("table", "config", "expected"), PRECEDENCE)
def test_which_failure_is_told_when_several_could_be(
    table: str, config: ProjectionConfig, expected: ProjectionFailure
) -> None:
    assert Failure(expected) == project(SESSION, log_of(table), config)


# --- the whole record (P11) -----------------------------------------------------------------------


def test_p11_what_a_projection_holds() -> None:
    log = log_of("user; call a; delta; result a; ask; unanswered; reply; report; done; turn two; error")
    found = project(SESSION, log).unwrap()
    kept = [source for group in found.groups for source in group.source_events]

    assert (10, EventId("event-9"), SESSION) == (
        found.source_event_count,
        found.source_tail,
        found.session_id,
    )
    assert found.sources == tuple(turn.sources for turn in found.turns)
    assert tuple(kept) == found.sources[0].source_events
    assert () == found.sources[1].source_events
    assert sorted([e.event_id for e in log.events]) == sorted([*kept, *(o.event_id for o in found.omitted)])
    assert sorted({o.seq for o in found.omitted}) == [o.seq for o in found.omitted]


def test_p12_the_log_in_hand_and_the_log_from_bytes_project_alike() -> None:
    log = log_of(f"{PARALLEL}; turn two; user")
    read = decode_log(encode_log(log.events).unwrap()).unwrap()

    assert log == read
    assert project(SESSION, log) == project(SESSION, read)


def test_a_bound_that_does_not_decide_is_measured() -> None:
    """What `SessionLog` knows of its size is an upper bound; the exact sum has the last word."""
    log = log_of(CLOSED)
    loose = SessionLog(events=log.events, bytes_at_most=10**9)
    size = log_bytes(log)

    assert project(SESSION, log) == project(SESSION, loose)
    assert Failure(limit(Bound.INPUT_BYTES, size - 1, size)) == project(
        SESSION, loose, ProjectionConfig(max_input_bytes=size - 1)
    )
