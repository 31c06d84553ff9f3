"""Readings of reports on the real line: cells between cut points, by the distribution function."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaincc, ndtr

from shuffledp.audit.readings.base import LATTICE, REL, Floats, Labels, Reading, gives, reads
from shuffledp.audit.readings.finite import bit_table
from shuffledp.errors import NotCertified
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

# Cut points at these quantiles under every input, and far out where about so many reports lie.
_BULK = np.arange(1, 16) / 16.0
_FAR = 30.0
# Halvings of the bracket of a quantile: floats have no more digits.
_HALVINGS = 80
# Far enough out, in units of the interval, for every mechanism here; it is found by doubling.
_FARTHEST = 1e12

# Of the interval of inputs: cells that are narrower would be told apart by rounding alone.
_CLOSEST = 1e-6
# Numbers of six digits are at most so far apart, relatively: the first digit may be a 1.
_SIX_DIGITS = 1e-5
# The density is not constant within a cell, which holds a sixteenth of the reports at most.
_MARGIN = 2.0

# Below this P(a, x) is its first term: the next one is less than x of it, which no float shows.
_FIRST_TERM = 1e-200

# (x, y) -> P(Y <= y) under x, and P(Y > y), for arrays y.
Chances = Callable[[float, Floats], tuple[Floats, Floats]]


def on_line(
    chances: Chances,
    inputs: tuple[float, ...],
    *,
    span: tuple[float, float],
    reports: int,
    atoms: tuple[float, ...] = (),
    ends: tuple[float, float] = (-math.inf, math.inf),
    whole: bool = False,
    err: float = LATTICE,
) -> Reading:
    """Cells between quantiles of all inputs' laws, around atoms, and outside the message space.

    Parameters
    ----------
    chances : callable
        Distribution function and its complement, each accurate where it is small.
    inputs : tuple of float
        Inputs.
    span : tuple of float
        Ends of the interval of inputs.
    reports : int
        How many reports there will be under each input.
    atoms : tuple of float
        Points of positive probability, each a cell of its own.
    ends : tuple of float
        Ends of the message space.
    whole : bool
        Whether reports are whole numbers.
    err : float
        How far a cell's probability may be off because reports are on a lattice.
    """
    tail = min(_FAR / reports, 0.03)
    levels = np.concatenate([[tail], _BULK, [1.0 - tail]])
    fixed = np.unique([*span, *inputs])
    cuts = np.concatenate([_quantiles(chances, x, levels, span) for x in inputs])
    edges = _apart(fixed, cuts, 0.0 if whole else _CLOSEST * (span[1] - span[0]))
    slack = 1e-9 * (span[1] - span[0])
    if whole:
        # A report that is no whole number lies in no cell.
        edges = np.unique(np.floor(edges)) + 0.5
        slack = 0.0
    if atoms:
        near = np.min([np.abs(edges - a) for a in atoms], axis=0) <= 2.0 * slack
        around = [a + side * slack for a in atoms for side in (-1.0, 1.0)]
        edges = np.unique(np.concatenate([edges[~near], around]))
    edges = edges[(edges > ends[0] - slack) & (edges < ends[1] + slack)]
    rows = []
    for x in inputs:
        below, above = chances(x, edges)
        below, above = np.concatenate([[0.0], below, [1.0]]), np.concatenate([[1.0], above, [0.0]])
        # The difference of the two that are small.
        rows.append(np.where(below[1:] < 0.5, np.diff(below), -np.diff(above)))
    mass = np.maximum(np.array(rows), 0.0)

    def classify(reports: Any) -> Labels:
        column = np.asarray(reports)
        if column.ndim != 1 or column.dtype.kind not in "iuf":
            return np.full(len(column), edges.size + 1)
        values = column.astype(np.float64, copy=False)
        labels = np.searchsorted(edges, values, side="left")
        bad = ~np.isfinite(values) | (values < ends[0] - slack) | (values > ends[1] + slack)
        if whole:
            bad |= values != np.floor(values)
        return np.where(bad, edges.size + 1, labels)

    shown = [f"{edge:.6g}" for edge in edges]
    names = (
        f"reports up to {shown[0]}",
        *(f"reports in ({a}, {b}]" for a, b in itertools.pairwise(shown)),
        f"reports above {shown[-1]}",
    )
    continuous = not (whole or atoms)
    return Reading(
        names,
        mass,
        classify,
        rel=REL,
        err=0.0 if whole else err,
        line=True,
        equal=max(err, _rounded(edges, mass)) if continuous else None,
    )


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
    shares = np.append(np.minimum(1.0, _SIX_DIGITS * far / np.diff(edges)), 0.0)
    # What is beyond the last edge is as far spread as the cell before it.
    shares = np.insert(shares, 0, shares[0])
    shares[-1] = shares[-2]
    return float(_MARGIN * (mass**2 * shares).sum(axis=1).max())


def _quantiles(chances: Chances, x: float, levels: Floats, span: tuple[float, float]) -> Floats:
    """Where the distribution function reaches these levels, by halving."""
    width = span[1] - span[0]
    low = np.full(levels.size, span[0] - width)
    high = np.full(levels.size, span[1] + width)
    reach = width
    while reach < _FARTHEST * width:
        short = chances(x, low)[0] > levels
        over = chances(x, high)[0] < levels
        if not bool(short.any() or over.any()):
            break
        reach *= 2.0
        low, high = np.where(short, span[0] - reach, low), np.where(over, span[1] + reach, high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        under = chances(x, middle)[0] < levels
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return 0.5 * (low + high)


def symmetric(tail: Callable[[Floats], Floats]) -> Chances:
    """Noise that is symmetric, from P(Z > t) for t >= 0."""

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        small = tail(np.abs(y - x))
        below = np.where(y < x, small, 1.0 - small)
        return below, np.where(y < x, 1.0 - small, small)

    return chances


def laplace_chances(scale: float) -> Chances:
    """P(Z > t) = e^(-t/scale)/2."""
    return symmetric(lambda t: 0.5 * np.exp(-t / scale))


@reads(Laplace)
def _laplace(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    span = (randomizer.low, randomizer.high)
    scale = (span[1] - span[0]) / randomizer.eps0
    return on_line(laplace_chances(scale), inputs, span=span, reports=reports)


@reads(MetricLaplace)
def _metric(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    span = (randomizer.low, randomizer.high)
    return on_line(laplace_chances(randomizer.scale), inputs, span=span, reports=reports)


@reads(Gaussian)
def _gaussian(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    span = (randomizer.low, randomizer.high)
    sigma = randomizer.sigma
    return on_line(symmetric(lambda t: ndtr(-t / sigma)), inputs, span=span, reports=reports)


@reads(GaussianBall)
def _gaussian_ball(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """The coordinate along the diameter: the likelihood ratio depends on it alone."""
    span = (-randomizer.radius, randomizer.radius)
    chances = symmetric(lambda t: ndtr(-t / randomizer.sigma))
    line = on_line(chances, inputs, span=span, reports=reports)
    return along_first(line, randomizer.d)


def along_first(line: Reading, d: int) -> Reading:
    """The reading of the first coordinate of vectors."""
    inner, outside = line.classify, len(line.names)

    def classify(reports: Any) -> Labels:
        rows = np.asarray(reports)
        if rows.ndim != 2 or rows.shape[1] != d or rows.dtype.kind not in "iuf":
            return np.full(len(rows), outside)
        with np.errstate(invalid="ignore"):
            good = np.isfinite(rows).all(axis=1)
        return np.where(good, inner(rows[:, 0]), outside)

    return Reading(line.names, line.mass, classify, rel=line.rel, err=line.err, line=line.line)


@gives(GaussianBall)
def _on_diameter(randomizer: Any, x: Any) -> list[float]:
    return [float(x)] + [0.0] * (randomizer.d - 1)


@reads(GeneralizedGaussian)
def _power(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Of noise with density exp(-|z/s|^b)."""
    shape, scale = randomizer.shape, randomizer.scale
    span = (randomizer.low, randomizer.high)
    return on_line(power_chances(shape, scale), inputs, span=span, reports=reports)


