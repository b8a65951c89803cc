"""The projection (P1 to P12): what a log means for a model, and `diagnose` (B10): what is wrong with it."""

import copy
import itertools
from collections import Counter

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jingwei.events import records as r
from jingwei.events.records import EventKind, SessionEvent, SessionLog
from jingwei.events.recovery import close_abandoned
from jingwei.events.turns import (
    ALL_KINDS,
    REFUSED,
    TURN_TABLE,
    MalformedReason,
    TurnState,
)
from jingwei.events.wire import event_bytes, log_bytes, session_log
from jingwei.events.writer import EarlierTurns, NumberedIds
from jingwei.ids import EventId, MessageId, ModelCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.failures import ArgumentsNotObject
from jingwei.messages.records import AssistantMessage, GenerationRequest, SystemMessage, ToolMessage
from jingwei.messages.shape import check_shape
from jingwei.messages.wire import message_bytes
from jingwei.outcome import Failure, Success
from jingwei.projection.diagnose import Diagnosis, WayOut, diagnose
from jingwei.projection.failures import Malformed, MissingReply, ProjectionFailure, Unconfirmed
from jingwei.projection.project import project
from jingwei.projection.records import (
    DEFAULT_CONFIG,
    DamagedTurns,
    GroupKind,
    LegacyReplies,
    OmissionReason,
    ProjectedState,
    Projection,
    ProjectionConfig,
)
from jingwei.projection.wire import encode_projection
from jingwei.testing import strategies as some
from jingwei.testing.strategies import SESSION
from properties.models import (
    DEFAULTS,
    Plain,
    model_outcome_of,
    model_violations,
    plain_config,
    plain_event,
    plain_failure,
    plain_outcome,
    plain_outcome_of,
    plain_text,
    written,
)

OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)


def projected(log: SessionLog, config: ProjectionConfig = DEFAULT_CONFIG) -> Projection:
    return project(SESSION, log, config).unwrap()


def failure_of(log: SessionLog, config: ProjectionConfig = DEFAULT_CONFIG) -> ProjectionFailure:
    return project(SESSION, log, config).failure()


def reason_of(*rows: str) -> str:
    """The reason why the last of these events is malformed."""
    failure = failure_of(written(*rows))
    assert isinstance(failure, Malformed), failure
    assert len(rows) - 1 == failure.seq
    return failure.reason.value


def configs() -> st.SearchStrategy[ProjectionConfig]:
    """Any configuration, bounds near what drawn logs hold and now and then zero."""
    return st.builds(
        ProjectionConfig,
        legacy_replies=st.sampled_from(LegacyReplies),
        damaged_turns=st.sampled_from(DamagedTurns),
        max_events=st.integers(0, 12) | st.just(100_000),
        max_input_bytes=st.integers(0, 4000) | st.just(10**9),
        max_messages=st.integers(0, 8) | st.just(50_000),
    )


class TestProjectP1:
    """P1. A projection is made of a session id, a log and a configuration, which by default refuses
    successful turns without a reply and bounds events to 100,000, input to 16 MiB, messages to 50,000.
    """

    def test_the_defaults(self) -> None:
        """The numbers of the rule."""
        assert DEFAULTS == plain_config(DEFAULT_CONFIG) == plain_config(ProjectionConfig())

    @given(some.logs())
    def test_the_naive_model_agrees_by_default(self, log: SessionLog) -> None:
        """Any log under the default configuration: the same projection or the same failure."""
        expected = model_outcome_of(SESSION, log, DEFAULT_CONFIG)

        assert plain_text(expected) == plain_text(plain_outcome_of(SESSION, log, DEFAULT_CONFIG))
        assert project(SESSION, log) == project(SESSION, log, DEFAULT_CONFIG)

    @given(some.logs(), configs(), st.sampled_from((SESSION, SESSION, SESSION, "", " ", "other")))
    def test_the_naive_model_agrees_under_any_configuration(
        self, log: SessionLog, config: ProjectionConfig, session_id: str
    ) -> None:
        """Any log, configuration and session: the same projection or the same failure."""
        expected = model_outcome_of(session_id, log, config)

        assert plain_text(expected) == plain_text(plain_outcome_of(session_id, log, config))


