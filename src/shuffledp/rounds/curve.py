"""Certified values of a privacy curve h(e^eps), cached, and the interfaces of its sources."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.propose.interpolated import Interpolated
from shuffledp.propose.profile import LARGEST_EPSILON, LOOSE
from shuffledp.propose.solve import bisected
from shuffledp.rounds.dots import BITS, Bracket
from shuffledp.rounds.loss import Array

# Least log of a curve's value in use: values are floats, and e^-600 leaves room for factors.
LOWEST_LEVEL = -600.0
# The scale is searched for from _NORMAL delta(0) on, where it is if the loss is normal, down to
# e^-80 and up to 0.1 % below the last eps.
_NORMAL, _LEAST_SCALE, _EDGE = 1.7, -80.0, 1e-3
# Least last eps of a curve, also where eps0 is smaller: quotients of differences are floats.
_SHORTEST = 1e-270
# Where the groups' log delta is below this, the slower, sharper bound is not needed.
_FAR_DOWN = -60.0
# Margins on estimates of log delta. A bound whose estimate is farther above than the first number
# is not evaluated; a value that is below an estimate by the second number is not improved.
_HOPELESS, _CLEAR = 0.5, 0.1
# Relative accuracy of the eps at which a curve has fallen to a level, and the factor of the steps
# towards it: log delta is about -c eps^2, and estimates far below the level take long.
_NEAR, _LONGER = 1e-3, 1.3


def reach(eps0: float) -> float:
    """The last eps to evaluate of a curve that is 0 from eps0 on."""
    return min(max(eps0, _SHORTEST), LARGEST_EPSILON)


class Source(Protocol):
    """A privacy curve in one direction."""

    def log_delta(self, epsilon: float, *, width: float = ...) -> LogInterval:
        """Certified bracket of log delta(eps)."""
        ...

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of log delta(eps), not certified."""
        ...

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps."""
        ...


class Sharper(Protocol):
    """Upper values of a curve, at each eps from a bound that has no lower end."""

    def log_upper(self, epsilon: float) -> float:
        """Certified upper bound of log delta at eps >= 0; 0 if there is none."""
        ...

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of that bound, not certified."""
        ...


@dataclass
class Envelope:
    """Maximum over a group of sources; the next group is used where the first is not narrow.

    A pointwise minimum of upper bounds of one supremum is an upper bound of it, and so is a maximum
    over all pairs (docs/theory-composition.md, Lemma 1.6).

    Attributes
    ----------
    groups : sequence of sequences of Source
        Upper bounds: each group's maximum is one; groups are in order of preference.
    sharper : Sharper, optional
        Another upper bound, used where it is the least.
    slow : bool
        Whether the sharper bound takes longer than the groups'. It is then evaluated only where its
        estimate promises a clear gain over a group's value.
    """

    groups: Sequence[Sequence[Source]]
    sharper: Sharper | None = None
    slow: bool = False

    def __post_init__(self) -> None:
        first = self.groups[0]

        def about(epsilon: float) -> float:
            return max(one.rough_log_delta(epsilon) for one in first)

        # Slow estimates are interpolated from few values; fast ones are exact at every corner.
        self._about = Interpolated(about) if self.slow else about
        self._gain = Interpolated(self._gained) if self.slow else self._gained

    def _gained(self, epsilon: float) -> float:
        """An estimate of log (sharper bound/groups' bound), which varies slowly; inf if none."""
        found = self._about(epsilon)
        if self.sharper is None or found < _FAR_DOWN:
            return math.inf
        gained = self.sharper.rough_log_delta(epsilon) - found
        return gained if gained < _HOPELESS else math.inf

    def _promised(self, epsilon: float) -> float:
        """An estimate of the sharper bound; inf if there is none."""
        return self._about(epsilon) + self._gain(epsilon)

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Bracket of the least of the groups' maxima; for the sharper bound, its value only.

        If that value is clearly below the estimate of the first group, the groups are not
        evaluated.
        """
        if self.sharper is None:
            return self._of_groups(epsilon, width)
        rough, promised = self._about(epsilon), self._promised(epsilon)
        if promised > rough + _HOPELESS or (self.slow and promised > rough - _CLEAR):
            found = self._of_groups(epsilon, width)
            # No promise means no gain, unless the groups' estimate was too low.
            enough = rough + _HOPELESS if promised == math.inf else promised
            if found.high <= enough + (_CLEAR if self.slow else 0.0):
                return found
        high = self.sharper.log_upper(epsilon)
        if high < rough - _CLEAR:
            return LogInterval(high, high)
        found = self._of_groups(epsilon, width)
        return found if found.high <= high else LogInterval(high, high)

    def _of_groups(self, epsilon: float, width: float) -> LogInterval:
        best = LogInterval(-math.inf, 0.0)
        for sources in self.groups:
            found = [source.log_delta(epsilon, width=width) for source in sources]
            high = max(x.high for x in found)
            if high <= best.high:
                best = LogInterval(max(x.low for x in found), high)
            if best.width <= LOOSE or best.high == -math.inf:
                break
        return best

    def rough_log_delta(self, epsilon: float) -> float:
        """The largest estimate of the first group, or the sharper bound's if that is less."""
        return min(self._about(epsilon), self._promised(epsilon))

    def log_floor(self) -> float:
        """The largest floor of the first group."""
        return max(source.log_floor() for source in self.groups[0])


