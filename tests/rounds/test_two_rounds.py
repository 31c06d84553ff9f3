"""compose(2) against full enumeration over outputs of both rounds at small n."""

import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from rounds.exact_rounds import (
    adaptive_twice,
    atoms,
    ball,
    dyadic_rows,
    floats,
    hockey_twice,
    neighbouring_laws,
)

pytestmark = pytest.mark.usefixtures("rough_proposals")
EPSILONS = (0.0, 0.5, 1.5)


def as_fraction(eps):
    """A rational next to e^eps, and by how much the exact value may differ."""
    return Fraction(math.exp(eps))


def check(bound, exact, eps):
    # a = e^eps is not rational: H_a moves by at most |a - a'|.
    slack = Fraction(math.exp(eps)) * Fraction(1, 2**50)
    assert not ball(bound.upper) < ball(exact - slack)
    assert not ball(bound.lower) > ball(exact + slack)


@pytest.mark.parametrize("seed", range(2))
def test_random_channels(seed):
    rng = np.random.default_rng(seed)
    rows = dyadic_rows(rng, 2 if seed % 2 else 3, 3)
    n = 2 if seed % 2 == 0 else 3
    acc = sd.shuffle(sd.Channel(matrix=floats(rows)), n=n)
    pairs = [atoms(p, q) for p, q in neighbouring_laws(rows, n)]
    twice = acc.compose(rounds=2)
    for eps in EPSILONS:
        a = as_fraction(eps)
        bound = twice.delta(epsilon=eps)
        worst = max(hockey_twice(pair, pair, a) for pair in pairs)
        mixed = max(hockey_twice(one, two, a) for one in pairs for two in pairs[:6])
        adaptive = max(adaptive_twice(pair, pairs, a) for pair in pairs[:8])
        assert mixed <= max(adaptive, mixed)
        check(bound, worst, eps)
        slack = a * Fraction(1, 2**50)
        for attack in (mixed, adaptive):
            assert not ball(bound.upper) < ball(attack - slack)


def test_asymmetric_channel_needs_both_directions():
    # Erasure-like rows: D(P||Q) and D(Q||P) differ, an adversary may turn the second round round.
    rows = [[Fraction(7, 8), Fraction(1, 8)], [Fraction(1, 4), Fraction(3, 4)]]
    n = 2
    acc = sd.shuffle(sd.Channel(matrix=floats(rows)), n=n)
    pairs = [atoms(p, q) for p, q in neighbouring_laws(rows, n)]
    twice = acc.compose(rounds=2)
    turned = 0
    for eps in (0.0, 0.3, 0.6, 0.9, 1.2):
        a = as_fraction(eps)
        same = max(hockey_twice(pair, pair, a) for pair in pairs)
        adaptive = max(adaptive_twice(pair, pairs, a) for pair in pairs)
        turned += adaptive > same
        bound = twice.delta(epsilon=eps)
        assert not ball(bound.upper) < ball(adaptive - a * Fraction(1, 2**50))
        check(bound, same, eps)
    assert turned > 0


def test_lower_end_is_what_one_dataset_gives():
    # k-RR, n = 2: the lower end must come close to the exact two-round value of its own dataset.
    rows = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    acc = sd.shuffle(sd.Channel(matrix=floats(rows)), n=2)
    pairs = [atoms(p, q) for p, q in neighbouring_laws(rows, 2)]
    for eps in (0.1, 0.5, 1.0):
        exact = max(hockey_twice(pair, pair, as_fraction(eps)) for pair in pairs)
        bound = acc.compose(rounds=2).delta(epsilon=eps)
        check(bound, exact, eps)
        assert bound.lower > 0.9 * float(exact)


def test_two_rounds_of_different_mechanisms():
    rng = np.random.default_rng(9)
    one, two = dyadic_rows(rng, 2, 3), dyadic_rows(rng, 2, 2)
    first = [atoms(p, q) for p, q in neighbouring_laws(one, 2)]
    second = [atoms(p, q) for p, q in neighbouring_laws(two, 3)]
    both = sd.compose(
        [
            sd.shuffle(sd.Channel(matrix=floats(one)), n=2),
            sd.shuffle(sd.Channel(matrix=floats(two)), n=3),
        ]
    )
    for eps in (0.5,):
        a = as_fraction(eps)
        worst = max(hockey_twice(x, y, a) for x in first for y in second)
        bound = both.delta(epsilon=eps)
        slack = a * Fraction(1, 2**50)
        assert not ball(bound.upper) < ball(worst - slack)
        assert not ball(bound.lower) > ball(worst + slack)
