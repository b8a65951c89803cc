"""A log that grows and is cut anywhere, seen by the code, by itself and by the naive model."""

from hypothesis import settings
from typing_extensions import override

from jingwei.events.records import SessionLog
from jingwei.outcome import Failure
from jingwei.projection.records import ProjectionConfig
from jingwei.projection.wire import projection_value
from jingwei.testing.projection_machine import ProjectionMachine
from jingwei.testing.strategies import SESSION
from properties.models import model_outcome_of, plain_failure, plain_text


class CutAnywhere(ProjectionMachine):
    """Every prefix keeps the laws between prefixes, and equals the naive model byte for byte."""

    @override
    def judge(self, log: SessionLog, config: ProjectionConfig) -> None:
        expected = model_outcome_of(SESSION, log, config)
        outcome = self.project(log, config)

        if isinstance(outcome, Failure):
            assert expected == {"failure": plain_failure(outcome.failure())}
        else:
            assert plain_text(expected) == plain_text({"ok": projection_value(outcome.unwrap())})


TestProjectionMachine = CutAnywhere.TestCase
TestProjectionMachine.settings = settings.get_profile("machines")
