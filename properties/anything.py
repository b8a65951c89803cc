"""Any value of a type, also one that no door would let in, and parts of a host that answer anything."""

import enum
import functools
import json
import types
import typing
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar, final

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from jingwei.build import BuildInputs
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.wire import session_log
from jingwei.jsontext import Json
from jingwei.messages.records import GenerationRequest, ModelMessage
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.records import Projection
from jingwei.request.counting import (
    ByteBoundCounter,
    ByteHeuristicCounter,
    CountRefused,
    Normalization,
    RenderedByteBoundCounter,
    RenderedPrompt,
    TokenCounter,
)
from jingwei.request.records import ContextTarget, TokenCount
from jingwei.results.records import ResultView
from jingwei.results.wire import NO_VIEWS, RecordedViews
from jingwei.selection.computed import View
from jingwei.selection.records import Candidate, Plan, Room
from jingwei.testing import strategies as some
from jingwei.testing.strategies import SESSION
from properties.build_models import worlds

_Drawn = TypeVar("_Drawn")

Driver: TypeAlias = Callable[[st.DataObject], object]
"""Calls a public function with whatever is drawn."""

# --- any value of a type, also one that no door would let in ---------------------------------------

ODD_TEXTS = ("", " ", "\u3000", "\ud800", "x\udfff", "\x00", "e\u0301", "🙂", "s", "t0", "m", "r1", "text")
ODD_INTEGERS = (-1, 0, 1, 2, 2**53 + 1, 2**64 - 1, 2**64, -(2**64))
ODD_JSON = ("null", "[]", "{}", "true", '"\\u0000"', "1.0", "-0.0", "[" * 128 + "]" * 128, "7" * 4_300)


def anything(cls: Any) -> SearchStrategy[Any]:
    """Any value of a type: records, unions, tuples, enums, names for text, down to odd texts and numbers.

    What it cannot draw are types of behaviour: counters, strategies, renderers.
    """
    return _anything(cls)


@functools.cache
def _anything(cls: Any) -> SearchStrategy[Any]:
    if isinstance(cls, typing.NewType):
        return _anything(cls.__supertype__)
    known = _LEAVES.get(cls)
    if known is not None:
        return known
    origin, arguments = typing.get_origin(cls), typing.get_args(cls)
    if origin in (types.UnionType, typing.Union):
        # A computed sequence is equal to the tuple that stands beside it.
        return st.one_of([_anything(one) for one in arguments if typing.get_origin(one) is not View])
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is ...:
            return st.lists(_anything(arguments[0]), max_size=3).map(tuple)
        return st.tuples(*map(_anything, arguments))
    if origin is Sequence:
        return st.lists(_anything(arguments[0]), max_size=3).map(tuple)
    if isinstance(cls, type) and issubclass(cls, enum.Enum):
        return st.sampled_from(cls)
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{f.name: st.deferred(_later(hints[f.name])) for f in attrs.fields(cls)})


def _later(cls: Any) -> Callable[[], SearchStrategy[Any]]:
    return lambda: _anything(cls)


def _very_long(sign: int) -> int:
    """A number of more digits than Python prints by default; drawn late, since Hypothesis prints too."""
    return sign * 10**4_400


def _recorded(views: Sequence[ResultView]) -> RecordedViews:
    """Those that can stand beside each other."""
    kept = NO_VIEWS
    for view in views:
        added = kept.with_view(view)
        kept = added.unwrap() if isinstance(added, Success) else kept
    return kept


_LEAVES: dict[Any, SearchStrategy[Any]] = {
    str: st.sampled_from(ODD_TEXTS) | st.text(st.characters(exclude_categories=()), max_size=5),
    int: st.sampled_from(ODD_INTEGERS) | st.integers(-3, 40) | st.sampled_from((1, -1)).map(_very_long),
    bool: st.booleans(),
    Fraction: st.fractions(-2, 2, max_denominator=9),
    type(None): st.none(),
    Json: st.sampled_from(ODD_JSON).map(Json) | some.free_json(),
    RecordedViews: st.deferred(lambda: st.lists(_anything(ResultView), max_size=3).map(_recorded)),
}


