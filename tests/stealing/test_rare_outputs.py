"""Outputs that next to nobody sends: gains of a type that the proposal did not look at are huge."""

import math

import numpy as np
import pytest

import shuffledp as sd

FOUR = ((0.7, 3e-8), (0.2, 3e-8), (0.25, 3e-8), (0.45, 1e-11))
SIX = ((0.6, 1e-7), (0.3, 1e-7), (0.7, 1e-7), (0.28, 1e-7), (0.72, 1e-7), (0.4, 1e-11))


def rows(pairs):
    return [[a * (1 - y), (1 - a) * (1 - y), y] for a, y in pairs]


def seen(pairs, n, epsilon):
    """P - e^eps Q of the event that some report is the rare one, all others hold the last input."""
    rare, last = max(y for _, y in pairs), pairs[-1][1]
    there = -math.expm1((n - 1) * math.log1p(-last) + math.log1p(-rare))
    return there + math.exp(epsilon) * math.expm1(n * math.log1p(-last))


@pytest.mark.parametrize(
    ("pairs", "n"), [(FOUR, 300), pytest.param(SIX, 1000, marks=pytest.mark.long), (FOUR, 3)]
)
@pytest.mark.parametrize("epsilon", [0.43])
def test_the_event_of_a_rare_output_is_counted(pairs, n, epsilon):
    shuffled = sd.shuffle(sd.Channel(matrix=rows(pairs)), n=n)
    truth = seen(pairs, n, epsilon)
    assert shuffled.delta(epsilon=epsilon).upper >= truth
    assert shuffled.delta(epsilon=epsilon, analysis="label-stealing").upper >= truth


@pytest.mark.parametrize(
    "seed", [3, *(pytest.param(s, marks=pytest.mark.long) for s in (0, 1, 2, 4))]
)
def test_random_channels_with_rare_outputs(seed):
    rng = np.random.default_rng(seed)
    inputs, outputs = int(rng.integers(3, 7)), int(rng.integers(3, 5))
    matrix = 10.0 ** rng.uniform(-12.0, 0.0, size=(inputs, outputs))
    matrix[:, :2] += 0.1
    matrix /= matrix.sum(axis=1, keepdims=True)
    n = int(10 ** rng.uniform(0.5, 4.0))
    shuffled = sd.shuffle(sd.Channel(matrix=matrix.tolist()), n=n)
    for delta in (1e-6, 1e-10):
        upper = shuffled.epsilon(delta=delta, analysis="label-stealing").upper
        lower = shuffled.epsilon(delta=delta, analysis="dataset").lower
        assert lower <= upper * (1.0 + 1e-9)
