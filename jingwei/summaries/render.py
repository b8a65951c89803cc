"""How summaries stand in a request: one message of data, one line a summary (rules S8, S9).

A statement can end neither its line nor the envelope: it stands in a JSON string, in which line ends are
escaped anyway, and the two characters that our delimiters are made of as well. One line a summary keeps the
envelope monotone: a summary less is a line less.
"""

from collections.abc import Sequence
from typing import Final

from jingwei.jsontext import JsonValue, data_text
from jingwei.messages.records import UserMessage
from jingwei.summaries.records import Statement, Summary

TRUST: Final = "untrusted_summary_data"
"""What a model is told of every summary: models wrote it, from what tools and users said."""

SUMMARIES_BEGIN: Final = f'<jingwei_summaries trust="{TRUST}">\n'
"""The first line of the envelope."""

SUMMARIES_END: Final = "</jingwei_summaries>"
"""The last line of the envelope."""


def summary_text(summary: Summary) -> str:
    """The line of one summary, without its end: name, version, range, and the four lists.

    The range is `[first, last]`, sequence numbers of the log. Which event each statement was taken from is
    kept in the record and not shown.
    """
    said: dict[str, JsonValue] = {
        "summary_id": summary.summary_id,
        "version": summary.version,
        "source_event_range": [summary.first_seq, summary.last_seq],
        "facts": _texts(summary.facts),
        "decisions": _texts(summary.decisions),
        "hypotheses": _texts(summary.hypotheses),
        "open_questions": _texts(summary.open_questions),
    }
    return data_text(said)


def summary_envelope(summaries: Sequence[Summary]) -> UserMessage | None:
    """The envelope of these summaries, in the order given (B3); None without any."""
    if not summaries:
        return None
    lines = "".join([summary_text(summary) + "\n" for summary in summaries])
    return UserMessage(content=SUMMARIES_BEGIN + lines + SUMMARIES_END)


def _texts(statements: Sequence[Statement]) -> list[JsonValue]:
    return [statement.text for statement in statements]
