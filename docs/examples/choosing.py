"""What to say to a model that ports a start-up check, and why: the example of docs/selection.md.

python docs/examples/choosing.py
"""

from collections.abc import Iterable
from fractions import Fraction
from importlib import resources
from typing import Final

import jingwei

HOUR: Final = 3_600
NOW: Final = 1_000 * HOUR
SESSION: Final = jingwei.SessionId("bookshop-oncall-0612")
TARGET: Final = jingwei.ContextTarget(model="some-model", template_revision="1")
COUNTER: Final = jingwei.ByteHeuristicCounter()
CURRENT: Final = (jingwei.UserMessage(content="Port the start-up check, and say why start-up fails."),)

STATE: Final = jingwei.TaskState(
    tenant_id="bookshop",
    user_id="ann",
    session_id=SESSION,
    scopes=("orders",),
    goal=jingwei.Goal(text="Find out why the order service does not start, and port its start-up check."),
    current_step="Read the start-up log and name the first stable exception.",
    completion_criteria=("the class and the line of the log are named",),
    hard_constraints=(
        jingwei.HardConstraint(text="Use Go this time.", subject="language", seq=3),
        jingwei.HardConstraint(text="Do not touch shop/payment/."),
    ),
    plan=(
        jingwei.PlanStepText(text="reproduce the failure", state=jingwei.PlanStepState.DONE),
        jingwei.PlanStepText(text="read the log", state=jingwei.PlanStepState.ACTIVE),
        jingwei.PlanStepText(text="port the check"),
    ),
    system_rules=("Never write to production.",),
)


def memory(
    name: str, text: str, score: Fraction, *, tenant: str = "bookshop", expires: int | None = None
) -> jingwei.RecalledMemory:
    return jingwei.RecalledMemory(
        memory_id=name,
        tenant_id=tenant,
        user_id="ann",
        text=text,
        score=score,
        trust=Fraction(1, 2),
        expires=expires,
        subject="language" if "Java" in text else None,
    )


MEMORIES: Final = (
    memory("language", "Prefers Java.", Fraction(9, 10)),
    memory("runtime", "Production runs JDK 17.", Fraction(8, 10)),
    memory("similar", "In May the service did not start because a jar was built twice.", Fraction(7, 10)),
    memory("theirs", "Production runs JDK 8.", Fraction(9, 10), tenant="another shop"),
    memory("frozen", "Deployments are frozen.", Fraction(9, 10), expires=NOW - HOUR),
)


def start_up_log() -> str:
    """Five hundred lines, one of which matters, seventeen times."""
    lines = [f"2026-08-01T10:{minute:02d}:{second:02d}Z INFO worker {second % 7} ready"
             for minute in range(8) for second in range(60)]  # fmt: skip
    for at in range(21, 480, 28):
        lines[at] = lines[at].replace(
            f"INFO worker {at % 60 % 7} ready", "ERROR ClassNotFoundException: com.demo.OrderService"
        )
    return "\n".join(lines) + "\n"


def observed(name: str, text: str, tier: jingwei.Tier, relevance: Fraction, ref: str) -> jingwei.ContextItem:
    return jingwei.ContextItem(
        item_id=jingwei.ItemId(name),
        kind=jingwei.ItemKind.TOOL_OBSERVATION,
        content=text,
        source=jingwei.ItemSource.TOOL,
        tier=tier,
        relevance=relevance,
        trust=Fraction(3, 4),
        source_ref=ref,
        compressible=True,
    )


ITEMS: Final = (
    observed("log", start_up_log(), jingwei.Tier.P1, Fraction(1), "log://run-88/startup.log"),
    observed("jdk", "Production runs JDK 17.\n", jingwei.Tier.P2, Fraction(1, 2), "deploy.yaml:14"),
    observed(
        "listing",
        "".join(f"shop/orders/src/main/java/com/demo/Part{n:03d}.java\n" for n in range(60)),
        jingwei.Tier.P3,
        Fraction(1, 10),
        "ls -R shop/orders",
    ),
)

BUDGET: Final = jingwei.TokenBudget(window=3_000, reserved_output=400, reserved_retry=200, safety_margin=100)
OPTIONS: Final = jingwei.ComposeOptions(
    now=NOW,
    quotas=jingwei.Quotas(
        rows=(
            jingwei.Quota(kind=jingwei.ItemKind.MEMORY, floor=60, ceiling=200),
            jingwei.Quota(kind=None, floor=300),
        )
    ),
)
"""Memories and turns of the history are each sure of some room; memories never take more than 200 tokens."""


def history() -> jingwei.Projection:
    """The session of jingwei's demo."""
    data = resources.files("jingwei.demo").joinpath("session.jsonl").read_bytes()
    return jingwei.project(SESSION, jingwei.decode_log(data).unwrap()).unwrap()


def composed(
    budget: jingwei.TokenBudget = BUDGET, options: jingwei.ComposeOptions = OPTIONS
) -> jingwei.Outcome[jingwei.ComposedContext, jingwei.ComposeFailure]:
    return jingwei.compose(
        STATE, history(), MEMORIES, ITEMS, TARGET, budget, COUNTER, current=CURRENT, options=options
    )


def table(report: jingwei.SelectionReport) -> Iterable[str]:
    """The verdict on each item, in the order of the envelope."""
    for row in report.items:
        form = "left out" if not row.retained else "condensed" if row.reduction else "in full"
        yield (
            f"| {row.tier.value.upper()} | `{row.item_id}` | {row.full_cost:,} | {row.cost:,} | {form} "
            f"| `{row.reason.value}` |"
        )


def told(story: jingwei.Why) -> list[str]:
    return [
        f"{row.step.value}: {row.reason}" + (f" ({row.other})" if row.other else "") for row in story.story
    ]


if __name__ == "__main__":
    match composed():
        case jingwei.Success(made):
            print(*table(made.selection), sep="\n")
            for origin in made.selection.origins:
                print(origin.item_id, *told(jingwei.why(made.selection, origin.item_id).unwrap()), sep="; ")
        case jingwei.Failure(failure):
            raise SystemExit(str(failure))
