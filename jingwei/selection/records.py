"""The algebra of what can be left out or shortened: candidates, reductions, plans (rules R1 to R6)."""

import enum
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias, final

import attrs

from jingwei.ids import ItemId, SessionId, SummaryId, TurnId
from jingwei.items.records import ContextItem, ItemKind, Tier
from jingwei.limits import PREVIEW_BYTES, PREVIEW_INLINE_BYTES
from jingwei.messages.records import GenerationConstraint, ModelMessage, TextConstraint
from jingwei.projection.records import ProjectedTurn
from jingwei.request.counting import AdditiveCounter
from jingwei.selection.computed import View
from jingwei.summaries.records import Summary


@final
@attrs.frozen(kw_only=True)
class TurnCandidate:
    """A projected turn that may be left out: not pinned, and with at least one message (R5).

    Attributes:
        turn_id: its name in a plan.
        position: its index among all turns of the history, oldest first, and so in `Room.turns`.
        message_count: messages it would free.
        canonical_bytes: canonical bytes it would free.
    """

    turn_id: TurnId
    position: int
    message_count: int
    canonical_bytes: int


@final
@attrs.frozen(kw_only=True)
class ExchangeCandidate:
    """A finished tool group of the running turn that may be left out (R6); never the last one.

    Attributes:
        index: its name in a plan, and its index in `Room.exchanges`, oldest first.
        message_count: messages it would free.
        canonical_bytes: canonical bytes it would free.
    """

    index: int
    message_count: int
    canonical_bytes: int


@final
@attrs.frozen(kw_only=True)
class ItemCandidate:
    """A context item that may be left out: neither required nor pinned (S3).

    Attributes:
        item_id: its name in a plan.
        index: its index in `Room.items`.
        canonical_bytes: canonical bytes of its line in the envelope.
    """

    item_id: ItemId
    index: int
    canonical_bytes: int


@final
@attrs.frozen(kw_only=True)
class SummaryCandidate:
    """A summary that may stand for the turns it covers; none of them is pinned (S8).

    Attributes:
        summary_id: its name in a plan.
        index: its index in `Room.summaries`.
        turn_ids: the turns that it stands for, oldest first.
    """

    summary_id: SummaryId
    index: int
    turn_ids: tuple[TurnId, ...]


Candidate: TypeAlias = TurnCandidate | ExchangeCandidate | ItemCandidate | SummaryCandidate
"""Everything optional. Required material is no candidate, so that no plan can name it."""


@final
@attrs.frozen(kw_only=True)
class PreviewPolicy:
    """Which results of tools are large, and what stays of them (T3).

    Attributes:
        inline_bytes: a text of more UTF-8 bytes than this is shown as a preview.
        preview_bytes: the most UTF-8 bytes that a preview shows; not more than `inline_bytes`.
    """

    inline_bytes: int = PREVIEW_INLINE_BYTES
    preview_bytes: int = PREVIEW_BYTES


DEFAULT_PREVIEW: PreviewPolicy = PreviewPolicy()
"""The sizes of T3."""


@final
@attrs.frozen(kw_only=True)
class DropTurn:
    """Leave one whole turn out, in whatever rendition it stands."""

    turn_id: TurnId


@final
@attrs.frozen(kw_only=True)
class CondenseTurn:
    """Show the large tool results of one turn as previews (R4)."""

    turn_id: TurnId
    policy: PreviewPolicy = DEFAULT_PREVIEW


@final
@attrs.frozen(kw_only=True)
class DropExchange:
    """Leave one finished tool group of the running turn out (R6)."""

    index: int


@final
@attrs.frozen(kw_only=True)
class CondenseExchange:
    """Show the large results of one finished tool group of the running turn as previews (R4, R6)."""

    index: int
    policy: PreviewPolicy = DEFAULT_PREVIEW


@final
@attrs.frozen(kw_only=True)
class DropItem:
    """Leave one context item out, in whatever form it stands."""

    item_id: ItemId


@final
@attrs.frozen(kw_only=True)
class CondenseItem:
    """Let one context item say its short content (S4a, R4)."""

    item_id: ItemId


