"""Projections as JSON: written flat, groups and turns side by side (rule P11), and read as foreign."""

from typing import Final

from jingwei.codec import Declarations, DecodeFailed, EncodeFailed, RecordCodec, RecordProblem
from jingwei.jsontext import JsonValue
from jingwei.messages import wire as messages_wire
from jingwei.outcome import Outcome
from jingwei.projection.records import (
    DamagedTurns,
    ForeignGroup,
    ForeignProjection,
    ForeignTurn,
    GroupKind,
    LegacyReplies,
    Omission,
    OmissionReason,
    ProjectedState,
    Projection,
    ProjectionConfig,
)


def declare(wire: Declarations) -> None:
    """The wire form of projections; every key is always written, but for a choice that is newer than it."""
    messages_wire.declare(wire)
    wire.enums(LegacyReplies, DamagedTurns, GroupKind, ProjectedState, OmissionReason)
    wire.record(ProjectionConfig, strict=True, unless_default=("damaged_turns",))
    wire.record(ForeignGroup, strict=True)
    wire.record(ForeignTurn, strict=True)
    wire.record(Omission, strict=True)
    wire.record(ForeignProjection, strict=True)


_CODEC: Final = RecordCodec(declare)


def encode_projection(projection: Projection) -> Outcome[bytes, EncodeFailed]:
    """Canonical bytes of a projection (P12, W8), without a newline. Sizes are not written."""
    return _CODEC.encode(flattened(projection))


def projection_value(projection: Projection) -> JsonValue:
    """The same as plain JSON values."""
    return _CODEC.write(flattened(projection))


def decode_projection(data: bytes) -> Outcome[ForeignProjection, DecodeFailed]:
    """A projection as somebody states it; `admit_projection` decides whether to believe it. Total."""
    return _CODEC.decode(data, ForeignProjection)


def read_projection(value: JsonValue) -> ForeignProjection | RecordProblem:
    """The same from an already parsed value."""
    return _CODEC.read(value, ForeignProjection)


def read_config(value: JsonValue) -> ProjectionConfig | RecordProblem:
    """A configuration; keys left out have their defaults (P1)."""
    return _CODEC.read(value, ProjectionConfig)


def flattened(projection: Projection) -> ForeignProjection:
    """The flat form, in which group and turn stand side by side."""
    return ForeignProjection(
        algorithm_version=projection.algorithm_version,
        session_id=projection.session_id,
        source_event_count=projection.source_event_count,
        source_tail=projection.source_tail,
        config=projection.config,
        groups=tuple(
            ForeignGroup(
                turn_id=group.turn_id,
                kind=group.kind,
                source_events=group.source_events,
                messages=group.messages,
            )
            for group in projection.groups
        ),
        turns=tuple(
            ForeignTurn(
                turn_id=turn.turn_id,
                state=turn.state,
                terminal_event=turn.terminal_event,
                missing_complete_reply=turn.missing_complete_reply,
            )
            for turn in projection.turns
        ),
        omitted=tuple(projection.omitted),
    )
