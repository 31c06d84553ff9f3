"""Gaussian noise for vectors in a Euclidean ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.record import WorstPairs
from shuffledp.mechanism import Positive, Whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.gaussian import Gaussian
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

_LARGEST_RATIO = 20.0
# The lattice of each coordinate has 2^40 steps from -radius to radius, so that the ball of the law
# is hardly larger than that of the values.
_BITS = 40


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
    name: ClassVar[str] = "gaussian-ball"
    summary: ClassVar[str] = "Gaussian noise for vectors in a Euclidean ball"
    in_files: ClassVar[bool] = False
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
        return grown_radius(self, 2.0**_BITS)

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
            reports[users] = self.line.sample_on(_BITS, flat, source).reshape(-1, self.d)
        return reports

    def _unbiased(self, reports: ArrayLike) -> Floats:
        return vector_reports(self.d, reports)