class TestOrderOfChecksP2:
    """P2. First the configuration, then the number of events, then their canonical bytes, then the
    physical order, then turn by turn. What equals a bound is allowed.
    """

    @given(some.mutated_logs() | some.arbitrary_logs(), st.data())
    def test_each_check_hides_the_later_ones(self, log: SessionLog, data: st.DataObject) -> None:
        """With everything wrong at once, mending one thing after another shows the next."""
        assume(len(log.events) > 1)
        foreign = [attrs.evolve(log.events[0], session_id=SessionId("other")), *log.events[1:]]
        broken = session_log(foreign)
        count, size = len(foreign), log_bytes(broken)
        tight = ProjectionConfig(max_events=count - 1, max_input_bytes=size - 1, max_messages=0)

        def kind(session_id: str, config: ProjectionConfig) -> tuple[str, object]:
            facts = plain_failure(project(SessionId(session_id), broken, config).failure())
            return facts["kind"], facts.get("what") or facts.get("reason")

        assert ("InvalidConfig", "blank_session_id") == kind(" ", tight)
        assert ("InvalidConfig", "zero_max_messages") == kind(SESSION, tight)

        tight = attrs.evolve(tight, max_messages=1)

        assert ("LimitExceeded", "events") == kind(SESSION, tight)

        tight = attrs.evolve(tight, max_events=count)

        assert ("LimitExceeded", "input_bytes") == kind(SESSION, tight)

        tight = attrs.evolve(tight, max_input_bytes=size)

        assert ("WrongSession", None) == kind(SESSION, tight)

    @given(some.legal_logs(legacy=True))
    def test_a_bound_that_is_met_is_kept(self, log: SessionLog) -> None:
        """Bounds equal to what a log needs admit it; one less of any is refused with both numbers."""
        assume(log.events)
        count, size = len(log.events), sum(map(event_bytes, log.events))
        messages = projected(log, OMIT).message_count
        exact = attrs.evolve(OMIT, max_events=count, max_input_bytes=size, max_messages=max(messages, 1))

        assert messages == projected(log, exact).message_count

        tighter = [
            ("events", count, attrs.evolve(exact, max_events=count - 1)),
            ("input_bytes", size, attrs.evolve(exact, max_input_bytes=size - 1)),
            ("messages", messages, attrs.evolve(exact, max_messages=messages - 1)),
        ]
        for what, value, less in tighter:
            if value > 1:
                facts = plain_failure(failure_of(log, less))

                assert ("LimitExceeded", what, value - 1) == (facts["kind"], facts["what"], facts["limit"])
                assert facts["actual"] >= value


class TestTurnsP3:
    """P3. A turn is a run of events with one turn id, as long as it can be. A blank turn id, or one that
    an earlier run had, makes the first event of the run malformed.
    """

    def test_a_turn_in_two_pieces(self) -> None:
        """The turn does not go on after another one began."""
        log = written("t0 user", "t0 reply r0", "t0 completed", "t1 user", "t1 error", "t0 note")

        assert Malformed(
            event_id=EventId("e5"),
            seq=5,
            turn_id=TurnId("t0"),
            reason=MalformedReason.TURN_NOT_CONTIGUOUS,
        ) == failure_of(log)

    @pytest.mark.parametrize("blank", some.BLANKS)
    def test_a_blank_turn_id(self, blank: str) -> None:
        """Nothing but white space is no id."""
        log = session_log(attrs.evolve(e, turn_id=TurnId(blank)) for e in written("x user", "x error").events)
        failure = failure_of(log)

        assert isinstance(failure, Malformed)
        assert (0, MalformedReason.BLANK_TURN_ID) == (failure.seq, failure.reason)

    @given(some.legal_events(legacy=True))
    def test_turns_are_the_runs(self, events: tuple[SessionEvent, ...]) -> None:
        """One projected turn a run, in order."""
        runs = [turn_id for turn_id, _ in itertools.groupby(event.turn_id for event in events)]

        assert runs == [turn.turn_id for turn in projected(session_log(events), OMIT).turns]


BAD_STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("after_terminal", ("t user", "t reply r", "t completed", "t note")),
    ("after_terminal", ("t error", "t completed")),
    ("after_terminal", ("t user", "t reply r", "t completed", "t reply r")),
    ("work_after_reply", ("t user", "t reply r", "t user")),
    ("work_after_reply", ("t user", "t reply r", "t delta")),
    ("work_after_reply", ("t user", "t reply r", "t call _")),
    ("work_after_reply", ("t user", "t reply r", "t result c")),
    ("work_after_reply", ("t user", "t reply r", "t ask _")),
    ("work_after_reply", ("t user", "t reply r", "t answer m")),
    ("second_user_message", ("t user", "t user")),
    ("reply_without_message_id", ("t reply -",)),
    ("reply_without_message_id", ("t user", "t reply r", "t reply -")),
    ("blank_message_id", ("t user", "t reply _")),
    ("repeated_message_id", ("t user", "t reply r", "t reply r")),
    ("repeated_message_id", ("t user", "t reply r", "t completed", "u user", "u reply r")),
    ("repeated_message_id", ("t user", "t reply r", "t error", "u reply r")),
    ("second_reply", ("t user", "t reply r", "t reply s")),
    ("blank_call_id", ("t user", "t call _")),
    ("blank_call_id", ("t nameless _",)),
    ("blank_call_name", ("t user", "t nameless c")),
    ("repeated_call_id", ("t user", "t call c", "t result c", "t call c")),
    ("orphan_tool_result", ("t result c",)),
    ("orphan_tool_result", ("t user", "t ask c", "t result c")),
    ("orphan_tool_result", ("t user", "t call c", "t result c", "t error", "u user", "u result c")),
    ("second_tool_result", ("t user", "t call c", "t result c", "t result c")),
    ("blank_model_call_id", ("t ask _",)),
    ("repeated_model_call_id", ("t user", "t ask m", "t ask m")),
    ("orphan_model_result", ("t user", "t call m", "t answer m")),
    ("second_model_result", ("t user", "t ask m", "t answer m", "t answer m")),
    ("work_before_user", ("t reply r",)),
    ("work_before_user", ("t note", "t delta")),
    ("work_before_user", ("t call c",)),
    ("work_before_user", ("t ask m",)),
)


