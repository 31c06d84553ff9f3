"""Law of a user's own noise on cells: masses from its distribution function, ranges from its shape.

Lengths are in units of the interval of inputs, which is [0, 1]; the functions are called in the
user's own units.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.errors import NotCertified, rejected
from shuffledp.randomizers.additive import SMALLEST_MASS, refined
from shuffledp.randomizers.law import StatedLaw

U = UNIT_ROUNDOFF
Function = Callable[[Any], Any]
Bools = npt.NDArray[np.bool_]
# Probability beyond the cells where there are many of them far out.
_RARE = 1e-100
# Stands for the logarithm of 0, and, as an error, for a ratio of which nothing is known.
NOTHING = -1e9
# Lattice of places: differences of inputs and of cut points near them are exact.
_GRID = 2.0**-50
_RATIO = 1.2
_CLOSEST, _FAR, _MIDDLES = 1e-4, 4.0, 64.0
_FARTHEST = 2.0**40
_NEAREST = 2.0**-40
_LARGEST_REL = 1e-7
_LARGEST_CHANGE, _MOST_PARTS = 0.1, 100
_SLACK = 4.0


@dataclass(frozen=True)
class Shape:
    """A density on the line by its functions, and what its owner says of it.

    Attributes
    ----------
    log_density : callable
        log f, natural logarithm.
    below, above : callable
        P(Z <= z) and P(Z > z), each to a relative error ``rel``.
    length : float
        high - low.
    rel : float
        Relative error of all three (of log f: ``rel`` (1 + |log f|), absolute).
    log_concave : bool
        log f is concave.
    turns : tuple of float
        f is monotone between neighbouring ones, and on either side of all of them.
    symmetric : bool
        f(-z) = f(z).
    reach : float or None
        No call beyond it.
    """

    log_density: Function
    below: Function
    above: Function
    length: float
    rel: float
    log_concave: bool
    turns: tuple[float, ...]
    symmetric: bool
    reach: float | None

    @property
    def ends_are_farthest(self) -> bool:
        """The blanket is the density of an end point, the farther one."""
        return self.symmetric and (self.log_concave or self.turns == (0.0,))

    def logs(self, z: Array) -> Array:
        """log f at distances in units of the interval; ``NOTHING`` for a density of 0."""
        found = called(self.log_density, "logpdf", z * self.length)
        if bool(np.isnan(found).any()) or bool((found == math.inf).any()):
            at = float((z * self.length)[np.argmax(np.isnan(found) | (found == math.inf))])
            raise rejected(f"logpdf({at:g})", "nan or inf", "a number, or -inf where there is none")
        return np.maximum(found + math.log(self.length), NOTHING)

    def chances(self, z: Array) -> tuple[Array, Array]:
        """P(Z <= z) and P(Z > z) at distances in units of the interval."""
        found = []
        for function, name in ((self.below, "cdf"), (self.above, "sf")):
            values = called(function, name, z * self.length)
            bad = ~((values >= 0.0) & (values <= 1.0 + self.rel))
            if bool(bad.any()):
                j = int(np.argmax(bad))
                at = float(z[j] * self.length)
                raise rejected(f"{name}({at:g})", float(values[j]), "a probability")
            found.append(values)
        both = found[0] + found[1]
        bad = ~(np.abs(both - 1.0) <= _SLACK * self.rel + 8 * U)
        if bool(bad.any()):
            j = int(np.argmax(bad))
            at = float(z[j] * self.length)
            raise rejected(f"cdf + sf at {at:g}", float(both[j]), "1 up to rel")
        return found[0], found[1]


def called(function: Function, name: str, z: Array) -> Array:
    """The user's function at these arguments, as floats of the same shape."""
    with np.errstate(all="ignore"):
        try:
            found = np.asarray(function(z), dtype=np.float64)
        except (TypeError, ValueError) as error:
            wanted = "a function of an array of floats that returns one of the same shape"
            raise rejected(name, str(error), wanted) from None
    if found.shape != z.shape:
        raise rejected(f"{name}(array) shape", found.shape, f"that of its argument, {z.shape}")
    return found


@dataclass(frozen=True)
class _Row:
    """One input's densities at the cut points and masses of the cells, with their errors."""

    width: Array
    logs: Array
    doubt: Array
    mass: Array
    err: Array

    @property
    def move(self) -> Array:
        return np.abs(np.diff(self.logs))

    @property
    def low(self) -> Array:
        return np.minimum(self.logs[:-1], self.logs[1:])

    @property
    def high(self) -> Array:
        return np.maximum(self.logs[:-1], self.logs[1:])


