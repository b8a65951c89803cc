"""A log that grows by legal and illegal events, seen by the code and by the naive model after each."""

from hypothesis import settings
from typing_extensions import override

from jingwei.events.records import SessionLog
from jingwei.outcome import Failure
from jingwei.projection.records import ProjectionConfig
from jingwei.projection.wire import projection_value
from jingwei.testing.machines import LogMachine
from jingwei.testing.strategies import SESSION
from properties.models import model_project, plain_config, plain_event, plain_failure, plain_text


class AgainstTheModel(LogMachine):
    """The reference is the naive model, compared fact for fact and, where it projects, byte for byte."""

    @override
    def judge(self, log: SessionLog, config: ProjectionConfig) -> None:
        expected = model_project(SESSION, [plain_event(event) for event in log.events], plain_config(config))
        outcome = self.project(log, config)

        if isinstance(outcome, Failure):
            assert expected == {"failure": plain_failure(outcome.failure())}
        else:
            assert plain_text(expected) == plain_text({"ok": projection_value(outcome.unwrap())})


TestLogMachine = AgainstTheModel.TestCase
TestLogMachine.settings = settings.get_profile("machines")
