"""What was evaluated of a profile on the way from delta to eps, and what all of it certifies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shuffledp.arithmetic.intervals import LogInterval, common
from shuffledp.divergence.chords import certified_ends
from shuffledp.divergence.profile import LOOSE, PairProfile
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
# A bracket of log delta is never asked narrower than what rounding of its sums leaves.
NARROWEST = 3e-13
# What brackets of delta may take of the width of eps; how much narrower ones cost next to nothing.
_SHARE, _NOT_FAR = 0.6, 0.01
# What is within so many times the width that is asked for is not asked again: it would gain little.
_MET = 3.0
_ANYTHING = LogInterval(-math.inf, math.inf)
# How far apart, in log delta, two brackets give a slope: against their widths; not too far.
_SURE, _REACH = 0.5, 3.0


class Ends(NamedTuple):
    """Certified ends; ``high`` is None where there is none yet."""

    low: float
    high: float | None

    def within(self, rtol: float) -> bool:
        """Whether they are as near to each other as was asked."""
        return self.high is not None and self.high - self.low <= rtol * self.high


class Accuracy(NamedTuple):
    """The relative width of eps that is wanted; that of delta at which the end is asked again."""

    rtol: float
    again: float | None

    def width(self, epsilon: float, slope: float) -> float:
        """Of the brackets of delta: most of rtol of eps; the same as later where that is near."""
        wanted = max(_SHARE * self.rtol * epsilon * slope, NARROWEST)
        again = wanted if self.again is None else self.again
        return again if _NOT_FAR * wanted <= again <= wanted else wanted


class Evaluated:
    """A profile, and all that one question has learned of it on the way to one target.

    The end that is claimed (the upper one of an upper bound) is a point that was evaluated, so that
    evaluating it again gives no more than the target; the other one may lie between such points.

    Attributes
    ----------
    profile : PairProfile
        The curve.
    log_target : float
        log of the target delta.
    upper : bool
        Which end is claimed.
    outward : float
        1 where the claimed end lies above the crossing, -1 where below.
    slack : float
        log(delta) itself is rounded: by no more than that.
    known : dict of float to LogInterval
        The narrowest bracket at each eps that was evaluated.
    """

    def __init__(self, profile: PairProfile, log_target: float, *, upper: bool) -> None:
        self.profile, self.log_target, self.upper = profile, log_target, upper
        self.outward = 1.0 if upper else -1.0
        self.slack = 4 * U * (1.0 + abs(log_target))
        # delta(0) <= 1 comes for nothing.
        self.known: dict[float, LogInterval] = {0.0: LogInterval(-math.inf, 0.0)}
        self._asked: dict[float, tuple[float, ...]] = {}
        self._ends: Ends | None = None

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """All brackets at this eps so far, about as narrow together as ``width``.

        What is known narrower is not asked.
        """
        if not epsilon >= 0.0:
            # No estimate leads there; and of no number nothing is certified.
            return _ANYTHING
        asked, known = self._asked.get(epsilon, ()), self.known.get(epsilon, _ANYTHING)
        if width in asked or known.width <= width:
            return known
        if asked and min(asked) < width and known.width <= _MET * width:
            return known
        self._asked[epsilon] = (*asked, width)
        # A narrower request may do worse: more terms mean more rounding.
        found = common(self.profile.log_delta(epsilon, width=width), known)
        self.known[epsilon], self._ends = found, None
        return found

    def shape(self, near: Near) -> Callable[[float], float]:
        """The estimate, moved and tilted to pass through ``near`` and another known point."""
        rough = self.profile.rough_log_delta
        here = middle(near.value)
        off = here - rough(near.point)
        drift = 0.0
        others = [
            (abs(middle(found) - here), point, found)
            for point, found in self.known.items()
            if point != near.point
            and _SURE * (found.width + near.value.width) < abs(middle(found) - here) < _REACH
        ]
        if others:
            _, point, found = min(others)
            other = middle(found) - rough(point)
            drift = (other - off) / (point - near.point)
        return lambda epsilon: rough(epsilon) + off + drift * (epsilon - near.point)

    def ends(self) -> Ends:
        """What all brackets so far certify."""
        if self._ends is not None:
            return self._ends
        low, high = certified_ends(self.known, self.log_target)
        if self.upper:
            target = self.log_target - self.slack
            high = min((e for e, v in self.known.items() if v.high <= target), default=None)
        else:
            target = self.log_target + self.slack
            low = max((e for e, v in self.known.items() if v.low >= target), default=0.0)
        self._ends = Ends(low, high)
        return self._ends

    def below(self, epsilon: float, width: float) -> bool:
        """Whether delta is certainly at most the target, by a bracket of that width."""
        return self.log_delta(epsilon, width=width).high <= self.log_target - self.slack

    def above(self, epsilon: float, width: float) -> bool:
        """Whether delta is certainly at least the target, by a bracket of that width."""
        return self.log_delta(epsilon, width=width).low >= self.log_target + self.slack


def middle(found: LogInterval) -> float:
    """log of the mean of both ends: the errors of smoothing nearly cancel there."""
    if not math.isfinite(found.low):
        return found.high
    return found.high + math.log1p(0.5 * math.expm1(found.low - found.high))


class Near(NamedTuple):
    """A point next to the crossing, -d log delta / d eps, and log delta there or about that."""

    point: float
    slope: float
    value: LogInterval
