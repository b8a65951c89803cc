"""Laws that no single paragraph states: totality, order that means nothing, and what a build never loses.

The classes of the paragraphs hold most laws where they belong: determinism in P12, B7 and
`test_determinism.py`, inputs unchanged in P12 and B7, idempotence in B7, budget in B5 and B7.
"""

import copy
import enum
import functools
import inspect
import itertools
import json
import types
import typing
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar, final

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from typing_extensions import override

import jingwei
from jingwei.build import BuildInputs, BuiltContext
from jingwei.events.records import SessionEvent, SessionLog, ToolResultEvent
from jingwei.events.wire import decode_log, encode_event, session_log
from jingwei.ids import EventId, MessageId, SessionId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    GenerationResponse,
    ModelMessage,
    ToolMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.project import project
from jingwei.projection.records import ForeignProjection, LegacyReplies, Projection, ProjectionConfig
from jingwei.report.records import BuildReport
from jingwei.request.counting import (
    ByteBoundCounter,
    ByteHeuristicCounter,
    CountRefused,
    Normalization,
    RenderedByteBoundCounter,
    RenderedPrompt,
    TokenCounter,
)
from jingwei.request.records import ContextBudget, ContextTarget, TokenCount
from jingwei.selection.computed import View
from jingwei.selection.records import Candidate, DropTurn, Plan, PlanStep, Room
from jingwei.selection.search import Search
from jingwei.testing import strategies as some
from jingwei.testing.strategies import SESSION
from properties.build_models import World, naive_messages, worlds
from properties.models import plain_event

_Drawn = TypeVar("_Drawn")

OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)

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


_LEAVES: dict[Any, SearchStrategy[Any]] = {
    str: st.sampled_from(ODD_TEXTS) | st.text(st.characters(exclude_categories=()), max_size=5),
    int: st.sampled_from(ODD_INTEGERS) | st.integers(-3, 40) | st.sampled_from((1, -1)).map(_very_long),
    bool: st.booleans(),
    Fraction: st.fractions(-2, 2, max_denominator=9),
    type(None): st.none(),
    Json: st.sampled_from(ODD_JSON).map(Json) | some.free_json(),
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


# --- totality -------------------------------------------------------------------------------------

Driver: TypeAlias = Callable[[st.DataObject], object]


def _called(function: Callable[..., object], *arguments: SearchStrategy[Any]) -> Driver:
    """Call a function with whatever is drawn; what is lazy is run to its end."""

    def driven(data: st.DataObject) -> object:
        answer = function(*[data.draw(one) for one in arguments])
        return list(answer) if isinstance(answer, types.GeneratorType) else answer

    return driven


def _built(data: st.DataObject) -> object:
    plans = st.builds(Stubborn, anything(Plan))
    strategy = data.draw(st.just(jingwei.OldestTurnFirst()) | plans)
    history, inputs, counter = data.draw(any_history()), data.draw(near_inputs()), data.draw(any_counter())
    return jingwei.build(
        history, inputs, counter, strategy=strategy, search=data.draw(st.sampled_from(Search))
    )


def _built_foreign(data: st.DataObject) -> object:
    history, inputs, counter = data.draw(foreign()), data.draw(near_inputs()), data.draw(any_counter())
    return jingwei.build_foreign(history, inputs, counter, search=data.draw(st.sampled_from(Search)))


def foreign() -> SearchStrategy[ForeignProjection]:
    """Any record of the type, and good ones of which one part is odd."""

    @st.composite
    def drawn(draw: DrawFn) -> ForeignProjection:
        whole = jingwei.encode_projection(draw(any_history())).unwrap()
        good = jingwei.decode_projection(whole).unwrap()
        hints = typing.get_type_hints(ForeignProjection)
        odd = draw(st.sampled_from(sorted(hints)))
        return attrs.evolve(good, **{odd: draw(anything(hints[odd]))})

    return drawn() | anything(ForeignProjection)


def any_log() -> SearchStrategy[SessionLog]:
    """Drawn logs, and any events at all; how many bytes a log thinks it has is its maker's word."""
    odd = st.lists(anything(SessionEvent), max_size=4)
    near = st.tuples(some.logs().map(_events), anything(SessionEvent), st.integers(0, 99)).map(_with_one)
    return st.one_of(some.logs(), odd.map(session_log), near.map(session_log))


def _events(log: SessionLog) -> tuple[SessionEvent, ...]:
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


@final
class Unprintable:
    """Not even what it is can be asked of it."""

    @override
    def __repr__(self) -> str:
        raise RuntimeError("never printed")


def python_values() -> SearchStrategy[object]:
    """What hosts hand over for JSON: also keys that are no text, sets, bytes, and very long numbers."""
    leaves: SearchStrategy[Any] = st.one_of(
        st.none(),
        st.floats(),
        anything(int),
        anything(str),
        st.binary(max_size=3),
        st.complex_numbers(),
        st.decimals(),
        st.frozensets(anything(int), max_size=2),
        st.builds(Unprintable),
        st.sampled_from(Search),
    )
    keys = anything(str) | st.floats() | st.booleans() | st.none() | anything(int) | st.builds(Unprintable)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=6,
    )


