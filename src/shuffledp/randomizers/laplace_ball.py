"""Laplace noise for vectors in a Euclidean ball; in the plane, geo-indistinguishability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.arithmetic.balls import acb, arb, total
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.outputs import Law, OutputClass
from shuffledp.ball.record import WorstPairs
from shuffledp.bounds.continuous import Cells
from shuffledp.errors import NotCertified
from shuffledp.kernel.cells import Cell, Corner
from shuffledp.mechanism.parameters import follows, number, positive, whole
from shuffledp.randomizers.base import Input, Reports
from shuffledp.randomizers.means import Floats, Metric
from shuffledp.randomizers.noise import (
    MILLS,
    Bools,
    CellLaw,
    around,
    draw,
    gamma_power,
    tails,
    to_lattice,
)
from shuffledp.randomizers.values import blocks
from shuffledp.randomizers.vectors import InBall
from shuffledp.randomness import RandomSource, Uniform, Words
from shuffledp.theorems import METRIC_LABELS

U = UNIT_ROUNDOFF
_LARGEST_DIMENSION = 16
# Names of the victim's two label laws.
LABELS = (-1, -2)
_FINER = 2.0**32
# Below this distance, in scales, a coordinate's density is that at 0 but for 1e-11.
_NEAR = 2.0**-20
# Cells of the angle: _FEWEST for every _FINE scales between the points, up to _MOST times as many;
# a multiple of the 32 of an audit.
_FEWEST, _FINE, _MOST = 512, 8.0, 8


@dataclass(frozen=True, kw_only=True, repr=False)
class LaplaceBall(Metric, InBall):
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

    moved: ClassVar[str] = "vector"
    dense: ClassVar[bool] = True
    name: ClassVar[str] = "laplace-ball"
    summary: ClassVar[str] = "Laplace noise for vectors in a ball, neighbours at a distance"
    d: Annotated[int, whole(low=2, high=_LARGEST_DIMENSION)]
    scale: Annotated[float, positive(high=1e100)]
    radius: Annotated[float, positive(high=1e100)] = 1.0
    distance: Annotated[
        float | None,
        follows(
            number(low=lambda m: 1e-6 * m.scale, high=lambda m: 2.0 * m.radius),
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

    @property
    def widest(self) -> float:
        """The diameter."""
        return 2.0 * self.radius

    @property
    def steps(self) -> float:
        """Steps of the lattice from -radius to radius: 2^32 to it and to the noise."""
        return 2.0 ** math.ceil(math.log2(_FINER * max(1.0, self.radius / self.scale)))

    @property
    def separation(self) -> float:
        """Largest distance of neighbours after rounding to the lattice, in scales."""
        return (self.reach + 2.0 * (self.grown - self.radius)) / self.scale

    @property
    def apart(self) -> float:
        """``separation``, rounded up."""
        return self.separation * (1.0 + 8 * U)

    def worst_pairs(self) -> WorstPairs:
        """The labels; exchanged, they are the other direction."""
        return WorstPairs((LABELS,), METRIC_LABELS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Two points at the distance, all others at one of them."""
        return ((0, 1, 0), (0, 1, 1))

    # ------------------------------------------------------------------------------- its law

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """The victim's labels: (p al, al, k0) and (al, p al, k0) against (p al, p al, k0)/q.

        p = e^(distance/scale) and q = e^(2 radius/scale) bound ratios, beta is the total variation
        at the distance, al = beta/(p - 1) and k0 = 1 - (p + 1) al (docs/theory.md, Theorem 5.4).
        """
        if tuple(inputs) != LABELS:
            return super().output_law(inputs)
        apart = arb(self.local_epsilon(0.5))
        p, q = apart.exp(), arb(self.eps0).exp()
        beta = total_variation(apart, self.d).min((p - 1) / (p + 1)).min(q - 1)
        small = (beta / (p - 1)).upper()
        large, rest = p * small, (1 - (p + 1) * small).nonnegative_part()
        return [
            OutputClass(large / q, (large, small)),
            OutputClass(large / q, (small, large)),
            OutputClass(rest / q, (rest, rest)),
        ]

    def cells(self, inputs: Sequence[Input]) -> Cells:
        """Two points at the distance: cells of phi, distances from them differing by it times cos.

        In spheroidal coordinates around the points 0 and 1 (foci 2z scales apart) the density of
        phi is proportional to e^(-+z cos phi) sin^(d-2) phi (k + sin^2 phi), where
        k = (d - 1)/z K_(d/2)(z)/K_(d/2-1)(z).
        """
        if len(inputs) < 3 or not set(inputs) <= {0, 1}:
            raise NotCertified("laplace-ball: wanted three of its two points, 0 and 1")
        d, z = self.d, arb(self.reach) / arb(self.scale) / 2
        a = acb(arb(d) / 2)
        k = (
            (d - 1)
            / z
            * (acb(z).bessel_k(a, scaled=True) / acb(z).bessel_k(a - 1, scaled=True)).real
        )
        count = _FEWEST * min(max(1, math.ceil(float(z) / _FINE)), _MOST)

        def density(phi: acb, _analytic: bool) -> acb:  # noqa: FBT001 (as flint calls it)
            sine = phi.sin()
            return (-z * (phi.cos() + 1)).exp() * sine ** (d - 2) * (k + sine * sine)

        places = [arb.pi() * j / count for j in range(count + 1)]
        weights = [
            acb.integral(density, acb(one), acb(other)).real.nonnegative_part()
            for one, other in pairwise(places)
        ]
        whole = total(weights)
        rows = [[w / whole for w in weights]]
        rows.append(rows[0][::-1])
        # log f_1/f_0 at the edges.
        levels = [2 * z * phi.cos() for phi in places]

        def ratio(x: int, j: int) -> arb:
            return ((x - inputs[2]) * levels[j]).exp() if x != inputs[2] else arb(1)

        corners = [Corner(ratio(inputs[0], j), ratio(inputs[1], j)) for j in range(count + 1)]
        masses = zip(*(rows[x] for x in (inputs[2], inputs[0], inputs[1])), strict=True)
        found = [
            Cell(mass, p, q, _corner(one, other, top=False), _corner(one, other, top=True))
            for (mass, p, q), (one, other) in zip(masses, pairwise(corners), strict=True)
        ]
        return Cells(found, arb(0), arb(0))

    # ---------------------------------------------------------------------------- running it

    def variance(self, frequency: float = 0.0) -> float:
        """(d + 1) scale^2, of one coordinate, per user."""
        del frequency
        return (self.d + 1.0) * self.scale**2

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        steps, width = self.steps, 2.0 * self.radius
        reports = np.empty(values.shape)
        for users in blocks(len(values), self.d):
            place = np.clip((values[users].ravel() + self.radius) / width, 0.0, 1.0)
            law = _BallCells(self, source.words(len(values[users])), source)
            sums = draw(law, to_lattice(place, int(steps), source), source)
            reports[users] = (-self.radius + width * (sums / steps)).reshape(-1, self.d)
        return reports


