"""One build from 1,000 turns to 5 % of their cost: counts, text handed to the counter, time."""

import functools
from collections.abc import Iterable
from typing import final

from benchmarks.histories import history, inputs
from benchmarks.measure import Row, best_of, show
from benchmarks.vocabulary import encoding
from jingwei.build import BuildInputs, BuiltContext, build
from jingwei.messages.records import (
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
)
from jingwei.messages.wire import encode_request, message_text
from jingwei.outcome import Outcome
from jingwei.projection.records import Projection
from jingwei.request.counting import AdditiveCounter, ByteHeuristicCounter, CountRefused
from jingwei.request.records import ContextTarget, TokenCount
from jingwei.request.remembering import RememberingCounter
from jingwei.selection.search import Search
from jingwei.tokenizers.tiktoken import BpeEstimateCounter


@final
class Meter:
    """Passes everything on, and notes which messages the per-message cost function was handed."""

    def __init__(self, counter: AdditiveCounter) -> None:
        self.counter = counter
        self.handed = list[ModelMessage]()

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return self.counter.count(target, request)

    def message_cost(self, message: ModelMessage) -> int:
        self.handed.append(message)
        return self.counter.message_cost(message)

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return self.counter.fixed_cost(constraint)


def main() -> list[Row]:
    projection = history(1000)
    return by_bytes(projection) + by_vocabulary(projection)


def by_bytes(projection: Projection) -> list[Row]:
    """With `ByteHeuristicCounter`, against serialising the whole projection once."""
    counter, messages = ByteHeuristicCounter(), tuple(projection.messages)
    asked = inputs(projection, counter, 0.05)
    meter = Meter(counter)
    built = bisected(projection, asked, meter)
    kept = text_size(built.request.messages)
    took = best_of(
        7,
        {
            "build": functools.partial(bisected, projection, asked, counter),
            "codec": functools.partial(encode_request, GenerationRequest(messages=messages)),
            "message_text": functools.partial(all_texts, messages),
        },
    )
    share = f"{len(built.request.messages)} of {len(messages):,} messages kept, best of 7"
    return show(
        "byte heuristic",
        [
            Row("full counts", len(built.report.attempts), "counts", limit=23),
            Row("text handed to message_cost / text kept", text_size(meter.handed) / kept, limit=2.5),
            Row("the same, each message once", text_size(set(meter.handed)) / kept, limit=2.5),
            Row("build / encode_request of all messages", took["build"] / took["codec"], limit=0.5),
            Row("build / message_text of all messages", took["build"] / took["message_text"], limit=0.5),
            Row("build", took["build"] * 1000, "ms"),
        ],
        share,
    )


def by_vocabulary(projection: Projection) -> list[Row]:
    """With a real vocabulary and a memory that is empty at the start of every build."""
    plain = BpeEstimateCounter(encoding=encoding("o200k_base"))
    asked = inputs(projection, plain, 0.05)
    meter = Meter(plain)
    built = bisected(projection, asked, RememberingCounter(meter))
    kept = built.request.messages
    warm = RememberingCounter(plain)
    took = best_of(
        7,
        {
            "cold": lambda: bisected(projection, asked, RememberingCounter(plain)),
            "warm": functools.partial(bisected, projection, asked, warm),
            "kept": lambda: sum(map(plain.message_cost, kept)),
        },
    )
    return show(
        "o200k_base, remembered",
        [
            Row("full counts", len(built.report.attempts), "counts", limit=23),
            Row("text tokenised / text kept", text_size(meter.handed) / text_size(kept), limit=2.5),
            Row("build, memory empty / tokenising what is kept", took["cold"] / took["kept"], limit=1.5),
            Row("build, memory warm / tokenising what is kept", took["warm"] / took["kept"]),
            Row("build, memory empty", took["cold"] * 1000, "ms"),
        ],
        f"{len(kept)} messages kept, best of 7",
    )


def bisected(projection: Projection, asked: BuildInputs, counter: AdditiveCounter) -> BuiltContext:
    return build(projection, asked, counter, search=Search.BISECT).unwrap()


def all_texts(messages: Iterable[ModelMessage]) -> None:
    for message in messages:
        message_text(message)


def text_size(messages: Iterable[ModelMessage]) -> int:
    return sum(len(message_text(message)) for message in messages)
