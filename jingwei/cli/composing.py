"""`compose`, `advise`, `why` and `diff`: what to say, when to say less, and why it is said (S4a, S6, S7)."""

import difflib
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NoReturn, final

import attrs
import typer

from jingwei.cli import options
from jingwei.cli.describe import Said, say_compose, say_decode, say_triggers, say_unknown_item
from jingwei.cli.exits import Exit, build_exit
from jingwei.cli.output import emit, emit_text, fail, note, show
from jingwei.cli.reading import config_of, document, given, log_within, report_of, session_of, split_of
from jingwei.cli.show_composed import advice_text, composed_table, diff_table, why_text
from jingwei.cli.strategies import decimal_of
from jingwei.codec import DecodeFailed
from jingwei.compose.failure_values import (
    compose_failure_value,
    triggers_failure_value,
    unknown_item_value,
)
from jingwei.compose.observe import SelectionReport, UnknownItem, diff, why
from jingwei.compose.pipeline import ComposeFailure
from jingwei.compose.task_state import task_state_failure
from jingwei.compose.triggers import (
    STALE_TURNS,
    InvalidTriggers,
    Observed,
    Triggers,
    advise,
)
from jingwei.compose.wire import advice_value, diff_value, read_selection, read_state, why_value
from jingwei.events.records import SessionEvent
from jingwei.events.wire import session_log
from jingwei.ids import ItemId, TurnId
from jingwei.jsontext import JsonValue, canonical
from jingwei.limits import PREVIEW_BYTES, PREVIEW_INLINE_BYTES
from jingwei.ops.counters import counter_of
from jingwei.ops.requests import BadRequest
from jingwei.ops.selecting import ComposeSpec, compose_spec, composed_by, composed_value
from jingwei.outcome import Failure, Success
from jingwei.projection.project import project
from jingwei.projection.records import DEFAULT_CONFIG, Projection, ProjectionConfig
from jingwei.report.failure_values import decode_failure_value
from jingwei.report.records import BuildReport
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.selection.records import PreviewPolicy, SelectionState

_HISTORY_OPTIONS: Final = (
    *("current_from_open", "session", "legacy_replies", "damaged_turns"),
    *("max_events", "max_input_bytes", "max_messages"),
)
_TURNS: Final = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_ESTIMATE: Final = "serialized-utf8-ceil-div4-v1"
"""How a `ByteHeuristicCounter` says that it counted."""
_A_COMPOSITION: Final = "the output of `compose`"
_A_STATE: Final = "the `state` of a choice, or the output of `compose`"


def compose_command(
    context: typer.Context,
    spec: options.SpecFile,
    log: options.LogOrNone = None,
    current_from_open: options.CurrentFromOpen = False,
    previous_state: options.PreviousState = None,
    session: options.Session = None,
    legacy_replies: options.Legacy = DEFAULT_CONFIG.legacy_replies,
    damaged_turns: options.Damaged = DEFAULT_CONFIG.damaged_turns,
    max_events: options.MaxEvents = DEFAULT_CONFIG.max_events,
    max_input_bytes: options.MaxBytes = DEFAULT_CONFIG.max_input_bytes,
    max_messages: options.MaxMessages = DEFAULT_CONFIG.max_messages,
    pretty: options.Pretty = False,
) -> None:
    """Choose what to say and build the request: JSON with `request`, `report`, `selection` and `state` (S4a).

    The spec holds the task, its memories and items, target and budget. Without LOG there is no history.
    """
    _one_input({"SPEC.json": spec, "LOG": log, "--previous-state": previous_state})
    if log is None:
        _only_with_a_log(context)
    config = config_of(legacy_replies, damaged_turns, max_events, max_input_bytes, max_messages)
    asked = _with_state(_spec_of(spec, from_open=current_from_open), previous_state)
    counter = counter_of(asked.counter)
    if isinstance(counter, BadRequest):
        _refuse(counter)
    if log is None:
        told = _Told(spec=asked, history=_no_history(asked, config), events=())
    else:
        told = _told(asked, log, session, config, from_open=current_from_open)
    match composed_by(told.spec, told.history, told.events, counter):
        case Success(composed) if pretty:
            show(composed_table(composed))
        case Success(composed):
            emit(composed_value(composed))
        case Failure(failure):
            _refuse_composing(failure)


