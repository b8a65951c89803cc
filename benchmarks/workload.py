"""The generated workload that every benchmark runs on: deterministic for a seed, standard library only.

    python -m benchmarks.workload log --turns 120 --seed 1 > session.jsonl   # a session log (rules W)
    python -m benchmarks.workload items --seed 1                             # selection instances
    python -m benchmarks.workload planted --seed 1                           # texts with planted facts

A model call stands before each tool call and each reply, as a request and a result with short audit
payloads, so that about seven model calls fall to a turn. Tool results have the sizes that agents see:
mostly 200 bytes to 4 KB, one in twenty about 40 KB. Text is English, code, Chinese and dense data.

The order of the calls to the generator is part of the output: a session of 1,000 turns is the beginning
of one of 4,000 turns with the same seed.
"""

import argparse
import json
import random
from collections.abc import Iterator
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]

WORDS = tuple(
    word
    for words in (
        "the build failed because module layout changed after merge while cache kept old paths so we",
        "check logs config order payment user session retry timeout schema index table value request",
        "report window token",
    )
    for word in words.split()
)
HAN = (
    "构建失败因为模块布局在合并之后改变而缓存仍然保留旧路径所以我们"
    "检查日志配置订单支付用户会话重试超时模式索引表值请求报告窗口"
)
CODE = (
    "def handle(event, state):",
    "    return state.get(event.key, None)",
    "for row in rows:",
    "    if row['ok'] is False:",
    "raise ValueError(row)",
)


def session_lines(seed: int, turns: int, session_id: str = "bench") -> Iterator[bytes]:
    """The same session as lines of a log, each with its newline."""
    for event in session(seed, turns, session_id):
        yield line(event).encode() + b"\n"


def session(seed: int, turns: int, session_id: str = "bench") -> Iterator[Row]:
    """The events of a session, as plain JSON objects with their keys in wire order (W1)."""
    return _Session(random.Random(seed), session_id).events(turns)


def items(seed: int, count: int = 1000) -> Iterator[Row]:
    """Selection instances: skewed costs of 1 to 4,000, values partly proportional; one in ten adversarial."""
    r = random.Random(seed)
    for k in range(count):
        rows = list[Row]()
        for i in range(r.randint(1, 20)):
            cost = int(4000 ** r.random())
            value = cost * r.uniform(0.2, 2) if r.random() < 0.5 else 4000 * r.random()
            rows.append({"item_id": f"i{i:02d}", "token_cost": cost, "value": round(value, 3)})
        if k % 10 == 0:
            small: Row = {"item_id": "small", "token_cost": 1, "value": 2.0}
            large: Row = {"item_id": "large", "token_cost": 100, "value": 100.0}
            rows = [small, large, *rows[:3]]
        total: int = sum(row["token_cost"] for row in rows)
        yield {"budget": max(1, int(total * r.uniform(0.1, 0.9))) if k % 10 else 100, "items": rows}


def planted(seed: int, count: int = 200) -> Iterator[Row]:
    """Texts with a fact that a condensed form must still show: `kind`, `text`, `must_show`, `at_line`."""
    r = random.Random(seed)
    for k in range(count):
        kind, size = ("log", "json", "trace", "csv")[k % 4], r.randint(120, 900)
        at = r.randrange(10, size - 10)
        lines, shown, at = _PLANTED[kind](r, size, at)
        yield {"kind": kind, "text": "\n".join(lines), "must_show": [shown], "at_line": at + 1}


