"""Counters (C1 to C3, C6): what each thing costs, and what a counter refuses."""

from typing import Final

import attrs
import pytest

from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    AutoChoice,
    GenerationConstraint,
    GenerationRequest,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    NamedChoice,
    NativeToolsConstraint,
    SystemMessage,
    TextConstraint,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.counting import (
    AdditiveCounter,
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    CountRefused,
    FramingAllowance,
    JsonFactor,
    Normalization,
    RenderedByteBoundCounter,
    RenderedPrompt,
    TokenCounter,
)
from jingwei.request.records import ContextTarget, TokenBoundEvidence, TokenBreakdown, TokenCount

TARGET: Final = ContextTarget(model="m", template_revision="r")
OTHERS: Final = [
    ContextTarget(model="x", template_revision="r"),
    ContextTarget(model="m", template_revision="x"),
]

CALL: Final = ModelToolCall(id=ProviderCallId("id"), name="name", arguments=Json('{"a":"é"}'))
MESSAGES: Final[tuple[ModelMessage, ...]] = (
    SystemMessage(content="é"),
    UserMessage(content=""),
    AssistantMessage(content="中", tool_calls=(CALL, CALL)),
    ToolMessage(call_id=ProviderCallId("id"), content="12345"),
    AssistantMessage(),
)
TOOLS: Final = NativeToolsConstraint(
    tools=(
        ToolDefinition(name="t", description="dé", parameters=Json("{}")),
        ToolDefinition(name="uu", description="", parameters=Json("true")),
    ),
    choice=NamedChoice(name="uu"),
)