def density_law(shape: Shape, at: Array, cells: int) -> StatedLaw:
    """Law of at_i + Z on about so many cells, checked on every one of them.

    A mass is a difference of the distribution function, from the side where it is small, or
    the width times the density at the ends where that is known better. The blanket is the density
    of the farther end where symmetry and monotony say so; elsewhere on each cell the least of the
    densities of the ends and at turns in between, if it is one of them all over the cell, or else
    the constant below them, which is a smaller blanket.
    """
    edges = _cut_points(shape, at, cells)
    found = {x: _row(shape, x, edges) for x in (*at.tolist(), 0.0, 1.0)}
    rows = [found[x] for x in at.tolist()]
    mass = np.array([row.mass for row in rows])
    blanket, left, right, constant = _blanket(shape, edges, found[0.0], found[1.0])
    blanket = np.minimum(blanket, mass.min(axis=0))
    err = np.max([np.where(row.mass >= SMALLEST_MASS, row.err, 0.0) for row in found.values()])
    if not float(err) <= _LARGEST_REL:
        msg = (
            f"density: rel = {shape.rel:g}: masses of cells are known to {float(err):.1g} only; "
            "wanted functions with a relative error small enough for 1e-7"
        )
        raise NotCertified(msg)
    tail = _tail(shape, edges) + edges.size * SMALLEST_MASS
    return StatedLaw(
        mass=np.where(mass < SMALLEST_MASS, 0.0, mass),
        blanket=np.where(blanket < 10.0 * SMALLEST_MASS, 0.0, blanket),
        rel=float(err) + 8 * U,
        tail=tail,
        left=np.array([row.logs[:-1] for row in rows]),
        right=np.array([row.logs[1:] for row in rows]),
        blanket_left=left,
        blanket_right=right,
        err=_ratio_error(shape, list(found.values()), constant),
    )


def _ratio_error(shape: Shape, rows: list[_Row], constant: Bools) -> Array:
    """How far log ratios may lie outside their values at the edges of each cell.

    A log-concave density has monotone likelihood ratios: the error of the values, and where the
    blanket is a constant all that the density may vary. Otherwise both densities are monotone on
    the cell, and the ratio is beyond its values at the edges by at most the smaller of their
    changes, so by the second largest of all.
    """
    doubt = np.max([np.maximum(row.doubt[:-1], row.doubt[1:]) for row in rows], axis=0)
    if shape.log_concave:
        spread = np.max([_prolonged(row.logs, row.width) for row in rows], axis=0)
        err = 2.0 * doubt + np.where(constant, spread, 0.0)
    else:
        err = 2.0 * doubt + np.sort([row.move for row in rows], axis=0)[-2]
    empty = np.min([row.low for row in rows], axis=0) <= NOTHING
    return np.where(empty, -NOTHING, err)


def _prolonged(logs: Array, width: Array) -> Array:
    """How much a concave function may vary on each cell, by its slopes on the cells around."""
    slopes = np.abs(np.diff(logs)) / width
    around = np.concatenate([slopes[:1], slopes, slopes[-1:]])
    return width * np.max([around[:-2], slopes, around[2:]], axis=0)


def _blanket(
    shape: Shape, edges: Array, low: _Row, high: _Row
) -> tuple[Array, Array, Array, Bools]:
    """Masses and logs at both edges of a measure below every density, and where it is constant."""
    left, right = edges[:-1], edges[1:]
    if shape.ends_are_farthest:
        first = left + right < 1.0
        logs = [np.where(first, high.logs[s], low.logs[s]) for s in (slice(-1), slice(1, None))]
        mass = np.where(first, high.mass, low.mass)
        return mass, logs[0], logs[1], np.zeros(mass.shape, dtype=np.bool_)
    floor = np.minimum(low.low, high.low)
    between = np.full(floor.shape, math.inf)
    for turn in shape.turns:
        place = turn / shape.length
        level = shape.logs(np.array([place]))[0]
        inside = (left >= place - _GRID) & (right <= place + 1.0 + _GRID)
        between = np.where(inside, np.minimum(between, level), between)
    floor = np.minimum(floor, between)
    doubt = np.maximum(low.doubt[:-1], low.doubt[1:]) + np.maximum(high.doubt[:-1], high.doubt[1:])
    floor = np.maximum(floor - 2.0 * doubt, NOTHING)
    mass = np.exp(np.maximum(floor, -745.0)) * (right - left) * (1.0 - 8 * U)
    mass = np.where(floor > -745.0, mass, 0.0)
    logs = [floor, floor]
    constant = np.ones(floor.shape, dtype=np.bool_)
    for row, other in ((low, high), (high, low)):
        if shape.log_concave:
            # The ratio of the two is monotone, and no density in between is below both.
            room = np.append(doubt, doubt[-1]) + np.append(doubt[0], doubt)
            under = row.logs + room <= other.logs
            least = under[:-1] & under[1:]
        else:
            least = row.high + 2.0 * doubt <= np.minimum(other.low, between)
        mass = np.where(least, row.mass, mass)
        logs = [np.where(least, row.logs[:-1], logs[0]), np.where(least, row.logs[1:], logs[1])]
        constant &= ~least
    return mass, logs[0], logs[1], constant


