"""A naive second builder, written from the rules and not from the code (M3, C2, B2 to B5, R1).

Everything here is the dullest way to do it: lists, loops, every number counted again from the start.
Where the builder and this file differ, one of them has misread a rule.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, final

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from jingwei.build import BuildInputs, BuiltContext
from jingwei.events.records import (
    AssistantReply,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.wire import session_log
from jingwei.ids import MessageId, ToolCallId, TurnId
from jingwei.items.failures import InvalidItem
from jingwei.jsontext import Json, json_of
from jingwei.limits import LimitExceeded
from jingwei.messages.failures import ShapeFailure
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    JsonSchemaConstraint,
    ModelMessage,
    NamedChoice,
    NativeToolsConstraint,
    RequiredChoice,
    SystemMessage,
    TextConstraint,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.project import project
from jingwei.projection.records import ProjectedState, ProjectedTurn, Projection
from jingwei.report.failures import (
    BuildFailure,
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    Overflow,
    ShapeInvalid,
    SurvivalBroken,
    UnverifiedCount,
)
from jingwei.report.records import BuildReport
from jingwei.request.counting import (
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    CountRefused,
    FramingAllowance,
    JsonFactor,
    Normalization,
    TokenCounter,
)
from jingwei.request.records import (
    BudgetMode,
    BuildLimits,
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)
from jingwei.results.failures import ViewContradiction
from jingwei.selection.records import Candidate, DropTurn, InvalidPlan, Plan, PlanStep, Room, TurnCandidate
from jingwei.testing import strategies

TWO_TO_64 = 18_446_744_073_709_551_616


@final
@attrs.frozen(kw_only=True)
class Refused:
    """A failure in plain words: its kind, its facts, and the counts made before it (None before any)."""

    kind: str
    facts: tuple[object, ...] = ()
    attempts: tuple["Counted", ...] | None = None


@final
@attrs.frozen(kw_only=True)
class Counted:
    """One full count: turns left out, what the counter said, and the sum that must be within the window."""

    removed: int
    steps: int
    count: TokenCount
    reserved: int


@final
@attrs.frozen(kw_only=True)
class Built:
    """A request, the turns left out of it, and every count on the way."""

    request: GenerationRequest
    dropped: tuple[str, ...]
    attempts: tuple[Counted, ...]


Answer: TypeAlias = Built | Refused


# --- the wire, once more (M1, M2, W8) -------------------------------------------------------------


def json_bytes(value: object) -> int:
    """Bytes of compact JSON by the standard library."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def message_object(message: ModelMessage) -> dict[str, object]:
    """A message as plain values, keys in the order of M1."""
    if isinstance(message, SystemMessage):
        return {"role": "system", "content": message.content}
    if isinstance(message, UserMessage):
        return {"role": "user", "content": message.content}
    if isinstance(message, ToolMessage):
        return {"role": "tool", "call_id": message.call_id, "content": message.content}
    said: dict[str, object] = {"role": "assistant", "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": json.loads(call.arguments.text)}
            for call in message.tool_calls
        ]
    return said


def constraint_object(constraint: GenerationConstraint) -> dict[str, object]:
    """A constraint as plain values, keys in the order of M2."""
    if isinstance(constraint, TextConstraint):
        return {"mode": "text"}
    if isinstance(constraint, JsonSchemaConstraint):
        return {"mode": "json_schema", "name": constraint.name, "schema": json.loads(constraint.schema.text)}
    choice: dict[str, object] = {"kind": "auto"}
    if isinstance(constraint.choice, RequiredChoice):
        choice = {"kind": "required"}
    if isinstance(constraint.choice, NamedChoice):
        choice = {"kind": "named", "name": constraint.choice.name}
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": json.loads(tool.parameters.text)}
        for tool in constraint.tools
    ]
    return {"mode": "native_tools", "tools": tools, "choice": choice}


