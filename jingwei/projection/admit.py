"""The one door for projections from outside (rule B2): checked once, measured anew, then believed."""

from itertools import groupby

from jingwei.ids import is_blank
from jingwei.messages.records import AssistantMessage, ToolMessage, UserMessage
from jingwei.messages.shape import messages_failure
from jingwei.messages.wire import message_bytes
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import vector
from jingwei.projection.failures import AdmissionReason, NotAdmitted
from jingwei.projection.records import (
    ALGORITHM_VERSION,
    ForeignGroup,
    ForeignProjection,
    Group,
    GroupKind,
    ProjectedState,
    Projection,
    turn_of,
)


def admit_projection(foreign: ForeignProjection) -> Outcome[Projection, NotAdmitted]:
    """A projection that `build` accepts, or the first history check of B2 that fails.

    Order: the version, then the turns (blank, doubled), then the groups (unknown turn, out of turn
    order, without sources, of a turn in quarantine, messages that do not match the kind). Not checked,
    since no log is at hand: that the sources exist and that the omissions are complete.
    """
    failure = version_failure(foreign) or turns_failure(foreign) or groups_failure(foreign)
    return Success(admitted(foreign)) if failure is None else Failure(failure)


def version_failure(foreign: ForeignProjection) -> NotAdmitted | None:
    """Another algorithm may mean something else by the same words."""
    if foreign.algorithm_version == ALGORITHM_VERSION:
        return None
    reason = AdmissionReason.UNSUPPORTED_PROJECTION_VERSION
    return NotAdmitted(reason=reason, path="/algorithm_version")


def turns_failure(foreign: ForeignProjection) -> NotAdmitted | None:
    """The first turn whose id is blank or was used by an earlier one."""
    seen = set[str]()
    for index, turn in enumerate(foreign.turns):
        path = f"/turns/{index}/turn_id"
        if is_blank(turn.turn_id):
            return NotAdmitted(reason=AdmissionReason.BLANK_TURN_ID, path=path)
        if turn.turn_id in seen:
            return NotAdmitted(reason=AdmissionReason.DUPLICATE_TURN, path=path)
        seen.add(turn.turn_id)
    return None


def groups_failure(foreign: ForeignProjection) -> NotAdmitted | None:
    """The first group that no projection could hold."""
    positions = {turn.turn_id: index for index, turn in enumerate(foreign.turns)}
    at = 0
    for index, group in enumerate(foreign.groups):
        path = f"/groups/{index}"
        if group.turn_id not in positions:
            return NotAdmitted(reason=AdmissionReason.UNKNOWN_GROUP_TURN, path=f"{path}/turn_id")
        if positions[group.turn_id] < at:
            return NotAdmitted(reason=AdmissionReason.GROUP_OUT_OF_ORDER, path=f"{path}/turn_id")
        at = positions[group.turn_id]
        if not group.source_events:
            return NotAdmitted(reason=AdmissionReason.GROUP_WITHOUT_SOURCES, path=f"{path}/source_events")
        quarantined = foreign.turns[at].state is ProjectedState.QUARANTINED
        if quarantined or not _matches_kind(group):
            return NotAdmitted(reason=AdmissionReason.GROUP_SHAPE, path=f"{path}/messages")
    return None


def admitted(foreign: ForeignProjection) -> Projection:
    """The projection, after its checks; sizes computed here."""
    measured = [_measured(group) for group in foreign.groups]
    by_turn = {
        turn_id: tuple(groups) for turn_id, groups in groupby(measured, key=lambda group: group.turn_id)
    }
    turns = [
        turn_of(
            turn.turn_id,
            turn.state,
            turn.terminal_event,
            by_turn.get(turn.turn_id, ()),
            missing_complete_reply=turn.missing_complete_reply,
        )
        for turn in foreign.turns
    ]
    opened = [place for place, turn in enumerate(turns) if turn.state is ProjectedState.OPEN]
    messages = [message for group in foreign.groups for message in group.messages]
    return Projection(
        algorithm_version=foreign.algorithm_version,
        session_id=foreign.session_id,
        config=foreign.config,
        source_event_count=foreign.source_event_count,
        source_tail=foreign.source_tail,
        turns=vector(turns),
        sources=vector([turn.sources for turn in turns]),
        omitted=vector(foreign.omitted),
        open_turn=opened[0] if opened else None,
        silent=vector([place for place, turn in enumerate(turns) if not turn.message_count]),
        group_count=len(foreign.groups),
        message_count=len(messages),
        canonical_bytes=sum([sum(group.message_bytes) for group in measured]),
        shape_failure=messages_failure(messages) if messages else None,
    )


def _measured(group: ForeignGroup) -> Group:
    return Group(
        turn_id=group.turn_id,
        kind=group.kind,
        source_events=group.source_events,
        messages=group.messages,
        message_bytes=tuple([message_bytes(message) for message in group.messages]),
    )


def _matches_kind(group: ForeignGroup) -> bool:
    """P7 and P8: what the messages of each kind of group are."""
    match group.kind, group.messages:
        case GroupKind.USER, (UserMessage(),):
            return True
        case GroupKind.ASSISTANT, (AssistantMessage(content=str(), tool_calls=()),):
            return True
        case GroupKind.TOOL_EXCHANGE, (
            AssistantMessage(content=None, tool_calls=(call,)),
            ToolMessage(call_id=answered),
        ):
            return call.id == answered
        case _:
            return False
