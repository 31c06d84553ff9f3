"""From a target of delta to eps: floats propose where it is met, and one bracket certifies an eps.

Every end of eps is found here: ``root`` finds where an estimate meets the target, and ``certified``
evaluates there what an analysis certifies. Each miss of the target tells how far to move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "LEAST",
    "Met",
    "Root",
    "Scale",
    "Value",
    "bisected",
    "certified",
    "first_epsilon",
    "root",
]

# First slope of log delta on the scale: that of a normal limit at delta = 1e-6.
_SLOPE = -12.0
# Most steps of the secant rule, and the longest one, on the scale.
_STEPS, _LONGEST = 60, 1.0
# Points nearer than _TOLD on the scale determine no slope, as estimates are rounded; points nearer
# than _CLOSE end the search.
_TOLD, _CLOSE = 1e-6, 1e-10
# Least eps that is tried: below it, the limit eps -> 0 decides.
LEAST = 1e-14
# Most certificates at different eps, and the step on the scale where one certifies nothing.
_TRIES, _BLIND = 12, 0.7
# The certified point lies beyond the crossing by this share of the allowed excess of log delta, and
# that excess is at most the second number.
_AIM, _MOST_EXCESS = 0.4, 2e-2
# The shortest step from one certificate to the next, as a share of the wanted distance of eps.
_SHORTEST = 0.1


def bisected(
    is_below: Callable[[float], bool], low: float, high: float, *, near: float
) -> tuple[float, float]:
    """A bracket of at most ``near`` around where a test that holds at ``low`` ceases to hold."""
    while high - low > near:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low, high


class Scale(NamedTuple):
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
    slope: float = _SLOPE


def root(
    log_delta: Callable[[float], float],
    target: float,
    start: Root,
    cap: float,
    *,
    tolerance: float = 1e-7,
) -> Root:
    """The eps at which log delta meets the target, by the secant rule.

    Parameters
    ----------
    log_delta : callable
        A decreasing function of eps; -inf where delta is 0.
    target : float
        Target of log delta.
    start : Root
        A first eps, and a first guess of the slope.
    cap : float
        The largest eps worth trying.
    tolerance : float
        Tolerance of log delta.
    """
    scale, slope = Scale(cap), start.slope
    low, high = scale.of(LEAST), scale.of(cap * (1.0 - 2.0**-50))
    x, before = min(max(scale.of(start.epsilon), low), high), None
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


class Value(NamedTuple):
    """What an analysis certifies at one eps.

    Attributes
    ----------
    log_delta : float
        The certified end of log delta.
    witness : object
        What is needed to certify it again.
    width : float
        How far, in log delta, bounded work may leave the end from the truth.
    about : float, optional
        An estimate of log delta, if the end is known only to be on the right side of the target.
    """

    log_delta: float
    witness: Any = None
    width: float = 0.0
    about: float | None = None


class Met(NamedTuple):
    """An eps whose certified value is on the right side of the target.

    Attributes
    ----------
    epsilon : float
        The eps that was evaluated.
    value : Value
        The value there.
    apart : float
        An estimate of the relative distance of eps from where the target is met.
    """

    epsilon: float
    value: Value
    apart: float


def certified(
    certify: Callable[[float, float], Value],
    target: float,
    start: Root,
    cap: float,
    *,
    upper: bool,
    rtol: float,
) -> Met | None:
    """An end of eps below ``cap``: an eps that was evaluated, on the right side of the target.

    For an upper end log delta is certified to be at most the target; for a lower end, at least.

    Parameters
    ----------
    certify : callable
        (eps, width of log delta worth asking for) -> the certified value there.
    target : float
        Target of log delta.
    start : Root
        An estimate of where the target is met.
    cap : float
        The largest eps of interest; for an upper end, None is returned from there on.
    upper : bool
        Whether the upper end of eps is wanted.
    rtol : float
        Wanted relative distance of eps from where the target is met.
    """
    scale, slope, sign = Scale(cap), start.slope, 1.0 if upper else -1.0
    # An eps this near to the cap counts as the cap.
    nearest, low, high = cap * (1.0 - _AIM * rtol), 0.0, cap
    best: Met | None = None
    before: tuple[float, float] | None = None

    def excess(epsilon: float) -> float:
        return min(rtol * max(-slope * scale.stretch(epsilon), 1e-6), _MOST_EXCESS)

    place = scale.of(min(start.epsilon, nearest))
    place -= sign * _AIM * excess(start.epsilon) / slope
    for _ in range(_TRIES):
        epsilon = min(scale.epsilon(place), nearest)
        near = excess(epsilon)
        if (upper and epsilon >= nearest) or epsilon <= LEAST:
            break
        value = certify(epsilon, near)
        gap = value.log_delta - target
        met, enough = sign * gap <= 0.0, max(near, value.width)
        if met and (best is None or sign * (epsilon - best.epsilon) < 0.0):
            off = (abs(gap) + 0.5 * max(value.width, 0.3 * near)) / -slope
            best = Met(epsilon, value, off / scale.stretch(epsilon))
        low, high = (low, min(high, epsilon)) if met == upper else (max(low, epsilon), high)
        if met and (abs(gap) <= enough or (not upper and epsilon >= nearest)):
            break
        if not low * (1.0 + (_CLOSE if best is None else rtol)) < high:
            break
        gap = gap if value.about is None else value.about - target
        if not math.isfinite(gap):
            place += math.copysign(_BLIND, gap)
        else:
            if before is not None and place != before[0]:
                slope = _learned(slope, gap - before[1], place - before[0], near)
            before = place, gap
            step = -(gap + sign * _AIM * enough) / slope
            # Shorter steps gain nothing: where eps hardly matters, delta's width is the rest.
            least = _SHORTEST * rtol * scale.stretch(epsilon)
            place += math.copysign(max(min(abs(step), _LONGEST), least), step)
        if not low < scale.epsilon(place) < high:
            # Certificates may jump: between a miss and an eps that meets it halving is safe.
            left, right = scale.of(max(low, LEAST)), scale.of(min(high, nearest))
            place = 0.5 * (max(left, right - 2.0) + right)
    return best


def _learned(slope: float, moved: float, apart: float, near: float) -> float:
    """The slope from two certified values, as far as they determine it.

    If log delta moved by less than its width, the slope is at most what the width allows: estimates
    that jump make a first slope far too steep.
    """
    if abs(moved) > near:
        return min(moved / apart, -1e-6)
    return -near / abs(apart) if abs(slope * apart) > near else slope


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
