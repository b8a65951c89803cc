"""The log machine accepts `project`, and catches projectors that differ from it."""

import attrs
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from typing_extensions import override

from jingwei.events.failures import DuplicateEventId
from jingwei.events.records import SessionLog
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import vector
from jingwei.projection.failures import Malformed, MissingReply, ProjectionFailure
from jingwei.projection.project import project
from jingwei.projection.records import LegacyReplies, Projection, ProjectionConfig
from jingwei.testing import strategies
from jingwei.testing.machines import LogMachine


def ran(machine: type[RuleBasedStateMachine], examples: int = 1000) -> None:
    """Run a machine, always over the same examples, and leave what it finds as large as it is."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_project_keeps_to_itself() -> None:
    """The reference of the machine is `project`, which equals itself after every step."""
    ran(LogMachine, examples=40)


class _Spoiled(LogMachine):
    """A machine whose projector may say something else than `project`."""

    def spoil(
        self, outcome: Outcome[Projection, ProjectionFailure], log: SessionLog, config: ProjectionConfig
    ) -> Outcome[Projection, ProjectionFailure]:
        """What it says."""
        return outcome

    @override
    def project(self, log: SessionLog, config: ProjectionConfig) -> Outcome[Projection, ProjectionFailure]:
        return self.spoil(project(strategies.SESSION, log, config), log, config)


class OnceIsEnough(_Spoiled):
    """Overlooks an event id that was used before."""

    @override
    def spoil(
        self, outcome: Outcome[Projection, ProjectionFailure], log: SessionLog, config: ProjectionConfig
    ) -> Outcome[Projection, ProjectionFailure]:
        if isinstance(outcome, Failure) and isinstance(outcome.failure(), DuplicateEventId):
            return project(strategies.SESSION, attrs.evolve(log, events=log.events[:-1]), config)
        return outcome


class LastWord(_Spoiled):
    """Names the last failure of a log, not the first."""

    @override
    def spoil(
        self, outcome: Outcome[Projection, ProjectionFailure], log: SessionLog, config: ProjectionConfig
    ) -> Outcome[Projection, ProjectionFailure]:
        failure = outcome.failure() if isinstance(outcome, Failure) else None
        if not isinstance(failure, Malformed) or failure.seq == len(log.events) - 1:
            return outcome
        last = log.events[-1]
        named = attrs.evolve(failure, seq=last.seq, event_id=last.event_id, turn_id=last.turn_id)
        return Failure(named)


class Lenient(_Spoiled):
    """Keeps a turn without a reply whatever the configuration says."""

    @override
    def spoil(
        self, outcome: Outcome[Projection, ProjectionFailure], log: SessionLog, config: ProjectionConfig
    ) -> Outcome[Projection, ProjectionFailure]:
        if isinstance(outcome, Failure) and isinstance(outcome.failure(), MissingReply):
            omitting = attrs.evolve(config, legacy_replies=LegacyReplies.OMIT)
            return project(strategies.SESSION, log, omitting)
        return outcome


class HalfAnExchange(_Spoiled):
    """Loses the result of a tool that was called."""

    @override
    def spoil(
        self, outcome: Outcome[Projection, ProjectionFailure], log: SessionLog, config: ProjectionConfig
    ) -> Outcome[Projection, ProjectionFailure]:
        if isinstance(outcome, Failure):
            return outcome
        turns = [
            attrs.evolve(
                turn,
                groups=tuple(attrs.evolve(group, messages=group.messages[:1]) for group in turn.groups),
            )
            for turn in outcome.unwrap().turns
        ]
        return Success(attrs.evolve(outcome.unwrap(), turns=vector(turns)))


@pytest.mark.parametrize("machine", [OnceIsEnough, LastWord, Lenient, HalfAnExchange])
def test_a_projector_that_differs_is_caught(machine: type[LogMachine]) -> None:
    """Each of these differs from `project` in one rule."""
    with pytest.raises(AssertionError, match=r"^\(<"):
        ran(machine)
