"""T4 and T5: texts kept whole and read in pages, held against a store that is a list and a few sentences."""

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Final, NamedTuple, final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from jingwei.ids import EventId, SessionId, StoreId, TaskId
from jingwei.jsontext import Json, canonical, parse
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
    Page,
    Purged,
    StoreFull,
    StoreLimits,
    Unavailable,
)
from jingwei.stores.in_memory import InMemoryStore
from jingwei.stores.read_tool import Grants, answer_text, read_reference
from jingwei.stores.sqlite import open_sqlite_store

LIMITS: Final = StoreLimits(
    store_id=StoreId("p"),
    max_entries=3,
    max_bytes=60,
    max_content_bytes=40,
    max_page_bytes=16,
    max_ttl_ms=50,
    max_skew_ms=5,
)
ROOMY: Final = StoreLimits(store_id=StoreId("p"))
SCOPE: Final = ContentScope(session_id=SessionId("s"), task_id=TaskId("t"), expires_at_ms=100)
E: Final = EventId("e")


def both(limits: StoreLimits) -> tuple[ContentStore, ContentStore]:
    return InMemoryStore(limits), open_sqlite_store(":memory:", limits).unwrap()


def pages(store: ContentStore, ref: ContentRef, size: int) -> Iterator[Page]:
    offset: int | None = 0
    while offset is not None:
        page = store.read(ref, ref.scope, 1, offset, size).unwrap()
        assert page.next_offset is None or page.next_offset > offset
        offset = page.next_offset
        yield page


def texts() -> st.SearchStrategy[str]:
    return st.text(st.sampled_from("a<\x00é中🐦"), max_size=12)


class TestReadingReferencesT4:
    """T4. Pages of a reference are the original, byte for byte; all of scope and metadata must match."""

    @given(texts())
    def test_the_pages_put_together_are_the_original(self, text: str) -> None:
        """In every store and with every size that holds a character, the last empty page too."""
        for store in both(ROOMY):
            ref = store.put(SCOPE, E, text, 1).unwrap()
            for size in range(4, 20):
                assert text.encode() == b"".join(page.text.encode() for page in pages(store, ref, size))
            end = store.read(ref, SCOPE, 1, ref.total_bytes, 4)

            assert Success(Page(text="", next_offset=None, total_bytes=ref.total_bytes)) == end

    @given(texts(), st.integers(1, 60))
    def test_a_page_is_the_longest_beginning_in_whole_characters(self, text: str, size: int) -> None:
        """At every offset; one inside a character, or before one that is too large, is refused by name."""
        raw = text.encode()
        starts = [len(text[:index].encode()) for index in range(len(text) + 1)]
        for store in both(ROOMY):
            ref = store.put(SCOPE, E, text, 1).unwrap()
            for offset in range(len(raw) + 2):
                ends = [end for end in starts if offset <= end <= offset + size]
                answer = store.read(ref, SCOPE, 1, offset, size)
                if offset > len(raw):
                    reason = BadCursorReason.OUT_OF_RANGE
                elif offset not in starts:
                    reason = BadCursorReason.INSIDE_CHARACTER
                elif offset < len(raw) and max(ends) == offset:
                    reason = BadCursorReason.NO_PROGRESS
                else:
                    end = max(ends)
                    after = None if end == len(raw) else end
                    page = Page(text=raw[offset:end].decode(), next_offset=after, total_bytes=len(raw))

                    assert Success(page) == answer
                    continue
                assert Failure(BadCursor(offset=offset, reason=reason)) == answer

    @given(texts())
    def test_a_reference_with_any_other_word_leads_nowhere(self, text: str) -> None:
        """Store, source, size, session, task and expiry, whether the host grants the same or not."""
        words = {"store_id": "q", "source_event": "f", "total_bytes": len(text.encode()) + 1}
        scopes = {"session_id": "s2", "task_id": "t2", "expires_at_ms": 101}
        names = [*words, *scopes]
        for store in both(ROOMY):
            ref = store.put(SCOPE, E, text, 1).unwrap()
            for changed in chain.from_iterable(combinations(names, size) for size in range(1, 7)):
                told = {name: words[name] for name in words if name in changed}
                held = attrs.evolve(ref, **told)  # type: ignore[arg-type]
                named = {name: scopes[name] for name in scopes if name in changed}
                other = attrs.evolve(SCOPE, **named)  # type: ignore[arg-type]
                for one in (held, attrs.evolve(held, scope=other)):
                    answer = store.read(one, other, 1, 0, 8)

                    assert isinstance(answer.failure(), Unavailable)

    @given(texts(), st.integers(1, 2000), st.integers(256, 600))
    def test_a_model_reads_the_original_from_its_answers(self, text: str, size: int, room: int) -> None:
        """Through the tool, whatever has to be escaped; each answer is data, and within its room."""
        store = InMemoryStore(ROOMY)
        ref = store.put(SCOPE, E, text * 30, 1).unwrap()
        grants = Grants(
            session_id=SessionId("s"),
            task_id=TaskId("t"),
            references=(ref,),
            page_bytes=max(size, 4),
            answer_bytes=room,
        )
        said, offset = "", 0
        while True:
            asked = Json(canonical({"reference": "e", "offset": offset}))
            told = answer_text(read_reference(store, grants, asked, 1))
            value = parse(told)
            assert isinstance(value, dict)
            assert len(told.encode()) <= room
            assert "<" not in told
            assert ("untrusted_tool_data", "succeeded") == (value["trust"], value["status"])
            said += str(value["text"])
            after = value["next_offset"]
            if not isinstance(after, int):
                break
            assert after > offset
            offset = after

        assert text * 30 == said

    @given(st.sampled_from(("s", "s2")), st.sampled_from(("t", "t2")), st.sampled_from(("e", "f", "g")))
    def test_a_model_reads_what_its_own_task_was_granted(self, session: str, task: str, handle: str) -> None:
        """Of every other text it is told the same as of one that there is not."""
        store = InMemoryStore(ROOMY)
        refs = [
            store.put(
                attrs.evolve(SCOPE, session_id=SessionId(one), task_id=TaskId(two)),
                EventId(three),
                one + two,
                1,
            ).unwrap()
            for one, two, three in (("s", "t", "e"), ("s", "t2", "f"), ("s2", "t", "e"))
        ]
        grants = Grants(session_id=SessionId(session), task_id=TaskId(task), references=tuple(refs))
        told = answer_text(
            read_reference(store, grants, Json(canonical({"reference": handle, "offset": 0})), 1)
        )
        nothing = answer_text(
            read_reference(store, grants, Json(canonical({"reference": "?", "offset": 0})), 1)
        )
        own = {("s", "t", "e"), ("s", "t2", "f"), ("s2", "t", "e")}

        assert ((session, task, handle) in own) == (told != nothing)
        assert ((session, task, handle) in own) == (f'"text":"{session + task}"' in told)


