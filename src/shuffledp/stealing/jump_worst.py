"""Around a jump: the largest positive sum of each group of types, at one tilt.

Bounds by moments of all types at once (docs/theory-stealing.md, Lemma 3.3) tell which of them may
be the largest; these have the sum of Theorem 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from shuffledp.pair import Array
from shuffledp.stealing.coarse import log_coarse_whole
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
        self._stack = _stacked(family.types) if len(family.types) > _FEW else None
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
        sums = _Sums(family, common, n, alpha, smooth)
        coarse = self._coarse(sums, n, alpha)
        found: list[float] = []
        for group, more in zip(self.groups, room, strict=True):
            best = found[0] + float(more) if found else -math.inf
            for j in sorted(group, key=coarse.__getitem__, reverse=True):
                if coarse[j] <= best:
                    break
                best = max(best, sums.log(j, best))
            found.append(best)
        return np.array(found)

    def _coarse(self, sums: _Sums, n: int, alpha: float) -> list[float]:
        """Upper bounds of log J of all types."""
        if self._stack is None:
            return [sums.chernoff(j) for j in range(len(self.family.types))]
        reservoir = self.family.reservoir
        found = log_coarse_whole(self._stack, reservoir, self._excess, n, alpha, _RADII)
        return [or_infinite(value) for value in found.tolist()]


class _Sums:
    """The sum of Theorem 3.1 of one type or another, at one tilt."""

    def __init__(self, family: Family, common: Tilted, n: int, alpha: float, smooth: float) -> None:
        self._family, self._common = family, common
        self._n, self._alpha, self._smooth = n, alpha, smooth
        self._sums = PositiveSums(common, n)
        self._laws: dict[int, Tilted] = {}

    def chernoff(self, j: int) -> float:
        """Upper bound of log J without a sum."""
        rough = Contour(self._alpha, self._smooth / self._alpha, 0.0, 0)
        law, excess = self._law(j), self._family.excess[j]
        return or_infinite(log_chernoff(self._common, law, excess, self._n, rough))

    def log(self, j: int, enough: float) -> float:
        """Upper bound of log J, sharp where that is above ``enough``."""
        law, excess = self._law(j), self._family.excess[j]
        contour = contour_for(self._common, law, self._n, self._alpha, self._smooth)
        value = self.chernoff(j)
        if contour.nodes <= _MOST_NODES:
            for finer in (*contour.rougher(), contour):
                value = min(value, or_infinite(self._sums.log(law, excess, finer)))
                if value <= enough:
                    break
        return value

    def _law(self, j: int) -> Tilted:
        if j not in self._laws:
            self._laws[j] = tilt(self._family.types[j], self._alpha)
        return self._laws[j]


def _stacked(types: Sequence[Measure]) -> Stack:
    starts = np.cumsum([0, *(law.mass.size for law in types)])
    mass = np.concatenate([law.mass for law in types])
    gain = np.concatenate([law.gain for law in types])
    return Stack(mass, gain, starts, np.zeros(len(types)), 0.0)


def contour_for(common: Tilted, law: Tilted, n: int, alpha: float, smooth: float) -> Contour:
    """Nodes for a tilt: any are valid."""
    within = n * (_variance(common) + _variance(law)) / (common.mass + law.mass)
    step = _PAYOFF_STEP * alpha
    if within > 0.0:
        step = min(step, _SUM_STEP / math.sqrt(within))
    h = smooth / alpha
    return Contour(alpha, h, step, math.ceil(min(_REACH / (h * step), 2.0 * _MOST_NODES)))


def _variance(law: Tilted) -> float:
    """Mass times the variance of the offsets."""
    return law.mass * float(law.weights @ (law.offsets * law.offsets))
