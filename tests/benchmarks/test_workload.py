"""The workload of the benchmarks is the shared one: their numbers can be compared."""

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import workload
from jingwei.events.wire import decode_log, encode_log
from jingwei.outcome import Success

SHARED = Path(__file__).parents[3] / "shared" / "workload.py"


@pytest.fixture(scope="module")
def shared() -> ModuleType:
    if not SHARED.exists():
        pytest.skip("the shared workload is not here")
    spec = importlib.util.spec_from_file_location("shared_workload", SHARED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_the_same_seed_gives_the_same_rows_as_the_shared_workload(shared: ModuleType, seed: int) -> None:
    ours = [workload.session(seed, 40), workload.items(seed, 100), workload.planted(seed, 20)]
    theirs = [shared.session(seed, 40), shared.items(seed, 100), shared.planted(seed, 20)]

    assert [list(map(workload.line, rows)) for rows in theirs] == [
        list(map(workload.line, rows)) for rows in ours
    ]


def test_a_short_session_is_the_beginning_of_a_long_one() -> None:
    short = list(workload.session_lines(5, 10))
    long = workload.session_lines(5, 30)

    assert short == list(itertools.islice(long, len(short)))


def test_a_session_is_a_canonical_log() -> None:
    """The benchmarks measure the path of logs that this library writes itself."""
    data = b"".join(workload.session_lines(3, 20))
    decoded = decode_log(data)

    assert isinstance(decoded, Success)
    assert Success(data) == encode_log(decoded.unwrap().events)
