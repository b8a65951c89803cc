"""From a log to a projection piece by piece, and the walk that all projecting is (rules P2 to P13).

`Walk` is the memory of a loop over one piece; `ProjectionState` is what has to be known between two
pieces, immutable and shared by all that start from it. `project` walks a whole log as one piece.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from typing import final

import attrs

from jingwei.events.failures import LogFailure
from jingwei.events.log import log_violations
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.turns import MalformedReason, TurnState
from jingwei.events.wire import log_bytes
from jingwei.ids import EventId, MessageId, SessionId, is_blank
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import ArgumentsNotObject
from jingwei.messages.records import AssistantMessage
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import Table, Vector
from jingwei.projection.failures import (
    InvalidConfig,
    InvalidConfigReason,
    Malformed,
    ProjectionFailure,
)
from jingwei.projection.records import (
    ALGORITHM_VERSION,
    DEFAULT_CONFIG,
    DamagedTurns,
    Group,
    GroupKind,
    Omission,
    ProjectedState,
    ProjectedTurn,
    Projection,
    ProjectionConfig,
    TurnSources,
)
from jingwei.projection.turn import OpenTurn, RunningTurn, either


@final
@attrs.frozen(kw_only=True)
class ProjectionState:
    """What has to be known of a log to project its further events (P13).

    Its size grows with the running turn and with the ids that must not recur, not with what was emitted.
    It depends on the events alone, not on the pieces they came in.

    Attributes:
        session_id: the session asked for.
        config: the host's choices.
        event_count: events so far.
        input_bytes: their canonical bytes, measured exactly.
        source_tail: the last event's id; None before the first.
        misplaced: the first event that broke L1, if one did; then only events and bytes are counted.
        refused: the first rule of a turn that was broken for good, if one was; then only L1 is looked at.
        event_ids: ids of all events.
        turn_ids: ids of all turns.
        message_ids: ids of all complete replies that were emitted.
        turn_count: turns emitted.
        group_count: their groups.
        message_count: their messages.
        canonical_bytes: canonical bytes of those.
        shape_failure: the first shape rule (M3) that those break.
        turn: the last turn, which may go on; None before the first.
    """

    session_id: SessionId
    config: ProjectionConfig
    event_count: int = 0
    input_bytes: int = 0
    source_tail: EventId | None = None
    misplaced: LogFailure | None = None
    refused: ProjectionFailure | None = None
    event_ids: Table[str, None] = Table()
    turn_ids: Table[str, None] = Table()
    message_ids: Table[str, None] = Table()
    turn_count: int = 0
    group_count: int = 0
    message_count: int = 0
    canonical_bytes: int = 0
    shape_failure: ArgumentsNotObject | None = None
    turn: RunningTurn | None = None

    @property
    def failure(self) -> ProjectionFailure | None:
        """Why no further event can give this log a projection again; None where one can.

        It takes its place in P2's order: an earlier rule that breaks later takes precedence.
        """
        return (
            config_failure(self.session_id, self.config)
            or limit_failure(self.event_count, self.input_bytes, self.config)
            or self.misplaced
            or self.refused
        )


@final
@attrs.frozen(kw_only=True)
class Advanced:
    """A state after a further piece, and what became final with that piece.

    Groups of the running turn come as soon as no further event can change them, turns and omissions with
    the end of their turn. Under quarantine a turn is final, and its groups with it, only when the next
    turn begins: until then another event may damage it (P14). A piece that makes the log fail for good
    emits nothing.

    Attributes:
        state: for the next piece.
        groups: in order.
        turns: in order, each with all its groups.
        omitted: in order; those of the turns.
    """

    state: ProjectionState
    groups: tuple[Group, ...] = ()
    turns: tuple[ProjectedTurn, ...] = ()
    omitted: tuple[Omission, ...] = ()


def initial_state(session_id: SessionId, config: ProjectionConfig = DEFAULT_CONFIG) -> ProjectionState:
    """The state before the first event. A configuration that P2 refuses is that state's failure."""
    return ProjectionState(session_id=session_id, config=config)


