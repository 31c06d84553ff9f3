"""Curve: certified values of h(e^eps), each evaluated once, and what sources of them look like."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.profile import LARGEST_EPSILON, LOOSE
from shuffledp.propose.interpolated import Interpolated
from shuffledp.propose.solve import bisected
from shuffledp.rounds.dots import BITS, Bracket
from shuffledp.rounds.loss import Array

# Values are floats: e^-600 leaves room for what it is multiplied by.
LOWEST_LEVEL = -600.0
# The scale is looked for up to 0.1 % below the last eps.
_EDGE = 1e-3
# A curve that is 0 from a smaller eps0 on is 0 from here on: quotients of differences are floats.
_SHORTEST = 1e-270
# Where the one bound is so low nobody asks for the sharper one, which takes longer.
_FAR_DOWN = -60.0
# Estimates of log delta are better than these: beyond the one a bound is not worth evaluating,
# and where a certified value is below an estimate by the other no better one is looked for.
_HOPELESS, _CLEAR = 0.5, 0.1
# How near an eps is found at which a curve has fallen to a level, relatively.
_NEAR = 1e-3


def reach(eps0: float) -> float:
    """Where to stop looking at a curve that is 0 from eps0 on."""
    return min(max(eps0, _SHORTEST), LARGEST_EPSILON)


class Source(Protocol):
    """A privacy curve in one direction."""

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

    def log_upper(self, epsilon: float) -> float:
        """Certified upper bound of log delta at eps >= 0, 0 where it has none."""
        ...

    def rough(self, epsilon: float) -> float:
        """About the same, not certified."""
        ...

    def reproduced(self, epsilon: float) -> tuple[float, list[dict[str, Any]]] | None:
        """What a verifier needs to compute one again, and what it gets; None where none is."""
        ...


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

    def __post_init__(self) -> None:
        first = self.groups[0]

        def about(epsilon: float) -> float:
            return max(one.rough_log_delta(epsilon) for one in first)

        # Estimates that take long are taken from few values; others know of every corner.
        self._about = Interpolated(about) if self.slow else about
        self._gain = Interpolated(self._gained) if self.slow else self._gained

    def _gained(self, epsilon: float) -> float:
        """About log of the sharper bound over the groups', which changes slowly; inf for none."""
        found = self._about(epsilon)
        if self.sharper is None or found < _FAR_DOWN:
            return math.inf
        gained = self.sharper.rough(epsilon) - found
        return gained if gained < _HOPELESS else math.inf

    def _promised(self, epsilon: float) -> float:
        """About the sharper bound; inf where there is none."""
        return self._about(epsilon) + self._gain(epsilon)

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Bracket of the least of the groups' maxima; of the sharper bound its value alone.

        Where that is clearly below the estimate of the first group this is not evaluated.
        """
        if self.sharper is None:
            return self._of_groups(epsilon, width)
        rough, promised = self._about(epsilon), self._promised(epsilon)
        if promised > rough + _HOPELESS or (self.slow and promised > rough - _CLEAR):
            found = self._of_groups(epsilon, width)
            # Without a promise: that is hopeless unless the groups' estimate was too low.
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
        """The largest estimate of the first group, or the sharper bound's where it is less."""
        return min(self._about(epsilon), self._promised(epsilon))

    def log_floor(self) -> float:
        """The largest floor of the first group."""
        return max(source.log_floor() for source in self.groups[0])


class Curve:
    """One source and the values that were evaluated until now.

    Parameters
    ----------
    source : Source
        What is evaluated.
    eps0 : float
        h(e^eps) = 0 from here on (inf where that is not known).
    width : float
        Relative width of delta asked for at each point.
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
        """About log h(e^eps)."""
        if epsilon >= self.eps0:
            return -math.inf
        if epsilon not in self._rough:
            self._rough[epsilon] = min(self.source.rough_log_delta(epsilon), 0.0)
        return self._rough[epsilon]

    def values_at(self, eps: Iterable[float]) -> Bracket:
        """Values at given eps, in balls."""
        found = [self.at(float(e)) for e in eps]
        with ctx.workprec(BITS):
            return Bracket(
                [arb(x.low).exp().lower() if x.low != -math.inf else arb(0) for x in found],
                [arb(x.high).exp().upper() if x.high != -math.inf else arb(0) for x in found],
            )

    def rough_at(self, eps: Iterable[float]) -> Array:
        """The estimates' own values."""
        return np.exp([max(self.rough(float(e)), -700.0) for e in eps])

    def followed(self, points: Sequence[float], level: float) -> list[float]:
        """Some points, and more beyond them while the value at the last is above e^level.

        Each step is twice the one before: this is for estimates that were too low.
        """
        found = [float(e) for e in points if e < self.last] or [0.0]
        if len(found) < len(points):
            found.append(self.last)
        while found[-1] < self.last and self._left(self.at(found[-1]).high) > level:
            step = 2.0 * (found[-1] - found[-2]) if len(found) > 1 else self.scale
            found.append(min(found[-1] + step, self.last))
        return found

    def end(self, level: float) -> float:
        """About where the curve has fallen to e^level above its floor; its last eps at the most."""
        low, high = 0.0, min(self.scale, self.last)
        while high < self.last and self._left(self.rough(high)) > level:
            low, high = high, min(2.0 * high, self.last)
        near = _NEAR * high
        return bisected(lambda e: self._left(self.rough(e)) > level, low, high, near=near)[1]

    def _left(self, high: float) -> float:
        """log of what a value is above the floor."""
        if self.floor == -math.inf:
            return high
        gap = high - self.floor
        return high + math.log(max(-math.expm1(-gap), 1e-300)) if gap > 0.0 else -math.inf

    @property
    def scale(self) -> float:
        """eps at which delta has fallen by a factor e, roughly; at most the last eps."""
        if self._scale is None:
            self._scale = self._find_scale()
        return self._scale

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
        return math.exp(bisected(lambda at: gap(at) > 0.0, low, high, near=_NEAR)[0])


__all__ = [
    "LOWEST_LEVEL",
    "Curve",
    "Envelope",
    "Sharper",
    "Source",
    "reach",
]
