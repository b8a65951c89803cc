"""What a newer summary says otherwise (S8)."""

import attrs

from jingwei.ids import SummaryId
from jingwei.summaries.drift import Drift, drift
from jingwei.summaries.records import Statement
from tests.summaries.world import GOOD


def said(*texts: str) -> tuple[Statement, ...]:
    return tuple([Statement(text=text) for text in texts])


def test_every_change_has_its_list() -> None:
    old = attrs.evolve(
        GOOD,
        facts=said("kept", "kept", "lost", "demoted"),
        decisions=said("d kept", "d lost"),
        hypotheses=said("promoted", "dropped", "still"),
        open_questions=said("closed", "open"),
    )
    new = attrs.evolve(
        GOOD,
        summary_id=SummaryId("s2"),
        facts=said("KEPT ", "Promoted", "added"),
        decisions=said("d added", "d kept"),
        hypotheses=said("Demoted", "still"),
        open_questions=said("open", "opened"),
    )

    assert Drift(
        old_id=SummaryId("s1"),
        new_id=SummaryId("s2"),
        facts_kept=said("KEPT "),
        facts_lost=said("lost"),
        facts_added=said("added"),
        decisions_kept=said("d kept"),
        decisions_lost=said("d lost"),
        decisions_added=said("d added"),
        promoted=said("Promoted"),
        demoted=said("Demoted"),
        hypotheses_dropped=said("dropped"),
        questions_closed=said("closed"),
        questions_opened=said("opened"),
    ) == drift(old, new)
