"""Both ends of the largest divergence of all data sets and pairs, and of eps at a delta.

For a data set and an ordered pair with laws P and Q of the histogram,

    delta(a) = sum_h (P(h) - a Q(h))_+

is convex, falling and piecewise linear in a = e^eps. Newton's method from the left (on such
functions: Dinkelbach's) steps to a' = (P(E) - delta)/Q(E), E = {P > a Q}, which is not beyond the
crossing, and ends on it. It only proposes: certified sums were evaluated at both ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shuffledp.exhaustive.counts import Whole
from shuffledp.exhaustive.datasets import LEAST, laws_of
from shuffledp.exhaustive.statistic import Statistic
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.values.work import Answers

U = UNIT_ROUNDOFF
# Beyond it delta is bounded by that at it: e^eps leaves the range of floats.
_LARGEST = 600.0
# Pairs are taken so many numbers at a time: a few megabytes.
_CHUNK = 1 << 18
# Of the pairs with the largest upper ends so many are looked at for the lower one.
_LOOK = 8
# Newton's method ends after as many steps as there are pieces; a few are the rule. So are rounds of
# it for the pairs that are the largest where the last ones crossed.
_NEWTON, _ROUNDS = 60, 30
# How far from the crossing that was proposed an end is looked for: rounding takes e^eps by a share.
_STEPS = tuple(8 * U * 2.0**k for k in range(44))


class Witness(NamedTuple):
    """Neighbouring data sets: the victim's inputs, in order, and what the others hold."""

    x0: int
    x1: int
    others: tuple[tuple[int, int], ...]


class Point(NamedTuple):
    """log delta at an eps, both ends, and what attains the lower one (None where that is 0)."""

    log_low: float
    log_high: float
    witness: Witness | None


class Crossing(NamedTuple):
    """eps at a delta: both ends, and what attains the lower one (None where that is 0)."""

    low: float
    high: float
    witness: Witness | None


