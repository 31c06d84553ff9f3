"""The staircase mechanism: the least noisy pure mechanism for one number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.ball.lattice import staircase_labels, staircase_law
from shuffledp.ball.outputs import Law
from shuffledp.ball.record import Others
from shuffledp.mechanism import Follows, IntervalHigh, IntervalLow, LocalEpsilon, Number
from shuffledp.randomizers.additive import IntervalNoise
from shuffledp.randomizers.chances import choice, exponential, quotient, times, whole_units
from shuffledp.randomizers.exact import geometric
from shuffledp.randomizers.noise import Cells, check_step, laplace_reach
from shuffledp.randomizers.values import real_values
from shuffledp.randomness import BITS, Choice, Integers, RandomSource, Words
from shuffledp.theorems import CORNER_TRIPLES

U = UNIT_ROUNDOFF
Inputs = list[Fraction]
Bools = npt.NDArray[np.bool_]
_LEAST_WIDTH = 1e-100
# Cells of so many binary digits, and a value's own added, are 64-bit integers.
_ROOM = 61
# Error of a place in a step in floats: 2^-53 of its digits, 1 - g, a product and a sum to 2^-53.
_DOUBT = 2.0**-50


_Width = Annotated[
    float | None,
    Follows(
        Number(low=_LEAST_WIDTH, high=1.0 - 1e-9), lambda m: 1.0 / (1.0 + math.exp(0.5 * m.eps0))
    ),
]


@dataclass(frozen=True, kw_only=True, repr=False)
class Staircase(IntervalNoise):
    """Staircase noise added to a value in [low, high].

    In units of high - low: f(z) = a e^{-eps0 k} where |z| is in [k, k + g), and a e^{-eps0 (k+1)}
    where it is in [k + g, k + 1), with a = (1 - b)/(2 (g + b (1 - g))), b = e^{-eps0}. Likelihood
    ratios of any inputs take finitely many values: beyond the interval they repeat with period 1.

    Reports are float64: middles of the cells of a lattice that value and noise fall in, drawn from
    their exact probabilities and added as whole numbers. Below eps0 = 2^-52 nothing is sampled.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.
    low, high : float
        The interval of inputs.
    width : float, optional
        g, the share of a step that is high, 1e-100 to 1 - 1e-9; by default 1/(1 + e^{eps0/2}),
        which has the least expected |z|.

    Notes
    -----
    Geng, Viswanath 2014, "The optimal mechanism in differential privacy"; Geng, Kairouz, Oh,
    Viswanath 2015.
    """

    name: ClassVar[str] = "staircase"
    summary: ClassVar[str] = "staircase noise on an interval"
    eps0: LocalEpsilon
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0
    width: _Width = None

    @property
    def _g(self) -> float:
        return 0.5 if self.width is None else self.width

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Outputs by how many steps they are from each input."""
        places = [self._place(x) for x in inputs]
        return staircase_law(arb(self.eps0), Fraction(self._g), places)

    def others(self) -> Others:
        """The end points; the labels' laws by corners."""
        pairs = self.worst_pairs().pairs
        eps0, g = self.eps0, Fraction(self._g)
        return Others(
            "corners", CORNER_TRIPLES, pairs, labels=lambda: staircase_labels(arb(eps0), g)
        )

    @property
    def _top(self) -> float:
        """a, the density at 0 in units of the interval; 1 - b and g + b (1 - g) keep their bits."""
        return -math.expm1(-self.eps0) / (2.0 * self._share(1))

    def _share(self, power: int) -> float:
        """g^p + b (1 - g^p)."""
        g = self._g**power
        return g + math.exp(-self.eps0) * (1.0 - g)

    def _place(self, x: Any) -> Fraction:
        """The input in units of the interval, exactly."""
        value = _check.real("input", x, low=self.low, high=self.high)
        low = Fraction(self.low)
        return (Fraction(value) - low) / (Fraction(self.high) - low)

    def _cuts(self, at: Inputs, first: int) -> list[Fraction]:
        """Jumps of all densities and of the blanket in [first, first + 1]."""
        g, start = Fraction(self._g), Fraction(first)
        found = {start, start + 1, Fraction(1, 2)}
        for x in at:
            for sign, jump in itertools.product((-1, 1), (Fraction(0), g)):
                place = x + sign * jump
                found.add(place + math.ceil(start - place))
        return sorted(y for y in found if start <= y <= start + 1)

    def variance(self, frequency: float = 0.0) -> float:
        """sum over the steps of the integral of z^2, in closed form, for every input."""
        del frequency
        b = math.exp(-self.eps0)
        # One step over 1 - b: squared in the end, so that what is no float is inf.
        length = self.high - self.low
        scale = length / -math.expm1(-self.eps0)
        square, cube = self._share(2) / self._share(1), self._share(3) / self._share(1)
        near = b * square * scale * length + cube * length * length / 3.0
        return b * (1.0 + b) * scale * scale + near

    @property
    def _finest(self) -> float:
        return max(1.0, self.eps0, 1.0 / max(self._g, 2.0**-20))

    def _noise_cells(self, bits: int, size: int, source: RandomSource) -> Cells:
        """Sign, step, and which part of the step: a geometric number and a place in the part."""
        self._sampled()
        step = geometric(Decimal(self.eps0), size, source)
        high = source.choose(_parts(self.eps0, self._g), size) == 0
        drawn = source.words(size)
        positive = source.bernoulli(0.5, size)
        cells = _cells_in_step(self._g, bits, high, drawn, source)
        if int(step.max(initial=0)) >> (_ROOM - bits):
            step, cells = step.astype(object), cells.astype(object)
        cells = cells + (step << bits)
        return np.where(positive, cells, ~cells)

    def _sampled(self) -> None:
        """NotCertified where there are no reports: there is nothing to estimate from either."""
        check_step(self.name, "eps0", self.eps0)

    def _unbiased(self, reports: ArrayLike) -> Array:
        """Reports that the noise can reach: whole steps of the interval, and a part of one."""
        self._sampled()
        reach = (self.high - self.low) * (laplace_reach(Decimal(self.eps0)) + 1.0)
        return real_values(reports, self.low - reach, self.high + reach, name="reports")


