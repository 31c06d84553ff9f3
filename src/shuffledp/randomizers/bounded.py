"""Laplace noise with bounds: reports in an interval, or neighbours at most a distance apart.

Two mechanisms are called "truncated Laplace" in the literature. *Clamped*: reports beyond the
interval are moved to its ends, which then have positive probability (post-processing of Laplace).
*Truncated*: noise is drawn again until the report is in the interval, so its density is that of
Laplace divided by the probability of the interval, which depends on the input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.noises import Noise
from shuffledp.ball.outputs import rational_ball
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.bounds.continuous import Cells
from shuffledp.bounds.line import Line
from shuffledp.errors import NotCertified
from shuffledp.mechanism.parameters import (
    IntervalHigh,
    IntervalLow,
    LocalEpsilon,
    follows,
    number,
    positive,
)
from shuffledp.randomizers.base import Input, Reports
from shuffledp.randomizers.interval_noise import Laplace
from shuffledp.randomizers.means import Floats, Metric, OnInterval
from shuffledp.randomizers.noise import (
    ERROR,
    Bools,
    CellLaw,
    IntervalNoise,
    bits_for,
    lattice_reports,
    scales_between,
)
from shuffledp.randomizers.values import real_values
from shuffledp.randomness import RandomSource, Uniform
from shuffledp.theorems import METRIC_ENVELOPE, TRUNCATED_END_POINTS, Theorem

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
    margin: Annotated[float, number(low=0.0, high=1e100)] = 0.0

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
        """The noise of Laplace: a clamped report is a sufficient statistic of it."""
        return self._laplace.added_noise()

    def others(self) -> Others:
        """The triples of Laplace, whose reports these are, processed further."""
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
        low, high, margin = arb(self.low), arb(self.high), arb(self.margin)
        return replace(self._laplace.added_noise(), ends=(low - margin, high + margin))

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
class _TruncatedCells(CellLaw):
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

        On that side Laplace noise is beyond a size with the probability e^-size/2; the other side
        has its own 1/2 - e^-size/2 up to there.
        """
        rate, margin = self.mechanism.eps0, float(self._margin)
        place = self.own * 2.0**-self.bits
        rooms = rate * (1.0 - place + margin), rate * (place + margin)
        sides = -0.5 * np.expm1(-rooms[0]), -0.5 * np.expm1(-rooms[1])
        room, side = np.where(upper, rooms[0], rooms[1]), np.where(upper, sides[0], sides[1])
        beyond = 0.5 * tail * (sides[0] + sides[1])
        same = beyond <= side
        own_side, other = np.log(2.0 * beyond + np.exp(-room)), np.log1p(2.0 * (side - beyond))
        size = -np.where(same, own_side, other) * (2.0**self.bits / rate)
        wide = 4.0 * doubt + ERROR * np.minimum(room, 800.0)
        error = wide * (2.0**self.bits / rate) + ERROR * size
        cell = np.where(same == upper, size, -size)
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


U = UNIT_ROUNDOFF
# The lattice's step is at most this fraction of the distance, in binary digits, where the sampler
# has them: what rounding adds to the distance is then below the numerical width of every bound.
_FINER = 20
# Places in [0, 1] are floats.
_FINEST = 50
# Cells between the middle of the two values and the end of the interval: gains are then known to
# a relative eps0/2000.
_CELLS = 2000
# Distances are rounded up to an even number of these steps of the interval: the middle is a float.
_GRID = 2.0**50
# Inputs of the envelope's law.
ENVELOPE_INPUTS = ((0,), (1,))


