"""Where a decreasing log delta(eps) crosses its target; only evaluated points are returned."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import ndtri

from shuffledp.composition.contour import Parts
from shuffledp.composition.tilt import tilted

_STEPS = 80


def normal_guess(parts: Parts, log_target: float) -> float:
    """eps at which a normal loss with the same mean and variance would cross: a proposal."""
    mean = variance = 0.0
    for law, count in parts:
        if law.loss.size:
            found = tilted(law, 0.0)
            mean += count * found.mean
            variance += count * found.variance
    quantile = -float(ndtri(math.exp(max(log_target, -700.0))))
    return mean + quantile * math.sqrt(variance)


def crossing(
    value: Callable[[float], float], goal: float, *, start: float, top: float, rtol: float
) -> tuple[float, float]:
    """(below, above): value(below) > goal >= value(above), within a relative ``rtol``.

    (0, 0) where value(0) <= goal already, above = inf where even value(top) is above the goal.

    Parameters
    ----------
    value : callable
        log delta at eps, non-increasing up to numerical width.
    goal : float
        log of the target.
    start : float
        A proposal.
    top : float
        Beyond it the value falls no further.
    rtol : float
        Relative distance of the two points.
    """
    aim = math.sqrt(-goal)

    def height(log: float) -> float:
        """Nearly linear in eps, > 0 above the crossing."""
        return (math.sqrt(-min(log, 0.0)) if log > -math.inf else 1e6) - aim

    points = _bracketed(value, goal, start=start, top=top)
    if points is None or points[0] == points[1]:
        return (top, math.inf) if points is None else points
    below, above = points
    low, high = height(value(below)), height(value(above))
    side = 0
    for _ in range(_STEPS):
        if above - below <= rtol * above:
            break
        at = below - low * (above - below) / (high - low) if high - low < 1e5 else 0.0
        pad = 0.3 * rtol * above
        # Next to an end, step over the crossing so that both ends close in.
        at = min(max(at, below + pad), above - pad)
        if side in (-3, 3) or not below < at < above:
            at, side = 0.5 * (below + above), 0
        found = height(value(at))
        if found >= 0.0:
            above, high = at, found
            side = side + 1 if side > 0 else 1
        else:
            below, low = at, found
            side = side - 1 if side < 0 else -1
    return below, above


def _bracketed(
    value: Callable[[float], float], goal: float, *, start: float, top: float
) -> tuple[float, float] | None:
    if value(0.0) <= goal:
        return 0.0, 0.0
    if value(max(top, 0.0)) > goal:
        return None
    at = min(max(start, 1e-300), top)
    below, above = 0.0, top
    if value(at) > goal:
        below, step = at, 1.02
        while below * step < top and value(below * step) > goal:
            below, step = below * step, step * step
        above = min(below * step, top)
    else:
        above, step = at, 1.02
        while above / step > 1e-300 and value(above / step) <= goal:
            above, step = above / step, step * step
        below = above / step
    return below, above


__all__ = ["crossing", "normal_guess"]
