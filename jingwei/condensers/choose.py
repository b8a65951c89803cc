"""Which condenser reads a text (rules T2, S4a): the first of a list that does, always the same one."""

import importlib
from collections.abc import Sequence
from functools import cache
from typing import Final, final

import attrs

from jingwei.condensers.checking import checked, unfit
from jingwei.condensers.code import CODE
from jingwei.condensers.failures import CondenseFailure, NotSmaller, NotThisKind
from jingwei.condensers.findings import FindingCondenser
from jingwei.condensers.json_text import KIND as JSON_KIND
from jingwei.condensers.json_text import json_finder
from jingwei.condensers.lines import LINES
from jingwei.condensers.prose import PROSE
from jingwei.condensers.records import DEFAULT_LIMITS, CondensedText, CondenseLimits, Condenser
from jingwei.condensers.tables import TABLE
from jingwei.condensers.traces import TRACE
from jingwei.outcome import Failure, Outcome, Success


def _extra(module: str, name: str) -> FindingCondenser | None:
    """A condenser that needs a package of the extra `condense`; None where that is not installed."""
    try:
        found = getattr(importlib.import_module(f"jingwei.condensers.{module}"), name)
    except ImportError:
        return None
    return found if isinstance(found, FindingCondenser) else None


@final
@attrs.frozen(kw_only=True)
class AvailableCondensers:
    """What there is to condense with.

    Attributes:
        condensers: in the order in which they are asked.
        missing: kinds that are left out, since the extra `condense` is not installed.
    """

    condensers: tuple[FindingCondenser, ...]
    missing: tuple[str, ...]


def available_condensers() -> AvailableCondensers:
    """The condensers of jingwei, and what is missing of them.

    What is missing is read by another condenser, and the method of the answer names that one. It is looked
    for once: a package that is installed later is found by the next process.
    """
    return _available()


@cache
def _available() -> AvailableCondensers:
    extras = {kind: _extra(module, name) for kind, module, name in _EXTRAS}
    in_order = (
        extras["diff"],
        TRACE,
        extras["html"],
        CODE,
        TABLE,
        extras["log"],
        PROSE,
        LINES,
    )
    held = tuple(one for one in in_order if one is not None)
    json_text = FindingCondenser(kind=JSON_KIND, version=1, find=json_finder(tuple(one.find for one in held)))
    return AvailableCondensers(
        condensers=(json_text, *held),
        missing=tuple(kind for kind, one in extras.items() if one is None),
    )


_EXTRAS: Final = (("diff", "diffs", "DIFF"), ("html", "html", "HTML"), ("log", "logs", "LOG"))


def condense_text(
    text: str,
    limits: CondenseLimits = DEFAULT_LIMITS,
    condensers: Sequence[Condenser] | None = None,
    *,
    source: str | None = None,
) -> Outcome[CondensedText, CondenseFailure]:
    """The text in three levels, by the first condenser that reads it and makes it smaller.

    `condensers` are asked in order, by default all of `available_condensers`; `source` is the host's name
    for the original. What any of them makes is `checked`, and what is not true of the text is refused at
    once, never passed over. Fails with `NotSmaller` where one read the text, else as the last one did.
    """
    refused = unfit(text, limits)
    if refused is not None:
        return Failure(refused)
    asked = available_condensers().condensers if condensers is None else condensers
    failed: CondenseFailure = NotThisKind(kind="any", line=1)
    for condenser in asked:
        match checked(condenser, text, limits, source):
            case Success(condensed):
                return Success(condensed)
            case Failure(NotThisKind() as why):
                failed = failed if isinstance(failed, NotSmaller) else why
            case Failure(NotSmaller() as why):
                failed = why
            case Failure(why):
                return Failure(why)
    return Failure(failed)
