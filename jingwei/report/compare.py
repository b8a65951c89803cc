"""Two reports side by side: what a provider's prompt cache will feel (rule B9)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import ceil

from jingwei.limits import TOKENS_BOUND
from jingwei.report.cache import DEFAULT_PRICES, CachePlan, CachePrices, PrefixChange
from jingwei.report.records import BuildReport, ExchangeRow, ReductionKind, SentMessage, kind_of
from jingwei.selection.records import PreviewPolicy


def compare(previous: BuildReport, report: BuildReport, prices: CachePrices = DEFAULT_PRICES) -> CachePlan:
    """How the request of `report` continues that of `previous`, which should be the last one sent.

    Total and pure. Linear in what both sent; where the previous request does not stand whole at the start
    of this one, the turns of the history may be walked too, to say why.
    """
    unserved = _unserved(previous, report)
    common = 0 if unserved is not None else _common(previous.sent, report.sent)
    gone, written = previous.sent[common:], report.sent[common:]
    reason = unserved or _reason(previous, report, common)
    rewritten = _cost(_shared(written, gone))
    freed = _freed(previous, report, gone, written)
    known = _cost(report.sent) is not None
    return CachePlan(
        common_messages=common,
        common_tokens=_cost(report.sent[:common]) if known else None,
        changed_at=None if reason is None else common,
        reason=reason,
        written_tokens=_cost(written) if known else None,
        rewritten_tokens=rewritten if known else None,
        freed_tokens=freed,
        pays_after=_pays_after(rewritten, freed, prices),
    )


# --- where the two part, and why ------------------------------------------------------------------


def _unserved(previous: BuildReport, report: BuildReport) -> PrefixChange | None:
    """Why no cache can serve anything: what stands before every message differs."""
    if previous.target != report.target:
        return PrefixChange.TARGET
    if previous.constraint_digest != report.constraint_digest:
        return PrefixChange.TOOLS
    return None


def _common(before: Sequence[SentMessage], now: Sequence[SentMessage]) -> int:
    for index, (old, new) in enumerate(zip(before, now, strict=False)):
        if old.digest != new.digest:
            return index
    return min(len(before), len(now))


def _reason(previous: BuildReport, report: BuildReport, common: int) -> PrefixChange | None:
    """Why the first `common` messages are not all that was sent before; None when they are."""
    if common == len(previous.sent):
        return None
    if common < max(previous.system_messages, report.system_messages):
        return PrefixChange.SYSTEM
    if previous.session_id != report.session_id:
        return PrefixChange.SESSION
    effect = _effect(previous, report, common)
    if effect in {PrefixChange.CUT_MOVED, PrefixChange.CONDENSED}:
        return _cause(previous, report) or effect
    return effect


def _effect(previous: BuildReport, report: BuildReport, common: int) -> PrefixChange:
    """What happened at the place where the two part."""
    enveloped = previous.items_digest is not None
    behind_history = len(previous.sent) - previous.current_messages - enveloped
    if common > behind_history:
        return _running_turn(previous, report)
    turn = _first_turn(previous, report)  # one that came back may stand where current stood
    if turn is not None:
        return turn
    if previous.summary_digest != report.summary_digest:
        return PrefixChange.SUMMARIZED
    if common < behind_history:
        return PrefixChange.HISTORY
    if enveloped or report.items_digest is not None:
        return PrefixChange.ITEMS
    return _running_turn(previous, report)


def _first_turn(previous: BuildReport, report: BuildReport) -> PrefixChange | None:
    """What became of the first turn of both histories that is sent differently; None where none is."""
    before = {reduction.turn_id: reduction for reduction in previous.turns.reductions}
    now = {reduction.turn_id: reduction for reduction in report.turns.reductions}
    pinned = {*previous.turns.pinned} ^ {*report.turns.pinned}
    for old, new in zip(previous.turns.sources, report.turns.sources, strict=False):
        if old != new:
            break
        was, becomes = before.get(old.turn_id), now.get(old.turn_id)
        if was != becomes:
            if old.turn_id in pinned:
                return PrefixChange.PINS
            return _between(kind_of(was), kind_of(becomes))
    return None


def _running_turn(previous: BuildReport, report: BuildReport) -> PrefixChange:
    """What became of the turn that ran: it runs on, or is the first turn that the history gained."""
    place = len(previous.turns.sources)
    turn = report.turns.sources[place].turn_id if place < len(report.turns.sources) else None
    for reduction in report.turns.reductions:
        if reduction.turn_id == turn:
            return _between(None, kind_of(reduction))
    for old, new in _exchange_pairs(previous.exchanges, report.exchanges if turn is None else None):
        was, becomes = _done(old), _done(new)
        if was != becomes:
            return _between(was[0], becomes[0])
    return PrefixChange.CURRENT


def _exchange_pairs(
    before: Sequence[ExchangeRow] | None, now: Sequence[ExchangeRow] | None
) -> Iterator[tuple[ExchangeRow | None, ExchangeRow | None]]:
    """Exchanges of the previous request and what they are now; without rows, they stood in full."""
    end = None if before is None else len(before)
    return zip_longest(before or (), (now or ())[:end])


def _done(row: ExchangeRow | None) -> tuple[ReductionKind | None, PreviewPolicy | None]:
    return (None, None) if row is None else (row.reduction, row.policy)


def _between(was: ReductionKind | None, becomes: ReductionKind | None) -> PrefixChange:
    if ReductionKind.SUMMARIZED in {was, becomes}:
        return PrefixChange.SUMMARIZED
    left_out = ReductionKind.DROPPED in {was, becomes}
    return PrefixChange.CUT_MOVED if left_out else PrefixChange.CONDENSED


def _cause(previous: BuildReport, report: BuildReport) -> PrefixChange | None:
    """What the host changed that decides what is left out; None where only the session went on."""
    if previous.strategy != report.strategy:
        return PrefixChange.STRATEGY
    if _marks(previous) != _marks(report):
        return PrefixChange.WINDOW
    counted = _by_window(previous) or _by_window(report)
    return PrefixChange.WINDOW if counted and previous.budget.available != report.budget.available else None


def _marks(report: BuildReport) -> tuple[int, int] | None:
    return None if report.marks is None else (report.marks.high, report.marks.low)


def _by_window(report: BuildReport) -> bool:
    """Whether the window had a part in what was left out: a cut by marks alone does not ask it (R2)."""
    return report.marks is None or report.marks.broke


# --- what it costs --------------------------------------------------------------------------------


def _shared(messages: Sequence[SentMessage], others: Sequence[SentMessage]) -> list[SentMessage]:
    """Those of the messages that stand among the others too, each as often as it does there."""
    left = Counter([message.digest for message in others])
    found = list[SentMessage]()
    for message in messages:
        if left[message.digest] > 0:
            left[message.digest] -= 1
            found.append(message)
    return found


def _freed(
    previous: BuildReport, report: BuildReport, gone: Sequence[SentMessage], written: Sequence[SentMessage]
) -> int | None:
    """What of the previous request is not sent any more, by the previous report's costs."""
    alike = (previous.target, _method(previous)) == (report.target, _method(report))
    whole, kept = _cost(gone), _cost(_shared(gone, written))
    if not alike or whole is None or kept is None or _cost(report.sent) is None:
        return None
    return whole - kept


def _method(report: BuildReport) -> str | None:
    return report.attempts[-1].count.method if report.attempts else None


def _cost(messages: Sequence[SentMessage]) -> int | None:
    total = 0
    for message in messages:
        if message.cost is None:
            return None
        total += message.cost
    return total if total < TOKENS_BOUND else None


def _pays_after(rewritten: int | None, freed: int | None, prices: CachePrices) -> int | None:
    """The least n for which reading what was freed, in this and n further requests, costs no less."""
    if rewritten is None or freed is None or rewritten == 0 or freed == 0 or prices.read <= 0:
        return None
    extra = rewritten * (prices.write - prices.read)
    requests = max(ceil(extra / (freed * prices.read)) - 1, 0)
    return requests if requests < TOKENS_BOUND else None
