"""Diagnosis (B10): every violation of a log, and what would admit it."""

import attrs
import pytest

from jingwei.events.failures import WrongSequence
from jingwei.events.recovery import close_abandoned
from jingwei.events.turns import MalformedReason
from jingwei.events.wire import log_bytes, session_log
from jingwei.events.writer import EarlierTurns, NumberedIds
from jingwei.ids import EventId, SessionId, TurnId
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import ArgumentsNotObject
from jingwei.outcome import Failure, Success
from jingwei.projection.diagnose import Diagnosis, Violation, Warned, WayOut, diagnose
from jingwei.projection.failures import (
    InvalidConfig,
    InvalidConfigReason,
    Malformed,
    MissingReply,
    Unconfirmed,
)
from jingwei.projection.project import project
from jingwei.projection.records import DamagedTurns, LegacyReplies, ProjectionConfig
from tests.logtable import SESSION, log_of


def names(diagnosis: Diagnosis) -> list[str]:
    """Each violation as `rule seq name`, where a name is the reason or the record's."""
    return [
        f"{v.rule} {'-' if v.seq is None else v.seq} "
        + (v.failure.reason.value if isinstance(v.failure, Malformed) else type(v.failure).__name__)
        for v in diagnosis.violations
    ]


# Table, violations, and in the last column what can be done: missing replies or damaged turns left out, the
# last turn closed (`keep` where damage stays in the log), one after the other, or nothing.
LADDER: list[tuple[str, list[str], str]] = [
    ("", [], ""),
    ("user; reply; done", [], ""),
    ("user", [], ""),
    ("user; user; reply; done", ["P4 1 second_user_message"], "quarantine"),
    (
        'user; call ""; call a; call a; result b; result a; result a; reply r -; reply; done; custom',
        [
            "P4 1 blank_call_id",
            "P4 3 repeated_call_id",
            "P4 4 orphan_tool_result",
            "P4 6 second_tool_result",
            "P4 7 reply_without_message_id",
            "P4 10 after_terminal",
        ],
        "quarantine",
    ),
    (
        "user seq=5; reply session=other; done id=event-0",
        ["L1 5 WrongSequence", "L1 1 WrongSession", "P6 2 MissingReply"],
        "",
    ),
    (
        'turn ""; user; user; turn one; user; reply; done; turn ""; user',
        ["P3 0 blank_turn_id", "P3 5 blank_turn_id"],
        "",
    ),
    (
        "user; reply; done; turn two; user; reply; done; turn one; user; user",
        ["P3 6 turn_not_contiguous"],
        "",
    ),
    (
        "user; call a; turn two; user; ask",
        ["P5 1 Unconfirmed", "P5 3 Unconfirmed"],
        "close keep, then quarantine",
    ),
    ("user; delta; done", ["P6 2 MissingReply"], "omit"),
    ("user; call a; done", ["P5 2 Unconfirmed", "P6 2 MissingReply"], "quarantine"),
    (
        "user; done; turn two; user; reply; done; turn three; user; done checkpointed",
        ["P6 1 MissingReply", "P6 6 MissingReply"],
        "omit",
    ),
    # The second reply is as if it had not been; its message id was used by the first.
    (
        "user; reply a m; done; turn two; user; reply b m; done",
        ["P4 4 repeated_message_id", "P6 5 MissingReply"],
        "quarantine",
    ),
    # Nothing of the turn stands, so there is no turn that could be unconfirmed.
    ("result a; result b", ["P4 0 orphan_tool_result", "P4 1 orphan_tool_result"], "quarantine"),
    # A turn in the middle, and a last one that is closed over an open call, cannot be closed any more.
    ("user; call a; turn two; user; reply; done", ["P5 1 Unconfirmed"], "quarantine"),
    ("user; call a; done cancelled", ["P5 2 Unconfirmed"], "quarantine"),
    ("user; call a; error", ["P5 2 Unconfirmed"], "quarantine"),
    ("user; ask k; done cancelled", ["P5 2 Unconfirmed"], "quarantine"),
    ("user; call a; reply; done", ["P5 3 Unconfirmed"], "quarantine"),
    ("user; call a; ask", ["P5 2 Unconfirmed"], "close reject"),
    ("user; reply", ["P5 1 Unconfirmed"], "close reject"),
    # No result may follow a reply: the turn gets its end alone, and is left out.
    ("user; call a; reply", ["P5 2 Unconfirmed"], "close keep, then quarantine"),
    ("user; call a; reply; mode", ["P5 3 Unconfirmed"], "close keep, then quarantine"),
    (
        "user; done; turn two; user; delta",
        ["P6 1 MissingReply", "P5 3 Unconfirmed"],
        "close keep, then omit",
    ),
    # The id of a reply is free again where the turn that used it is left out.
    (
        "user; user; reply a m; turn two; user; call c; reply b m",
        ["P4 1 second_user_message", "P5 2 Unconfirmed", "P4 5 repeated_message_id", "P5 4 Unconfirmed"],
        "close keep, then quarantine",
    ),
    (
        "user; user; done; turn two; user; done",
        ["P4 1 second_user_message", "P6 2 MissingReply", "P6 4 MissingReply"],
        "quarantine omit",
    ),
    ("user; user; call a", ["P4 1 second_user_message", "P5 2 Unconfirmed"], "quarantine"),
    ("user; call a seq=7", ["L1 7 WrongSequence"], ""),
]


