"""One-bit reports by enumeration, to 60 digits: all data sets, all pairs of inputs."""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 60


def decimal(x):
    """An exact number, to 60 digits."""
    return Decimal(x.numerator) / Decimal(x.denominator)


def grow(epsilon):
    """e^eps of a float, to 60 digits."""
    with localcontext(prec=DIGITS):
        return decimal(Fraction(epsilon)).exp()


def ones_law(shares):
    """Law of the number of ones of independent bits."""
    law = [Fraction(1)]
    for share in shares:
        padded = [Fraction(0), *law, Fraction(0)]
        law = [padded[k] * share + padded[k + 1] * (1 - share) for k in range(len(law) + 1)]
    return law


def divergence(v0, v1, law, epsilon):
    """D = sum over the number of ones of (P0 - e^eps P1)_+."""
    with localcontext(prec=DIGITS):
        a, total = grow(epsilon), Decimal(0)
        for k in range(len(law) + 1):
            before = law[k - 1] if k > 0 else Fraction(0)
            here = law[k] if k < len(law) else Fraction(0)
            first = decimal(v0 * before + (1 - v0) * here)
            second = decimal(v1 * before + (1 - v1) * here)
            total += max(first - a * second, Decimal(0))
        return total


def tail(v0, v1, law, epsilon, j):
    """P0(more than j ones) - e^eps P1(more than j ones) of the others and the victim."""
    with localcontext(prec=DIGITS):
        here, more = law[j], sum(law[j + 1 :], Fraction(0))
        return decimal(v0 * here + more) - grow(epsilon) * decimal(v1 * here + more)


def largest(shares, n, epsilon):
    """Over all ordered pairs of inputs and all multisets of the others' inputs."""
    pairs = list(itertools.permutations(sorted(set(shares)), 2))
    best = Decimal(0)
    for others in itertools.combinations_with_replacement(sorted(set(shares)), n - 1):
        law = ones_law(others)
        best = max(best, *(divergence(v0, v1, law, epsilon) for v0, v1 in pairs))
    return best


def log(x):
    """Natural logarithm, to 60 digits; -inf of 0."""
    with localcontext(prec=DIGITS):
        return x.ln() if x > 0 else Decimal("-Infinity")
