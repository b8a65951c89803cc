"""`jingwei simulate`: a session replayed call by call under several strategies (rules R2, B9)."""

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Final

import typer
from rich.table import Table
from tqdm import tqdm

from jingwei.cli import options
from jingwei.cli.describe import Said, say_build, say_projection
from jingwei.cli.exits import Exit, build_exit
from jingwei.cli.files import whole
from jingwei.cli.output import emit, fail, note, plural, show
from jingwei.cli.plot import check_plot, save_plot
from jingwei.cli.reading import decoded, session_of
from jingwei.cli.strategies import Marks, StrategyName, decimal_of, strategies_of
from jingwei.events.records import ModelRequestEvent, SessionLog
from jingwei.ids import SessionId
from jingwei.jsontext import JsonValue
from jingwei.outcome import Failure
from jingwei.projection.records import DEFAULT_CONFIG, ProjectionConfig
from jingwei.report.cache import CachePrices
from jingwei.report.failure_values import build_failure_value, projection_failure_value
from jingwei.request.counting import ByteHeuristicCounter
from jingwei.request.records import BuildLimits, ContextBudget, ContextTarget
from jingwei.request.remembering import RememberingCounter
from jingwei.selection.strategies import Strategy
from jingwei.simulate import SimulatedCall, SimulationInputs, StrategySummary, simulate, summaries

_BOUND: Final = 2**62
"""No bound at all: the log lies in memory already."""


def simulate_command(
    log: options.Log,
    strategy: Annotated[
        list[StrategyName] | None,
        typer.Option("--strategy", help="May be given again; default: oldest_turn_first, stable_prefix."),
    ] = None,
    window: options.Window = 8192,
    reserve: options.Reserve = 1024,
    margin: options.Margin = 0,
    system: options.System = None,
    high_mark: options.HighMark = None,
    low_mark: options.LowMark = None,
    reduce_current: options.ReduceCurrent = False,
    read_price: Annotated[
        str, typer.Option("--read-price", help="Of a token that the cache serves; a plain one costs 1.")
    ] = "0.1",
    write_price: Annotated[
        str, typer.Option("--write-price", help="Of a token that is written anew.")
    ] = "1.25",
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Save a plot too: .png, .svg or .pdf; needs jingwei\\[plot]."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    session: options.Session = None,
    legacy_replies: options.Legacy = DEFAULT_CONFIG.legacy_replies,
    damaged_turns: options.Damaged = DEFAULT_CONFIG.damaged_turns,
) -> None:
    """Replay a session, a call at each model_request event, and say what a prompt cache would have served.

    Each strategy builds each request from what the log held then. Counts are estimates (bytes / 4).
    """
    prices = _prices(read_price, write_price)
    if plot is not None:
        check_plot(plot)
    budget = ContextBudget(window_tokens=window, output_reserve=reserve, safety_margin=margin)
    counter = RememberingCounter(ByteHeuristicCounter())
    names = strategy or [StrategyName.OLDEST_TURN_FIRST, StrategyName.STABLE_PREFIX]
    chosen = strategies_of(names, Marks(high=high_mark, low=low_mark), budget, counter)
    inputs = SimulationInputs(
        target=ContextTarget(model="unspecified", template_revision="unspecified"),
        budget=budget,
        system=tuple(system or ()),
        limits=BuildLimits(max_input_bytes=_BOUND, max_groups=_BOUND, max_turns=_BOUND, max_messages=_BOUND),
        config=ProjectionConfig(
            legacy_replies=legacy_replies,
            damaged_turns=damaged_turns,
            max_events=_BOUND,
            max_input_bytes=_BOUND,
            max_messages=_BOUND,
        ),
        reduce_current=reduce_current,
    )
    held = decoded(whole(log))
    session_id = session_of(held, session)
    calls = _calls(session_id, held, inputs, counter, chosen)
    found = summaries(calls, prices)
    if as_json:
        emit(_value(found, calls, prices))
    else:
        show(_table(found, prices))
    _tell_refused(calls)
    if plot is not None:
        save_plot(calls, prices, f"session {session_id}, a window of {window:,} tokens", plot)


