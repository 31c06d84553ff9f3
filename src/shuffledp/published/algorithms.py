"""The papers' own algorithms, shortened: binomial sums over clones, and an FFT of the blanket.

In exact arithmetic these are bounds; here, as in the papers' programs, they are plain floats: a
delta below about 1e-12 is rounding error, and nothing is rounded outward. They are for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shuffledp import _special as special
from shuffledp.errors import NotCertified
from shuffledp.pair import Array, ShuffledPair

# Terms of a binomial sum that are in memory at once.
_BLOCK = 1 << 20
# Below this natural logarithm exp() of a float underflows.
_UNDERFLOW = -745.0
# Points of the longest FFT: some seconds and half a gigabyte.
_LARGEST_GRID = 1 << 24
# Mass that a grid's window may cut off, as log(1/mass).
_LOG_CUT = math.log(1e16)


# --------------------------------------------------------------------------- sums over the clones


def clone_delta(share: float, eps0: float, n: int, epsilon: float) -> float:
    """delta of (A + D, C - A + 1 - D) against (A + 1 - D, C - A + D), summed over every c.

    C ~ Bin(n - 1, share), A ~ Bin(C, 1/2), D ~ Bern(E/(E+1)), E = e^eps0. The standard clone has
    share = 1/E (Feldman, McMillan, Talwar 2021, Theorem 3.2 and appendix), the stronger one
    2/(E + 1) (2023; docs/theory.md, Corollary 5.5).
    """
    if epsilon >= eps0:
        return 0.0
    own, a, total = 1.0 / (1.0 + math.exp(-eps0)), math.exp(epsilon), 0.0
    # Count u of c + 1 in the first label has ratio P/Q > a exactly above this share of c + 1.
    odds = (own * a - (1.0 - own)) / (own - (1.0 - own) * a)
    for c, weight in _counts(n - 1, share):
        least = np.floor(odds / (1.0 + odds) * (c + 1.0)) + 1.0
        with_one, without = _at_least(c, least - 1.0), _at_least(c, least)
        p = own * with_one + (1.0 - own) * without
        q = (1.0 - own) * with_one + own * without
        total += float((weight * np.maximum(p - a * q, 0.0)).sum())
    return total


def _counts(size: int, share: float) -> Iterator[tuple[Array, Array]]:
    """Every c from 0 to size with its binomial probability, in blocks, where it is a float."""
    for start in range(0, size + 1, _BLOCK):
        c = np.arange(start, min(start + _BLOCK, size + 1), dtype=np.float64)
        log = special.gammaln(size + 1.0) - special.gammaln(c + 1.0)
        log -= special.gammaln(size - c + 1.0)
        if share < 1.0:
            log += c * math.log(share) + (size - c) * math.log1p(-share)
        else:
            log = np.where(c == size, 0.0, -np.inf)
        kept = log > _UNDERFLOW
        yield c[kept], np.exp(log[kept])


def _at_least(c: Array, k: Array) -> Array:
    """P(Bin(c, 1/2) >= k)."""
    inside = (k > 0.0) & (k <= c)
    values = np.where(k <= 0.0, 1.0, 0.0)
    values[inside] = special.bdtrc(k[inside] - 1.0, c[inside].astype(np.int64), 0.5)
    return values


# ------------------------------------------------------------------------------ FFT, gains rounded


def grid_delta(pair: ShuffledPair, *, epsilon: float, step: float, up: bool) -> tuple[float, int]:
    """delta with every gain rounded up, or down, to a grid, and the length of the FFT.

    Su, Cheng, Wang 2025, Algorithm 7: the law of G = a - e^eps b is convolved n times by one FFT
    for (1/n) E[G_1 + .. + G_n]_+. The window is Bernstein's. (The exponent printed in the paper for
    that, 2a^2/b^2 - l, does not follow from Hoeffding's inequality, which gives 2(a - l)^2/b^2.)
    """
    gain = (pair.a - math.exp(epsilon) * pair.b) / step
    place = np.ceil(gain) if up else np.floor(gain)
    mean = float((pair.w * place).sum())
    variance = max(float((pair.w * place**2).sum()) - mean**2, 0.0)
    spread = max(float(place.max(initial=0.0)), 0.0) - min(float(place.min(initial=0.0)), 0.0)
    linear = _LOG_CUT * spread / 3.0
    half = linear + math.sqrt(linear**2 + 2.0 * _LOG_CUT * pair.n * variance)
    points = points_for(2.0 * half, spread)
    start = round(pair.n * mean) - points // 2
    values = start + np.arange(points)
    total = sum_law(pair.w, place, pair.n, points)[values % points]
    main = float((np.maximum(values, 0.0) * total).sum()) * step / pair.n
    lost = pair.tail[0] if up else -math.exp(epsilon) * pair.tail[1]
    return min(max(main + _outside(pair, epsilon) + lost, 0.0), 1.0), points


def grid_step(pair: ShuffledPair, *, epsilon: float, width: float) -> float:
    """About the step at which the two roundings are a relative ``width`` of delta apart.

    Together they shift the mean of the sum by n gamma h, and E[S]_+ falls by about t/(s sqrt n) of
    itself for each unit of that.
    """
    gain = pair.a - math.exp(epsilon) * pair.b
    second = float((pair.w * gain**2).sum())
    t = max(math.expm1(epsilon) * math.sqrt(pair.n / second), 1.0)
    return 0.8 * width * math.sqrt(second / pair.n) / (float(pair.w.sum()) * t)


def points_for(window: float, spread: float) -> int:
    """The power of two that holds a window of so many steps."""
    points = 1 << max(4, math.ceil(math.log2(window + 4.0)))
    if points > _LARGEST_GRID or spread >= points:
        raise NotCertified(f"an FFT of {points:,} points, more than {_LARGEST_GRID:,}")
    return points


def sum_law(w: Array, place: Array, count: int, points: int) -> Array:
    """Law of the sum of ``count`` rounded gains, modulo the number of points."""
    mass = np.bincount(place.astype(np.int64) % points, weights=w, minlength=points)
    mass[0] += max(0.0, 1.0 - float(w.sum()))
    phi = np.fft.rfft(mass)
    # By logarithms: NumPy's own power of complex numbers is many times slower.
    return np.fft.irfft(np.exp(count * np.log(np.where(np.abs(phi) > 1e-300, phi, 1e-300))), points)


def _outside(pair: ShuffledPair, epsilon: float) -> float:
    """Outputs that the reference law cannot send count in full."""
    return float(np.maximum(pair.outside[:, 0] - math.exp(epsilon) * pair.outside[:, 1], 0.0).sum())
