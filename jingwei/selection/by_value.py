"""Items and turns together, by value: one choice within one budget (rules R3, S2 to S4a)."""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias, assert_never, final

import attrs

from jingwei.ids import TurnId
from jingwei.items.envelope import item_line, items_message
from jingwei.items.records import ZERO, Tier
from jingwei.items.worth import (
    DEFAULT_WEIGHTS,
    InvalidWeights,
    TurnWorth,
    Weights,
    turn_worth,
    weights_failure,
    worth_of,
)
from jingwei.limits import ITEM_DENOMINATOR_MAX, ITEM_PRIORITY_MAX
from jingwei.messages.records import ModelMessage
from jingwei.outcome import Failure, Outcome, Success
from jingwei.selection.choose import (
    NO_QUOTAS,
    Choice,
    InvalidQuota,
    Option,
    OptionVerdict,
    Quotas,
    choose,
    leaving_order,
    quotas_failure,
)
from jingwei.selection.condense_then_drop import InvalidPolicy, policy_failure
from jingwei.selection.exchanges import exchange_steps
from jingwei.selection.item_costs import (
    WeighedItem,
    estimated_cost,
    frame_cost,
    tokens_of_bytes,
    weighed_items,
)
from jingwei.selection.records import (
    DEFAULT_PREVIEW,
    Candidate,
    ChoiceReason,
    ChoiceRow,
    CondenseItem,
    DropItem,
    DropTurn,
    Plan,
    PlanStep,
    PreviewPolicy,
    Reduction,
    Room,
    Selection,
    SelectionState,
    TurnCandidate,
)
from jingwei.selection.views import exchange_candidates, item_candidates
from jingwei.summaries.render import summary_envelope


@final
@attrs.frozen(kw_only=True)
class ByValue:
    """Keep what is worth most per token, tier by tier, of items and turns alike (R3).

    What is not chosen is the plan's base, along with the shorter content of every item that has one. The
    steps go on from there: the lowest tier first, the least value per token first, one at a time; what
    would bring its kind under its floor comes after all others; then exchanges of the running turn (R6).
    The base stands in the order of the history and of the envelope, never in that of the scores.

    The room is what the budget leaves for what may be left out, by the build's own counter where that is
    additive, else by bytes. If all of it fits, all of it stays. A turn counts as `P3` and as `turn_worth`
    says, unless `turn_worths` says otherwise. Made by `by_value`, which refuses what makes no sense; `plan`
    is total with any.

    Attributes:
        weights: what the four numbers count.
        quotas: floors and ceilings of kinds; the kind None stands for turns.
        turn_worths: what a host says of turns; turns that are not there are passed over.
        previous: the state of the last choice. What that left out stays out while the budget is not
            higher than then and `moves` are not more. None promises nothing.
        moves: how often the marks of the history have moved (`PrefixMarks.moves`); 0 without marks.
        policy: how exchanges of the running turn are shortened.
        max_tokens: the most that items and turns may take together, those that must stay too; what the
            budget leaves is never passed either (S0). None for no bound of its own.
    """

    weights: Weights = DEFAULT_WEIGHTS
    quotas: Quotas = NO_QUOTAS
    turn_worths: tuple[tuple[TurnId, TurnWorth], ...] = ()
    previous: SelectionState | None = None
    moves: int = 0
    policy: PreviewPolicy = DEFAULT_PREVIEW
    max_tokens: int | None = None

    @property
    def name(self) -> str:
        """`by_value`."""
        return "by_value"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        """The choice and the way down from it; one sort of turns and items, and walks over them."""
        return _Planner(self, candidates, room).plan()


@final
class TurnWorthReason(enum.Enum):
    """Why what a host says of a turn makes no sense (S3)."""

    REPEATED_TURN = "repeated_turn"
    OUT_OF_RANGE = "out_of_range"


