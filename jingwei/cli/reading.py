"""What commands read besides a log's bytes: its session, and JSON documents of ours."""

from typing import Final, TypeVar

from jingwei.cli.describe import Said, say_decode, say_limit, say_projection
from jingwei.cli.exits import Exit
from jingwei.cli.files import chunks_of, whole
from jingwei.cli.output import fail
from jingwei.codec import DecodeFailed, parse_document
from jingwei.events.records import SessionLog
from jingwei.events.wire import decode_log, decode_within
from jingwei.ids import SessionId
from jingwei.jsontext import JsonValue
from jingwei.limits import LimitExceeded
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.failures import ProjectionFailure, Unconfirmed
from jingwei.projection.project import project
from jingwei.projection.records import DamagedTurns, LegacyReplies, Projection, ProjectionConfig
from jingwei.projection.split import SplitProjection, split_open_turn
from jingwei.projection.view import start_view
from jingwei.report.failure_values import decode_failure_value, limit_value, projection_failure_value
from jingwei.report.records import BuildReport
from jingwei.report.wire import read_report

_Given = TypeVar("_Given")

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


def config_of(
    legacy_replies: LegacyReplies, damaged_turns: DamagedTurns, events: int, input_bytes: int, messages: int
) -> ProjectionConfig:
    """How a log is projected, from the options that say so."""
    return ProjectionConfig(
        legacy_replies=legacy_replies,
        damaged_turns=damaged_turns,
        max_events=events,
        max_input_bytes=input_bytes,
        max_messages=messages,
    )


def log_within(name: str, config: ProjectionConfig) -> SessionLog:
    """A log within its limits, not read beyond them; ends the command where there is none."""
    match decode_within(chunks_of(name), config.max_events, config.max_input_bytes):
        case Success(log):
            return log
        case Failure(why):
            if isinstance(why, LimitExceeded):
                fail(say_limit(why), Exit.LOG, limit_value(why))
            fail(say_decode(why), Exit.DECODE, decode_failure_value(why))


def projected(name: str, session: str | None, config: ProjectionConfig) -> Projection:
    """The projection of a log; ends the command where it has none."""
    log = log_within(name, config)
    return given(project(session_of(log, session), log, config))


def given(outcome: Outcome[_Given, ProjectionFailure]) -> _Given:
    """What was projected; ends the command where nothing was."""
    match outcome:
        case Success(found):
            return found
        case Failure(why):
            fail(say_projection(why), Exit.LOG, projection_failure_value(why))


def split_of(log: SessionLog, session: str | None, config: ProjectionConfig) -> SplitProjection:
    """The closed turns of a log, and what the turn at its end says that is not closed."""
    view = start_view(session_of(log, session), config).advanced(log)
    match view.projection():
        case Failure(Unconfirmed()):  # the last turn runs, and `running` has what it says so far
            return given(view.running())
        case found:
            return split_open_turn(given(found))
