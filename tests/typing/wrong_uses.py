# mypy: ignore-errors
"""Wrong uses of jingwei. Each line that ends in `# wrong` must be rejected by every checker, and no other.

The first line keeps this file out of the run over the whole project; `test_checkers.py` takes it away.
"""

from collections.abc import Sequence
from typing import assert_never

import jingwei
from jingwei import (
    BuildFailure,
    BuildInputs,
    BuiltContext,
    ContextBudget,
    ContextTarget,
    CountRefused,
    Failure,
    GenerationRequest,
    ModelMessage,
    Outcome,
    Projection,
    ProjectionFailure,
    SessionId,
    SessionLog,
    ShapeFailure,
    Strategy,
    Success,
    TokenCount,
    TokenCounter,
    TurnId,
    UserMessage,
)
from jingwei.messages.failures import EmptyMessages
from jingwei.projection.failures import InvalidConfig, Malformed, MissingReply
from jingwei.report.failures import DoesNotFit
from jingwei.request.counting import AdditiveCounter
from jingwei.selection.records import Candidate, DropTurn, Plan, PlanStep, Room

TARGET = ContextTarget(model="m", template_revision="1")
BUDGET = ContextBudget(window_tokens=1, output_reserve=1)


# --- records ---


def records_are_frozen(message: UserMessage, inputs: BuildInputs) -> None:
    message.content = "other"  # wrong
    inputs.system += ("more",)  # wrong
    inputs.current.append(message)  # wrong


def records_are_spoken_by_name() -> None:
    UserMessage("x")  # wrong
    ContextTarget("m", "1")  # wrong
    ContextBudget(window_tokens="4096", output_reserve=1)  # wrong
    ContextBudget(output_reserve=1)  # wrong
    BuildInputs(current=[UserMessage(content="x")], target=TARGET, budget=BUDGET)  # wrong
    BuildInputs(current=(), target=TARGET, budget=BUDGET, pinned_turns=("t1",))  # wrong


class MyMessage(UserMessage):  # wrong
    """Records are final."""


# --- stages and names ---


def stages_are_not_confused(log: SessionLog, history: Projection, inputs: BuildInputs) -> None:
    counter = jingwei.ByteHeuristicCounter()
    jingwei.project("session", log)  # wrong
    jingwei.project(TurnId("turn"), log)  # wrong
    jingwei.project(SessionId("session"), log.events)  # wrong
    jingwei.project(SessionId("session"), history)  # wrong
    jingwei.build(log, inputs, counter)  # wrong
    jingwei.build(jingwei.project(SessionId("session"), log), inputs, counter)  # wrong
    jingwei.build(history, inputs)  # wrong
    jingwei.build(history, inputs, counter, jingwei.OldestTurnFirst())  # wrong
    jingwei.build(history, inputs, counter, search="bisect")  # wrong
    jingwei.decode_log("text")  # wrong
    jingwei.decode_events(["text"])  # wrong
    GenerationRequest(messages=({"role": "user", "content": "x"},))  # wrong


def an_outcome_is_not_its_value(data: bytes) -> int:
    found = jingwei.decode_log(data)
    print(found.events)  # wrong
    return len(found)  # wrong


def both_ways_must_be_taken(data: bytes) -> SessionLog:
    found = jingwei.decode_log(data)
    match found:
        case Success(log):
            return log
        case _:
            assert_never(found)  # wrong


def every_failure_must_be_told(failure: ProjectionFailure) -> str:
    match failure:
        case InvalidConfig() | Malformed() | MissingReply():
            return "x"
        case _:
            assert_never(failure)  # wrong


def every_shape_failure_must_be_told(failure: ShapeFailure) -> str:
    if isinstance(failure, EmptyMessages):
        return "x"
    assert_never(failure)  # wrong


def failures_keep_their_type(failed: ProjectionFailure) -> Outcome[BuiltContext, BuildFailure]:
    return Failure(failed)  # wrong


def facts_belong_to_their_failure(failure: BuildFailure) -> int:
    match failure:
        case DoesNotFit(report=report):
            return report.window  # wrong
        case _:
            return failure.limit  # wrong


# --- counters ---


class NoCounter:
    """Has no `count`."""


class BareCounter:
    """Answers with a number."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> int:
        return len(request.messages)


class RaisingCounter:
    """Says its failures as text."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, str]:
        return Failure("no")


class TotalCounter:
    """A counter without costs is not additive."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return Failure(CountRefused(reason="no"))


class MessageCounter:
    """Takes messages, not the whole request."""

    def count(
        self, target: ContextTarget, messages: tuple[ModelMessage, ...]
    ) -> Outcome[TokenCount, CountRefused]:
        return Failure(CountRefused(reason="no"))


def counters_are_checked() -> None:
    first: TokenCounter = NoCounter()  # wrong
    second: TokenCounter = BareCounter()  # wrong
    third: TokenCounter = RaisingCounter()  # wrong
    fourth: AdditiveCounter = TotalCounter()  # wrong
    fifth: TokenCounter = MessageCounter()  # wrong
    print(first, second, third, fourth, fifth)


def a_refusal_is_a_record(target: ContextTarget) -> Outcome[TokenCount, CountRefused]:
    if target.model:
        return Failure("no")  # wrong
    return Failure(CountRefused("no"))  # wrong


# --- strategies ---


class NamelessStrategy:
    """Has no name."""

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        return Plan()


class ListingStrategy:
    """Answers with the steps alone."""

    name = "listing"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> list[PlanStep]:
        return []


def strategies_are_checked(candidate: Candidate) -> None:
    first: Strategy = NamelessStrategy()  # wrong
    second: Strategy = ListingStrategy()  # wrong
    third = Plan(steps=(DropTurn(turn_id=candidate.turn_id),))  # wrong
    fourth = Plan(steps=[PlanStep(reductions=())])  # wrong
    fifth = DropTurn(turn_id=candidate.position)  # wrong
    sixth = PlanStep(reductions=(candidate,))  # wrong
    print(first, second, third, fourth, fifth, sixth)


# --- builders and projectors ---


def impatient_project(session_id: SessionId, log: SessionLog) -> Outcome[Projection, ProjectionFailure]:
    return jingwei.project(session_id, log)


def raising_build(history: Projection, inputs: BuildInputs, counter: TokenCounter) -> BuiltContext:
    raise NotImplementedError


PROJECTOR: jingwei.ConversationProjector = impatient_project  # wrong
BUILDER: jingwei.ContextBuilder = raising_build  # wrong
