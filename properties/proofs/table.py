"""Which contracts there are, which rules they serve, for which values, and the bug that each must find.

`contracts()` is the table. A bug is a small change of one function of jingwei, made in this process by giving
the function other code; a contract that does not fail with its bug in place proves nothing.
"""

import contextlib
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Final, NamedTuple


class Bug(NamedTuple):
    """A change of one function.

    Attributes:
        what: what is wrong, for people.
        where: module and qualified name of the function, with a colon between.
        before: the text, which stands in it exactly once.
        after: what stands there instead.
    """

    what: str
    where: str
    before: str
    after: str


class Contract(NamedTuple):
    """A contract and what is claimed of it.

    Attributes:
        name: module and function in this package, with a dot between.
        rules: the paragraphs of docs/spec of which it proves a part; none where there is no paragraph yet.
        values: for which values.
        bug: what it must find.
    """

    name: str
    rules: tuple[str, ...]
    values: str
    bug: Bug

    @property
    def function(self) -> Callable[..., None]:
        module, _, name = self.name.partition(".")
        found: Callable[..., None] = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        return found

    @property
    def says(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split())


def contracts() -> tuple[Contract, ...]:
    """All of them, room by room."""
    return (*_SEARCHING, *_BUILDING, *_BUDGETS, *_BOUNDS)


def contract(name: str) -> Contract:
    """One of them."""
    return next(one for one in contracts() if one.name == name)


def function_of(where: str) -> FunctionType:
    """The function that a bug changes; of a property, what reads it."""
    module, _, path = where.partition(":")
    found: object = importlib.import_module(module)
    for name in path.split("."):
        found = inspect.getattr_static(found, name)
    found = found.fget if isinstance(found, property) else found
    assert isinstance(found, FunctionType), where
    return found


def times(bug: Bug) -> int:
    """How often its text stands in its function: a bug that can be planted has its text there once."""
    return textwrap.dedent(inspect.getsource(function_of(bug.where))).count(bug.before)


@contextlib.contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """The function with the bug in it, for as long as this lasts; who has imported it gets the bug too."""
    function = function_of(bug.where)
    source = textwrap.dedent(inspect.getsource(function)).removeprefix("@property\n")
    module = importlib.import_module(bug.where.partition(":")[0])
    code = function.__code__
    function.__code__ = _compiled(source.replace(bug.before, bug.after), module, function.__name__)
    try:
        yield
    finally:
        function.__code__ = code


def _compiled(source: str, module: ModuleType, name: str) -> CodeType:
    space: dict[str, object] = dict(vars(module))
    exec(compile(source, f"<planted in {name}>", "exec"), space)
    made = space[name]
    assert isinstance(made, FunctionType)
    return made.__code__


# --- the table ------------------------------------------------------------------------------------

_SEARCH, _BUILD = "jingwei.selection.search", "jingwei.build"
_ANY_STATE: Final = "any state of a search over fewer than 2^64 steps, any hint, any answer"

