"""Laplace noise whose neighbours are values at a distance: the law that dominates all pairs."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.noises import Noise
from shuffledp.bounds.line import Line
from shuffledp.kernel.cells import Cell
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import Input
from shuffledp.randomizers.metric import ENVELOPE_INPUTS, MetricLaplace

__all__ = ["envelope_of"]

# Cells between the middle of the two values and the end of the interval: gains are then known to
# a relative eps0/2000.
_CELLS = 2000
# Distances are rounded up to an even number of these steps of the interval: the middle is a float.
_GRID = 2.0**50


def envelope_of(randomizer: Randomizer, inputs: tuple[Input, ...]) -> list[Cell] | None:
    """Cells of the envelope of all neighbours; None of other mechanisms, and of values.

    On the interval [0, 1], with the distance d: the outputs beyond 1 - d/2 of the pair (1, 1 - d)
    against the blanket, and the same with the pair exchanged (docs/theory-noise.md, Theorem 3.1).
    Exchanged it is the same law.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    inputs : tuple
        The victim's two values; those of the envelope are names.
    """
    if not isinstance(randomizer, MetricLaplace) or set(inputs) != set(ENVELOPE_INPUTS):
        return None
    step = min(1.0, 2.0 * math.ceil(randomizer.separation * _GRID / 2.0) / _GRID)
    noise = Noise(arb(1), 1 / arb(randomizer.eps0), arb(0), arb(1))
    middle = 1.0 - 0.5 * step
    line = Line(noise, arb(1), arb(1.0 - step), None)
    edges = [float(y) for y in np.linspace(middle, 1.0, _CELLS + 1)]
    right = line.cells_beyond(arb(middle), edges)
    return [*right, *(cell.swap() for cell in right)]
