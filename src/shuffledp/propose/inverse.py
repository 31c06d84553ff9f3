"""From delta to eps: floats propose where log delta meets the target, one bracket certifies it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.pairs import End
from shuffledp.propose.profile import LARGEST_EPSILON, LOOSE, Profile
from shuffledp.propose.solve import LEAST, Scale, first_epsilon, root

__all__ = ["EpsilonInterval", "LowerEpsilon", "UpperEpsilon"]

# Allowance for the rounding of logarithms of the target and of eps, relative to 1 + |log|.
_ROUNDING = 2.0**-50
# Relative width of delta to request: this share of the width that rtol of eps allows, at most the
# second number, at least the third.
_SHARE, _WIDEST, _NARROWEST = 0.3, 1e-2, 1e-10
# The certified point lies beyond the crossing by this share of the allowed excess.
_AIM = 0.4
# Most certificates at different eps; each corrects the last one's miss.
_TRIES = 12
# A slope is learned from certified values that differ by at least this many widths.
_SURE = 3.0
# A bracket this many times as wide as requested is as narrow as bounded work allows.
_WIDER = 10.0
# Relative width that decides whether eps = 0 meets the target, where a loose one does not.
_AT_ZERO = 1e-7
# Estimates of log delta that are wrong by more than this are corrected by the last certificate.
_WRONG = 0.5
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


class _Solver:
    """Common part of both ends: the proposal, and the widths to request.

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

    def __init__(
        self,
        curves: Sequence[Profile],
        log_target: float,
        *,
        cap: float,
        rtol: float,
        width: float | None = None,
    ) -> None:
        limit = min(cap, LARGEST_EPSILON)
        self.curves, self.cap, self.limit, self.rtol, self.width = curves, cap, limit, rtol, width
        self.target = log_target
        self.slack = _ROUNDING * (1.0 + abs(log_target))
        self.scale = Scale(limit)
        # An eps this near to the limit counts as the limit.
        self.nearest = limit * (1.0 - _AIM * rtol)
        # Slope of log delta on the scale, and the index of the curve that decides.
        self.slope, self.which = -12.0, 0
        # Error of a curve's estimate at the last certificate, where it was large.
        self.off: dict[int, float] = {}
        # Width of brackets that bounded work could not make as narrow as requested.
        self.reached = 0.0

    def proposed(self, among: Sequence[int]) -> float:
        """The eps at which the largest curve's estimate meets the target; keep its slope and index.

        The first curve is solved; another one only where its estimate is larger at that eps.
        """
        epsilon = LEAST
        for i in among:
            curve = self.curves[i]
            if i != among[0] and not curve.rough_log_delta(epsilon) > self.target:
                continue
            start = first_epsilon(curve.variance(), 1, self.target, self.limit)
            start = start if i == among[0] else epsilon
            found = root(
                curve.rough_log_delta,
                self.target,
                start,
                self.scale,
                tolerance=1e-8,
                slope=self.slope,
            )
            if i == among[0] or found.epsilon > epsilon:
                (epsilon, self.slope), self.which = found, i
        return epsilon

    def allowed(self, epsilon: float) -> float:
        """The width of log delta at which eps is known to rtol."""
        return max(
            self.rtol * max(abs(self.slope) * self.scale.stretch(epsilon), 1e-6), self.reached
        )

    def asked(self, epsilon: float) -> float:
        """The relative width of delta to request."""
        allowed = self.allowed(epsilon)
        if self.width is not None and _SHARE * allowed <= self.width <= allowed:
            return self.width
        return min(max(_SHARE * allowed, _NARROWEST), _WIDEST)

    def bracket(self, i: int, epsilon: float, width: float, end: End) -> LogInterval:
        """A curve's bracket; remembers the error of its estimate and its width."""
        curve, off = self.curves[i], self.off.get(i, 0.0)
        found = curve.log_delta(epsilon, width=width, end=end, target=self.target, off=off)
        seen = found.high if end == "upper" else found.low
        wrong = seen - curve.rough_log_delta(epsilon)
        self.off[i] = wrong if _WRONG < abs(wrong) < math.inf else 0.0
        if _WIDER * width < found.width < math.inf and found.low < self.target < found.high:
            self.reached = max(self.reached, found.width)
        return found

    def moved(self, epsilon: float, gap: float, sign: float) -> float:
        """The eps at which the gap to the target closes, and a little farther on the safe side."""
        aim = gap + sign * _AIM * min(self.allowed(epsilon), _WIDEST)
        step = max(-1.0, min(1.0, -aim / self.slope))
        return self.scale.epsilon(self.scale.of(epsilon) + step)

    def relative(self, gap: float, epsilon: float) -> float:
        """An estimate of the relative distance of eps from the crossing, at this gap and width."""
        return (abs(gap) + 0.5 * self.asked(epsilon)) / -self.slope / self.scale.stretch(epsilon)

    def learn(self, one: tuple[float, float], two: tuple[float, float]) -> None:
        """Learn the slope from two certified points (eps, log delta), as far as they determine it.

        If log delta moved by less than its width, the slope is at most what the width allows:
        estimates that jump make a first slope far too steep.
        """
        apart, moved = self.scale.of(one[0]) - self.scale.of(two[0]), one[1] - two[1]
        sure = _SURE * self.asked(one[0])
        if apart == 0.0:
            return
        if abs(moved) > sure:
            slope = moved / apart
            self.slope = slope if slope < -1e-6 else self.slope
        elif abs(self.slope * apart) > sure:
            self.slope = -sure / abs(apart)


