"""S0, S2, S4a and R3: what is worth saying, held against exact solvers and the rules told as stories."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import final

import attrs
from hypothesis import assume, example, given, target
from hypothesis import strategies as st

from jingwei.build import BuildInputs, build
from jingwei.ids import ItemId, TurnId
from jingwei.items.budget import TokenBudget, context_budget, token_budget
from jingwei.items.records import ContextItem, ItemKind, ItemSource, ShortContent, Tier
from jingwei.items.worth import TurnWorth, per_token, weights, worth_of
from jingwei.outcome import Success
from jingwei.report.failures import DoesNotFit
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.selection.by_value import ByValue
from jingwei.selection.choose import (
    NO_QUOTAS,
    Choice,
    Option,
    Quota,
    Quotas,
    RequiredExceed,
    choose,
    leaving_order,
)
from jingwei.selection.records import (
    Candidate,
    ChoiceReason,
    ChoiceRow,
    CondenseItem,
    DropItem,
    DropTurn,
    Plan,
    Reduction,
    Room,
    SelectionState,
)
from jingwei.selection.select import NoCandidates, select_items
from properties.build_models import SHAPES, history_of, inputs_of

KINDS = (ItemKind.GOAL, ItemKind.FACT, ItemKind.MEMORY)
TIERS = tuple(Tier)
FRACTIONS = st.builds(Fraction, st.integers(0, 12), st.integers(1, 12))
SHARES = st.integers(1, 12).flatmap(lambda n: st.builds(Fraction, st.integers(0, n), st.just(n)))
COSTS = st.integers(0, 12) | st.sampled_from([100, 2**63, 10**40])


def option(number: int, cost: int, worth: Fraction, tier: Tier, kind: ItemKind | None, kept: bool) -> Option:
    return Option(key=f"o{number:02d}", tier=tier, kind=kind, cost=cost, worth=worth, kept=kept)


@st.composite
def options(draw: st.DrawFn, *, kept: bool = True, most: int = 9) -> list[Option]:
    return [
        option(
            number,
            draw(COSTS),
            draw(FRACTIONS),
            draw(st.sampled_from(TIERS)),
            draw(st.sampled_from((*KINDS, None))),
            kept and draw(st.integers(0, 4)) == 0,
        )
        for number in range(draw(st.integers(0, most)))
    ]


@st.composite
def quotas(draw: st.DrawFn) -> Quotas:
    rows = list[Quota]()
    for kind in draw(st.lists(st.sampled_from((*KINDS, None)), unique=True)):
        floor = draw(st.integers(0, 20))
        ceiling = draw(st.none() | st.integers(floor, 40))
        rows.append(Quota(kind=kind, floor=floor, ceiling=ceiling))
    return Quotas(rows=tuple(rows))


@st.composite
def rooms(draw: st.DrawFn, given: Sequence[Option]) -> int:
    """Room for what must stay, and a part of the rest."""
    kept = sum(one.cost for one in given if one.kept)
    free = sum(one.cost for one in given if not one.kept)
    return kept + draw(st.integers(0, max(free, 0)) | st.integers(0, 30))


def chosen_of(given: Iterable[Option], room: int, by: Quotas = NO_QUOTAS) -> list[Option]:
    there = list(given)
    keys = choice_of(there, room, by).chosen
    return [one for one in there if one.key in keys]


def choice_of(given: Iterable[Option], room: int, by: Quotas = NO_QUOTAS) -> Choice:
    outcome = choose(given, room, by)
    assert isinstance(outcome, Success), outcome
    return outcome.unwrap()


def cost(given: Iterable[Option]) -> int:
    return sum(one.cost for one in given)


def worth(given: Iterable[Option]) -> Fraction:
    return sum((one.worth for one in given), Fraction(0))


def best_worth(given: Sequence[tuple[int, Fraction]], room: int) -> Fraction:
    """The most that fits, exactly: all pairs of a cost and a worth that no cheaper set reaches."""
    front = [(0, Fraction(0))]
    for costs, worths in given:
        joined = [(c + costs, w + worths) for c, w in front if c + costs <= room]
        merged = sorted([*front, *joined], key=lambda pair: (pair[0], -pair[1]))
        front, most = [], Fraction(-1)
        for pair in merged:
            if pair[1] > most:
                front.append(pair)
                most = pair[1]
    return front[-1][1]


class TestTheBudgetOfItemsS0:
    """S0. A token budget sets aside output, tool schema, system, retry and a margin, and what is left bounds
    the choice of items alone. The build's own budget takes none of it off a second time: it counts system
    texts and tools, and sets aside only what no request may take."""

    @given(st.lists(st.integers(0, 50), min_size=5, max_size=5), st.integers(-3, 50))
    def test_nothing_is_taken_off_twice(self, numbers: list[int], rest: int) -> None:
        output, tools, system, retry, margin = numbers
        window = max(sum(numbers) + rest, 0)
        outcome = token_budget(
            window=window,
            reserved_output=output,
            reserved_tool_schema=tools,
            reserved_system=system,
            reserved_retry=retry,
            safety_margin=margin,
        )
        aside = output + tools + system + retry + margin
        if window == 0 or aside > window:
            assert not isinstance(outcome, Success)
            return
        budget = outcome.unwrap()

        assert window == aside + budget.available_context
        assert window == output + retry + margin + context_budget(budget).available
        assert context_budget(budget).available - budget.available_context == tools + system

    @given(st.integers(1, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
    def test_it_bounds_what_is_selected(self, window: int, output: int, spent: int) -> None:
        assume(output <= window)
        budget = TokenBudget(window=window, reserved_output=output)
        one = item("a", relevance=Fraction(1), token_cost=spent)
        selected = select_items([one], budget.available_context).unwrap()

        assert (len(selected.items) == 1) == (spent <= window - output)


class TestValuePerTokenS2:
    """S2. Value per token is the weights times priority, relevance, freshness and trust, by the cost, which
    counts as at least 1. It is exact; ties fall by id; the order in which items are given never matters."""

    @given(st.tuples(SHARES, SHARES, SHARES), st.integers(0, 1000), st.tuples(*[FRACTIONS] * 4), COSTS)
    def test_the_value_is_the_formula(
        self,
        shares: tuple[Fraction, Fraction, Fraction],
        priority: int,
        by: tuple[Fraction, Fraction, Fraction, Fraction],
        tokens: int,
    ) -> None:
        """Told in one common denominator, with integers alone."""
        assume(any(by))
        made = weights(priority=by[0], relevance=by[1], freshness=by[2], trust=by[3]).unwrap()
        said = TurnWorth(priority=priority, relevance=shares[0], freshness=shares[1], trust=shares[2])
        numbers = [Fraction(priority), *shares]
        common = 1
        for number in (*by, *numbers):
            common *= number.denominator
        whole = sum(int(w * common) * int(n * common) for w, n in zip(by, numbers, strict=True))
        value = per_token(worth_of(said, made), tokens)

        assert whole == value * common * common * (tokens if tokens > 0 else 1)

    @given(st.data())
    def test_the_order_given_never_matters(self, data: st.DataObject) -> None:
        given_ = data.draw(options())
        by, room = data.draw(quotas()), data.draw(rooms(given_))
        keys = [one.key for one in given_]
        left = frozenset(data.draw(st.lists(st.sampled_from(keys)))) if keys else frozenset[str]()
        other = data.draw(st.permutations(given_))
        shuffled = Quotas(rows=tuple(data.draw(st.permutations(by.rows))))

        assert repr(choose(given_, room, by, left)) == repr(choose(other, room, shuffled, left))

    @given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 50), st.permutations(range(6)))
    def test_ties_fall_by_id(self, each: int, value: int, room: int, order: list[int]) -> None:
        equal = [option(n, each, Fraction(value, 7), Tier.P3, None, False) for n in order]
        fitting = min(room // each, 6)

        assert [f"o{n:02d}" for n in range(fitting)] == sorted(o.key for o in chosen_of(equal, room))

    @given(st.integers(1, 2**70), st.integers(1, 2**70), st.integers(2, 10**6))
    def test_a_difference_that_no_float_holds_decides(self, numerator: int, tokens: int, fine: int) -> None:
        """Two of one cost: the one that is worth ever so little more is chosen, whatever its id."""
        plain = Fraction(numerator, 3)
        more = plain + Fraction(1, 2**200 * fine)
        pair = [option(0, tokens, plain, Tier.P2, None, False), option(1, tokens, more, Tier.P2, None, False)]

        assert ["o01"] == [one.key for one in chosen_of(pair, 2 * tokens - 1)]
        assert ["o00", "o01"] == [one.key for one in leaving_order(pair)]


class TestTheOrderOfChoosingS4a:
    """S4a. Required first, then floors per kind, then by value per token under a ceiling per kind. A floor
    that its kind cannot use is shared out again; a ceiling never evicts what is required; what is required
    and does not fit is refused with each one's cost; going down, the least valuable goes first."""

    @given(st.data())
    def test_what_must_stay_is_in_or_the_refusal_lists_it(self, data: st.DataObject) -> None:
        given_, by = data.draw(options()), data.draw(quotas())
        room = data.draw(st.integers(-5, 60))
        must = [one for one in given_ if one.kept]
        outcome = choose(given_, room, by, frozenset(one.key for one in given_))
        if cost(must) <= room:
            assert {one.key for one in must} == outcome.unwrap().chosen
            return
        refused = outcome.failure()

        assert isinstance(refused, RequiredExceed)
        assert {one.key: one.cost for one in must} == {row.key: row.cost for row in refused.rows}
        assert (room, cost(must)) == (refused.room, refused.total)
        assert sorted([row.cost for row in refused.rows], reverse=True) == [row.cost for row in refused.rows]

    @given(st.data())
    def test_the_room_and_the_ceilings_hold(self, data: st.DataObject) -> None:
        given_, by = data.draw(options()), data.draw(quotas())
        room = data.draw(rooms(given_))
        chosen = chosen_of(given_, room, by)

        assert cost(chosen) <= room
        assert cost(chosen) == choice_of(given_, room, by).used
        for quota in by.rows:
            mine = [one for one in chosen if one.kind is quota.kind]
            must = cost([one for one in mine if one.kept])
            if quota.ceiling is not None:
                assert cost(mine) <= max(quota.ceiling, must)

    @given(options(), st.sampled_from((*KINDS, None)), st.integers(0, 20), st.integers(0, 9))
    def test_a_ceiling_counts_what_must_stay(
        self, given_: list[Option], kind: ItemKind | None, ceiling: int, more: int
    ) -> None:
        """In a room for everything: the kind stays under its ceiling, or has nothing but what must stay."""
        mine = [attrs.evolve(one, kind=kind, cost=min(one.cost, 12)) for one in given_]
        by = Quotas(rows=(Quota(kind=kind, ceiling=ceiling),))
        chosen = [one for one in chosen_of(mine, cost(mine) + more, by) if one.cost]
        must = [one for one in mine if one.kept and one.cost]

        assert cost(chosen) <= ceiling or chosen == must

    @given(st.data())
    def test_a_single_floor_is_filled_as_far_as_its_kind_can(self, data: st.DataObject) -> None:
        """What stays under a floor has nothing left that would have fitted under it."""
        given_ = data.draw(options(kept=False))
        kind = data.draw(st.sampled_from((*KINDS, None)))
        floor = data.draw(st.integers(0, 40))
        room = data.draw(rooms(given_))
        chosen = chosen_of(given_, room, Quotas(rows=(Quota(kind=kind, floor=floor),)))
        mine = [one for one in given_ if one.kind is kind]
        taken = cost([one for one in chosen if one.kind is kind])

        for one in mine:
            if one not in chosen:
                assert taken + one.cost > min(floor, room)

    @given(st.data())
    def test_a_floor_that_cannot_be_used_changes_nothing(self, data: st.DataObject) -> None:
        """Its kind has nothing so small: all is shared out as if there were no floor."""
        given_ = data.draw(options())
        kind = data.draw(st.sampled_from((*KINDS, None)))
        mine = [one.cost for one in given_ if one.kind is kind and one.cost]
        floor = min(mine, default=31) - 1
        room = data.draw(rooms(given_))

        assert choice_of(given_, room) == choice_of(
            given_, room, Quotas(rows=(Quota(kind=kind, floor=floor),))
        )

    @given(st.data())
    def test_whatever_is_left_out_had_no_place(self, data: st.DataObject) -> None:
        """The reasons are true: it did not fit in the room that was left, or its ceiling was reached."""
        given_, by = data.draw(options()), data.draw(quotas())
        room = data.draw(rooms(given_))
        choice = choice_of(given_, room, by)
        by_key = {one.key: one for one in given_}
        chosen = [by_key[key] for key in choice.chosen]
        ceilings = {quota.kind: quota.ceiling for quota in by.rows}
        for verdict in choice.verdicts:
            one = by_key[verdict.key]
            if verdict.reason is ChoiceReason.NO_ROOM:
                above = [o for o in chosen if TIERS.index(o.tier) <= TIERS.index(one.tier) or o.kept]
                floors = [o for o in chosen if o not in above and _is_floor(choice, o)]
                assert one.cost > room - cost(above) - cost(floors)
            if verdict.reason is ChoiceReason.CEILING:
                ceiling = ceilings[one.kind]
                assert ceiling is not None
                assert cost([o for o in chosen if o.kind is one.kind]) + one.cost > ceiling

    @given(st.data())
    def test_going_down_the_least_valuable_goes_first(self, data: st.DataObject) -> None:
        """From the lowest tier up; each that goes is worth no more per token than what goes after it."""
        given_ = data.draw(options())
        going = leaving_order(data.draw(st.permutations(given_)))
        marks = [(-TIERS.index(one.tier), per_token(one.worth, one.cost)) for one in going]

        assert sorted(marks) == marks
        assert sorted(one.key for one in given_ if not one.kept) == sorted(one.key for one in going)

    @given(st.data())
    def test_going_down_floors_are_left_for_last(self, data: st.DataObject) -> None:
        """Nothing takes a kind under its floor while another thing could go that does not."""
        given_, by = data.draw(options()), data.draw(quotas())
        floors = {quota.kind: quota.floor for quota in by.rows}
        there = list(given_)
        broken = False
        for one in leaving_order(given_, by):
            there.remove(one)
            rest = cost([o for o in there if o.kind is one.kind])
            breaks = one.cost > 0 and rest < floors.get(one.kind, 0)
            assert breaks or not broken
            broken = broken or breaks

    @given(st.integers(0, 3))
    def test_nothing_to_choose_from_is_told(self, room: int) -> None:
        assert NoCandidates() == select_items([], room).failure()


