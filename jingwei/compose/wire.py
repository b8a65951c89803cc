"""Selection reports, stories, differences and advice as JSON (rules S6, S7)."""

from collections.abc import Mapping
from typing import Final

from jingwei.codec import Declarations, DecodeFailed, EncodeFailed, RecordCodec, RecordProblem, problem_at
from jingwei.compose.condensing import CondensedRow
from jingwei.compose.gather import FilteredMemory, FilterReason, GatherStage, StageRow
from jingwei.compose.observe import (
    ChangedItem,
    ItemChange,
    KindShare,
    Origin,
    ReportDiff,
    SelectionReport,
    Why,
    WhyRow,
    WhyStep,
)
from jingwei.compose.triggers import (
    Advice,
    CondenseFinished,
    CondenseResult,
    LookForNoise,
    LowerWeight,
    NoiseShare,
    Reach,
    SummarizeStage,
)
from jingwei.items import wire as items_wire
from jingwei.jsontext import JsonValue
from jingwei.outcome import Outcome
from jingwei.report import wire as report_wire
from jingwei.selection.records import SelectionState


def declare(wire: Declarations) -> None:
    """The wire form of what composing reports; report and items are declared before."""
    wire.enums(FilterReason, GatherStage, WhyStep, ItemChange, Reach)
    for cls in _RECORDS:
        wire.record(cls, strict=True)
    for kind, advice in _ADVICE.items():
        wire.record(advice, strict=True, constants={"kind": kind})
    wire.union(Advice, "kind", _ADVICE)


_RECORDS: Final[tuple[type[object], ...]] = (
    FilteredMemory,
    StageRow,
    CondensedRow,
    KindShare,
    Origin,
    SelectionReport,
    WhyRow,
    Why,
    ChangedItem,
    ReportDiff,
    NoiseShare,
)

_ADVICE: Final[Mapping[str, type[object]]] = {
    "condense_finished": CondenseFinished,
    "condense_result": CondenseResult,
    "lower_weight": LowerWeight,
    "summarize_stage": SummarizeStage,
    "look_for_noise": LookForNoise,
}


def _declare(wire: Declarations) -> None:
    report_wire.declare(wire)
    items_wire.declare(wire)
    declare(wire)


_CODEC: Final = RecordCodec(_declare)


def selection_value(report: SelectionReport) -> JsonValue:
    """A selection report as plain JSON values."""
    return _CODEC.write(report)


def encode_selection(report: SelectionReport) -> Outcome[bytes, EncodeFailed]:
    """Canonical bytes of a selection report (W8), without a newline."""
    return _CODEC.encode(report)


def read_selection(value: JsonValue) -> SelectionReport | DecodeFailed:
    """A selection report from an already parsed value; equal to the one that was written. Total."""
    report = _CODEC.read(value, SelectionReport)
    return problem_at(None, report) if isinstance(report, RecordProblem) else report


def read_state(value: JsonValue) -> SelectionState | DecodeFailed:
    """The state of a choice (R3) from an already parsed value, as `compose` gave it. Total."""
    state = _CODEC.read(value, SelectionState)
    return problem_at(None, state) if isinstance(state, RecordProblem) else state


def why_value(story: Why) -> JsonValue:
    """An item's story as plain JSON values."""
    return _CODEC.write(story)


def diff_value(found: ReportDiff) -> JsonValue:
    """What differs between two builds as plain JSON values."""
    return _CODEC.write(found)


def advice_value(advice: Advice) -> JsonValue:
    """One advice as plain JSON values, told apart by `kind`."""
    return _CODEC.write(advice)
