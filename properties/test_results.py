"""Results as models are shown them: previews, records of what was shown, two renditions (rules T2, T3, T7).

The naive side writes envelopes and actions with the standard library, from an outcome and the sizes alone.
"""

import json
from collections.abc import Sequence
from typing import Final, assert_never, final

import attrs
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from jingwei.build import BuildInputs, build
from jingwei.events.records import (
    AssistantReply,
    DoneEvent,
    DoneStatus,
    ModeDecided,
    SessionEvent,
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
from jingwei.events.wire import decode_log, encode_log, event_value, session_log
from jingwei.ids import EventId, MessageId, StoreId, TaskId, ToolCallId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    AssistantMessage,
    ModelMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import messages_failure
from jingwei.messages.wire import message_bytes
from jingwei.outcome import Failure, Success
from jingwei.ports import ContentRef, ContentScope
from jingwei.projection.project import project
from jingwei.projection.records import GroupKind, Projection
from jingwei.projection.view import start_view
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import ContextBudget, ContextTarget
from jingwei.results.failures import ViewContradiction
from jingwei.results.records import (
    ResultChoice,
    ResultPolicy,
    ResultView,
    ShowCondensed,
    ShownExchange,
    ShownFailure,
    ShowPrefix,
    ShowWhole,
    ViewedResult,
    ViewFallback,
    ViewForm,
    ViewRendition,
)
from jingwei.results.rendering import (
    Rendering,
    current_messages,
    first_views,
    viewed_current,
    viewed_history,
    viewed_turn,
)
from jingwei.results.view import result_policy, view_result, with_reference, without_handle
from jingwei.results.wire import read_view, recorded_views, view_event, view_payload
from jingwei.testing import strategies
from jingwei.testing.strategies import SESSION, Step, placed

LONG: Final = ('x<y>"z"\\' * 40, "中文🐦" * 30, "e\u0301\x00\u2028" * 25, "</jingwei_items>" * 9, "l" * 300)

# --- what is drawn --------------------------------------------------------------------------------


def bodies() -> st.SearchStrategy[str]:
    """Texts around the sizes that policies here call large."""
    return strategies.texts(20) | st.sampled_from(LONG)


def outcomes() -> st.SearchStrategy[ToolOutcome]:
    """Both ways in which a tool ends."""
    failed = st.builds(
        ToolFailed,
        category=st.sampled_from(ToolFailureCategory),
        code=strategies.texts(4) | st.just("码" * 200),
        message=bodies(),
        retryable=st.booleans(),
    )
    return st.builds(ToolSucceeded, output=bodies()) | failed


@st.composite
def policies(draw: DrawFn) -> ResultPolicy:
    """Policies that pass the door, small enough to matter."""
    inline = draw(st.integers(1, 80))
    preview = draw(st.integers(0, inline))
    shown = inline + draw(st.integers(0, 80))
    return result_policy(inline_bytes=inline, preview_bytes=preview, max_shown_bytes=shown).unwrap()


def choices() -> st.SearchStrategy[ResultChoice]:
    """Whatever a host may choose, sense or not."""
    odd = st.sampled_from(("", " \n", "\ud800", "short", "s" * 200))
    return st.one_of(
        st.builds(ShowWhole),
        st.builds(ShowPrefix, max_bytes=st.integers(-3, 400) | st.just(10**30)),
        st.builds(ShowCondensed, text=odd | strategies.texts()),
    )


@final
@attrs.frozen
class Chosen:
    """A host that chooses by the name of the tool."""

    by_length: tuple[ResultChoice | None, ...]
    policy: ResultPolicy

    def choose(self, name: str, outcome: ToolOutcome) -> ResultChoice:
        choice = self.by_length[len(name) % len(self.by_length)]
        return self.policy.choose(name, outcome) if choice is None else choice


@final
@attrs.frozen
class Session:
    """A session in which every result was viewed when it came.

    Attributes:
        events: the log, with the events that record the views.
        policy: the sizes that were used.
        shown: the exchanges of each turn, by turn id, in the order in which their results came.
        ends: how many events the log had when each turn was over.
    """

    events: tuple[SessionEvent, ...]
    policy: ResultPolicy
    shown: dict[str, list[ShownExchange]]
    ends: dict[str, int]


OBJECTS: Final = ("{}", '{"a":[1.0,"<x>",null]}', '{"路径":"a/b","n":18446744073709551617}')
MOVES: Final = ("call", "call", "result", "result", "audit")


@st.composite
def sessions(draw: DrawFn, recorded: bool = True, objects: bool = False, max_turns: int = 3) -> Session:
    """Sessions of a host that views each result when it comes, and records what it showed.

    Calls run in parallel and end in any order; unless asked otherwise some arguments are no object.
    """
    policy = draw(policies())
    chosen = st.lists(st.none() | choices(), min_size=1, max_size=3).map(tuple)
    chooser = Chosen(draw(chosen), policy)
    arguments = st.sampled_from(OBJECTS if objects else (*OBJECTS, "[]")).map(Json)
    log, shown, ends = list[tuple[str, Step]](), dict[str, list[ShownExchange]](), dict[str, int]()
    for turn in range(draw(st.integers(1, max_turns))):
        turn_id, running = f"t{turn}", list[tuple[int, ToolCall]]()
        shown[turn_id] = []
        log.append((turn_id, Step(UserMessageEvent(text=draw(strategies.texts())))))
        moves = draw(st.lists(st.sampled_from(MOVES), max_size=7))
        for move in (*moves, *["result"] * moves.count("call")):
            if move == "audit":
                log.append((turn_id, Step(ModeDecided(mode="m", decided_by="d", reason="r"))))
            elif move == "call":
                called = ToolCall(id=ToolCallId(f"c{len(log)}"), name=draw(NAMES), arguments=draw(arguments))
                running.append((len(log), called))
                log.append((turn_id, Step(ToolCallEvent(call=called))))
            elif running:
                seq, called = running.pop(draw(st.integers(0, len(running) - 1)))
                outcome = draw(outcomes())
                made = view_result(
                    outcome,
                    call_seq=seq,
                    name=called.name,
                    source_event=EventId(f"e{len(log)}"),
                    policy=policy,
                    chooser=chooser,
                ).unwrap()
                view = made.view if draw(st.booleans()) else without_handle(made.view)
                shown[turn_id].append(ShownExchange(arguments=called.arguments, view=view))
                result = ToolResult(call_id=called.id, outcome=outcome)
                log.append((turn_id, Step(ToolResultEvent(result=result))))
                log += [(turn_id, Step(view_event(view)))] * recorded
        status = draw(st.sampled_from((DoneStatus.COMPLETED, DoneStatus.CANCELLED)))
        log.append((turn_id, Step(AssistantReply(text="done"), MessageId(f"r{turn}"))))
        log.append((turn_id, Step(DoneEvent(status=status))))
        ends[turn_id] = len(log)
    return Session(placed(log), policy, shown, ends)


NAMES: Final = st.sampled_from(("grep", "read_file", "查询", 'a"<b>'))
renditions: Final = st.sampled_from(ViewRendition)


def projected(events: Sequence[SessionEvent]) -> Projection:
    outcome = project(SESSION, session_log(events))
    assert isinstance(outcome, Success), outcome
    return outcome.unwrap()


def viewed(
    outcome: ToolOutcome, policy: ResultPolicy, choice: ResultChoice | None = None, name: str = "look"
) -> ViewedResult:
    chooser = None if choice is None else Chosen((choice,), policy)
    return view_result(
        outcome, call_seq=7, name=name, source_event=EventId("e8"), policy=policy, chooser=chooser
    ).unwrap()


# --- the naive side -------------------------------------------------------------------------------


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def body(outcome: ToolOutcome) -> str:
    return outcome.output if isinstance(outcome, ToolSucceeded) else outcome.message


def naive_prefix(text: str, size: int) -> str:
    """Take characters while they fit."""
    taken = ""
    for char in text:
        if len((taken + char).encode()) > size:
            break
        taken += char
    return taken


def naive_envelope(name: str, outcome: ToolOutcome, form: str, text: str, handle: str | None) -> str:
    """What the rule says that a model sees."""
    view: dict[str, object] = {"status": "succeeded"}
    if isinstance(outcome, ToolFailed):
        code = naive_prefix(outcome.code, 256)
        view = {"status": "failed", "category": outcome.category.value, "code": code}
        if code != outcome.code:
            view["code_bytes"] = len(outcome.code.encode())
        view["retryable"] = outcome.retryable
    view |= {"text": text, "truncated": form != "whole"}
    if form != "whole":
        view |= {"shown": form, "total_bytes": len(body(outcome).encode())}
    if handle is not None:
        view["handle"] = handle
    whole = {"type": "jingwei_tool_result", "trust": "untrusted_tool_data", "name": name, "view": view}
    return compact(whole).replace("<", "\\u003c").replace(">", "\\u003e")


def naive_exchange(
    seq: int, name: str, arguments: Json, envelope: str, rendition: ViewRendition
) -> list[dict[str, object]]:
    """Two messages as JSON objects."""
    if rendition is ViewRendition.JSON:
        action = f'{{"action":"call_tool","name":{compact(name)},"arguments":{arguments.text}}}'
        return [{"role": "assistant", "content": action}, {"role": "user", "content": envelope}]
    call = {"id": f"jw_tool_{seq}", "name": name, "arguments": json.loads(arguments.text)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "call_id": f"jw_tool_{seq}", "content": envelope},
    ]


