"""Means of numbers by two levels: Duchi's bit, the piecewise mechanism, their hybrid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.outputs import Favours, Law, flags, rational_ball, two_levels
from shuffledp.ball.record import Bits, Masses, Others, bits_between, three
from shuffledp.errors import NotCertified
from shuffledp.mechanism.parameters import IntervalHigh, IntervalLow, LocalEpsilon
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import Floats, IntervalMean
from shuffledp.randomizers.noise import to_lattice
from shuffledp.randomizers.values import real_values, whole_reports
from shuffledp.randomness import RandomSource
from shuffledp.statistics.counts import hoeffding_ends
from shuffledp.statistics.estimates import Aggregate
from shuffledp.theorems import CORNER_TRIPLES, MIXED_TRIPLES


@dataclass(frozen=True)
class BitMean:
    """The mean of n values, given how many of their bits are 1.

    Attributes
    ----------
    ones, count : int
        Bits that are 1, and all.
    eps0, low, high : float
        Of the mechanism.
    """

    ones: int
    count: int
    eps0: float
    low: float
    high: float

    @property
    def noise(self) -> float:
        """Bits that are flipped."""
        return self.count / (math.exp(self.eps0) + 1.0)

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Limits of the bits' mean probability, as values; in [low, high]."""
        low, high = hoeffding_ends(self.ones, self.count, tail)
        return np.array([self.value(low)]), np.array([self.value(high)])

    def value(self, chance: float) -> float:
        """The mean value whose bits have this mean probability; in [low, high]."""
        # On [-1, 1]: p = 1/2 + x tanh(eps0/2)/2.
        centred = min(max((2.0 * chance - 1.0) / math.tanh(0.5 * self.eps0), -1.0), 1.0)
        return 0.5 * self.low + 0.5 * self.high + (0.5 * self.high - 0.5 * self.low) * centred


