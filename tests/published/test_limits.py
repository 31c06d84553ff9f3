"""Shuffle index, delta band and the Gaussian form: closed forms of the papers, and how near."""

import math

import pytest
from scipy.special import lambertw

import shuffledp as sd
from shuffledp.published.limits import band_epsilon


@pytest.mark.parametrize("k", [2, 3, 10, 100])
@pytest.mark.parametrize("eps0", [0.2, 2.0, 6.0])
def test_index_of_k_rr(k, eps0):
    found = sd.shuffle_index(sd.KRR(k=k, eps0=eps0))
    grow = math.exp(eps0)
    low = math.sqrt((grow + k - 1) / 2) / (grow - 1)
    high = low if k > 2 else math.sqrt(grow) / (grow - 1)
    assert found.lower.value == pytest.approx(low, rel=1e-12)
    assert found.upper.value == pytest.approx(high, rel=1e-12)


@pytest.mark.parametrize("chi", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("n", [100, 10**4, 10**12])
@pytest.mark.parametrize("delta", [1e-2, 1e-9, 1e-100])
def test_band_solves_the_asymptotic_formula(chi, n, delta):
    epsilon = band_epsilon(chi=chi, n=n, delta=delta)
    t = chi * epsilon * math.sqrt(n)
    found = -t * t / 2 - math.log(math.sqrt(2 * math.pi) * chi**3 * epsilon**2) - 1.5 * math.log(n)
    assert found == pytest.approx(math.log(delta), rel=1e-9)
    w = lambertw(math.sqrt(n) / (2 * math.sqrt(2 * math.pi) * delta * n * chi)).real
    assert epsilon == pytest.approx(math.sqrt(2 * w) / (chi * math.sqrt(n)), rel=1e-12)