def _prices(read: str, write: str) -> CachePrices:
    prices = CachePrices(read=_price("--read-price", read), write=_price("--write-price", write))
    if not 0 < prices.read <= prices.write:
        hint = "prices are shares of a plain token: --read-price 0.1 --write-price 1.25"
        fail(Said(what=f"prices: expected 0 < read <= write, met {read} and {write}", hint=hint), Exit.USAGE)
    return prices


def _price(option: str, text: str) -> Fraction:
    number = decimal_of(text)
    if number is None:
        hint = "prices are shares of a plain token, written as decimals: 0.1, 1.25"
        fail(Said(what=f"{option}: expected a number of at least 0, met {text!r}", hint=hint), Exit.USAGE)
    return number


def _calls(
    session_id: SessionId,
    log: SessionLog,
    inputs: SimulationInputs,
    counter: RememberingCounter,
    strategies: Sequence[Strategy],
) -> list[SimulatedCall]:
    """Every call; ends the command where the log breaks a rule, holds none, or allows none."""
    total = len(strategies) * sum(isinstance(event.kind, ModelRequestEvent) for event in log.events)
    calls = list[SimulatedCall]()
    with tqdm(total=total, unit="request", leave=False, disable=None, file=sys.stderr) as bar:
        for call in simulate(session_id, log, inputs, counter, strategies):
            match call:
                case Failure(why):
                    bar.close()
                    fail(say_projection(why), Exit.LOG, projection_failure_value(why))
                case made:
                    calls.append(made)
                    bar.update()
    if not calls:
        hint = "a request is built at each model_request event: a log without this audit cannot be replayed"
        fail(Said(what="the log holds no model_request event", hint=hint), Exit.INPUT)
    refused = [call.refused for call in calls if call.refused is not None]
    if len(refused) == len(calls):
        fail(say_build(refused[0]), build_exit(refused[0]), build_failure_value(refused[0]))
    return calls


def _tell_refused(calls: Sequence[SimulatedCall]) -> None:
    refused = [(call.seq, call.refused) for call in calls if call.refused is not None]
    for seq, why in refused[:1]:
        many = f"{plural(len(refused), 'request')} of {len(calls):,} could not be built"
        note(f"jingwei: {many}; the first, at seq {seq}: {say_build(why).what}")


def _table(found: Sequence[StrategySummary], prices: CachePrices) -> Table:
    read, write = float(prices.read), float(prices.write)
    table = Table(
        title=f"{plural(found[0].calls, 'call')} of the model; "
        f"a token costs {read:g} when read, {write:g} when written"
    )
    table.add_column("strategy")
    for heading in ("prefix breaks", "cache serves", "mean request", "cost", "of the first"):
        table.add_column(heading, justify="right")
    for row in found:
        table.add_row(
            row.strategy,
            f"{row.breaks:,}",
            f"{float(row.hit_share):.1%}",
            f"{round(row.mean_request):,}",
            f"{round(row.cost):,}",
            f"{float(row.cost / found[0].cost):.2f}" if found[0].cost else "",
        )
    return table


def _value(
    found: Sequence[StrategySummary], calls: Sequence[SimulatedCall], prices: CachePrices
) -> JsonValue:
    return {
        "prices": {
            "read": [prices.read.numerator, prices.read.denominator],
            "write": [prices.write.numerator, prices.write.denominator],
        },
        "strategies": [
            {
                "strategy": row.strategy,
                "calls": row.calls,
                "refused": row.refused,
                "breaks": row.breaks,
                "tokens": row.tokens,
                "served": row.served,
                "hit_share": float(row.hit_share),
                "mean_request": float(row.mean_request),
                "cost": float(row.cost),
            }
            for row in found
        ],
        "calls": [
            {
                "seq": call.seq,
                "strategy": call.strategy,
                "tokens": call.tokens,
                "served": call.served,
                "reason": None if call.reason is None else call.reason.value,
                "refused": None if call.refused is None else type(call.refused).__name__,
            }
            for call in calls
        ],
    }
