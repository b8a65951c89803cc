"""An agent's loop: what one call of the model costs when the session is long (issue: pay for what is new)."""

import functools
import time
from collections.abc import Sequence

import attrs

from benchmarks.histories import CONFIG, LIMITS, SEED, SESSION, TARGET, log
from benchmarks.measure import Row, best_of, show
from benchmarks.workload import session_lines
from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.events.records import ModelRequestEvent, SessionEvent, SessionLog
from jingwei.events.wire import decode_log, session_log
from jingwei.outcome import Success
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.projection.split import SplitProjection
from jingwei.projection.view import ProjectionView, start_view
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter
from jingwei.request.records import ContextBudget
from jingwei.request.remembering import RememberingCounter
from jingwei.selection.stable_prefix import RememberingStablePrefix, stable_prefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy

LONG, SHORT, STEPS = 1000, 100, 300
WINDOW = 100_000


def main() -> list[Row]:
    return loops() + projections()


def loops() -> list[Row]:
    """300 pieces after 1,000 turns, and the same pieces after the last 100 of these turns."""
    events = decode_log(b"".join(session_lines(SEED, LONG + STEPS // 4, SESSION))).unwrap().events
    cut = next(i for i, event in enumerate(events) if event.turn_id == f"turn_{LONG:05d}")
    near = next(i for i, event in enumerate(events) if event.turn_id == f"turn_{LONG - SHORT:05d}")
    after = pieces(events[cut:])[:STEPS]
    assert len(after) == STEPS
    rows = list[Row]()
    for name, strategy in (("oldest_turn_first", oldest), ("stable_prefix", stable)):
        per_step = dict[str, float]()
        for _ in range(3):  # the runs take turns, and the best of each counts
            for label, start in (("1,000", 0), ("100", near)):
                took = loop(events[start:cut], after, strategy(counter := remembering()), counter)
                per_step[label] = min(took, per_step.get(label, took))
        first = cut + len(after[0].events)
        whole = from_scratch(events[:first], strategy(counter := remembering()), counter)
        rows += [
            Row(f"{name}: a step after 1,000 turns / from scratch", per_step["1,000"] / whole, limit=1 / 50),
            Row(
                f"{name}: a step after 1,000 turns / after 100",
                per_step["1,000"] / per_step["100"],
                limit=1.5,
            ),
            Row(f"{name}: a step after 1,000 turns", per_step["1,000"] * 1000, "ms"),
            Row(f"{name}: project and build from scratch", whole * 1000, "ms"),
        ]
    return show(
        f"an agent's loop: {STEPS} steps, a window of {WINDOW:,} tokens", rows, "mean of a run, best of 3"
    )


def projections() -> list[Row]:
    """The same turns at once, and one by one into a view."""
    whole = {turns: decode_log(log(turns)).unwrap() for turns in (1000, 2000)}
    measured = {turns: session_log(held.events) for turns, held in whole.items()}
    cut = {turns: turns_of(held.events) for turns, held in whole.items()}
    took = best_of(
        5,
        {
            "batch": functools.partial(batch, measured[1000]),
            "pieces 1000": functools.partial(incremental, cut[1000]),
            "pieces 2000": functools.partial(incremental, cut[2000]),
        },
    )
    return show(
        "projecting turn by turn",
        [
            Row("2,000 turns / 1,000 turns", took["pieces 2000"] / took["pieces 1000"], limit=2.2),
            Row("turn by turn / at once, 1,000 turns", took["pieces 1000"] / took["batch"], limit=1.3),
            *[Row(name, seconds * 1000, "ms") for name, seconds in took.items()],
        ],
        "events measured before, best of 5",
    )


def loop(
    before: Sequence[SessionEvent], after: Sequence[SessionLog], strategy: Strategy, counter: AdditiveCounter
) -> float:
    """Seconds of one step in the mean; the history before it is projected and built once, untimed."""
    events = numbered(before)
    view = start_view(SESSION, CONFIG).advanced(session_log(events))
    shift = len(events) - after[0].events[0].seq
    moved = [
        session_log([attrs.evolve(event, seq=event.seq + shift) for event in piece.events]) for piece in after
    ]
    view = view.advanced(moved[0])
    built_from(view, strategy, counter)
    started = time.perf_counter()
    for piece in moved[1:]:
        view = view.advanced(piece)
        built_from(view, strategy, counter)
    return (time.perf_counter() - started) / (len(moved) - 1)


def built_from(view: ProjectionView, strategy: Strategy, counter: AdditiveCounter) -> BuiltContext:
    match view.running():
        case Success(split):
            return built(split, strategy, counter)
        case broken:
            raise AssertionError(broken)


def built(split: SplitProjection, strategy: Strategy, counter: AdditiveCounter) -> BuiltContext:
    inputs = BuildInputs(
        current=split.current,
        target=TARGET,
        budget=ContextBudget(window_tokens=WINDOW, output_reserve=4000),
        system=("You are a careful engineer.",),
        limits=LIMITS,
    )
    return build(split.history, inputs, counter, strategy=strategy).unwrap()


def from_scratch(events: Sequence[SessionEvent], strategy: Strategy, counter: AdditiveCounter) -> float:
    """Seconds of projecting a whole log and building from it, with an empty memory."""
    whole = session_log(events[: closed(events)])
    current = start_view(SESSION, CONFIG).advanced(session_log(events)).running().unwrap().current
    started = time.perf_counter()
    history = project(SESSION, whole, CONFIG).unwrap()
    built(SplitProjection(history=history, current=current), strategy, counter)
    return time.perf_counter() - started


def closed(events: Sequence[SessionEvent]) -> int:
    """Events up to the end of the last turn but one."""
    last = events[-1].turn_id
    return next(i for i, event in enumerate(events) if event.turn_id == last)


def pieces(events: Sequence[SessionEvent]) -> list[SessionLog]:
    """The events cut behind each call of the model."""
    held, start = list[SessionLog](), 0
    for index, event in enumerate(events):
        if isinstance(event.kind, ModelRequestEvent):
            held.append(session_log(events[start : index + 1]))
            start = index + 1
    return held


def turns_of(events: Sequence[SessionEvent]) -> list[SessionLog]:
    """The events turn by turn."""
    runs = dict[str, list[SessionEvent]]()
    for event in events:
        runs.setdefault(event.turn_id, []).append(event)
    return [session_log(run) for run in runs.values()]


def numbered(events: Sequence[SessionEvent]) -> list[SessionEvent]:
    """The same events as a log of their own."""
    return [attrs.evolve(event, seq=place) for place, event in enumerate(events)]


def batch(whole: SessionLog) -> Projection:
    return project(SESSION, whole, CONFIG).unwrap()


def incremental(cut: Sequence[SessionLog]) -> Projection:
    view = start_view(SESSION, CONFIG)
    for piece in cut:
        view = view.advanced(piece)
    return view.projection().unwrap()


def remembering() -> RememberingCounter:
    return RememberingCounter(ByteHeuristicCounter())


def oldest(_costs: AdditiveCounter) -> Strategy:
    return OLDEST_TURN_FIRST


def stable(costs: AdditiveCounter) -> Strategy:
    return RememberingStablePrefix(stable_prefix(high=70_000, low=None, costs=costs).unwrap())