class TestEventsOfATurnP4:
    """P4. Event by event: its id is not blank; nothing follows a terminal; no conversation follows the
    complete reply; then what its kind asks for; and no reply, delta, call or model request comes before
    the user spoke. Audit events, `done` and `error` may come before a user message or without one.
    """

    @pytest.mark.parametrize(("reason", "rows"), BAD_STEPS)
    def test_a_bad_step_and_its_reason(self, reason: str, rows: tuple[str, ...]) -> None:
        """The last event of each row is malformed, for the first reason that applies."""
        assert reason == reason_of(*rows)

    @given(kind=some.event_kinds(), closed=st.booleans())
    def test_a_blank_event_id_comes_before_every_other_reason(self, kind: EventKind, closed: bool) -> None:
        """Also for an event that could not stand there anyway."""
        log = written("t user", "t error" if closed else "t note")
        blank = attrs.evolve(log.events[-1], event_id=EventId(" "), seq=2, kind=kind)
        failure = failure_of(session_log([*log.events, blank]))

        assert isinstance(failure, Malformed)
        assert (2, MalformedReason.BLANK_EVENT_ID) == (failure.seq, failure.reason)

    def test_every_reason_has_a_row(self) -> None:
        """No reason of P4 is never given."""
        elsewhere = {"blank_turn_id", "turn_not_contiguous", "blank_event_id"}

        assert {reason.value for reason in MalformedReason} == elsewhere | {row[0] for row in BAD_STEPS}

    def test_every_pair_is_in_one_of_two_tables(self) -> None:
        """Each state with each kind either leads somewhere or is refused, never both."""
        pairs = set(itertools.product(TurnState, ALL_KINDS))

        assert 4 * 14 == len(pairs)
        assert pairs == set(TURN_TABLE) | set(REFUSED)
        assert set() == set(TURN_TABLE) & set(REFUSED)

    def test_an_aside_needs_no_user(self) -> None:
        """A turn of audit events that fails or is cancelled projects to no message."""
        projection = projected(written("t note", "t error", "u note", "u cancelled"))

        assert [(), ()] == [turn.groups for turn in projection.turns]

    def test_ids_recur_in_other_turns(self) -> None:
        """Call ids belong to their turn, and tool calls and model calls do not share them."""
        rows = ("user", "call c", "ask c", "answer c", "result c", "error")
        projection = projected(written(*(f"{turn} {row}" for turn in "tu" for row in rows)))

        assert 6 == projection.message_count

    @given(some.arbitrary_logs())
    def test_a_malformed_event_stays_so_whatever_follows(self, log: SessionLog) -> None:
        """The failure of a prefix is the failure of the log."""
        outcome = project(SESSION, log)
        if isinstance(outcome, Failure) and isinstance(found := outcome.failure(), Malformed):
            prefix = session_log(log.events[: found.seq + 1])

            assert found == failure_of(prefix)


class TestUnconfirmedP5:
    """P5. When a turn's events are over, each tool call and model request must have its result, also in
    failed and cancelled turns; a turn without a terminal may hold its user message only, and only as the
    last one. Otherwise the turn is unconfirmed, and the open calls are named.
    """

    @pytest.mark.parametrize("end", ["completed", "cancelled", "error", ""])
    def test_open_calls_are_named_in_call_order(self, end: str) -> None:
        """Neither failure nor cancellation hides a call whose result is not known."""
        rows = ["t user", "t call c2", "t call c1", "t call c3", "t ask m1", "t ask m0", "t result c1"]
        failure = failure_of(written(*rows, *([f"t {end}"] if end else [])))

        assert (
            Unconfirmed(
                turn_id=TurnId("t"),
                open_tool_calls=(ToolCallId("c2"), ToolCallId("c3")),
                open_model_calls=(ModelCallId("m1"), ModelCallId("m0")),
                unterminated=not end,
            )
            == failure
        )

    @given(some.legal_events(open_last=False), st.data())
    def test_a_lost_result_shows(self, events: tuple[SessionEvent, ...], data: st.DataObject) -> None:
        """Without one of its results no log projects."""
        linked = [e for e in events if isinstance(e.kind, r.ToolResultEvent | r.ModelResultEvent)]
        assume(linked)
        lost = data.draw(st.sampled_from(linked))
        failure = failure_of(session_log(some.renumbered([e for e in events if e is not lost])))

        assert isinstance(failure, Unconfirmed)
        assert lost.turn_id == failure.turn_id
        assert 1 == len(failure.open_tool_calls) + len(failure.open_model_calls)
        assert not failure.unterminated

    @pytest.mark.parametrize("rows", [("t note",), ("t user", "t note"), ("t user", "t reply r")])
    def test_an_open_turn_holds_its_user_message_only(self, rows: tuple[str, ...]) -> None:
        """One audit event is enough to make it unconfirmed."""
        failure = failure_of(written(*rows))

        assert isinstance(failure, Unconfirmed)
        assert failure.unterminated

    @given(some.legal_events(max_turns=2), some.legal_events(max_turns=2))
    def test_an_open_turn_is_the_last(
        self, before: tuple[SessionEvent, ...], after: tuple[SessionEvent, ...]
    ) -> None:
        """In the middle it is unconfirmed; at the end it is `open`."""
        assume(all(not _is_open(log) for log in (before, after)))
        again = [_renamed(event) for event in after]
        opening = attrs.evolve(written("open user").events[0])
        middle = session_log(some.renumbered([*before, opening, *again]))
        outcome = project(SESSION, middle)
        if again:
            expected = Unconfirmed(
                turn_id=TurnId("open"), open_tool_calls=(), open_model_calls=(), unterminated=True
            )

            assert expected == outcome.failure()
        else:
            assert ProjectedState.OPEN is outcome.unwrap().turns[-1].state


