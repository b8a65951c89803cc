"""What messages cost, and whether a replacement is smaller (rules C6, R4)."""

from collections.abc import Iterable

from jingwei.messages.records import ModelMessage
from jingwei.messages.wire import message_bytes
from jingwei.request.counting import AdditiveCounter


def summed_cost(messages: Iterable[ModelMessage], costs: AdditiveCounter | None) -> int:
    """The message costs of an additive counter; canonical bytes where there is none."""
    return sum(map(message_bytes if costs is None else costs.message_cost, messages))


def is_smaller(
    replacement: Iterable[ModelMessage], original: Iterable[ModelMessage], costs: AdditiveCounter | None
) -> bool:
    """Whether condensed messages may stand for the original ones: they must cost less (R4).

    The build asks this with `Room.costs`, so that a strategy that asks the same proposes nothing that
    the build refuses.
    """
    return summed_cost(replacement, costs) < summed_cost(original, costs)