@final
@attrs.frozen(kw_only=True)
class InvalidTurnWorth:
    """What a host says of a turn makes no sense (S3).

    Attributes:
        turn_id: of which turn.
        reason: the check.
    """

    turn_id: TurnId
    reason: TurnWorthReason


InvalidByValue: TypeAlias = InvalidWeights | InvalidQuota | InvalidTurnWorth | InvalidPolicy
"""Every way in which `by_value` is refused."""


def by_value(
    *,
    weights: Weights = DEFAULT_WEIGHTS,
    quotas: Quotas = NO_QUOTAS,
    turn_worths: tuple[tuple[TurnId, TurnWorth], ...] = (),
    previous: SelectionState | None = None,
    moves: int = 0,
    policy: PreviewPolicy = DEFAULT_PREVIEW,
    max_tokens: int | None = None,
) -> Outcome[ByValue, InvalidByValue]:
    """The strategy, or the first thing that is wrong: weights, quotas, worths in their order, sizes.

    What a host says of a turn has the ranges of an item (S1), and no turn is spoken of twice.
    """
    refused = (
        weights_failure(weights)
        or quotas_failure(quotas)
        or _turn_worths_failure(turn_worths)
        or policy_failure(policy)
    )
    if refused is not None:
        return Failure(refused)
    return Success(
        ByValue(
            weights=weights,
            quotas=quotas,
            turn_worths=turn_worths,
            previous=previous,
            moves=moves,
            policy=policy,
            max_tokens=max_tokens,
        )
    )


def after_dropping(selection: Selection, dropped: Iterable[Reduction]) -> Selection:
    """The same selection once the build has also left these out: for the report, and for the next choice.

    Rows of what was left out say that the full count asked for it, and the state holds it. Reductions that
    leave no turn and no item out change nothing.
    """
    gone = tuple(dropped)
    turns = {reduction.turn_id for reduction in gone if isinstance(reduction, DropTurn)}
    items = {reduction.item_id for reduction in gone if isinstance(reduction, DropItem)}
    rows = tuple(
        [
            attrs.evolve(row, chosen=False, reason=ChoiceReason.FULL_COUNT)
            if row.chosen and (row.turn_id in turns or row.item_id in items)
            else row
            for row in selection.rows
        ]
    )
    state = selection.state
    return Selection(rows=rows, state=_state(rows, available=state.available, moves=state.moves))