@dataclass(frozen=True, kw_only=True, repr=False)
class MetricLaplace(Metric, IntervalNoise):
    """Laplace noise of a given scale added to a value in [low, high]; neighbours differ by little.

    f_x(y) = e^{-|y - x|/scale}/(2 scale), so that f_x <= e^{|x - x'|/scale} f_x': metric (geo-)
    privacy of 1/scale for each unit of distance. Neighbouring datasets: one user's value moved by
    at most ``distance``; all others hold anything in [low, high]. The blanket, of mass e^{-(high -
    low)/(2 scale)}, does not depend on the distance; the law below uses its outer part.

    With the value at the end of the interval and one ``distance`` further inside, and the same
    mirrored, half of the outputs of each make one law whose gains dominate those of every pair of
    neighbours, for every eps and n (docs/theory-noise.md, Theorem 3.1). At distance = high - low it
    is Laplace's own.

    Reports are those of values rounded to a lattice, which can move neighbours apart by a step of
    it; upper ends are those of a distance larger by that (docs/theory.md, Lemma R2).

    Inputs of its law are values, or (0,) and (1,) for the two laws of the envelope.

    Parameters
    ----------
    scale : float
        Scale of the noise, in the units of the input; (high - low)/scale <= 300.
    low, high : float
        The interval of inputs.
    distance : float, optional
        Largest distance of two neighbouring values; high - low by default.

    Notes
    -----
    Andres, Bordenabe, Chatzikokolakis, Palamidessi 2013 (geo-indistinguishability); Wang et al.
    2024, section 6 (amplification by p, beta and q). The sampler is that of ``Laplace``, on a finer
    lattice where the distance is small.

    Examples
    --------
    >>> import shuffledp as sd
    >>> hours = sd.MetricLaplace(scale=6.0, low=0.0, high=24.0, distance=1.0)
    >>> near, any_two = (
    ...     sd.shuffle(hours.at(distance), n=1000, rtol=1e-3).epsilon(delta=1e-6)
    ...     for distance in (1.0, 24.0)
    ... )
    >>> near.upper < any_two.upper / 8
    True
    """

    dense: ClassVar[bool] = True
    name: ClassVar[str] = "metric-laplace"
    summary: ClassVar[str] = "Laplace noise on an interval, neighbours up to a distance apart"
    scale: Annotated[float, positive(high=1e100)]
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0
    distance: Annotated[
        float | None, follows(positive(high=lambda m: m.high - m.low), lambda m: m.high - m.low)
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.local_epsilon("(high - low)/scale", self.eps0)

    @property
    def eps0(self) -> float:
        """(high - low)/scale, rounded up: pure privacy of any two values, neighbours or not."""
        return scales_between(self.low, self.high, self.scale)

    @property
    def widest(self) -> float:
        """high - low."""
        return self.high - self.low

    @property
    def apart(self) -> float:
        """(distance + step)/scale."""
        return self.separation * self.eps0 * (1.0 + 4 * U)

    @property
    def separation(self) -> float:
        """Largest distance of two neighbours after rounding to the lattice, of high - low.

        Their places in [0, 1] come from floats, each with an error of at most 3u.
        """
        share = self.reach / (self.high - self.low) * (1.0 + 4 * U)
        return min(1.0, (share + 2.0**-self.bits + 8 * U) * (1.0 + 4 * U))

    @property
    def bits(self) -> int:
        """The lattice has 2^bits steps from low to high, which it is at least Laplace's own."""
        wanted = bits_for((self.high - self.low) / self.reach, _FINER)
        return max(super().bits, min(wanted, _FINEST))

    def unrestricted(self) -> Laplace:
        """Laplace's own: any two values of the interval."""
        return self._laplace

    @property
    def _laplace(self) -> Laplace:
        return Laplace(eps0=self.eps0, low=self.low, high=self.high)

    def worst_pairs(self) -> WorstPairs:
        """The envelope; mirrored, the other direction has the same law."""
        return WorstPairs((ENVELOPE_INPUTS,), METRIC_ENVELOPE)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at an end or next to it, others at the far end, with the victim, or halfway."""
        inner = max(self.low, self.high - self.reach)
        if Fraction(self.high) - Fraction(inner) > Fraction(self.reach):
            inner = math.nextafter(inner, self.high)
        others = (self.low, self.high, inner, 0.5 * (self.low + self.high))
        return tuple((self.high, inner, x2) for x2 in dict.fromkeys(others))

    # ------------------------------------------------------------------------------- its law

    def line(self, inputs: Sequence[Input]) -> Line | None:
        """The line of Laplace's own for values; None for the envelope."""
        values = not any(isinstance(x, tuple) for x in inputs)
        return self._laplace.line(inputs) if values else None

    def cells(self, inputs: Sequence[Input]) -> Cells | None:
        """Cells of the envelope of all neighbours; None of values.

        On the interval [0, 1], with the distance d: the outputs beyond 1 - d/2 of the pair
        (1, 1 - d) against the blanket, and the same with the pair exchanged (docs/theory-noise.md,
        Theorem 3.1). Exchanged it is the same law.
        """
        if set(inputs) != set(ENVELOPE_INPUTS):
            return None
        step = min(1.0, 2.0 * math.ceil(self.separation * _GRID / 2.0) / _GRID)
        noise = Noise(arb(1), 1 / arb(self.eps0), arb(0), arb(1))
        middle = 1.0 - 0.5 * step
        line = Line(noise, arb(1), arb(1.0 - step), None)
        edges = [float(y) for y in np.linspace(middle, 1.0, _CELLS + 1)]
        right = line.cells_beyond(arb(middle), edges)
        return Cells([*right, *(cell.swap() for cell in right)], arb(0), arb(0))

    # ---------------------------------------------------------------------------- running it

    def variance(self, frequency: float = 0.0) -> float:
        """2 scale^2 for every input; the lattice adds less than 2^-60 of it."""
        return self._laplace.variance(frequency)

    @property
    def noise(self) -> Noise:
        """The noise of Laplace."""
        return self._laplace.noise
