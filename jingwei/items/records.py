"""Context items and what is said of them (rules S1, S3, S5)."""

import enum
from fractions import Fraction
from typing import Final, final

import attrs

from jingwei.ids import EventId, ItemId


@final
class ItemKind(enum.Enum):
    """What an item is (S1); the order here is the order inside a tier (S4)."""

    SYSTEM = "system"
    GOAL = "goal"
    CONSTRAINT = "constraint"
    PLAN = "plan"
    FACT = "fact"
    TOOL_OBSERVATION = "tool_observation"
    MEMORY = "memory"
    CONVERSATION = "conversation"
    SUMMARY = "summary"


@final
class Tier(enum.Enum):
    """How much an item matters (S3): a lower tier never stands for a higher one, whatever its value.

    `P0` is never left out: safety rules, the goal, the current step, unresolved constraints. `P1` is what
    this step needs. `P2` was recalled. `P3` can be condensed or left out first.
    """

    P0 = "p0"
    P1 = "p1"
    P2 = "p2"
    P3 = "p3"


@final
class ItemSource(enum.Enum):
    """Who wrote the text (S9). Only what the host wrote may stand in system texts."""

    HOST = "host"
    USER = "user"
    TOOL = "tool"
    MEMORY = "memory"
    MODEL = "model"


@final
class Authority(enum.Enum):
    """How far a statement goes against another on the same subject; the order here is the order of S5."""

    CURRENT_INSTRUCTION = "current_instruction"
    TASK_CONSTRAINT = "task_constraint"
    CONFIRMED_FACT = "confirmed_fact"
    PREFERENCE = "preference"
    INFERENCE = "inference"


@final
class Resolution(enum.Enum):
    """Why one of two statements won (S5): named for the authority of the winner, or for what broke a tie."""

    CURRENT_INSTRUCTION_OVERRIDE = "current_instruction_override"
    CURRENT_TASK_OVERRIDE = "current_task_override"
    CONFIRMED_FACT_OVERRIDE = "confirmed_fact_override"
    PREFERENCE_OVERRIDE = "preference_override"
    LATER_OVERRIDE = "later_override"
    ID_ORDER = "id_order"


@final
@attrs.frozen(kw_only=True)
class ConflictMark:
    """What a model is told before it sees two statements that contradict each other (S5).

    Attributes:
        old: what lost.
        new: what holds.
        old_id: the item that lost.
        new_id: the item that holds.
        resolution: why.
    """

    old: str
    new: str
    old_id: ItemId
    new_id: ItemId
    resolution: Resolution


@final
@attrs.frozen(kw_only=True)
class MergedSource:
    """Where a duplicate came from that another item stands for (S5).

    Attributes:
        item_id: the duplicate.
        source: who wrote it.
        source_ref: the host's reference.
        source_events: its events.
        trust: what its trust was.
    """

    item_id: ItemId
    source: ItemSource
    source_ref: str | None
    source_events: tuple[EventId, ...]
    trust: Fraction


@final
@attrs.frozen(kw_only=True)
class ShortContent:
    """What an item may say instead (S4a, R4).

    Attributes:
        text: the condensed content; it names where the original stands.
        method: what condensed it, with its version.
    """

    text: str
    method: str


ZERO: Final = Fraction(0)
"""No relevance, freshness or trust."""


