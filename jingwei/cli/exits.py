"""Exit codes: one a family of failures, listed in docs/cli.md."""

import enum
from typing import final


@final
class Exit(enum.IntEnum):
    """How a command ends."""

    OK = 0
    USAGE = 2
    FILE = 3
    DECODE = 4
    LOG = 5
    INPUT = 6
    BUDGET = 7
    IMPORT = 8
    BUG = 9
    INTERRUPTED = 130
    BROKEN_PIPE = 141
