"""Strategies: pure functions that propose what to leave out, and never decide (rule R1)."""

from collections.abc import Sequence
from typing import Final, Protocol, final

import attrs

from jingwei.selection.item_steps import tail_steps
from jingwei.selection.records import Candidate, Plan, Room
from jingwei.selection.views import oldest_first


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
    """Drop unpinned turns, oldest to newest, one a step: the seeds' default (algorithm 1).

    Then context items go (S3), and where the host let exchanges of the running turn be candidates (R6),
    their steps come last.
    """

    @property
    def name(self) -> str:
        """`oldest_turn_first`."""
        return "oldest_turn_first"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        """No base, and one step a turn in the order given; what is not looked at costs nothing."""
        return oldest_first(candidates, tail_steps(candidates, room))


OLDEST_TURN_FIRST: Final = OldestTurnFirst()
"""The default strategy."""
