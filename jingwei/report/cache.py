"""What a provider's prompt cache feels between two builds (rule B9): the record."""

import enum
from fractions import Fraction
from typing import Final, final

import attrs


@final
class PrefixChange(enum.Enum):
    """Why a request does not begin with the whole of the one before; the value is its name on the wire.

    One of the first four stands in front of the history. Otherwise it is what became of the first turn,
    or exchange of the running turn, that is sent differently; and where something was left out or
    condensed, a change of strategy or of what fits is told instead, since that is the cause.
    """

    TARGET = "target"
    """Another model or template: another cache."""
    TOOLS = "tools"
    """The constraint changed; providers put it in front of all messages."""
    SYSTEM = "system"
    """The system texts changed."""
    SESSION = "session"
    """The reports speak of two sessions."""
    PINS = "pins"
    """A turn is sent differently that was pinned, or is now."""
    STRATEGY = "strategy"
    """Another strategy leaves out or condenses something else."""
    WINDOW = "window"
    """Marks, or window less reserve and margin, changed, and with them what fits."""
    CUT_MOVED = "cut_moved"
    """What stood in the request is left out now, or the other way round."""
    CONDENSED = "condensed"
    """A result that stood in full is condensed now, or the other way round."""
    SUMMARIZED = "summarized"
    """A summary stands for turns that stood in full, or no longer does."""
    HISTORY = "history"
    """The same turns say something else: the log was not only appended to."""
    ITEMS = "items"
    """The envelope of items before current changed, or moved behind a longer history."""
    CURRENT = "current"
    """What stands behind the history was not only appended to."""


@final
@attrs.frozen(kw_only=True)
class CachePrices:
    """What a token costs when the cache serves it and when it is written, as shares of a plain one.

    Attributes:
        read: above zero; where it is not, nothing that is freed pays for anything.
        write: at least `read`; 1 where a provider asks nothing more for writing.
    """

    read: Fraction = Fraction(1, 10)  # immutable
    write: Fraction = Fraction(5, 4)  # immutable


DEFAULT_PRICES: Final = CachePrices()
"""The prices that several providers have asked: a tenth for reading, a quarter more for writing."""


@final
@attrs.frozen(kw_only=True)
class CachePlan:
    """How a request continues the previous one (B9).

    Tokens are costs of messages by an additive counter (C6), constraint and template apart. They are None
    where the report has no costs, and where a sum leaves [0, 2^64).

    Attributes:
        common_messages: messages at the start of both; 0 where target or constraint changed.
        common_tokens: what these cost: what a prefix cache can serve.
        changed_at: index of the first message that differs, or that one of the two does not have; None
            where the previous request stands whole at the start of this one.
        reason: why it differs; None where nothing does.
        written_tokens: what stands behind the common part, and is written anew.
        rewritten_tokens: of these, what the previous request held as well.
        freed_tokens: what the previous request held and this one does not. None also where the previous
            report has no costs, or was counted for another target or by another method.
        pays_after: after how many further requests the freed tokens, read from the cache in this request
            and in each of these, would have cost as much as the rewriting costs more than reading; 0 where
            this request alone pays for it. None where nothing was rewritten, where nothing was freed, so
            that it never pays, and where `freed_tokens` is None.
    """

    common_messages: int
    common_tokens: int | None
    changed_at: int | None
    reason: PrefixChange | None
    written_tokens: int | None
    rewritten_tokens: int | None
    freed_tokens: int | None
    pays_after: int | None
