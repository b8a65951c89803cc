"""The operations `plan_step`, `interpret` and `complete` (rules T6, T7). Needs the extra `actions`.

No operation remembers another: `interpret` and `complete` get what `plan_step` got, and plan again. That
is cheap beside a model, and nothing can be interpreted that was not planned: the digest of the request that
the host says it sent must be that of the planned one.
"""

from collections.abc import Mapping
from typing import Final, TypeVar, assert_never, cast, final

import attrs

from jingwei.action.complete import (
    AnsweredStep,
    CompletedStep,
    complete,
    complete_final,
    complete_question,
    rendition_of,
    stored,
    unstored,
)
from jingwei.action.events_out import model_request, model_result, tool_call
from jingwei.action.failures import CompleteFailure, CompleteReason
from jingwei.action.records import (
    Action,
    ActionProtocol,
    AskUser,
    CallTool,
    FinalAnswer,
    SystemTexts,
    ToolExecution,
)
from jingwei.action.step import (
    Interpreted,
    PlannedCall,
    PlannedFinal,
    PlannedQuestion,
    PlannedStep,
    StepInputs,
    interpret,
    plan_step,
)
from jingwei.build import BuildInputs, digest
from jingwei.codec import Declarations, RecordCodec
from jingwei.events.records import DecisionContext, ModelSucceeded, SessionLog
from jingwei.ids import SessionId
from jingwei.jsontext import Json, JsonProblem, JsonValue, parse, pointer, within_depth
from jingwei.limits import FREE_JSON_LEVELS
from jingwei.messages.records import GenerationResponse, ModelMessage, ToolDefinition
from jingwei.messages.wire import request_text
from jingwei.ops import tools
from jingwei.ops.events import EventFailed, log_of
from jingwei.ops.requests import BadRequest, bad, failed, ok, read
from jingwei.ops.storing import (
    ChosenChoice,
    StoreSpec,
    Storing,
    checked_policy,
    stored_by,
    storing_problem,
    to_store_value,
    view_value,
)
from jingwei.ops.tool_failure_values import facts, plan_failure_value, tool_failure_value
from jingwei.ops.tools import tool_view_value
from jingwei.outcome import Failure, Success
from jingwei.ports import ContentRef, ContentScope
from jingwei.projection import wire as projection_wire
from jingwei.projection.project import project
from jingwei.projection.records import DEFAULT_CONFIG, Projection, ProjectionConfig
from jingwei.report.failure_values import (
    JsonObject,
    build_failure_value,
    decode_failure_value,
    projection_failure_value,
)
from jingwei.report.wire import report_value
from jingwei.request.counting import TokenCounter
from jingwei.request.tool_views import (
    ALL_TOOLS,
    DEFAULT_TOOL_LIMITS,
    GroupedToolSelector,
    ToolViewLimits,
)
from jingwei.results.envelope import envelope_text
from jingwei.results.failures import InvalidResultPolicy
from jingwei.results.records import DEFAULT_POLICY, ResultChoice, ResultPolicy, ViewedHistory
from jingwei.results.rendering import Rendering, viewed_history
from jingwei.results.wire import recorded_views, view_event
from jingwei.selection.search import Search
from jingwei.selection.strategies import Strategy

_Read = TypeVar("_Read")


@final
@attrs.frozen(kw_only=True)
class HowBuilt:
    """What the keys of a build say: its inputs, and by what it is made."""

    inputs: BuildInputs
    counter: TokenCounter
    strategy: Strategy
    search: Search


@final
@attrs.frozen(kw_only=True)
class OtherRequest:
    """An answer was given to another request than the one that these inputs plan (T6).

    Attributes:
        expected: the digest of the planned request.
        actual: the digest that the host says.
    """

    expected: str
    actual: str


@final
@attrs.frozen(kw_only=True)
class NotACall:
    """An answer that calls no tool is to be completed with an execution (T6).

    Attributes:
        action: what the answer does: `final` or `ask_user`.
    """

    action: str


