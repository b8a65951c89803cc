"""One call from a state to a request (S4a), and each way in which there is none."""

import importlib
import json
from fractions import Fraction

import attrs
import pytest

from jingwei.compose import pipeline
from jingwei.compose.pipeline import (
    ComposeOptions,
    StateOfAnotherSession,
    UnknownSource,
    settle,
)
from jingwei.compose.task_state import InvalidTaskState
from jingwei.ids import EventId, ItemId, SessionId
from jingwei.items.budget import InvalidTokenBudget, TokenBudget
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.records import ContextItem, ItemKind, MergedSource
from jingwei.items.worth import InvalidWeights, Weights
from jingwei.messages.records import SystemMessage, UserMessage
from jingwei.outcome import Failure
from jingwei.report.failures import DoesNotFit
from tests.compose.composing import LOG, MEMORIES, STATE, composed, history, observation
from tests.logtable import SESSION, log_of
from tests.test_build import ByteCounter


def lines(content: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in content.split("\n")[1:-1]]


def test_rules_become_system_texts_and_all_else_stands_as_data_before_current() -> None:
    messages = composed(observation("log", LOG)).unwrap().built.request.messages
    system, *turns, envelope, current = messages

    assert SystemMessage(content="never delete files") == system
    assert 4 == len(turns)
    assert UserMessage(content="go on") == current
    assert isinstance(envelope, UserMessage)
    assert ["goal", "constraint:0000", "step", "log"] == [line["item_id"] for line in lines(envelope.content)]
    assert [
        {
            "conflict": True,
            "old": "prefers Java",
            "new": "use Go this time",
            "resolution": "current_task_override",
        }
    ] == lines(envelope.content)[1]["conflicts"]
    assert "log-v1" == lines(envelope.content)[3]["condensed_by"]


def test_the_first_half_can_be_called_alone() -> None:
    settled = settle(STATE, MEMORIES, [observation("log", LOG)]).unwrap()

    assert ["rule:0000", "goal", "constraint:0000", "step", "log"] == [item.item_id for item in settled.items]
    assert ["m2"] == [row.memory_id for row in settled.gathered.filtered]
    assert ["language"] == [row.subject for row in settled.resolved.conflicts]
    assert ["log"] == [row.item_id for row in settled.condensed.rows]
    assert () == settled.deduplicated.dropped


def test_what_the_history_shows_is_no_item_as_well() -> None:
    log = log_of('turn t0; user "shown"; reply; done; turn t1; user "asked now"')
    whole = history('turn t0; user "shown"; reply; done')
    made = composed(whole=whole, events=tuple(log.events), options=ComposeOptions(event_limit=1)).unwrap()
    said = [origin.item_id for origin in made.selection.origins if origin.kind is ItemKind.CONVERSATION]

    assert [] == said


def test_the_state_of_one_choice_is_for_the_next() -> None:
    many = [
        attrs.evolve(observation(f"o{i}", f"{i}" * 400, compressible=False), relevance=Fraction(i, 9))
        for i in range(9)
    ]
    first = composed(*many, window=1600).unwrap()
    assert first.state is not None
    left_out = {row.item_id for row in first.selection.items if not row.retained}
    again = composed(*many, window=1600, options=ComposeOptions(previous_selection=first.state)).unwrap()

    assert left_out
    assert left_out <= {row.item_id for row in again.selection.items if not row.retained}


def test_what_is_set_aside_bounds_what_is_chosen_and_not_what_is_counted() -> None:
    """S0: a reserve for tools and system texts leaves less to choose; the window of the build stays whole."""
    many = [observation(f"o{i}", f"{i}" * 400, compressible=False) for i in range(9)]
    wide = composed(*many, within=TokenBudget(window=4000, reserved_output=500)).unwrap()
    narrow = composed(
        *many,
        within=TokenBudget(window=4000, reserved_output=500, reserved_system=2000, reserved_tool_schema=800),
    ).unwrap()

    assert all(row.retained for row in wide.selection.items)
    assert not all(row.retained for row in narrow.selection.items)
    assert 4000 == narrow.built.report.budget.window_tokens
    assert (500, 0) == (narrow.built.report.budget.output_reserve, narrow.built.report.budget.safety_margin)


