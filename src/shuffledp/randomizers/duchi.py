"""Duchi's mechanism for means: one bit, biased by the value."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.bits import Bits, bits_between
from shuffledp.ball.outputs import Favours, Law, two_levels
from shuffledp.ball.record import Others
from shuffledp.mechanism.parameters import IntervalHigh, IntervalLow, LocalEpsilon
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.levels import coin, grown, place
from shuffledp.randomizers.means import Floats, OnInterval
from shuffledp.randomizers.values import whole_reports
from shuffledp.randomness import RandomSource
from shuffledp.statistics.counts import hoeffding_ends
from shuffledp.statistics.estimates import Aggregate
from shuffledp.theorems import LEAST_OVERLAP, MIXED_TRIPLES, Theorem

_HALF = b"\x80"
# The reports' squares tell of the values' where they vary with them by more than rounding does.
_KNOWN = 1e-9


class IntervalMean(OnInterval):
    """What mechanisms for the mean of values in [low, high] share.

    Inputs at the ends favour disjoint outputs, all others are between them.
    """

    ends_theorem: ClassVar[Theorem] = LEAST_OVERLAP
    eps0: float

    @property
    def half(self) -> float:
        """Half its length."""
        return 0.5 * self.high - 0.5 * self.low

    def _places(self, values: np.ndarray) -> Floats:
        """Places in [0, 1], exact at the ends."""
        share = (0.5 * values - 0.5 * self.low) / self.half
        return np.where(values == self.high, 1.0, np.clip(share, 0.0, 1.0))

    def _centred(self, value: float) -> float:
        """Place of a value in [-1, 1]."""
        x = _check.real("value", value, low=self.low, high=self.high)
        return 2.0 * float(place(x, self.low, self.high)) - 1.0

    @abstractmethod
    def _spread(self, square: float) -> float:
        """Per-user variance on [-1, 1] where the squares of the values have this mean (linear)."""

    def variance_at(self, value: float) -> float:
        """Per-user variance for users that hold this value."""
        return self.half**2 * self._spread(self._centred(value) ** 2)

    def _variance_seen(self, sums: Aggregate) -> float:
        """At the mean square q of the values that the reports' squares tell of.

        A report for x has the mean square x^2 + V(x) about the middle, so theirs is q + V(q). Where
        that does not depend on q, as with bits, q is what makes the variance largest: the mean's
        square or 1.
        """
        first, second = sums.sums / sums.count
        mean = min(max((float(first) - self.middle) / self.half, -1.0), 1.0)
        none, slope = self._spread(0.0), self._spread(1.0) - self._spread(0.0)
        square = mean * mean if slope < 0.0 else 1.0
        if 1.0 + slope > _KNOWN * (1.0 + none):
            seen = (float(second) / self.half**2 - none) / (1.0 + slope)
            square = min(max(seen, mean * mean), 1.0)
        return self.half**2 * self._spread(square)

    def _exact_places(self, inputs: Sequence[Any]) -> list[Fraction]:
        """Where in the interval inputs lie, from 0 to 1, exactly."""
        low, high = self.low, self.high
        return [place(_check.real("input", x, low=low, high=high), low, high) for x in inputs]


@dataclass(frozen=True)
class BitMean:
    """The mean of n values, given how many of their bits are 1.

    Attributes
    ----------
    ones, count : int
        Bits that are 1, and all.
    eps0, low, high : float
        Of the mechanism.
    """

    ones: int
    count: int
    eps0: float
    low: float
    high: float

    @property
    def noise(self) -> float:
        """Bits that are flipped."""
        return self.count / (math.exp(self.eps0) + 1.0)

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Limits of the bits' mean probability, as values; in [low, high]."""
        low, high = hoeffding_ends(self.ones, self.count, tail)
        return np.array([self.value(low)]), np.array([self.value(high)])

    def value(self, chance: float) -> float:
        """The mean value whose bits have this mean probability; in [low, high]."""
        # On [-1, 1]: p = 1/2 + x tanh(eps0/2)/2.
        centred = min(max((2.0 * chance - 1.0) / math.tanh(0.5 * self.eps0), -1.0), 1.0)
        return 0.5 * self.low + 0.5 * self.high + (0.5 * self.high - 0.5 * self.low) * centred


