"""Laws in floats: the midpoints of the laws in balls, for estimates and figures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.balls import arb, ctx, precision_for
from shuffledp.bounds.pairs import LawPair
from shuffledp.laws.cells import cells_of
from shuffledp.laws.pairs import blanket_pair, dataset_pair, has_classes
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import Input

__all__ = ["Midpoints", "blanket_mass", "midpoints"]

Floats = npt.NDArray[np.float64]

# log of the probability that is left out where there are infinitely many outputs.
_DEEP = -320.0


class Midpoints(NamedTuple):
    """Masses of classes of outputs, or of cells of a continuous one, in floats.

    Attributes
    ----------
    reference : ndarray, shape (C,)
        Of the blanket, or of R_x2 where three inputs were asked for.
    first, second : ndarray, shape (C,)
        Of R_x0 and R_x1.
    continuous : bool
        Whether these are cells.
    """

    reference: Floats
    first: Floats
    second: Floats
    continuous: bool


def midpoints(randomizer: Randomizer, inputs: tuple[Input, ...]) -> Midpoints:
    """The law of one report under two inputs and the blanket, or under three inputs.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    inputs : tuple
        Two or three inputs.
    """
    with ctx.workprec(precision_for(1)):
        if not has_classes(randomizer, inputs, 1):
            cells = cells_of(randomizer, inputs, fine=True).cells
            return _of_rows([[c.mass, c.p, c.q] for c in cells], continuous=True)
        pair = (blanket_pair if len(inputs) == 2 else dataset_pair)(randomizer, *inputs, n=1)
        law = pair.classes(_DEEP) if isinstance(pair, LawPair) else []
        rows = [
            [c.blanket if len(inputs) == 2 else c.probability[2], *c.probability[:2]]
            for c in law
            if not c.beyond
        ]
        return _of_rows(rows, continuous=False)


def _of_rows(rows: list[list[arb]], *, continuous: bool) -> Midpoints:
    made = np.array([[float(x) for x in row] for row in rows])
    return Midpoints(*made.reshape(-1, 3).T, continuous=continuous)


def blanket_mass(randomizer: Randomizer, pair: tuple[Input, Input]) -> float:
    """gamma: the blanket's mass."""
    return min(1.0, float(midpoints(randomizer, pair).reference.sum()))
