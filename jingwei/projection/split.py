"""The open turn at the end of a log, taken off: a build wants closed turns and `current` (rule B2)."""

from typing import final

import attrs

from jingwei.messages.records import ModelMessage
from jingwei.projection.records import ProjectedState, Projection


@final
@attrs.frozen(kw_only=True)
class SplitProjection:
    """A projection without its open turn, and what that turn said.

    Attributes:
        history: the closed turns.
        current: the open turn's messages: its user message, or nothing where no turn is open.
    """

    history: Projection
    current: tuple[ModelMessage, ...]


def split_open_turn(projection: Projection) -> SplitProjection:
    """Take the open turn, if there is one, off the history, so that it can be built as `current`.

    Only the last turn can be open, and it holds its user message alone (P5). Source tail, source
    count and omissions still speak of the whole log.
    """
    if not projection.turns or projection.turns[-1].state is not ProjectedState.OPEN:
        return SplitProjection(history=projection, current=())
    last = projection.turns[-1]
    history = attrs.evolve(
        projection,
        turns=projection.turns[:-1],
        sources=projection.sources[:-1],
        group_count=projection.group_count - len(last.groups),
        message_count=projection.message_count - last.message_count,
        canonical_bytes=projection.canonical_bytes - last.canonical_bytes,
    )
    return SplitProjection(history=history, current=tuple(last.messages))