def naive_quarter_count(request: GenerationRequest, template_tokens: int) -> tuple[int, int, int, int]:
    """C2 by hand: the four parts of the byte heuristic."""
    system = messages = 0
    for message in request.messages:
        tokens = (json_bytes(message_object(message)) + 3) // 4
        if isinstance(message, SystemMessage):
            system += tokens
        else:
            messages += tokens
    constraint = (json_bytes(constraint_object(request.constraint)) + 3) // 4
    return system, messages, constraint, template_tokens


# --- the shape, once more (M3) --------------------------------------------------------------------


def naive_messages_shape(messages: Sequence[ModelMessage]) -> Refused | None:
    """M3 by looking back: for every message, which calls before it still wait?"""
    if len(messages) == 0:
        return Refused(kind="EmptyMessages")
    for index, message in enumerate(messages):
        waiting = _waiting(messages[:index])
        if isinstance(message, ToolMessage):
            if message.call_id not in waiting:
                return Refused(kind="UnmatchedToolResult", facts=(index,))
        elif waiting:
            return Refused(kind="InterruptedToolGroup", facts=(index,))
        elif isinstance(message, AssistantMessage):
            if message.content is None and len(message.tool_calls) == 0:
                return Refused(kind="MissingAssistantContent", facts=(index,))
            for place, call in enumerate(message.tool_calls):
                if call.name.strip() == "":
                    return Refused(kind="EmptyName", facts=(index,))
                if not isinstance(json.loads(call.arguments.text), dict):
                    return Refused(kind="ArgumentsNotObject", facts=(index,))
                if call.id in [earlier.id for earlier in message.tool_calls[:place]]:
                    return Refused(kind="DuplicateToolCallId", facts=(index,))
    left = _waiting(messages)
    if left:
        return Refused(kind="MissingToolResults", facts=(tuple(left),))
    return None


