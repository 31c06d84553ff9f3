"""Shuffle index, delta band and the Gaussian form: closed forms of the papers, and how near."""

import math

import pytest
from scipy.special import lambertw

import shuffledp as sd
from shuffledp.laws.pairs import blanket_pair
from shuffledp.published.limits import (
    asymptotic_log_delta,
    band_epsilon,
    gaussian_epsilon,
    gaussian_log_delta,
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


@pytest.mark.parametrize("eps0", [0.2, 1.0, 4.0])
def test_index_of_laplace(eps0):
    found = sd.shuffle_index(sd.Laplace(eps0=eps0))
    w = math.exp(eps0 / 2)
    low = math.sqrt(3) / 2 * math.sqrt(w / ((w - 1) ** 2 * (w + 2)))
    high = math.sqrt(3) * w**2 / ((w**2 - 1) * math.sqrt(2 * w**2 + 1))
    assert found.lower.value == pytest.approx(low, rel=1e-5)
    assert found.upper.value == pytest.approx(high, rel=1e-5)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
def test_index_of_the_gaussian(sigma):
    def cdf(x):
        return 0.5 * math.erfc(-x / math.sqrt(2))

    found = sd.shuffle_index(sd.Gaussian(sigma=sigma))
    half = 1 / (2 * sigma)
    low = 2 * (math.exp(1 / sigma**2) * cdf(3 * half) - 3 * cdf(half) + 1)
    high = math.expm1(1 / sigma**2)
    assert found.lower.value == pytest.approx(low**-0.5, rel=1e-4)
    assert found.upper.value == pytest.approx(high**-0.5, rel=1e-4)
    assert found.lower.value <= found.upper.value


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


def test_index_needs_a_variance():
    with pytest.raises(sd.NotCertified, match="variance"):
        sd.shuffle_index(sd.Channel(matrix=[[1.0, 0.0], [0.5, 0.5]]))


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


def test_gaussian_form_is_near_at_large_n_and_is_no_bound():
    """Ratios to the exact blanket: 1.44 at n = 1e3, 1.03 at 1e4, 1.002 at 1e5 (10-RR, eps0 = 2)."""
    randomizer = sd.KRR(k=10, eps0=2.0)
    ratios = []
    for n in (10**3, 10**4, 10**5):
        epsilon = sd.shuffle(randomizer, n=n).epsilon(delta=1e-6, analysis="blanket").upper
        pair = blanket_pair(randomizer, 0, 1, n=n)
        ratios.append(math.exp(gaussian_log_delta(pair, epsilon=epsilon)) / 1e-6)
        back = gaussian_epsilon(pair, delta=1e-6, cap=2.0)
        assert gaussian_log_delta(pair, epsilon=back) == pytest.approx(math.log(1e-6), rel=1e-9)
    assert ratios == pytest.approx([1.434, 1.028, 1.002], abs=6e-4)


def test_estimate_prints_its_warning():
    found = sd.shuffle_index(sd.KRR(k=3, eps0=1.0)).lower
    assert "not certified" in str(found)
    assert found.to_dict()["certified"] is False
    acc = sd.shuffle(sd.KRR(k=3, eps0=1.0), n=10**5)
    band = [
        acc.estimate(delta=1e-6, analysis=key).value
        for key in ("shuffle-index-lower", "shuffle-index")
    ]
    assert band == sorted(band)
    assert acc.estimate(epsilon=1.5, analysis="shuffle-index").value == 0.0
    with pytest.raises(sd.ParameterError, match="epsilon"):
        acc.estimate(epsilon=0.0, analysis="shuffle-index")