def plain(message: ModelMessage) -> dict[str, object]:
    """A message as a JSON object."""
    match message:
        case ToolMessage(call_id=call_id, content=content):
            return {"role": "tool", "call_id": call_id, "content": content}
        case AssistantMessage(content=content, tool_calls=()):
            return {"role": "assistant", "content": content}
        case AssistantMessage(content=content, tool_calls=calls):
            said = [{"id": c.id, "name": c.name, "arguments": c.arguments.value()} for c in calls]
            return {"role": "assistant", "content": content, "tool_calls": said}
        case UserMessage(content=content):
            return {"role": "user", "content": content}
        case SystemMessage(content=content):
            return {"role": "system", "content": content}


# --- T3 -------------------------------------------------------------------------------------------


class TestPreviewsT3:
    """T3. A preview is the longest beginning of a text within its size that ends with a whole character. A
    text of more than `inline_bytes` is previewed, and stored whole before a request refers to it. A policy
    whose sizes do not agree is refused when it is made; a choice that cannot be followed never fails."""

    @given(outcomes(), policies(), st.sampled_from((None, None, 0, 1, -1)))
    def test_a_large_text_is_shown_by_its_beginning_and_stored_whole(
        self, outcome: ToolOutcome, policy: ResultPolicy, beside: int | None
    ) -> None:
        """With policies that call just this text inline, or just not."""
        text = body(outcome)
        if beside is not None:
            inline = max(len(text.encode()) + beside, policy.preview_bytes, 1)
            policy = attrs.evolve(policy, inline_bytes=inline, max_shown_bytes=inline)
        large = len(text.encode()) > policy.inline_bytes

        made = viewed(outcome, policy)

        assert (naive_prefix(text, policy.preview_bytes) if large else text) == made.view.text
        assert large is made.view.truncated
        assert len(text.encode()) == made.view.total_bytes
        assert (text if large else None) == (made.to_store and made.to_store.text)
        assert ("e8" if large else None) == (made.to_store and made.to_store.source_event)
        assert ("e8" if large else None) == made.view.handle
        assert made.view.fallback is None

    @given(outcomes(), policies(), choices())
    def test_whatever_is_chosen_no_more_is_shown_than_the_policy_allows(
        self, outcome: ToolOutcome, policy: ResultPolicy, choice: ResultChoice
    ) -> None:
        made = viewed(outcome, policy, choice)
        text, shown = body(outcome), made.view.text

        assert len(shown.encode()) <= policy.max_shown_bytes
        assert made.view.truncated is (shown != text)
        assert (made.to_store is None) is (shown == text)
        if isinstance(choice, ShowCondensed) and made.view.fallback is None:
            assert choice.text == shown
            assert len(shown.encode()) < len(text.encode())
        else:
            assert text.startswith(shown)

    @given(outcomes(), policies(), choices())
    def test_what_cannot_be_followed_is_said_and_shown_as_the_policy_shows_it(
        self, outcome: ToolOutcome, policy: ResultPolicy, choice: ResultChoice
    ) -> None:
        size = len(body(outcome).encode())
        expected: ViewFallback | None
        match choice:
            case ShowWhole():
                expected = ViewFallback.OVER_LIMIT if size > policy.max_shown_bytes else None
            case ShowPrefix(max_bytes=room):
                over = min(size, room) > policy.max_shown_bytes
                expected = ViewFallback.OVER_LIMIT if over else None
                expected = ViewFallback.NEGATIVE_PREFIX if room < 0 else expected
            case ShowCondensed(text=text):
                said = len(text.encode(errors="surrogatepass"))
                expected = ViewFallback.OVER_LIMIT if said > policy.max_shown_bytes else None
                expected = ViewFallback.NOT_SMALLER if said >= size else expected
                expected = ViewFallback.BLANK_CONDENSED if not text.strip() else expected
                expected = ViewFallback.LONE_SURROGATE if "\ud800" in text else expected

            case _:
                assert_never(choice)

        made = viewed(outcome, policy, choice).view

        assert expected is made.fallback
        if expected is not None:
            assert attrs.evolve(made, fallback=None) == viewed(outcome, policy).view

    @given(st.integers(-2, 4), st.integers(-2, 4), st.integers(-2, 4))
    def test_a_policy_is_made_when_a_preview_is_no_larger_than_what_is_inline_and_that_than_all(
        self, inline: int, preview: int, shown: int
    ) -> None:
        made = result_policy(inline_bytes=inline, preview_bytes=preview, max_shown_bytes=shown)

        assert isinstance(made, Success) is (1 <= inline <= shown and 0 <= preview <= inline)

    def test_the_default_sizes(self) -> None:
        assert ResultPolicy(inline_bytes=4096, preview_bytes=512, max_shown_bytes=16384) == (
            result_policy().unwrap()
        )

    @given(outcomes(), policies(), st.integers(0, 3), st.sampled_from(("e8", "e9")))
    def test_only_a_reference_to_this_very_text_is_taken_and_none_of_it_is_shown(
        self, outcome: ToolOutcome, policy: ResultPolicy, more: int, source: str
    ) -> None:
        view = viewed(outcome, policy).view
        scope = ContentScope(session_id=SESSION, task_id=TaskId("task"), expires_at_ms=5)
        reference = ContentRef(
            store_id=StoreId("store"),
            source_event=EventId(source),
            scope=scope,
            total_bytes=view.total_bytes + more,
        )

        told = with_reference(view, reference)

        assert isinstance(told, Success) is (more == 0 and source == "e8")
        if isinstance(told, Success):
            assert (reference if view.truncated else None) == told.unwrap().reference
            shown = [
                current_messages([ShownExchange(arguments=Json("{}"), view=one)], ViewRendition.NATIVE)
                for one in (view, told.unwrap())
            ]
            assert shown[0] == shown[1]


