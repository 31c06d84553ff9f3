"""E f(S - shift) from the definition: fractions, every count vector."""

import math
from fractions import Fraction
from itertools import product

from shuffledp.arithmetic.balls import arb, fmpq


def ball(x):
    """The ball of a fraction at the working precision."""
    x = Fraction(x)
    return arb(fmpq(x.numerator, x.denominator))


def outcomes(law, n):
    """{sum: mass} of n draws from [(mass, gain)]."""
    found = {Fraction(0): Fraction(1)}
    for _ in range(n):
        after = {}
        for (value, mass), (m, x) in product(found.items(), law):
            after[value + x] = after.get(value + x, 0) + mass * m
        found = after
    return found


def added(one, two):
    """The law of an independent sum."""
    found = {}
    for (x, p), (y, q) in product(one.items(), two.items()):
        found[x + y] = found.get(x + y, 0) + p * q
    return found


def payoff(y, gap):
    """f(y), exact for gap 0, in floats of 1e-16 for gap 1."""
    if y <= 0:
        return Fraction(0)
    return y if gap == 0 else Fraction(-math.expm1(-y))


def expected(law, shift, gap):
    """E f(S - shift) of {sum: mass}."""
    return sum((m * payoff(x - shift, gap) for x, m in law.items()), Fraction(0))