@final
@attrs.frozen(kw_only=True)
class ContextItem:
    """One thing that a request may say besides its history (S1). All numbers are exact.

    Made by hand, or by `context_item`, which takes floats too; `items_failure` says what is wrong with a
    set of them, and whatever takes items asks it first.

    Attributes:
        item_id: its name; not blank, unique among the items of one request.
        kind: what it is.
        content: the text, sent as data; not blank.
        source: who wrote it. Only `HOST` may write an item of the kind `SYSTEM`.
        tier: how much it matters; an item that is required counts as `P0` whatever stands here (S3).
        token_cost: tokens, in [0, 2^64); what the host knows or guesses. Where the build's counter is
            additive, its own costs take the place of this.
        priority: in [0, 1000]; higher is worth more.
        relevance: in [0, 1]; the score of the search that recalled it.
        freshness: in [0, 1].
        trust: in [0, 1].
        source_ref: the host's reference to the original, such as a file and lines; None without one.
        source_events: events of the log that it comes from.
        compressible: whether a condenser may be asked.
        required: never left out (S3).
        pinned: never left out either, but keeps its tier.
        subject: what it speaks of, in the host's words; two items of one subject with different contents
            contradict each other (S5). None: it contradicts nothing.
        authority: how far it goes against another of the same subject.
        seq: when it was said: the number of an event of the log; None when it was said in none.
        short: what it may say instead; None where nothing shorter is known.
        merged: duplicates that it stands for.
        conflicts: contradictions that it won or, pinned or required, lost.
    """

    item_id: ItemId
    kind: ItemKind
    content: str
    source: ItemSource
    tier: Tier = Tier.P3
    token_cost: int = 0
    priority: int = 0
    relevance: Fraction = ZERO
    freshness: Fraction = ZERO
    trust: Fraction = ZERO
    source_ref: str | None = None
    source_events: tuple[EventId, ...] = ()
    compressible: bool = False
    required: bool = False
    pinned: bool = False
    subject: str | None = None
    authority: Authority = Authority.INFERENCE
    seq: int | None = None
    short: ShortContent | None = None
    merged: tuple[MergedSource, ...] = ()
    conflicts: tuple[ConflictMark, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether nothing may leave it out: it is required, or pinned, or stands in `P0` (S3)."""
        return self.required or self.pinned or self.tier is Tier.P0

    @property
    def held_tier(self) -> Tier:
        """The tier that counts: what is required stands in `P0` (S3)."""
        return Tier.P0 if self.required else self.tier


TIER_RANKS: Final = {tier: rank for rank, tier in enumerate(Tier)}
"""0 for the tier that matters most."""

KIND_RANKS: Final = {kind: rank for rank, kind in enumerate(ItemKind)}
"""The order of kinds inside a tier (S4)."""

AUTHORITY_RANKS: Final = {authority: rank for rank, authority in enumerate(Authority)}
"""0 for the authority that goes furthest (S5)."""

SOURCE_RANKS: Final = {source: rank for rank, source in enumerate(ItemSource)}
"""0 for who is believed first where nothing else decides (S5)."""


def order_of(item: ContextItem) -> tuple[int, int, bool, int, str]:
    """Where an item stands in a request: by tier, kind, first appearance, id; never by its score (S4)."""
    said = item.seq is None, 0 if item.seq is None else item.seq
    return (TIER_RANKS[item.held_tier], KIND_RANKS[item.kind], *said, item.item_id)


@final
@attrs.frozen(kw_only=True)
class DuplicateRow:
    """One item that another one stands for (S5, S7).

    Attributes:
        kept: the item that says it now.
        dropped: the item that said the same.
        source: who wrote the dropped one.
        kept_trust: the trust of the one that says it.
        dropped_trust: the trust of the other; never higher, unless the one that stays is a system text.
    """

    kept: ItemId
    dropped: ItemId
    source: ItemSource
    kept_trust: Fraction
    dropped_trust: Fraction


@final
@attrs.frozen(kw_only=True)
class ConflictRow:
    """One contradiction that was resolved (S5, S7).

    Attributes:
        subject: what both speak of.
        mark: who won, who lost, and why, with both texts.
        loser_authority: how far the loser went.
        winner_authority: how far the winner went.
        loser_kept: whether the loser stays in the request, marked, since nothing may leave it out.
    """

    subject: str
    mark: ConflictMark
    loser_authority: Authority
    winner_authority: Authority
    loser_kept: bool
