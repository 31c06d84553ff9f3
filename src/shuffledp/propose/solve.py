"""Where a decreasing curve of log delta meets a target, in plain floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["LEAST", "Root", "Scale", "bisected", "crossing", "first_epsilon", "root"]

# First slope of log delta on the scale: that of a normal limit at delta = 1e-6.
_SLOPE = -12.0
# Most steps of the secant rule, and the longest one, on the scale.
_STEPS, _LONGEST = 60, 1.0
# Points nearer than _TOLD on the scale determine no slope, as estimates are rounded; points nearer
# than _CLOSE end the search.
_TOLD, _CLOSE = 1e-6, 1e-10
# Least eps that is tried: below it, the limit eps -> 0 decides.
LEAST = 1e-14
# Largest eps for a bound by label stealing: somewhat above the range of promise.
_MOST = 60.0


def bisected(
    is_below: Callable[[float], bool], low: float, high: float, *, near: float
) -> tuple[float, float]:
    """A bracket of at most ``near`` around where a test that holds at ``low`` ceases to hold."""
    while high - low > near:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low, high


@dataclass(frozen=True)
class Scale:
    """log(eps/(1 - eps/cap)): log eps far below the cap, -log(cap - eps) next to it.

    On this scale log delta is nearly a straight line at either end; in log eps it bends at the cap.
    """

    cap: float

    def of(self, epsilon: float) -> float:
        """The place of an eps in (0, cap); infinite from the cap on."""
        if epsilon >= self.cap:
            return math.inf
        return math.log(epsilon) - math.log1p(-epsilon / self.cap)

    def epsilon(self, place: float) -> float:
        """The eps at a place."""
        grown = math.exp(min(place, 700.0))
        return grown / (1.0 + grown / self.cap)

    def stretch(self, epsilon: float) -> float:
        """d place/d log eps."""
        return 1.0 / max(1.0 - epsilon / self.cap, 1e-12)


class Root(NamedTuple):
    """The eps where the target is met, and the slope of log delta on the scale there."""

    epsilon: float
    slope: float


def root(
    log_delta: Callable[[float], float],
    target: float,
    start: float,
    scale: Scale,
    *,
    tolerance: float = 1e-7,
    slope: float = _SLOPE,
) -> Root:
    """The eps at which log delta meets the target, by the secant rule.

    Parameters
    ----------
    log_delta : callable
        A decreasing function of eps; -inf where delta is 0.
    target : float
        Target of log delta.
    start : float
        A first eps.
    scale : Scale
        The scale; its cap is the largest eps worth trying.
    tolerance : float
        Tolerance of log delta.
    slope : float
        A first guess of the slope on the scale.
    """
    low, high = scale.of(LEAST), scale.of(scale.cap * (1.0 - 2.0**-50))
    x, before = min(max(scale.of(start), low), high), None
    for _ in range(_STEPS):
        y = log_delta(scale.epsilon(x)) - target
        if before is not None and math.isfinite(y) and abs(x - before[0]) > _TOLD:
            slope = min((y - before[1]) / (x - before[0]), -1e-3)
        if abs(y) <= tolerance or high - low < _CLOSE:
            break
        low, high = (x, high) if y > 0 else (low, x)
        before = (x, y) if math.isfinite(y) else None
        step = -y / slope if math.isfinite(y) else -0.7
        moved = x + max(-_LONGEST, min(_LONGEST, step))
        x = moved if low < moved < high else 0.5 * (max(low, high - 6.0) + high)
    return Root(scale.epsilon(x), slope)


def crossing(
    log_delta: Callable[[float], float],
    target: float,
    start: float,
    top: float,
    near: float,
    slope: float,
) -> tuple[float, float]:
    """The eps below ``top`` with this log delta, to within ``near``, and d log delta/d log eps."""
    scale = Scale(min(top, _MOST))
    steep = slope / scale.stretch(start)
    found = root(log_delta, target, start, scale, tolerance=near, slope=steep)
    return found.epsilon, found.slope * scale.stretch(found.epsilon)


def first_epsilon(variance: float, n: int, log_target: float, cap: float) -> float:
    """A first eps by the central limit: the loss is about normal with variance `variance`/n.

    Parameters
    ----------
    variance : float
        Variance of one gain at eps = 0.
    n : int
        Number of draws.
    log_target : float
        log of the target delta.
    cap : float
        Largest eps worth trying.
    """
    sigma = math.sqrt(min(variance, 1e12) / n)
    reach = math.sqrt(max(-2.0 * log_target, 0.0)) - 1.0
    return max(min(sigma * max(reach, 0.5), 0.7 * cap), 10.0 * LEAST)
