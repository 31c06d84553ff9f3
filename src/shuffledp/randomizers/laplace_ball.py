"""Laplace noise for vectors in a Euclidean ball; in the plane, geo-indistinguishability."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.errors import rejected
from shuffledp.mechanism import Follows, Number, Positive, Whole
from shuffledp.neighbours import REPLACEMENT, Relation, Within
from shuffledp.randomizers.base import DEFAULT_CELLS, Reports, WorstPairs
from shuffledp.randomizers.law import CellEdges, JointLaw, without_empty
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
_LABELS, _POINTS = (-1, -2), (0, 1)
_PARTS = 1 << 17
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_MOST_CELLS, _FEWEST_CELLS = 1 << 13, 1 << 12
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

    Inputs of ``law``: 0 and 1 are two points at the distance, -1 and -2 the victim's label laws.

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
        return 2.0 * self._reach / self.scale * (1.0 + 8 * U)

    def local_epsilon(self, delta: float) -> float:
        """Of one report alone, for neighbours: distance/scale, rounded up."""
        del delta
        return min(self.eps0, self._separation * (1.0 + 8 * U))

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
        if self._given >= 2.0 * self.radius:
            return REPLACEMENT
        return Within(self._given, of="vector")

    def unrestricted(self) -> LaplaceBall:
        """Any two vectors of the ball."""
        return self.at(2.0 * self.radius)

    @property
    def _given(self) -> float:
        return 2.0 * self.radius if self.distance is None else self.distance

    @property
    def _steps(self) -> float:
        """Steps of the lattice from -radius to radius: 2^32 to it and to the noise."""
        return 2.0 ** math.ceil(math.log2(_FINER * max(1.0, self.radius / self.scale)))

    @property
    def _reach(self) -> float:
        return grown_radius(self, self._steps)

    @property
    def _separation(self) -> float:
        """Largest distance of neighbours after rounding to the lattice, in scales."""
        return (self._given + 2.0 * (self._reach - self.radius)) / self.scale

    # ------------------------------------------------------------------------------- its law

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Label laws against the label part of everybody's law, or two points' laws by angle."""
        allowed = (*_LABELS, *_POINTS)
        index = [_check.count("input", x, low=min(allowed), high=max(allowed)) for x in inputs]
        if all(x in _LABELS for x in index):
            return self._labels([_LABELS.index(x) for x in index])
        if not all(x in _POINTS for x in index):
            raise rejected("inputs", inputs, "points 0 and 1, or labels -1 and -2 alone")
        return self._angles(index, cells)

    def _labels(self, rows: list[int]) -> JointLaw:
        """(p al, al, k0) and (al, p al, k0) against (p al, p al, k0)/q."""
        p, q = (
            Fraction(math.exp(e) * (1.0 + 16 * U)) for e in (self.local_epsilon(0.5), self.eps0)
        )
        beta = Fraction(total_variation(self._separation, self.d))
        beta = min(beta, (p - 1) / (p + 1), q - 1)
        small = beta / (p - 1)
        rest = 1 - (p + 1) * small
        labels = [[p * small, small, rest], [small, p * small, rest]]
        mass = np.array([[float(x) for x in row] for row in labels])
        blanket = np.array([float(x / q) for x in (p * small, p * small, rest)])
        return without_empty(mass[rows], blanket, 4 * U, ties=False)

    def _angles(self, rows: list[int], cells: int) -> JointLaw:
        """Cells of phi, where the distances from the two points differ by distance cos(phi).

        In spheroidal coordinates around them (foci at 0 and 1, 2z apart in scales) the density of
        phi is proportional to e^{-+z cos phi} sin^{d-2} phi (k + sin^2 phi), k = (d - 1)/z
        K_{d/2}(z)/K_{d/2-1}(z).
        """
        z = 0.5 * self._given / self.scale
        a = 0.5 * self.d
        k = (self.d - 1.0) / z * float(special.kve(a, z) / special.kve(a - 1.0, z))
        edges = np.linspace(0.0, math.pi, min(_MOST_CELLS, max(_FEWEST_CELLS, cells)) + 1)
        half = 0.5 * np.diff(edges)[:, None]
        phi = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * _NODES
        sine = np.sin(phi)
        weight = (half * _WEIGHTS) * sine ** (self.d - 2) * (k + sine * sine)
        mass = np.array([(weight * np.exp(s * z * np.cos(phi) - z)).sum(axis=1) for s in (-1, 1)])
        mass /= mass.sum(axis=1)[:, None]
        log = np.array([-z * np.cos(edges), z * np.cos(edges)])
        floor = -self.eps0
        return JointLaw(
            mass=mass[rows],
            # Nothing is known of the blanket on these cells but that the ratios are bounded.
            blanket=mass.min(axis=0) * math.exp(floor),
            rel=1e-12 + 64 * U * (1.0 + z),
            edges=CellEdges(
                left=log[rows][:, :-1],
                right=log[rows][:, 1:],
                blanket_left=log.min(axis=0)[:-1] + floor,
                blanket_right=log.min(axis=0)[1:] + floor,
                err=64 * U * (1.0 + z),
            ),
        )

    def worst_pairs(self) -> WorstPairs:
        """The labels; exchanged, they are the other direction."""
        return WorstPairs((_LABELS,), METRIC_LABELS)

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


@lru_cache(maxsize=256)
def total_variation(separation: float, d: int) -> float:
    """Total variation of the noise around two points so many scales apart, rounded up.

    Half-spaces tell them apart best: P(|Z_1| <= separation/2). The density of one coordinate is
    Gamma(a)/(2 sqrt(pi) Gamma(a + 1/2)) times h(s) = s^a K_a(s)/(2^{a-1} Gamma(a)), a = d/2, which
    is 1 at 0 and falls: a sum of its values at left ends is an upper bound.
    """
    a = 0.5 * d
    edges = np.linspace(0.0, 0.5 * separation, _PARTS + 1)
    s = edges[1:-1]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        log = (
            a * np.log(s)
            + np.log(special.kve(a, s))
            - s
            - (a - 1.0) * math.log(2.0)
            - float(special.gammaln(a))
        )
        fall = np.where(np.isfinite(log), np.exp(np.minimum(log, 0.0)), 1.0)
    top = math.exp(float(special.gammaln(a) - special.gammaln(a + 0.5))) / math.sqrt(math.pi)
    total = top * edges[1] * (1.0 + math.fsum(fall.tolist())) * (1.0 + 1e-10)
    return min(total, math.tanh(0.5 * separation) * (1.0 + 8 * U), 1.0)
