"""Texts made short without a model (T2), read back by a second reader that knows only JSON and bytes."""

import functools
import json
import re
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from benchmarks import workload
from jingwei.condensers.checking import checked
from jingwei.condensers.choose import available_condensers, condense_text
from jingwei.condensers.failures import (
    AlreadyCondensed,
    CondenseFailure,
    InvalidCondensation,
    NotSmaller,
    NotThisKind,
)
from jingwei.condensers.failures import InvalidCondensationReason as Reason
from jingwei.condensers.records import DEFAULT_LIMITS, CondensedText, CondenseLimits, Evidence
from jingwei.condensers.rendering import rendered
from jingwei.outcome import Failure, Outcome, Success

REFERENCE = re.compile(r"L(\d+)(?:-(\d+))?:(\d+)-(\d+)")

# --- texts of every kind ------------------------------------------------------------------------------

WORDS = (
    "build",
    "failed",
    "cache",
    "ok",
    "größe",
    "错误",
    "order",
    "0 errors",
    "retry",
    "\t",
    "😀",
    "\ud800",
    '"',
    "\\",
)
ANY = st.text(st.characters(), max_size=300) | st.text('{}[]":,\n\r\\ a1<>-@+\x00\ufeff', max_size=400)
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=3, max_size=12).map(" ".join)


def lines_of(line: SearchStrategy[str], most: int = 60) -> SearchStrategy[str]:
    ends = st.sampled_from(("\n", "\r\n", "\n\n"))
    return st.builds(lambda parts, end: end.join(parts), st.lists(line, min_size=1, max_size=most), ends)


LOG_LINE = st.builds(
    lambda second, level, rest: f"2026-08-01T10:00:{second:02d}Z {level} w-{second % 3} {rest}",
    st.integers(0, 59),
    st.sampled_from(("INFO", "INFO", "INFO", "WARN", "ERROR com.a.FooException:", "DEBUG")),
    SENTENCES,
)
JSON_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | SENTENCES,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(SENTENCES, inner, max_size=5),
    max_leaves=30,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 99), "status": st.sampled_from(("ok", "ok", "ok", "failed"))}
    ),
    min_size=1,
    max_size=40,
)
FRAME = st.builds(
    lambda file, line, name: f'  File "/a/{file}.py", line {line}, in {name}\n    {name}()',
    st.sampled_from("abc"),
    st.integers(1, 99),
    st.sampled_from(("f", "g", "größe")),
)
TRACE = st.builds(
    lambda frames, error: "\n".join(["Traceback (most recent call last):", *frames, error]),
    st.lists(FRAME, min_size=1, max_size=20),
    st.sampled_from(("ValueError: no", "app.OddError", "KeyError: '错'", "no name here at all")),
)
JAVA = st.builds(
    lambda error, frames, cause: "\n".join([error, *frames, cause, *frames]),
    st.sampled_from(("java.lang.IllegalStateException: bad", 'Exception in thread "main" a.OddError: x')),
    st.lists(
        st.sampled_from(("\tat a.b.C.run(C.java:1)", "    at fn (file.js:1:2)")), min_size=1, max_size=9
    ),
    st.sampled_from(("Caused by: b.CauseException: why", "TypeError: x is not a function", "")),
)
CELL = st.sampled_from(
    ("1", "22", "333", "999999999", "x", "ok", "", '"a,b"', '"two\nlines"', "größe", "error")
)
CSV = st.builds(
    lambda rows, mark: "\n".join(mark.join(row) for row in rows),
    st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=4, max_size=40)
    ),
    st.sampled_from(",\t;|"),
)
HTML_PIECE = st.builds(
    lambda tag, words: f"<{tag}>{words}</{tag}>",
    st.sampled_from(("p", "h1", "h2", "li", "b", "title", "script")),
    SENTENCES,
)
HTML = st.lists(HTML_PIECE, min_size=4, max_size=30).map(lambda parts: "<html><body>" + "\n".join(parts))


