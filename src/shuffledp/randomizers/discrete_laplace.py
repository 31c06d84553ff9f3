"""Discrete Laplace noise: two-sided geometric, clamped to the inputs' range or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.lattice import geometric_law
from shuffledp.ball.outputs import Law, check_inputs
from shuffledp.ball.record import Others
from shuffledp.mechanism.parameters import LocalEpsilon, Switch
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.lattice import (
    GeometricNoise,
    IntegerLine,
    IntegerNoise,
    LatticeNoise,
    Top,
)
from shuffledp.randomizers.means import Floats
from shuffledp.randomness import RandomSource
from shuffledp.theorems import SHIFTED_TRIPLES


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(LatticeNoise):
    """Two-sided geometric noise, f(k) = (1 - a)/(1 + a) a^|k|, a = e^{-eps0/top}.

    Added to an integer in 0 .. top. Likelihood ratios are constant below 0 and above top, so
    clamping reports to 0 .. top loses nothing: the law of the ratios is the same. The blanket has
    gamma = 2 a^{ceil(top/2)}/(1 + a), times (1 + 1/a)/2 where top is even.

    Clamped, an end stands for everything beyond it, whose mean does not depend on the input (the
    noise has no memory): the estimator counts a report of 0 as -a/(1 - a), one of top as
    top + a/(1 - a).

    Parameters
    ----------
    top : int
        The largest input, 1 to 1e9.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300; eps0/top for neighbouring integers.
    clamped : bool
        Whether reports are clamped to 0 .. top.

    Notes
    -----
    Ghosh, Roughgarden, Sundararajan 2009. Reports are int64, drawn with exactly their
    probabilities.
    """

    name: ClassVar[str] = "discrete-laplace"
    summary: ClassVar[str] = "two-sided geometric noise on integers"
    top: Top
    eps0: LocalEpsilon
    clamped: Switch = False

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Outputs up to 0 have the same ratios, and so have those from top on."""
        return geometric_law(self.top, arb(self.eps0), inputs)

    def line(self, inputs: Sequence[Any]) -> IntegerLine:
        """Reports beyond the inputs have one ratio: clamping there changes nothing."""
        check_inputs(inputs, self.top + 1)
        x0, x1, *others = (arb(x) for x in inputs)
        noise = IntegerNoise(arb(1), self.top / arb(self.eps0), arb(0), arb(self.top))
        return IntegerLine(noise, x0, x1, others[0] if others else None)

    def others(self) -> Others:
        """All shifts that span the range."""
        return Others("shifts", SHIFTED_TRIPLES, self.worst_pairs().pairs)

    @property
    def message_bits(self) -> float:
        """log2 of the number of reports where clamped; 64 for an integer where not."""
        return math.log2(self.top + 1) if self.clamped else 64.0

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = super()._sample(values, source)
        return np.clip(reports, 0, self.top) if self.clamped else reports

    @property
    def rate(self) -> float:
        """eps0/top = -log a."""
        return self.eps0 / self.top

    def _beyond(self, distance: int) -> float:
        """P(K >= distance)."""
        return math.exp(-self.rate * distance) / (1.0 + math.exp(-self.rate))

    def variance(self, frequency: float = 0.0) -> float:
        """2a/(1 - a)^2; clamped a/(1 - a)^2 (2 - P(K <= -x) - P(K >= top - x)), largest in between.

        The latter at x = top/2, or next to it.
        """
        del frequency
        unit = self._unit
        if not self.clamped:
            return 2.0 * unit
        middle = self.top // 2
        return unit * (2.0 - self._beyond(middle) - self._beyond(self.top - middle))

    @property
    def _unit(self) -> float:
        """a/(1 - a)^2 = 1/(2 sinh(rate/2))^2; inf where that is no float."""
        root = 2.0 * math.sinh(0.5 * self.rate)
        return 1.0 / root / root if root > 0.0 else math.inf

    @property
    def noise(self) -> GeometricNoise:
        """Of rate eps0/top."""
        return GeometricNoise(Fraction(self.eps0) / self.top)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        if not self.clamped:
            return self._reports(reports)
        column = self._reports(reports, low=0.0, high=float(self.top))
        overshoot = 1.0 / math.expm1(self.rate)
        column = np.where(column == 0.0, -overshoot, column)
        return np.where(column == self.top, self.top + overshoot, column)
