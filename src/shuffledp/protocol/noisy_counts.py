"""Limits from counts with an aggregator's noise on them: of both laws together.

Of n users m hold an item; S, the number of reports that support it, is Bin(m, p*) + Bin(n - m, q*),
and the analyst sees W = S + Z. Limits are those m at which W, or more, has the probability that is
left to the side (Clopper, Pearson 1934), as ``shuffledp.statistics.counts`` has them without noise:

    P(W >= w) = sum_s P(S = s) P(Z >= w - s).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve
from scipy.special import ndtri
from scipy.stats import binom

from shuffledp.randomizers.duchi import BitMean
from shuffledp.randomizers.frequency import Support
from shuffledp.statistics.counts import hoeffding_ends
from shuffledp.values.described import ByContent
from shuffledp.views import AddedNoise

__all__ = ["AroundNoise", "EachItem", "NoisyCounts", "variance_of"]

Floats = npt.NDArray[np.floating[Any]]
# Windows of a binomial law: e^-(9^2/2) = 1e-18 is left out; room for the skew of rare events.
_WIDE, _ROOM = 9.0, 40
# Of the noise as much: e^-45 = 1e-20.
_FAR = 45.0
# Windows, FFTs of masses below 1 and sums of them err by less; limits are farther out by as much.
_ERROR = 1e-13
# A limit is sought to this share of a standard deviation, and no finer than one user.
_FINE = 1e-3
# The first step from a normal law's limit, of the same.
_FIRST = 0.05
# Different counts that are solved one by one; between so many limits are straight lines (they bend
# by about z/(4 sigma^3) a count squared).
_MOST_COUNTS = 128
# Shares of a tail that are left to the noise, of which that is taken that is narrowest.
_SHARES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)


@lru_cache(maxsize=8)
def _beyond(noise: AddedNoise) -> Floats:
    """P(Z >= z) for z = -r .. r + 1."""
    laplace = noise.kind == "discrete-laplace"
    far = _FAR if laplace else math.sqrt(2.0 * _FAR)
    reach = math.ceil(far * noise.scale) + 3
    z = np.arange(-reach, reach + 1) / noise.scale
    mass = np.exp(-np.abs(z) if laplace else -0.5 * z * z)
    return np.append(np.cumsum((mass / mass.sum())[::-1])[::-1], 0.0)


def variance_of(noise: AddedNoise) -> float:
    """Variance of the noise, in reports squared.

    Discrete Laplace: 1/(2 sinh^2(1/(2 t))). Discrete Gaussian: a sum over the integers.
    """
    if noise.kind == "discrete-laplace":
        return 0.5 / math.sinh(0.5 / noise.scale) ** 2
    reach = math.ceil(math.sqrt(2.0 * _FAR) * noise.scale) + 3
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    mass = np.exp(-0.5 * np.square(z / noise.scale))
    return float((mass * z * z).sum() / mass.sum())


@dataclass(frozen=True, eq=False, repr=False)
class NoisyCounts(ByContent):
    """Counts of reports that support each item, with noise: a law of estimates.

    Attributes
    ----------
    counts : ndarray, shape (K,)
        S + Z of each item.
    total : int
        Users, n.
    support : Support
        p* and q*.
    added : AddedNoise
        The law of Z.
    """

    counts: Floats
    total: int
    support: Support
    added: AddedNoise

    @property
    def noise(self) -> float:
        """Counts that the noise of an item is made of: of those without it, and the variance."""
        return self.total * self.support.other + variance_of(self.added)

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Shares of users, the least and the largest that leave more than ``tail`` to their side.

        For every number of holders the limit below is above it with probability at most ``tail``,
        and so is the limit above below it.
        """
        n, rates = self.total, self.support
        distinct, places = np.unique(self.counts, return_inverse=True)
        knots = distinct
        if distinct.size > _MOST_COUNTS:
            chosen = np.unique(np.linspace(0, distinct.size - 1, _MOST_COUNTS).astype(int))
            knots = distinct[chosen]
        # Those without the item are the holders of n - W, whose noise has the same law.
        low = np.array([self._least(w, (rates.own, rates.other), tail) for w in knots])
        others = (rates.other_miss, rates.own_miss)
        without = np.array([self._least(n - w, others, tail) for w in knots])
        if knots is not distinct:
            low = _between(distinct, knots, low)
            without = _between(-distinct[::-1], -knots[::-1], without[::-1])[::-1]
        places = places.reshape(-1)
        return low[places] / n, (n - without[places]) / n

    def _least(self, w: float, rates: tuple[float, float], tail: float) -> float:
        """The smallest m with P(W >= w) >= tail, n if there is none: by the slope of normal laws.

        The probability grows with m. What is returned may be too small, by a thousandth of a
        standard deviation.
        """
        n, (own, other) = self.total, rates
        wanted = tail - _ERROR
        if self._reached(w, 0, rates) >= wanted:
            return 0.0
        spread = math.sqrt(
            n * max(own * (1.0 - own), other * (1.0 - other)) + variance_of(self.added)
        ) / (own - other)
        guess = (w - n * other) / (own - other) + float(ndtri(tail)) * spread
        middle, step = min(max(round(guess), 1), n), max(1, round(_FIRST * spread))
        low, high = 0, n
        while high - low > max(1.0, _FINE * spread):
            if self._reached(w, middle, rates) >= wanted:
                high = middle
                ahead = high - step
            else:
                low = middle
                ahead = low + step
            # Steps that double until there are both sides, then halves.
            step *= 2
            middle = ahead if low < ahead < high and (low == 0 or high == n) else (low + high) // 2
        return float(low + 1 if high - low <= 1 else low)

    def _reached(self, w: float, m: int, rates: tuple[float, float]) -> float:
        """P(S + Z >= w) with m holders."""
        start, mass = _bits(m, rates[0])
        more, others = _bits(self.total - m, rates[1])
        both = fftconvolve(mass, others)
        beyond = _beyond(self.added)
        reach = beyond.size // 2 - 1
        # P(Z >= w - s) for s = start + more + 0, 1, ...
        z = round(w) - start - more - np.arange(both.size) + reach
        return float(both @ beyond[np.clip(z, 0, beyond.size - 1)])


