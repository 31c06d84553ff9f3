"""Shuffle index, delta band and the Gaussian form: closed forms of the papers, and how near."""

import math

import pytest
from scipy.special import lambertw

import shuffledp as sd
from shuffledp.published.limits import (
    asymptotic_log_delta,
    band_epsilon,
)


@pytest.mark.parametrize("k", [2, 3, 10, 100])
@pytest.mark.parametrize("eps0", [0.2, 2.0, 6.0])
def test_index_of_k_rr(k, eps0):
    found = sd.shuffle_index(sd.KRR(k=k, eps0=eps0))
    grow = math.exp(eps0)
    low = math.sqrt((grow + k - 1) / 2) / (grow - 1)
    high = low if k > 2 else math.sqrt(grow) / (grow - 1)
    assert found.lower.value == pytest.approx(low, rel=1e-12)
    assert found.upper.value == pytest.approx(high, rel=1e-12)


@pytest.mark.parametrize(
    ("randomizer", "meet"),
    [
        (sd.KRR(k=3, eps0=2.0), True),
        (sd.KRR(k=10, eps0=0.1), True),
        (sd.PrivUnit(d=5, c=0.01, eps0=2.0), True),
        (sd.KRR(k=2, eps0=2.0), False),
        (sd.PrivUnit(d=5, c=0.1, eps0=2.0), False),  # no third cap beside two of these
        (
            sd.LocalHash(domain=64, l=8, eps0=2.0),
            False,
        ),  # other values share a hash with the pair's
        (sd.RAPPOR(d=5, eps0=2.0), False),
        (sd.Laplace(eps0=2.0), False),
        pytest.param(sd.Gaussian(sigma=1.0), False, marks=pytest.mark.long),
        (sd.Channel(matrix=[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]), True),
        (sd.Channel(matrix=[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.3, 0.3, 0.4]]), False),
    ],
    ids=str,
)
def test_indices_are_equal_where_theorem_3_7_says_so_and_nowhere_else(randomizer, meet):
    found = sd.shuffle_index(randomizer)
    equal = found.lower.value == pytest.approx(found.upper.value, rel=1e-9)
    assert equal == meet


@pytest.mark.parametrize("chi", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("n", [100, 10**4, 10**12])
@pytest.mark.parametrize("delta", [1e-2, 1e-9, 1e-100])
def test_band_solves_the_asymptotic_formula(chi, n, delta):
    epsilon = band_epsilon(chi=chi, n=n, delta=delta)
    found = asymptotic_log_delta(chi=chi, n=n, epsilon=epsilon)
    if found < 0.0:
        assert found == pytest.approx(math.log(delta), rel=1e-12)
    w = lambertw(math.sqrt(n) / (2 * math.sqrt(2 * math.pi) * delta * n * chi)).real
    assert epsilon == pytest.approx(math.sqrt(2 * w) / (chi * math.sqrt(n)), rel=1e-12)
