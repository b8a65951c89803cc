"""Counters: what a whole request costs, and how far the number may be trusted (rules C1 to C3, C6)."""

import enum
import unicodedata
from collections.abc import Callable
from typing import Protocol, TypeAlias, assert_never, final, runtime_checkable

import attrs

from jingwei.jsontext import utf8_bytes
from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    JsonSchemaConstraint,
    ModelMessage,
    NamedChoice,
    NativeToolsConstraint,
    SystemMessage,
    TextConstraint,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import constraint_bytes, message_bytes
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.records import (
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)


@final
@attrs.frozen(kw_only=True)
class CountRefused:
    """A counter could not, or would not, count this request for this target (C1, C5)."""

    reason: str


class TokenCounter(Protocol):
    """Counts the whole request for a target (C1).

    A counter is deterministic and does no I/O. What it cannot count it refuses as a Failure; an
    exception that it raises is not swallowed.
    """

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        """Tokens of the whole request, in four disjoint parts."""
        ...


@runtime_checkable
class AdditiveCounter(TokenCounter, Protocol):
    """A counter whose total is `fixed_cost(constraint)` plus the sum of `message_cost` (C6).

    Only such a counter is treated as monotone: a message less never costs more. The law set of
    `jingwei.testing` checks the sum.
    """

    def message_cost(self, message: ModelMessage) -> int:
        """Tokens of one message, wherever it stands."""
        ...

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        """Tokens of constraint and template together."""
        ...


def summed_costs(request: GenerationRequest, cost: Callable[[ModelMessage], int]) -> tuple[int, int]:
    """The costs of the system messages, and of all others: two of the four parts of C1."""
    system = messages = 0
    for message in request.messages:
        if isinstance(message, SystemMessage):
            system += cost(message)
        else:
            messages += cost(message)
    return system, messages


@final
@attrs.frozen(kw_only=True)
class ByteHeuristicCounter:
    """Canonical bytes divided by four, rounded up, per message and for the constraint (C2).

    Always an estimate. About right for prose, code and plain JSON; it under-counts ids, hashes,
    decimals and base64 by up to 4 times (docs/path.md has the table).

    Attributes:
        template_tokens: added once for the template.
    """

    template_tokens: int = 32

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        """The estimate, for any target."""
        system, messages = summed_costs(request, self.message_cost)
        tokens = TokenBreakdown(
            system=system,
            messages=messages,
            constraint=_quarter(constraint_bytes(request.constraint)),
            template=self.template_tokens,
        )
        return Success(
            TokenCount(
                target=target,
                method="serialized-utf8-ceil-div4-v1",
                evidence=TokenBoundEvidence.ESTIMATE,
                tokens=tokens,
            )
        )

    def message_cost(self, message: ModelMessage) -> int:
        """Canonical bytes of the message, divided by four, rounded up."""
        return _quarter(message_bytes(message))

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        """The same of the constraint, plus the template."""
        return _quarter(constraint_bytes(constraint)) + self.template_tokens