def _row(shape: Shape, x: float, edges: Array) -> _Row:
    """Densities and masses under one input; ParameterError where they contradict each other."""
    z = edges - x
    logs = shape.logs(z)
    below, above = shape.chances(z)
    width = np.diff(edges)
    slopes = np.diff(logs) / width
    steepest = np.abs(np.append(slopes, slopes[-1]))
    steepest[1:] = np.maximum(steepest[1:], np.abs(slopes))
    # An argument is rounded once or twice.
    moved = 4.0 * U * np.abs(z)
    doubt = shape.rel * (1.0 + np.abs(logs)) + moved * steepest
    doubt = np.where(logs <= NOTHING, 0.0, doubt)
    dense = np.exp(np.clip(logs, -745.0, 700.0))
    left = _differences(below, shape.rel * below + moved * dense, 1.0, "cdf")
    right = _differences(above, shape.rel * above + moved * dense, -1.0, "sf")
    better = left[1] <= right[1]
    mass, err = (np.where(better, u, v) for u, v in zip(left, right, strict=True))
    _check_shape(shape, z, logs, doubt, slopes)
    _check_masses(shape, z, logs, doubt, mass, err)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        relative = np.where(mass > 0.0, err / mass, math.inf)
        # A monotone density: width times the geometric mean of the ends, to half the change.
        middle = 0.5 * (logs[:-1] + logs[1:])
        other = np.expm1(0.5 * np.abs(np.diff(logs)) + np.maximum(doubt[:-1], doubt[1:]))
        by_ends = np.exp(np.clip(middle, -745.0, 700.0)) * width
    other = np.where(_monotone(shape, z, slopes), other, math.inf)
    mass = np.where(other < relative, by_ends, mass)
    return _Row(width, logs, doubt, mass, np.where(mass > 0.0, np.minimum(other, relative), 0.0))


def _differences(values: Array, errors: Array, sign: float, name: str) -> tuple[Array, Array]:
    """Masses of the cells, and bounds of their absolute errors."""
    found, err = sign * np.diff(values), errors[:-1] + errors[1:]
    bad = found < -_SLACK * err
    if bool(bad.any()):
        words = "a function that does not fall" if sign > 0 else "a function that does not grow"
        raise rejected(name, f"a step of {float(sign * found[np.argmax(bad)]):g}", words)
    return np.maximum(found, 0.0), err + 4 * U * np.maximum(values[:-1], values[1:])


def _monotone(shape: Shape, z: Array, slopes: Array) -> Bools:
    """Cells on which the density is monotone."""
    if shape.log_concave:
        before, after = np.append(math.inf, slopes[:-1]), np.append(slopes[1:], -math.inf)
        return (before <= 0.0) | (after >= 0.0)
    slack = 8 * U * (1.0 + np.abs(z))
    left, right = z[:-1] + slack[:-1], z[1:] - slack[1:]
    found = np.ones(left.shape, dtype=np.bool_)
    for turn in shape.turns:
        place = turn / shape.length
        found &= ~((left < place) & (right > place))
    return found


