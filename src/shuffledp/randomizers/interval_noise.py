"""Noise on an interval: Laplace, Gaussian, generalized Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb, ctx, float_above
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.noises import Noise
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.mechanism.parameters import (
    IntervalHigh,
    IntervalLow,
    LocalEpsilon,
    Switch,
    number,
    positive,
)
from shuffledp.randomizers.noise import IntervalNoise, scales_between
from shuffledp.randomizers.values import real_values
from shuffledp.theorems import SPANNING_TRIPLES, TWO_INPUTS


@dataclass(frozen=True, kw_only=True)
class Laplace(IntervalNoise):
    """Laplace noise of scale (high - low)/eps0 added to a value in [low, high].

    On [0, 1]: f_x(y) = (eps0/2) e^{-eps0 |y - x|}; the blanket is e^{-eps0/2} times the Laplace law
    centred at 1/2, gamma = e^{-eps0/2}, for inputs in [0, 1] and in {0, 1} alike.

    Reports are float64: middles of the cells of a lattice, 2^32 and more of them to the scale, that
    value and noise fall in, drawn with exactly their probabilities (see ``randomizers.noise``).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    low, high : float
        The interval of inputs.
    binary : bool
        True where inputs are only the two end points.

    Notes
    -----
    Dwork, McSherry, Nissim, Smith 2006; Balle et al. 2019 (blanket).
    """

    name: ClassVar[str] = "laplace"
    summary: ClassVar[str] = "Laplace noise on an interval"
    eps0: LocalEpsilon
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0
    binary: Switch = False

    @classmethod
    def from_scale(cls, scale: float, *, low: float = 0.0, high: float = 1.0) -> Laplace:
        """The mechanism whose noise has this scale: eps0 = (high - low)/scale, rounded up.

        Parameters
        ----------
        scale : float
            Scale of the noise, in the units of the input.
        low, high : float
            The interval of inputs.
        """
        scale = _check.positive("scale", scale)
        ends = cls(eps0=1.0, low=low, high=high)
        return cls(eps0=scales_between(ends.low, ends.high, scale), low=ends.low, high=ends.high)

    def variance(self, frequency: float = 0.0) -> float:
        """2 ((high - low)/eps0)^2 for every input; the lattice adds less than 2^-60 of it."""
        del frequency
        scale = (self.high - self.low) / self.eps0
        return 2.0 * scale * scale

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return real_values(values, self.low, self.high, end_points=self.binary)

    def added_noise(self) -> Noise:
        """Laplace noise of scale (high - low)/eps0."""
        low, high, eps0 = arb(self.low), arb(self.high), arb(self.eps0)
        scale = (high - low) / eps0
        return Noise(arb(1), scale, low, high, eps0=eps0, ends_only=self.binary)

    def others(self) -> Others:
        """Triples that span the interval."""
        pairs = self.worst_pairs().pairs
        return Others("span", SPANNING_TRIPLES, pairs, pairs[0] if self.binary else ())

    def worst_pairs(self) -> WorstPairs:
        """The end points: two inputs alone, or the ends of the interval."""
        found = super().worst_pairs()
        return found._replace(theorem=TWO_INPUTS) if self.binary else found

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """No input is halfway where there are two."""
        found = super().datasets()
        return found[:1] if self.binary else found


U = UNIT_ROUNDOFF
_LARGEST_DISTANCE = 1e4
# Label stealing is not tried for sigma below 0.3 of the interval: ratios are too heavy for it.
_LARGEST_STEALING = 1.0 / 0.3


@dataclass(frozen=True, kw_only=True)
class Gaussian(IntervalNoise):
    """Gaussian noise N(0, sigma^2) added to a value in [low, high]; no pure local guarantee.

    With d = (high - low)/sigma: gamma = 2 Phi(-d/2); the blanket is the density of the farther end
    point, so the ratios are e^{d (d/2 - z)} on one side of the middle and 1 on the other.

    Reports are float64: middles of the cells of a lattice, 2^32 and more of them to sigma, that
    value and noise fall in, drawn with exactly their probabilities (see ``randomizers.noise``).

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
    sigma: Annotated[float, positive(high=1e100)]
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.positive("(high - low)/sigma", self.distance, high=_LARGEST_DISTANCE)

    @property
    def eps0(self) -> float:
        """inf: Gaussian noise has no pure local guarantee."""
        return math.inf

    @property
    def local_rho(self) -> float:
        """d^2/2: the Renyi divergence of order A of N(0, 1) and N(d, 1) is A d^2/2."""
        return 0.5 * self.distance**2 * (1.0 + 16 * U)

    @property
    def distance(self) -> float:
        """d = (high - low)/sigma, the end points' distance in standard deviations."""
        return (self.high - self.low) / self.sigma

    def variance(self, frequency: float = 0.0) -> float:
        """sigma^2 for every input; the lattice adds less than 2^-60 of it."""
        del frequency
        return self.sigma * self.sigma

    @property
    def _finest(self) -> float:
        return self.distance

    def added_noise(self) -> Noise:
        """Normal noise of deviation sigma."""
        return Noise(arb(2), arb(self.sigma) * arb(2).sqrt(), arb(self.low), arb(self.high))

    def others(self) -> Others | None:
        """Triples that span the interval; None for very narrow noise."""
        if self.distance > _LARGEST_STEALING:
            return None
        return Others("span", SPANNING_TRIPLES, self.worst_pairs().pairs, unbounded=True)


