"""From what the shell fetched to context items: the first half of the work of S4a, as pure functions.

Nothing here reads a store or a clock. The host hands in the state of the task, the events of the session and
what its memories answered; each function says which items that makes, and `gather` all of them in order.
"""

import enum
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, final

import attrs

from jingwei.compose.task_state import (
    InvalidTaskState,
    PlanStepState,
    PlanStepText,
    RecalledMemory,
    TaskState,
    memory_value,
    task_state_failure,
)
from jingwei.events.records import (
    AssistantReply,
    SessionEvent,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.ids import ItemId, ToolCallId, TurnId, is_blank
from jingwei.items.check import first_failure
from jingwei.items.failures import InvalidItem
from jingwei.items.records import Authority, ContextItem, ItemKind, ItemSource, Tier
from jingwei.items.wire import item_value
from jingwei.jsontext import canonical, utf8_bytes
from jingwei.limits import RECALLED_MEMORIES, RECENT_EVENTS
from jingwei.outcome import Failure, Outcome, Success

SOURCE_TRUST: Final[Mapping[ItemSource, Fraction]] = {
    ItemSource.HOST: Fraction(1),
    ItemSource.USER: Fraction(1),
    ItemSource.TOOL: Fraction(1, 2),
    ItemSource.MEMORY: Fraction(1, 4),
    ItemSource.MODEL: Fraction(1, 4),
}
"""The trust of what is gathered, by who wrote it. A memory brings its own; this stands for one in a state."""


@final
class FilterReason(enum.Enum):
    """Why a memory is not used, in the order of the checks."""

    TENANT = "tenant"
    USER = "user"
    SCOPE = "scope"
    EXPIRED = "expired"
    NO_TIME = "no_time"
    LIMIT = "limit"


@final
@attrs.frozen(kw_only=True)
class FilteredMemory:
    """A memory that was found and is not used.

    Attributes:
        memory_id: which.
        reason: the first check that it failed.
    """

    memory_id: str
    reason: FilterReason


@final
@attrs.frozen(kw_only=True)
class Recalled:
    """What of the memories is used.

    Attributes:
        items: best first.
        filtered: the others, by id.
    """

    items: tuple[ContextItem, ...]
    filtered: tuple[FilteredMemory, ...]


@final
@attrs.frozen(kw_only=True)
class RetrievalQuery:
    """What to ask a store of memories, for whom, and for how many.

    Attributes:
        tenant_id: whose data may be found.
        user_id: whose memories, besides the tenant's own.
        scopes: where a memory may hold, besides everywhere.
        text: goal, current step, constraints and corrections, a line each.
        terms: the words of the text in lower case, each once, in order.
        limit: how many to ask for; at least 0.
    """

    tenant_id: str
    user_id: str
    scopes: tuple[str, ...]
    text: str
    terms: tuple[str, ...]
    limit: int


@final
class GatherStage(enum.Enum):
    """Where items come from, in the order of gathering."""

    SYSTEM = "system"
    GOAL = "goal"
    STEP = "step"
    CONSTRAINTS = "constraints"
    CORRECTIONS = "corrections"
    PLAN = "plan"
    EVENTS = "events"
    MEMORIES = "memories"
    HOST = "host"


@final
@attrs.frozen(kw_only=True)
class StageRow:
    """What one stage added.

    Attributes:
        stage: which.
        item_ids: its items, in its order; none where it had nothing to add.
    """

    stage: GatherStage
    item_ids: tuple[ItemId, ...]


@final
@attrs.frozen(kw_only=True)
class Gathered:
    """Everything that a request could say besides its history.

    Attributes:
        items: all of them, stage by stage; duplicates and contradictions are still in it.
        stages: what each stage added, all stages.
        filtered: memories that are not used.
    """

    items: tuple[ContextItem, ...]
    stages: tuple[StageRow, ...]
    filtered: tuple[FilteredMemory, ...]


def gather(  # what the shell fetched, one argument each
    state: TaskState,
    *,
    events: Sequence[SessionEvent] = (),
    memories: Iterable[RecalledMemory] = (),
    items: Iterable[ContextItem] = (),
    shown_turns: Collection[TurnId] = (),
    now: int | None = None,
    event_limit: int = RECENT_EVENTS,
    memory_limit: int = RECALLED_MEMORIES,
) -> Outcome[Gathered, InvalidTaskState | InvalidItem]:
    """All items of a request, and which stage added which (S4a). Total.

    `items` are the host's own; they come last, by id, and are not changed. `shown_turns`, `now` and the
    limits are those of `recent_event_items` and `recalled_items`. Fails where the state does not say whose
    it is, and where a text or a number is none that an item may have (`items_failure`), smallest id first;
    ids that stand twice are left to `without_duplicates`. A state that says nothing gives no items, and no
    failure.
    """
    failure = task_state_failure(state)
    if failure is not None:
        return Failure(failure)
    recalled = recalled_items(memories, state, now, limit=memory_limit)
    stages = {
        GatherStage.SYSTEM: system_items(state),
        GatherStage.GOAL: goal_items(state),
        GatherStage.STEP: step_items(state),
        GatherStage.CONSTRAINTS: constraint_items(state),
        GatherStage.CORRECTIONS: correction_items(state),
        GatherStage.PLAN: plan_items(state),
        GatherStage.EVENTS: recent_event_items(events, shown_turns=shown_turns, limit=event_limit),
        GatherStage.MEMORIES: recalled.items,
        GatherStage.HOST: _in_order(items),
    }
    found = tuple([item for added in stages.values() for item in added])
    invalid = first_failure(found)
    if invalid is not None:
        return Failure(invalid)
    rows = [
        StageRow(stage=stage, item_ids=tuple([item.item_id for item in added]))
        for stage, added in stages.items()
    ]
    return Success(Gathered(items=found, stages=tuple(rows), filtered=recalled.filtered))


def system_items(state: TaskState) -> tuple[ContextItem, ...]:
    """The host's rules, the only items that stand in system texts (S9); never left out."""
    return tuple(
        [
            _required(f"rule:{place:04d}", ItemKind.SYSTEM, rule, ItemSource.HOST)
            for place, rule in enumerate(state.system_rules)
        ]
    )


def goal_items(state: TaskState) -> tuple[ContextItem, ...]:
    """What the user is after; never left out. Its source is who wrote it, so that it stands as data (S4).

    It goes as far as anything (S5), so that a memory of the same words and trust does not take its place.
    """
    if state.goal is None:
        return ()
    goal = _required("goal", ItemKind.GOAL, state.goal.text, state.goal.source)
    return (attrs.evolve(goal, authority=Authority.CURRENT_INSTRUCTION),)


def step_items(state: TaskState) -> tuple[ContextItem, ...]:
    """What is being done and when it is done, as one text, since neither means much alone; never left out.

    Without a current step there is none, whatever the criteria.
    """
    if state.current_step is None:
        return ()
    lines = [state.current_step, *[f"- done when: {criterion}" for criterion in state.completion_criteria]]
    return (_required("step", ItemKind.PLAN, "\n".join(lines), state.step_source),)


def constraint_items(state: TaskState) -> tuple[ContextItem, ...]:
    """What the task may not break; never left out, and never taken for a system text (S4, S9)."""
    return tuple(
        [
            attrs.evolve(
                _required(f"constraint:{place:04d}", ItemKind.CONSTRAINT, one.text, one.source),
                subject=one.subject,
                authority=Authority.TASK_CONSTRAINT,
                seq=one.seq,
            )
            for place, one in enumerate(state.hard_constraints)
        ]
    )


def correction_items(state: TaskState) -> tuple[ContextItem, ...]:
    """What the user has just put right: it goes furthest (S5), and stands in `P1` (S3)."""
    return tuple(
        [
            _item(
                f"correction:{place:04d}",
                ItemKind.CONSTRAINT,
                one.text,
                ItemSource.USER,
                tier=Tier.P1,
                subject=one.subject,
                authority=Authority.CURRENT_INSTRUCTION,
                seq=one.seq,
            )
            for place, one in enumerate(state.corrections)
        ]
    )


def plan_items(state: TaskState) -> tuple[ContextItem, ...]:
    """The steps of the plan, each with its state: what is over in `P3`, the rest in `P1` (S3)."""
    return tuple([_plan_item(place, step) for place, step in enumerate(state.plan)])


def recent_event_items(
    events: Sequence[SessionEvent],
    *,
    shown_turns: Collection[TurnId] = (),
    limit: int = RECENT_EVENTS,
) -> tuple[ContextItem, ...]:
    """The most recent words and tool results of a log, oldest first (S4a).

    Looks back over `limit` events that said something: what the user said, complete replies, results of
    tools; none where it is below one. Deltas, audits and blank texts are passed over. Of these, events of
    `shown_turns` are left out, since the history says them already. A result is the tool's text and nothing
    else, so that equal results are duplicates and a condenser sees what the tool wrote; `source_ref` names
    the tool and the event. What the newest of these turns did is `P1`, all else `P3`. Freshness is the
    place among the events looked at: 1 for the newest, less by the distance in `seq`, above 0.
    """
    calls = _calls(events)
    said = [event for event in events if _says(event)][-limit:] if limit > 0 else []
    if not said:
        return ()
    newest = max(event.seq for event in said)
    span = newest - min(event.seq for event in said) + 1
    left = [event for event in said if event.turn_id not in shown_turns]
    return tuple(
        [
            attrs.evolve(
                _event_item(event, calls),
                freshness=Fraction(span - (newest - event.seq), span),
                tier=Tier.P1 if event.turn_id == left[-1].turn_id else Tier.P3,
            )
            for event in left
        ]
    )


def recalled_items(
    memories: Iterable[RecalledMemory],
    state: TaskState,
    now: int | None,
    *,
    limit: int = RECALLED_MEMORIES,
) -> Recalled:
    """The memories that this task may see, the best `limit` of them by score, then id (S4a). Total.

    Refused, by the first check that fails: another tenant's; another user's; one of a scope that the state
    does not name; one that `expires` at or before `now`; one that expires while the host names no time, since
    it may be over; one beyond the limit. Freshness is the rank of `created` among those that are used, 1 for
    the newest, 0 for one without. The order given never matters: of two with one id the whole record decides.
    """
    admitted, filtered = list[RecalledMemory](), list[FilteredMemory]()
    for memory in memories:
        reason = _refusal(memory, state, now)
        if reason is None:
            admitted.append(memory)
        else:
            filtered.append(FilteredMemory(memory_id=memory.memory_id, reason=reason))
    admitted.sort(key=lambda memory: (-memory.score, memory.memory_id, canonical(memory_value(memory))))
    used = admitted[: max(limit, 0)]
    for memory in admitted[len(used) :]:
        filtered.append(FilteredMemory(memory_id=memory.memory_id, reason=FilterReason.LIMIT))
    times = sorted({memory.created for memory in used if memory.created is not None})
    ranks = {created: Fraction(rank, len(times)) for rank, created in enumerate(times, start=1)}
    items = [
        _item(
            f"memory:{memory.memory_id}",
            ItemKind.MEMORY,
            memory.text,
            ItemSource.MEMORY,
            tier=Tier.P2,
            subject=memory.subject,
            authority=memory.authority,
            relevance=memory.score,
            freshness=Fraction(0) if memory.created is None else ranks[memory.created],
            trust=memory.trust,
            source_ref=memory.source_ref,
        )
        for memory in used
    ]
    filtered.sort(key=lambda row: (row.memory_id, row.reason.value))
    return Recalled(items=tuple(items), filtered=tuple(filtered))


def retrieval_query(state: TaskState, *, limit: int = RECALLED_MEMORIES) -> RetrievalQuery:
    """What to ask the memories, from goal, step, constraints and corrections (S4a). Total.

    A store that knows no filters may be asked with the text alone: `recalled_items` filters again.
    """
    texts = [
        *([] if state.goal is None else [state.goal.text]),
        *([] if state.current_step is None else [state.current_step, *state.completion_criteria]),
        *[one.text for one in state.hard_constraints],
        *[one.text for one in state.corrections],
    ]
    text = "\n".join(dict.fromkeys([said.strip() for said in texts if not is_blank(said)]))
    return RetrievalQuery(
        tenant_id=state.tenant_id,
        user_id=state.user_id,
        scopes=state.scopes,
        text=text,
        terms=tuple(dict.fromkeys(_WORD.findall(text.casefold()))),
        limit=max(limit, 0),
    )


_WORD: Final = re.compile(r"\w+")


def estimated_tokens(text: str) -> int:
    """A guess at the tokens of a text: a quarter of its UTF-8 bytes, rounded up (C2)."""
    return -(-utf8_bytes(text) // 4)


def _in_order(items: Iterable[ContextItem]) -> tuple[ContextItem, ...]:
    """By id, so that the order given never matters; of two with one id the whole record decides."""
    given = tuple(items)
    repeated = len({item.item_id for item in given}) < len(given)
    return tuple(
        sorted(given, key=lambda item: (item.item_id, canonical(item_value(item)) if repeated else ""))
    )


# --- one item -------------------------------------------------------------------------------------


def _item(  # what differs between the stages
    item_id: str,
    kind: ItemKind,
    content: str,
    source: ItemSource,
    *,
    tier: Tier,
    subject: str | None = None,
    authority: Authority = Authority.INFERENCE,
    seq: int | None = None,
    relevance: Fraction = Fraction(0),  # immutable
    freshness: Fraction = Fraction(0),
    trust: Fraction | None = None,
    source_ref: str | None = None,
) -> ContextItem:
    return ContextItem(
        item_id=ItemId(item_id),
        kind=kind,
        content=content,
        source=source,
        tier=tier,
        token_cost=estimated_tokens(content),
        relevance=relevance,
        freshness=freshness,
        trust=SOURCE_TRUST[source] if trust is None else trust,
        source_ref=source_ref,
        subject=subject,
        authority=authority,
        seq=seq,
    )


def _required(item_id: str, kind: ItemKind, content: str, source: ItemSource) -> ContextItem:
    return attrs.evolve(_item(item_id, kind, content, source, tier=Tier.P0), required=True)


def _plan_item(place: int, step: PlanStepText) -> ContextItem:
    over = step.state in {PlanStepState.DONE, PlanStepState.SKIPPED}
    content = f"[{step.state.value}] {step.text}"
    tier = Tier.P3 if over else Tier.P1
    return _item(f"plan:{place:04d}", ItemKind.PLAN, content, step.source, tier=tier)


# --- events ---------------------------------------------------------------------------------------


def _says(event: SessionEvent) -> bool:
    """Whether an event is one that a model could be told of."""
    text = _text_of(event)
    return text is not None and not is_blank(text)


def _text_of(event: SessionEvent) -> str | None:
    match event.kind:
        case UserMessageEvent(text=text) | AssistantReply(text=text):
            return text
        case ToolResultEvent(result=ToolResult(outcome=ToolSucceeded(output=text))):
            return text
        case ToolResultEvent(result=ToolResult(outcome=ToolFailed() as failed)):
            return _failure_text(failed)
        case _:
            return None  # process records and audits; a kind that says something is named above


def _failure_text(failed: ToolFailed) -> str:
    return canonical(
        {
            "status": "failed",
            "category": failed.category.value,
            "code": failed.code,
            "message": failed.message,
            "retryable": failed.retryable,
        }
    )


def _calls(events: Iterable[SessionEvent]) -> Mapping[tuple[TurnId, ToolCallId], ToolCall]:
    """Calls by turn and id, since an id may recur in another turn (P4)."""
    return {
        (event.turn_id, event.kind.call.id): event.kind.call
        for event in events
        if isinstance(event.kind, ToolCallEvent)
    }


def _event_item(event: SessionEvent, calls: Mapping[tuple[TurnId, ToolCallId], ToolCall]) -> ContextItem:
    content = _text_of(event) or ""
    if isinstance(event.kind, ToolResultEvent):
        call = calls.get((event.turn_id, event.kind.result.call_id))
        item = _item(
            f"event:{event.event_id}",
            ItemKind.TOOL_OBSERVATION,
            content,
            ItemSource.TOOL,
            tier=Tier.P3,
            seq=event.seq,
            source_ref=f"{'tool' if call is None else call.name}#{canonical(event.seq)}",
        )
    else:
        by_user = isinstance(event.kind, UserMessageEvent)
        item = _item(
            f"event:{event.event_id}",
            ItemKind.CONVERSATION,
            content,
            ItemSource.USER if by_user else ItemSource.MODEL,
            tier=Tier.P3,
            seq=event.seq,
            source_ref=f"{event.session_id}#{canonical(event.seq)}",
        )
    return attrs.evolve(item, source_events=(event.event_id,), compressible=True)


# --- memories -------------------------------------------------------------------------------------


def _refusal(memory: RecalledMemory, state: TaskState, now: int | None) -> FilterReason | None:
    if memory.tenant_id != state.tenant_id:
        return FilterReason.TENANT
    if memory.user_id is not None and memory.user_id != state.user_id:
        return FilterReason.USER
    if memory.scope is not None and memory.scope not in state.scopes:
        return FilterReason.SCOPE
    if memory.expires is None:
        return None
    if now is None:
        return FilterReason.NO_TIME
    return FilterReason.EXPIRED if memory.expires <= now else None