def advise_command(
    log: options.Log,
    report: options.LastReport,
    expected_tokens: options.ExpectedTokens = None,
    threshold: options.Threshold = "0.7",
    result_cap: options.ResultCap = PREVIEW_INLINE_BYTES,
    stale_turns: options.StaleAfter = STALE_TURNS,
    unused: options.Unused = None,
    stage_before: options.StageBefore = None,
    stage_now: options.StageNow = None,
    quality_fell: options.QualityFell = False,
    legacy_replies: options.Legacy = DEFAULT_CONFIG.legacy_replies,
    damaged_turns: options.Damaged = DEFAULT_CONFIG.damaged_turns,
    max_events: options.MaxEvents = DEFAULT_CONFIG.max_events,
    max_input_bytes: options.MaxBytes = DEFAULT_CONFIG.max_input_bytes,
    max_messages: options.MaxMessages = DEFAULT_CONFIG.max_messages,
    pretty: options.Pretty = False,
) -> None:
    """Say what could be made smaller before the next request, one advice a line; nothing is done (S6).

    LOG is that of the report's session; a turn at its end that still runs is passed over. Costs are estimates
    (bytes / 4).
    """
    _one_input({"LOG": log, "REPORT.json": report})
    if stage_now is not None and stage_before is None:
        raise typer.BadParameter("--stage-now says nothing without --stage-before")
    observed = Observed(
        expected_tokens=expected_tokens,
        unused_turns=_unused(unused or ()),
        stage_before=stage_before,
        stage_now=stage_now,
        quality_fell=quality_fell,
    )
    triggers = Triggers(
        threshold=_share(threshold),
        result_cap_bytes=result_cap,
        stale_turns=stale_turns,
        policy=_policy(result_cap),
    )
    config = config_of(legacy_replies, damaged_turns, max_events, max_input_bytes, max_messages)
    built, read = report_of(report), log_within(log, config)
    history = split_of(read, built.session_id, config).history
    _tell_what_differs(built, observed)
    match advise(history, built, ByteHeuristicCounter(), observed, triggers):
        case Failure(failure):
            _refuse_triggers(failure)
        case Success(advice) if pretty:
            show(advice_text(advice))
        case Success(advice):
            emit_text("".join([canonical(advice_value(one)) + "\n" for one in advice]))


def why_command(composed: options.Composed, item: options.Item, pretty: options.Sentences = False) -> None:
    """Say why an item is in a composed request, or is not, step by step (S7)."""
    report = _selection_of(composed)
    match why(report, ItemId(item)):
        case Success(story) if pretty:
            show(why_text(story))
        case Success(story):
            emit(why_value(story))
        case Failure(failure):
            fail(say_unknown_item(failure, _near(report, failure)), Exit.INPUT, unknown_item_value(failure))


def diff_command(
    before: options.FirstReport, after: options.SecondReport, pretty: options.Pretty = False
) -> None:
    """Show what came and what went between the requests of two reports (S7)."""
    _one_input({"A.json": before, "B.json": after})
    found = diff(report_of(before), report_of(after))
    if pretty:
        show(diff_table(found))
    else:
        emit(diff_value(found))


# --- what a command was given ---------------------------------------------------------------------


def _one_input(files: dict[str, str | None]) -> None:
    dashes = [name for name, file in files.items() if file == "-"]
    if len(dashes) > 1:
        raise typer.BadParameter(f"standard input cannot be both {' and '.join(dashes)}")


def _only_with_a_log(context: typer.Context) -> None:
    for name in _HISTORY_OPTIONS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"--{name.replace('_', '-')} speaks of a LOG, and none is given")


def _share(text: str) -> Fraction:
    share = decimal_of(text)
    if share is None:
        hint = "the threshold is a share of the window, written as a decimal: 0.7"
        fail(Said(what=f"--threshold: expected a number of at least 0, met {text!r}", hint=hint), Exit.USAGE)
    return share