def advance(state: ProjectionState, piece: SessionLog) -> Advanced:
    """The state after any number of further events (P13). Total; costs what the piece costs.

    A failed state is a state too: it goes on counting events and bytes and, until that is broken, looks
    at physical order, since by P2 those failures take precedence.
    """
    count = state.event_count + len(piece.events)
    size = state.input_bytes + (piece.bytes_at_most if piece.measured else log_bytes(piece))
    tail = piece.events[-1].event_id if piece.events else state.source_tail
    failed = ProjectionState(
        session_id=state.session_id,
        config=state.config,
        event_count=count,
        input_bytes=size,
        source_tail=tail,
        misplaced=state.misplaced,
    )
    if failed.failure is not None:
        return Advanced(state=failed)
    new_ids: dict[str, None] = dict.fromkeys([event.event_id for event in piece.events])
    known = state.event_ids if state.event_ids.meets(new_ids) else ()  # nearly always nothing recurs
    start = state.event_count
    for misplaced in log_violations(state.session_id, piece.events, start=start, known=known):
        return Advanced(state=attrs.evolve(failed, misplaced=misplaced))
    event_ids = state.event_ids.extended(new_ids)
    walk = Walk(state)
    refused = state.refused or walk.take(piece.events)
    if refused is not None:
        return Advanced(state=attrs.evolve(failed, refused=refused, event_ids=event_ids))
    return Advanced(
        state=walk.state(event_ids, size),
        groups=tuple(walk.groups),
        turns=tuple(walk.turns),
        omitted=tuple(walk.omitted),
    )


@final
@attrs.frozen(kw_only=True)
class Emitted:
    """All that became final so far, in the shape that a projection has."""

    turns: Vector[ProjectedTurn] = Vector()
    sources: Vector[TurnSources] = Vector()
    omitted: Vector[Omission] = Vector()
    silent: Vector[int] = Vector()

    def extended(self, turns: Sequence[ProjectedTurn], omitted: Iterable[Omission]) -> "Emitted":
        """With further turns and omissions."""
        silent = [place for place, turn in enumerate(turns, len(self.turns)) if not turn.message_count]
        return Emitted(
            turns=self.turns.extended(turns),
            sources=self.sources.extended([turn.sources for turn in turns]),
            omitted=self.omitted.extended(omitted),
            silent=self.silent.extended(silent),
        )


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
    count, size = len(log.events), log.bytes_at_most
    if count <= config.max_events and size > config.max_input_bytes and not log.measured:
        size = log_bytes(log)
    return limit_failure(count, size, config)


def limit_failure(count: int, size: int, config: ProjectionConfig) -> LimitExceeded | None:
    """The first bound on events and their bytes that is passed (P2)."""
    if count > config.max_events:
        return LimitExceeded(what=Bound.EVENTS, limit=config.max_events, actual=count)
    if size > config.max_input_bytes:
        return LimitExceeded(what=Bound.INPUT_BYTES, limit=config.max_input_bytes, actual=size)
    return None


def runs_of(events: Iterable[SessionEvent]) -> Iterator[tuple[SessionEvent, ...]]:
    """Maximal runs of events with one turn id (P3)."""
    return (tuple(run) for _, run in groupby(events, key=lambda event: event.turn_id))


def run_failure(run: Sequence[SessionEvent], used: Container[str]) -> Malformed | None:
    """Why a run is no turn: a blank id, or one that an earlier run used (P3)."""
    first = run[0]
    if is_blank(first.turn_id):
        return malformed(first, MalformedReason.BLANK_TURN_ID)
    return malformed(first, MalformedReason.TURN_NOT_CONTIGUOUS) if first.turn_id in used else None


def malformed(event: SessionEvent, reason: MalformedReason) -> Malformed:
    """The failure of one event."""
    return Malformed(event_id=event.event_id, seq=event.seq, turn_id=event.turn_id, reason=reason)


