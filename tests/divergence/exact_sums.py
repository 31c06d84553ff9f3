"""Sums of discrete laws, exactly."""

from fractions import Fraction


def convolved(one, other):
    law = {}
    for x, p in one.items():
        for y, q in other.items():
            law[x + y] = law.get(x + y, 0) + p * q
    return law


def power(law, n):
    out = law
    for _ in range(n - 1):
        out = convolved(out, law)
    return out


def positive_part(law, n):
    return sum((x * p for x, p in power(law, n).items() if x > 0), Fraction(0))


def expectation_above(atoms, t):
    return sum((p * max(x - t, Fraction(0)) for x, p in atoms), Fraction(0))
