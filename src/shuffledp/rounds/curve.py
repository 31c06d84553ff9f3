"""Curve: certified values of h(e^eps) along a march of eps, as few as the composition needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from shuffledp.divergence import LARGEST_EPSILON, LOOSE
from shuffledp.numerics import LogInterval
from shuffledp.numerics.roots import bracketed_root
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
# Dots lie where delta is a float: e^-600 leaves room for what it is multiplied by.
LOWEST_LEVEL = -600.0
# Dots while delta falls by a factor e: the error of a law falls with the square of the step.
STEPS = 32.0
# More dots than that grow apart by 2 % each, so that 6,000 reach any end.
_MANY = 1500
_MOST = 6000
_GROWTH = 1.02
# Which of the dots are looked at for where weights are largest.
_STRIDE = 8
# In log delta below its start: from there on steps may be four times as long.
_FAR = 3.0
# Beyond the largest weight steps grow by e^2 at most.
_LARGEST_FADE = 2.0
# Smaller values are 0 from below and this from above, clear of numbers that lose digits.
_SMALLEST = 1e-290
# The scale is looked for up to 0.1 % below the last eps.
_EDGE = 1e-3
# Points lie this far apart at least (with n to 1e15 a 1e8-th of it): quotients of differences of
# values by such steps are floats. A curve that is 0 from a smaller eps0 on is 0 from here on.
_SHORTEST = 1e-270
# Where the one estimate is so low nobody asks for the other, which takes longer.
_FAR_DOWN = -60.0
# Estimates of log delta are better than these: beyond the one a bound is not worth evaluating,
# and where a certified value is below an estimate by the other no better one is looked for.
_HOPELESS, _CLEAR = 0.5, 0.1


def reach(eps0: float) -> float:
    """Where to stop looking at a curve that is 0 from eps0 on."""
    return min(max(eps0, _SHORTEST), LARGEST_EPSILON)


class Source(Protocol):
    """A hockey-stick curve in one direction: what PairProfile gives."""

    def log_delta(self, epsilon: float, *, width: float = ...) -> LogInterval:
        """Certified bracket of log delta(eps)."""
        ...

    def rough_log_delta(self, epsilon: float) -> float:
        """About log delta(eps), not certified."""
        ...

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps."""
        ...


class Sharper(Protocol):
    """Upper values of a curve alone, at each eps from a bound that has no bracket of its own."""

    @property
    def many(self) -> bool:
        """Whether many types are looked at together, which a reader does in its own way."""
        ...

    def log_upper(self, epsilon: float) -> float:
        """Certified upper bound of log delta at eps >= 0, 0 where it has none."""
        ...

    def rough(self, epsilon: float) -> float:
        """About the same, not certified."""
        ...

    def reproduced(self, epsilon: float) -> tuple[float, list[dict[str, Any]]] | None:
        """What a verifier needs to compute one again, and what it gets; None where none is."""
        ...


class Values(NamedTuple):
    """eps, lower and upper values of h there."""

    eps: Array
    low: Array
    high: Array


