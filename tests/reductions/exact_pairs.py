"""Dominating pairs of the variation-ratio reduction in exact numbers."""

from fractions import Fraction

from enumerated import (
    assert_inside,
    exponential,
    positive_part,
)
from shuffledp.propose.profile import Profile

F = Fraction


def repaired_atoms(p, beta, q, a):
    """Values and probabilities of Theorem 5.4, from its statement; p = None is infinity."""
    if p is None:
        beta = min(beta, q - 1)
        return [(beta / q, q), (beta / q, -q * a), ((1 - beta) / q, q * (1 - a))]
    beta = min(beta, q - 1, (p - 1) / (p + 1))
    al = beta / (p - 1)
    k0 = 1 - (p + 1) * al
    r = al * p / q
    return [(r, q * (p - a) / p), (r, q * (1 - a * p) / p), (k0 / q, q * (1 - a))]


def published_atoms(p, beta, q, a):
    al = beta / (p - 1)
    r, k0 = al * p / q, 1 - al - al * p
    rest = 1 - 2 * r
    return [(r, (p - a) * al / r), (r, (1 - a * p) * al / r), (rest, (1 - a) * k0 / rest)]


def bracket(pair, epsilon, width=1e-9):
    return Profile(pair).log_delta(epsilon, width=width)


def enclosed(pair, atoms_at, n, epsilon):
    """The profile of the pair holds the exact value of the atoms, both ends of e^eps."""
    low, high = exponential(epsilon)
    top = positive_part(atoms_at(low), n) / n
    bottom = top if low == high else positive_part(atoms_at(high), n) / n
    assert_inside(bracket(pair, epsilon), bottom, top)
