"""How far apart the steps between two data sets that differ in several users are taken."""

from __future__ import annotations

import math

__all__ = ["spread_of", "steps_of"]

# Steps give up so much of eps, relatively, so that their sum is no more than it.
_ROUNDING = 1e-14


def steps_of(epsilon: float, changed: int, spread: float) -> tuple[float, ...]:
    """eps_0 <= eps_1 <= ... that add up to at most eps: steps of about eps/k, some way apart.

    Parameters
    ----------
    epsilon : float
        eps >= 0 in nats.
    changed : int
        k, how many steps.
    spread : float
        The distance of neighbouring steps, >= 0; as much of it as keeps all steps >= 0.
    """
    middle = epsilon / changed
    apart = min(spread, 2.0 * middle / (changed - 1)) if changed > 1 else 0.0
    left = _ROUNDING * epsilon
    return tuple(
        max(middle + apart * (i - 0.5 * (changed - 1)) - left, 0.0) for i in range(changed)
    )


def spread_of(step: float, log_delta: float) -> float:
    """About mu^2, if the profile were that of the Gaussian mechanism with this delta at this eps.

    Steps mu^2 apart are the best ones there; any are valid (docs/theory-shufflers.md, section 5).

    Parameters
    ----------
    step : float
        eps of a step, > 0.
    log_delta : float
        log delta there, < 0.
    """
    if not step > 0.0 or not -math.inf < log_delta < 0.0:
        return 0.0
    # eps = mu z + mu^2/2 with delta about Phi(-z), log Phi(-z) about -z^2/2 - log(z + 1).
    z = math.sqrt(-2.0 * log_delta)
    for _ in range(3):
        z = math.sqrt(max(2.0 * (-log_delta - math.log(z + 1.0)), 1e-3))
    mu = math.sqrt(z * z + 2.0 * step) - z
    return mu * mu
