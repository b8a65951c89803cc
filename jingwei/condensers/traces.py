"""Stack traces of Python, Java and JavaScript (rule T2): what was raised, where, and because of what."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, final

import attrs

from jingwei.condensers.failures import NotThisKind
from jingwei.condensers.findings import (
    FindingCondenser,
    Findings,
    Quote,
    clipped,
    counted,
    line_quote,
    line_starts,
    listed,
)

KIND: Final = "trace"

_FRAME: Final = re.compile(
    r"[ \t|]*(?:"
    r'File "(?P<file>[^"]*)", line (?P<line>\d+)(?:, in (?P<python>[^\n]*))?'  # Python
    r"|at (?P<java>[\w$.<>/@-]+)\((?P<place>[^()]*)\)"  # Java, and named functions of JavaScript
    r"|at (?:async )?(?P<script>[^()\n]+?) \((?P<where>[^()]*)\)"
    r"|at (?:async )?(?P<bare>(?:file:|node:|https?:|/)\S+:\d+(?::\d+)?)"
    r")[ \t\r]*$"
)
_RAISED: Final = re.compile(
    r"(?:[ \t|+-]*)(?P<cause>Caused by: |Suppressed: )?(?:Exception in thread \"[^\"]*\" |Uncaught "
    r"|Unhandled )?"
    r"(?P<type>(?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*)(?::(?: (?P<message>.*))?)?[ \t\r]*$"
)
_NAMED: Final = re.compile(
    r"Error|Exception|Throwable|Interrupt|Exit|Warning|Fault|Failure|Iteration|Panic|NotFound"
)
_MORE: Final = re.compile(r"[ \t]*\.\.\. (\d+) (?:more|common frames)")


@final
@attrs.frozen(kw_only=True)
class Frame:
    """One frame: its line as a range, and its function and file as one text."""

    start: int
    end: int
    name: str


@final
@attrs.frozen(kw_only=True)
class Trace:
    """One exception with its frames.

    Attributes:
        start: first character of the line that names it; None where no line does.
        end: character behind that line.
        type: its name.
        frames: in the order in which they stand.
        innermost: index of the frame in which it was raised.
        cause: whether it is the cause of the one before it in the text (Java), as against the one after.
    """

    start: int | None
    end: int
    type: str
    frames: tuple[Frame, ...]
    innermost: int
    cause: bool


def find_trace(text: str) -> Findings | NotThisKind:
    """The traces of a text in which they are more than a third of it."""
    traces = traces_of(text)
    first = next((frame.start for trace in traces for frame in trace.frames), None)
    if first is None:
        return NotThisKind(kind=KIND, line=1)
    frames = sum(len(trace.frames) for trace in traces)
    filled = sum(1 for start, after in _lines(text) if text[start:after].strip())
    # A frame of Python is two lines, often with a third of marks under the code.
    if frames * 3 * 2 < filled:
        return NotThisKind(kind=KIND, line=text.count("\n", 0, first) + 1)
    return Findings(kind=KIND, notes=tuple(_notes(text, traces)), quotes=tuple(_quotes(text, traces)))


def trace_quotes(text: str) -> Iterator[Quote]:
    """What was raised and where, of the traces in a text of another kind."""
    yield from _quotes(text, traces_of(text), most=3)


def traces_of(text: str) -> list[Trace]:
    """Every trace, in order. What was raised stands behind its frames in Python, else before them."""
    if '", line ' not in text and "at " not in text:
        return []
    found = list[Trace]()
    python, other = list[Frame](), list[Frame]()
    raised: tuple[int, int, re.Match[str]] | None = None
    for start, end in _lines(text):
        frame = _FRAME.match(text, start, min(end, start + _LINE_MAX))
        if frame is not None and frame["file"] is not None:
            python.append(_frame(start, end, frame))
            continue
        if frame is not None:
            other.append(_frame(start, end, frame))
            continue
        if other and _MORE.match(text, start, end) is None:
            found.append(_closed(raised, other, innermost=0))
            raised, other = None, []
        match = (
            None
            if not _may_raise(text, start, end)
            else _RAISED.match(text, start, min(end, start + _LINE_MAX))
        )
        if python and match is not None and not text[start : start + 1].isspace():
            found.append(_closed((start, end, match), python, innermost=-1))
            python, match = [], None
        if python and text[start:end].strip() and not text[start : start + 1].isspace():
            found.append(_closed(None, python, innermost=-1))
            python = []
        if match is not None:
            raised = (start, end, match)
        elif text[start:end].strip() and not python:
            # Of Java the line before the frames may be a message of several lines: the name stays in sight.
            raised = raised if raised is not None and start - raised[1] < _MESSAGE_MAX else None
    if python:
        found.append(_closed(None, python, innermost=-1))
    if other:
        found.append(_closed(raised, other, innermost=0))
    return found


_LINE_MAX: Final = 2000
_MESSAGE_MAX: Final = 600


def _lines(text: str) -> Iterator[tuple[int, int]]:
    for start, after in pairwise([*line_starts(text), len(text) + 1]):
        yield start, after - 1


def _may_raise(text: str, start: int, end: int) -> bool:
    """Whether a line begins with a name, alone or with a colon behind it."""
    head = text[start : min(end, start + 200)]
    if _NAMED.search(head) is not None:
        return True
    name, colon, _ = head.partition(":")
    return bool(colon) and name.replace(".", "").replace("_", "").isalnum() and not name[:1].isdigit()


def _frame(start: int, end: int, match: re.Match[str]) -> Frame:
    where = match["file"] or match["place"] or match["where"] or match["bare"] or "?"
    name = (match["python"] or "").rstrip() or match["java"] or match["script"] or "?"
    base = where.replace("\\", "/").rsplit("/", 1)[-1]
    return Frame(start=start, end=end, name=f"{name} ({base})")


def _closed(raised: tuple[int, int, re.Match[str]] | None, frames: Sequence[Frame], innermost: int) -> Trace:
    index = innermost % len(frames)
    if raised is None:
        end = frames[-1].end
        return Trace(start=None, end=end, type="", frames=tuple(frames), innermost=index, cause=False)
    start, end, match = raised
    return Trace(
        start=start,
        end=end,
        type=match["type"],
        frames=tuple(frames),
        innermost=index,
        cause=match["cause"] is not None,
    )


def _root(traces: Sequence[Trace]) -> Trace:
    """What everything else followed from: in Java the last cause of the first trace, in Python the first."""
    root = traces[0]
    for trace in traces[1:]:
        if not trace.cause:
            break
        root = trace
    return root


def _quotes(text: str, traces: Sequence[Trace], most: int = 8) -> Iterator[Quote]:
    if not traces:
        return
    root = _root(traces)
    if root.start is not None:
        yield line_quote("root exception", text, root.start, root.end, _like(root, traces))
    innermost = root.frames[root.innermost]
    yield line_quote("raised at", text, innermost.start, _code_end(text, innermost))
    shown = {root.type}
    for trace in [*traces[:most], *traces[-1:]]:
        if trace is root or trace.start is None or trace.type in shown:
            continue
        shown.add(trace.type)
        yield line_quote(
            "cause" if trace.cause else "exception", text, trace.start, trace.end, _like(trace, traces)
        )
        frame = trace.frames[trace.innermost]
        yield line_quote("raised at", text, frame.start, _code_end(text, frame))
    for frame in _nearest(root)[1:most]:
        yield line_quote("frame", text, frame.start, _code_end(text, frame))
    outermost = root.frames[0 if root.innermost else -1]
    yield line_quote("outermost frame", text, outermost.start, _code_end(text, outermost))


def _like(trace: Trace, traces: Sequence[Trace]) -> int:
    return sum(other.type == trace.type for other in traces)


def _nearest(trace: Trace) -> list[Frame]:
    """Different frames, from where it was raised outwards."""
    inwards = trace.frames[::-1] if trace.innermost else trace.frames
    return list({frame.name: frame for frame in reversed(inwards)}.values())[::-1]


def _code_end(text: str, frame: Frame) -> int:
    """The end of a frame, with the line of code that Python shows under it."""
    after = frame.end + 1
    end = text.find("\n", after)
    end = len(text) if end < 0 else end
    code = text[after:end]
    if not text[frame.start : frame.end].lstrip().startswith("File ") or not code.startswith("    "):
        return frame.end
    return end if _FRAME.match(text, after, end) is None else frame.end


def _notes(text: str, traces: Sequence[Trace]) -> Iterator[str]:
    root = _root(traces)
    frames = [frame.name for trace in traces for frame in trace.frames]
    what = "an exception that the text does not name"
    if root.start is not None:
        what = clipped(text[root.start : root.end].strip(), 160)
    yield f"{counted(len(traces), 'stack trace')}, {counted(len(frames), 'frame')}; first cause: {what}"
    yield f"raised in {clipped(root.frames[root.innermost].name, 120)}"
    folded = [(name, count) for name, count in Counter(frames).most_common(6) if count > 1]
    if folded:
        yield "repeated frames: " + listed((f"{clipped(name, 80)} ×{count}" for name, count in folded), 4)
    types = Counter(trace.type for trace in traces if trace.type)
    if len(types) > 1:
        yield "exceptions: " + listed(
            (f"{clipped(one, 60)} ×{count}" for one, count in types.most_common()), 6
        )


TRACE: Final = FindingCondenser(kind=KIND, version=1, find=find_trace)
"""Condenses stack traces."""
