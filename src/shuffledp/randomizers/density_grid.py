"""What is sent of noise drawn by inversion: cells that hold many draws, whatever the value.

A number drawn by inversion is one of finitely many, which an observer knows: where these are
farther apart than the cells of a lattice, a cell that no draw falls in betrays the value it was
added to. So the sum of the value's cell and the noise's is taken exactly, as a whole number, and
what is sent is a coarser cell of it, of a width that depends on the sum's octave alone. That is
post-processing of an ideal report, whose probabilities the draws have nearly: the width is such
that every coarse cell holds at least 2^18 times what its probability may be off by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.floats import Array
from shuffledp.errors import NotCertified
from shuffledp.randomizers.density_law import Shape, reaches
from shuffledp.randomizers.noise import Cells

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# What a coarse cell's probability may be off by, of itself: half for the distribution function and
# the draws, a quarter for floats of the noise's place and a quarter for the halving that finds it.
ACCURACY = 2.0**-18
PLACES = ACCURACY / 4.0
# Draws u of ``fine_unit`` are 2^-51 u apart at most.
_DRAWS = 2.0**-51
# Noise in units of the interval is rounded to 53 digits twice, as is half of that.
_ROUNDED = 2.0**-51
# No lattice is finer: its middles would not be floats.
_FINEST = 53
# Between places at which they are compared log f moves by at most this, if halving can do it.
_MOVES, _ROUNDS = 0.5, 60
# No draw of ``fine_unit`` is smaller.
SMALLEST_DRAW = 2.0**-902
# Draws have this probability to a part of 2^-80.
_HARDLY_ANY = SMALLEST_DRAW * 2.0**32
# Reports as rare as this may be one cell: in any number of them there is none.
_UNSEEN = 2.0**-400
# Lattice and coarse cells are narrower than this part of what they are for: the quartiles'
# distance, or the distance of the report from 0. Rounding adds less than 2^-17 to the variance.
_COARSEST = 2.0**-8
# Places of each octave at which density and distribution function are compared.
_PLACES = 16
# The first octave of coarse cells starts so many halvings above the interval: at twice its length.
_FIRST_OCTAVE = 1
# Finest place looked at, in units of the quartiles' distance.
_NEAREST = 2.0**-20


@dataclass(frozen=True)
class Grid:
    """The lattice of a density's reports, and the coarse cells of sums on it.

    Attributes
    ----------
    bits : int
        The lattice has 2^bits steps from low to high.
    halvings : ndarray of int
        Coarse cells of sums from 2^(bits + 1 + i) to twice that have 2^halvings[i] steps.
    lowest, highest : int or None
        Sums beyond are sent as these: the functions are not called as far out as the noise goes,
        nor do draws go as far. None where noise has an end, or a light tail.
    """

    bits: int
    halvings: Integers
    lowest: int | None
    highest: int | None

    def sent(self, sums: Cells) -> Floats:
        """Middles of the coarse cells of these whole numbers, in units of the interval.

        Sum -1 - s is the mirror image of s.
        """
        # What no 64-bit integer reaches cuts none of them.
        most = (1 << 63) - 1
        if self.lowest is not None and (sums.dtype != np.int64 or self.lowest >= -most):
            sums = np.maximum(sums, self.lowest)
        if self.highest is not None and (sums.dtype != np.int64 or self.highest <= most):
            sums = np.minimum(sums, self.highest)
        size = np.where(sums < 0, ~sums, sums)
        coarser = self._coarser(size)
        whole = (size >> coarser.astype(size.dtype)).astype(np.float64)
        middle = np.ldexp(whole + 0.5, (coarser - self.bits).astype(np.intc))
        return np.where(sums < 0, -middle, middle)

    def _coarser(self, size: Cells) -> Integers:
        """By the octave, which is found in whole numbers."""
        first = self.bits + _FIRST_OCTAVE
        # What no 64-bit integer reaches is not looked up among these.
        largest = (1 << 63) - 1 if size.dtype == np.int64 else 1 << (first + len(self.halvings))
        starts = [min(1 << (first + i), largest) for i in range(len(self.halvings))]
        octave = np.searchsorted(np.array(starts, dtype=size.dtype), size, side="right")
        return np.concatenate([[0], self.halvings])[octave]

    @property
    def widest(self) -> float:
        """Of all coarse cells, in parts of their distance from 0."""
        octaves = self.bits + _FIRST_OCTAVE + np.arange(len(self.halvings))
        return float((2.0 ** (self.halvings - octaves)).max(initial=0.0))


def density_grid(shape: Shape, bits: int, quartiles: float) -> Grid:
    """The finest lattice up to 2^bits steps, and coarse cells, that hold many draws each.

    Parameters
    ----------
    shape : Shape
        The density.
    bits : int
        Halvings of the interval that are wanted.
    quartiles : float
        Their distance, in units of the interval.

    Raises
    ------
    NotCertified
        If the density is so small somewhere that only cells too wide would do.
    """
    wanted = _wanted(shape, quartiles)
    far = max(reaches(shape))
    # A sum of less than two intervals' length: noise of less than three.
    near = wanted.within(0.0, 3.0)
    if not near <= min(1.0, _COARSEST * quartiles):
        raise _refused(shape, near)
    found = min(bits, math.floor(-math.log2(max(near, 2.0**-_FINEST))))
    halvings, octave = [], _FIRST_OCTAVE
    while 2.0**octave <= far + 1.0:
        least = wanted.within(2.0**octave - 1.0, 2.0 ** (octave + 1) + 1.0)
        if not least <= _COARSEST * 2.0**octave:
            raise _refused(shape, least)
        halvings.append(max(0, math.ceil(math.log2(max(least, 2.0**-found)) + found)))
        octave += 1
    lowest, highest = _ends(shape, found)
    return Grid(found, np.array(halvings, dtype=np.int64), lowest, highest)


def _refused(shape: Shape, width: float) -> NotCertified:
    msg = (
        f"density: rel = {shape.rel:g}: no sampler, as only cells of {width * shape.length:.1g} "
        "would have probabilities to a part of 2^-18; wanted a smaller rel, or a density that is "
        "not so small where much of the noise lies farther out"
    )
    return NotCertified(msg)


def _ends(shape: Shape, bits: int) -> tuple[int | None, int | None]:
    """Sums that are the same whether noise beyond a place is cut there or not."""
    down, up = _cut(shape, above=False), _cut(shape, above=True)
    lowest = None if down is None else -math.floor((-down - 1.0) * 2.0**bits) + 2
    highest = None if up is None else math.floor(up * 2.0**bits) - 2
    return lowest, highest


def _cut(shape: Shape, *, above: bool) -> float | None:
    """The reach of the inversion, or a place that hardly any draw passes.

    None where reports within an interval of that place are not rare: they are not to be one cell.
    """
    down, up = reaches(shape)
    side, far, near, inward = (1, up, -down, -1.0) if above else (0, -down, up, 1.0)

    def passed(y: float) -> float:
        return float(shape.chances(np.array([y]))[side][0])

    if passed(far) >= SMALLEST_DRAW:
        return far
    for _ in range(_ROUNDS):
        middle = 0.5 * (far + near)
        far, near = (far, middle) if passed(middle) >= _HARDLY_ANY else (middle, near)
    return near if passed(near + inward) <= _UNSEEN else None


@dataclass(frozen=True)
class _Wanted:
    """Widths of cells that are enough between neighbouring places."""

    left: Array
    right: Array
    width: Array

    def within(self, near: float, far: float) -> float:
        """Enough for cells of noise at a distance from near to far, on either side."""
        right = (self.right > near) & (self.left < far)
        left = (self.left < -near) & (self.right > -far)
        return float(self.width[right | left].max(initial=0.0))


def _wanted(shape: Shape, quartiles: float) -> _Wanted:
    """rho T/f, T the probability of noise farther out and f the density, at their worst.

    A cell [A, B) of probability p with T = P(Z < B) <= 1/2 has draws u between F(A) and F(B), and
    is off by at most (2 rel + 2^-51) T: the error of F at its ends and half a draw at each. Of p it
    is 2^-19 where p >= rho T, rho = 2^19 (2 rel + 2^-51). With T <= R f everywhere on it, p is at
    least its width times P(Z < A)/R, and T = p + P(Z < A): enough is a width of R rho/(1 - rho).
    """
    seen = _finely_seen(shape, _places(shape, quartiles))
    y, least = seen.y, np.minimum(seen.f[:-1], seen.f[1:])
    most = np.where((seen.below[:-1] < 0.5) & (seen.below[1:] >= 0.5), 0.5, seen.most)
    ratio = np.full(most.shape, np.inf)
    np.divide(most, least, out=ratio, where=least > 0.0)
    # Where noise ends T is at most f times the distance to the end.
    ratio = np.where(seen.ends, np.minimum(ratio, np.diff(y)), ratio)
    rho = (2.0 * shape.rel + _DRAWS) / (0.5 * ACCURACY)
    floats = np.maximum(np.abs(y[:-1]), np.abs(y[1:])) * (_ROUNDED / PLACES)
    width = np.maximum(ratio * (rho / (1.0 - rho)), floats)
    return _Wanted(y[:-1], y[1:], np.where(most > SMALLEST_DRAW, width, 0.0))


@dataclass(frozen=True)
class _Seen:
    """Density and probabilities at places; both are monotone between them, on one side of 1/2."""

    y: Array
    f: Array
    below: Array
    above: Array

    @property
    def farther(self) -> Array:
        """Probability of noise farther out."""
        return np.minimum(self.below, self.above)

    @property
    def most(self) -> Array:
        """The largest of it between neighbouring places."""
        return np.maximum(self.farther[:-1], self.farther[1:])

    @property
    def ends(self) -> Bools:
        """Whether the noise ends between them."""
        return np.minimum(self.farther[:-1], self.farther[1:]) <= SMALLEST_DRAW

    @property
    def steep(self) -> Bools:
        """Whether the density moves much between them, where draws may fall."""
        least, largest = np.minimum(self.f[:-1], self.f[1:]), np.maximum(self.f[:-1], self.f[1:])
        return (self.most > SMALLEST_DRAW) & ~self.ends & (largest > math.exp(_MOVES) * least)


def _finely_seen(shape: Shape, y: Array) -> _Seen:
    """At these places, and at middles in between until the density moves little."""
    seen = _seen(shape, y)
    for _ in range(_ROUNDS):
        middle = 0.5 * (seen.y[:-1] + seen.y[1:])
        more = middle[seen.steep & (seen.y[:-1] < middle) & (middle < seen.y[1:])]
        if not more.size:
            break
        seen = _seen(shape, np.union1d(seen.y, more))
    return seen


def _seen(shape: Shape, y: Array) -> _Seen:
    return _Seen(y, np.exp(shape.logs(y)), *shape.chances(y))


def _places(shape: Shape, quartiles: float) -> Array:
    """Places around 0 and every turn, and on either side of it."""
    far = max(reaches(shape))
    near = min(_NEAREST * quartiles, _NEAREST * far)
    count = math.ceil(_PLACES * math.log2(far / near)) + 1
    steps = np.concatenate([[1e-9 * near, 0.0], np.geomspace(near, far, count)])
    turns = np.array(sorted({*shape.turns, 0.0})) / shape.length
    places = np.concatenate([turn + sign * steps for turn in turns for sign in (-1.0, 1.0)])
    down, up = reaches(shape)
    return np.unique(np.concatenate([[-down, up], places[(places > -down) & (places < up)]]))
