"""The operations `tool_view`, `result_view` and `read_reference` (rules T1 to T5)."""

from typing import Final, Literal, assert_never, final

import attrs

from jingwei.action.failures import OtherReference
from jingwei.codec import Declarations, RecordCodec
from jingwei.events import wire as events_wire
from jingwei.events.records import ToolOutcome
from jingwei.ids import EventId
from jingwei.jsontext import Json
from jingwei.messages.records import ToolDefinition
from jingwei.ops import storing
from jingwei.ops.requests import BadRequest, bad, failed, ok, read
from jingwei.ops.storing import (
    ChosenChoice,
    StoreSpec,
    Storing,
    checked_policy,
    store_problem,
    stored_by,
    storing_problem,
    to_store_value,
    view_value,
)
from jingwei.ops.tool_failure_values import NotShown, read_refused_value, tool_failure_value
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import ContentRef, ContentScope, Page
from jingwei.report.failure_values import JsonObject
from jingwei.request.tool_views import (
    ALL_TOOLS,
    DEFAULT_TOOL_LIMITS,
    GroupedToolSelector,
    ToolGroup,
    ToolView,
    ToolViewLimits,
    select_tool_view,
)
from jingwei.results.envelope import envelope_text
from jingwei.results.failures import InvalidResult, InvalidResultPolicy, ReferenceMismatch
from jingwei.results.records import (
    DEFAULT_POLICY,
    ResultChoice,
    ResultPolicy,
    ResultView,
    ToStore,
    ViewedResult,
)
from jingwei.results.view import view_result, with_reference, without_handle
from jingwei.results.wire import view_event
from jingwei.stores.existing import open_existing_store
from jingwei.stores.read_tool import (
    Grants,
    ReadAnswer,
    ReadReason,
    ReadRefused,
    answer_text,
    read_reference,
)


@final
@attrs.frozen(kw_only=True)
class ResultNotShown:
    """A tool has run, and its result cannot be shown (T3): `result_view` says so of every failure.

    Attributes:
        call_seq: the place of the call's event in the log.
        source_event: the event of the result.
        name: the tool.
        outcome: how it ended.
        why: what stands against showing it.
        replay_forbidden: always true; everything but the tool may be repeated.
    """

    call_seq: int
    source_event: EventId
    name: str
    outcome: ToolOutcome
    why: NotShown | InvalidResultPolicy
    replay_forbidden: Literal[True] = attrs.field(default=True, init=False)


def serve_tool_view(body: JsonObject) -> JsonObject:
    """`tool_view`: the tools that a model is shown, out of those that the host authorises (T1)."""
    asked = read(_CODEC, body, _ToolView)
    if isinstance(asked, BadRequest):
        return bad(asked)
    outcome = select_tool_view(asked.tools, asked.selector, asked.limits)
    match outcome:
        case Success(view):
            return ok(tool_view_value(view))
        case Failure(why):
            return failed(tool_failure_value(why))
        case _:
            assert_never(outcome)


def serve_result_view(body: JsonObject) -> JsonObject:
    """`result_view`: what a model is shown of a result, and what must be stored first (T2, T3)."""
    asked = read(_CODEC, body, _ResultView)
    if isinstance(asked, BadRequest):
        return bad(asked)
    problem = storing_problem(asked.reference, asked.store)
    if problem is not None:
        return bad(problem)
    if asked.scope is None and (asked.reference is not None or asked.store is not None):
        return bad(BadRequest(reason="expected a key 'scope' beside a reference or a store", path="/scope"))
    viewed = _viewed(asked)
    if not isinstance(viewed, ViewedResult):
        return _not_shown(asked, viewed)
    settled = _settled(viewed, asked)
    if not isinstance(settled, _Settled):
        return _not_shown(asked, settled)
    return ok(
        {
            "view": view_value(settled.view),
            "envelope": envelope_text(settled.view),
            "events": [_CODEC.write(view_event(settled.view))],
            "to_store": to_store_value(settled.to_store),
            "refused": None if settled.refused is None else tool_failure_value(settled.refused),
        }
    )


def serve_read_reference(body: JsonObject) -> JsonObject:
    """`read_reference`: a page of a stored text for a model, within what the host grants (T4)."""
    if ("arguments" in body) == ("arguments_text" in body):
        return bad(BadRequest(reason="expected exactly one of: arguments, arguments_text", path=""))
    asked = read(_CODEC, body, _ReadReference)
    if isinstance(asked, BadRequest):
        return bad(asked)
    problem = store_problem(asked.store)
    if problem is not None:
        return bad(problem)
    outcome = _read(asked)
    answer = answer_text(outcome)
    match outcome:
        case Success(found):
            return ok({"offset": found.offset, "page": _CODEC.write(found.page), "answer": answer})
        case Failure(why):
            return failed(read_refused_value(why, answer))
        case _:
            assert_never(outcome)


