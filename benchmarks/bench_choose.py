"""Choosing by value: how near to the best choice, and how the time grows with the number of options."""

import functools
import random
from collections.abc import Sequence
from fractions import Fraction

from benchmarks import workload
from benchmarks.measure import Row, best_of, show
from jingwei.items.records import Tier
from jingwei.selection.choose import Choice, Option, choose


def main() -> list[Row]:
    return quality() + growth()


def quality() -> list[Row]:
    """On instances of up to 20 items in one tier, against the best there is."""
    shares = list[Fraction]()
    for instance in workload.items(1):
        options = [
            _option(number, row["token_cost"], Fraction(str(row["value"])))
            for number, row in enumerate(instance["items"])
        ]
        best = best_worth(options, instance["budget"])
        got = sum(
            (one.worth for one in options if one.key in _chosen(options, instance["budget"])), Fraction(0)
        )
        shares.append(got / best if best else Fraction(1))
    mean = sum(shares, Fraction(0)) / len(shares)
    return show(
        "by value, in one tier",
        [
            Row("lost of the best, mean", float(100 * (1 - mean)), "%", limit=1),
            Row("lost of the best, worst", float(100 * (1 - min(shares))), "%", limit=50),
            Row("instances with less than the best", sum(share < 1 for share in shares), "of 1,000"),
        ],
        f"{len(shares):,} instances of up to 20 items",
    )


def growth() -> list[Row]:
    """Twice as many options over all tiers, in room for a third of them."""
    few, many = spread(10_000), spread(20_000)
    room = {len(given): sum(one.cost for one in given) // 3 for given in (few, many)}
    took = best_of(
        5,
        {
            "few": functools.partial(choose, few, room[len(few)]),
            "many": functools.partial(choose, many, room[len(many)]),
        },
    )
    return show(
        "many options",
        [
            Row("20,000 options / 10,000 options", took["many"] / took["few"], limit=2.3),
            Row("10,000 options", took["few"] * 1000, "ms"),
        ],
        "best of 5",
    )


def spread(count: int) -> tuple[Option, ...]:
    """Skewed costs, values as floats have them, four tiers."""
    chance = random.Random(1)
    return tuple(
        [
            _option(number, int(4000 ** chance.random()), Fraction(chance.random()), tuple(Tier)[number % 4])
            for number in range(count)
        ]
    )


def best_worth(options: Sequence[Option], room: int) -> Fraction:
    """The most that fits, exactly: all pairs of cost and worth that no cheaper set reaches."""
    front = [(0, Fraction(0))]
    for option in options:
        joined = [(c + option.cost, w + option.worth) for c, w in front if c + option.cost <= room]
        merged = sorted([*front, *joined], key=lambda pair: (pair[0], -pair[1]))
        front, most = [], Fraction(-1)
        for pair in merged:
            if pair[1] > most:
                front.append(pair)
                most = pair[1]
    return front[-1][1]


def _chosen(options: Sequence[Option], room: int) -> frozenset[str]:
    choice: Choice = choose(options, room).unwrap()
    return choice.chosen


def _option(number: int, cost: int, worth: Fraction, tier: Tier = Tier.P3) -> Option:
    return Option(key=f"{number:05d}", tier=tier, kind=None, cost=cost, worth=worth)