@st.composite
def diffs(draw: st.DrawFn) -> str:
    text = list[str]()
    for name in draw(st.lists(st.sampled_from(("a.py", "größe.txt")), min_size=1, max_size=4)):
        text += [f"--- a/{name}", f"+++ b/{name}"]
        for _ in range(draw(st.integers(1, 3))):
            body = draw(
                st.lists(st.sampled_from(("-old", "+new", " same", "-错误", "+")), min_size=1, max_size=8)
            )
            old = sum(line[0] in "- " for line in body)
            new = sum(line[0] in "+ " for line in body)
            text += [f"@@ -{1 if old else 0},{old} +{1 if new else 0},{new} @@", *body]
    return "\n".join(text) + "\n"


CODE = lines_of(
    st.sampled_from(
        (
            "import os",
            "def f(x):",
            "    return x",
            "class A:",
            "  12\tx = 1",
            "# TODO größe",
            "export function g() {",
            "}",
        )
    )
)
LISTING = lines_of(
    st.sampled_from(
        ("./src/a.py", "src/größe.txt:12: x", "/usr/lib/x.so", "src:", "a b", "README.md", "./src/deep:")
    )
)
PROSE = lines_of(
    st.sampled_from(
        (
            "# A heading",
            "The build took 17 seconds and then it failed again. We do not know why.",
            "构建失败因为模块布局在合并之后改变。",
            "- a point",
        )
    )
)
KINDS: dict[str, SearchStrategy[str]] = {
    "any": ANY,
    "log": lines_of(LOG_LINE),
    "json": JSON_VALUE.map(json.dumps)
    | ROWS.map(lambda rows: json.dumps({"rows": rows}, ensure_ascii=False)),
    "json lines": ROWS.map(lambda rows: "\n".join(map(json.dumps, rows))),
    "python": lines_of(TRACE, 4),
    "java": lines_of(JAVA, 6),
    "table": CSV,
    "html": HTML,
    "diff": diffs(),
    "code": CODE,
    "listing": LISTING,
    "prose": PROSE,
    "words": lines_of(SENTENCES),
}
OF_A_KIND = st.one_of(list(KINDS.values()))
INSIDE = st.builds(
    lambda text, more: json.dumps({"output": text, "code": more}), OF_A_KIND, st.integers(0, 2)
)
MIXED = st.builds("\n".join, st.lists(OF_A_KIND, min_size=2, max_size=3))
TEXTS = OF_A_KIND | INSIDE | MIXED
LONG = st.builds(lambda text, times: text * times, TEXTS, st.integers(4, 12))
WIDE_LOG = (
    "\n".join(f"2026-08-01T10:21:{i % 60:02d}Z INFO wörker {i} läuft 很好" for i in range(120))
    + "\n2026-08-01T10:22:00Z ERROR ClassNotFoundException: com.demo.Bestellung\n"
)
LONG_DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,200 +1,200 @@\n" + "".join(
    f"-alte Zeile {i} über das Eine\n+neue Zeile {i} über das Andere\n" for i in range(200)
)
LONG_TRACE = "Traceback (most recent call last):\n" + "".join(
    f'  File "/srv/mod{i}.py", line {i}, in schritt_{i}\n    rufe(schritt_{i + 1})\n' for i in range(1, 60)
)
LONG_TRACE += "InventarFehler: Bestand unter null: 很少\n"
LIMITS = st.builds(
    CondenseLimits,
    max_input_bytes=st.integers(-1, 10_000),
    max_rendered_bytes=st.integers(0, 5000),
    max_summary_bytes=st.integers(0, 3000),
    max_facts=st.integers(0, 40),
    max_value_bytes=st.integers(0, 300),
)


# --- a second reader ----------------------------------------------------------------------------------


def read_back(text: str, shown: str) -> list[tuple[dict[str, Any], str]]:
    """Every fact that a model sees, with the text that its reference leads to."""
    raw = text.encode("utf-8", "surrogatepass")
    levels = json.loads(shown)
    assert len(raw) == levels["total_bytes"]
    places = list[str]()
    for reference in levels["evidence_refs"]:
        found = REFERENCE.fullmatch(reference)
        assert found is not None, reference
        first, last, start, end = found.groups()
        place = raw[int(start) : int(end)].decode("utf-8", "surrogatepass")
        before = raw[: int(start)].decode("utf-8", "surrogatepass")
        assert place
        assert int(first) == before.count("\n") + 1
        assert int(last or first) == int(first) + place[:-1].count("\n")
        places.append(place)
    return [(fact, places[fact["ref"]]) for fact in levels["facts"]]


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@attrs.frozen
class Liar:
    """A host's condenser that says what it was told to say."""

    says: CondensedText
    name: str = "liar-v1"

    def condense(self, text: str, limits: CondenseLimits) -> Outcome[CondensedText, CondenseFailure]:
        return Success(self.says)


