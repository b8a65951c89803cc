"""A small task, its history, and what may be said of it."""

from fractions import Fraction
from typing import Final

from jingwei.compose.pipeline import ComposedContext, ComposeFailure, ComposeOptions, compose
from jingwei.compose.task_state import Goal, HardConstraint, RecalledMemory, TaskState
from jingwei.events.records import SessionEvent
from jingwei.ids import ItemId
from jingwei.items.budget import TokenBudget, token_budget
from jingwei.items.records import Authority, ContextItem, ItemKind, ItemSource, Tier
from jingwei.messages.records import UserMessage
from jingwei.outcome import Outcome
from jingwei.projection.project import project
from jingwei.projection.records import Projection
from jingwei.request.counting import ByteHeuristicCounter, TokenCounter
from jingwei.request.records import ContextTarget
from tests.logtable import SESSION, log_of

TARGET: Final = ContextTarget(model="m", template_revision="r1")
COUNTER: Final = ByteHeuristicCounter()
CURRENT: Final = (UserMessage(content="go on"),)

STATE: Final = TaskState(
    tenant_id="acme",
    user_id="ann",
    session_id=SESSION,
    goal=Goal(text="a parser in Go", source=ItemSource.USER),
    current_step="write the lexer",
    completion_criteria=("its tests pass",),
    hard_constraints=(
        HardConstraint(text="use Go this time", source=ItemSource.USER, subject="language", seq=1),
    ),
    system_rules=("never delete files",),
)

LOG: Final = (
    "\n".join(f"2026-08-01T10:21:{i % 60:02d}Z INFO worker {i} ok" for i in range(400))
    + "\n2026-08-01T10:22:00Z ERROR ClassNotFoundException: com.demo.OrderService\n"
)


def memory(memory_id: str, text: str, *, tenant: str = "acme", subject: str | None = None) -> RecalledMemory:
    return RecalledMemory(
        memory_id=memory_id,
        tenant_id=tenant,
        user_id="ann",
        scope=None,
        text=text,
        score=Fraction(1, 2),
        trust=Fraction(1, 3),
        subject=subject,
        authority=Authority.PREFERENCE,
    )


MEMORIES: Final = (memory("m1", "prefers Java", subject="language"), memory("m2", "theirs", tenant="other"))


def history(table: str = "turn t0; user; reply; done; turn t1; user; reply; done") -> Projection:
    return project(SESSION, log_of(table)).unwrap()


def budget(window: int = 6000) -> TokenBudget:
    return token_budget(window=window, reserved_output=500, safety_margin=100).unwrap()


def observation(
    item_id: str, content: str, *, compressible: bool = True, required: bool = False
) -> ContextItem:
    return ContextItem(
        item_id=ItemId(item_id),
        kind=ItemKind.TOOL_OBSERVATION,
        content=content,
        source=ItemSource.TOOL,
        tier=Tier.P1,
        compressible=compressible,
        required=required,
    )


def composed(
    *items: ContextItem,
    state: TaskState = STATE,
    whole: Projection | None = None,
    memories: tuple[RecalledMemory, ...] = MEMORIES,
    window: int = 6000,
    counter: TokenCounter = COUNTER,
    events: tuple[SessionEvent, ...] = (),
    options: ComposeOptions = ComposeOptions(),  # noqa: B008  # immutable
    within: TokenBudget | None = None,
) -> Outcome[ComposedContext, ComposeFailure]:
    return compose(
        state,
        history() if whole is None else whole,
        memories,
        items,
        TARGET,
        budget(window) if within is None else within,
        counter,
        current=CURRENT,
        events=events,
        options=options,
    )
