"""Two recorded logs, and what they become: the projection and the built request, byte for byte.

`log.jsonl` is written by hand. The other files are written by

    python -m tests.golden.cases

and read by a person before they are committed: a change of theirs is a change of what jingwei means, and
wants another `ALGORITHM_VERSION` or `BUILD_VERSION`, or a reason why it does not.
"""

from pathlib import Path
from typing import Final, final

import attrs

from jingwei.build import BuildInputs, build
from jingwei.events.wire import decode_log, encode_log
from jingwei.ids import SessionId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    GenerationConstraint,
    JsonSchemaConstraint,
    ModelMessage,
    NamedChoice,
    NativeToolsConstraint,
    ToolDefinition,
    UserMessage,
)
from jingwei.messages.wire import encode_request
from jingwei.projection.project import project
from jingwei.projection.records import DEFAULT_CONFIG, LegacyReplies, ProjectionConfig
from jingwei.projection.split import split_open_turn
from jingwei.projection.wire import encode_projection
from jingwei.report.wire import encode_report
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget

HERE: Final = Path(__file__).parent


@final
@attrs.frozen(kw_only=True)
class Case:
    """One log and what a host asks of it."""

    name: str
    session_id: SessionId
    config: ProjectionConfig = DEFAULT_CONFIG
    current: tuple[ModelMessage, ...]
    system: tuple[str, ...]
    constraint: GenerationConstraint
    pinned_turns: tuple[TurnId, ...]
    window_tokens: int


CASES: Final = (
    Case(
        name="support",
        session_id=SessionId("support-17"),
        current=(UserMessage(content="谢谢。Anything else I should know?"),),
        system=("Answer in the customer's language.", "Never promise a refund."),
        constraint=JsonSchemaConstraint(name="answer", schema=Json('{"type":"object","b":1,"a":2}')),
        pinned_turns=(TurnId("t2"),),
        window_tokens=350,
    ),
    Case(
        name="coding",
        session_id=SessionId("coding/二"),
        config=ProjectionConfig(legacy_replies=LegacyReplies.OMIT),
        current=(),
        system=(),
        constraint=NativeToolsConstraint(
            tools=(ToolDefinition(name="run", description="run the tests", parameters=Json("true")),),
            choice=NamedChoice(name="run"),
        ),
        pinned_turns=(),
        window_tokens=1000,
    ),
)


def rendered(case: Case) -> dict[str, bytes]:
    """What each file of a case holds."""
    log = decode_log((HERE / case.name / "log.jsonl").read_bytes()).unwrap()
    projection = project(case.session_id, log, case.config).unwrap()
    split = split_open_turn(projection)
    inputs = BuildInputs(
        current=(*split.current, *case.current),
        target=ContextTarget(model="golden", template_revision="1"),
        budget=ContextBudget(window_tokens=case.window_tokens, output_reserve=64, safety_margin=8),
        system=case.system,
        constraint=case.constraint,
        pinned_turns=case.pinned_turns,
        state_version="golden-1",
    )
    built = build(split.history, inputs, ByteHeuristicCounter()).unwrap()
    return {
        "canonical.jsonl": encode_log(log.events).unwrap(),
        "projection.json": encode_projection(projection).unwrap() + b"\n",
        "request.json": encode_request(built.request).unwrap() + b"\n",
        "report.json": encode_report(built.report).unwrap() + b"\n",
    }


def main() -> None:
    for case in CASES:
        for name, data in rendered(case).items():
            (HERE / case.name / name).write_bytes(data)


if __name__ == "__main__":
    main()