def _is_floor(choice: Choice, one: Option) -> bool:
    return any(v.key == one.key and v.reason is ChoiceReason.FLOOR for v in choice.verdicts)


# --- R3 -------------------------------------------------------------------------------------------


def item(
    item_id: str,
    *,
    content: str = "x",
    kind: ItemKind = ItemKind.FACT,
    tier: Tier = Tier.P3,
    token_cost: int = 0,
    relevance: Fraction = Fraction(0),
    short: str | None = None,
    required: bool = False,
    pinned: bool = False,
) -> ContextItem:
    return ContextItem(
        item_id=ItemId(item_id),
        kind=kind,
        content=content,
        source=ItemSource.TOOL,
        tier=tier,
        token_cost=token_cost,
        relevance=relevance,
        short=None if short is None else ShortContent(text=short, method="m-v1"),
        required=required,
        pinned=pinned,
    )


@st.composite
def item_sets(draw: st.DrawFn) -> tuple[ContextItem, ...]:
    made = list[ContextItem]()
    for number in range(draw(st.integers(0, 5))):
        size = draw(st.sampled_from([1, 40, 200]))
        short = draw(st.sampled_from([None, None, 5, 300]))
        made.append(
            item(
                f"i{number}",
                content="w" * size,
                tier=draw(st.sampled_from(TIERS)),
                kind=draw(st.sampled_from(KINDS)),
                relevance=draw(SHARES),
                short=None if short is None else "s" * short,
                required=draw(st.integers(0, 5)) == 0,
                pinned=draw(st.integers(0, 5)) == 0,
            )
        )
    return tuple(made)


