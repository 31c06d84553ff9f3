"""The hybrid mechanism for means: the piecewise one or Duchi's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import Law, two_levels
from shuffledp.ball.record import Masses, Others
from shuffledp.errors import NotCertified
from shuffledp.mechanism.parameters import IntervalHigh, IntervalLow, LocalEpsilon
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.duchi import IntervalMean, bit_parts, bits, mixed
from shuffledp.randomizers.levels import coin, half_grown
from shuffledp.randomizers.means import Floats
from shuffledp.randomizers.piecewise import corner_labels, moment, spread, window_parts
from shuffledp.randomizers.values import real_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import CORNER_TRIPLES

_SLACK = 1e-9


@dataclass(frozen=True, kw_only=True)
class Hybrid(IntervalMean):
    """Hybrid mechanism: the piecewise one with probability 1 - e^{-eps0/2}, else Duchi's.

    Below eps0 = 0.61 it is Duchi's alone. The two have different outputs, so the message tells
    which it was: blankets and ratios mix, gamma = (1 - 1/w)/w + 2/(w (e^eps0 + 1)) with
    w = e^{eps0/2}, and both have the ends of the interval as their worst pair. Reports are floats,
    unbiased for the value, drawn as those of the two mechanisms: whole numbers with exact
    probabilities; the variance is the same for all values.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    low, high : float
        The interval of inputs.

    Notes
    -----
    Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019, section III.C. The probability of Duchi's is
    rounded up to a multiple of 2^-1280.
    """

    name: ClassVar[str] = "hybrid"
    summary: ClassVar[str] = "piecewise or Duchi's for the mean of values in an interval"
    eps0: LocalEpsilon
    low: IntervalLow = -1.0
    high: IntervalHigh = 1.0

    @property
    def message_bits(self) -> float:
        """64: a float; 1 where it is Duchi's alone."""
        return 64.0 if self.share > 0.0 else 1.0

    @property
    def share(self) -> float:
        """Probability of the piecewise mechanism."""
        return 0.0 if self._only_bit else -math.expm1(-0.5 * self.eps0)

    def variance(self, frequency: float = 0.0) -> float:
        """The same for every value above the turning point, that of the middle below."""
        del frequency
        return self.variance_at(self.middle)

    def _spread(self, square: float) -> float:
        """C^2 - x^2 of Duchi's and that of the piecewise one, in their shares."""
        bit = 1.0 / math.tanh(0.5 * self.eps0) ** 2 - square
        if self.share == 0.0:
            return bit
        rest = math.exp(-0.5 * self.eps0)
        return self.share * moment(square, self.eps0) + rest * bit

    @property
    def _only_bit(self) -> bool:
        """Whether it is Duchi's alone: eps0 below the paper's eps*.

        There the mixture has a larger variance than Duchi's mechanism alone.
        """
        root = 405 * arb(241).sqrt()
        turning = ((2 * (6353 - root).root(3) + 2 * (6353 + root).root(3) - 5) / 27).log()
        eps0 = arb(self.eps0)
        if not (eps0 > turning or eps0 < turning):
            raise NotCertified("hybrid: eps0 is too close to the turning point")
        return bool(eps0 < turning)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Above the turning point piecewise with probability 1 - 1/w, else Duchi's."""
        eps0, places = arb(self.eps0), self._exact_places(inputs)
        if self._only_bit:
            return two_levels(bit_parts(places, eps0, arb(1)), eps0)
        rest, starts = (-eps0 / 2).exp(), [(a, Fraction(0)) for a in places]
        # The two have different outputs: no output is both.
        return [
            *two_levels(window_parts(starts, eps0, 1 - rest), eps0),
            *two_levels(bit_parts(places, eps0, rest), eps0),
        ]

    def others(self) -> Others:
        """As for Duchi's where it is that alone; else the labels' laws by corners."""
        if self._only_bit:
            return mixed(self)
        eps0 = self.eps0

        def labels() -> Iterator[list[Masses]]:
            return corner_labels(arb(eps0), 1 / (arb(eps0) / 2).exp())

        return Others("corners", CORNER_TRIPLES, self.worst_pairs().pairs, labels=labels)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        places = self._places(values)
        one = 2.0 * bits(places, self.eps0, source) - 1.0
        found = one / math.tanh(0.5 * self.eps0)
        if self.share > 0.0:
            other = source.coins(coin(1 / half_grown(self.eps0)), len(places))
            found = np.where(other, found, spread(places, self.eps0, source))
        return self.middle + self.half * found

    def _unbiased(self, reports: ArrayLike) -> Floats:
        far = self.half / math.tanh(0.25 * self.eps0) * (1.0 + _SLACK)
        return real_values(reports, self.middle - far, self.middle + far, name="reports")

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Also values whose interval just misses that of an end, as the others' or the victim's.

        At an end the bit hides others least; all three intervals have to be disjoint.
        """
        low, high = self.low, self.high
        apart = min(low + (high - low) * math.exp(-0.5 * self.eps0), high)
        return (*super().datasets(), (low, high, apart), (apart, high, low))
