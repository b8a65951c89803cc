"""The same input gives the same bytes in any process (P12, W8): other hash seed, locale, optimisation."""

import hashlib
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings

from jingwei.build import BuildInputs, build
from jingwei.events.records import SessionLog
from jingwei.events.wire import decode_log, encode_log
from jingwei.messages.records import UserMessage
from jingwei.messages.wire import encode_request
from jingwei.outcome import Failure
from jingwei.projection.diagnose import diagnose
from jingwei.projection.project import project
from jingwei.projection.records import LegacyReplies, ProjectionConfig
from jingwei.projection.wire import encode_projection
from jingwei.report.wire import encode_report
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget
from jingwei.testing import strategies as some
from jingwei.testing.strategies import SESSION

OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)
TARGET = ContextTarget(model="m", template_revision="1")


def traces(data: bytes) -> list[str]:
    """A digest of everything that jingwei makes of one log: bytes, projection, diagnosis, builds."""
    log = decode_log(data)
    if isinstance(log, Failure):
        return [repr(log.failure())]
    made = [encode_log(log.unwrap().events).unwrap(), repr(diagnose(SESSION, log.unwrap())).encode()]
    projection = project(SESSION, log.unwrap(), OMIT)
    if isinstance(projection, Failure):
        made.append(repr(projection.failure()).encode())
    else:
        made.append(encode_projection(projection.unwrap()).unwrap())
        for window in (60, 120, 300, 100_000):
            inputs = BuildInputs(
                current=(UserMessage(content="现在"),),
                target=TARGET,
                budget=ContextBudget(window_tokens=window, output_reserve=10),
                system=("rules",),
            )
            built = build(projection.unwrap(), inputs, ByteHeuristicCounter())
            if isinstance(built, Failure):
                made.append(repr(built.failure()).encode())
            else:
                made.append(encode_request(built.unwrap().request).unwrap())
                made.append(encode_report(built.unwrap().report).unwrap())
    return [hashlib.sha256(one).hexdigest() for one in made]


SCRIPT = """
import json, sys
from properties.test_determinism import traces
logs = [text.encode() for text in json.load(sys.stdin)]
print(json.dumps([traces(data) for data in logs]))
"""


BROKEN = (b'{"a":1,"a":2}\n', b"[1.5]\n", b"{}", '{"İ":NaN}\n'.encode(), b'{"a":' + b"7" * 4301 + b"}\n")
"""Logs that do not decode, each for another reason."""


def drawn_logs() -> list[bytes]:
    """A fixed set: the same in every run, whatever the profile."""
    found = list(BROKEN)

    @settings(max_examples=60, derandomize=True, database=None)
    @given(some.legal_logs(legacy=True) | some.mutated_logs())
    def collect(log: SessionLog) -> None:
        found.append(encode_log(log.events).unwrap())

    collect()
    return found


class TestOtherProcesses:
    """What jingwei makes of a log depends on the log alone: not on the process, the seed of its hashes, its
    locale, its time zone, whether it keeps assertions, or how long an integer it likes to print.
    """

    def test_equal_bytes_again_in_this_process(self) -> None:
        """Also in another order, so that nothing is remembered from one log to the next."""
        logs = drawn_logs()

        assert [traces(data) for data in logs] == [traces(data) for data in reversed(logs)][::-1]

    @pytest.mark.parametrize(
        ("flags", "environment"),
        [
            (("-O",), {"PYTHONHASHSEED": "1", "LC_ALL": "C", "PYTHONUTF8": "0"}),
            ((), {"PYTHONHASHSEED": "4242", "TZ": "Pacific/Kiritimati", "PYTHONUTF8": "1"}),
            (
                ("-OO", "-X", "int_max_str_digits=640"),
                {"PYTHONHASHSEED": "0", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "PYTHONUTF8": "0"},
            ),
        ],
        ids=("optimised in the C locale", "another hash seed and time zone", "Turkish, short integers"),
    )
    def test_equal_bytes_in_another_process(
        self, flags: tuple[str, ...], environment: dict[str, str]
    ) -> None:
        """Every digest of every log is that of this process."""
        logs = drawn_logs()
        expected = [traces(data) for data in logs]
        done = subprocess.run(
            [sys.executable, *flags, "-c", SCRIPT],
            input=json.dumps([data.decode() for data in logs]).encode(),
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=False,
        )

        assert b"" == done.stderr
        assert expected == json.loads(done.stdout)
        assert 30 < len({tuple(trace) for trace in expected})
