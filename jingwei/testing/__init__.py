"""What a host runs against its own parts (extra `testing`: needs Hypothesis). The core imports none of it.

`check_counter`, `check_strategy`, `check_builder` and `check_content_store` run the rules of C, R, B and T4
against a counter, a strategy, a builder or a store, and say which rule is broken. `LogMachine`,
`ProjectionMachine` and `BuildMachine` are Hypothesis state machines to subclass with a projector, builder,
counter or strategy of one's own.
`jingwei.testing.strategies` draws events, logs, messages and requests.
"""

from jingwei.testing.build_machine import BuildMachine
from jingwei.testing.conformance import (
    check_build,
    check_builder,
    check_count,
    check_counter,
    check_plan,
    check_strategy,
)
from jingwei.testing.machines import LogMachine
from jingwei.testing.projection_machine import ProjectionMachine
from jingwei.testing.store_laws import StoreMaker, check_content_store

__all__ = [
    "BuildMachine",
    "LogMachine",
    "ProjectionMachine",
    "StoreMaker",
    "check_build",
    "check_builder",
    "check_content_store",
    "check_count",
    "check_counter",
    "check_plan",
    "check_strategy",
]
