"""The staircase mechanism: the least noisy pure mechanism for one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.lattice import staircase_labels, staircase_law, staircase_tail
from shuffledp.ball.outputs import Law
from shuffledp.ball.record import Others
from shuffledp.mechanism.parameters import Follows, IntervalHigh, IntervalLow, LocalEpsilon, Number
from shuffledp.randomizers.additive import IntervalNoise
from shuffledp.randomizers.noise import Floats
from shuffledp.theorems import CORNER_TRIPLES

_LEAST_WIDTH = 1e-100
# Parts of a step that are narrower do not make the lattice finer: they add nothing to the variance.
_NARROWEST = 2.0**-10


_Width = Annotated[
    float | None,
    Follows(
        Number(low=_LEAST_WIDTH, high=1.0 - 1e-9), lambda m: 1.0 / (1.0 + math.exp(0.5 * m.eps0))
    ),
]


@dataclass(frozen=True, kw_only=True, repr=False)
class Staircase(IntervalNoise):
    """Staircase noise added to a value in [low, high].

    In units of high - low: f(z) = a e^{-eps0 k} where |z| is in [k, k + g), and a e^{-eps0 (k+1)}
    where it is in [k + g, k + 1), with a = (1 - b)/(2 (g + b (1 - g))), b = e^{-eps0}. Likelihood
    ratios of any inputs take finitely many values: beyond the interval they repeat with period 1.

    Reports are float64: middles of the cells of a lattice, 2^32 and more of them from low to high,
    that value and noise fall in, drawn with exactly their probabilities.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    low, high : float
        The interval of inputs.
    width : float, optional
        g, the share of a step that is high, 1e-100 to 1 - 1e-9; by default 1/(1 + e^{eps0/2}),
        which has the least expected |z|.

    Notes
    -----
    Geng, Viswanath 2014, "The optimal mechanism in differential privacy"; Geng, Kairouz, Oh,
    Viswanath 2015.
    """

    name: ClassVar[str] = "staircase"
    summary: ClassVar[str] = "staircase noise on an interval"
    eps0: LocalEpsilon
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0
    width: _Width = None

    @property
    def _g(self) -> float:
        return 0.5 if self.width is None else self.width

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Outputs by how many steps they are from each input."""
        places = [self._place(x) for x in inputs]
        return staircase_law(arb(self.eps0), Fraction(self._g), places)

    def others(self) -> Others:
        """The end points; the labels' laws by corners."""
        pairs = self.worst_pairs().pairs
        eps0, g = self.eps0, Fraction(self._g)
        return Others(
            "corners", CORNER_TRIPLES, pairs, labels=lambda: staircase_labels(arb(eps0), g)
        )

    def _share(self, power: int) -> float:
        """g^p + b (1 - g^p)."""
        g = self._g**power
        return g + math.exp(-self.eps0) * (1.0 - g)

    def _place(self, x: Any) -> Fraction:
        """The input in units of the interval, exactly."""
        value = _check.real("input", x, low=self.low, high=self.high)
        low = Fraction(self.low)
        return (Fraction(value) - low) / (Fraction(self.high) - low)

    def variance(self, frequency: float = 0.0) -> float:
        """sum over the steps of the integral of z^2, in closed form, for every input."""
        del frequency
        b = math.exp(-self.eps0)
        # One step over 1 - b: squared in the end, so that what is no float is inf.
        length = self.high - self.low
        scale = length / -math.expm1(-self.eps0)
        square, cube = self._share(2) / self._share(1), self._share(3) / self._share(1)
        near = b * square * scale * length + cube * length * length / 3.0
        return b * (1.0 + b) * scale * scale + near

    @property
    def _finest(self) -> float:
        return 1.0 / max(self._g, _NARROWEST)

    def tail(self, size: Fraction) -> arb:
        """What is left of the step, and the steps beyond it."""
        return staircase_tail(arb(self.eps0), Fraction(self._g), size)

    def inverse_tail(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """Whole steps, and a place in the last, in either part of which the tail is linear."""
        g, b = self._g, math.exp(-self.eps0)
        slope = -math.expm1(-self.eps0) / self._share(1)
        steps = np.maximum(np.floor(np.log(tail) / -self.eps0), 0.0)
        left = tail * np.exp(self.eps0 * steps)
        corner = b * (1.0 + slope * (1.0 - g))
        near = g - (left - corner) / slope
        far = 1.0 - (tail * np.exp(self.eps0 * (steps + 1.0)) - 1.0) / slope
        return steps + np.where(left > corner, near, far), doubt * (1.0 + 1.0 / slope)
