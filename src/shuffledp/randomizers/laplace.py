"""The Laplace mechanism on an interval or on its two end points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.ball.densities import Noise
from shuffledp.ball.noises import laplace_noise
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.errors import NotCertified
from shuffledp.mechanism import IntervalHigh, IntervalLow, LocalEpsilon, Switch
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import MeanRandomizer
from shuffledp.randomizers.noise import (
    bits_for,
    laplace_cells,
    laplace_reach,
    scales_between,
    step_of,
    to_lattice,
)
from shuffledp.randomizers.values import blocks, real_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import END_POINTS, SPANNING_TRIPLES, TWO_INPUTS

U = UNIT_ROUNDOFF
# The lattice of reports is finer than the noise by this many binary digits.
FINER = 32
LEAST_EPS0 = 2.0**-50


@dataclass(frozen=True, kw_only=True)
class Laplace(MeanRandomizer):
    """Laplace noise of scale (high - low)/eps0 added to a value in [low, high].

    On [0, 1]: f_x(y) = (eps0/2) e^{-eps0 |y - x|}; the blanket is e^{-eps0/2} times the Laplace law
    centred at 1/2, gamma = e^{-eps0/2}, for inputs in [0, 1] and in {0, 1} alike.

    Reports are float64: middles of the cells of a lattice, 2^32 and more of them to the scale, that
    value and noise fall in, drawn from their exact probabilities (see ``randomizers.noise``).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.
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

    @property
    def message_bits(self) -> float:
        """64: a float."""
        return 64.0

    @property
    def _bits(self) -> int:
        """The lattice has 2^bits steps from low to high."""
        if not self.eps0 >= LEAST_EPS0:
            msg = f"laplace: eps0 = {self.eps0:g}: no sampler below 2^-50"
            raise NotCertified(msg)
        return bits_for(self.eps0, FINER)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return real_values(values, self.low, self.high, end_points=self.binary)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        return self.sample_on(self._bits, values, source)

    def sample_on(self, bits: int, values: np.ndarray, source: RandomSource) -> Reports:
        """Reports on a lattice of 2^bits steps from low to high."""
        length = self.high - self.low
        step = step_of(self.eps0, bits)
        reports = np.empty(len(values))
        for users in blocks(len(values)):
            place = np.clip((values[users] - self.low) / length, 0.0, 1.0)
            cells = to_lattice(place, 1 << bits, source)
            cells += laplace_cells(step, len(place), source)
            reports[users] = self.low + length * ((cells + 0.5) * 2.0**-bits)
        return reports

    def _unbiased(self, reports: ArrayLike) -> Array:
        return self.checked_on(self._bits, reports)

    def checked_on(self, bits: int, reports: ArrayLike) -> Array:
        """Reports that a lattice of 2^bits steps can give."""
        reach = (self.high - self.low) * (laplace_reach(step_of(self.eps0, bits)) * 2.0**-bits + 1)
        return real_values(reports, self.low - reach, self.high + reach, name="reports")

    def added_noise(self) -> Noise:
        """Of scale (high - low)/eps0."""
        made = laplace_noise(self.eps0, self.low, self.high)
        return replace(made, ends_only=True) if self.binary else made

    def others(self) -> Others:
        """Triples that span the interval."""
        pairs = self.worst_pairs().pairs
        return Others("span", SPANNING_TRIPLES, pairs, pairs[0] if self.binary else ())

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        theorem = TWO_INPUTS if self.binary else END_POINTS
        return WorstPairs(((self.low, self.high),), theorem)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, others at one of them (by symmetry either) or halfway."""
        others = (self.low,)
        if not self.binary:
            others = (*others, 0.5 * (self.low + self.high))
        return tuple((self.low, self.high, x2) for x2 in others)
