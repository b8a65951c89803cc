"""Strategies: pure functions that propose what to leave out, and never decide (rule R1)."""

from collections.abc import Sequence
from typing import Final, Protocol, final

import attrs

from jingwei.selection.records import Candidate, DropTurn, Plan, PlanStep, Room


class Strategy(Protocol):
    """What a host may put in the place of `OldestTurnFirst`.

    A strategy is pure: equal candidates and room give an equal plan. `build` checks the plan
    (`InvalidPlan`), applies it, and counts every candidate request whole.
    """

    @property
    def name(self) -> str:
        """How the report names it; not blank."""
        ...

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        """A plan over these candidates, which stand in physical order."""
        ...


@final
@attrs.frozen
class OldestTurnFirst:
    """Drop unpinned turns, oldest to newest, one a step: the seeds' default (algorithm 1)."""

    @property
    def name(self) -> str:
        """`oldest_turn_first`."""
        return "oldest_turn_first"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        """No base, and one step a candidate in the order given."""
        steps = tuple([PlanStep(reductions=(DropTurn(turn_id=c.turn_id),)) for c in candidates])
        return Plan(steps=steps)


OLDEST_TURN_FIRST: Final = OldestTurnFirst()
"""The default strategy."""
