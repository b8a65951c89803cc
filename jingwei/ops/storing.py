"""Where the text of a long result stands, as an operation says it (rules T3, T5)."""

from typing import Final, assert_never, final

import attrs

from jingwei.codec import Declarations
from jingwei.events.records import ToolOutcome
from jingwei.ids import StoreId
from jingwei.limits import (
    STORE_BYTES_MAX,
    STORE_CONTENT_BYTES_MAX,
    STORE_ENTRIES_MAX,
    STORE_PAGE_BYTES_MAX,
    STORE_SKEW_MS,
    STORE_TTL_MS_MAX,
)
from jingwei.ops.requests import BadRequest
from jingwei.ops.tool_failure_values import facts
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import ContentRef, ContentScope, StoreFailure, StoreLimits
from jingwei.report.failure_values import JsonObject
from jingwei.results import wire as results_wire
from jingwei.results.failures import InvalidResultPolicy
from jingwei.results.records import (
    ResultChoice,
    ResultPolicy,
    ResultView,
    ShowCondensed,
    ShownFailure,
    ShownSuccess,
    ShowPrefix,
    ShowWhole,
    ToStore,
)
from jingwei.results.view import result_policy
from jingwei.stores.sqlite import IN_MEMORY, open_sqlite_store


@final
@attrs.frozen(kw_only=True)
class StoreSpec:
    """A SQLite store on the wire: its file, its limits, and the time that it is told.

    Attributes:
        path: the file, relative to where the process runs.
        store_id: the id that its references carry.
        now_ms: the host's clock.
    """

    path: str
    store_id: StoreId
    now_ms: int
    max_entries: int = STORE_ENTRIES_MAX
    max_bytes: int = STORE_BYTES_MAX
    max_content_bytes: int = STORE_CONTENT_BYTES_MAX
    max_page_bytes: int = STORE_PAGE_BYTES_MAX
    max_ttl_ms: int = STORE_TTL_MS_MAX
    max_skew_ms: int = STORE_SKEW_MS

    @property
    def limits(self) -> StoreLimits:
        """What bounds the store; its maker checks them."""
        return StoreLimits(
            store_id=self.store_id,
            max_entries=self.max_entries,
            max_bytes=self.max_bytes,
            max_content_bytes=self.max_content_bytes,
            max_page_bytes=self.max_page_bytes,
            max_ttl_ms=self.max_ttl_ms,
            max_skew_ms=self.max_skew_ms,
        )


@final
@attrs.frozen(kw_only=True)
class Storing:
    """Who stores the text of a long result.

    Attributes:
        scope: for whom it is stored.
        reference: what the host's own store gave.
        store: a store that is to take it now. Without this and a reference the host is told what to store.
    """

    scope: ContentScope
    reference: ContentRef | None
    store: StoreSpec | None


@final
@attrs.frozen
class ChosenChoice:
    """A chooser that chooses this, whatever the result is."""

    choice: ResultChoice

    def choose(self, name: str, outcome: ToolOutcome) -> ResultChoice:
        """The choice."""
        return self.choice


def declare(wire: Declarations) -> None:
    """The wire form of policies, choices, views, references and stores."""
    results_wire.declare(wire)
    wire.record(ResultPolicy, strict=True)
    for kind, choice in _CHOICES.items():
        wire.record(choice, strict=True, constants={"kind": kind})
    # As it stands in a request, where it may be left out: to a reader of types that is another union.
    wire.union(ResultChoice | None, "kind", _CHOICES)
    wire.record(StoreSpec, strict=True)


_CHOICES: Final[dict[str, type[object]]] = {
    "whole": ShowWhole,
    "prefix": ShowPrefix,
    "condensed": ShowCondensed,
}


def checked_policy(policy: ResultPolicy) -> ResultPolicy | InvalidResultPolicy:
    """A policy that was read, once its sizes agree (T3)."""
    checked = result_policy(
        inline_bytes=policy.inline_bytes,
        preview_bytes=policy.preview_bytes,
        max_shown_bytes=policy.max_shown_bytes,
    )
    match checked:
        case Success(sound):
            return sound
        case Failure(why):
            return why
        case _:
            assert_never(checked)


def storing_problem(reference: ContentRef | None, store: StoreSpec | None) -> BadRequest | None:
    """What is wrong with who stores: two of them, or a store that would be gone with the answer."""
    if reference is not None and store is not None:
        return BadRequest(reason="expected at most one of: reference, store", path="")
    return None if store is None else store_problem(store)


def store_problem(store: StoreSpec) -> BadRequest | None:
    """A store in memory ends with the operation, so that no reference would lead into it."""
    if store.path == IN_MEMORY:
        return BadRequest(reason="expected the path of a file", path="/store/path")
    return None


def stored_by(storing: Storing, text: ToStore | None) -> Outcome[ContentRef | None, StoreFailure]:
    """The reference to a text, which is stored first where a store is to take it (T3).

    None where this operation stores nothing and is told of no reference. The reference is what the store
    said, or the host's: whether it is the right one is looked at by who takes it.
    """
    if text is None or storing.store is None:
        return Success(storing.reference)
    opened = open_sqlite_store(storing.store.path, storing.store.limits)
    match opened:
        case Success(shelf):
            with shelf:
                return shelf.put(storing.scope, text.source_event, text.text, storing.store.now_ms)
        case Failure(why):
            return Failure(why)
        case _:
            assert_never(opened)


def view_value(view: ResultView) -> JsonObject:
    """A view as plain JSON values with all its keys; its event leaves out what is not there."""
    value: JsonObject = {"version": view.algorithm_version, **facts(view)}
    match view.outcome:
        case ShownSuccess():
            value["outcome"] = {"status": "succeeded"}
        case ShownFailure():
            value["outcome"] = {"status": "failed", **facts(view.outcome)}
        case _:
            assert_never(view.outcome)
    return value


def to_store_value(text: ToStore | None) -> JsonObject | None:
    """What the host is to store, as plain JSON values."""
    return None if text is None else {"source_event": text.source_event, "text": text.text}
