"""Readings of reports on the real line: cells between cut points, by the certified law.

Cut points are quantiles of reports that are simulated: wherever they are, the cells' probabilities
are those of the law, in balls where it has a record as noise (``laws.lines``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, precision_for
from shuffledp.audit.readings.base import (
    LATTICE,
    Floats,
    Labels,
    Reading,
    reading_of,
    rows_of,
    value_of,
    values_array,
)
from shuffledp.errors import NotCertified
from shuffledp.laws.lines import integers_of, line_of
from shuffledp.randomizers import (
    ClampedLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianBall,
    GeneralizedGaussian,
    Laplace,
    MetricLaplace,
    TruncatedLaplace,
)

# Cut points at these quantiles under every input, of reports that are simulated: 32 of them lie
# beyond the last cut point.
_LEVELS = np.concatenate([[2.0**-11], np.arange(1, 16) / 16.0, [1.0 - 2.0**-11]])
_SIMULATED = 1 << 16
# Of the interval of inputs: cells that are narrower would be told apart by rounding alone.
_CLOSEST = 1e-6
# Numbers of six digits are at most so far apart, relatively: the first digit may be a 1.
_SIX_DIGITS = 1e-5
# The density is not constant within a cell, which holds a sixteenth of the reports at most.
_MARGIN = 2.0

# (x, edges) -> probabilities under x of the cells between the edges, and beyond the two last ones.
Masses = Callable[[float, Floats], Floats]


def on_line(
    randomizer: Any,
    masses: Masses,
    inputs: tuple[float, ...],
    *,
    atoms: tuple[float, ...] = (),
    ends: tuple[float, float] = (-math.inf, math.inf),
    whole: bool = False,
    err: float = LATTICE,
) -> Reading:
    """Cells between quantiles of all inputs' laws, around atoms, and outside the message space.

    Parameters
    ----------
    randomizer : Randomizer
        Whose reports they are; it has an interval of inputs, low to high, or 0 to top.
    masses : callable
        Probabilities of cells.
    inputs : tuple of float
        Inputs.
    atoms : tuple of float
        Points of positive probability, each a cell of its own.
    ends : tuple of float
        Ends of the message space.
    whole : bool
        Whether reports are whole numbers.
    err : float
        How far a cell's probability may be off because reports are on a lattice.
    """
    span = (0.0, float(randomizer.top)) if whole else (randomizer.low, randomizer.high)
    slack = 0.0 if whole else 1e-9 * (span[1] - span[0])
    edges = np.concatenate([_quantiles(randomizer, x) for x in inputs])
    edges = _apart(np.unique([*span, *inputs]), edges, _CLOSEST * (span[1] - span[0]))
    if whole:
        # A report that is no whole number lies in no cell.
        edges = np.unique(np.floor(edges)) + 0.5
    if atoms:
        near = np.min([np.abs(edges - a) for a in atoms], axis=0) <= 2.0 * slack
        around = [a + side * slack for a in atoms for side in (-1.0, 1.0)]
        edges = np.unique(np.concatenate([edges[~near], around]))
    edges = edges[(edges > ends[0] - slack) & (edges < ends[1] + slack)]
    mass = np.maximum(np.array([masses(x, edges) for x in inputs]), 0.0)

    def classify(given: Any) -> Labels:
        column = np.asarray(given)
        if column.ndim != 1 or column.dtype.kind not in "iuf":
            return np.full(len(column), edges.size + 1)
        values = column.astype(np.float64, copy=False)
        labels = np.searchsorted(edges, values, side="left")
        bad = ~np.isfinite(values) | (values < ends[0] - slack) | (values > ends[1] + slack)
        if whole:
            bad |= values != np.floor(values)
        return np.where(bad, edges.size + 1, labels)

    shown = [f"{edge:.6g}" for edge in edges]
    inner = (f"reports in ({a}, {b}]" for a, b in itertools.pairwise(shown))
    names = (f"reports up to {shown[0]}", *inner, f"reports above {shown[-1]}")
    equal = None if whole or atoms else max(err, _rounded(edges, mass))
    return Reading(names, mass, classify, err=0.0 if whole else err, equal=equal)


def _quantiles(randomizer: Any, x: float) -> Floats:
    """Cut points for one input, from simulated reports."""
    value = values_array([value_of(randomizer, x)])
    sample = np.asarray(randomizer.simulate(np.repeat(value, _SIMULATED, axis=0), seed=1))
    column = sample if sample.ndim == 1 else sample[:, 0]
    return np.quantile(column, _LEVELS)


def _apart(fixed: Floats, others: Floats, least: float) -> Floats:
    """All fixed points, and of the others those that are farther than this from all before them."""
    kept = fixed.tolist()
    for edge in np.sort(others).tolist():
        if min(abs(edge - point) for point in kept) > least:
            kept.append(edge)
    return np.sort(kept)


def _rounded(edges: Floats, mass: Floats) -> float:
    """About how often two reports are equal that are written with six digits: an allowance.

    In a cell of width w around y, numbers of six digits are at most 1e-5 |y| apart, and two of its
    reports are equal with probability 1e-5 |y|/w if the density were constant there.
    """
    far = np.maximum(np.abs(edges[:-1]), np.abs(edges[1:]))
    shares = np.minimum(1.0, _SIX_DIGITS * far / np.diff(edges))
    # What is beyond the last edge is as far spread as the cell before it.
    shares = np.concatenate([shares[:1], shares, shares[-1:]])
    return float(_MARGIN * (mass**2 * shares).sum(axis=1).max())


# ------------------------------------------------------------------- noise that the records know


@reading_of.register(Laplace)
@reading_of.register(MetricLaplace)
@reading_of.register(Gaussian)
@reading_of.register(GeneralizedGaussian)
@reading_of.register(ClampedLaplace)
@reading_of.register(TruncatedLaplace)
@reading_of.register(DiscreteLaplace)
@reading_of.register(DiscreteGaussian)
def _noise(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """By the masses of the law in balls; what is clamped lies in the cells at the ends."""
    whole = isinstance(randomizer, DiscreteLaplace | DiscreteGaussian)
    ends, atoms = (-math.inf, math.inf), ()
    if isinstance(randomizer, ClampedLaplace | TruncatedLaplace):
        ends = (randomizer.low - randomizer.margin, randomizer.high + randomizer.margin)
        atoms = ends if isinstance(randomizer, ClampedLaplace) else ()
    elif whole and randomizer.clamped:
        margin = float(getattr(randomizer, "margin", 0))
        ends = (-margin, randomizer.top + margin)
    with ctx.workprec(precision_for(1)):
        pair = (inputs[0], inputs[-1])
        line = line_of(randomizer, pair) or integers_of(randomizer, pair)
    if line is None:
        raise NotCertified(f"{randomizer.name}: its law has no record as noise")
    noise = line.noise

    def masses(x: float, edges: Floats) -> Floats:
        first, last = (None, None) if noise.ends is None else noise.ends
        with ctx.workprec(precision_for(1)):
            # Between the whole numbers k and k + 1 the record cuts at k.
            places = (arb(float(y)) for y in (np.floor(edges) if whole else edges))
            found = noise.masses(arb(x), [first, *places, last])
            return np.array([float(m / noise.inside(arb(x))) for m in found])

    return on_line(randomizer, masses, inputs, ends=ends, atoms=atoms, whole=whole)


@reading_of.register
def _gaussian_ball(randomizer: GaussianBall, inputs: tuple[Any, ...]) -> Reading:
    """The coordinate along the diameter: the likelihood ratio depends on it alone."""
    found = reading_of(randomizer.line, inputs)
    inner, outside = found.classify, len(found.names)

    def classify(given: Any) -> Labels:
        rows = rows_of(given, randomizer.d, "iuf")
        if rows is None:
            return np.full(len(given), outside)
        good = np.isfinite(rows).all(axis=1)
        return np.where(good, inner(rows[:, 0]), outside)

    return Reading(found.names, found.mass, classify, err=found.err)


@value_of.register
def _on_diameter(randomizer: GaussianBall, x: Any) -> list[float]:
    return [float(x)] + [0.0] * (randomizer.d - 1)