def _is_open(events: tuple[SessionEvent, ...]) -> bool:
    return bool(events) and not isinstance(events[-1].kind, r.DoneEvent | r.ErrorEvent)


def _renamed(event: SessionEvent) -> SessionEvent:
    message_id = None if event.message_id is None else MessageId(f"again {event.message_id}")
    return attrs.evolve(event, turn_id=TurnId(f"again {event.turn_id}"), message_id=message_id)


class TestMissingRepliesP6:
    """P6. A turn that ended well without a complete reply is refused, or, where the host says so, kept
    without a reply and marked. Streamed pieces never stand in for a reply.
    """

    @pytest.mark.parametrize("status", ["completed", "waiting_for_input", "checkpointed"])
    def test_refused_or_kept_and_marked(self, status: str) -> None:
        """Each way of ending well; the pieces stay omitted."""
        log = written("t user", "t delta", "t delta", f"t {status}")

        assert MissingReply(turn_id=TurnId("t")) == failure_of(log)

        (turn,) = projected(log, OMIT).turns

        assert (status, True) == (turn.state.value, turn.missing_complete_reply)
        assert [GroupKind.USER] == [group.kind for group in turn.groups]

    @given(some.legal_logs(legacy=True))
    def test_deltas_never_reach_a_message(self, log: SessionLog) -> None:
        """With every delta taken out, the messages are the same."""
        quiet = [e for e in log.events if not isinstance(e.kind, r.AssistantDelta)]

        def said(events: list[SessionEvent]) -> list[object]:
            return [_without_ids(message) for message in projected(session_log(events), OMIT).messages]

        assert said(list(log.events)) == said(some.renumbered(quiet))

    @given(some.legal_logs(legacy=True))
    def test_the_mark_is_where_a_reply_is_missing(self, log: SessionLog) -> None:
        """A turn is marked exactly if it ended well and has no assistant group; rejecting admits the rest."""
        projection = projected(log, OMIT)
        for turn in projection.turns:
            well = turn.state.value in {"completed", "waiting_for_input", "checkpointed"}
            replied = GroupKind.ASSISTANT in {group.kind for group in turn.groups}

            assert (well and not replied) == turn.missing_complete_reply

        marked = [turn.turn_id for turn in projection.turns if turn.missing_complete_reply]
        outcome = project(SESSION, log)
        if marked:
            assert MissingReply(turn_id=marked[0]) == outcome.failure()
        else:
            assert isinstance(outcome, Success)


def _without_ids(message: object) -> object:
    """A message without its synthetic ids, which follow seq."""
    if isinstance(message, ToolMessage):
        return ("tool", message.content)
    if isinstance(message, AssistantMessage):
        return (message.content, [(call.name, call.arguments) for call in message.tool_calls])
    return message