def serve_plan_step(body: JsonObject, how: HowBuilt) -> JsonObject:
    """`plan_step`: what a model is to be asked, and what is appended to the log before it is (T6).

    `body` holds the keys of the operation without those of a build; so it does for the other two.
    """
    asked = _asked(body, how, _PLAN_KEYS)
    if isinstance(asked, BadRequest):
        return bad(asked)
    planned = _planned(asked)
    if not isinstance(planned, PlannedStep):
        return failed(planned)
    return ok(
        {
            "request": _CODEC.write(planned.request),
            "request_digest": _digest_of(planned),
            "max_tokens": planned.max_tokens,
            "tool_view": tool_view_value(planned.tool_view),
            "report": report_value(planned.report),
            "events": [_CODEC.write(model_request(planned))],
        }
    )


def serve_interpret(body: JsonObject, how: HowBuilt) -> JsonObject:
    """`interpret`: the one action of an answer, and what is appended to the log before it is done (T6).

    Where the answer is no action, the failure has `events` too: what came back is recorded in any case.
    """
    asked = _asked(body, how, _INTERPRET_KEYS)
    if isinstance(asked, BadRequest):
        return bad(asked)
    answer = _answer(body)
    if isinstance(answer, BadRequest):
        return bad(answer)
    planned = _planned_for(asked, answer)
    if not isinstance(planned, PlannedStep):
        return failed(planned)
    came: list[JsonValue] = [_CODEC.write(model_result(planned, ModelSucceeded(response=answer.as_recorded)))]
    outcome = interpret(planned, answer.response)
    match outcome:
        case Success(action):
            return ok(_action_value(action, came))
        case Failure(why):
            return failed({**tool_failure_value(why), "events": came})
        case _:
            assert_never(outcome)


def serve_complete(body: JsonObject, how: HowBuilt) -> JsonObject:
    """`complete`: what the model is shown of a result, and the running turn with it (T6, T7).

    Whatever fails carries the execution and `replay_forbidden`, but for a line that is no request.
    """
    asked = _asked(body, how, _COMPLETE_KEYS)
    if isinstance(asked, BadRequest):
        return bad(asked)
    answer, ran = _answer(body), _ran(body)
    if isinstance(answer, BadRequest):
        return bad(answer)
    if isinstance(ran, BadRequest):
        return bad(ran)
    done = _completed(asked, answer, ran)
    if not isinstance(done, _Done):
        return failed(
            {
                "kind": CompleteFailure.__name__,
                "execution": _CODEC.write(ran.execution),
                "why": done,
                "replay_forbidden": True,
            }
        )
    completed = done.completed
    return ok(
        {
            "end": completed.end.value,
            "view": view_value(completed.view),
            "envelope": envelope_text(completed.view),
            "events": [_CODEC.write(view_event(completed.view))],
            "to_store": to_store_value(completed.to_store),
            "refused": None if done.refused is None else tool_failure_value(done.refused),
            "next_current": _messages_value(completed.next_current),
            "report": report_value(completed.report),
        }
    )


# --- what is asked ----------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class _Inputs:
    """The keys of a step, besides those of a build and the events."""

    session_id: SessionId
    config: ProjectionConfig = DEFAULT_CONFIG
    decision: DecisionContext
    scope: ContentScope
    now_ms: int
    tools: tuple[ToolDefinition, ...]
    selector: GroupedToolSelector = ALL_TOOLS
    tool_limits: ToolViewLimits = DEFAULT_TOOL_LIMITS
    protocol: ActionProtocol = ActionProtocol.NATIVE
    max_tokens: int | None = None
    system_texts: SystemTexts = SystemTexts.JOINED
    policy: ResultPolicy = DEFAULT_POLICY


@final
@attrs.frozen(kw_only=True)
class _Answered:
    """The keys of an answer."""

    request_digest: str
    response: GenerationResponse


