"""Counting with a byte-pair encoding of `tiktoken` (extra `[tiktoken]`; rules C1, C6)."""

from typing import Final, assert_never, final

import attrs
import tiktoken

from jingwei.messages.records import (
    AssistantMessage,
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    SystemMessage,
    TextConstraint,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import constraint_text
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.counting import CountRefused, summed_costs
from jingwei.request.records import ContextTarget, TokenBoundEvidence, TokenBreakdown, TokenCount

PIECE_CHARS: Final = 262_144
"""Longest text that is handed to the encoding at once, in characters: about 700,000 blanks in a row
overflow the stack of tiktoken's pattern matcher, and a tool can return them."""


@final
@attrs.frozen(kw_only=True)
class BpeEstimateCounter:
    """Tokens of the texts by a real vocabulary, plus a declared framing: additive (C6).

    The texts are counted as the encoding counts them, each by itself; one of more than 262,144 characters
    in pieces of that length, which may cost some tokens more at each cut. What a provider writes
    around them (role marks, how it shows tools) is not published or not stable, so that the whole is
    an `ESTIMATE`, whatever the target. The host chooses the encoding that its model uses; this
    package ships no vocabulary, and the counter loads none.

    Text that spells a special token counts as plain text: whoever can put words into a log must not
    be able to make them cost less than they do.

    A message costs the overhead plus its content; a tool message also its call id; each call its own
    overhead, id, name and the canonical text of its arguments. A constraint costs its canonical JSON
    (W8), a plain text constraint nothing.

    Attributes:
        encoding: made by the host, for instance `tiktoken.Encoding(mergeable_ranks=...)`. Its name is
            part of the method, and should tell its vocabulary.
        message_tokens: added per message; at least 0.
        call_tokens: added per tool call; at least 0.
        template_tokens: added once per request; at least 0.
    """

    encoding: tiktoken.Encoding
    message_tokens: int = 4
    call_tokens: int = 4
    template_tokens: int = 3

    @property
    def method(self) -> str:
        """`bpe-<name of the encoding>-estimate-v1`."""
        return f"bpe-{self.encoding.name}-estimate-v1"

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        """The estimate, for any target; refused only where an overhead is negative."""
        if min(self.message_tokens, self.call_tokens, self.template_tokens) < 0:
            return Failure(CountRefused(reason="an overhead is negative"))
        system, messages = summed_costs(request, self.message_cost)
        tokens = TokenBreakdown(
            system=system,
            messages=messages,
            constraint=self._constraint_cost(request.constraint),
            template=self.template_tokens,
        )
        return Success(
            TokenCount(
                target=target,
                method=self.method,
                evidence=TokenBoundEvidence.ESTIMATE,
                tokens=tokens,
            )
        )

    def message_cost(self, message: ModelMessage) -> int:
        """Tokens of the message's texts and its overheads."""
        match message:
            case SystemMessage(content=content) | UserMessage(content=content):
                return self.message_tokens + self._tokens(content)
            case ToolMessage(call_id=call_id, content=content):
                return self.message_tokens + self._tokens(call_id) + self._tokens(content)
            case AssistantMessage(content=content, tool_calls=calls):
                said = 0 if content is None else self._tokens(content)
                asked = sum(
                    self.call_tokens
                    + self._tokens(call.id)
                    + self._tokens(call.name)
                    + self._tokens(call.arguments.text)
                    for call in calls
                )
                return self.message_tokens + said + asked
            case _:
                assert_never(message)

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        """Tokens of the constraint, and of the template."""
        return self._constraint_cost(constraint) + self.template_tokens

    def _constraint_cost(self, constraint: GenerationConstraint) -> int:
        return 0 if isinstance(constraint, TextConstraint) else self._tokens(constraint_text(constraint))

    def _tokens(self, text: str) -> int:
        if len(text) <= PIECE_CHARS:
            return len(self.encoding.encode_ordinary(text))
        pieces = [text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)]
        return sum([len(self.encoding.encode_ordinary(piece)) for piece in pieces])
