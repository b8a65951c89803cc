"""What two recorded logs become has not changed, byte for byte (P12, W8). See `cases.py` to write it anew."""

import json

import pytest

from jingwei.events.wire import decode_log, log_bytes
from tests.golden.cases import CASES, HERE, Case, rendered

BY_NAME = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@BY_NAME
@pytest.mark.parametrize("name", ["canonical.jsonl", "projection.json", "request.json", "report.json"])
def test_a_log_becomes_what_it_became(case: Case, name: str) -> None:
    expected = (HERE / case.name / name).read_bytes()

    assert expected == rendered(case)[name]


@BY_NAME
def test_the_canonical_log_is_its_own_canonical_form(case: Case) -> None:
    data = (HERE / case.name / "canonical.jsonl").read_bytes()

    assert decode_log((HERE / case.name / "log.jsonl").read_bytes()) == decode_log(data)
    assert len(data) == log_bytes(decode_log(data).unwrap()) + data.count(b"\n")


def test_one_log_is_canonical_as_it_was_written_and_the_other_is_not() -> None:
    same = [
        (HERE / case.name / "log.jsonl").read_bytes() == (HERE / case.name / "canonical.jsonl").read_bytes()
        for case in CASES
    ]

    assert [True, False] == same


@BY_NAME
def test_the_files_are_plain_json_to_anybody(case: Case) -> None:
    """A second reader, the standard library, finds the same messages in request and projection."""
    projection = json.loads((HERE / case.name / "projection.json").read_bytes())
    request = json.loads((HERE / case.name / "request.json").read_bytes())
    report = json.loads((HERE / case.name / "report.json").read_bytes())
    kept = {row["turn_id"] for row in report["turns"] if row["retained"]}
    history = [m for group in projection["groups"] if group["turn_id"] in kept for m in group["messages"]]
    first = report["system_messages"]
    last = len(request["messages"]) - report["current_messages"]

    assert history == request["messages"][first:last]
    assert report["attempts"][-1]["total_reserved"] <= report["budget"]["window_tokens"]
