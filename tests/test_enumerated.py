"""The exact answers of the tests against numbers made by hand and all vectors of outputs."""

import random
from fractions import Fraction
from itertools import product

import pytest

from enumerated import dataset_delta, worst_blanket, worst_delta

THREE_RR = [[Fraction(19, 21) if i == j else Fraction(1, 21) for j in range(3)] for i in range(3)]


def random_channel(rng, rows, columns):
    out = []
    for _ in range(rows):
        parts = [rng.randint(0, 9) for _ in range(columns)]
        parts[rng.randrange(columns)] += 1
        out.append([Fraction(p, sum(parts)) for p in parts])
    return out


def ordered_delta(channel, first, second, alpha):
    """Hockey-stick divergence of the histograms from all ordered output vectors."""
    laws = []
    for inputs in (first, second):
        law = {}
        for outputs in product(range(len(channel[0])), repeat=len(inputs)):
            probability = Fraction(1)
            for x, y in zip(inputs, outputs, strict=True):
                probability *= channel[x][y]
            key = tuple(sorted(outputs))
            law[key] = law.get(key, Fraction(0)) + probability
        laws.append(law)
    return sum(
        max(p - alpha * laws[1].get(key, Fraction(0)), Fraction(0)) for key, p in laws[0].items()
    )


def test_the_counterexample_computed_by_hand():
    assert worst_delta(THREE_RR, 2, [Fraction(15)]) == [Fraction(76, 441)]
    assert worst_blanket(THREE_RR, 2, Fraction(15)) == Fraction(76, 441)
    assert dataset_delta(THREE_RR, 0, 1, [0], Fraction(15)) == Fraction(76, 441)


def test_one_user_is_the_channel_itself():
    assert worst_delta(THREE_RR, 1, [Fraction(2)]) == [Fraction(19, 21) - Fraction(2, 21)]
    assert worst_blanket(THREE_RR, 1, Fraction(2)) == Fraction(19, 21) - Fraction(2, 21)


@pytest.mark.parametrize("seed", range(8))
def test_against_all_output_vectors(seed):
    rng = random.Random(seed)
    channel = random_channel(rng, 3, rng.choice([2, 3]))
    n, alpha = rng.choice([2, 3]), Fraction(rng.randint(50, 300), 100)
    worst = Fraction(0)
    for others in product(range(3), repeat=n - 1):
        for x0, x1 in product(range(3), repeat=2):
            brute = ordered_delta(channel, (x0, *others), (x1, *others), alpha)
            assert dataset_delta(channel, x0, x1, others, alpha) == brute
            if x0 != x1:
                worst = max(worst, brute)
    assert worst_delta(channel, n, [alpha]) == [worst]


@pytest.mark.many(6)
@pytest.mark.parametrize("seed", range(25))
def test_the_blanket_is_never_below_the_truth(seed):
    rng = random.Random(100 + seed)
    channel = random_channel(rng, rng.randint(2, 4), rng.randint(2, 4))
    n, alpha = rng.randint(1, 5), Fraction(rng.randint(100, 500), 100)
    assert worst_delta(channel, n, [alpha])[0] <= worst_blanket(channel, n, alpha)
