"""HTML (T2)."""

import pytest

from jingwei.condensers.failures import NotThisKind
from jingwei.condensers.findings import Findings
from jingwei.condensers.html import HTML, HTML_MAX, NESTED_MAX, UNFINISHED_MAX, find_html
from tests.condensers.found import found, quoted, refused

PAGE = """<!DOCTYPE html>
<html><head><title>502 Bad &amp; Gateway</title><script>var x = "<p>no</p>";</script></head>
<body><h1>Gateway <b>größer</b></h1>
<p class="a>b">First words.</p><p><a href="/x"></a></p>
<h2>Details</h2><ul><li>The upstream failed</li><li>x.BadError here</li></ul>
<img src="y"><form></form></body></html>
"""


def test_title_failures_headings_and_text() -> None:
    findings = found(find_html, PAGE)

    assert [
        ("title", "502 Bad &amp; Gateway"),
        ("failure", "x.BadError here"),
        ("failure", "The upstream failed"),
        ("heading", "Gateway"),
    ] == quoted(findings, PAGE)[:4]
    assert (
        "HTML with 2 headings, 1 link, 1 image, 1 form, 1 script; visible text of 71 characters",
        "headings: Gateway größer, Details",
    ) == findings.notes


def test_every_value_stands_in_the_source() -> None:
    assert {"heading", "text", "title", "failure"} == {
        name for name, _ in quoted(found(find_html, PAGE), PAGE)
    }


def test_text_in_no_block_is_told_as_it_begins() -> None:
    text = "<div>only <span>some</span> <b>words</b></div><div></div>"
    findings = found(find_html, text)

    assert (
        "HTML with 0 headings, no links; visible text of 15 characters",
        "text begins: only some words",
    ) == findings.notes
    assert () == findings.quotes


def test_nothing_visible() -> None:
    assert ("HTML with 0 headings, no links; visible text of 0 characters",) == found(
        find_html, "<div></div>" * 3
    ).notes


def test_a_tag_without_text_near_it_is_passed_over() -> None:
    text = "<body><h1></h1></body><h2>" + " " * 5000 + "x</h2>"

    assert [] == quoted(found(find_html, text), text)


def test_declarations_of_xml_are_passed_over() -> None:
    text = '<?xml version="1.0"?><html><body><p>words</p></body></html>'

    assert ("text", "words") == quoted(found(find_html, text), text)[0]


@pytest.mark.parametrize("odd", ["<![if x", "&#" + "9" * 5000 + ";", "<!" + "[CDATA[", "<a" * 50, "</p>" * 9])
def test_broken_html_is_read_or_refused(odd: str) -> None:
    assert isinstance(find_html("<html><body><p>a</p>" + odd + "<p>b</p>"), Findings | NotThisKind)


def test_what_is_no_html() -> None:
    assert 1 == refused(find_html, "words")
    assert 1 == refused(find_html, "words " * 400 + "<p>a</p><p>b</p>")
    assert 1 == refused(find_html, "<html><p></p></html>" + " " * HTML_MAX)


def test_its_name() -> None:
    assert "html-v1" == HTML.name


@pytest.mark.parametrize(
    ("begin", "piece", "most"),
    [("<html>", "<a ", UNFINISHED_MAX), ("<html>", "<li><p>word", NESTED_MAX // 2)],
)
def test_a_text_for_which_the_parser_would_take_too_long_is_none(begin: str, piece: str, most: int) -> None:
    """Tags that never end, and blocks inside blocks: each costs as much as all that follows."""
    within = find_html(begin + "<p>a</p>" * 4 + piece * most)

    assert 1 == refused(find_html, begin + "<p>a</p>" * 4 + piece * (most + 1))
    assert not isinstance(within, NotThisKind)
