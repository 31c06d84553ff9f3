"""Discrete Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.lattice import gaussian_law
from shuffledp.ball.outputs import Law, check_inputs
from shuffledp.ball.record import Others
from shuffledp.mechanism.parameters import Number
from shuffledp.randomizers.lattice import (
    TABLE_ERROR,
    GaussianNoise,
    IntegerLine,
    IntegerNoise,
    LatticeNoise,
    Top,
    farthest,
    gaussian_tails,
    masses,
)
from shuffledp.randomizers.means import Floats
from shuffledp.theorems import SHIFTED_TRIPLES

U = UNIT_ROUNDOFF
_MOST_INTEGERS = 1 << 22
_SMALLEST_MASS = 1e-300


# Largest input up to which label stealing looks at all shifts that may matter: 460 of them.
_MOST_SHIFTS = 28


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(LatticeNoise):
    """Discrete Gaussian noise, f(k) proportional to e^{-k^2/(2 sigma^2)}, on the integers.

    Added to an integer in 0 .. top. The blanket is the mass function of the farther end point.

    Parameters
    ----------
    top : int
        The largest input.
    sigma : float
        Parameter of the law, from 0.01; its standard deviation is slightly below.

    Notes
    -----
    Canonne, Kamath, Steinke 2020. At most 4 million integers (top + 75 sigma). Reports are int64,
    drawn with exactly their probabilities.
    """

    name: ClassVar[str] = "discrete-gaussian"
    summary: ClassVar[str] = "discrete Gaussian noise on integers"
    top: Top
    sigma: Annotated[float, Number(low=0.01, high=1e6)]

    def __post_init__(self) -> None:
        super().__post_init__()
        size = self.top + 2 * farthest(self.sigma) + 1
        _check.count("integers, top + 75 sigma,", size, high=_MOST_INTEGERS)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Integers one by one, but those that are next to never sent."""
        return gaussian_law(self.top, arb(self.sigma), inputs)

    def cut_law(self, inputs: Sequence[Any], log_cut: float) -> Law:
        """Integers one by one, up to the cut."""
        return gaussian_law(self.top, arb(self.sigma), inputs, log_cut=log_cut)

    def line(self, inputs: Sequence[Any]) -> IntegerLine:
        """By the tails of the noise."""
        check_inputs(inputs, self.top + 1)
        x0, x1, *others = (arb(x) for x in inputs)
        scale, tails = arb(self.sigma) * arb(2).sqrt(), gaussian_tails(self.sigma, ctx.prec)
        noise = IntegerNoise(arb(2), scale, arb(0), arb(self.top), tails=tails)
        return IntegerLine(noise, x0, x1, others[0] if others else None)

    def others(self) -> Others | None:
        """All shifts that may matter, on few integers."""
        if self.top > _MOST_SHIFTS:
            return None
        return Others("shifts", SHIFTED_TRIPLES, self.worst_pairs().pairs, unbounded=True)

    @property
    def eps0(self) -> float:
        """inf: there is no pure local guarantee."""
        return math.inf

    @property
    def local_rho(self) -> float:
        """top^2/(2 sigma^2) (Canonne, Kamath, Steinke 2020, Theorem 4).

        For integers u, v: sum exp(-(A (y-u)^2 - (A-1)(y-v)^2)/(2 sigma^2)) is e^{A (A-1) (u-v)^2 /
        (2 sigma^2)} times a sum around a shifted centre, which is largest for an integer one.
        """
        return 0.5 * (self.top / self.sigma) ** 2 * (1.0 + 16 * U)

    def local_epsilon(self, delta: float) -> float:
        """The loss at the first k with P(K <= k) > delta: delta(eps) <= P(loss > eps).

        The loss is (top^2 - 2 k top)/(2 sigma^2), which falls in k.
        """
        mass = masses(self.sigma)
        grown = 1.0 + TABLE_ERROR
        below = np.cumsum(np.append(mass[:0:-1], mass)) * grown
        k = int(np.searchsorted(below + _SMALLEST_MASS, delta, side="right")) - farthest(self.sigma)
        loss = self.top * (self.top - 2.0 * k) / (2.0 * self.sigma**2)
        return max(loss, 0.0) * (1.0 + 16 * U)

    def variance(self, frequency: float = 0.0) -> float:
        """sum k^2 f(k), slightly below sigma^2."""
        del frequency
        mass = masses(self.sigma)
        k = np.arange(mass.size, dtype=np.float64)
        return 2.0 * math.fsum(k * k * mass)

    @property
    def noise(self) -> GaussianNoise:
        """Of this sigma."""
        return GaussianNoise(self.sigma)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        return self._reports(reports)
