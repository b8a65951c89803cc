"""Planted bugs of texts made short without a model (rule T2); see `planted.py`."""

from typing import Final

from properties.planted import Planted

CHECKING: Final = "jingwei/condensers/checking.py"
FINDINGS: Final = "jingwei/condensers/findings.py"
RENDERING: Final = "jingwei/condensers/rendering.py"
NODES: Final = "jingwei/condensers/jsonnodes.py"
LOGS: Final = "jingwei/condensers/logs.py"

T2: Final = "properties/test_condensers.py::TestCondensedTextT2::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "T2",
        "evidence may end inside a character",
        CHECKING,
        "    if _continues(raw, start) or _continues(raw, end):\n",
        "    if _continues(raw, start):\n",
        T2 + "test_a_lie_is_refused_by_its_reason",
    ),
    Planted(
        "T2",
        "a value is looked for in the whole original",
        CHECKING,
        "    found = raw.find(value, fact.evidence.start, fact.evidence.end)\n",
        "    found = raw.find(value)\n",
        T2 + "test_a_lie_is_refused_by_its_reason",
    ),
    Planted(
        "T2",
        "a fact without a reference to where it stands",
        CHECKING,
        "missing = None if fact.evidence in references else Reason.REFERENCE_MISSING",
        "missing = None",
        T2 + "test_a_lie_is_refused_by_its_reason",
    ),
    Planted(
        "T2",
        "a condensed text larger than the original is let through",
        CHECKING,
        "    if after >= len(raw):\n",
        "    if after > 2 * len(raw):\n",
        T2 + "test_what_is_not_smaller_is_refused",
    ),
    Planted(
        "T2",
        "bytes in front of a line counted as characters",
        FINDINGS,
        "            total += utf8_bytes(self._text[start:end])\n",
        "            total += end - start\n",
        T2 + "test_what_a_fact_says_stands_where_its_reference_leads",
    ),
    Planted(
        "T2",
        "a reference names the line before the first one",
        FINDINGS,
        "            first_line=self.line(start),\n",
        "            first_line=self.line(start - 1),\n",
        T2 + "test_what_a_fact_says_stands_where_its_reference_leads",
    ),
    Planted(
        "T2",
        "what is condensed is condensed again",
        RENDERING,
        "    return _LEVELS <= found.keys() or _PREVIEW <= found.keys()\n",
        "    return _PREVIEW <= found.keys()\n",
        T2 + "test_what_is_condensed_is_not_condensed_again",
    ),
    Planted(
        "T2",
        "the model sees that nothing was left out",
        RENDERING,
        '"truncated": condensed.truncated}',
        '"truncated": not condensed.truncated}',
        T2 + "test_what_is_shown_is_smaller_and_says_that_there_is_more",
    ),
    Planted(
        "T2",
        "a place behind an escape is taken for one in front of it",
        NODES,
        "            length, place = length + 1, escape.end()\n",
        "            length, place = length + 1, escape.end()\n            length += 1\n",
        T2 + "test_of_a_string_in_json_whole_pieces_are_quoted",
    ),
    Planted(
        "T2",
        "any first error is taken for a stable one",
        LOGS,
        "    again = (one for one in exceptions if one[1].count > 1)\n",
        "    again = (one for one in exceptions)\n",
        T2 + "test_the_first_stable_exception_is_told_with_its_line_and_repeats",
    ),
)
