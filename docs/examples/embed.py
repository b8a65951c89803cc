"""A host that embeds jingwei: a session's log in, the next request out, and a word for every failure.

    python docs/examples/embed.py

It keeps a log of events in bytes, appends what the user says, and asks jingwei for the request. Each union
of failures is matched whole: a failure that a later version adds is an error of the type checker here, not
a surprise at run time.
"""

import sys
from importlib import resources
from typing import TypeAlias, assert_never, final

import attrs

import jingwei
from jingwei import (
    BuildFailure,
    BuildInputs,
    BuiltContext,
    ByteHeuristicCounter,
    ContextBudget,
    ContextTarget,
    CounterFailed,
    CountLimit,
    DecodeFailed,
    DecodeReason,
    DoesNotFit,
    DuplicateEventId,
    EncodeFailed,
    Failure,
    InvalidConfig,
    InvalidInput,
    InvalidItem,
    InvalidPlan,
    LimitExceeded,
    Malformed,
    MissingReply,
    Overflow,
    Projection,
    ProjectionFailure,
    SessionId,
    SessionLog,
    ShapeInvalid,
    Success,
    SurvivalBroken,
    TurnId,
    Unconfirmed,
    UnverifiedCount,
    ViewContradiction,
    WrongSequence,
    WrongSession,
)

SESSION = SessionId("bookshop-oncall-0612")
TARGET = ContextTarget(model="example-32k", template_revision="2026-06")
HOUSE_RULES = TurnId("turn_03")
"""The turn in which the user set the rules of the day: it must never be left out."""


@final
@attrs.frozen(kw_only=True)
class Refused:
    """Why there is no request.

    Attributes:
        text: for people.
        retryable: whether the host may try again without a person's help.
    """

    text: str
    retryable: bool = False


Prepared: TypeAlias = BuiltContext | Refused


def main() -> None:
    """Build the next request of the example session, and say what it holds."""
    log = resources.files("jingwei.demo").joinpath("session.jsonl").read_bytes()
    prepared = prepare(log, "两点前还有什么没做完？列个清单。", window_tokens=6000)
    if isinstance(prepared, Refused):
        sys.exit(prepared.text)
    sys.stdout.write(described(prepared))


def prepare(log: bytes, said: str, *, window_tokens: int) -> Prepared:
    """The whole path: decode, project, build."""
    match jingwei.decode_log(log):
        case Success(events):
            return projected(events, inputs_for(said, window_tokens))
        case Failure(why):
            return unreadable(why)


def projected(events: SessionLog, inputs: BuildInputs) -> Prepared:
    """From the events on."""
    match jingwei.project(SESSION, events):
        case Success(history):
            return built(history, inputs)
        case Failure(why):
            return no_history(why)


def built(history: Projection, inputs: BuildInputs) -> Prepared:
    """From the projection on."""
    match jingwei.build(history, inputs, ByteHeuristicCounter()):
        case Success(context):
            return context
        case Failure(why):
            return no_request(why)


def inputs_for(said: str, window_tokens: int) -> BuildInputs:
    """What this host sends besides the history."""
    return BuildInputs(
        system=("You help the people on call. Answer in the language you are spoken to.",),
        current=(jingwei.UserMessage(content=said),),
        pinned_turns=(HOUSE_RULES,),
        target=TARGET,
        budget=ContextBudget(window_tokens=window_tokens, output_reserve=1000, safety_margin=200),
    )


def described(context: BuiltContext) -> str:
    """What a request holds, in a few lines."""
    report = context.report
    last = report.attempts[-1]
    rows = list(report.turns.rows)
    kept = [row.turn_id for row in rows if row.retained]
    return (
        f"{len(context.request.messages)} messages, {last.count.tokens.total} tokens "
        f"({last.count.evidence.value})\n"
        f"kept {len(kept)} of {len(rows)} turns: {', '.join(kept)}\n"
        f"{len(report.attempts)} counts, {last.total_reserved} of {report.budget.window_tokens} tokens "
        "with reserve and margin\n"
    )


