"""Tables for people: a report, a projection, a diagnosis."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final, assert_never

from rich.console import Group as Shown
from rich.console import RenderableType
from rich.markup import escape as _escape
from rich.table import Table
from rich.text import Text

from jingwei.cli.describe import Said, say_projection
from jingwei.cli.output import plural
from jingwei.events.failures import DuplicateEventId, WrongSequence, WrongSession
from jingwei.events.writer import EarlierTurns
from jingwei.limits import TOKENS_BOUND
from jingwei.messages.records import (
    AssistantMessage,
    GenerationRequest,
    ModelMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from jingwei.projection.diagnose import Diagnosis, Violation
from jingwei.projection.records import DEFAULT_CONFIG, DamagedTurns, Projection, ProjectionConfig
from jingwei.report.cache import CachePlan
from jingwei.report.records import BuildReport, ExchangeRow, ItemRow, ReportedMarks, SummaryRow, TurnRow
from jingwei.selection.records import Selection

_CONTROLS: Final = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}")


def escape(text: str) -> str:
    """A text of a log as it may stand in a terminal: no markup of ours, no control characters of its own."""
    return _escape(text.translate(_CONTROLS))


def report_table(report: BuildReport) -> RenderableType:
    """What was kept and dropped, every count, what the request costs, and what a prompt cache feels."""
    lines = [_breakdown(report)]
    if report.marks is not None:
        lines.append(_marks(report.marks))
    if report.cache is not None:
        lines.append(_cache(report.cache))
    tables = [_turns(report)]
    if report.exchanges is not None:
        tables.append(_exchanges(report.exchanges))
    if report.summaries is not None:
        tables.append(_summaries(report.summaries))
    if report.items is not None:
        tables.append(_items(report.items))
    if report.selection is not None:
        tables.append(_choice(report.selection))
    return Shown(*tables, _attempts(report), Text("\n".join(lines)))


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
    """Every violation in words, one a row; a run of shifted sequence numbers is one row."""
    if not found.violations and not found.warnings:
        return Text("nothing is wrong with this log")
    counts = [plural(len(found.violations), "violation"), plural(len(found.warnings), "warning")]
    table = Table(title=", ".join(counts), show_lines=True)
    for heading in ("line", "event", "turn", "rule", "what is wrong, and what to do"):
        table.add_column(heading)
    for violations in _folded(found.violations):
        first = violations[0]
        said = _shifted(violations) if len(violations) > 1 else say_projection(first.failure)
        table.add_row(
            _lines(violations),
            escape(first.event_id or ""),
            escape(first.turn_id or ""),
            first.rule,
            escape(f"{said.what}\n→ {said.hint}"),
        )
    for warned in found.warnings:
        what = "warning: the call's arguments are no object; no build can send it"
        line = str(warned.seq + 1)
        table.add_row(line, escape(warned.event_id), escape(warned.turn_id), "M3", what)
    way_out = say_way_out(found)
    return Shown(table, Text(way_out)) if way_out else table


def _folded(violations: Sequence[Violation]) -> list[list[Violation]]:
    """Neighbours whose sequence numbers are off by the same amount, taken together."""
    rows = list[list[Violation]]()
    for violation in violations:
        if rows and _off_by(violation) is not None and _off_by(violation) == _off_by(rows[-1][-1]):
            rows[-1].append(violation)
        else:
            rows.append([violation])
    return rows


def _off_by(violation: Violation) -> int | None:
    failure = violation.failure
    return failure.actual - failure.expected if isinstance(failure, WrongSequence) else None


def _shifted(violations: Sequence[Violation]) -> Said:
    off = _off_by(violations[0]) or 0
    way = f"{abs(off)} too {'high' if off > 0 else 'low'}"
    cause = "missing just before" if off > 0 else "doubled or added just before"
    return Said(
        what=f"{plural(len(violations), 'event')} in a row have a seq that is {way}",
        hint=f"{plural(abs(off), 'event')} {'is' if abs(off) == 1 else 'are'} {cause}: restore the whole log",
    )


def _lines(violations: Sequence[Violation]) -> str:
    """Where they stand in the file, counted from 1; nothing for what concerns the whole log."""
    places = [_line(violations[0]), _line(violations[-1])]
    return "–".join(dict.fromkeys(place for place in places if place))


def _line(violation: Violation) -> str:
    failure = violation.failure
    if isinstance(failure, WrongSession | WrongSequence | DuplicateEventId):
        return str(failure.physical_index + 1)
    return "" if violation.seq is None else str(violation.seq + 1)


def say_way_out(found: Diagnosis) -> str:
    """What can be done with the log, where something can."""
    if found.admits is not None:
        return f"the log is admitted{_admitting(found.admits)}"
    if found.earlier_turns is None:
        return ""
    keep = " --earlier-turns keep" if found.earlier_turns is EarlierTurns.KEEP else ""
    if found.admits_closed is None:
        return f"only its last turn was cut off: `jingwei recover{keep}` appends the events that close it"
    return (
        f"`jingwei recover{keep}` appends the events that close its last turn; "
        f"then the log is admitted{_admitting(found.admits_closed)}"
    )


def _admitting(config: ProjectionConfig) -> str:
    """The options under which the log projects."""
    quarantines = config.damaged_turns is DamagedTurns.QUARANTINE
    what = ", without its damaged turns, with " if quarantines else " with "
    options = {
        "--damaged-turns quarantine": quarantines,
        "--legacy-replies omit": config.legacy_replies is not DEFAULT_CONFIG.legacy_replies,
        f"--max-events {config.max_events}": config.max_events != DEFAULT_CONFIG.max_events,
        f"--max-input-bytes {config.max_input_bytes}": (
            config.max_input_bytes != DEFAULT_CONFIG.max_input_bytes
        ),
        f"--max-messages {config.max_messages}": config.max_messages != DEFAULT_CONFIG.max_messages,
    }
    return what + " ".join(option for option, differs in options.items() if differs)


def last_messages(request: GenerationRequest, count: int, room: int = 160) -> RenderableType:
    """The last messages of a request, shortened for reading."""
    count = min(count, len(request.messages))
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
    kept = sum(row.retained and bool(row.source_events) for row in rows)
    empty = sum(not row.source_events for row in rows)
    last = report.attempts[-1].total_reserved if report.attempts else 0
    verdict = "kept" if last <= report.budget.window_tokens else "left, and that does not fit"
    turns = f"{kept} of {len(rows) - empty} turns {verdict}"
    title = f"session {escape(report.session_id)}: {turns} ({report.strategy})"
    table = Table(title=title)
    for heading in ("turn", "what became of it", "pinned", "events"):
        table.add_column(heading, justify="right" if heading == "events" else "left")
    for row in rows:
        table.add_row(
            escape(row.turn_id),
            _fate(row) if row.source_events else "[green]empty: costs nothing[/green]",
            "pinned" if row.protected else "",
            str(len(row.source_events)),
        )
    return table


def _attempts(report: BuildReport) -> Table:
    table = Table(title=f"full counts ({report.search.value} search)")
    for heading in ("count", "dropped", "system", "messages", "form", "template", "in all", "verdict"):
        table.add_column(heading, justify="right", no_wrap=True)
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


def _exchanges(rows: Sequence[ExchangeRow]) -> Table:
    table = Table(title=f"{plural(len(rows), 'exchange')} of the running turn")
    table.add_column("calls")
    table.add_column("what became of it")
    for row in rows:
        table.add_row(escape(", ".join(row.call_ids)), _fate(row))
    return table


def _summaries(rows: Sequence[SummaryRow]) -> Table:
    title = plural(len(rows), "summary", "summaries")
    table = table_of(title, "summary", "version", "events", "what became of it")
    for row in rows:
        fate = _KEPT if row.applied else "[yellow]its turns stand instead[/yellow]"
        events = f"{row.first_seq}–{row.last_seq}"
        table.add_row(escape(row.summary_id), str(row.version), events, fate)
    return table


def _items(rows: Sequence[ItemRow]) -> Table:
    kept = sum(row.retained for row in rows)
    table = table_of(
        f"{kept} of {plural(len(rows), 'item')} in the request",
        *("item", "tier", "kind", "source", "recall", "before", "after", "what became of it", "why"),
        right=("recall", "before", "after"),
    )
    for row in rows:
        table.add_row(
            escape(row.item_id),
            row.tier.value,
            row.kind.value,
            row.source.value,
            decimal(row.recall_score),
            as_tokens(row.full_cost),
            as_tokens(row.cost),
            _fate(row),
            row.reason.value,
        )
    return table


def _choice(selection: Selection) -> Table:
    title = f"choice by value, {plural(selection.state.available, 'token')} to give"
    headings = ("what", "tier", "worth", "tokens", "chosen", "why")
    table = table_of(title, *headings, right=("worth", "tokens"))
    for row in selection.rows:
        what = f"turn {row.turn_id}" if row.item_id is None else f"item {row.item_id}"
        verdict = "[green]yes[/green]" if row.chosen else "[yellow]no[/yellow]"
        table.add_row(
            escape(what), row.tier.value, decimal(row.worth), f"{row.cost:,}", verdict, row.reason.value
        )
    return table


_KEPT: Final = "[green]kept[/green]"


def table_of(title: str, *headings: str, right: Sequence[str] = ()) -> Table:
    """An empty table; columns named in `right` hold numbers."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left")
    return table


