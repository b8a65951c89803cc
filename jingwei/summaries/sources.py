"""Which events stand behind which turn: what summaries are made from and held against (rule S8)."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from jingwei.events.failures import LogFailure
from jingwei.events.log import log_violations
from jingwei.events.records import CustomEvent, SessionEvent, SessionLog
from jingwei.ids import TurnId
from jingwei.jsontext import canonical, shortened
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.records import Projection
from jingwei.summaries.failures import SourcesReason, SourcesRefused
from jingwei.summaries.records import MarkedHypothesis, SourceTurn, SummarySources

PLUGIN: Final = "jingwei"
"""The plugin of the custom events that this room reads."""

HYPOTHESIS: Final = "hypothesis"
"""The kind of a custom event by which a host marks a text as a supposition: `{"text": ...}`."""


def sources_of(
    projection: Projection, log: SessionLog
) -> Outcome[SummarySources, SourcesRefused | LogFailure]:
    """The turns of a projection with the place of each of their events in its log.

    The log may have grown since it was projected: what lies behind the projection's last event is not
    looked at. The projection may have lost its open turn (`split_open_turn`). Linear in the log.

    Fails with:
        LogFailure: the log is out of order, or of another session (L1).
        SourcesRefused: the projection is not one of this log.
    """
    count = projection.source_event_count
    if not 0 <= count <= len(log.events):
        expected, actual = canonical(count), canonical(len(log.events))
        return _refused(SourcesReason.LOG_TOO_SHORT, expected, actual)
    events = log.events[:count]
    for violation in log_violations(projection.session_id, events):
        return Failure(violation)
    tail = events[-1].event_id if events else None
    if tail != projection.source_tail:
        return _refused(SourcesReason.OTHER_TAIL, canonical(projection.source_tail), canonical(tail))
    turns = tuple(_turns(projection, events))
    if not _belong_together(projection, turns):
        return _refused(SourcesReason.OTHER_TURNS, _named(projection), _listed([t.turn_id for t in turns]))
    marked = tuple(_marked(events))
    return Success(SummarySources(session_id=projection.session_id, turns=turns, marked=marked))


def _turns(projection: Projection, events: tuple[SessionEvent, ...]) -> Iterator[SourceTurn]:
    known = {turn.turn_id: turn for turn in projection.turns}
    for turn_id, run in groupby(events, key=_turn_id):
        found = tuple(run)
        yield SourceTurn(
            turn_id=turn_id,
            first_seq=found[0].seq,
            events=tuple([event.event_id for event in found]),
            turn=known.get(turn_id),
        )


def _belong_together(projection: Projection, turns: tuple[SourceTurn, ...]) -> bool:
    """The same turns in the same order, but for one at the end that was taken off, each with its events."""
    ids = [turn.turn_id for turn in turns]
    projected = [turn.turn_id for turn in projection.turns]
    if ids[: len(projected)] != projected or len(ids) - len(projected) not in (0, 1):
        return False
    return all(
        turn.turn is None or frozenset(turn.events).issuperset(turn.turn.sources.source_events)
        for turn in turns
    )


def _marked(events: Iterable[SessionEvent]) -> Iterator[MarkedHypothesis]:
    for event in events:
        kind = event.kind
        if isinstance(kind, CustomEvent) and (kind.plugin, kind.kind) == (PLUGIN, HYPOTHESIS):
            payload = kind.payload.value()
            text = payload.get("text") if isinstance(payload, dict) else None
            if isinstance(text, str):
                yield MarkedHypothesis(text=text, seq=event.seq)


def _turn_id(event: SessionEvent) -> TurnId:
    return event.turn_id


def _named(projection: Projection) -> str:
    return _listed([turn.turn_id for turn in projection.turns])


def _listed(turn_ids: list[TurnId]) -> str:
    return shortened(canonical(turn_ids))


def _refused(reason: SourcesReason, expected: str, actual: str) -> Failure[SourcesRefused]:
    return Failure(SourcesRefused(reason=reason, expected=expected, actual=actual))
