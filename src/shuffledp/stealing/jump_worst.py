"""Around a jump: the largest positive sum of each group of types, at one tilt.

Bounds by moments of all types at once (docs/theory-stealing.md, Lemma 3.3) tell which of them may
be the largest; these have the sum of Theorem 3.1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from shuffledp.arithmetic.floats import Array
from shuffledp.stealing.coarse import log_coarse_whole
from shuffledp.stealing.jump_many import Clusters, Many
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import (
    Contour,
    PositiveSums,
    Tilted,
    log_chernoff,
    or_infinite,
    tilt,
)
from shuffledp.stealing.stack import Stack

# Steps against the sum's and the payoff's scales: aliases of e^{-(2 pi/1.2)^2/2} and e^{-2 pi/0.6}.
_SUM_STEP, _PAYOFF_STEP = 1.2, 0.6
# Nodes reach 3.2/h, where e^{-h^2 t^2/2} leaves a share of 1e-4 or less.
_REACH = 3.2
# What so small a reservoir's gains spread is left out.
SLIGHT = 0.02
# A sum that would take more nodes is replaced by Chernoff's bound.
_MOST_NODES = 4_000
# Of so few types each has its sum: moments of them take as long.
_FEW = 4
# h alpha of the sums of many types at once, which costs half a per cent of J: about what their
# clusters do. Of 0.06 to 0.15 the fastest, at sigma = 1/2 and a million users.
_MANY_SMOOTH = 0.1
# Where moments are off by more than these sums they tell no types apart.
_TELLING = 0.02
# Radii of moments, in deviations: all gains, and without those that let the bound turn early.
_RADII = (1e9, 4.0)


class Family(NamedTuple):
    """Reservoir and one whole law for each type, the masses of both upper bounds.

    ``excess`` are upper bounds of the masses of the reservoir and a type less 1.
    """

    reservoir: Measure
    types: Sequence[Measure]
    excess: Sequence[float]

    def mapped(self, change: Callable[[Array], Array]) -> Family:
        """The same masses at other gains."""
        return Family(
            _at(self.reservoir, change), [_at(law, change) for law in self.types], self.excess
        )


def _at(law: Measure, change: Callable[[Array], Array]) -> Measure:
    return Measure(law.mass, change(law.gain), law.lost, law.rel)


class Sums(Protocol):
    """What is asked of positive sums around a jump."""

    family: Family
    groups: Sequence[Sequence[int]]

    def log(self, room: Array, n: int, alpha: float, smooth: float) -> Array:
        """log of the largest J over the types of each group."""
        ...


class LargestSums:
    """The largest J over the types of each group, at any tilt.

    Parameters
    ----------
    family : Family
        Gains.
    groups : sequence of sequences of int
        Groups of types.
    """

    def __init__(self, family: Family, groups: Sequence[Sequence[int]]) -> None:
        self.family, self.groups = family, groups
        some = len(family.types) > _FEW
        self._stack = _stacked(family.types) if some else None
        self._many = Many(family.types, family.excess) if some else None
        self._excess = np.array(family.excess)

    def log(self, room: Array, n: int, alpha: float, smooth: float) -> Array:
        """log of the largest J over the types of each group, or so little that it is no matter.

        Parameters
        ----------
        room : ndarray
            What is so much more, in logs, than the first group's value need not be sharp.
        n : int
            Factors.
        alpha, smooth : float
            Tilt and h alpha.
        """
        family = self.family
        common = tilt(family.reservoir, alpha)
        if common.mass < SLIGHT:
            # Leaving out what the reservoir's gains spread is outward.
            common = common._replace(weights=np.ones(1), offsets=np.zeros(1))
        worst = _Worst(_Sums(family, common, n, alpha, smooth))
        if self._many is not None and self._stack is not None:
            self._know_many(worst, self._many, self._stack)
        found: list[float] = []
        for group, more in zip(self.groups, room, strict=True):
            found.append(worst.of(group, found[0] + float(more) if found else -math.inf))
        return np.array(found)

    def _know_many(self, worst: _Worst, many: Many, stack: Stack) -> None:
        """Bounds of all types, by moments where these tell types apart."""
        sums, probe = worst.sums, self.groups[0][0]
        worst.many = functools.cache(functools.partial(many.tilted, sums.alpha))
        sharp = worst.sharp(probe, -math.inf)
        reservoir, excess = self.family.reservoir, self._excess
        one = _stacked([self.family.types[probe]])
        n, alpha = sums.n, sums.alpha
        found = log_coarse_whole(one, reservoir, excess[[probe]], n, alpha, _RADII)
        if float(found[0]) - sharp <= _TELLING:
            worst.know(log_coarse_whole(stack, reservoir, excess, n, alpha, _RADII))
        else:
            worst.know(worst.many().log_chernoff(sums.common, n, alpha, sums.smooth))
            worst.refines = True


class _Worst:
    """The largest J of one group of types or another, at one tilt.

    Attributes
    ----------
    sums : _Sums
        Bounds of one type.
    many : callable or None
        All types side by side, where there are many.
    refines : bool
        Whether sums of many types at once come before any of one.
    """

    def __init__(self, sums: _Sums) -> None:
        self.sums, self.refines = sums, False
        self.many: Callable[[], Clusters] | None = None
        self._bounds = [math.inf] * sums.types
        self._refined: set[int] = set()
        self._sharp: set[int] = set()

    def know(self, bounds: Array) -> None:
        """Upper bounds of log J of all types."""
        for j, value in enumerate(bounds.tolist()):
            self._bounds[j] = min(self._bounds[j], or_infinite(value))

    def sharp(self, j: int, enough: float) -> float:
        """Upper bound of log J of one type, sharp where that is above ``enough``."""
        # Among few, more smoothing may be less too; among many its share of all sums is large.
        rough = self.many is None
        self._bounds[j] = min(self._bounds[j], self.sums.log(j, enough, rough=rough))
        self._sharp.add(j)
        return self._bounds[j]

    def of(self, group: Sequence[int], enough: float) -> float:
        """Upper bound of the largest log J of a group, sharp where above ``enough``."""
        best = max([enough, *(self._bounds[j] for j in group if j in self._sharp)])
        refines = self.refines
        while True:
            left = [j for j in group if self._bounds[j] > best and j not in self._sharp]
            if not left:
                return best
            if refines and len(left) > _FEW:
                self._refine([j for j in left if j not in self._refined])
                refines = False
            else:
                best = max(best, self.sharp(max(left, key=self._bounds.__getitem__), best))
                refines = self.many is not None and not self._refined.issuperset(left)

    def _refine(self, rows: list[int]) -> None:
        """Sums of these types all at once, where they have not too many nodes."""
        self._refined.update(rows)
        if self.many is None:
            return
        sums, law = self.sums, self.many().some(rows)
        variance = sums.n * law.variance(sums.common)
        at = contour_of(variance, sums.alpha, max(sums.smooth, _MANY_SMOOTH))
        if at.nodes <= _MOST_NODES:
            for j, value in zip(rows, law.log(sums.common, sums.n, at).tolist(), strict=True):
                self._bounds[j] = min(self._bounds[j], or_infinite(value))


class _Sums:
    """The sum of Theorem 3.1 of one type or another, at one tilt."""

    def __init__(self, family: Family, common: Tilted, n: int, alpha: float, smooth: float) -> None:
        self._family, self.common, self.types = family, common, len(family.types)
        self.n, self.alpha, self.smooth = n, alpha, smooth
        self._sums = PositiveSums(common, n)

    def log(self, j: int, enough: float, *, rough: bool) -> float:
        """Upper bound of log J, sharp where above ``enough``; by rough sums first or not."""
        law, excess = tilt(self._family.types[j], self.alpha), self._family.excess[j]
        chernoff = Contour(self.alpha, self.smooth / self.alpha, 0.0, 0)
        value = or_infinite(log_chernoff(self.common, law, excess, self.n, chernoff))
        contour = contour_for(self.common, law, self.n, self.alpha, self.smooth)
        if value <= enough or contour.nodes > _MOST_NODES:
            return value
        for finer in (*(contour.rougher() if rough else ()), contour):
            value = min(value, or_infinite(self._sums.log(law, excess, finer)))
            if value <= enough:
                break
        return value


def _stacked(types: Sequence[Measure]) -> Stack:
    starts = np.cumsum([0, *(law.mass.size for law in types)])
    mass = np.concatenate([law.mass for law in types])
    gain = np.concatenate([law.gain for law in types])
    return Stack(mass, gain, starts, np.zeros(len(types)), 0.0)


def contour_for(common: Tilted, law: Tilted, n: int, alpha: float, smooth: float) -> Contour:
    """Nodes for a tilt: any are valid."""
    within = n * (_variance(common) + _variance(law)) / (common.mass + law.mass)
    return contour_of(within, alpha, smooth)


def contour_of(variance: float, alpha: float, smooth: float) -> Contour:
    """Nodes for sums of about such a variance: any are valid."""
    step = _PAYOFF_STEP * alpha
    if variance > 0.0:
        step = min(step, _SUM_STEP / math.sqrt(variance))
    h = smooth / alpha
    return Contour(alpha, h, step, math.ceil(min(_REACH / (h * step), 2.0 * _MOST_NODES)))


def _variance(law: Tilted) -> float:
    """Mass times the variance of the offsets."""
    return law.mass * float(law.weights @ (law.offsets * law.offsets))
