"""Text of no known kind (T2)."""

from jingwei.condensers.lines import LINES, find_lines
from tests.condensers.found import found, quoted, repeats


def test_white_space_is_said_to_be_so() -> None:
    assert ("white space only, 3 characters",) == found(find_lines, " \n ").notes
    assert () == found(find_lines, "").quotes


def test_failures_stand_before_first_and_last_lines() -> None:
    text = "start\nstep 1\nstep 2\nstep 3\ncannot open x\nSuccessfully done\nend\n"
    findings = found(find_lines, text)

    assert [
        ("failure", "cannot open x"),
        ("first line", "start"),
        ("last lines", "end"),
        ("last lines", "Successfully done"),
    ] == quoted(findings, text)[:4]
    assert 3 == repeats(findings, text)["step 1"]
    assert ("7 lines of text", "3 lines like: step #") == findings.notes


def test_lines_that_begin_alike_are_counted() -> None:
    text = "\n".join(f"Requirement already satisfied: {name * 9}" for name in "abcdef")

    assert ("6 lines of text", "6 lines begin: Requirement already") == found(find_lines, text).notes


def test_what_stands_behind_a_rule_begins_a_section() -> None:
    text = "head\n-----\n- Title: one\n- more\n-----\n- Title: two\nResults:\n- x y\n=====\n"
    sections = [value for name, value in quoted(found(find_lines, text), text) if name == "section"]

    assert ["- Title: one", "- Title: two", "Results:", "====="] == sections


def test_different_lines_beyond_a_bound_are_not_counted() -> None:
    text = "\n".join(f"{chr(0x4E00 + index % 2000)}{chr(0x4E00 + index // 2000)}" for index in range(20_400))
    text += "\nx y\nx y\nx y"

    assert ("20403 lines of text",) == found(find_lines, text).notes


def test_a_stack_trace_in_other_text_is_told() -> None:
    text = "words here\n" * 30 + "OddError: x\n    at f (/a/b.js:1:2)\n"

    assert ("root exception", "OddError: x") == quoted(found(find_lines, text), text)[0]


def test_paths_are_told_by_folder_and_ending() -> None:
    text = "\n".join(
        [*(f"./src/a/f{index}.py" for index in range(5)), "./src/b/g.txt", "./src/README", "find: denied x"]
    )
    findings = found(find_lines, text)

    assert "lines/paths" == findings.kind
    assert (
        "7 paths in 7 files, all under ./src/",
        "by folder: a/ 5, b/ 1, (here) 1",
        "by ending: .py 5, .txt 1, none 1",
    ) == findings.notes
    assert [
        ("failure", "find: denied x"),
        ("first path", "./src/a/f0.py"),
        ("last path", "./src/README"),
    ] == quoted(findings, text)[:3]


def test_hits_of_a_search_are_told_by_file() -> None:
    text = "\n".join(["/a/x.py:1: one", "/a/x.py:22: two", "/b/y.py:3: three", "/b/z.py:4: four"])

    assert (
        "4 hits in 3 files, all under /",
        "most in: /a/x.py 2, /b/y.py 1, /b/z.py 1",
        "by folder: a/ 2, b/ 2",
        "by ending: .py 4",
    ) == found(find_lines, text).notes


def test_a_listing_of_folders_gives_each_name_its_folder() -> None:
    text = "src/a:\nx.py\nsub\n\nsrc/b:\ny.py\nz.py\ntotal of 4"
    findings = found(find_lines, text)

    assert (
        "4 paths in 4 files, all under src/",
        "by folder: a/ 2, b/ 2",
        "by ending: .py 3, none 1",
    ) == findings.notes


def test_paths_with_nothing_in_common() -> None:
    text = "a.py\nb.py\nC:\\x\\y.py\nz/q.py"

    assert "4 paths in 4 files" == found(find_lines, text).notes[0]


def test_its_name() -> None:
    assert "lines-v1" == LINES.name