def _waiting(messages: Sequence[ModelMessage]) -> list[str]:
    """Calls of the last assistant message that the tool messages after it have not answered."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.tool_calls]
        if isinstance(message, ToolMessage) and message.call_id in waiting:
            waiting.remove(message.call_id)
    return waiting


def naive_constraint_shape(constraint: GenerationConstraint) -> Refused | None:
    """The second half of M3."""
    if isinstance(constraint, JsonSchemaConstraint):
        if constraint.name.strip() == "":
            return Refused(kind="EmptyName", facts=(None,))
        if not isinstance(json.loads(constraint.schema.text), (dict, bool)):
            return Refused(kind="InvalidSchemaShape")
    if isinstance(constraint, NativeToolsConstraint):
        names = [tool.name for tool in constraint.tools]
        if names == []:
            return Refused(kind="EmptyToolSet")
        for place, tool in enumerate(constraint.tools):
            if tool.name.strip() == "":
                return Refused(kind="EmptyName", facts=(None,))
            if not isinstance(json.loads(tool.parameters.text), (dict, bool)):
                return Refused(kind="InvalidSchemaShape")
            if tool.name in names[:place]:
                return Refused(kind="DuplicateToolName", facts=(tool.name,))
        if isinstance(constraint.choice, NamedChoice) and constraint.choice.name not in names:
            return Refused(kind="ToolNotVisible", facts=(constraint.choice.name,))
    return None


def naive_shape(request: GenerationRequest) -> Refused | None:
    """M3: messages first, then the constraint."""
    return naive_messages_shape(request.messages) or naive_constraint_shape(request.constraint)


# --- the build, once more -------------------------------------------------------------------------


def naive_build(
    history: Projection,
    inputs: BuildInputs,
    counter: TokenCounter,
    *,
    base: Sequence[str] = (),
    steps: Sequence[Sequence[str]] | None = None,
    max_count_calls: int | None = None,
) -> Answer:
    """Drop one step, count everything again, until it fits (B2 to B5).

    `steps` are the turns of each step; None stands for the oldest unpinned turn that has a message,
    one a step. `max_count_calls` replaces the limit of the inputs.
    """
    refused = naive_checks(history, inputs)
    if refused is not None:
        return refused
    plan = [(turn,) for turn in naive_candidates(history, inputs)] if steps is None else list(steps)
    allowed = inputs.limits.max_count_calls if max_count_calls is None else max_count_calls
    attempts: list[Counted] = []
    dropped = list(base)
    for applied in range(len(plan) + 1):
        if applied > 0:
            dropped.extend(plan[applied - 1])
        request = naive_request(history, inputs, dropped)
        answer = counter.count(inputs.target, request)
        refused = naive_count_check(answer, inputs.target, inputs.budget)
        if refused is not None:
            return attrs.evolve(refused, attempts=tuple(attempts))
        count = answer.unwrap()
        reserved = naive_total(count) + inputs.budget.output_reserve + inputs.budget.safety_margin
        if reserved >= TWO_TO_64:
            return Refused(kind="Overflow", facts=("total",), attempts=tuple(attempts))
        attempts.append(Counted(removed=len(dropped), steps=applied, count=count, reserved=reserved))
        if reserved <= inputs.budget.window_tokens:
            return Built(request=request, dropped=tuple(dropped), attempts=tuple(attempts))
        if applied == len(plan):
            return Refused(kind="DoesNotFit", facts=(True,), attempts=tuple(attempts))
        if len(attempts) == allowed:
            return Refused(kind="CountLimit", facts=(allowed,), attempts=tuple(attempts))
    raise AssertionError("the loop always answers")


def naive_checks(history: Projection, inputs: BuildInputs) -> Refused | None:
    """B2, check by check, in its order."""
    budget, target, limits = inputs.budget, inputs.target, inputs.limits
    for limit in (
        limits.max_input_bytes,
        limits.max_groups,
        limits.max_turns,
        limits.max_messages,
        limits.max_count_calls,
    ):
        if limit == 0:
            return Refused(kind="InvalidInput", facts=("zero_limit",))
    if budget.window_tokens == 0:
        return Refused(kind="InvalidInput", facts=("zero_window",))
    if budget.output_reserve == 0:
        return Refused(kind="InvalidInput", facts=("zero_output_reserve",))
    if target.model.strip() == "":
        return Refused(kind="InvalidInput", facts=("blank_model",))
    if target.template_revision.strip() == "":
        return Refused(kind="InvalidInput", facts=("blank_template_revision",))
    verified = TokenBoundEvidence.VERIFIED_UPPER_BOUND
    if budget.mode is BudgetMode.HARD and budget.output_evidence is not verified:
        return Refused(kind="UnverifiedCount", facts=("output_evidence",))
    return (
        _naive_sizes(history, inputs)
        or _naive_version(history)
        or _naive_current(inputs)
        or _naive_turns(history)
        or _naive_pins(history, inputs)
        or _naive_reserve(inputs)
        or naive_shape(naive_request(history, inputs, []))
    )


def _naive_sizes(history: Projection, inputs: BuildInputs) -> Refused | None:
    limits = inputs.limits
    groups = len([group for turn in history.turns for group in turn.groups])
    if groups > limits.max_groups:
        return Refused(kind="LimitExceeded", facts=("groups", limits.max_groups, groups))
    if len(history.turns) > limits.max_turns:
        return Refused(kind="LimitExceeded", facts=("turns", limits.max_turns, len(history.turns)))
    everything = naive_request(history, inputs, [])
    size = json_bytes(constraint_object(inputs.constraint))
    for message in everything.messages:
        size += json_bytes(message_object(message))
    if size > limits.max_input_bytes:
        return Refused(kind="LimitExceeded", facts=("input_bytes", limits.max_input_bytes, size))
    if len(everything.messages) > limits.max_messages:
        facts = ("messages", limits.max_messages, len(everything.messages))
        return Refused(kind="LimitExceeded", facts=facts)
    return None


def _naive_version(history: Projection) -> Refused | None:
    if history.algorithm_version == 1:
        return None
    return Refused(kind="InvalidInput", facts=("unsupported_projection_version",))


def _naive_current(inputs: BuildInputs) -> Refused | None:
    if len(inputs.current) == 0:
        return Refused(kind="InvalidInput", facts=("current_empty",))
    if not isinstance(inputs.current[0], UserMessage):
        return Refused(kind="InvalidInput", facts=("current_not_user_first",))
    for message in inputs.current:
        if isinstance(message, SystemMessage):
            return Refused(kind="InvalidInput", facts=("current_has_system",))
    return naive_messages_shape(inputs.current)


def _naive_turns(history: Projection) -> Refused | None:
    for turn in history.turns:
        if turn.state is ProjectedState.OPEN:
            return Refused(kind="InvalidInput", facts=("open_turn",))
    return None


def _naive_pins(history: Projection, inputs: BuildInputs) -> Refused | None:
    known = [turn.turn_id for turn in history.turns]
    for place, pin in enumerate(inputs.pinned_turns):
        if pin in inputs.pinned_turns[:place]:
            return Refused(kind="InvalidInput", facts=("duplicate_pin",))
        if pin not in known:
            return Refused(kind="InvalidInput", facts=("unknown_pin",))
    return None


def _naive_reserve(inputs: BuildInputs) -> Refused | None:
    if inputs.budget.window_tokens >= TWO_TO_64:
        return Refused(kind="Overflow", facts=("window",))
    if inputs.budget.output_reserve + inputs.budget.safety_margin >= TWO_TO_64:
        return Refused(kind="Overflow", facts=("reserved",))
    return None


def naive_candidates(history: Projection, inputs: BuildInputs) -> list[str]:
    """Turns that may go, oldest first: not pinned (B5), and with a message at all (R5)."""
    return [
        turn.turn_id
        for turn in history.turns
        if turn.turn_id not in inputs.pinned_turns and naive_messages(turn)
    ]


@final
class Watching:
    """A strategy that leaves nothing out and keeps what it was told."""

    name = "watching"

    def __init__(self) -> None:
        self.candidates: tuple[Candidate, ...] = ()
        self.room: Room | None = None

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        self.candidates, self.room = tuple(candidates), room
        return Plan()


@final
@attrs.frozen(kw_only=True)
class Scheme:
    """A strategy of a few numbers, which the naive builder can plan too (R1).

    Attributes:
        name: for the report.
        newest: whether the newest turn goes first.
        base: turns that go before the first count.
        at_once: turns a step.
        kept: turns at the end of the order that the plan does not name.
    """

    name: str
    newest: bool = False
    base: int = 0
    at_once: int = 1
    kept: int = 0

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        drops = [DropTurn(turn_id=c.turn_id) for c in candidates if isinstance(c, TurnCandidate)]
        if self.newest:
            drops.reverse()
        del drops[max(0, len(drops) - self.kept) :]
        steps = tuple(
            PlanStep(reductions=tuple(drops[i : i + self.at_once]))
            for i in range(self.base, len(drops), self.at_once)
        )
        return Plan(base=tuple(drops[: self.base]), steps=steps)


@final
@attrs.frozen(kw_only=True)
class NaivePlan:
    """Turns by name: those of the base, and those of each step."""

    base: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]


def naive_plan(scheme: Scheme, candidates: Sequence[str]) -> NaivePlan:
    """What a scheme comes to: one turn after another is put where it belongs."""
    named = sorted(range(len(candidates)), reverse=scheme.newest)
    base: list[str] = []
    steps: list[tuple[str, ...]] = []
    for count, place in enumerate(named):
        turn = candidates[place]
        if count >= len(candidates) - scheme.kept:
            break
        if count < scheme.base:
            base.append(turn)
        elif steps and len(steps[-1]) < scheme.at_once:
            steps[-1] = (*steps[-1], turn)
        else:
            steps.append((turn,))
    return NaivePlan(base=tuple(base), steps=tuple(steps))


SCHEMES = (
    Scheme(name="newest_first", newest=True),
    Scheme(name="three_at_once", at_once=3),
    Scheme(name="newest_with_a_base", newest=True, base=2, at_once=2),
    Scheme(name="keeps_two", kept=2),
    Scheme(name="base_alone", base=100),
)
"""Orders, steps and bases that are not those of the default strategy."""


def in_turn_order(history: Projection, answer: Answer) -> Answer:
    """The same answer with what was left out in the order of the turns, which is the report's."""
    if isinstance(answer, Refused):
        return answer
    dropped = tuple(turn for turn in turn_ids(history) if turn in answer.dropped)
    return attrs.evolve(answer, dropped=dropped)


