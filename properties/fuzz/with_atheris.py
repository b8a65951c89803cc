"""The engine where `atheris` is installed (extra `fuzz`): libFuzzer, guided by the branches of jingwei.

One process a target, since libFuzzer ends the process itself. Started by `python -m properties.fuzz`.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from random import Random
from typing import Final

INPUT_BYTES_MAX: Final = 16_384
SECONDS_A_CALL: Final = 20


def installed() -> bool:
    return importlib.util.find_spec("atheris") is not None


def run(name: str, seconds: int, seed: int, place: Path) -> None:
    """Fuzz one target; never comes back. Ends with another status than 0 where a promise broke.

    Args:
        name: the target.
        seconds: how long, at most.
        seed: of libFuzzer; 0 lets it choose.
        place: where `grown/` (inputs that reached something new) and `findings/` are kept.
    """
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["jingwei"]):
        targets = importlib.import_module("properties.fuzz.targets")
    mutation = importlib.import_module("properties.fuzz.mutation")

    def change(data: bytes, max_size: int, chosen: int) -> bytes:
        rng = Random(chosen)
        if rng.random() < 0.2:
            changed: bytes = atheris.Mutate(data, max_size)
            return changed
        made: bytes = mutation.mutated(data, rng)
        return made[:max_size]

    grown, findings = place / "grown", place / "findings"
    grown.mkdir(parents=True, exist_ok=True)
    findings.mkdir(exist_ok=True)
    arguments = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        f"-max_len={INPUT_BYTES_MAX}",
        "-len_control=0",
        f"-timeout={SECONDS_A_CALL}",
        f"-seed={seed}",
        f"-artifact_prefix={findings}/",
        "-print_final_stats=1",
        str(grown),
        str(mutation.CORPUS / name),
    ]
    atheris.Setup(arguments, targets.TARGETS[name], custom_mutator=change)
    atheris.Fuzz()
