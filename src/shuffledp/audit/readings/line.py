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
    value_of,
    values_array,
)
from shuffledp.audit.readings.finite import bit_table, rows_of
from shuffledp.errors import NotCertified
from shuffledp.laws.lines import integers_of, line_of
from shuffledp.randomizers import (
    ClampedLaplace,
    Density,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianBall,
    GeneralizedGaussian,
    Hybrid,
    Laplace,
    MetricLaplace,
    Piecewise,
    Staircase,
    TruncatedLaplace,
)
from shuffledp.randomizers.piecewise import lattice

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
# (x, y) -> P(Y <= y) under x, and P(Y > y), for arrays y.
Chances = Callable[[float, Floats], tuple[Floats, Floats]]


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


# ------------------------------------------------------------------- by distribution functions


def differences(chances: Chances) -> Masses:
    """Masses of cells as the difference of those two of four numbers that are small."""

    def masses(x: float, edges: Floats) -> Floats:
        below, above = chances(x, edges)
        below, above = np.concatenate([[0.0], below, [1.0]]), np.concatenate([[1.0], above, [0.0]])
        return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))

    return masses


@reading_of.register(Staircase)
def _staircase(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """P(Z > k + r): what is left of step k, and the steps beyond it, a geometric series."""
    length = randomizer.high - randomizer.low
    g, b = float(randomizer.width), math.exp(-randomizer.eps0)
    top = -math.expm1(-randomizer.eps0) / (2.0 * (g + b * (1.0 - g)))
    step = g + b * (1.0 - g)

    def tail(t: Floats) -> Floats:
        k = np.floor(t / length)
        r = t / length - k
        own = np.where(r < g, (g - r) + (1.0 - g) * b, (1.0 - r) * b)
        return top * np.exp(-randomizer.eps0 * k) * (own + b * step / (1.0 - b))

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        small = tail(np.abs(y - x))
        return np.where(y < x, small, 1.0 - small), np.where(y < x, 1.0 - small, small)

    return on_line(randomizer, differences(chances), inputs)


@reading_of.register
def _density(randomizer: Density, inputs: tuple[Any, ...]) -> Reading:
    """By the functions given."""

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        below = np.asarray(randomizer.cdf(y - x), dtype=np.float64)
        if randomizer.sf is not None:
            return below, np.asarray(randomizer.sf(y - x), dtype=np.float64)
        return below, np.asarray(randomizer.cdf(x - y), dtype=np.float64)

    masses, err = differences(chances), _widest_cell(randomizer)
    return on_line(randomizer, masses, inputs, err=err)


def _widest_cell(randomizer: Any) -> float:
    """Two edges, each off by a lattice's or a coarser cell; ``LATTICE`` where nothing is sampled.

    Densities are monotone between turns: no cell of the lattice has more than those next to one.
    Far out f(y) y is at most the probability of less than y, so a cell has at most its width's
    share of y.
    """
    try:
        found = randomizer.lattice
    except NotCertified:
        return LATTICE
    turns = np.array([*randomizer.turns, 0.0])
    step = (randomizer.high - randomizer.low) * 2.0**-found.bits
    next_to = np.asarray(randomizer.cdf(turns + step)) - np.asarray(randomizer.cdf(turns - step))
    return max(LATTICE, 2.0 * float(next_to.max()), 2.0 * found.widest)


@reading_of.register
def _piecewise(randomizer: Piecewise, inputs: tuple[Any, ...]) -> Reading:
    """Uniform on all with probability 1/w, else uniform on the interval around x."""
    far = randomizer.half * randomizer.reach
    ends = (randomizer.middle - far, randomizer.middle + far)
    masses, err = differences(_pieces(randomizer)), _steps(randomizer)
    return on_line(randomizer, masses, inputs, ends=ends, err=err)


def _steps(randomizer: Any) -> float:
    """Two edges of a cell, each off by a step of the favoured interval and a step's rounding."""
    return 4.0 / lattice(randomizer.eps0)[1]


def _pieces(randomizer: Any) -> Chances:
    w = math.exp(0.5 * randomizer.eps0)
    c = 1.0 / math.tanh(0.25 * randomizer.eps0)

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        at = (x - randomizer.middle) / randomizer.half
        place = (y - randomizer.middle) / randomizer.half
        left = 0.5 * ((c + 1.0) * at - (c - 1.0))
        everywhere = np.clip((place + c) / (2.0 * c), 0.0, 1.0)
        near = np.clip((place - left) / (c - 1.0), 0.0, 1.0)
        below = everywhere / w + near * (1.0 - 1.0 / w)
        return below, (1.0 - everywhere) / w + (1.0 - near) * (1.0 - 1.0 / w)

    return chances


@reading_of.register
def _hybrid(randomizer: Hybrid, inputs: tuple[Any, ...]) -> Reading:
    """Both mechanisms: the two values of Duchi's are atoms."""
    share = randomizer.share
    c = 1.0 / math.tanh(0.5 * randomizer.eps0)
    atoms = (randomizer.middle - randomizer.half * c, randomizer.middle + randomizer.half * c)
    pieces = _pieces(randomizer)

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        zero, one = bit_table(randomizer, (x,))[0]
        low = np.where(y < atoms[0], 0.0, np.where(y < atoms[1], zero, 1.0))
        high = np.where(y < atoms[0], 1.0, np.where(y < atoms[1], one, 0.0))
        below, above = pieces(x, y)
        return share * below + (1.0 - share) * low, share * above + (1.0 - share) * high

    far = randomizer.half / math.tanh(0.25 * randomizer.eps0)
    ends = (randomizer.middle - far, randomizer.middle + far) if share > 0.0 else atoms
    masses, err = differences(chances), _steps(randomizer)
    return on_line(randomizer, masses, inputs, atoms=atoms, ends=ends, err=err)
