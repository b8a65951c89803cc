"""Summaries as JSON: a document, a model's answer, and the payload of an event (rules S8, W5, W6).

Strict: an unknown key is a failure. A summary is appended to the log that it speaks of, as
`custom{plugin: "jingwei", kind: "summary"}`; nothing of the log is ever deleted for it.
"""

from typing import Final, final

import attrs

from jingwei.codec import (
    Declarations,
    DecodeFailed,
    DecodeReason,
    EncodeFailed,
    RecordCodec,
    RecordProblem,
    parse_document,
    problem_at,
)
from jingwei.events.records import CustomEvent, SessionLog
from jingwei.jsontext import Json, JsonValue, canonical, shortened
from jingwei.outcome import Failure, Outcome, Success
from jingwei.summaries.failures import MalformedSummary
from jingwei.summaries.records import FORMAT_VERSION, Statement, Summary, SummaryDraft
from jingwei.summaries.sources import PLUGIN

SUMMARY_KIND: Final = "summary"
"""The kind of the custom event that holds a summary."""


def declare(wire: Declarations) -> None:
    """The wire form of summaries; every key is always written, and none has a default."""
    lists = ("facts", "decisions", "hypotheses", "open_questions")
    wire.record(Statement, strict=True, always=("source_events",), required=("source_events",))
    wire.record(SummaryDraft, strict=True)
    named = (*lists, "supersedes", "version", "format_version")
    wire.record(Summary, strict=True, always=(*lists, "supersedes"), required=named)


_CODEC: Final = RecordCodec(declare)


def summary_value(summary: Summary) -> JsonValue:
    """A summary as plain JSON values."""
    return _CODEC.write(summary)


def read_summary_value(value: JsonValue) -> Summary | DecodeFailed:
    """A summary from an already parsed value; paths count from it. It is read, not believed."""
    read = _CODEC.read(value, Summary)
    if isinstance(read, RecordProblem):
        return problem_at(None, read)
    if read.format_version != FORMAT_VERSION:
        return DecodeFailed(
            reason=DecodeReason.UNSUPPORTED_VERSION,
            path="/format_version",
            expected=canonical(FORMAT_VERSION),
            actual=shortened(canonical(read.format_version)),
        )
    return read


def encode_summary(summary: Summary) -> Outcome[bytes, EncodeFailed]:
    """Canonical bytes of a summary (W8), without a newline."""
    return _CODEC.encode(summary)


def decode_summary(data: bytes) -> Outcome[Summary, DecodeFailed]:
    """A summary from its JSON document (W6). Total: any bytes give an Outcome."""
    value = parse_document(data)
    read = value if isinstance(value, DecodeFailed) else read_summary_value(value)
    return Failure(read) if isinstance(read, DecodeFailed) else Success(read)


def decode_draft(data: bytes) -> Outcome[SummaryDraft, DecodeFailed]:
    """A model's answer from its bytes (W6). Total."""
    return _CODEC.decode(data, SummaryDraft)


def summary_payload(summary: Summary) -> Json:
    """What the event of a summary carries."""
    return Json(_CODEC.text(summary))


def summary_event(summary: Summary) -> CustomEvent:
    """The event by which a summary is put on record; it belongs into any later turn of its session."""
    return CustomEvent(plugin=PLUGIN, kind=SUMMARY_KIND, payload=summary_payload(summary))


@final
@attrs.frozen(kw_only=True)
class RecordedSummaries:
    """All summaries of a log.

    Attributes:
        summaries: in the order of their events; not yet believed, nor resolved (`active_summaries`).
        malformed: the events that hold none.
    """

    summaries: tuple[Summary, ...]
    malformed: tuple[MalformedSummary, ...]


def summaries_in(log: SessionLog) -> RecordedSummaries:
    """Every summary that a log has on record. Total: what is no summary is named, and the rest is read."""
    found, malformed = list[Summary](), list[MalformedSummary]()
    for event in log.events:
        kind = event.kind
        if not isinstance(kind, CustomEvent) or (kind.plugin, kind.kind) != (PLUGIN, SUMMARY_KIND):
            continue
        read = read_summary_value(kind.payload.value())
        if isinstance(read, DecodeFailed):
            malformed.append(MalformedSummary(event_id=event.event_id, seq=event.seq, problem=read))
        else:
            found.append(read)
    return RecordedSummaries(summaries=tuple(found), malformed=tuple(malformed))
