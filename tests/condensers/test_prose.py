"""Prose and Markdown (T2): everything is quoted."""

from jingwei.condensers.prose import PROSE, find_prose
from tests.condensers.found import found, quoted, refused

TEXT = """# The report

We looked at version 3.1 of the build for a long while. It took 17 seconds each time.

## What we saw
The job failed with x.OddError after the third step, "and so." Nobody knows why!
And this is the last sentence of all of them
"""


def test_headings_first_and_last_sentences_figures_and_failures() -> None:
    findings = found(find_prose, TEXT)

    assert (
        "prose of 5 lines, 2 headings, about 5 sentences",
        "headings: The report, What we saw",
    ) == findings.notes
    assert [
        ("first sentence", "We looked at version 3.1 of the build for a long while."),
        ("last sentence", "And this is the last sentence of all of them"),
        ("exception", 'The job failed with x.OddError after the third step, "and so."'),
        ("figure", "It took 17 seconds each time."),
        ("heading", "# The report"),
        ("heading", "## What we saw"),
    ] == quoted(findings, TEXT)[:6]


def test_chinese_sentences() -> None:
    text = "构建失败因为模块布局在合并之后改变。我们检查日志和配置以及订单。"
    findings = found(find_prose, text)

    assert "prose of 1 line, 0 headings, about 2 sentences" == findings.notes[0]
    assert ("first sentence", "构建失败因为模块布局在合并之后改变。") == quoted(findings, text)[0]


def test_headings_alone() -> None:
    text = "# A heading of quite a few words, ending here:\n# Another heading of quite a few words here."

    assert ("first sentence", "# A heading of quite a few words, ending here:") == quoted(
        found(find_prose, text), text
    )[0]


def test_what_is_no_prose() -> None:
    for text in (
        "",
        "short\nlines\n",
        "a, b, c, d\n" * 9,
        "Requirement already satisfied: a in /b/c (from d) (1.2)\n" * 9,
    ):
        assert 1 == refused(find_prose, text)


def test_its_name() -> None:
    assert "prose-v1" == PROSE.name
