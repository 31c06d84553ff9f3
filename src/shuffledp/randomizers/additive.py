"""Additive noise on an interval: cells, their exact masses, and what such mechanisms share.

The unit of length is the interval of inputs, which becomes [0, 1]: so the end points and the
middle, where densities have their kinks, are floats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.ball.record import WorstPairs
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.interval import HasInterval, interval_input
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.noise import Cells, bits_for, middles, plus, to_lattice
from shuffledp.randomizers.values import blocks, real_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import END_POINTS

U = UNIT_ROUNDOFF
# Masses below this are left out of the cells and counted in the tail.
SMALLEST_MASS = 1e-300
# Beyond it a likelihood ratio to anything with a mass that counts is below the smallest float.
LARGEST_EXPONENT = 1600.0
_ACCURATE = 1e-14
_FINER = 32
Value = TypeVar("Value")


class Noise(ABC):
    """A symmetric density that does not increase with the distance, in units of the interval.

    Attributes
    ----------
    reach : float
        Distance beyond which the noise has a probability of at most ``tail``.
    tail : float
        That probability, both sides together.
    rounding : float
        Bound on the absolute error of a log density down to -1600.
    """

    reach: float
    tail: float
    rounding: float

    @abstractmethod
    def log_density(self, distance: Array) -> Array:
        """log f at these distances (>= 0), up to a constant; never NaN, never below -1e9."""

    @abstractmethod
    def mass(self, near: Array, width: Array) -> tuple[Array, Array]:
        """Probability of distances near .. near + width on one side, and relative error bounds.

        Distances are rounded, widths are exact: differences of distances are not used.
        """

    def bend(self, near: Array, width: Array) -> Array:
        """Bound on the variation of log |slope| of every log ratio on cells of one side.

        near and width are those of the cell seen from either of the ratio's two inputs; inf where
        nothing is known.
        """
        del width
        return np.full(near.shape, np.inf)


class IntervalNoise(MeanRandomizer):
    """Report x + Z for a value x in [low, high], Z symmetric and unimodal.

    Theorem 4.6 of docs/theory.md: for a symmetric density that does not increase with |z| the end
    points are the worst pair of the blanket bound.

    Reports are float64: middles of the cells of a lattice that is at least 2^32 times finer than
    the noise and the interval. Values are rounded to it at random, without bias; the cell that the
    noise falls in is drawn from its exact probabilities, up to 2^-1280, and added to the value's
    as a whole number of any size. A report is a function of this sum, which is a function of an
    ideal report: bounds hold for what is run (docs/theory.md, Lemma R2). Where a float has fewer
    digits than the sum, from 2^53 cells on, it is the sum that is rounded and never a part of it.
    """

    low: float
    high: float

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        return WorstPairs(((self.low, self.high),), END_POINTS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of them or in the middle."""
        middle = 0.5 * (self.low + self.high)
        return tuple((self.low, self.high, x2) for x2 in (self.low, self.high, middle))

    @property
    def message_bits(self) -> float:
        """64: a float."""
        return 64.0

    @abstractmethod
    def _noise_cells(self, bits: int, size: int, source: RandomSource) -> Cells:
        """Cells of width 2^-bits (high - low) that draws of Z fall in."""

    @property
    @abstractmethod
    def _finest(self) -> float:
        """(high - low)/(smallest feature of the noise)."""

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return real_values(values, self.low, self.high)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        bits = bits_for(self._finest, _FINER)
        length = self.high - self.low
        reports = np.empty(len(values))
        for users in blocks(len(values)):
            place = np.clip((values[users] - self.low) / length, 0.0, 1.0)
            noise = self._noise_cells(bits, len(place), source)
            cells = plus(to_lattice(place, 1 << bits, source), noise)
            reports[users] = self.low + length * middles(cells, bits)
        return reports

    def _unbiased(self, reports: ArrayLike) -> Floats:
        return finite_reports(reports)


class AdditiveNoise(IntervalNoise):
    """Noise known by its density and the masses of intervals: see ``Noise``."""

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """Law of Z in units of high - low."""


def places(interval: HasInterval, inputs: tuple[Any, ...]) -> Array:
    """The inputs in [0, 1], to a multiple of 2^-60, so that none is next to an end point."""
    at = np.array([interval_input(interval, x) for x in inputs])
    return np.round(at * 2.0**60) * 2.0**-60


def finite_reports(reports: ArrayLike) -> Floats:
    """Reports that may be any finite number, as they are."""
    return real_values(reports, -np.finfo(float).max, np.finfo(float).max, name="reports")


@dataclass(frozen=True)
class NoiseCells:
    """Cut points, masses under each input and of the blanket, and their relative error."""

    edges: Array
    mass: Array
    blanket: Array
    rel: float


def _farther(left: Array, right: Array) -> Array:
    """The end point whose density is the smallest on the cell."""
    return np.where(left + right < 1.0, 1.0, 0.0)


def refined(edges: Array, costs: list[Array], cells: int) -> Array:
    """Each cell cut evenly into a number of parts in proportion to its costs, about ``cells``."""
    share = np.zeros(edges.size - 1)
    for cost in costs:
        total = float(cost.sum())
        if total > 0.0:
            share += cost * (cells / len(costs) / total)
    parts = np.maximum(1, np.ceil(share)).astype(np.int64)
    return _cut(edges, parts)


def _cut(edges: Array, parts: npt.NDArray[np.int64]) -> Array:
    """Every cell in the given number of equal parts."""
    left, width = edges[:-1], np.diff(edges)
    start = np.cumsum(parts) - parts
    inner = np.arange(int(parts.sum())) - np.repeat(start, parts)
    cut = np.repeat(left, parts) + np.repeat(width / parts, parts) * inner
    return np.unique(np.append(cut, edges[-1]))


def _attempt(noise: Noise, at: Array, edges: Array) -> tuple[NoiseCells, npt.NDArray[np.bool_]]:
    """Masses on these cells, and the cells that should be cut."""
    left, right = edges[:-1], edges[1:]
    rows = [seen_from(noise.mass, x, left, right) for x in (*at, _farther(left, right))]
    mass = np.array([m for m, _ in rows])
    worst = np.max([np.where(m >= SMALLEST_MASS, err, 0.0) for m, err in rows], axis=0)
    middle = 0.5 * (left + right)
    wide = (worst > _ACCURATE + 2.0 * noise.rounding) & (left < middle) & (middle < right)
    return NoiseCells(edges, mass[:-1], mass[-1], float(worst.max()) + noise.rounding), wide


def seen_from(
    what: Callable[[Array, Array], Value], x: float | Array, left: Array, right: Array
) -> Value:
    """A function of distance and width, of cells that lie on one side of x."""
    return what(np.minimum(np.abs(left - x), np.abs(right - x)), right - left)
