"""What a model sees of a condensed text, and how it is known again (T2, R4)."""

import json

import pytest

from jingwei.condensers.records import CondensedText, Evidence, Fact
from jingwei.condensers.rendering import is_condensed, reference_text, rendered

ONE = Evidence(first_line=3, last_line=3, start=10, end=14)
TWO = Evidence(first_line=3, last_line=7, start=10, end=80)
TEXT = CondensedText(
    method="host-v1",
    facts=(
        Fact(name="a", value='say "ö"', evidence=TWO),
        Fact(name="b", value="x", evidence=ONE, repeats=17),
    ),
    summary="two\nlines",
    evidence_refs=(ONE, TWO),
    total_bytes=99,
    truncated=True,
)


def test_the_three_levels_as_the_model_sees_them() -> None:
    assert (
        '{"method":"host-v1","facts":[{"name":"a","value":"say \\"ö\\"","ref":1},'
        '{"name":"b","value":"x","repeats":17,"ref":0}],"summary":"two\\nlines",'
        '"evidence_refs":["L3:10-14","L3-7:10-80"],"total_bytes":99,"truncated":true}'
    ) == rendered(TEXT)


def test_a_fact_without_a_reference_has_none() -> None:
    shown = json.loads(rendered(CondensedText(
        method="m", facts=TEXT.facts, summary="s", evidence_refs=(ONE,), total_bytes=9, truncated=True
    )))  # fmt: skip

    assert [{"name": "a", "value": 'say "ö"'}, {"name": "b", "value": "x", "repeats": 17, "ref": 0}] == shown[
        "facts"
    ]


def test_a_reference_names_lines_and_bytes() -> None:
    assert ("L3:10-14", "L3-7:10-80") == (reference_text(ONE), reference_text(TWO))


@pytest.mark.parametrize(
    ("text", "condensed"),
    [
        (rendered(TEXT), True),
        ('{"facts":[],"summary":"","evidence_refs":[],"truncated":false}', True),
        ('{"status":"succeeded","preview":"a","truncated":true,"total_bytes":9,"reference":{}}', True),
        ('{"facts":[],"summary":"","evidence_refs":[]}', False),
        ('{"facts":[],"summary":"","evidence_refs":[],"truncated":1}', False),
        ('{"facts":[],"summary":"","truncated":true}', False),
        ('{"facts":[],"summary":"", "evidence_refs":[],"truncated":true}', False),
        ('{"truncated":true', False),
        ("{truncated}", False),
        ("", False),
        ("[1]", False),
    ],
)
def test_what_is_condensed_is_known_by_its_form(text: str, *, condensed: bool) -> None:
    assert condensed is is_condensed(text)
