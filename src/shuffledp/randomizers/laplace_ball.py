"""Laplace noise for vectors in a Euclidean ball; in the plane, geo-indistinguishability."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.record import WorstPairs
from shuffledp.mechanism import Follows, Number, Positive, Whole
from shuffledp.neighbours import REPLACEMENT, Relation, Within
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.noise import coarse_middles, plus, to_lattice, whole
from shuffledp.randomizers.values import blocks
from shuffledp.randomizers.vectors import (
    grown_radius,
    vector_reports,
    vector_values,
)
from shuffledp.randomness import RandomSource
from shuffledp.theorems import METRIC_LABELS

U = UNIT_ROUNDOFF
_LARGEST_DIMENSION = 16
# Names of the victim's two label laws.
LABELS = (-1, -2)
_FINER = 2.0**32
# Of 52 digits that noise has: a cell that is sent holds 2^18 numbers that it may be.
_DIGITS = 34


@dataclass(frozen=True, kw_only=True, repr=False)
class LaplaceBall(MeanRandomizer):
    """Noise with density proportional to e^{-|z|/scale} for vectors of length at most radius.

    f_x <= e^{|x - x'|/scale} f_x', |.| the Euclidean length: metric privacy of 1/scale for each
    unit of distance; for d = 2 planar Laplace on a disc (geo-indistinguishability). Neighbouring
    datasets: one user's vector moved by at most ``distance``; all others lie anywhere in the ball.

    With p = e^{distance/scale}, q = e^{2 radius/scale} and beta the total variation at that
    distance, (in the plane 2/pi int_0^{distance/(2 scale)} x K_1(x) dx), the upper end is the
    repaired variation ratio of p, beta and q. In this form gamma = (1 + beta)/q: of the blanket's
    mass, e^{-radius/scale}, most is given away, unless the ball is small against the noise. The
    lower end is exact for one pair of datasets.

    Inputs of its law: 0 and 1 are two points at the distance, -1 and -2 the victim's label laws.

    Parameters
    ----------
    d : int
        Dimension, 2 to 16.
    scale : float
        Scale of the noise, in the units of the input; 2 radius/scale <= 300.
    radius : float
        Largest Euclidean length of a vector.
    distance : float, optional
        Largest distance of two neighbouring vectors; 2 radius by default.

    Notes
    -----
    Andres, Bordenabe, Chatzikokolakis, Palamidessi 2013; Wang et al. 2024, Table 2 (p, beta and q;
    repaired in docs/theory.md, Theorem 5.4); docs/theory-noise.md, section 5. Reports are float64,
    shape (n, d), middles of the cells of a lattice. Noise is drawn by inversion in floating point,
    from numbers with 52 digits, however small; its cells and the value's are added as whole
    numbers, and of sums from 2^34 cells on the first 34 binary digits are sent. The bounds do not
    cover that the probability of a cell that is sent may be off by a relative 2^-18 or so. The ball
    and the distance of the law are larger by the lattice's step.
    """

    task: ClassVar[str] = "Means of vectors"
    in_files: ClassVar[bool] = False
    name: ClassVar[str] = "laplace-ball"
    summary: ClassVar[str] = "Laplace noise for vectors in a ball, neighbours at a distance"
    d: Annotated[int, Whole(low=2, high=_LARGEST_DIMENSION)]
    scale: Annotated[float, Positive(high=1e100)]
    radius: Annotated[float, Positive(high=1e100)] = 1.0
    distance: Annotated[
        float | None,
        Follows(
            Number(low=lambda m: 1e-6 * m.scale, high=lambda m: 2.0 * m.radius),
            lambda m: 2.0 * m.radius,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.real("2 radius/scale", 2.0 * self.radius / self.scale, low=1e-6, high=299.0)

    @property
    def eps0(self) -> float:
        """2 radius/scale, of the ball with its margin: any two vectors, neighbours or not."""
        return 2.0 * self.grown / self.scale * (1.0 + 8 * U)

    def local_epsilon(self, delta: float) -> float:
        """Of one report alone, for neighbours: distance/scale, rounded up."""
        del delta
        return min(self.eps0, self.separation * (1.0 + 8 * U))

    @property
    def local_rho(self) -> float:
        """By the pure guarantee of neighbours."""
        return 0.5 * self.local_epsilon(0.5) ** 2 * (1.0 + 8 * U)

    def at(self, distance: float) -> LaplaceBall:
        """The same mechanism for neighbours at most this far apart."""
        return dataclasses.replace(self, distance=distance)

    @property
    def relation(self) -> Relation:
        """One vector moved by at most the distance, if that is not all of the ball."""
        if self.reach >= 2.0 * self.radius:
            return REPLACEMENT
        return Within(self.reach, of="vector")

    def unrestricted(self) -> LaplaceBall:
        """Any two vectors of the ball."""
        return self.at(2.0 * self.radius)

    @property
    def reach(self) -> float:
        """The distance, as a number."""
        return 2.0 * self.radius if self.distance is None else self.distance

    @property
    def _steps(self) -> float:
        """Steps of the lattice from -radius to radius: 2^32 to it and to the noise."""
        return 2.0 ** math.ceil(math.log2(_FINER * max(1.0, self.radius / self.scale)))

    @property
    def grown(self) -> float:
        """Radius of the ball that holds all rounded values."""
        return grown_radius(self, self._steps)

    @property
    def separation(self) -> float:
        """Largest distance of neighbours after rounding to the lattice, in scales."""
        return (self.reach + 2.0 * (self.grown - self.radius)) / self.scale

    def worst_pairs(self) -> WorstPairs:
        """The labels; exchanged, they are the other direction."""
        return WorstPairs((LABELS,), METRIC_LABELS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Two points at the distance, all others at one of them."""
        return ((0, 1, 0), (0, 1, 1))

    # ---------------------------------------------------------------------------- running it

    def variance(self, frequency: float = 0.0) -> float:
        """(d + 1) scale^2, of one coordinate, per user."""
        del frequency
        return (self.d + 1.0) * self.scale**2

    @property
    def message_bits(self) -> float:
        """64 d: a float for each coordinate."""
        return 64.0 * self.d

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return vector_values(self, values)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        steps, width = self._steps, 2.0 * self.radius
        reports = np.empty(values.shape)
        for users in blocks(len(values), self.d):
            place = np.clip((values[users] + self.radius) / width, 0.0, 1.0)
            count = len(place)
            across = source.fine_normal(count * self.d).reshape(count, self.d)
            across /= np.sqrt(np.einsum("ij,ij->i", across, across))[:, None]
            length = self._lengths(count, source) * (self.scale / width)
            cells = to_lattice(place.ravel(), int(steps), source)
            noise = whole((across * length[:, None] * steps).ravel())
            sums = coarse_middles(plus(cells, noise), _DIGITS) / steps
            reports[users] = -self.radius + width * sums.reshape(place.shape)
        return reports

    def _lengths(self, count: int, source: RandomSource) -> Floats:
        """Lengths in scales, Gamma(d): short and long ones from small probabilities each."""
        small, long = 0.5 * source.fine_unit(count), source.coins(b"\x80", count)
        d = float(self.d)
        return np.where(long, special.gammainccinv(d, small), special.gammaincinv(d, small))

    def _unbiased(self, reports: ArrayLike) -> Floats:
        return vector_reports(self.d, reports)
