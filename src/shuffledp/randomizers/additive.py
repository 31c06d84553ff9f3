"""Additive noise on an interval: what such mechanisms share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.ball.record import WorstPairs
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.noise import Cells, bits_for, middles, plus, to_lattice
from shuffledp.randomizers.values import blocks, real_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import END_POINTS

# Binary digits by which the lattice of reports is finer than the noise and the interval.
_FINER = 32


def finite_reports(reports: ArrayLike) -> Floats:
    """Reports that may be any finite number, as they are."""
    return real_values(reports, -np.finfo(float).max, np.finfo(float).max, name="reports")


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
