"""Summaries, what they are made from, and what must not be lost in them (rule S8)."""

import enum
from typing import Final, final

import attrs

from jingwei.ids import EventId, SessionId, SummaryId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import GenerationRequest, ModelMessage
from jingwei.projection.records import ProjectedState, ProjectedTurn

FORMAT_VERSION: Final = 1
"""The meaning of a summary's fields; a change of meaning is another number."""


@final
@attrs.frozen(kw_only=True)
class Statement:
    """One sentence of a summary.

    Attributes:
        text: what it says.
        source_events: the events that it was taken from; at least one in an accepted summary.
    """

    text: str
    source_events: tuple[EventId, ...] = ()


@final
@attrs.frozen(kw_only=True)
class SummaryDraft:
    """What a model answered: four lists, not yet believed (S8)."""

    facts: tuple[Statement, ...]
    decisions: tuple[Statement, ...]
    hypotheses: tuple[Statement, ...]
    open_questions: tuple[Statement, ...]


@final
@attrs.frozen(kw_only=True)
class Summary:
    """What stands for whole turns (S8). `accept_summary` says whether it may; the turns are never deleted.

    Attributes:
        summary_id: unique in its session, never blank.
        session_id: whose turns.
        facts: what the events show.
        decisions: what was decided.
        hypotheses: what was supposed, and not shown.
        open_questions: what is not resolved.
        first_seq: the first event that it covers: the first of a turn.
        last_seq: the last event that it covers, itself included: the last of a turn.
        tail_event_id: the event at `last_seq`.
        turn_ids: every turn of that range, in order.
        version: 1, or one more than the highest version that it supersedes.
        supersedes: the summaries in whose place it comes.
        format_version: 1.
    """

    summary_id: SummaryId
    session_id: SessionId
    facts: tuple[Statement, ...] = ()
    decisions: tuple[Statement, ...] = ()
    hypotheses: tuple[Statement, ...] = ()
    open_questions: tuple[Statement, ...] = ()
    first_seq: int
    last_seq: int
    tail_event_id: EventId
    turn_ids: tuple[TurnId, ...]
    version: int = 1
    supersedes: tuple[SummaryId, ...] = ()
    format_version: int = FORMAT_VERSION


@final
class ProtectedKind(enum.Enum):
    """Why a text must not be lost; it is told, never interpreted."""

    CONSTRAINT = "constraint"
    INSTRUCTION = "instruction"
    DECISION = "decision"


@final
@attrs.frozen(kw_only=True)
class Protected:
    """A text that a summary of its event must repeat word for word (S8).

    Attributes:
        text: the words; a blank text demands nothing.
        seq: the event that says them.
        kind: why they are protected.
    """

    text: str
    seq: int
    kind: ProtectedKind = ProtectedKind.CONSTRAINT


@final
@attrs.frozen(kw_only=True)
class SourceTurn:
    """One turn of a log, with the place of its events.

    Attributes:
        turn_id: unique in the log.
        first_seq: its first event.
        events: all of its events, in order; never empty.
        turn: what it says to a model; None for the open turn that was taken off the history.
    """

    turn_id: TurnId
    first_seq: int
    events: tuple[EventId, ...]
    turn: ProjectedTurn | None

    @property
    def last_seq(self) -> int:
        """Its last event so far."""
        return self.first_seq + len(self.events) - 1

    @property
    def is_closed(self) -> bool:
        """Whether it has ended and is whole: no event can join it any more."""
        return self.turn is not None and self.turn.state not in _NOT_CLOSED

    @property
    def messages(self) -> tuple[ModelMessage, ...]:
        """What it says to a model, in order; perhaps nothing."""
        return () if self.turn is None else self.turn.messages


_NOT_CLOSED: Final = frozenset({ProjectedState.OPEN, ProjectedState.QUARANTINED})


@final
@attrs.frozen(kw_only=True)
class MarkedHypothesis:
    """A text that the log itself marks as a supposition: `custom{plugin: "jingwei", kind: "hypothesis"}`."""

    text: str
    seq: int


@final
@attrs.frozen(kw_only=True)
class SummarySources:
    """The turns of a log and what they say; made by `sources_of`, which checks that both belong together.

    Attributes:
        session_id: whose log.
        turns: in physical order, without gaps, from the first event on.
        marked: texts that the log marks as suppositions, in order.
    """

    session_id: SessionId
    turns: tuple[SourceTurn, ...]
    marked: tuple[MarkedHypothesis, ...]


@final
@attrs.frozen(kw_only=True)
class Standalone:
    """A request of its own: instruction, turns as data, and a JSON schema as the constraint."""


STANDALONE: Final = Standalone()
"""The shape that needs nothing else."""


@final
@attrs.frozen(kw_only=True)
class SharedPrefix:
    """A request that begins like a live one, so that a provider's prompt cache serves the turns (B9).

    Its messages are those of the live request up to the last summarised turn, and then the instruction;
    the constraint is the live one, since nothing is served under another.

    Attributes:
        live: the request that was sent last.
    """

    live: GenerationRequest


RequestShape = Standalone | SharedPrefix
"""How a summary is asked for."""


@final
@attrs.frozen(kw_only=True)
class SummaryChunk:
    """Neighbouring turns that one request asks about, and one summary will stand for.

    Attributes:
        session_id: whose turns.
        turns: whole, closed, without gaps, in order; never empty.
        supersedes: active summaries that the new one replaces.
        version: what its version will be.
        protected: what it must repeat.
    """

    session_id: SessionId
    turns: tuple[SourceTurn, ...]
    supersedes: tuple[SummaryId, ...]
    version: int
    protected: tuple[Protected, ...]

    @property
    def turn_ids(self) -> tuple[TurnId, ...]:
        """Its turns by name."""
        return tuple([turn.turn_id for turn in self.turns])


SUMMARY_NAME: Final = "jingwei_summary"
"""The name of the schema that an answer follows."""

_STATEMENTS: Final = (
    '{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"},'
    '"source_events":{"type":"array","items":{"type":"string"}}},'
    '"required":["text","source_events"],"additionalProperties":false}}'
)

SUMMARY_SCHEMA: Final = Json(
    f'{{"type":"object","properties":{{"facts":{_STATEMENTS},"decisions":{_STATEMENTS},'
    f'"hypotheses":{_STATEMENTS},"open_questions":{_STATEMENTS}}},'
    '"required":["facts","decisions","hypotheses","open_questions"],"additionalProperties":false}'
)
"""What `read_summary` reads, in the words of JSON Schema that every provider knows."""
