"""The algebra of what can be left out: candidates, reductions, plans (rules R1, R5; design section 3)."""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.ids import TurnId


@final
@attrs.frozen(kw_only=True)
class TurnCandidate:
    """A projected turn that may be left out: not pinned, and with at least one message (R5).

    Attributes:
        turn_id: its name in a plan.
        position: its index among all turns of the history, oldest first.
        message_count: messages it would free.
        canonical_bytes: canonical bytes it would free.
    """

    turn_id: TurnId
    position: int
    message_count: int
    canonical_bytes: int


Candidate: TypeAlias = TurnCandidate
"""Everything optional. Required material is no candidate, so that no plan can name it."""


@final
@attrs.frozen(kw_only=True)
class DropTurn:
    """Leave one whole turn out."""

    turn_id: TurnId


Reduction: TypeAlias = DropTurn
"""One step down for one candidate."""


@final
@attrs.frozen(kw_only=True)
class PlanStep:
    """Reductions that are applied together, or not at all."""

    reductions: tuple[Reduction, ...]


@final
@attrs.frozen(kw_only=True)
class Plan:
    """What a strategy proposes (R1).

    Attributes:
        base: left out in any case, before the first count.
        steps: a total order, least harm first; the build applies the fewest that make it fit.
    """

    base: tuple[Reduction, ...] = ()
    steps: tuple[PlanStep, ...] = ()


@final
@attrs.frozen(kw_only=True)
class Room:
    """What a strategy may know of the budget.

    Attributes:
        window_tokens: the whole window.
        reserved_tokens: output reserve and safety margin.
        required_bytes: canonical bytes of what is no candidate: system, current, constraint, pinned turns.
    """

    window_tokens: int
    reserved_tokens: int
    required_bytes: int


@final
class InvalidPlanReason(enum.Enum):
    """What a plan may not do (R1)."""

    UNKNOWN_CANDIDATE = "unknown_candidate"
    PINNED = "pinned"
    REPEATED = "repeated"


@final
@attrs.frozen(kw_only=True)
class InvalidPlan:
    """A host's strategy proposed what no plan may hold (R1).

    Attributes:
        step: index of the step; None for the base.
        reason: what it did.
        turn_id: the turn it named.
    """

    step: int | None
    reason: InvalidPlanReason
    turn_id: TurnId
