"""What an item or a turn is worth, and what it is worth per token (rules S2, S3). All arithmetic is exact."""

import enum
import math
from fractions import Fraction
from typing import Final, Protocol, TypeAlias, assert_never, final

import attrs

from jingwei.items.records import ZERO, Tier
from jingwei.limits import ITEM_DENOMINATOR_MAX, ITEM_PRIORITY_MAX, TOKENS_BOUND
from jingwei.outcome import Failure, Outcome, Success

Number: TypeAlias = int | float | Fraction
"""A number as a host writes it; a float stands for the very value that it holds."""


class Valued(Protocol):
    """What has the four numbers of S2: an item, or a turn that a host speaks of."""

    @property
    def priority(self) -> int:
        """In [0, 1000]."""
        ...

    @property
    def relevance(self) -> Fraction:
        """In [0, 1]."""
        ...

    @property
    def freshness(self) -> Fraction:
        """In [0, 1]."""
        ...

    @property
    def trust(self) -> Fraction:
        """In [0, 1]."""
        ...


@final
@attrs.frozen(kw_only=True)
class Weights:
    """How much each of the four numbers counts (S2). Made by `weights`, which refuses what says nothing.

    Attributes:
        priority: what one point of priority is worth; a priority goes up to 1000, the others up to 1.
        relevance: what full relevance is worth.
        freshness: what full freshness is worth.
        trust: what full trust is worth.
    """

    priority: Fraction = Fraction(1, ITEM_PRIORITY_MAX)
    relevance: Fraction = Fraction(1)
    freshness: Fraction = Fraction(1)
    trust: Fraction = Fraction(1)


DEFAULT_WEIGHTS: Final = Weights()
"""All four count alike: each is worth 1 where it is highest."""


@final
class WeightReason(enum.Enum):
    """Why a number is no weight (S2)."""

    NOT_A_NUMBER = "not_a_number"
    INFINITE = "infinite"
    NEGATIVE = "negative"
    TOO_LARGE = "too_large"
    TOO_FINE = "too_fine"
    ALL_ZERO = "all_zero"


@final
@attrs.frozen(kw_only=True)
class InvalidWeights:
    """Weights by which nothing can be compared (S2).

    Attributes:
        field: the first weight that is wrong; None where all of them are zero.
        reason: the check.
    """

    field: str | None
    reason: WeightReason


def weights(
    *,
    priority: Number = DEFAULT_WEIGHTS.priority,
    relevance: Number = DEFAULT_WEIGHTS.relevance,
    freshness: Number = DEFAULT_WEIGHTS.freshness,
    trust: Number = DEFAULT_WEIGHTS.trust,
) -> Outcome[Weights, InvalidWeights]:
    """Weights from numbers of a host: each in [0, 2^64), and one above zero.

    Refused, in this order and field by field: not a number, infinite, negative, 2^64 or more, a
    denominator of more than 2^1074; then all zero.
    """
    given = (priority, relevance, freshness, trust)
    for field, number in zip(_FIELDS, given, strict=True):
        reason = _reason(number)
        if reason is not None:
            return Failure(InvalidWeights(field=field, reason=reason))
    if not any(given):
        return Failure(InvalidWeights(field=None, reason=WeightReason.ALL_ZERO))
    return Success(
        Weights(
            priority=Fraction(priority),
            relevance=Fraction(relevance),
            freshness=Fraction(freshness),
            trust=Fraction(trust),
        )
    )


def weights_failure(made: Weights) -> InvalidWeights | None:
    """What is wrong with weights that were put together by hand; None when they could be made."""
    again = weights(
        priority=made.priority, relevance=made.relevance, freshness=made.freshness, trust=made.trust
    )
    match again:
        case Success():
            return None
        case Failure(refused):
            return refused
        case _:
            assert_never(again)


def worth_of(valued: Valued, by: Weights = DEFAULT_WEIGHTS) -> Fraction:
    """Its whole value: each of the four numbers times its weight (S2). Exact."""
    return (
        by.priority * valued.priority
        + by.relevance * valued.relevance
        + by.freshness * valued.freshness
        + by.trust * valued.trust
    )


def per_token(worth: Fraction, cost: int) -> Fraction:
    """Value per token (S2); what costs nothing counts as one token."""
    return worth / max(cost, 1)


@final
@attrs.frozen(kw_only=True)
class TurnWorth:
    """What a host says of one turn of the history (S3); the four numbers as those of an item.

    Attributes:
        tier: how much it matters; whatever stands here, a turn is kept for certain only by a pin.
        priority: in [0, 1000].
        relevance: in [0, 1].
        freshness: in [0, 1].
        trust: in [0, 1].
    """

    tier: Tier = Tier.P3
    priority: int = 0
    relevance: Fraction = ZERO
    freshness: Fraction = ZERO
    trust: Fraction = ZERO


def turn_worth(position: int, turns: int) -> TurnWorth:
    """What a turn is worth of which the host says nothing: `P3`, and as fresh as it is near the end.

    The newest turn has the freshness 1, the oldest 1 by the number of turns; the steps between are equal.

    Args:
        position: its index, oldest first, in [0, turns).
        turns: how many turns the history has; at least 1.
    """
    return TurnWorth(freshness=Fraction(position + 1, turns))


_FIELDS: Final = ("priority", "relevance", "freshness", "trust")


def _reason(number: Number) -> WeightReason | None:
    if isinstance(number, float) and math.isnan(number):
        return WeightReason.NOT_A_NUMBER
    if isinstance(number, float) and math.isinf(number):
        return WeightReason.INFINITE
    if number < 0:
        return WeightReason.NEGATIVE
    if number >= TOKENS_BOUND:
        return WeightReason.TOO_LARGE
    if isinstance(number, Fraction) and number.denominator > ITEM_DENOMINATOR_MAX:
        return WeightReason.TOO_FINE
    return None