def _check_shape(shape: Shape, z: Array, logs: Array, doubt: Array, slopes: Array) -> None:
    """Symmetry, monotony between turns and concavity, at all cut points."""
    there = logs > NOTHING
    if shape.symmetric:
        off = np.abs(shape.logs(-z) - logs) > _SLACK * doubt
        _refuse(off & there, z, shape, "logpdf", "the same at -z and z (or symmetric=False)")
    if shape.log_concave:
        width = np.diff(z)
        noise = (doubt[:-1] + doubt[1:]) / width
        grows = np.diff(slopes) > _SLACK * (noise[:-1] + noise[1:])
        grows &= there[:-2] & there[1:-1] & there[2:]
        _refuse(grows, z[1:-1], shape, "logpdf", "a concave function (or log_concave=False)")
        gap = there.cumsum() - there.argmax()
        hole = ~there[1:-1] & (gap[1:-1] > 0) & (there[::-1].cumsum()[::-1][1:-1] > 0)
        _refuse(hole, z[1:-1], shape, "logpdf", "a concave function (or log_concave=False)")
        return
    places = np.array([-math.inf, *shape.turns, math.inf]) / shape.length
    step, room = np.diff(logs), _SLACK * (doubt[:-1] + doubt[1:])
    slack = 8 * U * (1.0 + np.abs(z))
    for first, last in itertools.pairwise(places.tolist()):
        inside = (z[:-1] >= first - slack[:-1]) & (z[1:] <= last + slack[1:])
        both = bool((inside & (step > room)).any()) and bool((inside & (step < -room)).any())
        if both:
            wanted = f"every point between {first:g} and {last:g} where the density turns"
            raise rejected("turns", shape.turns, wanted)
    if shape.ends_are_farthest:
        outward = step * np.sign(z[:-1] + z[1:]) > room
        _refuse(outward, z[:-1], shape, "logpdf", "a function that falls away from 0")


def _check_masses(
    shape: Shape, z: Array, logs: Array, doubt: Array, mass: Array, err: Array
) -> None:
    """The distribution function grows on every cell as the density says it does."""
    width = np.diff(z)
    room = _SLACK * np.maximum(doubt[:-1], doubt[1:])
    low = np.minimum(logs[:-1], logs[1:]) - room
    high = np.maximum(logs[:-1], logs[1:]) + room
    if shape.log_concave:
        low, high = _concave_means(z, logs, room)
    plain = shape.log_concave | _monotone(shape, z, width)
    scale = np.log(width)
    with np.errstate(divide="ignore"):
        least, most = np.log(mass + err * _SLACK), np.log(np.maximum(mass - err * _SLACK, 0.0))
    checked = plain & (np.maximum(low, least - scale) > math.log(SMALLEST_MASS) + 20.0)
    bad = checked & ((low + scale > least) | (high + scale < most))
    if bool(bad.any()):
        j = int(np.argmax(bad))
        a, b = float(z[j] * shape.length), float(z[j + 1] * shape.length)
        ends = [math.exp(v) for v in (low[j] + scale[j], high[j] + scale[j])]
        wanted = (
            f"between {ends[0]:.9g} and {ends[1]:.9g}, as the density says; is it accurate where "
            "it is small, and the density normalised? reach= says how far it is"
        )
        raise rejected(f"P({a:g} < Z <= {b:g}) by cdf", float(mass[j]), wanted)


def _concave_means(z: Array, logs: Array, room: Array) -> tuple[Array, Array]:
    """Logarithms of a lower and an upper bound of the mean of f on each cell, log f concave.

    It lies above its chord, and below the chords of the neighbouring cells, prolonged.
    """
    width, step = np.diff(z), np.diff(logs)
    start = np.maximum(logs[:-1], logs[1:])
    low = start + _log_mean(step)
    slopes = np.where((logs[:-1] > NOTHING) & (logs[1:] > NOTHING), step / width, math.nan)
    before, after = np.append(math.inf, slopes[:-1]), np.append(slopes[1:], -math.inf)
    rise, fall = np.full(step.shape, math.inf), np.full(step.shape, math.inf)
    known = np.isfinite(before)
    rise[known] = np.maximum(before[known] * width[known], step[known])
    known = np.isfinite(after)
    fall[known] = np.maximum(-after[known] * width[known], -step[known])
    # Prolonged to the far edge of the cell: the mean of the smaller of the two chords.
    one = np.where(np.isfinite(rise), logs[:-1] + np.maximum(rise, 0.0) + _log_mean(rise), math.inf)
    two = np.where(np.isfinite(fall), logs[1:] + np.maximum(fall, 0.0) + _log_mean(fall), math.inf)
    # Where slopes are noise the bound by the chords is too.
    high = np.minimum(one, two) + 4.0 * room * (1.0 + 1.0 / _least_step(width))
    return low - room, high


def _least_step(width: Array) -> Array:
    """Width of a cell's narrowest neighbour in units of its own."""
    narrow = np.minimum(np.append(width[0], width[:-1]), np.append(width[1:], width[-1]))
    return np.minimum(narrow / width, 1.0)