# A text in which every character of the lines is of two bytes, so that every odd byte is inside one.
TRUTH_TEXT = "éé\n" + "üüüü\n" * 600
HERE = Evidence(first_line=2, last_line=2, start=5, end=13)


@functools.cache
def truth() -> CondensedText:
    """What is true of the text; not made when the module is read, so that a planted bug fails a test."""
    return condense_text(TRUTH_TEXT).unwrap()


def with_evidence(**changes: Any) -> Callable[[CondensedText], CondensedText]:
    """The first fact and its reference moved."""

    def lie(truth: CondensedText) -> CondensedText:
        fact = attrs.evolve(truth.facts[0], value="ü", evidence=attrs.evolve(HERE, **changes))
        return attrs.evolve(truth, facts=(fact,), evidence_refs=(fact.evidence,))

    return lie


def with_fact(**changes: Any) -> Callable[[CondensedText], CondensedText]:
    def lie(truth: CondensedText) -> CondensedText:
        fact = attrs.evolve(truth.facts[0], **{"value": "ü", "evidence": HERE, **changes})
        return attrs.evolve(truth, facts=(fact,), evidence_refs=(fact.evidence,))

    return lie


def with_whole(**changes: Any) -> Callable[[CondensedText], CondensedText]:
    return lambda truth: attrs.evolve(truth, **changes)


LIES: list[tuple[Reason | None, Callable[[CondensedText], CondensedText]]] = [
    (None, with_fact()),
    (None, with_evidence(last_line=3, end=16)),
    (None, with_evidence(end=14)),
    (Reason.BLANK_METHOD, with_whole(method=" \n")),
    (Reason.WRONG_TOTAL, with_whole(total_bytes=size(TRUTH_TEXT) - 1)),
    (Reason.NOT_TRUNCATED, with_whole(truncated=False)),
    (Reason.BLANK_SUMMARY, with_whole(summary="\u3000")),
    (Reason.SUMMARY_TOO_LONG, with_whole(summary="é" * 1025)),
    (Reason.TOO_MANY_FACTS, lambda truth: attrs.evolve(truth, facts=truth.facts[:1] * 33)),
    (Reason.BLANK_NAME, with_fact(name="")),
    (Reason.EMPTY_VALUE, with_fact(value="")),
    (Reason.VALUE_TOO_LONG, with_fact(value="ü" * 129)),
    (Reason.INVALID_REPEATS, with_fact(repeats=0)),
    (Reason.INVALID_REPEATS, with_fact(repeats=2**64)),
    (Reason.RANGE_OUTSIDE, with_evidence(start=-1)),
    (Reason.RANGE_OUTSIDE, with_evidence(start=13)),
    (Reason.RANGE_OUTSIDE, with_evidence(start=14)),
    (Reason.RANGE_OUTSIDE, with_evidence(end=size(TRUTH_TEXT) + 1)),
    (Reason.NOT_ON_BOUNDARY, with_evidence(start=6)),
    (Reason.NOT_ON_BOUNDARY, with_evidence(end=12)),
    (Reason.LINES_DISAGREE, with_evidence(first_line=1)),
    (Reason.LINES_DISAGREE, with_evidence(last_line=3)),
    (Reason.LINES_DISAGREE, with_evidence(end=16)),
    (Reason.VALUE_NOT_THERE, with_fact(value="é")),
    (Reason.VALUE_NOT_THERE, with_fact(value="üüüüü")),
    (
        Reason.OTHER_SOURCE,
        lambda truth: attrs.evolve(with_evidence(source="a")(truth), evidence_refs=(HERE,)),
    ),
    (Reason.REFERENCE_MISSING, lambda truth: attrs.evolve(with_fact()(truth), evidence_refs=())),
    (Reason.REFERENCE_REPEATED, lambda truth: attrs.evolve(with_fact()(truth), evidence_refs=(HERE, HERE))),
    (Reason.RANGE_OUTSIDE, with_whole(facts=(), evidence_refs=(attrs.evolve(HERE, end=10**9),))),
    (Reason.NOT_ON_BOUNDARY, with_whole(facts=(), evidence_refs=(attrs.evolve(HERE, end=12),))),
    (Reason.RENDERED_TOO_LONG, with_whole(method="m" * 4000)),
]
"""What a host's condenser may say of the text, and what is wrong with it; nothing, and it passes."""


