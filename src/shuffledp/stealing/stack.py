"""Many types at once: their measures one after the other in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array, Indices
from shuffledp.stealing.measures import Measure

U = UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class Stack(Sequence[Measure]):
    """A sequence of measures.

    Attributes
    ----------
    mass, gain : ndarray, shape (K,)
        Atoms of all of them in order; atoms of mass 0 have gain 0 and say nothing.
    starts : ndarray, shape (T + 1,)
        Where each measure begins, and K.
    lost : ndarray, shape (T,)
        As for ``Measure``, each one's.
    rel : float
        As there, the largest of all.
    """

    mass: Array
    gain: Array
    starts: Indices
    lost: Array
    rel: float

    def __len__(self) -> int:
        return self.lost.size

    @overload
    def __getitem__(self, index: int) -> Measure: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Measure]: ...

    def __getitem__(self, index: int | slice) -> Measure | Sequence[Measure]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        part = slice(int(self.starts[index]), int(self.starts[index + 1]))
        mass, gain = self.mass[part], self.gain[part]
        some = mass > 0.0
        return Measure(mass[some], gain[some], float(self.lost[index]), self.rel)

    @property
    def longest(self) -> int:
        """Atoms of the longest."""
        return int(np.diff(self.starts).max())

    def sums(self, values: Array) -> Array:
        """Sums over each measure's atoms, shape (T,): off by ``longest`` U of the sizes."""
        return np.add.reduceat(values, self.starts[:-1])

    def spread(self, values: Array) -> Array:
        """One value a measure -> one an atom."""
        return np.repeat(values, np.diff(self.starts))

    def cut(self, ceiling: float) -> Stack:
        """As ``Measure.cut``."""
        over = np.maximum(self.gain - ceiling, 0.0)
        if not bool(over.any()):
            return self
        excess = self.sums(self.mass * over)
        lost = excess * (1.0 + self.rel) * (1.0 + (self.longest + 16) * U)
        gain = np.minimum(self.gain, ceiling)
        return Stack(self.mass, gain, self.starts, self.lost + lost, self.rel)
