"""Gaussian noise on an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.errors import NotCertified
from shuffledp.mechanism import IntervalHigh, IntervalLow, Positive
from shuffledp.randomizers.base import DEFAULT_CELLS, Reports, WorstPairs, WorstTriples
from shuffledp.randomizers.interval import interval_input
from shuffledp.randomizers.law import CellEdges, JointLaw
from shuffledp.randomizers.means import MeanRandomizer
from shuffledp.randomizers.noise import FARTHEST_NORMAL, normal_cells, to_lattice
from shuffledp.randomizers.values import blocks, real_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import END_POINTS, SPANNING_TRIPLES

U = UNIT_ROUNDOFF
_REACH = 38.0
_BULK = 9.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
_LARGEST_DISTANCE = 1e4
_ROUNDS = 20
# Label stealing is not tried for sigma below 0.3 of the interval: ratios are too heavy for it.
_LARGEST_STEALING = 1.0 / 0.3
# Steps of the lattice of reports: at least 2^30 and at most 2^57 to sigma, 2^40 to the interval.
_FINEST, _COARSEST, _STEPS = 57, 30, 40
_FEWEST_STEPS = 2**20


@dataclass(frozen=True, kw_only=True)
class Gaussian(MeanRandomizer):
    """Gaussian noise N(0, sigma^2) added to a value in [low, high]; no pure local guarantee.

    With d = (high - low)/sigma: gamma = 2 Phi(-d/2); the blanket is the density of the farther end
    point, so the ratios are e^{d (d/2 - z)} on one side of the middle and 1 on the other.

    Reports are float64: middles of the cells of a lattice that value and noise fall in, drawn from
    their exact probabilities (see ``randomizers.noise``). So that low and high lie on the lattice
    the noise is rounded up, to ``noise``: by at most 2^-40 of it if sigma <= 2^16 (high - low).

    Parameters
    ----------
    sigma : float
        Standard deviation, in the units of the input; (high - low)/sigma <= 1e4.
    low, high : float
        The interval of inputs.

    Notes
    -----
    Analysis of Shuffling Beyond Pure Local Differential Privacy (2026), blanket and index.
    """

    name: ClassVar[str] = "gaussian"
    summary: ClassVar[str] = "Gaussian noise on an interval"
    sigma: Annotated[float, Positive(high=1e100)]
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.positive("(high - low)/sigma", self.distance, high=_LARGEST_DISTANCE)

    @property
    def eps0(self) -> float:
        """inf: Gaussian noise has no pure local guarantee."""
        return math.inf

    def local_epsilon(self, delta: float) -> float:
        """eps = d^2/2 - d Phi^-1(delta): delta(eps) <= Phi(d/2 - eps/d), the first term alone."""
        d = self.distance
        value = max(0.5 * d * d - d * float(special.ndtri(delta)), 0.0) * (1.0 + 1e-9) + 1e-12
        for _ in range(_ROUNDS):
            if (
                float(special.log_ndtr(0.5 * d - value / d)) * (1.0 - 1e-11)
                <= math.log(delta) - 1e-11
            ):
                return value
            value *= 1.0 + 1e-6
        return math.inf

    @property
    def local_rho(self) -> float:
        """d^2/2: the Renyi divergence of order A of N(0, 1) and N(d, 1) is A d^2/2."""
        return 0.5 * self.distance**2 * (1.0 + 16 * U)

    @property
    def distance(self) -> float:
        """d = (high - low)/sigma, the end points' distance in standard deviations."""
        return (self.high - self.low) / self.sigma

    @property
    def noise(self) -> float:
        """Standard deviation that is run: sigma or a little more, in whole steps."""
        bits, steps = self._lattice
        return (self.high - self.low) / steps * 2.0**bits

    def variance(self, frequency: float = 0.0) -> float:
        """noise^2 for every input; the lattice adds less than 2^-60 of it."""
        del frequency
        return self.noise * self.noise

    @property
    def message_bits(self) -> float:
        """64: a float."""
        return 64.0

    @property
    def _lattice(self) -> tuple[int, int]:
        """Binary digits of a step in units of the noise, and steps from low to high."""
        bits = min(_FINEST, max(_COARSEST, _STEPS + 1 - math.frexp(self.distance)[1]))
        length = Fraction(self.high) - Fraction(self.low)
        steps = math.floor(length * 2**bits / Fraction(self.sigma))
        if not steps >= _FEWEST_STEPS:
            msg = f"gaussian: (high - low)/sigma = {self.distance:g}: no sampler below 2^-37"
            raise NotCertified(msg)
        return bits, steps

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return real_values(values, self.low, self.high)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        bits, steps = self._lattice
        length = self.high - self.low
        reports = np.empty(len(values))
        for users in blocks(len(values)):
            place = np.clip((values[users] - self.low) / length, 0.0, 1.0)
            cells = to_lattice(place, steps, source) + normal_cells(bits, len(place), source)
            reports[users] = self.low + length * ((cells + 0.5) / steps)
        return reports

    def _unbiased(self, reports: ArrayLike) -> Array:
        reach = (FARTHEST_NORMAL + 1) * self.noise
        return real_values(reports, self.low - reach, self.high + reach, name="reports")

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Cells in units of sigma, cut at the middle, reaching 38 beyond the end points."""
        places = np.array([interval_input(self, x) for x in inputs])
        return self._law_on(places, _cell_edges(self.distance, cells), _tail())

    def _law_on(self, places: Array, edges: Array, tail: float) -> JointLaw:
        d = self.distance
        at = d * places
        left, right = edges[:-1], edges[1:]
        mass = np.array([_interval_mass(x, left, right) for x in at])
        farther = np.where(left + right < d, d, 0.0)
        blanket = _interval_mass(farther, left, right)
        # exp(-z^2/2) with z rounded, and d itself rounded: absolute error of the exponent.
        reach = max(1.0, -float(edges[0]))
        err = 64 * U * (1.0 + (d + reach) * (d + 1.0) + reach**2)
        return JointLaw(
            mass=mass,
            blanket=blanket,
            rel=err + _quadrature_error(d, left, right),
            tail=np.full(len(at), tail),
            edges=CellEdges(
                left=-0.5 * (left[None, :] - at[:, None]) ** 2,
                right=-0.5 * (right[None, :] - at[:, None]) ** 2,
                blanket_left=-0.5 * (left - farther) ** 2,
                blanket_right=-0.5 * (right - farther) ** 2,
                err=err,
                log_linear=True,
                wiggle=0.5 * float((right - left).max()) ** 2,
            ),
        )

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        return WorstPairs(((self.low, self.high),), END_POINTS)

    def worst_triples(self) -> WorstTriples | None:
        """Triples that span the interval, covered by chords; None for very narrow noise."""
        if self.distance > _LARGEST_STEALING:
            return None
        return WorstTriples((), SPANNING_TRIPLES)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of them (by symmetry either) or halfway."""
        middle = 0.5 * (self.low + self.high)
        return tuple((self.low, self.high, x2) for x2 in (self.low, middle))


