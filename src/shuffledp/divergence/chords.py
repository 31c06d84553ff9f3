"""Ends of eps between and beyond evaluated points: delta is convex in e^eps.

A chord between two upper ends lies above delta; the line through a lower end and, farther on, an
upper end lies below delta on the lower end's other side (docs/theory.md, Lemmas 7.5 and 7.6). So
one narrow bracket next to the crossing and loose ones on either side certify both ends.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
_FAR = 600.0
# Products below this would lose digits to underflow.
_LEAST = 1e-290


class _Point(NamedTuple):
    """An evaluated eps; bounds of delta/target - 1 there."""

    epsilon: float
    low: float
    high: float


def certified_ends(
    known: Mapping[float, LogInterval], log_target: float
) -> tuple[float, float | None]:
    """The largest eps with delta >= target and the smallest with delta <= target that follow.

    Parameters
    ----------
    known : mapping of float to LogInterval
        Certified brackets of log delta at some eps >= 0; delta convex in e^eps and non-increasing.
    log_target : float
        log of the target delta, rounded.

    Returns
    -------
    low, high : float, float or None
        0 and None where nothing follows.
    """
    points = sorted(_point(epsilon, found, log_target) for epsilon, found in known.items())
    lows, highs = [0.0], []
    for p in points:
        if p.low >= 0.0:
            lows.append(p.epsilon)
        if p.high <= 0.0:
            highs.append(p.epsilon)
    for left, right in itertools.combinations(points, 2):
        if left.high > 0.0 >= right.high:
            highs.append(_on_chord(left, right))
        lows += [_before(left, right), _beyond(left, right)]
    return max(lows), min(highs, default=None)


def _point(epsilon: float, found: LogInterval, log_target: float) -> _Point:
    # log(target) is rounded, and so is what is subtracted here; far below, expm1 forgets both.
    slack = 8 * U * (1.0 + abs(log_target) + min(max(found.high, 0.0), _FAR))
    low, high = found.low - log_target - slack, found.high - log_target + slack
    low = math.expm1(low) if low < _FAR else math.expm1(_FAR)
    high = math.expm1(high) if high < _FAR else math.inf
    return _Point(epsilon, low - 4 * U * abs(low), high + 4 * U * abs(high))


def _on_chord(left: _Point, right: _Point) -> float:
    """Where the chord of the upper ends, above the target at the left, comes down to it."""
    if left.high == math.inf:
        return right.epsilon
    share = left.high / (left.high - right.high) * (1.0 + 16 * U)
    step = math.log1p(max(share * _distance(left, right), _LEAST)) * (1.0 + 16 * U)
    return min((left.epsilon + step) * (1.0 + 4 * U), right.epsilon)


def _before(left: _Point, right: _Point) -> float:
    """A line through the left lower end and the right upper end, followed to the left."""
    if left.low >= 0.0 or right.high == math.inf:
        return 0.0
    fall = left.low - right.high - 8 * U * (abs(left.low) + abs(right.high))
    if not fall > 0.0:
        return 0.0
    back = -left.low / fall * _distance(left, right) * (1.0 + 32 * U)
    if not back < 0.5:
        return 0.0
    step = math.log1p(-max(back, _LEAST)) * (1.0 + 16 * U)
    return max((left.epsilon + step) * (1.0 - 4 * U) - 4 * U * left.epsilon, 0.0)


def _beyond(left: _Point, right: _Point) -> float:
    """A line through the left upper end and the right lower end, followed to the right."""
    if not right.low > 0.0 or left.high == math.inf:
        return 0.0
    fall = left.high - right.low + 8 * U * (abs(left.high) + abs(right.low))
    if not fall > 0.0:
        # Both brackets are points of equal height: nothing is known of the slope beyond.
        return right.epsilon
    # In units of e^right: the distance to the left point is 1 - e^(left - right).
    share = right.low / fall * (1.0 - 16 * U)
    grown = share * -math.expm1(left.epsilon - right.epsilon)
    if grown < _LEAST:
        return right.epsilon
    step = math.log1p(grown) * (1.0 - 16 * U)
    return (right.epsilon + step) * (1.0 - 4 * U)


def _distance(left: _Point, right: _Point) -> float:
    """(e^right - e^left)/e^left, rounded up: the rounding of a long way counts in full."""
    way = (right.epsilon - left.epsilon) * (1.0 + 4 * U)
    return math.expm1(way) * (1.0 + 4 * U) if way < _FAR else math.inf
