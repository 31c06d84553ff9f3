"""The sum of many losses and its direct cases against enumeration in ball arithmetic."""

import math

import numpy as np
import pytest

from rounds.exact_rounds import assert_inside, composed_delta, random_law
from shuffledp.rounds import LossLaw
from shuffledp.rounds.total import Total


def log_delta(parts, eps, *, width):
    return Total(parts).log_delta(eps, rel=width)


@pytest.mark.many(10)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("infinite", [False, True])
def test_inside_at_few_rounds(seed, infinite):
    rng = np.random.default_rng(seed)
    parts = [(random_law(rng, int(rng.integers(2, 5)), infinite=infinite), int(rng.integers(1, 5)))]
    if rng.random() < 0.5:
        parts.append((random_law(rng, 3), int(rng.integers(1, 3))))
    top = sum(count * law.highest for law, count in parts)
    for eps in (0.0, 0.3 * top, 0.7 * top, 0.97 * top, top, -1.0):
        for width in (1e-2, 1e-5):
            exact = composed_delta(parts, eps)
            assert_inside(log_delta(parts, eps, width=width), exact)


@pytest.mark.parametrize("seed", range(8))
def test_six_losses_are_inside_and_tight(seed):
    rng = np.random.default_rng(100 + seed)
    law = random_law(rng, 6, spread=0.4)
    rounds = int(rng.integers(1, 5))
    parts = [(law, rounds)]
    top = rounds * law.highest
    for eps in (0.0, 0.2 * top, 0.6 * top):
        exact = composed_delta(parts, eps)
        for width in (3e-2, 1e-3, 1e-5):
            found = log_delta(parts, eps, width=width)
            assert_inside(found, exact)
        assert found.width < 1e-2


def test_two_rounds_directly():
    rng = np.random.default_rng(5)
    for _ in range(20):
        parts = [(random_law(rng, 5, infinite=True), 1), (random_law(rng, 4), 1)]
        kinks = [a + b for a in parts[0][0].loss for b in parts[1][0].loss]
        for eps in (0.0, 0.5, kinks[3], math.nextafter(kinks[7], 0.0), max(kinks)):
            found = log_delta(parts, float(eps), width=1e-3)
            assert_inside(found, composed_delta(parts, float(eps)))
            assert found.width < 1e-9 or found.high < -30.0


def test_tiny_deltas_stay_relative():
    # 40 rounds, delta below 1e-30: the binomial tail in closed form.
    p = 1.0 / 1024.0
    law = LossLaw(np.array([-0.25, 0.75]), np.array([1.0 - p, p]))
    parts = [(law, 40)]
    eps = 17.5
    exact = 0.0
    terms = []
    for k in range(41):
        loss = 0.75 * k - 0.25 * (40 - k)
        if loss > eps:
            terms.append(math.comb(40, k) * p**k * (1 - p) ** (40 - k) * -math.expm1(eps - loss))
    exact = math.log(math.fsum(terms))
    found = log_delta(parts, eps, width=1e-4)
    assert exact < math.log(1e-30)
    assert found.low <= exact * (1 - 1e-12)
    assert found.high >= exact * (1 + 1e-12)
    assert found.width < 0.2


@pytest.mark.parametrize("depth", [-30.0, -128.0, -400.0, -560.0, -575.0, -580.0, -640.0, -730.0])
def test_logarithms_of_few_rounds_are_rounded_outward(depth):
    """Far down a logarithm is rounded by more than a unit of 1."""
    rng = np.random.default_rng(int(-depth))
    for _ in range(25):
        top = float(rng.uniform(1.0, 3.0))
        law = LossLaw(np.array([0.0, top]), np.array([1.0, math.exp(depth) * rng.uniform(1, 2)]))
        other = LossLaw(np.array([-0.5, 0.25]), np.array([0.5, 0.5]))
        for parts in ([(law, 1)], [(law, 1), (other, 1)], [(law, 2)]):
            for eps in (0.05, 0.9, 1.7):
                exact = composed_delta(parts, eps)
                assert_inside(log_delta(parts, eps, width=1e-6), exact)
