"""Views of one result: cases V03 and V06, policies, choices, references."""

from typing import final

import attrs
import pytest

from jingwei.events.records import ToolFailed, ToolFailureCategory, ToolOutcome, ToolSucceeded
from jingwei.ids import EventId, SessionId, StoreId, TaskId
from jingwei.outcome import Failure
from jingwei.ports import ContentRef, ContentScope
from jingwei.results.failures import (
    InvalidResult,
    InvalidResultPolicy,
    InvalidResultReason,
    ReferenceMismatch,
    ResultPolicyProblem,
)
from jingwei.results.records import (
    DEFAULT_POLICY,
    ResultChoice,
    ResultPolicy,
    ResultView,
    ShowCondensed,
    ShownFailure,
    ShownSuccess,
    ShowPrefix,
    ShowWhole,
    ToStore,
    ViewedResult,
    ViewFallback,
    ViewForm,
)
from jingwei.results.view import result_policy, shown_outcome, view_result, with_reference, without_handle
from jingwei.results.wire import read_view, view_payload

TEXT = "中文🐦 ignore instructions /etc/passwd"
CANCELLED = ToolFailed(
    category=ToolFailureCategory.CANCELLED, code="cancelled", message="failure detail", retryable=False
)
SMALL = ResultPolicy(inline_bytes=12, preview_bytes=7, max_shown_bytes=20)


@final
@attrs.frozen
class Chooses:
    choice: ResultChoice

    def choose(self, name: str, outcome: ToolOutcome) -> ResultChoice:
        return self.choice


def viewed(
    outcome: ToolOutcome, policy: ResultPolicy = SMALL, choice: ResultChoice | None = None
) -> ViewedResult:
    return view_result(
        outcome,
        call_seq=1,
        name="look",
        source_event=EventId("e"),
        policy=policy,
        chooser=None if choice is None else Chooses(choice),
    ).unwrap()


def test_a_unicode_text_is_previewed_and_stored_whole() -> None:
    """V03: twice the same; `中文` of 7 bytes; the outcome is unchanged and the view survives JSON."""
    outcome = ToolSucceeded(output=TEXT)

    first = viewed(outcome)

    assert first == viewed(outcome)
    assert ("中文", True, len(TEXT.encode())) == (
        first.view.text,
        first.view.truncated,
        first.view.total_bytes,
    )
    assert ToStore(source_event=EventId("e"), text=TEXT) == first.to_store
    assert EventId("e") == first.view.handle
    assert ToolSucceeded(output=TEXT) == outcome
    assert first.view == read_view(view_payload(first.view).value())
    assert 1 == first.view.algorithm_version


def test_the_facts_of_a_failure_are_kept_where_nothing_of_its_text_is() -> None:
    """V06a: a preview of no bytes, and a handle to the rest."""
    policy = result_policy(inline_bytes=6, preview_bytes=0, max_shown_bytes=6).unwrap()

    made = viewed(CANCELLED, policy)

    facts = ShownFailure(category=ToolFailureCategory.CANCELLED, code="cancelled", retryable=False)
    assert facts == made.view.outcome
    assert ("", EventId("e")) == (made.view.text, made.view.handle)


def test_a_text_within_the_limit_is_shown_whole() -> None:
    """V06b."""
    made = viewed(CANCELLED, SMALL, ShowWhole())

    assert (False, None, None) == (made.view.truncated, made.to_store, made.view.handle)


def test_a_text_beyond_the_limit_is_a_policy_mistake_or_a_preview_and_never_a_late_failure() -> None:
    """V06c, where the upstream fails after the tool has run."""
    refused = result_policy(max_shown_bytes=3)
    policy = result_policy(inline_bytes=3, preview_bytes=2, max_shown_bytes=3).unwrap()

    made = viewed(CANCELLED, policy, ShowWhole()).view

    problem = ResultPolicyProblem.INLINE_OVER_SHOWN
    assert Failure(InvalidResultPolicy(problem=problem, actual=4096, bound=3)) == refused
    assert ("fa", ViewForm.PREFIX, ViewFallback.OVER_LIMIT) == (made.text, made.form, made.fallback)


@pytest.mark.parametrize(
    ("problem", "inline", "preview", "shown"),
    [
        (ResultPolicyProblem.ZERO_INLINE, 0, 0, 9),
        (ResultPolicyProblem.NEGATIVE_PREVIEW, 1, -1, 9),
        (ResultPolicyProblem.PREVIEW_OVER_INLINE, 1, 2, 9),
        (ResultPolicyProblem.INLINE_OVER_SHOWN, 9, 2, 8),
    ],
)
def test_sizes_that_do_not_agree_are_no_policy(
    problem: ResultPolicyProblem, inline: int, preview: int, shown: int
) -> None:
    refused = result_policy(inline_bytes=inline, preview_bytes=preview, max_shown_bytes=shown).failure()

    assert problem is refused.problem


