"""Exact divergences of shuffled data sets by enumeration, in whole numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

Rows = Sequence[Sequence[int]]
Counts = tuple[int, ...]


def grown(epsilon: float) -> Fraction:
    """A fraction just above e^eps: H_a falls in a, so that exact values at it are lower bounds."""
    return Fraction(math.exp(epsilon)) * (1 + Fraction(1, 2**50))


def others_law(rows: Rows, others: Sequence[int]) -> Counter[Counts]:
    """Weights of the counts of the others' outputs (entries of rows are weights)."""
    law: Counter[Counts] = Counter({(0,) * len(rows[0]): 1})
    for x in others:
        law = with_one(law, rows[x])
    return law


def with_one(law: Counter[Counts], row: Sequence[int]) -> Counter[Counts]:
    """The law after one more user with these weights."""
    more: Counter[Counts] = Counter()
    for counts, weight in law.items():
        for y, p in enumerate(row):
            if p:
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                more[key] += weight * p
    return more


def divergence(
    rows: Rows, total: int, x0: int, x1: int, others: Sequence[int], a: Fraction
) -> Fraction:
    """H_a of the counts with x0 and with x1 beside the others; every row sums to ``total``."""
    base = others_law(rows, others)
    first, second = with_one(base, rows[x0]), with_one(base, rows[x1])
    gained = sum(
        max(0, a.denominator * p - a.numerator * second[counts]) for counts, p in first.items()
    )
    return Fraction(gained, a.denominator * total ** (len(others) + 1))


def worst(rows: Rows, total: int, x0: int, x1: int, n: int, a: Fraction) -> Fraction:
    """The largest divergence over all inputs of the other n - 1 users."""
    inputs = range(len(rows))
    datasets = itertools.combinations_with_replacement(inputs, n - 1)
    return max(divergence(rows, total, x0, x1, others, a) for others in datasets)
