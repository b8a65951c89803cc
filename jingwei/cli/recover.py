"""`jingwei recover`: the events that close a turn which was cut off (rule L4), printed or appended."""

import os
from pathlib import Path
from typing import Annotated, Final, final

import attrs
import typer

from jingwei.cli.describe import Said, say_decode, say_log
from jingwei.cli.exits import Exit
from jingwei.cli.files import FileFault, Unreadable, whole, written
from jingwei.cli.output import emit, emit_text, fail, note, plural
from jingwei.codec import DecodeReason
from jingwei.events.failures import WriteFailure, WriteReason, WriteRefused
from jingwei.events.records import SessionLog
from jingwei.events.recovery import Closing, close_abandoned
from jingwei.events.wire import decode_log, event_text
from jingwei.events.writer import EarlierTurns, NumberedIds
from jingwei.ids import SessionId
from jingwei.jsontext import JsonValue
from jingwei.outcome import Failure, Success
from jingwei.report.failure_values import decode_failure_value, write_failure_value

_DAMAGED: Final = "only a turn that was cut off can be closed; `jingwei diagnose` names the way out"


def recover(
    log: Annotated[str, typer.Argument(metavar="LOG", help="A session log; - for standard input.")],
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the whole log, closed, to this file.")
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Append the events to LOG itself.")] = False,
    drop_torn_line: Annotated[
        bool,
        typer.Option("--drop-torn-line", help="Leave out a last line whose write was cut off."),
    ] = False,
    earlier_turns: Annotated[
        EarlierTurns,
        typer.Option("--earlier-turns", help="Damaged turns, and what is left of the last one."),
    ] = EarlierTurns.REJECT,
    id_prefix: Annotated[
        str, typer.Option("--id-prefix", help="What the ids of the new events begin with.")
    ] = "recovered_",
    session: Annotated[
        str | None,
        typer.Option("--session", help="The session the log must belong to; default: its first event's."),
    ] = None,
) -> None:
    """Close a turn that was cut off, so that its log projects again (L4). Run it when nobody writes the log.

    Prints the events to append, or nothing where nothing is to be closed; with --out or --append, what was
    done. What became of open calls is recorded as unknown, and the turn as cancelled.
    """
    if append and (out is not None or log == "-"):
        raise typer.BadParameter("--append needs a file, and no --out beside it")
    if out is not None and _is_same(log, out):
        raise typer.BadParameter("--out names LOG itself; use --append")
    held = _read(whole(log), drop_torn_line=drop_torn_line)
    first = held.log.events[0].session_id if held.log.events else SessionId("")
    session_id = first if session is None else SessionId(session)
    closing = _closing(session_id, held.log, NumberedIds(prefix=id_prefix), earlier_turns)
    lines = _lines(closing)
    if append:
        _append(log, held, lines)
    elif out is not None:
        written(out, held.data + lines)
    else:
        emit_text(lines.decode())
    if append or out is not None:
        emit(_summary(session_id, closing, held))
    note(_told(closing, held))


@final
@attrs.frozen(kw_only=True)
class _Held:
    """A log as it was read, without the torn line that was dropped."""

    data: bytes
    log: SessionLog
    dropped: int


def _read(data: bytes, *, drop_torn_line: bool) -> _Held:
    match decode_log(data):
        case Success(log):
            return _Held(data=data, log=log, dropped=0)
        case Failure(why):
            if why.reason is not DecodeReason.TORN_LAST_LINE:
                fail(say_decode(why), Exit.DECODE, decode_failure_value(why))
            if not drop_torn_line:
                said = say_decode(why)
                hint = f"{said.hint}; --drop-torn-line does without it"
                fail(Said(what=said.what, hint=hint), Exit.DECODE, decode_failure_value(why))
            if isinstance(decode_log(data + b"\n"), Success):
                # What it records has happened; without it, a call that ran would look as if it never was.
                what = "the last line is a whole event, of which only the newline is missing"
                hint = "append a newline to the file; nothing has to be left out"
                fail(Said(what=what, hint=hint), Exit.DECODE, decode_failure_value(why))
            held = _read(data[: why.whole_bytes], drop_torn_line=False)
            return attrs.evolve(held, dropped=len(data) - len(held.data))


def _closing(session_id: SessionId, log: SessionLog, ids: NumberedIds, earlier: EarlierTurns) -> Closing:
    match close_abandoned(session_id, log, ids, earlier):
        case Success(closing):
            return closing
        case Failure(why):
            if isinstance(why, WriteRefused) and why.unreadable is not None:
                what = f"the new events have no line: {why.unreadable.value}"
                fail(Said(what=what, hint="give --id-prefix as UTF-8"), Exit.INPUT)
            fail(_say(why), Exit.LOG, write_failure_value(why))


def _lines(closing: Closing) -> bytes:
    return "".join([f"{event_text(event)}\n" for event in closing.events]).encode()


def _append(name: str, held: _Held, lines: bytes) -> None:
    """The log's file with the lines at its end, on the disk when this returns; raises `FileFault`."""
    if not lines and not held.dropped:
        return
    seen = len(held.data) + held.dropped
    try:
        with Path(name).open("r+b") as file:
            if file.seek(0, os.SEEK_END) != seen:
                hint = "somebody writes it still: nothing was appended"
                raise FileFault(Unreadable(what=f"{name}: the file has changed since it was read", hint=hint))
            file.truncate(len(held.data))
            file.seek(0, os.SEEK_END)
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        hint = "check who may write to it; run the command again, it appends nothing twice"
        raise FileFault(Unreadable(what=f"{name}: {error.strerror or error}", hint=hint)) from None


def _is_same(log: str, out: str) -> bool:
    try:
        return log != "-" and Path(log).samefile(out)
    except OSError:  # one of them is not there
        return False


# --- words --------------------------------------------------------------------------------------------


def _summary(session_id: SessionId, closing: Closing, held: _Held) -> JsonValue:
    return {
        "session_id": session_id,
        "turn_id": closing.turn_id,
        "events": len(closing.events),
        "tool_calls": list(closing.tool_calls),
        "model_calls": list(closing.model_calls),
        "dropped_bytes": held.dropped,
    }


def _told(closing: Closing, held: _Held) -> str:
    torn = f"; {plural(held.dropped, 'byte')} of a torn line left out" if held.dropped else ""
    if closing.turn_id is None:
        return f"jingwei: nothing to close{torn}"
    calls = plural(len(closing.tool_calls), "tool call")
    asked = plural(len(closing.model_calls), "model request")
    events = plural(len(closing.events), "event")
    return (
        f"jingwei: turn {closing.turn_id!r} closed as cancelled with {events}: "
        f"{calls} and {asked} had no result{torn}"
    )


def _say(failure: WriteFailure) -> Said:
    if not isinstance(failure, WriteRefused):
        return say_log(failure)
    what = (
        f"event {failure.event_id!r} (seq {failure.seq}) breaks {failure.rule} "
        f"in turn {failure.turn_id!r}: {failure.reason.value}"
    )
    ours = failure.reason is WriteReason.REPEATED_EVENT_ID
    return Said(what=what, hint="give another --id-prefix: the log uses this id" if ours else _DAMAGED)
