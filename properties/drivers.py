"""How the public functions of the rooms beside the history are driven; see `TestTotality`."""

import json
import typing
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar, final

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import jingwei
from jingwei.ids import EventId, TurnId
from jingwei.messages.records import ModelMessage
from jingwei.outcome import Failure, Success
from jingwei.projection.records import LegacyReplies, ProjectionConfig
from jingwei.report.records import BuildReport
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget, TokenCount
from jingwei.testing import strategies as some
from jingwei.testing.strategies import SESSION
from properties.anything import (
    AdditiveLiar,
    Driver,
    Liar,
    any_bytes,
    any_counter,
    any_history,
    any_log,
    anything,
    called,
    events_of,
)
from properties.build_models import TARGET, worlds
from properties.compose_models import CURRENT
from properties.compose_models import worlds as composing

_Drawn = TypeVar("_Drawn")

OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)


@final
@attrs.frozen
class Fixed:
    """Answers one thing whatever it is asked: as a condenser, a selector of tools, a chooser of results."""

    answer: object
    name: str = "fixed-v1"

    def condense(self, text: str, limits: jingwei.CondenseLimits) -> Any:
        return self.answer

    def select(self, authorised: tuple[jingwei.ToolDefinition, ...]) -> Any:
        return self.answer

    def choose(self, name: str, outcome: jingwei.ToolOutcome) -> Any:
        return self.answer


def any_condenser() -> SearchStrategy[Any]:
    """jingwei's own, and such as answer anything."""
    answers = st.one_of(
        anything(jingwei.CondensedText).map(Success), anything(jingwei.CondenseFailure).map(Failure)
    )
    own = st.sampled_from(jingwei.available_condensers().condensers)
    return own | st.builds(Fixed, answers, anything(str))


def any_text() -> SearchStrategy[str]:
    """Odd texts, JSON, and lines of what condensers read, many of them over again."""
    lines = st.sampled_from(
        (
            "2024-01-01 10:00:00 ERROR db: timeout after 30 s",
            "<p>a <b>b</b></p><table><tr><td>1",
            "@@ -1,2 +1,2 @@",
            "--- a/x",
            "+++ b/x",
            "-old",
            "+new",
            '{"id":1,"ok":true}',
            "a,b,c",
            "1,2,3",
            "# heading",
            "def f(x):",
            'Traceback (most recent call last):\n  File "x.py", line 1, in f\nValueError: no',
            "\ud800",
            "",
        )
    )
    long = st.lists(lines, max_size=6).flatmap(lambda some: st.integers(0, 60).map(_repeated(some)))
    return st.one_of(anything(str), long, some.json_values().map(json.dumps))


def _repeated(lines: Sequence[str]) -> Callable[[int], str]:
    return lambda times: "\n".join([*lines] * times)


def any_costs() -> SearchStrategy[Any]:
    """Costs of an additive counter, jingwei's own or a liar's."""
    liars = st.builds(Liar, anything(TokenCount).map(lambda one: (one,)), st.booleans())
    costs = st.lists(anything(int), min_size=1, max_size=2).map(tuple)
    return anything(ByteHeuristicCounter) | st.builds(AdditiveLiar, liars, costs)


def any_options() -> SearchStrategy[jingwei.ComposeOptions]:
    """Options of any values, their condensers too."""
    hints = typing.get_type_hints(jingwei.ComposeOptions)
    drawn = {name: anything(hint) for name, hint in hints.items() if name != "condensers"}
    condensers = st.none() | st.lists(any_condenser(), max_size=2).map(tuple)
    return st.builds(jingwei.ComposeOptions, **drawn, condensers=condensers)


