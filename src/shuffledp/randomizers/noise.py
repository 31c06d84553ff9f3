"""The one sampler of noise: a random word proposes a cell in floats, balls settle the open ones.

A float added to a float betrays its operands in its last bits. Here inputs are rounded to a lattice
(at random, without bias), and noise is the cell of the lattice that the ideal noise falls in, by
inverting its distribution function: cell j or a later one is drawn where a uniform number is below
P(noise >= j). Floats invert it up to a known error. Where the error leaves two cells open, the
number is compared with the probability itself, in balls, with as many digits of both as that takes:
so cells have exactly the stated probabilities. A report tells the first 36 binary digits of the sum
of value and noise. It is a function of an ideal report, so every bound for the ideal mechanism
holds for it (post-processing; docs/theory.md, Lemmas 1.1 and R2).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp import _special as special
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.noises import Noise
from shuffledp.ball.outputs import rational_ball
from shuffledp.errors import NotCertified
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.means import Floats, OnInterval
from shuffledp.randomizers.values import blocks, real_values
from shuffledp.randomness import RandomSource, Uniform, Words

Bools = npt.NDArray[np.bool_]

# Binary digits of a sum that a report tells: few against the 53 of a float, so that errors of
# floats leave few reports open; many against what any estimate can tell apart.
DIGITS = 36
# Relative error of functions of one float (ndtri, gammainccinv, log): 32 times what they promise.
ERROR = 2.0**-48
# tail/density of a normal number is at most this: sqrt(pi/2), at 0.
MILLS = 1.2534
# Relative error of the power of a gamma number: four times the largest that was measured.
_GAMMA_ERROR = 2.0**-45
# Laws of a gamma number and its power that have simpler inverses.
_EXPONENTIAL, _NORMAL = 1.0, 0.5
# Gamma numbers below this are no floats.
_LEAST_GAMMA = 1e-290
# Where a tail's relative error is larger, floats do not bound the noise.
_RARE = 2.0**-8
_HALF = np.uint64(1 << 63)


def scales_between(low: float, high: float, scale: float) -> float:
    """(high - low)/scale, rounded up: an exponent that bounds a ratio of densities is no less."""
    found = (high - low) / scale
    if not math.isfinite(found):
        return found
    exact = (Fraction(high) - Fraction(low)) / Fraction(scale)
    found = exact.numerator / exact.denominator
    return found if Fraction(found) >= exact else math.nextafter(found, math.inf)


def gamma_power(a: float, power: float, tail: Floats) -> tuple[Floats, float]:
    """L^power where P(Gamma(a) number > L) = tail, and its relative error.

    Parameters
    ----------
    a : float
        The law's shape.
    power : float
        Above 0.
    tail : ndarray
        Probabilities in (0, 1].
    """
    if a == power == _EXPONENTIAL:
        return -np.log(tail), ERROR
    if a == power == _NORMAL:
        return special.ndtri(0.5 * tail) / -math.sqrt(2.0), ERROR
    found = special.gammainccinv(a, tail)
    # P(number < L) is L^a/Gamma(1 + a) next to 0.
    near = ((1.0 - tail) * math.gamma(1.0 + a)) ** (power / a)
    return np.where(found > _LEAST_GAMMA, found**power, near), _GAMMA_ERROR * max(power, 1.0)


def bits_for(scale: float, wanted: int) -> int:
    """Least number of halvings that bring ``scale`` below 2^-wanted, at least 0."""
    return max(0, wanted + math.frexp(scale)[1])


def to_lattice(place: Floats, points: int, source: RandomSource) -> Floats:
    """A neighbouring point of 0 .. points for each place in [0, 1], unbiased for place * points."""
    exact = place * points
    below = np.floor(exact)
    return below + (source.words(len(place)) < ((exact - below) * 2.0**64).astype(np.uint64))


def middles(cells: Floats, digits: int) -> Floats:
    """The middle of what a report tells of the cell [j, j + 1): the first binary digits of j.

    Cell -1 - j mirrors cell j.
    """
    if np.fmax.reduce(np.abs(cells), initial=0.0) < 1 << digits:
        return cells + 0.5
    size = np.where(cells >= 0.0, cells, -1.0 - cells)
    shift = np.maximum(np.frexp(size)[1] - digits, 0)
    return np.copysign(np.ldexp(np.floor(np.ldexp(size, -shift)) + 0.5, shift), cells)


@dataclass(frozen=True)
class _Told:
    """What a report tells of a cell, which is a whole number of any size.

    Attributes
    ----------
    first : int
        The first of the cells that it may be.
    middle : float
        The middle of them all.
    """

    first: int
    middle: float


def _told(cell: int, digits: int) -> _Told:
    size = cell if cell >= 0 else ~cell
    dropped = max(0, size.bit_length() - digits)
    head = size >> dropped
    middle = math.ldexp(head + 0.5, dropped)
    if cell >= 0:
        return _Told(head << dropped, middle)
    return _Told(~(((head + 1) << dropped) - 1), -middle)


class CellLaw(ABC):
    """Laws on whole numbers, one a user, by their inverse in floats and by balls.

    Attributes
    ----------
    digits : int
        Binary digits of the sum of value and noise that a report tells.
    """

    digits: ClassVar[int] = DIGITS

    @abstractmethod
    def possible(self, tail: Floats, doubt: Floats, upper: Bools) -> tuple[Floats, Floats]:
        """The least and the largest cell that the noise may be in.

        Parameters
        ----------
        tail : ndarray
            Twice the distance of a uniform number from the nearer end of [0, 1].
        doubt : ndarray
            Its relative error, at least ``ERROR``.
        upper : ndarray of bool
            Whether that end is 0, where the noise is large.
        """

    @abstractmethod
    def reached(self, j: int, user: int, number: Uniform) -> bool:
        """Whether the noise is in cell j or a later one: the number is below P(noise >= j)."""


class SymmetricCells(CellLaw):
    """Noise that has the same law for all users, and its cell j mirrored is cell mirror - 1 - j.

    Attributes
    ----------
    mirror : int
        0 for cells [j, j + 1) of noise on the line, 1 for noise on the whole numbers themselves.
    """

    mirror: ClassVar[int] = 0

    @abstractmethod
    def sizes(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """The least and the largest cell j >= 0 where 2 P(noise >= j) is about ``tail``."""

    @abstractmethod
    def beyond(self, j: int) -> arb:
        """P(noise >= j), j >= 1, at the working precision."""

    def possible(self, tail: Floats, doubt: Floats, upper: Bools) -> tuple[Floats, Floats]:
        """By the sizes on either side."""
        least, most = self.sizes(tail, doubt)
        last = self.mirror - 1.0
        return np.where(upper, least, last - most), np.where(upper, most, last - least)

    def reached(self, j: int, user: int, number: Uniform) -> bool:
        """By the tail on either side."""
        del user
        if j > 0:
            return number.below(lambda: self.beyond(j))
        if j == self.mirror == 0:
            return number.below(lambda: arb(0.5))
        return number.below(lambda: 1 - self.beyond(self.mirror - j))


def around(place: Floats, error: Floats) -> tuple[Floats, Floats]:
    """CellLaw from ``place - error`` to ``place + error``, none below 0."""
    error = error + ERROR * place
    return np.maximum(np.floor(place - error), 0.0), np.floor(place + error)


def tails(words: Words) -> tuple[Floats, Floats, Bools]:
    """What ``CellLaw.possible`` is asked with: digits beyond 64 change a tail by half the doubt."""
    upper = words < _HALF
    tail = (np.where(upper, words, ~words).astype(np.float64) + 0.5) * 2.0**-63
    return tail, ERROR + 2.0**-63 / tail, upper


def draw(law: CellLaw, own: Floats, source: RandomSource) -> Floats:
    """Middles of sums of the users' cells and noise, by one word each.

    Parameters
    ----------
    law : CellLaw
        The noise.
    own : ndarray of whole numbers
        The users' cells.
    source : RandomSource
        Of the words.
    """
    words = source.words(len(own))
    tail, doubt, upper = tails(words)
    least, most = law.possible(tail, doubt, upper)
    found, other = middles(own + least, law.digits), middles(own + most, law.digits)
    rare = np.isnan(most - least) | (doubt > _RARE)
    for i in np.flatnonzero(rare | (found != other)):
        number = Uniform(int(words[i]), source)

        def reached(cell: int, user: int = int(i), number: Uniform = number) -> bool:
            return law.reached(cell - int(own[user]), user, number)

        ends = [int(own[i]) + int(end) for end in np.nan_to_num([least[i], most[i]])]
        found[i] = _settled(reached, ends, law.digits, rare=bool(rare[i]))
    return found


def _settled(
    reached: Callable[[int], bool], ends: Sequence[int], digits: int, *, rare: bool
) -> float:
    """The middle of the sum, which is in one of the cells between two ends.

    Of rare words floats only say where the search for these begins.
    """
    low, high, step = ends[0], ends[1], 1
    while rare and not reached(low):
        low, high, step = low - step, low - 1, 2 * step
    while rare and reached(high + 1):
        low, high, step = high + 1, high + step, 2 * step
    while True:
        first, last = _told(low, digits), _told(high, digits)
        if first == last:
            return first.middle
        middle = _told((low + high + 1) // 2, digits).first
        if middle <= low:
            middle = last.first
        low, high = (middle, high) if reached(middle) else (low, middle - 1)


# Binary digits by which the lattice of reports is finer than the noise and the interval.
_FINER = 32
# Noise is farther out than that with this probability: no report is.
NEVER = 1e-300


class IntervalNoise(OnInterval):
    """Report x + Z for a value x in [low, high], Z symmetric and unimodal.

    Theorem 4.6 of docs/theory.md: for a symmetric density that does not increase with |z| the end
    points are the worst pair of the blanket bound.

    Reports are float64: middles of the cells of a lattice that is at least 2^32 times finer than
    the noise, low and high being points of it. Values are rounded to it at random, without bias;
    the cell that the noise falls in has exactly its probability (see ``randomizers.noise``). Of
    sums from 2^36 cells on the first 36 binary digits are sent. So a report is a function of an
    ideal report: bounds hold for what is run (docs/theory.md, Lemma R2).
    """

    @property
    def noise(self) -> Noise:
        """The law of the noise, at the working precision."""
        found = self.added_noise()
        if found is None:
            raise NotCertified(f"{self.name}: wanted noise of density exp(-(|z|/scale)^shape)")
        return found

    def inverse_tail(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """The size with P(|Z| > size) = tail, and its error if ``tail`` has a relative one.

        Both in units of high - low; floats that propose what ``tail`` decides. Noise of shape b is
        L^(1/b) scales, L a Gamma(1/b) number: their density is e^-L/Gamma(1 + 1/b).
        """
        shape, per_scale = float(self.noise.shape), float(self.noise.lengths)
        a = 1.0 / shape
        size, error = gamma_power(a, a, tail)
        # In logs: a small shape has powers whose exponentials are no floats.
        slope = np.exp(np.log(tail) + size**shape + math.lgamma(1.0 + a))
        return size / per_scale, (doubt * slope + error * size) / per_scale

    def tail(self, size: Fraction) -> arb:
        """P(Z > size), size > 0 in units of high - low, by the law in balls."""
        noise = self.noise
        return noise.beyond(rational_ball(size) * (noise.high - noise.low))

    @property
    def _finest(self) -> float:
        """(high - low)/(smallest feature of the noise)."""
        return float(self.noise.lengths)

    @property
    def bits(self) -> int:
        """The lattice has 2^bits steps from low to high."""
        return bits_for(self._finest, _FINER)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        return self.sample_on(self.bits, values, source)

    def sample_on(self, bits: int, values: np.ndarray, source: RandomSource) -> Reports:
        """Reports on a lattice of 2^bits steps from low to high."""
        law = NoiseCells(self, bits)
        return lattice_reports(lambda _: law, bits, (self.low, self.high), values, source)

    @property
    def farthest(self) -> float:
        """Noise is never farther out, in units of high - low."""
        return float(self.inverse_tail(np.array([NEVER]), np.zeros(1))[0][0])

    def _unbiased(self, reports: ArrayLike) -> Floats:
        """Reports that the noise can reach."""
        reach = (self.high - self.low) * (self.farthest + 1.0)
        return real_values(reports, self.low - reach, self.high + reach, name="reports")


def lattice_reports(
    law: Callable[[Floats], CellLaw],
    bits: int,
    ends: tuple[float, float],
    values: np.ndarray,
    source: RandomSource,
) -> Floats:
    """Values between two ends, on a lattice of 2^bits steps, and noise in cells of it.

    The law is that of the noise of values in given cells.
    """
    low, length, steps = ends[0], ends[1] - ends[0], 1 << bits
    reports = np.empty(len(values))
    for users in blocks(len(values)):
        place = np.clip((values[users] - low) / length, 0.0, 1.0)
        own = to_lattice(place, steps, source)
        sums = draw(law(own), own, source)
        reports[users] = low + length * (sums / steps)
    return reports


@dataclass(frozen=True)
class NoiseCells(SymmetricCells):
    """CellLaw of width 2^-bits (high - low) of a mechanism's noise."""

    mechanism: IntervalNoise
    bits: int

    def sizes(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """By the inverse in units of the interval."""
        size, error = self.mechanism.inverse_tail(tail, doubt)
        return around(size * 2.0**self.bits, error * 2.0**self.bits)

    def beyond(self, j: int) -> arb:
        """By the mechanism's own tail."""
        return self.mechanism.tail(Fraction(j, 1 << self.bits))
