"""About where a falling function of eps is 0: by secants, in a coordinate that straightens it."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["crossing", "place_of", "point_at"]

# Evaluations at the most, and how near (in the coordinate) is enough.
_STEPS, _CLOSE = 60, 1e-11
# The farthest first step in the coordinate, and the coordinates of the range of floats.
_FAR, _ENDS = 2.0, (-60.0, 60.0)
# A step of the coordinate for the first slope.
_FIRST = 1e-3


def place_of(epsilon: float, cap: float) -> float:
    """log eps/(cap - eps), in which log delta is nearly linear; -inf where eps/cap is 0 in floats.

    Parameters
    ----------
    epsilon, cap : float
        0 < eps < cap, both finite.
    """
    share = epsilon / cap
    return math.log(share) - math.log1p(-share) if 0.0 < share < 1.0 else -math.inf


def point_at(place: float, cap: float) -> float:
    """The inverse of ``place_of``."""
    return cap / (1.0 + math.exp(-place)) if place > -700.0 else 0.0


def crossing(value: Callable[[float], float], start: float, cap: float) -> float:
    """About the eps in (0, cap) at which a falling value is 0; an end of the range where none is.

    Parameters
    ----------
    value : callable
        eps -> a number that falls in eps; -inf where it is that of nothing.
    start : float
        A guess.
    cap : float
        eps beyond which nothing is left.
    """
    place = min(max(place_of(start, cap), _ENDS[0]), _ENDS[1])
    low, high = _ENDS
    last: tuple[float, float] | None = None
    rate, far = 0.0, _FAR
    for _ in range(_STEPS):
        found = value(point_at(place, cap))
        if found >= 0.0:
            low = place
        else:
            high = place
        if last is not None and math.isfinite(found) and place != last[0]:
            rate = (last[1] - found) / (place - last[0])
        step = _step(found, rate, far)
        if math.isfinite(found):
            last = (place, found)
        if abs(step) <= _CLOSE or high - low <= _CLOSE:
            break
        far *= 2.0 if abs(step) >= far else 1.0
        moved = place + step
        inside = low < moved < high
        place = moved if inside else 0.5 * (low + high)
    return point_at(place, cap)


def _step(found: float, rate: float, far: float) -> float:
    """By how much to move: the secant's step, cut; a small one for the first slope."""
    if not math.isfinite(found):
        return -far if found < 0.0 else far
    if not rate > 0.0:
        return math.copysign(min(far, max(_FIRST, 0.05 * abs(found))), found) if found else 0.0
    return min(max(found / rate, -far), far)
