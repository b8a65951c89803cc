"""The projection machine accepts `project`, and catches broken projectors, each by the number of a rule."""

import itertools
from collections.abc import Callable, Iterator
from typing import ClassVar, TypeAlias, cast

import attrs
import pytest
from typing_extensions import override

from jingwei.events.records import ModeDecided, SessionLog
from jingwei.events.wire import session_log
from jingwei.ids import EventId, TurnId
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.records import UserMessage
from jingwei.outcome import Failure, Success
from jingwei.persistent import vector
from jingwei.projection.failures import (
    InvalidConfig,
    InvalidConfigReason,
    Malformed,
    MissingReply,
    ProjectionFailure,
    Unconfirmed,
)
from jingwei.projection.project import project
from jingwei.projection.records import (
    DEFAULT_CONFIG,
    LegacyReplies,
    OmissionReason,
    ProjectedState,
    ProjectedTurn,
    Projection,
    ProjectionConfig,
)
from jingwei.testing.projection_machine import Projected, ProjectionMachine
from jingwei.testing.strategies import SESSION
from tests.testing.test_machines import ran

Projector: TypeAlias = Callable[[SessionLog, ProjectionConfig], Projected]


def by_itself(made: Callable[[], Projector]) -> type[ProjectionMachine]:
    """The machine over a projector that is made anew for each log, without a reference to compare with."""

    class Broken(ProjectionMachine):
        def __init__(self) -> None:
            super().__init__()
            self.projector = made()

        @override
        def project(self, log: SessionLog, config: ProjectionConfig) -> Projected:
            return self.projector(log, config)

        @override
        def judge(self, log: SessionLog, config: ProjectionConfig) -> None:
            pass

    return Broken


def right(log: SessionLog, config: ProjectionConfig) -> Projected:
    """What `project` says of the session."""
    return project(SESSION, log, config)


def mapped(outcome: Projected, change: Callable[[Projection], Projection]) -> Projected:
    """A failure as it is, a projection changed."""
    return Success(change(outcome.unwrap())) if isinstance(outcome, Success) else outcome


def altered(change: Callable[[ProjectionFailure, SessionLog], ProjectionFailure]) -> Callable[[], Projector]:
    """A projector that gets its failures wrong."""

    def projected(log: SessionLog, config: ProjectionConfig) -> Projected:
        outcome = right(log, config)
        return Failure(change(outcome.failure(), log)) if isinstance(outcome, Failure) else outcome

    return lambda: projected


def changing(change: Callable[[Projection], Projection]) -> Callable[[], Projector]:
    """A projector that gets its projections wrong."""
    return lambda: lambda log, config: mapped(right(log, config), change)


def last_turn(change: Callable[[ProjectedTurn], ProjectedTurn]) -> Callable[[Projection], Projection]:
    """A change of the last turn, where there is one."""

    def changed(projection: Projection) -> Projection:
        turns = projection.turns
        return attrs.evolve(projection, turns=vector((*turns[:-1], *map(change, turns[-1:]))))

    return changed


def test_project_keeps_the_laws() -> None:
    """The first user of the machine is `project`; its reference is itself."""
    ran(ProjectionMachine, examples=40)


def test_a_first_configuration_that_is_wrong_ends_all_the_same() -> None:
    """No log has hope under it, the empty one included."""

    class Hopeless(ProjectionMachine):
        configurations: ClassVar[tuple[ProjectionConfig, ...]] = (ProjectionConfig(max_events=0),)

    ran(Hopeless, examples=10)


def test_the_reference_decides_what_no_law_does() -> None:
    """A projector that calls every unsuccessful reply an audit event keeps all laws, and is none."""

    def audited(projection: Projection) -> Projection:
        omitted = [
            attrs.evolve(one, reason=OmissionReason.AUDIT)
            if one.reason is OmissionReason.UNSUCCESSFUL_REPLY
            else one
            for one in projection.omitted
        ]
        return attrs.evolve(projection, omitted=vector(omitted))

    class Audited(ProjectionMachine):
        @override
        def project(self, log: SessionLog, config: ProjectionConfig) -> Projected:
            return mapped(right(log, config), audited)

    ran(by_itself(changing(audited)), examples=40)
    with pytest.raises(AssertionError, match=r"^\(<Success"):
        ran(Audited)


