"""Exit codes: one a family of failures, listed in docs/cli.md."""

import enum
from typing import final

from jingwei.compose.pipeline import ComposeFailure
from jingwei.report.failures import BuildFailure, CountLimit, DoesNotFit, SurvivalBroken


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


def build_exit(failure: BuildFailure | ComposeFailure) -> Exit:
    """The code of a build that failed, or of a composition."""
    if isinstance(failure, DoesNotFit | CountLimit):
        return Exit.BUDGET
    return Exit.BUG if isinstance(failure, SurvivalBroken) else Exit.INPUT