def odd_part(good: SearchStrategy[_Drawn], cls: type[_Drawn]) -> SearchStrategy[_Drawn]:
    """A good record of which at most one attribute is odd, or an odd record."""
    hints = typing.get_type_hints(cls)

    @st.composite
    def drawn(draw: DrawFn) -> _Drawn:
        record = draw(good)
        name = draw(st.sampled_from([None, *hints]))
        if name is None:
            return record
        return attrs.evolve(record, **{name: draw(anything(hints[name]))})  # type: ignore[misc]  # attrs

    return drawn() | anything(cls)


def any_items() -> SearchStrategy[list[jingwei.ContextItem]]:
    """Items that rules take, and items of which a part is odd."""
    good = some.context_items(3).filter(bool).map(lambda items: items[0])
    near = st.lists(odd_part(good, jingwei.ContextItem), max_size=3)
    return some.context_items(4).map(list) | near


def _sources(data: st.DataObject) -> jingwei.SummarySources:
    """Turns as `sources_of` gives them: there are no others."""
    log = data.draw(some.legal_logs(max_turns=3, legacy=True, open_last=True))
    projection = jingwei.project(SESSION, log, OMIT).unwrap()
    return jingwei.sources_of(projection, log).unwrap()


def _summaries(sources: jingwei.SummarySources) -> SearchStrategy[jingwei.Summary]:
    """Summaries of these turns of which a part is odd, and any others."""
    if not sources.turns:
        return anything(jingwei.Summary)
    first, last = sources.turns[0], sources.turns[-1]
    good = jingwei.Summary(
        summary_id=jingwei.SummaryId("s1"),
        session_id=sources.session_id,
        facts=(jingwei.Statement(text="a fact", source_events=first.events[:1]),),
        first_seq=first.first_seq,
        last_seq=last.last_seq,
        tail_event_id=last.events[-1] if last.events else EventId(""),
        turn_ids=tuple([turn.turn_id for turn in sources.turns]),
    )
    return odd_part(st.just(good), jingwei.Summary)


def _accepted(data: st.DataObject) -> None:
    """Whatever is proposed is accepted or refused; what is accepted has no refusals."""
    sources = _sources(data)
    some_summaries = _summaries(sources)
    proposed, others = data.draw(some_summaries), data.draw(st.lists(some_summaries, max_size=2))
    protected = data.draw(st.lists(anything(jingwei.Protected), max_size=2))
    costs = data.draw(st.none() | any_costs())
    refusals = jingwei.summary_refusals(proposed, sources, others, protected, costs)
    accepted = jingwei.accept_summary(proposed, sources, others, protected, costs)

    assert (refusals == ()) is isinstance(accepted, Success)


def _planned(data: st.DataObject) -> object:
    sources = _sources(data)
    summariser = jingwei.Summariser(
        target=data.draw(anything(ContextTarget)),
        budget=data.draw(anything(ContextBudget)),
        counter=data.draw(any_counter()),
        shape=data.draw(anything(jingwei.Standalone) | anything(jingwei.SharedPrefix)),
    )
    return jingwei.plan_summary(
        sources,
        data.draw(anything(jingwei.SummaryScope)),
        summariser,
        data.draw(st.lists(_summaries(sources), max_size=2)),
        data.draw(st.lists(anything(jingwei.Protected), max_size=2)),
    )


def any_task() -> SearchStrategy[jingwei.TaskState]:
    """Any state, now and then of the session of the drawn logs."""
    named = {"tenant_id": "a", "user_id": "b", "session_id": SESSION}
    return anything(jingwei.TaskState) | anything(jingwei.TaskState).map(
        lambda state: attrs.evolve(state, **named)
    )