def naive_messages(turn: ProjectedTurn) -> list[ModelMessage]:
    """The messages of one turn."""
    return [message for group in turn.groups for message in group.messages]


def naive_request(history: Projection, inputs: BuildInputs, dropped: Iterable[str]) -> GenerationRequest:
    """B3: system texts, kept turns, current; the constraint as it is."""
    gone = list(dropped)
    messages: list[ModelMessage] = [SystemMessage(content=text) for text in inputs.system]
    for turn in history.turns:
        if turn.turn_id not in gone:
            messages.extend(naive_messages(turn))
    messages.extend(inputs.current)
    return GenerationRequest(messages=tuple(messages), constraint=inputs.constraint)


def naive_count_check(
    answer: Outcome[TokenCount, object], target: ContextTarget, budget: ContextBudget
) -> Refused | None:
    """B4: may this answer of the counter be used at all?"""
    if isinstance(answer, Failure):
        return Refused(kind="CounterFailed")
    count = answer.unwrap()
    if count.target != target:
        return Refused(kind="UnverifiedCount", facts=("target",))
    if count.method.strip() == "":
        return Refused(kind="UnverifiedCount", facts=("blank_method",))
    verified = TokenBoundEvidence.VERIFIED_UPPER_BOUND
    if budget.mode is BudgetMode.HARD and count.evidence is not verified:
        return Refused(kind="UnverifiedCount", facts=("evidence",))
    parts = (count.tokens.system, count.tokens.messages, count.tokens.constraint, count.tokens.template)
    if min(parts) < 0 or naive_total(count) >= TWO_TO_64:
        return Refused(kind="Overflow", facts=("count",))
    if naive_total(count) == 0:
        return Refused(kind="InvalidInput", facts=("zero_count",))
    return None


