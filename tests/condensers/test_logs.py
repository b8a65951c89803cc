"""Logs by templates (T2)."""

from jingwei.condensers.logs import LOG, find_log
from tests.condensers.found import found, quoted, refused, repeats

QUIET = [f"2026-08-01T10:00:{index % 60:02d}Z INFO worker-{index} heartbeat ok" for index in range(50)]


def with_lines(*lines: tuple[int, str]) -> str:
    changed = list(QUIET)
    for place, line in lines:
        changed[place] = line
    return "\n".join(changed)


def test_the_first_exception_that_comes_again_is_stable() -> None:
    text = with_lines(
        (9, "2026-08-01T10:21:02Z ERROR w a.b.OnceError: 1"),
        (20, "[2026-08-01T10:21:03Z] ERROR w a.b.TwiceError: 2"),
        (30, "[2026-08-01T10:21:04Z] ERROR w other words for a.b.TwiceError"),
    )
    findings = found(find_log, text)

    assert [
        ("first stable exception", "[2026-08-01T10:21:03Z] ERROR w a.b.TwiceError: 2"),
        ("first seen", "2026-08-01T10:21:03Z"),
        ("first error", "2026-08-01T10:21:02Z ERROR w a.b.OnceError: 1"),
        ("first seen", "2026-08-01T10:21:02Z"),
    ] == quoted(findings, text)[:4]
    assert 2 == repeats(findings, text)["[2026-08-01T10:21:03Z] ERROR w a.b.TwiceError: 2"]
    assert (
        "log of 50 lines, 2026-08-01T10:00:00Z to 2026-08-01T10:00:49Z, 3 templates",
        "first stable exception: a.b.TwiceError, 2 times, first in line 21",
        "levels: ERROR 3, INFO 47",
        "47× #T#Z INFO worker-# heartbeat ok",
    ) == findings.notes[:4]


def test_where_none_comes_again_the_first_error_is_told() -> None:
    text = with_lines((9, "12:00:01 ERROR disk full"), (11, "FATAL other"))
    findings = found(find_log, text)

    assert [
        ("first stable exception", "12:00:01 ERROR disk full"),
        ("first seen", "12:00:01"),
        ("error", "12:00:01 ERROR disk full"),
        ("error", "FATAL other"),
        ("last error", "FATAL other"),
    ] == quoted(findings, text)[:5]
    assert "first stable exception: # ERROR disk full, once, first in line 10" == findings.notes[1]


def test_an_error_without_a_time_has_no_first_seen() -> None:
    text = with_lines((9, "ERROR disk full"))

    assert "first seen" not in dict(quoted(found(find_log, text), text))


def test_a_log_without_errors_shows_notices_and_what_comes_once() -> None:
    text = with_lines(
        (7, "2026-08-01 10:00:00 WARN cache is retrying"), (8, "2026-08-01 10:00:01 INFO started now")
    )
    shown = quoted(found(find_log, text), text)

    assert [
        ("notice", "2026-08-01 10:00:00 WARN cache is retrying"),
        ("only once", "2026-08-01 10:00:01 INFO started now"),
        ("first line", QUIET[0]),
        ("last line", QUIET[-1]),
        ("typical line", QUIET[0]),
    ] == shown[:5]


def test_words_of_failure_are_told_without_a_level() -> None:
    text = with_lines((7, "10:00:00.5 could not open x"))

    assert ("failure", "10:00:00.5 could not open x") == quoted(found(find_log, text), text)[0]


def test_templates_join_lines_that_differ_in_a_word() -> None:
    text = "\n".join(
        f"10:00:{index:02d} user {name} logged in" for index, name in enumerate(("ann", "bob", "cat") * 5)
    )

    assert "15× # user <*> logged in" in found(find_log, text).notes


def test_a_trace_in_a_log_is_told() -> None:
    text = with_lines((5, "ERROR x\na.b.BadError: y\n\tat a.b.C.d(C.java:1)"))

    assert "raised at" in dict(quoted(found(find_log, text), text))


def test_levels_alone_make_a_log() -> None:
    text = "INFO a\nWARN b\n[DEBUG] c\nother"
    findings = found(find_log, text)

    assert "log of 4 lines, 2 templates" != findings.notes[0]
    assert findings.notes[0].startswith("log of 4 lines, ")
    assert "levels: DEBUG 1, INFO 1, WARN 1" in findings.notes


def test_different_lines_beyond_a_bound_are_only_counted() -> None:
    lines = [f"INFO {chr(0x4E00 + index % 200)}{chr(0x4E00 + index // 200)} x" for index in range(1_010)]

    assert "10 lines beyond the first 1000 different ones" in found(find_log, "\n".join(lines)).notes


def test_what_is_no_log() -> None:
    assert 1 == refused(find_log, "")
    assert 1 == refused(find_log, "10:00:00 a\n10:00:01 b")
    assert 4 == refused(find_log, "10:00:00 a\n10:00:01 b\n10:00:02 c\n" + "other\n" * 20)


def test_its_name() -> None:
    assert "log-v1" == LOG.name
