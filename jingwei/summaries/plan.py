"""Which turns to summarise, in requests that a summariser can read (rule S8).

A plan is made from turns, never from summaries: whatever version a summary has, it is one step away from the
events. Nothing is decided here about a summary; the turns stand until one is accepted.
"""

import enum
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import TypeAlias, assert_never, final

import attrs

from jingwei.ids import SessionId, SummaryId, TurnId, is_blank
from jingwei.limits import SUMMARY_KEEP_NEWEST, TOKENS_BOUND
from jingwei.messages.records import GenerationRequest, ModelMessage, UserMessage
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.counting import AdditiveCounter, TokenCounter
from jingwei.request.records import BudgetMode, ContextBudget, ContextTarget, TokenBoundEvidence, TokenCount
from jingwei.summaries.active import resolved
from jingwei.summaries.failures import (
    ChunkNotCounted,
    NotCountedReason,
    SummaryPlanReason,
    SummaryPlanRefused,
    SummarySetBroken,
    TurnTooLarge,
)
from jingwei.summaries.records import (
    STANDALONE,
    SUMMARY_NAME,
    Protected,
    RequestShape,
    SharedPrefix,
    SourceTurn,
    Standalone,
    Summary,
    SummaryChunk,
    SummarySources,
)
from jingwei.summaries.request import (
    ends_in,
    index_lines,
    is_shareable,
    shared_request,
    source_lines,
    standalone_request,
)


@final
@attrs.frozen(kw_only=True)
class SummaryScope:
    """Which turns are asked about: all closed ones, but for those that are named here.

    Attributes:
        pinned: turns that must stand as they are.
        keep_newest: so many of the newest closed turns that say something stay, and all behind the oldest of
            them; zero or more.
        again: active summaries whose turns are summarised once more, from their events.
    """

    pinned: tuple[TurnId, ...] = ()
    keep_newest: int = SUMMARY_KEEP_NEWEST
    again: tuple[SummaryId, ...] = ()


@final
@attrs.frozen(kw_only=True)
class Summariser:
    """The model that summarises: what it can read, and who counts for it.

    Attributes:
        target: the model and its template.
        budget: its own window; `output_reserve` is the room for the summary.
        counter: counts for that target.
        shape: how it is asked.
    """

    target: ContextTarget
    budget: ContextBudget
    counter: TokenCounter
    shape: RequestShape = STANDALONE


@final
class LeftReason(enum.Enum):
    """Why a turn is not summarised; the first that holds."""

    NOT_CLOSED = "not_closed"
    NEWEST = "newest"
    PINNED = "pinned"
    SUMMARISED = "summarised"
    NOT_SHOWN = "not_shown"
    SILENT = "silent"


@final
@attrs.frozen(kw_only=True)
class LeftTurn:
    """A turn that is not summarised, and why."""

    turn_id: TurnId
    reason: LeftReason


@final
@attrs.frozen(kw_only=True)
class PlannedChunk:
    """Turns, the request that asks about them, and its full count, which fits.

    Attributes:
        chunk: the turns.
        request: made by `summary_request`.
        count: of the whole request, by the summariser's counter.
    """

    chunk: SummaryChunk
    request: GenerationRequest
    count: TokenCount


@final
@attrs.frozen(kw_only=True)
class SummaryPlan:
    """What to ask, chunk by chunk; every turn of the log is in one chunk or among those left.

    Each chunk makes one summary. They are accepted in their order: the first chunk that touches an old
    summary supersedes it.

    Attributes:
        session_id: whose turns.
        chunks: oldest first; perhaps none.
        left: the other turns, in order.
    """

    session_id: SessionId
    chunks: tuple[PlannedChunk, ...]
    left: tuple[LeftTurn, ...]


SummaryPlanFailure: TypeAlias = SummaryPlanRefused | SummarySetBroken | ChunkNotCounted | TurnTooLarge
"""Every way in which a plan fails."""


