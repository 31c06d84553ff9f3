"""An end of eps at which the bracket of delta that is asked there is at most the target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
# Each step is meant to do; a second or third does where the estimate of the slope is off.
_STEPS = 8
# A little more than the gap over the slope: delta is convex, and falls slower farther up.
_MORE = 1.02
# Two estimates this far apart, relatively, give a slope.
_APART = 1e-2


class Estimated(Protocol):
    """What has a quick estimate of log delta."""

    def rough_log_delta(self, epsilon: float) -> float:
        """About log delta(eps)."""
        ...


def slope(profile: Estimated, epsilon: float, cap: float) -> float:
    """-d log delta/d eps, about, from two estimates up to cap; 1/eps where they do not tell."""
    if not 0.0 < epsilon < math.inf:
        return 0.0
    nearby = min(epsilon * (1.0 + _APART), 0.5 * (epsilon + cap))
    if not nearby > epsilon:
        nearby = epsilon * (1.0 - _APART)
    fallen = profile.rough_log_delta(epsilon) - profile.rough_log_delta(nearby)
    found = fallen / (nearby - epsilon) if nearby != epsilon else 0.0
    return found if math.isfinite(found) and found > 0.0 else 1.0 / epsilon


def met_at(
    gap: Callable[[float], float], point: float, cap: float, *, slope: Callable[[float], float]
) -> float:
    """The point, moved up by little more than gap/slope until there is no gap; itself if none is.

    Parameters
    ----------
    gap : callable
        By how much the upper end of log delta at an eps is above the target; 0 where it is not.
    point : float
        A certified upper end of eps: any larger one is certified too.
    cap : float
        The largest eps worth trying: what is known without.
    slope : callable
        About -d log delta/d eps at an eps.
    """
    if not 0.0 < point < cap:
        return point
    above = gap(point)
    if above == 0.0:
        return point
    fall, more, moved = slope(point), _MORE, point
    for _ in range(_STEPS):
        if not fall > 0.0:
            break
        beyond = moved + max(more * above / fall, 4 * U * moved)
        # Next to the cap delta may fall to 0 at once, and no line shows it.
        moved = beyond if beyond < cap else 0.5 * (moved + cap)
        above = gap(moved)
        if above == 0.0:
            return moved
        more *= 2.0
    return cap if cap < math.inf and gap(cap) == 0.0 else point
