"""The whole way from a state to a request, in one call (S4a, S9, B5).

The request is read by the standard library; what is required is taken from what was given, not from what any
stage made of it.
"""

import json
from collections import Counter
from itertools import chain

import attrs
from hypothesis import given
from hypothesis import strategies as st

from jingwei.compose.pipeline import (
    ComposedContext,
    ComposeOptions,
    StateOfAnotherSession,
    UnknownSource,
    compose,
    settle,
)
from jingwei.compose.task_state import InvalidTaskState, RecalledMemory, TaskState
from jingwei.ids import ItemId
from jingwei.items.budget import InvalidTokenBudget, TokenBudget
from jingwei.items.envelope import item_line
from jingwei.items.failures import InvalidItem
from jingwei.items.records import ContextItem, ItemKind, ItemSource
from jingwei.items.worth import InvalidWeights
from jingwei.messages.records import ModelMessage, UserMessage
from jingwei.outcome import Failure, Success
from jingwei.report.failures import DoesNotFit
from jingwei.testing import strategies as some
from properties.anything import anything
from properties.build_models import TARGET, history_of
from properties.compose_models import (
    COUNTER,
    CURRENT,
    Composing,
    composed,
    envelope_lines,
    line_cost,
    required_texts,
    said_in,
    same,
    success,
    system_cost,
    system_texts,
    worlds,
)


