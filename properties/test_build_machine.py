"""A history that grows, with pins, windows, counters and searches that change, built after each step."""

from collections.abc import Callable
from typing import ClassVar

from typing_extensions import override

from jingwei.build import BuiltContext
from jingwei.outcome import Outcome, Success
from jingwei.report.failures import BuildFailure
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter, TokenCounter
from jingwei.request.records import ContextTarget
from jingwei.selection.search import Search
from jingwei.testing.build_machine import BuildMachine
from properties.build_models import (
    FAULTS,
    TARGET,
    Built,
    ByMessages,
    Faulty,
    PerMessage,
    Refused,
    byte_bound,
    naive_build,
    plain,
    report_of,
)


class ComparedMachine(BuildMachine):
    """Builds with counters of every temper, and holds each answer against the naive builder (B2 to B7)."""

    target: ClassVar[ContextTarget] = TARGET
    counters: ClassVar[tuple[Callable[[], TokenCounter], ...]] = (
        ByteHeuristicCounter,
        byte_bound,
        lambda: PerMessage(5, 1),
        lambda: ByMessages((40, 400, 7, 0, 90)),
        lambda: ByMessages((2**64 - 3,)),
        *(lambda fault=fault: Faulty(fault, 6) for fault in FAULTS),
    )

    @override
    def compare(self, outcome: Outcome[BuiltContext, BuildFailure]) -> None:
        answer, counter = plain(outcome), self.counter()
        report = outcome.unwrap().report if isinstance(outcome, Success) else report_of(outcome.failure())
        if report is not None and report.search is Search.LINEAR:
            assert naive_build(self.history, self.inputs, counter) == answer
        elif isinstance(answer, Built) and isinstance(counter, AdditiveCounter):
            expected = naive_build(self.history, self.inputs, counter, max_count_calls=10_000)
            assert isinstance(expected, Built)
            assert (expected.request, expected.dropped) == (answer.request, answer.dropped)
        elif isinstance(answer, Refused) and answer.attempts is None:
            assert naive_build(self.history, self.inputs, counter) == answer


TestBuildMachine = ComparedMachine.TestCase
