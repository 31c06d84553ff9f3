"""Gains on cells of a continuous output: two atoms a cell that spread its law, mean kept.

On a cell the gain has a known mean and lies in a known range; the law on the range's two ends with
that mean is larger in convex order, so E(sum)_+ only grows (docs/theory-stealing.md, Lemma 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array, Indices
from shuffledp.stealing.measures import Difference, Mask, Measure
from shuffledp.stealing.stack import Stack

U = UNIT_ROUNDOFF
_SMALLEST = 1e-290
# Cells with gains beyond it are seen for sure.
_LARGEST = 1e130


@dataclass(frozen=True, eq=False)
class Rows:
    """Cells with the masses of the victim's two laws and of a third, and where ratios lie.

    Attributes
    ----------
    first, second, third : ndarray, shape (C,)
        Masses of R_x0 (an upper bound of its density, where bent), R_x1 (a lower one) and of the
        law that the gains are taken against.
    low, high : ndarray, shape (C,)
        Ends of (R_x0 - R_x1)/third on the cell.
    low1, high1 : ndarray, shape (C,)
        Ends of R_x1/third.
    rel : float
        Relative error of the masses.
    outside : float
        Probability under R_x0 of outputs outside all cells.
    """

    first: Array
    second: Array
    third: Array
    low: Array
    high: Array
    low1: Array
    high1: Array
    rel: float
    outside: float

    def difference(self, epsilon: float) -> Difference:
        """R_x0 - e^eps R_x1 on each cell, rounded up; its positive part by the range of ratios."""
        grow = math.exp(epsilon)
        rel = self.rel + 8 * U
        high = (self.first - self.second) - math.expm1(epsilon) * self.second
        high += (rel + 4 * U) * (self.first + grow * self.second)
        with np.errstate(over="ignore", invalid="ignore"):
            gain = self._range(epsilon)[1]
            part = np.maximum(gain, 0.0) * self.third
        # Where ratios have no bound, all of the first law may be gain.
        mixed = np.fmin(self.first * (1.0 + rel), part)
        return Difference(high, np.maximum(np.maximum(high, 0.0), mixed * (1.0 + rel)))

    def _range(self, epsilon: float) -> tuple[Array, Array]:
        """Ends of (R_x0 - e^eps R_x1)/third, eps >= 0: the change less (e^eps - 1) R_x1/third."""
        more = math.expm1(epsilon)
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = self.low - more * self.high1, self.high - more * self.low1
            low -= 8 * U * (np.abs(self.low) + more * self.high1)
            high += 8 * U * (np.abs(self.high) + more * self.low1)
        return low, high

    def measure(self, epsilon: float, *, share: float, join: float) -> Measure:
        """The measure ``share`` times the third law of the gains join g/(share third).

        Parameters
        ----------
        epsilon : float
            eps in nats.
        share : float
            Part of the third law.
        join : float
            Probability that goes with these outputs.
        """
        rel = self.rel + 8 * U
        positive, some, masses, gains = self.atoms(epsilon, share=share, join=join)
        lost = join * (math.fsum(positive[~some]) + self.outside) * (1.0 + 16 * U)
        kept = masses > 0.0
        dropped = share * (math.fsum(self.third[~some]) + self.outside) * (1.0 + rel + 16 * U)
        return Measure(masses[kept], gains[kept], lost, 2.5 * rel + 16 * U, dropped)

    def atoms(
        self, epsilon: float, *, share: float, join: float
    ) -> tuple[Array, Mask, Array, Array]:
        """Positive parts, cells that are not left out, and masses and gains of these.

        The two atoms of each cell, shape (C, 2); of cells that are left out both are 0.
        """
        g = self.difference(epsilon)
        rel = self.rel + 8 * U
        low, high = self._range(epsilon)
        mass = share * self.third
        some = (mass > _SMALLEST) & (np.abs(low) < _LARGEST) & (np.abs(high) < _LARGEST)
        mass, top = np.where(some, mass * (1.0 - rel), 1.0), np.where(some, g.high, 0.0)
        scale = join / share
        low, high = (scale * np.where(some, end, 0.0) for end in (low, high))
        mean = np.where(top > 0.0, join * top / mass, join * top / (mass * (1.0 + 2.1 * rel)))
        mean = np.clip(mean + 8 * U * np.abs(mean), low, high)
        width = high - low
        part = np.where(width > 0.0, (mean - low) / np.where(width > 0.0, width, 1.0), 1.0)
        part = np.minimum(part * (1.0 + 8 * U) + 8 * U, 1.0)
        mass *= some
        masses = np.stack([mass * part * (1.0 - 4 * U), mass * (1.0 - part) * (1.0 - 4 * U)], 1)
        gains = np.stack([high + 8 * U * np.abs(high), low + 8 * U * np.abs(low)], 1)
        return g.positive, some, masses, np.where(masses > 0.0, gains, 0.0)


_ARRAYS = ("first", "second", "third", "low", "high", "low1", "high1")


@dataclass(frozen=True, eq=False)
class RowStack:
    """Rows of many types one after the other.

    Attributes
    ----------
    rows : Rows
        All cells in order; ``outside`` is not used, ``rel`` is the largest.
    starts : ndarray, shape (T + 1,)
        Where each type's cells begin.
    outside : ndarray, shape (T,)
        As for ``Rows``, each type's.
    """

    rows: Rows
    starts: Indices
    outside: Array

    @classmethod
    def of(cls, types: Sequence[Rows]) -> RowStack:
        """The types in this order."""
        arrays = (np.concatenate([getattr(t, name) for t in types]) for name in _ARRAYS)
        rows = Rows(*arrays, rel=max(t.rel for t in types), outside=0.0)
        starts = np.cumsum([0, *(t.third.size for t in types)])
        return cls(rows, starts, np.array([t.outside for t in types]))

    @classmethod
    def joined(cls, stacks: Iterable[RowStack]) -> RowStack:
        """The types of all stacks in this order."""
        stacks = list(stacks)
        arrays = (np.concatenate([getattr(s.rows, name) for s in stacks]) for name in _ARRAYS)
        rows = Rows(*arrays, rel=max(s.rows.rel for s in stacks), outside=0.0)
        sizes = np.concatenate([np.diff(s.starts) for s in stacks])
        return cls(rows, np.cumsum([0, *sizes]), np.concatenate([s.outside for s in stacks]))

    def __len__(self) -> int:
        return self.outside.size

    def __getitem__(self, index: int) -> Rows:
        part = slice(int(self.starts[index]), int(self.starts[index + 1]))
        arrays = (getattr(self.rows, name)[part] for name in _ARRAYS)
        return Rows(*arrays, rel=self.rows.rel, outside=float(self.outside[index]))

    def __iter__(self) -> Iterator[Rows]:
        return (self[i] for i in range(len(self)))

    def measure(self, epsilon: float, *, share: float, join: float) -> Stack:
        """As ``Rows.measure``, of all types."""
        rel = self.rows.rel + 8 * U
        positive, some, masses, gains = self.rows.atoms(epsilon, share=share, join=join)
        found = Stack(
            masses.reshape(-1), gains.reshape(-1), 2 * self.starts, self.outside, 2.5 * rel + 16 * U
        )
        seen = np.add.reduceat(np.where(some, 0.0, positive), self.starts[:-1])
        lost = join * (seen + self.outside) * (1.0 + (found.longest + 16) * U)
        return Stack(found.mass, found.gain, found.starts, lost, found.rel)