@final
@attrs.frozen(kw_only=True)
class ReplaceTurnsBySummary:
    """Leave out all turns that a summary covers, and let the summary stand before the history (S8, R4).

    What was done to them before is undone by it; none of them may have been dropped.
    """

    summary_id: SummaryId


TurnReduction: TypeAlias = DropTurn | CondenseTurn
"""What can be done to a turn of the history: to condense it, to drop it, or the one and later the other."""

ExchangeReduction: TypeAlias = DropExchange | CondenseExchange
"""What can be done to an exchange of the running turn, in the same way."""


@final
@attrs.frozen(kw_only=True)
class SummarizedTurn:
    """What became of a turn that a summary stands for: no plan names it, `ReplaceTurnsBySummary` does it."""

    turn_id: TurnId
    summary_id: SummaryId


TurnEnd: TypeAlias = TurnReduction | SummarizedTurn
"""What a report says was done to a turn."""

ItemReduction: TypeAlias = DropItem | CondenseItem
"""What can be done to a context item, in the same way."""

Reduction: TypeAlias = TurnReduction | ExchangeReduction | ItemReduction | ReplaceTurnsBySummary
"""One step down for one candidate."""


@final
@attrs.frozen(kw_only=True)
class Condensed:
    """A turn or an exchange with its large results as previews: what a condensing reduction sends instead.

    Attributes:
        messages: as many as before, in the same order; roles, call ids and statuses are the same.
        results: how many results were shortened; at least one.
        canonical_bytes: canonical bytes of the messages.
    """

    messages: tuple[ModelMessage, ...]
    results: int
    canonical_bytes: int


@final
@attrs.frozen(kw_only=True)
class Exchange:
    """A finished tool group of the running turn: an assistant message with calls, and all their results.

    Attributes:
        index: its number among the exchanges of `current`, from 0.
        place: index in `current` of its assistant message; the others follow it without a gap.
        messages: the group, whole.
        canonical_bytes: canonical bytes of the messages.
    """

    index: int
    place: int
    messages: tuple[ModelMessage, ...]
    canonical_bytes: int


@final
@attrs.frozen(kw_only=True)
class PlanStep:
    """Reductions that are applied together, or not at all."""

    reductions: tuple[Reduction, ...]


@final
@attrs.frozen(kw_only=True)
class PrefixMarks:
    """Where the fold of `stable_prefix` stands after the whole history (R2).

    Attributes:
        high: the cut is held while the turns behind it cost at most this.
        low: when it moves, the turns behind it cost at most this.
        cut: the first turn that is kept; None where the history is empty, or none of it is kept.
        moves: how often the cut has moved.
        kept_cost: what the turns behind the cut cost by the strategy's counter, pinned ones included.
    """

    high: int
    low: int
    cut: TurnId | None
    moves: int
    kept_cost: int


@final
class ChoiceReason(enum.Enum):
    """Why something was chosen or left out by value (S4a, S7, R3).

    The first six say why it is in: it must be, a floor asked for its kind, its value per token, it was worth
    more than all that were cheaper, a pinned turn, or nothing had to be left out. The others say why not;
    the last one that the base kept it, and the full count did not.
    """

    REQUIRED = "required"
    PINNED = "pinned"
    FLOOR = "floor"
    VALUE = "value"
    SINGLE_BEST = "single_best"
    ROOM_FOR_ALL = "room_for_all"
    CEILING = "ceiling"
    NO_ROOM = "no_room"
    STICKY = "sticky"
    FULL_COUNT = "full_count"


@final
@attrs.frozen(kw_only=True)
class ChoiceRow:
    """One thing that was weighed, and what came of it (S7).

    Attributes:
        turn_id: the turn; None for an item.
        item_id: the item; None for a turn.
        tier: what its tier counted as.
        kind: the kind of an item; None for a turn.
        worth: its whole value, exact (S2).
        cost: what it costs in tokens, by the counter where that is additive.
        chosen: whether the plan's base keeps it.
        reason: why.
    """

    turn_id: TurnId | None
    item_id: ItemId | None
    tier: Tier
    kind: ItemKind | None
    worth: Fraction
    cost: int
    chosen: bool
    reason: ChoiceReason


