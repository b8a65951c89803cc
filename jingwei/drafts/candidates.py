"""What a build starts from: what is given besides the history, and the candidates (rules R1, R5, R6)."""

from collections.abc import Iterable
from typing import final

import attrs

from jingwei.ids import TurnId
from jingwei.messages.records import GenerationConstraint, ModelMessage, SystemMessage
from jingwei.messages.wire import constraint_bytes, message_bytes
from jingwei.projection.records import Projection
from jingwei.request.counting import AdditiveCounter
from jingwei.request.records import ContextBudget
from jingwei.selection.exchanges import exchanges_of
from jingwei.selection.records import Exchange, ExchangeCandidate, Room
from jingwei.selection.views import Candidates, Spared


@final
@attrs.frozen(kw_only=True)
class Frame:
    """What a build is given besides the history, measured once.

    Attributes:
        system: the host's instructions, as messages.
        current: the running turn.
        constraint: the form of the answer.
        exchanges: the finished tool groups of `current`; None unless the host let them be candidates.
        canonical_bytes: canonical bytes of system, current and constraint.
    """

    system: tuple[SystemMessage, ...]
    current: tuple[ModelMessage, ...]
    constraint: GenerationConstraint
    exchanges: tuple[Exchange, ...] | None
    canonical_bytes: int

    @property
    def message_count(self) -> int:
        """Messages of system and current."""
        return len(self.system) + len(self.current)


def frame_of(
    system: Iterable[str],
    current: tuple[ModelMessage, ...],
    constraint: GenerationConstraint,
    *,
    reduce_current: bool,
) -> Frame:
    """The frame of these parts; the one place where they are measured."""
    instructions = tuple([SystemMessage(content=text) for text in system])
    sizes = sum(map(message_bytes, instructions)) + sum(map(message_bytes, current))
    return Frame(
        system=instructions,
        current=current,
        constraint=constraint,
        exchanges=exchanges_of(current) if reduce_current else None,
        canonical_bytes=sizes + constraint_bytes(constraint),
    )


def pinned_positions(history: Projection, pinned: Iterable[TurnId]) -> tuple[int, ...]:
    """Where the pinned turns stand, increasing; ids of no turn are passed over.

    Looks from the newest turn back until all are found; a build without pins looks at nothing.
    """
    wanted, found = set(pinned), list[int]()
    position = len(history.sources)
    for turn in reversed(history.sources) if wanted else ():
        position -= 1
        if turn.turn_id in wanted:
            found.append(position)
            if len(found) == len(wanted):
                break
    return tuple(reversed(found))


def candidates_of(
    history: Projection, pinned: Iterable[TurnId], exchanges: tuple[Exchange, ...] | None = None
) -> Candidates:
    """Turns that may be left out, oldest first, then exchanges of the running turn but the last.

    Turns that are pinned (R1) or have no messages (R5) are none.
    """
    return spared_candidates(history, pinned_positions(history, pinned), exchanges)


def spared_candidates(
    history: Projection, pins: tuple[int, ...], exchanges: tuple[Exchange, ...] | None
) -> Candidates:
    """The same, where the positions of the pinned turns are known."""
    speaking = tuple([position for position in pins if history.turns[position].message_count])
    return Candidates(
        turns=history.turns,
        spared=Spared(silent=history.silent, pinned=speaking),
        exchanges=tuple(
            [
                ExchangeCandidate(
                    index=exchange.index,
                    message_count=len(exchange.messages),
                    canonical_bytes=exchange.canonical_bytes,
                )
                for exchange in (exchanges or ())[:-1]
            ]
        ),
    )


def room_of(
    history: Projection,
    frame: Frame,
    candidates: Candidates,
    budget: ContextBudget,
    costs: AdditiveCounter | None,
) -> Room:
    """What a strategy may know; nothing is measured or walked again."""
    kept = sum([history.turns[position].canonical_bytes for position in candidates.spared.pinned])
    optional = sum([exchange.canonical_bytes for exchange in candidates.exchanges])
    return Room(
        window_tokens=budget.window_tokens,
        reserved_tokens=budget.reserved,
        required_bytes=frame.canonical_bytes + kept - optional,
        session_id=history.session_id,
        turns=history.turns,
        exchanges=frame.exchanges or (),
        costs=costs,
    )
