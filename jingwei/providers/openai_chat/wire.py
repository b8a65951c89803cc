"""Import reports and failures as JSON: what the command line writes beside the log."""

from typing import Final, get_args

from jingwei.codec import Declarations, DecodeFailed, DecodeReason, RecordCodec
from jingwei.jsontext import JsonValue
from jingwei.providers.openai_chat.failures import ImportFailure
from jingwei.providers.openai_chat.records import ImportNote, ImportReport, NoteKind


def declare(wire: Declarations) -> None:
    """The wire form: failures are told apart by `kind`, the name of their class."""
    wire.enums(NoteKind, DecodeReason)
    wire.record(ImportNote)
    wire.record(ImportReport, always=("open_turn", "notes"))
    optional = ("line", "byte_offset", "path", "expected", "actual", "whole_bytes")
    wire.record(DecodeFailed, constants={"kind": "DecodeFailed"}, always=optional)
    for cls in get_args(ImportFailure):
        if cls is not DecodeFailed:
            wire.record(cls, constants={"kind": cls.__name__})


_CODEC: Final = RecordCodec(declare)


def report_value(report: ImportReport) -> JsonValue:
    """A report as plain JSON: its fields, then `counts`, the notes by kind."""
    written = _CODEC.write(report)
    assert isinstance(written, dict), "a record is written as an object"
    return {**written, "counts": {kind.value: count for kind, count in report.counts.items()}}


def failure_value(failure: ImportFailure) -> JsonValue:
    """A failure as plain JSON: `kind`, then its fields, every key always present."""
    return _CODEC.write(failure)
