"""Generalized Gaussian noise of any shape on an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.ball.noises import generalized_noise
from shuffledp.ball.power import PowerNoise as PowerDensity
from shuffledp.mechanism import IntervalHigh, IntervalLow, Number, Positive
from shuffledp.randomizers.additive import LARGEST_EXPONENT, AdditiveNoise, Noise
from shuffledp.randomizers.noise import Cells
from shuffledp.randomizers.power_cells import pieces_of, power_cells
from shuffledp.randomizers.power_renyi import power_renyi
from shuffledp.randomizers.values import real_values
from shuffledp.randomness import BITS, RandomSource

U = UNIT_ROUNDOFF
_LEAST_SHAPE, _LARGEST_SHAPE = 1.0 / 32.0, 1000.0
_LARGEST_DISTANCE = 1e4
_LOG_TAIL = -300.0 * math.log(10.0)
# The sampler leaves out what is beyond the last digit of an exact probability.
_LEAST_LOG = -BITS * math.log(2.0)
# Of the reach of reports: rounding of a power, of a sum, and of the report itself is far less.
_ROOM = 1e-9
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_TERMS = 24
_ROUNDS = 50
_LARGEST_LOG = 600.0
_GAUSSIAN_SHAPE = 2.0


@dataclass(frozen=True, kw_only=True)
class GeneralizedGaussian(AdditiveNoise):
    """Noise with density proportional to exp(-(|z|/scale)^shape) added to a value in [low, high].

    Shape 1 is Laplace, 2 is Gaussian with sigma = scale/sqrt 2; a small shape has a cusp and heavy
    tails. With d = (high - low)/scale: gamma = Q(1/shape, (d/2)^shape), the regularised upper
    incomplete gamma function; the blanket is the density of the farther end point.

    The log ratio of two densities, |y - u|^b - |y - v|^b, is monotone between and on either side of
    u < v for every b > 0: its derivative is b (|y - u|^{b-1} + |y - v|^{b-1}) up to the sign in
    between, and b times the difference of two powers of which one is always the larger outside.

    Reports are float64: middles of the cells of a lattice that value and noise fall in, drawn from
    their exact probabilities and added as whole numbers (see ``randomizers.power_cells``).

    Parameters
    ----------
    shape : float
        b, from 1/32 to 1000.
    scale : float
        s, in the units of the input; (high - low)/scale <= 1e4.
    low, high : float
        The interval of inputs.

    Notes
    -----
    Subbotin 1923; Analysis of Shuffling Beyond Pure Local Differential Privacy (2026), blanket and
    index. Pure local guarantee: (d)^b for shape b <= 1, none for b > 1.
    """

    name: ClassVar[str] = "generalized-gaussian"
    summary: ClassVar[str] = "noise with density exp(-|z/scale|^shape) on an interval"
    shape: Annotated[float, Number(low=_LEAST_SHAPE, high=_LARGEST_SHAPE)]
    scale: Annotated[float, Positive(high=1e100)]
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.real("(high - low)/scale", self.distance, low=1e-9, high=_LARGEST_DISTANCE)

    def added_power(self) -> PowerDensity:
        """Density exp(-|z/scale|^shape)."""
        return generalized_noise(self.shape, self.scale, self.low, self.high)

    @property
    def distance(self) -> float:
        """d = (high - low)/scale, the end points' distance in scales."""
        return (self.high - self.low) / self.scale

    @property
    def eps0(self) -> float:
        """d^shape, rounded up, for shape <= 1: |y|^b - |y - d|^b is largest at y = d; else inf."""
        if self.shape > 1.0:
            return math.inf
        value = self.distance**self.shape * (1.0 + 16 * U)
        return value if value <= _check.LARGEST_EPS0 else math.inf

    def local_epsilon(self, delta: float) -> float:
        """eps0, or for shape > 1 the loss |y - d|^b - |y|^b where P(Y <= y) is about delta.

        For shape > 1 the loss falls in y, so delta(eps) <= P(loss > eps) = P(Y < y).
        """
        if self.shape <= 1.0:
            return self.eps0
        a, b, d = 1.0 / self.shape, self.shape, self.distance
        level = float(special.gammainccinv(a, min(2.0 * delta, 1.0) * (1.0 - 1e-9)))
        for _ in range(_ROUNDS):
            if 0.5 * float(special.gammaincc(a, level)) * (1.0 + 1e-9) <= delta:
                break
            level = level * (1.0 + 1e-9) + 1e-300
        else:
            return math.inf
        t = level**a * (1.0 + 1e-12)
        if not math.isfinite(t) or b * math.log(t + d) > _LARGEST_LOG:
            return math.inf
        return (t + d) ** b - t**b + (64.0 + 16.0 * b) * U * (t + d) ** b

    def local_renyi(self, order: float) -> float:
        """That of the end points, which are the worst pair at every eps; by cells."""
        if self.shape <= 1.0:
            return super().local_renyi(order)
        cells = power_renyi(self.shape, self.distance * (1.0 + 4 * U), order)
        return min(cells, order * self.local_rho)

    @property
    def local_rho(self) -> float:
        """d^2 for the Gaussian shape; not known for other shapes above 1."""
        if self.shape == _GAUSSIAN_SHAPE:
            return self.distance**2 * (1.0 + 16 * U)
        return super().local_rho

    @property
    def noise(self) -> Noise:
        """Z/(high - low)."""
        return PowerNoise(self.shape, 1.0 / self.distance)

    def variance(self, frequency: float = 0.0) -> float:
        """s^2 Gamma(3/b)/Gamma(1/b), whatever the input."""
        del frequency
        a = 1.0 / self.shape
        return self.scale**2 * math.exp(math.lgamma(3.0 * a) - math.lgamma(a))

    @property
    def _finest(self) -> float:
        return self.distance * max(1.0, self.shape)

    def _noise_cells(self, bits: int, size: int, source: RandomSource) -> Cells:
        step = (Fraction(self.high) - Fraction(self.low)) / Fraction(self.scale) / 2**bits
        farthest, _ = _tail_level(self.shape, _LEAST_LOG)
        return power_cells(self.shape, pieces_of(self.shape, step, farthest), size, source)

    def _unbiased(self, reports: ArrayLike) -> Array:
        """Reports that the sampler can make; the lattice's cells and rounding have more room."""
        level, _ = _tail_level(self.shape, _LEAST_LOG)
        reach = level ** (1.0 / self.shape) * self.scale * (1.0 + _ROOM) + (self.high - self.low)
        return real_values(reports, self.low - reach, self.high + reach, name="reports")


