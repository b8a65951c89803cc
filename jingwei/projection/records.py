"""What a log means for a model: groups of messages, turns, and what was left out (rules P7 to P11)."""

import enum
from typing import Final, final

import attrs

from jingwei.ids import EventId, SessionId, TurnId
from jingwei.limits import EVENTS_MAX, PROJECTION_INPUT_BYTES_MAX, PROJECTION_MESSAGES_MAX
from jingwei.messages.failures import ShapeFailure
from jingwei.messages.records import ModelMessage
from jingwei.persistent import Vector

ALGORITHM_VERSION: Final = 1
"""The meaning of a projection; a change of meaning is another number (P11)."""


@final
class LegacyReplies(enum.Enum):
    """What to do with a successful turn that has no complete reply (P6)."""

    REJECT = "reject"
    OMIT = "omit"


@final
class DamagedTurns(enum.Enum):
    """What to do with a turn that breaks P4, P5 or P6, and whose log would have no projection for it.

    A last turn that breaks P5 and has no terminal may go on, and is never left out (P14).
    """

    REJECT = "reject"
    QUARANTINE = "quarantine"


@final
@attrs.frozen(kw_only=True)
class ProjectionConfig:
    """The host's choices and bounds (P1); every bound is inclusive and above zero.

    Attributes:
        legacy_replies: refuse a successful turn without a reply, or keep it without one.
        damaged_turns: refuse a log with a damaged turn, or leave that turn out whole (P14).
        max_events: events of the log.
        max_input_bytes: canonical bytes of all events, audit payloads included.
        max_messages: messages that the projection may hold.
    """

    legacy_replies: LegacyReplies = LegacyReplies.REJECT
    damaged_turns: DamagedTurns = DamagedTurns.REJECT
    max_events: int = EVENTS_MAX
    max_input_bytes: int = PROJECTION_INPUT_BYTES_MAX
    max_messages: int = PROJECTION_MESSAGES_MAX


DEFAULT_CONFIG: Final = ProjectionConfig()
"""The defaults of P1."""


