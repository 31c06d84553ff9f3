"""PrivUnit: means of unit vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.caps import orthogonal_overlap
from shuffledp.ball.outputs import Favours, Law, check_inputs, flags, rational_ball, two_levels
from shuffledp.ball.record import WorstPairs
from shuffledp.errors import NotCertified
from shuffledp.mechanism.parameters import LocalEpsilon, number, whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.values import RefusedRows, blocks
from shuffledp.randomizers.vectors import vector_reports
from shuffledp.randomness import RandomSource
from shuffledp.theorems import LEAST_OVERLAP

_LATTICE = 2.0**32
_UNIT_SLACK = 1e-6


# Thirds taken off where the least variance is sought: what is left is 1e-9 of the range.
_HALVINGS = 50


@dataclass(frozen=True, kw_only=True)
class PrivUnit(MeanRandomizer):
    """PrivUnit: a uniform point of the cap around x with probability e^eps0 c/Z, else off the cap.

    x is a unit vector in R^d, the cap holds the share c of the sphere, Z = e^eps0 c + 1 - c. Every
    point is off the cap of the opposite input: the blanket is uniform, gamma = 1/Z. Two caps share
    at least max(0, 2c - 1), and antipodal ones no more. Reports are unit vectors, shape (n, d).

    Inputs of its law are quarter turns 0 .. 3 on a great circle; 0 and 2 are antipodal.

    Parameters
    ----------
    d : int
        Dimension, 2 <= d <= 1e6.
    c : float
        Share of the sphere in the cap, 1e-100 <= c <= 1 - 1e-9; ``PrivUnit.best`` finds the best.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.

    Notes
    -----
    Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018; Asi, Feldman, Talwar 2022. The cap or its
    complement is chosen with exact probabilities. Not covered by the bounds: the law of the point
    in it is that of real numbers, and the sampler computes it in floating point from uniform
    numbers with 52 digits. All coordinates are rounded to multiples of 2^-32, a lattice that is the
    same for all users, so that the last digits say little of the vector a report was made from.
    """

    task: ClassVar[str] = "Means of vectors"
    name: ClassVar[str] = "privunit"
    summary: ClassVar[str] = "PrivUnit: unit vectors, from a cap or its complement"
    d: Annotated[int, whole(low=2, high=10**6)]
    c: Annotated[float, number(low=1e-100, high=1.0 - 1e-9)]
    eps0: LocalEpsilon

    @classmethod
    def best(cls, *, d: int, eps0: float) -> PrivUnit:
        """The cap of the least variance at this eps0.

        Parameters
        ----------
        d : int
            Dimension.
        eps0 : float
            Local privacy in nats.
        """
        d = _check.count("d", d, low=2, high=10**6)
        eps0 = _check.local_epsilon("eps0", eps0)
        a = 0.5 * (d - 1)

        def loss(t: float) -> float:
            mass = float(special.betainc(a, a, 0.5 * (1.0 - t)))
            return math.log1p(mass * math.expm1(eps0)) - math.log(first_moment(t, d))

        reach = min(1.0 - 1e-9, math.sqrt(2.0 * (eps0 + 40.0) / d))
        low, high = -reach, reach
        for _ in range(_HALVINGS):
            near, far = (low + (high - low) * share for share in (1.0 / 3.0, 2.0 / 3.0))
            low, high = (low, far) if loss(near) < loss(far) else (near, high)
        return cls(d=d, c=float(special.betainc(a, a, 0.5 * (1.0 - 0.5 * (low + high)))), eps0=eps0)

    @property
    def message_bits(self) -> float:
        """64 d: a float for each coordinate."""
        return 64.0 * self.d

    @property
    def shrinkage(self) -> float:
        """m = E<U, x> = (e^eps0 - 1)/Z E[U_1; cap]."""
        grow = math.expm1(self.eps0)
        return grow / (1.0 + self.c * grow) * first_moment(height(self.c, self.d), self.d)

    def variance(self, frequency: float = 0.0) -> float:
        """Per-user variance of one coordinate, in the worse of its cases: along x and across it."""
        del frequency
        m = self.shrinkage
        along = self._second_moment()
        return max((along - m * m) / m / m, (1.0 - along) / (self.d - 1) / m / m)

    def _second_moment(self) -> float:
        """E<U, x>^2 = (1/d + (e^eps0 - 1) E[U_1^2; cap])/Z."""
        grow = math.expm1(self.eps0)
        inside = second_moment(height(self.c, self.d), self.d)
        return (1.0 / self.d + grow * inside) / (1.0 + self.c * grow)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return self._directions(values, "values")

    def _directions(self, values: ArrayLike, name: str) -> Floats:
        rows = vector_reports(self.d, values, name=name)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        bad = ~(np.abs(lengths - 1.0) <= _UNIT_SLACK)
        if bool(bad.any()):
            raise RefusedRows(f"length of {name}", lengths, bad, "1 (within 1e-6)")
        return rows / lengths[:, None]

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = np.empty_like(values)
        for users in blocks(len(values), self.d):
            x = values[users]
            away = source.coins(self._off, len(x))
            first = self._first_coordinate(away, source)
            reports[users] = np.round(_around(x, first, source) * _LATTICE) / _LATTICE
        return reports

    def _off(self) -> arb:
        """P(off the cap) = (1 - c)/Z."""
        return (1 - arb(self.c)) / (arb(self.c) * arb(self.eps0).expm1() + 1)

    def _first_coordinate(self, away: np.ndarray, source: RandomSource) -> Floats:
        """(1 - U_1)/2 given the side of the cap's edge, by inverting its law Beta(a, a)."""
        a = 0.5 * (self.d - 1)
        uniform = source.unit(len(away))
        share = np.where(away, self.c + (1.0 - self.c) * uniform, self.c * uniform)
        return special.betaincinv(a, a, share)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        return self._directions(reports, "reports") / self.shrinkage

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Uniform on the cap of share c around x w.p. E c/Z, else off it (Bhowmick et al. 2018).

        Inputs are quarter turns on a great circle. Every point is off the cap of the opposite
        input. Caps of a share m <= 1/2 at the four turns: opposite ones are disjoint, neighbours
        share what `orthogonal_overlap` says. A cap above 1/2 is all but the cap of 1 - c opposite
        to it.
        """
        check_inputs(inputs, 4)
        eps0 = arb(self.eps0)
        share = Fraction(self.c)
        small = min(share, 1 - share)
        shared: arb | None = arb(0)
        if any((x - y) % 2 for x in inputs for y in inputs):
            shared = self._orthogonal()
        m, total = rational_ball(small), rational_ball(share) * eps0.expm1() + 1
        parts = [(1 - 4 * m + 4 * shared, frozenset[int]())]
        for j in range(4):
            parts.append((m - 2 * shared, frozenset({j})))
            parts.append((shared, frozenset({j, (j + 1) % 4})))
        merged: dict[Favours, arb] = {}
        for mass, inside in parts:
            hits = flags(
                x in inside if share == small else (x + 2) % 4 not in inside for x in inputs
            )
            merged[hits] = merged.get(hits, arb(0)) + mass
        # Shares that cancel exactly, as 1 - 4 m + ... + 2 m of antipodal inputs.
        found = []
        for hits, mass in merged.items():
            if not mass >= 0 and mass.contains(0):
                continue
            found.append((mass / total, hits))
        return two_levels(found, eps0)

    def _orthogonal(self) -> arb:
        """What caps around orthogonal points share, or their complements where these are small."""
        small = min(Fraction(self.c), 1 - Fraction(self.c))
        return orthogonal_overlap(small, self.d, about=height(float(small), self.d))

    def worst_pairs(self) -> WorstPairs:
        """An antipodal pair; rotated by half a turn it is the other direction."""
        return WorstPairs(((0, 2),), LEAST_OVERLAP)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at antipodal points, all others at one of them or, where known, across."""
        others = (0, 2, 1)
        try:
            self._orthogonal()
        except NotCertified:
            others = (0, 2)
        return tuple((0, 2, x2) for x2 in others)


