"""Every failure in words: the facts stand in the sentence, and the hint is not empty."""

from collections.abc import Iterator

import attrs
import pytest

from jingwei.cli.describe import Said, say_build, say_decode, say_projection
from jingwei.codec import DecodeFailed, DecodeReason
from jingwei.events.turns import MalformedReason
from jingwei.ids import TurnId
from jingwei.projection.failures import Malformed, ProjectionFailure, Unconfirmed
from jingwei.report.failures import (
    BuildFailure,
    DoesNotFit,
    InvalidInput,
    InvalidInputReason,
    ShapeInvalid,
    UnverifiedCount,
    UnverifiedReason,
)
from tests.report.test_failure_values import BUILDS, PROJECTION, SHAPES


def facts(failure: attrs.AttrsInstance) -> Iterator[str]:
    """What a sentence about a failure must name: its texts and numbers."""
    for name, value in attrs.asdict(failure, recurse=False).items():
        if name in {"report", "error", "exhaustive"} or value in (None, True, False, ()):
            continue
        values = value if isinstance(value, tuple) else (value,)
        yield from (str(getattr(one, "value", one)) for one in values)


@pytest.mark.parametrize("failure", [failure for failure, _ in PROJECTION], ids=repr)
def test_a_projection_failure_names_its_facts(failure: ProjectionFailure) -> None:
    said = say_projection(failure)

    assert [] == [fact for fact in facts(failure) if fact not in said.what]
    assert said.hint


@pytest.mark.parametrize("failure", [failure for failure, _ in BUILDS], ids=lambda f: type(f).__name__)
def test_a_build_failure_names_its_facts(failure: BuildFailure) -> None:
    said = say_build(failure)

    assert [] == [fact for fact in facts(failure) if fact not in said.what]
    assert said.hint


@pytest.mark.parametrize("failure", [ShapeInvalid(error=failure) for failure, _ in SHAPES], ids=repr)
def test_a_malformed_request_names_the_rule(failure: ShapeInvalid) -> None:
    assert type(failure.error).__name__ in say_build(failure).what


@pytest.mark.parametrize("reason", DecodeReason)
def test_a_line_that_does_not_decode_is_placed(reason: DecodeReason) -> None:
    said = say_decode(
        DecodeFailed(
            reason=reason, line=3, byte_offset=99, path="/seq", expected="this", actual="that", whole_bytes=99
        )
    )

    assert f"line 3, byte 99, at /seq: {reason.value}: expected this, met that" == said.what
    assert said.hint


def test_a_document_without_lines_is_called_so() -> None:
    said = say_decode(DecodeFailed(reason=DecodeReason.BOM, expected="this", actual="that"))

    assert "the document: bom: expected this, met that" == said.what


def test_no_hint_asks_for_what_the_rules_forbid() -> None:
    """A turn that is over takes no further event; one that is not may be closed."""
    cut, over = [
        say_projection(
            Unconfirmed(turn_id=TurnId("t"), open_tool_calls=(), open_model_calls=(), unterminated=cut)
        ).hint
        for cut in (True, False)
    ]

    assert "jingwei recover" in cut
    assert "--damaged-turns quarantine" in over
    assert "recover" not in over
    assert {True} == {"jingwei diagnose" in hint for hint in (cut, over)}


def test_what_does_not_fit_may_have_exchanges_that_can_be_shortened() -> None:
    """Where that was not asked for; else there is nothing left to shorten."""
    (plain,) = [one for one, _ in BUILDS if isinstance(one, DoesNotFit)]
    asked = attrs.evolve(plain, report=attrs.evolve(plain.report, exchanges=()))

    assert (
        "--reduce-current"
        in say_build(attrs.evolve(plain, report=attrs.evolve(plain.report, exchanges=None))).hint
    )
    assert "--reduce-current" not in say_build(asked).hint


def hints(said: list[Said]) -> set[str]:
    return {one.hint for one in said}


def test_hints_tell_the_remedies_apart() -> None:
    inputs = [say_build(InvalidInput(reason=reason, path="/x")) for reason in InvalidInputReason]
    evidence = [say_build(UnverifiedCount(reason=reason)) for reason in UnverifiedReason]
    malformed = [
        say_projection(Malformed(event_id="e", seq=0, turn_id="t", reason=reason))  # type: ignore[arg-type]
        for reason in MalformedReason
    ]

    assert 3 == len(hints(inputs))
    assert 2 == len(hints(evidence))
    assert 3 == len(hints(malformed))
    assert any("--current-from-open" in hint for hint in hints(inputs))
