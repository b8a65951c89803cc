"""From a tool's result to what a model is shown of it (rules T2, T3): pure, and told what to store first."""

from typing import TypeAlias, assert_never

import attrs

from jingwei.events.records import ToolFailed, ToolOutcome, ToolSucceeded
from jingwei.ids import EventId, is_blank
from jingwei.jsontext import has_surrogate, utf8_bytes
from jingwei.limits import (
    PREVIEW_BYTES,
    PREVIEW_INLINE_BYTES,
    RESULT_CODE_BYTES_MAX,
    RESULT_SHOWN_BYTES_MAX,
    TOKENS_BOUND,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.ports import ContentRef
from jingwei.results.failures import (
    InvalidResult,
    InvalidResultPolicy,
    InvalidResultReason,
    ReferenceMismatch,
    ResultPolicyProblem,
)
from jingwei.results.recorded import prefix_of
from jingwei.results.records import (
    ResultChoice,
    ResultChooser,
    ResultPolicy,
    ResultView,
    ShowCondensed,
    ShownFailure,
    ShownOutcome,
    ShownSuccess,
    ShowPrefix,
    ShowWhole,
    ToStore,
    ViewedResult,
    ViewFallback,
    ViewForm,
    body_of,
)


def result_policy(
    *,
    inline_bytes: int = PREVIEW_INLINE_BYTES,
    preview_bytes: int = PREVIEW_BYTES,
    max_shown_bytes: int = RESULT_SHOWN_BYTES_MAX,
) -> Outcome[ResultPolicy, InvalidResultPolicy]:
    """A policy whose sizes agree (see `ResultPolicy`), or the first one that does not."""
    problem = ResultPolicyProblem
    checks = (
        (inline_bytes < 1, problem.ZERO_INLINE, inline_bytes, 1),
        (preview_bytes < 0, problem.NEGATIVE_PREVIEW, preview_bytes, 0),
        (preview_bytes > inline_bytes, problem.PREVIEW_OVER_INLINE, preview_bytes, inline_bytes),
        (inline_bytes > max_shown_bytes, problem.INLINE_OVER_SHOWN, inline_bytes, max_shown_bytes),
    )
    for wrong, what, actual, bound in checks:
        if wrong:
            return Failure(InvalidResultPolicy(problem=what, actual=actual, bound=bound))
    return Success(
        ResultPolicy(inline_bytes=inline_bytes, preview_bytes=preview_bytes, max_shown_bytes=max_shown_bytes)
    )


def view_result(
    outcome: ToolOutcome,
    *,
    call_seq: int,
    name: str,
    source_event: EventId,
    policy: ResultPolicy,
    chooser: ResultChooser | None = None,
) -> Outcome[ViewedResult, InvalidResult]:
    """What a model is shown of a result, and what the shell stores before a request refers to it (T3).

    A choice that cannot be followed never fails, since the tool has run by now: what the policy shows is
    shown instead (the whole text, or its preview), and `fallback` says why. An exception that a chooser
    raises is not swallowed.

    Args:
        outcome: as recorded; how it ended is copied, and nothing chosen can change it (T2).
        call_seq: the place of the call's event in the log.
        name: the tool.
        source_event: the event of the result.
        policy: the sizes; chooses too, where nobody else does.
        chooser: chooses for this result.
    """
    invalid = _invalid(outcome, call_seq, name, source_event)
    if invalid is not None:
        return Failure(invalid)
    shown = _shown(body_of(outcome), (chooser or policy).choose(name, outcome), policy)
    return Success(_viewed(shown, outcome, call_seq, name, source_event))


def shown_outcome(outcome: ToolOutcome) -> ShownOutcome:
    """How a tool ended, in its own words (T2); of a code without end the beginning, and its size."""
    match outcome:
        case ToolSucceeded():
            return ShownSuccess()
        case ToolFailed(category=category, code=code, retryable=retryable):
            size = utf8_bytes(code)
            return ShownFailure(
                category=category,
                code=prefix_of(code, RESULT_CODE_BYTES_MAX),
                code_bytes=size if size > RESULT_CODE_BYTES_MAX else None,
                retryable=retryable,
            )
        case _:
            assert_never(outcome)


def with_reference(view: ResultView, reference: ContentRef) -> Outcome[ResultView, ReferenceMismatch]:
    """The view to be recorded once its text is stored, which gives the model its handle.

    A view of the whole text needs none and stays as it is. Fails where the reference is to another source,
    or to a text of another size.
    """
    if reference.source_event == view.source_event and reference.total_bytes == view.total_bytes:
        told = view.truncated
        return Success(attrs.evolve(view, stored=told, reference=reference if told else None))
    return Failure(
        ReferenceMismatch(
            expected_source=view.source_event,
            actual_source=reference.source_event,
            expected_bytes=view.total_bytes,
            actual_bytes=reference.total_bytes,
        )
    )


def without_handle(view: ResultView) -> ResultView:
    """The view where nothing is stored: the store refused, or there is none. Its text stays as it is."""
    return attrs.evolve(view, stored=False, reference=None)


_Shown: TypeAlias = tuple[ViewForm, str, ViewFallback | None]


def _shown(body: str, choice: ResultChoice, policy: ResultPolicy) -> _Shown:
    """What is shown of a text; what the policy shows of it where the choice cannot be followed."""
    problem = _problem(body, choice, policy)
    if problem is not None:
        whole = utf8_bytes(body) <= min(policy.inline_bytes, policy.max_shown_bytes)
        room = utf8_bytes(body) if whole else min(policy.preview_bytes, policy.max_shown_bytes)
        return (*_cut(body, room), problem)
    match choice:
        case ShowWhole():
            return ViewForm.WHOLE, body, None
        case ShowPrefix(max_bytes=max_bytes):
            return (*_cut(body, max_bytes), None)
        case ShowCondensed(text=text):
            return ViewForm.CONDENSED, text, None
        case _:
            assert_never(choice)


def _problem(body: str, choice: ResultChoice, policy: ResultPolicy) -> ViewFallback | None:
    total = utf8_bytes(body)
    match choice:
        case ShowWhole():
            shown = total
        case ShowPrefix(max_bytes=max_bytes):
            if max_bytes < 0:
                return ViewFallback.NEGATIVE_PREFIX
            shown = min(max_bytes, total)
        case ShowCondensed(text=text):
            if has_surrogate(text):
                return ViewFallback.LONE_SURROGATE
            if is_blank(text):
                return ViewFallback.BLANK_CONDENSED
            shown = utf8_bytes(text)
            if shown >= total:
                return ViewFallback.NOT_SMALLER
        case _:
            assert_never(choice)
    return ViewFallback.OVER_LIMIT if shown > policy.max_shown_bytes else None


def _cut(body: str, max_bytes: int) -> tuple[ViewForm, str]:
    text = prefix_of(body, max_bytes)
    return (ViewForm.WHOLE if text == body else ViewForm.PREFIX), text


def _viewed(
    shown: _Shown, outcome: ToolOutcome, call_seq: int, name: str, source_event: EventId
) -> ViewedResult:
    form, text, fallback = shown
    body, whole = body_of(outcome), form is ViewForm.WHOLE
    view = ResultView(
        call_seq=call_seq,
        source_event=source_event,
        name=name,
        outcome=shown_outcome(outcome),
        form=form,
        text=text,
        total_bytes=utf8_bytes(body),
        fallback=fallback,
        stored=not whole,
    )
    return ViewedResult(view=view, to_store=None if whole else ToStore(source_event=source_event, text=body))


def _invalid(outcome: ToolOutcome, call_seq: int, name: str, source_event: EventId) -> InvalidResult | None:
    reason = InvalidResultReason
    if is_blank(source_event):
        return InvalidResult(reason=reason.BLANK_SOURCE, field="source_event")
    if is_blank(name):
        return InvalidResult(reason=reason.BLANK_NAME, field="name")
    if not 0 <= call_seq < TOKENS_BOUND:
        return InvalidResult(reason=reason.SEQ_OUT_OF_RANGE, field="call_seq")
    texts = {"source_event": source_event, "name": name, "outcome": body_of(outcome)}
    if isinstance(outcome, ToolFailed):
        texts["code"] = outcome.code
    for field, text in texts.items():
        if has_surrogate(text):
            return InvalidResult(reason=reason.LONE_SURROGATE, field=field)
    return None
