"""A text in three levels: facts, summary, references to the original (rule T2)."""

from typing import Protocol, final

import attrs

from jingwei.condensers.failures import CondenseFailure
from jingwei.limits import (
    CONDENSE_FACTS_MAX,
    CONDENSE_INPUT_BYTES_MAX,
    CONDENSE_RENDERED_BYTES_MAX,
    CONDENSE_SUMMARY_BYTES_MAX,
    CONDENSE_VALUE_BYTES_MAX,
)
from jingwei.outcome import Outcome


@final
@attrs.frozen(kw_only=True)
class Evidence:
    r"""Where something stands in the original: at least one whole character.

    Attributes:
        first_line: the line of the first character, from 1. A line ends with `\n` and with nothing else;
            its `\n` belongs to it.
        last_line: the line of the last character.
        start: the first byte, from 0, in UTF-8; half a surrogate pair counts as three bytes.
        end: the byte behind the last one.
        source: the host's name for the original; None where it has none.
    """

    first_line: int
    last_line: int
    start: int
    end: int
    source: str | None = None


@final
@attrs.frozen(kw_only=True)
class Fact:
    """Something that the original says, in its own characters.

    Attributes:
        name: what it is; not blank.
        value: a piece of the text of `evidence`; not empty.
        evidence: where it stands.
        repeats: how often the original says the like, from 1; this is the first time.
    """

    name: str
    value: str
    evidence: Evidence
    repeats: int = 1


@final
@attrs.frozen(kw_only=True)
class CondensedText:
    """What is shown instead of a text, and where the rest stands (T2).

    Attributes:
        method: name and version of what condensed it.
        facts: the first level, the most telling first.
        summary: the second level, for reading; not blank.
        evidence_refs: the third level: every place that a fact was taken from, each once.
        total_bytes: UTF-8 bytes of the original.
        truncated: true, since a condensed text never says all that the original says.
    """

    method: str
    facts: tuple[Fact, ...]
    summary: str
    evidence_refs: tuple[Evidence, ...]
    total_bytes: int
    truncated: bool


@final
@attrs.frozen(kw_only=True)
class CondenseLimits:
    """How large a text may be, and what is made of it. All are from 1.

    Attributes:
        max_input_bytes: UTF-8 bytes of the original.
        max_rendered_bytes: UTF-8 bytes of the condensed text as the model sees it.
        max_summary_bytes: UTF-8 bytes of the summary.
        max_facts: facts.
        max_value_bytes: UTF-8 bytes of the value of one fact.
    """

    max_input_bytes: int = CONDENSE_INPUT_BYTES_MAX
    max_rendered_bytes: int = CONDENSE_RENDERED_BYTES_MAX
    max_summary_bytes: int = CONDENSE_SUMMARY_BYTES_MAX
    max_facts: int = CONDENSE_FACTS_MAX
    max_value_bytes: int = CONDENSE_VALUE_BYTES_MAX


DEFAULT_LIMITS: CondenseLimits = CondenseLimits()
"""The bounds of `limits.py`."""


class Condenser(Protocol):
    """Makes a text short. A host may write its own, with a model or without; `checked` holds it to T2."""

    @property
    def name(self) -> str:
        """Name and version; a change of what is answered changes it."""
        ...

    def condense(self, text: str, limits: CondenseLimits) -> Outcome[CondensedText, CondenseFailure]:
        """The condensed text, or why this text is none for it. The same text gives the same answer."""
        ...