def any_built() -> SearchStrategy[BuiltContext]:
    """A request and a report that need not belong together."""
    return st.builds(BuiltContext, request=anything(GenerationRequest), report=anything(BuildReport))


def _viewed(data: st.DataObject) -> None:
    """A view over any log in two pieces says what the batch says, also where neither is a real log."""
    session_id, config = data.draw(anything(SessionId)), data.draw(anything(ProjectionConfig))
    log = data.draw(any_log())
    cut = data.draw(st.integers(0, len(log.events)))
    view = jingwei.start_view(session_id, config)
    for piece in (log.events[:cut], log.events[cut:]):
        view = view.advanced(session_log(piece))

    assert jingwei.project(session_id, log, config) == view.projection()
    assert isinstance(view.running(), Success | Failure)


def any_ids() -> SearchStrategy[jingwei.IdSource]:
    """Ids that number, and ids that are always the same one."""
    return anything(jingwei.NumberedIds) | st.builds(OneId, anything(str))


@final
@attrs.frozen
class OneId(jingwei.IdSource):
    """Gives one id to everything."""

    name: str

    @override
    def event_id(self, seq: int) -> EventId:
        return EventId(self.name)

    @override
    def message_id(self, seq: int) -> MessageId:
        return MessageId(self.name)


def _written(data: st.DataObject) -> None:
    """A writer takes an event or says why not, whatever it is offered; a refusal changes nothing."""
    writer, ids = jingwei.start_writer(data.draw(anything(SessionId))), data.draw(any_ids())
    for _ in range(3):
        before, event = writer, data.draw(anything(SessionEvent))
        match writer.offer(ids, event.turn_id, event.kind, message_id=event.message_id):
            case Success(written):
                writer = written.writer
            case Failure():
                assert before == writer


