"""A state machine that grows a history and builds from it, for a host's counter, strategy or builder.

A host subclasses `BuildMachine`, names its parts, and takes its `TestCase`:

    class MyMachine(BuildMachine):
        counters = (MyCounter,)
        strategies = (MyStrategy(),)

    TestMyParts = MyMachine.TestCase
"""
# Hypothesis' `rule` is typed to return a callable of any arguments.
# mypy: disallow-any-decorated=False

from collections.abc import Callable
from typing import ClassVar

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, invariant, multiple, rule

from jingwei.build import BuildInputs, BuiltContext, ContextBuilder, build
from jingwei.events.wire import session_log
from jingwei.ids import TurnId
from jingwei.messages.records import GenerationConstraint, ModelMessage, UserMessage
from jingwei.outcome import Outcome, Success
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.report.failures import BuildFailure
from jingwei.request.counting import ByteHeuristicCounter, TokenCounter
from jingwei.request.records import BudgetMode, BuildLimits, ContextBudget, ContextTarget, TokenBoundEvidence
from jingwei.selection.search import Search
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.testing import strategies as some
from jingwei.testing.conformance import check_build, windows

_ENDINGS = (some.Ending.SUCCESS, some.Ending.SUCCESS, some.Ending.UNSUCCESSFUL, some.Ending.ASIDE)


class BuildMachine(RuleBasedStateMachine):
    """Appends turns, pins, unpins, changes window, counter, strategy and search; builds after each step.

    Every answer is held to the laws of `check_build`. A subclass may compare it with a second builder
    (`compare`).

    Attributes:
        target: for whom is counted; every counter must know it.
        counters: makers of the counters to choose from; one is made anew for each build.
        strategies: the strategies to choose from.
        builder: the builder under test.
    """

    target: ClassVar[ContextTarget] = ContextTarget(model="m", template_revision="r1")
    counters: ClassVar[tuple[Callable[[], TokenCounter], ...]] = (ByteHeuristicCounter,)
    strategies: ClassVar[tuple[Strategy, ...]] = (OLDEST_TURN_FIRST,)
    builder: ClassVar[ContextBuilder] = staticmethod(build)

    turns: Bundle[TurnId] = Bundle("turns")

    def __init__(self) -> None:
        super().__init__()
        self.steps = list[tuple[str, some.Step]]()
        self.history = self._projected()
        self.inputs = BuildInputs(
            current=(UserMessage(content="and now?"),),
            target=self.target,
            budget=ContextBudget(window_tokens=1000, output_reserve=1),
        )
        self.counter: Callable[[], TokenCounter] = self.counters[0]
        self.strategy: Strategy = self.strategies[0]
        self.search = Search.AUTO
        self.ended = 0

    def compare(self, outcome: Outcome[BuiltContext, BuildFailure]) -> None:
        """Called with each answer; a subclass may hold it against its own idea of the right one."""

    @rule(target=turns, data=st.data(), endings=st.lists(st.sampled_from(_ENDINGS), min_size=1, max_size=3))
    def append(self, data: st.DataObject, endings: list[str]) -> MultipleResults[TurnId]:
        """One to three turns are added."""
        added = list[TurnId]()
        for ending in endings:
            turn_id = TurnId(f"t{self.ended}")
            drawn = data.draw(some.legal_turns(f"r{self.ended}", ending, 2))
            self.steps += [(turn_id, step) for step in drawn]
            self.ended += 1
            added.append(turn_id)
        self.history = self._projected()
        return multiple(*added)

    @rule(turn=turns)
    def pin(self, turn: TurnId) -> None:
        """A turn is pinned, or unpinned if it was."""
        pinned = self.inputs.pinned_turns
        kept = tuple([other for other in pinned if other != turn])
        self._change(pinned_turns=kept if turn in pinned else (*pinned, turn))

    @rule(data=st.data())
    def window_at_an_edge(self, data: st.DataObject) -> None:
        """The window is what some candidate needs, or one token less or more."""
        window = data.draw(windows(self.history, self.inputs, self.counter()))
        self._change(budget=attrs.evolve(self.inputs.budget, window_tokens=window))

    @rule(window=st.sampled_from((1, 50, 2**64 - 1)) | st.integers(1, 2000))
    def window(self, window: int) -> None:
        """The window is anything."""
        self._change(budget=attrs.evolve(self.inputs.budget, window_tokens=window))

    @rule(reserve=st.integers(1, 60), margin=st.integers(0, 60))
    def reserve(self, reserve: int, margin: int) -> None:
        """Reserve and margin change."""
        self._change(budget=attrs.evolve(self.inputs.budget, output_reserve=reserve, safety_margin=margin))

    @rule(mode=st.sampled_from(BudgetMode))
    def mode(self, mode: BudgetMode) -> None:
        """The budget becomes soft or hard."""
        evidence = TokenBoundEvidence.VERIFIED_UPPER_BOUND
        self._change(budget=attrs.evolve(self.inputs.budget, mode=mode, output_evidence=evidence))

    @rule(calls=st.just(128) | st.integers(1, 6))
    def count_calls(self, calls: int) -> None:
        """More or fewer counts are allowed."""
        self._change(limits=BuildLimits(max_count_calls=calls))

    @rule(
        current=some.current_messages(max_parts=1),
        system=st.lists(some.texts(), max_size=2),
        constraint=some.constraints(),
    )
    def required(
        self, current: tuple[ModelMessage, ...], system: list[str], constraint: GenerationConstraint
    ) -> None:
        """What is no candidate changes."""
        self._change(current=current, system=tuple(system), constraint=constraint)

    @rule(counter=st.integers(0, 99), strategy=st.integers(0, 99), search=st.sampled_from(Search))
    def parts(self, counter: int, strategy: int, search: Search) -> None:
        """Another counter, strategy and search are taken."""
        self.counter = self.counters[counter % len(self.counters)]
        self.strategy = self.strategies[strategy % len(self.strategies)]
        self.search = search

    @invariant()
    def builds(self) -> None:
        """Whatever has changed: the build succeeds by its laws or fails by them."""
        outcome = check_build(
            self.builder,
            self.history,
            self.inputs,
            self.counter(),
            strategy=self.strategy,
            search=self.search,
        )
        self.compare(outcome)

    def _projected(self) -> Projection:
        outcome = project(some.SESSION, session_log(some.placed(self.steps)))
        assert isinstance(outcome, Success), outcome
        return outcome.unwrap()

    def _change(self, **changes: object) -> None:
        self.inputs = attrs.evolve(self.inputs, **changes)  # type: ignore[arg-type]
