"""Failures in words: what was expected, what came, where, and what can be done. One function a union."""

from collections.abc import Sequence
from typing import Final, assert_never, final

import attrs

from jingwei.codec import DecodeFailed, DecodeReason
from jingwei.compose.observe import UnknownItem
from jingwei.compose.pipeline import ComposeFailure, StateOfAnotherSession, UnknownSource
from jingwei.compose.task_state import InvalidTaskState
from jingwei.compose.triggers import InvalidTriggerReason, InvalidTriggers
from jingwei.events.failures import DuplicateEventId, LogFailure, WrongSequence, WrongSession
from jingwei.events.turns import MalformedReason
from jingwei.items.budget import InvalidTokenBudget
from jingwei.items.failures import InvalidItem
from jingwei.items.worth import InvalidWeights
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import ShapeFailure
from jingwei.projection.failures import (
    InvalidConfig,
    Malformed,
    MissingReply,
    ProjectionFailure,
    Unconfirmed,
)
from jingwei.report.failures import (
    BuildFailure,
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    InvalidInputReason,
    Overflow,
    ShapeInvalid,
    SurvivalBroken,
    UnverifiedCount,
    UnverifiedReason,
)
from jingwei.report.records import BuildReport
from jingwei.results.failures import ViewContradiction
from jingwei.selection.by_value import InvalidTurnWorth
from jingwei.selection.choose import InvalidQuota
from jingwei.selection.condense_then_drop import InvalidPolicy
from jingwei.selection.records import InvalidPlan


@final
@attrs.frozen(kw_only=True)
class Said:
    """One failure in words.

    Attributes:
        what: one sentence with the facts.
        hint: what the reader can do.
    """

    what: str
    hint: str


def say_decode(failure: DecodeFailed, wanted: str = "a session log") -> Said:
    """Bytes that are not what was wanted: a session log, a report, a spec."""
    where = [
        f"line {failure.line}" if failure.line is not None else "",
        f"byte {failure.byte_offset}" if failure.byte_offset is not None else "",
        f"at {failure.path}" if failure.path else "",
    ]
    place = ", ".join(part for part in where if part) or "the document"
    said = f"{place}: {failure.reason.value}: expected {failure.expected}, met {failure.actual}"
    if failure.reason is DecodeReason.TORN_LAST_LINE:
        return Said(
            what=said,
            hint=f"the last write was cut off; the log is whole up to byte {failure.whole_bytes}: "
            "cut the file there, or find the rest of the line",
        )
    if failure.reason is DecodeReason.BOM:
        return Said(what=said, hint="save the file as UTF-8 without a byte order mark")
    if failure.reason is DecodeReason.UNSUPPORTED_VERSION:
        return Said(what=said, hint="the log was written by another version; this one reads version 1")
    return Said(what=said, hint=f"is this {wanted}? If so, mend what wrote it: nothing is read past a fault")


def say_log(failure: LogFailure) -> Said:
    """A log that is not whole, in order, or one session's."""
    match failure:
        case WrongSession(physical_index=index, expected=expected, actual=actual):
            return Said(
                what=f"event {index} belongs to session {actual!r}, expected {expected!r}",
                hint="give each session its own log, or name the session with --session",
            )
        case WrongSequence(physical_index=index, expected=expected, actual=actual):
            return Said(
                what=f"event {index} has seq {actual}, expected {expected}",
                hint="an event is missing, doubled or moved; hand in the whole log from seq 0",
            )
        case DuplicateEventId(physical_index=index, event_id=event_id):
            return Said(
                what=f"event {index} repeats the event id {event_id!r}",
                hint="the event was appended twice; nothing is dropped on a guess",
            )
        case _:
            assert_never(failure)


def say_projection(failure: ProjectionFailure) -> Said:
    """A log that has no projection."""
    match failure:
        case InvalidConfig(reason=reason):
            return Said(
                what=f"the configuration is invalid: {reason.value}",
                hint="name a session that is not blank, and limits above zero",
            )
        case LimitExceeded():
            return say_limit(failure)
        case Malformed():
            return Said(
                what=f"event {failure.event_id!r} (seq {failure.seq}, turn {failure.turn_id!r}) "
                f"cannot stand there: {failure.reason.value}",
                hint=_malformed_hint(failure.reason),
            )
        case Unconfirmed():
            return _say_unconfirmed(failure)
        case MissingReply(turn_id=turn):
            return Said(
                what=f"turn {turn!r} succeeded and holds no complete reply",
                hint="an old log? --legacy-replies omit keeps such turns without a reply",
            )
        case _:
            return say_log(failure)


def say_limit(failure: LimitExceeded) -> Said:
    """A bound that was passed."""
    options = {
        Bound.EVENTS: "--max-events",
        Bound.INPUT_BYTES: "--max-input-bytes",
        Bound.MESSAGES: "--max-messages",
        Bound.GROUPS: "limits.max_groups of --spec",
        Bound.TURNS: "limits.max_turns of --spec",
    }
    return Said(
        what=f"{failure.what.value}: {failure.actual} is more than the limit of {failure.limit}",
        hint=f"raise it with {options[failure.what]} if the work is meant to be that large",
    )


