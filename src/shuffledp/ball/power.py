"""Generalized Gaussian noise in ball arithmetic: density exp(-(|z|/scale)^shape) over its integral.

Its masses and its unshuffled divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import NotCertified

from .densities import check_inputs

__all__ = ["PowerNoise", "local_power_delta"]

_HALVINGS = 300


@dataclass(frozen=True)
class PowerNoise:
    """Shape b, scale s, the interval of inputs, and log of the density at 0."""

    shape: arb
    scale: arb
    low: arb
    high: arb
    log_top: arb
    ends_only: bool = False

    def beyond(self, distance: arb) -> arb:
        """P(Z > distance), distance >= 0: half the regularised upper incomplete gamma function."""
        power = (distance / self.scale) ** self.shape
        return power.gamma_upper(1 / self.shape, regularized=1) / 2

    def mass(self, x: arb, left: arb | None, right: arb | None) -> arb:
        """P(left < x + Z < right)."""
        if left is None:
            return arb(1) if right is None else self._above(-x, -right)
        if right is None:
            return self._above(x, left)
        return self._above(x, left) - self._above(x, right)

    def _above(self, x: arb, y: arb) -> arb:
        return self.beyond(y - x) if y > x else 1 - self.beyond(x - y)


def local_power_delta(noise: PowerNoise, inputs: Sequence[float], eps: arb) -> arb:
    """Return the hockey-stick divergence at eps >= 0 of the noise at two inputs, unshuffled.

    Between the inputs log P/Q falls from P's to Q's. On P's far side it falls towards the input
    for shape > 1, from infinity, and rises towards it for shape < 1, from 0; on Q's far side it is
    below 0. So for eps >= 0 it exceeds eps from one point, or from the end of the line, to another.
    """
    x0, x1 = check_inputs(noise, inputs[:2])
    # The noise is symmetric: P's input to the left.
    x0, x1 = arb(0), abs(x1 - x0)
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
    total = noise.mass(x0, inner[0], inner[1]) - eps.exp() * noise.mass(x1, inner[0], inner[1])
    doubt = arb(0)
    for crossing in (start, end):
        if crossing is not None:
            a, b = sorted(crossing, key=lambda y: float(y.mid()))
            doubt += noise.mass(x0, a, b) + eps.exp() * noise.mass(x1, a, b)
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
