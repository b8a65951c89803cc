"""Advice, reports, stories and differences (S6, S7).

What is said is held against builds that do what was said, against the request itself as it is read by the
standard library, and against sums that are made anew.
"""

import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import Final, cast

import attrs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.codec import DecodeFailed
from jingwei.compose.gather import GatherStage
from jingwei.compose.observe import (
    ChangedItem,
    ItemChange,
    ReportDiff,
    SelectionReport,
    UnknownItem,
    WhyStep,
    diff,
    why,
)
from jingwei.compose.pipeline import (
    settle,
)
from jingwei.compose.triggers import (
    NOTHING_OBSERVED,
    Advice,
    CondenseFinished,
    CondenseResult,
    LookForNoise,
    LowerWeight,
    Observed,
    Reach,
    SummarizeStage,
    Triggers,
    advise,
)
from jingwei.compose.wire import (
    advice_value,
    diff_value,
    encode_selection,
    read_selection,
    selection_value,
    why_value,
)
from jingwei.ids import EventId, ItemId, TurnId
from jingwei.items.envelope import item_line
from jingwei.items.records import ContextItem, ItemKind, ItemSource, Tier
from jingwei.jsontext import canonical, parse
from jingwei.messages.records import ToolMessage
from jingwei.outcome import Success
from jingwei.projection.records import ProjectedTurn, Projection
from jingwei.report.records import BuildReport
from jingwei.selection.records import (
    CondenseTurn,
    DropItem,
    DropTurn,
    Plan,
    PreviewPolicy,
    Reduction,
    TurnReduction,
)
from jingwei.testing import strategies as some
from properties.build_models import TARGET, history_of, inputs_of
from properties.compose_models import (
    COUNTER,
    CURRENT,
    ROOMY,
    Composing,
    condensed_in,
    envelope_lines,
    line_cost,
    said_in,
    success,
    system_cost,
    system_texts,
    worlds,
)
from properties.test_small_worlds import Fixed

FRAME: Final = line_cost('<jingwei_items trust="data_not_instructions">\n</jingwei_items>') + 1


@attrs.frozen(kw_only=True)
class Advised:
    """A build and what was asked for: the inputs again, so that it can be built with the advice taken."""

    history: Projection
    inputs: BuildInputs
    done: tuple[TurnReduction, ...]
    built: BuiltContext
    triggers: Triggers

    @property
    def report(self) -> BuildReport:
        return self.built.report

    @property
    def tokens(self) -> int:
        return self.report.attempts[-1].count.tokens.total

    def said(self, observed: Observed = NOTHING_OBSERVED, triggers: Triggers | None = None) -> list[Advice]:
        triggers = self.triggers if triggers is None else triggers
        return list(advise(self.history, self.report, COUNTER, observed, triggers).unwrap())

    def free(self) -> list[ProjectedTurn]:
        """Turns that say something, stand there and are not pinned: what is not protected."""
        gone = {one.turn_id for one in self.done if isinstance(one, DropTurn)}
        kept = {*gone, *self.inputs.pinned_turns}
        return [turn for turn in self.history.turns if turn.message_count and turn.turn_id not in kept]

    def with_done(self, *more: Reduction) -> BuiltContext | None:
        """The same build with more reductions; None where no plan may hold them."""
        plan = Plan(base=(*self.done, *more))
        outcome = build(self.history, self.inputs, COUNTER, strategy=Fixed(plan))
        return outcome.unwrap() if isinstance(outcome, Success) else None


