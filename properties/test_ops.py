"""Operations on tools, results and steps, as lines of `batch`: always one answer, and nothing remembered.

The good lines are those that fuzzing begins with. What an operation says is held against the functions that
it stands for, called in Python with records of the same values.
"""

import copy
import json
from typing import Any, Final, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from jingwei.action.records import ActionProtocol
from jingwei.action.step import (
    PlannedCall,
    PlannedFinal,
    PlannedQuestion,
    PlannedStep,
    StepInputs,
    interpret,
    plan_step,
)
from jingwei.batch import serve
from jingwei.build import BuildInputs
from jingwei.events.records import DecisionContext, ToolOutcome
from jingwei.events.wire import outcome_text, session_log
from jingwei.ids import EventId, ProviderCallId, SessionId, TaskId
from jingwei.jsontext import Json, JsonValue
from jingwei.messages.records import (
    Finished,
    FinishKind,
    GenerationResponse,
    ModelToolCall,
    ToolDefinition,
    UserMessage,
)
from jingwei.messages.wire import encode_request, encode_response
from jingwei.outcome import Failure, Success
from jingwei.ports import ContentScope
from jingwei.projection.project import project
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget
from jingwei.results.envelope import envelope_text
from jingwei.results.records import ViewRendition
from jingwei.results.rendering import Rendering, viewed_history
from jingwei.results.view import result_policy, view_result
from jingwei.testing import strategies
from properties.fuzz.mutation import seeds
from properties.models import plain_text, same_json

Plain: TypeAlias = dict[str, Any]

OPERATIONS: Final = ("tool_view", "result_view", "read_reference", "plan_step", "interpret", "complete")


def good_lines() -> list[Plain]:
    """Lines of these operations; none of them lets a store be made."""
    parsed = [json.loads(line) for line in seeds("batch") if line != b"{"]
    return [line for line in parsed if line.get("op") in OPERATIONS]


GOOD: Final = good_lines()
KEYS: Final = sorted({key for line in GOOD for key in line} - {"op", "id"})
RAN: Final = [line for line in GOOD if line["op"] == "complete"]


def answer(line: JsonValue) -> Plain:
    """What one line is answered with, which is one line of canonical JSON with nothing beside it."""
    said = serve(plain_text(line).encode())
    told: Plain = json.loads(said)

    assert said == plain_text(told)
    assert "\n" not in said
    assert list(told) in (["id", "ok"], ["id", "failure"])
    return told


def ask(**keys: Any) -> Plain:
    """The `ok` or the failure of a line."""
    told = answer(keys)
    found: Plain = told.get("ok") or told["failure"]
    return found


# --- one step, twice --------------------------------------------------------------------------------

SCOPE: Final = {"session_id": "s", "task_id": "task", "expires_at_ms": 9}
PARAMETERS: Final = '{"type":"object","properties":{"q":{"type":"string","minLength":2}},"required":["q"]}'
STEP: Final[Plain] = {
    "session_id": "s",
    "events": [],
    "decision": {"task_id": "task", "step_id": "step"},
    "scope": SCOPE,
    "now_ms": 1,
    "tools": [{"name": "look", "description": "d", "parameters": json.loads(PARAMETERS)}],
    "target": {"model": "m", "template_revision": "1"},
    "budget": {
        "window_tokens": 4096,
        "output_reserve": 64,
        "output_evidence": "estimate",
        "safety_margin": 0,
        "mode": "soft",
    },
}


def in_python(protocol: ActionProtocol, words: str) -> PlannedStep:
    """The same step by the functions themselves."""
    rendition = ViewRendition.NATIVE if protocol is ActionProtocol.NATIVE else ViewRendition.JSON
    history = viewed_history(
        project(SessionId("s"), session_log(())).unwrap(), Rendering(rendition=rendition)
    ).unwrap()
    inputs = StepInputs(
        decision=DecisionContext(task_id="task", step_id="step"),
        scope=ContentScope(session_id=SessionId("s"), task_id=TaskId("task"), expires_at_ms=9),
        now_ms=1,
        build=BuildInputs(
            current=(UserMessage(content=words),),
            target=ContextTarget(model="m", template_revision="1"),
            budget=ContextBudget(window_tokens=4096, output_reserve=64),
        ),
        tools=(ToolDefinition(name="look", description="d", parameters=Json(PARAMETERS)),),
        protocol=protocol,
    )
    return plan_step(inputs, history, ByteHeuristicCounter()).unwrap()


