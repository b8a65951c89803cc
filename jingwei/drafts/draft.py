"""The request after each number of steps of a plan, and what the report says of it (rules B3, B6, R6)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Protocol, final

import attrs

from jingwei.drafts.candidates import Frame
from jingwei.drafts.checking import BASE, UNTOUCHED, CheckedPlan, Fate, Fates, Run
from jingwei.drafts.lines import NO_LINE, Line, by_id, summary_line, text_of
from jingwei.ids import ItemId
from jingwei.items.envelope import items_message
from jingwei.items.records import ContextItem, Tier
from jingwei.messages.records import AssistantMessage, GenerationRequest, ModelMessage, UserMessage
from jingwei.projection.records import ProjectedTurn, Projection
from jingwei.report.records import ExchangeRow, ItemRow, SummaryRow, TurnLedger, kind_of
from jingwei.request.counting import AdditiveCounter
from jingwei.selection.costs import summed_cost
from jingwei.selection.records import (
    ChoiceReason,
    CondenseExchange,
    CondenseItem,
    CondenseTurn,
    DropExchange,
    DropItem,
    DropTurn,
    Exchange,
    ExchangeReduction,
    ItemReduction,
    Reduction,
    SummarizedTurn,
    TurnEnd,
)
from jingwei.selection.views import Candidates, TurnsDropped
from jingwei.summaries.records import Summary
from jingwei.summaries.render import summary_envelope


class Rendition(Protocol):
    """Messages as they are sent, and their size: a turn, an exchange, a line, or one of them condensed."""

    @property
    def messages(self) -> tuple[ModelMessage, ...]:
        """What is sent."""
        ...

    @property
    def canonical_bytes(self) -> int:
        """Its canonical bytes."""
        ...


@final
@attrs.frozen(kw_only=True)
class Freed:
    """One thing that a step makes smaller.

    Attributes:
        before: how it stands before the step.
        after: how it stands after it; None where it is left out.
    """

    before: Rendition
    after: Rendition | None


class _Course(Protocol):
    """What becomes of the turns of a history as a plan goes on."""

    def shown(self, steps: int) -> Iterable[Rendition]:
        """What stands of the history after so many steps, in order."""
        ...

    def dropped(self, steps: int) -> int:
        """How many turns are left out by then."""
        ...

    def reductions(self, steps: int) -> Sequence[TurnEnd]:
        """What was done by then, one a turn, in the order of the turns."""
        ...

    def freed(self) -> Iterator[list[Freed]]:
        """What each step makes smaller of the history, from the plan's last step to its first."""
        ...