@final
@attrs.frozen(kw_only=True)
class Offered:
    """What a build is asked for: turns, items, and a window between nothing and all."""

    shapes: str
    inputs: BuildInputs


@st.composite
def offers(draw: st.DrawFn) -> Offered:
    shapes = draw(st.text(SHAPES, max_size=6))
    items = draw(item_sets())
    wide = attrs.evolve(inputs_of(10**9), items=items)
    whole = build(history_of(shapes, "x" * 40), wide, ByteHeuristicCounter()).unwrap()
    total = whole.report.attempts[-1].total_reserved
    window = draw(st.integers(1, total + 20))
    return Offered(shapes=shapes, inputs=attrs.evolve(inputs_of(window), items=items))


@final
class Seen:
    """A strategy that keeps the plan it made."""

    def __init__(self, inner: ByValue) -> None:
        self.inner = inner
        self.plans = list[Plan]()

    @property
    def name(self) -> str:
        return self.inner.name

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        made = self.inner.plan(candidates, room)
        self.plans.append(made)
        return made


def rows_of(plan: Plan) -> tuple[ChoiceRow, ...]:
    assert plan.selection is not None
    return plan.selection.rows


def name_of(reduction: Reduction) -> str:
    assert isinstance(reduction, DropTurn | DropItem | CondenseItem)
    return f"t{reduction.turn_id}" if isinstance(reduction, DropTurn) else reduction.item_id