# --- a naive store --------------------------------------------------------------------------------


class Kept(NamedTuple):
    """One text of the naive store."""

    session: str
    source: str
    task: str
    expires: int
    text: str


@final
class NaiveStore:
    """The rule as a story: a list of texts, a clock, and answers in words."""

    def __init__(self, limits: StoreLimits) -> None:
        self.limits = limits
        self.kept = list[Kept]()
        self.clock = 0

    def tick(self, now: int) -> str | None:
        if now < self.clock - self.limits.max_skew_ms:
            return f"the clock went back from {self.clock} to {now}"
        self.clock = max(self.clock, now)
        return None

    def put(self, new: Kept, now: int) -> str:
        back = self.tick(now)
        if back is not None:
            return back
        if not self.clock < new.expires <= self.clock + self.limits.max_ttl_ms:
            return "no such life"
        size = len(new.text.encode())
        if size > self.limits.max_content_bytes:
            return "too large"
        self.kept = [one for one in self.kept if one.expires > self.clock]
        for one in self.kept:
            if (one.session, one.source) == (new.session, new.source):
                return "put" if one == new else "conflict"
        if len(self.kept) + 1 > self.limits.max_entries:
            return "full of entries"
        if sum(len(one.text.encode()) for one in self.kept) + size > self.limits.max_bytes:
            return "full of bytes"
        self.kept.append(new)
        return "put"

    def read(self, held: Kept, now: int) -> str:
        """The whole text, or why not; `held` stands for a reference to it."""
        back = self.tick(now)
        if back is not None:
            return back
        alive = held.expires > self.clock
        for one in self.kept:
            same = one[:4] == held[:4] and len(one.text.encode()) == len(held.text.encode())
            if alive and same:
                return f"read {one.text}"
        return "unavailable"

    def renew(self, held: Kept, expires: int, now: int) -> str:
        back = self.tick(now)
        if back is not None:
            return back
        if not self.clock < expires <= self.clock + self.limits.max_ttl_ms:
            return "no such life"
        for place, one in enumerate(self.kept):
            same = one[:3] == held[:3] and len(one.text.encode()) == len(held.text.encode())
            if same and one.expires > self.clock and held.expires <= one.expires:
                self.kept[place] = one._replace(expires=max(one.expires, expires))
                return f"until {self.kept[place].expires}"
        return "unavailable"

    def purge(self, now: int) -> str:
        back = self.tick(now)
        if back is not None:
            return back
        gone = [one for one in self.kept if one.expires <= self.clock]
        self.kept = [one for one in self.kept if one.expires > self.clock]
        return f"{len(gone)} gone, {sum(len(one.text.encode()) for one in gone)} bytes"


