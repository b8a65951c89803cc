"""`--strategy` and its marks: names on the command line to strategies (rules R1, R2, R4)."""

import enum
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NoReturn, assert_never, final

import attrs

from jingwei.cli.describe import Said
from jingwei.cli.exits import Exit
from jingwei.cli.output import fail
from jingwei.outcome import Failure, Success
from jingwei.request.counting import AdditiveCounter
from jingwei.request.records import ContextBudget
from jingwei.selection.condense_then_drop import CondenseThenDrop
from jingwei.selection.stable_prefix import stable_prefix
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy

# Bounded, so that no number on the command line takes long to read.
_DECIMAL: Final = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?", re.ASCII)


@final
class StrategyName(enum.Enum):
    """The strategies that ship with jingwei."""

    OLDEST_TURN_FIRST = "oldest_turn_first"
    STABLE_PREFIX = "stable_prefix"
    CONDENSE_THEN_DROP = "condense_then_drop"


@final
@attrs.frozen(kw_only=True)
class Marks:
    """The marks as they were typed (R2).

    Attributes:
        high: tokens; None where it was not given.
        low: a share of the high one up to 1, else tokens; None where it was not given.
    """

    high: int | None = None
    low: str | None = None


def strategies_of(
    names: Iterable[StrategyName], marks: Marks, budget: ContextBudget, costs: AdditiveCounter
) -> tuple[Strategy, ...]:
    """The strategies of a command, each once; ends it where the marks are none, or are for nobody."""
    chosen = tuple(dict.fromkeys(names))
    if marks != Marks() and StrategyName.STABLE_PREFIX not in chosen:
        hint = "--strategy stable_prefix is the one that has marks; leave them out for any other"
        fail(
            Said(what="--high-mark and --low-mark are given, and no strategy takes them", hint=hint),
            Exit.USAGE,
        )
    return tuple([_strategy(name, marks, budget, costs) for name in chosen])


def decimal_of(text: str) -> Fraction | None:
    """A decimal number as it is, without rounding; None where it is none, or is below zero."""
    return Fraction(text) if _DECIMAL.fullmatch(text) else None


def _strategy(name: StrategyName, marks: Marks, budget: ContextBudget, costs: AdditiveCounter) -> Strategy:
    match name:
        case StrategyName.OLDEST_TURN_FIRST:
            return OLDEST_TURN_FIRST
        case StrategyName.CONDENSE_THEN_DROP:
            return CondenseThenDrop(costs=costs)
        case StrategyName.STABLE_PREFIX:
            return _stable_prefix(marks, budget, costs)
        case _:
            assert_never(name)


def _stable_prefix(marks: Marks, budget: ContextBudget, costs: AdditiveCounter) -> Strategy:
    """Marks are the host's choice, and on the command line the person is the host (R2)."""
    left = budget.available
    high = left * 3 // 4 if marks.high is None else marks.high
    low = None if marks.low is None else _low(marks.low, high)
    match stable_prefix(high=high, low=low, costs=costs):
        case Success(strategy):
            return strategy
        case Failure(why):
            came = f"high {why.high:,} and low {why.low:,}"
            whence = f" (high is three quarters of the {left:,} that window less reserve and margin leave)"
            _refuse(
                f"marks: expected 0 < low <= high < 2^64, met {came}" + (whence if marks.high is None else "")
            )


def _low(text: str, high: int) -> int:
    number = decimal_of(text)
    if number is None:
        _refuse(f"--low-mark: expected a share of the high mark, or tokens, met {text!r}")
    if number <= 1:
        return int(high * number)
    if number.denominator != 1:
        _refuse(f"--low-mark: expected a share of at most 1, or whole tokens, met {text}")
    return int(number)


def _refuse(what: str) -> NoReturn:
    hint = "give --high-mark in tokens of history, and --low-mark as a share of it (0.7) or in tokens"
    fail(Said(what=what, hint=hint), Exit.USAGE)
