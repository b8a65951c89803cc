"""Everything that is wrong with a log, and what would admit it (rule B10). Nothing is repaired."""

import enum
from collections.abc import Sequence
from typing import final

import attrs

from jingwei.events.failures import LogFailure
from jingwei.events.log import log_violations
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.recovery import close_abandoned
from jingwei.events.turns import MalformedReason
from jingwei.events.wire import log_bytes, session_log
from jingwei.events.writer import EarlierTurns, NumberedIds
from jingwei.ids import EventId, SessionId, TurnId
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import ArgumentsNotObject
from jingwei.outcome import Failure, Success
from jingwei.projection.advance import (
    arguments_failure,
    config_failure,
    log_limit_failure,
    malformed,
    run_failure,
    runs_of,
)
from jingwei.projection.failures import (
    InvalidConfig,
    Malformed,
    MissingReply,
    ProjectionFailure,
    Unconfirmed,
)
from jingwei.projection.project import project
from jingwei.projection.records import (
    DEFAULT_CONFIG,
    DamagedTurns,
    Group,
    GroupKind,
    LegacyReplies,
    ProjectionConfig,
)
from jingwei.projection.turn import OpenTurn, RunningTurn


@final
@attrs.frozen(kw_only=True)
class Violation:
    """One thing that is wrong.

    Attributes:
        rule: the number of the broken rule, as `P4`.
        failure: the record that `project` would fail with if this were the first.
        seq: the event it was found at; None where it concerns the whole log.
        event_id: that event's id.
        turn_id: the turn concerned; None where it concerns the whole log.
    """

    rule: str
    failure: ProjectionFailure
    seq: int | None
    event_id: EventId | None
    turn_id: TurnId | None


@final
@attrs.frozen(kw_only=True)
class Warned:
    """A call that projects and that no build can ever send: its recorded arguments are no object (M3).

    Attributes:
        failure: what every build would fail with, the index among the projection's messages where
            the log projects, else among those of its sound turns.
        seq: the call event.
        event_id: its id.
        turn_id: its turn.
    """

    failure: ArgumentsNotObject
    seq: int
    event_id: EventId
    turn_id: TurnId


@final
class WayOut(enum.Enum):
    """How a log can be used again; none of the ways changes what was recorded.

    `CONFIGURATION`: under `Diagnosis.admits` it projects as it is. `CLOSE_ABANDONED`: nothing is wrong but
    that its last turn was cut off, which `close_abandoned` closes with further events, told
    `Diagnosis.earlier_turns`. `CLOSE_THEN_CONFIGURATION`: the same, and then `Diagnosis.admits_closed`.
    """

    CONFIGURATION = "configuration"
    CLOSE_ABANDONED = "close_abandoned"
    CLOSE_THEN_CONFIGURATION = "close_then_configuration"


@final
@attrs.frozen(kw_only=True)
class Diagnosis:
    """All violations of a log (B10).

    Attributes:
        violations: bounds on the whole log first, then physical order, then turn by turn: the first
            one is what `project` fails with under the same configuration.
        warnings: what projects and cannot be built.
        admits: the configuration under which the log projects, where the host may choose one; None
            for a log without violations, and for one that no choice admits. It leaves damaged turns out
            (P14) only where nothing else admits the log.
        way_out: which way out there is; None where there is nothing wrong, or no way.
        earlier_turns: what `close_abandoned` must be told to close the last turn: `KEEP` where damage stays
            in the log; None where the way out closes nothing.
        admits_closed: as `admits`, for the log with the last turn closed; None where the closed log has no
            violations. Bounds are those for event ids that begin with `recovered_`.
    """

    violations: tuple[Violation, ...]
    warnings: tuple[Warned, ...]
    admits: ProjectionConfig | None
    way_out: WayOut | None
    earlier_turns: EarlierTurns | None
    admits_closed: ProjectionConfig | None