class Curve:
    """Certified values of the largest divergence of all data sets of n users.

    Parameters
    ----------
    statistic : Statistic
        The law of one report.
    n : int
        Users, the victim included.
    key : str
        The analysis that asks.

    Raises
    ------
    NotCertified
        Where there are too many data sets.
    """

    def __init__(self, statistic: Statistic, n: int, key: str) -> None:
        self._statistic = statistic
        self._laws = laws = laws_of(statistic, n, key)
        # The factor, the product and the sum are rounded: a few units more.
        rel = laws.rel + 4 * U
        self._most = laws.laws * (1.0 + rel) + LEAST
        self._least = np.maximum(laws.laws * (1.0 - rel) - LEAST, 0.0)
        # In whatever order sums are added; and the difference and the product before.
        self._sum = (self._most.shape[1] + 8) * U
        self._answers = Answers()

    def point(self, epsilon: float) -> Point:
        """Both ends of log delta at this eps >= 0."""
        return self._answers.answer(("point", epsilon), lambda: self._point(epsilon))

    def crossing(self, delta: float) -> Crossing:
        """Both ends of eps at this delta; the upper one is inf where no eps was found."""
        return self._answers.answer(("crossing", delta), lambda: self._crossing(delta))

    def _point(self, epsilon: float) -> Point:
        above = self._above(self._all, epsilon)
        # A stable order: of equal ones the first.
        top = np.argsort(-above, kind="stable")[:_LOOK]
        below = self._below(top, epsilon)
        best = int(np.argmax(below))
        low, high = float(below[best]), float(above[top[0]])
        if low <= 0.0:
            return Point(-math.inf, min(_log(high, up=True), 0.0), None)
        log_high = min(_log(high, up=True), 0.0)
        return Point(_log(low, up=False), log_high, self._witness(int(top[best])))

    @property
    def _all(self) -> Whole:
        return np.arange(len(self._laws.first))

    def _above(self, pairs: Whole, epsilon: float) -> Array:
        """Upper ends of the divergence of each of the pairs."""
        a = math.exp(min(epsilon, _LARGEST)) * (1.0 - 4 * U)
        return self._sums(self._most, self._least, pairs, a) * (1.0 + self._sum)

    def _below(self, pairs: Whole, epsilon: float) -> Array:
        """Lower ends; 0 for eps beyond the range of floats."""
        if epsilon > _LARGEST:
            return np.zeros(len(pairs))
        a = math.exp(epsilon) * (1.0 + 4 * U)
        return self._sums(self._least, self._most, pairs, a) * (1.0 - self._sum)

    def _sums(self, first: Array, second: Array, pairs: Whole, a: float) -> Array:
        """sum_h (first - a second)_+ for each pair, some pairs at a time."""
        found = np.empty(len(pairs))
        step = max(1, _CHUNK // first.shape[1])
        for start in range(0, len(pairs), step):
            part = pairs[start : start + step]
            gap = second[self._laws.second[part]]
            gap *= -a
            gap += first[self._laws.first[part]]
            np.maximum(gap, 0.0, out=gap)
            found[start : start + step] = gap.sum(axis=1)
        return found

    def _crossing(self, delta: float) -> Crossing:
        slack = 8 * U * (1.0 + abs(math.log(delta)))
        least, most = delta * (1.0 - slack), delta * (1.0 + slack)
        near, left, epsilon, reached = self._alike, self._all, 0.0, 0.0
        for _ in range(_ROUNDS):
            epsilon = max(epsilon, self._newton(near, delta))
            # Only pairs whose divergence is larger at a smaller eps have a crossing beyond it.
            reached = epsilon * (1.0 - 1e-9)
            above = self._above(left, reached)
            left, above = left[above > least], above[above > least]
            if not left.size:
                break
            found, near = near, left[np.argsort(-above, kind="stable")[:_LOOK]]
            if np.array_equal(np.sort(found), left):
                break
        high = self._upper(left, reached, epsilon, least)
        low, witness = self._lower(near, epsilon, most)
        return Crossing(min(low, high), high, witness)

    @property
    def _alike(self) -> Whole:
        """Pairs among others who all hold the same input."""
        others = self._laws.others
        alike = others.max(axis=1) == others.sum(axis=1)
        return np.flatnonzero(np.tile(alike, len(self._laws.pairs)))

    def _newton(self, pairs: Whole, delta: float) -> float:
        """About the largest eps at which one of the pairs has this delta; at most 600, at least 0.

        It certifies nothing.
        """
        laws = self._laws
        first, second = laws.laws[laws.first[pairs]], laws.laws[laws.second[pairs]]
        a = np.ones(len(pairs))
        for _ in range(_NEWTON):
            event = first > a[:, None] * second
            more = np.where(event, first, 0.0).sum(axis=1) - delta
            less = np.where(event, second, 0.0).sum(axis=1)
            # Where nothing is left of Q the crossing is beyond all eps.
            step = np.where(more > 0.0, more / np.maximum(less, LEAST), 0.0)
            if not bool((step > a).any()):
                break
            a = np.maximum(a, np.minimum(step, math.exp(_LARGEST)))
        return math.log(float(a.max(initial=1.0)))

    def _upper(self, left: Whole, reached: float, epsilon: float, least: float) -> float:
        """An eps from ``reached`` on at which all that are left are below; inf where none is found.

        Those that are not left are below from ``reached`` on.
        """
        if not left.size:
            return reached
        for step in _STEPS:
            high = epsilon + step * (1.0 + epsilon)
            if high > _LARGEST:
                break
            if bool((self._above(left, high) <= least).all()):
                return high
        return math.inf

    def _lower(self, pairs: Whole, epsilon: float, most: float) -> tuple[float, Witness | None]:
        """An eps at which one of the pairs is certainly above, and that pair; 0 where none is."""
        for step in _STEPS:
            low = epsilon - step * (1.0 + epsilon)
            if not low > 0.0:
                break
            below = self._below(pairs, low)
            best = int(np.argmax(below))
            if below[best] >= most:
                return low, self._witness(int(pairs[best]))
        return 0.0, None

    def _witness(self, place: int) -> Witness:
        """The data sets of a place among all pairs, by the mechanism's own inputs."""
        which, row = divmod(place, len(self._laws.others))
        names = self._statistic.inputs
        x0, x1 = self._laws.pairs[which]
        held = zip(names, self._laws.others[row].tolist(), strict=True)
        return Witness(names[x0], names[x1], tuple((x, count) for x, count in held if count))


def _log(value: float, *, up: bool) -> float:
    """log, rounded outward."""
    if value <= 0.0:
        return -math.inf
    near = math.log(value)
    return near + 2 * U * abs(near) if up else near - 2 * U * abs(near)