def way_out(found: Diagnosis) -> str:
    """In the words of the ladder."""
    closing = "" if found.earlier_turns is None else f"close {found.earlier_turns.value}"
    choice = choices(found.admits) or choices(found.admits_closed)
    return ", then ".join(part for part in (closing, choice) if part)


def choices(config: ProjectionConfig | None) -> str:
    """What of a configuration is not the default."""
    quarantine = config is not None and config.damaged_turns is DamagedTurns.QUARANTINE
    omit = config is not None and config.legacy_replies is LegacyReplies.OMIT
    return " ".join(["quarantine"] * quarantine + ["omit"] * omit)


def named(found: Diagnosis) -> WayOut | None:
    """Which of the ways out the rest of a diagnosis amounts to."""
    if found.admits is not None:
        return WayOut.CONFIGURATION
    if found.earlier_turns is None:
        return None
    closed = found.admits_closed is None
    return WayOut.CLOSE_ABANDONED if closed else WayOut.CLOSE_THEN_CONFIGURATION


@pytest.mark.parametrize(("table", "expected", "out"), LADDER, ids=[table for table, _, _ in LADDER])
def test_every_violation_is_listed_in_order(table: str, expected: list[str], out: str) -> None:
    log = log_of(table)
    found = diagnose(SESSION, log)

    assert expected == names(found)
    assert out == way_out(found)
    assert named(found) is found.way_out
    assert found.admits is None or isinstance(project(SESSION, log, found.admits), Success)
    if found.earlier_turns is not None:
        closing = close_abandoned(SESSION, log, NumberedIds(prefix="jw_"), found.earlier_turns).unwrap()
        closed = session_log([*log.events, *closing.events])
        assert isinstance(project(SESSION, closed, found.admits_closed or ProjectionConfig()), Success)


@pytest.mark.parametrize(("table", "expected", "_out"), LADDER, ids=[table for table, _, _ in LADDER])
def test_the_first_violation_is_what_project_fails_with(table: str, expected: list[str], _out: str) -> None:
    log = log_of(table)
    found = diagnose(SESSION, log).violations
    outcome = project(SESSION, log)

    assert (Failure(found[0].failure) == outcome) if expected else isinstance(outcome, Success)


def test_a_violation_says_where_it_was_found() -> None:
    failure = Malformed(
        event_id=EventId("event-1"),
        seq=1,
        turn_id=TurnId("one"),
        reason=MalformedReason.SECOND_USER_MESSAGE,
    )
    found = diagnose(SESSION, log_of("user; user; reply; done"))

    assert (
        Violation(rule="P4", failure=failure, seq=1, event_id=EventId("event-1"), turn_id=TurnId("one")),
    ) == found.violations


def test_an_unconfirmed_turn_is_told_at_its_last_accepted_event() -> None:
    found = diagnose(SESSION, log_of("user; call a; user; result b")).violations[-1]

    assert (
        Unconfirmed(
            turn_id=TurnId("one"),
            open_tool_calls=("a",),  # type: ignore[arg-type]  # a ToolCallId is a str
            open_model_calls=(),
            unterminated=True,
        )
        == found.failure
    )
    assert (1, EventId("event-1")) == (found.seq, found.event_id)


def test_what_concerns_the_whole_log_names_no_event() -> None:
    found = diagnose(SessionId(" "), log_of(""), ProjectionConfig(max_events=0))

    assert (
        Violation(
            rule="P2",
            failure=InvalidConfig(reason=InvalidConfigReason.BLANK_SESSION_ID),
            seq=None,
            event_id=None,
            turn_id=None,
        ),
    ) == found.violations
    assert found.admits is None