@final
@attrs.frozen(kw_only=True)
class _Ran:
    """The keys of an execution, and of how its result is shown."""

    execution: ToolExecution
    choice: ResultChoice | None = None
    reference: ContentRef | None = None
    store: StoreSpec | None = None
    preview_alone: bool = False


@final
@attrs.frozen(kw_only=True)
class _Asked:
    inputs: _Inputs
    log: SessionLog | EventFailed
    how: HowBuilt


@final
@attrs.frozen(kw_only=True)
class _Answer:
    """An answer, and the same as a log can hold it."""

    request_digest: str
    response: GenerationResponse
    as_recorded: GenerationResponse


def _declare(wire: Declarations) -> None:
    tools.declare(wire)
    projection_wire.declare(wire)
    wire.enums(ActionProtocol, SystemTexts)
    wire.record(ToolExecution, strict=True)
    for part in (_Inputs, _Answered, _Ran):
        wire.record(part, strict=True)


_CODEC: Final = RecordCodec(_declare)


def _names(cls: type[attrs.AttrsInstance]) -> frozenset[str]:
    return frozenset(field.name for field in attrs.fields(cls))


_PLAN_KEYS: Final = _names(_Inputs) | {"events"}
_INTERPRET_KEYS: Final = _PLAN_KEYS | _names(_Answered)
_COMPLETE_KEYS: Final = _INTERPRET_KEYS | _names(_Ran)


def _asked(body: JsonObject, how: HowBuilt, known: frozenset[str]) -> _Asked | BadRequest:
    for key in body:
        if key not in known:
            reason = f"unknown_key: expected one of: {', '.join(sorted(known))}, or a key of a build"
            return BadRequest(reason=reason, path=pointer((key,)))
    inputs = _part(body, _Inputs)
    if isinstance(inputs, BadRequest):
        return inputs
    log = log_of(body)
    return log if isinstance(log, BadRequest) else _Asked(inputs=inputs, log=log, how=how)


def _answer(body: JsonObject) -> _Answer | BadRequest:
    texts = _argument_texts(body.get("response"))
    if isinstance(texts, BadRequest):
        return texts
    answered = _part(
        {**body, "response": _with_values(body["response"], texts)} if texts else body, _Answered
    )
    if isinstance(answered, BadRequest):
        return answered
    calls = [
        attrs.evolve(call, arguments=Json(texts[index])) if index in texts else call
        for index, call in enumerate(answered.response.tool_calls)
    ]
    return _Answer(
        request_digest=answered.request_digest,
        response=attrs.evolve(answered.response, tool_calls=tuple(calls)),
        as_recorded=answered.response,
    )


def _ran(body: JsonObject) -> _Ran | BadRequest:
    ran = _part(body, _Ran)
    if isinstance(ran, BadRequest):
        return ran
    return storing_problem(ran.reference, ran.store) or ran


def _part(body: JsonObject, cls: type[_Read]) -> _Read | BadRequest:
    """Those keys of an operation that a record has."""
    names = _names(cast("type[attrs.AttrsInstance]", cls))
    return read(_CODEC, {key: value for key, value in body.items() if key in names}, cls)


# --- arguments as the provider wrote them -----------------------------------------------------------


def _argument_texts(response: JsonValue) -> dict[int, str] | BadRequest:
    """The arguments that are given as text, by the index of their call.

    Providers send text. What is wrong with it (no JSON, a key twice) is found by `interpret`, and is not
    there any more once another reader has read it.
    """
    found = dict[int, str]()
    for index, call in enumerate(_calls_of(response)):
        if not isinstance(call, dict) or _TEXT not in call:
            continue
        path = pointer(("response", "tool_calls", index))
        if "arguments" in call:
            return BadRequest(reason=f"expected exactly one of: arguments, {_TEXT}", path=path)
        text = call[_TEXT]
        if not isinstance(text, str):
            return BadRequest(reason="wrong_type: expected a string", path=f"{path}/{_TEXT}")
        found[index] = text
    return found


