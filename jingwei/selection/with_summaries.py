"""Summaries in the place of the turns that they cover, and another strategy for the rest (rules S8, R4)."""

from collections.abc import Sequence
from itertools import chain
from typing import final

import attrs

from jingwei.ids import TurnId
from jingwei.messages.wire import message_bytes
from jingwei.selection.costs import is_smaller
from jingwei.selection.records import (
    Candidate,
    Plan,
    ReplaceTurnsBySummary,
    Room,
    SummaryCandidate,
    TurnCandidate,
)
from jingwei.selection.strategies import Strategy
from jingwei.selection.views import summary_candidates
from jingwei.summaries.records import Summary
from jingwei.summaries.render import summary_envelope


@final
@attrs.frozen
class WithSummaries:
    """First let every summary that costs less stand for its turns, then ask `inner` about the others.

    A summary is taken where its own envelope costs less than all turns that it covers together, by the
    measure of the build (R4); of two that share a turn, the earlier. The replacements are the plan's base,
    before that of `inner`. To `inner` the turns that were replaced are no candidates, and the summaries are
    part of what must stay.

    Attributes:
        inner: the strategy for everything else.
    """

    inner: Strategy

    @property
    def name(self) -> str:
        """The name of the inner strategy, with `_with_summaries` behind it."""
        return f"{self.inner.name}_with_summaries"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        """The plan of `inner` for what the summaries leave; its own plan where none is taken."""
        taken = _taken(candidates, room)
        if not taken:
            return self.inner.plan(candidates, room)
        summaries = tuple([room.summaries[candidate.index] for candidate in taken])
        gone = frozenset(chain.from_iterable([candidate.turn_ids for candidate in taken]))
        others = tuple([candidate for candidate in candidates if _is_left(candidate, gone)])
        inner = self.inner.plan(others, _with_required(room, summaries))
        base = [ReplaceTurnsBySummary(summary_id=candidate.summary_id) for candidate in taken]
        return attrs.evolve(inner, base=(*base, *inner.base))


def _taken(candidates: Sequence[Candidate], room: Room) -> tuple[SummaryCandidate, ...]:
    """The summaries that cost less than their turns, and share none with an earlier one."""
    count = len(room.summaries)
    offered = [candidate for candidate in summary_candidates(candidates) if 0 <= candidate.index < count]
    if not offered:
        return ()
    turns = {one.turn_id: one.position for one in candidates if isinstance(one, TurnCandidate)}
    gone, taken = set[TurnId](), list[SummaryCandidate]()
    for candidate in offered:
        covered = [turn_id for turn_id in candidate.turn_ids if turn_id in turns]
        envelope = summary_envelope((room.summaries[candidate.index],))
        messages = chain.from_iterable([room.turns[turns[turn_id]].messages for turn_id in covered])
        if (
            envelope is not None
            and gone.isdisjoint(candidate.turn_ids)
            and is_smaller((envelope,), messages, room.costs)
        ):
            taken.append(candidate)
            gone.update(candidate.turn_ids)
    return tuple(taken)


def _is_left(candidate: Candidate, gone: frozenset[TurnId]) -> bool:
    if isinstance(candidate, SummaryCandidate):
        return False
    return not isinstance(candidate, TurnCandidate) or candidate.turn_id not in gone


def _with_required(room: Room, summaries: tuple[Summary, ...]) -> Room:
    """The room once these summaries, and no others, must stay."""
    envelope = summary_envelope(summaries)
    added = () if envelope is None else (envelope,)
    return attrs.evolve(
        room,
        summaries=summaries,
        required=(*room.required, *added),
        required_bytes=room.required_bytes + sum(map(message_bytes, added)),
    )
