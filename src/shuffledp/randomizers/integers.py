"""Noise on the integers: discrete Laplace and discrete Gaussian."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb, ctx, precision_for
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.arithmetic.intervals import log_above
from shuffledp.ball.outputs import Law, OutputClass, check_inputs, largest
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.errors import NotCertified
from shuffledp.mechanism.parameters import LocalEpsilon, Switch, number, whole
from shuffledp.randomizers.base import Reports, epsilon_at
from shuffledp.randomizers.integer_laws import (
    IntegerCells,
    IntegerLine,
    IntegerNoise,
    float_tails,
    gaussian_noise,
    gaussian_table,
    laplace_noise,
    whole_sums,
)
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.values import RefusedRows, blocks, real_values, whole_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import END_POINTS, SHIFTED_TRIPLES

# Integers that are classes of outputs one by one, and log of what is cut off where nothing is said.
_MOST_CLASSES, _LOG_CUT = 6_000, -60.0
# Most integers whose masses are added up: tables of 32 megabytes.
_MOST_INTEGERS = 1 << 22
# Above P(K < -farthest), which is below e^-691.
# Largest input up to which label stealing looks at all shifts that may matter: 460 of them.
_MOST_SHIFTS = 28
U = UNIT_ROUNDOFF
Top = Annotated[int, whole(high=_check.LARGEST_DOMAIN)]


class LatticeNoise(MeanRandomizer):
    """Report x + K for an integer x in 0 .. top, K symmetric and unimodal on the integers.

    Theorem 4.8 of docs/theory.md: the end points are the worst pair of the blanket bound.
    """

    top: Top

    @property
    @abstractmethod
    def noise(self) -> IntegerNoise:
        """The law of K, at the working precision."""

    @property
    def cells_of_noise(self) -> IntegerCells:
        """The same for the sampler."""
        return IntegerCells(lambda: self.noise)

    def line(self, inputs: Sequence[Any]) -> IntegerLine:
        """By the tails of the noise, where a class for each integer would be too many."""
        check_inputs(inputs, self.top + 1)
        x0, x1, *others = (arb(x) for x in inputs)
        return IntegerLine(self.noise, x0, x1, others[0] if others else None)

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        return WorstPairs(((0, self.top),), END_POINTS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of them or in the middle."""
        others = dict.fromkeys((0, self.top, self.top // 2))
        return tuple((0, self.top, x2) for x2 in others)

    @property
    def low(self) -> float:
        """The smallest input, 0."""
        return 0.0

    @property
    def high(self) -> float:
        """The largest input, top."""
        return float(self.top)

    @property
    def centre(self) -> float:
        """Halfway between them."""
        return 0.5 * self.top

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.top + 1)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = np.empty(len(values), dtype=np.int64)
        for users in blocks(len(values)):
            reports[users] = whole_sums(self.cells_of_noise, values[users], source)
        return reports

    def _reports(
        self, reports: ArrayLike, *, low: float = -(2.0**63), high: float = 2.0**63
    ) -> Floats:
        """Whole numbers in the range of reports."""
        column = real_values(reports, low, high, name="reports")
        whole = column == np.floor(column)
        if not bool(whole.all()):
            raise RefusedRows("reports", column, ~whole, "a whole number")
        return column


def _refuse_many(name: str, classes: int) -> None:
    if classes > _MOST_CLASSES:
        raise NotCertified(f"{name}: more than {_MOST_CLASSES:,} classes of outputs")


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
        """Outputs up to 0 have the same ratios, and so have those from top on.

        The blanket at an output is the mass of the farther end: the noise is symmetric and does not
        increase with its size.
        """
        check_inputs(inputs, self.top + 1)
        _refuse_many(self.name, self.top + 1)
        top, eps0 = self.top, arb(self.eps0)
        a, beyond = (-eps0 / top).exp(), self.noise.at_least

        def mass(x: int, y: int) -> arb:
            return beyond(abs(y - x)) if y in (0, top) else (1 - a) / (1 + a) * a ** abs(y - x)

        law = []
        for y in range(top + 1):
            far, end = max(y, top - y), top if 2 * y < top else 0
            level = tuple(eps0 * (far - abs(y - x)) / top for x in inputs)
            law.append(OutputClass(mass(end, y), tuple(mass(x, y) for x in inputs), level))
        return law

    @property
    def noise(self) -> IntegerNoise:
        """Discrete Laplace noise of scale top/eps0."""
        return laplace_noise(self.top / arb(self.eps0), self.top)

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

    def variance(self, frequency: float = 0.0) -> float:
        """2a/(1 - a)^2; clamped a/(1 - a)^2 (2 - P(K <= -x) - P(K >= top - x)), largest in between.

        The latter at x = top/2, or next to it.
        """
        del frequency
        unit = self._unit
        if not self.clamped:
            return 2.0 * unit
        middle, beyond = self.top // 2, self.noise.at_least
        return unit * (2.0 - float(beyond(middle)) - float(beyond(self.top - middle)))

    @property
    def _unit(self) -> float:
        """a/(1 - a)^2 = 1/(2 sinh(rate/2))^2; inf where that is no float."""
        root = 2.0 * math.sinh(0.5 * self.rate)
        return 1.0 / root / root if root > 0.0 else math.inf

    def _unbiased(self, reports: ArrayLike) -> Floats:
        if not self.clamped:
            return self._reports(reports)
        column = self._reports(reports, low=0.0, high=float(self.top))
        overshoot = 1.0 / math.expm1(self.rate)
        column = np.where(column == 0.0, -overshoot, column)
        return np.where(column == self.top, self.top + overshoot, column)


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
    sigma: Annotated[float, number(low=0.01, high=1e6)]

    def __post_init__(self) -> None:
        super().__post_init__()
        size = self.top + math.ceil(75.0 * self.sigma)
        _check.count("integers, top + 75 sigma,", size, high=_MOST_INTEGERS)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Integers one by one, but those that are next to never sent."""
        return self.cut_law(inputs, _LOG_CUT)

    def cut_law(self, inputs: Sequence[Any], log_cut: float) -> Law:
        """Integers one by one; those farther from all inputs than the cut are one class."""
        check_inputs(inputs, self.top + 1)
        top, reach = self.top, math.ceil(self.sigma * math.sqrt(max(-2.0 * log_cut, 1.0))) + 1
        low, high = -reach, self.top + reach
        _refuse_many(self.name, high - low + 1)
        sigma, table = arb(self.sigma), gaussian_table(self.sigma)
        half = 1 / (2 * sigma * sigma)

        def mass(x: int, y: int) -> arb:
            return (-half * (y - x) ** 2).exp() / table.whole

        law = []
        for y in range(low, high + 1):
            end = top if 2 * y < top else 0
            level = tuple(half * (y - end) ** 2 - half * (y - x) ** 2 for x in inputs)
            law.append(OutputClass(mass(end, y), tuple(mass(x, y) for x in inputs), level))
        ends = [(high + 1 - x, x - low + 1) for x in inputs]
        gone = tuple(table.at_least(a) + table.at_least(b) for a, b in ends)
        return [*law, OutputClass(arb(0), gone, beyond=True)]

    @property
    def noise(self) -> IntegerNoise:
        """Discrete Gaussian noise of this sigma."""
        return gaussian_noise(self.sigma, self.top)

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
        """The least eps of the end points, to 1e-12 of it."""
        return epsilon_at(self._log_local_delta, delta)

    def _log_local_delta(self, epsilon: float) -> float:
        """Upper end of log D_eps(R_0 || R_top) = log max_k (P(K <= k) - e^eps P(K <= k - top)).

        The loss (top^2 - 2 k top)/(2 sigma^2) falls in k. Floats place its crossing of eps up to a
        neighbour.
        """
        with ctx.workprec(precision_for(1)):
            noise, grow = self.noise, arb(epsilon).exp()
            near = math.floor(self.top / 2 - epsilon * self.sigma**2 / self.top)
            found = [
                noise.at_most(k) - grow * noise.at_most(k - self.top)
                for k in (near - 1, near, near + 1)
            ]
            return log_above(largest([*found, arb(0)]))

    def variance(self, frequency: float = 0.0) -> float:
        """sum k^2 f(k) = sum over k >= 1 of (2 k - 1) P(|K| >= k), slightly below sigma^2."""
        del frequency
        tails = float_tails(self.sigma)
        return math.fsum((2.0 * np.arange(tails.size) + 1.0) * tails)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        return self._reports(reports)
