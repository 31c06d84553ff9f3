"""Noise on the integers drawn from its exact probabilities, to 2^-1280.

Floats only propose: what they cannot decide is settled by digits.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shuffledp.randomizers.chances import exponential, quotient, times
from shuffledp.randomizers.noise import laplace_cells
from shuffledp.randomness import BITS, RandomSource

Integers = npt.NDArray[np.int64]
# Error of e^-x in floats, x a square of rounded numbers: far below this.
_DOUBT = 2.0**-44


def geometric(rate: Decimal, size: int, source: RandomSource) -> Integers:
    """P(k) = (1 - a) a^k, k >= 0, a = e^-rate: the cells of Laplace noise without their sign."""
    cells = laplace_cells(rate, size, source)
    return np.where(cells < 0, ~cells, cells)


def two_sided_geometric(eps0: float, top: int, size: int, source: RandomSource) -> Integers:
    """P(k) proportional to e^{-(eps0/top) |k|}: a difference of two geometric numbers."""
    rate = quotient(Decimal(eps0), top)
    return geometric(rate, size, source) - geometric(rate, size, source)


def discrete_gaussian(sigma: float, size: int, source: RandomSource) -> Integers:
    """P(k) proportional to e^{-k^2/(2 sigma^2)}, by rejection from the two-sided geometric law.

    With t = floor(sigma) + 1 and rate 1/t a proposal k is kept with probability
    e^{-(|k| - sigma^2/t)^2/(2 sigma^2)}.

    Notes
    -----
    Canonne, Kamath, Steinke 2020, Algorithm 3.
    """
    t = math.floor(sigma) + 1
    found = np.empty(size, dtype=np.int64)
    missing = np.arange(size)
    while missing.size:
        k = two_sided_geometric(1.0, t, missing.size, source)
        kept = _kept(np.abs(k), sigma, t, source)
        found[missing[kept]] = k[kept]
        missing = missing[~kept]
    return found


def _kept(k: Integers, sigma: float, t: int, source: RandomSource) -> npt.NDArray[np.bool_]:
    coin = source.words(len(k))
    off = (k - sigma * sigma / t) / sigma
    margin = np.exp(-0.5 * off * off) - coin.astype(np.float64) * 2.0**-64
    kept = margin > 0.0
    for i in np.flatnonzero(np.abs(margin) <= _DOUBT):
        kept[i] = _settled(int(k[i]), int(coin[i]), Fraction(sigma), t, source)
    return kept


def _settled(k: int, coin: int, sigma: Fraction, t: int, source: RandomSource) -> bool:
    """Whether coin < e^{-(k - sigma^2/t)^2/(2 sigma^2)}, by as many digits as it takes."""
    exponent = -((k - sigma**2 / t) ** 2) / (2 * sigma**2)
    chance = exponential(quotient(exponent.numerator, exponent.denominator))
    unit = 1 << 64
    while unit < 1 << BITS:
        if Decimal(coin) >= times(unit, chance):
            return False
        if Decimal(coin + 1) <= times(unit, chance):
            return True
        coin, unit = coin << 64 | int(source.words(1)[0]), unit << 64
    return False
