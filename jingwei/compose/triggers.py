"""When to make a context smaller before it is too large: advice, as data (rule S6).

Nothing is done here. A host asks after a build, or before the next one, and decides what to do; an advice
that could not reach its target says so, instead of coming back for ever.
"""

import enum
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, TypeAlias, final

import attrs

from jingwei.ids import EventId, ItemId, TurnId
from jingwei.items.records import ItemKind
from jingwei.jsontext import canonical, shortened, utf8_bytes
from jingwei.limits import PREVIEW_INLINE_BYTES
from jingwei.messages.records import ModelMessage, ToolMessage
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.records import ProjectedTurn, Projection
from jingwei.report.records import BuildReport
from jingwei.request.counting import AdditiveCounter
from jingwei.selection.condense import condensed_turn
from jingwei.selection.costs import summed_cost
from jingwei.selection.records import DEFAULT_PREVIEW, PreviewPolicy

SOFT_THRESHOLD: Final = Fraction(7, 10)
"""The share of the window beyond which finished steps are condensed (S6): the seed's own 70 %."""

STALE_TURNS: Final = 10
"""Turns without a reference after which an item counts for less (S6)."""


@final
class Reach(enum.Enum):
    """Whether what an advice would free is enough (S6)."""

    BY_CONDENSING = "by_condensing"
    BY_LEAVING_OUT = "by_leaving_out"
    NOT_REACHABLE = "not_reachable"


@final
@attrs.frozen(kw_only=True)
class CondenseFinished:
    """The expected input passes the threshold: condense finished steps (S6).

    Attributes:
        expected: tokens of the expected input.
        threshold: the tokens from which on this is said.
        by_condensing: tokens that shortening large results of turns that may be touched would free.
        by_leaving_out: tokens that leaving out every turn that may go would free instead, those that are
            condensed already too. Items are not in it: `LowerWeight` and `LookForNoise` speak of them.
        reach: whether that brings the input to the threshold, and how.
        turns: turns whose large results stand in full, oldest first.
    """

    expected: int
    threshold: int
    by_condensing: int
    by_leaving_out: int
    reach: Reach
    turns: tuple[TurnId, ...]


@final
@attrs.frozen(kw_only=True)
class CondenseResult:
    """One tool result is larger than its cap: condense it and store the original (S6).

    Attributes:
        event_id: the event of the result.
        turn_id: its turn.
        actual_bytes: UTF-8 bytes of the result as recorded.
        cap_bytes: the cap.
        reclaimable: tokens that its preview would free; 0 where no preview costs less.
        reach: whether the preview is within the cap, or only leaving the turn out helps.
    """

    event_id: EventId
    turn_id: TurnId
    actual_bytes: int
    cap_bytes: int
    reclaimable: int
    reach: Reach


@final
@attrs.frozen(kw_only=True)
class LowerWeight:
    """Nothing has referred to an item for many turns: let it count for less (S6).

    Attributes:
        item_id: the item.
        turns: for how many turns.
        reclaimable: tokens that it takes now; 0 where it does not stand in the request, None without costs.
    """

    item_id: ItemId
    turns: int
    reclaimable: int | None


@final
@attrs.frozen(kw_only=True)
class SummarizeStage:
    """The plan has entered another stage: summarise the one that is over (S6).

    Attributes:
        before: the stage that is over.
        now: the stage that begins; None where the plan has ended.
    """

    before: str
    now: str | None


@final
@attrs.frozen(kw_only=True)
class NoiseShare:
    """What one kind takes of a request.

    Attributes:
        kind: of items; None for turns of the history.
        tokens: what they cost together (C6).
    """

    kind: ItemKind | None
    tokens: int


@final
@attrs.frozen(kw_only=True)
class LookForNoise:
    """Answers have become worse, says the host: look at what takes the room (S6).

    Attributes:
        shares: what each kind that stands in the request takes, largest first.
    """

    shares: tuple[NoiseShare, ...]


Advice: TypeAlias = CondenseFinished | CondenseResult | LowerWeight | SummarizeStage | LookForNoise
"""What a host might do before the next request. No advice is ever carried out by this library."""


@final
class InvalidTriggerReason(enum.Enum):
    """Why triggers say nothing."""

    THRESHOLD_OUT_OF_RANGE = "threshold_out_of_range"
    CAP_OUT_OF_RANGE = "cap_out_of_range"
    STALE_OUT_OF_RANGE = "stale_out_of_range"
    NEGATIVE_TURNS = "negative_turns"


