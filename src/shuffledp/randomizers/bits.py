"""Mechanisms whose report is one bit: the odds of a 1, under the two inputs that matter."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Bits:
    """A mechanism with two outputs, of which every input chooses one with its own probability.

    Attributes
    ----------
    low, high : input
        Those with the least and the largest probability of one of the outputs, the "1". Every
        input's law is a mixture of theirs, and every pair of inputs may be neighbours.
    odds_low, odds_high : tuple of float
        Lower and upper bounds of P(1)/P(0) under them; inf where only "1" is possible.
    symmetric : bool
        Whether odds_low odds_high = 1 exactly: exchanging the outputs exchanges the two inputs.
    """

    low: Any
    high: Any
    odds_low: tuple[float, float]
    odds_high: tuple[float, float]
    symmetric: bool = False

    def flipped(self) -> Bits:
        """The same with the names of the outputs exchanged."""
        low, high = _inverse(self.odds_high), _inverse(self.odds_low)
        return Bits(self.high, self.low, low, high, self.symmetric)


def response_bits(low: Any, high: Any, eps0: float) -> Bits:
    """P(1) = e^eps0/(e^eps0 + 1) under ``high`` and 1/(e^eps0 + 1) under ``low``.

    Parameters
    ----------
    low, high : input
        The two inputs.
    eps0 : float
        In nats.
    """
    return Bits(low, high, _around(math.exp(-eps0)), _around(math.exp(eps0)), symmetric=True)


def row_bits(rows: list[tuple[float, float]]) -> Bits | None:
    """Of the rows of a matrix with two columns; None where all rows are alike.

    Parameters
    ----------
    rows : list of (P(0), P(1))
        One for each input, up to a common factor in each row: ratios of floats are exact.
    """
    odds = [_odds(zero, one) for zero, one in rows]
    low = min(range(len(odds)), key=odds.__getitem__)
    high = max(range(len(odds)), key=odds.__getitem__)
    if odds[low] == odds[high]:
        return None
    return Bits(low, high, _bracket(odds[low]), _bracket(odds[high]))


def _odds(zero: float, one: float) -> tuple[bool, Fraction]:
    """In order: whether they are infinite, and their size."""
    if zero == 0.0:
        return True, Fraction(0)
    return False, Fraction(one) / Fraction(zero)


def _bracket(odds: tuple[bool, Fraction]) -> tuple[float, float]:
    """Floats on both sides."""
    infinite, size = odds
    if infinite:
        return math.inf, math.inf
    if size > Fraction(sys.float_info.max):
        return sys.float_info.max, math.inf
    near = float(size)
    return (near, near) if Fraction(near) == size else _around(near)


def _around(value: float) -> tuple[float, float]:
    """Floats on both sides of what a function in floats is within 3 ulps of."""
    step = 4.0 * math.ulp(value)
    return max(value - step, 0.0), value + step


def _inverse(odds: tuple[float, float]) -> tuple[float, float]:
    low, high = odds
    below = math.inf if high == 0.0 else math.nextafter(1.0 / high, 0.0)
    above = math.inf if low == 0.0 else math.nextafter(1.0 / low, math.inf)
    # 1/inf is 0 exactly.
    return (0.0 if math.isinf(high) else below), (0.0 if math.isinf(low) else above)
