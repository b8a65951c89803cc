"""A state machine that grows a history and builds from it, for a host's counter, strategy or builder.

A host subclasses `BuildMachine`, names its parts, and takes its `TestCase`:

    class MyMachine(BuildMachine):
        target = ContextTarget(model="mine", template_revision="1")
        counters = (MyCounter,)
        strategies = (MyStrategy(),)

    TestMyParts = MyMachine.TestCase
"""
# Hypothesis' `rule` is typed to return a callable of any arguments.
# mypy: disallow-any-decorated=False

from collections.abc import Callable
from typing import ClassVar, Final

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)
from hypothesis.strategies import SearchStrategy

from jingwei.build import BuildInputs, BuiltContext, ContextBuilder, build
from jingwei.events.wire import session_log
from jingwei.ids import TurnId
from jingwei.items.failures import InvalidItem
from jingwei.limits import TOKENS_BOUND, Bound, LimitExceeded
from jingwei.messages.records import GenerationConstraint, ModelMessage, SystemMessage, UserMessage
from jingwei.messages.wire import constraint_bytes, message_bytes
from jingwei.outcome import Outcome, Success
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.report.failures import BuildFailure, ShapeInvalid
from jingwei.report.records import BuildReport
from jingwei.request.counting import ByteHeuristicCounter, TokenCounter
from jingwei.request.records import BudgetMode, BuildLimits, ContextBudget, ContextTarget, TokenBoundEvidence
from jingwei.results.failures import ViewContradiction
from jingwei.selection.records import InvalidPlan
from jingwei.selection.search import Search
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.testing import strategies as some
from jingwei.testing.conformance import check_build, windows
from jingwei.testing.machines import drawn

_LIMITS: Final = (Bound.GROUPS, Bound.TURNS, Bound.MESSAGES, Bound.INPUT_BYTES)
_ENDINGS = (some.Ending.SUCCESS, some.Ending.SUCCESS, some.Ending.UNSUCCESSFUL, some.Ending.ASIDE)


def _short_current() -> SearchStrategy[tuple[ModelMessage, ...]]:
    return some.current_messages(max_parts=1)