@final
class _Planner:
    """One choice on its way to a plan; never leaves this file."""

    def __init__(self, strategy: ByValue, candidates: Sequence[Candidate], room: Room) -> None:
        self._strategy = strategy
        self._candidates = candidates
        self._room = room
        self._quotas = strategy.quotas if quotas_failure(strategy.quotas) is None else NO_QUOTAS
        may_go = {candidate.index for candidate in item_candidates(candidates)}
        weighed = weighed_items(room.items, strategy.weights, room.costs)
        self._items = {one.option.key: one for one in weighed if one.option.kept or one.index in may_go}
        self._turns = self._weighed_turns()
        self._options = [
            *(option for option, _ in self._turns.values()),
            *(one.option for one in self._items.values()),
        ]

    def plan(self) -> Plan:
        choice = self._choice()
        rows = tuple(self._rows(choice))
        keys = choice.chosen  # made anew at each call
        chosen = [option for option in self._options if option.key in keys]
        room = self._room
        state = _state(rows, available=self._available(), moves=self._strategy.moves)
        down = [self._dropped(option) for option in leaving_order(chosen, self._quotas)]
        last = exchange_steps(exchange_candidates(self._candidates), room, self._strategy.policy)
        return Plan(
            base=tuple(self._base(keys)),
            steps=(*(PlanStep(reductions=(reduction,)) for reduction in down), *last),
            selection=Selection(rows=rows, state=state),
        )

    def _weighed_turns(self) -> Mapping[str, tuple[Option, TurnId]]:
        """Every turn that is sent unless it is left out, by its key; pinned ones are kept."""
        room, said = self._room, dict(self._strategy.turn_worths)
        may_go = {one.position for one in self._candidates if isinstance(one, TurnCandidate)}
        replaced = _replaced(room)
        found = dict[str, tuple[Option, TurnId]]()
        for position, turn in enumerate(room.turns):
            if not turn.message_count or turn.turn_id in replaced:
                continue
            worth = said.get(turn.turn_id) or turn_worth(position, len(room.turns))
            option = Option(
                key=f"turn {position}",
                tier=worth.tier,
                kind=None,
                cost=self._cost(turn.messages),
                worth=max(worth_of(worth, self._strategy.weights), ZERO),
                # Items come before turns of the same value, newer turns before older ones.
                rank=len(room.items) + len(room.turns) - position,
                kept=position not in may_go,
            )
            found[option.key] = option, turn.turn_id
        return found

    def _cost(self, messages: Iterable[ModelMessage]) -> int:
        return sum([estimated_cost(message, self._room.costs) for message in messages])

    def _choice(self) -> Choice:
        """What is chosen within the room; where what must stay leaves none, nothing else is."""
        sticky = self._sticky()
        free = [option for option in self._options if not option.kept and option.key not in sticky]
        items = [self._items[option.key] for option in free if option.key in self._items]
        kept = sum([option.cost for option in self._options if option.kept])
        left = self._room.window_tokens - self._room.reserved_tokens - self._required()
        if left >= 0 and self._strategy.max_tokens is not None:
            left = min(left, max(self._strategy.max_tokens - kept, 0))
        if 0 <= left and self._whole(free, items) <= left:
            return self._chosen(kept + max(left, sum([option.cost for option in free])), sticky)
        frame = self._frame() if items and left >= 0 else 0
        choice = self._chosen(kept + max(left - frame, min(left, 0)), sticky)
        if frame and self._items.keys().isdisjoint(choice.chosen):
            # No item, no frame: what it would have cost may be room for a turn.
            again = self._chosen(kept + left, sticky)
            return again if self._items.keys().isdisjoint(again.chosen) else choice
        return choice

    def _chosen(self, room: int, sticky: frozenset[str]) -> Choice:
        outcome = choose(self._options, room, self._quotas, sticky)
        match outcome:
            case Success(choice):
                return choice
            case Failure():
                return _kept_alone(self._options)
            case _:
                assert_never(outcome)

    def _frame(self) -> int:
        """What the envelope of items costs besides its lines, unless that is paid for already."""
        if self._room.costs is None or any(one.option.kept for one in self._items.values()):
            return 0  # without a counter its bytes are among those that are required
        return frame_cost(self._room.costs)

    def _required(self) -> int:
        """What stays whatever is chosen here: what is required, and exchanges, which go last."""
        room = self._room
        count = len(room.exchanges)
        exchanges = [one for one in exchange_candidates(self._candidates) if 0 <= one.index < count]
        required = room.required_tokens
        if required is None or room.costs is None:
            return tokens_of_bytes(room.required_bytes + sum([one.canonical_bytes for one in exchanges]))
        return required + sum([self._cost(room.exchanges[one.index].messages) for one in exchanges])

    def _whole(self, free: Iterable[Option], items: Iterable[WeighedItem]) -> int:
        """What all that is free would add, by the message: the items with one frame for all of them."""
        kept = [one for one in self._items.values() if one.option.kept]
        turns = sum([option.cost for option in free if option.key in self._turns])
        there = sorted([*kept, *items], key=lambda one: one.index)
        return turns + self._envelope(there) - self._envelope(kept)

    def _envelope(self, items: Iterable[WeighedItem]) -> int:
        message = items_message([item_line(one.item, short=one.condensed) for one in items])
        return 0 if message is None else estimated_cost(message, self._room.costs)

    def _available(self) -> int:
        """The budget that a state speaks of: it does not change with what one call sends besides."""
        budget, most = self._room.window_tokens - self._room.reserved_tokens, self._strategy.max_tokens
        return max(budget if most is None else min(budget, most), 0)

    def _sticky(self) -> frozenset[str]:
        """What the last choice left out, unless there is more to give now, or the marks have moved."""
        previous = self._strategy.previous
        if previous is None or self._strategy.moves > previous.moves:
            return frozenset()
        if self._available() > previous.available:
            return frozenset()
        turns, items = frozenset(previous.left_out_turns), frozenset(previous.left_out_items)
        return frozenset(
            [
                *(key for key, (_, turn_id) in self._turns.items() if turn_id in turns),
                *(key for key, one in self._items.items() if one.item.item_id in items),
            ]
        )

    def _base(self, chosen: frozenset[str]) -> Iterator[Reduction]:
        """Turns in the order of the history, then items in that of the envelope."""
        for key, (_, turn_id) in self._turns.items():
            if key not in chosen:
                yield DropTurn(turn_id=turn_id)
        for key, one in self._items.items():
            if key not in chosen:
                yield DropItem(item_id=one.item.item_id)
            elif one.condensed:
                yield CondenseItem(item_id=one.item.item_id)

    def _dropped(self, option: Option) -> Reduction:
        one = self._items.get(option.key)
        if one is None:
            return DropTurn(turn_id=self._turns[option.key][1])
        return DropItem(item_id=one.item.item_id)

    def _rows(self, choice: Choice) -> Iterator[ChoiceRow]:
        """Turns in the order of the history, then items in that of the envelope."""
        verdicts = {verdict.key: verdict for verdict in choice.verdicts}
        for option in self._options:
            verdict, one = verdicts[option.key], self._items.get(option.key)
            is_pin = option.kept and (one is None or one.item.held_tier is not Tier.P0)
            yield ChoiceRow(
                turn_id=self._turns[option.key][1] if one is None else None,
                item_id=None if one is None else one.item.item_id,
                tier=option.tier,
                kind=option.kind,
                worth=option.worth,
                cost=option.cost,
                chosen=verdict.chosen,
                reason=ChoiceReason.PINNED if is_pin else verdict.reason,
            )


