"""Cells of Laplace noise given that the report is in an interval, drawn exactly.

The report's cell r of a lattice has probability proportional to e^{-s m}, s the step in scales of
the noise and m the cells between r and the value's own lattice point. It is proposed by Laplace's
noise, or where the interval is short against that uniformly, and kept with the probability that is
left: what is run is a function of the ideal report, up to 2^-1280.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shuffledp.errors import NotCertified
from shuffledp.randomizers.chances import digits_up, exponential, minus, quotient, times
from shuffledp.randomizers.noise import LEAST_STEP, Integers, laplace_cells
from shuffledp.randomness import RandomSource

# Cells of the interval, and of a value and noise together, are 64-bit integers.
_MOST_CELLS = 1 << 61
# Below, the series of 1 - e^-x to 43 terms is right to 420 places; above, the difference to 410.
_SMALL, _TERMS = Decimal("1e-10"), 43
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Reports:
    """Cells that a report may fall in: 2^bits of them from low to high, and those of the margins.

    Attributes
    ----------
    eps0 : float
        Scales of the noise from low to high.
    bits : int
        Binary digits of the lattice.
    margin : Fraction
        How far beyond low and high reports may be, in units of high - low.
    """

    eps0: float
    bits: int
    margin: Fraction

    @property
    def step(self) -> Decimal:
        """Width of a cell in scales."""
        return times(Decimal(self.eps0), quotient(1, 1 << self.bits))

    @property
    def first(self) -> int:
        """The first cell, counted from low; a part of it where the margin is not one of cells."""
        return math.floor(-self.margin * 2**self.bits)

    @property
    def last(self) -> int:
        """The last one."""
        return (1 << self.bits) - 1 - self.first

    def drawn(self, points: Integers, source: RandomSource) -> Integers:
        """A report's cell for each value, a point of the lattice.

        Raises
        ------
        NotCertified
            Where cells are no 64-bit integers.
        """
        cells, missing = np.empty_like(points), np.arange(len(points))
        by_noise = self._noise_is_near()
        while missing.size:
            at = points[missing]
            found, kept = self._proposed(at, source, by_noise=by_noise)
            self._cut(found, kept, source)
            cells[missing[kept]] = found[kept]
            missing = missing[~kept]
        return cells

    def _noise_is_near(self) -> bool:
        """Whether Laplace's noise is proposed: it stays in the interval a third of the time."""
        near = Fraction(self.eps0) * (1 + 2 * self.margin) >= 1 and self.step >= LEAST_STEP
        if not near and self.last - self.first >= _MOST_CELLS:
            margin = quotient(self.margin.numerator, self.margin.denominator)
            msg = f"margin = {margin:.3g} (high - low): no sampler with so many cells"
            raise NotCertified(f"truncated-laplace: {msg}")
        return near

    def _proposed(
        self, points: Integers, source: RandomSource, *, by_noise: bool
    ) -> tuple[Integers, _Flags]:
        """Cells, and whether they are kept."""
        if by_noise:
            found = points + laplace_cells(self.step, len(points), source)
            return found, (found >= self.first) & (found <= self.last)
        found = self.first + source.below(self.last - self.first + 1, len(points))
        far = found - points
        return found, _survive(self.step, np.where(far >= 0, far, ~far), source)

    def _cut(self, found: Integers, kept: _Flags, source: RandomSource) -> None:
        """Of the cells at both ends only the part that is inside, which is the nearer one."""
        beyond = -self.margin * 2**self.bits - self.first
        if not beyond:
            return
        ends = np.flatnonzero(kept & ((found == self.first) | (found == self.last)))
        kept[ends] = source.coins(_nearer_part(self.step, 1 - beyond), ends.size)


@lru_cache(maxsize=64)
def _nearer_part(step: Decimal, part: Fraction) -> bytes:
    """(1 - e^{-s f})/(1 - e^{-s}): probability of the part f of a cell that is nearer."""
    length = times(step, quotient(part.numerator, part.denominator))
    return digits_up(quotient(_less(length), _less(step)))


def _less(x: Decimal) -> Decimal:
    """1 - e^-x; for small x by its series, as the difference would lose digits."""
    if x >= _SMALL:
        return minus(1, exponential(times(-1, x)))
    # x (1 - x/2 (1 - x/3 (...))): what follows is less than x^43 of it.
    total = Decimal(1)
    for k in range(_TERMS, 1, -1):
        total = minus(1, quotient(times(total, x), k))
    return times(total, x)


def _survive(step: Decimal, cells: Integers, source: RandomSource) -> _Flags:
    """True with probability e^{-s m}: one coin for each binary digit of m."""
    kept = np.ones(len(cells), dtype=np.bool_)
    for place, digits in enumerate(_halvings(step, int(cells.max(initial=0)).bit_length())):
        asked = np.flatnonzero(kept & ((cells >> place) & 1 == 1))
        kept[asked] = source.coins(digits, asked.size)
    return kept


@lru_cache(maxsize=256)
def _halvings(step: Decimal, places: int) -> tuple[bytes, ...]:
    """e^{-s 2^i} for each binary digit i."""
    return tuple(digits_up(exponential(times(-(1 << i), step))) for i in range(places))
