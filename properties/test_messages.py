"""Messages on the wire and in order (rules M1 to M3)."""

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jingwei.codec import DecodeFailed, DecodeReason
from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
from jingwei.messages.failures import (
    ArgumentsNotObject,
    DuplicateToolCallId,
    DuplicateToolName,
    EmptyMessages,
    EmptyName,
    EmptyToolSet,
    InterruptedToolGroup,
    InvalidSchemaShape,
    MissingAssistantContent,
    MissingToolResults,
    ShapeFailure,
    ToolNotVisible,
    UnmatchedToolResult,
)
from jingwei.messages.records import (
    AssistantMessage,
    AutoChoice,
    Finished,
    FinishedOtherwise,
    FinishKind,
    GenerationConstraint,
    GenerationRequest,
    GenerationResponse,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    NamedChoice,
    NativeToolsConstraint,
    RequiredChoice,
    SystemMessage,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import check_shape, messages_failure, moved
from jingwei.messages.wire import (
    constraint_bytes,
    constraint_text,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    message_bytes,
    message_text,
)
from jingwei.outcome import Failure, Success
from jingwei.testing import strategies
from properties.build_models import (
    Refused,
    constraint_object,
    json_bytes,
    message_object,
    naive_shape,
    plain_shape,
)


def compact(value: object) -> str:
    """Compact JSON by the standard library."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def failed(data: bytes) -> DecodeFailed:
    """The refusal of one request document."""
    return decode_request(data).failure()


def call(id: str = "c", name: str = "n", arguments: str = "{}") -> ModelToolCall:
    """A call, with JSON text as arguments."""
    return ModelToolCall(id=ProviderCallId(id), name=name, arguments=Json(arguments))


def result(id: str = "c") -> ToolMessage:
    """The result of `call(id)`."""
    return ToolMessage(call_id=ProviderCallId(id), content="r")


def asking(*calls: ModelToolCall) -> AssistantMessage:
    """An assistant message that only calls."""
    return AssistantMessage(tool_calls=calls)


_Spoil: TypeAlias = Callable[[Sequence[ModelMessage], int, int], list[ModelMessage]]


def _without(messages: Sequence[ModelMessage], here: int, there: int) -> list[ModelMessage]:
    return [*messages[:here], *messages[here + 1 :]]


def _doubled(messages: Sequence[ModelMessage], here: int, there: int) -> list[ModelMessage]:
    return [*messages[:there], messages[here], *messages[there:]]


def _swapped(messages: Sequence[ModelMessage], here: int, there: int) -> list[ModelMessage]:
    changed = list(messages)
    changed[here], changed[there] = changed[there], changed[here]
    return changed


def _emptied(messages: Sequence[ModelMessage], here: int, there: int) -> list[ModelMessage]:
    return [*messages[:here], AssistantMessage(), *messages[here + 1 :]]


def _with_calls(
    messages: Sequence[ModelMessage], change: Callable[[ModelToolCall], tuple[ModelToolCall, ...]]
) -> list[ModelMessage]:
    """The first assistant message that calls has its last call changed."""
    changed = list(messages)
    for index, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calls = (*message.tool_calls[:-1], *change(message.tool_calls[-1]))
            changed[index] = attrs.evolve(message, tool_calls=calls)
            break
    return changed


def _recalled(messages: Sequence[ModelMessage], here: int, there: int) -> list[ModelMessage]:
    return _with_calls(messages, lambda last: (last, last))


def _listed(messages: Sequence[ModelMessage], here: int, there: int) -> list[ModelMessage]:
    return _with_calls(messages, lambda last: (attrs.evolve(last, arguments=Json("[1]")),))


def _unnamed(messages: Sequence[ModelMessage], here: int, there: int) -> list[ModelMessage]:
    return _with_calls(messages, lambda last: (attrs.evolve(last, name="\u3000"),))


SPOILS: tuple[_Spoil, ...] = (_without, _doubled, _swapped, _emptied, _recalled, _listed, _unnamed)


def loose_constraints() -> st.SearchStrategy[GenerationConstraint]:
    """Constraints that break any of their rules, or none."""
    name = st.sampled_from(("a", "b", " ", ""))
    schema = st.sampled_from(("{}", "true", "false", "null", "[]", "1", '"{}"')).map(Json)
    tool = st.builds(ToolDefinition, name=name, description=st.just("d"), parameters=schema)
    named = st.builds(NamedChoice, name=name)
    choice = st.one_of(st.just(AutoChoice()), st.just(RequiredChoice()), named)
    tools = st.lists(tool, max_size=3).map(tuple)
    return st.builds(NativeToolsConstraint, tools=tools, choice=choice) | st.builds(
        JsonSchemaConstraint, name=name, schema=schema
    )


USER = UserMessage(content="u")

LADDER: list[tuple[ShapeFailure | None, list[ModelMessage]]] = [
    (EmptyMessages(), []),
    (UnmatchedToolResult(index=0), [result()]),
    (UnmatchedToolResult(index=2), [asking(call()), result(), result()]),
    (UnmatchedToolResult(index=1), [asking(call("a")), result("b")]),
    (InterruptedToolGroup(index=1), [asking(call()), USER, result()]),
    (InterruptedToolGroup(index=1), [asking(call()), AssistantMessage(), result()]),
    (MissingAssistantContent(index=1), [USER, AssistantMessage()]),
    (None, [AssistantMessage(content="")]),
    (EmptyName(index=0), [asking(call(name="\t", arguments="[]"), call())]),
    (ArgumentsNotObject(index=0), [asking(call(), call(arguments="[]"))]),
    (ArgumentsNotObject(index=0), [asking(call(arguments='"{}"'))]),
    (DuplicateToolCallId(index=0), [asking(call(), call()), result()]),
    (MissingToolResults(call_ids=("a", "c")), [asking(call("a"), call("b"), call("c")), result("b")]),
    (None, [SystemMessage(content=""), USER, USER, SystemMessage(content="s")]),
]


def tool(name: str = "a", parameters: str = "{}") -> ToolDefinition:
    """A tool, with JSON text as parameters."""
    return ToolDefinition(name=name, description="", parameters=Json(parameters))


def tools(*defined: ToolDefinition, choice: str | None = None) -> NativeToolsConstraint:
    """A tool set; the choice is a name, or left to the model."""
    chosen = AutoChoice() if choice is None else NamedChoice(name=choice)
    return NativeToolsConstraint(tools=defined, choice=chosen)


CONSTRAINT_LADDER: list[tuple[ShapeFailure | None, GenerationConstraint]] = [
    (EmptyName(index=None), JsonSchemaConstraint(name=" ", schema=Json("1"))),
    (InvalidSchemaShape(), JsonSchemaConstraint(name="n", schema=Json("1"))),
    (None, JsonSchemaConstraint(name="n", schema=Json("false"))),
    (EmptyToolSet(), tools(choice="a")),
    (EmptyName(index=None), tools(tool(name="", parameters="1"))),
    (InvalidSchemaShape(), tools(tool(), tool(parameters="null"))),
    (DuplicateToolName(name="a"), tools(tool(), tool())),
    (ToolNotVisible(name="b"), tools(tool(), choice="b")),
    (None, tools(tool(), tool("b"), choice="b")),
]


class TestMessagesM1:
    """M1. A message is told apart by its role; unknown keys are refused; an assistant's content is always
    written, its calls only when there are some; the id of a call is not blank."""

    @given(strategies.model_messages())
    def test_the_text_is_the_compact_json_of_its_fields_in_order(self, message: ModelMessage) -> None:
        assert compact(message_object(message)) == message_text(message)
        assert json_bytes(message_object(message)) == message_bytes(message)

    @given(strategies.model_messages())
    def test_a_message_survives_the_wire(self, message: ModelMessage) -> None:
        request = GenerationRequest(messages=(message,))

        assert Success(request) == decode_request(encode_request(request).unwrap())

    @given(strategies.model_messages(), st.sampled_from(("name", "tool_calls_", "rol", "cache_control")))
    def test_an_unknown_key_is_refused_with_its_path(self, message: ModelMessage, key: str) -> None:
        spoiled = compact({"messages": [{**message_object(message), key: 1}]})
        refusal = failed(spoiled.encode())

        assert (DecodeReason.UNKNOWN_KEY, f"/messages/0/{key}") == (refusal.reason, refusal.path)

    @pytest.mark.parametrize("content", [{"content": None}, {}])
    def test_content_that_is_null_or_left_out_reads_as_none_and_is_written_as_null(
        self, content: dict[str, None]
    ) -> None:
        document = compact({"messages": [{"role": "assistant", **content}]}).encode()
        request = decode_request(document).unwrap()

        assert (AssistantMessage(),) == request.messages
        assert '{"role":"assistant","content":null}' == message_text(request.messages[0])

    @pytest.mark.parametrize("blank", strategies.BLANKS)
    def test_a_blank_call_id_is_refused_in_a_call_and_in_a_result(self, blank: str) -> None:
        calls = [{"id": blank, "name": "n", "arguments": {}}]
        asked = {"role": "assistant", "content": None, "tool_calls": calls}
        answered = {"role": "tool", "call_id": blank, "content": ""}

        assert "/messages/0/tool_calls/0/id" == failed(compact({"messages": [asked]}).encode()).path
        assert "/messages/0/call_id" == failed(compact({"messages": [answered]}).encode()).path

    @pytest.mark.parametrize("role", ["developer", "System", "function", "", "assistant "])
    def test_any_other_role_is_refused(self, role: str) -> None:
        document = compact({"messages": [{"role": role, "content": "c"}]})

        assert DecodeReason.UNKNOWN_TAG is failed(document.encode()).reason

    @pytest.mark.parametrize("content", [5, True, ["text"], {"type": "text"}])
    @pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
    def test_content_is_text_and_nothing_else(self, role: str, content: object) -> None:
        identified = {"call_id": "c"} if role == "tool" else {}
        document = compact({"messages": [{"role": role, **identified, "content": content}]})

        assert DecodeReason.WRONG_TYPE is failed(document.encode()).reason


class TestRequestsAndResponsesM2:
    """M2. A request is messages and a constraint, tagged by its mode, free text when left out; a choice
    is tagged by its kind, `auto` when left out and always written; a response has a finish reason, which
    is tagged by its kind."""

    @given(strategies.requests())
    def test_a_request_is_the_compact_json_of_its_fields_and_survives(
        self, request: GenerationRequest
    ) -> None:
        expected = compact(
            {
                "messages": [message_object(message) for message in request.messages],
                "constraint": constraint_object(request.constraint),
            }
        )

        assert Success(expected.encode()) == encode_request(request)
        assert Success(request) == decode_request(expected.encode())

    @given(strategies.constraints())
    def test_a_constraint_is_measured_by_its_compact_json(self, constraint: GenerationConstraint) -> None:
        assert compact(constraint_object(constraint)) == constraint_text(constraint)
        assert json_bytes(constraint_object(constraint)) == constraint_bytes(constraint)

    @given(strategies.responses())
    def test_a_response_survives_the_wire(self, response: GenerationResponse) -> None:
        assert Success(response) == decode_response(encode_response(response).unwrap())

    def test_what_is_left_out_has_its_default(self) -> None:
        bare = decode_request(b'{"messages":[]}').unwrap()
        tools = decode_request(b'{"messages":[],"constraint":{"mode":"native_tools","tools":[]}}').unwrap()

        assert '{"mode":"text"}' == constraint_text(bare.constraint)
        expected = '{"mode":"native_tools","tools":[],"choice":{"kind":"auto"}}'
        assert expected == constraint_text(tools.constraint)

    @pytest.mark.parametrize(
        ("kind", "reason"),
        [(kind.value, Finished(kind=kind)) for kind in FinishKind] + [("other", FinishedOtherwise(code="x"))],
    )
    def test_each_finish_reason_has_its_tag(self, kind: str, reason: Finished | FinishedOtherwise) -> None:
        text = encode_response(GenerationResponse(finish_reason=reason)).unwrap().decode()
        code = ',"code":"x"' if kind == "other" else ""

        assert f'"finish_reason":{{"kind":"{kind}"{code}}}' in text

    @pytest.mark.parametrize(
        ("constraint", "path"),
        [
            ('{"mode":"json"}', "/constraint/mode"),
            ('{"mode":"text","x":1}', "/constraint/x"),
            ('{"mode":"native_tools","tools":[],"choice":{"kind":"any"}}', "/constraint/choice/kind"),
            (
                '{"mode":"native_tools","tools":[],"choice":{"kind":"auto","name":"n"}}',
                "/constraint/choice/name",
            ),
            (
                '{"mode":"native_tools","tools":[{"name":"n","description":"","parameters":{},"strict":true}]}',
                "/constraint/tools/0/strict",
            ),
            ('{"mode":"json_schema","schema":{}}', "/constraint/name"),
        ],
    )
    def test_unknown_tags_and_keys_and_missing_ones_are_refused_with_their_path(
        self, constraint: str, path: str
    ) -> None:
        assert path == failed(f'{{"messages":[],"constraint":{constraint}}}'.encode()).path


class TestShapeM3:
    """M3. In order: no messages; a result nobody waits for; anything else while a result is awaited; an
    assistant that says and calls nothing; per call a blank name, arguments that are no object, a repeated
    id; calls open at the end; then the constraint's own rules. An id may come again in a later group."""

    @given(st.lists(strategies.model_messages(), max_size=6), strategies.constraints())
    def test_any_messages_break_the_rule_that_the_naive_walk_finds_first(
        self, messages: list[ModelMessage], constraint: GenerationConstraint
    ) -> None:
        request = GenerationRequest(messages=tuple(messages), constraint=constraint)

        assert _naive(request) == _said(request)

    @given(strategies.conversations(), st.data())
    def test_one_fault_in_good_messages_is_found_as_the_naive_walk_finds_it(
        self, messages: tuple[ModelMessage, ...], data: st.DataObject
    ) -> None:
        spoil = data.draw(st.sampled_from(SPOILS))
        here, there = (data.draw(st.integers(0, len(messages) - 1)) for _ in range(2))
        request = GenerationRequest(messages=tuple(spoil(messages, here, there)))

        assert _naive(request) == _said(request)

    @given(strategies.shaped_requests())
    def test_a_good_request_is_answered_with_itself(self, request: GenerationRequest) -> None:
        assert Success(request) == check_shape(request)

    @given(loose_constraints())
    def test_a_constraint_breaks_the_rule_that_the_naive_walk_finds_first(
        self, constraint: GenerationConstraint
    ) -> None:
        request = GenerationRequest(messages=(UserMessage(content="u"),), constraint=constraint)

        assert _naive(request) == _said(request)

    @given(loose_constraints(), st.lists(strategies.model_messages(), max_size=3))
    def test_messages_come_before_the_constraint(
        self, constraint: GenerationConstraint, messages: list[ModelMessage]
    ) -> None:
        broken = messages_failure(messages)
        assume(broken is not None)
        request = GenerationRequest(messages=tuple(messages), constraint=constraint)

        assert Failure(broken) == check_shape(request)

    @given(st.lists(strategies.tool_groups() | strategies.conversations(), min_size=1, max_size=4))
    def test_closed_groups_may_be_put_together_in_any_number(
        self, parts: list[tuple[ModelMessage, ...]]
    ) -> None:
        """What is well shaped stays so behind and before anything that is well shaped."""
        assert messages_failure([message for part in parts for message in part]) is None

    @given(strategies.conversations(), st.lists(strategies.model_messages(), min_size=1, max_size=4))
    def test_a_failure_moves_with_the_messages_put_in_front(
        self, front: tuple[ModelMessage, ...], messages: list[ModelMessage]
    ) -> None:
        alone = messages_failure(messages)
        expected = None if alone is None else moved(alone, len(front))

        assert expected == messages_failure([*front, *messages])

    @given(strategies.tool_groups(), st.data())
    def test_results_of_one_group_may_come_in_any_order(
        self, group: tuple[ModelMessage, ...], data: st.DataObject
    ) -> None:
        asked, *answers = group

        assert messages_failure([asked, *data.draw(st.permutations(answers))]) is None

    @given(strategies.tool_groups())
    def test_an_id_may_come_again_in_a_later_group_but_not_before_the_first_is_closed(
        self, group: tuple[ModelMessage, ...]
    ) -> None:
        assert messages_failure([*group, *group]) is None
        assert Failure(InterruptedToolGroup(index=1)) == check_shape(
            GenerationRequest(messages=(group[0], *group))
        )

    @given(strategies.tool_groups(), st.data())
    def test_a_group_with_a_result_less_is_never_accepted(
        self, group: tuple[ModelMessage, ...], data: st.DataObject
    ) -> None:
        lost = data.draw(st.integers(1, len(group) - 1))
        left = [*group[:lost], *group[lost + 1 :]]
        missing = group[lost]
        assert isinstance(missing, ToolMessage)

        assert MissingToolResults(call_ids=(missing.call_id,)) == messages_failure(left)
        user = UserMessage(content="u")
        assert InterruptedToolGroup(index=len(left)) == messages_failure([*left, user])

    @pytest.mark.parametrize(("expected", "messages"), LADDER)
    def test_each_message_rule_has_its_failure(
        self, expected: ShapeFailure | None, messages: list[ModelMessage]
    ) -> None:
        assert expected == messages_failure(messages)

    @pytest.mark.parametrize(("expected", "constraint"), CONSTRAINT_LADDER)
    def test_each_constraint_rule_has_its_failure(
        self, expected: ShapeFailure | None, constraint: GenerationConstraint
    ) -> None:
        request = GenerationRequest(messages=(UserMessage(content="u"),), constraint=constraint)

        assert (Success(request) if expected is None else Failure(expected)) == check_shape(request)


def _naive(request: GenerationRequest) -> Refused | None:
    return naive_shape(request)


def _said(request: GenerationRequest) -> Refused | None:
    outcome = check_shape(request)
    return None if isinstance(outcome, Success) else plain_shape(outcome.failure())