def _with_values(response: JsonValue, texts: Mapping[int, str]) -> JsonValue:
    """The response with values instead of texts: the value that a text is, or else the text itself."""
    calls: list[JsonValue] = [
        {
            **{key: value for key, value in cast(JsonObject, call).items() if key != _TEXT},
            "arguments": _recordable(texts[index]),
        }
        if index in texts
        else call
        for index, call in enumerate(_calls_of(response))
    ]
    return {**cast(JsonObject, response), "tool_calls": calls}


def _calls_of(response: JsonValue) -> list[JsonValue]:
    calls = response.get("tool_calls") if isinstance(response, dict) else None
    return calls if isinstance(calls, list) else []


def _recordable(text: str) -> JsonValue:
    value = parse(text)
    if isinstance(value, JsonProblem) or not within_depth(text, value, FREE_JSON_LEVELS):
        return text
    return value


_TEXT: Final = "arguments_text"


# --- planning ---------------------------------------------------------------------------------------


def _planned(asked: _Asked) -> PlannedStep | JsonObject:
    """The step that the inputs plan, or a failure as it is told."""
    inputs = asked.inputs
    policy = checked_policy(inputs.policy)
    if isinstance(policy, InvalidResultPolicy):
        return tool_failure_value(policy)
    history = _history(inputs, asked.log)
    if not isinstance(history, ViewedHistory):
        return history
    step = StepInputs(
        decision=inputs.decision,
        scope=inputs.scope,
        now_ms=inputs.now_ms,
        build=asked.how.inputs,
        tools=inputs.tools,
        selector=inputs.selector,
        protocol=inputs.protocol,
        tool_limits=inputs.tool_limits,
        max_tokens=inputs.max_tokens,
        system_texts=inputs.system_texts,
    )
    how = asked.how
    outcome = plan_step(step, history, how.counter, strategy=how.strategy, search=how.search)
    match outcome:
        case Success(planned):
            return planned
        case Failure(why):
            return plan_failure_value(why)
        case _:
            assert_never(outcome)


def _planned_for(asked: _Asked, answer: _Answer) -> PlannedStep | JsonObject:
    """The planned step, where the answer is to its request."""
    planned = _planned(asked)
    if not isinstance(planned, PlannedStep):
        return planned
    expected = _digest_of(planned)
    if expected == answer.request_digest:
        return planned
    other = OtherRequest(expected=expected, actual=answer.request_digest)
    return {"kind": OtherRequest.__name__, **facts(other)}


def _digest_of(planned: PlannedStep) -> str:
    return digest(request_text(planned.request))


def _history(inputs: _Inputs, log: SessionLog | EventFailed) -> ViewedHistory | JsonObject:
    """The closed turns with every exchange as the view that was shown (T7)."""
    if isinstance(log, EventFailed):
        return {**decode_failure_value(log.failure), "index": log.index}
    projected = project(inputs.session_id, log, inputs.config)
    match projected:
        case Success(projection):
            return _viewed(inputs, log, projection)
        case Failure(why):
            return projection_failure_value(why)
        case _:
            assert_never(projected)


def _viewed(inputs: _Inputs, log: SessionLog, projection: Projection) -> ViewedHistory | JsonObject:
    recorded = recorded_views(log.events)
    match recorded:
        case Success(views):
            rendition = rendition_of(inputs.protocol)
            rendering = Rendering(rendition=rendition, views=views, policy=inputs.policy)
            viewed = viewed_history(projection, rendering)
        case Failure(unread):
            return tool_failure_value(unread)
        case _:
            assert_never(recorded)
    match viewed:
        case Success(history):
            return history
        case Failure(contradicted):
            return build_failure_value(contradicted)
        case _:
            assert_never(viewed)


