"""Which lines of any text tell most: errors, names of exceptions, warnings (rule T2)."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, final

import attrs

from jingwei.condensers.findings import Quote, line_quote

_EXCEPTION: Final = re.compile(
    r"(?<=[a-z0-9_$])(?:Error|Exception|NotFound|Failure|Fault|Panic)|\b(?:Error|Exception)\b"
)
"""The part of a name that says that something is an exception."""

_STRONG: Final = re.compile(
    r"\b(?:errors?|fatal|critical|panic(?:ked)?|emerg|exceptions?|traceback|fail(?:ed|ure|ures|s|ing)?"
    r"|segfault|segmentation fault|assertion|core dumped|refused|denied|timed? ?out|no such file|not found"
    r"|cannot|could not|unable to|undefined reference|abort(?:ed|ing)?|killed|out of memory|unauthorized"
    r"|forbidden|conflict|corrupt(?:ed)?|rejected|unreachable)\b",
    re.IGNORECASE,
)
_HAN: Final = re.compile("错误|失败|异常|崩溃|超时|拒绝|找不到|无法|致命")
_WARNING: Final = re.compile(
    r"\b(?:warn(?:ing|ings)?|deprecat(?:ed|ion)|skipp?ed|retry(?:ing)?)\b|警告", re.IGNORECASE
)
_LEVEL: Final = re.compile(
    r"(?:^|[\s\[|<(\"=:])(?:FATAL|CRITICAL|CRIT|EMERG|ALERT|ERROR|ERR|SEVERE|PANIC)(?=[\s\]|>):\",]|$)"
)
_NONE: Final = re.compile(
    r"\b(?:0|no|zero|without)(?: \w+)? (?:errors?|failures?|failed|exceptions?|warnings?)\b"
    r"|\b(?:errors?|failures?|failed)[=: ]+0\b",
    re.IGNORECASE,
)
_OUTCOME: Final = re.compile(
    r"\b\d+ (?:passed|failed|errors?|skipped|tests?|warnings?|upgraded|packages?|files? changed)\b"
    r"|exit(?:ed)?(?: with)?(?: code| status)?[ :=]+\d+|return ?code\W{0,2}\d+|^(?:total|summary|result)\b"
    r"|successfully|\bdone\.?$",
    re.IGNORECASE,
)

LOOKED_AT: Final = 2000
"""Characters of a line that are looked at: a line that says nothing by then is no message."""

KEPT: Final = 48
"""Lines of one weight that are kept apart; further ones only count."""


@final
@attrs.frozen(kw_only=True)
class Told:
    """Lines that say the like, numbers apart.

    Attributes:
        weight: 4 for what is logged as an error, 3 for the name of an exception, 2 for words of failure,
            1 for warnings and outcomes.
        start: first character of the first such line.
        end: character behind it.
        count: how many lines there are.
    """

    weight: int
    start: int
    end: int
    count: int


def weight_of(line: str) -> int:
    """How telling a line is: see `Told.weight`; 0 for one that tells nothing of the kind."""
    line = line[:LOOKED_AT]
    if _LEVEL.search(line) is not None:
        return 4
    if _EXCEPTION.search(line) is not None:
        return 3
    if (_STRONG.search(line) is not None or _HAN.search(line) is not None) and _NONE.search(line) is None:
        return 2
    return 1 if _WARNING.search(line) is not None or _OUTCOME.search(line) is not None else 0


def told(text: str, lines: Iterable[tuple[int, int]]) -> list[Told]:
    """The telling lines of some lines, given as ranges: heaviest first, then by place.

    Lines that differ in numbers only are told once.
    """
    found = dict[tuple[int, str], Told]()
    kept = dict[int, int]()
    for start, end in lines:
        line = text[start : min(end, start + LOOKED_AT)]
        weight = weight_of(line)
        if not weight:
            continue
        key = (weight, masked(line))
        known = found.get(key)
        if known is not None:
            found[key] = attrs.evolve(known, count=known.count + 1)
        elif kept.get(weight, 0) < KEPT:
            kept[weight] = kept.get(weight, 0) + 1
            found[key] = Told(weight=weight, start=start, end=end, count=1)
    return sorted(found.values(), key=lambda one: (-one.weight, one.start))


NAMES: Final = {4: "error", 3: "exception", 2: "failure", 1: "notice"}
"""What a telling line is called."""


def told_quotes(text: str, lines: Iterable[tuple[int, int]], least: int = 1) -> Iterator[Quote]:
    """Telling lines of at least a weight as quotes."""
    for one in told(text, lines):
        if one.weight >= least:
            yield line_quote(NAMES[one.weight], text, one.start, one.end, one.count)


_NUMBERS: Final = re.compile(r"0x[0-9a-fA-F]+|\b(?=[a-fA-F]*\d)[0-9a-fA-F]{8,}\b|\d+(?:[.:,-]\d+)*")


def masked(line: str) -> str:
    """A line with `#` for numbers, times and hashes, and without white space at its ends."""
    return _NUMBERS.sub("#", line[:LOOKED_AT].strip())


def exception_at(line: str) -> tuple[int, int] | None:
    """Where a line names an exception, with its package; None where it does not."""
    found = _EXCEPTION.search(line[:LOOKED_AT])
    if found is None:
        return None
    start, end = found.span()
    while start and (line[start - 1].isalnum() or line[start - 1] in "_$."):
        start -= 1
    while end < len(line) and (line[end].isalnum() or line[end] in "_$"):
        end += 1
    return start, end