@st.composite
def advised(draw: DrawFn) -> Advised:
    """A history with turns that are pinned, condensed or gone, with items, and triggers near its sizes."""
    history = history_of(
        draw(st.text("txxp", max_size=4)), draw(st.sampled_from(("", "u" * 300, "字" * 200)))
    )
    turns = [turn.turn_id for turn in history.turns]
    pinned = tuple([turn for turn in turns if draw(st.integers(0, 3)) == 0])
    inputs = attrs.evolve(
        inputs_of(ROOMY, pinned=pinned), current=CURRENT, items=draw(some.context_items(max_size=3))
    )
    done = list[TurnReduction]()
    for turn in turns:
        if turn in pinned:
            continue
        which = draw(st.sampled_from(("none", "none", "drop", "condense")))
        policy = PreviewPolicy(inline_bytes=100, preview_bytes=draw(st.sampled_from((10, 100))))
        more: TurnReduction = DropTurn(turn_id=turn)
        if which == "condense":
            more = CondenseTurn(turn_id=turn, policy=policy)
        if which != "none" and _is_built(history, inputs, [*done, more]):
            done.append(more)
    built = build(history, inputs, COUNTER, strategy=Fixed(Plan(base=tuple(done)))).unwrap()
    inline = draw(st.sampled_from((40, 150, 300, 5000)))
    triggers = Triggers(
        threshold=draw(st.fractions(Fraction(1, 50), 1, max_denominator=50)),
        result_cap_bytes=draw(st.sampled_from((inline, 1, 250, 700))),
        stale_turns=draw(st.integers(1, 4)),
        policy=PreviewPolicy(inline_bytes=inline, preview_bytes=min(inline, draw(st.integers(1, 60)))),
    )
    window = draw(st.integers(1, 2) | st.integers(10, 4000))
    budget = attrs.evolve(built.report.budget, window_tokens=window)
    # Advice looks at the window of the report only; so it can be asked for near any edge.
    built = attrs.evolve(built, report=attrs.evolve(built.report, budget=budget))
    return Advised(history=history, inputs=inputs, done=tuple(done), built=built, triggers=triggers)


def _is_built(history: Projection, inputs: BuildInputs, done: Sequence[TurnReduction]) -> bool:
    plan = Plan(base=tuple(done))
    return isinstance(build(history, inputs, COUNTER, strategy=Fixed(plan)), Success)


def total(built: BuiltContext | None) -> int:
    assert built is not None
    return built.report.attempts[-1].count.tokens.total


def large_results(turn: ProjectedTurn, cap: int) -> list[tuple[EventId, int]]:
    """Results of a turn above a cap, by the event that recorded each."""
    return [
        (group.source_events[-1], len(message.content.encode()))
        for group in turn.groups
        for message in group.messages
        if isinstance(message, ToolMessage) and len(message.content.encode()) > cap
    ]


