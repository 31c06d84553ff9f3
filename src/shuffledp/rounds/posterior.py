"""The loss that is exceeded with a small probability only: what an attacker can come to believe."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
_POINTS = 33
_SWEEPS = 4


def least_loss(
    log_delta: Callable[[float], float], log_failure: float, *, start: float, pure: float
) -> float:
    """Least t found with P(loss > t) <= e^log_failure, by t = eps - log(1 - delta(eps)/failure).

    Parameters
    ----------
    log_delta : callable
        Upper end of log delta(eps).
    log_failure : float
        log of the probability that may remain.
    start : float
        An eps with delta(eps) below the failure probability.
    pure : float
        A loss that is never exceeded, inf if there is none.
    """
    best = pure
    if not math.isfinite(start):
        return best

    def loss(eps: float) -> float:
        gap = log_delta(eps) - log_failure
        if not gap < -1e-9:
            return math.inf
        return (eps - math.log(-math.expm1(gap))) * (1.0 + 8 * U) + 8 * U

    low, high = 0.5 * start, 1.5 * start + 1e-300
    for _ in range(_SWEEPS):
        points = [low + (high - low) * i / (_POINTS - 1) for i in range(_POINTS)]
        found = [loss(eps) for eps in points]
        least = min(range(_POINTS), key=found.__getitem__)
        best = min(best, found[least])
        low, high = points[max(least - 1, 0)], points[min(least + 1, _POINTS - 1)]
    return best
