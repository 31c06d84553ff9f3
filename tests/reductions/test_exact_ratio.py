"""Ends of a variation ratio against exact fractions of its labels."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

import shuffledp as sd

mpmath.mp.dps = 60


def around(epsilon):
    """Fractions below and above e^eps."""
    value = mpmath.exp(mpmath.mpf(epsilon))
    exact = Fraction(int(mpmath.floor(value * mpmath.mpf(2) ** 200)), 2**200)
    return exact * (1 - Fraction(1, 10**40)), exact * (1 + Fraction(1, 10**40))


# ------------------------------------------------------------------------------ variation ratio


def exact_ratio(p, beta, q, n, alpha):
    """Theorem 5.4: (1/n) E[sum of gains]_+, in fractions."""
    al = beta / (p - 1)
    rest = 1 - (p + 1) * al
    labels = [(p * al / q, p * al, al), (p * al / q, al, p * al), (rest / q, rest, rest)]
    gains = [(w, (a - alpha * b) / w) for w, a, b in labels if w > 0]
    gains.append((1 - sum(w for w, _ in gains), Fraction(0)))
    total = Fraction(0)
    for chosen in itertools.product(gains, repeat=n):
        weight = math.prod((w for w, _ in chosen), start=Fraction(1))
        total += weight * max(sum(g for _, g in chosen), Fraction(0))
    return total / n


@pytest.mark.parametrize(
    ("p", "beta", "q", "n", "epsilon"),
    [
        (1e15, 0.25, 2.0, 3, 1.0),
        (2.0, 1e-6, 4.0, 4, 0.3),
        (4.0, 0.3, 2.5, 4, 0.2),
        (19.0, 0.5, 19.0, 3, 1.0),
    ],
)
def test_both_ends_enclose_the_labels(p, beta, q, n, epsilon):
    low, high = around(epsilon)
    least, most = (exact_ratio(Fraction(p), Fraction(beta), Fraction(q), n, a) for a in (high, low))
    bound = sd.variation_ratio(p=p, beta=beta, q=q, n=n).delta(epsilon=epsilon)
    assert Fraction(bound.lower) <= most
    assert Fraction(bound.upper) >= least
    assert bound.upper <= float(most) * (1 + 1e-6) + 1e-290
    target = float(least) / 2
    if target > 0.0:
        upper = sd.variation_ratio(p=p, beta=beta, q=q, n=n).epsilon(delta=target).upper
        if math.isfinite(upper):
            reached = exact_ratio(Fraction(p), Fraction(beta), Fraction(q), n, around(upper)[1])
            assert reached <= Fraction(target) * (1 + Fraction(1, 10**9))
