"""Noise that mechanisms add to a number of an interval, from their definitions.

It has the density e^(-(|z|/s)^b)/(2 s Gamma(1 + 1/b)): Laplace noise for b = 1, normal noise of
standard deviation s/sqrt(2) for b = 2. Parameters are floats and mean exactly the numbers those
floats are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.errors import ParameterError

__all__ = [
    "Noise",
    "check_inputs",
]

# Bits in which every sum of two floats is exact: their exponents differ by 2,098 at most.
_EXACT = 2200


@dataclass(frozen=True)
class Noise:
    """The report of x is x plus noise, given that it lies between two ends.

    Attributes
    ----------
    shape, scale : arb
        b and s.
    low, high : arb
        The interval of inputs.
    ends : tuple of arb, or None
        The interval of reports; None for the whole line.
    eps0 : arb, or None
        Of Laplace noise: (high - low)/s, exactly.
    ends_only : bool
        Whether low and high are all inputs there are.
    """

    shape: arb
    scale: arb
    low: arb
    high: arb
    ends: tuple[arb, arb] | None = None
    eps0: arb | None = None
    ends_only: bool = False

    @property
    def lengths(self) -> arb:
        """(high - low)/s."""
        return (self.high - self.low) / self.scale if self.eps0 is None else self.eps0

    @property
    def middle(self) -> arb:
        """Halfway between two floats, exactly: the blanket is the density of the farther end."""
        with ctx.workprec(_EXACT):
            return (self.low + self.high) / 2

    def beyond(self, distance: arb) -> arb:
        """P(Z > distance) for a distance >= 0."""
        z = distance / self.scale
        if self.shape == 1:
            return (-z).exp() / 2
        if self.shape == 2:
            return z.erfc() / 2
        if z.is_zero():
            return arb(1) / 2
        return (z**self.shape).gamma_upper(1 / self.shape, regularized=1) / 2

    def masses(self, x: arb, points: Sequence[arb | None]) -> list[arb]:
        """P(x + Z between neighbouring points) on the whole line; None is an infinite end.

        Tails are subtracted on the side where they are small, which keeps their relative precision.
        """
        last = len(points) - 1
        tails = [self._tail(x, y, right=i == last) for i, y in enumerate(points)]
        return [
            1 - one - two if after and not before else (one - two if before else two - one)
            for (before, one), (after, two) in pairwise(tails)
        ]

    def _tail(self, x: arb, y: arb | None, *, right: bool) -> tuple[bool, arb]:
        """Whether y is not below x, and the mass beyond y on that side."""
        if y is None:
            return right, arb(0)
        above = bool(y >= x)
        return above, self.beyond(y - x if above else x - y)

    def inside(self, x: arb) -> arb:
        """The mass of x + Z between the ends."""
        return arb(1) if self.ends is None else self.masses(x, self.ends)[0]

    def level(self, x: arb, y: arb) -> arb:
        """(|y - x|/s)^b: minus the log density, but for a constant."""
        z = abs(y - x) / self.scale
        if self.shape == 1:
            return z
        if self.shape == 2:
            return z * z
        return arb(0) if z.is_zero() else z**self.shape

    def log_ratio(self, x: arb, reference: arb, y: arb) -> arb:
        """log of the densities' ratio at y on the whole line."""
        if self.shape == 2:
            return (x - reference) * (2 * y - x - reference) / (self.scale * self.scale)
        return self.level(reference, y) - self.level(x, y)

    def limit(self, x: arb, reference: arb, *, right: bool) -> arb:
        """The limit of that ratio far out on one side."""
        if (x - reference).is_zero():
            return arb(1)
        if self.shape == 1:
            shift = (x - reference) / self.scale
            return (shift if right else -shift).exp()
        if self.shape > 1:
            return arb("inf") if (x > reference) == right else arb(0)
        if self.shape < 1:
            return arb(1)
        raise ValueError("the noise's shape is not told apart from 1")


def check_inputs(noise: Noise, inputs: Sequence[float]) -> list[arb]:
    """Return the inputs as exact balls, within the interval."""
    out = []
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, (int, float)) or not math.isfinite(x):
            raise ParameterError(f"input = {x!r}: wanted a number in [low, high]")
        ball = arb(x)
        inside = noise.low <= ball <= noise.high
        if not inside or (noise.ends_only and ball not in (noise.low, noise.high)):
            wanted = "low or high" if noise.ends_only else "a number in [low, high]"
            raise ParameterError(f"input = {x!r}: wanted {wanted}")
        out.append(ball)
    return out
