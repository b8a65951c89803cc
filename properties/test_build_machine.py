"""A history that grows, with pins, windows, models, counters, strategies and searches that change."""

from collections.abc import Callable
from typing import ClassVar

from hypothesis import settings
from typing_extensions import override

from jingwei.build import BuiltContext
from jingwei.outcome import Outcome
from jingwei.report.failures import BuildFailure
from jingwei.request.counting import (
    AdditiveCounter,
    ByteBoundCounter,
    ByteHeuristicCounter,
    TokenCounter,
)
from jingwei.request.records import ContextTarget
from jingwei.selection.search import Search
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.testing.build_machine import BuildMachine, report_in
from properties.build_models import (
    FAULTS,
    SCHEMES,
    TARGET,
    Answer,
    Built,
    ByMessages,
    Faulty,
    PerMessage,
    Refused,
    Scheme,
    byte_bound,
    in_turn_order,
    naive_build,
    naive_candidates,
    naive_plan,
    plain,
)


class ComparedMachine(BuildMachine):
    """Builds with counters of every temper by several plans, and holds each answer against the naive
    builder (B2 to B7, R1); a bound that was declared for another model is no count (C5)."""

    target: ClassVar[ContextTarget] = TARGET
    counters: ClassVar[tuple[Callable[[], TokenCounter], ...]] = (
        ByteHeuristicCounter,
        byte_bound,
        lambda: PerMessage(5, 1),
        lambda: ByMessages((40, 400, 7, 0, 90)),
        lambda: ByMessages((2**64 - 3,)),
        *(lambda fault=fault: Faulty(fault, 6) for fault in FAULTS),
    )
    strategies: ClassVar[tuple[Strategy, ...]] = (OLDEST_TURN_FIRST, *SCHEMES)

    @override
    def compare(self, outcome: Outcome[BuiltContext, BuildFailure]) -> None:
        answer, counter, report = plain(outcome), self.counter(), report_in(outcome)
        if report is not None and report.search is Search.LINEAR:
            assert self.expected(counter) == answer
        elif isinstance(answer, Built) and isinstance(counter, AdditiveCounter):
            expected = self.expected(counter, max_count_calls=10_000)
            assert isinstance(expected, Built)
            assert (expected.request, expected.dropped) == (answer.request, answer.dropped)
        elif isinstance(answer, Refused) and answer.attempts is None:
            assert self.expected(counter) == answer
        if isinstance(counter, ByteBoundCounter) and self.inputs.target != TARGET:
            assert isinstance(answer, Refused)
            assert answer.kind == "CounterFailed" or answer.attempts is None

    def expected(self, counter: TokenCounter, max_count_calls: int | None = None) -> Answer:
        """What the naive builder says, by the strategy that is taken."""
        if not isinstance(self.strategy, Scheme):
            return naive_build(self.history, self.inputs, counter, max_count_calls=max_count_calls)
        named = naive_plan(self.strategy, naive_candidates(self.history, self.inputs))
        answer = naive_build(
            self.history,
            self.inputs,
            counter,
            base=named.base,
            steps=named.steps,
            max_count_calls=max_count_calls,
        )
        return in_turn_order(self.history, answer)


TestBuildMachine = ComparedMachine.TestCase
TestBuildMachine.settings = settings.get_profile("machines")