_SEARCHING: Final = (
    Contract(
        name="searching.a_search_starts_sound",
        rules=("B5", "R1"),
        values="any plan of fewer than 2^64 steps, any guess in it",
        bug=Bug(
            what="a bisecting search begins in the middle, whatever the guess",
            where=f"{_SEARCH}:next_move",
            before="CountNext(steps=state.guess, phase=Phase.GUESS)",
            after="CountNext(steps=state.last // 2, phase=Phase.GUESS)",
        ),
    ),
    Contract(
        name="searching.no_candidate_lies_outside_the_plan",
        rules=("B5", "R1"),
        values="any state of a search over fewer than 2^64 steps, any hint",
        bug=Bug(
            what="a hint beyond what is in question is followed",
            where=f"{_SEARCH}:_bisecting",
            before="max(low, min(hint, high))",
            after="max(low, hint)",
        ),
    ),
    Contract(
        name="searching.an_answer_keeps_the_state_sound",
        rules=("B5", "R1"),
        values=_ANY_STATE,
        bug=Bug(
            what="a word that is taken back still counts",
            where=f"{_SEARCH}:told",
            before="    elif steps == enough:\n        enough = None\n",
            after="",
        ),
    ),
    Contract(
        name="searching.what_closes_was_counted_last",
        rules=("B5",),
        values=_ANY_STATE,
        bug=Bug(
            what="what fitted once is accepted without counting it again",
            where=f"{_SEARCH}:next_move",
            before="if state.counted == enough:",
            after="if True:",
        ),
    ),
    Contract(
        name="searching.every_answer_brings_the_close_nearer",
        rules=("B5",),
        values=_ANY_STATE,
        bug=Bug(
            what="a search forgets what was too few",
            where=f"{_SEARCH}:told",
            before="max(state.too_few, steps)",
            after="state.too_few",
        ),
    ),
    Contract(
        name="searching.the_whole_plan_is_never_counted_again",
        rules=("B5",),
        values="any state of a search over fewer than 2^64 steps, any hint",
        bug=Bug(
            what="all steps are counted once more before the search gives up",
            where=f"{_SEARCH}:next_move",
            before="if state.counted == state.last:",
            after="if state.counts > state.last + 1:",
        ),
    ),
    Contract(
        name="searching.a_monotone_counter_is_understood",
        rules=("B5", "B7", "R1"),
        values="any state of a search over fewer than 2^64 steps, any hint, any place from which on it fits",
        bug=Bug(
            what="a search closes one candidate too early",
            where=f"{_SEARCH}:next_move",
            before="enough <= too_few + 1",
            after="enough <= too_few + 2",
        ),
    ),
    Contract(
        name="searching.a_right_guess_closes_in_two_counts",
        rules=("B7", "R1"),
        values="any plan of fewer than 2^64 steps, any place from which on steps fit, any hint",
        bug=Bug(
            what="a trusted guess is not the place to go on from",
            where=f"{_SEARCH}:told",
            before="and state.trusted",
            after="and not state.trusted",
        ),
    ),
    Contract(
        name="searching.the_impossible_is_known_after_two_counts",
        rules=("B5",),
        values="any plan of fewer than 2^64 steps, any guess, any hint",
        bug=Bug(
            what="a search asks for the middle before it asks whether anything fits",
            where=f"{_SEARCH}:_bisecting",
            before="CountNext(steps=state.last, phase=Phase.PROBE)",
            after="CountNext(steps=(low + high) // 2, phase=Phase.PROBE)",
        ),
    ),
    Contract(
        name="searching.halvings_are_the_logarithm",
        rules=("B5",),
        values="any plan of fewer than 2^64 steps",
        bug=Bug(
            what="one halving more at each power of two",
            where=f"{_SEARCH}:_halvings",
            before="(max(steps, 1) - 1).bit_length()",
            after="max(steps, 1).bit_length()",
        ),
    ),
    Contract(
        name="searching.no_count_is_made_that_is_not_paid_for",
        rules=("B5",),
        values="any state of a bisecting search over fewer than 2^16 steps, any hint, any answer to a "
        "candidate that is counted the first time",
        bug=Bug(
            what="the search gallops one count longer than it can afford",
            where=f"{_SEARCH}:_bisecting",
            before="state.counts >= 2 + _halvings(state.last)",
            after="state.counts >= 3 + _halvings(state.last)",
        ),
    ),
    Contract(
        name="searching.a_linear_search_counts_upwards",
        rules=("B5", "B7", "R1"),
        values="any plan of fewer than 2^64 steps, after any number of counts, any answer",
        bug=Bug(
            what="a walk begins with the first step taken",
            where=f"{_SEARCH}:next_move",
            before="CountNext(steps=too_few + 1, phase=Phase.WALK)",
            after="CountNext(steps=max(too_few + 1, 1), phase=Phase.WALK)",
        ),
    ),
    Contract(
        name="searching.auto_walks_where_it_can",
        rules=("R1",),
        values="any search, any counter, any number of steps from 0, any number of counts",
        bug=Bug(
            what="a walk that needs one count more than there are",
            where=f"{_SEARCH}:resolved",
            before="steps + 1 > count_calls",
            after="steps > count_calls",
        ),
    ),
)