def in_lines(protocol: ActionProtocol, words: str) -> Plain:
    """The keys of that step."""
    return {**STEP, "protocol": protocol.value, "current": [{"role": "user", "content": words}]}


protocols = st.sampled_from(ActionProtocol)
words = st.sampled_from(("go", "look it up", "去", '"'))


def answers() -> st.SearchStrategy[GenerationResponse]:
    """Answers of models: good ones, nearly good ones, and any at all."""
    ends = st.sampled_from([Finished(kind=kind) for kind in FinishKind])
    arguments = st.sampled_from(('{"q":"it"}', '{"q":"x"}', "{}", "[]", '"q"', '{"q":"it","z":[1]}'))
    calls = st.builds(
        ModelToolCall,
        id=st.just(ProviderCallId("p")),
        name=st.sampled_from(("look", "look", "root", "jingwei_ask_user")),
        arguments=arguments.map(Json),
    )
    actions = st.builds(
        '{{"action":"{}","name":"look","arguments":{}}}'.format, st.just("call_tool"), arguments
    )
    said = st.sampled_from(("done", " ", '{"action":"final","text":"done"}', '{"action":"final"}')) | actions
    called = st.builds(
        GenerationResponse,
        tool_calls=st.lists(calls, min_size=1, max_size=2).map(tuple),
        finish_reason=st.just(Finished(kind=FinishKind.TOOL_CALLS)) | ends,
    )
    spoken = st.builds(
        GenerationResponse, content=said, finish_reason=st.just(Finished(kind=FinishKind.STOP)) | ends
    )
    return called | spoken | strategies.responses()


@st.composite
def places(draw: st.DrawFn, value: object) -> list[str | int]:
    """The way to some place in a value."""
    steps = list[str | int]()
    while isinstance(value, dict | list) and value and (not steps or draw(st.booleans())):
        step = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        steps.append(step)
        value = value[step]
    return steps


@st.composite
def changed_lines(draw: st.DrawFn, good: list[Plain]) -> Plain:
    """A good line with one place in it gone, or something else."""
    line = copy.deepcopy(draw(st.sampled_from(good)))
    steps = draw(places({key: value for key, value in line.items() if key not in {"op", "id"}}))
    parent: Any = line
    for step in steps[:-1]:
        parent = parent[step]
    if draw(st.booleans()):
        del parent[steps[-1]]
    else:
        odd = st.sampled_from((0, 1, "", " ", "s", "e4", 2**64))
        parent[steps[-1]] = draw(strategies.json_values() | odd)
    return line


class TestToolOperationsAnswer:
    """A line of an operation on tools, results or steps has one answer, whatever stands in it; what the tool
    did is not lost, and may not be done again."""

    @given(
        st.sampled_from(OPERATIONS),
        st.dictionaries(st.sampled_from(KEYS), strategies.json_values(), max_size=6),
        strategies.json_values(),
    )
    def test_any_value_under_any_key(self, operation: str, keys: Plain, given_id: JsonValue) -> None:
        told = answer({"id": given_id, **keys, "op": operation})

        assert same_json(given_id, told["id"])
        assert operation == "tool_view" or "BadRequest" == told["failure"]["kind"]

    @given(changed_lines(GOOD))
    def test_a_good_line_with_one_place_changed(self, line: Plain) -> None:
        told = answer(line)

        assert told == answer(dict(reversed(line.items()))) or "BadRequest" == told["failure"]["kind"]
        assert told == answer(line)

    @given(changed_lines(RAN))
    def test_after_the_tool_ran_a_failure_carries_what_ran(self, line: Plain) -> None:
        told = answer(line)
        if "ok" in told or told["failure"]["kind"] == "BadRequest":
            return
        failure = told["failure"]

        assert ["kind", "execution", "why", "replay_forbidden"] == list(failure)
        assert failure["replay_forbidden"] is True
        assert "kind" in failure["why"]
        assert told == answer({**line, "execution": failure["execution"]})
        for key, value in failure["execution"].items():
            assert same_json(line["execution"][key], value) or key in {"call", "outcome"}


