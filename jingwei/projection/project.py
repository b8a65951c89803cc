"""From a log to a projection, all at once (rules P1 to P12)."""

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import groupby
from typing import Protocol, final

from jingwei.events.log import check_log
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.turns import MalformedReason
from jingwei.events.wire import log_bytes
from jingwei.ids import SessionId, is_blank
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import ArgumentsNotObject
from jingwei.messages.records import AssistantMessage
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.failures import (
    InvalidConfig,
    InvalidConfigReason,
    Malformed,
    ProjectionFailure,
)
from jingwei.projection.records import (
    ALGORITHM_VERSION,
    DEFAULT_CONFIG,
    Group,
    GroupKind,
    Omission,
    ProjectedTurn,
    Projection,
    ProjectionConfig,
)
from jingwei.projection.turn import OpenTurn


class ConversationProjector(Protocol):
    """What a host may put in the place of `project`; the property suite is its contract too."""

    def __call__(
        self, session_id: SessionId, log: SessionLog, config: ProjectionConfig
    ) -> Outcome[Projection, ProjectionFailure]:
        """Project one whole log."""
        ...


def project(
    session_id: SessionId,
    log: SessionLog,
    config: ProjectionConfig = DEFAULT_CONFIG,
) -> Outcome[Projection, ProjectionFailure]:
    """The projection of a whole log, or the first rule that it breaks (P1 to P12).

    Order of the checks (P2): configuration, number of events, input bytes, physical order (L1),
    then turn by turn (P3 to P6, P10). Pure, linear in the log; nothing is repaired or shortened.
    """
    refused = config_failure(session_id, config) or log_limit_failure(log, config)
    if refused is not None:
        return Failure(refused)
    checked = check_log(session_id, log)
    if isinstance(checked, Failure):
        return checked
    walk = _Walk(config)
    runs = list(runs_of(log.events))
    for index, run in enumerate(runs):
        failure = walk.take(run, is_last=index == len(runs) - 1)
        if failure is not None:
            return Failure(failure)
    return Success(walk.projection(session_id, log))


def config_failure(session_id: SessionId, config: ProjectionConfig) -> InvalidConfig | None:
    """The first thing that the caller set wrong (P2)."""
    reason = None
    if is_blank(session_id):
        reason = InvalidConfigReason.BLANK_SESSION_ID
    elif config.max_events <= 0:
        reason = InvalidConfigReason.ZERO_MAX_EVENTS
    elif config.max_input_bytes <= 0:
        reason = InvalidConfigReason.ZERO_MAX_INPUT_BYTES
    elif config.max_messages <= 0:
        reason = InvalidConfigReason.ZERO_MAX_MESSAGES
    return None if reason is None else InvalidConfig(reason=reason)


def log_limit_failure(log: SessionLog, config: ProjectionConfig) -> LimitExceeded | None:
    """The first bound on the whole log that is passed (P2)."""
    count = len(log.events)
    if count > config.max_events:
        return LimitExceeded(what=Bound.EVENTS, limit=config.max_events, actual=count)
    if log.bytes_at_most <= config.max_input_bytes:
        return None
    size = log_bytes(log)
    if size > config.max_input_bytes:
        return LimitExceeded(what=Bound.INPUT_BYTES, limit=config.max_input_bytes, actual=size)
    return None


def runs_of(events: Iterable[SessionEvent]) -> Iterator[tuple[SessionEvent, ...]]:
    """Maximal runs of events with one turn id (P3)."""
    return (tuple(run) for _, run in groupby(events, key=lambda event: event.turn_id))


def run_failure(run: Sequence[SessionEvent], used: Set[str]) -> Malformed | None:
    """Why a run is no turn: a blank id, or one that an earlier run used (P3)."""
    first = run[0]
    if is_blank(first.turn_id):
        return malformed(first, MalformedReason.BLANK_TURN_ID)
    return malformed(first, MalformedReason.TURN_NOT_CONTIGUOUS) if first.turn_id in used else None


def malformed(event: SessionEvent, reason: MalformedReason) -> Malformed:
    """The failure of one event."""
    return Malformed(event_id=event.event_id, seq=event.seq, turn_id=event.turn_id, reason=reason)


@final
class _Walk:
    """The loop's own memory over one log; never leaves `project`."""

    def __init__(self, config: ProjectionConfig) -> None:
        self.config = config
        self.turns = list[ProjectedTurn]()
        self.omitted = list[Omission]()
        self.turn_ids = set[str]()
        self.message_ids = set[str]()
        self.groups = 0
        self.messages = 0
        self.bytes = 0
        self.shape_failure: ArgumentsNotObject | None = None

    def take(self, run: Sequence[SessionEvent], *, is_last: bool) -> ProjectionFailure | None:
        """Project one run as a turn, or say why it is none."""
        failure = run_failure(run, self.turn_ids)
        if failure is not None:
            return failure
        self.turn_ids.add(run[0].turn_id)
        turn = OpenTurn(run[0].turn_id, self.message_ids)
        for event in run:
            reason = turn.take(event)
            if reason is not None:
                return malformed(event, reason)
        return turn.unconfirmed(is_last=is_last) or turn.missing_reply(self.config) or self.keep(turn)

    def keep(self, turn: OpenTurn) -> LimitExceeded | None:
        """Add a turn whose events all stand, group by group (P7, P10)."""
        groups = turn.groups()
        for group in groups:
            if group.kind is GroupKind.TOOL_EXCHANGE and self.shape_failure is None:
                self.shape_failure = arguments_failure(group, self.messages)
            self.messages += len(group.messages)
            self.bytes += sum(group.message_bytes)
            if self.messages > self.config.max_messages:
                limit = self.config.max_messages
                return LimitExceeded(what=Bound.MESSAGES, limit=limit, actual=self.messages)
        self.groups += len(groups)
        self.turns.append(turn.projected(groups))
        self.omitted += turn.omissions()
        return None

    def projection(self, session_id: SessionId, log: SessionLog) -> Projection:
        return Projection(
            algorithm_version=ALGORITHM_VERSION,
            session_id=session_id,
            config=self.config,
            source_event_count=len(log.events),
            source_tail=log.events[-1].event_id if log.events else None,
            turns=tuple(self.turns),
            sources=tuple([turn.sources for turn in self.turns]),
            omitted=tuple(self.omitted),
            group_count=self.groups,
            message_count=self.messages,
            canonical_bytes=self.bytes,
            shape_failure=self.shape_failure,
        )


def arguments_failure(group: Group, index: int) -> ArgumentsNotObject | None:
    """What no build can send although it was recorded: arguments that are no object (M3, B10)."""
    asked = group.messages[0]
    assert isinstance(asked, AssistantMessage), "an exchange opens with its call (P8)"
    plain = all(call.arguments.is_object for call in asked.tool_calls)
    return None if plain else ArgumentsNotObject(index=index)