class UpperEpsilon(_Solver):
    """An eps at which every curve is certified to be at most the target."""

    def solve(self) -> EpsilonInterval:
        """The least eps found."""
        cap = self.cap
        if cap == math.inf and any(curve.log_floor() >= self.target for curve in self.curves):
            return EpsilonInterval(LARGEST_EPSILON, math.inf, 0)
        if self._met_at_zero():
            return EpsilonInterval(0.0, 0.0, self.which)
        self.reached = 0.0
        epsilon, best, before = self.proposed(range(len(self.curves))), None, None
        if epsilon >= self.nearest:
            return EpsilonInterval(epsilon, cap, self.which)
        epsilon = self.moved(epsilon, 0.0, 1.0)
        for _ in range(_TRIES):
            gap = self._misses(epsilon, self.asked(epsilon))
            if gap <= 0.0 and (best is None or epsilon < best[0]):
                best = epsilon, gap
            enough = min(self.allowed(epsilon), max(2.0 * _WIDEST, self.reached))
            if best is not None and (-best[1] <= enough or not math.isfinite(gap)):
                break
            if not math.isfinite(gap):
                epsilon = self.scale.epsilon(self.scale.of(epsilon) + 0.7)
                continue
            if before is not None:
                self.learn((epsilon, gap), before)
            before = epsilon, gap
            epsilon = self.moved(epsilon, gap, 1.0)
        if best is None or best[0] >= cap:
            return EpsilonInterval(min(epsilon, cap), cap, self.which)
        apart = self.relative(best[1], best[0])
        return EpsilonInterval(best[0] * math.exp(-apart), best[0], self.which)

    def _met_at_zero(self) -> bool:
        """Whether eps = 0 meets the target; evaluated only where an estimate leaves this open."""
        rough = max(curve.rough_log_delta(0.0) for curve in self.curves)
        if rough > self.target + LOOSE:
            return False
        return self._misses(0.0, LOOSE) <= 0.0 or self._misses(0.0, _AT_ZERO) <= 0.0

    def _misses(self, epsilon: float, width: float) -> float:
        """The amount by which the largest certified upper end of log delta exceeds the target.

        Curves with an estimate far below the target get wide brackets. A curve that certainly
        misses the target ends the search.
        """
        rough = [(curve.rough_log_delta(epsilon), i) for i, curve in enumerate(self.curves)]
        worst = -math.inf
        for value, i in sorted(rough, reverse=True):
            room, high = _FAR * (self.target - value), math.inf
            loose = max(width, min(room, 0.5)) if math.isfinite(room) else LOOSE
            for asked in dict.fromkeys((loose, min(loose, width))):
                high = self.bracket(i, epsilon, asked, "upper").high
                if not high > self.target - self.slack:
                    break
            if high > worst:
                worst, self.which = high, i
            if worst > self.target - self.slack:
                break
        return worst - self.target + self.slack


class LowerEpsilon(_Solver):
    """An eps at which one curve is certified to be above the target."""

    def solve(self) -> EpsilonInterval:
        """The largest eps found.

        If the curve that seems the largest certifies nothing, the others are tried.
        """
        left = list(range(len(self.curves)))
        found = EpsilonInterval(0.0, 0.0, 0)
        while left and found.low == 0.0:
            if max(self.curves[i].rough_log_delta(0.0) for i in left) < self.target - LOOSE:
                break
            found = self._of_one(self.proposed(left))
            left.remove(self.which)
        return found

    def _of_one(self, epsilon: float) -> EpsilonInterval:
        """The lower end from the proposed curve."""
        cap = self.cap
        epsilon = min(self.moved(epsilon, 0.0, -1.0), self.nearest)
        best, value, before = 0.0, math.inf, None
        for _ in range(_TRIES):
            found = self.bracket(self.which, epsilon, self.asked(epsilon), "lower")
            gap = found.low - self.target - self.slack
            if gap >= 0.0 and epsilon > best:
                best, value = epsilon, gap
            enough = min(self.allowed(epsilon), max(2.0 * _WIDEST, self.reached))
            if (best > 0.0 and (value <= enough or best >= self.nearest)) or epsilon <= LEAST:
                break
            if not math.isfinite(gap):
                epsilon *= 0.7
                continue
            if before is not None:
                self.learn((epsilon, gap), before)
            before = epsilon, gap
            epsilon = min(self.moved(epsilon, gap, -1.0), self.nearest)
        if best == 0.0:
            return EpsilonInterval(0.0, epsilon, self.which)
        above = best * math.exp(min(self.relative(value, best), 1.0))
        return EpsilonInterval(min(best, cap), min(above, cap), self.which)