def named(row: ChoiceRow) -> str:
    return f"t{row.turn_id}" if row.item_id is None else row.item_id


class TestByValueR3:
    """R3. Tiers are lexicographic: a higher tier is never traded for a lower one. Inside a tier the value per
    token decides, and a tiny item never keeps out a large valuable one. The choice is the plan's base, in
    stable order, and the steps go on with the least valuable. What the last choice left out does not come
    back before a higher budget or a move of the marks; without a last choice none is promised."""

    @given(st.data())
    def test_lower_tiers_have_no_part_in_what_a_higher_tier_gets(self, data: st.DataObject) -> None:
        """Take the lower tiers away: the same is chosen of the higher ones."""
        given_, room = data.draw(options(kept=False)), data.draw(st.integers(0, 60))
        tier = data.draw(st.sampled_from(TIERS))
        upper = [one for one in given_ if TIERS.index(one.tier) <= TIERS.index(tier)]
        chosen = chosen_of(given_, room)

        assert chosen_of(upper, room) == [one for one in chosen if one in upper]

    @given(st.data())
    def test_a_tier_is_worth_at_least_half_of_what_it_could_be(self, data: st.DataObject) -> None:
        """Tier by tier, with the room that those above it left, against every subset."""
        given_ = data.draw(options(kept=False, most=8))
        room = data.draw(rooms(given_))
        chosen, left = chosen_of(given_, room), room
        for tier in TIERS:
            mine = [one for one in given_ if one.tier is tier]
            taken = [one for one in chosen if one.tier is tier]
            subsets = [s for n in range(len(mine) + 1) for s in combinations(mine, n) if cost(s) <= left]
            assert 2 * worth(taken) >= max(worth(subset) for subset in subsets)
            left -= cost(taken)

    @given(
        st.lists(st.tuples(st.integers(1, 60), st.integers(1, 200)), min_size=1, max_size=18),
        st.integers(1, 200),
    )
    @example([(1, 2), (100, 100)], 100)
    @example([(6, 12), (5, 9), (5, 9)], 10)
    def test_no_instance_is_found_under_half(self, rows: list[tuple[int, int]], room: int) -> None:
        """A search that is drawn to bad instances, against an exact solver."""
        pieces = [option(n, c, Fraction(w), Tier.P3, None, False) for n, (c, w) in enumerate(rows)]
        best = best_worth([(c, Fraction(w)) for c, w in rows], room)
        assume(best)
        share = worth(chosen_of(pieces, room)) / best
        target(-float(share))

        assert share >= Fraction(1, 2)

    @given(st.data())
    def test_nothing_that_would_still_fit_is_left_out(self, data: st.DataObject) -> None:
        given_ = data.draw(options())
        room = data.draw(rooms(given_))
        chosen = chosen_of(given_, room)

        assert all(cost(chosen) + one.cost > room for one in given_ if one not in chosen)

    @given(offers())
    def test_the_base_is_what_was_not_chosen_and_the_steps_are_the_rest(self, offer: Offered) -> None:
        plan = self._planned(offer, ByValue())
        rows = rows_of(plan)
        dropped = [r for r in plan.base if not isinstance(r, CondenseItem)]
        down = [r for step in plan.steps for r in step.reductions]
        must = {ChoiceReason.REQUIRED, ChoiceReason.PINNED}

        assert [named(row) for row in rows if not row.chosen] == [name_of(r) for r in dropped]
        assert sorted(named(row) for row in rows if row.chosen and row.reason not in must) == sorted(
            name_of(r) for r in down
        )
        assert all(len(step.reductions) == 1 for step in plan.steps)

    @given(offers())
    def test_steps_go_from_the_lowest_tier_and_the_least_value_up(self, offer: Offered) -> None:
        plan = self._planned(offer, ByValue())
        rows = {named(row): row for row in rows_of(plan)}
        gone = [rows[name_of(r)] for step in plan.steps for r in step.reductions]
        marks = [(-TIERS.index(row.tier), row.worth / max(row.cost, 1)) for row in gone]

        assert sorted(marks) == marks

    @given(offers(), st.randoms(use_true_random=False))
    def test_the_order_in_which_items_are_given_does_not_change_one_byte(
        self, offer: Offered, chance: Random
    ) -> None:
        items = list(offer.inputs.items)
        chance.shuffle(items)
        history, counter = history_of(offer.shapes, "x" * 40), ByteHeuristicCounter()
        both = [
            build(history, attrs.evolve(offer.inputs, items=tuple(order)), counter, strategy=ByValue())
            for order in (offer.inputs.items, items)
        ]

        assert both[0] == both[1]
        assert repr(both[0]) == repr(both[1])

    @given(offers())
    def test_where_the_whole_request_fits_nothing_is_left_out(self, offer: Offered) -> None:
        """Without shorter contents the base is empty, whatever the estimates of single costs say."""
        plain = tuple([attrs.evolve(one, short=None) for one in offer.inputs.items])
        history, counter = history_of(offer.shapes, "x" * 40), ByteHeuristicCounter()
        wide = attrs.evolve(inputs_of(10**9), items=plain)
        total = build(history, wide, counter).unwrap().report.attempts[-1].total_reserved
        tight = attrs.evolve(inputs_of(total), items=plain)

        assert () == self._planned(Offered(shapes=offer.shapes, inputs=tight), ByValue()).base

    @given(offers())
    def test_a_build_by_value_fits_or_nothing_could(self, offer: Offered) -> None:
        """Success fits; a failure means that what must stay does not fit by itself."""
        history, counter = history_of(offer.shapes, "x" * 40), ByteHeuristicCounter()
        outcome = build(history, offer.inputs, counter, strategy=ByValue())
        if isinstance(outcome, Success):
            count = counter.count(offer.inputs.target, outcome.unwrap().request).unwrap()
            assert count.tokens.total + offer.inputs.budget.reserved <= offer.inputs.budget.window_tokens
            return
        must = tuple([one for one in offer.inputs.items if one.is_kept])
        alone = build(history_of("", ""), attrs.evolve(offer.inputs, items=must), counter)

        assert isinstance(outcome.failure(), DoesNotFit)
        assert isinstance(alone.failure(), DoesNotFit)

    @given(st.data())
    def test_under_one_budget_nothing_comes_back(self, data: st.DataObject) -> None:
        """A history grows, items come and stay, and each choice hands its state to the next."""
        window = data.draw(st.integers(60, 400))
        shapes, items = data.draw(st.text(SHAPES, min_size=2, max_size=7)), data.draw(item_sets())
        said = data.draw(st.lists(SHARES, min_size=len(shapes), max_size=len(shapes)))
        worths = tuple([(TurnId(f"t{n}"), TurnWorth(relevance=share)) for n, share in enumerate(said)])
        previous: SelectionState | None = None
        for turns in range(1, len(shapes) + 1):
            inputs = attrs.evolve(inputs_of(window), items=items[:turns])
            strategy = ByValue(turn_worths=worths, previous=previous)
            plan = self._planned(Offered(shapes=shapes[:turns], inputs=inputs), strategy)
            assert plan.selection is not None
            state = plan.selection.state
            if previous is not None:
                assert set(previous.left_out_turns) <= set(state.left_out_turns)
                assert set(previous.left_out_items) <= set(state.left_out_items)
            previous = state

    @given(offers(), st.integers(0, 2), st.integers(0, 2))
    def test_more_tokens_or_a_move_of_the_marks_set_everything_free(
        self, offer: Offered, more: int, moves: int
    ) -> None:
        """Then the choice is the one that is made without a last one."""
        first = self._planned(offer, ByValue()).selection
        assert first is not None
        budget = offer.inputs.budget
        wider = attrs.evolve(budget, window_tokens=budget.window_tokens + more)
        later = Offered(shapes=offer.shapes, inputs=attrs.evolve(offer.inputs, budget=wider))
        again = rows_of(self._planned(later, ByValue(previous=first.state, moves=moves)))
        fresh = rows_of(self._planned(later, ByValue(moves=moves)))
        left = {*first.state.left_out_turns, *first.state.left_out_items}
        if more or moves:
            assert fresh == again
        else:
            assert left == {row.turn_id or row.item_id for row in again if not row.chosen}

    def _planned(self, offer: Offered, strategy: ByValue) -> Plan:
        seen = Seen(strategy)
        _ = build(history_of(offer.shapes, "x" * 40), offer.inputs, ByteHeuristicCounter(), strategy=seen)
        return seen.plans[0]
