"""Whether a summary may stand for its turns (rule S8).

The checks look at the summary, at the turns that it covers, and at the other summaries; nothing behind its
last event is looked at, so that what was accepted stays acceptable whatever is appended.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, final

import attrs

from jingwei.ids import EventId, SummaryId, is_blank
from jingwei.jsontext import canonical, shortened
from jingwei.messages.records import ModelMessage
from jingwei.messages.wire import message_bytes
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.counting import AdditiveCounter
from jingwei.summaries.active import ancestors_of, resolved
from jingwei.summaries.failures import SummaryReason, SummaryRefused, SummarySetBroken
from jingwei.summaries.records import (
    FORMAT_VERSION,
    Protected,
    SourceTurn,
    Statement,
    Summary,
    SummaryChunk,
    SummaryDraft,
    SummarySources,
)
from jingwei.summaries.render import summary_envelope


def summary_of(draft: SummaryDraft, chunk: SummaryChunk, summary_id: SummaryId) -> Summary:
    """The summary that a model's answer about a chunk proposes; `accept_summary` decides.

    Of a chunk without turns, which no plan has, it proposes a summary of nothing.
    """
    turns = chunk.turns
    events = [event for turn in turns for event in turn.events]
    return Summary(
        summary_id=summary_id,
        session_id=chunk.session_id,
        facts=draft.facts,
        decisions=draft.decisions,
        hypotheses=draft.hypotheses,
        open_questions=draft.open_questions,
        first_seq=turns[0].first_seq if turns else 0,
        last_seq=turns[-1].last_seq if turns else -1,
        tail_event_id=events[-1] if events else EventId(""),
        turn_ids=chunk.turn_ids,
        version=chunk.version,
        supersedes=chunk.supersedes,
    )


def accept_summary(
    proposed: Summary,
    sources: SummarySources,
    summaries: Iterable[Summary] = (),
    protected: Iterable[Protected] = (),
    costs: AdditiveCounter | None = None,
) -> Outcome[Summary, SummaryRefused | SummarySetBroken]:
    """The summary itself, once every check of S8 holds; else the first that does not.

    Args:
        proposed: a summary from anywhere.
        sources: the turns of its log, as far as they are known now (`sources_of`).
        summaries: all summaries that were accepted before, superseded ones included.
        protected: texts that must not be lost; those whose event it does not cover are passed over.
        costs: what messages cost (C6); without it they are measured in canonical bytes.

    Fails with:
        SummarySetBroken: the summaries that were accepted before contradict each other.
        SummaryRefused: the first check, in the order of `SummaryReason`.
    """
    refusals = summary_refusals(proposed, sources, summaries, protected, costs)
    if isinstance(refusals, SummarySetBroken):
        return Failure(refusals)
    return Failure(refusals[0]) if refusals else Success(proposed)


def summary_refusals(
    proposed: Summary,
    sources: SummarySources,
    summaries: Iterable[Summary] = (),
    protected: Iterable[Protected] = (),
    costs: AdditiveCounter | None = None,
) -> tuple[SummaryRefused, ...] | SummarySetBroken:
    """Everything that is wrong with a summary, in the order of `SummaryReason`; nothing where it is right.

    Once the range is wrong, what depends on it is not asked.
    """
    known = tuple(summaries)
    active = resolved(known)
    if isinstance(active, SummarySetBroken):
        return active
    family = _Family(by_id={one.summary_id: one for one in known}, active=active)
    found = list(_own(proposed, sources))
    turns = _covered(proposed, sources)
    if isinstance(turns, SummaryRefused):
        return _ordered([*found, turns, *_relatives(proposed, family)])
    found += _relatives(proposed, family)
    seqs = {event_id: turn.first_seq + at for turn in turns for at, event_id in enumerate(turn.events)}
    found += chain.from_iterable([_statement(path, one, seqs) for path, one in _statements(proposed)])
    found += _promoted(proposed, family, sources, seqs)
    found += _lost(proposed, protected)
    found += _not_smaller(proposed, turns, costs)
    return _ordered(found)


def _ordered(refusals: Iterable[SummaryRefused]) -> tuple[SummaryRefused, ...]:
    return tuple(sorted(refusals, key=lambda refusal: _PLACES[refusal.reason]))


_PLACES: Final = {reason: place for place, reason in enumerate(SummaryReason)}


@final
@attrs.frozen(kw_only=True)
class _Family:
    """The summaries that were accepted before."""

    by_id: Mapping[SummaryId, Summary]
    active: tuple[Summary, ...]


# --- the summary alone ----------------------------------------------------------------------------


def _own(proposed: Summary, sources: SummarySources) -> Iterator[SummaryRefused]:
    if proposed.session_id != sources.session_id:
        yield _refusal(SummaryReason.OTHER_SESSION, "/session_id", sources.session_id, proposed.session_id)
    if proposed.format_version != FORMAT_VERSION:
        version = canonical(proposed.format_version)
        yield _refusal(SummaryReason.UNSUPPORTED_FORMAT, "/format_version", "1", version)
    if is_blank(proposed.summary_id):
        yield _refusal(SummaryReason.BLANK_ID, "/summary_id", "an id", proposed.summary_id)
    for path, text in _texts(proposed):
        if not _is_utf8(text):
            yield _refusal(SummaryReason.LONE_SURROGATE, path, "whole characters", ascii(text))
    if not any(True for _ in _statements(proposed)):
        yield _refusal(SummaryReason.EMPTY, "", "a statement", "none")


def _texts(proposed: Summary) -> Iterator[tuple[str, str]]:
    yield "/summary_id", proposed.summary_id
    for path, statement in _statements(proposed):
        yield f"{path}/text", statement.text


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _statements(proposed: Summary) -> Iterator[tuple[str, Statement]]:
    """Every statement with its JSON Pointer."""
    lists = (
        ("facts", proposed.facts),
        ("decisions", proposed.decisions),
        ("hypotheses", proposed.hypotheses),
        ("open_questions", proposed.open_questions),
    )
    for name, statements in lists:
        for index, statement in enumerate(statements):
            yield f"/{name}/{index}", statement


# --- its range ------------------------------------------------------------------------------------


def _covered(proposed: Summary, sources: SummarySources) -> tuple[SourceTurn, ...] | SummaryRefused:
    """The turns of its range, or the first thing that is wrong with the range."""
    first, last = proposed.first_seq, proposed.last_seq
    if not proposed.turn_ids:
        return _refusal(SummaryReason.EMPTY_RANGE, "/turn_ids", "a turn", "none")
    if first > last:
        return _refusal(
            SummaryReason.REVERSED_RANGE, "/last_seq", f"at least {_number(first)}", _number(last)
        )
    end = sources.turns[-1].last_seq if sources.turns else -1
    if first < 0 or last > end:
        path = "/first_seq" if first < 0 else "/last_seq"
        actual = _number(first if first < 0 else last)
        return _refusal(SummaryReason.RANGE_NOT_IN_LOG, path, f"0 to {end}", actual)
    turns = tuple([turn for turn in sources.turns if turn.first_seq <= last and turn.last_seq >= first])
    tail = turns[-1].events[last - turns[-1].first_seq]
    if tail != proposed.tail_event_id:
        return _refusal(SummaryReason.OTHER_TAIL, "/tail_event_id", tail, proposed.tail_event_id)
    if turns[0].first_seq != first:
        return _refusal(SummaryReason.SPLIT_TURN, "/first_seq", _number(turns[0].first_seq), _number(first))
    if turns[-1].last_seq != last:
        return _refusal(SummaryReason.SPLIT_TURN, "/last_seq", _number(turns[-1].last_seq), _number(last))
    for turn in turns:
        if not turn.is_closed:
            return _refusal(SummaryReason.TURN_NOT_CLOSED, "/turn_ids", "closed turns", turn.turn_id)
    covered = [turn.turn_id for turn in turns]
    if list(proposed.turn_ids) != covered:
        actual = canonical(list(proposed.turn_ids))
        return _refusal(SummaryReason.OTHER_TURNS, "/turn_ids", canonical(covered), actual)
    return turns


# --- other summaries ------------------------------------------------------------------------------


def _relatives(proposed: Summary, family: _Family) -> Iterator[SummaryRefused]:
    """What it may not be to the summaries before it."""
    yield from _place(proposed, family)
    active = frozenset([one.summary_id for one in family.active])
    seen, versions = set[SummaryId](), list[int]()
    for index, old in enumerate(proposed.supersedes):
        path = f"/supersedes/{index}"
        if old in seen:
            yield _refusal(SummaryReason.REPEATED_SUPERSEDED, path, "each once", old)
        elif old == proposed.summary_id:
            pass  # said already: a ring
        elif old not in family.by_id:
            yield _refusal(SummaryReason.UNKNOWN_SUPERSEDED, path, "a summary that is known", old)
        elif old not in active:
            yield _refusal(SummaryReason.INACTIVE_SUPERSEDED, path, "an active summary", old)
        else:
            versions.append(family.by_id[old].version)
        seen.add(old)
    expected = 1 + max(versions, default=0)
    if len(versions) == len(proposed.supersedes) and proposed.version != expected:
        yield _refusal(SummaryReason.WRONG_VERSION, "/version", _number(expected), _number(proposed.version))
    for other in family.active:
        if other.summary_id not in seen and _overlap(proposed, other):
            yield _refusal(SummaryReason.OVERLAP, "/supersedes", other.summary_id, _range(proposed))


def _place(proposed: Summary, family: _Family) -> Iterator[SummaryRefused]:
    """Its own id among those that are known."""
    own = proposed.summary_id
    if own in family.by_id:
        yield _refusal(SummaryReason.REPEATED_ID, "/summary_id", "an id of its own", own)
    if own in proposed.supersedes or any(
        own in one.supersedes for one in ancestors_of(proposed, family.by_id)
    ):
        yield _refusal(SummaryReason.CYCLE, "/supersedes", "no ring", own)
    elif any(own in one.supersedes for one in family.by_id.values()):
        yield _refusal(SummaryReason.ALREADY_SUPERSEDED, "/summary_id", "an id that none supersedes", own)


def _overlap(one: Summary, other: Summary) -> bool:
    return one.first_seq <= other.last_seq and other.first_seq <= one.last_seq


# --- what it says ---------------------------------------------------------------------------------


def _statement(path: str, statement: Statement, seqs: Mapping[EventId, int]) -> Iterator[SummaryRefused]:
    if is_blank(statement.text):
        yield _refusal(SummaryReason.BLANK_STATEMENT, f"{path}/text", "words", statement.text)
    if not statement.source_events:
        yield _refusal(SummaryReason.NO_SOURCE, f"{path}/source_events", "an event of the range", "none")
    for index, event_id in enumerate(statement.source_events):
        if event_id not in seqs:
            place = f"{path}/source_events/{index}"
            yield _refusal(SummaryReason.SOURCE_OUTSIDE_RANGE, place, "an event of the range", event_id)


def _promoted(
    proposed: Summary, family: _Family, sources: SummarySources, seqs: Mapping[EventId, int]
) -> Iterator[SummaryRefused]:
    """Facts that were suppositions, and that no newer event supports."""
    since = dict[str, int]()
    for old in ancestors_of(proposed, family.by_id):
        for one in old.hypotheses:
            said = compared(one.text)
            since[said] = max(old.last_seq, since.get(said, old.last_seq))
    for mark in sources.marked:
        if proposed.first_seq <= mark.seq <= proposed.last_seq:
            said = compared(mark.text)
            since[said] = max(mark.seq, since.get(said, mark.seq))
    own = frozenset([compared(one.text) for one in proposed.hypotheses])
    for index, fact in enumerate(proposed.facts):
        said, path = compared(fact.text), f"/facts/{index}"
        newest = max([seqs[event_id] for event_id in fact.source_events if event_id in seqs], default=-1)
        if said in own:
            yield _refusal(SummaryReason.HYPOTHESIS_AS_FACT, path, "one of the two", fact.text)
        elif said in since and newest <= since[said]:
            expected = f"a source event after {_number(since[said])}"
            yield _refusal(SummaryReason.HYPOTHESIS_AS_FACT, path, expected, fact.text)


def compared(text: str) -> str:
    """A text as statements are compared: without case, and with one space for any white space."""
    return _spaced(text).casefold()


def _spaced(text: str) -> str:
    """A text with one space for any white space, and none around it."""
    return " ".join(text.split())


def _lost(proposed: Summary, protected: Iterable[Protected]) -> Iterator[SummaryRefused]:
    """Protected texts that are no statement: inside another they could be bent, as by "on Sundays" behind."""
    said = (*proposed.facts, *proposed.decisions, *proposed.open_questions)
    kept = {_spaced(one.text) for one in said}
    for one in protected:
        asked = proposed.first_seq <= one.seq <= proposed.last_seq and not is_blank(one.text)
        if asked and _spaced(one.text) not in kept:
            yield _refusal(SummaryReason.PROTECTED_MISSING, "", one.text, f"nothing from {_number(one.seq)}")


def _not_smaller(
    proposed: Summary, turns: Iterable[SourceTurn], costs: AdditiveCounter | None
) -> Iterator[SummaryRefused]:
    envelope = summary_envelope((proposed,))
    shown: tuple[ModelMessage, ...] = () if envelope is None else (envelope,)
    measure = message_bytes if costs is None else costs.message_cost
    before = sum([measure(message) for turn in turns for message in turn.messages])
    after = sum([measure(message) for message in shown])
    if after >= before:
        yield _refusal(SummaryReason.NOT_SMALLER, "", f"less than {_number(before)}", _number(after))


# --- facts of a refusal ---------------------------------------------------------------------------

_ROOM: Final = 200
"""Characters of what a refusal shows: enough to find the statement by."""


def _range(summary: Summary) -> str:
    return f"{_number(summary.first_seq)} to {_number(summary.last_seq)}"


def _number(number: int) -> str:
    """A number of any length, for people."""
    return shortened(canonical(number))


def _refusal(reason: SummaryReason, path: str, expected: str, actual: str) -> SummaryRefused:
    return SummaryRefused(
        reason=reason, path=path, expected=shortened(expected, _ROOM), actual=shortened(actual, _ROOM)
    )
