"""Previews of large results, and the strategy that makes them (R4 with the sizes of T2 and T3, R6).

The naive side reads messages with the standard library and knows nothing of records or of the log.
"""

import json
from collections.abc import Iterable, Sequence
from typing import final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.events.records import (
    AssistantReply,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolFailureCategory,
    ToolOutcome,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.wire import outcome_text, session_log
from jingwei.ids import MessageId, ProviderCallId, ToolCallId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    ModelMessage,
    ModelToolCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import messages_failure
from jingwei.messages.wire import message_bytes
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.project import project
from jingwei.projection.records import ProjectedTurn, Projection
from jingwei.report.failures import BuildFailure, DoesNotFit
from jingwei.report.records import BuildReport, ReductionKind
from jingwei.report.wire import decode_report, encode_report
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter, TokenCounter
from jingwei.results.recorded import prefix_of, recorded_outcome
from jingwei.selection.condense import condensed_exchange, condensed_turn
from jingwei.selection.condense_then_drop import CondenseThenDrop
from jingwei.selection.exchanges import exchanges_of
from jingwei.selection.records import Condensed, Exchange, PreviewPolicy
from jingwei.selection.search import Search
from jingwei.selection.strategies import OLDEST_TURN_FIRST, Strategy
from jingwei.testing import strategies
from properties.build_models import PerMessage, Spy, inputs_of, json_bytes, message_object, naive_total

# --- what is drawn --------------------------------------------------------------------------------


def long_texts() -> st.SearchStrategy[str]:
    """Texts around the sizes that policies here call large, of one to four bytes a character."""
    repeated = st.builds(lambda text, times: (text or "字") * times, strategies.texts(), st.integers(20, 250))
    return repeated | repeated | strategies.texts()


def outcomes() -> st.SearchStrategy[ToolOutcome]:
    """Outcomes with such texts."""
    failed = st.builds(
        ToolFailed,
        category=st.sampled_from(ToolFailureCategory),
        code=strategies.texts(4),
        message=long_texts(),
        retryable=st.booleans(),
    )
    return st.builds(ToolSucceeded, output=long_texts()) | failed


def large_outcomes() -> st.SearchStrategy[ToolOutcome]:
    """Successes that nearly every policy here shortens, of characters that grow when they are written."""
    text = st.builds(lambda char, times: char * times, st.sampled_from('x字"\\\n🙂'), st.integers(250, 600))
    return st.builds(ToolSucceeded, output=text)


@st.composite
def policies(draw: st.DrawFn) -> PreviewPolicy:
    """Policies that pass the door."""
    inline = draw(st.sampled_from((16, 64, 256)) | st.integers(1, 300))
    return PreviewPolicy(inline_bytes=inline, preview_bytes=min(inline, draw(st.integers(1, 40))))


def histories(min_turns: int = 0, max_turns: int = 6) -> st.SearchStrategy[Projection]:
    """Turns of talk, each with the outcomes of its tools; None for a turn without messages."""
    large = st.lists(large_outcomes(), min_size=1, max_size=2)
    turn = st.none() | st.lists(outcomes(), max_size=3) | large | large
    return st.lists(turn, min_size=min_turns, max_size=max_turns).map(history_with)


def history_with(turns: Sequence[Sequence[ToolOutcome] | None]) -> Projection:
    """A projection of closed turns; results come in the reverse order of the calls."""
    steps = [(f"t{i}", step) for i, turn in enumerate(turns) for step in _steps(i, turn)]
    outcome = project(strategies.SESSION, session_log(strategies.placed(steps)))
    assert isinstance(outcome, Success), outcome
    return outcome.unwrap()


def _steps(i: int, turn: Sequence[ToolOutcome] | None) -> list[strategies.Step]:
    step = strategies.Step
    if turn is None:
        return [step(ErrorEvent(code="c", message="m", retryable=False))]
    ids = [ToolCallId(f"c{n}") for n in range(len(turn))]
    return [
        step(UserMessageEvent(text=f"user {i}")),
        *(step(ToolCallEvent(call=ToolCall(id=id_, name="look", arguments=Json("{}")))) for id_ in ids),
        *(
            step(ToolResultEvent(result=ToolResult(call_id=id_, outcome=outcome)))
            for id_, outcome in reversed(list(zip(ids, turn, strict=True)))
        ),
        step(AssistantReply(text=f"reply {i}"), MessageId(f"r{i}")),
        step(DoneEvent(status=DoneStatus.COMPLETED)),
    ]


@st.composite
def currents(draw: st.DrawFn, max_groups: int = 5) -> tuple[ModelMessage, ...]:
    """A running turn: a user message, tool groups, and now and then words between them."""
    messages: list[ModelMessage] = [UserMessage(content="and now?")]
    for n in range(draw(st.integers(0, max_groups))):
        size = draw(st.integers(1, 2))
        contents = draw(
            st.sampled_from((large_outcomes().map(outcome_text), outcomes().map(outcome_text), long_texts()))
        )
        ids = [ProviderCallId(f"g{n}-{i}") for i in range(size)]
        calls = tuple(ModelToolCall(id=id_, name="look", arguments=Json("{}")) for id_ in ids)
        results = [ToolMessage(call_id=id_, content=draw(contents)) for id_ in ids]
        messages += [AssistantMessage(content=None, tool_calls=calls), *draw(st.permutations(results))]
        if draw(st.booleans()):
            messages.append(AssistantMessage(content=f"so far {n}"))
    return tuple(messages)


# --- the naive side -------------------------------------------------------------------------------


def naive_preview(
    message: dict[str, object], policy: PreviewPolicy, reference: dict[str, str]
) -> dict[str, object] | None:
    """The same message with a preview; None where it stays as it is. All by the standard library."""
    content = message.get("content")
    if message["role"] != "tool" or not isinstance(content, str):
        return None
    try:
        found = json.loads(content)
    except ValueError:
        return None
    spoken = {"succeeded": "output", "failed": "message"}
    if not isinstance(found, dict) or found.get("status") not in spoken or _compact(found) != content:
        return None
    key = spoken[found["status"]]
    text = found.get(key)
    if not isinstance(text, str) or len(text.encode()) <= policy.inline_bytes:
        return None
    kept = next(text[:n] for n in range(len(text), -1, -1) if len(text[:n].encode()) <= policy.preview_bytes)
    ended = {name: value for name, value in found.items() if name != key}
    shown = {"preview": kept, "truncated": True, "total_bytes": len(text.encode()), "reference": reference}
    smaller = {**message, "content": _compact({**ended, **shown})}
    return smaller if json_bytes(smaller) < json_bytes(message) else None


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def naive_turn(turn: ProjectedTurn, policy: PreviewPolicy, session: str) -> list[dict[str, object]] | None:
    """A turn's messages with previews; None where there are none."""
    found, changed = list[dict[str, object]](), False
    for group in turn.groups:
        for message in group.messages:
            plain = message_object(message)
            reference = {"session_id": session, "event_id": str(group.source_events[-1])}
            shown = naive_preview(plain, policy, reference)
            found.append(plain if shown is None else shown)
            changed = changed or shown is not None
    return found if changed else None


def naive_group(messages: Iterable[ModelMessage], policy: PreviewPolicy) -> list[dict[str, object]] | None:
    """A tool group's messages with previews; None where there are none."""
    before = [message_object(message) for message in messages]
    shown = [naive_preview(one, policy, {"call_id": str(one.get("call_id"))}) for one in before]
    if not any(shown):
        return None
    return [old if new is None else new for old, new in zip(before, shown, strict=True)]


def objects(messages: Iterable[ModelMessage]) -> list[dict[str, object]]:
    return [message_object(message) for message in messages]


def shown_in(found: Condensed | None) -> list[dict[str, object]] | None:
    return None if found is None else objects(found.messages)


# --- previews -------------------------------------------------------------------------------------


class TestPreviews:
    """A preview replaces the text of a large recorded outcome and nothing else: role, call id, status,
    category, code and retry stay, the text becomes its own beginning, and the place of the whole is named."""

    @given(histories(), policies())
    def test_a_turn_is_condensed_as_the_naive_reading_says(
        self, history: Projection, policy: PreviewPolicy
    ) -> None:
        for turn in history.turns:
            found = condensed_turn(turn, policy, history.session_id)

            assert naive_turn(turn, policy, history.session_id) == shown_in(found)

    @given(currents(), policies())
    def test_an_exchange_is_condensed_as_the_naive_reading_says(
        self, current: tuple[ModelMessage, ...], policy: PreviewPolicy
    ) -> None:
        for exchange in exchanges_of(current):
            assert naive_group(exchange.messages, policy) == shown_in(condensed_exchange(exchange, policy))

    @given(outcomes(), policies())
    def test_how_a_tool_ended_is_never_changed(self, outcome: ToolOutcome, policy: PreviewPolicy) -> None:
        """T2: status, category and code, and with them role and call id."""
        before = ToolMessage(call_id=ProviderCallId("c"), content=outcome_text(outcome))
        found = condensed_exchange(_alone(before), policy)
        if found is None:
            return
        (after,) = found.messages
        assert isinstance(after, ToolMessage)
        old, new = json.loads(before.content), json.loads(after.content)

        assert before.call_id == after.call_id
        for key in ("status", "category", "code", "retryable"):
            assert (key in old, old.get(key)) == (key in new, new.get(key))

    @given(outcomes(), policies())
    def test_a_preview_is_the_longest_beginning_in_whole_characters(
        self, outcome: ToolOutcome, policy: PreviewPolicy
    ) -> None:
        """T3: not a character more would fit, and what it says of the whole is true."""
        content = outcome_text(outcome)
        found = condensed_exchange(_alone(ToolMessage(call_id=ProviderCallId("c"), content=content)), policy)
        if found is None:
            return
        (after,) = found.messages
        assert isinstance(after, ToolMessage)
        new = json.loads(after.content)
        text = outcome.output if isinstance(outcome, ToolSucceeded) else outcome.message
        preview = new["preview"]

        assert text.startswith(preview)
        assert len(preview.encode()) <= policy.preview_bytes
        assert len(text[: len(preview) + 1].encode()) > policy.preview_bytes
        assert len(text.encode()) == new["total_bytes"] > policy.inline_bytes
        assert new["truncated"] is True

    @given(long_texts(), st.integers(-2, 300))
    def test_a_preview_of_any_text_is_a_beginning_of_it(self, text: str, size: int) -> None:
        preview = prefix_of(text, size)

        assert text.startswith(preview)
        assert len(preview.encode()) <= max(size, 0)
        assert preview == text or len(text[: len(preview) + 1].encode()) > size

    @given(currents(), policies())
    def test_shape_and_sizes_hold(self, current: tuple[ModelMessage, ...], policy: PreviewPolicy) -> None:
        """The shape rules see no difference, fewer bytes are told exactly, and nothing is condensed twice."""
        for exchange in exchanges_of(current):
            found = condensed_exchange(exchange, policy)
            if found is None:
                continue

            assert messages_failure(exchange.messages) == messages_failure(found.messages)
            assert sum(map(message_bytes, found.messages)) == found.canonical_bytes
            assert found.canonical_bytes < exchange.canonical_bytes
            changed = sum(old != new for old, new in zip(exchange.messages, found.messages, strict=True))
            assert changed == found.results >= 1
            again = attrs.evolve(exchange, messages=found.messages, canonical_bytes=found.canonical_bytes)
            assert condensed_exchange(again, policy) is None

    @given(outcomes())
    def test_an_outcome_is_known_by_its_text(self, outcome: ToolOutcome) -> None:
        assert outcome == recorded_outcome(outcome_text(outcome))

    @given(st.data())
    def test_a_text_that_is_taken_for_an_outcome_is_its_text(self, data: st.DataObject) -> None:
        """With members changed, left out, added or put elsewhere."""
        members = list(json.loads(outcome_text(data.draw(outcomes()))).items())
        place = data.draw(st.integers(0, len(members)))
        extra = data.draw(st.tuples(strategies.names(), strategies.json_values(2)))
        other = [(name, extra[1]) for name, _ in members[place : place + 1]]
        changed = [
            [*members[:place], extra, *members[place:]],
            [*members[:place], *members[place + 1 :]],
            [*members[:place], *reversed(members[place:])],
            [*members[:place], *other, *members[place + 1 :]],
        ]
        content = _compact(dict(data.draw(st.sampled_from(changed))))
        found = recorded_outcome(content)

        assert found is None or outcome_text(found) == content

    @given(currents(), st.data())
    def test_exchanges_are_the_finished_groups(
        self, current: tuple[ModelMessage, ...], data: st.DataObject
    ) -> None:
        """Cut off anywhere, what is found is what was whole before the cut."""
        whole = exchanges_of(current)
        cut = data.draw(st.integers(0, len(current)))
        expected = [one for one in whole if one.place + len(one.messages) <= cut]

        assert expected == list(exchanges_of(current[:cut]))
        assert [one.index for one in whole] == list(range(len(whole)))
        assert naive_groups(current) == [(one.place, list(one.messages)) for one in whole]
        for one in whole:
            assert sum(map(message_bytes, one.messages)) == one.canonical_bytes


def _alone(message: ModelMessage) -> Exchange:
    return Exchange(index=0, place=1, messages=(message,), canonical_bytes=message_bytes(message))


# --- the strategy, naively ------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class Case:
    """A build that may condense: everything that the naive builder needs to know."""

    history: Projection
    inputs: BuildInputs
    counter: TokenCounter
    strategy: CondenseThenDrop


@final
@attrs.frozen(kw_only=True)
class NaiveFit:
    """The first k that fits, and what then stands of each turn and each group of current."""

    steps: int
    request: GenerationRequest
    turns: tuple[ReductionKind | None, ...]
    groups: tuple[ReductionKind | None, ...]


def naive_cost(messages: Iterable[ModelMessage], counter: TokenCounter) -> int:
    """What R4 compares."""
    if isinstance(counter, AdditiveCounter):
        return sum(counter.message_cost(message) for message in messages)
    return sum(json_bytes(message_object(message)) for message in messages)


def naive_shorter(
    messages: Sequence[ModelMessage], shown: list[dict[str, object]] | None, counter: TokenCounter
) -> list[ModelMessage] | None:
    """The condensed messages as records, where they are admitted."""
    if shown is None:
        return None
    short = [
        ToolMessage(call_id=ProviderCallId(str(one["call_id"])), content=str(one["content"]))
        if one["role"] == "tool"
        else message
        for message, one in zip(messages, shown, strict=True)
    ]
    return short if naive_cost(short, counter) < naive_cost(messages, counter) else None


@final
class NaiveCondensing:
    """The strategy and the build, step by step, by lists."""

    def __init__(self, case: Case) -> None:
        self.case = case
        policy, pinned = case.strategy.policy, case.inputs.pinned_turns
        self.turns = [list(turn.messages) for turn in case.history.turns]
        self.groups = naive_groups(case.inputs.current) if case.inputs.reduce_current else []
        speaking = [i for i, messages in enumerate(self.turns) if messages]
        newest = speaking[len(speaking) - case.strategy.keep_newest :] if case.strategy.keep_newest else []
        self.free = [i for i in speaking if case.history.turns[i].turn_id not in pinned]
        self.short_turns = {
            i: short
            for i in self.free
            if i not in newest
            and (
                short := naive_shorter(
                    self.turns[i],
                    naive_turn(case.history.turns[i], policy, case.history.session_id),
                    case.counter,
                )
            )
        }
        self.short_groups = {
            i: short
            for i, (_, group) in enumerate(self.groups[:-1])
            if (short := naive_shorter(group, naive_group(group, policy), case.counter))
        }

    def plan(self) -> list[list[tuple[str, str, int]]]:
        """Steps of (what, to what, which)."""
        large, size = list(self.short_turns), self.case.strategy.batch_turns
        batches = [large[at : at + size] for at in range(0, len(large), size)]
        steps = [[("condense", "turn", i) for i in batch] for batch in batches]
        steps += [[("drop", "turn", i)] for i in self.free]
        steps += [[("condense", "group", i)] for i in self.short_groups]
        return steps + [[("drop", "group", i)] for i in range(len(self.groups) - 1)]

    def request(self, steps: int) -> GenerationRequest:
        """What stands after so many steps."""
        done = {part for step in self.plan()[:steps] for part in step}
        messages: list[ModelMessage] = [SystemMessage(content=text) for text in self.case.inputs.system]
        for i, turn in enumerate(self.turns):
            messages += shown_after(done, "turn", i, turn, self.short_turns)
        current, at = self.case.inputs.current, 0
        for i, (place, group) in enumerate(self.groups):
            messages += current[at:place]
            messages += shown_after(done, "group", i, group, self.short_groups)
            at = place + len(group)
        messages += current[at:]
        return GenerationRequest(messages=tuple(messages), constraint=self.case.inputs.constraint)

    def fit(self) -> NaiveFit | None:
        """The fewest steps that fit, by walking."""
        budget = self.case.inputs.budget
        for steps in range(len(self.plan()) + 1):
            request = self.request(steps)
            answer = self.case.counter.count(self.case.inputs.target, request).unwrap()
            if answer.tokens.total + budget.output_reserve + budget.safety_margin <= budget.window_tokens:
                done = {part for step in self.plan()[:steps] for part in step}
                turns = tuple(kind_after(done, "turn", i) for i in range(len(self.turns)))
                groups = tuple(kind_after(done, "group", i) for i in range(len(self.groups)))
                return NaiveFit(steps=steps, request=request, turns=turns, groups=groups)
        return None


def shown_after(
    done: set[tuple[str, str, int]],
    what: str,
    which: int,
    whole: Sequence[ModelMessage],
    short: dict[int, list[ModelMessage]],
) -> Sequence[ModelMessage]:
    kind = kind_after(done, what, which)
    if kind is ReductionKind.DROPPED:
        return ()
    return whole if kind is None else short[which]


def kind_after(done: set[tuple[str, str, int]], what: str, which: int) -> ReductionKind | None:
    if ("drop", what, which) in done:
        return ReductionKind.DROPPED
    return ReductionKind.CONDENSED if ("condense", what, which) in done else None


def naive_groups(current: Sequence[ModelMessage]) -> list[tuple[int, list[ModelMessage]]]:
    """Tool groups of a well-shaped current: where each starts, and its messages."""
    found = list[tuple[int, list[ModelMessage]]]()
    for place, message in enumerate(current):
        if isinstance(message, AssistantMessage) and message.tool_calls:
            found.append((place, list(current[place : place + 1 + len(message.tool_calls)])))
    return found


@st.composite
def cases(draw: st.DrawFn, additive: bool = False, running: bool = False) -> Case:
    """Builds with their window at the edge of some step; `running` asks for a running turn alone."""
    history = history_with([]) if running else draw(histories() | histories(min_turns=4))
    ids = [turn.turn_id for turn in history.turns]
    pinned = draw(st.lists(st.sampled_from(ids), unique=True, max_size=2)) if ids else []
    counters = st.just(ByteHeuristicCounter()) | st.builds(PerMessage, st.integers(0, 9), st.integers(1, 3))
    counter: TokenCounter = draw(counters)
    if not additive and draw(st.booleans()):
        counter = Spy(counter)
    strategy = CondenseThenDrop(
        keep_newest=draw(st.integers(0, 2)), batch_turns=draw(st.integers(1, 3)), policy=draw(policies())
    )
    inputs = attrs.evolve(
        inputs_of(1, pinned=pinned), current=draw(currents()), reduce_current=running or draw(st.booleans())
    )
    case = Case(history=history, inputs=inputs, counter=counter, strategy=strategy)
    naive = NaiveCondensing(case)
    request = naive.request(draw(st.integers(0, len(naive.plan()))))
    needed = naive_total(counter.count(inputs.target, request).unwrap()) + inputs.budget.output_reserve
    window = max(1, needed - draw(st.integers(0, 1)))
    budget = attrs.evolve(inputs.budget, window_tokens=window)
    return attrs.evolve(case, inputs=attrs.evolve(inputs, budget=budget))


def built_from(case: Case, search: Search) -> Outcome[BuiltContext, BuildFailure]:
    return build(case.history, case.inputs, case.counter, strategy=case.strategy, search=search)


def reductions_in(report: BuildReport) -> tuple[tuple[ReductionKind | None, ...], ...]:
    """What the report says of each turn, and of each exchange of current."""
    turns = tuple(row.reduction for row in report.turns.rows)
    return turns, tuple(row.reduction for row in report.exchanges or ())


class TestCondensingBuilds:
    """`condense_then_drop` builds what the naive strategy and builder do: previews in batches, oldest first,
    never in the newest turns, before any turn is dropped; groups of the running turn last, and never its
    last one."""

    @given(cases())
    def test_the_first_step_that_fits_is_the_naive_one(self, case: Case) -> None:
        expected, outcome = NaiveCondensing(case).fit(), built_from(case, Search.LINEAR)
        if expected is None:
            assert isinstance(outcome, Failure)
            assert isinstance(outcome.failure(), DoesNotFit)
            return
        assert isinstance(outcome, Success), outcome
        built = outcome.unwrap()

        assert expected.request == built.request
        assert expected.steps == built.report.attempts[-1].plan_steps
        assert (expected.turns, expected.groups) == reductions_in(built.report)

    @given(cases(running=True))
    def test_groups_of_the_running_turn_are_shortened_as_the_naive_builder_does(self, case: Case) -> None:
        expected, outcome = NaiveCondensing(case).fit(), built_from(case, Search.LINEAR)

        assert (None if expected is None else expected.request) == outcome.map(
            lambda built: built.request
        ).value_or(None)

    @given(cases(additive=True))
    def test_the_searches_agree(self, case: Case) -> None:
        linear, bisected = built_from(case, Search.LINEAR), built_from(case, Search.BISECT)

        assert isinstance(linear, Success) is isinstance(bisected, Success)
        if isinstance(linear, Success) and isinstance(bisected, Success):
            assert linear.unwrap().request == bisected.unwrap().request
            assert reductions_in(linear.unwrap().report) == reductions_in(bisected.unwrap().report)

    @given(cases())
    def test_what_was_sent_counts_as_told_and_is_well_shaped(self, case: Case) -> None:
        outcome = built_from(case, Search.AUTO)
        if isinstance(outcome, Failure):
            return
        built = outcome.unwrap()
        again = case.counter.count(case.inputs.target, built.request).unwrap()

        assert built.report.attempts[-1].count == again
        assert built.report.attempts[-1].total_reserved <= case.inputs.budget.window_tokens
        assert None is messages_failure(built.request.messages)
        assert built.report == decode_report(encode_report(built.report).unwrap()).unwrap()

    @given(cases())
    def test_nothing_is_lost_between_kept_condensed_and_dropped(self, case: Case) -> None:
        """What stands after the system texts is turn by turn whole, condensed as told, or absent."""
        outcome = built_from(case, Search.AUTO)
        if isinstance(outcome, Failure):
            return
        built, naive = outcome.unwrap(), NaiveCondensing(case)
        turns, groups = reductions_in(built.report)
        stood = len(case.inputs.system)
        for i, kind in enumerate(turns):
            whole, short = naive.turns[i], naive.short_turns.get(i)
            expected = {None: whole, ReductionKind.CONDENSED: short, ReductionKind.DROPPED: []}[kind]
            assert expected is not None
            assert expected == list(built.request.messages[stood : stood + len(expected)])
            stood += len(expected)
        dropped = sum(
            len(group)
            for (_, group), kind in zip(naive.groups, groups, strict=True)
            if kind is ReductionKind.DROPPED
        )

        assert len(built.request.messages) - stood == len(case.inputs.current) - dropped
        assert groups[-1:] in ((), (None,))

    @given(cases())
    def test_no_turn_is_dropped_while_an_old_result_stands_in_full(self, case: Case) -> None:
        outcome = built_from(case, Search.AUTO)
        if isinstance(outcome, Failure):
            return
        turns, groups = reductions_in(outcome.unwrap().report)
        naive = NaiveCondensing(case)

        if ReductionKind.DROPPED in turns or any(groups):
            assert all(turns[i] is not None for i in naive.short_turns)
        if any(groups):
            assert all(turns[i] is ReductionKind.DROPPED for i in naive.free)
        if ReductionKind.DROPPED in groups:
            assert all(groups[i] is not None for i in naive.short_groups)

    @pytest.mark.parametrize("strategy", [OLDEST_TURN_FIRST, CondenseThenDrop()], ids=lambda one: one.name)
    @pytest.mark.parametrize("size", [100, 20_000])
    def test_sixty_tool_steps_and_room_for_twenty_build(self, strategy: Strategy, size: int) -> None:
        """R6, where the host asked for it; else the running turn is kept whole, and does not fit."""
        counter, current = ByteHeuristicCounter(), list[ModelMessage]([UserMessage(content="go")])
        for i in range(60):
            call = ModelToolCall(id=ProviderCallId(f"c{i}"), name="look", arguments=Json("{}"))
            content = outcome_text(ToolSucceeded(output=f"{i} " + "x" * size))
            current += [
                AssistantMessage(content=None, tool_calls=(call,)),
                ToolMessage(call_id=call.id, content=content),
            ]
        room = sum(map(counter.message_cost, current[:41])) + 200
        inputs = attrs.evolve(inputs_of(room), current=tuple(current))
        history = history_with([[ToolSucceeded(output="old")]] * 3)
        opted = attrs.evolve(inputs, reduce_current=True)
        outcome = build(history, opted, counter, strategy=strategy)

        assert isinstance(build(history, inputs, counter, strategy=strategy), Failure)
        assert isinstance(outcome, Success), outcome
        messages = outcome.unwrap().request.messages
        assert messages[2] == current[0]
        assert messages[-2:] == tuple(current[-2:])
        kept = [m.tool_calls[0].id for m in messages if isinstance(m, AssistantMessage) and m.tool_calls]
        assert kept == [f"c{i}" for i in range(60 - len(kept), 60)]
        assert len(kept) >= 19