@final
@attrs.frozen(kw_only=True)
class InvalidTriggers:
    """Triggers that cannot be meant.

    Attributes:
        reason: the first check that fails.
        actual: what came.
    """

    reason: InvalidTriggerReason
    actual: str


@final
@attrs.frozen(kw_only=True)
class Triggers:
    """When advice is given (S6).

    Attributes:
        threshold: share of the window that the expected input may take; above 0, at most 1.
        result_cap_bytes: UTF-8 bytes that one recorded result may have; at least 1.
        stale_turns: turns without a reference after which an item is stale; at least 1.
        policy: how results would be shortened.
    """

    threshold: Fraction = SOFT_THRESHOLD
    result_cap_bytes: int = PREVIEW_INLINE_BYTES
    stale_turns: int = STALE_TURNS
    policy: PreviewPolicy = DEFAULT_PREVIEW


DEFAULT_TRIGGERS: Final = Triggers()
"""70 % of the window, 4096 bytes a result, ten turns."""


@final
@attrs.frozen(kw_only=True)
class Observed:
    """What the host has seen since the last request (S6).

    Attributes:
        expected_tokens: tokens of the expected input; None for those of the last count.
        unused_turns: for how many turns nothing has referred to an item.
        stage_before: the stage of the plan at the last request.
        stage_now: the stage now.
        quality_fell: whether the answers became worse; only the host can say.
    """

    expected_tokens: int | None = None
    unused_turns: tuple[tuple[ItemId, int], ...] = ()
    stage_before: str | None = None
    stage_now: str | None = None
    quality_fell: bool = False


NOTHING_OBSERVED: Final = Observed()
"""The last request, and nothing besides."""


def advise(
    history: Projection,
    report: BuildReport,
    counter: AdditiveCounter,
    observed: Observed = NOTHING_OBSERVED,
    triggers: Triggers = DEFAULT_TRIGGERS,
) -> Outcome[tuple[Advice, ...], InvalidTriggers]:
    """What could be done before the next request, in the order of S6. Pure and total; never repeated in vain.

    Args:
        history: the history that the report speaks of; turns that it does not know are passed over.
        report: of the last build.
        counter: whose costs say what could be freed (C6).
        observed: what the host has seen.
        triggers: when to speak.
    """
    wrong = _triggers_failure(triggers, observed)
    if wrong is not None:
        return Failure(wrong)
    standing = _standing(history, report)
    advice = [
        *_finished(standing, report, counter, observed, triggers),
        *_results(standing, report, counter, triggers),
        *_stale(report, observed, triggers),
        *_stage(observed),
        *(_noise(standing, report, counter) if observed.quality_fell else ()),
    ]
    return Success(tuple(advice))


def _triggers_failure(triggers: Triggers, observed: Observed) -> InvalidTriggers | None:
    if not 0 < triggers.threshold <= 1:
        reason, actual = InvalidTriggerReason.THRESHOLD_OUT_OF_RANGE, _number(triggers.threshold)
    elif triggers.result_cap_bytes < 1:
        reason, actual = InvalidTriggerReason.CAP_OUT_OF_RANGE, _number(triggers.result_cap_bytes)
    elif triggers.stale_turns < 1:
        reason, actual = InvalidTriggerReason.STALE_OUT_OF_RANGE, _number(triggers.stale_turns)
    elif any(turns < 0 for _, turns in observed.unused_turns):
        lowest = min(turns for _, turns in observed.unused_turns)
        reason, actual = InvalidTriggerReason.NEGATIVE_TURNS, _number(lowest)
    else:
        return None
    return InvalidTriggers(reason=reason, actual=actual)


def _number(actual: int | Fraction) -> str:
    """For people, and of any size."""
    whole, parts = canonical(actual.numerator), canonical(actual.denominator)
    return shortened(whole if actual.denominator == 1 else f"{whole}/{parts}")


@final
@attrs.frozen(kw_only=True)
class _Standing:
    """A turn that stands in the request, and as what; never leaves this file."""

    turn: ProjectedTurn
    messages: tuple[ModelMessage, ...]
    is_free: bool
    is_whole: bool


def _standing(history: Projection, report: BuildReport) -> list[_Standing]:
    """Every turn of the history that stands in the request, oldest first."""
    known = {turn.turn_id: turn for turn in history.turns}
    found = list[_Standing]()
    for row in report.turns.rows:
        turn = known.get(row.turn_id)
        if turn is None or not row.retained:
            continue
        shorter = None if row.policy is None else condensed_turn(turn, row.policy, report.session_id)
        found.append(
            _Standing(
                turn=turn,
                messages=turn.messages if shorter is None else shorter.messages,
                is_free=not row.protected,
                is_whole=row.reduction is None and not row.viewed,
            )
        )
    return found