# --- T7 -------------------------------------------------------------------------------------------


class TestRenditionsT7:
    """T7. An exchange is sent as a view with the label `untrusted_tool_data`, in the running turn and in the
    history alike, natively or as an action's JSON and a user-role message. What was shown is recorded and
    shown again: closing a turn does not change a byte of it, nor does anything later."""

    @given(sessions(), renditions)
    def test_closing_a_turn_and_any_turns_behind_it_do_not_change_a_byte(
        self, session: Session, rendition: ViewRendition
    ) -> None:
        """Rendered as each result comes, again when the turn is over, and again when each later one is."""
        for end in session.ends.values():
            events = session.events[:end]
            views = recorded_views(events).unwrap()
            rendering = Rendering(rendition=rendition, views=views)
            history = viewed_history(projected(events), rendering).unwrap().projection

            for turn in history.turns:
                exchanges = [group for group in turn.groups if group.kind is GroupKind.TOOL_EXCHANGE]
                sent = tuple(message for group in exchanges for message in group.messages)

                assert current_messages(session.shown[turn.turn_id], rendition) == sent

    @given(sessions(), renditions)
    def test_what_a_running_turn_is_sent_is_the_beginning_of_what_it_is_sent_closed(
        self, session: Session, rendition: ViewRendition
    ) -> None:
        """Taken up from the log at any event, in the middle of a turn too."""
        whole = Rendering(rendition=rendition, views=recorded_views(session.events).unwrap())
        closed = {
            turn.turn_id: turn.messages
            for turn in viewed_history(projected(session.events), whole).unwrap().projection.turns
        }
        log = start_view(SESSION)
        for count, event in enumerate(session.events, start=1):
            log = log.advanced(session_log([event]))
            events = session.events[:count]
            if isinstance(event.kind, ToolResultEvent):
                continue  # its view is on record with the next event
            rendering = Rendering(rendition=rendition, views=recorded_views(events).unwrap())
            running = log.running().unwrap()

            current = viewed_current(running.current, rendering).unwrap()

            assert current == closed[event.turn_id][: len(current)]
            assert len(running.current) == len(current)

    @given(sessions(), renditions)
    def test_every_message_is_what_the_rule_says_by_the_standard_library(
        self, session: Session, rendition: ViewRendition
    ) -> None:
        calls = {e.kind.call.id + e.turn_id: e for e in session.events if isinstance(e.kind, ToolCallEvent)}
        views = {one.view.source_event: one.view for turn in session.shown.values() for one in turn}
        expected = dict[str, list[dict[str, object]]]()
        for event in session.events:
            if isinstance(event.kind, ToolResultEvent):
                asked, view = calls[event.kind.result.call_id + event.turn_id], views[event.event_id]
                assert isinstance(asked.kind, ToolCallEvent)
                outcome = event.kind.result.outcome
                envelope = naive_envelope(
                    asked.kind.call.name,
                    outcome,
                    view.form.value,
                    view.text,
                    event.event_id if view.stored else None,
                )
                call = asked.kind.call
                expected[event.event_id] = naive_exchange(
                    asked.seq, call.name, call.arguments, envelope, rendition
                )
        rendering = Rendering(rendition=rendition, views=recorded_views(session.events).unwrap())

        history = viewed_history(projected(session.events), rendering).unwrap().projection

        found = {
            group.source_events[-1]: [plain(message) for message in group.messages]
            for group in history.groups
            if group.kind is GroupKind.TOOL_EXCHANGE
        }
        assert expected == found

    @given(sessions(recorded=False), policies(), renditions)
    def test_an_exchange_without_a_record_is_sent_as_the_policy_shows_it_and_gives_no_handle(
        self, session: Session, policy: ResultPolicy, rendition: ViewRendition
    ) -> None:
        rendering = Rendering(rendition=rendition, policy=policy)
        results = {
            e.event_id: e.kind.result.outcome for e in session.events if isinstance(e.kind, ToolResultEvent)
        }

        history = viewed_history(projected(session.events), rendering).unwrap()
        again = viewed_history(projected(session.events), rendering).unwrap()

        assert history == again
        for group in history.projection.groups:
            if group.kind is GroupKind.TOOL_EXCHANGE:
                said = json.loads(str(plain(group.messages[1])["content"]))
                outcome = results[group.source_events[-1]]
                view = viewed(outcome, policy).view
                form, text = view.form.value, view.text
                assert compact(said) == compact(
                    json.loads(naive_envelope(said["name"], outcome, form, text, None))
                )

    @given(sessions(), renditions, st.booleans())
    def test_the_sizes_of_a_viewed_history_are_those_of_its_messages(
        self, session: Session, rendition: ViewRendition, known: bool
    ) -> None:
        """A fresh walk over the messages says what the projection says; all else is as it was."""
        before = projected(session.events)
        views = recorded_views(session.events if known else ()).unwrap()
        after = viewed_history(before, Rendering(rendition=rendition, views=views)).unwrap().projection

        assert sum(map(message_bytes, after.messages)) == after.canonical_bytes
        assert (len(after.messages), len(after.groups)) == (after.message_count, after.group_count)
        assert messages_failure(after.messages) == after.shape_failure
        for old, new in zip(before.turns, after.turns, strict=True):
            assert sum(map(message_bytes, new.messages)) == new.canonical_bytes
            assert len(new.messages) == new.message_count
            for old_group, new_group in zip(old.groups, new.groups, strict=True):
                assert tuple(map(message_bytes, new_group.messages)) == new_group.message_bytes
                if old_group.kind is GroupKind.TOOL_EXCHANGE:
                    assert old_group == attrs.evolve(
                        new_group, messages=old_group.messages, message_bytes=old_group.message_bytes
                    )
                else:
                    assert old_group is new_group
            assert old == attrs.evolve(new, groups=old.groups, canonical_bytes=old.canonical_bytes)
        assert before == attrs.evolve(
            after,
            turns=before.turns,
            canonical_bytes=before.canonical_bytes,
            shape_failure=before.shape_failure,
        )

    @given(renditions)
    def test_a_history_without_exchanges_is_the_same_object(self, rendition: ViewRendition) -> None:
        history = projected(())

        assert history is viewed_history(history, Rendering(rendition=rendition)).unwrap().projection

    @given(sessions())
    def test_no_native_tool_field_is_left_under_the_json_protocol(self, session: Session) -> None:
        rendering = Rendering(rendition=ViewRendition.JSON, views=recorded_views(session.events).unwrap())

        history = viewed_history(projected(session.events), rendering).unwrap().projection

        assert {"role", "content"} >= {key for m in history.messages for key in plain(m)}
        assert {"user", "assistant"} >= {plain(m)["role"] for m in history.messages}

    @given(sessions(), renditions)
    def test_what_is_a_view_already_stays_as_it_is(self, session: Session, rendition: ViewRendition) -> None:
        rendering = Rendering(rendition=rendition, views=recorded_views(session.events).unwrap())

        once = viewed_history(projected(session.events), rendering).unwrap().projection
        twice = viewed_history(once, rendering).unwrap().projection

        assert once == twice

    @given(sessions(objects=True), renditions)
    def test_a_build_takes_a_viewed_history_and_sends_all_of_it(
        self, session: Session, rendition: ViewRendition
    ) -> None:
        rendering = Rendering(rendition=rendition, views=recorded_views(session.events).unwrap())
        history = viewed_history(projected(session.events), rendering).unwrap().projection
        inputs = BuildInputs(
            current=(UserMessage(content="next"),),
            target=ContextTarget(model="m", template_revision="r"),
            budget=ContextBudget(window_tokens=10**9, output_reserve=1),
        )

        built = build(history, inputs, ByteHeuristicCounter()).unwrap()

        assert (*history.messages, UserMessage(content="next")) == built.request.messages

    @given(sessions(recorded=False), policies(), renditions)
    def test_a_host_that_begins_to_show_views_records_what_is_sent_from_then_on(
        self, session: Session, policy: ResultPolicy, rendition: ViewRendition
    ) -> None:
        rendering = Rendering(rendition=rendition, policy=policy)
        history = projected(session.events)

        made = first_views(history, rendering)

        views = rendering.views
        for one in made:
            views = views.with_view(without_handle(one.view)).unwrap()
        recorded = attrs.evolve(rendering, views=views)
        exchanges = [group for group in history.groups if group.kind is GroupKind.TOOL_EXCHANGE]
        assert len(exchanges) == len(made)
        assert () == first_views(history, recorded)
        before, after = viewed_history(history, rendering), viewed_history(history, recorded)
        assert before.unwrap().projection == after.unwrap().projection
        assert all(row.recorded for row in after.unwrap().rows)
        assert not any(row.recorded for row in before.unwrap().rows)


