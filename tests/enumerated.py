"""Exact answers the tests compare with: rational arithmetic and balls, none of the library's code.

Comparisons are one-sided and without tolerance. e^eps is not rational, so truths come as
intervals [low, high] of rationals or balls whose width (1e-60 and less) lies on the RIGHT side:
a lower end has to be <= low, an upper end >= high.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

from flint import arb, fmpq

GRID = 1 << 120


def ball(x) -> arb:
    """The number a float, an int or a Fraction is, as a ball."""
    if isinstance(x, Fraction):
        return arb(fmpq(x.numerator, x.denominator))
    return arb(x)


def exponential(epsilon: float) -> tuple[Fraction, Fraction]:
    """Rationals around e^eps, equal where eps = 0."""
    if epsilon == 0.0:
        return Fraction(1), Fraction(1)
    scaled = arb(epsilon).exp() * GRID
    return (
        Fraction(int(scaled.floor().lower().unique_fmpz()), GRID),
        Fraction(int(scaled.ceil().upper().unique_fmpz()), GRID),
    )


# ------------------------------------------------------------------------------------- channels


def row_fractions(matrix: Sequence[Sequence[float]]) -> list[list[Fraction]]:
    """The channel a matrix of floats means: each row divided by its exact sum."""
    rows = [[Fraction(p) for p in row] for row in matrix]
    return [[p / sum(row) for p in row] for row in rows]


def histogram_law(rows: Sequence[Sequence[int]], users: Sequence[int]) -> dict:
    """Law of the counts of each output, one message from every user; weights as integers."""
    law = {(0,) * len(rows[0]): 1}
    for x in users:
        law = with_user(law, rows[x])
    return law


def with_user(law: dict, row: Sequence[int]) -> dict:
    grown: dict = {}
    for counts, p in law.items():
        for y, q in enumerate(row):
            if q:
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                grown[key] = grown.get(key, 0) + p * q
    return grown


def hockey_stick(p: dict, q: dict, alpha: Fraction) -> int:
    """Sum of (P - alpha Q)_+, times the denominator of alpha."""
    up, down = alpha.denominator, alpha.numerator
    return sum(max(up * v - down * q.get(k, 0), 0) for k, v in p.items())


def shuffled(laws: Sequence[Sequence]) -> dict:
    """Law of the counts of outputs, one message of each of these laws."""
    return histogram_law(laws, range(len(laws)))


def divergence(p: dict, q: dict, alpha: Fraction) -> Fraction:
    """H_alpha(p||q), exactly."""
    return Fraction(hockey_stick(p, q, alpha)) / alpha.denominator


def of_replaced(first, second, others: Sequence[Sequence], alpha: Fraction) -> Fraction:
    """H_alpha of one shuffled message with either law among others with laws of their own."""
    return divergence(shuffled([first, *others]), shuffled([second, *others]), alpha)


def worst_delta(rows, n: int, alphas: Sequence[Fraction]) -> list[Fraction]:
    """The privacy profile itself at each alpha: every pair of datasets, both directions."""
    unit = math.lcm(*(Fraction(p).denominator for row in rows for p in row))
    whole = [[int(p * unit) for p in row] for row in rows]
    worst = [0] * len(alphas)
    for others in combinations_with_replacement(range(len(rows)), n - 1):
        base = histogram_law(whole, others)
        laws = [with_user(base, row) for row in whole]
        for p, q in permutations(laws, 2):
            for i, alpha in enumerate(alphas):
                worst[i] = max(worst[i], hockey_stick(p, q, alpha))
    return [
        Fraction(top, alpha.denominator * unit**n) for top, alpha in zip(worst, alphas, strict=True)
    ]


def dataset_delta(rows, x0: int, x1: int, others: Sequence[int], alpha: Fraction) -> Fraction:
    """Of one pair of datasets: x0 or x1, and what the other users hold."""
    unit = math.lcm(*(Fraction(p).denominator for row in rows for p in row))
    whole = [[int(p * unit) for p in row] for row in rows]
    p, q = (histogram_law(whole, (x, *others)) for x in (x0, x1))
    return Fraction(hockey_stick(p, q, alpha), alpha.denominator * unit ** (len(others) + 1))


def blanket_delta(rows, x0: int, x1: int, n: int, alpha: Fraction) -> Fraction:
    """The blanket bound of one ordered pair, outputs that the blanket misses in full."""
    columns = list(zip(*rows, strict=True))
    atoms, outside = [], Fraction(0)
    for column in columns:
        floor, gain = min(column), column[x0] - alpha * column[x1]
        if floor:
            atoms.append((floor, gain / floor))
        else:
            outside += max(gain, Fraction(0))
    return positive_part(atoms, n) / n + outside


def worst_blanket(rows, n: int, alpha: Fraction) -> Fraction:
    pairs = permutations(range(len(rows)), 2)
    return max(blanket_delta(rows, x0, x1, n, alpha) for x0, x1 in pairs)


# --------------------------------------------------------------------------------- E[S]_+ exactly


def positive_part(atoms: Sequence[tuple[Fraction, Fraction]], n: int) -> Fraction:
    """E[G_1 + ... + G_n]_+ of a finite law of rationals; what is missing to mass 1 sits at 0.

    By repeated convolution of {value: weight} in integers: lattices stay small, and so does any
    law with few atoms.
    """
    total = sum((w for w, _ in atoms), Fraction(0))
    law = [(w, g) for w, g in atoms if w] + ([(1 - total, Fraction(0))] if total < 1 else [])
    unit_w = math.lcm(*(w.denominator for w, _ in law))
    unit_g = math.lcm(*(Fraction(g).denominator for _, g in law))
    whole: dict[int, int] = {}
    for w, g in law:
        key = int(g * unit_g)
        whole[key] = whole.get(key, 0) + int(w * unit_w)
    sums = {0: 1}
    for _ in range(n):
        grown: dict[int, int] = {}
        for s, p in sums.items():
            for g, w in whole.items():
                grown[s + g] = grown.get(s + g, 0) + p * w
        sums = grown
    top = sum(s * p for s, p in sums.items() if s > 0)
    return Fraction(top, unit_g * unit_w**n)


def assert_inside(interval, low, high=None) -> None:
    """Log ends around a truth in [low, high] (Fractions or balls), nothing forgiven."""
    high = low if high is None else high
    low, high = (x if isinstance(x, arb) else ball(x) for x in (low, high))
    assert not math.isnan(interval.low)
    assert not math.isnan(interval.high)
    assert interval.low <= interval.high
    if interval.low > -math.inf:
        assert low > 0, f"lower end e^{interval.low} of a truth {low}"
        assert arb(interval.low) <= low.log(), f"{interval} above the truth {low.log()}"
    if interval.high == -math.inf:
        assert high == 0, f"upper end 0 of a truth {high}"
    elif high != 0:
        assert arb(interval.high) >= high.log(), f"{interval} below the truth {high.log()}"
