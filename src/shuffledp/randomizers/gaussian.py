"""Gaussian noise on an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.arithmetic.balls import arb, float_above
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.noises import Noise, gaussian_noise
from shuffledp.ball.record import Others
from shuffledp.mechanism.parameters import IntervalHigh, IntervalLow, Positive
from shuffledp.randomizers.additive import IntervalNoise
from shuffledp.randomizers.noise import MILLS, Floats
from shuffledp.theorems import SPANNING_TRIPLES

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
        d = (arb(self.high) - arb(self.low)) / arb(self.sigma)
        found = d * d / 2 + d * arb(2).sqrt() * (2 * arb(delta)).erfcinv()
        return max(float_above(found), 0.0)

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

    def inverse_tail(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """-Phi^-1(tail/2) standard deviations."""
        return special.ndtri(0.5 * tail) / -self.distance, doubt * (MILLS / self.distance)

    def added_noise(self) -> Noise:
        """Normal noise of deviation sigma."""
        return gaussian_noise(self.sigma, self.low, self.high)

    def others(self) -> Others | None:
        """Triples that span the interval; None for very narrow noise."""
        if self.distance > _LARGEST_STEALING:
            return None
        return Others("span", SPANNING_TRIPLES, self.worst_pairs().pairs, unbounded=True)