@final
class Draft:
    """History, frame and plan, laid out so that the request after k steps is a walk over what stays."""

    def __init__(
        self,
        history: Projection,
        frame: Frame,
        pins: tuple[int, ...],
        candidates: Candidates,
        plan: CheckedPlan,
    ) -> None:
        self._history = history
        self._frame = frame
        self._pins = pins
        self._exchanges = plan.exchanges
        self._items = plan.items
        self._course: _Course
        self._summaries: list[tuple[Summary, int]] = []
        if isinstance(plan, Run):
            self._course = _InOrder(history, candidates, plan)
            self.steps = plan.turn_steps + plan.tail_steps
        else:
            self._course = _AnyOrder(history, plan)
            self.steps = plan.steps
            known = by_id(frame.summaries)
            self._summaries = [(known[summary_id], rank) for summary_id, rank in plan.summaries.items()]

    def request(self, steps: int) -> GenerationRequest:
        """System, summaries, the kept turns in their order, items, current; the constraint unchanged (B3)."""
        kept = [rendition.messages for rendition in self._course.shown(steps)]
        return GenerationRequest(
            messages=(
                *self._frame.system,
                *_if_any(self.summary_message(steps)),
                *chain.from_iterable(kept),
                *_if_any(self.items_message(steps)),
                *self.current(steps),
            ),
            constraint=self._frame.constraint,
        )

    def summary_message(self, steps: int) -> UserMessage | None:
        """The envelope of the summaries that stand for turns after so many steps; None without any."""
        if not self._summaries:
            return None
        applied = {summary.summary_id for summary, rank in self._summaries if rank < steps}
        return summary_envelope([one for one in self._frame.summaries if one.summary_id in applied])

    def items_message(self, steps: int) -> UserMessage | None:
        """The envelope of the items that are kept after so many steps; None without any."""
        if not self._frame.items:
            return None
        shown = [_shown(line, fate, steps) for _, line, fate in self._fated_items()]
        return items_message([text_of(line.messages) for line in shown if line is not None])

    def current(self, steps: int) -> tuple[ModelMessage, ...]:
        """The running turn after so many steps; all of it unless exchanges are candidates (R6)."""
        current = self._frame.current
        if not self._exchanges:
            return current
        parts, end = list[tuple[ModelMessage, ...]](), 0
        for exchange, fate in self._fated_exchanges():
            parts.append(current[end : exchange.place])
            end = exchange.place + len(exchange.messages)
            shown = _shown(exchange, fate, steps)
            parts.append(() if shown is None else shown.messages)
        return (*chain.from_iterable(parts), *current[end:])

    def removed(self, steps: int) -> int:
        """Turns left out after so many steps."""
        return self._course.dropped(steps)

    def dropped(self, steps: int) -> tuple[Reduction, ...]:
        """Turns and items that are left out after so many steps."""
        turns = [one for one in self._course.reductions(steps) if isinstance(one, DropTurn)]
        items = [one for one in self.item_reductions(steps).values() if isinstance(one, DropItem)]
        return (*turns, *items)

    def ledger(self, steps: int) -> TurnLedger:
        """What became of every turn after so many steps, in the order of the turns."""
        return TurnLedger(
            sources=self._history.sources,
            pinned=tuple([self._history.sources[position].turn_id for position in self._pins]),
            reductions=self._course.reductions(steps),
        )

    def exchange_reductions(self, steps: int) -> Mapping[int, ExchangeReduction]:
        """What was done to exchanges of the running turn by then, by index."""
        found = dict[int, ExchangeReduction]()
        for index, fate in self._exchanges.items():
            if fate.is_dropped(steps):
                found[index] = DropExchange(index=index)
            elif fate.shown_condensed(steps) is not None and fate.policy is not None:
                found[index] = CondenseExchange(index=index, policy=fate.policy)
        return found

    def exchange_rows(self, steps: int) -> tuple[ExchangeRow, ...] | None:
        """What became of every exchange of the running turn; None where none could be a candidate."""
        if self._frame.exchanges is None:
            return None
        done = self.exchange_reductions(steps)
        return tuple(
            [_exchange_row(exchange, done.get(exchange.index)) for exchange in self._frame.exchanges]
        )

    def item_reductions(self, steps: int) -> Mapping[ItemId, ItemReduction]:
        """What was done to items by then."""
        found = dict[ItemId, ItemReduction]()
        for item_id, fate in self._items.items():
            if fate.is_dropped(steps):
                found[item_id] = DropItem(item_id=item_id)
            elif fate.shown_condensed(steps) is not None:
                found[item_id] = CondenseItem(item_id=item_id)
        return found

    def item_rows(
        self, steps: int, reasons: Mapping[ItemId, ChoiceReason], costs: AdditiveCounter | None
    ) -> tuple[ItemRow, ...] | None:
        """What became of every item, why, and what it costs; None where there is none."""
        if not self._frame.items:
            return None
        done, rows = self.item_reductions(steps), list[ItemRow]()
        for item, line, fate in self._fated_items():
            shown = _shown(line, fate, steps)
            row = ItemRow(
                item_id=item.item_id,
                kind=item.kind,
                tier=item.held_tier,
                source=item.source,
                source_ref=item.source_ref,
                source_events=item.source_events,
                recall_score=item.relevance,
                retained=shown is not None,
                protected=item.is_kept,
                reduction=kind_of(done.get(item.item_id)),
                reason=_reason(item, fate, steps, reasons),
                full_cost=None if costs is None else summed_cost(line.messages, costs),
                cost=None if costs is None else summed_cost(() if shown is None else shown.messages, costs),
            )
            rows.append(row)
        return tuple(rows)

    def summary_rows(self, steps: int) -> tuple[SummaryRow, ...] | None:
        """Every summary that was there, and whether it stands for its turns; None where there is none."""
        if not self._frame.summaries:
            return None
        applied = {summary.summary_id for summary, rank in self._summaries if rank < steps}
        return tuple([_summary_row(one, one.summary_id in applied) for one in self._frame.summaries])

    def freed(self) -> Iterator[list[Freed]]:
        """What each step makes smaller, from the last step to the first.

        With the request after all steps this says the size of every candidate, and whoever stops early
        has looked at what is kept, not at what is dropped. Of an envelope it says that only roughly.
        """
        lines = [(line, fate) for _, line, fate in self._fated_items()]
        ours = _freed_by_step([*self._fated_exchanges(), *lines])
        for summary, rank in self._summaries:
            ours.setdefault(rank, []).append(Freed(before=NO_LINE, after=summary_line(summary)))
        steps = range(self.steps - 1, -1, -1)
        for step, theirs in zip(steps, self._course.freed(), strict=True):
            yield [*theirs, *ours.get(step, ())]

    def least_bytes(self) -> int:
        """Canonical bytes of what stands after all steps."""
        size = self._frame.canonical_bytes
        size += sum([rendition.canonical_bytes for rendition in self._course.shown(self.steps)])
        for exchange, fate in self._fated_exchanges():
            shown = _shown(exchange, fate, self.steps)
            size -= exchange.canonical_bytes - (0 if shown is None else shown.canonical_bytes)
        for _, line, fate in self._fated_items():
            left = _shown(line, fate, self.steps)
            size -= line.canonical_bytes - (0 if left is None else left.canonical_bytes)
        return size + sum([summary_line(summary).canonical_bytes for summary, _ in self._summaries])

    @property
    def is_by_line(self) -> bool:
        """Whether a step changes a line of an envelope, so that sizes and costs are known roughly only."""
        return bool(self._items) or bool(self._summaries)

    def _fated_items(self) -> list[tuple[ContextItem, Line, Fate]]:
        return [
            (item, line, self._items.get(item.item_id, UNTOUCHED))
            for item, line in zip(self._frame.items, self._frame.lines, strict=True)
        ]

    def _fated_exchanges(self) -> list[tuple[Exchange, Fate]]:
        if not self._exchanges:
            return []
        exchanges = self._frame.exchanges or ()
        return [(exchange, self._exchanges.get(exchange.index, UNTOUCHED)) for exchange in exchanges]


