"""Noise that mechanisms add to a number of an interval, from their definitions.

It has the density e^(-(|z|/s)^b)/(2 s Gamma(1 + 1/b)): Laplace noise for b = 1, normal noise of
standard deviation s/sqrt(2) for b = 2. Parameters are floats and mean exactly the numbers those
floats are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.errors import NotCertified, ParameterError

__all__ = [
    "Noise",
    "check_inputs",
    "local_delta",
]

# Bits in which every sum of two floats is exact: their exponents differ by 2,098 at most.
_EXACT = 2200
_HALVINGS = 300


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


def local_delta(noise: Noise, inputs: Sequence[float], eps: arb) -> arb:
    """Return the hockey-stick divergence at eps >= 0 of the noise at two inputs, unshuffled."""
    x0, x1 = check_inputs(noise, inputs)
    distance = abs(x0 - x1)
    if noise.eps0 is not None:
        # Exactly zero where the distance is that of the ends.
        excess = eps - noise.eps0 * (distance / (noise.high - noise.low))
        if noise.ends is not None:
            # The guarantee of the truncated law too (docs/theory-noise.md, Theorem 1.2).
            return arb(0) if eps >= noise.eps0 else _of_truncated(noise, noise.ends, (x0, x1), eps)
        return arb(0) if excess >= 0 else -(excess / 2).expm1()
    if noise.shape == 2:
        mu = distance * arb(2).sqrt() / noise.scale
        tails = [((eps / mu + shift * mu / 2) / arb(2).sqrt()).erfc() / 2 for shift in (-1, 1)]
        return tails[0] - eps.exp() * tails[1]
    return _of_power(noise, distance, eps)


def _of_truncated(noise: Noise, ends: tuple[arb, arb], inputs: tuple[arb, arb], eps: arb) -> arb:
    """Laplace noise within two ends: log P/Q falls on a line from x0 to x1, and is constant beyond.

    It is above eps up to a place between them, or nowhere.
    """
    x0, x1 = inputs
    p, q = noise.inside(x0), noise.inside(x1)
    gap = abs(x0 - x1) / noise.scale + (q / p).log() - eps
    if gap <= 0:
        return arb(0)
    if not gap > 0:
        # At most P (1 - e^-gap).
        return arb(0).union(-(-gap.upper()).expm1())
    far = noise.scale * gap / 2
    above = (ends[0], x0 + far) if x0 < x1 else (x0 - far, ends[1])
    mine, other = noise.masses(x0, above)[0] / p, noise.masses(x1, above)[0] / q
    return (mine - eps.exp() * other).max(arb(0))


def _of_power(noise: Noise, distance: arb, eps: arb) -> arb:
    """Noise of another shape at 0 and at the distance.

    Between the inputs log P/Q falls from P's to Q's. On P's far side it falls towards the input
    for shape > 1, from infinity, and rises towards it for shape < 1, from 0; on Q's far side it is
    below 0. So for eps >= 0 it exceeds eps from one point, or from the end of the line, to another.
    """
    x0, x1 = arb(0), distance
    most = (x1 / noise.scale) ** noise.shape

    def excess(y: arb) -> arb:
        near, far = ((abs(y - x) / noise.scale) ** noise.shape for x in (x0, x1))
        return far - near - eps

    def to_the_left(k: int) -> arb:
        return x0 - noise.scale * arb(2) ** k

    if noise.shape < 1 and eps > 0:
        if eps >= most:
            return arb(0)
        start, end = _crossing(excess, x0, to_the_left), _crossing(excess, x0, x1)
    elif eps < most:
        # At shape 1 log P/Q does not change beyond P's input; for less it stays above 0.
        start, end = None, _crossing(excess, x0, x1)
    elif noise.shape <= 1:
        return arb(0)
    else:
        start, end = None, _crossing(excess, to_the_left, x0)
    inner = [None if start is None else start[0], end[0]]
    total = noise.masses(x0, inner)[0] - eps.exp() * noise.masses(x1, inner)[0]
    doubt = arb(0)
    for crossing in (start, end):
        if crossing is not None:
            a, b = sorted(crossing, key=lambda y: float(y.mid()))
            doubt += noise.masses(x0, (a, b))[0] + eps.exp() * noise.masses(x1, (a, b))[0]
    # What is between the brackets adds something between 0 and the doubt.
    return arb.max(total, arb(0)).union(arb.max(total, arb(0)) + doubt.upper())


_Place = arb | Callable[[int], arb]


def _crossing(excess: Callable[[arb], arb], inside: _Place, outside: _Place) -> tuple[arb, arb]:
    """(inside, outside): points close to each other with excess > 0 and < 0."""
    low = _found(inside, lambda y: bool(excess(y) > 0))
    high = _found(outside, lambda y: bool(excess(y) < 0))
    for _ in range(_HALVINGS):
        before = low, high
        # The crossing itself may be in the middle, where nothing can be told.
        for share in (0.45, 0.55):
            middle = (low + (high - low) * share).mid()
            value = excess(middle)
            if value > 0:
                low = middle
            elif value < 0:
                high = middle
        if (low, high) == before:
            break
    return low, high


def _found(place: _Place, fits: Callable[[arb], bool]) -> arb:
    if isinstance(place, arb):
        return place
    for k in range(-60, 2000):
        y = place(k).mid()
        if fits(y):
            return y
    raise NotCertified("generalized-gaussian: no output with such a ratio was found")
