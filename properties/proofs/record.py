"""What was answered last: kept in `record.json`, from which docs/proofs.md has its tables."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from properties.proofs.table import Contract, contracts

RECORD: Final = Path(__file__).resolve().parent / "record.json"


class Answer(NamedTuple):
    """What CrossHair says of one contract.

    Attributes:
        answer: `confirmed` over all paths; `open`, that is, no counter-example, but not all paths were
            walked in time; `refuted`; `empty` where no argument meets the leading assertions; `broken`.
        seconds: processor time that it took.
        bug: the same with the bug of the contract in place.
        bug_seconds: processor time that this took.
    """

    answer: str
    seconds: float
    bug: str
    bug_seconds: float


class Walked(NamedTuple):
    """What was enumerated: every state of the searches over plans up to a length.

    Attributes:
        longest: steps of the longest plan.
        states: how many states, over all plans.
        steps: how many counts lead from one to another.
        most: the most counts of one search, if its counter contradicts itself in the worst way.
        seconds: processor time that it took.
    """

    longest: int
    states: int
    steps: int
    most: int
    seconds: float


class Record(NamedTuple):
    """One run.

    Attributes:
        date: its day.
        tools: versions, by name.
        answers: by the name of the contract.
        walked: the enumeration.
    """

    date: str
    tools: Mapping[str, str]
    answers: Mapping[str, Answer]
    walked: Walked


def read() -> Record:
    """The record on the disk; an empty one where there is none."""
    if not RECORD.exists():
        return Record("", {}, {}, Walked(0, 0, 0, 0, 0.0))
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    answers = {name: Answer(**answer) for name, answer in found["answers"].items()}
    return Record(found["date"], found["tools"], answers, Walked(**found["walked"]))


def written(record: Record) -> str:
    """The text of the record."""
    plain = {
        "date": record.date,
        "tools": dict(record.tools),
        "walked": record.walked._asdict(),
        "answers": {name: answer._asdict() for name, answer in record.answers.items()},
    }
    return json.dumps(plain, indent=1) + "\n"


def tables(record: Record) -> str:
    """What docs/proofs.md shows of it."""
    tools = ", ".join(f"{name} {version}" for name, version in record.tools.items())
    walked = record.walked
    lines = [
        f"Run on {record.date} with {tools}. Seconds are processor time; each contract has a process.",
        "",
        "| contract | of | for | answer | s | its bug | s |",
        "|---|---|---|---|--:|---|--:|",
        *(_row(one, record.answers[one.name]) for one in contracts() if one.name in record.answers),
        "",
        f"Walked besides: all {walked.states:,} states that a search over up to {walked.longest} steps can "
        f"reach, and the {walked.steps:,} counts that lead from one to another, in {walked.seconds} s. The "
        f"longest search, with a counter that contradicts itself at its worst, made {walked.most} counts.",
    ]
    return "\n".join(lines)


def _row(one: Contract, answer: Answer) -> str:
    rules = ", ".join(one.rules) or "(C4)"
    bug = f"{one.bug.what}: {'found' if answer.bug == 'refuted' else answer.bug}"
    return (
        f"| `{one.name}` | {rules} | {one.values} | {_WORDS[answer.answer]} | {answer.seconds} "
        f"| {bug} | {answer.bug_seconds} |"
    )


_WORDS: Final = {
    "confirmed": "confirmed over all paths",
    "open": "no counter-example, paths left",
    "refuted": "refuted",
    "empty": "speaks of nothing",
    "broken": "broken",
}
