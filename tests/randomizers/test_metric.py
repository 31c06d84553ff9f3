"""Laplace noise for neighbours at a distance: the envelope, and small n."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball
from laws import blanket_pair
from randomizers.noise import stop_loss
from shuffledp.randomizers.bounded import ENVELOPE_INPUTS

CASES = [(1.0, 1.0), (1.0, 0.3), (0.25, 0.9), (0.25, 0.05), (5.0, 0.5), (1.0, 1e-6)]
MADE = [sd.MetricLaplace(scale=s, distance=d) for s, d in CASES] + [
    sd.MetricLaplace(scale=2.0, low=-3.0, high=1.0, distance=0.75)
]


def envelope(randomizer):
    return blanket_pair(randomizer, *ENVELOPE_INPUTS)


@pytest.mark.parametrize("randomizer", MADE, ids=repr)
def test_envelope_in_closed_form(randomizer):
    """Masses of the two laws and of the reference, in balls; exchanging the laws is a mirror."""
    law = blanket_pair(randomizer, *ENVELOPE_INPUTS)
    half = law.w.size // 2
    for near, far in ((law.w, law.w), (law.w * law.a, law.w * law.b)):
        assert np.allclose(near[:half], far[half:], rtol=1e-13, atol=0.0)
    size = ball(randomizer.high) - ball(randomizer.low)
    rate, d = size / ball(randomizer.scale), ball(randomizer.separation)
    beyond = (-rate * (1 - d / 2)).exp() * (-rate * arb(0.5)).exp() * (rate * arb(0.5)).exp()
    for found, exact in (
        ((law.w * law.a)[:half], 1 - (-rate * d / 2).exp() / 2),
        ((law.w * law.b)[:half], (-rate * d / 2).exp() / 2),
        (law.w[:half], beyond / 2),
    ):
        assert abs(ball(math.fsum(found)) - exact) <= exact * 1e-13
    assert randomizer.separation * size >= ball(randomizer.reach)
    assert randomizer.separation * float(size) <= randomizer.reach * (1.0 + 1e-6)


@pytest.mark.parametrize("randomizer", MADE[1:5], ids=repr)
def test_envelope_dominates_every_pair_of_neighbours(randomizer):
    worst = envelope(randomizer)
    d = randomizer.reach
    pairs = [(x, x + d * part) for x in np.linspace(0.0, 1.0 - d, 5) for part in (0.4, 1.0)]
    for x0, x1 in [*pairs, *((b, a) for a, b in pairs)]:
        other = blanket_pair(randomizer, x0, x1, n=1)
        for epsilon in (0.0, 0.3 * d / randomizer.scale, 0.9 * d / randomizer.scale):
            top = float((worst.a - math.exp(epsilon) * worst.b).max())
            for t in top * np.array([-0.999, -0.9, -0.5, -0.1, -0.01, 0.0, 0.01, 0.2, 0.6, 0.99]):
                small = stop_loss(other, epsilon, t, end="low")
                assert small <= stop_loss(worst, epsilon, t, end="high"), (x0, x1, epsilon, t)


def test_no_single_pair_of_neighbours_would_do():
    """The end and its neighbour inside have too light a lower tail, exchanged the upper is."""
    randomizer = sd.MetricLaplace(scale=0.25, distance=0.3)
    worst = envelope(randomizer)
    for x0, x1 in ((1.0, 0.7), (0.7, 1.0)):
        pair = blanket_pair(randomizer, x0, x1, n=1)
        gaps = []
        for t in np.linspace(-20.0, 20.0, 81):
            least = stop_loss(worst, 0.2, t, end="low")
            gaps.append(least - stop_loss(pair, 0.2, t, end="high"))
        assert max(gaps) > 1e-3


@functools.cache
def grid(scale):
    y = np.linspace(-14.0 * scale - 0.0005, 1.0 + 14.0 * scale, 2000)
    return y, y[1] - y[0], lambda x: np.exp(-np.abs(y - x) / scale) / (2.0 * scale)


def small_delta(scale, x0, x1, others, epsilon):
    """Integral over the outputs of one to three users."""
    _, step, f = grid(scale)
    gain = f(x0) - math.exp(epsilon) * f(x1)
    if not others:
        return float(np.maximum(gain, 0.0).sum() * step)
    if len(others) == 1:
        both = np.outer(gain, f(others[0]))
        return float(np.maximum(both + both.T, 0.0).sum() * step**2 / 2.0)
    gain, second, third = (v[::12] for v in (gain, f(others[0]), f(others[1])))
    total = 0.0
    for a, b, c in itertools.permutations((gain, second, third)):
        total = total + a[:, None, None] * b[:, None] * c
    return float(np.maximum(total, 0.0).sum() * (12.0 * step) ** 3 / 6.0)


@pytest.mark.many(2)
@pytest.mark.parametrize(("scale", "distance"), [(0.5, 0.3), (1.0, 0.8)])
@pytest.mark.parametrize("n", [1, 2, pytest.param(3, marks=pytest.mark.long)])
def test_small_n_by_integration(scale, distance, n):
    randomizer = sd.MetricLaplace(scale=scale, distance=distance)
    epsilon = 0.4 * distance / scale
    bound = sd.shuffle(randomizer, n=n, rtol=1e-3).delta(epsilon=epsilon)
    exact = []
    for start in (0.0, 0.5 * (1.0 - distance), 1.0 - distance):
        for others in itertools.combinations_with_replacement((0.0, 0.4, 1.0), n - 1):
            ends = (start, start + distance)
            exact += [small_delta(scale, *e, others, epsilon) for e in (ends, ends[::-1])]
    slack = {1: 3e-4, 2: 3e-4, 3: 3e-3}[n]
    assert max(exact) <= bound.upper * (1.0 + slack)
    assert bound.lower <= max(exact) * (1.0 + slack)
    assert bound.upper <= 1.25 * max(exact)


def test_datasets_are_neighbours_to_the_last_digit():
    generator = np.random.default_rng(1)
    for _ in range(200):
        low, high = sorted(generator.uniform(-10.0, 10.0, 2).tolist())
        distance = float(generator.uniform(1e-3, 1.0)) * (high - low)
        randomizer = sd.MetricLaplace(scale=1.0, low=low, high=high, distance=distance)
        for x0, x1, _ in randomizer.datasets():
            assert abs(Fraction(x0) - Fraction(x1)) <= Fraction(distance)