def plan_summary(
    sources: SummarySources,
    scope: SummaryScope,
    summariser: Summariser,
    summaries: Iterable[Summary] = (),
    protected: Iterable[Protected] = (),
) -> Outcome[SummaryPlan, SummaryPlanFailure]:
    """What to summarise: runs of neighbouring turns, in chunks that fit the summariser's window (S8).

    Each chunk takes as many turns as seem to fit, by message costs where the counter's costs add up (C6) and
    by trying otherwise; what is handed out was counted whole, and fits. No turn is split. A turn without
    messages goes with its neighbours.

    Args:
        sources: the turns of the log (`sources_of`).
        scope: which of them.
        summariser: who will read them.
        summaries: all summaries accepted before; turns of the active ones are left, unless `scope.again`.
        protected: texts that the summaries must repeat; each chunk gets those of its own range.

    Fails with:
        SummaryPlanRefused: the first check, in the order of `SummaryPlanReason`.
        SummarySetBroken: the summaries contradict each other.
        TurnTooLarge: one turn alone does not fit; its full count is told.
        ChunkNotCounted: a count says nothing.
    """
    refused = _refusal(sources, scope, summariser)
    if refused is not None:
        return Failure(refused)
    active = resolved(summaries)
    if isinstance(active, SummarySetBroken):
        return Failure(active)
    foreign = _foreign(sources, scope, active)
    if foreign is not None:
        return Failure(foreign)
    left = _left(sources, scope, summariser.shape, active)
    again = tuple([one for one in active if one.summary_id in scope.again])
    cutter = _Cutter(sources, summariser, tuple(protected), again)
    chunks = list[PlannedChunk]()
    for run in _runs(sources.turns, left):
        found = cutter.cut(run)
        if isinstance(found, TurnTooLarge | ChunkNotCounted):
            return Failure(found)
        chunks += found
    rest = tuple([LeftTurn(turn_id=turn_id, reason=reason) for turn_id, reason in left.items()])
    return Success(SummaryPlan(session_id=sources.session_id, chunks=tuple(chunks), left=rest))


# --- what may be asked ----------------------------------------------------------------------------


def _refusal(
    sources: SummarySources, scope: SummaryScope, summariser: Summariser
) -> SummaryPlanRefused | None:
    target, shape = summariser.target, summariser.shape
    if is_blank(target.model):
        return _refused(SummaryPlanReason.BLANK_MODEL, "target")
    if is_blank(target.template_revision):
        return _refused(SummaryPlanReason.BLANK_TEMPLATE_REVISION, "target")
    wrong = _wrong_number(summariser.budget)
    if wrong is not None:
        return _refused(SummaryPlanReason.INVALID_BUDGET, wrong)
    if _lacks_evidence(summariser.budget.output_evidence, summariser.budget):
        return _refused(SummaryPlanReason.UNVERIFIED_OUTPUT, "output_evidence")
    if scope.keep_newest < 0:
        return _refused(SummaryPlanReason.NEGATIVE_KEEP_NEWEST, "keep_newest")
    known = {turn.turn_id for turn in sources.turns}
    for turn_id in scope.pinned:
        if turn_id not in known:
            return _refused(SummaryPlanReason.UNKNOWN_PIN, turn_id)
    if isinstance(shape, SharedPrefix) and not is_shareable(shape.live.constraint):
        return _refused(SummaryPlanReason.CONSTRAINT_NOT_SHARED, SUMMARY_NAME)
    return None


def _wrong_number(budget: ContextBudget) -> str | None:
    """The first number of a budget that is none of B1."""
    if not 0 < budget.window_tokens < TOKENS_BOUND:
        return "window_tokens"
    if not 0 < budget.output_reserve < TOKENS_BOUND:
        return "output_reserve"
    return None if 0 <= budget.safety_margin < TOKENS_BOUND else "safety_margin"


def _lacks_evidence(evidence: TokenBoundEvidence, budget: ContextBudget) -> bool:
    return budget.mode is BudgetMode.HARD and evidence is not TokenBoundEvidence.VERIFIED_UPPER_BOUND


def _foreign(
    sources: SummarySources, scope: SummaryScope, active: tuple[Summary, ...]
) -> SummaryPlanRefused | None:
    for one in active:
        if one.session_id != sources.session_id:
            return _refused(SummaryPlanReason.OTHER_SESSION, one.summary_id)
    ids = {one.summary_id for one in active}
    for summary_id in scope.again:
        if summary_id not in ids:
            return _refused(SummaryPlanReason.NOT_ACTIVE, summary_id)
    return None


def _refused(reason: SummaryPlanReason, subject: str) -> SummaryPlanRefused:
    return SummaryPlanRefused(reason=reason, subject=subject)


# --- which turns ----------------------------------------------------------------------------------