class PowerNoise(Noise):
    """f(z) proportional to exp(-(|z|/s)^b).

    Parameters
    ----------
    shape : float
        b.
    scale : float
        s, in units of the interval.
    """

    def __init__(self, shape: float, scale: float) -> None:
        self.shape, self.scale = shape, scale
        # L = (t/s)^b, t and s within 3u each and the power within 8u of itself.
        self._relative = (6.0 * shape + 8.0) * U
        self.rounding = 2.0 * LARGEST_EXPONENT * self._relative + 64 * U
        level, log_tail = _tail_level(shape, _LOG_TAIL)
        self.reach = scale * level ** (1.0 / shape)
        self.tail = math.exp(log_tail) * (1.0 + 1e-9)

    @property
    def log_norm(self) -> float:
        """log of the integral of exp(-(|z|/s)^b): log 2s + log Gamma(1 + 1/b)."""
        return math.log(2.0 * self.scale) + math.lgamma(1.0 + 1.0 / self.shape)

    def exponent(self, distance: Array) -> Array:
        """(t/s)^b, at most 1e6."""
        with np.errstate(over="ignore", under="ignore"):
            return np.minimum((distance / self.scale) ** self.shape, 1e6)

    def log_density(self, distance: Array) -> Array:
        """-(t/s)^b."""
        return -self.exponent(distance)

    def mass(self, near: Array, width: Array) -> tuple[Array, Array]:
        """Ten Gauss-Legendre nodes, or near 0 the series of the exponential, term by term."""
        far = near + width
        first = (near < 0.9 * far) & (self.exponent(far) <= 0.5)
        mass, err = self._by_nodes(np.where(near > 0.0, near, width), width)
        err = np.where((near > 0.0) | first, err, 1.0)
        where = np.flatnonzero(first)
        mass[where], err[where] = self._by_series(near[where], far[where])
        return mass, err

    def bend(self, near: Array, width: Array) -> Array:
        """(b + 2) log(far/near).

        The slope is b (t^{b-1} + t'^{b-1}) between the inputs, each term within (far/near)^{|b-1|};
        outside b |t^{b-1} - t'^{b-1}|, whose logarithm has a derivative (b - 2)/xi by Cauchy's mean
        value theorem, xi between t and t', so at most |b - 2|/near.
        """
        with np.errstate(divide="ignore"):
            known = np.log1p(np.divide(width, near))
        return np.where(near > 0.0, (self.shape + 2.0) * known, np.inf)

    def _by_nodes(self, near: Array, width: Array) -> tuple[Array, Array]:
        """Relative remainder: 2 e^{variation} q^20/(1 - q).

        On the disc |z - m| <= eta m around the cell's middle |z^b - m^b| <= m^b ((1 - eta)^-b - 1)
        (the coefficients of (1 + x)^b are no larger than those of (1 - x)^-b). A rule with positive
        weights, exact to degree 19, is off by at most twice the cell's width times the Taylor
        remainder of that degree, M q^20/(1 - q) with q = half width/(eta m).
        """
        half = 0.5 * width
        middle = near + half
        top, centre = self.exponent(near + width), self.exponent(middle)
        total = np.zeros_like(half)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            moved = centre - self.exponent(middle + half * node)
            total += weight * np.exp(np.clip(moved, -700.0, 300.0))
        with np.errstate(under="ignore"):
            mass = total * np.exp(np.maximum(np.log(half) - centre - self.log_norm, -745.0))
            room = 1.5 / np.maximum(centre, 1e-300)
            eta = np.minimum(-np.expm1(-np.log1p(room) / self.shape), 0.5)
            q = np.minimum(half / (eta * middle), 1.0)
            spread = centre * np.minimum(np.expm1(-self.shape * np.log1p(-eta)), 1.6 / 1e-300)
        # The disc was chosen so that the exponent moves by at most 1.5 on it.
        moved = np.minimum(np.minimum(spread, 1.6) + top - centre, 300.0)
        remainder = 2.0 * np.exp(moved) * q**20 / np.maximum(1.0 - q, 1e-3)
        err = np.where(q < 0.9, remainder, 1.0) + (centre + 1.0) * 2.0 * self._relative
        return mass, err + 64 * U * (1.0 + abs(self.log_norm) + np.abs(np.log(half)))

    def _by_series(self, near: Array, far: Array) -> tuple[Array, Array]:
        """Difference of t sum (-L)^k/(k! (b k + 1)) at far and near < 0.9 far, L <= 1/2.

        The cell holds at least e^-1/2 of its width, a tenth of far, so that 20 of the roundings of
        the sum, which is at most far, are enough.
        """
        total = self._integral(far) - self._integral(near)
        with np.errstate(under="ignore"):
            mass = np.exp(np.log(total) - self.log_norm)
        err = 20.0 * (64 * U + self._relative)
        return mass, err + 64 * U * (1.0 + abs(self.log_norm) + np.abs(np.log(far)))

    def _integral(self, far: Array) -> Array:
        """Integral of exp(-L) from 0, L <= 1/2 at the end: 24 terms leave less than 1e-30 of it."""
        level = self.exponent(far)
        total, term = np.ones_like(far), np.ones_like(far)
        for k in range(1, _TERMS):
            term = term * (-level / k)
            total += term / (self.shape * k + 1.0)
        return far * total


def _tail_level(shape: float, least: float) -> tuple[float, float]:
    """L with log P((|Z|/s)^b > L) <= least, and the bound on it.

    Gamma(a, L) <= e^-L L^{a-1} / (1 - (a-1)_+/L) for L > a - 1.
    """
    a = 1.0 / shape
    level = max(600.0, 2.0 * a)
    while True:
        grown = (a - 1.0) * math.log(level) - math.log1p(-max(a - 1.0, 0.0) / level)
        log_tail = grown - level - math.lgamma(a)
        if log_tail <= least:
            return level, log_tail
        level += 1.0
