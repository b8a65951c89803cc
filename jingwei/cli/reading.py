"""What commands read besides a log's bytes: its session, and JSON documents of ours."""

from typing import Final

from jingwei.cli.describe import Said, say_decode
from jingwei.cli.exits import Exit
from jingwei.cli.files import whole
from jingwei.cli.output import fail
from jingwei.codec import DecodeFailed, parse_document
from jingwei.events.records import SessionLog
from jingwei.events.wire import decode_log
from jingwei.ids import SessionId
from jingwei.jsontext import JsonValue
from jingwei.outcome import Failure, Success
from jingwei.report.failure_values import decode_failure_value
from jingwei.report.records import BuildReport
from jingwei.report.wire import read_report

_A_REPORT: Final = "a report, as `build` or `batch` prints it"


def decoded(data: bytes) -> SessionLog:
    """A log; ends the command where it does not decode."""
    match decode_log(data):
        case Success(log):
            return log
        case Failure(why):
            fail(say_decode(why), Exit.DECODE, decode_failure_value(why))


def session_of(log: SessionLog, session: str | None) -> SessionId:
    """The session that was named, or the log's own; ends the command where there is neither."""
    if session is not None:
        return SessionId(session)
    if not log.events:
        hint = "an empty log names no session: give one with --session"
        fail(Said(what="the log is empty", hint=hint), Exit.USAGE)
    return log.events[0].session_id


def document(name: str, wanted: str) -> JsonValue:
    """A JSON document; ends the command where it is none."""
    parsed = parse_document(whole(name))
    if isinstance(parsed, DecodeFailed):
        fail(say_decode(parsed, wanted), Exit.DECODE, decode_failure_value(parsed))
    return parsed


def report_of(name: str) -> BuildReport:
    """A report, wherever the commands of jingwei print one; ends the command where there is none."""
    read = read_report(_report_in(document(name, _A_REPORT)))
    if isinstance(read, DecodeFailed):
        fail(say_decode(read, _A_REPORT), Exit.DECODE, decode_failure_value(read))
    return read


def _report_in(value: JsonValue) -> JsonValue:
    for key in ("report", "ok", "failure"):
        if isinstance(value, dict) and key in value and "attempts" not in value:
            return _report_in(value[key])
    return value
