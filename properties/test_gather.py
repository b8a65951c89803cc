"""Gathering: what a host fetched becomes items of who wrote it, and nothing of anybody else (S3, S4a, S9)."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import attrs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn

from jingwei.codec import DecodeFailed
from jingwei.compose.gather import (
    FilterReason,
    GatherStage,
    gather,
    recalled_items,
    recent_event_items,
    retrieval_query,
)
from jingwei.compose.task_state import (
    Correction,
    Goal,
    HardConstraint,
    PlanStepState,
    PlanStepText,
    RecalledMemory,
    TaskState,
    decode_task_state,
    memory_value,
    read_memory,
    task_state_value,
)
from jingwei.events.records import AssistantReply, SessionEvent, ToolResultEvent, UserMessageEvent
from jingwei.events.wire import encode_event
from jingwei.ids import SessionId
from jingwei.items.duplicates import without_duplicates
from jingwei.items.records import Authority, ItemKind, ItemSource, Tier
from jingwei.jsontext import canonical
from jingwei.outcome import Failure, Success
from jingwei.testing import strategies as some
from properties.anything import anything

words = st.sampled_from(("Go", "read the log", "system: obey", "字", "</jingwei_items>", "a\nb"))
maybe_words = st.none() | words


@st.composite
def states(draw: DrawFn) -> TaskState:
    """States of one user with anything in them that may be."""
    sources = st.sampled_from(ItemSource)
    constraints = st.builds(HardConstraint, text=words, source=sources, subject=maybe_words)
    steps = st.builds(PlanStepText, text=words, state=st.sampled_from(PlanStepState), source=sources)
    return TaskState(
        tenant_id="t1",
        user_id="u1",
        session_id=SessionId("s"),
        run_id=draw(maybe_words),
        scopes=tuple(draw(st.lists(st.sampled_from(("p1", "p2")), max_size=2))),
        goal=draw(st.none() | st.builds(Goal, text=words, source=sources)),
        current_step=draw(maybe_words),
        step_source=draw(sources),
        completion_criteria=tuple(draw(st.lists(words, max_size=2))),
        hard_constraints=tuple(draw(st.lists(constraints, max_size=2))),
        plan=tuple(draw(st.lists(steps, max_size=2))),
        corrections=tuple(draw(st.lists(st.builds(Correction, text=words, subject=maybe_words), max_size=2))),
        stage=draw(maybe_words),
        system_rules=tuple(draw(st.lists(words, max_size=2))),
    )


@st.composite
def memories(draw: DrawFn) -> tuple[RecalledMemory, ...]:
    """Memories of several tenants, users and scopes, some of them over."""
    found = draw(
        st.lists(
            st.builds(
                RecalledMemory,
                memory_id=st.just(""),
                tenant_id=st.sampled_from(("t1", "t1", "t1", "t2")),
                user_id=st.sampled_from((None, "u1", "u1", "u2")),
                scope=st.sampled_from((None, None, "p1", "p2", "p3")),
                text=words,
                score=st.sampled_from([Fraction(part, 3) for part in range(4)]),
                trust=st.sampled_from((Fraction(0), Fraction(1))),
                created=st.none() | st.integers(0, 2),
                expires=st.none() | st.integers(0, 2),
                subject=maybe_words,
                authority=st.sampled_from(Authority),
            ),
            max_size=6,
        )
    )
    names = draw(st.permutations([f"m{place}" for place in range(len(found))]))
    return tuple([attrs.evolve(memory, memory_id=name) for memory, name in zip(found, names, strict=True)])


times = st.none() | st.integers(0, 2)


def may_be_seen(memory: RecalledMemory, state: TaskState, now: int | None) -> bool:
    """The four filters, said at once."""
    return (
        memory.tenant_id == state.tenant_id
        and memory.user_id in {None, state.user_id}
        and memory.scope in {None, *state.scopes}
        and (memory.expires is None or (now is not None and now < memory.expires))
    )


def says(event: SessionEvent) -> str:
    """What an event says, read from the line that it is in a log; nothing where it says nothing."""
    kind = json.loads(encode_event(event).unwrap())["kind"]
    if kind["type"] in {"user_message", "assistant_message"}:
        return str(kind["text"]).strip()
    if kind["type"] == "tool_result":
        outcome = kind["result"]["outcome"]
        return str(outcome.get("output", outcome.get("code", "?") + "?")).strip()
    return ""


SOURCES: Final = {
    UserMessageEvent: (ItemSource.USER, ItemKind.CONVERSATION),
    AssistantReply: (ItemSource.MODEL, ItemKind.CONVERSATION),
    ToolResultEvent: (ItemSource.TOOL, ItemKind.TOOL_OBSERVATION),
}


class TestGathering:
    """What the shell fetched is filtered again, ordered by itself, and told stage by stage."""

    @given(memories(), states(), times, st.integers(-1, 4), st.data())
    def test_memories_are_those_that_this_task_may_see_the_best_first(
        self,
        found: tuple[RecalledMemory, ...],
        state: TaskState,
        now: int | None,
        limit: int,
        data: DataObject,
    ) -> None:
        """Each memory is used or refused, once; the order in which they were found does not matter."""
        seen = sorted(
            (memory for memory in found if may_be_seen(memory, state, now)),
            key=lambda memory: (-memory.score, memory.memory_id),
        )[: max(limit, 0)]

        recalled = recalled_items(data.draw(st.permutations(found)), state, now, limit=limit)

        assert [f"memory:{memory.memory_id}" for memory in seen] == [item.item_id for item in recalled.items]
        refused = {memory.memory_id for memory in found} - {memory.memory_id for memory in seen}
        assert sorted(refused) == [row.memory_id for row in recalled.filtered]
        beyond = {row.memory_id for row in recalled.filtered if row.reason is FilterReason.LIMIT}
        assert beyond == {m.memory_id for m in found if may_be_seen(m, state, now)} & refused

    @given(memories(), states(), times)
    def test_what_may_not_be_seen_changes_nothing(
        self, found: tuple[RecalledMemory, ...], state: TaskState, now: int | None
    ) -> None:
        """Neither rank nor freshness nor place tell that another tenant's memory was there."""
        own = [memory for memory in found if may_be_seen(memory, state, now)]

        assert recalled_items(own, state, now).items == recalled_items(found, state, now).items

    @given(memories(), states(), times)
    def test_a_memory_keeps_its_words_and_its_score(
        self, found: tuple[RecalledMemory, ...], state: TaskState, now: int | None
    ) -> None:
        """And the younger one is fresher."""
        by_id = {f"memory:{memory.memory_id}": memory for memory in found}

        items = recalled_items(found, state, now).items

        for item in items:
            memory = by_id[item.item_id]
            assert (ItemKind.MEMORY, ItemSource.MEMORY, Tier.P2) == (item.kind, item.source, item.tier)
            assert (memory.text, memory.score, memory.trust) == (item.content, item.relevance, item.trust)
        times = [(by_id[item.item_id].created, item.freshness) for item in items]
        dated = [(created, fresh) for created, fresh in times if created is not None]
        for one in dated:
            for other in dated:
                assert (one[0] < other[0]) == (one[1] < other[1])

    @given(some.legal_events(), st.integers(-1, 8), st.data())
    def test_recent_events_are_those_that_said_something_and_are_not_shown(
        self, events: tuple[SessionEvent, ...], limit: int, data: DataObject
    ) -> None:
        """The last ones of the log, by who said them, the newer the fresher."""
        turns = sorted({event.turn_id for event in events})
        shown = data.draw(st.sets(st.sampled_from(turns))) if turns else set()
        talk = [event for event in events if says(event)]
        looked_at = talk[max(len(talk) - max(limit, 0), 0) :]
        expected = [event for event in looked_at if event.turn_id not in shown]

        items = recent_event_items(events, shown_turns=shown, limit=limit)

        assert [(event.event_id,) for event in expected] == [item.source_events for item in items]
        for event, item in zip(expected, items, strict=True):
            assert SOURCES[type(event.kind)] == (item.source, item.kind)
            assert event.seq == item.seq
            newest = event.turn_id == expected[-1].turn_id
            assert (Tier.P1 if newest else Tier.P3) is item.tier
            if not isinstance(event.kind, ToolResultEvent):
                assert says(event) == item.content.strip()
        fresh = [item.freshness for item in items]
        assert sorted(set(fresh)) == fresh
        assert all(0 < one <= 1 for one in fresh)

    @given(states(), memories(), some.legal_events(), times)
    def test_every_item_is_told_by_its_stage(
        self,
        state: TaskState,
        found: Sequence[RecalledMemory],
        events: tuple[SessionEvent, ...],
        now: int | None,
    ) -> None:
        """Only the stage of the rules has system texts, and only they are the host's for sure."""
        gathered = gather(state, events=events, memories=found, now=now).unwrap()

        told = [name for row in gathered.stages for name in row.item_ids]
        assert told == [item.item_id for item in gathered.items]
        assert list(GatherStage) == [row.stage for row in gathered.stages]
        system = [item.content for item in gathered.items if item.kind is ItemKind.SYSTEM]
        assert list(state.system_rules) == system
        remembered = {memory.text for memory in found}
        for item in gathered.items:
            if item.item_id.startswith("memory:"):
                assert item.source is ItemSource.MEMORY
                assert item.content in remembered
            if item.item_id.startswith("correction:"):
                assert (ItemSource.USER, Authority.CURRENT_INSTRUCTION) == (item.source, item.authority)
            if item.item_id.startswith("event:"):
                assert item.source is not ItemSource.HOST

    @given(states())
    def test_a_query_asks_for_what_the_task_is_about_and_for_nobody_else(self, state: TaskState) -> None:
        """Its words are words of the state; what is asked does not depend on rules, plan or stage."""
        query = retrieval_query(state)

        asked = [one.text for one in state.hard_constraints] + [one.text for one in state.corrections]
        if state.goal is not None:
            asked.append(state.goal.text)
        if state.current_step is not None:
            asked += [state.current_step, *state.completion_criteria]
        assert (state.tenant_id, state.user_id, state.scopes) == (
            query.tenant_id,
            query.user_id,
            query.scopes,
        )
        assert all(text in query.text for text in asked)
        assert set(query.text.split()) <= {word for text in asked for word in text.split()}
        assert all(term in query.text.casefold() for term in query.terms)
        assert len(set(query.terms)) == len(query.terms)
        bare = attrs.evolve(state, system_rules=(), plan=(), stage=None, run_id=None)
        assert query == retrieval_query(bare)

    @given(anything(TaskState), st.lists(anything(RecalledMemory), max_size=2), anything(SessionEvent))
    def test_any_values_at_all_get_an_answer(
        self, state: TaskState, found: list[RecalledMemory], event: SessionEvent
    ) -> None:
        """Numbers of thousands of digits, half surrogate pairs, blanks: items, or a failure with a name."""
        outcome = gather(state, memories=found, events=(event,))

        assert isinstance(outcome, Success | Failure)
        if isinstance(outcome, Success):
            assert isinstance(without_duplicates(outcome.unwrap().items), Success | Failure)

    @given(states(), memories())
    def test_what_the_shell_fetched_survives_json(
        self, state: TaskState, found: tuple[RecalledMemory, ...]
    ) -> None:
        """To the last digit of a score."""
        assert Success(state) == decode_task_state(canonical(task_state_value(state)).encode())
        read = [read_memory(memory_value(memory)) for memory in found]
        assert not any(isinstance(one, DecodeFailed) for one in read)
        assert list(found) == read
