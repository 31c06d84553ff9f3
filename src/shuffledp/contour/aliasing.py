"""What the trapezoidal rule adds: copies of S shifted by multiples of the period, all >= 0.

The sum over nodes of step D = 2 pi/L is sum over k of e^{-alpha k L} E f(S + k L). The upper end
keeps them; the lower end gives back a bound of those with k != 0:
E f(S + kL) <= e^{log_peak(b) + b k L} E e^{bS}, b < alpha for k > 0, b > alpha for k < 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.contour.payoff import Payoff
from shuffledp.contour.transform import Transform

# Exponents at which a bound is made, in units of alpha: where the law ends near the saddle, far
# ones say most, where it is nearly normal, near ones.
_FACTORS = (0.03, 0.2, 0.5, 0.8, 0.95, 1.05, 1.2, 1.6, 2.5, 5.0, 17.0)
# e^300 times anything there is stays a float.
_OVERFLOW = 300.0


class Growth(NamedTuple):
    """log of a bound of E f(S + x) e^{-b x} for every x, less the scale's."""

    b: float
    log: float


def growth_table(transform: Transform, payoff: Payoff) -> list[Growth]:
    """Bounds at exponents on both sides of alpha."""
    found = [] if payoff.gap == 0.0 else [0.0]
    found += [factor * transform.alpha for factor in _FACTORS]
    table = [Growth(b, transform.log_growth(b) + payoff.log_peak(b)) for b in found]
    return [growth for growth in table if math.isfinite(growth.log)]


def period(
    transform: Transform, payoff: Payoff, table: Sequence[Growth], log_guard: float
) -> float:
    """L such that both sums of copies are about e^{-log_guard} of the result."""
    alpha = transform.alpha
    # Nothing wraps round from beyond the largest sum.
    above, below = max(transform.highest, 0.0), math.inf
    target = payoff.log_peak(alpha) - log_guard - 4.0
    for b, log in table:
        side = (log - target) / abs(b - alpha)
        if b > alpha:
            above = min(above, side)
        else:
            below = min(below, side)
    return max(above, below, 4.0 / alpha)


def aliasing(transform: Transform, table: Sequence[Growth], length: float) -> float:
    """Upper bound of all copies with k != 0, in units of the scale; inf where there is none."""
    above = below = math.inf
    for b, log in table:
        decay = abs(b - transform.alpha) * length * (1.0 - 1e-12)
        exponent = log + 1e-9 - decay
        if exponent >= _OVERFLOW or decay <= 0.0:
            continue
        series = math.exp(exponent) / -math.expm1(-decay) * (1.0 + 1e-6)
        if b > transform.alpha:
            above = min(above, series)
        else:
            below = min(below, series)
    if transform.highest * (1.0 + 1e-9) <= length:
        # No sum is so large that a copy shifted down still pays.
        above = 0.0
    return below + above
