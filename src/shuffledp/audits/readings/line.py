"""Readings of noise: cells between cut points of a number that the report has, by the law.

Cut points are quantiles of reports that are simulated: wherever they are, the cells' probabilities
are those of the law, in balls where it is noise on a line.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, precision_for
from shuffledp.audits.readings.base import (
    LATTICE,
    Floats,
    Labels,
    Reading,
    equal_when_rounded,
    rows_of,
    simulated,
    value_of,
)
from shuffledp.errors import NotCertified
from shuffledp.randomizers import (
    ClampedLaplace,
    Density,
    DiscreteGaussian,
    DiscreteLaplace,
    GaussianBall,
    LaplaceBall,
    TruncatedLaplace,
)

# Cut points at these quantiles under every input, of reports that are simulated: 32 of them lie
# beyond the last cut point.
_LEVELS = np.concatenate([[2.0**-11], np.arange(1, 16) / 16.0, [1.0 - 2.0**-11]])
# Of the interval of inputs: cells that are narrower would be told apart by rounding alone.
_CLOSEST = 1e-6
# The angle of a report is read off floats on a lattice of 2^32 steps: an edge of its cells is off
# by no more than a few steps of the distance between the two points.
_ANGLES, _ANGLE = 32, 2.0**-26

# (x, edges) -> probabilities under x of the cells between the edges, and beyond the two last ones.
Masses = Callable[[float, Floats], Floats]


def cut(
    edges: Floats, ends: tuple[float, float] = (-math.inf, math.inf), *, whole: bool = False
) -> tuple[tuple[str, ...], Callable[[Any], Labels]]:
    """Cells between edges: their names, and numbers -> the cell of each, or the one after the last.

    Parameters
    ----------
    edges : ndarray
        Increasing.
    ends : tuple of float
        Of the message space.
    whole : bool
        Whether only whole numbers are in it.
    """
    shown = [f"{edge:.6g}" for edge in edges]
    inner = (f"reports in ({a}, {b}]" for a, b in itertools.pairwise(shown))
    names = (f"reports up to {shown[0]}", *inner, f"reports above {shown[-1]}")

    def classify(given: Any) -> Labels:
        column = np.asarray(given)
        if column.ndim != 1 or column.dtype.kind not in "iuf":
            return np.full(len(column), len(names))
        values = column.astype(np.float64, copy=False)
        bad = ~np.isfinite(values) | (values < ends[0]) | (values > ends[1])
        if whole:
            bad |= values != np.floor(values)
        return np.where(bad, len(names), np.searchsorted(edges, values, side="left"))

    return names, classify


def of_noise(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """By the masses of the law in balls; what is clamped lies in the cells at the ends."""
    whole = isinstance(randomizer, DiscreteLaplace | DiscreteGaussian)
    ends, atoms = (-math.inf, math.inf), ()
    if isinstance(randomizer, ClampedLaplace | TruncatedLaplace):
        ends = (randomizer.low - randomizer.margin, randomizer.high + randomizer.margin)
        atoms = ends if isinstance(randomizer, ClampedLaplace) else ()
    elif isinstance(randomizer, DiscreteLaplace) and randomizer.clamped:
        ends = (0.0, float(randomizer.top))
    samples = [simulated(randomizer, x) for x in inputs]
    with ctx.workprec(precision_for(1)):
        line = randomizer.line((inputs[0], inputs[-1]))
    if line is None:
        raise NotCertified(f"{randomizer.name}: no audit knows how to read its reports")
    noise = line.noise

    def masses(x: float, edges: Floats) -> Floats:
        first, last = (None, None) if noise.ends is None else noise.ends
        with ctx.workprec(precision_for(1)):
            # Between the whole numbers k and k + 1 the record cuts at k.
            places = (arb(float(y)) for y in (np.floor(edges) if whole else edges))
            found = noise.masses(arb(x), [first, *places, last])
            return np.array([float(m / noise.inside(arb(x))) for m in found])

    span = (0.0, float(randomizer.top)) if whole else (randomizer.low, randomizer.high)
    slack = 0.0 if whole else 1e-9 * (span[1] - span[0])
    edges = np.concatenate([np.quantile(sample, _LEVELS) for sample in samples])
    edges = _apart(np.unique([*span, *inputs]), edges, _CLOSEST * (span[1] - span[0]))
    if whole:
        # A report that is no whole number lies in no cell.
        edges = np.unique(np.floor(edges)) + 0.5
    if atoms:
        near = np.min([np.abs(edges - a) for a in atoms], axis=0) <= 2.0 * slack
        around = [a + side * slack for a in atoms for side in (-1.0, 1.0)]
        edges = np.unique(np.concatenate([edges[~near], around]))
    ends = (ends[0] - slack, ends[1] + slack)
    edges = edges[(edges > ends[0]) & (edges < ends[1])]
    return _reading(masses, inputs, samples, edges, cut(edges, ends, whole=whole), not whole)


def _reading(
    masses: Masses,
    inputs: tuple[Any, ...],
    samples: list[Any],
    edges: Floats,
    cells: tuple[tuple[str, ...], Callable[[Any], Labels]],
    lattice: bool,  # noqa: FBT001 (as it stands in the one call)
) -> Reading:
    mass = np.maximum(np.array([masses(x, edges) for x in inputs]), 0.0)
    err = LATTICE if lattice else 0.0
    return Reading(cells[0], mass, cells[1], err, equal_when_rounded(samples, err))


def _apart(fixed: Floats, others: Floats, least: float) -> Floats:
    """All fixed points, and of the others those that are farther than this from all before them."""
    kept = fixed.tolist()
    for edge in np.sort(others).tolist():
        if min(abs(edge - point) for point in kept) > least:
            kept.append(edge)
    return np.sort(kept)


def of_density(randomizer: Density, inputs: tuple[Any, ...]) -> Reading:
    """Its reports are cells, some thousand of them."""
    edges, mass = randomizer.chances
    middles = 0.5 * (edges[1:] + edges[:-1])
    samples = [simulated(randomizer, x) for x in inputs]
    marks = np.unique(np.concatenate([np.quantile(sample, _LEVELS) for sample in samples]))
    labels = np.searchsorted(marks, middles, side="left")
    rows = []
    for x in inputs:
        # A value between two inputs is rounded to either at random.
        place = (x - randomizer.low) / (randomizer.high - randomizer.low) * (randomizer.points - 1)
        below = min(int(place), randomizer.points - 2)
        row = mass[below] + (place - below) * (mass[below + 1] - mass[below])
        rows.append(np.bincount(labels, weights=row, minlength=marks.size + 1))
    names, classify = cut(marks, randomizer.outputs)
    return Reading(names, np.array(rows), classify)


# ----------------------------------------------------------------------------------- vectors


def of_gaussian_ball(randomizer: GaussianBall, inputs: tuple[Any, ...]) -> Reading:
    """The coordinate along the diameter: the likelihood ratio depends on it alone."""
    found = of_noise(randomizer.coordinate_noise, inputs)

    def coordinate(rows: Floats) -> Floats:
        return rows[:, 0]

    return Reading(found.names, found.mass, _number(found, randomizer.d, coordinate), found.err)


@value_of.register
def _on_diameter(randomizer: GaussianBall, x: Any) -> list[float]:
    return [float(x)] + [0.0] * (randomizer.d - 1)


def of_laplace_ball(randomizer: LaplaceBall, inputs: tuple[Any, ...]) -> Reading:
    """Cells of the angle phi with |y - x0| - |y - x1| = distance cos(phi); inputs 0 and 1."""
    if not set(inputs) <= {0, 1}:
        raise NotCertified("laplace-ball: reports are read for its two points 0 and 1 alone")
    with ctx.workprec(precision_for(1)):
        fine = [(float(c.p), float(c.q)) for c in randomizer.cells((0, 1, 0)).cells]
    mass = np.array(fine).T.reshape(2, _ANGLES, -1).sum(axis=2)[list(inputs)]
    points = [np.array(_ball_point(randomizer, x)) for x in (0, 1)]
    distance = float(np.linalg.norm(points[1] - points[0]))

    def angle(rows: Floats) -> Floats:
        far = [np.linalg.norm(rows - point, axis=1) for point in points]
        return np.arccos(np.clip((far[0] - far[1]) / distance, -1.0, 1.0))

    names, classify = cut(np.arange(1, _ANGLES) * (math.pi / _ANGLES))
    names = tuple(name.replace("reports", "angles") for name in names)
    found = Reading(names, mass / mass.sum(axis=1, keepdims=True), classify, err=_ANGLE)
    return Reading(names, found.mass, _number(found, randomizer.d, angle), err=_ANGLE)


def _number(reading: Reading, d: int, number: Callable[[Floats], Floats]) -> Any:
    """Vectors of d numbers -> cells of one number that they have."""

    def classify(given: Any) -> Labels:
        rows = rows_of(given, d)
        if rows is None:
            return np.full(len(given), len(reading.names))
        good = np.isfinite(rows).all(axis=1)
        found = reading.classify(number(np.where(good[:, None], rows, 0.0)))
        return np.where(good, found, len(reading.names))

    return classify


@value_of.register(LaplaceBall)
def _ball_point(randomizer: Any, x: Any) -> list[float]:
    """Two points on a diameter, at the distance, around the centre."""
    sign = -0.5 if x == 0 else 0.5
    return [sign * float(randomizer.distance)] + [0.0] * (randomizer.d - 1)
