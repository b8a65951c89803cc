"""What condensing without a model saves, whether what matters is still shown, and what it costs (T2).

Two measures: the tool results of more than 4 KB in the public sessions beside the checkout (skipped where
they are not here), and texts with a planted fact.
"""

import json
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, cast

from benchmarks import workload
from benchmarks.measure import Row, best_of, show
from jingwei.condensers.choose import condense_text
from jingwei.condensers.records import CondensedText
from jingwei.condensers.rendering import rendered
from jingwei.jsontext import utf8_bytes
from jingwei.outcome import Success

DATA: Final = Path(__file__).resolve().parents[2] / "shared" / "data"
LARGE: Final = 4096
"""Bytes above which a tool result counts as large (T3)."""

SEEDS: Final = (1, 2, 3, 4, 5)
PLANTED: Final = 1000
"""Texts of one seed."""

_ROLES: Final = frozenset({"tool", "function", "observation"})
_TYPES: Final = frozenset({"tool_result", "function_call_output", "custom_tool_call_output", "tool-result"})
_FIELDS: Final = ("content", "output", "result", "observation")


def main() -> list[Row]:
    rows = list[Row]()
    if DATA.is_dir():
        rows += show("Tool results over 4 KB in public sessions", on_results(large_results(DATA)))
    else:
        print("\nTool results in public sessions: skipped, they are not here")
    rows += show(f"Planted facts, {len(SEEDS)} × {PLANTED} texts", on_planted(SEEDS, PLANTED))
    return rows + show("Time, a log twice as long", on_time())


def on_results(texts: list[str]) -> Iterator[Row]:
    """The share of bytes that stays; the targets say at least 80 % saved, and no result is refused."""
    shares, methods, refused = list[float](), Counter[str](), 0
    for text in texts:
        match condense_text(text):
            case Success(condensed):
                shares.append(100 * utf8_bytes(rendered(condensed)) / utf8_bytes(text))
                methods[condensed.method.partition("-")[0]] += 1
            case _:
                refused += 1
                shares.append(100.0)
    yield Row("results", len(texts), "")
    yield Row("bytes that stay, median", statistics.median(shares), "%", limit=20)
    yield Row("bytes that stay, most", max(shares), "%")
    yield Row("refused", refused, "", limit=0)
    for method, count in methods.most_common():
        yield Row(f"read as {method}", count, "")


def on_planted(seeds: tuple[int, ...], count: int) -> Iterator[Row]:
    """The share of planted facts that neither facts nor summary show; the target says at most 5 %."""
    texts, lost = Counter[str](), Counter[str]()
    for seed in seeds:
        for row in workload.planted(seed, count):
            texts[row["kind"]] += 1
            match condense_text(row["text"]):
                case Success(condensed) if all(shows(condensed, wanted) for wanted in row["must_show"]):
                    pass
                case _:
                    lost[row["kind"]] += 1
    for kind, total in sorted(texts.items()):
        yield Row(f"lost in {kind}, of {total}", 100 * lost[kind] / total, "%", limit=5)


def shows(condensed: CondensedText, wanted: str) -> bool:
    return wanted in condensed.summary or any(wanted in fact.value for fact in condensed.facts)


def on_time() -> Iterator[Row]:
    """Twice the lines may take at most two and a half times as long."""
    logs = {lines: "\n".join(log_lines(lines)) for lines in (20_000, 40_000)}
    seconds = best_of(3, {str(lines): partial(condense_text, text) for lines, text in logs.items()})
    yield Row("40,000 lines", seconds["40000"], "s")
    yield Row("40,000 lines / 20,000 lines", seconds["40000"] / seconds["20000"], limit=2.5)


def log_lines(count: int) -> Iterator[str]:
    for index in range(count):
        level = "ERROR a.b.StockError:" if index % 97 == 5 else "INFO"
        clock = f"10:{index // 60 % 60:02d}:{index % 60:02d}"
        yield f"2026-08-01T{clock}Z {level} worker-{index % 7} item {index}"


def large_results(folder: Path) -> list[str]:
    """Every different text of a tool's result above `LARGE` bytes, in the order of files."""
    found = dict[str, None]()
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".json", ".jsonl", ".traj"}:
            for document in documents(path.read_bytes().decode("utf-8", "replace")):
                found.update(dict.fromkeys(text for text in results(document) if utf8_bytes(text) > LARGE))
    return list(found)


def documents(text: str) -> Iterator[object]:
    """The one JSON document of a file, or each of its lines that is one."""
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.split("\n"):
            try:
                yield json.loads(line)
            except ValueError:
                continue


def results(document: object) -> Iterator[str]:
    """The texts of tool results, in whatever common form they stand in a document."""
    todo = [document]
    while todo:
        value = todo.pop()
        if isinstance(value, list):
            todo += cast("list[object]", value)
        elif isinstance(value, dict):
            record = cast("Mapping[str, object]", value)
            if (
                str(record.get("role")) in _ROLES
                or str(record.get("type")) in _TYPES
                or "observation" in record
            ):
                yield from (said for field in _FIELDS for said in said_in(record.get(field)))
            todo += record.values()


def said_in(value: object) -> list[str]:
    """A text, or the texts of its parts put together."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return []
    parts = [part.get("text") for part in cast("list[object]", value) if isinstance(part, dict)]
    return ["".join(part for part in parts if isinstance(part, str))]
