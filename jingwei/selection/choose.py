"""What to say within so many tokens: required first, then floors, then tier by tier by value (S2, S4a, R3).

Nothing here knows what an item or a turn is. The order in which options are given has no part in the answer:
they are put in one order of their own before anything is weighed.
"""

import enum
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias, final

import attrs

from jingwei.items.records import KIND_RANKS, TIER_RANKS, ItemKind, Tier
from jingwei.items.worth import per_token
from jingwei.outcome import Failure, Outcome, Success
from jingwei.selection.packing import Piece, packed
from jingwei.selection.records import ChoiceReason


@final
@attrs.frozen(kw_only=True)
class Option:
    """One thing that may be said.

    Attributes:
        key: its name; unique among the options of one choice.
        tier: how much it matters; no option of a lower tier ever stands for one of a higher tier.
        kind: whose floor and ceiling it counts against; None for that of turns.
        cost: tokens; not negative.
        worth: its whole value, exact; not negative.
        rank: what decides between equals, the smaller first; after it the key.
        kept: nothing leaves it out.
    """

    key: str
    tier: Tier
    kind: ItemKind | None
    cost: int
    worth: Fraction
    rank: int = 0
    kept: bool = False


@final
@attrs.frozen(kw_only=True)
class Quota:
    """How much of one kind there is to be (S4a), in tokens.

    Attributes:
        kind: of items; None for the turns of the history.
        floor: set aside for this kind before values are compared. What the kind cannot use of it is
            handed back. What must be kept counts towards it.
        ceiling: the most that the kind may take; what must be kept counts, and is never left out for
            it. None for no ceiling.
    """

    kind: ItemKind | None
    floor: int = 0
    ceiling: int | None = None


@final
@attrs.frozen(kw_only=True)
class Quotas:
    """Floors and ceilings; a kind that is not named has neither. The order given has no meaning."""

    rows: tuple[Quota, ...] = ()


NO_QUOTAS: Final = Quotas()
"""Neither floors nor ceilings."""


@final
class QuotaReason(enum.Enum):
    """Why a quota makes no sense (S4a)."""

    REPEATED_KIND = "repeated_kind"
    NEGATIVE_FLOOR = "negative_floor"
    NEGATIVE_CEILING = "negative_ceiling"
    FLOOR_OVER_CEILING = "floor_over_ceiling"


@final
@attrs.frozen(kw_only=True)
class InvalidQuota:
    """A quota that no choice can keep to (S4a).

    Attributes:
        kind: of which kind; None for turns.
        reason: the check.
    """

    kind: ItemKind | None
    reason: QuotaReason


@final
class OptionReason(enum.Enum):
    """Why something is no option (S2)."""

    REPEATED_KEY = "repeated_key"
    NEGATIVE_COST = "negative_cost"
    NEGATIVE_WORTH = "negative_worth"


@final
@attrs.frozen(kw_only=True)
class InvalidOption:
    """An option that cannot be weighed; of several the one with the smallest key.

    Attributes:
        key: which.
        reason: the check.
    """

    key: str
    reason: OptionReason


@final
@attrs.frozen(kw_only=True)
class RequiredCost:
    """One thing that must be kept, and what it costs."""

    key: str
    cost: int


@final
@attrs.frozen(kw_only=True)
class RequiredExceed:
    """What must be kept does not fit, whatever else is left out (S4a).

    Attributes:
        room: the tokens that there are; may be below zero.
        total: what all that must be kept costs together.
        rows: each of it with its cost, the dearest first.
    """

    room: int
    total: int
    rows: tuple[RequiredCost, ...]


SCALE_BITS_MAX: Final = 1 << 14
"""Bits of a common denominator. Those of floats need less; beyond it sums are taken in units of 2^-16384,
so that thousands of strange fractions take no more time than others. Their order stays exact."""

ChooseFailure: TypeAlias = InvalidOption | InvalidQuota | RequiredExceed
"""Every way in which a choice is refused."""


@final
@attrs.frozen(kw_only=True)
class OptionVerdict:
    """What came of one option, and why."""

    key: str
    chosen: bool
    reason: ChoiceReason


@final
@attrs.frozen(kw_only=True)
class Choice:
    """What came of all options.

    Attributes:
        verdicts: one for each option, by key.
        used: what the chosen ones cost together.
    """

    verdicts: tuple[OptionVerdict, ...]
    used: int

    @property
    def chosen(self) -> frozenset[str]:
        """The keys of what is to be said."""
        return frozenset([verdict.key for verdict in self.verdicts if verdict.chosen])