def _policy(cap: int) -> PreviewPolicy:
    """What is above the cap is large, and a preview leaves room under it for what frames it."""
    return PreviewPolicy(inline_bytes=cap, preview_bytes=max(min(PREVIEW_BYTES, cap // 2), 1))


def _unused(given_rows: Sequence[str]) -> tuple[tuple[ItemId, int], ...]:
    """Each `ITEM=TURNS`; an id may hold an equals sign itself, a number of turns cannot."""
    rows = dict[ItemId, int]()
    for text in given_rows:
        item_id, sign, turns = text.rpartition("=")
        if not sign or not _TURNS.fullmatch(turns):
            hint = "name the item and for how many turns nothing has referred to it: --unused memory:m1=12"
            fail(Said(what=f"--unused: expected ITEM=TURNS, met {text!r}", hint=hint), Exit.USAGE)
        if ItemId(item_id) in rows:
            hint = "say it once"
            fail(Said(what=f"--unused: item {item_id!r} is named more than once", hint=hint), Exit.USAGE)
        rows[ItemId(item_id)] = int(turns)
    return tuple(rows.items())


# --- compose --------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class _Told:
    """A spec, and the history that it is composed with; never leaves this file."""

    spec: ComposeSpec
    history: Projection
    events: tuple[SessionEvent, ...]


def _spec_of(name: str, *, from_open: bool) -> ComposeSpec:
    value = document(name, "a spec")
    if from_open and isinstance(value, dict):
        if "current" in value:
            raise typer.BadParameter(
                "--current-from-open: `current` stands in the spec; leave one of them out"
            )
        nothing: list[JsonValue] = []
        value = {**value, "current": nothing}
    spec = compose_spec(value)
    if isinstance(spec, BadRequest):
        _refuse(spec)
    return spec


def _with_state(spec: ComposeSpec, name: str | None) -> ComposeSpec:
    if name is None:
        return spec
    if spec.previous_selection is not None:
        raise typer.BadParameter(
            "--previous-state: `previous_selection` stands in the spec; leave one of them out"
        )
    return attrs.evolve(spec, previous_selection=_state_of(name))


def _state_of(name: str) -> SelectionState | None:
    """None where the last choice handed nothing on."""
    value = _inside(document(name, _A_STATE), "state")
    if value is None:
        return None
    state = read_state(value)
    if isinstance(state, DecodeFailed):
        fail(say_decode(state, _A_STATE), Exit.DECODE, decode_failure_value(state))
    return state


def _inside(value: JsonValue, key: str) -> JsonValue:
    """What an answer of `compose` or `batch` holds under a key; the value itself where it is no answer."""
    if isinstance(value, dict) and "ok" in value:
        return _inside(value["ok"], key)
    return value[key] if isinstance(value, dict) and key in value else value


def _no_history(spec: ComposeSpec, config: ProjectionConfig) -> Projection:
    wrong = task_state_failure(spec.state)
    if wrong is not None:  # told as it is, and not as a session that cannot be projected
        _refuse_composing(wrong)
    return given(project(spec.state.session_id, session_log(()), config))


def _told(
    spec: ComposeSpec, name: str, session: str | None, config: ProjectionConfig, *, from_open: bool
) -> _Told:
    log = log_within(name, config)
    named = spec.state.session_id if session is None and not log.events else session_of(log, session)
    if not from_open:
        return _Told(spec=spec, history=given(project(named, log, config)), events=tuple(log.events))
    split = split_of(log, named, config)
    # What runs stands in `current`; as items its events would be said twice.
    running = {log.events[-1].turn_id} if split.current else set[TurnId]()
    return _Told(
        spec=attrs.evolve(spec, current=split.current),
        history=split.history,
        events=tuple([event for event in log.events if event.turn_id not in running]),
    )


def _refuse(bad: BadRequest) -> NoReturn:
    missing = bad.path == "/current"
    hint = "docs/batch.md lists the keys of the `compose` op" + (
        "; --current-from-open takes `current` from the log" if missing else ""
    )
    fail(Said(what=f"the spec at {bad.path or 'its root'}: {bad.reason}", hint=hint), Exit.INPUT)


def _refuse_composing(failure: ComposeFailure) -> NoReturn:
    fail(say_compose(failure), build_exit(failure), compose_failure_value(failure))


# --- advise ---------------------------------------------------------------------------------------


def _tell_what_differs(report: BuildReport, observed: Observed) -> None:
    """What makes advice less than it seems: another counter, items that the report does not know."""
    methods = {attempt.count.method for attempt in report.attempts[-1:]}
    for method in methods - {_ESTIMATE}:
        note(f"jingwei: the report was counted by {method}; what could be freed is estimated as bytes / 4")
    known = {row.item_id for row in report.items or ()}
    for item_id, _ in observed.unused_turns:
        if item_id not in known:
            note(f"jingwei: the report speaks of no item {item_id!r}: passed over")


def _refuse_triggers(failure: InvalidTriggers) -> NoReturn:
    fail(say_triggers(failure), Exit.USAGE, triggers_failure_value(failure))


# --- why ------------------------------------------------------------------------------------------


def _selection_of(name: str) -> SelectionReport:
    report = read_selection(_inside(document(name, _A_COMPOSITION), "selection"))
    if isinstance(report, DecodeFailed):
        fail(say_decode(report, _A_COMPOSITION), Exit.DECODE, decode_failure_value(report))
    return report


def _near(report: SelectionReport, failure: UnknownItem) -> list[str]:
    """Up to three ids that are like the one that was asked for, the likest first."""
    known = [one.item_id for one in report.origins] + [f"memory:{row.memory_id}" for row in report.filtered]
    return difflib.get_close_matches(failure.item_id, dict.fromkeys(known), n=3, cutoff=0.5)
