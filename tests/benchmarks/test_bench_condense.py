"""What the benchmark of condensing looks at is what it says."""

import json
from pathlib import Path

import pytest

from benchmarks import workload
from benchmarks.bench_condense import DATA, documents, large_results, on_planted, on_results, results, said_in

LONG = "word\n" * 1000


def test_documents_are_a_whole_file_or_its_lines() -> None:
    assert [[{"a": 1}], [1, 2], []] == [list(documents(text)) for text in ('{"a": 1}', "1\nx\n2\n", "x")]


def test_results_of_tools_are_found_in_common_forms() -> None:
    document = [
        {"role": "tool", "content": "one"},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"text": "t"}, {"text": "wo"}, 3]}]},
        {"type": "function_call_output", "output": "three"},
        {"observation": "four", "action": "x"},
        {"role": "user", "content": "not this"},
    ]

    assert {"one", "two", "three", "four"} == set(results(document))
    assert [] == said_in({"a": 1})


def test_large_results_are_taken_once(tmp_path: Path) -> None:
    line = json.dumps({"role": "tool", "content": LONG})
    (tmp_path / "a.jsonl").write_text(f"{line}\n{line}\n")
    (tmp_path / "b.json").write_text(json.dumps({"role": "tool", "content": "small"}))
    (tmp_path / "c.txt").write_text(line)

    assert [LONG] == large_results(tmp_path)


def test_the_rows_say_what_was_missed() -> None:
    rows = {row.name: row.value for row in on_results([LONG, "x"])}

    assert (2, 1, 1) == (rows["results"], rows["refused"], rows["read as lines"])
    assert [0.0] * 4 == [row.value for row in on_planted((3,), 8)]


def test_what_is_lost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"kind": "log", "text": LONG, "must_show": ["nowhere"], "at_line": 1}
    monkeypatch.setattr(workload, "planted", lambda seed, count: [row])

    assert [100.0] == [row.value for row in on_planted((1,), 1)]


def test_the_targets_hold_on_the_public_sessions() -> None:
    if not DATA.is_dir():
        pytest.skip("the public sessions are not here")

    assert [] == [row.name for row in on_results(large_results(DATA)) if row.missed]
