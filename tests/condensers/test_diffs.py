"""Unified diffs (T2)."""

from jingwei.condensers.diffs import DIFF, find_diff
from tests.condensers.found import found, quoted, refused

TWO = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@ def f():
 same
-old line
+new line
 same
@@ -9,1 +9,2 @@
 same
+added
diff --git a/b.py b/b.py
new file mode 100644
--- /dev/null
+++ b/b.py
@@ -0,0 +1,4 @@
+
+one
+two
+three
"""


def test_files_hunks_and_lines() -> None:
    findings = found(find_diff, TWO)

    assert (
        "diff of 2 files, +6 -1 in 3 hunks",
        "new: b.py",
        "b.py +4 -0",
        "a.py +2 -1",
    ) == findings.notes
    assert [
        ("first hunk: b.py", "@@ -0,0 +1,4 @@"),
        ("first hunk: a.py", "@@ -1,3 +1,3 @@ def f():"),
        ("first added: b.py", "+one"),
        ("first removed: a.py", "-old line"),
        ("first added: a.py", "+new line"),
        ("hunk: a.py", "@@ -9,1 +9,2 @@"),
    ] == quoted(findings, TWO)


def test_removed_and_renamed_files() -> None:
    text = """--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/old.py b/new.py
--- a/old.py
+++ b/new.py
@@ -1 +1 @@
-x
+y
"""

    assert ("removed: gone.py", "renamed: new.py") == found(find_diff, text).notes[1:3]


def test_an_empty_hunk_quotes_nothing() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,4 +0,0 @@\n-a\n-b\n-c\n-d\n@@ -0,0 +0,0 @@\n"

    assert [("first hunk: x", "@@ -1,4 +0,0 @@"), ("first removed: x", "-a")] == quoted(
        found(find_diff, text), text
    )


def test_only_a_line_feed_ends_a_line() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\x0cb\u2028c\n+d\r\n"

    assert ("first removed: x", "-a\x0cb\u2028c") == quoted(found(find_diff, text), text)[1]


def test_what_is_no_diff() -> None:
    assert 1 == refused(find_diff, "nothing")
    assert 1 == refused(find_diff, "--- a\n+++ b\nno hunk")
    assert 2 == refused(find_diff, "words\n--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n")
    assert 9 == refused(find_diff, "many words\n" * 8 + "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")


def test_its_name() -> None:
    assert "diff-v1" == DIFF.name
