"""A built request, looked at again: for another target, counter or budget (rule B11)."""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.build import BuiltContext, count_failure, digest, range_failure, target_failure
from jingwei.messages.records import GenerationRequest
from jingwei.messages.wire import constraint_text, message_text
from jingwei.outcome import Failure, Outcome, Success
from jingwei.report.failures import (
    CounterFailed,
    InvalidInput,
    Overflow,
    UnverifiedCount,
)
from jingwei.report.records import BuildReport
from jingwei.request.counting import CountRefused, TokenCounter
from jingwei.request.records import (
    ContextBudget,
    ContextTarget,
    TokenCount,
)


@final
class ReportChange(enum.Enum):
    """What differs from what a report speaks of: any of these makes it invalid (B11)."""

    MODEL = "model"
    TEMPLATE_REVISION = "template_revision"
    MESSAGES = "messages"
    CONSTRAINT = "constraint"
    OUTPUT_RESERVE = "output_reserve"
    OUTPUT_EVIDENCE = "output_evidence"


@final
class Verdict(enum.Enum):
    """Whether a request is within a budget."""

    FITS = "fits"
    EXCEEDS = "exceeds"


@final
@attrs.frozen(kw_only=True)
class Reverified:
    """A request counted again.

    Attributes:
        verdict: whether it fits now.
        count: what the counter said.
        total_reserved: its total plus output reserve plus safety margin, to hold against the window.
        changed: why the old report does not speak of this request and target any more; empty while
            it still does.
    """

    verdict: Verdict
    count: TokenCount
    total_reserved: int
    changed: tuple[ReportChange, ...]


ReverifyFailure: TypeAlias = UnverifiedCount | CounterFailed | Overflow | InvalidInput
"""Why a request could not be counted again."""


def reverify(
    built: BuiltContext, target: ContextTarget, counter: TokenCounter, budget: ContextBudget
) -> Outcome[Reverified, ReverifyFailure]:
    """Count a built request once, whole, under the same rules as a build counts (B4, B5, B11).

    Nothing is trimmed: a request that no longer fits is said not to fit, and is built again by the
    host from its history.
    """
    refused = target_failure(target, budget) or range_failure(budget)
    if refused is not None:
        return Failure(refused)
    match counter.count(target, built.request):
        case Failure(CountRefused(reason=reason)):
            return Failure(CounterFailed(reason=reason, report=None))
        case Success(count):
            failure = count_failure(count, target, budget)
            if failure is not None:
                return Failure(failure)
            total = count.tokens.total + budget.reserved
            return Success(
                Reverified(
                    verdict=Verdict.FITS if total <= budget.window_tokens else Verdict.EXCEEDS,
                    count=count,
                    total_reserved=total,
                    changed=report_changes(built.report, built.request, target, budget),
                )
            )


def report_changes(
    report: BuildReport, request: GenerationRequest, target: ContextTarget, budget: ContextBudget
) -> tuple[ReportChange, ...]:
    """Every reason why a report says nothing of this request, target and output option (B11)."""
    sent = [message.digest for message in report.sent]
    differs = {
        ReportChange.MODEL: target.model != report.target.model,
        ReportChange.TEMPLATE_REVISION: target.template_revision != report.target.template_revision,
        ReportChange.MESSAGES: [digest(message_text(m)) for m in request.messages] != sent,
        ReportChange.CONSTRAINT: digest(constraint_text(request.constraint)) != report.constraint_digest,
        ReportChange.OUTPUT_RESERVE: budget.output_reserve != report.budget.output_reserve,
        ReportChange.OUTPUT_EVIDENCE: budget.output_evidence != report.budget.output_evidence,
    }
    return tuple([change for change, is_so in differs.items() if is_so])
