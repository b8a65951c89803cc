"""Options that more than one command has, and those of `build`: a name, a range, and what to say of it."""

from typing import Annotated, TypeAlias

import typer

from jingwei.cli.strategies import StrategyName
from jingwei.projection.records import DamagedTurns, LegacyReplies
from jingwei.selection.search import Search

Log: TypeAlias = Annotated[
    str, typer.Argument(metavar="LOG", help="A session log (JSON Lines); - for standard input.")
]
LogOrNone: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="LOG", help="A session log (JSON Lines); - for standard input; without one, no history."
    ),
]
Session: TypeAlias = Annotated[
    str | None,
    typer.Option("--session", help="The session the log must belong to; default: its first event's."),
]
Pretty: TypeAlias = Annotated[bool, typer.Option("--pretty", help="A table for people instead of JSON.")]

Legacy: TypeAlias = Annotated[
    LegacyReplies, typer.Option("--legacy-replies", help="Successful turns without a reply (P6).")
]
Damaged: TypeAlias = Annotated[
    DamagedTurns,
    typer.Option("--damaged-turns", help="Turns that break a rule: refuse the log, or leave them out (P14)."),
]
MaxEvents: TypeAlias = Annotated[int, typer.Option("--max-events", min=1, help="Events of the log.")]
MaxBytes: TypeAlias = Annotated[
    int, typer.Option("--max-input-bytes", min=1, help="Canonical bytes of the events.")
]
MaxMessages: TypeAlias = Annotated[
    int, typer.Option("--max-messages", min=1, help="Messages of the projection.")
]

Window: TypeAlias = Annotated[
    int, typer.Option("--window", min=1, help="Tokens that input and output may take together.")
]
Reserve: TypeAlias = Annotated[int, typer.Option("--reserve", min=1, help="Tokens kept free for the answer.")]
Margin: TypeAlias = Annotated[int, typer.Option("--margin", min=0, help="Tokens kept free besides.")]
System: TypeAlias = Annotated[
    list[str] | None, typer.Option("--system", help="A system text; may be given again.")
]
HighMark: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--high-mark",
        min=1,
        help="stable_prefix: tokens of history that may stand behind the cut; "
        "default: three quarters of what window less reserve and margin leave.",
    ),
]
LowMark: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--low-mark",
        help="stable_prefix: tokens of history to which a move cuts down; "
        "up to 1 a share of the high mark (0.7).",
    ),
]
ReduceCurrent: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--reduce-current",
        help="Where the history is not enough, shorten finished exchanges of the running turn too (R6).",
    ),
]

Current: TypeAlias = Annotated[
    str | None, typer.Option("--current", help="The user's words of the running turn.")
]
CurrentFromOpen: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--current-from-open",
        help="Take the turn at the log's end that is not closed as current: its user message, "
        "and its finished tool exchanges.",
    ),
]
Spec: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--spec", help="JSON file with the keys of the batch contract's `build` op; - for standard input."
    ),
]
Model: TypeAlias = Annotated[
    str, typer.Option("--model", help="Target model, for the report and the counter.")
]
Template: TypeAlias = Annotated[str, typer.Option("--template", help="Target template revision.")]
SystemFrom: TypeAlias = Annotated[
    str | None,
    typer.Option("--system-from", help="An import report, whose system texts stand in front."),
]
Pin: TypeAlias = Annotated[
    list[str] | None, typer.Option("--pin", help="A turn that must stay; may be given again.")
]
OneStrategy: TypeAlias = Annotated[
    StrategyName, typer.Option("--strategy", help="What is left out first (R1, R2, R4).")
]
Previous: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--previous",
        metavar="REPORT.json",
        help="The report of the last request, or the output of `build`: what a prompt cache will feel (B9).",
    ),
]
HowToSearch: TypeAlias = Annotated[
    Search, typer.Option("--search", help="How the fewest steps are looked for.")
]

SpecFile: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="SPEC.json",
        help="JSON file with the keys of the `compose` op besides its history; - for standard input.",
    ),
]
PreviousState: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--previous-state",
        metavar="FILE",
        help="The state of the last choice, or the output of `compose`: what it left out stays out (R3).",
    ),
]

LastReport: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="REPORT.json", help="The last request's report, or the output of `compose` or `build`."
    ),
]
ExpectedTokens: TypeAlias = Annotated[
    int | None,
    typer.Option("--expected-tokens", min=0, help="Of the next input; default: the report's last count."),
]
Threshold: TypeAlias = Annotated[
    str, typer.Option("--threshold", help="Share of the window that the input may take.")
]
ResultCap: TypeAlias = Annotated[
    int, typer.Option("--result-cap", metavar="BYTES", help="Of one recorded result.")
]
StaleAfter: TypeAlias = Annotated[
    int, typer.Option("--stale-turns", help="Turns without a reference after which an item is stale.")
]
Unused: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--unused", metavar="ITEM=TURNS", help="Turns without a reference to ITEM; may be given again."
    ),
]
StageBefore: TypeAlias = Annotated[
    str | None, typer.Option("--stage-before", help="The stage of the plan at the last request.")
]
StageNow: TypeAlias = Annotated[
    str | None, typer.Option("--stage-now", help="The stage now; without it the plan has ended.")
]
QualityFell: TypeAlias = Annotated[bool, typer.Option("--quality-fell", help="The answers became worse.")]

Composed: TypeAlias = Annotated[
    str, typer.Argument(metavar="COMPOSED.json", help="The output of `compose`; - for standard input.")
]
Item: TypeAlias = Annotated[
    str, typer.Argument(metavar="ITEM", help="The id of an item; memory:ID for a memory.")
]
Sentences: TypeAlias = Annotated[bool, typer.Option("--pretty", help="Sentences for people instead of JSON.")]
FirstReport: TypeAlias = Annotated[
    str, typer.Argument(metavar="A.json", help="A report, or the output of `build` or `compose`.")
]
SecondReport: TypeAlias = Annotated[str, typer.Argument(metavar="B.json", help="A later one.")]
