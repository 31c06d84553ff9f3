"""Parallel: one mechanism twice, and weights as words of 64 bits."""

from fractions import Fraction

import pytest

import shuffledp as sd
from shuffledp.laws import pairs
from shuffledp.propose.profile import Profile
from shuffledp.randomizers.one_of import words_of

UNIT = 1 << 64


def test_one_mechanism_twice_is_that_mechanism():
    """The public choice of equal mechanisms says nothing."""
    part = sd.KRR(k=5, eps0=1.5)
    twice = sd.Parallel([part, part], weights=[0.3, 0.7])
    whole = pairs.blanket_pair(twice, (0, 0), (1, 1), n=1000)
    single = pairs.blanket_pair(part, 0, 1, n=1000)
    for epsilon in (0.1, 0.5):
        one = Profile(whole).log_delta(epsilon, width=1e-6)
        two = Profile(single).log_delta(epsilon, width=1e-6)
        assert max(one.low, two.low) <= min(one.high, two.high)


# ---------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("weights", [[0.5, 0.5], [1 / 3] * 3, [0.1] * 10, [1e-30, 1.0], [1.0]])
def test_words_are_the_weights_in_units_of_2_to_the_minus_64(weights):
    words = words_of(weights)
    assert sum(words) == UNIT
    assert min(words) >= 1
    total = sum(map(Fraction, weights))
    for word, weight in zip(words, weights, strict=True):
        assert abs(word - Fraction(weight) / total * UNIT) <= max(1, len(weights))
    parallel = sd.Parallel([sd.BinaryRR(eps0=1.0)] * len(weights), weights=weights)
    for share, word in zip(parallel.shares, words, strict=True):
        assert abs(Fraction(share) - Fraction(word, UNIT)) <= Fraction(word, UNIT) / 2**53
