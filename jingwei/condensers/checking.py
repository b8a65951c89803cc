"""Holds whatever a condenser made against the text (rules T2, R4)."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import attrs

from jingwei.condensers.failures import (
    AlreadyCondensed,
    CondenseFailure,
    InvalidCondensation,
    InvalidCondenseLimit,
    NotSmaller,
    TextTooLarge,
)
from jingwei.condensers.failures import InvalidCondensationReason as Reason
from jingwei.condensers.records import CondensedText, CondenseLimits, Condenser, Evidence, Fact
from jingwei.condensers.rendering import is_condensed, rendered
from jingwei.ids import is_blank
from jingwei.jsontext import canonical, utf8_bytes
from jingwei.limits import TOKENS_BOUND
from jingwei.outcome import Failure, Outcome, Success


def checked(
    condenser: Condenser, text: str, limits: CondenseLimits, source: str | None = None
) -> Outcome[CondensedText, CondenseFailure]:
    """What a condenser makes of a text, if it is true of the text, within the limits and smaller.

    `source` is put into every evidence that names none. Fails in this order: a limit below 1; a text that
    is too large; one that is condensed already; the condenser's own failure; the first of
    `InvalidCondensationReason`; not smaller. Time is linear in the text for each fact, and mostly less.
    """
    refused = unfit(text, limits)
    if refused is not None:
        return Failure(refused)
    match condenser.condense(text, _without_source(limits, source)):
        case Success(condensed):
            return _held(with_source(condensed, source), text, limits)
        case Failure(why):
            return Failure(why)


def _without_source(limits: CondenseLimits, source: str | None) -> CondenseLimits:
    """The limits for a condenser that does not know yet what the original is called."""
    if source is None:
        return limits
    room = limits.max_rendered_bytes - utf8_bytes(canonical({"source": source})) + 1
    return attrs.evolve(limits, max_rendered_bytes=max(room, 1))


def unfit(text: str, limits: CondenseLimits) -> CondenseFailure | None:
    """Why no condenser should be asked at all; None where one may be."""
    for what, value in attrs.asdict(limits).items():
        if value < 1:
            return InvalidCondenseLimit(what=what, actual=value)
    size = utf8_bytes(text)
    if size > limits.max_input_bytes:
        return TextTooLarge(limit=limits.max_input_bytes, actual=size)
    return AlreadyCondensed(total_bytes=size) if is_condensed(text) else None


def with_source(condensed: CondensedText, source: str | None) -> CondensedText:
    """The same with the source named in every evidence that names none."""
    if source is None:
        return condensed

    def named(evidence: Evidence) -> Evidence:
        return attrs.evolve(evidence, source=source) if evidence.source is None else evidence

    return attrs.evolve(
        condensed,
        facts=tuple(attrs.evolve(fact, evidence=named(fact.evidence)) for fact in condensed.facts),
        evidence_refs=tuple(named(one) for one in condensed.evidence_refs),
    )


def _held(
    condensed: CondensedText, text: str, limits: CondenseLimits
) -> Outcome[CondensedText, CondenseFailure]:
    raw = text.encode("utf-8", "surrogatepass")
    for problem in _problems(condensed, raw, limits):
        return Failure(problem)
    after = utf8_bytes(rendered(condensed))
    if after >= len(raw):
        return Failure(NotSmaller(before=len(raw), after=after))
    if after > limits.max_rendered_bytes:
        return Failure(InvalidCondensation(method=condensed.method, reason=Reason.RENDERED_TOO_LONG))
    return Success(condensed)


def _problems(condensed: CondensedText, raw: bytes, limits: CondenseLimits) -> Iterator[InvalidCondensation]:
    """What is wrong, the whole first, then fact by fact, then reference by reference."""

    def wrong(
        reason: Reason, *, fact: int | None = None, reference: int | None = None
    ) -> InvalidCondensation:
        return InvalidCondensation(method=condensed.method, reason=reason, fact=fact, reference=reference)

    for breaks, broken in _OF_THE_WHOLE:
        if breaks(condensed, raw, limits):
            yield wrong(broken)
    sources = {fact.evidence.source for fact in condensed.facts}
    sources |= {one.source for one in condensed.evidence_refs}
    other = Reason.OTHER_SOURCE if len(sources) > 1 else None
    references = set(condensed.evidence_refs)
    for index, fact in enumerate(condensed.facts):
        missing = None if fact.evidence in references else Reason.REFERENCE_MISSING
        reason = _fact_problem(fact, raw, limits) or other or missing
        if reason is not None:
            yield wrong(reason, fact=index)
    seen = set[Evidence]()
    for index, one in enumerate(condensed.evidence_refs):
        reason = _range_problem(one, raw) or other or (Reason.REFERENCE_REPEATED if one in seen else None)
        if reason is not None:
            yield wrong(reason, reference=index)
        seen.add(one)


_Check: TypeAlias = Callable[[CondensedText, bytes, CondenseLimits], bool]

_OF_THE_WHOLE: Final[tuple[tuple[_Check, Reason], ...]] = (
    (lambda made, _, __: is_blank(made.method), Reason.BLANK_METHOD),
    (lambda made, raw, _: made.total_bytes != len(raw), Reason.WRONG_TOTAL),
    (lambda made, _, __: not made.truncated, Reason.NOT_TRUNCATED),
    (lambda made, _, __: is_blank(made.summary), Reason.BLANK_SUMMARY),
    (
        lambda made, _, limits: utf8_bytes(made.summary) > limits.max_summary_bytes,
        Reason.SUMMARY_TOO_LONG,
    ),
    (lambda made, _, limits: len(made.facts) > limits.max_facts, Reason.TOO_MANY_FACTS),
)


def _fact_problem(fact: Fact, raw: bytes, limits: CondenseLimits) -> Reason | None:
    if is_blank(fact.name):
        return Reason.BLANK_NAME
    if not fact.value:
        return Reason.EMPTY_VALUE
    if utf8_bytes(fact.value) > limits.max_value_bytes:
        return Reason.VALUE_TOO_LONG
    if not 1 <= fact.repeats < TOKENS_BOUND:
        return Reason.INVALID_REPEATS
    reason = _range_problem(fact.evidence, raw)
    if reason is not None:
        return reason
    # Characters never match across a boundary of UTF-8, so that bytes may be compared.
    value = fact.value.encode("utf-8", "surrogatepass")
    found = raw.find(value, fact.evidence.start, fact.evidence.end)
    return Reason.VALUE_NOT_THERE if found < 0 else None


def _range_problem(evidence: Evidence, raw: bytes) -> Reason | None:
    start, end = evidence.start, evidence.end
    if not 0 <= start < end <= len(raw):
        return Reason.RANGE_OUTSIDE
    if _continues(raw, start) or _continues(raw, end):
        return Reason.NOT_ON_BOUNDARY
    first = raw.count(b"\n", 0, start) + 1
    last = first + raw.count(b"\n", start, end - 1)
    return None if (evidence.first_line, evidence.last_line) == (first, last) else Reason.LINES_DISAGREE


def _continues(raw: bytes, place: int) -> bool:
    """Whether a place is inside a character."""
    return place < len(raw) and raw[place] & 0xC0 == 0x80
