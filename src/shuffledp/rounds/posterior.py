"""The loss that is exceeded with a small probability only: what an attacker can come to believe."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.arithmetic.balls import arb, float_above

# Points of a sweep, and how often the neighbours of the best one are swept again.
_POINTS, _SWEEPS = 33, 4


def least_loss(
    log_upper: Callable[[float], float],
    roughly: Callable[[float], float],
    log_failure: float,
    *,
    start: float,
    pure: float,
) -> float:
    """Least t found with P(loss > t) <= e^log_failure, by t = eps - log(1 - delta(eps)/failure).

    Parameters
    ----------
    log_upper, roughly : callable
        Upper end of log delta(eps), and about that: eps is chosen by the latter.
    log_failure : float
        log of the probability that may remain.
    start : float
        An eps with delta(eps) about a tenth of the failure probability.
    pure : float
        A loss that is never exceeded, inf if there is none.
    """
    if not math.isfinite(start):
        return pure

    def about(eps: float) -> float:
        gap = roughly(eps) - log_failure
        return eps - math.log(-math.expm1(gap)) if gap < -1e-6 else math.inf

    low, high, best = 0.5 * start, 1.5 * start + 1e-300, start
    for _ in range(_SWEEPS):
        points = [low + (high - low) * i / (_POINTS - 1) for i in range(_POINTS)]
        found = [about(eps) for eps in points]
        least = min(range(_POINTS), key=found.__getitem__)
        best = points[least]
        low, high = points[max(least - 1, 0)], points[min(least + 1, _POINTS - 1)]
    for eps in (best, 1.01 * best, 1.1 * best):
        left = 1 - (arb(log_upper(eps)) - arb(log_failure)).exp()
        if left > 0:
            return min(pure, float_above(arb(eps) - left.log()))
    return pure


__all__ = ["least_loss"]
