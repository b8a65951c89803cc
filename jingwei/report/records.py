"""The report of a build (rule B6): derived data, without authority over the log it speaks of."""

import enum
from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never, final

import attrs

from jingwei.ids import EventId, ItemId, ProviderCallId, SessionId, SummaryId, TurnId
from jingwei.items.records import ItemKind, ItemSource, Tier
from jingwei.projection.records import TurnSources
from jingwei.report.cache import CachePlan
from jingwei.request.records import BuildLimits, ContextBudget, ContextTarget, TokenCount
from jingwei.selection.records import (
    ChoiceReason,
    CondenseExchange,
    CondenseItem,
    CondenseTurn,
    DropExchange,
    DropItem,
    DropTurn,
    PreviewPolicy,
    Reduction,
    ReplaceTurnsBySummary,
    Selection,
    SummarizedTurn,
    TurnEnd,
)
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
class ReductionKind(enum.Enum):
    """What was done to a turn, an exchange or an item; the value is its name on the wire."""

    DROPPED = "dropped"
    CONDENSED = "condensed"
    SUMMARIZED = "summarized"


@final
@attrs.frozen(kw_only=True)
class TurnRow:
    """What became of one turn, as the report writes it out.

    Attributes:
        turn_id: the turn.
        source_events: the events of its groups.
        retained: whether it stands in the last counted candidate, in full or condensed.
        protected: whether it was pinned.
        reduction: what was done to it; None when nothing.
        policy: what counted as large; None unless it was condensed.
        summary_id: the summary that stands for it; None unless it was summarized.
        viewed: whether its exchanges are sent as views (T7), and not as the log recorded them.
    """

    turn_id: TurnId
    source_events: tuple[EventId, ...]
    retained: bool
    protected: bool
    reduction: ReductionKind | None
    policy: PreviewPolicy | None = None
    summary_id: SummaryId | None = None
    viewed: bool = False


@final
@attrs.frozen(kw_only=True)
class TurnLedger:
    """Every turn of the history and what became of it, without a row a turn.

    The sources are the projection's own, and reductions may be computed when they are read; rows are
    made when the report is read or written, so that a build does not pay for the length of its history
    (B6). Equal to the ledger of the same tuples.

    Attributes:
        sources: all turns, in order; shared with the projection.
        pinned: turns that no plan could name, in the order of the turns.
        reductions: what was done, in the order of the turns, one a turn: a turn that was condensed and
            then dropped was dropped.
        viewed: turns whose exchanges are sent as views (T7), in the order of the turns.
    """

    sources: Sequence[TurnSources]
    pinned: tuple[TurnId, ...]
    reductions: Sequence[TurnEnd]
    viewed: tuple[TurnId, ...] = ()

    @property
    def rows(self) -> tuple[TurnRow, ...]:
        """One row a turn, in order; linear in the history."""
        pinned, viewed = frozenset(self.pinned), frozenset(self.viewed)
        done = {reduction.turn_id: reduction for reduction in self.reductions}
        return tuple(
            [
                _turn_row(turn, done.get(turn.turn_id), turn.turn_id in pinned, turn.turn_id in viewed)
                for turn in self.sources
            ]
        )


def _turn_row(turn: TurnSources, reduction: TurnEnd | None, protected: bool, viewed: bool) -> TurnRow:
    return TurnRow(
        turn_id=turn.turn_id,
        source_events=turn.source_events,
        retained=not isinstance(reduction, DropTurn | SummarizedTurn),
        protected=protected,
        reduction=kind_of(reduction),
        policy=reduction.policy if isinstance(reduction, CondenseTurn) else None,
        summary_id=reduction.summary_id if isinstance(reduction, SummarizedTurn) else None,
        viewed=viewed,
    )


