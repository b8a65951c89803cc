"""What the tests of finders look at: names and values of quotes, without their places."""

from jingwei.condensers.failures import NotThisKind
from jingwei.condensers.findings import Finder, Findings


def found(find: Finder, text: str) -> Findings:
    """The findings of a text of the finder's kind."""
    answer = find(text)
    assert isinstance(answer, Findings), answer
    return answer


def refused(find: Finder, text: str) -> int:
    """The line at which a text was seen to be of another kind."""
    answer = find(text)
    assert isinstance(answer, NotThisKind), answer
    return answer.line


def quoted(findings: Findings, text: str) -> list[tuple[str, str]]:
    """Names and values in their order; values in their evidence, or it fails."""
    for one in findings.quotes:
        assert one.start <= one.value_start <= one.value_end <= one.end
    return [(one.name, text[one.value_start : one.value_end]) for one in findings.quotes]


def repeats(findings: Findings, text: str) -> dict[str, int]:
    """How often each value is said to be there, where it is first shown."""
    counts = dict[str, int]()
    for one in findings.quotes:
        counts.setdefault(text[one.value_start : one.value_end], one.repeats)
    return counts