class TestRecordedViews:
    """What is recorded is read back, held against the log, and never chosen between."""

    @given(sessions())
    def test_views_survive_the_log_and_any_division_of_it(self, session: Session) -> None:
        """Written as bytes, read back whole and event by event."""
        read = decode_log(encode_log(session.events).unwrap()).unwrap().events

        views = recorded_views(read).unwrap()

        shown = [one.view for turn in session.shown.values() for one in turn]
        assert shown == [views.by_source.get(v.source_event).view for v in shown]  # type: ignore[union-attr]
        assert len(shown) == len(views)
        pieces = recorded_views(())
        for event in read:
            pieces = pieces.unwrap().advanced([event])
        assert views == pieces.unwrap()

    @given(outcomes(), policies(), choices())
    def test_a_payload_reads_back_and_any_other_key_or_version_does_not(
        self, outcome: ToolOutcome, policy: ResultPolicy, choice: ResultChoice
    ) -> None:
        view = viewed(outcome, policy, choice).view
        value = json.loads(view_payload(view).text)

        assert view == read_view(value)
        assert 1 == value["version"]
        assert not isinstance(read_view({**value, "version": 2}), ResultView)
        assert not isinstance(read_view({**value, "more": 1}), ResultView)

    @given(sessions(), renditions, st.data())
    def test_a_view_that_says_something_else_than_the_log_is_refused(
        self, session: Session, rendition: ViewRendition, data: st.DataObject
    ) -> None:
        """T2: no record can change how a tool ended, what it said, or which tool it was."""
        shown = [one.view for turn in session.shown.values() for one in turn]
        assume(shown)
        view = data.draw(st.sampled_from(shown))
        lied = data.draw(st.sampled_from(_lies(view)))
        others = [one for one in shown if one is not view]
        views = recorded_views(()).unwrap()
        for one in (*others, lied):
            views = views.with_view(one).unwrap()

        refused = viewed_history(projected(session.events), Rendering(rendition=rendition, views=views))

        assert isinstance(refused, Failure)
        assert isinstance(refused.failure(), ViewContradiction)
        assert lied.source_event == refused.failure().source_event

    @given(sessions(), st.data())
    def test_two_different_views_of_one_result_are_refused_and_the_same_one_twice_is_not(
        self, session: Session, data: st.DataObject
    ) -> None:
        events = [e for e in session.events if event_value(e)["kind"].get("kind") == "result_view"]  # type: ignore[call-overload, index, union-attr]
        assume(events)
        first = data.draw(st.sampled_from(events))
        view = recorded_views([first]).unwrap()
        (recorded,) = (one for _, one in view.by_source.items())
        other = attrs.evolve(first, event_id=EventId("later"))
        text = attrs.evolve(recorded.view, name=recorded.view.name + "!")
        changed = attrs.evolve(other, kind=view_event(text))

        assert view == recorded_views([first, other]).unwrap()
        refused = recorded_views([first, changed]).failure()
        assert (recorded.view.source_event, first.event_id, EventId("later")) == (attrs.astuple(refused))


