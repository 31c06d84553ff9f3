"""Where a decreasing log delta(eps) crosses its target; only evaluated points are returned."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp import _special as special
from shuffledp.rounds.delta import Parts
from shuffledp.rounds.tilt import tilted

_STEPS = 100
_PATIENCE = 7
# Points after which the ends of the range are asked, if all were on one side.
_BOTH_SIDES = 4


def normal_guess(parts: Parts, log_target: float) -> float:
    """eps at which a normal loss with the same mean and variance would cross: a proposal."""
    mean = variance = 0.0
    for law, count in parts:
        if law.loss.size:
            found = tilted(law, 0.0)
            mean += count * found.mean
            variance += count * found.variance
    quantile = -float(special.ndtri(math.exp(max(log_target, -700.0))))
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
    outside = _Outside(value, goal, top)
    if not top > 0.0:
        return outside.low() or outside.high() or (0.0, top)
    below, above = 0.0, top
    at = min(max(start, 1e-3 * top), 0.999 * top)
    slow, before = 0, (math.nan, math.nan)
    for step in range(_STEPS):
        if above - below <= rtol * above or not below < at < above:
            break
        # A point on either side says what the ends of the range would: mostly two steps do.
        if step == _BOTH_SIDES and (beyond := outside.of(below, above)):
            return beyond
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
    return outside.of(below, above) or (below, above)


class _Outside:
    """Whether the crossing lies outside [0, top]: asked where no point says that it does not."""

    def __init__(self, value: Callable[[float], float], goal: float, top: float) -> None:
        self._value, self._goal, self._top = value, goal, top
        self._known: dict[float, float] = {}

    def low(self) -> tuple[float, float] | None:
        """(0, 0) where value(0) <= goal."""
        return (0.0, 0.0) if self._at(0.0) <= self._goal else None

    def high(self) -> tuple[float, float] | None:
        """(top, inf) where value(top) > goal."""
        return (self._top, math.inf) if self._at(max(self._top, 0.0)) > self._goal else None

    def of(self, below: float, above: float) -> tuple[float, float] | None:
        """Either, for an end that is still the range's own."""
        return (self.low() if below == 0.0 else None) or (
            self.high() if above == self._top else None
        )

    def _at(self, epsilon: float) -> float:
        if epsilon not in self._known:
            self._known[epsilon] = self._value(epsilon)
        return self._known[epsilon]


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