@final
class _InOrder:
    """Turns dropped in the order of the candidates: known by one cut, and nothing behind it is walked."""

    def __init__(self, history: Projection, candidates: Candidates, plan: Run) -> None:
        self._history = history
        self._candidates = candidates
        self._plan = plan

    def shown(self, steps: int) -> Iterator[ProjectedTurn]:
        turns, cut = self._history.turns, self._candidates.position(self.dropped(steps))
        before = [turns[place] for place in self._candidates.spared.pinned if place < cut]
        return chain(before, turns.since(cut))

    def dropped(self, steps: int) -> int:
        return self._plan.base + min(steps, self._plan.turn_steps)

    def reductions(self, steps: int) -> Sequence[TurnEnd]:
        end = self._candidates.position(self.dropped(steps))
        return TurnsDropped(sources=self._history.sources, spared=self._candidates.spared, end=end)

    def freed(self) -> Iterator[list[Freed]]:
        for _ in range(self._plan.tail_steps):
            yield []
        turns = self._history.turns
        for position in self._candidates.positions_down(self._plan.base):
            yield [Freed(before=turns[position], after=None)]


@final
class _AnyOrder:
    """Turns with a fate each, in whatever order a plan has chosen."""

    def __init__(self, history: Projection, plan: Fates) -> None:
        fates = plan.turns
        self._turns = [(turn, fates.get(turn.turn_id, UNTOUCHED)) for turn in history.turns]
        self._steps = plan.steps

    def shown(self, steps: int) -> list[Rendition]:
        shown = [_shown(turn, fate, steps) for turn, fate in self._turns]
        return [rendition for rendition in shown if rendition is not None]

    def dropped(self, steps: int) -> int:
        return sum([fate.is_dropped(steps) for _, fate in self._turns])

    def reductions(self, steps: int) -> tuple[TurnEnd, ...]:
        done = [_turn_end(turn, fate, steps) for turn, fate in self._turns]
        return tuple([reduction for reduction in done if reduction is not None])

    def freed(self) -> Iterator[list[Freed]]:
        by_step = _freed_by_step(self._turns)
        return (by_step.get(step, []) for step in range(self._steps - 1, -1, -1))