_BUILDING: Final = (
    Contract(
        name="building.a_build_fits_or_says_why_not",
        rules=("B4", "B5", "C1"),
        values="one candidate; any window below 2^64, any reserve and margin that sum up to less, any four "
        "parts from 0",
        bug=Bug(
            what="a request that fills the window does not fit",
            where=f"{_BUILD}:_Fit.run",
            before=".total_reserved <= self",
            after=".total_reserved < self",
        ),
    ),
    Contract(
        name="building.a_recount_judges_as_a_build_does",
        rules=("B11",),
        values="one request; any window below 2^64, any reserve, margin and count that sum up to less",
        bug=Bug(
            what="the margin is forgotten when a request is counted again",
            where="jingwei.recount:reverify",
            before="budget.reserved",
            after="budget.output_reserve",
        ),
    ),
    Contract(
        name="building.a_linear_build_takes_the_first_that_fits",
        rules=("B5", "B7", "R1"),
        values="four candidates of any costs in (0, 2^63), any window below 2^64, any number of counts",
        bug=Bug(
            what="the last count that is allowed is not made",
            where=f"{_BUILD}:_Fit.run",
            before="if len(self.attempts) == self",
            after="if len(self.attempts) + 1 == self",
        ),
    ),
    Contract(
        name="building.a_bisecting_build_accepts_what_fits",
        rules=("B5", "B7", "R1"),
        values="four candidates of any costs in (0, 2^63), any window below 2^64, any hint",
        bug=Bug(
            what="the first count decides of all others",
            where=f"{_BUILD}:_Fit.run",
            before="self.attempts[-1].total_reserved",
            after="self.attempts[0].total_reserved",
        ),
    ),
    Contract(
        name="building.an_additive_build_finds_the_smallest_in_two_counts",
        rules=("B5", "B7", "C6", "R1"),
        values="three turns of any costs from 0, any fixed cost above 0, together below 2^63, any window "
        "below 2^64, any hint",
        bug=Bug(
            what="the costs point at one candidate too early",
            where=f"{_BUILD}:_needed_by_costs",
            before="return step + 1",
            after="return step",
        ),
    ),
)

_COUNTING: Final = "jingwei.request.counting"