def _left(
    sources: SummarySources, scope: SummaryScope, shape: RequestShape, active: tuple[Summary, ...]
) -> dict[TurnId, LeftReason]:
    """The turns that are not asked about, in order."""
    newest = _first_newest(sources.turns, scope.keep_newest)
    pinned = frozenset(scope.pinned)
    kept = [one for one in active if one.summary_id not in scope.again]
    summarised = frozenset([turn_id for one in kept for turn_id in one.turn_ids])
    shown = _shown(sources.turns, shape)
    left = dict[TurnId, LeftReason]()
    for place, turn in enumerate(sources.turns):
        if not turn.is_closed:
            left[turn.turn_id] = LeftReason.NOT_CLOSED
        elif place >= newest:
            left[turn.turn_id] = LeftReason.NEWEST
        elif turn.turn_id in pinned:
            left[turn.turn_id] = LeftReason.PINNED
        elif turn.turn_id in summarised:
            left[turn.turn_id] = LeftReason.SUMMARISED
        elif shown is not None and turn.turn_id not in shown:
            left[turn.turn_id] = LeftReason.NOT_SHOWN
    silent = [turn for run in _runs(sources.turns, left) if not _speaks(run) for turn in run]
    left.update({turn.turn_id: LeftReason.SILENT for turn in silent})
    return {turn.turn_id: left[turn.turn_id] for turn in sources.turns if turn.turn_id in left}


def _first_newest(turns: Sequence[SourceTurn], keep_newest: int) -> int:
    """The place of the first turn that is kept because it is new."""
    speaking = [place for place, turn in enumerate(turns) if turn.is_closed and turn.messages]
    if not keep_newest:
        return len(turns)
    return speaking[-keep_newest] if keep_newest <= len(speaking) else 0


def _shown(turns: Sequence[SourceTurn], shape: RequestShape) -> Collection[TurnId] | None:
    """The turns that a live request shows; None where none is shared."""
    match shape:
        case Standalone():
            return None
        case SharedPrefix(live=live):
            return ends_in(live.messages, turns).keys()
        case _:
            assert_never(shape)


def _runs(turns: Sequence[SourceTurn], left: Mapping[TurnId, LeftReason]) -> Iterator[tuple[SourceTurn, ...]]:
    """The turns between those that are left."""
    run = list[SourceTurn]()
    for turn in turns:
        if turn.turn_id not in left:
            run.append(turn)
        elif run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def _speaks(turns: Iterable[SourceTurn]) -> bool:
    return any(turn.messages for turn in turns)


# --- where to cut ---------------------------------------------------------------------------------


_Unit: TypeAlias = tuple[SourceTurn, ...]
_Asked: TypeAlias = PlannedChunk | TurnTooLarge | ChunkNotCounted


@final
class _Cutter:
    """Cuts runs of turns into chunks, and remembers which old summaries have found their successor."""

    def __init__(
        self,
        sources: SummarySources,
        summariser: Summariser,
        protected: tuple[Protected, ...],
        again: tuple[Summary, ...],
    ) -> None:
        self._session_id = sources.session_id
        self._summariser = summariser
        self._protected = protected
        self._again = list(again)
        shape = summariser.shape
        self._ends = ends_in(shape.live.messages, sources.turns) if isinstance(shape, SharedPrefix) else {}

    def cut(self, run: Sequence[SourceTurn]) -> list[PlannedChunk] | TurnTooLarge | ChunkNotCounted:
        """The chunks of one run, in order; the first turn that does not fit by itself."""
        units, chunks = _units(run), list[PlannedChunk]()
        estimate, start = self._estimate(units), 0
        while start < len(units):
            length, found = self._next(units, start, estimate)
            if not isinstance(found, PlannedChunk):
                return found
            self._again = [one for one in self._again if one.summary_id not in found.chunk.supersedes]
            chunks.append(found)
            start += length
        return chunks

    def _next(self, units: Sequence[_Unit], start: int, estimate: "_Estimate | None") -> tuple[int, _Asked]:
        """The chunk that begins here, and its length: while it seems to fit, or shorter until it does."""
        if estimate is None:
            return self._grown(units, start)
        available = self._summariser.budget.available
        stops = range(start + 1, len(units) + 1)
        length = max(bisect_right(stops, available, key=lambda stop: estimate(start, stop)), 1)
        found = self._asked(units[start : start + length])
        while length > 1 and isinstance(found, TurnTooLarge):
            length //= 2
            found = self._asked(units[start : start + length])
        return length, found

    def _grown(self, units: Sequence[_Unit], start: int) -> tuple[int, _Asked]:
        """Without costs that add up: doubled while it fits, and then the gap between the two halved."""
        best, fits = self._asked(units[start : start + 1]), 1
        room = len(units) - start
        beyond = room + 1
        while isinstance(best, PlannedChunk) and beyond - fits > 1:
            length = min(2 * fits, room) if beyond > room else (fits + beyond) // 2
            found = self._asked(units[start : start + length])
            if isinstance(found, TurnTooLarge):
                beyond = length
            else:
                best, fits = found, length
        return fits, best

    def _asked(self, units: Sequence[_Unit]) -> _Asked:
        """These turns as one chunk, if the request for them fits when it is counted whole."""
        turns = _joined(units)
        chunk = self._chunk(turns)
        request = self._request(chunk)
        counted = _counted(request, self._summariser)
        if not isinstance(counted, TokenCount):
            reason, detail = counted
            first, last = turns[0].turn_id, turns[-1].turn_id
            return ChunkNotCounted(reason=reason, first_turn=first, last_turn=last, detail=detail)
        available = self._summariser.budget.available
        if counted.tokens.total > available:
            first = next(turn.turn_id for turn in turns if turn.messages)
            return TurnTooLarge(turn_id=first, tokens=counted.tokens.total, available=available)
        return PlannedChunk(chunk=chunk, request=request, count=counted)

    def _chunk(self, turns: Sequence[SourceTurn]) -> SummaryChunk:
        first, last = turns[0].first_seq, turns[-1].last_seq
        old = [one for one in self._again if one.first_seq <= last and first <= one.last_seq]
        return SummaryChunk(
            session_id=self._session_id,
            turns=tuple(turns),
            supersedes=tuple([one.summary_id for one in old]),
            version=1 + max([one.version for one in old], default=0),
            protected=_within(self._protected, turns),
        )

    def _request(self, chunk: SummaryChunk) -> GenerationRequest:
        shape = self._summariser.shape
        match shape:
            case Standalone():
                return standalone_request(chunk.turns, chunk.protected)
            case SharedPrefix(live=live):
                return shared_request(live, self._ends, chunk.turns, chunk.protected)
            case _:
                assert_never(shape)

    def _estimate(self, units: Sequence[_Unit]) -> "_Estimate | None":
        """What a request for some of these turns costs about; None where costs do not add up.

        Each turn is taken for a message of its own, which is seldom less than what it adds to a message.
        """
        counter, shape = self._summariser.counter, self._summariser.shape
        if not isinstance(counter, AdditiveCounter):
            return None
        protected = _within(self._protected, _joined(units))
        match shape:
            case Standalone():
                base = standalone_request((), protected)
                told = [counter.message_cost(_said(source_lines(unit))) for unit in units]
                shown = [0] * (len(units) + 1)
            case SharedPrefix(live=live):
                base = shared_request(live, {}, (), protected)
                told = [counter.message_cost(_said(index_lines(unit))) for unit in units]
                before = [0, *accumulate(map(counter.message_cost, live.messages))]
                shown = [0, *[before[self._ends[unit[-1].turn_id]] for unit in units]]
            case _:
                assert_never(shape)
        fixed = counter.fixed_cost(base.constraint) + sum(map(counter.message_cost, base.messages))
        up_to = [0, *accumulate(told)]
        return lambda start, stop: fixed + shown[stop] + up_to[stop] - up_to[start]