def diagnose(session_id: SessionId, log: SessionLog, config: ProjectionConfig = DEFAULT_CONFIG) -> Diagnosis:
    """Every violation, in one pass. Linear; total.

    An offending event does not change the state: an event that breaks L1 takes no part in its turn,
    and one that P4 refuses is as if it had not happened. A run of events that P3 refuses is no turn,
    so no further rule applies to its events. What the configuration admits is no violation: under
    quarantine (P14) a turn that is left out is not listed.
    """
    survey = _surveyed(session_id, log, config)
    admits = survey.admitting(log)
    way_out = None if admits is None else WayOut.CONFIGURATION
    earlier, admits_closed = None, None
    closable = _closable(session_id, log) if survey.violations and admits is None else None
    if closable is not None:
        after = _surveyed(session_id, closable.log, config)
        admits_closed = after.admitting(closable.log)
        if not after.violations or admits_closed is not None:
            earlier = closable.earlier
            closed = admits_closed is None
            way_out = WayOut.CLOSE_ABANDONED if closed else WayOut.CLOSE_THEN_CONFIGURATION
    return Diagnosis(
        violations=tuple(survey.violations),
        warnings=tuple(survey.warnings),
        admits=admits,
        way_out=way_out,
        earlier_turns=earlier,
        admits_closed=admits_closed,
    )


def rule_of(failure: ProjectionFailure) -> str:
    """The number of the rule that a failure tells of."""
    match failure:
        case InvalidConfig():
            return "P2"
        case LimitExceeded(what=what):
            return "P10" if what is Bound.MESSAGES else "P2"
        case Malformed(reason=reason):
            run = reason in {MalformedReason.BLANK_TURN_ID, MalformedReason.TURN_NOT_CONTIGUOUS}
            return "P3" if run else "P4"
        case Unconfirmed():
            return "P5"
        case MissingReply():
            return "P6"
        case _:
            return _log_rule(failure)


def _log_rule(_failure: LogFailure) -> str:
    return "L1"


def _surveyed(session_id: SessionId, log: SessionLog, config: ProjectionConfig) -> "_Survey":
    survey = _Survey(session_id, config)
    survey.whole_log(config_failure(session_id, config))
    survey.whole_log(log_limit_failure(log, config))
    physical = list(log_violations(session_id, log.events))
    for failure in physical:
        survey.at(log.events[failure.physical_index], failure)
    offending = {failure.physical_index for failure in physical}
    sound = [event for index, event in enumerate(log.events) if index not in offending]
    runs = list(runs_of(sound))
    for index, run in enumerate(runs):
        survey.run(run, is_last=index == len(runs) - 1)
    return survey


@final
@attrs.frozen(kw_only=True)
class _Closable:
    """A log with its last turn closed, and what `close_abandoned` was told."""

    log: SessionLog
    earlier: EarlierTurns


def _closable(session_id: SessionId, log: SessionLog) -> _Closable | None:
    """The log as it is after its last turn is closed, where that takes further events (L4)."""
    prefix = "recovered_"
    if any(event.event_id.startswith(prefix) for event in log.events):
        prefix += "_" * max([len(event.event_id) for event in log.events])  # then no id can be used
    for earlier in (EarlierTurns.REJECT, EarlierTurns.KEEP):
        match close_abandoned(session_id, log, NumberedIds(prefix=prefix), earlier):
            case Success(closing):
                if closing.events:
                    return _Closable(log=session_log([*log.events, *closing.events]), earlier=earlier)
            case Failure():
                continue
    return None