# --- one log alone --------------------------------------------------------------------------------


def _forgets_an_omission(projection: Projection) -> Projection:
    return attrs.evolve(projection, omitted=projection.omitted.first(len(projection.omitted) - 1))


def _omits_what_is_grouped(projection: Projection) -> Projection:
    grouped = {name for group in projection.groups for name in group.source_events}
    first = [one for one in projection.omitted if one.event_id not in grouped][:1]
    again = [attrs.evolve(one, event_id=EventId("e0"), seq=0) for one in first if one.seq > 0]
    return attrs.evolve(projection, omitted=vector((*again, *projection.omitted)))


def _strays(turn: ProjectedTurn) -> ProjectedTurn:
    groups = tuple(attrs.evolve(group, turn_id=TurnId("t1")) for group in turn.groups)
    return attrs.evolve(turn, groups=groups)


def _unordered(projection: Projection) -> Projection:
    return attrs.evolve(projection, omitted=vector(projection.omitted[::-1]))


def _miscounted(projection: Projection) -> Projection:
    omitted = tuple(attrs.evolve(one, seq=one.seq + 1) for one in projection.omitted)
    return attrs.evolve(projection, omitted=vector(omitted))


def _turns_without_groups_lost(projection: Projection) -> Projection:
    return attrs.evolve(projection, turns=vector(turn for turn in projection.turns if turn.groups))


ALONE: dict[str, tuple[str, Callable[[Projection], Projection]]] = {
    "a lost turn": ("P3: the runs", _turns_without_groups_lost),
    "a stray group": ("P9: sources of another turn", last_turn(_strays)),
    "a forgotten omission": ("P9: each event once", _forgets_an_omission),
    "a doubled event": ("P9: each event once", _omits_what_is_grouped),
    "a wrong seq": ("P9: seq", _miscounted),
    "a wrong order": ("P9: omissions are not", _unordered),
    "a wrong count": ("P11: of", lambda p: attrs.evolve(p, source_event_count=len(p.omitted))),
    "a wrong tail": ("P11: the tail", lambda p: attrs.evolve(p, source_tail=EventId("e0"))),
    "wrong groups": ("P11: groups", lambda p: attrs.evolve(p, group_count=len(p.turns))),
    "wrong messages": ("P11: groups", lambda p: attrs.evolve(p, message_count=p.group_count)),
    "wrong bytes": ("P11: groups", lambda p: attrs.evolve(p, canonical_bytes=40 * p.message_count)),
}


@pytest.mark.parametrize("name", sorted(ALONE))
def test_a_wrong_projection_is_caught_by_its_rule(name: str) -> None:
    """No second log is needed to see that it is wrong."""
    law, change = ALONE[name]

    with pytest.raises(AssertionError, match=f"^{law}"):
        ran(by_itself(changing(change)))


# --- one log twice --------------------------------------------------------------------------------


def _by_what_it_remembers() -> Projector:
    """Answers a log of a length that it has seen as it did then."""
    answers = dict[tuple[int, ProjectionConfig], Projected]()
    return lambda log, config: answers.setdefault((len(log.events), config), right(log, config))


def _by_the_bound() -> Projector:
    """Holds the input bytes against what is known of the log, not against what they are."""

    def projected(log: SessionLog, config: ProjectionConfig) -> Projected:
        size, limit = log.bytes_at_most, config.max_input_bytes
        if size <= limit or len(log.events) > config.max_events:
            return right(log, config)
        return Failure(LimitExceeded(what=Bound.INPUT_BYTES, limit=limit, actual=size))

    return projected


