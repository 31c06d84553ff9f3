"""E f(S - shift) by sums over counts: laws with two atoms, and few draws from few atoms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from shuffledp.arithmetic.balls import arb, total
from shuffledp.errors import ParameterError
from shuffledp.kernel.draws import Draws

__all__ = ["by_counts", "count_vectors", "two_atoms"]

# Share of the sum below which a bound of all later terms ends the binomial sum; it is far below any
# relative width requested.
_LAST_TERM = 1e-15
# Largest ratio of successive terms at which the rest is bounded by a geometric series.
_SHRINKING = 0.99


def payoff(y: arb, gap: int) -> arb:
    """f(y) = y_+ for gap 0, (1 - e^-y)_+ for gap 1."""
    return (y if gap == 0 else -(-y).expm1()).nonnegative_part()


def two_atoms(draws: Draws, *, gap: int = 0, shift: arb | None = None) -> tuple[arb, arb]:
    """Both ends of E f(S - shift) for draws from two atoms, by the binomial sum.

    The sum starts at the first count of the larger gain for which S - shift may be positive. There
    the payoff is concave with f(0) = 0, so that f(y + d)/f(y) <= 1 + d/y, and the ratio of
    successive terms decreases in the count: a geometric series bounds all terms after the last one.

    Raises
    ------
    ParameterError
        If there are not two atoms with gains that are certainly different.
    """
    if len(draws.gains) != 2:
        raise ParameterError("draws: wanted two atoms")
    (x, q), (y, p) = sorted(
        zip(draws.gains, draws.masses, strict=True), key=lambda atom: float(atom[0])
    )
    n, gap_of_gains, offset = draws.count, y - x, arb(0) if shift is None else shift
    if not gap_of_gains > 0:
        raise ParameterError("draws: wanted two gains that are certainly different")
    k = _first_positive(x, gap_of_gains, n, offset)
    if k > n:
        return arb(0), arb(0)
    value = k * y + (n - k) * x - offset
    coefficient = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    mass = coefficient.exp() * p**k * q ** (n - k)
    found, odds = arb(0), p / q
    while True:
        term = mass * payoff(value, gap)
        found += term
        if k == n:
            return found.lower(), found.upper()
        ratio = odds * (n - k) / (k + 1)
        if value > 0:
            last = ratio * (1 + gap_of_gains / value)
            if last < _SHRINKING and term * last / (1 - last) < found * _LAST_TERM:
                return found.lower(), (found + term * last / (1 - last)).upper()
        mass, value, k = mass * ratio, value + gap_of_gains, k + 1


def _first_positive(low: arb, gap: arb, n: int, shift: arb) -> int:
    """A count k of the larger gain such that certainly n low + j gap <= shift for all j < k."""
    start = (shift - n * low) / gap
    # Of a wide ball, take the lower end.
    k = int(start.lower().floor().fmpz()) if start.is_finite() else 0
    return min(max(k, 0), n + 1)


def count_vectors(n: int, atoms: int) -> Iterator[tuple[int, ...]]:
    """All vectors of counts of n draws from this number of atoms."""
    if atoms == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in count_vectors(n - first, atoms - 1):
            yield (first, *rest)


def by_counts(draws: Sequence[Draws], *, gap: int = 0, shift: arb | None = None) -> tuple[arb, arb]:
    """Both ends of E f(S - shift) by enumeration of the counts of all draws."""
    parts = [list(_sums_of(one)) for one in draws]
    found, offset = arb(0), arb(0) if shift is None else shift
    for chosen in product(*parts):
        value = total(x for x, _ in chosen) - offset
        if value <= 0:
            continue
        found += math.prod((m for _, m in chosen), start=payoff(value, gap))
    return found.lower(), found.upper()


def _sums_of(draws: Draws) -> Iterator[tuple[arb, arb]]:
    """Every possible sum of the draws, with its mass."""
    n = draws.count
    powers = [[mass**c / arb(c).fac() for c in range(n + 1)] for mass in draws.masses]
    for counts in count_vectors(n, len(draws.masses)):
        mass = math.prod(
            (row[c] for row, c in zip(powers, counts, strict=True)), start=arb(n).fac()
        )
        yield total(c * x for c, x in zip(counts, draws.gains, strict=True)), mass
