"""From a log to a projection, all at once (rules P1 to P12)."""

from typing import Protocol

from jingwei.events.log import check_log
from jingwei.events.records import SessionLog
from jingwei.ids import SessionId
from jingwei.outcome import Failure, Outcome
from jingwei.projection.advance import Emitted, Walk, config_failure, initial_state, log_limit_failure
from jingwei.projection.failures import ProjectionFailure
from jingwei.projection.records import DEFAULT_CONFIG, Projection, ProjectionConfig


class ConversationProjector(Protocol):
    """What a host may put in the place of `project`; the property suite is its contract too."""

    def __call__(
        self, session_id: SessionId, log: SessionLog, config: ProjectionConfig
    ) -> Outcome[Projection, ProjectionFailure]:
        """Project one whole log."""
        ...


def project(
    session_id: SessionId,
    log: SessionLog,
    config: ProjectionConfig = DEFAULT_CONFIG,
) -> Outcome[Projection, ProjectionFailure]:
    """The projection of a whole log, or the first rule that it breaks (P1 to P12).

    Order of the checks (P2): configuration, number of events, input bytes, physical order (L1),
    then turn by turn (P3 to P6, P10). Pure, linear in the log; nothing is repaired or shortened.
    A log that grows is projected piece by piece by a `ProjectionView` (P13), with the same answers.
    """
    refused = config_failure(session_id, config) or log_limit_failure(log, config)
    if refused is not None:
        return Failure(refused)
    checked = check_log(session_id, log)
    if isinstance(checked, Failure):
        return checked
    walk = Walk(initial_state(session_id, config))
    failure = walk.take(log.events)
    return walk.finished(Emitted()) if failure is None else Failure(failure)