@final
class _Survey:
    """The loop's own memory; never leaves `diagnose`."""

    def __init__(self, session_id: SessionId, config: ProjectionConfig) -> None:
        self.session_id = session_id
        self.config = config
        self.violations = list[Violation]()
        self.warnings = list[Warned]()
        self.turn_ids = set[str]()
        self.message_ids = set[str]()
        self.messages = 0
        self.legacy = False
        self.passed: LimitExceeded | None = None

    def whole_log(self, failure: ProjectionFailure | None) -> None:
        """Note what concerns no single event."""
        if failure is not None:
            rule = rule_of(failure)
            self.violations.append(
                Violation(rule=rule, failure=failure, seq=None, event_id=None, turn_id=None)
            )

    def at(self, event: SessionEvent, failure: ProjectionFailure) -> None:
        """Note what was found at one event."""
        self.violations.append(
            Violation(
                rule=rule_of(failure),
                failure=failure,
                seq=event.seq,
                event_id=event.event_id,
                turn_id=event.turn_id,
            )
        )

    def run(self, run: Sequence[SessionEvent], *, is_last: bool) -> None:
        """Look at one run of events as a turn."""
        refused = run_failure(run, self.turn_ids)
        if refused is not None:
            self.at(run[0], refused)
            return
        self.turn_ids.add(run[0].turn_id)
        turn = OpenTurn(RunningTurn(turn_id=run[0].turn_id), self.message_ids)
        found = list[tuple[SessionEvent, ProjectionFailure]]()
        for event in run:
            reason = turn.take(event)
            if reason is not None:
                found.append((event, malformed(event, reason)))
        last = turn.last_event
        if last is not None:  # else every event was refused: no turn of which P5 and P6 could speak
            ends = (turn.unconfirmed(is_last=is_last), turn.missing_reply(self.config))
            found += [(last, failure) for failure in ends if failure is not None]
        failures = [failure for _, failure in found]
        if self.config.damaged_turns is DamagedTurns.QUARANTINE and is_damaged(failures, is_last=is_last):
            return
        if turn.message_id is not None:
            self.message_ids.add(turn.message_id)
        for event, failure in found:
            self.at(event, failure)
        if last is not None and all(isinstance(failure, MissingReply) for failure in failures):
            self.legacy = self.legacy or bool(failures)
            self.keep(turn, run, last)

    def keep(self, turn: OpenTurn, run: Sequence[SessionEvent], last: SessionEvent) -> None:
        """Count the messages of a sound turn, and warn of what no build can send."""
        by_id = {event.event_id: event for event in run}
        for group in turn.groups():
            if group.kind is GroupKind.TOOL_EXCHANGE:
                self.warn(by_id[group.source_events[0]], group)
            self.messages += len(group.messages)
            limit = self.config.max_messages
            if self.messages > limit and self.passed is None:
                self.passed = LimitExceeded(what=Bound.MESSAGES, limit=limit, actual=self.messages)
                self.at(last, self.passed)

    def warn(self, call: SessionEvent, group: Group) -> None:
        """Note an exchange whose arguments are no object."""
        broken = arguments_failure(group, self.messages)
        if broken is not None:
            self.warnings.append(
                Warned(failure=broken, seq=call.seq, event_id=call.event_id, turn_id=call.turn_id)
            )

    def admitting(self, log: SessionLog) -> ProjectionConfig | None:
        """The host's choices lift bounds, admit missing replies and leave damaged turns out; no more."""
        failures = [violation.failure for violation in self.violations]
        if not failures:
            return None
        if any(isinstance(failure, InvalidConfig) for failure in failures):
            return None
        wider = attrs.evolve(
            self.config,
            legacy_replies=LegacyReplies.OMIT if self.legacy else self.config.legacy_replies,
            max_events=max(self.config.max_events, len(log.events)),
            max_input_bytes=max(self.config.max_input_bytes, log_bytes(log)),
            max_messages=max(self.config.max_messages, self.messages),
        )
        if all(isinstance(failure, LimitExceeded | MissingReply) for failure in failures):
            return wider
        # Which turns stand without the damaged ones is asked of the walk, not guessed: an id that only a
        # damaged turn used is free. No event makes more than two messages.
        most = max(wider.max_messages, 2 * len(log.events))
        without = attrs.evolve(wider, damaged_turns=DamagedTurns.QUARANTINE, max_messages=most)
        match project(self.session_id, log, without):
            case Success(projection):
                messages = max(self.config.max_messages, projection.message_count)
                return attrs.evolve(without, max_messages=messages)
            case Failure():
                return None


def is_damaged(failures: Sequence[ProjectionFailure], *, is_last: bool) -> bool:
    """Whether quarantine leaves out the turn of these failures (P14): not a last one that may go on."""
    return any(
        not (is_last and isinstance(failure, Unconfirmed) and failure.unterminated) for failure in failures
    )