@dataclass
class Envelope:
    """max over sources, the next group of sources where the first is not narrow enough.

    A pointwise minimum of upper bounds of one supremum is an upper bound of it, and so is a maximum
    over all pairs (docs/theory-composition.md, Lemma 1.6).

    Attributes
    ----------
    groups : sequence of sequences of Source
        Upper bounds: the maximum over a group is one; groups are in order of preference.
    sharper : Sharper, optional
        Another upper bound, where it is the least.
    slow : bool
        Whether the sharper bound takes longer than the groups': then it is not asked for where its
        estimate promises next to nothing beside a group's value.
    """

    groups: Sequence[Sequence[Source]]
    sharper: Sharper | None = None
    slow: bool = False

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Bracket of the least of the groups' maxima; of the sharper bound its value alone.

        Where that is clearly below the estimate of the first group this is not evaluated.
        """
        if self.sharper is None:
            return self._of_groups(epsilon, width)
        rough = max(source.rough_log_delta(epsilon) for source in self.groups[0])
        promised = self.sharper.rough(epsilon)
        if promised > rough + _HOPELESS:
            found = self._of_groups(epsilon, width)
            if found.high <= promised:
                return found
            # The groups' estimate was too low.
            high = self.sharper.log_upper(epsilon)
            return found if found.high <= high else LogInterval(high, high)
        if self.slow and promised > rough - _CLEAR:
            found = self._of_groups(epsilon, width)
            if found.high <= promised + _CLEAR:
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
        """The largest estimate of the first group, or the sharper bound's where it is less."""
        found = max(source.rough_log_delta(epsilon) for source in self.groups[0])
        if self.sharper is None or found < _FAR_DOWN:
            return found
        return min(found, self.sharper.rough(epsilon))

    def log_floor(self) -> float:
        """The largest floor of the first group."""
        return max(source.log_floor() for source in self.groups[0])


@dataclass(frozen=True)
class Estimates:
    """A curve's estimates, given out as its values: a tenth of the time, certified by nothing."""

    source: Source

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """The estimate, at both ends."""
        del width
        value = min(self.source.rough_log_delta(epsilon), 0.0)
        return LogInterval(value, value)

    def rough_log_delta(self, epsilon: float) -> float:
        """The estimate."""
        return self.source.rough_log_delta(epsilon)

    def log_floor(self) -> float:
        """That of the curve: infinite losses are in its estimates too."""
        return self.source.log_floor()