_BUDGETS: Final = (
    Contract(
        name="budgets.a_budget_out_of_range_is_refused_by_name",
        rules=("B2", "C1"),
        values="any window and margin, any reserve above 0",
        bug=Bug(
            what="a reserve and a margin may reach 2^64",
            where=f"{_BUILD}:range_failure",
            before="budget.reserved >= TOKENS_BOUND",
            after="budget.reserved > TOKENS_BOUND",
        ),
    ),
    Contract(
        name="budgets.a_budget_of_nothing_is_refused_by_name",
        rules=("B2",),
        values="any budget",
        bug=Bug(
            what="no reserve is a reserve",
            where=f"{_BUILD}:target_failure",
            before="budget.output_reserve <= 0",
            after="budget.output_reserve < 0",
        ),
    ),
    Contract(
        name="budgets.the_total_is_the_sum_of_the_parts",
        rules=("C1",),
        values="any four parts",
        bug=Bug(
            what="the template is left out of the sum",
            where="jingwei.request.records:TokenBreakdown.total",
            before=" + self.template",
            after="",
        ),
    ),
    Contract(
        name="budgets.an_answer_is_judged_in_the_order_of_the_rule",
        rules=("B4", "C1"),
        values="any four parts, any budget in its range, either mode, either evidence",
        bug=Bug(
            what="a count may bring the total to 2^64",
            where=f"{_BUILD}:count_failure",
            before="budget.reserved >= TOKENS_BOUND",
            after="budget.reserved > TOKENS_BOUND",
        ),
    ),
    Contract(
        name="budgets.a_quarter_is_rounded_up",
        rules=("C2",),
        values="any number of bytes",
        bug=Bug(
            what="whole quarters are rounded up too",
            where=f"{_COUNTING}:_quarter",
            before="-(-size // 4)",
            after="size // 4 + 1",
        ),
    ),
    Contract(
        name="budgets.a_bound_on_json_is_never_below_its_bytes",
        rules=("C3",),
        values="any number of bytes before and after normalisation, any factor of at least 1",
        bug=Bug(
            what="only the normalised bytes of JSON count",
            where=f"{_COUNTING}:ByteBoundCounter._json",
            before="max(utf8_bytes(text), _normalised_bytes(self.normalization, text))",
            after="_normalised_bytes(self.normalization, text)",
        ),
    ),
    Contract(
        name="budgets.a_factor_on_json_is_rounded_up",
        rules=("C3",),
        values="any number of bytes, any factor of at least 1",
        bug=Bug(
            what="a part of a token is lost",
            where=f"{_COUNTING}:ByteBoundCounter._json",
            before="-(-size * factor.numerator // factor.denominator)",
            after="size * factor.numerator // factor.denominator",
        ),
    ),
    Contract(
        name="budgets.an_allowance_is_a_token_a_byte_and_one_a_special",
        rules=("C3",),
        values="any allowance from 0",
        bug=Bug(
            what="of bytes and special tokens only the larger number counts",
            where=f"{_COUNTING}:_of",
            before="allowance.bytes + allowance.specials",
            after="max(allowance.bytes, allowance.specials)",
        ),
    ),
    Contract(
        name="budgets.bytes_show_the_first_that_fits",
        rules=("B5", "R1"),
        values="four candidates of any sizes that never rise, any ratio of tokens to bytes, any budget",
        bug=Bug(
            what="the ratio is rounded before it is multiplied",
            where=f"{_BUILD}:_Sizes.needed",
            before="available * size // max(tokens, 1)",
            after="available // max(tokens, 1) * size",
        ),
    ),
    Contract(
        name="budgets.a_memory_stays_within_its_bound",
        rules=(),
        values="any bound, any weights of the two generations within half of it, a message of any weight",
        bug=Bug(
            what="a generation is full only when it is too heavy already",
            where="jingwei.request.remembering:RememberingCounter._remember",
            before="if self._young_chars + weight > self._half:",
            after="if self._young_chars > self._half:",
        ),
    ),
)

_BOUNDS: Final = (
    Contract(
        name="bounds.the_first_event_out_of_place_is_told",
        rules=("L1",),
        values="three events with any numbers, any one of another session, the last with any of two ids",
        bug=Bug(
            what="an event may stand before its place",
            where="jingwei.events.log:log_violations",
            before="event.seq != index",
            after="event.seq < index",
        ),
    ),
    Contract(
        name="bounds.a_number_is_read_exactly_in_its_range",
        rules=("L2",),
        values="any integer",
        bug=Bug(
            what="2^64 is read",
            where="jingwei.codec:_read_unsigned",
            before="0 <= value < TOKENS_BOUND",
            after="0 <= value <= TOKENS_BOUND",
        ),
    ),
    Contract(
        name="bounds.a_bound_of_a_projection_may_be_met",
        rules=("P2", "P10"),
        values="one log; any three bounds",
        bug=Bug(
            what="as many messages as the bound says are too many",
            where="jingwei.projection.advance:Walk._kept",
            before="messages > self._config.max_messages",
            after="messages >= self._config.max_messages",
        ),
    ),
    Contract(
        name="bounds.a_limit_of_a_build_may_be_met",
        rules=("B2",),
        values="one history; any five limits",
        bug=Bug(
            what="what equals its limit is refused",
            where=f"{_BUILD}:_limit_failure",
            before="actual > limit",
            after="actual >= limit",
        ),
    ),
)
