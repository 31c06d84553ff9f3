"""Noise on the integers: what discrete Laplace and discrete Gaussian noise share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.lattice import gaussian_tail, geometric_tail
from shuffledp.ball.outputs import rational_ball
from shuffledp.ball.record import WorstPairs
from shuffledp.errors import NotCertified
from shuffledp.mechanism import Whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.noise import SymmetricCells, around, draw
from shuffledp.randomizers.values import RefusedRows, blocks, real_values, whole_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import CLAMPED_END_POINTS, END_POINTS

# Noise of 890 of these scales is below 2^62.
_LEAST_RATE = 2.0**-52
# e^-691 < 1e-300.
_FARTHEST = 691.0
# Relative error of a tail of 2^-64 or more: exponents up to 46, and sums of a million numbers.
_TABLE_ERROR = 2.0**-32
Top = Annotated[int, Whole(high=_check.LARGEST_DOMAIN)]


class LatticeNoise(MeanRandomizer):
    """Report x + K for an integer x in 0 .. top, K symmetric and unimodal on the integers.

    Theorem 4.8 of docs/theory.md: the end points are the worst pair of the blanket bound.
    """

    top: Top
    clamped: bool

    @property
    @abstractmethod
    def noise(self) -> IntegerCells:
        """The law of K."""

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
            reports[users] = whole_sums(self.noise, values[users], source)
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


class IntegerCells(SymmetricCells):
    """Symmetric noise on the whole numbers, which reports tell up to 2^52."""

    mirror: ClassVar[int] = 1
    digits: ClassVar[int] = 52


@dataclass(frozen=True)
class GeometricNoise(IntegerCells):
    """P(k) proportional to e^(-rate |k|)."""

    rate: Fraction

    def sizes(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """2 P(K >= k) = 2 a^k/(1 + a), solved for k, a = e^-rate."""
        rate = float(self.rate)
        if not rate >= _LEAST_RATE:
            msg = f"discrete-laplace: rate = {rate:g}: no sampler below 2^-52: noise is int64"
            raise NotCertified(msg)
        place = (math.log1p(math.tanh(0.5 * rate)) - np.log(tail)) / rate
        return around(place, doubt / rate)

    def beyond(self, j: int) -> arb:
        """a^j/(1 + a)."""
        return geometric_tail(rational_ball(self.rate), j)


@dataclass(frozen=True)
class GaussianNoise(IntegerCells):
    """P(k) proportional to e^(-k^2/(2 sigma^2))."""

    sigma: float

    def sizes(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """How many k >= 1 have 2 P(K >= k) above ``tail``, by a table."""
        tails = _tails(self.sigma)
        least = np.searchsorted(-tails, -tail * (1.0 + doubt + _TABLE_ERROR))
        most = np.searchsorted(-tails, -tail * (1.0 - doubt - _TABLE_ERROR))
        return least.astype(np.float64), most.astype(np.float64)

    def beyond(self, j: int) -> arb:
        """The sum of the masses from j on, over all."""
        return gaussian_tail(arb(self.sigma), j)


def whole_sums(law: IntegerCells, values: np.ndarray, source: RandomSource) -> np.ndarray:
    """Whole numbers and noise, as int64."""
    return np.floor(draw(law, values.astype(np.float64), source)).astype(np.int64)


def farthest(sigma: float) -> int:
    """Integers that are looked at: P(|K| > farthest) < 1e-299."""
    return math.ceil(sigma * math.sqrt(2.0 * _FARTHEST) + 1.0)


@lru_cache(maxsize=8)
def masses(sigma: float) -> Floats:
    """P(k) of discrete Gaussian noise for k = 0 .. farthest."""
    k = np.arange(farthest(sigma) + 1, dtype=np.float64)
    found = np.exp(np.maximum(-0.5 * (k / sigma) ** 2, -745.0))
    found /= 2.0 * math.fsum(found[1:]) + 1.0
    found.setflags(write=False)
    return found


@lru_cache(maxsize=8)
def _tails(sigma: float) -> Floats:
    """2 P(K >= k) for k = 1, 2, ..., summed from the smallest mass on."""
    tails = 2.0 * np.cumsum(masses(sigma)[:0:-1])[::-1]
    tails.setflags(write=False)
    return tails