@dataclass(frozen=True)
class EachItem:
    """Laws of several items, one after the other.

    Attributes
    ----------
    laws : tuple of NoisyCounts
        Each of one item.
    """

    laws: tuple[NoisyCounts, ...]

    @property
    def noise(self) -> float:
        """The smallest of theirs."""
        return min(law.noise for law in self.laws)

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Limits of all of them."""
        low, high = zip(*(law.ends(tail) for law in self.laws), strict=True)
        return np.concatenate(low), np.concatenate(high)


def _between(counts: Floats, knots: Floats, limits: Floats) -> Floats:
    """Limits between some: straight lines, less the user by which a whole number may be off.

    Limits rise with the count: none is below that at the knot before.
    """
    before = limits[np.searchsorted(knots, counts, side="right") - 1]
    lines = np.interp(counts, knots, limits)
    return np.where(before <= 0.0, 0.0, np.maximum(lines - 1.0, before))


def _bits(trials: int, p: float) -> tuple[int, Floats]:
    """Where a window of a binomial law starts, and its masses."""
    far = _WIDE * math.sqrt(trials * p * (1.0 - p)) + _ROOM
    start, stop = max(math.floor(trials * p - far), 0), min(math.ceil(trials * p + far), trials)
    return start, binom.pmf(np.arange(start, stop + 1), trials, p)


@dataclass(frozen=True)
class AroundNoise:
    """The mean of values whose bits were added up, with noise on the number of ones.

    The values' bits have different probabilities, for which limits by Hoeffding's theorem hold; it
    says nothing of bits with noise. So a part of the tail is left to the noise, and the limits are
    those of the number of ones that it leaves.

    Attributes
    ----------
    bits : BitMean
        With the noisy number of ones.
    added : AddedNoise
        What is on it.
    count : int
        Users.
    """

    bits: BitMean
    added: AddedNoise
    count: int

    @property
    def noise(self) -> float:
        """Bits that are flipped, and the noise's variance."""
        return self.bits.noise + variance_of(self.added)

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Limits that the mean is beyond with probability at most ``tail``, on each side."""
        # Which part is a matter of n and the noise, not of what was counted.
        half = self.count // 2
        share = min(_SHARES, key=lambda share: -self._low(half, tail, share))
        low, high = self._low(self.bits.ones, tail, share), self._high(self.bits.ones, tail, share)
        ends = (self._mean(low), self._mean(high))
        return np.array([ends[0]]), np.array([ends[1]])

    def _most(self, tail: float) -> int:
        """The least z >= 0 with P(Z > z) <= tail."""
        beyond = _beyond(self.added)
        reach = beyond.size // 2 - 1
        # beyond[k] = P(Z >= k - reach); what windows leave out is far below any tail asked for.
        after = beyond[reach + 1 :]
        return int(np.searchsorted(-after, -(tail - _ERROR)))

    def _low(self, ones: float, tail: float, share: float) -> float:
        """Below the bits' mean probability: ones less what the noise may have added."""
        left = min(max(ones - self._most(share * tail), 0.0), self.count)
        return hoeffding_ends(left, self.count, (1.0 - share) * tail)[0]

    def _high(self, ones: float, tail: float, share: float) -> float:
        left = min(max(ones + self._most(share * tail), 0.0), self.count)
        return hoeffding_ends(left, self.count, (1.0 - share) * tail)[1]

    def _mean(self, chance: float) -> float:
        return self.bits.value(chance)