def _lies(view: ResultView) -> list[ResultView]:
    """Views of the same result that are not true."""
    failed = ShownFailure(category=ToolFailureCategory.DENIED, code="never so said", retryable=True)
    lies = [
        attrs.evolve(view, name=view.name + "x"),
        attrs.evolve(view, outcome=failed),
        attrs.evolve(view, total_bytes=view.total_bytes + 1),
        attrs.evolve(view, call_seq=view.call_seq + 10**6),
        attrs.evolve(view, source_event=EventId("elsewhere")),
    ]
    if view.form is not ViewForm.CONDENSED:
        lies.append(attrs.evolve(view, text="\x01" + view.text))
    return lies


class TestViewsKeepOutcomes:
    """How a tool ended stands in every view as it was recorded, whatever was chosen (T2), and its text stays
    inside its string (S9)."""

    @given(outcomes(), policies(), choices(), strategies.names(), renditions)
    def test_status_category_code_and_role_never_change(
        self,
        outcome: ToolOutcome,
        policy: ResultPolicy,
        choice: ResultChoice,
        name: str,
        rendition: ViewRendition,
    ) -> None:
        view = viewed(outcome, policy, choice, name).view

        asked, told = current_messages([ShownExchange(arguments=Json("{}"), view=view)], rendition)

        shown = json.loads(str(plain(told)["content"]))
        assert ["type", "trust", "name", "view"] == list(shown)
        assert ("jingwei_tool_result", "untrusted_tool_data", name) == tuple(shown.values())[:3]
        expected = {"status": "succeeded"}
        if isinstance(outcome, ToolFailed):
            code = naive_prefix(outcome.code, 256)
            expected = {"status": "failed", "category": outcome.category.value, "code": code}
            assert outcome.retryable is shown["view"]["retryable"]
        assert expected == {key: shown["view"][key] for key in expected}
        roles = ("assistant", "tool") if rendition is ViewRendition.NATIVE else ("assistant", "user")
        assert roles == (plain(asked)["role"], plain(told)["role"])

    @given(outcomes(), policies(), choices())
    def test_no_delimiter_and_no_line_end_stands_in_an_envelope(
        self, outcome: ToolOutcome, policy: ResultPolicy, choice: ResultChoice
    ) -> None:
        view = viewed(outcome, policy, choice).view

        _, told = current_messages([ShownExchange(arguments=Json("{}"), view=view)], ViewRendition.NATIVE)

        assert not {"<", ">", "\n", "\r"} & set(str(plain(told)["content"]))


class TestTurnsAreRememberedOnly:
    """What is answered does not depend on what is remembered."""

    @given(sessions(), policies(), st.lists(st.tuples(renditions, st.booleans(), st.booleans()), max_size=6))
    def test_a_turn_rendered_before_in_other_ways_is_rendered_like_a_new_one(
        self, session: Session, other: ResultPolicy, ways: list[tuple[ViewRendition, bool, bool]]
    ) -> None:
        known = recorded_views(session.events).unwrap()
        old = projected(session.events)
        for rendition, recorded, another in ways:
            rendering = Rendering(
                rendition=rendition,
                views=known if recorded else recorded_views(()).unwrap(),
                policy=other if another else session.policy,
            )
            fresh = projected(session.events)
            for turn, new in zip(old.turns, fresh.turns, strict=True):
                assert viewed_turn(new, rendering) == viewed_turn(turn, rendering)