_Estimate: TypeAlias = Callable[[int, int], int]


def _units(run: Sequence[SourceTurn]) -> list[_Unit]:
    """Turns that say something, each with the silent ones before it; those at the end go with the last."""
    units, silent = list[_Unit](), list[SourceTurn]()
    for turn in run:
        silent.append(turn)
        if turn.messages:
            units.append(tuple(silent))
            silent = []
    return [*units[:-1], (*units[-1], *silent)]


def _joined(units: Iterable[_Unit]) -> tuple[SourceTurn, ...]:
    return tuple(chain.from_iterable(units))


def _said(text: str) -> ModelMessage:
    return UserMessage(content=text)


def _within(protected: Iterable[Protected], turns: Sequence[SourceTurn]) -> tuple[Protected, ...]:
    """The texts that a summary of these turns must repeat."""
    first, last = turns[0].first_seq, turns[-1].last_seq
    return tuple([one for one in protected if first <= one.seq <= last and not is_blank(one.text)])


def _counted(request: GenerationRequest, summariser: Summariser) -> TokenCount | tuple[NotCountedReason, str]:
    """The full count of a request, or why it says nothing (C1, B4)."""
    match summariser.counter.count(summariser.target, request):
        case Failure(refused):
            return NotCountedReason.REFUSED, refused.reason
        case Success(count):
            return _doubt(count, summariser) or count


def _doubt(count: TokenCount, summariser: Summariser) -> tuple[NotCountedReason, str] | None:
    tokens = count.tokens
    if count.target != summariser.target:
        return NotCountedReason.OTHER_TARGET, ""
    if is_blank(count.method):
        return NotCountedReason.BLANK_METHOD, ""
    if _lacks_evidence(count.evidence, summariser.budget):
        return NotCountedReason.UNVERIFIED, ""
    parts = (tokens.system, tokens.messages, tokens.constraint, tokens.template)
    if min(parts) < 0 or tokens.total >= TOKENS_BOUND:
        return NotCountedReason.OVERFLOW, ""
    return (NotCountedReason.ZERO, "") if not tokens.total else None