@lru_cache(maxsize=64)
def _parts(eps0: float, g: float) -> Choice:
    """The part of a step that is high, and the other: g to b (1 - g)."""
    rest = 1 - Fraction(g)
    low = times(quotient(rest.numerator, rest.denominator), exponential(-eps0))
    high = Decimal(g)
    return choice([whole_units(quotient(part, high, low)) for part in (high, low)])


def _cells_in_step(
    g: float, bits: int, high: Bools, drawn: Words, source: RandomSource
) -> Integers:
    """Cells of width 2^-bits of uniform places in [0, g) where ``high``, else in [g, 1).

    The words are the first 64 digits of the places in their parts. Floats tell the cell from
    52 of them, but where the place is next to an end of a cell.
    """
    unit = ((drawn >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    place = (unit * np.where(high, g, 1.0 - g) + np.where(high, 0.0, g)) * 2.0**bits
    cells = np.floor(place).astype(np.int64)
    doubtful = np.flatnonzero(np.abs(place - np.round(place)) <= _DOUBT * 2.0**bits)
    for part, start, width in (
        (high, Fraction(0), Fraction(g)),
        (~high, Fraction(g), 1 - Fraction(g)),
    ):
        where = doubtful[part[doubtful]]
        cells[where] = _settled(start * 2**bits, width * 2**bits, drawn[where], source)
    return cells


def _settled(start: Fraction, width: Fraction, drawn: Words, source: RandomSource) -> Cells:
    """The cells of start + width u, u numbers of which ``drawn`` are the first 64 digits."""
    # Powers of 2 both, as start and width come from floats.
    below = max(start.denominator, width.denominator)
    near, wide, halvings = int(start * below), int(width * below), below.bit_length() - 1
    digits, at = 64, drawn.astype(object)
    found, missing = np.zeros(len(drawn), dtype=object), np.arange(len(drawn))
    while missing.size:
        first = ((near << digits) + wide * at) >> (halvings + digits)
        # u is below (at + 1)/2^digits, so that an end of a cell there belongs to what is above.
        last = ((near << digits) + wide * (at + 1) - 1) >> (halvings + digits)
        found[missing] = first
        open_ = np.flatnonzero((first < last) & (digits < BITS))
        missing, at = missing[open_], at[open_] << 64 | source.words(open_.size).astype(object)
        digits += 64
    return found
