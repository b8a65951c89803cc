"""Result views as JSON, and out of logs: what was shown is recorded when it is first shown (rules T2, T7)."""

from collections.abc import Iterable
from typing import Final, final

import attrs

from jingwei.codec import Declarations, RecordCodec, RecordProblem
from jingwei.events.records import CustomEvent, SessionEvent, ToolFailureCategory
from jingwei.ids import EventId
from jingwei.jsontext import Json, JsonValue, pointer, utf8_bytes
from jingwei.limits import RESULT_CODE_BYTES_MAX
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import Table
from jingwei.ports import ContentRef, ContentScope
from jingwei.results.failures import ConflictingViews, MalformedView, RecordedViewFailure
from jingwei.results.records import (
    RESULT_VIEW_VERSION,
    ResultView,
    ShownFailure,
    ShownOutcome,
    ShownSuccess,
    ViewFallback,
    ViewForm,
)

VIEW_PLUGIN: Final = "jingwei"
"""The plugin of the event that records a view (T7)."""

VIEW_KIND: Final = "result_view"
"""Its kind."""


def declare(wire: Declarations) -> None:
    """The wire form of views; strict, since a key that is not known could change what was shown."""
    wire.enums(ToolFailureCategory, ViewForm, ViewFallback)
    wire.record(ShownSuccess, strict=True, constants={"status": "succeeded"})
    wire.record(ShownFailure, strict=True, constants={"status": "failed"})
    wire.union(ShownOutcome, "status", {"succeeded": ShownSuccess, "failed": ShownFailure})
    wire.record(ContentScope, strict=True)
    wire.record(ContentRef, strict=True)
    not_blank = ("source_event", "name")
    wire.record(ResultView, strict=True, constants={"version": RESULT_VIEW_VERSION}, not_blank=not_blank)


_CODEC: Final = RecordCodec(declare)


def view_payload(view: ResultView) -> Json:
    """The payload of the `custom` event that records a view (T7)."""
    return Json(_CODEC.text(view))


def view_event(view: ResultView) -> CustomEvent:
    """What the host appends when it first shows a view: before the end of the turn, behind the result."""
    return CustomEvent(plugin=VIEW_PLUGIN, kind=VIEW_KIND, payload=view_payload(view))


def read_view(value: JsonValue) -> ResultView | RecordProblem:
    """A view from its payload; strict (W5)."""
    return _CODEC.read(value, ResultView)


@final
@attrs.frozen(kw_only=True)
class RecordedView:
    """A view, and where it stands.

    Attributes:
        view: what was shown.
        event_id: the event that records it; None where the host added it and the log was not read again.
    """

    view: ResultView
    event_id: EventId | None


@final
@attrs.frozen(kw_only=True)
class RecordedViews:
    """What models have been shown, by result and by call; a longer one shares what this one holds.

    Made by `recorded_views`; `NO_VIEWS` has none.

    Attributes:
        by_source: views by the event of their result.
        by_call: the same by the place of the call's event.
    """

    by_source: Table[EventId, RecordedView] = attrs.field(factory=Table[EventId, RecordedView])
    by_call: Table[int, RecordedView] = attrs.field(factory=Table[int, RecordedView])

    def __len__(self) -> int:
        """How many."""
        return len(self.by_source)

    def advanced(self, events: Iterable[SessionEvent]) -> "Outcome[RecordedViews, RecordedViewFailure]":
        """These views and those that further events record; or the first event that is wrong.

        Costs what the events cost, whatever was read before.
        """
        views = self
        for event in events:
            kind = event.kind
            if not isinstance(kind, CustomEvent) or (kind.plugin, kind.kind) != (VIEW_PLUGIN, VIEW_KIND):
                continue
            found = _recorded(event.event_id, kind.payload)
            added = found if isinstance(found, MalformedView) else _added(views, found)
            if not isinstance(added, RecordedViews):
                return Failure(added)
            views = added
        return Success(views)

    def with_view(
        self, view: ResultView, event_id: EventId | None = None
    ) -> "Outcome[RecordedViews, ConflictingViews]":
        """These views and one that the host has just recorded, or is about to."""
        added = _added(self, RecordedView(view=view, event_id=event_id))
        return Success(added) if isinstance(added, RecordedViews) else Failure(added)


NO_VIEWS: Final = RecordedViews()
"""What a log without recorded views has."""


def recorded_views(events: Iterable[SessionEvent]) -> Outcome[RecordedViews, RecordedViewFailure]:
    """The views that a log records, or the first event that records none, or another one (T7).

    The same view recorded twice is one view. Whether a view agrees with the result that it names is seen
    where it is applied (`viewed_turn`), since the result may stand in an earlier piece of the log.
    """
    return NO_VIEWS.advanced(events)


def _recorded(event_id: EventId, payload: Json) -> RecordedView | MalformedView:
    view = read_view(payload.value())
    if isinstance(view, RecordProblem):
        return MalformedView(
            event_id=event_id, path=pointer(view.steps), expected=view.expected, actual=view.actual
        )
    wrong = _inconsistency(view)
    if wrong is not None:
        path, expected = wrong
        return MalformedView(event_id=event_id, path=path, expected=expected, actual="something else")
    return RecordedView(view=view, event_id=event_id)


def _inconsistency(view: ResultView) -> tuple[str, str] | None:
    """What in a view is not as `view_result` makes it: where, and what would have been right."""
    size, reference = utf8_bytes(view.text), view.reference
    if size >= view.total_bytes if view.truncated else size != view.total_bytes:
        return "/total_bytes", "the size of the whole text"
    if view.stored and not view.truncated:
        return "/stored", "false where the whole text is shown"
    if reference is not None and not view.stored:
        return "/reference", "no reference where nothing is stored"
    if reference is not None and (reference.source_event, reference.total_bytes) != (
        view.source_event,
        view.total_bytes,
    ):
        return "/reference", "a reference to the text of this view"
    code_bytes = view.outcome.code_bytes if isinstance(view.outcome, ShownFailure) else None
    if code_bytes is not None and code_bytes <= RESULT_CODE_BYTES_MAX:
        return "/outcome/code_bytes", f"more than {RESULT_CODE_BYTES_MAX}"
    return None


def _added(views: RecordedViews, new: RecordedView) -> RecordedViews | ConflictingViews:
    old = views.by_source.get(new.view.source_event) or views.by_call.get(new.view.call_seq)
    if old is None:
        return RecordedViews(
            by_source=views.by_source.extended({new.view.source_event: new}),
            by_call=views.by_call.extended({new.view.call_seq: new}),
        )
    if old.view == new.view:
        return views
    return ConflictingViews(
        source_event=new.view.source_event, first_event=old.event_id, second_event=new.event_id
    )