def in_words(outcome: Outcome[object, object]) -> str:
    """What a store of jingwei answers, in the words of the naive one."""
    match outcome:
        case Success(ContentRef()):
            return "put"
        case Success(Purged(entries=entries, total_bytes=freed)):
            return f"{entries} gone, {freed} bytes"
        case Failure(ClockWentBack(last_ms=last, now_ms=now)):
            return f"the clock went back from {last} to {now}"
        case Failure(StoreFull(what=what)):
            return f"full of {what.value}"
        case Failure(failure):
            words = {"InvalidScope": "no such life", "TooLarge": "too large"}
            name = type(failure).__name__
            return words.get(name, name.lower())
        case _:
            raise AssertionError(outcome)


def reference(held: Kept) -> ContentRef:
    return ContentRef(
        store_id=LIMITS.store_id,
        source_event=EventId(held.source),
        scope=scope_of(held),
        total_bytes=len(held.text.encode()),
    )


def scope_of(held: Kept) -> ContentScope:
    return ContentScope(
        session_id=SessionId(held.session), task_id=TaskId(held.task), expires_at_ms=held.expires
    )


def kepts() -> st.SearchStrategy[Kept]:
    """Few words and times, so that they meet."""
    return st.builds(
        Kept,
        session=st.sampled_from(("s", "s2")),
        source=st.sampled_from(("e", "f")),
        task=st.sampled_from(("t", "t", "t", "t2")),
        expires=st.sampled_from((20, 40, 40, 60, 80)),
        text=st.sampled_from(("", "a", "b", "é中🐦", "x" * 30, "x" * 30, "y" * 30, "x" * 41)),
    )


def whole(store: ContentStore, held: Kept, now: int) -> str:
    """The text that a reference leads to, page by page, or why it leads nowhere."""
    said, offset = "", 0
    while True:
        answer = store.read(reference(held), scope_of(held), now, offset, 7)
        if isinstance(answer, Failure):
            return in_words(answer)
        page = answer.unwrap()
        said += page.text
        if page.next_offset is None:
            return f"read {said}"
        assert page.next_offset > offset
        offset = page.next_offset