class TestWhatAdmitsALog:
    """The host's own choices: bounds, and replies that are missing."""

    LOG = log_of("user; call a; result a; done; turn two; user; reply; done")

    def test_a_missing_reply_is_admitted_by_omitting_it(self) -> None:
        config = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)

        assert config == diagnose(SESSION, self.LOG).admits
        assert isinstance(project(SESSION, self.LOG, config), Success)

    def test_every_bound_that_is_passed_is_lifted_to_what_the_log_needs(self) -> None:
        tight = ProjectionConfig(max_events=1, max_input_bytes=1, max_messages=2)
        found = diagnose(SESSION, self.LOG, tight)

        assert ["P2 - LimitExceeded", "P6 3 MissingReply", "P10 3 LimitExceeded"] == names(found)
        assert (
            ProjectionConfig(
                legacy_replies=LegacyReplies.OMIT,
                max_events=7,
                max_input_bytes=log_bytes(self.LOG),
                max_messages=5,
            )
            == found.admits
        )
        assert isinstance(project(SESSION, self.LOG, found.admits), Success)

    def test_a_bound_on_messages_is_told_once(self) -> None:
        log = log_of("user; reply; done; turn two; user; reply; done")
        found = diagnose(SESSION, log, ProjectionConfig(max_messages=1))

        assert [LimitExceeded(what=Bound.MESSAGES, limit=1, actual=2)] == [
            violation.failure for violation in found.violations
        ]
        assert ProjectionConfig(max_messages=4) == found.admits

    def test_choices_that_are_wide_enough_stay_as_they_are(self) -> None:
        config = ProjectionConfig(max_events=10**6, max_input_bytes=10**9, max_messages=7)
        found = diagnose(SESSION, self.LOG, config)

        assert (
            ProjectionConfig(
                legacy_replies=LegacyReplies.OMIT, max_events=10**6, max_input_bytes=10**9, max_messages=7
            )
            == found.admits
        )

    def test_nothing_admits_a_log_whose_order_is_broken(self) -> None:
        found = diagnose(SESSION, log_of("user; done; turn two; user seq=9"))

        assert [
            WrongSequence(physical_index=2, expected=2, actual=9),
            MissingReply(turn_id=TurnId("one")),
        ] == [violation.failure for violation in found.violations]
        assert found.admits is None


class TestQuarantine:
    """What the given configuration leaves out is no violation; what it cannot leave out is."""

    CONFIG = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)

    def test_a_turn_that_is_left_out_is_not_listed(self) -> None:
        log = log_of("user; user; reply r m; done; turn two; user; reply s m; done")

        assert () == diagnose(SESSION, log, self.CONFIG).violations
        assert ["P4 1 second_user_message", "P4 5 repeated_message_id", "P6 6 MissingReply"] == names(
            diagnose(SESSION, log)
        )

    def test_the_last_turn_that_may_go_on_is(self) -> None:
        found = diagnose(SESSION, log_of("user; call a; turn two; user; call b"), self.CONFIG)

        assert ["P5 3 Unconfirmed"] == names(found)
        assert (None, WayOut.CLOSE_ABANDONED) == (found.admits, found.way_out)
        assert (EarlierTurns.KEEP, None) == (found.earlier_turns, found.admits_closed)

    @pytest.mark.parametrize(
        "table", ["user; call a; done cancelled", "user; call a; reply; error", "user; ask k; error"]
    )
    def test_the_last_turn_that_has_its_end_is_not(self, table: str) -> None:
        """Nothing can be appended to it."""
        assert () == diagnose(SESSION, log_of(table), self.CONFIG).violations

    def test_bounds_are_lifted_to_what_is_left(self) -> None:
        log = log_of("user; user; done; turn two; user; reply; done; turn three; user")
        found = diagnose(SESSION, log, ProjectionConfig(max_messages=2))

        assert attrs.evolve(self.CONFIG, max_messages=3) == found.admits


class TestAfterClosing:
    """What the log needs once its last turn is closed."""

    LOG = log_of("user; reply; done; turn two; user; call a; result a; call b")

    def test_bounds_are_those_of_the_closed_log(self) -> None:
        """Three events are appended: a result, the mark, the end."""
        tight = ProjectionConfig(max_events=8, max_input_bytes=1, max_messages=3)
        found = diagnose(SESSION, self.LOG, tight)
        ids = NumberedIds(prefix="recovered_")
        closing = close_abandoned(SESSION, self.LOG, ids).unwrap()
        closed = session_log([*self.LOG.events, *closing.events])

        assert (WayOut.CLOSE_THEN_CONFIGURATION, EarlierTurns.REJECT) == (found.way_out, found.earlier_turns)
        assert (
            ProjectionConfig(max_events=10, max_input_bytes=log_bytes(closed), max_messages=7)
            == found.admits_closed
        )

    def test_ids_that_the_log_uses_are_in_nobodys_way(self) -> None:
        found = diagnose(SESSION, log_of("user id=recovered_event_2; call a"))

        assert (WayOut.CLOSE_ABANDONED, EarlierTurns.REJECT) == (found.way_out, found.earlier_turns)

    def test_nothing_mends_a_configuration_that_is_none(self) -> None:
        found = diagnose(SESSION, self.LOG, ProjectionConfig(max_events=0))

        assert (None, None, None) == (found.way_out, found.earlier_turns, found.admits_closed)


def test_a_call_that_no_build_can_send_is_a_warning() -> None:
    log = log_of(
        "user; call a x {}; call b x [1]; result b; result a; reply; done; turn two; "
        "user; call c x 5; result c; error"
    )
    found = diagnose(SESSION, log)

    assert () == found.violations
    assert (
        Warned(
            failure=ArgumentsNotObject(index=3), seq=2, event_id=EventId("event-2"), turn_id=TurnId("one")
        ),
        Warned(
            failure=ArgumentsNotObject(index=7), seq=8, event_id=EventId("event-8"), turn_id=TurnId("two")
        ),
    ) == found.warnings
    assert found.warnings[0].failure == project(SESSION, log).unwrap().shape_failure