class BuildMachine(RuleBasedStateMachine):
    """Grows a history and changes pins, window, model, counter, strategy and search; builds after each step.

    Every answer is held to the laws of `check_build`, which counts the request again. A subclass may
    compare it with a second builder (`compare`).

    Attributes:
        target: for whom is counted at first, and mostly; every counter must know it.
        other_targets: for whom is counted now and then; a counter may refuse them.
        counters: makers of the counters to choose from; one is made anew for each build.
        strategies: the strategies to choose from.
        builder: the builder under test.
    """

    target: ClassVar[ContextTarget] = ContextTarget(model="m", template_revision="r1")
    other_targets: ClassVar[tuple[ContextTarget, ...]] = (
        ContextTarget(model="another", template_revision="r1"),
        ContextTarget(model="m", template_revision="r2"),
    )
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
        self.counted: tuple[int, ...] = ()

    def compare(self, outcome: Outcome[BuiltContext, BuildFailure]) -> None:
        """Called with each answer; a subclass may hold it against its own idea of the right one."""

    @initialize(
        target=turns, data=st.data(), endings=st.lists(st.sampled_from(_ENDINGS), min_size=1, max_size=6)
    )
    def begin(self, data: st.DataObject, endings: list[str]) -> MultipleResults[TurnId]:
        """There are a few turns already; the window is what some of them need."""
        added = self._append(data, endings)
        self._window_at_an_edge(data)
        return added

    @rule(target=turns, data=st.data(), endings=st.lists(st.sampled_from(_ENDINGS), min_size=1, max_size=3))
    def append(self, data: st.DataObject, endings: list[str]) -> MultipleResults[TurnId]:
        """One to three turns are added."""
        return self._append(data, endings)

    @rule(turn=turns)
    def pin(self, turn: TurnId) -> None:
        """A turn is pinned, if it was not."""
        if turn not in self.inputs.pinned_turns:
            self._change(pinned_turns=(*self.inputs.pinned_turns, turn))

    @precondition(lambda self: self.inputs.pinned_turns != ())
    @rule(number=st.integers(0, 99))
    def unpin(self, number: int) -> None:
        """One of the pinned turns is so no more."""
        pinned = self.inputs.pinned_turns
        gone = pinned[number % len(pinned)]
        self._change(pinned_turns=tuple([turn for turn in pinned if turn != gone]))

    @rule(data=st.data())
    def window_at_an_edge(self, data: st.DataObject) -> None:
        """The window is what some candidate needs, or one token less or more."""
        self._window_at_an_edge(data)

    @precondition(lambda self: self.counted != ())
    @rule(number=st.integers(0, 99), more=st.sampled_from((0, 0, -1, 1)))
    def window_as_counted(self, number: int, more: int) -> None:
        """The window is what an attempt of the last build needed, or one token less or more."""
        window = max(1, self.counted[number % len(self.counted)] + more)
        self._change(budget=attrs.evolve(self.inputs.budget, window_tokens=min(window, TOKENS_BOUND - 1)))

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

    @rule(bound=st.sampled_from(_LIMITS), more=st.sampled_from((0, 0, -1, 1)))
    def limit(self, bound: Bound, more: int) -> None:
        """One limit is what the inputs come to, or one less or more; the others are as by default."""
        own = [*(SystemMessage(content=text) for text in self.inputs.system), *self.inputs.current]
        size = sum(map(message_bytes, own)) + constraint_bytes(self.inputs.constraint)
        actual = {
            Bound.GROUPS: self.history.group_count,
            Bound.TURNS: len(self.history.turns),
            Bound.MESSAGES: self.history.message_count + len(own),
            Bound.INPUT_BYTES: self.history.canonical_bytes + size,
        }
        limits = attrs.evolve(BuildLimits(), **{f"max_{bound.value}": max(0, actual[bound] + more)})
        self._change(limits=limits)

    @rule(
        current=drawn(_short_current),
        system=st.lists(drawn(some.texts), max_size=2),
        constraint=drawn(some.constraints),
    )
    def required(
        self, current: tuple[ModelMessage, ...], system: list[str], constraint: GenerationConstraint
    ) -> None:
        """What is no candidate changes."""
        self._change(current=current, system=tuple(system), constraint=constraint)

    @rule(number=st.integers(0, 99))
    def change_model(self, number: int) -> None:
        """The request is for another model or template; every other time for `target` again."""
        others = self.other_targets
        away = self.inputs.target == self.target and others
        self._change(target=others[number % len(others)] if away else self.target)

    @rule(number=st.integers(0, 99))
    def change_counter(self, number: int) -> None:
        """Another counter is taken."""
        self.counter = self.counters[number % len(self.counters)]

    @rule(number=st.integers(0, 99))
    def change_strategy(self, number: int) -> None:
        """Another strategy is taken."""
        self.strategy = self.strategies[number % len(self.strategies)]

    @rule(search=st.sampled_from(Search))
    def change_search(self, search: Search) -> None:
        """Another search is taken."""
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
        report = report_in(outcome)
        self.counted = () if report is None else tuple([one.total_reserved for one in report.attempts])
        self.compare(outcome)

    def _append(self, data: st.DataObject, endings: list[str]) -> MultipleResults[TurnId]:
        added = list[TurnId]()
        for ending in endings:
            turn_id = TurnId(f"t{self.ended}")
            drawn = data.draw(some.legal_turns(f"r{self.ended}", ending, 2))
            self.steps += [(turn_id, step) for step in drawn]
            self.ended += 1
            added.append(turn_id)
        self.history = self._projected()
        return multiple(*added)

    def _window_at_an_edge(self, data: st.DataObject) -> None:
        window = data.draw(windows(self.history, self.inputs, self.counter()))
        self._change(budget=attrs.evolve(self.inputs.budget, window_tokens=window))

    def _projected(self) -> Projection:
        outcome = project(some.SESSION, session_log(some.placed(self.steps)))
        assert isinstance(outcome, Success), outcome
        return outcome.unwrap()

    def _change(self, **changes: object) -> None:
        self.inputs = attrs.evolve(self.inputs, **changes)  # type: ignore[arg-type]


def report_in(outcome: Outcome[BuiltContext, BuildFailure]) -> BuildReport | None:
    """The report that an answer carries; None where nothing was counted, nor could be."""
    if isinstance(outcome, Success):
        return outcome.unwrap().report
    failure = outcome.failure()
    return (
        None
        if isinstance(failure, LimitExceeded | ShapeInvalid | InvalidPlan | InvalidItem | ViewContradiction)
        else failure.report
    )
