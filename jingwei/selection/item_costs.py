"""What items cost and are worth, and whether what one may say instead costs less (rules C6, R4, S2)."""

from collections.abc import Sequence
from typing import Final, final

import attrs

from jingwei.items.envelope import ITEMS_BEGIN, ITEMS_END, item_line
from jingwei.items.records import ZERO, ContextItem
from jingwei.items.worth import Weights, worth_of
from jingwei.messages.records import ModelMessage, UserMessage
from jingwei.messages.wire import message_bytes
from jingwei.request.counting import AdditiveCounter
from jingwei.selection.choose import Option
from jingwei.selection.costs import is_smaller

BYTES_PER_TOKEN: Final = 4
"""What a token is taken to be where no counter adds up (C2)."""


def estimated_cost(message: ModelMessage, costs: AdditiveCounter | None) -> int:
    """What a message costs by an additive counter; without one, its canonical bytes by four, rounded up."""
    if costs is None:
        return tokens_of_bytes(message_bytes(message))
    return max(costs.message_cost(message), 0)


def tokens_of_bytes(size: int) -> int:
    """Bytes by four, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def line_message(item: ContextItem, *, short: bool = False) -> UserMessage:
    """A message of an item's line alone: its cost stands for that of the line, and is rather too high.

    All items share one envelope, so that the frame of a message is paid once, not once for each.
    """
    return UserMessage(content=item_line(item, short=short))


def says_less(item: ContextItem, costs: AdditiveCounter | None) -> bool:
    """Whether it has something shorter to say, by the measure of the build (R4)."""
    if item.short is None:
        return False
    return is_smaller((line_message(item, short=True),), (line_message(item),), costs)


def frame_cost(costs: AdditiveCounter | None) -> int:
    """What the envelope costs around the lines."""
    return estimated_cost(UserMessage(content=ITEMS_BEGIN + ITEMS_END), costs)


@final
@attrs.frozen(kw_only=True)
class WeighedItem:
    """An item as it would stand in a request.

    Attributes:
        item: what it is.
        index: its index among the items of the room.
        condensed: whether it stands with its shorter content.
        option: its cost in that form, and its worth; the rank is its place by id.
    """

    item: ContextItem
    index: int
    condensed: bool
    option: Option


def weighed_items(
    items: Sequence[ContextItem], weights: Weights, costs: AdditiveCounter | None
) -> tuple[WeighedItem, ...]:
    """The items of a room in their order, each with its cost and its worth.

    What must stay stands in full, since no plan can shorten it; any other stands with its shorter content,
    where that costs less.
    """
    by_id = sorted(range(len(items)), key=lambda index: (items[index].item_id, index))
    ranks = {index: rank for rank, index in enumerate(by_id)}
    weighed = list[WeighedItem]()
    for index, item in enumerate(items):
        condensed = not item.is_kept and says_less(item, costs)
        option = Option(
            key=f"item {index}",
            tier=item.held_tier,
            kind=item.kind,
            cost=estimated_cost(line_message(item, short=condensed), costs),
            worth=max(worth_of(item, weights), ZERO),
            rank=ranks[index],
            kept=item.is_kept,
        )
        weighed.append(WeighedItem(item=item, index=index, condensed=condensed, option=option))
    return tuple(weighed)