class TestGroupsP7:
    """P7. Groups: the user's message, then one exchange for each call in the order of the calls, whatever
    the order of the results, then the complete reply, but only if the turn ended well. The empty reply is
    a reply. A reply of a failed or cancelled turn is left out as unsuccessful.
    """

    @given(st.permutations(["c0", "c1", "c2"]))
    def test_exchanges_stand_in_call_order(self, order: list[str]) -> None:
        """The order in which results arrive moves nothing."""
        calls = [f"t call c{number}" for number in range(3)]
        results = [f"t result {call_id}" for call_id in order]
        projection = projected(written("t user", *calls, *results, "t reply r", "t completed"))
        kinds = [GroupKind.USER, *[GroupKind.TOOL_EXCHANGE] * 3, GroupKind.ASSISTANT]
        groups = list(projection.groups)

        assert kinds == [group.kind for group in groups]
        assert ["e1", "e2", "e3"] == [group.source_events[0] for group in groups[1:4]]
        assert [f"of c{n}" in str(groups[1 + n].messages[1]) for n in range(3)] == [True] * 3

    @given(some.legal_logs(legacy=True))
    def test_the_order_inside_a_turn(self, log: SessionLog) -> None:
        """User, exchanges by the place of their call, reply; each group in its own turn."""
        rank = {GroupKind.USER: 0, GroupKind.TOOL_EXCHANGE: 1, GroupKind.ASSISTANT: 2}
        place = {event.event_id: event.seq for event in log.events}
        for turn in projected(log, OMIT).turns:
            order = [(rank[group.kind], place[group.source_events[0]]) for group in turn.groups]

            assert sorted(order) == order
            assert {turn.turn_id} >= {group.turn_id for group in turn.groups}

    @given(some.texts(), st.sampled_from(("completed", "waiting_for_input", "checkpointed")))
    def test_the_complete_text_is_kept_even_if_empty(self, text: str, status: str) -> None:
        """The reply's own text, character for character."""
        log = written("t user", "t delta", "t reply r", f"t {status}")
        replied = attrs.evolve(log.events[2], kind=r.AssistantReply(text=text))
        for kind in (replied, attrs.evolve(replied, kind=r.AssistantReply(text=""))):
            projection = projected(session_log([*log.events[:2], kind, log.events[3]]))
            assert isinstance(kind.kind, r.AssistantReply)

            assert AssistantMessage(content=kind.kind.text) == list(projection.messages)[-1]

    @pytest.mark.parametrize("status", ["cancelled", "error"])
    def test_an_unsuccessful_reply_is_left_out_and_said_so(self, status: str) -> None:
        """The user's message and the exchanges stay."""
        projection = projected(
            written("t user", "t call c", "t result c", "t reply r", "t note", f"t {status}")
        )

        assert [GroupKind.USER, GroupKind.TOOL_EXCHANGE] == [group.kind for group in projection.groups]
        assert (3, OmissionReason.UNSUCCESSFUL_REPLY) == (
            projection.omitted[0].seq,
            projection.omitted[0].reason,
        )


class TestRenditionRecordedP8:
    """P8. An exchange is an assistant message without content and with one call, and the tool message that
    answers it. Both carry `jw_tool_` and the seq of the call event; name and arguments are as recorded; the
    content is the canonical JSON of the whole outcome. The sources are the call and the result.
    """

    @given(some.legal_logs(legacy=True))
    def test_each_exchange_is_made_of_its_two_events(self, log: SessionLog) -> None:
        """Everything that was recorded, and nothing else."""
        by_id = {event.event_id: event for event in log.events}
        for group in projected(log, OMIT).groups:
            if group.kind is not GroupKind.TOOL_EXCHANGE:
                continue
            asked, answered = (by_id[event_id] for event_id in group.source_events)
            assert isinstance(asked.kind, r.ToolCallEvent)
            assert isinstance(answered.kind, r.ToolResultEvent)
            call, result = asked.kind.call, answered.kind.result
            first, second = group.messages
            assert isinstance(first, AssistantMessage)
            assert isinstance(second, ToolMessage)
            (shown,) = first.tool_calls

            assert call.id == result.call_id
            assert f"jw_tool_{asked.seq}" == shown.id == second.call_id
            assert (None, call.name, call.arguments) == (first.content, shown.name, shown.arguments)
            assert plain_text(plain_outcome(result.outcome)) == second.content

    @given(some.legal_logs(legacy=True))
    def test_the_measured_bytes_are_those_of_the_messages(self, log: SessionLog) -> None:
        """Sizes that a projection carries are sizes of what it holds."""
        projection = projected(log, OMIT)
        for group in projection.groups:
            assert tuple(map(message_bytes, group.messages)) == group.message_bytes

        assert sum(map(message_bytes, projection.messages)) == projection.canonical_bytes
        assert len(list(projection.messages)) == projection.message_count
        assert len(list(projection.groups)) == projection.group_count


class TestPartitionP9:
    """P9. Every event is a source of exactly one group or is omitted exactly once: deltas as streamed,
    model requests and results as model audit, terminals and the rest as audit, replies that do not count as
    unsuccessful. Omissions ascend strictly by seq.
    """

    @given(some.legal_logs(legacy=True))
    def test_each_event_is_somewhere_once(self, log: SessionLog) -> None:
        """Kept and omitted together are the log."""
        projection = projected(log, OMIT)
        kept = [event_id for group in projection.groups for event_id in group.source_events]
        left = [omission.event_id for omission in projection.omitted]

        assert Counter(event.event_id for event in log.events) == Counter(kept + left)

    @given(some.legal_logs(legacy=True))
    def test_omissions_ascend_and_say_why(self, log: SessionLog) -> None:
        """Each by its seq, under the reason of its kind."""
        projection = projected(log, OMIT)
        seqs = [omission.seq for omission in projection.omitted]
        streamed, audit = OmissionReason.STREAM_DELTA, OmissionReason.MODEL_AUDIT
        reasons = {
            r.AssistantDelta: streamed,
            r.ModelRequestEvent: audit,
            r.ModelResultEvent: audit,
            r.AssistantReply: OmissionReason.UNSUCCESSFUL_REPLY,
        }

        assert sorted(set(seqs)) == seqs
        for omission in projection.omitted:
            event = log.events[omission.seq]

            assert event.event_id == omission.event_id
            assert reasons.get(type(event.kind), OmissionReason.AUDIT) is omission.reason