def say_shape(failure: ShapeFailure) -> Said:
    """Messages or a constraint that are malformed."""
    facts = attrs.asdict(failure)
    shown = ", ".join(f"{name} {value!r}" for name, value in facts.items() if value is not None)
    return Said(
        what=f"the request is malformed: {type(failure).__name__}" + (f" ({shown})" if shown else ""),
        hint="every call needs its result directly after it, arguments are objects, names are not blank",
    )


def say_build(failure: BuildFailure) -> Said:
    """A build without a request."""
    match failure:
        case LimitExceeded():
            return say_limit(failure)
        case ShapeInvalid(error=error):
            return say_shape(error)
        case InvalidInput(reason=reason, path=path):
            at = f" at {path}" if path else ""
            return Said(what=f"the inputs are invalid: {reason.value}{at}", hint=_input_hint(reason))
        case InvalidItem():
            return say_item(failure)
        case ViewContradiction(source_event=event, recorded_by=record, reason=why):
            by = "the view" if record is None else f"the view recorded by event {record!r}"
            return Said(
                what=f"{by} of the result {event!r} says something else than the log: {why.value}",
                hint="a view shows what was recorded; leave the record out, or give the log it was made for",
            )
        case InvalidPlan(step=step, reason=why):
            at = "its base" if step is None else f"step {step}"
            return Said(
                what=f"the strategy's plan is invalid in {at}: {_named(failure)} is {why.value}",
                hint="a strategy may name each candidate it was given once, and nothing else",
            )
        case UnverifiedCount(reason=missing):
            return Said(what=f"the count is not verified: {missing.value}", hint=_evidence_hint(missing))
        case CounterFailed(reason=why):
            return Said(what=f"the counter refused: {why}", hint="use a counter made for this target")
        case Overflow(what=what):
            return Said(
                what=f"a number of tokens leaves [0, 2^64): {what.value}",
                hint="check output reserve, safety margin and the counter",
            )
        case DoesNotFit(report=report):
            return _say_does_not_fit(report)
        case CountLimit(limit=limit):
            return Said(
                what=f"{limit} counts were used up before the search had closed",
                hint="search with bisect, or raise limits.max_count_calls",
            )
        case SurvivalBroken(missing=missing_parts):
            return Said(
                what=f"required content is missing from the request: {', '.join(missing_parts)}",
                hint="this is a bug of jingwei: please report it with the log",
            )
        case _:
            assert_never(failure)


def say_compose(failure: ComposeFailure) -> Said:
    """A composition without a request."""
    match failure:
        case StateOfAnotherSession(expected=expected, actual=actual):
            return Said(
                what=f"the state is of session {actual!r}, the history of session {expected!r}",
                hint="give the log of the task's own session, or mend `state.session_id` of the spec",
            )
        case InvalidTaskState(field=field):
            return Said(
                what=f"the state is invalid: {field} is blank",
                hint="say whose task it is: without that, a memory could be anybody's",
            )
        case InvalidTokenBudget(field=field, reason=why, actual=number):
            return Said(
                what=f"the budget is invalid: {field} is {why.value} ({number})",
                hint="window less all that is set aside must leave at least nothing",
            )
        case UnknownSource(item_id=item_id, event_id=event_id):
            return Said(
                what=f"item {item_id!r} refers to the event {event_id!r}, which the closed turns do not hold",
                hint="give the log that the item was taken from, or leave its `source_events` out",
            )
        case InvalidWeights() | InvalidQuota() | InvalidTurnWorth() | InvalidPolicy():
            return _say_by_value(failure)
        case DoesNotFit(report=report):
            said = _say_does_not_fit(report)
            reduce = "" if report.exchanges is not None else ", or set `reduce_current` in the spec"
            return attrs.evolve(said, hint=_SHORTEN + reduce)
        case _:
            return say_build(failure)


def say_triggers(failure: InvalidTriggers) -> Said:
    """Triggers that cannot be meant."""
    hints = {
        InvalidTriggerReason.THRESHOLD_OUT_OF_RANGE: "--threshold is a share above 0, and at most 1",
        InvalidTriggerReason.CAP_OUT_OF_RANGE: "--result-cap is in bytes, and at least 1",
        InvalidTriggerReason.STALE_OUT_OF_RANGE: "--stale-turns is at least 1",
        InvalidTriggerReason.NEGATIVE_TURNS: "--unused ITEM=TURNS says for how many turns: at least 0",
    }
    return Said(
        what=f"the triggers are invalid: {failure.reason.value} ({failure.actual})",
        hint=hints[failure.reason],
    )


def say_unknown_item(failure: UnknownItem, near: Sequence[str]) -> Said:
    """An item that a report does not speak of, and those whose names are like it."""
    known = f"{failure.known:,} item" + ("" if failure.known == 1 else "s")
    like = ", ".join([repr(item_id) for item_id in near])
    return Said(
        what=f"no item {failure.item_id!r}: the report speaks of {known}",
        hint=f"did you mean {like}?" if like else "`selection.origins` of the output of `compose` lists them",
    )