class TestWhatIsComposed:
    """From a state to a request in one call: the order given means nothing, what is required is there or is
    listed, texts stay where their authors put them, and the whole is counted.
    """

    @given(worlds(), st.data())
    def test_the_order_given_does_not_change_a_byte(self, world: Composing, data: st.DataObject) -> None:
        """Neither of the request nor of any report."""
        shuffled = attrs.evolve(
            world,
            items=tuple(data.draw(st.permutations(world.items))),
            memories=tuple(data.draw(st.permutations(world.memories))),
            options=attrs.evolve(
                world.options,
                quotas=attrs.evolve(world.options.quotas, rows=world.options.quotas.rows[::-1]),
            ),
        )

        assert composed(world) == composed(shuffled)

    @given(worlds())
    def test_what_is_required_stands_there_unescaped_or_nothing_is_sent(self, world: Composing) -> None:
        outcome = composed(world)
        if isinstance(outcome, Success):
            request = outcome.unwrap().built.request
            stands = [*system_texts(request), *said_in(request).values()]

            assert {*map(same, required_texts(world))} <= {*map(same, stands)}
        else:
            failure = outcome.failure()
            assert isinstance(failure, DoesNotFit)
            settled = settle(world.state, world.memories, world.items, options=world.options).unwrap()
            expected = {
                item.item_id: line_cost(item_line(item))
                for item in settled.items
                if item.is_kept and item.kind is not ItemKind.SYSTEM
            }
            rows = failure.report.items or ()
            assert expected == {row.item_id: row.cost for row in rows if row.protected}
            rules = [item.content for item in settled.items if item.kind is ItemKind.SYSTEM]
            assert len(rules) + len(world.options.system) == failure.report.system_messages
            costs = [message.cost for message in failure.report.sent]
            assert [*map(system_cost, [*world.options.system, *rules])] == costs[
                : failure.report.system_messages
            ]
            assert failure.report.attempts[-1].total_reserved > world.budget.window

    @given(worlds())
    def test_nothing_that_may_go_is_left_when_it_does_not_fit(self, world: Composing) -> None:
        outcome = composed(world)
        if isinstance(outcome, Failure):
            failure = outcome.failure()
            assert isinstance(failure, DoesNotFit)
            assert [] == [row for row in failure.report.items or () if row.retained and not row.protected]
            assert [] == [
                row
                for row, turn in zip(failure.report.turns.rows, world.history.turns, strict=True)
                if row.retained and not row.protected and turn.message_count
            ]

    @given(worlds(roomy=True))
    def test_no_text_leaves_its_line(self, world: Composing) -> None:
        """One line an item, each an object of known keys, and no delimiter in any of them."""
        made = success(world)
        lines = envelope_lines(made.built.request)
        known = {
            "item_id",
            "kind",
            "trust",
            "source_ref",
            "also_from",
            "condensed_by",
            "content",
            "conflicts",
        }
        settled = settle(world.state, world.memories, world.items, options=world.options).unwrap()
        contents = {item.item_id: (item.content, item.short) for item in settled.items}

        assert len(lines) == sum(row.retained for row in made.selection.items)
        assert not any(mark in line for line in lines for mark in "<>\r\n\x00")
        for line in lines:
            said = json.loads(line)
            full, short = contents[said["item_id"]]
            assert set(said) <= known
            assert said["content"] == (short.text if "condensed_by" in said and short is not None else full)
        assert {} == {
            role: count
            for role, count in roles_beside_history(made, world).items()
            if count != {"system": len(system_texts(made.built.request)), "envelope": 1, "current": 1}[role]
        }

    @given(worlds())
    def test_only_the_hosts_words_are_system_texts(self, world: Composing) -> None:
        """S9: whatever users, tools, memories and models wrote, and whatever it says."""
        made = success(world)
        allowed = [
            *world.options.system,
            *world.state.system_rules,
            *[
                item.content
                for item in world.items
                if item.kind is ItemKind.SYSTEM and item.source is ItemSource.HOST
            ],
        ]

        assert {*system_texts(made.built.request)} <= {*allowed}
        labels = {
            said["item_id"]: said["trust"] for said in map(json.loads, envelope_lines(made.built.request))
        }
        sources = {row.item_id: row.source for row in made.selection.origins}
        assert [] == [
            item_id
            for item_id, label in labels.items()
            if (label == "host") != (sources[ItemId(item_id)] is ItemSource.HOST)
        ]

    @given(worlds(roomy=True))
    def test_nothing_is_said_twice_and_contradictions_are_settled_first(self, world: Composing) -> None:
        """S5: of each subject one statement holds, but for what must stay; and each text stands once."""
        made = success(world)
        settled = settle(world.state, world.memories, world.items, options=world.options).unwrap()
        standing = [item for item in settled.items if item.item_id in said_in(made.built.request)]
        free = Counter(
            [item.subject.strip() for item in standing if item.subject is not None and not item.is_kept]
        )
        texts = Counter([(same(item.content), item.subject) for item in standing])

        assert [] == [subject for subject, count in free.items() if count > 1]
        assert [] == [text for text, count in texts.items() if count > 1]
        losers = {row.mark.old_id for row in made.selection.conflicts if not row.loser_kept}
        assert set() == losers & set(said_in(made.built.request))
        marked = {
            (mark["old"], mark["new"])
            for said in map(json.loads, envelope_lines(made.built.request))
            for mark in said.get("conflicts", ())
        }
        winners = set(said_in(made.built.request))
        told = [row.mark for row in made.selection.conflicts if row.mark.new_id in winners]
        assert {(mark.old, mark.new) for mark in told} <= marked

    @given(worlds())
    def test_the_whole_is_counted_and_fits(self, world: Composing) -> None:
        made = success(world)
        recount = COUNTER.count(TARGET, made.built.request).unwrap()

        assert recount == made.built.report.attempts[-1].count
        reserved = world.budget.reserved_output + world.budget.safety_margin + world.budget.reserved_retry
        assert recount.tokens.total + reserved <= world.budget.window

    @given(worlds(roomy=True))
    def test_where_there_is_room_nothing_is_left_out(self, world: Composing) -> None:
        bounded = {quota.kind for quota in world.options.quotas.rows}
        made = success(world)

        assert all(row.retained for row in made.selection.items if row.kind not in bounded)
        assert made.state is not None
        assert bounded or not (made.state.left_out_items or made.state.left_out_turns)

    @given(
        anything(TaskState),
        st.lists(anything(RecalledMemory), max_size=2).map(tuple),
        st.lists(anything(ContextItem), max_size=2).map(tuple),
        anything(TokenBudget),
        st.booleans(),
    )
    def test_whatever_comes_there_is_an_outcome(
        self,
        state: TaskState,
        memories: tuple[RecalledMemory, ...],
        items: tuple[ContextItem, ...],
        budget: TokenBudget,
        ours: bool,
    ) -> None:
        """Strange texts, numbers out of every range, enums in every mixture."""
        state = attrs.evolve(state, session_id=some.SESSION) if ours else state
        history = history_of("tx")
        outcome = compose(
            state,
            history,
            memories,
            items,
            TARGET,
            budget,
            COUNTER,
            current=CURRENT,
            options=ComposeOptions(),
        )

        if isinstance(outcome, Failure):
            named = (
                StateOfAnotherSession,
                InvalidTaskState,
                InvalidItem,
                InvalidTokenBudget,
                InvalidWeights,
                UnknownSource,
                DoesNotFit,
            )
            assert isinstance(outcome.failure(), named)
        else:
            assert outcome.unwrap().selection.candidates >= len(items)


def roles_beside_history(made: ComposedContext, world: Composing) -> dict[str, int]:
    """How many messages stand in front of the history, and between it and current."""
    request, report = made.built.request, made.built.report
    kept = [
        turn.messages
        for turn, row in zip(world.history.turns, report.turns.rows, strict=True)
        if row.retained
    ]
    system = len(system_texts(request))
    history = list(chain.from_iterable(kept))
    behind: list[ModelMessage] = list(request.messages[system:])
    assert history == behind[: len(history)]
    rest = behind[len(history) :]
    assert list(CURRENT) == rest[-1:]
    assert all(isinstance(message, UserMessage) for message in rest)
    found = {"system": system, "current": len(CURRENT)}
    return found | ({"envelope": len(rest) - 1} if len(rest) > 1 else {})
