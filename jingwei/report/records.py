"""The report of a build (rule B6): derived data, without authority over the log it speaks of."""

import enum
from typing import final

import attrs

from jingwei.ids import EventId, SessionId, TurnId
from jingwei.projection.records import TurnSources
from jingwei.request.records import BuildLimits, ContextBudget, ContextTarget, TokenCount
from jingwei.selection.records import Reduction
from jingwei.selection.search import Search


@final
class MessageRole(enum.Enum):
    """Who speaks (M1)."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@final
@attrs.frozen(kw_only=True)
class SentMessage:
    """One message of the last counted candidate.

    Attributes:
        role: who speaks.
        digest: SHA-256 of its canonical bytes, in hexadecimal.
        cost: its tokens, from an additive counter (C6); None from any other, and for a number outside
            [0, 2^64), which no such counter may answer.
    """

    role: MessageRole
    digest: str
    cost: int | None


@final
@attrs.frozen(kw_only=True)
class Attempt:
    """One full count.

    Attributes:
        removed_turns: turns left out of this candidate.
        plan_steps: steps of the plan applied.
        count: what the counter said.
        total_reserved: its total plus output reserve plus safety margin; fits when at most the window.
    """

    removed_turns: int
    plan_steps: int
    count: TokenCount
    total_reserved: int


@final
@attrs.frozen(kw_only=True)
class TurnRow:
    """What became of one turn, as the report writes it out.

    Attributes:
        turn_id: the turn.
        source_events: the events of its groups.
        retained: whether it stands in the last counted candidate.
        protected: whether it was pinned.
        reduction: what was done to it; None when nothing.
    """

    turn_id: TurnId
    source_events: tuple[EventId, ...]
    retained: bool
    protected: bool
    reduction: "ReductionKind | None"


@final
class ReductionKind(enum.Enum):
    """What was done to a turn; the value is its name on the wire."""

    DROPPED = "dropped"


@final
@attrs.frozen(kw_only=True)
class TurnLedger:
    """Every turn of the history and what became of it, without a row a turn.

    The sources are the projection's own; rows are made when the report is read or written, so that
    a build does not pay for the length of its history (B6).

    Attributes:
        sources: all turns, in order; shared with the projection.
        pinned: turns that no plan could name, in the order of the turns.
        reductions: what was done, in the order of the turns.
    """

    sources: tuple[TurnSources, ...]
    pinned: tuple[TurnId, ...]
    reductions: tuple[Reduction, ...]

    @property
    def rows(self) -> tuple[TurnRow, ...]:
        """One row a turn, in order; linear in the history."""
        pinned = frozenset(self.pinned)
        dropped = frozenset(reduction.turn_id for reduction in self.reductions)
        return tuple(
            [
                TurnRow(
                    turn_id=turn.turn_id,
                    source_events=turn.source_events,
                    retained=turn.turn_id not in dropped,
                    protected=turn.turn_id in pinned,
                    reduction=ReductionKind.DROPPED if turn.turn_id in dropped else None,
                )
                for turn in self.sources
            ]
        )


@final
@attrs.frozen(kw_only=True)
class BuildReport:
    """Why a request is what it is (B6). Ends with the last counted candidate.

    Attributes:
        algorithm_version: of the build.
        projection_version: of the projection it was built from.
        strategy: name of the strategy.
        search: what ran (never `AUTO`).
        session_id: whose log.
        source_tail: last event of that log; None when it was empty.
        source_event_count: its events.
        state_version: the host's own label, carried.
        target: for whom tokens were counted.
        budget: as given.
        limits: as given.
        system_messages: how many system texts.
        current_messages: how many current messages.
        turns: every turn of the history.
        attempts: every full count, in order.
        sent: the messages of the last counted candidate, in order.
        constraint_digest: SHA-256 of the constraint's canonical bytes.
        summary_digest: of the summary envelope; None without one.
        items_digest: of the item envelope; None without one.
    """

    algorithm_version: int
    projection_version: int
    strategy: str
    search: Search
    session_id: SessionId
    source_tail: EventId | None
    source_event_count: int
    state_version: str | None
    target: ContextTarget
    budget: ContextBudget
    limits: BuildLimits
    system_messages: int
    current_messages: int
    turns: TurnLedger
    attempts: tuple[Attempt, ...]
    sent: tuple[SentMessage, ...]
    constraint_digest: str
    summary_digest: str | None
    items_digest: str | None
