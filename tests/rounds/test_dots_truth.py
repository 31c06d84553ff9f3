"""Connect the dots: above and below exact curves at every a, asymmetric pairs included."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rounds.exact_rounds import ball, curve_of_law
from shuffledp.rounds.dots import Bracket, law_above, law_below

GRID = 40


def exact_pair(rng, size, *, outside=False):
    """P and Q as Fractions over one denominator."""
    parts = [rng.integers(1, 100, size).tolist() for _ in range(2)]
    if outside:
        parts[0][0] = 0
        parts[1][-1] = 0
    return [
        (Fraction(p, sum(parts[0])), Fraction(q, sum(parts[1])))
        for p, q in zip(*parts, strict=True)
    ]


def swapped(pairs):
    return [(q, p) for p, q in pairs]


def values(pairs, eps, *, noise=0.0, rng=None):
    """Lower and upper floats around h(e^eps), a little off if asked."""
    low, high = [], []
    for e in eps:
        a = ball(float(e)).exp()
        exact = sum((ball(p) - a * ball(q) for p, q in pairs if ball(p) - a * ball(q) > 0), ball(0))
        pad = 4e-16 + (noise * rng.random() if rng is not None else 0.0)
        mid = float(exact.mid())
        low.append(max(mid * (1 - pad) - 1e-18, 0.0))
        high.append(mid * (1 + pad) + 1e-18)
    return np.array(low), np.array(high)


def above_of(eps, *values):
    return law_above(eps.tolist(), *([ball(float(x)) for x in one] for one in values))


def below_of(eps, *values):
    sides = [Bracket(*([ball(float(x)) for x in end] for end in one)) for one in values]
    return law_below(eps.tolist(), *sides, ball(0))


def exact_at(pairs, eps):
    a = ball(eps).exp()
    return sum((ball(p) - a * ball(q) for p, q in pairs if not ball(p) - a * ball(q) < 0), ball(0))


@pytest.mark.many(12)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_above_and_below_everywhere(seed, outside, noise):
    rng = np.random.default_rng(seed)
    pairs = exact_pair(rng, int(rng.integers(2, 7)), outside=outside)
    reach = float(rng.uniform(0.5, 4.0))
    eps = np.concatenate([[0.0], np.sort(rng.uniform(0.0, reach, GRID))])
    forward = values(pairs, eps, noise=noise, rng=rng)
    backward = values(swapped(pairs), eps, noise=noise, rng=rng)
    above = above_of(eps, forward[1], backward[1])
    below = below_of(eps, forward, backward)
    tests = np.concatenate([rng.uniform(-5.0, 5.0, 60), eps[::7], -eps[::7], [-30.0, 30.0]])
    for direction, exact in ((0, pairs), (1, swapped(pairs))):
        for e in tests:
            truth = exact_at(exact, float(e))
            assert not curve_of_law(above[direction], float(e)) < truth
            assert not curve_of_law(below[direction], float(e)) > truth


@pytest.mark.parametrize("seed", range(6))
def test_symmetric_relation_covers_both_directions(seed):
    # h is the larger of both directions; one law must be above both, on both sides of a = 1.
    rng = np.random.default_rng(50 + seed)
    pairs = exact_pair(rng, 4)
    eps = np.linspace(0.0, 3.0, GRID)
    high = np.maximum(values(pairs, eps)[1], values(swapped(pairs), eps)[1])
    above = above_of(eps, high)
    assert above.forward is above.backward
    for e in rng.uniform(-4.0, 4.0, 60):
        for exact in (pairs, swapped(pairs)):
            assert not curve_of_law(above.forward, float(e)) < exact_at(exact, float(e))


def test_the_value_at_1_follows_by_symmetry():
    """From the trivial one: for all random pairs, exactly for two outputs with ratio e^step."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        pairs = exact_pair(rng, 4)
        step = float(rng.uniform(0.01, 1.0))
        high = np.maximum(
            values(pairs, [step, 3.0])[1], values(swapped(pairs), [step, 3.0])[1]
        ).tolist()
        law = above_of(np.array([0.0, step, 3.0]), np.array([1.0, *high])).forward
        for exact in (pairs, swapped(pairs)):
            assert not curve_of_law(law, 0.0) < exact_at(exact, 0.0)
    apart = math.tanh(0.15)
    law = above_of(np.array([0.0, 0.3]), np.array([1.0, 0.0])).forward
    assert apart <= float(curve_of_law(law, 0.0).mid()) <= apart * (1.0 + 1e-12)
