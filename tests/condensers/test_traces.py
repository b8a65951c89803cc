"""Stack traces of three languages (T2)."""

from jingwei.condensers.traces import TRACE, find_trace, trace_quotes, traces_of
from tests.condensers.found import found, quoted, refused, repeats

PYTHON = """Traceback (most recent call last):
  File "/a/b.py", line 3, in f
    g()
  File "/a/c.py", line 9, in g
    return d["k"]
           ~^^^^^
KeyError: 'k'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/a/m.py", line 1, in <module>
    main()
  File "/a/z.py", line 8
app.errors.ConfigError: no key
"""
JAVA = """Exception in thread "main" com.demo.OrderFailed: no order
\tat com.demo.A.run(A.java:10)
\tat com.demo.A.main(A.java:5)
Caused by: java.lang.IllegalStateException: bad state
\tat com.demo.B.x(B.java:77)
\t... 2 more
Caused by: java.sql.SQLTimeoutException: timed out
\tat org.db.Driver.query(Driver.java:401)
"""
SCRIPT = """Uncaught TypeError: x is not a function
    at Object.<anonymous> (/a/b.js:1:2)
    at async run (node:internal/x:5:6)
    at /a/c.js:7:8
"""


def test_of_python_the_first_exception_is_the_root_and_the_last_frame_raised_it() -> None:
    findings = found(find_trace, PYTHON)

    assert [
        ("root exception", "KeyError: 'k'"),
        ("raised at", 'File "/a/c.py", line 9, in g\n    return d["k"]'),
        ("exception", "app.errors.ConfigError: no key"),
        ("raised at", 'File "/a/z.py", line 8'),
        ("frame", 'File "/a/b.py", line 3, in f\n    g()'),
        ("outermost frame", 'File "/a/b.py", line 3, in f\n    g()'),
    ] == quoted(findings, PYTHON)
    assert (
        "2 stack traces, 4 frames; first cause: KeyError: 'k'",
        "raised in g (c.py)",
        "exceptions: KeyError ×1, app.errors.ConfigError ×1",
    ) == findings.notes


def test_of_java_the_last_cause_is_the_root_and_the_first_frame_raised_it() -> None:
    findings = found(find_trace, JAVA)

    assert [
        ("root exception", "Caused by: java.sql.SQLTimeoutException: timed out"),
        ("raised at", "at org.db.Driver.query(Driver.java:401)"),
        ("exception", 'Exception in thread "main" com.demo.OrderFailed: no order'),
        ("raised at", "at com.demo.A.run(A.java:10)"),
        ("cause", "Caused by: java.lang.IllegalStateException: bad state"),
        ("raised at", "at com.demo.B.x(B.java:77)"),
        ("outermost frame", "at org.db.Driver.query(Driver.java:401)"),
    ] == quoted(findings, JAVA)


def test_of_javascript() -> None:
    findings = found(find_trace, SCRIPT)

    assert [
        ("root exception", "Uncaught TypeError: x is not a function"),
        ("raised at", "at Object.<anonymous> (/a/b.js:1:2)"),
        ("frame", "at async run (node:internal/x:5:6)"),
        ("frame", "at /a/c.js:7:8"),
        ("outermost frame", "at /a/c.js:7:8"),
    ] == quoted(findings, SCRIPT)


def test_traces_that_come_again_are_counted_and_frames_folded() -> None:
    text = JAVA * 3
    findings = found(find_trace, text)

    assert 3 == repeats(findings, text)["Caused by: java.sql.SQLTimeoutException: timed out"]
    assert (
        "repeated frames: com.demo.A.run (A.java:10) ×3, com.demo.A.main (A.java:5) ×3, " in findings.notes[2]
    )


def test_an_exception_that_is_not_named() -> None:
    """The text ends, another trace begins, or something else follows."""
    cut = PYTHON[: PYTHON.index("KeyError")]
    lost = cut + "something else happened\n" + cut
    assert ["java.sql.SQLTimeoutException"] == [trace.type for trace in traces_of(JAVA.rstrip())[2:]]
    java = "\tat com.demo.A.run(A.java:10)\n" * 3

    assert [""] == [trace.type for trace in traces_of(cut)]
    assert ["", ""] == [trace.type for trace in traces_of(lost)]
    assert [""] == [trace.type for trace in traces_of(java)]
    assert "first cause: an exception that the text does not name" in found(find_trace, java).notes[0]
    assert ("raised at", "at com.demo.A.run(A.java:10)") == quoted(found(find_trace, java), java)[0]


def test_a_message_of_several_lines_keeps_its_name() -> None:
    text = "a.b.BadException: one\nof many words\n\tat a.b.C.d(C.java:1)\n\nafter all\n"

    assert ["a.b.BadException"] == [trace.type for trace in traces_of(text)]


def test_a_name_far_above_its_frames_is_not_theirs() -> None:
    text = "a.b.BadException: one\n" + "other words here\n" * 60 + "\tat a.b.C.d(C.java:1)\n"

    assert [""] == [trace.type for trace in traces_of(text)]


def test_a_line_of_code_that_looks_like_a_frame_is_none() -> None:
    text = '  File "/a/b.py", line 3, in f\n  File "/a/c.py", line 4, in g\nOddError\n'

    assert ("raised at", 'File "/a/c.py", line 4, in g') == quoted(found(find_trace, text), text)[1]


def test_text_without_traces_is_refused() -> None:
    assert 1 == refused(find_trace, "nothing\nhere")
    assert 42 == refused(find_trace, "words\n" * 40 + JAVA)
    assert [] == list(trace_quotes("nothing is at rest here"))
    assert "root exception" == next(iter(trace_quotes(JAVA))).name


def test_its_name() -> None:
    assert "trace-v1" == TRACE.name