class Curve:
    """One source with all values evaluated so far.

    Parameters
    ----------
    source : Source
        The source to evaluate.
    eps0 : float
        h(e^eps) = 0 for eps >= eps0; inf if there is no such eps.
    width : float
        Relative width of delta requested at each point.
    """

    def __init__(self, source: Source, *, eps0: float, width: float) -> None:
        self.source, self.width = source, width
        self.eps0 = max(eps0, _SHORTEST)
        self.last = reach(eps0)
        self.floor = source.log_floor()
        self._known: dict[float, LogInterval] = {}
        self._rough: dict[float, float] = {}
        self._scale: float | None = None

    def at(self, epsilon: float) -> LogInterval:
        """Bracket of log h(e^eps)."""
        if epsilon >= self.eps0:
            return LogInterval(-math.inf, -math.inf)
        if epsilon not in self._known:
            self._known[epsilon] = self.source.log_delta(epsilon, width=self.width)
        return self._known[epsilon]

    def rough(self, epsilon: float) -> float:
        """An estimate of log h(e^eps)."""
        if epsilon >= self.eps0:
            return -math.inf
        if epsilon not in self._rough:
            self._rough[epsilon] = min(self.source.rough_log_delta(epsilon), 0.0)
        return self._rough[epsilon]

    def values_at(self, eps: Iterable[float]) -> Bracket:
        """Brackets of values at the given eps, in balls."""
        found = [self.at(float(e)) for e in eps]
        with ctx.workprec(BITS):
            return Bracket(
                [arb(x.low).exp().lower() if x.low != -math.inf else arb(0) for x in found],
                [arb(x.high).exp().upper() if x.high != -math.inf else arb(0) for x in found],
            )

    def rough_at(self, eps: Iterable[float]) -> Array:
        """Estimated values at the given eps."""
        return np.exp([max(self.rough(float(e)), -700.0) for e in eps])

    def followed(self, points: Sequence[float], level: float) -> list[float]:
        """The points, and more beyond them while the value at the last one is above e^level.

        Each further step is twice the last one. This helps where estimates were too low.
        """
        found = [float(e) for e in points if e < self.last] or [0.0]
        if len(found) < len(points):
            found.append(self.last)
        while found[-1] < self.last and self._left(self.at(found[-1]).high) > level:
            step = 2.0 * (found[-1] - found[-2]) if len(found) > 1 else self.scale
            found.append(min(found[-1] + step, self.last))
        return found

    def end(self, level: float) -> float:
        """Estimate of the eps at which the curve is e^level above its floor.

        At most the last eps.
        """
        low, high = 0.0, min(self.scale, self.last)
        while high < self.last and self._left(self.rough(high)) > level:
            low, high = high, min(_LONGER * high, self.last)
        near = _NEAR * high
        return bisected(lambda e: self._left(self.rough(e)) > level, low, high, near=near)[1]

    def _left(self, high: float) -> float:
        """log of the difference between a value and the floor."""
        if self.floor == -math.inf:
            return high
        gap = high - self.floor
        return high + math.log(max(-math.expm1(-gap), 1e-300)) if gap > 0.0 else -math.inf

    @property
    def scale(self) -> float:
        """An estimate of the eps at which delta has fallen by a factor e; at most the last eps."""
        if self._scale is None:
            self._scale = self._find_scale()
        return self._scale

    def _find_scale(self) -> float:
        first = self.source.rough_log_delta(0.0)
        if not math.isfinite(first):
            return self.last

        def falls(log_eps: float) -> bool:
            return self.source.rough_log_delta(math.exp(log_eps)) <= first - 1.0

        # Just below eps0, gains are of the size of rounding errors, and estimates are unreliable.
        last = math.log(self.last) + math.log1p(-_EDGE)
        low = high = min(first + math.log(_NORMAL), last)
        while low > _LEAST_SCALE and falls(low):
            low, high = low - 1.0, low
        while high < last and not falls(high):
            low, high = high, min(high + 1.0, last)
        if low == high:
            return self.last if low == last else math.exp(low)
        return math.exp(bisected(lambda at: not falls(at), low, high, near=_NEAR)[0])


__all__ = [
    "LOWEST_LEVEL",
    "Curve",
    "Envelope",
    "Sharper",
    "Source",
    "reach",
]
