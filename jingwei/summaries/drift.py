"""What changed between a summary and the one that supersedes it (rule S8).

A summary is always made from the events, whatever its version: nothing is ever told at third hand. What can
drift is the choice of words and of what is worth telling; this says where.
"""

from collections.abc import Container, Iterable
from typing import final

import attrs

from jingwei.ids import SummaryId
from jingwei.summaries.accept import compared
from jingwei.summaries.records import Statement, Summary


@final
@attrs.frozen(kw_only=True)
class Drift:
    """Statements of two summaries, told apart by their texts without case and white space.

    A text that stands twice in a list counts once. Kept, added, promoted and demoted statements are shown as
    the newer summary has them, the others as the older one does; all in the order of their list.

    Attributes:
        old_id: the older summary.
        new_id: the newer one.
        facts_kept: facts of both.
        facts_lost: facts of the older one that are neither facts nor hypotheses any more.
        facts_added: facts that were neither facts nor hypotheses.
        decisions_kept: decisions of both.
        decisions_lost: decisions of the older one only.
        decisions_added: decisions of the newer one only.
        promoted: facts that were hypotheses; an accepted summary has newer events for them.
        demoted: hypotheses that were facts.
        hypotheses_dropped: hypotheses that are neither hypotheses nor facts any more.
        questions_closed: open questions of the older one only.
        questions_opened: open questions of the newer one only.
    """

    old_id: SummaryId
    new_id: SummaryId
    facts_kept: tuple[Statement, ...]
    facts_lost: tuple[Statement, ...]
    facts_added: tuple[Statement, ...]
    decisions_kept: tuple[Statement, ...]
    decisions_lost: tuple[Statement, ...]
    decisions_added: tuple[Statement, ...]
    promoted: tuple[Statement, ...]
    demoted: tuple[Statement, ...]
    hypotheses_dropped: tuple[Statement, ...]
    questions_closed: tuple[Statement, ...]
    questions_opened: tuple[Statement, ...]


def drift(old: Summary, new: Summary) -> Drift:
    """What the newer summary says otherwise than the older one. Total: any two can be compared."""
    were, are = _said(old.facts), _said(new.facts)
    supposed, supposes = _said(old.hypotheses), _said(new.hypotheses)
    decided, decides = _said(old.decisions), _said(new.decisions)
    asked, asks = _said(old.open_questions), _said(new.open_questions)
    return Drift(
        old_id=old.summary_id,
        new_id=new.summary_id,
        facts_kept=_those(are, within=were),
        facts_lost=_those(were, without=(are, supposes)),
        facts_added=_those(are, without=(were, supposed)),
        decisions_kept=_those(decides, within=decided),
        decisions_lost=_those(decided, without=(decides,)),
        decisions_added=_those(decides, without=(decided,)),
        promoted=_those(are, within=supposed, without=(were,)),
        demoted=_those(supposes, within=were, without=(are,)),
        hypotheses_dropped=_those(supposed, without=(supposes, are)),
        questions_closed=_those(asked, without=(asks,)),
        questions_opened=_those(asks, without=(asked,)),
    )


def _said(statements: Iterable[Statement]) -> dict[str, Statement]:
    """Statements by what they say; the first of those that say the same."""
    found = dict[str, Statement]()
    for statement in statements:
        found.setdefault(compared(statement.text), statement)
    return found


def _those(
    said: dict[str, Statement],
    *,
    within: Container[str] | None = None,
    without: Iterable[Container[str]] = (),
) -> tuple[Statement, ...]:
    others = tuple(without)
    return tuple(
        [
            statement
            for text, statement in said.items()
            if (within is None or text in within) and not any(text in other for other in others)
        ]
    )
