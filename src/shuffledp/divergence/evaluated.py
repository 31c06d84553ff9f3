"""What was evaluated of a profile on the way from delta to eps, and what all of it certifies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shuffledp.divergence.chords import certified_ends
from shuffledp.divergence.profile import LOOSE, PairProfile
from shuffledp.numerics import LogInterval
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
# A bracket of log delta is never asked narrower than what rounding of its sums leaves.
NARROWEST = 3e-13
# What brackets of delta may take of the width of eps; how much narrower ones cost next to nothing.
_SHARE, _NOT_FAR = 0.6, 0.01
# What is within so many times the width that is asked for is not asked again: it would gain little.
_MET = 3.0
ANYTHING = LogInterval(-math.inf, math.inf)
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


class Known:
    """A profile, and what one question has learned of it: what is known narrower is not asked."""

    def __init__(self, profile: PairProfile) -> None:
        self._profile = profile
        self._asked: dict[float, tuple[float, ...]] = {}
        self._best: dict[float, LogInterval] = {}

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """All brackets at this eps so far, about as narrow together as ``width``."""
        asked, known = self._asked.get(epsilon, ()), self._best.get(epsilon, ANYTHING)
        if width in asked or known.width <= width:
            return known
        if asked and min(asked) < width and known.width <= _MET * width:
            return known
        found = self._profile.log_delta(epsilon, width=width)
        # A narrower request may do worse: more terms mean more rounding.
        found = LogInterval(max(found.low, known.low), min(found.high, known.high))
        self._asked[epsilon], self._best[epsilon] = (*asked, width), found
        return found

    def rough_log_delta(self, epsilon: float, *, above: float = -math.inf) -> float:
        """The profile's quick estimate."""
        return self._profile.rough_log_delta(epsilon, above=above)

    def log_floor(self) -> float:
        """The profile's floor."""
        return self._profile.log_floor()


class Evaluated:
    """A profile, and all that was evaluated of it on the way to one target.

    The end that is claimed (the upper one of an upper bound) is a point that was evaluated, so that
    evaluating it again gives no more than the target; the other one may lie between such points.
    """

    def __init__(self, profile: Known, log_target: float, *, upper: bool) -> None:
        self._profile, self.log_target, self.upper = profile, log_target, upper
        # delta(0) <= 1 comes for nothing.
        self.known: dict[float, LogInterval] = {0.0: LogInterval(-math.inf, 0.0)}
        self._found: Ends | None = None

    @property
    def outward(self) -> float:
        """1 where the claimed end lies above the crossing, -1 where below."""
        return 1.0 if self.upper else -1.0

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """The profile's bracket, kept."""
        self.known[epsilon] = self._profile.log_delta(epsilon, width=width)
        self._found = None
        return self.known[epsilon]

    def rough_log_delta(self, epsilon: float) -> float:
        """The profile's quick estimate."""
        return self._profile.rough_log_delta(epsilon)

    def shape(self, near: Near) -> Callable[[float], float]:
        """The estimate, moved and tilted to pass through ``near`` and another known point."""
        here = middle(near.value)
        off = here - self.rough_log_delta(near.point)
        drift = 0.0
        others = [
            (abs(middle(found) - here), point, found)
            for point, found in self.known.items()
            if _SURE * (found.width + near.value.width) < abs(middle(found) - here) < _REACH
        ]
        if others:
            _, point, found = min(others)
            other = middle(found) - self.rough_log_delta(point)
            drift = (other - off) / (point - near.point)
        return lambda epsilon: self.rough_log_delta(epsilon) + off + drift * (epsilon - near.point)

    def ends(self) -> Ends:
        """What all brackets so far certify."""
        if self._found is None:
            low, high = certified_ends(self.known, self.log_target)
            slack = target_slack(self.log_target)
            if self.upper:
                below = (e for e, v in self.known.items() if v.high <= self.log_target - slack)
                high = min(below, default=None)
            else:
                above = (e for e, v in self.known.items() if v.low >= self.log_target + slack)
                low = max(above, default=0.0)
            self._found = Ends(low, high)
        return self._found


def target_slack(log_target: float) -> float:
    """log(delta) itself is rounded."""
    return 4 * U * (1.0 + abs(log_target))


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