@final
@attrs.frozen(kw_only=True)
class _Closed:
    """What a turn comes to when no further event of it comes."""

    turn: ProjectedTurn
    omitted: tuple[Omission, ...]
    message_id: MessageId | None = None
    shape_failure: ArgumentsNotObject | None = None


@final
class Walk:
    """The loop's own memory over one piece of a log whose physical order holds.

    Attributes:
        groups: what became final with this piece.
        turns: the same.
        omitted: the same.
    """

    def __init__(self, state: ProjectionState) -> None:
        self.groups = list[Group]()
        self.turns = list[ProjectedTurn]()
        self.omitted = list[Omission]()
        self._config = state.config
        self._quarantines = state.config.damaged_turns is DamagedTurns.QUARANTINE
        self._base = state
        self._turn_ids = dict[str, None]()
        self._message_ids = dict[str, None]()
        self._known_messages = either(self._message_ids, state.message_ids)
        self._known_turns = either(self._turn_ids, state.turn_ids)
        self._count = state.event_count
        self._tail = state.source_tail
        self._group_count = state.group_count
        self._messages = state.message_count
        self._bytes = state.canonical_bytes
        self._shape_failure = state.shape_failure
        self._turn: OpenTurn | None = None

    def take(self, events: Iterable[SessionEvent]) -> ProjectionFailure | None:
        """Walk the piece, up to the first rule that is broken for good."""
        for run in runs_of(events):
            entered = self._enter(run)
            if not isinstance(entered, OpenTurn):
                return entered
            failure = self._run(entered, run)
            if failure is not None:
                return failure
            self._count += len(run)
            self._tail = run[-1].event_id
        return None

    def state(self, event_ids: Table[str, None], input_bytes: int) -> ProjectionState:
        """The state after this piece."""
        base = self._base
        return ProjectionState(
            session_id=base.session_id,
            config=base.config,
            event_count=self._count,
            input_bytes=input_bytes,
            source_tail=self._tail,
            event_ids=event_ids,
            turn_ids=base.turn_ids.extended(self._turn_ids),
            message_ids=base.message_ids.extended(self._message_ids),
            turn_count=base.turn_count + len(self.turns),
            group_count=self._group_count,
            message_count=self._messages,
            canonical_bytes=self._bytes,
            shape_failure=self._shape_failure,
            turn=base.turn if self._turn is None else self._turn.frozen(),
        )

    def finished(self, emitted: Emitted) -> Outcome[Projection, ProjectionFailure]:
        """The projection of what was walked, as if it were the whole log; the walk ends here."""
        turn = self._unsettled()
        if turn is not None:
            failure = self._end(turn, is_last=True)
            if failure is not None:
                return Failure(failure)
        found = emitted.extended(self.turns, self.omitted)
        return Success(self.projection(found, self._count, self._tail))

    def projection(self, emitted: Emitted, count: int, tail: EventId | None) -> Projection:
        """A projection of these turns, from so many events."""
        turns = emitted.turns
        is_open = bool(turns) and turns[-1].state is ProjectedState.OPEN
        return Projection(
            algorithm_version=ALGORITHM_VERSION,
            session_id=self._base.session_id,
            config=self._config,
            source_event_count=count,
            source_tail=tail,
            turns=turns,
            sources=emitted.sources,
            omitted=emitted.omitted,
            open_turn=len(turns) - 1 if is_open else None,
            silent=emitted.silent,
            group_count=self._group_count,
            message_count=self._messages,
            canonical_bytes=self._bytes,
            shape_failure=self._shape_failure,
        )

    def _enter(self, run: Sequence[SessionEvent]) -> OpenTurn | ProjectionFailure:
        """The turn of a run: the one that runs, or a new one after the end of that (P3)."""
        first, base = run[0], self._base.turn
        if self._turn is None and base is not None and base.turn_id == first.turn_id:
            self._turn = OpenTurn(base, self._known_messages)
        if self._turn is not None and self._turn.turn_id == first.turn_id:
            return self._turn
        turn = self._unsettled()
        if turn is not None:
            failure = self._end(turn, is_last=False)
            if failure is not None:
                return failure
        refused = run_failure(run, self._known_turns)
        if refused is not None:
            return refused
        self._turn_ids[first.turn_id] = None
        base = RunningTurn(turn_id=first.turn_id, start=self._count, before=self._tail)
        self._turn = OpenTurn(base, self._known_messages)
        return self._turn

    def _unsettled(self) -> OpenTurn | None:
        """The last turn where it was not emitted yet, taken up from the pieces before if need be."""
        base = self._base.turn
        if self._turn is None and base is not None and not base.settled:
            self._turn = OpenTurn(base, self._known_messages)
        return None if self._turn is None or self._turn.settled else self._turn

    def _run(self, turn: OpenTurn, run: Sequence[SessionEvent]) -> Malformed | None:
        """Take the events of a run; a closed turn whose rules hold is final: only a failure can follow."""
        if turn.damaged:
            turn.damage(run)
            return None
        for place, event in enumerate(run):
            reason = turn.take(event)
            if reason is not None and not self._quarantines:
                return malformed(event, reason)
            if reason is not None:
                turn.damage(run[place:])
                return None
        if self._quarantines:
            return None
        if turn.state is not TurnState.CLOSED or self._end(turn, is_last=True) is None:
            self.groups += turn.new_groups
        return None

    def _end(self, turn: OpenTurn, *, is_last: bool) -> ProjectionFailure | None:
        """Emit a turn after its last event, or say which rule its end breaks (P5, P6, P10)."""
        closed = self._closed(turn, is_last=is_last)
        if not isinstance(closed, _Closed):
            return closed
        turn.settled = True
        if self._quarantines:
            self.groups += closed.turn.groups
        self.turns.append(closed.turn)
        self.omitted += closed.omitted
        if closed.message_id is not None:
            self._message_ids[closed.message_id] = None
        self._group_count += len(closed.turn.groups)
        self._messages += closed.turn.message_count
        self._bytes += closed.turn.canonical_bytes
        self._shape_failure = self._shape_failure or closed.shape_failure
        return None

    def _closed(self, turn: OpenTurn, *, is_last: bool) -> _Closed | ProjectionFailure:
        missing = turn.missing_reply(self._config)
        unconfirmed = turn.unconfirmed(is_last=is_last)
        may_go_on = is_last and unconfirmed is not None and unconfirmed.unterminated
        damaged = turn.damaged or missing is not None or (unconfirmed is not None and not may_go_on)
        if self._quarantines and damaged:
            return _Closed(turn=turn.quarantined(), omitted=turn.all_omitted())
        return unconfirmed or missing or self._kept(turn)

    def _kept(self, turn: OpenTurn) -> _Closed | LimitExceeded:
        """A turn whose events all stand, group by group (P7, P10)."""
        groups = turn.groups()
        messages, shape_failure = self._messages, None
        for group in groups:
            if group.kind is GroupKind.TOOL_EXCHANGE and shape_failure is None:
                shape_failure = arguments_failure(group, messages)
            messages += len(group.messages)
            if messages > self._config.max_messages:
                limit = self._config.max_messages
                return LimitExceeded(what=Bound.MESSAGES, limit=limit, actual=messages)
        return _Closed(
            turn=turn.projected(groups),
            omitted=turn.omissions(),
            message_id=turn.message_id,
            shape_failure=shape_failure,
        )


def arguments_failure(group: Group, index: int) -> ArgumentsNotObject | None:
    """What no build can send although it was recorded: arguments that are no object (M3, B10)."""
    asked = group.messages[0]
    assert isinstance(asked, AssistantMessage), "an exchange opens with its call (P8)"
    plain = all(call.arguments.is_object for call in asked.tool_calls)
    return None if plain else ArgumentsNotObject(index=index)
