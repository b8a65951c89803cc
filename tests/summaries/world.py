"""A small log, its sources and a summary that is accepted: what the tests of this room begin with."""

from typing import Final

from jingwei.events.records import SessionLog
from jingwei.ids import EventId, SummaryId, TurnId
from jingwei.projection.project import project
from jingwei.projection.records import DamagedTurns, ProjectionConfig
from jingwei.request.counting import ByteHeuristicCounter, TokenCounter
from jingwei.request.records import ContextBudget, ContextTarget
from jingwei.summaries.plan import Summariser
from jingwei.summaries.records import STANDALONE, RequestShape, Statement, Summary, SummarySources
from jingwei.summaries.sources import sources_of
from tests.logtable import SESSION, log_of

LONG: Final = "long " * 100
TALK: Final = f'user "{LONG}"; call a look; result a "out <b>"; reply "{LONG}"; done'
"""A turn of five events."""

LOG: Final = log_of(f"{TALK}; turn two; {TALK}; turn three; {TALK}; turn four; error")
"""Three turns of five events, and one of one that says nothing."""

TARGET: Final = ContextTarget(model="m", template_revision="r")
LIVE_TARGET: Final = ContextTarget(model="live", template_revision="r")


def sources_in(log: SessionLog) -> SummarySources:
    config = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)
    return sources_of(project(SESSION, log, config).unwrap(), log).unwrap()


SOURCES: Final = sources_in(LOG)


def statement(text: str, *events: int) -> Statement:
    return Statement(text=text, source_events=tuple([EventId(f"event-{seq}") for seq in events]))


GOOD: Final = Summary(
    summary_id=SummaryId("s1"),
    session_id=SESSION,
    facts=(statement("The tool says out", 1, 2),),
    first_seq=0,
    last_seq=9,
    tail_event_id=EventId("event-9"),
    turn_ids=(TurnId("one"), TurnId("two")),
)
"""A summary of the first two turns."""


def summariser(
    window: int = 10_000,
    counter: TokenCounter = ByteHeuristicCounter(),  # noqa: B008  # immutable
    shape: RequestShape = STANDALONE,
) -> Summariser:
    budget = ContextBudget(window_tokens=window, output_reserve=10)
    return Summariser(target=TARGET, budget=budget, counter=counter, shape=shape)