def choose(
    options: Iterable[Option],
    room: int,
    quotas: Quotas = NO_QUOTAS,
    left_out: frozenset[str] = frozenset(),
) -> Outcome[Choice, ChooseFailure]:
    """What to say within `room` tokens (S4a, R3).

    What must be kept is in. Then each kind gets what its floor sets aside, as far as it can use it. Then
    come the tiers, the highest first, each with the room that those above it left: a lower tier never takes
    room from a higher one. Inside a tier (and inside a floor, tier by tier) the value per token decides,
    held against the most valuable single ones and improved on its border (`packed`): without ceilings and
    floors a tier is worth at least half of what it could be. What costs nothing always fits.

    `left_out` is what an earlier choice left out and may not come back, unless it must be kept.

    Fails where an option or a quota makes no sense, and with `RequiredExceed` where what must be kept costs
    more than `room`. Linear in the options but for sorting them.
    """
    ordered = sorted(options, key=lambda option: option.key)
    refused = _options_failure(ordered) or quotas_failure(quotas) or _exceeding(ordered, room)
    if refused is not None:
        return Failure(refused)
    kept = [option for option in ordered if option.kept]
    free = [option for option in ordered if not option.kept and option.key not in left_out]
    chooser = _Chooser(free, room, quotas, kept)
    chooser.fill_floors(quotas)
    for tier in Tier:
        chooser.fill_tier(tier)
    return Success(_choice(ordered, chooser))


def quotas_failure(quotas: Quotas) -> InvalidQuota | None:
    """What is wrong with quotas: the first of the first kind in the order of S4; None where nothing is."""
    times = Counter([quota.kind for quota in quotas.rows])
    for quota in sorted(quotas.rows, key=_quota_order):
        reason = _quota_reason(quota, times)
        if reason is not None:
            return InvalidQuota(kind=quota.kind, reason=reason)
    return None


def leaving_order(chosen: Iterable[Option], quotas: Quotas = NO_QUOTAS) -> tuple[Option, ...]:
    """What was chosen and may go, in the order in which it goes: the least valuable first (S4a).

    From the lowest tier up, and in a tier by value per token; of equals the one that was preferred goes
    last. One whose leaving would bring its kind under its floor goes after all that would not.
    """
    there = tuple(chosen)
    totals = _totals(there)
    floors = {quota.kind: quota.floor for quota in quotas.rows}
    going = sorted([option for option in there if not option.kept], key=lambda option: option.key)
    _, ranked = _ranked(going)
    ranked.reverse()
    ranked.sort(key=lambda option: -TIER_RANKS[option.tier])
    free, held = list[Option](), list[Option]()
    for option in ranked:
        rest = totals[option.kind] - option.cost
        if option.cost and rest < floors.get(option.kind, 0):
            held.append(option)
        else:
            totals[option.kind] = rest
            free.append(option)
    return (*free, *held)


@final
class _Chooser:
    """Options on their way in; never leaves this file."""

    def __init__(self, free: Sequence[Option], room: int, quotas: Quotas, kept: Sequence[Option]) -> None:
        used = _totals(kept)
        self._scale, self._waiting = _ranked(free)
        self._used_by_kind = used
        self._ceilings = {
            quota.kind: quota.ceiling - used[quota.kind] for quota in quotas.rows if quota.ceiling is not None
        }
        self.left = room - sum(used.values())
        self.reasons = dict[str, ChoiceReason]()
        self.refused = dict[str, ChoiceReason]()

    def fill_floors(self, quotas: Quotas) -> None:
        """Each kind takes what its floor sets aside and there is; kinds in the order of S4."""
        for quota in sorted(quotas.rows, key=_quota_order):
            aside = min(quota.floor - self._used_by_kind[quota.kind], self.left)
            for tier in Tier:
                mine = [o for o in self._waiting if o.kind is quota.kind and o.tier is tier]
                # Zero-cost options of the kind are left to their tier: they take nothing from anybody.
                mine = [option for option in mine if option.cost]
                if aside > 0 and mine:
                    aside -= self._take(mine, aside, floor=True)

    def fill_tier(self, tier: Tier) -> None:
        """The options of a tier take what is left."""
        mine = [option for option in self._waiting if option.tier is tier]
        _ = self._take(mine, self.left, floor=False)
        for option in mine:
            if option.key not in self.reasons:
                by_room = option.cost > self.left
                self.refused[option.key] = ChoiceReason.NO_ROOM if by_room else ChoiceReason.CEILING

    def _take(self, options: Sequence[Option], capacity: int, *, floor: bool) -> int:
        """What they cost that were taken, of these, which stand in the order of their values."""
        pieces = [
            Piece(cost=option.cost, worth=int(option.worth * self._scale), kind=option.kind)
            for option in options
        ]
        done = packed(pieces, capacity, self._ceilings)
        spent = 0
        for index in done.taken:
            option = options[index]
            reason = ChoiceReason.SINGLE_BEST if index == done.single else ChoiceReason.VALUE
            self.reasons[option.key] = ChoiceReason.FLOOR if floor else reason
            spent += option.cost
            if option.kind in self._ceilings:
                self._ceilings[option.kind] -= option.cost
        self.left -= spent
        self._waiting = [option for option in self._waiting if option.key not in self.reasons]
        return spent