class Curve:
    """One source, evaluated on a growing grid of eps from 0 upwards.

    Parameters
    ----------
    source : Source
        What is evaluated.
    eps0 : float
        h(e^eps) = 0 from here on (inf where that is not known).
    width : float
        Relative width of delta asked for at each point.
    steps : float
        Points for each factor e that delta falls from its value at eps = 0.
    """

    def __init__(self, source: Source, *, eps0: float, width: float, steps: float = STEPS) -> None:
        self.source, self.width, self.steps = source, width, steps
        self.eps0 = max(eps0, _SHORTEST)
        self.last = reach(eps0)
        self._known: dict[float, LogInterval] = {}
        self._marches: dict[tuple[float, int], list[float]] = {}
        self._scale: float | None = None
        self.floor = source.log_floor()

    def at(self, epsilon: float) -> LogInterval:
        """Bracket of log h(e^eps)."""
        if epsilon >= self.eps0:
            return LogInterval(-math.inf, -math.inf)
        if epsilon not in self._known:
            self._known[epsilon] = self.source.log_delta(epsilon, width=self.width)
        return self._known[epsilon]

    def values(
        self,
        level: float,
        *,
        tilt: float = math.inf,
        refine: int = 0,
        march: Sequence[float] | None = None,
    ) -> Values:
        """Values down to e^level, every interval halved ``refine`` times.

        Parameters
        ----------
        level : float
            log of the value below which nothing matters.
        tilt : float
            As for ``march``.
        refine : int
            How many times to halve; below 0, how many times to double the steps.
        march : sequence of float, optional
            Points to use in place of the curve's own.
        """
        eps = np.array(self.march(level, tilt, min(refine, 0)) if march is None else march)
        for _ in range(refine):
            # Between neighbouring floats there is no other.
            eps = np.unique(np.concatenate([eps, 0.5 * (eps[:-1] + eps[1:])]))
        return self.values_at(eps)

    def followed(self, points: Sequence[float], level: float) -> list[float]:
        """Some points, and more beyond them where the value at the last is above e^level.

        Each step is twice the one before: this is for estimates that were too low.
        """
        found = [float(e) for e in points if e < self.last] or [0.0]
        if len(found) < len(points):
            found.append(self.last)
        while found[-1] < self.last and not self._low_enough(found[-1], level):
            step = 2.0 * (found[-1] - found[-2]) if len(found) > 1 else self.scale
            found.append(min(found[-1] + step, self.last))
        return found

    def values_at(self, eps: Array) -> Values:
        """Values at given eps."""
        found = [self.at(float(e)) for e in eps]
        low = np.array([_value(x.low, up=False) for x in found])
        high = np.array([_value(x.high, up=True) for x in found])
        return Values(eps, low, high)

    def march(self, level: float, tilt: float = math.inf, coarse: int = 0) -> list[float]:
        """Points from 0 to where the value is below e^level, or can fall no further.

        Steps grow beyond the point where h(e^eps) e^{tilt eps} is largest: dots there have little
        weight in a composition whose contour crosses at ``tilt``.
        """
        level = max(level, LOWEST_LEVEL)
        points = self._marches.setdefault((tilt, coarse), [0.0])
        while points[-1] < self.last and not self._low_enough(points[-1], level):
            points.append(
                min(points[-1] + self._step(points, tilt, self.steps * 2.0**coarse), self.last)
            )
        enough = next((i for i, e in enumerate(points) if self._low_enough(e, level)), len(points))
        return points[: enough + 1]

    def _low_enough(self, epsilon: float, level: float) -> bool:
        high = self.at(epsilon).high
        if self.floor > -math.inf:
            # What is left above the floor.
            gap = high - self.floor
            high = high + math.log(max(-math.expm1(-gap), 1e-300)) if gap > 0.0 else -math.inf
        return high <= level

    @property
    def scale(self) -> float:
        """eps at which delta has fallen by a factor e, roughly; at most the last eps."""
        if self._scale is None:
            self._scale = self._find_scale()
        return self._scale

    def _step(self, points: list[float], tilt: float, steps: float) -> float:
        """The scale over ``steps``, or more where that is fine enough."""
        step = self.scale / steps
        if len(points) >= 2:
            here, before = self.at(points[-1]).high, self.at(points[-2]).high
            if math.isfinite(before - here) and before > here:
                # Flatter than at 0; far down a factor e needs fewer dots than near the middle.
                fold = (points[-1] - points[-2]) / (before - here) / steps
                far = self.at(0.0).high - here > _FAR
                step = max(step, min(4.0 * fold if far else fold, 8.0 * step))
        if math.isfinite(tilt):
            weights = [self.at(e).high + tilt * e for e in (points[-1], *points[::_STRIDE])]
            fade = max(weights) - weights[0]
            if fade > 0.0:
                step *= math.exp(min(fade / 3.0, _LARGEST_FADE))
        if len(points) > _MANY:
            step *= _GROWTH ** (len(points) - _MANY)
        return step if len(points) < _MOST else self.last

    def _find_scale(self) -> float:
        goal = self.source.rough_log_delta(0.0) - 1.0
        if not math.isfinite(goal):
            return self.last

        def gap(log_eps: float) -> float:
            return max(self.source.rough_log_delta(math.exp(log_eps)), -1e6) - goal

        # Just below eps0, where gains are of rounding's size, the estimate may say anything.
        high = math.log(self.last) + math.log1p(-_EDGE)
        if gap(high) >= 0.0:
            return self.last
        low = high - 2.0
        while gap(low) <= 0.0 and low > -80.0:
            low, high = low - 2.0, low
        if gap(low) <= 0.0:
            return math.exp(low)
        return math.exp(bracketed_root(gap, low, high, absolute=1e-2))


def _value(log: float, *, up: bool) -> float:
    """e^log, rounded outward; what is below 1e-290 counts as that or as nothing."""
    if up:
        if log == -math.inf:
            return 0.0
        return min(max(math.exp(log) * (1.0 + 16 * U), _SMALLEST), 1.0)
    value = math.exp(log) * (1.0 - 16 * U)
    return value if value > _SMALLEST else 0.0
