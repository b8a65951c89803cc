"""Condense large tool results of old turns before any turn is dropped (rules R4, T2, T3)."""

import enum
from collections.abc import Iterator, Sequence
from typing import Final, final

import attrs

from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.counting import AdditiveCounter
from jingwei.selection.condense import condensed_turn
from jingwei.selection.costs import is_smaller
from jingwei.selection.item_steps import tail_steps
from jingwei.selection.records import (
    DEFAULT_PREVIEW,
    Candidate,
    CondenseTurn,
    DropTurn,
    Plan,
    PlanStep,
    PreviewPolicy,
    Room,
    TurnCandidate,
)

KEEP_NEWEST: Final = 2
"""Turns that are never condensed: what the model did last it is likely to need word for word."""

BATCH_TURNS: Final = 8
"""Turns that are condensed in one step: each step changes the prefix of the request once, not eight times."""


@final
class PolicyProblem(enum.Enum):
    """Why sizes are no policy of condensing."""

    ZERO_PREVIEW = "zero_preview"
    PREVIEW_OVER_INLINE = "preview_over_inline"
    NEGATIVE_KEEP = "negative_keep"
    ZERO_BATCH = "zero_batch"


@final
@attrs.frozen(kw_only=True)
class InvalidPolicy:
    """Sizes with which a host cannot mean what it says.

    Attributes:
        reason: the first that is wrong.
        actual: its value.
        limit: the least it may be; for `PREVIEW_OVER_INLINE` the most.
    """

    reason: PolicyProblem
    actual: int
    limit: int


@final
@attrs.frozen(kw_only=True)
class CondenseThenDrop:
    """First previews for the large results of old turns, then whole turns, oldest first.

    Condensing goes in batches of turns that have something to condense, oldest first. Batches are counted
    from the oldest such turn, so that a history that grows keeps the batches that it had; only the last
    one is still filling. A condensed turn may be dropped later. Made by `condense_then_drop`, which
    refuses sizes that make no sense; `plan` is total with any.

    Attributes:
        costs: a measure of the host's own by which a preview must be smaller too; None for none. What
            the build measures by (R4) must say so in any case.
        keep_newest: so many of the newest turns with messages are never condensed, pinned ones counted.
        batch_turns: turns a condensing step.
        policy: which results are large, and how much of them a preview shows.
    """

    costs: AdditiveCounter | None = None
    keep_newest: int = KEEP_NEWEST
    batch_turns: int = BATCH_TURNS
    policy: PreviewPolicy = DEFAULT_PREVIEW

    @property
    def name(self) -> str:
        """`condense_then_drop`."""
        return "condense_then_drop"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        """No base; condensing steps, dropping steps, those over items, and over the running turn (R6).

        Linear in the groups of the history; only texts that may be large are read.
        """
        turns = [candidate for candidate in candidates if isinstance(candidate, TurnCandidate)]
        newest = _newest(room, self.keep_newest)
        shortened = [turn for turn in turns if turn.position < newest and self._shortens(turn, room)]
        dropped = [PlanStep(reductions=(DropTurn(turn_id=turn.turn_id),)) for turn in turns]
        return Plan(steps=(*self._batches(shortened), *dropped, *tail_steps(candidates, room, self.policy)))

    def _shortens(self, candidate: TurnCandidate, room: Room) -> bool:
        """Whether the turn has large results, and its previews cost less by each measure (R4)."""
        turn = room.turns[candidate.position]
        condensed = condensed_turn(turn, self.policy, room.session_id)
        if condensed is None:
            return False
        original = turn.messages
        return is_smaller(condensed.messages, original, room.costs) and (
            self.costs is None or is_smaller(condensed.messages, original, self.costs)
        )

    def _batches(self, turns: Sequence[TurnCandidate]) -> Iterator[PlanStep]:
        size = max(self.batch_turns, 1)
        for start in range(0, len(turns), size):
            batch = turns[start : start + size]
            yield PlanStep(
                reductions=tuple([CondenseTurn(turn_id=turn.turn_id, policy=self.policy) for turn in batch])
            )


def condense_then_drop(
    *,
    costs: AdditiveCounter | None = None,
    keep_newest: int = KEEP_NEWEST,
    batch_turns: int = BATCH_TURNS,
    policy: PreviewPolicy = DEFAULT_PREVIEW,
) -> Outcome[CondenseThenDrop, InvalidPolicy]:
    """The strategy for these sizes, or the first of them that makes no sense."""
    refused = policy_failure(policy)
    if refused is None and keep_newest < 0:
        refused = InvalidPolicy(reason=PolicyProblem.NEGATIVE_KEEP, actual=keep_newest, limit=0)
    if refused is None and batch_turns < 1:
        refused = InvalidPolicy(reason=PolicyProblem.ZERO_BATCH, actual=batch_turns, limit=1)
    if refused is not None:
        return Failure(refused)
    return Success(
        CondenseThenDrop(costs=costs, keep_newest=keep_newest, batch_turns=batch_turns, policy=policy)
    )


def policy_failure(policy: PreviewPolicy) -> InvalidPolicy | None:
    """What is wrong with the sizes of previews: none at all, or more than counts as large (T3)."""
    preview, inline = policy.preview_bytes, policy.inline_bytes
    if preview < 1:
        return InvalidPolicy(reason=PolicyProblem.ZERO_PREVIEW, actual=preview, limit=1)
    if preview > inline:
        return InvalidPolicy(reason=PolicyProblem.PREVIEW_OVER_INLINE, actual=preview, limit=inline)
    return None


def _newest(room: Room, keep: int) -> int:
    """The position from which on nothing is condensed; how many turns there are where all may be."""
    position, found = len(room.turns), 0
    while position and found < keep:
        position -= 1
        found += room.turns[position].message_count > 0
    return position
