"""The ledger of turns: rows are made when it is read."""

from jingwei.ids import EventId, TurnId
from jingwei.projection.records import TurnSources
from jingwei.report.records import ReductionKind, TurnLedger, TurnRow
from jingwei.selection.records import DropTurn


def test_a_row_says_what_became_of_a_turn() -> None:
    ledger = TurnLedger(
        sources=(
            TurnSources(turn_id=TurnId("a"), source_events=(EventId("1"), EventId("2"))),
            TurnSources(turn_id=TurnId("b"), source_events=()),
            TurnSources(turn_id=TurnId("c"), source_events=(EventId("3"),)),
        ),
        pinned=(TurnId("c"),),
        reductions=(DropTurn(turn_id=TurnId("a")),),
    )

    assert [
        TurnRow(
            turn_id=TurnId("a"),
            source_events=(EventId("1"), EventId("2")),
            retained=False,
            protected=False,
            reduction=ReductionKind.DROPPED,
        ),
        TurnRow(turn_id=TurnId("b"), source_events=(), retained=True, protected=False, reduction=None),
        TurnRow(
            turn_id=TurnId("c"), source_events=(EventId("3"),), retained=True, protected=True, reduction=None
        ),
    ] == list(ledger.rows)
