"""Exact divergences of tiny shuffled channels, by enumeration in rational arithmetic.

The oracle of oracles: no floating point, no transform, no theorem. A channel is a sequence of
rows (inputs) of Fractions (output probabilities); ``alpha`` stands for ``e**epsilon``.
Meant for n <= 6 and up to four inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from math import factorial, lcm

from shuffledp.errors import ParameterError

__all__ = ["blanket_delta", "dataset_delta", "worst_delta"]

# A law of the histogram of the messages: counts per output -> integer weight.
_Histogram = dict[tuple[int, ...], int]


def worst_delta(channel: Sequence[Sequence[Fraction]], n: int, alpha: Fraction) -> Fraction:
    """Largest hockey-stick divergence over ALL pairs of neighbouring datasets.

    Parameters
    ----------
    channel : sequence of rows of Fractions, each summing to one.
    n : number of users, n >= 1.
    alpha : e**epsilon as a Fraction, alpha > 0.

    Returns
    -------
    Fraction
        max over ordered pairs (x0, x1) and over the inputs of the other n - 1 users of
        H_alpha(shuffled(x0, others) || shuffled(x1, others)).

    Raises
    ------
    ParameterError
        If the channel is not a channel, n < 1 or alpha <= 0.
    """
    rows, unit = _integer_rows(channel, alpha)
    _check_n(n)
    worst = 0
    for others in combinations_with_replacement(range(len(rows)), n - 1):
        base = _histogram_law(rows, others)
        with_input = [_add_user(base, row) for row in rows]
        for x0, x1 in permutations(range(len(rows)), 2):
            worst = max(worst, _hockey_stick(with_input[x0], with_input[x1], alpha))
    return Fraction(worst, alpha.denominator * unit**n)


def dataset_delta(
    channel: Sequence[Sequence[Fraction]],
    x0: int,
    x1: int,
    others: Sequence[int],
    alpha: Fraction,
) -> Fraction:
    """Hockey-stick divergence of the pair of datasets (x0, others) and (x1, others).

    Parameters
    ----------
    channel : sequence of rows of Fractions, each summing to one.
    x0, x1 : the inputs (row indices) of the user in whom the datasets differ.
    others : the inputs of the other users, in any order; n = len(others) + 1.
    alpha : e**epsilon as a Fraction, alpha > 0.

    Returns
    -------
    Fraction
        H_alpha(shuffled(x0, others) || shuffled(x1, others)).
    """
    rows, unit = _integer_rows(channel, alpha)
    for x in (x0, x1, *others):
        if not 0 <= x < len(rows):
            raise ParameterError(f"input = {x}: wanted an index from 0 to {len(rows) - 1}")
    base = _histogram_law(rows, others)
    total = _hockey_stick(_add_user(base, rows[x0]), _add_user(base, rows[x1]), alpha)
    return Fraction(total, alpha.denominator * unit ** (len(others) + 1))


def blanket_delta(channel: Sequence[Sequence[Fraction]], n: int, alpha: Fraction) -> Fraction:
    """The blanket bound, exactly, maximised over ordered pairs of inputs.

    Parameters
    ----------
    channel : sequence of rows of Fractions, each summing to one.
    n : number of users, n >= 1.
    alpha : e**epsilon as a Fraction, alpha > 0.

    Returns
    -------
    Fraction
        (1/n) E[G_1 + ... + G_n]_+ with G = (R_x0 - alpha R_x1)/B on the blanket B = min_x R_x,
        G = 0 on the left-over, plus the sum of (R_x0 - alpha R_x1)_+ where B = 0
        (Balle et al. 2019, Lemma 5.3, with the term for outputs the blanket does not reach).
    """
    rows, unit = _integer_rows(channel, alpha)
    _check_n(n)
    blanket = [min(column) for column in zip(*rows, strict=True)]
    reached = [y for y, mass in enumerate(blanket) if mass > 0]
    masses = [blanket[y] for y in reached] + [unit - sum(blanket)]
    # Bring all ratios (R_x0 - alpha R_x1)/B to one integer denominator.
    common = lcm(*(blanket[y] for y in reached)) if reached else 1
    counts = list(_weighted_compositions(n, masses))
    best = Fraction(0)
    for x0, x1 in permutations(range(len(rows)), 2):
        gain = [
            alpha.denominator * p - alpha.numerator * q
            for p, q in zip(rows[x0], rows[x1], strict=True)
        ]
        ratio = [gain[y] * (common // blanket[y]) for y in reached] + [0]
        positive_part = 0
        for count, weight in counts:
            total = sum(c * g for c, g in zip(count, ratio, strict=True))
            if total > 0:
                positive_part += weight * total
        outside = sum(max(gain[y], 0) for y, mass in enumerate(blanket) if mass == 0)
        best = max(
            best,
            Fraction(positive_part, n * unit**n * common * alpha.denominator)
            + Fraction(outside, unit * alpha.denominator),
        )
    return best


def _check_n(n: int) -> None:
    if n < 1:
        raise ParameterError(f"n = {n}: wanted at least one user")


def _integer_rows(
    channel: Sequence[Sequence[Fraction]], alpha: Fraction
) -> tuple[list[list[int]], int]:
    """Rows as integers over one common denominator: big integers are much faster than Fractions."""
    if alpha <= 0:
        raise ParameterError(f"alpha = {alpha}: wanted e**epsilon, a positive Fraction")
    if not channel or any(len(row) != len(channel[0]) for row in channel):
        raise ParameterError("channel: wanted at least one row, all rows of the same length")
    for i, row in enumerate(channel):
        if sum(row) != 1 or any(entry < 0 for entry in row):
            raise ParameterError(f"channel[{i}] = {row}: wanted probabilities that sum to one")
    unit = lcm(*(Fraction(entry).denominator for row in channel for entry in row))
    return [[int(entry * unit) for entry in row] for row in channel], unit


def _add_user(law: Mapping[tuple[int, ...], int], row: Sequence[int]) -> _Histogram:
    out: _Histogram = {}
    for histogram, weight in law.items():
        for y, probability in enumerate(row):
            if probability:
                key = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
                out[key] = out.get(key, 0) + weight * probability
    return out


def _histogram_law(rows: Sequence[Sequence[int]], inputs: Sequence[int]) -> _Histogram:
    law: _Histogram = {(0,) * len(rows[0]): 1}
    for x in inputs:
        law = _add_user(law, rows[x])
    return law


def _hockey_stick(p: _Histogram, q: _Histogram, alpha: Fraction) -> int:
    """The sum of (P - alpha Q)_+, times the denominator of alpha."""
    total = 0
    for histogram, weight in p.items():
        total += max(alpha.denominator * weight - alpha.numerator * q.get(histogram, 0), 0)
    return total


def _weighted_compositions(n: int, masses: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """All counts (c_1, ..., c_m) with sum n, and their multinomial weights."""

    def walk(
        left: int, index: int, counts: tuple[int, ...], weight: int
    ) -> Iterator[tuple[tuple[int, ...], int]]:
        if index == len(masses) - 1:
            yield (*counts, left), weight // factorial(left) * masses[index] ** left
            return
        for c in range(left + 1 if masses[index] else 1):
            # n!/(c_1! ... c_i!) is an integer at every level, so the quotient is exact.
            yield from walk(
                left - c, index + 1, (*counts, c), weight // factorial(c) * masses[index] ** c
            )

    yield from walk(n, 0, (), factorial(n))
