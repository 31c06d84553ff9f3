"""Laplace noise with reports in an interval: clamped to it, or conditioned on it.

Two mechanisms are called "truncated Laplace" in the literature. *Clamped*: reports beyond the
interval are moved to its ends, which then have positive probability (post-processing of Laplace).
*Truncated*: noise is drawn again until the report is in the interval, so its density is that of
Laplace divided by the probability of the interval, which depends on the input.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.noises import Noise, truncated_noise
from shuffledp.ball.outputs import rational_ball
from shuffledp.ball.record import Others
from shuffledp.errors import NotCertified
from shuffledp.mechanism.parameters import IntervalHigh, IntervalLow, LocalEpsilon, Number
from shuffledp.randomizers.additive import lattice_reports
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.means import Floats, OnInterval
from shuffledp.randomizers.noise import ERROR, Bools, Cells
from shuffledp.randomizers.values import real_values
from shuffledp.randomness import RandomSource, Uniform
from shuffledp.theorems import TRUNCATED_END_POINTS, Theorem

# Of the variance as a function of the input, of which the largest is given.
_INPUTS = 129
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_PANELS = 32
_LEAST_MARGIN = 1e-6


@dataclass(frozen=True, kw_only=True)
class _BoundedLaplace(OnInterval):
    """What both share: parameters, inputs, and the Laplace mechanism they come from."""

    eps0: LocalEpsilon
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0
    margin: Annotated[float, Number(low=0.0, high=1e100)] = 0.0

    @property
    def scale(self) -> float:
        """s = (high - low)/eps0."""
        return (self.high - self.low) / self.eps0

    @property
    def _laplace(self) -> Laplace:
        return Laplace(eps0=self.eps0, low=self.low, high=self.high)

    def _reports(self, reports: ArrayLike) -> Floats:
        # A report that was written down and read may differ in its last digits.
        slack = 2.0**-30 * (self.high - self.low + self.margin)
        low, high = self.low - self.margin, self.high + self.margin
        return real_values(reports, low - slack, high + slack, name="reports")


@dataclass(frozen=True, kw_only=True)
class ClampedLaplace(_BoundedLaplace):
    """Laplace noise, reports clamped to [low - margin, high + margin].

    Likelihood ratios do not change beyond the interval of inputs, so nothing is lost: all bounds
    are those of Laplace with the same eps0. What lies beyond an end has a mean that does not depend
    on the input (the noise has no memory): the unbiased estimator counts an end as s further out,
    and its variance is smaller than that of Laplace, s^2 (2 - P(report at an end)).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300; the scale is s = (high - low)/eps0.
    low, high : float
        The interval of inputs.
    margin : float
        How far beyond it reports may be.

    Notes
    -----
    Dwork, McSherry, Nissim, Smith 2006; clamping is post-processing. Reports are float64, drawn as
    those of ``Laplace``.
    """

    name: ClassVar[str] = "clamped-laplace"
    summary: ClassVar[str] = "Laplace noise, reports clamped to an interval"

    def added_noise(self) -> Noise:
        """That of Laplace: what is clamped is a sufficient statistic, as ratios do not change."""
        return self._laplace.added_noise()

    def others(self) -> Others:
        """Those of Laplace, whose reports these are, processed further."""
        return self._laplace.others()

    def variance(self, frequency: float = 0.0) -> float:
        """s^2 (2 - e^{-((high - low)/2 + margin)/s}): the largest, at the middle."""
        del frequency
        reach = (0.5 * (self.high - self.low) + self.margin) / self.scale
        return self.scale**2 * (2.0 - math.exp(-reach))

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = self._laplace.sample_on(self._laplace.bits, values, source)
        return np.clip(reports, self.low - self.margin, self.high + self.margin)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        column = self._reports(reports)
        low, high = self.low - self.margin, self.high + self.margin
        column = np.where(column <= low, low - self.scale, column)
        return np.where(column >= high, high + self.scale, column)


@dataclass(frozen=True, kw_only=True)
class TruncatedLaplace(_BoundedLaplace):
    """Laplace noise given that the report is in [low - margin, high + margin].

    f_x(y) = e^{-|y - x|/s}/(s D(x)), D(x) = 2 - e^{-(x - L)/s} - e^{-(H - x)/s} on [L, H]. The
    blanket is the density of the farther end point, and the local guarantee is eps0 (docs/
    theory-noise.md, Theorem 1.2).

    With a margin m > 0 there is an unbiased estimator: y - s e^{-(y-L)/s} + s e^{-(H-y)/s} for y in
    [low, high], and low - c s, high + c s in the margins, where c = (1 - (p + q)/2)/(1 - p),
    p = e^{-m/s}, q = e^{-(high - low + m)/s}. Without a margin there is none: on [low, high] it
    would have to be the same function, which is biased at the ends.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300; the scale is s = (high - low)/eps0.
    low, high : float
        The interval of inputs.
    margin : float
        How far beyond it reports may be.

    Notes
    -----
    Holohan, Antonatos, Braghin, Mac Aonghusa 2018 (bounded Laplace mechanism). Reports are float64,
    middles of the cells of a lattice, drawn with exactly their probabilities (see
    ``randomizers.noise``).
    """

    name: ClassVar[str] = "truncated-laplace"
    summary: ClassVar[str] = "Laplace noise, reports conditioned on an interval"
    ends_theorem: ClassVar[Theorem] = TRUNCATED_END_POINTS

    def _inside(self, place: float) -> float:
        """P(low - margin <= x + Z <= high + margin) = D(x)/2 for the input at this place."""
        margin = self.margin / (self.high - self.low)
        ends = (place + margin, 1.0 - place + margin)
        return -0.5 * sum(math.expm1(-self.eps0 * end) for end in ends)

    def added_noise(self) -> Noise:
        """Laplace noise given that the report is within the margin."""
        return truncated_noise(self.eps0, self.low, self.high, self.margin)

    def variance(self, frequency: float = 0.0) -> float:
        """The largest over the inputs, by quadrature at 129 of them."""
        del frequency
        return float(self._variances()[1].max())

    def _variances(self) -> tuple[Floats, Floats]:
        """Inputs, and the variance at each."""
        self._need_margin()
        places = np.linspace(self.low, self.high, _INPUTS)
        return places, np.array([self._variance_at(float(x)) for x in places])

    def _variance_at(self, x: float) -> float:
        """E(estimate^2) - x^2 around the input: pieces between the kinks, 32 panels each."""
        low, high = self.low - self.margin, self.high + self.margin
        total = 0.0
        for a, b in ((low, self.low), (self.low, x), (x, self.high), (self.high, high)):
            edges = np.linspace(a, b, _PANELS + 1)
            half = 0.5 * np.diff(edges)[:, None]
            y = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * _NODES
            density = np.exp(-np.abs(y - x) / self.scale)
            total += float((half * _WEIGHTS * density * (self._values(y) - x) ** 2).sum())
        return total / (2.0 * self.scale * self._inside((x - self.low) / (self.high - self.low)))

    def _need_margin(self) -> None:
        if self.margin < _LEAST_MARGIN * self.scale:
            msg = "truncated-laplace: there is no unbiased estimator without a margin"
            raise NotCertified(msg)

    def _values(self, y: Floats) -> Floats:
        """The unbiased estimator."""
        s, low, high = self.scale, self.low - self.margin, self.high + self.margin
        inside = y - s * np.exp(-(y - low) / s) + s * np.exp(-(high - y) / s)
        p, q = math.exp(-self.margin / s), math.exp(-(self.high - self.low + self.margin) / s)
        beyond = s * (1.0 - 0.5 * (p + q)) / -math.expm1(-self.margin / s)
        return np.where(
            y < self.low, self.low - beyond, np.where(y > self.high, self.high + beyond, inside)
        )

    def _unbiased(self, reports: ArrayLike) -> Floats:
        self._need_margin()
        low, high = self.low - self.margin, self.high + self.margin
        return self._values(np.clip(self._reports(reports), low, high))

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        """The cell of Laplace noise given that the report is in the interval."""
        bits = self._laplace.bits
        ends = self.low, self.high
        reports = lattice_reports(
            lambda own: _TruncatedCells(self, bits, own), bits, ends, values, source
        )
        # The middle of a cell that is partly inside may be beyond the end.
        return np.clip(reports, self.low - self.margin, self.high + self.margin)


@dataclass(frozen=True)
class _TruncatedCells(Cells):
    """Cells of width 2^-bits (high - low), of the noise that values in given cells get."""

    mechanism: TruncatedLaplace
    bits: int
    own: Floats

    @property
    def _margin(self) -> Fraction:
        """How far beyond the inputs reports may be, in units of high - low."""
        one = self.mechanism
        return Fraction(one.margin) / (Fraction(one.high) - Fraction(one.low))

    def possible(self, tail: Floats, doubt: Floats, upper: Bools) -> tuple[Floats, Floats]:
        """The noise up to which its share of the probability is on the side of ``upper``.

        Between it and the value lies the mass q, so that it is -log(1 - 2 q) scales away.
        """
        rate, margin = self.mechanism.eps0, float(self._margin)
        place = self.own * 2.0**-self.bits
        rooms = rate * (1.0 - place + margin), rate * (place + margin)
        sides = -0.5 * np.expm1(-rooms[0]), -0.5 * np.expm1(-rooms[1])
        room, side = np.where(upper, rooms[0], rooms[1]), np.where(upper, sides[0], sides[1])
        beyond = 0.5 * tail * (sides[0] + sides[1])
        same = beyond <= side
        q = np.abs(side - beyond)
        near, far = q < 0.25, 2.0 * beyond + np.exp(-room)
        size = -np.where(near, np.log1p(-2.0 * np.minimum(q, 0.25)), np.log(far))
        close, wide = 4.0 * doubt * (side + beyond), 2.0 * doubt + ERROR * np.minimum(room, 800.0)
        cell = np.where(same == upper, size, -size) * (2.0**self.bits / rate)
        error = np.where(near, close, wide) * (2.0**self.bits / rate) + ERROR * np.abs(cell)
        return np.floor(cell - error), np.floor(cell + error)

    def reached(self, j: int, user: int, number: Uniform) -> bool:
        """By the law of the report of the value's own point of the lattice."""
        own, steps = int(self.own[user]), 1 << self.bits
        if own + j <= -self._margin * steps:
            return True
        if own + j >= (1 + self._margin) * steps:
            return False

        def chance() -> arb:
            noise = self.mechanism.added_noise()
            length = noise.high - noise.low
            x, y = (noise.low + length * rational_ball(Fraction(k, steps)) for k in (own, own + j))
            end = None if noise.ends is None else noise.ends[1]
            return noise.masses(x, (y, end))[0] / noise.inside(x)

        return number.below(chance)