def _in_turns() -> Projector:
    """Says `true`, then 1, which is equal to it and written differently."""
    said = cast(Iterator[bool], itertools.cycle((True, 1)))

    def spoiled(turn: ProjectedTurn) -> ProjectedTurn:
        flag = next(said)
        return attrs.evolve(turn, missing_complete_reply=flag) if turn.missing_complete_reply else turn

    return lambda log, config: mapped(right(log, config), last_turn(spoiled))


def test_a_memory_by_length_is_caught() -> None:
    """A log that was cut and grown again is another log; which law sees it first is left open."""
    with pytest.raises(AssertionError, match=r"^P\d+: "):
        ran(by_itself(_by_what_it_remembers))


@pytest.mark.parametrize(("law", "made"), [("gives <", _by_the_bound), ("gives the bytes", _in_turns)])
def test_an_answer_by_mood_is_caught(law: str, made: Callable[[], Projector]) -> None:
    """An equal log must give an equal record, and equal bytes."""
    with pytest.raises(AssertionError, match=f"^P12: the same log {law}"):
        ran(by_itself(made))


# --- a log and its prefixes -----------------------------------------------------------------------


def _reads_again(projection: Projection) -> Projection:
    """Takes a reply that is missing for granted as soon as a later turn begins."""
    turns = [attrs.evolve(turn, missing_complete_reply=False) for turn in projection.turns[:-1]]
    return attrs.evolve(projection, turns=vector((*turns, *projection.turns[-1:])))


def _shares_no_sources(projection: Projection) -> Projection:
    return attrs.evolve(projection, sources=vector(projection.sources[-1:]))


def _trims_what_is_answered(turn: ProjectedTurn) -> ProjectedTurn:
    if turn.state is ProjectedState.OPEN or not turn.groups:
        return turn
    first = turn.groups[0]
    message = first.messages[0]
    if not isinstance(message, UserMessage) or message.content == message.content.strip("o"):
        return turn
    trimmed = attrs.evolve(message, content=message.content.strip("o"))
    return attrs.evolve(turn, groups=(attrs.evolve(first, messages=(trimmed,)), *turn.groups[1:]))


def _summed(projection: Projection) -> Projection:
    turns = [_trims_what_is_answered(turn) for turn in projection.turns]
    less = sum(
        len(old.messages[0].content or "") - len(new.messages[0].content or "")
        for old, new in zip(projection.turns, turns, strict=True)
        if old.messages
    )
    return attrs.evolve(projection, turns=vector(turns), canonical_bytes=projection.canonical_bytes - less)


def _thinks_again(projection: Projection) -> Projection:
    """Takes all audit for a model's as soon as there are two turns."""
    if len(projection.turns) < 2:
        return projection
    omitted = [attrs.evolve(one, reason=OmissionReason.MODEL_AUDIT) for one in projection.omitted]
    return attrs.evolve(projection, omitted=vector(omitted))


def _mends() -> Projector:
    """Takes a malformed event for audit once another one follows."""

    def projected(log: SessionLog, config: ProjectionConfig) -> Projected:
        outcome, events = right(log, config), list(log.events)
        failure = outcome.failure() if isinstance(outcome, Failure) else None
        if not isinstance(failure, Malformed) or failure.seq == len(events) - 1:
            return outcome
        note = ModeDecided(mode="", decided_by="", reason="")
        events[failure.seq] = attrs.evolve(events[failure.seq], kind=note)
        mended = right(session_log(events), config)
        return mended if isinstance(mended, Success) else outcome

    return projected


def _says_the_last(failure: ProjectionFailure, log: SessionLog) -> ProjectionFailure:
    """Names the last event where the first that is wrong should be named."""
    return attrs.evolve(failure, seq=len(log.events) - 1) if isinstance(failure, Malformed) else failure


def _gives_way(failure: ProjectionFailure, log: SessionLog) -> ProjectionFailure:
    """Says a late failure in the place of a limit, now and then."""
    is_odd = isinstance(failure, LimitExceeded) and failure.actual % 2
    return MissingReply(turn_id=TurnId("t1")) if is_odd else failure


def _calm(failure: ProjectionFailure, log: SessionLog) -> ProjectionFailure:
    return attrs.evolve(failure, unterminated=False) if isinstance(failure, Unconfirmed) else failure