def as_tokens(number: int | None) -> str:
    """A number of tokens; `?` where the counter says none."""
    return "?" if number is None else f"{number:,}"


def decimal(number: Fraction) -> str:
    """An exact number as people read it: at most three places; its size alone where it is beyond reading."""
    if abs(number) >= TOKENS_BOUND:
        return "beyond 2^64"
    thousandths = round(abs(number) * 1000)
    whole, rest = divmod(thousandths, 1000)
    sign = "-" if number < 0 and thousandths else ""
    return f"{sign}{whole:,}" + (f".{rest:03d}".rstrip("0") if rest else "")


def _fate(row: TurnRow | ExchangeRow | ItemRow) -> str:
    fate = "kept" if row.reduction is None else row.reduction.value
    return f"[green]{fate}[/green]" if row.retained else f"[yellow]{fate}[/yellow]"


def _marks(marks: ReportedMarks) -> str:
    cut = "nothing of the history is kept" if marks.cut is None else f"kept from turn {plain(marks.cut)!r} on"
    broke = "; the window asked for more, so the prefix breaks for this request" if marks.broke else ""
    return (
        f"marks {marks.high:,} and {marks.low:,}: {cut}, {marks.kept_cost:,} tokens of history; "
        f"the cut has moved {plural(marks.moves, 'time')}{broke}"
    )


def _cache(plan: CachePlan) -> str:
    served = f"{plural(plan.common_messages, 'message')} in common with the previous request"
    if plan.common_tokens is not None and plan.written_tokens is not None:
        served += f" ({plan.common_tokens:,} tokens), {plan.written_tokens:,} tokens written anew"
    if plan.reason is None:
        return f"cache: {served}; all of the previous request is in it"
    broke = f"cache: {served}; message {plan.changed_at} differs: {plan.reason.value}"
    if plan.pays_after is None:
        return broke
    return (
        f"{broke}; {plan.rewritten_tokens:,} tokens are written once more and {plan.freed_tokens:,} are not "
        f"sent any more, which pays after {plural(plan.pays_after, 'further request')}"
    )


def plain(text: str) -> str:
    """A text of a log in a line without markup."""
    return text.translate(_CONTROLS)


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
        case _:
            assert_never(message)
