"""Additive noise on an interval: what such mechanisms share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import rational_ball
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import Floats, OnInterval
from shuffledp.randomizers.noise import (
    Cells,
    SymmetricCells,
    around,
    bits_for,
    draw,
    to_lattice,
)
from shuffledp.randomizers.values import blocks, real_values
from shuffledp.randomness import RandomSource

# Binary digits by which the lattice of reports is finer than the noise and the interval.
_FINER = 32
# Noise is farther out than that with this probability: no report is.
NEVER = 1e-300


class IntervalNoise(OnInterval):
    """Report x + Z for a value x in [low, high], Z symmetric and unimodal.

    Theorem 4.6 of docs/theory.md: for a symmetric density that does not increase with |z| the end
    points are the worst pair of the blanket bound.

    Reports are float64: middles of the cells of a lattice that is at least 2^32 times finer than
    the noise, low and high being points of it. Values are rounded to it at random, without bias;
    the cell that the noise falls in has exactly its probability (see ``randomizers.noise``). Of
    sums from 2^36 cells on the first 36 binary digits are sent. So a report is a function of an
    ideal report: bounds hold for what is run (docs/theory.md, Lemma R2).
    """

    @abstractmethod
    def inverse_tail(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """The size with P(|Z| > size) = tail, and its error if ``tail`` has a relative one.

        Both in units of high - low; floats that propose what ``tail`` decides.
        """

    def tail(self, size: Fraction) -> arb:
        """P(Z > size), size > 0 in units of high - low, by the law in balls."""
        noise = self.added_noise()
        if noise is None:
            raise self._without("a tail of its noise")
        return noise.beyond(rational_ball(size) * (noise.high - noise.low))

    @property
    @abstractmethod
    def _finest(self) -> float:
        """(high - low)/(smallest feature of the noise)."""

    @property
    def bits(self) -> int:
        """The lattice has 2^bits steps from low to high."""
        return bits_for(self._finest, _FINER)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        return self.sample_on(self.bits, values, source)

    def sample_on(self, bits: int, values: np.ndarray, source: RandomSource) -> Reports:
        """Reports on a lattice of 2^bits steps from low to high."""
        law = NoiseCells(self, bits)
        return lattice_reports(lambda _: law, bits, (self.low, self.high), values, source)

    @property
    def farthest(self) -> float:
        """Noise is never farther out, in units of high - low."""
        return float(self.inverse_tail(np.array([NEVER]), np.zeros(1))[0][0])

    def _unbiased(self, reports: ArrayLike) -> Floats:
        """Reports that the noise can reach."""
        reach = (self.high - self.low) * (self.farthest + 1.0)
        return real_values(reports, self.low - reach, self.high + reach, name="reports")


def lattice_reports(
    law: Callable[[Floats], Cells],
    bits: int,
    ends: tuple[float, float],
    values: np.ndarray,
    source: RandomSource,
) -> Floats:
    """Values between two ends, on a lattice of 2^bits steps, and noise in cells of it.

    The law is that of the noise of values in given cells.
    """
    low, length, steps = ends[0], ends[1] - ends[0], 1 << bits
    reports = np.empty(len(values))
    for users in blocks(len(values)):
        place = np.clip((values[users] - low) / length, 0.0, 1.0)
        own = to_lattice(place, steps, source)
        sums = draw(law(own), own, source)
        reports[users] = low + length * (sums / steps)
    return reports


@dataclass(frozen=True)
class NoiseCells(SymmetricCells):
    """Cells of width 2^-bits (high - low) of a mechanism's noise."""

    mechanism: IntervalNoise
    bits: int

    def sizes(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """By the inverse in units of the interval."""
        size, error = self.mechanism.inverse_tail(tail, doubt)
        return around(size * 2.0**self.bits, error * 2.0**self.bits)

    def beyond(self, j: int) -> arb:
        """By the mechanism's own tail."""
        return self.mechanism.tail(Fraction(j, 1 << self.bits))