class TestStepsAreStateless:
    """`plan_step`, `interpret` and `complete` are the functions of those names, line by line; an answer to
    another request than the planned one is never taken."""

    @given(protocols, words)
    def test_the_planned_request_is_that_of_the_function(self, protocol: ActionProtocol, said: str) -> None:
        planned = in_python(protocol, said)
        told = ask(op="plan_step", **in_lines(protocol, said))

        assert encode_request(planned.request).unwrap() == plain_text(told["request"]).encode()
        assert (planned.max_tokens, told["request"]) == (
            told["max_tokens"],
            told["events"][0]["request"]["input"],
        )

    @given(protocols, answers())
    def test_an_answer_is_taken_as_the_function_takes_it(
        self, protocol: ActionProtocol, response: GenerationResponse
    ) -> None:
        written = json.loads(encode_response(response).unwrap())
        step = in_lines(protocol, "go")
        digest = ask(op="plan_step", **step)["request_digest"]
        told = ask(op="interpret", **step, request_digest=digest, response=written)

        found = interpret(in_python(protocol, "go"), response)
        if isinstance(found, Failure):
            assert type(found.failure()).__name__ == told["kind"]
        else:
            match found.unwrap():
                case PlannedCall(action=action):
                    assert ("call_tool", action.name) == (told["action"]["kind"], told["action"]["name"])
                    assert action.arguments.text == plain_text(told["action"]["arguments"])
                    assert told["events"][1]["call"]["arguments"] == told["action"]["arguments"]
                case PlannedFinal(action=final):
                    assert {"kind": "final", "text": final.text} == told["action"]
                    assert final.text == told["reply"]
                case PlannedQuestion(action=asked):
                    assert {"kind": "ask_user", "question": asked.question} == told["action"]
                    assert "waiting_for_input" == told["status"]
        assert same_json(written, told["events"][0]["result"]["outcome"]["response"])

    @given(st.lists(st.sampled_from(("q", "z")), max_size=3), st.sampled_from(('"it"', '"x"', "[]")))
    def test_a_provider_s_text_is_read_as_it_was_written(self, keys: list[str], value: str) -> None:
        """With each key once it is the value; with a key twice it is no arguments, whichever counts."""
        text = "{" + ", ".join(f'"{key}": {value}' for key in keys) + "}"
        step = in_lines(ActionProtocol.NATIVE, "go")
        digest = ask(op="plan_step", **step)["request_digest"]
        answered = [
            ask(
                op="interpret",
                **step,
                request_digest=digest,
                response={
                    "tool_calls": [{"id": "p", "name": "look", **arguments}],
                    "finish_reason": {"kind": "tool_calls"},
                    "usage": {},
                },
            )
            for arguments in ({"arguments_text": text}, {"arguments": json.loads(text)})
        ]

        if len(set(keys)) == len(keys):
            assert answered[0] == answered[1]
        else:
            assert "RepeatedKey" == answered[0]["kind"] != answered[1].get("kind")

    @given(protocols, protocols, words, words)
    def test_an_answer_to_another_request_is_never_taken(
        self, asked: ActionProtocol, answered: ActionProtocol, first: str, second: str
    ) -> None:
        digest = ask(op="plan_step", **in_lines(asked, first))["request_digest"]
        step = in_lines(answered, second)
        response = {"content": " ", "finish_reason": {"kind": "stop"}, "usage": {}}
        told = ask(op="interpret", **step, request_digest=digest, response=response)

        assert ((asked, first) == (answered, second)) is (told["kind"] != "OtherRequest")


class TestShownByLines:
    """`result_view` shows what the function shows, and hands over what it would have the host store."""

    @given(strategies.tool_outcomes(), st.integers(1, 24), st.integers(0, 24))
    def test_the_view_is_that_of_the_function(self, outcome: ToolOutcome, inline: int, preview: int) -> None:
        sizes = {"inline_bytes": inline, "preview_bytes": preview}
        told = ask(
            op="result_view",
            outcome=json.loads(outcome_text(outcome)),
            call_seq=3,
            name="look",
            source_event="e",
            policy=sizes,
        )

        match result_policy(**sizes):
            case Failure(wrong):
                assert ("InvalidResultPolicy", wrong.problem.value) == (
                    told["why"]["kind"],
                    told["why"]["problem"],
                )
                assert told["replay_forbidden"] is True
            case Success(policy):
                viewed = view_result(
                    outcome, call_seq=3, name="look", source_event=EventId("e"), policy=policy
                ).unwrap()
                assert envelope_text(viewed.view) == told["envelope"]
                stored = viewed.to_store
                assert told["to_store"] == (
                    None if stored is None else {"source_event": "e", "text": stored.text}
                )
