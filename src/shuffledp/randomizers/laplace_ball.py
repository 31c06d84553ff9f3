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
from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.record import WorstPairs
from shuffledp.mechanism import Follows, Number, Positive, Whole
from shuffledp.neighbours import REPLACEMENT, Relation, Within
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.gamma import gamma_power
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.noise import (
    MILLS,
    Bools,
    Cells,
    around,
    draw,
    tails,
    to_lattice,
)
from shuffledp.randomizers.values import blocks
from shuffledp.randomizers.vectors import (
    grown_radius,
    vector_reports,
    vector_values,
)
from shuffledp.randomness import RandomSource, Uniform, Words
from shuffledp.theorems import METRIC_LABELS

U = UNIT_ROUNDOFF
_LARGEST_DIMENSION = 16
# Names of the victim's two label laws.
LABELS = (-1, -2)
_FINER = 2.0**32


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
    shape (n, d), middles of the cells of a lattice, drawn with exactly their probabilities (see
    ``randomizers.noise``): noise is a normal vector times the root of a gamma number. The ball and
    the distance of the law are larger by the lattice's step.
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
    def steps(self) -> float:
        """Steps of the lattice from -radius to radius: 2^32 to it and to the noise."""
        return 2.0 ** math.ceil(math.log2(_FINER * max(1.0, self.radius / self.scale)))

    @property
    def grown(self) -> float:
        """Radius of the ball that holds all rounded values."""
        return grown_radius(self, self.steps)

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
        steps, width = self.steps, 2.0 * self.radius
        reports = np.empty(values.shape)
        for users in blocks(len(values), self.d):
            place = np.clip((values[users].ravel() + self.radius) / width, 0.0, 1.0)
            law = _BallCells(self, source.words(len(values[users])), source)
            sums = draw(law, to_lattice(place, int(steps), source), source)
            reports[users] = (-self.radius + width * (sums / steps)).reshape(-1, self.d)
        return reports

    def _unbiased(self, reports: ArrayLike) -> Floats:
        return vector_reports(self.d, reports)


class _BallCells(Cells):
    """Coordinates of noise in cells of the lattice, d of them a user.

    With t of the law Gamma((d + 1)/2) and N a standard normal vector, scale sqrt(2 t) N has density
    proportional to e^(-|z|/scale): int t^(-1/2) e^(-r^2/(4 t) - t) dt is sqrt(pi) e^-r.
    """

    def __init__(self, mechanism: LaplaceBall, words: Words, source: RandomSource) -> None:
        self._d, self._half = mechanism.d, 0.5 * (mechanism.d + 1)
        # Cells to the scale.
        self._per_scale = mechanism.steps * (mechanism.scale / (2.0 * mechanism.radius))
        self._mechanism, self._words, self._source = mechanism, words, source
        self._numbers: dict[int, Uniform] = {}

    def possible(self, tail: Floats, doubt: Floats, upper: Bools) -> tuple[Floats, Floats]:
        """Products of a normal number and the root of 2 t."""
        own, unsure, above = tails(self._words)
        a, p = self._half, np.where(above, 0.5 * own, 1.0 - 0.5 * own)
        root, error = gamma_power(a, 0.5, p)
        root *= math.sqrt(2.0)
        t = 0.5 * root * root
        # p/density, relative to t: what a relative error of p does to t.
        error += 0.5 * unsure * p * math.gamma(a) * np.exp(t) / t**a
        root, error = np.repeat(root, self._d), np.repeat(error, self._d)
        normal = -special.ndtri(0.5 * tail)
        size = self._per_scale * root * normal
        least, most = around(size, self._per_scale * root * (MILLS * doubt + error * normal))
        return np.where(upper, least, -1.0 - most), np.where(upper, most, -1.0 - least)

    def reached(self, j: int, user: int, number: Uniform) -> bool:
        """Noise and cell have the same sign, and t is at least (j/(cells to the scale N))^2/2."""
        positive = number.below(lambda: arb(0.5))
        if positive != (j > 0):
            return positive
        own = user // self._d
        if own not in self._numbers:
            self._numbers[own] = Uniform(int(self._words[own]), self._source)
        mechanism = self._mechanism

        def chance() -> arb:
            normal = arb(2).sqrt() * (2 * number.ball()).erfcinv()
            distance = j * 2 * arb(mechanism.radius) / (mechanism.steps * arb(mechanism.scale))
            level = (distance / normal) ** 2 / 2
            return level.gamma_upper(arb(self._half), regularized=1)

        return self._numbers[own].below(chance) == positive
