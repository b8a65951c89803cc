"""The algebra of what can be left out or shortened: candidates, reductions, plans (rules R1 to R6)."""

import enum
from collections.abc import Sequence
from typing import TypeAlias, final

import attrs

from jingwei.ids import SessionId, TurnId
from jingwei.limits import PREVIEW_BYTES, PREVIEW_INLINE_BYTES
from jingwei.messages.records import ModelMessage
from jingwei.projection.records import ProjectedTurn
from jingwei.request.counting import AdditiveCounter
from jingwei.selection.computed import View


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


Candidate: TypeAlias = TurnCandidate | ExchangeCandidate
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


TurnReduction: TypeAlias = DropTurn | CondenseTurn
"""What can be done to a turn of the history: to condense it, to drop it, or the one and later the other."""

ExchangeReduction: TypeAlias = DropExchange | CondenseExchange
"""What can be done to an exchange of the running turn, in the same way."""

Reduction: TypeAlias = TurnReduction | ExchangeReduction
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
@attrs.frozen(kw_only=True)
class Plan:
    """What a strategy proposes (R1).

    Attributes:
        base: made in any case, before the first count. Base and steps may be computed when they are read,
            which is what the strategies of this library do; a host gives tuples.
        steps: a total order, least harm first; the build applies the fewest that make it fit.
        marks: where a cut by marks stands (R2), for the report; None from any other strategy.
    """

    base: tuple[Reduction, ...] | View[Reduction] = ()
    steps: tuple[PlanStep, ...] | View[PlanStep] = ()
    marks: PrefixMarks | None = None


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
        costs: the build's own counter where it is additive, else None: what a replacement must be smaller
            by (R4; `is_smaller` in selection/costs.py is how the build asks it).
    """

    window_tokens: int
    reserved_tokens: int
    required_bytes: int
    session_id: SessionId = SessionId("")  # noqa: RUF009  # immutable
    turns: Sequence[ProjectedTurn] = ()
    exchanges: tuple[Exchange, ...] = ()
    costs: AdditiveCounter | None = None


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
        turn_id: the turn it named; None where it named an exchange.
        exchange: the index of the exchange it named; None where it named a turn.
    """

    step: int | None
    reason: InvalidPlanReason
    turn_id: TurnId | None
    exchange: int | None = None