@dataclass(frozen=True, kw_only=True)
class Duchi(IntervalMean):
    """Duchi et al. for one value in [low, high]: a bit, 1 with a probability linear in the value.

    On [-1, 1]: P(1) = 1/2 + x (e^eps0 - 1)/(2 (e^eps0 + 1)); the bit stands for C or -C with
    C = (e^eps0 + 1)/(e^eps0 - 1), which is unbiased. Every law is a mixture of those of the two
    ends, so the blanket and the worst pair are those of binary randomized response, gamma =
    2/(e^eps0 + 1). Reports are bits (uint8).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    low, high : float
        The interval of inputs.

    Notes
    -----
    Duchi, Jordan, Wainwright 2018. Per-user variance C^2 - x^2 on [-1, 1].
    """

    name: ClassVar[str] = "duchi"
    summary: ClassVar[str] = "one bit for the mean of values in an interval (Duchi et al.)"
    eps0: LocalEpsilon
    low: IntervalLow = -1.0
    high: IntervalHigh = 1.0

    @property
    def message_bits(self) -> float:
        """1."""
        return 1.0

    @property
    def scale(self) -> float:
        """C = (e^eps0 + 1)/(e^eps0 - 1)."""
        return 1.0 / math.tanh(0.5 * self.eps0)

    def variance(self, frequency: float = 0.0) -> float:
        """C^2 times half the interval squared: the worst input is the middle."""
        del frequency
        return (self.half * self.scale) ** 2

    def _spread(self, square: float) -> float:
        """C^2 - x^2; C^2 - 1 = 4 e^eps0/(e^eps0 - 1)^2 to its own precision."""
        return 1.0 / math.sinh(0.5 * self.eps0) ** 2 + (1.0 - square)

    def _law(self, sums: Aggregate) -> BitMean:
        """Independent bits: binomial limits, whatever the single values are."""
        ones = 0.5 * sums.count + 0.5 * (float(sums.sums[0]) - sums.count * self.middle) / (
            self.half * self.scale
        )
        return BitMean(round(ones), sums.count, self.eps0, self.low, self.high)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        return bits(self._places(values), self.eps0, source)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Two outputs."""
        eps0 = arb(self.eps0)
        return two_levels(bit_parts(self._exact_places(inputs), eps0, arb(1)), eps0)

    def others(self) -> Others:
        """Mixtures of the two ends."""
        return mixed(self)

    def one_bit(self) -> Bits:
        """The bits of the two ends."""
        return bits_between(self.eps0, self.low, self.high)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        sign = 2.0 * whole_reports(reports, 2) - 1.0
        return self.middle + self.half * self.scale * sign


def bit_parts(places: Sequence[Fraction], eps0: arb, share: arb) -> list[tuple[arb, Favours]]:
    """P(1) = (1 + (e^eps0 - 1) a)/(e^eps0 + 1) for places a, in a share of all reports."""
    base = share / (eps0.exp() + 1)
    return [(base, tuple(places)), (base, tuple(1 - a for a in places))]


def mixed(mechanism: IntervalMean) -> Others:
    """Every law is a mixture of those of the two ends."""
    ends = (mechanism.low, mechanism.high)
    return Others("mixed", MIXED_TRIPLES, (ends,), ends)


def bits(places: Floats, eps0: float, source: RandomSource) -> np.ndarray:
    """A fair coin with probability 2/(e^eps0 + 1), else the place rounded to 0 or 1.

    The rounding is unbiased, and exact in the ends; whatever it does is done before the noise.
    """
    fair = source.coins(lambda: 2 / (arb(eps0).exp() + 1), len(places))
    rounded = source.unit(len(places)) < places
    coins = source.coins(lambda: arb(0.5), len(places))
    return np.where(fair, coins, rounded).astype(np.uint8)


_SLACK = 1e-9
# Bits beyond the working precision by which two ends of windows are told apart.
_ORDER = 256
# A point u w + v of the outputs, w = e^(eps0/2).
Point = tuple[Fraction, Fraction]
_FINEST = 30


@dataclass(frozen=True, kw_only=True)
class Piecewise(IntervalMean):
    """Piecewise mechanism: the output's density is e^eps0 times higher on an interval around x.

    On [-1, 1], with w = e^{eps0/2} and C = (w + 1)/(w - 1): outputs fill [-C, C], the interval is
    [((C+1) x - (C-1))/2, ((C+1) x + (C-1))/2]. In units of its length 2/(w - 1) it is [w a, w a +
    1] of [0, w + 1], a the place of x in [0, 1], and the lower density is 1/(w (w + 1)). The
    blanket is the lower density everywhere, gamma = 1/w; the two ends favour disjoint outputs.

    Reports are float64, unbiased for the value: middles of the cells of a lattice that is the same
    for all users, 2^30 to the interval where eps0 <= 30, drawn from exact probabilities. Bounds of
    the stated law hold for what is run (docs/theory-noise.md, Theorem 6.1), whose variance is the
    stated one to a relative 2^-28.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    low, high : float
        The interval of inputs.

    Notes
    -----
    Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019, algorithm 2.
    """

    name: ClassVar[str] = "piecewise"
    summary: ClassVar[str] = "piecewise constant noise for the mean of values in an interval"
    eps0: LocalEpsilon
    low: IntervalLow = -1.0
    high: IntervalHigh = 1.0

    @property
    def reach(self) -> float:
        """C = (e^{eps0/2} + 1)/(e^{eps0/2} - 1): the largest output on [-1, 1]."""
        return 1.0 / math.tanh(0.25 * self.eps0)

    def variance(self, frequency: float = 0.0) -> float:
        """4 w/(3 (w - 1)^2) times half the interval squared: the worst inputs are the ends."""
        del frequency
        return self.half**2 * moment(1.0, self.eps0)

    def _spread(self, square: float) -> float:
        """x^2/(w - 1) + (w + 3)/(3 (w - 1)^2)."""
        return moment(square, self.eps0)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Outputs by the windows that they are in."""
        eps0, places = arb(self.eps0), self._exact_places(inputs)
        starts = [(a, Fraction(0)) for a in places]
        return two_levels(window_parts(starts, eps0, arb(1)), eps0)

    def others(self) -> Others:
        """The end points; the labels' laws by corners."""
        pairs = self.worst_pairs().pairs
        eps0 = self.eps0
        return Others(
            "corners", CORNER_TRIPLES, pairs, labels=lambda: corner_labels(arb(eps0), arb(0))
        )

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        return self.middle + self.half * spread(self._places(values), self.eps0, source)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        far = self.half * self.reach * (1.0 + _SLACK)
        return real_values(reports, self.middle - far, self.middle + far, name="reports")


