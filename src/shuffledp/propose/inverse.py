"""Ends of eps at a delta by the largest of some privacy profiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.pairs import End
from shuffledp.propose.one_bit import AllDataSets
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
# Estimates of log delta that are wrong by more than this are corrected by the last certificate.
_WRONG = 0.5


# What has log delta over eps.
Curve = Profile | AllDataSets


class EpsilonInterval(NamedTuple):
    """The certified end of eps, an estimate of the bracket's other end, and the deciding curve.

    For an upper end, `high` is certified for all curves, and `low` estimates where the curve
    `which` meets the target. For a lower end, `low` is certified and `high` is that estimate.
    """

    low: float
    high: float
    which: int


class _Curves:
    """Some profiles with a target: their brackets, and how wrong their estimates were."""

    def __init__(self, profiles: Sequence[Curve], target: float) -> None:
        self.profiles, self.target = profiles, target
        self._off: dict[int, float] = {}

    def bracket(self, i: int, epsilon: float, width: float, end: End) -> LogInterval:
        """One profile's bracket, where its estimate is corrected by the last one."""
        profile, off = self.profiles[i], self._off.get(i, 0.0)
        found = profile.log_delta(epsilon, width=width, end=end, target=self.target, off=off)
        seen = found.high if end == "upper" else found.low
        wrong = seen - profile.rough_log_delta(epsilon)
        self._off[i] = wrong if _WRONG < abs(wrong) < math.inf else 0.0
        return found

    def reached(self, found: LogInterval, asked: float) -> float:
        """The width of a bracket that bounded work could not make so narrow, else 0."""
        inside = found.low < self.target < found.high
        return found.width if inside and _WIDER * asked < found.width < math.inf else 0.0

    def largest(self, epsilon: float, width: float) -> Value:
        """The largest certified upper end of log delta, with the index of its curve.

        Curves with an estimate far below the target get wide brackets. A curve that certainly
        misses the target ends the search.
        """
        rough = [(curve.rough_log_delta(epsilon), i) for i, curve in enumerate(self.profiles)]
        worst = Value(-math.inf, 0)
        for value, i in sorted(rough, reverse=True):
            room = _FAR * (self.target - value)
            loose = max(width, min(room, 0.5)) if math.isfinite(room) else LOOSE
            asked = loose
            found = self.bracket(i, epsilon, asked, "upper")
            if found.high > self.target and width < loose:
                asked = width
                found = self.bracket(i, epsilon, asked, "upper")
            if found.high > worst.log_delta:
                worst = Value(found.high, i, self.reached(found, asked))
            if worst.log_delta > self.target:
                break
        return worst

    def proposed(self, among: Sequence[int], limit: float) -> tuple[Root, int]:
        """Where the largest curve's estimate meets the target, and its index.

        The first curve is solved; another one only where its estimate is larger at that eps.
        """
        best, which = Root(LEAST), among[0]
        for i in among:
            curve = self.profiles[i]
            if i == among[0]:
                start = Root(first_epsilon(curve.variance(), 1, self.target, limit))
            elif curve.rough_log_delta(best.epsilon) > self.target:
                start = best
            else:
                continue
            found = root(curve.rough_log_delta, self.target, start, limit, tolerance=1e-8)
            if i == among[0] or found.epsilon > best.epsilon:
                best, which = found, i
        return best, which


def upper_epsilon(
    curves: Sequence[Curve],
    log_target: float,
    *,
    cap: float,
    rtol: float,
    width: float | None = None,
) -> EpsilonInterval:
    """The least eps found at which every curve is certified to be at most the target.

    Parameters
    ----------
    curves : sequence of Curve
        One curve for each ordered pair and direction.
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
    known, limit = _Curves(curves, target), min(cap, LARGEST_EPSILON)
    if max(curve.rough_log_delta(0.0) for curve in curves) <= target + LOOSE:
        for asked in (LOOSE, _AT_ZERO):
            found = known.largest(0.0, asked)
            if found.log_delta <= target:
                return EpsilonInterval(0.0, 0.0, found.witness)

    def certify(epsilon: float, near: float) -> Value:
        return known.largest(epsilon, _asked(near, width))

    start, which = known.proposed(range(len(curves)), limit)
    met = certified(certify, target, start, limit, upper=True, rtol=rtol)
    if met is None:
        return EpsilonInterval(min(start.epsilon, cap), cap, which)
    low = met.epsilon * math.exp(-met.apart)
    return EpsilonInterval(low, met.epsilon, met.value.witness)


def lower_epsilon(
    curves: Sequence[Curve],
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
    known, which = _Curves(curves, target), 0
    while left and max(curves[i].rough_log_delta(0.0) for i in left) >= target - LOOSE:
        start, which = known.proposed(left, limit)

        def certify(epsilon: float, near: float, i: int = which) -> Value:
            asked = _asked(near, width)
            found = known.bracket(i, epsilon, asked, "lower")
            return Value(found.low, i, known.reached(found, asked))

        met = certified(certify, target, start, limit, upper=False, rtol=rtol)
        if met is not None:
            above = met.epsilon * math.exp(min(met.apart, 1.0))
            return EpsilonInterval(met.epsilon, min(above, cap), which)
        left.remove(which)
    return EpsilonInterval(0.0, 0.0, which)


def _asked(near: float, width: float | None) -> float:
    """The relative width of delta to request, where log delta may be off by ``near``."""
    if width is not None and _SHARE * near <= width <= near:
        return width
    return min(max(_SHARE * near, _NARROWEST), _WIDEST)