@final
class GroupKind(enum.Enum):
    """What a group stands for (P7)."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_EXCHANGE = "tool_exchange"


@final
@attrs.frozen(kw_only=True)
class Group:
    """Messages that stand or fall together (P7, P8).

    Attributes:
        turn_id: the turn it belongs to.
        kind: its messages follow from it: one user message; an assistant message with one call and
            the tool message that answers it; one assistant message with the complete text.
        source_events: the events it was made from, never empty.
        messages: what the model sees.
        message_bytes: canonical bytes of each message, measured once here.
    """

    turn_id: TurnId
    kind: GroupKind
    source_events: tuple[EventId, ...]
    messages: tuple[ModelMessage, ...]
    message_bytes: tuple[int, ...]


@final
class ProjectedState(enum.Enum):
    """How a turn stands; an exchange of a failed turn does not make the turn a success.

    `QUARANTINED` says that the turn is damaged and left out whole (P14): it has no groups.
    """

    COMPLETED = "completed"
    WAITING_FOR_INPUT = "waiting_for_input"
    CHECKPOINTED = "checkpointed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OPEN = "open"
    QUARANTINED = "quarantined"


@final
@attrs.frozen(kw_only=True)
class TurnSources:
    """A turn and the events of all its groups, in group order: the part of a turn that reports share.

    Attributes:
        turn_id: unique in the projection.
        source_events: concatenated over the groups.
    """

    turn_id: TurnId
    source_events: tuple[EventId, ...]


@final
@attrs.frozen(kw_only=True)
class ProjectedTurn:
    """One turn and its groups, in order: user, exchanges in call order, reply (P7).

    Attributes:
        sources: its id and source events.
        state: how it ended; `OPEN` only for the last one.
        terminal_event: the event that closed it; None while open, and in quarantine.
        missing_complete_reply: True only under `LegacyReplies.OMIT` (P6).
        groups: perhaps none: a turn of audit events alone projects to no message, nor does a damaged one.
        message_count: messages of all its groups.
        canonical_bytes: canonical bytes of its messages.
    """

    sources: TurnSources
    state: ProjectedState
    terminal_event: EventId | None
    missing_complete_reply: bool
    groups: tuple[Group, ...]
    message_count: int
    canonical_bytes: int

    @property
    def turn_id(self) -> TurnId:
        """Its id, unique in the projection."""
        return self.sources.turn_id

    @property
    def messages(self) -> tuple[ModelMessage, ...]:
        """The messages of all its groups."""
        return tuple([message for group in self.groups for message in group.messages])


@final
class OmissionReason(enum.Enum):
    """Why an event is in no group (P9, P14)."""

    AUDIT = "audit"
    MODEL_AUDIT = "model_audit"
    STREAM_DELTA = "stream_delta"
    UNSUCCESSFUL_REPLY = "unsuccessful_reply"
    QUARANTINED = "quarantined"


@final
@attrs.frozen(kw_only=True)
class Omission:
    """One event that the model does not see, and why."""

    event_id: EventId
    seq: int
    reason: OmissionReason


@final
@attrs.frozen(kw_only=True)
class Projection:
    """A valid projection: made by `project` and `admit_projection`, and shortened by `split_open_turn`.

    Its type says that the history checks of B2 hold; nothing downstream repeats them.

    Attributes:
        algorithm_version: 1 (P11).
        session_id: the session asked for.
        config: as it was used.
        source_event_count: events of the log.
        source_tail: the last event's id; None for an empty log.
        turns: in physical order, each with its groups.
        sources: the sources of the turns, in the same order; shared with every report.
        omitted: every event that is in no group, strictly increasing by seq.
        open_turn: position of the first open turn; None where there is none.
        silent: positions of the turns without messages, which are no candidates (R5), increasing.
        group_count: groups of all turns.
        message_count: messages of all groups.
        canonical_bytes: canonical bytes of all messages.
        shape_failure: the first shape rule (M3) that the messages break, with its index among them;
            None when a request can hold them. In a projected log recorded arguments that are no object
            are the only cause.
    """

    algorithm_version: int
    session_id: SessionId
    config: ProjectionConfig
    source_event_count: int
    source_tail: EventId | None
    turns: Vector[ProjectedTurn]
    sources: Vector[TurnSources]
    omitted: Vector[Omission]
    open_turn: int | None
    silent: Vector[int]
    group_count: int
    message_count: int
    canonical_bytes: int
    shape_failure: ShapeFailure | None

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups, in order; linear in the projection."""
        return tuple([group for turn in self.turns for group in turn.groups])

    @property
    def messages(self) -> tuple[ModelMessage, ...]:
        """All messages, in order; linear in the projection."""
        return tuple([message for turn in self.turns for message in turn.messages])


@final
@attrs.frozen(kw_only=True)
class ForeignTurn:
    """A turn as somebody else's JSON states it."""

    turn_id: TurnId
    state: ProjectedState
    terminal_event: EventId | None
    missing_complete_reply: bool


@final
@attrs.frozen(kw_only=True)
class ForeignGroup:
    """A group as somebody else's JSON states it."""

    turn_id: TurnId
    kind: GroupKind
    source_events: tuple[EventId, ...]
    messages: tuple[ModelMessage, ...]


@final
@attrs.frozen(kw_only=True)
class ForeignProjection:
    """A projection from outside: decoded, not yet believed. `admit_projection` makes it a `Projection`.

    Sizes are not part of it; they are computed again on admission.
    """

    algorithm_version: int
    session_id: SessionId
    source_event_count: int
    source_tail: EventId | None
    config: ProjectionConfig
    groups: tuple[ForeignGroup, ...]
    turns: tuple[ForeignTurn, ...]
    omitted: tuple[Omission, ...]


def turn_of(
    turn_id: TurnId,
    state: ProjectedState,
    terminal_event: EventId | None,
    groups: tuple[Group, ...],
    *,
    missing_complete_reply: bool,
) -> ProjectedTurn:
    """A turn with its sums."""
    sources = tuple([event_id for group in groups for event_id in group.source_events])
    return ProjectedTurn(
        sources=TurnSources(turn_id=turn_id, source_events=sources),
        state=state,
        terminal_event=terminal_event,
        missing_complete_reply=missing_complete_reply,
        groups=groups,
        message_count=sum([len(group.messages) for group in groups]),
        canonical_bytes=sum([sum(group.message_bytes) for group in groups]),
    )