def test_without_costs_nothing_is_guessed_of_them() -> None:
    made = composed(observation("o", "small"), counter=ByteCounter()).unwrap()

    assert {None} == {row.cost for row in made.selection.items}
    assert (None, None) == (made.selection.tokens_before, made.selection.tokens_after)
    assert {(None, None)} == {(share.tokens, share.share) for share in made.selection.shares}


def test_what_the_second_stage_refuses_ends_the_first_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that passed gathering is refused there today; each stage is asked all the same."""
    refused = Failure(
        InvalidItem(item_id=ItemId("a"), field="f", reason=InvalidItemReason.BLANK_ID, actual="")
    )
    monkeypatch.setattr(pipeline, "resolve_conflicts", lambda items: refused)

    assert refused == settle(STATE, (), ())


class TestRefusals:
    """Each bad input is a named failure, in the order of the stages."""

    def test_a_state_of_another_session(self) -> None:
        state = attrs.evolve(STATE, session_id=SessionId("elsewhere"))
        expected = StateOfAnotherSession(expected=SESSION, actual=SessionId("elsewhere"))

        assert expected == composed(state=state).failure()

    def test_a_budget_that_is_overdrawn(self) -> None:
        within = TokenBudget(window=10, reserved_output=11)

        assert isinstance(composed(within=within).failure(), InvalidTokenBudget)

    def test_a_state_that_does_not_say_whose_it_is(self) -> None:
        assert isinstance(composed(state=attrs.evolve(STATE, tenant_id=" ")).failure(), InvalidTaskState)

    @pytest.mark.parametrize(
        ("items", "reason"),
        [
            ((observation(" ", "x"),), InvalidItemReason.BLANK_ID),
            ((observation("a", "x"), observation("a", "y")), InvalidItemReason.DUPLICATE_ID),
        ],
    )
    def test_items_that_are_none(self, items: tuple[ContextItem, ...], reason: InvalidItemReason) -> None:
        failure = composed(*items).failure()

        assert isinstance(failure, InvalidItem)
        assert reason is failure.reason

    @pytest.mark.parametrize("merged", [False, True])
    def test_an_item_that_refers_to_no_event_of_the_log(self, merged: bool) -> None:
        item = observation("o", "x")
        gone = EventId("gone")
        if merged:
            other = MergedSource(
                item_id=ItemId("p"),
                source=item.source,
                source_ref=None,
                source_events=(gone,),
                trust=item.trust,
            )
            item = attrs.evolve(item, merged=(other,))
        else:
            item = attrs.evolve(item, source_events=(gone,))

        assert UnknownSource(item_id=ItemId("o"), event_id=gone) == composed(item).failure()

    @pytest.mark.parametrize("event", ["e0", "e1", "e2"])
    def test_every_event_of_the_log_may_be_referred_to(self, event: str) -> None:
        """What a user said, what was replied, and the event that closed the turn."""
        whole = history("turn t0; user; reply; done")
        known = [source.event_id for source in whole.omitted]
        known += [one for turn in whole.sources for one in turn.source_events]
        item = attrs.evolve(observation("o", "x"), source_events=(sorted(known)[int(event[1])],))

        assert ItemId("o") in {row.item_id for row in composed(item, whole=whole).unwrap().selection.items}

    def test_weights_that_weigh_nothing(self) -> None:
        zero = Fraction(0)
        weights = Weights(priority=zero, relevance=zero, freshness=zero, trust=zero)

        assert isinstance(composed(options=ComposeOptions(weights=weights)).failure(), InvalidWeights)

    def test_what_is_required_and_does_not_fit_is_listed_with_its_cost(self) -> None:
        large = observation("big", "x" * 40_000, required=True)
        failure = composed(large).failure()

        assert isinstance(failure, DoesNotFit)
        rows = {row.item_id: row.cost for row in failure.report.items or () if row.protected}
        assert {"goal", "constraint:0000", "step", "big"} == set(rows)
        assert 10_000 < (rows[ItemId("big")] or 0) < 10_100

    def test_items_that_contradict_each_other_in_a_way_that_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Which no items can, once duplicates are gone; were there such, it would be told."""
        refused = InvalidItem(
            item_id=ItemId("o"), field="trust", reason=InvalidItemReason.OUT_OF_RANGE, actual="2"
        )
        module = importlib.import_module("jingwei.compose.pipeline")  # the root has a function of this name
        monkeypatch.setattr(module, "resolve_conflicts", lambda items: Failure(refused))

        assert refused == composed().failure()
