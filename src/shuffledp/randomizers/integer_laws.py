"""Laws of noise on the integers: in floats for samplers, in balls for bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.noises import Noise
from shuffledp.bounds.line import Line
from shuffledp.errors import NotCertified
from shuffledp.kernel.cells import Cell
from shuffledp.randomizers.means import Floats
from shuffledp.randomizers.noise import ERROR, SymmetricCells, around, draw
from shuffledp.randomness import RandomSource

# Noise of 890 of these scales is below 2^62.
_LEAST_RATE = 2.0**-52
# Masses of discrete Gaussian noise are added up to this many deviations: beyond are e^-840.
_DEVIATIONS = 41.0
# Bits beyond the working precision: two million steps of a recurrence lose 42.
_MORE = 48


@dataclass(frozen=True)
class IntegerCells(SymmetricCells):
    """Symmetric noise on the whole numbers, which reports tell up to 2^52.

    Attributes
    ----------
    law : callable
        () -> the noise, at the working precision.
    """

    mirror: ClassVar[int] = 1
    digits: ClassVar[int] = 52
    law: Callable[[], IntegerNoise]

    def beyond(self, j: int) -> arb:
        """By the law."""
        return self.law().at_least(j)

    def sizes(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """2 P(K >= k) = 2 a^k/(1 + a), solved for k, a = e^-rate; of Gaussian noise by a table."""
        law = self.law()
        if law.sigma is not None:
            tails = float_tails(law.sigma)
            least = np.searchsorted(-tails, -tail * (1.0 + doubt + ERROR))
            most = np.searchsorted(-tails, -tail * (1.0 - doubt - ERROR))
            return least.astype(np.float64), most.astype(np.float64)
        rate = float(1 / law.scale)
        if not rate >= _LEAST_RATE:
            msg = f"discrete-laplace: rate = {rate:g}: no sampler below 2^-52: noise is int64"
            raise NotCertified(msg)
        place = (math.log1p(math.tanh(0.5 * rate)) - np.log(tail)) / rate
        return around(place, doubt / rate)


def whole_sums(law: IntegerCells, values: np.ndarray, source: RandomSource) -> np.ndarray:
    """Whole numbers and noise, as int64."""
    return np.floor(draw(law, values.astype(np.float64), source)).astype(np.int64)


@lru_cache(maxsize=8)
def float_tails(sigma: float) -> Floats:
    """2 P(K >= k) of discrete Gaussian noise for k = 1, 2, ..., as floats next to the balls."""
    tails = np.array([2.0 * float(tail) for tail in gaussian_table(sigma).tails[1:]])
    tails.setflags(write=False)
    return tails


# --------------------------------------------------------------------------------- in balls


class GaussianTable(NamedTuple):
    """Discrete Gaussian noise, P(k) = e^(-k^2/(2 sigma^2))/whole.

    Attributes
    ----------
    whole : arb
        The sum of the masses.
    tails : list of arb
        P(K >= k) for k = 0, 1, ... as far as they are added up.
    """

    whole: arb
    tails: list[arb]

    def at_least(self, k: int) -> arb:
        """P(K >= k), k >= 0."""
        if k < len(self.tails):
            return self.tails[k]
        half = self.tails[-1].upper() / 2
        return arb(half, half)


def gaussian_table(sigma: float) -> GaussianTable:
    """Made once for all working precisions up to the next multiple of 64 bits."""
    return _table(sigma, -(-ctx.prec // 64) * 64)


@lru_cache(maxsize=4)
def _table(sigma: float, precision: int) -> GaussianTable:
    """The tails by e^(-h (k+1)^2) = e^(-h k^2) r_k, r_(k+1) = r_k e^(-2h), h = 1/(2 sigma^2).

    What lies beyond is at most a geometric series.
    """
    size = math.ceil(_DEVIATIONS * sigma) + 1
    with ctx.workprec(precision + _MORE):
        h = 1 / (2 * arb(sigma) * arb(sigma))
        term, ratio, step = arb(1), (-h).exp(), (-2 * h).exp()
        terms = []
        for _ in range(size):
            terms.append(term)
            term, ratio = term * ratio, ratio * step
        half = (term / (1 - ratio)).upper() / 2
        total, sums = arb(half, half), []
        for one in reversed(terms):
            total += one
            sums.append(total)
        whole_mass = 2 * total - 1
        return GaussianTable(whole_mass, [one / whole_mass for one in reversed(sums)])


@dataclass(frozen=True)
class IntegerNoise(Noise):
    """The report of x is x plus noise on the integers.

    Attributes
    ----------
    sigma : float, or None
        Of Gaussian noise; None of Laplace noise.
    """

    sigma: float | None = None

    def at_least(self, k: int) -> arb:
        """P(K >= k) for k >= 0; a^k/(1 + a) of Laplace noise, a = e^(-1/s)."""
        if self.sigma is None:
            return (-k / self.scale).exp() / (1 + (-1 / self.scale).exp())
        return gaussian_table(self.sigma).at_least(k)

    def at_most(self, k: int) -> arb:
        """P(K <= k)."""
        return self.at_least(-k) if k <= 0 else 1 - self.at_least(k + 1)

    def _tail(self, x: arb, y: arb | None, *, right: bool) -> tuple[bool, arb]:
        """P(x + K > y) where y is not below x, else P(x + K <= y)."""
        if y is None:
            return right, arb(0)
        distance = round(float(y)) - round(float(x))
        if distance >= 0:
            return True, self.at_least(distance + 1)
        return False, self.at_least(-distance)

    @property
    def middle(self) -> arb:
        """The last integer of which the high end is a farthest one."""
        return arb((round(float(self.low)) + round(float(self.high))) // 2)


def laplace_noise(scale: float | arb, top: int = 0) -> IntegerNoise:
    """Masses proportional to e^(-|k|/scale)."""
    return IntegerNoise(arb(1), arb(scale), arb(0), arb(top))


def gaussian_noise(sigma: float, top: int = 0) -> IntegerNoise:
    """Masses proportional to e^(-k^2/(2 sigma^2))."""
    return IntegerNoise(arb(2), arb(sigma) * arb(2).sqrt(), arb(0), arb(top), sigma=sigma)


@dataclass(frozen=True)
class IntegerLine(Line):
    """Two inputs of the victim and the reference, on the integers.

    The masses of discrete Laplace noise are proportional to e^(-eps0 |k|/top), those of discrete
    Gaussian noise to e^(-k^2/(2 sigma^2)): at integers their ratios are those of the densities of
    noise on the line. So cells are runs of integers, and bounds of the ratios are those of the
    line. A place y stands for the cut between the integers up to y and those beyond.
    """

    def cells(self, edges: Sequence[float]) -> list[Cell]:
        """Runs of integers: those up to an edge, from the one before it on."""
        return super().cells([float(y) for y in sorted({math.floor(y) for y in edges})])
