"""Points of a curve, where it crosses a target, and coordinates in which it is nearly straight."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

# Halvings of an interval of eps, and when they stop: far below any width that is asked for.
_HALVINGS, _CLOSE = 100, 1e-10


class Point(NamedTuple):
    """log delta at an eps, both ends, and what attains the lower one.

    Attributes
    ----------
    epsilon, log_low, log_high : float
        log_low <= log delta(epsilon) <= log_high.
    x0, x1 : input
        The pair, in the order of the divergence.
    others : tuple of (input, int)
        How many of the others hold which input.
    """

    epsilon: float
    log_low: float
    log_high: float
    x0: object
    x1: object
    others: tuple[tuple[object, int], ...]


class Crossing(NamedTuple):
    """Where delta crosses a target: an eps on one side of it.

    Attributes
    ----------
    epsilon : float
        Certified for its side; 0 or inf where nothing was found.
    width : float
        (that)/(an eps certified for the other side) - 1, for an upper end.
    point : Point or None
        The evaluation it rests on.
    """

    epsilon: float
    width: float
    point: Point | None


def last_that(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The last number at which it was seen to hold, by halving; 0 where it does not at ``low``."""
    if not holds(low):
        return 0.0
    for _ in range(_HALVINGS):
        # Geometric while the ends are far apart; both ends may be close to the upper one.
        middle = math.sqrt(low * high) if high > 2.0 * low else 0.5 * (low + high)
        if not low < middle < high:
            break
        if holds(middle):
            low = middle
        else:
            high = middle
        if high - low <= _CLOSE * min(low, 1.0):
            break
    return low


def place_of(epsilon: float, cap: float) -> float:
    """log eps, or log eps/(cap - eps) where there is a cap: log delta is nearly linear in it.

    -inf where no float tells eps, or its share of the cap, from 0: half of the last float is 0.
    """
    share = epsilon if math.isinf(cap) else epsilon / cap
    if not share > 0.0:
        return -math.inf
    return math.log(share) if math.isinf(cap) else math.log(share) - math.log1p(-share)


def point_at(place: float, cap: float) -> float:
    """The inverse of ``place_of``."""
    if math.isinf(cap):
        return math.exp(min(place, 6.0))
    return cap / (1.0 + math.exp(-place)) if place > -700.0 else 0.0


def slope_of(known: list[tuple[float, float]], guess: float, noise: float) -> float:
    """-d log delta by place of the last two points, where these are far enough apart to tell."""
    if len(known) < 2:
        return guess
    (x0, y0), (x1, y1) = known[-2:]
    if abs(y1 - y0) <= noise or x1 == x0:
        return guess
    found = (y0 - y1) / (x1 - x0)
    return found if 0.1 * guess < found < 10.0 * guess else guess
