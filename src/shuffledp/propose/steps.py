"""Lengths of the steps between two data sets that differ in several users."""

from __future__ import annotations

import math

__all__ = ["spread_of", "steps_of"]

# Relative amount of eps that the steps give up, so that their sum does not exceed it.
_ROUNDING = 1e-14


def steps_of(epsilon: float, changed: int, spread: float) -> tuple[float, ...]:
    """Steps eps_0 <= eps_1 <= ... of about eps/k that add up to at most eps.

    Parameters
    ----------
    epsilon : float
        eps >= 0 in nats.
    changed : int
        k, the number of steps.
    spread : float
        Difference of successive steps, >= 0; it is reduced where a step would be negative.
    """
    middle = epsilon / changed
    apart = min(spread, 2.0 * middle / (changed - 1)) if changed > 1 else 0.0
    left = _ROUNDING * epsilon
    return tuple(
        max(middle + apart * (i - 0.5 * (changed - 1)) - left, 0.0) for i in range(changed)
    )


def spread_of(step: float, log_delta: float) -> float:
    """An estimate of mu^2, for a Gaussian mechanism with this delta at this eps.

    Steps that differ by mu^2 are the best ones there; any are valid (docs/theory-shufflers.md,
    section 5).

    Parameters
    ----------
    step : float
        eps of a step, > 0.
    log_delta : float
        log delta there, < 0.
    """
    if not step > 0.0 or not -math.inf < log_delta < 0.0:
        return 0.0
    # eps = mu z + mu^2/2, where delta is about Phi(-z) and log Phi(-z) about -z^2/2 - log(z + 1).
    z = math.sqrt(-2.0 * log_delta)
    for _ in range(3):
        z = math.sqrt(max(2.0 * (-log_delta - math.log(z + 1.0)), 1e-3))
    mu = math.sqrt(z * z + 2.0 * step) - z
    return mu * mu