class TestContentStoresT5:
    """T5. A store is bounded, keeps a text under its session and source once, and gives nothing out late."""

    @given(st.lists(st.tuples(st.sampled_from("efghij"), st.integers(0, 42)), max_size=12))
    def test_no_bound_is_ever_passed(self, puts: list[tuple[str, int]]) -> None:
        """Whatever is put, as removing everything at the end counts it."""
        scope = attrs.evolve(SCOPE, expires_at_ms=50)
        for store in both(LIMITS):
            sizes = list[int]()
            for source, size in puts:
                put = store.put(scope, EventId(source), "x" * size, 0)
                sizes += [size] if isinstance(put, Success) else []
            gone = store.purge_expired(50).unwrap()

            assert gone.entries <= LIMITS.max_entries
            assert gone.total_bytes <= LIMITS.max_bytes
            assert max(sizes, default=0) <= LIMITS.max_content_bytes

    @given(kepts(), st.sampled_from(("nothing", "text", "task", "expires")))
    def test_a_second_text_for_a_source_is_the_same_or_a_conflict(self, first: Kept, change: str) -> None:
        """A text of the same size, another task, another expiry; the first stays readable."""
        twin = "".join(chr(ord(character) + 1) for character in first.text) or "a"
        changed: dict[str, str | int] = {"text": twin, "task": "t3", "expires": first.expires + 1}
        second = first if change == "nothing" else first._replace(**{change: changed[change]})  # type: ignore[arg-type]
        for store in both(ROOMY):
            made = store.put(scope_of(first), EventId(first.source), first.text, 1)
            again = store.put(scope_of(second), EventId(second.source), second.text, 1)

            if change == "nothing":
                assert made == again
            else:
                reason = ConflictReason({"expires": "expiry"}.get(change, change))
                assert Failure(Conflict(reason=reason, held=reference(first))) == again
            assert f"read {first.text}" == whole_of(store, made.unwrap())

    @given(st.lists(st.integers(0, 60), max_size=8), st.integers(10, 50))
    def test_nothing_is_given_out_once_it_has_expired(self, times: list[int], expires: int) -> None:
        """Not even when the clock says earlier again: every time that was told counts."""
        scope = attrs.evolve(SCOPE, expires_at_ms=expires)
        for store in both(LIMITS):
            ref = store.put(scope, E, "text", 0).unwrap()
            latest = 0
            for now in times:
                answer = store.read(ref, scope, now, 0, 8)
                if now >= latest - LIMITS.max_skew_ms:
                    latest = max(latest, now)

                assert (latest < expires and now >= latest - 5) == isinstance(answer, Success)

    @given(texts(), st.sampled_from(("\ud800", "\udfff")), texts())
    def test_half_a_character_is_never_stored(self, before: str, half: str, after: str) -> None:
        """Nor are its place and what stands around it."""
        for store in both(ROOMY):
            answer = store.put(SCOPE, E, before + half + after, 1)

            assert len(before) == answer.failure().offset  # type: ignore[union-attr]
            assert Success(Purged(entries=0, total_bytes=0)) == store.purge_expired(1000)

    @pytest.mark.parametrize("size", [0, 39, 40, 41])
    def test_a_limit_is_itself_allowed(self, size: int) -> None:
        """One text of as many bytes as allowed."""
        for store in both(LIMITS):
            answer = store.put(attrs.evolve(SCOPE, expires_at_ms=50), E, "x" * size, 0)

            assert (size <= 40) == isinstance(answer, Success)


def whole_of(store: ContentStore, ref: ContentRef) -> str:
    return "read " + "".join(page.text for page in pages(store, ref, 1000))


class StoreMachine(RuleBasedStateMachine):
    """Both stores answer as the naive one does, whatever is asked in whatever order."""

    @initialize()
    def begin(self) -> None:
        self.naive = NaiveStore(LIMITS)
        self.stores = both(LIMITS)
        self.now = 0

    def step(self, by: int) -> None:
        self.now = max(self.now + by, 0)

    def living(self, held: Kept, lives: int) -> Kept:
        """So that expiries meet: they stand twenty milliseconds apart."""
        return held._replace(expires=(self.now // 20 + lives) * 20)

    def named(self, held: Kept | int, lives: int) -> Kept:
        """What is kept at a place, or something that may be."""
        if isinstance(held, Kept):
            return self.living(held, lives)
        kept = self.naive.kept
        return kept[held % len(kept)] if kept else Kept("s", "e", "t", 20, "a")

    @rule(held=kepts(), lives=st.integers(0, 3), by=st.integers(-7, 15))
    def put(self, held: Kept, lives: int, by: int) -> None:
        self.step(by)
        held = self.living(held, lives)
        expected = self.naive.put(held, self.now)
        for store in self.stores:
            answer = store.put(scope_of(held), EventId(held.source), held.text, self.now)

            assert expected == in_words(answer)
            assert expected != "put" or Success(reference(held)) == answer

    @rule(what=kepts() | st.integers(0, 2), lives=st.integers(0, 3), by=st.integers(-7, 9))
    def read(self, what: Kept | int, lives: int, by: int) -> None:
        self.step(by)
        held = self.named(what, lives)
        expected = self.naive.read(held, self.now)
        for store in self.stores:
            assert expected == whole(store, held, self.now)

    @rule(
        what=kepts() | st.integers(0, 2),
        lives=st.integers(0, 3),
        expires=st.integers(-5, 60),
        by=st.integers(-7, 9),
    )
    def renew(self, what: Kept | int, lives: int, expires: int, by: int) -> None:
        self.step(by)
        held = self.named(what, lives)
        until = self.now + expires
        expected = self.naive.renew(held, until, self.now)
        for store in self.stores:
            answer = store.renew(reference(held), until, self.now)
            said = in_words(answer)
            if isinstance(answer, Success):
                said = f"until {answer.unwrap().scope.expires_at_ms}"

            assert expected == said

    @rule(by=st.integers(-7, 30))
    def purge(self, by: int) -> None:
        self.step(by)
        expected = self.naive.purge(self.now)
        for store in self.stores:
            assert expected == in_words(store.purge_expired(self.now))


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings.get_profile("machines")