def test_c2_the_heuristic_takes_a_quarter_of_the_bytes_rounded_up() -> None:
    call = '{"id":"id","name":"name","arguments":{"a":"é"}}'
    forms = [
        '{"role":"system","content":"é"}',
        '{"role":"user","content":""}',
        f'{{"role":"assistant","content":"中","tool_calls":[{call},{call}]}}',
        '{"role":"tool","call_id":"id","content":"12345"}',
        '{"role":"assistant","content":null}',
    ]
    quarters = [-(-len(form.encode()) // 4) for form in forms]
    request = GenerationRequest(messages=MESSAGES, constraint=TOOLS)
    found = ByteHeuristicCounter().count(TARGET, request).unwrap()

    assert (TARGET, "serialized-utf8-ceil-div4-v1", TokenBoundEvidence.ESTIMATE) == (
        found.target,
        found.method,
        found.evidence,
    )
    assert 32 == found.tokens.template
    assert quarters == [ByteHeuristicCounter().message_cost(message) for message in MESSAGES]
    assert [8, 7, 38, 12, 9] == quarters
    assert (8, 7 + 38 + 12 + 9) == (found.tokens.system, found.tokens.messages)


@pytest.mark.parametrize(
    ("constraint", "tokens"),
    [
        (TextConstraint(), 4),  # 15 bytes
        (JsonSchemaConstraint(name="n", schema=Json("{}")), 12),  # 45 bytes
        (NativeToolsConstraint(tools=(), choice=AutoChoice()), 15),  # 58 bytes
    ],
)
def test_the_heuristic_counts_the_constraint_apart(constraint: GenerationConstraint, tokens: int) -> None:
    counter = ByteHeuristicCounter(template_tokens=5)
    found = counter.count(TARGET, GenerationRequest(messages=(), constraint=constraint)).unwrap()

    assert TokenBreakdown(system=0, messages=0, constraint=tokens, template=5) == found.tokens
    assert tokens + 5 == counter.fixed_cost(constraint) == found.tokens.total


def test_the_heuristic_answers_for_any_target() -> None:
    for target in OTHERS:
        assert target == ByteHeuristicCounter().count(target, GenerationRequest(messages=())).unwrap().target


FREE: Final = FramingAllowance(message=Allowance(), call=Allowance(), tool=Allowance(), request=Allowance())
FRAMED: Final = FramingAllowance(
    message=Allowance(bytes=3, specials=2),
    call=Allowance(bytes=10, specials=1),
    tool=Allowance(bytes=100, specials=7),
    request=Allowance(bytes=1000, specials=4),
)


def bound(
    allowance: FramingAllowance = FREE,
    factor: JsonFactor | None = None,
    normalization: Normalization = Normalization.NONE,
) -> ByteBoundCounter:
    return ByteBoundCounter(
        model="m",
        template_revision="r",
        allowance=allowance,
        json_factor=factor or JsonFactor(),
        normalization=normalization,
    )


def test_c3_without_a_frame_the_bound_is_the_bytes_of_the_texts() -> None:
    counter = bound()
    call = 2 + 4 + len('{"a":"é"}'.encode())

    assert [2, 0, 3 + 2 * call, 2 + 5, 0] == [counter.message_cost(message) for message in MESSAGES]
    assert 0 == counter.fixed_cost(TextConstraint())
    assert 1 + 3 + 2 + 2 + 0 + 4 + 2 == counter.fixed_cost(TOOLS)
    assert 1 + 2 == counter.fixed_cost(JsonSchemaConstraint(name="n", schema=Json("{}")))
    assert 1 + 3 + 2 + 2 + 0 + 4 == counter.fixed_cost(attrs.evolve(TOOLS, choice=AutoChoice()))


def test_c3_the_declared_frame_is_added_once_for_each_thing() -> None:
    plain, framed = bound(), bound(FRAMED)

    assert [5, 5, 5 + 2 * 11, 5, 5] == [
        framed.message_cost(message) - plain.message_cost(message) for message in MESSAGES
    ]
    assert 1004 == framed.fixed_cost(TextConstraint())
    assert 1004 + 2 * 107 == framed.fixed_cost(TOOLS) - plain.fixed_cost(TOOLS)
    schema = JsonSchemaConstraint(name="n", schema=Json("{}"))

    assert 1004 + 107 == framed.fixed_cost(schema) - plain.fixed_cost(schema)


def test_c3_the_factor_lengthens_json_only_and_rounds_up() -> None:
    counter = bound(factor=JsonFactor(numerator=3, denominator=2))
    arguments = len('{"a":"é"}'.encode())

    assert 15 == arguments * 3 // 2 + 0
    assert [2, 0, 3 + 2 * (2 + 4 + 15), 2 + 8, 0] == [counter.message_cost(m) for m in MESSAGES]
    assert 1 + 3 + 3 + 2 + 0 + 6 + 2 == counter.fixed_cost(TOOLS)
    assert 1 + 3 == counter.fixed_cost(JsonSchemaConstraint(name="n", schema=Json("{}")))


def test_c3_under_nfc_the_bytes_of_the_normal_form_count() -> None:
    """U+0958 has three bytes and six in NFC; e and an accent have three and two."""
    longer, shorter = UserMessage(content="\u0958"), UserMessage(content="e\u0301")

    assert [3, 3] == [bound().message_cost(message) for message in (longer, shorter)]
    assert [6, 2] == [
        bound(normalization=Normalization.NFC).message_cost(message) for message in (longer, shorter)
    ]


def test_the_bound_is_verified_and_in_four_parts() -> None:
    expected = TokenCount(
        target=TARGET,
        method="utf8-byte-bound-v1",
        evidence=TokenBoundEvidence.VERIFIED_UPPER_BOUND,
        tokens=TokenBreakdown(system=2 + 5, messages=0 + 5, constraint=14 + 2 * 107, template=1004),
    )
    request = GenerationRequest(messages=MESSAGES[:2], constraint=TOOLS)

    assert Success(expected) == bound(FRAMED).count(TARGET, request)


def negative(name: str, part: Allowance) -> ByteBoundCounter:
    return bound(attrs.evolve(FREE, **{name: part}))


REFUSED: list[tuple[ByteBoundCounter, ContextTarget, str]] = [
    (bound(), OTHERS[0], "declared for 'm' with template 'r', asked for 'x' with 'r'"),
    (bound(), OTHERS[1], "declared for 'm' with template 'r', asked for 'm' with 'x'"),
    (bound(factor=JsonFactor(numerator=1, denominator=2)), TARGET, "the JSON factor is below 1"),
    (bound(factor=JsonFactor(numerator=0, denominator=0)), TARGET, "the JSON factor is below 1"),
    (bound(factor=JsonFactor(numerator=-1, denominator=-2)), TARGET, "the JSON factor is below 1"),
    (negative("message", Allowance(bytes=-1)), TARGET, "an allowance is negative"),
    (negative("call", Allowance(specials=-1)), TARGET, "an allowance is negative"),
    (negative("tool", Allowance(bytes=-1, specials=5)), TARGET, "an allowance is negative"),
    (negative("request", Allowance(bytes=5, specials=-5)), TARGET, "an allowance is negative"),
]


@pytest.mark.parametrize(("counter", "target", "reason"), REFUSED)
def test_c5_a_counter_that_can_prove_nothing_refuses(
    counter: ByteBoundCounter, target: ContextTarget, reason: str
) -> None:
    found = counter.count(target, GenerationRequest(messages=()))

    assert isinstance(found, Failure)
    assert found.failure().reason.startswith(reason)


@pytest.mark.parametrize("denominator", [0, -1])
def test_a_cost_under_a_factor_that_is_no_number_is_that_of_the_plain_bytes(denominator: int) -> None:
    """No request is counted with such a factor; asked for a single cost, there is still an answer."""
    counter = bound(factor=JsonFactor(numerator=1, denominator=denominator))

    assert bound().message_cost(MESSAGES[2]) == counter.message_cost(MESSAGES[2])
    assert isinstance(counter.count(TARGET, GenerationRequest(messages=MESSAGES)), Failure)


# --- a renderer ---------------------------------------------------------------------------------


def render(request: GenerationRequest) -> Outcome[RenderedPrompt, CountRefused]:
    if not request.messages:
        return Failure(CountRefused(reason="nothing to render"))
    return Success(RenderedPrompt(text="\u0958" * len(request.messages), special_tokens=9))


@pytest.mark.parametrize(("normalization", "size"), [(Normalization.NONE, 3), (Normalization.NFC, 6)])
def test_c3_a_rendered_prompt_is_bound_by_its_bytes_and_specials(
    normalization: Normalization, size: int
) -> None:
    counter = RenderedByteBoundCounter(
        model="m", template_revision="r", normalization=normalization, render=render
    )
    expected = TokenCount(
        target=TARGET,
        method="rendered-utf8-byte-bound-v1",
        evidence=TokenBoundEvidence.VERIFIED_UPPER_BOUND,
        tokens=TokenBreakdown(system=0, messages=5 * size, constraint=0, template=9),
    )

    assert Success(expected) == counter.count(TARGET, GenerationRequest(messages=MESSAGES))


def test_a_renderer_may_refuse_and_another_target_is_refused_before_it() -> None:
    counter = RenderedByteBoundCounter(model="m", template_revision="r", render=render)
    empty = GenerationRequest(messages=())

    assert Failure(CountRefused(reason="nothing to render")) == counter.count(TARGET, empty)
    for target in OTHERS:
        assert Failure(CountRefused(reason="declared for 'm' with template 'r'")) == counter.count(
            target, empty
        )


def test_c6_which_counters_are_additive() -> None:
    counters: list[TokenCounter] = [
        ByteHeuristicCounter(),
        bound(),
        RenderedByteBoundCounter(model="m", template_revision="r", render=render),
    ]

    assert [True, True, False] == [isinstance(counter, AdditiveCounter) for counter in counters]


@pytest.mark.parametrize(
    "counter", [ByteHeuristicCounter(), ByteHeuristicCounter(template_tokens=0), bound(FRAMED)]
)
@pytest.mark.parametrize("constraint", [TextConstraint(), TOOLS])
def test_c6_an_additive_count_is_the_sum_of_its_costs(
    counter: AdditiveCounter, constraint: GenerationConstraint
) -> None:
    request = GenerationRequest(messages=MESSAGES * 3, constraint=constraint)
    summed = counter.fixed_cost(constraint) + sum(map(counter.message_cost, request.messages))

    assert summed == counter.count(TARGET, request).unwrap().tokens.total


def test_a_total_may_leave_the_range_of_tokens() -> None:
    """Such a sum is the builder's to refuse (C1): it is no wrapped number."""
    most = 2**64 - 1

    assert 4 * most == TokenBreakdown(system=most, messages=most, constraint=most, template=most).total
