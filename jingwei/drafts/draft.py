"""The request after each number of steps of a plan, and what the report says of it (rules B3, B6, R6)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Protocol, final

import attrs

from jingwei.drafts.candidates import Frame
from jingwei.drafts.checking import UNTOUCHED, CheckedPlan, Fate, Fates, Run
from jingwei.messages.records import AssistantMessage, GenerationRequest, ModelMessage
from jingwei.projection.records import ProjectedTurn, Projection
from jingwei.report.records import ExchangeRow, TurnLedger, kind_of
from jingwei.selection.records import (
    CondenseExchange,
    CondenseTurn,
    DropExchange,
    DropTurn,
    Exchange,
    ExchangeReduction,
    TurnReduction,
)
from jingwei.selection.views import Candidates, TurnsDropped


class Rendition(Protocol):
    """Messages as they are sent, and their size: a turn, an exchange, or either of them condensed."""

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

    def reductions(self, steps: int) -> Sequence[TurnReduction]:
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
        self._course: _Course
        if isinstance(plan, Run):
            self._course = _InOrder(history, candidates, plan)
            self.steps = plan.turn_steps + plan.exchange_steps
        else:
            self._course = _AnyOrder(history, plan)
            self.steps = plan.steps

    def request(self, steps: int) -> GenerationRequest:
        """System, the kept turns in their order, current; the constraint unchanged (B3)."""
        kept = [rendition.messages for rendition in self._course.shown(steps)]
        return GenerationRequest(
            messages=(*self._frame.system, *chain.from_iterable(kept), *self.current(steps)),
            constraint=self._frame.constraint,
        )

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

    def freed(self) -> Iterator[list[Freed]]:
        """What each step makes smaller, from the last step to the first.

        With the request after all steps this says the size of every candidate, and whoever stops early
        has looked at what is kept, not at what is dropped.
        """
        ours = _freed_by_step(self._fated_exchanges())
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
        return size

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

    def reductions(self, steps: int) -> Sequence[TurnReduction]:
        end = self._candidates.position(self.dropped(steps))
        return TurnsDropped(sources=self._history.sources, spared=self._candidates.spared, end=end)

    def freed(self) -> Iterator[list[Freed]]:
        for _ in range(self._plan.exchange_steps):
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

    def reductions(self, steps: int) -> tuple[TurnReduction, ...]:
        done = [_turn_reduction(turn, fate, steps) for turn, fate in self._turns]
        return tuple([reduction for reduction in done if reduction is not None])

    def freed(self) -> Iterator[list[Freed]]:
        by_step = _freed_by_step(self._turns)
        return (by_step.get(step, []) for step in range(self._steps - 1, -1, -1))


def _shown(original: Rendition, fate: Fate, steps: int) -> Rendition | None:
    """How a thing stands after so many steps; None where it is left out."""
    if fate.is_dropped(steps):
        return None
    return fate.shown_condensed(steps) or original


def _freed_by_step(fated: Iterable[tuple[Rendition, Fate]]) -> Mapping[int, list[Freed]]:
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


def _turn_reduction(turn: ProjectedTurn, fate: Fate, steps: int) -> TurnReduction | None:
    if fate.is_dropped(steps):
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