def line(row: Row) -> str:
    """A row as canonical JSON (W8), without a newline."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def prose(r: random.Random, size: int) -> str:
    """At least `size` bytes of text, of one of four kinds."""
    kind, pieces, written = r.random(), list[str](), 0
    while written < size:
        if kind < 0.45:
            piece = " ".join(r.choice(WORDS) for _ in range(12)) + ". "
        elif kind < 0.65:
            piece = r.choice(CODE) + "\n"
        elif kind < 0.85:
            piece = "".join(r.choice(HAN) for _ in range(20)) + "，"
        else:
            piece = f"{r.getrandbits(64):016x} {r.random():.6f} {r.randint(0, 10**9)}\n"
        pieces.append(piece)
        written += len(piece.encode())
    return "".join(pieces)


def result_size(r: random.Random) -> int:
    """Bytes of a tool result: one in twenty is large, the others lie evenly on a logarithmic scale."""
    return r.randint(30_000, 50_000) if r.random() < 0.05 else int(200 * 20 ** r.random())


class _Session:
    """Writes the events of one session, numbering them as it goes."""

    def __init__(self, r: random.Random, session_id: str) -> None:
        self.r = r
        self.session_id = session_id
        self.seq = 0

    def events(self, turns: int) -> Iterator[Row]:
        for number in range(turns):
            yield from self.turn(number, f"turn_{number:05d}")

    def turn(self, number: int, turn: str) -> Iterator[Row]:
        r = self.r
        yield self.event(turn, {"type": "user_message", "text": prose(r, r.randint(40, 600))})
        steps = r.choice((0, 2, 4, 6, 6, 8, 10, 12))
        for step in range(steps):
            yield from self.model_call(turn, step)
            yield from self.tool_calls(turn, step)
        yield from self.model_call(turn, steps)
        end = r.choices(("completed", "waiting_for_input", "cancelled", "error"), (92, 4, 2, 2))[0]
        if end in ("completed", "waiting_for_input"):
            reply = {"type": "assistant_message", "version": 1, "text": prose(r, r.randint(80, 1500))}
            yield self.event(turn, reply, f"msg_{number:05d}")
        if end == "error":
            yield self.event(
                turn, {"type": "error", "code": "crash", "message": "stopped", "retryable": True}
            )
        else:
            yield self.event(turn, {"type": "done", "status": end})

    def tool_calls(self, turn: str, step: int) -> Iterator[Row]:
        """One to three calls, then their results in any order."""
        r = self.r
        calls = [f"call_{step}_{i}" for i in range(r.choice((1, 1, 1, 2, 3)))]
        for call in calls:
            name = r.choice(("read_file", "search", "run"))
            arguments = {"path": f"src/{r.randint(0, 999)}.py", "n": r.randint(1, 400)}
            yield self.event(
                turn, {"type": "tool_call", "call": {"id": call, "name": name, "arguments": arguments}}
            )
        r.shuffle(calls)
        for call in calls:
            outcome: Row
            if r.random() < 0.93:
                outcome = {"status": "succeeded", "output": prose(r, result_size(r))}
            else:
                outcome = {
                    "status": "failed",
                    "category": "body_failure",
                    "code": "exit_1",
                    "message": prose(r, 200),
                    "retryable": False,
                }
            yield self.event(turn, {"type": "tool_result", "result": {"call_id": call, "outcome": outcome}})

    def model_call(self, turn: str, number: int) -> Iterator[Row]:
        """A request and its result, with short payloads: the projection omits both (P9)."""
        call_id = f"mcall_{turn}_{number}"
        request = {
            "version": 1,
            "call_id": call_id,
            "mode": "complete",
            "input": {
                "messages": [{"role": "user", "content": "(see the log)"}],
                "constraint": {"mode": "text"},
            },
            "options": {
                "max_tokens": None,
                "timeout": None,
                "limits": {"max_output_bytes": 8388608, "max_tool_calls": 32},
            },
        }
        response = {
            "content": "(see the log)",
            "tool_calls": [],
            "incomplete_tool_calls": [],
            "finish_reason": {"kind": "stop"},
            "usage": {},
        }
        outcome = {"status": "succeeded", "response": response}
        yield self.event(turn, {"type": "model_request", "request": request})
        result = {"version": 1, "call_id": call_id, "outcome": outcome}
        yield self.event(turn, {"type": "model_result", "result": result})

    def event(self, turn: str, kind: Row, message_id: str | None = None) -> Row:
        event: Row = {"event_id": f"evt_{self.seq:08d}", "session_id": self.session_id, "turn_id": turn}
        if message_id is not None:
            event["message_id"] = message_id
        event["seq"], event["kind"] = self.seq, kind
        self.seq += 1
        return event


def _planted_log(r: random.Random, size: int, at: int) -> tuple[list[str], str, int]:
    name = f"Error{r.randint(100, 999)}NotFound"
    lines = []
    for i in range(size):
        clock = f"2026-08-01T10:{i // 60 % 60:02d}:{i % 60:02d}Z"
        lines.append(f"{clock} INFO worker-{i % 7} heartbeat ok latency={r.randint(1, 90)}ms")
    lines[at] = f"2026-08-01T10:21:03Z ERROR worker-3 java.lang.{name}: com.demo.OrderService"
    return lines, name, at


def _planted_csv(r: random.Random, size: int, at: int) -> tuple[list[str], str, int]:
    value = r.randint(10**8, 10**9)
    lines = ["id,region,amount"] + [f"{i},r{i % 5},{r.randint(10, 99)}" for i in range(size)]
    lines[at] = f"{at - 1},r2,{value}"
    return lines, str(value), at


def _planted_trace(r: random.Random, size: int, _at: int) -> tuple[list[str], str, int]:
    frames = []
    for i in range(size):
        place = f'  File "/srv/app/mod{i % 40}.py", line {r.randint(1, 400)}, in step_{i % 40}'
        frames.append(f"{place}\n    call(step_{(i + 1) % 40})")
    name = f"Inventory{r.randint(100, 999)}Error"
    lines = ["Traceback (most recent call last):", *frames, f"{name}: stock below zero"]
    return lines, name, len(lines) - 1


def _planted_json(r: random.Random, size: int, at: int) -> tuple[list[str], str, int]:
    rows: list[Row] = [{"id": i, "status": "ok", "ms": r.randint(1, 90)} for i in range(size)]
    rows[at] = {"id": at, "status": f"failed_{r.randint(100, 999)}", "ms": r.randint(1, 90)}
    return [json.dumps({"rows": rows})], str(rows[at]["status"]), 0


_PLANTED = {"log": _planted_log, "csv": _planted_csv, "trace": _planted_trace, "json": _planted_json}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("log", "items", "planted"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, default=120)
    wanted = parser.parse_args()
    if wanted.what == "log":
        rows = session(wanted.seed, wanted.turns)
    else:
        rows = items(wanted.seed) if wanted.what == "items" else planted(wanted.seed)
    for row in rows:
        print(line(row))


if __name__ == "__main__":
    main()
