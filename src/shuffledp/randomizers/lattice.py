"""Noise on the integers: what discrete Laplace and discrete Gaussian noise share."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.record import WorstPairs
from shuffledp.mechanism import Whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.noise import SymmetricCells, draw
from shuffledp.randomizers.values import RefusedRows, blocks, real_values, whole_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import CLAMPED_END_POINTS, END_POINTS

Top = Annotated[int, Whole(high=_check.LARGEST_DOMAIN)]


class LatticeNoise(MeanRandomizer, SymmetricCells):
    """Report x + K for an integer x in 0 .. top, K symmetric and unimodal on the integers.

    Theorem 4.8 of docs/theory.md: the end points are the worst pair of the blanket bound.
    """

    mirror: ClassVar[int] = 1
    digits: ClassVar[int] = 52
    top: Top
    clamped: bool

    @property
    def _margin(self) -> int:
        """Reports are clamped to -margin .. top + margin."""
        return 0

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        return WorstPairs(((0, self.top),), CLAMPED_END_POINTS if self.clamped else END_POINTS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of them or in the middle."""
        others = dict.fromkeys((0, self.top, self.top // 2))
        return tuple((0, self.top, x2) for x2 in others)

    @property
    def message_bits(self) -> float:
        """log2 of the number of reports where clamped; 64 for an integer where not."""
        return math.log2(self.top + 2 * self._margin + 1) if self.clamped else 64.0

    @property
    def low(self) -> float:
        """The smallest input, 0."""
        return 0.0

    @property
    def high(self) -> float:
        """The largest input, top."""
        return float(self.top)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.top + 1)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = np.empty(len(values), dtype=np.int64)
        for users in blocks(len(values)):
            reports[users] = np.floor(draw(self, values[users].astype(np.float64), source))
        if self.clamped:
            return np.clip(reports, -self._margin, self.top + self._margin)
        return reports

    def _reports(self, reports: ArrayLike) -> Floats:
        """Whole numbers in the range of reports."""
        low, high = -np.inf, np.inf
        if self.clamped:
            low, high = -self._margin, self.top + self._margin
        column = real_values(reports, max(low, -(2.0**63)), min(high, 2.0**63), name="reports")
        whole = column == np.floor(column)
        if not bool(whole.all()):
            raise RefusedRows("reports", column, ~whole, "a whole number")
        return column