def window_parts(starts: Sequence[Point], eps0: arb, share: arb) -> list[tuple[arb, Favours]]:
    """Wang et al. 2019, algorithm 2, the outputs [-C, C] stretched to [0, w + 1].

    C = (w + 1)/(w - 1); with probability w/(w + 1) uniform on [l, l + C - 1],
    l = ((C + 1) x - (C - 1))/2, else uniform on the rest, of length C + 1. In units of C - 1 =
    2/(w - 1) and counted from -C, l is w a with x = 2a - 1; the density inside is w/(w + 1), and
    outside 1/((w + 1) w), which is e^-eps0 times as high. ``starts`` are these l.
    """
    w = (eps0 / 2).exp()
    zero, one = Fraction(0), Fraction(1)
    windows = [((a, b), (a, b + 1)) for a, b in starts]
    points: set[Point] = {(zero, zero), (one, one)}
    for window in windows:
        points.update(window)

    # Places are floats: a step of 1/w from one is off by 2^-53 of itself, or by less.
    with ctx.workprec(ctx.prec + _ORDER):
        fine = (eps0 / 2).exp()
        at = {p: rational_ball(p[0]) * fine + rational_ball(p[1]) for p in points}
    # Midpoints are exact balls: floats of two places may be equal.
    ordered = sorted(points, key=lambda p: arb(at[p].mid()))
    base = share / (w * (w + 1))
    parts = []
    for left, right in itertools.pairwise(ordered):
        length = at[right] - at[left]
        if not length > 0:
            raise NotCertified("piecewise: the order of two ends is not clear in balls")
        hits = [not (at[l] > at[left]) and not (at[r] < at[right]) for l, r in windows]
        parts.append((base * length, flags(hits)))
    return parts


def corner_places(w: arb) -> list[Point]:
    """Ends of the interval and what is one or two steps 1/w from one: p + q/w as (p, q)."""
    found = []
    for p, q in itertools.product((0, 1), range(-2, 3)):
        x = p + q / w
        if (p, q) in {(0, 0), (1, 0)} or (x > 0 and x < 1):
            found.append((Fraction(p), Fraction(q)))
        elif not (x < 0 or x > 1):
            raise NotCertified("label stealing: the order of two places is not clear in balls")
    return found


def corner_labels(eps0: arb, rest: arb) -> Iterator[list[Masses]]:
    """Labels of the piecewise mechanism, with Duchi's bit in the share ``rest``.

    Overlaps of windows are linear in the inputs until they touch, 1/w apart: corners are enough
    (docs/theory-stealing.md, section 5.4).
    """
    w, gain = (eps0 / 2).exp(), eps0.expm1()
    for triple in itertools.product(corner_places(w), repeat=3):
        # p + q/w is at w times that, p w + q, in units of the window.
        masses = [
            three(mass * (1 + gain * rational_ball(f)) for f in favours)
            for mass, favours in window_parts(triple, eps0, 1 - rest)
        ]
        if not rest.is_zero():
            places = [rational_ball(p) + rational_ball(q) / w for p, q in triple]
            base = rest / (eps0.exp() + 1)
            both = (places, [1 - x for x in places])
            masses += [three(base * (1 + gain * x) for x in own) for own in both]
        yield masses


def lattice(eps0: float) -> tuple[int, int]:
    """Steps W of the inputs and U of the favoured interval: 1 <= W/U <= w, W < 2^53, U <= 2^30."""
    with ctx.workprec(_ORDER):
        w = (arb(eps0) / 2).exp()
        bits = max(0, min(_FINEST, 52 - math.frexp(float(w))[1]))
        steps = (w * 2**bits).min(arb(2**53 - 1)).lower().floor().unique_fmpz()
    return max(2**bits, int(steps or 0)), 2**bits


def spread(places: Floats, eps0: float, source: RandomSource) -> Floats:
    """Outputs on [-C, C]: a cell of W + U with probability 1/w, else one of U near.

    Values are rounded to one of 0 .. W at random, without bias; all draws are of whole numbers.
    """
    steps, favoured = lattice(eps0)
    size = len(places)
    anywhere = source.coins(lambda: 1 / (arb(eps0) / 2).exp(), size)
    start = to_lattice(places, steps, source)
    cells = np.where(
        anywhere, source.below(steps + favoured, size), start + source.below(favoured, size)
    )
    # Mean over the coins: (1 - 1/w) W (2 place - 1).
    return (2 * cells + (1 - steps - favoured)) / (-math.expm1(-0.5 * eps0) * steps)


def moment(square: float, eps0: float) -> float:
    """Variance on [-1, 1] at the square of a value: x^2/(w - 1) + (w + 3)/(3 (w - 1)^2)."""
    gain = math.expm1(0.5 * eps0)
    return square / gain + (gain + 4.0) / 3.0 / gain / gain


