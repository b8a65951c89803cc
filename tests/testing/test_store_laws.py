"""The law set catches broken stores, each by the number of its rule."""

from collections.abc import Callable
from typing import TypeVar, final

import attrs
import pytest
from typing_extensions import override

from jingwei.ids import EventId, SessionId
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import (
    ContentRef,
    ContentScope,
    ContentStore,
    Page,
    Purged,
    StoreFailure,
    StoreLimits,
    Unavailable,
    UnavailableReason,
)
from jingwei.stores.in_memory import InMemoryStore
from jingwei.testing.store_laws import check_content_store

_Value = TypeVar("_Value")


def changed(
    outcome: Outcome[_Value, StoreFailure], change: Callable[[_Value], _Value]
) -> Outcome[_Value, StoreFailure]:
    """An answer with another value, or the same refusal."""
    match outcome:
        case Success(value):
            return Success(change(value))
        case Failure() as refused:
            return refused


class Passing(ContentStore):
    """A sound store, for others to spoil."""

    def __init__(self, limits: StoreLimits) -> None:
        self.limits = limits
        self.sound = InMemoryStore(limits)

    @override
    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        return self.sound.put(scope, source, text, now_ms)

    @override
    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        return self.sound.read(ref, scope, now_ms, offset, max_bytes)

    @override
    def renew(self, ref: ContentRef, expires_at_ms: int, now_ms: int) -> Outcome[ContentRef, StoreFailure]:
        return self.sound.renew(ref, expires_at_ms, now_ms)

    @override
    def purge_expired(self, now_ms: int) -> Outcome[Purged, StoreFailure]:
        return self.sound.purge_expired(now_ms)


def test_a_store_that_hands_on_keeps_the_laws() -> None:
    check_content_store(Passing, examples=5)


@final
class ReferenceWithoutBytes(Passing):
    @override
    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        return changed(super().put(scope, source, text, now_ms), lambda ref: attrs.evolve(ref, total_bytes=0))


@final
class OneSpace(Passing):
    """Keeps by source event alone, as the seeds' store does."""

    @override
    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        one = attrs.evolve(scope, session_id=SessionId("s"))
        return changed(super().put(one, source, text, now_ms), lambda ref: attrs.evolve(ref, scope=scope))

    @override
    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        one = attrs.evolve(ref, scope=attrs.evolve(ref.scope, session_id=SessionId("s")))
        return super().read(one, attrs.evolve(scope, session_id=SessionId("s")), now_ms, offset, max_bytes)


@final
class CutsCharacters(Passing):
    @override
    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        page = super().read(ref, scope, now_ms, offset, max_bytes)
        return changed(page, lambda one: attrs.evolve(one, text=one.text[:-1]) if one.next_offset else one)


@final
class NoEmptyPage(Passing):
    @override
    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        if offset and offset == ref.total_bytes:
            return Failure(Unavailable(reason=UnavailableReason.MISSING))
        return super().read(ref, scope, now_ms, offset, max_bytes)


@final
class Stuck(Passing):
    """Gives empty pages and says that there is more."""

    @override
    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        page = super().read(ref, scope, now_ms, offset, max_bytes)
        return changed(page, lambda one: attrs.evolve(one, text="", next_offset=offset))


@final
class ShortPages(Passing):
    @override
    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        small = super().read(ref, scope, now_ms, offset, max(max_bytes // 2, min(max_bytes, 4)))
        return small if isinstance(small, Success) else super().read(ref, scope, now_ms, offset, max_bytes)


@final
class TrustsTheReference(Passing):
    """Believes what a reference says of itself, the scope included."""

    @override
    def read(
        self, ref: ContentRef, scope: ContentScope, now_ms: int, offset: int, max_bytes: int
    ) -> Outcome[Page, StoreFailure]:
        return super().read(ref, ref.scope, now_ms, offset, max_bytes)


@final
class LastWins(Passing):
    """Lets the last text of a source stand."""

    @override
    def put(
        self, scope: ContentScope, source: EventId, text: str, now_ms: int
    ) -> Outcome[ContentRef, StoreFailure]:
        done = super().put(scope, source, text, now_ms)
        if isinstance(done, Success):
            return done
        self.sound = InMemoryStore(self.limits)
        return super().put(scope, source, text, now_ms)


@final
class ForgetsTheClock(Passing):
    """Believes whatever time it is told."""

    def __init__(self, limits: StoreLimits) -> None:
        super().__init__(attrs.evolve(limits, max_skew_ms=10**9))
        self.sound = InMemoryStore(self.limits)


@final
class StrictClock(Passing):
    """Refuses every time before the latest one."""

    def __init__(self, limits: StoreLimits) -> None:
        super().__init__(limits)
        self.sound = InMemoryStore(attrs.evolve(limits, max_skew_ms=0))


@final
class Unbounded(Passing):
    def __init__(self, limits: StoreLimits) -> None:
        super().__init__(limits)
        self.sound = InMemoryStore(attrs.evolve(limits, max_entries=99, max_bytes=10**6))


@final
class Shortens(Passing):
    """Lets a text live exactly as long as was said last."""

    @override
    def renew(self, ref: ContentRef, expires_at_ms: int, now_ms: int) -> Outcome[ContentRef, StoreFailure]:
        done = super().renew(ref, expires_at_ms, now_ms)
        return changed(
            done, lambda one: attrs.evolve(one, scope=attrs.evolve(one.scope, expires_at_ms=expires_at_ms))
        )


@final
class RemovesNothing(Passing):
    @override
    def purge_expired(self, now_ms: int) -> Outcome[Purged, StoreFailure]:
        return changed(super().purge_expired(now_ms), lambda _: Purged(entries=0, total_bytes=0))


@final
class AnotherFailure(Passing):
    """Says what is wrong in a word of its own."""

    @override
    def purge_expired(self, now_ms: int) -> Outcome[Purged, StoreFailure]:
        done = super().purge_expired(now_ms)
        return done if isinstance(done, Success) else Failure("no")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("T3", ReferenceWithoutBytes),
        ("T5", OneSpace),
        ("T4", CutsCharacters),
        ("T4", NoEmptyPage),
        ("T4", ShortPages),
        ("T4", Stuck),
        ("T4", TrustsTheReference),
        ("T5", LastWins),
        ("T5", ForgetsTheClock),
        ("T5", StrictClock),
        ("T5", Unbounded),
        ("T5", Shortens),
        ("T5", RemovesNothing),
        ("T5", AnotherFailure),
    ],
)
def test_a_broken_store_is_caught_by_the_number_of_its_rule(
    rule: str, broken: Callable[[StoreLimits], ContentStore]
) -> None:
    with pytest.raises(AssertionError, match=f"^{rule}: "):
        check_content_store(broken)