def naive_total(count: TokenCount) -> int:
    """C1: the sum of all four parts."""
    tokens = count.tokens
    return tokens.system + tokens.messages + tokens.constraint + tokens.template


# --- the builder's answer in the same plain words -------------------------------------------------


def plain(outcome: Outcome[BuiltContext, BuildFailure]) -> Answer:
    """What `build` answered, as this file would say it."""
    if isinstance(outcome, Success):
        built = outcome.unwrap()
        return Built(
            request=built.request,
            dropped=tuple(row.turn_id for row in built.report.turns.rows if not row.retained),
            attempts=counted(built.report),
        )
    failure = outcome.failure()
    if isinstance(failure, ShapeInvalid):
        return plain_shape(failure.error)
    report = report_of(failure)
    attempts = None if report is None else counted(report)
    return Refused(kind=type(failure).__name__, facts=_facts(failure), attempts=attempts)


def plain_shape(error: ShapeFailure) -> Refused:
    """A failure of M3 in plain words: its name and its fields."""
    facts = attrs.astuple(error, recurse=False)
    return Refused(kind=type(error).__name__, facts=facts)


def report_of(failure: BuildFailure) -> BuildReport | None:
    """The report that a failure carries."""
    if isinstance(failure, (LimitExceeded, ShapeInvalid, InvalidPlan, InvalidItem, ViewContradiction)):
        return None
    return failure.report


def counted(report: BuildReport) -> tuple[Counted, ...]:
    """The attempts of a report."""
    return tuple(
        Counted(
            removed=attempt.removed_turns,
            steps=attempt.plan_steps,
            count=attempt.count,
            reserved=attempt.total_reserved,
        )
        for attempt in report.attempts
    )


