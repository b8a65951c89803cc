"""Source code (T2)."""

from jingwei.condensers.code import CODE, find_code
from tests.condensers.found import found, quoted, refused

PYTHON = """# a module
import os
from a.b import c

class Thing:
    def run(self):
        # TODO: more
        return os.getcwd()

def main():
    Thing().run()
"""


def test_definitions_and_imports() -> None:
    findings = found(find_code, PYTHON)

    assert (
        "code of 9 lines: 3 definitions, 2 imports",
        "defines: class Thing, def run, def main",
    ) == findings.notes
    assert [
        ("first line", "# a module"),
        ("defines", "class Thing:"),
        ("defines", "def run(self):"),
        ("defines", "def main():"),
        ("to do", "# TODO: more"),
        ("last line", "Thing().run()"),
    ] == quoted(findings, PYTHON)[:6]


def test_lines_may_have_their_numbers_in_front() -> None:
    for mark in ("\t", "→", "|", ":", " "):
        text = "\n".join(f"  {number}{mark}{line}" for number, line in enumerate(PYTHON.split("\n"), 1))

        assert "defines: class Thing, def run, def main" == found(find_code, text).notes[1]


def test_other_languages() -> None:
    text = """use std::fmt;
#include <x.h>
export default async function go() {
pub(crate) fn f<T>() -> T {
const x = require('y');
CREATE TABLE t (
public static class A {
type B = {
}
"""

    assert "defines: function go, fn f, CREATE TABLE t, class A, type B" == found(find_code, text).notes[1]


def test_imports_alone_are_listed() -> None:
    text = "import a\nimport b;\nx = [\n  1,\n]\n"

    assert ("code of 5 lines: 0 definitions, 2 imports", "imports: import a, import b;") == found(
        find_code, text
    ).notes


def test_a_message_around_the_code_is_told() -> None:
    text = "could not parse all of it\n" + PYTHON

    assert ("failure", "could not parse all of it") in quoted(found(find_code, text), text)


def test_what_is_no_code() -> None:
    for text in (
        "",
        "def f():\nclass A:",
        "words\n" * 9,
        "import a\nimport b\n" + "many words in a row\n" * 30,
    ):
        assert 1 == refused(find_code, text)


def test_its_name() -> None:
    assert "code-v1" == CODE.name
