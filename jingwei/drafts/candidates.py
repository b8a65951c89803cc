"""What a build starts from: what is given besides the history, and the candidates (rules R1, R5, R6)."""

from collections.abc import Iterable
from itertools import chain
from typing import final

import attrs

from jingwei.drafts.lines import Line, item_lines
from jingwei.ids import TurnId
from jingwei.items.envelope import items_message
from jingwei.items.records import ContextItem, order_of
from jingwei.messages.records import GenerationConstraint, ModelMessage, SystemMessage
from jingwei.messages.wire import constraint_bytes, message_bytes
from jingwei.projection.records import Projection
from jingwei.request.counting import AdditiveCounter
from jingwei.request.records import ContextBudget
from jingwei.selection.exchanges import exchanges_of
from jingwei.selection.records import (
    Exchange,
    ExchangeCandidate,
    ItemCandidate,
    Room,
    SummaryCandidate,
)
from jingwei.selection.views import Candidates, Spared
from jingwei.summaries.records import Summary


@final
@attrs.frozen(kw_only=True)
class Frame:
    """What a build is given besides the history, measured once.

    Attributes:
        system: the host's instructions, as messages.
        current: the running turn.
        constraint: the form of the answer.
        exchanges: the finished tool groups of `current`; None unless the host let them be candidates.
        items: context items, in the order of the envelope.
        lines: the line of each of them, in full.
        summaries: active summaries, in the order given.
        canonical_bytes: canonical bytes of system, current, constraint and of the envelope of all items.
    """

    system: tuple[SystemMessage, ...]
    current: tuple[ModelMessage, ...]
    constraint: GenerationConstraint
    exchanges: tuple[Exchange, ...] | None
    items: tuple[ContextItem, ...] = ()
    lines: tuple[Line, ...] = ()
    summaries: tuple[Summary, ...] = ()
    canonical_bytes: int

    @property
    def message_count(self) -> int:
        """Messages of system and current, and one for the envelope of items, where there are any."""
        return len(self.system) + len(self.current) + bool(self.items)


def frame_of(
    system: Iterable[str],
    current: tuple[ModelMessage, ...],
    constraint: GenerationConstraint,
    *,
    reduce_current: bool,
    items: Iterable[ContextItem] = (),
    summaries: tuple[Summary, ...] = (),
) -> Frame:
    """The frame of these parts; the one place where they are measured."""
    instructions = tuple([SystemMessage(content=text) for text in system])
    ordered = tuple(sorted(items, key=order_of))
    lines = item_lines(ordered)
    envelope = items_message([line.text for line in lines])
    sizes = sum(map(message_bytes, instructions)) + sum(map(message_bytes, current))
    return Frame(
        system=instructions,
        current=current,
        constraint=constraint,
        exchanges=exchanges_of(current) if reduce_current else None,
        items=ordered,
        lines=lines,
        summaries=summaries,
        canonical_bytes=sizes
        + constraint_bytes(constraint)
        + (0 if envelope is None else message_bytes(envelope)),
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


def all_candidates(history: Projection, pins: tuple[int, ...], frame: Frame) -> Candidates:
    """Everything that may be left out, condensed or replaced: turns, exchanges, items, summaries.

    Items that are required or pinned are none (S3), nor is a summary that covers a pinned turn (S8).
    """
    pinned = frozenset([history.sources[position].turn_id for position in pins])
    return attrs.evolve(
        spared_candidates(history, pins, frame.exchanges),
        items=tuple(
            [
                ItemCandidate(item_id=item.item_id, index=index, canonical_bytes=line.canonical_bytes)
                for index, (item, line) in enumerate(zip(frame.items, frame.lines, strict=True))
                if not item.is_kept
            ]
        ),
        summaries=tuple(
            [
                SummaryCandidate(summary_id=summary.summary_id, index=index, turn_ids=summary.turn_ids)
                for index, summary in enumerate(frame.summaries)
                if pinned.isdisjoint(summary.turn_ids)
            ]
        ),
    )


def spared_candidates(
    history: Projection, pins: tuple[int, ...], exchanges: tuple[Exchange, ...] | None
) -> Candidates:
    """Turns and exchanges alone, where the positions of the pinned turns are known."""
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
    optional += sum([item.canonical_bytes for item in candidates.items])
    return Room(
        window_tokens=budget.window_tokens,
        reserved_tokens=budget.reserved,
        required_bytes=frame.canonical_bytes + kept - optional,
        session_id=history.session_id,
        turns=history.turns,
        exchanges=frame.exchanges or (),
        items=frame.items,
        summaries=frame.summaries,
        required=_required(history, frame, candidates),
        constraint=frame.constraint,
        costs=costs,
    )


def _required(history: Projection, frame: Frame, candidates: Candidates) -> tuple[ModelMessage, ...]:
    """Every message that no plan can shorten or leave out, in the order sent."""
    pinned = [history.turns[position].messages for position in candidates.spared.pinned]
    kept = [line.text for item, line in zip(frame.items, frame.lines, strict=True) if item.is_kept]
    envelope = items_message(kept)
    optional = {
        place
        for exchange in (frame.exchanges or ())[: len(candidates.exchanges)]
        for place in range(exchange.place, exchange.place + len(exchange.messages))
    }
    current = [message for place, message in enumerate(frame.current) if place not in optional]
    return (
        *frame.system,
        *chain.from_iterable(pinned),
        *(() if envelope is None else (envelope,)),
        *current,
    )
