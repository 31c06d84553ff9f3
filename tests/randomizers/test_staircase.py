"""Staircase: exact law against rational arithmetic, sampler, variance, worst pair."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import shuffledp as sd
from laws import law_of
from randomizers.sources import LEAST_P_VALUE

CASES = [(0.3, None), (2.0, None), (2.0, 0.1), (2.0, 0.5), (2.0, 0.77), (8.0, None), (300.0, None)]
MECHANISMS = [sd.Staircase(eps0=e, width=g) for e, g in CASES] + [
    sd.Staircase(eps0=1.0, low=-3.0, high=1.0)
]


@settings(max_examples=40)
@given(eps0=st.floats(0.01, 20.0), width=st.floats(0.001, 0.999), x=st.floats(0.0, 1.0))
def test_any_law_is_a_law(eps0, width, x):
    law = law_of(sd.Staircase(eps0=eps0, width=width), (0.0, 1.0, x))
    assert np.all(np.abs(law.mass.sum(axis=1) - 1.0) <= 40 * law.rel)
    assert np.all(law.blanket <= law.mass.min(axis=0) * (1.0 + 4 * law.rel))
    logs = np.log(law.mass) - np.log(law.blanket)
    assert logs.max() <= eps0 * (1.0 + 1e-9) + 1e-12
    assert logs.min() >= -4.0 * law.rel


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=repr)
def test_sampler(randomizer):
    length = randomizer.high - randomizer.low
    reports = randomizer.simulate(np.full(40_000, randomizer.low), seed=4)
    z = (reports - randomizer.low) / length
    g, b = randomizer.width, math.exp(-randomizer.eps0)
    a = -math.expm1(-randomizer.eps0) / (2.0 * (g + b * (1.0 - g)))

    def chance(size):
        k = np.floor(size)
        part = size - k
        within = a * b**k * (np.minimum(part, g) + b * np.maximum(part - g, 0.0))
        return 2.0 * within - np.expm1(-randomizer.eps0 * k)

    if g > 1e-9:
        assert stats.kstest(np.abs(z), chance).pvalue > LEAST_P_VALUE
    assert stats.binomtest(int((z > 0).sum()), z.size).pvalue > LEAST_P_VALUE


def test_default_width_has_the_least_expected_size():
    def size(g):
        randomizer = sd.Staircase(eps0=2.0, width=g)
        reports = randomizer.simulate(np.zeros(200_000), seed=3)
        return np.abs(reports).mean()

    best = sd.Staircase(eps0=2.0).width
    assert size(best) < min(size(best + 0.2), size(best - 0.2))
