"""Where a decreasing log delta(eps) crosses its target; only evaluated points are returned."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import ndtri

from shuffledp.composition.contour import Parts
from shuffledp.composition.tilt import tilted

_STEPS = 100
_PATIENCE = 7


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
    value: Callable[[float], float],
    goal: float,
    *,
    start: float,
    top: float,
    slope: Callable[[float], float],
    rtol: float,
) -> tuple[float, float]:
    """(below, above): value(below) > goal >= value(above), within a relative ``rtol``.

    (0, 0) where value(0) <= goal already, (top, inf) where even value(top) is above the goal.

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
    slope : callable
        About how fast log delta falls at eps: for the steps, nothing depends on it.
    rtol : float
        Relative distance of the two points.
    """
    if value(0.0) <= goal:
        return 0.0, 0.0
    if value(max(top, 0.0)) > goal:
        return top, math.inf
    below, above = 0.0, top
    at = min(max(start, 1e-3 * top), 0.999 * top) if top > 0.0 else top
    slow, before = 0, (math.nan, math.nan)
    for _ in range(_STEPS):
        if above - below <= rtol * above or not below < at < above:
            break
        width = above - below
        found = value(at)
        if found > goal:
            below = at
        else:
            above = at
        if above - below <= rtol * above:
            break
        slow = slow + 1 if above - below > 0.5 * width else 0
        secant = (before[1] - found) / (at - before[0])
        rate = secant if 0.0 < secant < math.inf else slope(at)
        before = (at, found)
        at = _next(at, found, goal, rate, (below, above), rtol, halve=slow >= _PATIENCE)
    return below, above


def _next(
    at: float,
    found: float,
    goal: float,
    slope: float,
    ends: tuple[float, float],
    rtol: float,
    *,
    halve: bool,
) -> float:
    """Newton's step, a little beyond the crossing so that the other end closes in too."""
    below, above = ends
    middle = math.sqrt(below * above) if 0.0 < 4.0 * below < above else 0.5 * (below + above)
    if halve or not (math.isfinite(found) and slope > 0.0):
        return middle
    step = (found - goal) / slope
    moved = at + step
    pad = 0.4 * rtol * above
    if abs(step) <= 4.0 * pad:
        moved += pad if found > goal else -pad
    return moved if below < moved < above else middle


__all__ = ["crossing", "normal_guess"]
