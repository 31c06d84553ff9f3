"""The staircase mechanism: the least noisy pure mechanism for one number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import Law, OutputClass, rational_ball
from shuffledp.ball.record import Masses, Others, three
from shuffledp.mechanism.parameters import IntervalHigh, IntervalLow, LocalEpsilon, follows, number
from shuffledp.randomizers.means import Floats
from shuffledp.randomizers.noise import IntervalNoise
from shuffledp.theorems import CORNER_TRIPLES

_LEAST_WIDTH = 1e-100
# Parts of a step that are narrower do not make the lattice finer: they add nothing to the variance.
_NARROWEST = 2.0**-10


_Width = Annotated[
    float | None,
    follows(
        number(low=_LEAST_WIDTH, high=1.0 - 1e-9), lambda m: 1.0 / (1.0 + math.exp(0.5 * m.eps0))
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

    @property
    def _top(self) -> arb:
        """a, the density at 0."""
        b, g = (-arb(self.eps0)).exp(), Fraction(self._g)
        return -(-arb(self.eps0)).expm1() / (2 * (rational_ball(g) + b * rational_ball(1 - g)))

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Outputs by how many steps they are from each input."""
        return self._law_at([self._place(x) for x in inputs])

    def _law_at(self, places: Sequence[Fraction]) -> Law:
        """The law of inputs at these places of the interval, from 0 to 1.

        The integral is 2 a (g + b (1 - g))/(1 - b) = 1. Beyond [0, 1] one unit farther multiplies
        all densities by b: one unit on either side stands for all, with masses over 1 - b. The
        noise is symmetric and does not increase with its size, so the blanket is the density of the
        farther end.
        """
        eps0, g = arb(self.eps0), Fraction(self._g)
        b, a = (-eps0).exp(), self._top
        ends = [Fraction(0), Fraction(1)]
        cuts = {Fraction(v, 2) for v in range(-2, 5)}
        for x, sign, k in itertools.product((*places, *ends), (-1, 1), range(3)):
            cuts |= {x + sign * k, x + sign * (k + g)}
        inner = sorted(y for y in cuts if -1 <= y <= 2)
        merged: dict[tuple[int, ...], arb] = {}
        for left, right in itertools.pairwise(inner):
            middle = (left + right) / 2
            floor = max(_steps(middle - end, g) for end in ends)
            times = rational_ball(right - left) * a * b**floor
            if not 0 < middle < 1:
                times = times / (1 - b)
            key = tuple(floor - _steps(middle - x, g) for x in places)
            merged[key] = merged.get(key, arb(0)) + times
        return [
            OutputClass(
                mass, tuple(mass * (eps0 * k).exp() for k in key), tuple(eps0 * k for k in key)
            )
            for key, mass in merged.items()
        ]

    def others(self) -> Others:
        """The end points; the labels' laws by corners."""
        pairs = self.worst_pairs().pairs
        return Others("corners", CORNER_TRIPLES, pairs, labels=self._labels)

    def _labels(self) -> Iterator[list[Masses]]:
        """Distances u, v of x0 and x1 from x, and their own, where jumps of two densities meet.

        That is at multiples of g, up to two, and whole numbers more: u and v are sums of two of
        these.
        """
        g = Fraction(self._g)
        places = {k * g + m for k in range(-4, 5) for m in range(-5, 6)}
        places = {x for x in places if -1 <= x <= 1}
        for u, v in itertools.product(places, repeat=2):
            # The noise is symmetric: of (u, v) and (-u, -v) one is enough.
            if abs(u - v) <= 1 and (u, v) >= (-u, -v):
                low = min(u, v, Fraction(0))
                law = self._law_at((u - low, v - low, -low))
                yield [three(one.probability) for one in law]

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
        b, g, k = (-arb(self.eps0)).exp(), Fraction(self._g), math.floor(size)
        high, low = max(g - (size - k), Fraction(0)), min(1 - g, 1 - (size - k))
        own = self._top * (rational_ball(high) + b * rational_ball(low))
        # All steps from k + 1 on, on one side: b^(k + 1)/2.
        return b**k * (own + b / 2)

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


def _steps(z: Fraction, g: Fraction) -> int:
    """How many factors e^-eps0 the density has at z."""
    size = abs(z)
    whole_steps = math.floor(size)
    return whole_steps + (size - whole_steps >= g)