def _blames_the_host(failure: ProjectionFailure, log: SessionLog) -> ProjectionFailure:
    """Says an early failure in the place of a late one, but not at once."""
    is_later = isinstance(failure, Malformed) and failure.seq < len(log.events) - 1
    return InvalidConfig(reason=InvalidConfigReason.ZERO_MAX_EVENTS) if is_later else failure


def _refuses_open_turns() -> Projector:
    def projected(log: SessionLog, config: ProjectionConfig) -> Projected:
        outcome = right(log, config)
        if isinstance(outcome, Success) and log.events:
            last = outcome.unwrap().turns[-1]
            if last.state is ProjectedState.OPEN:
                open_turn = Unconfirmed(
                    turn_id=last.turn_id, open_tool_calls=(), open_model_calls=(), unterminated=True
                )
                return Failure(open_turn)
        return outcome

    return projected


def _refuses_lonely_turns() -> Projector:
    """Calls a log of one whole turn a log without a reply."""

    def projected(log: SessionLog, config: ProjectionConfig) -> Projected:
        outcome = right(log, config)
        turns = tuple(outcome.unwrap().turns) if isinstance(outcome, Success) else ()
        if len(turns) == 1 and turns[0].terminal_event is not None:
            return Failure(MissingReply(turn_id=turns[0].turn_id))
        return outcome

    return projected


GROWING: dict[str, tuple[str, Callable[[], Projector]]] = {
    "a closed turn read again": ("P7: a closed turn", changing(_reads_again)),
    "sources of the last turn alone": ("P7: other sources", changing(_shares_no_sources)),
    "an open turn trimmed later": ("P7: an open turn", changing(_summed)),
    "an omission seen anew": ("P9: omitted were", changing(_thinks_again)),
    "a mended failure": (r"P2: SessionEvent\(.* mended", _mends),
    "the last failure": ("P2: Malformed.* became Malformed", altered(_says_the_last)),
    "a limit that gives way": ("P2: LimitExceeded.* became MissingReply", altered(_gives_way)),
    "a late complaint": ("P2: Malformed.* became InvalidConfig", altered(_blames_the_host)),
    "a turn cut calmly": ("P5: cut inside", altered(_calm)),
    "no open turns": ("P5: a turn of its user message", _refuses_open_turns),
    "no lonely turns": ("P5: cut after a whole turn", _refuses_lonely_turns),
}


@pytest.mark.parametrize("name", sorted(GROWING))
def test_a_projector_that_forgets_its_prefixes_is_caught_by_its_rule(name: str) -> None:
    """Each of these answers is possible by itself; together they are not."""
    law, made = GROWING[name]

    with pytest.raises(AssertionError, match=f"^{law}"):
        ran(by_itself(made))


# --- several configurations -----------------------------------------------------------------------


def _by_patience(log: SessionLog, config: ProjectionConfig) -> Projected:
    """Forgets how a turn ended where few messages are allowed."""

    def ended(turn: ProjectedTurn) -> ProjectedTurn:
        return attrs.evolve(turn, state=ProjectedState.COMPLETED)

    outcome = right(log, config)
    return mapped(outcome, last_turn(ended)) if config.legacy_replies is LegacyReplies.REJECT else outcome


def _of_no_default(log: SessionLog, config: ProjectionConfig) -> Projected:
    """Allows three events where the limit is the default one."""
    if config == DEFAULT_CONFIG and len(log.events) > 3:
        return Failure(LimitExceeded(what=Bound.EVENTS, limit=3, actual=len(log.events)))
    return right(log, config)


@pytest.mark.parametrize(
    ("law", "projector"),
    [("P1: .* project the same log differently", _by_patience), ("P1: .* admits what", _of_no_default)],
)
def test_a_configuration_that_decides_what_is_projected_is_caught(law: str, projector: Projector) -> None:
    """It may decide whether a log is projected, and nothing else."""
    with pytest.raises(AssertionError, match=f"^{law}"):
        ran(by_itself(lambda: projector))