class TestMessageBoundP10:
    """P10. More messages than the bound allows is a failure; no projection is shortened to fit, and no
    exchange is cut in two.
    """

    @given(some.legal_logs(legacy=True), st.integers(1, 10))
    def test_all_or_nothing(self, log: SessionLog, bound: int) -> None:
        """Under any bound the projection is the whole one or the failure that names the first excess."""
        config = attrs.evolve(OMIT, max_messages=bound)
        whole = projected(log, OMIT)
        outcome = project(SESSION, log, config)
        totals = list(itertools.accumulate(len(group.messages) for group in whole.groups))
        if whole.message_count <= bound:
            assert attrs.evolve(whole, config=config) == outcome.unwrap()
        else:
            facts = plain_failure(outcome.failure())

            assert ("messages", bound) == (facts["what"], facts["limit"])
            assert next(total for total in totals if total > bound) == facts["actual"]

    def test_an_earlier_turn_fails_first(self) -> None:
        """The bound is met turn by turn, as everything after P2."""
        log = written("t user", "t call c", "t result c", "t error", "u user", "u user")
        tight = plain_failure(failure_of(log, ProjectionConfig(max_messages=2)))

        assert ("LimitExceeded", 3) == (tight["kind"], tight["actual"])
        assert isinstance(failure_of(log), Malformed)


class TestContentP11:
    """P11. A projection says its algorithm version, session, configuration, source count and tail, groups,
    turns and omissions. It never holds a system message, and what a model proposed is never an execution.
    """

    @given(some.legal_logs(legacy=True))
    def test_it_says_where_it_comes_from(self, log: SessionLog) -> None:
        """Version, session, count, tail, and each turn with its end."""
        projection = projected(log, OMIT)
        tail = log.events[-1].event_id if log.events else None
        ends = {e.turn_id: e.event_id for e in log.events if isinstance(e.kind, r.DoneEvent | r.ErrorEvent)}

        assert (1, SESSION, OMIT) == (
            projection.algorithm_version,
            projection.session_id,
            projection.config,
        )
        assert (len(log.events), tail) == (projection.source_event_count, projection.source_tail)
        assert [ends.get(turn.turn_id) for turn in projection.turns] == [
            turn.terminal_event for turn in projection.turns
        ]
        assert [turn.sources for turn in projection.turns] == list(projection.sources)

    @given(some.legal_logs(legacy=True))
    def test_no_system_message_and_no_proposal(self, log: SessionLog) -> None:
        """Without its model audit a log means the same."""
        projection = projected(log, OMIT)
        audit = r.ModelRequestEvent | r.ModelResultEvent
        rest = some.renumbered([event for event in log.events if not isinstance(event.kind, audit)])
        said = [_without_ids(message) for message in projection.messages]

        assert not any(isinstance(message, SystemMessage) for message in projection.messages)
        assert said == [_without_ids(m) for m in projected(session_log(rest), OMIT).messages]

    @given(some.legal_logs(legacy=True))
    def test_the_messages_have_the_shape_of_a_request(self, log: SessionLog) -> None:
        """No exchange is ever apart: the shape rules accept the messages, as the projection says."""
        projection = projected(log, OMIT)
        messages = tuple(projection.messages)

        assert projection.shape_failure is None
        assert not messages or isinstance(check_shape(GenerationRequest(messages=messages)), Success)

    @given(some.free_json().filter(lambda value: not value.is_object))
    def test_arguments_that_are_no_object_are_projected_and_noted(self, arguments: Json) -> None:
        """The log recorded them; that no request can hold them is said with the message's index."""
        log = written("t user", "t call c", "t result c", "t error")
        call = r.ToolCall(id=ToolCallId("c"), name="grep", arguments=arguments)
        odd = attrs.evolve(log.events[1], kind=r.ToolCallEvent(call=call))
        projection = projected(session_log([log.events[0], odd, *log.events[2:]]))
        messages = tuple(projection.messages)

        assert ArgumentsNotObject(index=1) == projection.shape_failure
        assert projection.shape_failure == check_shape(GenerationRequest(messages=messages)).failure()


class TestPureP12:
    """P12. Projecting changes nothing it is given, and the same input gives an equal projection with
    equal canonical bytes. (Across processes and hash seeds: `test_determinism.py`.)
    """

    @given(some.logs(), configs())
    def test_the_same_twice_and_the_input_untouched(self, log: SessionLog, config: ProjectionConfig) -> None:
        """Equal outcomes, equal bytes, equal input."""
        before = copy.deepcopy(log)
        first, second = project(SESSION, log, config), project(SESSION, copy.deepcopy(log), config)

        assert first == second
        assert before == log
        if isinstance(first, Success):
            assert encode_projection(first.unwrap()) == encode_projection(second.unwrap())

    @given(some.legal_logs(legacy=True), st.data())
    def test_ids_of_turns_and_events_mean_nothing(self, log: SessionLog, data: st.DataObject) -> None:
        """Renaming turns and events renames them in the projection, and changes no message."""
        names = {event.event_id: EventId(f"n {event.seq * 7 % 101}") for event in log.events}
        assume(len(set(names.values())) == len(names))
        again = [attrs.evolve(_renamed(e), event_id=names[e.event_id]) for e in log.events]

        assert list(projected(log, OMIT).messages) == list(projected(session_log(again), OMIT).messages)