_LEAST_SHAPE, _LARGEST_SHAPE = 1.0 / 32.0, 1000.0
_GAUSSIAN_SHAPE = 2.0
# Places at which the best constant of a Renyi divergence is sought, and bits of its bound.
_PLACES, _BITS = 256, 128


@dataclass(frozen=True, kw_only=True)
class GeneralizedGaussian(IntervalNoise):
    """Noise with density proportional to exp(-(|z|/scale)^shape) added to a value in [low, high].

    Shape 1 is Laplace, 2 is Gaussian with sigma = scale/sqrt 2; a small shape has a cusp and heavy
    tails. With d = (high - low)/scale: gamma = Q(1/shape, (d/2)^shape), the regularised upper
    incomplete gamma function; the blanket is the density of the farther end point.

    The log ratio of two densities, |y - u|^b - |y - v|^b, is monotone between and on either side of
    u < v for every b > 0: its derivative is b (|y - u|^{b-1} + |y - v|^{b-1}) up to the sign in
    between, and b times the difference of two powers of which one is always the larger outside.

    Reports are float64: middles of the cells of a lattice that value and noise fall in, drawn with
    exactly their probabilities (see ``randomizers.noise``).

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
    shape: Annotated[float, number(low=_LEAST_SHAPE, high=_LARGEST_SHAPE)]
    scale: Annotated[float, positive(high=1e100)]
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.real("(high - low)/scale", self.distance, low=1e-9, high=_LARGEST_DISTANCE)

    def added_noise(self) -> Noise:
        """Density exp(-|z/scale|^shape)."""
        return Noise(arb(self.shape), arb(self.scale), arb(self.low), arb(self.high))

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

    def local_renyi(self, order: float) -> float:
        """The divergence of the end points, which are the worst pair at every eps."""
        if self.shape <= 1.0:
            return super().local_renyi(order)
        above = power_renyi(self.shape, self.distance * (1.0 + 4 * U), order)
        return min(above, order * self.local_rho)

    @property
    def local_rho(self) -> float:
        """d^2 for the Gaussian shape; not known for other shapes above 1."""
        if self.shape == _GAUSSIAN_SHAPE:
            return self.distance**2 * (1.0 + 16 * U)
        return super().local_rho

    def variance(self, frequency: float = 0.0) -> float:
        """s^2 Gamma(3/b)/Gamma(1/b), whatever the input."""
        del frequency
        a = 1.0 / self.shape
        return self.scale**2 * math.exp(math.lgamma(3.0 * a) - math.lgamma(a))


@lru_cache(maxsize=4096)
def power_renyi(shape: float, distance: float, order: float) -> float:
    """Upper bound of the Renyi divergence of exp(-|y|^b) and exp(-|y - d|^b), normalised, b > 1.

    By convexity |y - d|^b <= (1 - c)^(1-b) |y|^b + c^(1-b) d^b for every c in (0, 1). So with
    k = A - (A - 1) (1 - c)^(1-b) > 0 the integral of f^A g^(1-A), which is e^((A-1) D), is at most
    k^(-1/b) e^((A-1) c^(1-b) d^b). Floats choose c.

    Parameters
    ----------
    shape : float
        b > 1.
    distance : float
        d, of the two inputs in scales, > 0.
    order : float
        A > 1.

    Returns
    -------
    float
        In nats; inf where the numbers leave the range of floats.
    """
    b, d, a = shape, np.float64(distance), order
    # k falls to 0 there, which is where the best place is for large orders.
    last = -math.expm1(math.log1p(-1.0 / a) / (b - 1.0))
    c = last * (1.0 - np.logspace(-9.0, -1e-4, _PLACES))
    with np.errstate(all="ignore"):
        logs = np.log(a - (a - 1.0) * (1.0 - c) ** (1.0 - b))
        found = d**b * c ** (1.0 - b) - logs / (b * (a - 1.0))
    best = float(c[np.argmin(np.where(np.isnan(found), np.inf, found))])
    with ctx.workprec(_BITS):
        share, power, rest = arb(best), arb(b), arb(a) - 1
        k = 1 + rest - rest * (1 - share) ** (1 - power)
        if not k > 0:
            return math.inf
        return float_above(share ** (1 - power) * arb(distance) ** power - k.log() / (power * rest))