@pytest.mark.parametrize(
    ("expected", "choice"),
    [
        ((ViewForm.WHOLE, "0123456789abc", None), ShowWhole()),
        ((ViewForm.PREFIX, "012", None), ShowPrefix(max_bytes=3)),
        ((ViewForm.WHOLE, "0123456789abc", None), ShowPrefix(max_bytes=10**40)),
        ((ViewForm.CONDENSED, "digits", None), ShowCondensed(text="digits")),
        ((ViewForm.PREFIX, "0123456", ViewFallback.NEGATIVE_PREFIX), ShowPrefix(max_bytes=-1)),
        ((ViewForm.PREFIX, "0123456", ViewFallback.BLANK_CONDENSED), ShowCondensed(text=" ")),
        ((ViewForm.PREFIX, "0123456", ViewFallback.NOT_SMALLER), ShowCondensed(text="d" * 13)),
        ((ViewForm.PREFIX, "0123456", ViewFallback.LONE_SURROGATE), ShowCondensed(text="\ud800")),
    ],
)
def test_a_choice_is_followed_or_the_policy_shows_its_own(
    expected: tuple[ViewForm, str, ViewFallback | None], choice: ResultChoice
) -> None:
    made = viewed(ToolSucceeded(output="0123456789abc"), SMALL, choice).view

    assert expected == (made.form, made.text, made.fallback)


def test_a_small_text_is_shown_whole_where_a_choice_cannot_be_followed() -> None:
    made = viewed(ToolSucceeded(output="0123456789"), SMALL, ShowCondensed(text=""))

    assert (ViewForm.WHOLE, ViewFallback.BLANK_CONDENSED) == (made.view.form, made.view.fallback)
    assert made.to_store is None


def test_a_condensed_text_over_the_limit_is_not_shown() -> None:
    made = viewed(ToolSucceeded(output="o" * 90), SMALL, ShowCondensed(text="d" * 21)).view

    assert ("ooooooo", ViewFallback.OVER_LIMIT) == (made.text, made.fallback)


def test_sizes_made_by_hand_that_do_not_agree_show_no_more_than_all_of_them_allow() -> None:
    policy = ResultPolicy(inline_bytes=9, preview_bytes=9, max_shown_bytes=-4)

    assert "" == viewed(ToolSucceeded(output="text"), policy).view.text


def test_a_long_code_is_shown_by_its_beginning_and_its_size() -> None:
    failed = attrs.evolve(CANCELLED, code="码" * 100)

    shown = shown_outcome(failed)

    assert isinstance(shown, ShownFailure)
    assert ("码" * 85, 300) == (shown.code, shown.code_bytes)
    assert ShownSuccess() == shown_outcome(ToolSucceeded(output=""))


@pytest.mark.parametrize(
    ("reason", "field", "change"),
    [
        (InvalidResultReason.BLANK_SOURCE, "source_event", {"source_event": EventId("")}),
        (InvalidResultReason.BLANK_NAME, "name", {"name": " "}),
        (InvalidResultReason.SEQ_OUT_OF_RANGE, "call_seq", {"call_seq": -1}),
        (InvalidResultReason.SEQ_OUT_OF_RANGE, "call_seq", {"call_seq": 2**64}),
        (InvalidResultReason.LONE_SURROGATE, "source_event", {"source_event": EventId("\ud800")}),
        (InvalidResultReason.LONE_SURROGATE, "name", {"name": "\udfff"}),
        (InvalidResultReason.LONE_SURROGATE, "outcome", {"outcome": ToolSucceeded(output="\ud800")}),
        (InvalidResultReason.LONE_SURROGATE, "code", {"outcome": attrs.evolve(CANCELLED, code="\ud800")}),
    ],
)
def test_what_no_log_can_hold_has_no_view(
    reason: InvalidResultReason, field: str, change: dict[str, object]
) -> None:
    good: dict[str, object] = {"outcome": CANCELLED, "call_seq": 1, "name": "look", "source_event": "e"}
    given = {**good, **change}

    refused = view_result(given.pop("outcome"), policy=SMALL, **given)  # type: ignore[arg-type]

    assert Failure(InvalidResult(reason=reason, field=field)) == refused


def reference(source: str, total: int) -> ContentRef:
    scope = ContentScope(session_id=SessionId("s"), task_id=TaskId("t"), expires_at_ms=1000)
    return ContentRef(store_id=StoreId("store"), source_event=EventId(source), scope=scope, total_bytes=total)


def test_a_reference_is_recorded_and_a_wrong_one_refused() -> None:
    """The store must have kept what it was told to keep."""
    view = without_handle(viewed(ToolSucceeded(output=TEXT)).view)
    total = view.total_bytes

    told = with_reference(view, reference("e", total)).unwrap()

    assert (EventId("e"), reference("e", total)) == (told.handle, told.reference)
    assert told == read_view(view_payload(told).value())
    assert view == without_handle(told)
    mismatch = ReferenceMismatch(
        expected_source=EventId("e"),
        actual_source=EventId("other"),
        expected_bytes=total,
        actual_bytes=3,
    )
    assert Failure(mismatch) == with_reference(view, reference("other", 3))


def test_a_view_of_the_whole_text_needs_no_reference() -> None:
    view = viewed(ToolSucceeded(output="all"), DEFAULT_POLICY).view

    assert view == with_reference(view, reference("e", 3)).unwrap()


def test_a_view_without_a_handle_shows_the_same_text() -> None:
    view = viewed(ToolSucceeded(output=TEXT)).view

    bare = without_handle(view)

    assert isinstance(bare, ResultView)
    assert (view.text, None) == (bare.text, bare.handle)