def _composed(data: st.DataObject) -> None:
    """A request is composed, or not; what is said of it has a form on the wire, or half a surrogate."""
    world = data.draw(composing())
    history = data.draw(st.just(world.history) | any_history())
    outcome = jingwei.compose(
        data.draw(st.just(world.state) | any_task()),
        history,
        data.draw(st.just(world.memories) | anything(tuple[jingwei.RecalledMemory, ...])),
        data.draw(st.just(world.items) | any_items()),
        data.draw(st.just(TARGET) | anything(ContextTarget)),
        data.draw(st.just(world.budget) | anything(jingwei.TokenBudget)),
        data.draw(st.just(ByteHeuristicCounter()) | any_counter()),
        current=data.draw(st.just(CURRENT) | anything(tuple[ModelMessage, ...])),
        events=data.draw(st.just(()) | any_log().map(events_of)),
        options=data.draw(st.just(world.options) | any_options()),
    )
    if isinstance(outcome, Success):
        selection = outcome.unwrap().selection
        for origin in selection.origins:
            assert isinstance(jingwei.why(selection, origin.item_id), Success)
        assert isinstance(jingwei.encode_selection(selection), Success | Failure)


def _advised(data: st.DataObject) -> object:
    """Of the history that the report speaks of, and of another."""
    world = data.draw(worlds())
    outcome = jingwei.build(world.history, world.inputs, world.counter())
    report = outcome.unwrap().report if isinstance(outcome, Success) else data.draw(anything(BuildReport))
    return jingwei.advise(
        data.draw(st.just(world.history) | any_history()),
        data.draw(st.just(report) | anything(BuildReport)),
        data.draw(any_costs()),
        data.draw(anything(jingwei.Observed)),
        data.draw(st.just(jingwei.DEFAULT_TRIGGERS) | anything(jingwei.Triggers)),
    )


def _noted(data: st.DataObject) -> object:
    """A selection report of stages that need not belong together."""
    stages = [
        data.draw(anything(cls))
        for cls in (
            jingwei.Gathered,
            jingwei.Deduplicated,
            jingwei.Resolved,
            jingwei.CondensedItems,
            BuildReport,
        )
    ]
    return jingwei.selection_report(*stages)


def any_policy() -> SearchStrategy[jingwei.ResultPolicy]:
    return st.just(jingwei.ResultPolicy()) | anything(jingwei.ResultPolicy)


def any_chooser() -> SearchStrategy[Any]:
    return st.none() | st.builds(Fixed, anything(jingwei.ResultChoice))


def any_rendering() -> SearchStrategy[jingwei.Rendering]:
    """Views that need not belong to the history that they are held against."""
    good = st.builds(jingwei.Rendering, rendition=st.sampled_from(jingwei.ViewRendition))
    return good | anything(jingwei.Rendering)


def _shown(data: st.DataObject) -> None:
    """A result has a view or none; what is recorded of one is read again as it was."""
    outcome = jingwei.view_result(
        data.draw(anything(jingwei.ToolOutcome)),
        call_seq=data.draw(anything(int)),
        name=data.draw(anything(str)),
        source_event=data.draw(anything(EventId)),
        policy=data.draw(any_policy()),
        chooser=data.draw(any_chooser()),
    )
    if isinstance(outcome, Success):
        view = outcome.unwrap().view
        recording = jingwei.SessionEvent(
            event_id=EventId("e"),
            session_id=SESSION,
            turn_id=TurnId("t"),
            seq=0,
            kind=jingwei.view_event(view),
        )
        read = jingwei.recorded_views([recording]).unwrap()
        assert (view,) == tuple([one.view for _, one in read.by_source.items()])


def _number() -> SearchStrategy[Any]:
    return anything(int) | st.floats() | anything(Fraction)


def _in_words(function: Callable[..., object], **arguments: SearchStrategy[Any]) -> Driver:
    """The same as `_called` for what is named."""
    return lambda data: function(**{name: data.draw(one) for name, one in arguments.items()})


