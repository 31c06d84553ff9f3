"""From delta to eps: floats propose where log delta meets the target, one bracket certifies it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.pairs import End
from shuffledp.bounds.profile import LARGEST_EPSILON, LOOSE, Profile
from shuffledp.propose.solve import LEAST, Scale, first_epsilon, root

__all__ = ["EpsilonInterval", "LowerEpsilon", "UpperEpsilon"]

# Room for the rounding of logarithms of the target and of eps, relative to 1 + |log|.
_ROUNDING = 2.0**-50
# Relative widths of delta that are asked for: this share of what rtol of eps allows, at most the
# second, at least the third.
_SHARE, _WIDEST, _NARROWEST = 0.3, 1e-2, 1e-10
# The certified point is this share of the allowed excess beyond the crossing.
_AIM = 0.4
# Certificates at different eps before the best one is taken; each corrects the last one's miss.
_TRIES = 12
# A slope is learned from certified values this many widths apart.
_SURE = 3.0
# A bracket this many times as wide as asked is as narrow as bounded work makes it.
_WIDER = 10.0
# The width that settles whether the target is met at eps = 0, where a loose one leaves it open.
_AT_ZERO = 1e-7
# Estimates this far off, in log delta, are corrected by what was certified last.
_WRONG = 0.5
# Of profiles that are certainly smaller a bracket as wide as this share of the distance will do.
_FAR = 0.25


class EpsilonInterval(NamedTuple):
    """The certified end of eps, about how far the other end of the bracket is, and which curve.

    For an upper end `high` is certified for all curves and `low` is about where the curve `which`
    meets the target; for a lower end `low` is certified and `high` is about that.
    """

    low: float
    high: float
    which: int


class _Solver:
    """What both ends have in common: the proposal, and the widths asked for.

    Parameters
    ----------
    curves : sequence of Profile
        One for each ordered pair and direction.
    log_target : float
        log of the target delta.
    cap : float
        delta(cap) is at most the target by the local guarantee (inf if there is none).
    rtol : float
        Requested relative width of eps.
    width : float, optional
        Relative width of delta that will be asked for at the end that is found: taken where it is
        narrow enough, so that it costs nothing more then.
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
        # Beyond it the limit is near enough.
        self.nearest = limit * (1.0 - _AIM * rtol)
        # Of log delta on the scale; and the curve that decides.
        self.slope, self.which = -12.0, 0
        # By how much estimates of a curve were wrong at the last certificate, if they were.
        self.off: dict[int, float] = {}
        # The width of brackets that bounded work could not make as narrow as asked.
        self.reached = 0.0

    def proposed(self, among: Sequence[int]) -> float:
        """Where the largest curve's estimate meets the target; its slope and index are kept.

        The first curve is solved; others only where their estimate is larger at that eps.
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
        """Of log delta, so that eps is known to rtol."""
        return max(
            self.rtol * max(abs(self.slope) * self.scale.stretch(epsilon), 1e-6), self.reached
        )

    def asked(self, epsilon: float) -> float:
        """The relative width of delta to be asked for."""
        allowed = self.allowed(epsilon)
        if self.width is not None and _SHARE * allowed <= self.width <= allowed:
            return self.width
        return min(max(_SHARE * allowed, _NARROWEST), _WIDEST)

    def bracket(self, i: int, epsilon: float, width: float, end: End) -> LogInterval:
        """A curve's bracket; remembers how wrong its estimate was, and how wide it is."""
        curve, off = self.curves[i], self.off.get(i, 0.0)
        found = curve.log_delta(epsilon, width=width, end=end, target=self.target, off=off)
        seen = found.high if end == "upper" else found.low
        wrong = seen - curve.rough_log_delta(epsilon)
        self.off[i] = wrong if _WRONG < abs(wrong) < math.inf else 0.0
        if _WIDER * width < found.width < math.inf and found.low < self.target < found.high:
            self.reached = max(self.reached, found.width)
        return found

    def moved(self, epsilon: float, gap: float, sign: float) -> float:
        """Where the gap to the target would be closed, and a little farther on the safe side."""
        aim = gap + sign * _AIM * min(self.allowed(epsilon), _WIDEST)
        step = max(-1.0, min(1.0, -aim / self.slope))
        return self.scale.epsilon(self.scale.of(epsilon) + step)

    def relative(self, gap: float, epsilon: float) -> float:
        """About how far eps is from the crossing, relatively, at this gap and the width asked."""
        return (abs(gap) + 0.5 * self.asked(epsilon)) / -self.slope / self.scale.stretch(epsilon)

    def learn(self, one: tuple[float, float], two: tuple[float, float]) -> None:
        """The slope between two certified points (eps, log delta), as far as they tell it.

        Where log delta moved less than its width, the slope is at most what that leaves room for:
        an estimate that jumps makes a first slope far too steep.
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
        """Whether the target is met at eps = 0; asked only where an estimate leaves it open."""
        rough = max(curve.rough_log_delta(0.0) for curve in self.curves)
        if rough > self.target + LOOSE:
            return False
        return self._misses(0.0, LOOSE) <= 0.0 or self._misses(0.0, _AT_ZERO) <= 0.0

    def _misses(self, epsilon: float, width: float) -> float:
        """By how much the largest certified upper end of log delta is above the target.

        Curves that an estimate has far below the target are asked with wide brackets; a curve that
        certainly misses ends the search.
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

        Where the curve that seems the largest certifies nothing, the others are tried.
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
        """The end by the curve that was proposed."""
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