class TestCondensedTextT2:
    """T2. A text is shown in three levels: facts, a summary, and references to the original. What a fact
    says stands, character by character, where its reference leads. The flag `truncated` says that there is
    more, and `total_bytes` how much. This is checked of every condenser, also of a host's own.
    """

    @given(TEXTS | LONG)
    @example(WIDE_LOG)
    @example(LONG_DIFF)
    @example(LONG_TRACE)
    def test_what_a_fact_says_stands_where_its_reference_leads(self, text: str) -> None:
        """Read by bytes, and the lines counted."""
        outcome = condense_text(text, source="log://1")
        assert not isinstance(outcome, Failure) or isinstance(
            outcome.failure(), NotSmaller | AlreadyCondensed
        )
        assume(isinstance(outcome, Success))
        condensed = outcome.unwrap()

        for fact, place in read_back(text, rendered(condensed)):
            assert fact["value"]
            assert fact["value"] in place

    @given(TEXTS | LONG)
    def test_what_is_shown_is_smaller_and_says_that_there_is_more(self, text: str) -> None:
        """And it is within every limit."""
        outcome = condense_text(text)
        assume(isinstance(outcome, Success))
        shown = rendered(outcome.unwrap())
        levels = json.loads(shown)

        assert size(shown) < size(text)
        assert size(shown) <= 4096
        assert levels["truncated"] is True
        assert levels["summary"].strip()
        assert size(levels["summary"]) <= 2048
        assert len(levels["facts"]) <= 32
        assert all(size(fact["value"]) <= 256 for fact in levels["facts"])

    @given(TEXTS.filter(bool).map(lambda text: text * (4100 // size(text) + 1)))
    def test_a_large_text_loses_four_fifths(self, text: str) -> None:
        """Of its bytes, from 4,100 on."""
        outcome = condense_text(text)
        assert isinstance(outcome, Success)

        assert size(rendered(outcome.unwrap())) * 5 <= size(text)

    @pytest.mark.parametrize("kind", sorted(KINDS))
    @given(data=st.data(), limits=LIMITS)
    def test_every_condenser_answers_for_every_text_and_limit(
        self, kind: str, data: st.DataObject, limits: CondenseLimits
    ) -> None:
        """And what it makes by itself is true, and within these limits."""
        text = data.draw(KINDS[kind])
        for condenser in available_condensers().condensers:
            alone = condenser.condense(text, limits)
            held = checked(condenser, text, limits)

            match held:
                case Success(condensed):
                    assert alone == held
                    assert size(rendered(condensed)) <= limits.max_rendered_bytes
                    assert size(condensed.summary) <= limits.max_summary_bytes
                    assert len(condensed.facts) <= limits.max_facts
                    assert condensed.method.startswith(condenser.name)
                case Failure(InvalidCondensation(reason=reason)):
                    assert reason in {Reason.RENDERED_TOO_LONG, Reason.SUMMARY_TOO_LONG}
                case Failure(_):
                    pass

    @given(TEXTS)
    def test_the_same_text_gives_the_same_bytes(self, text: str) -> None:
        """Also when other texts were condensed in between."""
        first = condense_text(text)
        for other in ("2026-08-01T10:00:00Z ERROR x\n" * 40, '{"a": 1}' * 3):
            assert isinstance(condense_text(other), Success | Failure)

        assert first == condense_text(text)

    @given(LONG)
    def test_what_is_condensed_is_not_condensed_again(self, text: str) -> None:
        """Nor is a preview."""
        outcome = condense_text(text)
        assume(isinstance(outcome, Success))
        shown = rendered(outcome.unwrap())
        preview = json.dumps(
            {"status": "succeeded", "preview": text, "truncated": True, "total_bytes": 9, "reference": {}},
            ensure_ascii=False,
            separators=(",", ":"),
        )

        assert AlreadyCondensed(total_bytes=size(shown)) == condense_text(shown).failure()
        if not re.search("[\ud800-\udfff]", text):
            assert AlreadyCondensed(total_bytes=size(preview)) == condense_text(preview).failure()

    @pytest.mark.parametrize(("reason", "lie"), LIES)
    def test_a_lie_is_refused_by_its_reason(
        self, reason: Reason | None, lie: Callable[[CondensedText], CondensedText]
    ) -> None:
        """Whoever tells it; what is true passes."""
        said = lie(truth())
        outcome = checked(Liar(said), TRUTH_TEXT, DEFAULT_LIMITS)

        if reason is None:
            assert Success(said) == outcome
        else:
            why = outcome.failure()
            assert isinstance(why, InvalidCondensation)
            assert reason is why.reason

    @given(st.text("aé\n", min_size=100, max_size=300), st.text("bö\n", min_size=1, max_size=200))
    def test_what_is_not_smaller_is_refused(self, text: str, summary: str) -> None:
        """By bytes as the model sees them; one byte less is enough."""
        assume(summary.strip())
        said = CondensedText(
            method="m",
            facts=(),
            summary=summary,
            evidence_refs=(),
            total_bytes=size(text),
            truncated=True,
        )
        before, after = size(text), size(rendered(said))
        outcome = checked(Liar(said), text, DEFAULT_LIMITS)

        assert outcome == (
            Success(said) if after < before else Failure(NotSmaller(before=before, after=after))
        )

    @given(st.integers(0, 2**32), st.integers(0, 3))
    def test_a_planted_fact_is_shown(self, seed: int, kind: int) -> None:
        """An error line, an odd value, what was raised: in the facts or the summary."""
        *_, row = workload.planted(seed, kind + 1)
        condensed = condense_text(row["text"]).unwrap()
        shown = [*(fact.value for fact in condensed.facts), condensed.summary]

        for wanted in row["must_show"]:
            assert any(wanted in text for text in shown)

    @given(st.lists(st.sampled_from("aAbB."), min_size=30, max_size=200), st.sampled_from(("ok", "größe")))
    def test_the_first_stable_exception_is_told_with_its_line_and_repeats(
        self, marks: list[str], noise: str
    ) -> None:
        """Stable is what comes again; small letters are lines of that exception with another number."""
        texts = {"a": "A", "b": "B", ".": ""}
        lines = [
            f"2026-08-01T10:00:{i % 60:02d}Z "
            + (
                f"ERROR svc com.x.{name}Exception: code {i}"
                if (name := texts.get(mark, mark))
                else f"INFO {noise} {i}"
            )
            for i, mark in enumerate(marks)
        ]
        names = [texts.get(mark, mark) for mark in marks]
        order = [name for name in dict.fromkeys(names) if name]
        again = [name for name in order if names.count(name) > 1]
        assume(order)
        stable = (again or order)[0]
        condensed = condense_text("\n".join(lines)).unwrap()
        fact = next(fact for fact in condensed.facts if fact.name == "first stable exception")

        assert names.index(stable) + 1 == fact.evidence.first_line
        assert names.count(stable) == fact.repeats
        assert f"com.x.{stable}Exception" in fact.value
        assert "2026-08-01T10:00:" in next(one.value for one in condensed.facts if one.name == "first seen")

    @given(lines_of(LOG_LINE) | lines_of(SENTENCES) | PROSE)
    def test_of_a_string_in_json_whole_pieces_are_quoted(self, text: str) -> None:
        """As the string is written there: no escape is cut apart by a line's edge, and each says what the
        text inside says.
        """
        whole = json.dumps({"output": text * 4})
        outcome = condense_text(whole)
        assume(isinstance(outcome, Success))
        condensed = outcome.unwrap()
        quoted = [
            fact for fact in condensed.facts if fact.name.startswith("/output ") and size(fact.value) < 240
        ]

        for fact in quoted:
            assert json.loads(f'"{fact.value}"') in text * 4

    @given(TEXTS)
    def test_a_kind_that_a_condenser_does_not_read_is_said(self, text: str) -> None:
        """With a line of the text."""
        for condenser in available_condensers().condensers:
            match condenser.condense(text, DEFAULT_LIMITS):
                case Failure(NotThisKind(kind=kind, line=line)):
                    assert condenser.kind == kind
                    assert 1 <= line <= text.count("\n") + 1
                case _:
                    pass