def total_variation(separation: arb, d: int) -> arb:
    """Total variation of the noise around two points this many scales apart, or 1e-11 of it more.

    Half-spaces tell them apart best: P(|Z_1| <= separation/2). With a = d/2 a coordinate has the
    density Gamma(a)/(2 sqrt(pi) Gamma(a + 1/2)) h(s), h(s) = s^a K_a(s)/(2^(a-1) Gamma(a)), which
    is 1 at 0 and falls; near 0 it counts as 1.
    """
    a, end = arb(d) / 2, separation / 2
    top = a.gamma() / (arb.pi().sqrt() * (a + arb(0.5)).gamma())

    def fall(s: acb, analytic: bool) -> acb:  # noqa: FBT001 (as flint calls it)
        if analytic and not s.real > 0:
            return acb("nan")
        return s.pow(acb(a)) * s.bessel_k(acb(a)) / (arb(2) ** (a - 1) * a.gamma())

    if not end > _NEAR:
        return top * end
    return top * (arb(_NEAR) + acb.integral(fall, acb(_NEAR), acb(end)).real)


def _corner(one: Corner, other: Corner, *, top: bool) -> Corner:
    """The upper or the lower end of the ranges between two corners."""
    if top:
        return Corner(one.u.max(other.u), one.v.min(other.v))
    return Corner(one.u.min(other.u), one.v.max(other.v))


class _BallCells(CellLaw):
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
        # Of a number that is 0 in floats nothing is known.
        root = math.sqrt(2.0) * np.where(root > 0.0, root, np.nan)
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
