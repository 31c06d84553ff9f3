"""Ends of eps at a delta by the largest of some privacy profiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.propose.profile import LARGEST_EPSILON, LOOSE, Profile
from shuffledp.propose.solve import LEAST, Root, Value, certified, first_epsilon, root

__all__ = ["EpsilonInterval", "lower_epsilon", "upper_epsilon"]

# Allowance for the rounding of logarithms of the target and of eps, relative to 1 + |log|.
_ROUNDING = 2.0**-50
# Relative width of delta to request: this share of the width that rtol of eps allows, at most the
# second number, at least the third.
_SHARE, _WIDEST, _NARROWEST = 0.3, 1e-2, 1e-10
# A bracket this many times as wide as requested is as narrow as bounded work allows.
_WIDER = 10.0
# Relative width that decides whether eps = 0 meets the target, where a loose one does not.
_AT_ZERO = 1e-7
# A profile whose estimate is below the target is bracketed to this share of the distance.
_FAR = 0.25


class EpsilonInterval(NamedTuple):
    """The certified end of eps, an estimate of the bracket's other end, and the deciding curve.

    For an upper end, `high` is certified for all curves, and `low` estimates where the curve
    `which` meets the target. For a lower end, `low` is certified and `high` is that estimate.
    """

    low: float
    high: float
    which: int


def upper_epsilon(
    curves: Sequence[Profile],
    log_target: float,
    *,
    cap: float,
    rtol: float,
    width: float | None = None,
) -> EpsilonInterval:
    """The least eps found at which every curve is certified to be at most the target.

    Parameters
    ----------
    curves : sequence of Profile
        One profile for each ordered pair and direction.
    log_target : float
        log of the target delta.
    cap : float
        An eps at which the local guarantee gives delta of at most the target (inf if none).
    rtol : float
        Requested relative width of eps.
    width : float, optional
        Relative width of delta that will be requested at the resulting eps; used already here where
        it is narrow enough, so that the bracket is reused.
    """
    if cap == math.inf and any(curve.log_floor() >= log_target for curve in curves):
        return EpsilonInterval(LARGEST_EPSILON, math.inf, 0)
    target = log_target - _ROUNDING * (1.0 + abs(log_target))
    limit = min(cap, LARGEST_EPSILON)
    if max(curve.rough_log_delta(0.0) for curve in curves) <= target + LOOSE:
        for asked in (LOOSE, _AT_ZERO):
            found = _largest(curves, target, 0.0, asked)
            if found.log_delta <= target:
                return EpsilonInterval(0.0, 0.0, found.witness)

    def certify(epsilon: float, near: float) -> Value:
        return _largest(curves, target, epsilon, _asked(near, width))

    start, which = _proposed(curves, range(len(curves)), target, limit)
    met = certified(certify, target, start, limit, upper=True, rtol=rtol)
    if met is None:
        return EpsilonInterval(min(start.epsilon, cap), cap, which)
    low = met.epsilon * math.exp(-met.apart)
    return EpsilonInterval(low, met.epsilon, met.value.witness)


def lower_epsilon(
    curves: Sequence[Profile],
    log_target: float,
    *,
    cap: float,
    rtol: float,
    width: float | None = None,
) -> EpsilonInterval:
    """The largest eps found at which one curve is certified to be above the target.

    If the curve that seems the largest certifies nothing, the others are tried. Parameters as in
    ``upper_epsilon``.
    """
    target = log_target + _ROUNDING * (1.0 + abs(log_target))
    left, limit = list(range(len(curves))), min(cap, LARGEST_EPSILON)
    which = 0
    while left and max(curves[i].rough_log_delta(0.0) for i in left) >= target - LOOSE:
        start, which = _proposed(curves, left, target, limit)

        def certify(epsilon: float, near: float, i: int = which) -> Value:
            asked = _asked(near, width)
            found = curves[i].log_delta(epsilon, width=asked, end="lower", target=target)
            return Value(found.low, i, _reached(found, asked, target))

        met = certified(certify, target, start, limit, upper=False, rtol=rtol)
        if met is not None:
            above = met.epsilon * math.exp(min(met.apart, 1.0))
            return EpsilonInterval(met.epsilon, min(above, cap), which)
        left.remove(which)
    return EpsilonInterval(0.0, 0.0, which)


def _proposed(
    curves: Sequence[Profile], among: Sequence[int], target: float, limit: float
) -> tuple[Root, int]:
    """Where the largest curve's estimate meets the target, and its index.

    The first curve is solved; another one only where its estimate is larger at that eps.
    """
    best, which = Root(LEAST), among[0]
    for i in among:
        curve = curves[i]
        if i == among[0]:
            start = Root(first_epsilon(curve.variance(), 1, target, limit))
        elif curve.rough_log_delta(best.epsilon) > target:
            start = best
        else:
            continue
        found = root(curve.rough_log_delta, target, start, limit, tolerance=1e-8)
        if i == among[0] or found.epsilon > best.epsilon:
            best, which = found, i
    return best, which


def _asked(near: float, width: float | None) -> float:
    """The relative width of delta to request, where log delta may be off by ``near``."""
    if width is not None and _SHARE * near <= width <= near:
        return width
    return min(max(_SHARE * near, _NARROWEST), _WIDEST)


def _largest(curves: Sequence[Profile], target: float, epsilon: float, width: float) -> Value:
    """The largest certified upper end of log delta, with the index of its curve.

    Curves with an estimate far below the target get wide brackets. A curve that certainly misses
    the target ends the search.
    """
    rough = [(curve.rough_log_delta(epsilon), i) for i, curve in enumerate(curves)]
    worst = Value(-math.inf, 0)
    for value, i in sorted(rough, reverse=True):
        room = _FAR * (target - value)
        loose = max(width, min(room, 0.5)) if math.isfinite(room) else LOOSE
        for asked in dict.fromkeys((loose, min(loose, width))):
            found = curves[i].log_delta(epsilon, width=asked, end="upper", target=target)
            if found.high <= target:
                break
        if found.high > worst.log_delta:
            worst = Value(found.high, i, _reached(found, asked, target))
        if worst.log_delta > target:
            break
    return worst


def _reached(found: LogInterval, asked: float, target: float) -> float:
    """The width of a bracket that bounded work could not make as narrow as requested, else 0."""
    wide = _WIDER * asked < found.width < math.inf and found.low < target < found.high
    return found.width if wide else 0.0