def _finished(
    standing: Iterable[_Standing],
    report: BuildReport,
    counter: AdditiveCounter,
    observed: Observed,
    triggers: Triggers,
) -> list[CondenseFinished]:
    expected = observed.expected_tokens
    if expected is None:
        expected = report.attempts[-1].count.tokens.total if report.attempts else 0
    threshold = int(report.budget.window_tokens * triggers.threshold)
    if expected <= threshold:
        return []
    condensed, left_out, turns = 0, 0, list[TurnId]()
    for one in standing:
        if not one.is_free:
            continue
        whole = summed_cost(one.messages, counter)
        left_out += whole
        shorter = _preview(one, report, counter, triggers)
        if shorter is not None:
            condensed += whole - summed_cost(shorter, counter)
            turns.append(one.turn.turn_id)
    if expected - condensed <= threshold:
        reach = Reach.BY_CONDENSING
    else:
        reach = Reach.BY_LEAVING_OUT if expected - left_out <= threshold else Reach.NOT_REACHABLE
    return [
        CondenseFinished(
            expected=expected,
            threshold=threshold,
            by_condensing=condensed,
            by_leaving_out=left_out,
            reach=reach,
            turns=tuple(turns),
        )
    ]


def _preview(
    one: _Standing, report: BuildReport, counter: AdditiveCounter, triggers: Triggers
) -> tuple[ModelMessage, ...] | None:
    """What a turn that stands in full could say instead; None where no plan may say it so (R4)."""
    if not one.is_whole:
        return None
    shorter = condensed_turn(one.turn, triggers.policy, report.session_id)
    if shorter is None or summed_cost(shorter.messages, counter) >= summed_cost(one.messages, counter):
        return None
    return shorter.messages


def _results(
    standing: Iterable[_Standing], report: BuildReport, counter: AdditiveCounter, triggers: Triggers
) -> list[CondenseResult]:
    """Results above the cap that stand in full, in turns that may be touched."""
    found = list[CondenseResult]()
    for one in standing:
        if not one.is_free or not one.is_whole:
            continue
        events = [group.source_events[-1] for group in one.turn.groups for _ in group.messages]
        shown = _preview(one, report, counter, triggers) or one.messages
        for event_id, message, instead in zip(events, one.messages, shown, strict=True):
            size = _result_bytes(message)
            if size <= triggers.result_cap_bytes:
                continue
            within = _result_bytes(instead) <= triggers.result_cap_bytes
            freed = counter.message_cost(message) - counter.message_cost(instead)
            found.append(
                CondenseResult(
                    event_id=event_id,
                    turn_id=one.turn.turn_id,
                    actual_bytes=size,
                    cap_bytes=triggers.result_cap_bytes,
                    reclaimable=max(freed, 0),
                    reach=Reach.BY_CONDENSING if within else Reach.BY_LEAVING_OUT,
                )
            )
    return found


def _result_bytes(message: ModelMessage) -> int:
    return utf8_bytes(message.content) if isinstance(message, ToolMessage) else 0


def _stale(report: BuildReport, observed: Observed, triggers: Triggers) -> list[LowerWeight]:
    rows = {row.item_id: row for row in report.items or ()}
    unused = sorted(dict(observed.unused_turns).items())
    return [
        LowerWeight(item_id=item_id, turns=turns, reclaimable=rows[item_id].cost)
        for item_id, turns in unused
        if turns >= triggers.stale_turns and item_id in rows and not rows[item_id].protected
    ]


def _stage(observed: Observed) -> list[SummarizeStage]:
    if observed.stage_before is None or observed.stage_before == observed.stage_now:
        return []
    return [SummarizeStage(before=observed.stage_before, now=observed.stage_now)]


def _noise(
    standing: Iterable[_Standing], report: BuildReport, counter: AdditiveCounter
) -> list[LookForNoise]:
    """What takes the room, by kind; a turn that stands condensed counts as it stands."""
    shares = dict[ItemKind | None, int]()
    for row in report.items or ():
        if row.retained and row.cost is not None:
            shares[row.kind] = shares.get(row.kind, 0) + row.cost
    for one in standing:
        shares[None] = shares.get(None, 0) + summed_cost(one.messages, counter)
    rows = [NoiseShare(kind=kind, tokens=tokens) for kind, tokens in shares.items()]
    return [LookForNoise(shares=tuple(sorted(rows, key=_by_share)))]


def _by_share(share: NoiseShare) -> tuple[int, str]:
    return -share.tokens, "" if share.kind is None else share.kind.value