def kind_of(reduction: Reduction | SummarizedTurn | None) -> ReductionKind | None:
    """What a reduction does; None for none."""
    match reduction:
        case None:
            return None
        case DropTurn() | DropExchange() | DropItem():
            return ReductionKind.DROPPED
        case CondenseTurn() | CondenseExchange() | CondenseItem():
            return ReductionKind.CONDENSED
        case SummarizedTurn() | ReplaceTurnsBySummary():
            return ReductionKind.SUMMARIZED
        case _:
            assert_never(reduction)


@final
@attrs.frozen(kw_only=True)
class ExchangeRow:
    """What became of one finished tool group of the running turn (R6).

    Attributes:
        call_ids: the calls of the group, in order.
        retained: whether it stands in the last counted candidate, in full or condensed.
        reduction: what was done to it; None when nothing.
        policy: what counted as large; None unless it was condensed.
    """

    call_ids: tuple[ProviderCallId, ...]
    retained: bool
    reduction: ReductionKind | None
    policy: PreviewPolicy | None = None


@final
@attrs.frozen(kw_only=True)
class ItemRow:
    """What became of one context item, and why (S7).

    Attributes:
        item_id: the item.
        kind: what it is.
        tier: the tier that counted.
        source: who wrote it.
        source_ref: the host's reference to the original.
        source_events: events of the log that it comes from.
        recall_score: its relevance, as the host gave it.
        retained: whether it stands in the last counted candidate, in full or condensed.
        protected: whether it had to.
        reduction: what was done to it; None when nothing.
        reason: why it is in the request, or is not.
        full_cost: tokens of its line in full, from an additive counter (C6); None from any other.
        cost: the same of what is sent of it: less where it is condensed, 0 where it is left out.
    """

    item_id: ItemId
    kind: ItemKind
    tier: Tier
    source: ItemSource
    source_ref: str | None
    source_events: tuple[EventId, ...]
    recall_score: Fraction
    retained: bool
    protected: bool
    reduction: ReductionKind | None
    reason: ChoiceReason
    full_cost: int | None
    cost: int | None


@final
@attrs.frozen(kw_only=True)
class SummaryRow:
    """One summary that could stand for turns, and whether it does (S8).

    Attributes:
        summary_id: the summary.
        version: its version.
        first_seq: the first event that it covers.
        last_seq: the last one.
        applied: whether it stands in the last counted candidate, instead of its turns.
    """

    summary_id: SummaryId
    version: int
    first_seq: int
    last_seq: int
    applied: bool


@final
@attrs.frozen(kw_only=True)
class ReportedMarks:
    """Where a cut by marks stood, and whether this request kept to it (R2).

    Attributes:
        high: the cut is held while the turns behind it cost at most this.
        low: when it moves, the turns behind it cost at most this.
        cut: the first turn that is kept; None where the history is empty, or none of it is kept.
        moves: how often the cut has moved since the session began.
        kept_cost: what the turns behind the cut cost by the strategy's counter, pinned ones included.
        broke: True where the full count needed steps beyond the cut: a break for this build only.
    """

    high: int
    low: int
    cut: TurnId | None
    moves: int
    kept_cost: int
    broke: bool


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
        current_messages: how many of the messages sent are current ones: all of them, unless exchanges
            were dropped (R6).
        turns: every turn of the history.
        attempts: every full count, in order.
        sent: the messages of the last counted candidate, in order.
        constraint_digest: SHA-256 of the constraint's canonical bytes.
        summary_digest: of the summary envelope; None without one.
        items_digest: of the item envelope; None without one.
        marks: the cut of a strategy with marks (R2); None from any other.
        exchanges: every finished tool group of the running turn, in order; None unless the host let them
            be candidates (R6).
        cache: how the request continues the previous one (B9); None without a previous report.
        items: every context item, in the order of the envelope; None without any.
        summaries: every summary that could stand for turns; None without any.
        selection: the choice of a strategy by value, with the state for the next one (R3); None otherwise.
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
    marks: ReportedMarks | None = None
    exchanges: tuple[ExchangeRow, ...] | None = None
    cache: CachePlan | None = None
    items: tuple[ItemRow, ...] | None = None
    summaries: tuple[SummaryRow, ...] | None = None
    selection: Selection | None = None