TOTAL: dict[str, Driver] = {
    "admit_projection": _called(jingwei.admit_projection, foreign()),
    "advance": _called(jingwei.advance, st.builds(jingwei.initial_state, anything(SessionId)), any_log()),
    "build": _built,
    "build_foreign": _built_foreign,
    "check_log": _called(jingwei.check_log, anything(SessionId), any_log()),
    "check_shape": _called(jingwei.check_shape, anything(GenerationRequest)),
    "close_abandoned": _called(
        jingwei.close_abandoned,
        anything(SessionId),
        any_log(),
        any_ids(),
        st.sampled_from(jingwei.EarlierTurns),
    ),
    "compare": _called(
        jingwei.compare, anything(BuildReport), anything(BuildReport), anything(jingwei.CachePrices)
    ),
    "condense_then_drop": _called(
        lambda keep, batch, policy: jingwei.condense_then_drop(
            keep_newest=keep, batch_turns=batch, policy=policy
        ),
        anything(int),
        anything(int),
        anything(jingwei.PreviewPolicy),
    ),
    "decode_events": _called(jingwei.decode_events, st.lists(any_bytes(), max_size=3)),
    "decode_log": _called(jingwei.decode_log, any_bytes()),
    "decode_projection": _called(jingwei.decode_projection, any_bytes()),
    "decode_report": _called(jingwei.decode_report, any_bytes()),
    "decode_request": _called(jingwei.decode_request, any_bytes()),
    "decode_response": _called(jingwei.decode_response, any_bytes()),
    "diagnose": _called(jingwei.diagnose, anything(SessionId), any_log(), anything(ProjectionConfig)),
    "encode_event": _called(jingwei.encode_event, anything(SessionEvent)),
    "encode_log": _called(jingwei.encode_log, st.lists(anything(SessionEvent), max_size=3)),
    "encode_projection": _called(jingwei.encode_projection, any_history()),
    "encode_report": _called(jingwei.encode_report, anything(BuildReport)),
    "encode_request": _called(jingwei.encode_request, anything(GenerationRequest)),
    "encode_response": _called(jingwei.encode_response, anything(GenerationResponse)),
    "initial_state": _called(jingwei.initial_state, anything(SessionId), anything(ProjectionConfig)),
    "json_of": _called(jingwei.json_of, python_values()),
    "parse_json": _called(jingwei.parse_json, anything(str) | some.json_values().map(json.dumps)),
    "project": _called(jingwei.project, anything(SessionId), any_log(), anything(ProjectionConfig)),
    "report_changes": _called(
        jingwei.report_changes,
        anything(BuildReport),
        anything(GenerationRequest),
        anything(ContextTarget),
        anything(ContextBudget),
    ),
    "resume_writer": _called(
        jingwei.resume_writer, anything(SessionId), any_log(), st.sampled_from(jingwei.EarlierTurns)
    ),
    "reverify": _called(
        jingwei.reverify, any_built(), anything(ContextTarget), any_counter(), anything(ContextBudget)
    ),
    "session_log": _called(jingwei.session_log, st.lists(anything(SessionEvent), max_size=3)),
    "simulate": _called(
        jingwei.simulate,
        anything(SessionId),
        any_log(),
        anything(jingwei.SimulationInputs),
        anything(ByteHeuristicCounter),
        st.just((jingwei.OLDEST_TURN_FIRST, jingwei.CondenseThenDrop())),
    ),
    "split_open_turn": _called(jingwei.split_open_turn, any_history()),
    "stable_prefix": _called(
        lambda high, low, costs: jingwei.stable_prefix(high=high, low=low, costs=costs),
        anything(int),
        st.none() | anything(int),
        anything(ByteHeuristicCounter),
    ),
    "start_view": _viewed,
    "start_writer": _written,
    "summaries": _called(
        jingwei.summaries,
        st.lists(anything(jingwei.SimulatedCall), max_size=3),
        anything(jingwei.CachePrices),
    ),
}
"""How each public function is driven."""


class TestTotality:
    """No public function raises, whatever it is given of the types that it names: negative and huge numbers,
    blank texts and half surrogate pairs, free JSON of any type, other sessions, counters and strategies
    that answer anything. (Behaviour that raises is the host's own; C1 says that it is not swallowed.)
    """

    def test_every_public_function_is_driven(self) -> None:
        """Each function of `jingwei.__all__` stands in the table above."""
        functions = [name for name in jingwei.__all__ if inspect.isfunction(getattr(jingwei, name))]

        assert sorted(TOTAL) == sorted(functions)

    @pytest.mark.parametrize("name", sorted(TOTAL))
    @given(data=st.data())
    def test_a_public_function_answers_for_any_value(self, name: str, data: st.DataObject) -> None:
        """With a value, a Success or a Failure, and never with an exception."""
        TOTAL[name](data)

    @given(any_counter(), anything(ContextTarget), anything(GenerationRequest))
    def test_a_counter_of_jingwei_answers_for_any_request(
        self, counter: TokenCounter, target: ContextTarget, request: GenerationRequest
    ) -> None:
        """With a count or a refusal, also for a target with half a surrogate pair in its name."""
        assert isinstance(counter.count(target, request), Success | Failure)

    @given(any_log(), anything(ProjectionConfig))
    def test_the_odd_events_come_through_or_are_named(
        self, log: SessionLog, config: ProjectionConfig
    ) -> None:
        """Whatever has a canonical form, reads back as itself; what has none is refused with its place."""
        for event in log.events:
            line = encode_event(event)
            if isinstance(line, Success) and 0 <= event.seq < 2**64:
                read = decode_log(line.unwrap())
                assert isinstance(read, Success | Failure)
                if isinstance(read, Success):
                    assert (event,) == read.unwrap().events


