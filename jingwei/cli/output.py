"""What a command prints: JSON for machines on standard output, words for people on standard error."""

import contextlib
import io
import os
import shutil
import sys
from typing import NoReturn

import typer
from rich.console import Console, RenderableType

from jingwei.cli.describe import Said
from jingwei.cli.exits import Exit
from jingwei.codec import EncodeFailed, utf8
from jingwei.jsontext import JsonValue, canonical


def emit(value: JsonValue) -> None:
    """One line of canonical JSON on standard output."""
    emit_text(canonical(value) + "\n")


def emit_text(text: str) -> None:
    """Text as UTF-8 on standard output, whatever the locale says; ends the command if nobody takes it."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # it is where it was closed
        note("jingwei: standard output is closed")
        raise typer.Exit(Exit.FILE)
    data = utf8(text)
    if isinstance(data, EncodeFailed):
        fail(
            Said(
                what=f"the output holds half a surrogate pair ({data.actual})",
                hint="pass text as UTF-8",
            ),
            Exit.INPUT,
        )
    try:
        rest = memoryview(data)
        while rest:
            # With PYTHONUNBUFFERED the stream is the bare file, which may take a part only.
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # What is left in the buffer would fail again, loudly, when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        note("jingwei: the reader of the output went away")
        raise typer.Exit(Exit.BROKEN_PIPE) from None
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        note(f"jingwei: standard output: {error.strerror or error}\n  the output is not complete")
        raise typer.Exit(Exit.FILE) from None


def fail(said: Said, code: Exit, failure: JsonValue = None) -> NoReturn:
    """Tell people on standard error, machines on standard output, and end the command."""
    if failure is not None:
        emit({"failure": failure})
    note(f"jingwei: {said.what}\n  {said.hint}")
    raise typer.Exit(code)


def plural(count: int, noun: str, several: str | None = None) -> str:
    """`1 violation`, `2 violations`; a plural that takes more than an s is said."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def note(text: str) -> None:
    """A message for people on standard error; where that is closed or full, nobody can be told."""
    with contextlib.suppress(OSError, AttributeError):
        sys.stderr.buffer.write((text + "\n").encode("utf-8", "replace"))
        sys.stderr.buffer.flush()


def show(what: RenderableType) -> None:
    """A table for people on standard output: as wide as the terminal, or COLUMNS, or 100."""
    terminal = sys.stdout is not None and sys.stdout.isatty()  # pyright: ignore[reportUnnecessaryComparison]
    width = shutil.get_terminal_size((100, 24)).columns  # COLUMNS, the terminal, or 100
    console = Console(file=io.StringIO(), width=width, highlight=False, force_terminal=terminal)
    with console.capture() as rendered:
        console.print(what)
    emit_text(rendered.get())