def _log_mean(step: Array) -> Array:
    """log of the mean of e^{-|step| u} over u in [0, 1]."""
    size = np.where(np.isfinite(step), np.minimum(np.abs(step), -NOTHING), 0.0)
    safe = np.maximum(size, 1e-8)
    return np.where(size > 1e-8, np.log(-np.expm1(-safe) / safe), -0.5 * size)


def _refuse(bad: Bools, z: Array, shape: Shape, name: str, wanted: str) -> None:
    if bool(bad.any()):
        at = float(z[int(np.argmax(bad))] * shape.length)
        raise rejected(name, f"not so at {at:g}", wanted)


def _tail(shape: Shape, edges: Array) -> float:
    """Bound on the probability of all that lies outside the cells, under any input."""
    below = shape.chances(edges[:1])[0][0]
    above = shape.chances(edges[-1:] - 1.0)[1][0]
    return float(below + above) * (1.0 + 2.0 * shape.rel) + 1e-300


def reaches(shape: Shape) -> tuple[float, float]:
    """How far down and up the noise reaches, in units of the interval: hardly any is beyond."""
    if shape.reach is not None:
        # Noise under the farther input is one interval further out.
        return shape.reach / shape.length - 1.0, shape.reach / shape.length - 1.0
    grid = 2.0 ** np.arange(math.log2(_NEAREST), math.log2(_FARTHEST) + 0.25, 0.25)
    found = []
    for sign in (-1.0, 1.0):
        chances = called(
            shape.below if sign < 0 else shape.above, "cdf", sign * grid * shape.length
        )
        small = np.flatnonzero(chances <= (SMALLEST_MASS if shape.log_concave else _RARE))
        found.append(float(grid[small[0]]) if small.size else _FARTHEST)
    return found[0], found[1]


def middle_half(shape: Shape, farthest: float) -> float:
    """About the distance that half of the noise exceeds, in units of the interval."""
    grid = farthest * 2.0 ** -np.arange(0.0, 100.0, 0.5)
    below, above = shape.chances(-grid)[0], shape.chances(grid)[1]
    return float(grid[np.searchsorted(below + above, 0.5)])


def _cut_points(shape: Shape, at: Array, cells: int) -> Array:
    """Geometric cells around every turn of every density, cut where ratios move."""
    down, up = reaches(shape)
    farthest = max(down, up)
    middle = middle_half(shape, farthest)
    near = _CLOSEST * middle
    count = math.ceil(math.log((farthest + 1.0) / near) / math.log(_RATIO)) + 2
    steps = np.geomspace(near, farthest + 1.0, count)
    places = np.array(sorted({*shape.turns, 0.0})) / shape.length
    # Far out, where inputs look the same, cells of all of them would be too narrow.
    far = steps[steps >= max(_FAR, _MIDDLES * middle)]
    steps = steps[: steps.size - far.size]
    parts = [np.array([-down, 0.0, 0.5, 1.0, 1.0 + up]), -far, 1.0 + far]
    for x in np.unique(np.concatenate([at, [0.0, 1.0]])):
        for place in places:
            parts += [x + place - steps, np.array([x + place]), x + place + steps]
    edges = np.concatenate(parts)
    edges = np.unique(edges[(edges >= -down) & (edges <= 1.0 + up)])
    if not shape.log_concave:
        # Ratios are known by the change of a density over the cell: none is large.
        steps = np.diff([shape.logs(edges - x) for x in (*at, 0.0, 1.0)], axis=1)
        change = np.minimum(np.abs(steps).max(axis=0), _MOST_PARTS * _LARGEST_CHANGE)
        edges = refined(edges, [change], math.ceil(float(change.sum()) / _LARGEST_CHANGE))
    return refined(edges, _costs(shape, at, edges), cells)


def _costs(shape: Shape, at: Array, edges: Array) -> list[Array]:
    """How much ratios vary on each cell, weighed by more or less of the cell's mass."""
    logs = np.array([shape.logs(edges - x) for x in (*at, 0.0, 1.0)])
    steps = np.diff(logs, axis=1)
    if shape.log_concave:
        steps = steps - steps[0]
        steps = steps - steps.mean(axis=0)
    moves = np.minimum(np.abs(steps).max(axis=0), 1.0)
    level = np.maximum(logs[:, :-1], logs[:, 1:]).max(axis=0) + np.log(np.diff(edges))
    level -= level.max()
    return [moves * np.exp(np.maximum(power * level, -700.0)) for power in (1 / 3, 1 / 12, 1 / 48)]
