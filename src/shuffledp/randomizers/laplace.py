"""The Laplace mechanism on an interval or on its two end points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.noises import Noise, laplace_noise
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.mechanism.parameters import IntervalHigh, IntervalLow, LocalEpsilon, Switch
from shuffledp.randomizers.additive import IntervalNoise
from shuffledp.randomizers.noise import Floats, scales_between
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

    @property
    def _finest(self) -> float:
        return self.eps0

    def inverse_tail(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """-log(tail) scales."""
        return np.log(tail) / -self.eps0, doubt / self.eps0

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return real_values(values, self.low, self.high, end_points=self.binary)

    def added_noise(self) -> Noise:
        """Of scale (high - low)/eps0."""
        made = laplace_noise(self.eps0, self.low, self.high)
        return replace(made, ends_only=True) if self.binary else made

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