CLOSING = NumberedIds(prefix="recovered_")
QUARANTINE = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)


def _cut_off(log: SessionLog) -> SessionLog:
    """Without its last event, as a crash leaves it."""
    return session_log(log.events[:-1])


def told(diagnosis: Diagnosis) -> list[Plain]:
    """Violations in the model's words."""
    return [
        {
            "rule": violation.rule,
            "seq": violation.seq,
            "event_id": violation.event_id,
            "turn_id": violation.turn_id,
            "failure": plain_failure(violation.failure),
        }
        for violation in diagnosis.violations
    ]


class TestDiagnoseB10:
    """B10. `diagnose` lists every violation of a log with its place and rule, and the choice of the host
    that would admit it, if there is one. An offending event does not change the state, so what follows is
    judged as if it had not happened. The first violation is what `project` fails with. Calls that project
    but that no request can hold are listed as warnings.
    """

    @given(some.logs(), configs(), st.sampled_from((SESSION, SESSION, SESSION, " ")))
    def test_the_first_violation_is_the_failure(
        self, log: SessionLog, config: ProjectionConfig, session_id: str
    ) -> None:
        """And there is none exactly if the log projects."""
        diagnosis = diagnose(SessionId(session_id), log, config)
        outcome = project(SessionId(session_id), log, config)
        expected = [plain_failure(outcome.failure())] if isinstance(outcome, Failure) else []

        assert expected == [violation["failure"] for violation in told(diagnosis)[:1]]

    @given(some.mutated_logs(max_faults=4) | some.arbitrary_logs(max_size=9))
    def test_the_naive_model_lists_the_same(self, log: SessionLog) -> None:
        """Violation for violation, with place and rule."""
        expected = model_violations(SESSION, [plain_event(event) for event in log.events])

        assert expected == told(diagnose(SESSION, log))

    @given(some.legal_logs(legacy=True), configs())
    def test_the_choice_that_admits_does(self, log: SessionLog, config: ProjectionConfig) -> None:
        """Under the named configuration the log projects; without need of one, none is named."""
        assume(min(config.max_events, config.max_input_bytes, config.max_messages) > 0)
        diagnosis = diagnose(SESSION, log, config)
        if diagnosis.violations:
            assert diagnosis.admits is not None
            assert isinstance(project(SESSION, log, diagnosis.admits), Success)
        else:
            assert diagnosis.admits is None

    @given(some.logs(), configs())
    def test_no_choice_is_named_that_does_not_admit(self, log: SessionLog, config: ProjectionConfig) -> None:
        """Whatever is named works; and where the most generous choice works, one is named."""
        assume(min(config.max_events, config.max_input_bytes, config.max_messages) > 0)
        diagnosis = diagnose(SESSION, log, config)
        generous = ProjectionConfig(
            legacy_replies=LegacyReplies.OMIT,
            damaged_turns=DamagedTurns.QUARANTINE,
            max_events=2**60,
            max_input_bytes=2**60,
            max_messages=2**60,
        )
        admitted = isinstance(project(SESSION, log, generous), Success)

        assert (bool(diagnosis.violations) and admitted) == (diagnosis.admits is not None)
        if diagnosis.admits is not None:
            assert isinstance(project(SESSION, log, diagnosis.admits), Success)

    @given(some.logs() | some.mutated_logs(max_faults=2).map(_cut_off), configs())
    def test_the_way_out_leads_out(self, log: SessionLog, config: ProjectionConfig) -> None:
        """Whoever does what it says has a log that projects; no word of a way means that there is none."""
        assume(min(config.max_events, config.max_input_bytes, config.max_messages) > 0)
        found = diagnose(SESSION, log, config)
        closings = [close_abandoned(SESSION, log, CLOSING, earlier) for earlier in EarlierTurns]
        closes = [isinstance(closing, Success) and closing.unwrap().events != () for closing in closings]
        match found.way_out:
            case None:
                assert not found.violations or not any(closes)
                assert (None, None, None) == (found.admits, found.earlier_turns, found.admits_closed)
            case WayOut.CONFIGURATION:
                assert found.admits is not None
                assert isinstance(project(SESSION, log, found.admits), Success)
                assert (None, None) == (found.earlier_turns, found.admits_closed)
            case WayOut.CLOSE_ABANDONED | WayOut.CLOSE_THEN_CONFIGURATION:
                earlier = EarlierTurns.REJECT if closes[0] else EarlierTurns.KEEP
                closing = close_abandoned(SESSION, log, CLOSING, earlier).unwrap()
                closed = session_log([*log.events, *closing.events])

                assert earlier is found.earlier_turns
                assert found.admits is None
                assert diagnose(SESSION, closed, config).admits == found.admits_closed
                assert (found.way_out is WayOut.CLOSE_ABANDONED) == (found.admits_closed is None)
                assert isinstance(project(SESSION, closed, found.admits_closed or config), Success)

    @given(some.legal_events(), st.data())
    def test_damage_that_stays_is_no_dead_end(
        self, events: tuple[SessionEvent, ...], data: st.DataObject
    ) -> None:
        """Whatever is damaged by an event that cannot stand, and wherever the log is cut off then."""
        assume(events)
        at = data.draw(st.integers(0, len(events) - 1))
        (orphan,) = written("t result nowhere").events
        bad = attrs.evolve(orphan, turn_id=events[at].turn_id, event_id=EventId("orphan"))
        end = data.draw(st.integers(at + 1, len(events) + 1))
        log = session_log(some.renumbered([*events[:at], bad, *events[at:]])[:end])
        found = diagnose(SESSION, log)
        needed = isinstance(project(SESSION, log, QUARANTINE), Failure)

        assert needed == (found.way_out is WayOut.CLOSE_THEN_CONFIGURATION)
        assert needed == (found.earlier_turns is EarlierTurns.KEEP)
        assert QUARANTINE == (found.admits_closed if needed else found.admits)

    @given(some.logs() | some.legal_logs().map(_cut_off))
    def test_what_was_only_cut_off_is_closed_and_no_more(self, log: SessionLog) -> None:
        """By default closing is all that is needed exactly where the writer would close the log."""
        closing = close_abandoned(SESSION, log, CLOSING)
        closes = isinstance(closing, Success) and closing.unwrap().events != ()
        found = diagnose(SESSION, log)

        assert closes == (found.way_out is WayOut.CLOSE_ABANDONED)
        assert closes == (found.earlier_turns is EarlierTurns.REJECT)

    @given(some.legal_events(), st.data())
    def test_one_more_bad_event_is_one_more_violation(
        self, events: tuple[SessionEvent, ...], data: st.DataObject
    ) -> None:
        """A result of no call, anywhere in a closed turn before its end, is listed alone."""
        assume(events and not _is_open(events))
        at = data.draw(st.integers(0, len(events) - 1))
        orphan = attrs.evolve(
            written("t result nowhere").events[0],
            turn_id=events[at].turn_id,
            event_id=EventId("orphan"),
        )
        log = session_log(some.renumbered([*events[:at], orphan, *events[at:]]))
        (violation,) = diagnose(SESSION, log).violations

        assert ("P4", at, "orphan") == (violation.rule, violation.seq, violation.event_id)
        assert not isinstance(project(SESSION, log), Success)

    @given(some.legal_events(legacy=True), some.event_kinds(), st.data())
    def test_one_foreign_event_is_one_violation(
        self, events: tuple[SessionEvent, ...], kind: EventKind, data: st.DataObject
    ) -> None:
        """An event of another session, anywhere and of any kind, is listed alone: it has no part."""
        assume(events)
        at = data.draw(st.integers(0, len(events)))
        near = events[min(at, len(events) - 1)]
        foreign = attrs.evolve(near, event_id=EventId("foreign"), session_id=SessionId("other"), kind=kind)
        log = session_log(some.renumbered([*events[:at], foreign, *events[at:]]))
        (violation,) = diagnose(SESSION, log, OMIT).violations

        assert ("L1", at, "foreign") == (violation.rule, violation.seq, violation.event_id)

    def test_what_can_never_be_built_is_a_warning(self) -> None:
        """The log projects; the warning names the call and the index of its message."""
        log = written("t user", "t call c", "t result c", "t error")
        call = r.ToolCall(id=ToolCallId("c"), name="grep", arguments=Json("[1]"))
        odd = attrs.evolve(log.events[1], kind=r.ToolCallEvent(call=call))
        diagnosis = diagnose(SESSION, session_log([log.events[0], odd, *log.events[2:]]))
        (warning,) = diagnosis.warnings

        assert () == diagnosis.violations
        assert (ArgumentsNotObject(index=1), 1, "e1") == (
            warning.failure,
            warning.seq,
            warning.event_id,
        )

    def test_an_offending_event_uses_up_no_id(self) -> None:
        """An event refused for its session does not make its id used."""
        log = written("t user", "t error")
        foreign = attrs.evolve(log.events[0], session_id=SessionId("other"))
        right = attrs.evolve(log.events[0], seq=1)
        last = attrs.evolve(log.events[1], seq=2, event_id=EventId("e2"))

        assert ["L1"] == [v["rule"] for v in told(diagnose(SESSION, session_log([foreign, right, last])))]

    def test_a_turn_of_offending_events_alone_is_no_turn(self) -> None:
        """What is as if it had not happened leaves nothing that could be unterminated."""
        log = written("t user", "t error", "u result c")

        assert ["P4"] == [v["rule"] for v in told(diagnose(SESSION, log))]