# --- one function a union ---------------------------------------------------------------------------


def unreadable(why: DecodeFailed) -> Refused:
    """A torn last line has a cure of its own; everything else needs a person."""
    if why.reason is DecodeReason.TORN_LAST_LINE:
        return Refused(text=f"cut the log to {why.whole_bytes} bytes, then append again", retryable=True)
    return Refused(text=f"line {why.line} at {why.path}: {why.reason.value}, expected {why.expected}")


def no_history(why: ProjectionFailure) -> Refused:
    """Every way in which a log has no projection."""
    match why:
        case InvalidConfig(reason=reason):
            return Refused(text=f"our own configuration is wrong: {reason.value}")
        case LimitExceeded():
            return too_large(why)
        case WrongSession(physical_index=index, actual=actual):
            return Refused(text=f"event {index} belongs to session {actual}")
        case WrongSequence(physical_index=index, actual=actual):
            return Refused(text=f"event {index} says that it is number {actual}: a line is missing or moved")
        case DuplicateEventId(event_id=event_id):
            return Refused(text=f"event {event_id} stands twice in the log")
        case Malformed(event_id=event_id, reason=reason):
            return Refused(text=f"event {event_id} cannot stand where it stands: {reason.value}")
        case Unconfirmed(turn_id=turn_id, open_tool_calls=calls):
            return Refused(text=f"turn {turn_id} is not over; find out what became of {list(calls)}")
        case MissingReply(turn_id=turn_id):
            return Refused(text=f"turn {turn_id} has no reply; old logs need LegacyReplies.OMIT")
        case _:
            assert_never(why)


def no_request(why: BuildFailure) -> Refused:
    """Every way in which a build fails."""
    match why:
        case InvalidInput(reason=reason, path=path):
            return Refused(text=f"our own input is wrong at {path}: {reason.value}")
        case InvalidItem(item_id=item_id, field=field, reason=reason):
            return Refused(text=f"item {item_id}: {field} is {reason.value}")
        case ViewContradiction(source_event=event, reason=reason):
            return Refused(text=f"the recorded view of result {event} differs from the log: {reason.value}")
        case LimitExceeded():
            return too_large(why)
        case ShapeInvalid(error=error):
            return Refused(text=f"messages or tools are malformed: {error}")
        case InvalidPlan(turn_id=turn_id, exchange=exchange, reason=reason):
            named = f"exchange {exchange}" if turn_id is None else f"turn {turn_id}"
            return Refused(text=f"our strategy is broken at {named}: {reason.value}")
        case UnverifiedCount(reason=reason):
            return Refused(text=f"the counter is not good enough for this budget: {reason.value}")
        case CounterFailed(reason=said):
            return Refused(text=f"the counter refused: {said}")
        case Overflow(what=what):
            return Refused(text=f"a number of tokens is out of range: {what.value}")
        case DoesNotFit(report=report):
            least = report.attempts[-1].total_reserved
            return Refused(text=f"what must stay needs {least} tokens of {report.budget.window_tokens}")
        case CountLimit(limit=limit):
            return Refused(text=f"no answer within {limit} counts")
        case SurvivalBroken(missing=missing):
            return Refused(text=f"a bug of jingwei; please report it: {missing}")
        case _:
            assert_never(why)


def too_large(why: LimitExceeded) -> Refused:
    """Limits are the host's own; the record says what would do."""
    return Refused(text=f"{why.actual} {why.what.value}, {why.limit} allowed")


def saved(context: BuiltContext) -> bytes | EncodeFailed:
    """The report as JSON, to be kept beside the answer."""
    match jingwei.encode_report(context.report):
        case Success(data):
            return data
        case Failure(why):
            return why


if __name__ == "__main__":
    main()
