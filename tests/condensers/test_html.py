"""HTML (T2)."""

import pytest

from jingwei.condensers.failures import NotThisKind
from jingwei.condensers.findings import Findings
from jingwei.condensers.html import DEPTH_MAX, HTML, HTML_MAX, OPEN_MAX, find_html
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


@pytest.mark.parametrize("begin", ["<a ", "</a ", "<!x "])
def test_many_tags_that_do_not_end_are_refused_before_they_are_parsed(
    begin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's parser reads to the end of the text for each of them."""
    page = "<html>\n<p><p><p><p>\n"
    text = page + begin * (OPEN_MAX + 1)
    kept = find_html(page + begin * OPEN_MAX + ">" + begin * OPEN_MAX)
    monkeypatch.setattr("jingwei.condensers.html.BeautifulSoup", None)

    assert 3 == refused(find_html, text)
    assert isinstance(kept, Findings)


@pytest.mark.parametrize(
    ("begin", "wrong", "end"),
    [
        ("<!-- >", "", "-->"),
        ("<![CDATA[ >", "]>", "]]>"),
        ("<![if x >", "", "]>"),
    ],
)
def test_many_comments_and_sections_without_an_end_are_refused(begin: str, wrong: str, end: str) -> None:
    text = "<html><p><p><p><p>\n" + begin * (OPEN_MAX + 1) + wrong

    assert 2 == refused(find_html, text)
    assert isinstance(find_html(text + end), Findings)


def test_many_void_tags_beside_many_end_tags_are_refused() -> None:
    """Beautiful Soup looks through all of the former for each of the latter."""
    assert 1 == refused(find_html, "<br>" * 5_000 + "</p>" * 5_000)
    assert isinstance(find_html("<br>" * 500 + "</p>" * 500), Findings)


def test_tags_that_nest_deeply_are_refused() -> None:
    """An end in quotes is none, so the depth is that of the tree."""
    opened = '<p id="</p>">'

    assert isinstance(find_html(opened * DEPTH_MAX), Findings)
    assert 1 == refused(find_html, opened * (DEPTH_MAX + 1))


def test_blocks_with_a_block_in_them_are_not_quoted() -> None:
    text = "<ul><li>outer<p>one<b>bold</b></p><div><p>two</p></div></li><li>last</li></ul><table></table>"

    assert {"one", "two", "last"} == {value for _, value in quoted(found(find_html, text), text)}


def test_its_name() -> None:
    assert "html-v1" == HTML.name
