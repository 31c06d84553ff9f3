"""Vectors in a Euclidean ball: what their mechanisms share, and Gaussian noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.record import WorstPairs
from shuffledp.bounds.continuous import Cells
from shuffledp.bounds.line import Line
from shuffledp.errors import NotCertified, rejected
from shuffledp.kernel.cells import Cell, Corner
from shuffledp.mechanism.parameters import positive, whole
from shuffledp.randomizers.base import Input, Reports
from shuffledp.randomizers.interval_noise import Gaussian
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.values import RefusedRows, blocks
from shuffledp.randomness import RandomSource
from shuffledp.theorems import ANTIPODAL

# Vectors are taken this much beyond the ball: their lengths are computed in floating point.
OUTSIDE = 1e-9
LARGEST_DIMENSION = 10_000


def vector_reports(d: int, reports: ArrayLike, *, name: str = "reports") -> Floats:
    """Finite vectors, one row for each user."""
    try:
        rows = np.asarray(reports, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise rejected(name, reports, "vectors of numbers, one row for each user") from None
    if rows.size == 0:
        return rows.reshape(0, d)
    if rows.ndim != 2 or rows.shape[1] != d:
        raise rejected(f"{name} shape", rows.shape, f"one row for each user, (n, {d})")
    bad = np.asarray(~np.isfinite(rows).all(axis=1))
    if bool(bad.any()):
        raise RefusedRows(name, rows, bad, "finite numbers")
    return rows


class InBall(MeanRandomizer):
    """A mechanism for vectors of length at most radius, coordinate by coordinate on a lattice."""

    task: ClassVar[str] = "Means of vectors"
    d: int
    radius: float

    @property
    @abstractmethod
    def steps(self) -> float:
        """Steps of the lattice from -radius to radius."""

    @property
    def grown(self) -> float:
        """Radius of a ball that holds the lattice points next to any value that is accepted."""
        slack = OUTSIDE + 2.0 * math.sqrt(self.d) / self.steps
        return self.radius * (1.0 + 1.01 * slack)

    @property
    def message_bits(self) -> float:
        """64 d: a float for each coordinate."""
        return 64.0 * self.d

    def _checked(self, values: ArrayLike) -> np.ndarray:
        rows = vector_reports(self.d, values, name="values")
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        bad = ~(lengths <= self.radius * (1.0 + OUTSIDE))
        if bool(bad.any()):
            first = int(np.argmax(bad))
            wanted = f"at most the radius, {self.radius:g}"
            raise rejected(f"length of values[{first}]", float(lengths[first]), wanted)
        return rows

    def _unbiased(self, reports: ArrayLike) -> Floats:
        return vector_reports(self.d, reports)


_LARGEST_RATIO = 20.0
# The lattice of each coordinate has 2^40 steps from -radius to radius, so that the ball of the law
# is hardly larger than that of the values.
_BITS = 40
# The victim's inputs: with them alone the reference is the blanket.
_PAIR = 2
# Cells along and across: half as many of either widen the upper end by about three times as much.
_ALONG, _ACROSS = 192, 24
# Deviations that cells reach: e^(-22.5^2/2) < 1e-109 is beyond, less than the least delta, 1e-100.
_REACH = 22.5
# Places are even within about this many deviations, and grow in proportion farther out.
_EVEN = 2.0
# Lengths across that are shorter than the usual one by more are one cell: e^(-_LEFT^2) = 1e-9, and
# no ratio is large there.
_LEFT = 4.5
# Bits beyond the working precision for differences of 1e-12.
_MORE = 48
# Cells of less mass under P and Q are left out: 1e-109 for the whole of them.
_LEAST = 1e-114
# So are those of less mass under the reference, whose ratios are no floats.
_NOTHING = 1e-120


@dataclass(frozen=True, kw_only=True)
class GaussianBall(InBall):
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

    name: ClassVar[str] = "gaussian-ball"
    summary: ClassVar[str] = "Gaussian noise for vectors in a Euclidean ball"
    dense: ClassVar[bool] = True
    d: Annotated[int, whole(low=2, high=LARGEST_DIMENSION)]
    sigma: Annotated[float, positive(high=1e100)]
    radius: Annotated[float, positive(high=1e100)] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.real("radius/sigma", self.radius / self.sigma, low=1e-9, high=_LARGEST_RATIO)

    @property
    def eps0(self) -> float:
        """inf: Gaussian noise has no pure local guarantee."""
        return math.inf

    def local_epsilon(self, delta: float) -> float:
        """eps of one dimension and the diameter."""
        return self._diameter.local_epsilon(delta)

    @property
    def local_rho(self) -> float:
        """rho of one dimension and the diameter."""
        return self._diameter.local_rho

    @property
    def _diameter(self) -> Gaussian:
        """Noise along the diameter: of two antipodal points only that coordinate matters."""
        return Gaussian(sigma=self.sigma, low=-self.grown, high=self.grown)

    @property
    def coordinate_noise(self) -> Gaussian:
        """Each coordinate's mechanism: that along the diameter decides all ratios of a data set."""
        return Gaussian(sigma=self.sigma, low=-self.radius, high=self.radius)

    @property
    def steps(self) -> float:
        """2^40."""
        return 2.0**_BITS

    def worst_pairs(self) -> WorstPairs:
        """Antipodal points; mirrored, the other direction has the same law."""
        return WorstPairs(((-self.radius, self.radius),), ANTIPODAL)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at antipodal points, all others at one of them or at the centre."""
        return tuple((-self.radius, self.radius, x2) for x2 in (-self.radius, 0.0))

    # ------------------------------------------------------------------------------- its law

    def line(self, inputs: Sequence[Input]) -> Line | None:
        """The line of three inputs on a diameter; of two the blanket asks for all other inputs."""
        return self.coordinate_noise.line(inputs) if len(inputs) > _PAIR else None

    def cells(self, inputs: Sequence[Input]) -> Cells | None:
        """Cells of two antipodal points and the blanket of all points of the ball.

        In units of sigma, with r = radius/sigma, t the coordinate along the diameter of the
        victim's two points and w the squared length across it: P and Q are products of the law
        N(-+r, 1) of t and of the chi-square law of w with d - 1 degrees of freedom. The blanket at
        y is the normal density at distance |y| + r. On each cell the reference is a normal density
        below it, which touches it at |y| = l: |y| <= l/2 + |y|^2/(2 l), so that

            blanket(y) >= phi(y) e^(-r^2/2 - r l/2 - b |y|^2/2),    b = r/l.

        This reference is a product too. The ratios to it are u = C A, v = C / A' with C = e^(b w/2)
        between its values at the two ends of w, and A(t) = e^(x t + b t^2/2 + ...), x = -+r, which
        is monotone where |t| <= l (docs/theory-noise.md, section 4).
        """
        if len(inputs) > _PAIR:
            return None
        if sorted(inputs) != [-self.radius, self.radius]:
            raise NotCertified("gaussian-ball: wanted -radius and radius, or three inputs")
        r = arb(self.grown) / arb(self.sigma)
        x0 = r if inputs[0] > inputs[1] else -r
        along, across = _along(float(r)), _across(self.d - 1)
        first, second = _normal(along, x0), _normal(along, -x0)
        rings = _chi_square(self.d - 1, across)
        cells, gone = [], arb(0)
        for j, ring in enumerate(rings):
            w = across[j], across[j + 1]
            for i, t in enumerate(pairwise(along)):
                p, q = first[i] * ring, second[i] * ring
                bend = r / _touching(t, w)
                mass, level = _reference(r, bend, t, w, self.d - 1)
                if p + q < _LEAST or mass < _NOTHING:
                    gone += p + q
                    continue
                corners = [
                    Corner(*((level + x * y + bend * y * y / 2).exp() for x in (x0, -x0)))
                    for y in t
                ]
                bottom, top = corners if x0 > 0 else corners[::-1]
                stretch = ((bend * w[0] / 2).exp(), (bend * w[1] / 2).exp())
                cells.append(Cell(mass, p, q, bottom, top, stretch))
        # Each input is r from 0, along which cells reach as far on either side of it as across.
        beyond = along[-1] - r
        gone += (beyond / arb(2).sqrt()).erfc() + (across[-1] / 2).gamma_upper(
            arb(self.d - 1) / 2, regularized=1
        )
        return Cells(cells, gone, gone)

    # ---------------------------------------------------------------------------- running it

    def variance(self, frequency: float = 0.0) -> float:
        """Per-user variance of one coordinate of the noise run: sigma^2 or a little more."""
        return self.coordinate_noise.variance(frequency)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = np.empty(values.shape)
        for users in blocks(len(values), self.d):
            flat = np.clip(values[users], -self.radius, self.radius).ravel()
            reports[users] = self.coordinate_noise.sample_on(_BITS, flat, source).reshape(
                -1, self.d
            )
        return reports


def _along(r: float) -> list[arb]:
    """Cut points along the diameter."""
    wide = _EVEN + r
    end = math.asinh((_REACH + r) / wide)
    return [arb(float(y)) for y in wide * np.sinh(np.linspace(-end, end, _ALONG + 1))]


def _across(freedom: int) -> list[arb]:
    """Cut points of the squared length across: its root has about the deviation sqrt(1/2)."""
    end = math.asinh(_REACH / _EVEN)
    lengths = math.sqrt(freedom) + _EVEN * np.sinh(np.linspace(-end, end, 2 * _ACROSS + 1))
    lengths = lengths[lengths > max(math.sqrt(freedom) - _LEFT, 0.0)]
    return [arb(0), *(arb(float(y)) * arb(float(y)) for y in lengths)]


def _touching(t: tuple[arb, arb], w: tuple[arb, arb]) -> arb:
    """l: about |y| in the middle of the cell, and at least |t| on all of it."""
    squares = (t[0] + t[1]) * (t[0] + t[1]) / 4 + (w[0] + w[1]) / 2
    return arb(float(squares.sqrt())).max(abs(t[0])).max(abs(t[1])).upper()


def _reference(
    r: arb, bend: arb, t: tuple[arb, arb], w: tuple[arb, arb], freedom: int
) -> tuple[arb, arb]:
    """Mass of the reference on the cell, and log of the ratio P/reference at t = w = 0.

    e^(-b |y|^2/2) phi(y) is the density of N(0, 1/(1 + b)), times (1 + b)^(-d/2).
    """
    scale = (1 + bend).sqrt()
    # r l = r^2/b; P has the factor e^(-r^2/2) as well, which cancels.
    level = r * r / bend / 2
    share = (-level - r * r / 2 - (freedom + 1) * bend.log1p() / 2).exp()
    along = _normal([y * scale for y in t], arb(0))[0]
    across = _chi_square(freedom, [x * scale * scale for x in w])[0]
    return share * along * across, level


def _normal(points: Sequence[arb], x: arb) -> list[arb]:
    """Masses of N(x, 1) between neighbouring points, from the side where they are small."""
    root = arb(2).sqrt()
    places = [(y - x) / root for y in points]
    found = []
    for a, b in pairwise(places):
        mirrored = bool(a + b > 0)
        near, far = (a, b) if mirrored else (-b, -a)
        found.append((near.erfc() - far.erfc()) / 2)
    return found


def _chi_square(freedom: int, points: Sequence[arb]) -> list[arb]:
    """Masses of the chi-square law between neighbouring points.

    P(W > w) is the regularised upper incomplete gamma function of freedom/2 at w/2. Only the first
    cell is far to the left of the bulk, so that no difference loses more than ``_MORE`` bits.
    """
    half = arb(freedom) / 2
    with ctx.workprec(ctx.prec + _MORE):
        above = [(x / 2).gamma_upper(half, regularized=1) for x in points]
        found = [one - other for one, other in pairwise(above)]
    return [+one for one in found]
