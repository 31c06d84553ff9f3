"""Post-processing, moments and repeated simulation against known answers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sd
from shuffledp.protocol import (
    Asked,
    project_to_simplex,
    question,
)

rows = st.lists(st.floats(-3, 3), min_size=1, max_size=8)


@given(rows)
def test_projection_is_the_nearest_probability(values):
    """Optimality (Kuhn and Tucker): f - p is largest, and equal, on the support of p."""
    f = np.array(values)
    p = project_to_simplex(f)
    assert np.all(p >= 0)
    assert abs(p.sum() - 1.0) < 1e-12
    gap = f - p
    assert np.all(gap[p > 0] >= gap.max() - 1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        sd.Gaussian(sigma=0.7, low=-1.0, high=2.0),
        *(
            pytest.param(m, marks=pytest.mark.long)
            for m in (
                sd.Laplace(eps0=2.0, low=-1.0, high=2.0),
                sd.GeneralizedGaussian(shape=4.0, scale=1.2, low=-1.0, high=2.0),
            )
        ),
    ],
    ids=lambda m: m.name,
)
def test_moments_are_unbiased_and_their_errors_right(mechanism):
    rng = np.random.default_rng(2)
    values = 3.0 * rng.beta(2, 3, 4000) - 1.0
    truth = np.array([np.mean(values**k) for k in (1, 2, 3)])
    wanted = question(mechanism, None, Asked(moments=3))
    found, errors, spreads = [], [], []
    for seed in range(300):
        drawn = rng.choice(values, values.size)
        one = wanted.answer(wanted.sums(mechanism.simulate(drawn, seed=seed)), drawn.size)
        both = np.hypot(one.noise, one.sampling)
        found.append(one.estimates[:3])
        errors.append(both[:3])
        spreads.append((one.estimates[3], both[3]))
    found, spreads = np.array(found), np.array(spreads)
    measured = found.std(axis=0, ddof=1)
    assert np.all(np.abs(found.mean(axis=0) - truth) < 5 * measured / math.sqrt(300))
    assert np.allclose(np.mean(errors, axis=0), measured, rtol=0.2)
    assert abs(spreads[:, 0].mean() - values.var()) < 5 * spreads[:, 0].std() / math.sqrt(300)
    assert np.isclose(spreads[:, 1].mean(), spreads[:, 0].std(), rtol=0.2)


# ---------------------------------------------------------------------------- heavy hitters


def test_an_interval_for_the_population_covers_it():
    """200 samples of 400 users: the share in the population, in 95 of 100 (here 91 at least)."""
    rng, shares = np.random.default_rng(5), np.array([0.6, 0.3, 0.1])
    mechanism, held = sd.KRR(k=3, eps0=4.0), np.zeros(3)
    wanted = question(mechanism, None, Asked())
    for seed in range(200):
        values = rng.choice(3, 400, p=shares)
        answer = wanted.answer(wanted.sums(mechanism.simulate(values, seed=seed)), 400)
        low, high = answer.interval_of_population(confidence=0.95)
        held += (low <= shares) & (shares <= high)
    assert (held >= 182).all()
