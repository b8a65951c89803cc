"""Reading and writing for the command line: every fault of the outside world becomes one sentence."""

import sys
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final, final

import attrs
from tqdm import tqdm

CHUNK_BYTES: Final = 1024 * 1024


@final
@attrs.frozen(kw_only=True)
class Unreadable:
    """A file that could not be read or written, in words."""

    what: str
    hint: str


@final
class FileFault(Exception):
    """Carries an `Unreadable` from deep inside a lazy read to the command's one handler."""

    def __init__(self, fault: Unreadable) -> None:
        super().__init__(fault.what)
        self.fault = fault


def chunks_of(name: str) -> Iterator[bytes]:
    """A file's bytes in pieces, `-` being standard input; shows progress on a terminal.

    Raises `FileFault` for what the operating system refuses.
    """
    try:
        if name == "-":
            # A reader of its own over descriptor 0, whose `read1` gives what is there without waiting.
            with open(0, "rb", closefd=False) as file:
                yield from _pieces(file, "standard input", None)
        else:
            path = Path(name)
            with path.open("rb") as file:
                yield from _pieces(file, path.name, path.stat().st_size)
    except OSError as error:
        raise FileFault(_fault(name, error)) from None


def whole(name: str) -> bytes:
    """All bytes of a file."""
    return b"".join(chunks_of(name))


def written(name: str, data: bytes) -> None:
    """Write a file; raises `FileFault`."""
    try:
        Path(name).write_bytes(data)
    except OSError as error:
        hint = "check that the folder exists and may be written to"
        raise FileFault(Unreadable(what=f"{name}: {error.strerror or error}", hint=hint)) from None


def _pieces(file: BufferedReader, label: str, size: int | None) -> Iterator[bytes]:
    # `disable=None`: a bar on a terminal, nothing in a pipe. It appears only for work that lasts.
    with tqdm(
        total=size, unit="B", unit_scale=True, desc=label, disable=None, delay=0.5, file=sys.stderr
    ) as bar:
        while piece := file.read1(CHUNK_BYTES):
            yield piece
            bar.update(len(piece))


def _fault(name: str, error: OSError) -> Unreadable:
    shown = "standard input" if name == "-" else name
    hints: dict[type[OSError], str] = {
        FileNotFoundError: "check the path; `-` reads standard input",
        IsADirectoryError: "name a file inside it",
        PermissionError: "check who may read it",
    }
    hint = next(
        (text for cls, text in hints.items() if isinstance(error, cls)), "try again, or copy it first"
    )
    return Unreadable(what=f"{shown}: {error.strerror or error}", hint=hint)