# ------------------------------------- caps {U_1 >= t}, U uniform on the sphere of d dimensions


def height(mass: float, d: int) -> float:
    """t with P(U_1 >= t) = mass, to a few units of the last place of 1."""
    a = 0.5 * (d - 1)
    return 1.0 - 2.0 * float(special.betaincinv(a, a, mass))


def first_moment(t: float, d: int) -> float:
    """E[U_1; U_1 >= t] = (1 - t^2)^((d-1)/2) Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2) (d - 1))."""
    if t >= 1.0:
        # Of a cap so small that its height is 1 in floats.
        return 0.0
    a = 0.5 * (d - 1)
    log = a * math.log1p(-t * t) + float(special.gammaln(a + 0.5) - special.gammaln(a))
    return math.exp(log) / (math.sqrt(math.pi) * (d - 1))


def second_moment(t: float, d: int) -> float:
    """E[U_1^2; U_1 >= t], by parts: t E[U_1; U_1 >= t] + P(cap at t in d + 2 dimensions)/d."""
    a = 0.5 * (d + 1)
    return t * first_moment(t, d) + float(special.betainc(a, a, 0.5 * (1.0 - t))) / d


def _around(x: Floats, low: Floats, source: RandomSource) -> Floats:
    """Uniform points at a given place along x: <U, x> = 1 - 2 low."""
    count, d = x.shape
    across = special.ndtri(source.unit(count * d)).reshape(count, d)
    across -= np.einsum("ij,ij->i", across, x)[:, None] * x
    across /= np.sqrt(np.einsum("ij,ij->i", across, across))[:, None]
    radius = 2.0 * np.sqrt(low * (1.0 - low))
    return (1.0 - 2.0 * low)[:, None] * x + radius[:, None] * across