def _facts(failure: BuildFailure) -> tuple[object, ...]:
    if isinstance(failure, InvalidInput):
        return (failure.reason.value,)
    if isinstance(failure, UnverifiedCount):
        return (failure.reason.value,)
    if isinstance(failure, LimitExceeded):
        return (failure.what.value, failure.limit, failure.actual)
    if isinstance(failure, Overflow):
        return (failure.what.value,)
    if isinstance(failure, DoesNotFit):
        return (failure.exhaustive,)
    if isinstance(failure, CountLimit):
        return (failure.limit,)
    if isinstance(failure, InvalidPlan):
        return (failure.step, failure.reason.value, failure.turn_id)
    if isinstance(failure, SurvivalBroken):
        return failure.missing
    if isinstance(failure, InvalidItem):
        return (failure.item_id, failure.field, failure.reason.value)
    if isinstance(failure, ViewContradiction):
        return (failure.source_event, failure.reason.value)
    return () if isinstance(failure, CounterFailed) else plain_shape(failure.error).facts


def turn_ids(history: Projection) -> tuple[TurnId, ...]:
    """All turns, in order."""
    return tuple(turn.turn_id for turn in history.turns)


# --- histories by letters -------------------------------------------------------------------------

SHAPES = "txfap"
"""Closed turns by letter: talk, talk with a tool exchange, failed, audit alone, two parallel tools."""


def history_of(shapes: str, text: str = "") -> Projection:
    """A projection of one turn a letter: `SHAPES`, or `n` (a tool called with a list), or `o` (open).

    Turn i is `t<i>`; its texts name it, so that no two turns hold an equal message.
    """
    placed_steps = [(f"t{i}", step) for i, letter in enumerate(shapes) for step in _turn_of(letter, i, text)]
    outcome = project(strategies.SESSION, session_log(strategies.placed(placed_steps)))
    assert isinstance(outcome, Success), outcome
    return outcome.unwrap()


def _turn_of(letter: str, i: int, text: str) -> list[strategies.Step]:
    step = strategies.Step
    done = step(DoneEvent(status=DoneStatus.COMPLETED))
    failed = step(ErrorEvent(code="c", message="m", retryable=False))
    user = step(UserMessageEvent(text=f"user {i} {text}"))
    reply = step(AssistantReply(text=f"reply {i} {text}"), MessageId(f"r{i}"))
    if letter == "t":
        return [user, reply, done]
    if letter == "f":
        return [user, failed]
    if letter == "a":
        return [failed]
    if letter == "o":
        return [user]
    calls = ["a", "b"] if letter == "p" else ["a"]
    arguments = json_of([i] if letter == "n" else {"turn": i, "text": text})
    assert isinstance(arguments, Json)
    asked = [
        step(ToolCallEvent(call=ToolCall(id=ToolCallId(call), name="look", arguments=arguments)))
        for call in calls
    ]
    answered = [
        step(ToolResultEvent(result=ToolResult(call_id=ToolCallId(call), outcome=_output(call, i, text))))
        for call in reversed(calls)
    ]
    return [user, *asked, *answered, reply, done]


def _output(call: str, i: int, text: str) -> ToolSucceeded:
    return ToolSucceeded(output=f"{call} {i} {text}")


TARGET = ContextTarget(model="m", template_revision="r1")


def inputs_of(
    window: int,
    *,
    reserve: int = 1,
    margin: int = 0,
    pinned: Sequence[str] = (),
    mode: BudgetMode = BudgetMode.SOFT,
    limits: BuildLimits | None = None,
) -> BuildInputs:
    """Plain inputs: two system texts, one current message, free text."""
    evidence = TokenBoundEvidence.ESTIMATE if mode is BudgetMode.SOFT else VERIFIED
    return BuildInputs(
        current=(UserMessage(content="and now?"),),
        target=TARGET,
        budget=ContextBudget(
            window_tokens=window,
            output_reserve=reserve,
            output_evidence=evidence,
            safety_margin=margin,
            mode=mode,
        ),
        system=("rules of the house", "second rule"),
        pinned_turns=tuple(TurnId(pin) for pin in pinned),
        limits=BuildLimits() if limits is None else limits,
    )


