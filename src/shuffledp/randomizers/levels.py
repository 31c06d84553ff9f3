"""Mechanisms whose output density lies between two levels, e^eps0 apart.

R_x is a base measure times 1 + (e^eps0 - 1) favour, where the input's favour for the output is from
0 to 1, and for most mechanisms 0 or 1. Wherever some input of the domain has no favour for the
output, the base measure is the blanket.
"""

from __future__ import annotations

from fractions import Fraction

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.randomizers.chances import digits_up, exponential, quotient

U = UNIT_ROUNDOFF

Favours = tuple[Fraction | bool, ...]
Part = tuple[Fraction, Favours]


def grown(eps0: float) -> Fraction:
    """e^eps0 to 420 places, as a fraction."""
    return Fraction(exponential(eps0))


def half_grown(eps0: float) -> Fraction:
    """e^(eps0/2) to 420 places, as a fraction."""
    return Fraction(exponential(0.5 * eps0))


def place(x: float, low: float, high: float) -> Fraction:
    """The place of x in [low, high], from 0 to 1, exactly."""
    return (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))


def coin(p: Fraction) -> bytes:
    """Digits of a probability for ``RandomSource.coins``, rounded up."""
    return digits_up(quotient(p.numerator, p.denominator))