def tool_view_value(view: ToolView) -> JsonObject:
    """A tool view as plain JSON values."""
    return {
        "algorithm_version": view.algorithm_version,
        "tools": [_CODEC.write(tool) for tool in view.tools],
        "excluded": list(view.excluded),
    }


@final
@attrs.frozen(kw_only=True)
class _ToolView:
    tools: tuple[ToolDefinition, ...]
    selector: GroupedToolSelector = ALL_TOOLS
    limits: ToolViewLimits = DEFAULT_TOOL_LIMITS


@final
@attrs.frozen(kw_only=True)
class _ResultView:
    outcome: ToolOutcome
    call_seq: int
    name: str
    source_event: EventId
    policy: ResultPolicy = DEFAULT_POLICY
    choice: ResultChoice | None = None
    scope: ContentScope | None = None
    reference: ContentRef | None = None
    store: StoreSpec | None = None
    preview_alone: bool = False


@final
@attrs.frozen(kw_only=True)
class _ReadReference:
    store: StoreSpec
    grants: Grants
    arguments: Json = Json("null")  # noqa: RUF009  # immutable
    arguments_text: str | None = None


def declare(wire: Declarations) -> None:
    """The wire form of tools and their selectors, of events, and of all that has to do with results."""
    events_wire.declare(wire)
    storing.declare(wire)
    wire.record(ToolGroup, strict=True)
    wire.record(GroupedToolSelector, strict=True)
    wire.record(ToolViewLimits, strict=True)


def _declare(wire: Declarations) -> None:
    declare(wire)
    wire.record(Grants, strict=True)
    wire.record(Page, always=("next_offset",))
    for operation in (_ToolView, _ResultView, _ReadReference):
        wire.record(operation, strict=True)


_CODEC: Final = RecordCodec(_declare)


# --- result_view ------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class _Settled:
    """A view once it is known where its text stands; `refused` is why a preview stands alone."""

    view: ResultView
    to_store: ToStore | None
    refused: NotShown | None = None


def _viewed(asked: _ResultView) -> ViewedResult | InvalidResult | InvalidResultPolicy:
    policy = checked_policy(asked.policy)
    if isinstance(policy, InvalidResultPolicy):
        return policy
    viewed = view_result(
        asked.outcome,
        call_seq=asked.call_seq,
        name=asked.name,
        source_event=asked.source_event,
        policy=policy,
        chooser=None if asked.choice is None else ChosenChoice(asked.choice),
    )
    match viewed:
        case Success(made):
            return made
        case Failure(why):
            return why
        case _:
            assert_never(viewed)


def _settled(viewed: ViewedResult, asked: _ResultView) -> _Settled | NotShown:
    referring = _referring(viewed, asked)
    if isinstance(referring, ResultView):
        return _Settled(view=referring, to_store=None)
    if asked.preview_alone:
        return _Settled(view=without_handle(viewed.view), to_store=None, refused=referring)
    return _Settled(view=viewed.view, to_store=viewed.to_store) if referring is None else referring


def _referring(viewed: ViewedResult, asked: _ResultView) -> ResultView | NotShown | None:
    """The view with the reference to its text; None where this operation knows of none."""
    if asked.scope is None:
        return None
    who = Storing(scope=asked.scope, reference=asked.reference, store=asked.store)
    stored = stored_by(who, viewed.to_store)
    match stored:
        case Success(reference):
            return None if reference is None else _with_reference(viewed.view, reference, asked.scope)
        case Failure(refused):
            return refused
        case _:
            assert_never(stored)


def _with_reference(
    view: ResultView, reference: ContentRef, scope: ContentScope
) -> ResultView | ReferenceMismatch | OtherReference:
    if reference.scope != scope:
        return OtherReference(expected=scope, actual=reference)
    referring = with_reference(view, reference)
    match referring:
        case Success(told):
            return told
        case Failure(why):
            return why
        case _:
            assert_never(referring)


def _not_shown(asked: _ResultView, why: NotShown | InvalidResultPolicy) -> JsonObject:
    failure = ResultNotShown(
        call_seq=asked.call_seq,
        source_event=asked.source_event,
        name=asked.name,
        outcome=asked.outcome,
        why=why,
    )
    return failed(
        {
            "kind": "ResultNotShown",
            "call_seq": failure.call_seq,
            "source_event": failure.source_event,
            "name": failure.name,
            "outcome": _CODEC.write(failure.outcome),
            "why": tool_failure_value(failure.why),
            "replay_forbidden": failure.replay_forbidden,
        }
    )


# --- read_reference ---------------------------------------------------------------------------------


def _read(asked: _ReadReference) -> Outcome[ReadAnswer, ReadRefused]:
    opened = open_existing_store(asked.store.path, asked.store.limits)
    match opened:
        case Success(store):
            text = asked.arguments_text
            arguments = asked.arguments if text is None else Json(text)
            with store:
                return read_reference(store, asked.grants, arguments, asked.store.now_ms)
        case Failure(why):
            return Failure(ReadRefused(reason=ReadReason.STORE, failure=why))
        case _:
            assert_never(opened)
