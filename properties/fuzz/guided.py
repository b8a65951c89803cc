"""The engine that is always there: Hypothesis' fuzzing entry, guided by the lines that an input reaches.

Hypothesis turns a buffer into a choice of seed and changes (`fuzz_one_input`); this module grows the
buffers. A buffer that reaches a new line of jingwei is kept and changed further. Slower than `atheris` by
far, since lines are watched by a trace function, but everywhere the same.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any, Final, final

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

import jingwei
from properties.fuzz.mutation import mutated, seeds
from properties.fuzz.targets import TARGETS, Target

HOUSE: Final = str(Path(jingwei.__file__ or "").parent)
BUFFER_BYTES: Final = 768


@final
@attrs.frozen(kw_only=True)
class Ran:
    """What a run did.

    Attributes:
        executions: how often the target was called.
        lines: how many lines of jingwei were reached.
        kept: how many buffers reached new ones.
        finding: the input that broke a promise, and how.
    """

    executions: int
    lines: int
    kept: int
    finding: tuple[bytes, Exception] | None = None


def run(name: str, seconds: float, seed: int, target: Target | None = None) -> Ran:
    """Run the seeds of a target, then grow inputs from them, until the time is up or a promise breaks.

    The inputs follow from the seed; the time says how many of them are tried.
    """
    met = _Met(TARGETS[name] if target is None else target)
    watch = _Watch()
    enter = entry(name, met)
    rng, pool, until = Random(seed), list[bytes](), time.monotonic() + seconds
    try:
        for data in seeds(name):
            watch.over(lambda data=data: met(data))  # type: ignore[misc]
        while time.monotonic() < until:
            buffer = grown(pool, rng)
            before = len(watch.lines)
            watch.over(lambda buffer=buffer: enter(buffer))  # type: ignore[misc]
            if before < len(watch.lines):
                pool.append(buffer)
    except Exception as error:
        return Ran(executions=met.times, lines=len(watch.lines), kept=len(pool), finding=(met.last, error))
    return Ran(executions=met.times, lines=len(watch.lines), kept=len(pool))


def entry(name: str, target: Target) -> Callable[[bytes], bytes | None]:
    """Hypothesis' fuzzing entry: from a buffer to one call of the target."""
    first = seeds(name)
    changed = st.builds(mutated, st.sampled_from(first), st.randoms(use_true_random=False))

    @settings(database=None, deadline=None)
    @given(st.one_of(changed, changed, changed, st.binary(max_size=80)))
    def fuzzed(data: bytes) -> None:
        target(data)

    found: Callable[[bytes], bytes | None] = fuzzed.hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    return found


def grown(pool: list[bytes], rng: Random) -> bytes:
    """A new buffer, or a kept one with a piece of another, some bytes anew, or another end."""
    if not pool or rng.random() < 0.3:
        return rng.randbytes(BUFFER_BYTES)
    buffer, other = rng.choice(pool), rng.choice(pool)
    at = rng.randrange(len(buffer))
    match rng.randrange(3):
        case 0:
            return buffer[:at] + other[at:]
        case 1:
            return buffer[:at] + rng.randbytes(BUFFER_BYTES - at)
        case _:
            few = rng.choice((1, 2, 8))
            return (buffer[:at] + rng.randbytes(few) + buffer[at + few :])[:BUFFER_BYTES]


@final
class _Met:
    """Counts the calls of a target, and remembers the last input."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.times = 0
        self.last = b""

    def __call__(self, data: bytes) -> None:
        self.times, self.last = self.times + 1, data
        self._target(data)


@final
class _Watch:
    """The lines of jingwei that calls have reached."""

    def __init__(self) -> None:
        self.lines = set[tuple[CodeType, int]]()

    def over(self, call: Callable[[], object]) -> None:
        """Make a call under the watch; a tracer that was there before is there again afterwards."""
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            call()
        finally:
            sys.settrace(before)

    def _entered(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        return self._stepped if frame.f_code.co_filename.startswith(HOUSE) else None

    def _stepped(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self.lines.add((frame.f_code, frame.f_lineno))
        return self._stepped