def _replaced(room: Room) -> frozenset[TurnId]:
    """Turns that summaries stand for already: then the envelope of these summaries is required."""
    envelope = summary_envelope(room.summaries)
    if envelope is None or envelope not in room.required:
        return frozenset()
    return frozenset(chain.from_iterable([summary.turn_ids for summary in room.summaries]))


def _kept_alone(options: Iterable[Option]) -> Choice:
    """What comes of a choice for which there is no room."""
    verdicts = tuple(
        [
            OptionVerdict(
                key=option.key,
                chosen=option.kept,
                reason=ChoiceReason.REQUIRED if option.kept else ChoiceReason.NO_ROOM,
            )
            for option in options
        ]
    )
    return Choice(verdicts=verdicts, used=sum([option.cost for option in options if option.kept]))


def _state(rows: Iterable[ChoiceRow], *, available: int, moves: int) -> SelectionState:
    left = [row for row in rows if not row.chosen]
    return SelectionState(
        left_out_turns=tuple([row.turn_id for row in left if row.turn_id is not None]),
        left_out_items=tuple(sorted([row.item_id for row in left if row.item_id is not None])),
        available=available,
        moves=moves,
    )


def _turn_worths_failure(said: Iterable[tuple[TurnId, TurnWorth]]) -> InvalidTurnWorth | None:
    seen = set[TurnId]()
    for turn_id, worth in said:
        if turn_id in seen:
            return InvalidTurnWorth(turn_id=turn_id, reason=TurnWorthReason.REPEATED_TURN)
        seen.add(turn_id)
        shares = (worth.relevance, worth.freshness, worth.trust)
        fine = all(0 <= share <= 1 and share.denominator <= ITEM_DENOMINATOR_MAX for share in shares)
        if not fine or not 0 <= worth.priority <= ITEM_PRIORITY_MAX:
            return InvalidTurnWorth(turn_id=turn_id, reason=TurnWorthReason.OUT_OF_RANGE)
    return None
