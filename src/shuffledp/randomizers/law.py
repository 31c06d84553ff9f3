"""StatedLaw: cells of a continuous output in floats, with bounds of their errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shuffledp.arithmetic.floats import Array
from shuffledp.errors import rejected
from shuffledp.values.described import ByContent

_TOTAL_SLACK = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class StatedLaw(ByContent):
    """Cells of a density that is given by functions, in floats with bounds of their errors.

    Attributes
    ----------
    mass : ndarray, shape (I, C)
        P(output in the cell | input), one row for each of the I inputs asked for.
    blanket : ndarray, shape (C,)
        Integral over the cell of the infimum over all inputs of the density, or of less.
    rel : float
        Bound on the relative error of every entry.
    tail : float
        At least the probability of outputs outside all cells, under any of the inputs.
    left, right : ndarray, shape (I, C)
        log f_x at the left and right edge of each cell, one row for each input.
    blanket_left, blanket_right : ndarray, shape (C,)
        The same of the blanket.
    err : ndarray, shape (C,)
        How far the difference of two of them may lie, anywhere on the cell, outside its values at
        the two edges.
    """

    mass: Array
    blanket: Array
    rel: float
    tail: float
    left: Array
    right: Array
    blanket_left: Array
    blanket_right: Array
    err: Array

    def __post_init__(self) -> None:
        excess = self.blanket - self.mass.min(axis=0) * (1.0 + 1e-9)
        if bool((excess > 0.0).any()):
            raise rejected("blanket", float(excess.max()), "no more mass than under any input")
        totals = self.mass.sum(axis=1)
        if not bool((np.abs(totals - 1.0) <= _TOTAL_SLACK + self.tail).all()):
            raise rejected("mass", totals, "probabilities that sum to one under each input")
