"""JointLaw: the output law of a randomizer under a few inputs at once, next to its blanket."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.errors import rejected
from shuffledp.values.described import ByContent

_TOTAL_SLACK = 1e-9
# Masses that are e^eps0 apart are different floats, whatever formula they come from, if eps0 is
# more than a million times what floats are apart by.
_TOLD_APART = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class CellEdges(ByContent):
    """Log densities at both edges of each cell; ratios of any two are in between, up to ``err``.

    Attributes
    ----------
    left, right : ndarray, shape (I, C)
        log f_x at the left and right edge, one row for each input.
    blanket_left, blanket_right : ndarray, shape (C,)
        The same of inf over all inputs.
    err : float or ndarray, shape (C,)
        How far the difference of two of them may lie, anywhere on the cell, outside its values at
        the two edges: the error of these, where ratios are monotone.
    log_linear : bool
        True where the log of every ratio of two densities is linear in y on every cell, up to the
        wiggle.
    wiggle : float or ndarray, shape (C,)
        How much more than between its edges a log density, and how much the logarithm of the slope
        of a log ratio, can vary within a cell, together.
    ordered : bool
        False where neighbours in the list are not neighbours in the ratios: cells of two
        coordinates.
    """

    left: Array
    right: Array
    blanket_left: Array
    blanket_right: Array
    err: float | Array
    log_linear: bool = False
    wiggle: float | Array = 0.0
    ordered: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class JointLaw(ByContent):
    """Outputs grouped in classes on which all likelihood ratios are constant, or in cells.

    Attributes
    ----------
    mass : ndarray, shape (I, C)
        P(output in class | input), one row for each of the I inputs asked for.
    blanket : ndarray, shape (C,)
        Integral over the class of the infimum over ALL inputs of the density.
    rel : float
        Bound on the relative error of every entry.
    tail : ndarray, shape (I,)
        Upper bounds on the probability of outputs outside all cells (0 for classes).
    edges : CellEdges or None
        For cells of a continuous output.
    ties : bool
        True where a mass and a blanket that are equal floats stand for equal numbers. Never where
        all masses are the blanket's up to a part of 1e-9: there local guarantees are so small that
        different numbers may be the same floats. (One class alone is certain under all inputs.)
    """

    mass: Array
    blanket: Array
    rel: float = 16 * UNIT_ROUNDOFF
    tail: Array | None = None
    edges: CellEdges | None = None
    ties: bool = True

    def __post_init__(self) -> None:
        if self.blanket.shape != self.mass.shape[1:]:
            raise rejected("blanket", self.blanket.shape, f"shape {self.mass.shape[1:]}")
        excess = self.blanket - self.mass.min(axis=0) * (1.0 + 1e-9)
        if bool((excess > 0.0).any()):
            raise rejected("blanket", float(excess.max()), "no more mass than under any input")
        totals = self.mass.sum(axis=1)
        slack = _TOTAL_SLACK + (0.0 if self.tail is None else self.tail)
        if not bool((np.abs(totals - 1.0) <= slack).all()):
            raise rejected("mass", totals, "probabilities that sum to one under each input")
        apart = self.blanket < self.mass.max(axis=0) * (1.0 - _TOLD_APART)
        if self.mass.shape[1] > 1 and not bool(apart.any()):
            object.__setattr__(self, "ties", False)

    def tails(self) -> Array:
        """Tail bounds, zeros where there are none."""
        return np.zeros(self.mass.shape[0]) if self.tail is None else self.tail


def without_empty(
    mass: Array, blanket: Array, rel: float = 16 * UNIT_ROUNDOFF, *, ties: bool = True
) -> JointLaw:
    """A JointLaw of classes, those that never occur left out."""
    keep = mass.max(axis=0) > 0.0
    return JointLaw(mass[:, keep], blanket[keep], rel, ties=ties)


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