@dataclass(frozen=True, kw_only=True)
class Duchi(IntervalMean):
    """Duchi et al. for one value in [low, high]: a bit, 1 with a probability linear in the value.

    On [-1, 1]: P(1) = 1/2 + x (e^eps0 - 1)/(2 (e^eps0 + 1)); the bit stands for C or -C with
    C = (e^eps0 + 1)/(e^eps0 - 1), which is unbiased. Every law is a mixture of those of the two
    ends, so the blanket and the worst pair are those of binary randomized response, gamma =
    2/(e^eps0 + 1). Reports are bits (uint8).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    low, high : float
        The interval of inputs.

    Notes
    -----
    Duchi, Jordan, Wainwright 2018. Per-user variance C^2 - x^2 on [-1, 1].
    """

    name: ClassVar[str] = "duchi"
    summary: ClassVar[str] = "one bit for the mean of values in an interval (Duchi et al.)"
    eps0: LocalEpsilon
    low: IntervalLow = -1.0
    high: IntervalHigh = 1.0

    @property
    def message_bits(self) -> float:
        """1."""
        return 1.0

    @property
    def scale(self) -> float:
        """C = (e^eps0 + 1)/(e^eps0 - 1)."""
        return 1.0 / math.tanh(0.5 * self.eps0)

    def variance(self, frequency: float = 0.0) -> float:
        """C^2 times half the interval squared: the worst input is the middle."""
        del frequency
        return (self.half * self.scale) ** 2

    def _spread(self, square: float) -> float:
        """C^2 - x^2; C^2 - 1 = 4 e^eps0/(e^eps0 - 1)^2 to its own precision."""
        return 1.0 / math.sinh(0.5 * self.eps0) ** 2 + (1.0 - square)

    def _law(self, sums: Aggregate) -> BitMean:
        """Independent bits: binomial limits, whatever the single values are."""
        ones = 0.5 * sums.count + 0.5 * (float(sums.sums[0]) - sums.count * self.middle) / (
            self.half * self.scale
        )
        return BitMean(round(ones), sums.count, self.eps0, self.low, self.high)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        return bits(self._places(values), self.eps0, source)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Two outputs."""
        eps0 = arb(self.eps0)
        return two_levels(bit_parts(self._exact_places(inputs), eps0, arb(1)), eps0)

    def others(self) -> Others:
        """Mixtures of the two ends."""
        return mixed(self)

    def one_bit(self) -> Bits:
        """Of the two ends."""
        return bits_between(self.eps0, self.low, self.high, numbers=True)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        sign = 2.0 * whole_reports(reports, 2) - 1.0
        return self.middle + self.half * self.scale * sign


def bit_parts(places: Sequence[Fraction], eps0: arb, share: arb) -> list[tuple[arb, Favours]]:
    """P(1) = (1 + (e^eps0 - 1) a)/(e^eps0 + 1) for places a, in a share of all reports."""
    base = share / (eps0.exp() + 1)
    return [(base, tuple(places)), (base, tuple(1 - a for a in places))]


def mixed(mechanism: IntervalMean) -> Others:
    """Every law is a mixture of those of the two ends."""
    ends = (mechanism.low, mechanism.high)
    return Others("mixed", MIXED_TRIPLES, (ends,), ends)


def bits(places: Floats, eps0: float, source: RandomSource) -> np.ndarray:
    """A fair coin with probability 2/(e^eps0 + 1), rounded up; else the place rounded to 0 or 1.

    The rounding is unbiased, and exact in the ends; whatever it does is done before the noise.
    """
    fair = source.coins(coin(2 / (grown(eps0) + 1)), len(places))
    rounded = source.unit(len(places)) < places
    coins = source.coins(_HALF, len(places))
    return np.where(fair, coins, rounded).astype(np.uint8)
