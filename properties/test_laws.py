"""Laws that no single paragraph states: totality, order that means nothing, and what a build never loses.

The classes of the paragraphs hold most laws where they belong: determinism in P12, B7 and
`test_determinism.py`, inputs unchanged in P12 and B7, idempotence in B7, budget in B5 and B7.
"""

import copy
import inspect
import itertools
import json
import typing
from collections.abc import Sequence
from typing import Any, TypeVar, final

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from typing_extensions import override

import jingwei
from jingwei.build import BuiltContext
from jingwei.events.records import SessionEvent, SessionLog, ToolResultEvent
from jingwei.events.wire import decode_log, encode_event, session_log
from jingwei.ids import EventId, MessageId, SessionId, TurnId
from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    GenerationResponse,
    ToolMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.project import project
from jingwei.projection.records import ForeignProjection, LegacyReplies, ProjectionConfig
from jingwei.report.records import BuildReport
from jingwei.request.counting import (
    ByteHeuristicCounter,
    CountRefused,
    TokenCounter,
)
from jingwei.request.records import ContextBudget, ContextTarget, TokenCount
from jingwei.selection.records import DropTurn, Plan, PlanStep
from jingwei.selection.search import Search
from jingwei.testing import strategies as some
from jingwei.testing.strategies import SESSION
from properties.anything import (
    Driver,
    Stubborn,
    any_bytes,
    any_counter,
    any_history,
    any_log,
    anything,
    called,
    near_inputs,
)
from properties.build_models import World, naive_messages, worlds
from properties.drivers import ROOMS
from properties.models import plain_event

_Drawn = TypeVar("_Drawn")

OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)

# --- totality -------------------------------------------------------------------------------------


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
    "admit_projection": called(jingwei.admit_projection, foreign()),
    "advance": called(jingwei.advance, st.builds(jingwei.initial_state, anything(SessionId)), any_log()),
    "build": _built,
    "build_foreign": _built_foreign,
    "check_log": called(jingwei.check_log, anything(SessionId), any_log()),
    "check_shape": called(jingwei.check_shape, anything(GenerationRequest)),
    "close_abandoned": called(
        jingwei.close_abandoned,
        anything(SessionId),
        any_log(),
        any_ids(),
        st.sampled_from(jingwei.EarlierTurns),
    ),
    "compare": called(
        jingwei.compare, anything(BuildReport), anything(BuildReport), anything(jingwei.CachePrices)
    ),
    "condense_then_drop": called(
        lambda keep, batch, policy: jingwei.condense_then_drop(
            keep_newest=keep, batch_turns=batch, policy=policy
        ),
        anything(int),
        anything(int),
        anything(jingwei.PreviewPolicy),
    ),
    "decode_events": called(jingwei.decode_events, st.lists(any_bytes(), max_size=3)),
    "decode_log": called(jingwei.decode_log, any_bytes()),
    "decode_projection": called(jingwei.decode_projection, any_bytes()),
    "decode_report": called(jingwei.decode_report, any_bytes()),
    "decode_request": called(jingwei.decode_request, any_bytes()),
    "decode_response": called(jingwei.decode_response, any_bytes()),
    "diagnose": called(jingwei.diagnose, anything(SessionId), any_log(), anything(ProjectionConfig)),
    "encode_event": called(jingwei.encode_event, anything(SessionEvent)),
    "encode_log": called(jingwei.encode_log, st.lists(anything(SessionEvent), max_size=3)),
    "encode_projection": called(jingwei.encode_projection, any_history()),
    "encode_report": called(jingwei.encode_report, anything(BuildReport)),
    "encode_request": called(jingwei.encode_request, anything(GenerationRequest)),
    "encode_response": called(jingwei.encode_response, anything(GenerationResponse)),
    "initial_state": called(jingwei.initial_state, anything(SessionId), anything(ProjectionConfig)),
    "json_of": called(jingwei.json_of, python_values()),
    "parse_json": called(jingwei.parse_json, anything(str) | some.json_values().map(json.dumps)),
    "project": called(jingwei.project, anything(SessionId), any_log(), anything(ProjectionConfig)),
    "report_changes": called(
        jingwei.report_changes,
        anything(BuildReport),
        anything(GenerationRequest),
        anything(ContextTarget),
        anything(ContextBudget),
    ),
    "resume_writer": called(
        jingwei.resume_writer, anything(SessionId), any_log(), st.sampled_from(jingwei.EarlierTurns)
    ),
    "reverify": called(
        jingwei.reverify, any_built(), anything(ContextTarget), any_counter(), anything(ContextBudget)
    ),
    "session_log": called(jingwei.session_log, st.lists(anything(SessionEvent), max_size=3)),
    "simulate": called(
        jingwei.simulate,
        anything(SessionId),
        any_log(),
        anything(jingwei.SimulationInputs),
        anything(ByteHeuristicCounter),
        st.just((jingwei.OLDEST_TURN_FIRST, jingwei.CondenseThenDrop())),
    ),
    "split_open_turn": called(jingwei.split_open_turn, any_history()),
    "stable_prefix": called(
        lambda high, low, costs: jingwei.stable_prefix(high=high, low=low, costs=costs),
        anything(int),
        st.none() | anything(int),
        anything(ByteHeuristicCounter),
    ),
    "start_view": _viewed,
    "start_writer": _written,
    "summaries": called(
        jingwei.summaries,
        st.lists(anything(jingwei.SimulatedCall), max_size=3),
        anything(jingwei.CachePrices),
    ),
    **ROOMS,
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
