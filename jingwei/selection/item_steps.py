"""The steps over context items that strategies of turns end with (rules S3, S4a, R4)."""

from collections.abc import Sequence

from jingwei.items.worth import DEFAULT_WEIGHTS, Weights
from jingwei.selection.choose import leaving_order
from jingwei.selection.exchanges import exchange_steps
from jingwei.selection.item_costs import weighed_items
from jingwei.selection.records import (
    DEFAULT_PREVIEW,
    Candidate,
    CondenseItem,
    DropItem,
    PlanStep,
    PreviewPolicy,
    Room,
)
from jingwei.selection.views import exchange_candidates, item_candidates


def tail_steps(
    candidates: Sequence[Candidate], room: Room, policy: PreviewPolicy = DEFAULT_PREVIEW
) -> tuple[PlanStep, ...]:
    """What comes when no turn is left: items, then exchanges of the running turn (R6)."""
    return (
        *item_steps(candidates, room),
        *exchange_steps(exchange_candidates(candidates), room, policy),
    )


def item_steps(
    candidates: Sequence[Candidate], room: Room, weights: Weights = DEFAULT_WEIGHTS
) -> tuple[PlanStep, ...]:
    """Items that have something shorter to say are condensed, then all that may go are left out.

    One a step; in both the lowest tier first, in a tier the least value per token first, and of equals the
    one with the greater id. Costs are those of the form in which an item stands when it is left out.
    """
    may_go = {candidate.index for candidate in item_candidates(candidates)}
    weighed = [one for one in weighed_items(room.items, weights, room.costs) if one.index in may_go]
    items = {one.option.key: one for one in weighed if not one.option.kept}
    order = [items[option.key] for option in leaving_order([one.option for one in items.values()])]
    return (
        *(PlanStep(reductions=(CondenseItem(item_id=one.item.item_id),)) for one in order if one.condensed),
        *(PlanStep(reductions=(DropItem(item_id=one.item.item_id),)) for one in order),
    )
