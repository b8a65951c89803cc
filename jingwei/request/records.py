"""The target of a request, its budget, and what a count says (rules B1, C1)."""

import enum
from typing import final

import attrs

from jingwei.limits import (
    BUILD_GROUPS_MAX,
    BUILD_INPUT_BYTES_MAX,
    BUILD_MESSAGES_MAX,
    BUILD_TURNS_MAX,
    COUNT_CALLS_MAX,
)


@final
@attrs.frozen(kw_only=True)
class ContextTarget:
    """For which model, rendered by which revision of its template, tokens are counted (C1)."""

    model: str
    template_revision: str


@final
class TokenBoundEvidence(enum.Enum):
    """How far a number of tokens may be trusted: a guess, or a bound that holds (C1)."""

    ESTIMATE = "estimate"
    VERIFIED_UPPER_BOUND = "verified_upper_bound"


@final
class BudgetMode(enum.Enum):
    """`SOFT` takes estimates, `HARD` verified bounds only. Neither returns what exceeds the budget."""

    SOFT = "soft"
    HARD = "hard"


@final
@attrs.frozen(kw_only=True)
class ContextBudget:
    """How many tokens there are (B1), all in [0, 2^64).

    Attributes:
        window_tokens: what model and template can hold, input and output together; above zero.
        output_reserve: kept free for the answer; above zero.
        output_evidence: whether the host can make the model keep to `output_reserve`; `HARD` mode
            demands a verified bound.
        safety_margin: kept free besides; may be zero.
        mode: what evidence a count must carry.
    """

    window_tokens: int
    output_reserve: int
    output_evidence: TokenBoundEvidence = TokenBoundEvidence.ESTIMATE
    safety_margin: int = 0
    mode: BudgetMode = BudgetMode.SOFT

    @property
    def reserved(self) -> int:
        """Tokens that no request may take: output reserve and safety margin."""
        return self.output_reserve + self.safety_margin

    @property
    def available(self) -> int:
        """Tokens that are left for a request (B5); below zero where more is reserved than there is."""
        return self.window_tokens - self.reserved


@final
@attrs.frozen(kw_only=True)
class BuildLimits:
    """Bounds on the work of one build (B1); each is inclusive, and in [1, 2^64).

    Attributes:
        max_input_bytes: canonical bytes of history, system, current and constraint.
        max_groups: groups of the history.
        max_turns: turns of the history.
        max_messages: messages of history, system and current together.
        max_count_calls: full counts.
    """

    max_input_bytes: int = BUILD_INPUT_BYTES_MAX
    max_groups: int = BUILD_GROUPS_MAX
    max_turns: int = BUILD_TURNS_MAX
    max_messages: int = BUILD_MESSAGES_MAX
    max_count_calls: int = COUNT_CALLS_MAX


@final
@attrs.frozen(kw_only=True)
class TokenBreakdown:
    """Four disjoint parts of a request's input tokens (C1).

    Attributes:
        system: system messages.
        messages: all other messages.
        constraint: tools or schema, as the provider renders them.
        template: what the template adds: role marks, special tokens, preambles.
    """

    system: int
    messages: int
    constraint: int
    template: int

    @property
    def total(self) -> int:
        """Their sum; may be 2^64 or more, which the builder refuses as `Overflow` (C1)."""
        return self.system + self.messages + self.constraint + self.template


@final
@attrs.frozen(kw_only=True)
class TokenCount:
    """What a counter answers (C1).

    Attributes:
        target: the target it counted for.
        method: a name for how it counted, never blank.
        evidence: a guess or a bound.
        tokens: the four parts.
    """

    target: ContextTarget
    method: str
    evidence: TokenBoundEvidence
    tokens: TokenBreakdown
