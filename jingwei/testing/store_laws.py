"""The law set of content stores: what a host runs on a store of its own (rules T4, T5).

    def test_my_store():
        check_content_store(lambda limits: MyStore(limits))

Each law draws its inputs with Hypothesis (always the same ones), asks for an empty store, and raises an
`AssertionError` that begins with the number of the rule that is broken. The stores of jingwei are its first
users.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, TypeVar, get_args

import attrs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from jingwei.ids import EventId, SessionId, StoreId, TaskId
from jingwei.jsontext import utf8_bytes
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import (
    BadCursor,
    BadCursorReason,
    ClockWentBack,
    Conflict,
    ConflictReason,
    ContentRef,
    ContentScope,
    ContentStore,
    InvalidScope,
    InvalidScopeReason,
    InvalidSource,
    InvalidSourceReason,
    InvalidText,
    InvalidTime,
    Page,
    PageLimit,
    Purged,
    StoreFailure,
    StoreFull,
    StoreFullOf,
    StoreLimits,
    TooLarge,
    Unavailable,
    UnavailableReason,
)

StoreMaker: TypeAlias = Callable[[StoreLimits], ContentStore]
"""Makes an empty store under these limits, which are always possible ones."""

EXAMPLES: Final = 30
"""Inputs drawn per law, unless told otherwise."""

LIMITS: Final = StoreLimits(
    store_id=StoreId("laws"),
    max_entries=3,
    max_bytes=400,
    max_content_bytes=300,
    max_page_bytes=40,
    max_ttl_ms=1000,
    max_skew_ms=10,
)
"""What a store is made with, where a law does not say otherwise: small, so that every limit is met."""

_Drawn = TypeVar("_Drawn")
_Value = TypeVar("_Value")

_SCOPE: Final = ContentScope(session_id=SessionId("s"), task_id=TaskId("t"), expires_at_ms=1500)
_SOURCE: Final = EventId("e")
_NOW: Final = 1000


def check_content_store(make_store: StoreMaker, *, examples: int = EXAMPLES) -> None:
    """Hold a store to T4 and T5.

    Args:
        make_store: gives an empty store under the given limits; it is called for every drawn input.
        examples: inputs to draw per law.

    Raises:
        AssertionError: a law is broken; the message begins with the rule's number.
    """
    for law in (
        check_pages,
        check_cursors,
        check_references,
        check_conflicts,
        check_expiry,
        check_clock,
        check_quotas,
        check_renewal,
    ):
        _over(st.tuples(st.just(make_store), contents(), contents()), law, examples)
    _over(st.tuples(st.just(make_store), odd_calls()), check_odd_calls, examples)


def contents() -> SearchStrategy[str]:
    """Texts of up to 120 bytes, of characters that take one to four."""
    return st.text(st.sampled_from("a\x00\n<é中🐦") | st.characters(codec="utf-8"), max_size=30)


_Case: TypeAlias = tuple[StoreMaker, str, str]
"""A store, and two texts."""


# --- T4: reading ----------------------------------------------------------------------------------


def check_pages(case: _Case) -> None:
    """Pages of every size that holds a character give the text back, byte for byte, in whole characters."""
    make_store, text, _ = case
    store, raw = make_store(LIMITS), text.encode()
    ref = _given(store.put(_SCOPE, _SOURCE, text, _NOW), "T5: it refused a small text")
    expected = ContentRef(store_id=LIMITS.store_id, source_event=_SOURCE, scope=_SCOPE, total_bytes=len(raw))
    assert expected == ref, f"T3: the reference says {ref}, not {expected}"
    widest = max([len(character.encode()) for character in text], default=1)
    for size in range(1, LIMITS.max_page_bytes + 1):
        if size < widest:
            _check_stuck(store, ref, raw, size)
            continue
        pages = list(_walk(store, ref, size))
        joined = "".join([page.text for page in pages])
        assert text == joined, f"T4: pages of {size} bytes give {joined!r}, not {text!r}"
    last = store.read(ref, _SCOPE, _NOW, len(raw), 1)
    end = Page(text="", next_offset=None, total_bytes=len(raw))
    assert Success(end) == last, f"T4: the page at the end is empty, not {last}"


def _walk(store: ContentStore, ref: ContentRef, size: int, now_ms: int = _NOW) -> Iterator[Page]:
    """All pages of a size, each held to what one page promises."""
    offset: int | None = 0
    before = 0
    while offset is not None:
        page = _given(store.read(ref, ref.scope, now_ms, offset, size), "T4: it refused a page")
        read = utf8_bytes(page.text)
        assert read <= size, f"T4: a page of {read} bytes where {size} were asked for"
        assert ref.total_bytes == page.total_bytes, f"T4: {page} is of {ref.total_bytes} bytes"
        after = offset + read
        goes_on = None if after == ref.total_bytes else after
        assert goes_on == page.next_offset, f"T4: {page} at {offset} goes on at {goes_on}"
        assert read or goes_on is None, f"T4: {page} at {offset} is empty before the end"
        if before:
            first = utf8_bytes(page.text[:1])
            assert before + first > size, f"T4: the page before {offset} had room for one more character"
        before, offset = read, page.next_offset
        yield page


def _check_stuck(store: ContentStore, ref: ContentRef, raw: bytes, size: int) -> None:
    """A character larger than the page is said by name, at the character."""
    offset = 0
    while True:
        answer = store.read(ref, ref.scope, _NOW, offset, size)
        if isinstance(answer, Failure):
            break
        page, before = answer.unwrap(), offset
        offset += utf8_bytes(page.text)
        assert page.next_offset is not None, f"T4: pages of {size} bytes cannot reach the end"
        assert before < offset == page.next_offset, f"T4: {page} at {before} does not go on at {offset}"
    _refused(BadCursor(offset=offset, reason=BadCursorReason.NO_PROGRESS), answer, "T4")
    width = len(raw[offset:].decode(errors="ignore")[:1].encode())
    assert width > size, f"T4: it stopped at a character of {width} bytes in pages of {size}"


def check_cursors(case: _Case) -> None:
    """A page begins at every character boundary and nowhere else, and has from 1 to so many bytes."""
    make_store, text, _ = case
    store, raw = make_store(LIMITS), text.encode()
    ref = _given(store.put(_SCOPE, _SOURCE, text, _NOW), "T5: it refused a small text")
    starts = {len(text[:index].encode()) for index in range(len(text) + 1)}
    for offset in (-(2**70), *range(-2, len(raw) + 3), 2**70):
        answer = store.read(ref, _SCOPE, _NOW, offset, 8)
        if offset in starts:
            page = _given(answer, f"T4: it refused the boundary {offset} of {text!r}")
            rest = raw[offset:].decode()
            assert rest.startswith(page.text), f"T4: at {offset} stands {rest!r}, not {page.text!r}"
            continue
        inside = 0 <= offset <= len(raw)
        reason = BadCursorReason.INSIDE_CHARACTER if inside else BadCursorReason.OUT_OF_RANGE
        _refused(BadCursor(offset=offset, reason=reason), answer, "T4")
    most = LIMITS.max_page_bytes
    for size in (-(2**70), -1, 0, most + 1, 2**70):
        limit = PageLimit(limit=most, actual=size)
        _refused(limit, store.read(ref, _SCOPE, _NOW, 0, size), "T4")


def check_references(case: _Case) -> None:
    """A text is read by its own reference in its own scope only; equal sources of two sessions are two."""
    make_store, text, drawn = case
    store, other_text = make_store(LIMITS), drawn if drawn != text else drawn + "."
    other = attrs.evolve(_SCOPE, session_id=SessionId("other"))
    ref = _given(store.put(_SCOPE, _SOURCE, text, _NOW), "T5: it refused a small text")
    second = store.put(other, _SOURCE, other_text, _NOW)
    second_ref = _given(second, "T5: the same source of another session is another text")
    for one, words in ((ref, text), (second_ref, other_text)):
        whole = "".join([page.text for page in _walk(store, one, LIMITS.max_page_bytes)])
        assert words == whole, f"T5: {one} gives {whole!r}, not {words!r}"
    scope_r, missing = UnavailableReason.SCOPE, UnavailableReason.MISSING
    elsewhere = attrs.evolve(ref, store_id=StoreId("elsewhere"))
    stranger = attrs.evolve(ref, source_event=EventId("unknown"))
    longer = attrs.evolve(ref, total_bytes=ref.total_bytes + 1)
    unknown = attrs.evolve(_SCOPE, session_id=SessionId("nobody"))
    for refused, held, granted in (
        (UnavailableReason.STORE, elsewhere, _SCOPE),
        (missing, stranger, _SCOPE),
        (UnavailableReason.METADATA, longer, _SCOPE),
        (scope_r, ref, other),
        (scope_r, ref, attrs.evolve(_SCOPE, task_id=TaskId("other"))),
        (scope_r, ref, attrs.evolve(_SCOPE, expires_at_ms=1501)),
        (missing, attrs.evolve(ref, scope=unknown), unknown),
        *_both(ref, attrs.evolve(_SCOPE, task_id=TaskId("other")), scope_r),
        *_both(ref, attrs.evolve(_SCOPE, expires_at_ms=1501), scope_r),
        *_both(ref, attrs.evolve(_SCOPE, expires_at_ms=1499), scope_r),
    ):
        answer = store.read(held, granted, _NOW, 0, 8)
        _refused(Unavailable(reason=refused), answer, "T4")


def _both(
    ref: ContentRef, scope: ContentScope, reason: UnavailableReason
) -> tuple[tuple[UnavailableReason, ContentRef, ContentScope]]:
    """A reference and a grant that agree with each other, and not with the store."""
    return ((reason, attrs.evolve(ref, scope=scope), scope),)


# --- T5: what a store holds -----------------------------------------------------------------------


def check_conflicts(case: _Case) -> None:
    """The same again is the same; anything else for a source is a conflict, and changes nothing."""
    make_store, text, other_text = case
    store = make_store(LIMITS)
    ref = _given(store.put(_SCOPE, _SOURCE, text, _NOW), "T5: it refused a small text")
    different = other_text if other_text != text else text + "."
    for reason, scope, words in (
        (ConflictReason.TEXT, _SCOPE, different),
        (ConflictReason.TASK, attrs.evolve(_SCOPE, task_id=TaskId("other")), text),
        (ConflictReason.EXPIRY, attrs.evolve(_SCOPE, expires_at_ms=1600), text),
    ):
        _refused(Conflict(reason=reason, held=ref), store.put(scope, _SOURCE, words, _NOW), "T5")
        again = store.put(_SCOPE, _SOURCE, text, _NOW)
        assert Success(ref) == again, f"T5: the same text again is {ref}, not {again}"
    whole = "".join([page.text for page in _walk(store, ref, LIMITS.max_page_bytes)])
    assert text == whole, f"T5: after conflicts the text is {whole!r}, not {text!r}"


def check_expiry(case: _Case) -> None:
    """What has expired is never given out, whatever the clock says next, and can be removed."""
    make_store, text, other_text = case
    store, end, size = make_store(LIMITS), _SCOPE.expires_at_ms, len(text.encode())
    ref = _given(store.put(_SCOPE, _SOURCE, text, _NOW), "T5: it refused a small text")
    _given(store.read(ref, _SCOPE, end - 1, 0, 8), "T4: it refused a text that lives")
    for now in (end, end + 5, end - 1, end - 5):
        answer = store.read(ref, _SCOPE, now, 0, 8)
        _refused(Unavailable(reason=UnavailableReason.EXPIRED), answer, "T5")
    gone = store.purge_expired(end)
    assert Success(Purged(entries=1, total_bytes=size)) == gone, f"T5: it removed {gone}"
    nothing = store.purge_expired(end)
    assert Success(Purged(entries=0, total_bytes=0)) == nothing, f"T5: it removed {nothing} again"
    later = attrs.evolve(_SCOPE, expires_at_ms=end + 500)
    new = _given(store.put(later, _SOURCE, other_text, end + 6), "T5: an expired source is free")
    _refused(Unavailable(reason=UnavailableReason.EXPIRED), store.read(ref, _SCOPE, end + 6, 0, 8), "T5")
    whole = "".join([page.text for page in _walk(store, new, LIMITS.max_page_bytes, end + 6)])
    assert other_text == whole, f"T5: the new text is {whole!r}, not {other_text!r}"


def check_clock(case: _Case) -> None:
    """Every call sets the latest time; one too far behind it is refused by name and changes nothing."""
    make_store, text, _ = case
    late, near = _NOW + 300, _NOW + 300 - LIMITS.max_skew_ms
    for call in range(4):
        store = make_store(LIMITS)
        ref = _given(store.put(_SCOPE, _SOURCE, text, _NOW), "T5: it refused a small text")
        _given(_calls(store, ref, text, late)[call](), "T5: it refused a call")
        for back in (near - 1, 0):
            for again in _calls(store, ref, text, back):
                _refused(ClockWentBack(last_ms=late, now_ms=back), again(), "T5")
        for never in (-1, -(2**70), 2**53, 2**70):
            for again in _calls(store, ref, text, never):
                _refused(InvalidTime(now_ms=never), again(), "T5")
        _given(store.purge_expired(near), "T5: clocks may differ by a little")


def _calls(
    store: ContentStore, ref: ContentRef, text: str, now_ms: int
) -> tuple[Callable[[], Outcome[object, StoreFailure]], ...]:
    """The four calls at a time."""
    return (
        lambda: store.put(_SCOPE, _SOURCE, text, now_ms),
        lambda: store.read(ref, _SCOPE, now_ms, 0, 8),
        lambda: store.renew(ref, _SCOPE.expires_at_ms + 50, now_ms),
        lambda: store.purge_expired(now_ms),
    )


def check_quotas(case: _Case) -> None:
    """Each quota may be met and not passed; nothing is thrown out; what has expired makes room."""
    make_store, text, _ = case
    size = len(text.encode())
    tight = attrs.evolve(LIMITS, max_bytes=2 * size + 1, max_content_bytes=size + 1, max_entries=2)
    store = make_store(tight)
    first = _given(store.put(_SCOPE, _SOURCE, text, _NOW), "T5: it refused a small text")
    large = TooLarge(limit=size + 1, actual=size + 2)
    _refused(large, store.put(_SCOPE, EventId("f"), text + "..", _NOW), "T5")
    exact = _given(store.put(_SCOPE, EventId("f"), text + ".", _NOW), "T5: as much as allowed is allowed")
    full = StoreFull(what=StoreFullOf.ENTRIES, limit=2, actual=3)
    _refused(full, store.put(_SCOPE, EventId("g"), text, _NOW), "T5")
    for ref, words in ((first, text), (exact, text + ".")):
        whole = "".join([page.text for page in _walk(store, ref, LIMITS.max_page_bytes)])
        assert words == whole, f"T5: a full store forgot {words!r}: it says {whole!r}"
    _check_bytes(make_store(attrs.evolve(tight, max_entries=9)), text, tight)
    later = attrs.evolve(_SCOPE, expires_at_ms=_SCOPE.expires_at_ms + 500)
    made = store.put(later, EventId("g"), text, _SCOPE.expires_at_ms)
    _given(made, "T5: what has expired makes room")
    _check_scopes(store, _SCOPE.expires_at_ms)


def _check_bytes(store: ContentStore, text: str, tight: StoreLimits) -> None:
    """Two texts leave room for one byte, and for no more."""
    size = len(text.encode())
    for source in ("e", "f"):
        _given(store.put(_SCOPE, EventId(source), text, _NOW), "T5: it refused a small text")
    full = StoreFull(what=StoreFullOf.BYTES, limit=tight.max_bytes, actual=2 * size + 2)
    if size:
        _refused(full, store.put(_SCOPE, EventId("g"), "..", _NOW), "T5")
    _given(store.put(_SCOPE, EventId("g"), ".", _NOW), "T5: as much as allowed is allowed")


def _check_scopes(store: ContentStore, now: int) -> None:
    """An expiry lies behind now, and not further than the time to live; ids are names."""
    most, long = now + LIMITS.max_ttl_ms, "é" * 512
    scope = attrs.evolve(_SCOPE, expires_at_ms=most)
    _given(store.put(scope, EventId(long), "", now), "T5: as long as allowed is allowed")
    for changed, reason, limit, actual in (
        ({"expires_at_ms": most + 1}, InvalidScopeReason.LIVES_TOO_LONG, LIMITS.max_ttl_ms, most + 1 - now),
        ({"expires_at_ms": now}, InvalidScopeReason.EXPIRED, now, now),
        ({"session_id": " "}, InvalidScopeReason.BLANK_SESSION_ID, 1, 1),
        ({"session_id": long + "."}, InvalidScopeReason.BAD_SESSION_ID, 1024, 1025),
        ({"session_id": "\ud800"}, InvalidScopeReason.BAD_SESSION_ID, 1024, 3),
        ({"task_id": ""}, InvalidScopeReason.BLANK_TASK_ID, 1, 0),
        ({"task_id": long + "."}, InvalidScopeReason.BAD_TASK_ID, 1024, 1025),
        ({"task_id": "\udfff"}, InvalidScopeReason.BAD_TASK_ID, 1024, 3),
    ):
        invalid = InvalidScope(reason=reason, limit=limit, actual=actual)
        named = attrs.evolve(scope, **changed)
        _refused(invalid, store.put(named, EventId("g"), "", now), "T5")
    for source, why, size in (
        ("\u3000", InvalidSourceReason.BLANK, 3),
        (long + ".", InvalidSourceReason.TOO_LONG, 1025),
        ("x\ud800", InvalidSourceReason.LONE_SURROGATE, 4),
    ):
        _refused(InvalidSource(reason=why, actual=size), store.put(scope, EventId(source), "", now), "T5")
    _refused(InvalidText(offset=1), store.put(scope, EventId("g"), "é\udc80", now), "T5")


def check_renewal(case: _Case) -> None:
    """A text lives longer when it is renewed, and never shorter; then its present reference alone is good."""
    make_store, text, _ = case
    store, end = make_store(LIMITS), _SCOPE.expires_at_ms
    ref = _given(store.put(_SCOPE, _SOURCE, text, _NOW), "T5: it refused a small text")
    longer = attrs.evolve(ref, scope=attrs.evolve(_SCOPE, expires_at_ms=end + 200))
    for until in (end + 200, end + 100, _NOW + 1):
        for old in (ref, longer):
            present = store.renew(old, until, _NOW)
            assert Success(longer) == present, f"T5: renewed it is {longer}, not {present}"
    answer = store.read(ref, _SCOPE, _NOW, 0, 8)
    _refused(Unavailable(reason=UnavailableReason.SCOPE), answer, "T4")
    whole = "".join([page.text for page in _walk(store, longer, LIMITS.max_page_bytes, end + 199)])
    assert text == whole, f"T5: renewed the text is {whole!r}, not {text!r}"
    for reason, changed in (
        (UnavailableReason.STORE, attrs.evolve(longer, store_id=StoreId("elsewhere"))),
        (UnavailableReason.MISSING, attrs.evolve(longer, source_event=EventId("unknown"))),
        (UnavailableReason.METADATA, attrs.evolve(longer, total_bytes=longer.total_bytes + 1)),
        (UnavailableReason.SCOPE, _scoped(longer, task_id="other")),
        (UnavailableReason.SCOPE, _scoped(longer, expires_at_ms=end + 201)),
        (UnavailableReason.MISSING, _scoped(longer, session_id="other")),
    ):
        _refused(Unavailable(reason=reason), store.renew(changed, end + 300, end + 199), "T5")
    lives = InvalidScope(reason=InvalidScopeReason.LIVES_TOO_LONG, limit=1000, actual=1001)
    _refused(lives, store.renew(longer, end + 1200, end + 199), "T5")
    past = InvalidScope(reason=InvalidScopeReason.EXPIRED, limit=end + 199, actual=end + 199)
    _refused(past, store.renew(longer, end + 199, end + 199), "T5")
    expired = Unavailable(reason=UnavailableReason.EXPIRED)
    _refused(expired, store.renew(longer, end + 300, end + 200), "T5")


def _scoped(ref: ContentRef, **changes: object) -> ContentRef:
    scope = attrs.evolve(ref.scope, **changes)  # type: ignore[arg-type]  # attributes of a scope
    return attrs.evolve(ref, scope=scope)


# --- whatever it is given -------------------------------------------------------------------------

_Odd: TypeAlias = tuple[ContentScope, ContentRef, str, int, int, int]


def odd_calls() -> SearchStrategy[_Odd]:
    """Strange words and numbers, among them some that fit."""
    words = st.sampled_from(("", " ", "s", "t", "e", "laws", "\ud800", "x\udfff", "\x00", "é" * 600))
    numbers = st.sampled_from((0, 1, _NOW, 1500, 2**53)) | st.integers()
    scopes = st.builds(ContentScope, session_id=words, task_id=words, expires_at_ms=numbers)
    refs = st.builds(ContentRef, store_id=words, source_event=words, scope=scopes, total_bytes=numbers)
    return st.tuples(scopes, refs, words, numbers, numbers, numbers)


def check_odd_calls(case: tuple[StoreMaker, _Odd]) -> None:
    """Nothing raises, and every refusal is one of `StoreFailure`."""
    make_store, (scope, ref, text, now, first, second) = case
    store = make_store(LIMITS)
    answers: tuple[Outcome[object, StoreFailure], ...] = (
        store.put(scope, ref.source_event, text, now),
        store.read(ref, scope, now, first, second),
        store.read(ref, ref.scope, now, first, second),
        store.renew(ref, first, now),
        store.purge_expired(now),
    )
    for answer in answers:
        named = isinstance(answer, Success) or isinstance(answer.failure(), get_args(StoreFailure))
        assert named, f"T5: a refusal is a StoreFailure, not {answer}"


# --- helpers --------------------------------------------------------------------------------------


def _given(outcome: Outcome[_Value, StoreFailure], law: str) -> _Value:
    assert isinstance(outcome, Success), f"{law}: {outcome}"
    return outcome.unwrap()


def _refused(expected: StoreFailure, outcome: Outcome[object, StoreFailure], rule: str) -> None:
    assert Failure(expected) == outcome, f"{rule}: it answers {outcome}, not {expected}"


def _over(drawn: SearchStrategy[_Drawn], law: Callable[[_Drawn], None], examples: int) -> None:
    """Run a law over drawn inputs: the same ones at each run, so that a host's failure can be told."""
    chosen = settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.nested_given),
    )

    def held(item: _Drawn) -> None:
        law(item)

    given(drawn)(chosen(held))()