def _cell_edges(d: float, cells: int) -> Array:
    """Even cells around the end points, growing outwards, with an edge in the middle."""
    bulk = max(8, 3 * cells // 8)
    outer = max(8, cells // 8)
    inner = 0.5 * d - (0.5 * d + _BULK) * (np.arange(bulk + 1) / bulk)
    growth = np.linspace(0.0, math.log(_REACH / _BULK), outer + 1)[1:]
    left = np.concatenate([inner, -_BULK * np.exp(growth)])[::-1]
    return np.concatenate([left, d - left[::-1][1:]])


def _interval_mass(x: float | Array, left: Array, right: Array) -> Array:
    """Normal mass of narrow intervals by six Gauss-Legendre nodes."""
    half = 0.5 * (right - left)
    middle = 0.5 * (left + right) - x
    total = np.zeros_like(half)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        total += weight * np.exp(-0.5 * (middle + half * node) ** 2)
    return total * half / math.sqrt(2.0 * math.pi)


def _quadrature_error(d: float, left: Array, right: Array) -> float:
    """Relative remainder of the six-point rule: at most 1e-6 (width (1 + |z|))^12.

    The remainder is width^13 (6!)^4/(13 (12!)^3) f^(12); Cauchy's estimate on a disc of radius
    1/(1 + |z|) gives |f^(12)| <= 12! (1 + |z|)^12 e^{1.5} max f, and f varies over the cell by less
    than e^{0.7} while width (1 + |z|) <= 0.6: together below 8.2e-7.
    """
    reach = np.maximum(np.abs(left), np.abs(right))
    far = np.maximum(reach, np.maximum(np.abs(left - d), np.abs(right - d)))
    return 1e-6 * float(((right - left) * (1.0 + far)).max()) ** 12


def _tail() -> float:
    """P(|Z| > 38) <= 2 phi(38)/38, rounded up: 3e-316."""
    return 3e-315
