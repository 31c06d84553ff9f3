"""Readings of vectors whose likelihood ratios depend on more than one coordinate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.audit.readings.base import Labels, Reading, reading_of, rows_of, value_of
from shuffledp.errors import NotCertified
from shuffledp.laws.vectors import angle_cells
from shuffledp.randomizers import LaplaceBall, PrivUnit
from shuffledp.randomizers.caps import height

_CELLS = 32
# The angle of a report is read off floats on a lattice of 2^32 steps: an edge of its cells is off
# by no more than a few steps of the distance between the two points.
_ANGLE = 2.0**-26
# Of d coordinates on a lattice of 2^-32: how far an inner product with a unit vector may move.
_STEP = 2.0**-32


@reading_of.register(LaplaceBall)
def _laplace_ball(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """Cells of the angle phi with |y - x0| - |y - x1| = distance cos(phi); inputs 0 and 1."""
    if not set(inputs) <= {0, 1}:
        raise NotCertified("laplace-ball: reports are read for its two points 0 and 1 alone")
    mass = _angle_masses(randomizer)[list(inputs)]
    points = [np.array(_ball_point(randomizer, x)) for x in (0, 1)]
    distance = float(np.linalg.norm(points[1] - points[0]))

    def classify(given: Any) -> Labels:
        rows = rows_of(given, randomizer.d, "iuf")
        if rows is None:
            return np.full(len(given), _CELLS)
        good = np.asarray(np.isfinite(rows).all(axis=1))
        safe = np.where(good[:, None], rows, 0.0)
        gap = np.linalg.norm(safe - points[0], axis=1) - np.linalg.norm(safe - points[1], axis=1)
        phi = np.arccos(np.clip(gap / distance, -1.0, 1.0))
        labels = np.minimum((phi * (_CELLS / math.pi)).astype(np.int64), _CELLS - 1)
        return np.where(good, labels, _CELLS)

    names = tuple(f"angle {j} of {_CELLS}" for j in range(_CELLS))
    return Reading(names, mass, classify, err=_ANGLE)


def _angle_masses(randomizer: LaplaceBall) -> npt.NDArray[np.float64]:
    """Masses of the cells under the points 0 and 1: sums of those of finer cells."""
    with ctx.workprec(precision_for(1)):
        fine = [(float(c.p), float(c.q)) for c in angle_cells(randomizer, (0, 1, 0))]
    rows = np.array(fine).T.reshape(2, _CELLS, -1).sum(axis=2)
    return rows / rows.sum(axis=1, keepdims=True)


@value_of.register(LaplaceBall)
def _ball_point(randomizer: Any, x: Any) -> list[float]:
    """Two points on a diameter, at the distance, around the centre."""
    sign = -0.5 if x == 0 else 0.5
    return [sign * float(randomizer.distance)] + [0.0] * (randomizer.d - 1)


@reading_of.register
def _privunit(randomizer: PrivUnit, inputs: tuple[Any, ...]) -> Reading:
    """In the first antipode's cap, in the other's, in both or in neither."""
    if not set(inputs) <= {0, 2}:
        raise NotCertified("privunit: reports are read for antipodal inputs 0 and 2 alone")
    c, grow = randomizer.c, math.exp(randomizer.eps0)
    total = 1.0 + c * math.expm1(randomizer.eps0)
    both = max(0.0, 2.0 * c - 1.0)
    only, neither = c - both, max(0.0, 1.0 - 2.0 * c)
    rows = []
    for x in inputs:
        first, second = (grow, 1.0) if x == 0 else (1.0, grow)
        rows.append([only * first, only * second, both * grow + neither])
    level = height(c, randomizer.d)

    def classify(given: Any) -> Labels:
        rows = rows_of(given, randomizer.d, "iuf")
        if rows is None:
            return np.full(len(given), 3)
        with np.errstate(invalid="ignore"):
            length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            along = rows[:, 0]
            first, second = along >= level, -along >= level
            labels = np.where(first & ~second, 0, np.where(second & ~first, 1, 2))
            good = np.abs(length - 1.0) <= _LENGTH
        return np.where(good, labels, 3)

    # The density of a coordinate is at most (d/2)^(1/2), and the level itself is a float's.
    err = 4.0 * _STEP * math.sqrt(randomizer.d) * grow
    names = ("in the cap of the first", "in the cap of the opposite", "in both or neither")
    return Reading(names, np.array(rows) / total, classify, err=min(err, 1e-6))


_LENGTH = 1e-5


@value_of.register
def _quarter(randomizer: PrivUnit, x: Any) -> list[float]:
    """Quarter turns on the circle of the first two coordinates."""
    first, second = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[x]
    return [first, second] + [0.0] * (randomizer.d - 2)
