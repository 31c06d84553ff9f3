"""Staircase: exact law against rational arithmetic, sampler, variance, worst pair."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from laws import law_of


@settings(max_examples=40)
@given(eps0=st.floats(0.01, 20.0), width=st.floats(0.001, 0.999), x=st.floats(0.0, 1.0))
def test_any_law_is_a_law(eps0, width, x):
    law = law_of(sd.Staircase(eps0=eps0, width=width), (0.0, 1.0, x))
    assert np.all(np.abs(law.mass.sum(axis=1) - 1.0) <= 40 * law.rel)
    assert np.all(law.blanket <= law.mass.min(axis=0) * (1.0 + 4 * law.rel))
    logs = np.log(law.mass) - np.log(law.blanket)
    assert logs.max() <= eps0 * (1.0 + 1e-9) + 1e-12
    assert logs.min() >= -4.0 * law.rel


def test_default_width_has_the_least_expected_size():
    def size(g):
        randomizer = sd.Staircase(eps0=2.0, width=g)
        reports = randomizer.simulate(np.zeros(200_000), seed=3)
        return np.abs(reports).mean()

    best = sd.Staircase(eps0=2.0).width
    assert size(best) < min(size(best + 0.2), size(best - 0.2))
