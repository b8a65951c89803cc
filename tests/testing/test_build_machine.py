"""The build machine accepts the parts of jingwei, and catches builders that miss a change."""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias, final

import attrs
import pytest
from typing_extensions import override

from jingwei.build import BuildInputs, BuiltContext, ContextBuilder, build
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.records import Projection
from jingwei.report.failures import BuildFailure
from jingwei.request.counting import (
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    FramingAllowance,
    TokenCounter,
)
from jingwei.request.records import ContextTarget
from jingwei.selection.records import Candidate, DropTurn, Plan, PlanStep, Room, TurnCandidate
from jingwei.selection.search import Search
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.testing.build_machine import BuildMachine, report_in
from tests.testing.test_machines import ran


def bound() -> TokenCounter:
    """A counter for the target of the machine, and for no other."""
    nothing = Allowance()
    allowance = FramingAllowance(
        message=nothing, call=nothing, tool=nothing, request=Allowance(bytes=3, specials=1)
    )
    return ByteBoundCounter(model="m", template_revision="r1", allowance=allowance)


class WithABound(BuildMachine):
    """The parts of jingwei, with a counter that knows one model alone."""

    counters: ClassVar[tuple[Callable[[], TokenCounter], ...]] = (ByteHeuristicCounter, bound)


class OneModel(BuildMachine):
    """A host that has no other model."""

    other_targets: ClassVar[tuple[ContextTarget, ...]] = ()


@pytest.mark.parametrize("machine", [WithABound, OneModel])
def test_the_parts_of_jingwei_keep_the_laws(machine: type[BuildMachine]) -> None:
    """Whatever has changed before the build."""
    ran(machine, examples=40)


def test_a_bound_for_one_model_is_refused_for_every_other() -> None:
    """The machine changes the model, and no count is taken from a counter that was declared for another."""
    said = set[tuple[bool, str]]()

    class Watched(BuildMachine):
        counters: ClassVar[tuple[Callable[[], TokenCounter], ...]] = (bound,)

        @override
        def compare(self, outcome: Outcome[BuiltContext, BuildFailure]) -> None:
            report = report_in(outcome)
            if report is not None and report.attempts:
                said.add((self.inputs.target == self.target, "counted"))
            elif report is not None:
                said.add((self.inputs.target == self.target, type(outcome.failure()).__name__))

    ran(Watched, examples=40)

    assert {(True, "counted"), (False, "CounterFailed")} == said


# --- broken builders ------------------------------------------------------------------------------


Built: TypeAlias = Outcome[BuiltContext, BuildFailure]


def reported(outcome: Built, **changes: object) -> Built:
    """The answer with something changed in its report, if it has one."""
    report = report_in(outcome)
    if report is None:
        return outcome
    said = attrs.evolve(report, **changes)  # type: ignore[arg-type]
    if isinstance(outcome, Success):
        return Success(attrs.evolve(outcome.unwrap(), report=said))
    return Failure(attrs.evolve(outcome.failure(), report=said))  # type: ignore[arg-type]


def rebuilt(
    change: Callable[[BuildInputs], BuildInputs], mend: Callable[[Built, BuildInputs], Built]
) -> ContextBuilder:
    """A builder that builds from other inputs than it was given, and covers it up."""

    def builder(
        history: Projection, inputs: BuildInputs, counter: TokenCounter, *, strategy: Strategy, search: Search
    ) -> Built:
        return mend(build(history, change(inputs), counter, strategy=strategy, search=search), inputs)

    return builder


def _with_pins(outcome: Built, inputs: BuildInputs) -> Built:
    report = report_in(outcome)
    if report is None:
        return outcome
    turns = [row.turn_id for row in report.turns.rows if row.turn_id in inputs.pinned_turns]
    return reported(outcome, turns=attrs.evolve(report.turns, pinned=tuple(turns)))


def _wider(inputs: BuildInputs) -> BuildInputs:
    window = min(inputs.budget.window_tokens + 1, 2**64 - 1)
    return attrs.evolve(inputs, budget=attrs.evolve(inputs.budget, window_tokens=window))


def _without_system(inputs: BuildInputs) -> BuildInputs:
    return attrs.evolve(inputs, system=())


def by_its_own_counter(
    history: Projection, inputs: BuildInputs, counter: TokenCounter, *, strategy: Strategy, search: Search
) -> Built:
    """A builder that trusts one counter only."""
    return build(history, inputs, ByteHeuristicCounter(), strategy=strategy, search=search)


def in_its_own_way(
    history: Projection, inputs: BuildInputs, counter: TokenCounter, *, strategy: Strategy, search: Search
) -> Built:
    """A builder that bisects, whatever it says."""
    outcome = build(history, inputs, counter, strategy=strategy, search=Search.BISECT)
    return reported(outcome, search=search) if search is Search.LINEAR else outcome


MISSED: dict[str, tuple[str, ContextBuilder]] = {
    "pins": (
        "R1: the pinned turn",
        rebuilt(lambda inputs: attrs.evolve(inputs, pinned_turns=()), _with_pins),
    ),
    "window": (
        "B5: .* tokens in a window",
        rebuilt(_wider, lambda built, inputs: reported(built, budget=inputs.budget)),
    ),
    "model": (
        "B7: the last count was",
        rebuilt(
            lambda inputs: attrs.evolve(inputs, target=WithABound.target),
            lambda built, inputs: reported(built, target=inputs.target),
        ),
    ),
    "system": ("B3: the request", rebuilt(_without_system, lambda built, inputs: built)),
    "counter": ("B7: the last count was", by_its_own_counter),
    "search": ("B7: a linear search", in_its_own_way),
}


@pytest.mark.parametrize("missed", sorted(MISSED))
def test_a_builder_that_misses_a_change_is_caught_by_its_rule(missed: str) -> None:
    """Each of these builders does not see one thing that the machine changes."""
    law, builder_under_test = MISSED[missed]

    class Broken(WithABound):
        builder: ClassVar[ContextBuilder] = staticmethod(builder_under_test)

    with pytest.raises(AssertionError, match=f"^{law}"):
        ran(Broken)


@final
class Greedy:
    """A strategy that drops whatever it can name, some of it twice."""

    name = "greedy"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        drops = tuple(DropTurn(turn_id=c.turn_id) for c in candidates if isinstance(c, TurnCandidate))
        return Plan(base=drops, steps=tuple(PlanStep(reductions=(drop,)) for drop in drops[2:]))


def test_a_strategy_that_the_builder_refuses_is_caught() -> None:
    """It is taken at a later step than the first."""

    class Broken(BuildMachine):
        strategies: ClassVar[tuple[Strategy, ...]] = (OLDEST_TURN_FIRST, Greedy())

    with pytest.raises(AssertionError, match=r"^R1: the builder refused the plan"):
        ran(Broken)
