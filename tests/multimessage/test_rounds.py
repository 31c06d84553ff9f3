"""Rounds of a protocol against the product of its laws, every outcome of all rounds."""

import itertools
import math
from fractions import Fraction

import pytest

import shuffledp as sd
from enumerated import exponential


def worst(blankets, p, rounds, alpha):
    """The known bits subtracted: 1 + Bin(N, p) against Bin(N, p), in each round, either way."""
    base = [math.comb(blankets, k) * p**k * (1 - p) ** (blankets - k) for k in range(blankets + 1)]
    one, zero = [Fraction(0), *base], [*base, Fraction(0)]
    found = Fraction(0)
    for left, right in ((one, zero), (zero, one)):
        total = Fraction(0)
        for seen in itertools.product(range(blankets + 2), repeat=rounds):
            p_seen = math.prod((left[k] for k in seen), start=Fraction(1))
            q_seen = math.prod((right[k] for k in seen), start=Fraction(1))
            total += max(p_seen - alpha * q_seen, Fraction(0))
        found = max(found, total)
    return found


@pytest.mark.parametrize(
    ("protocol", "p"),
    [(sd.BalcerEtAl(blankets=2), Fraction(1, 2)), (sd.BalcerCheu(p=0.75), Fraction(3, 4))],
    ids=["fair", "biased"],
)
@pytest.mark.parametrize("rounds", [2])
@pytest.mark.parametrize("epsilon", [0.3, 2.5])
def test_composed_ends_hold_against_the_product(protocol, p, rounds, epsilon):
    n = 6
    bound = sd.shuffle(protocol, n=n).compose(rounds=rounds).delta(epsilon=epsilon)
    low, high = exponential(epsilon)
    blankets = protocol.blanket_total(n)
    assert Fraction(bound.lower) <= worst(blankets, p, rounds, high)
    assert Fraction(bound.upper) >= worst(blankets, p, rounds, low)
    if protocol.exchangeable:
        # Of a pair whose directions differ the upper end holds for both at once.
        assert bound.upper <= bound.lower * (1.01 if epsilon < 1.0 else 1.2)
