"""Items alone, chosen within so many tokens: the seed's own function (rules S1, S2, S4a, R3)."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias, assert_never, final

import attrs

from jingwei.items.check import items_failure
from jingwei.items.failures import InvalidItem
from jingwei.items.records import ContextItem, Tier, order_of
from jingwei.items.worth import DEFAULT_WEIGHTS, InvalidWeights, Weights, weights_failure, worth_of
from jingwei.outcome import Failure, Outcome, Success
from jingwei.selection.choose import (
    NO_QUOTAS,
    Choice,
    InvalidOption,
    InvalidQuota,
    Option,
    Quotas,
    RequiredExceed,
    choose,
)
from jingwei.selection.records import ChoiceReason, ChoiceRow, Selection, SelectionState


@final
@attrs.frozen(kw_only=True)
class NoCandidates:
    """There was nothing to choose from (S4a): a host that gathered nothing should hear of it."""


SelectFailure: TypeAlias = (
    NoCandidates | InvalidItem | InvalidWeights | InvalidQuota | InvalidOption | RequiredExceed
)
"""Every way in which a choice of items is refused."""


@final
@attrs.frozen(kw_only=True)
class SelectedItems:
    """The items to say.

    Attributes:
        items: the chosen ones, in the order in which they stand in a request (S4), never by their scores.
        used: what they cost together, in tokens.
        selection: every item with its reason, in the same order, and the state for the next choice.
    """

    items: tuple[ContextItem, ...]
    used: int
    selection: Selection


def select_items(
    items: Iterable[ContextItem],
    max_tokens: int,
    weights: Weights = DEFAULT_WEIGHTS,
    quotas: Quotas = NO_QUOTAS,
    previous: SelectionState | None = None,
    moves: int = 0,
) -> Outcome[SelectedItems, SelectFailure]:
    """The items to say within `max_tokens`, by the token costs that stand in them (S4a).

    As `choose`: what is required or pinned first, then floors, then tier by tier by value per token. What
    `previous` left out stays out while `max_tokens` is not higher than then and `moves` are not more. The
    order in which items are given has no meaning.

    Refused, in this order: no items, an item that cannot be sent, weights or quotas that say nothing, what
    must be kept beyond `max_tokens`, with the cost of each (`RequiredExceed`; its keys are the item ids).
    """
    ordered = sorted(items, key=order_of)
    if not ordered:
        return Failure(NoCandidates())
    refused = items_failure(ordered) or weights_failure(weights)
    if refused is not None:
        return Failure(refused)
    outcome = choose(
        [_option(item, weights) for item in ordered], max_tokens, quotas, _sticky(previous, max_tokens, moves)
    )
    match outcome:
        case Success(choice):
            return Success(_selected(ordered, choice, weights, max_tokens, moves))
        case Failure():
            return outcome
        case _:
            assert_never(outcome)


def _option(item: ContextItem, weights: Weights) -> Option:
    return Option(
        key=item.item_id,
        tier=item.held_tier,
        kind=item.kind,
        cost=item.token_cost,
        worth=worth_of(item, weights),
        kept=item.is_kept,
    )


def _sticky(previous: SelectionState | None, available: int, moves: int) -> frozenset[str]:
    if previous is None or available > previous.available or moves > previous.moves:
        return frozenset()
    return frozenset(previous.left_out_items)


def _selected(
    ordered: Sequence[ContextItem], choice: Choice, weights: Weights, available: int, moves: int
) -> SelectedItems:
    verdicts, chosen = {verdict.key: verdict for verdict in choice.verdicts}, choice.chosen
    rows = list[ChoiceRow]()
    for item in ordered:
        verdict = verdicts[item.item_id]
        is_pin = item.is_kept and item.held_tier is not Tier.P0
        row = ChoiceRow(
            turn_id=None,
            item_id=item.item_id,
            tier=item.held_tier,
            kind=item.kind,
            worth=worth_of(item, weights),
            cost=item.token_cost,
            chosen=verdict.chosen,
            reason=ChoiceReason.PINNED if is_pin else verdict.reason,
        )
        rows.append(row)
    left = sorted([item.item_id for item in ordered if item.item_id not in chosen])
    return SelectedItems(
        items=tuple([item for item in ordered if item.item_id in chosen]),
        used=choice.used,
        selection=Selection(
            rows=tuple(rows),
            state=SelectionState(
                left_out_turns=(), left_out_items=tuple(left), available=available, moves=moves
            ),
        ),
    )
