"""A session replayed call by call: what is built when, and what stands in the sums."""

from fractions import Fraction

import attrs

from jingwei.events.records import SessionLog
from jingwei.outcome import Failure
from jingwei.projection.failures import Malformed
from jingwei.projection.records import DamagedTurns, ProjectionConfig
from jingwei.report.cache import CachePrices, PrefixChange
from jingwei.report.failures import DoesNotFit, InvalidInput, InvalidInputReason
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget
from jingwei.selection.stable_prefix import StablePrefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.simulate import SimulatedCall, SimulationInputs, StrategySummary, simulate, summaries
from tests.logtable import SESSION, log_of

COSTS = ByteHeuristicCounter()
INPUTS = SimulationInputs(
    target=ContextTarget(model="m", template_revision="r"),
    budget=ContextBudget(window_tokens=10_000, output_reserve=1),
    system=("rules",),
)
ONE = "user; ask k; answer k; call a; result a; ask l; answer l; reply; done;"
TWO = 'turn two; user "what else"; ask k; answer k; reply; done;'


def calls(
    table: str | SessionLog, *strategies: Strategy, inputs: SimulationInputs = INPUTS
) -> list[SimulatedCall]:
    log = table if isinstance(table, SessionLog) else log_of(table)
    made = list(simulate(SESSION, log, inputs, COSTS, strategies or (OLDEST_TURN_FIRST,)))
    found = [call for call in made if isinstance(call, SimulatedCall)]
    assert len(made) == len(found)
    return found


def test_every_model_request_is_a_call_of_every_strategy() -> None:
    stable = StablePrefix(high=100, low=50, costs=COSTS)
    found = calls(ONE + TWO, OLDEST_TURN_FIRST, stable, stable)

    assert [(seq, place) for seq in (1, 5, 10) for place in range(3)] == [(c.seq, c.place) for c in found]
    assert ["oldest_turn_first", "stable_prefix", "stable_prefix"] == [c.strategy for c in found[:3]]
    assert 3 == len(summaries(found))


def test_while_everything_fits_each_request_holds_the_one_before() -> None:
    found = calls(ONE + TWO)

    assert [None, None, None] == [call.reason for call in found]
    assert [0, found[0].tokens, found[1].tokens] == [call.served for call in found]


def test_a_cut_breaks_the_prefix_and_serves_what_stands_before_it() -> None:
    tight = attrs.evolve(INPUTS, budget=ContextBudget(window_tokens=120, output_reserve=1))
    first, second, third = calls(ONE + TWO, inputs=tight)
    fixed = COSTS.fixed_cost(INPUTS.constraint)

    assert PrefixChange.CUT_MOVED is third.reason
    assert 9 + fixed == third.served
    assert first.tokens < second.tokens > third.tokens


def test_without_a_common_message_nothing_is_served() -> None:
    """Constraint and template alone are not worth an entry in a cache."""
    bare = attrs.evolve(INPUTS, system=(), budget=ContextBudget(window_tokens=60, output_reserve=1))
    found = calls(TWO + 'turn three; user "x"; ask k; answer k; reply; done', inputs=bare)

    assert [0, 0] == [call.served for call in found]
    assert [None, PrefixChange.CUT_MOVED] == [call.reason for call in found]


def test_a_refused_call_carries_its_failure_and_the_next_continues_the_last_one_built() -> None:
    tight = attrs.evolve(INPUTS, budget=ContextBudget(window_tokens=100, output_reserve=1))
    first, second, third = calls(ONE + TWO, inputs=tight)

    assert isinstance(second.refused, DoesNotFit)
    assert (0, 0, None) == (second.tokens, second.served, second.reason)
    assert (None, None) == (first.refused, third.refused)
    assert PrefixChange.CUT_MOVED is third.reason
    assert (
        StrategySummary(
            strategy="oldest_turn_first",
            calls=3,
            refused=1,
            breaks=1,
            tokens=first.tokens + third.tokens,
            served=third.served,
            cost=Fraction(2 * third.served + 3 * (first.tokens + third.tokens - third.served)),
        )
        == summaries([first, second, third], CachePrices(read=Fraction(2), write=Fraction(3)))[0]
    )


def test_shares_and_means_are_of_what_was_built() -> None:
    row = summaries(calls(ONE))[0]
    nothing = attrs.evolve(row, calls=1, refused=1, tokens=0, served=0)

    assert Fraction(row.served, row.tokens) == row.hit_share
    assert Fraction(row.tokens, 2) == row.mean_request
    assert (Fraction(0), Fraction(0)) == (nothing.hit_share, nothing.mean_request)


def test_a_log_without_calls_has_none_and_nothing_to_sum_up() -> None:
    assert [] == calls("user; reply; done")
    assert () == summaries([])


def test_a_last_turn_that_was_cut_off_is_no_fault() -> None:
    assert [1, 5] == [call.seq for call in calls("user; ask k; answer k; call a; result a; ask l")]


def test_a_log_that_breaks_a_rule_ends_with_its_failure() -> None:
    """Whether a call follows what is broken, or none does."""
    for table, before in (("reply; ask k", 0), (ONE + "turn two; reply", 2)):
        *made, last = simulate(SESSION, log_of(table), INPUTS, COSTS, (OLDEST_TURN_FIRST,))

        assert before == len(made)
        assert isinstance(last, Failure)
        assert isinstance(last.failure(), Malformed)


def test_a_call_in_a_turn_under_quarantine_has_nothing_to_send() -> None:
    config = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)
    found = calls("reply; ask k", inputs=attrs.evolve(INPUTS, config=config))

    assert InvalidInput(reason=InvalidInputReason.CURRENT_EMPTY, path="/current", report=None) == (
        found[0].refused
    )


def test_exchanges_of_the_running_turn_are_shortened_where_the_host_lets_them() -> None:
    table = "user;" + "".join(f"call {c}; result {c}; " for c in "abcd") + "ask k"
    tight = attrs.evolve(INPUTS, budget=ContextBudget(window_tokens=250, output_reserve=1))
    refused, built = (
        calls(table, inputs=attrs.evolve(tight, reduce_current=reduce_current))[0]
        for reduce_current in (False, True)
    )

    assert isinstance(refused.refused, DoesNotFit)
    assert built.refused is None


def test_a_simulation_is_made_call_by_call() -> None:
    """So that a host can show how far it is, and stop."""
    made = simulate(SESSION, log_of(ONE + "turn two; reply"), INPUTS, COSTS, (OLDEST_TURN_FIRST,))

    assert isinstance(next(made), SimulatedCall)