def _shown(original: Rendition, fate: Fate, steps: int) -> Rendition | None:
    """How a thing stands after so many steps; None where it is left out."""
    if fate.is_dropped(steps):
        return None
    return fate.shown_condensed(steps) or original


def _freed_by_step(fated: Iterable[tuple[Rendition, Fate]]) -> dict[int, list[Freed]]:
    """What each step makes smaller; the base is among them, under its own rank."""
    by_step = dict[int, list[Freed]]()
    for original, fate in fated:
        if fate.condensed_at is not None:
            freed = Freed(before=original, after=fate.condensed)
            by_step.setdefault(fate.condensed_at, []).append(freed)
        if fate.dropped_at is not None:
            freed = Freed(before=fate.condensed or original, after=None)
            by_step.setdefault(fate.dropped_at, []).append(freed)
    return by_step


def _if_any(message: UserMessage | None) -> tuple[UserMessage, ...]:
    return () if message is None else (message,)


def _turn_end(turn: ProjectedTurn, fate: Fate, steps: int) -> TurnEnd | None:
    if fate.is_dropped(steps):
        if fate.summary_id is not None:
            return SummarizedTurn(turn_id=turn.turn_id, summary_id=fate.summary_id)
        return DropTurn(turn_id=turn.turn_id)
    if fate.shown_condensed(steps) is None or fate.policy is None:
        return None
    return CondenseTurn(turn_id=turn.turn_id, policy=fate.policy)


def _exchange_row(exchange: Exchange, reduction: ExchangeReduction | None) -> ExchangeRow:
    first = exchange.messages[0]
    assert isinstance(first, AssistantMessage)
    return ExchangeRow(
        call_ids=tuple([call.id for call in first.tool_calls]),
        retained=not isinstance(reduction, DropExchange),
        reduction=kind_of(reduction),
        policy=reduction.policy if isinstance(reduction, CondenseExchange) else None,
    )


def _reason(
    item: ContextItem, fate: Fate, steps: int, reasons: Mapping[ItemId, ChoiceReason]
) -> ChoiceReason:
    """Why an item is in the request or not (S7): a step that the full count asked for has the last word."""
    if item.is_kept:
        return ChoiceReason.REQUIRED if item.held_tier is Tier.P0 else ChoiceReason.PINNED
    if fate.is_dropped(steps) and fate.dropped_at != BASE:
        return ChoiceReason.FULL_COUNT
    default = ChoiceReason.NO_ROOM if fate.is_dropped(steps) else ChoiceReason.ROOM_FOR_ALL
    return reasons.get(item.item_id, default)


def _summary_row(summary: Summary, applied: bool) -> SummaryRow:
    return SummaryRow(
        summary_id=summary.summary_id,
        version=summary.version,
        first_seq=summary.first_seq,
        last_seq=summary.last_seq,
        applied=applied,
    )