# --- interpreting -----------------------------------------------------------------------------------


def _action_value(found: Interpreted, came: list[JsonValue]) -> JsonObject:
    match found:
        case PlannedCall():
            calls: list[JsonValue] = [*came, _CODEC.write(tool_call(found))]
            return {
                "action": _said(found.action),
                "events": calls,
                "reply": None,
                "status": None,
                "next_current": None,
            }
        case PlannedFinal():
            return _ended(found.action, complete_final(found), came)
        case PlannedQuestion():
            return _ended(found.action, complete_question(found), came)
        case _:
            assert_never(found)


def _ended(action: FinalAnswer | AskUser, ended: AnsweredStep, came: list[JsonValue]) -> JsonObject:
    closing: list[JsonValue] = [*came, *[_CODEC.write(kind) for kind in ended.events]]
    return {
        "action": _said(action),
        "events": closing,
        "reply": ended.reply,
        "status": ended.status.value,
        "next_current": _messages_value(ended.next_current),
    }


def _said(action: Action) -> JsonObject:
    match action:
        case CallTool(provider_id=provider_id, name=name, arguments=arguments):
            return {
                "kind": "call_tool",
                "provider_id": provider_id,
                "name": name,
                "arguments": arguments.value(),
            }
        case FinalAnswer(text=text):
            return {"kind": "final", "text": text}
        case AskUser(question=question):
            return {"kind": "ask_user", "question": question}
        case _:
            assert_never(action)


def _messages_value(messages: tuple[ModelMessage, ...]) -> list[JsonValue]:
    return [_CODEC.write(message) for message in messages]


# --- completing -------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class _Done:
    """A completed step; `refused` is why a preview stands alone."""

    completed: CompletedStep
    refused: CompleteReason | None = None


def _completed(asked: _Asked, answer: _Answer, ran: _Ran) -> _Done | JsonObject:
    planned = _planned_for(asked, answer)
    if not isinstance(planned, PlannedStep):
        return planned
    interpreted = interpret(planned, answer.response)
    match interpreted:
        case Success(PlannedCall() as call):
            return _shown(call, ran, asked.inputs.policy)
        case Success(other):
            return {"kind": NotACall.__name__, "action": _said(other.action)["kind"]}
        case Failure(why):
            return tool_failure_value(why)
        case _:
            assert_never(interpreted)


def _shown(call: PlannedCall, ran: _Ran, policy: ResultPolicy) -> _Done | JsonObject:
    chooser = None if ran.choice is None else ChosenChoice(ran.choice)
    outcome = complete(call, ran.execution, policy=policy, chooser=chooser)
    match outcome:
        case Success(completed):
            return _settled(completed, ran)
        case Failure(failure):
            return tool_failure_value(failure.why)
        case _:
            assert_never(outcome)


def _settled(completed: CompletedStep, ran: _Ran) -> _Done | JsonObject:
    referring = _referring(completed, ran)
    if isinstance(referring, CompletedStep):
        return _Done(completed=referring)
    if ran.preview_alone:
        return _Done(completed=unstored(completed), refused=referring)
    return _Done(completed=completed) if referring is None else tool_failure_value(referring)


def _referring(completed: CompletedStep, ran: _Ran) -> CompletedStep | CompleteReason | None:
    """The step that knows where its text stands; None where this operation does not."""
    scope = completed.call.step.inputs.scope
    found = stored_by(Storing(scope=scope, reference=ran.reference, store=ran.store), completed.to_store)
    match found:
        case Success(reference):
            return None if reference is None else _with_reference(completed, reference)
        case Failure(refused):
            return refused
        case _:
            assert_never(found)


def _with_reference(completed: CompletedStep, reference: ContentRef) -> CompletedStep | CompleteReason:
    told = stored(completed, reference)
    match told:
        case Success(known):
            return known
        case Failure(failure):
            return failure.why
        case _:
            assert_never(told)
