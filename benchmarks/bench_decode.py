"""Decoding and projecting, measured in passes of `json.loads` over the same lines."""

import functools
import json

from benchmarks.histories import CONFIG, SESSION, log, projected
from benchmarks.measure import Row, best_of, show
from jingwei.events.wire import decode_events, decode_log
from jingwei.jsontext import JsonValue
from jingwei.projection.project import project


def main() -> list[Row]:
    data = log(1000)
    lines = data.decode().split("\n")[:-1]
    events = decode_log(data).unwrap()
    took = best_of(
        5,
        {
            "kept": functools.partial(_loaded, lines),
            "dropped": functools.partial(_load, lines),
            "decode and project": functools.partial(projected, data),
            "decode": functools.partial(decode_log, data),
            "stream": functools.partial(_stream, data),
            "project": functools.partial(project, SESSION, events, CONFIG),
        },
    )
    kept, dropped = took["kept"], took["dropped"]
    rows = [
        Row("decode_log + project / json.loads, values kept", took["decode and project"] / kept, limit=4),
        Row("decode_log / json.loads, values kept", took["decode"] / kept),
        Row("project / json.loads, values kept", took["project"] / kept),
        Row("decode_log + project / json.loads, values dropped", took["decode and project"] / dropped),
        Row("decode_events, events dropped / json.loads, values dropped", took["stream"] / dropped),
        Row("json.loads, values kept", kept * 1000, "ms"),
        Row("json.loads, values dropped", dropped * 1000, "ms"),
        Row("decode_log + project", took["decode and project"] * 1000, "ms"),
    ]
    shown = show("1,000 turns", rows, f"{len(lines):,} events, {len(data) / 1e6:.1f} MB, best of 5")
    del events, lines
    twice = best_of(
        3,
        {
            "1000": functools.partial(projected, data),
            "2000": functools.partial(projected, log(2000)),
        },
    )
    linear = Row("decode_log + project, 2,000 turns / 1,000 turns", twice["2000"] / twice["1000"], limit=2.3)
    return shown + show("growth", [linear], "best of 3")


def _loaded(lines: list[str]) -> list[JsonValue]:
    """All values at once, as `decode_log` holds all events at once."""
    return [json.loads(line) for line in lines]


def _load(lines: list[str]) -> None:
    for line in lines:
        json.loads(line)


def _stream(data: bytes) -> None:
    for _ in decode_events((data,)):
        pass