ROOMS: dict[str, Driver] = {
    "accept_summary": _accepted,
    "active_summaries": called(jingwei.active_summaries, st.lists(anything(jingwei.Summary), max_size=3)),
    "advise": _advised,
    "available_condensers": called(jingwei.available_condensers),
    "by_value": _in_words(
        jingwei.by_value,
        weights=anything(jingwei.Weights),
        quotas=anything(jingwei.Quotas),
        turn_worths=anything(tuple[tuple[TurnId, jingwei.TurnWorth], ...]),
        previous=anything(jingwei.SelectionState | None),
        moves=anything(int),
        policy=anything(jingwei.PreviewPolicy),
        max_tokens=anything(int | None),
    ),
    "checked": called(
        jingwei.checked, any_condenser(), any_text(), anything(jingwei.CondenseLimits), anything(str | None)
    ),
    "compose": _composed,
    "condense_items": called(
        lambda items, large, condensers: jingwei.condense_items(
            items, large_bytes=large, condensers=condensers
        ),
        any_items(),
        anything(int),
        st.none() | st.lists(any_condenser(), max_size=2),
    ),
    "condense_text": called(
        jingwei.condense_text,
        any_text(),
        st.just(jingwei.CondenseLimits()) | anything(jingwei.CondenseLimits),
        st.none() | st.lists(any_condenser(), max_size=2),
    ),
    "context_budget": called(jingwei.context_budget, anything(jingwei.TokenBudget)),
    "context_item": _in_words(
        jingwei.context_item,
        item_id=anything(jingwei.ItemId),
        kind=anything(jingwei.ItemKind),
        content=anything(str),
        source=anything(jingwei.ItemSource),
        token_cost=anything(int),
        priority=anything(int),
        relevance=_number(),
        freshness=_number(),
        trust=_number(),
        source_ref=anything(str | None),
        source_events=anything(tuple[EventId, ...]),
        subject=anything(str | None),
        seq=anything(int | None),
        short=anything(jingwei.ShortContent | None),
    ),
    "current_messages": called(
        jingwei.current_messages,
        anything(tuple[jingwei.ShownExchange, ...]),
        st.sampled_from(jingwei.ViewRendition),
    ),
    "decode_items": called(jingwei.decode_items, any_bytes()),
    "decode_summary": called(jingwei.decode_summary, any_bytes()),
    "decode_task_state": called(jingwei.decode_task_state, any_bytes()),
    "diff": called(jingwei.diff, anything(BuildReport), anything(BuildReport)),
    "drift": called(jingwei.drift, anything(jingwei.Summary), anything(jingwei.Summary)),
    "encode_items": called(jingwei.encode_items, any_items()),
    "encode_selection": called(jingwei.encode_selection, anything(jingwei.SelectionReport)),
    "encode_summary": called(jingwei.encode_summary, anything(jingwei.Summary)),
    "envelope_text": called(jingwei.envelope_text, anything(jingwei.ResultView)),
    "first_views": called(jingwei.first_views, any_history(), any_rendering(), any_chooser()),
    "gather": called(
        lambda state, events, memories, items, now, limit: jingwei.gather(
            state,
            events=events,
            memories=memories,
            items=items,
            now=now,
            event_limit=limit,
            memory_limit=limit,
        ),
        any_task(),
        any_log().map(events_of),
        anything(tuple[jingwei.RecalledMemory, ...]),
        any_items(),
        anything(int | None),
        anything(int),
    ),
    "is_condensed": called(jingwei.is_condensed, any_text()),
    "is_envelope": called(jingwei.is_envelope, any_text()),
    "item_failure": called(jingwei.item_failure, anything(jingwei.ContextItem)),
    "items_failure": called(jingwei.items_failure, any_items()),
    "plan_summary": _planned,
    "read_summary": called(jingwei.read_summary, any_text()),
    "recalled_items": called(
        lambda memories, state, now, limit: jingwei.recalled_items(memories, state, now, limit=limit),
        anything(tuple[jingwei.RecalledMemory, ...]),
        any_task(),
        anything(int | None),
        anything(int),
    ),
    "recent_event_items": called(
        lambda events, turns, limit: jingwei.recent_event_items(events, shown_turns=turns, limit=limit),
        any_log().map(events_of),
        anything(tuple[TurnId, ...]),
        anything(int),
    ),
    "recorded_views": called(jingwei.recorded_views, any_log().map(events_of)),
    "rendered": called(jingwei.rendered, anything(jingwei.CondensedText)),
    "resolve_conflicts": called(jingwei.resolve_conflicts, any_items()),
    "result_policy": _in_words(
        jingwei.result_policy,
        inline_bytes=anything(int),
        preview_bytes=anything(int),
        max_shown_bytes=anything(int),
    ),
    "retrieval_query": called(
        lambda state, limit: jingwei.retrieval_query(state, limit=limit), any_task(), anything(int)
    ),
    "select_items": called(
        jingwei.select_items,
        any_items(),
        anything(int),
        st.just(jingwei.DEFAULT_WEIGHTS) | anything(jingwei.Weights),
        st.just(jingwei.NO_QUOTAS) | anything(jingwei.Quotas),
        anything(jingwei.SelectionState | None),
        anything(int),
    ),
    "select_tool_view": called(
        jingwei.select_tool_view,
        anything(tuple[jingwei.ToolDefinition, ...]) | st.lists(some.tool_definitions(), max_size=3),
        anything(jingwei.GroupedToolSelector)
        | st.builds(Fixed, anything(tuple[str, ...]).map(Success))
        | st.builds(Fixed, anything(jingwei.SelectorFailure).map(Failure)),
        st.just(jingwei.DEFAULT_TOOL_LIMITS) | anything(jingwei.ToolViewLimits),
    ),
    "selection_report": _noted,
    "settle": called(
        lambda state, memories, items, events, options: jingwei.settle(
            state, memories, items, events=events, options=options
        ),
        any_task(),
        anything(tuple[jingwei.RecalledMemory, ...]),
        any_items(),
        any_log().map(events_of),
        any_options(),
    ),
    "shown_outcome": called(jingwei.shown_outcome, anything(jingwei.ToolOutcome)),
    "sources_of": called(jingwei.sources_of, any_history(), any_log()),
    "summaries_in": called(jingwei.summaries_in, any_log()),
    "summary_event": called(jingwei.summary_event, anything(jingwei.Summary)),
    "summary_of": called(
        jingwei.summary_of,
        anything(jingwei.SummaryDraft),
        anything(jingwei.SummaryChunk),
        anything(jingwei.SummaryId),
    ),
    "summary_refusals": _accepted,
    "summary_request": called(
        jingwei.summary_request,
        anything(jingwei.SummaryChunk),
        anything(jingwei.Standalone) | anything(jingwei.SharedPrefix),
    ),
    "token_budget": _in_words(
        jingwei.token_budget,
        window=anything(int),
        reserved_output=anything(int),
        reserved_tool_schema=anything(int),
        reserved_system=anything(int),
        reserved_retry=anything(int),
        safety_margin=anything(int),
    ),
    "view_event": called(jingwei.view_event, anything(jingwei.ResultView)),
    "view_result": _shown,
    "viewed_current": called(jingwei.viewed_current, anything(tuple[ModelMessage, ...]), any_rendering()),
    "viewed_history": called(jingwei.viewed_history, any_history(), any_rendering()),
    "weights": _in_words(
        jingwei.weights, priority=_number(), relevance=_number(), freshness=_number(), trust=_number()
    ),
    "why": called(jingwei.why, anything(jingwei.SelectionReport), anything(jingwei.ItemId)),
    "with_reference": called(
        jingwei.with_reference, anything(jingwei.ResultView), anything(jingwei.ContentRef)
    ),
    "without_duplicates": called(jingwei.without_duplicates, any_items()),
    "without_handle": called(jingwei.without_handle, anything(jingwei.ResultView)),
    "worth_of": called(
        jingwei.worth_of,
        anything(jingwei.ContextItem) | anything(jingwei.TurnWorth),
        anything(jingwei.Weights),
    ),
}
"""How each function of the rooms beside the history is driven."""