@final
@attrs.frozen
class Liar:
    """A counter that says anything at all, by the number of messages."""

    answers: tuple[TokenCount | CountRefused, ...]
    honest_target: bool

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        answer = self.answers[len(request.messages) % len(self.answers)]
        if isinstance(answer, CountRefused):
            return Failure(answer)
        return Success(attrs.evolve(answer, target=target) if self.honest_target else answer)


@final
@attrs.frozen
class AdditiveLiar:
    """The same with costs that have nothing to do with its counts."""

    liar: Liar
    costs: tuple[int, ...]

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return self.liar.count(target, request)

    def message_cost(self, message: ModelMessage) -> int:
        return self.costs[0]

    def fixed_cost(self, constraint: object) -> int:
        return self.costs[-1]


@final
@attrs.frozen
class Stubborn:
    """A strategy that proposes the same plan whatever it is given."""

    proposed: Plan
    name: str = "stubborn"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        return self.proposed


def any_counter() -> SearchStrategy[TokenCounter]:
    """jingwei's own counters with odd numbers, and liars."""
    liars = st.builds(
        Liar,
        st.lists(anything(TokenCount) | anything(CountRefused), min_size=1, max_size=3).map(tuple),
        st.booleans(),
    )
    costs = st.lists(anything(int), min_size=1, max_size=2).map(tuple)
    rendered = st.one_of(anything(RenderedPrompt).map(Success), anything(CountRefused).map(Failure))
    return st.one_of(
        liars,
        st.builds(AdditiveLiar, liars, costs),
        anything(ByteHeuristicCounter),
        anything(ByteBoundCounter),
        st.builds(
            RenderedByteBoundCounter,
            model=anything(str),
            template_revision=anything(str),
            normalization=st.sampled_from(Normalization),
            render=rendered.map(_always),
        ),
    )


def _always(value: _Drawn) -> Callable[[object], _Drawn]:
    return lambda _: value


def any_history() -> SearchStrategy[Projection]:
    """What `project` gives, and what `admit_projection` gives of the same: there are no other projections."""
    return some.projections(legacy=True, open_last=True, max_steps=3)


def near_inputs() -> SearchStrategy[BuildInputs]:
    """Any inputs, and inputs of which one part is odd: so what lies behind the first checks is reached."""

    @st.composite
    def drawn(draw: DrawFn) -> BuildInputs:
        inputs = draw(worlds()).inputs
        fields = attrs.fields(BuildInputs)
        hints = typing.get_type_hints(BuildInputs)
        odd = draw(st.sampled_from([f.name for f in fields]))
        return attrs.evolve(inputs, **{odd: draw(anything(hints[odd]))})

    return drawn() | anything(BuildInputs)


def any_log() -> SearchStrategy[SessionLog]:
    """Drawn logs, and any events at all; how many bytes a log thinks it has is its maker's word."""
    odd = st.lists(anything(SessionEvent), max_size=4)
    near = st.tuples(some.logs().map(events_of), anything(SessionEvent), st.integers(0, 99)).map(_with_one)
    return st.one_of(some.logs(), odd.map(session_log), near.map(session_log))


def events_of(log: SessionLog) -> tuple[SessionEvent, ...]:
    return log.events


def _with_one(drawn: tuple[tuple[SessionEvent, ...], SessionEvent, int]) -> list[SessionEvent]:
    """The log with another event at its place, in the order that L1 asks for."""
    events, odd, at = drawn
    here = at % (len(events) + 1)
    there = attrs.evolve(odd, session_id=SESSION, seq=here)
    return [*events[:here], there, *events[here + 1 :]]


def any_bytes() -> SearchStrategy[bytes]:
    """Bytes, and JSON of any shape with the keys of the records."""
    keys = st.sampled_from(
        ("messages", "constraint", "role", "content", "tool_calls", "version", "turns", "groups", "budget")
    )
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.sampled_from(ODD_TEXTS[:3]) | st.floats(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=8,
    )
    return st.binary(max_size=40) | values.map(json.dumps).map(str.encode)


def called(function: Callable[..., object], *arguments: SearchStrategy[Any]) -> Driver:
    """Call a function with whatever is drawn; what is lazy is run to its end."""

    def driven(data: st.DataObject) -> object:
        answer = function(*[data.draw(one) for one in arguments])
        return list(answer) if isinstance(answer, types.GeneratorType) else answer

    return driven
