"""Theorem 9.3 of docs/theory-stealing.md as it is printed, in floats, and F by enumeration."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

Law = list[tuple[float, float]]


def exact_f(common: Law, laws: Sequence[Law]) -> float:
    """F(c; d) = int_0^1 int (x)_+ c prod_i (u c + d_i) du, by expanding the product."""
    total = 0.0
    marked = [[(m, x, 1) for m, x in common] + [(m, x, 0) for m, x in law] for law in laws]
    first = [(m, x, 0) for m, x in common]
    for (mass, gain, _), *rest in itertools.product(first, *marked):
        weight = mass * math.prod(m for m, _, _ in rest)
        largest = max(gain + sum(x for _, x, _ in rest), 0.0)
        total += weight * largest / (1 + sum(joined for _, _, joined in rest))
    return total


def worst_f(common: Law, types: Sequence[Law], others: int) -> float:
    """The largest F of all data sets with so many others."""
    held = itertools.combinations_with_replacement(types, others)
    return max(exact_f(common, laws) for laws in held)


def random_laws(rng: random.Random) -> tuple[Law, list[Law]]:
    """A reservoir and two or three types with left-over; some gains are large and rare."""
    share = rng.uniform(0.05, 0.5)
    common = [(0.9 * share, -1.0), (0.1 * share, rng.uniform(0.0, 6.0))]
    types = []
    for _ in range(rng.randint(2, 3)):
        rare = rng.choice([0.0, 0.002, 0.02, 0.1])
        parts = [0.7, 0.2, rare]
        scale = rng.uniform(0.7, 1.0) * (1.0 - share) / sum(parts)
        gains = [-rng.uniform(0.3, 2.0), rng.uniform(0.0, 1.0), rng.uniform(2.0, 9.0)]
        law = [(scale * m, x) for m, x in zip(parts, gains, strict=True)]
        types.append([*law, (1.0 - share - sum(m for m, _ in law), 0.0)])
    return common, types