class TestAdviceS6:
    """S6. Triggers are advice, as data: expected input above a share of the window, one result above its cap,
    an item that nothing refers to, another stage of the plan, answers that became worse. Advice says what
    could be freed and whether that is enough; where only protected text is left it says so.
    """

    @given(advised(), st.integers(-2, 2))
    def test_finished_steps_are_named_exactly_beyond_the_threshold(self, one: Advised, off: int) -> None:
        window, share = one.report.budget.window_tokens, one.triggers.threshold
        expected = window * share.numerator // share.denominator + off
        said = [a for a in one.said(Observed(expected_tokens=expected)) if isinstance(a, CondenseFinished)]

        assert (expected * share.denominator > window * share.numerator) == bool(said)
        assert {expected} >= {a.expected for a in said}

    @given(advised())
    def test_without_another_number_the_last_count_is_expected(self, one: Advised) -> None:
        said = one.said()

        assert said == one.said(Observed(expected_tokens=one.tokens))
        assert {one.tokens} >= {a.expected for a in said if isinstance(a, CondenseFinished)}

    @given(advised())
    def test_what_finished_steps_would_free_is_what_builds_with_it_free(self, one: Advised) -> None:
        """Condense the turns that are named, and count; leave out every turn that may go, and count."""
        (advice,) = [a for a in one.said(Observed(expected_tokens=ROOMY)) if isinstance(a, CondenseFinished)]
        policy = one.triggers.policy
        condensed = one.with_done(*[CondenseTurn(turn_id=turn, policy=policy) for turn in advice.turns])
        emptied = one.with_done(*[DropTurn(turn_id=turn.turn_id) for turn in one.free()])

        assert one.tokens - advice.by_condensing == total(condensed)
        assert one.tokens - advice.by_leaving_out == total(emptied)

    @given(advised(), st.data())
    def test_reach_is_what_these_builds_would_reach(self, one: Advised, data: st.DataObject) -> None:
        """At the very token at which it changes, too."""
        (advice,) = [a for a in one.said(Observed(expected_tokens=ROOMY)) if isinstance(a, CondenseFinished)]
        policy = one.triggers.policy
        condensed = one.with_done(*[CondenseTurn(turn_id=turn, policy=policy) for turn in advice.turns])
        emptied = one.with_done(*[DropTurn(turn_id=turn.turn_id) for turn in one.free()])
        frees = [one.tokens - total(built) for built in (condensed, emptied)]
        limit = one.report.budget.window_tokens * one.triggers.threshold
        more = data.draw(st.sampled_from((*frees, sum(frees) // 2))) + data.draw(st.integers(-1, 1))
        expected = int(limit) + more
        reaches = [expected - freed <= limit for freed in frees]
        best = Reach.NOT_REACHABLE
        if any(reaches):
            best = Reach.BY_CONDENSING if reaches[0] else Reach.BY_LEAVING_OUT

        said = [a for a in one.said(Observed(expected_tokens=expected)) if isinstance(a, CondenseFinished)]
        assert {best} >= {a.reach for a in said}

    @given(advised())
    def test_where_only_protected_text_is_left_it_says_so(self, one: Advised) -> None:
        pinned = attrs.evolve(one.inputs, pinned_turns=tuple([turn.turn_id for turn in one.history.turns]))
        built = build(one.history, pinned, COUNTER).unwrap()
        said = advise(
            one.history, built.report, COUNTER, Observed(expected_tokens=ROOMY + 1), one.triggers
        ).unwrap()
        finished = [a for a in said if isinstance(a, CondenseFinished)]

        assert [(Reach.NOT_REACHABLE, 0, 0, ())] == [
            (a.reach, a.by_condensing, a.by_leaving_out, a.turns) for a in finished
        ]
        assert [] == [a for a in said if isinstance(a, CondenseResult)]

    @given(advised())
    def test_what_was_done_is_not_advised_again(self, one: Advised) -> None:
        """Whoever does as advised is not told the same at the next request."""
        (advice,) = [a for a in one.said(Observed(expected_tokens=ROOMY)) if isinstance(a, CondenseFinished)]
        policy = one.triggers.policy
        built = one.with_done(*[CondenseTurn(turn_id=turn, policy=policy) for turn in advice.turns])
        assert built is not None
        again = advise(
            one.history, built.report, COUNTER, Observed(expected_tokens=ROOMY + 1), one.triggers
        ).unwrap()

        assert [(0, ())] == [(a.by_condensing, a.turns) for a in again if isinstance(a, CondenseFinished)]
        assert {0} >= {a.reclaimable for a in again if isinstance(a, CondenseResult)}

    @given(advised())
    def test_results_above_the_cap_are_named_where_something_can_be_done(self, one: Advised) -> None:
        """Every one that stands in full in a turn that may be touched, with what its preview frees."""
        said = [a for a in one.said() if isinstance(a, CondenseResult)]
        whole = {turn.turn_id for turn in one.free()} - {a.turn_id for a in one.done}
        cap = one.triggers.result_cap_bytes
        expected = [
            (turn.turn_id, event_id, size)
            for turn in one.history.turns
            if turn.turn_id in whole
            for event_id, size in large_results(turn, cap)
        ]

        assert expected == [(a.turn_id, a.event_id, a.actual_bytes) for a in said]
        for turn_id in {a.turn_id for a in said}:
            ours = [a for a in said if a.turn_id == turn_id]
            changed = _previews(one, turn_id, cap)
            freed = sorted([old - new for old, new, _ in changed] + [0] * (len(ours) - len(changed)))
            assert freed == sorted([a.reclaimable for a in ours])
            within = sum(size <= cap for _, _, size in changed)
            assert within == sum(a.reach is Reach.BY_CONDENSING for a in ours)

    @given(advised(), st.integers(0, 500), st.integers(0, 500))
    def test_more_input_or_lower_bounds_never_silence_an_advice(
        self, one: Advised, more: int, lower: int
    ) -> None:
        order = [None, Reach.BY_CONDENSING, Reach.BY_LEAVING_OUT, Reach.NOT_REACHABLE]
        reaches = list[int]()
        for tokens in (one.tokens, one.tokens + more):
            said = one.said(Observed(expected_tokens=tokens))
            found = [a.reach for a in said if isinstance(a, CondenseFinished)]
            reaches.append(order.index(found[0] if found else None))
        cap = one.triggers.result_cap_bytes
        caps = (cap, max(cap - lower, 1))
        named = [
            {a.event_id for a in one.said(triggers=attrs.evolve(one.triggers, result_cap_bytes=bound))
             if isinstance(a, CondenseResult)}
            for bound in caps
        ]  # fmt: skip

        assert sorted(reaches) == reaches
        assert named[0] <= named[1]

    @given(advised(), st.lists(st.integers(0, 5), min_size=5, max_size=5))
    def test_an_item_that_nothing_refers_to_is_named_once_and_frees_its_line(
        self, one: Advised, turns_unused: list[int]
    ) -> None:
        rows = {row.item_id: row for row in one.report.items or ()}
        told = dict(zip([*rows, ItemId("gone"), ItemId("")], turns_unused, strict=False))
        observed = Observed(unused_turns=tuple(told.items()))
        said = [a for a in one.said(observed) if isinstance(a, LowerWeight)]
        stale = one.triggers.stale_turns
        kept = [item for item in one.inputs.items if item.required or item.pinned or item.tier is Tier.P0]
        protected = {item.item_id for item in kept}

        assert sorted(
            (name, turns)
            for name, turns in told.items()
            if turns >= stale and name in rows and name not in protected
        ) == [(a.item_id, a.turns) for a in said]
        for a in said:
            freed = one.tokens - total(one.with_done(DropItem(item_id=a.item_id)))
            assert a.reclaimable is not None
            assert -FRAME <= a.reclaimable - freed <= line_cost("") + 1

    @given(advised(), st.none() | st.sampled_from("pq"), st.none() | st.sampled_from("pq"))
    def test_a_stage_that_is_over_is_named(self, one: Advised, before: str | None, now: str | None) -> None:
        said = one.said(Observed(stage_before=before, stage_now=now))
        over = before is not None and before != now

        assert [(before, now)] * over == [(a.before, a.now) for a in said if isinstance(a, SummarizeStage)]

    @given(advised())
    def test_noise_is_looked_for_in_what_is_sent_the_largest_first(self, one: Advised) -> None:
        (advice,) = [a for a in one.said(Observed(quality_fell=True)) if isinstance(a, LookForNoise)]
        shares = {share.kind: share.tokens for share in advice.shares}
        costs = [message.cost or 0 for message in one.report.sent]
        enveloped = one.report.items_digest is not None
        history = costs[one.report.system_messages : len(costs) - len(CURRENT) - enveloped]
        lines = Counter[str]()
        for line in envelope_lines(one.built.request):
            lines[json.loads(line)["kind"]] += line_cost(line)

        assert len(shares) == len(advice.shares)
        assert sum(history) == shares.pop(None, 0)
        assert dict(lines) == {kind.value: tokens for kind, tokens in shares.items() if kind is not None}
        tokens = [share.tokens for share in advice.shares]
        assert sorted(tokens, reverse=True) == tokens

    @given(advised(), st.booleans())
    def test_advice_depends_on_nothing_but_its_arguments(self, one: Advised, fell: bool) -> None:
        observed = Observed(quality_fell=fell, expected_tokens=ROOMY)
        before = repr((one.report, observed, one.triggers))
        said, again = one.said(observed), one.said(observed)

        assert said == again
        assert before == repr((one.report, observed, one.triggers))

    @given(advised(), st.booleans())
    def test_advice_is_data(self, one: Advised, fell: bool) -> None:
        """Each is JSON that names its kind and holds every number that the record does."""
        for a in one.said(Observed(quality_fell=fell, expected_tokens=ROOMY, stage_before="p")):
            value = parse(canonical(advice_value(a)))
            assert isinstance(value, dict)
            members = cast("dict[str, object]", value)

            assert advice_value(a) == value
            assert {"kind", *attrs.fields_dict(type(a))} == set(members)
            numbers = {name: n for name, n in attrs.asdict(a).items() if isinstance(n, int)}
            assert numbers == {name: members[name] for name in numbers}


def _previews(one: Advised, turn_id: TurnId, cap: int) -> list[tuple[int, int, int]]:
    """Of results above the cap that a build condenses: the cost before, after, and the bytes after."""
    built = one.with_done(CondenseTurn(turn_id=turn_id, policy=one.triggers.policy))
    if built is None:
        return []
    pairs = zip(one.built.request.messages, built.request.messages, strict=True)
    return [
        (COUNTER.message_cost(old), COUNTER.message_cost(new), len(new.content.encode()))
        for old, new in pairs
        if isinstance(old, ToolMessage) and isinstance(new, ToolMessage)
        if old != new and len(old.content.encode()) > cap
    ]


FATES: Final = {
    WhyStep.FILTERED,
    WhyStep.DUPLICATE_OF,
    WhyStep.SYSTEM_TEXT,
    WhyStep.CHOSEN,
    WhyStep.LEFT_OUT,
}


LARGE = ContextItem(
    item_id=ItemId("large"),
    kind=ItemKind.TOOL_OBSERVATION,
    content="".join(f"2026-08-01T10:21:{i % 60:02d}Z INFO worker {i} ok\n" for i in range(120)),
    source=ItemSource.TOOL,
    tier=Tier.P1,
    relevance=Fraction(1),
    compressible=True,
)
"""More than a request has room for, until it is condensed."""


class TestObservabilityS7:
    """S7. Each composed request says what was gathered and what became of each item, with its source, its
    score, its costs and a reason; the share of tokens per kind; tokens before and after condensing;
    duplicates, conflicts and overrides. `why` tells one item's story, `diff` compares two builds, and all of
    it is data.
    """

    @given(worlds())
    def test_what_was_gathered_is_accounted_for_exactly_once(self, world: Composing) -> None:
        made = success(world)
        report = made.selection
        rules = [row for row in report.origins if row.kind is ItemKind.SYSTEM]
        fates = Counter[ItemId]([row.item_id for row in report.items])
        fates.update([row.dropped for row in report.duplicates])
        fates.update([row.mark.old_id for row in report.conflicts if not row.loser_kept])
        fates.update([row.item_id for row in rules if not fates[row.item_id]])
        given_ = Counter[ItemId](chain.from_iterable([stage.item_ids for stage in report.stages]))

        assert given_ == fates
        assert report.candidates == fates.total()
        assert sorted(given_) == [row.item_id for row in report.origins]
        assert report.chosen == len(said_in(made.built.request)) + len(
            system_texts(made.built.request)
        ) - len(world.options.system)

    @given(worlds())
    def test_every_memory_is_an_item_or_was_filtered(self, world: Composing) -> None:
        report = success(world).selection
        used = next(stage.item_ids for stage in report.stages if stage.stage is GatherStage.MEMORIES)

        assert sorted(memory.memory_id for memory in world.memories) == sorted(
            [
                *[item_id.removeprefix("memory:") for item_id in used],
                *[row.memory_id for row in report.filtered],
            ]
        )
        assert len(used) <= world.options.memory_limit

    @given(worlds())
    def test_shares_add_up_to_what_stands_there(self, world: Composing) -> None:
        """To the envelope and the rules that were items, by the costs of the messages that were sent."""
        made = success(world)
        report, request = made.selection, made.built.request
        lines = envelope_lines(request)
        rules = [system_cost(text) for text in system_texts(request)[len(world.options.system) :]]
        envelope = COUNTER.message_cost(request.messages[-len(CURRENT) - 1]) if lines else 0
        count = COUNTER.count(TARGET, request).unwrap().tokens.total
        by_kind = Counter[str]()
        for line in lines:
            by_kind[json.loads(line)["kind"]] += line_cost(line)
        by_kind.update({"system": sum(rules)} if rules else {})

        assert dict(by_kind) == {share.kind.value: share.tokens for share in report.shares}
        assert Fraction(sum(rules) + envelope, count) == sum([share.share or 0 for share in report.shares])
        kinds = [share.kind for share in report.shares]
        assert sorted(kinds, key=list(ItemKind).index) == kinds
        within = {
            share.kind.value: share.share for share in report.shares if share.kind is not ItemKind.SYSTEM
        }
        summed = sum([line_cost(line) for line in lines])
        for kind, share in within.items():
            assert share == Fraction(by_kind[kind] * envelope, summed * count)

    @given(worlds(), st.booleans())
    def test_tokens_before_and_after_condensing_are_a_recount(self, world: Composing, large: bool) -> None:
        """Of what stands there, as it stands; and of the same items in full, from the first half alone."""
        if large:
            options = attrs.evolve(world.options, large_bytes=100)
            world = attrs.evolve(world, items=(*world.items, LARGE), options=options)
        made = success(world)
        report, request = made.selection, made.built.request
        lines = envelope_lines(request)
        rules = [system_cost(text) for text in system_texts(request)[len(world.options.system) :]]
        settled = settle(world.state, world.memories, world.items, options=world.options).unwrap()
        whole = {item.item_id: item_line(item) for item in settled.items}
        stands = [json.loads(line)["item_id"] for line in lines]

        assert sum(rules) + sum(map(line_cost, lines)) == report.tokens_after
        assert sum(rules) + sum(line_cost(whole[item_id]) for item_id in stands) == report.tokens_before

    @given(worlds())
    def test_every_row_is_what_stands_there(self, world: Composing) -> None:
        made = success(world)
        says = said_in(made.built.request)
        condensed = condensed_in(made.built.request)

        assert sorted(says) == sorted(row.item_id for row in made.selection.items if row.retained)
        assert condensed == {row.item_id for row in made.selection.items if row.reduction and row.retained}
        assert made.built.report.items == (made.selection.items or None)

    @given(worlds())
    def test_each_item_has_one_story_and_nothing_else_has(self, world: Composing) -> None:
        """A story begins with where the item came from, and has one end, also where an id was given twice."""
        made = success(world)
        report = made.selection
        says, texts = said_in(made.built.request), system_texts(made.built.request)
        found = {row.item_id for row in report.origins}
        found |= {ItemId(f"memory:{row.memory_id}") for row in report.filtered}
        rules = {row.item_id for row in report.origins if row.kind is ItemKind.SYSTEM}
        for item_id in found:
            told = why(report, item_id).unwrap()
            steps = [row.step for row in told.story]

            assert steps[0] in {WhyStep.GATHERED, WhyStep.FILTERED}
            fates = {step for step in steps if step in FATES}
            assert len(fates) + (WhyStep.LOST_TO in steps and not fates) == 1
            assert told.in_request == (item_id in says or WhyStep.SYSTEM_TEXT in steps)
            assert (WhyStep.SYSTEM_TEXT in steps) <= (item_id in rules)
            assert all(row.other in found for row in told.story if row.other is not None)
            if WhyStep.CONDENSED in steps:
                row = next(one for one in report.items if one.item_id == item_id)
                assert (row.full_cost or 0) >= (row.cost or 0)
        assert rules.isdisjoint({row.item_id for row in report.condensed})
        standing = [why(report, item_id).unwrap().in_request for item_id in sorted(rules)]
        assert len(texts) - len(world.options.system) == sum(standing)
        for name in ("nobody", "memory:", "memory:nobody", ""):
            assert name in found or isinstance(why(report, ItemId(name)).failure(), UnknownItem)

    @given(worlds(), worlds(roomy=True), st.booleans())
    def test_a_difference_is_what_two_requests_differ_in(
        self, one: Composing, other: Composing, turned: bool
    ) -> None:
        """The other request says the same items, none of them in short, or other ones."""
        items = tuple([attrs.evolve(item, short=None) for item in one.items]) if turned else other.items
        bytes_ = 4196 - one.options.large_bytes
        changed = attrs.evolve(
            other, history=one.history, items=items, options=attrs.evolve(one.options, large_bytes=bytes_)
        )
        first, second = success(one), success(changed)
        found = diff(first.built.report, second.built.report)
        before, after = ({*said_in(made.built.request)} for made in (first, second))
        turns = [
            [row.turn_id for row in made.built.report.turns.rows if row.retained] for made in (first, second)
        ]

        assert after - before == {row.item_id for row in found.items if row.change is ItemChange.CAME}
        assert before - after == {row.item_id for row in found.items if row.change is ItemChange.WENT}
        shown = [condensed_in(made.built.request) for made in (first, second)]
        both = before & after
        assert both & shown[1] - shown[0] == {
            row.item_id for row in found.items if row.change is ItemChange.CONDENSED
        }
        assert both & shown[0] - shown[1] == {
            row.item_id for row in found.items if row.change is ItemChange.EXPANDED
        }
        assert [turn for turn in turns[1] if turn not in turns[0]] == list(found.turns_came)
        assert [turn for turn in turns[0] if turn not in turns[1]] == list(found.turns_went)
        assert [len(made.built.request.messages) for made in (first, second)] == [
            found.messages_before,
            found.messages_after,
        ]

    @given(worlds(), worlds(roomy=True))
    def test_differences_read_backwards_are_the_other_way_round(
        self, one: Composing, other: Composing
    ) -> None:
        reports = [success(world).built.report for world in (one, other)]
        there, back = diff(reports[0], reports[1]), diff(reports[1], reports[0])

        assert mirrored(there) == back
        for report in reports:
            same_ = diff(report, report)
            assert ((), (), ()) == (same_.items, same_.turns_came, same_.turns_went)
            assert (same_.tokens_before, same_.messages_before) == (
                same_.tokens_after,
                same_.messages_after,
            )

    @given(worlds(), st.data())
    def test_all_of_it_is_data(self, world: Composing, data: st.DataObject) -> None:
        made = success(world)
        report = made.selection
        encoded = encode_selection(report).unwrap()

        assert report == read_back(parse(encoded.decode()))
        assert encoded.decode() == canonical(selection_value(report))
        if report.origins:
            told = why(report, data.draw(st.sampled_from(report.origins)).item_id).unwrap()
            value = cast("dict[str, list[dict[str, object]]]", parse(canonical(why_value(told))))
            assert [row.step.value for row in told.story] == [row["step"] for row in value["story"]]
            assert [row.reason for row in told.story] == [row["reason"] for row in value["story"]]
        found = diff(made.built.report, attrs.evolve(made.built.report, items=None))
        members = cast("dict[str, list[dict[str, object]]]", parse(canonical(diff_value(found))))
        assert [row.item_id for row in found.items] == [row["item_id"] for row in members["items"]]
        assert {ItemChange.WENT.value} >= {str(row["change"]) for row in members["items"]}


def read_back(value: object) -> SelectionReport | DecodeFailed:
    return read_selection(cast("dict[str, bool]", value))


_BACK: Final = {
    ItemChange.CAME: ItemChange.WENT,
    ItemChange.WENT: ItemChange.CAME,
    ItemChange.CONDENSED: ItemChange.EXPANDED,
    ItemChange.EXPANDED: ItemChange.CONDENSED,
}


def mirrored(found: ReportDiff) -> ReportDiff:
    return ReportDiff(
        items=tuple(
            [
                ChangedItem(item_id=row.item_id, change=_BACK[row.change], before=row.after, after=row.before)
                for row in found.items
            ]
        ),
        turns_came=found.turns_went,
        turns_went=found.turns_came,
        tokens_before=found.tokens_after,
        tokens_after=found.tokens_before,
        messages_before=found.messages_after,
        messages_after=found.messages_before,
    )