# --- counters, honest and not ---------------------------------------------------------------------

VERIFIED = TokenBoundEvidence.VERIFIED_UPPER_BOUND


def answer_of(
    target: ContextTarget,
    total: int,
    *,
    method: str = "test",
    evidence: TokenBoundEvidence = VERIFIED,
    rest: tuple[int, int, int] = (0, 0, 0),
) -> Outcome[TokenCount, CountRefused]:
    """A count; `total` stands under `template`, which every sum must hold."""
    system, messages, constraint = rest
    tokens = TokenBreakdown(system=system, messages=messages, constraint=constraint, template=total)
    return Success(TokenCount(target=target, method=method, evidence=evidence, tokens=tokens))


@final
@attrs.frozen
class ByMessages:
    """Tokens by the number of messages alone, in any order of size: not additive, but a function."""

    totals: tuple[int, ...]

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return answer_of(target, self.totals[len(request.messages) % len(self.totals)])


@final
class Moody:
    """Tokens by how often it was asked: contradicts itself over one request."""

    def __init__(self, totals: tuple[int, ...]) -> None:
        self.totals = totals
        self.asked = 0

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        self.asked += 1
        return answer_of(target, self.totals[(self.asked - 1) % len(self.totals)])


@final
@attrs.frozen
class PerMessage:
    """A verified, additive count: so much a message, by its length in characters, and a fixed part."""

    fixed: int
    each: int

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        messages = sum(map(self.message_cost, request.messages))
        return answer_of(target, self.fixed, rest=(0, messages, 0))

    def message_cost(self, message: ModelMessage) -> int:
        return self.each * json_bytes(message_object(message))

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return self.fixed


FAULTS = ("target", "method", "estimate", "zero", "huge", "parts", "negative", "refusal", "reach")
"""What a `Faulty` counter may do wrong."""


@final
@attrs.frozen
class Faulty:
    """Counts ten tokens a message; does something wrong where few enough messages are left."""

    fault: str
    below: int

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        size = len(request.messages)
        if size >= self.below:
            return answer_of(target, 10 * size)
        match self.fault:
            case "target":
                return answer_of(attrs.evolve(target, model="another"), 10 * size)
            case "method":
                return answer_of(target, 10 * size, method=" \t")
            case "estimate":
                return answer_of(target, 10 * size, evidence=TokenBoundEvidence.ESTIMATE)
            case "zero":
                return answer_of(target, 0)
            case "huge":
                return answer_of(target, TWO_TO_64)
            case "parts":
                return answer_of(target, TWO_TO_64 - 1, rest=(0, 1, 0))
            case "negative":
                return answer_of(target, 20, rest=(-1, 0, 0))
            case "reach":
                return answer_of(target, TWO_TO_64 - 1)
            case _:
                return Failure(CountRefused(reason="no opinion"))


@final
class Spy:
    """Counts by another counter and keeps what it was asked; never additive."""

    def __init__(self, inner: TokenCounter) -> None:
        self.inner = inner
        self.asked: list[GenerationRequest] = []

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        self.asked.append(request)
        return self.inner.count(target, request)


# --- worlds ---------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class World:
    """A history, inputs and a way to make the counter (anew, since some remember)."""

    history: Projection
    inputs: BuildInputs
    counter: Callable[[], TokenCounter]


def additive_counters() -> SearchStrategy[Callable[[], TokenCounter]]:
    """Makers of counters whose costs add up (C6)."""
    heuristic = st.integers(0, 40).map(lambda template: ByteHeuristicCounter(template_tokens=template))
    plain_ones = st.builds(PerMessage, st.integers(0, 30), st.integers(1, 3))
    return (heuristic | plain_ones | st.just(byte_bound())).map(_always)