@final
@attrs.frozen(kw_only=True)
class SelectionState:
    """What one choice hands to the next, so that what was left out does not flicker (R3).

    Attributes:
        left_out_turns: turns that were left out, oldest first.
        left_out_items: items that were left out, by id.
        available: the tokens that there were to give; more of them let everything come back.
        moves: how often the marks had moved (R2); one more move lets everything come back.
    """

    left_out_turns: tuple[TurnId, ...]
    left_out_items: tuple[ItemId, ...]
    available: int
    moves: int


@final
@attrs.frozen(kw_only=True)
class Selection:
    """A choice by value (R3): every candidate with its reason, and the state for the next choice."""

    rows: tuple[ChoiceRow, ...]
    state: SelectionState


@final
@attrs.frozen(kw_only=True)
class Plan:
    """What a strategy proposes (R1).

    Attributes:
        base: made in any case, before the first count. Base and steps may be computed when they are read,
            which is what the strategies of this library do; a host gives tuples.
        steps: a total order, least harm first; the build applies the fewest that make it fit.
        marks: where a cut by marks stands (R2), for the report; None from any other strategy.
        selection: a choice by value (R3), for the report; None from any other strategy.
    """

    base: tuple[Reduction, ...] | View[Reduction] = ()
    steps: tuple[PlanStep, ...] | View[PlanStep] = ()
    marks: PrefixMarks | None = None
    selection: Selection | None = None


@final
@attrs.frozen(kw_only=True)
class Room:
    """What a strategy may know of the history and of the budget.

    Attributes:
        window_tokens: the whole window.
        reserved_tokens: output reserve and safety margin.
        required_bytes: canonical bytes of what is no candidate: system, current, constraint, pinned turns.
        session_id: whose history it is; a preview of a result refers to it.
        turns: the whole history, pinned turns too; `TurnCandidate.position` is an index into it.
        exchanges: all finished tool groups of the running turn, the last one too; empty unless the host
            let them be candidates (R6).
        items: all context items, those that must stay too, in the order of S4.
        summaries: the active summaries of this session, oldest first.
        required: every message that no plan can shorten or leave out, in the order sent: system texts,
            pinned turns, the items that must stay, current.
        constraint: the form of the answer.
        costs: the build's own counter where it is additive, else None: what a replacement must be smaller
            by (R4; `is_smaller` in selection/costs.py is how the build asks it).
    """

    window_tokens: int
    reserved_tokens: int
    required_bytes: int
    session_id: SessionId = SessionId("")  # noqa: RUF009  # immutable
    turns: Sequence[ProjectedTurn] = ()
    exchanges: tuple[Exchange, ...] = ()
    items: tuple[ContextItem, ...] = ()
    summaries: tuple[Summary, ...] = ()
    required: tuple[ModelMessage, ...] = ()
    constraint: GenerationConstraint = TextConstraint()  # noqa: RUF009  # immutable
    costs: AdditiveCounter | None = None

    @property
    def required_tokens(self) -> int | None:
        """What is required costs, the constraint too (C6); None without an additive counter."""
        if self.costs is None:
            return None
        return self.costs.fixed_cost(self.constraint) + sum(map(self.costs.message_cost, self.required))


@final
class InvalidPlanReason(enum.Enum):
    """What a plan may not do (R1, R4)."""

    UNKNOWN_CANDIDATE = "unknown_candidate"
    PINNED = "pinned"
    REPEATED = "repeated"
    ALREADY_CONDENSED = "already_condensed"
    NOTHING_TO_CONDENSE = "nothing_to_condense"
    NOT_SMALLER = "not_smaller"


@final
@attrs.frozen(kw_only=True)
class InvalidPlan:
    """A host's strategy proposed what no plan may hold (R1, R4).

    Attributes:
        step: index of the step; None for the base.
        reason: what it did.
        turn_id: the turn it named; None where it named something else.
        exchange: the index of the exchange it named; None where it named something else.
        item_id: the item it named; None where it named something else.
        summary_id: the summary it named; None where it named something else.
    """

    step: int | None
    reason: InvalidPlanReason
    turn_id: TurnId | None
    exchange: int | None = None
    item_id: ItemId | None = None
    summary_id: SummaryId | None = None
