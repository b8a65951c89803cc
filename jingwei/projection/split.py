"""The open turn at the end of a log, taken off: a build wants closed turns and `current` (rule B2)."""

from typing import final

import attrs

from jingwei.messages.records import ModelMessage
from jingwei.messages.shape import index_of
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

    In a projection of a log only the last turn can be open, and it holds its user message alone (P5);
    one that was admitted from outside may state otherwise, and is split at its last turn all the same.
    Source tail, source count and omissions still speak of the whole log.
    """
    if not projection.turns or projection.turns[-1].state is not ProjectedState.OPEN:
        return SplitProjection(history=projection, current=())
    last = projection.turns[-1]
    closed, silent = len(projection.turns) - 1, projection.silent
    left = projection.message_count - last.message_count
    broken = projection.shape_failure
    index = None if broken is None else index_of(broken)
    gone = index is not None and index >= left
    history = attrs.evolve(
        projection,
        shape_failure=None if gone else broken,
        turns=projection.turns.first(closed),
        sources=projection.sources.first(closed),
        open_turn=projection.open_turn if projection.open_turn != closed else None,
        silent=silent.first(len(silent) - 1) if silent and silent[-1] == closed else silent,
        group_count=projection.group_count - len(last.groups),
        message_count=left,
        canonical_bytes=projection.canonical_bytes - last.canonical_bytes,
    )
    return SplitProjection(history=history, current=last.messages)