def say_item(failure: InvalidItem) -> Said:
    """A context item that no budget could make right."""
    return Said(
        what=f"item {failure.item_id!r} is invalid: {failure.field} is {failure.reason.value} "
        f"({failure.actual})",
        hint="see docs/failures.md for what each attribute of an item must hold",
    )


_SHORTEN: Final = (
    "shorten what must stay, require or pin less, set less aside in the budget, or take a larger window"
)


def _say_by_value(failure: InvalidWeights | InvalidQuota | InvalidTurnWorth | InvalidPolicy) -> Said:
    match failure:
        case InvalidWeights(field=field):
            what = f"the weights are invalid: {'all of them' if field is None else field}"
            hint = "a weight is in [0, 2^64), and one of them is above 0"
        case InvalidQuota(kind=kind):
            what = f"the quota of {'turns' if kind is None else kind.value} is invalid"
            hint = "a kind has one quota, and its floor is at most its ceiling"
        case InvalidTurnWorth(turn_id=turn_id):
            what = f"what is said of turn {turn_id!r} is invalid"
            hint = "a turn is spoken of once; priority is in [0, 1000], the others in [0, 1]"
        case InvalidPolicy(actual=actual, limit=limit):
            what = f"the sizes of previews are invalid: {actual}, where {limit} is the bound"
            hint = "a preview is at least 1 byte, and no larger than what is shown whole"
        case _:
            assert_never(failure)
    return Said(what=f"{what}: {failure.reason.value}", hint=hint)


def _named(failure: InvalidPlan) -> str:
    if failure.turn_id is not None:
        return f"turn {failure.turn_id!r}"
    if failure.item_id is not None:
        return f"item {failure.item_id!r}"
    if failure.summary_id is not None:
        return f"summary {failure.summary_id!r}"
    return f"exchange {failure.exchange}"


_CUT_OFF: Final = (
    "a last turn that still runs projects once it has its end, and `jingwei recover` closes one that was "
    "cut off; where neither helps, `jingwei diagnose` names the way out"
)
_OVER: Final = (
    "nothing may follow the end of a turn: --damaged-turns quarantine leaves it out whole, "
    "and `jingwei diagnose` says whether that is all"
)
"""What can be done about open work, before and after a turn has its terminal."""


def _say_unconfirmed(failure: Unconfirmed) -> Said:
    parts = [
        f"tool calls without a result: {', '.join(failure.open_tool_calls)}"
        if failure.open_tool_calls
        else "",
        f"model calls without a result: {', '.join(failure.open_model_calls)}"
        if failure.open_model_calls
        else "",
        "no terminal event" if failure.unterminated else "",
    ]
    return Said(
        what=f"turn {failure.turn_id!r} holds unconfirmed work: " + "; ".join(part for part in parts if part),
        hint=_CUT_OFF if failure.unterminated else _OVER,
    )


def _say_does_not_fit(report: BuildReport) -> Said:
    last = report.attempts[-1]
    tokens, budget = last.count.tokens, report.budget
    kept = [row for row in report.items or () if row.protected]
    items = ", ".join([f"{row.item_id!r} ({'?' if row.cost is None else row.cost})" for row in kept])
    asked = report.exchanges is not None
    reduce = "" if asked else "; --reduce-current shortens finished exchanges of the running turn"
    return Said(
        what=f"what must stay takes {last.total_reserved} of {budget.window_tokens} tokens: "
        f"system {tokens.system}, messages {tokens.messages}, constraint {tokens.constraint}, "
        f"template {tokens.template}, output reserve {budget.output_reserve}, "
        f"margin {budget.safety_margin}" + (f"; items that must stay: {items}" if items else ""),
        hint="shorten system or current, unpin a turn, lower the reserve, or take a larger window" + reduce,
    )


def _malformed_hint(reason: MalformedReason) -> str:
    ids = {MalformedReason.BLANK_TURN_ID, MalformedReason.BLANK_EVENT_ID, MalformedReason.BLANK_MESSAGE_ID}
    if reason in ids:
        return "the writer left an id blank"
    if reason is MalformedReason.TURN_NOT_CONTIGUOUS:
        return "a turn's events stand together; a closed turn is not taken up again"
    return "`jingwei diagnose` lists everything that is wrong with the log"


def _input_hint(reason: InvalidInputReason) -> str:
    if reason is InvalidInputReason.OPEN_TURN:
        return "the log ends in an open turn: --current-from-open builds with its user message as current"
    if reason in {InvalidInputReason.UNKNOWN_PIN, InvalidInputReason.DUPLICATE_PIN}:
        return "pin turns of the log, each once: `jingwei project` lists them"
    return "see docs/failures.md for what each field must hold"


def _evidence_hint(reason: UnverifiedReason) -> str:
    if reason is UnverifiedReason.OUTPUT_EVIDENCE:
        return "hard mode needs an output reserve that the host can enforce"
    return "hard mode needs a counter with a verified upper bound for this very target"
