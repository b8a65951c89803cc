"""How a test runs a command of `jingwei`, and how the command ended."""

import json
from collections.abc import Callable

import attrs


@attrs.frozen
class Ended:
    """How one command ended."""

    code: int
    out: bytes
    err: str

    @property
    def json(self) -> object:
        return json.loads(self.out)


Run = Callable[..., Ended]
