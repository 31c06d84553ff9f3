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
from shuffledp.ball.densities import Noise
from shuffledp.ball.noises import gaussian_noise
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.errors import NotCertified
from shuffledp.mechanism import IntervalHigh, IntervalLow, Positive
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import MeanRandomizer
from shuffledp.randomizers.noise import FARTHEST_NORMAL, normal_cells, to_lattice
from shuffledp.randomizers.values import blocks, real_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import END_POINTS, SPANNING_TRIPLES

U = UNIT_ROUNDOFF
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

    def added_noise(self) -> Noise:
        """Normal noise of deviation sigma."""
        return gaussian_noise(self.sigma, self.low, self.high)

    def others(self) -> Others | None:
        """Triples that span the interval; None for very narrow noise."""
        if self.distance > _LARGEST_STEALING:
            return None
        return Others("span", SPANNING_TRIPLES, self.worst_pairs().pairs, unbounded=True)

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        return WorstPairs(((self.low, self.high),), END_POINTS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of them (by symmetry either) or halfway."""
        middle = 0.5 * (self.low + self.high)
        return tuple((self.low, self.high, x2) for x2 in (self.low, middle))
