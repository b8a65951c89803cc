"""How a condensed text is shown to a model, and how it is known again (rules T2, R4)."""

from collections.abc import Mapping
from typing import Final

from jingwei.condensers.records import CondensedText, Evidence, Fact
from jingwei.jsontext import JsonValue, canonical, parse_canonical


def rendered(condensed: CondensedText) -> str:
    """The canonical JSON that the model sees.

    A fact is `{name, value, repeats?, ref}`; `ref` is an index in `evidence_refs`, and left out where the
    fact's evidence is not there (which `checked` refuses). A reference is `L<line>:<start>-<end>` or
    `L<first>-<last>:<start>-<end>` in bytes. `source`, where there is one, stands for all references.
    """
    places = {_place(one): index for index, one in enumerate(condensed.evidence_refs)}
    source = next((one.source for one in condensed.evidence_refs if one.source is not None), None)
    levels: dict[str, JsonValue] = {
        "method": condensed.method,
        "facts": [_fact(fact, places) for fact in condensed.facts],
        "summary": condensed.summary,
        "evidence_refs": [reference_text(one) for one in condensed.evidence_refs],
    }
    if source is not None:
        levels["source"] = source
    return canonical({**levels, "total_bytes": condensed.total_bytes, "truncated": condensed.truncated})


def reference_text(evidence: Evidence) -> str:
    """A reference as the model sees it, without its source."""
    # As canonical text, since Python itself writes no number of more digits than it is set to.
    last = "" if evidence.last_line == evidence.first_line else f"-{canonical(evidence.last_line)}"
    return f"L{canonical(evidence.first_line)}{last}:{canonical(evidence.start)}-{canonical(evidence.end)}"


def is_condensed(text: str) -> bool:
    """Whether a text is condensed already: canonical JSON with all levels of T2, or a preview (T3).

    By its form alone: it does not matter who wrote it.
    """
    if not text.startswith("{") or not text.endswith("}"):
        return False
    found = parse_canonical(text)
    if not isinstance(found, Mapping) or not isinstance(found.get("truncated"), bool):
        return False
    return _LEVELS <= found.keys() or _PREVIEW <= found.keys()


_LEVELS: Final = frozenset({"facts", "summary", "evidence_refs"})
_PREVIEW: Final = frozenset({"preview", "total_bytes", "reference"})


def _place(evidence: Evidence) -> tuple[int, int]:
    return evidence.start, evidence.end


def _fact(fact: Fact, places: Mapping[tuple[int, int], int]) -> JsonValue:
    shown: dict[str, JsonValue] = {"name": fact.name, "value": fact.value}
    if fact.repeats != 1:
        shown["repeats"] = fact.repeats
    place = places.get(_place(fact.evidence))
    return shown if place is None else {**shown, "ref": place}
