"""Which summaries stand, once each has taken the place of what it supersedes (rule S8)."""

from collections import Counter
from collections.abc import Iterable, Mapping

from jingwei.ids import SummaryId
from jingwei.outcome import Failure, Outcome, Success
from jingwei.summaries.failures import SummarySetBroken, SummarySetReason
from jingwei.summaries.records import Summary


def active_summaries(summaries: Iterable[Summary]) -> Outcome[tuple[Summary, ...], SummarySetBroken]:
    """The summaries that no other one supersedes, by the first event that they cover.

    Copies count once, and the order given means nothing. A superseded summary that is not there is taken
    as gone: those who keep only the active ones may do so. Whether two of them overlap was asked when they
    were accepted (`accept_summary`), and is not asked again.

    Fails with the first that holds:
        REPEATED_ID: one id, two contents.
        SEVERAL_SESSIONS: not all of one session.
        CYCLE: summaries that supersede each other in a ring.
        WRONG_VERSION: not 1 without `supersedes`; else not one more than the highest superseded version, or,
            where some of these are gone, not above 1 and above all that are there.
    """
    found = resolved(summaries)
    return Failure(found) if isinstance(found, SummarySetBroken) else Success(found)


def resolved(summaries: Iterable[Summary]) -> tuple[Summary, ...] | SummarySetBroken:
    """The same without a container."""
    found = tuple(summaries)
    by_id = {one.summary_id: one for one in found}
    unlike = {one.summary_id for one in found if one != by_id[one.summary_id]}
    if unlike:
        return _broken(SummarySetReason.REPEATED_ID, unlike)
    session = min([one.session_id for one in found], default=None)
    strangers = [one.summary_id for one in found if one.session_id != session]
    if strangers:
        return _broken(SummarySetReason.SEVERAL_SESSIONS, strangers)
    ring = _ring(by_id)
    if ring:
        return _broken(SummarySetReason.CYCLE, ring)
    wrong = [one.summary_id for one in by_id.values() if not _has_its_version(one, by_id)]
    if wrong:
        return _broken(SummarySetReason.WRONG_VERSION, wrong)
    gone = {old for one in found for old in one.supersedes}
    active = [one for one in by_id.values() if one.summary_id not in gone]
    return tuple(sorted(active, key=_order))


def ancestors_of(summary: Summary, by_id: Mapping[SummaryId, Summary]) -> tuple[Summary, ...]:
    """All that it supersedes, and all that these supersede, each once; those that are there."""
    todo, seen, found = list(summary.supersedes), set[SummaryId](), list[Summary]()
    while todo:
        summary_id = todo.pop()
        old = by_id.get(summary_id)
        if summary_id in seen or old is None:
            continue
        seen.add(summary_id)
        found.append(old)
        todo += old.supersedes
    return tuple(found)


def _ring(by_id: Mapping[SummaryId, Summary]) -> list[SummaryId]:
    """The summaries from which one comes back to a ring both ways; none where there is no ring."""
    older = {summary_id: {old for old in one.supersedes if old in by_id} for summary_id, one in by_id.items()}
    newer = {summary_id: set[SummaryId]() for summary_id in by_id}
    for summary_id, olds in older.items():
        for old in olds:
            newer[old].add(summary_id)
    left = _without_ends(older, newer, set(by_id))
    return sorted(_without_ends(newer, older, left))


def _without_ends(
    ahead: Mapping[SummaryId, set[SummaryId]],
    behind: Mapping[SummaryId, set[SummaryId]],
    left: set[SummaryId],
) -> set[SummaryId]:
    """What remains when everything from which no way leads ahead is taken away, again and again."""
    ways = Counter({summary_id: len(ahead[summary_id] & left) for summary_id in left})
    ends = [summary_id for summary_id in left if not ways[summary_id]]
    kept = set(left)
    while ends:
        end = ends.pop()
        kept.discard(end)
        for before in behind[end] & kept:
            ways[before] -= 1
            if not ways[before]:
                ends.append(before)
    return kept


def _has_its_version(summary: Summary, by_id: Mapping[SummaryId, Summary]) -> bool:
    if not summary.supersedes:
        return summary.version == 1
    there = [by_id[old].version for old in summary.supersedes if old in by_id]
    if len(there) == len(summary.supersedes):
        return summary.version == 1 + max(there)
    return summary.version > max(there, default=1)


def _order(summary: Summary) -> tuple[int, int, str]:
    return summary.first_seq, summary.last_seq, summary.summary_id


def _broken(reason: SummarySetReason, summary_ids: Iterable[SummaryId]) -> SummarySetBroken:
    return SummarySetBroken(reason=reason, summary_ids=tuple(sorted(set(summary_ids))))
