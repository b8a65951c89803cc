"""Every small log, through the code and the naive model: nothing drawn, nothing left out.

The alphabet has 23 words, and each may be said in either of two turns (the first event is always in the
first: turns are alike up to their names). Twice over:

- every log whatever came before: up to 2 events in the quick profile (1,081), up to 3 in the deep one
  (49,749);
- logs of which no prefix has failed for good, since no further event takes such a failure away (which
  the first walk shows for short logs, and `test_projection.py` for drawn ones): up to 4 events in the
  quick profile (15,755), up to 5 in the deep one (90,183).
"""

import functools
from collections.abc import Iterator
from typing import TypeAlias

from hypothesis import settings

from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.wire import event_bytes
from jingwei.projection.records import LegacyReplies, ProjectionConfig
from jingwei.testing.strategies import SESSION, placed
from properties.models import (
    Plain,
    model_project,
    plain_config,
    plain_event,
    plain_outcome_of,
    step_of,
)

WORDS = (
    *("user", "delta", "reply r", "reply s", "reply _", "reply -"),
    *("call c", "call d", "call _", "nameless c", "result c", "result d"),
    *("ask m", "ask n", "ask _", "answer m", "answer n"),
    *("note", "completed", "waiting_for_input", "checkpointed", "cancelled", "error"),
)
REJECT = ProjectionConfig()
OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)
TIGHT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT, max_messages=2)
ALL = (23, 1058, 48668)
PRUNED = (23, 322, 2530, 12880, 74428)
DEEP = settings.get_profile("deep").max_examples <= settings().max_examples

Rows: TypeAlias = tuple[tuple[str, str], ...]
"""Pairs of turn and word."""


@functools.cache
def event_of(index: int, turn: str, word: str) -> tuple[SessionEvent, Plain, int]:
    """One event, in the code's and in the model's form, and its size."""
    rows = [(turn, step_of("note"))] * index + [(turn, step_of(*word.split()))]
    event = placed(rows)[-1]
    return event, plain_event(event), event_bytes(event)


def judged(rows: Rows) -> bool:
    """Compare code and model on one log; whether more events could still make it whole."""
    found = [event_of(index, turn, word) for index, (turn, word) in enumerate(rows)]
    log = SessionLog(
        events=tuple([event for event, _, _ in found]),
        bytes_at_most=sum(size for _, _, size in found),
    )
    plain = [event for _, event, _ in found]
    actual: Plain = {}
    for config in (REJECT, TIGHT, OMIT):
        expected = model_project(SESSION, plain, plain_config(config))
        actual = plain_outcome_of(SESSION, log, config)

        assert expected == actual, rows
    failure = actual.get("failure", {"kind": "none"})
    if failure["kind"] == "Unconfirmed":
        return bool(failure["turn_id"] == rows[-1][0])
    return bool(failure["kind"] == "none")


def worlds(rows: Rows) -> Iterator[Rows]:
    """All logs that are one event longer."""
    turns = ("t", "u") if rows else ("t",)
    return ((*rows, (turn, word)) for turn in turns for word in WORDS)


class TestSmallWorlds:
    """Code and model agree on every log of the alphabet, under three configurations."""

    def test_every_log(self) -> None:
        """Whatever came before; and there are as many as there should be."""
        logs: list[Rows] = [()]
        for expected in ALL[: 3 if DEEP else 2]:
            logs = [rows for before in logs for rows in worlds(before)]
            for rows in logs:
                judged(rows)

            assert expected == len(logs)

    def test_every_log_that_has_not_failed_for_good(self) -> None:
        """Each of them one event longer; and there are as many as there should be."""
        alive: list[Rows] = [()]
        for expected in PRUNED[: 5 if DEEP else 4]:
            longer = [rows for before in alive for rows in worlds(before)]
            alive = [rows for rows in longer if judged(rows)]

            assert expected == len(longer)