def power_chances(shape: float, scale: float) -> Chances:
    """P(Z > t) = Q(1/b, (t/s)^b)/2; where the power is too small for floats, by its series.

    P(|Z| < t) = P(1/b, (t/s)^b) has the first term (t/s)/Gamma(1 + 1/b), which is no small number
    at large shapes: at b = 1000 noise below s/2 has a power of 1e-301, and a probability of 1/2.
    """
    a, norm = 1.0 / shape, math.gamma(1.0 + 1.0 / shape)

    def tail(t: Floats) -> Floats:
        far = t / scale
        with np.errstate(over="ignore", under="ignore"):
            power = far**shape
        within = np.minimum(far / norm, 1.0)
        return 0.5 * np.where(power > _FIRST_TERM, gammaincc(a, power), 1.0 - within)

    return symmetric(tail)


@reads(Staircase)
def _staircase(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """P(Z > k + r): what is left of step k, and the steps beyond it, a geometric series."""
    span = (randomizer.low, randomizer.high)
    length = span[1] - span[0]
    g, b = float(randomizer.width), math.exp(-randomizer.eps0)
    top = -math.expm1(-randomizer.eps0) / (2.0 * (g + b * (1.0 - g)))
    step = g + b * (1.0 - g)

    def tail(t: Floats) -> Floats:
        k = np.floor(t / length)
        r = t / length - k
        own = np.where(r < g, (g - r) + (1.0 - g) * b, (1.0 - r) * b)
        return top * np.exp(-randomizer.eps0 * k) * (own + b * step / (1.0 - b))

    return on_line(symmetric(tail), inputs, span=span, reports=reports)


@reads(Density)
def _density(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """By the functions given."""

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        below = np.asarray(randomizer.cdf(y - x), dtype=np.float64)
        if randomizer.sf is not None:
            return below, np.asarray(randomizer.sf(y - x), dtype=np.float64)
        return below, np.asarray(randomizer.cdf(x - y), dtype=np.float64)

    span = (randomizer.low, randomizer.high)
    return on_line(chances, inputs, span=span, reports=reports, err=_widest_cell(randomizer))


def _widest_cell(randomizer: Any) -> float:
    """Two edges, each off by a lattice's or a coarser cell; ``LATTICE`` where nothing is sampled.

    Densities are monotone between turns: no cell of the lattice has more than those next to one.
    Far out f(y) y is at most the probability of less than y, so a cell has at most its width's
    share of y.
    """
    try:
        lattice = randomizer.lattice
    except NotCertified:
        return LATTICE
    turns = np.array([*randomizer.turns, 0.0])
    step = (randomizer.high - randomizer.low) * 2.0**-lattice.bits
    next_to = np.asarray(randomizer.cdf(turns + step)) - np.asarray(randomizer.cdf(turns - step))
    return max(LATTICE, 2.0 * float(next_to.max()), 2.0 * lattice.widest)


@reads(ClampedLaplace)
def _clamped(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Laplace noise with atoms at the ends of the message space."""
    low, high = randomizer.low - randomizer.margin, randomizer.high + randomizer.margin
    inner = laplace_chances(randomizer.scale)

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        below, above = inner(x, y)
        below = np.where(y < low, 0.0, np.where(y >= high, 1.0, below))
        return below, np.where(y < low, 1.0, np.where(y >= high, 0.0, above))

    span = (randomizer.low, randomizer.high)
    ends = (low, high)
    return on_line(chances, inputs, span=span, reports=reports, atoms=ends, ends=ends)


@reads(TruncatedLaplace)
def _truncated(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Laplace noise given the message space."""
    low, high = randomizer.low - randomizer.margin, randomizer.high + randomizer.margin
    inner = laplace_chances(randomizer.scale)

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        cut = np.array([low, high])
        (under, _), (_, over) = inner(x, cut[:1]), inner(x, cut[1:])
        inside = 1.0 - under[0] - over[0]
        below, above = inner(x, np.clip(y, low, high))
        return (below - under[0]) / inside, (above - over[0]) / inside

    span = (randomizer.low, randomizer.high)
    return on_line(chances, inputs, span=span, reports=reports, ends=(low, high))


@reads(Piecewise)
def _piecewise(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Uniform on all with probability 1/w, else uniform on the interval around x."""
    far = randomizer.half * randomizer.reach
    ends = (randomizer.middle - far, randomizer.middle + far)
    span = (randomizer.low, randomizer.high)
    return on_line(
        _pieces(randomizer), inputs, span=span, reports=reports, ends=ends, err=_steps(randomizer)
    )


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


@reads(Hybrid)
def _hybrid(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Both mechanisms: the two values of Duchi's are atoms."""
    span = (randomizer.low, randomizer.high)
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

    far = randomizer.half / math.tanh(0.25 * randomizer.eps0) if share > 0.0 else atoms[1]
    ends = (randomizer.middle - far, randomizer.middle + far) if share > 0.0 else atoms
    return on_line(
        chances, inputs, span=span, reports=reports, atoms=atoms, ends=ends, err=_steps(randomizer)
    )


# ------------------------------------------------------------------------------ whole numbers


@reads(DiscreteLaplace)
def _discrete_laplace(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """P(K >= j) = a^j/(1 + a) for j >= 0."""
    rate = randomizer.eps0 / randomizer.top

    def tail(j: Floats) -> Floats:
        return np.exp(-rate * j) / (1.0 + math.exp(-rate))

    return _whole(randomizer, tail, inputs, reports, margin=0)


@reads(DiscreteGaussian)
def _discrete_gaussian(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """P(K >= j) by sums of e^(-k^2/(2 sigma^2)), to 40 sigma."""
    reach = math.ceil(40.0 * randomizer.sigma) + 2
    k = np.arange(reach + 1, dtype=np.float64)
    f = np.exp(-0.5 * (k / randomizer.sigma) ** 2)
    f /= f[0] + 2.0 * f[1:].sum()
    sums = np.append(np.cumsum(f[::-1])[::-1], 0.0)

    def tail(j: Floats) -> Floats:
        return sums[np.minimum(j, reach + 1).astype(np.int64)]

    return _whole(randomizer, tail, inputs, reports, margin=randomizer.margin)


def _whole(
    randomizer: Any,
    tail: Callable[[Floats], Floats],
    inputs: tuple[Any, ...],
    reports: int,
    *,
    margin: int,
) -> Reading:
    """Symmetric noise on the integers from P(K >= j), j >= 0; clamped where that is asked for."""
    low, high = (-margin, randomizer.top + margin) if randomizer.clamped else (-np.inf, np.inf)

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        z = np.floor(y) - x  # P(K <= z), P(K > z)
        below = np.where(z < 0, tail(np.maximum(-z, 0.0)), 1.0 - tail(np.maximum(z + 1, 0.0)))
        above = np.where(z < 0, 1.0 - tail(np.maximum(-z, 0.0)), tail(np.maximum(z + 1, 0.0)))
        below = np.where(y < low, 0.0, np.where(y >= high, 1.0, below))
        return below, np.where(y < low, 1.0, np.where(y >= high, 0.0, above))

    ends = (float(low), float(high))
    span = (0.0, float(randomizer.top))
    return on_line(chances, inputs, span=span, reports=reports, ends=ends, whole=True)