@dataclass(frozen=True, kw_only=True)
class Hybrid(IntervalMean):
    """Hybrid mechanism: the piecewise one with probability 1 - e^{-eps0/2}, else Duchi's.

    Below eps0 = 0.61 it is Duchi's alone. The two have different outputs, so the message tells
    which it was: blankets and ratios mix, gamma = (1 - 1/w)/w + 2/(w (e^eps0 + 1)) with
    w = e^{eps0/2}, and both have the ends of the interval as their worst pair. Reports are floats,
    unbiased for the value, drawn as those of the two mechanisms: whole numbers with exact
    probabilities; the variance is the same for all values.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    low, high : float
        The interval of inputs.

    Notes
    -----
    Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019, section III.C. The probability of Duchi's is
    rounded up to a multiple of 2^-1280.
    """

    name: ClassVar[str] = "hybrid"
    summary: ClassVar[str] = "piecewise or Duchi's for the mean of values in an interval"
    eps0: LocalEpsilon
    low: IntervalLow = -1.0
    high: IntervalHigh = 1.0

    @property
    def message_bits(self) -> float:
        """64: a float; 1 where it is Duchi's alone."""
        return 64.0 if self.share > 0.0 else 1.0

    @property
    def share(self) -> float:
        """Probability of the piecewise mechanism."""
        return 0.0 if self._only_bit else -math.expm1(-0.5 * self.eps0)

    def variance(self, frequency: float = 0.0) -> float:
        """The same for every value above the turning point, that of the middle below."""
        del frequency
        return self.variance_at(self.middle)

    def _spread(self, square: float) -> float:
        """C^2 - x^2 of Duchi's and that of the piecewise one, in their shares."""
        bit = 1.0 / math.tanh(0.5 * self.eps0) ** 2 - square
        if self.share == 0.0:
            return bit
        rest = math.exp(-0.5 * self.eps0)
        return self.share * moment(square, self.eps0) + rest * bit

    @property
    def _only_bit(self) -> bool:
        """Whether it is Duchi's alone: eps0 below the paper's eps*.

        There the mixture has a larger variance than Duchi's mechanism alone.
        """
        root = 405 * arb(241).sqrt()
        turning = ((2 * (6353 - root).root(3) + 2 * (6353 + root).root(3) - 5) / 27).log()
        eps0 = arb(self.eps0)
        if not (eps0 > turning or eps0 < turning):
            raise NotCertified("hybrid: eps0 is too close to the turning point")
        return bool(eps0 < turning)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Above the turning point piecewise with probability 1 - 1/w, else Duchi's."""
        eps0, places = arb(self.eps0), self._exact_places(inputs)
        if self._only_bit:
            return two_levels(bit_parts(places, eps0, arb(1)), eps0)
        rest, starts = (-eps0 / 2).exp(), [(a, Fraction(0)) for a in places]
        # The two have different outputs: no output is both.
        return [
            *two_levels(window_parts(starts, eps0, 1 - rest), eps0),
            *two_levels(bit_parts(places, eps0, rest), eps0),
        ]

    def others(self) -> Others:
        """As for Duchi's where it is that alone; else the labels' laws by corners."""
        if self._only_bit:
            return mixed(self)
        eps0 = self.eps0

        def labels() -> Iterator[list[Masses]]:
            return corner_labels(arb(eps0), 1 / (arb(eps0) / 2).exp())

        return Others("corners", CORNER_TRIPLES, self.worst_pairs().pairs, labels=labels)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        places = self._places(values)
        one = 2.0 * bits(places, self.eps0, source) - 1.0
        found = one / math.tanh(0.5 * self.eps0)
        if self.share > 0.0:
            other = source.coins(lambda: 1 / (arb(self.eps0) / 2).exp(), len(places))
            found = np.where(other, found, spread(places, self.eps0, source))
        return self.middle + self.half * found

    def _unbiased(self, reports: ArrayLike) -> Floats:
        far = self.half / math.tanh(0.25 * self.eps0) * (1.0 + _SLACK)
        return real_values(reports, self.middle - far, self.middle + far, name="reports")

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Also values whose interval just misses that of an end, as the others' or the victim's.

        At an end the bit hides others least; all three intervals have to be disjoint.
        """
        low, high = self.low, self.high
        apart = min(low + (high - low) * math.exp(-0.5 * self.eps0), high)
        return (*super().datasets(), (low, high, apart), (apart, high, low))