def counters() -> SearchStrategy[Callable[[], TokenCounter]]:
    """Makers of counters of every temper."""
    totals = st.lists(st.integers(0, 60), min_size=1, max_size=6).map(tuple)
    moody = totals.map(lambda drawn: lambda: Moody(drawn))
    stable = st.builds(ByMessages, totals) | st.builds(Faulty, st.sampled_from(FAULTS), st.integers(0, 14))
    return additive_counters() | stable.map(_always) | moody


def byte_bound() -> ByteBoundCounter:
    """The byte bound for `TARGET`, with every allowance at work."""
    return ByteBoundCounter(
        model=TARGET.model,
        template_revision=TARGET.template_revision,
        normalization=Normalization.NFC,
        json_factor=JsonFactor(numerator=3, denominator=2),
        allowance=FramingAllowance(
            message=Allowance(bytes=4, specials=2),
            call=Allowance(bytes=3, specials=1),
            tool=Allowance(bytes=5, specials=1),
            request=Allowance(bytes=7, specials=3),
        ),
    )


def _always(counter: TokenCounter) -> Callable[[], TokenCounter]:
    return lambda: counter


def histories() -> SearchStrategy[Projection]:
    """Projections of drawn logs, and of turns by letter, which are cheaper and may be more."""
    by_letter = st.builds(history_of, st.text(SHAPES, max_size=9), st.sampled_from(("", "字", "x" * 40)))
    return by_letter | strategies.projections(max_turns=4, max_steps=3)


@st.composite
def worlds(
    draw: DrawFn, made: SearchStrategy[Callable[[], TokenCounter]] | None = None, fitting: bool = False
) -> World:
    """A build that could happen, with its window near an edge more often than not.

    `fitting` asks for one that succeeds, and mostly gets it.
    """
    history = draw(histories())
    ids = turn_ids(history)
    pinned = draw(st.lists(st.sampled_from(ids), unique=True, max_size=3)) if ids else []
    mode = draw(st.sampled_from(BudgetMode))
    inputs = attrs.evolve(
        inputs_of(
            1, reserve=draw(st.integers(1, 9)), margin=draw(st.integers(0, 5)), pinned=pinned, mode=mode
        ),
        state_version=draw(st.none() | st.just("v7")),
    )
    if draw(st.booleans()):
        inputs = attrs.evolve(
            inputs,
            current=draw(strategies.current_messages(max_parts=2)),
            system=tuple(draw(st.lists(strategies.texts(), max_size=2))),
            constraint=draw(strategies.constraints()),
        )
    counter = draw(counters() if made is None else made)
    window = draw(windows(history, inputs, counter(), fitting))
    calls = 128 if fitting else draw(st.just(128) | st.integers(1, 8))
    limits = BuildLimits(max_count_calls=calls)
    budget = attrs.evolve(inputs.budget, window_tokens=window)
    return World(history=history, inputs=attrs.evolve(inputs, budget=budget, limits=limits), counter=counter)


@st.composite
def windows(
    draw: DrawFn, history: Projection, inputs: BuildInputs, counter: TokenCounter, fitting: bool
) -> int:
    """A window: what the request after k drops needs, exactly, or one less or more; or any."""
    candidates = naive_candidates(history, inputs)
    k = draw(st.integers(0, len(candidates)))
    request = naive_request(history, inputs, candidates[:k])
    answer = counter.count(inputs.target, request)
    if isinstance(answer, Failure):
        return draw(st.integers(1, 300))
    steps = (0, 0, 1) if fitting else (0, 0, -1, 1)
    needed = naive_total(answer.unwrap()) + inputs.budget.output_reserve + inputs.budget.safety_margin
    edge = min(max(1, needed + draw(st.sampled_from(steps))), TWO_TO_64 - 1)
    if fitting:
        return edge
    return draw(st.sampled_from((edge, edge, edge, 1, TWO_TO_64 - 1)) | st.integers(1, 300))


def minimum_of(world: World) -> Answer:
    """What the naive model builds when it may count as often as it likes."""
    return naive_build(world.history, world.inputs, world.counter(), max_count_calls=10_000)