def _choice(ordered: Sequence[Option], chooser: _Chooser) -> Choice:
    free = [option for option in ordered if not option.kept]
    for_all = all(option.key in chooser.reasons for option in free)
    verdicts, used = list[OptionVerdict](), 0
    for option in ordered:
        chosen = True
        if option.kept:
            reason = ChoiceReason.REQUIRED
        elif for_all:
            reason = ChoiceReason.ROOM_FOR_ALL
        elif option.key in chooser.reasons:
            reason = chooser.reasons[option.key]
        else:
            chosen, reason = False, chooser.refused.get(option.key, ChoiceReason.STICKY)
        used += option.cost if chosen else 0
        verdicts.append(OptionVerdict(key=option.key, chosen=chosen, reason=reason))
    return Choice(verdicts=tuple(verdicts), used=used)


def _ranked(options: Sequence[Option]) -> tuple[int, list[Option]]:
    """The options with the best value per token first, and what every worth is multiplied by to be summed.

    Of two different fractions with denominators below 2^k one is larger by more than 2^-2k, so that whole
    parts of values shifted by 2k bits stand in the same order as the values. They compare much faster.
    """
    scale = _common_denominator(options)
    if scale is None:
        exactly = sorted(options, key=lambda o: (-per_token(o.worth, o.cost), o.rank, o.key))
        return 1 << SCALE_BITS_MAX, exactly
    bits = 2 * max([option.cost.bit_length() for option in options], default=0)

    def order(option: Option) -> tuple[int, int, str]:
        worth = option.worth.numerator * (scale // option.worth.denominator)
        return -((worth << bits) // max(option.cost, 1)), option.rank, option.key

    return scale, sorted(options, key=order)


def _common_denominator(options: Iterable[Option]) -> int | None:
    """What makes an integer of every worth; None where that would be too long to reckon with."""
    common = 1
    for denominator in {option.worth.denominator for option in options}:
        common = math.lcm(common, denominator)
        if common.bit_length() > SCALE_BITS_MAX:
            return None
    return common


def _totals(options: Iterable[Option]) -> Counter[ItemKind | None]:
    """What the options of each kind cost together."""
    totals = Counter[ItemKind | None]()
    for option in options:
        totals[option.kind] += option.cost
    return totals


def _options_failure(ordered: Sequence[Option]) -> InvalidOption | None:
    before: str | None = None
    for option in ordered:
        reason: OptionReason | None = None
        if option.key == before:
            reason = OptionReason.REPEATED_KEY
        elif option.cost < 0:
            reason = OptionReason.NEGATIVE_COST
        elif option.worth < 0:
            reason = OptionReason.NEGATIVE_WORTH
        if reason is not None:
            return InvalidOption(key=option.key, reason=reason)
        before = option.key
    return None


def _exceeding(ordered: Iterable[Option], room: int) -> RequiredExceed | None:
    kept = [RequiredCost(key=option.key, cost=option.cost) for option in ordered if option.kept]
    total = sum([row.cost for row in kept])
    if total <= room:
        return None
    return RequiredExceed(room=room, total=total, rows=tuple(sorted(kept, key=lambda row: -row.cost)))


def _quota_order(quota: Quota) -> int:
    """The order of S4; turns stand last."""
    return len(KIND_RANKS) if quota.kind is None else KIND_RANKS[quota.kind]


def _quota_reason(quota: Quota, times: Mapping[ItemKind | None, int]) -> QuotaReason | None:
    if times[quota.kind] > 1:
        return QuotaReason.REPEATED_KIND
    if quota.floor < 0:
        return QuotaReason.NEGATIVE_FLOOR
    if quota.ceiling is None:
        return None
    if quota.ceiling < 0:
        return QuotaReason.NEGATIVE_CEILING
    return QuotaReason.FLOOR_OVER_CEILING if quota.floor > quota.ceiling else None
