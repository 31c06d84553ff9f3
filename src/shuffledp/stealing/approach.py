"""From a delta to eps by estimates: where to look next. Nothing here certifies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from shuffledp.numerics.roots import bracketed_root
from shuffledp.stealing.bound import log_bound
from shuffledp.stealing.cases import Case
from shuffledp.stealing.proposal import estimated

# How near, in log delta, the certified bound at the returned eps is to the target: 1e-6 of eps.
NEAR = 3e-5
# How near, in log eps, estimates bring a first eps; secants on the way, and how far one goes.
_ABOUT, _SECANTS, _FAR = 1e-3, 8, 1.0
# Bounds on the way from one certified bound to where the next should be at the target.
_MOVES = 4
# h alpha of these, which costs 1 % of delta.
_SMOOTHED = 0.15
# The largest log delta that a reservoir is made for.
_MOST = -0.1


class Standing(NamedTuple):
    """Where the bound is known.

    Attributes
    ----------
    case : Case
        The one whose bound is the largest.
    epsilon : float
        Where.
    choice : Cut
        Its free numbers.
    guess : float
        The log delta that its reservoir was made for.
    """

    case: Case
    epsilon: float
    choice: Any
    guess: float


def crossing(
    above: Callable[[float], float],
    places: tuple[float, float, float, float],
    *,
    usual: float,
) -> tuple[float, float] | None:
    """About where an estimate of log delta crosses a target, and -d log delta/d log eps there.

    -log delta is nearly a power of eps: secants find it in three or four estimates; where they do
    not, a bracket does.

    Parameters
    ----------
    above : callable
        log eps -> estimate less the target.
    places : tuple of float
        log eps: the least, where to begin, where a bracket begins, and the largest.
    usual : float
        The slope to begin with.

    Returns
    -------
    (eps, slope), or None if the crossing is not below the largest.
    """
    low, start, middle, high = places
    start = min(start, high)
    known: list[tuple[float, float]] = []
    for _ in range(_SECANTS):
        known.append((start, above(start)))
        slope = min(max(slope_of(known, usual), 0.1 * usual), 10.0 * usual)
        moved = known[-1][1] / slope
        if not low < start + moved < high:
            break
        if abs(moved) <= _ABOUT:
            return math.exp(start + moved), slope
        start += min(max(moved, -_FAR), _FAR)
    if above(high) > 0.0:
        return None
    middle = min(middle, high - 1.0)
    while middle < high and above(middle) > 0.0:
        low, middle = middle, middle + 1.0
    middle = min(middle, high)
    if above(low) <= 0.0:
        return math.exp(low), usual
    found = bracketed_root(above, low, middle, absolute=_ABOUT)
    return math.exp(found), usual


def lower_by(gap: float, at: Standing, n: int, slope: float) -> float:
    """About the eps at which the bound is lower by ``gap`` in log delta.

    By bounds among the likely types alone, with a reservoir that log delta makes larger or smaller
    as it does a proposal's.

    Parameters
    ----------
    gap : float
        Of either sign.
    at : Standing
        Where the bound is known.
    n : int
        Users, the victim included.
    slope : float
        About -d log delta/d log eps.
    """
    case, moved = at.case, gap / slope
    share = case.least_share(at.guess, n)
    factor = case.least_share(min(at.guess - gap, _MOST), n) / share if share > 0.0 else math.inf
    start = _likely_bound(case, at.epsilon, at.choice, n)
    known = [(0.0, gap)]
    for _ in range(_MOVES if math.isfinite(start) and math.isfinite(factor) else 0):
        moved = min(max(moved, -_FAR), _FAR)
        point = at.epsilon * math.exp(moved)
        missing = gap - (start - _likely_bound(case, point, at.choice.scaled(factor), n))
        if not abs(missing) < abs(known[-1][1]):
            # No way to go by: where few messages are hidden by few, numbers do not carry over.
            return at.epsilon * math.exp(min(max(gap / slope, -_FAR), _FAR))
        known.append((moved, missing))
        moved += missing / slope_of(known, slope)
        if abs(missing) <= NEAR:
            break
    return at.epsilon * math.exp(moved)


def _likely_bound(case: Case, epsilon: float, choice: Any, n: int) -> float:
    """The bound among others of the likely types alone; inf where there is no estimate."""
    near = estimated(case, epsilon, choice, n)
    if near is None:
        return math.inf
    # Smoothing costs a factor that is the same everywhere.
    return log_bound(case.gains(epsilon, choice), n, near.contour.smoothed(_SMOOTHED))


def slope_of(known: Sequence[tuple[float, float]], guess: float) -> float:
    """-d log delta / d log eps: of the last two points, or the guess."""
    if len(known) < 2:
        return guess
    (x0, y0), (x1, y1) = known[-2:]
    found = (y0 - y1) / (x1 - x0) if x1 != x0 else guess
    return found if 0.05 * guess < found < 20.0 * guess else guess
