"""Tables for people: a report, a projection, a diagnosis."""

from collections.abc import Iterable

from rich.console import Group as Shown
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    ModelMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.projection.diagnose import Diagnosis
from jingwei.projection.records import Projection
from jingwei.report.records import BuildReport


def report_table(report: BuildReport) -> RenderableType:
    """What was kept and dropped, every count, and what the request costs."""
    return Shown(_turns(report), _attempts(report), Text(_breakdown(report)))


def projection_table(projection: Projection) -> RenderableType:
    """The turns of a projection and how many events are left out, and why."""
    table = Table(title=f"session {escape(projection.session_id)}: {projection.source_event_count} events")
    for heading in ("turn", "state", "groups", "messages", "bytes"):
        table.add_column(heading, justify="left" if heading in {"turn", "state"} else "right")
    for turn in projection.turns:
        state = turn.state.value + (" (no reply)" if turn.missing_complete_reply else "")
        table.add_row(
            escape(turn.turn_id),
            state,
            str(len(turn.groups)),
            str(turn.message_count),
            f"{turn.canonical_bytes:,}",
        )
    reasons = dict[str, int]()
    for omission in projection.omitted:
        reasons[omission.reason.value] = reasons.get(omission.reason.value, 0) + 1
    left_out = ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "none"
    return Shown(table, Text(f"events left out: {left_out}"))


def diagnosis_table(found: Diagnosis) -> RenderableType:
    """Every violation, one a row."""
    if not found.violations and not found.warnings:
        return Text("nothing is wrong with this log")
    table = Table(title=f"{len(found.violations)} violations, {len(found.warnings)} warnings")
    for heading in ("seq", "event", "turn", "rule", "what"):
        table.add_column(heading)
    for violation in found.violations:
        failure = violation.failure
        table.add_row(
            "" if violation.seq is None else str(violation.seq),
            escape(violation.event_id or ""),
            escape(violation.turn_id or ""),
            violation.rule,
            escape(_what(failure)),
        )
    for warned in found.warnings:
        what = "warning: arguments are no object; no build can send this call"
        table.add_row(str(warned.seq), escape(warned.event_id), escape(warned.turn_id), "M3", what)
    admitted = "" if found.admits is None else "another configuration admits this log (see `admits`)"
    return Shown(table, Text(admitted))


def last_messages(request: GenerationRequest, count: int, room: int = 160) -> RenderableType:
    """The last messages of a request, shortened for reading."""
    table = Table(title=f"the last {count} of {len(request.messages)} messages", show_lines=True)
    table.add_column("role")
    table.add_column("content")
    for message in request.messages[-count:]:
        role, content = _spoken(message)
        shown = content if len(content) <= room else f"{content[:room]}… ({len(content):,} characters)"
        table.add_row(role, escape(shown))
    return table


def _turns(report: BuildReport) -> Table:
    rows = list(report.turns.rows)
    kept = sum(row.retained for row in rows)
    title = f"session {escape(report.session_id)}: {kept} of {len(rows)} turns kept ({report.strategy})"
    table = Table(title=title)
    for heading in ("turn", "what became of it", "pinned", "events"):
        table.add_column(heading, justify="right" if heading == "events" else "left")
    for row in rows:
        fate = "kept" if row.reduction is None else row.reduction.value
        table.add_row(
            escape(row.turn_id),
            f"[green]{fate}[/green]" if row.retained else f"[yellow]{fate}[/yellow]",
            "pinned" if row.protected else "",
            str(len(row.source_events)),
        )
    return table


def _attempts(report: BuildReport) -> Table:
    table = Table(title=f"full counts ({report.search.value} search)")
    for heading in (
        "count",
        "turns dropped",
        "system",
        "messages",
        "constraint",
        "template",
        "with reserve",
        "",
    ):
        table.add_column(heading, justify="right")
    for index, attempt in enumerate(report.attempts, 1):
        tokens = attempt.count.tokens
        fits = attempt.total_reserved <= report.budget.window_tokens
        numbers = (index, attempt.removed_turns, tokens.system, tokens.messages)
        rest = (tokens.constraint, tokens.template, attempt.total_reserved)
        table.add_row(*(f"{n:,}" for n in (*numbers, *rest)), "fits" if fits else "too large")
    return table


def _breakdown(report: BuildReport) -> str:
    budget = report.budget
    if not report.attempts:
        return "nothing was counted"
    last = report.attempts[-1]
    tokens = last.count.tokens
    parts = (
        f"system {tokens.system:,} + messages {tokens.messages:,} + constraint {tokens.constraint:,}"
        f" + template {tokens.template:,} + output reserve {budget.output_reserve:,}"
        f" + margin {budget.safety_margin:,} = {last.total_reserved:,} of {budget.window_tokens:,} tokens"
    )
    return f"{parts}\n{last.count.method} for {report.target.model}: {last.count.evidence.value}"


def _spoken(message: ModelMessage) -> tuple[str, str]:
    match message:
        case SystemMessage(content=content):
            return "system", content
        case UserMessage(content=content):
            return "user", content
        case ToolMessage(content=content):
            return "tool", content
        case AssistantMessage(content=content, tool_calls=calls):
            called: Iterable[str] = (f"{call.name}({call.arguments.text})" for call in calls)
            return "assistant", "\n".join([*([] if content is None else [content]), *called])


def _what(failure: object) -> str:
    reason = getattr(failure, "reason", None)
    name = type(failure).__name__
    return f"{name}: {reason.value}" if reason is not None else str(name)