# --- order that means nothing ---------------------------------------------------------------------


def shuffled(value: Any, data: st.DataObject) -> Any:
    """The same JSON with the keys of every object that is no free JSON in another order."""
    if isinstance(value, list):
        return [shuffled(one, data) for one in value]
    if not isinstance(value, dict):
        return value
    keys = data.draw(st.permutations(list(value)))
    return {key: value[key] if key in _FREE else shuffled(value[key], data) for key in keys}


_FREE = frozenset(("arguments", "payload", "plan", "artifact", "report", "parameters", "schema"))


class TestOrder:
    """Where a rule gives an order no meaning, changing it changes nothing: the results within a turn (P7),
    the keys of an object on the wire (W1), and pins (B2).
    """

    @given(some.legal_logs(legacy=True), st.data())
    def test_results_within_a_turn_may_come_in_any_order(self, log: SessionLog, data: st.DataObject) -> None:
        """Results that trade places, where their calls allow it, give the same messages."""
        events = list(log.events)
        before = project(SESSION, log, OMIT).unwrap()
        for turn in {event.turn_id for event in events}:
            places = [
                i for i, e in enumerate(events) if e.turn_id == turn and isinstance(e.kind, ToolResultEvent)
            ]
            kinds = data.draw(st.permutations([events[i].kind for i in places]))
            for i, kind in zip(places, kinds, strict=True):
                events[i] = attrs.evolve(events[i], kind=kind)
        after = project(SESSION, session_log(events), OMIT)
        assume(isinstance(after, Success))  # a result may have come to stand before its call

        assert list(before.messages) == list(after.unwrap().messages)
        assert [turn.state for turn in before.turns] == [turn.state for turn in after.unwrap().turns]

    @given(some.legal_logs(max_turns=2, legacy=True), st.data())
    def test_keys_may_come_in_any_order(self, log: SessionLog, data: st.DataObject) -> None:
        """Of the envelope, the payloads and the strict objects; the order inside free JSON belongs to it."""
        lines = [shuffled(plain_event(event), data) for event in log.events]
        text = "".join([json.dumps(line, ensure_ascii=False) + "\n" for line in lines])

        assert log.events == decode_log(text.encode()).unwrap().events

    @given(worlds(), st.data())
    def test_pins_may_be_named_in_any_order(self, world: World, data: st.DataObject) -> None:
        """The same answer in full, the report's rows included."""
        pins = tuple(data.draw(st.permutations(world.inputs.pinned_turns)))
        one = jingwei.build(world.history, world.inputs, world.counter())
        other = jingwei.build(world.history, attrs.evolve(world.inputs, pinned_turns=pins), world.counter())

        assert one == other


# --- what a build never loses ---------------------------------------------------------------------


@st.composite
def any_plan(draw: DrawFn, turns: Sequence[TurnId]) -> Plan:
    """A legal plan over some of these turns, in any order, steps of any size, some of them in the base."""
    order = draw(st.permutations(turns)) if turns else []
    order = order[: draw(st.integers(0, len(order)))]
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
    pieces = [order[a:b] for a, b in itertools.pairwise([0, *cuts, len(order)])]
    base, *steps = [tuple([DropTurn(turn_id=turn) for turn in piece]) for piece in pieces]
    return Plan(base=base, steps=tuple([PlanStep(reductions=step) for step in steps]))


