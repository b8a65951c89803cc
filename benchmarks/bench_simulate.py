"""What strategies cost over whole sessions when a provider caches the prefix of a request (rules R2, B9)."""

from fractions import Fraction

from benchmarks.histories import CONFIG, LIMITS, SESSION, TARGET
from benchmarks.measure import Row, show
from benchmarks.workload import session_lines
from jingwei.events.wire import decode_log
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget
from jingwei.request.remembering import RememberingCounter
from jingwei.selection.condense_then_drop import CondenseThenDrop
from jingwei.selection.stable_prefix import RememberingStablePrefix, stable_prefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST
from jingwei.simulate import SimulatedCall, SimulationInputs, StrategySummary, simulate, summaries

SEEDS = range(1, 11)
TURNS = 120
WINDOW, RESERVE, HIGH = 100_000, 4_000, 70_000


def main() -> list[Row]:
    """Ten sessions of 120 turns under three strategies, at read price 0.1 and write price 1.25."""
    runs = [session(seed) for seed in SEEDS]
    oldest, stable, condensed = ([run[i] for run in runs] for i in range(3))
    return show(
        f"{sum(row.calls for row in oldest) // len(runs)} calls a session, a window of {WINDOW:,} tokens, "
        f"marks {HIGH:,} and {HIGH * 7 // 10:,}",
        [
            Row(
                "stable_prefix: cost / oldest_turn_first",
                mean([s.cost / o.cost for s, o in zip(stable, oldest, strict=True)]),
                limit=0.65,
            ),
            Row("stable_prefix: tokens that no cache serves", missed(stable), limit=0.07),
            Row("oldest_turn_first: tokens that no cache serves", missed(oldest)),
            Row(
                "condense_then_drop: cost / oldest_turn_first",
                mean([c.cost / o.cost for c, o in zip(condensed, oldest, strict=True)]),
            ),
            Row("condense_then_drop: tokens that no cache serves", missed(condensed)),
            *breaks("oldest_turn_first", oldest),
            *breaks("stable_prefix", stable),
            *breaks("condense_then_drop", condensed),
        ],
        f"mean of {len(runs)} seeds",
    )


def session(seed: int) -> tuple[StrategySummary, ...]:
    """One session, every call built under every strategy."""
    log = decode_log(b"".join(session_lines(seed, TURNS, SESSION))).unwrap()
    counter = RememberingCounter(ByteHeuristicCounter())
    inputs = SimulationInputs(
        target=TARGET,
        budget=ContextBudget(window_tokens=WINDOW, output_reserve=RESERVE),
        system=("You are a careful engineer.",),
        limits=LIMITS,
        config=CONFIG,
    )
    strategies = (
        OLDEST_TURN_FIRST,
        RememberingStablePrefix(stable_prefix(high=HIGH, low=None, costs=counter).unwrap()),
        CondenseThenDrop(costs=counter),
    )
    calls = list[SimulatedCall]()
    for call in simulate(SESSION, log, inputs, counter, strategies):
        assert isinstance(call, SimulatedCall), call
        calls.append(call)
    return summaries(calls)


def mean(values: list[Fraction]) -> float:
    return float(sum(values) / len(values))


def missed(rows: list[StrategySummary]) -> float:
    return mean([1 - row.hit_share for row in rows])


def breaks(name: str, rows: list[StrategySummary]) -> list[Row]:
    return [
        Row(f"{name}: breaks of the prefix", mean([Fraction(row.breaks) for row in rows]), "a session"),
        Row(f"{name}: mean request", mean([row.mean_request for row in rows]), "tokens"),
        Row(f"{name}: calls refused", float(sum(row.refused for row in rows)), "calls"),
    ]
