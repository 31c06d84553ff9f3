"""Gaussian noise for vectors in a Euclidean ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.ball.record import WorstPairs
from shuffledp.errors import NotCertified
from shuffledp.mechanism import Positive, Whole
from shuffledp.randomizers.base import DEFAULT_CELLS, Reports
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.law import StatedLaw
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.values import blocks
from shuffledp.randomizers.vectors import (
    LARGEST_DIMENSION,
    grown_radius,
    vector_reports,
    vector_values,
)
from shuffledp.randomness import RandomSource
from shuffledp.theorems import ANTIPODAL

U = UNIT_ROUNDOFF
_LARGEST_RATIO = 20.0
_FEWEST_STEPS = 2.0**20
# Of the cells asked for one in so many along and across, where log ratios move by 20 r and 7 r in
# all, and the fewest and most of them: some hundred thousand are sorted in a few hundredths of a
# second.
_ALONG, _ACROSS = 80, 256
_FEWEST_ALONG, _FEWEST_ACROSS, _MOST_ALONG, _MOST_ACROSS = 16, 32, 1024, 256
# Cells reach so far that 1e-40 is beyond; those of the bulk are even.
_REACH, _BULK = 13.6, 5.0
_RARE = 1e-41
# Of the distribution functions of SciPy, relative; and of masses of cells, which are differences.
_LIBRARY = 1e-13
_SMALLEST = 1e-280


@dataclass(frozen=True, kw_only=True)
class GaussianBall(MeanRandomizer):
    """Gaussian noise N(0, sigma^2) on every coordinate of a vector of length at most radius.

    The blanket is radial: with r = radius/sigma, in units of sigma, B(y) is the normal density at
    distance |y| + r, of mass about e^{-r sqrt(d) - r^2/2}. It thins exponentially in sqrt(d) r: in
    many dimensions shuffling buys something only if sigma is large against radius sqrt(d). Two
    antipodal points are the worst pair (docs/theory.md, Theorem 4.10); their likelihood ratio
    depends on the coordinate along them alone, so lower ends are those of one dimension.

    Inputs of its law are places on a diameter, from -radius to radius.

    Parameters
    ----------
    d : int
        Dimension, 2 to 10,000.
    sigma : float
        Standard deviation of each coordinate, in the units of the input; radius/sigma <= 20.
    radius : float
        Largest Euclidean length of a vector.

    Notes
    -----
    The blanket's law: docs/theory-noise.md, section 4. Reports are float64, shape (n, d), each
    coordinate drawn as those of ``Gaussian``; the ball of the law is larger by the lattice's step.
    """

    task: ClassVar[str] = "Means of vectors"
    in_files: ClassVar[bool] = False
    name: ClassVar[str] = "gaussian-ball"
    summary: ClassVar[str] = "Gaussian noise for vectors in a Euclidean ball"
    d: Annotated[int, Whole(low=2, high=LARGEST_DIMENSION)]
    sigma: Annotated[float, Positive(high=1e100)]
    radius: Annotated[float, Positive(high=1e100)] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.real("radius/sigma", self.radius / self.sigma, low=1e-9, high=_LARGEST_RATIO)

    @property
    def eps0(self) -> float:
        """inf: Gaussian noise has no pure local guarantee."""
        return math.inf

    def local_epsilon(self, delta: float) -> float:
        """That of one dimension and the diameter."""
        return self._diameter.local_epsilon(delta)

    @property
    def local_rho(self) -> float:
        """That of one dimension and the diameter."""
        return self._diameter.local_rho

    @property
    def _diameter(self) -> Gaussian:
        """Of two antipodal points only the coordinate along them matters."""
        return Gaussian(sigma=self.sigma, low=-self.grown, high=self.grown)

    @property
    def line(self) -> Gaussian:
        """Each coordinate's mechanism: that along the diameter decides all ratios of a data set."""
        return Gaussian(sigma=self.sigma, low=-self.radius, high=self.radius)

    @property
    def grown(self) -> float:
        """Radius of the ball that holds all rounded values."""
        try:
            steps = float(self.line._lattice[1])  # noqa: SLF001 (the lattice that is run)
        except NotCertified:
            steps = _FEWEST_STEPS  # no sampler
        return grown_radius(self, steps)

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> StatedLaw:
        """Of two inputs: cells of the coordinate along the diameter and the length across it.

        On each cell the blanket is replaced by a Gaussian density below it that touches it in the
        middle: its masses are products of those of a normal and a chi-square law. The ball is
        larger by the lattice's step.
        """
        r = self.grown / self.sigma
        at = np.array([self._place(x) for x in inputs])
        along, across = self._cuts(cells)
        left, right = (np.repeat(v, across.size - 1) for v in (along[:-1], along[1:]))
        low, high = (np.tile(v, along.size - 1) for v in (across[:-1], across[1:]))
        ring = _chi_square(self.d - 1, across[:-1], across[1:])
        mass = np.array([np.outer(_normal(along - x), ring).ravel() for x in at])
        # |y| <= l/2 + |y|^2/(2 l), l next to |y|: with equality where |y| = l.
        middle = np.sqrt(0.25 * (left + right) ** 2 + 0.5 * (low + high))
        far = np.max([middle, np.abs(left), np.abs(right)], axis=0)
        bend = r / far
        scale = np.sqrt(1.0 + bend)
        top = -0.5 * r * (far + r) - 0.5 * self.d * np.log1p(bend)
        blanket = np.exp(np.maximum(top, -745.0)) * _between(left * scale, right * scale)
        blanket *= _chi_square(self.d - 1, low * scale**2, high * scale**2)
        # Logarithms of densities over that of the noise around 0; the blanket's half way across.
        half = 0.5 * (low + high)
        err = 0.25 * bend * (high - low) + 64 * U * (1.0 + r) * (far + r + _REACH)
        if float(np.abs(at).min()) < r:
            # Of an input within the ball the log ratio, a parabola of curvature bend, may turn
            # inside a cell; of its ends it turns at a distance of far or more.
            err += 0.125 * bend * (right - left) ** 2
        edges = [-0.5 * r * (far + r) - 0.5 * bend * (y * y + half) for y in (left, right)]
        there = (mass.max(axis=0) > _SMALLEST) & (blanket > _SMALLEST)
        lost = float(mass[:, ~there].sum()) * 1.01 + 4.0 * _RARE
        kept = np.flatnonzero(there)
        return StatedLaw(
            mass=mass[:, kept],
            blanket=blanket[kept],
            rel=self._error(along, across),
            tail=lost,
            left=np.outer(at, left[kept]) - 0.5 * (at * at)[:, None],
            right=np.outer(at, right[kept]) - 0.5 * (at * at)[:, None],
            blanket_left=edges[0][kept],
            blanket_right=edges[1][kept],
            err=err[kept],
        )

    def _cuts(self, cells: int) -> tuple[Array, Array]:
        """Cut points along the diameter and of the squared length across, in units of sigma."""
        along = min(max(_FEWEST_ALONG, cells // _ALONG), _MOST_ALONG)
        across = min(max(_FEWEST_ACROSS, cells // _ACROSS), _MOST_ACROSS)
        return _grid(self.grown / self.sigma, along), _squares(self.d - 1, across)

    def _error(self, along: Array, across: Array) -> float:
        """Relative error of a product of two differences of distribution functions."""
        width = np.diff(along) / (1.0 + np.abs(along[1:]))
        return 32.0 * _LIBRARY / float(min(width.min(), 1.0 / across.size)) + 64 * U * self.d

    def _place(self, x: Any) -> float:
        """The input's place in units of sigma, the ends moved out with the ball."""
        value = _check.real("input", x, low=-self.radius, high=self.radius)
        return value / self.radius * (self.grown / self.sigma)

    def worst_pairs(self) -> WorstPairs:
        """Antipodal points; mirrored, the other direction has the same law."""
        return WorstPairs(((-self.radius, self.radius),), ANTIPODAL)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at antipodal points, all others at one of them or at the centre."""
        return tuple((-self.radius, self.radius, x2) for x2 in (-self.radius, 0.0))

    # ---------------------------------------------------------------------------- running it

    def variance(self, frequency: float = 0.0) -> float:
        """Of one coordinate, per user: that of the noise that is run, sigma^2 or a little more."""
        return self.line.variance(frequency)

    @property
    def message_bits(self) -> float:
        """64 d: a float for each coordinate."""
        return 64.0 * self.d

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return vector_values(self, values)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = np.empty(values.shape)
        for users in blocks(len(values), self.d):
            flat = np.clip(values[users], -self.radius, self.radius).ravel()
            made = self.line._sample(flat, source)  # noqa: SLF001 (coordinate by coordinate)
            reports[users] = made.reshape(-1, self.d)
        return reports

    def _unbiased(self, reports: ArrayLike) -> Floats:
        return vector_reports(self.d, reports)


def _grid(r: float, cells: int) -> Array:
    """Cut points along the diameter: even around the inputs, growing outwards."""
    inner = np.linspace(-r - _BULK, r + _BULK, max(9, 3 * cells // 4))
    step = float(inner[1] - inner[0])
    count = max(3, math.ceil(math.log(_REACH / _BULK) / math.log1p(0.25 * step)))
    outer = _BULK * np.exp(np.linspace(0.0, math.log(_REACH / _BULK), max(count, cells // 8)))[1:]
    return np.concatenate([-r - outer[::-1], inner, r + outer])


def _squares(freedom: int, cells: int) -> Array:
    """Cut points of the squared length across, at even deviations in the bulk."""
    a = 0.5 * freedom
    far = np.linspace(_BULK, _REACH, max(5, cells // 4))[1:]
    z = np.concatenate([np.linspace(-_BULK, _BULK, 3 * cells // 4), far])
    chance = special.ndtr(z[z < 0.0])
    below = 2.0 * special.gammaincinv(a, chance)
    above = 2.0 * special.gammainccinv(a, special.ndtr(-z[z >= 0.0]))
    return np.concatenate([[0.0], below, above])


def _normal(z: Array) -> Array:
    """Masses of the cells between these cut points."""
    return _between(z[:-1], z[1:])


def _between(left: Array, right: Array) -> Array:
    """P(left <= Z <= right), from the side where it is small."""
    mirrored = left > 0.0
    return np.where(
        mirrored,
        special.ndtr(-left) - special.ndtr(-right),
        special.ndtr(right) - special.ndtr(left),
    )


def _chi_square(freedom: int, low: Array, high: Array) -> Array:
    """Masses of chi-square cells, from the side where they are small."""
    a = 0.5 * freedom
    upper = low > freedom
    found = np.where(
        upper,
        special.gammaincc(a, 0.5 * low) - special.gammaincc(a, 0.5 * high),
        special.gammainc(a, 0.5 * high) - special.gammainc(a, 0.5 * low),
    )
    return np.maximum(found, 0.0)