def planned(world: World, search: Search, data: st.DataObject) -> BuiltContext:
    """What is built under a drawn legal plan, where something is."""
    candidates = [
        turn.turn_id
        for turn in world.history.turns
        if turn.turn_id not in world.inputs.pinned_turns and naive_messages(turn)
    ]
    strategy = Stubborn(data.draw(any_plan(candidates)))
    outcome = jingwei.build(world.history, world.inputs, world.counter(), strategy=strategy, search=search)
    assume(isinstance(outcome, Success))
    return outcome.unwrap()


class TestWhatIsKept:
    """Under every strategy, search and counter: tool exchanges whole, required texts there, every turn kept
    or left out and not both, and a request that is built again from what was kept is the same.
    """

    @given(worlds(fitting=True), st.sampled_from(Search), st.data())
    def test_no_call_is_parted_from_its_result(
        self, world: World, search: Search, data: st.DataObject
    ) -> None:
        """Each call is followed by its result before anything else is said, each result follows its call."""
        waiting = list[str]()
        for message in planned(world, search, data).request.messages:
            if isinstance(message, ToolMessage):
                waiting.remove(message.call_id)
            else:
                assert [] == waiting
            if isinstance(message, AssistantMessage):
                waiting = [call.id for call in message.tool_calls]

        assert [] == waiting

    @given(worlds(fitting=True), st.sampled_from(Search), st.data())
    def test_kept_and_left_out_are_everything_once(
        self, world: World, search: Search, data: st.DataObject
    ) -> None:
        """By turns, by events and by messages; nothing comes from elsewhere, and nothing required is gone."""
        built = planned(world, search, data)
        rows = list(built.report.turns.rows)
        kept = [row.turn_id for row in rows if row.retained]
        gone = [row.turn_id for row in rows if not row.retained]
        events = [event_id for row in rows for event_id in row.source_events]
        messages = [m for turn in world.history.turns if turn.turn_id in kept for m in naive_messages(turn)]
        system, current = world.inputs.system, world.inputs.current
        said = built.request.messages

        assert [turn.turn_id for turn in world.history.turns] == [row.turn_id for row in rows]
        assert set() == set(kept) & set(gone)
        assert set() == set(world.inputs.pinned_turns) - set(kept)
        assert [event for group in world.history.groups for event in group.source_events] == events
        assert list(said[len(system) : len(said) - len(current)]) == messages
        assert list(system) == [message.content for message in said[: len(system)]]
        assert current == said[len(said) - len(current) :]

    @given(worlds(fitting=True), st.sampled_from(Search), st.data())
    def test_what_was_kept_is_kept_again_and_nothing_given_has_changed(
        self, world: World, search: Search, data: st.DataObject
    ) -> None:
        """The kept turns as a history of their own, without a plan; history and inputs are as they were."""
        before = copy.deepcopy((world.history, world.inputs))
        built = planned(world, search, data)
        kept = {row.turn_id for row in built.report.turns.rows if row.retained}
        flat = jingwei.decode_projection(jingwei.encode_projection(world.history).unwrap()).unwrap()
        smaller = attrs.evolve(
            flat,
            turns=tuple([turn for turn in flat.turns if turn.turn_id in kept]),
            groups=tuple([group for group in flat.groups if group.turn_id in kept]),
        )
        history = jingwei.admit_projection(smaller).unwrap()
        again = jingwei.build(history, world.inputs, Told(built), strategy=Stubborn(Plan()), search=search)

        assert built.request == again.unwrap().request
        assert before == (world.history, world.inputs)


@final
@attrs.frozen
class Told:
    """Answers for one request what was answered before: also a counter of moods is then a function."""

    built: BuiltContext

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        if request == self.built.request:
            return Success(self.built.report.attempts[-1].count)
        return Failure(CountRefused(reason="another request"))