def _quarter(size: int) -> int:
    return -(-size // 4)


@final
class Normalization(enum.Enum):
    """What a tokenizer does to text before it splits it.

    NFKC and SentencePiece's own rules are not listed on purpose: they can make many bytes of one,
    so that bytes are no bound (C3).
    """

    NONE = "none"
    NFC = "nfc"


@final
@attrs.frozen(kw_only=True)
class Allowance:
    """What the host vouches that a template adds around one thing: bytes of text and special tokens."""

    bytes: int = 0
    specials: int = 0


@final
@attrs.frozen(kw_only=True)
class FramingAllowance:
    """What a template adds per message, per call, per tool and once per request (C3)."""

    message: Allowance
    call: Allowance
    tool: Allowance
    request: Allowance


@final
@attrs.frozen(kw_only=True)
class JsonFactor:
    """By how much a template may lengthen JSON when it re-spaces or escapes it: a fraction of at least 1."""

    numerator: int = 1
    denominator: int = 1


@final
@attrs.frozen(kw_only=True)
class ByteBoundCounter:
    """At most one token per byte of the rendered prompt, plus its special tokens (C3).

    A proof for byte-level BPE: every ordinary token stands for at least one byte of the (normalised)
    text. What the proof cannot know is what the template writes around the texts; the host declares
    it as allowances, and the bound is as good as that word. Parts: text counts its bytes; JSON
    (arguments, tool results, tool parameters, schemas) its bytes times the factor, rounded up.

    Attributes:
        model: the one model it answers for.
        template_revision: the one template it answers for; any other target is refused.
        normalization: what the tokenizer does first.
        json_factor: how much JSON may grow in the template.
        allowance: what the template adds.
    """

    model: str
    template_revision: str
    normalization: Normalization = Normalization.NONE
    json_factor: JsonFactor = JsonFactor()
    allowance: FramingAllowance

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        """The bound, for the declared target only."""
        refused = self._refusal(target)
        if refused is not None:
            return Failure(refused)
        system, messages = summed_costs(request, self.message_cost)
        tokens = TokenBreakdown(
            system=system,
            messages=messages,
            constraint=self._constraint_cost(request.constraint),
            template=_of(self.allowance.request),
        )
        return Success(_bound("utf8-byte-bound-v1", target, tokens))

    def message_cost(self, message: ModelMessage) -> int:
        """Bytes of its texts, JSON bytes times the factor, and the allowances for it and its calls."""
        framing = _of(self.allowance.message)
        match message:
            case SystemMessage(content=content) | UserMessage(content=content):
                return framing + self._text(content)
            case ToolMessage(call_id=call_id, content=content):
                return framing + self._text(call_id) + self._json(content)
            case AssistantMessage(content=content, tool_calls=calls):
                said = 0 if content is None else self._text(content)
                asked = sum(
                    _of(self.allowance.call)
                    + self._text(call.id)
                    + self._text(call.name)
                    + self._json(call.arguments.text)
                    for call in calls
                )
                return framing + said + asked
            case _:
                assert_never(message)

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        """Constraint and request allowance."""
        return self._constraint_cost(constraint) + _of(self.allowance.request)

    def _constraint_cost(self, constraint: GenerationConstraint) -> int:
        match constraint:
            case TextConstraint():
                return 0
            case JsonSchemaConstraint(name=name, schema=schema):
                return _of(self.allowance.tool) + self._text(name) + self._json(schema.text)
            case NativeToolsConstraint(tools=tools, choice=choice):
                chosen = self._text(choice.name) if isinstance(choice, NamedChoice) else 0
                return chosen + sum(
                    _of(self.allowance.tool)
                    + self._text(tool.name)
                    + self._text(tool.description)
                    + self._json(tool.parameters.text)
                    for tool in tools
                )
            case _:
                assert_never(constraint)

    def _text(self, text: str) -> int:
        return _normalised_bytes(self.normalization, text)

    def _json(self, text: str) -> int:
        # A template escapes JSON before it is normalised: composing afterwards undoes no escape.
        size = max(utf8_bytes(text), _normalised_bytes(self.normalization, text))
        factor = self.json_factor
        if factor.denominator <= 0:
            return size  # no bound follows from such a factor, and `count` refuses it
        return -(-size * factor.numerator // factor.denominator)

    def _refusal(self, target: ContextTarget) -> CountRefused | None:
        if (target.model, target.template_revision) != (self.model, self.template_revision):
            return CountRefused(
                reason=f"declared for {self.model!r} with template {self.template_revision!r}, "
                f"asked for {target.model!r} with {target.template_revision!r}"
            )
        factor = self.json_factor
        if factor.denominator <= 0 or factor.numerator < factor.denominator:
            return CountRefused(reason="the JSON factor is below 1: no bound follows from it")
        parts = (self.allowance.message, self.allowance.call, self.allowance.tool, self.allowance.request)
        if any(part.bytes < 0 or part.specials < 0 for part in parts):
            return CountRefused(reason="an allowance is negative: no bound follows from it")
        return None


@final
@attrs.frozen(kw_only=True)
class RenderedPrompt:
    """A prompt as a renderer writes it.

    Attributes:
        text: everything that the tokenizer sees as text.
        special_tokens: special tokens besides.
    """

    text: str
    special_tokens: int


PromptRenderer: TypeAlias = Callable[[GenerationRequest], "Outcome[RenderedPrompt, CountRefused]"]
"""Renders exactly what a target's template renders; the host vouches for it."""


@final
@attrs.frozen(kw_only=True)
class RenderedByteBoundCounter:
    """The byte bound over a prompt that the host renders itself (C3).

    Tighter than allowances, and not additive: the prompt is rendered whole for each count. The four
    parts cannot be told apart in a rendered prompt; all bytes stand under `messages`, the special
    tokens under `template`.
    """

    model: str
    template_revision: str
    normalization: Normalization = Normalization.NONE
    render: PromptRenderer

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        """The bound, for the declared target only."""
        if (target.model, target.template_revision) != (self.model, self.template_revision):
            reason = f"declared for {self.model!r} with template {self.template_revision!r}"
            return Failure(CountRefused(reason=reason))
        match self.render(request):
            case Failure() as refused:
                return refused
            case Success(prompt):
                tokens = TokenBreakdown(
                    system=0,
                    messages=_normalised_bytes(self.normalization, prompt.text),
                    constraint=0,
                    template=prompt.special_tokens,
                )
                return Success(_bound("rendered-utf8-byte-bound-v1", target, tokens))


def _bound(method: str, target: ContextTarget, tokens: TokenBreakdown) -> TokenCount:
    return TokenCount(
        target=target,
        method=method,
        evidence=TokenBoundEvidence.VERIFIED_UPPER_BOUND,
        tokens=tokens,
    )


def _of(allowance: Allowance) -> int:
    """A byte is at most one token, a special token exactly one."""
    return allowance.bytes + allowance.specials


def _normalised_bytes(normalization: Normalization, text: str) -> int:
    match normalization:
        case Normalization.NONE:
            return utf8_bytes(text)
        case Normalization.NFC:
            return utf8_bytes(unicodedata.normalize("NFC", text))
        case _:
            assert_never(normalization)
