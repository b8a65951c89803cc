"""Exchanges as views, in the running turn and in the history: the same bytes in both (rule T7)."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias, final

import attrs

from jingwei.events.records import ToolOutcome
from jingwei.ids import EventId, TurnId
from jingwei.jsontext import utf8_bytes
from jingwei.limits import BUILD_TURNS_MAX
from jingwei.messages.records import (
    AssistantMessage,
    ModelMessage,
    ModelToolCall,
    ToolMessage,
)
from jingwei.messages.wire import message_bytes
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import vector
from jingwei.projection.records import Group, GroupKind, ProjectedTurn, Projection
from jingwei.results.envelope import (
    call_of,
    envelope_text,
    exchange_messages,
    is_envelope,
    labelled,
    shown_text,
)
from jingwei.results.failures import ContradictionReason, ViewContradiction
from jingwei.results.memory import TurnMemory
from jingwei.results.recorded import prefix_of, recorded_outcome, seq_of, synthetic_id
from jingwei.results.records import (
    DEFAULT_POLICY,
    ResultChooser,
    ResultPolicy,
    ResultView,
    ShownExchange,
    ViewedHistory,
    ViewedResult,
    ViewedTurn,
    ViewForm,
    ViewRendition,
    ViewRow,
    body_of,
)
from jingwei.results.view import shown_outcome, view_result, without_handle
from jingwei.results.wire import NO_VIEWS, RecordedView, RecordedViews


@final
@attrs.frozen(kw_only=True)
class Rendering:
    """How the exchanges of a session are sent as views.

    Attributes:
        rendition: by the provider's own tool calls, or as JSON actions.
        views: what was shown before; sent again as it was.
        policy: makes the view of an exchange that has none; nothing is stored for it, so that it gives no
            handle. The same policy makes the same bytes each time.
    """

    rendition: ViewRendition
    views: RecordedViews = NO_VIEWS
    policy: ResultPolicy = DEFAULT_POLICY


def current_messages(
    exchanges: Iterable[ShownExchange], rendition: ViewRendition
) -> tuple[ModelMessage, ...]:
    """The finished exchanges of the running turn, in the order of their calls: two messages of each.

    Closing the turn does not change a byte of them: with their views recorded, `viewed_turn` gives the same.
    """
    ordered = sorted(exchanges, key=_call_seq)
    return tuple([message for one in ordered for message in _shown_messages(one, rendition)])


def viewed_current(
    current: Sequence[ModelMessage], rendering: Rendering
) -> Outcome[tuple[ModelMessage, ...], ViewContradiction]:
    """The running turn as `ProjectionView.running` gives it, with every exchange as a view.

    For a host that takes up a log in the middle of a turn. Other messages stay as they are.
    """
    shown, at = list[ModelMessage](), 0
    while at < len(current):
        exchange = _native(current[at : at + 2])
        if exchange is None:
            shown.append(current[at])
            at += 1
            continue
        rendered = _rendered(exchange, None, rendering)
        if isinstance(rendered, ViewContradiction):
            return Failure(rendered)
        shown += exchange_messages(exchange.call, rendered.envelope, rendering.rendition)
        at += 2
    return Success(tuple(shown))


def viewed_turn(turn: ProjectedTurn, rendering: Rendering) -> Outcome[ViewedTurn, ViewContradiction]:
    """A turn with every exchange as a view: its recorded one, or that of the policy.

    Fails where a recorded view says something else than the log. What is a view already stays as it is. A
    turn is rendered once and remembered while it lives; what is answered never depends on that.
    """
    key = (rendering.rendition, rendering.policy)
    known = _MEMORY.get(turn, key)
    if known is not None and _applies(known, rendering.views):
        return Success(known.viewed)
    viewed = _viewed_turn(turn, rendering)
    if isinstance(viewed, ViewContradiction):
        return Failure(viewed)
    _MEMORY.remember(turn, key, _known(turn, viewed, rendering.views))
    return Success(viewed)


def viewed_history(history: Projection, rendering: Rendering) -> Outcome[ViewedHistory, ViewContradiction]:
    """A projection with every exchange as a view: what a build gets in its place (T7).

    Turns, groups, sources and omissions are those of the projection; messages and their sizes are those of
    the views. The first view that contradicts the log is told.
    """
    turns, viewed, size = list[ProjectedTurn](), list[ViewedTurn](), history.canonical_bytes
    for turn in history.turns:
        if not any(group.kind is GroupKind.TOOL_EXCHANGE for group in turn.groups):
            turns.append(turn)
            continue
        match viewed_turn(turn, rendering):
            case Success(one):
                turns.append(one.turn)
                viewed.append(one)
                size += one.turn.canonical_bytes - turn.canonical_bytes
            case Failure() as contradicted:
                return contradicted
    if not viewed:
        return Success(ViewedHistory(projection=history, viewed=()))
    # Views keep call ids, names and arguments, so that natively M3 finds what it found before. As JSON there
    # is no native field left that it could object to.
    native = rendering.rendition is ViewRendition.NATIVE
    projection = attrs.evolve(
        history,
        turns=vector(turns),
        canonical_bytes=size,
        shape_failure=history.shape_failure if native else None,
    )
    return Success(ViewedHistory(projection=projection, viewed=tuple(viewed)))


def first_views(
    history: Projection, rendering: Rendering, chooser: ResultChooser | None = None
) -> tuple[ViewedResult, ...]:
    """Views of the exchanges that have none on record, in order: for a host that begins to show views.

    It stores and records them as it does those of new results, and from then on they are sent.
    """
    found = list[ViewedResult]()
    for group in history.groups:
        exchange = _native(group.messages)
        place = _place_of(group)
        if exchange is None or place is None or _found(*place, rendering.views) is not None:
            continue
        seq, outcome = seq_of(exchange.call.id), recorded_outcome(exchange.content)
        if seq is None or outcome is None:
            continue
        match view_result(
            outcome,
            call_seq=seq,
            name=exchange.call.name,
            source_event=group.source_events[-1],
            policy=rendering.policy,
            chooser=chooser,
        ):
            case Success(viewed):
                found.append(viewed)
            case Failure():
                pass  # no log could record it
    return tuple(found)


# --- one exchange ---------------------------------------------------------------------------------

_Place: TypeAlias = tuple[EventId, int | None]
"""The event of a result, and the place of its call."""


@final
@attrs.frozen(kw_only=True)
class _Exchange:
    """A call and what answers it, out of native messages."""

    call: ModelToolCall
    content: str


@final
@attrs.frozen(kw_only=True)
class _Source:
    """Where an exchange of the history stands."""

    turn_id: TurnId
    event_id: EventId


@final
@attrs.frozen(kw_only=True)
class _Rendered:
    """An exchange as it is sent; `row` is None in the running turn, and for what is a view already."""

    envelope: str
    row: ViewRow | None


def _native(messages: Sequence[ModelMessage]) -> _Exchange | None:
    """The exchange that two messages are; None where they are something else."""
    match tuple(messages):
        case (
            AssistantMessage(content=None, tool_calls=(call,)),
            ToolMessage(call_id=answered, content=content),
        ) if call.id == answered:
            return _Exchange(call=call, content=content)
        case _:
            return None


def _rendered(
    exchange: _Exchange, source: _Source | None, rendering: Rendering
) -> _Rendered | ViewContradiction:
    """An exchange as a view: its recorded one, else the one that the policy makes."""
    if is_envelope(exchange.content):
        return _Rendered(envelope=exchange.content, row=None)
    outcome = recorded_outcome(exchange.content)
    if outcome is None:
        return _unread(exchange, source, rendering.policy)
    event_id = None if source is None else source.event_id
    found = _found(event_id, seq_of(exchange.call.id), rendering.views)
    if found is None:
        view = _policy_view(exchange, outcome, source, rendering.policy)
        if view is None:
            return _unread(exchange, source, rendering.policy)
    else:
        view = found.view
        reason = _contradiction(view, exchange, source, outcome)
        if reason is not None:
            return ViewContradiction(
                turn_id=None if source is None else source.turn_id,
                source_event=view.source_event,
                recorded_by=found.event_id,
                reason=reason,
            )
    row = _row(source, view.form, view.text, view.total_bytes, recorded=found is not None)
    return _Rendered(envelope=envelope_text(view), row=row)


def _found(event_id: EventId | None, seq: int | None, views: RecordedViews) -> RecordedView | None:
    """The view on record for a result or, where one stands under another result, for its call."""
    found = None if event_id is None else views.by_source.get(event_id)
    return views.by_call.get(seq) if found is None and seq is not None else found


def _policy_view(
    exchange: _Exchange, outcome: ToolOutcome, source: _Source | None, policy: ResultPolicy
) -> ResultView | None:
    """The view of an exchange that was never shown as one; None for what no log could record."""
    # Neither the place of the call nor the source is shown, since there is no handle.
    viewed = view_result(
        outcome,
        call_seq=0,
        name=exchange.call.name,
        source_event=EventId("-") if source is None else source.event_id,
        policy=policy,
    )
    match viewed:
        case Success(made):
            return without_handle(made.view)
        case Failure():
            return None


def _unread(exchange: _Exchange, source: _Source | None, policy: ResultPolicy) -> _Rendered:
    """The view of a result that is no recorded outcome: how it ended is not known, and not said.

    Only a projection that came from outside holds such a one.
    """
    total = utf8_bytes(exchange.content)
    whole = total <= policy.inline_bytes
    text = exchange.content if whole else prefix_of(exchange.content, policy.preview_bytes)
    form = ViewForm.WHOLE if text == exchange.content else ViewForm.PREFIX
    return _Rendered(
        envelope=labelled(exchange.call.name, shown_text(form, text, total)),
        row=_row(source, form, text, total, recorded=False),
    )


def _row(
    source: _Source | None, form: ViewForm, text: str, total_bytes: int, *, recorded: bool
) -> ViewRow | None:
    if source is None:
        return None
    return ViewRow(
        turn_id=source.turn_id,
        source_event=source.event_id,
        form=form,
        recorded=recorded,
        total_bytes=total_bytes,
        shown_bytes=utf8_bytes(text),
    )


def _contradiction(
    view: ResultView, exchange: _Exchange, source: _Source | None, outcome: ToolOutcome
) -> ContradictionReason | None:
    """In what a recorded view differs from the exchange that it names; None where it does not (T2)."""
    body = body_of(outcome)
    if source is not None and view.source_event != source.event_id:
        return ContradictionReason.SOURCE_EVENT
    if synthetic_id(view.call_seq) != exchange.call.id:
        return ContradictionReason.CALL
    if view.name != exchange.call.name:
        return ContradictionReason.NAME
    if view.outcome != shown_outcome(outcome):
        return ContradictionReason.OUTCOME
    if view.total_bytes != utf8_bytes(body):
        return ContradictionReason.TOTAL_BYTES
    said = view.form is ViewForm.CONDENSED or (
        body == view.text if view.form is ViewForm.WHOLE else body.startswith(view.text)
    )
    return None if said else ContradictionReason.TEXT


def _shown_messages(one: ShownExchange, rendition: ViewRendition) -> tuple[ModelMessage, ...]:
    return exchange_messages(call_of(one.view, one.arguments), envelope_text(one.view), rendition)


def _call_seq(one: ShownExchange) -> int:
    return one.view.call_seq


# --- one turn -------------------------------------------------------------------------------------


def _viewed_turn(turn: ProjectedTurn, rendering: Rendering) -> ViewedTurn | ViewContradiction:
    groups, rows = list[Group](), list[ViewRow]()
    for group in turn.groups:
        exchange = _native(group.messages) if group.kind is GroupKind.TOOL_EXCHANGE else None
        if exchange is None:
            groups.append(group)
            continue
        source = _Source(turn_id=turn.turn_id, event_id=group.source_events[-1])
        rendered = _rendered(exchange, source, rendering)
        if isinstance(rendered, ViewContradiction):
            return rendered
        messages = exchange_messages(exchange.call, rendered.envelope, rendering.rendition)
        sizes = tuple(map(message_bytes, messages))
        groups.append(attrs.evolve(group, messages=messages, message_bytes=sizes))
        rows += [] if rendered.row is None else [rendered.row]
    size = sum([sum(group.message_bytes) for group in groups])
    viewed = attrs.evolve(turn, groups=tuple(groups), canonical_bytes=size)
    return ViewedTurn(turn=viewed, rows=tuple(rows))


def _place_of(group: Group) -> _Place | None:
    """Where the view of a group would stand on record; None for what is no exchange in native messages."""
    exchange = _native(group.messages) if group.kind is GroupKind.TOOL_EXCHANGE else None
    return None if exchange is None else (group.source_events[-1], seq_of(exchange.call.id))


_Key: TypeAlias = tuple[ViewRendition, ResultPolicy]


@final
@attrs.frozen(kw_only=True)
class _Known:
    """A rendered turn, and the recorded views that went into it."""

    places: tuple[_Place, ...]
    recorded: tuple[RecordedView | None, ...]
    viewed: ViewedTurn


def _known(turn: ProjectedTurn, viewed: ViewedTurn, views: RecordedViews) -> _Known:
    found = [_place_of(group) for group in turn.groups]
    places = tuple([place for place in found if place is not None])
    recorded = tuple([_found(*place, views) for place in places])
    return _Known(places=places, recorded=recorded, viewed=viewed)


def _applies(known: _Known, views: RecordedViews) -> bool:
    """Whether the same views are on record for the exchanges of a rendered turn as when it was rendered."""
    return all(
        _found(event_id, seq, views) == recorded
        for (event_id, seq), recorded in zip(known.places, known.recorded, strict=True)
    )


REMEMBERED_TURNS: Final = BUILD_TURNS_MAX
"""Turns of one generation of the memory: the largest history that a build takes fits whole."""

_MEMORY: Final = TurnMemory[_Key, _Known](REMEMBERED_TURNS)
