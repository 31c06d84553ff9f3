"""Additive noise on an interval: cells, their exact masses, and what such mechanisms share.

The unit of length is the interval of inputs, which becomes [0, 1]: so the end points and the
middle, where densities have their kinks, are floats.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.randomizers.base import DEFAULT_CELLS, Reports, WorstPairs
from shuffledp.randomizers.interval import HasInterval, interval_input
from shuffledp.randomizers.law import CellEdges, JointLaw
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
_RATIO = 1.1
_CLOSEST = 1e-13
_SPLITS = 40
_ACCURATE = 1e-14
_FAR = 2.0
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

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Cells in units of the interval, cut at the inputs and the middle, finer where it tells.

        The blanket is the density of the farther end point. The log ratio of two densities is
        monotone between inputs, so it is on every cell: see the mechanism.
        """
        return noise_law(self.noise, places(self, inputs), cells)


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


def noise_cells(noise: Noise, at: Array, cells: int) -> NoiseCells:
    """About this many cells for at_i + Z, at_i in [0, 1], with the blanket over [0, 1]."""
    coarse = _coarse_edges(noise, at)
    return _masses(noise, at, refined(coarse, _cost(noise, at, coarse), cells))


def noise_law(noise: Noise, at: Array, cells: int) -> JointLaw:
    """Law of at_i + Z on the cells of ``noise_cells``."""
    found = noise_cells(noise, at, cells)
    edges, mass, blanket = found.edges, found.mass, found.blanket
    left, right = edges[:-1], edges[1:]
    farther = _farther(left, right)
    lost = float(edges.size) * SMALLEST_MASS
    return JointLaw(
        mass=np.where(mass < SMALLEST_MASS, 0.0, mass),
        blanket=np.where(blanket < 10.0 * SMALLEST_MASS, 0.0, blanket),
        rel=found.rel,
        tail=np.full(len(at), noise.tail + lost),
        edges=CellEdges(
            left=noise.log_density(np.abs(left[None, :] - at[:, None])),
            right=noise.log_density(np.abs(right[None, :] - at[:, None])),
            blanket_left=noise.log_density(np.abs(left - farther)),
            blanket_right=noise.log_density(np.abs(right - farther)),
            err=2.0 * noise.rounding,
            log_linear=True,
            wiggle=_wiggle(noise, at, left, right),
        ),
    )


def _wiggle(noise: Noise, at: Array, left: Array, right: Array) -> Array:
    """How far log ratios are from linear on each cell, as a factor of their slopes."""
    kinks = [*at, _farther(left, right)]
    return np.max([seen_from(noise.bend, x, left, right) for x in kinks], axis=0)


def _farther(left: Array, right: Array) -> Array:
    """The end point whose density is the smallest on the cell."""
    return np.where(left + right < 1.0, 1.0, 0.0)


def _coarse_edges(noise: Noise, at: Array) -> Array:
    """Geometric cells on both sides of every input, where densities may have a cusp, and beyond."""
    near, reach = min(_CLOSEST, 1e-3 * noise.reach), noise.reach
    count = max(2, math.ceil(math.log(reach / near) / math.log(_RATIO)))
    steps = np.geomspace(near, reach, count)
    around = np.unique(np.concatenate([at, [0.0, 1.0]]))
    parts = [np.array([0.0, 0.5, 1.0, -reach, 1.0 + reach])]
    close = steps[steps < _FAR]
    for x in around:
        parts += [x - close, x + close]
    far = steps[steps >= _FAR]
    edges = np.concatenate([*parts, -far, 1.0 + far, at])
    return np.unique(edges[(edges >= -reach) & (edges <= 1.0 + reach)])


def _cost(noise: Noise, at: Array, edges: Array) -> list[Array]:
    """How much ratios vary on each cell, weighed by more or less of the cell's mass."""
    left, right = edges[:-1], edges[1:]
    farther = _farther(left, right)
    sides = [noise.log_density(np.abs(y - farther)) for y in (left, right)]
    moves, heaviest = np.zeros(left.size), sides[0]
    rows = [[noise.log_density(np.abs(y - x)) for y in (left, right)] for x in at]
    for row in rows:
        moves = np.maximum(moves, np.abs((row[1] - sides[1]) - (row[0] - sides[0])))
        heaviest = np.maximum(heaviest, np.maximum(row[0], row[1]))
    for row in rows[2:]:
        for other in rows[:2]:
            moves = np.maximum(moves, np.abs((other[1] - row[1]) - (other[0] - row[0])))
    moves = np.minimum(moves, 1.0)
    level = heaviest + np.log(right - left)
    level -= level.max()
    return [moves * np.exp(np.maximum(power * level, -700.0)) for power in (1 / 3, 1 / 12, 1 / 48)]


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


def _masses(noise: Noise, at: Array, edges: Array) -> NoiseCells:
    """Masses of all rows and of the blanket; cells too wide for them are cut further."""
    found, wide = _attempt(noise, at, edges)
    for _ in range(_SPLITS):
        if not bool(wide.any()):
            break
        found, wide = _attempt(noise, at, _cut(found.edges, np.where(wide, 2, 1)))
    return found


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
