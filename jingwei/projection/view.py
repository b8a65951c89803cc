"""A projection that grows with its log (rule P13)."""

from typing import final

import attrs

from jingwei.events.records import SessionLog
from jingwei.events.turns import TurnState
from jingwei.ids import SessionId
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.advance import Emitted, ProjectionState, Walk, advance, initial_state
from jingwei.projection.failures import ProjectionFailure
from jingwei.projection.records import DEFAULT_CONFIG, Projection, ProjectionConfig
from jingwei.projection.split import SplitProjection


@final
@attrs.frozen(kw_only=True)
class ProjectionView:
    """A log as far as it has come, projected: immutable, so that old views stay what they are.

    `start_view` makes the first. Each shares with the one before all that it held already; appending
    costs what the piece costs, whatever the length of the history.

    Attributes:
        state: what the next piece starts from.
        emitted: what is final.
    """

    state: ProjectionState
    emitted: Emitted = Emitted()

    def advanced(self, piece: SessionLog) -> "ProjectionView":
        """The view after any number of further events. Total: a failed view counts on."""
        after = advance(self.state, piece)
        emitted = self.emitted
        if after.turns:
            emitted = emitted.extended(after.turns, after.omitted)
        return ProjectionView(state=after.state, emitted=emitted)

    def projection(self) -> Outcome[Projection, ProjectionFailure]:
        """Exactly what `project` gives for all events so far: success or failure, and which failure.

        Costs no more than the last turn, and nothing that grows with the history.
        """
        failure = self.state.failure
        return Walk(self.state).finished(self.emitted) if failure is None else Failure(failure)

    def running(self) -> Outcome[SplitProjection, ProjectionFailure]:
        """The closed turns and what the running one says so far, for a model call in mid-turn.

        There `project` rightly answers `Unconfirmed`. `history` is what `project` gives for the log up to
        the end of the last closed turn, source tail and count with it; `current` holds the running turn's
        user message and its exchanges up to the first open call (P7). Where no turn runs, and where the last
        one is in quarantine, `current` is empty and `history` is `projection()`; so is a failure.
        """
        turn = self.state.turn
        runs = turn is not None and not (turn.settled or turn.damaged or turn.state is TurnState.CLOSED)
        if self.state.failure is None and turn is not None and runs:
            history = Walk(self.state).projection(self.emitted, turn.start, turn.before)
            current = tuple([message for group in turn.groups for message in group.messages])
            return Success(SplitProjection(history=history, current=current))
        match self.projection():
            case Success(history):
                return Success(SplitProjection(history=history, current=()))
            case Failure() as failed:
                return failed


def start_view(session_id: SessionId, config: ProjectionConfig = DEFAULT_CONFIG) -> ProjectionView:
    """The view of an empty log."""
    return ProjectionView(state=initial_state(session_id, config))
