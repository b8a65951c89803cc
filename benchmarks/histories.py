"""Logs and projections of the workload, made once a process; limits raised so that size is no obstacle."""

import functools

from benchmarks.workload import session_lines
from jingwei.build import BuildInputs
from jingwei.events.wire import decode_log
from jingwei.ids import SessionId
from jingwei.messages.records import UserMessage
from jingwei.projection.project import project
from jingwei.projection.records import Projection, ProjectionConfig
from jingwei.request.counting import AdditiveCounter
from jingwei.request.records import BuildLimits, ContextBudget, ContextTarget

SEED = 1
SESSION = SessionId("bench")
_HUGE = 2**62
CONFIG = ProjectionConfig(max_events=_HUGE, max_input_bytes=_HUGE, max_messages=_HUGE)
LIMITS = BuildLimits(
    max_input_bytes=_HUGE, max_groups=_HUGE, max_turns=_HUGE, max_messages=_HUGE, max_count_calls=_HUGE
)
TARGET = ContextTarget(model="bench", template_revision="1")


@functools.cache
def log(turns: int) -> bytes:
    """A session log as bytes."""
    return b"".join(session_lines(SEED, turns, SESSION))


def projected(data: bytes) -> Projection:
    """Decode, check, project: what a host does with a log."""
    return project(SESSION, decode_log(data).unwrap(), CONFIG).unwrap()


@functools.cache
def history(turns: int) -> Projection:
    """The projection of `log(turns)`."""
    return projected(log(turns))


def inputs(projection: Projection, counter: AdditiveCounter, share: float) -> BuildInputs:
    """A build whose window is this share of what the whole history costs by the counter."""
    whole = sum(map(counter.message_cost, projection.messages))
    return BuildInputs(
        current=(UserMessage(content="What failed last, and what did we change since?"),),
        target=TARGET,
        budget=ContextBudget(window_tokens=max(int(whole * share), 1) + 1000, output_reserve=500),
        system=("You are a careful engineer.",),
        limits=LIMITS,
    )
