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
from jingwei.jsontext import utf8_bytes
from jingwei.limits import PREVIEW_INLINE_BYTES
from jingwei.messages.records import ToolMessage
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.records import ProjectedTurn, Projection
from jingwei.report.records import BuildReport, ReductionKind
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
        by_leaving_out: tokens that leaving such turns out would free instead.
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
        reclaimable: tokens that its preview would free.
    """

    event_id: EventId
    turn_id: TurnId
    actual_bytes: int
    cap_bytes: int
    reclaimable: int


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
    free = _free_turns(history, report)
    advice = [
        *_finished(free, report, counter, observed, triggers),
        *_results(free, history, counter, triggers),
        *_stale(report, observed, triggers),
        *_stage(observed),
        *(_noise(history, report, counter) if observed.quality_fell else ()),
    ]
    return Success(tuple(advice))


def _triggers_failure(triggers: Triggers, observed: Observed) -> InvalidTriggers | None:
    if not 0 < triggers.threshold <= 1:
        reason, actual = InvalidTriggerReason.THRESHOLD_OUT_OF_RANGE, str(triggers.threshold)
    elif triggers.result_cap_bytes < 1:
        reason, actual = InvalidTriggerReason.CAP_OUT_OF_RANGE, str(triggers.result_cap_bytes)
    elif triggers.stale_turns < 1:
        reason, actual = InvalidTriggerReason.STALE_OUT_OF_RANGE, str(triggers.stale_turns)
    elif any(turns < 0 for _, turns in observed.unused_turns):
        lowest = min(turns for _, turns in observed.unused_turns)
        reason, actual = InvalidTriggerReason.NEGATIVE_TURNS, str(lowest)
    else:
        return None
    return InvalidTriggers(reason=reason, actual=actual)


def _free_turns(history: Projection, report: BuildReport) -> list[ProjectedTurn]:
    """Turns that stand in the request in full and are not pinned: what advice may be about."""
    known = {turn.turn_id: turn for turn in history.turns}
    return [
        known[row.turn_id]
        for row in report.turns.rows
        if row.retained and not row.protected and row.reduction is None and row.turn_id in known
    ]


def _finished(
    free: Iterable[ProjectedTurn],
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
    for turn in free:
        whole = summed_cost(turn.messages, counter)
        shorter = condensed_turn(turn, triggers.policy, report.session_id)
        saved = 0 if shorter is None else max(whole - summed_cost(shorter.messages, counter), 0)
        condensed += saved
        left_out += whole
        if saved:
            turns.append(turn.turn_id)
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


def _results(
    free: Iterable[ProjectedTurn], history: Projection, counter: AdditiveCounter, triggers: Triggers
) -> list[CondenseResult]:
    found = list[CondenseResult]()
    for turn in free:
        shorter = condensed_turn(turn, triggers.policy, history.session_id)
        shown = turn.messages if shorter is None else shorter.messages
        place = 0
        for group in turn.groups:
            for message in group.messages:
                size = utf8_bytes(message.content) if isinstance(message, ToolMessage) else 0
                if size > triggers.result_cap_bytes:
                    freed = counter.message_cost(message) - counter.message_cost(shown[place])
                    found.append(
                        CondenseResult(
                            event_id=group.source_events[-1],
                            turn_id=turn.turn_id,
                            actual_bytes=size,
                            cap_bytes=triggers.result_cap_bytes,
                            reclaimable=max(freed, 0),
                        )
                    )
                place += 1
    return found


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


def _noise(history: Projection, report: BuildReport, counter: AdditiveCounter) -> list[LookForNoise]:
    """What takes the room, by kind; a turn that stands condensed counts as it stands."""
    shares = dict[ItemKind | None, int]()
    for row in report.items or ():
        if row.retained and row.cost is not None:
            shares[row.kind] = shares.get(row.kind, 0) + row.cost
    known = {turn.turn_id: turn for turn in history.turns}
    for turn_row in report.turns.rows:
        turn = known.get(turn_row.turn_id)
        if turn is None or not turn_row.retained:
            continue
        messages = turn.messages
        if turn_row.reduction is ReductionKind.CONDENSED and turn_row.policy is not None:
            shorter = condensed_turn(turn, turn_row.policy, report.session_id)
            messages = turn.messages if shorter is None else shorter.messages
        shares[None] = shares.get(None, 0) + summed_cost(messages, counter)
    rows = [NoiseShare(kind=kind, tokens=tokens) for kind, tokens in shares.items()]
    return [LookForNoise(shares=tuple(sorted(rows, key=_by_share)))]


def _by_share(share: NoiseShare) -> tuple[int, str]:
    return -share.tokens, "" if share.kind is None else share.kind.value
