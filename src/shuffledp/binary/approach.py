"""Both ends of eps at one delta, of the same searches over all data sets.

The worst data set near the crossing gives the lower end, where its own delta is the target; a
little beyond that all data sets are looked at, and if none is above the target there, that is the
upper end. Where this does not settle it, ``Curve`` goes the longer way. Secants propose; every end
is an eps that was evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from shuffledp.binary.places import Crossing, Point, place_of, point_at
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
# Searches over all data sets on the way, and evaluations of one divergence for one crossing.
_STEPS, _SECANTS = 6, 16
# How near a data set's crossing is met, by place, and how near a first guess.
_CLOSE, _ABOUT = 1e-10, 1e-4
# How far beyond the lower end, in log delta, all data sets are looked at: in widths of a search.
_BEYOND = 1.2
# The farthest first step, by place: odds of eps against its cap change by e^2.
_FAR = 2.0
# Steps back from where a crossing should be until it is certain, each four times the last.
_BACK = 6


class Searched(Protocol):
    """What is asked of a curve."""

    def alike(self, epsilon: float) -> float:
        """log delta where all others hold the same value."""
        ...

    def point(self, epsilon: float, *, rtol: float) -> Point:
        """Both ends of log delta over all data sets."""
        ...

    def held(self, seen: Point) -> Callable[[float], float]:
        """eps -> lower end of log delta of the data set of a point."""
        ...

    def width(self, epsilon: float, rtol: float) -> float:
        """How far apart the ends of a point may be."""
        ...

    def slope(self, epsilon: float, cap: float) -> float:
        """About -d log delta by place."""
        ...


class Ends(NamedTuple):
    """eps certified for the lower side, and for the upper one."""

    lower: Crossing
    upper: Crossing


class _Held(NamedTuple):
    """A lower end, and the point whose data set it is of."""

    epsilon: float
    seen: Point


def both_ends(
    curve: Searched, log_target: float, *, start: float, rtol: float, cap: float
) -> Ends | None:
    """Where the largest delta of all data sets crosses the target; None where it is not settled.

    Parameters
    ----------
    curve : Searched
        Of a one-bit mechanism among n users.
    log_target : float
        log of the target delta.
    start : float
        About the crossing: 0 < start < cap.
    rtol : float
        About how near the crossing the ends are, relatively.
    cap : float
        eps by the local guarantee, or inf.
    """
    slack = 4 * U * (1.0 + abs(log_target))
    guess = _secant(lambda e: curve.alike(e) - log_target, (start, cap), _slope_at(log_target))
    if guess is None:
        return None
    slope = curve.slope(guess[0], cap)
    seen = curve.point(guess[0], rtol=rtol)
    lower: _Held | None = None
    room = _BEYOND * curve.width(seen.epsilon, rtol)
    for _ in range(_STEPS):
        if lower is None or _set(seen) != _set(lower.seen):
            at = _last(curve.held(seen), log_target + slack, (seen.epsilon, cap), slope)
            if at is None:
                return None
            lower = _Held(at, seen) if lower is None or at > lower.epsilon else lower
        point = point_at(place_of(lower.epsilon, cap) + room / slope, cap)
        if not lower.epsilon < point < cap:
            return None
        seen = curve.point(point, rtol=rtol)
        missing = seen.log_high - (log_target - slack)
        if missing <= 0.0:
            upper = Crossing(point, point / lower.epsilon - 1.0, seen)
            return Ends(Crossing(lower.epsilon, 0.0, lower.seen), upper)
        # Another data set, or rounding, which is more where eps is next to the cap.
        room = 2.0 * room + 1.1 * missing
    return None


def _set(seen: Point) -> tuple[object, object]:
    return seen.x0, seen.others


def _slope_at(log_target: float) -> float:
    """-d log delta/d log eps of a normal law's tail."""
    return 2.0 * abs(log_target) + 1.0


def _last(
    value: Callable[[float], float], goal: float, near: tuple[float, float], slope: float
) -> float | None:
    """Almost the largest eps at which the value was seen to be at least the goal."""
    found = _secant(lambda e: value(e) - goal, near, slope, close=_CLOSE)
    if found is None:
        return None
    cap, step = near[1], _CLOSE
    for _ in range(_BACK):
        point = point_at(place_of(found[0], cap) - step, cap)
        if value(point) >= goal:
            return point
        step *= 4.0
    return None


def _secant(
    value: Callable[[float], float],
    near: tuple[float, float],
    slope: float,
    *,
    close: float = _ABOUT,
) -> tuple[float, float] | None:
    """About the eps at which a value that falls is 0, by secants from a guess, and the slope there.

    ``near``: the guess, and the cap. None where they do not settle.
    """
    (point, cap), far, rate = near, _FAR, slope
    known: list[tuple[float, float]] = []
    for _ in range(_SECANTS):
        place, found = place_of(point, cap), value(point)
        if not math.isfinite(found):
            return None
        known.append((place, found))
        if len(known) > 1:
            (x0, y0), (x1, y1) = known[-2:]
            rate = (y0 - y1) / (x1 - x0) if (y0 - y1) * (x1 - x0) > 0.0 else rate
        moved = found / rate
        point = point_at(place + min(max(moved, -far), far), cap)
        # Next to the cap places are far from each other.
        far = 2.0 * far if abs(moved) > far else far
        if not 0.0 < point < cap:
            return None
        if abs(moved) <= close:
            return point, rate
    return None
