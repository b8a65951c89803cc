"""Rooms for strategies that weigh: a short history, items, and a counter with prices of its own."""

from collections.abc import Sequence
from fractions import Fraction

import attrs

from jingwei.drafts.candidates import all_candidates, frame_of, pinned_positions, room_of
from jingwei.ids import EventId, ItemId, SummaryId, TurnId
from jingwei.items.envelope import contents_in
from jingwei.items.records import ContextItem, ItemKind, ItemSource, ShortContent, Tier
from jingwei.messages.records import (
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    TextConstraint,
    UserMessage,
)
from jingwei.outcome import Failure, Outcome
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.request.counting import AdditiveCounter, CountRefused
from jingwei.request.records import ContextBudget, ContextTarget, TokenCount
from jingwei.selection.records import Candidate, Room
from jingwei.selection.views import Candidates
from jingwei.summaries.records import Statement, Summary
from tests.logtable import SESSION, log_of

FRAME = 7
"""What an envelope of items costs by `Priced`, whatever stands in it."""

TURN = 20
"""What each turn of `history` costs by `Priced`: two messages."""

CURRENT = 3
"""What the running turn of `offered` costs by `Priced`."""


@attrs.frozen
class Priced:
    """An item costs as many tokens as its content has characters; other messages cost what stands above."""

    summary: int = 5

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return Failure(CountRefused(reason="never asked"))

    def message_cost(self, message: ModelMessage) -> int:
        said = message.content or ""
        if said == "go on":
            return CURRENT
        if "jingwei_items" in said:
            return FRAME + sum(map(len, contents_in(said).values()))
        if '"item_id":' in said:
            return sum(map(len, contents_in(said).values()))
        return self.summary if '"summary_id":' in said else TURN // 2

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return 1


def item(
    item_id: str,
    cost: int,
    relevance: Fraction | int = 0,
    *,
    tier: Tier = Tier.P3,
    kind: ItemKind = ItemKind.FACT,
    short: int | None = None,
    required: bool = False,
    pinned: bool = False,
) -> ContextItem:
    """An item with a content of so many characters; `short` is how many it has once condensed."""
    return ContextItem(
        item_id=ItemId(item_id),
        kind=kind,
        content="x" * cost,
        source=ItemSource.TOOL,
        token_cost=cost,
        tier=tier,
        relevance=Fraction(relevance),
        short=None if short is None else ShortContent(text="y" * short, method="test-v1"),
        required=required,
        pinned=pinned,
    )


def history(turns: int) -> Projection:
    """Turns 0, 1, 2 …, each of a user message and a reply."""
    return project(SESSION, log_of("; ".join(f"turn {i}; user; reply; done" for i in range(turns)))).unwrap()


def summary(summary_id: str, *turns: int) -> Summary:
    return Summary(
        summary_id=SummaryId(summary_id),
        session_id=SESSION,
        facts=(Statement(text="x"),),
        first_seq=0,
        last_seq=1,
        tail_event_id=EventId("e"),
        turn_ids=tuple([TurnId(str(turn)) for turn in turns]),
    )


def offered(
    turns: int,
    items: Sequence[ContextItem],
    window: int,
    *,
    pinned: Sequence[int] = (),
    summaries: tuple[Summary, ...] = (),
    current: tuple[ModelMessage, ...] = (UserMessage(content="go on"),),
    costs: AdditiveCounter | None = Priced(),  # immutable
) -> tuple[Candidates, Room]:
    """What a build would hand to a strategy; `window` is what there is besides current and constraint."""
    past = history(turns)
    reduce_current = len(current) > 1
    frame = frame_of(
        (), current, TextConstraint(), reduce_current=reduce_current, items=items, summaries=summaries
    )
    pins = pinned_positions(past, [TurnId(str(turn)) for turn in pinned])
    candidates = all_candidates(past, pins, frame)
    budget = ContextBudget(window_tokens=window + CURRENT + 1 + 100, output_reserve=100)
    return candidates, room_of(past, frame, candidates, budget, costs)


def listed(candidates: Candidates) -> tuple[Candidate, ...]:
    """The same candidates as a tuple, as a host might hand them on."""
    return tuple(candidates)
