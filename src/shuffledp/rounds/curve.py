"""Certified values of a privacy curve h(e^eps), cached, and the interfaces of its sources."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.pairs import End
from shuffledp.propose.interpolated import Interpolated
from shuffledp.propose.profile import LARGEST_EPSILON, LOOSE
from shuffledp.propose.solve import Root, first_epsilon, root
from shuffledp.rounds.dots import BITS, Bracket
from shuffledp.rounds.loss import Array

# Accuracy of an estimated eps in log delta.
_TOLERANCE = 1e-2
# Least log of a curve's value in use: values are floats, and e^-600 leaves room for factors.
LOWEST_LEVEL = -600.0
# If the loss is normal its deviation is this many times delta(0), which is taken to be e^-80 at the
# least.
_NORMAL, _LEAST_SCALE = 2.5, -80.0
# Least last eps of a curve, also where eps0 is smaller: quotients of differences are floats.
_SHORTEST = 1e-270
# Margin on estimates of log delta: a bound is clearly above or below a value by as much. Where the
# first bound's estimate is below the second number the others are not needed.
_CLEAR, _FAR_DOWN = 0.1, -60.0


def reach(eps0: float) -> float:
    """The last eps to evaluate of a curve that is 0 from eps0 on."""
    return min(max(eps0, _SHORTEST), LARGEST_EPSILON)


class Source(Protocol):
    """A privacy curve in one direction."""

    def log_delta(self, epsilon: float, *, width: float = ..., end: End = ...) -> LogInterval:
        """Certified bracket of log delta(eps); the end that is not wanted may be infinite."""
        ...

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of log delta(eps), not certified."""
        ...

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps."""
        ...


@dataclass(frozen=True)
class UpperValues:
    """A curve from an upper bound that has no lower end.

    Attributes
    ----------
    log_upper : callable
        eps -> certified upper bound of log delta; 0 if there is none.
    about : callable
        eps -> an estimate of that bound, not certified.
    """

    log_upper: Callable[[float], float]
    about: Callable[[float], float]

    def log_delta(self, epsilon: float, *, width: float = 0.0, end: End = "upper") -> LogInterval:
        """The upper bound; nothing is known from below."""
        del width, end
        return LogInterval(-math.inf, self.log_upper(epsilon))

    def rough_log_delta(self, epsilon: float) -> float:
        """The estimate."""
        return self.about(epsilon)

    def log_floor(self) -> float:
        """-inf: nothing is known from below."""
        return -math.inf


class Least:
    """The least of several upper bounds of a curve, each the largest of some sources.

    A pointwise minimum of upper bounds of one supremum is an upper bound of it, and so is a maximum
    over all pairs (docs/theory-composition.md, Lemma 1.6). The bound with the least estimate is
    evaluated; another one only where its estimate is not clearly above that value.

    Parameters
    ----------
    groups : sequence of sequences of Source
        The sources of each bound.
    slow : bool
        Whether values take long: estimates are then interpolated, and another bound is evaluated
        only where its estimate is clearly below the value found.
    """

    def __init__(self, groups: Sequence[Sequence[Source]], *, slow: bool) -> None:
        self._groups = groups
        about = [partial(_largest_estimate, sources) for sources in groups]
        self._about = [Interpolated(one) for one in about] if slow else about
        self._near = -_CLEAR if slow else _CLEAR

    def log_delta(self, epsilon: float, *, width: float = LOOSE, end: End = "upper") -> LogInterval:
        """The least bound; nothing is known from below."""
        rough, best = self._estimates(epsilon), math.inf
        for i in sorted(range(len(rough)), key=rough.__getitem__):
            if rough[i] <= best + self._near:
                found = (one.log_delta(epsilon, width=width, end=end) for one in self._groups[i])
                best = min(best, max(x.high for x in found))
        return LogInterval(-math.inf, best)

    def rough_log_delta(self, epsilon: float) -> float:
        """The least estimate."""
        return min(self._estimates(epsilon))

    def _estimates(self, epsilon: float) -> list[float]:
        """Estimates of all bounds; far down of the first one alone."""
        first, *others = self._about
        found = first(epsilon)
        return [found, *([] if found < _FAR_DOWN else [about(epsilon) for about in others])]

    def log_floor(self) -> float:
        """The largest floor of the first bound's sources."""
        return max(one.log_floor() for one in self._groups[0])


def _largest_estimate(sources: Sequence[Source], epsilon: float) -> float:
    return max(one.rough_log_delta(epsilon) for one in sources)


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
    end : {"upper", "both"}
        Which ends of values are wanted.
    """

    def __init__(self, source: Source, *, eps0: float, width: float, end: End) -> None:
        self.source, self.width = source, width
        self.wanted: End = end
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
            found = self.source.log_delta(epsilon, width=self.width, end=self.wanted)
            self._known[epsilon] = found
        return self._known[epsilon]

    def log_delta(self, epsilon: float, *, rel: float, end: End = "both") -> LogInterval:
        """Bracket of log h(e^eps) of about this relative width, of one round by itself."""
        if epsilon >= self.eps0:
            return LogInterval(-math.inf, -math.inf)
        return self.source.log_delta(epsilon, width=rel, end=end)

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
        return self._where(lambda e: self._left(self.rough(e)), level).epsilon

    def root(self, log_target: float) -> Root:
        """An estimate of the eps at which log h meets a target; 0 where it is less everywhere."""
        return Root(0.0) if self.rough(0.0) <= log_target else self._where(self.rough, log_target)

    def _where(self, log_value: Callable[[float], float], target: float) -> Root:
        """An estimate of the eps at which a falling function meets a target."""
        # As if the loss were normal.
        sigma = _NORMAL * math.exp(max(self.rough(0.0), _LEAST_SCALE))
        start = first_epsilon(sigma * sigma, 1, target, self.last)
        return root(log_value, target, Root(start), self.last, tolerance=_TOLERANCE)

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
            first = self.rough(0.0)
            here = self._where(self.rough, first - 1.0).epsilon if first > -math.inf else self.last
            self._scale = here
        return self._scale


__all__ = [
    "LOWEST_LEVEL",
    "Curve",
    "Least",
    "Source",
    "UpperValues",
    "reach",
]
